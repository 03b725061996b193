/* Tests gates: wrong policies by line and key, numbers by path, and what passes for a run and a shared file. */
#include "gate/gate.h"
#include "rdp/report.h"
#include "share/ledger.h"
#include "tiny_task.h"
#include "toy_corpus.h"

#include "test_context.h"

/* --- policies --- */

Test(gate, wrong_policies_are_refused_by_line_and_key) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", ":1: expected a policy in JSON"},
        {"[]", ":1: expected an object with the key checks"},
        {"{\n 'checkz': []}", ":2: unknown key 'checkz'; did you mean 'checks'?"},
        {"{'checks': []}",
         ":1: checks: expected a list of at least one check, found an empty list"},
        {"{}", "checks: expected a list of at least one check, found no such key"},
        {"{'checks': [3]}", "expected an object per check"},
        {"{'delta': 2,\n'checks': [{}]}", ":1: delta: expected a number from"},
        {"{'delta': 0.5, 'checks': [{}]}",
         ":1: delta: expected a number from 1e-300 to 0.01, found 0.5"},
        {"{'min_texts': 0, 'checks': [{}]}", "min_texts: expected a number from 1 to"},
        {"{'min_texts': 1.5, 'checks': [{}]}", "min_texts: expected a whole number"},
        {"{'checks': [{'measure': 'guess_bound', 'baseline': 0.5,\n'at_most': 50}]}",
         ":2: at_most: expected a number below 1, as guess_bound is a share from 0 to 1, "
         "found 50"},
        {"{'checks': [{'measure': 'certificate.guess.bound', 'at_most': 1}]}",
         "at_most: expected a number below 1"},
        {"{'checks': [{'measure': 'named_share', 'at_most': 1}]}",
         "at_most: expected a number below 1"},
        {"{'checks': [{'attack': 'bag', 'number': 'F1_above_prior', 'at_most': 10}]}",
         "at_most: expected a number below 1, as attack bag: F1_above_prior is a share"},
        {"{'checks': [{'measure': 'certified_epsilon',\n'at_least': 0}]}",
         ":2: certified_epsilon: expected at_most, as larger numbers are worse, found at_least 0 "
         "alone"},
        {"{'checks': [{'measure': 'privacy.exact.worst', 'at_least': 0}]}",
         "privacy.exact.worst: expected at_most"},
        {"{'checks': [{'attack': 'membership', 'number': 'AUC', 'at_least': 0}]}",
         "attack membership: AUC: expected at_most"},
        {"{'releases': 1.5, 'checks': [{}]}", "releases: expected a whole number"},
        {"{'checks': [\n{'at_most': 1}]}", ":2: expected either measure or attack, found neither"},
        {"{'checks': [\n{'measure': 'certified_epsilon', 'at_most': 1},\n"
         "{'measure': 'certified_epsilon',\n 'at_mots': 1}]}",
         ":4: unknown key 'at_mots'; did you mean 'at_most'?"},
        {"{'checks': [{'measure': 'certified_epsilon'}]}",
         "certified_epsilon: expected a limit, at_most or at_least, found neither"},
        {"{'checks': [{'measure': 'certified_epsilon',\n'at_most': '8'}]}",
         ":2: at_most: expected a number, found another type"},
        {"{'checks': [{'measure': 'certified_epsilom', 'at_most': 8}]}",
         "unknown measure 'certified_epsilom'; did you mean 'certified_epsilon'?"},
        {"{'checks': [{'measure': 'certifikat.epsilon', 'at_most': 8}]}",
         "unknown measure 'certifikat.epsilon'"},
        {"{'checks': [{'measure': 'guess_bound', 'at_most': 0.5}]}",
         "guess_bound: expected baseline"},
        {"{'checks': [{'measure': 'named_share', 'texts': 9, 'at_most': 0.5}]}",
         "named_share: has no baseline"},
        {"{'checks': [{'measure': 'exact_epsilon', 'at_most': 1, 'at_least': 2}]}",
         "at_least: expected at most at_most, 1, found 2"},
        {"{'checks': [{'measure': 'named_share', 'at_most': 1, 'at_most': 2}]}",
         "expected a policy in JSON"},
        {"{'checks': [{'attack': 'attributte', 'number': 'accuracy', 'at_most': 0.9}]}",
         "unknown attack 'attributte'; did you mean 'attribute'?"},
        {"{'checks': [{'attack': 'attribute', 'at_most': 0.9}]}",
         "attack attribute: expected number"},
        {"{'checks': [{'attack': 'attribute', 'number': 'accuracy', 'at_most': 0.9,\n"
         "'options': {'publ1c': 'x'}}]}",
         ":2: options: attack attribute has no option 'publ1c'; did you mean 'public'?"},
        {"{'checks': [{'attack': 'attribute', 'number': 'accuracy', 'at_most': 0.9,\n"
         "'options': {'seeds': 'many'}}]}",
         ":2: options: "},
    };
    const char *path = support_scratch_path("policy.json");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvdp__policy policy;
        support_write_text(path, support_quoted(cases[i].text));
        fails(nvdp__policy_read(ctx, path, &policy), NVDP_ERR_INPUT, cases[i].message);
        cr_expect_eq(strncmp(nvdp_context_error(ctx), path, strlen(path)), 0);
    }
}

Test(gate, the_policies_of_the_library_are_read) {
    struct nvdp__policy policy;
    size_t count = 0;
    for (const struct nvdp__preset *of = nvdp__policies; of->name != NULL; of++, count++) {
        ok(nvdp__policy_read(ctx, of->name, &policy));
        cr_expect_geq(policy.checks, 3);
        nvdp__policy_release(&policy);
    }
    cr_expect_eq(count, 2);
    fails(nvdp__policy_read(ctx, "certifie", &policy), NVDP_ERR_IO,
          "a policy of the library: attacks certified");
}

/* --- numbers --- */

