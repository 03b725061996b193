"""Results of calls as dataclasses. generate.py writes this file from the result tables and headers of the library.

Each is a Record: a dict whose items are attributes too. Divergences and epsilons are in nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ._lib import KINDS, Record, Result


@dataclass(init=False, eq=False, repr=False)
class Metric(Result):
    """One metric, over draws of the noise."""

    metric: str
    """Its name."""
    mean: float
    """Mean over the draws."""
    sd: float
    """Standard deviation over the draws."""
    interval: list[float]
    """95 % interval over texts."""


@dataclass(init=False, eq=False, repr=False)
class Scores(Result):
    """Scores of a model on a split."""

    n: int
    """Number of texts, or of words in a task with tags [texts]."""
    draws: int
    """Number of noise draws [draws]."""
    metrics: dict[str, Metric]
    """Mean and spread of each metric."""
    majority: float
    """Accuracy of the most frequent class."""


@dataclass(init=False, eq=False, repr=False)
class TrainResult(Result):
    """Results of a finished run of nvdp train."""

    epochs: int
    """Finished [epochs]."""
    best_epoch: int
    """Epoch whose weights were kept, from 1."""
    steps: int
    """Number of optimizer steps [steps]."""
    validation: float
    """The first metric at the best epoch."""
    early_stopped: bool
    """Patience ran out before the last epoch."""
    test: Scores
    """Scores on the dev file."""
    loss_g: float
    """Gaussian regularizer, mean over the last epoch, before lambda [nats]."""
    loss_d: float
    """Dirichlet regularizer, mean over the last epoch, before lambda [nats]."""
    seconds: float
    """Time of the training steps [s]."""
    score_seconds: float
    """Time of the validation and the final score [s]."""
    tokens_per_second: float
    """Speed of the training steps [tokens/s]."""
    task: str
    """Name of the task."""
    method: str
    """Method of the training."""
    protocol: str
    """Data that selected the epoch: holdout or dev."""
    metric: str
    """The metric that selected the epoch."""
    certified: Optional[Record]
    """The proof over all texts; None: there is none."""


@dataclass(init=False, eq=False, repr=False)
class Account(Result):
    """Epsilon of a run at one delta."""

    delta: float
    """The given delta."""
    rdp_epsilon: float
    """By Renyi divergences, plus the epsilons of `beside`."""
    rdp_order: float
    """Order of rdp_epsilon, from nvdp_account_order(); NaN: none."""
    pld_epsilon: float
    """By the privacy loss distribution."""


@dataclass(init=False, eq=False, repr=False)
class Guess(Result):
    """A baseline and its bound."""

    baseline: float
    """b: success probability of the best guess without a sample."""
    bound: float
    """Upper bound of the success probability with the samples."""


@dataclass(init=False, eq=False, repr=False)
class AccountRisk(Result):
    """Upper bounds of what an attacker learns from a model about one of its examples, from the trade-off curve of its training."""

    delta: float
    """Delta of the account."""
    mu: float
    """Smallest mu of a Gaussian mechanism (Dong, Roth & Su 2022) whose delta(epsilon) is nowhere below the run's, for deltas of at least
    `delta`. Phi(Phi^-1(b) + mu) + delta bounds the true positive rate of every test with false positive rate b. No useful mu covers all
    deltas. +inf: the run has none."""
    replaced_epsilon: float
    """Epsilon at `delta` for replacing an example, by group privacy from the whole curve; may be +inf."""
    membership: float
    """Success of guessing whether an example was in the training set, 1/2 without the model: nvdp_account_membership()."""
    guesses: int
    """Number of entries of `guess`."""
    guess: list[Guess]
    """Bounds for any guess about one example that is right with probability `baseline` without it, given everything else."""


@dataclass(init=False, eq=False, repr=False)
class BdpCost(Result):
    """Bayesian DP of one text at one moment, with all intermediate results."""

    moment: float
    """Moment k."""
    cost: float
    """C(k) in nats; +inf if any divergence is infinite."""
    epsilon: float
    """[T cost - log(delta - spent)] / k in nats, spent = 1 - (1-gamma)^T."""
    m: int
    """m, number of texts in the population."""
    t: float
    """Upper gamma-quantile of Student's t with m-1 degrees of freedom."""
    log_mean: float
    """Log M."""
    log_sd: float
    """Log S; -inf if all divergences are equal."""
    max: float
    """Max X."""


