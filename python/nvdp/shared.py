"""Shared files: random samples of texts, and nothing else of the texts."""

from __future__ import annotations

import builtins
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import index
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._lib import (
    Context, NvdpError, NvdpValueError, Result, absolute, array, c_text, check_callback, ffi, freed, lib, pointer, rebuild, record, result_of, scratch, strings, text, text_list, typed,
    view,
)  # fmt: skip
from ._progress import Progress, showing
from .results import ExportResult, Gate, Privacy, Verification

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import EncoderExportArguments, GateArguments

_SPLITS = ("train", "dev", "test", "dev-mismatched", "test-mismatched")


@dataclass(frozen=True, eq=False)
class SearchHits:
    """The hits of Shared.search: arrays [Q, k], a row per query and a column per rank."""

    text: NDArray[np.int64]
    """Indices of the texts in the file, int64."""
    id: NDArray[np.int64]
    """Their rows in the sender's input, int64."""
    cosine: NDArray[np.float64]
    """Unbiased estimates of the cosines of the centered embeddings, float64. The noise can take them beyond -1 and 1. Those of top hits are
    too large on average, because hits are the largest of many estimates: cosine +- margin_all holds for hits."""
    shrunken: NDArray[np.float64]
    """Expected cosines under a normal prior that is fitted to the estimates of all texts. They hold for hits, but are too small for a text
    that is much closer to the query than all others. The mean estimate if the estimates vary no more than the noise. Rough if the file has few texts:
    the prior's variance comes from N estimates, with a relative standard error of sqrt(2 / (N - 1))."""
    above: NDArray[np.float64]
    """Probabilities under this prior that a hit is closer to the query than the text after the last hit: too small for a text that is much
    closer than all others, .5 if the estimates vary no more than the noise, NaN if no text comes after the last hit."""
    deviation: float
    """Standard deviation of an estimate: 1/(C sqrt(S))."""
    margin: float
    """Half the width of the 95 % interval of a text that was chosen before the search, which a hit is not."""
    margin_all: float
    """Half the width of intervals that hold for all texts of the file together with 95 %, so also for the hits of one query."""


class SharedText(Result):
    """Text i of a Shared: arrays per sample, and what the file has of it."""

    z: list[NDArray[np.float32]]
    log_pi: list[NDArray[np.float32]] | None
    label: float | None
    split: str | None
    id: int | None


