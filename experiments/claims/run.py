#!/usr/bin/env python3
"""Audits and attacks published defenses of embeddings: what they claim, and what samples show.

Each file of experiments/claims/defenses releases samples of a published defense, in our own code. A defense is found by its file alone. *Claimed* is epsilon for the audited pair: the two of all texts (for one
vector per token: of all their tokens) whose embeddings are the farthest apart. *Shown* is the lower bound of `nvdp audit` at 95 % confidence, from samples of both, as one number per sample: the log ratio of its densities under the two, before a
clip, which is the best test of all that know the defense. It shows at most its ceiling, which the number of samples sets. *Exact*: epsilon of that pair by a formula, where there is one. *Named*: how often the likeliest of the 872 dev texts of SST-2, all equally likely, is the sample's text.
*Member*: AUC of an attacker who is given a shared file and asks whether a text is in it. *Inverted*: F1 of the words that `nvdp attack --kind invert` writes; *nothing* if it is not clearly above the same attack on samples of other texts; empty if it was not run.
*Words*: F1 of the words that a linear read-out finds, learned from public texts and samples of them, without the 50 most frequent words; for one vector per token, the likeliest token of each vector. *Score*: accuracy of a receiver on SST-2 who learns from samples of the public texts. Named, words and score are means
over seeds, each with new noise. All attackers know the encoder and the defense; for a rotation they have a number of known pairs of texts and samples in place of its key. Their results are lower bounds: a stronger attacker may find more. An audit that shows less than the claim does not prove it. All statements are about our code, made from the sources that the last table names."""
import csv
import glob
import importlib.util
import json
import math
import os
import random
import struct
import subprocess
import sys
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "papers")]
import attackers
import numpy as np
from common import Missing, Study, Table, agrees, alike, at_most, disagrees, unknown, vectors, write_texts
from noise import gaussian, unit

DEFENSES = os.path.join(HERE, "defenses")
CENTER = 2000  # public texts whose mean is subtracted
EXCEEDED, BY_FORMULA = "**exceeded**", "**exceeded**, by the formula"
CERTAIN = .95  # AUC from which almost every text is found
METRICS = ("words, F1", "BLEU-4", "exact match")
CELL_HOURS = 0.02  # of one attack of the table inversion
REFERENCES = 2000  # public texts in the likelihood of a sample of an unknown text
RATES = (.01, .001)  # false positives of the table membership
HELD = 1000  # public texts that choose penalties
DRAWN = 20000  # samples in memory at a time
NO_NOISE = 100000  # C of a release whose noise does not matter


