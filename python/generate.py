"""Writes the typed parts of the package from the library's tables and headers: the options of training as a dataclass, and the results
of calls as dataclasses with their units. `generate.py [FOLDER]` writes the files that changed, into python/nvdp or the folder. The build
calls it; NVDP_LIBRARY names the library.
"""

from __future__ import annotations

import keyword
import math
import os
import re
import sys
import tempfile
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if "nvdp" not in sys.modules:  # whose __init__ imports the files that are written here
    sys.modules["nvdp"] = types.ModuleType("nvdp")
    sys.modules["nvdp"].__path__ = [str(HERE / "nvdp")]

from nvdp._lib import AS_JSON, ffi, freed, is_nested, from_json, lib, owned_text, record, result_of, shared, text  # noqa: E402

WIDTH = 140


def sentence(words: str) -> str:
    """Returns a help text as a sentence, with options named as in Python."""
    words = re.sub(r"--([a-z][a-z-]*)", lambda found: found[1].replace("-", "_"), " ".join(words.split()))
    words = words.replace("\\", "\\\\").replace('"""', "'''")
    name = re.match(r"[a-z0-9-]+[:,] |\w*_", words)  # of a method, a task or a member
    return ("" if name else words[:1].upper()) + words[0 if name else 1 :] + ("" if words.endswith(".") else ".")


def docstring(words: str, indent: int) -> list[str]:
    space = " " * indent
    lines = textwrap.wrap(words, WIDTH - indent - 3, break_long_words=False, break_on_hyphens=False)
    if lines[-1].endswith('"'):
        lines[-1] += " "
    return [space + ('"""' if i == 0 else "") + line + ('"""' if i == len(lines) - 1 else "") for i, line in enumerate(lines)]


# --- options ---

TYPES = {"flag": "bool", "integer": "int", "seed": "int", "real": "float", "text": "Union[str, PathLike[str]]", "list": "Union[str, float, Sequence[str], Sequence[float]]"}


def rows(kind: str) -> Iterator[tuple[Any, list[str]]]:
    """Yields the options of a kind of work, each with its choices."""
    config = shared().config(kind, {})
    for i in range(lib.nvdp_config_count(config)):
        row, choices = lib.nvdp_config_option(config, i), []
        while row.choices != ffi.NULL and row.choices[len(choices)] != ffi.NULL:
            choices.append(text(row.choices[len(choices)]))
        yield record(row[0]), choices


def type_of(row: Any, choices: list[str]) -> str:
    return f"Literal[{', '.join(map(repr_, choices))}]" if choices else TYPES[row.type]


def repr_(value: Any) -> str:
    return "None" if value is None else f'"{value}"' if isinstance(value, str) else repr(value)


def option(row: Any, choices: list[str]) -> list[str]:
    name = row.name.replace("-", "_")
    name += "_" * keyword.iskeyword(name)
    default = None if name == "threads" else row.default_value  # of the machine
    unit = f" [{row.unit}]" if row.unit else ""
    least, most = (None if abs(bound) > 1e300 else f"{bound:.12g}" for bound in (row.min, row.max))
    limits = f" From {least} to {most}." if least and most else f" {least} or more." if least else f" At most {most}." if most else ""
    limits = "" if row.min == row.max == 0 else limits
    told = "" if default in (None, "false") else f" Default: {default}."
    help = sentence(row.help)[:-1] + unit + "." + limits + told
    found = {"help": row.help, "default_value": default, "unit": row.unit, "min": row.min, "max": row.max}
    values = ", ".join(f"{key}={repr_(value).replace('inf', 'math.inf') if isinstance(value, float) else repr_(value)}"
                       for key, value in found.items() if key != "help" and value is not None
                       and not (key in ("min", "max") and row.min == row.max == 0))  # fmt: skip
    return [f"    {name}: Optional[{type_of(row, choices)}] = _row({values})", *docstring(help, 4)]


