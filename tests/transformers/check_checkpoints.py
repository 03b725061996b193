#!/usr/bin/env python3
"""Small random models, made here, in the forms that people have: `nvdp encode` beside transformers and sentence-transformers.

    check_checkpoints.py weights|activations|poolings PROGRAM SCRATCH

weights: float32, float16, bfloat16 and float64, as safetensors and as files of torch.save, whole and in shards.
activations: every name that is obeyed.  poolings: sentence-transformers with Pooling, Dense and Normalize, in the forms of new
and of older versions.  Prints the largest differences as one JSON object.  Exits with 1 where they are too large, with 77 where a
package is missing."""
import json
import os
import subprocess
import sys

os.environ.update(OMP_WAIT_POLICY="passive", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error",
                  TOKENIZERS_PARALLELISM="false")
try:
    import h5py
    import numpy as np
    import safetensors.torch
    import torch
    import transformers
    if sys.argv[1] == "poolings":
        from sentence_transformers import SentenceTransformer, models
except ImportError as missing:
    print(f"skipped: {missing}", file=sys.stderr)
    sys.exit(77)

torch.set_num_threads(1)
WHAT, PROGRAM, SCRATCH = sys.argv[1:4]
LARGEST = 1e-5  # float32 on both sides, in another order of summation; states are of the size of 1
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "cats", "sat", "on", "a", "mat", "dog", "ran", "##s", "."]
TEXTS = ["The cats sat on a mat.", "a dog ran", "dogs", "the cat sat on the mat . the dog ran on a mat ."]
SIZES = {"vocab_size": len(WORDS), "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
         "intermediate_size": 48, "max_position_embeddings": 40}


def write(folder, name, content):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as out:
        out.write(content if isinstance(content, str) else json.dumps(content))


def made(name, config, cls=transformers.BertModel):
    """A model with weights large enough that every part of it matters; its folder has no weights yet."""
    folder = os.path.join(SCRATCH, name)
    torch.manual_seed(7)
    model = cls(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.2)
    config.save_pretrained(folder)
    write(folder, "vocab.txt", "\n".join(WORDS) + "\n")
    write(folder, "tokenizer_config.json", {"do_lower_case": True, "tokenizer_class": "BertTokenizer"})
    return folder, model


def encoded(folder, *options):
    lines, out = os.path.join(SCRATCH, "lines.jsonl"), os.path.join(SCRATCH, "out.h5")
    write(SCRATCH, "lines.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    done = subprocess.run([PROGRAM, "encode", "--model", folder, "--jsonl", lines, "--out", out, "--threads", "1",
                           "--quiet", *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"nvdp encode --model {folder}: {done.stderr}")
    with h5py.File(out) as file:
        return {name: file[name][...] for name in file}


