"""Posteriors: the distributions that a bottleneck assigns to texts, and their privacy measures."""

from __future__ import annotations

from operator import index
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._lib import Context, NvdpValueError, absolute, array, c_text, ffi, freed, items, lib, pointer, rebuild, result_of, text, typed, view
from .measures import ExactLoss, _checked
from .results import Linkage, PairsSummary, PosteriorSummary, Privacy

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import PairsArguments, PrivacyArguments


def _parts(part: Any, dimensions: int, name: str) -> list[np.ndarray] | None:
    if part is None:
        return None
    return [array(item, dimensions=dimensions, name=f"{name}[{i}]") for i, item in enumerate(items(part, name, "arrays"))]


class Posteriors:
    """The posteriors of N texts with T tokens in total, in p dimensions.

    mu, logvar: [T, p] means and log variances, text after text, or lists with one [n, p] array per text.
    alpha: [T] pseudo-counts, or a list of [n] arrays; None for a Gaussian mechanism.
    offset: [N + 1], needed with arrays of all texts: text i has the rows offset[i] to offset[i + 1].
    length: length in tokens to which all texts are padded, so that lengths are hidden; None if lengths are public.
    prior_alpha, pad_alpha: pseudo-counts of the prior's component and of padding.
    kappa: number of vectors drawn per component.

    Prior (mu 0, variance 1) and padding are not stored. float64 arrays are not copied.
    """

    def __init__(self, mu: Any, logvar: Any, alpha: Any = None, *, offset: Any = None, length: int | None = None,
                 prior_alpha: float = 1.0, pad_alpha: float = 1.0, kappa: int = 1, clip_sequence: float = 0.0,
                 method: str = "nvdp"):  # fmt: skip
        if offset is None and not hasattr(mu, "ndim"):
            parts = [_parts(part, dimensions, name) for part, dimensions, name in ((mu, 2, "mu"), (logvar, 2, "logvar"), (alpha, 1, "alpha"))]
            if not parts[0]:
                raise NvdpValueError("mu: expected a list with an [n, p] array per text, found none")
            for name, part in zip(("logvar", "alpha"), parts[1:]):
                if part is not None and [len(item) for item in part] != [len(item) for item in parts[0]]:
                    raise NvdpValueError(f"{name}: expected an array of as many rows as mu per text")
            offset = np.concatenate([[0], np.cumsum([len(item) for item in parts[0]])])
            try:
                mu, logvar, alpha = (None if part is None else np.concatenate(part) for part in parts)
            except ValueError as reason:
                raise NvdpValueError(f"mu, logvar: expected [n, p] arrays with the same p: {reason}") from None
        elif offset is None:
            raise NvdpValueError("offset: needed with arrays of all texts; or give lists with an array per text")
        offset = array(offset, np.int64, 1, "offset")
        if offset.size == 0 or offset[0] != 0 or (np.diff(offset) < 0).any():
            raise NvdpValueError("offset: expected [N + 1] row numbers from 0, ascending")
        offset = offset.astype(np.uintp)
        mu, logvar = array(mu, dimensions=2, name="mu"), array(logvar, dimensions=2, name="logvar")
        rows = int(offset[-1]) if offset.size else 0
        if mu.shape != logvar.shape or len(mu) != rows:
            raise NvdpValueError(f"mu, logvar: expected the shape [{rows}, p], as many rows as offset states, found {mu.shape} and {logvar.shape}")
        if alpha is not None:
            alpha = array(alpha, dimensions=1, name="alpha")
            if alpha.size != rows:
                raise NvdpValueError(f"alpha: expected {rows} numbers, as many as offset states, found {alpha.size}")
        out = ffi.new("struct nvdp_posteriors *")
        self._keep = [offset, mu, logvar, alpha]
        out.texts, out.dim = offset.size - 1, mu.shape[1]
        out.offset, out.mu, out.logvar = pointer(offset, "size_t"), pointer(mu), pointer(logvar)
        out.alpha = ffi.NULL if alpha is None else pointer(alpha)
        out.prior_alpha, out.pad_alpha, out.kappa, out.clip_sequence = prior_alpha, pad_alpha, kappa, clip_sequence
        out.policy = lib.NVDP_LENGTH_PUBLIC if length is None else lib.NVDP_LENGTH_HIDDEN
        out.length = length or 0
        if len(c_text(method, "method")) >= len(out.method):
            raise NvdpValueError(f"method: expected at most {len(out.method) - 1} bytes, found {method!r}")
        out.method = c_text(method, "method")
        self._keep += [out.offset, out.mu, out.logvar, out.alpha]
        self._take(Context(), out)

    def _take(self, context: Context, posteriors: Any) -> Posteriors:
        self._context, self._pointer = context, posteriors
        context.call(lib.nvdp_posteriors_check, posteriors, ffi.NULL)
        return self

    @classmethod
    def _of(cls, context: Context, posteriors: Any) -> Posteriors:
        return cls.__new__(cls)._take(context, posteriors)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Posteriors:
        """Reads a file of kind posteriors/1."""
        context = Context()
        return cls._of(context, context.make("struct nvdp_posteriors", lib.nvdp_posteriors_free,
                                             lib.nvdp_posteriors_read, c_text(absolute(path), "path")))  # fmt: skip

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a file of kind posteriors/1."""
        self._context.call(lib.nvdp_posteriors_write, c_text(absolute(path), "path"), self._pointer)

    def __reduce__(self) -> Any:
        of = self._pointer
        settings = {name: getattr(of, name) for name in ("prior_alpha", "pad_alpha", "kappa", "clip_sequence")}
        arrays = self.mu, self.logvar, self.alpha
        return rebuild, (Posteriors, arrays, {**settings, "offset": self.offset, "length": self.length, "method": self.method})

    def __repr__(self) -> str:
        lengths = "public lengths" if self.length is None else f"lengths hidden in {self.length}"
        return f"nvdp.Posteriors: {len(self)} text{'s' * (len(self) != 1)}, {self._rows} vectors of {self.dim} numbers, method {self.method}, {lengths}"

    def __len__(self) -> int:
        return self._pointer.texts

    @property
    def dim(self) -> int:
        """p, the length of a vector."""
        return self._pointer.dim

    @property
    def length(self) -> int | None:
        """Length in tokens to which all texts are padded; None if lengths are public."""
        return self._pointer.length if self._pointer.policy == lib.NVDP_LENGTH_HIDDEN else None

    @property
    def offset(self) -> np.ndarray:
        """[N + 1] first row of each text, and T."""
        return view(self._pointer.offset, (len(self) + 1,), np.uintp, self)

    @property
    def _rows(self) -> int:
        return int(self._pointer.offset[len(self)])

    @property
    def mu(self) -> np.ndarray:
        """[T, p] means."""
        return view(self._pointer.mu, (self._rows, self.dim), np.float64, self)

    @property
    def logvar(self) -> np.ndarray:
        """[T, p] log variances."""
        return view(self._pointer.logvar, (self._rows, self.dim), np.float64, self)

    @property
    def alpha(self) -> np.ndarray | None:
        """[T] pseudo-counts; None for a Gaussian mechanism."""
        return view(self._pointer.alpha, (self._rows,), np.float64, self)

    @property
    def method(self) -> str:
        """Name of the method that computed the posteriors, as in the option of training."""
        return text(self._pointer.method)

    def _text(self, i: int) -> int:
        if not -len(self) <= index(i) < len(self):
            raise IndexError(f"text {i} of {len(self)}")
        return index(i) % len(self)

    def renyi(self, i: int, j: int, order: float = 1.1) -> float:
        """Computes D_order, in nats, between the samples of texts i and j, over all values that one release shares."""
        return _checked(lib.nvdp_renyi_texts(order, self._pointer, self._text(i), self._text(j)), "renyi")

    def exact(self, i: int, j: int, releases: int = 1) -> ExactLoss:
        """Returns the exact privacy loss of `releases` samples of text i against as many samples of text j. exact(j, i)
        may be larger."""
        loss = ExactLoss.__new__(ExactLoss)
        loss._take(self._context, lib.nvdp_exact_texts, self._pointer, self._text(i), self._text(j), releases)
        loss._again = Posteriors.exact, (self, i, j, releases)
        return loss

    def pairs(self, order: float = 1.1, **options: Unpack[PairsArguments]) -> tuple[NDArray[np.float64], PairsSummary]:
        """Measures the divergences of all ordered pairs. Returns a matrix [N, N] in nats, with row P, column Q and NaN
        for pairs that are not adjacent, and a summary (max, mean, quantiles of `sum`, `per_component`,
        `per_component_dim`).

        options: adjacency ("all", "same-length"), arithmetic ("fast", "exact").
        """
        config = self._context.config("privacy", {"order": order, **options})
        matrix = np.empty((len(self), len(self)))
        found = self._context.result("struct nvdp_pairs_summary", lib.nvdp_renyi_pairs, self._pointer, config,
                                     pointer(matrix, writable=True))  # fmt: skip
        return matrix, found

    def privacy(self, **options: Unpack[PrivacyArguments]) -> Privacy:
        """Measures everything: re-identification, divergences of all pairs, Bayesian DP, epsilon at a delta, in nats.
        Returns the report of `nvdp privacy --json`. `rd` and `bound` are for one sample of a text; `epsilon`, `exact`,
        `bdp`, `linkage` and `guess` are for `releases` samples together. Only `bound` holds for other texts.

        options: order, delta, gamma, releases, exact=True, max_pairs, pair="I,J" ... (`nvdp privacy --help=all`).
        """
        config = self._context.config("privacy", options)
        report = freed("struct nvdp_privacy_report")
        self._context.call(lib.nvdp_privacy_measure, self._pointer, config, ffi.NULL, report)
        self._context.call(lib.nvdp_linkage_measure, self._pointer, report.bdp.releases, 1000, int(options.get("seed") or 1), report.linkage)
        return typed(Privacy, self._context.json(report))

    def _linkage(self, releases: int, texts: int, seed: int) -> Any:
        found = result_of("struct nvdp_linkage")
        self._context.call(lib.nvdp_linkage_measure, self._pointer, releases, texts, seed, found)
        return found

    def linkage(self, *, releases: int = 1, texts: int = 0, seed: int = 1) -> Linkage:
        """Measures re-identification: how often an attacker with the model and the texts identifies the text of
        `releases` samples, by the best possible guess. Returns `sentence`, and the numbers with intervals. texts:
        maximum number of texts, drawn randomly; 0 for all texts."""
        return typed(Linkage, self._context.json(self._linkage(releases, texts, seed)))

    def summary(self) -> PosteriorSummary:
        """Returns statistics of the posteriors: spread of weights, means, standard deviations. These statistics
        guarantee nothing."""
        return self._context.result("struct nvdp_posterior_summary", lib.nvdp_posteriors_summarize, self._pointer)
