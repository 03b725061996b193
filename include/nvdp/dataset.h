/** @file
 * Tasks and data sets: tab-separated files in GLUE's original layout, or a file of the user.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_DATASET_H
#define NVDP_DATASET_H

#include <nvdp/config.h>
#include <nvdp/export.h>
#include <nvdp/tokenizer.h>

NVDP_BEGIN_DECLS

/** Tasks with known files (Wang et al. 2019), and tasks of the user. */
enum nvdp_task_id {
    NVDP_TASK_MRPC, /**< paraphrases: pairs, 2 classes */
    NVDP_TASK_STSB, /**< similarity: pairs, a score from 0 to 5 */
    NVDP_TASK_RTE,  /**< entailment: pairs, 2 classes */
    NVDP_TASK_QQP,  /**< duplicate questions: pairs, 2 classes */
    NVDP_TASK_QNLI, /**< question and answer: pairs, 2 classes */
    NVDP_TASK_SST2, /**< sentiment: single texts, 2 classes */
    NVDP_TASK_COLA, /**< acceptability: single texts, 2 classes */
    NVDP_TASK_MNLI, /**< inference: pairs, 3 classes, two dev and two test splits */
    /** A file of the user; struct nvdp_dataset_config has its columns. */
    NVDP_TASK_TSV,
    NVDP_TASK_NER /**< entities: words in columns with a BIO tag per word */
};

/** Metrics. */
enum nvdp_metric {
    NVDP_METRIC_ACCURACY,  /**< share of correct texts */
    NVDP_METRIC_F1,        /**< F1 of class 1 */
    NVDP_METRIC_MATTHEWS,  /**< Matthews's correlation coefficient */
    NVDP_METRIC_PEARSON,   /**< Pearson's correlation of scores */
    NVDP_METRIC_SPEARMAN,  /**< Spearman's correlation of ranks */
    NVDP_METRIC_ENTITY_F1, /**< F1 of entities with correct span and type, as in conlleval */
    NVDP_METRIC_PRECISION, /**< precision of entities, as in conlleval */
    NVDP_METRIC_RECALL,    /**< recall of entities, as in conlleval */
    NVDP_METRIC_MACRO_F1   /**< mean F1 over classes that are a label or a prediction */
};

/** Returns the name of a metric.
 * @param metric the metric
 * @return "accuracy", "f1", "matthews", "pearson", "spearman", "entity_f1", "precision", "recall" or "macro_f1";
 *         "unknown" for any other value */
const char *nvdp_metric_name(enum nvdp_metric metric);

/** Splits of a task's data. */
enum nvdp_split {
    NVDP_SPLIT_TRAIN,          /**< train.tsv */
    NVDP_SPLIT_DEV,            /**< dev.tsv; MNLI's dev_matched.tsv */
    NVDP_SPLIT_TEST,           /**< test.tsv; MNLI's test_matched.tsv */
    NVDP_SPLIT_DEV_MISMATCHED, /**< MNLI's dev_mismatched.tsv */
    NVDP_SPLIT_TEST_MISMATCHED /**< MNLI's test_mismatched.tsv */
};

enum {
    NVDP_METRICS_MAX = 3 /**< maximum number of metrics of a task */
};

/** Properties of a task, with a user's options applied. */
struct nvdp_task {
    enum nvdp_task_id id;      /**< the task */
    const char *name;          /**< name in options: "sst2", "mrpc", ... "tsv" */
    bool pair;                 /**< texts are pairs */
    bool regression;           /**< one output, mean squared error */
    bool tags;                 /**< a class per word instead of one per text */
    int classes;               /**< classifier outputs; 1 for regression; 0 without labels */
    const char *const *labels; /**< [classes] label names in files; NULL for regression */
    double label_min;          /**< minimum score of a regression; -infinity if unbounded */
    double label_max;          /**< maximum score of a regression; infinity if unbounded */
    int metrics;               /**< number of metrics: 1 to NVDP_METRICS_MAX */
    enum nvdp_metric metric[NVDP_METRICS_MAX]; /**< the metrics; the first selects the best epoch */
};

/** Finds a task by name.
 * @param ctx  records errors; may be NULL
 * @param name "mrpc", "stsb", "rte", "qqp", "qnli", "sst2", "cola", "mnli", "tsv" or "ner"
 * @param out  the task; untouched on error
 * @return NVDP_ERR_ARGUMENT for an unknown name; the message lists the known names */
nvdp_status nvdp_task_find(struct nvdp_context *ctx, const char *name, enum nvdp_task_id *out);

enum {
    NVDP_TAG_NONE = -1,   /**< not the first token of a word */
    NVDP_TAG_UNKNOWN = -2 /**< the first token of a word without a tag */
};

