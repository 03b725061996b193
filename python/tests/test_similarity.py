"""Similarities of samples: unbiased, with deviations that hold; and encode()'s forms of vectors."""

import json
import types

import numpy as np
import pytest

import nvdp
from conftest import texts_of
from test_private_encoder import fresh


@pytest.fixture(scope="module")
def fixed(compact):
    """An encoder with the same noise for every text."""
    options = dict(preset=None, method="vib-fixed", epochs=1, batch=8, max_length=8, freeze_layers=4, latent_dim=4)
    return nvdp.PrivateEncoder(compact, threads=1).fit(*texts_of(np.random.default_rng(1), 24), **options)


@pytest.mark.parametrize("exact", [False, True], ids=["noise on both sides", "an exact query"])
def test_estimates_are_unbiased(rng, exact):
    """False alarms: 4 and 5 standard errors of 1,500 independent pairs, whose estimates have the right mean and variance."""
    n, p = 1500, 6
    v, w, s, t = rng.normal(size=p), rng.normal(size=p), rng.uniform(0.5, 1.5, p), rng.uniform(0.2, 2, p)
    one = v + (0 if exact else 1) * rng.normal(size=(n, p)) * np.sqrt(s)
    two = w + rng.normal(size=(n, p)) * np.sqrt(t)
    found = nvdp.similarity(one, two, variance=0 if exact else s, variance2=t)
    product, deviation = np.diag(found.product), np.diag(found.deviation)
    assert abs(product.mean() - v @ w) < 4 * product.std() / np.sqrt(n)
    truth = v**2 @ t if exact else v**2 @ t + w**2 @ s + s @ t
    assert np.var(product) == pytest.approx(truth, rel=5 * np.sqrt(2 / n) * 2)
    assert np.mean(deviation**2) == pytest.approx(truth, rel=0.15) and deviation.min() > 0
    if not exact:  # a sample with itself
        found = nvdp.similarity(one, variance=s)
        product, deviation = np.diag(found.product), np.diag(found.deviation)
        truth = 4 * v**2 @ s + 2 * s @ s
        assert abs(product.mean() - v @ v) < 4 * np.sqrt(truth / n) and np.mean(deviation**2) == pytest.approx(truth, rel=0.15)
        np.testing.assert_allclose(found.product, found.product.T, atol=1e-12)
        assert nvdp.similarity(one[:2], one[1:3], variance=s).product[1, 0] == found.product[1, 1]  # one sample in two sets


def test_what_the_estimate_needs(rng):
    z = rng.normal(size=(3, 4)).astype(np.float32)
    assert nvdp.similarity(z[0], z[1:]).product.shape == (1, 2) and nvdp.similarity(z[:0], z).product.shape == (0, 3)
    for wrong, name in (((z / np.linalg.norm(z, axis=1, keepdims=True),), "embeddings1"), ((z.astype(int),), "embeddings1"), ((z, z[:, :2]), "embeddings2")):
        with pytest.raises(ValueError, match=f"^{name}: expected vectors"):
            nvdp.similarity(*wrong)
    for wrong in -1, np.nan, np.ones(3):
        with pytest.raises(ValueError, match="^variance: expected a number"):
            nvdp.similarity(z, variance=wrong)


