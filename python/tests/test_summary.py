"""Summaries of collections and their readers, compared with numpy."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import nvdp
from conftest import WORDS, texts_of

TEXTS = 300


@pytest.fixture(scope="module")
def place(compact, tmp_path_factory):
    """A summary of labeled texts at a large epsilon, so that something can be learned from few texts."""
    folder, rng = tmp_path_factory.mktemp("summary"), np.random.default_rng(3)
    texts, labels = texts_of(rng, TEXTS)
    public = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS]
    options = {"model": compact, "center": public, "run": folder / "run", "summary_epsilon": 30.0, "rows": 4000, "reduce": 12}
    made = nvdp.summarize(texts, labels, folder / "summary.h5", classes=["neg", "pos"], **options)
    return folder, compact, texts, labels, options, made


def tensors(folder):
    """The arrays of model.safetensors."""
    file = (folder / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(file[:8], "little")
    return {name: np.frombuffer(file[start + one["data_offsets"][0] : start + one["data_offsets"][1]], "<f4").reshape(one["shape"]).astype(float)
            for name, one in json.loads(file[8:start]).items() if name != "__metadata__"}  # fmt: skip


def ridge(summary):
    """The reader of docs/summary.md from the matrix alone."""
    n, d, (alpha, beta, tau) = summary.units, summary.dim, summary.weights
    M = summary.matrix / n
    known = 1 if summary.scores else min(1, M[d + 1, d + 1] / tau**2)
    x, y = M[0, 1 : d + 1] / (alpha * beta), M[0, d + 1] / (alpha * tau * known)
    values, vectors = np.linalg.eigh(M[1 : d + 1, 1 : d + 1] / beta**2 - np.outer(x, x))
    penalty = np.sqrt(d) * summary.noise[1] / (n * beta**2)
    trace = np.clip(values.sum(), 0, 1 - x @ x)
    above = values > 2 * penalty
    values[above] = np.sqrt(values[above] ** 2 - 4 * penalty**2)
    values[above] *= min(1, trace / values[above].sum())
    values[~above] = (trace - values[above].sum()) / max(1, np.sum(~above))
    w = vectors @ ((vectors.T @ (M[1 : d + 1, d + 1] / (beta * tau * known) - x * y)) / (values + penalty))
    return w, y - w @ x


def test_summary(place):
    folder, _, _, _, _, made = place
    assert made.units == TEXTS and made.written and made.epsilon == pytest.approx(30, abs=0.01)
    summary = nvdp.Summary(folder / "summary.h5")
    assert (summary.units, summary.dim, summary.answers, summary.class_names) == (TEXTS, 12, 1, ["neg", "pos"])
    assert summary.matrix.shape == (14, 14) and np.array_equal(summary.matrix, summary.matrix.T)
    assert summary.rows.shape == (4000, 12) and set(summary.labels) == {0, 1} and summary.verify().holds
    assert summary.statement == made.statement and "epsilon 30" in repr(summary)
    moments = summary.moments()
    assert moments.covariance.shape == (12, 12) and moments.share.sum() == pytest.approx(1) and np.linalg.eigvalsh(moments.covariance).min() > -1e-12
    difference = moments.class_mean[1] - moments.class_mean[0]
    drawn = summary.rows[summary.labels == 1].mean(0) - summary.rows[summary.labels == 0].mean(0)
    assert np.linalg.norm(difference - drawn) < 0.15  # four standard deviations of 4,000 rows
    assert np.array_equal(pickle.loads(pickle.dumps(summary)).matrix, summary.matrix)
    with pytest.raises(nvdp.NvdpValueError, match="a summary of a collection"):
        nvdp.open(folder / "summary.h5")


def test_reader(place):
    folder, model, _, _, _, _ = place
    texts, labels = texts_of(np.random.default_rng(4), 200)
    dev = folder / "dev.jsonl"
    dev.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in zip(texts, labels)), "utf-8")
    found = nvdp.reuse(folder / "summary.h5", folder / "reader", score=dev, model=model)
    held = tensors(folder / "reader")
    w, bias = ridge(nvdp.Summary(folder / "summary.h5"))
    np.testing.assert_allclose(held["weight"][0], w, atol=1e-4 * np.abs(w).max())
    assert held["bias"][0] == pytest.approx(bias, abs=1e-4 * np.abs(w).max())

    embedded = nvdp.Encoder(model, pool="mean").encode(texts, normalize_embeddings=True)
    v = (embedded - held["center"]) @ held["map"].T
    y = v / np.linalg.norm(v, axis=1, keepdims=True) @ w + bias
    right = np.mean((y > 0) == (np.array(labels) == "pos"))
    assert found.scores.n == 200 and found.train_texts == TEXTS and found.classes == 2
    assert found.accuracy.mean == found.scores.metrics.accuracy.mean == pytest.approx(right, abs=0.01) and right > 0.7

    told = nvdp.Reader(folder / "reader", model=model).predict(texts[:20])
    for one, value in zip(told, y):
        assert one.probabilities.pos == pytest.approx(np.clip((1 + value) / 2, 0, 1), abs=1e-3) and one.label == max(one.probabilities, key=one.probabilities.get)
    assert nvdp.reuse(folder / "summary.h5").scores is None


def test_the_file_is_enough(place, monkeypatch):
    """The lines of docs/summary.md, without this package, find epsilon and the reader of nvdp reuse."""
    pytest.importorskip("h5py")
    folder, model, _, _, _, _ = place
    page = Path(__file__).parents[2] / "docs" / "summary.md"
    lines = re.search(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL).group(1)
    monkeypatch.chdir(folder)
    made = {}
    exec(lines, made)
    low, high = 0.0, 100.0
    for _ in range(60):
        low, high = ((low + high) / 2, high) if made["delta"]((low + high) / 2) > 1e-5 else (low, (low + high) / 2)
    summary = nvdp.Summary(folder / "summary.h5")
    assert high == pytest.approx(summary.verify().epsilon, rel=1e-6) and high == pytest.approx(30, rel=1e-6) and high <= 30
    w, bias = ridge(summary)
    np.testing.assert_allclose(made["w"], w, rtol=1e-6)
    texts, labels = texts_of(np.random.default_rng(5), 200)
    dev = folder / "dev-file.jsonl"
    dev.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in zip(texts, labels)), "utf-8")
    program = nvdp.reuse(folder / "summary.h5", folder / "reader-of-file", score=dev, model=model).accuracy.mean
    held = tensors(folder / "reader-of-file")
    v = (nvdp.Encoder(model, pool="mean").encode(texts, normalize_embeddings=True) - held["center"]) @ held["map"].T
    right = np.mean((v / np.linalg.norm(v, axis=1, keepdims=True) @ made["w"] + made["bias"] > 0) == (np.array(labels) == "pos"))
    assert right == pytest.approx(program, abs=0.01) and right > 0.7


def test_scores(place):
    folder, model, texts, labels, options, _ = place
    numbers = [5.0 if label == "pos" else 0.0 for label in labels]
    nvdp.summarize(texts, numbers, folder / "scores.parquet", range=(0, 5), budget_samples=9, **options)
    nvdp.reuse(folder / "scores.parquet", folder / "scores")
    w, bias = ridge(nvdp.Summary(folder / "scores.parquet"))
    held = tensors(folder / "scores")
    np.testing.assert_allclose(held["weight"][0], w, atol=1e-4 * np.abs(w).max())
    told = [one.score for one in nvdp.Reader(folder / "scores", model=model).predict(texts)]
    assert 0 <= min(told) and max(told) <= 5 and np.corrcoef(told, numbers)[0, 1] > 0.3


def test_refusals(place):
    folder, model, texts, labels, options, _ = place
    with pytest.raises(nvdp.NvdpValueError, match="names of all classes"):
        nvdp.summarize(texts, labels, folder / "never.h5", **options)
    with pytest.raises(nvdp.NvdpValueError, match="expected 300, one per text, found 2"):
        nvdp.summarize(texts, ["pos", "neg"], folder / "never.h5", classes=["neg", "pos"], **options)
    nvdp.summarize(texts, out=folder / "none.h5", budget_samples=9, **options)
    assert nvdp.Summary(folder / "none.h5").labels is None
    with pytest.raises(nvdp.NvdpValueError, match="expected a summary with answers"):
        nvdp.reuse(folder / "none.h5", folder / "never")
    with pytest.raises(nvdp.NvdpValueError, match="epochs: .*expected samples of texts"):
        nvdp.reuse(folder / "summary.h5", folder / "never", epochs=3)
    assert not (folder / "never").exists() and not (folder / "never.h5").exists()
