"""nvdp.torch against the library: the same parameters, states and noise in both (tests/hook)."""

import json
import math
import os
import pickle
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import nvdp  # noqa: E402
import nvdp.torch  # noqa: E402
from nvdp._lib import ffi, lib  # noqa: E402

HOOK = Path(os.environ.get("NVDP_LIBRARY", "")).parent / "tests" / "libhook.so"
WIDTH, HEADS, INNER, LENGTHS = 8, 2, 12, (3, 1, 4)
HIDDEN, D_HIDDEN, EPS, LOG_GAMMA, D_POOLED, POOLED, Z, LOG_PI = range(8)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)


@pytest.fixture(scope="module")
def hook():
    from cffi import FFI

    if not HOOK.is_file():
        pytest.skip(f"{HOOK}: not built")
    declare = FFI()
    declare.cdef("""
        struct hook; struct hook *hook_open(const char *, const char *, size_t, size_t, size_t, size_t, const int32_t *);
        size_t hook_count(const struct hook *, int); float *hook_array(struct hook *, int);
        size_t hook_tensors(const struct hook *); const char *hook_name(const struct hook *, size_t);
        size_t hook_size(const struct hook *, size_t); float *hook_value(struct hook *, size_t);
        float *hook_gradient(struct hook *, size_t); const double *hook_losses(const struct hook *);
        void hook_initialize(struct hook *, size_t, const float *); int hook_run(struct hook *, double, double);
        const char *hook_error(const struct hook *); void hook_close(struct hook *);""")
    return declare, declare.dlopen(str(HOOK))


class Pass:
    """One pass of the library."""

    def __init__(self, hook, bottleneck):
        self.ffi, self.lib = hook
        settings = nvdp.torch._json(bottleneck.settings.nvib).encode()
        self.at = self.lib.hook_open(bottleneck.method.encode(), settings, WIDTH, HEADS, INNER, len(LENGTHS), LENGTHS)
        assert self.at != self.ffi.NULL
        self.at = self.ffi.gc(self.at, self.lib.hook_close)

    def _view(self, pointer, count):
        return np.frombuffer(self.ffi.buffer(pointer, 4 * count), np.float32)

    def array(self, which):
        return self._view(self.lib.hook_array(self.at, which), self.lib.hook_count(self.at, which))

    def tensors(self, what):
        """Returns {name as in the torch module: array} of the bottleneck's own tensors."""
        found = {}
        for i in range(self.lib.hook_tensors(self.at)):
            name = self.ffi.string(self.lib.hook_name(self.at, i)).decode()
            head, _, rest = name.partition(".")
            if head in ("nvib", "vib"):
                name = "rho.value" if rest == "rho" else rest
            elif head in ("nvdp", "vtdp"):
                module, _, leaf = rest.rpartition(".")
                name = f"layer.{module.replace('.', '_')}.{leaf}"
            else:
                continue
            found[name] = self._view(getattr(self.lib, f"hook_{what}")(self.at, i), self.lib.hook_size(self.at, i))
        return found

    def run(self, weight_g, weight_d):
        assert self.lib.hook_run(self.at, weight_g, weight_d) == 0, self.ffi.string(self.lib.hook_error(self.at))
        losses = np.frombuffer(self.ffi.buffer(self.lib.hook_losses(self.at), 16 * len(LENGTHS)), np.float64)
        return losses.reshape(2, -1)


def error(found, want, floor=1e-3):
    """The distance relative to the norm."""
    found, want = np.asarray(found, np.float64).ravel(), np.asarray(want, np.float64).ravel()
    return np.linalg.norm(found - want) / max(np.linalg.norm(want), floor)


def padded(rows, counts, width):
    out = np.zeros((len(counts), max(counts), width))
    for i, (start, n) in enumerate(zip(np.cumsum([0, *counts]), counts)):
        out[i, :n] = rows.reshape(-1, width)[start : start + n]
    return torch.tensor(out)


def layer(**options):
    return nvdp.torch.Bottleneck(width=WIDTH, heads=HEADS, intermediate_size=INNER, **{"length": 5, **options})