def defenses(folder=DEFENSES):
    """Returns name of file -> module, for all files of the folder, controls last."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.py"))):
        name = os.path.basename(path)[:-3]
        spec = importlib.util.spec_from_file_location("defense_" + name, path)
        found[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found[name])
    return dict(sorted(found.items(), key=lambda each: hasattr(each[1], "CONTROL")))


def samples_of(defense, rng, rows, **known):
    return defense.release(rows, rng, **known).astype(np.float32)


class Claims(Study):
    """Texts, embeddings and measurements; each is computed once."""

    made = {}

    def remember(self, key, work):
        if key not in self.made:
            self.made[key] = work()
        return self.made[key]

    def rows(self, split):
        with open("%s/SST-2/%s.tsv" % (self.options.glue, split), encoding="utf-8", newline="") as file:
            return [(row["sentence"].strip(), int(row["label"])) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]

    def dev(self):
        return self.remember("dev", lambda: list(zip(*self.rows("dev"))))

    def public(self):
        """Returns sentences of at least five words from the train file and their labels, and other texts, for the center."""
        def draw():
            known = set(map(alike, self.dev()[0]))
            rows = {alike(row[0]): row for row in self.rows("train") if len(row[0].split()) > 4 and row[0].endswith(".")}
            rows = [row for look, row in rows.items() if look not in known]
            drawn = random.Random(1).sample(rows, self.options.public + CENTER)
            return [*zip(*drawn[CENTER:])], [text for text, _ in drawn[:CENTER]]
        return self.remember("public", draw)

    def encode(self, name, texts):
        """Returns sentence embeddings less the mean of public texts, scaled to length 1."""
        path = "%s/%s-%s-%d-%d" % (self.options.out, os.path.basename(self.options.model), name, self.options.public, len(texts))
        if not os.path.exists(path + ".safetensors"):
            for file, lines in ((path + "-center.txt", self.public()[1]), (path + ".jsonl", (json.dumps({"text": text}) for text in texts))):
                with open(file, "w", encoding="utf-8") as out:
                    out.writelines(line + "\n" for line in lines)
            self.run("export", path + "-run", "--model", self.options.model, "--center", path + "-center.txt", "--clip-sequence", NO_NOISE, "--input",
                     path + ".jsonl", "--out", path + ".safetensors", "--no-ledger", "--measure-texts", 0, "--insecure-seed", 1)
        return unit(vectors(path + ".safetensors"))

    def word_embeddings(self):
        """Returns the encoder's word embeddings."""
        def read():
            with open(self.options.model + "/model.safetensors", "rb") as file:
                size = struct.unpack("<Q", file.read(8))[0]
                tensor = next(value for key, value in json.loads(file.read(size)).items() if key.endswith("word_embeddings.weight"))
                file.seek(8 + size + tensor["data_offsets"][0])
                return np.frombuffer(file.read(np.prod(tensor["shape"]) * 4), np.float32).reshape(tensor["shape"])
        return self.remember("word_embeddings", read)

    def tokens(self, texts):
        """Returns the numbers of the tokens of each text."""
        with open(self.options.model + "/vocab.txt", encoding="utf-8") as file:
            index = {word.rstrip("\n"): i for i, word in enumerate(file)}
        done = subprocess.run([self.options.nvdp, "tokenize", "--model", self.options.model], input="\n".join(texts) + "\n", text=True, check=True, stdout=subprocess.PIPE)
        return [[index[piece] for piece in line.split()] for line in done.stdout.splitlines()]

    def material(self, kind):
        """Returns the rows of public and dev texts, with lengths and sets of words, and the audited pairs."""
        def make():
            texts = (self.public()[0][0], self.dev()[0])
            if kind == "tokens":
                ids = [self.tokens(each) for each in texts]
                rows = [self.word_embeddings()[sum(each, [])] for each in ids]
                types, counts = np.unique(sum(ids[0], []), return_counts=True)
                lengths, words, pool = [np.array(list(map(len, each))) for each in ids], [list(map(set, each)) for each in ids], self.word_embeddings()[types]
            else:
                types, counts, rows = None, None, [self.encode(name, each) for name, each in zip(("public", "dev"), texts)]
                lengths, words, pool = [np.ones(len(each), int) for each in texts], [[set(text.split()) for text in each] for each in texts], np.vstack(rows)
            return SimpleNamespace(rows=rows, lengths=lengths, words=attackers.without_common(words), types=types, counts=counts, pairs=attackers.pairs(pool, .05))
        return self.remember(kind, make)

    def constants(self, name, defense):
        """Returns what a defense draws or learns once, for all texts."""
        prepare = getattr(defense, "prepare", None)
        return self.remember("constants-" + name, lambda: prepare(self, np.random.default_rng(0)) if prepare else {})

    def audit(self, name, defense, strength, pair):
        """Returns claimed, shown and the ceiling of one pair."""
        known, delta = {**strength, **self.constants(name, defense)}, getattr(defense, "DELTA", 1e-5)
        claimed = float(defense.claimed(*pair, **known)) if hasattr(defense, "claimed") else None
        for side in (0, 1):
            rng, ratios, left = np.random.default_rng([1, side]), [], self.options.samples
            while left > 0:
                count = min(left, DRAWN)
                rows = samples_of(defense, rng, np.broadcast_to(pair[side], (1 if hasattr(defense, "FIXED") else count, len(pair[side]))), **known)
                ratio = defense.log_density(rows, pair[0], **known) - defense.log_density(rows, pair[1], **known)
                ratios.append(np.broadcast_to(ratio, count))
                left -= count
            np.save("%s/side%d.npy" % (self.options.out, side), np.concatenate(ratios).astype(np.float64)[:, None])
        found = self.run("audit", "--samples-p", self.options.out + "/side0.npy", "--samples-q", self.options.out + "/side1.npy", "--delta", delta,
                         *(["--claimed", claimed] if claimed is not None else []), statuses=(0, 1))
        return {"claimed": claimed, "distance": float(np.linalg.norm(pair[0] - pair[1])), "shown": found["epsilon"], "ceiling": found["ceiling"]}

    def audited(self, name, label, which):
        """which: 0 for the farthest pair, 1 for the closest."""
        defense = DEFENSE[name]
        return self.once("audit/%s/%s/%s" % (name, label, ("far", "close")[which]), self.arguments(name, label, self.options.samples), .02,
                         lambda: self.audit(name, defense, defense.STRENGTHS[label], self.material(getattr(defense, "INPUT", "sentences")).pairs[which]))

    def arguments(self, name, label, *others):
        return [os.path.basename(self.options.model), self.options.public, DEFENSE[name].STRENGTHS[label], *others]

    def drawn(self, name, strength, seed):
        """Returns samples of the public and the dev texts, and both as the attacker reads them.

        An attacker without the key of a rotation has samples of the first `pairs` public texts alone. It keeps the directions that they show: of samples by the map
        that it learns, and of its own vectors by projection, which gives the same."""
        defense, given, known = DEFENSE[name], self.material(getattr(DEFENSE[name], "INPUT", "sentences")), {**strength, **self.constants(name, DEFENSE[name])}
        rng = np.random.default_rng([2, seed])
        public, dev = (samples_of(defense, rng, rows, **known) for rows in given.rows)
        read, pairs = [public, dev], strength.get("pairs")
        if pairs:
            read = [defense.undo(rows, public[:pairs], given.rows[0][:pairs]) for rows in read]
        elif pairs == 0:
            read = [given.rows[0], dev]
        return public, dev, read

    def seeds(self, defense):
        return range(1 if hasattr(defense, "FIXED") else self.options.seeds)

    def attack(self, name, defense, strength):
        made, given, known = [], self.material(getattr(defense, "INPUT", "sentences")), {**strength, **self.constants(name, defense)}
        for seed in self.seeds(defense):
            public, dev, read = self.drawn(name, strength, seed)
            pooled = [attackers.pooled(*each) for each in zip((public, dev), given.lengths)]
            score = attackers.accuracy(pooled[0], self.public()[0][1], pooled[1], self.dev()[1], HELD)
            if given.types is None:
                words = attackers.read_words(read[0], given.words[0], read[1], HELD)
            else:
                words = attackers.likeliest_words(public, given.rows[0], dev, given.lengths[1], given.types, self.word_embeddings()[given.types], given.counts)
            made.append({"named": attackers.named(read[1], given.rows[1], given.lengths[1], lambda samples, rows: defense.log_density(samples, rows, **known)),
                         "words": attackers.f1(words, given.words[1]), "score": score})
        return {key: float(np.mean([each[key] for each in made])) for key in made[0]}

    def membership(self, name, defense, strength):
        """Returns how well members of a shared file with samples of half of the dev texts are told from the other half; scores of all seeds together."""
        given, known, scores = self.material(getattr(defense, "INPUT", "sentences")), {**strength, **self.constants(name, defense)}, ([], [])
        disjoint = exact(defense, strength, 1.0) == math.inf
        for seed in self.seeds(defense):
            public, dev, read = self.drawn(name, strength, seed)
            vectors = [read[0], read[1]] if strength.get("pairs") else given.rows  # with a key, the attacker has the vectors' directions that the pairs show
            factor, variance = attackers.fitted(public, given.rows[0]) if given.types is not None else (1, 1)
            log_density = (lambda samples, rows: defense.log_density(samples, rows, **known)) if given.types is None else (
                lambda samples, rows: gaussian(math.sqrt(variance))(samples, np.float32(factor) * rows))
            shared = np.random.default_rng([4, seed]).permutation(len(given.lengths[1])) < len(given.lengths[1]) // 2
            lengths = (given.lengths[1], given.lengths[0][:REFERENCES])
            found = attackers.member_scores(read[1], vectors[1], shared, vectors[0][:lengths[1].sum()], lengths, log_density, disjoint)
            for to, which in zip(scores, (shared, ~shared)):
                to.extend(found[which])
        return {"auc": attackers.area(*map(np.array, scores)), **{"at %g" % rate: attackers.found_at(*map(np.array, scores), rate) for rate in RATES}}

    def members(self, name, label):
        defense = DEFENSE[name]
        return self.once("membership/%s/%s" % (name, label), self.arguments(name, label, self.options.seeds), .02,
                         lambda: self.membership(name, defense, defense.STRENGTHS[label]))

    def write(self, name, label, files):
        """Writes samples of all public and some dev texts, mapped to vectors of the encoder, and beside them the texts."""
        texts, jsonl = [self.public()[0][0], self.dev()[0][:self.options.inverted]], self.options.out + "/public-%d.jsonl" % self.options.public
        write_texts(jsonl, texts[0])
        vectors_of = self.remember("encoded", lambda: self.embed(self.options.model, jsonl, jsonl + ".h5"))
        _, _, (public, dev) = self.drawn(name, DEFENSE[name].STRENGTHS[label], 0)
        for path, lines, rows in zip(files, texts, attackers.mapped(public, vectors_of, dev[:len(texts[1])], HELD)):
            np.save(path, rows)
            with open(path + ".txt", "w", encoding="utf-8") as file:
                file.writelines(text + "\n" for text in lines)

    def inverted(self, name, label):
        """Returns what `nvdp attack --kind invert` finds; None if samples are of tokens, or the attacker has no pair that shows the key."""
        defense = DEFENSE[name]
        if hasattr(defense, "INPUT") or defense.STRENGTHS[label].get("pairs") == 0:
            return None
        files = [os.path.join("{out}", "%s-%s-%s.npy" % (name, label.replace(" ", "-").replace(",", ""), split)) for split in ("public", "dev")]
        key = "inversion/%s/%s" % (name, label)
        if CELL_HOURS <= self.options.hours:
            self.write(name, label, [file.format(out=self.options.out) for file in files])
        return self.measure(key, "attack", "--kind", "invert", "--prior", "{prior}", "--posteriors", files[1], "--attacked", files[1] + ".txt", "--public-posteriors", files[0],
                            "--public", files[0] + ".txt", "--public-limit", "{public}", "--encoder", "{model}", "--search", 24, "--beam", 2, "--steps", "{steps}", "--seeds", 1,
                            hours=CELL_HOURS, keep=["scores", "weak"])

    def attacked(self, name, label):
        defense = DEFENSE[name]
        return self.once("attack/%s/%s" % (name, label), self.arguments(name, label, self.options.seeds), .03,
                         lambda: self.attack(name, defense, defense.STRENGTHS[label]))


