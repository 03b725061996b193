"""Training, and using a trained run."""

from __future__ import annotations

import csv
import difflib
import hashlib
import inspect
import json
import keyword
import numbers
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union

import numpy as np

from ._lib import (
    Context, NvdpError, NvdpValueError, Result, absolute, as_python, c_text, check_callback, check_ended, ffi, freed, from_json, items, lib, owned_text,
    rebuild, record, result_of, scratch, shared, text, text_list, text_pairs, typed,
)  # fmt: skip
from ._progress import Progress, showing
from .posteriors import Posteriors
from .results import Attack, Certificate, Evaluation, ExportResult, ModelInfo, Option, Privacy, RunConfig, SanitizeResult, Scores, TextPrivacy, TrainingPrivacy, TrainResult
from .sanitizer import text_mechanism
from .shared import _export
from .tokenizer import Tokenizer
from .training_options import TrainingOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import Arguments, AttackArguments, EvaluateArguments, ExportArguments, PrivacyArguments, RunArguments, SanitizeArguments, TextPrivacyArguments

KeepTexts = Union[bool, Literal["dev"]]


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


def _classes(labels: Any, names: Sequence[str]) -> list[Any]:
    """Returns the names of the numbers of a datasets.ClassLabel, in which unlabelled rows have -1."""
    for i, label in enumerate(labels):
        if not isinstance(label, (int, np.integer)) or not 0 <= label < len(names):
            raise NvdpValueError(f"labels[{i}]: expected a class from 0 to {len(names) - 1}, found {label!r}; {_UNLABELLED}")
    return [names[label] for label in labels]


def _columns(data: Any, labels: Any, pairs: Any, names: Mapping[str, str]) -> tuple[Any, Any, Any]:
    """Returns texts, labels and pairs as lists, from lists, a pandas DataFrame, a datasets.Dataset, a mapping of columns, or a file."""
    data = _file(data)
    if isinstance(data, Mapping) and any(hasattr(part, "column_names") for part in data.values()):  # datasets.DatasetDict
        raise NvdpValueError(f"texts: expected a table, found several; give one of its tables: {', '.join(map(str, data))}")
    columns = getattr(data, "column_names", None) or getattr(data, "columns", None)
    if columns is None and isinstance(data, Mapping):
        columns = list(data)
    if columns is None:
        features = getattr(getattr(labels, "source", None), "features", None) or {}  # of a datasets.Column
        classes = getattr(features.get(getattr(labels, "column_name", ""), None), "names", None)
        if classes:
            _classes(labels, classes)
        found: tuple[Any, ...] = data, labels, pairs
    else:
        needed = [name for name in names.values() if name not in list(columns)]
        if needed:
            raise NvdpValueError(f"columns: expected {', '.join(needed)}, found {', '.join(map(str, columns))}")
        found = tuple(data[names[part]] if part in names else None for part in ("text", "label", "pair"))
        classes = getattr(getattr(data, "features", {}).get(names.get("label", ""), None), "names", None)
        if classes:  # datasets' ClassLabel
            found = found[0], _classes(found[1], classes), found[2]
    of = ("texts", "str"), ("labels", "labels"), ("pairs", "str")
    lists: list[Any] = [None if part is None else items(part, *one) for part, one in zip(found, of)]
    for name, part in zip(("labels", "pairs"), lists[1:]):
        if part is not None and len(part) != len(lists[0]):
            raise NvdpValueError(f"{name}: expected {len(lists[0])} entries, one per text, found {len(part)}")
    return lists[0], lists[1], lists[2]


_UNLABELLED = "a row without a label is never a class: leave it out"


