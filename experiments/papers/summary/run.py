#!/usr/bin/env python3
"""Measures what a receiver learns from the summary of a collection, and what decides it: epsilon, rows, the encoder, the reader.

`nvdp summarize` writes one noisy matrix of a collection of texts. Is a reader of this matrix as good as one that saw every embedding, and
better than other ways to spend the same epsilon? A reader is computed here with numpy, from the file alone, and scored on the plain
embeddings of the task's dev file. The center is that of the public train file of another task. Texts of pairs have the product of the two
embeddings (times the root of the width) and their absolute difference. delta is 1e-5, for the replacement of any one row, its label included.

The comparison that no noise can beat is the same reader on the same numbers without noise. Beside it stand two other mechanisms with the same
guarantee and the same center: the noisy sums of each class alone (plain statistics), and a linear reader trained by noisy gradients of all rows
(a private head: 100 steps of full-batch gradient descent, each row's gradient clipped to 1)."""
import csv
import json
import math
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from common import Missing, Study, Table, gnuplot, mean, number, verdict  # noqa: E402

try:
    import numpy as np
except ImportError:  # the page follows from the records
    np = None

EPSILONS = (0.25, 0.5, 1, 2, 4, 8)
# tasks on which readers are compared, on texts of GLUE that are not those tasks: the file and column of questions, and a pattern of the questions
# of one class. The first 8,000 rows are summarized, and the reader is scored on the rest of the 9,999. "pairs": which of two questions belong together.
TUNING = {"asks for a number": ("QNLI", 0, r"how many|how much|when\b|what (year|date|percent|number)"),
          "asks for a person": ("QNLI", 0, r"\bwho"),
          "asks how": ("QQP", 0, r"how\b"),
          "asks for advice": ("QQP", 0, r".*\b(best|should|good|better|worst)\b"),
          "pairs": ("QQP", None, None)}
TUNED_ROWS, TUNED_PUBLIC = 8000, 5000
# folder, columns of the texts, column of the answer, classes (empty: a score from 0 to 5), task of the public center
TASKS = {"SST-2": (["sentence"], "label", "0,1", "MRPC"),
         "STS-B": (["sentence1", "sentence2"], "score", "", "QNLI"),
         "MRPC": (["#1 String", "#2 String"], "Quality", "0,1", "RTE"),
         "QQP": (["question1", "question2"], "is_duplicate", "0,1", "QNLI"),
         "QNLI": (["question", "sentence"], "label", "entailment,not_entailment", "MRPC"),
         "RTE": (["sentence1", "sentence2"], "label", "entailment,not_entailment", "MRPC")}
PART = 1000  # rows of a file of vectors
REDUCE = {"MRPC": 64, "RTE": 64}  # directions of the public vectors, for few rows; else all
READERS = {"ridge": "`nvdp reuse`", "clipped": "negative eigenvalues are 0", "spikes": "spiked Wigner", "adassp": "AdaSSP"}

study = Study(__file__, "Summaries of collections", {
    "glue": ("glue", "folder of GLUE's tasks"), "model": ("models/minilm", "encoder"), "mpnet": ("models/mpnet", "second encoder"), "seeds": (3, "draws of the noise")})


# --- embeddings ---

def read_task(task, split):
    """Returns the texts, column by column, and the answers of a file of a task."""
    columns, answer, _, _ = TASKS[task]
    with open("%s/%s/%s.tsv" % (study.options.glue, task, split), encoding="utf-8-sig") as file:
        rows = [line.rstrip("\n").rstrip("\r").split("\t") for line in file]
    kept = [row for row in rows[1:] if len(row) == len(rows[0])]
    at = lambda name: rows[0].index(name)
    return [[row[at(name)] for row in kept] for name in columns], [row[at(answer)] for row in kept]


