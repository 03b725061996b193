/* The options of training, evaluation and prediction, one row each. The defaults, checks, help,
 * files, grids of sweeps, differences in reports and the comparison on --resume are all derived
 * from these rows (options/schema.h). */
#include "train/training_options.h"

#include "base/sentence.h"
#include "encoder/row.h"
#include "mechanism/bottleneck_options.h"
#include "mechanism/mechanism.h"
#include "model/model.h"
#include "rdp/word.h"
#include <math.h>
#include <nvdp/evaluate.h>
#include <nvdp/guess.h>
#include <nvdp/rdp.h>
#include <stdlib.h>
#include <string.h>

const char *const nvdp__protocol_names[] = {
    [NVDP_PROTOCOL_HOLDOUT] = "holdout", [NVDP_PROTOCOL_DEV] = "dev", NULL};
static const char *const precisions[] = {[NVDP_PRECISION_F32] = "f32",
                                         [NVDP_PRECISION_BF16] = "bf16",
                                         [NVDP_PRECISION_INT8] =
                                             "int8", /* the model refuses to train in int8 */
                                         NULL};
const char *const nvdp__kl_schedule_names[] = {[NVDP__KL_CONSTANT] = "constant",
                                               [NVDP__KL_WARMUP] = "warmup",
                                               [NVDP__KL_DECAY] = "decay",
                                               NULL};
static const char *const anchors[] = {
    [NVDP__DECAY_TO_ZERO] = "zero", [NVDP__DECAY_TO_PRETRAINED] = "pretrained", NULL};

static const char *const optimizers[] = {
    [NVDP__OPTIMIZER_ADAMW] = "adamw", [NVDP__OPTIMIZER_SGD] = "sgd", NULL};
static const char *const objectives[] = {
    [NVDP__TRAIN_TASK] = "task", [NVDP__TRAIN_DISTILL] = "distill", NULL};
static const char *const selections[] = {
    [NVDP__SELECT_BEST] = "best", [NVDP__SELECT_LAST] = "last", NULL};

#define AT(member) NVDP_OPTION_AT(struct nvdp__train_options, member)

static const struct nvdp_option task_options[] = {
    {"task", NVDP_OPTION_TEXT, "TASK",
     "sst2, mrpc, stsb, rte, qqp, qnli, cola, mnli, tsv (your files: TSV, CSV or JSON lines), "
     "ner (words with BIO tags), or none, with --objective distill",
     NULL, AT(task), .group = "Task and data:", .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_REQUIRED},
    {"data", NVDP_OPTION_TEXT, "DIR",
     "folder with train.tsv and dev.tsv; for task tsv also .csv, .jsonl or .json", NULL, AT(data),
     .traits = NVDP_TRAIT_BASIC},
    {"representations", NVDP_OPTION_TEXT, "F.h5",
     "file to read in place of --data: noisy word vectors, labels and splits, written by nvdp "
     "sanitize --mechanism laplace with --model; for base and reg, whose word embeddings then stay "
     "fixed",
     NULL, AT(representations)},
    NVDP__TEXT_COLUMN_ROW(AT(columns.text_column), .parent = "columns", .key = "text"),
    NVDP__TEXT_PAIR_COLUMN_ROW(AT(columns.text_pair_column), .parent = "columns", .key = "pair"),
    NVDP__LABEL_COLUMN_ROW(AT(columns.label_column), .parent = "columns", .key = "label"),
    {"regression", NVDP_OPTION_FLAG, NULL, "tsv: labels are scores (regression)", NULL,
     AT(columns.regression), .parent = "columns"},
    {"max-length", NVDP_OPTION_INTEGER, "N", "maximum number of tokens per text", "128",
     AT(max_length), .unit = "tokens", .min = 3, .max = 4096, .traits = NVDP_TRAIT_BASIC},
    {"limit-train", NVDP_OPTION_INTEGER, "N", "train on a seeded sample of N rows; 0: all", "0",
     AT(limit_train), .unit = "texts"},
    {"limit-dev", NVDP_OPTION_INTEGER, "N",
     "score on a sample of N rows of the dev file, which is the same for every seed; 0: all", "0",
     AT(limit_dev), .unit = "texts"},
    {"class-weights", NVDP_OPTION_TEXT, "W",
     "weights of the classes in the loss: none, balanced (texts / (classes x texts of the class)), "
     "or one number per class, in the order of their names; in private training the weights apply "
     "to the clipped gradients, relative to the largest weight",
     "none", AT(class_weights)},
    {"skip-bad-rows", NVDP_OPTION_FLAG, NULL,
     "count malformed rows and skip them, instead of stopping at the first", NULL,
     AT(skip_bad_rows)},
    {"protocol", NVDP_OPTION_CHOICE, "P",
     "select the epoch on a part of the train file (holdout) or on the dev file (dev)", "holdout",
     AT(protocol), .choices = nvdp__protocol_names},
    {"holdout", NVDP_OPTION_REAL, "X", "share of the train file that is kept for validation", "0.1",
     AT(holdout), .min = 1e-4, .max = 0.9},
    {"objective", NVDP_OPTION_CHOICE, "O",
     "task, or distill: no task and no labels; a linear map of the encoder's sentence embeddings "
     "and a decoder learn to keep their similarities under the noise of method sentence; implies "
     "latent-dim 64, epochs 10, batch 256, lr 0.003",
     "task", AT(objective), .choices = objectives},
    {"input", NVDP_OPTION_TEXT, "F",
     "distill: public texts, one per line or a table; the shared file states the map and the "
     "decoder, which no noise protects: never give private texts; nvdp export refuses to share one "
     "of them, unless they are declared (--public-independent)",
     NULL, AT(input)},
    {"temperature", NVDP_OPTION_REAL, "X", "distill: temperature of the contrastive loss", "0.1",
     AT(temperature), .min = 1e-3, .max = 100},
    {"cosine-weight", NVDP_OPTION_REAL, "X",
     "distill: weight in the loss of the cosine between decoded and true embeddings", "0.2",
     AT(cosine_weight), .max = 1e6},
    {"folds", NVDP_OPTION_INTEGER, "K",
     "cross validation: split the train file into K parts, by document if it marks documents, and "
     "read no other file; 0: none",
     "0", AT(folds), .max = 1000},
    {"fold", NVDP_OPTION_INTEGER, "F",
     "with --folds: the part, from 1 to K, that takes the place of the dev file; 0: one run per "
     "part",
     "0", AT(fold), .max = 1000},
    {0},
};

