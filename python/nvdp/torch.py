"""Bottlenecks as torch modules. They train on any encoder, and are measured and certified like the bottleneck of a run.

    bottleneck = nvdp.torch.Bottleneck(method="nvdp", width=768, preset="certified", max_length=64)
    posterior = bottleneck(encoder(**batch).last_hidden_state, batch["attention_mask"])
    pooled = bottleneck.read(posterior.sample())
    loss = cross_entropy(head(pooled), labels) + posterior.regularizer(step / steps)
    ...
    bottleneck.certificate(delta=1e-5).epsilon                 # over all texts
    bottleneck.posteriors([posterior]).privacy()               # of these texts

Options, losses and gradients are the same as in the library (docs/nvib.md, docs/vib.md). The noise comes from torch. It
is neither secret nor exact, so use it only for training. Needs torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, softplus

from ._lib import (
    Context, NvdpError, NvdpValueError, Result, check_ended, ffi, from_json, lib, owned_text, pointer, record, result_of, text, typed,
)  # fmt: skip
from .posteriors import Posteriors
from .results import BottleneckSettings, Certificate, Limits

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import BottleneckArguments, PrivacyArguments

__all__ = ["Bottleneck", "Posterior", "PrivacyCallback", "Sample"]

# --- the clip set: nvib/clip.c ---

_MARGIN = 1 - 2.0**-22  # compensates the rounding of a scaled mean


def _inside(bound: float, up: bool) -> float:
    """Rounds a bound to float32, towards the inside of the range."""
    near = np.float32(bound)
    if (near < bound) if up else (near > bound):
        near = np.nextafter(near, np.float32(math.inf if up else -math.inf))
    return float(near)


def _log_inside(bound: float, up: bool) -> float:
    """Returns the log of a bound of pseudo-counts, rounded so that its exp() does not exceed the bound."""
    if bound == 0 or bound == math.inf:
        return math.log(bound) if bound else -math.inf
    near = _inside(math.log(bound), up)
    if (math.exp(near) < bound) if up else (math.exp(near) > bound):
        near = float(np.nextafter(np.float32(near), np.float32(math.inf if up else -math.inf)))
    return near


def _range(limit: float, low: float, high: float) -> tuple[float, float]:
    """Restricts a range to [-limit, limit], unless the result would be empty."""
    low = min(max(low, -limit), high)
    return low, max(min(high, limit), low)


class _Clamp(torch.autograd.Function):
    """Clamps x to [low, high], where NaN counts as 0. The gradient of a clamped number is 0. With `inward`, it passes
    if descent leads back into the range."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, low: float, high: float, inward: bool) -> Tensor:
        ctx.save_for_backward(x)
        ctx.bounds = low, high, inward
        return x.nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf).clamp(low, high)

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor | None, ...]:
        (x,), (low, high, inward) = ctx.saved_tensors, ctx.bounds
        passes = (x >= low) & (x <= high)
        if inward:
            passes = passes | ((x < low) & (d < 0)) | ((x > high) & (d > 0))
        return d * passes, None, None, None


class _Ball(torch.autograd.Function):
    """Scales each x [..., n] whose norm exceeds `limit` to the radius. An x that is not finite becomes 0.

    The gradient is the gradient of the projection. With `inward`, the part along x is kept if descent leads back
    inside.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, radius: float, limit: float, inward: bool) -> Tensor:
        norm = x.double().norm(dim=-1, keepdim=True)
        factor = torch.where(norm > limit, radius * _MARGIN / norm, 1.0).nan_to_num(0.0) * norm.isfinite()
        y = torch.where(norm.isfinite(), x * factor.to(x.dtype), 0.0)
        ctx.save_for_backward(y, factor)
        ctx.inward = inward
        return y

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor | None, ...]:
        y, factor = ctx.saved_tensors
        wide = y.double()
        along = (wide * d).sum(-1, keepdim=True) / wide.square().sum(-1, keepdim=True)
        if ctx.inward:
            along = along.clamp(max=0)
        scaled = factor * (d - along * wide)
        return torch.where(factor < 1, torch.where(factor > 0, scaled, 0.0), d).to(d.dtype), None, None, None


class _LogGamma(torch.autograd.Function):
    """Returns log g of draws g ~ Gamma(exp(log_alpha), 1). `own` marks the draws whose gradient is the library's implicit
    gradient (nvib/gamma.c)."""

    @staticmethod
    def forward(ctx: Any, log_alpha: Tensor, log_g: Tensor, own: Tensor) -> Tensor:
        ctx.save_for_backward(log_alpha, log_g, own)
        return log_g.clone()

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor | None, ...]:
        log_alpha, log_g, own = ctx.saved_tensors
        alpha, draws = (np.ascontiguousarray(x[own].double().cpu().numpy()) for x in (log_alpha.exp(), log_g))
        slope = np.empty_like(alpha)
        lib.nvdp_gamma_gradient(alpha.size, pointer(alpha), pointer(draws), pointer(slope, writable=True))
        found = torch.zeros_like(d)
        found[own] = torch.from_numpy(slope.clip(max=1e30)).to(d)
        return d * found, None, None


# --- remainders of log Gamma and its second derivative, which do not cancel for large x: nvib/gamma.c ---


def _log_gamma_excess(x: Tensor) -> Tensor:
    """Computes log Gamma(x) - x psi(x) + x."""
    large = x.clamp(min=16)
    r = 1 / large
    series = 0.5 * (math.log(2 * math.pi) + 1 - large.log()) + r / 6 - r**3 / 90 + r**5 / 210 - r**7 / 210
    small = x.clamp(max=16)
    return torch.where(x > 16, series, small.lgamma() - small * small.digamma() + small)


class _Published(torch.autograd.Function):
    """K L_D of the papers as a function of A. The derivative is (A - A_p) (F(A/C)/C - F(A)), where
    F(x) = psi'(x) - 1/x."""

    @staticmethod
    def forward(ctx: Any, total: Tensor, prior: Tensor, vectors: Tensor) -> Tensor:
        ctx.save_for_backward(total, prior, vectors)
        part = total / vectors
        return (_log_gamma_excess(total) - vectors * _log_gamma_excess(part) + prior * (total.digamma() - part.digamma())
                - prior.lgamma() + vectors * (prior / vectors).lgamma())  # fmt: skip

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor | None, ...]:
        total, prior, vectors = ctx.saved_tensors
        return d * (total - prior) * (_trigamma_excess(total / vectors) / vectors - _trigamma_excess(total)), None, None