class Shared:
    """A shared file, read completely and checked.

    shared[i] is text i: a record of `z` (a [M, p] array per sample), `log_pi` (an [M] array per sample, or None), `label`, `split`
    and `id`; shared[i, s] is its sample s, as sample(i, s). Iteration gives the texts. All arrays but `rows` are read-only.
    texts: N; samples: S per text; dim: p; kappa, method, task, length_policy.
    rows: [R, p] float32, the vectors of all samples. offset: [N S + 1]; sample s of text i has the rows
    offset[i S + s] to offset[i S + s + 1]: the prior's, the tokens', padding.
    log_pi: [R] float32 log weights; None: a method without weights.
    label: [N] float32, NaN for a text without a label; split: [N] indices of the split names; id: [N]. Each is None if the file
    does not have it. class_names: the names of the classes that label numbers; None: scores, or an older file.
    """

    def __init__(self, path: str | PathLike[str]):
        self.path = absolute(path)
        self._context = context = Context()
        file = context.make("struct nvdp_shared", lib.nvdp_shared_free, lib.nvdp_shared_read, c_text(self.path, "path"))
        out = result_of("struct nvdp_shared_info")
        context.call(lib.nvdp_shared_describe, file, out)
        self._file = file
        self._searches: dict[str | None, Any] = {}
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
        names = None if out.label_names == ffi.NULL else json.loads(text(out.label_names))
        self.class_names: list[str] | None = names or None
        self._scores = names == []
        self._temporary: Any = None
        self.rows = np.empty((r, info.dim), np.float32)
        context.call(lib.nvdp_shared_vectors, file, 0, r, pointer(self.rows, "float", writable=True))

    def __len__(self) -> int:
        """Returns N."""
        return self.texts

    def __getitem__(self, text: Any) -> Any:
        if isinstance(text, slice):
            return [self[i] for i in range(*text.indices(self.texts))]
        if isinstance(text, tuple):
            i, s = text
            return self.sample(self._index(i, self.texts, "text"), self._index(s, self.samples, "sample"))
        i = self._index(text, self.texts, "text")
        parts = [self.sample(i, s) for s in range(self.samples)]
        log_pi = None if self.log_pi is None else [weights for _, weights in parts]
        split = None if self.split is None or not 0 <= self.split[i] < len(_SPLITS) else _SPLITS[self.split[i]]
        return SharedText(z=[z for z, _ in parts], log_pi=log_pi, label=None if self.label is None else float(self.label[i]),
                      split=split, id=None if self.id is None else int(self.id[i]))  # fmt: skip

    def __iter__(self) -> Iterator[SharedText]:
        return (self[i] for i in range(self.texts))

    @staticmethod
    def _index(i: Any, count: int, name: str) -> int:
        if not -count <= index(i) < count:
            raise IndexError(f"{name} {i} of {count}")
        return index(i) % count

    def __enter__(self) -> Shared:
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing: the file was closed when it had been read."""

    def _keep(self, folder: Any) -> Shared:
        """Keeps the temporary folder of the file as long as this object."""
        self._temporary = folder
        return self

    def save(self, path: str | PathLike[str]) -> Shared:
        """Copies the file, byte for byte, to a new one in the same format, and returns the copy."""
        target = absolute(path)
        if os.path.splitext(target)[1] != os.path.splitext(self.path)[1]:
            raise NvdpValueError(f"path: expected the ending of {os.path.basename(self.path)}, found {target}: a release chooses its format by `out`")
        with builtins.open(self.path, "rb") as source, builtins.open(target, "xb") as copy:
            shutil.copyfileobj(source, copy)
        return Shared(target)

    def __reduce__(self) -> Any:
        if self._temporary is not None:  # the file goes with this object, so its content travels
            with builtins.open(self.path, "rb") as file:
                return rebuild, (_from_bytes, (os.path.basename(self.path), file.read()), {})
        return rebuild, (Shared, (self.path,), {})

    def __repr__(self) -> str:
        try:
            guarantee = self.guarantee
        except NvdpError as reason:  # the file is gone, or was changed
            guarantee = f"not verified: {reason}"
        return (f"nvdp.Shared({self.path!r}): {self.texts} text{'s' * (self.texts != 1)}, {self.samples} sample{'s' * (self.samples != 1)} each, vectors of "
                f"{self.dim} numbers, method {self.method}. {guarantee}")  # fmt: skip

    @property
    def guarantee(self) -> str:
        """The guarantee of these samples in one line, or why no guarantee is useful; from verify()."""
        return self.verify().guarantee

    @property
    def z(self) -> NDArray[np.float32]:
        """[N, S, M, p] vectors, if lengths are hidden; no copy."""
        return self.rows.reshape(self.texts, self.samples, self._hidden(), self.dim)

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """[N, S, M] weights, if lengths are hidden; None: a method without weights."""
        if self.log_pi is None:
            return None
        return np.exp(self.log_pi).reshape(self.texts, self.samples, self._hidden())

    def mean(self) -> NDArray[np.float32]:
        """[N, S, p] float32: the mean of each sample's vectors by their weights. It reveals no more of the text
        than the sample, from which it is computed."""
        pi = np.ones(len(self.rows), np.float32) if self.log_pi is None else np.exp(self.log_pi)
        begin = self.offset[:-1]  # each sample has a row
        sums = np.add.reduceat(self.rows * pi[:, None], begin) if len(begin) else np.zeros((0, self.dim), np.float32)
        weight = np.add.reduceat(pi, begin) if len(begin) else np.zeros(0, np.float32)
        return (sums / weight[:, None]).reshape(self.texts, self.samples, self.dim)

    def decoded(self) -> NDArray[np.float32]:
        """[N, D] float32: the mean sample of each text through the file's decoder, in a file from a run with objective
        "distill" (otherwise ERR_UNSUPPORTED). It estimates the encoder's centered embedding, so cosines of rows estimate
        similarities of texts."""
        width = ffi.new("size_t *")
        self._context.call(lib.nvdp_shared_decode, self._file, 0, self.texts, ffi.NULL, width)
        found = np.empty((self.texts, width[0]), np.float32)
        self._context.call(lib.nvdp_shared_decode, self._file, 0, self.texts, pointer(found, "float", writable=True), ffi.NULL)
        return found

    def _hidden(self) -> int:
        if self._sample_rows == 0:
            raise NvdpValueError(f"{self.path}: lengths are public, and differ: use rows and offset, or sample(i)")
        return self._sample_rows

    def _rows(self, text: int, s: int) -> slice:
        if not (0 <= index(text) < self.texts and 0 <= index(s) < self.samples):
            raise IndexError(f"sample {s} of text {text}: there are {self.samples} of {self.texts}")
        k = text * self.samples + s
        return slice(int(self.offset[k]), int(self.offset[k + 1]))

    def sample(self, text: int, s: int = 0) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns sample s of a text: [M, p] vectors and [M] log weights."""
        rows = self._rows(text, s)
        return self.rows[rows], None if self.log_pi is None else self.log_pi[rows]

    def of_split(self, name: str) -> NDArray[np.int64]:
        """Returns [n] indices of the texts of a split: "train", "dev", "test" ..."""
        if self.split is None:
            raise NvdpValueError(f"{self.path}: the file has no splits")
        if name not in _SPLITS:
            raise NvdpValueError(f"split: expected {', '.join(_SPLITS)}, found {name!r}")
        return np.flatnonzero(self.split == _SPLITS.index(name))

    def search(self, queries: Any, k: int = 10, *, model: str | PathLike[str] | None = None) -> SearchHits:
        """Finds the k texts closest to each query, in a file of an encoder's own embedding (nvdp.export_encoder).

        Queries are embedded without noise, with the encoder that the file names: model, or models/NAME in the working directory.
        [Q, D] query vectors take the place of texts, in a file of vectors of another program always: compute them by that program.
        Several samples of a text are averaged. Cosines are of embeddings minus the file's center: thresholds for the encoder's own cosines
        do not apply. The file has no lengths to filter by. Whoever guesses a text can check the guess by a
        search, as far as the noise allows.
        """
        vectors = None
        if hasattr(queries, "ndim") and queries.ndim == 2:
            vectors = array(queries, np.float32, 2, "queries")
        texts: Any = vectors
        if vectors is None:
            texts = text_list([queries] if isinstance(queries, str) else queries, "queries", some=True)
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise NvdpValueError(f"k: expected a number of hits of at least 1, found {k!r}")
        search, info, count = self._search(model), result_of("struct nvdp_search_info"), min(k, self.texts)
        self._context.quick(lib.nvdp_search_describe, search, info)
        found = ffi.new("struct nvdp_hit[]", max(len(texts) * count, 1))
        if vectors is not None:
            self._context.call(lib.nvdp_search_vectors, search, *vectors.shape, pointer(vectors, "float"), k, found)
        else:
            names, keep = strings(texts)
            self._context.call(lib.nvdp_search_texts, search, ffi.NULL, len(texts), names, k, found)
            del keep
        fields = np.dtype([("text", np.uint64), ("id", np.int64), ("estimate", np.float64), ("shrunken", np.float64), ("above", np.float64)])
        hits = np.frombuffer(ffi.buffer(found), fields, len(texts) * count).reshape(len(texts), count)
        return SearchHits(hits["text"].astype(np.int64), hits["id"].copy(), hits["estimate"].copy(), hits["shrunken"].copy(), hits["above"].copy(),
                          info.deviation, info.margin, info.margin_all)  # fmt: skip

    def _search(self, model: str | PathLike[str] | None = None) -> Any:
        place = None if model is None else absolute(model, "model")
        if place not in self._searches:
            name = ffi.NULL if place is None else ffi.new("char[]", c_text(place, "model"))
            self._searches[place] = self._context.make("struct nvdp_search", lib.nvdp_search_free, lib.nvdp_search_open, self._file, name)
        return self._searches[place]

    def exact(self, vectors: Any) -> NDArray[np.float32]:
        """Returns the [Q, p] means of the samples that [Q, D] vectors would have in this file of vectors, without noise, float32. They are not
        private: for queries to a store of your own, whose products with `mean()` estimate products of means."""
        given = array(vectors, np.float32, 2, "vectors")
        found = np.empty((len(given), self.dim), np.float32)
        self._context.call(lib.nvdp_search_means, self._search(), *given.shape, pointer(given, "float"), pointer(found, "float", writable=True))
        return found

    def verify(self, public_key: str | PathLike[str] | None = None) -> Verification:
        """Checks the file for consistency: `holds`, the single checks, and `statement`, the statement of the file."""
        return verify(self.path, public_key)

    @property
    def integer_labels(self) -> NDArray[np.int64] | None:
        """[N] int64 numbers of the classes, -1 for a text without a label; None: no labels, or scores."""
        if self.label is None or self._scores:
            return None
        known = ~np.isnan(self.label)
        if self.class_names is None and not (self.label[known] == np.floor(np.abs(self.label[known]))).all():
            return None
        return np.where(known, self.label, -1).astype(np.int64)

    def to_arrow(self, split: str | None = None) -> Any:
        """Returns a pyarrow.Table with a row per text: `z` (lists of samples, of vectors, of numbers), `log_pi`, `label` (number of the
        class or score), `split` and `id`. Without `split`, the numbers are not copied."""
        import pyarrow as pa

        def levels(values: Any, vectors: bool) -> Any:
            made = pa.array(values.ravel())
            if vectors:
                made = pa.FixedSizeListArray.from_arrays(made, self.dim)
            samples = pa.ListArray.from_arrays(pa.array(self.offset.astype(np.int32)), made)
            return pa.FixedSizeListArray.from_arrays(samples, self.samples)

        if len(self.rows) >= 1 << 31:
            raise NvdpValueError(f"{self.path}: expected fewer than 2^31 vectors in one table, found {len(self.rows)}")
        columns = {"z": levels(self.rows, True)}
        if self.log_pi is not None:
            columns["log_pi"] = levels(self.log_pi, False)
        labels = self.integer_labels
        if self.label is not None:
            columns["label"] = pa.array(self.label if labels is None else labels)
        if self.split is not None:
            columns["split"] = pa.array([_SPLITS[i] if 0 <= i < len(_SPLITS) else None for i in self.split.tolist()])
        if self.id is not None:
            columns["id"] = pa.array(self.id)
        table = pa.table(columns)
        return table if split is None else table.take(pa.array(self.of_split(split)))

    def to_datasets(self, split: str | None = None) -> Any:
        """Returns a datasets.Dataset with a row per text, as to_arrow(); `label` is a ClassLabel with the names of the classes."""
        from datasets import ClassLabel, Dataset

        found = Dataset(self.to_arrow(split))
        if self.label is None or self.integer_labels is None:
            return found
        names = self.class_names or [str(i) for i in range(int(self.integer_labels.max(initial=0)) + 1)]
        return found.cast_column("label", ClassLabel(names=names))

    def to_pandas(self, split: str | None = None) -> Any:
        """Returns a pandas.DataFrame with a row per text: `z` and `log_pi` (lists of arrays, one per sample), `label` (a Categorical of
        the names of the classes, if the file has them), `split`, `id`."""
        import pandas

        categorical: Any = pandas.Categorical
        chosen = range(self.texts) if split is None else self.of_split(split).tolist()
        rows = [self[i] for i in chosen]
        columns: dict[str, Any] = {name: [row[name] for row in rows] for name, part in (("z", self.rows), ("log_pi", self.log_pi), ("label", self.label),
                                                                        ("split", self.split), ("id", self.id)) if part is not None}  # fmt: skip
        if self.label is not None and self.integer_labels is not None:
            codes = self.integer_labels[list(chosen)]
            columns["label"] = codes if self.class_names is None else categorical.from_codes(codes, self.class_names)
        return pandas.DataFrame(columns)

    def to_torch(self, split: str | None = None) -> Any:
        """Returns a torch.utils.data.Dataset as torch(), whose labels are integers if they are classes: -100, which cross entropy leaves
        out, for a text without one. It pickles, for DataLoader's workers."""
        return self.torch(split, integers=True)

    def torch(self, split: str | None = None, *, integers: bool = False) -> Any:
        """Returns a torch.utils.data.Dataset with one item per sample: {"z": [M, p], "log_pi": [M], "label": scalar, "text": index of
        the text}; keys that the file does not have are missing. The tensors share the memory of `rows`."""
        from torch import from_numpy, tensor
        from torch.utils.data import Dataset

        shared, chosen = self, np.arange(self.texts) if split is None else self.of_split(split)
        vectors = from_numpy(self.rows)
        weights = None if self.log_pi is None else from_numpy(self.log_pi.copy())  # of read-only memory
        labels: Any = self.integer_labels if integers else None
        labels = self.label if labels is None else np.where(labels < 0, -100, labels)

        class Samples(Dataset):  # type: ignore[type-arg]
            def __len__(self) -> int:
                return len(chosen) * shared.samples

            def __reduce__(self) -> Any:
                return _torch_of, (shared, split, integers)

            def __getitem__(self, k: int) -> dict[str, Any]:
                if not -len(self) <= k < len(self):
                    raise IndexError(k)
                i, s = divmod(k % len(self), shared.samples)
                text = int(chosen[i])
                rows = shared._rows(text, s)
                item = {"z": vectors[rows], "text": tensor(text)}
                if weights is not None:
                    item["log_pi"] = weights[rows]
                if labels is not None:
                    item["label"] = tensor(labels[text])
                return item

        return Samples()


