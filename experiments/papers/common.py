"""Runs the measurements of a paper's tables and figures with nvdp, stores their numbers, and writes one page of results.

A study is a script run.py in a folder beside this file. It has one function per table or figure of its paper, marked with @study.table.
The function asks for numbers with study.measure() and returns a Table. A measurement runs once: its number is then read from records.json
in the folder of the script, as long as its arguments stay the same, and those of the measurements that made its inputs. So an interrupted
command continues where it stopped, and the page follows from the records alone.

    study = Study(__file__, "SanText", {"glue": ("glue", "folder of GLUE's tasks")})

    @study.table
    def table2(study):
        "Table 2: sizes of vocabularies"
        found = study.measure("table2/sst2", "sanitize", "--task", "sst2", "--data", "{glue}/SST-2", ..., keep=["vocabulary"])
        return Table(scale="...", header=["", "paper", "ours"], rows=[["SST-2", 14730, cell(found, "vocabulary")]], verdict=...)

    study.main()"""
import argparse
import ast
import csv
import dataclasses
import datetime
import fcntl
import functools
import hashlib
import inspect
import json
import math
import os
import platform
import random
import re
import resource
import shlex
import shutil
import statistics
import struct
import subprocess
import sys
import textwrap
import unicodedata

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RESULTS = os.path.join(ROOT, "experiments", "results")
# The folders whose code decides the numbers of a command.
COMMON_CODE = ("src/base", "src/encoder", "src/model", "src/tensor", "src/text", "src/train")
CODE = {"sanitize": ("dchi", "src/sanitize"), "pretrain": ("rdp", "src/account", "src/pretrain")}
OTHER_CODE = ("nvib", "vib", "rdp", "summary", "src/account", "src/attack", "src/mechanism", "src/share")


@dataclasses.dataclass
class Table:
    scale: str  # model, data, rows and seeds of our numbers
    header: list
    rows: list
    verdict: str  # agrees(), disagrees(), unknown(), or verdict(), which chooses
    note: str = ""


def agrees(why="", word="Agrees"):
    return "**%s**" % word + (": " + why if why else ".")


def disagrees(why, word="Disagrees"):
    return "**%s**, because " % word + why


def scaled_down(found, what):
    """Returns a verdict that says nothing about the paper if `found` disagrees. what: the quantity of which the paper has more than a hundred times
    as much (data, steps, model), or the part of its data that is missing here."""
    return found.replace("**Disagrees**, because ", "**Not comparable at this scale** (%s): " % what, 1)


def unknown(why="the numbers are not all measured."):
    return "**No answer**: " + why


def verdict(numbers, test, yes, no, words=("Agrees", "Disagrees")):
    """Returns agrees(yes) or disagrees(no) after test(*numbers), unknown() if a number is missing, and text that the test returns. words:
    ("Yes", "No") for a question of ours, which no paper answers."""
    if any(isinstance(number, Missing) for number in numbers):
        return unknown()
    found = test(*numbers)
    return found if isinstance(found, str) else agrees(yes, words[0]) if found else disagrees(no, words[1])


def number(value, digits=3):
    """Formats a score as .852 and a larger number with its separators; text stays."""
    if not isinstance(value, float):
        return format(value, ",") if isinstance(value, int) else str(value)
    text = format(value, ",.%df" % digits)
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def at_most(value, digits=3, largest=1.0):
    """Formats a proven upper bound, rounded up."""
    return value if isinstance(value, Missing) else number(min(largest, math.ceil(value * 10 ** digits) / 10 ** digits), digits)


def alignment(column):
    """Aligns a column to the left if it has a long text, or if most of its cells are words."""
    words = [isinstance(cell, str) and cell[:1].isalpha() and cell != "inf" for cell in column]
    return "---" if any(isinstance(cell, str) and len(cell) > 12 for cell in column) or 2 * sum(words) > len(words) else "---:"


class Missing:
    """A measurement that was not run. Every number of it is this object, which prints why."""

    def __init__(self, hours):
        self.hours = hours

    def __getitem__(self, key):
        return self

    def __sub__(self, other):
        return self

    __rsub__ = __sub__

    def __bool__(self):
        return False

    def __str__(self):
        return "not run; %s estimated" % ("%s hours" % format(self.hours, ".2g" if self.hours < 100 else ",.0f") if self.hours > 1 else "a minute" if self.hours < 0.025 else "%.0f minutes" % (60 * self.hours))