def _trigamma_excess(x: Tensor) -> Tensor:
    """Computes psi'(x) - 1/x. Uses the recurrence psi'(x) = psi'(x + 1) + 1/x^2 for small x."""
    steps = sum((1 / (x + k) ** 2 for k in range(1, 16)), 1 / x**2)
    large = torch.where(x > 16, x, x + 16)
    r = 1 / large
    series = r**2 / 2 + r**3 / 6 - r**5 / 30 + r**7 / 42 - r**9 / 30
    return torch.where(x > 16, series, series + r + steps - 1 / x)


class _Exact(torch.autograd.Function):
    """L_D in nats of alpha [B, T] with `mask`, under a prior whose components have pseudo-count b [B]:
    nvib/regularizer.c."""

    @staticmethod
    def forward(ctx: Any, alpha: Tensor, mask: Tensor, b: Tensor, padding: Tensor, prior: float, kappa: int) -> Tensor:
        tokens = mask.sum(1)
        own = (alpha * mask).sum(1)
        total, empty = prior + own + padding, prior + tokens * b + padding
        ctx.save_for_backward(alpha, mask, b, total, empty, own - tokens * b)
        ctx.kappa = kappa
        piece, wide = alpha / kappa, b[:, None]
        each = kappa * _log_gamma_excess(piece) + wide * piece.digamma()
        return (_log_gamma_excess(total) + empty * total.digamma() - empty.lgamma() - prior - padding
                + tokens * kappa * (b / kappa).lgamma() - torch.where(mask, each, 0.0).sum(1))  # fmt: skip

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor | None, ...]:
        alpha, mask, b, total, empty, excess = ctx.saved_tensors
        slope = (alpha - b[:, None]) * _trigamma_excess(alpha / ctx.kappa) / ctx.kappa
        slope = slope - (excess * _trigamma_excess(total))[:, None] - b[:, None] / alpha + (empty / total)[:, None]
        return d[:, None] * torch.where(mask, slope, 0.0), None, None, None, None, None


# --- posteriors and samples ---


class Sample(NamedTuple):
    """One sample of each of B texts.

    z: [B, M, p] vectors in the order: prior (with weights), tokens, padding (if lengths are hidden), with kappa vectors
        each.
    log_pi: [B, M] log weights; None for a method without weights.
    rows: [B, M] bool, true for existing vectors.
    """

    z: Tensor
    log_pi: Tensor | None
    rows: Tensor


