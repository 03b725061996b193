#!/usr/bin/env python3
"""Measures the tables and figures of Hoory et al. 2021.

Do the tables and figures of "Learning and Evaluating a Differentially Private Pre-trained Language Model" come out here? The paper pretrains
BERT-large on 712 million words of clinical notes, which are not public. Here models/compact, or a BERT that is trained from scratch, reads
sentences of BC5CDR (chemicals and diseases), a three-thousandth of that text. Compare directions, not levels. An epsilon is for one window of
at most 64 tokens at delta 1e-5. It does not cover facts that stand in several windows. Table 1 and Figure 1 are quoted from another page and
name its command, whose time is not part of the sum below."""
import json
import lzma
import math
import os
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pretrain"))
from claims import beyond, judge, listed
from common import Missing, Table, agrees, at_most, disagrees, mean, number, scaled_down, unknown
from private_sweeps import SENTENCES, STUDENT, sentences
from sweeps import SweepStudy

study = SweepStudy(__file__, "Hoory et al. 2021, table by table", {
    "ner": ("ner/bc5cdr", "folder of BC5CDR (train.tsv, devel.tsv, test.tsv in CoNLL columns)"),
    "text": ("wiki.txt.xz", "public text"),
    "model": ("models/compact", "public encoder with a masked-LM head"),
    "layers": (4, "layers of the encoder"),
    "documents": (150, "documents of ten private sentences in figure2"),
    "steps": (80, "steps without privacy in figure2, and public steps in pipeline"),
    "dp_steps": (12, "private steps"),
    "dp_batch": (128, "windows of a private step"),
    "seeds": (3, "number of training seeds of pipeline"),
})

FORMS = ("HS", "HSH", "HHSHH")
OCCURRENCES = (0, 10, 100)


def texts(study):
    """Writes the private text of figure2, that of the pipeline, the held-out text and the tagger's data into --out, unless only a page is written."""
    folder = study.options.out + "/texts"
    if study.options.hours < 0:
        return
    os.makedirs(folder + "/data", exist_ok=True)
    lines = {name: list(sentences("%s/%s.tsv" % (study.options.ner, part) for part in parts)) for name, parts in (("private", ("train", "devel")), ("held-out", ("test",)))}
    for name, source, documents in (("some", "private", study.options.documents), ("private", "private", None), ("held-out", "held-out", None)):
        with open("%s/%s.txt" % (folder, name), "w", encoding="utf-8") as file:
            for start in range(0, len(lines[source]) if documents is None else SENTENCES * documents, SENTENCES):
                file.write("\n".join(lines[source][start : start + SENTENCES]) + "\n\n")
    shutil.copy(study.options.ner + "/train.tsv", folder + "/data/train.tsv")
    shutil.copy(study.options.ner + "/test.tsv", folder + "/data/dev.tsv")
    with open(folder + "/secrets.json", "w", encoding="utf-8") as file:
        json.dump({"seed": 1, "secrets": [{"form": form, "occurrences": n, "count": 40 if n == 0 else 5} for form in FORMS for n in OCCURRENCES]}, file)


def private(batch, seed=1):
    return ("--dp-batch", batch, "--batch", 32, "--target-epsilon", 8, "--target-delta", 1e-5, "--dp-clip", 1, "--optimizer", "adamw", "--insecure-seed", seed)


def interval(cell):
    """Returns mean and standard error of a cell such as "+.41 ± .14", the 95 % interval over five seeds."""
    mean, _, half = cell.partition(" ± ")
    return float(mean), float(half) / STUDENT


SCALE = "the paper's private text is three thousand times as long"
PAPER = {"public": 76.3, "BioBERT": 86.5, "plain": 86.8, "3.2": 84.5, "1": 83.7}  # F1 of Table 1
COMMAND = "experiments/pretrain/private_sweeps.py --data BC5CDR --model models/compact --public TEXT --out DIR"
SWEEPS = "\n\n    " + COMMAND


