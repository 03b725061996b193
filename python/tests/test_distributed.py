"""Releases in shards: each partition once, however often it is tried, and all of them one release."""

import json
import os
import pickle
import signal
from pathlib import Path

import numpy as np
import pytest

import nvdp
from conftest import texts_of


@pytest.fixture(scope="module")
def certified(compact, tmp_path_factory):
    rng = np.random.default_rng(4)
    return nvdp.train(*texts_of(rng, 48), model=compact, out=tmp_path_factory.mktemp("certified") / "run", certified_epsilon=8, epochs=1,
                      base_epochs=0, batch=16, max_length=10, cache=None, threads=1)  # fmt: skip


def partition(first, n=6):
    rows = range(first, first + n)
    return {"text": np.array([f"good film number {i}" for i in rows]), "stars": np.array(["pos", "neg"] * (n // 2)), "row": np.array(rows)}


@pytest.fixture
def release(certified, tmp_path):
    return nvdp.release_function(certified, tmp_path / "shards", label="stars", row="row", ledger=tmp_path / "ledger", threads=1)


def test_equal_partitions_have_samples_of_their_own(certified, tmp_path):
    """Partitions are known by number or rows: a file that is found by its texts would show that they are equal."""
    release = nvdp.release_function(certified, tmp_path / "shards", row="row", ledger=tmp_path / "ledger", threads=1, budget_samples=3)
    first = partition(0)
    found = [release(first), release({**first, "row": first["row"] + 6}), release(first)]
    assert [int(row["texts"][0]) for row in found] == [6] * 3 and found[0]["shard"] == found[2]["shard"]
    assert len(release.shards) == 2 and not (nvdp.open(release.shards[0]).z == nvdp.open(release.shards[1]).z).all(axis=(1, 2, 3)).any()
    assert release.verify().spent_samples == 2
    numbered = nvdp.release_function(certified, tmp_path / "numbered", ledger=tmp_path / "second", threads=1, budget_samples=2)
    assert numbered(first, {"number": 0})["shard"] != numbered(first, {"number": 1})["shard"] and len(numbered.shards) == 2
    for wrong, message in (numbered, "found none"), (release, "found equal names"):
        with pytest.raises(nvdp.NvdpValueError, match=f"^row: expected a column that names each row .*{message}"):
            wrong({**first, "row": np.zeros(6)})


def test_each_partition_once(release):
    release = pickle.loads(pickle.dumps(release))
    found = [release(partition(first), {"number": first // 6}) for first in (0, 6, 12)]
    assert [row["texts"].tolist() for row in found] == [[6]] * 3 and [row["samples"].tolist() for row in found] == [[1]] * 3
    before = [path.read_bytes() for path in release.shards]
    assert release(partition(6), {"number": 1})["shard"] == found[1]["shard"]  # again: its file is there
    assert [path.read_bytes() for path in release.shards] == before and len(before) == 3
    made = release.verify()
    assert made.holds and made.useful and made.epsilon == pytest.approx(8, rel=1e-6)
    assert made.statement.startswith("3 files of one release hold 18 texts. ") and "weakest guarantee, part-000000-" in made.statement
    assert made.check[0].what == "all files are of one run and one mechanism"
    assert any(one.what.startswith("the ledger lists") and one.verdict == "yes" for one in made.check)
    shared = nvdp.open(release.out)
    assert len(shared) == 18 and shared.id.tolist() == list(range(6)) * 3 and shared.verify().holds
    one = nvdp.open(release.shards[1])
    np.testing.assert_array_equal(shared.z[6:12], one.z)
    np.testing.assert_array_equal(shared.label[6:12], one.label)
    assert release({"text": [], "stars": [], "row": []})["shard"].size == 0 and len(release.shards) == 3
    assert "3 shards so far" in repr(release) and "epsilon" not in repr(release)  # a text may have more samples than the run promises


def test_persons_add_up_over_partitions(certified, tmp_path):
    release = nvdp.release_function(certified, tmp_path / "shards", person="author", ledger=tmp_path / "ledger", threads=1)
    for first in 0, 6:
        release(partition(first) | {"author": ["ann"] * 5 + ["bob"]}, {"number": first // 6})
    found = release.verify()
    person = found.person
    assert (person.persons, person.texts) == (2, 10) and person.epsilon > 8
    assert "Per person" not in found.guarantee
    assert b"ann" not in b"".join(path.read_bytes() for path in release.shards)
    with pytest.raises(nvdp.NvdpValueError, match="author: expected a column"):
        release(partition(12), {"number": 2})
    for wrong in [1.0] * 6, np.array([1.0] * 5 + [np.nan]):  # integers with missing values would be other persons than the integers
        with pytest.raises(nvdp.NvdpValueError, match=r"persons\[0\]: expected str, int or None, found a float"):
            release(partition(12) | {"author": wrong}, {"number": 2})


def test_counted_but_not_written(certified, tmp_path):
    """A worker that was killed between the two: refused, or counted again within a budget."""
    release = nvdp.release_function(certified, tmp_path / "shards", row="row", ledger=tmp_path / "ledger", threads=1)
    release(partition(0))
    release.shards[0].unlink()
    with pytest.raises(nvdp.NvdpError, match="counted before, but their worker ended.*budget_samples") as caught:
        release(partition(0))
    assert caught.value.status == "ERR_STATE" and not release.shards
    again = nvdp.release_function(certified, tmp_path / "shards", row="row", ledger=tmp_path / "ledger", threads=1, budget_samples=2)
    assert again.id == release.id
    assert again(partition(0))["samples"].tolist() == [2]
    again(partition(6))
    made = again.verify()
    assert made.holds and (made.spent_samples, made.spent_epsilon) == (2, pytest.approx(12.256, abs=1e-3)) and "epsilon 12." in made.guarantee
    again.shards[0].unlink(), again.shards[0].unlink()
    with pytest.raises(nvdp.NvdpError, match="counted before"):  # the third time
        again(partition(0))


def test_a_text_in_two_partitions(release):
    release(partition(0))
    with pytest.raises(nvdp.NvdpError, match="samples") as caught:
        release(partition(3))
    assert caught.value.status == "ERR_STATE"


def test_folders_of_one_release_only(certified, release, run, tmp_path):
    release(partition(0)), release(partition(6))
    other = tmp_path / "shards" / "part-z.h5"
    certified.export(list(partition(20)["text"]), other, labels=["pos"] * 6, ledger=tmp_path / "ledger")
    for read in (nvdp.open, nvdp.verify):
        with pytest.raises(nvdp.NvdpError, match="part-z.h5: attribute 'model_id': expected .* one release"):
            read(tmp_path / "shards")
    other.unlink()
    run.export(list(partition(20)["text"]), other, labels=["pos"] * 6, ledger=tmp_path / "ledger2", model_id=release.id)
    with pytest.raises(nvdp.NvdpError, match="part-z.h5: attribute"):
        nvdp.verify(tmp_path / "shards")
    other.unlink()
    certified.export(list(partition(30)["text"]), other, ledger=tmp_path / "ledger", model_id=release.id)
    with pytest.raises(nvdp.NvdpError, match="part-z.h5: .*label"):
        nvdp.open(tmp_path / "shards")
    other.unlink()
    damaged = release.shards[1]
    damaged.write_bytes(damaged.read_bytes() + b"more")
    made = nvdp.verify(tmp_path / "shards")
    assert not made.holds and any(one.verdict == "no" and one.found.startswith(damaged.name) for one in made.check)
    damaged.write_bytes(b"\0" * 100)
    with pytest.raises(nvdp.NvdpError, match=damaged.name):
        nvdp.open(tmp_path / "shards")
    (tmp_path / "empty").mkdir()
    with pytest.raises(nvdp.NvdpError, match="found none"):
        nvdp.open(tmp_path / "empty")


def test_reuse(release, tmp_path):
    """A reader learns from a folder as from a file, and is scored on another folder."""
    from nvdp._lib import Context, lib

    for first in range(0, 48, 12):
        release(partition(first, 12))
    held = nvdp.release_function(release.run, tmp_path / "held", label="stars", row="row", ledger=tmp_path / "ledger2", threads=1)
    held(partition(100, 12)), held(partition(120, 12))
    context = Context()
    config = context.config("reuse", {"file": release.out, "eval-file": held.out, "epochs": 1})
    found = context.result("struct nvdp_reuse_result", lib.nvdp_reuse, config)
    assert found.train_texts == 43 and found.classes == 2 and found.scores.n == 24  # less a tenth that selects the epoch


def test_uncounted_shard(certified, release, tmp_path):
    """A file that another ledger counts is none of this release's."""
    release(partition(0))
    certified.export(list(partition(30)["text"]), tmp_path / "shards" / "part-z.h5", labels=["pos"] * 6, ledger=tmp_path / "another",
                     model_id=release.id)  # fmt: skip
    made = release.verify()
    found = {one.what: one for one in made.check}["the ledger lists the file's release"]
    assert not made.holds or found.verdict == "yes"
    certified.export(list(partition(40, 8)["text"]), tmp_path / "shards" / "part-y.h5", labels=["pos"] * 8, ledger=tmp_path / "another",
                     model_id=release.id)  # fmt: skip
    made = release.verify()
    found = {one.what: one for one in made.check}["the ledger lists the file's release"]
    assert not made.holds and found.verdict == "no" and found.found.startswith("part-y.h5: ")


def test_arguments(certified, run, release, tmp_path):
    with pytest.raises(nvdp.NvdpValueError, match="overwrite"):
        nvdp.release_function(certified, tmp_path / "s", overwrite=True)
    with pytest.raises(nvdp.NvdpValueError, match="no_such"):
        nvdp.release_function(certified, tmp_path / "s", no_such=1)
    assert not (tmp_path / "s").exists()
    with pytest.raises(nvdp.NvdpValueError, match="another model"):
        nvdp.release_function(run, tmp_path / "shards", ledger=tmp_path / "ledger")
    with pytest.raises(nvdp.NvdpValueError, match="another ledger"):
        nvdp.release_function(certified, tmp_path / "shards")
    with pytest.raises(nvdp.NvdpValueError, match="stars: expected a column"):
        release({"text": np.array(["a"])})
    with pytest.raises(nvdp.NvdpError, match="model-id|model_id"):
        certified.export(["a", "b"], tmp_path / "x.h5", model_id="short", ledger=tmp_path / "l")
    for path in tmp_path.rglob("*release*"):
        assert path.is_dir() or path.stat().st_mode & 0o077 == 0
    names = json.dumps([path.name for path in release.shards])
    assert "film" not in names


def test_no_text_in_a_file(release, monkeypatch, tmp_path):
    """A worker that is killed leaves none behind."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    export = release.run.export

    def look(texts, out, **options):
        found = [path for path in (tmp_path / "temporary").rglob("*") if path.is_file() and not path.is_symlink()]
        assert not found and b"film" in Path(options["input"]).read_bytes()
        return export(texts, out, **options)

    monkeypatch.setattr(release.run, "export", look)
    assert release(partition(0))["texts"].tolist() == [6]
    assert not list((tmp_path / "temporary").iterdir())


def deadly(release, folder, rows, partition_info=None):
    """Ends its worker: in the middle of a release, and after one."""
    number = None if partition_info is None else partition_info["number"]
    mark = Path(folder, f"mark-{number}")
    first = number is not None and not mark.exists()
    if first:
        mark.touch()
    if first and number == 0:
        release.run._context.progress = lambda _: os.kill(os.getpid(), signal.SIGKILL)
    found = release(rows, partition_info)
    if first and number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return found


def test_dask(certified, tmp_path):
    """Two workers, both of which are killed: every partition is released once, and counted."""
    pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    import functools

    import dask
    import pandas
    from dask import dataframe

    rows = pandas.concat([pandas.DataFrame(partition(first)) for first in range(0, 24, 6)], ignore_index=True)
    release = nvdp.release_function(certified, tmp_path / "shards", label="stars", ledger=tmp_path / "ledger", threads=1, budget_samples=2)
    (tmp_path / "marks").mkdir()
    with dask.config.set({"distributed.scheduler.allowed-failures": 10}), distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path / "dask")) as cluster:  # fmt: skip
        with distributed.Client(cluster) as client:
            frame = dataframe.from_pandas(rows, npartitions=4)
            call = functools.partial(deadly, release, str(tmp_path / "marks"))
            found = client.compute(frame.map_partitions(call, meta=release.meta)).result(timeout=200)
            with pytest.raises(ValueError, match="meta=release.meta"):  # made-up rows are never released
                frame.map_partitions(release)
            again = client.compute(frame.map_partitions(release, meta=release.meta)).result(timeout=200)
    assert len(release.shards) == 4 and found.texts.tolist() == [6] * 4 and found.samples.max() <= 2
    assert again.equals(found)
    made = release.verify()
    assert made.holds and len(nvdp.open(release.out)) == 24


def test_ray(certified, tmp_path):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, configure_logging=False)
    try:
        release = nvdp.release_function(certified, tmp_path / "shards", label="stars", row="row", ledger=tmp_path / "ledger", threads=1)
        rows = [{"text": t, "stars": s, "row": i} for first in range(0, 36, 6) for t, s, i in zip(*partition(first).values())]
        for batch_format in ("numpy", "pyarrow"):
            found = ray.data.from_items(rows).map_batches(release, batch_size=12, batch_format=batch_format).take_all()
            assert sum(row["texts"] for row in found) == 36 and release.verify().holds
    finally:
        ray.shutdown()


def test_repeated_texts_need_duplicates_each(certified, tmp_path):
    """A certified run refuses rows of one text beyond what it promised, before anything is drawn, unless each is to be drawn."""
    encoder = nvdp.PrivateEncoder.from_pretrained(certified.path, threads=1)
    uses = {"encode": encoder.encode, "iter": lambda texts, **options: np.array(list(encoder.encode_iter(texts, **options))),
            "release": lambda texts, **options: encoder.release(texts, **options).mean()[:, 0],
            "shards": lambda texts, **options: nvdp.open(encoder.release_shards(texts, tmp_path / "parts", **options)[0]).mean()[:, 0]}  # fmt: skip
    for name, use in uses.items():
        with pytest.raises(nvdp.NvdpError, match="Nothing was drawn: keep one row of each text, or duplicates each") as caught:
            use([f"a repeated {name}"] * 2)
        assert caught.value.status == "ERR_STATE"
        found = use([f"a repeated {name}"] * 2, duplicates="each")
        assert found.shape[0] == 2 and (found[0] != found[1]).any()
        with pytest.raises(nvdp.NvdpError, match="found 3 including this export"):  # each was counted
            encoder.encode([f"a repeated {name}"], budget_samples=2)
    with pytest.raises(nvdp.NvdpValueError, match="duplicates: expected"):
        encoder.encode(["another"], duplicates="drop")
    rows = {**partition(60), "text": np.array(["a repeated row"] * 6)}
    release = nvdp.release_function(certified, tmp_path / "shards", ledger=tmp_path / "ledger", threads=1)
    with pytest.raises(nvdp.NvdpError, match="duplicates each"):
        release(rows, {"number": 0})
    release = nvdp.release_function(certified, tmp_path / "shards", ledger=tmp_path / "ledger", threads=1, duplicates="each")
    assert release(rows, {"number": 0})["samples"].tolist() == [6]
    assert release(rows, {"number": 0})["samples"].tolist() == [6] and len(release.shards) == 1


def test_repeated_rows_in_scikit_learn(certified):
    pytest.importorskip("sklearn")
    from nvdp.sklearn import NvdpTransformer

    texts = ["a row that repeats"] * 3
    with pytest.raises(nvdp.NvdpError, match="duplicates each"):
        NvdpTransformer(run=certified.path, threads=1).fit_transform(texts)
    assert len(np.unique(NvdpTransformer(run=certified.path, threads=1, duplicates="each").fit_transform(texts), axis=0)) == 3
