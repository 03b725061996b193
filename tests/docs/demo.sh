#!/bin/bash
# demo.sh SOURCE_DIR BUILD_DIR SCRATCH_DIR: runs the demo on fewer texts. The demo itself fails if a method learned nothing or
# a score contradicts what is proven; this test damages scores, one at a time, and expects that failure.
set -euo pipefail
source=$(cd "${1:?source directory}" && pwd)
build=$(cd "${2:?build directory}" && pwd)
scratch=${3:?scratch directory}

rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
"$source/experiments/demo/run.sh" "$build" demo 640 </dev/null | tee screen.txt
for line in 'plain embeddings  *none' 'NVDP, published loss  *none' 'NVDP, certified  *16 .* 61\.9 %$' 'NVDP, certified  *8 .* 37\.6 %$' \
    'summary of all texts  *1 .* %  *no sample' '^Plain embeddings give the name away' '^Proven: ' '^All checks that could be made passed' '  report  *demo/sweep/report/index.html$'; do
    grep -q -- "$line" screen.txt || { echo "demo.sh: the screen lacks '$line'" >&2 && exit 1; }
done

# damage FILE VALUE COMMAND EXPECTED: COMMAND fails and prints EXPECTED if FILE has this accuracy, as "validation" or "mean".
damage() {
    cp "$1" saved
    sed -i -E '0,/"(validation|mean)": [0-9.]+/s//"\1": '"$2"'/' "$1"
    if "$build/nvdp-demo" $3 >/dev/null 2>errors; then echo "demo.sh: $1: $2 passes" >&2 && exit 1; fi
    grep -q -- "$4" errors || { echo "demo.sh: $1: $2: expected '$4', found:" >&2 && cat errors >&2 && exit 1; }
    mv saved "$1"
}
runs=demo/sweep/runs
of() { dirname "$(grep -l "\"certified_epsilon\": $1" $runs/sst2-*/run.json)"; }
damage $runs/base/result.json 0.6 "learned $runs/base" 'expected at least 0.90, found 0.600'
damage $runs/base/attack.json 0.7 "story $runs demo/summary" 'FAILED: plain embeddings: .* too weak'
damage "$(of 0.0)/reuse.json" 0.524 "story $runs demo/summary" 'FAILED: NVDP, published loss: .* learned nothing'
damage "$(of 16)/reuse.json" 0.524 "story $runs demo/summary" 'FAILED: NVDP, certified: .* learned nothing'
damage "$(of 8)/attack.json" 0.5 "story $runs demo/summary" 'FAILED: NVDP, certified: .* proven are at most'
"$build/nvdp-demo" story $runs demo/summary >/dev/null
