"""Editors and type checkers see the library's tables: options and results are dataclasses, and the package is typed."""

import dataclasses
import importlib.util
import inspect
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import nvdp
from nvdp import results

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
    assert type(found) is results.Evaluation and type(found.scores) is results.Scores and isinstance(found, (dict, nvdp.Record))
    assert found["scores"]["n"] == found.scores.n == 24 and json.loads(json.dumps(found))["scores"]["n"] == 24
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


def test_type_checkers(tmp_path):
    """The package itself is clean, and wrong names and types of options are errors."""
    pytest.importorskip("mypy.api")
    root = SOURCE.parents[1]
    if not (root / "pyproject.toml").is_file():
        pytest.skip("installed without its sources")
    (tmp_path / "use.py").write_text("""
import nvdp
options = nvdp.TrainingOptions(epochs=3, lambda_=0.1, method="nvdp", clip_mu="inf")
run = nvdp.train(["a"], ["b"], model="m", lambda_g=0.1, **options)
encoder = nvdp.PrivateEncoder("m").fit(["a"], ["b"], epochs=3)
best: int = run.result.best_epoch
mean: float = run.evaluate().scores.metrics["accuracy"].mean
""")
    (tmp_path / "wrong.py").write_text("""
import nvdp
nvdp.TrainingOptions(epochz=3)
nvdp.TrainingOptions(epochs="x")
nvdp.TrainingOptions(method="nothing")
nvdp.train(["a"], ["b"], model="m", epochz=3)
nvdp.PrivateEncoder("m").fit(["a"], ["b"], epochz=3)
nvdp.Run("a").result.best_epochs
""")
    build = Path(os.environ.get("NVDP_LIBRARY", "")).parent  # keeps what mypy knows of numpy
    cache = build / "mypy" if build.is_absolute() and os.access(build, os.W_OK) else tmp_path / "cache"
    done = subprocess.run([sys.executable, "-m", "mypy", SOURCE, tmp_path / "use.py", tmp_path / "wrong.py"], cwd=root, capture_output=True,
                          text=True, env=os.environ | {"MYPYPATH": str(SOURCE.parent), "MYPY_CACHE_DIR": str(cache)})  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert {line.partition(": error")[0].rpartition("/")[2] for line in errors} == {f"wrong.py:{i}" for i in range(3, 9)}, done.stdout + done.stderr
