"""Against closed formulas in numpy; tolerances are the library's documented ones."""

import gc
import json
import math
import pickle
import time

import numpy as np
import pytest

import nvdp


def gaussian(order, mu_p, var_p, mu_q, var_q):
    v = (1 - order) * var_p + order * var_q
    log = 0.5 * np.log(v) - (1 - order) / 2 * np.log(var_p) - order / 2 * np.log(var_q)
    return np.sum(order * (mu_p - mu_q) ** 2 / (2 * v) + log / (1 - order), axis=-1)


def dirichlet(order, p, q):
    def log_beta(a):
        return sum(map(math.lgamma, a)) - math.lgamma(sum(a))

    return (log_beta(order * p + (1 - order) * q) - order * log_beta(p)) / (order - 1) + log_beta(q)


def test_gaussian(rng):
    mu_p, mu_q = rng.normal(size=(2, 4, 7))
    var_p, var_q = rng.uniform(0.9, 1.1, size=(2, 7))
    found = nvdp.renyi_gaussian(1.1, mu_p, var_p, mu_q, var_q)
    assert found.shape == (4,)
    np.testing.assert_allclose(found, gaussian(1.1, mu_p, var_p, mu_q, var_q), rtol=1e-12)
    one = nvdp.renyi_gaussian(1, mu_p[0], var_p, mu_q[0], var_q)
    kl = np.sum((mu_p[0] - mu_q[0]) ** 2 / var_q + var_p / var_q - 1 - np.log(var_p / var_q)) / 2
    assert isinstance(one, float) and one == pytest.approx(kl, rel=1e-12)
    assert nvdp.renyi_gaussian(2, [0.0], [4.0], [0.0], [1.0]) == math.inf


def test_others(rng):
    p, q = rng.uniform(1, 2, size=(2, 6))
    assert nvdp.renyi_dirichlet(1.3, p, q) == pytest.approx(dirichlet(1.3, p, q), rel=1e-12)
    p, q = p / p.sum(), q / q.sum()
    assert nvdp.renyi_discrete(2, np.log(p), np.log(q)) == pytest.approx(math.log(np.sum(p**2 / q)), rel=1e-12)
    assert nvdp.renyi_laplace(math.inf, 3, [0.5, 2.0]) == pytest.approx([0.5, 2.0], rel=1e-11)
    assert nvdp.renyi_subsampled(2, 1, 1) == pytest.approx(1, rel=1e-11)  # the Gaussian mechanism's l / (2 sigma^2)
    assert nvdp.renyi_sequence_bound(2, 3) == 36
    assert nvdp.renyi_probability_bound(2, math.log(1.25), 0.5) == pytest.approx(0.75, rel=1e-9)  # .75^2/.5 + .25^2/.5 = 1.25
    assert nvdp.gdp_delta(nvdp.gdp_mu(2, 1e-5), 2) == pytest.approx(1e-5, rel=1e-9)


def test_repr_of_a_loss():
    assert repr(nvdp.ExactLoss([1.0], [1.0], [0.0], [1.0])) == (
        "nvdp.ExactLoss: the exact privacy loss of P against Q, one sample: epsilon 4.378 at delta 1e-05; Q against P may need more")
    assert "3 samples together: epsilon 8.386 at" in repr(nvdp.ExactLoss([1.0], [1.0], [0.0], [1.0], releases=3))


def test_guess_bound():
    assert nvdp.guess_bound(0.5, 2.0) == pytest.approx(0.9772498680518208, rel=1e-12)
    both = nvdp.guess_bound(np.array([0.5, 1e-3]), 2.0, releases=4)
    assert both == pytest.approx([0.9999683287581669, 0.8185274822749813], rel=1e-9)
    assert nvdp.guess_bound(1 / 872, 2.0, dim=4) == pytest.approx(0.0203821, rel=1e-5)
    assert nvdp.guess_attribute(0.5, 2.0) == pytest.approx(0.9772498680518208, rel=1e-12)
    clip = nvdp.guess_clip(1e-6, 0.01)
    assert nvdp.guess_bound(1e-6, clip) == pytest.approx(0.01, rel=1e-9)
    with pytest.raises(nvdp.NvdpValueError, match="guess_bound"):
        nvdp.guess_bound(1.5, 2.0)