@dataclass(init=False, eq=False, repr=False)
class DchiWorst(Result):
    """Largest log ratio over pairs of the vocabulary, in nats."""

    value: float
    """Largest log ratio of any output between two inputs; +inf if any ratio is."""
    infinite: float
    """Exact share of the ordered pairs of different tokens with an infinite ratio."""
    finite: float
    """Largest finite ratio, over protected x: all tokens, except those that santext-plus may leave unchanged. 0: none."""
    x: int
    """Token x of the ratio log P(y|x)/P(y|x') that attains `finite`."""
    x2: int
    """Token x' of that ratio."""
    bound: float
    """Upper bound of all finite ratios: eta times the largest distance, plus log 1/p if x' is not protected."""
    inputs: int
    """Number of protected tokens that were searched as x."""


@dataclass(init=False, eq=False, repr=False)
class EncoderInfo(Result):
    """Properties of an encoder."""

    hidden_size: int
    """d, length of a state."""
    max_length: int
    """Length to which texts should be cut, including special tokens."""
    pooling: str
    """Pooling of states to a vector: "none", "mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean" or "lasttoken"; several are
    concatenated and written as "cls+mean"."""
    normalized: bool
    """The vectors have unit length."""
    fingerprint: str
    """SHA-256 of the file of weights, or of the list of the shards' names and SHA-256s; hexadecimal."""
    vector_size: int
    """p, length of a vector; 0 without a pooling."""
    prompt: Optional[str]
    """Text that the caller puts before each text for the vectors of sentence-transformers; NULL: nothing. Owned by the encoder."""


@dataclass(init=False, eq=False, repr=False)
class Evaluation(Result):
    """Scores of a run on a split."""

    task: str
    """"sst2", ..."""
    method: str
    """"nvdp", ..."""
    split: str
    """"dev", ..."""
    protocol: str
    """Data that selected the epoch: "holdout", "dev"."""
    scores: Scores
    """Mean and standard deviation over draws of the noise."""


@dataclass(init=False, eq=False, repr=False)
class ExactPoint(Result):
    """A point of the privacy curve, with the error rates of the best test between P and Q, "P if L > epsilon"."""

    epsilon: float
    """In nats; may be negative."""
    delta: float
    """E (1 - e^(epsilon - L))_+: the smallest delta with P(S) <= e^epsilon Q(S) + delta for all sets S."""
    log_delta: float
    """Log delta; -INFINITY if epsilon is above every loss."""
    rest: float
    """1 - delta, accurate also if small."""
    fpr: float
    """Q(L > epsilon): false positive rate."""
    tpr: float
    """P(L > epsilon): true positive rate, the maximum at this fpr."""


@dataclass(init=False, eq=False, repr=False)
class Persons(Result):
    """All texts of a person together, by a ledger."""

    persons: int
    """Number of persons; 0: none is named, and all else is 0 or NaN."""
    texts: int
    """Largest number of different texts of a person."""
    samples: int
    """Largest number of samples of all texts of a person."""
    epsilon: float
    """Largest epsilon of all samples of a person; +inf: one has no proof."""
    delta: float
    """Delta of epsilon, 1e-5."""
    mu: float
    """Its mu; +inf: a release is not Gaussian."""
    guesses: int
    """Number of entries of `guess`; 0 if mu is not finite."""
    guess: list[Guess]
    """Upper bounds for any guess about a person."""


