#!/usr/bin/env python3
"""Measures releases of sentence embeddings whose map was trained without a task: `nvdp train --task none --objective distill`.

all-MiniLM-L6-v2, one sample per text, noise on both texts of a pair. The public texts are 30,000 of the train files of MRPC, QNLI, RTE, WNLI and CoLA;
no scored text is among them. STS-B: Spearman's correlation of the cosines of decoded samples with the scores of the 1,500 pairs of the dev
file. QQP: area under the ROC curve of these cosines for duplicates, the first 6,000 pairs of the dev file. SST-2: accuracy of a logistic regression that
is trained on decoded samples of 6,000 texts of the train file and scored on samples of the 872 texts of the dev file. *Plain* is the clipped embedding of
`nvdp export --model`, *principal* the same with `--reduce 64`, *trained* a run with the options that the objective implies. Means over the seeds of
the noise, and for *trained* over as many runs. The means come from the program's parameters and embeddings; the noise is drawn here. Embedding the texts and the 16 trainings took about half an hour more than the minutes below. Needs numpy, h5py,
SciPy and scikit-learn."""
import csv
import json
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "papers"))
from common import Missing, Study, Table, number, unknown, verdict
from decision import epsilon_of

CLIPS = (5, 8, 12)
DIM = 64
PUBLIC = (("MRPC", "#1 String", "#2 String"), ("QNLI", "question", "sentence"), ("RTE", "sentence1", "sentence2"), ("WNLI", "sentence1", "sentence2"))
PROTOTYPE = {"plain": {5: (.27, .62, .67), 8: (.51, .72, .67), 12: (.73, .79, .72)}, "trained": {5: (.44, .68, .66), 8: (.66, .78, .71), 12: (.76, .83, .72)},
             "clean": (.867, .871, .802)}
NAMED = 872  # texts of SST-2's dev file


class DistillStudy(Study):
    def at(self, name):
        return os.path.join(self.options.out, name)

    def vectors(self, name):
        """Returns the unit vectors of a prepared file's texts."""
        import h5py
        import numpy as np

        prepare(self)
        path = self.at(name + ".h5")
        if not os.path.exists(path):
            self.run("encode", "--model", self.options.model, "--jsonl", self.at(name + ".jsonl"), "--pool", "mean", "--max-length", 128, "--out", path)
        with h5py.File(path) as file:
            x = file["sentence_embedding"][:]
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    def parts(self, how, clip, seed, dim):
        """Returns center [D], map [p, D] and decoder [D, p] of a release."""
        import numpy as np

        if how in ("trained", "cosine"):
            run = self.at("r%g-%d%s" % (clip, seed, "-cosine" if how == "cosine" else "" if dim == DIM else "-%d" % dim))
            more = ["--cosine-weight", 1] if how == "cosine" else []
            if not os.path.exists(run + "/result.json"):
                self.run("train", "--task", "none", "--objective", "distill", "--input", self.at("pub.txt"), "--model", self.options.model, "--clip-sequence",
                         clip, "--seed", seed, "--latent-dim", dim, *more, "--out", run, "--overwrite")
            model, decoder = tensors(run + "/model/model.safetensors"), tensors(run + "/decoder.safetensors")
            return model["sentence.center"], model["sentence.map"], decoder["decoder"]
        public = self.vectors("pub")
        center = public.mean(0)
        if how == "plain":
            return center, np.eye(len(center), dtype=np.float32), np.eye(len(center), dtype=np.float32)
        values, directions = np.linalg.eigh(np.cov(public.T))
        directions = directions[:, np.argsort(-values)[:dim]].T.astype(np.float32)
        return center, directions, directions.T

    def scores(self, how, clip, dim=DIM):
        """Returns the mean scores over the seeds, of one seed for another width or weight, computed once."""
        def work():
            made = [score(self, how, clip, seed, dim) for seed in range(1, 1 + (self.options.seeds if dim == DIM and how != "cosine" else 1))]
            return {key: sum(one[key] for one in made) / len(made) for key in made[0]}
        arguments = [os.path.basename(self.options.model), self.options.seeds]
        return self.once("%s/%g%s" % (how, clip, "" if dim == DIM else "-%d" % dim), arguments, 0.05 if how in ("plain", "principal") else 0.2, work)


