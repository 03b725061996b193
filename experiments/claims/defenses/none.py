"""Control: the sentence embedding itself."""
from noise import squared

NAME, FIXED, CONTROL = "No defense", True, True
CLAIM = "nothing"
READ = ""
FINDING = "The control: an attacker or a receiver who finds nothing here is too weak"
STRENGTHS = {"all numbers": {}}


def release(vectors, rng):
    return vectors


def log_density(samples, vectors):
    return -squared(samples, vectors)
