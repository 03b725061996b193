#!/usr/bin/env python3
"""Prints the last table of the demo from report.json and bound.json, and fails if a score is not as it must be: table.py OUT_DIR."""
import json
import pathlib
import sys

CHANCE = 0.125
out = pathlib.Path(sys.argv[1])
report = json.loads((out / "report.json").read_text())
bound = json.loads((out / "bound.json").read_text())["guess"][0]["bound"]


def percent(group, name):
    """Returns the mean over seeds of a quantity of the group, or None if it was not measured."""
    value = group["quantities"].get(name) if name != "opinion" else group["scores"]["accuracy"]
    return value and value["mean"]


rows = []
for group in report["groups"]:
    epsilon = percent(group, "certified_epsilon")
    reader = percent(group, "reader")
    rows.append((group["label"], reader if reader is not None else percent(group, "opinion"), percent(group, "attack"), epsilon))
rows.sort(key=lambda row: (row[3] is not None, -(row[3] or 0), -(row[2] or 0)))

print(f"{'mean of three seeds':<24}{'opinion':>9}{'name found':>12}  guarantee for every text")
for label, opinion, name, epsilon in rows:
    proven = f"epsilon {epsilon:.4g} at delta 1e-5" if epsilon is not None else "none"
    print(f"{label:<24}{100 * opinion:>7.1f} %{100 * name:>10.1f} %  {proven}")
print(f"{'always the same answer':<24}{50:>7.1f} %{100 * CHANCE:>10.1f} %")

plain = rows[0]
best = next(row for row in rows if row[3] is not None)
print(f"\nPlain embeddings give the name away in {100 * plain[2]:.0f} % of the texts. The certified release keeps the opinion at "
      f"{100 * best[1]:.0f} %.\nThe attacker finds the name in {100 * best[2]:.0f} %; at most {100 * bound:.0f} % is proven for any attacker.")  # fmt: skip

faults = [f"{label}: opinion {opinion:.3f}, expected above .65" for label, opinion, _, _ in rows if opinion < 0.65]
faults += [f"{label}: the name is found in {name:.3f}, above the proven {bound:.3f}" for label, _, name, eps in rows if eps is not None and name > bound]
faults += [f"{plain[0]}: the name is found in {plain[2]:.3f}, expected above .95"] if plain[2] < 0.95 else []
for fault in faults:
    print("demo: " + fault, file=sys.stderr)
sys.exit(1 if faults else 0)