def quoted(*header):
    return study.quoted("dp-bert.md", *header, command=COMMAND)


@study.table
def table1(study):
    "Table 1: what pretraining on the private text is worth to the tagger"
    over = {row["pretraining goes on"]: row["gain in F1 (public model 41.7)"] for row in quoted("pretraining goes on", "gain in F1 (public model 41.7)")}
    control = {row[""]: row for row in quoted("", "held-out perplexity", "F1", "gain")}
    public = float(control["public model"]["F1"])

    def row(name, key, paper=None, paper_epsilon="-", epsilon="-"):
        cells = [control[key]["F1"], control[key]["gain"]] if key in control else ["%.1f" % (public + interval(over[key])[0]), "+" + over[key]]
        return [name, paper_epsilon, *(("%.1f" % PAPER[paper], "%+.1f" % (PAPER[paper] - PAPER["public"])) if paper else ("-", "-")), epsilon, *cells]

    wiki = "Wikipedia's text, 300 steps of 32 windows"
    rows = [row("public model", "public model", "public"), row("public text (BioBERT: PubMed; ours: Wikipedia)", wiki, "BioBERT"),
            row("private text, without privacy", "300 steps without privacy", "plain"), row("private text, with privacy", "epsilon 8", epsilon="8"),
            row("private text, with privacy", "epsilon 2.65", "3.2", "3.2", "2.65"), row("private text, with privacy", "epsilon .80", "1", "1", ".80"),
            *(row("%s (gain over %s)" % (name.replace("from there: t", "public text, then t").replace("from there: W", "public text, then W"), "public text"), name,
                  epsilon="8" if "epsilon 8" in name else "-") for name in control if name.startswith("from there"))]
    rows[0][3] = rows[0][6] = "-"
    all_text, any_text = interval(over["300 steps without privacy"]), interval(control[wiki]["gain"])
    plain, kept = (control["from there: the corpus's text " + how]["gain"] for how in ("without privacy", "at epsilon 8"))
    why = "beyond public text F1 changes by %s points at epsilon 8 and by %s without privacy. Public text alone gives %.2f of the %.2f points (paper: %.1f of %.1f)." % (
        kept, plain, any_text[0], all_text[0], PAPER["BioBERT"] - PAPER["public"], PAPER["plain"] - PAPER["public"])
    reaches = interval(kept)[0] > 2 * interval(kept)[1]
    return Table("models/compact, 6,213 windows of BC5CDR, a tagger over the frozen encoder. ±: 95 % interval over five seeds of the tagger; one pretrained model per row. "
                 "Quoted from [dp-bert.md](dp-bert.md#continued-pretraining-for-entities). Epsilon is for one window of at most 64 tokens that is left out, at delta 1e-5 (paper: one example, 1e-8)." + SWEEPS,
                 ["pretrained on", "epsilon, paper", "F1, paper", "gain", "epsilon, ours", "F1, ours", "gain"], rows,
                 agrees("private text helps the tagger under privacy: " + why) if reaches else scaled_down(disagrees("under privacy no gain from the private text is seen: " + why), SCALE))


SWEPT = {"noise": -1, "epochs": 1, "batch": -1}  # the published direction of epsilon and F1


WINDOWS, STEPS = 6213, 80  # of the sweeps


def by_root(study):
    """Returns rows of a batch sweep whose noise grows with the root of the batch, as section 3.3 has it, with their epsilon. No model was trained."""
    rows = []
    for batch in (64, 128, 256, 512):
        noise = .632 * math.sqrt(batch / 256)
        found = study.measure("account/%d" % batch, "account", "--noise", "%.4g" % noise, "--sample-rate", "%.6g" % (batch / WINDOWS), "--steps", STEPS, "--delta", 1e-5, hours=0.001,
                              keep=["pld.epsilon"])["pld.epsilon"]
        rows.append(["root of the batch", "%.3g" % noise, str(batch), str(STEPS), found if isinstance(found, Missing) else "%.3g" % found, "not trained"])
    return rows


