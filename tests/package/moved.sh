#!/bin/sh
# moved.sh SOURCE SCRATCH: build.sh refuses a build folder that was made for another folder, and says how to go on.
set -eu
rm -rf "$2"
mkdir -p "$2/scripts" "$2/build/release"
cp "$1/scripts/build.sh" "$2/scripts/"
echo 'CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere' >"$2/build/release/CMakeCache.txt"
if "$2/scripts/build.sh" release 2>"$2/said"; then exit 1; fi
grep -q 'was made for /elsewhere, .*: rm -r build/release$' "$2/said"
