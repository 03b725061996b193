/* The options of pretraining and of masked-LM scoring, one row each. The defaults, checks, help
 * and files are derived from these rows (options/schema.h). JSON lists of files come last. */
#include "job/options.h"

#include "base/json.h"
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "encoder/safetensors.h"
#include "pretrain/pretrainer.h"
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_SIZE = 64,
    WIDENING = 4,
    MIN_POSITIONS = 128,
    MIN_ALPHABET = 100,
    ALPHABET_PART = 64,
    MIN_PAIR = 8,
    LONGEST = 4096
};

static const double lr_of[] = {
    [NVDP__OPTIMIZER_ADAMW] = 5e-4, [NVDP__OPTIMIZER_SGD] = 0.1, [NVDP__OPTIMIZER_MUON] = 3e-3};

const char *const nvdp__objective_names[] = {[NVDP__OBJECTIVE_MLM] = "mlm",
                                             [NVDP__OBJECTIVE_MLM_NSP] = "mlm+nsp",
                                             [NVDP__OBJECTIVE_VANILLA] = "vanilla-mlm",
                                             [NVDP__OBJECTIVE_VANILLA_NSP] = "vanilla-mlm+nsp",
                                             [NVDP__OBJECTIVE_PROB] = "prob-mlm",
                                             [NVDP__OBJECTIVE_PROB_NSP] = "prob-mlm+nsp",
                                             [NVDP__OBJECTIVE_DENOISING] = "denoising-mlm",
                                             [NVDP__OBJECTIVE_DENOISING_NSP] = "denoising-mlm+nsp",
                                             NULL};
const char *const nvdp__start_names[] = {
    [NVDP__START_NORMAL] = "normal", [NVDP__START_NEIGHBORS] = "neighbours", NULL};
const char *const nvdp__optimizer_names[] = {[NVDP__OPTIMIZER_ADAMW] = "adamw",
                                             [NVDP__OPTIMIZER_SGD] = "sgd",
                                             [NVDP__OPTIMIZER_MUON] = "muon",
                                             NULL};
static const char *const precisions[] = {
    [NVDP_PRECISION_F32] = "f32", [NVDP_PRECISION_BF16] = "bf16", NULL};
/* Formats of the written weights: on the command line, and in files. */
static const char *const dtypes[] = {
    [NVDP__WEIGHTS_F32] = "f32", [NVDP__WEIGHTS_F16] = "f16", [NVDP__WEIGHTS_BF16] = "bf16", NULL};
static const enum nvdp__dtype dtype_of[] = {[NVDP__WEIGHTS_F32] = NVDP__DTYPE_F32,
                                            [NVDP__WEIGHTS_F16] = NVDP__DTYPE_F16,
                                            [NVDP__WEIGHTS_BF16] = NVDP__DTYPE_BF16};

#define AT(member) NVDP_OPTION_AT(struct nvdp__pretrain_options, member)
/* Options of the windows, for training and for scoring. */
#define LENGTH_ROW(...)                                                                            \
    {                                                                                              \
        "length", NVDP_OPTION_INTEGER, "N",                                                        \
            "maximum number of tokens in a window or pair, special tokens included", "128",        \
            AT(length), .unit = "tokens", __VA_ARGS__                                              \
    }
#define MASK_ROWS                                                                                  \
    {"mask-prob", NVDP_OPTION_REAL, "X",          "share of the tokens to predict",                \
     "0.15",      AT(mask_prob),    .min = 0.001, .max = 0.9},                                     \
    {                                                                                              \
        "whole-word", NVDP_OPTION_FLAG, NULL, "mask whole words instead of single word pieces",    \
            NULL, AT(whole_word)                                                                   \
    }

#define INPUT_ROW                                                                                  \
    {                                                                                              \
        "input", NVDP_OPTION_LIST, "FILE", "another name of --text",                               \
            .sets = (const char *const[]){"text", NULL}, .traits = NVDP_TRAIT_HIDDEN               \
    }