@dataclass(init=False, eq=False, repr=False)
class ExportResult(Result):
    """Result of nvdp_export()."""

    texts: int
    """N."""
    samples: int
    """S, samples per text."""
    components: int
    """Number of components of the longest sample, including the prior's."""
    dim: int
    """p, the width of a vector."""
    bytes: int
    """Size of the file."""
    statement: str
    """The file's statement, in plain English."""
    spent_samples: int
    """Largest total number of samples of any text of this export, by the ledger; 0: no ledger."""
    spent_epsilon: float
    """Largest epsilon, at `spent_delta`, of all samples of one text together. This text may differ from that of spent_samples. +inf:
    nothing is proven for one of the samples; NaN: no ledger."""
    spent_delta: float
    """Delta of the ledger, 1e-5; NaN: no ledger."""
    replaced: int
    """Number of texts for which the model gave numbers that are not finite; 0 replaced these numbers. For the owner only: it is computed
    without noise."""
    useful: bool
    """The file has a useful guarantee: the certificate of the samples of one row has an epsilon of at most NVDP_USEFUL_EPSILON and a
    `named_bound` of at most NVDP_USEFUL_NAMED. No measurement counts. The samples of a text that the ledger counts in other rows and
    files add up: see spent_epsilon."""
    guarantee: str
    """First line of the statement: the guarantee, or why there is no useful one."""
    training_texts: str
    """Exported texts that the encoder was trained on: "all", "some", or "maybe" (unknown)."""
    person: Persons
    """By the ledger, with this file; option "person"."""
    receivers: int
    """Receivers that the ledger names; 0: none."""
    receiver_epsilon: float
    """Largest epsilon of a text for a single receiver, who does not see what others have; NaN: none is named."""
    receiver_person_epsilon: float
    """The same of all texts of a person; NaN: no receiver, or no person, is named."""
    run: str
    """Folder of the run, which this export may have made (option "model")."""
    spent_word_epsilon: float
    """The same as spent_epsilon for one word in place of another; at most spent_epsilon. NaN: no ledger."""
    spent_proven_epsilon: float
    """Budget of a text that was set with the first export and never raised: at spent_delta it is proven even if exports depend on earlier
    samples. 0: none, and spent_epsilon is proven if number and noise of the exports do not depend on earlier samples."""
    privacy: Optional[Record]
    """The report for the owner, as of Posteriors.privacy(). None: fewer than 2 texts."""


@dataclass(init=False, eq=False, repr=False)
class WordClaim(Result):
    """The guarantee of one occurrence of a word, for any two texts that differ in it: one word is replaced by any other."""

    holds: bool
    """Something is proven per word; otherwise the numbers are NaN."""
    clip: float
    """c, the largest norm of one word's part in the sum, in standard deviations of the noise."""
    window: float
    """R: a word is in 2R + 1 parts of the sum."""
    mu: float
    """Mu of Gaussian differential privacy, all samples together."""
    epsilon: float
    """At `delta`, in nats."""
    delta: float
    """The option delta."""
    radius: float
    """Radius for guesses about one word, one sample."""
    guesses: int
    """Number of entries of `guess`."""
    guess: list[Guess]
    """Upper bounds for a guess about the word, all other words known."""
    phrase_mu: float
    """Mu for NVDP_PHRASE_WORDS adjacent words in place of as many others."""
    phrase_epsilon: float
    """At `delta`, in nats."""
    phrase_radius: float
    """Radius for guesses about up to so many adjacent words, one sample."""
    phrase_guess: list[Guess]
    """`guesses` upper bounds for a guess about these words."""