CLIPS = dict(clip_mu=1.0, clip_logvar_min=-0.4, clip_logvar_max=0.3, clip_alpha_min=0.7, clip_alpha_max=1.5)
CASES = [
    dict(), dict(pool="mean"), dict(pool="weighted", latent_dim=4), dict(length_policy="public"), dict(kappa=3, delta=1.0),
    dict(kappa=2, regularizer="kl", latent_dim=4), dict(regularizer="kl", length_policy="public", delta=0.5, kappa=2),
    dict(regularizer="kl", prior_alpha=1.5, delta=1.0), CLIPS, dict(CLIPS, clip_gradient="inward", regularizer="kl"),
    dict(clip_sequence=1.5, latent_dim=4), dict(clip_sequence=30.0, pool="mean"), dict(weights="constant", row_index="trained"),
    dict(clip_sequence=2.0, weights="learned", clip_alpha_min=0.5, clip_alpha_max=2.0),
    dict(method="vib-fixed"), dict(method="vib-fixed", pool="mean", clip_mu=0.5, clip_gradient="inward"),
    dict(method="vib-learned", latent_dim=4, regularizer="kl"), dict(method="vib-learned", clip_logvar_min=-1, clip_logvar_max=0.1),
    dict(method="vib-fixed", clip_sequence=0.7), dict(method="vtdp"), dict(method="vtdp", regularizer="kl", length_policy="public"),
    dict(method="vtdp", pool="first", row_index="trained", latent_dim=4), dict(method="vtdp", vtdp_pool="first", pool="mean"),
    dict(method="vtdp", clip_sequence=1.2),
]  # fmt: skip


def compare(hook, rng, options, alpha=0.4):
    """Asserts that posterior, sample, pooled vector, losses and every gradient agree to 1e-5, in float64 against float32."""
    bottleneck = layer(**options).double()
    other = Pass(hook, bottleneck)
    values = other.tensors("value")
    own = dict(bottleneck.named_parameters())
    assert set(values) == set(own)
    for name, value in values.items():
        value[:] = rng.normal(name.endswith("LayerNorm.weight"), alpha if name.startswith("alpha") else 0.4, value.size)
        own[name].data = torch.tensor(value.astype(np.float64)).reshape(own[name].shape)
    for which, scale in ((HIDDEN, 1), (EPS, 1), (LOG_GAMMA, 0.7), (D_POOLED, 1)):
        other.array(which)[:] = rng.normal(0, scale, other.array(which).size)
    weights = 0.7, 0.3
    hidden = padded(other.array(HIDDEN), LENGTHS, WIDTH).requires_grad_()
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    d_pooled = torch.tensor(other.array(D_POOLED).astype(np.float64)).reshape(len(LENGTHS), -1)
    posterior = bottleneck(hidden, mask)
    drawn = posterior.sample()
    counts = [int(n) for n in drawn.rows.sum(1)]
    drawn = posterior.sample(eps=padded(other.array(EPS), counts, bottleneck.dim), log_gamma=padded(other.array(LOG_GAMMA), counts, 1)[..., 0])
    pooled = bottleneck.read(drawn)
    losses = posterior.losses()
    ((pooled * d_pooled).sum() + weights[0] * losses[0].sum() + weights[1] * losses[1].sum()).backward()
    want = other.run(*weights)
    assert error(drawn.z[drawn.rows].detach(), other.array(Z)) < 1e-6
    if drawn.log_pi is not None:
        assert error(drawn.log_pi[drawn.rows].detach(), other.array(LOG_PI)) < 1e-6
    assert error(pooled.detach(), other.array(POOLED)) < 1e-5
    for found, of in zip(losses, want):
        np.testing.assert_allclose(found.detach(), of, rtol=1e-5, atol=1e-7)
    floor = {}  # the bias of keys has gradient 0, of which float32 leaves some 1e-7 of that of the weights
    if bottleneck.layer is not None:
        floor = {"layer.attention_self_key.bias": own["layer.attention_self_key.weight"].grad.norm().item()}
    worst = {name: error(own[name].grad, of, floor.get(name, 1e-3)) for name, of in other.tensors("gradient").items()}
    worst["hidden"] = error(hidden.grad[mask], other.array(D_HIDDEN))
    assert max(worst.values()) < 1e-5, max((value, name) for name, value in worst.items())
    return bottleneck, posterior


