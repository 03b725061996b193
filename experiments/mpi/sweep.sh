#!/bin/bash
# One sweep by processes that mpirun starts on several machines; they talk through the directory alone, not through MPI.
# usage: mpirun -np 4 --map-by node --bind-to none experiments/mpi/sweep.sh GRID.json DIR [nvdp sweep options]
# DIR, the data and the model lie on a file system that all machines share; nvdp is on PATH.
set -euo pipefail
grid=${1:?grid.json}
out=${2:?directory of the sweep}
shift 2
# Processes on one machine share its processors.
here=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-1}}
threads=$(($(nproc) / here))
exec nvdp sweep "$grid" --out "$out" --threads "$((threads > 0 ? threads : 1))" --quiet "$@"
