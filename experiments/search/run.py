#!/usr/bin/env python3
"""Measures the search in a file of an encoder's own sentence embeddings, released without training.

How well does a searcher find the duplicate of a question, or the paraphrase of a sentence, in a file from `nvdp export --model`? The searcher's query
has no noise unless a row says so. QQP: the first rows of the dev file whose second questions are 4,000 different ones; each first question of a
duplicate pair searches its second. STS-B: the second sentences of the dev file; each first sentence of a pair with a score of 4 or more searches its
second. The center and the public directions come from 2,000 texts of the train file. Recall is the share of queries whose text is among the first
10 hits; nDCG is the mean of 1/log2(1 + rank) of these, 0 for the others. The encoder's embeddings are those of `nvdp encode`; the noise is drawn on
their means here. Recall and nDCG of the program's own file and search stand below the first table. Bound: the proven bound on naming the right one of
as many equally likely texts from one sample, on average, rounded up. Epsilon: proven for one sample of any two texts, at delta 1e-5, rounded up. **Whoever guesses a text can check the guess by such a search**, as far as the noise allows.
The minutes below are without those of embedding the texts, about ten. Needs numpy and h5py; the trained maps need torch."""
import json
import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "papers"))
from common import Missing, Study, Table, alike, at_most, clean, cpu_of_children, glue_rows, number, searched, unknown, verdict, write_texts
from decision import epsilon_of

CLIPS = (3, 5, 8, 12)
CLEAN = 1000  # noise of a thousandth of the norm: as good as none
TOP = 10
PUBLIC = 2000
ENCODERS = {"MiniLM": ("model", 384), "mpnet": ("large", 768)}  # option with the folder, width
MAPS = {"whiten-0.25": "whitened with exponent .25", "whiten-0.5": "whitened with exponent .5", "whiten-1": "whitened", "without-8": "without 8 leading directions",
        "trained": "trained"}
USEFUL = .03  # gain in recall that makes a map an option of the program
MANY = 1000000  # texts of the file whose search is timed
WANTED = {3: .33, 5: .81, 8: .97, 12: .99}  # recall of a prototype on QQP
WANTED_BOTH = {3: .01, 5: .04, 8: .32, 12: .89}
TASKS = {"qqp": ("QQP", "question1", "question2", "is_duplicate", 1, 4000), "stsb": ("STS-B", "sentence1", "sentence2", "score", 4, 1467)}


