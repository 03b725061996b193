"""The vectors of a retrieval framework: documents and queries are released by a PrivateEncoder, or by a GaussianRelease over other embeddings."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Callable, Optional, Union

import numpy as np

from ._lib import NvdpValueError
from .private_encoder import PrivateEncoder
from .vectors import GaussianRelease

Encoders = Union[PrivateEncoder, GaussianRelease, str, "PathLike[str]"]
Ledger = Union[str, "PathLike[str]", None]
Exact = Callable[[list[str]], Sequence[Sequence[float]]]


class Vectors:
    """The arguments are those of nvdp.langchain.PrivateEmbeddings. exact: functions that compute the vectors of documents and of queries."""

    def __init__(self, encoder: Encoders, texts: Optional[Mapping[str, str]], query_noise: bool, budget_samples: int, ledger: Ledger = None,
                 exact: Optional[tuple[Exact, Exact]] = None):  # fmt: skip
        self.encoder = encoder if isinstance(encoder, (PrivateEncoder, GaussianRelease)) else PrivateEncoder.from_pretrained(encoder)
        if {isinstance(self.encoder, GaussianRelease), exact is not None, ledger is not None} not in ({True}, {False}):
            raise NvdpValueError("of, ledger: expected both with a GaussianRelease, and none with an encoder, which has its own, found others")
        self.texts, self.query_noise, self.budget_samples, self.ledger, self.exact = texts, query_noise, budget_samples, ledger, exact
        if texts is None:
            logging.getLogger("nvdp").warning("noise does not protect texts that a store keeps beside their vectors: with texts={name: text}, it keeps names")

    def _release(self, texts: Sequence[str], query: bool) -> np.ndarray:
        """Releases the vectors of texts, by which the ledger counts them; without noise, only maps them as the file says."""
        if isinstance(self.encoder, PrivateEncoder):
            if query and not self.query_noise:
                return np.asarray(self.encoder.encode_query(texts, noise=False))
            return np.asarray(self.encoder.encode(texts, budget_samples=self.budget_samples))
        if self.exact is None or not len(texts):
            return np.empty((0, 0))
        vectors, noise = np.array(self.exact[query](list(texts)), np.float32), self.query_noise or not query
        counted: dict[str, Any] = {"ledger": self.ledger, "budget_samples": self.budget_samples} if noise else {"no_ledger": True, "public_independent": True}
        with tempfile.TemporaryDirectory(prefix="nvdp-") as folder:
            shared = self.encoder.release(vectors, ids=[f"text: {one}" for one in texts], out=os.path.join(folder, "shared.h5"), **counted)
            return shared.mean().mean(axis=1) if noise else shared.exact(vectors)

    def documents(self, documents: Sequence[str]) -> list[list[float]]:
        """Returns a sample of each document."""
        try:
            documents = documents if self.texts is None else [self.texts[name] for name in documents]
        except KeyError as name:
            raise NvdpValueError(f"texts: expected a text of each document, found none of {name}") from None
        return [row.tolist() for row in self._release(documents, False)]

    def query(self, query: str) -> list[float]:
        """Returns a sample of the query, or its vector without noise."""
        found: list[float] = self._release([query], True)[0].tolist()
        return found
