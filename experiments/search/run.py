#!/usr/bin/env python3
"""Measures the search in a file of an encoder's own sentence embeddings, released without training.

How well does a searcher find the duplicate of a question, or the paraphrase of a sentence, in a file from `nvdp export --model`? The searcher's query
has no noise unless a row says so. QQP: the first rows of the dev file whose second questions are 4,000 different ones; each first question of a
duplicate pair searches its second. STS-B: the second sentences of the dev file; each first sentence of a pair with a score of 4 or more searches its
second. The center and the principal directions come from 2,000 texts of the train file. Recall is the share of queries whose text is among the first
10 hits; nDCG is the mean of 1/log2(1 + rank) of these, 0 for the others. The directions of the means
are those of the program's files with hardly any noise (C 1000); the noise of the rows is drawn on them, and one row is the program's own. Bound: the proven bound on naming the right one of as many equally likely
texts from one sample, on average. Whoever guesses a text can check the guess by such a search, as far as the noise allows."""
import json
import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "papers"))
from common import Missing, Study, Table, clean, glue_rows, number, searched, unknown, vectors, verdict

CLIPS = (3, 5, 8, 12)
CLEAN = 1000  # noise of a thousandth of the norm: as good as none
TOP = 10
DIRECTIONS = 128  # the leading 64 of them are those of --reduce 64
PUBLIC = 2000
WANTED = {3: .33, 5: .81, 8: .97, 12: .99}  # recall of a prototype on QQP
WANTED_BOTH = {3: .01, 5: .04, 8: .32, 12: .89}
TASKS = {"qqp": ("QQP", "question1", "question2", "is_duplicate", 1, 4000), "stsb": ("STS-B", "sentence1", "sentence2", "score", 4, 1467)}


class SearchStudy(Study):
    """A study that also runs and reads exports and searches."""

    def found(self, task, clip, reduce=0, both=False):
        """Returns the mean recall and ndcg over the seeds of the noise, computed once."""
        name = "%s/%g%s%s" % (task, clip, "-%d" % reduce if reduce else "", "-both" if both else "")
        return self.once(name, [self.options.seeds], 0.05, lambda: self.simulate(task, clip, reduce, both))

    def once(self, name, arguments, hours, work):
        return super().once(name, [os.path.basename(self.options.model), PUBLIC, *arguments], hours, work)

    def export(self, task, texts, clip, reduce=0):
        out = "%s/%s-%g-%d-%s.safetensors" % (self.options.out, task, clip, reduce, texts)
        if not os.path.exists(out):
            options = ["--reduce", reduce] if reduce else []
            self.run("export", "%s/%s-%g-%d" % (self.options.out, task, clip, reduce), "--model", self.options.model, "--center",
                     "%s/%s-public.txt" % (self.options.out, task), "--clip-sequence", clip, *options, "--input",
                     "%s/%s-%s.jsonl" % (self.options.out, task, texts), "--out", out, "--no-ledger", "--measure-texts", 0, "--insecure-seed", 1)
        return out

    def simulate(self, task, clip, reduce, both):
        """Draws noise of standard deviation 1 on means of norm C, from directions that are exported with hardly any noise."""
        import numpy as np

        wanted = prepare(self.options, task)
        texts, queries = vectors(self.export(task, "texts", CLEAN)), vectors(self.export(task, "queries", CLEAN))
        if reduce:
            directions = principal(self.export(task, "few", CLEAN, DIRECTIONS), texts.shape[1])[:reduce]
            texts, queries = texts @ directions.T, queries @ directions.T
        unit = [clip * x / np.linalg.norm(x, axis=1, keepdims=True) for x in (texts, queries)]
        made = []
        for seed in range(self.options.seeds if clip < CLEAN else 1):
            noise = np.random.default_rng(seed)
            x, q = (m + noise.standard_normal(m.shape, np.float32) if noisy else m for m, noisy in zip(unit, (clip < CLEAN, both)))
            made.append(scores(ranks_of(x, q, wanted)))
        return {key: float(np.mean([scores[key] for scores in made])) for key in made[0]}

    def program(self, task, clip):
        """Returns the scores of the program: one export, one search."""
        def work():
            wanted = prepare(self.options, task)
            found = self.run("search", self.export(task, "texts", clip), "--queries", "%s/%s-queries.txt" % (self.options.out, task), "--top", TOP, "--model",
                             self.options.model)
            hits = [[hit["text"] for hit in query["hits"]] for query in found["queries"]]
            return scores([row.index(text) + 1 if text in row else None for row, text in zip(hits, wanted)])
        return self.once("%s/%g-program" % (task, clip), [1], 0.2, work)


def prepare(options, task):
    """Writes the public texts, the texts and the queries; returns the index of each query's text."""
    folder, one, two, label, least, count = TASKS[task]
    public = {clean(row[one]): None for row in glue_rows(options.glue, folder, "train")}
    index, queries = searched(((clean(row[one]), clean(row[two]), float(row[label])) for row in glue_rows(options.glue, folder, "dev")), least, count)
    path = "%s/%s-" % (options.out, task)
    with open(path + "public.txt", "w", encoding="utf-8") as file:
        file.write("\n".join([text for text in public if text and text not in index][:PUBLIC]) + "\n")
    for name, texts in (("texts", index), ("queries", queries), ("few", list(index)[:2])):
        with open(path + name + ".jsonl", "w", encoding="utf-8") as file:
            file.write("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with open(path + "queries.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(queries) + "\n")
    return list(queries.values())