def embed(task, split, pairs, rows=0, encoder=None, column=0):
    """Returns the numbers of the first rows of a file (0: all), and their answers. pairs: joins the vectors of both texts of a row."""
    columns, answers = read_task(task, split)
    rows, encoder = rows or len(answers), encoder or study.options.model
    vectors = []
    for index in ([0, 1] if pairs else [column]):
        texts = columns[index]
        parts = []
        for start in range(0, rows, PART):  # a part is embedded once, and kept
            path = "%s/%s-%s-%s-%d-%d" % (study.options.out, os.path.basename(encoder.rstrip("/")), task, split, index, start)
            if not os.path.exists(path + ".h5"):
                os.makedirs(study.options.out, exist_ok=True)
                with open(path + ".jsonl", "w", encoding="utf-8") as file:
                    file.writelines(json.dumps({"text": text}) + "\n" for text in texts[start:start + PART])
            parts.append(study.embed(encoder, path + ".jsonl", path + ".h5", "f32" if encoder == study.options.model else "bf16"))
        vectors.append(np.vstack(parts)[:rows])
    return joined(*vectors) if pairs else vectors[0], answers[:rows]


def numbers_of(task, answers):
    """Returns the answers as +1 and -1, or scores from 0 to 5 as numbers in [-1, 1]."""
    classes = TASKS[task][2].split(",")
    return np.array([float(a) / 2.5 - 1 for a in answers]) if classes == [""] else np.array([1.0 if a == classes[1] else -1.0 for a in answers])


def scaled(x):
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(norm == 0, 1, norm)


class Vectors:
    """Vectors of private rows and their answers, as a file for the program, with those of public and held-out rows."""

    def __init__(self, name, x, answers, y, dev, dev_y, public, scores=False):
        self.x, self.y, self.dev, self.dev_y, self.scores = x, y, dev, dev_y, scores
        self.path, self.center = ("%s/%s-%s" % (study.options.out, name, end) for end in ("rows.npz", "public.npy"))
        np.savez(self.path, vectors=x.astype(np.float32), label=np.array(answers))
        np.save(self.center, public.astype(np.float32))

    def mapped(self, x, center, directions):
        """Returns what the file says that a receiver computes of vectors."""
        x = scaled(x) - center
        return scaled(x if directions is None else x @ directions.T)

    def score(self, x, predicted):
        """Returns the share of right signs, or Pearson's correlation."""
        if self.scores:
            return float(np.corrcoef(predicted, self.dev_y)[0, 1])
        return float(np.mean((predicted > 0) == (self.dev_y > 0)))


def of_task(task, rows, encoder):
    """Returns the vectors of a task's train file, and of its dev file. A second encoder has a center of 1,000 public rows."""
    pairs = len(TASKS[task][0]) == 2
    x, answers = embed(task, "train", pairs, rows, encoder)
    dev, dev_answers = embed(task, "dev", pairs, 0, encoder)
    second = encoder != study.options.model
    public = embed({"QNLI": "RTE"}.get(TASKS[task][3], TASKS[task][3]) if second else TASKS[task][3], "train", pairs, 1000 if second else 0, encoder)[0]
    return Vectors(name_of(task, rows, encoder), x, answers, numbers_of(task, answers), dev, numbers_of(task, dev_answers), public, TASKS[task][2] == "")


def name_of(*parts):
    return "-".join(os.path.basename(str(part).rstrip("/")) for part in parts)


def joined(one, other, features="both"):
    made = {"product": one * other * math.sqrt(one.shape[1]), "difference": np.abs(one - other)}
    return np.hstack(list(made.values())) if features == "both" else made[features]


def whitened(x, public):
    """Returns vectors whose public second moments are those of noise, as far as 5,000 public rows tell them."""
    center = scaled(public).mean(0)
    values, axes = np.linalg.eigh(np.cov((scaled(public) - center).T, bias=True))
    return (scaled(x) - center) @ (axes / np.sqrt(np.maximum(values, 0) + values.mean() / 10))


def of_tuning(name, white=False):
    """Returns the vectors of a task of TUNING."""
    task, column, pattern = TUNING[name]
    texts, vectors = read_task(task, "train")[0], [embed(task, "train", False, 0, None, index)[0] for index in ([column] if pattern else [0, 1])]
    if pattern:
        x, y = vectors[0], np.array([1.0 if re.match(pattern if pattern.startswith((".", "how")) else ".*(" + pattern + ")", text.lower()) else -1.0 for text in texts[column]])
    else:  # the second question of every other row is that of the next but one row
        rows = np.arange(len(vectors[1]))
        x, y = joined(vectors[0], vectors[1][np.where(rows % 2 == 0, (rows + 2) % len(rows), rows)]), np.where(rows % 2 == 0, -1.0, 1.0)
    other = "QQP" if task == "QNLI" else "QNLI"
    public = embed(other, "train", not pattern, TUNED_PUBLIC)[0]
    if white:
        x, public = whitened(x, public), whitened(public, public)
    answers = np.where(y > 0, "1", "0")
    return Vectors(name_of("tuning", name.replace(" ", "-"), int(white)), x[:TUNED_ROWS], answers[:TUNED_ROWS], y[:TUNED_ROWS], x[TUNED_ROWS:], y[TUNED_ROWS:], public)