@pytest.mark.parametrize("options", CASES, ids=lambda options: json.dumps(options)[1:-1] or "nvdp")
def test_same_as_the_library(hook, rng, options):
    compare(hook, rng, options)


def test_many_pseudo_counts(hook, rng):
    """Pseudo-counts from e^-20 to e^20."""
    for spread in (0.05, 1.0, 3.0):
        for kl in ("published", "kl"):
            compare(hook, rng, dict(regularizer=kl, delta=1.0), spread)


def test_initial_values(hook, rng):
    hidden = rng.normal(0, 2, (40, WIDTH)).astype(np.float32) * np.linspace(1, 3, WIDTH, dtype=np.float32) + 1
    for options in (dict(), dict(latent_dim=4, mu_tau=0.5, stdev_tau=0.5), dict(method="vib-learned", latent_dim=3),
                    dict(method="vtdp", row_index="trained"), dict(clip_logvar_min=-1, clip_logvar_max=2.0)):  # fmt: skip
        bottleneck = layer(**options)
        bottleneck.initialize(torch.from_numpy(hidden))
        other = Pass(hook, bottleneck)
        other.lib.hook_initialize(other.at, len(hidden), other.ffi.from_buffer("float[]", hidden))
        own = dict(bottleneck.named_parameters())
        for name, value in other.tensors("value").items():
            if not name.startswith("layer."):
                np.testing.assert_allclose(own[name].detach().numpy().ravel(), value, rtol=2e-5, atol=2e-5, err_msg=name)


def test_remainders():
    """Against mpmath with 30 digits, on both sides of the border between the forms."""
    x = torch.tensor([1e-3, 0.5, 3.0, 15.9, 16.1, 100.0, 1e10], dtype=torch.float64)
    gamma = [7.908754457315664, 2.054119955935412, 0.9247941752645439, 0.04625839937388647, 0.03987820602811273, -0.8819799042333412,
             -10.09398693174889]  # fmt: skip
    trigamma = [999001.6425331959, 2.934802200544679, 0.0616007335148931, 0.002019199838053826, 0.001968843800182538, 5.01666633335714e-5,
                5.000000000166667e-21]  # fmt: skip
    np.testing.assert_allclose(nvdp.torch._log_gamma_excess(x), gamma, rtol=1e-11)
    np.testing.assert_allclose(nvdp.torch._trigamma_excess(x), trigamma, rtol=1e-11)


def test_clip_set_holds_whatever_the_states(rng):
    """No number of the encoder leaves the clip set, in any precision, and none becomes NaN."""
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        for options in (CLIPS, dict(clip_sequence=1.5, latent_dim=4)):
            bottleneck = layer(**options).to(dtype)
            for scale in (1e-3, 1.0, 1e8, 1e37):
                hidden = torch.tensor(rng.normal(0, scale, (3, 5, WIDTH))).to(dtype)
                hidden[0, 0, 0], hidden[1, 1, 1] = math.nan, math.inf
                posterior = bottleneck(hidden, torch.ones(3, 5))
                mu, logvar = posterior.mu.double(), posterior.logvar.double()
                assert mu.isfinite().all() and logvar.isfinite().all()
                if "clip_sequence" in options:
                    assert mu.flatten(1).norm(dim=1).max() <= 1.5
                else:
                    assert mu.norm(dim=-1).max() <= 1 and logvar.min() >= -0.4 and logvar.max() <= 0.3
                    assert posterior.alpha.min() >= 0.7 and posterior.alpha.max() <= 1.5
                found = bottleneck.posteriors([posterior, posterior])
                assert len(found) == 6 and found.length == 5 and math.isfinite(found.privacy().rd["sum"]["max"])


