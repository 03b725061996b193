"""LangChain, LlamaIndex and haystack with the real packages: documents and queries are releases, and a store need not hold a text."""

import numpy as np
import pytest

import nvdp
from conftest import texts_of
from test_private_encoder import fresh


@pytest.fixture(scope="module")
def saved(compact, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "mine"
    options = dict(preset=None, method="vib-fixed", vib_sigma=0.01, epochs=1, batch=8, max_length=8, freeze_layers=4, latent_dim=4)
    nvdp.PrivateEncoder(compact, threads=1).fit(*texts_of(np.random.default_rng(1), 24), **options).save_pretrained(folder)
    return folder


@pytest.fixture
def named():
    return {f"n{i}": text for i, text in enumerate(fresh(6, "good day of the"))}


def refused(use, words="shared before"):
    with pytest.raises(nvdp.NvdpError, match=words) as caught:
        use()
    assert caught.value.status == "ERR_STATE"


def test_langchain(saved, named, caplog):
    pytest.importorskip("langchain_core")
    from langchain_core.vectorstores import InMemoryVectorStore

    from nvdp.langchain import PrivateEmbeddings

    embeddings = PrivateEmbeddings(saved, texts=named)
    store = InMemoryVectorStore(embeddings)
    store.add_texts(list(named), ids=list(named))
    assert not any(text in repr(store.store) for text in named.values()) and "noise does not protect" not in caplog.text
    query = fresh(1)[0]
    assert {document.page_content for document in store.similarity_search(query, k=6)} == set(named)
    refused(lambda: embeddings.embed_query(query))
    refused(lambda: embeddings.embed_documents(["n1"]))
    with pytest.raises(ValueError, match="^texts: expected a text of each document, found none of 'n9'"):
        embeddings.embed_documents(["n9"])
    exact = PrivateEmbeddings(saved, query_noise=False)
    assert "noise does not protect" in caplog.text
    assert exact.embed_query(query) == exact.embed_query(query) and type(exact.embed_query(query)[0]) is float
    np.testing.assert_allclose(exact.embed_query(named["n2"]), nvdp.PrivateEncoder.from_pretrained(saved).encode_query(named["n2"], noise=False))


def test_llama_index(saved, named):
    pytest.importorskip("llama_index.core")
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode

    from nvdp.llama_index import PrivateEmbedding

    model = PrivateEmbedding(saved, texts=named)
    index = VectorStoreIndex([TextNode(text=name, id_=name) for name in named], embed_model=model)
    assert not any(text in repr(index.storage_context.to_dict()) for text in named.values())
    query = fresh(1)[0]
    assert len(index.as_retriever(similarity_top_k=3).retrieve(query)) == 3
    refused(lambda: model.get_query_embedding(query))
    refused(lambda: model.get_text_embedding("n1"))
    refused(lambda: model.get_text_embedding_batch(list(named)))
    assert len(PrivateEmbedding(saved, budget_samples=2).get_text_embedding(named["n1"])) == 4


def test_haystack(saved, named):
    pytest.importorskip("haystack")
    from haystack import Document, Pipeline
    from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    from nvdp.haystack import PrivateDocumentEmbedder, PrivateTextEmbedder

    store, embedder = InMemoryDocumentStore(), PrivateDocumentEmbedder(saved, texts=named)
    given = [Document(content=name) for name in named]
    made = embedder.run(documents=given)["documents"]
    assert given[0].embedding is None and [document.id for document in made] == [document.id for document in given]
    store.write_documents(made)
    pipeline = Pipeline()
    pipeline.add_component("query", PrivateTextEmbedder(saved))
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=6))
    pipeline.connect("query.embedding", "retriever.query_embedding")
    query = fresh(1)[0]
    found = pipeline.run({"query": {"text": query}})["retriever"]["documents"]
    assert {document.content for document in found} == set(named)
    refused(lambda: PrivateTextEmbedder(saved).run(text=query))
    refused(lambda: embedder.run(documents=given[:1]))
    assert len(PrivateTextEmbedder(saved, query_noise=False).run(text=query)["embedding"]) == 4


def test_copies_do_not_release_and_can_ask(saved, tmp_path):
    pytest.importorskip("langchain_core")
    from nvdp.langchain import PrivateEmbeddings

    nvdp.PrivateEncoder.from_pretrained(saved).save_pretrained(tmp_path / "reader", can_release=False)
    refused(lambda: PrivateEmbeddings(tmp_path / "reader").embed_query("a film"), "which alone releases")
    assert len(PrivateEmbeddings(tmp_path / "reader", query_noise=False).embed_query("a film")) == 4
