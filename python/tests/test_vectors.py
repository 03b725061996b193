"""GaussianRelease: vectors that were computed elsewhere."""

import json
import logging
import pickle
import subprocess
import sys

import numpy as np
import pytest

import nvdp

ROWS, WIDTH = 120, 12


@pytest.fixture(scope="module")
def place():
    """Vectors of two classes, and public ones of the same kind."""
    rng = np.random.default_rng(5)
    means = rng.normal(size=(2, WIDTH))
    y = np.arange(ROWS) % 2
    x = (3 * means[y] + rng.normal(size=(ROWS, WIDTH))).astype(np.float32)
    public = (3 * means[rng.integers(0, 2, 90)] + rng.normal(size=(90, WIDTH))).astype(np.float32)
    return x, y, public


@pytest.fixture
def mechanism(place):
    return nvdp.GaussianRelease(16, center=place[2], reduce=6, source="an encoder")


def test_before_any_data(place, mechanism):
    found = mechanism.certificate
    assert found.theorem == "a" and found.epsilon == pytest.approx(16, rel=1e-9) and found.delta == 1e-5 and found.releases == 1
    assert found.mu == pytest.approx(2 * mechanism.clip) == pytest.approx(nvdp.gdp_mu(16, 1e-5))
    assert mechanism.guess_bound(0.5) == nvdp.guess_bound(0.5, mechanism.clip, 1, 6) and mechanism.guess_bound([0.5, 0.01]).shape == (2,)
    assert "an encoder" in repr(mechanism) and "Proven: epsilon 16" in found.statement
    four = nvdp.GaussianRelease(4, 1e-6, center=place[2], samples=4)
    assert four.certificate.epsilon == pytest.approx(4, rel=1e-9) and four.certificate.releases == 4
    with pytest.raises(nvdp.NvdpValueError, match="epsilon above 0"):
        nvdp.GaussianRelease(0, center=place[2])


def test_release(place, mechanism, tmp_path):
    x, y, _ = place
    labels = [["bad", "good"][i] for i in y]
    labels[7] = None
    shared = mechanism.release(x, ids=range(ROWS), labels=labels, persons=[f"p{i // 2}" for i in range(ROWS)], ledger=tmp_path / "ledger", out=tmp_path / "v.h5")
    assert (len(shared), shared.dim, shared.samples, shared.class_names) == (ROWS, 6, 1, ["bad", "good"])
    assert shared.integer_labels.tolist() == [-1 if i == 7 else i % 2 for i in range(ROWS)]
    found = nvdp.verify(tmp_path / "v.h5", ledger=tmp_path / "ledger")
    assert found.holds and found.epsilon == pytest.approx(mechanism.certificate.epsilon, rel=1e-9)
    assert "The sender vouches that a text, and nothing else, has its id" in found.statement and "their exact labels" in found.statement
    assert "vectors of an encoder that looks at other texts of the batch are not covered" in found.statement
    assert nvdp.gate({"checks": [{"measure": "certified_epsilon", "at_most": 16}]}, shared).passed
    assert nvdp.reuse(tmp_path / "v.h5", epochs=1).train_texts > 50
    with pytest.raises(nvdp.NvdpError, match="120 of its 120 texts were shared before") as refused:  # ids count, whatever the vectors are
        mechanism.release(x[:, ::-1], ids=[str(i) for i in range(ROWS)], ledger=tmp_path / "ledger", out=tmp_path / "w.h5")
    assert refused.value.status == "ERR_STATE" and not (tmp_path / "w.h5").exists()
    strict = nvdp.GaussianRelease(4, 1e-6, center=place[2], samples=2)
    shared = strict.release(x.astype(np.float64), labels=y / 4, ledger=tmp_path / "other", out=tmp_path / "s.parquet")
    assert shared.samples == 2 and shared.class_names is None and shared.label[1] == 0.25 and shared.integer_labels is None
    assert nvdp.gdp_delta(2 * strict.clip * 2**0.5, 4) == pytest.approx(1e-6, rel=1e-6)
    assert shared.verify().epsilon <= nvdp.gdp_epsilon(2 * strict.clip * 2**0.5, 1e-5) and "equal vectors count as one text" in shared.verify().statement


