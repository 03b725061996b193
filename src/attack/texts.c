/* Runs attackers that learn from public texts: samples, scores with intervals, and the attack.  Read texts.h first. */
#include "attack/texts.h"
#include "attack/attack.h"
#include "base/own.h"
#include "base/random.h"
#include "rdp/divergence.h"
#include "rdp/likelihood.h"
#include "rdp/pairs.h"
#include "share/sampler.h"
#include "text/dataset.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

static const char *const observed_names[] = {
    [NVDP__OBSERVED_RELEASE] = "release",   [NVDP__OBSERVED_STATES] = "states",
    [NVDP__OBSERVED_PRIOR] = "prior",       [NVDP__OBSERVED_REFERENCE] = "reference",
    [NVDP__OBSERVED_REPLACED] = "replaced", [NVDP__OBSERVED_LOSS] = "loss",
    [NVDP__OBSERVED_SHADOWS] = "shadows"};

static const double MIN_LOG_WEIGHT = -20;

/* --- samples --- */

void nvdp__observe(const struct nvdp__texts *corpus, enum nvdp__observed observed, uint64_t seed,
                   uint32_t draw, size_t i, size_t vectors, double *z, double *log_pi) {
    const struct nvdp_posteriors *set = corpus->set;
    const struct nvdp__form form = nvdp__form_of_posteriors(set);
    const struct nvdp__sampler release = {.posteriors = set, .noise.seed = seed, .sample = draw};
    const struct nvdp__shared_texts *shared = corpus->shared;
    if (observed == NVDP__OBSERVED_RELEASE && shared != NULL) {
        nvdp__shared_take(shared, i, (seed - shared->first_seed) * shared->releases + draw, vectors,
                          z, log_pi);
        return;
    }
    if (observed == NVDP__OBSERVED_RELEASE) {
        nvdp__sampler_draw(&release, i, corpus->first_key + i, vectors, z, log_pi);
        return;
    }
    const size_t rows = nvdp__release_rows(set, i), tokens = nvdp__row_count(set, i), p = set->dim;
    double all = 0;
    for (size_t r = 0; r < rows; r++) {
        const int64_t source = nvdp__form_source(&form, tokens, r);
        const size_t at = set->offset[i] + (source < 0 ? 0 : (size_t)source);
        if (r < vectors && source < 0) memset(z + r * p, 0, p * sizeof *z);
        if (r < vectors && source >= 0) memcpy(z + r * p, set->mu + at * p, p * sizeof *z);
        if (set->alpha == NULL) continue;
        const double alpha = source < 0 ? nvdp__form_alpha(&form, source) : set->alpha[at];
        log_pi[r] = log(alpha);
        all += alpha;
    }
    for (size_t r = 0; r < rows && set->alpha != NULL; r++)
        log_pi[r] -= log(all);
}

void nvdp__observe_tokens(const struct nvdp__texts *corpus, enum nvdp__observed observed,
                          uint64_t seed, uint32_t draw, size_t i, size_t rows, double *z,
                          double *log_pi, float *to) {
    const struct nvdp_posteriors *set = corpus->set;
    const size_t p = set->dim, kappa = (size_t)set->kappa, prior = set->alpha != NULL ? kappa : 0;
    const size_t inputs = p + (prior > 0);
    nvdp__observe(corpus, observed, seed, draw, i, prior + rows * kappa, z, log_pi);
    memset(to, 0, rows * inputs * sizeof *to);
    for (size_t r = 0; r < rows; r++, to += inputs) {
        double share = 0;
        for (size_t k = prior + r * kappa, last = k + kappa; k < last; k++) {
            for (size_t d = 0; d < p; d++)
                to[d] += (float)(z[k * p + d] / (double)kappa);
            if (prior > 0) share += exp(log_pi[k]);
        }
        if (prior > 0) to[p] = (float)fmax(log(share), MIN_LOG_WEIGHT);
    }
}