Test(gate, finds_numbers_by_path) {
    json_t *result = support_parsed(
        "{'a': {'b': 2, '0.99': 5, 'none': null, 'word': 'x'}, 'inf': 'inf', 'nan': 'nan',"
        " 'holds': true, 'interval': [1, 3], 'empty': [],"
        " 'guess': [{'baseline': 0.001, 'bound': 0.1}, {'baseline': 0.5, 'bound': 0.9}],"
        " 'scores': [{'observed': 'release', 'metric': 'rare, first', 'value': 0.5},"
        " {'observed': 'prior', 'metric': 'rare, first', 'value': 0.3}]}");
    char reason[NVDP__REASON];
    static const struct {
        const char *path;
        bool least;
        double number;
    } numbers[] = {{"a.b", false, 2},          {"a.0.99", false, 5},
                   {"inf", false, INFINITY},   {"holds", true, 1},
                   {"interval", false, 3},     {"interval", true, 1},
                   {"interval[0]", false, 1},  {"guess[baseline=0.001].bound", false, .1},
                   {"guess.bound", false, .9}, {"scores[observed=prior].value", false, .3}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cr_expect_eq(nvdp__gate_number(result, numbers[i].path, numbers[i].least, reason).value,
                     numbers[i].number, "%s", numbers[i].path);
    static const char *const none[] = {"nan",
                                       "a.c",
                                       "a.none",
                                       "a",
                                       "a.word",
                                       "empty",
                                       "guess[baseline=0.1].bound",
                                       "interval[7]",
                                       "guess[baseline",
                                       "a.b.c"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        cr_expect(isnan(nvdp__gate_number(result, none[i], false, reason).value), "%s", none[i]);
        cr_expect_neq(reason[0], '\0', "%s", none[i]);
    }
    cr_expect_eq(nvdp__gate_score(result, "rare_first", false, reason).value, .5);
    near(nvdp__gate_score(result, "rare_first_above_prior", false, reason).value, .2, 1e-12);
    cr_expect_eq(nvdp__gate_score(result, "a.b", false, reason).value, 2);
    cr_expect(isnan(nvdp__gate_score(result, "accuracy", false, reason).value));
    support_contains(reason, "no score 'accuracy'");
}

/* Limits are compared with the interval's ends; of several numbers the one with the largest end counts.  A difference
 * of two scores has the ends of both; a number without an interval is its own. */
Test(gate, compares_ends_of_intervals) {
    json_t *result = support_parsed(
        "{'groups': [{'exposure': 3, 'interval': [1, 4], 'rank': 7}], 'first': 0.4,"
        " 'first_interval': [0.3, 0.6], 'none': 2, 'none_interval': null,"
        " 'sum': {'mean': 'inf', 'mean_interval': [1, 2]},"
        " 'pairs': [{'right': 0.6, 'right_interval': [0.55, 0.65]},"
        " {'right': 0.5, 'right_interval': [0.2, 0.9]}],"
        " 'scores': [{'observed': 'release', 'metric': 'AUC', 'value': 0.4667,"
        " 'interval': [0.31, 0.623], 'bound': 0.7}, {'observed': 'release', 'metric': 'F1',"
        " 'value': 0.35, 'interval': [0.25, 0.5]}, {'observed': 'prior', 'metric': 'F1',"
        " 'value': 0.3, 'interval': [0.2, 0.375]}]}");
    static const struct {
        const char *path;
        double value, low, high;
    } cases[] = {{"first", .4, .3, .6},
                 {"groups.exposure", 3, 1, 4},
                 {"groups.rank", 7, 7, 7},
                 {"none", 2, 2, 2},
                 {"sum.mean", INFINITY, 1, INFINITY},
                 {"scores[metric=AUC].value", .4667, .31, .623},
                 {"scores[metric=AUC].bound", .7, .7, .7},
                 {"scores[metric=AUC].interval[1]", .623, .623, .623},
                 {"AUC", .4667, .31, .623},
                 {"F1_above_prior", .05, -.125, .3}};
    char reason[NVDP__REASON];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct nvdp__gate_found found =
            nvdp__gate_score(result, cases[i].path, false, reason);
        const double low = nvdp__gate_end(&found, true), high = nvdp__gate_end(&found, false);
        cr_expect_str_empty(reason, "%s", reason);
        cr_expect(found.value == cases[i].value || fabs(found.value - cases[i].value) < 1e-12);
        near(low, cases[i].low, 1e-12, "%s: %g", cases[i].path, low);
        cr_expect(high == cases[i].high || fabs(high - cases[i].high) < 1e-12, "%s: %g",
                  cases[i].path, high);
    }
    cr_expect_eq(nvdp__gate_number(result, "pairs.right", false, reason).value, .5);
    cr_expect_eq(nvdp__gate_number(result, "pairs.right", true, reason).value, .5);
    cr_expect_eq(nvdp__gate_number(result, "pairs[0].right", true, reason).interval.low, .55);
}

/* --- a run and a file --- */

/* Gates with more options: names and values, then NULL. The policy is a path, or a text with single quotes. */
static nvdp_status gate(const char *policy, const char *target, va_list more,
                        struct nvdp_gate_result *result) {
    const char *path = policy[0] == '{' ? support_scratch_path("policy.json") : policy;
    if (policy[0] == '{') support_write_text(path, support_quoted(policy));
    struct nvdp_config *config =
        support_config(ctx, "gate", "policy", path, "target", target, NULL);
    support_set_list(ctx, config, more);
    *result = (struct nvdp_gate_result)NVDP_RESULT(struct nvdp_gate_result);
    return nvdp_gate(ctx, config, support_keep(result));
}

static __attribute__((sentinel)) const struct nvdp_gate_result *gated(const char *policy,
                                                                      const char *target, ...) {
    struct nvdp_gate_result *result = malloc(sizeof *result);
    va_list more;
    va_start(more, target);
    ok(gate(policy, target, more, result));
    va_end(more);
    return result;
}

