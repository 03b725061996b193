#!/bin/sh
# run.sh BUILD_DIR [pytest options]: the package's tests, with the library of a build.  NVDP_PYTHON names another Python than python3.
# exit status 77: what they need is not installed
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${NVDP_PYTHON:-python3}
build=$(cd "$1" && pwd)
shift
missing=$("$python" -c 'from importlib.util import find_spec as f; print(*(n for n in ("cffi", "numpy", "pytest") if f(n) is None))' 2>/dev/null) ||
    missing=$python
if [ -n "$missing" ]; then
    echo "[SKIP] python: not installed: $missing"
    exit 77
fi
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
# this Python may have cffi while that of the build has not
NVDP_LIBRARY=$build/libnvdp.so PYTHONDONTWRITEBYTECODE=1 "$python" "$here/../generate.py"
NVDP_LIBRARY=$build/libnvdp.so NVDP_SOURCE=$here/../.. PYTHONPATH=$here/..${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1 \
    PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 exec "$python" -m pytest -q "$here" -c "$here/../pyproject.toml" "$@"
