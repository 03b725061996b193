"""Nothing depends on the working directory, and objects travel: to another folder, another process, another day."""

import copy
import json
import multiprocessing
import os
import pickle
import shutil
import threading
import time

import numpy as np
import pytest

import nvdp
from conftest import texts_of


@pytest.fixture
def relative(compact, tmp_path, monkeypatch):
    """A run that was trained with relative paths, and the directory of the training."""
    work = tmp_path / "work"
    work.mkdir()
    shutil.copytree(compact, work / "model")
    monkeypatch.chdir(work)
    rows = texts_of(np.random.default_rng(9), 40)
    run = nvdp.train(*rows, model="model", out="mine", preset=None, method="vib-fixed", epochs=1, batch=8, max_length=8, freeze_layers=2,
                     cache=None, threads=1)  # fmt: skip
    return run, work


def use(run):
    texts = ["good film", "bad end"]
    assert run.evaluate().scores.n == 4 and run.evaluate("train").scores.n == 36
    assert run.evaluate(texts, ["pos", "neg"], draws=2).scores.n == 2
    assert len(run.posteriors(limit=3)) == 3 and len(run.posteriors(texts)) == 2
    assert run.privacy(limit=3).n == 3 and run.privacy(texts).n == 2
    assert [one.label in ("pos", "neg") for one in run.predict(texts)] == [True, True]
    assert run.tokenizer.encode("good film").size == 4


def test_runs_work_from_any_directory(relative, tmp_path, monkeypatch):
    run, work = relative
    assert run.config.data == str(work / "mine.data") and run.config.model == str(work / "model")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    opened = nvdp.Run("mine")
    monkeypatch.chdir(elsewhere)
    use(run), use(opened)
    other = tmp_path / "moved"
    work.rename(other)  # with its data
    use(nvdp.Run(other / "mine"))
    monkeypatch.chdir(other)
    found = nvdp.Run("mine")
    use(found)
    shutil.rmtree(other / "mine.data")
    for lost in found.evaluate, found.posteriors, found.privacy, lambda: found.export(out=tmp_path / "a.h5", split="dev"):
        with pytest.raises(nvdp.NvdpError, match=r"mine: the data of the run is gone: expected .*mine\.data .* with data to measure") as caught:
            lost()
        assert caught.value.status == "ERR_IO"
    assert found.evaluate(["good film"], ["pos"]).scores.n == 1 and found.privacy(["a", "b"]).n == 2
    assert found.export(["good film"], "a.h5").texts == 1 and (other / "a.h5").is_file()


def test_runs_of_the_program_are_found_too(relative, tmp_path, monkeypatch):
    """run.json has the paths as they were given on the command line, relative to a directory that the path of the run tells."""
    run, work = relative
    record = json.loads((run.path / "run.json").read_text())
    record["config"].update(out="mine", data="mine.data", model="model")
    (run.path / "run.json").write_text(json.dumps(record))
    monkeypatch.chdir(tmp_path)
    use(nvdp.Run(run.path))
    monkeypatch.chdir(work)
    use(nvdp.Run("mine"))


def test_resume_after_a_move(compact, tmp_path, monkeypatch):
    def stop(_progress):
        raise RuntimeError("enough")

    monkeypatch.chdir(tmp_path)
    rows = texts_of(np.random.default_rng(3), 64)
    same = dict(model=compact, preset=None, method="base", epochs=2, batch=8, max_length=8, freeze_layers=2, cache=None, threads=1)
    labels = [label == "pos" for label in rows[1]]
    with pytest.raises(RuntimeError, match="enough"):
        nvdp.train(rows[0], labels, out="a", progress=stop, log_every=1, **same)
    (tmp_path / "b").mkdir()
    for name in "a", "a.data":
        (tmp_path / name).rename(tmp_path / "b" / name)
    run = nvdp.resume("b/a", threads=1)
    assert run.info.labels == [False, True] and type(run.predict(["good film"])[0].label) is bool


def test_pickles(relative, run, compact, posteriors, tmp_path, monkeypatch):
    other, work = relative
    shared = tmp_path / "shared.h5"
    run.export(["good film", "bad"], shared, no_ledger=True)
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 0 0\ndog 0 1\n")
    monkeypatch.chdir(tmp_path)
    rng, text = np.random.default_rng(2), ["a good film"]
    encoder = nvdp.Encoder(os.path.relpath(compact), threads=1, pool="mean", normalize="yes")
    objects = [
        (encoder, lambda x: x.encode(text)), (encoder.tokenizer, lambda x: x(text).ids), (nvdp.Tokenizer(compact), lambda x: x(text).ids),
        (other, lambda x: x.predict(text)[0].probability), (other.tokenizer, lambda x: x(text).ids), (nvdp.open("shared.h5"), lambda x: x.rows),
        (posteriors, lambda x: x.pairs()[0]), (other.posteriors(text * 2), lambda x: x.mu),
        (nvdp.Posteriors([rng.normal(size=(2, 3))], [np.zeros((2, 3))]), lambda x: x.mu),
        (nvdp.ExactLoss([0.5], [1.0], [0.0], [1.1], [1, 2], [2, 1], times=2, releases=3), lambda x: x.delta([0.0, 1.0])),
        (posteriors.exact(0, 3, 2), lambda x: x.epsilon(1e-5)), (nvdp.Accountant([(1.0, 0.1, 10)], [(1.0, 0.0)]), lambda x: x.epsilon(1e-5)),
        (nvdp.Mechanism(np.eye(3), "santext", 2.0), lambda x: x.log_probabilities([1])),
        (nvdp.Sanitizer(vectors="vectors.txt", mechanism="santext", eta=2.0), lambda x: x.log_probabilities([1])),
    ]  # fmt: skip
    kept = [pickle.dumps(one) for one, _ in objects]
    monkeypatch.chdir(work)
    for (one, measure), again in zip(objects, kept):
        for twin in pickle.loads(again), copy.deepcopy(one):
            assert type(twin) is type(one)
            np.testing.assert_array_equal(measure(twin), measure(one))


