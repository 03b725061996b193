#!/usr/bin/env python3
"""Which score does each task keep at a certified epsilon? Writes the decision tables and the figures of experiments/results/README.md and docs/budget.md.

usage: decision.py collect     reads the sources into experiments/results/certified.csv
       decision.py page        writes the tables and the figures from that file

The sources are the tables of certified.md, which nvdp report made of sweeps, and the records.json of the studies in this folder. Each row of
the file names its source. A certified epsilon follows from the clip C alone: a sample is normal with variance 1, and two texts' means are at
most 2 C apart."""
import csv
import json
import math
import os
import statistics
import sys

from common import RESULTS, at_most, gnuplot, page_table
from sweeps import first

HERE = os.path.dirname(os.path.abspath(__file__))
CSV = RESULTS + "/certified.csv"
FIELDS = ("encoder", "task", "method", "epsilon", "clip", "seeds", "score", "sd", "base", "source")
TASKS = {"sst2": "SST-2", "mrpc": "MRPC", "stsb": "STS-B", "qnli": "QNLI", "qqp": "QQP", "rte": "RTE"}
STUDIES = {"minilm": "base-size", "mpnet": "base-size", "compact": "nvdp"}  # which measures an encoder
ENCODERS = {"minilm": "all-MiniLM-L6-v2", "mpnet": "all-mpnet-base-v2", "compact": "models/compact"}
MARK = "<!-- decision.py: %s -->\n"


def normal(x):
    """Returns the standard normal distribution function, with full precision in the lower tail too."""
    return math.erfc(-x / math.sqrt(2)) / 2


def delta_at(clip, epsilon):
    """Returns delta of the Gaussian mechanism with sensitivity 2 clip and noise 1 (Balle & Wang 2018, Theorem 8)."""
    mu = 2 * clip
    return normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)


