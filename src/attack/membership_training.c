/* Tests whether a model was trained on a text.  The order: losses, texts, shadow runs, scores by shadow runs, proven
 * bounds, the attack.
 *
 * There are two attackers, which have the run's model and labelled texts:
 *
 *     loss       guesses that the model was trained on texts with a small loss (Yeom et al. 2018);
 *     shadows    the online likelihood ratio attack (Carlini et al. 2022): K runs with the same options are trained on
 *                random halves of the train file.  The logit phi = log(p/(1 - p)) of the text's label, p =
 *                e^-loss, is taken as normal, with a mean for the runs that saw the text and one for the others:
 *
 *                score  =  log N(phi; mean_in, v_in (1 + 1/n_in)) - log N(phi; mean_out, v_out (1 + 1/n_out))
 *
 *                K is small, so the variances v are pooled over texts, and 1/n counts the error of a mean of n runs.
 *                A text that all shadow runs saw, or none, gets the other mean from the mean difference of all texts.
 *
 * The texts outside of the training set are the run's held-out texts, which a random choice left out of the same file.
 * Other texts (--public, or dev.tsv of a run that holds no texts out) may differ from training texts even without a
 * model. */
#include "attack/membership.h"
#include "base/file.h"
#include "base/own.h"
#include "base/random.h"
#include "model/model.h"
#include "options/schema.h"
#include "text/dataset.h"

#include <math.h>
#include <nvdp/train.h>
#include <stdlib.h>

enum { FEWEST = 20, GROUPS = 2 };

/* --- losses --- */

/* Returns -log softmax of one class. */
static double cross_entropy(size_t classes, const float *output, size_t label) {
    double others = 0;
    for (size_t c = 0; c < classes; c++)
        if (c != label) others += exp((double)output[c] - (double)output[label]);
    return log1p(others);
}

/* Returns the loss of text i from the outputs of the text's rows, and moves *row past these rows.  The loss is the
 * cross entropy, for tags the mean cross entropy over words, for scores the squared error. */
static double text_loss(const struct nvdp_dataset *data, size_t classes, size_t i,
                        const float *outputs, size_t *row) {
    double sum = 0, words = 0;
    if (data->task->regression) {
        const double off = (double)outputs[(*row)++] - (double)data->label[i];
        return off * off;
    }
    if (data->tag == NULL)
        return cross_entropy(classes, outputs + (*row)++ * classes, (size_t)data->label[i]);
    for (size_t k = data->offset[i]; k < data->offset[i + 1]; k++) {
        if (data->tag[k] == NVDP_TAG_NONE) continue;
        const float *output = outputs + (*row)++ * classes;
        if (data->tag[k] < 0 || (size_t)data->tag[k] >= classes) continue;
        sum += cross_entropy(classes, output, (size_t)data->tag[k]);
        words++;
    }
    return words > 0 ? sum / words : 0;
}

/* Returns log(p/(1 - p)) for p = e^-loss.  Losses below the resolution of float are raised to this resolution. */
static double logit(double loss) {
    const double kept = fmax(loss, 1e-9);
    return -kept - log(-expm1(-kept));
}

struct measured {
    struct nvdp_dataset *data;
    double *loss, *phi; /* [count] means over draws of the noise */
};

/* Computes losses and logits of all texts by a model. */
static nvdp_status measure(struct nvdp_context *ctx, struct nvdp_model *model, size_t batch,
                           uint64_t seed, size_t draws, const struct measured *m) {
    const size_t classes = model->info.outputs, rows = nvdp__dataset_outputs(m->data);
    nvdp__autofree float *outputs = NULL;
    NVDP_TRY(NVDP__NEW(ctx, outputs, draws * rows * classes));
    NVDP_TRY(nvdp__model_predict(model, m->data, batch, seed, 0, draws, outputs));
    memset(m->loss, 0, m->data->count * sizeof *m->loss);
    memset(m->phi, 0, m->data->count * sizeof *m->phi);
    for (size_t draw = 0; draw < draws; draw++)
        for (size_t i = 0, row = 0; i < m->data->count; i++) {
            const double loss =
                text_loss(m->data, classes, i, outputs + draw * rows * classes, &row);
            m->loss[i] += loss / (double)draws;
            m->phi[i] += logit(loss) / (double)draws;
        }
    return NVDP_OK;
}

/* --- texts --- */

