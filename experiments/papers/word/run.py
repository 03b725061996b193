#!/usr/bin/env python3
"""Compares method word with text privatization at equal proven epsilon, per word or piece, and at equal success of an attacker.

How much of its score does a task keep if every single word is protected? `--method word` proves epsilon, at delta 1e-5, for any word in place of
any other, all other words known. The mechanisms of text privatization promise less for tokens that are far apart. Their epsilon here is that of the
farthest pair of tokens, so it too holds for any token in place of any other. It is per piece of a word, and that of `word` per word. Each verdict
answers: does `word` at epsilon 1 to 8 score more than text privatization at 8, by more than two standard errors of the dev texts? SanText+ is no rival in
the verdicts, because it leaves some pieces unprotected. `word` suits tasks that the words of one text decide, such as the sentiment of SST-2. It keeps
less of tasks that compare two sentences (MRPC, QQP, QNLI, STS-B), because it adds up the words of both."""
import math
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from common import Missing, Study, Table, at_most, gnuplot, mean, number, verdict  # noqa: E402
from claims import error_of_difference  # noqa: E402

study = Study(__file__, "Proven privacy of every word: scores", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder: its word embeddings for method word, and the classifier of privatized texts"),
    "prior": ("models/compact", "masked language model of the attacker"),
    "text": ("wikitext-2/test.txt", "public text whose counts say which tokens are frequent, for SanText+"),
    "rows": (10000, "training texts of SST-2"),
    "seeds": (3, "seeds of the trainings of method word"),
    "text_seeds": (1, "seeds of the trainings on privatized texts"),
})
EPSILONS, FEW = (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8)
WANTED = {1: .64, 2: .69, 4: .74, 8: .77}  # of SST-2 with 10,000 rows
WINDOWS = (0, 1)
PRIVATIZED = {"santext": "SanText", "santext-plus": "SanText+", "laplace-nearest": "nearest to a noised vector", "laplace": "noised vector"}
ACCURACY, PEARSON = "test.metrics.accuracy.mean", "test.metrics.pearson.mean"
# folder, score, training rows, thousands of tokens of the training rows and of the dev file, longest text
TASKS = {"sst2": ("SST-2", ACCURACY, "{rows}", 117, 22, 64), "sst2-all": ("SST-2", ACCURACY, 0, 790, 22, 64), "mrpc": ("MRPC", ACCURACY, 0, 175, 22, 96),
         "qqp": ("QQP", ACCURACY, 0, 270, 590, 64), "qnli": ("QNLI", ACCURACY, 0, 450, 270, 96), "stsb": ("STS-B", PEARSON, 0, 160, 45, 64)}


def train(name, task, seed, hours, *options):
    folder, metric, rows, *_ = TASKS[task]
    name = "%s-%s-%d" % (task, name, seed)
    return study.measure("train/" + name, "train", "--task", task.partition("-")[0], "--data", "{glue}/" + folder, "--model", "{model}", *options, "--limit-train", rows, "--seed", seed,
                         "--out", "{out}/" + name, hours=hours, keep=[metric] + ["test.majority"] * (metric == ACCURACY))


def scores(found, task):
    """Returns (mean, standard deviation or None) of the scores of some trainings; (Missing, None) if one is missing."""
    values = [one[TASKS[task][1]] for one in found]
    middle = mean(values)
    return middle, None if isinstance(middle, Missing) or len(values) < 2 else statistics.stdev(values)


def word(task, epsilon, window=0):
    """Returns a training of method word for each seed. With windows fewer passes, because their layers take 100 times as long."""
    _, _, _, tokens, dev, _ = TASKS[task]
    hours = (4 * tokens + 5 * dev) / 2900 if window else (16 * tokens + 5 * dev) / 150e3
    return [train("word-%d" % epsilon + ("-window-%d" % window if window else ""), task, seed, hours, "--preset", "word", "--word-epsilon", epsilon,
                  *(["--word-window", window, "--epochs", 4, "--lr", 1e-4, "--lr-bottleneck", 3e-3, "--batch", 32] if window else []))
            for seed in range(1, study.options.seeds + 1)]