def solve(function, low, high):
    """Returns where a rising function crosses 0."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return (low + high) / 2


def clip_of(epsilon, delta=1e-5):
    return solve(lambda clip: delta_at(clip, epsilon) - delta, 0.01, 20)


def epsilon_of(clip, delta=1e-5):
    return solve(lambda epsilon: delta - delta_at(clip, epsilon), 0.01, 700)


COLUMNS = (8, 16, 32, epsilon_of(3), epsilon_of(5))


def right_at_most(clip):
    """Returns how often a guess between two equally likely texts is right at most."""
    return normal(clip)


def from_pages():
    """Yields the entries of certified.md: all-MiniLM-L6-v2, method nvdp."""
    base = {}
    by_clip = list(page_table("certified.md", "C", "0.5"))
    for row in by_clip:
        task, _, method = row["C"].partition(", ")
        task = task.removesuffix(" (Pearson)")
        if method != "nvdp":
            continue
        base[task] = first(row["base"])
        for clip in ("0.5", "1", "1.5", "2", "3", "5"):
            yield entry("minilm", task, "nvdp --clip-sequence", epsilon_of(float(clip)), float(clip), 3 if task in ("QNLI", "QQP") else 5, row[clip],
                        base[task], "certified.md, By C")
    for row in page_table("certified.md", "epsilon", "2"):
        if row["epsilon"].startswith("`--preset certified`"):
            task, _, seeds = row["group"].partition(", ")
            for epsilon in ("2", "4", "8", "16", "32"):
                yield entry("minilm", task, "nvdp --preset certified", float(epsilon), clip_of(float(epsilon)), int(first(seeds)), row[epsilon],
                            base[task], "certified.md, By epsilon")


def entry(encoder, task, method, epsilon, clip, seeds, cell, base, source):
    mean, _, sd = cell.partition(" ± ")
    return dict(encoder=encoder, task=task, method=method, epsilon=at_most(epsilon, 1, math.inf), clip="%.3g" % clip, seeds=seeds, score=mean, sd=sd, base=base, source=source)


def from_records():
    """Yields the entries of the studies that ran sweeps named ENCODER/TASK/base and ENCODER/TASK/certified."""
    for study in ("base-size", "nvdp"):
        path = "%s/%s/records.json" % (HERE, study)
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            records = json.load(file)
        for name, record in records.items():
            encoder, _, rest = name.partition("/")
            task, _, kind = rest.partition("/")
            if kind != "certified" or "%s/%s/base" % (encoder, task) not in records:
                continue
            scores = next(iter(records["%s/%s/base" % (encoder, task)]["values"]["settings"]))["scores"]
            metric = next(iter(scores))
            for setting in record["values"]["settings"]:
                mean, sd, _ = setting["scores"][metric]
                clip = setting["clip_sequence"]
                cell = "%.1f" % (100 * mean) + (" ± %.1f" % (100 * sd) if setting["seeds"] > 1 else "")
                yield entry(encoder, TASKS[task], setting["label"], epsilon_of(clip), clip, setting["seeds"], cell, "%.1f" % (100 * scores[metric][0]),
                            "experiments/papers/%s/records.json" % study)


def collect():
    rows = sorted([*from_pages(), *from_records()], key=lambda row: (row["encoder"], list(TASKS.values()).index(row["task"]), float(row["epsilon"])))
    with open(CSV, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read():
    with open(CSV, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cell_of(rows, encoder, task, epsilon):
    """Returns the score at an epsilon, with the number of seeds if it is one."""
    for row in rows:
        if row["encoder"] == encoder and row["task"] == task and abs(float(row["epsilon"]) - epsilon) < 0.5:
            return row["score"] + (" ± " + row["sd"] if row["sd"] else " (1 seed)")
    return "not run"


def table(rows):
    clips = [clip_of(epsilon) for epsilon in COLUMNS]
    lines = ["| epsilon | %s | base |" % " | ".join("%.0f" % epsilon for epsilon in COLUMNS), "|---|" + "---:|" * (len(COLUMNS) + 1),
             "| C | %s | |" % " | ".join("%.2f" % clip for clip in clips),
             "| *right at most* | %s | |" % " | ".join(at_most(100 * right_at_most(clip), 1, 100) for clip in clips)]
    for encoder, name in ENCODERS.items():
        tasks = [task for task in TASKS.values() if any(row["encoder"] == encoder and row["task"] == task for row in rows)]
        lines.append("| **%s**%s |" % (name, "" if tasks else ": not run, see [%s](papers-%s.md)" % ((STUDIES[encoder],) * 2)) + " |" * (len(COLUMNS) + 1))
        for task in tasks:
            base = next(row["base"] for row in rows if row["encoder"] == encoder and row["task"] == task)
            lines.append("| %s | %s | %s |" % (task, " | ".join(cell_of(rows, encoder, task, epsilon) for epsilon in COLUMNS), base))
    return "\n".join(lines)


def figure(rows):
    """Draws the scores of the first encoder, and the bound on a guess, over epsilon."""
    script = ["set logscale x",
              "set xlabel 'certified epsilon at delta 1e-5 (further left is more private)'", "set ylabel 'percent'", "set xrange [1.8:110]", "set yrange [0:100]",
              "set xtics (2,4,8,16,32,'43' 42.8,92)", "set grid lc rgb '#dddddd'", "set key bottom right opaque", "$guess << end"]
    script += ["%g %g" % (epsilon, 100 * right_at_most(clip_of(epsilon))) for epsilon in (1.8, 2, 3, 4, 6, 8, 11, 16, 22, 32, 43, 60, 92, 110)] + ["end"]
    colors = ("#2060a0", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#5d6d7e")
    plots = ["$guess using 1:2 with lines lw 2 dt 2 lc rgb 'black' title 'a guess is right at most'"]
    for index, (task, color) in enumerate(zip(TASKS.values(), colors)):
        script.append("$task%d << end" % index)
        script += ["%s %s %s" % (row["epsilon"], row["score"], row["sd"] or 0) for row in rows if row["encoder"] == "minilm" and row["task"] == task]
        script.append("end")
        plots.append("$task%d using 1:2:3 with yerrorlines pt %d lw 1.5 lc rgb '%s' title '%s'" % (index, index + 4, color, task))
    script.append("plot " + ", ".join(plots))
    gnuplot(RESULTS + "/figures/decision.svg", "760,460", script)


def summaries():
    """Returns the rows of a summary of SST-2 -> [(epsilon, accuracy)], of the study summary."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "summary", "records.json"), encoding="utf-8") as file:
        records = json.load(file)
    return {name: [(epsilon, 100 * statistics.mean(records["SST-2/%g/%d/0/minilm" % (epsilon, rows)]["values"]["ridge"])) for epsilon in (.25, .5, 1, 2, 4, 8)]
            for name, rows in (("67,349", 0), ("10,000", 10000))}


