"""Builds the package from its sources, which are in the folder above this one: ``pip install ./python`` is ``pip install .``."""

import os
from pathlib import Path

os.chdir(Path(__file__).resolve().parent.parent)

from scikit_build_core.build import *  # noqa: E402, F403
