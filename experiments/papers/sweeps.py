"""Adds to common.py: a study whose measurements are sweeps, and readers of the tables on the pages of results.

A sweep's grid is what `nvdp sweep` reads. Its record stores one entry per setting, with the scores and the privacy numbers of `nvdp report`.
Grids stand in each run.py."""
import glob
import json
import os
import re
import shutil
import statistics
import subprocess

from common import Missing, Study, code_of, cpu_of_children, mean, read

FOLDERS = ("glue", "out", "ner", "text", "held_out", "from_base", "tuned")  # inputs that are not part of a measurement
QUANTITIES = ("rd_sum_max", "rd_sum_mean", "rd_bound", "rd_per_component_dim_max", "bdp_published", "infinite_share", "certified_epsilon", "linked")


class Settings(list):
    """The settings of a finished sweep."""

    def find(self, label, **wanted):
        """Returns the setting with this label, such as lambda_g=0.1 or clip_sequence=3; a Missing if the sweep has none."""
        for setting in self:
            if setting["label"] == label and all(abs((setting.get(key) or 0) - value) <= 1e-3 * abs(value) for key, value in wanted.items()):
                return setting
        return Missing(0)


class SweepStudy(Study):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.grids = {}

    def seeds(self):
        return list(range(1, self.options.seeds + 1))

    def sweep(self, name, grid, hours, again=False):
        """Runs a grid once, in the folder NAME of --out, and returns its Settings; a Missing if that takes longer than --hours. Paths in the
        grid may contain {glue} and the other inputs. hours: estimate for one core and one seed. again: runs it even if its numbers are stored."""
        self.grids[name] = grid, hours
        seeds = grid.get("seeds") or self.seeds()
        arguments = self.arguments(grid)
        record = self.records.get(name)
        stored = record is not None and record["arguments"] == arguments
        reading = self.options.hours < 0 and not self.dry
        if record is not None and not stored:
            self.others.update({key: (getattr(self.options, key), default) for key, (default, _) in self.inputs.items()
                                if key not in FOLDERS and getattr(self.options, key) != default})
        if stored:
            self.used[name] = record, code_of("sweep")
        if stored and not again and (reading or set(seeds) <= set(record["values"]["seeds"])):
            return Settings(record["values"]["settings"])
        if reading or (not self.dry and hours * len(seeds) > self.options.hours):
            return Settings(record["values"]["settings"]) if stored else Missing(hours * len(seeds))
        out = os.path.join(self.options.out, name)
        os.makedirs(out, exist_ok=True)
        with open(out + ".json", "w", encoding="utf-8") as file:
            json.dump(dict(self.filled(grid), seeds=seeds), file, indent=2)
        if self.dry:
            return self.plan_sweep(name, out, hours * len(seeds))
        base = self.run_base(self.filled(grid).get("from_base", ""), seeds)
        if isinstance(base, Missing):
            return Missing(base.hours + hours * len(seeds))
        start = cpu_of_children()
        self.program("sweep", out + ".json", "--out", out, "--jobs", self.options.jobs)
        mine = {run["run"] for run in json.loads(self.program("sweep", "--out", out, "--dry-run", "--json", take=True))["runs"]}
        report = json.loads(self.program("report", out, "--no-figures", "--json", take=True))
        settings = [small(group, out) for group in report["groups"] if mine & {run["run"] for run in group["runs"]}]
        self.save(name, {"arguments": arguments, "cpu": round(cpu_of_children() - start, 1), "values": {"seeds": seeds, "settings": settings},
                         "source": self.source(arguments, code_of("sweep"), [*arguments, *self.paths_in(arguments[1])])})
        self.used[name] = self.records[name], code_of("sweep")
        return Settings(settings)

    def run_base(self, pattern, seeds):
        """Runs the sweep whose runs `pattern` names if they are gone, for example on another machine than the stored numbers are from."""
        for name, (grid, hours) in list(self.grids.items()):
            of_name = pattern.startswith(os.path.join(self.options.out, name) + "/")
            if of_name and not all(glob.glob(pattern.format(seed=seed, task=grid["tasks"][0])) for seed in seeds):
                return self.sweep(name, grid, hours, again=True)
        return None

    def arguments(self, grid):
        """Returns what a record stores of a grid: everything but the seeds, and the folders as {name}."""
        return ["sweep", json.dumps(self.filled({key: value for key, value in grid.items() if key != "seeds"}, FOLDERS), sort_keys=True)]

    def paths_in(self, text):
        """Returns the inputs, such as "{model}", whose paths a grid has in place of their names."""
        return ["{%s}" % name for name in self.inputs if isinstance(getattr(self.options, name), str) and json.dumps(getattr(self.options, name)) in text]

    def plan_sweep(self, name, out, hours):
        """Prints what is left of a grid, of which `hours` is the whole, and returns the Missing of the rest."""
        command = [self.options.nvdp, "sweep", out + ".json", "--out", out, "--dry-run", "--json", "--quiet"]
        found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False) if shutil.which(self.options.nvdp) else None
        if found is not None and found.returncode == 0:  # otherwise the runs that these start from do not exist yet
            runs = json.loads(found.stdout)["runs"]
            left = sum(run["state"] != "done" for run in runs)
            name, hours = "%s: %d of %d runs" % (name, left, len(runs)), hours * left / len(runs)
        self.plan(name, hours)
        return Missing(hours)

    def filled(self, value, keep=()):
        """Replaces the inputs, except those in keep, in every text of a grid. Names that are no inputs, such as {task}, stay for nvdp sweep."""
        if isinstance(value, dict):
            return {key: self.filled(inner, keep) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner, keep) for inner in value]
        if not isinstance(value, str):
            return value
        whole = re.fullmatch(r"\{(\w+)\}", value)
        if whole and hasattr(self.options, whole[1]) and whole[1] not in keep:
            return getattr(self.options, whole[1])
        return re.sub(r"\{(\w+)\}", lambda match: match[0] if match[1] in keep else str(getattr(self.options, match[1], match[0])), value)

    def program(self, *arguments, take=False):
        command = ["nice", self.options.nvdp, *map(str, arguments), "--threads", str(self.options.threads), "--quiet"]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE if take else subprocess.DEVNULL).stdout


