/* Writes dataset cards for nvdp export: the README.md beside a shared file.  nvdp__card_write at the end is the
 * entry. */
#include "share/release.h"

#include "base/escape.h"
#include <stdlib.h>
#include <string.h>

static const char *size_category(size_t texts) {
    static const char *const names[] = {"n<1K",      "1K<n<10K", "10K<n<100K",
                                        "100K<n<1M", "1M<n<10M", "10M<n<100M"};
    size_t limit = 1000, category = 0;
    while (texts >= limit && category + 1 < sizeof names / sizeof *names) {
        limit *= 10;
        category++;
    }
    return names[category];
}

/* The texts of a card, escaped for Markdown, YAML, Python and shell so that no name can end its own quotation. */
struct card_words {
    char *name, *quoted, *verify, *reuse; /* the file name as code and as a string; commands */
    char *task, *method, *format;
};

static char *plain_text(const struct nvdp__release *release, const char *text) {
    char *plain = nvdp__plain_copy(release->ctx, text);
    char *made = plain != NULL ? nvdp__escaped(release->ctx, nvdp__put_markdown, plain) : NULL;
    free(plain);
    return made;
}

static char *command(const struct nvdp__release *release, const char *program, const char *name) {
    char *word = nvdp__escaped(release->ctx, nvdp__put_shell, name);
    char *line = word != NULL ? nvdp__format(release->ctx, "nvdp %s %s", program, word) : NULL;
    char *made = line != NULL ? nvdp__escaped(release->ctx, nvdp__put_code, line) : NULL;
    free(word);
    free(line);
    return made;
}

static nvdp_status card_words(const struct nvdp__release *release, const char *name,
                              struct card_words *out) {
    char *plain = nvdp__plain_copy(release->ctx, name);
    if (plain != NULL) out->name = nvdp__escaped(release->ctx, nvdp__put_code, plain);
    free(plain);
    out->quoted = nvdp__escaped(release->ctx, nvdp__put_quoted, name);
    out->verify = command(release, "verify", name);
    out->reuse = command(release, "reuse", name);
    out->task = plain_text(release, nvdp__attributes_text(&release->attributes, "task"));
    out->method = plain_text(release, nvdp__attributes_text(&release->attributes, "method"));
    out->format = plain_text(release, nvdp__attributes_text(&release->attributes, "nvdp_format"));
    return NVDP__MADE(out->name, out->quoted, out->verify, out->reuse, out->task, out->method,
                      out->format);
}

static void card_words_release(struct card_words *words) {
    free(words->name);
    free(words->quoted);
    free(words->verify);
    free(words->reuse);
    free(words->task);
    free(words->method);
    free(words->format);
}

/* Writes the lines of the statement as a list. */
static nvdp_status write_statement(struct nvdp__output *to, const struct nvdp__release *release) {
    nvdp__autofree char *item = NULL;
    char *next = NULL;
    nvdp__autofree char *lines =
        nvdp__strdup(release->ctx, nvdp__attributes_text(&release->attributes, "statement"));
    NVDP_TRY(NVDP__MADE(lines));
    for (char *line = strtok_r(lines, "\n", &next); line != NULL;
         line = strtok_r(NULL, "\n", &next)) {
        NVDP_TRY(NVDP__MADE(item = plain_text(release, line)));
        NVDP_TRY(nvdp__output_printf(to, "- %s\n", item));
        free(item);
        item = NULL;
    }
    return NVDP_OK;
}

static nvdp_status write_card(struct nvdp__output *to, const struct nvdp__release *release,
                              const struct nvdp__release_facts *facts,
                              const struct card_words *words) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const char *bold = facts->useful ? "" : "**";
    NVDP_TRY(nvdp__output_printf(
        to,
        "---\npretty_name: Noisy embeddings of %zu texts\ntags:\n- text-embeddings\n"
        "%s- nvdp\nsize_categories:\n- %s\n",
        shape->texts, facts->useful ? "- differential-privacy\n" : "",
        size_category(shape->texts)));
    if (release->format->table)
        NVDP_TRY(nvdp__output_printf(to, "configs:\n- config_name: default\n  data_files: %s\n",
                                     words->quoted));
    NVDP_TRY(nvdp__output_printf(
        to,
        "---\n\n# Noisy embeddings of %zu texts\n\n%s%s%s\n\n%s holds %zu random sample%s of each "
        "of %zu texts of task %s, vectors of %zu numbers, drawn by mechanism %s (%s). The texts "
        "are "
        "not in it.\n\n## What it reveals\n\n",
        shape->texts, bold, facts->guarantee, bold, words->name, shape->samples,
        shape->samples == 1 ? "" : "s", shape->texts, words->task, shape->dim, words->method,
        words->format));
    NVDP_TRY(write_statement(to, release));
    NVDP_TRY(nvdp__output_printf(to, "\n## Loading\n\n"));
    NVDP_TRY(release->format->example(to, shape, words->quoted));
    return nvdp__output_printf(to,
                               "\n## Checking\n\n%s computes again whatever the file says of "
                               "itself; %s trains a reader on it.\n",
                               words->verify, words->reuse);
}

nvdp_status nvdp__card_write(const struct nvdp__release *release, const char *name,
                             const char *path, const struct nvdp__release_facts *facts,
                             struct nvdp__output *output) {
    nvdp__auto(card_words_release) struct card_words escaped = {0};
    const char *last = strrchr(name, '/');
    NVDP_TRY(card_words(release, last != NULL ? last + 1 : name, &escaped));
    NVDP_TRY(nvdp__output_open(release->ctx, path, output));
    return write_card(output, release, facts, &escaped);
}
