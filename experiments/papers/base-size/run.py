#!/usr/bin/env python3
"""Measures an encoder of base size, all-mpnet-base-v2, on the six tasks, and the methods on it.

The encoder has 12 layers of width 768, as the papers' BERT-base. nvdp fine-tunes all its weights on each task (the table `tuned`), then freezes it, and
trains the head of `base` and the methods on its states, in bf16. SST-2 has 10,000 rows, drawn by the seed and the same for encoder and head; the other
tasks have all stored rows. A tenth of the rows chooses the best epoch of encoder and head, and trains neither. Everything is scored on the dev files,
which are new to both. `run.py all --dry-run` prints what is left to run and about how many hours of one core it
takes, and `run.py all --hours 100` runs it."""
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from common import Missing, Table, at_most, number, unknown
from claims import DEV_TEXTS, error_of_accuracy
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

# folder, training rows (0: all stored), goal for the score of base; thousands of tokens of the training rows and of the dev file, longest text
TASKS = {
    "sst2": ("SST-2", 10000, 92, 117, 22, 64),
    "mrpc": ("MRPC", 0, 87, 175, 22, 96),
    "stsb": ("STS-B", 0, 89, 160, 45, 64),
    "qnli": ("QNLI", 0, 88, 450, 270, 96),
    "qqp": ("QQP", 0, 86, 270, 590, 64),
    "rte": ("RTE", 0, 70, 157, 20, 128),
}
MEASURED = 1500  # dev texts, at most, whose privacy is measured
ENCODE = 200  # tokens per second of one AVX2 core
EPOCHS = {"sst2": 2, "mrpc": 5, "stsb": 3, "qnli": 2, "qqp": 2, "rte": 3}  # of the fine-tuning of the encoder
RATE, RATES = 3e-5, (1e-5, 3e-5, 1e-4)  # of the fine-tuning: chosen before the runs, and what it is compared with
CLIPS = (1, 2, 3, 5)
EPSILONS = (8, 16, 32)


def common(study, task):
    folder, rows, _, _, _, length = TASKS[task]
    return {"tasks": [task], "data": {task: "{glue}/" + folder}, "patience": 0, "freeze_layers": study.options.layers, "precision": "bf16", "max_length": length,
            "limit_train": rows}


def tune(study, task, seed, rate=RATE):
    """Fine-tunes all weights of the encoder, and returns the score on the dev file."""
    folder, rows, _, train, dev, length = TASKS[task]
    metric = "test.metrics.%s.mean" % ("pearson" if task == "stsb" else "accuracy")
    name = "tuned-%d" % seed if rate == RATE else "rate-%g-%d" % (rate, seed)
    found = study.measure("%s/%s/%s" % (study.options.name, task, name), "train", "--task", task, "--data", "{glue}/" + folder, "--model", "{model}", "--method", "base", "--limit-train", rows,
                          "--precision", "bf16", "--max-length", length, "--epochs", EPOCHS[task], "--batch", 32, "--lr", rate, "--seed", seed, "--out", "{out}/%s" % name.replace("-", "-%s-" % task, 1),
                          hours=(3 * EPOCHS[task] * train + dev) / ENCODE / 3.6, keep=[metric])
    return found if isinstance(found, Missing) else 100 * found[metric]


def base(study, task):
    """Trains the head on the states of the fine-tuned encoder. The states are cached, so the other methods do not compute them again."""
    _, _, _, train, dev, _ = TASKS[task]
    return study.sweep("%s/%s/base" % (study.options.name, task), dict(
        common(study, task), model="{tuned}", methods=["base"], epochs=3, lr=1e-3, dropout=0.1, eval_draws=1), (train + dev) / ENCODE / 3.6)


def on_frozen(study, task, kind, methods, hours, **more):
    study.options.from_base = "%s/%s/{task}/base/runs/{task}-base-s{seed}-*" % (study.options.out, study.options.name)
    return study.sweep("%s/%s/%s" % (study.options.name, task, kind), dict(
        common(study, task), from_base="{from_base}", methods=methods, eval_draws=3, keep="results", **more), hours)


def measured_texts(task):
    """Limits the texts whose divergences and names are measured; the pairs of all 19,702 of QQP would take four hours."""
    return {"limit": MEASURED} if DEV_TEXTS[task] > MEASURED else {}


def certified(study, task):
    clip = {"method": "nvdp", "lambdas": [0], "latent_dim": 32, "epochs": 5, "lr": 0.002}
    return on_frozen(study, task, "certified", [
        dict(clip, name="certified", preset="certified", certified_epsilon=list(EPSILONS)),
        dict(clip, name="sequence clip", clip_sequence=list(CLIPS))], 0.15, privacy={"max_pairs": 89700, **measured_texts(task)})