void nvdp__scale_begin(struct nvdp__scale *s) {
    s->count = 0;
    memset(s->shift, 0, s->inputs * sizeof *s->shift);
    memset(s->by, 0, s->inputs * sizeof *s->by);
}

/* Adds to the means and, in `by`, to the sums of squared deviations (Welford 1962). */
void nvdp__scale_add(struct nvdp__scale *s, size_t rows, const float *x) {
    for (size_t r = 0; r < rows; r++) {
        const double count = ++s->count;
        for (size_t d = 0; d < s->inputs; d++) {
            const double off = (double)x[r * s->inputs + d] - s->shift[d];
            s->shift[d] += off / count;
            s->by[d] += off * off * (1 - 1 / count);
        }
    }
}

void nvdp__scale_end(struct nvdp__scale *s) {
    for (size_t d = 0; d < s->inputs; d++)
        s->by[d] = s->by[d] > 0 ? sqrt(s->count / s->by[d]) : 0;
}

void nvdp__scale_apply(const struct nvdp__scale *s, size_t rows, float *x) {
    for (size_t r = 0; r < rows; r++, x += s->inputs)
        for (size_t d = 0; d < s->inputs; d++)
            x[d] = (float)(((double)x[d] - s->shift[d]) * s->by[d]);
}

size_t nvdp__draw_count(const struct nvdp__text_attack *attack, enum nvdp__observed observed) {
    const struct nvdp__shared_texts *shared = attack->attacked.shared;
    if (observed != NVDP__OBSERVED_RELEASE) return 1;
    if (shared == NULL) return attack->options->seeds;
    return nvdp__min(attack->options->seeds, shared->file->shape.samples / shared->releases);
}

size_t nvdp__max_rows(const struct nvdp__text_attack *attack) {
    const struct nvdp__texts *const both[] = {&attack->known, &attack->attacked};
    size_t largest = 0;
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < both[c]->data->count; i++)
            largest = nvdp__max(largest, nvdp__release_rows(both[c]->set, i));
    return largest;
}

size_t nvdp__max_token_count(const struct nvdp__text_attack *attack) {
    return nvdp__max(nvdp__linkage_rows(attack->known.set, 0, NULL),
                     nvdp__linkage_rows(attack->attacked.set, 0, NULL));
}

/* --- progress --- */

void nvdp__attack_begin(struct nvdp__text_attack *a, const char *name, const char *unit,
                        size_t total) {
    a->done = 0;
    nvdp__meter_begin(&a->meter, a->ctx, name, unit, 0, total);
}

nvdp_status nvdp__attack_advance(struct nvdp__text_attack *a, size_t n, double loss) {
    a->done += n;
    nvdp__meter_update(&a->meter, a->done, (double)a->done, a->meter.report.unit, loss);
    return nvdp__check_cancelled(a->ctx, "attack: cancelled");
}

/* --- scores --- */

static const char *const metric_names[] = {
#define NAME(name, text) [NVDP__TEXT_METRIC_##name] = text,
    NVDP__TEXT_METRIC_MAP(NAME)
#undef NAME
};

const char *nvdp__text_metric_name(enum nvdp__text_metric metric) {
    return (unsigned)metric < NVDP__TEXT_METRIC_COUNT ? metric_names[metric] : "unknown";
}

nvdp_status nvdp__add_value(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                            enum nvdp__text_metric metric, double value, double off, double min) {
    struct nvdp__text_score made = {
        .metric = metric,
        .value = value,
        .baseline = NAN,
        .bound = NAN,
        .interval = isnan(off)
                        ? (struct nvdp_interval){NAN, NAN}
                        : (struct nvdp_interval){fmax(value - off, min), fmin(value + off, 1)}};
    nvdp__snprintf(made.observed, sizeof made.observed, "%s", observed_names[observed]);
    return NVDP__PUSH(attack->ctx, attack->score, attack->scores, attack->room, made);
}

