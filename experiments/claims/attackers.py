"""Attackers and receivers of samples, in numpy. Each knows the defense, and learns from public texts and their samples.

A text has one row (its sentence embedding) or one row per token; lengths has the number of rows of each text."""
import collections

import numpy as np

BLOCK = 2000  # rows of a product at a time


def named(samples, vectors, lengths, log_density):
    """Returns the share of texts that their samples name: the likeliest text of the same number of rows, all being equally likely."""
    right, start = 0, np.concatenate([[0], np.cumsum(lengths)])
    for length in np.unique(lengths):
        texts = np.flatnonzero(lengths == length)
        rows = start[texts][:, None] + np.arange(length)
        for i, text in enumerate(texts):
            likelihood = log_density(samples[rows[i]], vectors[rows]).sum(1)
            right += likelihood[i] == likelihood.max() and (likelihood == likelihood.max()).sum() == 1
    return right / len(lengths)


def member_scores(samples, vectors, shared, public, lengths, log_density, disjoint):
    """Returns for each text the log likelihood ratio of "its sample is one of the shared file" and "the file has samples of public texts alone".

    shared: which texts' samples are in the file. public: rows of public texts. lengths: rows per text of both. The samples have the density
    p(z | text). The ratio is the mean over the samples with as many rows of p(z | text) / mean p(z | public text). If no public text has as many
    rows, the texts themselves stand in. If no sample has, the text is not in the file. disjoint: two texts never have the same sample, so that
    the likeliest sample decides."""
    scores, start = np.full(len(lengths[0]), -np.inf), [np.concatenate([[0], np.cumsum(each)]) for each in lengths]
    for length in np.unique(lengths[0]):
        texts, others = (np.flatnonzero(each == length) for each in lengths)
        rows, references = (first[which][:, None] + np.arange(length) for first, which in zip(start, (texts, others)))
        ratios, rivals = [], public[references] if len(others) else vectors[rows]
        for i in np.flatnonzero(shared[texts]):
            found = log_density(samples[rows[i]], vectors[rows]).sum(1)
            ratios.append(found if disjoint else found - log_mean(log_density(samples[rows[i]], rivals).sum(1)))
        if ratios:
            scores[texts] = np.max(ratios, 0) if disjoint else log_mean(np.array(ratios))
    return scores


def log_mean(logs):
    """Returns the log of the mean of exp(logs) over the first axis."""
    largest = logs.max(0)
    return largest + np.log(np.exp(logs - largest).mean(0))


def area(members, others):
    """Returns the area under the ROC curve: how often a member's score is higher than another text's; ties count half."""
    others = np.sort(others)
    return float((np.searchsorted(others, members) + np.searchsorted(others, members, "right")).mean() / (2 * len(others)))


def found_at(members, others, rate):
    """Returns the share of members whose scores are higher than all but at most a share `rate` of the other texts' scores."""
    return float((members > np.sort(others)[-1 - int(rate * len(others))]).mean())


def pooled(rows, lengths):
    """Returns the mean of the rows of each text."""
    if len(rows) == len(lengths):
        return rows
    return np.add.reduceat(rows, np.concatenate([[0], np.cumsum(lengths)[:-1]])) / np.asarray(lengths)[:, None]


def standardized(fit, *others):
    """Scales each dimension by the mean and the deviation of the first array, and adds a column of ones."""
    mean, deviation = fit.mean(0), fit.std(0)
    deviation[deviation == 0] = 1
    return [np.hstack([(x - mean) / deviation, np.ones((len(x), 1))]) for x in (fit, *others)]


def split(rows, count):
    return rows[:-count], rows[-count:]


def without_common(sets, common=50):
    """Removes the most frequent words of the first list of sets from all sets of both lists: every guess has these words right."""
    counts = collections.Counter(word for found in sets[0] for word in found)
    removed = {word for word, _ in counts.most_common(common)}
    return [[found - removed for found in each] for each in sets]


def f1(guesses, truths):
    """Returns the micro F1 of sets of words."""
    right, all_ = sum(len(a & b) for a, b in zip(guesses, truths)), sum(map(len, guesses)) + sum(map(len, truths))
    return 2 * right / all_ if all_ else 0.0


