/* The causes of infinite divergences.
 *
 * A divergence of order l > 1 is the integral of P^l Q^(1-l), which diverges if Q's tail is too
 * thin for P's (van Erven & Harremoes 2014; Gil, Alajaji & Linder 2013): in a dimension, or at a
 * weight, if
 *
 *     var_p   >= l/(l-1) var_q,
 *     alpha_q >= l/(l-1) alpha_p.
 *
 * Means are a cause only at order infinity, where equal variances require equal means. The
 * prior's component is the same in every sample and never a cause. With r the largest of these
 * quotients, all orders below r/(r-1) are finite. */
#include "base/random.h"
#include "rdp/pairs.h"
#include <omp.h>
#include <stdlib.h>

enum { FEW = 64 }; /* too few pairs for several threads */

/* The findings of one thread for its pairs, later of all threads. */
struct search {
    const struct nvdp_posteriors *set;
    double order;
    double log_limit; /* of l/(l-1); +inf: no order this small makes anything infinite */
    size_t places;    /* components of the longest text */
    size_t *place;    /* [causes, places] number of pairs with a cause at this component */
    size_t *dim;      /* [causes, dim] number of components of pairs */
    struct nvdp_infinite_summary made;
};

/* Records a cause at component c of the current pair, with the logarithm of its quotient. */
static void found(struct search *work, enum nvdp_infinite_cause cause, bool seen[], size_t c,
                  double log_ratio) {
    struct nvdp_infinite_part *part = &work->made.cause[cause];
    part->pairs += !seen[cause];
    seen[cause] = true;
    part->ratio = fmax(part->ratio, exp(log_ratio));
    work->place[cause * work->places + c]++;
}

/* Compares the rows of P and Q at component c; SIZE_MAX: padding, with mean 0 and variance 1. */
static void compare_gaussians(struct search *work, bool seen[], size_t c, const size_t row[2]) {
    const struct nvdp_posteriors *set = work->set;
    static const double none = 0;
    const bool padded = row[0] == SIZE_MAX || row[1] == SIZE_MAX;
    const double *mu[2], *logvar[2];
    size_t step[2];
    double largest = -INFINITY;
    bool means = false;
    for (int side = 0; side < 2; side++) {
        const bool there = row[side] != SIZE_MAX;
        mu[side] = there ? set->mu + row[side] * set->dim : &none;
        logvar[side] = there ? set->logvar + row[side] * set->dim : &none;
        step[side] = there;
    }
    for (size_t k = 0; k < set->dim; k++) {
        const double more = logvar[0][k * step[0]] - logvar[1][k * step[1]];
        largest = more > largest ? more : largest;
        means |= more == 0 && mu[0][k * step[0]] != mu[1][k * step[1]];
    }
    const bool all = isinf(work->order) != 0;
    if (all && means) {
        const enum nvdp_infinite_cause cause =
            padded ? NVDP_INFINITE_PADDING_MU : NVDP_INFINITE_TOKEN_MU;
        found(work, cause, seen, c, 0);
        for (size_t k = 0; k < set->dim; k++)
            work->dim[cause * set->dim + k] += logvar[0][k * step[0]] == logvar[1][k * step[1]] &&
                                               mu[0][k * step[0]] != mu[1][k * step[1]];
    }
    if (!(all ? largest > 0 : largest >= work->log_limit)) return;
    const enum nvdp_infinite_cause cause =
        padded ? NVDP_INFINITE_PADDING_LOGVAR : NVDP_INFINITE_TOKEN_LOGVAR;
    found(work, cause, seen, c, largest);
    for (size_t k = 0; k < set->dim; k++) {
        const double more = logvar[0][k * step[0]] - logvar[1][k * step[1]];
        work->dim[cause * set->dim + k] += all ? more > 0 : more >= work->log_limit;
    }
}

static void look_at(struct search *work, size_t i, size_t j) {
    struct nvdp_infinite_summary *to = &work->made;
    const struct nvdp_posteriors *set = work->set;
    const size_t text[2] = {i, j}, rows[2] = {nvdp__rows(set, i), nvdp__rows(set, j)};
    bool seen[NVDP_INFINITE_CAUSES] = {false};
    if (set->policy == NVDP_LENGTH_PUBLIC && rows[0] != rows[1]) {
        to->cause[NVDP_INFINITE_LENGTHS].pairs++;
        to->infinite++;
        return;
    }
    for (size_t c = 0; c < nvdp__max(rows[0], rows[1]); c++) {
        size_t row[2];
        for (int side = 0; side < 2; side++)
            row[side] = c < rows[side] ? set->offset[text[side]] + c : SIZE_MAX;
        compare_gaussians(work, seen, c, row);
        if (set->alpha == NULL) continue;
        const double p = nvdp__token_alpha(set, i, c), q = nvdp__token_alpha(set, j, c);
        if (isinf(work->order) ? p < q : nvdp__extrapolate(work->order, p, q) <= 0)
            found(work,
                  c < nvdp__min(rows[0], rows[1]) ? NVDP_INFINITE_TOKEN_ALPHA
                                                  : NVDP_INFINITE_PADDING_ALPHA,
                  seen, c, log(q) - log(p));
    }
    bool any = false;
    for (int cause = 0; cause < NVDP_INFINITE_CAUSES; cause++)
        any |= seen[cause];
    if (!any && isinf(nvdp_renyi_texts(work->order, set, i, j))) {
        to->cause[NVDP_INFINITE_RANGE].pairs++;
        any = true;
    }
    to->infinite += any;
}