DEFENSE = defenses()
DEFENSE_OF = {defense.NAME: defense for defense in DEFENSE.values()}
study = Claims(__file__, "Claims of other defenses", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder of sentence-transformers, uncased"),
    "width": (384, "width of the encoder"),
    "public": (10000, "public texts: sentences of SST-2's train file"),
    "samples": (1000000, "samples per side of an audit"),
    "seeds": (3, "draws of noise for attackers and receivers"),
    "prior": ("models/compact", "masked language model of the table inversion"),
    "inverted": (40, "attacked texts of the table inversion"),
    "steps": (20, "training steps of the table inversion; its read-out of words needs none"),
})


def epsilon(value):
    return "none" if value is None else value if isinstance(value, Missing) else "infinite" if value == math.inf else "%.3g" % value if value < 1000 else "{:,.0f}".format(value)


def proven(value):
    """Our own certificate, an upper bound: three digits, rounded up."""
    if value is None or isinstance(value, Missing):
        return epsilon(value)
    digits = max(0, 2 - math.floor(math.log10(value)))
    return "%.*f" % (digits, math.ceil(value * 10**digits) / 10**digits)


def shown(found):
    """A lower bound, rounded down."""
    if isinstance(found, Missing):
        return found
    return "%.2f%s" % (math.floor(100 * found["shown"]) / 100, " (ceiling)" if found["shown"] >= found["ceiling"] else "")


