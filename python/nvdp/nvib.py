"""The bottleneck of a trained run as a torch module, with the same posteriors, and samples of them.

    encoder = transformers.AutoModel.from_pretrained("runs/nvdp/model")
    bottleneck = nvdp.nvib.Bottleneck("runs/nvdp")
    posterior = bottleneck(encoder(**batch).last_hidden_state, batch["attention_mask"])
    z, log_pi, rows = posterior.sample()

Draw samples that are shared with Run.export: torch's noise is neither secret nor exact. Needs torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ._lib import Context, NvdpError, check_ended, ffi, from_json, lib, pointer, result_of, text


def _tensors(path: Path, prefix: str) -> dict[str, Tensor]:
    """Returns the tensors of a safetensors file whose names begin with a prefix, in float32."""
    context, found = Context(), {}
    file = context.make("struct nvdp_safetensors", lib.nvdp_safetensors_close, lib.nvdp_safetensors_open, str(path).encode())
    for i in range(lib.nvdp_safetensors_count(file)):
        info = lib.nvdp_safetensors_at(file, i)
        name = text(info.name)
        if name.startswith(prefix):
            values = np.empty([info.shape[k] for k in range(info.rank)], np.float32)
            lib.nvdp_safetensors_read_f32(info, pointer(values, "float", writable=True))
            found[name[len(prefix) :]] = torch.from_numpy(values)
    return found


@dataclass
class Posterior:
    """Posteriors of B texts.

    mu, logvar: [B, T, p] means and log variances of the texts' own components: tokens, or T = 1 for one vector per text.
    alpha: [B, T] pseudo-counts; None: a method without weights.
    mask: [B, T] bool, true for existing components.
    """

    mu: Tensor
    logvar: Tensor
    alpha: Tensor | None
    mask: Tensor
    bottleneck: Bottleneck

    def sample(self, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor | None, Tensor]:
        """Draws one sample of every text: z [B, M, p] vectors, log_pi [B, M] log weights (None: a method without weights), and rows
        [B, M] bool, true for existing vectors. Order of the vectors: the prior's (with weights), the tokens', and padding if lengths
        are hidden; kappa each. Gradients flow through the sample. Only for training: torch's generators are predictable, so draw
        samples that are shared with `Run.export`."""
        of = self.bottleneck
        mu, logvar, rows = self.mu * self.mask[..., None], self.logvar * self.mask[..., None], self.mask
        batch, width, dim = mu.shape
        if of.length is not None:
            rows = torch.ones(batch, of.length, dtype=torch.bool, device=mu.device)
            more = mu.new_zeros(batch, of.length - width, dim)
            mu, logvar = torch.cat([mu, more], 1), torch.cat([logvar, more], 1)
        log_pi = None
        if self.alpha is not None:
            filler = 1.0 if of.length is None else of.pad_alpha
            alpha = torch.where(self.mask, self.alpha, self.alpha.new_tensor(filler))
            alpha = torch.cat([alpha, alpha.new_full((batch, mu.shape[1] - width), filler)], 1)
            prior = mu.new_zeros(batch, 1, dim)
            mu, logvar = torch.cat([prior, mu], 1), torch.cat([prior, logvar], 1)
            alpha = torch.cat([alpha.new_full((batch, 1), of.prior_alpha), alpha], 1)
            rows = torch.cat([rows.new_ones(batch, 1), rows], 1)
        mu, logvar = mu.repeat_interleave(of.kappa, 1), logvar.repeat_interleave(of.kappa, 1)
        rows = rows.repeat_interleave(of.kappa, 1)
        if self.alpha is not None:
            # log Gamma(a) = log Gamma(a + 1) + log(U) / a: for small pseudo-counts, a direct draw would underflow.
            a = alpha.repeat_interleave(of.kappa, 1).double() / of.kappa
            uniform = torch.rand(a.shape, generator=generator, dtype=a.dtype, device=a.device).clamp_min(2.0**-60)
            log_gamma = torch._standard_gamma(a + 1, generator).log() + uniform.log() / a
            log_pi = log_gamma.masked_fill(~rows, -math.inf).log_softmax(1).to(mu.dtype)
        noise = torch.randn(mu.shape, generator=generator, dtype=mu.dtype, device=mu.device)
        return (mu + (logvar / 2).exp() * noise) * rows[..., None], log_pi, rows


# By the names that the library writes into config.json.
_ACTIVATIONS = {"gelu": nn.functional.gelu, "gelu_new": lambda x: nn.functional.gelu(x, approximate="tanh"),
                "relu": nn.functional.relu, "silu": nn.functional.silu,
                "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x)}  # fmt: skip


class _Layer(nn.Module):
    """The encoder layer of a method: a BERT layer, with BERT's names."""

    def __init__(self, tensors: dict[str, Tensor], config: Any):
        super().__init__()
        self.heads = int(config.get("num_attention_heads", config.get("n_heads")))
        self.eps = float(config.get("layer_norm_eps", 1e-12))
        self.act = _ACTIVATIONS[config.get("hidden_act", config.get("activation", "gelu"))]
        for name, value in tensors.items():
            self.register_parameter(name.replace(".", "_"), nn.Parameter(value))

    def _dense(self, name: str, x: Tensor) -> Tensor:
        return nn.functional.linear(x, getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias"))

    def _norm(self, name: str, x: Tensor) -> Tensor:
        weight, bias = getattr(self, f"{name}_LayerNorm_weight"), getattr(self, f"{name}_LayerNorm_bias")
        return nn.functional.layer_norm(x, x.shape[-1:], weight, bias, self.eps)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, wide = x.shape
        q, k, v = (self._dense(f"attention_self_{name}", x).view(batch, length, self.heads, -1).transpose(1, 2)
                   for name in ("query", "key", "value"))  # fmt: skip
        read = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
        read = self._dense("attention_output_dense", read.transpose(1, 2).reshape(batch, length, wide))
        x = self._norm("attention_output", x + read)
        inner = self.act(self._dense("intermediate_dense", x))
        return self._norm("output", x + self._dense("output_dense", inner))


class Bottleneck(nn.Module):
    """The bottleneck of a run whose method has one. Its parameters can be trained further.

    path: the directory of a run, or of its model.
    """

    # parameters; a method has some of them
    mu_weight: nn.Parameter
    mu_bias: nn.Parameter
    mu_gain: nn.Parameter
    logvar_weight: nn.Parameter
    logvar_bias: nn.Parameter
    alpha_quadratic: nn.Parameter
    alpha_weight: nn.Parameter
    alpha_bias: nn.Parameter
    rho: nn.Parameter
    rho_weight: nn.Parameter
    rho_bias: nn.Parameter

    def __init__(self, path: str | PathLike[str]):
        super().__init__()
        folder = Path(path)
        folder = folder / "model" if (folder / "run.json").is_file() else folder
        if folder.name == "model":
            check_ended(folder.parent)
        encoder = from_json((folder / "config.json").read_text("utf-8"))
        model = encoder.get("nvdp", {})
        context, method, info = Context(), ffi.new("enum nvdp_method *"), result_of("struct nvdp_method_info")
        if "method" in model:
            context.call(lib.nvdp_method_find, model.method.encode(), method)
        context.call(lib.nvdp_method_describe, method[0], info)
        self.method = text(info.name)
        if not info.is_private:
            raise NvdpError(f"{folder}: expected a method with a bottleneck, found {self.method}", "ERR_UNSUPPORTED")
        self.config = config = model.nvib
        weights = folder / "model.safetensors"
        own = _tensors(weights, f"{self.method}.")
        for name, value in (_tensors(weights, "nvib.") or _tensors(weights, "vib.")).items():
            self.register_parameter(name.replace(".", "_"), nn.Parameter(value))
        # with weights, a layer reads the sample; without, it stands before the noise
        self.layer = _Layer(own, encoder) if own and not info.has_weights else None
        self.weighted = bool(info.has_weights) and config.get("weights") != "constant"
        # without weights a text has one vector, unless the method has an encoder layer of its own
        self.single = not info.has_weights and (self.layer is None or config.vtdp_pool == "first")
        self.kappa = config.kappa if info.has_weights else 1
        self.prior_alpha = config.prior_alpha
        self.length: int | None = 1 if self.single else config.length if config.length_policy == "hidden" else None
        """Number of components to which all samples are padded, without the prior's; None: lengths are public."""
        self.pad_alpha = math.nan if self.length is None else (config.prior_alpha + config.delta * self.length) / (self.length + 1)
        self.dim = self.mu_weight.shape[0]
        """p, the length of a vector."""

    def _clip(self, name: str, otherwise: float) -> float:
        return float(self.config.get(f"clip_{name}", otherwise))

    def forward(self, hidden: Tensor, mask: Tensor | None = None) -> Posterior:
        """Computes the posterior of the encoder's last hidden states [B, T, d]. mask [B, T]: not 0 for a text's own tokens, including
        special ones, which come before the padding; None: all."""
        mask = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device) if mask is None else mask.bool()
        if self.layer is not None:
            hidden = self.layer(hidden, mask)
        if self.single:
            share = mask.to(hidden.dtype)[..., None]
            first = self.config.pool == "first"
            hidden = hidden[:, :1] if first else ((hidden * share).sum(1) / share.sum(1))[:, None]
            mask = mask[:, :1]
        if self.length is not None and hidden.shape[1] > self.length:
            if mask[:, self.length :].any():
                raise ValueError(f"hidden: expected at most {self.length} tokens per text, found {int(mask.sum(1).max())}")
            hidden, mask = hidden[:, : self.length], mask[:, : self.length]
        mu = nn.functional.linear(hidden, self.mu_weight, self.mu_bias)
        if hasattr(self, "mu_gain"):
            mu = mu * self.mu_gain.flatten()[: mu.shape[1], None]
        sequence = self._clip("sequence", math.inf)
        bounded = 0 < sequence < math.inf
        if bounded:
            logvar = torch.zeros_like(mu)
        elif hasattr(self, "logvar_weight"):
            logvar = nn.functional.linear(hidden, self.logvar_weight, self.logvar_bias)
        elif not hasattr(self, "rho") and not hasattr(self, "rho_weight"):
            logvar = torch.full_like(mu, 2 * math.log(self.config.vib_sigma))
        else:
            rho = self.rho.flatten() if hasattr(self, "rho") else nn.functional.linear(hidden, self.rho_weight, self.rho_bias)
            logvar = (2 * softplus(rho.double(), threshold=700).log()).to(mu.dtype).expand_as(mu)
        radius = self._clip("mu_radius", math.inf)
        if radius < math.inf:
            mu = mu * (radius / mu.norm(dim=-1, keepdim=True)).clamp(max=1)
        logvar = logvar.clamp(self._clip("logvar_min", -math.inf), self._clip("logvar_max", math.inf))
        if bounded:
            norm = (mu * mask[..., None]).flatten(1).norm(dim=1)
            mu = mu * (sequence / norm).clamp(max=1)[:, None, None]
        alpha = None
        if self.weighted:
            x = hidden.double()
            log_alpha = (x * x) @ self.alpha_quadratic.double().flatten() + x @ self.alpha_weight.double().flatten()
            log_alpha = log_alpha + self.alpha_bias.double()
            low, high = self._clip("alpha_min", -math.inf), self._clip("alpha_max", math.inf)
            alpha = log_alpha.clamp(math.log(low) if low > 0 else -math.inf, math.log(high)).exp()
        return Posterior(mu, logvar, alpha, mask, self)
