"""Private text embeddings: training, privacy measures and sharing.

A text becomes a posterior over a few weighted vectors, and one random sample of the posterior is shared. The divergence
between the samples of two texts, in nats, measures how well an attacker can distinguish them. This package is a thin layer on
the C library libnvdp. Failures raise NvdpError with the library's message. Long work releases the GIL and stops on Ctrl-C.
Arrays are NumPy arrays and are not copied. Messages go to the logger "nvdp".
"""

import inspect as _inspect
from importlib.util import find_spec as _find_spec
from pathlib import Path as _Path

if _find_spec("nvdp.results") is None:
    raise ImportError("nvdp.results: expected a module that the build writes, found none; install what it needs and build again: python3 -m pip install cffi numpy; NVDP_PYTHON=python3 scripts/build.sh release nvdp_shared")

from . import results as results
from ._lib import NvdpError, NvdpValueError
from ._lib import lib as _library
from ._lib import text as _text
from ._similarity import Similarity, similarity
from .distributed import ReleaseFunction, release_function
from .encoder import Encoder
from .measures import (
    Accountant, ExactLoss, account, audit, bdp, bdp_subsampled, gdp_delta, gdp_epsilon, gdp_mu, guess_attribute,
    guess_bound, guess_clip, renyi_dirichlet,
    renyi_discrete, renyi_epsilon, renyi_gaussian, renyi_laplace, renyi_probability_bound,
    renyi_sequence_bound, renyi_subsampled,
)  # fmt: skip
from .posteriors import Posteriors
from .private_encoder import PrivateEncoder
from .runs import Run, attack, options, presets, result_fields, resume, sanitize, text_privacy, train
from .sanitizer import Mechanism, Sanitizer
from .shared import SearchHits, Shared, export_encoder, gate, verify
from .shared import open as open
from .summary import Reader, Summary, reuse, summarize
from .tokenizer import Tokenizer
from .training_options import TrainingOptions
from .vectors import GaussianRelease


__version__: str = _text(_library.nvdp_version())
__all__ = ["Accountant", "Encoder", "ExactLoss", "GaussianRelease", "Mechanism", "NvdpError", "NvdpValueError", "Posteriors", "PrivateEncoder", "Reader", "ReleaseFunction", "Run",
           "Sanitizer", "SearchHits", "Shared", "Similarity", "Summary", "Tokenizer", "TrainingOptions", "account", "attack", "audit", "bdp", "bdp_subsampled", "export_encoder", "gate", "gdp_delta",
           "gdp_epsilon",
           "gdp_mu", "guess_attribute", "guess_bound", "guess_clip", "options", "presets", "renyi_dirichlet", "renyi_discrete", "renyi_epsilon", "renyi_gaussian", "renyi_laplace",
           "release_function", "renyi_probability_bound", "renyi_sequence_bound", "renyi_subsampled", "result_fields", "resume", "reuse", "sanitize", "similarity", "summarize", "text_privacy", "train", "verify"]  # fmt: skip
"""Excludes nvdp.open, which would hide the built-in open."""

for _part in _Path(__file__).with_name("examples.txt").read_text("utf-8").rstrip().split("\n\n")[1:]:
    _name, _, _example = _part.partition(":\n")
    globals()[_name].__doc__ = f"{_inspect.cleandoc(globals()[_name].__doc__ or '')}\n\n{_example}"