class SearchStudy(Study):
    """A study that also runs and reads encoders, exports and searches."""

    def at(self, name):
        return os.path.join(self.options.out, name)

    def once(self, name, arguments, hours, work, encoder="MiniLM"):
        model = os.path.basename(getattr(self.options, ENCODERS[encoder][0]))
        return super().once("%s/%s" % (model, name), [PUBLIC, *arguments], hours, work)

    def embeddings(self, name, encoder="MiniLM"):
        """Returns the unit vectors of a prepared file's texts."""
        folder = getattr(self.options, ENCODERS[encoder][0])
        return self.embed(folder, self.at(name + ".jsonl"), self.at("%s-%s.h5" % (os.path.basename(folder), name)))

    def found(self, task, clip, kind="", both=False, encoder="MiniLM"):
        """Returns the mean recall and ndcg over the seeds of the noise, computed once. kind: the public map."""
        name = "%s/%g%s%s" % (task, clip, "-" + kind if kind else "", "-both" if both else "")
        hours = 0.05 if encoder == "MiniLM" and kind != "trained" else 0.2
        return self.once(name, [self.options.seeds], hours, lambda: self.simulate(task, clip, kind, both, encoder), encoder)

    def simulate(self, task, clip, kind, both, encoder):
        """Draws noise of standard deviation 1 on means of norm C."""
        import numpy as np

        wanted = prepare(self.options, task)
        texts, queries, public = (self.embeddings("%s-%s" % (task, of), encoder) for of in ("texts", "queries", "public"))
        center = public.mean(0)
        linear = public_map(self, kind, clip, public - center)
        unit = [clip * normalized((x - center) @ linear) for x in (texts, queries)]
        made = []
        for seed in range(self.options.seeds if clip < CLEAN else 1):
            noise = np.random.default_rng(seed)
            x, q = (m + noise.standard_normal(m.shape, np.float32) if noisy else m for m, noisy in zip(unit, (clip < CLEAN, both)))
            made.append(scores(ranks_of(x, q, wanted)))
        return {key: float(np.mean([scores[key] for scores in made])) for key in made[0]}

    def export(self, task, clip):
        out = self.at("%s-%g.safetensors" % (task, clip))
        if not os.path.exists(out):
            self.run("export", self.at("%s-%g" % (task, clip)), "--model", self.options.model, "--center", self.at(task + "-public.txt"), "--clip-sequence", clip,
                     "--input", self.at(task + "-texts.jsonl"), "--out", out, "--no-ledger", "--measure-texts", 0, "--insecure-seed", 1)
        return out

    def search(self, file, queries):
        return self.run("search", file, "--queries", queries, "--top", TOP, "--model", self.options.model)

    def program(self, task, clip):
        """Returns the scores of the program: one export, one search."""
        def work():
            wanted = prepare(self.options, task)
            found = self.search(self.export(task, clip), self.at(task + "-queries.txt"))
            hits = [[hit["text"] for hit in query["hits"]] for query in found["queries"]]
            return scores([row.index(text) + 1 if text in row else None for row, text in zip(hits, wanted)])
        return self.once("%s/%g-program" % (task, clip), [1], 0.2, work)

    def speed(self, queries):
        """Returns the processor's seconds for so many queries to a file of many texts, whose vectors are drawn."""
        def work():
            prepare(self.options, "qqp")
            many, few = self.at("many.safetensors"), self.at("%d.txt" % queries)
            if not os.path.exists(many):
                multiply(self.export("qqp", 5), many)
            with open(self.at("qqp-queries.txt"), encoding="utf-8") as file, open(few, "w", encoding="utf-8") as to:
                to.writelines(file.readlines()[:queries])
            start = cpu_of_children()
            self.search(many, few)
            return {"seconds": cpu_of_children() - start}
        return self.once("speed/%d" % queries, [MANY], 0.05, work)


def normalized(x):
    import numpy as np

    return x / np.linalg.norm(x, axis=1, keepdims=True)


def public_map(study, kind, clip, public):
    """Returns the map [D, p] of centered embeddings that public texts choose."""
    import numpy as np

    if not kind:
        return np.eye(public.shape[1], dtype=np.float32)
    if kind == "trained":
        return trained(study, clip)
    variance, directions = np.linalg.eigh(np.cov(public.T))
    variance, directions = np.maximum(variance[::-1], variance[-1] * 1e-4), directions[:, ::-1].astype(np.float32)
    how, _, value = kind.partition("-")
    if how == "reduce":
        return directions[:, :int(value)]
    if how == "without":
        return directions[:, int(value):]
    return directions * (variance ** (-float(value) / 2)).astype(np.float32)


