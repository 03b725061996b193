#!/usr/bin/env bash
# Writes what the notebooks draw: trains, measures, shares, reads and sweeps on the demo's texts.
# usage: prepare.sh BUILD_DIR OUT_DIR      NVDP_NOTEBOOKS_MODEL: a BERT in place of models/compact
# The commands, as they can be typed in OUT_DIR, stand in OUT_DIR/commands.txt; what they print in OUT_DIR/log.txt.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?build directory}" && pwd)
out=${2:?output directory}
model=$(cd "${NVDP_NOTEBOOKS_MODEL:-$here/../models/compact}" && pwd)

mkdir -p "$out"
cd "$out"
rm -rf data tour sweep cache yours commands.txt log.txt
mkdir tour
ln -sfn "$build/nvdp" nvdp
ln -sfn "$model" bert
cp "$here/grid.json" grid.json
exec 3>&2 >>log.txt 2>&1
trap '[ $? -eq 0 ] || tail -n 40 log.txt >&3' EXIT

# Runs the program, and keeps the command.  usage: run FILE|- OPTION...; FILE takes what it prints
run() {
    local file=$1
    shift
    printf './nvdp %s%s\n' "$*" "$([ "$file" = - ] || printf ' >%s' "$file")" >>commands.txt
    if [ "$file" = - ]; then ./nvdp "$@"; else ./nvdp "$@" >"$file"; fi
}

"$build/nvdp-demo" data data 1 1200
cat data/sentiment/{train,dev}_names.txt >tour/names.txt # in the shared file's order
layers=$(sed -n 's/.*"num_hidden_layers": *\([0-9]*\).*/\1/p' bert/config.json)
training=(--model bert --cache cache --max-length 32 --batch 16 --patience 0 --seed 1)
top=(--freeze-layers $((layers - 1)) --lr 5e-4)
task=(--task sst2 --data data/sentiment)
# The per-nat preset, with weights that are learned and clipped, so that every divergence stays finite.
weights=(--weights learned --alpha-tau -3.5 --delta 1 --clip-alpha-min 0.6 --clip-alpha-max 6)
run - train "${task[@]}" "${top[@]}" "${training[@]}" --method base --epochs 3 --out tour/base
run - train "${task[@]}" --from-base tour/base --freeze-layers "$layers" --preset per-nat "${weights[@]}" --max-length 32 --seed 1 --cache cache \
    --log-every 10 --out tour/nvdp
run - privacy tour/nvdp --pairs tour/pairs.h5 --posteriors-out tour/posteriors.h5
run - export tour/nvdp --split train,dev --with-labels --out tour/shared.h5
run - export tour/nvdp --split dev --limit 100 --samples 8 --budget-samples 9 --out tour/draws.h5
run tour/reuse.json reuse tour/shared.h5 --epochs 8 --json
run tour/attack.json reuse tour/shared.h5 --epochs 8 --labels tour/names.txt --json
run - train --task tsv --data data/names --text-column text --label-column name "${training[@]}" "${top[@]}" --method base \
    --epochs 1 --out tour/probe
sed -i "s/LAYERS/$layers/" grid.json
run - sweep grid.json --out sweep --jobs 2 --cache cache
run report.json report sweep --no-figures --json
tail -n +2 data/sentiment/dev.tsv | cut -f1 | ./nvdp tokenize --model bert --max-length 32 --special >tour/tokens.txt
rm -rf cache tour/*/state.ckpt # large, and the texts can be read off the cache