def test_certificate(rng):
    bottleneck = layer(preset="certified", certified_epsilon=4, latent_dim=4)
    found = bottleneck.certificate()
    assert found.theorem == "a" and found.epsilon == pytest.approx(4, rel=1e-6)
    assert found.mu == pytest.approx(2 * bottleneck.config.clip_sequence)
    text = bottleneck(torch.randn(2, 5, WIDTH))
    measured = bottleneck.posteriors([text])
    assert measured.exact(0, 1).epsilon(1e-5) <= found.epsilon and measured.method == "nvdp"
    assert layer(clip_mu=1, clip_logvar_min=-0.01, clip_logvar_max=0.01, weights="constant").certificate().theorem == "c"
    assert layer().certificate().theorem == "none"
    learned = layer(method="vib-learned", clip_mu=1.0)
    before = learned.certificate().epsilon
    learned.rho.value.data += 1  # more noise
    assert math.isfinite(before) and learned.certificate().epsilon < before
    assert layer(method="vib-fixed", clip_sequence=1).certificate(releases=4).mu == pytest.approx(4)


def test_of_a_run(run):
    """A run's bottleneck has the run's certificate and losses, and goes on training."""
    bottleneck = nvdp.torch.Bottleneck(run.path)
    assert bottleneck.certificate(delta=1e-6, releases=2) == run.certificate(delta=1e-6, releases=2)
    assert bottleneck.settings.lambda_g == run.config.lambda_g and bottleneck.settings.kl_schedule == run.config.kl_schedule
    optimizer = torch.optim.AdamW(bottleneck.parameters(), lr=1e-3)
    hidden = torch.randn(8, 4, bottleneck.width)
    before = bottleneck(hidden).losses()[0].mean().item()
    for _ in range(20):
        posterior = bottleneck(hidden)
        (posterior.losses()[0].mean() + bottleneck.read(posterior.sample()).square().mean()).backward()
        optimizer.step(), optimizer.zero_grad()
    assert bottleneck(hidden).losses()[0].mean().item() < before
    with pytest.raises(nvdp.NvdpError, match="bottleneck, found base"):
        nvdp.torch.Bottleneck(run.path / "base")


def test_damaged_weights(run, tmp_path):
    folder = shutil.copytree(run.path / "model", tmp_path / "model")
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    for damaged in whole[:-4], whole[:100], b"", whole.replace(b'"F32"', b'"I32"', 1):
        weights.write_bytes(damaged)
        with pytest.raises(nvdp.NvdpError, match="model.safetensors: expected"):
            nvdp.torch.Bottleneck(folder)


def test_arguments():
    with pytest.raises(nvdp.NvdpValueError, match="no_such"):
        layer(no_such=1)
    with pytest.raises(nvdp.NvdpValueError, match="width"):
        nvdp.torch.Bottleneck(method="nvdp")
    with pytest.raises(nvdp.NvdpValueError, match="bottleneck, found base"):
        layer(method="base")
    with pytest.raises(nvdp.NvdpValueError, match="latent_dim"):
        layer(latent_dim=100)
    with pytest.raises(nvdp.NvdpValueError, match="kappa"):
        layer(clip_sequence=1, kappa=2)
    with pytest.raises(nvdp.NvdpValueError, match="activation"):
        layer(activation="tanh")
    with pytest.raises(nvdp.NvdpValueError, match=r"\[B, T, 8\]"):
        layer()(torch.zeros(2, 3, 4))
    with pytest.raises(ValueError, match="at most 5 tokens"):
        layer()(torch.zeros(1, 6, WIDTH))
    with pytest.raises(nvdp.NvdpValueError, match="pad on the right"):
        layer()(torch.zeros(1, 3, WIDTH), torch.tensor([[0, 1, 1]]))
    posterior = layer()(torch.zeros(2, 3, WIDTH))
    with pytest.raises(nvdp.NvdpValueError, match=r"eps: expected the shape \[2, 6, 8\]"):
        posterior.sample(eps=torch.zeros(8))
    with pytest.raises(nvdp.NvdpValueError, match="share of the steps"):
        posterior.regularizer(2)
    assert len(posterior.bottleneck.posteriors(posterior)) == 2
    with pytest.raises(nvdp.NvdpValueError, match="at least one posterior"):
        posterior.bottleneck.posteriors([])
    with pytest.raises(nvdp.NvdpValueError, match="no other arguments"):
        nvdp.torch.Bottleneck("run", width=3)


