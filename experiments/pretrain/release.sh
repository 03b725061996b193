#!/usr/bin/env bash
# Rebuilds a released model from text.  usage: release.sh RECIPE OUT_DIR TEXT...
# RECIPE is a folder here (compact, small): its 1.json, 2.json, ... are `nvdp pretrain --config` files, run one after
# the other, each from the weights of the one before.  An interrupted or killed release goes on where it stopped when
# it is called again.  NVDP names the program (default: nvdp), EVAL_TEXT a held-out text (default: none).
set -euo pipefail
if [ $# -lt 3 ]; then
    sed -n 's/^# usage: /usage: /p; s/^# Rebuilds.*usage: /usage: /p' "$0" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
recipe=$here/$1
out=$2
shift 2
nvdp=${NVDP:-nvdp}
if [ ! -f "$recipe/1.json" ]; then
    echo "release.sh: $recipe/1.json: expected a recipe, found none; there are: $(cd "$here" && echo */)" >&2
    exit 2
fi
held_out=()
[ -z "${EVAL_TEXT:-}" ] || held_out=(--eval-text "$EVAL_TEXT")
mkdir -p "$out"
before=()
for ((stage = 1; ; stage++)); do
    [ -f "$recipe/$stage.json" ] || break
    run=$out/stage-$stage
    if [ ! -f "$run/result.json" ]; then
        if [ -f "$run/state.ckpt" ]; then
            "$nvdp" pretrain --resume "$run"
        else
            "$nvdp" pretrain --config "$recipe/$stage.json" "${before[@]}" "${held_out[@]}" --out "$run" --overwrite "$@"
        fi
    fi
    before=(--init "$run")
done
for file in config.json model.safetensors vocab.txt tokenizer_config.json; do
    cp "$out/stage-$((stage - 1))/$file" "$out/$file"
done
cat "$out"/stage-*/metrics.jsonl >"$out/metrics.jsonl"
echo "$out: config.json, model.safetensors, vocab.txt, tokenizer_config.json" >&2
