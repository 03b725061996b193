#!/bin/bash
# fuzz.sh: builds the libFuzzer programs and runs each on its corpus for FUZZ_SECONDS (default 600). Saves inputs that reach
# new code in build/fuzz/corpus, and crashes in build/fuzz/crashes.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-600}
scripts/build.sh fuzz -j"${JOBS:-$(nproc)}"
mkdir -p build/fuzz/crashes
for program in build/fuzz/tests/fuzz_*; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    name=${program##*/fuzz_}
    mkdir -p "build/fuzz/corpus/$name"
    known=tests/fuzz/corpus/$name
    [ -d "$known" ] || known=
    echo "== $name: $seconds s"
    log=build/fuzz/$name.log
    "$program" -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="build/fuzz/crashes/$name-" "build/fuzz/corpus/$name" ${known:+"$known"} >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        exit 1
    }
    grep '^stat::' "$log"
done
