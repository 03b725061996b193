/* Analyses of a mechanism on words, for nvdp sanitize --analyse: how it changes a vocabulary, and what an attacker
 * infers from its outputs. Every analysis has a function, geometry() to replacements(); nvdp_analyse() at the end
 * selects one. */
#include "base/array.h"
#include "base/own.h"
#include "options/result.h"
#include "options/schema.h"
#include "sanitize/sanitize.h"

#include <math.h>
#include <nvdp/analysis.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 1000, DRAWS = 1000, INVERSIONS = 10000 };

struct analysis {
    struct nvdp_context *ctx;
    const struct nvdp_config *config;
    struct nvdp_sanitizer *sanitizer;
    struct nvdp_sanitizer_info info;
    struct nvdp_text_mechanism_info mechanism;
    struct nvdp_dchi *dchi;
    bool bare; /* no mechanism: analyzes the vectors, or the original texts */
    size_t n, draws;
    uint64_t seed;
    double *prior; /* [V] token counts of the texts; NULL if there are no texts */
    struct nvdp__token_texts texts;
    struct nvdp_analysis made;
};

/* Frees the memory that the replacements own. */
static void free_outputs(void *analysis) {
    const struct nvdp_analysis *made = analysis;
    for (size_t i = 0; i < made->replacements; i++) {
        struct nvdp_replacement *replacement = &made->replacement[i];
        free(replacement->token);
        for (size_t j = 0; j < replacement->listed; j++)
            free(replacement->most_frequent[j].token);
        free(replacement->most_frequent);
    }
}

#define AT(member) offsetof(struct nvdp_analysis, member)
static const struct nvdp_result_kind analysis_kind = {
    .name = "analysis",
    .release = free_outputs,
    .memory = NVDP__OFFSETS(AT(replacement), AT(distances), AT(deniability), AT(inversion),
                            AT(mask_inference))};
#undef AT

static void release(struct analysis *a) {
    nvdp_result_free(&a->made);
    nvdp_sanitizer_free(a->sanitizer);
    nvdp__token_texts_free(&a->texts);
    free(a->prior);
}

static const char *get(const struct analysis *a, const char *name) {
    return nvdp_config_get(a->config, name);
}

/* Returns an option's number if it was given, else `otherwise`: defaults of analyses differ from those of sanitize. */
static size_t number(const struct analysis *a, const char *name, size_t otherwise) {
    return nvdp_config_is_set(a->config, name) ? strtoull(get(a, name), NULL, 10) : otherwise;
}

static bool is(const struct analysis *a, const char *analysis) {
    return strcmp(a->made.analysis, analysis) == 0;
}

/* ---- inputs ---- */

/* Copies the options in `names`, which ends with NULL, that were set. */
static nvdp_status take_options(const struct analysis *a, const char *const *names,
                                struct nvdp_config *to) {
    for (; *names != NULL; names++)
        if (nvdp_config_is_set(a->config, *names))
            NVDP_TRY(nvdp_config_set(to, *names, get(a, *names)));
    return NVDP_OK;
}

/* Creates the sanitizer from the options. An analysis without a mechanism ("bare") needs only the sanitizer's vectors,
 * so it uses the mechanism "random". */
static nvdp_status make_sanitizer(struct analysis *a) {
    static const char *const names[] = {
        "mechanism", "model",          "vectors",        "vocabulary-from",     "oov", "eta", "p",
        "sensitive", "sensitive-from", "sensitive-list", "sensitive-from-data", NULL};
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    NVDP_TRY(nvdp_config_create(a->ctx, "sanitizer", &config));
    NVDP_TRY(take_options(a, names, config));
    if (a->bare) NVDP_TRY(nvdp_config_set(config, "mechanism", "random"));
    NVDP_TRY(nvdp_sanitizer_create(a->ctx, config, &a->sanitizer));
    return nvdp_sanitizer_describe(a->sanitizer, &a->info);
}

