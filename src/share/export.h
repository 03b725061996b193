/* The stages of nvdp export, and its options: the plain struct that the table of export_options.c fills. */
#ifndef NVDP_SRC_SHARE_EXPORT_H
#define NVDP_SRC_SHARE_EXPORT_H

#include "job/dp.h"
#include "model/model.h"
#include "options/rows.h"
#include "share/caller_vectors.h"
#include "share/ledger.h"
#include "share/release.h"
#include "text/task.h"
#include "train/run.h"
#include "train/sentence_run.h"

enum { NVDP__MODEL_ID_DIGITS = 32 };
enum { NVDP__GRID_FIXED, NVDP__GRID_FLOAT16 };
enum { NVDP__UNIT_TEXT, NVDP__UNIT_PERSON };
enum { NVDP__DUPLICATES_REFUSE, NVDP__DUPLICATES_EACH };

struct nvdp__export_options {
    const char *run; /* the export owns it unless the caller gave RUN */
    /* Encoder from which the run is made, with the options below; NULL if the run exists. */
    const char *model;
    const char *center, *text_column;
    /* The owner declares that the public texts were chosen independently of the private texts. */
    bool public_independent;
    double clip, epsilon;
    size_t reduce;
    bool own_reduce, own_column; /* the caller gave `reduce`; `text_column` */
    /* File of vectors in place of texts, and the names of its arrays; NULL for texts. `input` is then this file, too.
     * */
    const char *vectors, *vectors_name, *vectors_source, *ids;
    const char *input;  /* table, or one text per line; NULL for `splits` of the task's data */
    const char *splits; /* "train,dev" */
    const char *data;   /* NULL for the data folder of the training */
    const char *out, *model_out;
    const char *model_id;            /* 32 hexadecimal digits; NULL for random digits */
    const char *card;                /* path of the card; NULL for no card */
    const char *sign;                /* file with a secret key; NULL if not signed */
    const char *ledger, *ledger_key; /* NULL for RUN/ledger; NULL for the ledger's path and .key */
    bool no_ledger, own_ledger;      /* own_ledger: the caller gave the path */
    struct {
        size_t samples;
        double epsilon;
    } budget;       /* budget of each text; zeros for the budget that the run promises */
    int duplicates; /* read only if own_duplicates is set, which means that the caller gave it */
    bool own_duplicates;
    int unit;              /* unit that has a sample: text or person */
    const char *person;    /* column; NULL if there is none */
    double person_epsilon; /* 0 for the budget in force */
    const char *receiver;  /* NULL if no receiver is named */
    size_t samples;        /* S per text */
    size_t limit;          /* texts per split; 0 for all texts */
    size_t batch;
    bool with_labels, overwrite, publish;
    int grid;
    bool insecure; /* draws the noise from the seed, which otherwise only chooses texts */
    uint64_t seed;
    double order, delta; /* order and delta of the privacy summary */
    size_t measure_texts;
    struct {
        double epsilon, delta;
        const char *task; /* task whose train file replaces `input`; NULL if there is none */
        const char *pair; /* column of the second text; NULL for single texts */
        bool joint;       /* the encoder reads both texts of a pair together */
        const char *label, *classes,
            *range; /* column (NULL for "label"); names, "LOW,HIGH"; NULL without answers */
        size_t rows;
        bool dry_run;
    } summary; /* options of nvdp summarize */
};

extern const struct nvdp__schema nvdp__export_schema;
/* The options of every kind of release: card, signature, ledger, and the checks of these options. */
extern const struct nvdp_option nvdp__release_options[];
nvdp_status nvdp__export_check_center(struct nvdp_context *ctx,
                                      const struct nvdp__export_options *options);
nvdp_status nvdp__export_check(struct nvdp_context *ctx,
                               const struct nvdp__export_options *options);

/* Refuses an output whose ending belongs to no format, whose folder does not exist, or that is a file to keep (the
 * ledger, a key, the input). Without {overwrite}, also refuses an output that exists. */
nvdp_status nvdp__export_check_outputs(struct nvdp_context *ctx,
                                       const struct nvdp__export_options *options);

enum { NVDP__EXPORT_PARTS = 5 };

