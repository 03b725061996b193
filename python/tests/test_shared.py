"""Shared files as other libraries read them: torch, datasets, pyarrow, pandas, polars."""

import json
import pickle

import numpy as np
import pytest

import nvdp
from conftest import texts_of


@pytest.fixture(scope="module")
def shared(run, tmp_path_factory):
    """Three texts with two samples each."""
    path = tmp_path_factory.mktemp("shared") / "shared.h5"
    run.export(["good film", "bad", "end"], path, no_ledger=True, labels=["pos", "neg", "pos"], samples=2)
    return nvdp.open(path)


@pytest.fixture(scope="module")
def weighted(compact, tmp_path_factory):
    """Samples with weights, of public lengths, and scores."""
    folder = tmp_path_factory.mktemp("weighted")
    rows = texts_of(np.random.default_rng(1), 24)
    run = nvdp.train(rows[0], [float(i % 3) for i in range(24)], regression=True, model=compact, out=folder / "run", preset=None, method="nvdp",
                     epochs=1, batch=8, max_length=8, freeze_layers=4, latent_dim=4, length_policy="public", cache=None, threads=1)  # fmt: skip
    run.export(["a good film", "bad"], folder / "shared.safetensors", labels=[0.0, 2.0], no_ledger=True)
    return nvdp.open(folder / "shared.safetensors")


def test_class_names(shared, weighted, run, tmp_path):
    assert shared.class_names == ["neg", "pos"] and shared.integer_labels.tolist() == [1, 0, 1]
    assert weighted.class_names is None and weighted.integer_labels is None and weighted.label.tolist() == [0, 2]
    assert np.isnan(run.export(["good"], tmp_path / "a.h5", no_ledger=True).spent_epsilon)  # as in the file, and not 0
    plain = nvdp.open(tmp_path / "a.h5")
    assert plain.class_names is plain.integer_labels is None
    for ending in "safetensors", "parquet":
        run.export(["good"], tmp_path / f"a.{ending}", no_ledger=True, labels=["neg"])
        other = nvdp.open(tmp_path / f"a.{ending}")
        assert other.class_names == ["neg", "pos"] and other.verify().holds


def test_names_beyond_ascii(compact, tmp_path):
    labels = ["\u00fc \"quoted\", '\\'", "\u2028\U0001f600"]
    run = nvdp.train(["good film", "bad film"] * 12, labels * 12, model=compact, preset=None, method="vib-fixed", epochs=1, batch=8, max_length=8,
                     freeze_layers=4, latent_dim=4, out=tmp_path / "run", cache=None, threads=1)  # fmt: skip
    for ending in "h5", "safetensors", "parquet":
        run.export(["good"], tmp_path / f"a.{ending}", no_ledger=True, labels=labels[:1])
        found = nvdp.open(tmp_path / f"a.{ending}")
        assert found.class_names == sorted(labels) and found.verify().holds


def test_mean(shared, weighted):
    np.testing.assert_allclose(shared.mean(), shared.z.mean(axis=2), atol=1e-6)
    for i in range(2):
        z, log_pi = weighted.sample(i)
        np.testing.assert_allclose(weighted.mean()[i, 0], np.exp(log_pi) @ z / np.exp(log_pi).sum(), atol=1e-5)


def test_torch(shared, weighted):
    torch = pytest.importorskip("torch")
    items = shared.to_torch()
    assert len(items) == 6 and items[2]["label"].dtype == torch.int64 and [int(one["label"]) for one in items] == [1, 1, 0, 0, 1, 1]
    again = pickle.loads(pickle.dumps(items))
    assert torch.equal(again[3]["z"], items[3]["z"]) and isinstance(again, torch.utils.data.Dataset)
    loss = torch.nn.functional.cross_entropy(torch.zeros(6, 2), next(iter(torch.utils.data.DataLoader(items, batch_size=6)))["label"])
    assert float(loss) == pytest.approx(np.log(2))
    assert shared.torch()[0]["label"].dtype == torch.float32 and weighted.to_torch()[0]["label"].dtype == torch.float32
    workers = torch.utils.data.DataLoader(items, batch_size=3, num_workers=1, multiprocessing_context="spawn")
    assert [batch["z"].shape for batch in workers] == [(3, 10, 8)] * 2


def test_arrow(shared, weighted):
    pa = pytest.importorskip("pyarrow")
    table = shared.to_arrow()
    assert table.num_rows == 3 and table.column_names == ["z", "label", "id"] or table.column_names == ["z", "label", "split", "id"]
    np.testing.assert_array_equal(np.array(table["z"].to_pylist(), np.float32), shared.z)
    values = table["z"].chunk(0).values.values.values
    assert values.buffers()[1].address == shared.rows.ctypes.data  # no copy
    assert table["label"].type == pa.int64() and weighted.to_arrow()["label"].type == pa.float32()
    assert [[len(sample) for sample in text] for text in weighted.to_arrow()["z"].to_pylist()] == [[len(weighted.sample(0)[0])], [len(weighted.sample(1)[0])]]
    np.testing.assert_allclose(weighted.to_arrow()["log_pi"].to_pylist()[1][0], weighted.sample(1)[1])


