#!/usr/bin/env python3
"""Measures an encoder of base size, all-mpnet-base-v2, on the six tasks, and the methods on it.

The encoder has 12 layers of width 768, as the papers' BERT-base. It is fine-tuned on each task: on SST-2 and MRPC with PyTorch (finetune.py: low-rank
changes of all its linear layers, on a GPU), on the other tasks with nvdp (the table `tuned`: all weights, on a CPU with bf16). Then it is frozen, and nvdp
trains everything else on its states, in bf16: the head of `base`, and the methods. SST-2's encoder has learned the first 10,000 rows of the train file, and nvdp
draws 10,000 rows for each seed: about 18,500 labeled texts in all. In the other tasks both use all stored rows. The best epoch of nvdp's
training is chosen on texts that the encoder may have learned; the dev files, on which everything is scored, are new to both. An interrupted command continues with the same command; `run.py all --dry-run` prints what is left
and about how many hours of one core it takes, and `run.py all --hours 100` runs it."""
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from common import Missing, Table, agrees, at_most, disagrees, number, unknown
import decision
from sweeps import SweepStudy, mean_of, number_of, score

study = SweepStudy(__file__, "An encoder of base size", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/mpnet", "the encoder that is fine-tuned"),
    "tuned": ("out/papers/base-size/tuned-{task}-{seed}/model", "fine-tuned encoders"),
    "name": ("mpnet", "the encoder's name in the records"),
    "layers": (12, "layers of the encoder"),
    "seeds": (3, "number of training seeds"),
    "jobs": (1, "runs at a time"),
})

# folder, training rows (0: all stored), expected score of base; thousands of tokens of the training rows and of the dev file, longest text
TASKS = {
    "sst2": ("SST-2", 10000, 92, 117, 22, 64),
    "mrpc": ("MRPC", 0, 87, 175, 22, 96),
    "stsb": ("STS-B", 0, 89, 160, 45, 64),
    "qnli": ("QNLI", 0, 88, 450, 270, 96),
    "qqp": ("QQP", 0, 86, 270, 590, 64),
    "rte": ("RTE", 0, 70, 157, 20, 128),
}
TEXTS = {"sst2": 872, "mrpc": 408, "stsb": 1500, "qnli": 5463, "qqp": 19702, "rte": 277}  # of the dev files
ENCODE = 200  # tokens per second of one AVX2 core
EPOCHS = {"stsb": 3, "qnli": 2, "qqp": 2, "rte": 3}  # of the encoders that nvdp fine-tunes; finetune.py fine-tuned the others
CLIPS = (1, 2, 3, 5)
EPSILONS = (8, 16, 32)


def common(study, task):
    folder, rows, _, _, _, length = TASKS[task]
    return {"tasks": [task], "data": {task: "{glue}/" + folder}, "patience": 0, "freeze_layers": study.options.layers, "precision": "bf16", "max_length": length,
            "limit_train": rows}


def tune(study, task):
    """Fine-tunes all weights of the encoder once per seed, and returns the scores on the dev file."""
    folder, rows, _, train, dev, length = TASKS[task]
    metric = "test.metrics.%s.mean" % ("pearson" if task == "stsb" else "accuracy")
    return [study.measure("%s/%s/tuned-%d" % (study.options.name, task, seed), "train", "--task", task, "--data", "{glue}/" + folder, "--model", "{model}", "--method", "base", "--limit-train", rows,
                          "--precision", "bf16", "--max-length", length, "--epochs", EPOCHS[task], "--batch", 32, "--lr", 3e-5, "--seed", seed, "--out", "{out}/tuned-%s-%d" % (task, seed),
                          hours=(3 * EPOCHS[task] * train + dev) / ENCODE / 3.6, keep=[metric])[metric] for seed in study.seeds()]


def base(study, task):
    """Trains the head on the states of the fine-tuned encoder. The states are cached, so the other methods do not compute them again."""
    _, _, _, train, dev, _ = TASKS[task]
    return study.sweep("%s/%s/base" % (study.options.name, task), dict(
        common(study, task), model="{tuned}", methods=["base"], epochs=3, lr=1e-3, dropout=0.1, eval_draws=1), (train + dev) / ENCODE / 3.6)


def on_frozen(study, task, kind, methods, hours, **more):
    study.options.from_base = "%s/%s/{task}/base/runs/{task}-base-s{seed}-*" % (study.options.out, study.options.name)
    return study.sweep("%s/%s/%s" % (study.options.name, task, kind), dict(
        common(study, task), from_base="{from_base}", methods=methods, eval_draws=3, keep="results", **more), hours)


def certified(study, task):
    clip = {"method": "nvdp", "lambdas": [0], "latent_dim": 32, "epochs": 5, "lr": 0.002}
    return on_frozen(study, task, "certified", [
        dict(clip, name="certified", preset="certified", certified_epsilon=list(EPSILONS)),
        dict(clip, name="sequence clip", clip_sequence=list(CLIPS))], 0.15, privacy={"max_pairs": 89700})


