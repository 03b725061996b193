"""An encoder in memory: hidden states and sentence vectors, without noise. They are not private."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._lib import Context, NvdpError, NvdpValueError, absolute, array, as_asked, chunks, ffi, lib, log, pointer, rebuild, record, result_of, stream, text_list, text_pairs
from ._progress import counting
from .results import EncoderInfo
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import EncodeArguments, EncoderArguments

_POOLS = "mean, cls, max, mean_sqrt_len_tokens, weightedmean, lasttoken, none"


class Encoder:
    """An encoder from a directory in Hugging Face or sentence-transformers layout, or from RUN/model of a run of method base or
    reg.

    options: max_length, pool ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "none"), normalize
    ("yes", "no"), batch; the defaults come from the directory, and pool="mean" where the directory has none, which a warning tells.
    threads: number of threads; None: one per processor.
    """

    def __init__(self, model: str | PathLike[str], *, threads: int | None = None, **options: Unpack[EncoderArguments]):
        self._context = Context()
        self._context.set_threads(threads)
        self.path = absolute(model, "model")
        self._options = {"threads": threads, **options}
        config = self._context.config("encoder", {"model": self.path, **options})
        self._pointer = self._context.make("struct nvdp_encoder", lib.nvdp_encoder_free, lib.nvdp_encoder_load, config)
        out = result_of("struct nvdp_encoder_info")
        lib.nvdp_encoder_describe(self._pointer, out)
        if out.vector_size == 0 and options.get("pool") in (None, "auto"):
            log.warning("%s: the folder states no pooling: vectors are means of the tokens' states (pool mean; others: %s)", self.path, _POOLS[6:])
            config = self._context.config("encoder", {"model": self.path, **options, "pool": "mean"})
            self._pointer = self._context.make("struct nvdp_encoder", lib.nvdp_encoder_free, lib.nvdp_encoder_load, config)
            lib.nvdp_encoder_describe(self._pointer, out)
        self.info: EncoderInfo = record(out[0])
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

    def _run(self, texts: Any, pairs: Any, pooled: bool, prompt: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        if pooled and not self.info.vector_size:
            raise NvdpValueError(f"pool: expected a pooling for vectors of texts, found none; the choices are {_POOLS}")
        before = self.info.prompt if prompt is None else prompt
        if pooled and before:
            texts = [before + text for text in text_list(texts)]
        data = self.tokenizer._dataset(texts, pairs, self.info.max_length)
        offset = np.array(ffi.unpack(data.offset, data.count + 1), np.intp) if data.count else np.zeros(1, np.intp)
        shape = (data.count, self.dim) if pooled else (int(offset[-1]), self.info.hidden_size)
        out = np.empty(shape, np.float32)
        given = pointer(out, "float", writable=True)
        self._context.call(lib.nvdp_encoder_run, self._pointer, data, *((ffi.NULL, given) if pooled else (given, ffi.NULL)))
        return out, offset

    def encode(self, texts: str | Iterable[str], pairs: str | Iterable[str] | None = None, *, batch_size: int | None = None,
               show_progress_bar: bool | None = None, normalize_embeddings: bool = False, convert_to_numpy: bool = True,
               convert_to_tensor: bool = False, dtype: Any = None, truncate_dim: int | None = None, precision: str = "float32",
               prompt: str | None = None) -> Any:  # fmt: skip
        """Returns [N, p] float32, one vector per text ([p] for a str): the pooled states of its tokens, behind the folder's
        default prompt if it has one. The arguments are those of sentence-transformers.

        prompt: put before each text, in place of the folder's default; "": none. truncate_dim: number of leading columns to return.
        precision: "float32", or "int8", "uint8", "binary", "ubinary", as sentence-transformers quantizes.

        batch_size: texts per call of the library, which has batches of its own; None: all. convert_to_tensor: a torch tensor; dtype:
        "float32", "float16", "float64", "bfloat16" (tensors only) or a dtype. convert_to_numpy=False: a list of tensors.
        """
        if prompt and not self._sentence.get("include_prompt", True):
            raise NvdpError(f"prompt: {self.path} pools without the prompt's tokens (include_prompt), which this encoder cannot; expected none", "ERR_UNSUPPORTED")
        asked = normalize_embeddings, convert_to_numpy, convert_to_tensor, dtype, truncate_dim, precision
        as_asked(np.zeros((0, self.dim), np.float32), False, *asked)
        one = isinstance(texts, str)
        first, second = text_pairs([texts] if one else texts, [pairs] if isinstance(pairs, str) and one else pairs)
        size = batch_size if batch_size is not None else 1024 if show_progress_bar else max(len(first), 1)
        columns = [iter(first)] if second is None else [iter(first), iter(second)]
        parts = []
        with counting(len(first), "encode", show_progress_bar if len(first) > size else False) as count:
            for part in chunks(columns, size, "batch_size"):
                parts.append(self._run(part[0], part[1] if second is not None else None, True, prompt)[0])
                count(len(part[0]))
        vectors = np.concatenate(parts) if parts else self._run([], None, True)[0]
        return as_asked(vectors, one, *asked)

    def encode_query(self, texts: str | Iterable[str], **options: Unpack[EncodeArguments]) -> Any:
        """Returns [N, p] vectors of queries, as encode(), behind the folder's prompt "query" if it has one. options: as of encode()."""
        given: dict[str, Any] = {"prompt": self.prompts.get("query"), **options}
        return self.encode(texts, **given)

    def encode_document(self, texts: str | Iterable[str], **options: Unpack[EncodeArguments]) -> Any:
        """Returns [N, p] vectors of documents, as encode(), behind the folder's prompt "document", "passage" or "corpus" if it has one."""
        prompt = next((self.prompts[name] for name in ("document", "passage", "corpus") if name in self.prompts), None)
        given: dict[str, Any] = {"prompt": prompt, **options}
        return self.encode(texts, **given)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> np.ndarray:
        """Returns the [N, M] cosines of [N, p] and [M, p] vectors without noise, or their products if the folder's similarity_fn_name is
        "dot". nvdp.similarity is for vectors with noise."""
        one, two = (np.atleast_2d(array(values, name=name)) for values, name in ((embeddings1, "embeddings1"), (embeddings2, "embeddings2")))
        name = self._sentence.get("similarity_fn_name") or "cosine"
        if name not in ("cosine", "dot"):
            raise NvdpError(f"similarity: expected cosine or dot as similarity_fn_name of {self.path}, found {name}", "ERR_UNSUPPORTED")
        if name == "cosine":
            one, two = (values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12) for values in (one, two))
        return np.asarray(one @ two.T)

    @property
    def prompts(self) -> dict[str, str]:
        """The prompts of the folder by name, such as "query"; {}: it has none."""
        return dict(self._sentence.get("prompts") or {})

    def get_sentence_embedding_dimension(self) -> int:
        """Returns p, the length of a vector, as sentence-transformers names it."""
        return self.dim

    @property
    def _sentence(self) -> dict[str, Any]:
        """The settings of the folder for sentence-transformers, with `include_prompt` of the pooling."""
        found: dict[str, Any] = {}
        for path in sorted(Path(self.path).glob("*_Pooling/config.json")) + [Path(self.path, "config_sentence_transformers.json")]:
            if path.is_file():
                found.update(json.loads(path.read_text("utf-8")))
        return found

    def encode_iter(self, texts: Iterable[str], *, chunk_size: int = 4096, **options: Unpack[EncodeArguments]) -> Iterator[Any]:
        """Yields encode()'s vector of each text of any iterable, a generator too. Memory: one chunk of texts. options: as of encode()."""
        for (chunk,) in chunks([stream(texts, "texts", "str")], chunk_size, "chunk_size"):
            yield from self.encode(chunk, **options)

    def states(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[np.ndarray]:
        """Returns the last hidden states of each text: [n, d] float32 for its n tokens, including special ones."""
        states, offset = self._run(texts, pairs, False)
        return np.split(states, offset[1:-1]) if len(offset) > 1 else []