def test_datasets(shared, weighted):
    datasets = pytest.importorskip("datasets")
    found = shared.to_datasets()
    assert len(found) == 3 and found.features["label"].names == ["neg", "pos"] and found["label"][:] == [1, 0, 1]
    np.testing.assert_array_equal(found.with_format("numpy")[1]["z"], shared.z[1])
    assert isinstance(found.features["label"], datasets.ClassLabel) and not isinstance(weighted.to_datasets().features["label"], datasets.ClassLabel)


def test_frames(shared):
    pytest.importorskip("pandas")
    frame = shared.to_pandas()
    assert frame["label"].tolist() == ["pos", "neg", "pos"] and frame["id"].tolist() == [0, 1, 2] and frame["z"][1][1].shape == (10, 8)
    polars = pytest.importorskip("polars")
    assert polars.from_arrow(shared.to_arrow())["label"].to_list() == [1, 0, 1]


def test_tables_in(run, compact, tmp_path):
    """Columns of pandas, pyarrow, polars and datasets are lists of texts."""
    texts, want = ["good film", "bad end"], run.predict(["good film", "bad end"])
    for name, make in [("pandas", lambda m: m.Series(texts, index=[3, 1])), ("pyarrow", lambda m: m.chunked_array([[texts[0]], [texts[1]]])),
                       ("pyarrow", lambda m: m.array(texts)), ("polars", lambda m: m.Series(texts)),
                       ("datasets", lambda m: m.Dataset.from_dict({"text": texts})["text"])]:  # fmt: skip
        module = pytest.importorskip(name)
        assert run.predict(make(module)) == want
        assert run.tokenizer(make(module)).offset.tolist() == [0, 4, 8]
    from nvdp.runs import _columns

    names = {"text": "text", "label": "label"}
    table = {"text": texts, "label": [1, 0]}
    for name, make in [("pyarrow", lambda m: m.table(table)), ("polars", lambda m: m.DataFrame(table)), ("pyarrow", lambda m: m.RecordBatch.from_pydict(table)),
                       ("datasets", lambda m: m.Dataset.from_dict(table))]:  # fmt: skip
        assert _columns(make(pytest.importorskip(name)), None, None, names)[:2] == (texts, [1, 0])
    datasets = pytest.importorskip("datasets")
    whole = datasets.DatasetDict({"train": datasets.Dataset.from_dict(table)})
    with pytest.raises(ValueError, match="one of its tables: train"):
        nvdp.train(whole, model=compact, out=tmp_path / "run")


def test_bfloat16(rng):
    """Tensors of a type that numpy has not: as float32, without ml_dtypes."""
    torch = pytest.importorskip("torch")
    values = torch.from_numpy(rng.normal(size=(3, 4))).to(torch.bfloat16)
    for one in values, values.T, values[:, 1:3], values[:0]:
        loss = nvdp._lib.array(one, name="values")
        np.testing.assert_array_equal(loss, one.double().numpy())
    assert json.dumps(float(nvdp.renyi_gaussian(1.1, values[0], torch.ones(4, dtype=torch.bfloat16), values[1], torch.ones(4))))
    with pytest.raises(ValueError, match="^mu: expected numbers"):
        nvdp._lib.array(values.to(torch.complex32), name="mu")


def test_gate_and_persons(run, tmp_path):
    ledger = dict(ledger=tmp_path / "ledger", ledger_key=tmp_path / "key")
    found = run.export(["good film", "bad", "end"], tmp_path / "a.h5", persons=["ann", "ann", None], **ledger)
    assert found.person.persons == 2 and found.person.texts == 2 and found.person.samples == 2
    assert nvdp.verify(tmp_path / "a.h5", **ledger).person.texts == 2
    with pytest.raises(nvdp.NvdpValueError, match="persons: expected 1 as texts, found 2"):
        run.export(["good"], tmp_path / "b.h5", persons=["ann", "bob"])
    policy = {"min_texts": 4, "checks": [{"measure": "privacy.n", "at_least": 2}, {"measure": "ledger.person.texts", "at_most": 1}]}
    made = nvdp.gate(policy, run, limit=4, **ledger)
    assert not made.passed and made.failed == 1
    assert made.delta == 1e-5 and made.split == "dev" and [one.texts for one in made.checks] == [4, 0]
    assert [one.passed for one in made.checks] == [True, False] and made.checks[1].found == 2
    assert nvdp.gate("certified", tmp_path / "a.h5").failed >= 1
    with pytest.raises(nvdp.NvdpError, match="policy:2: unknown key 'chekcs'; did you mean 'checks'") as caught:
        nvdp.gate({"chekcs": []}, run)
    assert caught.value.status == "ERR_INPUT"
