#!/bin/sh
# build.sh PRESET [-OPTION...] [TARGET...]: configures build/PRESET where needed and builds it, or the named targets in it.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset/configure.log
mkdir -p "build/$preset"
if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    echo "The packages it needs: make install-deps" >&2
    exit 1
fi
sed -n '/-- nvdp [0-9]/,$p' "$log"
for word; do # "--target" before the first word that is no option
    shift
    case $word in
    -*) ;;
    *) case " $* " in *" --target "*) ;; *) set -- "$@" --target ;; esac ;;
    esac
    set -- "$@" "$word"
done
exec cmake --build "build/$preset" "$@"
