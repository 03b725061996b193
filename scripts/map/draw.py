"""draw.py STEP.trace WHOLE.trace OUT.svg: draws the figure of docs/architecture.md, and prints the files of a training step.

A trace (trace.c) has a line per pair of functions: caller, callee, number of calls, order of the first call. A module is a
directory. The figure shows the files of each module in the order in which a training run first reaches them, and the calls
between modules, numbered in that order."""

import os
import subprocess
import sys

# From the top of the map to the bottom (docs/architecture.md).
LAYERS = [["train"], ["job"], ["model"], ["nvib", "vib", "dchi"], ["rdp", "mechanism"], ["encoder", "text"], ["tensor"], ["base", "options"]]


def module(path):
    parts = path.split(os.sep)
    return parts[1] if parts[0] == "src" else parts[0]


def read(trace):
    """Returns [(caller, callee, calls)] in the order of the first call; a function is (name, file)."""
    with open(trace) as file:
        program = file.readline().split(maxsplit=1)[1].strip()
        rows = sorted((line.split() for line in file), key=lambda row: int(row[3]))
    addresses = sorted({address for row in rows for address in row[:2]})
    text = subprocess.run(["addr2line", "-f", "-e", program] + addresses, capture_output=True, text=True, check=True)
    lines = text.stdout.splitlines()
    place = {
        address: (lines[2 * i], os.path.relpath(lines[2 * i + 1].split(":")[0], os.getcwd()))
        for i, address in enumerate(addresses)
    }
    for a, b, _, _ in rows:  # a processor-specific version of a function has no source line: use that of its caller
        if "??" in place[b][1]:
            place[b] = (place[b][0], place[a][1])
    calls = [(place[a], place[b], int(n)) for a, b, n, _ in rows]
    return [call for call in calls if not any(path.startswith("..") for _, path in call[:2])]  # headers of the system


def first_reached(calls):
    return list(dict.fromkeys(path for a, b, _ in calls for path in (a[1], b[1])))


def climbs(calls):
    """Returns calls between files that lead back up, into a file whose calls led to the caller."""
    follows = {}
    for a, b, _ in calls:
        if a[1] != b[1]:
            follows.setdefault(a[1], []).append(b[1])
    state, found = {}, []

    def visit(path):
        state[path] = "open"
        for to in follows.get(path, []):
            if state.get(to) == "open":
                found.append((path, to))
            elif to not in state:
                visit(to)
        state[path] = "closed"

    for path in list(follows):
        if path not in state:
            visit(path)
    return list(dict.fromkeys(found))


def figure(calls):
    files = {}
    for path in first_reached(calls):
        files.setdefault(module(path), []).append(os.path.basename(path))
    between = {}
    for a, b, n in calls:
        pair = module(a[1]), module(b[1])
        if pair[0] != pair[1] and not {"cli", "base", "options"} & set(pair):  # all modules call base and options
            between[pair] = between.get(pair, 0) + n
    yield "digraph map {"
    yield '  graph [rankdir=TB, nodesep=0.5, ranksep=0.55]; node [shape=plain, fontname="sans-serif", fontsize=11];'
    yield '  edge [fontname="sans-serif", fontsize=9, color="#666666"];'
    for layer in LAYERS:
        here = [name for name in layer if name in files]
        for name in here:
            half = (len(files[name]) + 1) // 2 if len(files[name]) > 6 else len(files[name])
            columns = [files[name][:half], files[name][half:]]
            cells = "".join(
                f'<td align="left" valign="top">{"<br align=%sleft%s/>".replace("%s", chr(34)).join(column)}'
                f'<br align="left"/></td>'
                for column in columns
                if column
            )
            yield (
                f'  {name} [label=<<table border="1" cellborder="0" color="#888888" bgcolor="#f7f7f4">'
                f'<tr><td colspan="2"><b>{name}</b></td></tr><tr>{cells}</tr></table>>];'
            )
        yield "  {rank=same; " + "; ".join(here) + "}" if here else ""
    for number, ((a, b), n) in enumerate(between.items(), 1):
        yield f'  {a} -> {b} [label="{number}"];'
    yield "  tensor -> base [style=invis];"
    yield "}"


def main(step, whole, out):
    calls = read(step)
    reached, back = first_reached(calls), climbs(calls)
    print(f"a training step uses {len(reached)} files; {len(back)} calls lead back up")
    for path in reached:
        print("   ", path)
    for a, b in back:
        print(f"    up: {a} -> {b}")
    dot = "\n".join(figure(read(whole)))
    subprocess.run(["dot", "-Tsvg", "-o", out], input=dot, text=True, check=True)


main(*sys.argv[1:])
