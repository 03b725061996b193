"""The API reference is made of the docstrings: every public name has one, with shapes and units where numbers are."""

import doctest
import importlib
import inspect
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nvdp
from conftest import WORDS, texts_of

# a shape, a unit, or a word that says that a number has none
_MEASURED = re.compile(r"\[[^\]]*\]|\bnats\b|\bbits\b|\bepsilon\b|\bprobabilit|\bshare\b|\bnumber\b|\bcount|\bindex|\bseconds?\b|pseudo-count|\btokens?\b|\btexts?\b|"
                       r"\bdelta\b|\bnoise\b|\bstandard deviations\b|\bratio\b|\bmu\b|\bsteps?\b|\brates?\b|\blength\b|\bscores?\b")  # fmt: skip


_EVERYWHERE = ("self", "cls", "options", "texts", "pairs", "labels", "batch", "seed", "threads",
               "arguments", "state", "control")  # the same in every function, or every callback


def modules():
    found = {"nvdp": nvdp}
    for name in ("sklearn", "torch", "distributed", "sentence_transformers", "langchain", "llama_index", "haystack"):
        try:
            found[name] = importlib.import_module(f"nvdp.{name}")
        except ImportError:  # what it needs is not installed
            continue
    return found


def public():
    """Yields the name and the object of everything that a user may call or read."""
    for title, module in modules().items():
        names = getattr(module, "__all__", None) or [name for name, of in vars(module).items() if getattr(of, "__module__", "") == module.__name__]
        for name in names:
            of = getattr(module, name)
            if name.startswith("_"):
                continue
            yield f"{title}.{name}", of
            if inspect.isclass(of) and of.__module__.startswith("nvdp"):
                for member, what in vars(of).items():
                    if not member.startswith("_") and (inspect.isroutine(what) or isinstance(what, (property, classmethod, staticmethod))):
                        yield f"{title}.{name}.{member}", what


def doc(of):
    return inspect.getdoc(of.fget if isinstance(of, property) else getattr(of, "__func__", of)) or ""


@pytest.mark.parametrize("name, of", [pytest.param(name, of, id=name) for name, of in public()])
def test_has_a_docstring(name, of):
    text = doc(of)
    assert len(text.split()) >= 3, f"{name}: expected a docstring"
    assert re.match(r"[A-Z\[`]|\w, ", text), f"{name}: expected a sentence, found {text[:40]!r}"
    returns = getattr(getattr(of, "fget", of), "__annotations__", {}).get("return", "")
    if re.search(r"float|ndarray|Tensor", str(returns)):
        assert _MEASURED.search(text), f"{name}: expected a shape or a unit in its docstring, found {text!r}"


def test_arguments_are_described():
    """A function with arguments of its own describes them, or says enough in a sentence."""
    for name, of in public():
        if not inspect.isfunction(of):
            continue
        own = [one for one in inspect.signature(of).parameters.values() if one.name not in _EVERYWHERE and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        if len(own) > 3:
            named = [one.name for one in own if re.search(rf"\b{one.name}\b", doc(of))]
            assert len(named) * 2 >= len(own), f"{name}: describes only {named} of {[one.name for one in own]}"


@pytest.fixture(scope="module")
def names(run, compact, tmp_path_factory):
    """Names that examples in docstrings use, in a folder of their own."""
    place = tmp_path_factory.mktemp("examples")
    (rows, labels), rng = texts_of(np.random.default_rng(8), 24), np.random.default_rng(9)
    rows = [f"{one} {i}" for i, one in enumerate(rows)]
    (place / "texts.txt").write_text("\n".join(rows), "utf-8")
    before = os.getcwd()
    os.chdir(place)
    kept = nvdp.PrivateEncoder.from_pretrained(run.path, threads=1)
    shared = kept.release([f"a shared text {i}" for i in range(3)], place / "given.h5", labels=labels[:3])
    yield {"nvdp": nvdp, "np": np, "texts": rows, "labels": labels, "model": str(compact), "run": run, "shared": shared,
           "center": [f"{a} {b} of the public" for a in WORDS for b in WORDS], "vectors": rng.normal(size=(20, 8)), "public_vectors": rng.normal(size=(30, 8))}
    os.chdir(before)


@pytest.mark.parametrize("name", nvdp.__all__)
def test_examples(name, names):
    """Every public name has an example in its docstring, which runs."""
    tests = doctest.DocTestFinder(recurse=False).find(getattr(nvdp, name), name, nvdp, {**names})
    assert tests and tests[0].examples, f"{name}: expected an example in its docstring"
    said = io.StringIO()
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(tests[0], out=said.write)
    assert result.failed == 0, said.getvalue()


def test_reference(tmp_path):
    """`make docs` writes a page of every public name."""
    pytest.importorskip("pdoc")
    script = Path(os.environ.get("NVDP_SOURCE", Path(__file__).parents[2])) / "scripts" / "python_docs.py"
    subprocess.run([sys.executable, script, os.environ["NVDP_LIBRARY"], tmp_path], check=True)
    page = (tmp_path / "nvdp.html").read_text("utf-8")
    assert all(f'id="{name}"' in page for name in nvdp.__all__)