static __attribute__((sentinel)) void refused(const char *error, const char *policy,
                                              const char *target, ...) {
    va_list more;
    va_start(more, target);
    fails(gate(policy, target, more, malloc(sizeof(struct nvdp_gate_result))), NVDP_ERR_ARGUMENT,
          error);
    va_end(more);
}

/* Exports the texts of `input` with more options: names and values, then NULL; returns the file. */
static __attribute__((sentinel)) const char *exported(const char *run, const char *input,
                                                      const char *name, ...) {
    const char *out = support_scratch_path(name);
    va_list more;
    struct nvdp_config *config =
        support_config(ctx, "export", "run", run, "input", input, "out", out, NULL);
    va_start(more, name);
    support_set_list(ctx, config, more);
    va_end(more);
    ok(nvdp_export(ctx, config, NULL));
    return out;
}

/* Writes a table of texts. */
static const char *table(const char *rows) {
    const char *path = support_scratch_path("texts.tsv");
    support_write_text(path, rows);
    return path;
}

static const char cats[] = "sentence\tlabel\ngood cat\t1\nbad cat\t0\n";
static const char cats_of_ann[] = "sentence\tlabel\tauthor\ngood cat\t1\tann\nbad cat\t0\tann\n";

/* The bound of one sample is that of a Gaussian with mu 1. */
static const struct run_choice mu_one = {
    .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};

static const char *junit(const struct nvdp_gate_result *result, const char *name) {
    char *text = NULL;
    ok(nvdp_gate_junit(ctx, result, name, &text));
    return support_keep(text);
}

static void is(const struct nvdp_gate_result *result, size_t i, bool pass, double found,
               const char *reason) {
    const struct nvdp_gate_check *check = &result->check[i];
    cr_expect_eq(check->passed, pass, "%s: %s", check->name, check->reason);
    if (!isnan(found)) near(check->found, found, 1e-9, "%s: %.17g", check->name, check->found);
    support_contains(check->reason, reason);
}

Test(gate, compares_a_run_and_its_file) {
    const char *run = task_run(ctx, "run", &mu_one, NULL);
    const double epsilon = nvdp_gdp_epsilon(1, 1e-5), person = nvdp_gdp_epsilon(sqrt(2), 1e-5);
    /* the raw number is compared: a limit one part in 10^7 below it fails, whatever the table shows */
    const char *policy =
        support_path("{'checks': [{'measure': 'certified_epsilon', 'at_most': %.17g},\n"
                     "{'measure': 'certified_epsilon', 'at_most': %.17g},\n"
                     "{'measure': 'guess_bound', 'baseline': 0.5, 'at_most': 0.7},\n"
                     "{'measure': 'exact_epsilon', 'at_most': %.17g},\n"
                     "{'measure': 'named_share', 'at_most': 0.999, 'at_least': 0},\n"
                     "{'measure': 'privacy.rd.sum.maxx', 'at_most': 1},\n"
                     "{'measure': 'word_epsilon', 'at_most': 1},\n"
                     "{'measure': 'person_epsilon', 'at_most': 100},\n"
                     "{'attack': 'attribute', 'number': 'accuracy', 'at_most': 0.9}]}",
                     epsilon * (1 + 1e-9), epsilon * (1 - 1e-7), epsilon);
    const struct nvdp_gate_result *result = gated(policy, run, NULL);
    cr_assert_eq(result->checks, 9);
    is(result, 0, true, epsilon, "");
    is(result, 1, false, epsilon, "expected at most");
    is(result, 2, true, nvdp_guess_bound(.5, .5, 1, 0), "");
    is(result, 3, true, NAN, "");
    is(result, 4, true, NAN, "");
    is(result, 5, false, NAN, "no number 'maxx'; did you mean 'max'?");
    is(result, 6, false, NAN, "");
    is(result, 7, false, NAN, "expected the ledger of the releases, found none; export first");
    is(result, 8, false, NAN, "not measured: --public: expected a file");
    cr_expect_not(result->passed);
    cr_expect_eq(result->failed, 5);
    const char *text = support_result_text(ctx, result, NULL);
    support_contains(text, "measure", "5 of 9 checks fail.");
    support_contains(junit(result, "a<b>&\"c\""),
                     "<testsuite name=\"a&#60;b&#62;&#38;&#34;c&#34;\" tests=\"9\" failures=\"5\"");

    /* of a measured share the interval's ends are compared, and shown */
    result = gated("{'checks': [{'measure': 'named_share', 'at_most': 0.999}]}", run, NULL);
    is(result, 0, true, NAN, "");
    const double share = result->check[0].found;
    const struct nvdp_interval interval = result->check[0].interval;
    cr_assert(interval.low < share && share < interval.high);
    policy = support_path("{'checks': [{'measure': 'named_share', 'at_most': %.17g},\n"
                          "{'measure': 'named_share', 'at_most': %.17g},\n"
                          "{'measure': 'named_share', 'at_least': %.17g, 'at_most': 0.999},\n"
                          "{'measure': 'named_share', 'at_least': %.17g, 'at_most': 0.999},\n"
                          "{'measure': 'certified_epsilon', 'at_most': 9}]}",
                          share, interval.high, share, interval.low);
    result = gated(policy, run, NULL);
    is(result, 0, false, share, "the upper end of the interval");
    is(result, 1, true, share, "");
    is(result, 2, false, share, "the lower end of the interval");
    is(result, 3, true, share, "");
    cr_expect(isnan(result->check[4].interval.low) && isnan(result->check[4].interval.high));
    const char *shown = support_path("%.9g (%.9g to %.9g)", share, interval.low, interval.high);
    support_contains(support_result_text(ctx, result, NULL), shown);
    support_contains(junit(result, "run"), shown);
    const json_t *made = support_result_json(ctx, result, NULL);
    near(number_at(made, "checks/0/interval/1"), interval.high, 1e-12);
    cr_expect(json_is_null(support_at(made, "checks/4/interval")));

    const char *input = table(cats_of_ann);
    const char *shared = exported(run, input, "a.h5", "person", "author", NULL);
    static const char both[] = "{'checks': [{'measure': 'certified_epsilon', 'at_most': 9},\n"
                               "{'measure': 'person_epsilon', 'at_most': 9},\n"
                               "{'measure': 'person_guess', 'texts': 10, 'at_most': 0.999},\n"
                               "{'measure': 'exact_epsilon', 'at_most': 100},\n"
                               "{'measure': 'verification.holds', 'at_least': 1}]}";
    const char *const targets[] = {run, shared};
    for (size_t i = 0; i < 2; i++) {
        result = gated(both, targets[i], NULL);
        is(result, 0, true, epsilon, "");
        is(result, 1, i == 0, i == 0 ? person : NAN, i == 0 ? "" : "states no counts of its texts");
        is(result, 2, i == 0, i == 0 ? nvdp_guess_bound(.1, sqrt(.5), 1, 0) : NAN, "");
        is(result, 3, i == 0, NAN, i == 0 ? "" : "a shared file alone cannot show it");
        is(result, 4, i == 1, NAN, i == 1 ? "" : "expected a shared file");
    }
    /* at another delta a Gaussian file shows its epsilon; the sums of a ledger hold at 1e-5 */
    result = gated("{'delta': 1e-6, 'checks': [{'measure': 'certified_epsilon', 'at_most': 9},\n"
                   "{'measure': 'person_epsilon', 'at_most': 9}]}",
                   shared, NULL);
    is(result, 0, true, nvdp_gdp_epsilon(1, 1e-6), "");
    is(result, 1, false, NAN, "states no counts of its texts");
    /* the samples of another file count in the run's ledger, which the file does not state */
    exported(run, input, "a.h5", "person", "author", "overwrite", "true", "budget-samples", "2",
             NULL);
    is(gated(both, shared, NULL), 0, true, epsilon, "");
    /* beside a run, a file that proves less counts, and one that cannot be read fails every check */
    result = gated(both, run, "shared", shared, NULL);
    is(result, 0, true, person, "");
    is(result, 1, false, nvdp_gdp_epsilon(2, 1e-5), "expected at most 9");
    result = gated(both, run, "shared", "missing.h5", NULL);
    for (size_t i = 0; i < result->checks; i++)
        is(result, i, false, NAN, "not measured: missing.h5: ");
    policy = "{'delta': 1e-9, 'checks': [{'measure': 'verification.epsilon', 'at_most': 9}]}";
    is(gated(policy, shared, NULL), 0, false, NAN, "expected a delta of at least 1e-05");
    /* without a ledger nobody knows how many samples there are */
    shared = exported(run, input, "uncounted.h5", "no-ledger", "true", NULL);
    is(gated(both, shared, NULL), 0, false, NAN, "no ledger counts it");
}