@dataclass(init=False, eq=False, repr=False)
class Guarantee(Result):
    """The known facts about the privacy of a run's samples."""

    method: str
    """"nvdp", "vtdp", "base", ..."""
    noise: bool
    """A random sample is shared; false for "base" and "reg"."""
    token_noise: bool
    """Users replace or noise single tokens before encoding."""
    epsilon: float
    """Proven epsilon for any two texts, at `delta`, for all `releases` samples of a text together; +inf: nothing is proven."""
    delta: float
    """Delta of `epsilon`."""
    releases: int
    """Number of samples per text."""
    clip: float
    """C, in standard deviations of the noise; NaN: no clip."""
    numbers: int
    """Numbers per sample; 0: unknown."""
    guesses: int
    """Number of entries of `guess`."""
    guess: list[Guess]
    """Proven guess bounds."""
    information: float
    """Proven bound of the mutual information, in nats; NaN: unknown."""
    texts: int
    """Number of measured texts; 0: none."""
    order: float
    """Order of the Renyi divergences below."""
    largest: float
    """Largest divergence between one sample each of two measured texts, in nats; may be +inf."""
    infinite_share: float
    """Share of the pairs whose divergence is infinite."""
    named: float
    """Share of samples whose text an attacker names among the measured texts; NaN: unknown."""
    training_epsilon: float
    """Epsilon of private training for one training example that is zeroed out (account.h). NaN: training is not private; +inf: training is
    private at an unknown epsilon."""
    training_delta: float
    """Delta of training_epsilon."""
    training_mu: float
    """nvdp_account_risk.mu; +inf: not recorded."""
    partial: bool
    """`texts` are a subset of the texts of their split."""
    of_texts: int
    """Number of texts of the split; 0: unknown."""
    word: WordClaim
    """The claim per word."""
    named_bound: float
    """nvdp_certificate.named_bound. If it is NaN or 0, it is unknown, and a bound that follows from `epsilon` is used."""


@dataclass(init=False, eq=False, repr=False)
class Limits(Result):
    """Limits of the posteriors over all texts."""

    method: str
    """"nvdp", "vtdp", "vib-fixed", ..."""
    noise: bool
    """false: the method shares no random sample."""
    sealed: bool
    """After the noise, the model reads only the sample."""
    rows: int
    """Tokens and padding per sample; 1 for methods with one vector per text; 0: lengths are public."""
    dim: int
    """p, length of a row."""
    kappa: int
    """Number of vectors drawn per row."""
    same_noise: bool
    """Variances are the same for every text and row."""
    clip_sequence: float
    """Upper bound of the norm of all means of a text together; INFINITY: none."""
    clip_mu: float
    """Upper bound of the norm of each row's mean; INFINITY: none."""
    logvar_min: float
    """Minimum log variance of a token's row; -INFINITY: none."""
    logvar_max: float
    """Maximum log variance of a token's row; padding has 0."""
    weights: bool
    """Rows have weights, which are shared."""
    alpha_min: float
    """Minimum pseudo-count of a token; 0: no limit."""
    alpha_max: float
    """Maximum pseudo-count of a token; INFINITY: no limit."""
    prior_alpha: float
    """Pseudo-count of the prior's component."""
    pad_alpha: float
    """Pseudo-count of padding."""
    clip_word: float
    """Upper bound of the norm of one word's part in the sum of a text, for a method with a certificate per word; 0: none."""
    word_window: float
    """Words on either side of a word that its part depends on."""


@dataclass(init=False, eq=False, repr=False)
class ModelInfo(Result):
    """Properties of a model, from nvdp_model_info()."""

    method: str
    """Bottleneck between encoder and classifier."""
    task: Optional[str]
    """Name of the training task: "sst2", "tsv", ..."""
    outputs: int
    """Outputs per text: number of classes, or 1 for a regression."""
    max_length: int
    """Length in tokens to which texts were cut, including [CLS] and [SEP]."""
    hidden_size: int
    """Length of the encoder's hidden states."""
    latent_dim: int
    """Length of a vector of the sample; 0 without a bottleneck."""
    kappa: int
    """Vectors per component of the sample; 0 without a bottleneck."""
    length: int
    """Length in tokens to which all samples are padded; 0: no padding."""
    parameters: int
    """Number of trained parameters."""
    fingerprint: str
    """SHA-256 of model.safetensors, hexadecimal."""
    labels: Optional[list[Any]]
    """The classes. None: scores."""


