"""Text privatization token by token: d_chi-private mechanisms on word vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._lib import Context, NvdpValueError, absolute, array, c_text, ffi, lib, owned_text, pointer, rebuild, record, result_of, text, text_list
from .results import DchiWorst, Deniability, Distances, Inversion, SanitizerInfo, TextMechanismInfo
from .tokenizer import tidy

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import SanitizerArguments

UNKNOWN = -1
"""The token of a word without a vector; its output is a uniform draw."""


def text_mechanism(context: Context, name: str) -> TextMechanismInfo:
    """Returns the properties of a mechanism: mechanism (-1 if it is not on tokens), uses_eta, uses_p, gives_vectors,
    on_sequence ..."""
    found = result_of("struct nvdp_text_mechanism_info")
    context.call(lib.nvdp_text_mechanism_describe, c_text(name, "mechanism"), found)
    return record(found[0])


class Mechanism:
    """A mechanism on a table of vectors.

    vectors: [V, d]; a token is a row number of this table.
    mechanism: a value of the option mechanism of `nvdp sanitize`.
    eta: nats per unit of distance (SanText's epsilon). p, and sensitive [V] bool, are for santext-plus.
    """

    def __init__(self, vectors: Any, mechanism: str, eta: float = 1.0, *, p: float = 0.0, sensitive: Any = None):
        context = Context()
        known = text_mechanism(context, mechanism)
        if known.mechanism < 0:
            raise NvdpValueError(f"mechanism: expected a mechanism that draws tokens, found {mechanism}")
        values = array(vectors, dimensions=2, name="vectors")
        table = context.make("struct nvdp_vectors", lib.nvdp_vectors_free, lib.nvdp_vectors_create, *values.shape,
                             pointer(values))  # fmt: skip
        self._again: tuple[Any, ...] = rebuild, (Mechanism, (values, mechanism, eta), {"p": p, "sensitive": sensitive})
        chosen = None if sensitive is None else array(sensitive, np.uint8, 1, "sensitive")
        if known.uses_p and (chosen is None or chosen.size != len(values)):
            raise NvdpValueError(f"sensitive: {mechanism} needs an array of {len(values)} bool, one per token")
        self._take(context, table, context.make("struct nvdp_dchi", lib.nvdp_dchi_free, lib.nvdp_dchi_create, table,
                                                known.mechanism, eta, p,
                                                pointer(chosen, "unsigned char")), table)  # fmt: skip

    def _take(self, context: Context, table: Any, mechanism: Any, *keep: Any) -> None:
        self._context, self._table, self._pointer, self._keep = context, table, mechanism, keep

    def __reduce__(self) -> Any:
        return self._again

    def __len__(self) -> int:
        return lib.nvdp_vectors_count(self._table)

    @property
    def dim(self) -> int:
        """d, the length of a vector."""
        return lib.nvdp_vectors_dim(self._table)

    def _texts(self, texts: Any) -> tuple[np.ndarray, np.ndarray]:
        """Converts one or several token arrays to tokens and offsets."""
        if len(texts) == 0 or np.ndim(texts[0]) == 0:
            texts = [texts]
        rows = [array(item, np.int32, 1, "tokens") for item in texts]
        return np.concatenate(rows), np.cumsum([0] + [row.size for row in rows]).astype(np.uintp)

    def log_probabilities(self, tokens: Any) -> np.ndarray:
        """Returns the exact log P(y|x) [n, V] of tokens x [n]. Only for santext, santext-plus and random."""
        given = array(tokens, np.int32, 1, "tokens")
        out = np.empty((given.size, len(self)))
        self._context.call(lib.nvdp_dchi_log_probabilities, self._pointer, given.size, pointer(given, "int32_t"),
                           pointer(out, writable=True))  # fmt: skip
        return out

    def _draw(self, function: Any, kind: str, type: Any, width: tuple[int, ...], texts: Any,
              insecure_seed: int | None, first: int) -> Any:  # fmt: skip
        tokens, offset = self._texts(texts)
        out = np.empty((tokens.size, *width), type)
        key = ffi.NULL if insecure_seed is None else ffi.new("uint64_t *", insecure_seed)
        self._context.call(function, self._pointer, offset.size - 1, pointer(offset, "size_t"), pointer(tokens, "int32_t"),
                           key, first, pointer(out, kind, writable=True))  # fmt: skip
        if len(texts) == 0 or np.ndim(texts[0]) == 0:
            return out
        return np.split(out, offset[1:-1].astype(int))

    def sample(self, texts: Any, *, insecure_seed: int | None = None, first: int = 0) -> Any:
        """Draws an output token for every token of a text ([n] int32) or of a list of texts, from the operating
        system's generator. Not for laplace.

        insecure_seed: for tests and experiments; repeats the draw of text i as number first + i. Whoever knows the seed
            can undo the draws.
        """
        return self._draw(lib.nvdp_dchi_sample, "int32_t", np.int32, (), texts, insecure_seed, first)

    def perturb(self, texts: Any, *, insecure_seed: int | None = None, first: int = 0) -> Any:
        """Draws noised vectors [n, d] for the tokens of a text or of a list of texts, as in `sample`; for laplace and
        laplace-nearest."""
        return self._draw(lib.nvdp_dchi_perturb, "double", np.float64, (self.dim,), texts, insecure_seed, first)

    def divergence(self, a: Any, b: Any, orders: Any = 1.1) -> Any:
        """Computes the Renyi divergence between the outputs of texts a and b ([n] tokens each), nats, at one order or
        at [m] orders; +inf if lengths differ."""
        wanted, (x, y) = array(orders), (array(item, np.int32, 1, "tokens") for item in (a, b))
        out = np.empty(wanted.shape)
        self._context.call(lib.nvdp_dchi_divergence, self._pointer, wanted.size, pointer(wanted), x.size,
                           pointer(x, "int32_t"), y.size, pointer(y, "int32_t"), pointer(out, writable=True))  # fmt: skip
        return out if out.ndim else float(out)

    def _interval(self, function: Any, value: float, a: Any, b: Any) -> tuple[float, float]:
        x, y = (array(item, np.int32, 1, "tokens") for item in (a, b))
        out = ffi.new("struct nvdp_interval *")
        self._context.call(function, self._pointer, value, x.size, pointer(x, "int32_t"), y.size, pointer(y, "int32_t"), out)
        return out.low, out.high

    def _measure(self, kind: str, function: Any, of: Any, prior: Any, *arguments: Any) -> Any:
        weights = None if prior is None else array(prior, np.float64, 1, "prior")
        if weights is not None and weights.size != len(self):
            raise NvdpValueError(f"prior: expected {len(self)} weights, found {weights.size}")
        found = result_of(kind)
        self._context.call(function, of, pointer(weights), *arguments, found)
        return record(found[0])

    def distances(self, tokens: int = 1000, *, prior: Any = None, seed: int = 1) -> Distances:
        """Measures distances of the table from drawn tokens: `k`, `mean` (distance to the k-th nearest token;
        `neighbors` entries are set) and medians, as `nvdp sanitize --analyse geometry` does. prior: [V] weights of the
        draws; None for uniform draws."""
        return self._measure("struct nvdp_distances", lib.nvdp_distances_measure, self._table, prior, tokens, seed)

    def deniability(self, tokens: int = 1000, *, draws: int = 1000, prior: Any = None, seed: int = 1) -> Deniability:
        """Measures plausible deniability of tokens drawn as in `distances`: mean and quantiles of N_w, S_w, S* and of
        entropies in nats, as `nvdp sanitize --analyse deniability` does. draws: outputs per token. prior: [V] weights
        of the tokens; None for equal weights."""
        return self._measure("struct nvdp_deniability", lib.nvdp_deniability_measure, self._pointer, prior, tokens, draws, seed)

    def inversion(self, prior: Any, *, draws: int = 10000, seed: int = 1) -> Inversion:
        """Measures how often an attacker who knows the prior ([V] weights) identifies a token from its output:
        `nearest`, `bayes` ..., as `nvdp sanitize --analyse inversion` does."""
        if prior is None:
            raise TypeError("prior: expected [V] weights, found None")
        return self._measure("struct nvdp_inversion", lib.nvdp_dchi_inversion, self._pointer, prior, draws, seed)

    def epsilon(self, a: Any, b: Any, delta: float) -> tuple[float, float]:
        """Returns an interval (low, high), in nats, that contains the smallest epsilon of text a against text b at a
        delta. Exchange the texts for the other direction: the larger `high` holds for both directions."""
        return self._interval(lib.nvdp_dchi_epsilon, delta, a, b)

    def delta(self, a: Any, b: Any, epsilon: float) -> tuple[float, float]:
        """Returns an interval (low, high) that contains delta of text a against text b at an epsilon (nats). Exchange
        the texts for the other direction: the larger `high` holds for both directions."""
        return self._interval(lib.nvdp_dchi_delta, epsilon, a, b)

    def worst(self, inputs: int = 0, seed: int = 1) -> DchiWorst:
        """Computes the largest log ratio over pairs of the vocabulary (`value`, in nats), from all tokens if inputs is
        0. With `inputs` drawn tokens, `value` may be too small. `bound` is an upper bound of all finite ratios."""
        return self._context.result("struct nvdp_dchi_worst", lib.nvdp_dchi_worst, self._pointer, inputs, seed)


class Sanitizer(Mechanism):
    """A mechanism with words: the pieces of an encoder (model="models/minilm") or a file of word vectors
    (vectors="glove.txt").

    options: mechanism, eta (or epsilon), vocabulary_from, oov, p, sensitive, sensitive_from, sensitive_list,
        public_independent (`nvdp sanitize --help=all`). A text that is among the public texts of vocabulary_from or
        sensitive_from is refused, unless public_independent=True declares that the public texts were chosen
        independently of the private texts.

    Outputs are drawn from the whole vocabulary: if that of the encoder has pieces of other scripts, such as "##\u0279", so do outputs.
    With vocabulary_from, word vectors are drawn of words of these public texts alone.
    """

    def __init__(self, **options: Unpack[SanitizerArguments]):
        context = Context()
        given: dict[str, Any] = dict(options)
        for name in ("model", "vectors"):
            if given.get(name) is not None:
                given[name] = absolute(given[name], name)
        self._again = rebuild, (Sanitizer, (), given)
        config = context.config("sanitizer", given)
        self._sanitizer = context.make("struct nvdp_sanitizer", lib.nvdp_sanitizer_free, lib.nvdp_sanitizer_create, config)
        mechanism = lib.nvdp_sanitizer_dchi(self._sanitizer)
        if mechanism == ffi.NULL:
            raise NvdpValueError("sensitive_from_data, vocabulary_from=TASK: these options read the words of files; use nvdp.sanitize on the files")
        self._take(context, lib.nvdp_sanitizer_vectors(self._sanitizer), mechanism)

    @property
    def info(self) -> SanitizerInfo:
        """Properties: mechanism, eta, tokens V, dim, sensitive ..."""
        out = result_of("struct nvdp_sanitizer_info")
        lib.nvdp_sanitizer_describe(self._sanitizer, out)
        return record(out[0])

    def tokens(self, text: str) -> np.ndarray:
        """Returns [n] int32 tokens of a text; UNKNOWN for a word without a vector."""
        if not isinstance(text, str):
            raise TypeError(f"text: expected str, found {type(text).__name__}")
        source = text.encode("utf-8", "surrogatepass")
        out = ffi.new("struct nvdp_token_list *")
        try:
            self._context.call(lib.nvdp_sanitizer_tokenize, self._sanitizer, source, len(source), out)
            return np.array(ffi.unpack(out.token, out.count) if out.count else [], np.int32)
        finally:
            lib.nvdp_token_list_free(out)

    def text(self, tokens: Any) -> str:
        """Joins tokens to a text; pieces as the tokenizer's decoder does, as Tokenizer.decode()."""
        given, out = array(tokens, np.int32, 1, "tokens"), ffi.new("char **")
        self._context.call(lib.nvdp_sanitizer_text, self._sanitizer, given.size, pointer(given, "int32_t"), out)
        found = owned_text(out[0])
        return tidy(found) if self.info.pieces else found

    def word(self, token: int) -> str:
        """Returns the word or piece of a token."""
        return text(lib.nvdp_sanitizer_word(self._sanitizer, token))

    def find(self, word: str) -> int:
        """Returns the token of a word or piece, or UNKNOWN."""
        return lib.nvdp_sanitizer_find(self._sanitizer, c_text(word, "word"))

    def sanitize(self, texts: Sequence[str], *, insecure_seed: int | None = None) -> list[str]:
        """Privatizes texts token by token. Not for laplace, whose outputs are vectors (`perturb`). insecure_seed: as in
        `sample`."""
        rows = [self.tokens(one) for one in text_list(texts)]
        return [self.text(row) for row in self.sample(rows, insecure_seed=insecure_seed)] if rows else []
