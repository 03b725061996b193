"""Checks the parts of a release beside the code: names that stay, a citation, a configuration for wheels, a list of a wheel's libraries."""

import configparser
import json
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import nvdp
from conftest import SOURCE

BUNDLED = """Libraries in this wheel, each with its licence beside this file. Their sources are source packages of Debian GNU/Linux.
In libnvdp.so:
libopenblas.a: libopenblas-openmp-dev 0.3.21+ds-4, source package openblas 0.3.21+ds-4
libhdf5.a: hdf5 1.10.8+repack1-1, source package hdf5 1.10.8+repack1-1, built with zlib alone
In nvdp.libs:
libgsl.so.27: libgsl27 2.7.1+dfsg-5, source package gsl 2.7.1+dfsg-5
"""
METADATA = """Metadata-Version: 2.4
Name: nvdp
Version: 0.1.0
License-Expression: GPL-3.0-or-later
Requires-Dist: cffi>=1.15
Requires-Dist: numpy>=1.23
Requires-Dist: torch; extra == "torch"

Text: not a header
"""


def test_public_names_stay():
    """docs/python.md: a name of the list goes only after a version in which it warned. New names are added to the list."""
    names = (SOURCE / "python" / "tests" / "api.txt").read_text("utf-8").split()
    assert names == sorted(names)
    gone = [name for name in names if not all(hasattr(part, one) for part, one in _steps(name))]
    assert not gone, f"{', '.join(gone)}: public names that are gone; keep each for one minor version as an alias that raises DeprecationWarning (docs/python.md)"


def _steps(name):
    part = nvdp
    for one in name.split("."):
        yield part, one
        part = getattr(part, one, None)


def test_package_is_small():
    """At most 5,500 lines by hand, without empty ones: what the library's tables say is generated."""
    files = [path for path in Path(nvdp.__file__).parent.glob("*.py") if path.name not in ("results.py", "training_options.py")]
    lines = sum(bool(line.strip()) for path in files for line in path.read_text("utf-8").splitlines())
    assert lines <= 5500, lines


def test_citation():
    text = (SOURCE / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == nvdp.__version__ and "license: GPL-3.0-or-later" in text
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load(text)
    assert {"cff-version", "message", "title", "authors"} <= found.keys() and found["type"] == "software"


def test_cibuildwheel_reads_the_configuration(tmp_path):
    if find_spec("cibuildwheel") is None:
        pytest.skip("cibuildwheel is not installed")
    done = subprocess.run([sys.executable, "-m", "cibuildwheel", "--platform", "linux", "--archs", "x86_64", "--print-build-identifiers", SOURCE],
                          capture_output=True, text=True, check=True, cwd=tmp_path)  # fmt: skip
    assert done.stdout.split() == ["cp311-manylinux_x86_64"]
    stages = re.findall(r"^FROM \S+ AS (\S+)", (SOURCE / "Containerfile").read_text("utf-8"), re.MULTILINE)
    assert "wheel" in stages and 'manylinux-x86_64-image = "nvdp-wheel"' in (SOURCE / "pyproject.toml").read_text("utf-8")


def wheel(path, bundled=BUNDLED):
    with zipfile.ZipFile(path, "w") as made:
        for name, content in {"nvdp/libnvdp.so": "library", "nvdp.libs/libgsl-1a2b.so.27.0.0": "gsl", "nvdp-0.1.0.dist-info/METADATA": METADATA,
                              "nvdp-0.1.0.dist-info/licenses/bundled/BUNDLED.txt": bundled}.items():  # fmt: skip
            made.writestr(zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6)), content)
    return path


def test_list_of_libraries(tmp_path):
    if find_spec("cyclonedx") is None or find_spec("jsonschema") is None:
        pytest.skip("cyclonedx-python-lib[validation] is not installed")

    def run(path, *out):
        return subprocess.run([sys.executable, SOURCE / "scripts" / "sbom.py", path, *out], capture_output=True, text=True)

    path = wheel(tmp_path / "nvdp-0.1.0-py3-none-any.whl")
    done = run(path)
    assert done.returncode == 0 and "5 components" in done.stdout, done.stderr
    first = (tmp_path / "nvdp-0.1.0-py3-none-any.cdx.json").read_bytes()
    assert run(path, tmp_path / "again.json").returncode == 0 and (tmp_path / "again.json").read_bytes() == first
    found = json.loads(first)
    parts = {part["bom-ref"]: part for part in found["components"]}
    assert found["bomFormat"] == "CycloneDX" and found["metadata"]["component"]["version"] == "0.1.0"
    assert parts["libgsl.so.27"]["purl"].startswith("pkg:deb/debian/libgsl27@2.7.1") and parts["libgsl.so.27"]["hashes"]
    assert {prop["value"] for prop in parts["libhdf5.a"]["properties"]} == {"nvdp/libnvdp.so", "hdf5 1.10.8+repack1-1"}
    assert parts["requires numpy"]["purl"] == "pkg:pypi/numpy" and not any("torch" in name for name in parts)
    for lines, words in (BUNDLED.replace("libgsl.so", "libother.so"), "libother.so.27, which is not in"), (BUNDLED.partition("libgsl")[0], "does not explain"):
        done = run(wheel(tmp_path / "wrong.whl", lines))
        assert done.returncode != 0 and words in done.stderr


def test_extras():
    """Every optional module of the package has an extra of the same name."""
    text = (SOURCE / "pyproject.toml").read_text("utf-8").partition("[project.optional-dependencies]")[2].partition("\n\n")[0]
    parser = configparser.ConfigParser()
    parser.read_string("[extras]\n" + text)
    assert {"sklearn", "torch", "sentence-transformers", "langchain", "llama-index", "haystack", "hub"} <= set(parser["extras"])