@study.table
def figure1(study):
    "Figure 1: epsilon and F1 over noise, epochs and batch"
    rows = [[row[""], row["noise"], row["batch"], row["steps"], row["epsilon at 1e-5"], row["gain"]] for row in quoted("", "noise", "batch")]
    rows += by_root(study)
    failed = {"epsilon": [], "F1": []}
    for sweep, sign in SWEPT.items():
        of = [(float(row[4]), *interval(row[5])) for row in rows if row[0].startswith(sweep)]
        if not all(sign * (b[0] - a[0]) > 0 for a, b in zip(of, of[1:])):
            failed["epsilon"].append(sweep)
        if sign * (of[-1][1] - of[0][1]) <= 2 * math.hypot(of[0][2], of[-1][2]):
            failed["F1"].append(sweep)
    why = " ".join("%s follows the paper over %s%s." % (name, listed([sweep for sweep in SWEPT if sweep not in wrong] or ["none of them"]), ", not over " + listed(wrong) if wrong else "")
                   for name, wrong in failed.items())
    return Table("models/compact, 6,213 windows of BC5CDR, ±: 95 % interval over five seeds of the tagger. Quoted from [dp-bert.md](dp-bert.md#noise-epochs-batch). Epsilon follows the paper if each step "
                 "changes it in the published direction, F1 if its first and last value differ in that direction by more than two standard errors. Epsilon is for one window that is left out." + SWEEPS,
                 ["sweep", "noise", "batch", "steps", "epsilon of a window at 1e-5", "gain in F1"], rows,
                 "**Partly**: " + why if any(failed.values()) else agrees(why),
                 "Published: more noise lowers epsilon and F1, more epochs raise both, and larger batches with as much more noise lower both. Section 3.3 has noise in "
                 "proportion to the root of the batch: the last four rows are arithmetic of such a sweep.")


@study.table
def figure2(study):
    "Figure 2: exposure of secrets of the forms HS, HSH and HHSHH"
    texts(study)
    found = {}
    common = ("--text", "{out}/texts/some.txt", "--init", "{model}", "--length", 64, "--plant", "{out}/texts/secrets.json", "--seed", 1)
    for name, options in (("plain", ("--dp-batch", 32, "--batch", 32, "--dp-noise", 0, "--dp-clip", "inf", "--optimizer", "adamw", "--insecure-seed", 1)), ("private", private(32))):
        study.measure("figure2/" + name, "pretrain", *common, *options, "--steps", study.options.steps, "--lr", 5e-4, "--out", "{out}/figure2-" + name, hours=0.05, keep=["loss"])
        found[name] = study.measure("figure2/%s/exposure" % name, "attack", "{out}/figure2-" + name, "--kind", "exposure", hours=0.03,
                                    keep=["groups", "candidates"])
    scale = "%s, %d documents of BC5CDR, %d steps of 32 windows on average, rate 5e-4; with privacy clip 1. In a form S is the secret word, H a word beside it. " \
            "40 secrets of each form that were not planted, 5 of each other kind, one run." % (
        study.options.model, study.options.documents, study.options.steps)
    if any(isinstance(of["groups"], Missing) for of in found.values()):
        return Table(scale, EXPOSURE, [["", "", of["groups"]] for of in found.values()], unknown("some runs are missing."))
    groups = {(group["form"], group["occurrences"], name): group for name, of in found.items() for group in of["groups"]}
    rows = [[form, str(n), *("%.2f (%.2f to %.2f)" % (group["exposure"], *group["interval"]) for group in (groups[form, n, name] for name in found))] for form in FORMS for n in OCCURRENCES]
    n = OCCURRENCES[-1]
    gains = {name: ["%.1f" % (groups[form, n, name]["exposure"] - groups[form, 0, name]["exposure"]) for form in FORMS] for name in found}
    apart = [(groups[form, n, "plain"]["exposure"] - groups[form, n, "private"]["exposure"]) / math.hypot(*(error(groups[form, n, name]) for name in found)) for form in FORMS]
    why = "%d plantings raise the exposure by %s bits without privacy, and by %s at epsilon 8. With privacy it is lower by %s standard errors." % (
        n, ", ".join("%s (%s)" % pair for pair in zip(gains["plain"], FORMS)), ", ".join(gains["private"]), ", ".join("%.1f" % value for value in apart))
    return Table(scale, EXPOSURE, rows, agrees(why) if min(apart) > 2 else disagrees("not every form is less exposed by two standard errors: " + why),
                 "Both trainings draw the same windows in the same steps at the same rate: clip and noise alone differ. Paper: epsilon .58 (delta 1e-8), up to 100,000 occurrences, curves without numbers. Ours: epsilon 8 (1e-5), for one "
                 "window that is left out. It does not bound a secret that occurs %d times." % n)