/* Beside a run, a file's samples count in every number: those that no ledger counts, and those that another ledger does. */
Test(gate, counts_a_file_that_the_ledger_of_the_run_lacks) {
    static const char of_run[] =
        "{'releases': 3, 'checks': [{'measure': 'exact_epsilon', 'at_most': 100},\n"
        "{'measure': 'renyi_divergence', 'at_most': 100},\n"
        "{'measure': 'privacy.rd.sum.max', 'at_most': 100}]}";
    static const char policy[] = "{'checks': [{'measure': 'exact_epsilon', 'at_most': 100},\n"
                                 "{'measure': 'text_epsilon', 'at_most': 100}]}";
    const char *run = task_run(ctx, "run", &mu_one, NULL);
    const char *other = support_scratch_path("other"), *input = table(cats_of_ann);
    exported(run, input, "1.h5", NULL);
    const char *three = exported(run, input, "3.h5", "no-ledger", "true", "samples", "3", NULL);
    const struct nvdp_gate_result *result = gated(of_run, run, NULL);
    const double exact = result->check[0].found;
    is(result, 1, true, 3 * result->check[2].found, ""); /* divergences of samples add up */
    result = gated(policy, run, "shared", three, NULL);
    cr_expect_eq(result->releases, 3);
    is(result, 0, true, exact, "");
    is(result, 1, false, NAN, "no ledger counts it");
    /* more samples; more persons' texts; then the ledger that counts them */
    const char *const option[][2] = {{"samples", "2"}, {"person", "author"}};
    for (size_t i = 0; i < 2; i++) {
        const char *shared = exported(run, input, i == 0 ? "2.h5" : "named.h5", option[i][0],
                                      option[i][1], "ledger", other, "budget-samples", "3", NULL);
        is(gated(policy, run, "shared", shared, NULL), 1, false, NAN,
           "ledgers outside of the run count its releases");
        const char *own = support_path("%s/ledger", run);
        is(gated(policy, run, "shared", shared, "ledger", own, NULL), 1, false, NAN,
           "the ledger lists the file's release");
        is(gated(policy, run, "shared", shared, "ledger", other, NULL), 1, true,
           nvdp_gdp_epsilon(sqrt((double)(2 + i)), 1e-5), "");
    }
    /* a ledger with larger sums does not count a file either, unless it lists the file */
    const char *third = support_scratch_path("third");
    const char *once = exported(run, input, "once.h5", "ledger", third, NULL);
    is(gated(policy, run, "shared", once, "ledger", other, NULL), 1, false, NAN,
       "the ledger lists the file's release");
}

/* A ledger without persons shows no number of a person: the reason names the option. */
Test(gate, says_how_a_ledger_counts_persons) {
    const char *run = task_run(ctx, "run", &mu_one, NULL);
    static const char policy[] = "{'checks': [{'measure': 'person_epsilon', 'at_most': 9}]}";
    exported(run, table("sentence\tlabel\ngood cat\t1\n"), "shared.h5", NULL);
    is(gated(policy, run, NULL), 0, false, NAN,
       "export with --person COLUMN, the column with the author");
}