@dataclass
class Posterior:
    """Posteriors of B texts, after the clip set.

    mu, logvar: [B, T, p] means and log variances of the components of tokens; T is 1 for methods with one vector per
        text.
    alpha: [B, T] pseudo-counts; None for a method without weights.
    mask: [B, T] bool, true for existing components.
    bottleneck: the module that computed them.
    """

    mu: Tensor
    logvar: Tensor
    alpha: Tensor | None
    mask: Tensor
    bottleneck: Bottleneck

    def sample(self, generator: torch.Generator | None = None, *, eps: Tensor | None = None,
               log_gamma: Tensor | None = None) -> Sample:  # fmt: skip
        """Draws one sample of every text. Gradients flow through the sample: z is reparameterized, and the weights have
        implicit gradients. Use these samples only for training, because torch's generators are predictable. Share
        samples with `Run.export`.

        generator: a generator of torch; None for the default generator.
        eps: [B, M, p] standard normal numbers; None to draw them.
        log_gamma: [B, M] logarithms of Gamma draws; None to draw them.
        """
        of = self.bottleneck
        mu, logvar, rows = self.mu * self.mask[..., None], self.logvar * self.mask[..., None], self.mask
        batch, width, dim = mu.shape
        if of.length is not None:
            rows = torch.ones(batch, of.length, dtype=torch.bool, device=mu.device)
            more = mu.new_zeros(batch, of.length - width, dim)
            mu, logvar = torch.cat([mu, more], 1), torch.cat([logvar, more], 1)
        own = torch.cat([self.mask, self.mask.new_zeros(batch, mu.shape[1] - width)], 1)
        log_alpha = None
        if self.alpha is not None:
            filler = 1.0 if of.length is None else of.pad_alpha
            log_alpha = torch.where(self.mask, self.alpha, self.alpha.new_tensor(filler)).double().log()
            log_alpha = torch.cat([log_alpha, log_alpha.new_full((batch, mu.shape[1] - width), math.log(filler))], 1)
            log_alpha = torch.cat([log_alpha.new_full((batch, 1), math.log(of.prior_alpha)), log_alpha], 1)
            prior = mu.new_zeros(batch, 1, dim)
            mu, logvar = torch.cat([prior, mu], 1), torch.cat([prior, logvar], 1)
            rows, own = torch.cat([rows.new_ones(batch, 1), rows], 1), torch.cat([own.new_zeros(batch, 1), own], 1)
        mu, logvar = mu.repeat_interleave(of.kappa, 1), logvar.repeat_interleave(of.kappa, 1)
        rows = rows.repeat_interleave(of.kappa, 1)
        for name, given, shape in ("eps", eps, mu.shape), ("log_gamma", log_gamma, rows.shape):
            if given is not None and given.shape != shape:
                raise NvdpValueError(f"{name}: expected the shape {list(shape)}, found {list(given.shape)}")
        log_pi = None
        if log_alpha is not None:
            log_alpha = (log_alpha - math.log(of.kappa)).repeat_interleave(of.kappa, 1)
            if log_gamma is None:
                # log Gamma(a) = log Gamma(a + 1) + log(U) / a: for small pseudo-counts, a direct draw would underflow.
                a = log_alpha.detach().exp()
                uniform = torch.rand(a.shape, generator=generator, dtype=a.dtype, device=a.device).clamp_min(2.0**-60)
                log_gamma = torch._standard_gamma(a + 1, generator).log() + uniform.log() / a
            log_g = _LogGamma.apply(log_alpha, log_gamma.to(log_alpha).clamp_min(-1e30), own.repeat_interleave(of.kappa, 1))
            log_pi = log_g.masked_fill(~rows, -math.inf).log_softmax(1).to(mu.dtype)
        if eps is None:
            eps = torch.randn(mu.shape, generator=generator, dtype=mu.dtype, device=mu.device)
        return Sample((mu + (logvar / 2).exp() * eps) * rows[..., None], log_pi, rows)

    def losses(self) -> tuple[Tensor, Tensor]:
        """Computes L_G [B] and L_D [B] of each text, before lambda, in double. With regularizer "kl", the losses are in
        nats; with "published", they are as published. L_D is 0 for a method without weights."""
        of, mask = self.bottleneck, self.mask
        mu, logvar, tokens = self.mu.double(), self.logvar.double(), mask.sum(1).double()
        row = 0.5 * (logvar.expm1() - logvar + mu.square()).sum(-1) * mask
        exact = of.config["regularizer"] == "kl"
        if self.alpha is None:
            return row.sum(1) / (1 if exact else tokens.clamp(min=1)), torch.zeros_like(tokens)
        alpha, prior, kappa, delta = self.alpha.double(), of.prior_alpha, of.kappa, of.config["delta"]
        count = tokens + 1
        if not exact:
            total = prior + (alpha * mask).sum(1)
            gauss = kappa / mu.shape[-1] * (alpha / total[:, None] * row).sum(1)
            return gauss, _Published.apply(total, prior + delta * tokens, kappa * count) / count
        b, padding = (prior + delta * tokens) / count, torch.zeros_like(tokens)
        if of.length is not None:
            b, padding = torch.full_like(tokens, of.pad_alpha), (of.length - tokens) * of.pad_alpha
        return kappa * row.sum(1), _Exact.apply(torch.where(mask, alpha, 1.0), mask, b, padding, prior, kappa)

    def regularizer(self, done: float = 1.0) -> Tensor:
        """Returns the regularizer of the loss, lambda_g s mean(L_G) + lambda_d s mean(L_D), by the options of the
        bottleneck.

        done: share of finished training steps, 0 to 1, which determines the weight s by the schedule (kl_schedule).
        """
        if not 0 <= done <= 1:
            raise NvdpValueError(f"done: expected a share of the steps from 0 to 1, found {done!r}")
        of = self.bottleneck.settings
        weight = _schedule(of, done)
        gauss, dirichlet = self.losses()
        return weight * (of["lambda_g"] * gauss.mean() + of["lambda_d"] * dirichlet.mean())


