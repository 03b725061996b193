"""Releases by many workers: a function of a partition's texts, for map_partitions of Dask and map_batches of Ray Data.

    release = nvdp.release_function("runs/mine", "shards", text="review", label="stars")
    frame.map_partitions(release, meta=release.meta).compute()                     # Dask
    release = nvdp.release_function("runs/mine", "more", text="review", row="id")   # Ray: a column identifies rows
    ray.data.read_parquet("texts").map_batches(release, batch_size=10_000).take_all()
    print(release.verify().statement)                                               # of all shards

Each partition becomes a file of the folder, and nvdp.open, `nvdp verify` and `nvdp reuse` read the folder as one
release.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._lib import (
    Context, NvdpError, NvdpValueError, absolute, c_text, ffi, from_json, lib, owned_text, rebuild, text_pairs,
)  # fmt: skip
from .results import Verification
from .runs import PERSON, Run
from .shared import verify

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import PartitionArguments

_BUSY, _WAIT = "another process has held it", 3600  # the ledger's lock, in seconds
_OWN = ("input", "split", "splits", "data", "limit", "out", "model_id", "model_out", "card", "overwrite", "no_ledger", "ledger", "ledger_key",
        "insecure_seed", "with_labels", "person")  # fmt: skip
_ABSENT: Any = object()


def _secret(path: Path, make: str) -> str:
    """Returns the line of a file, which the first process writes and only the file's owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(make + "\n")
        try:
            os.link(beside, path)  # the file is complete or absent
        finally:
            beside.unlink()
    return path.read_text("ascii").strip()


@contextmanager
def _no_file() -> Iterator[Path]:
    """Makes a path to memory of this process, so that no text remains on disk if the process is killed."""
    with tempfile.TemporaryDirectory(prefix="nvdp-") as folder, os.fdopen(os.memfd_create("texts"), "rb") as memory:
        path = Path(folder, "texts.jsonl")
        path.symlink_to(f"/proc/{os.getpid()}/fd/{memory.fileno()}")
        yield path


def _column(rows: Any, name: str) -> Any:
    """Returns a column of a DataFrame, an Arrow table or a mapping of arrays."""
    names = rows.column_names if hasattr(rows, "column_names") else list(rows)
    if name not in names:
        raise NvdpValueError(f"{name}: expected a column of the partition, found {', '.join(map(str, names))}")
    column = rows[name]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.tolist() if hasattr(column, "tolist") else list(column)


