"""The verdict on several claims of a paper follows from their standard errors."""
import os
from pathlib import Path

import pytest

PAPERS = Path(os.environ.get("NVDP_SOURCE", Path(__file__).parents[2])) / "experiments" / "papers"


@pytest.fixture
def claims(monkeypatch):
    monkeypatch.syspath_prepend(PAPERS)
    import claims

    return claims


@pytest.mark.parametrize("difference, found", [(0.021, True), (-0.021, False), (0.019, None), (-0.019, None)])
def test_a_difference_counts_beyond_two_standard_errors(claims, difference, found):
    assert claims.beyond(difference, 0.01) is found


@pytest.mark.parametrize("differences, found", [((0.03, 0.04), True), ((0.03, 0.01), None), ((0.01, -0.03), False)])
def test_a_claim_on_several_differences_needs_all(claims, differences, found):
    assert claims.all_beyond(differences, 0.01) is found


@pytest.mark.parametrize("found, verdict", [
    ((True, True), "**Agrees**: yes. Yes."), ((True, None), "**No answer**: open. Yes."), ((None, True, False), "**Disagrees**, because no. Open. Yes.")])
def test_the_worst_claim_decides(claims, found, verdict):
    assert claims.judge(*((each, "yes.", "no.", "open.") for each in found)) == verdict
