/* Tests whether samples of a text are in a file.  The order: scores, texts, proven bounds, the attack.
 *
 * The attacker knows the mechanism and public texts, but neither the order of the file nor any id.  For a text x, the
 * attacker compares two hypotheses, where q are the public texts:
 *
 *     one of the m texts, at a place drawn at random, is x, the others are drawn from q;     all are drawn from q.
 *
 * If the file states labels, the m texts are the texts with the label of x.  The most powerful test is the ratio of the
 * two likelihoods (Neyman & Pearson 1933):
 *
 *     score(x)  =  log 1/m sum_i p(z_i | x) / q(z_i),      q(z)  =  1/n sum over public texts u of p(z | u),
 *
 * a likelihood ratio against a population, as of Homer et al. 2008 for pooled genomes (Sankararaman et al. 2009) and
 * Zarifzadeh, Liu & Shokri 2024 for models.  If no public text has the length of sample i, q is computed from the
 * scored texts.
 *
 * A certificate compares two texts, and so two files that differ in one text: one file has x, and the other file has
 * another text in the place of x.  If a fair coin decides which text of a pair is shared, TPR and FPR are means over
 * such pairs of files, and TPR <= T(FPR) with the concave bound T of one pair (Jensen).  The same bound holds for each
 * text of a given file and the file with a public text in its place ("replaced").  No bound holds between texts of a
 * given file and other texts, because these may differ without any sample. */
#include "attack/audit.h"
#include "attack/membership.h"
#include "base/own.h"
#include "base/random.h"
#include "rdp/pairs.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 16, FEWEST = 20 };
static const double USUAL_DELTA = 1e-5, CONFIDENCE = .95;
static const char EPSILONS[] =
    "0,0.05,0.1,0.2,0.35,0.5,0.75,1,1.25,1.5,2,2.5,3,3.5,4,5,6,7,8,9,10,12,14,"
    "16,20,24,28,32,40,50,64";

/* --- scores --- */

enum { IN, OUT, BACKGROUND, GROUPS };

struct scorer {
    struct nvdp_context *ctx;
    const struct nvdp__sampled_file *file;
    const struct nvdp__candidates *group[GROUPS];
    struct nvdp__likelihood likelihood[GROUPS];
    struct nvdp__evidence evidence[BLOCK];
    double *density[GROUPS]; /* [BLOCK, n] */
    double *own;             /* [in->n] term of the sample of the text itself */
    size_t *place;           /* [texts of the set] 1 + place in `in`; 0 if not in `in` */
    struct nvdp__memory memory;
};

static nvdp_status create(struct scorer *s) {
    size_t rows = nvdp__linkage_rows(s->file->set, 0, NULL);
    for (size_t g = 0; g < GROUPS; g++) {
        rows = nvdp__max(rows, nvdp__linkage_rows(s->group[g]->set, 0, NULL));
        NVDP_TRY(nvdp__likelihood_create(s->ctx, s->group[g]->set, &s->likelihood[g]));
        NVDP_TRY(
            NVDP__ARRAYS(s->ctx, &s->memory, NVDP__ITEMS(s->density[g], BLOCK * s->group[g]->n)));
    }
    NVDP_TRY(nvdp__evidence_create(s->ctx, &s->memory, s->file->set, rows, BLOCK, s->evidence));
    NVDP_TRY(NVDP__ARRAYS(s->ctx, &s->memory, NVDP__ITEMS(s->own, s->group[IN]->n),
                          NVDP__ITEMS(s->place, s->file->set->texts)));
    for (size_t k = 0; k < s->group[IN]->n; k++) {
        s->place[s->group[IN]->text[k]] = k + 1;
        s->own[k] = -INFINITY;
    }
    return NVDP_OK;
}

static void destroy(struct scorer *s) {
    for (size_t g = 0; g < GROUPS; g++)
        nvdp__likelihood_release(&s->likelihood[g]);
    nvdp__memory_release(&s->memory);
}

/* Computes the log densities of n samples under the texts of group g, [n, texts]. */
static void compute(struct scorer *s, size_t n, int g) {
    nvdp__likelihoods(&s->likelihood[g], nvdp_context_threads(s->ctx), n, s->evidence,
                      s->group[g]->n, s->group[g]->text, s->density[g]);
}

