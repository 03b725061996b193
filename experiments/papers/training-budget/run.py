#!/usr/bin/env python3
"""Measures what a certified release gains from more training rows, and from an encoder that is trained within the clip.

How much of the loss at a certified epsilon can better training recover? The ceiling for a task with two classes is a release of base's decision: one
bit, as a mean of +C or -C with noise 1. It is right with probability a Phi(C) + (1 - a)(1 - Phi(C)), if base is right with probability a and Phi is the
normal distribution function. The gap is how many points `--preset certified` scores below this ceiling. Epsilon holds for any two texts and one released sample, at delta 1e-5. It does not cover the training rows."""
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from claims import DEV_TEXTS, error_of_accuracy
from common import Missing, Table, unknown
from decision import right_at_most
from sweeps import SweepStudy, mean_of, score

study = SweepStudy(__file__, "The training budget of a certified release", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder"),
    "layers": (6, "layers of the encoder"),
    "seeds": (3, "number of training seeds"),
    "jobs": (1, "runs at a time"),
})

TEXTS = DEV_TEXTS["sst2"]
ROWS = (1000, 3000, 10000)
EPSILONS = (8, 16, 32)
HEADER = ["rows of the encoder", "rows of the mechanism", "base", *("epsilon %d (gap)" % epsilon for epsilon in EPSILONS)]


def common(rows):
    return {"tasks": ["sst2"], "data": {"sst2": "{glue}/SST-2"}, "limit_train": rows, "patience": 0, "precision": "bf16", "max_length": 64}


def base(study, rows):
    return study.sweep("base-%d" % rows, dict(common(rows), model="{model}", methods=["base"], lr=1e-4, dropout=0.1, epochs=3, eval_draws=1), 0.012e-3 * rows)


def mechanism(study, encoder_rows, rows, frozen=True):
    """`--preset certified` from the encoder that was fine-tuned on so many rows, frozen or trained with the mechanism."""
    base(study, encoder_rows)
    return study.sweep("%s-%d-%d" % ("certified" if frozen else "whole", encoder_rows, rows), dict(
        common(rows), from_base="{out}/base-%d/runs/sst2-base-s{seed}-*" % encoder_rows, freeze_layers="{layers}" if frozen else 0, lambdas=[0], eval_draws=5,
        methods=[{"name": "certified", "method": "nvdp", "preset": "certified", "certified_epsilon": list(EPSILONS)}],
        privacy={"max_pairs": 380}, keep="results"), 0.03 if frozen else 0.06e-3 * rows)


def row(study, encoder_rows, rows, frozen=True):
    """Returns a row of the table, and the mean gap over the epsilons (None if it is not measured)."""
    start, found = base(study, encoder_rows), mechanism(study, encoder_rows, rows, frozen)
    cells, gaps = [], []
    settings = sorted(found, key=lambda setting: setting["clip_sequence"]) if not isinstance(found, Missing) else [found] * len(EPSILONS)
    for setting in settings:
        if isinstance(setting, Missing) or isinstance(start, Missing):
            cells.append(setting if isinstance(setting, Missing) else score(setting))
            continue
        a, one_bit = mean_of(start[0]) / 100, right_at_most(setting["clip_sequence"])
        gaps.append(100 * (a * one_bit + (1 - a) * (1 - one_bit)) - mean_of(setting))
        cells.append("%s (%s)" % (score(setting), points(gaps[-1])))
    name = format(rows, ",") + ("" if frozen else ", encoder too")
    return [format(encoder_rows, ","), name, start if isinstance(start, Missing) else score(start[0]), *cells], sum(gaps) / len(gaps) if gaps else None


def points(gap):
    """Formats a gap; what rounds to zero has no sign."""
    return "%.1f" % (round(gap, 1) + 0.0)


def table(study, cases, sentence):
    rows, gaps = zip(*(row(study, *case) for case in cases))
    scale = "%s, SST-2, mean ± standard deviation of %d seeds, five draws of noise on %d dev texts. Gap: points below the ceiling." % (study.options.model, study.options.seeds, TEXTS)
    known = [(gap, row) for gap, row in zip(gaps, rows) if gap is not None]
    if len(known) < 2:
        return Table(scale, HEADER, rows, unknown("some runs are missing."))
    gaps, rows_known = zip(*known)
    errors = [error_of_accuracy(float(cell.split()[0]), TEXTS) for row in rows_known for cell in row[3:]]
    scale += " A score has a standard error of %.1f to %.1f points, so a difference of two scores below %.1f is within two standard errors." % (min(errors), max(errors), 2 * math.sqrt(2) * max(errors))
    return Table(scale, HEADER, rows, sentence(gaps, rows_known, 2 * math.sqrt(2) * max(errors)))


def verdict(one, other, error):
    """Returns Yes if the gap falls from one to other by more than the error of two scores, else No."""
    return "**Yes**: " if one > other + error else "**No**: "


@study.table
def rows(study):
    "Do more training rows for encoder and mechanism close the gap?"
    return table(study, [(n, n) for n in ROWS], lambda gaps, rows, error: verdict(gaps[0], gaps[-1], error) + (
        "the mean gap to the ceiling is %s points at %s rows; base has %s.%s" % (
            ", ".join(map(points, gaps)), ", ".join(row[1] for row in rows), ", ".join(row[2] for row in rows),
            " The mechanism is at its ceiling within the error: rows raise only the ceiling, through base." if max(map(abs, gaps)) <= error else "")))


@study.table
def mechanism_rows(study):
    "Do more training rows for the mechanism alone close the gap?"
    return table(study, [(ROWS[-1], n) for n in ROWS], lambda gaps, rows, error: verdict(gaps[0], gaps[-1], error) + (
        "the mean gap is %s points at %s rows of the mechanism, from the same encoders.%s" % (
            ", ".join(map(points, gaps)), ", ".join(row[1] for row in rows),
            " %s rows train it as well within the error; the others serve the encoder." % rows[0][1] if abs(gaps[0]) <= error else "")))


@study.table
def encoder_within_the_clip(study):
    "Does an encoder trained within the clip close the gap?"
    cases = [(1000, 1000), (1000, 1000, False)]
    long = [(ROWS[-1], ROWS[-1]), (ROWS[-1], ROWS[-1], False)]
    if not isinstance(mechanism(study, *long[1]), Missing):
        cases += long
    made = table(study, cases, lambda gaps, rows, error: verdict(gaps[-2], gaps[-1], error) + (
        "with %s rows the mean gap is %s points with a frozen encoder, and %s if all weights are trained within the clip." % (rows[-2][0], points(gaps[-2]), points(gaps[-1]))))
    if len(cases) == 2:
        made.rows = [*made.rows, *(row(study, *case)[0] for case in long)]
    return made


if __name__ == "__main__":
    study.main()