static const struct nvdp_option model_options[] = {
    {"model", NVDP_OPTION_TEXT, "DIR",
     "encoder to start from (BERT or a relative), a directory in Hugging Face layout", NULL,
     AT(model), .group = "Model:", .traits = NVDP_TRAIT_BASIC},
    {"from-base", NVDP_OPTION_TEXT, "RUN",
     "start from a finished run of base or reg, in place of --model; uses its encoder, and for "
     "base and reg also its classifier if the task is the same; with --folds the run must not have "
     "seen the part that is scored",
     NULL, AT(from_base), .traits = NVDP_TRAIT_BASIC},
    {"base-epochs", NVDP_OPTION_INTEGER, "N",
     "train a bottleneck in two steps: fine-tune encoder and classifier for N epochs first "
     "(dropout 0.1, --lr) and save the result as RUN/base, then train the bottleneck with all "
     "layers frozen (or --freeze-layers layers); 0: train everything at once from --model; ignored "
     "with --from-base and in private training",
     "0", AT(base_epochs), .unit = "epochs", .max = 10000, .traits = NVDP_TRAIT_BOTTLENECK},
    {"preset", NVDP_OPTION_TEXT, "NAME",
     "set of values for options that are not given: certified (a proof over all texts), word (a "
     "proof per word), per-nat (a price per nat of divergence, no proof), pooled-gaussian, "
     "matrix-gaussian, or the path of a file in the format of --config; an unknown name lists the "
     "presets",
     NULL, AT(preset), .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_BOTTLENECK | NVDP_TRAIT_PRESET},
    {"method", NVDP_OPTION_CHOICE, "M", nvdp__method_help, "nvdp", AT(method),
     .choices = nvdp__method_names, .traits = NVDP_TRAIT_BASIC},
    {"encoder", NVDP_OPTION_CHOICE, "E",
     "bert: the encoder of the model"
#define ENCODER(name)
#define ENCODER_OVER_WORDS(name, help, units) "; " #name ": " help
#include "encoder/encoders.inc"
#undef ENCODER_OVER_WORDS
     "; implies method base, lr 1e-3, 3 epochs, dropout 0.1",
     "bert", AT(encoder), .choices = nvdp__encoder_choices},
    {"lstm-hidden", NVDP_OPTION_INTEGER, "N",
#define ENCODER_OVER_WORDS(name, help, units) #name ": " units
#include "encoder/encoders.inc"
#undef ENCODER_OVER_WORDS
#undef ENCODER
     "", "256", AT(lstm_hidden), .unit = "units", .min = 1, .max = 1 << 14},
    {"dropout", NVDP_OPTION_REAL, "X",
     "dropout of hidden states and attention; negative: the checkpoint's value; reg implies 0.1",
     "0", AT(dropout), .max = 0.99, .traits = NVDP_TRAIT_NEGATIVE},
    {"classifier-dropout", NVDP_OPTION_REAL, "X", "dropout before the classifier; reg implies 0.1",
     "0", AT(classifier_dropout), .max = 0.99},
    NVDP__FREEZE_LAYERS_ROW(
        "freeze the embeddings and the first K layers at the checkpoint's weights, without "
        "dropout; their states are computed once per text; 0: train all",
        AT(freeze_layers)),
    {"freeze-words", NVDP_OPTION_FLAG, NULL,
     "freeze the word embeddings at the checkpoint's weights (null privacy), as in a base run for "
     "token-noise laplace, which freezes them too",
     NULL, AT(freeze_words)},
    NVDP__PRECISION_ROW(AT(precision), .choices = precisions),
    {0},
};

