/* The entry points: the divergences of all pairs, and the report of a set of posteriors. Start with plan(), then
 * run(). */
#include "base/array.h"
#include "base/own.h"
#include "rdp/pairs.h"
#include "rdp/report.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Max number of texts N for all pairs: an N x N matrix of doubles is 3.2 GB. */
enum { MAX_TEXTS = 20000 };

static nvdp_status check(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                         const struct nvdp__privacy_options *options, const double *matrix,
                         bool *sampled) {
    NVDP_TRY(nvdp__schema_check(ctx, &nvdp__privacy_schema, options));
    NVDP_TRY(nvdp_posteriors_check(ctx, posteriors, ""));
    if (posteriors->texts < 2)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "pairs: expected at least 2 texts, found %zu",
                          posteriors->texts);
    NVDP_TRY(nvdp__pairs_is_sampled(ctx, posteriors, &options->pairs, sampled));
    if (*sampled && options->exact.wanted)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{exact}: expected every pair of texts to be measured ({max-pairs} 0), found a sample "
            "of the pairs of %zu texts; set {max-pairs} 0, or measure a sample of the texts",
            posteriors->texts);
    if (*sampled && matrix != NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "pairs: the divergence of every pair cannot be written if at most %zu "
                          "pairs are measured; use either pairs or {max-pairs}",
                          options->pairs.max_pairs);
    if (*sampled || posteriors->texts <= MAX_TEXTS) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "pairs: expected at most %d texts to measure all pairs, found %zu; set "
                      "{max-pairs} to draw pairs, or measure a sample of the texts",
                      MAX_TEXTS, posteriors->texts);
}

nvdp_status nvdp__renyi_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                              const struct nvdp__privacy_options *options, double *matrix,
                              struct nvdp_pairs_summary *out) {
    const struct nvdp__pairs_pass pass = {.order = options->pairs.order,
                                          .adjacency = options->pairs.adjacency,
                                          .arithmetic = options->pairs.arithmetic};
    nvdp__autoptr(nvdp__pairs_free) struct nvdp__pairs *pairs = NULL;
    nvdp__autofree double *own = NULL;
    bool sampled = false;
    struct nvdp_pairs_summary made;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(check(ctx, posteriors, options, matrix, &sampled));
    if (sampled) {
        NVDP_TRY(nvdp__pairs_sampled(ctx, posteriors, &options->pairs, &made, NULL));
    } else {
        if (matrix == NULL) NVDP_TRY(NVDP__NEW(ctx, own, posteriors->texts * posteriors->texts));
        if (matrix == NULL) matrix = own;
        NVDP_TRY(nvdp__pairs_create(ctx, posteriors, &pairs));
        NVDP_TRY(nvdp__pairs_pass(pairs, &pass, matrix));
        NVDP_TRY(nvdp__pairs_summarize(pairs, &pass, matrix, &made));
    }
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

/* Reads the options of a configuration; NULL: default options. */
static nvdp_status read_options(struct nvdp_context *ctx, const struct nvdp_config *config,
                                struct nvdp__privacy_options *options) {
    *options = nvdp__privacy_defaults();
    if (config == NULL) return NVDP_OK;
    return nvdp__config_values(ctx, config, &nvdp__privacy_schema, options);
}

nvdp_status nvdp_renyi_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                             const struct nvdp_config *config, double *matrix,
                             struct nvdp_pairs_summary *out) {
    struct nvdp__privacy_options options;
    NVDP_TRY(read_options(ctx, config, &options));
    return nvdp__renyi_pairs(ctx, posteriors, &options, matrix, out);
}

/* --- The report: all pairs once at the order of the divergences, and once per order k+1 of the moments k
 * of Bayesian DP.
 *
 * Orders are visited in ascending order, which saves work without changing a result:
 * - A pair that is +inf at an order is +inf at every larger order.
 * - A text is settled for the `best` column if it has an infinite pair, or if no larger moment can improve
 *   its epsilon.  epsilon(k) >= log M_k / k + log(1/(delta - spent)) / k, and log M_k / k does not decrease
 *   in k (a power mean of divergences that do not decrease in their order).  So for every k' up to the last
 *   K: epsilon(k') >= log M_k / k + log(1/(delta - spent)) / K.
 *   A pair of two settled texts is not recomputed if the same holds for its epsilon: at a larger order it is
 *   at least T D_l plus the smallest amount that a later order adds.
 *
 * If pairs are drawn (max_pairs), Bayesian DP uses drawn texts, as many as have max_pairs pairs among themselves.
 * These texts are a population drawn from the given population. */