def _schedule(of: Mapping[str, Any], done: float) -> float:
    """Returns s, the weight of the regularizer at a share of the steps."""
    if of["kl_schedule"] == "decay":
        return 1 - done
    if of["kl_schedule"] == "constant":
        return 1.0
    if done < of["kl_delay"]:
        return 0.0
    return min(1.0, (done - of["kl_delay"]) / of["kl_ramp"]) if of["kl_ramp"] > 0 else 1.0


# --- layers: every layer is a module of one tensor, so that Opacus has per-example gradients of the tensor ---

# Activation functions by the names that the library writes to config.json.
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": nn.functional.gelu, "gelu_new": lambda x: nn.functional.gelu(x, approximate="tanh"), "relu": nn.functional.relu,
    "silu": nn.functional.silu, "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x)}  # fmt: skip


class _Mean(nn.Linear):
    """Computes W x + b, with one gain per row of a text if `rows` is given."""

    def __init__(self, width: int, dim: int, rows: int | None):
        super().__init__(width, dim)
        if rows is not None:
            self.gain = nn.Parameter(torch.full((rows,), 1 / rows))
            self.gain.data[0] = 1

    def forward(self, x: Tensor) -> Tensor:
        mu = super().forward(x)
        return mu * self.gain.flatten()[: mu.shape[1], None] if hasattr(self, "gain") else mu


class _Quadratic(nn.Module):
    """Computes log alpha = quadratic.(x * x) + weight.x + bias. The sum is in double, because terms cancel."""

    def __init__(self, width: int):
        super().__init__()
        self.quadratic, self.weight = nn.Parameter(torch.zeros(1, width)), nn.Parameter(torch.zeros(1, width))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        x = x.double()
        return (x * (x * self.quadratic.double() + self.weight.double())).sum(-1) + self.bias.double()


class _Rho(nn.Module):
    """rho of each dimension, which is the same for every text."""

    def __init__(self, dim: int):
        super().__init__()
        self.value = nn.Parameter(torch.zeros(dim))

    def forward(self, mu: Tensor) -> Tensor:
        # depends formally on the input, because hooks for per-example gradients would otherwise miss the parameter
        return torch.where(torch.ones_like(mu, dtype=torch.bool), self.value.flatten().expand_as(mu), mu)