def test_similarity_of_an_encoder(fixed, run):
    texts = [fresh(1)[0]] * 400
    z = fixed.encode(texts, budget_samples=400)
    exact = fixed.encode_query(texts[:1], noise=False)
    assert np.abs(z.mean(axis=0) - exact[0]).max() < 5 * z.std() / 20 and fixed.encode_query(texts[0], noise=False).shape == (4,)
    np.testing.assert_allclose(z.var(axis=0), fixed._noise(), rtol=0.4)
    found = fixed.similarity(z[:200], z[200:])
    assert abs(np.diag(found.product).mean() - exact[0] @ exact[0]) < 4 * np.diag(found.product).std() / np.sqrt(200)
    assert np.mean(np.diag(found.deviation) ** 2) == pytest.approx(np.var(np.diag(found.product)), rel=0.5)
    assert fixed.similarity(exact, z, noise=False).product.mean() == pytest.approx(exact[0] @ exact[0], rel=0.2)
    assert fixed.similarity(z[:5, :2]).product.shape == (5, 5) and fixed.encode_query([], noise=False).shape == (0, 4)
    with pytest.raises(nvdp.NvdpError, match="counted|shared before"):
        fixed.encode_query(texts[0])  # a release
    assert fixed.encode_document(fresh(2)).shape == (2, 4) == (2, fixed.get_sentence_embedding_dimension())
    with pytest.raises(TypeError, match="^pooling: expected"):
        fixed.encode_query("a", noise=False, pooling=None)
    with pytest.raises(nvdp.NvdpError, match="with noise that depends on the text") as caught:
        nvdp.PrivateEncoder.from_pretrained(run.path, threads=1).similarity(np.zeros((1, 8)))
    assert caught.value.status == "ERR_UNSUPPORTED"


def test_padding_has_noise_of_its_own(compact):
    """The noise of a mean over tokens and padding depends on the number of tokens, unless all have variance 1."""
    options = dict(preset=None, weights="constant", clip_logvar_min=-1.0, clip_logvar_max=-0.999999, epochs=1, batch=8, max_length=8, freeze_layers=4, latent_dim=4)
    encoder = nvdp.PrivateEncoder(compact, threads=1).fit(*texts_of(np.random.default_rng(1), 24), **options)
    with pytest.raises(nvdp.NvdpError, match="with noise that depends on the text"):
        encoder.similarity(np.zeros((1, 4)))


def test_forms_of_vectors(fixed, bundled, rng):
    kept = fresh(1)
    for wrong in dict(prompt="query: "), dict(truncate_dim=0), dict(truncate_dim=True), dict(precision="int4"), dict(precision="int8", dtype="float16"), \
            dict(pooling=None, truncate_dim=2):  # fmt: skip
        with pytest.raises(ValueError, match="^(prompt|truncate_dim|precision|pooling): expected"):
            fixed.encode(kept, **wrong)
    assert fixed.encode(kept, truncate_dim=3, prompt="").shape == (1, 3)  # no error was a release
    assert fixed.encode(fresh(1)[0], precision="ubinary").dtype == np.uint8
    encoder = nvdp.Encoder(bundled, threads=1, pool="mean")
    vectors = encoder.encode(["a film", "an end"])
    for precision, dtype, width in ("int8", np.int8, vectors.shape[1]), ("uint8", np.uint8, vectors.shape[1]), ("binary", np.int8, vectors.shape[1] // 8), \
            ("ubinary", np.uint8, vectors.shape[1] // 8):  # fmt: skip
        found = encoder.encode(["a film", "an end"], precision=precision)
        assert found.dtype == dtype and found.shape == (2, width)
        try:
            from sentence_transformers.util import quantize_embeddings
        except ImportError:
            continue
        np.testing.assert_array_equal(found, quantize_embeddings(vectors, precision=precision))
    np.testing.assert_array_equal(encoder.encode(["a film"], prompt="the "), encoder.encode(["the a film"]))
    np.testing.assert_array_equal(encoder.encode(["a film", "an end"], truncate_dim=5), vectors[:, :5])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(encoder.similarity(vectors, vectors), unit @ unit.T, atol=1e-6)


def test_prompts_of_a_folder(compact, tmp_path):
    import shutil

    shutil.copytree(compact, tmp_path / "model")
    (tmp_path / "model" / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "bad ", "passage": "good "}, "similarity_fn_name": "dot"}))
    encoder, plain = nvdp.Encoder(tmp_path / "model", threads=1, pool="mean"), nvdp.Encoder(compact, threads=1, pool="mean")
    assert encoder.prompts == {"query": "bad ", "passage": "good "} and plain.prompts == {} and encoder.get_sentence_embedding_dimension() == encoder.dim
    np.testing.assert_array_equal(encoder.encode_query(["film"]), plain.encode(["bad film"]))
    np.testing.assert_array_equal(encoder.encode_document("film"), plain.encode("good film"))
    np.testing.assert_array_equal(plain.encode_query(["film"]), plain.encode(["film"]))
    a = encoder.encode(["film"])
    np.testing.assert_allclose(encoder.similarity(a, a), np.float64(a) @ np.float64(a).T)