static const struct nvdp_option noise_options[] = {
    {"token-noise", NVDP_OPTION_CHOICE, "M",
     "mechanism with which users privatize their own texts, one draw per text for training and "
     "scores; laplace-nearest, santext, santext-plus, random (output: other tokens), laplace "
     "(noisy word vectors; the table stays fixed), sequence-laplace (the noisy last state of the "
     "first token; the encoder stays fixed)",
     "none", AT(noise.mechanism), .choices = nvdp__text_noise_names,
     .group = "Privatized input, for base and reg:", .traits = NVDP_TRAIT_BASIC},
    {"noise-clip", NVDP_OPTION_REAL, "C", "sequence-laplace: clip states to norm C; 0: no clipping",
     "0", AT(noise.clip), .max = 1e9},
    {0},
};

static const struct nvdp_option certified_options[] = {
    {"certified-epsilon", NVDP_OPTION_REAL, "E",
     "bound epsilon between any two texts, measured or not, by E; sets clip-sequence from this "
     "budget for each text that is given away (the budget for the training texts is "
     "target-epsilon), and implies what clip-sequence implies; 0: none",
     "0", AT(certified_epsilon), .unit = "nats", .max = 1e6,
     .group = "Proof over all texts:", .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_BOTTLENECK},
    {"certified-delta", NVDP_OPTION_REAL, "D", "delta at which certified-epsilon holds", "1e-05",
     AT(certified_delta), .min = 1e-300, .max = 0.999, .traits = NVDP_TRAIT_BOTTLENECK},
    {"certified-releases", NVDP_OPTION_INTEGER, "S",
     "number of samples of a text that certified-epsilon and word-epsilon cover together", "1",
     AT(certified_releases), .unit = "samples", .min = 1, .max = 1e6,
     .traits = NVDP_TRAIT_BOTTLENECK},
    {"certified-guess", NVDP_OPTION_TEXT, "B:P",
     "set clip-sequence from the largest allowed success of a guess: whoever guesses anything "
     "about a text right with probability B without its samples is right with probability at most "
     "P with them; implies what clip-sequence implies; with certified-epsilon the smaller clip "
     "counts",
     AT(certified_guess), .traits = NVDP_TRAIT_BOTTLENECK},
    {0},
};

static const struct nvdp_option word_options[] = {
    {"word-epsilon", NVDP_OPTION_REAL, "E",
     "bound epsilon between any two texts that differ in one word by E; sets clip-word from this "
     "budget for each text that is given away, and implies what clip-sequence implies; needs a "
     "method with a certificate per word (word); 0: none",
     "0", AT(word_epsilon), .unit = "nats", .max = 1e6,
     .group = "Proof per word:", .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_BOTTLENECK},
    {"word-delta", NVDP_OPTION_REAL, "D", "delta at which word-epsilon holds", "1e-05",
     AT(word_delta), .min = 1e-300, .max = 0.999, .traits = NVDP_TRAIT_BOTTLENECK},
    {"word-layers", NVDP_OPTION_INTEGER, "K",
     "read each word, alone or with the words of word-window, with the first K layers of the "
     "model; 0: read the word embeddings alone, or with a word-window the first layer",
     "0", AT(word_layers), .unit = "layers", .max = 1024, .traits = NVDP_TRAIT_BOTTLENECK},
    {0},
};

static const struct nvdp_option lambda_options[] = {
    {"lambda-g", NVDP_OPTION_REAL, "X", "weight of the Gaussian regularizer in the loss", "0.01",
     AT(lambda_g), .max = 1e6,
     .group = "Privacy's weight in the loss:", .traits = NVDP_TRAIT_BOTTLENECK},
    {"lambda-d", NVDP_OPTION_REAL, "X", "weight of the Dirichlet regularizer in the loss", "0.01",
     AT(lambda_d), .max = 1e6, .traits = NVDP_TRAIT_BOTTLENECK},
    {"lambda", NVDP_OPTION_REAL, "X", "set both --lambda-g and --lambda-d",
     .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_BOTTLENECK | NVDP_TRAIT_NO_DEFAULT,
     .sets = (const char *const[]){"lambda-g", "lambda-d", NULL}},
    {0},
};

static const struct nvdp_option schedule_options[] = {
    {"kl-schedule", NVDP_OPTION_CHOICE, "S",
     "schedule of the regularizer weights: constant, warmup or decay; regularizer kl implies "
     "warmup, delay 0.2, ramp 0.5",
     "constant", AT(kl_schedule), .choices = nvdp__kl_schedule_names,
     .traits = NVDP_TRAIT_BOTTLENECK},
    {"kl-delay", NVDP_OPTION_REAL, "X", "warmup: share of the steps at the beginning with weight 0",
     "0.2", AT(kl_delay), .max = 1, .traits = NVDP_TRAIT_BOTTLENECK},
    {"kl-ramp", NVDP_OPTION_REAL, "X", "warmup: share of the steps in which the weight rises to 1",
     "0.5", AT(kl_ramp), .max = 1, .traits = NVDP_TRAIT_BOTTLENECK},
    {0},
};