def test_search(place, tmp_path):
    x, _, public = place
    clear = nvdp.GaussianRelease(1e5, center=public)
    shared = clear.release(x, ledger=tmp_path / "ledger", out=tmp_path / "v.h5")
    queries = 7 * x[:5]
    assert shared.search(queries, 1).text.ravel().tolist() == [0, 1, 2, 3, 4] and np.array_equal(queries, 7 * x[:5])
    with pytest.raises(nvdp.NvdpValueError, match="expected query vectors of 12 numbers"):
        shared.search(x[:, :5])
    with pytest.raises(nvdp.NvdpValueError, match="vectors of another program"):
        shared.search("a text")


def test_kinds_of_arrays(place, mechanism, tmp_path):
    x, _, public = place

    def draw(vectors, **more):
        given = {"out": tmp_path / "k.h5", "ledger": None, "no_ledger": True, "insecure_seed": 3, "overwrite": True}
        return mechanism.release(vectors, **{**given, **more}).rows.copy()

    want = draw(x)
    assert np.array_equal(draw(x.tolist()), want) and np.array_equal(draw(np.asfortranarray(x.astype(">f4"))), want)
    pa = pytest.importorskip("pyarrow")
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), WIDTH)
    for column in fixed, pa.chunked_array([fixed[:50], fixed[50:]]), pa.array(list(x), pa.list_(pa.float32())):
        assert np.array_equal(draw(column), want)
    with pytest.raises(nvdp.NvdpValueError, match="of the same length"):
        draw(pa.array([[1.0, 2.0], [1.0]]))
    with pytest.raises(nvdp.NvdpValueError, match="expected the column of the vectors, found a table of v"):
        draw(pa.table({"v": fixed}))


def test_torch(place, mechanism, tmp_path):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(place[0]).requires_grad_()
    given = {"no_ledger": True, "insecure_seed": 3, "overwrite": True, "out": tmp_path / "t.h5"}
    want = mechanism.release(place[0], **given).rows.copy()
    assert np.array_equal(mechanism.release(x, **given).rows, want)
    rounded = mechanism.release(x.detach().bfloat16().float(), **given).rows.copy()
    assert np.array_equal(mechanism.release(x.bfloat16(), **given).rows, rounded)


def test_norms_at_the_border(place, mechanism, tmp_path):
    """Vectors are scaled to norm C, so those that the caller scaled before, to a norm a step of float32 beyond C, have the same samples
    but for the last step of the grid; no sample's mean is longer than C."""
    x, _, public = place
    given = {"no_ledger": True, "insecure_seed": 3, "overwrite": True, "out": tmp_path / "b.h5"}
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    at = [mechanism.release((unit * np.float32(norm)).astype(np.float32), **given).rows.copy() for norm in (1.453, 1.45300003, 1e-20, 1e20)]
    assert all(np.abs(rows - at[0]).max() <= 2**-9 for rows in at[1:])
    m = (public / np.linalg.norm(public, axis=1, keepdims=True)).mean(0)
    opposite = np.stack([-m, m + 1e-4])  # after the center is subtracted: far and near
    other = mechanism.release(np.concatenate([opposite, x]).astype(np.float32), ledger=tmp_path / "ledger", out=tmp_path / "c.h5")
    assert np.isfinite(other.rows).all() and other.verify().holds


def test_rows_that_are_not_finite(place, mechanism, tmp_path, caplog):
    """They count as zeros, change no other row, and only the owner is told."""
    x = place[0].copy()
    given = {"ids": range(ROWS), "no_ledger": True, "insecure_seed": 3, "overwrite": True, "out": tmp_path / "n.h5"}
    want = mechanism.release(x, **given).rows.copy()
    x[3, 2], x[4, 0], x[5] = np.nan, np.inf, 0
    with caplog.at_level(logging.WARNING, "nvdp"):
        shared = mechanism.release(x, **given)
    same = np.ones(ROWS, bool)
    same[3:6] = False
    assert np.array_equal(shared.rows[same], want[same]) and np.abs(shared.rows[3:6]).max() < 6
    assert "vectors: 2 of 120 rows have a number that is not finite, and count as 0" in caplog.text and "finite" not in shared.verify().statement


