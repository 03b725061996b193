"""An encoder in memory: hidden states and sentence vectors, without noise. They are not private."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from ._lib import Context, Record, absolute, ffi, lib, pointer, rebuild, record, result_of
from .tokenizer import Tokenizer


class Encoder:
    """An encoder from a directory in Hugging Face or sentence-transformers layout, or from RUN/model of a run of method base or
    reg.

    options: max_length, pool ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "none"), normalize
    ("yes", "no"), batch; the defaults come from the directory. threads: number of threads; None: one per processor.
    """

    def __init__(self, model: str | PathLike[str], *, threads: int | None = None, **options: object):
        self._context = Context()
        self._context.set_threads(threads)
        self.path = absolute(model, "model")
        self._options = {"threads": threads, **options}
        config = self._context.config(lib.nvdp_encoder_config_create, {"model": self.path, **options})
        self._pointer = self._context.make("struct nvdp_encoder", lib.nvdp_encoder_free, lib.nvdp_encoder_load, config)
        out = result_of("struct nvdp_encoder_info")
        lib.nvdp_encoder_describe(self._pointer, out)
        self.info: Record = record(out[0])
        """hidden_size d, max_length, pooling, normalized, fingerprint, vector_size p, prompt."""
        self.tokenizer = Tokenizer.__new__(Tokenizer)._take(self._context, lib.nvdp_encoder_tokenizer(self._pointer),
                                                            (getattr, (self, "tokenizer")))  # fmt: skip

    def __reduce__(self) -> Any:
        return rebuild, (Encoder, (self.path,), self._options)

    def __repr__(self) -> str:
        return f"nvdp.Encoder({self.path!r}): vectors of {self.dim} numbers, not private"

    @property
    def dim(self) -> int:
        """The length of a vector; without a pooling d, the length of a state."""
        return self.info.vector_size or self.info.hidden_size

    def _run(self, texts: Sequence[str], pairs: Sequence[str] | None, pooled: bool) -> tuple[np.ndarray, np.ndarray]:
        if pooled and self.info.prompt:
            texts = [self.info.prompt + text for text in texts]
        data = self.tokenizer._dataset(texts, pairs, self.info.max_length)
        offset = np.array(ffi.unpack(data.offset, data.count + 1), np.intp) if data.count else np.zeros(1, np.intp)
        shape = (data.count, self.dim) if pooled else (int(offset[-1]), self.info.hidden_size)
        out = np.empty(shape, np.float32)
        given = pointer(out, "float", writable=True)
        self._context.call(lib.nvdp_encoder_run, self._pointer, data, *((ffi.NULL, given) if pooled else (given, ffi.NULL)))
        return out, offset

    def encode(self, texts: str | Sequence[str], pairs: str | Sequence[str] | None = None) -> np.ndarray:
        """Returns [N, p] float32, one vector per text ([p] for a str): the pooled states of its tokens, behind the folder's
        default prompt if it has one."""
        if isinstance(texts, str):
            return self._run([texts], None if pairs is None else [pairs], True)[0][0]
        return self._run(texts, pairs, True)[0]

    def states(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[np.ndarray]:
        """Returns the last hidden states of each text: [n, d] float32 for its n tokens, including special ones."""
        states, offset = self._run(texts, pairs, False)
        return np.split(states, offset[1:-1]) if len(offset) > 1 else []