def of_qqp(rows, features):
    """Returns pairs of QQP's train file, the last 1,999 of which are held out, with some of the features of a pair."""
    (one, answers), (other, _) = (embed("QQP", "train", False, 0, None, index) for index in (0, 1))
    publics = [embed("QNLI", "train", False, TUNED_PUBLIC, None, index)[0] for index in (0, 1)]
    x, y = joined(one, other, features), numbers_of("QQP", answers)
    return Vectors(name_of("qqp", rows, features), x[:rows], answers[:rows], y[:rows], x[TUNED_ROWS:], y[TUNED_ROWS:], joined(*publics, features))


# --- readers, from the file alone ---

def open_summary(path):
    """Returns the attributes and the matrix [D, D] as averages."""
    import h5py

    with h5py.File(path) as file:
        a, z = dict(file.attrs), file["z"][...] * file.attrs["z_step"]
    return a, z[:int(a["vector_width"]) + 2] / int(a["units"])


def moments(a, m):
    """Returns the means of x and y, the covariance of x, and the covariance of x with y."""
    d, alpha, beta, tau = len(m) - 2, a["weight_constant"], a["weight_vector"], a["weight_answer"]
    x, y = m[0, 1:d + 1] / (alpha * beta), m[0, d + 1] / (alpha * tau)
    return x, y, m[1:d + 1, 1:d + 1] / beta ** 2 - np.outer(x, x), m[1:d + 1, d + 1] / (beta * tau) - x * y


def solve(found, eigenvalues, penalty):
    """Returns the weights and the bias of ridge regression. eigenvalues: function of the covariance's eigenvalues."""
    x, y, s, cross = found
    values, vectors = np.linalg.eigh(s)
    w = vectors @ ((vectors.T @ cross) / (eigenvalues(values) + penalty))
    return w, y - w @ x


def repaired(values, penalty, most):
    """Returns the eigenvalues of a covariance without the noise, as nvdp reuse computes them (docs/summary.md)."""
    values, trace = values.copy(), np.clip(values.sum(), 0, most)
    above = values > 2 * penalty
    values[above] = np.sqrt(values[above] ** 2 - 4 * penalty ** 2)
    values[above] *= min(1, trace / values[above].sum()) if above.any() else 1
    values[~above] = (trace - values[above].sum()) / max(1, np.sum(~above))
    return values


def glm_weights(x, y, s, cross, n):
    """Returns the weights and the bias of logistic regression by polynomials of degree 2 on [-4, 4] (PASS-GLM), prior N(0, 16)."""
    t = 4 * np.cos(np.pi * (np.arange(200) + .5) / 200)
    _, linear, square = np.polynomial.chebyshev.Chebyshev.fit(t, -np.log1p(np.exp(-t)), 2, domain=[-4, 4]).convert(kind=np.polynomial.Polynomial).coef
    moments_of_z = np.vstack([np.append(1, x), np.hstack([x[:, None], s + np.outer(x, x)])])
    values, axes = np.linalg.eigh(moments_of_z)
    z = axes @ ((axes.T @ np.append(y, cross + x * y)) * linear / (2 * abs(square) * np.maximum(values, 0) + 1 / (16 * n)))
    return z[1:], z[0]


