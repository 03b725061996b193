#!/usr/bin/env bash
# Trains, measures, shares, reads, attacks and verifies on generated texts, and ends with one screen: run.sh BUILD_DIR OUT_DIR [TEXTS]
# The texts are opinions that name the speaker. The opinion is the task, the name is private. The encoder is models/compact.
# Fails if a method learned nothing, if a score contradicts what is proven, or if the shared file does not verify.
set -euo pipefail
build=${1:?build directory}
out=${2:?output directory}
texts=${3:-1200}
model=$(cd "$(dirname "$0")/../../models/compact" && pwd)
nvdp=$build/nvdp
runs=$out/sweep/runs
base=$runs/base
start=$SECONDS

rm -rf "$out/data" "$out/public" "$out/sweep" "$out/cache" "$out/probe" "$out/summary"
mkdir -p "$runs"
"$build/nvdp-demo" data "$out/data" 1 "$texts"
"$build/nvdp-demo" data "$out/public" 2 "$texts"
head -n 2 "$out/data/sentiment/train.tsv" | tail -n 1 | cut -f 1
cat "$out"/data/sentiment/{train,dev}_names.txt >"$out/data/names.txt" # in the order of the shared files

options=(--batch 16 --max-length 32 --patience 0 --cache "$out/cache" --overwrite --quiet)
for seed in 1 2 3; do
    printf '== fine-tune an encoder on the opinions of %d texts, seed %d\n' "$texts" "$seed"
    "$nvdp" train --task sst2 --data "$out/data/sentiment" --model "$model" --method base --epochs 2 --lr 2e-4 --seed $seed \
        "${options[@]}" --out "$base" >"$out/base.txt"
    ! "$build/nvdp-demo" learned "$base" || break
    [ $seed -lt 3 ] || { echo "run.sh: no encoder of three seeds learned the opinion" >&2 && exit 1; }
    printf '== this encoder did not learn the opinion: another seed\n'
done

printf '== attack plain embeddings: train a reader for the name\n'
"$nvdp" train --task tsv --text-column text --label-column name --data "$out/data/names" --from-base "$base" --freeze-layers 4 \
    --method nvdp --weights constant --stdev-tau 1e-3 --lambda 0 --latent-dim 32 --lr 2e-3 --epochs 6 \
    "${options[@]}" --out "$out/probe" >"$out/probe.txt"
"$build/nvdp-demo" attack "$out/probe/result.json" "$base/attack.json"

printf '== put bottlenecks on the encoder, measure them, share samples, train readers of the samples for opinion and name\n'
cat >"$out/grid.json" <<JSON
{"tasks": ["sst2"], "data": "$out/data/sentiment", "from_base": "$base", "freeze_layers": 4,
  "batch": 16, "max_length": 32, "patience": 0, "seeds": [1], "lambdas": [0], "latent_dim": 32, "keep": "all",
  "methods": [
    {"name": "NVDP, published loss", "method": "nvdp", "lambdas": [1e-3], "lr": 3e-4, "epochs": 3},
    {"name": "NVDP, certified", "method": "nvdp", "preset": "certified", "certified_epsilon": [16, 8]}
  ],
  "share": {"splits": "train,dev", "epochs": 8, "patience": 3, "measure_texts": 50}, "attack": "$out/data/names.txt"}
JSON
"$nvdp" sweep "$out/grid.json" --out "$out/sweep" --jobs $(($(nproc) < 2 ? 1 : 2)) --cache "$out/cache" --quiet >"$out/sweep.txt"
for run in "$runs"/sst2-*; do
    "$nvdp" explain "$run" --baseline 0.125 --json >"$run/guess.json" # one of eight names
done
"$nvdp" report "$out/sweep" --quiet >"$out/report.txt"
printf '== summarize the collection: one noisy matrix of embeddings of the public encoder, no sample of a text\n'
cut -f 1 "$out/public/sentiment/train.tsv" | tail -n +2 >"$out/public.txt"
"$nvdp" summarize "$out/summary" --model "$model" --center "$out/public.txt" --input "$out/data/sentiment/train.tsv" --text-column sentence \
    --label-column label --classes 0,1 --reduce 64 --overwrite --out "$out/summary.h5" --json --quiet >"$out/summary.json" 2>"$out/summary.txt"
"$nvdp" reuse "$out/summary.h5" --model "$model" --score "$out/data/sentiment/dev.tsv" --text-column sentence --label-column label \
    --json --quiet >"$out/summary-reuse.json"
shared=$(dirname "$(grep -l '"certified_epsilon": 16' "$runs"/*/run.json)")/shared.h5
"$nvdp" verify "$shared" >"$out/verify.txt" || { cat "$out/verify.txt" >&2 && exit 1; }

printf '\n'
"$build/nvdp-demo" story "$runs" "$out/summary"
printf '\nnvdp verify checks the file of epsilon 16 without texts and model: %d checks hold.\n' "$(grep -c '^yes ' "$out/verify.txt")"
grep -vE '^(yes|no|-) ' "$out/verify.txt" | sed '/./,$!d'
printf '\nDone in %d s. The numbers vary between machines and runs.\n' $((SECONDS - start))
printf '  %-13s%s\n' report "$out/sweep/report/index.html" "shared file" "$shared" runs "$runs" "next" "docs/tutorial.md, the commands one by one"
