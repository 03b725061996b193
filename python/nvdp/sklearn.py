"""A scikit-learn transformer from texts to random samples of them. Needs scikit-learn."""

from __future__ import annotations

import dataclasses
import difflib
import hmac
import inspect
import json
import secrets
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Optional

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_random_state

from ._lib import NvdpValueError, items, text_list
from ._progress import Progress
from .private_encoder import PrivateEncoder
from .runs import KeepTexts, Run
from .training_options import TrainingOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import Arguments

_OF_FILES = {"task", "data", "text_column", "text_pair_column", "label_column", "out", "resume"}
"""Options of training that fit() sets itself."""


class NvdpTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Trains an encoder with a bottleneck on texts and labels, and transforms texts into samples, with randomness of the operating
    system, as `nvdp export` does. Each call of transform draws new samples and is another release of the texts. The run's ledger
    counts releases, and refuses a text beyond the number of samples that the run was certified for, which is one by default.

    model: directory of an encoder; preset, progress, threads: as in nvdp.train.
    out: the run's directory; None: a temporary one, which is removed with the estimator, and at once if fit fails.
    run: a finished run instead of training: fit then only opens it.
    budget_samples: maximum number of samples per text over all calls of transform; 0: as many as the run was certified for.
    same_release: True: a later transform of the same sequence of texts, as a whole and in its order, returns the samples of the first one and
        spends nothing, so that predict(X) and score(X) of a pipeline agree. A single text is never looked up: equal rows would share a sample.
        Copies of this object (pickle, joblib) keep these samples, and keyed digests of the sequences.
    duplicates: what transform does about a text that occurs in several rows, as `nvdp export --duplicates`.
    pooling: None: all vectors of a sample; "mean": their mean by their weights.
    keep_texts: False: no text outlives fit, in no file and no cache, only keyed digests in the run; "dev": the texts held out, for
        measures with `run_`; True: all.
    random_state: seed of the training, an int or a RandomState; None: the option seed. The samples' noise has no seed.
    Options of training are parameters too (nvdp.TrainingOptions documents them): epochs, lr, lambda_g, certified_epsilon ...;
    None leaves one to the preset. options: a dict of more.

    After fit: run_, encoder_ (nvdp.PrivateEncoder), classes_. After transform: statement_, the privacy statement of the last samples.

    A copy that pickle, joblib or a Pipeline's `memory` loaded does not transform until encoder_.attach(folder) names the folder with the
    ledger: `out`, `run`, or that of encoder_.save_pretrained(folder). clone gives an estimator without a run.
    """

    def __init__(self, model: str | PathLike[str] | None = None, *, preset: str | None = "auto",
                 out: str | PathLike[str] | None = None, options: dict[str, Any] | None = None,
                 run: str | PathLike[str] | None = None, budget_samples: int = 0, duplicates: Optional[Literal["refuse", "each"]] = None,
                 pooling: Optional[str] = None, same_release: bool = False, keep_texts: KeepTexts = False, random_state: Any = None, regression: Optional[bool] = None, progress: Progress = None,
                 threads: int | None = None, **more: Unpack[Arguments]):  # fmt: skip
        self.model = model
        self.preset = preset
        self.out = out
        self.options = options
        self.run = run
        self.budget_samples = budget_samples
        self.duplicates = duplicates
        self.pooling = pooling
        self.same_release = same_release
        self.keep_texts = keep_texts
        self.random_state = random_state
        self.regression = regression
        self.progress = progress
        self.threads = threads
        given: dict[str, Any] = dict(more)
        for name in _OPTIONS:
            setattr(self, name, given.pop(name, None))
        for name in given:
            near = difflib.get_close_matches(name, _PARAMETERS, 1)
            raise TypeError(f"NvdpTransformer() has no parameter '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))

    def fit(self, X: Sequence[str], y: Any = None) -> NvdpTransformer:
        """X: [N] texts; y: [N] classes, or scores with regression=True."""
        if self.pooling not in (None, "mean"):
            raise NvdpValueError(f"pooling: expected None or 'mean', found {self.pooling!r}")
        if self.run is not None:
            self.encoder_ = PrivateEncoder.from_pretrained(self.run, threads=self.threads)
        elif y is None:
            raise ValueError("y: expected one class per text, found None: this estimator requires y to be passed")
        else:
            options = {name: getattr(self, name) for name in _OPTIONS if getattr(self, name) is not None}
            options.update(self.options or {})
            if self.random_state is not None:
                if "seed" in options:
                    raise NvdpValueError("random_state: expected none beside the option seed, found both")
                state = self.random_state
                options["seed"] = int(state if isinstance(state, (int, np.integer)) else check_random_state(state).randint(2**31 - 1))
            encoder = PrivateEncoder(self.model, threads=self.threads)
            self.encoder_ = encoder.fit(text_list(X, "X"), items(y, "y", "labels"), out=self.out, preset=self.preset, progress=self.progress,
                                        regression=bool(self.regression), keep_texts=self.keep_texts, **options)  # fmt: skip
        self.classes_ = np.array(self.run_.info.labels or [])
        self._secret, self.statement_ = secrets.token_bytes(32), ""
        self._released: dict[bytes, tuple[np.ndarray, str]] = {}
        return self

    @property
    def run_(self) -> Run:
        """The finished run."""
        return self.encoder_.run

    def transform(self, X: Sequence[str]) -> np.ndarray:
        """Returns [N, F] float32, one sample per row: its vectors, concatenated; with weights, each vector is followed by its log weight.
        Equal texts have samples of their own, and the ledger counts each. Lengths must be hidden, unless pooling is "mean": [N, p] then."""
        self._check_lengths()
        texts = text_list(X, "X", some=True)
        key = hmac.digest(self._secret, json.dumps([self.pooling, *texts]).encode(), "sha256") if self.same_release else b""
        if key in self._released:
            kept, self.statement_ = self._released[key]
            return kept.copy()
        shared = self.encoder_.release(texts, budget_samples=self.budget_samples, duplicates=self.duplicates)
        self.statement_ = shared.verify().statement
        if self.pooling == "mean":
            rows = shared.mean()[:, 0]
        else:
            rows = shared.z[:, 0]
            if shared.log_pi is not None:
                rows = np.concatenate([rows, shared.log_pi.reshape(*rows.shape[:2], 1)], axis=2)
            rows = rows.reshape(len(shared), -1)
        if self.same_release:
            self._released[key] = rows.copy(), self.statement_
        return rows

    def _check_lengths(self) -> None:
        """Fails before anything is drawn."""
        check_is_fitted(self)
        if self.pooling is None and self.run_.info.length == 0:
            raise NvdpValueError("pooling: expected 'mean' for a run of public lengths, whose samples have different lengths, found None")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Returns the [F] names of the columns: z3_17 is number 17 of vector 3, log_pi3 its log weight; with pooling z17."""
        self._check_lengths()
        info = self.run_.info
        numbers = range(info.latent_dim)
        if self.pooling == "mean":
            return np.array([f"z{i}" for i in numbers], object)
        weights = self.run_.posteriors([""]).alpha is not None
        vectors = range((info.length + weights) * info.kappa)
        return np.array([name for k in vectors for name in (*(f"z{k}_{i}" for i in numbers), *([f"log_pi{k}"] if weights else []))], object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.non_deterministic = True
        tags.requires_fit = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _signature() -> inspect.Signature:
    """Returns the constructor's signature with a parameter per option, which scikit-learn reads."""
    known = list(inspect.signature(NvdpTransformer.__init__).parameters.values())[:-1]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in _OPTIONS]
    return inspect.Signature([*known, *more])


_OPTIONS: list[str] = []
_OPTIONS += [field.name for field in dataclasses.fields(TrainingOptions)
             if field.name not in _OF_FILES | set(inspect.signature(NvdpTransformer.__init__).parameters)]  # fmt: skip
_PARAMETERS = list(_signature().parameters)[1:]
NvdpTransformer.__init__.__signature__ = _signature()  # type: ignore[attr-defined]
