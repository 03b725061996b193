#!/bin/sh
# build.sh PRESET [-OPTION...] [TARGET...]: configures build/PRESET if necessary, and builds it or the given targets.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset/configure.log
mkdir -p "build/$preset"
made=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "build/$preset/CMakeCache.txt" 2>/dev/null || true)
if [ -n "$made" ] && [ "$made" != "$(pwd -P)" ] && [ "$made" != "$PWD" ]; then
    echo "build/$preset was made for $made, before this folder was moved or copied to $PWD; remove it and build again: rm -r build/$preset" >&2
    exit 1
fi
if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    echo "To install the required packages: make install-deps" >&2
    exit 1
fi
sed -n '/-- nvdp [0-9]/,$p' "$log"
for word; do # inserts "--target" before the first word that is not an option
    shift
    case $word in
    -*) ;;
    *) case " $* " in *" --target "*) ;; *) set -- "$@" --target ;; esac ;;
    esac
    set -- "$@" "$word"
done
exec cmake --build "build/$preset" "$@"
