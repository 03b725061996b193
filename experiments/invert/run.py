#!/usr/bin/env python3
"""Measures what an attacker writes from a sample: `nvdp attack --kind invert`.

A masked language model (models/compact) reads a sample beside the text, learns public texts with their samples, and writes the texts of other
samples. Words are read off the sample by ridge regression, corrected by public texts with similar vectors; where each token has a vector, its
token is named too. The public texts with the nearest samples compete with the model's guesses, and all are changed as long as their own vectors come
closer to the sample and their words fit those that were read off it. Scores are means over the attacked texts, with 95 % intervals; beside each is
the same model with samples of other texts (it names no single tokens). If the score without noise is not clearly above it, the attacker is too weak
and shows nothing about the mechanism. The program chooses penalty, kernel and shares of the read-out on held-out public texts. Its constants (the power of the model's
probabilities, the sharpness of draws, the weight of words beside the cosine) were compared on 12 public questions of QQP, with neither them nor
their paraphrases among the known texts: the first 12 short ones of rows random.Random(5).sample(range(1000, 10000), 80). Not compared
were: that the cosine counts by the logarithm of its distance from 1, the smallest distance that counts, the floor of the numbers of words, and how
many fills a change gets."""
import collections
import csv
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "papers"))
from common import Missing, Study, Table, agrees, disagrees, number, unknown, write_texts
from decision import epsilon_of


study = Study(__file__, "Texts recovered from samples", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder"),
    "prior": ("models/compact", "masked language model of the attacker"),
    "texts": (40, "attacked texts"),
    "steps": (20, "training steps of the attacker; the read-out of words needs none"),
    "search": (8, "rounds in which guesses are changed"),
})
METRICS = ("words, F1", "BLEU-4", "ROUGE-L", "exact match", "cosine")
PAIRS = (1000, 10000, 50000)
AIM = 0.5  # F1 of words without noise
CLIPS, RELEASE_PAIRS = (3, 5, 8, 12), 10000  # of the releases of sentence embeddings
TOKENS = 16  # of a text, in the second table
ATTACKED_ROWS = 1000  # no question of these rows of QQP is public; paraphrases in other rows are
STEP_HOURS = 1e-4  # of one training step of 32 questions, with one vector each
PAIR_HOURS = 2e-6  # of the encoding of one public question


def read(study, path):
    with open(os.path.join(study.options.glue, path), encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def short(rows, *columns):
    """Returns the distinct texts of at most 24 words, in order."""
    found = dict.fromkeys((row[column] or "").strip() for column in columns for row in rows)
    return [text for text in found if 0 < len(text.split()) < 25]


def questions(study, public, count):
    """Writes questions, each in one line, and returns the file: the first ones of QQP to attack; others of QQP and QNLI to learn from."""
    path = os.path.join(study.options.out, "%s-%d.txt" % ("public" if public else "attacked", count))
    if study.options.hours >= 0 and not os.path.exists(path):
        rows = read(study, "QQP/train.tsv")
        found = short(rows[:ATTACKED_ROWS], "question1")
        if public:
            found = short(rows[ATTACKED_ROWS:] + read(study, "QQP/dev.tsv"), "question1", "question2")
            found += [text for name in ("train", "dev", "test") for text in short(read(study, "QNLI/%s.tsv" % name), "question")]
            known = {row[column] for row in rows[:ATTACKED_ROWS] for column in ("question1", "question2")}
            found = [text for text in dict.fromkeys(found) if text not in known]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in found[:count])
    return "{out}/" + os.path.basename(path)


def invert(study, name, pairs, models, *arguments):
    """Attacks; trains `models` models (a step takes twice as long with a vector per token)."""
    return study.measure(name, "attack", "--kind", "invert", "--prior", "{prior}", "--public-limit", pairs, "--steps", "{steps}", "--search", "{search}", "--seeds", 1,
                         *arguments, hours=models * STEP_HOURS * int(study.options.steps) * (models - 1) + PAIR_HOURS * pairs,
                         keep=["scores", "weak", "holds", "texts"])


def score_of(found, sees, metric=METRICS[0]):
    """Returns (value, interval) of a score, or None."""
    return next(((score["value"], score["interval"]) for score in found["scores"] if (score["observed"], score["metric"]) == (sees, metric)), None)


