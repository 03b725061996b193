"""Tokenizers: texts as the pieces that an encoder reads."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from os import PathLike
from typing import Any

import numpy as np

from ._lib import Context, NvdpValueError, Record, absolute, c_text, ffi, items, lib, rebuild, strings, text, text_pairs, view

_SPECIAL = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}


class Tokenizer:
    """A WordPiece, byte-level BPE or Unigram tokenizer, from a directory in Hugging Face layout: vocab.txt, or vocab.json and
    merges.txt, or sentencepiece.bpe.model, or tokenizer.json."""

    def __init__(self, folder: str | PathLike[str]):
        context, path = Context(), absolute(folder, "folder")
        self._take(context, context.make("struct nvdp_tokenizer", lib.nvdp_tokenizer_free, lib.nvdp_tokenizer_load,
                                         c_text(path, "folder")), (rebuild, (Tokenizer, (path,), {})))  # fmt: skip

    def _take(self, context: Context, tokenizer: Any, again: tuple[Any, ...], *keep: Any) -> Tokenizer:
        """again: a function and the arguments that make the tokenizer again, for pickle; keep: the owner."""
        self._context, self._pointer, self._again, self._keep = context, tokenizer, again, keep
        return self

    def __reduce__(self) -> Any:
        return self._again

    def __repr__(self) -> str:
        return f"nvdp.Tokenizer: {len(self)} pieces"

    def __len__(self) -> int:
        """Returns the number of pieces of the vocabulary; ids are below it."""
        return lib.nvdp_tokenizer_size(self._pointer)

    def id(self, piece: str) -> int:
        """Returns the id of a piece; -1 if the vocabulary has no such piece."""
        return lib.nvdp_tokenizer_find(self._pointer, c_text(piece, "piece"))

    def special(self, name: str) -> int:
        """Returns the id of the special token "pad", "unk", "cls", "sep" or "mask"."""
        if name not in _SPECIAL:
            raise NvdpValueError(f"name: expected {', '.join(_SPECIAL)}, found {name!r}")
        return lib.nvdp_tokenizer_special(self._pointer, _SPECIAL[name])

    def pieces(self, ids: Any) -> list[str]:
        """Returns the pieces of ids, as in the vocabulary."""
        wanted = [index(id) for id in items(ids, "ids", "int")]
        for id in wanted:
            if not 0 <= id < len(self):
                raise IndexError(f"id {id} of {len(self)}")
        return [text(lib.nvdp_tokenizer_piece(self._pointer, id)) for id in wanted]

    def encode(self, text: str, pair: str | None = None, max_length: int = 512) -> np.ndarray:
        """Returns [n] int32 ids of a text or pair, including special tokens, cut to max_length."""
        return self([text], None if pair is None else [pair], max_length).ids

    def __call__(self, texts: Sequence[str], pairs: Sequence[str] | None = None, max_length: int = 512) -> Record:
        """Tokenizes texts or pairs, and concatenates them without padding: `ids` and `types` [T] int32, `offset` [N + 1]. Text i has
        ids[offset[i]:offset[i + 1]]. `longest` is the maximum length in tokens, `truncated` the number of texts cut to max_length."""
        data = self._dataset(texts, pairs, max_length)
        total = data.offset[data.count]
        return Record(
            ids=view(data.ids, (total,), np.int32, data),
            types=view(data.types, (total,), np.int32, data),
            offset=view(data.offset, (data.count + 1,), np.uintp, data),
            longest=data.longest,
            truncated=data.truncated,
        )

    def _dataset(self, texts: Sequence[str], pairs: Sequence[str] | None, max_length: int) -> Any:
        texts, pairs = text_pairs(texts, pairs)
        (first, keep), (second, _also) = strings(texts), strings(pairs)
        return self._context.make("struct nvdp_dataset", lib.nvdp_dataset_free, lib.nvdp_dataset_from_texts,
                                  self._pointer, max_length, len(keep), first, second)  # fmt: skip
