#!/usr/bin/env python3
"""Figure 1 of Hoory et al. 2021: epsilon, and how a tagger does, over the noise, the epochs and the batch of private pretraining.

usage: private_sweeps.py --data BC5CDR --model models/compact --out DIR [--public TEXT] [--jobs 2] [--nvdp build/release/nvdp]

The sentences of BC5CDR's train.tsv and devel.tsv (CoNLL columns) are the private text, ten a document, with which pretraining of the
model goes on; of test.tsv the held-out text.  Each model's encoder, frozen, then gets a tagger, trained on train.tsv and scored on
test.tsv, with five seeds.  With --public one model more goes on with that text, without privacy: what any text does.  What is there
already is left as it is.  Prints the table (Markdown); DIR/figure1.gp draws figure1.svg, where there is gnuplot."""
import argparse
import concurrent.futures
import decimal
import json
import os
import shutil
import statistics
import subprocess

SENTENCES = 10  # a document
SEEDS = range(1, 6)
STUDENT = 2.776  # of five, 95 %
UP = decimal.Context(prec=3, rounding=decimal.ROUND_CEILING)  # a proven epsilon is an upper bound
STEPS, BATCH, NOISE = 80, 256, 0.632
SWEEPS = {  # (noise, batch, steps) each
    "noise": [(noise, BATCH, STEPS) for noise in (0.45, NOISE, 1, 2)],
    "epochs": [(NOISE, BATCH, steps) for steps in (20, 40, STEPS, 160)],
    "batch, and noise with it": [(NOISE * batch / BATCH, batch, STEPS) for batch in (64, 128, BATCH, 512)],
}
AXES = {  # what a sweep is drawn over, of a setting and the number of private examples
    "noise": lambda setting, examples: setting[0],
    "epochs": lambda setting, examples: setting[2] * setting[1] / examples,
    "batch, and noise with it": lambda setting, examples: setting[1],
}
PLAIN, PUBLIC = (0, 32, 300), (0, 0, 0)
CONTROL = (None, *PLAIN[1:])  # with the public text


def sentences(paths):
    for path in paths:
        words = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.strip():
                    words.append(line.rstrip("\n").split("\t")[0])
                elif words:
                    yield " ".join(words)
                    words = []
        if words:
            yield " ".join(words)


def write_texts(options):
    for name, parts in (("private", ("train", "devel")), ("held-out", ("test",))):
        lines = list(sentences(f"{options.data}/{part}.tsv" for part in parts))
        with open(f"{options.out}/{name}.txt", "w", encoding="utf-8") as file:
            for first in range(0, len(lines), SENTENCES):
                file.write("\n".join(lines[first : first + SENTENCES]) + "\n\n")
    os.makedirs(f"{options.out}/data", exist_ok=True)
    shutil.copy(f"{options.data}/train.tsv", f"{options.out}/data/train.tsv")
    shutil.copy(f"{options.data}/test.tsv", f"{options.out}/data/dev.tsv")


def name_of(setting):
    return "public" if setting == PUBLIC else "control" if setting == CONTROL else "noise-%g-batch-%g-steps-%g" % setting


