"""Divergences, exact losses and accountants, on arrays.

All logarithms are natural, divergences and epsilons are in nats, arithmetic is in double. +inf is a valid value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Callable

import numpy as np

from ._lib import Context, NvdpValueError, array, ffi, lib, pointer, rebuild, record, result_of, shared, upper
from .results import Account, BdpCost, ExactPoint, ExampleRisk, SampleAudit


def _rows(function: Callable[..., float], order: float, arrays: Sequence[Any], name: str) -> Any:
    """Returns function(order, n, *rows) for the rows of [..., n] arrays, which broadcast: [...], or a float."""
    rows = [np.ascontiguousarray(item) for item in np.broadcast_arrays(*map(array, arrays))]
    if rows[0].ndim == 0:
        raise NvdpValueError(f"{name}: expected arrays of shape [..., n], found single numbers")
    shape, n = rows[0].shape[:-1], rows[0].shape[-1]
    found = np.empty(math.prod(shape))
    flat = [item.reshape(-1, n) for item in rows]
    for i in range(found.size):
        found[i] = function(order, n, *(pointer(item[i]) for item in flat))
    return _checked(found.reshape(shape), name)


def _checked(found: Any, name: str) -> Any:
    if np.isnan(found).any():
        raise NvdpValueError(f"{name}: expected finite arguments within their ranges, found another value")
    return found if np.ndim(found) else float(found)


def renyi_gaussian(order: float, mu_p: Any, var_p: Any, mu_q: Any, var_q: Any) -> Any:
    """Computes D_order(P || Q) between Gaussians with diagonal covariance (van Erven & Harremoes 2014, Eq. 10).

    order: above 0; 1 is the Kullback-Leibler divergence, inf the max-divergence.
    mu_p, var_p, mu_q, var_q: [..., n] means and variances (not their logarithms), which broadcast.
    Returns nats, [...] or a float; +inf if order var_q + (1 - order) var_p <= 0 in any dimension.
    """
    return _rows(lib.nvdp_renyi_gaussian, order, (mu_p, var_p, mu_q, var_q), "renyi_gaussian")


def renyi_dirichlet(order: float, alpha_p: Any, alpha_q: Any) -> Any:
    """Computes D_order(P || Q) between Dirichlets with [..., m] pseudo-counts (Gil, Alajaji & Linder 2013).

    Returns nats, [...] or a float; +inf if any order alpha_p + (1 - order) alpha_q <= 0.
    """
    return _rows(lib.nvdp_renyi_dirichlet, order, (alpha_p, alpha_q), "renyi_dirichlet")


def renyi_discrete(order: float, log_p: Any, log_q: Any) -> Any:
    """Computes D_order(P || Q) between distributions over n outcomes (van Erven & Harremoes 2014, Eq. 1).

    log_p, log_q: [..., n] log probabilities, none above 0; -inf for probability 0. Returns nats, [...] or a float.
    """
    for name, values in ("log_p", array(log_p)), ("log_q", array(log_q)):
        if (values > 1e-9).any():
            raise NvdpValueError(f"{name}: expected log probabilities, none above 0, found {values.max():g}; numpy.log() of probabilities gives them")
    return _rows(lib.nvdp_renyi_discrete, order, (log_p, log_q), "renyi_discrete")


def _each(function: Callable[..., float], name: str, *arguments: Any) -> Any:
    """Returns function(*numbers) for arrays that broadcast: an array, or a float."""
    return _checked(np.vectorize(function, otypes=[float])(*(array(one, name=name) for one in arguments)), name)


def renyi_laplace(order: Any, dim: int, distance: Any) -> Any:
    """Computes D_order between densities ~ exp(-eta |y - x|) in dim dimensions; distance: [...] eta |x - x'|. Nats."""
    return _each(lambda order, distance: lib.nvdp_renyi_laplace(order, dim, distance), "renyi_laplace", order, distance)


def renyi_subsampled(order: Any, noise: Any, rate: Any) -> Any:
    """Computes D_order of one step of DP-SGD with noise multiplier `noise` and Poisson sampling rate `rate` (Mironov, Talwar
    & Zhang 2019); order above 1. Nats. Arrays broadcast.
    """
    return _each(lib.nvdp_renyi_subsampled, "renyi_subsampled", order, noise, rate)


