#!/usr/bin/env python3
"""Counts the C code outside tests: files, statements (semicolons), functions by room, and exported functions; and the lines of
tests in C without comments and empty lines.

size.py [--sum]            prints a line per room, and the sum. Layout and comments do not change the counts.
size.py --check CEILING    compares the counts with a file of upper bounds; exit status 1 if a count is above
size.py --write CEILING    writes the counts as upper bounds; statements, functions and lines of tests plus 2 %
"""
import argparse, collections, math, re, sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
FOLDERS = ['src', 'rdp', 'nvib', 'vib', 'dchi', 'summary', 'include']
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', re.S)
COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|/\*.*?\*/|//[^\n]*', re.S)
SPARE = 'statements', 'functions', 'lines of tests'
FUNCTION = re.compile(r'^[A-Za-z_][^;{}=]*\)\s*\{', re.M)
HOW_TO_RAISE = 'Make the change smaller. If the feature needs the room: tests/package/size.py --write tests/package/size.txt, ' \
               'and the commit says why.'


def count():
    """Returns {room: [files, statements, functions]}. A room is a folder of src or one of the other folders."""
    rooms = collections.defaultdict(lambda: [0, 0, 0])
    for path in sorted(p for folder in FOLDERS for p in (SOURCE / folder).rglob('*.*')):
        if path.suffix not in ('.c', '.h', '.inc'):
            continue
        parts = path.relative_to(SOURCE).parts
        text = NOT_CODE.sub(' ', path.read_text(encoding='utf-8'))
        room = rooms['/'.join(parts[:2]) if parts[0] == 'src' else parts[0]]
        room[0] += 1
        room[1] += text.count(';')
        room[2] += len(FUNCTION.findall(text)) if path.suffix == '.c' else 0
    return rooms


def bounds(rooms):
    """Returns the counts that have upper bounds, by name."""
    statements, functions = (sum(r[k] for r in rooms.values()) for k in (1, 2))
    exported = len((SOURCE / 'tests/package/exports.txt').read_text().split())
    tests = (COMMENT.sub(r'\1', path.read_text(encoding='utf-8')) for path in (SOURCE / 'tests').rglob('*.c'))
    lines = sum(bool(line.strip()) for text in tests for line in text.split('\n'))
    return {'statements': statements, 'functions': functions, 'exported functions': exported, 'lines of tests': lines,
            **{f'files of {room}': rooms[room][0] for room in sorted(rooms)}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--sum', action='store_true')
    parser.add_argument('--check', type=Path)
    parser.add_argument('--write', type=Path)
    args = parser.parse_args()
    rooms = count()
    found = bounds(rooms)
    if args.write:
        ceiling = {name: math.ceil(n * 1.02) if name in SPARE else n for name, n in found.items()}
        args.write.write_text(''.join(f'{n:6} {name}\n' for name, n in ceiling.items()))
        return
    if args.check:
        lines = (line.split(None, 1) for line in args.check.read_text().splitlines())
        ceiling = {name: int(n) for n, name in lines}
        above = [f'{name}: at most {ceiling.get(name, 0)}, found {n}' for name, n in found.items() if n > ceiling.get(name, 0)]
        if above:
            sys.exit('\n'.join([f'The code is larger than {args.check.name} allows:', *above, HOW_TO_RAISE]))
        return
    line = '{:16} files {:4} statements {:6} functions {:5}'
    for room in [] if args.sum else sorted(rooms):
        print(line.format(room, *rooms[room]))
    print(line.format('all', *(sum(r[k] for r in rooms.values()) for k in range(3))))
    print(f'exported functions {found["exported functions"]}, lines of tests {found["lines of tests"]}')


if __name__ == '__main__':
    main()
