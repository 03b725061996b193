"""An n-gram model of words (interpolated Kneser-Ney), and its most probable text of a given number of words, as far as found.

A word is a run of letters and digits in lower case. The model leaves out punctuation and capitals. So its probability of a text is at least the
probability of writing the text exactly. Words that the model's texts lack have probability 0, which raises the others."""
import collections
import heapq
import math
import re

ORDER = 4
DISCOUNT = 0.75
BEAM = 1000
COMMON = 30  # words after a context that the search tries
START, END = "<", ">"


def words_of(text):
    return re.findall(r"\w+(?:'\w+)?", text.lower())


class Model:
    def __init__(self, texts):
        texts = list(filter(None, map(words_of, texts)))
        self.texts = collections.defaultdict(list)  # number of words -> texts
        for text in texts:
            self.texts[len(text)].append(text)
        self.count = len(texts)
        # follow[k][context of k words][word]: count; below the highest order, the number of different words before context and word
        self.follow = [collections.defaultdict(collections.Counter) for _ in range(ORDER)]
        for text in texts:
            row = [START] * (ORDER - 1) + text + [END]
            for i in range(ORDER - 1, len(row)):
                self.follow[-1][tuple(row[i - ORDER + 1:i])][row[i]] += 1
        for k in range(ORDER - 1, 0, -1):
            for context, found in self.follow[k].items():
                for word in found:
                    self.follow[k - 1][context[1:]][word] += 1
        self.total = [{context: sum(found.values()) for context, found in follow.items()} for follow in self.follow]
        self.followers = {}

    def common(self, context):
        """Returns the words that follow a context most often."""
        if context not in self.followers:
            self.followers[context] = [word for word, _ in self.follow[len(context)].get(context, collections.Counter()).most_common(COMMON)]
        return self.followers[context]

    def probability(self, context, word):
        p = 1 / len(self.follow[0][()])
        for k in range(ORDER):
            at = context[len(context) - k:]
            found = self.follow[k].get(at)
            if found is None:
                break
            p = (max(found[word] - DISCOUNT, 0) + DISCOUNT * len(found) * p) / self.total[k][at]
        return p

    def probabilities(self, text):
        """Yields each word of a text, END included, and its probability."""
        row = [START] * (ORDER - 1) + list(text) + [END]
        for i in range(ORDER - 1, len(row)):
            yield row[i], self.probability(tuple(row[i - ORDER + 1:i]), row[i])

    def share(self, n):
        """Returns the share of texts with n words."""
        return len(self.texts[n]) / self.count

    def bits(self, texts):
        """Returns the bits per word of texts, END included, without words that the model does not know."""
        bits = words = 0
        for text in map(words_of, texts):
            for word, p in self.probabilities(text):
                if word in self.follow[0][()]:
                    bits -= math.log2(p)
                    words += 1
        return bits / words

    def likeliest(self, n):
        """Returns log p and the words of the most probable text of n words among those that a beam search finds and the model's own."""
        beam = {(START,) * (ORDER - 1): (0.0, ())}  # last words -> best text that ends with them
        for _ in range(n):
            longer = {}
            for context, (score, text) in beam.items():
                for word in set().union(*(self.common(context[len(context) - k:]) for k in range(ORDER))) - {END}:
                    made, at = score + math.log(self.probability(context, word)), context[1:] + (word,)
                    if at not in longer or longer[at][0] < made:
                        longer[at] = made, text + (word,)
            beam = dict(heapq.nlargest(BEAM, longer.items(), key=lambda one: one[1][0]))
        found = [(score + math.log(self.probability(context, END)), text) for context, (score, text) in beam.items()]
        own = [(sum(math.log(p) for _, p in self.probabilities(text)), tuple(text)) for text in self.texts[n]]
        return max(found + own)
