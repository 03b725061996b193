"""Wrong arguments: each gets an error that names it, and none makes the interpreter crash."""

import dataclasses
import json
import math
import pickle
import time
import typing
import warnings

import numpy as np
import pytest

import nvdp
from conftest import texts_of


@pytest.fixture(scope="module")
def options(compact):
    """For a run of a second."""
    return dict(model=compact, preset=None, method="base", epochs=1, batch=8, max_length=8, freeze_layers=2, cache=None, threads=1)


WRONG_LISTS = ["good film", b"good film", 5, 1.5, {"text": ["a"]}, {"a", "b"}, object(), [1], ["a", None], [["a"]], np.array("a"), [b"a"]]


@pytest.mark.parametrize("texts", WRONG_LISTS, ids=repr)
def test_no_text_is_read_by_letters(run, compact, tmp_path, texts, options):
    """One str where a list is expected would be released letter by letter."""
    encoder, tokenizer = nvdp.Encoder(compact, threads=1), nvdp.Tokenizer(compact)
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 0 0\ndog 0 1\n")
    sanitizer = nvdp.Sanitizer(vectors=vectors, mechanism="santext", eta=20.0)
    out = tmp_path / "shared.h5"
    uses = [run.predict, run.posteriors, run.privacy, lambda x: run.export(x, out), tokenizer, encoder.states, sanitizer.sanitize,
            lambda x: run.predict(["a"], x), lambda x: tokenizer(["a"], x), lambda x: encoder.encode(["a"], x),
            lambda x: run.export(["a"], out, pairs=x), lambda x: run.evaluate(["a"], ["pos"], x)]  # fmt: skip
    if not isinstance(texts, str):  # one text, and a split
        uses += [encoder.encode, lambda x: run.evaluate(x, ["pos"])]
    for i, use in enumerate(uses):
        with pytest.raises(TypeError, match="(texts|pairs).*expected (a list of )?str"):
            print(i, use(texts))
    assert not out.exists()
    rows = texts_of(np.random.default_rng(1), 12)
    with pytest.raises((TypeError, ValueError)):
        nvdp.train(texts, rows[1], out=tmp_path / "run", **options)
    with pytest.raises((TypeError, ValueError)):
        nvdp.train(*rows, dev=(texts, ["pos"]), out=tmp_path / "run", **options)
    for name in "labels", "pairs":
        with pytest.raises((TypeError, ValueError), match=name):
            nvdp.train(**{"texts": rows[0], "labels": rows[1], name: texts}, out=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists() and not (tmp_path / "run.data").exists()


def test_pairs_for_a_run_on_single_texts(run, tmp_path):
    two = ["good film"], ["bad end"]
    for use in (run.predict, run.posteriors, run.privacy, lambda *x: run.evaluate(x[0], ["pos"], x[1]),
                lambda *x: run.export(x[0], tmp_path / "a.h5", pairs=x[1])):  # fmt: skip
        with pytest.raises(ValueError, match="^pairs: expected none, as the run reads single texts"):
            use(*two)
        with pytest.raises(ValueError, match="^pairs: expected 1 as texts, found 2|^pairs: expected none"):
            use(two[0], two[1] * 2)


def test_run_on_pairs(tmp_path, options):
    """The loaded model and the program's function read pairs alike; single texts and regression too."""
    texts, labels = texts_of(np.random.default_rng(1), 24)
    run = nvdp.train(texts, labels, pairs=texts[::-1], out=tmp_path / "run", **options)
    settings = {"samples": 5, "probabilities": True, "seed": 1, "batch": 32}
    want = [json.loads(line) for line in run._lines_of_file(texts[:3], texts[3:6], settings).splitlines()]
    assert [dict(one, index=i) for i, one in enumerate(run.predict(texts[:3], texts[3:6]))] == want
    assert run.evaluate(texts, labels, texts).scores.n == 24
    for use in run.predict, lambda x: run.evaluate(x, labels), lambda x: run.export(x, tmp_path / "a.h5"):
        with pytest.raises(ValueError, match="^pairs: expected a second text for each text"):
            use(texts)
    scores = nvdp.train(texts, [i / 4 for i in range(24)], regression=True, out=tmp_path / "scores", **options)
    want = [json.loads(line)["score"] for line in scores._lines_of_file(texts, None, settings).splitlines()]
    assert [one.score for one in scores.predict(texts)] == want and scores.evaluate(texts, list(range(24))).scores.n == 24


def test_nothing_to_do(run, compact, tmp_path, options):
    assert run.predict([]) == [] and len(run.posteriors([])) == 0
    assert nvdp.Encoder(compact, threads=1).states([]) == [] and nvdp.Tokenizer(compact)([]).ids.size == 0
    for use in run.privacy, lambda x: run.export(x, tmp_path / "a.h5"), lambda x: run.evaluate(x, []), lambda x: nvdp.train(x, [], **options):
        with pytest.raises(ValueError, match="texts: expected at least one text, found none"):
            use([])
    with pytest.raises(ValueError, match="^mu: expected a list with"):
        nvdp.Posteriors([], [])
    with pytest.raises(TypeError, match="^mu: expected a list of arrays, found int"):
        nvdp.Posteriors(5, 5)


@pytest.mark.parametrize("labels", [[1.0, 0.0, math.nan] * 4, np.array([1, 0, np.nan] * 4, np.float32), [True, False, None] * 4], ids=str)
def test_the_row_of_a_missing_label_is_named(labels, tmp_path, options):
    """pandas turns a column of int with a missing label into floats: its first row is not at fault."""
    with pytest.raises(ValueError, match=r"^labels\[2\]: expected a class.*never a class"):
        nvdp.train(["film"] * 12, labels, out=tmp_path / "run", **options)


@pytest.mark.parametrize("wrong", [None, math.nan, np.nan, np.float64("nan"), np.datetime64("NaT"), ["a"], ("a",), {}, b"a", "", 1.0, 1j,
                                   "pandas.NA", "pandas.NaT", "torch.nan"], ids=repr)  # fmt: skip
def test_unlabelled_rows_are_no_class(wrong, run, tmp_path, options):
    if isinstance(wrong, str) and wrong:
        module, name = wrong.split(".")
        wrong = getattr(pytest.importorskip(module), name)
    out = tmp_path / "run"
    for labels in (["x", wrong] * 6, [1, wrong] * 6, [wrong] * 12):
        first = [i for i, label in enumerate(labels) if label is wrong][0]
        with pytest.raises(ValueError, match=rf"^labels\[{first}\]: expected a class.*never a class"):
            nvdp.train(["film"] * 12, labels, out=out, **options)
        with pytest.raises(ValueError, match=r"^labels\[0\]"):
            nvdp.train(["film"] * 12, ["x", "y"] * 6, dev=(["a"] * 2, [wrong] * 2), out=out, **options)
    for use in run.evaluate, lambda *x: run.export(x[0], tmp_path / "a.h5", labels=x[1]):
        with pytest.raises(ValueError, match=r"^labels\[1\]"):
            use(["a", "b"], ["pos", wrong])
        with pytest.raises(ValueError, match=r"^labels\[1\]: expected one of neg, pos, found 'good'"):
            use(["a", "b"], ["pos", "good"])
    assert not any(tmp_path.iterdir())


def test_class_labels_of_datasets(tmp_path, options):
    """As datasets has them: numbers and names; -1 is a row without a label, not the last class."""

    class Labels:
        names = ["bad", "good"]

    class Table(dict):
        column_names = ["text", "label"]
        features = {"label": Labels()}

    from nvdp.runs import _columns

    names = {"text": "text", "label": "label"}
    assert _columns(Table(text=["a", "b"], label=[1, 0]), None, None, names)[1] == ["good", "bad"]
    class Column(list):
        source, column_name = Table(), "label"

    for wrong in -1, 2, None, 0.0:
        with pytest.raises(ValueError, match=r"labels\[1\]: expected a class from 0 to 1, found"):
            nvdp.train(["a"] * 4, Column([0, wrong, 1, 1]), out=tmp_path / "run", **options)
        with pytest.raises(ValueError, match=r"labels\[1\]: expected a class from 0 to 1, found"):
            nvdp.train(Table(text=["a"] * 4, label=[0, wrong, 1, 1]), out=tmp_path / "run", **options)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("classes", [[2, 10, -1], [False, True], ["10", "2"], [np.int64(3), np.int64(20)], [np.bool_(0), np.bool_(1)]])
def test_labels_come_back_as_they_are(classes, tmp_path, options):
    """int, bool and str; numbers in numeric order."""
    labels = list(classes) * 12
    run = nvdp.train(["good film"] * len(labels), labels, out=tmp_path / "run", **options)
    plain = [one.item() if hasattr(one, "item") else one for one in classes]
    for opened in run, nvdp.Run(run.path), pickle.loads(pickle.dumps(run)):
        assert opened.info.labels == sorted(plain, key=int) and {type(one) for one in opened.info.labels} == {type(plain[0])}
        found = opened.predict(["good film"])[0]
        assert found.label in plain and type(found.label) is type(plain[0]) and list(found.probabilities) == sorted(plain, key=int)
    assert run.evaluate(["good film"] * 2, list(classes)[:2]).scores.n == 2
    with pytest.raises(ValueError, match="^labels.*one type"):
        nvdp.train(["good film"] * 4, [1, "1", 2, 3], out=tmp_path / "mixed", **options)
    with pytest.raises(ValueError, match="^dev: expected labels of type"):
        nvdp.train(["good film"] * 4, [1, 2] * 2, dev=(["a"], ["1"]), out=tmp_path / "mixed", **options)
    assert not (tmp_path / "mixed.data").exists()
    texts = nvdp.train(["good film", "bad"] * 6, ["1", "2"] * 6, out=tmp_path / "run", overwrite=True, **options)
    assert texts.info.labels == ["1", "2"] and texts.predict(["bad"])[0].label in ("1", "2")
    assert run.info.labels == ["1", "2"]  # reads the model of the directory again


@pytest.mark.parametrize("wrong", [5, "yes", lambda: None, lambda a, b: None, [], object()], ids=repr)
def test_wrong_callbacks(wrong, tmp_path, options):
    rows = texts_of(np.random.default_rng(1), 12)
    for use in (lambda: nvdp.train(*rows, out=tmp_path / "run", progress=wrong, **options),
                lambda: nvdp.train(task="sst2", data=tmp_path, out=tmp_path / "run", progress=wrong, **options),
                lambda: nvdp.resume(tmp_path / "run", progress=wrong),
                lambda: nvdp.sanitize(out=tmp_path / "private.txt", text="none", progress=wrong)):  # fmt: skip
        with pytest.raises(TypeError, match="^progress: expected .*a function of one record"):
            use()
    assert not any(tmp_path.iterdir())


def test_near_names(run, posteriors, compact, tmp_path, options):
    rows = texts_of(np.random.default_rng(1), 12)
    for use, near in [
        (lambda: posteriors.privacy(max_pair=3), "max_pairs"),
        (lambda: posteriors.pairs(adjacensy="all"), "adjacency"),
        (lambda: nvdp.train(*rows, out=tmp_path / "run", epoch=3, **options), "epochs"),
        (lambda: nvdp.train(*rows, out=tmp_path / "run", progressx=True, **options), "progress"),
        (lambda: nvdp.train(*rows, out=tmp_path / "run", text_colum="a", **options), "text_column"),
        (lambda: run.export(["a"], tmp_path / "a.h5", budget_sample=2), "budget_samples"),
        (lambda: nvdp.Encoder(compact, max_lenght=3), "max_length"),
    ]:
        with pytest.raises(ValueError, match=f"unknown option '.*did you mean '{near}'"):
            use()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x.npz", "x.csv", "x.pt", "x.npy", "x.h5.gz"])
def test_unknown_formats(run, tmp_path, name):
    with pytest.raises(ValueError, match=r"expected the ending .h5, .safetensors or .parquet, found"):
        run.export(["good"], tmp_path / name)
    assert not any(tmp_path.iterdir())


def test_errors_have_no_dashes(run, posteriors, compact, tmp_path, options):
    """Options are named as in Python, in errors of every kind of work."""
    shutil_rows = texts_of(np.random.default_rng(1), 12)
    shared = tmp_path / "shared.h5"
    run.export(["good film"], shared, no_ledger=True)
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "run.json").write_text((run.path / "run.json").read_text())
    begun = nvdp.Run(tmp_path / "begun")
    for use in [
        lambda: run.export(["good film"], shared, no_ledger=True),
        lambda: run.export(["good film"], tmp_path / "b.h5", budget_epsilon=-1),
        lambda: begun.evaluate(), lambda: begun.predict(["a"]), lambda: begun.export(["a"], tmp_path / "b.h5"), lambda: begun.result,
        lambda: begun.guarantee, lambda: begun.posteriors(["a"]), lambda: begun.certificate(),
        lambda: posteriors.privacy(max_pairs="many"), lambda: posteriors.privacy(pair="9,9"), lambda: posteriors.privacy(order=0),
        lambda: run.certificate(delta=2), lambda: run.evaluate("nothing"), lambda: run.evaluate(draws=0),
        lambda: nvdp.train(*shutil_rows, **{**options, "out": tmp_path / "run", "max_length": 10000}),
        lambda: nvdp.train(*shutil_rows, **{**options, "out": tmp_path / "run", "folds": 3}),
        lambda: nvdp.train(*shutil_rows, **{**options, "out": tmp_path / "run", "class_weights": "1"}),
        lambda: nvdp.train(*shutil_rows, **{**options, "out": tmp_path / "run", "method": "nvdp", "dp_noise": 1, "dp_clip": math.inf}),
        lambda: nvdp.train(*shutil_rows, **{**options, "out": run.path, "overwrite": False}),
        lambda: nvdp.Sanitizer(model=compact, mechanism="santext"), lambda: nvdp.Sanitizer(vectors="none.txt", mechanism="none"),
        lambda: nvdp.sanitize(out=shared, text=shared, mechanism="santext", eta=1.0, model=compact),
        lambda: nvdp.text_privacy(), lambda: nvdp.account(-1, 2, 3, 4),
    ]:  # fmt: skip
        with pytest.raises(nvdp.NvdpError) as caught:
            print(use())
        assert " --" not in f" {caught.value}" and "{" not in str(caught.value), caught.value


