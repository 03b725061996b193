/* What a sanitizer tells of a data set's own texts: their tokens, the report. */
#include "base/file.h"
#include "base/json.h"
#include "dchi/privacy.h"
#include "dchi/sanitizer.h"
#include "rdp/report.h"
#include "text/dataset.h"
#include "text/task.h"

#include <stdlib.h>

/* ---- options ---- */

struct options {
    const char *task, *data, *split, *model;
    struct nvdp_task_options columns;
    size_t limit;
    uint64_t seed;
    struct nvdp__sanitizer_options sanitizer;
};

#define AT(member) NVDP_OPTION_AT(struct options, member)

static const struct nvdp_option mechanism_rows[] = {
    {"sanitizer", NVDP_OPTION_CHOICE, "M",
     "in place of a run: texts under santext, santext-plus, laplace-nearest, laplace or random",
     NULL, AT(sanitizer.mechanism), .choices = nvdp__token_mechanism_names,
     .group = "Text privatization:", .traits = NVDP_TRAIT_NO_DEFAULT},
    {"mechanism", NVDP_OPTION_CHOICE, "M", "the same",
     .sets = (const char *const[]){"sanitizer", NULL}, .choices = nvdp__token_mechanism_names,
     .traits = NVDP_TRAIT_HIDDEN},
    {"model", NVDP_OPTION_TEXT, "DIR",
     "encoder whose word embeddings are the vectors, and whose WordPieces the tokens", NULL,
     AT(model)},
    {0},
};
static const struct nvdp_option text_rows[] = {
    {"task", NVDP_OPTION_TEXT, "TASK", "whose texts: sst2, mrpc, ..., or tsv", NULL, AT(task)},
    {"text-column", NVDP_OPTION_TEXT, "NAME", "tsv: header of the column with the text", NULL,
     AT(columns.text_column)},
    {"text-pair-column", NVDP_OPTION_TEXT, "NAME", "tsv: header of the second text's column", NULL,
     AT(columns.text_pair_column)},
    {"data", NVDP_OPTION_TEXT, "DIR", "the task's folder, of the texts as they are", NULL,
     AT(data)},
    {"split", NVDP_OPTION_TEXT, "NAME", "train, dev, test, dev-mismatched or test-mismatched",
     "dev", AT(split)},
    {"limit", NVDP_OPTION_INTEGER, "N", "only a seeded sample of N texts; 0: all", "0", AT(limit),
     .unit = "texts"},
    {"seed", NVDP_OPTION_SEED, "N", "of samples", "1", AT(seed)},
    {0},
};
static const struct nvdp__section sections[] = {
    {mechanism_rows, 0, NULL},
    {nvdp__sanitizer_rows, offsetof(struct options, sanitizer), NULL},
    {nvdp__sanitizer_table_rows, offsetof(struct options, sanitizer), NULL},
    {text_rows, 0, NULL},
};

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct options *options = values;
    if (options->sanitizer.mechanism == NVDP__TOKENS_AS_THEY_ARE) return NVDP_OK; /* of a run */
    if ((options->model == NULL) == (options->sanitizer.vectors == NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "model or vectors: expected one, found %s",
                          options->model == NULL ? "neither" : "both");
    if (options->task == NULL || options->data == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected a task and its folder, found none",
                          options->task == NULL ? "task" : "data");
    return nvdp__sanitizer_check(ctx, &options->sanitizer);
}

static const struct nvdp__schema schema = {.kind = "sanitizer's measures",
                                           .size = sizeof(struct options),
                                           .section = sections,
                                           .sections = sizeof sections / sizeof *sections,
                                           .check = check};

nvdp_status nvdp_text_privacy_config_create(struct nvdp_context *ctx, struct nvdp_config **out) {
    struct nvdp_config *made = NULL, *measures = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__config_create(ctx, &schema, &made));
    nvdp_status status = nvdp_privacy_config_create(ctx, &measures);
    if (status == NVDP_OK) status = nvdp_config_join(made, measures);
    if (status == NVDP_OK) *out = made;
    if (status != NVDP_OK) nvdp_config_free(made);
    return status;
}