static const struct nvdp_option optimizer_options[] = {
    NVDP__EPOCHS_ROW("10", AT(epochs), .group = "Optimizer:"),
    NVDP__TEXTS_PER_STEP_ROW(AT(batch), .traits = NVDP_TRAIT_BASIC),
    {"optimizer", NVDP_OPTION_CHOICE, "O", "adamw, or sgd, which implies lr 0.01", "adamw",
     AT(optimizer), .choices = optimizers},
    NVDP__MOMENTUM_ROW("sgd: momentum, the share of the last update in the next one", "0",
                       AT(momentum)),
    NVDP__ADAMW_ROWS(struct nvdp__train_options, "maximum learning rate", "2e-05", "0.1", "1e-08"),
    {"lr-bottleneck", NVDP_OPTION_REAL, "X",
     "maximum learning rate of the bottleneck; negative: --lr, the rate of the encoder", "-1",
     AT(lr_bottleneck), .max = 10, .traits = NVDP_TRAIT_BOTTLENECK | NVDP_TRAIT_NEGATIVE},
    {"lr-head", NVDP_OPTION_REAL, "X", "maximum learning rate of the classifier; negative: --lr",
     "-1", AT(lr_head), .max = 10, .traits = NVDP_TRAIT_NEGATIVE},
    {"decay-to", NVDP_OPTION_CHOICE, "W",
     "target of the weight decay: zero, or the checkpoint's weights (pretrained; new weights such "
     "as the classifier's decay to 0); reg implies pretrained and weight decay 0.01",
     "zero", AT(decay_to), .choices = anchors},
    {"select", NVDP_OPTION_CHOICE, "E",
     "epoch whose model is kept: best, by its validation score, or last", "best", AT(select),
     .choices = selections},
    NVDP__PATIENCE_ROW("3", AT(patience)),
    NVDP__SEED_ROW(AT(seed)),

    {"out", NVDP_OPTION_TEXT, "RUN", "run directory", NULL, AT(out),
     .group = "Output:", .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_REQUIRED | NVDP_TRAIT_NO_EFFECT},
    NVDP__RESUME_ROW(AT(resume)),
    NVDP__OVERWRITE_ROW(AT(overwrite)),
    NVDP__CACHE_ROW("tokens and frozen layers' states", AT(cache),
                    .traits = NVDP__OF_THE_CALL | NVDP_TRAIT_NO_DEFAULT),
    {"no-prefix-cache", NVDP_OPTION_FLAG, NULL,
     "compute the states of the frozen layers in each step and cache nothing", NULL,
     AT(no_prefix_cache), .traits = NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_UNSAVED},
    {"eval-batch", NVDP_OPTION_INTEGER, "N", "texts per batch in evaluation", "32", AT(eval_batch),
     .unit = "texts", .min = 1, .max = 65536, .traits = NVDP_TRAIT_NO_EFFECT},
    {"eval-draws", NVDP_OPTION_INTEGER, "N", "number of noise draws for the final score", "5",
     AT(eval_draws), .unit = "draws", .min = 1, .max = 10000},
    NVDP__LOG_EVERY_ROW(AT(log_every)),
    NVDP__CHECKPOINT_SECONDS_ROW(AT(checkpoint_seconds)),
    {0},
};

#define IN(member) offsetof(struct nvdp__train_options, member)
static const struct nvdp__section sections[] = {
    {.row = task_options},
    {.row = model_options},
    {.row = noise_options},
    {.row = nvdp__sanitizer_rows, .offset = IN(noise.sanitizer)},
    {.row = nvdp__bottleneck_options, .offset = IN(nvib), .parent = "nvib"},
    {.row = certified_options},
    {.row = word_options},
    {.row = lambda_options},
    {.row = nvdp__regularizer_options, .offset = IN(nvib), .parent = "nvib"},
    {.row = schedule_options},
    {.row = nvdp__dp_rows, .offset = IN(dp), .parent = "dp"},
    {.row = optimizer_options},
};

/* Options that a sequence clip implies: the clip fixes the variances, few rows share its norm, and the clip replaces
 * lambda as the budget. */
#define BY_SEQUENCE_CLIP(option)                                                                   \
    {option, NULL, "vib-sigma", "1"}, {option, NULL, "stdev-tau", "1"},                            \
        {option, NULL, "weights", "constant"}, {option, NULL, "row-index", "trained"},             \
        {option, NULL, "lambda-g", "0"}, {                                                         \
        option, NULL, "lambda-d", "0"                                                              \
    }

/* At full weight from the first step the exact regularizer overwhelms an untrained classifier,
 * and the posterior collapses to the prior. regularizer kl therefore implies a warm-up. */
