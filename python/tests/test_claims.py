"""Defenses of experiments/claims: shapes, seeds, the noise of the stated formula, attackers on made texts; the page follows from the records."""
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

SOURCE = Path(os.environ.get("NVDP_SOURCE", Path(__file__).parents[2])).resolve()
CLAIMS = SOURCE / "experiments" / "claims"
sys.path[:0] = [str(CLAIMS), str(CLAIMS.parent / "papers")]
WIDTH = 24
NAMES = sorted(path.stem for path in (CLAIMS / "defenses").glob("*.py"))


@pytest.fixture(scope="module")
def claims():
    import run

    return run


def unit(rng, *shape):
    rows = rng.standard_normal(shape).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


class Texts:
    """A study of made texts: half of them have a word of the concept, which adds to the first quarter of the dimensions."""

    options = SimpleNamespace(width=WIDTH)

    def word_embeddings(self):
        return 2 * unit(np.random.default_rng(3), 50, WIDTH)

    def public(self):
        return [["a film that is number %d" % i if i % 2 else "this is the number %d" % i for i in range(200)], [0] * 200], []

    def encode(self, _, texts):
        rows = np.random.default_rng(4).standard_normal((len(texts), WIDTH))
        rows[:, :WIDTH // 4] += np.array([[5 * ("film" in text)] for text in texts])
        return rows


def known(defense, strength):
    prepare = getattr(defense, "prepare", None)
    return {**strength, **(prepare(Texts(), np.random.default_rng(0)) if prepare else {})}


@pytest.mark.parametrize("name", NAMES)
def test_samples_have_a_shape_a_seed_and_a_likelihood(claims, rng, name):
    defense, rows = claims.DEFENSE[name], unit(rng, 30, WIDTH)
    assert defense.NAME and defense.CLAIM and defense.FINDING and defense.STRENGTHS
    for strength in defense.STRENGTHS.values():
        fixed = known(defense, strength)
        first, second, other = (defense.release(rows, np.random.default_rng(seed), **fixed) for seed in (1, 1, 2))
        assert first.shape[0] == 30 and first.shape[1] <= WIDTH and np.array_equal(first, second)
        assert np.array_equal(first, other) == hasattr(defense, "FIXED")
        assert defense.log_density(first, rows, **fixed).shape == (30,)
        assert defense.log_density(first[:1], rows, **fixed).shape == (30,)
        assert ("no epsilon" in defense.CLAIM or defense.CLAIM == "nothing") != hasattr(defense, "claimed")


def balle_wang(deviation, sensitivity, epsilon):
    """Theorem 8, written again."""
    from statistics import NormalDist

    cdf, ratio = NormalDist().cdf, sensitivity / deviation
    return cdf(ratio / 2 - epsilon / ratio) - np.exp(epsilon) * cdf(-ratio / 2 - epsilon / ratio)


@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("epsilon", [2, 8])
def test_dp_forward_has_the_noise_of_the_analytic_gaussian_mechanism(claims, rng, sensitivity, epsilon):
    defense, rows = claims.DEFENSE["dp_forward"], np.broadcast_to(unit(rng, WIDTH) * 7, (20000, WIDTH))
    noise = defense.release(rows, rng, epsilon, sensitivity) - rows / 7
    assert balle_wang(noise.std(), sensitivity, epsilon) == pytest.approx(1e-5, rel=0.15)
    assert abs(noise.mean()) < 5 * noise.std() / np.sqrt(noise.size)


@pytest.mark.parametrize("eta", [5, 500])
def test_split_and_denoise_draws_lengths_of_the_d_chi_mechanism_and_clips(claims, rng, eta):
    defense, rows = claims.DEFENSE["split_and_denoise"], np.zeros((20000, WIDTH), np.float32)
    lengths = np.linalg.norm(defense.release(rows, rng, eta=eta, bound=1e9), axis=1)
    assert lengths.mean() == pytest.approx(WIDTH / eta, rel=0.02) and lengths.var() == pytest.approx(WIDTH / eta**2, rel=0.05)
    assert known(defense, {})["bound"] == pytest.approx(2, rel=1e-5)
    assert np.linalg.norm(defense.release(rows, rng, eta=5, bound=2), axis=1).max() <= 2 * (1 + 1e-6)
    assert defense.claimed(np.zeros(WIDTH), np.full(WIDTH, .5), eta=eta, bound=2) == pytest.approx(eta * .5 * np.sqrt(WIDTH))


def test_sparse_puts_its_noise_on_the_dimensions_of_the_concept(claims, rng):
    defense = claims.DEFENSE["sparse"]
    variance = known(defense, {})["variance"]
    assert np.allclose(variance[:WIDTH // 4], 4, rtol=1e-5) and np.allclose(variance[WIDTH // 4:], 1e-6)
    noise = defense.release(np.zeros((20000, WIDTH), np.float32), rng, epsilon=3, variance=variance)
    lengths = np.linalg.norm(noise / np.sqrt(variance), axis=1)  # in the Mahalanobis norm
    assert lengths.mean() == pytest.approx(WIDTH / 3, rel=0.02) and lengths.var() == pytest.approx(WIDTH / 9, rel=0.05)
    x, y = np.zeros(WIDTH), np.eye(WIDTH)[-1]
    assert defense.claimed(x, y, epsilon=3, variance=variance) == pytest.approx(3000, rel=1e-4)


def test_rotation_keeps_distances_and_is_undone_by_known_pairs(claims, rng):
    defense, rows = claims.DEFENSE["rotation"], unit(rng, 60, WIDTH)
    fixed = known(defense, {"pairs": 0})
    samples = defense.release(rows, rng, **fixed)
    assert np.allclose(samples @ samples.T, rows @ rows.T, atol=1e-5) and not np.allclose(samples, rows, atol=.1)
    assert np.allclose(defense.undo(samples, samples[:40], rows[:40]), rows, atol=1e-3)
    found = defense.undo(samples, samples[:5], rows[:5])
    basis = np.linalg.qr(rows[:5].T)[0]
    assert np.allclose(found, rows @ basis @ basis.T, atol=1e-4)  # what five pairs span
    assert np.array_equal(defense.undo(samples, samples[:0], rows[:0]), samples)


def test_dropout_keeps_the_mean_and_has_the_variance_of_its_rate(claims, rng):
    defense, rows = claims.DEFENSE["dropout"], np.broadcast_to(np.float32([0, 1, -2]), (200000, 3))
    for normal in (False, True):
        samples = defense.release(rows, rng, p=.9, normal=normal)
        assert np.allclose(samples.mean(0), [0, 1, -2], atol=.05) and np.allclose(samples.var(0), [0, 9, 36], rtol=.03)
        assert not samples[:, 0].any()  # zero stays zero


def test_truncation_and_quantization_round(claims, rng):
    row = np.float32([[.5, -1, .251, 0]])
    assert np.array_equal(claims.DEFENSE["truncation"].release(row, rng, k=2), row[:, :2])
    assert np.allclose(claims.DEFENSE["quantization"].release(row, rng, bits=8) * 127, [[64, -127, 32, 0]], atol=1e-4)
    assert np.allclose(claims.DEFENSE["quantization"].release(row, rng, bits=1), [[.5, -.5, .5, 0]])


def test_formulas_give_the_claim_for_the_two_farthest_vectors_and_more_where_the_sensitivity_is_too_small(claims):
    assert claims.DEFENSE["sentence"].exact(2, clip=1.45) == pytest.approx(claims.DEFENSE["sentence"].claimed(None, None, clip=1.45))
    assert claims.DEFENSE["dp_forward"].exact(2, epsilon=8, sensitivity=2) == pytest.approx(8)
    assert claims.DEFENSE["dp_forward"].exact(1, epsilon=8, sensitivity=1) == pytest.approx(8)
    assert claims.DEFENSE["dp_forward"].exact(2, epsilon=8, sensitivity=1) > 16


def test_a_file_in_the_folder_is_a_defense(claims, tmp_path):
    (tmp_path / "b.py").write_text("NAME = 'B'\n")
    (tmp_path / "a.py").write_text("NAME, CONTROL = 'A', True\n")
    assert [(name, defense.NAME) for name, defense in claims.defenses(tmp_path).items()] == [("b", "B"), ("a", "A")]


def program():
    library = os.environ.get("NVDP_LIBRARY")
    path = Path(library).parent / "nvdp" if library else SOURCE / "build" / "release" / "nvdp"
    return str(path) if path.exists() else pytest.skip("the program is not built")


@pytest.fixture
def audit(claims, tmp_path):
    """Returns a function: the audit of a vector of length 1 and its opposite by the program."""
    study = claims.study
    study.options = SimpleNamespace(nvdp=program(), out=str(tmp_path), samples=60000, threads=1, width=WIDTH)
    study.made = {"constants-sparse": {"variance": claims.DEFENSE["sparse"].variance(np.arange(WIDTH) % 2 == 0)}, "constants-split_and_denoise": {"bound": 2}}
    dense = np.full(WIDTH, WIDTH**-.5, np.float32)
    return lambda name, row=dense, **strength: study.audit(name, claims.DEFENSE[name], strength, (row, -row))


def test_audits_show_the_claims_that_are_too_small_and_not_the_controls(audit):
    for clip in (.4, .83):
        found = audit("sentence", clip=clip)
        assert 0.4 * found["claimed"] < found["shown"] <= found["claimed"]
    assert audit("dp_forward", epsilon=2, sensitivity=2)["shown"] <= 2
    assert audit("dp_forward", epsilon=2, sensitivity=1)["shown"] > 2  # two vectors of norm C are 2 C apart
    assert audit("split_and_denoise", eta=2)["shown"] <= 4
    found = audit("sparse", row=np.eye(WIDTH, dtype=np.float32)[0], epsilon=3)
    assert found["claimed"] == pytest.approx(6 / np.sqrt(2), rel=1e-4) and 0 < found["shown"] <= found["claimed"]
    for name, strength in (("none", {}), ("dropout", dict(p=.5, normal=False)), ("quantization", dict(bits=1)), ("rotation", dict(pairs=0))):
        found = audit(name, **strength)
        assert found["claimed"] is None and found["shown"] == pytest.approx(found["ceiling"])


def test_attackers_name_texts_and_read_words_without_noise_and_guess_with_much(claims, rng):
    attackers, words = claims.attackers, ["word%d" % i for i in range(30)]
    sets = [set(rng.choice(words, 5)) for _ in range(900)]
    vectors = np.array([[word in found for word in words] for found in sets], np.float32) @ unit(rng, 30, WIDTH)
    noise = 100 * rng.standard_normal(vectors.shape)
    squared = lambda samples, rows: -((samples - rows)**2).sum(-1)
    ones, labels = np.ones(300, int), vectors[:, 0] > np.median(vectors[:, 0])
    for samples, low, high in ((vectors, .95, 1), (vectors + noise, 0, .05)):
        assert low <= attackers.named(samples[600:], vectors[600:], ones, squared) <= high
    clean, noised = (attackers.f1(attackers.read_words(samples[:600], sets[:600], samples[600:], 200), sets[600:]) for samples in (vectors, vectors + noise))
    assert clean > .7 and noised < .4
    clean, noised = (attackers.accuracy(samples[:600], labels[:600], samples[600:], labels[600:], 200) for samples in (vectors, vectors + noise))
    assert clean > .9 and .4 < noised < .6


def test_texts_of_several_rows_are_named_by_all_rows_and_their_words_read_by_the_likeliest(claims, rng):
    attackers, table = claims.attackers, unit(rng, 40, WIDTH)
    lengths = np.array([1, 3, 3, 2, 3])
    ids = rng.permutation(40)[:lengths.sum()]
    rows, start = table[ids], np.concatenate([[0], np.cumsum(lengths)])
    samples = .5 * rows + .02 * rng.standard_normal(rows.shape)  # clipped, and with little noise
    assert attackers.named(samples, rows, lengths, lambda s, v: -((s - v)**2).sum(-1)) == 1
    assert attackers.named(np.zeros_like(rows), np.ones_like(rows), lengths, lambda s, v: -((s - v)**2).sum(-1)) == .4  # by their lengths alone
    found = attackers.likeliest_words(samples, rows, samples, lengths, np.arange(40), table, np.ones(40))
    assert found == [set(ids[a:b].tolist()) for a, b in zip(start, start[1:])]
    assert np.allclose(attackers.pooled(rows, lengths)[1], rows[1:4].mean(0))


@pytest.fixture
def member(claims, rng):
    """Returns a function: AUC and the share of members at 5 % false positives, by samples of half of the texts and the defense's density."""
    attackers, rows, public, ones = claims.attackers, unit(rng, 600, WIDTH), unit(rng, 200, WIDTH), [np.ones(600, int), np.ones(200, int)]
    shared = np.arange(600) % 2 == 0

    def attack(name, **strength):
        defense = claims.DEFENSE[name]
        samples = defense.release(rows, rng, **strength).astype(np.float32)
        disjoint = claims.exact(defense, strength, 1.0) == np.inf
        found = attackers.member_scores(samples, rows, shared, public, ones, lambda z, texts: defense.log_density(z, texts, **strength), disjoint)
        return attackers.area(found[shared], found[~shared]), attackers.found_at(found[shared], found[~shared], .05)

    return attack


def test_members_of_a_file_are_found_without_noise_and_no_better_than_certified_with_it(claims, member):
    for name, strength in (("none", {}), ("truncation", dict(k=4)), ("dropout", dict(p=.5, normal=False)), ("sentence", dict(clip=200))):
        assert min(member(name, **strength)) > .999
    area, found = member("sentence", clip=.01)
    assert abs(area - .5) < .07 and found < .12
    areas = [member("sentence", clip=clip)[0] for clip in (.5, 3, 8)]
    assert areas[0] < .62 < areas[1] < areas[2]
    epsilon = claims.DEFENSE["sentence"].claimed(None, None, clip=.1)
    assert epsilon < 1 and member("sentence", clip=.1)[1] <= np.exp(epsilon) * .05 + 1e-5 + .04  # three deviations of 300 members


def test_members_of_several_rows_compete_with_texts_of_as_many(claims, rng):
    attackers, lengths = claims.attackers, [np.array([2, 2, 3, 1, 2]), np.array([2, 2])]
    rows, public = unit(rng, 10, WIDTH), unit(rng, 4, WIDTH)
    shared = np.array([True, False, True, False, False])
    found = attackers.member_scores(rows, rows, shared, public, lengths, lambda z, texts: -50 * ((z - texts)**2).sum(-1), False)
    assert found[0] > found[[1, 4]].max() and found[2] == 0 and found[3] == -np.inf  # no other text has three rows, and no sample has one


def test_rates_count_ties_half_and_keep_the_false_positives(claims):
    members, others = np.array([3., 1, 0]), np.array([2., 1, 0, 0])
    assert claims.attackers.area(members, others) == pytest.approx((4 + 2.5 + 1) / 12)
    assert claims.attackers.found_at(members, others, .01) == pytest.approx(1 / 3)
    assert claims.attackers.found_at(np.array([1.5, 1.5, 0]), others, .25) == pytest.approx(2 / 3)


def test_samples_are_mapped_to_the_vectors_that_they_came_from(claims, rng):
    vectors = .3 + unit(rng, 500, WIDTH)
    samples = 7 * (vectors - vectors.mean(0)) @ np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0]
    public, attacked = claims.attackers.mapped(samples[:400], vectors[:400], samples[400:], 100)
    assert np.allclose(public, vectors[:400], atol=1e-3) and np.allclose(attacked, vectors[400:], atol=1e-3)
    noise = 50 * rng.standard_normal(samples.shape)
    assert np.abs(claims.attackers.mapped(noise[:400], vectors[:400], noise[400:], 100)[1] - vectors.mean(0)).max() < .2


def test_the_audited_pairs_are_the_farthest_and_the_closest(claims, rng):
    pool = rng.standard_normal((300, 3))
    distances = np.linalg.norm(pool[:, None] - pool, axis=2)
    (a, b), (c, d) = claims.attackers.pairs(np.vstack([pool, pool[:1]]), apart=.05)
    assert np.linalg.norm(a - b) == pytest.approx(distances.max())
    assert np.linalg.norm(c - d) == pytest.approx(distances[distances > .05].min())


def test_the_page_follows_from_the_records(tmp_path):
    page = tmp_path / "claims.md"
    subprocess.run([sys.executable, CLAIMS / "run.py", "page", "--page", page, "--out", tmp_path / "out"], check=True, cwd=SOURCE)
    assert page.read_text(encoding="utf-8") == (SOURCE / "experiments" / "results" / "claims.md").read_text(encoding="utf-8")
    assert "not run;" not in page.read_text(encoding="utf-8").partition("## Texts that")[0]
    records = json.loads((CLAIMS / "records.json").read_text(encoding="utf-8"))
    assert all(record["values"]["shown"] <= record["values"]["claimed"] for name, record in records.items() if name.startswith("audit/sentence"))
