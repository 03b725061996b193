/**
 * @file
 * Tasks and data sets: GLUE's original layout of tab-separated files, and a user's own file.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_DATASET_H
#define NVDP_DATASET_H

#include <nvdp/export.h>
#include <nvdp/tokenizer.h>

NVDP_BEGIN_DECLS

/** The tasks whose files are known (Wang et al. 2019), and a user's own. */
enum nvdp_task_id {
    NVDP_TASK_MRPC, /**< Paraphrases: pairs, 2 classes. */
    NVDP_TASK_STSB, /**< Similarity: pairs, a score from 0 to 5. */
    NVDP_TASK_RTE,  /**< Entailment: pairs, 2 classes. */
    NVDP_TASK_QQP,  /**< Duplicate questions: pairs, 2 classes. */
    NVDP_TASK_QNLI, /**< Question and answer: pairs, 2 classes. */
    NVDP_TASK_SST2, /**< Sentiment: single texts, 2 classes. */
    NVDP_TASK_COLA, /**< Acceptability: single texts, 2 classes. */
    NVDP_TASK_MNLI, /**< Inference: pairs, 3 classes, two dev and two test splits. */
    NVDP_TASK_TSV,  /**< A user's own file; columns and labels from struct nvdp_task_options. */
    NVDP_TASK_NER   /**< Entities: words in columns with their BIO tags, a tag a word. */
};

/** Scores that a task is judged by. */
enum nvdp_metric {
    NVDP_METRIC_ACCURACY,  /**< Share of the texts that is right. */
    NVDP_METRIC_F1,        /**< Of class 1. */
    NVDP_METRIC_MATTHEWS,  /**< Matthews's correlation coefficient. */
    NVDP_METRIC_PEARSON,   /**< Pearson's correlation of scores. */
    NVDP_METRIC_SPEARMAN,  /**< Spearman's correlation of ranks. */
    NVDP_METRIC_ENTITY_F1, /**< Of entities found whole and with their type, as conlleval counts. */
    NVDP_METRIC_PRECISION, /**< Share of the entities found that are right, likewise. */
    NVDP_METRIC_RECALL,    /**< Share of the right entities that are found, likewise. */
    NVDP_METRIC_MACRO_F1   /**< Mean over classes, that occur or are said, of each one's F1. */
};

/**
 * A metric's name.
 *
 * @param metric the metric.
 * @return "accuracy", "f1", "matthews", "pearson", "spearman", "entity_f1", "precision", "recall" or "macro_f1";
 * "unknown" for any other value.
 */
const char *nvdp_metric_name(enum nvdp_metric metric);

/** Parts of a task's data. */
enum nvdp_split {
    NVDP_SPLIT_TRAIN,          /**< train.tsv */
    NVDP_SPLIT_DEV,            /**< dev.tsv; MNLI's dev_matched.tsv */
    NVDP_SPLIT_TEST,           /**< test.tsv; MNLI's test_matched.tsv */
    NVDP_SPLIT_DEV_MISMATCHED, /**< MNLI's dev_mismatched.tsv */
    NVDP_SPLIT_TEST_MISMATCHED /**< MNLI's test_mismatched.tsv */
};

enum {
    NVDP_METRICS = 3 /**< Most metrics of a task. */
};

/** What a task asks, with a user's options put in. */
struct nvdp_task {
    enum nvdp_task_id id; /**< Which task. */
    const char *name;     /**< As on the command line: "sst2", "mrpc", ... "tsv". */
    bool pair;            /**< Whether its texts are pairs. */
    bool regression;      /**< One output, mean squared error. */
    bool tags;            /**< A class for each word, in place of one for the text. */
    int classes;          /**< Outputs of the classifier; 1 for regression; 0 without labels. */
    const char *const *labels; /**< [classes] their names in files; NULL for regression. */
    double label_min;          /**< Least score of a regression; -infinity where open. */
    double label_max;          /**< Largest score of a regression; infinity where open. */
    int metrics;               /**< How many metrics it has: 1 to NVDP_METRICS. */
    enum nvdp_metric metric[NVDP_METRICS]; /**< They; the first selects the best epoch. */
};

/** For NVDP_TASK_TSV: columns by their names in the header. */
struct nvdp_task_options {
    const char *text_column;      /**< Of the text. */
    const char *text_pair_column; /**< Of the second text; NULL: single texts. */
    const char *label_column;     /**< Of the label; NULL: none. */
    bool regression;              /**< Labels are numbers. */
};

/**
 * A task by its name.
 *
 * @param ctx where errors are recorded; NULL allowed.
 * @param name "mrpc", "stsb", "rte", "qqp", "qnli", "sst2", "cola", "mnli", "tsv" or "ner".
 * @param out the task; untouched on error.
 * @return NVDP_ERR_ARGUMENT for an unknown name; the message lists the known ones.
 */
nvdp_status nvdp_task_find(struct nvdp_context *ctx, const char *name, enum nvdp_task_id *out);

enum {
    NVDP_TAG_NONE = -1,   /**< No word's first token. */
    NVDP_TAG_UNKNOWN = -2 /**< A word's first token, its tag not given. */
};

