#!/usr/bin/env python3
"""Runs a frozen list of commands and digests everything that they print and write, to prove that a change keeps behaviour.

corpus.py run BUILD OUT [--cases PATTERN]   runs the cases of the lists *.txt in this folder with BUILD/nvdp, writes OUT
corpus.py compare OLD NEW [--text]          prints the differences of two such files; exit status 1 if there are any;
                                            names the cases of NEW that OLD lacks, which are no differences
corpus.py check BUILD [--freeze]            runs the cases of digests, whose digests no processor changes, and compares
                                            them with that file, or writes the digests to that file
corpus.py allocations BUILD [--most N]      lets allocations of ten commands fail, one at a time: each of a command that has at
                                            most N, else every k-th

A list has cases; each runs in an empty folder whose path is the same in every run.
  == NAME              begins a case
  |TEXT, \\|TEXT       a line of the file that the next `write` names; without end of line
  write FILE           writes these lines to a file
  input FILE NAME      copies a file of inputs.tar.xz
  mkdir DIR, link FILE TARGET, remove FILE
  $ COMMAND            a line for sh.  {T}: the case's folder.  {S}: the source folder
The clocks and the random generator of the system are replaced (still.c), and one processor is used, so that nothing varies."""
import argparse, concurrent.futures, fcntl, fnmatch, hashlib, json, os, platform, re, shlex, shutil, subprocess, sys, tarfile, threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
ROOT = Path('/tmp/nvdp-corpus')  # file contents name it, so it must not vary
# The last command of each of these cases is run once per allocation.
FAILING = ['account.json', 'attack.exposure_and_audit', 'bad_input.rows_of_a_task', 'explain.guess_bounds_of_a_clip', 'gate.passes_and_fails_a_release',
           'pipeline.certify_a_run', 'pipeline.export_and_reuse', 'predict.new_texts_through_the_noise', 'sanitize.lines', 'verify.signs_and_verifies']
FAULT = re.compile(r'ERROR: (Address|Leak)Sanitizer|runtime error:|Segmentation fault')


def read_cases(patterns):
    cases = {}
    for path in sorted(HERE.glob('*.txt')):
        steps = None
        for line in path.read_text().split('\n'):
            if line.startswith('== '):
                steps = cases.setdefault(line[3:], [])
            elif line and not line.startswith('#'):
                steps.append(line)
    return {name: steps for name, steps in cases.items()
            if not patterns or any(fnmatch.fnmatch(name, p) for p in patterns)}


def digest(data):
    return hashlib.sha256(data).hexdigest()[:12]


