#!python
"""Runs the program nvdp of the installed package, without importing the package."""

import os
import sys
from importlib.util import find_spec

program = os.path.join(os.path.dirname(find_spec("nvdp").origin), "bin", "nvdp")
os.execv(program, [program, *sys.argv[1:]])