struct training {
    struct nvdp_context *ctx;
    const char *name;
    struct nvdp__text_attack_options options;
    struct nvdp__run_options where;
    struct nvdp__run run; /* run.dataset has all texts of the train file that the run read */
    bool held;            /* the other texts are the run's held-out texts */
    size_t draws;
    struct measured group[GROUPS]; /* members, and other texts */
    struct nvdp__text_attack attack;
};

static void close_training(struct training *t) {
    for (size_t g = 0; g < GROUPS; g++)
        nvdp_dataset_free(t->group[g].data);
    nvdp__memory_release(&t->attack.memory);
    free(t->attack.score);
    nvdp__run_close(&t->run);
}

/* Takes the texts of `from` that occur once in `from` and not in `besides`, in a random order. */
static nvdp_status take(struct training *t, const struct nvdp_dataset *from,
                        const struct nvdp_dataset *besides, struct measured *to) {
    nvdp__autofree size_t *row = NULL;
    size_t n;
    NVDP_TRY(nvdp__membership_list(t->ctx, t->options.seed, from, besides, false, &row, &n));
    if (t->where.limit > 0) n = nvdp__min(n, t->where.limit);
    NVDP_TRY(nvdp__dataset_select(t->ctx, from, n, row, &to->data));
    return NVDP__ATTACK_ARRAYS(&t->attack, NVDP__ITEMS(to->loss, n + 1),
                               NVDP__ITEMS(to->phi, n + 1));
}

/* Takes the training texts, and other texts: held-out texts, or the texts of --public or of the dev file. */
static nvdp_status divide(struct training *t) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *train = NULL, *others = NULL;
    struct nvdp_dataset_config config = nvdp__run_dataset_config(&t->run, t->where.data);
    const struct nvdp_tokenizer *tokenizer = nvdp_model_tokenizer(t->run.model);
    const bool holdout = t->run.config.protocol == NVDP_PROTOCOL_HOLDOUT;
    t->held = holdout && t->options.known == NULL;
    if (holdout)
        NVDP_TRY(nvdp__train_holdout(t->ctx, &t->run.config, t->run.dataset, &train, &others));
    if (!t->held) {
        nvdp_dataset_free(others);
        others = NULL;
    }
    if (!t->held && t->options.known == NULL)
        NVDP_TRY(nvdp__dataset_load(t->ctx, tokenizer, &config, NVDP_SPLIT_DEV, NULL, &others));
    config.limit = t->options.known_limit;
    config.limit_seed = t->options.seed;
    if (t->options.known != NULL)
        NVDP_TRY(nvdp_dataset_load_file(t->ctx, tokenizer, &config, t->options.known, &others));
    if (!nvdp__dataset_labeled(others))
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: expected texts with labels, whose losses are compared, found none",
                          t->options.known != NULL ? t->options.known : t->run.config.data);
    const struct nvdp_dataset *trained = train != NULL ? train : t->run.dataset;
    NVDP_TRY(take(t, trained, others, &t->group[0]));
    NVDP_TRY(take(t, others, trained, &t->group[1]));
    if (t->group[0].data->count < FEWEST || t->group[1].data->count < FEWEST)
        return nvdp__fail(
            t->ctx, NVDP_ERR_INPUT,
            "membership: expected at least %d texts that the run was trained on, and %d others "
            "(held out, of the dev file or {public}), each only once, found %zu and %zu",
            FEWEST, FEWEST, t->group[0].data->count, t->group[1].data->count);
    return NVDP_OK;
}

/* --- shadow runs --- */

/* Returns the row of an option that affects the result and differs, or NULL.  Two paths differ if their files differ.
 * */
static const struct nvdp_option *differing(const struct nvdp__train_options *wanted,
                                           const struct nvdp__train_options *found,
                                           char text[2][NVDP__NUMBER_TEXT], const char *as[2]) {
    const void *const of[] = {wanted, found};
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(&nvdp__train_schema, i, &place); i++) {
        if ((place.row->traits & (NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_UNSAVED)) != 0) continue;
        for (size_t k = 0; k < 2; k++) {
            const union nvdp__value value =
                nvdp__option_at(place.row, (const char *)of[k] + place.offset);
            as[k] = nvdp__option_format(place.row, &value, text[k]);
            if (as[k] == NULL) as[k] = "none";
        }
        if (strcmp(as[0], as[1]) != 0 &&
            !(nvdp__option_is_text(place.row) && nvdp__same_file(as[0], as[1])))
            return place.row;
    }
    return NULL;
}

