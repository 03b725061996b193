"""Shared files: random samples of texts, and nothing else of the texts."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

import numpy as np

from ._lib import Context, Record, ffi, lib, pointer, record, result_of, view

_SPLITS = ("train", "dev", "test", "dev-mismatched", "test-mismatched")


class Shared:
    """A shared file, read completely and checked.

    texts: N; samples: S per text; dim: p; kappa, method, task, length_policy.
    rows: [R, p] float32, the vectors of all samples. offset: [N S + 1]; sample s of text i has the rows
    offset[i S + s] to offset[i S + s + 1]: the prior's, the tokens', padding.
    log_pi: [R] float32 log weights; None: a method without weights.
    label: [N] float32, NaN for a text without a label; split: [N] indices of the split names; id: [N]. Each is None if the file
    does not have it.
    """

    def __init__(self, path: str | PathLike[str]):
        self.path = fspath(path)
        self._context = context = Context()
        file = context.make("struct nvdp_shared", lib.nvdp_shared_free, lib.nvdp_shared_read, self.path.encode())
        out = result_of("struct nvdp_shared_info")
        context.call(lib.nvdp_shared_describe, file, out)
        info = record(out[0])
        self.texts: int = info.texts
        self.samples: int = info.samples
        self.dim: int = info.dim
        self.kappa: int = info.kappa
        self.method: str = info.method
        self.task: str = info.task
        self.length_policy: str = info.policy
        self._sample_rows: int = info.sample_rows
        n, r = info.texts, info.rows
        self.offset = view(out.offset, (n * info.samples + 1,), np.int64, file)
        self.log_pi = view(out.log_pi, (r,), np.float32, file)
        self.label = view(out.label, (n,), np.float32, file)
        self.split = view(out.split, (n,), np.int32, file)
        self.id = view(out.id, (n,), np.int64, file)
        self.rows = np.empty((r, info.dim), np.float32)
        context.call(lib.nvdp_shared_vectors, file, 0, r, pointer(self.rows, "float", writable=True))

    def __len__(self) -> int:
        """Returns N."""
        return self.texts

    @property
    def z(self) -> np.ndarray:
        """[N, S, M, p] vectors, if lengths are hidden; no copy."""
        return self.rows.reshape(self.texts, self.samples, self._hidden(), self.dim)

    @property
    def weights(self) -> np.ndarray | None:
        """[N, S, M] weights, if lengths are hidden; None: a method without weights."""
        if self.log_pi is None:
            return None
        return np.exp(self.log_pi).reshape(self.texts, self.samples, self._hidden())

    def _hidden(self) -> int:
        if self._sample_rows == 0:
            raise ValueError(f"{self.path}: the texts have different lengths; use rows and offset, or sample(i)")
        return self._sample_rows

    def sample(self, text: int, s: int = 0) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns sample s of a text: [M, p] vectors and [M] log weights."""
        if not (0 <= text < self.texts and 0 <= s < self.samples):
            raise IndexError(f"sample {s} of text {text}: the file has {self.samples} samples of each of {self.texts} texts")
        k = text * self.samples + s
        rows = slice(int(self.offset[k]), int(self.offset[k + 1]))
        return self.rows[rows], None if self.log_pi is None else self.log_pi[rows]

    def of_split(self, name: str) -> np.ndarray:
        """Returns [n] indices of the texts of a split: "train", "dev", "test" ..."""
        if self.split is None:
            raise ValueError(f"{self.path}: the file has no splits")
        return np.flatnonzero(self.split == _SPLITS.index(name))

    def verify(self, public_key: str | PathLike[str] | None = None) -> Record:
        """Checks the file for consistency: `holds`, the single checks, and `statement`, the statement of the file."""
        key = ffi.NULL if public_key is None else ffi.new("char[]", fspath(public_key).encode())
        found = self._context.result("struct nvdp_verification", lib.nvdp_verify, self.path.encode(), key)
        found["check"] = found.check[: found.checks]
        return found

    def torch(self, split: str | None = None) -> Any:
        """Returns a torch.utils.data.Dataset with one item per sample: {"z": [M, p], "log_pi": [M], "label": scalar, "text": index of
        the text}; keys that the file does not have are missing. The tensors share the file's memory."""
        from torch import from_numpy, tensor
        from torch.utils.data import Dataset

        shared, chosen = self, np.arange(self.texts) if split is None else self.of_split(split)

        class Samples(Dataset):  # type: ignore[type-arg]
            def __len__(self) -> int:
                return len(chosen) * shared.samples

            def __getitem__(self, k: int) -> dict[str, Any]:
                if not -len(self) <= k < len(self):
                    raise IndexError(k)
                i, s = divmod(k % len(self), shared.samples)
                text = int(chosen[i])
                z, log_pi = shared.sample(text, s)
                item = {"z": from_numpy(z), "text": tensor(text)}
                if log_pi is not None:
                    item["log_pi"] = from_numpy(log_pi)
                if shared.label is not None:
                    item["label"] = tensor(shared.label[text])
                return item

        return Samples()


def open(path: str | PathLike[str]) -> Shared:
    """Reads a file of kind embeddings/2 or /1 from `nvdp export`: HDF5, safetensors or Parquet, with the same arrays."""
    return Shared(path)