/* Below this population size, the Student bound is not reliable. */
enum { MIN_TEXTS = 64 };

/* One pass over all pairs, and the numbers that use this pass. */
struct step {
    double order;
    double moment; /* for Bayesian DP: order - 1, without the rounding of the order */
    bool summary, published, best;
};

struct measure {
    struct nvdp_context *ctx;
    const struct nvdp_posteriors *set;
    /* source of the divergences; NULL: the posteriors of the set */
    const struct nvdp__divergence_source *source;
    const struct nvdp__privacy_options *options;
    double *kept; /* [N, N] the caller's matrix; NULL if the caller needs no matrix */
    struct nvdp__pairs *pairs;
    double last_moment;         /* K: the last moment */
    struct nvdp__memory memory; /* owner of the arrays below */
    struct step *steps;         /* [step_count] passes */
    size_t step_count;
    double *matrix;                  /* [N, N] divergences at the current order */
    double *symmetric;               /* [threads, N] divergences of one text */
    struct nvdp_bdp_cost *published; /* [N] costs at the published moment */
    /* [N] costs at the best moment; epsilon is +inf until one is finite */
    struct nvdp_bdp_cost *best;
    double *epsilon; /* [N, N] minimum of epsilon over the orders so far */
    bool *settled;   /* [N] true if the text is settled */
    /* true if `set` is drawn, so there is no summary of its pairs */
    bool sampled;
};

/* Lists the distinct orders to visit in ascending order: the orders of the moments, of the published column and of
 * the summary. */
static nvdp_status plan(struct measure *work) {
    const double published = work->options->bdp.published_moment;
    nvdp__autofree const char **text = NULL;
    size_t count;
    NVDP_TRY(nvdp__list_split(work->ctx, work->options->moments, &text, &count));
    NVDP_TRY(NVDP__ARRAYS(work->ctx, &work->memory, NVDP__ITEMS(work->steps, count + 2)));
    struct step *all = work->steps;
    if (count == 0)
        return nvdp__fail(work->ctx, NVDP_ERR_ARGUMENT,
                          "moments: expected at least one number, found none");
    for (size_t k = 0; k < count; k++) {
        char *end;
        double moment = nvdp__strtod(text[k], &end);
        if (end == text[k] || *end != '\0' || !(moment > 0 && moment <= 1e6))
            return nvdp__fail(work->ctx, NVDP_ERR_ARGUMENT,
                              "moments, entry %zu: expected a number in (0, 1e6], found %s", k,
                              text[k]);
        all[k] = (struct step){.order = moment + 1, .moment = moment, .best = true};
        work->last_moment = fmax(work->last_moment, moment);
    }
    all[count++] = (struct step){.order = published + 1, .moment = published, .published = true};
    if (!work->sampled) {
        all[count++] = (struct step){.order = work->options->pairs.order, .summary = true};
    }
    NVDP__SORT(all, count, NVDP__UP(struct step, order));
    for (size_t k = 0; k < count; k++) {
        struct step *last = work->step_count > 0 ? &all[work->step_count - 1] : NULL;
        if (last == NULL || last->order != all[k].order) {
            all[work->step_count++] = all[k];
            continue;
        }
        if (all[k].moment > 0) last->moment = all[k].moment;
        last->summary |= all[k].summary;
        last->published |= all[k].published;
        last->best |= all[k].best;
    }
    return NVDP_OK;
}

static void release(struct measure *work) {
    nvdp__pairs_free(work->pairs);
    nvdp__memory_release(&work->memory);
}

/* Returns the cost of text i; the population is the texts adjacent to text i. Fewer than two adjacent texts give no
 * variance and no bound: +inf. */
