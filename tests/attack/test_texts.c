/* Tests attackers that learn from public texts: on a mechanism with a known answer, then on a trained run, each
 * without noise, with noise, and with nothing observed.  Seeds are fixed. */
#include "attack_test.h"
#include "rdp/pairs.h"

#include "test_context.h"

extern const struct nvdp__attack nvdp__attack_row_nearest, nvdp__attack_row_token,
    nvdp__attack_row_language, nvdp__attack_row_informed, nvdp__attack_row_bag,
    nvdp__attack_row_attribute, nvdp__attack_row_pair;

Test(texts, metrics_have_names) {
    cr_expect_str_eq(nvdp__text_metric_name(NVDP__TEXT_METRIC_AMONG_TEN), "among ten");
    cr_expect_str_eq(nvdp__text_metric_name(NVDP__TEXT_METRIC_COUNT), "unknown");
}

/* Two Gaussians at distance d are distinguished with probability Phi(d/2) at best, by logistic regression.  Learning
 * from 6000 examples in ten dimensions costs less than a hundredth; the rest of the tolerance is 4.4 standard
 * deviations. */
Test(linear, tells_gaussians_apart_as_well_as_can_be) {
    enum { N = 6000, WIDTH = 11 };
    static const double apart[] = {0, 1, 3};
    static double x[N * WIDTH], y[N * 2], p[N * 2];
    double weight[2 * WIDTH];
    for (size_t c = 0; c < 3; c++)
        for (int softmax = 0; softmax < 2; softmax++) {
            const double want = erfc(-apart[c] / 2 * M_SQRT1_2) / 2;
            const size_t outputs = softmax ? 2 : 1;
            double right = 0;
            for (uint64_t part = 0; part < 2; part++) {
                const struct nvdp__noise noise = {.seed = 3};
                struct nvdp__stream stream =
                    nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, (uint32_t)c, part);
                nvdp__stream_normals_f64(&stream, N * WIDTH, x);
                memset(y, 0, sizeof y);
                for (size_t i = 0; i < N; i++) {
                    x[i * WIDTH + 3] += i % 2 == 0 ? apart[c] : 0;
                    x[i * WIDTH + WIDTH - 1] = 1;
                    y[softmax ? 2 * i + i % 2 : i] = softmax ? 1 : i % 2 == 1;
                }
                if (part == 0)
                    ok(nvdp__logistic_fit(ctx, N, WIDTH, x, outputs, y, softmax, 1e-4, weight));
                nvdp__logistic_apply(N, WIDTH, x, outputs, weight, softmax, p);
            }
            for (size_t i = 0; i < N; i++)
                right += (p[softmax ? 2 * i + 1 : i] > .5) == (i % 2 == 1);
            const double sd = sqrt(want * (1 - want) / N);
            near(right / N, want, 4.4 * sd + .01, "%g", apart[c]);
            cr_expect_leq(nvdp__logistic_loss(N, outputs, p, y, softmax), log(2) * 1.01);
        }
}

static double score(const struct nvdp__text_attack_result *found, const char *observed,
                    const char *metric, bool high) {
    for (size_t i = 0; i < found->scores; i++)
        if (strcmp(found->score[i].observed, observed) == 0 &&
            strcmp(nvdp__text_metric_name(found->score[i].metric), metric) == 0) {
            const struct nvdp__text_score *s = &found->score[i];
            cr_expect(!(s->interval.low > s->value || s->value > s->interval.high));
            return high ? s->interval.high : s->value;
        }
    cr_assert_fail("no %s of %s", metric, observed);
    return NAN;
}

/* Attacks the samples of a file (`shared` NULL: drawn ones) with one more option, unless `option` is NULL. */
static nvdp_status attack_file(const char *kind, const char *run, const char *known,
                               const char *shared, const char *option, const char *value,
                               struct nvdp__text_attack_result *out) {
    struct nvdp_config *config = support_config(ctx, "attack", "run", run, "seeds", "2", NULL);
    *out = (struct nvdp__text_attack_result)NVDP_RESULT(struct nvdp__text_attack_result);
    if (known != NULL) support_set(ctx, config, "public", known);
    if (shared != NULL) support_set(ctx, config, "shared", shared);
    if (option != NULL) support_set(ctx, config, option, value);
    size_t row = 0;
    while (strcmp(nvdp__attack_names[row], kind) != 0)
        row++;
    const struct nvdp__attacked attacked = {
        .ctx = ctx, .attack = nvdp__attacks[row], .kind = kind, .config = config};
    const nvdp_status status = nvdp__learn(&attacked, out);
    support_keep(out->score);
    return status;
}

static nvdp_status attack(const char *kind, const char *run, const char *known,
                          struct nvdp__text_attack_result *out) {
    return attack_file(kind, run, known, NULL, NULL, NULL, out);
}

/* --- tokens from made vectors: the right answer is known --- */

enum { MADE_KNOWN = 300, MADE_SECRET = 60, MADE_WORDS = 4, PIECES = 15 };

static const char *const words[] = {"good", "bad", "cat",  "dog", "sun",
                                    "sea",  "red", "blue", "one", "two"};

/* Makes texts of four random words.  With `chained`, each word after the first is the next one in the list. */
static void load_made(const struct nvdp_model *model, const char *name, size_t texts, uint64_t seed,
                      bool chained, struct nvdp__texts *out) {
    size_t word = 0;
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    const char *path = support_scratch_path(name);
    FILE *file = fopen(path, "w");
    fprintf(file, "sentence\tlabel\n");
    for (size_t i = 0; i < texts * MADE_WORDS; i++) {
        word = chained && i % MADE_WORDS > 0 ? (word + 1) % 10 : nvdp__stream_below(&stream, 10);
        fprintf(file, "%s%s", words[word], i % MADE_WORDS < MADE_WORDS - 1 ? " " : "\t1\n");
    }
    fclose(file);
    config.task = NVDP_TASK_SST2;
    config.max_length = TASK_LENGTH;
    ok(nvdp_dataset_load_file(ctx, nvdp_model_tokenizer(model), &config, path, &out->data));
}

/* The mean of a row encodes the token `ahead` rows later.  With weights, its pseudo-count encodes the token itself.
 * All variances are `variance`. */
