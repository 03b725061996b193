#!/bin/sh
# docs.sh: the public headers as pages, build/docs/html.  Fails where anything public is not documented.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/docs && mkdir -p build
failed=0
doxygen docs/Doxyfile || failed=1

# What Doxygen passes over: functions of a header that has no @file, enumerators.
for header in include/*.h include/nvdp/*.h; do
    grep -q '@file' "$header" || {
        echo "$header:1: no @file comment: none of its functions is in the pages" >&2
        failed=1
    }
done
awk '
    /<enumvalue / { inside = 1; text = "" }
    inside && /<name>/ { gsub(/ *<[^>]*>/, ""); name = $0 }
    inside && /<para>/ { text = $0 }
    /<\/enumvalue>/ { inside = 0; if (text == "") { print name ": the enumerator is not documented"; found = 1 } }
    END { exit found }' build/docs/xml/*_8h.xml >&2 || failed=1
[ $failed -eq 0 ] && echo "documentation: build/docs/html/index.html"
exit $failed