def calls(compact, posteriors, tmp_path):
    """Public functions of plain values, none of which writes a file or works for long."""
    loss = nvdp.ExactLoss([0.5, 1.0], [1.0, 1.2], [0.0, 0.0], [1.0, 1.0])
    mechanism = nvdp.Mechanism(np.eye(4), "santext", 2.0)
    plain = nvdp.Mechanism(np.eye(4), "laplace", 2.0)
    tokenizer, encoder = nvdp.Tokenizer(compact), nvdp.Encoder(compact, threads=1)
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 0 0\ndog 0 1\n")
    sanitizer = nvdp.Sanitizer(vectors=vectors, mechanism="santext", eta=20.0)
    accountant = nvdp.Accountant([(1.0, 0.1, 10)], accountant="rdp")
    return [
        nvdp.renyi_gaussian, nvdp.renyi_dirichlet, nvdp.renyi_discrete, nvdp.renyi_laplace, nvdp.renyi_sequence_bound,
        nvdp.renyi_epsilon, nvdp.renyi_probability_bound, nvdp.gdp_delta, nvdp.gdp_epsilon, nvdp.gdp_mu, nvdp.guess_bound, nvdp.guess_attribute,
        nvdp.guess_clip, nvdp.ExactLoss, nvdp.bdp, nvdp.bdp_subsampled, nvdp.Accountant, nvdp.audit, nvdp.options, nvdp.result_fields,
        nvdp.Posteriors, nvdp.Posteriors.open, nvdp.Run, nvdp.open, nvdp.Tokenizer, nvdp.Encoder, nvdp.Mechanism,
        loss.point, loss.delta, loss.epsilon, loss.trade_off, loss.gdp, tokenizer, tokenizer.id, tokenizer.special, tokenizer.pieces,
        tokenizer.encode, encoder.encode, encoder.states, mechanism.log_probabilities, mechanism.sample, plain.perturb,
        mechanism.divergence, mechanism.epsilon, mechanism.delta, mechanism.inversion, sanitizer.tokens, sanitizer.text, sanitizer.word,
        sanitizer.find, sanitizer.sanitize, accountant.epsilon, accountant.risk, posteriors.renyi, posteriors.exact, posteriors.pairs,
        nvdp.PrivateEncoder, nvdp.PrivateEncoder.from_pretrained, nvdp.PrivateEncoder(compact).encode, tokenizer.decode, tokenizer.batch_decode,
        lambda *a: list(encoder.encode_iter(a[0])), lambda *a: tokenizer(a[0], padding=a[-1]), lambda *a: nvdp.TrainingOptions(epochs=a[0], lr=a[-1]),
        lambda *a: encoder.encode(a[0], batch_size=a[-1]),
        lambda *a: mechanism.distances(prior=a[0]), lambda *a: posteriors.privacy(order=a[0]), lambda *a: posteriors.linkage(seed=a[0]),
    ]  # fmt: skip


