/* Tests re-identification: densities against their formulas, guesses against closed forms, the chain shown <= exact
 * <= certified, and samples of a shared file.  Seeds are fixed; comments state the false-alarm rates. */
#include "attack_test.h"
#include "rdp/report.h"

#include "test_context.h"

/* Computes the log density of one sample, term by term. */
static double plain(const struct nvdp_posteriors *set, size_t t, const double *z,
                    const double *log_pi, size_t tokens) {
    const size_t p = set->dim, kappa = (size_t)set->kappa, prior = set->alpha != NULL;
    double sum = 0, all = 0;
    for (size_t c = 0; c < prior + tokens; c++) {
        const bool own = c >= prior && c - prior < set->offset[t + 1] - set->offset[t];
        const size_t row = own ? set->offset[t] + c - prior : 0;
        const double alpha = set->alpha == NULL ? 0
                             : own              ? set->alpha[row]
                             : c < prior        ? set->prior_alpha
                                                : set->pad_alpha;
        for (size_t r = c * kappa; r < (c + 1) * kappa; r++) {
            for (size_t d = 0; d < p; d++) {
                const double mu = own ? set->mu[row * p + d] : 0;
                const double logvar = own ? set->logvar[row * p + d] : 0;
                sum -= ((z[r * p + d] - mu) * (z[r * p + d] - mu) / exp(logvar) + logvar) / 2;
            }
            if (set->alpha == NULL) continue;
            sum += (alpha / set->kappa - 1) * log_pi[r] - lgamma(alpha / set->kappa);
            all += alpha / set->kappa;
        }
    }
    return sum + (set->alpha != NULL ? lgamma(all) : 0);
}

/* Compares differences between texts; 1e-10 is a thousand roundings of sums of that size. */
Test(likelihood, is_the_densities_log) {
    enum { TEXTS = 21, SAMPLES = 3, ROOM = 64 * 5 };
    for (int kind = 0; kind < 8; kind++) {
        const struct made_texts made = {TEXTS,
                                        6,
                                        5,
                                        .7,
                                        .with_alpha = kind & 1,
                                        .policy =
                                            kind & 2 ? NVDP_LENGTH_PUBLIC : NVDP_LENGTH_HIDDEN,
                                        .kappa = kind & 4 && kind & 1 ? 2 : 1,
                                        .seed = 3};
        struct nvdp_posteriors *set = made_posteriors(ctx, &made);
        struct nvdp__likelihood likelihood;
        struct nvdp__evidence evidence;
        double z[ROOM], log_pi[64], want[TEXTS] = {0}, got[TEXTS];
        unsigned seed = 11;
        const size_t own = 4, tokens = made.policy == NVDP_LENGTH_HIDDEN
                                           ? set->length
                                           : set->offset[own + 1] - set->offset[own];
        ok(nvdp__likelihood_create(ctx, set, &likelihood));
        nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
        ok(nvdp__evidence_create(ctx, &memory, set, 6, 1, &evidence));
        nvdp__evidence_begin(&evidence, set, own);
        for (int s = 0; s < SAMPLES; s++) {
            for (size_t k = 0; k < ROOM; k++)
                z[k] = made_normal(&seed);
            for (size_t k = 0; k < 64; k++)
                log_pi[k] = log(made_uniform(&seed)); /* with any sum */
            nvdp__evidence_add(&evidence, set, z, log_pi, -INFINITY);
            for (size_t t = 0; t < TEXTS; t++)
                want[t] += plain(set, t, z, log_pi, tokens);
        }
        nvdp__evidence_finish(&evidence, set);
        nvdp__likelihoods(&likelihood, 2, 1, &evidence, TEXTS, NULL, got);
        for (size_t t = 0; t < TEXTS; t++) {
            const bool apart =
                made.policy == NVDP_LENGTH_PUBLIC && set->offset[t + 1] - set->offset[t] != tokens;
            if (apart)
                cr_expect_eq(got[t], -INFINITY);
            else
                near(got[t] - got[own], want[t] - want[own], 1e-10, "%d %zu", kind, t);
        }
        nvdp__likelihood_release(&likelihood);
    }
}

/* A weight at the grid's end stands for all weights below it.  Since int_-inf^e exp(a x) dx = exp(a e)/a, the
 * differences between texts deviate from the density at e by the logarithm of their pseudo-counts. */