def readers(a, m, scores):
    """Returns reader -> (weights, bias)."""
    x, y, s, cross = moments(a, m)
    known = 1 if scores else min(1, m[-1, -1] / a["weight_answer"] ** 2)  # share of rows with an answer
    found = x, y / known, s, m[1:-1, -1] / (a["weight_vector"] * a["weight_answer"] * known) - x * y / known
    d, noise = len(m) - 2, a["noise_off_diagonal"] / (int(a["units"]) * a["weight_vector"] ** 2)
    penalty = noise * math.sqrt(d)

    def spikes(values):  # a spike x of a spiked Wigner matrix is seen at x + penalty^2 / x
        return np.where(values > 2 * penalty, (values + np.sqrt(np.maximum(values ** 2 - 4 * penalty ** 2, 0))) / 2, 0)

    def posterior(values, cross):
        """Returns the mean of the weights given the moments: the weights are normal with a variance that makes the moments likeliest."""
        best = None
        for variance in np.logspace(-2, 4, 25) / d:
            error = np.maximum(1 - y * y, .05) * values / int(a["units"]) + cross_noise ** 2 + noise ** 2 * variance * d
            spread = values ** 2 * variance + error
            likely = -np.sum(np.log(spread) + cross ** 2 / spread)
            if best is None or likely > best[0]:
                best = likely, values * variance * cross / spread
        return best[1]

    cross_noise = a["noise_off_diagonal"] / (int(a["units"]) * a["weight_vector"] * a["weight_answer"])
    values, vectors = np.linalg.eigh(s)
    w = vectors @ posterior(repaired(values, penalty, 1 - x @ x), vectors.T @ found[3])
    glm = glm_weights(x, found[1], s, found[3], int(a["units"]))
    made = {"posterior": (w, found[1] - w @ x), "glm": glm,
            "ridge": solve(found, lambda values: repaired(values, penalty, 1 - x @ x), penalty),
            "clipped": solve(found, lambda values: np.maximum(values, 0), penalty),
            "spikes": solve(found, spikes, penalty),
            "adassp": solve(found, lambda values: np.maximum(values, 0), noise * math.sqrt(d * math.log(2 * d ** 2 / .05)))}
    return made


# --- the other mechanisms of the same mu ---

def class_sums(x, y, mu, random):
    """Returns a reader of the noisy sums of y x, x and y: the difference of the means of two classes."""
    z = np.hstack([x, np.full((len(x), 1), math.sqrt(.1))])  # the constant has the weight of a summary
    noise = math.sqrt(2 * 2 * 1.1) / mu  # rows (z, y z) of squared norm 2 * 1.1, one in place of another
    sums, crossed = z.sum(0) + noise * random.normal(size=z.shape[1]), (z * y[:, None]).sum(0) + noise * random.normal(size=z.shape[1])
    n, total = sums[-1] / math.sqrt(.1), crossed[-1] / math.sqrt(.1)
    one, other = (sums + crossed)[:-1] / max(1, n + total), (sums - crossed)[:-1] / max(1, n - total)
    return one - other, -(one - other) @ (one + other) / 2


def private_head(x, y, mu, random, scores, steps=100, rate=4.0):
    """Returns a linear reader trained by noisy gradients: `steps` releases of a sum of vectors of norm at most 1, one in place of another."""
    z = np.hstack([x, np.ones((len(x), 1))])
    w = np.zeros(z.shape[1])
    for _ in range(steps):
        slope = z @ w - y if scores else -y / (1 + np.exp(np.clip(y * (z @ w), -30, 30)))
        slope = slope / np.maximum(1, np.abs(slope) * math.sqrt(2))  # |z| is at most sqrt(2)
        w = w - rate * (z.T @ slope + 2 * math.sqrt(steps) / mu * random.normal(size=len(w))) / len(z)
    return w[:-1], w[-1]


def measured(task, epsilon, rows=0, reduce=0, encoder=None):
    """Returns reader or mechanism -> scores of all seeds."""
    encoder = encoder or study.options.model
    name = "%s/%g/%d/%d/%s" % (task, epsilon, rows, reduce, os.path.basename(encoder.rstrip("/")))
    hours = 0.05 if rows or task != "SST-2" else 0.1
    if encoder != study.options.model:  # eight times the work
        hours = {"SST-2": (rows or 67349) / 80000}.get(task, .3)
    return study.once(name, [name, study.options.seeds], hours,
                      lambda: released(of_task(task, rows, encoder), epsilon, reduce, TASKS[task][2], True))


def compared(name, make, epsilon, hours=0.02):
    """Returns reader -> scores of all seeds, for vectors that make() returns."""
    name = "%s/%g" % (name, epsilon)
    return study.once(name, [name, study.options.seeds], hours, lambda: released(make(), epsilon, 0, "0,1", False))