static struct nvdp_bdp_cost text_cost(const struct measure *work, double moment, size_t i,
                                      double *symmetric) {
    const struct nvdp__bdp_options *bdp = &work->options->bdp;
    size_t texts = work->set->texts;
    size_t m = 0;
    for (size_t j = 0; j < texts; j++) {
        if (i == j || isnan(work->matrix[i * texts + j])) continue; /* not adjacent */
        symmetric[m++] = fmax(work->matrix[i * texts + j], work->matrix[j * texts + i]);
    }
    if (m < 2) {
        return (struct nvdp_bdp_cost){.struct_size = sizeof(struct nvdp_bdp_cost),
                                      .moment = moment,
                                      .m = m,
                                      .cost = INFINITY,
                                      .epsilon = INFINITY,
                                      .t = NAN,
                                      .log_mean = NAN,
                                      .log_sd = NAN,
                                      .max = NAN};
    }
    return nvdp__bdp_cost(bdp, moment, bdp->releases * moment, m, symmetric);
}

/* Updates the epsilons of text i with the divergences at this order. */
static void convert(const struct measure *work, const struct step *step, size_t i) {
    const size_t texts = work->set->texts;
    const double more = nvdp__epsilon_more(step->order - 1, work->options->bdp.delta);
    for (size_t j = 0; j < texts; j++) {
        const double epsilon = work->options->bdp.releases * work->matrix[i * texts + j] + more;
        double *smallest = &work->epsilon[i * texts + j];
        *smallest = isnan(epsilon) ? NAN : fmin(*smallest, fmax(epsilon, 0));
    }
}

/* Updates `best` with the cost of an unsettled text. */
static void improve(struct measure *work, size_t i, const struct nvdp_bdp_cost *cost) {
    const struct nvdp__bdp_options *bdp = &work->options->bdp;
    struct nvdp_bdp_cost *best = &work->best[i];
    if (best->moment == 0 || cost->epsilon < best->epsilon) *best = *cost;
    double smallest =
        cost->log_mean / cost->moment + nvdp__bdp_epsilon(bdp, work->last_moment, bdp->releases, 0);
    work->settled[i] = isinf(cost->epsilon) || best->epsilon <= smallest;
}

static void account(struct measure *work, const struct step *step) {
    const size_t texts = work->set->texts;
#pragma omp parallel num_threads(nvdp_context_threads(work->ctx))
    {
        const size_t mine = (size_t)omp_get_thread_num();
#pragma omp for schedule(dynamic, 8)
        for (size_t i = 0; i < texts; i++) {
            convert(work, step, i);
            bool open = step->best && !work->settled[i];
            if (!open && !step->published) continue;
            struct nvdp_bdp_cost cost =
                text_cost(work, step->moment, i, work->symmetric + mine * texts);
            if (step->published) work->published[i] = cost;
            if (open) improve(work, i, &cost);
        }
    }
}

/* Explains the infinite pairs at this order, if the report will show them. */
static nvdp_status explain(struct measure *work, const struct step *step,
                           struct nvdp_privacy_report *report) {
    struct nvdp_infinite_summary why;
    if (work->source != NULL) return NVDP_OK;
    const bool smallest = step->best && report->bdp.best->infinite_pairs->struct_size == 0;
    if (!(step->summary || step->published || smallest)) return NVDP_OK;
    NVDP_TRY(nvdp__infinite_of_matrix(work->ctx, step->order, work->set, work->matrix, &why));
    if (step->summary) *report->infinite = why;
    if (step->published) *report->bdp.published->infinite_pairs = why;
    if (smallest) *report->bdp.best->infinite_pairs = why;
    return NVDP_OK;
}

