/* The ledger counts every release of a text before anybody can have it (docs/formats.md, "ledger/2").
 *
 * The file grows by one record per export.  It holds a keyed hash of each text's tokens: without the key nobody can
 * try out texts on it, nor change a record unnoticed.  A record is on the disk before the first value of its release
 * is drawn, and is never taken back: an export that fails afterwards has been counted. */
#ifndef NVDP_SRC_SHARE_LEDGER_H
#define NVDP_SRC_SHARE_LEDGER_H

#include "base/base.h"
#include <nvdp/certificate.h>

enum {
    NVDP__LEDGER_ID = 32,
    NVDP__LEDGER_HASH = 16,
    NVDP__LEDGER_ORDERS = 16,
    NVDP__LEDGER_FILE = 128,
    NVDP__LEDGER_FILES = 320
};
extern const double nvdp__ledger_orders[NVDP__LEDGER_ORDERS];
/* The delta at which epsilons are composed. */
#define NVDP__LEDGER_DELTA 1e-5

struct nvdp__ledger;
typedef unsigned char nvdp__text_hash[NVDP__LEDGER_HASH];

/* The limit for all releases of a text together; 0: no such limit. */
struct nvdp__budget {
    uint64_t samples;
    double epsilon; /* at NVDP__LEDGER_DELTA */
};

/* A record without its texts, laid out as in the file.  A file of kind ledger/1 has no `file`. */
struct nvdp__ledger_release {
    char id[NVDP__LEDGER_ID]; /* the file's model_id, without a NUL */
    uint64_t texts, samples;
    int64_t seconds;            /* since 1970 */
    struct nvdp__budget budget; /* in force */
    /* The guarantee of one sample; infinite where nothing is proven.  mu is infinite unless it is a Gaussian mechanism. */
    double mu, divergence[NVDP__LEDGER_ORDERS];
    char file
        [NVDP__LEDGER_FILE]; /* the path of the file, its end where it is longer; ends with a NUL */
};

/* The sum of a text's releases: samples add up, mu^2 adds up, divergences of an order add up.  For several texts each
 * member is the largest, and the two may be of different texts. */
struct nvdp__spent {
    uint64_t samples;
    double
        epsilon; /* at NVDP__LEDGER_DELTA, the least that follows; infinite where one release has no guarantee */
    uint64_t again;                 /* texts that earlier records have */
    char files[NVDP__LEDGER_FILES]; /* the files of these records, the last ones first */
};

/* Opens and authenticates the ledger.  To add to it, `tokens` names the tokenizer and the length that texts are cut to,
 * since texts are recognised by their tokens: another than the ledger's is NVDP_ERR_ARGUMENT.  A missing file is made, its
 * key too, and the file is locked until it is closed: a second writer waits.  `tokens` NULL opens it to read.
 * A record at the end that its writer's death cut short is passed over, and removed by the next writer: nothing of its
 * release was drawn.  NVDP_ERR_INPUT: no ledger, another key, a damaged record. */
nvdp_status nvdp__ledger_open(struct nvdp_context *ctx, const char *path, const char *key,
                              const char *tokens, struct nvdp__ledger **out);
void nvdp__ledger_close(struct nvdp__ledger *ledger); /* NULL allowed */

/* The keyed hash of a text's tokens. */
void nvdp__ledger_text(const struct nvdp__ledger *ledger, size_t n, const int32_t *ids,
                       const int32_t *types, nvdp__text_hash hash);
/* Computes the sum of each text's releases with the next record, `release` of these texts, and sets the budget in force.
 * A samples budget of 0 is `promise` where no budget is given, else no limit; an epsilon budget of 0 is that of the record
 * before.  A promise holds for each row: a row may have as many samples as are promised, or as the release has of it where
 * it has none before.  A budget that is given holds for each text, which may be in several rows.
 * NVDP_ERR_STATE, with the files that have the texts and the option that allows the release, where it is beyond the budget. */
nvdp_status nvdp__ledger_check(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                               const nvdp__text_hash *text, uint64_t promise,
                               struct nvdp__spent *spent);
/* Writes the record, after the same check; it is synced when the function returns. */
nvdp_status nvdp__ledger_add(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                             const nvdp__text_hash *text, uint64_t promise,
                             struct nvdp__spent *spent);

size_t nvdp__ledger_count(const struct nvdp__ledger *ledger);
/* Returns the last record with that id, or NULL. */
const struct nvdp__ledger_release *nvdp__ledger_find(const struct nvdp__ledger *ledger,
                                                     const char *id);
bool nvdp__within_budget(const struct nvdp__budget *budget, const struct nvdp__spent *spent);
/* Computes the sum of its texts' releases up to now, and the budget of the last record that has one of them. */
nvdp_status nvdp__ledger_worst(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release,
                               struct nvdp__spent *worst, struct nvdp__budget *budget);

#endif