def _torch_of(shared: Shared, split: str | None, integers: bool) -> Any:
    return shared.torch(split, integers=integers)


def _from_bytes(name: str, content: bytes) -> Shared:
    folder = tempfile.TemporaryDirectory(prefix="nvdp-shared-")
    path = os.path.join(folder.name, name)
    with builtins.open(path, "wb") as file:
        file.write(content)
    return Shared(path)._keep(folder)


def open(path: str | PathLike[str]) -> Shared:
    """Reads a file of kind embeddings/2 or /1 from `nvdp export`: HDF5, safetensors or Parquet, with the same arrays."""
    return Shared(path)


def write_rows(path: Path, **columns: Iterable[Any]) -> None:
    """Writes a table as JSON lines."""
    path.write_text("".join(json.dumps(dict(zip(columns, row))) + "\n" for row in zip(*columns.values())), "utf-8")


def export_encoder(texts: Iterable[str], out: str | PathLike[str] = "shared.h5", *, model: str | PathLike[str], center: str | PathLike[str] | Iterable[str],
                   clip_sequence: float = 0, certified_epsilon: float = 0, reduce: int = 0, run: str | PathLike[str] | None = None,
                   threads: int | None = None, **options: Unpack[EncoderExportArguments]) -> ExportResult:  # fmt: skip
    """Writes a file of a public encoder's own sentence embeddings with noise, without training, as `nvdp export --model`.

    model: folder of the encoder. center: public texts, or a file of them, one per line: the mean of their embeddings is subtracted, and
    the file states it; refused if one of `texts` is among them (option public_independent=True declares instead that the center was chosen
    independently of the texts, and the file says so). clip_sequence: the norm C of all means, in standard deviations of the noise; or certified_epsilon, the epsilon of
    all `samples` of a text together at delta 1e-5, from which C follows. reduce: number of principal directions of the public texts to keep; 0: all.
    run: folder of the run, whose ledger counts the samples of each text; default: MODEL-sentence beside the output file.
    options and result as in Run.export(). Whoever guesses a text can check the guess with Shared.search(), as far as the noise allows.
    """
    context = Context()
    context.set_threads(threads)
    with scratch(context, {"texts.jsonl": "texts", "public.jsonl": "center"}) as folder:
        source, public = folder / "texts.jsonl", folder / "public.jsonl"
        write_rows(source, text=text_list(texts, some=True))
        if not isinstance(center, (str, PathLike)):
            write_rows(public, text=text_list(center, "center", some=True))
            center = public
        given = {"model": absolute(model, "model"), "center": absolute(center, "center"), "out": absolute(out, "out"), "input": source,
                 "clip_sequence": clip_sequence, "certified_epsilon": certified_epsilon, "reduce": reduce, **options}  # fmt: skip
        if run is not None:
            given["run"] = absolute(run, "run")
        return _export(context, given)