def _plain(value: Any) -> Any:
    """Returns a scalar of pyarrow or NumPy as Python's own."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    return value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value


def _is_missing(value: Any) -> bool:
    """Returns True for None, NaN, NA and NaT."""
    value = _plain(value)
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")


def _label(value: Any, regression: bool, row: int) -> Any:
    """Returns a label as bool, int, str or, with regression, a number. Refuses what stands for a missing one: None, NaN, NA, NaT."""
    value = _plain(value)
    if regression and isinstance(value, str):  # of a CSV file
        with suppress(ValueError):
            value = float(value)
    if regression and isinstance(value, (int, float)) and np.isfinite(value):
        return value
    if not regression and isinstance(value, (bool, int)):
        return value
    if not regression and isinstance(value, str) and value != "":
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    wanted = "a finite number" if regression else "a class, that is a str, int or bool (or regression=True)"
    found = repr(value) if len(repr(value)) < 60 else type(value).__name__
    raise NvdpValueError(f"labels[{row}]: expected {wanted}, found {found}; {_UNLABELLED}")


_KINDS: dict[type, Callable[[str], Any]] = {bool: lambda name: name == "True", int: int, str: str}
"""Functions that make a label again from the name of its class."""


def _labels(labels: Sequence[Any], regression: bool, name: str = "labels") -> tuple[list[Any], type]:
    """Returns the labels, and the type of all of them."""
    for row, value in enumerate(labels):  # first, because pandas turns a column of int with a missing label into floats, which are no classes
        if _is_missing(value):
            _label(value, regression, row)
    found = [_label(value, regression, row) for row, value in enumerate(labels)]
    kinds = {float} if regression else {type(value) for value in found}
    if len(kinds) > 1:
        raise NvdpValueError(f"{name}: expected labels of one type, found {' and '.join(sorted(kind.__name__ for kind in kinds))}")
    return found, kinds.pop() if kinds else str


PERSON = "nvdp-person"  # the column of the persons


def _person(one: Any, i: int) -> str:
    """Returns the name of a person; "": a person of its own. A column of whole numbers with missing values becomes one of floats, in which
    the person 1 would be another one, 1.0."""
    if one is None or one != one:
        return ""
    if isinstance(one, numbers.Real) and not isinstance(one, numbers.Integral):
        raise NvdpValueError(f"persons[{i}]: expected str, int or None, found a float, {one!r}; make the column one of str")
    return str(one)


def _write_table(path: Path, texts: Sequence[str], labels: Sequence[Any] | None, pairs: Sequence[str] | None,
                 regression: bool = False, names: Sequence[Any] = ("text", "pair", "label"), persons: Sequence[str] | None = None) -> None:  # fmt: skip
    """Writes a file of JSON lines that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        for i, one in enumerate(texts):
            row: dict[str, str | float] = {names[0]: one}
            if pairs is not None:
                row[names[1]] = pairs[i]
            if labels is not None:
                row[names[2]] = labels[i] if regression else str(labels[i])
            if persons is not None:
                row[PERSON] = persons[i]
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


def _context(threads: int | None) -> Context:
    context = Context()
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
    if options.get("method") in presets():
        return {"preset": options["method"]}
    if options.get("certified_epsilon"):
        return {"preset": "certified"}
    if options.get("clip_sequence"):  # the same preset, with C instead of its epsilon
        return {"preset": "certified", "certified_epsilon": 0}
    return {"preset": "per-nat"}


_LABELS = "labels.json"
"""The type of the labels, beside the texts and in the run, unless it is str: {"type": "int", "created": when the run began}."""


def _keep_labels(run: Path) -> None:
    """Copies the type of the labels from the texts to the finished run."""
    record = from_json((run / "run.json").read_text("utf-8"))
    data = record.config.get("data")
    (run / _LABELS).unlink(missing_ok=True)  # of an earlier run
    if data != f"{record.config.get('out')}.data":
        return  # not texts in memory
    for source in Path(data, _LABELS), Path(f"{run}.data", _LABELS):
        if source.is_file():
            kind = from_json(source.read_text("utf-8")).type
            (run / _LABELS).write_text(json.dumps({"type": kind, "created": record.created}) + "\n", "utf-8")
            return


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
    names = "train.jsonl", "dev.jsonl", _LABELS
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
    context = _context(threads)
    options.setdefault("cache", _cache())
    for name in ("data", "representations", "from_base", "sensitive_from", "sensitive_list"):
        if isinstance(options.get(name), (str, PathLike)) and os.path.exists(options[name]):
            options[name] = absolute(options[name], name)
    config = _known(lambda: context.config("train", options), train)
    run = options.get("resume") or options["out"]
    try:
        with showing(context, progress):
            context.call(lib.nvdp_train, config, freed("struct nvdp_train_result"))
    except KeyboardInterrupt as stop:
        if _begun(run) is None:
            raise
        raise KeyboardInterrupt(f"stopped; nvdp.resume({run!r}) goes on ({stop})") from None
    _keep_labels(Path(run))
    return Run(run, threads=threads)


def _known(work: Callable[[], Any], function: Callable[..., Any]) -> Any:
    """Returns work(); adds to the error about an unknown option the function's own argument of a similar name."""
    try:
        return work()
    except NvdpValueError as reason:
        found = re.match(r"unknown option '(\w+)'$", str(reason))
        near = difflib.get_close_matches(found[1], inspect.signature(function).parameters, 1) if found else []
        if near:
            raise NvdpValueError(f"{reason}; did you mean '{near[0]}'?") from None
        raise


