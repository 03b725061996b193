#!/bin/bash
# check.sh: runs the checks beyond the tests. Stops at the first failure and prints the time of each part.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}

part() { # part TITLE COMMAND...
    local title=$1 start=$SECONDS
    shift
    echo "== $title"
    "$@" || {
        echo "== $title: failed" >&2
        exit 1
    }
    echo "== $title: $((SECONDS - start)) s"
}

sources() { git ls-files --cached --others --exclude-standard '*.c' '*.h'; }

wording() {
    python3 scripts/prose.py || return 1
    git ls-files '*.c' '*.h' '*.inc' '*.md' '*.py' '*.sh' '*.cmake' | grep -v '^tests/golden/' |
        xargs codespell --quiet-level 3 --ignore-regex '\\[nt]' \
            --ignore-words-list fpr,dout,nd,ot,te,ore,bu,ther,each,ody,lamda,modle,trian,arithmetics,extit,seach,occurences,rouge
}

# These take as long as all other tests that train, so they are not part of `make test`.
demo_and_notebooks() {
    scripts/build.sh release -j"$jobs" nvdp nvdp_shared nvdp_demo && scripts/test.sh release -j"$jobs" -L 'notebooks|demo'
}

layout() { sources | xargs clang-format --dry-run -Werror; }

# Checks the sources of the clang build with their compiler options. base.c defines the functions that analyzer.h redefines, so
# it is checked without analyzer.h.
tidy() {
    local found=0 left_out='^src/base/base\.c$'
    grep -q 'src/cli/mpi\.c"' build/clang/compile_commands.json || left_out+='|^src/cli/mpi\.c$' # MPI is not installed
    sources | grep -E '^(src|nvib|vib|dchi|summary|rdp|experiments)/.*\.c$' | grep -vE "$left_out" |
        xargs -P"$jobs" -n4 clang-tidy -p build/clang --quiet --extra-arg=-include"$PWD/cmake/analyzer.h" \
            >build/clang/tidy.log 2>build/clang/tidy.err || found=1
    clang-tidy -p build/clang --quiet src/base/base.c >>build/clang/tidy.log 2>>build/clang/tidy.err || found=1
    cat build/clang/tidy.log
    [ $found -eq 0 ] || grep -E 'error:' build/clang/tidy.err || true
    return $found
}

sanitized() {
    scripts/build.sh debug-asan -j"$jobs" || return 1
    # strict_string_checks finds reads past the end of unterminated text.
    # A word that an earlier call left on the stack would hide a leak on one machine and not on another: the stack does not count.
    ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1 \
        LSAN_OPTIONS=use_stacks=0:use_registers=0 \
        UBSAN_OPTIONS=print_stacktrace=1 \
        scripts/test.sh debug-asan -j"$jobs" || return 1
    # Criterion passes a test that leaks memory, so search the report.
    if grep -B2 -A12 'LeakSanitizer: detected' build/debug-asan/Testing/Temporary/LastTest.log; then
        echo "memory leaks: see above" >&2
        return 1
    fi
}

part "wording (prose.py, codespell)" wording
part "layout (clang-format)" layout
part "documentation (Doxygen)" scripts/docs.sh
part "demo, and notebooks where Jupyter is installed" demo_and_notebooks
part "frozen commands" scripts/corpus.sh check
part "gcc, warnings are errors" scripts/build.sh gcc -j"$jobs"
part "clang, warnings are errors" scripts/build.sh clang -j"$jobs"
part "clang-tidy" tidy
part "tests and fuzz corpora under sanitizers" sanitized
echo "check passed in $SECONDS s"
