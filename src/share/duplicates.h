/* Texts that stand several times in one release: what they cost, and whether the run's budget allows them. */
#ifndef NVDP_SRC_SHARE_DUPLICATES_H
#define NVDP_SRC_SHARE_DUPLICATES_H

#include "share/spending.h"

/* Says how often texts repeat and what that costs, before anything is drawn.  `row` is the next record: its numbers are
 * of one row.  NVDP_ERR_STATE if all rows of a text together exceed the `promise`; 0: no promise limits them. */
nvdp_status nvdp__duplicates_check(struct nvdp_context *ctx, const struct nvdp__repeats *repeats,
                                   const struct nvdp__ledger_record *row, uint64_t promise);

#endif