def train(texts: Any = None, labels: Any = None, *, pairs: Any = None, model: str | PathLike[str] | None = None,
          out: str | PathLike[str] | None = None, preset: str | None = "auto", dev: Any = 0.1, regression: bool = False,
          text_column: str = "text", label_column: str = "label", pair_column: str | None = None,
          progress: Progress = None, threads: int | None = None, **options: Unpack[Arguments]) -> Run:  # fmt: skip
    """Trains an encoder with a bottleneck, and returns the finished run.

    texts: a list of str with `labels` (str, int or bool, which predict gives back; numbers with regression=True; every row needs
        a label) and optional second texts, `pairs`; or a pandas
        DataFrame, a datasets.Dataset or a dict, with the columns `text_column`, `label_column`, `pair_column`; or a file with
        these columns: .csv (RFC 4180), .jsonl, or .parquet (needs pyarrow or pandas).
        None: the options name a task, as task="sst2", data="glue/SST-2".
    model: directory of an encoder in Hugging Face layout.
    out: a new run directory; None: nvdp-run, nvdp-run-2 ... in the current directory.
    preset: "per-nat", "certified" ...: values for options that are not set; None: the defaults; "auto": "certified" with
        certified_epsilon or clip_sequence, the method's own if there is one of its name, else "per-nat", which guarantees nothing over all texts.
    dev: data for the score: (texts, labels[, pairs]) or a table as above; or a share to hold out.
    progress: a function that receives {phase, done, total, unit, rate, loss, eta_seconds, finished ...}; True: a bar of tqdm, or
        without tqdm a line on stderr; None: the same in a terminal or a notebook; False: nothing.
    options: nvdp.TrainingOptions documents them: method="nvdp", epochs=5, certified_epsilon=8, seed=1, lambda_=0.1 ...

    Texts in memory are written to OUT.data, as JSON lines that only their owner can read. Resuming and scoring the run read them
    again. They are removed if no run begins. Ctrl-C saves the state and raises KeyboardInterrupt; nvdp.resume(out) continues to
    the same result.
    """
    more: dict[str, Any] = dict(options)
    if model is None and "from_base" not in more:
        raise TypeError("train() needs model, an encoder's folder")
    check_callback(progress)
    given: dict[str, Any] = {**_preset(preset, more), "model": None if model is None else absolute(model, "model")}
    if texts is None:
        for name, value in ("labels", labels), ("pairs", pairs):
            if value is not None:
                raise NvdpValueError(f"{name}: expected none without texts")
        given["out"] = absolute(out, "out") if out is not None else _free_name()
        return _train({**given, **more}, progress, threads)
    names = {"text": text_column, "label": label_column, **({"pair": pair_column} if pair_column else {})}
    rows = _columns(texts, labels, pairs, names)
    if rows[1] is None:
        raise NvdpValueError("labels: expected one per text, found none")
    (first, second), (known, kind) = text_pairs(rows[0], rows[2], some=True), _labels(rows[1], regression)
    rows = first, known, second
    if isinstance(dev, (int, float)):
        rows, held = _hold_out(*rows, float(dev))
    else:
        first, second, third = (*dev, None)[:3] if isinstance(dev, tuple) else (dev, None, None)
        held = _columns(first, second, third, names)
        if held[1] is None:
            raise NvdpValueError("dev: expected texts with labels, found no labels")
        (first, second), (known, other) = text_pairs(held[0], held[2], some=True), _labels(held[1], regression)
        held = first, known, second
        if other is not kind:
            raise NvdpValueError(f"dev: expected labels of type {kind.__name__} as for training, found {other.__name__}")
        if (rows[2] is None) != (second is None):
            raise NvdpValueError(f"dev: expected {'no pairs' if rows[2] is None else 'pairs'} as for training")
    given["out"] = absolute(out, "out") if out is not None else _free_name()
    with _texts_beside(given["out"], bool(more.get("overwrite"))) as folder:
        for split, part in ("train", rows), ("dev", held):
            _write_table(folder / f"{split}.jsonl", part[0], part[1], part[2], regression)
        if kind in (int, bool):
            (folder / _LABELS).write_text(json.dumps({"type": kind.__name__}) + "\n", "utf-8")
        given.update(task="tsv", data=str(folder), text_column="text", label_column="label", regression=regression,
                     text_pair_column="pair" if rows[2] is not None else None)  # fmt: skip
        return _train({**given, **more}, progress, threads)


def forget_texts(run: Run, keep: KeepTexts) -> None:
    """Removes the texts that train() wrote beside a finished run: all but the ones held out for "dev", or all."""
    folder = Path(f"{run.path}.data")
    for name in () if keep is True else ("train.jsonl",) if keep == "dev" else ("train.jsonl", "dev.jsonl", _LABELS):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # it is not empty
        folder.rmdir()


