"""Times one piece of work of one peer for compare.sh, and prints one JSON object.

usage: peers.py train|encode PEER PRECISION MODEL BATCHES.jsonl [--sort] [--dropout X] [--threads N] [--cache FOLDER]
       peers.py pairs PEER TEXTS COMPONENTS DIM [--threads N]
       peers.py latency PEER MODEL [--threads N] [--cache FOLDER]

PEER: torch or compile (torch.compile), also onnxruntime, openvino, openvino-dynamic (encode) and sentence-transformers (encode);
opacus-ghost and opacus-hooks train with DP-SGD (ghost norms and a second backward pass, or every text's gradient kept).
PRECISION: f32, bf16 or int8.  MODEL: a BERT directory, of which sentence-transformers takes all and the others config.json (weights
are random), or `base`.  BATCHES.jsonl is what `nvdp bench --write-batches` wrote: {"input_ids", "token_type_ids", "labels"} a line.
--sort: the same texts in order of their length, cut into batches anew.  Every batch is padded to its longest text; a rate counts
real tokens, peak_rss is the process's.  A training step is forward, backward and fused AdamW; encoding gives every token's last hidden state.
FOLDER keeps models that were converted.  All batches go through once before the clock starts, so that compilers and caches are warm.
latency encodes one text of 16 words again and again in float32, with the tokenizer and mean pooling; its rate is 1/median.
Its peer nvdp is the Python package; onnxruntime and openvino use the tokenizer of `tokenizers` and pool in NumPy."""
import argparse, contextlib, json, math, os, pathlib, resource, statistics, sys, time, warnings

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")
import torch
import transformers

transformers.logging.set_verbosity_error()


def read_batches(path, sort):
    """Lists of (ids, types, label), a list a batch."""
    batches = []
    with open(path) as file:
        for line in file:
            b = json.loads(line)
            batches.append(list(zip(b["input_ids"], b["token_type_ids"], b["labels"])))
    if not sort:
        return batches
    size, texts = len(batches[0]), sorted((t for b in batches for t in b), key=lambda t: len(t[0]))
    return [texts[i:i + size] for i in range(0, len(texts), size)]


def padded(batch):
    """ids, mask, types [texts, longest], labels [texts]"""
    longest = max(len(ids) for ids, _, _ in batch)
    fill = lambda lists: torch.tensor([list(l) + [0] * (longest - len(l)) for l in lists])
    return (fill([ids for ids, _, _ in batch]), fill([[1] * len(ids) for ids, _, _ in batch]), fill([types for _, types, _ in batch]),
            torch.tensor([label for _, _, label in batch]).long().clamp(0, 1))


def config_of(model):
    config = transformers.BertConfig() if model == "base" else transformers.AutoConfig.from_pretrained(model)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = ARGS.dropout
    config.num_labels = 2
    return config


def inputs():
    """Names of the model's inputs; MPNet has no types of tokens."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    return names if hasattr(config_of(ARGS.model), "type_vocab_size") else names[:2]


def attention():
    """transformers has no fused attention for MPNet."""
    return "eager" if config_of(ARGS.model).model_type == "mpnet" else "sdpa"


def autocast(precision):
    return torch.autocast("cpu", dtype=torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()


def inputs_of(batch):
    """Without a mask where nothing is padded: attention is faster so."""
    given = dict(zip(inputs(), batch))
    if given["attention_mask"].all():
        del given["attention_mask"]
    return given


# Each of these gives a list of functions that do the work on a padded batch list: the fastest of them is the peer.

def torch_train(args, compiled):
    model = transformers.AutoModelForSequenceClassification.from_config(config_of(args.model), attn_implementation=attention()).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
    run = torch.compile(model) if compiled else model

    def step(batch):
        with autocast(args.precision):
            logits = run(**inputs_of(batch)).logits
        loss = torch.nn.functional.cross_entropy(logits.float(), batch[3])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()
    return [lambda batches: [step(b) for b in batches]]


def opacus_train(args, ghost):
    """A private step at norm 1 and noise 1, the batch as it is: Opacus's own wrappers without its sampler."""
    import opacus
    from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import GradSampleModuleFastGradientClipping
    from opacus.optimizers.optimizer_fast_gradient_clipping import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
    plain = transformers.AutoModelForSequenceClassification.from_config(config_of(args.model), attn_implementation=attention()).train()
    optimizer = torch.optim.AdamW(plain.parameters(), lr=2e-5, fused=True)
    criterion = torch.nn.CrossEntropyLoss()
    private = dict(noise_multiplier=1., max_grad_norm=1., expected_batch_size=len(read_batches(args.batches, False)[0]))
    if ghost:
        model = GradSampleModuleFastGradientClipping(plain, max_grad_norm=1., use_ghost_clipping=True)
        optimizer = DPOptimizerFastGradientClipping(optimizer, **private)
        criterion = DPLossFastGradientClipping(model, optimizer, criterion)
    else:
        model = opacus.GradSampleModule(plain)
        optimizer = opacus.optimizers.DPOptimizer(optimizer, **private)

    def step(batch):
        # Its norms of an embedding need an index for every text's token: positions as well.
        places = torch.arange(batch[0].shape[1]).repeat(len(batch[0]), 1)
        optimizer.zero_grad()
        with autocast(args.precision):
            logits = model(**inputs_of(batch), position_ids=places).logits
        loss = criterion(logits.float(), batch[3])
        loss.backward()
        optimizer.step()
        return loss.item()
    return [lambda batches: [step(b) for b in batches]]