def test_schedule():
    bottleneck = layer(regularizer="kl")
    posterior = bottleneck(torch.randn(2, 3, WIDTH))
    whole = posterior.regularizer().item()
    losses = posterior.losses()
    assert whole == pytest.approx(0.01 * (losses[0].mean() + losses[1].mean()).item())
    assert [posterior.regularizer(t).item() / whole for t in (0.1, 0.45, 0.7)] == pytest.approx([0, 0.5, 1])
    assert layer(clip_sequence=1)(torch.randn(2, 3, WIDTH)).regularizer() == 0  # the clip is the budget
    assert nvdp.torch._schedule(layer(kl_schedule="decay").settings, 0.25) == 0.75


def test_copies_train_alike(tmp_path):
    bottleneck = layer(latent_dim=4, clip_sequence=2)
    again = pickle.loads(pickle.dumps(bottleneck))
    x = torch.randn(2, 3, WIDTH)
    assert torch.equal(again(x).mu, bottleneck(x).mu)
    other = layer(latent_dim=4, clip_sequence=2)
    other.load_state_dict(bottleneck.state_dict())
    assert torch.equal(other(x).mu, bottleneck(x).mu) and other.certificate() == bottleneck.certificate()
    assert torch.equal(bottleneck.mu_weight, bottleneck.mu.weight) and "nvdp" in repr(bottleneck)


def test_torch_loop():
    """experiments/examples/05_torch_loop.py: a bottleneck on an encoder of one's own learns, within its certificate."""
    path = Path(os.environ.get("NVDP_SOURCE", Path(__file__).parents[2])) / "experiments" / "examples" / "05_torch_loop.py"
    if not path.is_file():
        pytest.skip(f"{path}: not there")
    found = runpy.run_path(str(path), {"STEPS": 120}, "__main__")
    assert found["accuracy"] > 0.7 and found["certificate"].epsilon == pytest.approx(8, rel=1e-6)
    assert found["measured"] <= found["certificate"].epsilon


def loader(rng, n=64):
    """Texts of 3 to 5 random states, whose class the first dimension says."""
    labels = torch.tensor(rng.integers(0, 2, n))
    hidden = torch.tensor(rng.normal(size=(n, 5, WIDTH)), dtype=torch.float32)
    hidden[..., 0] += 3 * labels[:, None] - 1.5
    mask = torch.arange(5) < torch.tensor(rng.integers(3, 6, n))[:, None]
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(hidden, mask, labels), batch_size=16)