def error(group):
    """Returns the standard error of the exposure of five secrets. Their 95 % interval may be cut off on one side."""
    return max(group["interval"][1] - group["exposure"], group["exposure"] - group["interval"][0]) / STUDENT


EXPOSURE = ["form", "occurrences", "exposure in bits (95 % interval), without privacy", "with privacy, epsilon 8"]


@study.table
def cross_validation(study):
    "Section 4: five-fold cross validation of the tagger"
    found = [study.measure("folds/%d" % fold, "train", "--task", "ner", "--data", "{ner}", "--model", "{model}", "--method", "base", "--freeze-layers", study.options.layers,
                           "--folds", 5, "--fold", fold, "--epochs", 15, "--lr", 3e-3, "--select", "last", "--seed", 1, "--out", "{out}/fold-%d" % fold, hours=0.05,
                           keep=["test.metrics.entity_f1.mean", "test.n"]) for fold in range(1, 6)]
    f1 = [of["test.metrics.entity_f1.mean"] for of in found]
    rows = [["fold %d" % (i + 1), "-", "%.1f" % (100 * value) if not isinstance(value, Missing) else value] for i, value in enumerate(f1)]
    middle = mean(f1)
    rows.append(["mean", "%.1f (BERT)" % PAPER["public"], "%.1f" % (100 * middle) if not isinstance(middle, Missing) else middle])
    scale = "%s, frozen, BC5CDR's train file, fifteen epochs, one seed. A fold is a fifth of the sentences; the paper's is 34 of 170 notes." % study.options.model
    return Table(scale, ["", "F1, paper", "F1, ours"], rows, unknown() if isinstance(middle, Missing) else
                 "**No number in the paper** for the spread. The folds differ by %.1f points here, so compare models on all five folds. The paper's mean is for another task and encoder." % (100 * (max(f1) - min(f1))))


WORDS = 62  # of a window of 64 tokens, without its two special tokens
VOCABULARIES = (("exact", None, 0), ("private-8", 8, 1e-7), ("private-1", 1, 1e-7), ("private-0.3", 0.3, 1e-7))
WITHIN = ("private-0.05", 0.05, 1e-9)  # leaves room for private training within epsilon 8 of a window at delta 1e-5


def named(epsilon):
    return "exact counts (not private)" if epsilon is None else "private, epsilon %s per word" % ("%g" % epsilon).lstrip("0")


def window(epsilon, delta):
    """Returns what replacing the words of a window costs: docs/proofs.md, section 7. To leave them out costs half the epsilon."""
    lost = delta / 2 * max(WORDS, math.exp((WORDS - 1) * epsilon / 2))
    unit = 10 ** math.floor(math.log10(lost) - 1)
    at = ("%.1e" % (math.ceil(lost / unit - 1e-9) * unit)).replace("e-0", "e-")
    return "no bound (delta 1)" if lost >= 1 else "%s at delta %s" % (at_most(round(WORDS * epsilon, 9), 1, math.inf), at)