class ReleaseFunction:
    """A function that releases the texts of a partition into a file of a folder; made by nvdp.release_function, and
    pickled to workers.

    A call with a partition (a pandas DataFrame, an Arrow table or a mapping of arrays) returns a table of one row:
    `shard`, the file; `texts`, the number of texts; `samples` and `epsilon` (nats, at delta 1e-5), the maxima that the
    ledger counts for a text of the partition, for the owner. verify() has the maxima over all files. The samples of a
    partition are in the order of the rows.

    The number of a partition, if the engine gives one, and the column `row` identify a partition. The texts alone never
    do, so that equal partitions have different samples. A repeated call finds the file of the partition, which is
    complete or absent. The ledger counts the partition before anything is drawn. If a worker was killed after the count
    and before the file was complete, the texts were counted for nothing: the next call counts them again if
    budget_samples allows it, and is refused (ERR_STATE) otherwise.

    run, out: the run, and the folder of the shards; all workers reach both under these paths. id: id of the release, 32
        digits.
    """

    def __init__(self, run: Run, out: Path, id: str, key: str, columns: tuple[str, str | None, str | None, str | None, str | None], ledger: tuple[str, str],
                 options: Mapping[str, Any]):  # fmt: skip
        self.run, self.out, self.id = run, out, id
        self._key, self._columns, self._ledger, self._options = key, columns, ledger, dict(options)

    def __reduce__(self) -> Any:
        return rebuild, (ReleaseFunction, (self.run, self.out, self.id, self._key, self._columns, self._ledger, self._options), {})

    def __repr__(self) -> str:
        return f"nvdp.release_function({str(self.run.path)!r}, {str(self.out)!r}): {len(self.shards)} shards so far; verify() returns their guarantee"

    @property
    def meta(self) -> Any:
        """The empty table of results, a pandas DataFrame, for `meta` of Dask's map_partitions."""
        return self._table("frame", [])

    @property
    def shards(self) -> list[Path]:
        """The complete files, in the order of their names."""
        return sorted(self.out.glob("part-*.h5"))

    def _table(self, kind: str, rows: list[tuple[str, int, int, float]]) -> Any:
        shard, texts, samples, epsilon = zip(*rows) if rows else ((), (), (), ())
        columns = {"shard": np.array(shard, object), "texts": np.array(texts, np.int64), "samples": np.array(samples, np.int64),
                   "epsilon": np.array(epsilon, np.float64)}  # fmt: skip
        if kind == "arrays":
            return columns
        import pandas

        return pandas.DataFrame(columns)

    def __call__(self, rows: Any, partition_info: Any = _ABSENT) -> Any:
        """Releases a partition. partition_info: {"number": number of the partition}, which Dask gives. A DataFrame
        needs it, because Dask also calls functions with made-up rows to learn the form of results; other partitions
        have no number."""
        kind = "frame" if hasattr(rows, "iloc") else "arrays"
        if kind == "frame" and partition_info is _ABSENT:
            raise NvdpValueError("partition_info: expected the number of the partition for a DataFrame, found none; give map_partitions "
                                 "meta=release.meta (Dask), or map_batches another batch_format than pandas (Ray)")  # fmt: skip
        text, *others = self._columns
        texts = _column(rows, text)
        if partition_info is None or not len(texts):
            return self._table(kind, [])
        number = partition_info.get("number") if isinstance(partition_info, Mapping) else None
        labels, pairs, persons, names = (None if name is None else _column(rows, name) for name in others)
        if number is None and (names is None or len(set(names)) < len(names)):
            raise NvdpValueError("row: expected a column that names each row of the release, as the engine gives no number of the partition, found "
                                 + ("none" if names is None else "equal names"))  # fmt: skip
        shard = self.out / self._name(number, texts, pairs, labels, *(part for part in (persons, names) if part is not None))
        if not shard.exists():
            self._release(shard, texts, pairs, labels, persons)
        samples, epsilon, found = self._read(shard)
        if found != len(texts):
            raise NvdpError(f"{shard}: expected the {len(texts)} texts of its partition, found {found}", "ERR_INPUT")
        return self._table(kind, [(shard.name, found, samples, epsilon)])

    def _name(self, number: int | None, *columns: Any) -> str:
        """Returns the name of a partition's file. Without the key, guesses of the texts cannot be tested."""
        digest = hashlib.blake2b(key=bytes.fromhex(self._key), digest_size=12)
        digest.update(json.dumps([number, *columns], default=str).encode())
        return f"part-{'' if number is None else f'{number:06d}-'}{digest.hexdigest()}.h5"

    def _release(self, shard: Path, texts: Any, pairs: Any, labels: Any, persons: Any) -> None:
        with _no_file() as source:
            self.run._write(source, *text_pairs(texts, pairs, some=True), labels, persons)
            self._count_and_draw(shard, source, with_labels=labels is not None, **({} if persons is None else {"person": PERSON}))

    def _count_and_draw(self, shard: Path, source: Path, **columns: Any) -> None:
        ledger, ledger_key = self._ledger
        end = time.monotonic() + _WAIT
        while True:
            try:
                given: dict[str, Any] = {"input": source, "ledger": ledger, "ledger_key": ledger_key, "model_id": self.id, **columns, **self._options}
                self.run.export(None, shard, **given)
                return
            except NvdpError as reason:
                if shard.exists():  # another worker had the same partition: its samples were counted twice
                    return
                if _BUSY in str(reason) and time.monotonic() < end:
                    continue
                if reason.status == "ERR_STATE" and shard.name in str(reason):
                    raise NvdpError(f"{shard.name}: the texts of this partition were counted before, but their worker ended before the file was "
                                    f"complete; budget_samples=N, at least 2, lets them count again: {reason}", "ERR_STATE") from None  # fmt: skip
                raise

    def _read(self, shard: Path) -> tuple[int, float, int]:
        """Returns the largest counts of the ledger for a text of a complete file, and the number of texts in the
        file."""
        context, out = Context(), ffi.new("char **")
        context.call(lib.nvdp_describe, c_text(str(shard), "shard"), lib.NVDP_DESCRIPTION_JSON, out)
        texts, found = from_json(owned_text(out[0])).attributes.texts, verify(shard, ledger=self._ledger[0], ledger_key=self._ledger[1])
        return int(found.spent_samples), float(found.spent_epsilon), int(texts)

    def verify(self, public_key: str | PathLike[str] | None = None) -> Verification:
        """Checks all shards, alone and against the ledger: `holds`, the single checks, and the `statement` and
        `guarantee` of the release, which come from the shard with the weakest guarantee. `spent_epsilon` is for all
        samples of a text that the ledger counts."""
        return verify(self.out, public_key, ledger=self._ledger[0], ledger_key=self._ledger[1])


