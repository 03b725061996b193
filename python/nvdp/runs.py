"""Training, and using a trained run."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Union

import numpy as np

from ._lib import Context, NvdpError, NvdpValueError, Record, check_ended, ffi, from_json, lib, owned_text, record, result_of, shared, text
from .posteriors import Posteriors
from .sanitizer import text_mechanism
from .tokenizer import Tokenizer

Progress = Union[bool, Callable[[Record], object], None]


# --- texts as a task's files ---


_FILES = ".csv, .jsonl, .ndjson or .parquet"


def _read_csv(path: str) -> dict[str, list[Any]]:
    limit = csv.field_size_limit(16 << 20)  # as the library's
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            names = next(rows, [])
            found: dict[str, list[Any]] = {name: [] for name in names}
            for row in rows:
                if row and len(row) != len(names):
                    raise NvdpValueError(f"{path}:{rows.line_num}: expected {len(names)} columns, found {len(row)}")
                for name, cell in zip(names, row):
                    found[name].append(cell)
    except csv.Error as reason:
        raise NvdpValueError(f"{path}:{rows.line_num}: {reason}") from None
    finally:
        csv.field_size_limit(limit)
    return found


def _read_lines(path: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError as reason:
                    raise NvdpValueError(f"{path}:{number}: {reason}") from None
                if not isinstance(row, dict):
                    raise NvdpValueError(f"{path}:{number}: expected a JSON object, found {type(row).__name__}")
                found = found or {name: [] for name in row}
                for name, column in found.items():
                    column.append(row.get(name))
    return found


def _read_parquet(path: str) -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        pass
    else:
        return parquet.read_table(path).to_pydict()
    try:
        import pandas

        return pandas.read_parquet(path)
    except ImportError:
        raise ImportError(f"{path}: a Parquet file needs pyarrow (pip install pyarrow), or pandas with fastparquet") from None


def _file(data: Any) -> Any:
    """Reads the columns of a file; returns other data unchanged."""
    if not isinstance(data, (str, PathLike)):
        return data
    path = os.fsdecode(data)
    end = os.path.splitext(path)[1].lower()
    if end == ".csv":
        return _read_csv(path)
    if end in (".jsonl", ".ndjson"):
        return _read_lines(path)
    if end == ".parquet":
        return _read_parquet(path)
    raise NvdpValueError(f"{path}: expected texts, or a file whose name ends in {_FILES}; for a folder of task files use data= and task=")


def _columns(data: Any, labels: Any, pairs: Any, names: Mapping[str, str]) -> tuple[Any, Any, Any]:
    """Returns texts, labels and pairs as lists, from lists, a pandas DataFrame, a datasets.Dataset, a mapping of columns, or a file."""
    data = _file(data)
    columns = getattr(data, "column_names", None) or getattr(data, "columns", None)
    if columns is None and isinstance(data, Mapping):
        columns = list(data)
    if columns is None:
        found: tuple[Any, ...] = data, labels, pairs
    else:
        needed = [name for name in names.values() if name not in list(columns)]
        if needed:
            raise NvdpValueError(f"columns: expected {', '.join(needed)}, found {', '.join(map(str, columns))}")
        found = tuple(data[names[part]] if part in names else None for part in ("text", "label", "pair"))
        classes = getattr(getattr(data, "features", {}).get(names.get("label", ""), None), "names", None)
        if classes:  # datasets' ClassLabel
            found = found[0], [classes[label] for label in found[1]], found[2]
    lists: list[Any] = [None if part is None else list(part) for part in found]
    for name, part in zip(("labels", "pairs"), lists[1:]):
        if part is not None and len(part) != len(lists[0]):
            raise NvdpValueError(f"{name}: expected {len(lists[0])} entries, one per text, found {len(part)}")
    return lists[0], lists[1], lists[2]


def _text(value: Any, name: str, row: int) -> str:
    """Returns a text that is valid UTF-8."""
    if not isinstance(value, str):
        raise TypeError(f"{name}[{row}]: expected str, found {type(value).__name__}")
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _label(value: Any, regression: bool, row: int) -> str | float:
    if hasattr(value, "item"):
        value = value.item()
    if regression and isinstance(value, str):  # of a CSV file
        try:
            value = float(value)
        except ValueError:
            pass
    if regression and isinstance(value, (int, float)) and np.isfinite(value):
        return value
    if isinstance(value, float) or value is None or regression:
        wanted = "a finite number" if regression else "a class (or regression=True)"
        raise NvdpValueError(f"labels[{row}]: expected {wanted}, found {value!r}")
    return _text(str(value), "labels", row)


def _write_table(path: Path, texts: Sequence[Any], labels: Sequence[Any] | None, pairs: Sequence[Any] | None,
                 regression: bool = False, names: Sequence[Any] = ("text", "pair", "label")) -> None:  # fmt: skip
    """Writes a file of JSON lines that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        for i, one in enumerate(texts):
            row: dict[str, str | float] = {names[0]: _text(one, "texts", i)}
            if pairs is not None:
                row[names[1]] = _text(pairs[i], "pairs", i)
            if labels is not None:
                row[names[2]] = _label(labels[i], regression, i)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _hold_out(texts: list[Any], labels: list[Any], pairs: list[Any] | None, share: float) -> tuple[Any, Any]:
    """Splits rows in two by a hash of each text, so the split is always the same."""
    if not 0 < share < 1:
        raise NvdpValueError(f"dev: expected texts, or a share of the texts between 0 and 1, found {share}")
    rank = sorted(range(len(texts)), key=lambda i: (hashlib.sha256(str(texts[i]).encode("utf-8", "surrogatepass")).digest(), i))
    held = set(rank[: max(1, round(share * len(texts)))])

    def part(inside: bool) -> Any:
        rows = [i for i in range(len(texts)) if (i in held) == inside]
        return tuple(None if column is None else [column[i] for i in rows] for column in (texts, labels, pairs))

    return part(False), part(True)