static void make_posteriors(size_t ahead, double variance, bool weights,
                            struct nvdp__texts *corpus) {
    const struct nvdp_dataset *data = corpus->data;
    const size_t rows = data->offset[data->count];
    nvdp_posteriors_free(corpus->set);
    ok(nvdp_posteriors_create(ctx, data->count, rows, PIECES, weights, &corpus->set));
    for (size_t i = 0; i < data->count; i++)
        for (size_t r = corpus->set->offset[i] = data->offset[i]; r + ahead < data->offset[i + 1];
             r++)
            corpus->set->mu[r * PIECES + (size_t)data->ids[r + ahead]] = weights ? 0 : 1;
    for (size_t r = 0; r < rows && weights; r++)
        corpus->set->alpha[r] = 100 * exp(data->ids[r]);
    corpus->set->offset[data->count] = rows;
    for (size_t k = 0; k < rows * PIECES; k++)
        corpus->set->logvar[k] = log(variance);
}

static void make_both(size_t ahead, double variance, bool weights, struct nvdp__text_attack *a) {
    make_posteriors(ahead, variance, weights, &a->known);
    make_posteriors(ahead, variance, weights, &a->attacked);
}

/* Returns the share of tokens named first from samples; *high is the upper end of the prior's interval. */
static double named(struct nvdp__text_attack *a, nvdp_status (*by)(struct nvdp__text_attack *),
                    double *high) {
    ok(by(a));
    struct nvdp__text_attack_result found = {.scores = a->scores, .score = a->score};
    const double value = score(&found, "release", "first", false);
    *high = score(&found, "prior", "first", true);
    a->scores = 0;
    return value;
}

/* Returns true if the attacker learns more from states than from nothing. */
static bool reads(struct nvdp__text_attack *a, nvdp_status (*by)(struct nvdp__text_attack *)) {
    a->scores = 0;
    ok(by(a));
    const bool found = nvdp__reads_states(a);
    a->scores = 0;
    return found;
}

static const struct nvdp__text_attack_options once = {.seed = 1, .seeds = 1, .releases = 1};

static struct nvdp__text_attack *new_attack(const struct nvdp__text_attack_options *options) {
    struct nvdp__text_attack *a = support_keep(calloc(1, sizeof *a));
    *a = (struct nvdp__text_attack){
        .ctx = ctx, .options = options, .known.first_key = UINT64_C(1) << 40};
    return a;
}

/* Opens the run's model, texts to learn from and texts to attack; chains of words with `chain`. */
static void open_made(const char *run, bool chain, struct nvdp__text_attack *a) {
    const char *directory = support_path("%s/model", run);
    ok(nvdp_model_load(ctx, directory, &a->run.model));
    load_made(a->run.model, "known.tsv", MADE_KNOWN, 1, chain, &a->known);
    load_made(a->run.model, "secret.tsv", MADE_SECRET, 2, chain, &a->attacked);
}

/* A vector encodes its own token, the next one, or only noise, which must not beat the prior's interval; in the last
 * case weights encode the token.  240 words are named, each of ten with equal frequency: chance stays below .2 by
 * five standard deviations. */
static void name_made_tokens(const char *run) {
    struct nvdp__text_attack *a = new_attack(&once);
    double prior;
    ok(nvdp_context_set_threads(ctx, 1)); /* products are too small for more */
    open_made(run, false, a);
    for (int c = 0; c < 4; c++) {
        static const size_t ahead[] = {0, 1, 0, 0};
        static const double variance[] = {.01, .01, 1e4, 1};
        make_both(ahead[c], variance[c], c == 3, a);
        const double one = named(a, nvdp__attack_row_nearest.learn, &prior);
        const double all = named(a, nvdp__attack_row_token.learn, &prior);
        if (c == 1) cr_expect_eq(named(a, nvdp__attack_row_token.learn, &prior), all);
        if (c < 2) cr_expect_gt(all, .95);
        if (c == 0) cr_expect_gt(one, .95);
        if (c == 1) cr_expect_lt(one, .2);
        /* an attacker of single vectors cannot see the previous token in them: too weak, with or without noise */
        cr_expect_eq(reads(a, nvdp__attack_row_nearest.learn), c == 0 || c == 2, "%d", c);
        if (c == 1) cr_expect(reads(a, nvdp__attack_row_token.learn));
        if (c == 2) cr_expect_leq(all, prior);
        if (c == 3) cr_expect_lt(one, .2);
        if (c == 3) cr_expect_gt(all, .4, "%g", all);
    }
}

/* Returns the share of texts whose tokens at a place, or whose whole texts, are among the `top` most frequent.  All
 * texts are [CLS], four words, [SEP]. */
static double most_frequent(const struct nvdp_dataset *data, size_t place, size_t length,
                            size_t top) {
    size_t times[MADE_SECRET] = {0};
    double sum = 0;
    for (size_t i = 0; i < data->count; i++) { /* index of the first equal text */
        size_t first = 0;
        while (memcmp(data->ids + data->offset[first] + place, data->ids + data->offset[i] + place,
                      length * sizeof *data->ids) != 0)
            first++;
        times[first]++;
    }
    for (size_t k = 0; k < top; k++) {
        size_t best = 0;
        for (size_t i = 0; i < MADE_SECRET; i++)
            if (times[i] > times[best]) best = i;
        sum += (double)times[best];
        times[best] = 0;
    }
    return sum;
}

/* A score of a run with a sequence clip has a proven bound for the best guess: an attacker who knows lengths and
 * places names the most frequent token of each place.  A false clip is detected. */
static void bound_made_tokens(const char *run) {
    struct nvdp__text_attack *a = new_attack(&once);
    double first = 0, ten = 0;
    open_made(run, false, a);
    make_both(0, .01, false, a);
    const struct nvdp_dataset *data = a->attacked.data;
    for (size_t k = 1; k <= MADE_WORDS; k++) {
        first += most_frequent(data, k, 1, 1) / (MADE_SECRET * MADE_WORDS);
        ten += most_frequent(data, k, 1, 10) / (MADE_SECRET * MADE_WORDS);
    }
    const double want[] = {first, ten, NAN, NAN,
                           most_frequent(data, 0, MADE_WORDS + 2, 1) / MADE_SECRET};
    for (int lie = 0; lie < 2; lie++) {
        a->attacked.set->clip_sequence = lie ? .01 : 20; /* two words are at most 2 / .1 apart */
        a->scores = 0;
        ok(nvdp__attack_row_nearest.learn(a));
        for (size_t k = 0; k < 5; k++) {
            const struct nvdp__text_score *s = &a->score[k];
            cr_expect_str_eq(s->observed, "release");
            cr_expect(isnan(want[k]) ? isnan(s->bound) : fabs(s->baseline - want[k]) < 1e-12,
                      "%s: %g, expected %g", nvdp__text_metric_name(s->metric), s->baseline,
                      want[k]);
            if (!isnan(want[k]))
                cr_expect_eq(s->bound, nvdp_guess_bound(s->baseline, lie ? .01 : 20, 1,
                                                        (MADE_WORDS + 2) * PIECES));
        }
        for (size_t k = 5; k < a->scores;
             k++) /* ratios, states, nothing: no guesses with a proven bound */
            cr_expect(isnan(a->score[k].bound));
        cr_expect_eq(nvdp__scores_hold(a), !lie);
    }
}