def test_refusals(rng):
    with pytest.raises(ValueError, match="within their ranges"):
        nvdp.renyi_gaussian(1.1, [0.0], [-1.0], [0.0], [1.0])
    with pytest.raises(nvdp.NvdpError) as caught:
        nvdp.account(-1, 0.1, 10, 1e-5)
    assert caught.value.status == "ERR_ARGUMENT" and "-1" in str(caught.value)
    with pytest.raises(ValueError, match="alpha_q"):
        nvdp.ExactLoss([0.0], [1.0], [1.0], [1.0], [1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="order"):
        nvdp.Posteriors([np.zeros((1, 2))] * 2, [np.zeros((1, 2))] * 2).pairs(order=-1)
    with pytest.raises(ValueError, match="logvar"):
        nvdp.Posteriors([np.zeros((1, 2))], [np.full((1, 2), 1e9)])
    with pytest.raises(ValueError, match="no_such"):
        nvdp.Posteriors([np.zeros((1, 2))] * 2, [np.zeros((1, 2))] * 2).pairs(no_such=1)


def test_exact_loss_of_unit_gaussians():
    loss = nvdp.ExactLoss([1.5], [1.0], [0.0], [1.0])
    assert loss.epsilon(1e-5) == pytest.approx(nvdp.gdp_epsilon(1.5, 1e-5), rel=1e-9)
    np.testing.assert_allclose(loss.delta([0.0, 3.0]), [nvdp.gdp_delta(1.5, e) for e in (0, 3)], rtol=1e-9)
    assert loss.strip == math.inf and loss.gdp(1e-5) == pytest.approx(1.5, rel=1e-6)
    assert loss.trade_off(0.1).tpr > 0.1
    twice = nvdp.ExactLoss([1.5], [1.0], [0.0], [1.0], releases=4)
    assert twice.epsilon(1e-5) == pytest.approx(nvdp.gdp_epsilon(3, 1e-5), rel=1e-9)


def test_posteriors(posteriors, tmp_path):
    assert len(posteriors) == 5 and posteriors.dim == 3 and posteriors.length == 8
    matrix, summary = posteriors.pairs(1.1, arithmetic="exact")
    assert np.all(np.diag(matrix) == 0)
    assert matrix[1, 4] == pytest.approx(posteriors.renyi(1, 4, 1.1), rel=1e-12)
    assert summary["sum"].max == matrix.max() and summary.adjacency == "all"
    a = slice(int(posteriors.offset[0]), int(posteriors.offset[1]))
    b = slice(int(posteriors.offset[1]), int(posteriors.offset[2]))
    rows = np.zeros((2, 4, 8, 3))  # by hand: prior and padding apart, two texts of 2 and 3 tokens, in 8 places
    alpha = np.full((2, 9), 0.5)
    for i, part in enumerate((a, b)):
        n = part.stop - part.start
        rows[i, 0, :n], rows[i, 1, :n] = posteriors.mu[part], posteriors.logvar[part]
        alpha[i, 0], alpha[i, 1 : n + 1] = 1, posteriors.alpha[part]
    p, q = rows[:, :2]
    by_hand = gaussian(1.1, p[0], np.exp(p[1]), q[0], np.exp(q[1])).sum() + dirichlet(1.1, *alpha)
    assert posteriors.renyi(0, 1, 1.1) == pytest.approx(by_hand, rel=1e-11)
    report = posteriors.privacy(order=1.1, exact=True)
    assert report.n == 5 and report.rd["sum"]["max"] == pytest.approx(matrix.max(), rel=1e-12)
    assert report.exact.worst > posteriors.exact(0, 1).epsilon(1e-5) - 1e-9
    assert report.linkage.sentence.startswith("Someone who has the model and these 5 texts")
    found = posteriors.linkage(texts=4, seed=2)
    assert found.texts == 4 and found.of_texts == 5 and 0.25 < found.first <= 1
    posteriors.save(tmp_path / "p.h5")
    again = nvdp.Posteriors.open(tmp_path / "p.h5")
    np.testing.assert_array_equal(again.mu, posteriors.mu)
    assert again.renyi(0, 1) == posteriors.renyi(0, 1)
    with pytest.raises(nvdp.NvdpError, match="no-such.h5") as caught:
        nvdp.Posteriors.open(tmp_path / "no-such.h5")
    assert caught.value.status == "ERR_IO"
    with pytest.raises(IndexError):
        posteriors.renyi(0, 5)


def test_arrays_are_not_copied_and_outlive_their_owner(rng):
    mu, logvar = rng.normal(size=(2, 4, 3))
    posteriors = nvdp.Posteriors(mu, logvar, offset=[0, 1, 4])
    assert np.shares_memory(posteriors.mu, mu) and posteriors.alpha is None and posteriors.length is None
    kept, copy = posteriors.logvar, logvar.copy()
    del posteriors, logvar
    gc.collect()
    np.testing.assert_array_equal(kept, copy)


def test_bayesian_dp():
    d = np.full(100, 0.5)
    found = nvdp.bdp(d, moment=2.0, delta=1e-5, gamma=1e-6)  # all alike: cost k d, epsilon (k d - log(delta - gamma)) / k
    assert found.cost == pytest.approx(1.0, rel=1e-12)
    assert found.epsilon == pytest.approx((1 - math.log(1e-5 - 1e-6)) / 2, rel=1e-9)
    assert nvdp.bdp_subsampled(np.full((4, 100), 0.5), 1.0).moment == 2


def test_accountant():
    found = nvdp.account(1.0, 0.01, 100, 1e-5)
    run = nvdp.Accountant([(1.0, 0.01, 50), (1.0, 0.01, 50)])
    assert run.epsilon(1e-5) == pytest.approx(found.pld_epsilon, rel=1e-3)
    assert run.delta(found.pld_epsilon) <= 1.02e-5
    by_orders = nvdp.Accountant([(0.0, 0.01, 100)], accountant="rdp")
    assert by_orders.noise(found.rdp_epsilon, 1e-5) == pytest.approx(1, rel=1e-3)
    assert nvdp.Accountant([(1.0, 0.01, 1000)], accountant="rdp").steps(found.rdp_epsilon, 1e-5) in (99, 100, 101)
    assert nvdp.Accountant([], [(1.0, 0.0)]).epsilon(1e-5) == 1
    risk = nvdp.Accountant([(2.0, 1.0, 4)]).risk(1e-5, [0.5])  # a Gaussian mechanism with mu 1
    assert risk.mu == pytest.approx(1, rel=3e-3) and risk.membership == pytest.approx(0.6914625, rel=1e-4)
    assert len(risk.guess) == 1 and risk.guess[0].bound == pytest.approx(0.8413447, rel=2e-3)


def test_accountant_counts_steps():
    run = nvdp.Accountant()
    assert len(run) == 0 and run.get_epsilon(1e-5) == 0
    for _ in range(100):
        run.step(noise_multiplier=1.0, sample_rate=0.01)
    assert run.history == [(1.0, 0.01, 100)] and run.get_epsilon(1e-5) == nvdp.Accountant([(1.0, 0.01, 100)]).epsilon(1e-5)
    run.step(noise_multiplier=2.0, sample_rate=0.01)
    again = nvdp.Accountant(accountant="rdp")
    again.load_state_dict(json.loads(json.dumps(run.state_dict())))
    assert len(again) == 101 and again.epsilon(1e-5) == run.epsilon(1e-5) and "1 steps of DP-SGD with noise 2" in repr(again)
    assert pickle.loads(pickle.dumps(run)).history == run.history
    with pytest.raises(ValueError, match="sample_rate"):
        run.step(noise_multiplier=1.0, sample_rate=1.5)


def test_audit(rng):
    p, q = rng.normal(size=(2, 2000, 3))
    p[:, 0] += 2
    found = nvdp.audit(p, q, delta=1e-5)
    assert 0.5 < found.epsilon < nvdp.gdp_epsilon(2, 1e-5)


def test_dlpack():
    class Speaks:  # whatever speaks it; torch tensors do
        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    zero, one = (Speaks(np.full(3, v, np.float64)) for v in (0, 1))
    assert nvdp.renyi_gaussian(2, one, one, zero, one) == pytest.approx(3)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    mu = torch.ones(3, dtype=torch.float64, requires_grad=True)
    assert nvdp.renyi_gaussian(2, mu, torch.ones(3), torch.zeros(3), torch.ones(3)) == pytest.approx(3)


def test_exact_curve(rng):
    """Many epsilons at once, in any order and shape: the same numbers as one by one."""
    loss = nvdp.ExactLoss(np.full(128, 0.1), np.full(128, 1.1), np.zeros(128), np.ones(128), np.linspace(1, 2, 9), np.linspace(2, 1, 9))
    epsilons = rng.permutation(np.linspace(-3, 30, 60)).reshape(3, 20)
    found = loss.delta(epsilons)
    np.testing.assert_allclose(found, [[loss.point(one).delta for one in row] for row in epsilons], rtol=1e-11, atol=0)
    assert found.shape == (3, 20) and loss.delta([]).shape == (0,) and isinstance(loss.delta(1), float)
    assert loss.delta(4.0) == pytest.approx(loss.point(4).delta, rel=1e-13)
    start = time.process_time()
    curve = loss.delta(np.linspace(0, 12, 2000))
    assert time.process_time() - start < 0.5  # 0.03 s on an idle processor; 2 s one by one
    assert (np.diff(curve) < 0).all()
    with pytest.raises(ValueError, match="epsilon, number 1: expected a finite number, found nan"):
        loss.delta([1.0, math.nan])


def test_accountants_take_arrays():
    """Each broadcasts like numpy, and a number of the array is that of a single call; also lists, and other arrays with DLPack."""
    cases = [
        (nvdp.gdp_delta, ([[0.5], [1.0]], [0.0, 1.0, 4.0])), (nvdp.gdp_epsilon, ([0.5, 1.0], 1e-5)), (nvdp.gdp_mu, ([[1.0], [8.0]], [1e-5, 1e-6])),
        (nvdp.renyi_epsilon, ([2.0, 8.0], [0.1, 1.0], 1e-5)), (nvdp.renyi_subsampled, ([2.0, 4.0], 1.0, [0.01, 0.1])),
        (nvdp.renyi_sequence_bound, (1.1, [1.0, 2.0])), (nvdp.renyi_probability_bound, (4.0, [0.1, 0.5], 0.01)),
        (nvdp.guess_clip, ([0.5, 0.1], 0.75)), (nvdp.guess_bound, ([0.5, 0.1], [[1.0], [2.0]])), (nvdp.guess_attribute, ([0.5, 0.1], 1.0)),
        (lambda order, distance: nvdp.renyi_laplace(order, 3, distance), ([1.1, 2.0], 0.5)), (nvdp.ExactLoss(0.0, 1.0, 1.0, 1.0).epsilon, ([1e-5, 1e-6],)),
        (nvdp.Accountant([(1.0, 0.01, 100)]).epsilon, ([1e-5, 1e-6],)), (nvdp.Accountant([(1.0, 0.01, 100)]).delta, ([[1.0], [2.0]],)),
    ]  # fmt: skip
    for function, given in cases:
        parts = np.broadcast_arrays(*given)
        found = function(*given)
        assert found.shape == parts[0].shape and found.dtype == np.float64
        for i in np.ndindex(found.shape):
            one = function(*(float(part[i]) for part in parts))
            assert type(one) is float and one == found[i]
    assert nvdp.gdp_delta(np.zeros((0, 3)), 1.0).shape == (0, 3)
    with pytest.raises(ValueError, match="gdp_mu"):
        nvdp.gdp_mu([1.0, np.nan], 1e-5)


def test_discrete_refuses_probabilities():
    p = np.array([0.5, 0.3, 0.2])
    for wrong, name in ((p, np.log(p)), "log_p"), ((np.log(p), p), "log_q"), (([1.0, 0.0], np.log([0.5, 0.5])), "log_p"):
        with pytest.raises(ValueError, match=f"{name}: expected log probabilities, none above 0, found .*numpy.log"):
            nvdp.renyi_discrete(2, *wrong)
    with np.errstate(divide="ignore"):
        assert nvdp.renyi_discrete(2, np.log([1.0, 0.0]), np.log([0.5, 0.5])) == pytest.approx(math.log(2))