/* A text that a release without persons gives to nobody is missing in the sum of the person who wrote it. */
Test(gate, shows_no_number_of_a_person_that_lacks_texts) {
    static const char policy[] = "{'checks': [{'measure': 'text_epsilon', 'at_most': 9},\n"
                                 "{'measure': 'person_epsilon', 'at_most': 9}]}";
    const char *run = task_run(ctx, "run", &mu_one, NULL);
    for (int more = 0; more < 2; more++) {
        const char *input = table(more ? "sentence\tlabel\nred cat\t1\n"
                                       : "sentence\tlabel\tauthor\ngood cat\t1\tann\n");
        exported(run, input, more ? "2.h5" : "1.h5", more ? NULL : "person", "author", NULL);
        const struct nvdp_gate_result *result = gated(policy, run, NULL);
        is(result, 0, true, NAN, "");
        is(result, 1, !more, NAN, more ? "1 of the ledger's texts have no person" : "");
    }
}

/* Writes a ledger with one sample of one text, of a mechanism with this divergence at order 4. */
static const char *ledger_with(double divergence) {
    const char *path = support_scratch_path("mixed"), *key = support_scratch_path("mixed.key");
    const nvdp__text_hash text = {1};
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__spent spent;
    struct nvdp__ledger_release release = {.texts = 1, .samples = 1, .mu = INFINITY};
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++)
        release.divergence[k] = nvdp__ledger_orders[k] == 4 ? divergence : INFINITY;
    memset(release.id, 'a', sizeof release.id);
    ok(nvdp__ledger_open(ctx, path, key, "words", &ledger));
    ok(nvdp__ledger_add(ledger, &release, &text, 1, &spent));
    nvdp__ledger_close(ledger);
    return path;
}

/* A mechanism that proves more than another one at delta 1e-5 can prove less at a smaller delta: a ledger's sums are
 * compared with the certificate at the policy's. */
Test(gate, compares_a_ledger_at_the_delta_of_the_policy) {
    const char *run = task_run(ctx, "run", &mu_one, NULL);
    const double own = nvdp_gdp_epsilon(1, 1e-5);
    const double divergence = .99 * own - nvdp_renyi_epsilon(4, 0, 1e-5);
    const char *ledger = ledger_with(divergence);
    cr_assert_gt(divergence, 0);
    for (double delta = 1e-5; delta > 1e-10; delta /= 1e4) {
        const char *policy = support_path(
            "{'delta': %g, 'checks': [{'measure': 'certified_epsilon', 'at_most': 50}]}", delta);
        is(gated(policy, run, "ledger", ledger, NULL), 0, true,
           fmax(nvdp_gdp_epsilon(1, delta), nvdp_renyi_epsilon(4, divergence, delta)), "");
    }
    cr_assert_lt(nvdp_gdp_epsilon(1, 1e-9), nvdp_renyi_epsilon(4, divergence, 1e-9));
}

/* Per word, the samples of a file and all that its ledger counts are compared, not those of the run alone. */
Test(gate, compares_the_proof_per_word) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_WORD, .latent_dim = 2, .epochs = 1, .clip_word = 0.25};
    static const char policy[] = "{'checks': [{'measure': 'word_epsilon', 'at_most': 2}]}";
    const char *run = task_run(ctx, "run", &choice, NULL), *input = table(cats);
    const struct nvdp_gate_result *result = gated(policy, run, NULL);
    const double one = result->check[0].found; /* the clip is a little above .25, for rounding */
    is(result, 0, true, NAN, "");
    cr_expect(one >= nvdp_gdp_epsilon(.5, 1e-5) && one < 1.0001 * nvdp_gdp_epsilon(.5, 1e-5));
    const char *shared = exported(run, input, "a.h5", "samples", "2", "budget-samples", "2", NULL);
    const double two = nvdp_gdp_epsilon(sqrt(2) * nvdp_gdp_mu(one, 1e-5), 1e-5); /* 2.9 */
    is(gated(policy, shared, NULL), 0, false, two, "expected at most 2");
    is(gated(policy, run, "shared", shared, NULL), 0, false, two, "expected at most 2");
    /* a file of another method proves nothing per word */
    run = task_run(ctx, "other", &mu_one, NULL);
    shared = exported(run, input, "b.h5", NULL);
    is(gated(policy, shared, NULL), 0, false, NAN, "expected a finite number, found inf");
}

/* A file that proves less over all texts, but more per word, does not hide what the run proves per word. */
Test(gate, takes_the_larger_epsilon_of_each_kind) {
    static const struct run_choice mine = {.method = NVDP_METHOD_WORD,
                                           .latent_dim = 2,
                                           .epochs = 1,
                                           .clip_word = 0.25,
                                           .clip_sequence = 2},
                                   other = {.method = NVDP_METHOD_WORD,
                                            .latent_dim = 2,
                                            .epochs = 1,
                                            .clip_word = 0.01,
                                            .clip_sequence = 64};
    static const char policy[] = "{'checks': [{'measure': 'word_epsilon', 'at_most': 2},\n"
                                 "{'measure': 'certified_epsilon', 'at_most': 30}]}";
    const char *run = task_run(ctx, "other", &other, NULL);
    const char *shared = exported(run, table("sentence\tlabel\ngood cat\t1\n"), "other.h5", NULL);
    run = task_run(ctx, "run", &mine, NULL);
    const struct nvdp_gate_result *result = gated(policy, run, NULL);
    const double word = result->check[0].found, text = result->check[1].found;
    result = gated(policy, shared, NULL);
    cr_expect_lt(result->check[0].found, word);
    cr_expect_gt(result->check[1].found, text);
    const double larger = result->check[1].found;
    result = gated(policy, run, "shared", shared, NULL);
    is(result, 0, true, word, "");
    is(result, 1, false, larger, "expected at most 30");
}

