"""SPARSE: Laplace noise in the Mahalanobis norm of a mask, which is 1 for dimensions that show a concept and 0 for others.

Tsai, Hsiao, Chen & Lin, ICLR 2026 (arXiv 2602.07090). The paper learns the mask by hard-concrete gates; ours keeps the quarter of the dimensions whose
change is the most significant when the words of the concept are removed from texts."""
import numpy as np
from noise import laplace, squared

NAME, DELTA = "SPARSE", 0
CLAIM = "epsilon metric local DP in the Mahalanobis norm of the mask: epsilon is multiplied by the distance of two embeddings in that norm"
DIFFERS = "the mask is chosen by a statistic of ours, not learned by gates"
READ = ("abstract; public summaries of theorem 1, of Sigma = diag(m_i + 1e-6), scaled to the trace of the identity, and of the experiments (epsilon 5 to 40). "
        "There is no public code")
FINDING = ("Nothing contradicts the claim. But dimensions outside the mask have almost no noise, so in that norm even the closest two texts are far apart, and samples "
           "name their texts. The paper means to hide the words of a concept, not which text it is")
STRENGTHS = {"epsilon %d" % epsilon: dict(epsilon=epsilon) for epsilon in (5, 10, 40)}
CONCEPT = {"film", "films", "movie", "movies", "cinema", "picture", "documentary", "comedy", "drama", "thriller", "story", "director", "actors", "screen"}
KEPT, CONTRASTS = .25, 500  # share of the dimensions in the mask; pairs of texts that choose it


def prepare(study, rng):
    pairs = [(text, " ".join(word for word in text.split() if word not in CONCEPT)) for text in study.public()[0][0]]
    pairs = [(text, without) for text, without in pairs if text != without and len(without.split()) > 3]
    with_, without = np.split(study.encode("concept", sum(zip(*pairs[:CONTRASTS]), ())), 2)
    change = np.abs((with_ - without).mean(0)) / (with_ - without).std(0)
    return {"variance": variance(change >= np.quantile(change, 1 - KEPT))}


def variance(mask):
    return (mask * len(mask) / mask.sum() + 1e-6).astype(np.float32)


# Theorem 1: z = x + n with density proportional to exp(-epsilon |n|_M), |n|_M = sqrt(n' Sigma^-1 n). So n is Sigma^(1/2) times spherical Laplace noise.
def release(vectors, rng, epsilon, variance):
    return vectors + np.sqrt(variance) * laplace(vectors.shape, epsilon, rng)


def log_density(samples, vectors, epsilon, variance):
    return -epsilon * np.sqrt(squared(samples / np.sqrt(variance), vectors / np.sqrt(variance)))


def claimed(x, y, epsilon, variance):
    return epsilon * float(np.sqrt(squared(x / np.sqrt(variance), y / np.sqrt(variance))))
