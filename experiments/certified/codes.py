#!/usr/bin/env python3
"""How well can a score be read off a vector of norm C at most and noise of standard deviation 1, if base's prediction is all that is sent?

usage: codes.py PREDICTIONS.tsv DEV.tsv     (of nvdp predict BASE --split dev; STS-B's file with the scores)

A code gives each prediction a vector of length C; Gaussian noise is added, and the mean of the predictions given what arrived (each
equally likely a priori) is the reading.  Two codes: an arc, on which the prediction's rank is the angle, the best length of some;
and, where there is torch, the vectors in 16 dimensions that Adam finds for 60 groups of predictions, beginning with an arc.  Prints
Pearson's correlation of the readings with the scores for each C."""
import sys
import numpy as np

try:
    import torch
except ImportError:
    torch = None

LENGTHS = np.pi * np.array([0.5, 0.75, 1, 1.25, 1.5, 1.75])
DRAWS, GROUPS, DIMENSIONS, STEPS = 200, 60, 16, 600


def column(path, name):
    with open(path, encoding="utf-8") as file:
        head, *lines = [line.split("\t") for line in file.read().splitlines()]
    return np.array([float(line[head.index(name)]) for line in lines])


def correlation(prediction, score, code, rng):
    """code [texts, dimensions]: mean over draws of noise."""
    found = []
    for _ in range(DRAWS):
        log_density = (code + rng.standard_normal(code.shape)) @ code.T  # all vectors are of one length
        density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        found.append(np.corrcoef(density @ prediction / density.sum(axis=1), score)[0, 1])
    return np.mean(found)


def arc(place, norm, length):
    return norm * np.stack([np.cos(length * place), np.sin(length * place)], axis=1)


def trained(value, norm, length):
    """value [GROUPS], rising: the code whose readings are the nearest to it on average."""
    torch.manual_seed(1)
    code = 0.1 * torch.randn(GROUPS, DIMENSIONS)
    code[:, :2] += torch.tensor(arc(np.arange(GROUPS) / GROUPS, 1, length), dtype=torch.float32)
    code.requires_grad_(True)
    value = torch.tensor(value, dtype=torch.float32)
    adam = torch.optim.Adam([code], lr=0.03)
    for step in range(STEPS):
        adam.param_groups[0]["lr"] = 0.03 if step < 2 * STEPS / 3 else 0.005
        vector = norm * torch.nn.functional.normalize(code)
        arrived = vector.repeat(40, 1) + torch.randn(40 * GROUPS, DIMENSIONS)
        loss = ((torch.softmax(arrived @ vector.T, 1) @ value - value.repeat(40)) ** 2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    return norm * torch.nn.functional.normalize(code).detach().numpy()


def main():
    prediction, score = column(sys.argv[1], "prediction"), column(sys.argv[2], "score")
    rank = np.argsort(np.argsort(prediction))
    group = rank * GROUPS // len(rank)
    value = np.array([prediction[group == g].mean() for g in range(GROUPS)])
    print("base   %.1f" % (100 * np.corrcoef(prediction, score)[0, 1]))
    for norm in (0.5, 1, 1.5, 2, 3, 5):
        rng = np.random.default_rng(1)
        best, length = max((correlation(prediction, score, arc(rank / len(rank), norm, length), rng), length) for length in LENGTHS)
        line = "C %-4g arc of %.2f pi %.1f" % (norm, length / np.pi, 100 * best)
        if torch is not None:
            line += "   trained %.1f" % (100 * correlation(prediction, score, trained(value, norm, length)[group], rng))
        print(line, flush=True)


if __name__ == "__main__":
    main()
