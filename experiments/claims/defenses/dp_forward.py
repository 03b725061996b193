"""DP-Forward: normal noise on the embedding matrix, which is scaled to norm C = 1.

Du, Yue, Chow, Wang, Huang & Sun, CCS 2023 (arXiv 2309.06746). The abstract promises local DP by an analytic matrix Gaussian mechanism. A sentence
embedding is a matrix of one row; for more rows, norm and sensitivity are those of the flattened matrix."""
import numpy as np
from decision import clip_of, epsilon_of
from noise import gaussian, unit

NAME, DELTA = "DP-Forward", 1e-5
CLAIM = "(epsilon, delta) local DP of whole sequences: it covers any two texts"
DIFFERS = "one centered sentence vector, not the matrix of all tokens, and no training with the noise: the score is not the paper's utility"
READ = ("abstract; the authors' code, repository xiangyue9607/DP-Forward: in `dp_noise.py`, `_max_norm_clip` scales the flattened matrix to norm at most C = 1, and "
        "`get_noise_multiplier` takes sensitivity 1 for local DP. A comment in `run_glue.py` has 2 C for one position of the noise; the README speaks of metric-based local DP")
FINDING = ("Two matrices of norm C are up to 2 C apart. With noise for the sensitivity C, two texts show more than epsilon; with noise for 2 C the claim is right. "
           "C is right if a text is compared with an empty matrix, or if epsilon is per distance. We could not read the paper's own section on the sensitivity")
STRENGTHS = {"sensitivity %s, epsilon %d" % (name, epsilon): dict(epsilon=epsilon, sensitivity=s)
             for s, name in ((1, "C"), (2, "2 C")) for epsilon in (2, 4, 8, 16)}


# Balle & Wang 2018, theorem 8, is tight: epsilon and delta hold if and only if sensitivity / deviation is at most 2 clip_of(epsilon).
def deviation(epsilon, sensitivity):
    return sensitivity / (2 * clip_of(epsilon, DELTA))


def release(vectors, rng, epsilon, sensitivity):
    return unit(vectors) + np.float32(deviation(epsilon, sensitivity)) * rng.standard_normal(vectors.shape, np.float32)


def log_density(samples, vectors, epsilon, sensitivity):
    return gaussian(deviation(epsilon, sensitivity))(samples, unit(vectors))


def claimed(x, y, epsilon, sensitivity):
    return epsilon


def exact(distance, epsilon, sensitivity):
    return epsilon_of(distance / (2 * deviation(epsilon, sensitivity)), DELTA)
