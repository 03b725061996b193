#!/bin/bash
# members.sh SOURCE: checks that members of a table (methods, mechanisms of texts, encoders, attacks) are named only in the
# table's list, in files with its rows, and in the folders of the mathematics. Other code uses the row's properties.
set -eu
cd "$1"

# Names that are also ordinary words count only in comparisons.
words=' base nvdp word words sentence pair token language attribute random exposure nearest bert membership summary '

# Exceptions: FILE:NAME and the reason.
exceptions='
src/train/training_options.c:reg                 values that options imply
src/cli/bench.c:laplace-nearest         the default of an option
src/options/result.c:summary            a view of a result
'

failures=0
# Searches for the names of LIST, selected by EXPRESSION, outside the files that define PREFIX_name.
look() { # LIST EXPRESSION PREFIX
    local names name own found file pattern
    names=$(sed -nE "s/^[A-Z_]+\($2.*/\\1/p" "$1")
    [ "$(wc -w <<<"$names")" -ge 3 ] || { echo "$1: expected names, found '$names'" >&2; exit 1; }
    own=$(grep -rlE "^(const struct [a-z_]+ |    \[.*\] = )$3" src nvib vib dchi --include=*.c; echo "$1")
    for name in $names; do
        case $words in
        *" $name "*) pattern="(str(n?case)?cmp\([^;]*|[!=]= |\b(if|and|or|not) [^ ]+( not)? in \([^)]*)\"$name\"" ;;
        *) pattern="[\"']$name[\"']" ;;
        esac
        # generate.py writes two of the Python files from the library's tables
        found=$(find src rdp python/nvdp -name '*.[ch]' -o -name '*.inc' -o -name '*.py' | sort | grep -vxF "$own" |
            grep -vxE 'python/nvdp/(results|training_options)\.py' |
            xargs grep -nE "$pattern" | sed -E 's,/\*.*,,' | grep -E "$pattern" | grep -vE '^[^:]+:[0-9]+: *(\*|#)' || true)
        while IFS=: read -r file line code; do
            [ -z "$file" ] && continue
            case $exceptions in *"$file:$name "*) continue ;; esac
            echo "$file:$line: names '$name' of $1:$code" >&2
            failures=$((failures + 1))
        done <<<"$found"
    done
}
look src/mechanism/members.inc '[a-z_]+, "([^"]+)"' nvdp__method_row_
look dchi/members.inc '[a-z_]+, "([^"]+)"' nvdp__token_row_
look src/encoder/encoders.inc '([a-z0-9_]+)' nvdp__encoder_
look src/attack/attacks.inc '([a-z_]+)' nvdp__attack_row_
# A string that lists the endings of formats of a release; nvdp__format_endings() lists those of the table.
if grep -rnE '^[^/]*"[^"]*\.safetensors( or|,)[^"]{0,8}\.parquet' src/share src/attack src/options src/cli; then
    failures=$((failures + 1))
fi
[ $failures = 0 ]
