#!/bin/sh
# corpus.sh record [REVISION], compare [CASE...], allocations [N]: proves that a change keeps the program's behavior to the byte.
# record builds REVISION (default: HEAD) and runs the frozen commands of tests/corpus; compare runs them with this work tree and
# prints each output or file that differs (exit status 1); allocations lets N allocations of ten commands fail (default: all)
# under the address sanitizer. Digests depend on the processor and the compiler, so both runs belong on one machine.
# NVDP_CORPUS_RECORD=FILE: a recording made elsewhere on this machine, which record writes and compare reads (default:
# build/corpus/recorded.json). Runs of several work trees wait for each other, for all use the folder /tmp/nvdp-corpus.
set -eu
cd "$(dirname "$0")/.."
what=${1:-} && [ $# -eq 0 ] || shift
out=build/corpus
recorded=${NVDP_CORPUS_RECORD:-$out/recorded.json}
mkdir -p "$out"
case $what in
record)
    revision=$(git rev-parse "${1:-HEAD}")
    [ -d "$out/tree" ] && git worktree remove --force "$out/tree"
    git worktree add --quiet --detach "$out/tree" "$revision"
    (cd "$out/tree" && scripts/build.sh release nvdp nvdp_demo)
    mkdir -p "$out/tree/build/release/tests"
    scripts/build.sh release still
    cp build/release/tests/still.so "$out/tree/build/release/tests/"
    python3 tests/corpus/corpus.py run "$out/tree/build/release" "$recorded"
    ;;
compare)
    scripts/build.sh release nvdp nvdp_demo still
    python3 tests/corpus/corpus.py run build/release "$out/now.json" ${1:+--cases "$@"}
    python3 tests/corpus/corpus.py compare "$recorded" "$out/now.json" --text ${1:+--cases "$@"}
    ;;
allocations)
    scripts/build.sh debug-asan nvdp nvdp_demo still
    python3 tests/corpus/corpus.py allocations build/debug-asan --most "${1:-100000}"
    ;;
*)
    sed -n '2,7s/^# //p' "$0" >&2
    exit 2
    ;;
esac