def learned(name, epsilon, delta):
    """Learns a vocabulary of the private text; returns its numbers."""
    options = () if epsilon is None else ("--vocab-dp-epsilon", epsilon, *(("--vocab-dp-delta", delta) if name == WITHIN[0] else ()))
    return study.measure("vocabulary/" + name, "pretrain", "--text", "{out}/texts/private.txt", "--arch", "tiny", "--vocab-size", 4096, *options, "--steps", 0, "--seed", 1,
                         "--out", "{out}/vocabulary-" + name, hours=0.01, keep=["vocab_size"])


@study.table
def vocabulary(study):
    "Section 3.2: what a private vocabulary costs"
    texts(study)
    rows, pieces = [], []
    for name, epsilon, delta in VOCABULARIES:
        made = learned(name, epsilon, delta)
        read = study.measure("vocabulary/%s/held-out" % name, "pretrain", "--text", "{out}/texts/held-out.txt", "--vocab", "{out}/vocabulary-%s/vocab.txt" % name, "--arch", "tiny",
                             "--steps", 1, "--batch", 1, "--out", "{out}/vocabulary-%s-read" % name, hours=0.01, keep=["coverage"])
        of = read["coverage"]
        rows.append([named(epsilon), "no bound" if epsilon is None else window(epsilon, delta), made["vocab_size"], "%.2f" % of["pieces_per_word"] if of else of,
                     "%.2f %%" % (100 * of["unknown"]) if of else of])
        pieces.append(of["pieces_per_word"] if of else None)
    return Table("9,141 sentences of BC5CDR as private text, at most 4,096 pieces, delta 1e-7 per word; held-out: BC5CDR's test file. The second column is for replacing all %d words of a window of 64 tokens." % WORDS,
                 ["vocabulary", "epsilon of a window", "pieces", "pieces per word, held-out", "unknown words"], rows,
                 unknown() if None in pieces else "**No number in the paper** (it left its parameters blank): at epsilon 1 per word, held-out words have %.0f %% more pieces, at .3 %.0f %% more. "
                 "The [pipeline](#section-31-the-whole-pipeline) has the tagger's F1." % tuple(100 * (value / pieces[0] - 1) for value in pieces[2:]))


UNITS = (("exact counts (not private)", ()), ("Laplace noise on counts of words", ("--vocab-dp-epsilon", 2 / WORDS, "--vocab-dp-delta", 2e-6 / WORDS)),
         ("Gaussian noise on numbers of documents", ("--vocab-dp-unit", "window", "--vocab-dp-epsilon", 1, "--vocab-dp-delta", 1e-6)))
WIKIPEDIA = 4000  # its first documents are the private text, the others are held out


def collections(study):
    """Writes the private and the held-out text of both collections, and returns their names."""
    folder = study.options.out + "/texts"
    if study.options.hours >= 0 and not os.path.exists(folder + "/wikipedia-held-out.txt"):
        os.makedirs(folder, exist_ok=True)
        for name, parts in (("abstracts", ("train", "devel")), ("abstracts-held-out", ("test",))):
            with open("%s/%s.txt" % (folder, name), "w", encoding="utf-8") as file:
                file.writelines(line + "\n\n" for line in sentences("%s/%s.tsv" % (study.options.ner, part) for part in parts))
        with lzma.open(study.options.text, "rt", encoding="utf-8") as source, open(folder + "/wikipedia.txt", "w", encoding="utf-8") as file, \
                open(folder + "/wikipedia-held-out.txt.part", "w", encoding="utf-8") as rest:
            documents = 0
            for line in source:
                documents += line.startswith("<doc ")
                (file if documents <= WIKIPEDIA else rest).write(line)
        os.rename(folder + "/wikipedia-held-out.txt.part", folder + "/wikipedia-held-out.txt")
    return ("abstracts", "sentences of BC5CDR, each a document"), ("wikipedia", "documents of Wikipedia")