def tensors(path):
    """Reads a file of float32 tensors."""
    import numpy as np

    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, data = json.loads(file.read(size)), file.read()
    return {name: np.frombuffer(data[slice(*of["data_offsets"])], np.float32).reshape(of["shape"]) for name, of in header.items()
            if name != "__metadata__" and name.startswith(("sentence.", "decoder"))}


def clean(text):
    return " ".join((text or "").split())


def rows_of(study, task, split):
    with open("%s/%s/%s.tsv" % (study.options.glue, task, split), encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL if task == "QQP" else csv.QUOTE_NONE))


def prepare(study):
    """Writes the texts, and returns the labels."""
    pairs, labels = {}, {}
    for name, task, one, two, label, count in (("sts", "STS-B", "sentence1", "sentence2", "score", 1500), ("qqp", "QQP", "question1", "question2", "is_duplicate", 6000)):
        found = rows_of(study, task, "dev")[:count]
        pairs[name] = [clean(row[one]) or "." for row in found] + [clean(row[two]) or "." for row in found]
        labels[name] = [float(row[label]) for row in found]
    train = rows_of(study, "SST-2", "train")
    random.Random(0).shuffle(train)
    found = train[:6000] + rows_of(study, "SST-2", "dev")
    pairs["sst"], labels["sst"] = [clean(row["sentence"]) or "." for row in found], [int(row["label"]) for row in found]
    if os.path.exists(study.at("pub.txt")):
        return pairs, labels
    scored = {text for texts in pairs.values() for text in texts}
    public = [clean(row.get(column)) for task, *columns in PUBLIC for row in rows_of(study, task, "train") for column in columns]
    with open(study.options.glue + "/CoLA/train.tsv", encoding="utf-8") as file:
        public += [clean(line.split("\t")[-1]) for line in file]
    public = [text for text in dict.fromkeys(public) if text and text not in scored]
    random.Random(0).shuffle(public)
    pairs["pub"] = public[:30000]
    for name, texts in pairs.items():
        with open(study.at(name + ".jsonl"), "w", encoding="utf-8") as file:
            file.write("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with open(study.at("pub.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(pairs["pub"]) + "\n")
    return pairs, labels


def search(texts, queries, found, wanted):
    """Returns recall@10: texts [N], queries [N] of a pair of texts, the distinct ones among the second texts."""
    import numpy as np

    estimates = queries @ texts[found].T
    own = estimates[np.arange(len(wanted)), wanted]
    return float(((estimates > own[:, None]).sum(1) < 10).mean())


def searches(pairs, labels, name, least, count):
    """Returns the indices of the texts to be found, of the queries, and of each query's text, as experiments/search does."""
    n, index, queries = len(labels[name]), {}, {}
    for i in range(n):
        query, text = pairs[name][i], pairs[name][n + i]
        if len(index) == count and text not in index:
            continue
        index.setdefault(text, (len(index), n + i))
        if labels[name][i] >= least and query != text:
            queries.setdefault(query, (i, index[text][0]))
    return [at for _, at in index.values()], [at for at, _ in queries.values()], [text for _, text in queries.values()]