/* Trains the run, or resumes it. Fails if the folder has a run with other options than the shadow run. */
static nvdp_status train_shadow(const struct training *t, struct nvdp__train_options *options) {
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    struct nvdp__train_options found;
    nvdp__autoptr(json_decref) json_t *owner = NULL;
    if (nvdp__has(options->out, "run.json")) {
        NVDP_TRY(nvdp__run_read_config(t->ctx, options->out, &found, &owner));
        char text[2][NVDP__NUMBER_TEXT];
        const char *as[2];
        const struct nvdp_option *row = differing(options, &found, text, as);
        if (row != NULL)
            return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                              "%s: expected shadow run of %s, with %s %s, found %s; remove the "
                              "folder, or name another one with {shadow-runs}",
                              options->out, t->name, nvdp__as_option(t->ctx, row->name).text, as[0],
                              as[1]);
        options->resume = options->out;
    }
    return nvdp__has(options->out, "result.json") ? NVDP_OK : nvdp__train(t->ctx, options, &result);
}

static nvdp_status train_shadows(const struct training *t, const char *folder) {
    const double start = nvdp__now(), texts = (double)t->run.dataset->count;
    const size_t all = t->options.shadows;
    NVDP_TRY(nvdp__make_directory(t->ctx, folder));
    for (size_t k = 1; k <= all; k++) {
        const struct nvdp__path out = nvdp__path_format("%s/%zu", folder, k);
        const double spent = nvdp__now() - start;
        char left[64] = "";
        if (k > 1)
            nvdp__snprintf(left, sizeof left, "; about %.0f s are left for all",
                           spent / (double)(k - 1) * (double)(all - k + 1));
        nvdp__log(t->ctx, NVDP_LOG_INFO, "shadow run %zu of %zu: %s%s", k, all, out.text, left);
        /* A shadow run has the options of the run, and another seed, which draws the texts. */
        struct nvdp__train_options options = t->run.config;
        options.out = out.text;
        options.resume = NULL;
        options.overwrite = false;
        options.seed = t->run.config.seed + k;
        /* The shadow run trains on half of all texts. */
        options.limit_train = (size_t)nvdp__min((size_t)(texts / 2 / (1 - options.holdout) + .5),
                                                t->run.dataset->count);
        if (t->where.data != NULL) options.data = t->where.data;
        NVDP_TRY(train_shadow(t, &options));
    }
    return NVDP_OK;
}

/* --- scores by shadow runs --- */

/* Adds the logits of one shadow run. */
static nvdp_status add_shadow(struct training *t, const char *out,
                              struct nvdp__shadow_sums *const sums[GROUPS]) {
    nvdp__auto(nvdp__run_close) struct nvdp__run shadow = {0};
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct nvdp__run_options options = t->where;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *train = NULL, *held = NULL;
    struct measured m;
    const size_t most = nvdp__max(t->group[0].data->count, t->group[1].data->count);
    options.run = out;
    options.limit = 0;
    NVDP_TRY(NVDP__ARRAYS(t->ctx, &memory, NVDP__ITEMS(m.loss, most), NVDP__ITEMS(m.phi, most)));
    NVDP_TRY(nvdp__run_open(t->ctx, &options, &shadow));
    NVDP_TRY(nvdp__train_holdout(t->ctx, &shadow.config, shadow.dataset, &train, &held));
    for (size_t g = 0; g < GROUPS; g++) {
        m.data = t->group[g].data;
        NVDP_TRY(measure(t->ctx, shadow.model, t->where.batch, t->options.seed, t->draws, &m));
        for (size_t i = 0; i < m.data->count; i++) {
            const bool seen =
                bsearch(&m.data->index[i], train->index, train->count, sizeof *train->index,
                        nvdp__by_int64) != NULL; /* sorted in the order of the file */
            sums[g][i].n[seen]++;
            sums[g][i].sum[seen] += m.phi[i];
            sums[g][i].square[seen] += m.phi[i] * m.phi[i];
        }
    }
    return NVDP_OK;
}

static double log_normal(double x, double mean, double variance) {
    return -((x - mean) * (x - mean) / variance + log(variance)) / 2;
}

