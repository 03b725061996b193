/* The ledger: every release of a text, counted before anybody can have it (docs/formats.md, "ledger/1").
 *
 * A file that grows by one record an export.  Texts are in it under a keyed hash of their tokens: without the
 * key nobody can try out texts on it, nor change a record unnoticed.  A record is on the disk before the first
 * value of its release is drawn, and is never taken back: an export that fails afterwards has been counted. */
#ifndef NVDP_SRC_SHARE_LEDGER_H
#define NVDP_SRC_SHARE_LEDGER_H

#include "base/base.h"
#include <nvdp/certificate.h>

enum { NVDP__LEDGER_ID = 32, NVDP__LEDGER_HASH = 16, NVDP__LEDGER_ORDERS = 16 };
extern const double nvdp__ledger_orders[NVDP__LEDGER_ORDERS];
/* At which epsilons are composed. */
#define NVDP__LEDGER_DELTA 1e-5

struct nvdp__ledger;
typedef unsigned char nvdp__text_hash[NVDP__LEDGER_HASH];

/* What no text may exceed, all of its releases together; 0: no such budget. */
struct nvdp__budget {
    uint64_t samples;
    double epsilon; /* at NVDP__LEDGER_DELTA */
};

/* A record but for its texts; laid out as in the file. */
struct nvdp__ledger_release {
    char id[NVDP__LEDGER_ID]; /* the file's model_id, without a NUL */
    uint64_t texts, samples;
    int64_t seconds;            /* since 1970 */
    struct nvdp__budget budget; /* that was in force */
    /* What is proven of one sample; infinite where nothing is.  mu: of a Gaussian mechanism, else infinite. */
    double mu, divergence[NVDP__LEDGER_ORDERS];
};

/* What a text's releases come to: samples add up, mu^2 adds up, divergences of an order add up.  Of several texts the
 * most of each, which need not be one text's. */
struct nvdp__spent {
    uint64_t samples;
    /* At NVDP__LEDGER_DELTA, the least that follows; infinite: of one release nothing is proven. */
    double epsilon;
};

/* Opens and authenticates it.  To add to it, `tokens` names the tokenizer and the length that texts are cut
 * to, by which texts are known again: another than the ledger's is NVDP_ERR_ARGUMENT; the file is made where
 * there is none, its key too, and locked until it is closed: a second writer waits.  `tokens` NULL: to read.
 * A record at the end that its writer's death cut short is passed over, and gone with the next one: nothing of its
 * release was drawn.  NVDP_ERR_INPUT: no ledger, another key, a damaged record. */
nvdp_status nvdp__ledger_open(struct nvdp_context *ctx, const char *path, const char *key,
                              const char *tokens, struct nvdp__ledger **out);
void nvdp__ledger_close(struct nvdp__ledger *ledger); /* NULL allowed */

/* The keyed hash of a text's tokens. */
void nvdp__ledger_text(const struct nvdp__ledger *ledger, size_t n, const int32_t *ids,
                       const int32_t *types, nvdp__text_hash hash);
/* The next record: `release`, whose texts these are.  A budget of 0 is that of the record before.  Written and
 * synced when it returns; NVDP_ERR_ARGUMENT, and nothing is written, where it is beyond the budget.  *worst: of
 * its texts the most of each, with it. */
nvdp_status nvdp__ledger_add(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                             const nvdp__text_hash *text, struct nvdp__spent *worst);

size_t nvdp__ledger_count(const struct nvdp__ledger *ledger);
/* The last record of that id; NULL: none. */
const struct nvdp__ledger_release *nvdp__ledger_find(const struct nvdp__ledger *ledger,
                                                     const char *id);
bool nvdp__within_budget(const struct nvdp__budget *budget, const struct nvdp__spent *spent);
/* The most that one of its texts has spent up to now; the budget now in force. */
nvdp_status nvdp__ledger_worst(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release,
                               struct nvdp__spent *worst, struct nvdp__budget *budget);

#endif
