"""PyTorch on batches of real texts, padded to the longest of each batch, to measure `nvdp bench --data` against.

usage: peer_batches.py PEERS BATCHES.jsonl base|small|mini|tiny f32|bf16 [THREADS]

PEERS is a folder with bert_torch.py (init_bert, classify); BATCHES.jsonl is what `nvdp bench --write-batches` wrote: the same
batches in the same order.  A training step is forward, backward and AdamW, as in PEERS/bench_bert_torch.py.  Prints one JSON object."""
import contextlib, json, sys, time
import torch

peers, path, size, precision = sys.argv[1:5]
torch.set_num_threads(int(sys.argv[5]) if len(sys.argv) > 5 else 2)
sys.path.insert(0, peers)
import bert_torch

D, L, H = {"base": (768, 12, 12), "small": (512, 4, 8), "mini": (256, 4, 4), "tiny": (128, 2, 2)}[size]
config = dict(hidden_size=D, intermediate_size=4 * D, vocab_size=30522, max_position_embeddings=512, type_vocab_size=2,
              num_hidden_layers=L, num_attention_heads=H)


def padded(line):
    """ids, mask, types [texts, longest], labels [texts], real tokens"""
    batch = json.loads(line)
    rows, types = batch["input_ids"], batch["token_type_ids"]
    longest = max(map(len, rows))
    fill = lambda lists: torch.tensor([r + [0] * (longest - len(r)) for r in lists])
    mask = fill([[1] * len(r) for r in rows])
    return fill(rows), mask, fill(types), torch.tensor(batch["labels"]).long(), sum(map(len, rows))


with open(path) as file:
    batches = [padded(line) for line in file]
parameters = {k: torch.nn.Parameter(v) for k, v in bert_torch.init_bert(config, 0, std=.02).items()}
optimizer = torch.optim.AdamW(parameters.values(), lr=2e-5)
autocast = lambda: torch.autocast("cpu", dtype=torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()


def forward(batch):
    ids, mask, types, _, _ = batch
    with autocast():
        return bert_torch.classify(parameters, config, ids, mask, types).float()


def train(batch):
    loss = torch.nn.functional.cross_entropy(forward(batch), batch[3])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()


def encode(batch):
    with torch.no_grad():
        forward(batch)


def tokens_per_second(step):
    step(batches[0])
    start = time.time()
    for batch in batches:
        step(batch)
    return sum(b[4] for b in batches) / (time.time() - start)


padding = 1 - sum(b[4] for b in batches) / sum(b[0].numel() for b in batches)
print(json.dumps({"train": tokens_per_second(train), "encode": tokens_per_second(encode), "padding": padding}))