# name, methods, lambdas of nvdp, hours for one seed; each is a sweep of its own, so that the first can be done alone
PUBLISHED = (*(("published-%g" % at, ["nvdp"], [at], 0.15) for at in (0.01, 1, 0.001, 0.1)),
             ("other-methods", [{"name": "vib-fixed", "method": "vib-fixed", "lambdas": [0.01, 0.1]}, {"name": "vib-learned", "method": "vib-learned", "lambdas": [0.01, 0.1]},
                                {"name": "vtdp", "method": "vtdp", "lambdas": [0.001, 0.01]}], [0.01], 0.6))


def published(study, task):
    """Returns name -> Settings or Missing of the sweeps with the published losses."""
    return {name: on_frozen(study, task, name, methods, hours, lambdas=lambdas, privacy={"max_pairs": 39800, **measured_texts(task)},
                            per_method={"vib-fixed": {"epochs": 8, "lr": 0.002}, "vib-learned": {"epochs": 8, "lr": 0.002}, "vtdp": {"epochs": 2, "lr": 2e-4},
                                        "nvdp": {"epochs": 3, "lr": 3e-4}}) for name, methods, lambdas, hours in PUBLISHED}


def smaller(task, epsilon):
    """Returns (score, base) of all-MiniLM-L6-v2 at an epsilon from experiments/results/certified.csv, or (None, None)."""
    return next(((mean, base) for at, mean, base in decision.measured(decision.read(), "minilm", TASKS[task][0]) if abs(at - epsilon) < 0.5), (None, None))


def losses(study, task):
    """Returns (score, loss, score and loss of all-MiniLM-L6-v2) for each certified setting that all-MiniLM-L6-v2 has too."""
    start, found = mean_of(base(study, task)[0]), []
    for setting in certified(study, task):
        score, (other, other_base) = mean_of(setting), smaller(task, decision.epsilon_of(setting["clip_sequence"]))
        if other is not None:
            found.append((score, start - score, other, other_base - other))
    return found


def stored(function):
    """Calls a function that reads numbers, without a measurement."""
    hours, study.options.hours = study.options.hours, -1
    found = function()
    study.options.hours = hours
    return found


def known(task):
    """Returns whether base and the certified settings of a task are measured."""
    return not any(isinstance(of(study, task), Missing) for of in (base, certified))


def useful(task):
    """Returns (MPNet's, MiniLM's) least epsilon from which on the score is within 2 points of base, or None, at the epsilons of MPNet."""
    rows = [row for row in decision.read() if row["task"] == TASKS[task][0]]
    epsilons = {row["epsilon"] for row in rows if row["encoder"] == study.options.name}
    rows = [row for row in rows if row["epsilon"] in epsilons]
    return tuple(decision.useful(rows, encoder, TASKS[task][0]) for encoder in (study.options.name, "minilm"))


def lead():
    """Answers the questions of the study."""
    tasks = [task for task in TASKS if known(task)]
    if not tasks:
        return "Nothing is measured yet."
    leads = [(score - other, math.hypot(two_errors(task, score), two_errors(task, other))) for task in tasks for score, _, other, _ in losses(study, task)]
    pairs = {task: useful(task) for task in tasks}
    less = [task for task, (mine, other) in pairs.items() if mine is not None and (other is None or mine < other)]
    names = lambda some: ", ".join(TASKS[task][0] for task in some)
    begins = {}
    for task in tasks:
        begins.setdefault(pairs[task][0], []).append(task)
    claims = [found for found in (claim(study, task) for task in tasks) if found]
    checks = [share <= bound for task in tasks for share, bound, _ in named(task)]
    said = ["**Does a better encoder cost less privacy for the same loss?** %s: it comes within 2 points of its base at a smaller epsilon than all-MiniLM-L6-v2 on %s. Its score "
            "is higher at %d of %d epsilons of the tasks, at %d of them by more than two standard errors over texts." % (
                "Not at the measured epsilons" if not less else "Seldom" if 2 * len(less) <= len(tasks) else "Mostly", names(less) if less else "no task",
                sum(lead > 0 for lead, _ in leads), len(leads), sum(lead > error for lead, error in leads)),
            "**From which epsilon on is the score within 2 points of base?** %s." % ", ".join(
                "%s (%s)" % (number_or_none(epsilon), names(some)) for epsilon, some in sorted(begins.items(), key=lambda item: item[0] or math.inf)),
            "**Does the published claim hold (within 1 point of base, and private)?**%s" % ("".join("\n  - " + found for found in claims) or " Not measured."),
            "**Does the bound on naming a sample's text hold?** %s." % ("Yes, at all %d settings that have it" % len(checks) if all(checks) else "No")]
    rest = others(tasks)
    if rest:
        said.append("**And the other mechanisms, which prove nothing either?**" + rest)
    missing = [task for task in TASKS if task not in tasks]
    return "\n".join("- " + one for one in said + ["Not measured: %s." % names(missing)] * bool(missing))


