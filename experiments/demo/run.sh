#!/usr/bin/env bash
# The whole way on made-up texts: train, measure, share, reuse.  usage: run.sh BUILD_DIR OUT_DIR
# The texts are opinions with the speaker's name in them; the label is the opinion, the name is private.
set -euo pipefail
build=${1:?build directory}
out=${2:?output directory}
nvdp=$build/nvdp
demo=$build/nvdp-demo
start=$(date +%s)

rm -rf "$out/data"
mkdir -p "$out/runs"
"$demo" data "$out/data"
data=$out/data/sentiment
cat "$data/train_names.txt" "$data/dev_names.txt" >"$out/data/names.txt" # in the shared file's order
common=(--task sst2 --data "$data" --model "$out/data/model" --epochs 8 --batch 32 --lr 1e-3 --max-length 32
        --patience 0 --seed 1 --overwrite --no-cache)
# A narrow latent, priced per nat and clipped, so that every divergence is finite.
narrow=(--regularizer kl --latent-dim 16 --mu-tau 0.3 --stdev-tau 0.7 --alpha-tau -3.5 --delta 1
        --clip-mu 4 --clip-logvar-min -1.5 --clip-logvar-max 0 --clip-alpha-min 0.6 --clip-alpha-max 6)

# One method from training to an attack on what it shares.  usage: run NAME OPTION...
run() {
    local name=$1 dir=$out/runs/$1
    shift
    printf '\n== %s: train\n' "$name"
    "$nvdp" train "${common[@]}" --out "$dir" "$@"
    if [ "$name" = base ]; then return; fi
    printf '\n== %s: how private is it?\n' "$name"
    "$nvdp" privacy "$dir"
    printf '\n== %s: share, and train readers from the shared file alone\n' "$name"
    "$nvdp" export "$dir" --split train,dev --with-labels --out "$dir/shared.h5" --overwrite
    "$nvdp" reuse "$dir/shared.h5" --json >"$dir/reuse.json"
    "$nvdp" reuse "$dir/shared.h5" --labels "$out/data/names.txt" --json >"$dir/attack.json"
}

run base --method base
run nvdp-published --method nvdp --lambda 1e-3
run nvdp-kl-weak --method nvdp "${narrow[@]}" --lambda 3e-3
run nvdp-kl-strong --method nvdp "${narrow[@]}" --lambda 3e-2

"$demo" table "$out" base nvdp-published nvdp-kl-weak nvdp-kl-strong
printf '\n'
cat "$out/table.txt"
printf '\nDone in %d s.\n  runs         %s\n  shared file  %s\n  table        %s\n' "$(($(date +%s) - start))" \
    "$out/runs" "$out/runs/nvdp-kl-weak/shared.h5" "$out/table.txt"
