#!/bin/sh
# install-deps.sh [--check|--docs|--encoder|--mpi|--deb|--wheel]: installs the packages for building and testing, on Debian and Ubuntu.
# --check, --deb and --wheel add those of `make check`, `make deb` and `make wheel`. --docs installs only those of `make docs` and `make map`,
# --encoder only those of `make encoder`, --mpi only those for training with several processes. Does nothing, and needs no
# root rights, if all packages are installed.
set -eu
packages="gcc g++ make cmake ninja-build pkg-config libopenblas-openmp-dev libgsl-dev libhdf5-dev libsodium-dev
    libjansson-dev libutf8proc-dev liblzma-dev zlib1g-dev libdnnl-dev libcriterion-dev gnuplot-nox hdf5-tools
    python3-h5py python3-numpy python3-matplotlib python3-nbconvert python3-ipykernel"
case ${1:-} in
'') ;;
--docs) packages="doxygen graphviz python3" ;;
--encoder) packages="python3 python3-pip" ;;
--deb) packages="$packages dpkg-dev file" ;;
--wheel) packages="$packages ca-certificates dpkg-dev mmdebstrap python3-venv" ;;
--mpi) packages="libopenmpi-dev openmpi-bin" ;;
--check) packages="$packages doxygen clang clang-format clang-tidy codespell libclang-rt-dev libomp-dev libopenmpi-dev openmpi-bin git" ;;
*)
    echo "usage: install-deps.sh [--check|--docs|--encoder|--mpi|--deb|--wheel]" >&2
    exit 2
    ;;
esac

installed() {
    # The package pkgconf may provide pkg-config.
    dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "install-deps.sh supports only Debian and Ubuntu; install the equivalents of these packages:" $packages >&2
    exit 0
fi

missing=
for package in $packages; do
    installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "these packages are missing; to install them, run this script as root or install sudo:$missing" >&2
        exit 1
    fi
    root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -q
# Older releases ship clang's runtime libraries within another package.
known=
for package in $missing; do
    if [ "$package" = libclang-rt-dev ] && ! apt-cache show "$package" >/dev/null 2>&1; then continue; fi
    known="$known $package"
done
[ -z "$known" ] || $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $known
