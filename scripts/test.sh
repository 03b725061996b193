#!/bin/sh
# test.sh PRESET [ctest options]: runs the tests of build/PRESET; the last line has the numbers of single tests.
set -u
cd "$(dirname "$0")/.."
build=build/$1
shift
ctest --test-dir "$build" --output-on-failure --no-tests=error "$@"
code=$?
# Counts each test of a Criterion program, and any other program as one test.
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
