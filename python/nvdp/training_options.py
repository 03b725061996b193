"""The options of training as a dataclass. generate.py writes this file from the option table of the library."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Literal, Optional, TypedDict, Union

from ._options import Options, _row


class Arguments(TypedDict, total=False):
    """Options as keyword arguments of nvdp.train and of other functions that train."""

    task: Optional[Union[str, PathLike[str]]]
    data: Optional[Union[str, PathLike[str]]]
    representations: Optional[Union[str, PathLike[str]]]
    text_pair_column: Optional[Union[str, PathLike[str]]]
    max_length: Optional[int]
    limit_train: Optional[int]
    limit_dev: Optional[int]
    class_weights: Optional[Union[str, PathLike[str]]]
    skip_bad_rows: Optional[bool]
    protocol: Optional[Literal["holdout", "dev"]]
    holdout: Optional[Union[float, str]]
    objective: Optional[Literal["task", "distill"]]
    input: Optional[Union[str, PathLike[str]]]
    temperature: Optional[Union[float, str]]
    cosine_weight: Optional[Union[float, str]]
    folds: Optional[int]
    fold: Optional[int]
    from_base: Optional[Union[str, PathLike[str]]]
    base_epochs: Optional[int]
    method: Optional[Literal["base", "reg", "vib-fixed", "vib-learned", "vtdp", "nvdp", "word", "sentence"]]
    encoder: Optional[Literal["bert", "bilstm"]]
    lstm_hidden: Optional[int]
    dropout: Optional[Union[float, str]]
    classifier_dropout: Optional[Union[float, str]]
    freeze_layers: Optional[int]
    freeze_words: Optional[bool]
    precision: Optional[Literal["f32", "bf16", "int8"]]
    token_noise: Optional[Literal["none", "laplace", "laplace-nearest", "santext", "santext-plus", "random", "sequence-laplace"]]
    noise_clip: Optional[Union[float, str]]
    eta: Optional[Union[float, str]]
    epsilon: Optional[Union[float, str]]
    p: Optional[Union[float, str]]
    sensitive: Optional[Union[float, str]]
    sensitive_from: Optional[Union[str, PathLike[str]]]
    sensitive_list: Optional[Union[str, PathLike[str]]]
    public_independent: Optional[bool]
    latent_dim: Optional[int]
    latent_heads: Optional[int]
    mu_tau: Optional[Union[float, str]]
    stdev_tau: Optional[Union[float, str]]
    alpha_tau: Optional[Union[float, str]]
    prior_alpha: Optional[Union[float, str]]
    delta: Optional[Union[float, str]]
    kappa: Optional[int]
    length_policy: Optional[Literal["hidden", "public"]]
    length: Optional[int]
    pool: Optional[Literal["auto", "first", "mean", "weighted"]]
    query: Optional[Literal["sampled", "clean"]]
    weights: Optional[Literal["learned", "constant"]]
    row_index: Optional[Literal["none", "trained"]]
    vib_sigma: Optional[Union[float, str]]
    vtdp_pool: Optional[Literal["last", "first"]]
    clip_mu: Optional[Union[float, str]]
    clip_logvar_min: Optional[Union[float, str]]
    clip_logvar_max: Optional[Union[float, str]]
    clip_alpha_min: Optional[Union[float, str]]
    clip_alpha_max: Optional[Union[float, str]]
    clip_sequence: Optional[Union[float, str]]
    clip_word: Optional[Union[float, str]]
    word_window: Optional[int]
    clip_gradient: Optional[Literal["clamp", "inward"]]
    certified_epsilon: Optional[Union[float, str]]
    certified_delta: Optional[Union[float, str]]
    certified_releases: Optional[int]
    certified_guess: Optional[Union[str, PathLike[str]]]
    word_epsilon: Optional[Union[float, str]]
    word_delta: Optional[Union[float, str]]
    word_layers: Optional[int]
    lambda_g: Optional[Union[float, str]]
    lambda_d: Optional[Union[float, str]]
    lambda_: Optional[Union[float, str]]
    regularizer: Optional[Literal["published", "kl"]]
    kl_schedule: Optional[Literal["constant", "warmup", "decay"]]
    kl_delay: Optional[Union[float, str]]
    kl_ramp: Optional[Union[float, str]]
    dp_batch: Optional[int]
    dp_sample_rate: Optional[Union[float, str]]
    dp_noise: Optional[Union[float, str]]
    dp_clip: Optional[Union[float, str]]
    target_epsilon: Optional[Union[float, str]]
    target_delta: Optional[Union[float, str]]
    allow_weak_delta: Optional[bool]
    insecure_seed: Optional[int]
    shards_noise: Optional[Literal["once", "each"]]
    epochs: Optional[int]
    batch: Optional[int]
    optimizer: Optional[Literal["adamw", "sgd"]]
    momentum: Optional[Union[float, str]]
    lr: Optional[Union[float, str]]
    warmup: Optional[Union[float, str]]
    weight_decay: Optional[Union[float, str]]
    clip_norm: Optional[Union[float, str]]
    beta1: Optional[Union[float, str]]
    beta2: Optional[Union[float, str]]
    adam_eps: Optional[Union[float, str]]
    lr_bottleneck: Optional[Union[float, str]]
    lr_head: Optional[Union[float, str]]
    decay_to: Optional[Literal["zero", "pretrained"]]
    select: Optional[Literal["best", "last"]]
    patience: Optional[int]
    seed: Optional[int]
    resume: Optional[Union[str, PathLike[str]]]
    overwrite: Optional[bool]
    cache: Optional[Union[str, PathLike[str]]]
    no_prefix_cache: Optional[bool]
    eval_batch: Optional[int]
    eval_draws: Optional[int]
    log_every: Optional[int]
    checkpoint_seconds: Optional[Union[float, str]]


@dataclass(frozen=True, repr=False)
class TrainingOptions(Options):
    """Options of train(): nvdp.train(texts, labels, model=..., out=..., **options). None leaves an option to the preset or its default.

    An unknown name, a wrong type or a value out of its range is refused at once. The metadata of a field has its default, unit,
    minimum and maximum."""

    task: Optional[Union[str, PathLike[str]]] = _row()
    """sst2, mrpc, stsb, rte, qqp, qnli, cola, mnli, tsv (your files: TSV, CSV or JSON lines), ner (words with BIO tags), or none, with
    objective distill."""
    data: Optional[Union[str, PathLike[str]]] = _row()
    """Folder with train.tsv and dev.tsv; for task tsv also .csv, .jsonl or .json."""
    representations: Optional[Union[str, PathLike[str]]] = _row()
    """File to read in place of data: noisy word vectors, labels and splits, written by nvdp sanitize mechanism laplace with model; for base
    and reg, whose word embeddings then stay fixed."""
    text_column: Optional[Union[str, PathLike[str]]] = _row()
    """tsv: header of the column with the text."""
    text_pair_column: Optional[Union[str, PathLike[str]]] = _row()
    """tsv: header of the column with the second text."""
    label_column: Optional[Union[str, PathLike[str]]] = _row()
    """tsv: header of the column with the label."""
    regression: Optional[bool] = _row(default_value="false")
    """tsv: labels are scores (regression)."""
    max_length: Optional[int] = _row(default_value="128", unit="tokens", min=3.0, max=4096.0)
    """Maximum number of tokens per text [tokens]. From 3 to 4096. Default: 128."""
    limit_train: Optional[int] = _row(default_value="0", unit="texts")
    """Train on a seeded sample of N rows; 0: all [texts]. Default: 0."""
    limit_dev: Optional[int] = _row(default_value="0", unit="texts")
    """Score on a sample of N rows of the dev file, which is the same for every seed; 0: all [texts]. Default: 0."""
    class_weights: Optional[Union[str, PathLike[str]]] = _row(default_value="none")
    """Weights of the classes in the loss: none, balanced (texts / (classes x texts of the class)), or one number per class, in the order of
    their names; in private training the weights apply to the clipped gradients, relative to the largest weight. Default: none."""
    skip_bad_rows: Optional[bool] = _row(default_value="false")
    """Count malformed rows and skip them, instead of stopping at the first."""
    protocol: Optional[Literal["holdout", "dev"]] = _row(default_value="holdout")
    """Select the epoch on a part of the train file (holdout) or on the dev file (dev). Default: holdout."""
    holdout: Optional[Union[float, str]] = _row(default_value="0.1", min=0.0001, max=0.9)
    """Share of the train file that is kept for validation. From 0.0001 to 0.9. Default: 0.1."""
    objective: Optional[Literal["task", "distill"]] = _row(default_value="task")
    """task, or distill: no task and no labels; a linear map of the encoder's sentence embeddings and a decoder learn to keep their
    similarities under the noise of method sentence; implies latent-dim 64, epochs 10, batch 256, lr 0.003. Default: task."""
    input: Optional[Union[str, PathLike[str]]] = _row()
    """distill: public texts, one per line or a table; the shared file states the map and the decoder, which no noise protects: never give
    private texts; nvdp export refuses to share one of them, unless they are declared (public_independent)."""
    temperature: Optional[Union[float, str]] = _row(default_value="0.1", min=0.001, max=100.0)
    """distill: temperature of the contrastive loss. From 0.001 to 100. Default: 0.1."""
    cosine_weight: Optional[Union[float, str]] = _row(default_value="0.2", min=0.0, max=1000000.0)
    """distill: weight in the loss of the cosine between decoded and true embeddings. From 0 to 1000000. Default: 0.2."""
    folds: Optional[int] = _row(default_value="0", min=0.0, max=1000.0)
    """Cross validation: split the train file into K parts, by document if it marks documents, and read no other file; 0: none. From 0 to
    1000. Default: 0."""
    fold: Optional[int] = _row(default_value="0", min=0.0, max=1000.0)
    """With folds: the part, from 1 to K, that takes the place of the dev file; 0: one run per part. From 0 to 1000. Default: 0."""
    model: Optional[Union[str, PathLike[str]]] = _row()
    """Encoder to start from (BERT or a relative), a directory in Hugging Face layout."""
    from_base: Optional[Union[str, PathLike[str]]] = _row()
    """Start from a finished run of base or reg, in place of model; uses its encoder, and for base and reg also its classifier if the task
    is the same; with folds the run must not have seen the part that is scored."""
    base_epochs: Optional[int] = _row(default_value="0", unit="epochs", min=0.0, max=10000.0)
    """Train a bottleneck in two steps: fine-tune encoder and classifier for N epochs first (dropout 0.1, lr) and save the result as
    RUN/base, then train the bottleneck with all layers frozen (or freeze_layers layers); 0: train everything at once from model; ignored
    with from_base and in private training [epochs]. From 0 to 10000. Default: 0."""
    preset: Optional[Union[str, PathLike[str]]] = _row()
    """Set of values for options that are not given: certified (a proof over all texts), word (a proof per word), per-nat (a price per nat
    of divergence, no proof), pooled-gaussian, matrix-gaussian, or the path of a file in the format of config; an unknown name lists the
    presets."""
    method: Optional[Literal["base", "reg", "vib-fixed", "vib-learned", "vtdp", "nvdp", "word", "sentence"]] = _row(default_value="nvdp")
    """One of base reg vib-fixed vib-learned vtdp nvdp word sentence. Default: nvdp."""
    encoder: Optional[Literal["bert", "bilstm"]] = _row(default_value="bert")
    """bert: the encoder of the model; bilstm: two layers of an LSTM in both directions over the model's word embeddings, which stay as they
    are; implies method base, lr 1e-3, 3 epochs, dropout 0.1. Default: bert."""
    lstm_hidden: Optional[int] = _row(default_value="256", unit="units", min=1.0, max=16384.0)
    """bilstm: units a layer and direction [units]. From 1 to 16384. Default: 256."""
    dropout: Optional[Union[float, str]] = _row(default_value="0", min=0.0, max=0.99)
    """Dropout of hidden states and attention; negative: the checkpoint's value; reg implies 0.1. From 0 to 0.99. Default: 0."""
    classifier_dropout: Optional[Union[float, str]] = _row(default_value="0", min=0.0, max=0.99)
    """Dropout before the classifier; reg implies 0.1. From 0 to 0.99. Default: 0."""
    freeze_layers: Optional[int] = _row(default_value="0", unit="layers", min=0.0, max=1024.0)
    """Freeze the embeddings and the first K layers at the checkpoint's weights, without dropout; their states are computed once per text;
    0: train all [layers]. From 0 to 1024. Default: 0."""
    freeze_words: Optional[bool] = _row(default_value="false")
    """Freeze the word embeddings at the checkpoint's weights (null privacy), as in a base run for token-noise laplace, which freezes them
    too."""
    precision: Optional[Literal["f32", "bf16", "int8"]] = _row(default_value="f32")
    """Precision of matrix products: f32 or bf16. Default: f32."""
    token_noise: Optional[Literal["none", "laplace", "laplace-nearest", "santext", "santext-plus", "random", "sequence-laplace"]] = _row(default_value="none")
    """Mechanism with which users privatize their own texts, one draw per text for training and scores; laplace-nearest, santext,
    santext-plus, random (output: other tokens), laplace (noisy word vectors; the table stays fixed), sequence-laplace (the noisy last
    state of the first token; the encoder stays fixed). Default: none."""
    noise_clip: Optional[Union[float, str]] = _row(default_value="0", min=0.0, max=1000000000.0)
    """sequence-laplace: clip states to norm C; 0: no clipping. From 0 to 1000000000. Default: 0."""
    eta: Optional[Union[float, str]] = _row(default_value="0", unit="nats per unit of distance", min=0.0, max=1.7976931348623157e+308)
    """Noise in nats per unit of distance between word vectors; a smaller value is more private [nats per unit of distance]. 0 or more.
    Default: 0."""
    epsilon: Optional[Union[float, str]] = _row(unit="nats per unit of distance", min=0.0, max=1.7976931348623157e+308)
    """SanText's name for eta [nats per unit of distance]. 0 or more."""
    p: Optional[Union[float, str]] = _row(default_value="0.3", min=1e-09, max=0.999999999)
    """santext-plus: probability that a token that is not sensitive is replaced. From 1e-09 to 0.999999999. Default: 0.3."""
    sensitive: Optional[Union[float, str]] = _row(default_value="0.9", min=1e-09, max=1.0)
    """santext-plus: share of the vocabulary that is sensitive; the rarest tokens come first. From 1e-09 to 1. Default: 0.9."""
    sensitive_from: Optional[Union[str, PathLike[str]]] = _row()
    """santext-plus: public text, one text per line; its word counts show which tokens are rare; refused if it has a private text."""
    sensitive_list: Optional[Union[str, PathLike[str]]] = _row()
    """santext-plus: list of the sensitive tokens, one per line."""
    public_independent: Optional[bool] = _row(default_value="false")
    """Declare that the public texts were chosen independently of the private ones: they are used as they are and not compared, and the
    statement says so; decide before you try: after a refusal the declaration is false."""
    latent_dim: Optional[int] = _row(default_value="0", min=0.0, max=1048576.0)
    """Width of a vector of the sample, for word the numbers per text, whose norm is clipped as a whole; 0: the width of the encoder, for
    word 2. From 0 to 1048576. Default: 0."""
    latent_heads: Optional[int] = _row(default_value="0", min=0.0, max=4096.0)
    """Attention heads over the sample; 0: as many as the encoder has. From 0 to 4096. Default: 0."""
    mu_tau: Optional[Union[float, str]] = _row(default_value="1", min=-1000000.0, max=1000000.0)
    """Initial scale of the means. From -1000000 to 1000000. Default: 1."""
    stdev_tau: Optional[Union[float, str]] = _row(default_value="0.1", min=1e-09, max=1000000.0)
    """Initial scale of the standard deviations. From 1e-09 to 1000000. Default: 0.1."""
    alpha_tau: Optional[Union[float, str]] = _row(default_value="-10", unit="log pseudo-counts", min=-40.0, max=40.0)
    """Initial shift of the log pseudo-counts [log pseudo-counts]. From -40 to 40. Default: -10."""
    prior_alpha: Optional[Union[float, str]] = _row(default_value="1", unit="pseudo-counts", min=1e-05, max=100000.0)
    """Pseudo-count of the prior component [pseudo-counts]. From 1e-05 to 100000. Default: 1."""
    delta: Optional[Union[float, str]] = _row(default_value="0", unit="pseudo-counts", min=0.0, max=100000.0)
    """Pseudo-counts that each token adds to the conditional prior [pseudo-counts]. From 0 to 100000. Default: 0."""
    kappa: Optional[int] = _row(default_value="1", min=1.0, max=1024.0)
    """Number of vectors drawn per component. From 1 to 1024. Default: 1."""
    length_policy: Optional[Literal["hidden", "public"]] = _row(default_value="hidden")
    """Release L components for every text, with padding (hidden), or n components for a text of n tokens (public). Default: hidden."""
    length: Optional[int] = _row(default_value="0", unit="tokens", min=0.0, max=1048576.0)
    """Hidden policy: length in tokens to which texts are padded; 0: max_length [tokens]. From 0 to 1048576. Default: 0."""
    pool: Optional[Literal["auto", "first", "mean", "weighted"]] = _row(default_value="auto")
    """auto, first, mean or weighted. Default: auto."""
    query: Optional[Literal["sampled", "clean"]] = _row(default_value="sampled")
    """Compute attention queries from the sample (sampled) or from un-noised means (clean, which leaks). Default: sampled."""
    weights: Optional[Literal["learned", "constant"]] = _row(default_value="learned")
    """nvdp: release Dirichlet weights (learned) or only vectors (constant, implied by clip-sequence). Default: learned."""
    row_index: Optional[Literal["none", "trained"]] = _row(default_value="none")
    """trained: learn a gain per row for the means, initially 1 for the first token and 1/L for the others, and let each query of nvdp see
    its own row (a residual of the sample); none: neither of these. Default: none."""
    vib_sigma: Optional[Union[float, str]] = _row(default_value="0.55", min=1e-09, max=1000000.0)
    """vib-fixed: standard deviation of the noise. From 1e-09 to 1000000. Default: 0.55."""
    vtdp_pool: Optional[Literal["last", "first"]] = _row(default_value="last")
    """vtdp: pool the noisy tokens (last), or add noise to one pooled vector (first). Default: last."""
    clip_mu: Optional[Union[float, str]] = _row(default_value="inf", min=1e-06, max=math.inf)
    """Clip |mu| to R. 1e-06 or more. Default: inf."""
    clip_logvar_min: Optional[Union[float, str]] = _row(default_value="-inf", min=-math.inf, max=1.7976931348623157e+308)
    """Minimum log variance. Default: -inf."""
    clip_logvar_max: Optional[Union[float, str]] = _row(default_value="inf", min=-1.7976931348623157e+308, max=math.inf)
    """Maximum log variance. Default: inf."""
    clip_alpha_min: Optional[Union[float, str]] = _row(default_value="0", unit="pseudo-counts", min=0.0, max=1.7976931348623157e+308)
    """Minimum pseudo-count [pseudo-counts]. 0 or more. Default: 0."""
    clip_alpha_max: Optional[Union[float, str]] = _row(default_value="inf", unit="pseudo-counts", min=1e-06, max=math.inf)
    """Maximum pseudo-count [pseudo-counts]. 1e-06 or more. Default: inf."""
    clip_sequence: Optional[Union[float, str]] = _row(default_value="inf", min=1e-06, max=math.inf)
    """Clip all means of a text together to norm C, which gives a bound over all texts; the variances are 1; implies lambda 0, vib-sigma 1
    and stdev-tau 1. 1e-06 or more. Default: inf."""
    clip_word: Optional[Union[float, str]] = _row(default_value="inf", min=1e-06, max=math.inf)
    """word: clip the vector of each word to norm C, which gives a bound per word. 1e-06 or more. Default: inf."""
    word_window: Optional[int] = _row(default_value="0", unit="words", min=0.0, max=16.0)
    """word: words on either side of a word that its vector depends on; one word then moves 2 R + 1 vectors, so word-epsilon allows each a
    smaller norm [words]. From 0 to 16. Default: 0."""
    clip_gradient: Optional[Literal["clamp", "inward"]] = _row(default_value="clamp")
    """Gradient of clipped values: none (clamp), or only the part that leads back into the range (inward). Default: clamp."""
    certified_epsilon: Optional[Union[float, str]] = _row(default_value="0", unit="nats", min=0.0, max=1000000.0)
    """Bound epsilon between any two texts, measured or not, by E; sets clip-sequence from this budget for each text that is given away (the
    budget for the training texts is target-epsilon), and implies what clip-sequence implies; 0: none [nats]. From 0 to 1000000. Default:
    0."""
    certified_delta: Optional[Union[float, str]] = _row(default_value="1e-05", min=1e-300, max=0.999)
    """Delta at which certified-epsilon holds. From 1e-300 to 0.999. Default: 1e-05."""
    certified_releases: Optional[int] = _row(default_value="1", unit="samples", min=1.0, max=1000000.0)
    """Number of samples of a text that certified-epsilon and word-epsilon cover together [samples]. From 1 to 1000000. Default: 1."""
    certified_guess: Optional[Union[str, PathLike[str]]] = _row()
    """Set clip-sequence from the largest allowed success of a guess: whoever guesses anything about a text right with probability B without
    its samples is right with probability at most P with them; implies what clip-sequence implies; with certified-epsilon the smaller
    clip counts."""
    word_epsilon: Optional[Union[float, str]] = _row(default_value="0", unit="nats", min=0.0, max=1000000.0)
    """Bound epsilon between any two texts that differ in one word by E; sets clip-word from this budget for each text that is given away,
    and implies what clip-sequence implies; needs a method with a certificate per word (word); 0: none [nats]. From 0 to 1000000.
    Default: 0."""
    word_delta: Optional[Union[float, str]] = _row(default_value="1e-05", min=1e-300, max=0.999)
    """Delta at which word-epsilon holds. From 1e-300 to 0.999. Default: 1e-05."""
    word_layers: Optional[int] = _row(default_value="0", unit="layers", min=0.0, max=1024.0)
    """Read each word, alone or with the words of word-window, with the first K layers of the model; 0: read the word embeddings alone, or
    with a word-window the first layer [layers]. From 0 to 1024. Default: 0."""
    lambda_g: Optional[Union[float, str]] = _row(default_value="0.01", min=0.0, max=1000000.0)
    """Weight of the Gaussian regularizer in the loss. From 0 to 1000000. Default: 0.01."""
    lambda_d: Optional[Union[float, str]] = _row(default_value="0.01", min=0.0, max=1000000.0)
    """Weight of the Dirichlet regularizer in the loss. From 0 to 1000000. Default: 0.01."""
    lambda_: Optional[Union[float, str]] = _row()
    """Set both lambda_g and lambda_d."""
    regularizer: Optional[Literal["published", "kl"]] = _row(default_value="published")
    """Regularizers as published (of the papers' means) or exact, in nats (kl). Default: published."""
    kl_schedule: Optional[Literal["constant", "warmup", "decay"]] = _row(default_value="constant")
    """Schedule of the regularizer weights: constant, warmup or decay; regularizer kl implies warmup, delay 0.2, ramp 0.5. Default:
    constant."""
    kl_delay: Optional[Union[float, str]] = _row(default_value="0.2", min=0.0, max=1.0)
    """warmup: share of the steps at the beginning with weight 0. From 0 to 1. Default: 0.2."""
    kl_ramp: Optional[Union[float, str]] = _row(default_value="0.5", min=0.0, max=1.0)
    """warmup: share of the steps in which the weight rises to 1. From 0 to 1. Default: 0.5."""
    dp_batch: Optional[int] = _row(default_value="0", unit="texts", min=0.0, max=1000000000.0)
    """Train with differential privacy, with batches of B examples on average; a step draws every training example with probability B/N;
    batch is then the number of examples computed at a time; implies clip-norm 0, for train select last and patience 0, for pretrain
    optimizer adamw; protects one example against being zeroed out, N is public; 0: see dp-sample-rate [texts]. From 0 to 1000000000.
    Default: 0."""
    dp_sample_rate: Optional[Union[float, str]] = _row(default_value="0", min=0.0, max=1.0)
    """Like dp-batch, but sets the probability Q itself; sums and noise are divided by Q N, which reveals N; 0: see dp-batch. From 0 to 1.
    Default: 0."""
    dp_noise: Optional[Union[float, str]] = _row(default_value="0", min=0.0, max=1000000.0)
    """Standard deviation of the noise on the sum of a step, in units of dp-clip. From 0 to 1000000. Default: 0."""
    dp_clip: Optional[Union[float, str]] = _row(default_value="1", min=1e-09, max=math.inf)
    """Norm to which each example's gradient over all parameters is clipped. 1e-09 or more. Default: 1."""
    target_epsilon: Optional[Union[float, str]] = _row(default_value="0", min=0.0, max=1000000.0)
    """Keep the training within epsilon E; without dp-noise, computes the noise that all epochs need; with dp-noise, stops before the step
    that would exceed E; 0: no budget. From 0 to 1000000. Default: 0."""
    target_delta: Optional[Union[float, str]] = _row(default_value="0", min=0.0, max=0.999)
    """Delta at which epsilon is computed; 0: half of 1/N, which is then reported. From 0 to 0.999. Default: 0."""
    allow_weak_delta: Optional[bool] = _row(default_value="false")
    """Accept a delta of 1/N or more, which allows some examples to be published unchanged."""
    insecure_seed: Optional[int] = _row(default_value="0")
    """Draw examples and noise from this seed, for experiments; everyone who knows the seed can remove the noise; 0: from the operating
    system, different in every run. Default: 0."""
    shards_noise: Optional[Literal["once", "each"]] = _row(default_value="once")
    """With mpirun: add the noise once, to the sum of all processes, or let each of the P processes add as much noise to its own part, which
    is sqrt(P) times the noise in total. Default: once."""
    epochs: Optional[int] = _row(default_value="10", min=1.0, max=10000.0)
    """Number of passes over the training texts. From 1 to 10000. Default: 10."""
    batch: Optional[int] = _row(default_value="32", unit="texts", min=1.0, max=65536.0)
    """Texts per step [texts]. From 1 to 65536. Default: 32."""
    optimizer: Optional[Literal["adamw", "sgd"]] = _row(default_value="adamw")
    """adamw, or sgd, which implies lr 0.01. Default: adamw."""
    momentum: Optional[Union[float, str]] = _row(default_value="0", min=0.0, max=0.999999)
    """sgd: momentum, the share of the last update in the next one. From 0 to 0.999999. Default: 0."""
    lr: Optional[Union[float, str]] = _row(default_value="2e-05", min=0.0, max=10.0)
    """Maximum learning rate. From 0 to 10. Default: 2e-05."""
    warmup: Optional[Union[float, str]] = _row(default_value="0.1", min=0.0, max=1.0)
    """Share of the steps in which the learning rate rises. From 0 to 1. Default: 0.1."""
    weight_decay: Optional[Union[float, str]] = _row(default_value="0.01", min=0.0, max=10.0)
    """Decoupled weight decay. From 0 to 10. Default: 0.01."""
    clip_norm: Optional[Union[float, str]] = _row(default_value="1", min=0.0, max=1000000000.0)
    """Maximum norm of the gradient; 0: no clipping. From 0 to 1000000000. Default: 1."""
    beta1: Optional[Union[float, str]] = _row(default_value="0.9", min=0.0, max=0.999999)
    """Adam's first-moment decay rate. From 0 to 0.999999. Default: 0.9."""
    beta2: Optional[Union[float, str]] = _row(default_value="0.999", min=0.0, max=0.999999999)
    """Adam's second-moment decay rate. From 0 to 0.999999999. Default: 0.999."""
    adam_eps: Optional[Union[float, str]] = _row(default_value="1e-08", min=1e-30, max=1.0)
    """Adam's epsilon. From 1e-30 to 1. Default: 1e-08."""
    lr_bottleneck: Optional[Union[float, str]] = _row(default_value="-1", min=0.0, max=10.0)
    """Maximum learning rate of the bottleneck; negative: lr, the rate of the encoder. From 0 to 10. Default: -1."""
    lr_head: Optional[Union[float, str]] = _row(default_value="-1", min=0.0, max=10.0)
    """Maximum learning rate of the classifier; negative: lr. From 0 to 10. Default: -1."""
    decay_to: Optional[Literal["zero", "pretrained"]] = _row(default_value="zero")
    """Target of the weight decay: zero, or the checkpoint's weights (pretrained; new weights such as the classifier's decay to 0); reg
    implies pretrained and weight decay 0.01. Default: zero."""
    select: Optional[Literal["best", "last"]] = _row(default_value="best")
    """Epoch whose model is kept: best, by its validation score, or last. Default: best."""
    patience: Optional[int] = _row(default_value="3", unit="epochs")
    """Number of epochs without improvement after which training stops; 0: never stop early [epochs]. Default: 3."""
    seed: Optional[int] = _row(default_value="1")
    """Seed of all random draws. Default: 1."""
    out: Optional[Union[str, PathLike[str]]] = _row()
    """Run directory."""
    resume: Optional[Union[str, PathLike[str]]] = _row()
    """Continue the run in this directory with its own configuration."""
    overwrite: Optional[bool] = _row(default_value="false")
    """Replace existing output."""
    cache: Optional[Union[str, PathLike[str]]] = _row()
    """Folder that caches tokens and frozen layers' states between runs (default $XDG_CACHE_HOME/nvdp or ~/.cache/nvdp); the files reveal
    the texts."""
    no_prefix_cache: Optional[bool] = _row(default_value="false")
    """Compute the states of the frozen layers in each step and cache nothing."""
    eval_batch: Optional[int] = _row(default_value="32", unit="texts", min=1.0, max=65536.0)
    """Texts per batch in evaluation [texts]. From 1 to 65536. Default: 32."""
    eval_draws: Optional[int] = _row(default_value="5", unit="draws", min=1.0, max=10000.0)
    """Number of noise draws for the final score [draws]. From 1 to 10000. Default: 5."""
    log_every: Optional[int] = _row(default_value="50", unit="steps", min=1.0, max=1000000000.0)
    """Number of steps between lines of metrics.jsonl [steps]. From 1 to 1000000000. Default: 50."""
    checkpoint_seconds: Optional[Union[float, str]] = _row(default_value="300", unit="s", min=0.0, max=1000000000.0)
    """Number of seconds between saved states [s]. From 0 to 1000000000. Default: 300."""
    threads: Optional[int] = _row(min=1.0, max=1024.0)
    """Number of threads (default: all processors). From 1 to 1024."""