def _export(context: Context, options: dict[str, Any]) -> ExportResult:
    """Runs nvdp_export() with these options."""
    result = freed("struct nvdp_export_result")
    context.call(lib.nvdp_export, context.config("export", options), result)
    found = record(result[0])
    found["privacy"] = typed(Privacy, context.json(result.privacy)) if result.privacy else None
    return found


def verify(path: str | PathLike[str], public_key: str | PathLike[str] | None = None, *, ledger: str | PathLike[str] | None = None,
           ledger_key: str | PathLike[str] | None = None) -> Verification:  # fmt: skip
    """Checks a shared file, or a folder with the shards of one release, as `nvdp verify`: `holds`, `check` (the single checks),
    `statement`, `guarantee`, `useful`, `epsilon` (nats, for the samples of one row of a file), `spent_epsilon` (nats, for all samples of a
    text that the ledger counts, if it is given) ...

    public_key: of the expected sender. ledger, ledger_key: the owner's; the release must be in the ledger, and no text may exceed
    its budget.
    """

    def given(value: Any, name: str) -> Any:
        return ffi.NULL if value is None else ffi.new("char[]", c_text(absolute(value, name), name))

    context, found, file = Context(), result_of("struct nvdp_verification"), c_text(absolute(path), "path")
    context.call(lib.nvdp_verify, file, given(public_key, "public_key"), found)
    if ledger is not None:
        context.call(lib.nvdp_verify_ledger, file, given(ledger, "ledger"), given(ledger_key, "ledger_key"), found)
    return record(found[0])


