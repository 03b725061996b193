#!/bin/bash
# commands.sh SOURCE_DIR BUILD_DIR SCRATCH_DIR PAGE: runs the blocks of PAGE that are marked ```sh, in order, in one shell,
# in an empty folder with links to models/ and presets/, on a third of the page's training texts and 100 dev texts. Stops
# at the first failing command and prints its line.
set -euo pipefail
source=$(cd "${1:?source directory}" && pwd)
build=$(cd "${2:?build directory}" && pwd)
scratch=$(mkdir -p "${3:?scratch directory}" && cd "$3" && pwd)
page=${4:?page}

rm -rf "$scratch"
mkdir -p "$scratch/home"
cd "$scratch"
ln -s "$source/models" "$source/presets" .

# Writes a script with the page's line numbers. Omits lines that begin with a command that installs, or needs the network
# or the whole checkout: $left_out. Other text becomes empty lines.
left_out='make|sudo|apt-get|pip|git|podman'
awk -v left_out="^($left_out) " '
    /^```/ { inside = ($0 == "```sh"); print ""; next }
    inside && $0 !~ left_out { print; next }
    { print "" }' "$source/$page" >commands
if ! grep -q . commands; then
    echo "$page: no command to run" >&2
    exit 1
fi

cat >run <<'RUN'
set -eEuo pipefail
trap 'echo "$page:$LINENO: failed with status $?: $BASH_COMMAND" >&2' ERR
nvdp-demo() {
    command nvdp-demo "$1" "$2" "$3" $(($4 / 3))
    sed -i '102,$d' "$2"/*/dev.tsv
    sed -i '101,$d' "$2"/*/dev_names.txt
}
source ./commands
RUN
env -u XDG_CACHE_HOME HOME="$PWD/home" PATH="$build:$PATH" page="$page" bash run </dev/null
echo "$page: $(grep -c nvdp commands) commands passed"
cd / && rm -rf "$scratch" # models and caches; they stay if a command fails
