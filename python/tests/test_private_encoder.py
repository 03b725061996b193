"""PrivateEncoder: what leaves it is noisy and counted, wherever it is saved."""

import copy
import gc
import os
import pickle
import shutil
import stat
import subprocess
import sys

import numpy as np
import pytest

import nvdp
from conftest import texts_of


@pytest.fixture(scope="module")
def fitted(run, tmp_path_factory):
    """A saved encoder, from a copy of the small run."""
    place = tmp_path_factory.mktemp("encoder")
    shutil.copytree(run.path, place / "run", ignore=lambda _where, names: {"ledger", "ledger.key", "ledger.state"} & set(names))
    shutil.copytree(f"{run.path}.data", place / "run.data")
    return nvdp.PrivateEncoder.from_pretrained(place / "run", threads=1)


def fresh(n, of="story"):
    fresh.count += n
    return [f"{of} {i}" for i in range(fresh.count - n, fresh.count)]


fresh.count = 0


def test_fit(compact, tmp_path):
    encoder = nvdp.PrivateEncoder.from_pretrained(compact, threads=1)
    assert repr(encoder) == f"nvdp.PrivateEncoder({str(compact)!r}): not trained; fit(texts, labels) trains it"
    for use in lambda: encoder.encode(["a"]), lambda: encoder.predict(["a"]), lambda: encoder.save_pretrained(tmp_path / "b"), encoder.privacy:
        with pytest.raises(nvdp.NvdpError, match="not trained: call fit") as caught:
            use()
        assert caught.value.status == "ERR_STATE"
    rows = texts_of(np.random.default_rng(1), 40)
    same = dict(preset=None, method="vib-fixed", epochs=1, batch=8, max_length=8, freeze_layers=4)
    assert encoder.fit(*rows, **nvdp.TrainingOptions(**same)) is encoder
    folder = encoder.run.path.parent
    assert sorted(one.name for one in folder.iterdir()) == ["run", "run.data"] and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [one.name for one in (folder / "run.data").iterdir()] == ["dev.jsonl"]  # and no text of the training
    assert "cache" not in encoder.run.config and "temporary folder" in repr(encoder) and encoder.guarantee in repr(encoder)
    assert encoder.evaluate().scores.n == 4 and encoder.privacy().n == 4 and encoder.labels == ["neg", "pos"]
    with pytest.raises(nvdp.NvdpError):
        encoder.evaluate("train")
    encoder.fit(*rows, keep_texts=False, threads=1, **same)
    assert not folder.exists() and not (encoder.run.path.parent / "run.data").exists()
    folder = encoder.run.path.parent
    del encoder, use, caught
    gc.collect()
    assert not folder.exists()
    with pytest.raises(ValueError, match="^keep_texts: expected"):
        nvdp.PrivateEncoder(compact).fit(*rows, keep_texts="all")
    with pytest.raises(ValueError, match="^model: expected the directory"):
        nvdp.PrivateEncoder().fit(*rows)
    with pytest.raises(nvdp.NvdpError, match="expected a folder of save_pretrained"):
        nvdp.PrivateEncoder.from_pretrained(tmp_path)