/* ---- texts ---- */

struct tokens {
    size_t *offset, *first;
    int32_t *token;
    size_t capacity;
};

static void release(struct tokens *tokens) {
    free(tokens->offset);
    free(tokens->first);
    free(tokens->token);
}

static nvdp_status find_split(struct nvdp_context *ctx, const char *name, enum nvdp_split *out) {
    static const char *const names[] = {"train", "dev", "test", "dev-mismatched",
                                        "test-mismatched"};
    for (int i = 0; i < 5; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *out = (enum nvdp_split)i;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "split '%s': expected train, dev, test, dev-mismatched or test-mismatched",
                      name);
}

static nvdp_status append(struct nvdp_context *ctx, const struct nvdp_sanitizer *sanitizer,
                          struct nvdp__field field, struct nvdp_token_list *list,
                          struct tokens *tokens, size_t *count) {
    NVDP_RETURN_IF_FAILED(nvdp_sanitizer_tokenize(ctx, sanitizer, field.text, field.size, list));
    if (list->count == 0) return NVDP_OK;
    if (*count + list->count > tokens->capacity)
        NVDP_RETURN_IF_FAILED(nvdp__reserve(ctx, &tokens->token, &tokens->capacity,
                                            *count + list->count, sizeof *tokens->token));
    memcpy(tokens->token + *count, list->token, list->count * sizeof *list->token);
    *count += list->count;
    return NVDP_OK;
}

/* All rows are counted where V_S comes from them; then a sample of `limit` is what is measured. */
static nvdp_status read_rows(struct nvdp_context *ctx, const struct options *options,
                             const struct nvdp__rows *rows, struct nvdp_sanitizer *sanitizer,
                             struct tokens *out, size_t *texts) {
    nvdp_status status = NVDP_OK;
    struct nvdp_token_list list = {0};
    bool *chosen = NULL;
    size_t n = 0, count = 0;
    const bool some = options->limit > 0 && options->limit < rows->count;
    NVDP_TRY(NVDP__NEW(ctx, chosen, rows->count));
    NVDP_TRY(NVDP__NEW(ctx, out->offset, rows->count + 1));
    NVDP_TRY(NVDP__NEW(ctx, out->first, rows->count));
    if (some) NVDP_TRY(nvdp__sample_rows(ctx, options->seed, rows->count, options->limit, chosen));
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__row *row = &rows->row[i];
        const size_t begin = count;
        NVDP_TRY(append(ctx, sanitizer, row->text, &list, out, &count));
        out->first[n] = rows->task.pair ? count - begin : 0;
        if (rows->task.pair) NVDP_TRY(append(ctx, sanitizer, row->pair, &list, out, &count));
        nvdp_sanitizer_count(sanitizer, count - begin, out->token + begin);
        if (some && !chosen[i])
            count = begin;
        else
            out->offset[++n] = count;
    }
    NVDP_TRY(nvdp_sanitizer_choose(ctx, sanitizer));
    *texts = n;
cleanup:
    nvdp_token_list_release(&list);
    free(chosen);
    return status;
}

static nvdp_status read_texts(struct nvdp_context *ctx, const struct options *options,
                              struct nvdp_sanitizer *sanitizer, struct tokens *out, size_t *texts) {
    nvdp_status status = NVDP_OK;
    static const size_t most = (size_t)4 << 30;
    struct nvdp_dataset_config config = nvdp_dataset_config_default();
    struct nvdp__layout layout;
    struct nvdp__rows rows = {0};
    enum nvdp_split split = NVDP_SPLIT_DEV;
    const char *name = NULL;
    char *path = NULL, *bytes = NULL;
    size_t size = 0;
    NVDP_TRY(nvdp_task_find(ctx, options->task, &config.task));
    config.columns = options->columns;
    NVDP_TRY(find_split(ctx, options->split, &split));
    NVDP_TRY(nvdp__task_resolve(ctx, &config, &layout));
    NVDP_TRY(nvdp__task_file(ctx, &layout, split, &name));
    path = nvdp__join(ctx, options->data, name);
    NVDP_TRY(NVDP__MADE(path));
    NVDP_TRY(nvdp__read_file(ctx, path, most, &bytes, &size));
    NVDP_TRY(nvdp__rows_parse(ctx, &config, NVDP__LABELS_IGNORED, path, bytes, size, &rows));
    NVDP_TRY(read_rows(ctx, options, &rows, sanitizer, out, texts));
cleanup:
    nvdp__rows_release(&rows);
    free(path);
    free(bytes);
    return status;
}

