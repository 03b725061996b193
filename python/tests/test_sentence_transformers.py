"""A saved encoder in sentence-transformers: what the model encodes is a release, or is refused."""

import copy

import numpy as np
import pytest

import nvdp
from conftest import texts_of
from test_private_encoder import fresh

pytest.importorskip("sentence_transformers")
from sentence_transformers import SentenceTransformer  # noqa: E402

from nvdp.sentence_transformers import Bottleneck  # noqa: E402


@pytest.fixture(scope="module")
def saved(compact, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "mine"
    options = dict(preset="certified", certified_epsilon=8, epochs=1, batch=8, max_length=8, freeze_layers=4, latent_dim=16, base_epochs=0)
    nvdp.PrivateEncoder(compact, threads=1).fit(*texts_of(np.random.default_rng(1), 24), **options).save_pretrained(folder)
    return folder


def opened(folder):
    return SentenceTransformer(str(folder), trust_remote_code=True, device="cpu")


def test_a_saved_folder_releases(saved):
    model = opened(saved)
    texts = fresh(5)
    found = model.encode(texts, batch_size=2)
    assert found.shape == (5, 16) and found.dtype == np.float32
    encoder = nvdp.PrivateEncoder.from_pretrained(saved)
    for use in lambda: model.encode(texts[:1]), lambda: encoder.encode(texts[1:2]):  # counted in one ledger
        with pytest.raises(nvdp.NvdpError, match="shared before") as caught:
            use()
        assert caught.value.status == "ERR_STATE"
    again = model.encode(texts, budget_samples=2)
    assert not np.isclose(found, again).any()
    assert model.encode_query(fresh(1)).shape == (1, 16) and model.encode_document(fresh(1)[0], truncate_dim=8, precision="ubinary").shape == (1,)
    assert model.similarity_fn_name == "dot" and model.get_sentence_embedding_dimension() == 16 and model.max_seq_length == 8
    np.testing.assert_allclose(model.similarity(found, again).numpy(), encoder.similarity(found, again).product, atol=1e-4)
    readme = (saved / "README.md").read_text("utf-8")
    assert "epsilon 8 at delta 1e-05" in readme and "SentenceTransformer" in readme


def test_refusals_cost_nothing(saved, tmp_path):
    model, text = opened(saved), fresh(1)
    with pytest.raises(ValueError, match="^prompt: expected none"):
        model.encode(text, prompt="query: ")
    with pytest.raises((TypeError, ValueError)):
        model.encode([("a", "b")])
    with pytest.raises(nvdp.NvdpError, match="which moves the ledger"):
        model.save(str(tmp_path / "copy"))
    with pytest.raises(nvdp.NvdpError, match="found a copy"):
        copy.deepcopy(model).encode(text)
    assert model.encode(text).shape == (1, 16)


def test_without_a_ledger_nothing_is_encoded(saved, tmp_path):
    nvdp.PrivateEncoder.from_pretrained(saved).save_pretrained(tmp_path / "reader", can_release=False)
    with pytest.raises(nvdp.NvdpError, match="which alone releases"):
        opened(tmp_path / "reader").encode(fresh(1))
    (tmp_path / "reader" / "run" / "ledger").unlink()
    for model in opened(tmp_path / "reader"), SentenceTransformer(modules=[Bottleneck(tmp_path / "reader")], device="cpu"):
        with pytest.raises(nvdp.NvdpError, match="found a copy"):
            model.encode(fresh(1))


def test_modules_need_no_trust(saved):
    model = SentenceTransformer(modules=[Bottleneck(nvdp.PrivateEncoder.from_pretrained(saved), budget_samples=2)], device="cpu")
    text = fresh(1)
    assert not np.allclose(model.encode(text), model.encode(text))
    with pytest.raises(nvdp.NvdpError, match="shared before|including this export"):
        model.encode(text)
