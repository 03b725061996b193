"""Summaries: one noisy matrix of a whole collection, and the readers that are computed from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from ._lib import (
    Context, NvdpError, NvdpValueError, absolute, array, c_text, ffi, freed, items, lib, pointer, rebuild, record, result_of, scratch, text, text_list, typed, view,
)  # fmt: skip
from ._progress import Progress, showing
from .results import CollectionMoments, ReuseResult, Scores, SummaryResult, Verification
from .runs import Prediction
from .shared import verify, write_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import ReuseArguments, SummarizeArguments


def summarize(texts: Iterable[str], labels: Optional[Iterable[Any]] = None, out: str | PathLike[str] = "summary.h5", *, model: str | PathLike[str],
              center: str | PathLike[str] | Iterable[str], classes: Optional[Sequence[str]] = None, range: Optional[tuple[float, float]] = None,
              persons: Optional[Iterable[str]] = None, run: str | PathLike[str] | None = None, progress: Progress = None, threads: int | None = None,
              **options: Unpack[SummarizeArguments]) -> SummaryResult:  # fmt: skip
    """Writes a summary of a whole collection in place of a sample of each text, as `nvdp summarize`: epsilon 1 for the replacement of any row.

    model: folder of a public encoder. center: public texts, or a file of them, one per line; refused if one of `texts` is among them.
    classes: the names of all classes, or range: the lowest and the highest score. Give them from public knowledge, because a list of the labels that
    occur would reveal a rare one. A label that is not among the classes, or None, counts as none. persons: who wrote each text; then a person with all rows is replaced, at the price of one row.
    run: folder of the run, whose ledger counts the summaries; default: MODEL-summary beside the output file.
    options: summary_epsilon, summary_delta, rows (synthetic ones), reduce, dry_run, ledger, budget_samples ...
    """
    context, rows = Context(), text_list(texts, some=True)
    context.set_threads(threads)
    columns: dict[str, list[Any]] = {"text": rows}
    for name, column in (("label", labels), ("person", persons)):
        if column is None:
            continue
        columns[name] = ["" if one is None else str(one) for one in column]
        if len(columns[name]) != len(rows):
            raise NvdpValueError(f"{name}s: expected {len(rows)}, one per text, found {len(columns[name])}")
    answers = checked_answers(labels, classes, range)
    with scratch(context, {"rows.jsonl": "texts", "public.jsonl": "center"}) as folder:
        source, public = folder / "rows.jsonl", folder / "public.jsonl"
        write_rows(source, **columns)
        if not isinstance(center, (str, PathLike)):
            write_rows(public, text=text_list(center, "center", some=True))
            center = public
        given = {"model": absolute(model, "model"), "center": absolute(center, "center"), "out": absolute(out, "out"), "input": source,
                 "run": None if run is None else absolute(run, "run"), "person": None if persons is None else "person", **answers, **options}  # fmt: skip
        return _summarize(context, given, progress)


def checked_answers(labels: Any, classes: Optional[Sequence[str]], range: Optional[tuple[float, float]]) -> dict[str, Optional[str]]:
    """Returns the options that say what labels are."""
    if labels is not None and classes is None and range is None:
        raise NvdpValueError("labels: expected the names of all classes, or the range of scores, found neither")
    if any("," in str(name) for name in classes or ()):
        raise NvdpValueError("classes: expected names without commas")
    return {"classes": None if classes is None else ",".join(map(str, classes)), "range": None if range is None else f"{float(range[0])!r},{float(range[1])!r}"}


def _summarize(context: Context, options: dict[str, Any], progress: Progress) -> SummaryResult:
    found = freed("struct nvdp_summary_result")
    with showing(context, progress):
        context.call(lib.nvdp_summarize, context.config("summarize", options), found)
    return record(found[0])


class Summary:
    """A summary, read completely: one noisy matrix of a collection, and synthetic rows that are computed from it.

    units: n, rows of the collection; dim: d, numbers of a vector x; answers: K, numbers of an answer y; class_names: None for scores and without
    answers; low, high: range of the scores. weights: (alpha, beta, tau) of a row z = (alpha, beta x, tau y); alpha 0: z has no constant.
    noise: standard deviations on the diagonal of the matrix, and off it. epsilon, delta: what the file states; verify() checks it.
    """

    def __init__(self, path: str | PathLike[str]):
        self.path = absolute(path)
        self._context = context = Context()
        self._file = context.make("struct nvdp_collection", lib.nvdp_collection_free, lib.nvdp_collection_read, c_text(self.path, "path"))
        out = result_of("struct nvdp_collection_info")
        context.call(lib.nvdp_collection_describe, self._file, out)
        self.units, self.dim, self.answers = int(out.units), int(out.dim), int(out.answers)
        self.scores, self.low, self.high = bool(out.scores), float(out.low), float(out.high)
        self.epsilon, self.delta = float(out.epsilon), float(out.delta)
        self.weights = float(out.weight_constant), float(out.weight_vector), float(out.weight_answer)
        self.noise = float(out.noise_diagonal), float(out.noise_off_diagonal)
        self.statement = text(out.statement)
        self.class_names: list[str] | None = None if out.label_names == ffi.NULL else json.loads(text(out.label_names))
        self._width, self._rows = int(out.width), int(out.rows)

    def __reduce__(self) -> Any:
        return rebuild, (Summary, (self.path,), {})

    def __repr__(self) -> str:
        return (f"nvdp.Summary({self.path!r}): {self.units} rows, vectors of {self.dim} numbers, epsilon {self.epsilon:g} at delta {self.delta:g} as "
                f"stated, {self._rows} synthetic rows")  # fmt: skip

    @cached_property
    def matrix(self) -> np.ndarray:
        """[D, D] float64: the sum of z z^T over all rows, plus noise."""
        found = np.empty((self._width, self._width))
        self._context.call(lib.nvdp_collection_matrix, self._file, pointer(found, "double", writable=True))
        return found

    @cached_property
    def _synthetic(self) -> tuple[np.ndarray, np.ndarray]:
        x, y = np.empty((self._rows, self.dim), np.float32), np.empty(self._rows, np.float32)
        arguments = pointer(x, "float", writable=True), pointer(y, "float", writable=True)
        self._context.call(lib.nvdp_collection_rows, self._file, 0, self._rows, *arguments)
        return x, y

    @property
    def rows(self) -> np.ndarray:
        """[N, d] float32: synthetic rows, none of which belongs to a text."""
        return self._synthetic[0]

    @property
    def labels(self) -> np.ndarray | None:
        """[N] their answers: numbers of classes, int64, or scores, float32. None: without answers."""
        if self.answers == 0:
            return None
        return self._synthetic[1] if self.scores else self._synthetic[1].astype(np.int64)

    def moments(self) -> CollectionMoments:
        """Returns what the matrix says of the collection, estimated with regard to the known noise: `mean` [d], `answer` [K] (mean of y),
        `covariance` [d, d], `cross` [K, d] (covariances of y and x), `share` [C] and `class_mean` [C, d] of the classes, and
        `noise`, the standard deviation of a covariance off the diagonal."""
        out = result_of("struct nvdp_collection_moments")
        self._context.call(lib.nvdp_collection_moments, self._file, out)
        shapes = {"mean": (self.dim,), "answer": (self.answers,), "covariance": (self.dim, self.dim), "cross": (self.answers, self.dim),
                  "share": (out.classes,), "class_mean": (out.classes, self.dim)}  # fmt: skip
        arrays = {name: view(getattr(out, name), shape, np.float64, self._file) for name, shape in shapes.items()}
        return CollectionMoments(arrays, classes=int(out.classes), noise=float(out.noise))

    def verify(self, public_key: str | PathLike[str] | None = None) -> Verification:
        """Checks the file for consistency, as nvdp.verify()."""
        return verify(self.path, public_key)


def reuse(file: Any, labels: Any = None, out: str | PathLike[str] | None = None, *, progress: Progress = None, threads: int | None = None,
          **options: Unpack[ReuseArguments]) -> ReuseResult:  # fmt: skip
    """Trains a reader on a shared file alone, or computes one from a summary, as `nvdp reuse`, and writes it to the folder `out`.

    file: a path, or what nvdp.open() and release() return. labels: [N] in place of those in the file, of the texts in its order; floats are
    scores; a path in their place is `out`. options: for samples eval_file, epochs, seeds ...; for a summary score (a table of labeled texts),
    model (the encoder), text_column, label_column. With seeds=5, `accuracy.sd` is the spread of five readers.
    """
    context, found = Context(), freed("struct nvdp_reuse_result")
    context.set_threads(threads)
    if isinstance(labels, (str, PathLike)):
        labels, out = None, labels
    with scratch(context, {"labels": "labels"}) as folder, showing(context, progress):
        given: dict[str, Any] = {"file": absolute(getattr(file, "path", file), "file"), "out": None if out is None else absolute(out, "out"), **options}
        if labels is not None:
            rows = items(labels, "labels", "labels")
            if any("\n" in str(one) for one in rows):
                raise NvdpValueError("labels: expected names without line breaks")
            given["labels"] = folder / "labels"
            given["labels"].write_text("".join(f"{one}\n" for one in rows), "utf-8")
            given.setdefault("regression", any(isinstance(one, (float, np.floating)) for one in rows))
        context.call(lib.nvdp_reuse, context.config("reuse", given), found)
    made: ReuseResult = record(found[0])
    made.scores = None if found.scores == ffi.NULL else typed(Scores, context.json(found.scores, b"file"))
    made.accuracy = None if made.scores is None else made.scores.metrics.get("accuracy")
    if made.accuracy is not None:
        made.accuracy.sd = made.seed_sd if made.seeds > 1 else np.nan
    return made


class Reader:
    """A reader of a summary, which reuse() wrote to a folder. model: folder of the encoder that the summary names; none for vectors."""

    def __init__(self, path: str | PathLike[str], *, model: Union[str, PathLike[str], None] = None, threads: int | None = None):
        self.path, self._model, self._threads = absolute(path), None if model is None else absolute(model, "model"), threads

    def __repr__(self) -> str:
        return f"nvdp.Reader({self.path!r}, model={self._model!r})"

    def predict(self, texts: Any) -> list[Prediction]:
        """Returns {label, probability, probabilities} or {score} of each text, from its plain embedding. Probabilities are the estimates of
        a linear regression, cut to [0, 1].

        texts: a list of str, or their [N, D] vectors by the encoder of the summary: for a summary of vectors (GaussianRelease), always.
        """
        vectors = array(texts, np.float32, 2, "texts") if getattr(texts, "ndim", 0) == 2 else None
        rows, context = text_list(texts) if vectors is None else vectors, Context()
        context.set_threads(self._threads)
        if not len(rows):
            return []
        options = {"run": self.path, "model": self._model, "probabilities": True}
        with scratch(context, {"texts.jsonl": "texts"}) as folder:
            if vectors is None:
                write_rows(folder / "texts.jsonl", text=rows)
                count = ffi.new("size_t *")
                config = context.config("predict", {**options, "input": folder / "texts.jsonl"})
                lines = context.lines(lambda *given: lib.nvdp_predict_texts(*given, count), config)
            else:
                lines = context.lines(lib.nvdp_predict_vectors, context.config("predict", options), *vectors.shape, pointer(vectors, "float"))
        found = [json.loads(line, object_pairs_hook=Prediction) for line in lines.splitlines()]
        if len(found) != len(rows):
            raise NvdpError(f"predict: expected {len(rows)} predictions, found {len(found)}")
        for one in found:
            del one["index"]
        return found
