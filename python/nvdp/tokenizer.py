"""Tokenizers: split texts into the pieces that an encoder reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import index
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._lib import Context, NvdpValueError, Result, absolute, c_text, ffi, items, lib, rebuild, strings, text, text_pairs, view

_SPECIAL = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}


def _letters() -> dict[str, int]:
    """Returns the byte of each letter in byte-level pieces. A printable Latin-1 letter stands for its byte; letters
    from U+0100 on stand for the other bytes."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return {**{chr(byte): byte for byte in plain}, **{chr(0x100 + i): byte for i, byte in enumerate(sorted(set(range(256)) - set(plain)))}}


_LETTERS = _letters()


def _bytes_of(piece: str) -> bytes:
    if set(piece) <= _LETTERS.keys():
        return bytes(_LETTERS[letter] for letter in piece)
    return piece.encode()  # an added piece, which is plain text


def tidy(words: str) -> str:
    """Removes the blanks before punctuation and in contractions, as a WordPiece decoder does."""
    return re.sub(r" ([.?!,]|n't|'(?:m|s|ve|re)\b)", r"\1", words).replace(" ' ", "'").strip()


class Tokens(Result):
    """Tokens of texts, end to end, or with padding the last three."""

    ids: NDArray[np.int32]
    types: NDArray[np.int32]
    offset: NDArray[np.uintp]
    longest: int
    truncated: int
    input_ids: Any
    attention_mask: Any
    token_type_ids: Any


class Tokenizer:
    """A WordPiece, byte-level BPE or Unigram tokenizer, from a directory in Hugging Face layout: vocab.txt, or
    vocab.json and merges.txt, or sentencepiece.bpe.model, or tokenizer.json."""

    def __init__(self, folder: str | PathLike[str]):
        context, path = Context(), absolute(folder, "folder")
        self._take(context, context.make("struct nvdp_tokenizer", lib.nvdp_tokenizer_free, lib.nvdp_tokenizer_load,
                                         c_text(path, "folder")), (rebuild, (Tokenizer, (path,), {})))  # fmt: skip

    def _take(self, context: Context, tokenizer: Any, again: tuple[Any, ...], *keep: Any) -> Tokenizer:
        """Wraps a tokenizer of the library. again: a function and arguments that create the tokenizer again, for
        pickle. keep: the owner."""
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

    def __call__(self, texts: Sequence[str], pairs: Sequence[str] | None = None, max_length: int = 512, *, padding: bool | str = False,
                 truncation: bool = True, return_tensors: str | None = None) -> Tokens:  # fmt: skip
        """Tokenizes texts or pairs, and concatenates them without padding: `ids` and `types` [T] int32, `offset` [N +
        1]. Text i has ids[offset[i]:offset[i + 1]]. `longest` is the maximum length in tokens, `truncated` the number
        of texts cut to max_length.

        padding: True, "longest" or "max_length" returns [N, L] int64 `input_ids`, `attention_mask` and
            `token_type_ids`, as in transformers, padded to the longest text or to max_length. return_tensors: "np", or
            "pt" for torch.
        truncation: if False, a text longer than max_length is an error.
        """
        if padding not in (True, False, "longest", "max_length", "do_not_pad"):
            raise NvdpValueError(f"padding: expected True, False, 'longest' or 'max_length', found {padding!r}")
        if return_tensors not in (None, "np", "pt"):
            raise NvdpValueError(f"return_tensors: expected 'np' or 'pt', found {return_tensors!r}")
        data = self._dataset(texts, pairs, max_length)
        if not truncation and data.truncated > 0:
            raise NvdpValueError(f"truncation: expected texts of at most {max_length} tokens, found {data.truncated} longer ones")
        total = data.offset[data.count]
        found = Tokens(
            ids=view(data.ids, (total,), np.int32, data),
            types=view(data.types, (total,), np.int32, data),
            offset=view(data.offset, (data.count + 1,), np.uintp, data),
            longest=data.longest,
            truncated=data.truncated,
        )
        if padding in (False, "do_not_pad"):
            if return_tensors is not None:
                raise NvdpValueError("return_tensors: expected padding=True, without which texts have different lengths, found no padding")
            return found
        length = np.diff(found.offset.astype(np.intp))
        mask = np.arange(max_length if padding == "max_length" else data.longest) < length[:, None]
        made = Tokens()
        for name, values, fill in (("input_ids", found.ids, self.special("pad")), ("attention_mask", 1, 0), ("token_type_ids", found.types, 0)):
            made[name] = np.full(mask.shape, fill, np.int64)
            made[name][mask] = values
        if return_tensors == "pt":
            from torch import from_numpy

            made = Tokens((name, from_numpy(values)) for name, values in made.items())
        return made

    def decode(self, ids: Any, skip_special_tokens: bool = False) -> str:
        """Returns the text of ids. Case, accents and blanks may be lost, because a tokenizer can drop them."""
        special = {self.special(name) for name in _SPECIAL} if skip_special_tokens else set()
        ids = ids.tolist() if hasattr(ids, "tolist") else items(ids, "ids", "int")
        pieces = self.pieces([id for id in ids if id not in special])
        if self.id("\u0120the") >= 0 or self.id("\u0120") >= 0:  # byte-level pieces
            return bytes(byte for piece in pieces for byte in _bytes_of(piece)).decode("utf-8", "replace")
        if self.id("\u2581") >= 0 or self.id("\u2581the") >= 0:
            return "".join(pieces).replace("\u2581", " ").removeprefix(" ")
        words = "".join(piece[2:] if piece.startswith("##") and i > 0 else f" {piece}" for i, piece in enumerate(pieces))
        return tidy(words)

    def batch_decode(self, rows: Any, skip_special_tokens: bool = False) -> list[str]:
        """Returns the texts of rows of ids."""
        return [self.decode(row, skip_special_tokens) for row in rows]

    def _dataset(self, texts: Sequence[str], pairs: Sequence[str] | None, max_length: int) -> Any:
        texts, pairs = text_pairs(texts, pairs)
        (first, keep), (second, _also) = strings(texts), strings(pairs)
        return self._context.make("struct nvdp_dataset", lib.nvdp_dataset_free, lib.nvdp_dataset_from_texts,
                                  self._pointer, max_length, len(keep), first, second,
                                  quick=sum(map(len, texts)) + sum(map(len, pairs or ())) < 10000)  # fmt: skip
