#!/usr/bin/env bash
# nvdp bench and PyTorch in turn on this machine: a table of ratios beside the targets.
# usage: compare.sh [--quick] [--rounds N] [--only REGEX]
#   --quick       one round of few steps: does it run, roughly how fast
#   --rounds N    times each pair of programs takes turns (default 3)
#   --only REGEX  rows whose name matches: base-f32 base-bf16 mini-f32 mini-bf16 mrpc-f32 mrpc-bf16 rd overhead-f32 overhead-bf16
# Environment: NVDP (the program), PEERS (folder with bench_bert_torch.py, bench_renyi_torch.py, bert_torch.py), PYTHON (with
# PyTorch), MRPC (GLUE's folder), VOCABULARY (a BERT directory with BERT's uncased vocab.txt), THREADS.
# Both programs train without dropout, as the peer has none; nvdp's step also clips the gradient. A rate is of real tokens.
set -euo pipefail
cd "$(dirname "$0")/../.."
NVDP=${NVDP:-build/release/nvdp}
PEERS=${PEERS:-../shared/peers}
PYTHON=${PYTHON:-/usr/bin/python3}
MRPC=${MRPC:-../shared/data/glue/MRPC}
VOCABULARY=${VOCABULARY:-../shared/data/bert/mini}
THREADS=${THREADS:-2}
rounds=3 steps=4 peer_steps=2 mrpc_steps=8 only=.
while [ $# -gt 0 ]; do
    case $1 in
        --quick) rounds=1 steps=2 peer_steps=1 mrpc_steps=2 ;;
        --rounds) rounds=${2:?number} && shift ;;
        --only) only=${2:?regular expression} && shift ;;
        *) sed -n '2,9s/^# //p' "$0" >&2 && exit 2 ;;
    esac
    shift
done

[ -x "$NVDP" ] || { echo "compare.sh: $NVDP is missing: run make, or set NVDP" >&2 && exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wanted() { [[ $1 =~ $only ]]; }
note() { echo "compare.sh: $*" >&2; }
torch=1
[ -f "$PEERS/bench_bert_torch.py" ] || { torch=0 && note "no peers in $PEERS (set PEERS): nvdp's numbers alone"; }
[ $torch = 0 ] || "$PYTHON" -c 'import torch' 2>"$work/err" || { torch=0 && note "$PYTHON has no PyTorch: nvdp's numbers alone"; }

# record SERIES VALUE: one more measurement of a series.
record() { echo "$2" >>"$work/$1"; }
# field NAME FILE: a number of a JSON object of nvdp's.
field() { sed -n "s/^ *\"$1\": \([0-9.eE+-]*\),\{0,1\}\$/\1/p" "$2" | head -1; }

# ours SERIES WORK OPTION...: one run of nvdp bench; records tokens/s, share of peak, memory, start.
ours() {
    local series=$1 kind=$2 out=$work/ours.json
    shift 2
    if ! "$NVDP" bench "$kind" --json --quiet --threads "$THREADS" "$@" >"$out" 2>"$work/err"; then
        note "nvdp bench $kind $*: $(head -1 "$work/err")"
        return 1
    fi
    record "$series.rate" "$(field tokens_per_second "$out")"
    record "$series.peak" "$(field fraction_of_gemm_peak "$out")"
    record "$series.rss" "$(field peak_rss "$out")"
    record "$series.start" "$(field start_to_first_step_seconds "$out")"
}

# peer SERIES ARCH PRECISION: bench_bert_torch.py; records training and forward tokens/s.
peer() {
    [ $torch = 1 ] || return 0
    local line
    line=$("$PYTHON" "$PEERS/bench_bert_torch.py" 32 128 "$peer_steps" "$3" "$2")
    record "$1-train.peer" "$(sed 's/.*train [^ ]* s\/step \([0-9]*\) tok.*/\1/' <<<"$line")"
    record "$1-encode.peer" "$(sed 's/.*fwd [^ ]* s \([0-9]*\) tok.*/\1/' <<<"$line")"
}

full() { # full ARCH PRECISION: random texts of 128 tokens
    local name=$1-$2 common=(--arch "$1" --precision "$2" --method base --batch 32 --length 128 --steps "$steps")
    for ((i = 0; i < rounds; i++)); do
        ours "$name-train" train "${common[@]}" --dropout 0 || return 0
        ours "$name-encode" encode "${common[@]}"
        peer "$name" "$1" "$2"
    done
}

mrpc() { # mrpc PRECISION: the task's own batches
    [ -f "$MRPC/train.tsv" ] && [ -f "$VOCABULARY/vocab.txt" ] || { note "no $MRPC or $VOCABULARY: mrpc left out" && return 0; }
    local name=mrpc-$1 out
    local common=(--arch base --precision "$1" --method base --batch 32 --data "$MRPC" --task mrpc --model "$VOCABULARY"
                  --max-length 128 --steps "$mrpc_steps")
    for ((i = 0; i < rounds; i++)); do
        ours "$name-train" train "${common[@]}" --dropout 0 --write-batches "$work/batches.jsonl" || return 0
        ours "$name-encode" encode "${common[@]}"
        [ $torch = 1 ] || continue
        out=$("$PYTHON" experiments/bench/peer_batches.py "$PEERS" "$work/batches.jsonl" base "$1" "$THREADS")
        record "$name-train.peer" "$(sed 's/.*"train": \([0-9.e+]*\).*/\1/' <<<"$out")"
        record "$name-encode.peer" "$(sed 's/.*"encode": \([0-9.e+]*\).*/\1/' <<<"$out")"
    done
}

rd() { # linear in pairs on both sides: the peer gets fewer texts
    local texts=408 peer_texts=48 out=$work/rd.json
    for ((i = 0; i < rounds; i++)); do
        "$NVDP" bench rd --json --quiet --threads "$THREADS" --texts "$texts" --components 129 --dim 768 >"$out"
        record rd.rate "$(field pair_elements_per_second "$out")"
        [ $torch = 1 ] || continue
        record rd.peer "$("$PYTHON" "$PEERS/bench_renyi_torch.py" "$peer_texts" 129 768 |
            sed 's/.*s, \([0-9.]*\) G pair-elements.*/\1e9/')"
    done
}