def score(study, how, clip, seed, dim):
    import numpy as np
    from scipy.stats import rankdata, spearmanr
    from sklearn.linear_model import LogisticRegression

    pairs, labels = prepare(study)
    center, map_, decoder = study.parts(how, clip, seed, dim)
    noise = np.random.default_rng(seed)
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)
    made, out = {}, {}
    for name in ("sts", "qqp", "sst"):
        mean = unit((study.vectors(name) - center) @ map_.T)
        z = clip * mean + noise.standard_normal(mean.shape, np.float32) if math.isfinite(clip) else mean
        made[name] = mean, z, unit(z @ decoder.T)
    same = {name: (made[name][2][:len(labels[name])] * made[name][2][len(labels[name]):]).sum(1) for name in ("sts", "qqp")}
    out["sts"] = float(spearmanr(same["sts"], labels["sts"])[0])
    truth, rank = np.array(labels["qqp"]) > 0, rankdata(same["qqp"])
    out["qqp"] = float((rank[truth].mean() - (truth.sum() + 1) / 2) / (~truth).sum())
    label, x = np.array(labels["sst"]), made["sst"][2]
    out["sst"] = float(LogisticRegression(max_iter=1000).fit(x[:6000], label[:6000]).score(x[6000:], label[6000:]))
    mean, z = made["sst"][0][6000:], made["sst"][1][6000:]
    out["named"] = float((np.argmax(z @ mean.T, 1) == np.arange(len(z))).mean())
    for name, least, count in (("sts", 4, 1467), ("qqp", 1, 4000)):
        texts, queries, wanted = searches(pairs, labels, name, least, count)
        mean, z, _ = made[name]
        out["recall_" + name] = search(z, mean[queries], texts, wanted)
    return out


def bound(study, clip, baseline, dim=DIM):
    made = study.measure("bound/%g-%.3g-%d" % (clip, baseline, dim), "explain", "--clip-sequence", clip, "--dim", dim, "--baseline", baseline, hours=0.001,
                         keep=["guess"])
    return made if isinstance(made, Missing) else made["guess"][0]["bound"]


def percent(value):
    return value if isinstance(value, Missing) else number(float(value), 3)


def at_most(value):
    """Formats a proven bound, rounded up."""
    return value if isinstance(value, Missing) else number(min(1.0, math.ceil(value * 1000) / 1000), 3)


def epsilon(clip):
    return "%d" % math.ceil(epsilon_of(clip))


study = DistillStudy(__file__, "One release for tasks that are not known yet", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder"),
    "seeds": (3, "number of seeds of the noise and of the training"),
})
KEYS = ("sts", "qqp", "sst")


@study.table
def similarity(study):
    """Similarity, duplicates and sentiment from samples"""
    rows, pairs = [], {"trained": [], "cosine": []}
    none = study.scores("plain", math.inf)
    rows.append(["no noise", "none"] + [cell for key, proto in zip(KEYS, PROTOTYPE["clean"]) for cell in (percent(none[key]), proto)])
    for clip in CLIPS:
        for how, called in (("plain", "plain"), ("principal", "principal"), ("trained", "trained"), ("cosine", "trained, --cosine-weight 1")):
            found = study.scores(how, clip)
            proto = PROTOTYPE.get("trained" if how == "cosine" else how, {}).get(clip, ("", "", ""))
            rows.append(["C %d, %s" % (clip, called), epsilon(clip)] + [cell for key, value in zip(KEYS, proto) for cell in (percent(found[key]), value)])
            if how in pairs:
                pairs[how] += [(found[key], value) for key, value in zip(KEYS, proto)]
    missing = any(isinstance(a, Missing) for of in pairs.values() for a, _ in of)
    lost = [clip for clip in CLIPS if not missing and study.scores("trained", clip)["sst"] < study.scores("principal", clip)["sst"]]
    above = {} if missing else {how: sum(round(float(a), 2) >= b for a, b in of) for how, of in pairs.items()}
    return Table(scale="%d seeds; one for the rows with --cosine-weight. Epsilon is at delta 1e-5 for one sample, for any two texts, rounded up. Two standard errors over texts are about .04 for STS-B, .01 for QQP and .03 for SST-2." % study.options.seeds,
                 header=["", "epsilon", "STS-B", "prototype", "QQP", "prototype", "SST-2", "prototype"], rows=rows,
                 verdict=unknown() if missing else
                 "**Finding**: rounded to two digits, *trained* reaches or exceeds the trained prototype in %d of 9 cells, and with --cosine-weight 1 in %d. "
                 "Against *principal*, which is not trained, it gains in STS-B and QQP, and loses in SST-2 at C %s."
                 % (above["trained"], above["cosine"], " and ".join(map(str, lost))),
                 note="The prototype was a program in PyTorch with 64 dimensions and 30,000 public texts; which texts, and how its SST-2 receiver was trained, is "
                      "not recorded. Here both sides of the loss are noised, and map and decoder are linear. The contrastive loss gives up directions that similarities do not need, "
                      "such as sentiment; a larger --cosine-weight keeps more of them.")