/** Tokenized texts, end to end.  Made by the functions below, freed by nvdp_dataset_free(). */
struct nvdp_dataset {
    struct nvdp_task task; /**< The task that its labels belong to. */
    size_t count;          /**< Texts. */
    size_t *offset;        /**< [count+1] text i's tokens are ids[offset[i]..offset[i+1]). */
    int32_t *ids;          /**< [offset[count]] rows of the vocabulary. */
    int32_t *types;        /**< [offset[count]] 0, and 1 from a pair's second text on. */
    float *label;          /**< [count] class or score; NULL where the split has no labels. */
    int32_t *tag;          /**< [offset[count]] where task.tags: a word's class stands at its first
                               token, NVDP_TAG_NONE or NVDP_TAG_UNKNOWN elsewhere; else NULL. */
    int64_t *index;   /**< [count] rows before it in the file (no header): identifies the text. */
    const char **id;  /**< [count] the file's own id; NULL where it has none. */
    size_t longest;   /**< Tokens of the longest text. */
    size_t truncated; /**< Texts cut at max_length. */
    size_t bad_rows;  /**< Rows skipped: bad ones on request, MNLI's without a gold label. */
    void *storage;    /**< Owned: class names and the like. */
    enum nvdp_split split; /**< The part of the data that nvdp_dataset_load() read; else train. */
};

/** How a split is read. */
struct nvdp_dataset_config {
    enum nvdp_task_id task;           /**< Which task. */
    const char *directory;            /**< Its folder, in which the splits' files are. */
    struct nvdp_task_options columns; /**< For NVDP_TASK_TSV only. */
    size_t max_length;                /**< Most tokens per text, special ones included: 3 to 512. */
    bool skip_bad_rows;  /**< Count and notice bad rows instead of failing at the first. */
    size_t limit;        /**< 0: all rows; else a sample of that many, in the file's order. */
    uint64_t limit_seed; /**< Chooses that sample. */
    /** NVDP_TASK_TSV, splits other than train: the task that train has, with its label names.  NULL
     * for other tasks, and for a named file whose own labels are to count. */
    const struct nvdp_task *labels_from;
    /** Folder that keeps tokenized files between runs, made where it is missing; NULL: none.  What
     * comes back is what reading would give: a file stands under the hash of all it depends on. */
    const char *cache;
};

/**
 * The defaults: max_length 128, no limit, no skipping, no cache.
 *
 * @return a configuration whose task and directory are to be set.
 */
struct nvdp_dataset_config nvdp_dataset_config_default(void);

/**
 * Reads and tokenizes a split on the context's threads.  A leading byte-order mark, CRLF and a missing
 * last newline are normal.  GLUE's files have no quoting; a user's own may be quoted TSV, CSV or JSON lines
 * (docs/formats.md).  Texts that are odd are counted in notices.  GLUE's test labels are
 * hidden: `label` is NULL.  O(bytes of the file).
 *
 * @param ctx where errors are recorded; NULL allowed, and then one thread.
 * @param tokenizer what texts become tokens with.
 * @param config what to read.
 * @param split which part.
 * @param out the data set, for nvdp_dataset_free(); untouched on error.
 * @return NVDP_ERR_INPUT for an empty file, short or over-long rows, unknown labels and scores out
 * of range, as "FILE:LINE: expected N columns, found M" or the like; NVDP_ERR_ARGUMENT for a
 * configuration that does not fit the task; NVDP_ERR_IO; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_dataset_load(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, enum nvdp_split split,
                              struct nvdp_dataset **out);

/**
 * The same from one named file with the task's columns, with labels where the file has them.
 *
 * @param ctx where errors are recorded; NULL allowed.
 * @param tokenizer what texts become tokens with.
 * @param config what to read; its directory is not looked at.
 * @param path the file.
 * @param out the data set; untouched on error.
 * @return as nvdp_dataset_load().
 */
nvdp_status nvdp_dataset_load_file(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                   const struct nvdp_dataset_config *config, const char *path,
                                   struct nvdp_dataset **out);

/**
 * A data set of texts in memory, without labels.  O(bytes).
 *
 * @param ctx where errors are recorded; NULL allowed.
 * @param tokenizer what texts become tokens with.
 * @param max_length most tokens per text, 3 to 512.
 * @param count texts.
 * @param text [count] UTF-8.
 * @param pair [count] second texts; NULL, as a whole or for one text: none.
 * @param out the data set; untouched on error.
 * @return NVDP_ERR_ARGUMENT for a max_length out of range; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_dataset_from_texts(struct nvdp_context *ctx,
                                    const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                    size_t count, const char *const *text, const char *const *pair,
                                    struct nvdp_dataset **out);

/**
 * Some texts of a data set as a new one.  O(tokens selected).
 *
 * @param ctx where errors are recorded; NULL allowed.
 * @param from the data set.
 * @param n texts of the new one.
 * @param rows [n] which, in its order; the same may come twice.
 * @param out the new data set; untouched on error.
 * @return NVDP_ERR_ARGUMENT where a row is not below from->count; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_dataset_select(struct nvdp_context *ctx, const struct nvdp_dataset *from, size_t n,
                                const size_t *rows, struct nvdp_dataset **out);

/**
 * Frees a data set.
 *
 * @param dataset NULL allowed.
 */
void nvdp_dataset_free(struct nvdp_dataset *dataset);

/**
 * Divides a data set into two, stratified by class, or by tenths of the ranked scores: every
 * stratum gives its share by largest remainders.  Both keep the file's order.  O(texts log texts).
 *
 * @param ctx where errors are recorded; NULL allowed.
 * @param from the data set.
 * @param fraction share of the texts that is held out, between 0 and 1.
 * @param seed chooses them.
 * @param train what is left, one text at least; untouched on error.
 * @param validation what is held out, one text at least; untouched on error.
 * @return NVDP_ERR_ARGUMENT for a fraction out of range; NVDP_ERR_INPUT for fewer than 2 texts;
 * NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_dataset_holdout(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                 double fraction, uint64_t seed, struct nvdp_dataset **train,
                                 struct nvdp_dataset **validation);

NVDP_END_DECLS
#endif