overhead() { # overhead PRECISION: nvdp over base, in turn
    local common=(--arch base --precision "$1" --batch 32 --length 128 --steps "$steps" --dropout 0)
    for ((i = 0; i < rounds; i++)); do
        ours "overhead-$1-base" train "${common[@]}" --method base || return 0
        ours "overhead-$1-nvdp" train "${common[@]}" --method nvdp
    done
}

# best FILE, middle FILE: of a series' measurements.
best() { sort -g "$1" | tail -1; }
middle() { sort -g "$1" | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'; }

# row SERIES TEXT UNIT TARGET: ours, the peer's and the ratio, of medians and of the best.
row() {
    [ -f "$work/$1.rate" ] || return 0
    if [ ! -f "$work/$1.peer" ]; then
        awk -v t="$2" -v u="$3" -v a="$(middle "$work/$1.rate")" 'BEGIN {printf "%-34s %10.4g %10s  %6s  %6s  %6s  %-7s  %s\n", t, a, "-", "-", "-", "", "", u}'
        return
    fi
    awk -v t="$2" -v u="$3" -v goal="$4" -v a="$(middle "$work/$1.rate")" -v b="$(middle "$work/$1.peer")" \
        -v x="$(best "$work/$1.rate")" -v y="$(best "$work/$1.peer")" 'BEGIN {
        verdict = goal == "" ? "" : (a / b >= goal ? "reached" : "missed")
        printf "%-34s %10.4g %10.4g  %6.2f  %6.2f  %6s  %-7s  %s\n", t, a, b, a / b, x / y, goal, verdict, u }'
}

# fact SERIES SUFFIX TEXT SCALE UNIT TARGET SENSE: one number against a bound (SENSE: least or most).
fact() {
    [ -f "$work/$1.$2" ] || return 0
    awk -v v="$(middle "$work/$1.$2")" -v t="$3" -v scale="$4" -v u="$5" -v goal="$6" -v sense="$7" 'BEGIN {
        v *= scale; ok = sense == "least" ? v >= goal : v <= goal
        printf "%-34s %10.4g %-8s at %s %g: %s\n", t, v, u, sense, goal, (ok ? "reached" : "missed") }'
}

for precision in f32 bf16; do
    ! wanted "base-$precision" || full base "$precision"
    ! wanted "mini-$precision" || full mini "$precision"
    ! wanted "mrpc-$precision" || mrpc "$precision"
    ! wanted "overhead-$precision" || overhead "$precision"
done
! wanted rd || rd

echo
echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $THREADS threads; $rounds round(s); medians, and the ratio of the best"
printf '%-34s %10s %10s  %6s  %6s  %6s\n' "" nvdp PyTorch ratio best target
row base-bf16-train "train base, 32 x 128, bf16" tokens/s 2.0
row base-f32-train "train base, 32 x 128, f32" tokens/s 1.6
row base-bf16-encode "encode base, 32 x 128, bf16" tokens/s 1.6
row base-f32-encode "encode base, 32 x 128, f32" tokens/s ""
row mini-bf16-train "train mini, 32 x 128, bf16" tokens/s 4
row mini-f32-train "train mini, 32 x 128, f32" tokens/s 4
row mini-bf16-encode "encode mini, 32 x 128, bf16" tokens/s ""
row mini-f32-encode "encode mini, 32 x 128, f32" tokens/s ""
row mrpc-bf16-train "train base, MRPC, bf16" tokens/s 2.5
row mrpc-f32-train "train base, MRPC, f32" tokens/s ""
row mrpc-bf16-encode "encode base, MRPC, bf16" tokens/s 2.5
row mrpc-f32-encode "encode base, MRPC, f32" tokens/s ""
row rd "all pairs, 408 (peer 48) texts" pair-elements/s 90
echo
fact base-bf16-train peak "train base bf16, of product peak" 100 % 55 least
fact base-f32-train peak "train base f32, of product peak" 100 % 75 least
fact rd rate "all pairs, 408 x 129 x 768" 1e-9 "G/s" 3 least
for precision in bf16 f32; do
    [ -f "$work/overhead-$precision-nvdp.rate" ] || continue
    awk -v a="$(middle "$work/overhead-$precision-base.rate")" -v b="$(middle "$work/overhead-$precision-nvdp.rate")" \
        'BEGIN {print 100 * (a / b - 1)}' >"$work/overhead-$precision.share"
    fact "overhead-$precision" share "nvdp over base, $precision" 1 % 12 most
done
for precision in bf16 f32; do
    fact "base-$precision-train" rss "train base, peak memory, $precision" "$(awk 'BEGIN {print 2 ^ -30}')" GiB 3.5 most
    fact "base-$precision-train" start "train base, start, $precision" 1 s 1.5 most
done
