"""Training on texts in memory, and what is done with the run; one small run for all of it."""

import ast
import json
import locale
import os
import shutil
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

import nvdp
from conftest import texts_of


def test_train(trained):
    run, told = trained
    assert run.result.task == "tsv" and run.result.method == "nvdp" and run.config.preset == "per-nat"
    assert told and {"train"} <= {one.phase for one in told} and told[-1].finished
    assert run.info.labels == ["neg", "pos"] and run.info.latent_dim == 8 and run.info.max_length == 10
    data = run.path.with_name("run.data")
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "train.jsonl").stat().st_mode) == 0o600
    rows = [json.loads(line) for line in (data / "train.jsonl").read_text().splitlines()]
    assert len(rows) == 96 and rows[0]["text"] == 'good\tfilm\n"of the day' and rows[0]["label"] in ("pos", "neg")
    found = run.evaluate(draws=2)
    assert found.scores.n == 24 and found.scores.draws == 2 and found.method == "nvdp"
    assert 0 <= found.scores.metrics.accuracy.mean <= 1
    with pytest.raises(ValueError, match="run.data"):
        nvdp.train(["a"] * 20, ["x", "y"] * 10, model="none", out=run.path)


def test_predict(run):
    found = run.predict(["good film", "bad film\n"], samples=20)
    assert [set(one) for one in found] == [{"label", "probability", "probabilities"}] * 2
    assert sum(found[0].probabilities.values()) == pytest.approx(1, abs=1e-6)
    assert found[0].probabilities.pos > found[1].probabilities.pos
    assert run.predict([]) == []
    with pytest.raises(TypeError, match=r"texts\[0\]"):
        run.predict([1])
    with pytest.raises(ValueError, match="tab"):
        run.predict(["a"], ["b"])


