#!/bin/sh
# map.sh OUT.svg: draws the path of a text through the modules. Compiles the library so that it records every call, trains one
# epoch, and draws the calls between files.
set -eu
cd "$(dirname "$0")/.."
out=${1:?expected the path of the figure}
build=build/map
mkdir -p $build
cc -O1 -fPIC -DROOT=nvdp_train -c scripts/map/trace.c -o $build/whole.o
cc -O1 -fPIC -DROOT=nvdp__job_step -c scripts/map/trace.c -o $build/step.o

# trace NAME: builds a program that records the calls inside the function of NAME.o, and runs it once.
trace() {
    cmake -S . -B "$build/$1" -G Ninja -DCMAKE_BUILD_TYPE=None -DNVDP_BUILD_TESTS=OFF -DNVDP_BUILD_EXAMPLES=ON \
        -DCMAKE_C_FLAGS="-O1 -g -fno-inline -fno-ipa-icf -fno-partial-inlining -finstrument-functions" \
        -DCMAKE_EXE_LINKER_FLAGS="$PWD/$build/$1.o" -DCMAKE_SHARED_LINKER_FLAGS="$PWD/$build/$1.o" >"$build/$1.log"
    cmake --build "$build/$1" --target nvdp nvdp_demo >>"$build/$1.log"
    rm -rf "$build/data" "$build/run"
    "$build/$1/nvdp-demo" data "$build/data" >/dev/null
    NVDP_TRACE="$build/$1.trace" "$build/$1/nvdp" train --task sst2 --data "$build/data/sentiment" \
        --model models/compact --method nvdp --regularizer kl --lambda 1e-2 --clip-mu 4 --batch 16 --max-length 16 \
        --limit-train 64 --epochs 1 --eval-draws 1 --threads 1 --no-cache --quiet --out "$build/run" >/dev/null
}
trace step
trace whole
python3 scripts/map/draw.py $build/step.trace $build/whole.trace "$out"