Test(likelihood, of_weights_at_the_grid_s_end) {
    struct nvdp_posteriors *set = made_two_texts(ctx, 2, 4, 1, true);
    nvdp__auto(nvdp__likelihood_release) struct nvdp__likelihood likelihood = {0};
    struct nvdp__evidence evidence;
    const double z[3] = {0}, log_pi[3] = {-.1, -3, -128};
    double at[2], below[2];
    set->alpha[0] = set->alpha[2] = .5;
    set->alpha[1] = .02;
    set->alpha[3] = .3;
    ok(nvdp__likelihood_create(ctx, set, &likelihood));
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    ok(nvdp__evidence_create(ctx, &memory, set, 2, 1, &evidence));
    for (int end = 0; end < 2; end++) {
        nvdp__evidence_begin(&evidence, set, 0);
        nvdp__evidence_add(&evidence, set, z, log_pi, end ? -128 : -INFINITY);
        nvdp__evidence_finish(&evidence, set);
        nvdp__likelihoods(&likelihood, 1, 1, &evidence, 2, NULL, end ? below : at);
    }
    near(at[0] - at[1], (.02 - .3) * -128 + lgamma(1.52) - lgamma(.02) - lgamma(1.8) + lgamma(.3),
         1e-10);
    near(below[0] - below[1], at[0] - at[1] - log(.02 / .3), 1e-10);
}

/* Makes texts of one vector each, every pair `apart` from one another, with variance 1: on separate axes. */
static struct nvdp_posteriors *simplex(size_t texts, double apart) {
    struct nvdp_posteriors *set = NULL;
    ok(nvdp_posteriors_create(ctx, texts, texts, texts, false, &set));
    for (size_t i = 0; i < texts; i++) {
        set->offset[i + 1] = i + 1;
        set->mu[i * texts + i] = apart / M_SQRT2;
    }
    return support_keep(set);
}

static double phi(double x) {
    return erfc(-x * M_SQRT1_2) / 2;
}

/* int phi(x - a) Phi(x)^(n-1) dx: probability that the right text has the largest of n projections. */
static double named(size_t n, double apart) {
    double sum = 0;
    const double a = apart / M_SQRT2;
    for (double x = -9; x < 9 + a; x += .005)
        sum += .005 * exp(-(x - a) * (x - a) / 2) / sqrt(2 * M_PI) * pow(phi(x), (double)n - 1);
    return sum;
}

/* Two texts at distance d: right with probability Phi(d/2); N texts: the integral.  K samples multiply d by sqrt(K).
 * Tolerance of 4.4 standard deviations: one false alarm in 10^5. */