def released(data, epsilon, reduce, classes, mechanisms):
    made, path = {}, data.path.replace("-rows.npz", "-%g.h5" % epsilon)
    for seed in range(study.options.seeds):
        answers = ["--range", "0,5"] if data.scores else ["--classes", classes]
        study.run("summarize", "--vectors", data.path, "--center", data.center, "--label-column", "label", *answers,
                  "--summary-epsilon", epsilon, "--reduce", reduce, "--rows", 0, "--no-ledger", "--overwrite", "--out", path)
        a, m = open_summary(path)
        center, directions = read_map(path)
        dev, train = data.mapped(data.dev, center, directions), data.mapped(data.x, center, directions)
        random = np.random.default_rng(seed)
        found = readers(a, m, data.scores)
        if mechanisms:
            found["sums"] = class_sums(train, data.y, a["summary_mu"], random)
            found["head"] = private_head(train, data.y, a["summary_mu"], random, data.scores)
        exact = (train.mean(0), data.y.mean(), np.cov(train.T, bias=True), (train * data.y[:, None]).mean(0) - train.mean(0) * data.y.mean())
        found["none"] = solve(exact, lambda values: np.maximum(values, 0), 1e-3)
        for reader, (w, bias) in found.items():
            made.setdefault(reader, []).append(round(data.score(dev, dev @ w + bias), 4))
    return made


def sampled(name, make, epsilon):
    """Returns the scores of readers of one certified sample per row: ridge regression on second moments, less the known noise."""
    name = "samples/%s/%g" % (name, epsilon)

    def work():
        import h5py

        data, scores = make(), []
        path = data.path.replace("-rows.npz", "-samples-%g.h5" % epsilon)
        for _ in range(study.options.seeds):
            study.run("export", "--vectors", data.path, "--center", data.center, "--certified-epsilon", epsilon, "--duplicates", "each", "--measure-texts", 0, "--no-ledger", "--overwrite", "--out", path)
            with h5py.File(path) as file:
                clip = file.attrs["clip_sequence"]
                z = file["z"][...].reshape(-1, file["z"].shape[-1]) * file.attrs["z_step"] / clip
            center, directions = read_map(path)
            x, y, n, d = z.mean(0), data.y.mean(), len(z), z.shape[1]
            found = x, y, np.cov(z.T, bias=True) - np.eye(d) / clip ** 2, (z * data.y[:, None]).mean(0) - x * y
            penalty = math.sqrt(d / n) / clip ** 2
            w, bias = solve(found, lambda values: repaired(values, penalty, 1 - min(1, x @ x)), penalty)
            dev = data.mapped(data.dev, center, directions)
            scores.append(round(data.score(dev, dev @ w + bias), 4))
        return {"samples": scores}

    found = study.once(name, [name, study.options.seeds], 0.03, work)
    return found if isinstance(found, Missing) else mean(found["samples"])


def read_map(path):
    """Returns the center [D] and the directions [p, D] (None: all) that the file states."""
    import h5py

    with h5py.File(path) as file:
        found = {}
        for name in ("center", "map"):
            chunks = sorted((int(key[len(name) + 1:]), value.decode() if isinstance(value, bytes) else value) for key, value in file.attrs.items() if key.startswith(name + "_") and key[len(name) + 1:].isdigit())
            digits = "".join(text.removeprefix("f16:") for _, text in chunks)
            found[name] = np.array([int(digits[i:i + 4], 16) for i in range(0, len(digits), 4)], np.uint16).view(np.float16).astype(float) if chunks else None
    return found["center"], None if found["map"] is None else found["map"].reshape(-1, len(found["center"]))


# --- tables ---

def found(task, epsilon, reader, rows=0, reduce=None):
    scores = measured(task, epsilon, rows, REDUCE.get(task, 0) if reduce is None else reduce)
    return scores if isinstance(scores, Missing) else mean(scores[reader])


def scale():
    return ("Accuracy, for STS-B Pearson's correlation, on the task's dev file; %s, not fine-tuned; mean of %d draws of the noise. MRPC and RTE: 64 directions. The standard error over dev texts is .01 to .03."
            % (os.path.basename(study.options.model.rstrip("/")), study.options.seeds))