VECTORS = {"vectors", "vectors-name", "vectors-source", "ids", "label-column", "classes"}
MODEL = {"model", "center", "public-independent", "clip-sequence", "certified-epsilon", "reduce", "text-column"}
SOURCE = {"run", "out", "input"}
TAKEN = {  # keyword arguments of functions: the kinds of work, and the options that are arguments of their own, or belong to other sources
    "ExportArguments": ("export", SOURCE | VECTORS | MODEL),
    "ReleaseArguments": ("export", SOURCE | VECTORS | MODEL | {"split", "data", "limit", "with-labels", "samples", "batch"}),
    "EncoderExportArguments": ("export", SOURCE | VECTORS | MODEL - {"public-independent", "text-column"} | {"split", "data", "with-labels"}),
    "PartitionArguments": ("export", SOURCE | VECTORS | MODEL | {"split", "data", "limit", "model-out", "model-id", "card", "overwrite", "no-ledger", "ledger",
                                                                "ledger-key", "insecure-seed", "with-labels", "person"}),
    "ShardArguments": ("export", SOURCE | VECTORS | MODEL | {"split", "data", "limit", "with-labels", "batch", "person"}),
    "VectorShardArguments": ("export", SOURCE | VECTORS | MODEL | {"split", "data", "limit", "with-labels", "samples", "ledger", "person", "model-out"}),
    "VectorArguments": ("export", SOURCE | VECTORS | MODEL | {"split", "data", "limit", "with-labels", "samples", "ledger", "person", "model-out"}),
    "SummarizeArguments": ("summarize", SOURCE | VECTORS | MODEL - {"public-independent", "reduce"} | {"range", "person", "text-pair-column"}),
    "VectorSummaryArguments": ("summarize", SOURCE | VECTORS | MODEL | {"range", "person", "text-pair-column", "ledger", "limit", "summary-epsilon", "summary-delta"}),
    "ReuseArguments": ("reuse", {"file", "out", "labels"}),
    "AttackArguments": ("attack", {"kind", "run", "model", "posteriors", "public", "shared"}),
    "GateArguments": ("gate", {"policy", "target"}),
    "PrivacyArguments": ("privacy", {"split", "limit"}),
    "PairsArguments": ("privacy", {"order"}),
    "EncoderArguments": ("encoder", {"model"}),
    "SanitizerArguments": ("sanitizer", set()),
    "SanitizeArguments": ("sanitize", {"out"}),
    "TextPrivacyArguments": ("text-privacy", set()),
    "EvaluateArguments": ("evaluate", {"run", "split"}),
    "RunArguments": ("run", {"run", "split", "batch"}),
    "BottleneckArguments": ("train", {"model", "out", "regression", "text-column", "label-column"}),
}  # fmt: skip
PLAIN_ARGUMENTS = {
    "PredictArguments": {"samples": "int", "seed": "int", "batch": "int"},
    "EncodeArguments": {"batch_size": "Optional[int]", "show_progress_bar": "Optional[bool]", "normalize_embeddings": "bool", "convert_to_numpy": "bool",
                        "convert_to_tensor": "bool", "dtype": "Any", "truncate_dim": "Optional[int]", "precision": "str", "prompt": "Optional[str]"},
    "PrivateEncodeArguments": {"pairs": "Union[str, Iterable[str], None]", "batch_size": "int", "pooling": "Optional[str]", "show_progress_bar": "Optional[bool]",
                               "normalize_embeddings": "bool", "convert_to_numpy": "bool", "convert_to_tensor": "bool", "dtype": "Any", "truncate_dim": "Optional[int]",
                               "precision": "str", "budget_samples": "int", "duplicates": "Optional[Literal['refuse', 'each']]"},
}  # fmt: skip
MORE = {"ReleaseArguments": ["persons: Optional[Iterable[Optional[str]]]"], "ShardArguments": ["batch_size: int"],
        "VectorShardArguments": ["classes: Optional[Sequence[Any]]"]}  # fmt: skip
"""Arguments that are no options."""
NAMED = {"model", "out", "preset", "regression", "text-column", "label-column", "threads"}  # arguments of nvdp.train