class _Layer(nn.Module):
    """A transformer layer of width p: after the noise, the sealed block; before the noise, an encoder layer like
    BERT's. `attend` computes the attention."""

    def __init__(self, dim: int, heads: int, inner: int, activation: str, eps: float):
        super().__init__()
        if activation not in _ACTIVATIONS:
            raise NvdpValueError(f"activation: expected {', '.join(_ACTIVATIONS)}, found {activation}")
        self.heads, self.act = heads, activation
        for name, size in (("attention_self_query", (dim, dim)), ("attention_self_key", (dim, dim)), ("attention_self_value", (dim, dim)),
                           ("attention_output_dense", (dim, dim)), ("intermediate_dense", (dim, inner)),
                           ("output_dense", (inner, dim))):  # fmt: skip
            dense = nn.Linear(*size)
            nn.init.normal_(dense.weight, std=0.02)
            nn.init.zeros_(dense.bias)
            self.add_module(name, dense)
        self.attention_output_LayerNorm, self.output_LayerNorm = nn.LayerNorm(dim, eps), nn.LayerNorm(dim, eps)

    def _split(self, name: str, x: Tensor) -> Tensor:
        return self.get_submodule(name)(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def attend(self, queries: Tensor, keys: Tensor, bias: Tensor, residual: Tensor | None) -> Tensor:
        """Attention of queries [B, Q, p] over keys [B, M, p] with an additive bias [B, M]. Adds `residual` [B, Q, p] to
        the result."""
        q, k, v = (self._split(f"attention_self_{name}", x) for name, x in (("query", queries), ("key", keys), ("value", keys)))
        read = scaled_dot_product_attention(q, k, v, attn_mask=bias[:, None, None].to(q.dtype))
        y = self.get_submodule("attention_output_dense")(read.transpose(1, 2).flatten(2))
        y = self.attention_output_LayerNorm(y if residual is None else y + residual)
        inner = _ACTIVATIONS[self.act](self.get_submodule("intermediate_dense")(y))
        return self.output_LayerNorm(self.get_submodule("output_dense")(inner) + y)


# --- the bottleneck ---


_DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def _tensors(path: Path) -> dict[str, Tensor]:
    """Returns the tensors of a safetensors file in float32. Raises NvdpError if the file is damaged or has other
    types."""
    data, found = path.read_bytes(), {}
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        for name, about in json.loads(data[8:start]).items():
            if name == "__metadata__":
                continue
            if about["dtype"] not in _DTYPES:
                raise ValueError(f"tensor '{name}': expected one of {', '.join(_DTYPES)}, found {about['dtype']}")
            first, end = about["data_offsets"]
            if not 0 <= first <= end <= len(data) - start:
                raise ValueError(f"tensor '{name}': expected bytes {first} to {end}, found {len(data) - start} bytes of tensors")
            values = torch.frombuffer(bytearray(data[start + first : start + end]), dtype=_DTYPES[about["dtype"]])
            found[name] = values.reshape(about["shape"]).to(torch.float32)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise NvdpError(f"{path}: expected a complete safetensors file: {error}; copy the file again or train again", "ERR_INPUT") from error
    return found


def _resolve(options: Mapping[str, Any], source: str, saved: str | None, width: int, heads: int) -> tuple[BottleneckSettings, Limits]:
    """Returns the settings of a bottleneck and the limits of its posteriors, from options by name or from a JSON object
    of options."""
    context, out, limits = Context(), ffi.new("char **"), result_of("struct nvdp_limits")
    config = context.config("train", options)
    if saved is not None:
        context._call(lib.nvdp_config_load_text, config, source.encode(), saved.encode())
    context.call(lib.nvdp_bottleneck_resolve, config, width, heads, limits, out)
    return typed(BottleneckSettings, from_json(owned_text(out[0]))), record(limits[0])


class Bottleneck(nn.Module):
    """A bottleneck: hidden states [B, T, width] become posteriors, a posterior becomes a random sample, and `read`
    makes one vector per text, [B, dim], from samples alone. Nothing else of the text may reach later layers.

    path: a run or its model directory, from which the trained bottleneck is loaded; None for a new bottleneck.
    width: length of the encoder's hidden states.
    heads: attention heads of the encoder, the maximum for the sealed block; None for width/64, at least 1.
    intermediate_size: feed-forward width of the block if latent_dim is width; None for 4 width.
    activation, layer_norm_eps: activation function and epsilon of the block.
    options: options of training by name: method ("nvdp" or another with a bottleneck), preset ("certified", "per-nat"),
        latent_dim, length or max_length (tokens), clip_sequence, clip_mu, certified_epsilon, lambda_g, lambda_d,
        regularizer, kl_schedule ... (nvdp.options("train"), traits of bottlenecks). Options that a bottleneck does not
        use are ignored.

    A new narrow bottleneck has random directions; `initialize` sets the principal directions. Parameters have the same
    names as in files, such as mu.weight.
    """

    def __init__(self, path: str | PathLike[str] | None = None, *, width: int | None = None, heads: int | None = None,
                 intermediate_size: int | None = None, activation: str = "gelu", layer_norm_eps: float = 1e-12,
                 **options: Unpack[BottleneckArguments]):  # fmt: skip
        super().__init__()
        if path is not None:
            if width is not None or options:
                raise NvdpValueError("path: expected no other arguments, because the run has all options")
            self._load(Path(path))
            return
        if not isinstance(width, int) or isinstance(width, bool) or width < 1:
            raise NvdpValueError(f"width: expected the length of the encoder's hidden states, found {width!r}")
        heads = max(1, width // 64) if heads is None else heads
        self._build(_resolve(options, "", None, width, heads), width, heads, intermediate_size or 4 * width, activation, layer_norm_eps)
        self._reset()

    def _build(self, resolved: tuple[BottleneckSettings, Limits], width: int, heads: int, inner: int, activation: str, eps: float) -> None:
        self.settings, self.limits = resolved
        self.config = config = self.settings.nvib
        self.method: str = self.settings.method
        self.width: int = width
        self.dim: int = config.latent_dim
        """p, the length of a vector."""
        self.bounded: bool = config.clip_sequence < math.inf
        """The means of a text are clipped together, and the variances are 1."""
        # with a sealed block, the layer reads the sample; otherwise, it comes before the noise
        self.sealed: bool = self.settings.block
        self.weighted: bool = self.settings.weights
        self.single: bool = self.settings.single
        self.kappa: int = config.kappa if self.weighted else 1
        self.prior_alpha: float = config.prior_alpha
        self.length: int | None = 1 if self.single else config.length if config.length_policy == "hidden" else None
        """Number of components to which all samples are padded, without the prior's; None: lengths are public."""
        self.pad_alpha = math.nan if self.length is None else self.limits.pad_alpha
        gains = not self.single and config.row_index == "trained"
        self.mu = _Mean(width, self.dim, config.length if gains else None)
        rho: nn.Module | None = None
        if not self.bounded and self.sealed:
            self.logvar = nn.Linear(width, self.dim)
        elif not self.bounded and not self.settings.own_noise:
            rho = nn.Linear(width, self.dim)
        elif not self.bounded and self.settings.trained_noise:
            rho = _Rho(self.dim)
        self.rho = rho
        self.alpha = _Quadratic(width) if self.weighted else None
        self.residual = gains and self.sealed
        self.layer: _Layer | None = None
        if self.sealed:
            wide = inner if self.dim == width else 4 * self.dim
            self.layer = _Layer(self.dim, config.latent_heads, wide, activation, eps)
        elif not self.settings.own_noise:
            self.layer = _Layer(width, heads, inner, activation, eps)
        inward = config.clip_gradient == "inward"
        self._radius = _inside(config.clip_mu_radius, False), inward
        self._logvar = (*_range(300, _inside(config.clip_logvar_min, True), _inside(config.clip_logvar_max, False)), inward)
        self._log_alpha = (*_range(230, _log_inside(config.clip_alpha_min, True), _log_inside(config.clip_alpha_max, False)), inward)

    def _load(self, path: Path) -> None:
        folder = path / "model" if (path / "run.json").is_file() else path
        run = folder.parent / "run.json"
        encoder = from_json((folder / "config.json").read_text("utf-8"))
        saved: Any = Result(method=encoder.get("nvdp", {}).get("method", "base"), nvib=encoder.get("nvdp", {}).get("nvib", {}))
        if folder.name == "model":
            check_ended(folder.parent)
            if run.is_file():
                trained = from_json(run.read_text("utf-8")).config
                names = "lambda_g", "lambda_d", "kl_schedule", "kl_delay", "kl_ramp"
                saved.update({name: trained[name] for name in names if name in trained})
        if not lib.nvdp_method_is_private(_method(saved.method)):
            raise NvdpError(f"{folder}: expected a method with a bottleneck, found {saved.method}", "ERR_UNSUPPORTED")
        tensors, prefix = _tensors(folder / "model.safetensors"), f"{saved.method}."
        own = {}
        for name, value in tensors.items():
            head, _, rest = name.partition(".")
            if head in ("nvib", "vib"):
                own["rho.value" if rest == "rho" else rest] = value
            elif name.startswith(prefix):
                module, _, leaf = name[len(prefix) :].rpartition(".")
                own[f"layer.{module.replace('.', '_')}.{leaf}"] = value
        heads = int(encoder.get("num_attention_heads", encoder.get("n_heads", 1)))
        width = own["mu.weight"].shape[1]
        inner = own["layer.intermediate_dense.weight"].shape[0] if "layer.intermediate_dense.weight" in own else width
        self._build(_resolve({}, str(folder / "config.json"), _json(saved), width, heads), width, heads, inner,
                    encoder.get("hidden_act", encoder.get("activation", "gelu")), float(encoder.get("layer_norm_eps", 1e-12)))  # fmt: skip
        shapes = {name: value.shape for name, value in self.named_parameters()}
        self.load_state_dict({name: value.reshape(shapes.get(name, value.shape)) for name, value in own.items()})

    def _reset(self) -> None:
        """Sets the initial values of docs/nvib.md and docs/vib.md, with random directions for a narrow bottleneck."""
        config, width = self.config, self.width
        nn.init.zeros_(self.mu.bias)
        if self.dim == width:
            nn.init.eye_(self.mu.weight)
        else:
            nn.init.orthogonal_(self.mu.weight)
        self.mu.weight.data.mul_(config.mu_tau)
        low, high = config.clip_logvar_min, config.clip_logvar_max
        room = min(0.05, (high - low) / 4)
        start = max(low + room, min(high - room, 2 * math.log(config.stdev_tau)))
        if hasattr(self, "logvar"):
            nn.init.zeros_(self.logvar.weight)
            nn.init.constant_(self.logvar.bias, start)
        deviation = math.exp(start / 2)
        rho = deviation + math.log(-math.expm1(-deviation))
        if isinstance(self.rho, _Rho):
            nn.init.constant_(self.rho.value, rho)
        elif isinstance(self.rho, nn.Linear):
            nn.init.zeros_(self.rho.weight)
            nn.init.constant_(self.rho.bias, rho)
        if self.alpha is not None and self.layer is not None:
            nn.init.constant_(self.alpha.quadratic, self.dim / width / (2 * math.sqrt(self.dim / self.layer.heads)))
            nn.init.constant_(self.alpha.bias, config.alpha_tau)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            module, _, leaf = name.rpartition("_")  # mu_weight: mu.weight
            if module in ("mu", "logvar", "alpha", "rho") and leaf in ("weight", "bias", "gain", "quadratic"):
                return getattr(super().__getattr__(module), leaf)
            raise

    def extra_repr(self) -> str:
        """Returns the method and the shape of its samples, for print()."""
        lengths = "public lengths" if self.length is None else f"{self.length} vectors" if self.length > 1 else "one vector"
        return f"method={self.method}, width={self.width}, dim={self.dim}, {lengths}"

    @torch.no_grad()
    def initialize(self, hidden: Tensor, mask: Tensor | None = None) -> None:
        """Sets the directions of the means from hidden states of training texts, [rows, width] or [B, T, width] with
        mask [B, T]: the principal directions about the mean of the states, scaled so that the means have root mean
        square mu_tau. Uses at most 8192 rows. Does nothing if dim is width. The result depends on these texts, which no
        certificate covers."""
        x = hidden[mask.bool()] if mask is not None else hidden.reshape(-1, self.width)
        x = x[:8192].double()
        if self.dim == self.width:
            return
        if len(x) < self.dim or not x.isfinite().all():
            raise NvdpValueError(f"hidden: expected at least {self.dim} rows of finite numbers, found {len(x)} rows")
        _, vectors = torch.linalg.eigh((x - x.mean(0)).T @ (x - x.mean(0)))
        rows = vectors.T.flip(0)[: self.dim]
        rows = rows * rows.gather(1, rows.abs().argmax(1, keepdim=True)).sign()
        coordinates = x @ rows.T
        spread = coordinates.var(0, unbiased=False).mean().sqrt()
        scale = self.config.mu_tau / (spread if spread > 0 else 1.0)
        self.mu.weight.copy_(rows * scale)
        self.mu.bias.copy_(-coordinates.mean(0) * scale if spread > 0 else torch.zeros(self.dim))

    def forward(self, hidden: Tensor, mask: Tensor | None = None) -> Posterior:
        """Computes the posterior of the encoder's last hidden states [B, T, width]. mask [B, T]: not 0 for tokens of a
        text, including special tokens, which come before padding; None if all are tokens. Clipping is at least in
        float32, even under autocast."""
        mask = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device) if mask is None else mask.bool()
        if hidden.dim() != 3 or hidden.shape[-1] != self.width or mask.shape != hidden.shape[:2]:
            raise NvdpValueError(f"hidden, mask: expected the shapes [B, T, {self.width}] and [B, T], found {list(hidden.shape)} and {list(mask.shape)}")
        if (mask[:, 1:] & ~mask[:, :-1]).any():
            raise NvdpValueError("mask: expected the tokens of a text before its padding, found padding first; pad on the right")
        if self.layer is not None and not self.sealed:
            bias = torch.zeros_like(mask, dtype=hidden.dtype).masked_fill(~mask, -math.inf)
            hidden = self.layer.attend(hidden, hidden, bias, hidden)
        if self.single:
            share = mask.to(hidden.dtype)[..., None]
            first = self.config.pool == "first"
            hidden = hidden[:, :1] if first else ((hidden * share).sum(1) / share.sum(1))[:, None]
            mask = mask[:, :1]
        if self.length is not None and hidden.shape[1] > self.length:
            if mask[:, self.length :].any():
                raise ValueError(f"hidden: expected at most {self.length} tokens per text, found {int(mask.sum(1).max())}")
            hidden, mask = hidden[:, : self.length], mask[:, : self.length]
        mu = self.mu(hidden)
        mu = torch.where(mask[..., None], mu.to(torch.promote_types(mu.dtype, torch.float32)), 0.0)
        if self.bounded:
            logvar = torch.zeros_like(mu)
        else:
            if self.sealed:
                logvar = self.logvar(hidden).to(mu.dtype)
            elif self.rho is None:
                logvar = torch.full_like(mu, float(np.float32(2 * math.log(self.config.vib_sigma))))
            else:
                rho = self.rho(mu if isinstance(self.rho, _Rho) else hidden).double()
                # below -20, log softplus(rho) is rho in float
                logvar = (2 * torch.where(rho < -20, rho, softplus(rho.clamp(min=-20), threshold=700).log())).to(mu.dtype)
            logvar = _Clamp.apply(logvar, *self._logvar)
            mu = _Ball.apply(mu, self._radius[0], *self._radius)
        if self.bounded:
            radius = self.config.clip_sequence
            mu = _Ball.apply(mu.flatten(1), radius, radius * _MARGIN, False).view_as(mu)
        alpha = None
        if self.alpha is not None:
            alpha = _Clamp.apply(self.alpha(hidden), *self._log_alpha).exp()
        return Posterior(mu, logvar, alpha, mask, self)

    def read(self, sample: Sample | Sequence[Any]) -> Tensor:
        """Computes one vector per text, [B, dim], from the sample alone: with the sealed block and denoising attention
        (nvdp), or by pooling. Training and evaluation use the same computation."""
        z, log_pi, rows = sample
        pool = self.config.pool
        if not self.sealed:
            first = self.single or pool == "first"
            return z[:, 0] if first else (z * rows[..., None]).sum(1) / rows.sum(1, keepdim=True)
        if self.config.query != "sampled":
            raise NvdpError("query: expected sampled, found clean, which reads un-noised means", "ERR_UNSUPPORTED")
        assert self.layer is not None
        scale = 0.5 / math.sqrt(self.dim / self.layer.heads)
        bias = -scale * z.double().square().sum(-1)
        bias = (bias if log_pi is None else bias + log_pi).masked_fill(~rows, -math.inf).to(z.dtype)
        prior = self.kappa if self.weighted else 0
        queries = z[:, prior : prior + 1] if pool == "first" else z if pool == "weighted" else z[:, prior:]
        u = self.layer.attend(queries, z, bias, queries if self.residual else None)
        if pool == "first":
            return u[:, 0]
        if pool == "weighted" and log_pi is not None:
            return (u * log_pi.exp()[..., None]).nan_to_num(0.0).sum(1) if not rows.all() else (u * log_pi.exp()[..., None]).sum(1)
        share = rows[:, prior:, None].to(u.dtype)
        return (u * share).sum(1) / share.sum(1)

    def posteriors(self, batches: Posterior | Iterable[Posterior]) -> Posteriors:
        """Returns one or several batches of posteriors as an nvdp.Posteriors, whose methods measure them: `privacy`,
        `pairs`, `exact`, `linkage`."""
        mu, logvar, alpha, counts = [], [], [], []
        for batch in [batches] if isinstance(batches, Posterior) else batches:
            mask = batch.mask
            mu.append(batch.mu.detach()[mask].double().cpu().numpy())
            logvar.append(batch.logvar.detach()[mask].double().cpu().numpy())
            if batch.alpha is not None:
                alpha.append(batch.alpha.detach()[mask].double().cpu().numpy())
            counts.append(mask.sum(1).cpu().numpy())
        if not counts:
            raise NvdpValueError("batches: expected at least one posterior, found none")
        offset = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return Posteriors(np.concatenate(mu), np.concatenate(logvar), np.concatenate(alpha) if alpha else None, offset=offset,
                          length=self.length, prior_alpha=self.prior_alpha, pad_alpha=1.0 if self.length is None else self.pad_alpha,
                          kappa=self.kappa, clip_sequence=self.config.clip_sequence if self.bounded else 0.0,
                          method=self.method)  # fmt: skip

    def certificate(self, **options: Unpack[PrivacyArguments]) -> Certificate:
        """Returns the guarantee over all texts, seen or not, in nats: `epsilon` at `delta`, `theorem`, `statement` ...,
        as Run.certificate. The guarantee holds for the mechanism with exact noise. options: delta, releases,
        at_epsilon, baseline."""
        context, limits, found = Context(), result_of("struct nvdp_limits"), result_of("struct nvdp_certificate")
        for name, value in self.limits.items():
            setattr(limits, name, value.encode() if isinstance(value, str) else value)
        if isinstance(self.rho, _Rho):  # the variances do not depend on the text
            with torch.no_grad():
                weight = self.rho.value
                own = self(weight.new_zeros(1, 1, self.width)).logvar.double()
            limits.logvar_min, limits.logvar_max = own.min().item(), own.max().item()
        context.call(lib.nvdp_certify, limits, context.config("privacy", options), found)
        return typed(Certificate, context.json(found))


def _method(name: str) -> int:
    found = ffi.new("enum nvdp_method *")
    Context().call(lib.nvdp_method_find, name.encode(), found)
    return int(ffi.cast("int", found[0]))


def _json(options: Mapping[str, Any]) -> str:
    """Writes options as JSON for the library, which writes infinity as text."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: plain(item) for key, item in value.items()}
        return str(value) if isinstance(value, float) and math.isinf(value) else value

    return json.dumps(plain(options))


# --- private training ---


class PrivacyCallback:
    """A callback of transformers' Trainer that logs epsilon of private training. The logged epsilon counts the steps so
    far: it is the guarantee if only these steps had been planned.

    accountant: an nvdp.Accountant. If it is engine.accountant of Opacus, the hook of the engine counts the steps.
    delta: the delta of the logged epsilon.
    noise_multiplier, sample_rate: sigma and the Poisson sampling rate of a step. If these are given, the callback
        counts the steps.
    name: the key in the log.
    """

    def __init__(self, accountant: Any, delta: float, *, noise_multiplier: float | None = None, sample_rate: float | None = None,
                 name: str = "epsilon"):  # fmt: skip
        if (noise_multiplier is None) != (sample_rate is None):
            raise NvdpValueError("noise_multiplier, sample_rate: expected both or neither")
        self.accountant, self.delta, self.name = accountant, delta, name
        self._step = noise_multiplier, sample_rate

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):  # events that the callback ignores
            return lambda *arguments, **more: None
        raise AttributeError(name)

    def on_optimizer_step(self, arguments: Any, state: Any, control: Any, **more: Any) -> None:
        """Counts a step, if the callback counts."""
        noise, rate = self._step
        if noise is not None:
            self.accountant.step(noise_multiplier=noise, sample_rate=rate)

    def on_log(self, arguments: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any) -> None:
        """Adds epsilon, in nats, to the log of a step and to the history of the Trainer's state."""
        epsilon = self.accountant.get_epsilon(self.delta)
        if logs is not None:
            logs[self.name] = epsilon
        if getattr(state, "log_history", None):
            state.log_history[-1][self.name] = epsilon
