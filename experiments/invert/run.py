#!/usr/bin/env python3
"""Measures what an attacker writes from a sample: `nvdp attack --kind invert`.

A masked language model (models/compact) reads a sample beside the text, learns public texts with their samples, and writes the texts of other
samples. Words are read off the sample by ridge regression, corrected by public texts with similar vectors; where each token has a vector, its
token is named too. The public texts with the nearest samples compete with the model's guesses, and all are changed as long as their own vectors come
closer to the sample and their words fit those that were read off it. Scores are means over the attacked texts, with 95 % intervals; beside each is
the same model with samples of other texts (it names no single tokens). If the score without noise is not clearly above it, the attacker is too weak
and shows nothing about the mechanism. The program chooses penalty, kernel and shares of the read-out on held-out public texts. Its constants (the power of the model's
probabilities, the sharpness of draws, the weight of words beside the cosine) were compared on 12 public questions of QQP, with neither them nor
their paraphrases among the known texts: the first 12 short ones of rows random.Random(5).sample(range(1000, 10000), 80). Not compared
were: that the cosine counts by the logarithm of its distance from 1, the smallest distance that counts, the floor of the numbers of words, and how
many fills a change gets."""
import collections
import csv
import math
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "papers"))
from common import Missing, Study, Table, agrees, alike, at_most, disagrees, number, unknown, write_texts
from decision import epsilon_of


study = Study(__file__, "Texts recovered from samples", {
    "glue": ("glue", "folder of GLUE's tasks"),
    "model": ("models/minilm", "encoder"),
    "prior": ("models/compact", "masked language model of the attacker"),
    "surrogate": ("models/mpnet", "encoder of an attacker who lacks the victim's"),
    "ner": ("ner", "folder of ncbi-disease and bc5cdr, words with tags"),
    "texts": (40, "attacked texts"),
    "steps": (20, "training steps of the attacker; the read-out of words needs none"),
    "search": (8, "rounds in which guesses are changed"),
})
METRICS = ("words, F1", "BLEU-4", "ROUGE-L", "exact match", "cosine")
PAIRS = (1000, 10000, 50000)
MIDDLE = 10000  # public texts where one thing is changed at a time
ALIGNED = (100, 1000, 10000)  # pairs of a public text and its vector, of the attacker without the encoder
SEEDS = (1, 2, 3)
EFFORTS = {"search-24": {"search": 24}, "steps-200": {"steps": 200}, "steps-1000": {"steps": 1000}, "own": {"steps": 1000, "search": 24}}  # "own": the program's
MORE_TEXTS = 100
ENTITIES = "entities, recall"
ENTITY_METRICS = (ENTITIES, "words, F1", "BLEU-4", "cosine")
ENTITY_PAIRS = 5000
ENTITY_CLIPS = {"ncbi-disease": (5, 12), "bc5cdr": ()}  # of releases
WORDS = 12  # of a sentence with entities: all of its tokens are among those that the program guesses, 32
AIM = 0.5  # F1 of words without noise
CLIPS, RELEASE_PAIRS = (3, 5, 8, 12), 10000  # of the releases of sentence embeddings
TOKENS = 16  # of a text, in the second table
ATTACKED_ROWS = 1000  # no question of these rows of QQP is public; paraphrases in other rows are
STEP_HOURS = 1e-4  # of one training step of 32 questions, with one vector each
PAIR_HOURS = 2e-6  # of the encoding of one public question


def read(study, path):
    with open(os.path.join(study.options.glue, path), encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def short(rows, *columns):
    """Returns the distinct texts of at most 24 words, in order."""
    found = dict.fromkeys((row[column] or "").strip() for column in columns for row in rows)
    return [text for text in found if 0 < len(text.split()) < 25]


def questions(study, public, count):
    """Writes questions, each in one line, and returns the file: the first ones of QQP to attack; others of QQP and QNLI to learn from."""
    path = os.path.join(study.options.out, "%s-%d.txt" % ("public" if public else "attacked", count))
    if study.options.hours >= 0 and not os.path.exists(path):
        rows = read(study, "QQP/train.tsv")
        found = short(rows[:ATTACKED_ROWS], "question1")
        if public:
            found = short(rows[ATTACKED_ROWS:] + read(study, "QQP/dev.tsv"), "question1", "question2")
            found += [text for name in ("train", "dev", "test") for text in short(read(study, "QNLI/%s.tsv" % name), "question")]
            known = {alike(row[column] or "") for row in rows[:ATTACKED_ROWS] for column in ("question1", "question2")}
            found = [text for text in dict.fromkeys(found) if alike(text) not in known]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in found[:count])
    return "{out}/" + os.path.basename(path)


