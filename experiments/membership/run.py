#!/usr/bin/env python3
"""Measures who finds out that a text was shared, or trained on: `nvdp attack --kind membership`.

Is a text in a shared file, or in the training set of a model? SST-2, one seed; the public texts are 2,000 of the train file. The attacker of a file knows
public texts, and none of the other texts of the file. Its score of a text compares how likely the samples are if one of them is of this text, and if all
are of public texts. TPR: the share of the texts in the file that the attacker finds, at the threshold that a share FPR of the compared scores exceeds.
*Release* compares the texts of the file with other texts. *Replaced* compares each text of the file with itself, scored on the file that has a sample of a
public text in its place. Intervals are over texts: 95 % for AUC and balanced accuracy, 97.5 % for a TPR at its threshold, whose FPR is estimated as well. Proven: no
attacker exceeds this for a text against another text in its place, as in *replaced*. It is no bound for lists of other texts. The bound beside a measured
TPR uses the upper limit of the FPR's interval. Proven bounds are rounded up. *Without noise* shows only that texts have different posteriors."""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "papers"))
from common import Missing, Study, Table, at_most, number, unknown, verdict
from decision import clip_of, epsilon_of

EPSILONS = (8, 16, 32)
SMALL = 1000  # texts of the attacked training set and those held out
SHADOWS = 4
WORD_ROWS, WORD_EPSILON = 2000, 8  # of the mechanism per word
SAMPLES = (1, 64)

study = Study(__file__, "Membership", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder of the shared files"),
    "compact": ("models/compact", "encoder of the attacked training"),
    "rows": (10000, "training rows of the certified models"),
})
METRICS = ("AUC", "accuracy", "TPR at FPR 1 %", "TPR at FPR 0.1 %")
KEPT = ["scores", "epsilon", "mu", "proven_tpr", "members", "others"]


def train(study, name, hours, *options):
    """Returns the run's folder and the accuracy of its model."""
    made = study.measure("train/" + name, "train", "--task", "sst2", *options, "--out", "{out}/" + name, hours=hours, keep=["test.metrics.accuracy.mean"])
    return "{out}/" + name, made["test.metrics.accuracy.mean"]


def attack(study, name, run, *options, hours=0.05, more=()):
    return study.measure("attack/" + name, "attack", run, "--kind", "membership", *options, hours=hours, keep=[*KEPT, *more])


def percent(value):
    """Formats a share in percent: 97.3, .35, 100."""
    return number(100.0 * value, digits(value))


def digits(value):
    """Returns the number of decimal places of a share in percent."""
    return 2 if 0 < value < 0.01 else 1 if 0 < value < 1 else 0


def bound(value):
    """Formats a proven share in percent, rounded up."""
    return at_most(100.0 * value, digits(value), 100.0)


def score_of(found, observed, metric):
    return next((one for one in found["scores"] if one["observed"] == observed and one["metric"] == metric), None)


def cell(found, observed, metric):
    if isinstance(found, Missing):
        return found
    score = score_of(found, observed, metric)
    if score is None or not isinstance(score["value"], float):
        return ""
    return "%s (%s to %s)" % tuple(map(percent, (score["value"], *score["interval"])))


def named(metric):
    return "balanced accuracy" if metric == "accuracy" else metric


def proven(found, observed, metric):
    if isinstance(found, Missing):
        return found
    score = score_of(found, observed, metric)
    return bound(score["bound"]) if score is not None and isinstance(score.get("bound"), float) else ""


def public(study):
    return "--public", "{glue}/SST-2/train.tsv", "--public-limit", 2000


@study.table
def certified(study):
    """Shared files with a certified epsilon"""
    rows, numbers = [], []
    for epsilon in EPSILONS:
        name, out = "certified-%d" % epsilon, "{out}/certified-%d.safetensors" % epsilon
        run, accuracy = train(study, name, 0.1, "--data", "{glue}/SST-2", "--model", "{model}", "--preset", "certified", "--certified-epsilon", epsilon, "--freeze-layers", 6,
                    "--base-epochs", 0, "--limit-train", "{rows}")
        study.measure("export/" + name, "export", run, "--split", "test", "--no-ledger", "--overwrite", "--measure-texts", 0, "--out", out, keep=["texts"])
        found = attack(study, name, run, "--split", "test", *public(study), "--shared", out)
        exactly = dict(zip(METRICS[2:], found["proven_tpr"])) if found else {}
        for metric in (METRICS[0], *METRICS[2:]):
            rows.append([epsilon, accuracy if isinstance(accuracy, Missing) else percent(accuracy), metric, *(cell(found, observed, metric) for observed in ("release", "replaced")),
                         proven(found, "replaced", metric), bound(exactly[metric]) if metric in exactly else ""])
        numbers += [found] if isinstance(found, Missing) else [(score["value"], score["bound"]) for score in found["scores"]
                                                              if score["observed"] == "replaced" and isinstance(score.get("bound"), float)]
    return Table(scale="all-MiniLM-L6-v2, `--preset certified` over the frozen encoder, trained on %s texts; one sample of each of the %s texts of the test file. The other texts of "
                 "*release* are %s of the train file." % (number(study.options.rows), *(of if isinstance(of, Missing) else number(of) for of in (found["members"], found["others"]))),
                 header=["epsilon", "accuracy of the model", "score", "release", "replaced", "proven for *replaced*", "proven at exactly this FPR"], rows=rows,
                 verdict=verdict(numbers, lambda *found: all(value <= bound for value, bound in found), "no score of *replaced* exceeds what is proven.",
                                 "a score of *replaced* exceeds what is proven."),
                 note="*Release* is the stronger measured attack, and its question is the usual one: is this text in the file? The bound does not hold for it, because the texts of the file and "
                      "the others may differ without any sample. A part of its scores may come from that: the texts of the file are sentences of the test file, and the train file has parts "
                      "of sentences too. The measured FPR of *replaced* may in truth be larger than 1 % or .1 %, and the bound beside its TPR allows for that. An attacker who knows the other texts "
                      "of the file may find more than this one; the proof for a text against another in its place covers such an attacker too.")


