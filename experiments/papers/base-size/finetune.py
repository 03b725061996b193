#!/usr/bin/env python3
"""Fine-tunes an MPNet encoder on a GLUE task with PyTorch, for machines that have a GPU. run.py reads the result with --tuned.

The encoder's weights are rounded to bfloat16 and stay as they are; each linear layer W of a block gets a learned change B A of rank 16 (LoRA, Hu et al.
2021), which is added to W at the end. OUT/lora.safetensors has the factors and the head, a few MB; OUT has the whole checkpoint, which
`finetune.py ... --merge` makes again from these factors without a GPU.

    finetune.py --model models/mpnet --glue glue --task sst2 --seed 1 --out tuned/sst2-1

Needs torch, transformers and safetensors. Prints one line of JSON with the score on the dev file."""
import argparse
import json
import os
import shutil
import sys
import time

import numpy
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.functional import linear
from transformers import AutoTokenizer, MPNetForSequenceClassification

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from common import glue_rows  # noqa: E402
from run import TASKS as STUDY  # noqa: E402

# columns of the texts and of the label, labels (none: a number is learned), epochs; run.py has folder, rows and longest text
TASKS = {
    "sst2": (("sentence",), "label", ("0", "1"), 2),
    "mrpc": (("#1 String", "#2 String"), "Quality", ("0", "1"), 6),
    "stsb": (("sentence1", "sentence2"), "score", None, 6),
    "qnli": (("question", "sentence"), "label", ("entailment", "not_entailment"), 2),
    "qqp": (("question1", "question2"), "is_duplicate", ("0", "1"), 2),
    "rte": (("sentence1", "sentence2"), "label", ("entailment", "not_entailment"), 10),
}
RANK, SCALE, RATE, WARMUP, BATCH = 16, 2.0, 2e-4, 0.1, 32
TUNED = ("attn.q", "attn.k", "attn.v", "attn.o", "intermediate.dense", "output.dense")


class Tuned(nn.Module):
    """A linear layer plus its learned change of low rank."""

    def __init__(self, layer):
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.a = nn.Parameter(torch.randn(RANK, layer.in_features) / layer.in_features**0.5)
        self.b = nn.Parameter(torch.zeros(layer.out_features, RANK))

    def forward(self, x):
        return linear(x, self.weight, self.bias) + SCALE * linear(linear(x, self.a), self.b)


def read(glue, task, split, limit):
    """Returns (texts, labels) of the first `limit` rows of a file; texts has one list per column."""
    columns, label, labels, _ = TASKS[task]
    rows = glue_rows(glue, STUDY[task][0], split)[:limit]
    return [[row[column] for row in rows] for column in columns], [float(row[label]) / 5 if labels is None else labels.index(row[label]) for row in rows]


def rounded(model_folder, labels):
    """Returns the model with its weights rounded to bfloat16, stored in float32."""
    model = MPNetForSequenceClassification.from_pretrained(model_folder, num_labels=len(labels) if labels else 1, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.mpnet.parameters():
            parameter.copy_(parameter.to(torch.bfloat16))
    return model


def layers(model):
    """Yields (module, attribute, linear layer, name) of all layers that are tuned."""
    for name, module in list(model.named_modules()):
        if isinstance(module, (nn.Linear, Tuned)) and name.endswith(TUNED):
            parent, _, attribute = name.rpartition(".")
            yield model.get_submodule(parent), attribute, module, name


def batches(order, size):
    for first in range(0, len(order), size):
        yield order[first:first + size]


def fit(model, tokenizer, options, device):
    *_, labels, epochs = TASKS[options.task]
    _, rows, *_, length = STUDY[options.task]
    texts, targets = read(options.glue, options.task, "train", options.limit or rows or None)
    dev, dev_targets = read(options.glue, options.task, "dev", options.limit or None)
    encode = lambda columns: tokenizer(*columns, truncation=True, max_length=length)["input_ids"]
    train_ids, dev_ids = encode(texts), encode(dev)
    targets = torch.tensor(targets, dtype=torch.float32 if labels is None else torch.long)
    loss_of = nn.MSELoss() if labels is None else nn.CrossEntropyLoss()

    def forward(ids):
        made = tokenizer.pad({"input_ids": ids}, return_tensors="pt").to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            return model(**made).logits.float()

    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=0.01, fused=device.type == "cuda")
    steps = epochs * -(-len(train_ids) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / (WARMUP * steps), (steps - step) / (steps * (1 - WARMUP)), 1.0))
    draws = numpy.random.default_rng(options.seed)
    model.train()
    for _ in range(epochs):
        order = draws.permutation(len(train_ids))
        for chosen in batches(order, BATCH):
            found = forward([train_ids[i] for i in chosen])
            loss = loss_of(found[:, 0] if labels is None else found, targets[torch.from_numpy(chosen)].to(device))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            schedule.step()
    model.eval()
    order = numpy.argsort([len(ids) for ids in dev_ids])
    with torch.no_grad():
        found = torch.cat([forward([dev_ids[i] for i in chosen]).cpu() for chosen in batches(order, 128)])
    expected = numpy.array(dev_targets)[order]
    return float(numpy.corrcoef(found[:, 0].numpy(), expected)[0, 1]) if labels is None else float((found.argmax(1).numpy() == expected).mean()), steps


def write(model, options):
    """Adds the changes to the layers and writes the checkpoint."""
    with torch.no_grad():
        for parent, attribute, module, _ in layers(model):
            layer = nn.Linear(module.weight.shape[1], module.weight.shape[0])
            layer.weight, layer.bias = module.weight, module.bias
            layer.weight += SCALE * (module.b @ module.a)
            setattr(parent, attribute, layer)
    model.save_pretrained(options.out)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(os.path.join(options.model, name), options.out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="models/mpnet", help="folder of the encoder")
    parser.add_argument("--glue", default="glue", help="folder of GLUE's tasks")
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=0, help="use only this many rows, for a trial")
    parser.add_argument("--out", required=True, help="folder of the fine-tuned checkpoint")
    parser.add_argument("--merge", action="store_true", help="do not train: make the checkpoint from OUT/lora.safetensors")
    options = parser.parse_args()
    start = time.time()
    factors = os.path.join(options.out, "lora.safetensors")
    torch.manual_seed(options.seed)
    model = rounded(options.model, TASKS[options.task][2])
    model.mpnet.requires_grad_(False)
    for parent, attribute, layer, _ in layers(model):
        setattr(parent, attribute, Tuned(layer))
    if options.merge:
        model.load_state_dict({name: value.float() for name, value in load_file(factors).items()}, strict=False)
        write(model, options)
        return
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    score, steps = fit(model.to(device), AutoTokenizer.from_pretrained(options.model), options, device)
    os.makedirs(options.out, exist_ok=True)
    model.cpu()
    learned = {name: value.detach().half() for name, value in model.named_parameters() if value.requires_grad}
    save_file(learned, factors + ".partial")
    os.replace(factors + ".partial", factors)
    model.load_state_dict({name: value.float() for name, value in learned.items()}, strict=False)
    write(model, options)
    print(json.dumps({"task": options.task, "seed": options.seed, "score": score, "steps": steps, "seconds": round(time.time() - start, 1)}), flush=True)


if __name__ == "__main__":
    main()
