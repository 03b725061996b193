"""Shared by the notebooks: paths of files, readers, and the style of figures."""

import json
import os
import pathlib

import matplotlib.pyplot as plt

DATA = pathlib.Path(os.environ.get("NVDP_NOTEBOOKS", pathlib.Path(__file__).parent.parent / "out" / "notebooks"))
if not (DATA / "commands.txt").exists():
    raise FileNotFoundError(f"{DATA}: nothing there; notebooks/prepare.sh writes it, NVDP_NOTEBOOKS says where it is")

# Okabe & Ito's colours, which colour-blind people can tell apart.
BLUE, ORANGE, GREEN, RED, SKY, PINK, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#777777"

plt.rcParams.update({
    "figure.dpi": 110, "figure.constrained_layout.use": True, "font.size": 10, "axes.titlesize": 11,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": "#dddddd", "grid.linewidth": 0.6, "legend.frameon": False,
})


def _numbers(value):
    """JSON has no infinity: the program writes "inf"."""
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return float(value) if value in ("inf", "-inf", "nan") else value


def read_json(path):
    return _numbers(json.loads(pathlib.Path(path).read_text()))


def read_lines(path):
    """The objects of a JSON lines file."""
    return [_numbers(json.loads(line)) for line in pathlib.Path(path).read_text().splitlines()]


def commands(*words):
    """Prints the commands that wrote the files, those that have all of the words."""
    for line in (DATA / "commands.txt").read_text().splitlines():
        if all(word in line.split() for word in words):
            print("$", line)
