#!/bin/bash
# Pages of experiments/results that a study of experiments writes follow from its records: writes each again and compares.
# Also measures with a stand-in for nvdp that prints {"changed": 1, ...}, and checks that a measurement runs once, that other options
# measure again, that a page is not written from numbers of other inputs, that a long measurement is left out, that the script stops if
# nvdp fails, and that a measurement whose output another needs runs again if the output is gone. Other options of a measurement that
# makes an output measure again what reads the output; records without "made" stay until then. A record names its version, data and code, and
# the page counts the records of older code; the comparison of pages leaves out this sentence, because each change of the code changes it.
# usage: papers.sh SOURCE SCRATCH
set -euo pipefail
source=$1 scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch/study"
cd "$source"
export PYTHONDONTWRITEBYTECODE=1
for study in experiments/{papers/*,*}/run.py; do
    name=$(dirname "${study#experiments/}")
    name=${name/\//-}
    if ! "$study" page --page "$scratch/$name.md" --out "$scratch/out" 2>"$scratch/error"; then
        grep "No module named 'numpy'" "$scratch/error" || { cat "$scratch/error"; exit 1; }
        continue # a Python without numpy cannot write this page
    fi
    diff -u <(grep -v '^Records: ' "experiments/results/$name.md") <(grep -v '^Records: ' "$scratch/$name.md")
    left=$("$study" --dry-run --nvdp "$scratch/none" --out "$scratch/out" | tee "$scratch/left" | sed -n 's/ measurements are left.*//p')
    [ "$left" = "$(grep -c ' hours, .* in all$' "$scratch/left")" ]
done

printf '#!/bin/sh\n[ "$1" != --version ] || exec echo nvdp 9.9\necho "$@" >>"%s/calls"\nwhile [ $# -gt 0 ]; do [ "$1" != --out ] || mkdir -p "$2"; shift; done\necho "{\\"changed\\": 1, \\"scores\\": [{\\"of\\": \\"a\\", \\"value\\": 7}, {\\"of\\": \\"b\\", \\"value\\": 8}]}"\n' "$scratch" >"$scratch/nvdp"
chmod +x "$scratch/nvdp"
cat >"$scratch/study/run.py" <<END
"""A study for tests.

The question of the page."""
import sys
sys.path.insert(0, "$source/experiments/papers")
from common import Study, Table, verdict
study = Study(__file__, "Title", {"rows": (10, "rows"), "lr": (1, "rate")})

@study.table
def table1(study):
    "Table 1: one"
    few = study.measure("few", "sanitize", "--limit", "{rows}", keep=["changed"])["changed"]
    long = study.measure("long", "sanitize", hours=2, keep=["changed", "scores.b.value"])["changed"]
    return Table(scale="Scale.", header=["", "ours"], rows=[["few", few], ["long", long]], verdict=verdict([few], lambda few: few == 1, "yes.", "no."))

@study.table
def table2(study):
    "Table 2: two, of what one made"
    study.measure("made", "sanitize", "--out", "{out}/made", hours=1, keep=["changed"])
    found = [study.measure("use/%d" % k, "sanitize", "--data", "{out}/made", "--rows", k, keep=["changed"])["changed"] for k in range(int(study.options.rows / 10))]
    return Table(scale="Scale.", header=["", "ours"], rows=[["use", found[-1]]], verdict=verdict(found, lambda *_: True, "yes.", "no."))

@study.table
def table3(study):
    "Table 3: three, what reads a file that reads what two made"
    made = study.measure("trained", "train", "--lr", "{lr}", "--out", "{out}/trained", hours=0.2, keep=["changed"])
    study.measure("exported", "export", "{out}/trained/model", "--out", "{out}/exported", keep=["changed"])
    attacked = study.measure("attacked", "attack", "{out}/exported", keep=["changed"])["changed"]
    return Table(scale="Scale.", header=["", "ours"], rows=[["attacked", attacked]], verdict=verdict([attacked], lambda *_: True, "yes.", "no."))

study.main()
END
measure() { python3 "$scratch/study/run.py" "$@" --nvdp "$scratch/nvdp" --out "$scratch/out" --page "$scratch/page.md" 2>/dev/null; }
calls() { [ "$(wc -l <"$scratch/calls")" = "$1" ] || { echo "expected $1 calls, found:"; cat "$scratch/calls"; exit 1; }; }
measure table1 | grep '^\*\*Agrees\*\*: yes\.$'
calls 1
measure table1 | grep -x '| long | not run; 2 hours estimated |'
calls 1
measure table1 --dry-run | grep -x 'long  *about   2.00 hours,    2.0 in all'
measure table1 --dry-run --rows 30 | grep -x '2 measurements are left, about 2.0 hours'
calls 1
measure page
grep -qx '| few | 1 |' "$scratch/page.md"
grep -q '^Records: 1 by nvdp 9\.9 (commit [^;]*)\.$' "$scratch/page.md"
for part in '"command": "experiments/[a-z/]*study/run.py table1"' '"version": "9.9"' '"precision": "f32"' '"code": "[0-9a-f]\{16\}"'; do grep -q "$part" "$scratch/study/records.json"; done
measure redraw | grep -x 'few: the same'
calls 2
sed -i 's/"changed": 1/"changed": 2/' "$scratch/study/records.json"
! measure redraw >"$scratch/differs"
grep -qx 'few: changed: stored 2, now 1' "$scratch/differs"
calls 3
sed -i 's/"changed": 2/"changed": 1/; s/"code": "[0-9a-f]*"/"code": "0"/' "$scratch/study/records.json"
measure page
grep -q '^Records: .*; 1 of them by an older version of the code behind them\.$' "$scratch/page.md"
sed -i 's/, "source": {.*"code": "0"}//' "$scratch/study/records.json"
measure page
grep -q '^Records: 1 recorded before records stated version, data and code\.$' "$scratch/page.md"
echo one >"$scratch/calls"
measure table1 --rows 20 >/dev/null
calls 2
measure table1 --rows 20 --hours 3 | grep -x '| long | 1 |'
grep -q '"scores.b.value": 8' "$scratch/study/records.json"
calls 3
cp "$scratch/page.md" "$scratch/before.md"
! python3 "$scratch/study/run.py" page --rows 30 --out "$scratch/out" --page "$scratch/page.md" 2>"$scratch/error" # numbers of other inputs
grep -q '^    --rows 30, stored: 20$' "$scratch/error"
cmp "$scratch/page.md" "$scratch/before.md"
calls 3
measure table2 --hours 1 | grep -x '| use | 1 |'
calls 5
measure table2 --rows 20 --hours 1 | grep -x '| use | 1 |'
calls 6
rm -r "$scratch/out/made"
measure table2 --rows 20 | grep -x '| use | 1 |' # nothing is left to run, so nothing is made again
calls 6
measure table2 --rows 30 | grep -x '| use | not run; 1 hours estimated |'
calls 6
measure table2 --rows 30 --hours 1 | grep -x '| use | 1 |'
calls 8
measure table3 --hours 1 | grep -x '| attacked | 1 |'
calls 11
measure table3 | grep -x '| attacked | 1 |'
calls 11
measure table3 --lr 2 | grep -x '| attacked | not run; 14 minutes estimated |' # its training is not run
! python3 "$scratch/study/run.py" table1 --rows 40 --nvdp false --out "$scratch/out" 2>"$scratch/error" # a failure of the program
grep -q '^run.py: nvdp sanitize stopped with status 1; ' "$scratch/error"
calls 11
measure table3 --lr 2 --hours 1 | grep -x '| attacked | 1 |'
calls 14
sed -i 's/"made": {"OUT[^}]*}, //' "$scratch/study/records.json"
measure table3 --lr 2 | grep -x '| attacked | 1 |'
calls 14
measure table3 --lr 3 --hours 1 | grep -x '| attacked | 1 |'
calls 17
measure table3 --lr 3 | grep -x '| attacked | 1 |'
calls 17
printf '["train", "--lr", "9"]' >"$scratch/out/trained.arguments" # an output of another training
sed -i '/^"exported"/d' "$scratch/study/records.json"
measure table3 --lr 3 --hours 1 | grep -x '| attacked | 1 |'
calls 19