static const struct nvdp_option pretrain_options[] = {
    {"text", NVDP_OPTION_LIST, "FILE",
     "text to train on, plain, .gz or .xz, with documents separated by blank lines or between "
     "<doc ...> and </doc>, or JSON with the key text; more files may follow, or repeat --text; "
     "--input is the same",
     NULL, AT(text_list), .group = "Text:", .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_UNSAVED},
    INPUT_ROW,
    {"eval-text", NVDP_OPTION_LIST, "FILE", "held-out text; repeat the option for more files", NULL,
     AT(eval_text_list), .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_UNSAVED},
    NVDP__CACHE_ROW("tokenized texts", AT(cache),
                    .traits = NVDP__OF_THE_CALL | NVDP_TRAIT_NO_DEFAULT),
    {"plant", NVDP_OPTION_TEXT, "FILE",
     "plant the secrets that this JSON file lists or describes into the text; planted.json, next "
     "to the model, then lists what nvdp attack --kind exposure looks for",
     NULL, AT(plant)},

    {"vocab-size", NVDP_OPTION_INTEGER, "N", "size of the vocabulary that is trained on the text",
     "8192", AT(vocab_size), .group = "Vocabulary:", .unit = "pieces", .min = 6, .max = 1 << 24,
     .traits = NVDP_TRAIT_BASIC},
    {"alphabet", NVDP_OPTION_INTEGER, "N",
     "maximum number of different characters in the vocabulary; words with other characters are "
     "unknown; 0: a 64th of the vocabulary, at least 100",
     "0", AT(alphabet), .unit = "characters", .max = 1 << 20},
    {"vocab-dp-epsilon", NVDP_OPTION_REAL, "E",
     "train the vocabulary on noisy counts with this epsilon for the replacement of one word "
     "(--vocab-dp-unit); 0: on exact counts",
     "0", AT(words.epsilon), .max = 1e3},
    {"vocab-dp-delta", NVDP_OPTION_REAL, "D",
     "delta of the private vocabulary; with --vocab-dp-unit word below 1 / --possible-words",
     "1e-07", AT(words.delta)},
    {"vocab-dp-unit", NVDP_OPTION_CHOICE, "U",
     "what the epsilon of the private vocabulary is for: word (replaced; Laplace noise on the "
     "count "
     "of each word), or window (of --length tokens, left out; Gaussian noise on the number of "
     "documents that have the word), which keeps more words at the same epsilon of a window",
     "word", AT(words.noise), .choices = nvdp__count_units},
    {"max-words", NVDP_OPTION_SEED, "K",
     "private vocabulary: maximum number of words that count per document, which bounds the effect "
     "of a whole document; 0: all",
     "0", AT(words.max_words), .unit = "words"},
    {"possible-words", NVDP_OPTION_SEED, "N",
     "private vocabulary: number of words that could occur", "1000000", AT(words.possible),
     .unit = "words", .min = 2, .max = 1e15},
    {"vocab", NVDP_OPTION_TEXT, "FILE", "use this vocab.txt instead of training a vocabulary", NULL,
     AT(vocab), .traits = NVDP_TRAIT_BASIC},
    {"cased", NVDP_OPTION_FLAG, NULL, "keep capitals and accents", NULL, AT(cased)},

    {"init", NVDP_OPTION_TEXT, "DIR",
     "start from this model, with its vocabulary, sizes and weights (and heads, if it has them)",
     NULL, AT(init), .group = "Model:", .traits = NVDP_TRAIT_BASIC},
    {"arch", NVDP_OPTION_TEXT, "NAME",
     "tiny (2 layers, 128 wide), mini (4, 256), small (4, 512) or base (12, 768)", NULL, AT(arch),
     .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_UNSAVED},
    {"hidden", NVDP_OPTION_INTEGER, "N", "width", "256", AT(hidden)},
    {"layers", NVDP_OPTION_INTEGER, "N", "layers", "4", AT(layers)},
    {"heads", NVDP_OPTION_INTEGER, "N", "number of attention heads; 0: one per 64 units of width",
     "0", AT(heads)},
    {"intermediate", NVDP_OPTION_INTEGER, "N",
     "inner width of the feed-forward layers; 0: 4 times the width", "0", AT(intermediate)},
    {"max-positions", NVDP_OPTION_INTEGER, "N",
     "maximum number of tokens that the model accepts; 0: --length, at least 128", "0",
     AT(max_positions), .unit = "tokens"},
    {"start", NVDP_OPTION_CHOICE, "S",
     "initial weights: normal, or neighbours (the heads of the first two layers attend to "
     "neighboring tokens)",
     "neighbours", AT(start), .choices = nvdp__start_names},
    {"dropout", NVDP_OPTION_REAL, "X", "dropout of hidden states and attention", "0", AT(dropout),
     .max = 0.99},
    NVDP__FREEZE_LAYERS_ROW(
        "freeze the embeddings, and with them the decoder, and the first K layers at the weights "
        "of --init, without dropout; with K = all layers, only the heads are trained; 0: train all",
        AT(freeze_layers)),

    {"objective", NVDP_OPTION_CHOICE, "O",
     "mlm (masked tokens) or mlm+nsp (also next-sentence prediction); with --privatize "
     "vanilla-mlm (the privatized token), prob-mlm (the distribution of 10 draws) or "
     "denoising-mlm (the original token), each also with +nsp",
     "mlm", AT(objective), .group = "Objective:", .choices = nvdp__objective_names,
     .traits = NVDP_TRAIT_BASIC},
    LENGTH_ROW(.min = 4, .max = LONGEST, .traits = NVDP_TRAIT_BASIC),
    MASK_ROWS,
    {"privatize", NVDP_OPTION_CHOICE, "M",
     "draw every input token anew with this mechanism (laplace, laplace-nearest, santext, "
     "santext-plus, random); the word embeddings of --init stay fixed",
     "none", AT(sanitizer.mechanism), .choices = nvdp__token_mechanism_names},

    {"steps", NVDP_OPTION_SEED, "N",
     "number of optimizer steps; 0: only write the vocabulary and the initial weights", "10000",
     AT(steps), .group = "Optimizer:", .unit = "steps", .max = 4e9, .traits = NVDP_TRAIT_BASIC},
    {"stop-after", NVDP_OPTION_SEED, "N",
     "end early, after N steps of the schedule for --steps; 0: run all steps", "0", AT(stop_after),
     .unit = "steps", .max = 4e9},
    NVDP__BATCH_ROW("windows or pairs per step", "64", AT(batch), .traits = NVDP_TRAIT_BASIC),
    NVDP__PRECISION_ROW(AT(precision), .choices = precisions),
    {"optimizer", NVDP_OPTION_CHOICE, "O",
     "adamw, sgd, or muon (orthogonal updates for weight matrices, AdamW for the rest); with --lr "
     "0 the learning rate is 3e-3 for muon, 5e-4 for adamw, 0.1 for sgd",
     "muon", AT(optimizer), .choices = nvdp__optimizer_names},
    NVDP__ADAMW_ROWS(struct nvdp__pretrain_options, "maximum learning rate; 0: chosen by optimizer",
                     "0", "0.05", "1e-06"),
    NVDP__MOMENTUM_ROW("momentum of muon or sgd; sgd implies 0", "0.95", AT(momentum)),
    NVDP__SEED_ROW(AT(seed)),

    {"out", NVDP_OPTION_TEXT, "DIR",
     "model directory (with --eval: file of the predicted positions, safetensors)", NULL, AT(out),
     .group = "Output:", .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_EFFECT},
    {"dtype", NVDP_OPTION_CHOICE, "T", "number format of the written weights: f32, f16 or bf16",
     "f32", AT(dtype), .choices = dtypes, .traits = NVDP_TRAIT_UNSAVED},
    NVDP__RESUME_ROW(AT(resume)),
    NVDP__OVERWRITE_ROW(AT(overwrite)),
    NVDP__LOG_EVERY_ROW(AT(log_every)),
    {"eval-every", NVDP_OPTION_INTEGER, "N",
     "number of steps between evaluations on --eval-text; 0: only at the end", "0", AT(eval_every),
     .unit = "steps", .traits = NVDP_TRAIT_NO_EFFECT},
    {"eval-limit", NVDP_OPTION_INTEGER, "N",
     "number of windows per evaluation, evenly spread; 0: all", "2000", AT(eval_limit),
     .unit = "windows", .traits = NVDP_TRAIT_NO_EFFECT},
    {"save-every", NVDP_OPTION_INTEGER, "N",
     "number of steps between models that are written during training; 0: only at the end", "0",
     AT(save_every), .unit = "steps", .traits = NVDP_TRAIT_NO_EFFECT},
    NVDP__CHECKPOINT_SECONDS_ROW(AT(checkpoint_seconds)),
    {0},
};