def _work(item):
    encoder, loss, run = item
    return encoder.encode("a film"), loss.epsilon(1e-5), run.predict(["a film"])[0].label


def test_spawned_workers(relative, compact):
    item = nvdp.Encoder(compact, threads=1, pool="mean"), nvdp.ExactLoss([0.5], [1.0], [0.0], [1.1]), relative[0]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        vector, epsilon, label = pool.map(_work, [item])[0]
    assert np.array_equal(vector, _work(item)[0]) and (epsilon, label) == _work(item)[1:]


def test_fitted_estimators_pickle(run, tmp_path):
    pytest.importorskip("sklearn")
    import joblib

    from nvdp.sklearn import NvdpTransformer

    fitted = NvdpTransformer(run=run.path, threads=1, budget_samples=9).fit(["a"], [1])
    joblib.dump(fitted, tmp_path / "fitted.joblib")
    again = joblib.load(tmp_path / "fitted.joblib")
    assert again.classes_.tolist() == ["neg", "pos"] and again.encoder_.predict(["good film"]).shape == (1,)
    with pytest.raises(nvdp.NvdpError, match="found a copy"):
        again.transform(["an unseen text"])
    again.encoder_.attach(run.path)
    assert again.transform(["an unseen text"]).shape == (1, 80)
    for wrong in "good film", b"good", 5, ["a", 1]:
        with pytest.raises(TypeError, match="X.*expected"):
            fitted.transform(wrong)


def test_predict_keeps_the_model(relative, monkeypatch):
    """The same numbers as the program's, without loading the model in every call."""
    run, _ = relative
    texts = ["good film", "tab\tand\nline", "\ud800", "a\0b"]
    options = {"samples": 5, "probabilities": True, "seed": 1, "batch": 32}
    blanks = str.maketrans("\t\n\r\0", "   \ufffd")
    clean = [one.encode("utf-8", "surrogatepass").decode("utf-8", "replace").translate(blanks) for one in texts]
    want = [json.loads(line) for line in run._lines_of_file(clean, None, options).splitlines()]
    assert [one.probabilities for one in run.predict(texts)] == [one["probabilities"] for one in want]
    model = run._model
    start = time.monotonic()
    for _ in range(10):
        run.predict(["good film"])
    each = (time.monotonic() - start) / 10
    assert run._model is model
    start = time.monotonic()
    run._lines_of_file(clean, None, options)
    assert each < (time.monotonic() - start) / 2  # 4 ms against 300
    spent, inner = [], nvdp._lib.Context._run

    def timed(*call):
        start = time.thread_time()
        inner(*call)
        spent.append(time.thread_time() - start)

    monkeypatch.setattr(nvdp._lib.Context, "_run", timed)
    beside = []
    for _ in range(20):
        spent.clear()
        start = time.process_time()
        run.predict(["good film"])
        beside.append(time.process_time() - start - sum(spent))
    assert min(beside) < 2e-3  # of the processor, beside the library's 2 ms: 0.6 ms


def test_objects_have_no_threads(compact, posteriors, tmp_path):
    """400 objects of all kinds need as many threads as one."""

    def threads():
        return len(os.listdir("/proc/self/task"))

    makers = [lambda: nvdp.Tokenizer(compact), lambda: nvdp.ExactLoss([0.5], [1.0], [0.0], [1.1]), lambda: nvdp.Mechanism(np.eye(2), "santext", 1.0),
              lambda: nvdp.Posteriors([np.zeros((1, 2))] * 2, [np.zeros((1, 2))] * 2)]  # fmt: skip
    kept = [make() for make in makers]
    before = threads()
    kept += [makers[i % len(makers)]() for i in range(400)]
    assert threads() <= before  # fewer: threads of earlier tests end at their own time
    workers = [threading.Thread(target=lambda: kept.extend(make() for make in makers * 5)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(kept) == 484 and threads() <= before + 4


def test_views_are_read_only(run, posteriors, compact, tmp_path):
    run.export(["good film", "bad"], tmp_path / "shared.h5", no_ledger=True, labels=["pos", "neg"])
    shared, coded = nvdp.open(tmp_path / "shared.h5"), nvdp.Tokenizer(compact)(["a film"])
    for view in posteriors.mu, posteriors.logvar, posteriors.alpha, posteriors.offset, coded.ids, coded.types, coded.offset, shared.offset, shared.label:
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0
    shared.z[0] += 1  # the caller's own


def test_shared_is_a_sequence(run, tmp_path):
    run.export(["good film", "bad", "end"], tmp_path / "shared.h5", no_ledger=True, labels=["pos", "neg", "pos"], samples=2)
    with nvdp.open(tmp_path / "shared.h5") as shared:
        assert len(list(shared)) == 3 and [one.label for one in shared[1:]] == [0, 1] and shared[-1].id == 2
        assert [z.shape for z in shared[0].z] == [(10, 8)] * 2 and shared[0].log_pi is None
        np.testing.assert_array_equal(shared[-1, 1][0], shared.z[2, 1])
        for wrong in 3, -4, (0, 2):
            with pytest.raises(IndexError):
                shared[wrong]
    assert "3 texts, 2 samples each" in repr(shared) and shared.guarantee in repr(shared)
    (tmp_path / "shared.h5").unlink()
    assert "not verified" in repr(shared)