WANTED = {"SST-2": .02, "STS-B": .02, "MRPC": .02, "QNLI": .02, "QQP": .03}


@study.table
def epsilons(study):
    "Score over epsilon, all rows"
    rows, below = [], []
    for task in TASKS:
        plain = found(task, 1, "none")
        scores = [found(task, epsilon, "ridge") for epsilon in EPSILONS]
        rows.append([task, *scores, plain])
        below.append((task, plain - scores[2]))
    far = [task for task, loss in below if not isinstance(loss, Missing) and task in WANTED and loss > WANTED[task]]
    return Table(scale=scale(), header=["task", *("epsilon %g" % epsilon for epsilon in EPSILONS), "no noise"], rows=rows,
                 verdict=verdict([loss for _, loss in below], lambda *_: not far, "at epsilon 1 every task is within .02 of the reader without noise (QQP: .03).",
                                 "%s %s farther from the reader without noise than .02 (QQP: .03)." % (" and ".join(far), "is" if len(far) == 1 else "are"), ("Yes", "No")),
                 note="The question: does epsilon 1 cost at most .02?\n\n![Score over epsilon](figures/summary.svg)")


@study.table
def sizes(study):
    "SST-2: score over rows"
    rows = []
    for count, reduce in ((1000, 64), (3000, 128), (10000, 0), (0, 0)):
        rows.append(["all" if count == 0 else format(count, ","), reduce or "all", *(found("SST-2", epsilon, "ridge", count, reduce) for epsilon in EPSILONS), found("SST-2", 1, "none", count, reduce)])
    loss = rows[2][-1] - rows[2][4]
    return Table(scale=scale(), header=["rows", "directions", *("epsilon %g" % epsilon for epsilon in EPSILONS), "no noise"], rows=rows,
                 verdict=verdict([loss], lambda loss: loss <= .035, "with 10,000 rows, epsilon 1 costs at most .035.", "with 10,000 rows, epsilon 1 costs %s." % number(loss), ("Yes", "No")))


@study.table
def readers_compared(study):
    "The reader decides"
    rows = []
    for task in TASKS:
        for epsilon in (.25, 1):
            rows.append([task, epsilon, *(found(task, epsilon, reader) for reader in READERS)])
    best = {reader: mean([row[2 + index] for row in rows]) for index, reader in enumerate(READERS)}
    return Table(scale=scale(), header=["task", "epsilon", *READERS.values()], rows=rows,
                 verdict=verdict(list(best.values()), lambda *_: "**The best on average** is %s, with %s." % (
                     READERS[max(best, key=best.get)], ", ".join("%s %s" % (READERS[reader], number(value)) for reader, value in best.items())), "", ""))


@study.table
def mechanisms(study):
    "Other mechanisms of the same epsilon"
    rows, wins = [], []
    for task in TASKS:
        for epsilon in (.25, 1):
            cells = [found(task, epsilon, reader) for reader in ("ridge", "head", "sums")]
            rows.append([task, epsilon, *cells])
            wins.append(cells[0] if isinstance(cells[0], Missing) else cells[0] - max(cells[1:]))
    return Table(scale=scale() + " A private head and class sums answer one question; a summary is a file from which any reader of these answers is trained, again and again, at no further cost.",
                 header=["task", "epsilon", "summary, ridge", "private head", "class sums"], rows=rows,
                 verdict=verdict(wins, lambda *wins: "**The summary is better** than both in %d of %d rows, and within .01 of the better one in %d." % (
                     sum(win > 0 for win in wins), len(wins), sum(win > -.01 for win in wins)), "", ""))