@dataclass(init=False, eq=False, repr=False)
class Interval(Result):
    """An interval."""

    low: float
    """Lower end."""
    high: float
    """Upper end."""


@dataclass(init=False, eq=False, repr=False)
class PairsSample(Result):
    """Statistics of drawn pairs, with their uncertainty."""

    drawn: int
    """Number of ordered pairs drawn uniformly with replacement; 0: all pairs."""
    summed: int
    """Number of pairs whose full divergence the search for the largest computed."""
    confidence: float
    """.95, for each interval separately."""
    mean: Interval
    """Student's t interval of mean_finite: assumes an approximately normal mean."""
    mean_bound: Interval
    """Interval of mean_finite by the empirical Bernstein bound (Maurer & Pontil 2009, Theorem 4). It holds for every distribution up to the
    exact maximum; NaN if some pair is infinite."""
    quantile: list[Interval]
    """By order statistics."""
    infinite_share: Interval
    """Clopper & Pearson 1934."""


@dataclass(init=False, eq=False, repr=False)
class DivergenceSummary(Result):
    """Statistics of divergences, in nats."""

    max: float
    """+inf if any pair is infinite."""
    mean: float
    """+inf if any pair is infinite."""
    max_finite: float
    """Maximum over the finite pairs, for comparison: not a privacy guarantee. NaN without finite pairs, and if pairs are drawn and some
    pair is infinite."""
    mean_finite: float
    """Mean over the finite pairs; NaN without any."""
    quantile: np.ndarray
    """Nearest rank, infinite pairs included."""
    max_p: int
    """Index of the text of P of the pair that attains max."""
    max_q: int
    """Index of the text of Q of that pair."""


@dataclass(init=False, eq=False, repr=False)
class PairsSummary(Result):
    """Divergences over all pairs of a set of texts."""

    order: float
    """L."""
    adjacency: str
    """Adjacent pairs."""
    arithmetic: str
    """Accuracy."""
    texts: int
    """N."""
    pairs: int
    """Ordered pairs of adjacent texts."""
    infinite: int
    """Number of infinite pairs; among the drawn pairs if pairs are drawn."""
    sample: PairsSample
    """Statistics of drawn pairs."""
    sum: DivergenceSummary
    """Over everything in one sample: the privacy measure."""
    per_component: DivergenceSummary
    """Sum / (components x kappa)."""
    per_component_dim: DivergenceSummary
    """Sum / (components x kappa x p), as in the published tables; not a privacy guarantee."""


@dataclass(init=False, eq=False, repr=False)
class Spread(Result):
    """Mean and quantiles of a per-text number."""

    mean: float
    """Mean over texts."""
    quantile: np.ndarray
    """Nearest rank."""


@dataclass(init=False, eq=False, repr=False)
class PosteriorSummary(Result):
    """Statistics that describe posteriors, for those who train them."""

    texts: int
    """N."""
    tokens: int
    """T."""
    weighted: bool
    """false: a Gaussian mechanism; statistics of alpha are NaN or 0."""
    vectors: Spread
    """Effective number of vectors exp(-sum p_r log p_r) (Hill 1973, order 1): from 1 (one vector has all weight) to R (equal weights)."""
    vectors_l2: Spread
    """Effective number of vectors 1 / sum p_r^2, order 2: the same range, at most `vectors`."""
    token_share: Spread
    """Share of the tokens in the sum of all alpha."""
    mean_abs_mu: float
    """Mean |mu| over all entries of the tokens' means; NaN without tokens."""
    mean_sigma: float
    """Mean standard deviation over the same entries."""
    alpha_bin: np.ndarray
    """Number of tokens per bin."""
    alpha_below: int
    """Number of tokens below the first bin."""
    alpha_above: int
    """Number of tokens above the last bin."""


