"""Dropout: every number is set to zero with probability p, or multiplied by normal noise around 1 (Srivastava et al. 2014, sections 4 and 10)."""
import numpy as np
from noise import squared

NAME, DELTA = "Dropout", 1e-5
CLAIM = "a regularizer that is sometimes used as a defense; no epsilon"
READ = "no text: the code is the definition"
FINDING = ("A number that is kept is the text's number times a constant, and zero stays zero: two texts have disjoint sets of samples, so epsilon is infinite. With normal factors the "
           "noise shrinks with the number, so the loss of two texts has no bound: no pure epsilon exists, and one at a delta depends on the texts")
STRENGTHS = {"p .5": dict(p=.5, normal=False), "p .9": dict(p=.9, normal=False), "normal factors, deviation 1": dict(p=.5, normal=True),
             "normal factors, deviation 3": dict(p=.9, normal=True)}


# The normal factors have the variance p / (1 - p) of the factors 0 and 1 / (1 - p) (section 10).
def release(vectors, rng, p, normal):
    if normal:
        return vectors * (1 + np.float32(np.sqrt(p / (1 - p))) * rng.standard_normal(vectors.shape, np.float32))
    return vectors * (rng.random(vectors.shape, np.float32) >= p) / np.float32(1 - p)


# Without normal factors a sample is possible only if the numbers that are not zero are equal; how far they are apart says which text is possible.
def log_density(samples, vectors, p, normal):
    if normal:
        factors = samples / vectors
        return -squared(factors, np.float32(1)) * (1 - p) / (2 * p) - np.log(np.abs(vectors)).sum(-1)
    return -squared(samples * np.float32(1 - p), np.where(samples == 0, np.float32(0), vectors))


def exact(distance, p, normal):
    return None if normal else np.inf