/* Beside a run, the samples of a file count in the certificate of the run. */
Test(gate, counts_all_samples_of_a_file_beside_a_run) {
    static const struct run_choice large = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .epochs = 1, .clip_sequence = 0.9};
    static const char policy[] = "{'checks': [{'measure': 'certified_epsilon', 'at_most': 30},\n"
                                 "{'measure': 'guess_bound', 'baseline': 0.5, 'at_most': 0.9}]}";
    const char *run = task_run(ctx, "small", &mu_one, NULL);
    const char *shared = exported(run, table("sentence\tlabel\ngood cat\t1\n"), "a.h5",
                                  "budget-samples", "2", "samples", "2", NULL);
    const struct nvdp_gate_result *result = gated(policy, shared, NULL);
    const double least = result->check[0].found, bound = result->check[1].found;
    run = task_run(ctx, "large", &large, NULL);
    result = gated(policy, run, NULL);
    const double most = result->check[0].found;
    is(result, 1, true, NAN, "");
    cr_expect_lt(least, most);
    near(bound, nvdp_guess_bound(.5, .5, 2, 0), 1e-9);
    result = gated(policy, run, "shared", shared, NULL);
    is(result, 0, true, NAN, "");
    cr_expect_gt(result->check[0].found, most); /* two samples count */
    is(result, 1, true, nvdp_guess_bound(.5, .9, 2, 0), "");
}

/* A number that is not finite fails, and so does everything of a run without noise. */
Test(gate, what_is_not_proven_fails) {
    static const struct run_choice choice = {.method = NVDP_METHOD_VTDP, .kappa = 1, .epochs = 1};
    static const char policy[] =
        "{'checks': [{'measure': 'certified_epsilon', 'at_most': 1e300},\n"
        "{'measure': 'certified_epsilon', 'at_most': 1e300, 'at_least': 1},\n"
        "{'measure': 'guess_bound', 'texts': 100, 'at_most': 0.999}]}";
    const struct nvdp_gate_result *result =
        gated(policy, task_run(ctx, "run", &choice, NULL), NULL);
    is(result, 0, false, NAN, "expected a finite number, found inf");
    is(result, 1, false, NAN, "expected a finite number, found inf");
    is(result, 2, false, NAN, "");
    cr_expect_neq(result->check[2].reason[0], '\0');
}

/* --- attacks --- */

/* Writes n different texts of seven words, from `first` on, with a label if `label`; returns the path.  A fifth of the
 * texts has the label 1 and ends in good. */
static const char *write_different(const char *name, size_t first, size_t n, bool label) {
    static const char *const words[] = {"good", "bad", "cat",  "dog", "sun",
                                        "sea",  "red", "blue", "one", "two"};
    const char *path = support_scratch_path(name);
    FILE *file = fopen(path, "w");
    if (label) fprintf(file, "sentence\tlabel\n");
    for (size_t i = first; i < first + n; i++) {
        const bool good = i % 5 == 0;
        for (size_t k = 0, digits = i * 7919 % 1000000; k < 6; k++, digits /= 10)
            fprintf(file, "%s ", words[digits % 10]);
        fprintf(file, label ? "%s\t%d\n" : "%s\n", words[!good], good);
    }
    fclose(file);
    return path;
}

/* Makes a language model of such texts, "prior", with more pieces than `tokens` of the attack invert. */
static void make_prior(void) {
    const char *const texts[] = {write_different("plain.txt", 3000, 100, false)};
    struct nvdp__pretrain_options config = toy_config(texts, support_scratch_path("prior"));
    FREED(nvdp_result_free)
    struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);

    config.vocab = support_scratch_path("vocabulary.txt");
    FILE *file = fopen(config.vocab, "w");
    fputs(support_read(support_scratch_path("data/vocab.txt")), file);
    for (int i = 0; i < 32; i++)
        fprintf(file, "unseen%d\n", i);
    fclose(file);
    config.steps = 20;
    config.hidden = 32;
    config.length = 8;
    config.max_positions = 40;
    ok(nvdp__pretrain(ctx, &config, &result));
}

/* Gates a run's `texts` different dev texts, with 200 public ones. */
static const struct nvdp_gate_result *attacked(const char *policy, const char *run, size_t texts) {
    mkdir(support_scratch_path("many"), 0777);
    write_different("many/dev.tsv", 0, texts, true);
    return gated(policy, run, "data", support_scratch_path("many"), "public",
                 write_different("public.tsv", 2000, 200, true), "prior",
                 support_scratch_path("prior"), NULL);
}

/* Writes the policy `attacks` with a shorter training of invert; returns the path. */
static const char *short_policy(void) {
    const struct nvdp__preset *of = nvdp__policies;
    while (strcmp(of->name, "attacks") != 0)
        of++;
    json_t *check, *policy = support_parsed(of->text);
    size_t i;
    json_array_foreach(json_object_get(policy, "checks"), i, check) {
        json_t *options = json_object_get(check, "options");
        if (options == NULL) continue;
        cr_expect_str_eq(text_at(check, "attack"), "invert");
        json_object_update_new(options,
                               json_pack("{s:i, s:i, s:i}", "limit", 60, "steps", 20, "search", 0));
    }
    const char *path = support_scratch_path("short.json");
    cr_assert_eq(json_dump_file(policy, path, 0), 0);
    return path;
}

/* The policy `attacks` passes a run that reveals almost nothing.  A run whose noise has the deviation .001, of which
 * nothing is proven, fails every check. */
Test(gate, attacks_pass_a_harmless_run_alone) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .epochs = 1, .clip_sequence = .05};
    for (int open = 0; open < 2; open++) {
        const char *run = task_run(ctx, "run", &choice, NULL);
        if (open) {
            struct task task = task_make(ctx);
            struct nvdp__train_options config = task_config(&task, choice.method, run);
            task_set(&config, "epochs 1 overwrite true vib-sigma 1e-3");
            (void)task_train(ctx, &config);
        } else {
            make_prior();
        }
        const struct nvdp_gate_result *result = attacked(short_policy(), run, 400);
        cr_assert_eq(result->checks, 7);
        for (size_t i = 0; i < result->checks; i++)
            is(result, i, !open, NAN, open ? "expected at most" : "");
        if (!open) continue;
        /* an attack that shows more than is promised fails, whatever its number is */
        is(gated("{'checks': [{'attack': 'pair', 'number': 'pairs.right', 'at_most': 1,"
                 " 'options': {'claimed': 0.001, 'pairs': 2, 'samples': 1000}}]}",
                 run, NULL),
           0, false, NAN, "VIOLATION");
    }
}

