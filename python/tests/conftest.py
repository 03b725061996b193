import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import nvdp

SOURCE = Path(os.environ.get("NVDP_SOURCE", Path(__file__).parents[2])).resolve()


@pytest.fixture(scope="session")
def bundled() -> Path:
    """The encoder that comes with the library."""
    return SOURCE / "models" / "compact"


@pytest.fixture(scope="session")
def compact(bundled, tmp_path_factory) -> Path:
    """The encoder that comes with the library, a quarter as wide. A run hashes the files of its model and stores a model, and
    these bytes took a third of the time of the tests. Layers, heads and vocabulary remain."""
    folder = tmp_path_factory.mktemp("models") / "compact"
    folder.mkdir()
    config = json.loads((bundled / "config.json").read_text("utf-8"))
    wide, inner = config["hidden_size"], config["intermediate_size"]
    (folder / "config.json").write_text(json.dumps({**config, "hidden_size": wide // 4, "intermediate_size": inner // 4}), "utf-8")
    for name in "vocab.txt", "tokenizer_config.json":
        shutil.copy(bundled / name, folder)
    file = (bundled / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(file[:8], "little")
    header, parts, end = json.loads(file[8:start]), [], 0
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, past = tensor["data_offsets"]
        values = np.frombuffer(file[start + begin : start + past], "<f2").reshape(tensor["shape"])
        part = values[tuple(slice(n // 4 if n in (wide, inner) else n) for n in values.shape)]
        tensor.update(shape=list(part.shape), data_offsets=[end, end + part.nbytes])
        parts.append(part.tobytes())
        end += part.nbytes
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + b"".join(parts))
    return folder


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def posteriors(rng):
    """Five texts of 2 to 6 tokens in 3 dimensions, hidden lengths."""
    n = [2, 3, 4, 5, 6]
    return nvdp.Posteriors([rng.normal(size=(k, 3)) for k in n], [rng.normal(0, 0.1, size=(k, 3)) for k in n],
                           [rng.uniform(1, 2, k) for k in n], length=8, pad_alpha=0.5)  # fmt: skip


WORDS = ["film", "story", "plot", "end", "day", "way", "man", "time"]


def texts_of(rng, n):
    """Texts that say their label."""
    labels = rng.integers(0, 2, n)
    texts = [" ".join(["good" if label else "bad", *rng.choice(WORDS, 4)]) for label in labels]
    return texts, ["pos" if label else "neg" for label in labels]


@pytest.fixture(scope="session")
def trained(tmp_path_factory, compact):
    """A run of some seconds, and the progress that was told."""
    rng = np.random.default_rng(2)
    texts, labels = texts_of(rng, 96)
    texts[0] = 'good\tfilm\n"of the day'  # as it is, in a file too
    told = []
    run = nvdp.train(texts, labels, model=compact, out=tmp_path_factory.mktemp("runs") / "run", dev=texts_of(rng, 24), epochs=2, batch=16,
                     max_length=10, latent_dim=8, lr=3e-4, cache=None, progress=told.append, threads=2)  # fmt: skip
    return run, told


@pytest.fixture(scope="session")
def run(trained):
    return trained[0]