def torch_encode(args, compiled):
    dtype = torch.bfloat16 if args.precision == "bf16" else torch.float32
    model = transformers.AutoModel.from_config(config_of(args.model), attn_implementation=attention()).eval().to(dtype)
    if compiled:
        from torch._inductor import config
        config.freezing = True  # weights are constants: laid out once for the products
    run = torch.compile(model) if compiled else model

    def passes(batches):
        with torch.inference_mode() if not compiled else torch.no_grad():
            for b in batches:
                run(**inputs_of(b)).last_hidden_state
    return [passes]


class LastHidden(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids=None):
        types = {} if token_type_ids is None else dict(token_type_ids=token_type_ids)
        return self.model(input_ids=input_ids, attention_mask=attention_mask, **types).last_hidden_state


def example(implementation):
    config = config_of(ARGS.model)
    model = LastHidden(transformers.AutoModel.from_config(config, attn_implementation=implementation).eval())
    ids = torch.randint(1000, 30000, (4, 64))
    return config, model, (ids, torch.ones_like(ids), torch.zeros_like(ids))[:len(inputs())]


def cached(name, make):
    """The path of a converted model, made by make(path) where FOLDER does not have it."""
    path = pathlib.Path(ARGS.cache) / f"{pathlib.Path(ARGS.model).resolve().name}-{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        make(path)
    return str(path)


def onnx_session(args):
    """A session and the types of its inputs."""
    import onnxruntime
    from onnxruntime.quantization import quantize_dynamic
    from onnxruntime.transformers import optimizer

    def export(path):
        config, model, given = example("eager")  # the form in which the optimiser knows attention
        plain = str(path) + ".plain"
        axes = {name: {0: "texts", 1: "tokens"} for name in (*inputs(), "hidden")}
        torch.onnx.export(model, given, plain, dynamo=False, input_names=list(inputs()), output_names=["hidden"], dynamic_axes=axes)
        made = optimizer.optimize_model(plain, model_type="bert", num_heads=config.num_attention_heads,
                                        hidden_size=config.hidden_size, opt_level=1)
        fused = made.get_fused_operator_statistics()
        assert fused["Attention"] == config.num_hidden_layers, fused
        made.save_model_to_file(str(path))
        os.remove(plain)
    path = cached("f32.onnx", export)
    if args.precision == "int8":
        path = cached("int8.onnx", lambda to: quantize_dynamic(path, to, per_channel=True, extra_options={"DefaultTensorType": 1}))  # 1: float
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    return session, {i.name: "int32" if "int32" in i.type else "int64" for i in session.get_inputs()}


def onnx_encode(args):
    session, types = onnx_session(args)

    def passes(batches):
        for b in batches:
            session.run(None, {n: t.numpy().astype(types[n]) for n, t in zip(inputs(), b)})
    return [passes]


