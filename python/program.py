#!python
"""Runs the program nvdp of the installed package, without importing the package."""

import os
import sys
from importlib.util import find_spec

package = find_spec("nvdp")
folders = package.submodule_search_locations if package else []  # two in an editable installation
programs = [path for folder in folders if os.path.isfile(path := os.path.join(folder, "bin", "nvdp"))]
if not programs:
    sys.exit(f"nvdp: no program beside the package nvdp of {sys.executable}; install the package again")
os.execv(programs[0], [programs[0], *sys.argv[1:]])
