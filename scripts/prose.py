#!/usr/bin/env python3
"""Finds wordings that CONTRIBUTING.md forbids, in comments, messages and documents: prose.py [FILE...]; without files, in all that git tracks.

Prints FILE:LINE: the words found, and the advice; the exit status is 1 if there are any. scripts/prose.txt has the
patterns and the exceptions."""
import pathlib
import re
import subprocess
import sys

RULES = pathlib.Path(__file__).with_name("prose.txt")
C_TOKENS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
SCRIPT_TOKENS = re.compile(r'"""(?:.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(?<![^\s;])#[^\n]*', re.S)
SUFFIXES = {".c", ".h", ".inc", ".py", ".sh", ".cmake", ".md"}


def read_rules():
    """Returns the patterns with their advice, and the exceptions as (path, words)."""
    patterns, exceptions = [], []
    for line in RULES.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        kind, first, second = (line.split("\t") + ["", ""])[:3]
        if kind == "except":
            exceptions.append((first, second))
        else:
            patterns.append((kind, re.compile(first), second))
    return patterns, exceptions


def clean(comment):
    """Returns a comment without its marks, with as many line ends as before."""
    lines = comment.removeprefix("/*").removesuffix("*/").strip('"').split("\n")
    return "\n".join(re.sub(r"^\s*(?:[*!<]+|//+[!<]*|#+)?\s*", "", line) for line in lines)


def prose(path):
    """Yields (kind, line, text) for each comment, message or paragraph of a file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".md":
        kept = re.sub(r"^```.*?^```|^\$\$.*?^\$\$", lambda m: "\n" * m.group().count("\n"), text, flags=re.S | re.M)
        line = 1
        for paragraph in re.split(r"(\n\s*\n)", kept):
            if paragraph.strip():
                yield "comment", line, re.sub(r"`[^`\n]*`", "`x`", paragraph)
            line += paragraph.count("\n")
        return
    c = path.suffix in {".c", ".h", ".inc"}
    for match in (C_TOKENS if c else SCRIPT_TOKENS).finditer(text):
        token, line = match.group(), text.count("\n", 0, match.start()) + 1
        if token.startswith(("/", "#", '"""')):
            yield "comment", line, clean(token)
        elif token.count(" ") > 3:
            yield "message", line, token


def faults(path, patterns, exceptions):
    """Yields (line, words, advice) for each fault in a file."""
    name = path.as_posix()
    allowed = [words for file, words in exceptions if file in (name, "*")]
    for kind, start, text in prose(path):
        for scope, pattern, advice in patterns:
            if scope not in ("all", kind):
                continue
            for match in pattern.finditer(text):
                around = " ".join(text[max(0, match.start() - 40) : match.end() + 40].split())
                if not any(words in around for words in allowed):
                    yield start + text.count("\n", 0, match.start()), " ".join(match.group().split()), advice


def main(arguments):
    files = arguments or subprocess.check_output(["git", "ls-files", "-z"], text=True).split("\0")
    patterns, exceptions = read_rules()
    found = 0
    for path in map(pathlib.Path, files):
        if path.suffix in SUFFIXES and path.is_file():
            for line, words, advice in faults(path, patterns, exceptions):
                print(f"{path}:{line}: {words}: {advice}")
                found += 1
    return 1 if found else 0


sys.exit(main(sys.argv[1:]))