static const struct nvdp__implied implied[] = {
    {"method", "reg", "dropout", "0.1"},
    {"method", "reg", "classifier-dropout", "0.1"},
    {"method", "reg", "weight-decay", "0.01"},
    {"method", "reg", "decay-to", "pretrained"},
    {"encoder", NULL, "method", "base"},
    {"encoder", NULL, "lr", "0.001"},
    {"encoder", NULL, "epochs", "3"},
    {"encoder", NULL, "dropout", "0.1"},
    {"encoder", NULL, "classifier-dropout", "0.1"},
    {"optimizer", "sgd", "lr", "0.01"},
    {"token-noise", NULL, "method", "base"},
    {"representations", NULL, "method", "base"},
    {"regularizer", "kl", "kl-schedule", "warmup"},
    {"regularizer", "kl", "kl-delay", "0.2"},
    {"regularizer", "kl", "kl-ramp", "0.5"},
    BY_SEQUENCE_CLIP("clip-sequence"),
    BY_SEQUENCE_CLIP("certified-epsilon"),
    BY_SEQUENCE_CLIP("certified-guess"),
    BY_SEQUENCE_CLIP("word-epsilon"),
    BY_SEQUENCE_CLIP("clip-word"),
    {"objective", "distill", "method", "sentence"},
    {"objective", "distill", "latent-dim", "64"},
    {"objective", "distill", "epochs", "10"},
    {"objective", "distill", "batch", "256"},
    {"objective", "distill", "lr", "0.003"},
    {"dp-batch", NULL, "select", "last"}, /* validation texts may be private, too */
    {"dp-batch", NULL, "patience", "0"},
    {"dp-batch", NULL, "clip-norm", "0"}, /* the noise alone exceeds the norm limit */
    {"dp-sample-rate", NULL, "select", "last"},
    {"dp-sample-rate", NULL, "patience", "0"},
    {"dp-sample-rate", NULL, "clip-norm", "0"},
};

static nvdp_status check_noise(struct nvdp_context *ctx,
                               const struct nvdp__train_options *options) {
    const int mechanism = options->noise.mechanism;
    const struct nvdp__token_row *row = nvdp__token_row(mechanism);
    const struct nvdp__encoder_row *encoder = nvdp__encoder_choice(options->encoder);
    NVDP_TRY(nvdp__token_noise_check(ctx, &options->noise));
    if (mechanism == NVDP__NOISE_NONE) return NVDP_OK;
    if (nvdp_method_is_private(options->method))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {token-noise} %s: expected method base or reg, found %s",
                          nvdp__text_noise_names[mechanism], nvdp_method_name(options->method));
    if (row->gives_vectors && options->freeze_layers > 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {token-noise} %s: expected freeze-layers 0, because the input of "
                          "the layers is random, found %zu",
                          nvdp__text_noise_names[mechanism], options->freeze_layers);
    if (row->on_sequence && encoder != NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {token-noise} %s: expected encoder bert, because the encoder is "
                          "frozen and must be pretrained, found %s",
                          nvdp__text_noise_names[mechanism], encoder->names.type);
    return NVDP_OK;
}

/* Reads "B:P", a baseline and the maximum probability of a right guess. Sets *radius to the largest clip for which this
 * maximum holds. */
static nvdp_status read_guess(struct nvdp_context *ctx, const char *text, size_t releases,
                              double *radius) {
    char *end = NULL;
    const double baseline = nvdp__strtod(text, &end);
    const double target = *end == ':' ? nvdp__strtod(end + 1, &end) : NAN;
    *radius = *end == '\0' ? nvdp_guess_clip(baseline, target, (int)releases, 0) : NAN;
    return *radius > 0 ? NVDP_OK
                       : nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                                    "option {certified-guess}: expected B:P with 0 < B < P < 1, as "
                                    "in 0.001:0.05, found '%s'",
                                    text);
}

/* Sets clip-word from word-epsilon. */
static nvdp_status calibrate_word(struct nvdp_context *ctx, struct nvdp__train_options *config) {
    double *word = &config->nvib.clip.word;
    const bool budget = config->word_epsilon > 0;
    const struct {
        const char *name;
        bool given;
    } option[] = {{"word-epsilon", budget},
                  {"word-delta", config->word_delta != nvdp__train_defaults().word_delta},
                  {"clip-word", !isinf(*word)},
                  {"word-window", config->nvib.clip.window > 0},
                  {"word-layers", config->word_layers > 0}};
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        if (option[i].given && !nvdp__method_row(config->method)->words)
            return nvdp__fail_option(ctx, NVDP_ERR_ARGUMENT, option[i].name,
                                     ": expected a method with a certificate per word (word), "
                                     "found {method} %s",
                                     nvdp_method_name(config->method));
    if (!budget) return NVDP_OK;
    const double mu = nvdp_gdp_mu(config->word_epsilon, config->word_delta) /
                      sqrt((double)config->certified_releases);
    const struct nvdp__word_clip with = {.text = config->nvib.clip.sequence,
                                         .window = (double)config->nvib.clip.window};
    const double radius = nvdp__word_clip_for(&with, mu);
    if (!(radius >= 1e-6))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {word-epsilon}: expected enough for a clip-word of at least 1e-6 "
                          "with clip-sequence %g, found %g at delta %g",
                          with.text, config->word_epsilon, config->word_delta);
    if (!isinf(*word) && fabs(*word - radius) > 1e-9 * radius)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {clip-word}: {word-epsilon} already sets a clip, %.9g; leave "
                          "{clip-word} out, found %g",
                          radius, *word);
    *word = radius;
    return NVDP_OK;
}

