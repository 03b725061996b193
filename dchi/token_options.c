/* The options of text privatization (docs/text-privatization.md). */
#include "dchi/token_options.h"

#include <float.h>
#include <math.h>

static const char *const oov_names[] = {
    [NVDP__OOV_UNIFORM] = "uniform", [NVDP__OOV_DROP] = "drop", NULL};

#define AT(member) NVDP_OPTION_AT(struct nvdp__sanitizer_options, member)

const struct nvdp_option nvdp__sanitizer_rows[] = {
    {"eta", NVDP_OPTION_REAL, "E",
     "noise in nats per unit of distance between word vectors; a smaller value is more private",
     "0", AT(eta), .unit = "nats per unit of distance", .max = DBL_MAX,
     .group = "Text privatization:", .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_DEFAULT},
    {"epsilon", NVDP_OPTION_REAL, "E", "SanText's name for eta",
     .unit = "nats per unit of distance", .max = DBL_MAX, .traits = NVDP_TRAIT_NO_DEFAULT,
     .sets = (const char *const[]){"eta", NULL}},
    {"p", NVDP_OPTION_REAL, "P",
     "santext-plus: probability that a token that is not sensitive is replaced", "0.3", AT(p),
     .min = 1e-9, .max = 1 - 1e-9},
    {"sensitive", NVDP_OPTION_REAL, "W",
     "santext-plus: share of the vocabulary that is sensitive; the rarest tokens come first", "0.9",
     AT(sensitive), .min = 1e-9, .max = 1},
    {"sensitive-from", NVDP_OPTION_TEXT, "FILE",
     "santext-plus: public text, one text per line; its word counts show which tokens are rare; "
     "refused if it has a private text",
     NULL, AT(sensitive_from)},
    {"sensitive-list", NVDP_OPTION_TEXT, "FILE",
     "santext-plus: list of the sensitive tokens, one per line", NULL, AT(sensitive_list)},
    NVDP__PUBLIC_INDEPENDENT_ROW(AT(public_independent)),
    {0},
};

const struct nvdp_option nvdp__sanitizer_table_rows[] = {
    {"vectors", NVDP_OPTION_TEXT, "FILE",
     "word vectors (GloVe, .vec, .bin, also .gz or .xz), whose words are the tokens; without this "
     "file the tokens are the word pieces of --model",
     NULL, AT(vectors), .traits = NVDP_TRAIT_BASIC},
    {"vocabulary-from", NVDP_OPTION_TEXT, "TASK|FILE",
     "with --vectors: keep only the words that occur in this public text (one text per line; "
     "refused if it has a private text); with the task's name, the words of the task's own texts, "
     "as published, which is not private",
     NULL, AT(vocabulary_from)},
    {"oov", NVDP_OPTION_CHOICE, "O",
     "replacement of a word without a vector: a uniform draw (uniform) or nothing (drop)",
     "uniform", AT(oov), .choices = oov_names},
    {"sensitive-from-data", NVDP_OPTION_FLAG, NULL,
     "santext-plus: count the tokens of the private texts themselves, as published, which is not "
     "private",
     NULL, AT(sensitive_from_data)},
    {0},
};

nvdp_status nvdp__sanitizer_check(struct nvdp_context *ctx,
                                  const struct nvdp__sanitizer_options *options) {
    const enum nvdp__token_mechanism mechanism = options->mechanism;
    const struct nvdp__token_row *row = nvdp__token_row((int)mechanism);
    const int sources = (options->sensitive_from != NULL) + options->sensitive_from_data +
                        (options->sensitive_list != NULL);
    if (options->public_independent && options->sensitive_from == NULL &&
        options->vocabulary_from == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{public-independent}: expected public texts that it declares, such as "
                          "{sensitive-from}, found none");
    if (mechanism == NVDP__TOKENS_AS_THEY_ARE) return NVDP_OK;
    if (row->uses_eta && !(options->eta > 0 && isfinite(options->eta)))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{eta} or {epsilon}: mechanism %s needs a finite number above 0, found %g",
            nvdp__text_noise_names[mechanism], options->eta);
    if (!row->uses_eta && options->eta != 0)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{eta} or {epsilon}: mechanism %s draws uniformly and takes no eta, found "
            "%g; leave the option out",
            nvdp__text_noise_names[mechanism], options->eta);
    if (options->vocabulary_from != NULL && options->vectors == NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{vocabulary-from}: expected word vectors ({vectors}) to choose words from, found "
            "none; the word pieces of an encoder are always used as a whole");
    if (!row->uses_p && sources > 0)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{mechanism}: only santext-plus has sensitive tokens, found %s; leave out "
            "the options of sensitive tokens",
            nvdp__text_noise_names[mechanism]);
    if (row->uses_p && sources != 1)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{sensitive-from}: mechanism %s needs exactly one source of sensitive tokens, found %d "
            "sources; use {sensitive-from} FILE (a public text), {sensitive-list} FILE, or, for "
            "files that are sanitized, {sensitive-from-data} (not private)",
            nvdp__text_noise_names[mechanism], sources);
    return NVDP_OK;
}

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct nvdp__sanitizer_config *config = values;
    if (config->sanitizer.mechanism == NVDP__TOKENS_AS_THEY_ARE)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{mechanism}: expected laplace, laplace-nearest, santext, santext-plus or "
            "random, found none");
    if ((config->model == NULL) == (config->sanitizer.vectors == NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "model or vectors: expected exactly one of these options, found %s",
                          config->model == NULL ? "neither" : "both");
    return nvdp__sanitizer_check(ctx, &config->sanitizer);
}

#define HERE(member) NVDP_OPTION_AT(struct nvdp__sanitizer_config, member)

static const struct nvdp_option own_rows[] = {
    NVDP__WORDS_MODEL_ROW(HERE(model), .group = "Text privatization:"),
    NVDP__MECHANISM_ROW(HERE(sanitizer.mechanism)),
    {0},
};
static const struct nvdp__section sections[] = {
    {.row = own_rows},
    {.row = nvdp__sanitizer_rows, .offset = offsetof(struct nvdp__sanitizer_config, sanitizer)},
    {.row = nvdp__sanitizer_table_rows,
     .offset = offsetof(struct nvdp__sanitizer_config, sanitizer)},
};
const struct nvdp__schema nvdp__sanitizer_schema = {.kind = "sanitizer",
                                                    .size = sizeof(struct nvdp__sanitizer_config),
                                                    .section = sections,
                                                    .sections = sizeof sections / sizeof *sections,
                                                    .check = check};

const struct nvdp__kind nvdp__kind_sanitizer = {"sanitizer", {&nvdp__sanitizer_schema}};
