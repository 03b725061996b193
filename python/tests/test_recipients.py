"""A recipient's functions, and measuring before a release."""

import numpy as np
import pytest

import nvdp
from conftest import texts_of


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Vectors of two classes, a mechanism that leaves much of them, and a release."""
    folder, rng = tmp_path_factory.mktemp("recipients"), np.random.default_rng(3)
    means, y = rng.normal(size=(2, 8)), np.arange(160) % 2
    x = 2 * means[y] + rng.normal(size=(160, 8))
    mechanism = nvdp.GaussianRelease(60, center=2 * means[rng.integers(0, 2, 60)] + rng.normal(size=(60, 8)))
    return folder, x, y, mechanism, mechanism.release(x, ledger=folder / "ledger", out=folder / "v.h5")


def test_reuse_with_labels(place):
    folder, x, y, _, shared = place
    found = nvdp.reuse(shared, y, seeds=3, epochs=3)
    assert found.accuracy.mean == found.scores.metrics.accuracy.mean > 0.6 and found.seeds == 3
    assert found.accuracy.sd == found.seed_sd >= 0 and found.accuracy.interval[0] <= found.accuracy.mean <= found.accuracy.interval[1]
    assert np.isnan(nvdp.reuse(shared.path, ["ab"[i] for i in y], epochs=1).accuracy.sd)  # one seed has no spread
    assert nvdp.reuse(shared, x[:, 0], folder / "reader", epochs=1).accuracy is None and (folder / "reader").is_dir()  # floats are scores
    with pytest.raises(nvdp.NvdpError, match="labels: ") as refused:
        nvdp.reuse(shared, y[:7], epochs=1)
    assert "/nvdp-" not in str(refused.value)


def test_attack(run, posteriors, tmp_path):
    rng = np.random.default_rng(2)
    found = nvdp.attack("reidentify", run, limit=12, seed=1)
    assert found.verdict == "" and found.kind == "reidentify"
    pair = nvdp.attack("pair", posteriors, pairs=2, samples=2000)
    assert pair.verdict == "" and pair.kind == "pair"
    nearest = nvdp.attack("nearest", run, public=texts_of(rng, 40)[0], limit=12)
    assert nearest.kind == "nearest"
    with pytest.raises(ValueError, match="kind: expected one of .*reidentify"):
        nvdp.attack("guess", run)
    with pytest.raises(nvdp.NvdpError) as refused:
        nvdp.attack("pair", posteriors, pairs=-1)
    assert "/nvdp-" not in str(refused.value)


def test_cross_validation(place, run, tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    from nvdp.testing import cross_validate, samples
    from sklearn.dummy import DummyClassifier

    folder, x, y, mechanism, _ = place
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = (folder / "ledger").read_bytes()
    found = cross_validate(mechanism, x, y, folds=4, draws=2)
    assert found.scores.shape == (2, 4) and found.mean == pytest.approx(found.scores.mean()) and found.mean > 0.65 and found.sd >= 0
    assert np.array_equal(found.scores, cross_validate(mechanism, x, y, folds=4, draws=2).scores)  # seeded
    assert cross_validate(mechanism, x, y, folds=4, draws=1, estimator=DummyClassifier()).mean == pytest.approx(0.5)
    assert np.isnan(cross_validate(mechanism, x, x[:, 0], folds=3, draws=1).sd)
    texts, labels = texts_of(np.random.default_rng(4), 24)
    ledger = (run.path / "ledger").read_bytes() if (run.path / "ledger").exists() else b""
    encoder = nvdp.PrivateEncoder.from_pretrained(run.path, threads=1)
    assert 0 <= cross_validate(encoder, texts, labels, folds=2, draws=1).mean <= 1
    assert "INSECURE" in samples(encoder, texts).verify().statement
    assert (folder / "ledger").read_bytes() == before and ((run.path / "ledger").read_bytes() if (run.path / "ledger").exists() else b"") == ledger
    assert not [one for one in tmp_path.rglob("*.h5")]  # nothing is left