def renyi_sequence_bound(order: Any, radius: Any) -> Any:
    """Bounds the divergence of any two texts if the noise is N(0, 1) and all means of a text together have norm at most
    `radius`: order (2 radius)^2 / 2 nats. Arrays broadcast.
    """
    return _each(lib.nvdp_renyi_sequence_bound, "renyi_sequence_bound", order, radius)


def renyi_epsilon(order: Any, divergence: Any, delta: Any) -> Any:
    """Converts a Renyi divergence of one order above 1 to epsilon at delta (Canonne, Kamath & Steinke 2020), nats. Arrays broadcast."""
    return _each(lib.nvdp_renyi_epsilon, "renyi_epsilon", order, divergence, delta)


def renyi_probability_bound(order: Any, divergence: Any, chance: Any) -> Any:
    """Returns the largest probability under P of an event with probability `chance` under Q, if D_order(P || Q) is at
    most `divergence` nats. Two uses: the true positive rate of a test at false positive rate `chance`, and the success
    of identifying one of N texts, with chance 1/N."""
    return _each(lib.nvdp_renyi_probability_bound, "renyi_probability_bound", order, divergence, chance)


def gdp_delta(mu: Any, epsilon: Any) -> Any:
    """Computes delta(epsilon) of N(mu, 1) against N(0, 1) (Balle & Wang 2018). Arrays broadcast."""
    return _each(lib.nvdp_gdp_delta, "gdp_delta", mu, epsilon)


def gdp_epsilon(mu: Any, delta: Any) -> Any:
    """Returns the smallest epsilon >= 0, in nats, with gdp_delta(mu, epsilon) <= delta. Arrays broadcast."""
    return _each(lib.nvdp_gdp_epsilon, "gdp_epsilon", mu, delta)


def gdp_mu(epsilon: Any, delta: Any) -> Any:
    """Returns the largest mu with gdp_delta(mu, epsilon) <= delta. Arrays broadcast."""
    return _each(lib.nvdp_gdp_mu, "gdp_mu", epsilon, delta)


# --- the guess bound ---


def guess_bound(baseline: Any, clip: Any, releases: int = 1, dim: int | None = None) -> Any:
    """Bounds the success probability of any guess about a text from its samples N(M, I), |M| <= clip.

    baseline: success probability of the best guess without the samples, in [0, 1]; an average over texts.
    clip: C, in standard deviations of the noise. releases: number of samples of the text.
    dim: numbers per sample, or None if unknown; a small dim gives a tighter bound.
    baseline and clip broadcast. Returns probabilities, an array or a float. The bound is an average over texts and
    noise; a single guess can be nearly certain.
    """
    return _each(lambda b, c: lib.nvdp_guess_bound(b, c, releases, dim or 0), "guess_bound", baseline, clip)


def guess_attribute(prior: Any, clip: Any, releases: int = 1) -> Any:
    """Bounds the success of guesses of a binary attribute that a share `prior` of the texts has. The baseline is
    max(prior, 1 - prior).

    The bound holds if the attacker knows nothing else about the text; guess_bound() of the baseline covers other
    knowledge.
    """
    return _each(lambda p, c: lib.nvdp_guess_attribute(p, c, releases), "guess_attribute", prior, clip)


def guess_clip(baseline: Any, target: Any, releases: int = 1, dim: int | None = None) -> Any:
    """Returns the largest clip, in standard deviations of the noise, with guess_bound(baseline, clip, releases, dim) <=
    target."""
    return _each(lambda b, t: lib.nvdp_guess_clip(b, t, releases, dim or 0), "guess_clip", baseline, target)


# --- the exact loss of a pair ---


