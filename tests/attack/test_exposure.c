/* Tests exposure: ranks follow the softmax, a model remembers what it saw often, and canaries. */
#include "attack_test.h"

#include "test_context.h"

static const char *const pairs[] = {"cat", "gate"};

static const char *write_secrets(const char *name, const char *list) {
    return support_file(name, support_path("{\"seed\": 2, \"secrets\": [%s]}\n", list));
}

/* Trains a model for `steps` steps with these secrets, and returns its directory. */
static const char *train(const char *name, size_t steps, const char *secrets) {
    const char *text[] = {toy_text("toy.txt", 60, 7)};
    const char *out = support_scratch_path(name);
    struct nvdp__pretrain_options config = toy_config(text, out);
    nvdp__autoresult struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);
    config.vocab = toy_vocabulary();
    config.steps = steps;
    config.plant = secrets;
    ok(nvdp__pretrain(ctx, &config, &result));
    return out;
}

static nvdp_status attack(const char *model, const char *option, const char *value,
                          const char *secrets, struct nvdp__exposures *out) {
    *out = (struct nvdp__exposures)NVDP_RESULT(struct nvdp__exposures);
    struct nvdp_config *config = support_config(ctx, "attack", "model", model, NULL);
    if (secrets != NULL) support_set(ctx, config, "secrets", secrets);
    if (option != NULL) support_set(ctx, config, option, value);
    return nvdp__exposure(ctx, config, out);
}

static struct nvdp__exposures attacked(const char *model, const char *option, const char *value,
                                       const char *secrets) {
    struct nvdp__exposures found;
    ok(attack(model, option, value, secrets, &found));
    support_keep_parts(found);
    return found;
}

/* Takes every whole word as the S of the same H's.  The ranks are 1 .. n in the order of the losses, and the
 * probabilities sum to 1 less those of the other pieces. */
Test(exposure, ranks_are_the_order_of_the_model) {
    static const char *const words[] = {"the",   "a",    "our",   "this", "one",  "cat",    "dog",
                                        "bird",  "fish", "horse", "s",    "bark", "gallop", "on",
                                        "at",    "in",   "under", "over", "mat",  "gate",   "tree",
                                        "water", "hill", "and",   "so",   "it",   "was"};
    enum { WORDS = sizeof words / sizeof *words };
    char list[8192] = "";
    for (size_t i = 0; i < WORDS; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list),
                 "%s{\"form\": \"HSH\", \"tokens\": [\"%s\", \"%s\", \"%s\"], \"occurrences\": 0}",
                 i > 0 ? "," : "", pairs[0], words[i], pairs[1]);
    const char *model = train("order", 20, NULL);
    struct nvdp__exposures found = attacked(model, NULL, NULL, write_secrets("all.json", list));
    double sum = 0, ranks = 0;
    cr_assert_eq(found.whole_words, WORDS);
    cr_assert_eq(found.candidates, WORDS);
    cr_assert_eq(found.secrets, WORDS);
    for (size_t i = 0; i < WORDS; i++) {
        const struct nvdp__secret_exposure *a = &found.secret[i];
        sum += exp(-a->loss);
        ranks += a->rank;
        near(a->exposure, log2(WORDS / a->rank), 1e-12);
        for (size_t k = 0; k < WORDS; k++)
            if (found.secret[k].loss < a->loss - 1e-5) cr_expect_lt(found.secret[k].rank, a->rank);
    }
    near(ranks, WORDS * (WORDS + 1) / 2., 1e-9);
    cr_expect(sum > .5 && sum < 1, "%g", sum);
    cr_expect_eq(found.groups, 1);
    /* Mean of log2(n) - log2(rank) over all ranks: log2(n) - log2(n!)/n. */
    near(found.group[0].exposure, log2(WORDS) - lgamma(WORDS + 1) / log(2) / WORDS, 1e-9);
    near(found.group[0].first, 1. / WORDS, 1e-12);
    cr_expect(found.audit.canaries == 0 && isinf(found.upper) && !found.dp);
    /* The likelier of two candidates is always first. */
    found = attacked(model, "candidates", "2", support_scratch_path("all.json"));
    for (size_t i = 0; i < WORDS; i++)
        cr_expect(found.secret[i].rank == 1 || found.secret[i].rank == 2);
}

