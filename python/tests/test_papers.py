"""The pages of experiments/papers are what their scripts write from the stored records: nobody edits them by hand."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("NVDP_SOURCE", Path(__file__).parents[2]))
PAPERS, RESULTS = SOURCE / "experiments" / "papers", SOURCE / "experiments" / "results"
STUDIES = sorted(path.parent.name for path in PAPERS.glob("*/run.py"))


@pytest.mark.parametrize("study", STUDIES)
def test_page_follows_from_records(study, tmp_path):
    command = [sys.executable, PAPERS / study / "run.py", "page", "--out", tmp_path, "--page", tmp_path / "page.md"]
    subprocess.run(command, check=True, cwd=tmp_path)
    made = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert made == (RESULTS / ("papers-%s.md" % study)).read_text(encoding="utf-8")


@pytest.fixture
def decision(monkeypatch):
    monkeypatch.syspath_prepend(PAPERS)
    import decision

    return decision


def test_decision_table_follows_from_certified_csv(decision):
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert decision.table(decision.read()) + "\n" == page.partition(decision.BEGIN)[2].partition(decision.END)[0]


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