nvdp_status nvdp_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                              struct nvdp_dchi_report *out) {
    nvdp_status status = NVDP_OK;
    struct options options;
    struct nvdp__privacy_options measures;
    struct nvdp_sanitizer *sanitizer = NULL;
    struct tokens tokens = {0};
    struct nvdp_token_texts texts = {0};
    NVDP_TRY(nvdp__config_open(ctx, config, &schema, &options));
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__privacy_schema, &measures));
    if (options.sanitizer.mechanism == NVDP__TOKENS_AS_THEY_ARE)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "sanitizer: expected a mechanism, found none"));
    NVDP_TRY(nvdp__sanitizer_create(ctx, &options.sanitizer, options.model, &sanitizer));
    NVDP_TRY(read_texts(ctx, &options, sanitizer, &tokens, &texts.texts));
    texts.offset = tokens.offset;
    texts.tokens = tokens.token;
    texts.first = tokens.first;
    NVDP_TRY(nvdp__dchi_privacy(ctx, nvdp_sanitizer_dchi(sanitizer), &texts, &measures, NULL, out));
cleanup:
    release(&tokens);
    nvdp_sanitizer_free(sanitizer);
    return status;
}

/* ---- the report ---- */

#define number nvdp__json_number

static struct nvdp_dchi_report whole(const struct nvdp_dchi_report *report) {
    struct nvdp_dchi_report made = {0};
    memcpy(&made, report, report->struct_size < sizeof made ? report->struct_size : sizeof made);
    return made;
}

/* What pairs of one length say; null where there are none. */
static json_t *pack_equal(const struct nvdp_dchi_report *from) {
    static const char *const same[] = {
        "method", "units", "scope",      "adjacency", "length_policy", "dim",   "components",
        "kappa",  "order", "arithmetic", "n",         "sample",        "bound", "posterior"};
    if (from->equal_length == 0) return json_null();
    json_t *object = nvdp__privacy_report_pack(&from->same);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        json_object_del(object, same[i]);
    json_t *exact =
        json_pack("{s:o, s:o, s:o, s:[I,I], s:I}", "delta", number(from->same.bdp_delta), "low",
                  number(from->epsilon.low), "high", number(from->epsilon.high), "argmax",
                  (json_int_t)from->epsilon_p, (json_int_t)from->epsilon_q, "evaluated",
                  (json_int_t)from->epsilon_pairs);
    json_object_set_new(object, "largest_epsilon", exact);
    return object;
}

