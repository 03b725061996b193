"""Vectors of any other encoder, released with Gaussian noise: samples of each, or a summary of all."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from ._lib import Context, NvdpError, NvdpValueError, _from_dlpack, absolute, items, lib, rebuild, result_of, scratch, typed
from ._progress import Progress, showing
from .measures import gdp_epsilon, gdp_mu, guess_bound
from .private_encoder import _Folder
from .results import Certificate, SummaryResult
from .runs import _is_missing, _label, _person
from .shared import Shared, _export
from .summary import _summarize, checked_answers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import VectorArguments, VectorShardArguments, VectorSummaryArguments

_DELTA = 1e-5
"""The delta of the option certified_epsilon."""
_FILE = {"rows.npz": "vectors", "public.npy": "center"}
"""The names in messages of the files that are written for the library."""


def matrix(values: Any, name: str = "vectors") -> np.ndarray:
    """Returns [N, D] vectors of float16, float32 or float64 from numpy, torch, another array with DLPack, an Arrow column of lists, or rows."""
    if hasattr(values, "column_names") or hasattr(values, "columns"):
        raise NvdpValueError(f"{name}: expected the column of the vectors, found a table of {', '.join(map(str, getattr(values, 'column_names', values.columns)))}")
    if hasattr(values, "combine_chunks"):
        values = values.combine_chunks()
    if hasattr(values, "null_count") and hasattr(values, "flatten"):
        count, width = len(values), getattr(values.type, "list_size", None)
        flat = values.flatten().to_numpy(zero_copy_only=False)
        width = width or (len(flat) // count if count else 0)
        if values.null_count or any(length != width for length in values.value_lengths().unique().to_pylist()):
            raise NvdpValueError(f"{name}: expected a vector of the same length in each row, found other lengths or null")
        values = flat.reshape(count, width)
    elif not isinstance(values, np.ndarray) and hasattr(values, "__dlpack__"):
        values = _from_dlpack(values.detach() if hasattr(values, "detach") else values, name)
    try:
        found = np.ascontiguousarray(values)
    except ValueError as reason:
        raise NvdpValueError(f"{name}: expected [N, D] numbers: {reason}") from None
    if found.ndim != 2 or found.dtype.kind != "f" or found.dtype.itemsize > 8:
        raise NvdpValueError(f"{name}: expected [N, D] numbers of float16, float32 or float64, found {found.dtype} {list(found.shape)}")
    return found


def _of(values: Any, count: int, name: str) -> list[Any]:
    rows = items(values, name, "str or int")
    if len(rows) != count:
        raise NvdpValueError(f"{name}: expected {count}, one per vector, found {len(rows)}")
    return rows


def _strings(values: Iterable[Any]) -> np.ndarray:
    """Returns a column for the library, in which the end of a string is no NUL."""
    rows = [str(one).encode("utf-8", "surrogatepass") for one in values]
    for i, one in enumerate(rows):
        if b"\0" in one:
            raise NvdpValueError(f"row {i}: expected a string without NUL, found {one!r:.60}")
    return np.array(rows, "S")


def _columns(count: int, ids: Any, persons: Any) -> dict[str, np.ndarray]:
    """Returns the columns that the ledger needs."""
    found = {}
    if ids is not None:
        for i, one in enumerate(_of(ids, count, "ids")):
            if isinstance(one, bool) or not isinstance(one, (str, int, np.integer)) or one == "":
                raise NvdpValueError(f"ids[{i}]: expected str or int, found {one!r:.60}")
        found["ids"] = _strings(items(ids, "ids", "str or int"))
    if persons is not None:
        found["person"] = _strings(_person(one, i) for i, one in enumerate(_of(persons, count, "persons")))
    return found


class GaussianRelease:
    """A mechanism for vectors that were computed elsewhere: any encoder, also behind an API. A vector is scaled to length 1, the mean of
    the public vectors is subtracted, the rest is scaled to norm C, and exact Gaussian noise is added, as `nvdp export --vectors`.

    epsilon, delta: of all `samples` of one vector in place of any other; C follows. center: [n, D] public vectors by the same encoder, or a file
    of them: the file states their mean, and refuses a center that has one of the vectors to release (public_independent=True declares
    instead that they were chosen before). reduce: principal directions of the public vectors to keep; 0: all.
    source: your name of the encoder, which files and statements repeat for the receiver.

    You vouch for two things, and each file says so. A vector depends on its own text alone: batch normalization, padding in half
    precision, or a mean over your texts void the guarantee. And `ids`, by which the ledger recognizes texts, are the same for the same text
    everywhere: without ids, equal vectors are one text. Rows with one id are copies of a text, which the ledger adds up; they are
    refused unless duplicates="each" and budget_samples allow them. A row with a number that is not finite counts as a row of zeros, with a warning.
    """

    def __init__(self, epsilon: float, delta: float = _DELTA, *, center: Any, reduce: int = 0, samples: int = 1, source: str = "",
                 public_independent: bool = False, threads: Optional[int] = None):  # fmt: skip
        if not (epsilon > 0 and 0 < delta < 1):
            raise NvdpValueError(f"epsilon, delta: expected epsilon above 0 and delta between 0 and 1, found {epsilon!r} and {delta!r}")
        if isinstance(samples, bool) or samples < 1:
            raise NvdpValueError(f"samples: expected at least 1 per vector, found {samples!r}")
        self.epsilon, self.delta, self.reduce, self.samples, self.source = float(epsilon), float(delta), reduce, samples, source
        self._independent, self._threads, self._context = public_independent, threads, Context()
        self._context.set_threads(threads)
        self._public = _Folder()
        if isinstance(center, (str, PathLike)):
            self.center, self._width = absolute(center, "center"), None
        else:
            public = matrix(center, "center")
            self.center, self._width = str(Path(self._public.path, "public.npy")), public.shape[1]
            np.save(self.center, public)
        self._center = center

    def __reduce__(self) -> Any:
        more = {"center": self._center, "reduce": self.reduce, "samples": self.samples, "source": self.source,
                "public_independent": self._independent, "threads": self._threads}  # fmt: skip
        return rebuild, (GaussianRelease, (self.epsilon, self.delta), more)

    def __repr__(self) -> str:
        of = f" of {self.source}" if self.source else ""
        return (f"nvdp.GaussianRelease: {self.samples} sample{'s' * (self.samples > 1)} per vector{of}, epsilon {self.epsilon:g} at delta {self.delta:g}, "
                f"norm {self.clip:.4g} in standard deviations of the noise")  # fmt: skip

    @property
    def clip(self) -> float:
        """C, the norm of all vectors in standard deviations of the noise: mu = 2 C sqrt(samples)."""
        return float(gdp_mu(self.epsilon, self.delta) / (2 * np.sqrt(self.samples)))

    @cached_property
    def certificate(self) -> Certificate:
        """The proof for any two vectors, before any data: `epsilon` at `delta`, `mu`, `guess`, `statement` ..., as Run.certificate."""
        limits, out = result_of("struct nvdp_limits"), result_of("struct nvdp_certificate")
        limits.method, limits.noise, limits.sealed, limits.same_noise, limits.rows, limits.kappa = b"sentence", True, True, True, 1, 1
        limits.dim, limits.clip_sequence, limits.clip_mu = self.reduce or self._width or 0, self.clip, np.inf
        limits.alpha_max, limits.clip_word = np.inf, 0.0
        config = self._context.config("privacy", {"delta": self.delta, "releases": self.samples})
        self._context.call(lib.nvdp_certify, limits, config, out)
        return typed(Certificate, self._context.json(out))

    def guess_bound(self, baseline: Any) -> Any:
        """Bounds how often a guess about a text is right with all its samples: probabilities, for the success `baseline` without them."""
        return guess_bound(baseline, self.clip, self.samples, self.reduce or self._width)

    def _options(self, ledger: Union[str, PathLike[str], None], given: Mapping[str, Any]) -> dict[str, Any]:
        known = {"center": self.center, "reduce": self.reduce, "public_independent": self._independent, "vectors_source": self.source or None,
                 "ledger": None if ledger is None else absolute(ledger, "ledger")}  # fmt: skip
        return {**known, **given}

    def _rows(self, path: Path, vectors: Any, columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Writes rows for the library; returns the options that name them."""
        arrays: dict[str, Any] = {"vectors": vectors, **columns}
        np.savez(path, **arrays)
        return {"vectors": path, **{name: name for name in ("ids", "person") if name in columns}}

    def release(self, vectors: Any, *, ids: Any = None, persons: Any = None, labels: Any = None, classes: Optional[Sequence[Any]] = None,
                ledger: Union[str, PathLike[str], None] = None, out: Union[str, PathLike[str]] = "shared.h5", progress: Progress = None,
                **options: Unpack[VectorArguments]) -> Shared:  # fmt: skip
        """Gives away `samples` random samples of each vector, counted in the ledger before they are drawn, as a file.

        vectors: [N, D] of numpy, torch or Arrow. ids: [N] str or int, by which the ledger recognizes texts; persons: [N], whose texts add up.
        labels: [N] written to the file exactly as they are, None for a row without one: floats are scores, others classes. classes:
        all their names in order; None: those that occur, sorted.
        ledger: its file, one for all releases of the same texts; None: vectors.ledger beside `out`. options: budget_samples, duplicates, sign,
        card, unit ... (`nvdp export`). The file works with nvdp.verify, gate, reuse and open; Shared.search takes query vectors.
        """
        found = matrix(vectors)
        columns = _columns(len(found), ids=ids, persons=persons)
        path = absolute(out, "out")
        given: dict[str, Any] = {"out": path, "samples": self.samples, "measure_texts": 2, **options}
        mu = gdp_mu(self.epsilon, self.delta)
        given["certified_epsilon"] = self.epsilon if self.delta == _DELTA else gdp_epsilon(mu * (1 - 1e-9), _DELTA)
        if labels is not None:
            rows = [None if _is_missing(one) else _label(one, isinstance(one, (float, np.floating)), i) for i, one in enumerate(_of(labels, len(found), "labels"))]
            if classes is None and not any(isinstance(one, float) for one in rows):
                classes = sorted({one for one in rows if one is not None}, key=lambda one: (isinstance(one, str), one))
            if classes is not None:
                given["classes"] = [str(one) for one in classes]
            columns["label"] = _strings("" if one is None else one for one in rows)
            given["with_labels"] = True
        with scratch(self._context, _FILE, {self.center: "center"}) as folder, showing(self._context, progress):
            given.update(self._rows(folder / "rows.npz", found, columns))
            _export(self._context, self._options(ledger, given))
        return Shared(path)

    def release_iter(self, batches: Iterable[Any], folder: Union[str, PathLike[str]], *, ledger: Union[str, PathLike[str]], shard_size: int = 65536,
                     first_shard: int = 0, ending: str = "h5", **options: Unpack[VectorShardArguments]) -> list[Path]:  # fmt: skip
        """Gives away the vectors of any iterable of batches in files of `shard_size` rows, FOLDER/shard-00000.h5 ..., which nvdp.open, verify and
        reuse read as one release. Returns the files. Memory: two shards of vectors, however many batches there are.

        batches: [n, D] arrays, or mappings with `vectors` and the columns `ids`, `persons`, `labels`. ledger: outside the folder, which you hand
        out. options: as of release(); labels need `classes`. If a shard is refused, those before it are complete, and
        `first_shard` is the number of the next. Rows with one id in several shards need budget_samples.
        """
        place = Path(absolute(folder, "folder"))
        made: list[Path] = []
        place.mkdir(parents=True, exist_ok=True)
        if place in Path(absolute(ledger, "ledger")).parents:
            raise NvdpValueError(f"ledger: expected a file outside the folder that is handed out, {place}, found {absolute(ledger)}")
        given: dict[str, Any] = {"model_id": secrets.token_hex(16), **options}  # links the files of one release
        for number, part in enumerate(_regroup(batches, shard_size), first_shard):
            if given.get("classes") is None and not all(isinstance(one, (float, np.floating)) for one in part.get("labels", ())):
                raise NvdpValueError("classes: expected the names of all classes, which are the same in every shard, found none")
            path = place / f"shard-{number:05d}.{ending.lstrip('.')}"
            try:
                self.release(**part, out=path, ledger=ledger, **given)
            except NvdpError as reason:
                raise type(reason)(f"{path}: {reason}; released before: {len(made)} shards", reason.status) from None
            made.append(path)
        return made

    def summarize(self, vectors: Any, labels: Any = None, out: Union[str, PathLike[str]] = "summary.h5", *, ids: Any = None, persons: Any = None,
                  classes: Optional[Sequence[str]] = None, range: Optional[tuple[float, float]] = None,
                  ledger: Union[str, PathLike[str], None] = None, progress: Progress = None, **options: Unpack[VectorSummaryArguments]) -> SummaryResult:  # fmt: skip
        """Writes a summary of all vectors in place of samples, at `epsilon` and `delta` for the replacement of any row (with `persons`, of all rows of
        a person), as nvdp.summarize: one noisy matrix, from which nvdp.reuse computes a regression.

        labels: [N] with `classes`, the names of all classes, or `range`, the lowest and highest score, from public knowledge.
        ids, persons, ledger: as in release(). options: rows (synthetic ones), budget_samples, dry_run ... (`nvdp summarize`).
        """
        found = matrix(vectors)
        columns = _columns(len(found), ids=ids, persons=persons)
        answers = checked_answers(labels, classes, range)
        if labels is not None:
            columns["label"] = _strings("" if _is_missing(one) else one for one in _of(labels, len(found), "labels"))
        with scratch(self._context, _FILE, {self.center: "center"}) as folder:
            given = {"out": absolute(out, "out"), "summary_epsilon": self.epsilon, "summary_delta": self.delta, **answers, **options}
            given.update(self._rows(folder / "rows.npz", found, columns))
            return _summarize(self._context, self._options(ledger, given), progress)


