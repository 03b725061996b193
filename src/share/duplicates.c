/* Checks what texts cost that stand several times in one release.  Every row is drawn by itself, so the samples of all
 * rows of a text add up as the samples of several releases do. */
#include "share/duplicates.h"

#include <inttypes.h>
#include <math.h>

/* Writes the epsilon of a text that stands in so many rows. */
static const char *cost(const struct nvdp__ledger_record *row, size_t rows,
                        char text[NVDP__SPENT_TEXT]) {
    const struct nvdp__spent spent = nvdp__spent_of_rows(row, rows, NVDP__LEDGER_DELTA);
    if (isfinite(spent.epsilon) || isfinite(spent.word_mu))
        return nvdp__spent_text(spent.epsilon, nvdp__spent_word_epsilon(&spent), text);
    return "no proven epsilon";
}

nvdp_status nvdp__duplicates_check(struct nvdp_context *ctx, const struct nvdp__repeats *repeats,
                                   const struct nvdp__ledger_record *row, uint64_t promise) {
    const uint64_t samples = row->release->samples, drawn = repeats->most * samples;
    char all[NVDP__SPENT_TEXT], one[NVDP__SPENT_TEXT], says[2 * NVDP__SPENT_TEXT + 96];
    if (repeats->most < 2) return NVDP_OK;
    nvdp__snprintf(says, sizeof says,
                   "the %" PRIu64 " samples of the text that stands most often have %s together, "
                   "those of one row %s",
                   drawn, cost(row, repeats->most, all), cost(row, 1, one));
    if (promise > 0 && !nvdp__keeps_promise(0, drawn, samples, promise))
        return nvdp__fail(ctx, NVDP_ERR_STATE,
                          "%s in these texts: expected at most %" PRIu64
                          " sample%s of a text, which the run guarantees, found %" PRIu64
                          "; %s. Nothing was drawn; {duplicates} each draws every row at this cost",
                          repeats->text, promise, promise == 1 ? "" : "s", drawn, says);
    nvdp__log(ctx, NVDP_LOG_NOTICE, "%s in these texts, and every row is drawn: %s", repeats->text,
              says);
    return NVDP_OK;
}