static nvdp_status calibrate_text(struct nvdp_context *ctx, struct nvdp__train_options *config) {
    const double budget = config->certified_epsilon;
    const char *guess = config->certified_guess;
    const char *option = budget > 0 ? "certified-epsilon" : "certified-guess";
    double *clip = &config->nvib.clip.sequence, radius = INFINITY;
    if (budget == 0 && guess == NULL) return NVDP_OK;
    if (guess != NULL) NVDP_TRY(read_guess(ctx, guess, config->certified_releases, &radius));
    if (budget > 0)
        radius = fmin(radius, nvdp_gdp_mu(budget, config->certified_delta) /
                                  (2 * sqrt((double)config->certified_releases)));
    if (!nvdp_method_is_private(config->method))
        return nvdp__fail_option(ctx, NVDP_ERR_ARGUMENT, option,
                                 ": expected a method with a bottleneck, found %s",
                                 nvdp_method_name(config->method));
    if (nvdp__method_weighted(nvdp__method_row(config->method), &config->nvib))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {weights}: expected constant with %s, found learned, which costs "
                          "additional epsilon",
                          nvdp__as_option(ctx, option).text);
    if (nvdp__clips_sequence(&config->nvib.clip) && fabs(*clip - radius) > 1e-9 * radius)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {clip-sequence}: %s already sets a clip, %.9g; leave {clip-sequence} out, "
            "found %g%s",
            nvdp__as_option(ctx, option).text, radius, *clip,
            budget > 0 ? nvdp__with_options(ctx, " ({certified-epsilon} 0 keeps this clip)").text
                       : "");
    *clip = radius;
    return NVDP_OK;
}

nvdp_status nvdp__train_calibrate(struct nvdp_context *ctx, struct nvdp__train_options *config) {
    NVDP_TRY(calibrate_text(ctx, config));
    return calibrate_word(ctx, config);
}

bool nvdp__has_budget(const struct nvdp__train_options *config) {
    return config->certified_epsilon > 0 || config->certified_guess != NULL ||
           config->word_epsilon > 0;
}

/* Checks the options of a bottleneck that do not depend on the model. */
static nvdp_status check_bottleneck(struct nvdp_context *ctx,
                                    const struct nvdp__train_options *options) {
    static const struct nvdp_bert_config any = {.hidden_size = SIZE_MAX, .num_attention_heads = 1};
    struct nvdp__train_options copy = *options;
    NVDP_TRY(nvdp__train_calibrate(ctx, &copy));
    if (!nvdp_method_is_private(copy.method)) return NVDP_OK;
    if (copy.nvib.length == 0) copy.nvib.length = copy.max_length;
    return nvdp__method_resolve(ctx, copy.method, &any, &copy.nvib);
}

/* Checks the options of the objective distill that do not depend on the model. */
static nvdp_status check_distill(struct nvdp_context *ctx,
                                 const struct nvdp__train_options *options) {
    const char *missing = options->input == NULL   ? "input"
                          : options->model == NULL ? "model"
                                                   : NULL;
    if (missing != NULL)
        return nvdp__fail_option(ctx, NVDP_ERR_ARGUMENT, missing,
                                 " is needed with {objective} distill");
    if (!nvdp__method_row(options->method)->untrained)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {method}: expected sentence with {objective} distill, found %s",
                          nvdp_method_name(options->method));
    if (options->nvib.latent_dim == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {latent-dim}: expected at least 1 with {objective} distill, "
                          "found 0");
    return check_bottleneck(ctx, options);
}

/* Fails if an option was given that the objective distill does not read. */
static nvdp_status check_distill_given(struct nvdp_context *ctx, const struct nvdp_config *config) {
    /* clang-format off */
    static const char *const read[] = {
        "task", "objective", "input", "model", "method", "text-column", "out", "overwrite",
        "resume", "seed", "clip-sequence", "certified-epsilon", "certified-delta",
        "certified-guess", "certified-releases", "temperature", "cosine-weight", "latent-dim",
        "epochs", "batch", "holdout", "eval-batch", "eval-draws", "lr", "warmup", "clip-norm",
        "beta1", "beta2", "adam-eps", "cache", "public-independent"};
    /* clang-format on */
    for (const struct nvdp__section *section = nvdp__train_schema.section;
         section < nvdp__train_schema.section + nvdp__train_schema.sections; section++)
        for (const struct nvdp_option *row = section->row; row->name != NULL; row++) {
            bool known = !nvdp_config_is_set(config, row->name);
            for (size_t k = 0; k < sizeof read / sizeof *read; k++)
                known |= strcmp(row->name, read[k]) == 0;
            if (!known)
                return nvdp__fail_option(ctx, NVDP_ERR_ARGUMENT, row->name,
                                         " has no effect with {objective} distill; leave it out");
        }
    return NVDP_OK;
}

static nvdp_status check_encoder(struct nvdp_context *ctx,
                                 const struct nvdp__train_options *options) {
    const struct nvdp__encoder_row *encoder = nvdp__encoder_choice(options->encoder);
    if (encoder != NULL && !encoder->bottleneck && nvdp_method_is_private(options->method))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {encoder} %s: expected method base or reg, found %s",
                          encoder->names.type, nvdp_method_name(options->method));
    if (encoder != NULL && encoder->tensors_below == NULL && options->freeze_layers > 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {encoder} %s: expected freeze-layers 0, because its word "
                          "embeddings are never trained, found %zu",
                          encoder->names.type, options->freeze_layers);
    return NVDP_OK;
}