def attack(task, epsilon, window=0, prior=False):
    """Attacks the word trainings with the attacker who knows all other words and names the missing one. Returns (success, guess without the sample,
    proven at most), each a mean over the seeds. With windows 100 texts are attacked, because a candidate costs 4 r + 1 windows. prior: a masked
    language model says which words are likely, instead of their frequencies."""
    found = []
    for seed, done in enumerate(word(task, epsilon, window), 1):
        name = "word-%d" % epsilon + ("-window-%d" % window if window else "")
        keys = ["scores.release-first.value", "scores.prior-first.value", "scores.release-first.bound"]
        record = done if isinstance(done, Missing) else study.measure(
            "informed/%s-%s-%d" % (task, name + "-prior" * prior, seed), "attack", "{out}/%s-%s-%d" % (task, name, seed), "--kind", "informed", "--public",
            "{glue}/%s/train.tsv" % TASKS[task][0], "--public-limit", 5000, "--limit", 100 if window else 872, *(["--prior", "{prior}"] if prior else []), hours=0.2 if window or prior else 0.005, keep=keys)
        found.append([record[key] for key in keys])
    return [mean(column) for column in zip(*found)]


def noise(mechanism, epsilon):
    """Returns the options of a mechanism with this epsilon for the farthest pair of tokens; a Missing if their distance is not measured."""
    with open(study.options.out + "/sentence.txt", "w", encoding="utf-8") as file:
        file.write("the old bridge over the river was painted bright green last summer .\n")
    farthest = study.measure("farthest", "sanitize", "--text", "{out}/sentence.txt", "--model", "{model}", "--mechanism", "santext", "--epsilon", 1, "--measure-tokens", 0,
                             "--insecure-seed", 1, "--overwrite", "--out", "{out}/private.txt", keep=["ldp_epsilon"])["ldp_epsilon"]
    return farthest if isinstance(farthest, Missing) else ["--eta", "%.6f" % (math.floor(1e6 * epsilon / farthest) / 1e6), *(
        ["--sensitive-from", "{text}"] if "plus" in mechanism else [])]


def privatized(task, mechanism, epsilon):
    """Returns a training on privatized texts for each seed; epsilon 0: on the texts as they are."""
    _, _, _, tokens, dev, length = TASKS[task]
    options = noise(mechanism, epsilon) if epsilon else []
    name = "%s-%d" % (mechanism, epsilon) if epsilon else "plain"
    whole = mechanism == "laplace"  # what reaches the first layer changes with the noise, so no layer can stay frozen
    hours = (tokens + dev) / 3600 * (2 if whole else 1 if mechanism == "laplace-nearest" else 0.7)
    return [Missing(hours) if isinstance(options, Missing) else train(name, task, seed, hours, "--method", "base", "--freeze-layers", 0 if whole else 5, "--max-length", length,
            "--batch", 32, "--epochs", 3, "--lr", 1e-4 if whole else 2e-4, *(["--token-noise", mechanism] if epsilon else []), *options) for seed in range(1, study.options.text_seeds + 1)]


def invert(mechanism, epsilon):
    """Returns (success, guess without the output) of the best attacker who knows mechanism and token frequencies, on the dev texts of SST-2. An attacker who sees
    the noised vector finds at least as much as one who sees the token nearest to it: one number for both."""
    mechanism = "laplace" if mechanism == "laplace-nearest" else mechanism
    options = noise(mechanism, epsilon)
    found = options if isinstance(options, Missing) else study.measure(
        "inversion/%s-%d" % (mechanism, epsilon), "sanitize", "--analyse", "inversion", "--task", "sst2", "--data", "{glue}/SST-2", "--limit", 872, "--model", "{model}",
        "--mechanism", mechanism, *options, "--draws", 3000 if mechanism == "laplace" else 10000, keep=["bayes", "prior"])
    return found["bayes"], found["prior"]


def cell(value, sd):
    return value if sd is None else number(value) + " ± " + number(sd)


PROTECTS = {"santext": "any piece, from any other", "santext-plus": "the rarest .9 of the pieces, from each other; the others not at all",
            "laplace-nearest": "any piece but `[UNK]`, from any other", "laplace": "any piece, from any other"}


def label(window):
    return "`word`" + (", a window of %d on either side" % window if window else "")