def read_words(public, public_sets, attacked, held, fewest=20):
    """Returns the sets of words that ridge regression reads from pooled samples of attacked texts.

    Each word of at least `fewest` public texts has a regression. The last `held` public texts choose the penalty, and one threshold for all words."""
    counts = collections.Counter(word for found in public_sets for word in found)
    index = {word: i for i, word in enumerate(sorted(word for word, count in counts.items() if count >= fewest))}
    table = np.zeros((len(public_sets), len(index)), np.float32)
    for row, found in zip(table, public_sets):
        row[[index[word] for word in found if word in index]] = 1
    (x, chosen), (y, y_chosen) = split(public, held), split(table, held)
    x, chosen, attacked = standardized(x, chosen, attacked)
    values, basis = np.linalg.eigh(x.T @ x)
    projected, best = basis.T @ (x.T @ y), (-1,)
    total = sum(map(len, public_sets[-held:]))
    for penalty in len(x) * np.array([.01, .1, 1, 10]):
        weights = basis @ (projected / (np.maximum(values, 0) + penalty)[:, None])
        scores = (chosen @ weights).ravel()
        order = np.argsort(-scores)[:40 * held]
        rates = 2 * np.cumsum(y_chosen.ravel()[order]) / (np.arange(1, len(order) + 1) + total)
        best = max(best, (rates.max(), penalty, scores[order[rates.argmax()]], weights), key=lambda found: found[0])
    names = np.array(list(index))
    return [set(names[row].tolist()) for row in attacked @ best[3] >= best[2]]


def mapped(public, vectors, attacked, held):
    """Returns the public and the attacked samples, mapped by ridge regression to the vectors of the public texts. The last `held` public texts choose the penalty."""
    (x, chosen), (y, y_chosen) = split(public, held), split(vectors, held)
    x, chosen, *samples = standardized(x, chosen, public, attacked)
    mean = y.mean(0)
    values, basis = np.linalg.eigh(x.T @ x)
    projected = basis.T @ (x.T @ (y - mean))
    fits = [basis @ (projected / (np.maximum(values, 0) + penalty * len(x))[:, None]) for penalty in 10.0 ** np.arange(-6, 3)]
    best = min(fits, key=lambda weights: ((chosen @ weights + mean - y_chosen)**2).sum())
    return [(rows @ best + mean).astype(np.float32) for rows in samples]


def fitted(public, vectors):
    """Returns factor and variance: samples count as a vector times a factor, plus normal noise, and public samples show both."""
    factor = float((public * vectors).sum() / (vectors**2).sum())
    return factor, max(float(((public - factor * vectors)**2).mean()), 1e-9)


def likeliest_words(public, public_vectors, samples, lengths, names, table, counts):
    """Returns the sets of names of the likeliest rows of the table for the samples of each text. counts: how often public texts have each name."""
    factor, variance = fitted(public, public_vectors)
    constant, likeliest = np.log(counts + .5) * variance - factor**2 * (table**2).sum(1) / 2, []
    for start in range(0, len(samples), BLOCK):
        likeliest.append((factor * (samples[start:start + BLOCK] @ table.T) + constant).argmax(1))
    return [set(found.tolist()) for found in np.split(np.asarray(names)[np.concatenate(likeliest)], np.cumsum(lengths)[:-1])]


def logistic(x, y, values, basis, penalty, steps=60):
    """Returns the weights of logistic regression with a penalty on their squares, by steps that the bound X'X/4 of the second derivative allows
    (Boehning & Lindsay 1988)."""
    weights = np.zeros(x.shape[1])
    for _ in range(steps):
        gradient = x.T @ (y - 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))) - penalty * weights
        weights += basis @ ((basis.T @ gradient) / (np.maximum(values, 0) / 4 + penalty))
    return weights


def accuracy(public, labels, tested, truth, held):
    """Returns the accuracy of a receiver who learns logistic regression from public samples. The last `held` of them choose the penalty."""
    (x, chosen), (y, y_chosen) = split(public, held), split(np.asarray(labels), held)
    x, chosen, tested = standardized(x, chosen, tested)
    values, basis = np.linalg.eigh(x.T @ x)
    fits = [logistic(x, y, values, basis, penalty * len(x)) for penalty in (1e-3, 1e-2, 1e-1, 1)]
    best = max(fits, key=lambda weights: ((chosen @ weights > 0) == y_chosen).mean())
    return float(((tested @ best > 0) == np.asarray(truth)).mean())


def pairs(pool, apart=1e-3):
    """Returns the farthest two rows of a pool, and the closest two that are further apart than `apart`."""
    squares, far, close = (pool**2).sum(1), (-1, 0, 0), (np.inf, 0, 0)
    for start in range(0, len(pool), BLOCK):
        distance = np.sqrt(np.maximum(0, squares[start:start + BLOCK, None] + squares - 2 * pool[start:start + BLOCK] @ pool.T))
        i, j = divmod(int(distance.argmax()), len(pool))
        far = max(far, (distance[i, j], start + i, j))
        distance[distance < apart] = np.inf
        i, j = divmod(int(distance.argmin()), len(pool))
        close = min(close, (distance[i, j], start + i, j))
    return [(pool[i], pool[j]) for _, i, j in (far, close)]
