"""A saved PrivateEncoder as a module of sentence-transformers: what the model encodes, it releases."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import torch
from sentence_transformers.base.modules import InputModule

from ._lib import NvdpError, NvdpValueError, text_list
from .private_encoder import PrivateEncoder

__all__ = ["Bottleneck"]


class Bottleneck(InputModule):
    """The only module of a SentenceTransformer: draws one random sample of each text through the ledger, and never merely encodes.

    encoder: a PrivateEncoder, or a folder of save_pretrained(). A copy without the ledger refuses to encode (ERR_STATE): one from a hub, a
    pickle, the processes of encode(device=[...]). budget_samples: as in PrivateEncoder.encode(), also an argument of the model's encode().

    The model's encode() calls the module per batch, and each batch is a release of its own: if a later one is refused, the samples of earlier
    ones are counted and lost. PrivateEncoder.encode() releases all or nothing. The model's similarity() is the product of samples, which
    estimates the product of means for different rows; nvdp.similarity has its error, and corrects rows with themselves. Prompts are refused.
    """

    forward_kwargs = {"budget_samples"}
    save_in_root = True

    def __init__(self, encoder: PrivateEncoder | str | PathLike[str], *, budget_samples: int = 0):
        super().__init__()  # type: ignore[no-untyped-call]
        self.encoder = encoder if isinstance(encoder, PrivateEncoder) else PrivateEncoder.from_pretrained(encoder)
        self.budget_samples = budget_samples
        self.max_seq_length = self.encoder.run.info.max_length

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any) -> dict[str, Any]:
        """Returns the texts as they are; the library tokenizes. Refuses a prompt, with which the ledger would count a text as another one."""
        if prompt:
            raise NvdpValueError(f"prompt: expected none, found {prompt!r}: with a prompt, the ledger would count the text as another one, with a budget of its own")
        return {"texts": text_list(list(inputs), "inputs", some=True)}

    def forward(self, features: dict[str, Any], budget_samples: int | None = None, **kwargs: Any) -> dict[str, Any]:
        """Gives away a sample of each text: `sentence_embedding` is its [N, p] mean vector."""
        budget = self.budget_samples if budget_samples is None else budget_samples
        features["sentence_embedding"] = torch.from_numpy(self.encoder.encode(features["texts"], budget_samples=budget))
        return features

    def get_embedding_dimension(self) -> int:
        """Returns p, the length of a vector."""
        return self.encoder.dim

    get_sentence_embedding_dimension = get_embedding_dimension

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Refuses: PrivateEncoder.save_pretrained() moves the ledger, so that no budget doubles."""
        raise NvdpError("save: expected model[0].encoder.save_pretrained(folder), which moves the ledger, found a model's save()", "ERR_UNSUPPORTED")

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", token: Any = None, cache_folder: Any = None, revision: str | None = None,
             local_files_only: bool = False, init_defaults: Any = None, **kwargs: Any) -> Bottleneck:  # fmt: skip
        """Opens a folder of PrivateEncoder.save_pretrained(), or a repository of push_to_hub(), which cannot release."""
        return cls(PrivateEncoder.from_pretrained(model_name_or_path, token=token, revision=revision))
