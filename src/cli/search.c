/* nvdp search: ranks the texts of a shared file by their similarity to queries. The library does the work. */
#include "common.h"

#include "base/file.h"
#include "share/release.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct values {
    const char *query, *queries, *model;
    int64_t top;
};

#define AT(field) NVDP_OPTION_AT(struct values, field)

static const struct nvdp_option options[] = {
    {"query", NVDP_OPTION_TEXT, "TEXT", "the query; -: queries from standard input, one per line",
     NULL, AT(query)},
    {"queries", NVDP_OPTION_TEXT, "F", "file of queries, one per line; -: standard input", NULL,
     AT(queries)},
    {"top", NVDP_OPTION_INTEGER, "K", "number of hits", "10", AT(top), .min = 1, .max = 1000000},
    {"model", NVDP_OPTION_TEXT, "DIR",
     "folder of the encoder; its weights must be those that the file names; default: models/NAME, "
     "NAME as in the file",
     NULL, AT(model)},
    {0}};

enum { NOTE = 1600, FEW = 200 /* the variance of 200 estimates has a standard error of 10 % */ };

struct queries {
    char **text;
    size_t count, capacity;
};

static void release(const struct queries *queries) {
    for (size_t i = 0; i < queries->count; i++)
        free(queries->text[i]);
    free(queries->text);
}

static nvdp_status add(struct cli *cli, struct queries *queries, const char *file, const char *text,
                       size_t size) {
    json_t *utf8 = json_stringn(text, size);
    json_decref(utf8);
    if (utf8 == NULL)
        return nvdp__fail(cli->ctx, NVDP_ERR_INPUT, "%s%c%zu: expected UTF-8, found other bytes",
                          NVDP__QUERY(file, queries->count));
    nvdp__autofree char *copy = nvdp__format(cli->ctx, "%.*s", (int)size, text);
    NVDP_TRY(NVDP__MADE(copy));
    NVDP_TRY(NVDP__PUSH(cli->ctx, queries->text, queries->count, queries->capacity, copy));
    copy = NULL;
    return NVDP_OK;
}

static nvdp_status read_lines(struct cli *cli, const char *path, struct queries *queries) {
    nvdp__auto(nvdp__lines_close) struct nvdp__lines lines = {0};
    struct nvdp__field line;
    bool found = true;
    NVDP_TRY(nvdp__lines_open(cli->ctx, path, &lines));
    for (;;) {
        NVDP_TRY(nvdp__lines_next(&lines, &line, &found));
        if (!found) break;
        if (strspn(line.text, " \t") == line.size)
            return nvdp__fail(cli->ctx, NVDP_ERR_INPUT,
                              "%s:%zu: expected a query, found an empty line", path, lines.line);
        NVDP_TRY(add(cli, queries, path, line.text, line.size));
    }
    if (queries->count == 0)
        return nvdp__fail(cli->ctx, NVDP_ERR_INPUT,
                          "%s: expected one query per line, found no line", path);
    return NVDP_OK;
}

static void explain(const struct nvdp_search_info *info, char note[NOTE]) {
    char rough[160] = "";
    if (info->texts > 1 && info->texts < FEW)
        nvdp__snprintf(rough, sizeof rough,
                       " The variance of %zu estimates, which sets the prior, has a standard error "
                       "of %.0f %%: both numbers are rough.",
                       info->texts, 100 * sqrt(2.0 / (double)(info->texts - 1)));
    nvdp__snprintf(
        note, NOTE,
        "Cosines are of embeddings minus the center: thresholds for the encoder's own cosines do "
        "not apply. Cosine: an unbiased estimate for each text, with standard deviation %.3f by "
        "the noise; that of a top hit is too large on average, because hits are the largest of "
        "%zu estimates. Intervals hold for all texts together with 95 %%, so also for hits. "
        "Shrunken: the expected cosine under a normal prior that is fitted to the estimates of all "
        "texts. Above: the probability under this prior that the hit is closer to the query than "
        "the text after the last hit; 50 %% if the estimates vary no more than the noise. Both are "
        "too small for a text that is much closer to the query than all others.%s The file has no "
        "lengths, so hits cannot be filtered by length. Whoever guesses a text can check the guess "
        "by a search, as far as the noise allows.",
        info->deviation, info->texts, rough);
}

static json_t *hits_json(const struct nvdp_search_info *info, size_t count,
                         const struct nvdp_hit *hit) {
    json_t *array = json_array();
    for (size_t k = 0; k < count; k++)
        json_array_append_new(
            array,
            json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "rank", (json_int_t)(k + 1),
                      "text", (json_int_t)hit[k].text, "id", (json_int_t)hit[k].id, "cosine",
                      cli_number(hit[k].estimate), "shrunken", cli_number(hit[k].shrunken),
                      "low_all", cli_number(hit[k].estimate - info->margin_all), "high_all",
                      cli_number(hit[k].estimate + info->margin_all), "above",
                      cli_number(hit[k].above)));
    return array;
}

