/* Tests that an option means the same in all kinds of work: its rows agree in placeholder, help, unit and range.
 * The options below are exceptions, each with the reason why its rows differ. */
#include "options/schema.h"
#include "support.h"

#include <nvdp.h>

#include "test_context.h"

enum { ROWS = 400, TABLES = 60 };

/* Names whose rows of one type differ, and the number of variants. */
static const struct {
    const char *name;
    size_t ways;
    const char *why;
} differing[] = {
    {"batch", 4, "texts or windows; on those of a step results depend"},
    {"cache", 2, "pretraining keeps no states of frozen layers"},
    {"certified-epsilon", 2, "of training, or of an encoder that is released without training"},
    {"clip-sequence", 2, "a bound of the means, or the norm of all of them"},
    {"data", 5,
     "a run knows its task's folder, sanitized texts need the original ones, a summary has no run, "
     "and files of texts for commands that measure a run without a task"},
    {"delta", 3, "pseudo-counts of the prior, a statement's delta, that of a bound from below"},
    {"draws", 2, "noise that is averaged over, draws that measure a mechanism"},
    {"dropout", 2, "a checkpoint has its own, a new model has none"},
    {"freeze-layers", 2, "a masked language model freezes its decoder too"},
    {"heads", 2, "of an encoder, of a reader of samples"},
    {"init", 2, "a checkpoint, or the public part of a model"},
    {"input", 5,
     "new texts of a run or of an encoder in any format, those of a summary, a table, or public "
     "texts"},
    {"insecure-seed", 2, "private training has 0 for the operating system, to which it returns"},
    {"label-column", 3,
     "none by default in a task's own file; a column of an attack; an array beside vectors"},
    {"length", 3, "rows of a sample; windows, whose range a finished model limits"},
    {"limit", 2, "texts, or windows"},
    {"lr", 3, "a reader's default follows from its width, pretraining's from the optimizer"},
    {"max-length", 2, "an encoder's default is its own, and a line can have another"},
    {"model", 8,
     "a start, an attacked one, one to score, an encoder, a released one, one to summarize, that "
     "of a file, a table of word vectors"},
    {"momentum", 2, "Muon's, which training has not"},
    {"objective", 2, "what a masked language model predicts; a task, or no task"},
    {"optimizer", 2, "Muon, which training has not"},
    {"out", 7, "a folder or a file, and what it is called when it is not given"},
    {"pair", 2, "a pair that is attacked, or whose exact loss is shown beside the worst"},
    {"person", 2, "a column of a ledger's persons, or of the units of an attacked summary"},
    {"pool", 2, "over samples, or over an encoder's states"},
    {"reduce", 2, "a summary chooses the number of directions by its rows"},
    {"regression", 2, "only files of one's own say so when a model is trained"},
    {"releases", 2, "samples that are given away, or that an attacker knows to be of one text"},
    {"run", 3, "an export without training makes its run, and so does a summary"},
    {"samples", 3, "averaged predictions, released samples, trials of an attack"},
    {"seed", 2, "sanitized texts draw from the operating system, only analyses by a seed"},
    {"seeds", 2, "of noise that an attacker learns from, and of readers"},
    {"split", 2, "only a run has a validation part"},
    {"task", 3, "tokens of a text are privatized and summarized, words with tags are not"},
    {"text", 2, "text to train on, and held-out text"},
    {"text-column", 2, "of a table of one's own, or of the texts that are released"},
    {"vectors", 2, "of words, or of texts"},
    {"text-pair-column", 3, "a second text, that pairs are summarized, or attacked"},
};
enum { DIFFERING = sizeof differing / sizeof *differing };

static bool same_text(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool agree(const struct nvdp_option *a, const struct nvdp_option *b) {
    return a->type == b->type && same_text(a->name, b->name) &&
           same_text(a->placeholder, b->placeholder) && same_text(a->help, b->help) &&
           same_text(a->unit, b->unit) && a->min == b->min && a->max == b->max;
}

static size_t ways_of(const char *name) {
    for (size_t i = 0; i < DIFFERING; i++)
        if (strcmp(differing[i].name, name) == 0) return differing[i].ways;
    return 1;
}

/* Rows that differ from all previous rows. */
struct seen {
    const struct nvdp_option *row[ROWS];
    size_t rows;
};

/* Adds a row.  Skips synonyms, which only name other options. */
static void see(struct seen *seen, const struct nvdp_option *row) {
    if (row->sets != NULL) return;
    for (size_t i = 0; i < seen->rows; i++)
        if (agree(seen->row[i], row)) return;
    cr_assert_lt(seen->rows, ROWS);
    seen->row[seen->rows++] = row;
}

Test(rows, an_option_is_the_same_in_all_kinds_of_work) {
    static struct seen seen;
    struct nvdp_config *config[TABLES];
    size_t tables = 0;
    for (size_t k = 0; nvdp__kinds[k] != NULL; k++) {
        if (strcmp(nvdp__kinds[k]->name, "gate") == 0)
            continue; /* whose options name their policies' needs */
        for (size_t p = 0; p < NVDP__CONFIG_PARTS && nvdp__kinds[k]->part[p] != NULL; p++) {
            cr_assert_lt(tables, TABLES);
            struct nvdp_config **of = &config[tables++];
            ok(nvdp__config_create(ctx, nvdp__kinds[k]->part[p], of));
            cr_expect_eq(nvdp_config_set(*of, "threads", "1"), NVDP_OK, "%s", nvdp__kinds[k]->name);
            for (size_t i = 0; i < nvdp_config_count(*of); i++)
                see(&seen, nvdp_config_option(*of, i));
        }
    }
    for (size_t i = 0; i < seen.rows; i++) {
        const struct nvdp_option *row = seen.row[i];
        size_t ways = 0;
        for (size_t k = 0; k <= i; k++)
            ways += seen.row[k]->type == row->type && strcmp(seen.row[k]->name, row->name) == 0;
        cr_expect_leq(ways, ways_of(row->name), "option --%s is said in another way: %s", row->name,
                      row->help);
    }
    for (size_t i = 0; i < DIFFERING; i++) {
        size_t ways = 0;
        for (size_t k = 0; k < seen.rows; k++)
            ways += strcmp(seen.row[k]->name, differing[i].name) == 0;
        cr_expect_geq(ways, differing[i].ways, "option --%s: fewer ways than listed",
                      differing[i].name);
    }
    for (size_t k = 0; k < tables; k++)
        nvdp_config_free(config[k]);
}
