#!/bin/sh
# docs.sh: builds the pages of the public headers, build/docs/html, and, if pdoc and a built library are there, of the Python package,
# build/docs/python. Fails if a public declaration is not documented. NVDP_PYTHON names another Python than python3.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/docs && mkdir -p build
failed=0
doxygen docs/Doxyfile || failed=1

# Doxygen does not report headers without @file, nor enumerators without a comment.
for header in include/*.h include/nvdp/*.h; do
    grep -q '@file' "$header" || {
        echo "$header:1: expected a @file comment, found none; the pages would lack its functions" >&2
        failed=1
    }
done
awk '
    /<enumvalue / { inside = 1; text = "" }
    inside && /<name>/ { gsub(/ *<[^>]*>/, ""); name = $0 }
    inside && /<para>/ { text = $0 }
    /<\/enumvalue>/ { inside = 0; if (text == "") { print name ": the enumerator is not documented"; found = 1 } }
    END { exit found }' build/docs/xml/*_8h.xml >&2 || failed=1
library=build/release/libnvdp.so
if [ -f $library ]; then
    status=0
    "${NVDP_PYTHON:-python3}" scripts/python_docs.py $library build/docs/python || status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || failed=1
else
    echo "[SKIP] reference of the Python package: $library is not built"
fi
[ $failed -eq 0 ] && echo "documentation: build/docs/html/index.html"
exit $failed