/* The texts of one source: a split or the input file. */
struct nvdp__export_part {
    struct nvdp_context *ctx; /* set for vectors */
    /* The texts [first, first + data->count): all texts, unless a summary reads the source in parts. */
    struct nvdp_dataset *data;
    size_t first, count, longest;     /* count: of all texts; longest: tokens of the longest text */
    struct nvdp__dataset_parts parts; /* .path is NULL if `data` has all texts */
    bool begun;                       /* nvdp__export_next() returned `data`, which has all texts */
    enum nvdp_split split;
    /* Vectors in place of texts: a text of `data` has one token, which stands for a vector; ids identify the texts. */
    struct nvdp__caller_vectors
        vectors;                  /* width is 0 for texts; file is open if it is read in parts */
    struct nvdp__content content; /* of vectors that are read in parts */
};

/* The run, and the texts to share. */
struct nvdp__export_source {
    struct nvdp__path made_run; /* default path of the run that this export makes or reuses */
    struct nvdp__run run;
    struct nvdp__export_part part[NVDP__EXPORT_PARTS];
    struct nvdp__export_part joint; /* pairs that the encoder reads as one text */
    size_t parts, texts;
    struct nvdp__text_digests digests; /* of all texts, until their repeats are counted */
    size_t units; /* texts or persons, each of which has samples or is a unit of a summary */
    size_t *unit_of,
        *rows_of; /* [texts], [units]: nvdp__export_find_persons(); NULL if there is none */
    struct nvdp__query_map query;
    struct nvdp__public_texts public; /* compared with the texts to share */
};

/* The part of an export that concerns the ledger. */
struct nvdp__export_counting {
    /* Default paths; options->ledger is NULL without a ledger. */
    struct nvdp__path path, key;
    /* Tokenizer and length by which the ledger identifies texts. */
    char tokens[NVDP__DIGEST_HEX + 24];
    nvdp__ledger_code code; /* code of the record of this export */
    /* The ledger has the record; the file appeared under its name. */
    bool counted, published;
    /* From now on, a failure would depend on the drawn values. */
    bool judged;
    struct nvdp__memory memory; /* owner of the hashes */
    nvdp__text_hash mark;  /* hash of no tokens under the key of the hashes; zeros without hashes */
    nvdp__text_hash *hash; /* [N] hashes of the texts under the ledger's key */
    /* [N] hashes of the persons' names, and of the names as they look; NULL without persons. */
    nvdp__text_hash *person, *look;
    nvdp__text_hash receiver;
    /* The ledger's sums for these texts, with this file; 0 if there is no ledger. */
    struct nvdp__spent spent;
};

/* The samples of one batch, and the sampler. */
struct nvdp__export_drawing {
    struct nvdp__release_key key;
    struct nvdp__noise noise;
    size_t texts; /* max. per batch */
    struct nvdp__batch *batch;
    struct nvdp_posteriors *posteriors;
    char *scratch; /* [threads][scratch_bytes] */
    size_t scratch_bytes;
    void *z, *log_pi;  /* [rows of the batch, p], [rows]: int32_t, or float on grid float16 */
    size_t *first_row; /* [batch + 1] first row of each text of the batch, over all samples */
    size_t replaced;   /* texts in which numbers were replaced */
    struct nvdp__rowwise *rowwise; /* for a summary; NULL to use the model's matrix products */
};

struct nvdp__export;
/* A kind of export: samples of texts, or a summary of texts (summarize.c). */
struct nvdp__export_kind {
    const struct nvdp__schema *schema;
    const char *folder;          /* ending of the name of a run that the export makes */
    enum nvdp__ledger_type type; /* type of the record in the ledger */
    /* Completes the options, before anything is made; NULL if nothing follows from others. */
    nvdp_status (*choose)(struct nvdp__export *export);
    /* The stages: set shape and grids; measure, before anything is written; draw and write the values. */
    nvdp_status (*plan)(struct nvdp__export *export);
    nvdp_status (*measure)(struct nvdp__export *export);
    nvdp_status (*draw)(struct nvdp__export *export);
};