def table(task, epsilons=FEW):
    folder, metric, rows, *_ = TASKS[task]
    ours = {window: {epsilon: word(task, epsilon, window) for epsilon in epsilons} for window in WINDOWS}
    theirs = {mechanism: {epsilon: privatized(task, mechanism, epsilon) for epsilon in epsilons} for mechanism in PRIVATIZED}
    plain = scores(privatized(task, "none", 0), task)
    lines = [[label(window), "any word, from any other", *(cell(*scores(row[epsilon], task)) for epsilon in epsilons)] for window, row in ours.items()]
    lines += [[PRIVATIZED[mechanism] + " (`%s`)" % mechanism, PROTECTS[mechanism], *(cell(*scores(row[epsilon], task)) for epsilon in epsilons)] for mechanism, row in theirs.items()]
    lines.append(["not privatized", "nothing", cell(*plain), *[""] * (len(epsilons) - 1)])
    if metric == ACCURACY:
        lines.append(["most frequent class", "everything", ours[0][FEW[0]][0]["test.majority"], *[""] * (len(epsilons) - 1)])
    low = [scores(ours[0][epsilon], task)[0] for epsilon in FEW]
    rivals = {mechanism: scores(theirs[mechanism][FEW[-1]], task)[0] for mechanism in PRIVATIZED if "plus" not in mechanism}
    rivals = {mechanism: value for mechanism, value in rivals.items() if not isinstance(value, Missing)} or rivals
    majority = ours[0][FEW[0]][0]["test.majority"] if metric == ACCURACY else 0.0
    windows = {window: [scores(row[epsilon], task)[0] for epsilon in FEW] for window, row in ours.items() if window > 0}
    others = "".join(" With a window of %d on either side it scores %s." % (window, ", ".join(map(number, row)))
                     for window, row in windows.items() if not any(isinstance(value, Missing) for value in row))

    plus = [scores(theirs["santext-plus"][epsilon], task)[0] for epsilon in FEW]
    if not any(isinstance(value, Missing) for value in plus):
        others += " SanText+, which leaves some pieces unprotected, scores %s." % ", ".join(map(number, plus))

    def test(*_):
        highest, errors = max(rivals.values()), 2 * error_of_difference(task.partition("-")[0])
        ahead = [str(epsilon) for epsilon, value in zip(FEW, low) if value - highest > errors]
        text = "**%s**: `word` scores %s at epsilon %s, and text privatization at most %s at epsilon %d (%s); two standard errors are %s.%s" % (
            "Yes" if len(ahead) == len(FEW) else "Only at epsilon " + ", ".join(ahead) if ahead else "No", ", ".join(map(number, low)), ", ".join(map(str, FEW)),
            number(highest), FEW[-1], ", ".join("`%s`" % name for name in rivals), number(errors), others)
        text += " At epsilon %d `word` keeps %.0f %% of what texts without privacy gain over %s." % (
            FEW[-1], 100 * max(0, (low[-1] - majority) / (plain[0] - majority)), "the most frequent class" if majority else "guessing")
        short = max(WANTED[epsilon] - value for epsilon, value in zip(FEW, low)) if task == "sst2" else 0
        return text + " The goal set before the runs, %s, is missed by up to %s." % (", ".join(number(value, 2) for value in WANTED.values()), number(short)) * (short > .01)

    return Table(
        scale="%s, %s; `%s`. %s ± standard deviation over %d seeds of `word`; privatized texts have %d. `word` trains 16 passes, with windows 4. The classifier of privatized texts has its last layer fine-tuned "
              "(all layers for `laplace`)." % (
                  folder, "%s training texts" % number(study.options.rows) if rows else "all stored training texts", study.options.model,
                  "Pearson's correlation" if metric == PEARSON else "Accuracy", study.options.seeds, study.options.text_seeds),
        header=["method", "protects", *("epsilon %d" % epsilon for epsilon in epsilons)], rows=lines,
        verdict=verdict([majority, plain[0], *low, *rivals.values()], test, "", ""))


@study.table
def sst2(study):
    """SST-2 with 10,000 training texts"""
    made = table("sst2", EPSILONS)
    made.note = ("Text privatization protects pieces of words: a word of k pieces has k times its epsilon, and the number of pieces is public. On the other hand its epsilon holds "
                 "at delta 0, and that of `word` at 1e-5. The next table therefore compares both by what an attacker finds. Text privatization gives a text that people can read and "
                 "that serves any task. `word` gives a few numbers for one task.\n\n![Score over proven epsilon, and over what an attacker gains](figures/word.svg)")
    return made


