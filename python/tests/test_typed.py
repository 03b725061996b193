"""Editors and type checkers see the library's tables: options and results are dataclasses, and the package is typed."""

import dataclasses
import importlib.util
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import nvdp
from nvdp import results
from nvdp._lib import Result

SOURCE = Path(nvdp.__file__).parent


def test_generated_files_are_current():
    path = SOURCE.parent / "generate.py"
    if not path.is_file() or not (SOURCE.parents[1] / "include").is_dir():
        pytest.skip("installed without its sources")
    spec = importlib.util.spec_from_file_location("generate", path)
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for name, make in generate.FILES.items():
        assert (SOURCE / name).read_text("utf-8") == make(), f"{name}: the build writes it again"


def test_options_are_documented():
    source = inspect.getsource(sys.modules["nvdp.training_options"])
    fields = dataclasses.fields(nvdp.TrainingOptions)
    assert len(fields) > 100 and source.count('    """') >= len(fields)
    assert '    epochs: Optional[int] = _row(default_value="10", min=1.0, max=10000.0)\n    """Number of passes over the training texts.' in source
    assert " --" not in source


def test_results(run):
    found = run.evaluate(draws=1)
    assert type(found) is results.Evaluation and type(found.scores) is results.Scores and isinstance(found, dict)
    assert found["scores"]["n"] == found.scores.n == 24 and json.loads(found.to_json())["scores"]["n"] == 24
    assert [field.name for field in dataclasses.fields(found.scores)] == ["n", "draws", "metrics", "majority"]
    assert type(run.result) is results.TrainResult and run.result.test.metrics.accuracy.mean == run.result["test"]["metrics"]["accuracy"]["mean"]
    assert {field.name for field in dataclasses.fields(run.result)} <= set(run.result) | {"certified"}
    risk = nvdp.Accountant([(1.0, 0.1, 10)]).risk(1e-5)
    assert repr(risk).startswith("ExampleRisk(delta=1e-05, mu=") and len(risk.guess) == len(risk["guess"]) == 2
    assert dataclasses.asdict(risk)["mu"] == risk.mu and pickle.loads(pickle.dumps(risk)) == risk
    account = nvdp.account(1.0, 0.1, 10, 1e-5)
    account.note = "mine"
    assert account["note"] == "mine" and account.pld_epsilon < account.rdp_epsilon
    with pytest.raises(AttributeError, match="epsilonn"):
        account.epsilonn


def test_json_results(run, posteriors):
    """Results that are JSON objects of the library have classes, and so have their parts."""
    certificate = run.certificate()
    assert type(certificate) is results.Certificate and type(certificate.theorems[0].conditions[0]) is results.CertificateTheoremsConditions
    assert certificate["theorem"] == certificate.theorem and json.loads(certificate.to_json())["theorems"][0]["theorem"] == "a"
    gate = nvdp.gate({"checks": [{"measure": "certified_epsilon", "at_most": 8}]}, run)
    assert type(gate) is results.Gate and type(gate.checks[0]) is results.GateCheck and gate.checks[0].at_most == 8
    known = {field.name for field in dataclasses.fields(results.Certificate)}
    assert set(certificate) <= known, "a key that the class lacks"


def unknown(found, place=""):
    """Yields keys of a result, and of its parts, that its class lacks."""
    for key, value in found.items():
        if type(found) is not Result and key not in type(found).__annotations__ and key.isidentifier() and key != "from":
            yield f"{type(found).__name__}.{key}"
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield from unknown(one)