void nvdp__bound_score(struct nvdp__text_attack *attack, double baseline, double bound) {
    struct nvdp__text_score *last = &attack->score[attack->scores - 1];
    last->baseline = isnan(bound) ? NAN : baseline;
    last->bound = bound;
}

/* Finds the score of the same metric without an observation, or NULL. */
static const struct nvdp__text_score *prior_score(const struct nvdp__text_attack *a,
                                                  enum nvdp__text_metric metric) {
    for (size_t i = 0; i < a->scores; i++)
        if (strcmp(a->score[i].observed, observed_names[NVDP__OBSERVED_PRIOR]) == 0 &&
            a->score[i].metric == metric)
            return &a->score[i];
    return NULL;
}

/* Returns true if a score is a valid comparison with the score without an observation.  Recall and F1 of a set are not
 * valid, because guessing many random tokens raises them. */
static bool is_control(enum nvdp__text_metric metric) {
    return metric <= NVDP__TEXT_METRIC_WHOLE_TEXT || metric == NVDP__TEXT_METRIC_F1 ||
           metric == NVDP__TEXT_METRIC_ACCURACY || metric == NVDP__TEXT_METRIC_AUC ||
           metric == NVDP__TEXT_METRIC_WORDS_F1;
}

/* Two 95 % intervals of equal width are disjoint in this direction by chance in one of 350 cases; for five
 * independent scores, in one of 70.  The words of a written text must also be better by CLEAR. */
static const double CLEAR = .1;

bool nvdp__reads_states(const struct nvdp__text_attack *a) {
    bool states = false; /* samples without noise are the states */
    for (size_t i = 0; i < a->scores; i++)
        states |= strcmp(a->score[i].observed, observed_names[NVDP__OBSERVED_STATES]) == 0;
    const char *control = observed_names[states ? NVDP__OBSERVED_STATES : NVDP__OBSERVED_RELEASE];
    for (size_t i = 0; i < a->scores; i++) {
        const struct nvdp__text_score *score = &a->score[i],
                                      *nothing = prior_score(a, score->metric);
        if (strcmp(score->observed, control) != 0 || !is_control(score->metric) || nothing == NULL)
            continue;
        const double clear = score->metric == NVDP__TEXT_METRIC_WORDS_F1 ? CLEAR : 0;
        if (score->interval.low > fmax(nothing->value, nothing->interval.high) &&
            score->value >= nothing->value + clear)
            return true;
    }
    return false;
}

bool nvdp__scores_hold(const struct nvdp__text_attack *a) {
    for (size_t i = 0; i < a->scores; i++)
        if (a->score[i].interval.low > a->score[i].bound)
            return false; /* false if the bound is NaN */
    return true;
}

/* Uses Student's t with the degrees of freedom of the sum of the two variances (Satterthwaite 1946). */
double nvdp__half_width(double of_texts, size_t n, double of_seeds, size_t seeds) {
    const double all = of_texts + of_seeds;
    if (!(all > 0)) return all;
    double share = of_texts * of_texts / ((double)n - 1);
    if (seeds > 1) share += of_seeds * of_seeds / ((double)seeds - 1);
    return gsl_cdf_tdist_Qinv(.025, all * all / share) * sqrt(all);
}

double nvdp__unseen(size_t trials) {
    return nvdp__interval_share(.95, trials, 0).high;
}

/* Splits the error e = hits - ratio of into effects of texts, of seeds and a rest (two-way analysis of variance with
 * random effects: Searle, Casella & McCulloch 1992, 4.3), with N = sum of `of`:
 *
 *     of texts  =  n/(n - 1)  sum over texts (sum over seeds e)^2 / N^2
 *     of seeds  =  S/(S - 1)  sum over seeds (sum over texts e)^2 / N^2
 *
 * Both terms include the rest, which is not subtracted, because three seeds estimate the rest too poorly.  If no guess
 * or every guess is right, the errors are 0, which does not prove that no error can occur: then Clopper & Pearson's
 * limit applies. */
