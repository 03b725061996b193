"""PrivateEncoder, or GaussianRelease over another model, as an embedding model of LlamaIndex."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from ._retrieval import Encoders, Ledger, Vectors

__all__ = ["PrivateEmbedding"]


class PrivateEmbedding(BaseEmbedding):
    """An embedding model of LlamaIndex whose vectors are releases: each node and each query gives away a sample, which the ledger counts.
    Arguments: as of nvdp.langchain.PrivateEmbeddings. With `texts`, a node's text is a name, without metadata for embedding.
    embed_batch_size: nodes of one release; each further batch is another release."""

    _vectors: Vectors = PrivateAttr()

    def __init__(self, encoder: Encoders, *, texts: Optional[Mapping[str, str]] = None, query_noise: bool = True, budget_samples: int = 0,
                 of: Optional[BaseEmbedding] = None, ledger: Ledger = None, **kwargs: Any):  # fmt: skip
        super().__init__(**{"model_name": "nvdp", "embed_batch_size": 2048, **kwargs})
        exact = None if of is None else (of.get_text_embedding_batch, lambda queries: [of.get_query_embedding(one) for one in queries])
        self._vectors = Vectors(encoder, texts, query_noise, budget_samples, ledger, exact)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._vectors.documents(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._vectors.documents([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vectors.query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._vectors.query(query)