def openvino_models(args, dynamic):
    """One stream of all threads, then a stream each."""
    import openvino

    def convert(path):
        _, model, given = example(attention())
        with torch.no_grad():
            openvino.save_model(openvino.convert_model(model, example_input=dict(zip(inputs(), given))), path, compress_to_fp16=False)

    def quantise(path):  # activations' scales from eight of the batches; weights by output
        import nncf
        read = openvino.Core().read_model(cached("f32.xml", convert))
        sample = [dict(zip(inputs(), (t.numpy() for t in padded(b)[:3]))) for b in read_batches(args.batches, False)[:8]]
        openvino.save_model(nncf.quantize(read, nncf.Dataset(sample), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(sample)), path)

    def compress(path):
        import nncf
        openvino.save_model(nncf.compress_weights(openvino.Core().read_model(cached("f32.xml", convert))), path)
    int8 = args.precision == "int8"
    path = cached("f32.xml", convert) if not int8 else cached("weights8.xml", compress) if dynamic else cached("int8.xml", quantise)
    core = openvino.Core()
    for hint in ("LATENCY", "THROUGHPUT"):
        settings = {"INFERENCE_NUM_THREADS": args.threads, "PERFORMANCE_HINT": hint,
                    "INFERENCE_PRECISION_HINT": "f32" if args.precision == "f32" or not BF16 else "bf16"}
        if dynamic:
            settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "32"
        yield core.compile_model(path, "CPU", settings)


def openvino_encode(args, dynamic):
    import openvino
    made = []
    for model in openvino_models(args, dynamic):
        queue = openvino.AsyncInferQueue(model)

        def passes(batches, queue=queue):
            for b in batches:
                queue.start_async(dict(zip(inputs(), (t.numpy() for t in b[:3]))))
            queue.wait_all()
        made.append(passes)
    return made


def sentences_encode(args):
    """Tokenizing and pooling as well: its users' call."""
    import sentence_transformers
    dtype = torch.bfloat16 if args.precision == "bf16" else torch.float32
    model = sentence_transformers.SentenceTransformer(args.model, device="cpu", model_kwargs=dict(torch_dtype=dtype))
    texts = {}

    def passes(batches):
        if not texts:
            rows = [ids[mask.bool()] for b in batches for ids, mask in zip(b[0], b[1])]
            texts["all"] = model.tokenizer.batch_decode(rows, skip_special_tokens=True)
        with torch.inference_mode():
            model.encode(texts["all"], batch_size=len(batches[0][0]))
    return [passes]


