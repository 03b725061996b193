#!/usr/bin/env bash
# nvdp bench and today's peers in turn on this machine: a table of ratios to the best peer beside the targets.
# usage: compare.sh [--quick] [--rounds N] [--only REGEX] [--json]
#   --quick       one round of few steps: does it run, roughly how fast
#   --rounds N    times that nvdp and each peer take turns (default 3); a peer below 70 % of the best one in the first round sits
#                 out the others
#   --only REGEX  rows whose name matches: WORK-MODEL-TEXTS-PRECISION of train|private|encode, base|mpnet|minilm, full|mrpc|sst2, f32|bf16|int8;
#                 pairs; overhead-f32, overhead-bf16; latency-1, latency-2 (threads)
#   --json        one JSON object in place of the table
# Environment: NVDP (the program), PEERS_VENV (what peers.sh made), GLUE (its folder), MINILM (what make encoder made: its sizes, and
# BERT's uncased vocabulary), MPNET (what make encoder ENCODER=mpnet made; without it, its rows are left out), THREADS, DROPOUT (of
# both sides' training steps; default 0), WITHOUT (peers that match this regular expression are left out, such as compile).
# latency is one text of 16 words through Python, model loaded, with tokenizer and pooling (make nvdp.cdef: the target nvdp_cdef).
# Rows: full are random texts of 128 tokens, 32 a step; mrpc and sst2 are the tasks' training texts, packed by nvdp in the order in
# which training meets them, sorted by length and padded to the longest of a batch for the peers (peers.py tells their settings).
# A rate counts real tokens. A training step of nvdp's also clips the gradient. private is a step of DP-SGD with AdamW (--dp) beside
# Opacus's; its rows say what the process's memory came to.
set -euo pipefail
cd "$(dirname "$0")/../.."
NVDP=${NVDP:-build/release/nvdp}
PYTHON=${PEERS_VENV:-out/venv}/bin/python
GLUE=${GLUE:-../shared/data/glue}
MINILM=${MINILM:-models/minilm}
MPNET=${MPNET:-models/mpnet}
THREADS=${THREADS:-2}
DROPOUT=${DROPOUT:-0}
rounds=3 steps=16 full_steps=4 only=. json=0
while [ $# -gt 0 ]; do
    case $1 in
        --quick) rounds=1 steps=4 full_steps=2 ;;
        --rounds) rounds=${2:?number} && shift ;;
        --only) only=${2:?regular expression} && shift ;;
        --json) json=1 ;;
        *) sed -n '2,18s/^# //p' "$0" >&2 && exit 2 ;;
    esac
    shift
done