/* Returns log q of sample i of the block. */
static double log_background(const struct scorer *s, size_t i) {
    const size_t n = s->group[BACKGROUND]->n, in = s->group[IN]->n, out = s->group[OUT]->n;
    const double q = nvdp__log_sum(n, s->density[BACKGROUND] + i * n);
    if (q > -INFINITY) return q - log((double)n);
    return nvdp__log_add(nvdp__log_sum(in, s->density[IN] + i * in),
                         nvdp__log_sum(out, s->density[OUT] + i * out)) -
           log((double)(in + out));
}

/* Returns true if text k of group g may be text `row` of the file: the labels of the two texts are equal, or a label is
 * not known. */
static bool may_be(const struct scorer *s, int g, size_t k, size_t row) {
    const float *of_file = s->file->set->label, *of_group = s->group[g]->set->label;
    if (of_file == NULL || of_group == NULL) return true;
    const float label = of_group[s->group[g]->text[k]];
    return isnan(label) || isnan(of_file[row]) || label == of_file[row];
}

/* Returns log m, where m is the number of texts of the file that text k of group g may be. */
static double log_rows(const struct scorer *s, int g, size_t k) {
    size_t rows = 0;
    for (size_t i = 0; i < s->file->n; i++)
        rows += may_be(s, g, k, s->file->text[i]);
    return log((double)nvdp__max(1, rows));
}

/* Adds sample i of the block, a sample of text `own`, to all sums except the sum of this text; that term is in
 * s->own. */
static void add_sample(struct scorer *s, size_t i, size_t own) {
    const double q = log_background(s, i);
    if (q == -INFINITY) return; /* no scored text has this length */
    for (int g = IN; g <= OUT; g++)
        for (size_t k = 0; k < s->group[g]->n; k++) {
            if (!may_be(s, g, k, own)) continue;
            const double ratio = s->density[g][i * s->group[g]->n + k] - q;
            double *sum = g == IN && s->place[own] == k + 1 ? &s->own[k] : &s->group[g]->score[k];
            *sum = nvdp__log_add(*sum, ratio);
        }
}

/* Computes the score of each text after a sample of a public text has replaced the text's sample.  The number of the
 * replaced text is the number of the sample. */
static nvdp_status replace(struct scorer *s, double *replaced) {
    const struct nvdp__candidates *in = s->group[IN], *from = s->group[BACKGROUND];
    const struct nvdp__noise noise = {.seed = s->file->seed};
    const struct nvdp__sampler sampler = {.posteriors = from->set, .noise = noise};
    const struct nvdp__sample_source source = {nvdp__linkage_draw, &sampler, -INFINITY};
    const size_t releases = (size_t)s->file->releases;
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_CANDIDATE, 2, 0);
    struct nvdp__trial trial[BLOCK];
    for (size_t first = 0; first < in->n; first += BLOCK) {
        const size_t n = nvdp__min(BLOCK, in->n - first);
        for (size_t i = 0; i < n; i++)
            trial[i] = (struct nvdp__trial){from->text[nvdp__stream_below(&stream, from->n)],
                                            (first + i) * releases};
        NVDP_TRY(nvdp__linkage_collect(s->ctx, from->set, &source, n, trial, s->file->releases,
                                       s->evidence));
        for (int g = 0; g < GROUPS; g++)
            compute(s, n, g);
        for (size_t i = 0; i < n; i++)
            replaced[first + i] = nvdp__log_add(
                in->score[first + i], s->density[IN][i * in->n + first + i] - log_background(s, i));
    }
    return NVDP_OK;
}