def cell(found, sees, metric):
    if isinstance(found, Missing):
        return found
    score = score_of(found, sees, metric)
    return "" if score is None else "%s (%s to %s)" % tuple(("%.3f" % value).replace("0.", ".", 1) for value in (score[0], *score[1]))


def nearest(study, pairs, public, attacked):
    """Returns the mean F1 of words of the public text with the nearest embedding: what the attacker has without writing anything."""
    def work():
        import numpy as np

        texts = []
        for path in (public, attacked):
            with open(path.format(out=study.options.out), encoding="utf-8") as file:
                texts.append(file.read().splitlines())
        vectors = []
        for name, of in zip(("public-%d" % pairs, "attacked"), texts):
            path = os.path.join(study.options.out, name)
            write_texts(path + ".jsonl", of)
            vectors.append(study.embed(study.options.model, path + ".jsonl", path + ".h5"))
        best = np.argmax(vectors[1] @ vectors[0].T, axis=1)
        return {"f1": float(np.mean([overlap(text, texts[0][index]) for text, index in zip(texts[1], best)]))}
    return study.once("nearest/%d" % pairs, [str(pairs), os.path.basename(study.options.model), str(study.options.texts)], PAIR_HOURS * pairs, work)


def overlap(text, guess):
    """Returns the F1 of the words and punctuation marks of a guess."""
    one, two = (collections.Counter(re.findall(r"\w+|[^\w\s]", of.lower())) for of in (text, guess))
    return 2 * sum((one & two).values()) / (sum(one.values()) + sum(two.values()))


@study.table
def noiseless(study):
    "How much of a question does the attacker recover from its sentence embedding without noise?"
    rows, known = [], []
    for pairs in PAIRS:
        public, attacked = questions(study, True, pairs), questions(study, False, study.options.texts)
        found = invert(study, "noiseless/%d" % pairs, pairs, 2, "--posteriors", "{model}", "--public", public, "--attacked", attacked)
        rows += [[format(pairs, ","), sees, *(cell(found, observed, metric) for metric in METRICS)]
                 for sees, observed in (("embedding", "release"), ("another one", "prior"))]
        alone = nearest(study, pairs, public, attacked)
        rows.append([format(pairs, ","), "the nearest public text alone", alone if isinstance(alone, Missing) else number(alone["f1"]), "", "", "", ""])
        if not isinstance(found, Missing):
            known.append((pairs, found))
    scale = ("%s, mean of the token states, 384 dimensions; questions of QQP and QNLI, at most 32 tokens, %s attacked; %s training steps, %s rounds, far fewer than "
             "the program's own (1,000 and more, 24). Two of the attacked questions have a paraphrase among the public ones, by QQP's labels." % (
        study.options.model, study.options.texts, study.options.steps, study.options.search))
    header = ["public pairs", "the model sees", *METRICS]
    if not known:
        return Table(scale, header, rows, unknown())
    pairs, best = known[-1]
    right, prior = (score_of(best, sees)[0] for sees in ("release", "prior"))
    said = "at %s pairs the F1 of words is %.2f, against %.2f with another one%s." % (
        format(pairs, ","), right, prior, "" if isinstance(alone, Missing) else " and %.2f of the nearest public text alone" % alone["f1"])
    weak = " At %s pairs the attacker is too weak." % " and ".join(format(n, ",") for n, found in known if found["weak"]) if any(found["weak"] for _, found in known) else ""
    return Table(scale, header, rows, agrees(said) if right >= AIM else disagrees("the aim is an F1 of %.1f: %s%s" % (AIM, said, weak)))


def verdict(title, found):
    """Says what the scores of words show about a mechanism."""
    scores = "F1 of words is %.2f, without noise %.2f, with another one %.2f." % tuple(score_of(found, sees)[0] for sees in ("release", "states", "prior"))
    if found["weak"]:
        return "**Shows nothing** about %s: this attacker is too weak, without noise too; %s" % (title, scores)
    low, high = score_of(found, "release")[1][0], score_of(found, "prior")[1][1]
    return "**Words are %s** from samples of %s: %s" % ("recovered" if low > high else "not recovered", title, scores)


