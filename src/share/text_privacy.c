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

struct texts {
    const char *task, *data, *split; /* or */
    const char *text;
    struct nvdp_task_options columns;
    size_t limit;
    uint64_t seed;
};

struct options {
    const char *model;
    struct texts texts;
    struct nvdp__sanitizer_options sanitizer;
};

#define AT(member) NVDP_OPTION_AT(struct texts, member)

static const struct nvdp_option text_rows[] = {
    {"task", NVDP_OPTION_TEXT, "TASK", "whose texts: sst2, mrpc, ..., or tsv", NULL, AT(task)},
    {"text-column", NVDP_OPTION_TEXT, "NAME", "tsv: header of the column with the text", NULL,
     AT(columns.text_column)},
    {"text-pair-column", NVDP_OPTION_TEXT, "NAME", "tsv: header of the second text's column", NULL,
     AT(columns.text_pair_column)},
    {"data", NVDP_OPTION_TEXT, "DIR", "the task's folder, of the texts as they are", NULL,
     AT(data)},
    {"text", NVDP_OPTION_TEXT, "FILE", "a text a line instead of a task", NULL, AT(text)},
    {"split", NVDP_OPTION_TEXT, "NAME", "train, dev, test, dev-mismatched or test-mismatched",
     "dev", AT(split)},
    {"limit", NVDP_OPTION_INTEGER, "N", "only a seeded sample of N texts; 0: all", "0", AT(limit),
     .unit = "texts"},
    {"seed", NVDP_OPTION_SEED, "N", "of samples", "1", AT(seed)},
    {0},
};

static nvdp_status check_texts(struct nvdp_context *ctx, const void *values) {
    const struct texts *texts = values;
    if ((texts->task == NULL) == (texts->text == NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "task or text: expected one, found %s",
                          texts->task == NULL ? "neither" : "both");
    if (texts->task != NULL && texts->data == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "data: expected a folder with the task's files, found none");
    return NVDP_OK;
}

static const struct nvdp__section texts_section = {text_rows, 0, NULL};
static const struct nvdp__schema texts_schema = {.kind = "texts",
                                                 .size = sizeof(struct texts),
                                                 .section = &texts_section,
                                                 .sections = 1,
                                                 .check = check_texts};

nvdp_status nvdp_token_texts_config_create(struct nvdp_context *ctx, struct nvdp_config **out) {
    return nvdp__config_create(ctx, &texts_schema, out);
}

#undef AT
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
static const struct nvdp__section sections[] = {
    {mechanism_rows, 0, NULL},
    {nvdp__sanitizer_rows, offsetof(struct options, sanitizer), NULL},
    {nvdp__sanitizer_table_rows, offsetof(struct options, sanitizer), NULL},
    {text_rows, offsetof(struct options, texts), NULL},
};

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct options *options = values;
    if (options->sanitizer.mechanism == NVDP__TOKENS_AS_THEY_ARE) return NVDP_OK; /* of a run */
    if ((options->model == NULL) == (options->sanitizer.vectors == NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "model or vectors: expected one, found %s",
                          options->model == NULL ? "neither" : "both");
    NVDP_RETURN_IF_FAILED(check_texts(ctx, &options->texts));
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
    size_t count, capacity, unknown;
};

static nvdp_status append(struct nvdp_context *ctx, const struct nvdp_sanitizer *sanitizer,
                          struct nvdp__field field, struct nvdp_token_list *list,
                          struct tokens *tokens) {
    NVDP_RETURN_IF_FAILED(nvdp_sanitizer_tokenize(ctx, sanitizer, field.text, field.size, list));
    tokens->unknown += list->unknown;
    if (list->count == 0) return NVDP_OK;
    if (tokens->count + list->count > tokens->capacity)
        NVDP_RETURN_IF_FAILED(nvdp__reserve(ctx, &tokens->token, &tokens->capacity,
                                            tokens->count + list->count, sizeof *tokens->token));
    memcpy(tokens->token + tokens->count, list->token, list->count * sizeof *list->token);
    tokens->count += list->count;
    return NVDP_OK;
}

/* All rows are counted where V_S comes from them; then a sample of `limit` is what is given. */
static nvdp_status read_rows(struct nvdp_context *ctx, const struct texts *options,
                             const struct nvdp__rows *rows, struct nvdp_sanitizer *sanitizer,
                             struct nvdp_token_texts *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_token_list list = {0};
    struct tokens made = {0};
    bool *chosen = NULL;
    size_t n = 0;
    const bool some = options->limit > 0 && options->limit < rows->count;
    NVDP_TRY(NVDP__NEW(ctx, chosen, rows->count));
    NVDP_TRY(NVDP__NEW(ctx, made.offset, rows->count + 1));
    NVDP_TRY(NVDP__NEW(ctx, made.first, rows->count));
    if (some) NVDP_TRY(nvdp__sample_rows(ctx, options->seed, rows->count, options->limit, chosen));
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__row *row = &rows->row[i];
        const size_t begin = made.count, unknown = made.unknown;
        NVDP_TRY(append(ctx, sanitizer, row->text, &list, &made));
        made.first[n] = made.count - begin;
        if (rows->task.pair) NVDP_TRY(append(ctx, sanitizer, row->pair, &list, &made));
        if (made.count > begin)
            nvdp_sanitizer_count(sanitizer, made.count - begin, made.token + begin);
        if (some && !chosen[i]) {
            made.count = begin;
            made.unknown = unknown;
        } else {
            made.offset[++n] = made.count;
        }
    }
    NVDP_TRY(nvdp_sanitizer_choose(ctx, sanitizer));
    *out = (struct nvdp_token_texts){.texts = n,
                                     .offset = made.offset,
                                     .tokens = made.token,
                                     .first = rows->task.pair ? made.first : NULL,
                                     .unknown = made.unknown};
    if (!rows->task.pair) free(made.first);
    made = (struct tokens){0};
cleanup:
    nvdp_token_list_release(&list);
    free(made.offset);
    free(made.first);
    free(made.token);
    free(chosen);
    return status;
}