nvdp_status nvdp__membership_scores(struct nvdp_context *ctx, const struct nvdp__sampled_file *file,
                                    const struct nvdp__candidates *in,
                                    const struct nvdp__candidates *out,
                                    const struct nvdp__candidates *background, double *replaced) {
    nvdp__auto(destroy) struct scorer s = {
        .ctx = ctx, .file = file, .group = {in, out, background}};
    struct nvdp__trial trial[BLOCK];
    struct nvdp__meter meter;
    NVDP_TRY(create(&s));
    for (int g = IN; g <= OUT; g++)
        for (size_t k = 0; k < s.group[g]->n; k++)
            s.group[g]->score[k] = -INFINITY;
    nvdp__meter_begin(&meter, ctx, "membership", "sample", 0, file->n);
    for (size_t first = 0; first < file->n; first += BLOCK) {
        const size_t n = nvdp__min(BLOCK, file->n - first);
        NVDP_TRY(nvdp__check_cancelled(ctx, "attack: cancelled"));
        for (size_t i = 0; i < n; i++)
            trial[i] = (struct nvdp__trial){file->text[first + i], 0};
        NVDP_TRY(nvdp__linkage_collect(ctx, file->set, file->source, n, trial, file->releases,
                                       s.evidence));
        for (int g = 0; g < GROUPS; g++)
            compute(&s, n, g);
        for (size_t i = 0; i < n; i++)
            add_sample(&s, i, trial[i].text);
        nvdp__meter_update(&meter, first + n, (double)(first + n), "sample", NAN);
    }
    nvdp__meter_end(&meter);
    if (replaced != NULL) NVDP_TRY(replace(&s, replaced));
    for (size_t k = 0; k < in->n; k++) {
        const double m = log_rows(&s, IN, k);
        in->score[k] = nvdp__log_add(in->score[k], s.own[k]) - m;
        if (replaced != NULL) replaced[k] -= m;
    }
    for (size_t k = 0; k < out->n; k++)
        out->score[k] -= log_rows(&s, OUT, k);
    return NVDP_OK;
}

/* --- texts --- */

/* The texts of an attack.  The attack owns the memory. */
struct chosen {
    size_t *file; /* texts whose samples are in the file */
    size_t files;
    struct nvdp__candidates in, out, background;
    double *replaced;        /* [in.n] for a given file */
    unsigned char *included; /* [in.n] for drawn pairs: the coin shared the first text of pair k */
};

struct keyed {
    int64_t key;
    size_t text;
};

nvdp_status nvdp__membership_list(struct nvdp_context *ctx, uint64_t seed,
                                  const struct nvdp_dataset *data,
                                  const struct nvdp_dataset *besides, bool first, size_t **out,
                                  size_t *count) {
    nvdp__autofree struct keyed *key = NULL;
    nvdp__autofree int64_t *other = NULL;
    nvdp__autofree size_t *made = NULL;
    size_t n = 0;
    const size_t others = besides != NULL ? besides->count : 0;
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_CANDIDATE, besides != NULL, 0);
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(key, data->count), NVDP__ITEMS(other, others + 1),
                          NVDP__ITEMS(made, data->count)));
    for (size_t i = 0; i < data->count; i++)
        key[i] = (struct keyed){nvdp__dataset_key(data, i), i};
    for (size_t i = 0; i < others; i++)
        other[i] = nvdp__dataset_key(besides, i);
    NVDP__SORT(key, data->count, NVDP__UP(struct keyed, key), NVDP__UP(struct keyed, text));
    qsort(other, others, sizeof *other, nvdp__by_int64);
    for (size_t i = 0, end; i < data->count; i = end) {
        for (end = i + 1; end < data->count && key[end].key == key[i].key;)
            end++;
        if ((end == i + 1 || first) &&
            bsearch(&key[i].key, other, others, sizeof *other, nvdp__by_int64) == NULL)
            made[n++] = key[i].text;
    }
    for (size_t i = n; i > 1; i--) { /* Fisher & Yates */
        const size_t k = (size_t)nvdp__stream_below(&stream, i), kept = made[i - 1];
        made[i - 1] = made[k];
        made[k] = kept;
    }
    *count = n;
    return NVDP__HAND_OVER(out, made);
}

static nvdp_status make_list(struct nvdp__text_attack *a, const struct nvdp_posteriors *set,
                             size_t n, struct nvdp__candidates *list) {
    *list = (struct nvdp__candidates){.set = set, .n = n};
    return NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(list->text, n), NVDP__ITEMS(list->score, n));
}

/* Pairs the texts at random; a coin decides which text of a pair is in the file.  The public texts are the
 * background. */
