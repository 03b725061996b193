#!/usr/bin/env python3
"""One sample per author beside one sample per text, at the same epsilon per author.

Authors are generated: each has 1 to 20 reviews of SST-2 and a lean, and an author's label is the majority of the labels of the
author's reviews. A ridge regression learns it from the released vectors of two thirds of the authors, and is scored on the other
third. With samples of texts, an author's vector is the mean of the samples of the author's texts, whose clip is such that 20 texts
together have the epsilon of the row; the receiver has to know which samples are of one author.

EMBEDDINGS is a .npy file with the embedding of each row of train.tsv, by any encoder.

    python3 experiments/papers/persons.py --nvdp build/release/nvdp --data SST-2 --embeddings train.npy
"""
import argparse
import csv
import pathlib
import random
import statistics
import subprocess
import tempfile

import h5py
import numpy as np

MOST = 20  # reviews of an author


def read_reviews(data):
    """Returns the rows of different texts with at least eight words, by label."""
    with open(pathlib.Path(data) / "train.tsv", encoding="utf-8") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        found = {"".join(filter(str.isalnum, text.lower())): (i, int(label))
                 for i, (text, label) in enumerate(rows) if len(text.split()) >= 8}
    return [[i for i, label in found.values() if label == k] for k in (0, 1)]


def make_authors(reviews, count, rng):
    """Returns the rows and labels of authors, and public rows."""
    left = [rng.sample(rows, len(rows)) for rows in reviews]
    authors, labels = [], []
    while len(authors) < count:
        lean, size = rng.choice((0.2, 0.8)), rng.randint(1, MOST)
        given = [int(rng.random() < lean) for _ in range(size)]
        if 2 * sum(given) != size:
            authors.append([left[k].pop() for k in given])
            labels.append(int(2 * sum(given) > size))
    return authors, np.array(labels), left[0][:500] + left[1][:500]


def score(x, y, cut):
    """Returns the accuracy on the authors from `cut` on. Leave-one-out error chooses the penalty."""
    mean, t = x[:cut].mean(0), 2.0 * y - 1
    u, s, v = np.linalg.svd(x[:cut] - mean, full_matrices=False)
    centered = t[:cut] - t[:cut].mean()
    losses = []
    for penalty in s.max() ** 2 * np.geomspace(1e-3, 1e2, 26):
        shrink = s**2 / (s**2 + penalty)
        leverage = (u**2) @ shrink + 1 / cut
        losses.append((np.mean(((centered - (u * shrink) @ (u.T @ centered)) / (1 - leverage)) ** 2), penalty))
    penalty = min(losses)[1]
    w = v.T @ ((s / (s**2 + penalty)) * (u.T @ centered))
    return float(np.mean(((x[cut:] - mean) @ w + t[:cut].mean() > 0) == (y[cut:] == 1)))


def release(args, folder, unit, clip):
    """Returns the released vectors of method `unit`, whose persons or texts have this clip."""
    out = folder / "out.h5"
    subprocess.run([args.nvdp, "export", "--vectors", str(folder / "rows.npz"), "--vectors-name", "x",
                    "--center", str(folder / "public.npz"), "--clip-sequence", str(clip), "--unit", unit,
                    *(["--person", "author"] if unit == "person" else ["--measure-texts", "1"]),
                    *(["--reduce", args.reduce] if args.reduce else []),
                    "--no-ledger", "--out", str(out), "--overwrite", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    with h5py.File(out) as file:
        return file["z"][...].reshape(file["z"].shape[0], -1) * file.attrs["z_step"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdp", default="nvdp")
    parser.add_argument("--data", required=True)
    parser.add_argument("--embeddings", required=True)
    parser.add_argument("--authors", type=int, default=2000)
    parser.add_argument("--reduce", default="")
    parser.add_argument("--clips", default=".8331,1.4527,3.008,30",
                        help="C of an author: epsilon 8, 16, 43, and nearly no noise")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", default="persons.csv")
    args = parser.parse_args()
    reviews, embeddings, found = read_reviews(args.data), np.load(args.embeddings, mmap_mode="r"), {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for seed in range(1, args.seeds + 1):
            authors, labels, public = make_authors(reviews, args.authors, random.Random(seed))
            sizes = [len(rows) for rows in authors]
            np.savez(folder / "public.npz", x=embeddings[sorted(public)])
            np.savez(folder / "rows.npz", x=embeddings[np.concatenate(authors)],
                     author=np.repeat(np.arange(len(authors)), sizes))
            for clip in args.clips.split(","):
                for unit in ("person", "text"):
                    z = release(args, folder, unit, float(clip) / (MOST**0.5 if unit == "text" else 1))
                    if unit == "text":
                        z = np.array([part.mean(0) for part in np.split(z, np.cumsum(sizes)[:-1])])
                    assert len(z) == args.authors
                    found.setdefault((clip, unit), []).append(score(z, labels, 2 * args.authors // 3))
                    print(seed, clip, unit, found[clip, unit][-1], flush=True)
    with open(args.out, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["clip", "unit", "accuracy", "deviation", "seeds"])
        for (clip, unit), scores in found.items():
            rows.writerow([clip, unit, f"{statistics.mean(scores):.3f}",
                           f"{statistics.stdev(scores) if len(scores) > 1 else 0:.3f}", len(scores)])


if __name__ == "__main__":
    main()