class Preset(Result):
    """A preset of the library: what it is for, and the options that it sets, for nvdp.train(..., **preset.options)."""

    description: str
    options: TrainingOptions


def presets() -> dict[str, Preset]:
    """Returns the presets of the library by name."""
    found: dict[str, Preset] = {}
    out = ffi.new("char **")
    while (name := lib.nvdp_preset(len(found), out)) != ffi.NULL:
        given = {key.replace("-", "_") + "_" * keyword.iskeyword(key): value for key, value in from_json(text(out[0])).items()}
        found[text(name)] = Preset(description=given.pop("description"), options=TrainingOptions(**given))
    return found


def options(kind: str = "train") -> list[Option]:
    """Returns the options of a kind of work: "train", "privacy", "export", "evaluate", "predict", "sanitizer" or "encoder". Each has
    name, type, help, default_value, unit, min, max, group.
    """
    config = shared().config(kind, {})
    found = [record(lib.nvdp_config_option(config, i)[0]) for i in range(lib.nvdp_config_count(config))]
    for one in found:
        one.help = as_python(one.help)
    return [Option((key, value) for key, value in one.items() if key not in ("offset", "width", "traits")) for one in found]


class ResultField(Result):
    """A number of a result."""

    name: str
    unit: str
    help: str


def result_fields(result: str) -> list[ResultField]:
    """Returns the numbers of a result, such as "train", "scores", "pretrain" or "sanitize". Each has name, unit, help; "test.n" is the number n of "test"."""
    table = lib.nvdp_result_table_find(c_text(result, "result"))
    if table == ffi.NULL:
        names: list[str] = []
        while (known := lib.nvdp_result_table(len(names))) != ffi.NULL:
            names.append(text(known.name))
        raise NvdpValueError(f"result: expected one of {', '.join(names)}, found {result}")
    return list(_fields(table))


def _fields(table: Any, prefix: str = "") -> Iterator[ResultField]:
    row = table.rows
    while row.name != ffi.NULL:
        name = prefix + text(row.name)
        yield ResultField(name=name, unit=text(row.unit), help=text(row.help))
        if row.of != ffi.NULL:
            yield from _fields(row.of, name + ".")
        row += 1


def _free_name() -> str:
    name, i = absolute("nvdp-run"), 1
    while os.path.exists(name) or os.path.exists(name + ".data"):
        i += 1
        name = absolute(f"nvdp-run-{i}")
    return name


def resume(run: str | PathLike[str], *, progress: Progress = None, threads: int | None = None) -> Run:
    """Continues a run that was stopped or killed, to the result that it would have had."""
    check_callback(progress)
    return _train({"resume": absolute(run, "run")}, progress, threads)


# --- texts that are privatized token by token ---


def measured(context: Context, kind: str, function: Callable[..., int], config: Any) -> Any:
    """Returns the report of a measure of texts, "privacy" or "dchi"."""
    report = freed(f"struct nvdp_{kind}_report")
    context.call(function, config, ffi.NULL, report)
    return typed(Privacy if kind == "privacy" else TextPrivacy, context.json(report))


def text_privacy(**options: Unpack[TextPrivacyArguments]) -> TextPrivacy:
    """Measures the original texts of a task under a token-by-token mechanism: all pairs, exact, in nats; as
    `nvdp privacy --sanitizer M --json`.

    options: task and data, or text (a file with one text per line), split, limit; mechanism, eta, model or vectors; sanitized, a
    directory from `nvdp sanitize`, instead of mechanism and eta; order, delta ...
    """
    context = Context()
    return measured(context, "dchi", lib.nvdp_text_privacy, context.config("text-privacy", options))


def sanitize(*, out: str | PathLike[str], progress: Progress = None, **options: Unpack[SanitizeArguments]) -> SanitizeResult:
    """Privatizes a task's files, or a text file, token by token, as `nvdp sanitize` does. Returns counts, deniability, `statement`.

    out: output directory or file; options: task and data, or text; mechanism, eta, model or vectors; overwrite; insecure_seed
    (only for tests and experiments) ...
    """
    check_callback(progress)
    context = _context(None)
    config = context.config("sanitize", {"out": absolute(out, "out"), **options})
    found = freed("struct nvdp_sanitize_result")
    with showing(context, progress):
        context.call(lib.nvdp_sanitize, config, ffi.NULL, ffi.NULL, found)
    return record(found[0])


