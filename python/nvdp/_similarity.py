"""Similarities of noisy vectors, corrected for the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._lib import NvdpValueError, array


@dataclass(frozen=True, eq=False)
class Similarity:
    """Estimated inner products of means, arrays [N, M]: a row per first vector, a column per second one."""

    product: np.ndarray
    """Unbiased estimates of the inner products of the vectors without noise, float64. The noise can make them negative."""
    deviation: np.ndarray
    """Estimated standard deviations of `product`, float64: product +- 1.96 deviation holds for about 95 % of pairs that were chosen before
    the look. The largest of many estimates are too large on average."""


def _vectors(values: Any, name: str) -> np.ndarray:
    given = np.asarray(values.cpu() if hasattr(values, "cpu") else values)
    if given.dtype.kind != "f":
        raise NvdpValueError(f"{name}: expected vectors of precision 'float32', found {given.dtype}")
    vectors = array(np.atleast_2d(given), dimensions=2, name=name)
    if len(vectors) and (np.abs(np.linalg.norm(vectors, axis=1) - 1) < 1e-6).all():
        raise NvdpValueError(f"{name}: expected vectors with normalize_embeddings=False, found vectors of length 1, whose noise is not known")
    return vectors


def similarity(embeddings1: Any, embeddings2: Any = None, *, variance: Any = 1.0, variance2: Any = None) -> Similarity:
    """Estimates the inner products of the means of two sets of noisy vectors, with standard deviations: Similarity, arrays [N, M].

    embeddings1, embeddings2: [N, p] and [M, p] samples z = v + noise, not normalized and not quantized; None: the first ones, with themselves.
    variance: the noise's variance s in each column, one number or [p]: 1 for files with a sequence clip. variance2: the same for
    embeddings2; None: the same number; 0: vectors without noise.

    For independent noise, z.z' has the expectation v.v', and the variance sum(s' v^2 + s v'^2 + s s'), which
    sum(s' z^2 + s z'^2 - s s') estimates without bias; less than sum(s s') is impossible and becomes that. A vector that stands in both
    sets is one sample: |z|^2 - sum(s) estimates |v|^2, with the variance sum(4 s v^2 + 2 s^2) of Gaussian noise, from sum(4 s z^2 - 2 s^2).

        found = nvdp.similarity(shared.mean()[:, 0], variance=1 / shared.z.shape[2])
        found.product[0, 1], found.deviation[0, 1]
    """
    one = _vectors(embeddings1, "embeddings1")
    two = one if embeddings2 is None else _vectors(embeddings2, "embeddings2")
    if one.shape[1] != two.shape[1]:
        raise NvdpValueError(f"embeddings2: expected vectors of {one.shape[1]} numbers as in embeddings1, found {two.shape[1]}")
    s, t = array(variance), array(variance if variance2 is None else variance2)
    if any(part.shape not in ((), one.shape[1:]) or not ((part >= 0) & np.isfinite(part)).all() for part in (s, t)):
        raise NvdpValueError(f"variance: expected a number of at least 0, or one per column ({one.shape[1]}), found {variance!r} and {variance2!r}")
    s, t = np.broadcast_to(s, one.shape[1:]), np.broadcast_to(t, one.shape[1:])
    product = one @ two.T
    spread = np.maximum((one**2 @ t)[:, None] + (two**2 @ s)[None, :] - s @ t, s @ t)
    places: dict[bytes, list[int]] = {}
    for j, row in enumerate(two):
        places.setdefault(row.tobytes(), []).append(j)
    for i, row in enumerate(one):
        for j in places.get(row.tobytes(), []):
            product[i, j] -= s.sum()
            spread[i, j] = max(4 * (row**2 @ s) - 2 * (s @ s), 2 * (s @ s))
    return Similarity(product, np.sqrt(spread))
