#!/usr/bin/env python3
"""Small random models, made here, in the forms that people have: `nvdp encode` beside transformers and sentence-transformers.

    check_checkpoints.py weights PROGRAM SCRATCH

weights: float32, float16, bfloat16 and float64, as safetensors and as files of torch.save, whole and in shards.  Prints the
largest differences as one JSON object.  Exits with 1 where they are too large, with 77 where a package is missing."""
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


{"weights": weights}[WHAT]()
