"""Random rotation: all vectors are multiplied by one secret orthogonal matrix.

Chen & Liu, ICDM 2005. Giannella, Liu & Kargupta 2013 (arXiv 0911.2942) attack such releases with known inputs, as we do: an attacker who knows some texts and
their samples aligns both by Procrustes."""
import numpy as np
from noise import squared

NAME, FIXED = "Random rotation", True
CLAIM = "obfuscation; no epsilon"
READ = "abstracts of both papers"
FINDING = ("One key for all texts keeps all distances, so whoever knows as many pairs as there are dimensions has the key, and knows much with fewer. Shown and exact take the key "
           "as fixed; with a key that is used once, a sample shows nothing but its length")
STRENGTHS = {"%d known pairs" % pairs: dict(pairs=pairs) for pairs in (0, 50, 150, 400)}


# A matrix with normal entries has a QR factor that is uniform over the orthogonal matrices, if R's diagonal is positive (Stewart 1980).
def prepare(study, rng):
    q, r = np.linalg.qr(rng.standard_normal((study.options.width, study.options.width)))
    return {"key": (q * np.sign(np.diag(r))).astype(np.float32)}


def release(vectors, rng, pairs, key):
    return vectors @ key


# Procrustes (Schoenemann 1966): the orthogonal map from samples Z to vectors X is U V' of the singular value decomposition of Z' X. Directions
# that the pairs do not span stay unknown and are left out.
def undo(samples, known_samples, known_vectors):
    if len(known_samples) == 0:
        return samples
    u, values, v = np.linalg.svd(known_samples.T @ known_vectors)
    rank = int((values > 1e-6 * values[0]).sum())
    return samples @ (u[:, :rank] @ v[:rank])


def log_density(samples, vectors, pairs, key):
    return -squared(samples, vectors)
