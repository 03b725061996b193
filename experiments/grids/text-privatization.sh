#!/bin/bash
# Makes the files that the grids of text privatization need, and the numbers that their reports show beside the runs (README.md in this folder). Run from the project's folder:
#   text-privatization.sh sanitize          privatized folders of SanText's Table 1, measured        -> sanitized/
#   text-privatization.sh pretrain          models of Qu's Tables 6 and 7, and SanText's Table 3      -> adaptive/
#   text-privatization.sh analyse SWEEP     Qu's Table 3 and Figures 3, 4; SanText's Figures 4, 5     -> SWEEP/analyses/
# Keeps files that exist. Smaller runs: set TASKS, ETAS, EPSILONS, STEPS, BATCH, LIMIT and the others below.
set -euo pipefail
NVDP=${NVDP:-build/release/nvdp}
MODEL=${MODEL:-models/bert-base-uncased}    # an encoder with its masked-LM head
VECTORS=${VECTORS:-glove.6B.300d.txt}
TEXT=${TEXT:-wiki.txt.xz}                   # public, to pretrain on
ETAS=${ETAS:-50 75 100 125 150 175}         # of Qu et al., over BERT's word embeddings
EPSILONS=${EPSILONS:-1 2 3}                 # of SanText's Table 1, over GloVe
BERT_EPSILONS=${BERT_EPSILONS:-12 14 16}    # of its Table 3, over BERT's word embeddings
TASKS=${TASKS:-sst2 stsb qnli}              # of SanText's Table 1
OBJECTIVES=${OBJECTIVES:-vanilla-mlm prob-mlm denoising-mlm}
STEPS=${STEPS:-100000}
BATCH=${BATCH:-256}
LIMIT=${LIMIT:-0}                           # texts that are analysed; 0: all
declare -A DATA=([sst2]=glue/SST-2 [qqp]=glue/QQP [stsb]=glue/STS-B [qnli]=glue/QNLI)

# sanitize_task TASK NAME OPTION...: NAME is what the grid calls the folder
sanitize_task() {
    local task=$1 out=sanitized/$1-$2
    shift 2
    [ -e "$out/measured.json" ] && return
    "$NVDP" sanitize --task "$task" --data "${DATA[$task]}" --vectors "$VECTORS" --vocabulary-from "$task" "$@" --insecure-seed 1 --out "$out" --overwrite >/dev/null
    "$NVDP" privacy --sanitized "$out" --task "$task" --data "${DATA[$task]}" --vectors "$VECTORS" "${PLUS[@]}" >/dev/null
}

# pretrain MECHANISM OBJECTIVE ETA
pretrain() {
    local out=adaptive/$1-$2-$3
    [ -e "$out/result.json" ] && return
    if [ -e "$out/state.ckpt" ]; then
        "$NVDP" pretrain --resume "$out"
    else
        "$NVDP" pretrain --init "$MODEL" --text "$TEXT" --privatize "$1" --objective "$2" --eta "$3" --length 128 --batch "$BATCH" --lr 2e-5 \
            --optimizer adamw --steps "$STEPS" --out "$out" --overwrite
    fi
}

# analyse FILE KIND OPTION...
analyse() {
    local file=$folder/$1.json
    [ -e "$file" ] && return
    "$NVDP" sanitize --analyse "$2" "${@:3}" --json >"$file.partial"
    mv "$file.partial" "$file"
}

case ${1:-} in
sanitize)
    mkdir -p sanitized
    for task in $TASKS; do
        PLUS=()
        sanitize_task "$task" random --mechanism random
        for eps in $EPSILONS; do
            PLUS=()
            sanitize_task "$task" "laplace-nearest-$eps" --mechanism laplace-nearest --eta "$eps"
            sanitize_task "$task" "santext-$eps" --mechanism santext --epsilon "$eps"
            PLUS=(--sensitive-from-data)
            sanitize_task "$task" "santext-plus-$eps" --mechanism santext-plus --epsilon "$eps" --p 0.3 --sensitive 0.9 "${PLUS[@]}"
        done
    done
    ;;
pretrain)
    mkdir -p adaptive
    for objective in $OBJECTIVES; do
        for eta in $ETAS; do
            pretrain laplace "$objective" "$eta"
            pretrain laplace-nearest "$objective" "$eta"
        done
    done
    for eta in $BERT_EPSILONS; do pretrain santext denoising-mlm "$eta"; done
    ;;
analyse)
    folder=${2:?a sweep folder}/analyses
    mkdir -p "$folder"
    analyse geometry geometry --model "$MODEL"
    for eta in $ETAS; do
        analyse "deniability-laplace-nearest-$eta" deniability --model "$MODEL" --mechanism laplace-nearest --eta "$eta"
        for task in sst2 qqp; do
            of=(--task "$task" --data "${DATA[$task]}" --limit "$LIMIT" --model "$MODEL")
            analyse "inversion-$task-laplace-nearest-$eta" inversion "${of[@]}" --mechanism laplace-nearest --eta "$eta"
        done
    done
    for task in sst2 qnli; do
        of=(--task "$task" --data "${DATA[$task]}" --limit "$LIMIT" --model "$MODEL")
        analyse "mask-$task" mask-inference "${of[@]}" --mask-model "$MODEL"
        for eps in $BERT_EPSILONS; do
            analyse "deniability-$task-santext-$eps" deniability "${of[@]}" --mechanism santext --epsilon "$eps"
            analyse "mask-$task-santext-$eps" mask-inference "${of[@]}" --mechanism santext --epsilon "$eps" --mask-model "$MODEL"
            # the privacy column of SanText's Table 3: whether a model pretrained on sanitized text guesses better
            [ ! -d "adaptive/santext-denoising-mlm-$eps" ] ||
                analyse "mask-$task-santext-$eps-pretrained" mask-inference "${of[@]}" --mechanism santext --epsilon "$eps" \
                    --mask-model "adaptive/santext-denoising-mlm-$eps"
        done
    done
    ;;
*)
    sed -n '2,6p' "$0" >&2
    exit 2
    ;;
esac