def nvdp(options, *arguments):
    environment = dict(os.environ, OMP_NUM_THREADS=str(max(1, (os.cpu_count() or 1) // options.jobs)))
    done = subprocess.run([options.nvdp, *map(str, arguments), "--quiet", "--json"], env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def pretrain(options, setting):
    """Returns the folder of the model, its epsilon (None without a guarantee) and its loss on the held-out text."""
    noise, batch, steps = setting
    out = f"{options.out}/model/{name_of(setting)}"
    if setting == PUBLIC:
        if not os.path.exists(out + ".json"):
            found = nvdp(options, "pretrain", "--eval", "--model", options.model, "--text", f"{options.out}/held-out.txt", "--length", 64, "--limit", 2000)
            with open(out + ".json", "w", encoding="utf-8") as file:
                json.dump(found, file)
        return options.model, None, read(out + ".json")
    if not os.path.exists(out + "/result.json"):
        how = ["--batch", batch, "--optimizer", "adamw"]
        if noise:
            how = ["--batch", 32, "--dp-batch", batch, "--dp-noise", noise, "--dp-clip", 0.1, "--target-delta", 1e-5, "--insecure-seed", 1]
        start = ["--resume", out]
        text = options.public if setting == CONTROL else f"{options.out}/private.txt"
        if not os.path.exists(out + "/state.ckpt"):
            start = ["--text", text, "--init", options.model, "--length", 64, "--lr", 5e-4, "--steps", steps,
                     "--eval-text", f"{options.out}/held-out.txt", "--eval-limit", 2000, "--out", out, "--overwrite", *how]
        nvdp(options, "pretrain", *start)
    result = read(out + "/result.json")
    return out, result["dp"]["pld"]["epsilon"] if noise else None, result["evaluation"]


def measure(options, setting):
    model, epsilon, held_out = pretrain(options, setting)
    scores = []
    for seed in SEEDS:
        out = f"{options.out}/tagger/{name_of(setting)}-{seed}"
        if not os.path.exists(out + "/result.json"):
            nvdp(options, "train", "--task", "ner", "--data", f"{options.out}/data", "--model", model, "--method", "base", "--freeze-layers", options.layers,
                 "--epochs", 15, "--lr", 3e-3, "--seed", seed, "--select", "last", "--out", out, "--overwrite")
        scores.append(100 * read(out + "/result.json")["test"]["metrics"]["entity_f1"]["mean"])
    return {"epsilon": epsilon, "held_out": held_out, "scores": scores}


def gain(found, setting):
    """Returns the mean gain in F1 over the tagger of the public model with the same seed, and half of its 95 % interval."""
    gains = [score - before for score, before in zip(found[setting]["scores"], found[PUBLIC]["scores"])]
    return statistics.mean(gains), STUDENT * statistics.stdev(gains) / len(SEEDS) ** 0.5


def table(found):
    print("| | noise | batch | steps | epsilon at 1e-5 | perplexity | masked accuracy | F1 | gain |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    rows = [("public model", PUBLIC), ("without privacy", PLAIN)] + [("public text", CONTROL)] * (CONTROL in found)
    rows += [(sweep, setting) for sweep, settings in SWEEPS.items() for setting in settings]
    for sweep, (noise, batch, steps) in rows:
        of = found[noise, batch, steps]
        epsilon = UP.create_decimal_from_float(of["epsilon"]) if of["epsilon"] is not None else "-"
        more = "%+.2f ± %.2f" % gain(found, (noise, batch, steps)) if steps > 0 else "-"
        print("| %s | %s | %s | %s | %s | %.2f | %.3f | %.2f | %s |" % (
            sweep, "%.3g" % noise if noise else "-", batch or "-", steps or "-", epsilon, of["held_out"]["perplexity"],
            of["held_out"]["accuracy"], statistics.mean(of["scores"]), more))


def figure(options, found, examples):
    path = f"{options.out}/figure1"
    with open(path + ".gp", "w", encoding="utf-8") as file:
        file.write("set terminal svg enhanced size 1100,340 dynamic font 'sans,11'\nset lmargin 9\nset rmargin 9\nset output '%s.svg'\nset multiplot layout 1,3\n" % path)
        file.write("set logscale x 2\nset logscale y\nset y2tics\nset ytics nomirror\nset ylabel 'epsilon' textcolor rgb '#c0392b'\nset y2label 'gain in F1' textcolor rgb '#2060a0'\n")
        file.write("set key off\n")
        gains = [gain(found, setting) for settings in SWEEPS.values() for setting in settings]
        file.write("set y2range [%g:%g]\n" % (min(0, min(mean - off for mean, off in gains) - 0.05), max(mean + off for mean, off in gains) + 0.05))
        for sweep, settings in SWEEPS.items():
            at = [AXES[sweep](setting, examples) for setting in settings]
            file.write("set xlabel '%s'\nset xrange [%g:%g]\nunset xtics\nset xtics nolog (%s)\n$points << end\n" % (
                sweep, min(at) / 1.2, max(at) * 1.2, ", ".join("'%.2g' %g" % (x, x) if x < 10 else "'%g' %g" % (x, x) for x in at)))
            for x, setting in zip(at, settings):
                file.write("%g %g %g %g\n" % (x, found[setting]["epsilon"], *gain(found, setting)))
            file.write("end\nplot $points using 1:2 with linespoints pt 7 lc rgb '#c0392b', "
                       "'' using 1:3:4 axes x1y2 with yerrorlines pt 5 lc rgb '#2060a0'\n")
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", path + ".gp"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--public")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--nvdp", default="build/release/nvdp")
    options = parser.parse_args()
    os.makedirs(options.out + "/model", exist_ok=True)
    write_texts(options)
    options.layers = read(options.model + "/config.json")["num_hidden_layers"]
    settings = {setting for sweep in SWEEPS.values() for setting in sweep} | {PLAIN, PUBLIC} | ({CONTROL} if options.public else set())
    settings = sorted(settings, key=lambda s: -s[1] * s[2])
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = dict(zip(settings, pool.map(lambda setting: measure(options, setting), settings)))
    table(found)
    examples = read(f"{options.out}/model/{name_of(SWEEPS['noise'][0])}/result.json")["dp"]["examples"]
    figure(options, found, examples)


if __name__ == "__main__":
    main()