def _regroup(batches: Iterable[Any], size: int) -> Iterator[dict[str, Any]]:
    """Yields columns of `size` rows from batches of any size."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise NvdpValueError(f"shard_size: expected a number of rows of at least 1, found {size!r}")
    held: list[dict[str, Any]] = []
    count = 0

    def joined() -> dict[str, Any]:
        return {name: np.concatenate([part[name] for part in held]) if name == "vectors" else [one for part in held for one in part[name]] for name in held[0]}

    for number, batch in enumerate(batches):
        part = dict(batch) if isinstance(batch, Mapping) else {"vectors": batch}
        if "vectors" not in part or not set(part) <= {"vectors", "ids", "persons", "labels"} or (held and set(held[0]) != set(part)):
            raise NvdpValueError(f"batches[{number}]: expected vectors, ids, persons and labels as in the first batch, found {', '.join(map(str, part))}")
        part = {name: matrix(one, f"batches[{number}]") if name == "vectors" else items(one, name, "str or int") for name, one in part.items()}
        if len({len(column) for column in part.values()}) > 1:
            raise NvdpValueError(f"batches[{number}]: expected columns of {len(part['vectors'])} rows as vectors, found others")
        start = 0
        while start < len(part["vectors"]):
            step = min(size - count, len(part["vectors"]) - start)
            held.append({name: column[start : start + step] for name, column in part.items()})
            count, start = count + step, start + step
            if count == size:
                yield joined()
                held, count = [], 0
    if held:
        yield joined()