def snapshot(folder):
    """Digests of all files, and targets of all links, below a folder."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = Path(base, name)
            key = str(path.relative_to(folder))
            if path.is_symlink():
                found[key] = '-> ' + os.readlink(path)
            elif path.is_file():
                found[key] = digest(path.read_bytes())
    return found


def named(text, folder):
    """Replaces {T} and {S}.  The source folder has the same name for every work tree, because messages show it."""
    return text.replace('{T}', str(folder)).replace('{S}', str(ROOT / 'source'))


class Runner:
    def __init__(self, build):
        self.build = Path(build).resolve()
        self.idle = list(range(os.cpu_count()))
        self.lock = threading.Lock()
        self.alone = open(f'{ROOT}.lock', 'w')  # another run on this machine, of any work tree, ends first
        fcntl.flock(self.alone, fcntl.LOCK_EX)
        shutil.rmtree(ROOT, ignore_errors=True)
        (ROOT / 'bin').mkdir(parents=True)
        for program in ('nvdp', 'nvdp-demo'):
            (ROOT / 'bin' / program).symlink_to(self.build / program)
        (ROOT / 'source').symlink_to(SOURCE)
        with tarfile.open(HERE / 'inputs.tar.xz') as tar:
            tar.extractall(ROOT / 'inputs', filter='data') if hasattr(tarfile, 'data_filter') else tar.extractall(ROOT / 'inputs')

    def environment(self, folder, extra):
        return {'PATH': f'{ROOT}/bin:/usr/local/bin:/usr/bin:/bin', 'LD_PRELOAD': str(self.build / 'tests' / 'still.so'),
                'HOME': str(folder), 'XDG_CACHE_HOME': str(folder / 'cache'), 'LC_ALL': 'C.UTF-8', 'OMP_NUM_THREADS': '1',
                'OMP_WAIT_POLICY': 'passive', 'COLUMNS': '100', **extra}

    def step(self, folder, line, texts):
        """Does a step that is no command."""
        word, name, *value = shlex.split(line)
        path = folder / name
        if word == 'mkdir':
            path.mkdir(parents=True, exist_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if word == 'remove':
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        elif word == 'link':
            path.unlink(missing_ok=True)
            path.symlink_to(named(value[0], folder))
        elif word == 'write':
            path.unlink(missing_ok=True)
            path.write_text(named(''.join(texts), folder))
        elif word == 'input':
            path.unlink(missing_ok=True)
            shutil.copy(ROOT / 'inputs' / value[0], path)
        else:
            raise SystemExit(f'corpus.py: unknown step: {line}')

    def shell(self, folder, processor, command, **extra):
        return subprocess.run(['taskset', '-c', str(processor), 'sh', '-c', command], cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=600, env=self.environment(folder, extra))

    def case(self, name, steps, then=None):
        """Does the steps of a case.  Returns a list of the digests after each command, or what then(folder, processor) returns."""
        with self.lock:
            processor = self.idle.pop()
        folder = ROOT / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        results, texts, before = [], [], {}
        try:
            for line in steps:
                if line[0] == '|' or line.startswith('\\|'):
                    texts.append(line[1:] + '\n' if line[0] == '|' else line[2:])
                    continue
                if not line.startswith('$ '):
                    self.step(folder, line, texts)
                    texts = []
                    continue
                command = named(line[2:], folder)
                before = snapshot(folder)
                done = self.shell(folder, processor, command)
                after = snapshot(folder)
                files = {k: after.get(k, 'gone') for k in sorted({*before, *after}) if before.get(k) != after.get(k)}
                results.append({'command': line[2:], 'code': done.returncode, 'out': digest(done.stdout), 'err': digest(done.stderr), 'files': files,
                                'text': (done.stdout + done.stderr).decode(errors='replace')[-4000:]})
            return results if then is None else then(folder, processor)
        finally:
            with self.lock:
                self.idle.append(processor)
            shutil.rmtree(folder, ignore_errors=True)

    def allocations(self, name, steps, most):
        """Runs the last command of a case once per allocation, or at `most` of its allocations.  Returns a list of faults."""
        last = max(k for k, line in enumerate(steps) if line.startswith('$ '))

        def then(folder, processor):
            saved, count = folder.with_name(name + '.saved'), folder.with_name(name + '.count')
            command = named(steps[last][2:], folder)
            shutil.copytree(folder, saved, symlinks=True)

            def once(**extra):
                shutil.rmtree(folder)
                shutil.copytree(saved, folder, symlinks=True)
                return self.shell(folder, processor, command, ASAN_OPTIONS='verify_asan_link_order=0', **extra)

            expected = once(NVDP_STILL_COUNT=str(count)).returncode
            total, faults = int(count.read_text()), []
            tried = range(1, total + 1, max(1, -(-total // most)))
            for k in tried:
                done = once(NVDP_STILL_FAIL=str(k))
                text = done.stderr.decode(errors='replace')
                if FAULT.search(text) or done.returncode not in (1, expected):
                    faults.append(f'{name}: allocation {k} of {total}: exit status {done.returncode}: {text[-2000:]}')
            shutil.rmtree(saved)
            print(f'{name}: {len(tried)} of {total} allocations, {len(faults)} faults', flush=True)
            return faults

        return self.case(name, steps[:last], then)


def allocations(args):
    cases, runner = read_cases(args.cases or FAILING), Runner(args.build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = sum(pool.map(lambda name: runner.allocations(name, cases[name], args.most), cases), [])
    print('\n'.join(faults))
    sys.exit(len(faults) > 0)


def cases_of(build, cases):
    """Runs cases. Returns the digests after each command by case."""
    runner = Runner(build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(cases, pool.map(lambda name: runner.case(name, cases[name]), cases)))


def run(args):
    found = cases_of(args.build, read_cases(args.cases))
    Path(args.out).write_text(json.dumps(found, indent=1))
    print(f'{len(found)} cases, {sum(map(len, found.values()))} commands, {sum(len(r["files"]) for c in found.values() for r in c)} files')


def check(args):
    """Runs the cases of digests. Its first line names the compiler and the C library that the digests depend on."""
    path, here = HERE / 'digests', f'# {platform.freedesktop_os_release()["PRETTY_NAME"]}, {platform.machine()}'
    head, *lines = path.read_text().splitlines()
    if head != here and not args.freeze:
        print(f'skipped: {path.name} is for {head[2:]}, this system is {here[2:]}. corpus.sh record and compare work on every system')
        return
    frozen = {name: value for value, name in map(str.split, lines)}
    found = cases_of(args.build, read_cases(frozen))
    now = {name: digest(json.dumps([{k: v for k, v in r.items() if k != 'text'} for r in c], sort_keys=True).encode()) for name, c in found.items()}
    if args.freeze:
        path.write_text('\n'.join([here, *(f'{now[name]} {name}' for name in sorted(now))]) + '\n')
        return
    other = [name for name in frozen if now.get(name) != frozen[name]]
    print(f'{len(frozen)} cases, {sum(map(len, found.values()))} commands, {len(other)} cases differ')
    if other:
        sys.exit(f'to see the differences: corpus.sh record REVISION, then corpus.sh compare {" ".join(other)}. '
                 'If they are intended: corpus.sh freeze, and the commit says why')


def compare(args):
    old, new = (json.loads(Path(p).read_text()) for p in (args.old, args.new))
    differences, missing = 0, []
    names = {n for n in {*old, *new} if not args.cases or any(fnmatch.fnmatch(n, p) for p in args.cases)}
    for name in sorted(names):
        if name not in old:
            missing.append(name)
            continue
        if name not in new or [r.get('command') for r in old[name]] != [r.get('command') for r in new[name]]:
            print(f'{name}: ' + ('other commands than recorded' if name in new else 'recorded, but not run'))
            differences += 1
            continue
        for k, (a, b) in enumerate(zip(old[name], new[name]), 1):
            what = [key for key in ('code', 'out', 'err') if a[key] != b[key]]
            what += [f for f in sorted({*a['files'], *b['files']}) if a['files'].get(f) != b['files'].get(f)]
            if what:
                differences += 1
                print(f'{name}, command {k}: {", ".join(what)}: {a["command"]}')
                if args.text and a['text'] != b['text']:
                    print('--- ' + a['text'].strip().replace('\n', '\n    ') + '\n+++ ' + b['text'].strip().replace('\n', '\n    '))
    if missing:
        print(f'not recorded, so not compared: {" ".join(missing)}')
    if len(missing) == len(names):
        sys.exit('corpus.py: no case was compared')
    print(f'{len(names) - len(missing)} cases compared, {differences} differences')
    sys.exit(differences > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest='command', required=True)
    one = commands.add_parser('run')
    one.add_argument('build')
    one.add_argument('out')
    one.add_argument('--cases', nargs='*')
    one.set_defaults(do=run)
    one = commands.add_parser('check')
    one.add_argument('build')
    one.add_argument('--freeze', action='store_true')
    one.set_defaults(do=check)
    one = commands.add_parser('compare')
    one.add_argument('old')
    one.add_argument('new')
    one.add_argument('--text', action='store_true')
    one.add_argument('--cases', nargs='*')
    one.set_defaults(do=compare)
    one = commands.add_parser('allocations')
    one.add_argument('build')
    one.add_argument('--cases', nargs='*')
    one.add_argument('--most', type=int, default=300)
    one.set_defaults(do=allocations)
    args = parser.parse_args()
    args.do(args)


if __name__ == '__main__':
    main()