def by_chance(low, high):
    return "nothing" if low <= .5 <= high else "more than by chance"


@study.table
def file(study):
    """Many samples of a text"""
    run, _ = train(study, "word", 0.05, "--data", "{glue}/SST-2", "--model", "{model}", "--preset", "word", "--word-epsilon", WORD_EPSILON, "--limit-train", WORD_ROWS)
    found = [attack(study, "word-%d" % samples, run, *public(study), "--releases", samples, more=["audit"]) for samples in SAMPLES]
    rows = [[named(metric), *[cell(one, "release", metric) for one in found]] for metric in METRICS[:3]]
    for theorem, key in (("Steinke et al. 2023", "epsilon"), ("Mahloujifar et al. 2024", "curve_epsilon"), ("the same, if the curve is Gaussian", "gaussian_epsilon")):
        rows.append(["audit of the coins (%s): epsilon at least, with confidence 95 %%, at delta 1e-5" % theorem,
                     *[one if isinstance(one, Missing) else number(math.floor(100 * one["audit"][key]) / 100, 2) for one in found]])
    rows.append(["without noise: AUC", *[cell(one, "states", "AUC") for one in found]])
    whole = found[0] if isinstance(found[0], Missing) else number(math.ceil(found[0]["epsilon"]))
    return Table(scale="all-MiniLM-L6-v2, `--preset word --word-epsilon %d`, trained on %s texts; of the 872 texts of the dev file, coins share one of each pair." %
                 (WORD_EPSILON, number(WORD_ROWS)),
                 header=["", "one sample each", "%d samples each" % SAMPLES[1]], rows=rows,
                 verdict=verdict([one if isinstance(one, Missing) else score_of(one, "release", "AUC")["interval"] for one in found],
                                 lambda one, many: "**Finding**: with one sample of each text the attacker finds %s, with %d samples %s." %
                                 (by_chance(*one), SAMPLES[1], by_chance(*many)), "", ""),
                 note="`--word-epsilon %d` is proven for one word and one sample; %d samples have epsilon %d per word. For whole texts nothing useful is proven of this model: "
                      "one sample of a text has "
                      "epsilon %s. So other attackers may find more. For this attacker the other texts' samples are noise." %
                      (WORD_EPSILON, SAMPLES[1], math.ceil(epsilon_of(clip_of(WORD_EPSILON) * SAMPLES[1] ** .5)), whole))


def small_task(study):
    """Writes a task with few texts, because shadow runs are trained on halves of a train file."""
    folder = os.path.join(study.options.out, "small")
    if study.options.hours >= 0 and not os.path.exists(folder + "/train.tsv"):
        os.makedirs(folder, exist_ok=True)
        for name, count in (("train", SMALL), ("dev", None)):
            with open(os.path.join(study.options.glue, "SST-2", name + ".tsv"), encoding="utf-8") as source, \
                 open("%s/%s.tsv" % (folder, name), "w", encoding="utf-8") as to:
                to.writelines(source.readlines()[:count and count + 1])
    return "{out}/small"


@study.table
def training(study):
    """The training set"""
    run, accuracy = train(study, "base", 0.1, "--data", small_task(study), "--model", "{compact}", "--method", "base", "--epochs", 5, "--lr", 3e-4, "--protocol", "holdout", "--holdout", 0.1)
    found = attack(study, "base", run, "--members", "training", "--shadows", SHADOWS, "--shadow-runs", "{out}/shadows", hours=0.15)
    held = number(found["others"])
    rows = [[named(metric), *[cell(found, observed, metric) for observed in ("loss", "shadows")]] for metric in METRICS[:3]]
    return Table(scale="models/compact, `--method base --lr 3e-4`, 5 epochs, accuracy %s: %d texts that were trained on against the %d held out." %
                 (("", 0, 0) if isinstance(found, Missing) else (percent(accuracy), found["members"], found["others"])),
                 header=["", "by loss", "by %d shadow runs" % SHADOWS], rows=rows,
                 verdict=unknown() if isinstance(found, Missing) else "**Finding**: the AUC is %s by loss and %s by shadow runs, without privacy in training." %
                 tuple(cell(found, observed, "AUC") for observed in ("loss", "shadows")),
                 note="The attack by shadow runs is weak: %d are few. One of the %s held-out texts sets the threshold of FPR 1 %%. The held-out texts are not unknown to the "
                      "run: they chose its epoch (`--protocol holdout`), so a loss on unseen texts may be larger and the attack may find more. These scores do not show that training hides its texts."
                      % (SHADOWS, held))


if __name__ == "__main__":
    study.main()
