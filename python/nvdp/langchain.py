"""PrivateEncoder, or GaussianRelease over other embeddings, as embeddings of LangChain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from langchain_core.embeddings import Embeddings

from ._retrieval import Encoders, Ledger, Vectors

__all__ = ["PrivateEmbeddings"]


class PrivateEmbeddings(Embeddings):
    """Embeddings of LangChain that are releases: each document and each query gives away a sample, which the ledger counts.

    encoder: a PrivateEncoder, or a folder of save_pretrained(); or a GaussianRelease over the vectors of other embeddings, `of`, with the file of its
        `ledger`, which counts texts by themselves.
    texts: the text of each document's name. Documents are then names, and the store keeps names and vectors. None: documents are texts, which
        most stores keep beside the vectors: who reads the store reads them, and noise protects nothing.
    query_noise: True: a query's vector is a sample too, because whoever runs the store sees the vector; a second time needs budget_samples.
        False: the exact vector, which is not private and not counted: for a store that only the asker sees. Tracing shows queries anyway.
    budget_samples: samples per text in all; 0: as the run promised.

        store = InMemoryVectorStore(PrivateEmbeddings("mine", texts={"a1": "the text"}))
        store.add_texts(["a1"])
    """

    def __init__(self, encoder: Encoders, *, texts: Optional[Mapping[str, str]] = None, query_noise: bool = True, budget_samples: int = 0,
                 of: Optional[Embeddings] = None, ledger: Ledger = None):  # fmt: skip
        exact = None if of is None else (of.embed_documents, lambda queries: [of.embed_query(one) for one in queries])
        self._vectors = Vectors(encoder, texts, query_noise, budget_samples, ledger, exact)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Gives away a sample of each document: [N][p] numbers. One release: if a document is refused, none is drawn."""
        return self._vectors.documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Gives away a sample of the query, or returns the vector without noise: [p] numbers."""
        return self._vectors.query(text)
