import json
import os
import queue
import shutil
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nvdp

def test_tokenizer(compact):
    tokenizer = nvdp.Tokenizer(compact)
    ids = tokenizer.encode("A film.")
    assert ids.dtype == np.int32 and ids[0] == tokenizer.special("cls") and ids[-1] == tokenizer.special("sep")
    assert tokenizer.pieces(ids)[1:3] == ["a", "film"] and tokenizer.id("film") == ids[2]
    both = tokenizer(["a film", "a"], ["the end", "of it all"], max_length=6)
    assert both.offset.tolist() == [0, 6, 12] and both.truncated == 2 and both.longest == 6
    assert both.types.tolist()[:6] == [0, 0, 0, 1, 1, 1]
    del tokenizer
    assert both.ids.size == 12  # lives on
    assert len(nvdp.Tokenizer(compact).encode("nul\0 \ud800 end")) >= 4
    assert nvdp.Tokenizer(compact).encode("a\0b").tolist() == nvdp.Tokenizer(compact).encode("ab").tolist()


def test_padded_tokens(compact):
    tokenizer = nvdp.Tokenizer(compact)
    found = tokenizer(["a film", "the end of the film"], padding=True)
    assert list(found) == ["input_ids", "attention_mask", "token_type_ids"] and found.input_ids.shape == (2, 7) and found.input_ids.dtype == np.int64
    assert found.input_ids[0].tolist() == [*tokenizer.encode("a film").tolist(), *[tokenizer.special("pad")] * 3]
    assert found.attention_mask.tolist() == [[1] * 4 + [0] * 3, [1] * 7]
    assert tokenizer(["a film"], ["end"], 12, padding="max_length").token_type_ids.tolist() == [[0] * 4 + [1] * 2 + [0] * 6]
    assert tokenizer([], padding=True).input_ids.shape[0] == 0
    with pytest.raises(ValueError, match="truncation: expected texts of at most 4 tokens, found 1 longer"):
        tokenizer(["a film", "the end of the film"], max_length=4, truncation=False)
    for wrong in dict(padding="left"), dict(return_tensors="tf", padding=True), dict(return_tensors="np"):
        with pytest.raises(ValueError, match=list(wrong)[0]):
            tokenizer(["a"], **wrong)
    torch = pytest.importorskip("torch")
    assert tokenizer(["a film"], padding=True, return_tensors="pt").input_ids.dtype == torch.int64