def test_no_input_crashes(compact, posteriors, tmp_path):
    """10,000 calls with arguments of any type: a result, or a Python exception."""
    rng = np.random.default_rng(7)
    values = [None, True, False, 0, 1, -1, 3, 2**31, 2**63, -(2**70), 0.0, 0.5, -0.5, 1.0, 2.5, 1e-300, 1e300, math.inf, -math.inf, math.nan,
              1j, "", "a", "good film", "\0", "\ud800", "a\tb\n", "\u00fc" * 300, b"", b"a\xff", [], [[]], [0], [1.0, 2.0], [0.5, 0.5],
              [1, "a"], ["a"], ["a", "b"], [None], [[0, 1], [2, 3]], [[1.0], [2.0, 3.0]], [math.nan], (), (1, 2), {}, {"a": 1}, {1}, object(),
              np.zeros(0), np.ones(2), np.ones((2, 2)), np.ones((2, 0)), np.zeros((3, 2, 2)), np.float32(1), np.int64(-5), np.bool_(1),
              np.array("a"), np.array(["a", "b"]), np.array([None]), np.array(5), np.arange(3), np.arange(6.0)[::-2], np.asfortranarray(np.eye(3)),
              np.array([1e308, -1e308]), np.array([3, -1, 99]), range(3), iter([1, 2]), (x for x in "ab"), len, int, "/", ".", "/no/such",
              ["train"], "train", "privacy", "santext", "cls", slice(1), Ellipsis, np.ma.masked, np.datetime64("NaT"), [2**40], [-(2**40)],
              memoryview(b"ab"), bytearray(b"a"), 10**400, [[(1.0, 0.1, 10)]], [(1.0, 0.1, 10)], [(1, 2)]]  # fmt: skip
    functions, start, failed, done = calls(compact, posteriors, tmp_path), time.monotonic(), 0, 0
    before = sorted(tmp_path.iterdir())
    for i in range(10000):
        function = functions[i % len(functions)]
        arguments = [values[k] for k in rng.integers(len(values), size=rng.integers(1, 6))]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*arguments)
        except Exception as reason:
            assert str(reason) or isinstance(reason, (IndexError, StopIteration, MemoryError)), (function, arguments)
            failed += 1
        done += 1
    assert done == 10000 and failed < done and sorted(tmp_path.iterdir()) == before
    assert time.monotonic() - start < 60  # 20 s on an idle machine
    assert nvdp.gdp_delta(1.0, 1.0) == pytest.approx(0.1269367) and posteriors.exact(0, 1).epsilon(1e-5) > 0
    with pytest.raises(TypeError, match="prior: expected"):
        nvdp.Mechanism(np.eye(4), "santext", 2.0).inversion(None)