def trained(study, clip):
    """Trains a square map from the identity with a contrastive loss over batches of public pairs: one text of a pair is the query, the other has the noise.
    Keeps the epoch with the smallest loss on pairs that are held out."""
    import numpy as np
    import torch

    pairs(study)
    x = study.embeddings("pairs")
    x = torch.tensor(x - x.mean(0)).reshape(-1, 2, x.shape[1])
    random, noise = np.random.default_rng(0), torch.Generator()
    order = random.permutation(len(x))
    held, train = order[:len(x) // 10], order[len(x) // 10:]
    linear = torch.nn.Parameter(torch.eye(x.shape[2]))
    optimizer = torch.optim.Adam([linear], lr=1e-3)

    def loss(chosen, query):
        unit = torch.nn.functional.normalize(x[chosen] @ linear, dim=2)
        z = clip * unit[:, 1 - query] + torch.randn(unit[:, 0].shape, generator=noise)
        return torch.nn.functional.cross_entropy(clip * unit[:, query] @ z.T, torch.arange(len(chosen)))
    best = None
    for epoch in range(13):
        for first in range(0, len(train) - 511 if epoch > 0 else 0, 512):
            optimizer.zero_grad()
            loss(train[first:first + 512], int(random.integers(2))).backward()
            optimizer.step()
        random.shuffle(train)
        state = noise.get_state()
        noise.manual_seed(7)
        with torch.no_grad():
            value = sum(float(loss(held, 0)) for _ in range(4))
        noise.set_state(state)
        if best is None or value < best[0]:
            best = value, linear.detach().clone().numpy()
    return best[1]


def pairs(study):
    """Writes pairs of texts from train files that people call duplicates or paraphrases; no text is in a scored file."""
    scored = set()
    for task in TASKS:
        prepare(study.options, task)
        for of in ("texts", "queries"):
            with open(study.at("%s-%s.jsonl" % (task, of)), encoding="utf-8") as file:
                scored |= {json.loads(line)["text"] for line in file}
    made = []
    for folder, one, two, label, least in [task[:5] for task in TASKS.values()] + [("MRPC", "#1 String", "#2 String", "Quality", 1)]:
        for row in glue_rows(study.options.glue, folder, "train"):
            if (row[label] or "").replace(".", "").isdigit() and float(row[label]) >= least:
                texts = clean(row[one]), clean(row[two])
                made += [texts] if all(texts) and not scored.intersection(texts) and texts[0] != texts[1] else []
    write_texts(study.at("pairs.jsonl"), [text for pair in made for text in pair])


def multiply(path, out):
    """Writes a file like another one with as many texts as the search is timed on, whose vectors are drawn."""
    import numpy as np

    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    width, random = header["z"]["shape"][1], np.random.default_rng(0)
    header["__metadata__"]["texts"] = str(MANY)
    end = 0
    for name, shape, size in (("offset", [MANY + 1], 8), ("id", [MANY], 8), ("z", [MANY, width], 2)):
        begin, end = end, end + size * math.prod(shape)
        header[name].update(shape=shape, data_offsets=[begin, end])
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(out, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        np.arange(MANY + 1).tofile(file)
        np.arange(MANY).tofile(file)
        for _ in range(100):
            (random.standard_normal((MANY // 100, width), np.float32) / float(header["__metadata__"]["z_step"])).astype(np.int16).tofile(file)


def prepare(options, task):
    """Writes the public texts, the texts and the queries; returns the index of each query's text."""
    folder, one, two, label, least, count = TASKS[task]
    public = {clean(row[one]): None for row in glue_rows(options.glue, folder, "train")}
    index, queries = searched(((clean(row[one]), clean(row[two]), float(row[label])) for row in glue_rows(options.glue, folder, "dev")), least, count)
    private = set(map(alike, index))
    public = [text for text in public if text and alike(text) not in private][:PUBLIC]
    for name, texts in (("public", public), ("texts", index), ("queries", queries)):
        write_texts("%s/%s-%s.jsonl" % (options.out, task, name), texts)
    for name, texts in (("public", public), ("queries", queries)):
        with open("%s/%s-%s.txt" % (options.out, task, name), "w", encoding="utf-8") as file:
            file.write("\n".join(texts) + "\n")
    return list(queries.values())


def scores(ranks):
    found = [rank for rank in ranks if rank is not None and rank <= TOP]
    return {"queries": len(ranks), "recall": len(found) / len(ranks), "ndcg": sum(1 / math.log2(1 + rank) for rank in found) / len(ranks)}


def ranks_of(texts, queries, wanted):
    import numpy as np

    estimates = queries @ texts.T
    own = estimates[np.arange(len(wanted)), wanted]
    return (1 + (estimates > own[:, None]).sum(1)).tolist()


def naming(study, clip, texts, dim):
    """Returns the bound on naming one of so many texts, as a cell."""
    cell = at_most(study.bound("%g-%d-%d" % (clip, texts, dim), clip, dim, 1 / texts))
    return "1 (no bound)" if cell == "1.000" else cell


def whole(value):
    return value if isinstance(value, Missing) else number(round(value))


study = SearchStudy(__file__, "Search in a release without training", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder"),
    "large": ("models/mpnet", "larger encoder"),
    "seeds": (3, "number of seeds of the noise"),
})


def by_clip(study, task):
    rows = []
    for encoder, (_, width) in ENCODERS.items():
        for clip in CLIPS:
            made, both = (study.found(task, clip, both=noisy, encoder=encoder) for noisy in (False, True))
            rows.append(["%s, C %d" % (encoder, clip), at_most(epsilon_of(clip), 0, math.inf), *both_scores(made), *both_scores(both), naming(study, clip, TASKS[task][5], width)])
        rows.append(["%s, no noise" % encoder, "none", *both_scores(study.found(task, CLEAN, encoder=encoder)), "", "", ""])
    return rows


def both_scores(found):
    return [found["recall"], found["ndcg"]]


HEADER = ["", "epsilon", "recall@10", "nDCG@10", "recall@10, query noised too", "nDCG@10, query noised too", "bound on naming one"]


@study.table
def qqp(study):
    """QQP: each question finds its duplicate among 4,000 questions"""
    rows = [row + ([WANTED.get(clip, .993), WANTED_BOTH.get(clip, "")] if row[0].startswith("MiniLM") else ["", ""])
            for row, clip in zip(by_clip(study, "qqp"), (*CLIPS, CLEAN) * 2)]
    measured = [study.found("qqp", clip)["recall"] for clip in CLIPS]
    program = study.program("qqp", 5)
    named = {row[""]: row for row in study.quoted("distill.md", "", "epsilon", "named among 872", command="experiments/distill/run.py hidden")}["C 5, plain"]
    return Table(scale="all-MiniLM-L6-v2 (384 dimensions) and all-mpnet-base-v2 (768), the same texts and queries; %d seeds of the noise, one sample per text; %s "
                 "queries, so two standard errors over queries are at most .025." % (study.options.seeds, whole(study.found("qqp", CLEAN)["queries"])),
                 header=HEADER + ["prototype, recall", "prototype, both noised"], rows=rows,
                 verdict=verdict(measured, lambda *found: all(a > WANTED[clip] - .05 for a, clip in zip(found, CLIPS)),
                                 "recall is at most .05 below that of the prototype at each C.", "recall is below the prototype's."),
                 note="At C 5 (epsilon %s) a file says *No useful guarantee*: such a release names %s of texts among 872 known ones ([distill.md](distill.md)). One export and one search of the program "
                      "with MiniLM at C 5: recall@10 %s, nDCG@10 %s." % (named["epsilon"], named["named among 872"], number(program["recall"]), number(program["ndcg"])))


@study.table
def stsb(study):
    """STS-B: each sentence finds its paraphrase among 1,467 sentences"""
    measured = [[study.found("stsb", clip, encoder=encoder)["recall"] for clip in CLIPS] for encoder in ENCODERS]
    return Table(scale="as above; %s queries, so two standard errors over queries are at most .062." % whole(study.found("stsb", CLEAN)["queries"]),
                 header=HEADER, rows=by_clip(study, "stsb"),
                 verdict=verdict(sum(measured, []), lambda *found: all(a <= b for each in measured for a, b in zip(each, each[1:])), "recall rises with C.",
                                 "recall does not rise with C."))


@study.table
def reduced(study):
    """Fewer dimensions: principal directions of public texts (`--reduce`)"""
    rows, changes = [], []
    for task in TASKS:
        for clip in (3, 5, CLEAN):
            for dim in (0, 128, 64) if clip < CLEAN else (128, 64):
                made, width = study.found(task, clip, "reduce-%d" % dim if dim else ""), dim or ENCODERS["MiniLM"][1]
                rows.append(["%s, %s" % (TASKS[task][0], "C %d" % clip if clip < CLEAN else "no noise"), width, *both_scores(made),
                             naming(study, clip, TASKS[task][5], width) if clip < CLEAN else ""])
                changes += [made["recall"] - study.found(task, clip)["recall"]] if dim and clip < CLEAN else []
    return Table(scale="MiniLM; as above.", header=["", "dimensions", "recall@10", "nDCG@10", "bound on naming one"], rows=rows,
                 verdict=verdict(changes, lambda *found: "**Finding**: with fewer dimensions, recall changes by %+.3f to %+.3f: they do not help the searcher."
                                 % (min(found), max(found)) if max(found) < .02 else unknown("the rows show where fewer dimensions help."), "", ""),
                 note="The variance of an estimate is 1/C^2 for every width, so fewer dimensions help only as far as the kept directions hold more of the "
                      "similarity. They lower the bound on naming, because fewer numbers are released.")


@study.table
def maps(study):
    """Other public maps at small C"""
    rows, gains, changes = [], [], {}
    for encoder in ENCODERS:
        for kind, name in {"": "none", **MAPS}.items():
            if kind == "trained" and encoder != "MiniLM":
                continue
            cells = [study.found(task, clip, kind, encoder=encoder) for task in TASKS for clip in (3, 5)]
            rows.append(["%s, %s" % (encoder, name), *[cell for found in cells for cell in both_scores(found)]])
            plain = [study.found(task, clip, encoder=encoder) for task in TASKS for clip in (3, 5)]
            gains += [[a["recall"] - b["recall"] for a, b in zip(cells, plain)]] if kind else []
            changes[name] = changes.get(name, []) + [(b, a) for a, b in zip(cells, plain)] if kind else []
    header = ["public map"] + ["%s, C %d, %s" % (TASKS[task][0], clip, of) for task in TASKS for clip in (3, 5) for of in ("recall@10", "nDCG@10")]
    worth = ("**Finding**: an option was to raise recall by %s on both tasks at the same C. No map does (the changes are %+.3f to %+.3f), so `nvdp export --model` has none. "
             "The best map, *%s*, changes recall by %+.3f to %+.3f and nDCG by %+.3f to %+.3f.")

    def best():
        by = {name: {of: [a[of] - b[of] for b, a in pairs] for of in ("recall", "ndcg")} for name, pairs in changes.items() if pairs}
        name = max(by, key=lambda name: sum(by[name]["ndcg"]) / len(by[name]["ndcg"]))
        return (name, *(end(by[name][of]) for of in ("recall", "ndcg") for end in (min, max)))
    return Table(scale="as above. A map acts on the centered embedding, before it is scaled to norm C. *Whitened with exponent a*: the variance along each principal "
                 "direction of the public texts becomes its power 1 - a. *Trained*: a square map from a contrastive loss over batches of 512 public pairs "
                 "(duplicates and paraphrases of the train files of QQP, STS-B and MRPC), with noise on the documents alone; the epoch with the smallest loss on "
                 "pairs that are held out.", header=header, rows=rows,
                 verdict=verdict(sum(gains, []), lambda *found: worth % (number(USEFUL, 2), min(found), max(found), *best())
                                 if all(min(gain[k], gain[k + 2]) < USEFUL for gain in gains for k in (0, 1)) else unknown("the rows show where a map helps."), "", ""),
                 note="The score of a text is C times its cosine with the query, plus noise of standard deviation 1. Whitening lowers the cosines of unlike texts, "
                      "which the noise covers at C 3 to 5, and also that of the pair, which it does not.")


@study.table
def speed(study):
    """Speed: a file of one million texts"""
    one, more = (study.speed(count)["seconds"] for count in (1, 41))
    forty = more - one
    return Table(scale="MiniLM, 384 dimensions, a file of 0.8 GB whose vectors are drawn; processor time on a core with AVX2, because other programs used it too. A search "
                 "embeds the query and ranks all texts; it uses two cores if it may.",
                 header=["", "seconds of one core"], rows=[["load and check the file, first query", one if isinstance(one, Missing) else "%.1f" % one],
                                                           ["each further query", forty if isinstance(forty, Missing) else "%.2f" % (forty / 40)]],
                 verdict=verdict([forty], lambda forty: forty / 80 <= .2, "a query of an open file takes less processor time than .2 s on two cores. A single `nvdp search` of so large a file first loads and checks it, which takes seconds: Python's `shared.search` keeps it open.", "a query takes longer than .2 s on two cores."))


if __name__ == "__main__":
    study.main()