static nvdp_status check_data(struct nvdp_context *ctx, const struct nvdp__train_options *options) {
    if ((options->data == NULL) == (options->representations == NULL))
        return options->data == NULL
                   ? nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "option {data} is needed")
                   : nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                                "option {data} and {representations} exclude each other");
    if (options->representations != NULL &&
        (nvdp_method_is_private(options->method) || options->freeze_layers > 0 ||
         options->noise.mechanism != NVDP__NOISE_NONE || strcmp(options->task, "tsv") == 0))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {representations}: expected method base or reg, token-noise none, "
            "freeze-layers 0 and a task that is not tsv, found %s, %s, %zu and %s",
            nvdp_method_name(options->method), nvdp__text_noise_names[options->noise.mechanism],
            options->freeze_layers, options->task);
    if (strcmp(options->task, "tsv") != 0) return NVDP_OK;
    if (options->columns.text_column == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "option {text-column} is needed for {task} tsv");
    if (options->columns.label_column == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "option {label-column} is needed for {task} tsv");
    return NVDP_OK;
}

static nvdp_status check_task(struct nvdp_context *ctx, const struct nvdp__train_options *options) {
    if (options->model == NULL && options->from_base == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "option {model} or {from-base} is needed");
    NVDP_TRY(check_encoder(ctx, options));
    if (nvdp__method_row(options->method)->words && options->base_epochs > 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {base-epochs}: expected 0 with {method} %s, which takes the "
                          "word embeddings or lower layers of a model, found %zu",
                          nvdp_method_name(options->method), options->base_epochs);
    if (nvdp__method_row(options->method)->untrained)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {method}: expected a method to train, found %s, which has no "
                          "trained parameters; nvdp export {model} or {objective} distill makes "
                          "its runs",
                          nvdp_method_name(options->method));
    NVDP_TRY(check_noise(ctx, options));
    NVDP_TRY(nvdp__dp_check(ctx, &options->dp));
    NVDP_TRY(check_bottleneck(ctx, options));
    return check_data(ctx, options);
}

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct nvdp__train_options *options = values;
    const bool none = options->task != NULL && strcmp(options->task, "none") == 0;
    if (none != (options->objective == NVDP__TRAIN_DISTILL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "options {task} and {objective}: expected none with distill, or a task "
                          "with task, found %s and %s",
                          options->task != NULL ? options->task : "no task",
                          objectives[options->objective]);
    if (!none && options->input != NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "option {input} needs {objective} distill");
    if (!none && options->folds == 1)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {folds}: expected 0 or at least 2, found 1");
    if (!none && options->fold > options->folds)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {fold}: expected at most %zu, the value of {folds}, found %zu",
                          options->folds, options->fold);
    if (!none && options->folds > 0 && options->representations != NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "options {folds} and {representations} exclude each other");
    NVDP_TRY(nvdp__schema_check_texts(ctx, &nvdp__train_schema, options));
    if (options->resume != NULL && options->overwrite)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "resume and overwrite exclude each other");
    return none ? check_distill(ctx, options) : check_task(ctx, options);
}

const struct nvdp__schema nvdp__train_schema = {.kind = "training",
                                                .size = sizeof(struct nvdp__train_options),
                                                .section = sections,
                                                .sections = sizeof sections / sizeof *sections,
                                                .implied = implied,
                                                .implications = sizeof implied / sizeof *implied,
                                                .check = check};

struct nvdp__train_options nvdp__train_defaults(void) {
    struct nvdp__train_options options;
    nvdp__schema_default(&nvdp__train_schema, &options);
    return options;
}

static bool is_unread(enum nvdp_method method, const struct nvdp_option *option) {
    const char *const *unread = nvdp__method_row(method)->unread;
    for (; unread != NULL && *unread != NULL; unread++)
        if (strcmp(*unread, option->name) == 0) return true;
    return !nvdp_method_is_private(method) && (option->traits & NVDP_TRAIT_BOTTLENECK) != 0;
}

/* Logs the given options that the method does not read. */
static void list_unread(struct nvdp_context *ctx, const struct nvdp_config *config,
                        enum nvdp_method method) {
    char names[1024] = "";
    struct nvdp__writer say = {names, sizeof names, 0};
    for (size_t i = 0; i < nvdp__train_schema.sections; i++)
        for (const struct nvdp_option *row = sections[i].row; row->name != NULL; row++)
            if (row->sets == NULL && nvdp_config_is_set(config, row->name) &&
                is_unread(method, row))
                nvdp__append(&say, "%s%s", say.used > 0 ? ", " : "",
                             nvdp__as_option(ctx, row->name).text);
    if (say.used > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "method %s %s; options without effect: %s",
                  nvdp_method_name(method),
                  nvdp_method_is_private(method) ? "reads other options" : "has no bottleneck",
                  names);
}