def test_reports_have_classes(run, posteriors, tmp_path):
    """All parts of reports are known to their classes, and lists of numbers are arrays."""
    (tmp_path / "vectors.txt").write_text("cat 0 0\ndog 0 1\n")
    (tmp_path / "texts.txt").write_text("dog cat\ndog\n")
    public = [f"a public text {i}" for i in range(30)]
    found = [run.privacy(exact=True, limit=6), posteriors.privacy(exact=True, moments=[1.1, 2]), posteriors.linkage(), posteriors.pairs()[1], posteriors.summary(),
             nvdp.text_privacy(text=tmp_path / "texts.txt", vectors=tmp_path / "vectors.txt", mechanism="santext", eta=2.0),
             nvdp.attack("pair", run, pairs=1, samples=200), nvdp.attack("nearest", run, public=public, limit=4), nvdp.attack("reidentify", posteriors),
             run.evaluate(draws=1), run.result, run.config, run.export([f"new text {i}" for i in range(3)], tmp_path / "a.h5", no_ledger=True).privacy]  # fmt: skip
    assert not [key for one in found for key in unknown(one)]
    assert [type(one).__name__ for one in found] == ["Privacy", "Privacy", "Linkage", "PairsSummary", "PosteriorSummary", "TextPrivacy", *["Attack"] * 3,
                                                     "Evaluation", "TrainResult", "RunConfig", "Privacy"]  # fmt: skip
    assert found[0].rd.sum.argmax.dtype == np.int64 and found[0].linkage.first_interval.shape == (2,) and found[0].exact.pairs[0].curve[0].delta <= 1
    for one in found:
        assert json.loads(one.to_json()).keys() == one.keys() and pickle.loads(pickle.dumps(one)).to_json() == one.to_json() and one == one


def cache_of(tmp_path):
    build = Path(os.environ.get("NVDP_LIBRARY", "")).parent  # keeps what mypy knows of numpy
    return build / "mypy" if build.is_absolute() and os.access(build, os.W_OK) else tmp_path / "cache"


def test_type_checkers(tmp_path):
    """The package itself is clean, and wrong names and types of options are errors."""
    pytest.importorskip("mypy.api")
    root = SOURCE.parents[1]
    if not (root / "pyproject.toml").is_file():
        pytest.skip("installed without its sources")
    (tmp_path / "use.py").write_text("""
import math
import numpy as np
from numpy.typing import NDArray
import nvdp
options = nvdp.TrainingOptions(epochs=3, lambda_=0.1, method="nvdp", clip_mu=math.inf)
run = nvdp.train(["a"], ["b"], model="m", lambda_g=0.1, **options)
encoder = nvdp.PrivateEncoder("m").fit(["a"], ["b"], epochs=3)
best: int = run.result.best_epoch
mean: float = run.evaluate().scores.metrics["accuracy"].mean
encoder.release(["a"], budget_samples=2, persons=["b"])
nvdp.reuse("a.h5", [0, 1], seeds=5)
run.privacy(exact=True, moments=[1, 2])
epsilon: float = run.certificate(delta=1e-6).theorems[0].epsilon + nvdp.gate("certified", run).checks[0].found
label: object = run.predict(["a"])[0].label
first: float = float(nvdp.open("a.h5")[0].z[0][0, 0])
report = run.privacy(exact=True)
worst: float = report.exact.worst + report.rd.sum.quantiles["0.5"] if report.exact else 0
intervals: NDArray[np.float64] = np.concatenate([run.posteriors().linkage().first_interval, nvdp.attack("pair", run).pairs[0].right_interval])
covariance: NDArray[np.float64] = nvdp.Summary("a.h5").moments().covariance
ids: NDArray[np.int32] = nvdp.Tokenizer("m")(["a"]).ids
layers: int = run.config.freeze_layers + run.config.nvib.kappa
width = nvdp.presets()["certified"].options.latent_dim
nvdp.train(["a"], ["b"], model="m", **nvdp.presets()["certified"].options)
name: str = nvdp.options()[0].name + nvdp.result_fields("train")[0].unit
""")
    (tmp_path / "wrong.py").write_text("""
import nvdp
nvdp.TrainingOptions(epochz=3)
nvdp.TrainingOptions(epochs="x")
nvdp.TrainingOptions(method="nothing")
nvdp.train(["a"], ["b"], model="m", epochz=3)
nvdp.PrivateEncoder("m").fit(["a"], ["b"], epochz=3)
nvdp.Run("a").result.best_epochs
nvdp.PrivateEncoder("m").release(["a"], budget_sample=2)
nvdp.PrivateEncoder("m").fit(["a"], ["b"], certified_epsilon="8")
nvdp.export_encoder(["a"], model="m", center=["b"], certified_epsilon="8")
nvdp.Run("a").export(["a"], duplicates="all")
nvdp.gate("certified", "a", publik="b")
nvdp.Encoder("m", pooling="mean")
nvdp.GaussianRelease(16, center="p.npy").release([[1.0]], budget_sample=2)
nvdp.Run("a").certificate().epsilonn
nvdp.gate("certified", "a").checks[0].name_
nvdp.Run("a").privacy().rd.summ
nvdp.attack("pair", "a").verdikt
nvdp.Posteriors([], []).pairs()[1].summ
nvdp.Summary("a").moments().covariances
nvdp.Run("a").config.epochz
nvdp.Run("a").config.nvib.kapa
nvdp.presets()["certified"].option
nvdp.presets()["certified"].options.epochz
nvdp.Run("a").certificate().word.epsilonn
""")
    cache = cache_of(tmp_path)
    done = subprocess.run([sys.executable, "-m", "mypy", SOURCE, tmp_path / "use.py", tmp_path / "wrong.py"], cwd=root, capture_output=True,
                          text=True, env=os.environ | {"MYPYPATH": str(SOURCE.parent), "MYPY_CACHE_DIR": str(cache)})  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert {line.partition(": error")[0].rpartition("/")[2] for line in errors} == {f"wrong.py:{i}" for i in range(3, 27)}, done.stdout + done.stderr