Test(exposure, what_was_seen_often_is_remembered) {
    const char *model = train(
        "often", 400,
        write_secrets("some.json", "{\"form\": \"HSH\", \"occurrences\": 0, \"count\": 600},"
                                   "{\"form\": \"HSH\", \"tokens\": [\"hill\", \"s\", \"hill\"], "
                                   "\"occurrences\": 40},"
                                   "{\"form\": \"HSH\", \"tokens\": [\"so\", \"bark\", \"gate\"], "
                                   "\"occurrences\": 40}"));
    struct nvdp__exposures found = attacked(model, NULL, NULL, NULL);
    cr_assert_eq(found.groups, 2);
    const struct nvdp__exposure_group *never = &found.group[0], *often = &found.group[1];
    cr_assert_eq(never->secrets, 600);
    cr_assert_eq(often->secrets, 2);
    /* S is uniform.  Over n candidates the mean is log2(n) - log2(n!)/n: 1.34 bits for 27, and log2(e) = 1.44 for
     * many.  The standard deviation of an exposure is below 1.4, so 5 standard errors are .29. */
    const double n = (double)found.candidates;
    near(never->exposure, log2(n) - lgamma(n + 1) / log(2) / n, .29);
    cr_expect(never->interval.low < never->exposure && never->exposure < never->interval.high);
    cr_expect_eq(often->first, 1, "loss %g", often->loss);
    /* two of two: at least a share of sqrt(.025) of all such secrets */
    near(often->interval.low, sqrt(.025) * log2(n), 1e-9);
    near(often->interval.high, log2(n), 1e-12);
    cr_expect_lt(often->loss, .5 * never->loss);
}

/* Canaries seen in long training are recognized; a model that saw none shows nothing.  The model before training, as
 * a reference, changes neither. */
Test(exposure, canaries) {
    const char *secrets =
        write_secrets("coins.json", "{\"form\": \"HHSHH\", \"include\": \"coin\", \"count\": 120}");
    const char *model = train("saw", 1500, secrets);
    const char *planted = support_path("%s/planted.json", model);
    struct nvdp__exposures found = attacked(model, NULL, NULL, NULL);
    cr_assert_eq(found.audit.canaries, 120);
    cr_expect_gt(found.audit.auc, .75, "%g", found.audit.auc);
    cr_expect_gt(found.audit.epsilon, .2, "%g", found.audit.epsilon);
    cr_expect_eq(found.audit.delta, 1e-5);
    const double alone = found.audit.auc;
    const char *start = train("start", 0, NULL);
    found = attacked(model, "reference", start, planted);
    cr_expect_gt(found.audit.auc, alone - .1);
    found = attacked(start, NULL, NULL, planted);
    cr_expect(found.audit.auc > .3 && found.audit.auc < .7, "%g", found.audit.auc);
    cr_expect_lt(found.audit.epsilon, .2);
}

Test(exposure, bad_input) {
    const char *secrets = write_secrets("one.json", "{\"form\": \"HS\", \"occurrences\": 1}");
    const char *model = train("plain", 1, NULL);
    struct nvdp__exposures found;
    fails(attack(model, NULL, NULL, NULL, &found), NVDP_ERR_IO, "planted.json");
    cr_expect_eq(attack(model, "candidates", "1", secrets, &found), NVDP_ERR_ARGUMENT);
    fails(attack(model, "candidates", "1000", secrets, &found), NVDP_ERR_ARGUMENT,
          "27, the number of whole words in the vocabulary, found 1000");
    fails(attack(model, "guess-in", "3", secrets, &found), NVDP_ERR_ARGUMENT,
          "expected secrets with \"include\": \"coin\"");
    cr_expect_null(found.secret);
    cr_expect_eq(attack(support_scratch_path("nowhere"), NULL, NULL, secrets, &found), NVDP_ERR_IO);
}
