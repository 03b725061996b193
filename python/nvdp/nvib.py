"""The earlier name of nvdp.torch."""

from .torch import Bottleneck, Posterior, Sample

__all__ = ["Bottleneck", "Posterior", "Sample"]