static nvdp_status draw_pairs(struct nvdp__text_attack *a, struct chosen *c, size_t *repeated) {
    struct nvdp_context *ctx = a->ctx;
    const struct nvdp__noise noise = {.seed = a->options->seed};
    struct nvdp__stream coin = nvdp__stream_open(&noise, NVDP__PURPOSE_CANDIDATE, 3, 0);
    const struct nvdp_posteriors *set = a->attacked.set;
    nvdp__autofree size_t *text = NULL;
    size_t n;
    NVDP_TRY(nvdp__membership_list(ctx, a->options->seed, a->attacked.data, NULL, true, &text, &n));
    *repeated = a->attacked.data->count - n;
    if (n < 2 * FEWEST)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "membership: expected at least %d different texts, of which a coin "
                          "shares half, found %zu in the split; take a larger split or {limit}",
                          2 * FEWEST, n);
    NVDP_TRY(make_list(a, set, n / 2, &c->in));
    NVDP_TRY(make_list(a, set, n / 2, &c->out));
    NVDP_TRY(make_list(a, a->known.set, a->known.data->count, &c->background));
    NVDP_TRY(NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(c->included, n / 2), NVDP__ITEMS(c->file, n / 2)));
    c->files = n / 2;
    for (size_t k = 0; k < n / 2; k++) {
        c->included[k] = (unsigned char)nvdp__stream_below(&coin, 2);
        c->file[k] = c->in.text[k] = text[2 * k + !c->included[k]];
        c->out.text[k] = text[2 * k + c->included[k]];
    }
    for (size_t k = 0; k < c->background.n; k++)
        c->background.text[k] = k;
    return NVDP_OK;
}

/* Takes the texts of a given file.  Half of the public texts that are not in the file are the background; the other
 * half are the texts that are compared with members. */
static nvdp_status take_file(struct nvdp__text_attack *a, struct chosen *c, size_t *repeated) {
    struct nvdp_context *ctx = a->ctx;
    const uint64_t seed = a->options->seed;
    const struct nvdp_dataset *data = a->attacked.data;
    nvdp__autofree size_t *in = NULL, *public_ = NULL;
    size_t n, publics;
    NVDP_TRY(nvdp__membership_list(ctx, seed, data, NULL, false, &in, &n));
    NVDP_TRY(nvdp__membership_list(ctx, seed, a->known.data, data, true, &public_, &publics));
    *repeated = data->count - n;
    if (n < FEWEST || publics < 2 * FEWEST)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "membership: expected at least %d texts that are in the shared file once, and "
            "%d different public texts that are not in it, found %zu and %zu",
            FEWEST, 2 * FEWEST, n, publics);
    NVDP_TRY(make_list(a, a->attacked.set, n, &c->in));
    NVDP_TRY(make_list(a, a->known.set, publics / 2, &c->out));
    NVDP_TRY(make_list(a, a->known.set, publics - publics / 2, &c->background));
    NVDP_TRY(
        NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(c->replaced, n), NVDP__ITEMS(c->file, data->count)));
    c->files = data->count;
    for (size_t i = 0; i < data->count; i++)
        c->file[i] = i;
    memcpy(c->in.text, in, n * sizeof *in);
    memcpy(c->out.text, public_, c->out.n * sizeof *public_);
    memcpy(c->background.text, public_ + c->out.n, c->background.n * sizeof *public_);
    return NVDP_OK;
}

/* --- proven bounds --- */

static nvdp_status prove(const struct nvdp__attacked *attacked, const struct nvdp_model *model,
                         double delta, struct nvdp__tradeoff *proven,
                         struct nvdp__membership *out) {
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    NVDP_TRY(nvdp__attacked_certificate(attacked, model, delta, EPSILONS, &certificate));
    *proven = (struct nvdp__tradeoff){.mu = isfinite(certificate.mu) ? certificate.mu : INFINITY};
    for (size_t i = 0; i < certificate.points && isinf(proven->mu); i++)
        nvdp__tradeoff_add(proven, certificate.curve[i].epsilon, certificate.curve[i].delta);
    nvdp__membership_proven(proven, certificate.epsilon, delta, out);
    return NVDP_OK;
}

/* --- the attack --- */

/* Scores without noise: a text counts as a member if a text of the file has the same posterior.  All texts of the file
 * are found, so the score shows only whether other texts have different posteriors. */
static nvdp_status score_states(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                const struct chosen *c) {
    nvdp__autofree int64_t *key = NULL;
    const struct nvdp__candidates *const both[] = {&c->in, &c->out};
    NVDP_TRY(NVDP__NEW(ctx, key, c->files));
    for (size_t i = 0; i < c->files; i++)
        key[i] = (int64_t)nvdp__posterior_key(set, c->file[i]);
    qsort(key, c->files, sizeof *key, nvdp__by_int64);
    for (size_t g = 0; g < 2; g++)
        for (size_t k = 0; k < both[g]->n; k++) {
            const int64_t own = (int64_t)nvdp__posterior_key(both[g]->set, both[g]->text[k]);
            both[g]->score[k] = bsearch(&own, key, c->files, sizeof *key, nvdp__by_int64) != NULL;
        }
    return NVDP_OK;
}

