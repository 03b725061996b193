#!/usr/bin/env bash
# The whole way on made-up texts: train, measure, share, reuse, attack, report.  usage: run.sh BUILD_DIR OUT_DIR
# The texts are opinions with the speaker's name in them; the label is the opinion, the name is private.
# The encoder is the one in models/compact.
set -euo pipefail
build=${1:?build directory}
out=${2:?output directory}
here=$(cd "$(dirname "$0")" && pwd)
model=$here/../../models/compact
nvdp=$build/nvdp
demo=$build/nvdp-demo
start=$(date +%s)

rm -rf "$out/data" "$out/sweep"
mkdir -p "$out"
"$demo" data "$out/data"
cat "$out"/data/sentiment/{train,dev}_names.txt >"$out/data/names.txt" # in the shared file's order

# The longest runs first.  "nvdp kl": priced per nat and clipped, so that every divergence is finite.
cat >"$out/grid.json" <<JSON
{
  "tasks": ["sst2"],
  "data": "$out/data/sentiment",
  "model": "$model",
  "batch": 32, "max_length": 32, "lr": 3e-4, "epochs": 2, "patience": 0, "seeds": [1],
  "lambdas": [1e-3],
  "methods": [
    "vtdp",
    {"name": "nvdp kl", "method": "nvdp", "lambdas": [3e-3, 3e-2], "epochs": 4, "regularizer": "kl",
     "kl_delay": 0.1, "kl_ramp": 0.8, "latent_dim": 32, "mu_tau": 0.3, "stdev_tau": 0.7, "alpha_tau": -3.5, "delta": 1,
     "clip_mu": 4, "clip_logvar_min": -1.5, "clip_logvar_max": 0, "clip_alpha_min": 0.6, "clip_alpha_max": 6,
     "clip_gradient": "inward"},
    {"name": "nvdp published", "method": "nvdp"},
    "vib-fixed",
    "base"
  ],
  "share": {"splits": "train,dev"},
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
    --epochs 2 --patience 0 --out "$out/probe" --overwrite --quiet
"$demo" attack "$out/probe/result.json" "$base/attack.json"

printf '\n== what the file of "nvdp kl" says of itself\n'
"$nvdp" info "$shared"
printf '\n== report\n'
"$nvdp" report "$out/sweep" >"$out/report.txt"
sed -n '/^Table 2/,$p' "$out/report.txt"
printf '\nreader: from the shared file alone, the opinion; attack: the name (chance 12.5); of base, the probe on plain embeddings.\n'
printf '\nDone in %d s.\n  grid         %s\n  runs         %s\n  shared file  %s\n  report       %s\n' \
    "$(($(date +%s) - start))" "$out/grid.json" "$out/sweep/runs" "$shared" "$out/sweep/report/index.html"
