#!/usr/bin/env bash
# Prepares the files and executes every notebook on them; OUT_DIR/html shows the results.  Fails where a cell fails.
# usage: run.sh BUILD_DIR OUT_DIR      exit status 77: Debian's packages are not installed
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3 # the one that Debian's packages are for, whatever comes first in PATH
missing=$($python - 2>&1 <<'PYTHON'
from importlib.util import find_spec

print(*(name for name in ("h5py", "ipykernel", "matplotlib", "nbconvert", "numpy") if find_spec(name) is None))
PYTHON
) || missing="$python ($missing)"
if [ -n "$missing" ]; then
    echo "[SKIP] notebooks: not installed: $missing; scripts/install-deps.sh installs what they need"
    exit 77
fi

# They are kept without outputs, for any kernel called python3.
$python - "$here"/*.ipynb <<'PYTHON'
import sys
import nbformat

for path in sys.argv[1:]:
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3", f"{path}: kernel {notebook.metadata.kernelspec.name}"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None, f"{path}: clear all outputs before committing it"
PYTHON

"$here/prepare.sh" "${1:?build directory}" "${2:?output directory}"
out=$(cd "$2" && pwd)
build=$(cd "$1" && pwd)
# Nobody's own settings, kernels or packages; the package of this checkout, where cffi is there for it.
env -u XDG_CONFIG_HOME -u XDG_CACHE_HOME HOME="$out/home" PYTHONPATH="$here/../python" NVDP_LIBRARY="$build/libnvdp.so" PYTHONNOUSERSITE=1 \
    PYTHONDONTWRITEBYTECODE=1 PYDEVD_DISABLE_FILE_VALIDATION=1 NVDP_NOTEBOOKS="$out" \
    $python -m nbconvert --execute --ExecutePreprocessor.timeout=300 --to html --output-dir "$out/html" "$here"/*.ipynb