/* Audits the coins of drawn pairs.  The score of a coin is the score of the pair's first text minus the score of the
 * second text. */
static nvdp_status audit(struct nvdp_context *ctx, const struct chosen *c,
                         struct nvdp__membership *out) {
    nvdp__autofree double *score = NULL;
    out->audit = (struct nvdp__canary_audit)NVDP_RESULT(struct nvdp__canary_audit);
    NVDP_TRY(NVDP__NEW(ctx, score, c->in.n));
    for (size_t k = 0; k < c->in.n; k++) {
        const double in = c->in.score[k], other = c->out.score[k];
        score[k] = in == other ? 0 : c->included[k] ? in - other : other - in;
    }
    return nvdp__audit_canaries(ctx, c->in.n, score, c->included, 0, 0, out->delta, CONFIDENCE,
                                &out->audit);
}

static nvdp_status measure(const struct nvdp__attacked *attacked, struct nvdp__text_attack *a,
                           struct chosen *c, struct nvdp__membership *out) {
    struct nvdp_context *ctx = attacked->ctx;
    struct nvdp__attack_options options;
    struct nvdp__tradeoff proven;
    const struct nvdp__sampler sampler = {.posteriors = a->attacked.set,
                                          .noise.seed = a->options->seed};
    const bool given = a->attacked.shared != NULL;
    const struct nvdp__sample_source source =
        given ? nvdp__shared_source(&a->file)
              : (struct nvdp__sample_source){nvdp__linkage_draw, &sampler, -INFINITY};
    NVDP_TRY(nvdp__config_open(ctx, attacked->config, &nvdp__attack_schema, &options));
    /* The file has all samples of a text, so a certificate for fewer samples proves nothing about the file. */
    if (given && (size_t)a->options->releases != a->file.file->shape.samples)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{releases}: expected %zu, all samples of a text in %s, found %d",
                          a->file.file->shape.samples, a->file.path, a->options->releases);
    NVDP_TRY(given ? take_file(a, c, &out->repeated) : draw_pairs(a, c, &out->repeated));
    const struct nvdp__sampled_file file = {a->attacked.set, &source, a->options->releases,
                                            c->files,        c->file, a->options->seed};
    out->members = c->in.n;
    out->others = c->out.n;
    NVDP_TRY(prove(attacked, a->run.model, options.delta > 0 ? options.delta : USUAL_DELTA, &proven,
                   out));
    NVDP_TRY(nvdp__membership_scores(ctx, &file, &c->in, &c->out, &c->background, c->replaced));
    NVDP_TRY(nvdp__add_roc(a, NVDP__OBSERVED_RELEASE, c->in.n, c->in.score, c->out.n, c->out.score,
                           given ? NULL : &proven));
    if (given)
        NVDP_TRY(nvdp__add_roc(a, NVDP__OBSERVED_REPLACED, c->in.n, c->in.score, c->in.n,
                               c->replaced, &proven));
    else
        NVDP_TRY(audit(ctx, c, out));
    NVDP_TRY(score_states(ctx, a->attacked.set, c));
    NVDP_TRY(nvdp__add_roc(a, NVDP__OBSERVED_STATES, c->in.n, c->in.score, c->out.n, c->out.score,
                           NULL));
    a->scores -= 3; /* the area alone */
    return nvdp__add_value(a, NVDP__OBSERVED_PRIOR, NVDP__TEXT_METRIC_AUC, .5, 0, 0);
}

nvdp_status nvdp__membership_file(const struct nvdp__attacked *attacked,
                                  struct nvdp__membership *out) {
    nvdp__auto(nvdp__text_attack_close) struct nvdp__text_attack a = {0};
    struct chosen c = {0};
    NVDP_TRY(nvdp__text_attack_open(attacked, &a));
    NVDP_TRY(measure(attacked, &a, &c, out));
    NVDP_TRY(nvdp__learned(&a, attacked->kind, &out->scores));
    out->scores.seeds = 1;
    return NVDP_OK;
}