PREAMBLE = """
from __future__ import annotations
import csv
from collections.abc import Callable, Iterable
from typing import Any
import numpy as np
import nvdp
from numpy.typing import NDArray
texts: list[str]
labels: list[str]
new_texts: list[str]
own_texts: list[str]
other_texts: list[str]
public_texts: list[str]
public_vectors: NDArray[np.float32]
vectors: NDArray[np.float32]
query_vectors: NDArray[np.float32]
batches: Iterable[NDArray[np.float32]]
ids: list[int]
authors: list[str]
frame: Any
torch: Any
run: nvdp.Run
encoder: nvdp.PrivateEncoder
shared: nvdp.Shared
X: list[str]
y: list[int]
p: int
question: NDArray[np.float32]
server: str
folder = "folder"
encode: Callable[[list[str]], NDArray[np.float32]]
"""
"""Names that examples of the pages use without a definition."""


def examples(source):
    """Yields the place and the code of each Python example of the pages: fenced ones, and the indented ones of docs/python.md."""
    for path in [source / "README.md", *sorted((source / "docs").glob("*.md"))]:
        page = path.read_text("utf-8")
        for found in re.finditer(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
            yield f"{path.name}:{page[: found.start()].count(chr(10)) + 1}", found[1]
        for found in re.finditer(r"(?:^    .*\n)+", page, re.MULTILINE) if path.name == "python.md" else ():
            if "nvdp" in found[0] or "sklearn" in found[0]:
                code = textwrap.dedent(found[0])
                if not re.match(r"pip|make", code):
                    yield f"{path.name}:{page[: found.start()].count(chr(10)) + 1}", code


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_examples_of_the_pages_are_typed(checker, tmp_path):
    """Every Python example of the pages passes mypy --strict and pyright."""
    source = Path(os.environ.get("NVDP_SOURCE", SOURCE.parents[1]))
    if not (source / "docs" / "python.md").is_file():
        pytest.skip("installed without its pages")
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"not installed: {checker}")
    known = list(examples(source))
    assert len(known) > 12
    body = "".join(f"\n\ndef example_{i}() -> None:  # {place}\n{textwrap.indent(code, '    ')}" for i, (place, code) in enumerate(known))
    (tmp_path / "pages.py").write_text(PREAMBLE + body, "utf-8")
    command = ["mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(cache_of(tmp_path)), "pages.py"] if checker == "mypy" else ["pyright", "pages.py"]
    if checker == "pyright":
        settings = {"extraPaths": [str(SOURCE.parent)], "reportMissingImports": "none", "reportMissingModuleSource": "none", "reportUnusedExpression": "none",
                    "venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name}  # fmt: skip
        (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"MYPYPATH": str(SOURCE.parent)})
    lines = (tmp_path / "pages.py").read_text("utf-8").splitlines()
    told = "\n".join(f"{line}\n    {lines[int(found[1]) - 1].strip()}" if (found := re.search(r"pages.py:(\d+)", line)) else line for line in done.stdout.splitlines())
    assert done.returncode == 0, told + done.stderr
