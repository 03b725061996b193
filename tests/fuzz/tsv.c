/* Reads data sets from bytes: the first byte is the task, the second sets the use of labels and
 * whether bad rows are skipped; the rest is the file. */
#include "fuzz.h"

enum { USES = 3, SKIP = 4, REGRESSION = 8, PAIR = 16, LABELS_FROM = 32, CSV = 64, JSONL = 128 };

static void check(const struct nvdp__rows *rows, const uint8_t *data, size_t size) {
    const char *start = (const char *)data;
    static volatile unsigned sum; /* read, so that a sanitizer detects invalid pointers */
    if (rows->count == 0) abort();
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__text_row *row = &rows->row[i];
        const bool copied =
            row->text.text < start || row->text.text + row->text.size > start + size;
        if (copied && rows->pool.blocks == 0) abort();
        for (size_t k = 0; k < row->text.size; k++)
            sum = sum + (unsigned char)row->text.text[k];
        if (rows->labeled != !isnan(row->label)) abort();
        if (rows->labeled && !rows->task.regression &&
            !(row->label >= 0 && row->label < (float)rows->task.classes))
            abort();
        if (i > 0 && row->index <= rows->row[i - 1].index) abort();
    }
}

nvdp_status fuzz_use(struct fuzz_input in) {
    static const char *const names[] = {"no", "yes"};
    static const struct nvdp_task labels_from = {.classes = 2, .labels = names};
    if (in.size < 2) return NVDP_OK;
    unsigned options = in.data[1];
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    config.task = (enum nvdp_task_id)(in.data[0] % (NVDP_TASK_TSV + 1));
    config.skip_bad_rows = (options & SKIP) != 0;
    nvdp__set_columns(&config, &(struct nvdp__columns){"t", (options & PAIR) != 0 ? "u" : NULL, "y",
                                                       (options & REGRESSION) != 0});
    if ((options & LABELS_FROM) != 0) config.labels_from = &labels_from;
    struct nvdp__rows rows = {0};
    if (nvdp__rows_parse(NULL, &config, (enum nvdp__label_use)(options % USES),
                         (options & CSV) != 0     ? "file.csv"
                         : (options & JSONL) != 0 ? "file.jsonl"
                                                  : "file.tsv",
                         (const char *)in.data + 2, in.size - 2, &rows) == NVDP_OK)
        check(&rows, in.data, in.size);
    nvdp__rows_release(&rows);
    return NVDP_OK;
}