nvdp_status nvdp__shadow_scores(struct nvdp_context *ctx, size_t n,
                                const struct nvdp__shadow_sums *sums, const double *phi,
                                double *score) {
    double difference = 0, pairs = 0, rest[2] = {0, 0}, freedom[2] = {0, 0}, variance[2];
    for (size_t i = 0; i < n; i++) {
        const struct nvdp__shadow_sums *s = &sums[i];
        for (size_t in = 0; in < 2; in++) {
            if (s->n[in] < 2) continue;
            rest[in] += fmax(0, s->square[in] - s->sum[in] * s->sum[in] / s->n[in]);
            freedom[in] += s->n[in] - 1;
        }
        if (s->n[0] == 0 || s->n[1] == 0) continue;
        difference += s->sum[1] / s->n[1] - s->sum[0] / s->n[0];
        pairs++;
    }
    if (pairs == 0 || !(rest[0] > 0) || !(rest[1] > 0))
        return nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                          "{shadows}: expected texts that some of the runs saw and others did not, "
                          "with logits that vary, found none; take more {shadows}");
    for (size_t in = 0; in < 2; in++)
        variance[in] = rest[in] / freedom[in];
    for (size_t i = 0; i < n; i++) {
        const struct nvdp__shadow_sums *s = &sums[i];
        double density[2];
        for (size_t in = 0; in < 2; in++) {
            const bool own = s->n[in] > 0;
            const double runs = s->n[own ? in : !in], mean = s->sum[own ? in : !in] / runs;
            const double shift = own ? 0 : in ? difference / pairs : -difference / pairs;
            density[in] = log_normal(phi[i], mean + shift, variance[in] * (1 + 1 / runs));
        }
        score[i] = density[1] - density[0];
    }
    return NVDP_OK;
}

/* Replaces the losses of all texts by minus their scores. */
static nvdp_status attack_by_shadows(struct training *t) {
    const size_t members = t->group[0].data->count, others = t->group[1].data->count;
    struct nvdp__shadow_sums *sums;
    double *phi, *score;
    const struct nvdp__path folder = t->options.shadow_runs != NULL
                                         ? nvdp__path_format("%s", t->options.shadow_runs)
                                         : nvdp__path_format("%s.shadows", t->name);
    NVDP_TRY(NVDP__ATTACK_ARRAYS(&t->attack, NVDP__ITEMS(sums, members + others),
                                 NVDP__ITEMS(phi, members + others),
                                 NVDP__ITEMS(score, members + others)));
    NVDP_TRY(train_shadows(t, folder.text));
    for (size_t k = 1; k <= t->options.shadows; k++)
        NVDP_TRY(add_shadow(t, nvdp__path_format("%s/%zu", folder.text, k).text,
                            (struct nvdp__shadow_sums *[]){sums, sums + members}));
    memcpy(phi, t->group[0].phi, members * sizeof *phi);
    memcpy(phi + members, t->group[1].phi, others * sizeof *phi);
    NVDP_TRY(nvdp__shadow_scores(t->ctx, members + others, sums, phi, score));
    for (size_t i = 0; i < members + others; i++)
        *(i < members ? &t->group[0].loss[i] : &t->group[1].loss[i - members]) = -score[i];
    return NVDP_OK;
}

/* --- proven bounds --- */
/* Sets the proven bound. A held-out text was replaced, not left out: another text has its place in training. So the
 * bound uses the epsilon of replacing an example, not of zeroing it out. Nothing is proven for noise from a seed, which
 * attackers may know. The accountant's mu is numerical, so it proves nothing. */
static nvdp_status prove(const struct training *t, struct nvdp__tradeoff *proven,
                         struct nvdp__membership *out) {
    nvdp__autoresult struct nvdp_training_privacy training =
        NVDP_RESULT(struct nvdp_training_privacy);
    *proven = (struct nvdp__tradeoff){.mu = INFINITY};
    nvdp__membership_proven(proven, INFINITY, NAN, out);
    NVDP_TRY(nvdp_training_privacy(t->ctx, t->name, &training, NULL));
    if (training.account != NULL && !training.seeded) {
        const double epsilon = training.risk->replaced_epsilon, delta = training.risk->delta;
        nvdp__tradeoff_add(proven, epsilon, delta);
        nvdp__membership_proven(proven, epsilon, delta, out);
    }
    return NVDP_OK;
}

/* --- the attack --- */