def latency(args):
    """One text through a peer's Python, with tokenizer and mean pooling: MiniLM's own sentence vector."""
    import numpy as np
    text = "the quick brown fox jumps over the lazy dog and then sleeps under a warm tree"
    args.precision = "f32"
    if args.peer == "nvdp":
        import nvdp
        encoder = nvdp.Encoder(args.model, threads=args.threads)
        encode = lambda: encoder.encode(text)
    elif args.peer == "sentence-transformers":
        import sentence_transformers
        model = sentence_transformers.SentenceTransformer(args.model, device="cpu")
        encode = lambda: model.encode(text)
    else:
        tokenizer = transformers.AutoTokenizer.from_pretrained(args.model).backend_tokenizer
        tokenizer.no_padding()
        if args.peer == "onnxruntime":
            session, types = onnx_session(args)
            states = lambda given: session.run(None, {n: x.astype(types[n]) for n, x in given.items()})[0]
        else:
            request = next(openvino_models(args, False)).create_infer_request()
            states = lambda given: request.infer(given)[0]

        def encode():
            ids = np.array([tokenizer.encode(text).ids])
            vector = states(dict(zip(inputs(), (ids, np.ones_like(ids), np.zeros_like(ids)))))[0].mean(0)
            return vector / np.linalg.norm(vector)
    taken = []
    for i in range(330):
        start = time.perf_counter()
        encode()
        taken.append(time.perf_counter() - start)
    return {"rate": 1 / statistics.median(taken[30:]), "peak_rss": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def steps(args):
    batches = [padded(b) for b in read_batches(args.batches, args.sort)]
    tokens = sum(int(b[1].sum()) for b in batches)
    if args.peer.startswith("opacus"):
        ways = opacus_train(args, args.peer == "opacus-ghost")
    elif args.work == "train":
        ways = torch_train(args, args.peer == "compile")
    else:
        ways = {"torch": lambda: torch_encode(args, False), "compile": lambda: torch_encode(args, True),
                "onnxruntime": lambda: onnx_encode(args), "openvino": lambda: openvino_encode(args, False),
                "openvino-dynamic": lambda: openvino_encode(args, True), "sentence-transformers": lambda: sentences_encode(args)}[args.peer]()
    for way in ways:
        way(batches)
    taken = lambda way: -time.perf_counter() + (way(batches), time.perf_counter())[1]
    best = min(ways, key=taken) if len(ways) > 1 else ways[0]
    seconds = taken(best)
    return {"rate": tokens / seconds, "padding": 1 - tokens / sum(b[0].numel() for b in batches), "setting": ways.index(best),
            "peak_rss": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def pairs(args):
    """Renyi divergences of all ordered pairs in float32: Gaussian components and Dirichlet weights, a text against a block of texts."""
    n, m, d, order = args.texts, args.components, args.dim, 1.1
    generator = torch.Generator().manual_seed(0)
    mu = torch.randn(n, m, d, generator=generator) * .3
    var = torch.exp(.1 * torch.randn(n, m, d, generator=generator))
    alpha = torch.exp(.2 * torch.randn(n, m, generator=generator))
    log_beta = lambda x: torch.lgamma(x).sum(-1) - torch.lgamma(x.sum(-1))
    logs, betas = var.log().sum(-1), log_beta(alpha)

    def block(mu_p, var_p, logs_p, alpha_p, beta_p, mu_q, var_q, logs_q, alpha_q, beta_q):
        v = (1 - order) * var_p + order * var_q
        gauss = (order / 2 * (mu_p - mu_q).square() / v + v.log() / (2 * (1 - order))).sum(-1)
        gauss = gauss - ((1 - order) * logs_p + order * logs_q) / (2 * (1 - order))
        gauss = torch.where((v > 0).all(-1), gauss, math.inf).sum(-1)
        c = order * alpha_p + (1 - order) * alpha_q
        weights = (log_beta(c) - order * beta_p) / (order - 1) + beta_q
        return gauss + torch.where((c > 0).all(-1), weights, math.inf)
    run = torch.compile(block) if args.peer == "compile" else block

    def passes(size):
        worst = torch.tensor(-math.inf)
        for p in range(n):
            for q in range(0, n, size):
                s = run(mu[p], var[p], logs[p], alpha[p], betas[p], *(x[q:q + size] for x in (mu, var, logs, alpha, betas)))
                worst = torch.maximum(worst, s.max())
        return worst.item()
    taken = lambda size: -time.perf_counter() + (passes(size), time.perf_counter())[1]
    sizes = [n // 8, n] if n % 8 == 0 else [n]  # a block that stays in the cache, or everything
    with torch.inference_mode():
        for size in sizes:
            run(mu[0], var[0], logs[0], alpha[0], betas[0], *(x[:size] for x in (mu, var, logs, alpha, betas)))
        seconds = min(map(taken, sizes))
    return {"rate": n * n * m * d / seconds}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__)
    works = parser.add_subparsers(dest="work", required=True)
    for name in ("train", "encode", "pairs", "latency"):
        work = works.add_parser(name)
        work.add_argument("peer")
        if name == "pairs":
            for size in ("texts", "components", "dim"):
                work.add_argument(size, type=int)
        else:
            for field in ("model",) if name == "latency" else ("precision", "model", "batches"):
                work.add_argument(field)
            work.add_argument("--sort", action="store_true")
            work.add_argument("--dropout", type=float, default=0.)
            work.add_argument("--cache", default="out/peers")
        work.add_argument("--threads", type=int, default=2)
    ARGS = parser.parse_args()
    with open("/proc/cpuinfo") as file:
        flags = file.read()
    BF16 = "avx512_bf16" in flags or "amx_bf16" in flags
    torch.set_num_threads(ARGS.threads)
    torch.manual_seed(0)
    print(json.dumps({"pairs": pairs, "latency": latency}.get(ARGS.work, steps)(ARGS)))