/* Makes a shared file: for each text the samples drawn for the attack, `seeds` times `releases` of them, in steps of
 * 2^-20; texts in reverse order. */
static void share_made(const struct nvdp__text_attack *a, struct nvdp__shared_texts *out) {
    const struct nvdp_posteriors *set = a->attacked.set;
    const size_t n = set->texts, releases = (size_t)a->options->releases,
                 samples = a->options->seeds * releases, p = set->dim;
    struct nvdp_shared *file = NULL;
    double z[TASK_LENGTH * PIECES];
    size_t row = 0;
    ok(NVDP__NEW(ctx, file, 1));
    *out = (struct nvdp__shared_texts){
        .file = file, .releases = releases, .first_seed = a->options->seed};
    file->shape = (struct nvdp__embeddings_shape){.texts = n,
                                                  .samples = samples,
                                                  .dim = p,
                                                  .kappa = 1,
                                                  .rows = set->offset[n] * samples,
                                                  .grid = NVDP__H5_I32,
                                                  .z_exponent = -20};
    file->z_step = ldexp(1, -20);
    int32_t *steps = NULL;
    ok(NVDP__NEW(ctx, steps, file->shape.rows * p));
    ok(NVDP__NEW(ctx, file->offset, n * samples + 1));
    ok(NVDP__NEW(ctx, out->text, n));
    for (size_t k = 0; k < n * samples; k++) {
        const size_t i = n - 1 - k / samples, s = k % samples, rows = nvdp__release_rows(set, i);
        const struct nvdp__sampler release = {.posteriors = set,
                                              .noise.seed = a->options->seed + s / releases,
                                              .sample = (uint32_t)(s % releases)};
        out->text[i] = k / samples;
        nvdp__sampler_draw(&release, i, i, SIZE_MAX, z, NULL);
        for (size_t d = 0; d < rows * p; d++)
            steps[row * p + d] = (int32_t)lrint(ldexp(z[d], 20));
        file->offset[k + 1] = (int64_t)(row += rows);
    }
    file->z = steps;
}

/* Samples of a file give the same scores as equal drawn samples; also two samples joined, and the second alone. */
static void name_shared_tokens(const char *run) {
    nvdp_status (*const by[])(struct nvdp__text_attack *) = {
        nvdp__attack_row_nearest.learn, nvdp__attack_row_language.learn, nvdp__attack_row_bag.learn,
        nvdp__attack_row_token.learn};
    struct nvdp__text_attack_options options = {.seed = 1, .seeds = 2, .beam = 4};
    struct nvdp__text_attack *a = new_attack(&options);
    open_made(run, false, a);
    make_both(0, .3, false, a);
    for (size_t c = 0; c < 4; c++) {
        struct nvdp__shared_texts shared;
        options.releases = c < 3 ? 2 : 1;
        options.seeds = c == 3 ? 1 : 2;
        share_made(a, &shared);
        ok(by[c](a));
        const size_t drawn = a->scores;
        a->attacked.shared = &shared;
        ok(by[c](a));
        cr_assert_eq(a->scores, 2 * drawn);
        for (size_t k = 0; k < drawn;
             k++) { /* rounding to steps may turn a tie of a token or two */
            const struct nvdp__text_score *of = &a->score[k], *from = &a->score[drawn + k];
            cr_expect_str_eq(of->observed, from->observed);
            cr_expect_eq(isnan(of->value), isnan(from->value));
            if (isnan(of->value)) continue; /* no token is rare */
            near(of->value, from->value, .005, "%zu, %s of %s", c,
                 nvdp__text_metric_name(of->metric), of->observed);
            near(of->interval.low, from->interval.low, .01);
        }
        options.seeds = 5; /* more than the file has */
        cr_expect_eq(nvdp__draw_count(a, NVDP__OBSERVED_RELEASE), c == 3 ? 1 : 2);
        a->attacked.shared = NULL;
        a->scores = 0;
        nvdp__shared_release(&shared);
    }
}

/* The bag of words is read better from many samples of a text than from one. */
static void read_many_samples(const char *run) {
    struct nvdp__text_attack_options options = {.seed = 1, .seeds = 1};
    struct nvdp__text_attack *a = new_attack(&options);
    double f1[2];
    open_made(run, false, a);
    make_both(0, 4, false, a);
    for (int many = 0; many < 2; many++) {
        options.releases = many ? 100 : 1;
        ok(nvdp__attack_row_bag.learn(a));
        const struct nvdp__text_attack_result found = {.scores = a->scores, .score = a->score};
        f1[many] = score(&found, "release", "F1", false);
        a->scores = 0;
    }
    cr_expect_gt(f1[1], f1[0] + .1, "%g and %g", f1[0], f1[1]);
}

/* Trains a masked language model of such texts, with its own vocabulary, which lacks a word. */
static const char *made_prior(void) {
    const struct nvdp__noise noise = {.seed = 3};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    const char *text = support_scratch_path("chains.txt");
    const char *vocabulary = support_scratch_path("chains_vocab.txt");
    const char *out = support_scratch_path("prior");
    FILE *file = fopen(text, "w");
    for (size_t i = 0; i < 1000; i++) {
        const size_t first = nvdp__stream_below(&stream, 10);
        for (size_t k = 0; k < MADE_WORDS; k++)
            fprintf(file, "%s%s", words[(first + k) % 10], k < MADE_WORDS - 1 ? " " : "\n\n");
    }
    fclose(file);
    file = fopen(vocabulary, "w");
    fprintf(file, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (size_t k = 0; k < 9; k++)
        fprintf(file, "%s\n", words[8 - k]);
    fclose(file);
    const char *const texts[] = {text};
    struct nvdp__pretrain_options config = toy_config(texts, out);
    config.vocab = vocabulary;
    config.steps = 400;
    config.mask_prob = .25;
    config.length = 8;
    nvdp__autoresult struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);
    ok(nvdp__pretrain(ctx, &config, &result));
    return out;
}