class Classifier(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.bottleneck = layer(**{"latent_dim": 4, "clip_sequence": 4, **options})
        self.head = torch.nn.Linear(4, 2)

    def forward(self, hidden=None, mask=None, labels=None):
        posterior = self.bottleneck(hidden, mask)
        logits = self.head(self.bottleneck.read(posterior.sample()))
        if labels is None:
            return logits
        return {"loss": torch.nn.functional.cross_entropy(logits, labels) + posterior.regularizer(), "logits": logits}


@pytest.mark.parametrize("options", [dict(), dict(clip_sequence=None), dict(method="vtdp"), dict(method="vib-learned", clip_sequence=None)])
def test_opacus(rng, options):
    """Its engine clips each example's gradient of every parameter and takes our accountant."""
    opacus = pytest.importorskip("opacus")
    model = Classifier(**options)
    engine = opacus.PrivacyEngine()
    engine.accountant = nvdp.Accountant()
    made, optimizer, batches = engine.make_private(module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data_loader=loader(rng),
                                                   noise_multiplier=1.1, max_grad_norm=1.0)  # fmt: skip
    steps = 0
    for hidden, mask, labels in batches:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(made(hidden, mask), labels).backward()
        assert all(one.grad_sample.shape[0] == len(labels) for one in model.parameters() if one.grad is not None)
        optimizer.step()
        steps += 1
    assert engine.accountant.history == [(1.1, 0.25, steps)]
    assert engine.get_epsilon(1e-5) == nvdp.Accountant([(1.1, 0.25, steps)]).epsilon(1e-5)


def test_trainer_callback(rng, tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    data = [dict(zip(("hidden", "mask", "labels"), row)) for row in loader(rng).dataset]
    callback = nvdp.torch.PrivacyCallback(nvdp.Accountant(), 1e-5, noise_multiplier=1.0, sample_rate=0.25)
    arguments = transformers.TrainingArguments(str(tmp_path), num_train_epochs=2, per_device_train_batch_size=16, logging_steps=4, report_to=[],
                                               remove_unused_columns=False, use_cpu=True, save_strategy="no", disable_tqdm=True)  # fmt: skip
    trainer = transformers.Trainer(Classifier(), arguments, train_dataset=data, callbacks=[callback])
    trainer.train()
    found = [row["epsilon"] for row in trainer.state.log_history if "loss" in row]
    assert len(found) == 2 and found == [nvdp.Accountant([(1.0, 0.25, steps)]).epsilon(1e-5) for steps in (4, 8)]


def test_callback_without_transformers():
    callback = nvdp.torch.PrivacyCallback(nvdp.Accountant([(1.0, 0.1, 5)]), 1e-5)
    state, logs = type("State", (), {"log_history": [{}]})(), {}
    callback.on_train_begin(None, state, None)
    callback.on_optimizer_step(None, state, None)
    callback.on_log(None, state, None, logs=logs)
    assert logs["epsilon"] == state.log_history[0]["epsilon"] == callback.accountant.epsilon(1e-5) and len(callback.accountant) == 5
    with pytest.raises(AttributeError):
        callback.epsilon
    with pytest.raises(ValueError, match="both or neither"):
        nvdp.torch.PrivacyCallback(nvdp.Accountant(), 1e-5, sample_rate=0.1)


def test_lightning(rng):
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = Classifier()

        def training_step(self, batch, _):
            return self.model(*batch)["loss"]

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=3e-2)

    module, batches = Module(), loader(rng, 256)
    trainer = lightning.Trainer(max_epochs=6, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False)  # fmt: skip
    trainer.fit(module, batches)
    hidden, mask, labels = batches.dataset.tensors
    assert (module.model(hidden, mask).argmax(1) == labels).float().mean() > 0.8
    assert module.model.bottleneck.certificate().theorem == "a"


def test_draws():
    """The gradient of an expectation by samples: E log pi of a Dirichlet is psi(a) - psi(sum a)."""
    bottleneck = layer(length_policy="public")
    alpha = torch.tensor([[0.3, 2.0, 70.0]], dtype=torch.float64).expand(4000, 3).clone().requires_grad_()
    posterior = nvdp.torch.Posterior(torch.zeros(4000, 3, 8), torch.zeros(4000, 3, 8), alpha, torch.ones(4000, 3, dtype=bool), bottleneck)
    drawn = posterior.sample(torch.Generator().manual_seed(1))
    assert torch.allclose(drawn.log_pi.exp().sum(1), torch.ones(4000), atol=1e-5)
    drawn.log_pi[:, 1].sum().backward()
    total = 1 + 0.3 + 2 + 70
    want = torch.polygamma(1, alpha[0, 0].detach()) - torch.polygamma(1, torch.tensor(total, dtype=torch.float64))
    slopes = alpha.grad[:, 0]
    assert abs(slopes.mean() - want) < 5 * slopes.std() / 4000**0.5


def test_gamma_gradient():
    golden = json.loads((Path(os.environ.get("NVDP_SOURCE", Path(__file__).parents[2])) / "tests/golden/gamma_implicit_gradient.json").read_text())
    rows = golden if isinstance(golden, list) else next(value for value in golden.values() if isinstance(value, list))
    alpha = np.array([float(row["alpha"]) for row in rows])
    log_g = np.log([float(row["gamma"]) for row in rows])
    out = np.empty_like(alpha)
    lib.nvdp_gamma_gradient(len(out), ffi.from_buffer("double[]", alpha), ffi.from_buffer("double[]", log_g), ffi.from_buffer("double[]", out))
    want = np.array([float(next(value for key, value in row.items() if key not in ("alpha", "gamma", "u", "quantile"))) for row in rows])
    np.testing.assert_allclose(out * np.exp(log_g) / alpha, want, rtol=1e-9)