def attack(kind: str, target: Any = None, *, public: Any = None, shared: Any = None, progress: Progress = None, threads: int | None = None,
           **options: Unpack[AttackArguments]) -> Attack:  # fmt: skip
    """Measures what an attacker learns, as `nvdp attack --kind`: the numbers of its JSON, and `verdict`, a sentence if they exceed what is
    proven, else "".

    kind: one of those that `nvdp attack --help` lists, such as "pair".
    target: a Run or its folder, Posteriors, or for "exposure" a model's folder. shared: the samples to attack, a Shared or a file; None: newly
    drawn ones. public: texts that the attacker has, or a file of them. options: prior, split, limit, seed, delta ... (`nvdp attack --help=all`).
    """
    context, info, i = _context(threads), result_of("struct nvdp_attack_info"), 0
    context.call(lib.nvdp_attack_describe, i, info)
    while text(info.name) != kind and i + 1 < info.attacks:
        i += 1
        context.call(lib.nvdp_attack_describe, i, info)
    with scratch(context, {"public.jsonl": "public", "target.h5": "target"}) as folder, showing(context, progress):
        given: dict[str, Any] = {"kind": kind, **options}
        if isinstance(target, Posteriors):
            given["posteriors"] = folder / "target.h5"
            target.save(given["posteriors"])
        elif target is not None:
            given["model" if info.target == lib.NVDP_ATTACK_MODEL else "run"] = absolute(getattr(target, "path", target), "target")
        if public is not None and not isinstance(public, (str, PathLike)):
            column = Run(given["run"]).config["columns"].get("text") if "run" in given else None
            _write_table(folder / "public.jsonl", text_list(public, "public", some=True), None, None, names=(column or "text",))
            public = folder / "public.jsonl"
        given.update(public=public, shared=None if shared is None else absolute(getattr(shared, "path", shared), "shared"))
        made = context.make("struct nvdp_attack_result", lib.nvdp_attack_free, lib.nvdp_attack, context.config("attack", given))
        found, out = context.json(made), ffi.new("char **")
        context.call(lib.nvdp_attack_verdict, made, out)
        return typed(Attack, {"kind": kind, **found, "verdict": owned_text(out[0])})


# --- a run ---


class Measurement(Result):
    """A measurement of a run by `nvdp privacy`."""

    file: str
    complete: bool
    texts: int
    of_texts: int
    releases: int
    settings: dict[str, Any]


class Prediction(Result):
    """The prediction of a text: a class with probabilities by class, or a score."""

    label: Any
    probability: float
    probabilities: dict[Any, float]
    score: float