/* Reads the texts that the options name and counts their tokens. */
static nvdp_status read_texts(struct analysis *a) {
    static const char *const names[] = {
        "task", "data", "text", "split", "text-column", "text-pair-column", "limit", "seed", NULL};
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    NVDP_TRY(nvdp_config_create(a->ctx, "token-texts", &config));
    NVDP_TRY(take_options(a, names, config));
    NVDP_TRY(nvdp__token_texts_read(a->ctx, config, a->sanitizer, &a->texts));
    /* the vocabulary may come from the texts */
    NVDP_TRY(nvdp_sanitizer_describe(a->sanitizer, &a->info));
    NVDP_TRY(NVDP__NEW(a->ctx, a->prior, a->info.tokens));
    const size_t known = nvdp__token_texts_count(&a->texts, a->info.tokens, a->prior);
    if (known == 0)
        return nvdp__fail(a->ctx, NVDP_ERR_INPUT,
                          "%s: expected a text with words that have vectors, found none",
                          get(a, get(a, "text") != NULL ? "text" : "data"));
    a->made.texts = a->texts.texts;
    a->made.text_unknown = a->texts.unknown;
    a->made.text_tokens = known + a->texts.unknown;
    return NVDP_OK;
}

/* Checks the options of the analyses that draw the output of given texts. */
static nvdp_status check_outputs(const struct analysis *a, bool texts) {
    const char *name = a->made.analysis;
    if (!texts)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT, "option {text} or {task} is needed with %s",
                          name);
    if (a->mechanism.gives_vectors)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "option {mechanism}: %s needs a mechanism that outputs texts, such as "
                          "laplace-nearest, found %s, which outputs vectors",
                          name, a->mechanism.name);
    if (!is(a, "mask-inference")) return NVDP_OK;
    if (get(a, "mask-model") == NULL)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "option {mask-model} is needed with mask-inference");
    if (nvdp__context_precision(a->ctx) == NVDP_PRECISION_INT8)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "option {precision}: expected f32 or bf16, found int8");
    return NVDP_OK;
}

static nvdp_status check(const struct analysis *a, bool texts) {
    static const char *const none[] = {"out", "overwrite", "insecure-seed", NULL};
    static const char *const of_task[] = {"data", "split", NULL};
    static const char *const of_texts[] = {"data", "split", "limit", NULL};
    static const char *const of_mask[] = {"mask-model", "max-length", NULL};
    const bool mask = is(a, "mask-inference"), replacements = is(a, "replacements");
    const char *name = nvdp__config_given(a->config, none);
    if (name != NULL)
        return nvdp__fail_option(a->ctx, NVDP_ERR_ARGUMENT, name, " does not apply to {analyse}");
    name = nvdp__config_given(a->config, texts ? of_task : of_texts);
    if (name != NULL && get(a, "task") == NULL)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT, "option {task} is needed with %s",
                          nvdp__as_option(a->ctx, name).text);
    name = nvdp_config_is_set(a->config, "precision") ? "precision"
                                                      : nvdp__config_given(a->config, of_mask);
    if (name != NULL && !mask)
        return nvdp__fail_option(a->ctx, NVDP_ERR_ARGUMENT, name,
                                 " needs {analyse} mask-inference");
    if (nvdp_config_is_set(a->config, "top") && !replacements)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT, "option {top} needs {analyse} replacements");
    if (mask || replacements) NVDP_TRY(check_outputs(a, texts));
    if (!texts && is(a, "inversion"))
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "option {text} or {task} is needed: its word counts are the attacker's "
                          "prior");
    return NVDP_OK;
}

/* ---- the analyses ---- */

/* Allocates a result, whose first member is its size. */
#define MAKE(a, result)                                                                            \
    (NVDP__NEW((a)->ctx, result, 1) == NVDP_OK                                                     \
         ? ((result)->struct_size = sizeof *(result), NVDP_OK)                                     \
         : NVDP_ERR_MEMORY)

static nvdp_status geometry(struct analysis *a) {
    NVDP_TRY(MAKE(a, a->made.distances));
    if (!a->bare && !a->mechanism.exact) a->made.noise = (double)a->info.dim / a->info.eta;
    return nvdp_distances_measure(a->ctx, nvdp_sanitizer_vectors(a->sanitizer), a->prior, a->n,
                                  a->seed, a->made.distances);
}