def gate(policy: str | PathLike[str] | Mapping[str, Any], run: Any, *, progress: Progress = None, **options: Unpack[GateArguments]) -> Gate:
    """Checks a run or a shared file against the limits of a policy, as `nvdp gate`: `passed`, `failed` (a number), `delta`, `releases`, `split`,
    and `checks`, each with `name`, `at_most`, `at_least`, `found`, `interval`, `texts`, `passed` and `reason`.

    policy: a JSON file, "certified" or "attacks" (which come with the package), or the same as a mapping: {"delta": 1e-5, "checks": [{"measure": "certified_epsilon", "at_most": 8}]}.
    run: a Run, a Shared, or the path of either. options: split, data, limit, public (a file), prior (a folder), shared, ledger, ledger_key, seed.
    A limit needs the policy's key min_texts. A number that cannot be measured, or is not finite, fails. A wrong policy raises NvdpError (ERR_INPUT).
    """
    check_callback(progress)
    kind = "gate_result"  # of which JSON is the form
    context, found = Context(), freed(f"struct nvdp_{kind}")
    with scratch(context, {"policy.json": "policy"}) as folder:
        if isinstance(policy, Mapping):
            path = str(folder / "policy.json")
            with builtins.open(path, "w", encoding="utf-8") as file:
                json.dump(policy, file, indent=1)
        else:
            path = str(policy) if str(policy) in ("attacks", "certified") else absolute(policy, "policy")
        config = context.config("gate", {"policy": path, "target": absolute(getattr(run, "path", run), "run"), **options})
        with showing(context, progress):
            context.call(lib.nvdp_gate, config, found)
    return typed(Gate, context.json(found))
