#include "share/formats.h"

#include "base/escape.h"
#include <stdlib.h>

enum { BUFFER_VALUES = 1 << 16 };

enum nvdp__shared_format nvdp__shared_format_of(const char *path) {
    static const char *const endings[] = {
        [NVDP__SHARED_SAFETENSORS] = ".safetensors", [NVDP__SHARED_PARQUET] = ".parquet"};
    for (int format = NVDP__SHARED_SAFETENSORS; format <= NVDP__SHARED_PARQUET; format++) {
        if (nvdp__ends_with(path, endings[format])) return (enum nvdp__shared_format)format;
    }
    return NVDP__SHARED_HDF5;
}

/* --- what the file holds --- */

const struct nvdp__text_column nvdp__text_columns[] = {
    {"id", NVDP__H5_I64}, {"split", NVDP__H5_I32}, {"label", NVDP__H5_F32}};

nvdp_status nvdp__column_open(const struct nvdp__shared *shared, const char *name,
                              enum nvdp__h5_type type, size_t width, size_t count,
                              struct nvdp__column *column) {
    const size_t most = width < BUFFER_VALUES ? BUFFER_VALUES / width : 1;
    *column = (struct nvdp__column){
        .name = name, .type = type, .width = width, .count = count, .most = most};
    column->buffer = nvdp__calloc(shared->ctx, most * width, sizeof(int64_t)); /* or less */
    return column->buffer != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

void nvdp__column_close(struct nvdp__column *column) {
    free(column->buffer);
    column->buffer = NULL;
}

static nvdp_status fill(const struct nvdp__shared *shared, struct nvdp__column *column,
                        size_t row) {
    const size_t rows = column->count / column->width;
    column->first = row;
    column->rows = nvdp__least(rows - row, column->most);
    return nvdp__h5_read_rows(shared->file, column->name, column->type, row, column->rows,
                              column->buffer);
}

nvdp_status nvdp__column_read(const struct nvdp__shared *shared, struct nvdp__column *column,
                              size_t first, size_t n, void *out) {
    const bool narrow = column->type == NVDP__H5_I16;
    const size_t size = column->type == NVDP__H5_I64 ? sizeof(int64_t) : sizeof(int32_t);
    for (size_t done = 0; done < n;) {
        const size_t row = (first + done) / column->width;
        if (column->rows == 0 || row < column->first || row >= column->first + column->rows)
            NVDP_RETURN_IF_FAILED(fill(shared, column, row));
        const size_t at = first + done - column->first * column->width;
        size_t here = column->rows * column->width - at;
        if (here > n - done) here = n - done;
        if (narrow) {
            const int32_t *wide = (const int32_t *)column->buffer + at;
            for (size_t i = 0; i < here; i++) {
                ((int16_t *)out)[done + i] = (int16_t)wide[i];
            }
        } else {
            memcpy((char *)out + done * size, (const char *)column->buffer + at * size,
                   here * size);
        }
        done += here;
    }
    return NVDP_OK;
}

const char *nvdp__sayings_find(const struct nvdp__sayings *words, const char *name) {
    for (size_t i = 0; i + 1 < words->count; i += 2) {
        if (strcmp(words->text[i], name) == 0) return words->text[i + 1];
    }
    return "";
}

static void add_word(struct nvdp__sayings *words, const char *text) {
    if (words->status != NVDP_OK) return;
    words->status = nvdp__reserve(words->ctx, &words->text, &words->capacity, words->count + 2,
                                  sizeof *words->text); /* a NULL at the end */
    if (words->status != NVDP_OK) return;
    words->text[words->count] = nvdp__strdup(words->ctx, text);
    if (words->text[words->count] == NULL)
        words->status = NVDP_ERR_MEMORY;
    else
        words->count++;
}

nvdp_status nvdp__sayings_add(struct nvdp__sayings *words, const char *name, const char *value) {
    add_word(words, name);
    add_word(words, value);
    return words->status;
}

static void add_attribute(const char *name, const char *value, void *user) {
    (void)nvdp__sayings_add(user, name, value);
}

nvdp_status nvdp__sayings_read(const struct nvdp__shared *shared, struct nvdp__sayings *words) {
    *words = (struct nvdp__sayings){.ctx = shared->ctx};
    NVDP_RETURN_IF_FAILED(nvdp__h5_list_attributes(shared->file, add_attribute, words));
    return words->status;
}

void nvdp__sayings_release(struct nvdp__sayings *words) {
    for (size_t i = 0; i < words->count; i++) {
        free(words->text[i]);
    }
    free(words->text);
    *words = (struct nvdp__sayings){0};
}

/* --- in the format of its name --- */

nvdp_status nvdp__shared_put(const struct nvdp__shared *shared, enum nvdp__shared_format format,
                             struct nvdp__output *to) {
    nvdp_status status = NVDP_OK;
    struct nvdp__sayings words = {0};
    NVDP_TRY(nvdp__sayings_read(shared, &words));
    status = format == NVDP__SHARED_PARQUET ? nvdp__parquet_put(shared, &words, to)
                                            : nvdp__tensors_put(shared, &words, to);
cleanup:
    nvdp__sayings_release(&words);
    return status;
}

/* --- the dataset card --- */

static const char *size_category(size_t texts) {
    static const char *const names[] = {"n<1K",      "1K<n<10K", "10K<n<100K",
                                        "100K<n<1M", "1M<n<10M", "10M<n<100M"};
    size_t most = 1000, category = 0;
    while (texts >= most && category + 1 < sizeof names / sizeof *names) {
        most *= 10;
        category++;
    }
    return names[category];
}

/* Words of a card, as its Markdown, YAML, Python and shell need them: nobody's name ends what it stands in. */
struct card_words {
    char *name, *quoted, *verify, *reuse; /* of the file: code, a string; commands */
    char *task, *method, *format, *statement;
};

static char *plain_text(const struct nvdp__shared *shared, const char *text) {
    char *plain = nvdp__plain_copy(shared->ctx, text);
    char *made = plain != NULL ? nvdp__escaped(shared->ctx, nvdp__put_markdown, plain) : NULL;
    free(plain);
    return made;
}

static char *command(const struct nvdp__shared *shared, const char *program, const char *name) {
    char *word = nvdp__escaped(shared->ctx, nvdp__put_shell, name);
    char *line = word != NULL ? nvdp__format(shared->ctx, "nvdp %s %s", program, word) : NULL;
    char *made = line != NULL ? nvdp__escaped(shared->ctx, nvdp__put_code, line) : NULL;
    free(word);
    free(line);
    return made;
}

static nvdp_status card_words(const struct nvdp__shared *shared, const struct nvdp__sayings *words,
                              const char *name, struct card_words *out) {
    char *plain = nvdp__plain_copy(shared->ctx, name);
    if (plain != NULL) out->name = nvdp__escaped(shared->ctx, nvdp__put_code, plain);
    free(plain);
    out->quoted = nvdp__escaped(shared->ctx, nvdp__put_quoted, name);
    out->verify = command(shared, "verify", name);
    out->reuse = command(shared, "reuse", name);
    out->task = plain_text(shared, nvdp__sayings_find(words, "task"));
    out->method = plain_text(shared, nvdp__sayings_find(words, "method"));
    out->format = plain_text(shared, nvdp__sayings_find(words, "nvdp_format"));
    out->statement = plain_text(shared, nvdp__sayings_find(words, "statement"));
    return NVDP__MADE(out->name, out->quoted, out->verify, out->reuse, out->task, out->method,
                      out->format, out->statement);
}

static void card_words_release(struct card_words *words) {
    free(words->name);
    free(words->quoted);
    free(words->verify);
    free(words->reuse);
    free(words->task);
    free(words->method);
    free(words->format);
    free(words->statement);
}

/* Says how the file's values are read in Python; `name` is quoted. */
static nvdp_status say_loading(struct nvdp__output *to, const struct nvdp__shared *shared,
                               enum nvdp__shared_format format, const char *name) {
    const bool whole = shared->shape->grid != NVDP__H5_F16;
    const bool hidden = shared->shape->policy == NVDP_LENGTH_HIDDEN;
    if (format == NVDP__SHARED_PARQUET)
        return nvdp__output_printf(to,
                                   "```python\nimport pandas as pd\ntable = "
                                   "pd.read_parquet(%s)  # a row per vector: text, "
                                   "sample, row, z%s\n```\n",
                                   name, shared->shape->weights ? ", pi" : "");
    if (format == NVDP__SHARED_SAFETENSORS)
        return nvdp__output_printf(
            to,
            "```python\nfrom safetensors import safe_open\nwith safe_open(%s, \"np\") as f:\n"
            "    meta = f.metadata()\n    z = f.get_tensor(\"z\")%s  # vectors, [rows, p]\n"
            "    offset = f.get_tensor(\"offset\")  # sample s of text i: rows offset[i * S + s] "
            "to offset[i * S + s + 1]\n```\n",
            name, whole ? " * float(meta[\"z_step\"])" : "");
    return nvdp__output_printf(
        to,
        "```python\nimport h5py\nwith h5py.File(%s) as f:\n    z = f[\"z\"][...]%s  # "
        "%s\n```\n",
        name, whole ? " * f.attrs[\"z_step\"]" : "",
        hidden ? "[texts, samples, vectors, p]"
               : "[rows, p]; sample s of text i: rows offset[i * S + s] to offset[i * S + s + 1]");
}

static nvdp_status say_card(struct nvdp__output *to, const struct nvdp__shared *shared,
                            enum nvdp__shared_format format,
                            const struct nvdp__release_facts *facts,
                            const struct card_words *words) {
    const struct nvdp__embeddings_shape *shape = shared->shape;
    const char *bold = facts->useful ? "" : "**";
    NVDP_RETURN_IF_FAILED(nvdp__output_printf(
        to,
        "---\npretty_name: Noisy embeddings of %zu texts\ntags:\n- text-embeddings\n"
        "%s- nvdp\nsize_categories:\n- %s\n",
        shape->texts, facts->useful ? "- differential-privacy\n" : "",
        size_category(shape->texts)));
    if (format == NVDP__SHARED_PARQUET)
        NVDP_RETURN_IF_FAILED(nvdp__output_printf(
            to, "configs:\n- config_name: default\n  data_files: %s\n", words->quoted));
    NVDP_RETURN_IF_FAILED(nvdp__output_printf(
        to,
        "---\n\n# Noisy embeddings of %zu texts\n\n%s%s%s\n\n%s holds %zu random sample%s of each "
        "of %zu texts of task %s, vectors of %zu numbers, drawn by mechanism %s (%s). The texts "
        "are "
        "not in it.\n\n## What it reveals\n\n%s\n\n## Loading\n\n",
        shape->texts, bold, facts->guarantee, bold, words->name, shape->samples,
        shape->samples == 1 ? "" : "s", shape->texts, words->task, shape->dim, words->method,
        words->format, words->statement));
    NVDP_RETURN_IF_FAILED(say_loading(to, shared, format, words->quoted));
    return nvdp__output_printf(to,
                               "\n## Checking\n\n%s computes again whatever the file says of "
                               "itself; %s trains a reader on it.\n",
                               words->verify, words->reuse);
}

nvdp_status nvdp__card_write(const struct nvdp__shared *shared, const char *name, const char *path,
                             const struct nvdp__release_facts *facts, struct nvdp__output *output) {
    nvdp_status status = NVDP_OK;
    struct nvdp__sayings words = {0};
    struct card_words escaped = {0};
    const char *last = strrchr(name, '/');
    NVDP_TRY(nvdp__sayings_read(shared, &words));
    NVDP_TRY(card_words(shared, &words, last != NULL ? last + 1 : name, &escaped));
    NVDP_TRY(nvdp__output_open(shared->ctx, path, output));
    NVDP_TRY(say_card(output, shared, nvdp__shared_format_of(name), facts, &escaped));
cleanup:
    card_words_release(&escaped);
    nvdp__sayings_release(&words);
    return status;
}
