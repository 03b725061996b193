#!/bin/sh
# corpus.sh record [REVISION], compare [CASE...], check, freeze, allocations [N]: proves that a change keeps the program's
# behavior to the byte. record builds REVISION (default: HEAD) and runs the frozen commands of tests/corpus; compare runs them
# with this work tree and prints each output or file that differs (exit status 1). Most digests depend on the processor, so
# both runs belong on one machine. check runs the cases whose digests no processor changes, and compares them with
# tests/corpus/digests; freeze writes that file, for a change on purpose. allocations lets allocations of ten commands fail
# under the address sanitizer: each of a command that has at most N (default: 300), else every k-th.
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
check | freeze)
    scripts/build.sh release nvdp nvdp_demo still
    python3 tests/corpus/corpus.py check build/release $([ "$what" = check ] || echo --freeze)
    ;;
allocations)
    scripts/build.sh debug-asan nvdp nvdp_demo still
    python3 tests/corpus/corpus.py allocations build/debug-asan --most "${1:-300}"
    ;;
*)
    sed -n '2,9s/^# //p' "$0" >&2
    exit 2
    ;;
esac
