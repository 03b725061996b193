#!/usr/bin/env python3
"""Text privatization as Python has it, for comparison: SanText's published algorithm, and the nearest
token to a noised vector by numpy one text at a time and by torch in batches.  Prints seconds as JSON.

    sanitize.py santext TRAIN.tsv VECTORS EPSILON
    sanitize.py nearest MODEL_DIR ETA TEXTS LENGTH numpy|torch

SanText (Yue et al. 2021, Algorithm 1; settings of the published code): all distances by
sklearn.metrics.pairwise.euclidean_distances, all probabilities by scipy.special.softmax, a draw a word by
numpy.random.choice, texts over a pool of processes, one a core; a word without a vector is a uniform draw.
"""
import json
import multiprocessing
import os
import sys
import time

import numpy as np


def read_vectors(path):
    words, rows = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip().split(" ")
            if len(fields) > 2:
                words.append(fields[0])
                rows.append([float(x) for x in fields[1:]])
    return words, np.array(rows)


state = {}


def sanitize(text):
    words, number, rows = state["words"], state["number"], state["rows"]
    out = []
    for word in text.split():
        x = number.get(word)
        p = rows[x] if x is not None else state["uniform"]
        out.append(words[np.random.choice(len(words), 1, p=p)[0]])
    return " ".join(out)


def santext(path, vectors, epsilon):
    from scipy.special import softmax
    from sklearn.metrics.pairwise import euclidean_distances

    with open(path, encoding="utf-8") as file:
        texts = [line.split("\t")[0] for line in file][1:]
    begin = time.perf_counter()
    words, table = read_vectors(vectors)
    read = time.perf_counter()
    state["words"] = words
    state["number"] = {word: i for i, word in enumerate(words)}
    state["rows"] = softmax(-float(epsilon) / 2 * euclidean_distances(table), axis=1)
    state["uniform"] = np.full(len(words), 1 / len(words))
    made = time.perf_counter()
    with multiprocessing.Pool(os.cpu_count()) as pool:
        out = list(pool.imap(sanitize, texts, chunksize=32))
    end = time.perf_counter()
    return {"texts": len(out), "tokens": sum(len(t.split()) for t in out), "read": read - begin,
            "matrix": made - read, "draws": end - made, "seconds": end - begin}


def word_table(directory):
    from safetensors.numpy import load_file

    tensors = load_file(os.path.join(directory, "model.safetensors"))
    name = next(n for n in tensors if n.endswith("embeddings.word_embeddings.weight"))
    return np.ascontiguousarray(tensors[name], dtype=np.float32)


def nearest(directory, eta, texts, length, how):
    table = word_table(directory)
    eta, texts, length = float(eta), int(texts), int(length)
    count, dim = table.shape
    random = np.random.default_rng(1)
    tokens = random.integers(0, count, (texts, length))
    if how == "numpy":
        begin = time.perf_counter()
        for text in tokens:
            noise = random.standard_normal((length, dim))
            noise *= random.gamma(dim, 1 / eta, (length, 1)) / np.linalg.norm(noise, axis=1, keepdims=True)
            points = table[text] + noise.astype(np.float32)
            [int(np.argmin(np.linalg.norm(table - y, axis=1))) for y in points]
        return {"tokens": texts * length, "seconds": time.perf_counter() - begin}
    import torch

    torch.manual_seed(1)
    weight, gamma = torch.from_numpy(table), torch.distributions.Gamma(float(dim), eta)
    half = (weight * weight).sum(1) / 2
    flat = torch.from_numpy(tokens).reshape(-1)
    best = {}
    for form in ("cdist", "product"):
        with torch.no_grad():
            begin = time.perf_counter()
            for first in range(0, len(flat), 1024):
                chunk = flat[first:first + 1024]
                noise = torch.nn.functional.normalize(torch.randn(len(chunk), dim), dim=1)
                points = weight[chunk] + noise * gamma.sample((len(chunk), 1))
                if form == "cdist":
                    torch.cdist(points, weight).argmin(1)
                else:
                    (half - points @ weight.T).argmin(1)
            best[form] = time.perf_counter() - begin
    return {"tokens": texts * length, "seconds": min(best.values()), **best}


if __name__ == "__main__":
    work = {"santext": santext, "nearest": nearest}[sys.argv[1]]
    print(json.dumps(work(*sys.argv[2:])))
