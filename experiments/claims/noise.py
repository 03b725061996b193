"""Draws and distances that several defenses share."""
import numpy as np


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def laplace(shape, rate, rng):
    """Draws vectors of density proportional to exp(-rate |z|): a uniform direction times a Gamma(width, 1/rate) length (Feyisetan et al. 2020)."""
    direction = unit(rng.standard_normal(shape, np.float32))
    return direction * rng.gamma(shape[-1], 1 / rate, shape[:-1] + (1,)).astype(np.float32)


def squared(samples, vectors):
    """Returns the squared distance of each sample to its vector."""
    difference = samples - vectors
    return np.einsum("...i,...i", difference, difference)


def gaussian(deviation):
    """Returns a log density, up to a constant, of normal noise with this deviation."""
    return lambda samples, vectors: -squared(samples, vectors) / (2 * deviation**2)