def kept(study, name, options):
    """Returns the number of words with noise that reach the threshold, which the program reports while it trains the vocabulary."""
    def work():
        out = "%s/units-%s" % (study.options.out, name.replace("/", "-"))
        command = [study.options.nvdp, "pretrain", "--text", "%s/texts/%s.txt" % (study.options.out, name.split("/")[0]), "--arch", "tiny", "--vocab-size", 8192, "--length", 64,
                   *options, "--steps", 0, "--seed", 1, "--overwrite", "--out", out, "--threads", study.options.threads]
        done = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        pieces, words = re.search(r"vocabulary: (\d+) pieces from (\d+) distinct", done.stderr).groups()
        return {"pieces": int(pieces), "words": int(words)}

    return study.once("units/" + name, [name, *map(str, options)], 0.02, work)


@study.table
def units(study):
    "Section 3.2: Gaussian noise in place of Laplace noise"
    rows = []
    for collection, title in collections(study):
        for label, options in UNITS:
            name = "%s/%s" % (collection, label.split()[0].lower())
            found = kept(study, name, options)
            made = study.measure("units/%s/model" % name, "pretrain", "--text", "{out}/texts/%s.txt" % collection, "--vocab", "{out}/units-%s/vocab.txt" % name.replace("/", "-"), "--arch", "tiny",
                                 "--length", 64, "--steps", 300, "--batch", 32, "--optimizer", "muon", "--seed", 1, "--eval-text", "{out}/texts/%s-held-out.txt" % collection, "--eval-limit", 500,
                                 "--out", "{out}/units-%s-model" % name.replace("/", "-"), hours=0.1, keep=["evaluation.accuracy", "coverage"]) if found else {"evaluation.accuracy": found, "coverage": found}
            of = made["coverage"]
            rows.append([title, label, found and found["words"], found and found["pieces"], of and "%.2f" % of["pieces_per_word"], of and "%.2f %%" % (100 * of["unknown"]), made["evaluation.accuracy"]])
    few = [row[2] for row in rows if not isinstance(row[2], Missing)]
    return Table("At most 8,192 pieces. Both kinds of noise have epsilon 1 at delta 1e-6 for a window of 62 words that is left out. Masked accuracy: of pieces, on held-out text, of a BERT of 2 layers, 128 wide, after 300 steps "
                 "*without* privacy on the same text; one seed. It is not comparable between rows with different pieces per word.",
                 ["private text", "counts", "words kept", "pieces", "pieces per word", "unknown words", "masked accuracy"], rows,
                 unknown() if len(few) < len(rows) else "**No number in the paper.** With the same guarantee, Gaussian noise keeps %s and %s words, Laplace noise %s and %s." % (
                     *(format(rows[i][2], ",") for i in (2, 5)), *(format(rows[i][2], ",") for i in (1, 4))))


def trained(study, name, seed):
    """Trains the pipeline with one vocabulary, and returns (perplexity, F1 of the tagger) by the name of its last step."""
    vocab, out = "{out}/vocabulary-%s/vocab.txt" % name, "{out}/pipeline-%s-%d" % (name, seed)
    common = ("--length", 64, "--seed", seed)
    later = ("--text", "{out}/texts/private.txt", "--init", out + "-public", "--eval-text", "{out}/texts/held-out.txt", "--eval-limit", 500, *common)
    steps = {"public": ("--text", "{text}", "--vocab", vocab, "--arch", "tiny", *common, "--optimizer", "muon", "--batch", 32, "--steps", 4 * study.options.steps),
             "plain": (*later, "--optimizer", "adamw", "--lr", 5e-4, "--batch", 32, "--steps", study.options.steps),
             "private": (*later, *private(study.options.dp_batch, seed), "--lr", 3e-4, "--steps", study.options.dp_steps)}
    if name == "exact":  # nvdp refuses private training of a model whose vocabulary holds exact counts of the same texts
        del steps["private"]
    found = {}
    for last, arguments in steps.items():
        at = "pipeline/%s/%s/%d" % (name, last, seed)
        made = study.measure(at, "pretrain", *arguments, "--out", "%s-%s" % (out, last), hours=0.05, keep=["loss" if last == "public" else "evaluation.perplexity"])
        tagger = study.measure(at + "/tagger", "train", "--task", "ner", "--data", "{out}/texts/data", "--model", "%s-%s" % (out, last), "--method", "base", "--freeze-layers", 0,
                               "--epochs", 8, "--lr", 1e-3, "--select", "last", "--seed", seed, "--out", "%s-%s-tagger" % (out, last), hours=0.05, keep=["test.metrics.entity_f1.mean"])
        found[last] = "-" if last == "public" else made["evaluation.perplexity"], tagger["test.metrics.entity_f1.mean"]
    return found