def exact(defense, strength, distance):
    """Returns epsilon of two texts at a distance by its formula; None if there is no formula."""
    if isinstance(distance, Missing):
        return distance
    if hasattr(defense, "FIXED"):
        return math.inf
    return defense.exact(distance, **strength) if hasattr(defense, "exact") else None


def judged(found, formula=None):
    """Says what audit and formula show about a claim."""
    if isinstance(found, Missing):
        return found
    if found["claimed"] is None:
        return "nothing is claimed"
    if found["shown"] > found["claimed"]:
        return EXCEEDED
    return BY_FORMULA if formula is not None and formula > found["claimed"] * (1 + 1e-6) else "not exceeded"


def pure(defense):
    """Returns whether a defense claims pure epsilon, for each distance of two texts."""
    return getattr(defense, "DELTA", 1) == 0


def all_rows():
    return [(name, defense, label) for name, defense in DEFENSE.items() for label in defense.STRENGTHS]


def bold(text, how):
    return text if isinstance(text, Missing) or not how else "**%s**" % text


@study.table
def claims(study):
    """What is claimed, and what do samples show?"""
    rows, control, broken, named = [], [], {EXCEEDED: {}, BY_FORMULA: {}}, []
    for name, defense, label in all_rows():
        found, attack, member, written = study.audited(name, label, 0), study.attacked(name, label), study.members(name, label), study.inverted(name, label)
        formula = exact(defense, defense.STRENGTHS[label], found["distance"])
        how = judged(found, formula)
        if how in broken:
            broken[how].setdefault(defense.NAME, []).append(label)
        rows.append([defense.NAME, label, proven(found["claimed"]) if hasattr(defense, "CONTROL") else epsilon(found["claimed"]), bold(shown(found), how == EXCEEDED),
                     "" if formula is None else bold(epsilon(formula), how in broken), attack["named"], member["auc"],
                     "" if written is None else written if isinstance(written, Missing) else score(written, METRICS[0])["value"] if reads(written) else "nothing",
                     attack["words"], attack["score"]])
        control += [found] if hasattr(defense, "CONTROL") and found["claimed"] is not None else []
    if any(isinstance(cell, Missing) for row in rows for cell in row):
        verdict = unknown()
    elif any(found["shown"] > found["claimed"] for found in control):
        verdict = disagrees("an audit shows more than our own certificate.")
    else:
        parts = ["%s %s" % (by, "; ".join("%s (%s)" % (name, "; ".join(labels)) for name, labels in broken[how].items()))
                 for how, by in ((EXCEEDED, "is shown by the audit for"), (BY_FORMULA, "follows from the formula alone for")) if broken[how]]
        verdict = agrees("no audit shows more than our own certificates.") + (
            " More than is claimed %s. The claim is then read as one for any two texts; the [last table](#sources-and-what-follows) says what we could not read, and how %s." % (
                ", and ".join(parts), "our code differs from the papers") if parts else " Nothing shows more than a claim.")
    scale = ("%s; %s public texts, 872 dev texts of SST-2, %d seeds; %s samples per side of an audit. At delta 1e-5; %s claim pure epsilon "
             "(delta 0). **Bold**: more than is claimed. Chance: named .001, member .500; without samples, words %s and score .509." % (
                 study.options.model, format(study.options.public, ","), study.options.seeds, format(study.options.samples, ","),
                 " and ".join(defense.NAME for defense in DEFENSE.values() if pure(defense)), prior(study)))
    return Table(scale, ["defense", "strength", "claimed", "shown", "exact", "named", "member", "inverted", "words", "score"], rows, verdict)