static nvdp_status run_step(struct measure *work, const struct step *step,
                            struct nvdp_privacy_report *report) {
    const struct nvdp__pairs_options *config = &work->options->pairs;
    struct nvdp__pairs_pass pass = {
        .order = step->order,
        .adjacency = config->adjacency,
        .arithmetic = work->source != NULL ? NVDP_PAIRS_EXACT : config->arithmetic,
        .keep_infinite = step > work->steps,
        .settled = step->summary || step->published ? NULL : work->settled,
        .epsilon = work->epsilon,
        .releases = work->options->bdp.releases,
        .more = INFINITY};
    for (const struct step *later = step; later < work->steps + work->step_count; later++)
        pass.more = fmin(pass.more, nvdp__epsilon_more(later->order - 1, work->options->bdp.delta));
    NVDP_TRY(work->source != NULL ? work->source->fill(work->source->of, step->order, work->matrix)
                                  : nvdp__pairs_pass(work->pairs, &pass, work->matrix));
    if (step->summary) {
        NVDP_TRY(nvdp__pairs_summarize(work->pairs, &pass, work->matrix, report->pairs));
        size_t texts = work->set->texts;
        if (work->kept != NULL)
            memcpy(work->kept, work->matrix, texts * texts * sizeof *work->matrix);
    }
    if (step->published || step->best) account(work, step);
    return explain(work, step, report);
}

/* Fills a column of the report, but keeps its causes of infinite pairs. */
static void fill_column(const struct measure *work, const struct nvdp_bdp_cost *costs,
                        struct nvdp_bdp_column *column) {
    size_t texts = work->set->texts;
    struct nvdp_bdp_column made = {.worst = costs[0], .infinite_pairs = column->infinite_pairs};
    double sum = 0;
    for (size_t i = 0; i < texts; i++) {
        if (costs[i].epsilon > made.worst.epsilon) {
            made.worst = costs[i];
            made.worst_text = i;
        }
        made.infinite_texts += isinf(costs[i].epsilon) ? 1 : 0;
        sum += costs[i].epsilon;
    }
    made.mean_epsilon = sum / (double)texts;
    made.floor = log(1 / work->options->bdp.delta) / made.worst.moment;
    *column = made;
}

static void describe(const struct measure *work, struct nvdp_privacy_report *report) {
    const struct nvdp_posteriors *set = work->set;
    const struct nvdp__bdp_options *bdp = &work->options->bdp;
    struct nvdp_epsilon_summary *epsilon = report->epsilon;
    report->bdp.delta = bdp->delta;
    report->bdp.gamma = bdp->gamma;
    report->bdp.releases = bdp->releases;
    fill_column(work, work->published, report->bdp.published);
    fill_column(work, work->best, report->bdp.best);
    /* A sequence clip proves an epsilon, so no epsilon is larger. The matrix is no longer needed and serves as
     * scratch buffer for the statistics. */
    if (nvdp__clip_proves(set)) {
        const double proven =
            nvdp_gdp_epsilon(2 * set->clip_sequence * sqrt(bdp->releases), bdp->delta);
        for (size_t i = 0; i < set->texts * set->texts; i++)
            work->epsilon[i] = fmin(work->epsilon[i], proven);
    }
    *epsilon = (struct nvdp_epsilon_summary){
        .delta = bdp->delta, .releases = bdp->releases, .texts = set->texts};
    epsilon->pairs =
        nvdp__matrix_summarize(set, work->epsilon, work->matrix, &epsilon->sum, &epsilon->infinite);
    report->shape.dim = set->dim;
    report->shape.kappa = set->kappa;
    report->shape.policy = set->policy;
    memcpy(report->shape.method, set->method, sizeof report->shape.method);
    report->bound.clip_sequence = set->clip_sequence;
    report->bound.sum =
        nvdp__clip_proves(set)
            ? nvdp_renyi_sequence_bound(work->options->pairs.order, set->clip_sequence)
            : INFINITY;
    report->bound.loss = INFINITY;
    report->bdp.texts = set->texts;
    for (size_t i = 0; i < set->texts; i++) {
        if (work->published[i].m < MIN_TEXTS) report->bdp.small_population = true;
    }
}