static double gain(const struct nvdp__text_attack *a, const char *observed, const char *metric,
                   double *low) {
    for (size_t i = 0; i < a->scores; i++)
        if (strcmp(a->score[i].observed, observed) == 0 &&
            strcmp(nvdp__text_metric_name(a->score[i].metric), metric) == 0) {
            *low = a->score[i].interval.low;
            return a->score[i].value;
        }
    cr_assert_fail("no %s of %s", metric, observed);
    return NAN;
}

/* Words of a chain under noise that hides about half of them: a language model of the chain names nearly all,
 * including words that the vectors alone do not reveal.  Without one the attacker is nearest.  Seeds are fixed. */
static void name_chains(const char *run) {
    struct nvdp__text_attack_options options = {.seed = 1, .seeds = 2, .releases = 1, .beam = 4};
    struct nvdp__text_attack *a = new_attack(&options);
    double prior, low;
    open_made(run, true, a);
    make_both(0, .3, false, a);
    const double nearest = named(a, nvdp__attack_row_nearest.learn, &prior);
    const double same = named(a, nvdp__attack_row_language.learn, &prior);
    cr_expect_eq(same, nearest);
    options.releases = 4;
    cr_expect_gt(named(a, nvdp__attack_row_nearest.learn, &prior), nearest + .1);
    options.releases = 1;
    options.prior = made_prior();
    const double language = named(a, nvdp__attack_row_language.learn, &prior);
    cr_expect_gt(a->weight[NVDP__OBSERVED_RELEASE], 0);
    cr_expect_gt(language, nearest + .15, "%g, nearest %g", language, nearest);
    a->scores = 48; /* named() has read them */
    near(gain(a, "release", "first, over nearest", &low), language - nearest, 1e-12);
    cr_expect_gt(low, .05);
    gain(a, "release", "whole, over nearest", &low);
    cr_expect_gt(low, 0);
}

/* A label shifts all six vectors of a text by .8 standard deviations.  From 50 texts it is learned nearly as well as
 * by an attacker who knows the shift, Phi(sqrt(6) .4) = .836; with each noise seen only once, accuracy is .75.  600
 * samples: .043 are 2.8 standard deviations.  Padding that hides the length costs nothing; in a mean over all 64
 * rows accuracy would be Phi(sqrt(36/64) .4) = .62. */
static void guess_made_labels(const char *run) {
    const struct nvdp__text_attack_options options = {.seed = 1, .seeds = 10, .releases = 1};
    struct nvdp__text_attack *a = new_attack(&options);
    struct nvdp_dataset *few = NULL;
    size_t row[50];
    open_made(run, false, a);
    for (size_t i = 0; i < 50; i++)
        row[i] = i;
    ok(nvdp__dataset_select(ctx, a->known.data, 50, row, &few));
    nvdp_dataset_free(a->known.data);
    a->known.data = few;
    struct nvdp__texts *const both[] = {&a->known, &a->attacked};
    for (size_t c = 0; c < 2; c++) {
        const struct nvdp_dataset *data = both[c]->data;
        make_posteriors(0, 1, false, both[c]);
        memset(both[c]->set->mu, 0, data->offset[data->count] * PIECES * sizeof(double));
        for (size_t i = 0; i < data->count; i++) {
            data->label[i] = (float)(i % 2);
            for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++)
                both[c]->set->mu[r * PIECES] = i % 2 == 0 ? .4 : -.4;
        }
    }
    for (size_t hidden = 0; hidden < 2; hidden++) {
        for (size_t c = 0; c < 2 && hidden; c++) {
            both[c]->set->policy = NVDP_LENGTH_HIDDEN;
            both[c]->set->length = 64;
        }
        a->scores = 0;
        ok(nvdp__attack_row_attribute.learn(a));
        const struct nvdp__text_attack_result found = {.scores = a->scores, .score = a->score};
        const double right = score(&found, "release", "accuracy", false);
        cr_expect(right > .78 && right < .87, "%g", right);
        cr_expect(nvdp__reads_states(a));
        cr_expect(isnan(a->score[0].bound) && isnan(a->score[1].bound));
    }
    /* Phi(C) for classes of equal size; Phi(sqrt(2) C) for a pair of texts */
    a->attacked.set->clip_sequence = 1;
    a->scores = 0;
    ok(nvdp__attack_row_attribute.learn(a));
    cr_expect_str_eq(nvdp__text_metric_name(a->score[1].metric), "AUC");
    cr_expect_eq(a->score[0].baseline, .5);
    near(a->score[0].bound, .8413447460685429, 1e-9);
    near(a->score[1].bound, .9213503964748575, 1e-9);
    cr_expect(nvdp__scores_hold(a));
    a->attacked.set->clip_sequence = .1;
    a->scores = 0;
    ok(nvdp__attack_row_attribute.learn(a));
    cr_expect(!nvdp__scores_hold(a));
    /* without a shift there is no label to read: attackers of equal states are too weak for any conclusion */
    for (size_t c = 0; c < 2; c++)
        memset(both[c]->set->mu, 0,
               both[c]->data->offset[both[c]->data->count] * PIECES * sizeof(double));
    cr_expect(!reads(a, nvdp__attack_row_attribute.learn));
}

