#!/bin/bash
# threads.sh: trains, measures and exports under the thread sanitizer, on a small artificial task and models/compact. Stops at
# the first data race. libarcher, from clang's libomp, reports the synchronization of OpenMP to the sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh tsan -j"${JOBS:-$(nproc)}" nvdp
archer=$(dirname "$(ldd build/tsan/nvdp | awk '/libomp\.so/ {print $3}')")/libarcher.so
[ -e "$archer" ] || { echo "threads.sh: $archer: no such file; install libomp-dev" >&2; exit 1; }
export OMP_TOOL_LIBRARIES=$archer TSAN_OPTIONS=ignore_noninstrumented_modules=1:history_size=5:halt_on_error=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/task"
for split in train dev; do
    awk -v rows=$([ $split = train ] && echo 160 || echo 40) 'BEGIN {
        split("good great lovely fine bad awful boring poor", word); split("film plot actor story music", thing)
        print "sentence\tlabel"
        for (i = 0; i < rows; i++) printf "the %s was %s%s .\t%d\n", thing[i % 5 + 1], i % 7 ? "" : "very ", word[i % 8 + 1], i % 8 < 4
    }' >"$folder/task/$split.tsv"
done
nvdp() {
    echo "== nvdp $*" | sed "s#$folder#.#g"
    XDG_CACHE_HOME=$folder/cache build/tsan/nvdp "$@" --threads 3 --quiet >"$folder/out" 2>&1 || {
        tail -n 60 "$folder/out" >&2
        exit 1
    }
}
train=(train --task sst2 --data "$folder/task" --model models/compact --max-length 16 --batch 16 --epochs 2 --eval-draws 1)
nvdp "${train[@]}" --method nvdp --lambda 1e-3 --dropout 0.1 --out "$folder/nvdp"
nvdp "${train[@]}" --method nvdp --precision bf16 --lambda 1e-3 --out "$folder/bf16"
nvdp "${train[@]}" --preset per-nat --out "$folder/private"
nvdp "${train[@]}" --method vtdp --lambda 1e-3 --freeze-layers 2 --out "$folder/vtdp"
nvdp "${train[@]}" --method base --encoder bilstm --lstm-hidden 16 --token-noise laplace --eta 100 --out "$folder/bilstm"
nvdp "${train[@]}" --method base --dp-batch 32 --dp-noise 1 --allow-weak-delta --out "$folder/dp"
nvdp privacy "$folder/private" --exact --exact-pairs 20
nvdp export "$folder/private" --split train,dev --with-labels --out "$folder/shared.h5"
nvdp reuse "$folder/shared.h5"
nvdp sanitize --text "$folder/task/dev.tsv" --model models/compact --mechanism laplace-nearest --eta 100 --out "$folder/private.txt"
nvdp pretrain --init models/compact --text README.md --length 32 --batch 8 --steps 6 --privatize laplace --eta 100 --objective prob-mlm --out "$folder/adapted"
echo "no data race found"