class ExactLoss:
    """The privacy loss L = log P(S)/Q(S), S ~ P, of independent Gaussians and a Dirichlet. (epsilon, delta) are exact
    to ten digits or more. They hold for P against Q alone. For both directions, take the larger epsilon of this loss
    and of the loss with P and Q exchanged.

    mu_p, var_p, mu_q, var_q: [n], or another common shape. times: number of draws of each Gaussian per release.
    alpha_p, alpha_q: [m] pseudo-counts, or None without weights. releases: number of shared samples of the same text.
    """

    def __init__(self, mu_p: Any, var_p: Any, mu_q: Any, var_q: Any, alpha_p: Any = None, alpha_q: Any = None, *,
                 times: int = 1, releases: int = 1):  # fmt: skip
        rows = [np.ascontiguousarray(item) for item in np.broadcast_arrays(*map(array, (mu_p, var_p, mu_q, var_q)))]
        if (alpha_p is None) != (alpha_q is None):
            raise NvdpValueError("alpha_p, alpha_q: expected both or neither, found one of them")
        weights = [array(item, dimensions=1, name="alpha") for item in (alpha_p, alpha_q) if item is not None]
        if weights and weights[0].size != weights[1].size:
            raise NvdpValueError(f"alpha_q: expected {weights[0].size} numbers, as many as in alpha_p, found {weights[1].size}")
        self._take(shared(), lib.nvdp_exact_create, rows[0].size, *map(pointer, rows), times,
                   weights[0].size if weights else 0, *(map(pointer, weights) if weights else (ffi.NULL,) * 2), releases)  # fmt: skip
        self._again: tuple[Any, ...] = rebuild, (ExactLoss, (*rows, *(weights or (None, None))), {"times": times, "releases": releases})

    def _take(self, context: Context, function: Callable[..., int], *arguments: Any) -> None:
        self._context, self._releases = context, arguments[-1]
        self._pointer = context.make("struct nvdp_exact", lib.nvdp_exact_free, function, *arguments)

    def __reduce__(self) -> Any:
        return self._again

    def __repr__(self) -> str:
        samples = "one sample" if self._releases == 1 else f"{self._releases} samples together"
        return (f"nvdp.ExactLoss: the exact privacy loss of P against Q, {samples}: epsilon {upper(self.epsilon(1e-5))} at delta 1e-05; "
                "Q against P may need more")  # fmt: skip

    @property
    def strip(self) -> float:
        """Limit of the finite moments of the loss, a number without a unit: Renyi divergences of orders below 1 + strip
        are finite."""
        return lib.nvdp_exact_moment_limit(self._pointer)

    def _number(self, function: Callable[..., int], value: float) -> float:
        out = ffi.new("double *")
        self._context.call(function, self._pointer, value, out)
        return out[0]

    def point(self, epsilon: float) -> ExactPoint:
        """Computes the curve at one epsilon (nats, may be negative): delta, log_delta, rest = 1 - delta, and the error
        rates fpr and tpr of the best test."""
        out = ffi.new("struct nvdp_exact_point *")
        self._context.call(lib.nvdp_exact_delta, self._pointer, epsilon, out)
        return record(out[0])

    def delta(self, epsilon: Any) -> Any:
        """Computes delta(epsilon) = E (1 - e^(epsilon - L))_+ of P against Q for [...] epsilons in nats: [...] or a
        float."""
        epsilons = array(epsilon, name="epsilon")
        out = ffi.new("struct nvdp_exact_point[]", max(epsilons.size, 1))
        self._context.call(lib.nvdp_exact_curve, self._pointer, epsilons.size, pointer(epsilons), out)
        points = np.frombuffer(ffi.buffer(out)).reshape(-1, ffi.sizeof("struct nvdp_exact_point") // 8)
        found = points[: epsilons.size, 1].reshape(epsilons.shape).copy()  # column 1 is delta
        return found if found.ndim else float(found)

    def epsilon(self, delta: Any) -> Any:
        """Returns the smallest epsilon >= 0, in nats, whose delta of P against Q is at most the given delta; +inf if P
        and Q are always distinguishable."""
        return _each(lambda one: self._number(lib.nvdp_exact_epsilon, one), "epsilon", delta)

    def trade_off(self, fpr: float) -> ExactPoint:
        """Returns the best test at a false positive rate; no other test has a larger `tpr`."""
        out = ffi.new("struct nvdp_exact_point *")
        self._context.call(lib.nvdp_exact_trade_off, self._pointer, fpr, out)
        return record(out[0])

    def gdp(self, delta: Any) -> Any:
        """Returns the smallest mu of Gaussian DP (Dong, Roth & Su 2022) whose delta(epsilon) is nowhere below
        delta(epsilon) of P against Q, for deltas of at least the given delta."""
        return _each(lambda one: self._number(lib.nvdp_exact_gdp, one), "gdp", delta)


# --- Bayesian DP ---


def bdp(divergences: Any, *, moment: float = 1.1, delta: float = 1e-5, gamma: float = 1e-6, releases: int = 1) -> BdpCost:
    """Computes Bayesian DP of one text (Triastcyn & Faltings 2020, Theorem 2): `cost`, `epsilon` (nats) and
    intermediate results. The epsilon holds for other texts from the same distribution, and proves nothing for other
    kinds of texts.

    divergences: [m] nats, max(D_{k+1}(P||Q_j), D_{k+1}(Q_j||P)) to every other text, where k is the moment.
    delta: delta of epsilon. gamma: failure probability of the estimate per sample, which delta includes. releases:
        samples per text.
    """
    d = array(divergences, dimensions=1, name="divergences")
    return shared().result("struct nvdp_bdp_cost", lib.nvdp_bdp, delta, gamma, releases, moment, d.size, pointer(d))


def bdp_subsampled(divergences: Any, rate: float, *, delta: float = 1e-5, gamma: float = 1e-6, releases: int = 1) -> BdpCost:
    """Computes Bayesian DP of one text if each text is in the sample with probability `rate` (Poisson subsampling).

    divergences: [k + 2, m] nats; row j has the divergences of order j, for an integer moment k. Rows 0 and 1 are not
        read.
    delta: delta of epsilon. gamma: failure probability of the estimate per sample, which delta includes. releases:
        samples per text.
    """
    d = array(divergences, dimensions=2, name="divergences")
    return shared().result("struct nvdp_bdp_cost", lib.nvdp_bdp_subsampled, delta, gamma, releases, len(d) - 2, rate,
                           d.shape[1], pointer(d))  # fmt: skip


# --- DP-SGD ---


class Accountant:
    """The privacy of training: phases of DP-SGD, and guarantees of other computations on the same examples.

    phases: (noise, rate, steps) per phase: noise multiplier sigma, Poisson sampling rate, number of steps.
    beside: (epsilon, delta) per other computation.
    accountant: "pld", by the privacy loss distribution (tighter), or "rdp", by Renyi divergences.

    In a training loop of your program, `step` counts the steps. With Opacus, set engine.accountant = nvdp.Accountant():
    the class has the methods of an accountant of Opacus. Adjacency is zero-out: a null example with gradient 0 takes
    the place of an example. Guarantees are for exact arithmetic. If the model decides when training ends (early
    stopping, a choice of the best epoch), count all planned steps, not only the finished steps.
    """

    def __init__(self, phases: Sequence[tuple[float, float, int]] = (), beside: Sequence[tuple[float, float]] = (),
                 accountant: str = "pld"):  # fmt: skip
        if accountant not in ("pld", "rdp"):
            raise NvdpValueError(f"accountant: expected pld or rdp, found {accountant}")
        self.history: list[tuple[float, float, int]] = [(noise, rate, steps) for noise, rate, steps in phases]
        """(noise, rate, steps) per phase."""
        self._beside, self._accountant = [(epsilon, delta) for epsilon, delta in beside], accountant
        self._kind = lib.NVDP_ACCOUNTANT_PLD if accountant == "pld" else lib.NVDP_ACCOUNTANT_RDP

    def __repr__(self) -> str:
        steps = "; ".join(f"{n} steps of DP-SGD with noise {noise:g} and sampling rate {rate:g}" for noise, rate, n in self.history)
        others = f", and {len(self._beside)} other computations" if self._beside else ""
        return f"nvdp.Accountant: {steps or 'no steps'}{others}, by {self._accountant}"

    def __len__(self) -> int:
        """Number of steps of all phases."""
        return sum(steps for _, _, steps in self.history)

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Counts one step with this noise multiplier and Poisson sampling rate."""
        if not (noise_multiplier >= 0 and 0 <= sample_rate <= 1):
            raise NvdpValueError(f"step: expected noise_multiplier >= 0 and sample_rate from 0 to 1, found {noise_multiplier!r} and {sample_rate!r}")
        last = self.history[-1] if self.history else None
        if last is not None and last[:2] == (noise_multiplier, sample_rate):
            self.history[-1] = *last[:2], last[2] + 1
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_epsilon(self, delta: float, **_ignored: Any) -> float:
        """Computes epsilon at a delta, in nats; 0 before the first step. This is Opacus's name of `epsilon`."""
        return self.epsilon(delta) if self.history or self._beside else 0.0

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Returns a function that counts a step. Opacus calls the function with the optimizer after each step of the
        optimizer."""

        def count(optimizer: Any) -> None:
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=sample_rate * optimizer.accumulated_iterations)

        return count

    def mechanism(self) -> str:
        """Returns the name of the Opacus accountant that chooses the noise for a target epsilon: "prv" or "rdp"."""
        return "prv" if self._accountant == "pld" else "rdp"

    def state_dict(self, destination: Any = None) -> dict[str, Any]:
        """Returns the phases for a checkpoint, as plain numbers and strings."""
        found = {} if destination is None else destination
        found.update(history=list(self.history), beside=list(self._beside), accountant=self._accountant)
        return found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replaces the phases by the phases of a checkpoint."""
        other = Accountant(state["history"], state.get("beside", ()), state.get("accountant", self._accountant))
        self.__dict__.update(other.__dict__)

    def _run(self) -> tuple[Any, ...]:
        """Returns the phases as a struct, and the arrays that must live as long as the struct."""
        phases, beside = ffi.new("struct nvdp_dp_steps[]", self.history), ffi.new("struct nvdp_dp_guarantee[]", self._beside)
        return ffi.new("struct nvdp_dp_run *", (phases, len(self.history), beside, len(self._beside))), phases, beside

    def __reduce__(self) -> Any:
        return rebuild, (Accountant, (self.history, self._beside, self._accountant), {})

    def _ask(self, kind: str, function: Callable[..., int], *arguments: Any) -> Any:
        out, run = ffi.new(f"{kind} *"), self._run()
        shared().call(function, run[0], *arguments, out)
        return out[0]

    def epsilon(self, delta: Any) -> Any:
        """Computes an upper bound of epsilon at a delta, nats: [...] or a float."""
        return _each(lambda one: self._ask("double", lib.nvdp_account_epsilon, one, self._kind), "epsilon", delta)

    def delta(self, epsilon: Any) -> Any:
        """Computes an upper bound of delta at an epsilon, by the privacy loss distribution: [...] or a float."""
        return _each(lambda one: self._ask("double", lib.nvdp_account_delta, one), "delta", epsilon)

    def risk(self, delta: float, baselines: Sequence[float] = (0.5, 0.001)) -> ExampleRisk:
        """Computes upper bounds for attacks on one training example: `mu`, `replaced_epsilon`, `membership` (success of
        guessing whether the model was trained on the example; 1/2 without the model) and `guess` (success of any guess,
        per baseline without the model)."""
        baselines = list(baselines)
        account, found, run = result_of("struct nvdp_account"), result_of("struct nvdp_example_risk"), self._run()
        shared().call(lib.nvdp_account, run[0], delta, account)
        shared().call(lib.nvdp_example_risk, run[0], account, len(baselines), ffi.new("double[]", baselines), found)
        return record(found[0])

    def noise(self, epsilon: float, delta: float) -> float:
        """Returns the smallest noise multiplier of the last phase that keeps all phases within a budget, at most a
        relative 1e-4 too large."""
        return self._ask("double", lib.nvdp_account_noise, epsilon, delta, self._kind)

    def steps(self, epsilon: float, delta: float) -> int:
        """Returns the largest number of steps of the last phase within a budget."""
        return self._ask("uint64_t", lib.nvdp_account_steps, epsilon, delta, self._kind)


def account(noise: float, rate: float, steps: int, delta: float) -> Account:
    """Computes epsilon of DP-SGD by both accountants: `pld_epsilon` (report this one), `rdp_epsilon` and `rdp_order`;
    nats.

    noise: noise multiplier sigma; rate: Poisson sampling rate; steps: number of steps; delta: delta of the epsilons.
    """
    run = Accountant([(noise, rate, steps)])._run()
    return shared().result("struct nvdp_account", lib.nvdp_account, run[0], delta)


def audit(samples_p: Any, samples_q: Any, *, delta: float = 1e-5, confidence: float = 0.95, seed: int = 1) -> SampleAudit:
    """Computes a lower bound on epsilon of any mechanism, from [n, d] samples on two adjacent inputs: `epsilon`, and
    `ceiling`, the bound that a perfect test would have shown; nats.

    samples_p, samples_q: [n, d] samples on each input. delta: delta of epsilon. confidence: probability that the bound
        holds.
    """
    parts = [array(item, dimensions=2, name="samples") for item in (samples_p, samples_q)]
    given = [ffi.new("struct nvdp_samples *", (len(part), part.shape[1], pointer(part))) for part in parts]
    return shared().result("struct nvdp_sample_audit", lib.nvdp_audit_samples, *given, delta, confidence, seed)