def train(study, name, *arguments):
    out = "{out}/" + name
    return study.measure("train/" + name, "train", "--task", "sst2", "--data", "{glue}/SST-2", "--seed", 1, "--max-length", 48, "--limit-train", 4000, "--lr", 1e-4,
                         "--out", out, *arguments, hours=0.1, keep=["test.metrics.accuracy.mean"]), out


@study.table
def mechanisms(study):
    "How much of a text does the attacker recover from a sample?"
    certified = ["--method", "nvdp", "--from-base", "{out}/base", "--freeze-layers", 6, "--epochs", 3, "--weights", "constant", "--row-index", "trained",
                 "--lambda", 0, "--stdev-tau", 1, "--length-policy", "hidden", "--pool", "first", "--latent-dim", 32, "--lr-bottleneck", 2e-3, "--lr-head", 2e-3,
                 "--patience", 0]
    train(study, "base", "--model", "{model}", "--method", "base", "--epochs", 1)
    runs = [("published NVDP, lambda .001", *train(study, "published", "--model", "{model}", "--method", "nvdp", "--epochs", 1, "--lambda", 1e-3)),
            *(("certified, C = %d" % clip, *train(study, "certified-%d" % clip, *certified, "--clip-sequence", clip)) for clip in (8,))]
    rows, said = [], []
    for title, _, run in runs:
        found = invert(study, "mechanisms/" + os.path.basename(run), 1000, 3, run, "--public", "{glue}/SST-2/train.tsv", "--limit", "{texts}",
                       "--tokens", TOKENS)
        rows += [[title, sees, *(cell(found, observed, metric) for metric in METRICS)]
                 for sees, observed in (("sample", "release"), ("no noise", "states"), ("another one", "prior"))]
        if not isinstance(found, Missing):
            said.append(verdict(title, found))
    note = ("Certified, C = 8, has epsilon %.0f at delta 1e-5: it limits no attacker. Its guesses have almost the vector of the text, as the cosine says, but not its words: "
            "the search found other words with almost this vector." % math.ceil(epsilon_of(8)))
    scale = "%s on SST-2 (4,000 rows), 1,000 public texts, %s dev texts attacked, the first %d tokens of each; %s training steps, %s rounds." % (
        study.options.model, study.options.texts, TOKENS, study.options.steps, study.options.search)
    header = ["method", "the model sees", *METRICS]
    missing = any(isinstance(item, Missing) for row in rows for item in row)
    return Table(scale, header, rows, unknown() if missing else " ".join(said), note)


@study.table
def releases(study):
    "What does the attacker read off a certified release of sentence embeddings?"
    rows, said = [], []
    public, attacked = questions(study, True, RELEASE_PAIRS), questions(study, False, study.options.texts)
    for clip in CLIPS:
        run, file = "{out}/release-%d" % clip, "{out}/release-%d.h5" % clip
        study.measure("export/%d" % clip, "export", run, "--model", "{model}", "--center", public, "--clip-sequence", clip, "--input", attacked, "--budget-samples", 100,
                      "--out", file, hours=0.02, keep=["privacy.bound.clip_sequence"])
        found = invert(study, "releases/%d" % clip, RELEASE_PAIRS, 3, run, "--data", attacked, "--public", public, "--shared", file)
        title = "C %d, epsilon %.1f" % (clip, math.ceil(10 * epsilon_of(clip)) / 10)
        rows += [[title, sees, *(cell(found, observed, metric) for metric in METRICS)]
                 for sees, observed in (("sample", "release"), ("no noise", "states"), ("another one", "prior"))]
        if not isinstance(found, Missing):
            said.append(verdict(title, found))
    scale = "%s, mean of the token states, centered, scaled to norm C, one sample of each question; %s public questions, %s attacked ones; %s training steps, %s rounds." % (
        study.options.model, format(RELEASE_PAIRS, ","), study.options.texts, study.options.steps, study.options.search)
    note = ("The encoder is public: the attacker makes samples of the public questions, and compares guesses with the sample by the release's own map. "
            "Whoever has a list of texts that contains the text knows more: see [named](search.md).")
    missing = any(isinstance(item, Missing) for row in rows for item in row)
    return Table(scale, ["release", "the model sees", *METRICS], rows, unknown() if missing else " ".join(said), note)


if __name__ == "__main__":
    study.main()