def test_a_failed_fit_leaves_nothing(compact, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for wrong in dict(epochs=-1), dict(progress=lambda _one: 1 / 0, log_every=1):
        with pytest.raises((ValueError, ZeroDivisionError)):
            nvdp.PrivateEncoder(compact, threads=1).fit(*texts_of(np.random.default_rng(1), 24), **{"preset": None, "method": "base", "batch": 8,
                                                                                                   "epochs": 1, "max_length": 8, **wrong})  # fmt: skip
        assert not any(tmp_path.iterdir())


def test_encode_is_a_release(fitted):
    texts = fresh(3)
    found = fitted.encode(texts)
    assert found.shape == (3, fitted.dim) and found.dtype == np.float32 and np.isfinite(found).all()
    with pytest.raises(nvdp.NvdpError, match="shared before") as caught:
        fitted.encode(texts[1:2])
    assert caught.value.status == "ERR_STATE" and " --" not in str(caught.value) and "budget_samples" in str(caught.value)
    again = fitted.encode(texts, budget_samples=2)
    assert not np.array_equal(found, again)  # new noise
    one = fitted.encode(fresh(1)[0], normalize_embeddings=True)
    assert one.shape == (fitted.dim,) and np.linalg.norm(one) == pytest.approx(1, abs=1e-6)
    assert fitted.encode([]).shape == (0, fitted.dim) and fitted.encode([], pooling=None) == []
    sets = fitted.encode(fresh(2), pooling=None, dtype="float16", batch_size=1)
    assert [one.shape for one in sets] == [(10, fitted.dim)] * 2 and sets[0].dtype == np.float16
    kept = fresh(1)
    for wrong in dict(pooling="cls"), dict(dtype="int8"), dict(dtype="bfloat16"), dict(budget_samples=-1), dict(pairs=kept):
        with pytest.raises(ValueError, match=list(wrong)[0]):
            fitted.encode(kept, **wrong)
    assert fitted.encode(kept).shape == (1, fitted.dim)  # no error was a release
    for hidden in "noise", "insecure_seed", "seed", "no_ledger":
        with pytest.raises(TypeError, match=hidden):
            fitted.encode(["a"], **{hidden: 0})
    for wrong in b"good", 5, {"a"}, {"a": 1}, ["a", None]:
        with pytest.raises(TypeError, match="expected"):
            fitted.encode(wrong)


def test_each_occurrence_is_drawn_and_counted(fitted):
    """Rows of equal texts do not show that they are equal, in one call, in parts of it, and with a second text."""
    (text,) = fresh(1)
    for n, draw in (60, lambda: fitted.encode([text] * 60)), (66, lambda: list(fitted.encode_iter([text] * 6, chunk_size=2, budget_samples=66))):
        found = draw()
        assert len(np.unique(found, axis=0)) == len(found)
        with pytest.raises(nvdp.NvdpError, match=f"found {n + 1} including this export"):  # each was counted
            fitted.encode(text, budget_samples=n)
    one, two = fitted.encode(fresh(1) * 2, pooling=None)
    assert one.shape == two.shape and not (one == two).all(axis=1).any()
    with pytest.raises(nvdp.NvdpError, match="found 2 including this export"):
        fitted.encode(fresh(1) * 2, budget_samples=1)


def test_equal_texts_look_like_two_releases(fitted):
    """Distances of samples of one text have the same distribution within a call as between two calls (Kolmogorov-Smirnov)."""
    (text,) = fresh(1)
    first, second = fitted.encode([text] * 300), fitted.encode([text] * 300, budget_samples=600)
    within, between = np.linalg.norm(first[:150] - first[150:], axis=1), np.linalg.norm(first[:150] - second[150:], axis=1)
    grid = np.sort(np.concatenate([within, between]))
    gap = np.abs(np.searchsorted(np.sort(within), grid, "right") - np.searchsorted(np.sort(between), grid, "right")).max() / 150
    assert gap < 2.28 * np.sqrt(2 / 150)  # false alarms: 2 exp(-2 * 2.28^2) = 6e-5; it is 1 if equal texts share a sample


def test_tensors(fitted):
    torch = pytest.importorskip("torch")
    found = fitted.encode(fresh(2), convert_to_tensor=True, dtype=torch.bfloat16)
    assert found.dtype == torch.bfloat16 and found.shape == (2, fitted.dim)
    assert [one.shape for one in fitted.encode(fresh(2), convert_to_numpy=False)] == [(fitted.dim,)] * 2


def test_release(fitted, tmp_path):
    shared = fitted.release(fresh(4), labels=["pos", "neg"] * 2, samples=2, budget_samples=2)
    assert (len(shared), shared.samples) == (4, 2) and shared.verify().holds and shared.label.tolist() == [1, 0, 1, 0]
    z = shared.z
    np.testing.assert_allclose(shared.mean(), z.mean(axis=2), atol=1e-5)
    path = shared.path
    travelled = pickle.loads(pickle.dumps(shared))
    kept = shared.save(tmp_path / "kept.h5")
    assert travelled.path != path and kept.verify().holds
    del shared
    assert not os.path.exists(path) and np.array_equal(travelled.z, z) and travelled.verify().holds and np.array_equal(kept.z, z)
    with pytest.raises(ValueError, match="ending"):
        kept.save(tmp_path / "kept.parquet")
    with pytest.raises(FileExistsError):
        travelled.save(tmp_path / "kept.h5")
    out = fitted.release(fresh(2), tmp_path / "a.safetensors")
    assert nvdp.open(tmp_path / "a.safetensors").guarantee == out.guarantee


def test_streams(fitted, tmp_path):
    """Generators in, shards or rows out; each part is counted in the same ledger."""
    texts, asked = fresh(10), []

    def stream():
        for text in texts:
            asked.append(text)
            yield text

    paths = fitted.release_shards(stream(), tmp_path / "shards", shard_size=4, labels=iter(["pos", "neg"] * 5))
    assert [path.name for path in paths] == [f"shard-0000{i}.h5" for i in range(3)]
    assert [len(nvdp.open(path)) for path in paths] == [4, 4, 2] and nvdp.open(paths[2]).label.tolist() == [1, 0]
    assert all(nvdp.open(path).verify().holds for path in paths)
    with pytest.raises(nvdp.NvdpError, match=r"shard-00001.h5: .*shared before.*; released before: 1 shards") as caught:
        fitted.release_shards(fresh(2) + texts, tmp_path / "more", shard_size=2)
    assert caught.value.status == "ERR_STATE" and [one.name for one in (tmp_path / "more").iterdir()] == ["shard-00000.h5"]
    paths = fitted.release_shards(fresh(4), tmp_path / "persons", shard_size=2, persons=["ann", "ann", "ann", None])
    assert nvdp.verify(paths[1], ledger=fitted.run.path / "ledger").person.texts == 3  # ann's texts of both shards
    texts, asked[:] = fresh(6), []
    rows = fitted.encode_iter(stream(), chunk_size=2)
    assert next(rows).shape == (fitted.dim,) and len(asked) == 2  # no more than a chunk is read
    assert len(list(rows)) == 5
    with pytest.raises(ValueError, match="labels, pairs, persons: expected as many"):
        fitted.release_shards(fresh(2), tmp_path / "wrong", labels=["pos"])
    for wrong in "one text", {"a": 1}, 5:
        with pytest.raises(TypeError, match="expected a list of str"):
            fitted.release_shards(wrong, tmp_path / "wrong")
    with pytest.raises(ValueError, match="chunk_size"):
        next(fitted.encode_iter(["a"], chunk_size=0))


def test_predict(fitted):
    texts = ["good film", "bad end"]
    proba = fitted.predict_proba(texts, samples=2)
    assert proba.shape == (2, 2) and np.allclose(proba.sum(axis=1), 1) and fitted.predict_proba([]).shape == (0, 2)
    assert [fitted.labels[i] for i in proba.argmax(axis=1)] == fitted.predict(texts, samples=2).tolist()
    assert fitted.privacy(texts).n == 2 and fitted.certificate(delta=1e-6).delta == 1e-6


@pytest.mark.parametrize("released", [True, False])
def test_no_failure_makes_two_ledgers(run, tmp_path, monkeypatch, released):
    """Wherever save_pretrained() fails, a text that was released stays counted, and at most one place releases."""
    shutil.copytree(run.path, tmp_path / "run", ignore=lambda _where, names: {"base", "state.ckpt", "ledger", "ledger.key", "ledger.state"} & set(names))
    if released:
        nvdp.Run(tmp_path / "run", threads=1).export(["a released text"], tmp_path / "a.h5")
    before = {name: (tmp_path / "run" / name).read_bytes() for name in ("ledger", "ledger.key", "ledger.state") if released}

    def ledgers():
        return [path for path in tmp_path.rglob("ledger") if not path.read_bytes().startswith(b"nvdp ledger moved")]

    class Death(BaseException):
        pass

    for function, call in ("pwrite", 1), ("fsync", 1), ("fsync", 2), ("fsync", 3), ("replace", 1), ("ftruncate", 1):
        place, left = tmp_path / f"{function}-{call}", [call]
        inner = getattr(os, function)

        def fail(*arguments, inner=inner, left=left):
            left[0] -= 1
            if left[0] == 0:
                raise Death
            return inner(*arguments)

        monkeypatch.setattr(os, function, fail)
        encoder = nvdp.PrivateEncoder.from_pretrained(tmp_path / "run", threads=1)
        try:
            encoder.save_pretrained(place)
        except Death:
            pass
        monkeypatch.undo()
        if place.exists():  # moved, at once or by the next to open it
            opened = nvdp.PrivateEncoder.from_pretrained(place, threads=1)
            assert ledgers() in ([place / "run" / "ledger"], []) if not released else ledgers() == [place / "run" / "ledger"]
            if released:
                assert {name: (place / "run" / name).read_bytes() for name in before} == before
                with pytest.raises(nvdp.NvdpError, match="shared before"):
                    opened.encode(["a released text"])
            with pytest.raises(nvdp.NvdpError, match="which alone releases"):
                nvdp.PrivateEncoder.from_pretrained(tmp_path / "run").encode(["another"])
            shutil.rmtree(tmp_path / "run")
            (place / "run").rename(tmp_path / "run")
            shutil.rmtree(place)
        else:
            assert released is False or {name: (tmp_path / "run" / name).read_bytes() for name in before} == before
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def joblib_copy(encoder, folder):
    joblib = pytest.importorskip("joblib")
    joblib.dump(encoder, folder / "encoder.joblib")
    return joblib.load(folder / "encoder.joblib")


COPIES = {"pickle": lambda encoder, _: pickle.loads(pickle.dumps(encoder)), "deepcopy": lambda encoder, _: copy.deepcopy(encoder),
          "copy": lambda encoder, _: copy.copy(encoder), "joblib": joblib_copy, "copy of a copy": lambda encoder, _: copy.copy(copy.copy(encoder))}  # fmt: skip


@pytest.fixture(scope="module")
def temporary(compact):
    """An encoder whose run is in a temporary folder."""
    options = dict(preset=None, method="vib-fixed", epochs=1, batch=8, max_length=8, freeze_layers=4, latent_dim=4)
    return nvdp.PrivateEncoder(compact, threads=1).fit(*texts_of(np.random.default_rng(1), 24), **options)


@pytest.mark.parametrize("kept", [True, False], ids=["in a folder", "in a temporary folder"])
@pytest.mark.parametrize("how", COPIES)
def test_copies_predict_and_do_not_release(fitted, temporary, tmp_path, how, kept):
    encoder = fitted if kept else temporary
    twin, texts = COPIES[how](encoder, tmp_path), fresh(2)
    assert encoder.can_release and not twin.can_release and (twin.run.path == encoder.run.path) == kept
    for wrong in lambda: twin.encode(texts), lambda: twin.release(texts, tmp_path / "a.h5"), lambda: next(twin.encode_iter(texts)), \
            lambda: twin.release_shards(texts, tmp_path / "shards"), lambda: twin.save_pretrained(tmp_path / "saved"):  # fmt: skip
        with pytest.raises(nvdp.NvdpError, match=r"found a copy, which .*attach\(folder\)") as caught:
            wrong()
        assert caught.value.status == "ERR_STATE" and str(encoder.run.path) in str(caught.value)
    assert not list(tmp_path.glob("*/*")) and not (tmp_path / "a.h5").exists() and not (tmp_path / "saved").exists()
    np.testing.assert_array_equal(twin.predict_proba(texts), encoder.predict_proba(texts))
    assert twin.privacy(texts).n == 2 and twin.guarantee == encoder.guarantee and twin.evaluate().scores.n == encoder.evaluate().scores.n
    if not kept:
        assert {one.name for one in twin.run.path.glob("ledger*")} == {"ledger"} and not twin.run.path.joinpath("ledger").stat().st_size > 500
        with pytest.raises(nvdp.NvdpError, match="which alone releases"):  # not by way of its run either
            twin.run.export(texts, tmp_path / "a.h5")
        reader = twin.save_pretrained(tmp_path / "reader", can_release=False)
        assert reader is twin and not nvdp.PrivateEncoder.from_pretrained(tmp_path / "reader").can_release
    assert encoder.encode(texts).shape == (2, encoder.dim)  # and nothing was counted
    assert twin.attach(encoder.run.path) is twin and twin.can_release
    with pytest.raises(nvdp.NvdpError, match="shared before"):
        twin.encode(texts)
    more = fresh(1)
    assert twin.encode(more).shape == (1, encoder.dim)
    with pytest.raises(nvdp.NvdpError, match="shared before"):
        encoder.encode(more)


def test_errors_name_no_temporary_files(fitted, temporary, tmp_path):
    """Neither a second encode(), nor wrong labels, nor a file that cannot be written."""
    for encoder in fitted, temporary:
        one = fresh(1)
        encoder.encode(one)
        with pytest.raises(nvdp.NvdpError, match="shared before, in a call that kept no file") as caught:
            encoder.encode(one)
        told = [str(caught.value)]
        for wrong in (lambda: encoder.evaluate(one, ["other"]), lambda: encoder.release(fresh(1), tmp_path / "no" / "s.h5"), lambda: encoder.predict(one, samples=0),
                      lambda: encoder.encode(fresh(1), duplicates="x"), lambda: nvdp.gate({"checks": [{"measure": "x"}]}, encoder.run)):  # fmt: skip
            with pytest.raises(nvdp.NvdpError) as caught:
                wrong()
            told.append(str(caught.value))
        assert not any("/nvdp-" in message or "/tmp/tmp" in message for message in told), told


def test_attach_wants_the_ledger_of_the_same_encoder(fitted, temporary, compact, tmp_path):
    twin = copy.copy(temporary)
    with pytest.raises(nvdp.NvdpValueError, match="^folder: expected the encoder of which this is a copy"):
        twin.attach(fitted.run.path)
    temporary.save_pretrained(tmp_path / "reader", can_release=False)
    with pytest.raises(nvdp.NvdpError, match="attach that folder") as caught:
        twin.attach(tmp_path / "reader")
    assert caught.value.status == "ERR_STATE" and not twin.can_release and not nvdp.PrivateEncoder(compact).can_release
    again = pickle.loads(pickle.dumps(nvdp.PrivateEncoder(compact, threads=1)))  # not trained: what it is trained to is its own
    again.fit(*texts_of(np.random.default_rng(1), 24), preset=None, method="vib-fixed", epochs=1, batch=8, max_length=8, freeze_layers=4)
    assert again.can_release


def test_processes_count_in_one_ledger(fitted, tmp_path):
    """Two processes that load a pickle: neither releases before it attaches the folder, and then no text twice."""
    program = """if True:
        import nvdp, pickle, sys
        encoder = pickle.load(open(sys.argv[1], "rb"))
        print(encoder.can_release, encoder.predict(["good film"])[0])
        for attach in False, True:
            try:
                print((encoder.attach(sys.argv[2]) if attach else encoder).encode([sys.argv[3]]).shape)
            except nvdp.NvdpError as reason:
                print(reason.status)
    """
    (tmp_path / "pickle").write_bytes(pickle.dumps(fitted))
    command = [sys.executable, "-c", program, tmp_path / "pickle", fitted.run.path, *fresh(1)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate()[0].splitlines() for process in processes]
    assert [lines[0].split()[0] for lines in told] == ["False"] * 2 and {lines[0].split()[1] for lines in told} <= {"neg", "pos"}
    assert [lines[1] for lines in told] == ["ERR_STATE"] * 2 and sorted(lines[2] for lines in told) == sorted([f"(1, {fitted.dim})", "ERR_STATE"])


def test_forked_processes_share_the_ledger(fitted):
    texts = fresh(1)
    child = os.fork()
    if child == 0:
        try:
            os._exit(fitted.encode(texts).shape[0])
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    with pytest.raises(nvdp.NvdpError, match="shared before"):
        fitted.encode(texts)


def test_a_saved_encoder_counts_on(fitted, tmp_path):
    """The ledger moves: what was released stays counted, and no text can be released in two places."""
    encoder = nvdp.PrivateEncoder.from_pretrained(fitted.save_pretrained(tmp_path / "first").run.path.parent, threads=1)
    source, released = fitted.run.path, fresh(2)
    encoder.encode(released)
    assert encoder.save_pretrained(tmp_path / "saved") is encoder and encoder.run.path == tmp_path / "saved" / "run"
    for place in source, tmp_path / "first":
        with pytest.raises(nvdp.NvdpError, match=rf"moved to the run {tmp_path}/saved/run, which alone releases") as caught:
            nvdp.PrivateEncoder.from_pretrained(place).encode(fresh(1))
        assert caught.value.status == "ERR_STATE"
    with pytest.raises(nvdp.NvdpError, match="which alone may release"):
        nvdp.PrivateEncoder.from_pretrained(source).save_pretrained(tmp_path / "twice")
    assert not (tmp_path / "twice").exists()
    (tmp_path / "saved").rename(tmp_path / "moved")
    opened = nvdp.PrivateEncoder.from_pretrained(tmp_path / "moved", threads=1)
    with pytest.raises(nvdp.NvdpError, match="shared before"):
        opened.encode(released)
    assert opened.encode(fresh(2)).shape == (2, opened.dim) and opened.evaluate().scores.n == 24 and opened.privacy(limit=4).n == 4
    readme = (tmp_path / "moved" / "README.md").read_text()
    assert opened.guarantee in readme and "Keep this folder to yourself" in readme and "run.data" in readme
    assert stat.S_IMODE((tmp_path / "moved").stat().st_mode) == 0o700 and not (tmp_path / "moved" / "run" / "base").exists()
    reader = opened.save_pretrained(tmp_path / "reader", can_release=False, keep_texts=False)
    assert reader is opened and opened.run.path == tmp_path / "moved" / "run" and opened.encode(fresh(1)).shape == (1, opened.dim)
    reader = nvdp.PrivateEncoder.from_pretrained(tmp_path / "reader", threads=1)
    np.testing.assert_array_equal(reader.predict_proba(["a film"]), opened.predict_proba(["a film"]))
    assert not (tmp_path / "reader" / "run.data").exists() and reader.privacy(["a", "b"]).n == 2
    with pytest.raises(nvdp.NvdpError, match="moved/run, which alone releases"):
        reader.encode(fresh(1))
    for wrong in tmp_path / "reader", tmp_path / "moved" / "run" / "inside":
        with pytest.raises(ValueError, match="^folder: "):
            opened.save_pretrained(wrong)