static nvdp_status deniability(struct analysis *a) {
    NVDP_TRY(MAKE(a, a->made.deniability));
    return nvdp_deniability_measure(a->ctx, a->dchi, a->prior, a->n, a->draws, a->seed,
                                    a->made.deniability);
}

static nvdp_status inversion(struct analysis *a) {
    NVDP_TRY(MAKE(a, a->made.inversion));
    return nvdp_dchi_inversion(a->ctx, a->dchi, a->prior, a->draws, a->seed, a->made.inversion);
}

/* Privatizes every text once, as nvdp sanitize does, and attacks the result. Both texts of a pair are separate
 * inputs. */
static nvdp_status mask_inference(struct analysis *a) {
    const struct nvdp__token_texts *texts = &a->texts;
    const size_t parts = texts->first != NULL ? 2 : 1, count = texts->offset[texts->texts];
    nvdp__autofree size_t *offset = NULL;
    nvdp__autofree int32_t *token = NULL;
    NVDP_TRY(MAKE(a, a->made.mask_inference));
    NVDP_TRY(NVDP__NEW(a->ctx, offset, parts * texts->texts + 1));
    NVDP_TRY(NVDP__NEW(a->ctx, token, count + 1));
    for (size_t i = 0; i < texts->texts; i++) {
        if (parts == 2) offset[2 * i + 1] = texts->offset[i] + texts->first[i];
        offset[parts * (i + 1)] = texts->offset[i + 1];
    }
    if (!a->bare)
        NVDP_TRY(nvdp_dchi_sample(a->ctx, a->dchi, parts * texts->texts, offset, texts->tokens,
                                  &a->seed, 0, token));
    return nvdp_mask_inference(a->ctx, get(a, "mask-model"), a->sanitizer, parts * texts->texts,
                               offset, texts->tokens, a->bare ? texts->tokens : token,
                               strtoull(get(a, "max-length"), NULL, 10), a->made.mask_inference);
}

/* An output of a token and how often it was drawn. */
struct output {
    int32_t token;
    size_t count;
};

/* Draws `draws` outputs of a token, whose number is `first`, and lists the most frequent ones. `token` is [2, draws],
 * `output` is [draws]. */
static nvdp_status list_outputs(struct analysis *a, int32_t input, uint64_t first, int32_t *token,
                                struct output *output, struct nvdp_replacement *to) {
    const size_t top = strtoull(get(a, "top"), NULL, 10);
    int32_t *drawn = token + a->draws;
    for (size_t k = 0; k < a->draws; k++)
        token[k] = input;
    NVDP_TRY(nvdp_dchi_sample(a->ctx, a->dchi, 1, (size_t[]){0, a->draws}, token, &a->seed, first,
                              drawn));
    NVDP__SORT(drawn, a->draws, NVDP__UP_ITEM(int32_t));
    for (size_t k = 0; k < a->draws; k++) {
        if (k == 0 || drawn[k] != drawn[k - 1])
            output[to->outputs++] = (struct output){drawn[k], 0};
        output[to->outputs - 1].count++;
    }
    NVDP__SORT(output, to->outputs, NVDP__DOWN(struct output, count),
               NVDP__UP(struct output, token));
    to->token = nvdp__strdup(a->ctx, nvdp_sanitizer_word(a->sanitizer, input));
    to->count = (size_t)a->prior[input];
    NVDP_TRY(NVDP__MADE(to->token));
    NVDP_TRY(NVDP__NEW(a->ctx, to->most_frequent, nvdp__min(top, to->outputs)));
    for (; to->listed < nvdp__min(top, to->outputs); to->listed++) {
        struct nvdp_replaced *one = &to->most_frequent[to->listed];
        one->share = (double)output[to->listed].count / (double)a->draws;
        one->token =
            nvdp__strdup(a->ctx, nvdp_sanitizer_word(a->sanitizer, output[to->listed].token));
        NVDP_TRY(NVDP__MADE(one->token));
    }
    return NVDP_OK;
}

/* Lists the outputs of the first n distinct tokens of the texts, in the order of the texts (Qu et al. 2021, Table
 * 2). */