def release_figure(rows):
    """Draws the accuracy on SST-2 over epsilon for both kinds of release: a summary of the collection, and a sample of each text."""
    script = ["set logscale x", "set xlabel 'proven epsilon at delta 1e-5 (further left is more private)'", "set ylabel 'accuracy, percent'",
              "set xrange [.18:60]", "set yrange [40:90]", "set xtics (.25,.5,1,2,4,8,16,32)", "set grid lc rgb '#dddddd'", "set key bottom right"]
    plots = []
    base = next(float(row["base"]) for row in rows if row["encoder"] == "minilm" and row["task"] == "SST-2")
    kinds = [("one summary of %s texts; the encoder is not fine-tuned" % name, points) for name, points in summaries().items()]
    kinds.append(("a sample of each text; the encoder is fine-tuned, %.1f without noise" % base,
                  [(epsilon, score) for epsilon, score, _ in measured(rows, "minilm", "SST-2") if epsilon < 60]))
    for index, ((title, points), color) in enumerate(zip(kinds, ("#2e8b57", "#d68910", "#2060a0"))):
        script += ["$kind%d << end" % index, *("%g %g" % point for point in points), "end"]
        plots.append("$kind%d using 1:2 with linespoints pt %d lw 1.5 lc rgb '%s' title '%s'" % (index, index + 5, color, title))
    gnuplot(RESULTS + "/figures/releases.svg", "760,400", script + ["plot " + ", ".join(plots)])


def measured(rows, encoder, task):
    """Returns (epsilon, score, base) of each measured setting, by epsilon."""
    return sorted((float(row["epsilon"]), float(row["score"]), float(row["base"])) for row in rows if row["encoder"] == encoder and row["task"] == task)


def useful(rows, encoder, task, points=2):
    """Returns the least measured epsilon from which on every score is within some points of base, or None."""
    found = None
    for epsilon, score, base in reversed(measured(rows, encoder, task)):
        if base - score > points + 1e-9:
            break
        found = epsilon
    return found


def costs(rows):
    """Returns a table of what each setting of all-MiniLM-L6-v2 costs, and a table of where useful scores begin."""
    lines = ["| setting | epsilon | *right at most* | classification loses at most | STS-B loses |", "|---|---:|---:|---:|---:|"]
    settings = [("`--preset certified --certified-epsilon %d`" % epsilon, epsilon, clip_of(epsilon)) for epsilon in (8, 16, 32)]
    settings += [("`--method nvdp --clip-sequence %d`" % clip, epsilon_of(clip), clip) for clip in (2, 3, 5)]
    for name, epsilon, clip in sorted(settings, key=lambda setting: setting[1]):
        lost = {task: base - score for task in TASKS.values() for at, score, base in measured(rows, "minilm", task) if abs(at - epsilon) < 0.5}
        similarity = lost.pop("STS-B")
        worst = max(lost, key=lost.get)
        lines.append("| %s | %s | %s | %.1f (%s) | %.1f |" % (name, at_most(epsilon, 1, math.inf), at_most(100 * right_at_most(clip), 1, 100), lost[worst], worst, similarity))
    lines += ["", "The smallest measured epsilon from which on a score is within 2 points of base:", "", "| encoder | %s |" % " | ".join(TASKS.values()), "|---|" + "---:|" * len(TASKS)]
    for encoder in ("minilm", "mpnet"):
        found = [useful(rows, encoder, task) for task in TASKS.values()]
        lines.append("| %s | %s |" % (ENCODERS[encoder], " | ".join("none" if epsilon is None else "%g" % epsilon for epsilon in found)))
    return "\n".join(lines) + "\n"


def written(text):
    """Returns the page of results with its tables made from the rows."""
    rows = read()
    for name, made in (("costs", costs(rows)), ("scores", table(rows) + "\n")):
        before, _, rest = text.partition(MARK % name)
        text = before + MARK % name + made + MARK % ("end of " + name) + rest.partition(MARK % ("end of " + name))[2]
    return text


def page(path=RESULTS + "/README.md"):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(written(text))
    figure(read())
    release_figure(read())


if __name__ == "__main__":
    if sys.argv[1:] not in (["collect"], ["page"]):
        sys.exit(__doc__.split("\n\n")[1])
    (collect if sys.argv[1] == "collect" else page)()