/* With little noise most tokens are read; frequencies alone reveal few. */
Test(texts, of_tokens_that_are_shared) {
    static const struct run_choice choice = {.method = NVDP_METHOD_VTDP, .epochs = 1};
    const char *run = task_run(ctx, "run", &choice, NULL);
    const char *known = support_scratch_path("data/train.tsv");
    struct nvdp__text_attack_result found;
    ok(attack("nearest", run, known, &found));
    cr_expect_eq(found.texts, TASK_DEV);
    cr_expect_eq(found.public_texts, TASK_TRAIN);
    const size_t alike = found.both; /* few words make few sentences */
    cr_expect(!found.weak && found.holds);
    cr_expect_gt(score(&found, "states", "first", false), .8);
    cr_expect_gt(score(&found, "release", "first", false), score(&found, "prior", "first", true));
    cr_expect_gt(score(&found, "release", "set, F1", false), .8);
    cr_expect_gt(score(&found, "release", "set, precision", false), .8);
    cr_expect_lt(score(&found, "prior", "set, recall", true), .5);
    name_made_tokens(run);
    bound_made_tokens(run);
    name_chains(run);
    guess_made_labels(run);
    name_shared_tokens(run);
    read_many_samples(run);
    ok(attack("token", run, known, &found));
    cr_expect_str_eq(found.attacker, "token");
    cr_expect_gt(score(&found, "states", "first", false), .95);
    cr_expect_gt(score(&found, "release", "first", false), score(&found, "prior", "first", true));
    ok(attack("bag", run, known, &found));
    cr_expect_gt(score(&found, "states", "F1", false), score(&found, "prior", "F1", true));
    ok(attack("attribute", run, known, &found));
    cr_expect_gt(score(&found, "states", "accuracy", false), .95);
    cr_expect_gt(score(&found, "release", "accuracy", false),
                 score(&found, "prior", "accuracy", true));
    cr_expect_gt(score(&found, "states", "AUC", false), .95);
    near(score(&found, "prior", "AUC", false), .5, 1e-12);

    ok(attack("attribute", run, support_scratch_path("data/dev.tsv"), &found));
    cr_expect_eq(found.both, TASK_DEV); /* the run's own texts */
    cr_expect_lt(alike, TASK_DEV);
    fails(attack("bag", run, NULL, &found), NVDP_ERR_ARGUMENT,
          "public: expected a file with the task's columns");
}

/* Exports a split: three samples per text. */
static void share_labels(const char *run, const char *split, const char *file, bool labels) {
    const struct nvdp_config *config = support_config(
        ctx, "export", "run", run, "out", file, "split", split, "samples", "3", "measure-texts",
        "2", "limit", "30", "insecure-seed", "7", "overwrite", "true", "no-ledger", "true",
        "with-labels", labels ? "true" : "false", "duplicates", "each", NULL);
    ok(nvdp_export(ctx, config, NULL));
}

static void share(const char *run, const char *split, const char *file) {
    share_labels(run, split, file, false);
}

/* Returns the score of tokens named first from samples. */
static struct nvdp__text_score first_score(const struct nvdp__text_attack_result *of) {
    for (size_t i = 0; i < of->scores; i++)
        if (of->score[i].metric == NVDP__TEXT_METRIC_FIRST &&
            strcmp(of->score[i].observed, "release") == 0)
            return of->score[i];
    cr_assert(false);
    return (struct nvdp__text_score){.value = NAN};
}

/* A file that states the labels: the best guess without samples is that with the label, for the bound too.  The prior
 * control and the attacker use the label, so words that depend on it are named more often. */
Test(texts, of_a_shared_file_with_labels) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .clip_sequence = .05, .epochs = 1};
    const char *run = task_run(ctx, "run", &choice, NULL);
    const char *known = support_scratch_path("data/train.tsv");
    const char *file = support_scratch_path("shared.h5");
    struct nvdp__text_attack_result nearest[2], found, bag[2];
    for (int labels = 0; labels < 2; labels++) {
        share_labels(run, "dev", file, labels);
        ok(attack_file("nearest", run, known, file, "seeds", "1", &nearest[labels]));
        ok(attack_file("bag", run, known, file, "seeds", "1", &bag[labels]));
        cr_expect_eq(nearest[labels].labels, labels ? 2 : 0);
        cr_expect_eq(nearest[labels].labels_learned, labels);
        cr_expect(nearest[labels].holds);
    }
    const struct nvdp__text_score without = first_score(&nearest[0]),
                                  with = first_score(&nearest[1]);
    cr_expect_gt(with.baseline, without.baseline + .01, "%g %g", with.baseline, without.baseline);
    cr_expect_gt(with.bound, without.bound + .01, "%g %g", with.bound, without.bound);
    cr_expect_gt(with.value, without.value, "%g %g", with.value, without.value);
    cr_expect_gt(score(&nearest[1], "prior", "first", false),
                 score(&nearest[0], "prior", "first", false));
    cr_expect_geq(score(&bag[1], "prior", "F1", false), score(&bag[0], "prior", "F1", false));
    ok(attack_file("language", run, known, file, "seeds", "1", &found));
    cr_expect_eq(first_score(&found).value, with.value); /* without a model it is nearest */
    cr_expect_eq(first_score(&found).bound, with.bound);
    fails(attack_file("attribute", run, known, file, NULL, NULL, &found), NVDP_ERR_INPUT,
          "states the labels of its texts");
}

/* Writes the dev file with its texts in reverse order to folder "reversed". */
static void reverse_dev(void) {
    char *text = support_read(support_scratch_path("data/dev.tsv"));
    char *end = strchr(text, '\n');
    nvdp__autofree char *all = calloc(strlen(text) + 1, 1);
    cr_assert(all != NULL && mkdir(support_scratch_path("reversed"), 0777) == 0);
    strncat(all, text, (size_t)(end + 1 - text));
    for (char *from = text + strlen(text) - 1; from > end; from--)
        if (from[-1] == '\n') {
            strcat(all, from);
            *from = '\0';
        }
    support_file("reversed/dev.tsv", all);
}

/* Files in all formats give the same results as drawn samples, up to other noise: within both intervals.  In a file
 * of two splits, only the texts of the attacked split count; with fewer draws than seeds, they are attacked once. */