def others(tasks):
    """Says what the best lambda of each other mechanism costs, and how often its samples' texts are named, over the tasks; "" if none is measured."""
    made = ""
    measured = {task: of for task in tasks if not isinstance(of := published(study, task)["other-methods"], Missing)}
    for method in ("vib-fixed", "vib-learned", "vtdp"):
        changes, shares = [], []
        for task, of in measured.items():
            best = max((setting for setting in of if setting["label"] == method), key=mean_of)
            changes.append(mean_of(best) - mean_of(base(study, task)[0]))
            shares.append(100 * best["numbers"]["linked"][2])
        if changes:
            made += "\n  - %s: %+.1f to %+.1f points against base with the better of two lambdas on %d tasks; a sample's text is named in %s to %s %% of the cases." % (
                method, min(changes), max(changes), len(changes), number(min(shares), 1), at_most(max(shares), 1, 100))
    return made


study.lead = lead  # a page runs no measurement


def number_or_none(epsilon):
    return "none that is measured" if epsilon is None else "%g" % epsilon


def named(task):
    """Returns (largest share of named texts over the seeds, its bound, clip) of each certified setting whose linkage is measured."""
    return [(setting["numbers"]["linked"][2], named_at_most(setting["clip_sequence"], texts(task)), setting["clip_sequence"])
            for setting in certified(study, task) if "linked" in setting["numbers"]]


def two_errors(task, mean):
    """Returns two standard errors over the texts, in points, of a mean score: a correlation or a share."""
    return 2 * ((1 - (mean / 100) ** 2) * 100 / math.sqrt(DEV_TEXTS[task]) if task == "stsb" else error_of_accuracy(mean, DEV_TEXTS[task]))


def claim(study, task):
    """Says whether the published loss keeps the score of a task and hides its texts; "" if it is not measured."""
    start = base(study, task)
    found = [setting for of in published(study, task).values() if not isinstance(of, Missing) for setting in of if setting["method"] == "nvdp"]
    if not found:
        return ""
    best = max(found, key=mean_of)  # lambda is chosen as the paper does: the best score
    change, tried = mean_of(best) - mean_of(start[0]), sorted(setting["lambda_g"] for setting in found)
    share = max(setting["numbers"]["linked"][2] for setting in found)
    margin = two_errors(task, mean_of(start[0]))
    return "%s: %s for the score: %+.1f points with lambda %g, %s, where two standard errors of base over texts are %.1f. %s for privacy: a sample's text is named in up to %s %% of the cases." % (
        TASKS[task][0], "yes" if change - margin >= -1 else "open" if change + margin >= -1 else "no", round(change, 1) + 0.0, best["lambda_g"],
        "the only one measured" if len(tried) == 1 else "the best of %s on these dev texts" % ", ".join("%g" % at for at in tried),
        margin, "No" if share > 0.5 else "No proof", at_most(100 * share, 1, 100))


@study.table
def answers(study):
    "Answers by task"
    if study.dry:
        return None
    return stored(lambda: answer_table(study))


def answer_table(study):
    rows, measured = [], [task for task in TASKS if known(task)]
    for task in measured:
        start, near = base(study, task), losses(study, task)
        mine, other = useful(task)
        worst = max(named(task), key=lambda found: found[0] / found[1], default=None)
        rows.append([TASKS[task][0], score(start[0]), number_or_none(mine), number_or_none(other), "%d of %d" % (sum(score > other for score, _, other, _ in near), len(near)),
                     "%d of %d" % (sum(loss < other for _, loss, _, other in near), len(near)),
                     "-" if worst is None else "%s of at most %s (C %.3g)" % (number(worst[0]), at_most(worst[1]), worst[2])])
    verdict = "Useful: within 2 points of base, also at each larger epsilon. MiniLM: all-MiniLM-L6-v2 at the same epsilons." if measured else unknown("nothing is measured yet.")
    return Table("A score without ± is of one seed. An epsilon is certified at delta 1e-5 for any two texts. Counts of epsilons ignore errors. Over texts a score has a standard error of 1 to 1.5 points on SST-2, 2 on MRPC "
                 "and 3 on RTE, so an epsilon of these tasks could be its neighbor. The named share is at the clip C where it is nearest to its bound. RTE is not compared on equal terms: MiniLM's began with its encoder of QNLI.",
                 ["task", "base", "useful from epsilon", "MiniLM useful from", "epsilons with a higher score than MiniLM", "with a smaller loss", "named share"], rows, verdict)


def texts(task):
    """Number of texts among which nvdp privacy names a sample's text: dev, at most 1,000."""
    return min(DEV_TEXTS[task], 1000)