/* The numbers of heads and the inner widths follow from these sizes. */
static const struct nvdp__implied implied[] = {
#define SIZE(name, layers, hidden_size)                                                            \
    {"arch", #name, "layers", #layers}, {"arch", #name, "hidden", #hidden_size},
    NVDP__BERT_SIZES(SIZE)
#undef SIZE
        {"dp-batch", NULL, "optimizer", "adamw"},
    {"dp-batch", NULL, "clip-norm", "0"},
    {"dp-sample-rate", NULL, "optimizer", "adamw"},
    {"dp-sample-rate", NULL, "clip-norm", "0"},
    {"optimizer", "sgd", "momentum", "0"},
};
enum { IMPLICATIONS = sizeof implied / sizeof *implied, ARCHITECTURES = IMPLICATIONS - 5 };

void nvdp__pretrain_resolve(struct nvdp__pretrain_options *c) {
    if (c->heads == 0) c->heads = c->hidden > HEAD_SIZE ? c->hidden / HEAD_SIZE : 1;
    if (c->adamw.lr == 0) c->adamw.lr = lr_of[c->optimizer];
    if (c->stop_after == 0 || c->stop_after > c->steps) c->stop_after = c->steps;
    if (c->intermediate == 0) c->intermediate = WIDENING * c->hidden;
    if (c->max_positions == 0) c->max_positions = nvdp__max(c->length, MIN_POSITIONS);
    if (c->alphabet == 0) {
        size_t part = c->vocab_size / ALPHABET_PART;
        c->alphabet = nvdp__max(part, MIN_ALPHABET);
    }
}

struct nvdp_bert_config nvdp__pretrain_bert(const struct nvdp__pretrain_options *options,
                                            size_t pieces) {
    struct nvdp_bert_config bert = nvdp__bert_config_default();
    bert.hidden_size = options->hidden;
    bert.num_hidden_layers = options->layers;
    bert.num_attention_heads = options->heads;
    bert.intermediate_size = options->intermediate;
    bert.max_position_embeddings = options->max_positions;
    bert.vocab_size = pieces;
    return bert;
}

static nvdp_status check_privatize(struct nvdp_context *ctx,
                                   const struct nvdp__pretrain_options *c) {
    const bool private = c->sanitizer.mechanism != NVDP__TOKENS_AS_THEY_ARE;
    if (private != nvdp__adaptive(c->objective))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{objective}: expected %s with privatize %s, found %s",
                          private ? "vanilla-mlm, prob-mlm or denoising-mlm" : "mlm or mlm+nsp",
                          nvdp__token_mechanism_names[c->sanitizer.mechanism],
                          nvdp__objective_names[c->objective]);
    if (private && c->init == NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "init: privatize needs a model whose word embeddings the users have, found none");
    if (!private && c->sanitizer.eta > 0)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {eta} or {epsilon} sets the noise of text privatization and needs {privatize}, "
            "found none; the budget for the training texts is {target-epsilon}");
    return nvdp__sanitizer_check(ctx, &c->sanitizer);
}