def test_search(compact, tmp_path, monkeypatch):
    """An encoder's own embedding is released and searched: rows of hits, intervals of the stated width, and clear refusals."""
    rows = list(dict.fromkeys(texts_of(np.random.default_rng(2), 60)[0]))
    found = nvdp.export_encoder(rows, tmp_path / "a.h5", model=compact, center=[f"{row} {row}" for row in rows], clip_sequence=300, reduce=20, threads=1, measure_texts=0)
    assert found.texts == len(rows) and found.run == str(tmp_path / f"{compact.name}-sentence") and "Whoever guesses a text" in found.statement
    shared = nvdp.open(tmp_path / "a.h5")
    assert shared.method == "sentence" and shared.dim == 20 and shared.verify().holds
    hits = shared.search(rows[:5], 3, model=compact)
    assert hits.text.shape == hits.id.shape == hits.cosine.shape == hits.above.shape == (5, 3) and hits.text.dtype == np.int64
    np.testing.assert_array_equal(hits.text, hits.id)
    np.testing.assert_allclose(hits.cosine[:, 0], 1, atol=0.03)
    assert (np.diff(hits.cosine) <= 0).all() and (hits.above >= 0.5).all() and (hits.above <= 1).all()
    assert hits.deviation == pytest.approx(1 / 300) and 1.95 < hits.margin * 300 < 1.97 and hits.margin_all > hits.margin
    one = shared.search(rows[3], model=str(compact))
    np.testing.assert_array_equal(one.text[0, :3], hits.text[3])
    estimates = np.zeros(len(rows))
    all_hits = shared.search(rows[3], 1000, model=compact)
    estimates[all_hits.text[0]] = all_hits.cosine[0]
    vector = shared.rows[hits.text[3, 0]]
    assert np.isnan(all_hits.above).all() and (np.abs(all_hits.shrunken - all_hits.cosine) < 0.01).all()
    assert all_hits.text.shape == (1, len(rows)) and np.linalg.norm(vector) / 300 == pytest.approx(1, abs=0.02)
    with pytest.raises(nvdp.NvdpError, match="shared before"):
        nvdp.export_encoder(rows[:1], tmp_path / "b.h5", model=compact, center=[f"{row} {row}" for row in rows], clip_sequence=300, reduce=20, measure_texts=0)
    with pytest.raises(nvdp.NvdpValueError, match="center: .*private texts among them"):
        nvdp.export_encoder(rows, tmp_path / "d.h5", run=tmp_path / "other", model=compact, center=rows, clip_sequence=300, measure_texts=0)
    again = nvdp.export_encoder(rows, tmp_path / "d.h5", run=tmp_path / "other", model=compact, center=rows, clip_sequence=300, measure_texts=0, public_independent=True)
    assert "The owner declares that the public texts were chosen independently of the private texts" in again.statement
    with pytest.raises(nvdp.NvdpValueError, match="exactly one of clip_sequence and certified_epsilon"):
        nvdp.export_encoder(rows, tmp_path / "c.h5", model=compact, center=["a", "b"])
    with pytest.raises(nvdp.NvdpValueError, match="k: expected"):
        shared.search(rows[0], 0, model=compact)
    with pytest.raises(nvdp.NvdpValueError, match="query 2: expected a text with tokens"):
        shared.search(["a", ""], model=compact)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(nvdp.NvdpError, match="name it with model"):
        shared.search("a", model=None)


def test_search_needs_an_encoder(shared, compact):
    with pytest.raises(nvdp.NvdpValueError, match="whose files state the encoder"):
        shared.search("good", model=compact)


def test_decoded(compact, tmp_path):
    """A run with objective distill: its files decode samples to the encoder's width, and it releases partitions."""
    rng = np.random.default_rng(5)
    (tmp_path / "public.txt").write_text("".join(f"{text} {i}\n" for i, text in enumerate(texts_of(rng, 48)[0])))
    run = nvdp.train(model=compact, preset=None, task="none", objective="distill", input=str(tmp_path / "public.txt"), clip_sequence=8,
                     latent_dim=4, epochs=1, batch=16, holdout=0.3, out=tmp_path / "run", threads=1)  # fmt: skip
    run.export([f"a good film {i}" for i in range(7)], tmp_path / "a.h5", no_ledger=True, samples=2)
    shared, width = nvdp.open(tmp_path / "a.h5"), json.loads((compact / "config.json").read_text())["hidden_size"]
    found = shared.decoded()
    assert found.shape == (7, width) and found.dtype == np.float32 and np.isfinite(found).all() and shared.verify().holds
    z = np.c_[shared.z.mean(axis=(1, 2)), np.ones(7)]  # decoded vectors are a linear map of the mean samples
    assert z.shape == (7, 5) and np.abs(z @ np.linalg.lstsq(z, found, rcond=None)[0] - found).max() < 1e-4
    plain = nvdp.release_function(run, tmp_path / "shards", ledger=tmp_path / "ledger", threads=1)
    plain({"text": ["a good film", "bad"]}, {"number": 0})
    assert nvdp.open(plain.out).decoded().shape == (2, width)
