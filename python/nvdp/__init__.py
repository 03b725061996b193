"""Text embeddings that can be handed out, and how private they are.

A text becomes a posterior over a few weighted vectors; what is shared is one random sample of it.  How well samples of two
texts are told apart is a number, in nats: this package trains, measures and shares.  It is a thin layer on the C library
libnvdp: failures are NvdpError with the library's message, long work releases the GIL and stops on Ctrl-C, arrays are numpy's and
are not copied.  Messages go to the logger "nvdp".
"""

from ._lib import NvdpError, NvdpValueError, Record
from ._lib import lib as _library
from ._lib import text as _text
from .encoder import Encoder
from .measures import (
    Accountant, ExactLoss, account, audit, bdp, bdp_subsampled, gdp_delta, gdp_epsilon, gdp_mu, guess_attribute,
    guess_bound, guess_clip, renyi_dirichlet,
    renyi_discrete, renyi_epsilon, renyi_gaussian, renyi_laplace, renyi_most,
    renyi_sequence_bound, renyi_subsampled,
)  # fmt: skip
from .posteriors import Posteriors
from .runs import Run, options, presets, resume, sanitize, text_privacy, train
from .sanitizer import Mechanism, Sanitizer
from .shared import Shared
from .shared import open as open
from .tokenizer import Tokenizer

__version__: str = _text(_library.nvdp_version())
__all__ = ["Accountant", "Encoder", "ExactLoss", "Mechanism", "NvdpError", "NvdpValueError", "Posteriors", "Record", "Run",
           "Sanitizer", "Shared", "Tokenizer", "account", "audit", "bdp", "bdp_subsampled", "gdp_delta", "gdp_epsilon",
           "gdp_mu", "guess_attribute", "guess_bound", "guess_clip", "options", "presets", "renyi_dirichlet", "renyi_discrete", "renyi_epsilon", "renyi_gaussian", "renyi_laplace",
           "renyi_most", "renyi_sequence_bound", "renyi_subsampled", "resume", "sanitize", "text_privacy", "train"]  # fmt: skip
"""nvdp.open is not among them: it would hide Python's own."""