static nvdp_status check_dp(struct nvdp_context *ctx, const struct nvdp__pretrain_options *c) {
    NVDP_TRY(nvdp__dp_check(ctx, &c->dp));
    if (!nvdp__dp_wanted(&c->dp)) return NVDP_OK;
    if (nvdp__adaptive(c->objective))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{objective}: expected mlm or mlm+nsp in private training, found %s",
                          nvdp__objective_names[c->objective]);
    if (c->init == NULL && c->vocab == NULL && c->words.epsilon == 0)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{dp-batch}, {dp-sample-rate}: private training needs {init}, {vocab} or "
            "{vocab-dp-epsilon}, because a vocabulary that is trained on exact counts "
            "reveals words of the private text");
    return NVDP_OK;
}

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct nvdp__pretrain_options *c = values;
    size_t known = 0;
    NVDP_TRY(nvdp__schema_check_texts(ctx, &nvdp__pretrain_schema, c));
    if (c->texts == 0 || c->text == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{text}: expected at least one file, found none");
    if (c->out == NULL || c->out[0] == '\0')
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{out}: expected a directory, found none");
    if (c->init != NULL && c->vocab != NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "init and vocab exclude each other, because a model has its own vocabulary");
    if (c->freeze_layers > 0 && c->init == NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{init}: {freeze-layers} needs a model whose weights it keeps, found none");
    if (c->resume != NULL && c->overwrite)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "resume and overwrite exclude each other");
    if (c->words.epsilon != 0 && (c->init != NULL || c->vocab != NULL))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{vocab-dp-epsilon}: expected 0 with %s, where no vocabulary is trained, found %g",
            c->init != NULL ? "init" : "vocab", c->words.epsilon);
    if (c->words.epsilon != 0)
        NVDP_TRY(nvdp__private_words_check(ctx, &c->words));
    else if (c->words.max_words > 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{max-words}: expected 0 without {vocab-dp-epsilon}, found %llu",
                          (unsigned long long)c->words.max_words);
    if (nvdp__next_sentence(c->objective) && c->length < MIN_PAIR)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{length}: expected %d to %d, found %zu",
                          MIN_PAIR, LONGEST, c->length);
    NVDP_TRY(check_privatize(ctx, c));
    NVDP_TRY(check_dp(ctx, c));
    while (c->arch != NULL && known < ARCHITECTURES && strcmp(implied[known].is, c->arch) != 0)
        known++;
    if (known == ARCHITECTURES)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{arch}: expected tiny, mini, small or base, found '%s'", c->arch);
    struct nvdp__pretrain_options resolved = *c;
    nvdp__pretrain_resolve(&resolved);
    struct nvdp_bert_config bert = nvdp__pretrain_bert(&resolved, resolved.vocab_size);
    if (c->init == NULL) NVDP_TRY(nvdp__bert_config_check(ctx, &bert));
    if (c->init == NULL && c->length > resolved.max_positions)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{length}: expected at most {max-positions} %zu, found %zu",
                          resolved.max_positions, c->length);
    return NVDP_OK;
}

