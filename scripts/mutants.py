#!/usr/bin/env python3
"""Changes the code at random lines, one line at a time, and says which changes the tests of the changed room notice.

mutants.py [--seed N] [--count N] [--only K,K] [--also MODULE,MODULE] [--revision REV]

Each change flips a comparison or a connective, changes a number, or drops a statement. The line is drawn from all lines of
src, rdp, nvib, vib, dchi and summary that have such a place. The changes depend on the seed and the code alone. The work is
done in a work tree, build/mutants/tree. Exit status 1 if a change is noticed by no test."""
import argparse, random, re, subprocess, sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
TREE = SOURCE / 'build/mutants/tree'
FOLDERS = 'src', 'rdp', 'nvib', 'vib', 'dchi', 'summary'
HIDDEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*|^#(?:\\\n|[^\n])*', re.S | re.M)
FLIPS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||', '||': '&&'}
FLIP = re.compile(r'(?<= )(?:' + '|'.join(map(re.escape, sorted(FLIPS, key=len, reverse=True))) + r')(?= )')
NUMBER = re.compile(r'(?<![\w.])\d+(?![\w.])')
STATEMENT = re.compile(r' +(?!return|break|continue|goto|const |struct |enum |static |nvdp__auto|case )'
                       r'(?:NVDP_TRY\(.*\)|[\w>.\[\]-]+ [-+*/|&]?= .*|[\w>.\[\]-]+(?:\+\+|--)|[a-z]\w*\(.*\));')


def places():
    """Returns {(file, line): [(start, end, replacement), ...]} of all lines with a possible change."""
    found = {}
    for path in sorted(p for folder in FOLDERS for p in (TREE / folder).rglob('*.c')):
        text = HIDDEN.sub(lambda m: re.sub(r'[^\n]', '\0', m[0]), path.read_text())
        for number, line in enumerate(text.split('\n')):
            at = [(m.start(), m.end(), FLIPS[m[0]]) for m in FLIP.finditer(line)]
            at += [(m.start(), m.end(), str(int(m[0]) + 1)) for m in NUMBER.finditer(line) if line.startswith('    ')]
            at += [(m.start(), m.end(), ';') for m in [STATEMENT.fullmatch(line)] if m]
            if at:
                found[path.relative_to(TREE), number] = at
    return found


def run(command, seconds=None):
    """Returns whether the command succeeds, within this time if there is a limit."""
    try:
        return subprocess.run(command, cwd=TREE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=20)
    parser.add_argument('--only', default='')
    parser.add_argument('--also', default='')
    parser.add_argument('--revision', default='HEAD')
    args = parser.parse_args()
    if not TREE.exists():
        subprocess.run(['git', 'worktree', 'add', '--quiet', '--detach', TREE, args.revision], cwd=SOURCE, check=True)
        if (SOURCE / 'models/minilm').exists():
            (TREE / 'models/minilm').symlink_to((SOURCE / 'models/minilm').resolve())
    subprocess.run(['git', 'checkout', '--quiet', '--force', '--detach', args.revision], cwd=TREE, check=True)
    only = {int(k) for k in args.only.split(',') if k}
    draw = random.Random(args.seed)
    lines = list(places().items())
    noticed = made = drawn = 0
    while made < (len(only) or args.count):
        (path, number), choices = draw.choice(lines)
        start, end, word = draw.choice(choices)
        drawn += 1
        if only and drawn not in only:
            continue
        text = (TREE / path).read_text()
        rows = text.split('\n')
        line = rows[number]
        rows[number] = line[:start] + word + line[end:]
        (TREE / path).write_text('\n'.join(rows))
        modules = [path.parts[path.parts[0] == 'src'], *(m for m in args.also.split(',') if m)]
        if run(['scripts/build.sh', 'release', '-j2', 'nvdp', *(f'test_{m}' for m in modules)]):
            made += 1
            by = next((m for m in modules if not run([f'build/release/tests/test_{m}', '-j1'], 600)), None)
            noticed += by is not None
            print(f'{drawn:2} {"noticed by " + by if by else "NOT NOTICED"}: {path}:{number + 1}: '
                  f'{line.strip()} -> {rows[number].strip()}', flush=True)
        (TREE / path).write_text(text)
    print(f'{noticed} of {made} changes noticed')
    sys.exit(noticed < made)


if __name__ == '__main__':
    main()