# name, methods, lambdas of nvdp, hours for one seed; each is a sweep of its own, so that the first can be done alone
PUBLISHED = (*(("published-%g" % at, ["nvdp"], [at], 0.15) for at in (0.01, 1, 0.001, 0.1)),
             ("other-methods", [{"name": "vib-fixed", "method": "vib-fixed", "lambdas": [0.01, 0.1]}, {"name": "vib-learned", "method": "vib-learned", "lambdas": [0.01, 0.1]},
                                {"name": "vtdp", "method": "vtdp", "lambdas": [0.001, 0.01]}], [0.01], 0.6))


def published(study, task):
    """Returns name -> Settings or Missing of the sweeps with the published losses."""
    return {name: on_frozen(study, task, name, methods, hours, lambdas=lambdas, privacy={"max_pairs": 39800},
                            per_method={"vib-fixed": {"epochs": 8, "lr": 0.002}, "vib-learned": {"epochs": 8, "lr": 0.002}, "vtdp": {"epochs": 2, "lr": 2e-4},
                                        "nvdp": {"epochs": 3, "lr": 3e-4}}) for name, methods, lambdas, hours in PUBLISHED}


def smaller(task):
    """Returns epsilon -> (score, base) of all-MiniLM-L6-v2 from experiments/results/certified.csv."""
    return {float(row["epsilon"]): (float(row["score"]), float(row["base"])) for row in decision.read() if row["encoder"] == "minilm" and row["task"] == TASKS[task][0]}


def losses(study, task):
    """Returns (epsilon, score, loss, score and loss of all-MiniLM-L6-v2) for each certified setting that is measured."""
    start, found = base(study, task), certified(study, task)
    if isinstance(start, Missing) or isinstance(found, Missing):
        return []
    other = smaller(task)
    near = lambda epsilon: next(((mean, base - mean) for at, (mean, base) in other.items() if abs(at - epsilon) < 0.5), (None, None))
    at = sorted((decision.epsilon_of(setting["clip_sequence"]), mean_of(setting)) for setting in found)
    return [(epsilon, value, mean_of(start[0]) - value, *near(epsilon)) for epsilon, value in at]


@study.table
def answers(study):
    "Answers"
    if study.dry:
        return None
    hours, study.options.hours = study.options.hours, -1  # only what is stored
    rows = [["Does a better encoder cost less privacy for the same loss of score?", cheaper(study)],
            ["Where does a useful certified release begin (within 2 points of base)?", begins(study)],
            ["Does the published claim hold (score within 1 point of base, and private)?", claim(study)],
            ["Is the guess bound met by the named share?", named(study)]]
    steps = {TASKS[task][0]: {"base": base(study, task), "certified": certified(study, task), **published(study, task)} for task in TASKS}
    study.options.hours = hours
    missing = {task: [name for name, found in of.items() if isinstance(found, Missing)] for task, of in steps.items()}
    none = [task for task, of in missing.items() if len(of) == len(steps[task])]
    verdict = unknown("nothing is measured yet.") if len(none) == len(TASKS) else "Measured: %s. Missing: %s." % (
        ", ".join("%s (%s)" % (task, ", ".join(name for name in steps[task] if name not in of)) for task, of in missing.items() if task not in none),
        "; ".join(["%s: %s" % (task, ", ".join(of)) for task, of in missing.items() if of and task not in none] + [", ".join(none)] * bool(none)) or "nothing")
    seeds = ", ".join("%s: %d" % (task, of["certified"][0]["seeds"]) for task, of in steps.items() if not isinstance(of["certified"], Missing))
    return Table("The answers follow from the tables below, for the tasks that are measured%s." % (
        " (seeds of %s; from its 872 texts alone a score of SST-2 has a standard error of 1 to 1.5 points, one of MRPC of 2)" % seeds if seeds else ""), ["question", "answer"], rows, verdict)


def cheaper(study):
    parts = []
    for task in TASKS:
        rows = [row for row in losses(study, task) if row[3] is not None]
        if rows:
            higher, less = (sum(better(row) for row in rows) for better in (lambda row: row[1] > row[3], lambda row: row[2] < row[4]))
            at = min(rows, key=lambda row: abs(row[0] - 16))
            parts.append("%s: at %d of %d epsilons its score is higher, but at only %d it loses less of the score without noise (epsilon %.0f: %.1f against %.1f of MiniLM, "
                         "lost %.1f against %.1f)" % (TASKS[task][0], higher, len(rows), less, at[0], at[1], at[3], at[2], at[4]))
    return "; ".join(parts) or unknown()


def begins(study):
    parts = []
    for task in TASKS:
        measured = losses(study, task)
        if measured:
            parts.append("%s: %s" % (TASKS[task][0], next(("epsilon %.0f" % epsilon for epsilon, _, loss, *_ in measured if loss <= 2), "at no measured epsilon")))
    return "; ".join(parts) or unknown()


