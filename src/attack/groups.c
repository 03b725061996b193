/* Averages the exposure over secrets of one kind, for exposure.c. */
#include "attack/exposure.h"
#include "rdp/pairs.h"

#include <math.h>
#include <stdlib.h>

static const double INTERVAL = 0.95;

static int by_group(const void *x, const void *y) {
    const struct nvdp_secret_exposure *a = *(const struct nvdp_secret_exposure *const *)x;
    const struct nvdp_secret_exposure *b = *(const struct nvdp_secret_exposure *const *)y;
    int order = (strlen(a->form) > strlen(b->form)) - (strlen(a->form) < strlen(b->form));
    if (order == 0) order = strcmp(a->form, b->form);
    if (order == 0) order = a->coin - b->coin;
    if (order == 0) order = a->window - b->window;
    return order != 0 ? order
                      : (a->occurrences > b->occurrences) - (a->occurrences < b->occurrences);
}

/* Summarizes n secrets, whose exposures are between 0 and `bits`. */
static struct nvdp_exposure_group
group_of(size_t n, const struct nvdp_secret_exposure *const *member, double bits) {
    struct nvdp_exposure_group made = {.window = member[0]->window,
                                       .coin = member[0]->coin,
                                       .occurrences = member[0]->occurrences,
                                       .secrets = n};
    double square = 0;
    size_t best = 0;
    memcpy(made.form, member[0]->form, sizeof made.form);
    for (size_t i = 0; i < n; i++) {
        made.loss += member[i]->loss / (double)n;
        made.exposure += member[i]->exposure / (double)n;
        best += member[i]->rank == 1;
    }
    made.first = (double)best / (double)n;
    for (size_t i = 0; i < n; i++)
        square += pow(member[i]->exposure - made.exposure, 2);
    made.interval =
        nvdp__interval_student(INTERVAL, n, made.exposure, sqrt(square / fmax((double)n - 1, 1)));
    if (best == n &&
        n > 1) /* no spread: take the limit of Clopper & Pearson 1934 for the share that ranks first */
        made.interval.low = bits * nvdp__interval_share(INTERVAL, n, n).low;
    if (made.interval.low < 0) made.interval.low = 0;
    if (made.interval.high > bits) made.interval.high = bits;
    return made;
}

nvdp_status nvdp__exposure_groups(struct nvdp_context *ctx, size_t n,
                                  const struct nvdp_secret_exposure *found, double bits,
                                  struct nvdp_exposure_group **out, size_t *groups) {
    nvdp_status status = NVDP_OK;
    const struct nvdp_secret_exposure **order = NULL;
    struct nvdp_exposure_group *made = NULL;
    size_t count = 0;
    NVDP_TRY(NVDP__NEW(ctx, order, n));
    NVDP_TRY(NVDP__NEW(ctx, made, n));
    for (size_t i = 0; i < n; i++)
        order[i] = &found[i];
    qsort((void *)order, n, sizeof *order, by_group);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && by_group(&order[i], &order[end]) == 0;)
            end++;
        made[count++] = group_of(end - i, order + i, bits);
    }
    *out = made;
    *groups = count;
    made = NULL;
cleanup:
    free((void *)order);
    free(made);
    return status;
}