@dataclass(init=False, eq=False, repr=False)
class SampleAudit(Result):
    """Result of nvdp_audit_samples()."""

    delta: float
    """Delta of epsilon."""
    confidence: float
    """Confidence of the bound."""
    epsilon: float
    """Lower bound; 0 if nothing is shown."""
    ceiling: float
    """Bound that a perfect test would have shown with these samples."""
    score: str
    """Score of the selected test."""
    favors_q: bool
    """The test detects Q: scores are negated, P and Q exchanged."""
    threshold: float
    """A sample with a score above this counts as P (Q if favors_q); log density ratio in nats."""
    held: np.ndarray
    """Number of held-out samples of P and of Q."""
    hits: np.ndarray
    """Number of those above the threshold."""
    least_true: float
    """Lower confidence limit of the true positive rate, of P (Q if favors_q)."""
    most_false: float
    """Upper confidence limit of the false positive rate, of Q (P if favors_q)."""


@dataclass(init=False, eq=False, repr=False)
class Geometry(Result):
    """Distances between the vectors of a table."""

    tokens: int
    """Number of measured tokens, against all tokens."""
    nearest_median: float
    """Median distance to the nearest other token."""
    pair_median: float
    """Median distance between two of the measured tokens."""
    pair_max: float
    """Largest distance of a measured token from any token."""
    diameter_bound: float
    """Upper bound of the distance between any two tokens: twice the largest distance from the mean, or pair_max if all tokens were
    measured."""


@dataclass(init=False, eq=False, repr=False)
class SanitizerInfo(Result):
    """Description of a sanitizer."""

    mechanism: str
    """The mechanism."""
    eta: float
    """Nats per unit of distance; unused by random."""
    p: float
    """P of santext-plus."""
    tokens: int
    """V, number of tokens."""
    dim: int
    """Length of a vector."""
    sensitive: int
    """Number of tokens of V_S; V for mechanisms other than santext-plus; 0 until they are chosen."""
    equal: int
    """Number of tokens whose vector equals that of another token: no output distinguishes them."""
    equal_a: int
    """One of two such tokens; -1: none."""
    equal_b: int
    """The other one."""
    pieces: bool
    """Tokens are an encoder's WordPieces, not words."""
    drops: bool
    """Words without a vector are dropped; false: a uniformly drawn token replaces them."""
    counting: bool
    """V_S or the vocabulary comes from the texts and is not chosen yet: nvdp_sanitizer_count()."""
    own_words: bool
    """The vocabulary consists of the words of the texts (vocabulary-from TASK), which is not private."""
    table: int
    """Number of words in the table before vocabulary-from; equal to `tokens` without it."""
    unmatched: int
    """Number of words that no text can contain, because texts are read in lower case, without accents and with separate punctuation. They
    can still be outputs."""


@dataclass(init=False, eq=False, repr=False)
class SanitizeResult(Result):
    """Result of nvdp_sanitize()."""

    texts: int
    """Number of texts; a pair counts as two."""
    tokens: int
    """Number of output tokens."""
    changed: float
    """Share of tokens that were changed; NaN for laplace."""
    oov: float
    """Share of words without a vector."""
    measured: int
    """Number of tokens drawn from the texts to measure n_w and s_w."""
    draws: int
    """Number of draws per such token."""
    n_w: float
    """Mean probability that a token is unchanged."""
    s_w: float
    """Mean number of distinct outputs of `draws` draws."""
    epsilon: float
    """Upper bound of epsilon of local differential privacy for one token, over any two words with vectors: eta times the bound on
    distances; +inf for santext-plus."""
    geometry: Geometry
    """Distances in the table."""
    sanitizer: SanitizerInfo
    """Table and mechanism."""
    statement: str
    """The privacy statement, in plain English."""
    examples: int
    """Number of example texts below. They are private: do not write them to files that are shared."""
    before: list[str]
    """Original texts."""
    after: list[str]
    """Privatized texts."""
    oov_epsilon: float
    """Upper bound of epsilon between a word without a vector and one with a vector; +inf: nothing is proven."""
    insecure_seed: bool
    """Draws came from a seed, which can undo them."""
    row_epsilon: float
    """`epsilon` times the number of output tokens of the longest row: the bound for a whole row of words with vectors."""


