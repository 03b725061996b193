#!/usr/bin/env bash
# The whole way on made-up texts: train, measure, share, reuse, attack, report.  usage: run.sh BUILD_DIR OUT_DIR [small|standard|large]
# The texts are opinions with the speaker's name in them; the label is the opinion, the name is private.
# The encoder is the one in models/compact.  Without a size the machine's speed decides.
set -euo pipefail
build=${1:?build directory}
out=${2:?output directory}
size=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
model=$here/../../models/compact
nvdp=$build/nvdp
demo=$build/nvdp-demo
start=$(date +%s)

# A size's training: steps of 32 texts of all runs together.  Two runs go on at a time; that they share the memory, evaluation, sharing and readers double it.
steps_of() { case $1 in small) echo 430 ;; standard) echo 900 ;; *) echo 1360 ;; esac; }
if [ -z "$size" ]; then
    step=$("$nvdp" bench train --model "$model" --method nvdp --batch 32 --length 24 --steps 5 --threads 1 --json --quiet |
        sed -n 's/.*"min": *\([0-9.e+-]*\).*/\1/p')
    cores=$(($(nproc) < 2 ? 1 : 2))
    seconds() { awk -v s="$step" -v n="$(steps_of "$1")" -v c="$cores" 'BEGIN { printf "%.0f", s * n / c * 2 }'; }
    size=standard
    [ "$(seconds standard)" -le 180 ] || size=small
    printf '== a step takes %.2f s on this machine: the %s demo, about %d s (standard %d s; run.sh BUILD_DIR OUT_DIR small|standard|large to choose)\n' \
        "$step" "$size" "$(seconds "$size")" "$(seconds standard)"
fi
case $size in
small) texts=1200 batch=16 epochs=3 lr=5e-4 lambdas=3e-3 ;; # one point of the trade-off
standard) texts=2000 batch=16 epochs=2 lr=3e-4 lambdas="3e-3, 3e-2" ;;
large) texts=3000 batch=32 epochs=2 lr=3e-4 lambdas="3e-3, 3e-2" ;;
*) echo "run.sh: size: expected small, standard or large, found '$size'" >&2 && exit 2 ;;
esac

rm -rf "$out/data" "$out/sweep"
mkdir -p "$out"
"$demo" data "$out/data" 1 $texts
cat "$out"/data/sentiment/{train,dev}_names.txt >"$out/data/names.txt" # in the shared file's order

# The longest runs first.  "nvdp kl": priced per nat and clipped, so that every divergence is finite.
# NVIB wants the small learning rate in every size.
cat >"$out/grid.json" <<JSON
{
  "tasks": ["sst2"],
  "data": "$out/data/sentiment",
  "model": "$model",
  "batch": $batch, "max_length": 32, "lr": $lr, "epochs": $epochs, "patience": 0, "seeds": [1],
  "lambdas": [1e-3],
  "methods": [
    "vtdp",
    {"name": "nvdp kl", "method": "nvdp", "lambdas": [$lambdas], "epochs": 4, "lr": 3e-4, "regularizer": "kl",
     "kl_delay": 0.1, "kl_ramp": 0.8, "latent_dim": 32, "mu_tau": 0.3, "stdev_tau": 0.7, "alpha_tau": -3.5, "delta": 1,
     "clip_mu": 4, "clip_logvar_min": -1.5, "clip_logvar_max": 0, "clip_alpha_min": 0.6, "clip_alpha_max": 6,
     "clip_gradient": "inward"},
    {"name": "nvdp published", "method": "nvdp", "epochs": 3, "lr": 3e-4},
    "vib-fixed",
    "base"
  ],
  "share": {"splits": "train,dev", "epochs": 8, "patience": 3},
  "attack": "$out/data/names.txt",
  "keep": "all"
}
JSON

printf '== train five methods, measure them, share, and train readers from the shared files alone\n'
"$nvdp" sweep "$out/grid.json" --out "$out/sweep" --jobs 2 --cache "$out/cache"

base=$(echo "$out"/sweep/runs/sst2-base-*)
shared=$(echo "$out"/sweep/runs/sst2-nvdp-kl-*-l0.003-*)/shared.h5
printf '\n== base would share plain embeddings: a probe for the name on those of the encoder (a layer more, no noise)\n'
"$nvdp" train --task tsv --text-column text --label-column name --data "$out/data/names" --model "$model" \
    --method vtdp --stdev-tau 1e-3 --lambda-g 0 --freeze-layers 4 --cache "$out/cache" --max-length 32 --lr 1e-3 \
    --batch 16 --epochs 6 --patience 0 --out "$out/probe" --overwrite --quiet
"$demo" attack "$out/probe/result.json" "$base/attack.json"

printf '\n== what the file of "nvdp kl" says of itself\n'
"$nvdp" info "$shared"
printf '\n== report\n'
"$nvdp" report "$out/sweep" >"$out/report.txt"
sed -n '/^Table 2/,$p' "$out/report.txt"
printf '\nreader: from the shared file alone, the opinion; attack: the name (chance 12.5); of base, the probe on plain embeddings.\n'
printf '\nDone in %d s.\n  grid         %s\n  runs         %s\n  shared file  %s\n  report       %s\n' \
    "$(($(date +%s) - start))" "$out/grid.json" "$out/sweep/runs" "$shared" "$out/sweep/report/index.html"