class Run:
    """A run directory: its model, its scores, its privacy.

    A run that was stopped or killed has only its `config`: everything else raises ERR_STATE until nvdp.resume() has finished it.

    threads: number of threads. The precision of matrix products is f32.
    """

    def __init__(self, path: str | PathLike[str], *, threads: int | None = None):
        self.path = Path(absolute(path))
        if not (self.path / "run.json").is_file():
            raise NvdpError(f"{self.path}: no such run directory", "ERR_IO")
        self._context, self._threads = _context(threads), threads
        self._loaded: Any = None
        self._known: dict[str, Any] = {}
        self._loading = threading.Lock()

    def __reduce__(self) -> Any:
        return rebuild, (Run, (self.path,), {"threads": self._threads})

    def __repr__(self) -> str:
        try:
            return f"nvdp.Run({str(self.path)!r}): {self.guarantee}"
        except NvdpError:
            return f"nvdp.Run({str(self.path)!r})"

    @property
    def guarantee(self) -> str:
        """The guarantee for the samples of a text, one or as many as training was certified for, in one line: proven or measured, and
        what is not covered. Samples of a text in several rows or files add up: nvdp.verify with the
        ledger has their sum."""
        found = result_of("struct nvdp_guarantee")
        self._context.call(lib.nvdp_run_guarantee, self._folder, found)
        out = ffi.new("char **")
        self._context.call(lib.nvdp_guarantee_line, found, out)
        return owned_text(out[0])

    @property
    def measurements(self) -> list[Measurement]:
        """The measurements of this run by `nvdp privacy`, the main one first: `file` in the run's directory, `complete` (all texts of
        the split), `texts`, `of_texts`, `releases`, `settings` (options that differ from their defaults)."""
        out = ffi.new("char **")
        self._context.call(lib.nvdp_measured_list, self._folder, out)
        found: Any = from_json(owned_text(out[0]))
        return [Measurement(one) for one in found]

    @property
    def training_privacy(self) -> TrainingPrivacy | None:
        """The privacy of training for its training texts, recomputed for all planned steps, in exact arithmetic, which the training's noise
        lacks; None: training was not private. `account` has epsilon at delta, `risk` has mu, replacement, membership and guesses; adjacency
        is zero-out of one training example."""
        made = freed("struct nvdp_training_privacy")
        self._context.call(lib.nvdp_training_privacy, self._folder, made, ffi.NULL)
        return record(made[0]) if made.is_private else None

    @property
    def config(self) -> RunConfig:
        """All options, as in run.json."""
        found: RunConfig = typed(RunConfig, from_json((self.path / "run.json").read_text("utf-8")).config)
        return found

    @property
    def result(self) -> TrainResult:
        """The result of training, as in result.json; `test`: scores on the dev file."""
        check_ended(self.path)
        found: TrainResult = typed(TrainResult, from_json((self.path / "result.json").read_text("utf-8")))
        if "test" not in found:
            raise NvdpError(f"{self.path}: expected the run of the owner, found a copy for others (push_to_hub), which has no scores; evaluate(texts, labels) scores it", "ERR_STATE")
        return found

    @property
    def _folder(self) -> bytes:
        return c_text(str(self.path), "path")

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Returns make(), which is kept until another run is trained in the directory."""
        begun = _begun(str(self.path))
        if self._known.get("begun") != begun:
            self._known = {"begun": begun}
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]

    def _privatized(self) -> bool:
        """Returns whether the run reads texts that their owners privatized, for which the model alone does not suffice."""

        def find() -> bool:
            config = self.config
            return config.get("token_noise", "none") != "none" or bool(config.get("representations"))

        return bool(self._once("privatized", find))

    @property
    def _model(self) -> Any:
        """The model, which stays loaded until another run is trained in the directory."""
        with self._loading:
            begun = _begun(str(self.path))
            if self._loaded is None or self._loaded[0] != begun:
                if self._privatized():
                    noise = self.config.get("token_noise", "none")
                    raise NvdpError(f"{self.path}: reads privatized texts ({noise}): use predict, evaluate and the program", "ERR_UNSUPPORTED")
                self._loaded = begun, self._context.make("struct nvdp_model", lib.nvdp_model_free, lib.nvdp_model_load,
                                                         c_text(str(self.path / "model"), "path"))  # fmt: skip
            return self._loaded[1]

    @property
    def _label(self) -> Callable[[str], Any]:
        """Makes a label, as it was given to train(), from the name of its class."""
        try:
            kept = from_json((self.path / _LABELS).read_text("utf-8"))
            begun = from_json((self.path / "run.json").read_text("utf-8")).created
        except FileNotFoundError:
            return str
        return next((make for kind, make in _KINDS.items() if kind.__name__ == kept.type and kept.created == begun), str)

    @property
    def info(self) -> ModelInfo:
        """Properties of the model: method, task, outputs, max_length, hidden_size, latent_dim, kappa, length, parameters ..., labels."""
        out = result_of("struct nvdp_model_info")
        self._context.call(lib.nvdp_model_info, self._model, out)
        found = record(out[0])
        label = self._label
        found["labels"] = None if out.labels == ffi.NULL else [label(text(out.labels[c])) for c in range(out.outputs)]
        return found

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the run's encoder."""
        model = self._model
        return Tokenizer.__new__(Tokenizer)._take(self._context, lib.nvdp_model_tokenizer(model), (getattr, (self, "tokenizer")), model)

    def evaluate(self, texts: Any = None, labels: Any = None, pairs: Any = None, *, split: str = "dev", **options: Unpack[EvaluateArguments]) -> Evaluation:
        """Scores the model with fresh noise: {metric: {"mean", "sd"}} over `draws`, `n`, `majority`.

        texts: with labels, and with pairs if the run reads pairs; or a split of the run's data, as a str: "dev", "train",
            "validation", "test" ...
        options: data, limit, batch, seed, draws.
        """
        if isinstance(texts, str):
            texts, split = None, texts
        out = freed("struct nvdp_evaluation")
        with scratch(self._context, {"test.jsonl": "texts"}) as folder:
            if texts is not None:
                if labels is None:
                    raise NvdpValueError("labels: expected a label per text, found none")
                self._write(folder / "test.jsonl", *text_pairs(texts, pairs, some=True), labels)
                options, split = {**options, "data": folder}, "test"
            elif labels is not None or pairs is not None:
                raise NvdpValueError("texts: expected texts with labels or pairs, found none")
            config = self._context.config("evaluate", {"run": self.path, "split": split, **options})
            self._context.call(lib.nvdp_evaluate, config, out)
        found = record(out[0])
        found["scores"] = typed(Scores, self._context.json(out.scores, b"file"))
        return found

    def predict(self, texts: Iterable[str], pairs: Iterable[str] | None = None, *, samples: int = 5, seed: int = 1,
                batch: int = 32) -> list[Prediction]:  # fmt: skip
        """Returns {label, probability, probabilities} or {score} of each text, averaged over `samples` draws of the bottleneck's noise.
        Not private, because the seed repeats the noise; use `export` for samples that are shared."""
        first, second = text_pairs(texts, pairs)
        if not first:
            return []
        blanks = str.maketrans("\t\n\r\0", "   \ufffd")  # as a file of texts is read
        first = [one.translate(blanks) for one in first]
        second = None if second is None else [one.translate(blanks) for one in second]
        options = {"samples": samples, "probabilities": True, "seed": seed, "batch": batch}
        lines = self._lines_of_file(first, second, options) if self._privatized() else self._lines(first, second, options)
        # labels are texts: "nan" is not a number, and U+2028 does not end a line
        label, found = self._once("label", lambda: self._label), [json.loads(line, object_pairs_hook=Prediction) for line in lines.splitlines()]
        for one in found:
            del one["index"]
            if "label" in one:
                one["label"] = label(one["label"])
                one["probabilities"] = Result((label(name), value) for name, value in one["probabilities"].items())
        return found

    def _lines(self, texts: Any, pairs: Any, options: Mapping[str, Any]) -> bytes:
        """Predicts with the loaded model; returns lines of JSON."""
        config = self._context.config("predict", {"run": self.path, **options})
        length = self._once("max_length", lambda: self.info.max_length)
        data = self.tokenizer._dataset(texts, pairs, length)
        data.split = lib.NVDP_SPLIT_TEST
        return self._context.lines(lib.nvdp_predict_dataset, self._model, data, config)

    def _lines_of_file(self, texts: Any, pairs: Any, options: Mapping[str, Any]) -> bytes:
        """Predicts with the program's function, which privatizes the texts as the run did."""
        with scratch(self._context, {"texts": "texts", "predictions": "predictions"}) as folder:
            source, target = folder / "texts", folder / "predictions"
            rows = zip(texts) if pairs is None else zip(texts, pairs)
            source.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
            config = self._context.config("predict", {"run": self.path, "input": source, "out": target, **options})
            self._context.call(lib.nvdp_predict_texts, config, ffi.NULL, ffi.NULL, ffi.NULL)
            return target.read_bytes()

    def posteriors(self, texts: Iterable[str] | None = None, pairs: Iterable[str] | None = None, *, split: str = "dev",
                   batch: int = 32, **options: Unpack[RunArguments]) -> Posteriors:  # fmt: skip
        """Computes the posteriors of texts, or of a split of the run's data (options: data, limit, seed)."""
        if texts is None:
            config = self._context.config("run",
                                          {"run": self.path, "split": split, "batch": batch, **options})  # fmt: skip
            made = self._context.make("struct nvdp_posteriors", lib.nvdp_posteriors_free, lib.nvdp_run_posteriors, config)
        else:
            self._check_pairs(pairs)
            first, second = text_pairs(texts, pairs)
            data = self.tokenizer._dataset(first, second, self.info.max_length)
            made = self._context.make("struct nvdp_posteriors", lib.nvdp_posteriors_free, lib.nvdp_model_posteriors,
                                      self._model, data, batch)  # fmt: skip
        return Posteriors._of(self._context, made)

    def privacy(self, texts: Iterable[str] | None = None, pairs: Iterable[str] | None = None, *, split: str = "dev",
                limit: int = 0, **options: Unpack[PrivacyArguments]) -> Privacy:  # fmt: skip
        """Measures the privacy of texts, or of a split of the run's data, in nats; as `nvdp privacy RUN --json`.

        For a run with token_noise: the original texts of the split under that noise, as nvdp.text_privacy.
        options: order, delta, releases, exact=True, max_pairs ... (Posteriors.privacy).
        """
        check_ended(self.path)
        texts = None if texts is None else text_list(texts, some=True)
        noise = self.config.get("token_noise", "none")
        if noise != "none" and texts is None:
            config = self._context.config("run,privacy",
                                          {"run": self.path, "split": split, "limit": limit, **options})  # fmt: skip
            kind = "privacy" if text_mechanism(self._context, noise).on_sequence else "dchi"
            measure = lib.nvdp_run_sequence_privacy if kind == "privacy" else lib.nvdp_run_text_privacy
            return measured(self._context, kind, measure, config)
        posteriors = self.posteriors(texts, pairs) if texts is not None else self.posteriors(split=split, limit=limit)
        return posteriors.privacy(**options)

    def certificate(self, **options: Unpack[PrivacyArguments]) -> Certificate:
        """Returns the proven guarantee over all texts, seen or not, in nats: `epsilon` at `delta` for all `releases` samples of a text,
        `theorem` ("none": nothing is proven, and epsilon is inf), `statement` ...; as `nvdp privacy RUN --certify --json`.
        options: delta (1e-5), releases (1, whatever the training promised), at_epsilon."""
        config = self._context.config("privacy", options)
        found = result_of("struct nvdp_certificate")
        self._context.call(lib.nvdp_model_certificate, self._model, config, found)
        return typed(Certificate, self._context.json(found))

    @property
    def _described(self) -> Any:
        """The model's task, as in its config.json: pair, labels ..."""
        check_ended(self.path)
        path = self.path / "model" / "config.json"
        if not path.is_file():
            raise NvdpError(f"{path}: expected the run's model, found no file: a sweep that keeps only results removes it", "ERR_STATE")
        return from_json(path.read_text("utf-8")).nvdp

    def _check_pairs(self, pairs: Any) -> None:
        """Refuses second texts for a run on single texts, and single texts for a run on pairs."""
        single = not self._described.get("pair")
        if single != (pairs is None):
            raise NvdpValueError(f"pairs: expected {'none, as the run reads single texts' if single else 'a second text for each text'}")

    def _write(self, path: Path, texts: list[str], pairs: list[str] | None, labels: Any, persons: Any = None) -> None:
        """Writes a table with the columns of the run's task."""
        config = self.config
        if config.task not in ("tsv", "none"):
            raise NvdpError(f"{self.path}: texts in memory need a run that was trained on texts in memory or on task tsv, found task {config.task}",
                            "ERR_UNSUPPORTED")  # fmt: skip
        columns = config["columns"]
        self._check_pairs(pairs)
        regression = bool(columns.get("regression"))
        if labels is not None and not columns["label"]:
            raise NvdpValueError("labels: expected none, as the run has no task")
        known = None if labels is None else _labels(items(labels, "labels", "labels"), regression)[0]
        if known is not None and len(known) != len(texts):
            raise NvdpValueError(f"labels: expected {len(texts)} as texts, found {len(known)}")
        if known is not None and not regression:
            names = self._described.labels
            for i, label in enumerate(known):
                if str(label) not in names:
                    raise NvdpValueError(f"labels[{i}]: expected one of {', '.join(names[:20])}, found {label!r}")
        whose = None if persons is None else [_person(one, i) for i, one in enumerate(items(persons, "persons", "names"))]
        if whose is not None and len(whose) != len(texts):
            raise NvdpValueError(f"persons: expected {len(texts)} as texts, found {len(whose)}")
        _write_table(path, texts, known, pairs, regression, (columns["text"] or "text", columns.get("pair"), columns["label"]), whose)

    def export(self, texts: Iterable[str] | None = None, out: str | PathLike[str] = "shared.h5", *,
               pairs: Iterable[str] | None = None, labels: Iterable[Any] | None = None, persons: Iterable[str | None] | None = None,
               **options: Unpack[ExportArguments]) -> ExportResult:  # fmt: skip
        """Draws the samples of texts, or of splits (split="train,dev"), with randomness of the operating system, and writes them to a
        file for sharing. The file has nothing else of the texts; nvdp.open(out) reads it.

        The run's ledger counts the samples of each text. A text that was shared before is refused (ERR_STATE) unless budget_samples
        or budget_epsilon allows it. During the export, texts are in a temporary directory that only their owner can read.
        persons: the person of each text, such as its author; None: a person of its own. The ledger adds up all texts of a person
        (`person` of the result: epsilon, guesses ...) and keeps no names; person_epsilon refuses more. With split, name the column:
        person="author".
        labels: written to the file if given; options: samples, budget_samples, no_ledger, overwrite, with_labels, sign, model_out,
        measure_texts ...
        Returns `statement`, the statement of the file; `guarantee`, its first line; `useful`, whether that guarantee is useful;
        `training_texts`, the exported texts that the encoder was trained on ("all", "some", "maybe"); and `privacy`, the report for
        the owner (None for fewer than 2 texts).
        """
        given: dict[str, Any] = {"run": self.path, "out": absolute(out, "out"), **options}
        with scratch(self._context, {"texts.jsonl": "texts"}) as folder:
            if texts is not None:
                given["input"] = folder / "texts.jsonl"
                self._write(given["input"], *text_pairs(texts, pairs, some=True), labels, persons)
                if persons is not None:
                    given["person"] = PERSON
                if labels is not None:
                    given.setdefault("with_labels", True)
            elif labels is not None or pairs is not None or persons is not None:
                raise NvdpValueError("texts: expected texts with labels, pairs or persons, found none")
            return _export(self._context, given)