nvdp_status nvdp__add_score(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                            enum nvdp__text_metric metric, size_t seeds, size_t n,
                            const double *hits, const double *of, double min) {
    double sum = 0, all = 0, texts = 0, columns = 0;
    size_t trials = 0;
    for (size_t k = 0; k < seeds * n; k++) {
        sum += hits[k];
        all += of[k];
    }
    const double ratio = sum / all, N = (double)n, S = (double)seeds;
    for (size_t i = 0; i < n; i++) {
        double text = 0, there = 0;
        for (size_t s = 0; s < seeds; s++) {
            text += hits[s * n + i] - ratio * of[s * n + i];
            there += of[s * n + i];
        }
        texts += text * text;
        trials += there > 0;
    }
    for (size_t s = 0; s < seeds; s++) {
        double column = 0;
        for (size_t i = 0; i < n; i++)
            column += hits[s * n + i] - ratio * of[s * n + i];
        columns += column * column;
    }
    const double of_seeds = seeds > 1 ? columns * S / (S - 1) : 0;
    if (all == 0) return nvdp__add_value(attack, observed, metric, NAN, NAN, 0);
    const double off = min == 0 && (ratio == 0 || ratio == 1)
                           ? nvdp__unseen(trials)
                           : nvdp__half_width(texts * N / (N - 1), n, of_seeds, seeds) / all;
    return nvdp__add_value(attack, observed, metric, ratio, off, min);
}

/* --- the attack --- */

static nvdp_status open_known(struct nvdp__text_attack *a, const struct nvdp__run_options *run) {
    struct nvdp_dataset_config config = nvdp__run_dataset_config(&a->run, run->data);
    if (a->options->known == NULL)
        return nvdp__fail(
            a->ctx, NVDP_ERR_ARGUMENT,
            "{public}: expected a file with the task's columns, whose texts are public "
            "and are not the attacked texts, found none");
    config.limit = a->options->known_limit;
    config.limit_seed = a->options->seed;
    NVDP_TRY(nvdp__run_has_no_task(&a->run)
                 ? nvdp__run_texts(a->ctx, run, &a->run, a->options->known, config.limit,
                                   config.limit_seed, &a->known.data)
                 : nvdp_dataset_load_file(a->ctx, nvdp_model_tokenizer(a->run.model), &config,
                                          a->options->known, &a->known.data));
    if (a->known.data->count < 20 || a->run.dataset->count < 2)
        return nvdp__fail(a->ctx, NVDP_ERR_INPUT,
                          "%s: expected at least 20 public texts, and at least 2 texts to attack, "
                          "found %zu and %zu",
                          a->options->known, a->known.data->count, a->run.dataset->count);
    return NVDP_OK;
}

/* Restricts the split to the texts that the shared file contains. */
static nvdp_status open_shared(struct nvdp__text_attack *a) {
    struct nvdp_dataset *all = a->run.dataset, *there = NULL;
    struct nvdp__shared_texts *shared = &a->file;
    nvdp__autofree size_t *row = NULL;
    size_t n = 0;
    if (a->options->shared == NULL) return NVDP_OK;
    shared->releases = (size_t)a->options->releases;
    shared->first_seed = a->options->seed;
    NVDP_TRY(nvdp__shared_open(a->ctx, a->options->shared, all->count, all->index, (int)all->split,
                               shared));
    NVDP_TRY(NVDP__NEW(a->ctx, row, all->count));
    NVDP_TRY(nvdp__shared_present(a->ctx, all->count, shared, row, &n));
    NVDP_TRY(nvdp__dataset_select(a->ctx, all, n, row, &there));
    nvdp_dataset_free(all);
    a->run.dataset = there;
    a->attacked.shared = shared;
    return NVDP_OK;
}

void nvdp__text_attack_free(void *scores) {
    struct nvdp__text_attack_result *of = scores;
    free(of->score);
    *of = (struct nvdp__text_attack_result){0};
}

