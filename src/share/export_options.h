/* The options of nvdp export: the plain struct that the table of export_options.c fills. */
#ifndef NVDP_SRC_SHARE_EXPORT_OPTIONS_H
#define NVDP_SRC_SHARE_EXPORT_OPTIONS_H

#include "options/rows.h"

enum { NVDP__MODEL_ID_DIGITS = 32 };
enum { NVDP__GRID_FIXED, NVDP__GRID_FLOAT16 };
enum { NVDP__DUPLICATES_REFUSE, NVDP__DUPLICATES_EACH };

struct nvdp__export_options {
    const char *run;   /* owned by the export without a caller's RUN */
    const char *model; /* makes the run, from the rest of this group; NULL: the run exists */
    const char *center, *text_column;
    /* The owner declares that the public texts were chosen independently of the private texts. */
    bool public_independent;
    double clip, epsilon;
    size_t reduce;
    const char *input;  /* table, or one text per line; NULL: `splits` of the task's data */
    const char *splits; /* "train,dev" */
    const char *data;   /* NULL: the data folder of the training */
    const char *out, *model_out;
    const char *model_id;            /* 32 hexadecimal digits; NULL: random */
    const char *card;                /* NULL: no card */
    const char *sign;                /* file with a secret key; NULL: not signed */
    const char *ledger, *ledger_key; /* NULL: RUN/ledger; the path of the ledger and .key */
    bool no_ledger, own_ledger;      /* own_ledger: the caller gave the path */
    struct {
        size_t samples;
        double epsilon;
    } budget;       /* 0, 0: the promise of the run */
    int duplicates; /* only read if own_duplicates is set: the caller gave it */
    bool own_duplicates;
    const char *person;    /* column; NULL: none */
    double person_epsilon; /* 0: the budget in force */
    const char *receiver;  /* NULL: not named */
    size_t samples;        /* S per text */
    size_t limit;          /* texts per split; 0: all */
    size_t batch;
    bool with_labels, overwrite, publish;
    int grid;
    bool insecure; /* draws the noise from the seed, which otherwise only chooses texts */
    uint64_t seed;
    double order, delta; /* of the privacy summary */
    size_t measure_texts;
};

extern const struct nvdp__schema nvdp__export_schema;

/* Refuses outputs with another ending than those of the formats, in a folder that does not exist, that name a file to
 * keep (the ledger, a key, the input), or, without {overwrite}, that exist. */
nvdp_status nvdp__export_check_outputs(struct nvdp_context *ctx,
                                       const struct nvdp__export_options *options);

#endif