@dataclass(init=False, eq=False, repr=False)
class SearchInfo(Result):
    """Properties of the estimates."""

    texts: int
    """N."""
    dim: int
    """P."""
    clip: float
    """C, the norm of all means."""
    deviation: float
    """1/(C sqrt(S)), the standard deviation of an estimate."""
    margin: float
    """Half the width of the 95 % interval of a text that was chosen without looking at the file, which a hit is not."""
    margin_all: float
    """Half the width of intervals that hold for all N texts together with 95 %, so also for the hits of one query."""
    encoder: str
    """Name of the encoder's folder, as the sender states it."""
    sha256: str
    """SHA-256 of the encoder's weights."""


@dataclass(init=False, eq=False, repr=False)
class SharedInfo(Result):
    """Content of a shared file."""

    texts: int
    """N."""
    samples: int
    """S, samples per text."""
    dim: int
    """p, length of a vector."""
    rows: int
    """R, number of rows of all samples."""
    sample_rows: int
    """M, rows per sample; 0: lengths are public and differ."""
    kappa: int
    """Number of adjacent rows per component."""
    policy: str
    """Hidden or public lengths."""
    z_step: float
    """Every value is a multiple of it; 0 for embeddings/1."""
    method: str
    """"nvdp", "vtdp", ..."""
    task: str
    """"" if the file does not state it."""
    label_names: Optional[str]
    """Names of the classes in the order of their indices, a JSON array; empty for scores; NULL: not stated."""


@dataclass(init=False, eq=False, repr=False)
class TextMechanismInfo(Result):
    """Properties of a mechanism of text privatization."""

    name: Optional[str]
    """Name in options and files; static."""
    citation: Optional[str]
    """name, output and source; static; NULL for "none"."""
    mechanism: int
    """Enum nvdp_dchi_mechanism; -1 for "none" and on_sequence."""
    exact: bool
    """Gives tokens with known probabilities; false: Laplace noise."""
    uses_eta: bool
    """false: eta must be 0."""
    uses_p: bool
    """Protects only the sensitive tokens, and uses p."""
    gives_vectors: bool
    """Gives noised word vectors instead of tokens."""
    on_sequence: bool
    """Gives one noised vector per text: nvdp_sequence_laplace()."""
    place: int
    """Position in reports, from 0."""


@dataclass(init=False, eq=False, repr=False)
class DpSteps(Result):
    """Steps of DP-SGD with the same setting."""

    noise: float
    """sigma, noise multiplier: standard deviation / C; >= 1e-3."""
    rate: float
    """q, sampling probability of an example per step; (0, 1]."""
    steps: int
    """T, number of steps."""


@dataclass(init=False, eq=False, repr=False)
class TrainingPrivacy(Result):
    """Privacy of a model's training for its training texts."""

    is_private: bool
    """The model was trained with differential privacy. If false, the members below are 0 or NULL."""
    finished: bool
    """The training has ended."""
    seeded: bool
    """The noise came from a seed, which can undo it."""
    delta_default: bool
    """Delta was not set: half of 1/N."""
    examples: int
    """N, which is public."""
    clip: float
    """C; +inf: no clip."""
    steps: DpSteps
    """Noise multiplier, sampling probability, number of planned steps. Epsilon counts all of these: what was learned may decide when
    training stops, and which state is kept."""
    account: Account
    """Epsilon at delta, under zero-out adjacency (account.h)."""
    risk: AccountRisk
    """Mu, replacement, membership, guesses at baselines 1/2 and 1/1000."""
    steps_done: int
    """Number of steps that were done; 0: unknown."""


@dataclass(init=False, eq=False, repr=False)
class Check(Result):
    """One check of a shared file."""

    verdict: str
    """Its result."""
    what: str
    """Required property: "weights of a sample sum to 1"."""
    found: str
    """Property of this file, on one line; control characters are escaped."""