def test_decode(compact, tmp_path):
    tokenizer = nvdp.Tokenizer(compact)
    ids = tokenizer.encode("A film's end, isn't it?")
    assert tokenizer.decode(ids, skip_special_tokens=True).replace("##", "") == "a film's end, isn't it?"
    assert tokenizer.decode(ids).startswith("[CLS] a film") and tokenizer.decode([]) == ""
    assert tokenizer.batch_decode(tokenizer(["good film", "the end"], padding=True).input_ids, True) == ["good film", "the end"]
    from nvdp.tokenizer import _LETTERS

    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *_LETTERS, "\u0120a"]
    assert len(_LETTERS) == 256 and sorted(_LETTERS.values()) == list(range(256)) and _LETTERS["\u0120"] == ord(" ")
    (tmp_path / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n\u0120 a\n")
    bytes_ = nvdp.Tokenizer(tmp_path)
    text = "ab a \u00fcc"
    assert bytes_.decode(bytes_.encode(text), skip_special_tokens=True) == text
    with pytest.raises(IndexError):
        tokenizer.decode([10**6])


def test_tokenizer_refuses(compact, tmp_path):
    with pytest.raises(nvdp.NvdpError, match="vocab.txt") as caught:
        nvdp.Tokenizer(tmp_path)
    assert caught.value.status == "ERR_IO"
    with pytest.raises(TypeError, match=r"texts\[1\]: expected str, found float"):
        nvdp.Tokenizer(compact)(["a", float("nan")])
    with pytest.raises(TypeError, match="one str"):
        nvdp.Tokenizer(compact)("a")
    with pytest.raises(ValueError, match="max_length"):
        nvdp.Tokenizer(compact)(["a"], max_length=1)
    with pytest.raises(IndexError):
        nvdp.Tokenizer(compact).pieces([-1])


def test_mechanism(rng):
    vectors = rng.normal(size=(30, 4))
    mechanism = nvdp.Mechanism(vectors, "santext", 3.0)
    distance = np.linalg.norm(vectors[:, None] - vectors, axis=-1)
    expected = -1.5 * distance - np.log(np.exp(-1.5 * distance).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(mechanism.log_probabilities(range(30)), expected, atol=1e-12)
    ratio = nvdp.renyi_discrete(1.1, expected[3], expected[7])
    assert mechanism.divergence([3, 3], [7, 7]) == pytest.approx(2 * ratio, rel=1e-9)
    found = mechanism.distances()
    apart = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    assert found.tokens == 30 and list(found.k[: found.neighbors]) == [*range(1, 11), 20, 29]
    np.testing.assert_allclose(found.mean[: found.neighbors], np.sort(apart)[:, found.k[: found.neighbors]].mean(axis=0), rtol=1e-9)
    found = mechanism.deniability(draws=200)
    assert found.inputs == 30 and found.n_w.mean == pytest.approx(np.exp(np.diag(expected)).mean(), rel=1e-9)
    assert found.h_inf.mean == pytest.approx(-np.diag(expected).mean(), rel=1e-9) and 1 <= found.s_w.q05 <= found.s_w.q95 <= 30
    prior = np.arange(30.0)
    best = (prior[:, None] * np.exp(expected)).max(axis=0).sum() / prior.sum()
    assert mechanism.inversion(prior).bayes == pytest.approx(best, rel=1e-9)
    with pytest.raises(nvdp.NvdpValueError, match="sum of 0"):
        mechanism.distances(prior=np.zeros(30))
    low, high = mechanism.epsilon([3], [7], 1e-5)
    assert 0 < low <= high < 3 * distance[3, 7]
    assert mechanism.delta([3], [7], high)[0] <= 1e-5
    draws = mechanism.sample([[3, 7], [3]], insecure_seed=4)
    assert [len(row) for row in draws] == [2, 1]
    assert mechanism.sample([3], insecure_seed=4, first=1).tolist() == draws[1].tolist()
    assert nvdp.Mechanism(vectors, "laplace", 3.0).perturb([1, 2]).shape == (2, 4)
    counts = np.bincount(mechanism.sample(np.full(20000, 3), insecure_seed=1), minlength=30) / 20000
    assert np.abs(counts - np.exp(expected[3])).max() < 0.02  # 5.6 standard deviations of the likeliest
    with pytest.raises(nvdp.NvdpError) as caught:
        nvdp.Mechanism(vectors, "laplace", 3.0).sample([1])
    assert caught.value.status == "ERR_UNSUPPORTED"
    with pytest.raises(ValueError, match="mechanism"):
        nvdp.Mechanism(vectors, "none")


def test_sanitizer(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("cat 0 0\ndog 0 1\ncar 50 0\n")
    sanitizer = nvdp.Sanitizer(vectors=path, mechanism="santext", eta=20.0)
    assert sanitizer.info.tokens == 3 and sanitizer.word(2) == "car" and sanitizer.find("dog") == 1
    assert sanitizer.tokens("car cat plane").tolist() == [2, 0, -1]
    assert sanitizer.sanitize(["car car", ""], insecure_seed=1) == ["car car", ""]  # the next is e^-500 as likely
    public = tmp_path / "public.txt"
    public.write_text("cat\na car, a dog\n")
    chosen = nvdp.Sanitizer(vectors=path, mechanism="santext", eta=20.0, vocabulary_from=str(public))
    assert chosen.tokens("car dog").tolist() == [2, 1]
    with pytest.raises(nvdp.NvdpValueError, match="vocabulary_from: .*private texts among them.*public_independent"):
        chosen.sanitize(["dog", " CAT "])
    declared = nvdp.Sanitizer(vectors=path, mechanism="santext", eta=20.0, vocabulary_from=str(public), public_independent=True)
    assert declared.sanitize(["CAT"], insecure_seed=1) == chosen.sanitize(["cat cat"], insecure_seed=1)[0].split()[:1]
    with pytest.raises(nvdp.NvdpError, match="none.txt"):
        nvdp.Sanitizer(vectors=tmp_path / "none.txt", mechanism="santext", eta=1.0)


def test_sanitized_pieces_are_joined_as_the_decoder_does(compact, tmp_path):
    """Pieces of other scripts come from the encoder's vocabulary alone."""
    for name in "config.json", "tokenizer_config.json", "model.safetensors":
        shutil.copy(compact / name, tmp_path)
    vocabulary = (compact / "vocab.txt").read_text("utf-8").splitlines()
    vocabulary[-2:] = ["##\u0279", "\u0924"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary) + "\n", "utf-8")
    words, tokenizer = ["a great film, isn't it? it's good."], nvdp.Tokenizer(tmp_path)
    sanitizer = nvdp.Sanitizer(model=tmp_path, mechanism="santext", eta=1e4)
    assert sanitizer.sanitize(words) == words == [tokenizer.decode(tokenizer.encode(words[0]), True)]  # so much eta changes no piece
    assert sanitizer.text([sanitizer.find(one) for one in ("film", "##\u0279", "\u0924", ".")]) == "film\u0279 \u0924."
    for folder, others in (tmp_path, {"##\u0279", "\u0924"}), (compact, set()):
        drawn = nvdp.Sanitizer(model=folder, mechanism="santext", eta=1e-6)  # nearly uniform
        words = {drawn.word(token) for token in set(drawn.sample([0] * 200000).tolist())}
        assert {word for word in words if not word.isascii()} == {word for word in vocabulary[5:] if not word.isascii()} - {"##\u0279", "\u0924"} | others


def test_sanitized_files(tmp_path):
    vectors, texts = tmp_path / "vectors.txt", tmp_path / "texts.txt"
    vectors.write_text("cat 0 0\ndog 0 1\ncar 50 0\n")
    texts.write_text("car cat\ncar dog\ncar\n")
    mechanism = dict(text=texts, vectors=vectors, mechanism="santext", eta=2.0)
    found = nvdp.sanitize(out=tmp_path / "private.txt", **mechanism)
    assert found.texts == 3 and found.tokens == 5 and found.sanitizer.mechanism == "santext" and found.statement
    assert [len(line.split()) for line in (tmp_path / "private.txt").read_text().splitlines()] == [2, 2, 1]
    report = nvdp.text_privacy(order=2, **mechanism)
    pair = nvdp.Sanitizer(vectors=vectors, mechanism="santext", eta=2.0)
    most = max(pair.divergence([2, 0], [2, 1], 2), pair.divergence([2, 1], [2, 0], 2))
    assert report.method == "santext" and report.equal_length.rd["sum"]["max"] == pytest.approx(most, rel=1e-9)
    with pytest.raises(ValueError, match="exists"):
        nvdp.sanitize(out=tmp_path / "private.txt", **mechanism)


def test_sanitized_files_come_from_no_seed(tmp_path):
    vectors, texts, out = tmp_path / "vectors.txt", tmp_path / "texts.txt", tmp_path / "private.txt"
    vectors.write_text("".join(f"{word} {i} 0\n" for i, word in enumerate("cat dog car sun".split())))
    texts.write_text("car cat " * 100 + "\n")
    given = dict(out=out, text=texts, vectors=vectors, mechanism="random", overwrite=True)

    def written(**options):
        found = nvdp.sanitize(**given, **options)
        return found, out.read_text()

    (found, one), (_, other) = written(), written()
    assert one != other and not found.insecure_seed and "INSECURE" not in found.statement
    (found, one), (_, other) = written(insecure_seed=3), written(insecure_seed=3)
    assert one == other and found.insecure_seed and found.statement.startswith("INSECURE")
    with pytest.raises(ValueError, match="use insecure_seed"):
        written(seed=3)


def test_threads_share_objects(compact):
    tokenizer, found = nvdp.Tokenizer(compact), []
    work = [threading.Thread(target=lambda: found.append(tokenizer(["a film"] * 50).ids.sum())) for _ in range(8)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1


def test_contexts_share_threads(compact):
    """A context has no thread of its own: calls one after the other are made in one."""

    def threads():
        return len(os.listdir("/proc/self/task"))

    tokenizers = [nvdp.Tokenizer(compact)]
    tokenizers[0](["a film"])
    before = threads()
    tokenizers += [nvdp.Tokenizer(compact) for _ in range(99)]
    assert len({id(one._context) for one in tokenizers}) == 100
    assert {int(one(["a film"]).ids.sum()) for one in tokenizers} == {int(tokenizers[0](["a film"]).ids.sum())}
    assert threads() <= before  # fewer: threads of earlier tests end at their own time


def test_threads_get_their_own_errors(posteriors, tmp_path):
    """Calls on one object from many threads: each error names the option or the file of its own call."""
    wrong, calls = [], 300

    def work(me: int) -> None:
        for i in range(calls):
            name = f"no_such_{me}_{i}"
            attempts = [lambda: posteriors.privacy(**{name: 1}), lambda: posteriors.privacy(order=name),
                        lambda: posteriors.save(tmp_path / name / "file.h5")]  # fmt: skip
            try:
                attempts[i % 3]()
                wrong.append(f"{name}: no error")
            except nvdp.NvdpError as error:
                if not any(f"{name}{end}" in str(error) for end in "'/"):
                    wrong.append(f"{name}: {error}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert wrong == []


def test_errors_name_arguments(posteriors):
    with pytest.raises(ValueError, match="^option max_pairs: expected "):
        posteriors.privacy(max_pairs="many")


def test_after_fork(compact):
    tokenizer = nvdp.Tokenizer(compact)
    tokenizer.encode("a")
    child = os.fork()
    if child == 0:
        os._exit(len(tokenizer.encode("a film")))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4


@pytest.mark.parametrize("blocked", [set(), {signal.SIGINT}], ids=["", "another thread takes the signal"])
def test_interrupt(rng, blocked):
    """Ctrl-C in the middle of long work: it stops, and KeyboardInterrupt is raised."""
    mechanism = nvdp.Mechanism(rng.normal(size=(20000, 64)), "santext", 1.0)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        with pytest.raises(KeyboardInterrupt):
            mechanism.worst()  # a minute, otherwise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    timer.join()


def test_an_interrupt_with_the_last_event(compact, monkeypatch):
    """The event that work is done can be lost when an interrupt comes with it."""

    class Queue(queue.SimpleQueue):
        def get(self, **options):
            if super().get(**options) is None:
                raise KeyboardInterrupt

    context = nvdp.Tokenizer(compact)._context
    monkeypatch.setattr("nvdp._lib.queue.SimpleQueue", Queue)
    with pytest.raises(KeyboardInterrupt):
        context.call(nvdp._lib.lib.nvdp_context_set_threads, 1)


def test_encoder_as_sentence_transformers(bundled):
    encoder = nvdp.Encoder(bundled, pool="mean", threads=1)
    texts = [f"film {i}" for i in range(10)]
    want, asked = encoder.encode(texts), []
    np.testing.assert_allclose(encoder.encode(texts, batch_size=3), want, atol=1e-5)
    assert np.allclose(np.linalg.norm(encoder.encode(texts, normalize_embeddings=True), axis=1), 1)
    assert encoder.encode(texts, dtype="float16").dtype == np.float16 and encoder.encode("a film", batch_size=1).shape == (encoder.dim,)
    rows = encoder.encode_iter((asked.append(text) or text for text in texts), chunk_size=4)
    np.testing.assert_allclose(next(rows), want[0], atol=1e-5)
    assert len(asked) == 4
    np.testing.assert_allclose(list(rows), want[1:], atol=1e-5)
    np.testing.assert_allclose(encoder.encode(texts[:4], texts[4:8], batch_size=2), encoder.encode(texts[:4], texts[4:8]), atol=1e-5)
    for wrong in dict(batch_size=0), dict(batch_size=1.5), dict(dtype="int8"):
        with pytest.raises(ValueError, match=list(wrong)[0]):
            encoder.encode(texts, **wrong)
    torch = pytest.importorskip("torch")
    assert encoder.encode(texts, convert_to_tensor=True, dtype="bfloat16").dtype == torch.bfloat16


def test_progress_is_shown(compact, capsys, monkeypatch):
    """A bar of tqdm or a line, where somebody sees it: in a terminal or a notebook, or on request."""
    encoder, texts = nvdp.Encoder(compact, pool="mean", threads=1), ["film"] * 6
    encoder.encode(texts, batch_size=2)
    assert capsys.readouterr().err == ""
    encoder.encode(texts, batch_size=2, show_progress_bar=True)
    shown = capsys.readouterr().err
    assert "encode" in shown and "6" in shown
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    encoder.encode(texts, batch_size=2, show_progress_bar=True)
    assert "encode: 2/6 texts" in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    encoder.encode(texts, batch_size=2)
    assert "encode: 6/6 texts" in capsys.readouterr().err
    encoder.encode(texts, batch_size=2, show_progress_bar=False)
    assert capsys.readouterr().err == ""


def test_encoder(compact):
    encoder = nvdp.Encoder(compact, pool="mean", normalize="yes", threads=1)
    texts = ["A film.", "The end of it all, and more."]
    vectors, states = encoder.encode(texts), encoder.states(texts)
    assert vectors.shape == (2, encoder.dim) and vectors.dtype == np.float32
    assert encoder.info.vector_size == encoder.info.hidden_size == encoder.dim and encoder.info.pooling == "mean"
    for vector, text, rows in zip(vectors, texts, states):
        assert rows.shape == (len(encoder.tokenizer.encode(text)), encoder.dim)
        mean = rows.mean(axis=0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-6)
        np.testing.assert_allclose(encoder.encode(text), vector, atol=1e-6)
    assert encoder.encode([]).shape == (0, encoder.dim)
    tokenizer = encoder.tokenizer
    del encoder
    assert tokenizer.encode("a").size == 3
    with pytest.raises(nvdp.NvdpError, match="pool"):
        nvdp.Encoder(compact, pool="none").encode(texts)
    with pytest.raises(ValueError, match="threads"):
        nvdp.Encoder(compact, threads=0)


def test_encoder_without_a_pooling(bundled, caplog):
    """It takes the mean and says so; one that was asked for none lists the choices."""
    encoder = nvdp.Encoder(bundled, threads=1)
    assert "means of the tokens' states (pool mean; others: cls, max, mean_sqrt_len_tokens, weightedmean, lasttoken, none)" in caplog.text
    caplog.clear()
    chosen = nvdp.Encoder(bundled, threads=1, pool="mean")
    assert caplog.text == "" and np.array_equal(encoder.encode(["a film", "the end"]), chosen.encode(["a film", "the end"])) and encoder.info.pooling == "mean"
    with pytest.raises(ValueError, match="the choices are mean, cls, max, mean_sqrt_len_tokens, weightedmean, lasttoken, none"):
        nvdp.Encoder(bundled, threads=1, pool="none").encode(["a film"])
    with pytest.raises(ValueError) as refused:
        nvdp.Encoder(bundled, pool="first")
    assert all(name in str(refused.value) for name in ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "none"))