/* A text a line. */
static nvdp_status parse_lines(struct nvdp_context *ctx, const char *bytes, size_t size,
                               struct nvdp__rows *rows) {
    for (size_t at = 0; at < size;) {
        const char *end = memchr(bytes + at, '\n', size - at);
        const size_t length = end != NULL ? (size_t)(end - bytes) - at : size - at;
        NVDP_RETURN_IF_FAILED(
            nvdp__reserve(ctx, &rows->row, &rows->capacity, rows->count + 1, sizeof *rows->row));
        rows->row[rows->count++] = (struct nvdp__row){.text = {bytes + at, length}};
        at += length + 1;
    }
    return NVDP_OK;
}

static nvdp_status read_texts(struct nvdp_context *ctx, const struct texts *options,
                              struct nvdp_sanitizer *sanitizer, struct nvdp_token_texts *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_dataset_config config = nvdp_dataset_config_default();
    struct nvdp__layout layout;
    struct nvdp__rows rows = {0};
    enum nvdp_split split = NVDP_SPLIT_DEV;
    const char *name = options->text;
    char *path = NULL, *bytes = NULL;
    size_t size = 0;
    if (options->task != NULL) {
        NVDP_TRY(nvdp_task_find(ctx, options->task, &config.task));
        config.columns = options->columns;
        NVDP_TRY(nvdp__find_split(ctx, options->split, "", &split));
        NVDP_TRY(nvdp__task_resolve(ctx, &config, &layout));
        NVDP_TRY(nvdp__task_path(ctx, &layout, options->data, split, &path));
    }
    NVDP_TRY(nvdp__read_file(ctx, path != NULL ? path : name, NVDP__DATA_LIMIT, &bytes, &size));
    NVDP_TRY(path != NULL
                 ? nvdp__rows_parse(ctx, &config, NVDP__LABELS_IGNORED, path, bytes, size, &rows)
                 : parse_lines(ctx, bytes, size, &rows));
    NVDP_TRY(read_rows(ctx, options, &rows, sanitizer, out));
cleanup:
    nvdp__rows_release(&rows);
    free(path);
    free(bytes);
    return status;
}

nvdp_status nvdp_token_texts_read(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  struct nvdp_sanitizer *sanitizer, struct nvdp_token_texts *out) {
    struct texts options;
    NVDP_RETURN_IF_FAILED(nvdp__config_open(ctx, config, &texts_schema, &options));
    return read_texts(ctx, &options, sanitizer, out);
}

void nvdp_token_texts_release(struct nvdp_token_texts *texts) {
    free((void *)texts->offset);
    free((void *)texts->tokens);
    free((void *)texts->first);
    *texts = (struct nvdp_token_texts){0};
}

nvdp_status nvdp_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                              double **matrix, struct nvdp_dchi_report *out) {
    nvdp_status status = NVDP_OK;
    double *made = NULL;
    struct options options;
    struct nvdp__privacy_options measures;
    struct nvdp_sanitizer *sanitizer = NULL;
    struct nvdp_token_texts texts = {0};
    NVDP_TRY(nvdp__config_open(ctx, config, &schema, &options));
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__privacy_schema, &measures));
    if (options.sanitizer.mechanism == NVDP__TOKENS_AS_THEY_ARE)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "sanitizer: expected a mechanism, found none"));
    NVDP_TRY(nvdp__sanitizer_create(ctx, &options.sanitizer, options.model, &sanitizer));
    NVDP_TRY(read_texts(ctx, &options.texts, sanitizer, &texts));
    if (matrix != NULL) NVDP_TRY(NVDP__NEW(ctx, made, texts.texts * texts.texts));
    NVDP_TRY(nvdp__dchi_privacy(ctx, nvdp_sanitizer_dchi(sanitizer), &texts, &measures, made, out));
    if (matrix != NULL) NVDP__HAND_OVER(matrix, made);
cleanup:
    free(made);
    nvdp_token_texts_release(&texts);
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
    static const char *const same[] = {"method",        "units",      "scope",      "adjacency",
                                       "length_policy", "dim",        "components", "kappa",
                                       "order",         "arithmetic", "n",          "sample",
                                       "bound",         "posterior",  "exact"};
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
            "%g, %zu tokens searched)",
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