/* Processes all orders of all pairs of work->set. */
static nvdp_status run(struct measure *work, struct nvdp_privacy_report *report) {
    const size_t texts = work->set->texts, threads = (size_t)nvdp_context_threads(work->ctx);
    NVDP_TRY(plan(work));
    NVDP_TRY(NVDP__ARRAYS(work->ctx, &work->memory, NVDP__ITEMS(work->matrix, texts * texts),
                          NVDP__ITEMS(work->epsilon, texts * texts),
                          NVDP__ITEMS(work->symmetric, threads * texts),
                          NVDP__ITEMS(work->published, texts), NVDP__ITEMS(work->best, texts),
                          NVDP__ITEMS(work->settled, texts)));
    for (size_t i = 0; i < texts * texts; i++)
        work->epsilon[i] = INFINITY;
    if (work->source == NULL) {
        NVDP_TRY(nvdp__pairs_create(work->ctx, work->set, &work->pairs));
    } else {
        NVDP_TRY(NVDP__NEW(work->ctx, work->pairs, 1));
        *work->pairs = (struct nvdp__pairs){.ctx = work->ctx, .set = work->set};
    }
    for (size_t k = 0; k < work->step_count; k++)
        NVDP_TRY(run_step(work, &work->steps[k], report));
    describe(work, report);
    return NVDP_OK;
}

/* Returns the largest number of texts that have at most `pairs` >= 2 ordered pairs. */
static size_t max_text_count(size_t pairs, size_t largest) {
    size_t texts = 2;
    while (texts < largest && texts < MAX_TEXTS && (texts + 1) * texts <= pairs) {
        texts++;
    }
    return texts;
}

/* Measures Bayesian DP of drawn texts; the indices in the result refer to the whole set. */
static nvdp_status run_drawn(struct measure *work, struct nvdp_privacy_report *report) {
    const struct nvdp__pairs_options *config = &work->options->pairs;
    const struct nvdp_posteriors *whole = work->set;
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *part = NULL;
    size_t texts = max_text_count(config->max_pairs, whole->texts);
    nvdp__autofree size_t *index = NULL;
    NVDP_TRY(NVDP__NEW(work->ctx, index, texts));
    NVDP_TRY(nvdp__pairs_sampled(work->ctx, whole, config, report->pairs, report->infinite));
    NVDP_TRY(nvdp__posteriors_draw(work->ctx, whole, texts, config->seed, index, &part));
    work->set = part;
    NVDP_TRY(run(work, report));
    report->bdp.published->worst_text = index[report->bdp.published->worst_text];
    report->bdp.best->worst_text = index[report->bdp.best->worst_text];
    report->epsilon->sum.max_p = index[report->epsilon->sum.max_p];
    report->epsilon->sum.max_q = index[report->epsilon->sum.max_q];
    return NVDP_OK;
}

/* The structs to which a report points, in one block. */
struct parts {
    /* the first member, so that its address is the address of the block */
    struct nvdp_pairs_summary pairs;
    struct nvdp_posterior_summary posterior;
    struct nvdp_bdp_column published, best;
    struct nvdp_epsilon_summary epsilon;
    struct nvdp_exact_summary exact;
    struct nvdp_infinite_summary infinite, infinite_published, infinite_best;
    struct nvdp_linkage linkage;
};

enum { OF_POSTERIORS = 1, WITH_EXACT_LOSS = 2 };

/* Makes an empty report with the parts that the flags select. */
static nvdp_status create_report(struct nvdp_context *ctx, unsigned flags,
                                 struct nvdp_privacy_report *out) {
    const bool of_posteriors = (flags & OF_POSTERIORS) != 0, exact = (flags & WITH_EXACT_LOSS) != 0;
    struct parts *parts = NULL;
    NVDP_TRY(NVDP__NEW(ctx, parts, 1));
    parts->exact.struct_size = sizeof parts->exact;
    parts->posterior.struct_size = sizeof parts->posterior;
    parts->linkage.struct_size = sizeof parts->linkage;
    parts->published.infinite_pairs = of_posteriors ? &parts->infinite_published : NULL;
    parts->best.infinite_pairs = of_posteriors ? &parts->infinite_best : NULL;
    *out =
        (struct nvdp_privacy_report){.struct_size = sizeof *out,
                                     .kind = &nvdp__privacy_kind,
                                     .pairs = &parts->pairs,
                                     .bdp = {.published = &parts->published, .best = &parts->best},
                                     .epsilon = &parts->epsilon,
                                     .exact = exact ? &parts->exact : NULL,
                                     .posterior = of_posteriors ? &parts->posterior : NULL,
                                     .infinite = of_posteriors ? &parts->infinite : NULL,
                                     .linkage = of_posteriors ? &parts->linkage : NULL,
                                     .argmax_rows = {.p = -1, .q = -1}};
    return NVDP_OK;
}