def hub(monkeypatch, folder, public=False):
    """Makes huggingface_hub keep its repositories in a folder."""
    import shutil

    module = pytest.importorskip("huggingface_hub")

    class Api:
        def __init__(self, token=None):
            pass

        def create_repo(self, repo_id, private, exist_ok):
            self.private = private and not public
            return f"hub/{repo_id}"

        def repo_info(self, repo_id):
            return types.SimpleNamespace(private=self.private)

        def upload_folder(self, repo_id, folder_path, commit_message):
            shutil.copytree(folder_path, folder / repo_id)

    monkeypatch.setattr(module, "HfApi", Api)
    monkeypatch.setattr(module, "snapshot_download", lambda repo_id, revision=None, token=None: str(folder / repo_id))
    return folder


def test_what_is_pushed_predicts_and_does_not_release(fixed, tmp_path, monkeypatch):
    folder = hub(monkeypatch, tmp_path / "hub")
    fixed.encode(fresh(1))
    with pytest.raises(ValueError, match="^private: expected True, as the weights may reveal"):
        fixed.push_to_hub("owner/mine", private=False)
    assert fixed.push_to_hub("owner/mine") == "hub/owner/mine" and fixed.push_to_hub("owner/open", private=False, public_training_texts=True)
    run, texts = folder / "owner" / "mine" / "run", fresh(2)
    assert sorted(one.name for one in run.iterdir() if one.name != "labels.json") == ["ledger", "model", "result.json", "run.json"]
    written = b"".join(path.read_bytes() for path in (folder / "owner" / "mine").rglob("*") if path.is_file() and path.name not in ("model.safetensors", "vocab.txt"))
    for secret in str(fixed.run.path).encode(), b"/tmp", b"sha256", b"digests", b"accuracy\": {", b"train_texts", b"processor", b"film":
        assert secret not in written, secret
    card = (folder / "owner" / "mine" / "README.md").read_text("utf-8")
    assert fixed.guarantee in card and card.startswith("---\nlibrary_name: sentence-transformers") and "releases nothing" in card
    for place in "owner/mine", folder / "owner" / "mine":
        copy = nvdp.PrivateEncoder.from_pretrained(place, threads=1)
        np.testing.assert_array_equal(copy.predict_proba(texts), fixed.predict_proba(texts))
        np.testing.assert_array_equal(copy.encode_query(texts, noise=False), fixed.encode_query(texts, noise=False))
        assert not copy.can_release and copy.guarantee == fixed.guarantee and copy.privacy(texts).n == 2
        with pytest.raises(nvdp.NvdpError, match="found a copy|moved to the run of the owner") as caught:
            copy.encode(texts)
        assert caught.value.status == "ERR_STATE"
        with pytest.raises(nvdp.NvdpError, match="run: expected the run of the owner, found a copy for others"):
            copy.run.result.best_epoch
    (run / "ledger").unlink()  # what comes from a hub never releases, whatever it holds
    for place in "owner/mine", folder / "owner" / "mine":
        with pytest.raises(nvdp.NvdpError, match="found a copy"):
            nvdp.PrivateEncoder.from_pretrained(place).encode(texts)
    assert fixed.encode(texts).shape == (2, 4)
    hub(monkeypatch, tmp_path / "public", public=True)
    with pytest.raises(ValueError, match="which is public; nothing was uploaded"):
        fixed.push_to_hub("owner/mine")
    assert not (tmp_path / "public").exists()
    with pytest.raises(nvdp.NvdpError, match="^repo_id: expected OWNER/NAME"):
        fixed.push_to_hub("mine")
