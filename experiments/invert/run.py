#!/usr/bin/env python3
"""Measures what an attacker writes from a sample: `nvdp attack --kind invert`.

A masked language model (models/compact) reads a sample beside the text, learns public texts with their samples, and writes the texts of other
samples. Scores are means over the attacked texts, with 95 % intervals; beside each is the same model with samples of other texts. If the score
without noise is not clearly above it, the attacker is too weak and shows nothing about the mechanism."""
import csv
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "papers"))
from common import Missing, Study, Table, agrees, disagrees, unknown


class Inversion(Study):
    """A study whose folder and page are not those of a paper."""

    def text(self, name):
        return super().text(name).replace("experiments/papers/", "experiments/")

    def page(self):
        super().page()
        with open(self.options.page, encoding="utf-8") as file:
            text = file.read()
        with open(self.options.page, "w", encoding="utf-8") as file:
            file.write(text.replace("experiments/papers/", "experiments/"))


study = Inversion(__file__, "Texts recovered from samples", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder"),
    "prior": ("models/compact", "masked language model of the attacker"),
    "texts": (100, "attacked texts"),
    "steps": (0, "training steps of the attacker; 0: three epochs, at least 1,000"),
})
METRICS = ("words, F1", "BLEU-4", "ROUGE-L", "exact match", "cosine")
PAIRS = (1000, 10000, 50000)
STEP_HOURS = 1e-4  # of one training step of 32 questions, with one vector each


def questions(study, first, count):
    """Writes distinct questions of QQP, each in one line, and returns the file."""
    path = os.path.join(study.options.out, "questions-%d-%d.txt" % (first, count))
    if study.options.hours >= 0 and not os.path.exists(path):
        with open(os.path.join(study.options.glue, "QQP", "train.tsv"), encoding="utf-8") as file:
            rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            found = dict.fromkeys(row["question1"].strip() for row in rows if row["question1"] and len(row["question1"].split()) < 25)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in list(found)[first:first + count])
    return path


def invert(study, name, pairs, models, *arguments):
    """Attacks; trains `models` models (a step takes twice as long with a vector per token)."""
    steps = study.options.steps or max(1000, 3 * pairs // 32)
    return study.measure(name, "attack", "--kind", "invert", "--prior", "{prior}", "--public-limit", pairs, "--steps", "{steps}", "--seeds", 1, "--beam", 8,
                         *arguments, hours=models * STEP_HOURS * steps * (models - 1), keep=["scores", "weak", "holds", "texts"])


def cell(found, sees, metric):
    if isinstance(found, Missing):
        return found
    for score in found["scores"]:
        if score["observed"] == sees and score["metric"] == metric:
            digits = [("%.3f" % value).replace("0.", ".", 1) for value in (score["value"], *score["interval"])]
            return "%s (%s to %s)" % tuple(digits)
    return ""


def value(found, sees):
    return next(score["value"] for score in found["scores"] if (score["observed"], score["metric"]) == (sees, METRICS[0]))


@study.table
def noiseless(study):
    "How much of a question does the attacker recover from its sentence embedding without noise?"
    rows, known = [], []
    for pairs in PAIRS:
        public, attacked = questions(study, 1000, pairs), questions(study, 0, study.options.texts)
        found = invert(study, "noiseless/%d" % pairs, pairs, 2, "--posteriors", "{model}", "--public", public, "--attacked", attacked)
        rows += [[format(pairs, ","), sees, *(cell(found, observed, metric) for metric in METRICS)]
                 for sees, observed in (("embedding", "release"), ("another one", "prior"))]
        if not isinstance(found, Missing):
            known.append((pairs, found))
    scale = ("%s, mean of the token states, 384 dimensions; questions of QQP, at most 32 tokens, %d attacked." % (
        study.options.model, study.options.texts))
    header = ["public pairs", "the model sees", *METRICS]
    if not known:
        return Table(scale, header, rows, unknown())
    pairs, best = known[-1]
    right, prior = value(best, "release"), value(best, "prior")
    said = "at %s pairs the F1 of words is %.2f, against %.2f with another one." % (format(pairs, ","), right, prior)
    return Table(scale, header, rows, disagrees("the attacker is too weak: " + said) if best["weak"] else agrees("the attacker reads embeddings: " + said))


def train(study, name, *arguments):
    out = "{out}/" + name
    return study.measure("train/" + name, "train", "--task", "sst2", "--data", "{glue}/SST-2", "--seed", 1, "--max-length", 48, "--limit-train", 4000, "--lr", 1e-4,
                         "--out", out, *arguments, hours=0.1, keep=["run"]), out


@study.table
def mechanisms(study):
    "How much of a text does the attacker recover from a sample?"
    certified = ["--method", "nvdp", "--from-base", "{out}/base", "--freeze-layers", 6, "--epochs", 3, "--weights", "constant", "--row-index", "trained",
                 "--lambda", 0, "--stdev-tau", 1, "--length-policy", "hidden", "--pool", "first", "--latent-dim", 32, "--lr-bottleneck", 2e-3, "--lr-head", 2e-3,
                 "--patience", 0]
    train(study, "base", "--model", "{model}", "--method", "base", "--epochs", 1)
    runs = [("published NVDP, lambda .001", *train(study, "published", "--model", "{model}", "--method", "nvdp", "--epochs", 1, "--lambda", 1e-3)),
            *(("certified, C = %d" % clip, *train(study, "certified-%d" % clip, *certified, "--clip-sequence", clip)) for clip in (3, 8))]
    rows, weak = [], []
    for title, _, run in runs:
        found = invert(study, "mechanisms/" + os.path.basename(run), 1000, 3, run, "--public", "{glue}/SST-2/train.tsv", "--limit", "{texts}")
        rows += [[title, sees, *(cell(found, observed, metric) for metric in METRICS)]
                 for sees, observed in (("sample", "release"), ("no noise", "states"), ("another one", "prior"))]
        if not isinstance(found, Missing):
            weak += [title] * found["weak"]
    scale = "%s on SST-2 (4,000 rows), 1,000 public texts, %d dev texts attacked." % (study.options.model, study.options.texts)
    header = ["method", "the model sees", *METRICS]
    if any(isinstance(item, Missing) for row in rows for item in row):
        return Table(scale, header, rows, unknown())
    return Table(scale, header, rows, disagrees("the attacker is too weak for " + ", ".join(weak)) if weak else agrees())


if __name__ == "__main__":
    if not any(argument.startswith("--page") for argument in sys.argv):
        sys.argv += ["--page", "experiments/results/invert.md"]
    study.main()
