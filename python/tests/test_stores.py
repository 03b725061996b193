"""docs/stores.md: every example runs, with the package that it is about."""

import re

import numpy as np
import pytest

import nvdp
from conftest import SOURCE, texts_of

NEEDED = {"faiss": ["faiss"], "qdrant": ["qdrant_client"], "duckdb": ["duckdb"], "pgvector": ["pgvector", "psycopg", "pgserver"], "LangChain": ["langchain_core"],
          "LlamaIndex": ["llama_index.core"], "haystack": ["haystack"]}  # fmt: skip


def sections():
    """Returns the Python blocks under each heading."""
    page = (SOURCE / "docs" / "stores.md").read_text("utf-8")
    parts = re.split(r"^##+ (.*)$", page, flags=re.MULTILINE)
    return {title: re.findall(r"^```python\n(.*?)^```", body, flags=re.MULTILINE | re.DOTALL) for title, body in zip(parts[1::2], parts[2::2])}


@pytest.fixture(scope="module")
def release(compact, tmp_path_factory):
    """A folder with an owner's encoder, a release and a reader, and what the page's first blocks leave behind."""
    folder, there = tmp_path_factory.mktemp("stores"), pytest.MonkeyPatch()
    options = dict(preset=None, method="vib-fixed", epochs=1, batch=8, max_length=8, freeze_layers=4, latent_dim=4)
    nvdp.PrivateEncoder(compact, threads=1).fit(*texts_of(np.random.default_rng(1), 24), **options).save_pretrained(folder / "mine")
    names = {"texts": [f"a film of day {i}" for i in range(12)]}
    there.chdir(folder)
    for block in sections()["The release"]:
        exec(block, names)
    yield names
    there.undo()


def test_every_example_is_known():
    assert [title for title, blocks in sections().items() if blocks] == ["The release", *NEEDED]


@pytest.mark.parametrize("store", NEEDED)
def test_example(release, tmp_path, store):
    for name in NEEDED[store]:
        pytest.importorskip(name)
    names = dict(release)
    if store == "pgvector":
        import pgserver

        server = pgserver.get_server(tmp_path / "server", cleanup_mode="stop")
        names["server"] = server.get_uri()
    try:
        for block in sections()[store]:
            exec(block, names)
    finally:
        if store == "pgvector":
            names.pop("db", None)
            server.cleanup()
    if "named" in names:
        assert set(names["found"]) == set(names["named"])
    else:  # the stores agree with an exact search
        z, question = release["vectors"], release["question"]
        assert names["found"] == [release["ids"][i] for i in np.argsort(-(z @ question))[:3]]
        deviations = release["reader"].similarity(question, z, noise=False).deviation
        assert deviations.shape == (1, 12) and (deviations > 0).all()
