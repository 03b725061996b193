#!/bin/sh
# test.sh PRESET [ctest options]: runs the tests of build/PRESET; the last line sums up the single tests in them.
set -u
cd "$(dirname "$0")/.."
build=build/$1
shift
ctest --test-dir "$build" --output-on-failure --no-tests=error "$@"
code=$?
# A Criterion program counts as its tests, anything else as one.
awk '
    /^[0-9]+\/[0-9]+ Testing: / { counted = left_out = 0 }
    /Synthesis: Tested:/ {
        line = $0
        gsub(/\033\[[0-9;]*m/, "", line)
        split(line, part, "|")
        for (i in part) {
            n = part[i]
            sub(/.*: */, "", n)
            if (part[i] ~ /Passing/) passed += n
            if (part[i] ~ /Failing/ || part[i] ~ /Crashing/) failed += n
        }
        counted = 1
    }
    /\[SKIP\]/ { skipped++; left_out = 1; print }
    /^Test Passed\./ { if (!counted && !left_out) passed++ }
    /^Test Failed\./ { if (!counted) failed++ }
    END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }
' "$build/Testing/Temporary/LastTest.log"
exit $code