def options() -> str:
    known = list(rows("train"))
    lines = ['"""The options of training as a dataclass. generate.py writes this file from the option table of the library."""',
             "", "import math", "from collections.abc import Iterable, Sequence", "from dataclasses import dataclass",
             "from os import PathLike", "from typing import Any, Literal, Optional, TypedDict, Union", "", "from ._options import Options, _row", "", "",
             "class Arguments(TypedDict, total=False):", *docstring("Options as keyword arguments of nvdp.train and of other functions that train.", 4), ""]  # fmt: skip
    for row, choices in known:
        name = row.name.replace("-", "_")
        if row.name not in NAMED:
            lines.append(f"    {name}{'_' * keyword.iskeyword(name)}: Optional[{type_of(row, choices)}]")
    for title, (kind, taken) in TAKEN.items():
        lines += ["", "", f"class {title}(TypedDict, total=False):", *docstring(f"Keyword arguments that are options of {kind}.", 4), ""]
        for row, choices in rows(kind):
            name = row.name.replace("-", "_")
            if row.name not in taken | {"threads"}:
                lines.append(f"    {name}{'_' * keyword.iskeyword(name)}: Optional[{type_of(row, choices)}]")
        lines += [f"    {one}" for one in MORE.get(title, ())]
    for title, members in PLAIN_ARGUMENTS.items():
        lines += ["", "", f"class {title}(TypedDict, total=False):", *docstring("Keyword arguments of a method.", 4), "", *(f"    {name}: {kind}" for name, kind in members.items())]
    lines += ["", "", "@dataclass(frozen=True, repr=False)", "class TrainingOptions(Options):",
              '    """Options of train(): nvdp.train(texts, labels, model=..., out=..., **options). None leaves an option to the preset or its default.',
              "", "    An unknown name, a wrong type or a value out of its range is refused at once. The metadata of a field has its default, unit,",
              '    minimum and maximum."""', ""]  # fmt: skip
    for row, choices in known:
        lines += option(row, choices)
    return "\n".join(lines) + "\n"


# --- results ---

NUMBERS = {"double": "float", "float": "float", "_Bool": "bool"}
TABLE_TYPES = ["float", "int", "bool", "str", "str", "str", "NDArray[np.float64]"]  # by enum nvdp_result_type
PLAIN = "nvdp_exact_point", "nvdp_option", "nvdp_progress"  # structs without their size that functions return
ARRAYS = {"nvdp_collection_moments"}  # structs whose numbers are in memory that the package views
TABLES = {"train": "nvdp_train_result", "scores": "nvdp_scores", "gate": "nvdp_gate_result", "linkage": "nvdp_linkage"}  # results that the package reads as JSON
ATTACKS = "linkage", "pair_attacks", "text_attack", "membership", "exposure", "summary_attack"
PART_HELP = "A part of the JSON of a result."
ADDED = {  # what functions of the package add to a struct
    "linkage": [("sentence", "str", "The result in one sentence.")],
    "nvdp_export_result": [("privacy", "Optional[Privacy]", "The report for the owner, as of Posteriors.privacy(). None: fewer than 2 texts.")],
    "train": [("task", "str", "Name of the task."), ("method", "str", "Method of the training."), ("protocol", "str", "Data that selected the epoch: holdout or dev."),
              ("metric", "str", "The metric that selected the epoch."), ("certified", "Optional[Certificate]", "The proof over all texts; None: there is none.")],
    "nvdp_reuse_result": [("accuracy", "Optional[Metric]", "Its `mean`, `sd` over seeds (NaN for one seed), and 95 % interval from `low` to `high` over "
                           "texts. None: another metric comes first, or nothing was scored.")],
    "nvdp_model_info": [("labels", "Optional[list[Any]]", "The classes. None: scores.")],
}


def headers() -> dict[str, tuple[str, dict[str, str]]]:
    """Returns the comment of each struct of the public headers, and those of its members."""
    found = {}
    for path in sorted((HERE.parent / "include" / "nvdp").glob("*.h")):
        source = path.read_text("utf-8")
        for match in re.finditer(r"(?:/\*\*((?:(?!\*/).)*)\*/\s*)?^struct (nvdp_\w+) \{\n(.*?)^\};", source, re.DOTALL | re.MULTILINE):
            members: dict[str, str] = {}
            for part in re.finditer(r"(?:/\*\*(?!<)((?:(?!\*/).)*)\*/\s*)?^([^;/]*?);(?:\s*/\*\*<((?:(?!\*/).)*)\*/)?", match[3], re.DOTALL | re.MULTILINE):
                names = re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:,|$)", part[2])
                for name in names:
                    members[name] = re.sub(r"^\s*\*", "", (part[3] or part[1] or ""), flags=re.MULTILINE)
            found[match[2]] = re.sub(r"^\s*\*", "", match[1] or "", flags=re.MULTILINE), members
    return found


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.removeprefix("nvdp_").split("_"))