static const struct nvdp__section pretrain_sections[] = {
    {.row = pretrain_options},
    {.row = nvdp__dp_rows, .offset = offsetof(struct nvdp__pretrain_options, dp), .parent = "dp"},
    {.row = nvdp__sanitizer_rows, .offset = offsetof(struct nvdp__pretrain_options, sanitizer)}};
const struct nvdp__schema nvdp__pretrain_schema = {.kind = "pretraining",
                                                   .size = sizeof(struct nvdp__pretrain_options),
                                                   .section = pretrain_sections,
                                                   .sections = 3,
                                                   .implied = implied,
                                                   .implications = IMPLICATIONS,
                                                   .check = check};

enum nvdp__dtype nvdp__pretrain_dtype(const struct nvdp__pretrain_options *options) {
    return dtype_of[options->dtype];
}

const struct nvdp__kind nvdp__kind_pretrain = {"pretrain", {&nvdp__pretrain_schema}};

/* ---- scoring ---- */

#undef AT
#define AT(member) NVDP_OPTION_AT(struct nvdp__mlm_options, member)

static const struct nvdp_option mlm_options[] = {
    {"model", NVDP_OPTION_TEXT, "DIR", "directory with the masked-LM head", NULL, AT(model)},
    {"text", NVDP_OPTION_LIST, "FILE", "held-out text, as that of training; --input is the same",
     NULL, AT(text_list)},
    INPUT_ROW,
    LENGTH_ROW(),
    NVDP__BATCH_ROW("windows per batch", "32", AT(batch), .unit = "windows",
                    .traits = NVDP_TRAIT_NO_EFFECT),
    MASK_ROWS,
    NVDP__SEED_ROW(AT(seed)),
    {"limit", NVDP_OPTION_INTEGER, "N", "number of windows to score, evenly spread; 0: all", "0",
     AT(limit), .unit = "windows"},
    NVDP__CACHE_ROW("tokenized texts", AT(cache), .traits = NVDP_TRAIT_NO_EFFECT),
    {"positions", NVDP_OPTION_TEXT, "FILE",
     "file for the predictions, safetensors; default: none is written", NULL, AT(positions),
     .traits = NVDP_TRAIT_NO_EFFECT},
    {0},
};
static const struct nvdp__section mlm_section = {.row = mlm_options};
const struct nvdp__schema nvdp__mlm_schema = {.kind = "masked-LM scores",
                                              .size = sizeof(struct nvdp__mlm_options),
                                              .section = &mlm_section,
                                              .sections = 1};