def prior(study):
    """Returns the F1 of words without samples."""
    def work():
        public, dev = study.material("sentences").words
        return {"words": attackers.f1(attackers.read_words(np.zeros((len(public), 1)), public, np.zeros((len(dev), 1)), HELD), dev)}
    found = study.once("prior", [os.path.basename(study.options.model), study.options.public], .01, work)
    return found if isinstance(found, Missing) else ("%.3f" % found["words"]).lstrip("0")


def score(found, metric, sees="release"):
    return next(score for score in found["scores"] if (score["observed"], score["metric"]) == (sees, metric))


def reads(found):
    """Returns whether the attacker finds more words than from samples of other texts: the intervals do not overlap."""
    return score(found, METRICS[0])["interval"][0] > score(found, METRICS[0], "prior")["interval"][1]


def cell(found, metric, sees="release"):
    if isinstance(found, Missing):
        return found
    found = score(found, metric, sees)
    return "%s (%s to %s)" % tuple(("%.3f" % value).replace("0.", ".", 1) for value in (found["value"], *found["interval"]))


@study.table
def membership(study):
    """Is a text in a shared file?"""
    rows = []
    for name, defense, label in all_rows():
        found, claimed = study.members(name, label), study.audited(name, label, 0)
        rows.append([defense.NAME, label, found["auc"], *(found["at %g" % rate] for rate in RATES), *(limit(defense, claimed, rate) for rate in RATES)])
    missing = any(isinstance(value, Missing) for row in rows for value in row)
    above = {row[0] for row in rows if not missing for tpr, most in zip(row[3:5], row[5:]) if most and tpr > float(most)}
    certain = sorted({row[0] for row in rows if not missing and row[2] > CERTAIN})
    return Table("The shared file has samples of a random half of the 872 dev texts. The score of a text is the likelihood ratio of \"its sample is in the file\" and \"all samples are of public texts\", "
                 "with %s public texts. Without noise, the likeliest sample decides, and for one vector per token only texts of the same number of tokens compete, under normal noise fitted to public samples. Scores of all seeds "
                 "are compared together: %s texts that are not in the file, or 436 if there is no noise. TPR: share of the file's texts that are found, where at most 1 %% or .1 %% of the others are taken for one of them. "
                 "Limit: e^epsilon times FPR, plus delta, but at most 1, where the claim covers any two texts." % (format(REFERENCES, ","), format(436 * study.options.seeds, ",")),
                 ["defense", "strength", "AUC", *("TPR at FPR %s %%" % rate for rate in ("1", ".1")), *("limit at %s %%" % rate for rate in ("1", ".1"))], rows,
                 unknown() if missing else disagrees("more texts are found than our own certificate allows.") if any(hasattr(DEFENSE_OF[name], "CONTROL") for name in above) else
                 agrees("no more texts are found than our own certificates allow.") + (" More than is claimed is found for %s." % ", ".join(sorted(above)) if above else "") + (
                     " Almost every text of the file is found for %s, at one strength or more." % ", ".join(certain) if certain else ""))


