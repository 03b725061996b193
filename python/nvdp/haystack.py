"""PrivateEncoder, or GaussianRelease over another embedder, as components of haystack."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Optional

from haystack import Document, component

from ._retrieval import Encoders, Ledger, Vectors

__all__ = ["PrivateDocumentEmbedder", "PrivateTextEmbedder"]


def _exact(of: Any) -> Any:
    """Returns the functions of an embedder of documents, or of texts, that compute the vectors of documents and of queries."""
    return None if of is None else (lambda texts: [one.embedding for one in of.run([Document(content=text) for text in texts])["documents"]],
                                    lambda queries: [of.run(query)["embedding"] for query in queries])  # fmt: skip


@component
class PrivateDocumentEmbedder:
    """Gives away a sample of each document, which the ledger counts, as the document's embedding. Arguments: as of
    nvdp.langchain.PrivateEmbeddings; `of` is a document embedder. Without `texts`, a store has contents, and ids that are digests of them."""

    def __init__(self, encoder: Encoders, *, texts: Optional[Mapping[str, str]] = None, budget_samples: int = 0,
                 of: Any = None, ledger: Ledger = None):  # fmt: skip
        self._vectors = Vectors(encoder, texts, True, budget_samples, ledger, _exact(of))

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Returns {"documents": copies of the documents with embeddings of p numbers}. One release for all."""
        vectors = self._vectors.documents([document.content or "" for document in documents])
        return {"documents": [dataclasses.replace(document, embedding=vector) for document, vector in zip(documents, vectors)]}


@component
class PrivateTextEmbedder:
    """Gives away a sample of a query, or with query_noise=False returns its vector without noise, which is not private. Arguments: as of
    nvdp.langchain.PrivateEmbeddings; `of` is a text embedder."""

    def __init__(self, encoder: Encoders, *, query_noise: bool = True, budget_samples: int = 0, of: Any = None, ledger: Ledger = None):
        self._vectors = Vectors(encoder, {}, query_noise, budget_samples, ledger, _exact(of))

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """Returns {"embedding": p numbers}."""
        return {"embedding": self._vectors.query(text)}
