"""python_docs.py LIBRARY OUT: writes the reference of the Python package from its docstrings, OUT/nvdp.html. Needs cffi, numpy and pdoc.

Modules whose packages are missing (torch, scikit-learn) are left out by name. Exit status 77: pdoc is not installed.
"""

import os
import re
import sys
from importlib import import_module
from pathlib import Path

LINE = re.compile(r"^(\w[\w ,]*): (?=\S)")


def as_list(text: str, *_: object) -> str:
    """Turns the lines `name: description` of a docstring, and the indented lines after them, into a list."""
    lines, inside = [], False
    for line in text.splitlines():
        starts = LINE.match(line)
        if starts and not inside:
            lines.append("")
        if inside and line and not starts and not line.startswith(" "):
            lines.append("")
        inside = bool(starts) or inside and line.startswith("    ")
        lines.append(f"- `{starts[1]}`: {line[starts.end() :]}" if starts else line)
    return "\n".join(lines)


def main(library: str, out: str) -> int:
    os.environ["NVDP_LIBRARY"] = str(Path(library).resolve())
    sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
    try:
        import pdoc
        import pdoc.docstrings
    except ImportError:
        print("[SKIP] reference of the Python package: pdoc is not installed (pip install pdoc)")
        return 77
    names = ["nvdp"]
    for name in ("nvdp.torch", "nvdp.sklearn", "nvdp.distributed"):
        try:
            import_module(name)
            names.append(name)
        except ImportError as reason:
            print(f"reference of the Python package: left out {name}: {reason}")
    convert = pdoc.docstrings.convert
    pdoc.docstrings.convert = lambda text, *more: convert(as_list(text), *more)
    pdoc.render.configure(show_source=False, search=True)
    pdoc.pdoc(*names, output_directory=Path(out))
    print(f"reference of the Python package: {out}/nvdp.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
