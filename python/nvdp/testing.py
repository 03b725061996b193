"""Measuring before anything is given away. Needs scikit-learn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from ._lib import NvdpValueError, items
from .private_encoder import PrivateEncoder
from .shared import Shared
from .vectors import GaussianRelease


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of classifiers on texts that they were not trained on."""

    scores: NDArray[np.float64]
    """[draws, folds]: accuracy, or R^2 of numbers."""
    mean: float
    """Mean of the scores."""
    sd: float
    """Standard deviation over draws of the mean over folds; NaN for one draw."""


def samples(encoder: Union[PrivateEncoder, GaussianRelease], texts: Any, *, seed: int = 1) -> Shared:
    """Draws samples of texts, or of vectors, with noise from a seed: for experiments, never to be given away. No ledger counts them, and the
    file is gone with the object."""
    folder = tempfile.TemporaryDirectory(prefix="nvdp-")
    path = os.path.join(folder.name, "shared.h5")
    if isinstance(encoder, GaussianRelease):
        encoder.release(texts, out=path, no_ledger=True, insecure_seed=seed, duplicates="each")
    else:
        encoder.run.export(texts, path, no_ledger=True, insecure_seed=seed, duplicates="each", measure_texts=2)
    return Shared(path)._keep(folder)


def cross_validate(encoder: Union[PrivateEncoder, GaussianRelease], texts: Any, y: Sequence[Any], *, estimator: Any = None, folds: int = 5,
                   draws: int = 3, seed: int = 1) -> CrossValidation:  # fmt: skip
    """Scores a classifier on noisy vectors by cross validation, as a receiver would train one: what a release would be worth, without a
    release. The noise comes from a seed, no ledger counts it, and nothing of it leaves this function but the scores.

    encoder: a trained PrivateEncoder, or a GaussianRelease with vectors in place of texts. If the encoder was trained on these texts, the scores
    are too good. y: [N] classes, or floats. estimator: of scikit-learn; None: a logistic or ridge regression. folds: stratified for classes.
    draws: draws of the noise, with the seeds from `seed` on. The scores are computed from the texts without privacy: publish none of them.
    """
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    answers = np.array(items(y, "y", "labels"))
    if len(answers) != len(texts) or draws < 1:
        raise NvdpValueError(f"y, draws: expected {len(texts)} answers and at least 1 draw, found {len(answers)} and {draws}")
    numbers = answers.dtype.kind == "f"
    model = estimator if estimator is not None else Ridge() if numbers else LogisticRegression(max_iter=1000)
    splits = (KFold if numbers else StratifiedKFold)(folds, shuffle=True, random_state=seed)
    scores = np.array([cross_val_score(model, samples(encoder, texts, seed=seed + i).mean()[:, 0], answers, cv=splits) for i in range(draws)])
    return CrossValidation(scores, float(scores.mean()), float(scores.mean(1).std(ddof=1)) if draws > 1 else float("nan"))