note() { echo "compare.sh: $*" >&2; }
[ -x "$NVDP" ] || { note "$NVDP is missing: run make, or set NVDP" && exit 1; }
[ -x "$PYTHON" ] || { note "$PYTHON is missing: run experiments/bench/peers.sh, or set PEERS_VENV" && exit 1; }
[ -f "$MINILM/config.json" ] || { note "$MINILM is missing: run make encoder, or set MINILM" && exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bf16=0 && ! grep -qE 'avx512_bf16|amx_bf16' /proc/cpuinfo || bf16=1
wanted() { [[ $1 =~ $only ]]; }

# record ROW PROGRAM VALUE: one more measurement.
record() { echo "$3" >>"$work/$1.$2" && note "$1 $2 $3"; }
# field NAME FILE: a number of a JSON object.
field() { grep -oE "\"$1\": [0-9.eE+-]+" "$2" | head -1 | cut -d' ' -f2; }
middle() { sort -g "$1" | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'; }

# ours ROW OPTION...: one run of nvdp bench.
ours() {
    local row=$1 out=$work/out.json
    shift
    "$NVDP" bench "$@" --json --quiet --threads "$THREADS" >"$out" || return 1
    record "$row" nvdp "$(field tokens_per_second "$out" || field pair_elements_per_second "$out")"
    for fact in fraction_of_gemm_peak peak_rss start_to_first_step_seconds; do
        field $fact "$out" >>"$work/$row.fact.$fact" || true
    done
}

# peer ROW PEER ARGUMENT...: one run of peers.py, unless the first round said that it is far behind.
peer() {
    local row=$1 peer=$2
    shift 2
    [ ! -e "$work/out.$row.$peer" ] || return 0
    [[ ! $peer =~ ${WITHOUT:-^$} ]] || return 0
    if "$PYTHON" experiments/bench/peers.py "$@" --threads "$THREADS" >"$work/out.json" 2>"$work/err"; then
        record "$row" "peer.$peer" "$(field rate "$work/out.json")"
        field peak_rss "$work/out.json" >>"$work/$row.memory.$peer" || true
    else
        note "$row $peer: $(tail -1 "$work/err")"
        touch "$work/out.$row.$peer"
    fi
}

leave_out() { # leave_out ROW: peers far behind the best
    local file
    for file in "$work/$1".peer.*; do
        [ ! -e "$file" ] || awk -v best="$(sort -g "$work/$1".peer.* | tail -1)" '{exit !($1 < .7 * best)}' "$file" || continue
        touch "$work/out.$1.${file#"$work/$1".peer.}"
    done
}

steps() { # steps WORK MODEL TEXTS PRECISION
    local row=$1-$2-$3-$4 model=$MINILM own=$MINILM peers=(torch compile) given=(--batch 32 --method base --precision "$4") sort= work_is=$1 i p
    wanted "$row" || return 0
    [ "$2" != base ] || model=base
    [ "$2" != mpnet ] || { model=$MPNET && own=$MPNET && { [ -f "$MPNET/config.json" ] || return 0; }; }
    [ "$1" != private ] || { work_is=train peers=(opacus-ghost opacus-hooks) && given+=(--dp --dropout 0); }
    [ "$1" != train ] || given+=(--dropout "$DROPOUT")
    case $3 in
        full) given+=(--length 128 --steps $full_steps) && [ "$2" = base ] || given+=(--model "$own") ;;
        mrpc) given+=(--data "$GLUE/MRPC" --task mrpc) ;;
        sst2) given+=(--data "$GLUE/SST-2" --task sst2) ;;
    esac
    [ "$2" != base ] || given+=(--arch base)
    if [ "$3" != full ]; then
        [ -f "$GLUE/MRPC/train.tsv" ] || { note "$row: no $GLUE/MRPC, left out" && return 0; }
        given+=(--model "$own" --max-length 128 --steps $steps) sort=--sort
    fi
    if [ "$1" = encode ]; then
        case $4 in
            f32) peers+=(openvino) && [ "$2" = mpnet ] || peers+=(onnxruntime) ;; # which has no fused attention for MPNet
            bf16) peers+=(openvino) ;;
            int8) peers=(onnxruntime openvino openvino-dynamic) ;;
        esac
        [ "$2-$3" = minilm-full ] || [ "$2" != minilm ] || [ "$4" = int8 ] || peers+=(sentence-transformers)
    fi
    for ((i = 0; i < rounds; i++)); do
        ours "$row" $work_is "${given[@]}" --write-batches "$work/batches.jsonl" || return 0
        for p in "${peers[@]}"; do
            peer "$row" "$p" $work_is "$p" "$4" "$model" "$work/batches.jsonl" $sort --dropout "$DROPOUT"
        done
        [ $i != 0 ] || leave_out "$row"
    done
}

pairs() { # linear in pairs on both sides: the peers get fewer texts
    local i p
    wanted pairs || return 0
    for ((i = 0; i < rounds; i++)); do
        ours pairs rd --texts 408 --components 129 --dim 768
        for p in torch compile; do
            peer pairs "$p" pairs "$p" 32 129 768
        done
        [ $i != 0 ] || leave_out pairs
    done
}

latency() { # latency THREADS: one text through Python
    local row=latency-$1 THREADS=$1 i p library
    wanted "$row" || return 0
    library=$(cd "$(dirname "$NVDP")" && pwd)/libnvdp.so
    for ((i = 0; i < rounds; i++)); do
        for p in nvdp onnxruntime openvino sentence-transformers; do
            NVDP_LIBRARY=$library PYTHONPATH=python peer "$row" "$p" latency "$p" "$MINILM"
        done
        [ $i != 0 ] || leave_out "$row"
    done
    cat "$work/$row.peer.nvdp" >>"$work/$row.nvdp" && rm "$work/$row.peer.nvdp"
}

overhead() { # overhead PRECISION: nvdp over base, in turn
    local given=(--arch base --precision "$1" --batch 32 --length 128 --steps $full_steps --dropout 0) i
    wanted "overhead-$1" || return 0
    for ((i = 0; i < rounds; i++)); do
        ours "overhead-$1-base" train "${given[@]}" --method base
        ours "overhead-$1-nvdp" train "${given[@]}" --method nvdp
    done
}

# each WHAT: calls `WHAT ROW TARGET` for every row that was measured.
each() {
    local row target
    for row in {train,private,encode}-{base,mpnet,minilm}-{full,mrpc,sst2}-{f32,bf16,int8} pairs latency-{1,2}; do
        [ -f "$work/$row.nvdp" ] || continue
        case $row in
            private-*) target=3 ;;
            *-full-*) target= ;;
            train-*) target=1.3 ;;
            encode-*) target=1.2 ;;
            pairs) target=40 ;;
            latency-*) target=1 ;;
        esac
        "$1" "$row" "$target"
    done
}

