"""Quantization: every number is rounded to 8 bits of the vector's largest number, or to its sign.

A study of inversion from 2025 (arXiv 2507.07700) reports that 8 bits disturb one inversion model and keep the retrieval; it promises no epsilon."""
import numpy as np
from noise import squared

NAME, FIXED = "Quantization", True
CLAIM = "a lightweight defense against one inversion model; no epsilon"
READ = "public summaries of arXiv 2507.07700"
FINDING = "There is no noise, as with truncation: epsilon is infinite. Eight bits lose nothing that these attackers need, and signs lose little"
STRENGTHS = {"8 bits": dict(bits=8), "signs": dict(bits=1)}


def release(vectors, rng, bits):
    if bits == 1:
        return np.sign(vectors) / np.sqrt(np.float32(vectors.shape[-1]))
    step = np.abs(vectors).max(axis=-1, keepdims=True) / (2 ** (bits - 1) - 1)
    return np.rint(vectors / step) * step


def log_density(samples, vectors, bits):
    return -squared(samples, release(vectors, None, bits))