/* Sets a tensor of a file to zeros. */
static void clear_tensor(const char *path, const char *name) {
    unsigned char size[8];
    nvdp__autoptr(fclose) FILE *file = fopen(path, "r+b");
    cr_assert(file != NULL && fread(size, 1, 8, file) == 8);
    size_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | size[i];
    char *header = support_keep(calloc(length + 1, 1));
    cr_assert_eq(fread(header, 1, length, file), length);
    const json_t *at =
        json_object_get(json_object_get(support_parsed(header), name), "data_offsets");
    const long first = (long)integer_at(at, "0"), end = (long)integer_at(at, "1");
    cr_assert_gt(end, first, "%s", header);
    fseek(file, 8 + (long)length + first, SEEK_SET);
    for (long i = first; i < end; i++)
        fputc(0, file);
}

/* An attack that finds nothing without noise either, as all posteriors are the same, fails under an upper limit. */
Test(gate, attacks_that_are_weak_fail) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VIB_FIXED, .kappa = 1, .epochs = 1, .clip_sequence = .5};
    static const char policy[] =
        "{'checks': [{'attack': 'membership', 'number': 'AUC', 'at_most': 0.999},\n"
        "{'attack': 'membership', 'number': 'members', 'at_least': 0}]}";
    const char *run = task_run(ctx, "run", &choice, NULL);
    const struct nvdp_gate_result *result = attacked(policy, run, 80);
    is(result, 0, true, NAN, "");
    is(result, 1, true, NAN, "");
    clear_tensor(support_path("%s/model/model.safetensors", run), "vib.mu.weight");
    result = attacked(policy, run, 80);
    is(result, 0, false, NAN, "the attacker is too weak for a conclusion");
    is(result, 1, true, NAN, "");
}

/* Writes n texts as the dev split of a new folder; returns the folder. */
static const char *make_split(const char *name, size_t n) {
    const char *folder = support_scratch_path(name);
    mkdir(folder, 0777);
    write_different(support_path("%s/dev.tsv", name), 0, n, true);
    return folder;
}

/* An attack that reads fewer samples of a text than count is no measurement of them. With a file, attacks read all of
 * its samples. */
Test(gate, attacks_read_all_samples_that_count) {
    static const char policy[] =
        "{'releases': %d, 'checks': [{'attack': 'token', 'number': 'first', "
        "'at_most': 0.999, 'options': {'seeds': 1, 'limit': 20}},\n"
        "{'attack': 'reidentify', 'number': 'releases', 'at_most': 1e6},\n"
        "{'attack': 'bag', 'number': 'releases', 'at_most': 1e6},\n"
        "{'attack': 'reidentify', 'number': 'first', 'at_most': 0.9999,"
        " 'options': {'releases': 1}}]}";
    const char *run = task_run(ctx, "run", &mu_one, NULL), *data = make_split("few", 60),
               *known = write_different("public.tsv", 2000, 30, true),
               *shared = exported(run, support_scratch_path("few/dev.tsv"), "three.h5", "samples",
                                  "3", "no-ledger", "true", NULL);
    static const int count[] = {2, 2, 4};
    for (size_t i = 0; i < 3; i++) {
        const struct nvdp_gate_result *result =
            gated(support_path(policy, count[i]), run, "data", data, "public", known, "shared",
                  i == 0 ? NULL : shared, NULL);
        const int counted = i == 1 ? 3 : count[i], read = i == 0 ? 2 : 3;

        cr_expect_eq(result->releases, (size_t)counted);
        for (size_t k = 0; k < 4; k++) {
            const int reads = k == 0 || k == 3 ? 1 : read;
            const bool all = reads == counted;
            is(result, k, all, all && (k == 1 || k == 2) ? reads : NAN,
               all ? ""
                   : support_path("not measured: the attack reads %d of the %d samples", reads,
                                  counted));
        }
    }
}

/* --- what a pass is about --- */

/* Measures a run's texts as nvdp privacy --exact, and keeps the record with an epsilon of 0.25, which no text has. */
static void keep_record(const char *run, const char *data) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    nvdp__autoresult struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    nvdp__autofree char *text = NULL, *name = NULL;
    struct nvdp_config *config =
        support_config(ctx, "run,privacy", "run", run, "data", data, "exact", "true", NULL);
    ok(nvdp_run_posteriors(ctx, config, &posteriors));
    ok(nvdp_privacy_measure(ctx, posteriors, config, NULL, &report));
    report.exact->worst.epsilon = .25;
    ok(nvdp_result_json(ctx, &report, NULL, &text));
    ok(nvdp_measured_name(ctx, config, "privacy", &name));
    support_write_text(support_path("%s/%s", run, name), text);
}

/* A record counts only for the texts and the model that it is of: not for another folder, nor for other texts in the same
 * folder. */
Test(gate, uses_records_of_the_same_texts_alone) {
    static const char policy[] = "{'checks': [{'measure': 'exact_epsilon', 'at_most': 100}]}";
    const char *run = task_run(ctx, "run", &mu_one, NULL);
    const char *data = make_split("few", 12);
    struct {
        const char *data;
        bool record;
    } cases[] = {{data, true}, {NULL, false}, {data, false}};
    keep_record(run, data);
    for (size_t i = 0; i < 3; i++) {
        if (i == 2) make_split("few", 14); /* other texts under the same path */
        const struct nvdp_gate_result *result = gated(policy, run, "data", cases[i].data, NULL);
        is(result, 0, true, NAN, "");
        cr_expect_eq(result->check[0].found == .25, cases[i].record, "case %zu: %g", i,
                     result->check[0].found);
    }
}

