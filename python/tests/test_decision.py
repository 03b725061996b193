"""The decision tables of experiments/results/README.md follow from certified.csv, that file from its sources, and epsilon from the clip."""
import json
import os
import re
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("NVDP_SOURCE", Path(__file__).parents[2]))
PAPERS, RESULTS = SOURCE / "experiments" / "papers", SOURCE / "experiments" / "results"


@pytest.fixture
def decision(monkeypatch):
    monkeypatch.syspath_prepend(PAPERS)
    import decision

    return decision


def test_decision_tables_follow_from_certified_csv(decision):
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert decision.written(page) == page


def test_useful_scores_begin_where_no_larger_epsilon_loses_more(decision):
    rows = [dict(encoder="e", task="t", epsilon=str(epsilon), score=str(score), base="90.0") for epsilon, score in ((8, 88.5), (16, 87.9), (32, 88.0), (92, 89.0))]
    assert decision.useful(rows, "e", "t") == 32
    assert decision.useful(rows, "e", "t", points=3) == 8
    assert decision.useful(rows, "e", "t", points=0.5) is None


def test_certified_csv_follows_from_its_sources(decision, tmp_path, monkeypatch):
    monkeypatch.setattr(decision, "CSV", str(tmp_path / "certified.csv"))
    decision.collect()
    assert (tmp_path / "certified.csv").read_text(encoding="utf-8") == (RESULTS / "certified.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("clip, epsilon, right", [(0.5, 4.38, 0.6915), (1, 10.00, 0.8413), (3, 42.8, 0.99865), (5, 91.8, 0.9999997)])
def test_epsilon_of_a_clip_is_the_certificate_of_the_program(decision, clip, epsilon, right):
    """Expected: what nvdp report prints as "certified eps" and nvdp explain --clip-sequence as bound at baseline .5."""
    assert decision.epsilon_of(clip) == pytest.approx(epsilon, rel=2e-3)
    assert decision.clip_of(decision.epsilon_of(clip)) == pytest.approx(clip, rel=1e-9)
    assert decision.right_at_most(clip) == pytest.approx(right, abs=5e-5)


def test_text_privatization_is_compared_at_the_epsilon_of_its_column():
    """Expected: eta times the distance of the farthest pair of tokens is the epsilon in the record's name, and not above it."""
    records = json.loads((PAPERS / "word" / "records.json").read_text(encoding="utf-8"))
    farthest = records["farthest"]["values"]["ldp_epsilon"]
    for name, record in records.items():
        arguments = record["arguments"]
        if "--eta" in arguments:
            epsilon = int(re.search(r"-(\d+)(-\d+)?$" if name.startswith("train") else r"-(\d+)()$", name)[1])
            proven = float(arguments[arguments.index("--eta") + 1]) * farthest
            assert epsilon * (1 - 1e-4) < proven <= epsilon, name
