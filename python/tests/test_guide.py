"""docs/python.md runs from top to bottom, with the encoder of the repository in place of models/minilm."""

import csv
import importlib.util
import re
import shutil
import textwrap
import time

import numpy as np
import pytest

import nvdp
from conftest import SOURCE, WORDS, texts_of

NEEDED = {"sentence_transformers": "sentence_transformers", "to_torch": "torch", "to_datasets": "datasets", "to_pandas": "pandas", "sklearn": "sklearn", "reviews.parquet": "pyarrow"}
"""Packages that are not installed leave out the lines that need them."""


def blocks():
    page = (SOURCE / "docs" / "python.md").read_text("utf-8")
    found = [textwrap.dedent(one[0]) for one in re.finditer(r"(?:^    .*\n)+", page, re.MULTILINE)]
    return [one for one in found if not re.match("pip|make", one)]


@pytest.fixture
def place(compact, tmp_path, monkeypatch):
    """A folder with the files, and the names, of which the page speaks."""
    shutil.copytree(compact, tmp_path / "models" / "minilm")
    rng = np.random.default_rng(3)

    def made(day, n=60):
        texts, labels = texts_of(rng, n)
        return [f"{one} {day} {WORDS[i % 8]} {WORDS[i // 8]}" for i, one in enumerate(texts)], [{"pos": "positive", "neg": "negative"}[label] for label in labels]

    (texts, labels), task = made("day"), tmp_path / "glue" / "SST-2"
    task.mkdir(parents=True)
    for name, title, rows in ("dev.csv", ("review", "stars"), made("dev")), ("glue/SST-2/train.tsv", None, made("train")), ("glue/SST-2/dev.tsv", None, made("test")):
        with open(tmp_path / name, "w", newline="") as file:
            columns = zip(*rows) if title else ((text, int(label == "positive")) for text, label in zip(*rows))
            csv.writer(file, delimiter="," if title else "\t").writerows([title or ("sentence", "label"), *columns])
    frame = {"review": texts, "stars": labels}
    if importlib.util.find_spec("pyarrow"):
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(frame), tmp_path / "reviews.parquet")
    monkeypatch.chdir(tmp_path)
    yield {"nvdp": nvdp, "np": np, "texts": texts, "labels": labels, "new_texts": made("new")[0], "own_texts": made("own")[0], "other_texts": made("other")[0],
           "public_texts": [f"{a} {b} of the public" for a in WORDS for b in WORDS], "frame": frame, "authors": ["a", "b", "c"] * 20, "ids": range(60),
           "public_vectors": rng.normal(size=(90, 70)), "query_vectors": rng.normal(size=(2, 70)), "given_vectors": rng.normal(size=(60, 70))}  # fmt: skip


def test_page_runs_top_to_bottom(place):
    names, left = dict(place), set()
    if importlib.util.find_spec("torch"):
        import torch

        names["torch"] = torch
    assert len(blocks()) == 10
    start = time.process_time()
    for block in blocks():
        if "GaussianRelease" in block:  # vectors of the caller
            names["vectors"] = names["given_vectors"]
        lines = [line for line in block.splitlines() if not re.match(r"torch\.", line) or "torch" in names]
        for word, package in NEEDED.items():
            if word in block and importlib.util.find_spec(package) is None:
                left.add(package)
                lines = [] if word in ("sentence_transformers", "sklearn") else [line for line in lines if word not in line]
        exec("\n".join(lines), names)
    seconds = time.process_time() - start
    assert seconds < 1200, "ten minutes of two cores"
    print(f"{seconds:.0f} s of processor time; left out: {', '.join(sorted(left)) or 'nothing'}")