nvdp_status nvdp__privacy_measure(struct nvdp_context *ctx,
                                  const struct nvdp_posteriors *posteriors,
                                  const struct nvdp__privacy_options *options, double *matrix,
                                  struct nvdp_privacy_report *out) {
    nvdp__auto(release) struct measure work = {
        .ctx = ctx, .set = posteriors, .options = options, .kept = matrix};
    nvdp__autoresult struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(check(ctx, posteriors, options, matrix, &work.sampled));
    NVDP_TRY(
        create_report(ctx, OF_POSTERIORS | (options->exact.wanted ? WITH_EXACT_LOSS : 0), &report));
    NVDP_TRY(nvdp_posteriors_summarize(ctx, posteriors, report.posterior));
    nvdp__posteriors_digest(posteriors, report.digest);
    for (size_t i = 0; i < posteriors->texts; i++) {
        report.shape.components =
            nvdp__max(report.shape.components, nvdp__sample_components(posteriors, i));
    }
    NVDP_TRY(work.sampled ? run_drawn(&work, &report) : run(&work, &report));
    NVDP_TRY(nvdp__guess_baselines(ctx, options, &report.guesses.count, report.guesses.guess));
    NVDP_TRY(nvdp__measure_guesses(ctx, posteriors, options->bdp.releases, &report.guesses));
    if (options->exact.wanted) NVDP_TRY(nvdp__exact_pairs(ctx, posteriors, options, report.exact));
    const int64_t *id = posteriors->id;
    if (id != NULL) {
        report.argmax_rows.p = id[report.pairs->sum.max_p];
        report.argmax_rows.q = id[report.pairs->sum.max_q];
    }
    NVDP__GIVE(out, &report);
    report.pairs = NULL;
    return NVDP_OK;
}

nvdp_status nvdp__privacy_measure_source(struct nvdp_context *ctx,
                                         const struct nvdp_posteriors *shape,
                                         const struct nvdp__divergence_source *source,
                                         const struct nvdp__privacy_options *options,
                                         double *matrix, double *epsilon,
                                         struct nvdp_privacy_report *out) {
    nvdp__auto(release) struct measure work = {
        .ctx = ctx, .set = shape, .source = source, .options = options, .kept = matrix};
    nvdp__autoresult struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    const size_t texts = shape->texts;
    NVDP_TRY(nvdp__schema_check(ctx, &nvdp__privacy_schema, options));
    NVDP_TRY(nvdp__privacy_check_source(ctx, options));
    if (texts < 2 || texts > MAX_TEXTS)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "pairs: expected 2 to %d texts, found %zu (measure a sample of the texts)", MAX_TEXTS,
            texts);
    if (options->pairs.max_pairs > 0 && options->pairs.max_pairs < texts * (texts - 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{max-pairs}: every pair of texts is measured, %zu: expected 0, or a "
                          "sample of the texts",
                          texts * (texts - 1));
    NVDP_TRY(create_report(ctx, 0, &report));
    for (size_t i = 0; i < texts; i++)
        report.shape.components = nvdp__max(report.shape.components, nvdp__row_count(shape, i));
    NVDP_TRY(run(&work, &report));
    if (epsilon != NULL) memcpy(epsilon, work.epsilon, texts * texts * sizeof *epsilon);
    NVDP__GIVE(out, &report);
    report.pairs = NULL;
    return NVDP_OK;
}

nvdp_status nvdp_privacy_measure(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                 const struct nvdp_config *config, double *matrix,
                                 struct nvdp_privacy_report *out) {
    struct nvdp__privacy_options options;
    NVDP_TRY(read_options(ctx, config, &options));
    return nvdp__privacy_measure(ctx, posteriors, &options, matrix, out);
}
