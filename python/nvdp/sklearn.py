"""A scikit-learn transformer from texts to random samples of them. Needs scikit-learn."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._lib import items, text_list
from .runs import Progress, Run, train
from .shared import open as open_shared


class NvdpTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Trains an encoder with a bottleneck on texts and labels, and transforms texts into samples, with randomness of the operating
    system, as `nvdp export` does. Each call of transform draws new samples and is another release of the texts. The run's ledger
    counts releases, and refuses a text beyond the number of samples that the run was certified for, which is one by default.

    model: directory of an encoder; preset, out, progress, threads: as in nvdp.train; options: a dict of more options.
    run: a finished run instead of training: fit then only opens it.
    budget_samples: maximum number of samples per text over all calls of transform; 0: as many as the run was certified for.

    After fit: run_, classes_. After transform: statement_, the privacy statement of the samples.
    """

    def __init__(self, model: str | PathLike[str] | None = None, *, preset: str | None = "auto",
                 out: str | PathLike[str] | None = None, options: dict[str, Any] | None = None,
                 run: str | PathLike[str] | None = None, budget_samples: int = 0, progress: Progress = None,
                 threads: int | None = None):  # fmt: skip
        self.model = model
        self.preset = preset
        self.out = out
        self.options = options
        self.run = run
        self.budget_samples = budget_samples
        self.progress = progress
        self.threads = threads

    def fit(self, X: Sequence[str], y: Any = None) -> NvdpTransformer:
        """X: [N] texts; y: [N] classes."""
        if self.run is not None:
            self.run_ = Run(self.run, threads=self.threads)
        elif y is None:
            raise ValueError("y: expected one class per text, found None")
        else:
            self.run_ = train(text_list(X, "X"), items(y, "y", "labels"), model=self.model, preset=self.preset, out=self.out, progress=self.progress,
                              threads=self.threads, **(self.options or {}))  # fmt: skip
        self.classes_ = np.array(self.run_.info.labels or [])
        return self

    def transform(self, X: Sequence[str]) -> np.ndarray:
        """Returns [N, F] float32, one sample per text: its vectors, concatenated; with weights, each vector is followed by its log weight.
        Lengths must be hidden."""
        check_is_fitted(self, "run_")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "shared.h5")
            self.statement_: str = self.run_.export(text_list(X, "X", some=True), path, measure_texts=2, budget_samples=self.budget_samples).statement
            shared = open_shared(path)
        rows = shared.z[:, 0]
        if shared.log_pi is not None:
            rows = np.concatenate([rows, shared.log_pi.reshape(*rows.shape[:2], 1)], axis=2)
        return rows.reshape(len(shared), -1)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.non_deterministic = True
        tags.requires_fit = True
        tags.target_tags.required = True
        return tags