/* Adds counts and takes the maximum of quotients, so the result does not depend on threads. */
static void add(struct search *to, const struct search *from) {
    to->made.infinite += from->made.infinite;
    for (int cause = 0; cause < NVDP_INFINITE_CAUSES; cause++) {
        struct nvdp_infinite_part *part = &to->made.cause[cause];
        part->pairs += from->made.cause[cause].pairs;
        part->ratio = fmax(part->ratio, from->made.cause[cause].ratio);
    }
    for (size_t k = 0; k < NVDP_INFINITE_CAUSES * to->places; k++)
        to->place[k] += from->place[k];
    for (size_t k = 0; k < NVDP_INFINITE_CAUSES * to->set->dim; k++)
        to->dim[k] += from->dim[k];
}

/* The component with the largest count. */
static size_t argmax(size_t n, const size_t *count, size_t *largest) {
    size_t best = 0;
    for (size_t k = 1; k < n; k++)
        if (count[k] > count[best]) best = k;
    if (largest != NULL) *largest = n > 0 ? count[best] : 0;
    return best;
}

static void conclude(struct search *work) {
    struct nvdp_infinite_summary *to = &work->made;
    double ratio = 1;
    for (int cause = 0; cause < NVDP_INFINITE_CAUSES; cause++) {
        struct nvdp_infinite_part *part = &to->cause[cause];
        if (part->pairs == 0 || cause == NVDP_INFINITE_LENGTHS || cause == NVDP_INFINITE_RANGE)
            continue;
        part->place = argmax(work->places, work->place + cause * work->places, &part->place_pairs);
        part->dim = argmax(work->set->dim, work->dim + cause * work->set->dim, NULL);
        ratio = fmax(ratio, part->ratio);
    }
    const bool never =
        to->cause[NVDP_INFINITE_LENGTHS].pairs + to->cause[NVDP_INFINITE_RANGE].pairs > 0;
    to->finite_below = never ? 0 : isinf(ratio) ? 1 : ratio / (ratio - 1); /* for ratio 1: +inf */
}

nvdp_status nvdp_renyi_infinite(struct nvdp_context *ctx, double order,
                                const struct nvdp_posteriors *posteriors, size_t pairs,
                                const size_t *pair, struct nvdp_infinite_summary *out) {
    const double normal = nvdp__order(order);
    const size_t threads =
        ctx == NULL ? 1 : nvdp__min((size_t)nvdp_context_threads(ctx), 1 + pairs / FEW);
    size_t places = 0;
    nvdp__autofree size_t *counts = NULL;
    nvdp__autofree struct search *work = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (isnan(normal))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "order: expected a number > 0, found %g", order);
    for (size_t i = 0; i < posteriors->texts; i++)
        places = nvdp__max(places, nvdp__rows(posteriors, i));
    const double limit = isinf(normal) ? 1 : normal > 1 ? normal / (normal - 1) : INFINITY;
    const size_t each = NVDP_INFINITE_CAUSES * (places + posteriors->dim);
    NVDP_TRY(NVDP__NEW(ctx, work, threads));
    NVDP_TRY(NVDP__NEW(ctx, counts, threads * each));
    for (size_t t = 0; t < threads; t++)
        work[t] = (struct search){.set = posteriors,
                                  .order = normal,
                                  .log_limit = log(limit),
                                  .places = places,
                                  .place = counts + t * each,
                                  .dim = counts + t * each + NVDP_INFINITE_CAUSES * places,
                                  .made = {.order = order, .limit = limit, .pairs = pairs}};
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (size_t k = 0; k < pairs; k++)
        look_at(&work[omp_get_thread_num()], pair[2 * k], pair[2 * k + 1]);
    for (size_t t = 1; t < threads; t++)
        add(&work[0], &work[t]);
    conclude(&work[0]);
    work[0].made.of = work[0].made.infinite;
    NVDP__GIVE(out, &work[0].made);
    return NVDP_OK;
}

/* A share among 2^14 pairs is within one percentage point of the share among all. */
nvdp_status nvdp__infinite_of_matrix(struct nvdp_context *ctx, double order,
                                     const struct nvdp_posteriors *set, const double *matrix,
                                     struct nvdp_infinite_summary *out) {
    struct nvdp_infinite_summary made = NVDP_RESULT(struct nvdp_infinite_summary);
    const size_t all = set->texts * set->texts;
    size_t infinite = 0, taken = 0;
    nvdp__autofree size_t *pair = NULL;
    for (size_t at = 0; at < all; at++)
        infinite += isinf(matrix[at]) != 0;
    if (infinite == 0) {
        *out = (struct nvdp_infinite_summary){.struct_size = sizeof *out, .order = order};
        return NVDP_OK;
    }
    const size_t wanted = nvdp__min(infinite, NVDP__MAX_INFINITE);
    NVDP_TRY(NVDP__NEW(ctx, pair, 2 * wanted));
    const struct nvdp__noise noise = {.seed = 1};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, NVDP__EPOCH_INFINITE, 0);
    for (size_t at = 0, left = infinite; taken < wanted; at++) {
        if (!isinf(matrix[at])) continue;
        if (nvdp__stream_below(&stream, left--) >= wanted - taken) continue;
        pair[2 * taken] = at / set->texts;
        pair[2 * taken + 1] = at % set->texts;
        taken++;
    }
    NVDP_TRY(nvdp_renyi_infinite(ctx, order, set, taken, pair, &made));
    made.of = infinite;
    *out = made;
    return NVDP_OK;
}