def mean(values):
    """Returns the mean, or the first Missing among the values."""
    missing = [value for value in values if isinstance(value, Missing)]
    return missing[0] if missing else statistics.mean(values)


@dataclasses.dataclass
class Maker:
    """The call of measure() that makes an output."""
    again: object  # makes the output again
    made: dict  # outputs -> arguments, as records store them: of this call, and of those that made its inputs
    missing: object = None  # the Missing of this call


class Study:
    def __init__(self, file, title, inputs):
        """inputs: name -> (default, meaning) of a folder, file or number that commands use as {name}; an option sets it. The records
        keep only the last part of a path."""
        self.folder = os.path.dirname(os.path.abspath(file))
        parent, name = self.folder.split(os.sep)[-2:]
        self.place = "papers/" + name if parent == "papers" else name  # the folder in experiments/
        self.title, self.inputs, self.tables = title, inputs, {}
        self.figures = {}  # file in the page's folder figures/ -> function that draws it to a path
        self.makers = {}  # output -> the Maker of it
        self.others = {}  # input -> (its value, the one of stored numbers) where they differ
        self.lead = None  # function that returns the page's first paragraph from the numbers
        self.dry, self.left, self.planned = False, 0, set()  # with --dry-run: hours that are left, and the measurements that were printed
        self.used = {}  # name -> (record, digest of the code behind it today) of every record that was read
        self.remake = {}  # name -> function that measures a stored record again

    def table(self, function):
        self.tables[function.__name__] = function
        return function

    def measure(self, name, *arguments, hours=0.02, keep, again=False):
        """Runs nvdp with these arguments, once, and returns the stored numbers. keep lists the keys of its JSON output to store ("a.b" is b
        inside a); the key "cpu" has the seconds. Returns a Missing if it has not run and takes longer than --hours, or if an input, the output
        of an earlier call, is a Missing. hours: estimate for one core. again: runs it even if its numbers are stored."""
        texts = list(map(str, arguments))
        out = texts[texts.index("--out") + 1] if "--out" in texts else None
        short = {name: os.path.basename(str(getattr(self.options, name)).rstrip("/")) for name in self.inputs}
        command = [text.format(**vars(self.options)) for text in texts]
        stored = [text.format(out="OUT", **short) for text in texts]
        inputs = {path: maker for path, maker in self.makers.items() if path != out and any(is_in(path, text) for text in texts)}
        made = {path: of for maker in inputs.values() for path, of in maker.made.items()}
        if out is not None:
            self.makers[out] = Maker(lambda: self.measure(name, *arguments, hours=hours, keep=keep, again=True), {**made, out.format(out="OUT", **short): stored})

        def missing(hours):
            if out is not None:
                self.makers[out].missing = Missing(hours)
            return Missing(hours)

        unmade = [maker.missing.hours for maker in inputs.values() if maker.missing is not None]
        if unmade:
            self.plan(name, hours)
            return missing(sum(unmade) + hours)
        record = self.records.get(name)
        if record is not None and record["arguments"] == stored and record.get("made", made) == made and not again:  # older records have no "made"
            read_only = [text for text, before in zip(texts, ["", *texts]) if before != "--out"]
            if not made and not any("{out}" in text for text in read_only) and all(map(os.path.exists, self.files(texts).values())):
                self.remake[name] = lambda: self.measure(name, *arguments, hours=hours, keep=keep, again=True)
            return self.stored(name, code_of(texts[0]))
        if record is not None and len(record["arguments"]) == len(texts):
            self.others.update({name: (now, old) for text, now, old in zip(texts, stored, record["arguments"]) for name in self.inputs
                                if "{%s}" % name in text and now != old})
        if hours > self.options.hours:
            self.plan(name, hours)
            return missing(hours)
        for path, maker in inputs.items():  # an input may be gone, for example if the stored numbers are from another machine, or of other arguments
            path = path.format(**vars(self.options))
            wanted = json.dumps(list(maker.made.values())[-1])
            if not os.path.exists(path) or read(path + ".arguments") not in (None, wanted):
                found = maker.again()
                if isinstance(found, Missing):
                    return missing(found.hours + hours)
        self.resume(command, stored)
        print(name + ":", end=" ", file=sys.stderr)
        start = cpu_of_children()
        found = self.run(*command)
        values = {key: find(found, key) for key in keep}
        record = {"arguments": stored, **({"made": made} if made else {}), "cpu": round(cpu_of_children() - start, 1), "values": values,
                  "source": self.source(stored, code_of(texts[0]), texts)}
        self.save(name, record, None if again or out is None else out.format(out="OUT", **short))
        return self.stored(name, code_of(texts[0]))

    def stored(self, name, code):
        """Returns the numbers of a record, and remembers that the page has them."""
        record = self.records[name]
        self.used[name] = record, code
        return {**record["values"], "cpu": record["cpu"]}

    def quoted(self, page, *header, command):
        """Returns the rows of the first table of another page whose header begins with these cells, as page_table() does, from the records. Stops if the
        page has other numbers than the record. command: what measured them."""
        name, rows = "quoted/%s/%s" % (page, ", ".join(header)), list(page_table(page, *header))
        record = self.records.get(name)
        if record is None and self.options.hours >= 0:
            record = {"arguments": ["quoted", page, *header], "cpu": 0.0, "values": {"rows": rows}, "source": {"command": command, "quoted": page}}
            self.save(name, record)
        if record is None or record["values"]["rows"] != rows:
            sys.exit("%s: the record \"%s\" is not the table of %s; if that table was measured again, remove the record and run the study's table" % (self.options.records, name, page))
        self.used[name] = record, None
        return rows

    def plan(self, name, hours):
        """With --dry-run, prints a measurement that is left."""
        if self.dry and name not in self.planned:
            self.planned.add(name)
            self.left += hours
            print("%-40s about %6.2f hours, %6.1f in all" % (name, hours, self.left), flush=True)

    def source(self, arguments, code, texts):
        """Returns what a record says of its measurement. arguments: of the record. texts: the arguments in which an input is {name}; without an input,
        the measurement may read them all."""
        files = self.files(texts) or self.files(["{%s}" % name for name in self.inputs])
        options = ["--%s %s" % (name.replace("_", "-"), os.path.basename(str(getattr(self.options, name)).rstrip("/"))) for name, (default, _) in self.inputs.items()
                   if getattr(self.options, name) != default]
        text = " ".join(map(str, arguments))
        precision = re.search(r'(?:--precision |"precision": ")(\w+)', text)
        return {"command": " ".join(["experiments/%s/run.py" % self.place, *self.options.tables, *options]), **program(self.options.nvdp),
                "date": datetime.date.today().isoformat(), "processor": processor(), "threads": self.options.threads, "precision": precision[1] if precision else "f32",
                "data": {path: digest_of_files(file) for path, file in files.items() if os.path.exists(file)}, "code": code}

    def files(self, texts):
        """Returns the inputs that arguments name, such as "{glue}/SST-2" -> its path."""
        found = {match for text in texts for match in re.findall(r"\{\w+\}[\w./-]*", text) if match[1:].split("}")[0] in self.inputs}
        paths = {text: str(text.format(**vars(self.options))) for text in sorted(found)}
        return {text: path for text, path in paths.items() if not isinstance(getattr(self.options, text[1:].split("}")[0]), (int, float))}

    def origin(self):
        """Returns the page's sentence on the versions that measured the numbers of its tables."""
        known = [(record["source"], code) for record, code in self.used.values() if "source" in record and code is not None]
        quoted = sorted({record["source"]["quoted"] for record, code in self.used.values() if code is None})
        old = sum("source" not in record for record, _ in self.used.values())
        texts = ["%d by nvdp %s" % (len(known), ", ".join(sorted({"%s (commit %s, %s, %s)" % (of["version"], of["commit"], of["date"], of["processor"]) for of, _ in known})))] if known else []
        stale = sum(of["code"] != code for of, code in known)
        texts += ["%d of them by an older version of the code behind them" % stale] if stale else []
        texts += ["%d recorded before records stated version, data and code" % old] if old else []
        texts += ["tables copied from %s" % ", ".join("[%s](%s)" % (page, page) for page in quoted)] if quoted else []
        return "Records: " + ("; ".join(texts) or "none") + "."

    def redraw(self, count=3, cpu=15):
        """Measures random cheap records again, stores nothing, and stops if a number differs by more than its spread."""
        cheap = sorted(name for name in self.remake if self.records[name]["cpu"] <= cpu)
        self.options.hours = math.inf
        names, before, failed = random.Random(self.options.draw).sample(cheap, min(count, len(cheap))), dict(self.records), []
        self.save = lambda name, record, changed=None: self.records.update({name: record})
        for name in names:
            found = self.remake[name]()
            differing = ["%s: stored %s, now %s" % (key, before[name]["values"][key], found[key]) for key in before[name]["values"] if not alike_numbers(before[name]["values"][key], found[key])]
            print("%s: %s" % (name, "; ".join(differing) or "the same"), flush=True)
            failed += differing
        if failed or not names:
            sys.exit("%d numbers differ" % len(failed) if failed else "no record is cheap enough")

    def run(self, *command, statuses=(0,)):
        """Runs nvdp and returns its JSON output. statuses: exit statuses that come with an output."""
        texts = list(map(str, command))
        print(shlex.join(texts), file=sys.stderr, flush=True)
        full = ["nice", self.options.nvdp, *texts, "--threads", str(self.options.threads), "--quiet", "--json"]
        done = subprocess.run(full, check=False, stdout=subprocess.PIPE)
        if done.returncode not in statuses:
            raise subprocess.CalledProcessError(done.returncode, full)
        return json.loads(done.stdout)

    def once(self, name, arguments, hours, work):
        """Returns the numbers that work() computes, which are stored with these arguments like those of measure()."""
        record = self.records.get(name)
        code = code_behind(work, self)
        if record is not None and record["arguments"] == arguments:
            self.used[name] = record, code
            return record["values"]
        if hours > self.options.hours:
            self.plan(name, hours)
            return Missing(hours)
        start = sum(os.times()[:4])
        values = work()
        self.save(name, {"arguments": arguments, "cpu": round(sum(os.times()[:4]) - start, 1), "values": values, "source": self.source(arguments, code, [])})
        self.used[name] = self.records[name], code
        return values

    def embed(self, model, texts, path, precision="f32"):
        """Returns the unit vectors of the texts of a JSON Lines file, which the program embeds once, in a file at path."""
        import h5py
        import numpy as np

        if not os.path.exists(path):
            self.run("encode", "--model", model, "--jsonl", texts, "--pool", "mean", "--max-length", 128, "--only-embeddings", "--precision", precision, "--out", path)
        with h5py.File(path) as file:
            x = file["sentence_embedding"][:]
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    def bound(self, name, clip, dim, baseline):
        """Returns the proven bound on a guess that is right in a share `baseline` of cases without a sample."""
        return self.measure("bound/" + name, "explain", "--clip-sequence", clip, "--dim", dim, "--baseline", baseline, hours=0.001, keep=["guess"])["guess"][0]["bound"]

    def resume(self, command, arguments):
        """Turns a command whose output folder holds an unfinished run with the same arguments into one that continues the run."""
        if command[0] not in ("train", "pretrain"):
            return
        out, wanted = command[command.index("--out") + 1], json.dumps(arguments)
        begun = read(out + ".arguments")
        if begun == wanted and os.path.exists(out + "/state.ckpt") and not os.path.exists(out + "/result.json"):
            command[1:] = ["--resume", out]
            return
        command.append("--overwrite")
        with open(out + ".arguments", "w", encoding="utf-8") as file:
            file.write(wanted)

    def load(self):
        return json.loads(read(self.options.records) or "{}")

    def save(self, name, record, changed=None):
        """Adds a record to the file, which other commands may extend at the same time. Removes the records without "made" that read from the output
        `changed`, because an earlier output was measured."""
        partial = self.options.records + ".partial"
        folder = os.open(os.path.dirname(os.path.abspath(self.options.records)), os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        old = {key: of for key, of in self.load().items() if changed is None or "made" in of or not any(is_in(changed, str(text)) for text in of["arguments"])}
        self.records = {**old, name: record}
        with open(partial, "w", encoding="utf-8") as file:
            file.write("{\n" + ",\n".join("%s: %s" % (json.dumps(key), json.dumps(self.records[key])) for key in sorted(self.records)) + "\n}\n")
        os.replace(partial, self.options.records)
        os.close(folder)

    def text(self, name):
        """Returns a table as Markdown."""
        function = self.tables[name]
        made = function(self)
        lines = ["## " + inspect.getdoc(function), "", made.verdict, ""]
        lines += ["| " + " | ".join(map(number, row)) + " |" for row in [made.header, list(map(alignment, zip(*made.rows))) or ["---"] * len(made.header),
                                                                         *made.rows]]
        lines += ["", made.scale, "", "    experiments/%s/run.py %s" % (self.place, name)]
        return "\n".join(lines + (["", made.note] if made.note else []))

    def page(self):
        seconds, tables = sum(record["cpu"] for record in self.records.values()), [self.text(name) for name in self.tables]
        if self.others:
            sys.exit("%s: the stored numbers are of other inputs; nothing is written:\n%s\nName those inputs, or keep both apart with --records and --page." % (
                self.options.records, "\n".join("    --%s %s, stored: %s" % (name.replace("_", "-"), *values) for name, values in sorted(self.others.items()))))
        with open(self.options.page, "w", encoding="utf-8") as file:
            for text in ("# " + self.title, self.lead and self.lead(), clean(inspect.getdoc(sys.modules["__main__"]).split("\n\n")[1])):
                file.write(text + "\n\n" if text else "")
            file.write("`experiments/%s/run.py page` writes this page from the stored records, whose measurements took %.0f minutes in all.%s\n" % (
                self.place, seconds / 60, " A cell *not run* names the estimate for one core; `--hours N` runs it." * any("| not run;" in text for text in tables)))
            file.write(self.origin() + "\n\n")
            file.write("\n\n".join(tables) + "\n")
        for name, draw in self.figures.items():
            path = os.path.join(os.path.dirname(self.options.page), "figures", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            draw(path)

    def main(self):
        titles = {name: inspect.getdoc(function) for name, function in self.tables.items()}
        width = max(map(len, titles))
        parser = argparse.ArgumentParser(
            description=inspect.getdoc(sys.modules["__main__"]), formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog="tables:\n%s\n\nRun it in the root of the repository, for example:\n  experiments/%s/run.py %s%s" % (
                "\n".join("  %-*s  %s" % (width, name, title) for name, title in titles.items()), self.place, next(iter(titles)),
                " --glue PATH/TO/glue" * ("glue" in self.inputs)))
        parser.add_argument("tables", nargs="*", metavar="TABLE", default="all", choices=[*self.tables, "all", "page", "redraw"],
                            help="a table listed below: measures what is not stored, and prints it; all (the default); page: writes the page from the stored "
                            "records; or redraw: measures three random cheap records again and compares")
        parser.add_argument("--dry-run", action="store_true", help="prints the measurements that are left and about how long they take, and runs nothing")
        parser.add_argument("--draw", type=int, help="seed of the choice of records for redraw (default: another choice each time)")
        parser.add_argument("--nvdp", default=os.environ.get("NVDP", "build/release/nvdp"), help="the program (default %(default)s)")
        parser.add_argument("--hours", type=float, default=0.1, help="skips measurements that are estimated to take longer (default %(default)s)")
        parser.add_argument("--threads", type=int, default=1, help="threads of each run (default %(default)s)")
        parser.add_argument("--out", default="out/" + self.place, help="folder of runs and models (default %(default)s)")
        parser.add_argument("--records", default=self.folder + "/records.json", help="the stored numbers (default: beside the script)")
        parser.add_argument("--page", default="experiments/results/%s.md" % self.place.replace("/", "-"), help="page to write (default %(default)s)")
        for name, (default, meaning) in self.inputs.items():
            parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default, help=meaning + " (default %(default)s)")
        self.options = parser.parse_args()
        self.options.tables = [self.options.tables] if isinstance(self.options.tables, str) else self.options.tables
        os.makedirs(self.options.out, exist_ok=True)
        self.records = self.load()
        if self.options.tables == ["page"]:
            self.options.hours = -1  # no measurement runs
            return self.page()
        if self.options.dry_run or self.options.tables == ["redraw"]:
            self.dry, hours, self.options.hours = self.options.dry_run, self.options.hours, -1
            for name in self.tables if {"all", "redraw"} & set(self.options.tables) else self.options.tables:
                self.tables[name](self)
            self.options.hours = hours
            if self.dry:
                return print("%d measurements are left, about %.1f hours" % (len(self.planned), self.left))
            return self.redraw()
        program(self.options.nvdp)  # remembers the commit before a measurement, during which the source may change
        try:
            for name in self.tables if "all" in self.options.tables else self.options.tables:
                print(self.text(name) + "\n", flush=True)
        except subprocess.CalledProcessError as error:
            sys.exit("%s: nvdp %s stopped with status %d; its message is above. --help lists the options that name the inputs; numbers measured before are stored." % (
                parser.prog, error.cmd[2], error.returncode))
        except FileNotFoundError as error:
            sys.exit("%s: %s: no such file; --help lists the options that name the program and the inputs" % (parser.prog, error.filename))


def page_table(page, *header):
    """Yields the rows of the first table on a page of results whose header begins with these cells, as dictionaries by header. A row that is
    only a bold name ("**sst2 (accuracy)**") is put into its followers as "group"."""
    names, group = None, None
    with open(os.path.join(RESULTS, page), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip().replace("**", "").replace("\\", "") for cell in line.strip().strip("|").split("|")]
            if names is None:
                names = cells if line.startswith("|") and tuple(cells[: len(header)]) == header else None
            elif not line.startswith("|"):
                return
            elif not any(cells[1:]):
                group = cells[0]
            elif not set(cells[0]) <= set("-:"):
                yield dict(zip(names, cells), group=group)


@functools.lru_cache(None)
def program(nvdp):
    """Returns the version of the program, and the commit of its source; + marks a source with changes, and a program that is older than its source."""
    said = subprocess.run([nvdp, "--version"], check=False, stdout=subprocess.PIPE, text=True).stdout.split() if shutil.which(nvdp) else []
    git = lambda *words: subprocess.run(["git", "-C", ROOT, *words], check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    commit = git("rev-parse", "--short=12", "HEAD") if shutil.which("git") else ""
    changed = commit and (git("status", "--porcelain", "-uno", "*.c", "*.h", "*.inc") or said and any(
        os.path.getmtime(path) > os.path.getmtime(shutil.which(nvdp)) for folder in {*COMMON_CODE, *OTHER_CODE, *sum(CODE.values(), ())} for path in code_files(folder)))
    return {"version": said[1] if said[:1] == ["nvdp"] else None, "commit": (commit + "+" * bool(changed)) if commit else None}


@functools.lru_cache(None)
def processor():
    found = re.search(r"model name\s*: (.*)", read("/proc/cpuinfo") or "")
    return found[1] if found else platform.processor() or platform.machine()


@functools.lru_cache(None)
def digest_of_files(path):
    """Returns a digest of a file, or of the names and contents of the files in a folder."""
    names = sorted(os.path.join(folder, name) for folder, _, files in os.walk(path) for name in files) if os.path.isdir(path) else [path]
    digest = hashlib.sha256()
    for name in names:
        with open(name, "rb") as file:
            digest.update(os.path.relpath(name, path).encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return digest.hexdigest()[:16]


def code_files(folder):
    return [os.path.join(place, name) for place, _, names in sorted(os.walk(os.path.join(ROOT, folder))) for name in sorted(names) if name.endswith((".c", ".h", ".inc", ".cu"))]


@functools.lru_cache(None)
def code_of(command):
    """Returns a digest of the code that decides the numbers of a command, without comments and spaces."""
    digest = hashlib.sha256()
    for folder in sorted(COMMON_CODE + CODE.get(command, OTHER_CODE)):
        for path in code_files(folder):
            text = re.sub(r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", lambda match: match[1] or " ", read(path), flags=re.S)
            digest.update((os.path.basename(path) + "\0" + " ".join(text.split())).encode())
    return digest.hexdigest()[:16]


def code_behind(work, study):
    """Returns a digest of a function in a study's script, the functions and numbers of the script that it uses, and the code of the program."""
    texts, left, seen = [code_of("")], [work], set()
    while left:
        function = left.pop()
        codes = [function.__code__]
        for code in codes:
            codes += [inner for inner in code.co_consts if inspect.iscode(inner)]
        if function.__name__ != "<lambda>":
            tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
            if ast.get_docstring(tree) is not None:
                tree.body = tree.body[1:]
            tree.decorator_list = []
            texts.append(ast.dump(tree))
        for name in sorted({name for code in codes for name in code.co_names + code.co_freevars}):
            target = function.__globals__.get(name, getattr(type(study), name, None))
            if name in seen:
                continue
            seen.add(name)
            if inspect.isfunction(target) and target.__code__.co_filename != __file__:
                if is_in(os.path.realpath(study.folder), os.path.realpath(target.__code__.co_filename)):
                    left.append(target)
            elif isinstance(target, (bool, int, float, str, tuple)) and not name.startswith("__"):
                texts.append("%s = %r" % (name, target))
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def alike_numbers(old, new):
    """Returns whether two stored values agree: numbers within 5 % or .02, which products in another order and precision stay below."""
    if isinstance(old, dict):
        return isinstance(new, dict) and old.keys() == new.keys() and all(alike_numbers(old[key], new[key]) for key in old)
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(alike_numbers, old, new))
    if isinstance(old, (int, float)) and isinstance(new, (int, float)):
        return abs(old - new) <= max(.02, .05 * abs(old))
    return old == new


def read(path):
    """Returns the text of a file, or None if there is no such file."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


def is_in(path, text):
    """Returns whether a text is this path or a path in it."""
    return text == path or text.startswith(path + "/")


def alike(text):
    """Returns the words of a text as nvdp compares public and private texts: in lower case, without accents, whatever separates them."""
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).lower())
    return " ".join(re.findall(r"[^\W_]+|[^\w\s]|_", "".join(c for c in folded if not unicodedata.combining(c))))


def clean(text):
    """Returns a text on one line."""
    return " ".join((text or "").split())


def write_texts(path, texts):
    """Writes texts as JSON Lines, which the program reads whatever characters they have."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)


def glue_rows(glue, task, split):
    """Returns the rows of a file of GLUE."""
    with open("%s/%s/%s.tsv" % (glue, task, split), encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL if task == "QQP" else csv.QUOTE_NONE))


def searched(pairs, least, count):
    """Returns two dicts, of (query, text, score) pairs: the first `count` different texts -> their numbers; the queries of pairs with a score
    of at least `least` -> the number of the text that each must find."""
    texts, queries = {}, {}
    for query, text, score in pairs:
        if len(texts) == count and text not in texts or not query or not text:
            continue
        texts.setdefault(text, len(texts))
        if score >= least and query != text:
            queries.setdefault(query, texts[text])
    return texts, queries


def vectors(path):
    """Reads the vectors of a shared file (.safetensors) with one vector per text."""
    import numpy as np

    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        z = json.loads(file.read(size))["z"]
        file.seek(8 + size + z["data_offsets"][0])
        kind = {"I16": np.int16, "I32": np.int32}[z["dtype"]]
        values = np.frombuffer(file.read(z["data_offsets"][1] - z["data_offsets"][0]), kind)
    return values.reshape(z["shape"][0], -1).astype(np.float32)


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def find(found, path):
    """Returns the value at a path such as "a.b". In a list, a key stands for the element whose texts, joined by "-", it is."""
    for key in path.split("."):
        found = found[key] if isinstance(found, dict) else next(one for one in found if "-".join(v for v in one.values() if isinstance(v, str)) == key)
    return found


def gnuplot(path, size, lines):
    """Draws an SVG figure with these commands, if gnuplot is installed."""
    start = ["set terminal svg enhanced size %s dynamic background rgb 'white' font 'sans,12'" % size, "set output '%s'" % path]
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot"], input="\n".join(start + lines) + "\n", text=True, check=True)
