"""The vectors of a retrieval framework: documents and queries are released by a PrivateEncoder."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Optional, Union

from ._lib import NvdpValueError
from .private_encoder import PrivateEncoder

Encoders = Union[PrivateEncoder, str, "PathLike[str]"]


class Vectors:
    """The arguments are those of nvdp.langchain.PrivateEmbeddings."""

    def __init__(self, encoder: Encoders, texts: Optional[Mapping[str, str]], query_noise: bool, budget_samples: int):
        self.encoder = encoder if isinstance(encoder, PrivateEncoder) else PrivateEncoder.from_pretrained(encoder)
        self.texts, self.query_noise, self.budget_samples = texts, query_noise, budget_samples
        if texts is None:
            logging.getLogger("nvdp").warning("noise does not protect texts that a store keeps beside their vectors: with texts={name: text}, it keeps names")

    def documents(self, documents: Sequence[str]) -> list[list[float]]:
        """Returns a sample of each document."""
        try:
            documents = documents if self.texts is None else [self.texts[name] for name in documents]
        except KeyError as name:
            raise NvdpValueError(f"texts: expected a text of each document, found none of {name}") from None
        return [row.tolist() for row in self.encoder.encode_document(documents, budget_samples=self.budget_samples)]

    def query(self, query: str) -> list[float]:
        """Returns a sample of the query, or its vector without noise."""
        options = {"budget_samples": self.budget_samples} if self.query_noise else {"noise": False}
        found: list[float] = self.encoder.encode_query(query, **options).tolist()
        return found