struct nvdp__export {
    struct nvdp_context *ctx;
    const struct nvdp__export_kind *kind;
    const struct nvdp__export_options *options; /* `chosen` */
    struct nvdp__export_options chosen;
    struct nvdp__summary_facts *summary; /* NULL for samples */
    /* A copy of facts.privacy for the result; NULL if there is none. */
    struct nvdp_privacy_report *privacy;
    struct nvdp__memory memory; /* the owner of the arrays of all stages */
    struct nvdp__export_source from;
    struct nvdp__export_counting count;
    /* the file */
    struct nvdp__sign_key sign;  /* set only if the file is signed */
    struct nvdp__form form;      /* the form of the model's samples */
    struct nvdp_posteriors like; /* the properties that all texts share, without rows */
    struct nvdp__release release;
    struct nvdp__release_grids grids;
    size_t longest_rows; /* rows of the longest sample */
    struct nvdp__release_facts facts;
    struct nvdp__export_drawing draw;
};

/* Returns the run's folder, or "" for vectors, which have no run. */
static inline const char *nvdp__export_run(const struct nvdp__export_options *options) {
    return options->run != NULL ? options->run : "";
}

static inline bool nvdp__export_is_fixed(const struct nvdp__export *export) {
    return export->options->grid == NVDP__GRID_FIXED;
}

/* --- export.c --- */

/* Does a whole export of this kind. Close the export even after a failure. */
nvdp_status nvdp__export_do(struct nvdp__export *export, const struct nvdp_config *config,
                            const struct nvdp__export_kind *kind);
void nvdp__export_close(struct nvdp__export *export);

/* Sets part->data to the next texts of a part. *more is false at the end, from where the next call begins again. */
nvdp_status nvdp__export_next(struct nvdp__export_part *part, bool *more);
/* Begins again with the first texts of all parts. */
void nvdp__export_rewind(struct nvdp__export *export);
/* Reads all texts of a part once: sets their number and length, and adds their digests. */
nvdp_status nvdp__export_scan(struct nvdp__export *export, struct nvdp__export_part *part);

/* --- export_vectors.c --- */

/* Options of vectors in place of texts, for the tables of commands. */
#define NVDP__VECTORS_ROWS(vectors_at, name_at, source_at, ids_at)                                 \
    {"vectors",                                                                                    \
     NVDP_OPTION_TEXT,                                                                             \
     "FILE",                                                                                       \
     "vectors that another program computed; no model is needed: .npy, .npz, .h5 or "              \
     ".safetensors with float16, float32 or float64 [rows, width]; center is then a file of "      \
     "public vectors by the same encoder; a vector must not depend on other texts of its batch",   \
     NULL,                                                                                         \
     vectors_at,                                                                                   \
     .group = "Vectors of another program:",                                                       \
     .traits = NVDP_TRAIT_BASIC},                                                                  \
        {"vectors-name",                                                                           \
         NVDP_OPTION_TEXT,                                                                         \
         "NAME",                                                                                   \
         "array of the vectors, also in the file of center; default: the only one of two "         \
         "dimensions with floats",                                                                 \
         NULL,                                                                                     \
         name_at},                                                                                 \
        {"vectors-source",                                                                         \
         NVDP_OPTION_TEXT,                                                                         \
         "NAME",                                                                                   \
         "your name of the encoder, which file and statement repeat for the receiver",             \
         NULL,                                                                                     \
         source_at},                                                                               \
    {                                                                                              \
        "ids", NVDP_OPTION_TEXT, "NAME",                                                           \
            "array of the texts' ids, integers or strings, by which the ledger recognizes a text " \
            "in other files; you vouch that a text, and nothing else, has its id everywhere; "     \
            "default: equal vectors are one text; label-column and person name arrays, too",       \
            NULL, ids_at                                                                           \
    }

/* Refuses options that do not fit {vectors}, or that need it. */
nvdp_status nvdp__export_check_vectors(struct nvdp_context *ctx,
                                       const struct nvdp__export_options *options);
