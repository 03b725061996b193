"""Adds to common.py: a verdict on several claims of a paper, each from numbers and their standard errors."""
from common import agrees, disagrees, unknown

DEV_TEXTS = {"sst2": 872, "mrpc": 408, "stsb": 1500, "qnli": 5463, "qqp": 19702, "rte": 277}  # texts of the dev files of GLUE


def error_of_accuracy(points, texts):
    """Returns the standard error, in points, of an accuracy in points on this many texts."""
    return 100 * (points / 100 * (1 - points / 100) / texts) ** .5


def error_of_difference(task):
    """Returns the largest standard error of a difference of two scores on the dev texts of a task: accuracies, or correlations of stsb. More seeds do
    not lower it, because all are scored on the same texts. It does not include how much a score varies between seeds."""
    return (2 * (1 if task == "stsb" else .25) / DEV_TEXTS[task]) ** .5


def beyond(difference, error):
    """Returns True if a difference is more than two standard errors above 0, False if it is that far below, else None."""
    return None if abs(difference) <= 2 * error else difference > 0


def all_beyond(differences, error):
    """Returns True if beyond() is True for each difference, False if it is False for one, else None."""
    found = [beyond(difference, error) for difference in differences]
    return all(found) if None not in found or False in found else None


def judge(*claims):
    """Returns the verdict on the claims of a paper. A claim is (True, False or None, text if True, text if False, text if None), and the texts are
    sentences that may begin in lower case."""
    texts = {outcome: [{True: yes, False: no, None: open_}[found] for found, yes, no, open_ in claims if found is outcome] for outcome in (False, None, True)}
    lines = [text for found in texts.values() for text in found]
    why = " ".join([lines[0]] + [text[:1].upper() + text[1:] for text in lines[1:]])
    return disagrees(why) if texts[False] else unknown(why) if texts[None] else agrees(why)


def listed(values):
    """Returns texts as "a, b and c"."""
    return " and ".join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else values)