def limit(defense, found, rate):
    """Returns the share of members that epsilon and delta allow to find at a rate of false positives; nothing if the claim is per distance or none."""
    if isinstance(found, Missing):
        return found
    if found["claimed"] is None or pure(defense):
        return ""
    return at_most(math.exp(min(found["claimed"], 99)) * rate + defense.DELTA)


@study.table
def inversion(study):
    """Texts that `nvdp attack --kind invert` writes from samples"""
    rows, found_in, control = [], {}, None
    for name, defense, label in all_rows():
        found = study.inverted(name, label)
        if found is None:
            continue
        rows.append([defense.NAME, label, *(cell(found, metric) for metric in METRICS), cell(found, METRICS[0], "prior")])
        control = found if name == "none" else control
        if not isinstance(found, Missing):
            found_in.setdefault(reads(found), {}).setdefault(defense.NAME, []).append(label)
    missing = any(isinstance(value, Missing) for row in rows for value in row)
    listed = {how: "; ".join("%s (%s)" % (name, ", ".join(labels)) if len(labels) < len(DEFENSE_OF[name].STRENGTHS) else name for name, labels in each.items())
              for how, each in found_in.items()}
    return Table("%d dev texts. The attacker has the encoder, the defense, and samples of the public texts; for a rotation, only of the known pairs. It learns by ridge regression to map samples to the encoder's own vectors. "
                 "It reads words off the mapped samples, with the help of public texts with similar ones, orders them by models/compact, which learns in %d steps of 32, "
                 "and in 24 rounds changes words as long as the guess's own embedding comes closer to the mapped sample or its words fit better. Not attacked: samples of tokens, "
                 "and a rotation without known pairs, which gives no map. *Nothing* is shown where the interval overlaps the control's. 95 %% intervals, over texts." % (study.options.inverted, study.options.steps),
                 ["defense", "strength", *METRICS, METRICS[0] + ", from samples of other texts"], rows,
                 unknown() if missing else disagrees("the attacker is too weak: without a defense it finds nothing.") if not reads(control) else
                 agrees("the attacker reads embeddings without a defense%s." % (", though not clearly enough for the program's own test" if control["weak"] else "")) + (
                     " It finds more words than from samples of other texts for %s." % listed[True]) + (
                     " It shows nothing about %s: another attacker may find more." % listed[False] if False in listed else ""))


@study.table
def distances(study):
    """Claims that grow with the distance of two texts, for the closest and the farthest"""
    rows = []
    for name, defense, label in all_rows():
        if pure(defense):
            for which, pair in ((1, "closest"), (0, "farthest")):
                found = study.audited(name, label, which)
                rows.append([defense.NAME, label, pair, epsilon(found["distance"]), epsilon(found["claimed"]), shown(found), judged(found)])
    missing = any(isinstance(cell, Missing) for row in rows for cell in row)
    exceeded = [row for row in rows if row[-1] == EXCEEDED]
    return Table("As above. The distance is Euclidean.", ["defense", "strength", "pair", "distance", "claimed", "shown", "claim"], rows,
                 unknown() if missing else disagrees("an audit shows more than is claimed.") if exceeded else agrees("no audit shows more than is claimed for its distance."))


@study.table
def readings(study):
    """Sources, and what follows"""
    rows = [[defense.NAME, defense.CLAIM, defense.READ, getattr(defense, "DIFFERS", ""), defense.FINDING] for defense in DEFENSE.values()]
    return Table("No measurement.", ["defense", "it claims", "we read", "ours differs", "so"], rows, "The code follows the sources in the third column.")


if __name__ == "__main__":
    study.main()
