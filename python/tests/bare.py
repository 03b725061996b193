"""bare.py MODEL: tries an installed wheel on a machine that has Python alone: trains, exports, verifies, attacks; exit status 0 if all work.

`make wheel` runs it (scripts/wheel.sh).
"""

import ctypes.util
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import nvdp

program = Path(sys.executable).with_name("nvdp")
model = Path(sys.argv[1]).resolve()


def nvdp_says(*arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


for tool in ("cc", "gcc", "clang", "ld", "cmake", "pkg-config"):
    assert shutil.which(tool) is None, f"{tool} is installed: this machine is not bare"
for library in ("hdf5", "hdf5_serial", "openblas", "gsl", "dnnl", "sodium", "jansson", "gomp", "curl"):
    assert ctypes.util.find_library(library) is None, f"lib{library} is installed: this machine is not bare"
assert nvdp_says("--version").split()[1] == nvdp.__version__
print("program and package:", nvdp.__version__)

rng = np.random.default_rng(1)
labels = rng.integers(0, 2, 96)
texts = [" ".join(["good" if label else "bad", *rng.choice(["film", "story", "plot", "end", "day"], 4)]) for label in labels]
with tempfile.TemporaryDirectory() as folder:
    out = Path(folder)
    run = nvdp.train(texts[:72], labels[:72], dev=(texts[72:], labels[72:]), model=model, out=out / "run", epochs=2, batch=8, lr=3e-4,
                     max_length=10, latent_dim=8, cache=None, threads=2)  # fmt: skip
    print("train:", run.evaluate(draws=2).scores.metrics.accuracy)
    shared = run.export(["a good film", "a bad day"], out / "shared.h5")
    print("export:", shared.guarantee)
    assert "yes" in nvdp_says("verify", out / "shared.h5")
    attack = json.loads(nvdp_says("attack", out / "run", "--kind", "pair", "--json"))
    assert attack["attack"] == "pair"
    print("attack:", {key: value for key, value in attack.items() if isinstance(value, (int, float, str))})
    libraries = Path("/proc/self/maps").read_text()
    for library in ("libcurl", "libkrb5", "libssl.so.1"):
        assert library not in libraries, f"{library} is loaded"
print("the wheel works")