@study.table
def widths(study):
    """Widths and several samples"""
    rows = [["C %d, %d dimensions" % (clip, dim)] + [percent(study.scores("trained", clip, dim)[key]) for key in (*KEYS, "named")]
            for clip in CLIPS[:2] for dim in (32, DIM, 128)]
    found = [study.scores("trained", clip, dim)["sts"] for clip in CLIPS[:2] for dim in (32, DIM, 128)]
    return Table(scale="as above; one seed for 32 and 128 dimensions.", header=["", "STS-B", "QQP", "SST-2", "named among 872"], rows=rows,
                 verdict=verdict(found, lambda *of: "**Finding**: from 32 to 128 dimensions STS-B changes by at most %.3f at C 5 and %.3f at C 8."
                                 % (max(of[:3]) - min(of[:3]), max(of[3:]) - min(of[3:])), "", ""),
                 note="The mean of S samples of one text is a sample at clip C sqrt(S), divided by sqrt(S): its cosines, and its guarantee, are those of "
                      "that clip. Two to three samples at C 5 are as revealing as one at C 8, with the map of C 5.")


@study.table
def searching(study):
    """Search: recall@10 with a query without noise"""
    rows = []
    for clip in CLIPS:
        for how in ("plain", "trained"):
            found = study.scores(how, clip)
            rows.append(["C %d, %s" % (clip, how), percent(found["recall_sts"]), percent(found["recall_qqp"])])
    differences = [study.scores("trained", clip)[key] - study.scores("plain", clip)[key] for clip in CLIPS for key in ("recall_sts", "recall_qqp")
                   if not isinstance(study.scores("trained", clip), Missing)]
    return Table(scale="texts and queries as on the page on search (search.md).", header=["", "STS-B", "QQP"], rows=rows,
                 verdict="**Finding**: training changes recall by %+.3f to %+.3f: for search alone, release the plain embedding." % (min(differences), max(differences))
                 if differences else unknown(),
                 note="The plain embedding keeps all directions, and one side without noise averages over them. The trained map gives up directions for comparisons of two noised texts.")


@study.table
def hidden(study):
    """Texts that such a release does not hide"""
    rows, named = [], []
    for clip in CLIPS:
        found = study.scores("trained", clip)
        named.append(found["named"] if not isinstance(found, Missing) else found)
        rows.append(["C %d" % clip, epsilon(clip), percent(named[-1])] + [at_most(bound(study, clip, baseline)) for baseline in (1 / NAMED, 1e-6, 1e-12, 1e-20)])
    return Table(scale="SST-2's dev file, %d texts; trained, %d dimensions." % (NAMED, DIM),
                 header=["", "epsilon", "named among 872", "bound, baseline 1/872", "1e-6", "1e-12", "1e-20"], rows=rows,
                 verdict=verdict(named, lambda *of: of[1] > .9, "at C 8 a text among %d known ones is named: the release hides nothing from somebody who holds "
                                 "a list with the text." % NAMED, "at C 8 most texts among 872 known ones are not named."),
                 note="Named: share of samples whose text has the nearest mean among the 872. Epsilon is at delta 1e-5. Bounds are proven, on average over texts and "
                      "noise, and rounded up. The last columns are for whole texts that the attacker must write without a list. **Estimate**, not proven: the baseline is "
                      "the probability of the most probable text. At 5 bits per word a *typical* text of 4, 8 or 13 words has about 1e-6, 1e-12 or 1e-20; a common phrase has "
                      "more, so for common phrases these columns are too low.")


if __name__ == "__main__":
    study.main()
