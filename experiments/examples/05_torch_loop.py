"""Trains a bottleneck on a user's encoder in a plain PyTorch loop, then proves and measures its privacy. Needs torch.

The encoder is a table of word vectors, and a text is of the class to which most of its words belong. Any module that returns
states [B, T, width] can take its place, and Lightning's training_step is the body of the loop.
"""

import torch
from torch.nn.functional import cross_entropy

import nvdp
import nvdp.torch

torch.manual_seed(1)
STEPS = globals().get("STEPS", 300)  # tests set fewer steps
encoder = torch.nn.Embedding(40, 32)
bottleneck = nvdp.torch.Bottleneck(preset="certified", certified_epsilon=8, width=32, latent_dim=8, length=12)
head = torch.nn.Linear(bottleneck.dim, 2)
parts = torch.nn.ModuleList([encoder, bottleneck, head])
optimizer = torch.optim.AdamW(parts.parameters(), lr=1e-2)


def texts(n):
    """Returns word ids [n, 12], masks of 4 to 12 words, and classes: words below 20 are of class 0."""
    labels, mask = torch.randint(2, (n,)), torch.arange(12) < torch.randint(4, 13, (n, 1))
    other = torch.rand(n, 12) < 0.1
    return torch.randint(20, (n, 12)) + 20 * (labels[:, None] ^ other), mask, labels


bottleneck.initialize(encoder(texts(64)[0]).detach())  # sets the principal directions of the encoder's states
for step in range(STEPS):
    ids, mask, labels = texts(64)
    posterior = bottleneck(encoder(ids), mask)
    logits = head(bottleneck.read(posterior.sample()))  # the head sees only the random sample
    loss = cross_entropy(logits, labels) + posterior.regularizer(step / STEPS)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

certificate = bottleneck.certificate(delta=1e-5)
with torch.no_grad():
    ids, mask, labels = texts(500)
    posterior = bottleneck(encoder(ids), mask)
    accuracy = (head(bottleneck.read(posterior.sample())).argmax(1) == labels).float().mean().item()
    few = bottleneck(encoder(ids[:50]), mask[:50])
measured = bottleneck.posteriors([few]).privacy(exact=True).exact.worst
print(f"accuracy {accuracy:.3f}\n{certificate.statement}\nThe farthest two of 50 texts: epsilon {measured:.3f} at delta 1e-5")