def tagged(study, corpus, split):
    """Returns the different sentences of a file, each a list of (word, tag)."""
    with open(os.path.join(study.options.ner, corpus, split + ".tsv"), encoding="utf-8") as file:
        blocks = file.read().strip().split("\n\n")
    return list(dict.fromkeys(tuple(tuple(line.split("\t")) for line in block.split("\n")) for block in blocks))


def plain(sentence):
    return " ".join(word for word, _ in sentence)


def sentences(study, corpus):
    """Writes the sentences with entities to attack, with and without tags, and public ones of both corpora; returns the three files."""
    names = ["entities-%s.conll" % corpus, "entities-%s.txt" % corpus, "entities-public-%d.txt" % ENTITY_PAIRS]
    paths = [os.path.join(study.options.out, name) for name in names]
    if study.options.hours >= 0 and not all(map(os.path.exists, paths)):
        secret = {of: [sentence for sentence in tagged(study, of, "test") if len(sentence) <= WORDS and any(tag != "O" for _, tag in sentence)][:study.options.texts]
                  for of in ENTITY_CLIPS}
        known = {alike(plain(sentence)) for of in secret.values() for sentence in of}
        public = []
        for of in ENTITY_CLIPS:
            found = dict.fromkeys(plain(sentence) for sentence in tagged(study, of, "train") if len(sentence) < 25)
            public += [text for text in found if alike(text) not in known][:ENTITY_PAIRS // len(ENTITY_CLIPS)]
        texts = ["\n".join("\n".join(map("\t".join, sentence)) + "\n" for sentence in secret[corpus]), "".join(plain(sentence) + "\n" for sentence in secret[corpus]),
                 "".join(text + "\n" for text in public)]
        for path, text in zip(paths, texts):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    return ["{out}/" + name for name in names]


def invert(study, name, pairs, models, *arguments, steps="{steps}", search="{search}"):
    """Attacks; trains `models` models (a step takes twice as long with a vector per token)."""
    count = int(str(steps).format(**vars(study.options)))
    return study.measure(name, "attack", "--kind", "invert", "--prior", "{prior}", "--public-limit", pairs, "--steps", steps, "--search", search, "--seeds", 1,
                         *arguments, hours=models * STEP_HOURS * count * (models - 1) + PAIR_HOURS * pairs,
                         keep=["scores", "weak", "holds", "texts"])


def score_of(found, sees, metric=METRICS[0]):
    """Returns (value, interval) of a score, or None."""
    return next(((score["value"], score["interval"]) for score in found["scores"] if (score["observed"], score["metric"]) == (sees, metric)), None)


def cell(found, sees, metric):
    if isinstance(found, Missing):
        return found
    score = score_of(found, sees, metric)
    return "" if score is None else "%s (%s to %s)" % tuple(("%.3f" % value).replace("0.", ".", 1) for value in (score[0], *score[1]))


def nearest(study, pairs, public, attacked):
    """Returns the mean F1 of words of the public text with the nearest embedding: what the attacker has without writing anything."""
    def work():
        import numpy as np

        texts = []
        for path in (public, attacked):
            with open(path.format(out=study.options.out), encoding="utf-8") as file:
                texts.append(file.read().splitlines())
        vectors = []
        for name, of in zip(("public-%d" % pairs, "attacked"), texts):
            path = os.path.join(study.options.out, name)
            write_texts(path + ".jsonl", of)
            vectors.append(study.embed(study.options.model, path + ".jsonl", path + ".h5"))
        best = np.argmax(vectors[1] @ vectors[0].T, axis=1)
        return {"f1": float(np.mean([overlap(text, texts[0][index]) for text, index in zip(texts[1], best)]))}
    return study.once("nearest/%d" % pairs, [str(pairs), os.path.basename(study.options.model), str(study.options.texts)], PAIR_HOURS * pairs, work)


def overlap(text, guess):
    """Returns the F1 of the words and punctuation marks of a guess."""
    one, two = (collections.Counter(re.findall(r"\w+|[^\w\s]", of.lower())) for of in (text, guess))
    return 2 * sum((one & two).values()) / (sum(one.values()) + sum(two.values()))


def rows_of(found, first, names, metrics=METRICS):
    """Returns a row of the scores for each (name, what is observed); one Missing stands for all scores."""
    if isinstance(found, Missing):
        return [[first, name, found, *[""] * (len(metrics) - 1)] for name, _ in names]
    return [[first, name, *(cell(found, observed, metric) for metric in metrics)] for name, observed in names]


def attack_vectors(study, name, pairs, *arguments, texts=None, **more):
    """Attacks the un-noised vectors of questions."""
    public, attacked = questions(study, True, pairs), questions(study, False, texts or study.options.texts)
    return invert(study, name, pairs, 2, "--posteriors", "{model}", "--public", public, "--attacked", attacked, *arguments, **more)


def missing_in(found):
    return any(isinstance(one, Missing) for one in found)


def apart(one, two):
    """Returns whether the interval of score `one` lies above that of `two`."""
    return one[1][0] > two[1][1]


@study.table
def noiseless(study):
    "How much of a question does the attacker recover from its sentence embedding without noise?"
    rows, known = [], []
    for pairs in PAIRS:
        found = attack_vectors(study, "noiseless/%d" % pairs, pairs)
        rows += rows_of(found, pairs, (("embedding", "release"), ("another one", "prior")))
        alone = nearest(study, pairs, questions(study, True, pairs), questions(study, False, study.options.texts))
        rows.append([pairs, "the nearest public text alone", alone if isinstance(alone, Missing) else number(alone["f1"]), *[""] * (len(METRICS) - 1)])
        if not isinstance(found, Missing):
            known.append((pairs, found))
    mapped = {aligned: attack_vectors(study, "aligned/%d" % aligned, MIDDLE, "--surrogate", "{surrogate}", "--aligned", aligned) for aligned in ALIGNED}
    for aligned, found in mapped.items():
        rows += rows_of(found, MIDDLE, (("embedding, without the encoder, %s pairs" % number(aligned), "release"), ("another one", "prior")))
    scale = ("%s, mean of the token states, 384 dimensions; questions of QQP and QNLI, at most 32 tokens, %s attacked; %s training steps, %s rounds. "
             "Two of the attacked questions have a paraphrase among the public ones, by QQP's labels. Without the encoder: the attacker has %s, and the vectors of so many of the public texts, "
             "from which it learns a linear map between both encoders' vectors; a mapped vector is not the text's, so no cosine is computed." % (
                 study.options.model, study.options.texts, study.options.steps, study.options.search, study.options.surrogate))
    header = ["public texts", "the model sees", *METRICS]
    if not known:
        return Table(scale, header, rows, unknown())
    pairs, best = known[-1]
    right, prior = (score_of(best, sees)[0] for sees in ("release", "prior"))
    said = "at %s public texts the F1 of words is %.2f, against %.2f with another one%s." % (
        number(pairs), right, prior, "" if isinstance(alone, Missing) else " and %.2f of the nearest public text alone" % alone["f1"])
    weak = " At %s public texts the attacker is too weak." % " and ".join(number(n) for n, found in known if found["weak"]) if any(found["weak"] for _, found in known) else ""
    text = agrees(said) if right >= AIM else disagrees("the aim is an F1 of %.1f: %s%s" % (AIM, said, weak))
    return Table(scale, header, rows, " ".join(filter(None, (text, without_encoder(known, mapped), stronger(efforts(study))))))


def without_encoder(known, mapped):
    """Says what the attacker without the encoder recovers."""
    base, found = dict(known).get(MIDDLE), {aligned: one for aligned, one in mapped.items() if not isinstance(one, Missing)}
    if base is None or not found:
        return ""
    values = ", ".join("%.2f with %s pairs%s" % (score_of(one, "release")[0], number(aligned), "" if apart(score_of(one, "release"), score_of(one, "prior")) else
                                                 " (not clearly above another one's %.2f)" % score_of(one, "prior")[0]) for aligned, one in found.items())
    return "Without the encoder it is %s, against %.2f with it, at %s public texts." % (values, score_of(base, "release")[0], number(MIDDLE))


def efforts(study):
    """Returns {title: found} of the attacker at MIDDLE public texts: as on this page, and with more steps and rounds."""
    default = {"steps": study.options.steps, "search": study.options.search}
    attacks = {"noiseless/%d" % MIDDLE: {}, **{"effort/" + name: change for name, change in EFFORTS.items()}}
    return {"%s steps, %s rounds" % tuple(map(number, {**default, **change}.values())): attack_vectors(study, name, MIDDLE, **change) for name, change in attacks.items()}


def stronger(found):
    """Says whether more steps or rounds make the attacker stronger."""
    if missing_in(found.values()):
        return ""
    (_, page), *others = found.items()
    clear = ["%s (%.2f against %.2f) with %s" % (metric, score_of(one, "release", metric)[0], score_of(page, "release", metric)[0], title)
             for metric in METRICS for title, one in others if apart(score_of(one, "release", metric), score_of(page, "release", metric))]
    title, best = max(((title, score_of(one, "release")) for title, one in others), key=lambda one: one[1][0])
    base = score_of(page, "release")
    values = "it is %.2f at %s public texts, at most %.2f with more (%s)" % (base[0], number(MIDDLE), best[0], title)
    said = ("**This page's attacker is weaker in F1 than the program's own**: %s, and the intervals are disjoint." if apart(best, base) else
            "More steps or rounds do not clearly raise F1: %s, and the intervals overlap.") % values
    return said + (" Clearly higher: %s." % ", ".join(clear) if clear else "")


@study.table
def effort(study):
    "Is the attacker stronger with more training steps, rounds, seeds or texts?"
    found = efforts(study)
    seeds = [attack_vectors(study, "noiseless/%d" % MIDDLE if seed == 1 else "seeds/%d" % seed, MIDDLE, *(() if seed == 1 else ("--seed", seed))) for seed in SEEDS]
    more = attack_vectors(study, "texts/%d" % MORE_TEXTS, MIDDLE, texts=MORE_TEXTS)
    rows = [[title, *(cell(one, "release", metric) for metric in METRICS), cell(one, "prior", METRICS[0])] for title, one in {**found, "%d texts" % MORE_TEXTS: more}.items()]
    rows.append(["seeds %s: mean (standard deviation)" % ", ".join(map(str, SEEDS)), *(spread(seeds, "release", metric) for metric in METRICS),
                 spread(seeds, "prior", METRICS[0])])
    scale = ("As in the table above, at %s public texts. The program's own: 24 rounds, three epochs and 1,000 steps or more. %d texts, and seeds: %s steps, %s rounds." % (
        number(MIDDLE), MORE_TEXTS, study.options.steps, study.options.search))
    header = ["attacker", *METRICS, METRICS[0] + ", another one"]
    if missing_in([*found.values(), *seeds, more]):
        return Table(scale, header, rows, unknown())
    values, (low, high) = [score_of(one, "release")[0] for one in seeds], score_of(found[next(iter(found))], "release")[1]
    best, spread_of = max(score_of(one, "release")[0] for one in found.values()), statistics.stdev(values)
    return Table(scale, header, rows, "%s All attack the same texts: the best F1 lies %.1f standard deviations above the mean of %d seeds, %.2f (standard deviation %.3f); "
                 "the interval over the texts is %.2f wide. With %d texts F1 is %.2f." % (
                     stronger(found), (best - statistics.mean(values)) / spread_of, len(SEEDS), statistics.mean(values), spread_of, high - low, MORE_TEXTS,
                     score_of(more, "release")[0]))


def spread(found, sees, metric):
    """Formats the mean and standard deviation of a score over runs."""
    if missing_in(found):
        return next(one for one in found if isinstance(one, Missing))
    values = [score_of(one, sees, metric)[0] for one in found]
    return "%s (%s)" % (number(statistics.mean(values)), number(statistics.stdev(values)))


def verdict(title, found):
    """Says what the scores of words show about a mechanism."""
    scores = "F1 of words is %.2f, without noise %.2f, with another one %.2f." % tuple(score_of(found, sees)[0] for sees in ("release", "states", "prior"))
    if found["weak"]:
        return "**Shows nothing** about %s: this attacker is too weak, without noise too; %s" % (title, scores)
    more = {metric: score_of(found, "release", metric)[1][0] > score_of(found, "prior", metric)[1][1] for metric in (METRICS[0], "cosine")}
    near = "" if more[METRICS[0]] or not more["cosine"] else " But samples show something of the text: guesses have cosine %.2f with it, %.2f with another one." % tuple(
        score_of(found, sees, "cosine")[0] for sees in ("release", "prior"))
    return "**Words are %s** from samples of %s: %s%s" % ("recovered" if more[METRICS[0]] else "not recovered", title, scores, near)


def train(study, name, *arguments):
    out = "{out}/" + name
    return study.measure("train/" + name, "train", "--task", "sst2", "--data", "{glue}/SST-2", "--seed", 1, "--max-length", 48, "--limit-train", 4000, "--lr", 1e-4,
                         "--out", out, *arguments, hours=0.1, keep=["test.metrics.accuracy.mean"]), out


@study.table
def mechanisms(study):
    "How much of a text does the attacker recover from a sample?"
    certified = ["--method", "nvdp", "--from-base", "{out}/base", "--freeze-layers", 6, "--epochs", 3, "--weights", "constant", "--row-index", "trained",
                 "--lambda", 0, "--stdev-tau", 1, "--length-policy", "hidden", "--pool", "first", "--latent-dim", 32, "--lr-bottleneck", 2e-3, "--lr-head", 2e-3,
                 "--patience", 0]
    train(study, "base", "--model", "{model}", "--method", "base", "--epochs", 1)
    runs = [("published NVDP, lambda .001", *train(study, "published", "--model", "{model}", "--method", "nvdp", "--epochs", 1, "--lambda", 1e-3)),
            *(("certified, C = %d" % clip, *train(study, "certified-%d" % clip, *certified, "--clip-sequence", clip)) for clip in (8,))]
    rows, said = [], []
    for title, _, run in runs:
        found = invert(study, "mechanisms/" + os.path.basename(run), 1000, 3, run, "--public", "{glue}/SST-2/train.tsv", "--limit", "{texts}",
                       "--tokens", TOKENS)
        rows += [[title, sees, *(cell(found, observed, metric) for metric in METRICS)]
                 for sees, observed in (("sample", "release"), ("no noise", "states"), ("another one", "prior"))]
        if not isinstance(found, Missing):
            said.append(verdict(title, found))
    note = ("Certified, C = 8, has epsilon %.0f at delta 1e-5: it limits no attacker. Its guesses have almost the vector of the text, as the cosine says, but not its words: "
            "the search found other words with almost this vector." % math.ceil(epsilon_of(8)))
    scale = "%s on SST-2 (4,000 rows), 1,000 public texts, %s dev texts attacked, the first %d tokens of each; %s training steps, %s rounds." % (
        study.options.model, study.options.texts, TOKENS, study.options.steps, study.options.search)
    header = ["method", "the model sees", *METRICS]
    missing = any(isinstance(item, Missing) for row in rows for item in row)
    return Table(scale, header, rows, unknown() if missing else " ".join(said), note)


def certified(clip):
    return "C %d, epsilon %.1f" % (clip, math.ceil(10 * epsilon_of(clip)) / 10)


def export(study, name, clip, public, attacked):
    """Releases a sample of the embedding of each attacked text, centered by the public ones; returns the run and the shared file."""
    run, file = "{out}/release-" + name, "{out}/release-%s.h5" % name
    study.measure("export/" + name, "export", run, "--model", "{model}", "--center", public, "--clip-sequence", clip, "--input", attacked, "--budget-samples", 100,
                  "--out", file, hours=0.02, keep=["privacy.bound.clip_sequence"])
    return run, file


def proven(found):
    """Formats the bound on the attackers' exact matches."""
    if isinstance(found, Missing):
        return found
    return at_most(next(score["bound"] for score in found["scores"] if (score["observed"], score["metric"]) == ("release", "exact match")))


@study.table
def releases(study):
    "Are words recovered from a certified release of sentence embeddings?"
    rows, said = [], []
    public, attacked = questions(study, True, RELEASE_PAIRS), questions(study, False, study.options.texts)
    for clip in CLIPS:
        run, file = export(study, str(clip), clip, public, attacked)
        found = invert(study, "releases/%d" % clip, RELEASE_PAIRS, 3, run, "--data", attacked, "--public", public, "--shared", file)
        title = certified(clip)
        rows += [[*row, proven(found) if row[1] == "sample" else ""]
                 for row in rows_of(found, title, (("sample", "release"), ("no noise", "states"), ("another one", "prior")))]
        if not isinstance(found, Missing):
            said.append(verdict(title, found))
    scale = "%s, mean of the token states, centered, scaled to norm C, one sample of each question; %s public questions, %s attacked ones; %s training steps, %s rounds." % (
        study.options.model, format(RELEASE_PAIRS, ","), study.options.texts, study.options.steps, study.options.search)
    note = ("The encoder is public: the attacker makes samples of the public questions, and compares guesses with the sample by the release's own map. "
            "Proven at most: how often any attacker can name the whole text, averaged over these texts and the noise, if it knows that each of them is equally likely; "
            "without a sample it is right in 1 of %s cases. The bound covers exact match, not single words. Whoever has a list of texts that contains the text knows more: see [named](search.md)." % study.options.texts)
    missing = any(isinstance(item, Missing) for row in rows for item in row)
    return Table(scale, ["release", "the model sees", *METRICS, "proven at most"], rows, unknown() if missing else " ".join(said), note)


def shared_words(study, corpus):
    """Returns the share of the entities' words in the attacked sentences that public sentences have too."""
    _, _, public = sentences(study, corpus)

    def work():
        with open(public.format(out=study.options.out), encoding="utf-8") as file:
            known = set(file.read().lower().split())
        with open(os.path.join(study.options.out, "entities-%s.conll" % corpus), encoding="utf-8") as file:
            pairs = [line.rstrip("\n").split("\t") for line in file if line.strip()]
        words = [word.lower() for word, tag in pairs if tag != "O"]
        return {"share": sum(word in known for word in words) / len(words), "words": len(words)}
    return study.once("entities/words/" + corpus, [corpus, str(study.options.texts)], 0, work)


@study.table
def entities(study):
    "Are names of diseases and chemicals recovered from sentences?"
    rows, said, counts, header = [], [], [], ["sentences", "vectors", "the model sees", *ENTITY_METRICS]
    for corpus, clips in ENTITY_CLIPS.items():
        secret, lines, public = sentences(study, corpus)
        words = shared_words(study, corpus)
        cases = [("without noise", invert(study, "entities/" + corpus, ENTITY_PAIRS, 2, "--posteriors", "{model}", "--public", public, "--attacked", secret))]
        for clip in clips:
            run, file = export(study, "%s-%d" % (corpus, clip), clip, public, lines)
            cases.append((certified(clip), invert(study, "entities/%s-%d" % (corpus, clip), ENTITY_PAIRS, 3, run, "--data", secret, "--public", public, "--shared", file)))
        for title, found in cases:
            rows += [[corpus, *row] for row in rows_of(found, title, (("sample" if title in map(certified, clips) else "embedding", "release"), ("another one", "prior")),
                                                       ENTITY_METRICS)]
            if not isinstance(found, Missing):
                right, prior = (score_of(found, sees, ENTITIES) for sees in ("release", "prior"))
                said.append("**Entities are %s** from %s, %s: recall is %.2f, with another one %.2f." % (
                    "recovered" if apart(right, prior) else "not recovered", corpus, title, right[0], prior[0]))
        attacked = next((found["texts"] for _, found in cases if not isinstance(found, Missing)), None)
        if attacked is not None and not isinstance(words, Missing):
            counts.append("%s, %d attacked sentences with %d words of entities, of which %.0f %% are also in public sentences" % (
                corpus, attacked, words["words"], 100 * words["share"]))
    scale = ("%s; sentences of test.tsv with an entity, at most %d words, and %s public sentences of train.tsv of both corpora, at most 24 words; %s training steps, %s rounds. %s." % (
        study.options.model, WORDS, number(ENTITY_PAIRS), study.options.steps, study.options.search, "; ".join(counts)))
    return Table(scale, header, rows, " ".join(said) if said else unknown(),
                 "Recall: the share of the words in entities (diseases; in bc5cdr also chemicals), hyphens included, that the guess has. Releases are as in the table above.")


if __name__ == "__main__":
    study.main()
