/* Parts of nvdp verify, which checks that a shared file is consistent, and agrees with the claims of its attributes.
 * verify.c has the checks of one file. verify_content.c checks names, values, counts and single rows. verify_folder.c
 * merges the checks of several files, and compares files with the owner's ledger. */
#ifndef NVDP_SRC_SHARE_VERIFY_H
#define NVDP_SRC_SHARE_VERIFY_H

#include "model/model.h"
#include "share/ledger.h"
#include "share/release.h"
#include "share/statement.h"
#include "share/summarize.h"

enum { NVDP__VERIFY_NAME = 64 }; /* size of a short text attribute */

/* A row of a split, or of an input file (split 0). */
struct nvdp__verify_place {
    int64_t id;
    int32_t split;
};

/* Hashes and norms of the rows of z, from the pass over the file. */
struct nvdp__row_key {
    uint64_t hash; /* keyed with `secret` */
    size_t row;
};
struct nvdp__row_keys {
    unsigned char secret[16];  /* protects from rows that were made to have the same hash */
    struct nvdp__row_key *key; /* [count]; NULL without rows, or if memory was short */
    size_t count, shortest_row, longest_row;
    double shortest, longest; /* squares of the smallest and the largest norm */
};

struct nvdp__verify {
    struct nvdp_context *ctx;
    struct nvdp__release release;
    struct nvdp_shared *held;
    struct nvdp_verification found;
    /* The epsilon that a check shows, or 0.  For several files, the largest number counts. */
    double number[NVDP_CHECKS];
    struct nvdp__spent spent; /* sums of the owner's ledger (verify_folder.c) */
    size_t texts;
    struct nvdp__verify_place *place; /* [places] rows of splits, sorted */
    size_t places;
    double largest, square; /* max |z|, and the sum of squares of z */
    struct nvdp__row_keys rows;
    nvdp_status status; /* NVDP_ERR_MEMORY if memory was short, which is no fault of the file */
    /* The facts that the attributes state. */
    struct nvdp__model_info info;
    struct nvdp__release_facts facts;
    struct nvdp__summary_facts summary; /* facts, if the file has a summary */
    struct nvdp__release_grids grids;
    char task[16];
};

/* --- verify.c: checks --- */

struct nvdp_verification nvdp__nothing_found(void);
/* Adds a check.  Returns NVDP_OK. */
nvdp_status nvdp__verify_check(struct nvdp__verify *v, enum nvdp_verdict verdict, const char *what,
                               const char *found, ...) __attribute__((format(printf, 4, 5)));
/* Sets the number of the last check. */
void nvdp__verify_weigh(struct nvdp__verify *v, double number);
enum nvdp_verdict nvdp__verdict(bool holds);

/* --- verify.c: attributes; returns `fallback` if the attribute is missing or has another type --- */

bool nvdp__verify_has(const struct nvdp__verify *v, const char *name);
double nvdp__verify_real(const struct nvdp__verify *v, const char *name, double fallback);
int64_t nvdp__verify_whole(const struct nvdp__verify *v, const char *name, int64_t fallback);
bool nvdp__verify_text(const struct nvdp__verify *v, const char *name, size_t size, char *out);
bool nvdp__verify_text_is(const struct nvdp__verify *v, const char *name, const char *word);

/* Check the stated training texts, and the statement of a file whose mechanism is known. */
void nvdp__verify_training(struct nvdp__verify *v);
void nvdp__verify_statement(struct nvdp__verify *v);
extern const char nvdp__statement_agrees[]; /* name of a check */
/* Runs all checks of one file, which stays open in `v`. */
nvdp_status nvdp__verify_file(struct nvdp_context *ctx, const char *path,
                              const unsigned char *wanted, struct nvdp__verify *v);

void nvdp__verify_release(struct nvdp__verify *v);

/* --- verify_content.c --- */

/* Checks that the file has no names that the format does not define. */
nvdp_status nvdp__verify_names(struct nvdp__verify *v);
/* Check the values of all attributes of the format, and the source of the noise. */
void nvdp__verify_attributes(struct nvdp__verify *v);
void nvdp__verify_generator(struct nvdp__verify *v);
/* Checks values, weights, numbers of texts and rows, and the source of the noise. */
nvdp_status nvdp__verify_content(struct nvdp__verify *v);
void nvdp__sort_places(struct nvdp__verify_place *place, size_t count);
bool nvdp__same_place(const struct nvdp__verify_place *a, const struct nvdp__verify_place *b);
extern const char nvdp__no_row_twice[];

/* --- verify_content.c: single rows --- */

/* The distribution of a row of z that the file states.  The tests include the rounding to a grid. */
struct nvdp__row_law {
    size_t dim;
    double rows;   /* number of rows in the file */
    double radius; /* upper bound of the norm of a row's mean; INFINITY if there is none */
    double variance_min, variance_max; /* 0, INFINITY if unknown */
    double step;                       /* step of the grid; 0 for float16 */
    double limit;                      /* larger values are rounded to this value */
    double alarm;                      /* probability with which an honest file may fail */
};
#define NVDP__ROW_ALARM 1e-9
/* Return whether the squared norm of a row is too small, or too large. */
bool nvdp__row_too_short(const struct nvdp__row_law *law, double square);
bool nvdp__row_too_long(const struct nvdp__row_law *law, double square);
/* Returns whether this row is too improbable, or, if `pair` is set, two rows that equal this row. */
bool nvdp__row_is_fault(const struct nvdp__row_law *law, const float *row, bool pair);

/* Adds whole rows of z to the sums while the file is read. */
void nvdp__verify_sum(size_t count, const float *values, void *verify);
/* Checks the rows against the mechanism that the file describes. */
nvdp_status nvdp__verify_rows(struct nvdp__verify *v);

/* --- verify_summary.c --- */

/* Runs the checks of a summary, up to the statement. */
nvdp_status nvdp__verify_summary(struct nvdp__verify *v);

/* --- verify_folder.c --- */

nvdp_status nvdp__verify_folder(struct nvdp__verify *all, const struct nvdp__shards *shards,
                                const unsigned char *wanted);

#endif
