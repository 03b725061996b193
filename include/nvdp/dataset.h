/* Tasks and data sets: GLUE's original TSV layout and a user's own TSV. */
#ifndef NVDP_DATASET_H
#define NVDP_DATASET_H

#include <nvdp/export.h>
#include <nvdp/tokenizer.h>

NVDP_BEGIN_DECLS

enum nvdp_task_id {
    NVDP_TASK_MRPC,
    NVDP_TASK_STSB,
    NVDP_TASK_RTE,
    NVDP_TASK_QQP,
    NVDP_TASK_QNLI,
    NVDP_TASK_SST2,
    NVDP_TASK_COLA,
    NVDP_TASK_MNLI,
    NVDP_TASK_TSV /* a user's own file; columns and labels from nvdp_task_options */
};

enum nvdp_metric {
    NVDP_METRIC_ACCURACY,
    NVDP_METRIC_F1, /* of class 1 */
    NVDP_METRIC_MATTHEWS,
    NVDP_METRIC_PEARSON,
    NVDP_METRIC_SPEARMAN
};
const char *nvdp_metric_name(enum nvdp_metric metric); /* "accuracy", "f1", "matthews", ... */

enum nvdp_split {
    NVDP_SPLIT_TRAIN,
    NVDP_SPLIT_DEV,
    NVDP_SPLIT_TEST,
    NVDP_SPLIT_DEV_MISMATCHED,
    NVDP_SPLIT_TEST_MISMATCHED
};

/* Resolved description of a task. */
struct nvdp_task {
    enum nvdp_task_id id;
    const char *name; /* as on the command line: "sst2", "mrpc", ... "tsv" */
    bool pair;
    bool regression; /* one output, mean squared error */
    int classes;     /* outputs of the classifier; 1 for regression; 0 without labels */
    /* Class names in the files and in predictions; NULL for regression. */
    const char *const *labels;
    double label_min, label_max; /* regression range (STS-B: 0..5); infinite where open */
    int metrics;
    enum nvdp_metric metric[2]; /* the first selects */
};

/* For NVDP_TASK_TSV.  Columns by header name. */
struct nvdp_task_options {
    const char *text_column;
    const char *text_pair_column; /* NULL: single texts */
    const char *label_column;
    bool regression;
};

/* NVDP_ERR_ARGUMENT for an unknown name; the message lists the known ones. */
nvdp_status nvdp_task_find(struct nvdp_context *ctx, const char *name, enum nvdp_task_id *out);

/* One text: token ids are in the data set's own arrays. */
struct nvdp_dataset {
    struct nvdp_task task;
    size_t count;
    size_t *offset; /* [count+1] into ids and types */
    int32_t *ids;
    int32_t *types;
    float *label;     /* [count]: class index, or score; NULL where the split has no labels */
    int64_t *index;   /* [count]: rows before it in the file (no header): identifies the text */
    char **id;        /* [count]: the file's own id (for predictions); NULL where it has none */
    size_t longest;   /* tokens of the longest text */
    size_t truncated; /* texts cut at max_length */
    size_t bad_rows;  /* rows skipped: bad ones on request, MNLI's without a gold label */
    void *storage;    /* owned: class names and the like */
};

struct nvdp_dataset_config {
    enum nvdp_task_id task;
    /* Task folder: train.tsv, dev.tsv, test.tsv; dev_matched.tsv and so on for MNLI. */
    const char *directory;
    struct nvdp_task_options columns; /* NVDP_TASK_TSV only */
    size_t max_length;                /* 3..512 */
    bool skip_bad_rows;               /* count and notice them instead of failing at the first */
    size_t limit; /* 0: all rows; else a seeded sample of that many rows, in file order */
    uint64_t limit_seed;
    /* NVDP_TASK_TSV, splits other than train: the label names found in train.  NULL for other
     * tasks, and for a named file whose own labels are to count. */
    const struct nvdp_task *labels_from;
    /* Folder that keeps tokenized files between runs, made where it is missing; NULL: none.  What
     * comes back is what reading would give: a file stands under the hash of all it depends on. */
    const char *cache;
};

/* Defaults: max_length 128, no limit, no skipping, no cache. */
struct nvdp_dataset_config nvdp_dataset_config_default(void);

/* Reads and tokenizes a split.  A leading byte-order mark, quotes inside fields (no CSV quoting),
 * CRLF and a missing last newline are normal.  Short or over-long rows, unknown labels, labels out
 * of range: NVDP_ERR_INPUT with "FILE:LINE: expected N columns, found M" or the like; an empty file
 * too.  GLUE's test labels are hidden: `label` is NULL. */
nvdp_status nvdp_dataset_load(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, enum nvdp_split split,
                              struct nvdp_dataset **out);
/* The same from one named file (for export and predict on a user's file): task columns, labels
 * where the file has them. */
nvdp_status nvdp_dataset_load_file(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                   const struct nvdp_dataset_config *config, const char *path,
                                   struct nvdp_dataset **out);
/* From memory: lines already split into text and pair; used by encode and examples.  pair may be
 * NULL, as may pair[i].  There are no labels. */
nvdp_status nvdp_dataset_from_texts(struct nvdp_context *ctx,
                                    const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                    size_t count, const char *const *text, const char *const *pair,
                                    struct nvdp_dataset **out);
/* Rows `rows[0..n)` of a data set as a new one, in that order. */
nvdp_status nvdp_dataset_select(struct nvdp_context *ctx, const struct nvdp_dataset *from, size_t n,
                                const size_t *rows, struct nvdp_dataset **out);
void nvdp_dataset_free(struct nvdp_dataset *dataset);

/* Splits train into (train, validation): a tenth, seeded, stratified by class (by score quantile
 * bins for regression).  At least one text a side or NVDP_ERR_INPUT. */
nvdp_status nvdp_dataset_holdout(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                 double fraction, uint64_t seed, struct nvdp_dataset **train,
                                 struct nvdp_dataset **validation);

NVDP_END_DECLS
#endif