@study.table
def tuning(study):
    "Readers on other tasks"
    rows, gains = [], {}
    for name in TUNING:
        for epsilon in (.25, 1):
            made = compared("tuning/" + name, lambda name=name: of_tuning(name), epsilon)
            white = compared("tuning/%s/white" % name, lambda name=name: of_tuning(name, True), epsilon)
            cells = [mean(made[reader]) if made else made for reader in ("ridge", "clipped", "spikes", "adassp", "posterior", "glm")] + [mean(white["ridge"]) if white else white, mean(made["none"]) if made else made]
            rows.append([name, epsilon, *cells])
    titles = ["`nvdp reuse`", "negative eigenvalues are 0", "spiked Wigner", "AdaSSP", "noise-aware posterior", "PASS-GLM", "`nvdp reuse`, whitened", "no noise"]
    average = [mean([row[2 + index] for row in rows]) for index in range(len(titles))]
    return Table(scale="Accuracy on 1,999 held-out rows; %s; 8,000 rows of the train files of QNLI and QQP with answers that a pattern finds in the text; mean of %d draws of the noise." % (
                     os.path.basename(study.options.model.rstrip("/")), study.options.seeds),
                 header=["task", "epsilon", *titles], rows=rows,
                 verdict=verdict(average, lambda *values: "**The best on average** is %s: %s." % (titles[max(range(len(titles) - 1), key=lambda i: values[i])], ", ".join(
                     "%s %s" % (title, number(value)) for title, value in zip(titles, values))), "", ""),
                 note="At epsilon .25 most readers answer with the larger class, which has .849, .889, .784 and .829 of the rows of the first four tasks: this noise is too much for 8,000 rows of 384 numbers. Whitening divides the vectors by the root of public second moments, before they are scaled to length 1. The noise-aware posterior has normal weights, whose variance makes the moments likeliest, and errors of the known noise. PASS-GLM replaces the logistic loss by a polynomial of degree 2, so it is ridge regression with another penalty, which is blind to the noise.")


@study.table
def samples(study):
    "One sample per row at the same epsilon"
    rows = []
    for name in TUNING:
        made = compared("tuning/" + name, lambda name=name: of_tuning(name), 1)
        rows.append([name, mean(made["ridge"]) if made else made, *(sampled(name, lambda name=name: of_tuning(name), epsilon) for epsilon in (1, 8, 24)), mean(made["none"]) if made else made])
    return Table(scale="Accuracy on 1,999 held-out rows; %s; the tasks of the table above, 8,000 rows; mean of %d draws of the noise." % (
                     os.path.basename(study.options.model.rstrip("/")), study.options.seeds),
                 header=["task", "summary, epsilon 1", "samples, epsilon 1", "samples, epsilon 8", "samples, epsilon 24", "no noise"], rows=rows,
                 verdict=verdict([row[1] if isinstance(row[1], Missing) else row[1] - row[3] for row in rows], lambda *gains: min(gains) > 0, "a summary at epsilon 1 is better than one sample per row at epsilon 8.", "one sample per row at epsilon 8 is better on some task.", ("Yes", "No")),
                 note="A sample per row is what `nvdp export` certifies, and the reader subtracts its known noise. A sample serves also those who need single rows; a summary does not.")


@study.table
def second(study):
    "A larger encoder"
    rows = []
    for task, count in (("SST-2", 5000), ("SST-2", 20000), *((task, 0) for task in TASKS)):
        made = [measured(task, epsilon, count, REDUCE.get(task, 0), study.options.mpnet) for epsilon in (EPSILONS if not count else (.25, 1))]
        cells = [mean(one["ridge"]) if one else one for one in made]
        rows.append([task, format(count, ",") if count else "all", *(cells if not count else [cells[0], "", cells[1], "", "", ""]), mean(made[-1]["none"]) if made[-1] else made[-1]])
    return Table(scale="Accuracy, for STS-B Pearson's correlation, on the task's dev file; all-mpnet-base-v2, not fine-tuned, products in bf16; mean of %d draws of the noise. The center is that of 1,000 public rows." % study.options.seeds,
                 header=["task", "rows", *("epsilon %g" % epsilon for epsilon in EPSILONS), "no noise"], rows=rows,
                 verdict=verdict([rows[2][2]], lambda score: score >= .87, "SST-2 has at least .87 at epsilon .25.", "SST-2 has less than .87 at epsilon .25.", ("Yes", "No")))


# task on which the encoder is tuned as a classifier, summarized task, its rows (0: all); no text is in both tasks (STS-B has texts of MRPC)
TUNED = (("CoLA", "SST-2", 10000), ("QQP", "MRPC", 0), ("QNLI", "RTE", 0))


