import os
from pathlib import Path

import numpy as np
import pytest

import nvdp

SOURCE = Path(os.environ.get("NVDP_SOURCE", Path(__file__).parents[2])).resolve()


@pytest.fixture(scope="session")
def compact() -> Path:
    """The encoder that comes with the library."""
    return SOURCE / "models" / "compact"


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def posteriors(rng):
    """Five texts of 2 to 6 tokens in 3 dimensions, hidden lengths."""
    n = [2, 3, 4, 5, 6]
    return nvdp.Posteriors([rng.normal(size=(k, 3)) for k in n], [rng.normal(0, 0.1, size=(k, 3)) for k in n],
                           [rng.uniform(1, 2, k) for k in n], length=8, pad_alpha=0.5)  # fmt: skip


WORDS = ["film", "story", "plot", "end", "day", "way", "man", "time"]


def texts_of(rng, n):
    """Texts that say their label."""
    labels = rng.integers(0, 2, n)
    texts = [" ".join(["good" if label else "bad", *rng.choice(WORDS, 4)]) for label in labels]
    return texts, ["pos" if label else "neg" for label in labels]


@pytest.fixture(scope="session")
def trained(tmp_path_factory, compact):
    """A run of some seconds, and the progress that was told."""
    rng = np.random.default_rng(2)
    texts, labels = texts_of(rng, 96)
    texts[0] = 'good\tfilm\n"of the day'  # as it is, in a file too
    told = []
    run = nvdp.train(texts, labels, model=compact, out=tmp_path_factory.mktemp("runs") / "run", dev=texts_of(rng, 24), epochs=2, batch=16,
                     max_length=10, latent_dim=8, lr=3e-4, cache=None, progress=told.append, threads=2)  # fmt: skip
    return run, told


@pytest.fixture(scope="session")
def run(trained):
    return trained[0]
