"""Truncation: only the first k dimensions are given away (Kusupati et al. 2022 train embeddings for that; they promise no privacy)."""
from noise import squared

NAME, FIXED = "Truncation", True
CLAIM = "smaller vectors; no epsilon"
READ = "no text: the code is the definition (arXiv 2205.13147 trains embeddings for it)"
FINDING = "There is no noise, so two texts whose samples differ are told apart with certainty: epsilon is infinite, and the audit shows as much as its samples can"
STRENGTHS = {"%d dimensions" % k: dict(k=k) for k in (128, 32, 8)}


def release(vectors, rng, k):
    return vectors[..., :k]


def log_density(samples, vectors, k):
    return -squared(samples, vectors[..., :k])