def test_training_options(tmp_path, options):
    """Made of the option table: every option, with the type of its row, and lambda_ for lambda."""
    rows = {one.name.replace("-", "_"): one for one in nvdp.options("train")}
    fields = {one.name: one for one in dataclasses.fields(nvdp.TrainingOptions)}
    assert set(rows) - set(fields) == {"lambda"} and set(fields) - set(rows) == {"lambda_"}
    assert typing.get_args(fields["epochs"].type) == (int, type(None)) and fields["epochs"].metadata["default_value"] == rows["epochs"].default_value
    for name, row in rows.items():
        told = fields["lambda_" if name == "lambda" else name].metadata
        assert all(told[key] == row[key] for key in ("unit", "min", "max")) and told["default_value"] in (row.default_value, None)
    made = nvdp.TrainingOptions(epochs=2, lr=1e-3, clip_mu="inf", overwrite=True, method="nvdp")
    assert dict(made) == {"epochs": 2, "lr": 1e-3, "clip_mu": "inf", "overwrite": True, "method": "nvdp"}
    assert pickle.loads(pickle.dumps(made)) == made and "epochs=2" in repr(made)
    for wrong in dict(epochs=-1), dict(epochs=1.5), dict(method="none"), dict(overwrite="maybe"), dict(lr="fast"):
        with pytest.raises(ValueError, match=f"option {list(wrong)[0]}: expected "):
            nvdp.TrainingOptions(**wrong)
    with pytest.raises(TypeError, match="epochz"):
        nvdp.TrainingOptions(epochz=1)
    assert dict(nvdp.TrainingOptions(lambda_=0.5)) == {"lambda_": 0.5}
    with pytest.raises(ValueError, match="^option lambda_: expected a number"):
        nvdp.TrainingOptions(lambda_="x")
    rows = texts_of(np.random.default_rng(1), 12)
    run = nvdp.train(*rows, out=tmp_path / "run", **nvdp.TrainingOptions(**{**options, "model": str(options["model"])}))
    assert run.config.epochs == 1 and run.config.method == "base"
