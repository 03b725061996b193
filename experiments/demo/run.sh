#!/usr/bin/env bash
# Trains, measures, shares, reuses and attacks on generated texts, with three seeds: run.sh BUILD_DIR OUT_DIR [small|standard]
# The texts are opinions that name the speaker. The opinion is the task, the name is private. The encoder is models/compact.
# Without a size, the speed of the machine decides. Fails if a score contradicts what docs/quick-start.md says.
set -euo pipefail
build=${1:?build directory}
out=${2:?output directory}
size=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
model=$here/../../models/compact
nvdp=$build/nvdp
start=$(date +%s)

if [ -z "$size" ]; then
    step=$("$nvdp" bench train --model "$model" --method nvdp --batch 32 --length 24 --steps 5 --threads 1 --json --quiet |
        sed -n 's/.*"min": *\([0-9.e+-]*\).*/\1/p')
    size=$(awk -v s="$step" 'BEGIN { print s < 0.4 ? "standard" : "small" }')
    printf '== a training step takes %.2f s on one processor: the %s demo\n' "$step" "$size"
fi
case $size in
small) texts=1200 epochs=5 ;;
standard) texts=2000 epochs=4 ;;
*) echo "run.sh: size: expected small or standard, found '$size'" >&2 && exit 2 ;;
esac

rm -rf "$out/data" "$out/sweep" "$out/probe"
mkdir -p "$out"
"$build/nvdp-demo" data "$out/data" 1 $texts
cat "$out"/data/sentiment/{train,dev}_names.txt >"$out/data/names.txt" # in the order of the shared files

common="\"tasks\": [\"sst2\"], \"data\": \"$out/data/sentiment\", \"batch\": 16, \"max_length\": 32, \"patience\": 0, \"seeds\": [1, 2, 3], \"keep\": \"all\""
cat >"$out/base.json" <<JSON
{$common, "model": "$model", "methods": ["base"], "epochs": $epochs, "lr": 5e-4}
JSON
cat >"$out/private.json" <<JSON
{$common, "from_base": "$out/sweep/runs/{task}-base-s{seed}-*", "freeze_layers": 4,
  "methods": [
    {"name": "nvdp, published loss", "method": "nvdp", "lambdas": [1e-3], "lr_bottleneck": 3e-4, "lr_head": 3e-4, "epochs": 3},
    {"name": "certified, epsilon 16", "method": "nvdp", "preset": "certified", "certified_epsilon": 16},
    {"name": "certified, epsilon 8", "method": "nvdp", "preset": "certified", "certified_epsilon": 8}
  ],
  "share": {"splits": "train,dev", "epochs": 8, "patience": 3}, "attack": "$out/data/names.txt"}
JSON

printf '== fine-tune an encoder, three seeds\n'
"$nvdp" sweep "$out/base.json" --out "$out/sweep" --jobs 2 --cache "$out/cache" >"$out/sweep.txt"
printf '== put a bottleneck on each; measure it, share samples, and train readers of the shared files for the opinion and for the name\n'
"$nvdp" sweep "$out/private.json" --out "$out/sweep" --jobs 2 --cache "$out/cache" >>"$out/sweep.txt"
printf '== train a reader of plain embeddings for the name\n'
"$nvdp" train --task tsv --text-column text --label-column name --data "$out/data/names" --model "$model" \
    --method vtdp --stdev-tau 1e-3 --lambda-g 0 --freeze-layers 4 --cache "$out/cache" --max-length 32 --lr 1e-3 \
    --batch 16 --epochs 6 --patience 0 --out "$out/probe" --overwrite --quiet >"$out/probe.txt"
for base in "$out"/sweep/runs/sst2-base-s*; do
    "$build/nvdp-demo" attack "$out/probe/result.json" "$base/attack.json"
done
certified=$(dirname "$(grep -l '"certified_epsilon": 16' "$out"/sweep/runs/sst2-nvdp-*-s1-*/run.json)")
shared=$certified/shared.h5
printf '\n== what a recipient checks: nvdp verify %s\n' "$shared"
"$nvdp" verify "$shared" >"$out/verify.txt"
grep -E '^yes +(all means|epsilon)' "$out/verify.txt"
printf '\n== what the shared file says about itself\n'
"$nvdp" info "$shared" | sed -n '/Proven/,$p' | head -n 8
"$nvdp" report "$out/sweep" >"$out/report.txt"
"$nvdp" report "$out/sweep" --json --quiet >"$out/report.json"
"$nvdp" explain "$certified" --baseline 0.125 --json >"$out/bound.json"
printf '\n'
python3 "$here/table.py" "$out"
printf '\nDone in %d s.\n  runs         %s\n  shared file  %s\n  report       %s\n' \
    "$(($(date +%s) - start))" "$out/sweep/runs" "$shared" "$out/sweep/report/index.html"
