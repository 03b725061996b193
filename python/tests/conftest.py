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