def release_function(run: Run | str | PathLike[str], out: str | PathLike[str], *, text: str = "text", label: str | None = None,
                     pair: str | None = None, person: str | None = None, row: str | None = None, ledger: str | PathLike[str] | None = None,
                     ledger_key: str | PathLike[str] | None = None, threads: int | None = None, **options: Unpack[PartitionArguments]) -> ReleaseFunction:  # fmt: skip
    """Returns a function that releases a partition of texts into a file of the folder `out` (ReleaseFunction).

    run: a finished run. out: the folder. All workers must reach run, folder and ledger under the same paths.
    text, label, pair, person: columns of the partitions. If `label` is given, labels are written to the files. If
        `person` is given, the ledger adds up all texts of a person; no file has names of persons.
    row: column that identifies each row of the whole release, such as a number. It is needed if the engine gives no
        number of a partition (Ray).
    ledger, ledger_key: as in Run.export; one ledger for all partitions, RUN/ledger by default.
    threads: threads per worker; None for all processors of the machine.
    options: options of Run.export for each partition: samples, budget_samples (samples per text, over all rows and
        tries of the text), duplicates, sign, measure_texts ...
    """
    run = run if isinstance(run, Run) and threads is None else Run(run.path if isinstance(run, Run) else run, threads=threads)
    for name in options:
        if name in _OWN:
            raise NvdpValueError(f"{name}: expected an option of a partition's file, found one that the function sets itself")
    given: dict[str, Any] = dict(options)
    if given.get("sign") is not None:
        given["sign"] = absolute(given["sign"], "sign")
    Context().config("export", given)  # refuses unknown names and values at once
    folder = Path(absolute(out, "out"))
    book = Path(absolute(ledger, "ledger")) if ledger is not None else run.path / "ledger"
    secret = absolute(ledger_key, "ledger_key") if ledger_key is not None else f"{book}.key"
    begun = (folder / "release").exists()
    id = _secret(folder / "release", secrets.token_hex(16))
    beside = book.with_name(f"{book.name}.release-{id}")  # outside of the folder, which is shared
    if begun and not beside.exists():
        raise NvdpValueError(f"{folder}: expected a new folder or a release with the ledger {book}, found a release with another ledger")
    key, model = _secret(beside, f"{secrets.token_hex(32)} {run.info.fingerprint}").split()
    if model != run.info.fingerprint:
        raise NvdpValueError(f"{folder}: expected a new folder or a release of the run {run.path}, found a release of another model")
    return ReleaseFunction(run, folder, id, key, (text, label, pair, person, row), (str(book), secret), given)