nvdp_status nvdp__train_open(struct nvdp_context *ctx, const struct nvdp_config *config,
                             struct nvdp__train_options *out) {
    static const char *const of_distill[] = {"temperature", "cosine-weight"};
    NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__train_schema, out));
    const bool distill = out->objective == NVDP__TRAIN_DISTILL;
    if (distill) NVDP_TRY(check_distill_given(ctx, config));
    if (out->resume != NULL) return NVDP_OK; /* checked later */
    for (size_t k = 0; !distill && k < sizeof of_distill / sizeof *of_distill; k++)
        if (nvdp_config_is_set(config, of_distill[k]))
            return nvdp__fail_option(ctx, NVDP_ERR_ARGUMENT, of_distill[k],
                                     " needs {objective} distill");
    NVDP_TRY(nvdp_config_check(config));
    if (!distill) list_unread(ctx, config, out->method);
    return NVDP_OK;
}

const struct nvdp__kind nvdp__kind_train = {"train", {&nvdp__train_schema}};

/* --- a split of a finished run --- */

#define RUN(member) NVDP_OPTION_AT(struct nvdp__run_options, member)
#define SPLITS "train, validation, dev, test, dev-mismatched or test-mismatched"

static const struct nvdp_option run_options[] = {
    NVDP__RUN_ROW(RUN(run)),
    {0},
};
static const struct nvdp_option split_options[] = {
    {"split", NVDP_OPTION_TEXT, "NAME", SPLITS, "dev", RUN(split), .traits = NVDP_TRAIT_BASIC},
    {0}};
static const struct nvdp_option test_split_options[] = {
    {"split", NVDP_OPTION_TEXT, "NAME", SPLITS, "test", RUN(split)}, {0}};
static const struct nvdp_option texts_options[] = {
    NVDP__MEASURED_DATA_ROW(RUN(data), .traits = NVDP_TRAIT_BASIC),
    NVDP__LIMIT_ROW(RUN(limit), .traits = NVDP_TRAIT_BASIC),
    NVDP__TEXTS_PER_BATCH_ROW(RUN(batch)),
    NVDP__SEED_ROW(RUN(seed)),
    {0},
};
static const struct nvdp_option draws_options[] = {
    {"draws", NVDP_OPTION_INTEGER, "N", "number of noise draws to average over", "5", RUN(draws),
     .unit = "draws", .min = 1, .max = 10000},
    {0},
};
static const struct nvdp_option prediction_options[] = {
    {"input", NVDP_OPTION_TEXT, "F",
     "file of new texts to predict in place of a split, one per line (a pair is two texts "
     "separated by a tab), - for standard input; or a table (.tsv, .csv, .json) with the task's "
     "columns; prints one JSON object per text",
     NULL, RUN(input), .group = "New texts:"},
    NVDP__MAPPED_ENCODER_ROW(RUN(model)),
    NVDP__RELEASED_COLUMN_ROW(RUN(text_column)),
    NVDP__TEXT_PAIR_COLUMN_ROW(RUN(pair_column)),
    {"samples", NVDP_OPTION_INTEGER, "S",
     "noisy samples per text over whose predictions (probabilities or scores) the result is "
     "averaged",
     "5", RUN(draws), .unit = "samples", .min = 1, .max = 10000},
    {"probabilities", NVDP_OPTION_FLAG, NULL, "print the probabilities of all classes", NULL,
     RUN(probabilities)},
    {"out", NVDP_OPTION_TEXT, "FILE",
     "file to write (default RUN/predictions_SPLIT.tsv; with --input standard output)", NULL,
     RUN(out), .group = "Output:", .traits = NVDP_TRAIT_NO_EFFECT},
    {0},
};

static const struct nvdp__section run_sections[] = {
    {.row = run_options}, {.row = split_options}, {.row = texts_options}};
static const struct nvdp__section evaluate_sections[] = {
    {.row = run_options}, {.row = split_options}, {.row = texts_options}, {.row = draws_options}};
static const struct nvdp__section predict_sections[] = {{.row = run_options},
                                                        {.row = test_split_options},
                                                        {.row = texts_options},
                                                        {.row = prediction_options}};
#define RUN_SCHEMA(kind_, sections_)                                                               \
    {                                                                                              \
        .kind = (kind_), .size = sizeof(struct nvdp__run_options), .section = (sections_),         \
        .sections = sizeof(sections_) / sizeof *(sections_)                                        \
    }
const struct nvdp__schema nvdp__run_schema = RUN_SCHEMA("a run's posteriors", run_sections);
const struct nvdp__schema nvdp__evaluate_schema = RUN_SCHEMA("evaluation", evaluate_sections);
const struct nvdp__schema nvdp__predict_schema = RUN_SCHEMA("prediction", predict_sections);

const struct nvdp__kind nvdp__kind_run = {"run", {&nvdp__run_schema}};

const struct nvdp__kind nvdp__kind_evaluate = {"evaluate", {&nvdp__evaluate_schema}};

const struct nvdp__kind nvdp__kind_predict = {"predict", {&nvdp__predict_schema}};