def scores(ranks):
    found = [rank for rank in ranks if rank is not None and rank <= TOP]
    return {"queries": len(ranks), "recall": len(found) / len(ranks), "ndcg": sum(1 / math.log2(1 + rank) for rank in found) / len(ranks)}


def principal(path, width):
    """Reads the principal directions of the public texts, which a file states."""
    import numpy as np

    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        metadata = json.loads(file.read(size))["__metadata__"]
    parts = [bytes.fromhex(metadata["map_%d" % k][4:]) for k in range(sum(name.startswith("map_") for name in metadata))]
    return np.frombuffer(b"".join(parts), ">f2").astype(np.float32).reshape(-1, width)


def ranks_of(texts, queries, wanted):
    import numpy as np

    estimates = queries @ texts.T
    own = estimates[np.arange(len(wanted)), wanted]
    return (1 + (estimates > own[:, None]).sum(1)).tolist()


def bound(study, clip, texts, dim):
    """Returns the bound on naming one of so many texts."""
    made = study.measure("bound/%g-%d-%d" % (clip, texts, dim), "explain", "--clip-sequence", clip, "--dim", dim, "--baseline", 1 / texts, hours=0.001,
                         keep=["guess"])
    return made if isinstance(made, Missing) else made["guess"][0]["bound"]


def percent(value):
    return value if isinstance(value, Missing) else number(float(value), 3)


study = SearchStudy(__file__, "Search in a release without training", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder; models/mpnet is the larger one, with its own --records and --page"),
    "width": (384, "width of the encoder"),
    "seeds": (3, "number of seeds of the noise"),
})


def by_clip(study, task):
    rows, clean_scores = [], study.found(task, CLEAN)
    for clip in CLIPS:
        made, both = study.found(task, clip), study.found(task, clip, both=True)
        rows.append(["C %d" % clip, percent(made["recall"]), percent(made["ndcg"]), percent(both["recall"]), percent(both["ndcg"]),
                     percent(bound(study, clip, TASKS[task][5], study.options.width))])
    rows.append(["no noise", percent(clean_scores["recall"]), percent(clean_scores["ndcg"]), "", "", ""])
    return rows


HEADER = ["", "recall@10", "nDCG@10", "recall@10, query noised too", "nDCG@10, query noised too", "bound on naming one"]


@study.table
def qqp(study):
    """QQP: each question finds its duplicate among 4,000 questions"""
    rows = by_clip(study, "qqp")
    rows = [row + [WANTED.get(clip, .993), WANTED_BOTH.get(clip, "")] for row, clip in zip(rows, (*CLIPS, CLEAN))]
    measured = [study.found("qqp", clip)["recall"] for clip in CLIPS]
    program = study.program("qqp", 5)
    return Table(scale="all-MiniLM-L6-v2, %d seeds of the noise, one sample per text; about 1,500 queries, so two standard errors over queries are at most .026." % study.options.seeds,
                 header=HEADER + ["prototype, recall", "prototype, both noised"], rows=rows,
                 verdict=verdict(measured, lambda *found: all(a > WANTED[clip] - .05 for a, clip in zip(found, CLIPS)),
                                 "recall is at most .05 below that of the prototype at each C.", "recall is below the prototype's."),
                 note="One export and one search of the program at C 5: recall@10 %s, nDCG@10 %s." % (percent(program["recall"]), percent(program["ndcg"])))


@study.table
def stsb(study):
    """STS-B: each sentence finds its paraphrase among 1,467 sentences"""
    rows = by_clip(study, "stsb")
    measured = [study.found("stsb", clip)["recall"] for clip in CLIPS]
    return Table(scale="as above.", header=HEADER, rows=rows,
                 verdict=verdict(measured, lambda *found: all(a < b for a, b in zip(found, found[1:])), "recall rises with C.",
                                 "recall does not rise with C."))


@study.table
def reduced(study):
    """Fewer dimensions: principal directions of public texts (`--reduce`)"""
    rows = []
    for task in TASKS:
        for clip in (3, 5):
            for dim in (0, 128, 64):
                made = study.found(task, clip, dim)
                rows.append(["%s, C %d" % (TASKS[task][0], clip), dim or study.options.width, percent(made["recall"]), percent(made["ndcg"]),
                             percent(bound(study, clip, TASKS[task][5], dim or study.options.width))])
        rows += [["%s, no noise" % TASKS[task][0], dim, percent(study.found(task, CLEAN, dim)["recall"]), percent(study.found(task, CLEAN, dim)["ndcg"]), ""]
                 for dim in (128, 64)]
    measured = [study.found(task, clip, dim)["recall"] - study.found(task, clip)["recall"] for task in TASKS for clip in (3, 5) for dim in (128, 64)
                if not isinstance(study.found(task, clip, dim), Missing) and not isinstance(study.found(task, clip), Missing)]
    return Table(scale="as above.", header=["", "dimensions", "recall@10", "nDCG@10", "bound on naming one"], rows=rows,
                 verdict="**Finding**: with fewer dimensions, recall changes by %+.3f to %+.3f: they do not help the searcher." % (min(measured), max(measured))
                 if measured and max(measured) < .02 else unknown("the rows show where fewer dimensions help."),
                 note="The variance of an estimate is 1/C^2 for every width, so fewer dimensions help only as far as the kept directions hold more of the "
                      "similarity. They lower the bound on naming, because fewer numbers are released.")


if __name__ == "__main__":
    study.main()