/** Tokenized texts, concatenated. The functions below create a data set, and nvdp_dataset_free() frees it. */
struct nvdp_dataset {
    const struct nvdp_task *task; /**< the task of the labels; the data set owns it */
    size_t count;                 /**< number of texts */
    size_t *offset; /**< [count+1] text i has the tokens ids[offset[i]..offset[i+1]) */
    int32_t *ids;   /**< [offset[count]] rows of the vocabulary */
    int32_t *types; /**< [offset[count]] 0 for the first text, 1 for the second text of a pair */
    float *label;   /**< [count] class or score; NULL for a split without labels */
    /** [offset[count]] For tasks with task->tags: the class of a word at the word's first token, else NVDP_TAG_NONE or
     * NVDP_TAG_UNKNOWN. Classes from task->classes on are tags of types that the training file lacks. NULL for other
     * tasks. */
    int32_t *tag;
    /** [count] number of rows before the text in the file, without the header. It identifies the text. */
    int64_t *index;
    const char **id;  /**< [count] id in the file; NULL if the file has none */
    size_t longest;   /**< length of the longest text in tokens */
    size_t truncated; /**< number of texts cut at max_length */
    /** Number of skipped rows: invalid rows if requested, and MNLI's rows without a gold label. */
    size_t bad_rows;
    void *storage;         /**< internal storage, such as class names */
    enum nvdp_split split; /**< the split that was read; train if no split was read */
};

/** Options for reading a split. nvdp_dataset_config_default() fills the struct up to struct_size; members beyond this
 * size have their defaults. */
struct nvdp_dataset_config {
    size_t struct_size;     /**< NVDP_RESULT() sets it */
    enum nvdp_task_id task; /**< the task */
    const char *directory;  /**< directory with the files of the splits */
    /** NVDP_TASK_TSV: name of the text's column in the header. The next two members are names of columns, too. */
    const char *text_column;
    const char *text_pair_column; /**< column of the second text; NULL for single texts */
    const char *label_column;     /**< column of the label; NULL if there is none */
    bool regression;              /**< NVDP_TASK_TSV: labels are numbers */
    size_t max_length;            /**< maximum tokens per text, including special ones: 3 to 512 */
    bool skip_bad_rows;           /**< skip and count invalid rows instead of failing */
    /** Number of rows to sample, in the file's order; 0 for all rows. */
    size_t limit;
    uint64_t limit_seed; /**< seed of the sample */
    /** For splits of NVDP_TASK_TSV other than train: the task of the train split, with its label names. NULL for
     * other tasks, and for a file that states its labels. */
    const struct nvdp_task *labels_from;
    /** Directory that caches tokenized files between runs, created if it is missing; NULL for no cache. Results
     * are the same with and without a cache: the name of a cached file is the hash of everything that the file
     * depends on. */
    const char *cache;
    /** Column of nvdp_dataset.id, which the file must have. NULL for the task's id column, if the file has this
     * column. */
    const char *id_column;
};

/** Fills in the defaults: max_length 128, no limit, no skipping, no cache. Set task and directory.
 * @param ctx         records errors; may be NULL
 * @param[in,out] out the options
 * @return NVDP_ERR_ARGUMENT for a struct without struct_size */
nvdp_status nvdp_dataset_config_default(struct nvdp_context *ctx, struct nvdp_dataset_config *out);

/** Reads one file, which has the task's columns and possibly labels, or one text per line (docs/formats.md).
 * @param ctx       records errors; may be NULL
 * @param tokenizer tokenizes the texts
 * @param config    options; the directory is not used
 * @param path      the file
 * @param out       the data set; untouched on error
 * @return as nvdp_run_posteriors() */
nvdp_status nvdp_dataset_load_file(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                   const struct nvdp_dataset_config *config, const char *path,
                                   struct nvdp_dataset **out);

/** Creates a data set from texts in memory, without labels. O(bytes).
 * @param ctx        records errors; may be NULL
 * @param tokenizer  tokenizes the texts
 * @param max_length maximum number of tokens per text, 3 to 512
 * @param count      number of texts
 * @param text       [count] UTF-8
 * @param pair       [count] second texts, NULL for a text without a second text; may be NULL
 * @param out        the data set; untouched on error
 * @return NVDP_ERR_ARGUMENT for a max_length out of range; NVDP_ERR_MEMORY */
nvdp_status nvdp_dataset_from_texts(struct nvdp_context *ctx,
                                    const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                    size_t count, const char *const *text, const char *const *pair,
                                    struct nvdp_dataset **out);

/** Frees a data set.
 * @param dataset may be NULL */
void nvdp_dataset_free(struct nvdp_dataset *dataset);

NVDP_END_DECLS
#endif
