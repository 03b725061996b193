"""The scikit-learn transformer, as scikit-learn's users use it: parameters, searches, pickles, names of columns."""

import dataclasses
import gc
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nvdp
from conftest import texts_of

pytest.importorskip("sklearn")
from nvdp.sklearn import NvdpTransformer  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402

FAST = dict(preset=None, method="vib-fixed", epochs=1, batch=8, max_length=8, freeze_layers=4, latent_dim=4, threads=1)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The directory of all temporary files, and an empty home."""
    folder, home = tmp_path / "temporary", tmp_path / "home"
    folder.mkdir(), home.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return folder


def contains(folder: Path, words: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


def test_parameters():
    """One per option of training, which get_params, set_params and clone know."""
    options = {field.name for field in dataclasses.fields(nvdp.TrainingOptions)}
    one = NvdpTransformer("m", lambda_g=0.1, lambda_=0.2, epochs=3, random_state=5)
    assert options - set(one.get_params()) == {"task", "data", "text_column", "text_pair_column", "label_column", "resume"}
    again = clone(one).set_params(lambda_g=0.5)
    assert (again.lambda_g, again.lambda_, again.epochs, again.random_state, again.lr) == (0.5, 0.2, 3, 5, None)
    assert repr(one) == "NvdpTransformer(epochs=3, lambda_=0.2, lambda_g=0.1, model='m', random_state=5)"
    with pytest.raises(TypeError, match="no parameter 'epochz'; did you mean 'epochs'"):
        NvdpTransformer("m", epochz=3)
    with pytest.raises(ValueError, match="Invalid parameter 'epochz'"):
        one.set_params(epochz=3)


@pytest.mark.parametrize("name", ["check_estimator_cloneable", "check_estimator_tags_renamed", "check_valid_tag_types", "check_estimator_repr",
                                  "check_no_attributes_set_in_init", "check_do_not_raise_errors_in_init_or_set_params", "check_mixin_order",
                                  "check_get_params_invariance", "check_set_params", "check_parameters_default_constructible"])  # fmt: skip
def test_checks(name):
    """check_estimator() leaves out every check of an estimator of texts. These need no data; the others fit arrays of numbers."""
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip("not in this version of scikit-learn")
    check("NvdpTransformer", NvdpTransformer())


def test_search(compact, temporary):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    texts, labels = texts_of(np.random.default_rng(1), 24)
    search = GridSearchCV(make_pipeline(NvdpTransformer(compact, **FAST), LogisticRegression()), {"nvdptransformer__lambda_g": [0.001, 0.1]}, cv=2)
    search.fit(np.array(texts, object), np.array(labels))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all() and search.best_params_["nvdptransformer__lambda_g"] in (0.001, 0.1)
    best = search.best_estimator_[0]
    assert best.run_.config.lambda_g == search.best_params_["nvdptransformer__lambda_g"]
    assert [one.parent for one in temporary.rglob("run.json")] == [best.run_.path]  # those of the folds are gone
    assert not contains(temporary.parent, texts[0])  # and all texts
    assert set(search.predict(["good film here", "bad end here"])) <= {"neg", "pos"}
    del search, best
    gc.collect()
    assert not any(temporary.iterdir())


def test_fit_leaves_nothing(compact, temporary):
    texts, labels = texts_of(np.random.default_rng(1), 24)
    for wrong in dict(epochs=-1), dict(progress=lambda _one: 1 / 0, log_every=1), dict(model=temporary / "none"), dict(random_state=1, seed=2):
        with pytest.raises((ValueError, ZeroDivisionError, nvdp.NvdpError)):
            NvdpTransformer(**{"model": compact, **FAST, **wrong}).fit(texts, labels)
        assert not any(temporary.iterdir())
    kept = NvdpTransformer(compact, **FAST, out="kept", random_state=np.random.RandomState(3)).fit(texts, labels)
    assert kept.run_.path == temporary.parent / "kept" and not (temporary.parent / "kept.data").exists()
    assert kept.run_.config.seed == np.random.RandomState(3).randint(2**31 - 1) and not contains(temporary.parent, texts[0])
    NvdpTransformer(compact, **FAST, out="all", keep_texts=True, random_state=7).fit(texts, labels)
    assert len(list((temporary.parent / "all.data").iterdir())) == 2 and nvdp.Run("all").config.seed == 7


def test_transform(run):
    transformer = NvdpTransformer(run=run.path, budget_samples=2, threads=1)
    with pytest.raises(NotFittedError):
        transformer.transform(["a"])
    texts = ["an odd film", "an odd story", "an odd day"]
    first = transformer.fit(texts, [1, 0, 1]).transform(texts)
    assert first.shape == (3, 80) and first.dtype == np.float32
    assert len(transformer.get_feature_names_out()) == 80 and transformer.get_feature_names_out()[9] == "z1_1"
    mean = NvdpTransformer(run=run.path, budget_samples=9, threads=1, pooling="mean").fit(texts)
    twice = mean.transform(["an odd end", "an odd man", "an odd end"])
    assert twice.shape == (3, 8) and np.array_equal(twice[0], twice[2]) and not np.array_equal(twice[0], twice[1])
    assert mean.transform(["an odd way"]).shape == (1, 8) and mean.get_feature_names_out().tolist() == [f"z{i}" for i in range(8)]
    with pytest.raises(ValueError, match="pooling"):
        NvdpTransformer(run=run.path, pooling="max").fit(texts)
    with pytest.raises(ValueError, match="y to be passed"):
        NvdpTransformer("m").fit(texts)


def test_frames(run):
    pandas = pytest.importorskip("pandas")
    frame = NvdpTransformer(run=run.path, budget_samples=9, threads=1, pooling="mean").fit(["a"]).set_output(transform="pandas").transform(
        pandas.Series(["a strange film", "a strange end"], index=[5, 7]))  # fmt: skip
    assert list(frame.columns) == [f"z{i}" for i in range(8)] and list(frame.index) == [5, 7]


def test_pickles_have_the_run(compact, temporary):
    """In this process and its workers the folder itself, with one ledger; afterwards a copy, which counts on."""
    texts, labels = texts_of(np.random.default_rng(1), 24)
    fitted = NvdpTransformer(compact, **FAST).fit(texts, labels)
    fitted.transform(["good day"])
    kept, path = pickle.dumps(fitted), fitted.run_.path
    twin = pickle.loads(kept)
    assert twin.run_.path == path
    program = """if True:
        import nvdp, pickle, sys
        twin = pickle.load(open(sys.argv[1], "rb"))
        print(twin.transform(["bad day"]).shape, twin.run_.path)
        try:
            twin.transform(["good day"])
        except nvdp.NvdpError as reason:
            print(reason.status)
    """
    file = temporary.parent / "pickle"
    file.write_bytes(kept)
    told = [subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, env=os.environ).stdout.splitlines()]
    with pytest.raises(nvdp.NvdpError, match="shared before"):
        fitted.transform(["bad day"])  # the worker's
    del fitted, twin
    gc.collect()
    assert not path.exists()
    told.append(subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, env=os.environ).stdout.splitlines())
    assert len(told[0]) == len(told[1]) == 2, told
    assert told[0] == [f"(1, 4) {path}", "ERR_STATE"] and told[1][0].startswith("(1, 4) ") and told[1][1] == "ERR_STATE"
    assert str(path) not in told[1][0] and not any(temporary.iterdir())