def named_at_most(clip, texts):
    """Returns how often the text of a sample is named among equally likely texts at most: the power, at level 1 / texts, of the best test between a
    mean of norm C and the center."""
    low = decision.solve(lambda x: decision.normal(x) - 1 / texts, -40, 40)
    return decision.normal(low + clip)


def table(study, task):
    start, found, others = base(study, task), certified(study, task), published(study, task)
    rows = [["base", "-", score(start[0]) if not isinstance(start, Missing) else start, "-", "-", "-", "-"]]
    kept = {"certified": found, **{name: others[name] for name, *_ in sorted(PUBLISHED, key=lambda row: (row[1] != ["nvdp"], row[2]))}}
    what = {"certified": "certified at %s and C %s" % (", ".join(map(str, EPSILONS)), ", ".join(map(str, CLIPS))),
            **{name: "nvdp, lambda %g" % lambdas[0] for name, _, lambdas, _ in PUBLISHED}, "other-methods": "vib-fixed, vib-learned and vtdp"}
    for name, of in kept.items():
        if isinstance(of, Missing):
            rows.append([what[name], "-", of, "-", "-", "-", "-"])
            continue
        for setting in sorted(of, key=lambda setting: (setting["label"], setting["clip_sequence"] or setting["lambda_g"])):
            clip = setting["clip_sequence"]
            epsilon = decision.epsilon_of(clip) if clip else None
            other = smaller(task, epsilon)[0] if epsilon else None
            rows.append([setting["label"], "C %.3g, epsilon %s" % (clip, at_most(epsilon, 1, math.inf)) if clip else "lambda %g" % setting["lambda_g"], score(setting),
                         "-" if other is None else "%.1f" % other, number_of(setting, "rd_sum_max"), number(setting["numbers"]["linked"][2]) if "linked" in setting["numbers"] else "-",
                         at_most(named_at_most(clip, texts(task))) if clip else "-"])
    scale = "all-mpnet-base-v2, %s rows, %d seeds (1 for a score without ±). *MiniLM*: score of all-MiniLM-L6-v2 at the same epsilon. RD: Rényi divergence of two texts' samples. Named share: how often an attacker " \
            "with the model names a sample's text among %s dev texts, largest over the seeds; *named at most*: its proven bound.%s" % (
        "10,000" if task == "sst2" else "all stored", study.options.seeds, number(texts(task)),
        " RD is measured on %s of the %s dev texts." % (number(MEASURED), number(DEV_TEXTS[task])) if measured_texts(task) else "")
    if isinstance(start, Missing):
        verdict = unknown("base is not measured.")
    else:
        mean, goal = mean_of(start[0]), TASKS[task][2]
        verdict = "Base has %s; the goal set before the runs was %d, which it %s (two standard errors over texts are %.1f)." % (
            score(start[0]), goal, "reaches" if mean >= goal else "misses by %.1f" % (goal - mean), two_errors(task, mean))
    return Table(scale, ["method", "setting", "score", "MiniLM", "largest RD, nats", "named share", "named at most"], rows, verdict)


def register(task):
    function = lambda study: table(study, task)
    function.__name__, function.__doc__ = task, TASKS[task][0]
    study.table(function)


for task in TASKS:
    register(task)


@study.table
def tuned(study):
    "Fine-tuning of the encoder with nvdp"
    rows = [[TASKS[task][0], EPOCHS[task], TASKS[task][2], *(number(tune(study, task, seed), 1) for seed in study.seeds())] for task in TASKS]
    return Table("%s, all weights, bf16, batch 32, rate %s." % (study.options.model, plain(RATE)),
                 ["task", "epochs", "goal", *("seed %d" % seed for seed in study.seeds())], rows, "The scores of the fine-tuned classifiers on the dev files. The tables above use their encoders, with other heads.")


@study.table
def rates(study):
    "Learning rate of the fine-tuning"
    scores = {task: [tune(study, task, 1, rate) for rate in RATES] for task in ("sst2", "rte")}
    known = {task: found for task, found in scores.items() if not any(isinstance(one, Missing) for one in found)}
    behind = ["%.1f on %s (two standard errors over texts are %.1f)" % (max(found) - found[RATES.index(RATE)], TASKS[task][0], two_errors(task, max(found))) for task, found in known.items()]
    return Table("As above, one seed, the easiest and the hardest task. The other tables use rate %s, which was chosen before the runs." % plain(RATE),
                 ["task", *("rate " + plain(rate) for rate in RATES)], [[TASKS[task][0], *(number(one, 1) for one in found)] for task, found in scores.items()],
                 "Points by which rate %s is behind the best of the three on the dev file: %s." % (plain(RATE), ", ".join(behind)) if behind else unknown("no task has all rates."))


def plain(rate):
    return ("%.0e" % rate).replace("e-0", "e-")


if __name__ == "__main__":
    study.main()