Test(texts, of_a_shared_file) {
    static const struct run_choice choice = {.method = NVDP_METHOD_VTDP, .epochs = 1};
    static const char *const names[] = {"shared.h5", "shared.safetensors", "shared.parquet"};
    const char *run = task_run(ctx, "run", &choice, NULL);
    const char *known = support_scratch_path("data/train.tsv");
    struct nvdp__text_attack_result drawn, found;
    double first[3];
    ok(attack("nearest", run, known, &drawn));
    for (size_t f = 0; f < 3; f++) {
        const char *file = support_scratch_path(names[f]);
        share(run, "train,dev", file);
        ok(attack_file("nearest", run, known, file, NULL, NULL, &found));
        cr_expect_eq(found.texts, 30);
        cr_expect_eq(found.seeds, 2);
        first[f] = score(&found, "release", "first", false);
        cr_expect_eq(first[f], first[0]);
    }
    cr_expect_leq(first[0], score(&drawn, "release", "first", true));
    cr_expect_gt(first[0], score(&drawn, "prior", "first", true));

    const char *file = support_scratch_path("shared.h5");
    ok(attack_file("nearest", run, known, file, "releases", "2", &found));
    cr_expect_eq(found.seeds, 1);
    ok(attack_file("attribute", run, known, file, NULL, NULL, &found));
    cr_expect_gt(score(&found, "release", "accuracy", false),
                 score(&found, "prior", "accuracy", true));

    /* more releases than there are; another split; other texts; other models */
    fails(attack_file("nearest", run, known, file, "releases", "4", &found), NVDP_ERR_ARGUMENT,
          "1 to 3 releases, found 30 texts and 4");
    share(run, "train", file);
    fails(attack_file("bag", run, known, file, NULL, NULL, &found), NVDP_ERR_INPUT,
          "of these 40 texts (matched by split and row), found 0; all samples of the file are of "
          "split train: add --split train");
    share(run, "dev", file);
    reverse_dev();
    fails(attack_file("bag", run, known, file, "data", support_scratch_path("reversed"), &found),
          NVDP_ERR_INPUT,
          "expected samples of these texts drawn by this model: 100.0 % of such samples");
    static const struct run_choice others[] = {
        {.method = NVDP_METHOD_NVDP, .epochs = 1},
        {.method = NVDP_METHOD_VTDP, .clip_sequence = 3, .epochs = 1}};
    static const char *const says[] = {
        "expected samples of method vtdp with 16 dimensions and kappa 1, found nvdp",
        "of a model without clip_sequence, but their grid is that of a model with it"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        share(task_run(ctx, "another", &others[i], NULL), "dev", file);
        fails(attack_file("bag", run, known, file, NULL, NULL, &found), NVDP_ERR_INPUT, says[i]);
    }
}

/* With one vector per text, the label can be read but no tokens. */
Test(texts, of_one_vector) {
    static const struct run_choice choice = {.method = NVDP_METHOD_VIB_FIXED, .epochs = 4};
    const char *run = task_run(ctx, "run", &choice, NULL);
    const char *known = support_scratch_path("data/train.tsv");
    struct nvdp__text_attack_result found;
    fails(attack("nearest", run, known, &found), NVDP_ERR_ARGUMENT,
          "one vector per token, found vib-fixed");
    fails(attack("token", run, known, &found), NVDP_ERR_ARGUMENT,
          "token: expected a method with one vector");
    ok(attack("attribute", run, known, &found));
    cr_expect_gt(score(&found, "states", "accuracy", false), .9);
}

/* --- one word of a text, all others known --- */

/* Trains method word, with a budget for whole texts unless `text` is 0, and opens model and made texts. */
static const char *open_words(double word, double text, size_t window, bool chain,
                              struct nvdp__text_attack *a) {
    const char *out = support_scratch_path("words");
    const struct task task = task_make(ctx);
    struct nvdp__train_options config = task_config(&task, NVDP_METHOD_WORD, out);
    config.word_epsilon = word;
    config.certified_epsilon = text;
    config.nvib.clip.window = window;
    task_set(&config, "stdev-tau 1 latent-dim 8 overwrite true");
    task_train(ctx, &config);
    open_made(out, chain, a);
    struct nvdp__texts *const both[] = {&a->known, &a->attacked};
    for (size_t c = 0; c < 2; c++)
        ok(nvdp_model_posteriors(ctx, a->run.model, both[c]->data, 32, &both[c]->set));
    return out;
}

/* Attacks, and returns the share of words named first by `observed`. */
static struct nvdp__text_score informed(struct nvdp__text_attack *a, const char *observed) {
    a->scores = 0;
    ok(nvdp__attack_row_informed.learn(a));
    for (size_t i = 0; i < a->scores; i++)
        if (strcmp(a->score[i].observed, observed) == 0 &&
            a->score[i].metric == NVDP__TEXT_METRIC_FIRST)
            return a->score[i];
    cr_assert_fail("no %s", observed);
    return (struct nvdp__text_score){.value = NAN};
}

/* Near the prior at a small epsilon, above it at a large one, nearly always right at a huge one and without noise,
 * also where the ball is smaller than the vector of a word; never above the bound, unless the bound is that of a
 * smaller clip. The same with a window of one word on either side. */
Test(texts, of_a_word_whose_text_is_known) {
    static const struct {
        double word, text, low, high;
        size_t window;
    } of[] = {{1, 0, 0, .2, 0},    {40, 0, .3, .95, 0}, {1e5, 0, .98, 1, 0}, {1e5, 1e4, .6, 1, 0},
              {1e5, 8, .1, .4, 0}, {1, 0, 0, .2, 1},    {1e5, 0, .9, 1, 1}};
    const struct nvdp__text_attack_options options = {.seed = 1, .seeds = 2, .releases = 1};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct nvdp__text_attack *a = new_attack(&options);
        open_words(of[i].word, of[i].text, of[i].window, false, a);
        struct nvdp__clip_config *clip = &a->run.model->info.nvib.clip;
        cr_expect_eq(clip->word > clip->sequence, of[i].text > 0);
        const struct nvdp__text_score prior = informed(a, "prior"),
                                      reference = informed(a, "reference"),
                                      states = informed(a, "states"),
                                      found = informed(a, "release");
        cr_expect(found.value >= of[i].low && found.value <= of[i].high, "epsilon %g, %g: %g",
                  of[i].word, of[i].text, found.value);
        cr_expect_lt(prior.value, .2);
        if (of[i].text == 0) cr_expect_gt(states.value, .99);
        cr_expect_eq(found.baseline, fmax(prior.value, reference.interval.high));
        const double radius = fmin(clip->word * (2 * (double)of[i].window + 1), clip->sequence);
        cr_expect_geq(found.bound, nvdp_guess_bound(found.baseline, radius, 1, 8));
        cr_expect_leq(found.bound, nvdp_guess_bound(found.baseline, 1.001 * radius + 1e-4, 1, 8));
        cr_expect(isnan(prior.bound) && isnan(reference.bound));
        cr_expect(nvdp__scores_hold(a));
        if (i == 1) {
            clip->word *= .05;
            cr_expect_gt(informed(a, "release").interval.low, informed(a, "release").bound);
            cr_expect(!nvdp__scores_hold(a));
        }
    }
}