/* Does, for vectors, the stages that open a run, read public texts and load texts. */
nvdp_status nvdp__export_open_vectors(struct nvdp__export *export);
/* Does nvdp__export_next() for vectors that are read in parts. */
nvdp_status nvdp__export_next_vectors(struct nvdp__export_part *part, bool *more);
/* Returns the column of the answers; NULL for a summary without answers, and for samples without labels. */
const char *nvdp__export_answers(const struct nvdp__export_options *options);
/* Returns the options of the run of a public encoder or of vectors. */
struct nvdp__sentence_options nvdp__export_sentence(const struct nvdp__export_options *options);
/* Computes the posteriors of vectors x [n, width] in `out`. The model must be planned for n texts of one token. */
nvdp_status nvdp__export_infer_vectors(struct nvdp_model *model, struct nvdp__batch *batch,
                                       size_t n, const float *x);
/* Computes the posteriors of the chosen rows. */
nvdp_status nvdp__export_chosen_vectors(struct nvdp__export *export, const int64_t *chosen,
                                        size_t count, struct nvdp_posteriors **out);

/* --- export_ledger.c --- */

struct nvdp__ledger_release nvdp__export_record(const struct nvdp__export *export);
nvdp_status nvdp__export_open_ledger(struct nvdp__export *export, struct nvdp__ledger **out);
nvdp_status nvdp__export_check_duplicates(struct nvdp__export *export);
nvdp_status nvdp__export_ask_ledger(struct nvdp__export *export);
nvdp_status nvdp__export_warn(struct nvdp__export *export);
nvdp_status nvdp__export_settle(struct nvdp__export *export, nvdp_status status);

/* --- summary_choices.c --- */

struct nvdp__row_chunks;
/* Completes the options of a summary: the file, columns and answers of a task, and the number of directions. */
nvdp_status nvdp__summary_choose(struct nvdp__export *export);
/* Chooses the number of directions, unless the caller gave `reduce`: from `units`, the number of units; `public`, the
 * number of public texts or vectors; `width`, the numbers of a vector; and from options. Logs the reason. */
void nvdp__summary_reduce(struct nvdp__export *export, size_t units, size_t public, size_t width);
/* Sets the format of a task of single texts, whose file may have no header. */
void nvdp__summary_set_task(const struct nvdp__export *export, struct nvdp_dataset_config *config);
/* Opens the input a further time: its texts, and the persons. Logs nothing. */
nvdp_status nvdp__summary_rows(const struct nvdp__export *export, struct nvdp__row_chunks **out);

/* --- export_persons.c --- */

/* Finds the person of each row of the input; the rows of a person may be anywhere. Sets from.units, the number of
 * persons; from.unit_of, the person of a row, where persons are numbered in the order of their first rows; and
 * from.rows_of, the number of rows of a person. Compares names as the ledger does. A row without a name counts as a
 * separate person. */
nvdp_status nvdp__export_find_persons(struct nvdp__export *export);
/* Draws and writes the samples of all persons. The mean of a person's sample is the mean of the embeddings of the
 * person's rows. Each embedding has norm C at most, so the mean has norm C at most. Holds all means in memory:
 * [units, p] doubles. */
nvdp_status nvdp__export_draw_persons(struct nvdp__export *export);

/* --- export_write.c --- */

nvdp_status nvdp__export_allocate(struct nvdp__export *export);
nvdp_status nvdp__export_begin_file(struct nvdp__export *export);
nvdp_status nvdp__export_draw(struct nvdp__export *export);
/* Draws and writes the samples of the n units whose posteriors are in export->draw.posteriors, from unit `first` of
 * the file on. */
nvdp_status nvdp__export_draw_batch(struct nvdp__export *export, size_t first, size_t n);
/* Sets export->draw.noise to a key from the operating system, or to the insecure seed. */
nvdp_status nvdp__export_open_noise(struct nvdp__export *export);
/* Computes the posteriors of a part's texts [first, first + n) in export->draw.posteriors. Draws nothing. */
nvdp_status nvdp__export_infer(struct nvdp__export *export, const struct nvdp__export_part *part,
                               size_t first, size_t n);
nvdp_status nvdp__export_public_model(const struct nvdp_model *model, const char *model_id,
                                      const char *directory);
nvdp_status nvdp__export_publish(struct nvdp__export *export);

#endif