def test_labels_are_what_they_are(compact, tmp_path):
    """Neither numbers nor line ends, in whatever locale."""
    labels = ["nan", "\u00fc\u2028"]
    run = nvdp.train(["good film", "bad film"] * 12, labels * 12, model=compact, preset=None, method="base", epochs=1, max_length=8,
                     out=tmp_path / "run", cache=None, threads=1)  # fmt: skip
    assert set(run.predict(["good film"])[0].probabilities) == set(labels)
    program = "import nvdp, sys; print(ascii([one.label for one in nvdp.Run(sys.argv[1]).predict(['good film', 'bad film'])]))"
    plain = os.environ | {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    told = subprocess.run([sys.executable, "-c", program, run.path], env=plain, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert set(ast.literal_eval(told.stdout)) <= set(labels)


def test_posteriors_and_privacy(run):
    of_split = run.posteriors(limit=5)
    of_texts = run.posteriors(["good film", "bad film"])
    assert len(of_split) == 5 and len(of_texts) == 2 and of_texts.dim == 8 and of_texts.length == 10
    assert of_texts.offset.tolist() == [0, 4, 8] and of_texts.alpha is None
    assert of_texts.renyi(0, 1) > 0
    report = run.privacy(order=1.5, limit=6)
    assert report.n == 6 and report.order == 1.5
    assert run.privacy(["good", "bad", "film"]).n == 3


def test_export(run, tmp_path):
    path = tmp_path / "shared.h5"
    found = run.export(["good film", "bad story", "the end"], path, labels=["pos", "neg", "pos"], samples=2)
    assert found.texts == 3 and found.samples == 2 and "text" in found.statement and found.privacy.n == 3
    shared = nvdp.open(path)
    assert len(shared) == 3 and shared.z.shape == (3, 2, 10, 8) and shared.method == "nvdp"
    assert shared.label.tolist() == [1, 0, 1] and shared.log_pi is None and shared.id.tolist() == [0, 1, 2]
    z, log_pi = shared.sample(1, 1)
    assert np.shares_memory(z, shared.z) and log_pi is None
    np.testing.assert_array_equal(z, shared.z[1, 1])
    checked = shared.verify()
    assert checked.holds and checked.guarantee == found.guarantee and found.statement.startswith(found.guarantee)
    assert checked.useful is found.useful is False and checked.training_texts == found.training_texts == "maybe"
    with pytest.raises(IndexError):
        shared.sample(3)
    with pytest.raises(ValueError, match="overwrite"):
        run.export(["good"], path)
    three = ["good film", "bad story", "the end"]
    with pytest.raises(nvdp.NvdpError, match="4 including this export: 3 of its 3 texts were shared before, in .*shared.h5") as refused:
        run.export(three, tmp_path / "again.h5", samples=2)
    assert refused.value.status == "ERR_STATE" and not (tmp_path / "again.h5").exists()
    again = run.export(three, tmp_path / "again.h5", samples=2, budget_samples=4)
    assert again.spent_samples == 4 and again.statement.startswith(again.guarantee) and "4 samples" not in again.statement
    assert nvdp.open(tmp_path / "again.h5").verify().holds
    one = dict(labels=["pos", "neg", "pos"], samples=2, insecure_seed=3, overwrite=True, no_ledger=True)
    found = [nvdp.open(tmp_path / f"shared.{end}") for end in ("h5", "safetensors", "parquet")
             if run.export(["good film", "bad story", "the end"], tmp_path / f"shared.{end}", **one)]  # fmt: skip
    for other in found[1:]:
        for name in ("rows", "offset", "label", "id", "split", "log_pi"):
            np.testing.assert_array_equal(getattr(found[0], name), getattr(other, name))
        assert (other.method, other.task, other.dim, other.kappa) == (found[0].method, found[0].task, found[0].dim, found[0].kappa)
        assert [c.verdict for c in other.verify().check] == [c.verdict for c in found[0].verify().check]
    splits = run.export(out=tmp_path / "splits.h5", split="dev", limit=4, with_labels=True)
    assert splits.texts == 4 and nvdp.open(tmp_path / "splits.h5").of_split("dev").size == 4
    torch = pytest.importorskip("torch")
    items = shared.torch()
    assert len(items) == 6 and set(items[3]) == {"z", "text", "label"}
    assert torch.equal(items[3]["z"], torch.from_numpy(shared.z[1, 1])) and items[-1]["text"] == 2
    batch = next(iter(torch.utils.data.DataLoader(items, batch_size=6)))
    assert batch["z"].shape == (6, 10, 8)


def test_files_of_texts(tmp_path, monkeypatch):
    from nvdp.runs import _columns, _label

    names = {"text": "t", "label": "y"}
    want = ['two\nlines, "quoted"', "NA"], ["01", "yes"]
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfy,t\r\n01,"two\nlines, ""quoted"""\r\nyes,NA\r\n')
    (tmp_path / "a.jsonl").write_text(json.dumps({"t": want[0][0], "y": "01"}) + '\n\n{"y": "yes", "t": "NA"}\n')
    for path in (tmp_path / "a.csv", str(tmp_path / "a.jsonl")):
        assert _columns(path, None, None, names)[:2] == want
    assert _label("2.5", True, 0) == 2.5
    (tmp_path / "b.csv").write_text("t,y\na\n")
    (tmp_path / "b.jsonl").write_text('{"t": 1}\n{"t"\n')
    for name, message in (("b.csv", "b.csv:2: expected 2 columns"), ("b.jsonl", "b.jsonl:2: "), ("b.txt", "expected texts, or a file")):
        with pytest.raises(ValueError, match=message):
            _columns(tmp_path / name, None, None, names)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        _columns(tmp_path / "b.parquet", None, None, names)
    monkeypatch.undo()
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(arrow.table({"t": want[0], "y": want[1]}), tmp_path / "a.parquet")
    assert _columns(tmp_path / "a.parquet", None, None, names)[:2] == want


def test_interrupted_run_goes_on(compact, tmp_path):
    rng, seen = np.random.default_rng(3), []
    texts, labels = texts_of(rng, 64)
    same = dict(model=compact, preset=None, method="vib-fixed", epochs=2, batch=8, max_length=8, threads=1, cache=None,
                freeze_layers=2)  # fmt: skip
    whole = nvdp.train(texts, labels, out=tmp_path / "whole", **same)

    def stop(progress):
        seen.append(progress)
        if len(seen) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="nvdp.resume"):
        nvdp.train(texts, labels, out=tmp_path / "stopped", progress=stop, log_every=1, **same)
    stopped = nvdp.Run(tmp_path / "stopped")
    for use in (
        lambda: stopped.result, lambda: stopped.info, stopped.evaluate, lambda: stopped.predict(["good"]), stopped.posteriors,
        stopped.privacy, stopped.certificate, lambda: stopped.export(out=tmp_path / "shared.h5", split="dev"),
    ):  # fmt: skip
        with pytest.raises(nvdp.NvdpError, match="expected a finished run") as caught:
            use()
        assert caught.value.status == "ERR_STATE"
    again = nvdp.resume(tmp_path / "stopped", threads=1)
    assert again.result.test == whole.result.test


def test_a_failing_callback_stops(compact, tmp_path):
    def fail(_progress):
        raise RuntimeError("enough")

    texts, labels = texts_of(np.random.default_rng(4), 64)
    with pytest.raises(RuntimeError, match="enough"):
        nvdp.train(texts, labels, model=compact, out=tmp_path / "run", progress=fail, epochs=50, max_length=8, cache=None)


def test_run_with_token_noise(compact, tmp_path):
    rows = texts_of(np.random.default_rng(6), 24)
    run = nvdp.train(*rows, model=compact, out=tmp_path / "run", preset=None, token_noise="random", epochs=1, batch=8, max_length=8,
                     freeze_layers=2, cache=None, threads=1)  # fmt: skip
    assert run.privacy(limit=2).method == "random"
    assert run.predict(["good film"])[0].label in ("pos", "neg")
    with pytest.raises(nvdp.NvdpError) as caught:
        run.posteriors(["good film"])
    assert caught.value.status == "ERR_UNSUPPORTED"


def test_preset_of_the_options(compact, tmp_path):
    """The documented call needs no preset. The epoch is stopped early: the options are known by then."""

    def stop(_progress):
        raise RuntimeError("enough")

    rows = texts_of(np.random.default_rng(7), 24)
    same = dict(model=compact, method="nvdp", base_epochs=0, batch=8, max_length=8, freeze_layers=2, cache=None, threads=1, progress=stop)
    for i, (options, want) in enumerate([
        ({}, ("per-nat", 0, "inf")),
        (dict(certified_epsilon=8), ("certified", 8, pytest.approx(0.833, abs=1e-3))),
        (dict(clip_sequence=3), ("certified", 0, 3)),
        (dict(preset=None), (None, 0, "inf")),
    ]):  # fmt: skip
        with pytest.raises(RuntimeError, match="enough"):
            nvdp.train(*rows, out=tmp_path / str(i), **same, **options)
        config = json.loads((tmp_path / str(i) / "run.json").read_text())["config"]
        assert (config["preset"], config["certified_epsilon"], config["nvib"]["clip_sequence"]) == want


def test_failed_training_leaves_no_texts(compact, tmp_path):
    out, data = tmp_path / "run", tmp_path / "run.data"
    rows = texts_of(np.random.default_rng(8), 24)
    same = dict(model=compact, out=out, preset=None, method="base", epochs=1, batch=8, max_length=8, freeze_layers=2, cache=None, threads=1)
    for bad in dict(epochs=-1), dict(model=tmp_path / "none"), dict(texts=[*rows[0][:-1], 1]):
        with pytest.raises((ValueError, TypeError, nvdp.NvdpError)):
            nvdp.train(**{"texts": rows[0], "labels": rows[1], **same, **bad})
        assert not data.exists()
    nvdp.train(*rows, **same)
    kept = (data / "train.jsonl").read_text()
    for bad in dict(epochs=-1), dict(model=tmp_path / "none"):  # the old run keeps its texts
        with pytest.raises((ValueError, nvdp.NvdpError)):
            nvdp.train(["other"] * 24, rows[1], **{**same, "overwrite": True, **bad})
        assert (data / "train.jsonl").read_text() == kept and sorted(p.name for p in data.iterdir()) == ["dev.jsonl", "train.jsonl"]
    nvdp.train(["other", "words"] * 12, rows[1], **same, overwrite=True)
    assert "other" in (data / "train.jsonl").read_text() and len(list(data.iterdir())) == 2


def test_what_train_refuses(compact, tmp_path):
    out = tmp_path / "run"
    for bad, match in [
        (dict(texts=["a", "b"], labels=["x"]), "labels: expected 2"),
        (dict(texts=["a", "b"]), "labels: expected one per text"),
        (dict(texts=["a", "b"], labels=[0.5, 1.5]), "regression=True"),
        (dict(texts=["a", "b"], labels=[1, float("nan")], regression=True), "finite"),
        (dict(texts=["a", "b"], labels=["x", None], dev=(["a"], ["x"])), "expected a class"),
        (dict(texts=["a", "b"], labels=["x", "y"], dev=1.0), "share"),
        (dict(texts={"text": ["a"]}), "columns: expected label"),
        (dict(texts=["a"] * 9, labels=["x", "y", "x"] * 3, epochs=-1), "epochs"),
        (dict(texts=["a"] * 9, labels=["x", "y", "x"] * 3, no_such_option=1), "no_such_option"),
    ]:
        with pytest.raises(ValueError, match=match):
            nvdp.train(model=compact, out=out, **bad)
        out = tmp_path / f"{match[:4]}"
    with pytest.raises(TypeError, match="model"):
        nvdp.train(["a"], ["x"])
    with pytest.raises(nvdp.NvdpError) as caught:
        nvdp.Run(tmp_path / "none")
    assert caught.value.status == "ERR_IO"


def test_tables(compact, tmp_path):
    """Columns of a table and scores, of pairs, through a plan: nothing is trained."""
    from nvdp.runs import _columns, _hold_out

    table = {"text": ["a", "b", "c"], "score": [1, 2.5, 3], "other": ["d", "e", "f"]}
    names = {"text": "text", "label": "score", "pair": "other"}
    assert _columns(table, None, None, names) == (["a", "b", "c"], [1, 2.5, 3], ["d", "e", "f"])
    rest, held = _hold_out(list(range(100)), [0] * 100, None, 0.1)
    assert len(held[0]) == 10 and sorted(rest[0] + held[0]) == list(range(100)) and rest[2] is None
    pandas = pytest.importorskip("pandas")
    assert _columns(pandas.DataFrame(table), None, None, names)[2] == ["d", "e", "f"]
    assert _columns(pandas.Series(["a"]), pandas.Series([1]), None, {})[:2] == (["a"], [1])


def test_sklearn(run, compact, tmp_path):
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.estimator_checks import check_estimator

    from nvdp.sklearn import NvdpTransformer

    transformer = NvdpTransformer(run=run.path, budget_samples=2, threads=1)
    with pytest.raises(NotFittedError):
        transformer.transform(["a"])
    assert clone(transformer).get_params()["run"] == run.path
    texts = ["film good", "story bad", "day good"]
    first = transformer.fit(texts, [1, 0, 1]).transform(texts)
    assert first.shape == (3, 80) and first.dtype == np.float32 and transformer.classes_.tolist() == ["neg", "pos"]
    assert not np.array_equal(first, transformer.transform(texts))  # another release
    assert "one sample, is proven for any two texts" in transformer.statement_  # of one row: the ledger has the sums
    with pytest.raises(nvdp.NvdpError, match="expected in total at most 2 samples"):
        transformer.transform(texts)
    check_estimator(NvdpTransformer())


@pytest.fixture
def decimal_comma(tmp_path, monkeypatch):
    """As graphical programs have it from the user's environment."""
    before = locale.setlocale(locale.LC_NUMERIC)
    if shutil.which("localedef"):
        made = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")]
        if subprocess.run(made, stderr=subprocess.DEVNULL).returncode == 0:
            monkeypatch.setenv("LOCPATH", str(tmp_path))
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "it_IT.UTF-8", "ru_RU.UTF-8"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
            break
        except locale.Error:
            continue
    else:
        pytest.skip("no locale with a decimal comma")
    yield
    locale.setlocale(locale.LC_NUMERIC, before)


def test_numbers_have_points(run, tmp_path, decimal_comma):
    assert run.privacy(order=1.5).order == 1.5
    out = tmp_path / "shared.safetensors"
    assert "a grid of 0.00" in run.export(split="dev", out=out, ledger=tmp_path / "ledger").statement
    assert nvdp.open(out).verify().holds


@pytest.mark.parametrize(
    "options",
    [dict(), dict(clip_mu=0.05), dict(preset=None, method="nvdp", kappa=2, length_policy="public"), dict(preset=None, method="vib-learned"),
     dict(preset=None, method="vib-fixed", clip_sequence=1.5), dict(preset=None, method="nvdp", clip_sequence=1.5),
     dict(preset=None, method="vtdp"), dict(preset=None, method="vtdp", vtdp_pool="first", latent_dim=16)],
)  # fmt: skip
def test_bottleneck_in_torch(options, run, compact, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import nvdp.nvib

    texts = ["good film", "a bad story of the end", "day"]
    if options:
        rows = texts_of(np.random.default_rng(5), 32)
        run = nvdp.train(*rows, model=compact, out=tmp_path / "run", epochs=1, batch=8, max_length=10, cache=None, threads=1,
                         lr=1e-3, **options)  # fmt: skip
    encoder = transformers.AutoModel.from_pretrained(run.path / "model").eval()
    coded = run.tokenizer(texts, max_length=10)
    n = np.diff(coded.offset.astype(int))
    ids, mask = np.zeros((3, n.max()), np.int64), np.arange(n.max()) < n[:, None]
    ids[mask] = coded.ids
    mask = torch.from_numpy(mask)
    bottleneck = nvdp.nvib.Bottleneck(run.path)
    with torch.no_grad():
        hidden = encoder(torch.from_numpy(ids), attention_mask=mask).last_hidden_state
        found = bottleneck(hidden, mask)
    want, rows = run.posteriors(texts), found.mask
    # float32 states of two programs, 1e-5 apart after four layers of sums; the bottleneck itself adds 1e-6
    np.testing.assert_allclose(found.mu[rows].numpy(), want.mu, rtol=1e-5, atol=3e-5)
    np.testing.assert_allclose(found.logvar[rows].numpy(), want.logvar, rtol=1e-5, atol=3e-5)
    assert (found.alpha is None) == (want.alpha is None)
    if want.alpha is not None:
        np.testing.assert_allclose(found.alpha[rows].numpy(), want.alpha, rtol=1e-4)
    sample = bottleneck(hidden, mask)
    z, log_pi, there = sample.sample(torch.Generator().manual_seed(1))
    assert z.shape[:2] == there.shape and z.shape[2] == bottleneck.dim
    if log_pi is not None:
        assert torch.allclose(log_pi.exp().sum(1), torch.ones(3), atol=1e-5)
    z.square().sum().backward()
    assert bottleneck.mu_weight.grad.abs().sum() > 0
    draws = torch.stack([found.sample()[0] for _ in range(2000)])
    own = draws[:, 0][:, there[0]]
    prior = 0 if want.alpha is None else bottleneck.kappa
    first = own[:, prior]
    deviation = torch.exp(found.logvar[0, 0] / 2)
    assert ((first.mean(0) - found.mu[0, 0]).abs() < 5 * deviation / 2000**0.5).all()  # false alarms: 5e-6
    assert ((first.std(0) / deviation - 1).abs() < 0.1).all()


def test_certificate(run):
    assert run.training_privacy is None
    assert run.measurements == []
    (run.path / "privacy-limit-5.json").write_text('{"n": 5, "complete": false, "settings": {"limit": "5"}}')
    (run.path / "privacy.json").write_text('{"n": 8, "complete": true, "settings": {}}')
    assert [(one.file, one.complete, one.texts) for one in run.measurements] == [
        ("privacy.json", True, 8), ("privacy-limit-5.json", False, 5)]
    (run.path / "privacy-limit-5.json").unlink(), (run.path / "privacy.json").unlink()
    assert run.guarantee.startswith(("No guarantee", "Proven: ", "No useful")) and run.guarantee in repr(run)
    found = run.certificate(delta=1e-5)
    assert found.theorem == "c" and found.delta == 1e-5 and found.statement  # the preset clips every row
    assert found.epsilon > run.posteriors(["good film", "bad end"]).exact(0, 1).epsilon(1e-5)


def test_training_privacy(compact, tmp_path):
    run = nvdp.train(*texts_of(np.random.default_rng(7), 24), model=compact, out=tmp_path / "run", method="base", target_epsilon=8, dp_batch=8,
                     epochs=1, cache=None, threads=1)  # fmt: skip
    risk = run.training_privacy.risk
    assert [one.baseline for one in risk.guess] == [0.5, 0.001] and all(one.bound > one.baseline for one in risk.guess)
    own = nvdp.Accountant([tuple(run.training_privacy.steps.values())]).risk(risk.delta)
    assert (own.mu, own.membership) == pytest.approx((risk.mu, risk.membership))
    assert [one.bound for one in own.guess] == pytest.approx([one.bound for one in risk.guess])


def test_options_and_presets():
    known = nvdp.presets()
    assert known["per-nat"].description.startswith("a price") and set(known) >= {"certified", "word"}
    assert known["certified"].options.certified_epsilon == 8 and known["certified"].options.lambda_ == 0 and dict(known["certified"].options)["pool"] == "first"
    rows = {one.name: one for one in nvdp.options()}
    assert rows["epochs"].default_value == "10" and rows["epochs"].type == "integer" and rows["epochs"].help
    assert not any(" --" in f" {one.help}" for kind in ("train", "export", "privacy") for one in nvdp.options(kind))
    with pytest.raises(ValueError, match="kind"):
        nvdp.options("nothing")


def test_method_word_needs_no_preset(compact, tmp_path):
    rows = texts_of(np.random.default_rng(7), 24)
    for i, options in enumerate(({"method": "word"}, {"method": "word", "word_epsilon": 4, "certified_epsilon": 100})):
        nvdp.train(*rows, model=compact, out=tmp_path / str(i), epochs=1, batch=8, cache=None, threads=1, **options)
        config = json.loads((tmp_path / str(i) / "run.json").read_text())["config"]
        assert (config["preset"], config["method"]) == ("word", "word")


def test_result_fields():
    rows = {one.name: one for one in nvdp.result_fields("train")}
    assert rows["loss_g"].unit == "nats" and rows["epochs_run"].help
    assert rows["test.n"].unit == "texts" and rows["test.metrics.interval"].unit == ""
    with pytest.raises(ValueError, match="result"):
        nvdp.result_fields("nothing")