/* A language model of chains guesses most words without a sample, and no fewer with one.  More samples tell more. */
Test(texts, of_a_word_with_a_language_model) {
    struct nvdp__text_attack_options options = {.seed = 1, .seeds = 2, .releases = 1};
    struct nvdp__text_attack *a = new_attack(&options);
    open_words(20, 0, 0, true, a);
    const double alone = informed(a, "release").value;
    cr_expect_eq(a->weight[0], 0);
    options.releases = 4;
    const double four = informed(a, "release").value;
    cr_expect_gt(four, alone + .05, "%g, one sample %g", four, alone);
    options.releases = 1;
    options.prior = made_prior();
    const struct nvdp__text_score prior = informed(a, "prior"), found = informed(a, "release");
    cr_expect_gt(a->weight[0], 0);
    cr_expect_gt(prior.value, .8, "%g", prior.value);
    cr_expect_gt(found.value, prior.value - .03, "%g, without a sample %g", found.value,
                 prior.value);
    cr_expect(nvdp__scores_hold(a));
}

/* Needs a method with a certificate per word, public texts and a file of this model; the result is printed. */
Test(texts, of_a_word_of_a_run) {
    static const struct run_choice other = {.method = NVDP_METHOD_VIB_FIXED, .epochs = 1};
    struct nvdp__text_attack *a = new_attack(&once);
    const char *known = support_scratch_path("data/train.tsv");
    const char *run = open_words(2, 0, 0, false, a);
    const char *file = support_scratch_path("words.h5");
    struct nvdp__text_attack_result found;
    share(run, "dev", file);
    ok(attack_file("informed", run, known, file, NULL, NULL, &found));
    cr_expect_str_eq(found.attacker, "informed");
    cr_expect(found.holds && !found.weak && found.texts == 30 && found.seeds == 2);
    cr_expect_gt(score(&found, "states", "first", false), .98);
    fails(attack("informed", task_run(ctx, "run", &other, NULL), known, &found), NVDP_ERR_ARGUMENT,
          "attack informed: expected a run whose method has a certificate per word "
          "(--method word), found method vib-fixed");
    a->attacked.set->mu[0] += 1;
    fails(nvdp__attack_row_informed.learn(a), NVDP_ERR_NUMERIC,
          "text 0: expected a mean that is the projected sum");
}

/* With a window, not all of many words are tried, and the output says so. The public texts have four words each, of
 * which three become one. */
Test(texts, of_a_word_among_too_many) {
    for (size_t window = 0; window < 2; window++) {
        struct nvdp__text_attack *a = new_attack(&once);
        nvdp__auto(nvdp__text_attack_free) struct nvdp__text_attack_result found =
            NVDP_RESULT(struct nvdp__text_attack_result);
        const struct nvdp__attacked attacked = {.attack = &nvdp__attack_row_informed,
                                                .config = support_config(ctx, "attack", NULL)};
        nvdp__autofree char *text = NULL;
        size_t size;
        open_words(8, 0, window, false, a);
        for (int many = 0; many < 2; many++) {
            informed(a, "release");
            cr_expect_eq(a->tried, many == 1 && window > 0 ? 100 : 0);
            for (size_t t = 0; t < 4 * a->known.data->count; t++)
                if (t % 4 == 1 || t % 4 == 2) a->known.data->types[t] = NVDP__WORD_CONTINUES;
        }
        ok(nvdp__learned(a, "informed", &found));
        FILE *file = open_memstream(&text, &size);
        nvdp__learner_head(&attacked, &found, file);
        fclose(file);
        cr_expect_eq(strstr(text, "only the 100 words that are most probable") != NULL, window > 0);
    }
}

/* With a budget for whole texts, they are named no more often than their clip allows. A file that claims a smaller clip
 * is detected. */
Test(texts, of_whole_texts_of_words) {
    struct nvdp__text_attack *a = new_attack(&once);
    open_words(1e5, 20, 0, false, a);
    struct nvdp_posteriors *set = a->attacked.set;
    const struct nvdp__sampler release = {.posteriors = set, .noise.seed = 5};
    const struct nvdp__sample_source source = {nvdp__linkage_draw, &release, -INFINITY};
    cr_expect_eq(set->clip_sequence, a->run.model->info.nvib.clip.sequence);
    for (int lie = 0; lie < 2; lie++) {
        struct nvdp_linkage found;
        if (lie) set->clip_sequence = .01;
        ok(nvdp__linkage(ctx, set, &source, 1, 40, &found));
        cr_expect_eq(found.first_bound,
                     nvdp_guess_bound(1. / MADE_SECRET, set->clip_sequence, 1, set->dim));
        cr_expect_lt(found.first_bound, .5);
        cr_expect_eq(found.first_interval.low > found.first_bound, lie, "%g, bound %g", found.first,
                     found.first_bound);
        cr_expect_eq(found.ten_interval.low > found.ten_bound, lie);
    }
}

/* --- two texts that differ in words --- */

/* The changed words are those between the longest common beginning and end; a word counts whole. */
Test(texts, words_in_which_two_texts_differ) {
    static const struct {
        const char *p, *q; /* a word begins with a capital letter, a border is '|' */
        size_t changed[2];
    } of[] = {{"ABC", "ABC", {0, 0}},    {"ABC", "AXC", {1, 1}},     {"ABC", "AC", {1, 0}},
              {"AC", "ABC", {0, 1}},     {"ABC", "", {3, 0}},        {"AbC", "AcC", {1, 1}},
              {"AbC", "ABC", {1, 2}},    {"Ab", "A", {1, 1}},        {"AA", "A", {1, 0}},
              {"ABCDE", "AXYE", {3, 2}}, {"AB|CD", "AX|CD", {1, 1}}, {"AB|C", "ABC", {1, 0}},
              {"AAB", "AB", {1, 0}},     {"ABxyC", "ABzyC", {1, 1}}, {"xA", "yA", {1, 1}}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int32_t id[32], mark[32];
        size_t offset[3] = {0, strlen(of[i].p), strlen(of[i].p) + strlen(of[i].q)}, changed[2];
        for (size_t t = 0; t < offset[2]; t++) {
            const char one = t < offset[1] ? of[i].p[t] : of[i].q[t - offset[1]];
            id[t] = one;
            mark[t] = one == '|' ? NVDP__WORD_BORDER
                      : (one >= 'A' && one <= 'Z') || t == 0 || t == offset[1]
                          ? NVDP__WORD_BEGINS
                          : NVDP__WORD_CONTINUES;
        }
        const struct nvdp_dataset data = {.count = 2, .offset = offset, .ids = id, .types = mark};
        nvdp__pair_change(&data, 0, 1, changed);
        cr_expect(changed[0] == of[i].changed[0] && changed[1] == of[i].changed[1],
                  "%s, %s: %zu by %zu", of[i].p, of[i].q, changed[0], changed[1]);
    }
    const struct nvdp__word_clip clip = {.1, 100, 1}, small = {.1, .25, 1};
    cr_expect_eq(nvdp__pair_mu(&clip, (size_t[2]){1, 1}, 4), nvdp__word_mu(&clip, 1, 1, 4));
    near(nvdp__pair_mu(&clip, (size_t[2]){3, 2}, 1), .9, 1e-4);
    cr_expect_geq(nvdp__pair_mu(&clip, (size_t[2]){3, 2}, 1), nvdp__word_shift(&clip, 3, 2));
    near(nvdp__pair_mu(&small, (size_t[2]){3, 2}, 1), .5, 1e-4);
    cr_expect_eq(nvdp__pair_mu(&clip, (size_t[2]){0, 0}, 1), 0);
}