def member(kind: Any) -> str | None:
    """Returns the type of a member, as record() converts it; None: it is skipped."""
    if kind.kind == "struct":
        return camel(kind.cname.removeprefix("struct "))
    if kind.kind == "enum" or kind.kind == "array" and kind.item.cname == "char":
        return "str"
    if kind.kind == "array":
        inner = member(kind.item)
        numbers = "NDArray[np.float64]" if kind.item.cname in ("double", "float") else "NDArray[np.int64]"
        return numbers if kind.item.kind == "primitive" else None if inner is None else f"list[{inner}]"
    if kind.kind == "pointer":
        return f"Optional[{member(kind.item) if kind.item.kind == 'struct' else 'str'}]" if is_nested(kind) else None
    return NUMBERS.get(kind.cname, "int") if kind.kind == "primitive" else None


def row_type(row: Any, made: dict[str, list[str]]) -> str:
    """Returns the type of a row's value in JSON."""
    if row.json != ffi.NULL:
        return "Any"
    if row.of != ffi.NULL:
        inner = table_classes([row.of], made)
        return {lib.NVDP_RESULT_MAP: f"dict[str, {inner}]", lib.NVDP_RESULT_LIST: f"list[{inner}]"}.get(row.type, inner)
    if row.levels != ffi.NULL:
        return "dict[str, float]"
    return f"NDArray[np.{'int64' if row.type == lib.NVDP_RESULT_COUNT else 'float64'}]" if row.array else TABLE_TYPES[row.type]


def table_classes(tables: list[Any], made: dict[str, list[str]], name: str = "", help: str = "") -> str:
    """Adds the class of the rows of result tables in their views for files, which result.json has; returns its name."""
    name = name or camel(text(tables[0].name)) + "Result" * (text(tables[0].name) == "train")
    fields: dict[str, list[str]] = {}
    for table in tables:
        keys: dict[str, str | None] = {}
        i = k = 0
        while table.views != ffi.NULL and table.views[i].name != ffi.NULL:
            k = 0
            while text(table.views[i].name) == "file" and table.views[i].keys != ffi.NULL and table.views[i].keys[k].row != ffi.NULL:
                key = table.views[i].keys[k]
                keys[text(key.row)] = None if key.absent == lib.NVDP_ABSENT_HIDDEN else text(key.key) or text(key.row)
                k += 1
            i += 1
        row = table.rows
        while row.name != ffi.NULL:
            found = keys.get(text(row.name), text(row.name))
            if found is not None and found not in fields and not keyword.iskeyword(found):
                about = sentence(text(row.help) + (f" [{text(row.unit)}]" if row.unit != ffi.NULL else ""))
                fields[found] = [f"    {found}: {row_type(row, made)}", *docstring(about, 4)]
            row += 1
        for field, kind, about in ADDED.get(text(table.name), ()):
            fields[field] = [f"    {field}: {kind}", *docstring(about, 4)]
    made[name] = [*docstring(help or sentence(text(tables[0].help)), 4), "", *(line for lines in fields.values() for line in lines)]
    return name


def type_of_json(name: str, values: list[Any], made: dict[str, list[str]]) -> str:
    """Returns the type of a value of a JSON object, of which there are examples; adds the classes of its parts."""
    known = [value for value in values if value is not None]
    if known and isinstance(known[0], dict) and all(key.isidentifier() for key in known[0]):
        return json_classes(name, known, PART_HELP, made)
    elif known and isinstance(known[0], dict):
        kind = f"dict[str, {type_of_json(name, [one for value in known for one in value.values()], made)}]"
    elif known and isinstance(known[0], list):
        inner = type_of_json(name, [one for value in known for one in value], made)
        kind = {"int": "NDArray[np.int64]", "float": "NDArray[np.float64]"}.get(inner, f"list[{inner}]")
    else:
        kind = type(known[0]).__name__ if known else "Any"
    return kind if len(known) == len(values) or kind == "Any" else f"Optional[{kind}]"


def json_classes(name: str, examples: list[Any], help: str, made: dict[str, list[str]]) -> str:
    """Adds the class of a JSON object, whose types are those of examples; returns its name. A part that is always None can be anything."""
    lines = []
    for key in dict.fromkeys(key for one in examples for key in one):
        if key.isidentifier() and not keyword.iskeyword(key):
            known = "Linkage" if key == "linkage" else type_of_json(name + camel(key), [one.get(key) for one in examples], made)
            lines.append(f"    {key}: {known}")
    same = next((other for other, body in made.items() if body[2:] == lines), name)
    made.setdefault(same, [*docstring(help, 4), "", *lines])
    return same


