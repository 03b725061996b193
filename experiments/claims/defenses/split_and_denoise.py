"""Split-and-Denoise: d_chi noise on the vector of every token.

Mai, Yan, Huang, Yang & Pang, ICML 2024 (arXiv 2310.09130). The client looks up the token embeddings, adds noise, and sends them to the server, which runs
the encoder. The client's denoiser works on the server's answer and does not change what the server sees, so it is left out."""
import numpy as np
from noise import laplace, squared

NAME, DELTA, INPUT = "Split-and-Denoise", 0, "tokens"
CLAIM = "eta d_chi privacy of every token: epsilon is eta times the distance of two tokens' embeddings"
DIFFERS = "without the client's denoiser, which does not change what the server sees; the receiver reads the mean of the noised vectors: the score is not the paper's utility"
READ = ("abstract; the authors' code, repository NusIoraPrivacy/eaas-privacy: `--clip norm` scales to the largest norm, and `run.sh` has eta 50, 100 and 150. "
        "Its `sample_noise_Chi` draws a length per coordinate and not per vector, so its noise is 11 times larger at 384 dimensions; ours is that of the definition")
FINDING = ("Nothing contradicts the claim. But it is a claim per distance: for the farthest two tokens it is so large that it excludes nothing, and the "
           "tokens of a text add up")
STRENGTHS = {"eta %d" % eta: dict(eta=eta) for eta in (50, 100, 150)}


def prepare(study, rng):
    return {"bound": float(np.linalg.norm(study.word_embeddings(), axis=1).max())}


# d_chi privacy (Chatzikokolakis et al. 2013; Feyisetan et al. 2020): z = x + n with density proportional to exp(-eta |n|), and the norm of z clipped.
def release(vectors, rng, eta, bound):
    noised = vectors + laplace(vectors.shape, eta, rng)
    return noised * np.minimum(1, bound / np.linalg.norm(noised, axis=-1, keepdims=True))


# The clip hides little but the length, which is almost constant: of equal lengths, the nearest vector is the likeliest.
def log_density(samples, vectors, eta, bound):
    return -squared(samples, vectors)


def claimed(x, y, eta, bound):
    return eta * float(np.linalg.norm(x - y))