static nvdp_status open_training(const struct nvdp__attacked *attacked, struct training *t) {
    const struct nvdp_config *config = attacked->config;
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    struct nvdp__attack_options of_shared;
    NVDP_TRY(nvdp__config_open(t->ctx, config, &nvdp__run_schema, &t->where));
    NVDP_TRY(nvdp__config_open(t->ctx, config, &nvdp__text_attack_schema, &t->options));
    struct nvdp__run_options whole = t->where;
    t->name = t->where.run;
    if (t->options.shared != NULL)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "{shared}: expected no file, because {members} is training, found %s",
                          t->options.shared);
    if (t->options.releases != 1)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "{releases}: expected 1, because {members} is training, found %d",
                          t->options.releases);
    NVDP_TRY(nvdp__config_open(t->ctx, config, &nvdp__attack_schema, &of_shared));
    if (of_shared.delta > 0)
        return nvdp__fail(
            t->ctx, NVDP_ERR_ARGUMENT,
            "{delta}: expected none, because {members} is training, whose account has "
            "its own, found %g",
            of_shared.delta);
    t->where.split = whole.split = "train";
    whole.limit = 0;
    NVDP_TRY(nvdp__run_open(t->ctx, &whole, &t->run));
    if (t->run.model->noise != NULL)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected a run that reads its texts as they are, found one with "
                          "{token-noise} or {representations}",
                          t->name);
    if (t->options.shadows > 0 && t->options.shadows < 2)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "{shadows}: expected 0 or at least 2, found 1");
    NVDP_TRY(nvdp__model_limits(t->ctx, t->run.model, &limits));
    t->draws = limits.noise ? t->options.seeds : 1;
    NVDP_TRY(divide(t));
    const struct nvdp__train_options *run = &t->run.config;
    if (t->options.shadows > 0 &&
        nvdp__dp_wanted(&run->dp)) /* a hash of the text chooses its half */
        return nvdp__fail(
            t->ctx, NVDP_ERR_ARGUMENT,
            "{shadows}: expected a run without private training, whose held-out texts "
            "would be held out of each shadow run too; leave {shadows} out");
    if (t->options.shadows == 0 || (t->held && run->limit_train == 0 && run->folds == 0))
        return NVDP_OK;
    return nvdp__fail(
        t->ctx, NVDP_ERR_ARGUMENT,
        "{shadows}: expected a run whose train file has all its texts, those that it "
        "held out too: a run with {protocol} holdout and without {limit-train} and "
        "{folds}, attacked without {public}; train such a run, or leave {shadows} out");
}

static nvdp_status add_scores(struct training *t, enum nvdp__observed observed,
                              const struct nvdp__tradeoff *proven) {
    for (size_t g = 0; g < GROUPS; g++) /* members have small losses */
        for (size_t i = 0; i < t->group[g].data->count; i++)
            t->group[g].loss[i] *= -1;
    return nvdp__add_roc(&t->attack, observed, t->group[0].data->count, t->group[0].loss,
                         t->group[1].data->count, t->group[1].loss, proven);
}

nvdp_status nvdp__membership_training(const struct nvdp__attacked *attacked,
                                      struct nvdp__membership *out) {
    nvdp__auto(close_training) struct training t = {
        .ctx = attacked->ctx, .attack = {.ctx = attacked->ctx, .options = &t.options}};
    struct nvdp__text_attack *a = &t.attack;
    struct nvdp__tradeoff proven;
    NVDP_TRY(open_training(attacked, &t));
    a->attacked.data = t.group[0].data;
    a->known.data = t.group[1].data;
    NVDP_TRY(prove(&t, &proven, out));
    out->members = a->attacked.data->count;
    out->others = a->known.data->count;
    out->shadows = t.options.shadows;
    for (size_t g = 0; g < GROUPS; g++)
        NVDP_TRY(measure(t.ctx, t.run.model, t.where.batch, t.options.seed, t.draws, &t.group[g]));
    NVDP_TRY(add_scores(&t, NVDP__OBSERVED_LOSS, t.held ? &proven : NULL));
    if (t.options.shadows > 0) {
        NVDP_TRY(attack_by_shadows(&t));
        NVDP_TRY(add_scores(&t, NVDP__OBSERVED_SHADOWS, NULL));
    }
    return nvdp__learned(a, attacked->kind, &out->scores);
}
