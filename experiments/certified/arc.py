#!/usr/bin/env python3
"""How well can a score be read off a vector of norm C and noise of standard deviation 1?  Base's prediction as a place on an arc.

usage: arc.py PREDICTIONS.tsv DEV.tsv     (of nvdp predict BASE --split dev; STS-B's file with the scores)

Each prediction's rank among all is an angle, of 0 to A; the vector of length C at this angle is sent, Gaussian noise added, and the
mean of the predictions given what arrived (each equally likely beforehand) is the reading.  Prints, for each C, the best A of some
and Pearson's correlation of the readings with the scores, over 200 draws of noise a text."""
import sys
import numpy as np

ANGLES = np.pi * np.array([0.5, 0.75, 1, 1.25, 1.5, 1.75])
DRAWS = 200


def column(path, name):
    with open(path, encoding="utf-8") as file:
        head, *lines = [line.split("\t") for line in file.read().splitlines()]
    return np.array([float(line[head.index(name)]) for line in lines])


def readings(prediction, norm, angle, rng):
    at = angle * np.argsort(np.argsort(prediction)) / len(prediction)
    mean = norm * np.stack([np.cos(at), np.sin(at)], axis=1)
    for _ in range(DRAWS):
        log_density = (mean + rng.standard_normal(mean.shape)) @ mean.T  # all means are of one length
        density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        yield density @ prediction / density.sum(axis=1)


def main():
    prediction, score = column(sys.argv[1], "prediction"), column(sys.argv[2], "score")
    print("base   %.1f" % (100 * np.corrcoef(prediction, score)[0, 1]))
    for norm in (0.5, 1, 1.5, 2, 3, 5):
        rng = np.random.default_rng(1)
        found = [(np.mean([np.corrcoef(r, score)[0, 1] for r in readings(prediction, norm, angle, rng)]), angle) for angle in ANGLES]
        best, angle = max(found)
        print("C %-4g %.1f   arc %.2f pi" % (norm, 100 * best, angle / np.pi))


if __name__ == "__main__":
    main()