nvdp_status nvdp__learned(struct nvdp__text_attack *a, const char *name,
                          struct nvdp__text_attack_result *out) {
    struct nvdp__text_attack_result made = {.struct_size = sizeof made};
    NVDP_TRY(nvdp__dataset_overlap(a->ctx, a->attacked.data, a->known.data, &made.both));
    nvdp__snprintf(made.attacker, sizeof made.attacker, "%s", name);
    made.texts = a->attacked.data->count;
    made.public_texts = a->known.data->count;
    made.seeds = nvdp__draw_count(a, NVDP__OBSERVED_RELEASE);
    memcpy(made.weight, a->weight, sizeof made.weight);
    made.tried = a->tried;
    made.weak = !nvdp__reads_states(a);
    made.holds = nvdp__scores_hold(a);
    if (a->attacked.set != NULL && a->attacked.set->label != NULL) {
        nvdp__autofree size_t *group = NULL;
        NVDP_TRY(NVDP__NEW(a->ctx, group, made.texts));
        NVDP_TRY(
            nvdp__label_groups(a->ctx, made.texts, a->attacked.set->label, group, &made.labels));
        made.labels_learned = nvdp__known_labels(a) > 0;
    }
    made.scores = a->scores;
    made.score = a->score;
    a->score = NULL;
    return NVDP__GIVE(out, &made);
}

nvdp_status nvdp__text_attack_open(const struct nvdp__attacked *attacked,
                                   struct nvdp__text_attack *a) {
    struct nvdp__run_options run;
    struct nvdp_context *ctx = a->ctx = attacked->ctx;
    a->options = &a->given;
    a->known.first_key = UINT64_C(1) << 40;
    NVDP_TRY(nvdp__config_open(ctx, attacked->config, &nvdp__run_schema, &run));
    NVDP_TRY(nvdp__config_open(ctx, attacked->config, &nvdp__text_attack_schema, &a->given));
    if (a->given.releases > 1 && !nvdp__attack_takes(attacked->attack->options, "releases"))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{releases}: expected 1 for attack %s, which reads one sample, found %d",
                          attacked->kind, a->given.releases);
    if (a->given.prior != NULL && !nvdp__attack_takes(attacked->attack->options, "prior"))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "prior: attack %s uses no language model; leave out %s", attacked->kind,
                          a->given.prior);
    NVDP_TRY(nvdp__run_open_bottleneck(ctx, &run, &a->run));
    NVDP_TRY(open_shared(a));
    a->attacked.data = a->run.dataset;
    NVDP_TRY(open_known(a, &run));
    NVDP_TRY(
        nvdp_model_posteriors(ctx, a->run.model, a->attacked.data, run.batch, &a->attacked.set));
    NVDP_TRY(nvdp__shared_labels(ctx, a->attacked.shared, a->attacked.set));
    if (a->attacked.shared != NULL) NVDP_TRY(nvdp__shared_check(ctx, a->attacked.set, &a->file));
    return nvdp_model_posteriors(ctx, a->run.model, a->known.data, run.batch, &a->known.set);
}

void nvdp__text_attack_close(struct nvdp__text_attack *a) {
    nvdp_posteriors_free(a->known.set);
    nvdp_posteriors_free(a->attacked.set);
    nvdp_dataset_free(a->known.data);
    nvdp__shared_release(&a->file);
    nvdp__run_close(&a->run);
    nvdp__memory_release(&a->memory);
    free(a->score);
}

nvdp_status nvdp__learn(const struct nvdp__attacked *attacked, void *found) {
    nvdp__auto(nvdp__text_attack_close) struct nvdp__text_attack a = {0};
    struct nvdp__text_attack_result *out = found;
    NVDP_TRY(nvdp__can_give(attacked->ctx, out));
    NVDP_TRY(nvdp__text_attack_open(attacked, &a));
    NVDP_TRY(attacked->attack->learn(&a));
    return nvdp__learned(&a, attacked->kind, out);
}