def states(folder, model):
    """The last states of all texts, one below the other."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        return np.concatenate([model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].float().numpy()
                               for text in TEXTS])


def difference_of(theirs, ours):
    return (np.abs(theirs - ours) / np.maximum(1, np.abs(theirs))).max().item()


def finish(found):
    print(json.dumps(found))
    sys.exit(0 if max(found.values()) <= LARGEST else 1)


def weights():
    found = {}
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        name = str(dtype).split(".")[1]
        folder, model = made(name, transformers.BertConfig(**SIZES))
        tensors = {key: value.to(dtype).contiguous() for key, value in model.state_dict().items()}
        model.load_state_dict({key: value.float() for key, value in tensors.items()})
        theirs = states(folder, model)
        half = len(tensors) // 2
        parts = [dict(list(tensors.items())[:half]), dict(list(tensors.items())[half:])]
        turned = {key: value.t().contiguous().t() if value.dim() == 2 else value for key, value in tensors.items()}
        for form, save, files in (("safetensors", safetensors.torch.save_file, {"model.safetensors": tensors}),
                                  ("bin", torch.save, {"pytorch_model.bin": tensors}),
                                  ("bin by columns", torch.save, {"pytorch_model.bin": turned}),
                                  ("safetensors in shards", safetensors.torch.save_file,
                                   {"model-00001-of-00002.safetensors": parts[0],
                                    "model-00002-of-00002.safetensors": parts[1]}),
                                  ("bin in shards", torch.save, {"pytorch_model-00001-of-00002.bin": parts[0],
                                                                 "pytorch_model-00002-of-00002.bin": parts[1]})):
            for file, content in files.items():
                save(content, os.path.join(folder, file))
            index = ("model.safetensors" if "safe" in form else "pytorch_model.bin") + ".index.json"
            if len(files) > 1:
                write(folder, index, {"weight_map": {key: file for file in files for key in files[file]}})
            found[f"{name}, {form}"] = difference_of(theirs, encoded(folder)["hidden"])
            for file in [*files, *([index] if len(files) > 1 else [])]:
                os.unlink(os.path.join(folder, file))
    finish(found)


def activations():
    found = {}
    for config, key in ((transformers.BertConfig(**SIZES), "hidden_act"),
                        (transformers.DistilBertConfig(vocab_size=len(WORDS), dim=24, n_layers=2, n_heads=3, hidden_dim=48,
                                                       max_position_embeddings=40), "activation")):
        for name in ("gelu", "gelu_python", "gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast",
                     "gelu_accurate", "relu", "silu", "swish", "quick_gelu"):
            setattr(config, key, name)
            folder, model = made(f"{config.model_type}-{name}", config, transformers.AutoModel.from_config)
            model.save_pretrained(folder)
            found[f"{config.model_type} {name}"] = difference_of(states(folder, model), encoded(folder)["hidden"])
    finish(found)


def poolings():
    nn, found = torch.nn, {}
    folder, model = made("encoder", transformers.BertConfig(**SIZES))
    model.save_pretrained(folder)
    modes = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")

    def dense(inside, out, act=nn.Tanh(), **options):
        made = models.Dense(inside, out, activation_function=act, **options)
        with torch.no_grad():
            for weight in made.parameters():
                weight.copy_(torch.randn_like(weight) * 0.3)
        return made

    steps = {"none": lambda width: [],
             "normalized": lambda width: [models.Normalize()],
             "dense": lambda width: [dense(width, 10)],
             "dense without bias, GELU": lambda width: [dense(width, 30, nn.GELU(), bias=False), models.Normalize()],
             "three of dense": lambda width: [dense(width, 40, nn.ReLU()), dense(40, 12, nn.SiLU()), dense(12, 7, nn.Identity())],
             "residual": lambda width: [dense(width, width, use_residual=True), models.Normalize(),
                                        dense(width, 9, nn.Identity(), use_residual=True), models.Dropout(0.5)]}
    cases = [(mode, name) for mode in (*((one,) for one in modes), ("mean", "cls"), modes[::-1]) for name in ("none", "normalized")]
    cases += [(mode, name) for mode in (("mean",), ("lasttoken", "cls")) for name in steps]
    for number, (mode, name) in enumerate(cases):
        pooling = models.Pooling(SIZES["hidden_size"], pooling_mode=list(mode))
        transformer = models.Transformer(folder)
        saved = os.path.join(SCRATCH, f"sentences-{number}")
        made_here = SentenceTransformer(modules=[transformer, pooling, *steps[name](pooling.pooling_output_dimension)], device="cpu")
        made_here.save(saved)
        compare(found, f"{'+'.join(mode)}, {name}", saved, SentenceTransformer(saved, device="cpu"))
        if name == "none" and mode in (modes[::-1], *((one,) for one in modes)):  # with the flags of older versions
            keys = ["cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
            write(saved, "1_Pooling/config.json", {"word_embedding_dimension": SIZES["hidden_size"],
                                                   **{"pooling_mode_" + key: one in mode for key, one in zip(keys, modes)}})
            compare(found, f"{'+'.join(mode)}, flags", saved, SentenceTransformer(saved, device="cpu"))
        if name == "residual":  # Dense modules of older versions
            for step in sorted(os.listdir(saved)):
                file = os.path.join(saved, step, "model.safetensors")
                if step.endswith("Dense"):
                    torch.save(safetensors.torch.load_file(file), os.path.join(saved, step, "pytorch_model.bin"))
                    os.unlink(file)
            compare(found, f"{'+'.join(mode)}, {name}, bin", saved, made_here)
    prompted = SentenceTransformer(modules=[models.Transformer(folder), models.Pooling(SIZES["hidden_size"])], device="cpu",
                                   prompts={"query": "The dog: ", "none": ""}, default_prompt_name="query")
    prompted.save(os.path.join(SCRATCH, "prompted"))
    compare(found, "default prompt", os.path.join(SCRATCH, "prompted"), prompted)
    finish(found)


def compare(found, name, folder, model):
    ours = encoded(folder)["sentence_embedding"]
    theirs = model.encode(TEXTS, convert_to_numpy=True, show_progress_bar=False, batch_size=len(TEXTS))
    if ours.shape != theirs.shape:
        sys.exit(f"{name}: {ours.shape} for {theirs.shape}")
    found[name] = difference_of(theirs, ours)


{"weights": weights, "activations": activations, "poolings": poolings}[WHAT]()