static json_t *pack_report(const struct nvdp_dchi_report *from) {
    const struct nvdp_dchi_worst *worst = &from->worst;
    json_t *object = nvdp__privacy_report_pack(&from->pairs);
    json_t *more = json_pack(
        "{s:{s:s, s:s, s:o, s:o, s:I, s:I}, s:{s:I, s:I, s:I}, s:I, s:I, s:o, s:{s:o, s:o, s:o, "
        "s:[I,I], s:o, s:I}}",
        "sanitizer", "mechanism", from->pairs.method, "divergences",
        from->mechanism == NVDP_DCHI_LAPLACE_NEAREST ? "those of laplace, which bound it" : "exact",
        "eta", from->mechanism == NVDP_DCHI_RANDOM ? json_real(0) : number(from->eta), "p",
        from->mechanism == NVDP_DCHI_SANTEXT_PLUS ? number(from->p) : json_null(), "vocabulary",
        (json_int_t)from->vocabulary, "vector_dim", (json_int_t)from->dim, "tokens", "all",
        (json_int_t)from->tokens, "not_sensitive", (json_int_t)from->left, "unknown",
        (json_int_t)from->unknown, "pairs_of_equal_length", (json_int_t)from->equal_length,
        "pairs_of_other_length", (json_int_t)from->other_length, "equal_length", pack_equal(from),
        "vocabulary_worst", "value", number(worst->value), "finite", number(worst->finite),
        "infinite_share", number(worst->infinite), "argmax", (json_int_t)worst->x,
        (json_int_t)worst->x2, "bound", number(worst->bound), "tokens", (json_int_t)worst->inputs);
    if (object == NULL || more == NULL || json_object_update(object, more) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(more);
    return object;
}

nvdp_status nvdp_dchi_report_json(struct nvdp_context *ctx, const struct nvdp_dchi_report *report,
                                  char **out) {
    const struct nvdp_dchi_report from = whole(report);
    json_t *object = pack_report(&from);
    char *text =
        object != NULL ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "privacy report: out of memory");
    *out = text;
    return NVDP_OK;
}

static double percent(size_t part, size_t all) {
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static void print_head(const struct nvdp_dchi_report *from, FILE *to) {
    const struct nvdp_dchi_worst *worst = &from->worst;
    const size_t pairs = from->equal_length + from->other_length;
    fprintf(to, "Privacy of %zu texts of %zu tokens under %s", from->pairs.pairs.texts,
            from->tokens, from->pairs.method);
    if (from->mechanism != NVDP_DCHI_RANDOM) fprintf(to, ", eta %g", from->eta);
    if (from->mechanism == NVDP_DCHI_SANTEXT_PLUS) fprintf(to, ", p %g", from->p);
    fprintf(to, "\nA vocabulary of %zu, vectors of %zu dimensions. ", from->vocabulary, from->dim);
    if (from->mechanism == NVDP_DCHI_LAPLACE_NEAREST)
        fputs("Divergences are laplace's, which bound it.\n", to);
    else
        fputs("Divergences are exact.\n", to);
    if (from->mechanism == NVDP_DCHI_SANTEXT_PLUS)
        fprintf(
            to,
            "%.1f %% of the tokens are not sensitive and may be left as they are: told apart.\n",
            percent(from->left, from->tokens));
    if (from->unknown > 0)
        fprintf(to, "%.1f %% of the tokens have no vector.\n",
                percent(from->unknown, from->tokens));
    fprintf(to, "Measured on the given texts; not a bound over all texts.\n");
    fprintf(to,
            "Of any two tokens, seen or not: no log ratio above %g nats a position (largest found "
            "%g, %zu "
            "tokens searched)",
            worst->bound, worst->finite, worst->inputs);
    if (worst->infinite > 0)
        fprintf(to, ";\n  but inf for %.1f %% of all pairs of tokens", 100 * worst->infinite);
    fprintf(to, ".\nLengths are public: they alone tell %.1f %% of the pairs apart.\n\n",
            percent(from->other_length, pairs));
}

void nvdp_dchi_report_print(const struct nvdp_dchi_report *report, FILE *to) {
    const struct nvdp_dchi_report from = whole(report);
    const bool all = from.pairs.pairs.adjacency == NVDP_ADJACENT_ALL;
    print_head(&from, to);
    if (all) nvdp__privacy_report_tables(&from.pairs, to);
    if (from.equal_length == 0) return;
    if (all) fputs("\nGiven equal length:\n\n", to);
    nvdp__privacy_report_tables(&from.same, to);
    fprintf(to, "Exact epsilon at delta %g of the largest pair of equal length: %.6g to %.6g.\n",
            from.same.bdp_delta, from.epsilon.low, from.epsilon.high);
}