# rates ROW: "PEER RATE" of medians, the best first.
rates() {
    local file
    for file in "$work/$1".peer.*; do
        [ ! -f "$file" ] || echo "${file#"$work/$1".peer.} $(middle "$file")"
    done | sort -k2,2gr
}

show() {
    rates "$1" | awk -v row="$1" -v goal="$2" -v a="$(middle "$work/$1.nvdp")" '
        NR == 1 {best = $1; b = $2}
        NR > 1 {others = others sprintf("%s%s %.3g", NR > 2 ? ", " : "", $1, $2)}
        END {
            if (NR == 0) {printf "%-26s %10.4g\n", row, a; exit}
            verdict = goal == "" ? "" : (a / b >= goal ? "reached" : "missed")
            printf "%-26s %10.4g %10.4g  %-21s %6.2f %6s %-7s  %s\n", row, a, b, best, a / b, goal, verdict, others
        }'
}

show_json() {
    rates "$1" | awk -v row="$1" -v goal="$2" -v a="$(middle "$work/$1.nvdp")" '
        NR == 1 {best = $1; b = $2}
        {peers = peers sprintf("%s\"%s\": %.6g", NR > 1 ? ", " : "", $1, $2)}
        END {printf "{\"row\": \"%s\", \"nvdp\": %.6g, \"peers\": {%s}, \"best\": %s, \"ratio\": %s, \"target\": %s},\n", row, a, peers,
                    NR ? "\"" best "\"" : "null", NR ? sprintf("%.4g", a / b) : "null", goal == "" ? "null" : goal}'
}

# fact ROW FIELD TEXT SCALE UNIT: a median of nvdp's own.
fact() {
    [ ! -s "$work/$1.fact.$2" ] || awk -v v="$(middle "$work/$1.fact.$2")" -v t="$3" -v s="$4" -v u="$5" 'BEGIN {printf "%-40s %8.4g %s\n", t, v * s, u}'
}

for precision in f32 bf16 int8; do
    [ $precision != bf16 ] || [ $bf16 = 1 ] || continue
    for model in base mpnet minilm; do
        for texts in full mrpc sst2; do
            [ $precision = int8 ] || steps train $model $texts $precision
            [ $precision = int8 ] || [ $texts = mrpc ] || [ $model = mpnet ] || steps private $model $texts $precision
            steps encode $model $texts $precision
        done
    done
    [ $precision = int8 ] || overhead $precision
done
pairs
for i in 1 2; do latency $i; done

machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
versions=$("$PYTHON" -m pip list 2>/dev/null | awk '$1 ~ /^(torch|transformers|sentence-transformers|onnxruntime|openvino)$/ {printf "%s %s ", $1, $2}')
if [ $json = 1 ]; then
    printf '{"machine": "%s", "threads": %d, "rounds": %d, "dropout": %s, "versions": "%s", "rows": [\n%s\n]}\n' "$machine" "$THREADS" "$rounds" \
        "$DROPOUT" "${versions% }" "$(each show_json | sed '$s/,$//')"
    exit 0
fi
echo "$machine, $THREADS threads; medians of $rounds round(s), dropout $DROPOUT; $versions"
printf '%-26s %10s %10s  %-21s %6s %6s\n' "tokens, pairs, texts per s" nvdp "best peer" "" ratio target
each show
for file in "$work"/private-*.memory.*; do
    [ ! -f "$file" ] || awk -v v="$(middle "$file")" -v t="$(basename "$file" | sed 's/.memory./, /'), peak memory" 'BEGIN {printf "%-50s %8.4g GiB\n", t, v / 2^30}'
done
for precision in bf16 f32; do
    for model in base minilm; do
        fact private-$model-full-$precision peak_rss "private $model $precision, nvdp, peak memory" 9.3132e-10 GiB
    done
    fact train-base-full-$precision fraction_of_gemm_peak "train base $precision, of product peak" 100 %
    fact train-base-full-$precision peak_rss "train base $precision, peak memory" 9.3132e-10 GiB
    fact train-base-full-$precision start_to_first_step_seconds "train base $precision, start" 1 s
    [ ! -f "$work/overhead-$precision-nvdp.nvdp" ] || awk -v a="$(middle "$work/overhead-$precision-base.nvdp")" -v t="nvdp over base, $precision" \
        -v b="$(middle "$work/overhead-$precision-nvdp.nvdp")" 'BEGIN {printf "%-40s %8.4g %%\n", t, 100 * (a / b - 1)}'
done