def test_an_encoder_that_looks_at_the_batch(place, mechanism, tmp_path):
    """Vectors do not show that they depend on other texts. Their ids count all the same, and the statement excludes them."""
    x = place[0]
    whitened = (x - x.mean(0)) / x.std(0)
    for name, part in ("whole", whitened), ("half", (x[:60] - x[:60].mean(0)) / x[:60].std(0)):
        ids = range(len(part))
        if name == "half":
            with pytest.raises(nvdp.NvdpError, match="were shared before"):
                mechanism.release(part, ids=ids, ledger=tmp_path / "ledger", out=tmp_path / "half.h5")
        else:
            shared = mechanism.release(part, ids=ids, ledger=tmp_path / "ledger", out=tmp_path / "whole.h5")
            assert "They hold for a text only if its vector alone depends on the text" in shared.verify().statement


def test_duplicate_ids(place, mechanism, tmp_path):
    x = place[0]
    with pytest.raises(nvdp.NvdpError, match="stand twice|stands twice"):
        mechanism.release(x, ids=[i // 2 for i in range(ROWS)], ledger=tmp_path / "ledger", out=tmp_path / "d.h5")
    shared = mechanism.release(x, ids=[i // 2 for i in range(ROWS)], duplicates="each", budget_samples=2, ledger=tmp_path / "ledger", out=tmp_path / "d.h5")
    spent = nvdp.verify(shared.path, ledger=tmp_path / "ledger").spent_epsilon
    assert spent == pytest.approx(nvdp.gdp_epsilon(2 * mechanism.clip * 2**0.5, 1e-5), rel=1e-6)
    with pytest.raises(nvdp.NvdpError, match="stand twice|stands twice"):  # equal vectors without ids are one text
        mechanism.release(np.concatenate([x[:1], x]), ledger=tmp_path / "none", out=tmp_path / "e.h5")


def test_shards(place, mechanism, tmp_path):
    x, y, _ = place
    batches = ({"vectors": x[i : i + 50], "ids": [f"t{k}" for k in range(i, min(i + 50, ROWS))], "labels": y[i : i + 50].tolist()} for i in range(0, ROWS, 50))
    files = mechanism.release_iter(batches, tmp_path / "shards", ledger=tmp_path / "ledger", shard_size=32, classes=[0, 1])
    assert [path.name for path in files] == [f"shard-{i:05d}.h5" for i in range(4)] and [len(nvdp.open(path)) for path in files] == [32, 32, 32, 24]
    whole = nvdp.open(tmp_path / "shards")
    assert whole.integer_labels.tolist() == y.tolist() and nvdp.verify(tmp_path / "shards").holds and whole.search(x[:2], 3).text.shape == (2, 3)
    with pytest.raises(nvdp.NvdpError, match=r"shard-00001.h5: .*released before: 1 shards"):
        mechanism.release_iter([{"vectors": x, "ids": [*range(60), *range(60)]}], tmp_path / "twice", ledger=tmp_path / "ledger", shard_size=60)
    with pytest.raises(nvdp.NvdpValueError, match="outside the folder that is handed out"):
        mechanism.release_iter([x], tmp_path / "in", ledger=tmp_path / "in" / "ledger")
    with pytest.raises(nvdp.NvdpValueError, match="names of all classes, which are the same in every shard"):
        mechanism.release_iter([{"vectors": x, "labels": y.tolist()}], tmp_path / "more", ledger=tmp_path / "more-ledger")
    with pytest.raises(nvdp.NvdpValueError, match="as in the first batch, found vectors"):
        mechanism.release_iter([{"vectors": x, "ids": range(ROWS)}, x], tmp_path / "mixed", ledger=tmp_path / "more-ledger")


def test_memory_of_shards(tmp_path):
    """The memory does not grow with the number of batches."""
    code = """
import resource, sys
import numpy as np
import nvdp
rng = np.random.default_rng(1)
mechanism = nvdp.GaussianRelease(16, center=rng.normal(size=(64, 256)).astype(np.float32), reduce=8)
def batches(n):
    for _ in range(n):
        yield rng.normal(size=(2048, 256)).astype(np.float32)
peak = []
for i, n in enumerate((2, 10)):
    mechanism.release_iter(batches(n), f"{sys.argv[1]}/{i}", ledger=f"{sys.argv[1]}/{i}.ledger", shard_size=4096)
    peak.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(peak[1] - peak[0])
"""
    grown = float(subprocess.run([sys.executable, "-c", code, tmp_path], check=True, capture_output=True, text=True).stdout)
    assert grown < 12  # MiB; eight more batches have 16 MiB, a shard 4 MiB


def test_summary(place, mechanism, tmp_path):
    x, y, _ = place
    made = mechanism.summarize(x, y, tmp_path / "s.h5", classes=["0", "1"], ids=range(ROWS), ledger=tmp_path / "ledger")
    assert made.units == ROWS and made.epsilon == pytest.approx(16, abs=0.01)
    summary = nvdp.Summary(tmp_path / "s.h5")
    assert summary.dim == 6 and summary.class_names == ["0", "1"] and summary.verify().holds and "numbers of the text's embedding" in made.statement
    with pytest.raises(nvdp.NvdpError, match="budget_samples"):
        mechanism.release(x, ids=range(ROWS), ledger=tmp_path / "ledger", out=tmp_path / "v.h5")
    scores = mechanism.summarize(x, y * 2.5, tmp_path / "r.h5", range=(0, 5), persons=["a", "b"] * 60, ledger=tmp_path / "more")
    assert scores.unit == "person" and scores.units == 2


def test_refusals(place, mechanism, tmp_path):
    x, y, public = place
    cases = [
        ({"vectors": x.astype(int)}, "found int64"), ({"vectors": x[0]}, r"found float32 \[12\]"), ({"vectors": x[:, :5]}, "expected vectors of 5 numbers"),
        ({"ids": range(5)}, "ids: expected 120, one per vector, found 5"), ({"ids": [1.5] * ROWS}, "expected str or int, found 1.5"),
        ({"ids": ["a\0"] * ROWS}, "without NUL"), ({"ids": [""] * ROWS}, "expected str or int, found ''"), ({"persons": [2.0] * ROWS}, "found a float"),
        ({"labels": y[:3]}, "labels: expected 120"), ({"labels": y.tolist(), "classes": ["0", "7"]}, "row 1: expected one of classes, found '1'"),
        ({"vectors": public[:4]}, "center: expected public vectors, found 4 of the 4 vectors"), ({"out": tmp_path / "no" / "v.h5"}, "no"),
    ]  # fmt: skip
    for change, message in cases:
        with pytest.raises(nvdp.NvdpError, match=message) as refused:
            mechanism.release(**{"vectors": x, "out": tmp_path / "v.h5", "ledger": tmp_path / "ledger", **change})
        assert "rows.npz" not in str(refused.value) and "public.npy" not in str(refused.value) and "/nvdp-" not in str(refused.value)
    assert not (tmp_path / "ledger").exists() and not (tmp_path / "v.h5").exists()


def test_pickle(place, mechanism):
    again = pickle.loads(pickle.dumps(mechanism))
    assert again.clip == mechanism.clip and again.source == "an encoder" and again.certificate.epsilon == mechanism.certificate.epsilon


def test_source(place, tmp_path):
    """The file and the statement repeat the sender's name of the encoder, escaped; a reader of a summary knows it."""
    x, y, public = place
    name = 'modèle "3"\n\x1b'
    mechanism = nvdp.GaussianRelease(16, center=public, reduce=6, source=name)
    for end in "h5", "safetensors", "parquet":
        shared = mechanism.release(x, out=tmp_path / f"v.{end}", no_ledger=True)
        found = shared.verify()
        assert found.holds and r'which the sender calls "mod\u00E8le \"3\"\n\u001B", and the encoder is not known here' in found.statement
    assert "which the sender calls" not in nvdp.GaussianRelease(16, center=public).release(x, out=tmp_path / "w.h5", no_ledger=True).verify().statement
    mechanism.summarize(x, y, tmp_path / "s.h5", classes=["0", "1"], ledger=tmp_path / "ledger")
    assert r"modèle \"3\"" not in nvdp.Summary(tmp_path / "s.h5").statement and nvdp.Summary(tmp_path / "s.h5").verify().holds
    nvdp.reuse(tmp_path / "s.h5", tmp_path / "reader")
    assert json.loads((tmp_path / "reader" / "config.json").read_text("utf-8"))["vectors_source"] == r'"mod\u00E8le \"3\"\n\u001B"'
    for wrong in "x" * 255, "\x7f", "é" * 50:
        with pytest.raises(nvdp.NvdpValueError, match="^option vectors_source: expected a name in UTF-8 of 1 to 253 characters"):
            nvdp.GaussianRelease(16, center=public, source=wrong).release(x, out=tmp_path / "x.h5", no_ledger=True)
    assert not (tmp_path / "x.h5").exists()


def test_reader_of_a_summary_of_vectors(place, tmp_path):
    """A receiver applies it to vectors by the same encoder: the regression of docs/summary.md."""
    x, y, public = place
    for reduce in 0, 6:
        mechanism = nvdp.GaussianRelease(400, center=public, reduce=reduce)
        mechanism.summarize(x, y, tmp_path / f"{reduce}.h5", classes=["0", "1"], ledger=tmp_path / f"ledger{reduce}")
        assert nvdp.reuse(tmp_path / f"{reduce}.h5", tmp_path / f"reader{reduce}").accuracy is None
        reader = nvdp.Reader(tmp_path / f"reader{reduce}")
        found = reader.predict(x)
        assert np.mean([one.label == str(answer) for one, answer in zip(found, y)]) > 0.9
        assert reader.predict(3 * x)[5].probabilities == pytest.approx(found[5].probabilities, abs=1e-6) and reader.predict(x[:0]) == []
    mechanism.summarize(x, 2.5 * y, tmp_path / "scores.h5", range=(0, 5), ledger=tmp_path / "more")
    nvdp.reuse(tmp_path / "scores.h5", tmp_path / "scores")
    scores = np.array([one.score for one in nvdp.Reader(tmp_path / "scores").predict(x)])
    assert np.corrcoef(scores, y)[0, 1] > 0.8 and 0 <= scores.min() and scores.max() <= 5
    with pytest.raises(nvdp.NvdpValueError, match="vectors of 12 numbers, found such a reader and 11 numbers"):
        reader.predict(x[:, 1:])
    with pytest.raises(nvdp.NvdpValueError, match="vectors of another program .*nvdp.Reader.predict"):
        reader.predict(["a text"])
    with pytest.raises(nvdp.NvdpValueError, match="found another folder"):
        nvdp.Reader(tmp_path).predict(x)


def test_exact_vectors(place, tmp_path):
    """The means that samples have: from the file's center and map, at norm C."""
    x, _, public = place
    mechanism = nvdp.GaussianRelease(1e5, center=public, reduce=6, samples=4)
    shared = mechanism.release(x, out=tmp_path / "v.h5", no_ledger=True)
    exact = shared.exact(5 * x)
    np.testing.assert_allclose(np.linalg.norm(exact, axis=1), mechanism.clip, rtol=1e-5)
    assert np.abs(shared.mean().mean(1) - exact).std() < 0.6 and np.abs(shared.mean().mean(1) - exact).max() < 3  # deviations of 1/2
    with pytest.raises(nvdp.NvdpValueError, match="12 numbers"):
        shared.exact(x[:, :3])
