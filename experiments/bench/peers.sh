#!/usr/bin/env bash
# A virtual environment with the programs that compare.sh measures nvdp against: today's releases, pinned.
# usage: peers.sh [FOLDER]    (default: PEERS_VENV, or out/venv)
# Environment: PYTHON (3.11 or newer, default python3); PIP_FLAGS, more for pip: where a plain torch would come with CUDA's
# libraries, an index of CPU builds (--extra-index-url ...) saves several GB and changes no number.
# A folder that is complete is left as it is. torch.compile wants a C++ compiler when it runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${1:-${PEERS_VENV:-out/venv}}
pins=(transformers==5.23.0 tokenizers==0.23.3 sentence-transformers==6.2.0 onnx==1.23.2 onnxruntime==1.31.1 openvino==2026.4.1
      nncf==3.4.0 numpy==2.4.6 opacus==1.6.0 cffi==2.1.1)
made=$(printf '%s\n' torch==2.13.0 "${pins[@]}")
[ "$(cat "$venv/peers" 2>/dev/null)" != "$made" ] || exit 0
"${PYTHON:-python3}" -m venv "$venv"
pip() { "$venv/bin/python" -m pip install --quiet ${PIP_FLAGS:-} "$@"; }
pip torch==2.13.0 # by itself and first: nothing after it may fetch another
pip torch==2.13.0 "${pins[@]}"
echo "$made" >"$venv/peers"
echo "$venv" >&2