const struct nvdp__kind nvdp__kind_mlm = {"mlm", {&nvdp__mlm_schema}};

/* ---- lists of files ---- */

static json_t *list_json(const char *const *text, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(text[i]));
    return list;
}

/* Reads the strings of a list, if there is one. */
static nvdp_status read_list(struct nvdp_context *ctx, const char *path, const json_t *object,
                             const char *key, const char **list, size_t *count) {
    const json_t *array = json_object_get(object, key);
    *count = json_array_size(array);
    for (size_t i = 0; i < *count; i++) {
        list[i] = json_string_value(json_array_get(array, i));
        if (list[i] == NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: '%s': expected a list of strings", path,
                              key);
    }
    return NVDP_OK;
}

/* ---- JSON ---- */

json_t *nvdp__pretrain_options_json(const struct nvdp__pretrain_options *options) {
    json_t *object = nvdp__schema_json(&nvdp__pretrain_schema, options);
    json_object_update_new(object, json_pack("{s:o, s:o, s:s}", "text",
                                             list_json(options->text, options->texts), "eval_text",
                                             list_json(options->eval_text, options->eval_texts),
                                             "dtype", nvdp__dtype_name(dtype_of[options->dtype])));
    return object;
}

nvdp_status nvdp__pretrain_options_read(struct nvdp_context *ctx, const char *path,
                                        const json_t *object,
                                        struct nvdp__pretrain_options *options,
                                        const char ***lists) {
    struct nvdp__pretrain_options read;
    const char *dtype = NULL;
    size_t max_paths = json_array_size(json_object_get(object, "text")) +
                       json_array_size(json_object_get(object, "eval_text"));
    nvdp__autofree const char **list = nvdp__calloc(ctx, max_paths, sizeof *list);
    if (list == NULL) return NVDP_ERR_MEMORY;
    nvdp__schema_default(&nvdp__pretrain_schema, &read);
    read.start = NVDP__START_NORMAL; /* for runs from before this option */
    read.optimizer = NVDP__OPTIMIZER_ADAMW;
    NVDP_TRY(nvdp__schema_read(ctx, path, object, &nvdp__pretrain_schema, &read));
    NVDP_TRY(read_list(ctx, path, object, "text", list, &read.texts));
    NVDP_TRY(read_list(ctx, path, object, "eval_text", list + read.texts, &read.eval_texts));
    read.text = list;
    read.eval_text = list + read.texts;
    NVDP_TRY(nvdp__json_string(ctx, path, object, "dtype", "F32", &dtype));
    for (int i = 0; dtypes[i] != NULL; i++)
        if (strcmp(dtype, nvdp__dtype_name(dtype_of[i])) == 0)
            read.dtype = (enum nvdp__weight_format)i;
    *options = read;
    return NVDP__HAND_OVER(lists, list);
}