Test(linkage, of_gaussians_has_a_closed_form) {
    static const struct {
        size_t texts;
        double apart;
        int releases;
    } cases[] = {{2, 1, 1}, {2, .5, 4}, {2, 0.02, 1}, {30, 2, 1}, {30, 3, 2}, {1100, 4, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct nvdp_posteriors *set = simplex(cases[c].texts, cases[c].apart);
        const double d = cases[c].apart * sqrt(cases[c].releases);
        const double want = cases[c].texts == 2 ? phi(d / 2) : named(cases[c].texts, d);
        struct nvdp_linkage found = NVDP_RESULT(struct nvdp_linkage);
        ok(nvdp_linkage_measure(ctx, set, cases[c].releases, 0, 5, &found));
        const double sd = sqrt(want * (1 - want) / (double)found.trials);
        cr_expect_geq(found.trials, 1000);
        near(found.first, want, 4.4 * sd, "%zu +- %g", c, sd);
        cr_expect(found.first_interval.low < found.first &&
                  found.first < found.first_interval.high);
        near(found.first_chance, 1 / (double)cases[c].texts, 1e-15);
        cr_expect_geq(found.ten, found.first);
        /* the information is at most log N, and at most the mean divergence (convexity of KL) */
        cr_expect_lt(found.information_interval.low, log((double)cases[c].texts));
        cr_expect_lt(found.information_interval.low, d * d / 2);
        cr_expect_gt(found.information_interval.high, 0);
    }
}

/* The label of a text leaves the candidates with that label: with three labels of 1, 4 and 25 texts, a guess without
 * samples is right in 3 of 30 cases, and ten guesses in 1 + 4 + 10.  Samples of texts on separate axes are named as
 * among so many texts.  Tolerance of 4.4 standard deviations: one false alarm in 10^5. */
Test(linkage, of_texts_with_labels) {
    const size_t size[] = {1, 4, 25};
    const double apart = 2;
    struct nvdp_posteriors *set = simplex(30, apart);
    struct nvdp_linkage found = NVDP_RESULT(struct nvdp_linkage);
    struct nvdp__claim_text said;
    ok(nvdp_linkage_measure(ctx, set, 1, 0, 5, &found));
    cr_expect(found.labeled.labels == 0 && isnan(found.labeled.first));
    set->label = calloc(30, sizeof *set->label);
    cr_assert_not_null(set->label);
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 1;
    set->clip_sequence = apart / M_SQRT2;
    double want = 0;
    for (size_t i = 0; i < 30; i++)
        set->label[(i * 7) % 30] = i < 1 ? 2 : i < 5 ? 0 : NAN; /* the rest has no label */
    for (size_t k = 0; k < 3; k++)
        want += (double)size[k] / 30 * (size[k] == 1 ? 1 : named(size[k], apart));
    ok(nvdp_linkage_measure(ctx, set, 1, 0, 5, &found));
    const struct nvdp_linkage_labeled *labeled = &found.labeled;
    const double sd = sqrt(want * (1 - want) / (double)found.trials);
    cr_expect_eq(labeled->labels, 3);
    near(labeled->first_chance, 3. / 30, 1e-15);
    near(labeled->ten_chance, 15. / 30, 1e-15);
    cr_expect_eq(labeled->first_bound, nvdp_guess_bound(3. / 30, set->clip_sequence, 1, 30));
    cr_expect_eq(labeled->ten_bound, nvdp_guess_bound(15. / 30, set->clip_sequence, 1, 30));
    cr_expect_gt(labeled->first_bound, found.first_bound);
    near(labeled->first, want, 4.4 * sd, "+- %g", sd);
    cr_expect_gt(labeled->first, found.first);
    cr_expect_eq(found.named, labeled->first);
    cr_expect_eq(found.named_interval.high, labeled->first_interval.high);
    cr_expect(labeled->first_interval.low < want && want < labeled->first_interval.high);
    said = nvdp__linkage_sentence(&found);
    support_contains(said.text, "; a reader who also has the labels of the samples, for ",
                     "; chance: 10 %).");
}

/* 872 texts with two labels: at the clip whose bound is 27.2 % without labels, 34.7 % can be named with them. */
Test(linkage, bound_with_labels) {
    const double clip = nvdp_guess_clip(1. / 872, .272, 1, 0);
    near(nvdp_guess_bound(2. / 872, clip, 1, 0), .347, 5e-4);
}

/* Equal texts share a guess: exactly chance, and no information.  A part of the texts is reported as a part. */
Test(linkage, of_equal_texts_is_chance) {
    struct nvdp_posteriors *set = simplex(40, 0);
    struct nvdp_linkage found = NVDP_RESULT(struct nvdp_linkage);
    struct nvdp__claim_text said;
    ok(nvdp_linkage_measure(ctx, set, 1, 0, 5, &found));
    near(found.first, 1. / 40, 1e-12);
    near(found.ten, .25, 1e-12);
    near(found.information, 0, 1e-12);
    near(found.states, 1. / 40, 1e-12); /* without noise the posteriors reveal nothing */
    cr_expect(isnan(found.first_bound) && isnan(found.ten_bound));
    said = nvdp__linkage_sentence(&found);
    support_contains(said.text,
                     "Someone who has the model and these 40 texts names the right text "
                     "for 2.5 % of the samples (95 % interval: ",
                     "; chance: 2.5 %).");
    ok(nvdp_linkage_measure(ctx, set, 3, 20, 5, &found));
    said = nvdp__linkage_sentence(&found);
    support_contains(said.text,
                     "these 20 texts, drawn from 40, names the right text for 5 % of the "
                     "texts, given 3 samples each (");
    cr_expect_eq(nvdp_linkage_measure(ctx, set, 0, 0, 5, &found), NVDP_ERR_ARGUMENT);
}

/* Attacks pairs with options: names and values with spaces between them. */
static struct nvdp__pair_attacks attack(const struct nvdp_posteriors *set, double certified,
                                        const char *options) {
    struct nvdp__pair_attacks found = NVDP_RESULT(struct nvdp__pair_attacks);
    struct nvdp_config *config = support_config(ctx, "attack", NULL);
    support_options(ctx, config, "%s", options);
    ok(nvdp__attack_pairs(ctx, set, NULL, certified, config, &found));
    support_keep(found.pair);
    return found;
}

/* A Gaussian mechanism at distance d: right with probability Phi(d/2), and exact epsilon by its closed form, three
 * quarters of which are shown.  A claim below the exact epsilon does not hold. */
Test(pair, of_gaussians_has_a_closed_form) {
    struct nvdp_posteriors *set = simplex(2, .75);
    const double truth = nvdp_gdp_epsilon(1.5, .01);
    for (int lie = 0; lie < 2; lie++) {
        struct nvdp__pair_attacks found =
            attack(set, lie ? truth * .999 : truth, "pair 1,0 samples 40000 delta .01 releases 4");
        const struct nvdp__pair_attack *p = &found.pair[0];
        const double sd = sqrt(phi(.75) * (1 - phi(.75)) / 80000);
        cr_assert_eq(found.pairs, 1);
        near(p->right, phi(.75), 4.4 * sd);
        near(p->right_max, phi(.75), 1e-9);
        cr_expect(p->right_interval.low < p->right && p->right < p->right_interval.high);
        near(p->right_interval.high - p->right_interval.low, 2 * 2.24 * sd, .1 * sd);
        cr_expect(isnan(found.guess) && !found.weak && p->states == 1);
        near(p->exact, truth, 1e-9);
        cr_expect(p->shown <= truth && p->shown > .75 * truth, "%g of %g", p->shown, truth);
        cr_expect_eq(p->holds, !lie);
        cr_expect_eq(found.holds, !lie);
    }
}

/* With weights and vectors of unequal variances, no pair shows more than the exact epsilon.  The likelier text is
 * right as often as the best test.  Tolerances are 4.4 standard deviations, and intervals of 99.99 % confidence, for
 * 10 pairs: one false alarm in 10^4 each. */
Test(pair, shows_no_more_than_is_exact) {
    for (int public_ = 0; public_ < 2; public_++) {
        const struct made_texts made = {30,
                                        3,
                                        2,
                                        .3,
                                        .with_alpha = true,
                                        .kappa = 2,
                                        .policy = public_ ? NVDP_LENGTH_PUBLIC : NVDP_LENGTH_HIDDEN,
                                        .seed = 9};
        struct nvdp_posteriors *set = made_posteriors(ctx, &made);
        struct nvdp__pair_attacks found =
            attack(set, INFINITY, "pairs 5 samples 3000 confidence 0.9999");
        double share = 0;
        cr_assert_eq(found.pairs, 5);
        cr_expect(found.holds);
        for (size_t i = 0; i < 5; i++) {
            const struct nvdp__pair_attack *p = &found.pair[i];
            const double sd = sqrt(p->right_max * (1 - p->right_max) / 6000);
            near(p->right, p->right_max, 4.4 * sd, "%zu", i);
            cr_expect(p->shown <= p->exact && p->shown <= p->ceiling);
            share += p->shown / p->exact / 5;
        }
        cr_expect_gt(share, .3, "%g", share);
    }
}

/* Noise lifts the result above the mean of the best test half of the time, which breaks no bound by itself.  One
 * interval in twenty may lie above: of 40 seeds, more than 5 do with probability 1/500. */
Test(pair, right_is_above_its_maximum_by_noise_alone) {
    struct nvdp_posteriors *set = simplex(2, .75);
    size_t above = 0, broken = 0;
    for (int seed = 1; seed <= 40; seed++) {
        struct nvdp__pair_attacks found =
            attack(set, INFINITY, support_path("pair 0,1 samples 200 seed %d", seed));
        above += found.pair[0].right > found.pair[0].right_max;
        broken += !found.pair[0].holds;
    }
    cr_expect(above > 5 && above < 35, "%zu", above);
    cr_expect_leq(broken, 5, "%zu", broken);
}

/* If double precision cannot hold a pair's integral, a bound replaces it and is reported as a bound. */
Test(pair, a_bound_is_called_one) {
    struct nvdp_posteriors *set = made_two_texts(ctx, 1, 2, 1, false);
    set->policy = NVDP_LENGTH_PUBLIC;
    set->logvar[0] = set->logvar[1] = -40;
    set->mu[0] = 1e8;
    for (int unequal = 0; unequal < 2; unequal++) {
        if (unequal) set->logvar[1] = -39;
        struct nvdp__pair_attacks found = attack(set, INFINITY, "pair 0,1 samples 500");
        cr_expect_eq(found.pair[0].bounded, unequal);
        cr_expect(found.holds);
    }
}

/* Two opposite texts in a clip's ball are distinguished exactly as often as the bound for any two texts allows. */
Test(pair, the_guess_bound_is_attained) {
    struct nvdp_posteriors *set = made_two_texts(ctx, 1, 2, 1, false);
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 1;
    set->clip_sequence = set->mu[0] = .75;
    set->mu[1] = -.75;
    struct nvdp__pair_attacks found = attack(set, INFINITY, "pair 0,1 samples 1000");
    near(found.guess, phi(.75), 1e-9);
    near(found.pair[0].right_max, found.guess, 1e-9);
    cr_expect(found.holds);
    set->mu[1] = set->mu[0]; /* one posterior: nothing to distinguish */
    found = attack(set, INFINITY, "pair 0,1 samples 1000");
    cr_expect(found.weak && found.holds);
    cr_expect_eq(found.pair[0].states, .5);
}

/* The clip bounds how often texts are named.  A set that claims a smaller clip than it has is detected. */
Test(linkage, stays_below_the_guess_bound) {
    struct nvdp_posteriors *set = simplex(30, 2);
    const struct nvdp__sampler release = {.posteriors = set, .noise = {.seed = 5}};
    const struct nvdp__sample_source source = {nvdp__linkage_draw, &release, -INFINITY};
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 1;
    for (int lie = 0; lie < 2; lie++) {
        struct nvdp_linkage found;
        set->clip_sequence = lie ? .1 : M_SQRT2;
        ok(nvdp__linkage(ctx, set, &source, 1, 40, &found));
        cr_expect_eq(found.first_bound, nvdp_guess_bound(1 / 30., set->clip_sequence, 1, 30));
        cr_expect_eq(found.ten_bound, nvdp_guess_bound(1 / 3., set->clip_sequence, 1, 30));
        cr_expect_eq(found.first_interval.low > found.first_bound, lie);
        cr_expect_eq(found.states, 1);
    }
}

Test(pair, texts_that_lengths_tell_apart_are_refused) {
    struct nvdp__pair_attacks found = NVDP_RESULT(struct nvdp__pair_attacks);
    struct nvdp_config *config = support_config(ctx, "attack", NULL);
    struct nvdp_posteriors *set = made_two_texts(ctx, 1, 3, 1, false);
    fails(nvdp__attack_pairs(ctx, set, NULL, INFINITY, config, &found), NVDP_ERR_INPUT,
          "no two of the 2 texts have the same length");
    support_set(ctx, config, "pair", "0,1");
    fails(
        nvdp__attack_pairs(ctx, set, NULL, INFINITY, config, &found), NVDP_ERR_ARGUMENT,
        "expected two texts of the same length, because lengths are public, found lengths 1 and 2");
    support_set(ctx, config, "pair", "0,2");
    cr_expect_eq(nvdp__attack_pairs(ctx, set, NULL, INFINITY, config, &found), NVDP_ERR_ARGUMENT);
    fails(nvdp__attack_pairs(ctx, set, NULL, NAN, config, &found), NVDP_ERR_ARGUMENT,
          "certified: expected an epsilon >= 0 or inf");
}

/* Counts the warnings about samples that are not read. */
static void hear(enum nvdp_log_level level, const char *message, void *user) {
    *(int *)user += level == NVDP_LOG_WARNING &&
                    strstr(message, "each guess reads 2 of the file's 10 samples") != NULL;
}

/* Only labels that the file states help: without labels no candidate is ruled out. */
Test(linkage, of_a_shared_file_with_labels) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .clip_sequence = 1, .epochs = 1};
    const char *run = task_run(ctx, "run", &choice, NULL);
    const char *file = support_scratch_path("labels.h5");
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    struct nvdp_linkage found = NVDP_RESULT(struct nvdp_linkage);
    ok(nvdp_run_posteriors(ctx, support_config(ctx, "run", "run", run, NULL), &set));
    for (int labels = 0; labels < 2; labels++) {
        nvdp__autoresult struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
        const struct nvdp_config *config =
            support_config(ctx, "export", "run", run, "out", file, "split", "dev", "samples", "10",
                           "insecure-seed", "7", "overwrite", "true", "no-ledger", "true",
                           "with-labels", labels ? "true" : "false", NULL);
        ok(nvdp_export(ctx, config, &result));
        cr_expect_eq(result.privacy->linkage->labeled.labels, labels ? 2 : 0);
        ok(nvdp__attack_shared(ctx, set, file, 1, &found));
        cr_expect_eq(found.labeled.labels, labels ? 2 : 0);
        if (!labels) continue;
        near(found.labeled.first_chance, 2. / TASK_DEV, 1e-15);
        cr_expect_gt(found.labeled.first, found.first);
    }
}

