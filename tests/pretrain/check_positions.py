#!/usr/bin/env python3
"""Recomputes `nvdp pretrain --eval --out POSITIONS` in float64 with PyTorch, independently of the library.

    check_positions.py MODEL POSITIONS [WINDOWS]

Prints one JSON object: mean negative log-likelihood and accuracy of both programs, the largest difference at a
position, and the number of different predictions whose two best logits differ by at least 1e-4. Exits with 1 if the
means differ by more than 1e-4 of their value or a prediction differs beyond a tie, and with 77 if PyTorch or NumPy is
missing."""
import json
import math
import struct
import sys

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"skipped: {missing}", file=sys.stderr)
    sys.exit(77)

DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32}
TIE = 1e-4


def load(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = torch.from_numpy(array.copy())
    return tensors


class Bert:
    """The published definition (Devlin et al. 2019) with the masked-LM head, on one text at a time."""

    def __init__(self, directory):
        with open(directory + "/config.json") as file:
            self.config = json.load(file)
        self.weights = {name: tensor.double() for name, tensor in load(directory + "/model.safetensors").items()}

    def dense(self, name, x):
        return F.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def norm(self, name, x):
        eps = self.config["layer_norm_eps"]
        return F.layer_norm(x, (x.shape[-1],), self.weights[name + ".weight"], self.weights[name + ".bias"], eps)

    def act(self, x):
        if self.config["hidden_act"] == "gelu":
            return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    def layer(self, prefix, x):
        heads = self.config["num_attention_heads"]
        count, dim = x.shape
        split = lambda name: self.dense(prefix + name, x).view(count, heads, dim // heads).transpose(0, 1)
        query, key, value = (split(f"attention.self.{name}") for name in ("query", "key", "value"))
        share = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(dim // heads), -1)
        context = (share @ value).transpose(0, 1).reshape(count, dim)
        x = self.norm(prefix + "attention.output.LayerNorm", self.dense(prefix + "attention.output.dense", context) + x)
        inner = self.act(self.dense(prefix + "intermediate.dense", x))
        return self.norm(prefix + "output.LayerNorm", self.dense(prefix + "output.dense", inner) + x)

    def logits(self, ids, rows):
        words = self.weights["bert.embeddings.word_embeddings.weight"]
        x = words[ids] + self.weights["bert.embeddings.position_embeddings.weight"][: len(ids)]
        x = self.norm("bert.embeddings.LayerNorm", x + self.weights["bert.embeddings.token_type_embeddings.weight"][0])
        for layer in range(self.config["num_hidden_layers"]):
            x = self.layer(f"bert.encoder.layer.{layer}.", x)
        x = self.act(self.dense("cls.predictions.transform.dense", x[rows]))
        x = self.norm("cls.predictions.transform.LayerNorm", x)
        return x @ words.T + self.weights["cls.predictions.bias"]


def main():
    bert, found = Bert(sys.argv[1]), load(sys.argv[2])
    windows = len(found["offset"]) - 1
    if len(sys.argv) > 3:
        windows = min(windows, int(sys.argv[3]))
    total = theirs = worst = 0.0
    count = right = their_right = differing = at = 0
    with torch.no_grad():
        for window in range(windows):
            begin, end = found["offset"][window].item(), found["offset"][window + 1].item()
            stop = at
            while stop < len(found["row"]) and found["row"][stop] < end:
                stop += 1
            rows = found["row"][at:stop] - begin
            labels, predicted = found["label"][at:stop].long(), found["predicted"][at:stop].long()
            if stop > at:
                logits = bert.logits(found["input_ids"][begin:end].long(), rows)
                nll = F.cross_entropy(logits, labels, reduction="none")
                total += nll.sum().item()
                theirs += found["nll"][at:stop].sum().item()
                worst = max(worst, (nll - found["nll"][at:stop]).abs().max().item())
                best, chosen = logits.max(-1), logits.gather(1, predicted[:, None])[:, 0]
                right += (best.indices == labels).sum().item()
                their_right += (predicted == labels).sum().item()
                differing += ((best.indices != predicted) & (best.values - chosen > TIE)).sum().item()
                count += stop - at
            at = stop
    result = {"windows": windows, "positions": count, "torch_nll": total / count, "nvdp_nll": theirs / count,
              "torch_accuracy": right / count, "nvdp_accuracy": their_right / count,
              "largest_difference": worst, "predictions_differ": differing}
    print(json.dumps(result, indent=1))
    sys.exit(0 if abs(total - theirs) <= 1e-4 * abs(total) and differing == 0 else 1)


main()