def claim(study):
    parts = []
    for task in TASKS:
        start = base(study, task)
        found = [setting for of in published(study, task).values() if not isinstance(of, Missing) for setting in of if setting["method"] == "nvdp"]
        if not isinstance(start, Missing) and found:
            best = max(map(mean_of, found))  # lambda is chosen as the paper does: the best score
            shares = [setting["numbers"]["linked"][2] for setting in found]
            parts.append("%s: the score does%s (%+.1f with the best of lambda %s on these dev texts); but the text of a sample is named in up to %.0f %%" % (
                TASKS[task][0], "" if best >= mean_of(start[0]) - 1 else " not", best - mean_of(start[0]),
                ", ".join("%g" % at for at in sorted(setting["lambda_g"] for setting in found)), 100 * max(shares)))
    return "; ".join(parts) or unknown()


def named(study):
    parts = []
    for task in TASKS:
        found = certified(study, task)
        if isinstance(found, Missing):
            continue
        rows = [(setting["clip_sequence"], setting["numbers"]["linked"][2], named_at_most(setting["clip_sequence"], texts(task))) for setting in found
                if "linked" in setting["numbers"]]
        if rows:
            clip, share, bound = max(rows, key=lambda row: row[1] / row[2])
            parts.append("%s: at %d of %d clips (nearest at C %.3g: %.1f %% of at most %.1f %%)" % (
                TASKS[task][0], sum(share <= bound for _, share, bound in rows), len(rows), clip, 100 * share, 100 * bound))
    return "; ".join(parts) or unknown()


def texts(task):
    """Number of texts among which nvdp privacy names a sample's text: dev, at most 1,000."""
    return min(TEXTS[task], 1000)


def named_at_most(clip, texts):
    """Returns how often the text of a sample is named among equally likely texts at most: the power, at level 1 / texts, of the best test between a
    mean of norm C and the center."""
    low = decision.solve(lambda x: decision.normal(x) - 1 / texts, -40, 40)
    return decision.normal(low + clip)


def table(study, task):
    start, found, others = base(study, task), certified(study, task), published(study, task)
    rows = [["base", "-", score(start[0]) if not isinstance(start, Missing) else start, "%d" % TASKS[task][2], "-", "-", "-"]]
    small, kept = smaller(task), {"certified": found, **others}
    what = {"certified": "certified at %s and C %s" % (", ".join(map(str, EPSILONS)), ", ".join(map(str, CLIPS))),
            **{name: "published, lambda %s" % ", ".join("%g" % at for at in lambdas) for name, _, lambdas, _ in PUBLISHED}, "other-methods": "vib-fixed, vib-learned and vtdp"}
    for name, of in kept.items():
        if isinstance(of, Missing):
            rows.append([what[name], "-", of, "-", "-", "-", "-"])
            continue
        for setting in sorted(of, key=lambda setting: (setting["label"], setting["clip_sequence"] or setting["lambda_g"])):
            clip = setting["clip_sequence"]
            epsilon = decision.epsilon_of(clip) if clip else None
            other = next((mean for at, (mean, _) in small.items() if epsilon and abs(at - epsilon) < 0.5), "-")
            rows.append([setting["label"], "C %.3g, epsilon %s" % (clip, at_most(epsilon, 1, math.inf)) if clip else "lambda %g" % setting["lambda_g"], score(setting),
                         other if other == "-" else "%.1f" % other, number_of(setting, "rd_sum_max"), number_of(setting, "linked"),
                         at_most(named_at_most(clip, texts(task))) if clip else "-"])
    scale = "all-mpnet-base-v2, %s rows, %d seeds planned. The fourth column has the expected score of base, and else the score of all-MiniLM-L6-v2 at the same epsilon." % (
        "10,000" if task == "sst2" else "all stored", study.options.seeds)
    if isinstance(start, Missing):
        verdict = unknown("base is not measured.")
    else:
        mean = mean_of(start[0])
        error = (1 - (mean / 100) ** 2) * 100 if task == "stsb" else math.sqrt(mean * (100 - mean))  # of a correlation; of a share
        margin = 2 * error / math.sqrt(TEXTS[task])
        verdict = (agrees if mean >= TASKS[task][2] - margin else disagrees)("base has %s, %d was expected; two standard errors over texts are %.1f." % (
            score(start[0]), TASKS[task][2], margin))
    return Table(scale, ["method", "setting", "score", "expected, or MiniLM", "RD max, nats", "named share", "named at most"], rows, verdict)


def register(task):
    function = lambda study: table(study, task)
    function.__name__, function.__doc__ = task, TASKS[task][0]
    study.table(function)


for task in TASKS:
    register(task)


@study.table
def tuned(study):
    "Fine-tuning of the encoder with nvdp"
    rows = [[TASKS[task][0], EPOCHS[task], TASKS[task][2], *(found if isinstance(found, Missing) else number(100 * found, 1) for found in tune(study, task))] for task in EPOCHS]
    return Table("%s, all weights, bf16, batch 32, rate 3e-5. finetune.py fine-tuned the encoders of the other tasks." % study.options.model,
                 ["task", "epochs", "expected", *("seed %d" % seed for seed in study.seeds())], rows, "The scores on the dev files. The heads of these classifiers are not used below.")


if __name__ == "__main__":
    study.main()
