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


# --- a GaussianRelease over the vectors of other embeddings ---


def vector_of(text):
    """A vector that depends on the text alone."""
    return np.random.default_rng(list(text.encode())).normal(size=12).tolist()


@pytest.fixture
def mechanism():
    return nvdp.GaussianRelease(1e5, center=np.random.default_rng(5).normal(size=(40, 12)), reduce=8, source="vector_of")


def check(documents, query, exact, named):
    """The three functions of a framework's class release, refuse a second time, and map exact queries."""
    vectors, asked = np.array(documents(list(named))), next(iter(named.values()))
    assert vectors.shape == (6, 8) and not np.array_equal(vectors[0], exact(asked))
    refused(lambda: documents(list(named)))
    refused(lambda: query(asked))  # it is a document: the ledger knows texts, whatever their names
    assert exact(asked) == exact(asked) and int(np.argmax(vectors @ exact(asked))) == 0
    assert len(query("a new question")) == 8
    refused(lambda: query("a new question"))


def test_gaussian_release_in_langchain(mechanism, named, tmp_path):
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    from nvdp.langchain import PrivateEmbeddings

    class Other(Embeddings):
        def embed_documents(self, texts):
            return [vector_of(text) for text in texts]

        def embed_query(self, text):
            return vector_of(text)

    given = dict(of=Other(), ledger=tmp_path / "ledger")
    private = PrivateEmbeddings(mechanism, texts=named, **given)
    check(private.embed_documents, private.embed_query, PrivateEmbeddings(mechanism, query_noise=False, **given).embed_query, named)
    store = InMemoryVectorStore(PrivateEmbeddings(mechanism, texts={"x": "one more text"}, query_noise=False, **given))
    store.add_texts(["x"])
    assert [one.page_content for one in store.similarity_search("one more text", k=1)] == ["x"]


def test_gaussian_release_in_llama_index(mechanism, named, tmp_path):
    pytest.importorskip("llama_index.core")
    from llama_index.core.base.embeddings.base import BaseEmbedding

    from nvdp.llama_index import PrivateEmbedding

    class Other(BaseEmbedding):
        def _get_text_embedding(self, text):
            return vector_of(text)

        def _get_query_embedding(self, query):
            return vector_of(query)

        async def _aget_query_embedding(self, query):
            return vector_of(query)

    given = dict(of=Other(), ledger=tmp_path / "ledger")
    private = PrivateEmbedding(mechanism, texts=named, **given)
    check(private.get_text_embedding_batch, private.get_query_embedding, PrivateEmbedding(mechanism, query_noise=False, **given).get_query_embedding, named)


def test_gaussian_release_in_haystack(mechanism, named, tmp_path):
    pytest.importorskip("haystack")
    from haystack import Document, component

    from nvdp.haystack import PrivateDocumentEmbedder, PrivateTextEmbedder

    @component
    class Documents:
        @component.output_types(documents=list[Document])
        def run(self, documents: list[Document]):
            return {"documents": [Document(content=one.content, embedding=vector_of(one.content)) for one in documents]}

    @component
    class Texts:
        @component.output_types(embedding=list[float])
        def run(self, text: str):
            return {"embedding": vector_of(text)}

    class Private:
        def __init__(self, mechanism, **given):
            self.of = PrivateDocumentEmbedder(mechanism, **given)

        def documents(self, names):
            return [one.embedding for one in self.of.run([Document(content=name) for name in names])["documents"]]

    given = dict(ledger=tmp_path / "ledger")
    query, exact = (PrivateTextEmbedder(mechanism, of=Texts(), query_noise=noise, **given) for noise in (True, False))
    check(Private(mechanism, texts=named, of=Documents(), **given).documents, lambda text: query.run(text)["embedding"], lambda text: exact.run(text)["embedding"], named)