def small(group, out):
    """Returns what a record keeps of a group of nvdp report --json, which leaves out measurements on a part of the texts: they are read from the
    runs in the folder `out`."""
    kept = {key: group[key] for key in ("task", "label", "method", "lambda_g", "clip_sequence")}
    kept["seeds"] = group["validation"]["n"]
    kept["each"] = {"%d.%d" % (run["seed"], run["fold"]) if run["fold"] else str(run["seed"]): run["score"] for run in group["runs"]}
    kept["scores"] = {metric: spread(found) for metric, found in group["scores"].items()}
    kept["numbers"] = {name: spread(group["quantities"][name]) for name in QUANTITIES if name in group["quantities"]}
    part = [json.loads(read(path)) for run in group["runs"] for path in glob.glob("%s/runs/%s/privacy-limit-*.json" % (out, run["run"]))]
    for name, values in (("rd_sum_max", [of["rd"]["sum"]["max"] for of in part]), ("linked", [of["linkage"]["first"] for of in part])):
        if "inf" in values:
            kept["numbers"].setdefault(name, ["inf", None, "inf"])
        elif values and None not in values:
            kept["numbers"].setdefault(name, spread({"mean": mean(values), "sd": statistics.stdev(values) if len(values) > 1 else None, "max": max(values)}))
    return kept


def spread(found):
    """Returns [mean, standard deviation, maximum] with six digits; "inf" stays."""
    return [float("%.6g" % value) if isinstance(value, (int, float)) else value for value in (found["mean"], found["sd"], found["max"])]


def score(setting, metric=None, digits=1):
    """Returns "86.4 ± 0.7" of a setting's score (without ± of one seed), or the Missing."""
    if isinstance(setting, Missing):
        return setting
    mean, sd, _ = setting["scores"][metric or next(iter(setting["scores"]))]
    return "%.*f" % (digits, 100 * mean) + (" ± %.*f" % (digits, 100 * sd) if setting["seeds"] > 1 else "")


def mean_of(setting, metric=None):
    """Returns 100 times the mean score, or None."""
    return None if isinstance(setting, Missing) else 100 * setting["scores"][metric or next(iter(setting["scores"]))][0]


def number_of(setting, name, which=0):
    """Returns a privacy number of a setting (0: mean, 2: maximum over seeds) for a cell."""
    if isinstance(setting, Missing):
        return setting
    value = setting["numbers"].get(name, ["-"] * 3)[which]
    return value if isinstance(value, str) else format(value, ".3g" if abs(value) < 1e3 else ",.0f")


def first(text):
    """Returns the leading number of a cell such as "86.4 ± 0.7 / 80.1", or None."""
    match = re.match(r"-?\d*\.?\d+(e-?\d+)?", text.replace(",", ""))
    return float(match[0]) if match else None