@dataclass(init=False, eq=False, repr=False)
class Verification(Result):
    """Result of nvdp_verify()."""

    holds: bool
    """No check failed."""
    is_signed: bool
    """The signature is valid for `public_key` and the content that its check names."""
    is_known: bool
    """is_signed, and the key is the one given."""
    public_key: str
    """Key of the file, hexadecimal; "": none."""
    certified: bool
    """The file states a certificate, which was recomputed."""
    epsilon: float
    """Its epsilon at `delta` for all samples of one row of the file together, in nats; +inf: none. A text may have more samples, in other
    rows and files: spent_epsilon."""
    delta: float
    """Its delta; NaN: none."""
    mu: float
    """Its mu for the same samples; NaN: not a Gaussian mechanism."""
    word_epsilon: float
    """For any word in place of any other, at 1e-5: all samples of one row of the file, in nats; +inf: nothing is proven per word."""
    word_mu: float
    """Its mu; +inf: nothing is proven per word."""
    checks: int
    """Number of checks made."""
    check: list[Check]
    """The checks, in the order in which they were made."""
    statement: str
    """The file's statement: printable ASCII, at most ten lines. "" unless it has the wording of this version and every byte follows from
    the attributes; of a folder, unless this holds for each file."""
    useful: bool
    """As in nvdp_export_result."""
    guarantee: str
    """The recomputed guarantee, or why there is no useful one."""
    training_texts: str
    """Texts that the encoder was trained on: "all", "some", "maybe"; "": the file does not state it."""
    person: Persons
    """By the owner's ledger; only nvdp_verify_ledger() sets it."""
    spent_samples: int
    """As in nvdp_export_result; only nvdp_verify_ledger() sets it, else 0."""
    spent_epsilon: float
    """As in nvdp_export_result; only nvdp_verify_ledger() sets it, else NaN."""
    samples: int
    """Samples per text in the file."""
    counted: bool
    """The file states that its sender's ledger counts it."""


KINDS["struct nvdp_account"] = Account
KINDS["struct nvdp_account_risk"] = AccountRisk
KINDS["struct nvdp_bdp_cost"] = BdpCost
KINDS["struct nvdp_check"] = Check
KINDS["struct nvdp_dchi_worst"] = DchiWorst
KINDS["struct nvdp_divergence_summary"] = DivergenceSummary
KINDS["struct nvdp_dp_steps"] = DpSteps
KINDS["struct nvdp_encoder_info"] = EncoderInfo
KINDS["struct nvdp_evaluation"] = Evaluation
KINDS["struct nvdp_exact_point"] = ExactPoint
KINDS["struct nvdp_export_result"] = ExportResult
KINDS["struct nvdp_geometry"] = Geometry
KINDS["struct nvdp_guarantee"] = Guarantee
KINDS["struct nvdp_guess"] = Guess
KINDS["struct nvdp_interval"] = Interval
KINDS["struct nvdp_limits"] = Limits
KINDS["struct nvdp_model_info"] = ModelInfo
KINDS["struct nvdp_pairs_sample"] = PairsSample
KINDS["struct nvdp_pairs_summary"] = PairsSummary
KINDS["struct nvdp_persons"] = Persons
KINDS["struct nvdp_posterior_summary"] = PosteriorSummary
KINDS["struct nvdp_sample_audit"] = SampleAudit
KINDS["struct nvdp_sanitize_result"] = SanitizeResult
KINDS["struct nvdp_sanitizer_info"] = SanitizerInfo
KINDS["struct nvdp_search_info"] = SearchInfo
KINDS["struct nvdp_shared_info"] = SharedInfo
KINDS["struct nvdp_spread"] = Spread
KINDS["struct nvdp_text_mechanism_info"] = TextMechanismInfo
KINDS["struct nvdp_training_privacy"] = TrainingPrivacy
KINDS["struct nvdp_verification"] = Verification
KINDS["struct nvdp_word_claim"] = WordClaim
