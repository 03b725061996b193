"""Control: our own release, `nvdp export --model`, whose certificate holds for any two texts (docs/vib.md, `sentence`)."""
import numpy as np
from decision import epsilon_of
from noise import gaussian, unit

NAME, DELTA, CONTROL = "Ours: `sentence`", 1e-5, True
CLAIM = "(epsilon, delta) local DP: it covers any two texts"
READ = "docs/vib.md; docs/proofs.md"
FINDING = "The control: no audit may show more than the certificate"
STRENGTHS = {"C %g" % clip: dict(clip=clip) for clip in (.83, 1.45, 3)}


# docs/vib.md: z = C v/|v| + N(0, I). Two means are at most 2 C apart, which is theorem 8 of Balle & Wang 2018 with sensitivity 2 C.
def release(vectors, rng, clip):
    return np.float32(clip) * unit(vectors) + rng.standard_normal(vectors.shape, np.float32)


def log_density(samples, vectors, clip):
    return gaussian(1)(samples, np.float32(clip) * unit(vectors))


def claimed(x, y, clip):
    return epsilon_of(clip, DELTA)


def exact(distance, clip):
    return epsilon_of(clip * distance / 2, DELTA)
