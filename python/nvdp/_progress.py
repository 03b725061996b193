"""Showing progress: a bar of tqdm, if that is installed, or else a line on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

import numpy as np

from . import results
from ._lib import Context, check_callback

Progress = Union[bool, Callable[[results.Progress], object], None]
"""A function of one record; True: shown; False: not shown; None: shown in a terminal and in a notebook."""


def _line(progress: results.Progress) -> None:
    """Prints the progress on one line of standard error."""
    left = "" if np.isnan(progress.eta_seconds) else f", {progress.eta_seconds:.0f} s left"
    loss = "" if np.isnan(progress.loss) else f", loss {progress.loss:.4f}"
    line = f"{progress.phase}: {progress.done}/{progress.total} {progress.unit}s{loss}{left}"
    sys.stderr.write(f"\r{line:<70}" + ("\n" if progress.finished else ""))
    sys.stderr.flush()


class _Bar:
    """A bar of tqdm.auto per phase."""

    def __init__(self, tqdm: Any):
        self.tqdm, self.phase = tqdm, ""
        self.bar: Any = None

    def __call__(self, progress: results.Progress) -> None:
        if self.phase != progress.phase or self.bar is None:
            self.close()
            self.bar = self.tqdm(total=progress.total, desc=progress.phase, unit=f" {progress.unit}s", leave=False)
            self.phase = progress.phase
        self.bar.total = progress.total
        self.bar.update(progress.done - self.bar.n)
        if not np.isnan(progress.loss):
            self.bar.set_postfix(loss=f"{progress.loss:.4f}", refresh=False)
        if progress.finished:
            self.close()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = None


def watched() -> bool:
    """Returns whether somebody sees standard error: a terminal or a notebook."""
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", bool)())


def callback(progress: Progress) -> Callable[[results.Progress], object] | None:
    """Returns the function that shows the progress; None: nothing is shown."""
    check_callback(progress)
    if callable(progress):
        return progress
    if progress is False or (progress is None and not watched()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _line
    return _Bar(tqdm)


@contextmanager
def showing(context: Context, progress: Progress) -> Iterator[None]:
    """Shows the progress of the context's calls inside the block."""
    before, context.progress = context.progress, callback(progress)
    try:
        yield
    finally:
        if isinstance(context.progress, _Bar):
            context.progress.close()
        context.progress = before


@contextmanager
def counting(total: int, phase: str, progress: Progress) -> Iterator[Callable[[int], None]]:
    """Yields a function that shows that so many more texts are done."""
    show, done = callback(progress), 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if show is not None:
            show(results.Progress(phase=phase, done=done, total=total, unit="text", loss=np.nan, eta_seconds=np.nan, finished=done == total))

    try:
        yield count
    finally:
        if isinstance(show, _Bar):
            show.close()
