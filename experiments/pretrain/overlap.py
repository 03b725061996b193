#!/usr/bin/env python3
"""Checks if held-out texts occur in training texts: runs of ten words that both have, by held-out document.

usage: overlap.py --train TEXT... --held-out TEXT...      (plain or .xz; documents begin at "<doc ..." or " = Title = ")

A document of the held-out text that is in the training text shares most of its runs with one document there; quotations,
tables and phrases share a few.  Leave such documents out of one of the two."""
import argparse
import collections
import lzma
import re

WORD = re.compile(r"[a-z0-9]+")
TITLE = re.compile(r"^(?:<doc [^>]*title=\"([^\"]*)\"| = ([^=]+) = *$)")
RUN = 10


def documents(paths):
    """(title, lines) of each document."""
    title, lines = "", []
    for path in paths:
        opener = lzma.open if path.endswith(".xz") else open
        with opener(path, "rt", encoding="utf-8", errors="ignore") as text:
            for line in text:
                found = TITLE.match(line)
                if found:
                    yield title, lines
                    title, lines = (found.group(1) or found.group(2)).strip(), []
                else:
                    lines.append(line)
    yield title, lines


def runs(lines):
    for line in lines:
        for part in line.split("<unk>"):
            words = WORD.findall(part.lower())
            for i in range(len(words) - RUN + 1):
                yield " ".join(words[i : i + RUN])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", nargs="+", required=True)
    parser.add_argument("--held-out", nargs="+", required=True)
    options = parser.parse_args()
    owner, size = {}, collections.Counter()
    for number, (title, lines) in enumerate(documents(options.held_out)):
        for run in runs(lines):
            size[(number, title)] += 1
            owner.setdefault(run, (number, title))
    shared, source = collections.Counter(), {}
    for title, lines in documents(options.train):
        for run in runs(lines):
            document = owner.get(run)
            if document:
                shared[document] += 1
                source.setdefault(document, collections.Counter())[title] += 1
    print(f"{len(size)} held-out documents, {sum(size.values())} runs of {RUN} words")
    print(f"{'shared':>8} {'of':>8}  held-out document; training document that shares most")
    for document, count in shared.most_common(10):
        title, most = source[document].most_common(1)[0]
        print(f"{count:8d} {size[document]:8d}  {document[1]}; {title} ({most})")


if __name__ == "__main__":
    main()