/* All samples of a text that the ledger counts are proven together, whatever mechanisms they are of. */
Test(gate, counts_the_samples_that_are_released) {
    static const struct run_choice noisy = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.25, .epochs = 1};
    static const char one[] = "{'checks': [{'measure': 'certified_epsilon', 'at_most': 100},\n"
                              "{'measure': 'guess_bound', 'baseline': 0.5, 'at_most': 0.999}]}";
    static const char four[] =
        "{'releases': 4, 'checks': [{'measure': 'certified_epsilon', 'at_most': 100},\n"
        "{'measure': 'guess_bound', 'baseline': 0.5, 'at_most': 0.999}]}";
    const char *run = task_run(ctx, "run", &mu_one, NULL),
               *other = task_run(ctx, "other", &noisy, NULL),
               *shared = support_scratch_path("a.h5"), *input = table(cats),
               *ledger = support_path("%s/ledger", run);
    struct nvdp_config *config =
        support_config(ctx, "export", "run", run, "input", input, "budget-samples", "2",
                       "overwrite", "true", "out", shared, NULL);
    const char *const targets[] = {run, shared};
    for (size_t times = 1; times <= 2; times++) {
        ok(nvdp_export(ctx, config, NULL));
        const struct nvdp_gate_result *result = gated(one, run, NULL);
        is(result, 0, true, nvdp_gdp_epsilon(sqrt((double)times), 1e-5), "");
        is(result, 1, true, nvdp_guess_bound(.5, sqrt((double)times) / 2, 1, 0), "");
        cr_expect_eq(result->releases, times);
        /* the policy may want more samples than there are, of a run and of a file */
        for (size_t i = 0; i < 2; i++) {
            result = gated(four, targets[i], NULL);
            is(result, 0, true, nvdp_gdp_epsilon(2, 1e-5), "");
            is(result, 1, true, nvdp_guess_bound(.5, 1, 1, 0), "");
            cr_expect_eq(result->releases, 4);
        }
    }
    /* The ledger of both runs: a text has 2 samples of one and 1 of the other, more than 3 of the other. */
    exported(other, input, "b.h5", "budget-samples", "3", "ledger", ledger, NULL);
    const struct nvdp_gate_result *result = gated(one, other, "ledger", ledger, NULL);
    const double epsilon = nvdp_gdp_epsilon(1.5, 1e-5), delta = 1e-5;
    is(result, 0, true, epsilon, "");
    is(result, 1, false, nvdp__guess_from_curve(.5, 1, &epsilon, &delta), "expected at most");
    /* the other run remembers that a ledger elsewhere counts */
    is(gated(one, other, NULL), 0, false, NAN, "ledgers outside of the run count its releases");
    /* a ledger that is gone, or was cut, while its key is there hides samples */
    for (int empty = 0; empty < 2; empty++) {
        const char *aside = support_path("%s.aside", ledger);
        cr_assert_eq(rename(ledger, aside), 0);
        if (empty) support_write(ledger, "", 0);
        is(gated(one, run, NULL), 0, false, NAN, "expected the ledger of the key");
        cr_assert_eq(rename(aside, ledger), 0);
    }
    /* a ledger that cannot be read hides samples */
    cr_assert_eq(remove(support_path("%s.key", ledger)), 0);
    result = gated("{'checks': [{'measure': 'certified_epsilon', 'at_most': 100},\n"
                   "{'measure': 'exact_epsilon', 'at_most': 100},\n"
                   "{'attack': 'reidentify', 'number': 'releases', 'at_most': 9}]}",
                   run, NULL);
    for (size_t i = 0; i < 3; i++)
        is(result, i, false, NAN, "not measured: ");
}

/* The number of texts is the policy's to choose, and shown with split, delta and samples. */
Test(gate, shows_and_limits_the_number_of_texts) {
    static const struct {
        const char *policy, *limit, *error, *reason;
    } cases[] = {
        {"", "10", "limit: expected 0, all texts, as the policy has no key min_texts; found 10",
         NULL},
        {"'min_texts': 11, ", "10",
         "limit: expected 0, all texts, or at least 11, min_texts of the policy; found 10", NULL},
        {"'min_texts': 10, ", "10", NULL, ""},
        {"'min_texts': 13, ", NULL, NULL,
         "expected at least 13 texts, as min_texts of the policy, found 12"},
        {"'min_texts': 12, 'delta': 0.001, ", NULL, NULL, ""}};
    const char *run = task_run(ctx, "run", &mu_one, NULL);
    const char *data = make_split("few", 12);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *policy = support_path(
            "{%s'checks': [{'measure': 'exact_epsilon', 'at_most': 100}]}", cases[i].policy);
        if (cases[i].error != NULL) {
            refused(cases[i].error, policy, run, "data", data, "limit", cases[i].limit, NULL);
            continue;
        }
        const struct nvdp_gate_result *result =
            gated(policy, run, "data", data, "limit", cases[i].limit, NULL);
        is(result, 0, *cases[i].reason == '\0', NAN, cases[i].reason);
        cr_expect_eq(result->check[0].texts, cases[i].limit != NULL ? 10 : 12);
        if (i == 4) {
            const char *text = support_result_text(ctx, result, NULL);
            support_contains(
                text, " texts  pass\n", "     12  yes\n",
                "For one sample of a text, at delta 0.001; measured on the split dev.");
            const json_t *made = support_result_json(ctx, result, NULL);
            cr_expect_eq(number_at(made, "delta"), .001);
            cr_expect_eq(integer_at(made, "releases"), 1);
            cr_expect_str_eq(text_at(made, "split"), "dev");
            cr_expect_eq(integer_at(made, "checks/0/texts"), 12);
            text = junit(result, "run");
            support_contains(text, "<property name=\"delta\" value=\"0.001\"/>",
                             "<property name=\"releases\" value=\"1\"/>",
                             "<property name=\"split\" value=\"dev\"/>",
                             "<system-out>limit: at most 100; found: ", "; texts: 12</system-out>");
        }
    }
}