def of_tuned(first, task, rows):
    """Returns the vectors of a task by an encoder that was tuned on the task `first`."""
    run, encoder = ("%s/%s-%s" % (study.options.out, name, first) for name in ("run", "tuned"))
    if not os.path.exists(encoder):
        study.run("train", "--task", first.lower().replace("-", ""), "--data", "%s/%s" % (study.options.glue, first), "--model", study.options.model,
                  "--method", "base", "--epochs", 3, "--lr", 1e-4, "--max-length", 64, "--precision", "bf16", "--overwrite", "--out", run)
        os.symlink(os.path.abspath(run + "/model"), encoder)
    return of_task(task, rows, encoder)


@study.table
def tuned(study):
    "An encoder tuned on another task"
    rows, gains = [], []
    for first, task, count in TUNED:
        name, reduce = "tuned/%s/%s" % (first, task), REDUCE.get(task, 0)
        made = study.once(name, [name, study.options.seeds], .2, lambda: released(of_tuned(first, task, count), 1, reduce, TASKS[task][2], False))
        cells = [found(task, 1, "ridge", count), *(mean(made[reader]) if made else made for reader in ("ridge", "none"))]
        rows.append([first, task, format(count, ",") if count else "all", found(task, 1, "none", count), *cells])
        gains.append(cells[1] if isinstance(cells[1], Missing) else cells[1] - cells[0])
    return Table(scale="Accuracy on the task's dev file; %s, tuned for 3 epochs as a classifier of another task; mean of %d draws of the noise. The tuned encoder was not trained on the summarized rows, so the statement covers these rows." % (
                     os.path.basename(study.options.model.rstrip("/")), study.options.seeds),
                 header=["tuned on", "summarized", "rows", "as it is, no noise", "as it is, epsilon 1", "tuned, epsilon 1", "tuned, no noise"], rows=rows,
                 verdict=verdict(gains, lambda *gains: min(gains) > 0, "tuning on another task helps at epsilon 1 in every row.", "tuning on another task changes the score at epsilon 1 by %s." % ", ".join(
                     number(gain) for gain in gains if not isinstance(gain, Missing)), ("Yes", "No")))


@study.table
def qqp(study):
    "What limits QQP"
    rows = []
    for count, features in ((2500, "both"), (5000, "both"), (8000, "both"), (8000, "product"), (8000, "difference")):
        made = [compared("qqp/%d/%s" % (count, features), lambda count=count, features=features: of_qqp(count, features), epsilon) for epsilon in (1, 8)]
        rows.append([format(count, ","), features, *(mean(one["ridge"]) if one else one for one in made), mean(made[0]["none"]) if made[0] else made[0]])
    return Table(scale="Accuracy on the last 1,999 rows of QQP's train file; %s; mean of %d draws of the noise." % (os.path.basename(study.options.model.rstrip("/")), study.options.seeds),
                 header=["rows", "features", "epsilon 1", "epsilon 8", "no noise"], rows=rows,
                 verdict=verdict([rows[0][2], rows[2][2], rows[2][4], max((row[2] for row in rows[3:]), key=lambda v: 0 if isinstance(v, Missing) else v)], lambda few, many, plain, half: "**Rows**: from 2,500 to 8,000 rows the score at epsilon 1 rises by %s, and %s are left to the reader without noise. Half of the features have %s." % (
                     number(many - few), number(plain - many), number(half)), "", ""))


def draw(path):
    """Draws the score over epsilon of each task."""
    curves = {task: [(epsilon, found(task, epsilon, "ridge")) for epsilon in EPSILONS] for task in TASKS}
    curves = {task: points for task, points in curves.items() if not any(isinstance(score, Missing) for _, score in points)}
    if not curves:
        return
    lines = ["set grid lc rgb '#dddddd'", "set logscale x", "set xtics (.25,.5,1,2,4,8)", "set xlabel 'epsilon of any one row, at delta 1e-5'", "set ylabel 'score on dev'", "set key outside right"]
    for index, points in enumerate(curves.values()):
        lines += ["$curve%d << end" % index, *("%g %g" % point for point in points), "end"]
    colors = ("#2060a0", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#5d6d7e")
    lines.append("plot " + ", ".join("$curve%d with linespoints pt %d lw 1.5 lc rgb '%s' title '%s'" % (index, index + 4, color, task)
                                     for index, (task, color) in enumerate(zip(curves, colors))))
    gnuplot(path, "760,420", lines)


study.figures["summary.svg"] = draw

if __name__ == "__main__":
    study.main()