@study.table
def pipeline(study):
    "Section 3.1: the whole pipeline"
    texts(study)
    rows, scores = [], {}
    for name, epsilon, delta in (VOCABULARIES[0], WITHIN):
        size = learned(name, epsilon, delta)
        found = [trained(study, name, seed) for seed in study.seeds()]
        for last in found[0]:
            perplexity, f1 = ([one[last][k] for one in found] for k in (0, 1))
            scores[name, last] = mean(f1) if isinstance(mean(f1), Missing) else [100 * value for value in f1]
            rows.append([named(epsilon), LAST[last], "-" if last == "public" else number(mean(perplexity), 0), scores[name, last] if isinstance(scores[name, last], Missing) else spread(scores[name, last])])
    scale = ("A BERT of 2 layers, 128 wide, from scratch: %d public steps, then %d plain steps of 32 windows or %d private ones of %d at epsilon 8. The tagger trains all layers. "
             "±: standard deviation of %d seeds, each of the whole pipeline after the vocabulary; of a change: standard error. Perplexity is per piece: compare it only within one vocabulary."
             % (4 * study.options.steps, study.options.steps, study.options.dp_steps, study.options.dp_batch, study.options.seeds))
    note = ("The recipe: a vocabulary from the private text (`pretrain --vocab-dp-epsilon`), public pretraining with it (`--vocab`), private pretraining (`--init --dp-batch --target-epsilon`), the tagger "
            "(`train --task ner`). The paper measured it without the private vocabulary. Epsilon 8 at delta 1e-5 is for one window that is left out, and contains %s for the words of the window in the vocabulary. "
            "With that much noise the vocabulary has only %s pieces. `nvdp` refuses the exact vocabulary, which reveals words of the private text. It also refuses epsilon 1 per word, which bounds nothing "
            "for a window (delta 1)." % (number(WORDS * WITHIN[1] / 2, 2), number(size["vocab_size"])))
    if any(isinstance(value, Missing) for value in scores.values()):
        return Table(scale, PIPELINE, rows, unknown("some runs are missing."), note)
    gain, kept, cost = (change(scores[after], scores[before]) for after, before in (
        ((WITHIN[0], "plain"), (WITHIN[0], "public")), ((WITHIN[0], "private"), (WITHIN[0], "public")), ((WITHIN[0], "plain"), ("exact", "plain"))))
    claims = [("%s changes F1 by %+.1f ± %.1f points (paper: %+.1f)." % (what, *value, PAPER[published] - PAPER["public"]), beyond(*value))
              for what, value, published in (("pretraining on the private text", gain, "plain"), ("private pretraining", kept, "3.2"))]
    return Table(scale, PIPELINE, rows, judge(*((outcome, text, text, text + " That is less than two standard errors.") for text, outcome in claims)), "The vocabulary within the same epsilon changes F1 by %+.1f ± %.1f points. %s" % (*cost, note))


def change(after, before):
    """Returns mean and standard error of the differences, seed by seed."""
    differences = [a - b for a, b in zip(after, before)]
    return statistics.mean(differences), statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else math.inf


def spread(values):
    return "%.1f" % mean(values) + (" ± %.1f" % statistics.stdev(values) if len(values) > 1 else "")


LAST = {"public": "public text", "plain": "then the private text, without privacy", "private": "then the private text, epsilon 8"}
PIPELINE = ["vocabulary", "pretrained on", "perplexity per piece, held-out", "F1"]

if __name__ == "__main__":
    study.main()