/* Samples of a file give the same results as drawn ones: the intervals overlap (at double width, each misses in one
 * of 10^5).  A file without some of the texts is refused. */
Test(linkage, of_a_shared_file) {
    static const struct run_choice choices[] = {
        {.method = NVDP_METHOD_NVDP, .kappa = 2, .epochs = 1},
        {.method = NVDP_METHOD_NVDP, .policy = NVDP_LENGTH_PUBLIC, .epochs = 1}};
    for (size_t c = 0; c < 2; c++) {
        const bool float16 = c == 1;
        int warned = 0;
        nvdp_context_set_log(ctx, hear, &warned);
        const char *run = task_run(ctx, "run", &choices[c], NULL);
        const char *file = support_scratch_path("shared.h5");
        nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
        struct nvdp_linkage drawn = NVDP_RESULT(struct nvdp_linkage), shared = drawn;
        ok(nvdp_run_posteriors(ctx, support_config(ctx, "run", "run", run, NULL), &set));
        const struct nvdp_config *config =
            support_config(ctx, "export", "run", run, "out", file, "split", "dev", "samples", "10",
                           "measure-texts", "2", "grid", float16 ? "float16" : "fixed",
                           "insecure-seed", "7", "overwrite", "true", "no-ledger", "true", NULL);
        ok(nvdp_export(ctx, config, NULL));
        ok(nvdp_linkage_measure(ctx, set, 2, 0, 1, &drawn));
        ok(nvdp__attack_shared(ctx, set, file, 2, &shared));
        cr_expect_eq(shared.trials, 5 * TASK_DEV);
        const struct nvdp_interval *a = &drawn.information_interval,
                                   *b = &shared.information_interval;
        cr_expect_lt(fabs(drawn.information - shared.information),
                     a->high - a->low + b->high - b->low, "%g %g", drawn.information,
                     shared.information);
        cr_expect_gt(shared.first, 2 * shared.first_chance, "%g", shared.first);
        cr_expect_eq(nvdp__attack_shared(ctx, set, file, 11, &shared), NVDP_ERR_ARGUMENT);
        /* some of the file's texts; one that is missing; selection by ids alone */
        set->texts--;
        ok(nvdp__attack_shared(ctx, set, file, 10, &shared));
        cr_expect_eq(warned, 1);
        cr_expect_eq(shared.trials, TASK_DEV - 1);
        set->id[3] = 1000; /* a missing text is left out */
        ok(nvdp__attack_shared(ctx, set, file, 10, &shared));
        cr_expect_eq(shared.trials, TASK_DEV - 2);
        set->id[3] = 3;
        set->split = 1 + NVDP_SPLIT_TRAIN; /* rows with the same numbers, but of other texts */
        fails(nvdp__attack_shared(ctx, set, file, 1, &shared), NVDP_ERR_INPUT,
              "(matched by split and row), found 0");
        set->split = 1 + NVDP_SPLIT_DEV;
        free(set->id);
        set->id = NULL;
        fails(nvdp__attack_shared(ctx, set, file, 1, &shared), NVDP_ERR_INPUT,
              "expected samples of exactly these 39 texts, found samples of 40");
        set->texts++;
    }
}