# --- training ---


def _show(progress: Record) -> None:
    """Prints the progress on one line of standard error."""
    left = "" if np.isnan(progress.eta_seconds) else f", {progress.eta_seconds:.0f} s left"
    loss = "" if np.isnan(progress.loss) else f", loss {progress.loss:.4f}"
    line = f"{progress.phase}: {progress.done}/{progress.total} {progress.unit}s{loss}{left}"
    sys.stderr.write(f"\r{line:<70}" + ("\n" if progress.finished else ""))
    sys.stderr.flush()


def _context(progress: Progress, threads: int | None) -> Context:
    context = Context(_show if progress is True else progress or None)
    context.set_threads(threads)
    return context


def _cache() -> str | None:
    """Returns the cache directory that the program uses."""
    home = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("HOME") and os.path.join(os.environ["HOME"], ".cache"))
    return os.path.join(home, "nvdp") if home else None


def _preset(name: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the preset and the options that it needs. "auto" chooses the preset by the options."""
    if name != "auto":
        return {"preset": name}
    if options.get("certified_epsilon"):
        return {"preset": "certified"}
    if options.get("clip_sequence"):  # the same preset, with C instead of its epsilon
        return {"preset": "certified", "certified_epsilon": 0}
    return {"preset": "per-nat"}


def _begun(out: str) -> tuple[int, int] | None:
    """Identifies the run in a directory; None: there is no run."""
    try:
        found = os.stat(os.path.join(out, "run.json"))
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


@contextmanager
def _texts_beside(out: str, overwrite: bool) -> Iterator[Path]:
    """Yields the directory OUT.data for train.jsonl and dev.jsonl. Restores the directory if no run begins."""
    folder, before, made = Path(out + ".data"), _begun(out), True
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        if not overwrite:
            raise NvdpValueError(f"{folder}: the folder has the texts of another run; overwrite=True replaces them") from None
        made = False
    names = "train.jsonl", "dev.jsonl"
    try:
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            old = [name for name in names if (folder / name).exists()]
            for name in old:
                (folder / name).rename(Path(aside, name))
            try:
                yield folder
            except BaseException:
                if _begun(out) in (None, before):
                    for name in names:
                        (folder / name).unlink(missing_ok=True)
                    for name in old:
                        Path(aside, name).rename(folder / name)
                raise
    finally:
        if made:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def _train(options: dict[str, Any], progress: Progress, threads: int | None) -> Run:
    context = _context(progress, threads)
    options.setdefault("cache", _cache())
    config = context.config(lib.nvdp_train_config_create, options)
    run = fspath(options.get("resume") or options.get("out") or "")
    try:
        context.call(lib.nvdp_train, config, result_of("struct nvdp_train_result"))
    except KeyboardInterrupt as stop:
        if _begun(run) is None:
            raise
        raise KeyboardInterrupt(f"stopped; nvdp.resume({run!r}) continues the run ({stop})") from None
    return Run(run, threads=threads)


def train(texts: Any = None, labels: Any = None, *, pairs: Any = None, model: str | PathLike[str] | None = None,
          out: str | PathLike[str] | None = None, preset: str | None = "auto", dev: Any = 0.1, regression: bool = False,
          text_column: str = "text", label_column: str = "label", pair_column: str | None = None,
          progress: Progress = None, threads: int | None = None, **options: Any) -> Run:  # fmt: skip
    """Trains an encoder with a bottleneck, and returns the finished run.

    texts: a list of str with `labels` (str, int; numbers with regression=True) and optional second texts, `pairs`; or a pandas
        DataFrame, a datasets.Dataset or a dict, with the columns `text_column`, `label_column`, `pair_column`; or a file with
        these columns: .csv (RFC 4180), .jsonl, or .parquet (needs pyarrow or pandas).
        None: the options name a task, as task="sst2", data="glue/SST-2".
    model: directory of an encoder in Hugging Face layout.
    out: a new run directory; None: nvdp-run, nvdp-run-2 ... in the current directory.
    preset: "per-nat", "certified" ...: values for options that are not set; None: the defaults; "auto": "certified" with
        certified_epsilon or clip_sequence, else "per-nat", which guarantees nothing over all texts.
    dev: data for the score: (texts, labels[, pairs]) or a table as above; or a share to hold out.
    progress: a function that receives {phase, done, total, unit, rate, loss, eta_seconds, finished ...}; True: a line on stderr.
    options: options of `nvdp train --help=all`: method="nvdp", epochs=5, certified_epsilon=8, seed=1 ...

    Texts in memory are written to OUT.data, as JSON lines that only their owner can read. Resuming and scoring the run read them
    again. They are removed if no run begins. Ctrl-C saves the state and raises KeyboardInterrupt; nvdp.resume(out) continues to
    the same result.
    """
    if model is None and "from_base" not in options:
        raise TypeError("train() needs model, the folder of an encoder")
    given: dict[str, Any] = {**_preset(preset, options), "model": model and fspath(model)}
    if texts is None:
        given["out"] = fspath(out) if out is not None else _free_name()
        return _train({**given, **options}, progress, threads)
    names = {"text": text_column, "label": label_column, **({"pair": pair_column} if pair_column else {})}
    rows = _columns(texts, labels, pairs, names)
    if rows[1] is None:
        raise NvdpValueError("labels: expected one per text, found none")
    if isinstance(dev, (int, float)):
        rows, held = _hold_out(*rows, float(dev))
    else:
        first, second, third = (*dev, None)[:3] if isinstance(dev, tuple) else (dev, None, None)
        held = _columns(first, second, third, names)
        if held[1] is None:
            raise NvdpValueError("dev: expected texts with labels, found no labels")
    given["out"] = fspath(out) if out is not None else _free_name()
    columns = "text", "pair", "label"
    with _texts_beside(given["out"], bool(options.get("overwrite"))) as folder:
        _write_table(folder / "train.jsonl", rows[0], rows[1], rows[2], regression, columns)
        _write_table(folder / "dev.jsonl", held[0], held[1], held[2], regression, columns)
        given.update(task="tsv", data=str(folder), text_column="text", label_column="label", regression=regression,
                     text_pair_column="pair" if rows[2] is not None else None)  # fmt: skip
        return _train({**given, **options}, progress, threads)


def presets() -> dict[str, Record]:
    """Returns the presets of the library: values of options, and a `description`."""
    found: dict[str, Record] = {}
    out = ffi.new("char **")
    while (name := lib.nvdp_preset(len(found), out)) != ffi.NULL:
        found[text(name)] = from_json(text(out[0]))
    return found


def options(kind: str = "train") -> list[Record]:
    """Returns the options of a kind of work: "train", "privacy", "export", "evaluate", "predict", "sanitizer" or "encoder". Each has
    name, type, help, default_value, unit, min, max, group."""
    create = getattr(lib, f"nvdp_{kind}_config_create", None)
    if create is None:
        raise NvdpValueError(f"kind: expected the name of a configuration, such as train, privacy or export, found {kind}")
    config = shared().config(create, {})
    found = [record(lib.nvdp_config_option(config, i)[0]) for i in range(lib.nvdp_config_count(config))]
    return [Record((key, value) for key, value in one.items() if key not in ("offset", "width", "traits")) for one in found]


def result_fields(result: str) -> list[Record]:
    """Returns the numbers of a result, "train" or "scores". Each has name, unit, help; "test.n" is the number n of "test"."""
    table = lib.nvdp_result_table_find(result.encode())
    if table == ffi.NULL:
        raise NvdpValueError(f"result: expected train or scores, found {result}")
    return list(_fields(table))


def _fields(table: Any, prefix: str = "") -> Iterator[Record]:
    row = table.rows
    while row.name != ffi.NULL:
        name = prefix + text(row.name)
        yield Record(name=name, unit=text(row.unit), help=text(row.help))
        if row.of != ffi.NULL:
            yield from _fields(row.of, name + ".")
        row += 1


def _free_name() -> str:
    name, i = "nvdp-run", 1
    while os.path.exists(name) or os.path.exists(name + ".data"):
        i += 1
        name = f"nvdp-run-{i}"
    return name


def resume(run: str | PathLike[str], *, progress: Progress = None, threads: int | None = None) -> Run:
    """Continues a run that was stopped or killed, to the result that it would have had."""
    return _train({"resume": fspath(run)}, progress, threads)


# --- texts that are privatized token by token ---


def measured(context: Context, kind: str, function: Callable[..., int], config: Any) -> Record:
    """Returns the report of a measure of texts, "privacy" or "dchi", as its JSON object."""
    report = result_of(f"struct nvdp_{kind}_report")
    context.call(function, config, ffi.NULL, report)
    return context.json(getattr(lib, f"nvdp_{kind}_report_json"), report)


def text_privacy(**options: Any) -> Record:
    """Measures the original texts of a task under a token-by-token mechanism: all pairs, exact, in nats; as
    `nvdp privacy --sanitizer M --json`.

    options: task and data, or text (a file with one text per line), split, limit; mechanism, eta, model or vectors; sanitized, a
    directory from `nvdp sanitize`, instead of mechanism and eta; order, delta ...
    """
    context = Context()
    return measured(context, "dchi", lib.nvdp_text_privacy, context.config(lib.nvdp_text_privacy_config_create, options))


def sanitize(*, out: str | PathLike[str], progress: Progress = None, **options: Any) -> Record:
    """Privatizes a task's files, or a text file, token by token, as `nvdp sanitize` does. Returns counts, deniability, `statement`.

    out: output directory or file; options: task and data, or text; mechanism, eta, model or vectors; overwrite; insecure_seed
    (only for tests and experiments) ...
    """
    context = _context(progress, None)
    config = context.config(lib.nvdp_sanitize_config_create, {"out": fspath(out), **options})
    found = result_of("struct nvdp_sanitize_result")
    context.call(lib.nvdp_sanitize, config, ffi.NULL, ffi.NULL, found)
    return record(found[0])


# --- a run ---


class Run:
    """A run directory: its model, its scores, its privacy.

    A run that was stopped or killed has only its `config`: everything else raises ERR_STATE until nvdp.resume() has finished it.

    threads: number of threads. The precision of matrix products is f32.
    """

    def __init__(self, path: str | PathLike[str], *, threads: int | None = None):
        self.path = Path(path)
        if not (self.path / "run.json").is_file():
            raise NvdpError(f"{self.path}: no such run directory", "ERR_IO")
        self._context = _context(None, threads)
        self._loaded: Any = None

    def __repr__(self) -> str:
        try:
            return f"nvdp.Run({str(self.path)!r}): {self.guarantee}"
        except NvdpError:
            return f"nvdp.Run({str(self.path)!r})"

    @property
    def guarantee(self) -> str:
        """The guarantee for this run's samples in one line: proven or measured, and what is not covered."""
        found = result_of("struct nvdp_guarantee")
        self._context.call(lib.nvdp_run_guarantee, str(self.path).encode(), found)
        out = ffi.new("char **")
        self._context.call(lib.nvdp_guarantee_line, found, out)
        return owned_text(out[0])

    @property
    def measurements(self) -> list[Record]:
        """The measurements of this run by `nvdp privacy`, the main one first: `file` in the run's directory, `complete` (all texts of
        the split), `texts`, `of_texts`, `releases`, `settings` (options that differ from their defaults)."""
        out = ffi.new("char **")
        self._context.call(lib.nvdp_measured_list, str(self.path).encode(), out)
        return from_json(owned_text(out[0]))

    @property
    def training_privacy(self) -> Record | None:
        """The privacy of training for its training texts, recomputed; None: training was not private. `account` has epsilon at delta,
        `risk` has mu, replacement, membership and guesses; adjacency is zero-out of one training text."""
        made = result_of("struct nvdp_training_privacy")
        self._context.call(lib.nvdp_training_privacy, str(self.path).encode(), made, ffi.NULL)
        return record(made[0]) if made.is_private else None

    @property
    def config(self) -> Record:
        """All options, as in run.json."""
        return from_json((self.path / "run.json").read_text("utf-8")).config

    @property
    def result(self) -> Record:
        """The result of training, as in result.json; `test`: scores on the dev file."""
        check_ended(self.path)
        return from_json((self.path / "result.json").read_text("utf-8"))

    @property
    def _model(self) -> Any:
        if self._loaded is None:
            config = self.config
            noise = config.get("token_noise", "none")
            if noise != "none" or config.get("representations"):
                raise NvdpError(f"{self.path}: this run reads privatized texts ({noise}); use predict(), evaluate() or the program nvdp", "ERR_UNSUPPORTED")
            self._loaded = self._context.make("struct nvdp_model", lib.nvdp_model_free, lib.nvdp_model_load,
                                              str(self.path / "model").encode())  # fmt: skip
        return self._loaded

    @property
    def info(self) -> Record:
        """Properties of the model: method, task, outputs, max_length, hidden_size, latent_dim, kappa, length, parameters ..., labels."""
        out = result_of("struct nvdp_model_info")
        self._context.call(lib.nvdp_model_info, self._model, out)
        found = record(out[0])
        found["labels"] = None if out.labels == ffi.NULL else [text(out.labels[c]) for c in range(out.outputs)]
        return found

    @property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer.__new__(Tokenizer)._take(self._context, lib.nvdp_model_tokenizer(self._model), self)

    def evaluate(self, split: str = "dev", **options: Any) -> Record:
        """Scores the model with fresh noise: {metric: {"mean", "sd"}} over `draws`, `n`, `majority`.

        split: "dev", "train", "validation", "test" ...; options: data, limit, batch, seed, draws.
        """
        config = self._context.config(lib.nvdp_evaluate_config_create, {"run": str(self.path), "split": split, **options})
        out = result_of("struct nvdp_evaluation")
        self._context.call(lib.nvdp_evaluate, config, out)
        found = record(out[0])
        found["scores"] = self._context.json(lib.nvdp_result_json, lib.nvdp_result_table_find(b"scores"), b"file", ffi.addressof(out, "scores"))
        return found

    def predict(self, texts: Iterable[str], pairs: Iterable[str] | None = None, *, samples: int = 5, seed: int = 1,
                batch: int = 32) -> list[Record]:  # fmt: skip
        """Returns {label, probability, probabilities} or {score} of each text, averaged over `samples` draws of the bottleneck's noise.
        Not private, because the seed repeats the noise; use `export` for samples that are shared."""
        parts = [list(part) for part in (texts, pairs) if part is not None]
        if len(parts) == 2 and len(parts[0]) != len(parts[1]):
            raise NvdpValueError(f"pairs: expected {len(parts[0])} entries, one per text, found {len(parts[1])}")
        if not parts[0]:
            return []
        with tempfile.TemporaryDirectory() as folder:
            source, target, lines = Path(folder, "texts"), Path(folder, "predictions"), []
            blanks = str.maketrans("\t\n\r\0", "   \ufffd")  # as the tokenizer reads them
            for i, row in enumerate(zip(*parts)):
                lines.append("\t".join(_text(one, "texts", i).translate(blanks) for one in row) + "\n")
            source.write_text("".join(lines), encoding="utf-8")
            config = self._context.config(lib.nvdp_predict_config_create,
                                          {"run": str(self.path), "input": source, "out": target, "samples": samples,
                                           "probabilities": True, "seed": seed, "batch": batch})  # fmt: skip
            self._context.call(lib.nvdp_predict_texts, config, ffi.NULL, ffi.NULL, ffi.NULL)
            # labels are texts: "nan" is not a number, and U+2028 does not end a line
            found = [json.loads(line, object_pairs_hook=Record) for line in target.read_bytes().splitlines()]
        for one in found:
            del one["index"]
        return found

    def posteriors(self, texts: Iterable[str] | None = None, pairs: Iterable[str] | None = None, *, split: str = "dev",
                   batch: int = 32, **options: Any) -> Posteriors:  # fmt: skip
        """Computes the posteriors of texts, or of a split of the run's data (options: data, limit, seed)."""
        if texts is None:
            config = self._context.config(lib.nvdp_run_config_create,
                                          {"run": str(self.path), "split": split, "batch": batch, **options})  # fmt: skip
            made = self._context.make("struct nvdp_posteriors", lib.nvdp_posteriors_free, lib.nvdp_run_posteriors, config)
        else:
            data = self.tokenizer._dataset(list(texts), None if pairs is None else list(pairs), self.info.max_length)
            made = self._context.make("struct nvdp_posteriors", lib.nvdp_posteriors_free, lib.nvdp_model_posteriors,
                                      self._model, data, batch)  # fmt: skip
        return Posteriors._of(self._context, made)

    def privacy(self, texts: Iterable[str] | None = None, pairs: Iterable[str] | None = None, *, split: str = "dev",
                limit: int = 0, **options: Any) -> Record:  # fmt: skip
        """Measures the privacy of texts, or of a split of the run's data, in nats; as `nvdp privacy RUN --json`.

        For a run with token_noise: the original texts of the split under that noise.
        options: order, delta, releases, exact=True, max_pairs ... (Posteriors.privacy).
        """
        noise = self.config.get("token_noise", "none")
        if noise != "none" and texts is None:
            config = self._context.joined((lib.nvdp_run_config_create, lib.nvdp_privacy_config_create),
                                          {"run": str(self.path), "split": split, "limit": limit, **options})  # fmt: skip
            kind = "privacy" if text_mechanism(self._context, noise).on_sequence else "dchi"
            measure = lib.nvdp_run_sequence_privacy if kind == "privacy" else lib.nvdp_run_text_privacy
            return measured(self._context, kind, measure, config)
        posteriors = self.posteriors(texts, pairs) if texts is not None else self.posteriors(split=split, limit=limit)
        return posteriors.privacy(**options)

    def certificate(self, **options: Any) -> Record:
        """Returns the proven guarantee over all texts, seen or not, in nats: `holds`, `epsilon` at `delta`, `statement` ...; as
        `nvdp privacy RUN --certify --json`. options: delta, releases, at_epsilon."""
        config = self._context.config(lib.nvdp_privacy_config_create, options)
        found = result_of("struct nvdp_certificate")
        self._context.call(lib.nvdp_model_certificate, self._model, config, found)
        return self._context.json(lib.nvdp_certificate_json, found)

    def _write(self, path: Path, texts: list[str], labels: Sequence[Any] | None, pairs: list[str] | None) -> None:
        """Writes a table with the columns of the run's task."""
        config = self.config
        if config.task != "tsv":
            raise NvdpError(f"{self.path}: texts in memory need a run that was trained on texts in memory or on task tsv, found task {config.task}",
                            "ERR_UNSUPPORTED")  # fmt: skip
        columns = config["columns"]
        if (columns.get("pair") is None) != (pairs is None):
            raise NvdpValueError(f"pairs: expected {'none, because the run has single texts' if columns.get('pair') is None else 'second texts, because the run has pairs'}")
        if pairs is not None and len(pairs) != len(texts):
            raise NvdpValueError(f"pairs: expected {len(texts)} entries, one per text, found {len(pairs)}")
        _write_table(path, texts, labels, pairs, bool(columns.get("regression")),
                     (columns["text"], columns.get("pair"), columns["label"]))  # fmt: skip

    def export(self, texts: Iterable[str] | None = None, out: str | PathLike[str] = "shared.h5", *,
               pairs: Iterable[str] | None = None, labels: Iterable[Any] | None = None, **options: Any) -> Record:  # fmt: skip
        """Draws the samples of texts, or of splits (split="train,dev"), with randomness of the operating system, and writes them to a
        file for sharing. The file has nothing else of the texts; nvdp.open(out) reads it.

        The run's ledger counts the samples of each text. A text that was shared before is refused (ERR_STATE) unless budget_samples
        or budget_epsilon allows it. During the export, texts are in a temporary directory that only their owner can read.
        labels: written to the file if given; options: samples, budget_samples, no_ledger, overwrite, with_labels, sign, model_out,
        measure_texts ...
        Returns `statement`, the statement of the file; `guarantee`, its first line; `useful`, whether that guarantee is useful;
        `training_texts`, the exported texts that the encoder was trained on ("all", "some", "maybe"); and `privacy`, the report for
        the owner (None for fewer than 2 texts).
        """
        with tempfile.TemporaryDirectory() as folder:
            if texts is not None:
                source = Path(folder, "texts.jsonl")
                kept = None if labels is None else list(labels)
                self._write(source, list(texts), kept, None if pairs is None else list(pairs))
                options.update(input=source)
                if kept is not None:
                    options.setdefault("with_labels", True)
            config = self._context.config(lib.nvdp_export_config_create, {"run": str(self.path), "out": fspath(out), **options})
            result = result_of("struct nvdp_export_result")
            self._context.call(lib.nvdp_export, config, result)
        found = record(result[0])
        try:
            found["privacy"] = self._context.json(lib.nvdp_privacy_report_json, result.privacy) if result.privacy else None
        finally:
            lib.nvdp_export_result_free(result)
        return found
