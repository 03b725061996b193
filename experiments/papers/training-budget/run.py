#!/usr/bin/env python3
"""Measures what a certified release gains from more training rows, and from an encoder that is trained within the clip.

Which part of the loss at a certified epsilon can training give back? The ceiling of a task with two classes is base's decision in one bit: a
mean of +C or -C, right with probability a Phi(C) + (1 - a)(1 - Phi(C)) if base is right with probability a. The gap is the distance of
`--preset certified` from it."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from common import Missing, Table, unknown
from decision import right_at_most
from sweeps import SweepStudy, mean_of, score

study = SweepStudy(__file__, "The training budget of a certified release", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder"),
    "layers": (6, "layers of the encoder"),
    "seeds": (1, "number of training seeds"),
    "jobs": (1, "runs at a time"),
})

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
        cells.append("%s (%.1f)" % (score(setting), gaps[-1]))
    name = format(rows, ",") + ("" if frozen else ", encoder too")
    return [format(encoder_rows, ","), name, start if isinstance(start, Missing) else score(start[0]), *cells], sum(gaps) / len(gaps) if gaps else None


def table(study, cases, sentence):
    rows, gaps = zip(*(row(study, *case) for case in cases))
    scale = ("%s, SST-2, seeds: %d, five draws of noise on 872 dev texts: a score has a standard error of 1.2 to 1.7 points, and a difference below it is noise. Gap: "
             "points below base's decision in one bit." % (study.options.model, study.options.seeds))
    known = [(gap, row) for gap, row in zip(gaps, rows) if gap is not None]
    if len(known) < 2:
        return Table(scale, HEADER, rows, unknown("some runs are missing."))
    return Table(scale, HEADER, rows, sentence(*zip(*known)))


@study.table
def rows(study):
    "Do more training rows for encoder and mechanism close the gap?"
    return table(study, [(n, n) for n in ROWS], lambda gaps, rows: ("**Yes**: " if gaps[0] > gaps[-1] + 1 else "**No**: ") + (
        "the gap to the ceiling is %s points at %s rows; base has %s. %s" % (
            ", ".join("%.1f" % gap for gap in gaps), ", ".join(row[1] for row in rows), ", ".join(row[2] for row in rows),
            "Rows close the gap." if gaps[0] > gaps[-1] + 1 else "The mechanism is at its ceiling already: rows raise only the ceiling, through base.")))


@study.table
def mechanism_rows(study):
    "Do more training rows for the mechanism alone close the gap?"
    return table(study, [(ROWS[-1], n) for n in ROWS], lambda gaps, rows: ("**Yes**: " if gaps[0] > gaps[-1] + 1 else "**No**: ") + (
        "the gap is %s points at %s rows of the mechanism, from one encoder. %s" % (
            ", ".join("%.1f" % gap for gap in gaps), ", ".join(row[1] for row in rows),
            "The mechanism needs rows." if gaps[0] > gaps[-1] + 1 else "A thousand rows train the mechanism; the other rows serve the encoder.")))


@study.table
def encoder_within_the_clip(study):
    "Does an encoder trained within the clip close the gap?"
    cases = [(1000, 1000), (1000, 1000, False)]
    long = [(ROWS[-1], ROWS[-1]), (ROWS[-1], ROWS[-1], False)]
    if not isinstance(mechanism(study, *long[1]), Missing):
        cases += long
    made = table(study, cases, lambda gaps, rows: ("**Yes**: " if gaps[-2] > gaps[-1] + 1 else "**No**: ") + (
        "the gap is %.1f points with a frozen encoder and %.1f if all weights are trained within the clip." % (gaps[-2], gaps[-1])))
    if len(cases) == 2:
        made.rows = [*made.rows, *(row(study, *case)[0] for case in long)]
    return made


if __name__ == "__main__":
    study.main()