static struct nvdp__pair_attacks attack_words(struct nvdp__text_attack *a,
                                              const struct nvdp__pair_words *of, const char *pair,
                                              double certified) {
    struct nvdp__pair_attacks found = NVDP_RESULT(struct nvdp__pair_attacks);
    struct nvdp_config *config =
        support_config(a->ctx, "attack", "pairs", "4", "samples", "400", NULL);
    if (pair != NULL) support_set(a->ctx, config, "pair", pair);
    ok(nvdp__attack_pairs(a->ctx, a->attacked.set, of, certified, config, &found));
    support_keep(found.pair);
    return found;
}

/* Texts one word apart are attacked too, and every pair is compared with what is proven for the words in which it
 * differs. A certificate of a smaller clip than the model's is detected, and reported. */
Test(texts, of_pairs_one_word_apart) {
    for (size_t window = 0; window < 2; window++) {
        struct nvdp__text_attack *a = new_attack(&once);
        open_words(8, 0, window, false, a);
        const struct nvdp__clip_config *clip = &a->run.model->info.nvib.clip;
        struct nvdp__pair_words its = {.data = a->attacked.data,
                                       .model = a->run.model,
                                       .clip = {clip->word, clip->sequence, (double)window},
                                       .batch = 3};
        for (int lie = 0; lie < 2; lie++) {
            char text[1000] = "";
            struct nvdp__writer say = {text, sizeof text, 0};
            const struct nvdp__attacked attacked = {.name = "run", .claimed = NAN};
            struct nvdp__pair_attacks found = attack_words(a, &its, NULL, INFINITY);
            size_t broken = 0;
            cr_assert_eq(found.pairs, 8);
            cr_expect_eq(found.word_epsilon,
                         nvdp_gdp_epsilon(nvdp__word_mu(&its.clip, 1, 1, 1), .01));
            for (size_t i = 0; i < 8; i++) {
                const struct nvdp__pair_attack *p = &found.pair[i];
                cr_expect_eq(p->word > 0, i >= 4);
                cr_expect_leq(p->word, 4);
                cr_expect(p->changed[0] >= 1 && p->changed[1] >= 1);
                if (i < 4) continue;
                cr_expect(p->changed[0] == 1 && p->changed[1] == 1 && p->states == 1);
                cr_expect_eq(p->proven, found.word_epsilon);
                cr_expect_eq(p->proven_right, found.word_guess);
                broken += !p->holds;
            }
            cr_expect_eq(broken > 0, lie);
            cr_expect_eq(found.holds, !lie);
            nvdp__attack_row_pair.verdict(&attacked, &found, &say);
            cr_expect_eq(strstr(text, "run: VIOLATION: texts ") != NULL, lie, "%s", text);
            if (lie) support_contains(text, "expected shown <= exact <= proven, found ");
            its.clip.word *= .002;
        }
        /* without the words, nothing is compared */
        struct nvdp__pair_attacks found = attack_words(a, NULL, NULL, INFINITY);
        cr_expect(found.holds && found.pairs == 4 && isnan(found.word_epsilon));
        cr_expect(found.pair[0].changed[0] == 0 && isinf(found.pair[0].proven));
        /* a false claim is broken, and does not count as proven */
        its.clip.word = clip->word;
        found = attack_words(a, &its, "0,1", 1e-6);
        cr_expect(!found.holds && found.pair[0].proven > 1e-6);
        its.clip.word *= .002 * .002;
        found = attack_words(a, &its, "0,1", INFINITY);
        cr_expect(!found.holds && found.pairs == 1 && found.pair[0].word == 0);
    }
}

/* The program's attack on a run finds its words and their certificate. */
Test(texts, of_pairs_of_a_run_of_words) {
    struct nvdp__text_attack *a = new_attack(&once);
    const char *run = open_words(2, 0, 0, false, a);
    struct nvdp_config *config =
        support_config(ctx, "attack", "run", run, "kind", "pair", "split", "dev", "pairs", "2",
                       "samples", "100", "delta", "1e-5", NULL);
    struct nvdp_attack_result *result = NULL;
    ok(nvdp_attack(ctx, config, &result));
    support_keep(result);
    const char *text = support_result_text(ctx, result, NULL);
    support_contains(text, "for all 4 pairs together",
                     " for any two texts that differ in one word\n", "  proven  right %");
    support_lacks(text, "VIOLATION", "says nothing");
    cr_log_info("%s", text);
    const json_t *object = support_result_json(ctx, result, NULL);
    cr_expect_leq(number_at(object, "word_epsilon"), 2);
    cr_expect_gt(number_at(object, "word_epsilon"), 1.99);
    cr_expect_gt(integer_at(object, "pairs/3/word"), 0);
    for (int bag = 0; bag < 2; bag++) { /* bounds for whole texts */
        support_set(ctx, config, "kind", bag ? "bag" : "reidentify");
        support_set(ctx, config, "public", support_scratch_path("data/train.tsv"));
        ok(nvdp_attack(ctx, config, &result));
        support_keep(result);
        support_contains(support_result_text(ctx, result, NULL),
                         "\n\nThe certificate per word says nothing about these guesses");
    }
}