static nvdp_status replacements(struct analysis *a) {
    nvdp__autofree int32_t *token = NULL;
    nvdp__autofree struct output *output = NULL;
    nvdp__autofree bool *listed = NULL;
    NVDP_TRY(NVDP__NEW(a->ctx, token, 2 * a->draws + 1));
    NVDP_TRY(NVDP__NEW(a->ctx, output, a->draws + 1));
    NVDP_TRY(NVDP__NEW(a->ctx, listed, a->info.tokens + 1));
    NVDP_TRY(NVDP__NEW(a->ctx, a->made.replacement, a->n));
    a->made.draws = a->draws;
    for (size_t i = 0; a->made.replacements < a->n; i++) {
        const int32_t next = a->texts.tokens[i];
        if (next < 0 || listed[next]) continue;
        listed[next] = true;
        const size_t n = a->made.replacements++;
        NVDP_TRY(list_outputs(a, next, n, token, output, &a->made.replacement[n]));
    }
    return NVDP_OK;
}

static const struct {
    const char *name;
    nvdp_status (*run)(struct analysis *a);
} analyses[] = {{"geometry", geometry},
                {"deniability", deniability},
                {"inversion", inversion},
                {"mask-inference", mask_inference},
                {"replacements", replacements}};

static nvdp_status work(struct analysis *a) {
    const bool texts = get(a, "text") != NULL || get(a, "task") != NULL,
               mask = is(a, "mask-inference");
    a->bare = (is(a, "geometry") || mask) && !nvdp_config_is_set(a->config, "mechanism");
    if (get(a, "mechanism") != NULL)
        NVDP_TRY(nvdp_text_mechanism_describe(a->ctx, get(a, "mechanism"), &a->mechanism));
    NVDP_TRY(check(a, texts));
    NVDP_TRY(make_sanitizer(a));
    if (!texts && a->info.counting)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "option {text} or {task} is needed, because an option takes the words "
                          "from the texts");
    if (texts) NVDP_TRY(read_texts(a));
    a->dchi = nvdp_sanitizer_dchi(a->sanitizer);
    a->seed = strtoull(get(a, "seed"), NULL, 10);
    a->draws = number(a, "draws", is(a, "inversion") ? INVERSIONS : DRAWS);
    a->n = mask ? a->made.text_tokens : number(a, "measure-tokens", TOKENS);
    if (a->n == 0)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "option {measure-tokens}: expected at least 1, found 0");
    size_t distinct = texts ? 0 : a->info.tokens;
    for (size_t x = 0; x < a->info.tokens && texts; x++)
        distinct += a->prior[x] > 0;
    if ((!texts || is(a, "replacements")) && a->n > distinct)
        a->n = distinct; /* each token at most once */
    a->made.mechanism = a->bare ? "none" : a->mechanism.name;
    a->made.eta = a->info.eta;
    a->made.vocabulary = a->info.tokens;
    a->made.pieces = a->info.pieces;
    a->made.dim = a->info.dim;
    a->made.tokens = a->n;
    a->made.seed = a->seed;
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses; i++)
        if (is(a, analyses[i].name)) return analyses[i].run(a);
    return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT, "option {analyse}: expected an analysis, found %s",
                      a->made.analysis);
}

nvdp_status nvdp_analyse(struct nvdp_context *ctx, const struct nvdp_config *config,
                         struct nvdp_analysis *out) {
    nvdp__auto(release) struct analysis a = {
        .ctx = ctx,
        .config = config,
        .info = NVDP_RESULT(struct nvdp_sanitizer_info),
        .mechanism = NVDP_RESULT(struct nvdp_text_mechanism_info),
        .made = {.struct_size = sizeof a.made,
                 .kind = &analysis_kind,
                 .analysis = nvdp_config_get(config, "analyse"),
                 .noise = NAN}};
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(work(&a));
    nvdp_result_free(out);
    NVDP__GIVE(out, &a.made);
    a.made = (struct nvdp_analysis)NVDP_RESULT(struct nvdp_analysis);
    return NVDP_OK;
}