@study.table
def attacker(study):
    """SST-2: does the proven bound hold against attackers who name a word?"""
    rows, bounds = [], []
    for window, prior, epsilons in ((0, False, EPSILONS), (0, True, FEW), (1, False, FEW)):
        found, unused = [attack("sst2", epsilon, window, prior) for epsilon in epsilons], [""] * (len(EPSILONS) - len(epsilons))
        rows.append([label(window) + ", `%s` as prior" % study.options.prior * prior, *(value for value, _, _ in found), *unused,
                     mean([without for _, without, _ in found])])
        rows.append(["proven at most", *(at_most(bound, 4) for _, _, bound in found), *unused, ""])
        bounds += [value if isinstance(value, Missing) else value <= bound for value, _, bound in found]
    for mechanism in PRIVATIZED:
        found = [invert(mechanism, epsilon) for epsilon in EPSILONS]
        rows.append([PRIVATIZED[mechanism], *(value for value, _ in found), mean([prior for _, prior in found])])
    rows = [[number(value, 4) if isinstance(value, float) else value for value in row] for row in rows]
    return Table(
        scale="Share of the words that the attacker names (text privatization: of the pieces), on the 872 dev texts of SST-2. `word`: the attacker knows the model, all other words of the text, and word "
              "frequencies of 5,000 training texts, and computes the exact likelihood of each word. A masked language model that reads all other words replaces the frequencies where it is named as prior. "
              "With windows 100 texts are attacked, and the 100 likeliest candidates of each word are tried. Others: the attacker knows the mechanism and the frequencies of the pieces. The noised vector has "
              "3,000 draws (standard error .009 at most), the other numbers are exact. For the nearest to a noised vector the number is an upper bound, because that attacker sees the vector.",
        header=["method", *("epsilon %d" % epsilon for epsilon in EPSILONS), "without the sample"], rows=rows,
        verdict=verdict(bounds, lambda *_: all(bounds), "no attack on `word` exceeds what is proven. %s" % equal(), "an attack on `word` exceeds what is proven.", ("Yes", "No")))


def points():
    """Returns curve -> [(epsilon, what the attacker gains (nan: not measured), score, standard deviation)] of all settings of SST-2 that are measured."""
    curves = {}
    for epsilon in EPSILONS:
        for window in WINDOWS:
            curves.setdefault("word" + (", window %d" % window if window else ""), []).append((epsilon, attack("sst2", epsilon, window)[:2], scores(word("sst2", epsilon, window), "sst2")))
        for mechanism in PRIVATIZED:
            curves.setdefault(mechanism, []).append((epsilon, invert(mechanism, epsilon), scores(privatized("sst2", mechanism, epsilon), "sst2")))
    return {name: [(epsilon, math.nan if any(isinstance(x, Missing) for x in success) else success[0] - success[1], value, sd or 0)
                   for epsilon, success, (value, sd) in row if not isinstance(value, Missing)] for name, row in curves.items()}


def equal():
    """Says what the methods score where the attacker gains at most .05."""
    attacked = {name: [point for point in row if not math.isnan(point[1])] for name, row in points().items()}
    best = {name: max(((score, epsilon) for epsilon, gain, score, _ in row if gain <= .05), default=None) for name, row in attacked.items() if row}
    return "The best measured scores with an attacker who gains at most .05 over guessing without the sample are: %s." % ", ".join(
        "`%s` %s (epsilon %d)" % (name, number(found[0]), found[1]) if found else "`%s` none" % name for name, found in best.items())


def register(task, title):
    function = lambda study: table(task)
    function.__name__, function.__doc__ = task.replace("-", "_"), title
    study.table(function)


for task, title in (("sst2-all", "SST-2 with all training texts"), ("mrpc", "MRPC"), ("qqp", "QQP"), ("qnli", "QNLI"), ("stsb", "STS-B")):
    register(task, title)


def draw(path):
    """Draws two panels: score over proven epsilon, and over what an attacker gains."""
    curves = {name: row for name, row in points().items() if row}
    if not curves:
        return
    lines = ["set multiplot layout 1,2", "set grid lc rgb '#dddddd'", "set yrange [.45:.85]", "set ylabel 'accuracy on SST-2'", "set key top left opaque"]
    for index, row in enumerate(curves.values()):
        lines += ["$curve%d << end" % index, *("%g %g %g %g" % point for point in row), "end"]
    colors = ("#2060a0", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#5d6d7e")

    def plot(columns):
        return "plot " + ", ".join("$curve%d using %s with yerrorlines pt %d lw 1.5 lc rgb '%s' title '%s'" % (index, columns, index + 4, color, name)
                                   for index, (name, color) in enumerate(zip(curves, colors)))

    gnuplot(path, "900,420", lines + ["set logscale x", "set xlabel 'proven epsilon, any word (piece) in place of any other'", "set xrange [.8:80]",
                                      "set xtics (1,2,4,8,16,32,64)", plot("1:3:4"), "unset logscale x", "set xlabel 'how much more often an attacker names a word'",
                                      "set xrange [-.05:1]", "set xtics auto", plot("2:3:4")])


study.figures["word.svg"] = draw

if __name__ == "__main__":
    study.main()