def json_results(made: dict[str, list[str]]) -> None:
    """Adds the classes of results whose record is their JSON object, from small examples."""
    context, limits, found = shared(), result_of("struct nvdp_limits"), result_of("struct nvdp_certificate")
    limits.method, limits.noise, limits.sealed, limits.same_noise, limits.rows, limits.dim, limits.kappa = b"sentence", True, True, True, 1, 4, 1
    limits.clip_sequence, limits.clip_mu, limits.alpha_max = 2.0, math.inf, math.inf
    context.call(lib.nvdp_certify, limits, context.config("privacy", {"at_epsilon": 1}), found)
    plain = context.json(found)
    limits.method, limits.clip_word, limits.word_window = b"word", 1.0, 1
    context.call(lib.nvdp_certify, limits, context.config("privacy", {"at_epsilon": 1}), found)
    json_classes("Certificate", [plain, context.json(found)], "A proven guarantee over all texts, in nats: `epsilon` at `delta` for `releases` samples of a text.", made)
    made["Certificate"] += ["    clip: Any", *docstring("The clip of the model; in result.json.", 4)]
    reports = []
    for weights, more, options in (True, {}, {"exact": True}), (False, {"clip_sequence": 9.0}, {}), (False, {"logvar": -5.0}, {"max_pairs": 20}):
        of = context.make("struct nvdp_posteriors", lib.nvdp_posteriors_free, lib.nvdp_posteriors_create, 30, 60, 1, weights)
        of.method, of.policy, of.length, of.clip_sequence = b"nvdp" if weights else b"vib", lib.NVDP_LENGTH_HIDDEN, 2, more.get("clip_sequence", 0.0)
        for i in range(60):
            of.offset[i // 2 + 1], of.mu[i], of.logvar[i] = i // 2 * 2 + 2, i / 10, more.get("logvar", 0.0) * (i // 2 % 2)
            for k in range(weights):
                of.alpha[i + k] = 1.0 + i % 3
        report = freed("struct nvdp_privacy_report")
        context.call(lib.nvdp_privacy_measure, of, context.config("privacy", options), ffi.NULL, report)
        context.call(lib.nvdp_linkage_measure, of, 1, 0, 1, report.linkage)
        reports.append(context.json(report))
    reports[0]["argmax_rows"] = {"p": 1, "q": 2}  # of texts that have row numbers
    json_classes("Privacy", reports, "The report of `nvdp privacy --json`: measures of texts, in nats. A part that was not measured is None.", made)
    with tempfile.TemporaryDirectory() as folder:
        vectors, texts = Path(folder, "vectors.txt"), Path(folder, "texts.txt")
        vectors.write_text("cat 0 0\ndog 0 1\ncar 50 0\n")
        texts.write_text("car cat\ncar dog\ncar\n")
        report = freed("struct nvdp_dchi_report")
        given = {"text": texts, "vectors": vectors, "mechanism": "santext", "eta": 2.0}
        context.call(lib.nvdp_text_privacy, context.config("text-privacy", given), ffi.NULL, report)
        json_classes("TextPrivacy", [context.json(report)], "The report of `nvdp privacy --sanitizer M --json`: measures of privatized texts, in nats. A part that was not measured is None.", made)
    table_classes([lib.nvdp_result_table_find(name.encode()) for name in ATTACKS], made, "Attack",
                  "What an attacker learns: the numbers of the attack's kind. Those of other kinds are missing.")  # fmt: skip
    made["Attack"] += ["    kind: str", *docstring("The kind of the attack, as `attack`.", 4), "    attack: str", "    certified: float", *docstring("Proven epsilon [nats].", 4),
                       "    shared: str", "    seed: int", "    model: str", "    prior: Any", "    beam: int", "    verdict: str", *docstring('A sentence if a number exceeds what is proven, else "".', 4)]


def config_classes(made: dict[str, list[str]]) -> None:
    """Adds the class of the options in run.json, by the option table; an object in the file has a class of its own."""
    config, out = shared().config("train", {}), ffi.new("char **")
    shared().quick(lib.nvdp_config_json, config, out)
    known = {(row.parent, row.key or row.name.replace("-", "_")): (row, choices) for row, choices in rows("train")}

    def add(name: str, parent: str | None, found: Any, help: str) -> str:
        lines = []
        for key, value in found.items():
            if isinstance(value, dict):
                lines.append(f"    {key}: {add(name + camel(key), key, value, 'A part of the options of a run.')}")
            elif (parent, key) not in known:
                lines.append(f"    {key}: {type(value).__name__}")
            else:
                row, choices = known[parent, key]
                kind = "Optional[str]" if row.type in ("text", "list") else type_of(row, choices)
                lines += [f"    {key}: {kind}", *docstring(sentence(row.help), 4)]
        same = next((other for other, body in made.items() if body[2:] == lines), name)
        made.setdefault(same, [*docstring(help, 4), "", *lines])
        return same

    add("RunConfig", None, from_json(owned_text(out[0])), "All options of a run, as in run.json. A run of an earlier version may lack some.")
    resolved, limits = ffi.new("char **"), result_of("struct nvdp_limits")
    shared().call(lib.nvdp_bottleneck_resolve, config, 64, 1, limits, resolved)
    add("BottleneckSettings", None, from_json(owned_text(resolved[0])), "Options and properties of a bottleneck.")


def struct_classes(struct: Any, comments: dict[str, Any], made: dict[str, list[str]], kinds: dict[str, str]) -> None:
    """Adds the class of a struct, and of the structs in it. A number in memory of its own is an array with the shape in its comment."""
    name = struct.cname.removeprefix("struct ")
    if struct.cname in kinds:
        return
    about, members = comments.get(name, ("", {}))
    lines: list[str] = []
    for field, of in struct.fields:
        kind, inner = member(of.type), of.type
        if kind is None and name in ARRAYS:
            kind = "NDArray[np.float64]"
        if field in ("struct_size", "reserved") or kind is None:
            continue
        if inner.kind == "pointer" and "NULL" not in members.get(field, "").replace("NULL ends a table", ""):
            kind = kind.removeprefix("Optional[").removesuffix("]" * kind.startswith("Optional["))  # always there
        while inner.kind in ("array", "pointer"):
            inner = inner.item
        if inner.kind == "struct" and "$" in inner.cname:
            kind = kind.replace(camel(inner.cname.removeprefix("struct ")), "dict[str, Any]")
        elif inner.kind == "struct":
            struct_classes(inner, comments, made, kinds)
        lines += [f"    {field}: {kind}", *(docstring(sentence(members[field]), 4) if members.get(field, "").strip() else [])]
    for field, kind, help in ADDED.get(name, ()):
        lines += [f"    {field}: {kind}", *docstring(help, 4)]
    first = re.split(r"[;.](?=\s|$)|, made by", " ".join(about.split()), maxsplit=1)[0]
    made[camel(name)] = [*docstring(sentence(first or camel(name)), 4), "", *lines]
    kinds[struct.cname] = camel(name)


def results() -> str:
    made: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    for name in TABLES:
        table_classes([lib.nvdp_result_table_find(name.encode())], made)
    json_results(made)
    config_classes(made)
    comments = headers()
    kinds.update((f"struct {name}", "") for name in TABLES.values())
    source = "".join(path.read_text("utf-8") for path in sorted((HERE / "nvdp").glob("*.py")) if path.name not in FILES)
    used = set(re.findall(r'"struct (nvdp_\w+)(?: \*|\[\])?"', source))
    for name in sorted(used | set(PLAIN)):
        struct = ffi.typeof(f"struct {name}")
        if name in PLAIN or "struct_size" in dict(struct.fields or ()) and struct.cname not in AS_JSON:
            struct_classes(struct, comments, made, kinds)
    lines = ['"""Results of calls as dataclasses. generate.py writes this file from the result tables and headers of the library.',
             "", "Each is a dict whose items are attributes too. Divergences and epsilons are in nats.", '"""', "",
             "from __future__ import annotations", "", "from dataclasses import dataclass", "from typing import Any, Literal, Optional", "", "import numpy as np", "from numpy.typing import NDArray", "",
             "from ._lib import KINDS, Result", ""]  # fmt: skip
    for name, body in made.items():
        lines += ["", "@dataclass(init=False, eq=False, repr=False)", f"class {name}(Result):", *body, ""]
    lines += ["", *(f'KINDS["{cname}"] = {name}' for cname, name in sorted(kinds.items()) if name)]
    return re.sub("\n{3,}", "\n\n\n", "\n".join(lines)) + "\n"


FILES = {"training_options.py": options, "results.py": results}


def write(folder: Path) -> None:
    """Replaces the files that differ; other processes see the old file or the new one."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in FILES.items():
        path, want = folder / name, make()
        if not path.is_file() or path.read_text("utf-8") != want:
            partial = path.with_name(f"{name}.{os.getpid()}.tmp")
            partial.write_text(want, "utf-8")
            partial.replace(path)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "nvdp")
