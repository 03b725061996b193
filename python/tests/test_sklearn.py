"""The scikit-learn transformer, as scikit-learn's users use it: parameters, searches, pickles, names of columns."""

import copy
import dataclasses
import gc
import pickle
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


def test_copies_do_not_transform(compact, run, temporary):
    """A copy of a fitted estimator predicts; it transforms when it is attached to the folder with the ledger."""
    texts, labels = texts_of(np.random.default_rng(1), 24)
    fitted = NvdpTransformer(compact, **FAST).fit(texts, labels)
    fitted.transform(["good day"])
    kept, path = pickle.dumps(fitted), fitted.run_.path
    for twin in pickle.loads(kept), copy.deepcopy(fitted), clone(fitted, safe=False).fit(texts, labels):
        if twin.encoder_.can_release:  # of clone: another encoder
            assert twin.run_.path != path and twin.transform(["good day"]).shape == (1, 4)
            continue
        assert twin.run_.path != path and twin.encoder_.predict(["good day"])[0] in ("neg", "pos")
        with pytest.raises(nvdp.NvdpError, match="found a copy"):
            twin.transform(["bad day"])
    with pytest.raises(NotFittedError):
        clone(fitted).transform(["bad day"])
    fitted.encoder_.save_pretrained(temporary.parent / "mine")
    twin = pickle.loads(kept)
    twin.encoder_.attach(temporary.parent / "mine")
    with pytest.raises(nvdp.NvdpError, match="shared before"):
        twin.transform(["good day"])
    assert twin.transform(["bad day"]).shape == (1, 4)
    with pytest.raises(nvdp.NvdpError, match="shared before"):
        fitted.transform(["bad day"])
    del fitted, twin
    gc.collect()
    assert not any(temporary.iterdir())


def test_each_row_is_drawn_and_counted(run, compact, temporary):
    """Equal texts have different rows, by transform, fit_transform and in a Pipeline."""
    from sklearn.pipeline import make_pipeline

    text, labels = ["one and the same film"], ["pos", "neg"] * 12
    opened = NvdpTransformer(run=run.path, threads=1)
    for found in (opened.fit_transform(text * 9), make_pipeline(NvdpTransformer(run=run.path, threads=1, budget_samples=18)).fit_transform(text * 9),
                  NvdpTransformer(compact, **FAST, pooling="mean").fit_transform(text * 24, labels)):  # fmt: skip
        assert len(np.unique(found, axis=0)) == len(found) in (9, 24)
    with pytest.raises(nvdp.NvdpError, match="found 19 including this export"):
        opened.set_params(budget_samples=18).transform(text)


def test_a_cached_fit_is_a_copy(run, tmp_path):
    """Pipeline's memory gives back the samples of the same rows, and an estimator that does not transform others."""
    from sklearn.pipeline import make_pipeline

    texts = [f"a row to remember {i}" for i in range(4)]
    pipeline = make_pipeline(NvdpTransformer(run=run.path, threads=1, pooling="mean"), "passthrough", memory=str(tmp_path))
    first, again = pipeline.fit(texts), clone(pipeline).fit(texts)
    assert first[0].encoder_.can_release and not again[0].encoder_.can_release
    with pytest.raises(nvdp.NvdpError, match="found a copy"):
        again.transform(["a row to remember"])


def test_same_release(run):
    """The same sequence of texts has the same release, also in a copy; another order, a part or a single text has another one."""
    texts = ["one even film", "an even story", "one even film"]
    one = NvdpTransformer(run=run.path, budget_samples=2, threads=1, pooling="mean", same_release=True).fit(texts)
    first = one.transform(texts)
    assert np.array_equal(one.transform(texts), first) and one.statement_ and not np.array_equal(first[0], first[2])
    first[:] = 0
    assert one.transform(texts).any()  # a caller's changes do not last
    again = pickle.loads(pickle.dumps(one))
    assert np.array_equal(again.transform(texts), one.transform(texts)) and texts[1].encode() not in pickle.dumps(one._released)
    with pytest.raises(nvdp.NvdpError, match="found 4 including this export"):  # the first text stands twice, and was given away twice
        one.transform([texts[0], texts[2], texts[1]])
    with pytest.raises(nvdp.NvdpError, match="the encoder with the ledger"):
        again.transform(texts[:2])
    assert one.transform(texts[1:2]).shape == (1, 8)  # its second sample, not a row of the batch
    other = NvdpTransformer(run=run.path, budget_samples=2, threads=1, pooling="mean").fit(texts)
    with pytest.raises(nvdp.NvdpError, match="including this export"):
        other.transform(texts)