static json_t *to_json(const struct nvdp_search_info *info, const struct queries *queries,
                       size_t count, const struct nvdp_hit *hit, const double seconds[2]) {
    char note[NOTE];
    json_t *results = json_array();
    for (size_t q = 0; q < queries->count; q++)
        json_array_append_new(results, json_pack("{s:s, s:o}", "query", queries->text[q], "hits",
                                                 hits_json(info, count, hit + q * count)));
    explain(info, note);
    return json_pack("{s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "texts",
                     (json_int_t)info->texts, "dim", (json_int_t)info->dim, "encoder",
                     info->encoder, "clip_sequence", cli_number(info->clip), "deviation",
                     cli_number(info->deviation), "load_seconds", cli_number(seconds[0]),
                     "search_seconds", cli_number(seconds[1]), "queries", results, "note", note);
}

static void print(const struct nvdp_search_info *info, const struct queries *queries, size_t count,
                  const struct nvdp_hit *hit, const double seconds[2]) {
    char note[NOTE];
    for (size_t q = 0; q < queries->count; q++, hit += count) {
        printf("%s%s\n", q > 0 ? "\n" : "", queries->text[q]);
        puts("rank      text        id  cosine  95 %, all texts   shrunken    above");
        for (size_t k = 0; k < count; k++) {
            nvdp__fprintf(stdout, "%4zu %9zu %9lld  %6.3f  %6.3f to %6.3f    %6.3f  ", k + 1,
                          hit[k].text, (long long)hit[k].id, hit[k].estimate,
                          hit[k].estimate - info->margin_all, hit[k].estimate + info->margin_all,
                          hit[k].shrunken);
            if (isnan(hit[k].above))
                puts("      -");
            else
                nvdp__fprintf(stdout, "%5.1f %%\n", 100 * hit[k].above);
        }
    }
    putchar('\n');
    cli_row("file", "%zu texts of width %zu, norm %g, encoder %s", info->texts, info->dim,
            info->clip, info->encoder);
    cli_row("time", "%.2f s to load file and encoder, %.3f s to search", seconds[0], seconds[1]);
    explain(info, note);
    nvdp__print_wrapped(stdout, note);
}

static int run(struct cli *cli) {
    struct values values = {.top = 10};
    nvdp__auto(release) struct queries queries = {0};
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *shared = NULL;
    nvdp__autoptr(nvdp_search_free) struct nvdp_search *opened = NULL;
    nvdp__autofree struct nvdp_hit *hit = NULL;
    struct nvdp_search_info info = NVDP_RESULT(struct nvdp_search_info);
    CLI_TRY(cli_begin(cli, &values));
    if ((values.query == NULL) == (values.queries == NULL))
        return cli_usage(cli, "expected exactly one of --query and --queries");
    const double start = nvdp__now();
    if (values.query != NULL && strcmp(values.query, "-") == 0) {
        values.queries = values.query;
        values.query = NULL;
    }
    if (values.queries != NULL) values.queries = cli_file(values.queries);
    CLI_DO(cli, values.query != NULL ? add(cli, &queries, NULL, values.query, strlen(values.query))
                                     : read_lines(cli, values.queries, &queries));
    CLI_DO(cli, nvdp_shared_read(cli->ctx, cli->arg[0], &shared));
    CLI_DO(cli, nvdp_search_open(cli->ctx, shared, values.model, &opened));
    CLI_DO(cli, nvdp_search_describe(opened, &info));
    const double loaded = nvdp__now();
    const size_t count = nvdp__min((size_t)values.top, info.texts);
    CLI_DO(cli, NVDP__NEW(cli->ctx, hit, queries.count * nvdp__max(count, 1)));
    CLI_DO(cli, nvdp_search_texts(cli->ctx, opened, values.queries, queries.count,
                                  (const char *const *)queries.text, (size_t)values.top, hit));
    const double seconds[] = {loaded - start, nvdp__now() - loaded};
    if (cli->json) return cli_print_json(cli, to_json(&info, &queries, count, hit, seconds));
    print(&info, &queries, count, hit, seconds);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_search = {
    .name = "search",
    .summary = "rank the texts of a shared file by their similarity to a query",
    .args = "FILE|DIR",
    .description =
        "Searches a file from nvdp export --model, or a folder with the files of one release. "
        "Embeds the query without noise, with the encoder that the file names, and estimates its "
        "cosine with each text; several samples of a text are averaged. Cosines are of embeddings "
        "minus the center that the file states: thresholds for the encoder's own cosines do not "
        "apply. Prints the row of each hit in the sender's input: the file has no texts, and no "
        "lengths to filter by. Whoever guesses a text can check the guess by a search, as far as "
        "the noise allows. At an epsilon that makes search useful (92 or more), the file says that "
        "it has no useful guarantee.",
    .examples = "Examples:\n"
                "  nvdp export --model models/minilm --center public.txt \\\n"
                "    --certified-epsilon 92 --input texts.tsv --out shared.h5\n"
                "  nvdp search shared.h5 --query 'how do I learn to swim?'\n"
                "  nvdp search shared.h5 --queries questions.txt --top 100 --json\n",
    .options = options,
    .run = run,
};
