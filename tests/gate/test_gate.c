/* Tests gates: wrong policies by line and key, numbers by path, and what passes for a run and a shared file. */
#include "base/file.h"
#include "gate/gate.h"
#include "options/schema.h"
#include "rdp/report.h"
#include "share/ledger.h"
#include "tiny_task.h"
#include "toy_corpus.h"
#include <nvdp.h>
#include <sys/stat.h>

/* --- policies --- */

Test(gate, wrong_policies_are_refused_by_line_and_key) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", ":1: expected a policy in JSON"},
        {"[]", ":1: expected an object with the key checks"},
        {"{\n \"checkz\": []}", ":2: unknown key 'checkz'; did you mean 'checks'?"},
        {"{\"checks\": []}",
         ":1: checks: expected a list of at least one check, found an empty list"},
        {"{}", "checks: expected a list of at least one check, found no such key"},
        {"{\"checks\": [3]}", "expected an object per check"},
        {"{\"delta\": 2,\n\"checks\": [{}]}", ":1: delta: expected a number from"},
        {"{\"delta\": 0.5, \"checks\": [{}]}",
         ":1: delta: expected a number from 1e-300 to 0.01, found 0.5"},
        {"{\"min_texts\": 0, \"checks\": [{}]}", "min_texts: expected a number from 1 to"},
        {"{\"min_texts\": 1.5, \"checks\": [{}]}", "min_texts: expected a whole number"},
        {"{\"checks\": [{\"measure\": \"guess_bound\", \"baseline\": 0.5,\n\"at_most\": 50}]}",
         ":2: at_most: expected a number below 1, as guess_bound is a share from 0 to 1, "
         "found 50"},
        {"{\"checks\": [{\"measure\": \"certificate.guess.bound\", \"at_most\": 1}]}",
         "at_most: expected a number below 1"},
        {"{\"checks\": [{\"measure\": \"named_share\", \"at_most\": 1}]}",
         "at_most: expected a number below 1"},
        {"{\"checks\": [{\"attack\": \"bag\", \"number\": \"F1_above_prior\", \"at_most\": 10}]}",
         "at_most: expected a number below 1, as attack bag: F1_above_prior is a share"},
        {"{\"checks\": [{\"measure\": \"certified_epsilon\",\n\"at_least\": 0}]}",
         ":2: certified_epsilon: expected at_most, as larger numbers are worse, found at_least 0 "
         "alone"},
        {"{\"checks\": [{\"measure\": \"privacy.exact.worst\", \"at_least\": 0}]}",
         "privacy.exact.worst: expected at_most"},
        {"{\"checks\": [{\"attack\": \"membership\", \"number\": \"AUC\", \"at_least\": 0}]}",
         "attack membership: AUC: expected at_most"},
        {"{\"releases\": 1.5, \"checks\": [{}]}", "releases: expected a whole number"},
        {"{\"checks\": [\n{\"at_most\": 1}]}",
         ":2: expected either measure or attack, found neither"},
        {"{\"checks\": [\n{\"measure\": \"certified_epsilon\", \"at_most\": 1},\n"
         "{\"measure\": \"certified_epsilon\",\n \"at_mots\": 1}]}",
         ":4: unknown key 'at_mots'; did you mean 'at_most'?"},
        {"{\"checks\": [{\"measure\": \"certified_epsilon\"}]}",
         "certified_epsilon: expected a limit, at_most or at_least, found neither"},
        {"{\"checks\": [{\"measure\": \"certified_epsilon\",\n\"at_most\": \"8\"}]}",
         ":2: at_most: expected a number, found another type"},
        {"{\"checks\": [{\"measure\": \"certified_epsilom\", \"at_most\": 8}]}",
         "unknown measure 'certified_epsilom'; did you mean 'certified_epsilon'?"},
        {"{\"checks\": [{\"measure\": \"certifikat.epsilon\", \"at_most\": 8}]}",
         "unknown measure 'certifikat.epsilon'"},
        {"{\"checks\": [{\"measure\": \"guess_bound\", \"at_most\": 0.5}]}",
         "guess_bound: expected baseline"},
        {"{\"checks\": [{\"measure\": \"named_share\", \"texts\": 9, \"at_most\": 0.5}]}",
         "named_share: has no baseline"},
        {"{\"checks\": [{\"measure\": \"exact_epsilon\", \"at_most\": 1, \"at_least\": 2}]}",
         "at_least: expected at most at_most, 1, found 2"},
        {"{\"checks\": [{\"measure\": \"named_share\", \"at_most\": 1, \"at_most\": 2}]}",
         "expected a policy in JSON"},
        {"{\"checks\": [{\"attack\": \"attributte\", \"number\": \"accuracy\", \"at_most\": 0.9}]}",
         "unknown attack 'attributte'; did you mean 'attribute'?"},
        {"{\"checks\": [{\"attack\": \"attribute\", \"at_most\": 0.9}]}",
         "attack attribute: expected number"},
        {"{\"checks\": [{\"attack\": \"attribute\", \"number\": \"accuracy\", \"at_most\": 0.9,\n"
         "\"options\": {\"publ1c\": \"x\"}}]}",
         ":2: options: attack attribute has no option 'publ1c'; did you mean 'public'?"},
        {"{\"checks\": [{\"attack\": \"attribute\", \"number\": \"accuracy\", \"at_most\": 0.9,\n"
         "\"options\": {\"seeds\": \"many\"}}]}",
         ":2: options: "},
    };
    struct nvdp_context *ctx = support_context();
    const char *path = support_scratch_path("policy.json");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvdp__policy policy;
        support_write_text(path, cases[i].text);
        fails(nvdp__policy_read(ctx, path, &policy), NVDP_ERR_INPUT, cases[i].message);
        cr_expect_eq(strncmp(nvdp_context_error(ctx), path, strlen(path)), 0);
    }
}

Test(gate, the_policies_of_the_library_are_read) {
    struct nvdp_context *ctx = support_context();
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
    nvdp__autoptr(json_decref) json_t *result = json_loads(
        "{\"a\": {\"b\": 2, \"0.99\": 5, \"none\": null, \"word\": \"x\"}, \"inf\": \"inf\","
        " \"nan\": \"nan\", \"holds\": true, \"interval\": [1, 3], \"empty\": [],"
        " \"guess\": [{\"baseline\": 0.001, \"bound\": 0.1}, {\"baseline\": 0.5, \"bound\": 0.9}],"
        " \"scores\": [{\"observed\": \"release\", \"metric\": \"rare, first\", \"value\": 0.5},"
        " {\"observed\": \"prior\", \"metric\": \"rare, first\", \"value\": 0.3}]}",
        0, NULL);
    char reason[NVDP__REASON];
#define IS(path, least, number)                                                                    \
    cr_expect_eq(nvdp__gate_number(result, path, least, reason).value, number)
    IS("a.b", false, 2);
    IS("a.0.99", false, 5);
    IS("inf", false, INFINITY);
    IS("holds", true, 1);
    IS("interval", false, 3);
    IS("interval", true, 1);
    IS("interval[0]", false, 1);
    IS("guess[baseline=0.001].bound", false, .1);
    IS("guess.bound", false, .9);
    IS("scores[observed=prior].value", false, .3);
#undef IS
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
    cr_expect_float_eq(nvdp__gate_score(result, "rare_first_above_prior", false, reason).value, .2,
                       1e-12);
    cr_expect_eq(nvdp__gate_score(result, "a.b", false, reason).value, 2);
    cr_expect(isnan(nvdp__gate_score(result, "accuracy", false, reason).value));
    support_contains(reason, "no score 'accuracy'");
}

/* Limits are compared with the interval's ends; of several numbers the one with the largest end counts.  A difference
 * of two scores has the ends of both; a number without an interval is its own. */
Test(gate, compares_ends_of_intervals) {
    nvdp__autoptr(json_decref) json_t *result = json_loads(
        "{\"groups\": [{\"exposure\": 3, \"interval\": [1, 4], \"rank\": 7}], \"first\": 0.4, "
        "\"first_interval\": [0.3, 0.6], \"none\": 2, \"none_interval\": null,"
        " \"sum\": {\"mean\": \"inf\", \"mean_interval\": [1, 2]},"
        " \"pairs\": [{\"right\": 0.6, \"right_interval\": [0.55, 0.65]},"
        " {\"right\": 0.5, \"right_interval\": [0.2, 0.9]}],"
        " \"scores\": [{\"observed\": \"release\", \"metric\": \"AUC\", \"value\": 0.4667,"
        " \"interval\": [0.31, 0.623], \"bound\": 0.7},"
        " {\"observed\": \"release\", \"metric\": \"F1\", \"value\": 0.35, \"interval\": [0.25, "
        "0.5]},"
        " {\"observed\": \"prior\", \"metric\": \"F1\", \"value\": 0.3, \"interval\": [0.2, "
        "0.375]}]}",
        0, NULL);
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
        cr_expect_float_eq(low, cases[i].low, 1e-12, "%s: %g", cases[i].path, low);
        cr_expect(high == cases[i].high || fabs(high - cases[i].high) < 1e-12, "%s: %g",
                  cases[i].path, high);
    }
    cr_expect_eq(nvdp__gate_number(result, "pairs.right", false, reason).value, .5);
    cr_expect_eq(nvdp__gate_number(result, "pairs.right", true, reason).value, .5);
    cr_expect_eq(nvdp__gate_number(result, "pairs[0].right", true, reason).interval.low, .55);
}

/* --- a run and a file --- */

/* Opens a gate with more options: names and values, then NULL; a value may be NULL. */
static struct nvdp_config *gate_of(struct nvdp_context *ctx, const char *policy, const char *target,
                                   const char *const *more) {
    struct nvdp_config *config = NULL;
    const char *path = support_scratch_path("policy.json");
    support_write_text(path, policy);
    ok(nvdp_config_create(ctx, "gate", &config));
    support_set(ctx, config, "policy", path);
    support_set(ctx, config, "target", target);
    for (size_t i = 0; more[i] != NULL; i += 2)
        if (more[i + 1] != NULL) support_set(ctx, config, more[i], more[i + 1]);
    return support_keep(config);
}

/* Exports the texts of `input`; `more`: names and values of other options, and a NULL. */
static void export_file(struct nvdp_context *ctx, const char *run, const char *input,
                        const char *out, const char *const *more) {
    struct nvdp_config *config = NULL;
    ok(nvdp_config_create(ctx, "export", &config));
    support_set(ctx, config, "run", run);
    support_set(ctx, config, "input", input);
    support_set(ctx, config, "out", out);
    for (; more != NULL && *more != NULL; more += 2)
        support_set(ctx, config, more[0], more[1]);
    ok(nvdp_export(ctx, config, NULL));
    nvdp_config_free(config);
}

static struct nvdp_gate_result gated_more(struct nvdp_context *ctx, const char *policy,
                                          const char *target, const char *const *more) {
    struct nvdp_gate_result result = NVDP_RESULT(struct nvdp_gate_result);
    struct nvdp_config *config = gate_of(ctx, policy, target, more);
    ok(nvdp_gate(ctx, config, &result));
    return result;
}

static void refused(struct nvdp_context *ctx, const char *policy, const char *target,
                    const char *const *more, const char *error) {
    struct nvdp_gate_result result = NVDP_RESULT(struct nvdp_gate_result);
    struct nvdp_config *config = gate_of(ctx, policy, target, more);
    fails(nvdp_gate(ctx, config, &result), NVDP_ERR_ARGUMENT, error);
}

/* `shared`: the file beside a run; NULL: none. */
static struct nvdp_gate_result gated_with(struct nvdp_context *ctx, const char *policy,
                                          const char *target, const char *shared) {
    const char *const more[] = {"shared", shared, NULL};
    return gated_more(ctx, policy, target, more);
}

static struct nvdp_gate_result gated(struct nvdp_context *ctx, const char *policy,
                                     const char *target) {
    return gated_with(ctx, policy, target, NULL);
}

static void is(const struct nvdp_gate_result *result, size_t i, bool pass, double found,
               const char *reason) {
    const struct nvdp_gate_check *check = &result->check[i];
    cr_expect_eq(check->passed, pass, "%s: %s", check->name, check->reason);
    if (!isnan(found))
        cr_expect_float_eq(check->found, found, 1e-9, "%s: %.17g", check->name, check->found);
    support_contains(check->reason, reason);
}

Test(gate, compares_a_run_and_its_file) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
    struct nvdp_context *ctx = support_context();
    char run[512], shared[512], policy[2048], *text = NULL;
    snprintf(run, sizeof run, "%s", task_run(ctx, "run", &choice, NULL));
    snprintf(shared, sizeof shared, "%s", support_scratch_path("a.h5"));
    const double epsilon = nvdp_gdp_epsilon(1, 1e-5), person = nvdp_gdp_epsilon(sqrt(2), 1e-5);
    /* the raw number is compared: a limit one part in 10^7 below it fails, whatever the table shows */
    snprintf(policy, sizeof policy,
             "{\"checks\": [{\"measure\": \"certified_epsilon\", \"at_most\": %.17g},\n"
             "{\"measure\": \"certified_epsilon\", \"at_most\": %.17g},\n"
             "{\"measure\": \"guess_bound\", \"baseline\": 0.5, \"at_most\": 0.7},\n"
             "{\"measure\": \"exact_epsilon\", \"at_most\": %.17g},\n"
             "{\"measure\": \"named_share\", \"at_most\": 0.999, \"at_least\": 0},\n"
             "{\"measure\": \"privacy.rd.sum.maxx\", \"at_most\": 1},\n"
             "{\"measure\": \"word_epsilon\", \"at_most\": 1},\n"
             "{\"measure\": \"person_epsilon\", \"at_most\": 100},\n"
             "{\"attack\": \"attribute\", \"number\": \"accuracy\", \"at_most\": 0.9}]}",
             epsilon * (1 + 1e-9), epsilon * (1 - 1e-7), epsilon);
    struct nvdp_gate_result result = gated(ctx, policy, run);
    cr_assert_eq(result.checks, 9);
    is(&result, 0, true, epsilon, "");
    is(&result, 1, false, epsilon, "expected at most");
    is(&result, 2, true, nvdp_guess_bound(.5, .5, 1, 0), "");
    is(&result, 3, true, NAN, "");
    is(&result, 4, true, NAN, "");
    is(&result, 5, false, NAN, "no number 'maxx'; did you mean 'max'?");
    is(&result, 6, false, NAN, "");
    is(&result, 7, false, NAN, "expected the ledger of the releases, found none; export first");
    is(&result, 8, false, NAN, "not measured: --public: expected a file");
    cr_expect_not(result.passed);
    cr_expect_eq(result.failed, 5);
    ok(nvdp_result_text(ctx, &result, NULL, &text));
    support_contains(text, "measure");
    support_contains(text, "5 of 9 checks fail.");
    free(text);
    ok(nvdp_gate_junit(ctx, &result, "a<b>&\"c\"", &text));
    support_contains(text,
                     "<testsuite name=\"a&#60;b&#62;&#38;&#34;c&#34;\" tests=\"9\" failures=\"5\"");
    free(text);
    nvdp_result_free(&result);

    /* of a measured share the interval's ends are compared, and shown */
    snprintf(policy, sizeof policy,
             "{\"checks\": [{\"measure\": \"named_share\", \"at_most\": 0.999}]}");
    result = gated(ctx, policy, run);
    is(&result, 0, true, NAN, "");
    const double share = result.check[0].found;
    const struct nvdp_interval interval = result.check[0].interval;
    cr_assert(interval.low < share && share < interval.high);
    nvdp_result_free(&result);
    snprintf(policy, sizeof policy,
             "{\"checks\": [{\"measure\": \"named_share\", \"at_most\": %.17g},\n"
             "{\"measure\": \"named_share\", \"at_most\": %.17g},\n"
             "{\"measure\": \"named_share\", \"at_least\": %.17g, \"at_most\": 0.999},\n"
             "{\"measure\": \"named_share\", \"at_least\": %.17g, \"at_most\": 0.999},\n"
             "{\"measure\": \"certified_epsilon\", \"at_most\": 9}]}",
             share, interval.high, share, interval.low);
    result = gated(ctx, policy, run);
    is(&result, 0, false, share, "the upper end of the interval");
    is(&result, 1, true, share, "");
    is(&result, 2, false, share, "the lower end of the interval");
    is(&result, 3, true, share, "");
    cr_expect(isnan(result.check[4].interval.low) && isnan(result.check[4].interval.high));
    const char *shown = support_path("%.9g (%.9g to %.9g)", share, interval.low, interval.high);
    ok(nvdp_result_text(ctx, &result, NULL, &text));
    support_contains(text, shown);
    free(text);
    ok(nvdp_gate_junit(ctx, &result, "run", &text));
    support_contains(text, shown);
    free(text);
    ok(nvdp_result_json(ctx, &result, NULL, &text));
    nvdp__autoptr(json_decref) json_t *made = json_loads(text, 0, NULL);
    json_t *checks = json_object_get(made, "checks");
    cr_expect_float_eq(number_at(checks, "0/interval/1"), interval.high, 1e-12);
    cr_expect(json_is_null(support_at(checks, "4/interval")));
    free(text);
    nvdp_result_free(&result);

    const char *input = support_scratch_path("texts.tsv");
    support_write_text(input, "sentence\tlabel\tauthor\ngood cat\t1\tann\nbad cat\t0\tann\n");
    export_file(ctx, run, input, shared, (const char *const[]){"person", "author", NULL});
    static const char both[] =
        "{\"checks\": [{\"measure\": \"certified_epsilon\", \"at_most\": 9},\n"
        "{\"measure\": \"person_epsilon\", \"at_most\": 9},\n"
        "{\"measure\": \"person_guess\", \"texts\": 10, \"at_most\": 0.999},\n"
        "{\"measure\": \"exact_epsilon\", \"at_most\": 100},\n"
        "{\"measure\": \"verification.holds\", \"at_least\": 1}]}";
    const char *const targets[] = {run, shared};
    for (size_t i = 0; i < 2; i++) {
        result = gated(ctx, both, targets[i]);
        is(&result, 0, true, epsilon, "");
        is(&result, 1, i == 0, i == 0 ? person : NAN,
           i == 0 ? "" : "states no counts of its texts");
        is(&result, 2, i == 0, i == 0 ? nvdp_guess_bound(.1, sqrt(.5), 1, 0) : NAN, "");
        is(&result, 3, i == 0, NAN, i == 0 ? "" : "a shared file alone cannot show it");
        is(&result, 4, i == 1, NAN, i == 1 ? "" : "expected a shared file");
        nvdp_result_free(&result);
    }
    /* at another delta a Gaussian file shows its epsilon; the sums of a ledger hold at 1e-5 */
    result = gated(ctx,
                   "{\"delta\": 1e-6, \"checks\": [{\"measure\": \"certified_epsilon\", "
                   "\"at_most\": 9}, {\"measure\": \"person_epsilon\", \"at_most\": 9}]}",
                   shared);
    is(&result, 0, true, nvdp_gdp_epsilon(1, 1e-6), "");
    is(&result, 1, false, NAN, "states no counts of its texts");
    nvdp_result_free(&result);
    /* the samples of another file count in the run's ledger, which the file does not state */
    export_file(ctx, run, input, shared,
                (const char *const[]){"person", "author", "overwrite", "true", "budget-samples",
                                      "2", NULL});
    result = gated(ctx, both, shared);
    is(&result, 0, true, epsilon, "");
    nvdp_result_free(&result);
    /* beside a run, a file that proves less counts, and one that cannot be read fails every check */
    result = gated_with(ctx, both, run, shared);
    is(&result, 0, true, person, "");
    is(&result, 1, false, nvdp_gdp_epsilon(2, 1e-5), "expected at most 9");
    nvdp_result_free(&result);
    result = gated_with(ctx, both, run, "missing.h5");
    for (size_t i = 0; i < result.checks; i++)
        is(&result, i, false, NAN, "not measured: missing.h5: ");
    nvdp_result_free(&result);
    result = gated(ctx,
                   "{\"delta\": 1e-9, \"checks\": [{\"measure\": \"verification.epsilon\", "
                   "\"at_most\": 9}]}",
                   shared);
    is(&result, 0, false, NAN, "expected a delta of at least 1e-05");
    nvdp_result_free(&result);
    /* without a ledger nobody knows how many samples there are */
    export_file(ctx, run, input, support_scratch_path("uncounted.h5"),
                (const char *const[]){"no-ledger", "true", NULL});
    result = gated(ctx, both, support_scratch_path("uncounted.h5"));
    is(&result, 0, false, NAN, "no ledger counts it");
    nvdp_result_free(&result);
}

/* Beside a run, a file's samples count in every number: those that no ledger counts, and those that another ledger does. */
Test(gate, counts_a_file_that_the_ledger_of_the_run_lacks) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
    static const char of_run[] =
        "{\"releases\": 3, \"checks\": [{\"measure\": \"exact_epsilon\", \"at_most\": 100},\n"
        "{\"measure\": \"renyi_divergence\", \"at_most\": 100},\n"
        "{\"measure\": \"privacy.rd.sum.max\", \"at_most\": 100}]}";
    static const char policy[] =
        "{\"checks\": [{\"measure\": \"exact_epsilon\", \"at_most\": 100},\n"
        "{\"measure\": \"text_epsilon\", \"at_most\": 100}]}";
    struct nvdp_context *ctx = support_context();
    char run[512];
    snprintf(run, sizeof run, "%s", task_run(ctx, "run", &choice, NULL));
    const char *own = support_path("%s/ledger", run);
    const char *other = support_scratch_path("other");
    const char *input = support_scratch_path("texts.tsv"), *three = support_scratch_path("3.h5");
    support_write_text(input, "sentence\tlabel\tauthor\ngood cat\t1\tann\nbad cat\t0\tann\n");
    export_file(ctx, run, input, support_scratch_path("1.h5"), NULL);
    export_file(ctx, run, input, three,
                (const char *const[]){"no-ledger", "true", "samples", "3", NULL});
    struct nvdp_gate_result result = gated(ctx, of_run, run);
    const double exact = result.check[0].found;
    is(&result, 1, true, 3 * result.check[2].found, ""); /* divergences of samples add up */
    nvdp_result_free(&result);
    result = gated_with(ctx, policy, run, three);
    cr_expect_eq(result.releases, 3);
    is(&result, 0, true, exact, "");
    is(&result, 1, false, NAN, "no ledger counts it");
    nvdp_result_free(&result);
    /* more samples; more persons' texts; then the ledger that counts them */
    const char *const wanted[] = {"samples", "2", "ledger", other, "budget-samples", "3", NULL};
    const char *const named[] = {"person", "author", "ledger", other, "budget-samples", "3", NULL};
    for (size_t i = 0; i < 2; i++) {
        const char *shared = support_scratch_path(i == 0 ? "2.h5" : "named.h5");
        export_file(ctx, run, input, shared, i == 0 ? wanted : named);
        result = gated_with(ctx, policy, run, shared);
        is(&result, 1, false, NAN, "ledgers outside of the run count its releases");
        nvdp_result_free(&result);
        const char *const inner[] = {"shared", shared, "ledger", own, NULL};
        result = gated_more(ctx, policy, run, inner);
        is(&result, 1, false, NAN, "the ledger lists the file's release");
        nvdp_result_free(&result);
        const char *const more[] = {"shared", shared, "ledger", other, NULL};
        result = gated_more(ctx, policy, run, more);
        is(&result, 1, true, nvdp_gdp_epsilon(sqrt((double)(2 + i)), 1e-5), "");
        nvdp_result_free(&result);
    }
    /* a ledger with larger sums does not count a file either, unless it lists the file */
    const char *const once[] = {"ledger", support_scratch_path("third"), NULL};
    const char *const larger[] = {"shared", support_scratch_path("once.h5"), "ledger", other, NULL};
    export_file(ctx, run, input, larger[1], once);
    result = gated_more(ctx, policy, run, larger);
    is(&result, 1, false, NAN, "the ledger lists the file's release");
    nvdp_result_free(&result);
}

/* A ledger without persons shows no number of a person: the reason names the option. */
Test(gate, says_how_a_ledger_counts_persons) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
    struct nvdp_context *ctx = support_context();
    const char *run = task_run(ctx, "run", &choice, NULL),
               *input = support_scratch_path("texts.tsv");
    support_write_text(input, "sentence\tlabel\ngood cat\t1\n");
    export_file(ctx, run, input, support_scratch_path("shared.h5"), NULL);
    nvdp__autoresult struct nvdp_gate_result result =
        gated(ctx, "{\"checks\": [{\"measure\": \"person_epsilon\", \"at_most\": 9}]}", run);
    is(&result, 0, false, NAN, "the ledger counts no persons: export with the option person");
}

/* A text that a release without persons gives to nobody is missing in the sum of the person who wrote it. */
Test(gate, shows_no_number_of_a_person_that_lacks_texts) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
    static const char policy[] = "{\"checks\": [{\"measure\": \"text_epsilon\", \"at_most\": 9},\n"
                                 "{\"measure\": \"person_epsilon\", \"at_most\": 9}]}";
    struct nvdp_context *ctx = support_context();
    const char *run = task_run(ctx, "run", &choice, NULL),
               *input = support_scratch_path("texts.tsv");
    for (int more = 0; more < 2; more++) {
        support_write_text(input, more ? "sentence\tlabel\nred cat\t1\n"
                                       : "sentence\tlabel\tauthor\ngood cat\t1\tann\n");
        export_file(ctx, run, input, support_scratch_path(more ? "2.h5" : "1.h5"),
                    more ? NULL : (const char *const[]){"person", "author", NULL});
        nvdp__autoresult struct nvdp_gate_result result = gated(ctx, policy, run);
        is(&result, 0, true, NAN, "");
        is(&result, 1, !more, NAN, more ? "1 of the ledger's texts have no person" : "");
    }
}

/* Writes a ledger with one sample of one text, of a mechanism with this divergence at order 4. */
static const char *ledger_with(struct nvdp_context *ctx, double divergence) {
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
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
    struct nvdp_context *ctx = support_context();
    const char *run = task_run(ctx, "run", &choice, NULL);
    const double own = nvdp_gdp_epsilon(1, 1e-5);
    const double divergence = .99 * own - nvdp_renyi_epsilon(4, 0, 1e-5);
    const char *const more[] = {"ledger", ledger_with(ctx, divergence), NULL};
    cr_assert_gt(divergence, 0);
    for (double delta = 1e-5; delta > 1e-10; delta /= 1e4) {
        char policy[128];
        snprintf(
            policy, sizeof policy,
            "{\"delta\": %g, \"checks\": [{\"measure\": \"certified_epsilon\", \"at_most\": 50}]}",
            delta);
        nvdp__autoresult struct nvdp_gate_result result = gated_more(ctx, policy, run, more);
        is(&result, 0, true,
           fmax(nvdp_gdp_epsilon(1, delta), nvdp_renyi_epsilon(4, divergence, delta)), "");
    }
    cr_assert_lt(nvdp_gdp_epsilon(1, 1e-9), nvdp_renyi_epsilon(4, divergence, 1e-9));
}

/* Per word, the samples of a file and all that its ledger counts are compared, not those of the run alone. */
Test(gate, compares_the_proof_per_word) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_WORD, .latent_dim = 2, .epochs = 1, .clip_word = 0.25};
    static const char policy[] = "{\"checks\": [{\"measure\": \"word_epsilon\", \"at_most\": 2}]}";
    struct nvdp_context *ctx = support_context();
    const char *run = support_path("%s", task_run(ctx, "run", &choice, NULL));
    const char *shared = support_scratch_path("a.h5");
    const char *input = support_scratch_path("texts.tsv");
    support_write_text(input, "sentence\tlabel\ngood cat\t1\nbad cat\t0\n");
    struct nvdp_gate_result result = gated(ctx, policy, run);
    const double one = result.check[0].found; /* the clip is a little above .25, for rounding */
    is(&result, 0, true, NAN, "");
    cr_expect(one >= nvdp_gdp_epsilon(.5, 1e-5) && one < 1.0001 * nvdp_gdp_epsilon(.5, 1e-5));
    nvdp_result_free(&result);
    export_file(ctx, run, input, shared,
                (const char *const[]){"samples", "2", "budget-samples", "2", NULL});
    const double two = nvdp_gdp_epsilon(sqrt(2) * nvdp_gdp_mu(one, 1e-5), 1e-5); /* 2.9 */
    result = gated(ctx, policy, shared);
    is(&result, 0, false, two, "expected at most 2");
    nvdp_result_free(&result);
    result = gated_with(ctx, policy, run, shared);
    is(&result, 0, false, two, "expected at most 2");
    nvdp_result_free(&result);
    /* a file of another method proves nothing per word */
    static const struct run_choice other = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
    run = support_path("%s", task_run(ctx, "other", &other, NULL));
    export_file(ctx, run, input, support_scratch_path("b.h5"), NULL);
    result = gated(ctx, policy, support_scratch_path("b.h5"));
    is(&result, 0, false, NAN, "expected a finite number, found inf");
    nvdp_result_free(&result);
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
    static const char policy[] = "{\"checks\": [{\"measure\": \"word_epsilon\", \"at_most\": 2},\n"
                                 "{\"measure\": \"certified_epsilon\", \"at_most\": 30}]}";
    struct nvdp_context *ctx = support_context();
    const char *run = support_path("%s", task_run(ctx, "other", &other, NULL));
    const char *shared = support_scratch_path("other.h5");
    const char *input = support_scratch_path("texts.tsv");
    support_write_text(input, "sentence\tlabel\ngood cat\t1\n");
    export_file(ctx, run, input, shared, NULL);
    run = support_path("%s", task_run(ctx, "run", &mine, NULL));
    nvdp__autoresult struct nvdp_gate_result result = gated(ctx, policy, run);
    const double word = result.check[0].found, text = result.check[1].found;
    nvdp_result_free(&result);
    result = gated(ctx, policy, shared);
    cr_expect_lt(result.check[0].found, word);
    cr_expect_gt(result.check[1].found, text);
    const double larger = result.check[1].found;
    nvdp_result_free(&result);
    result = gated_with(ctx, policy, run, shared);
    is(&result, 0, true, word, "");
    is(&result, 1, false, larger, "expected at most 30");
}

/* Beside a run, the samples of a file count in the certificate of the run. */
Test(gate, counts_all_samples_of_a_file_beside_a_run) {
    static const struct run_choice
        small = {.method = NVDP_METHOD_VTDP, .kappa = 1, .epochs = 1, .clip_sequence = 0.5},
        large = {.method = NVDP_METHOD_VTDP, .kappa = 1, .epochs = 1, .clip_sequence = 0.9};
    static const char policy[] =
        "{\"checks\": [{\"measure\": \"certified_epsilon\", \"at_most\": 30},\n"
        "{\"measure\": \"guess_bound\", \"baseline\": 0.5, \"at_most\": 0.9}]}";
    struct nvdp_context *ctx = support_context();
    const char *run = support_path("%s", task_run(ctx, "small", &small, NULL));
    const char *input = support_scratch_path("texts.tsv");
    support_write_text(input, "sentence\tlabel\ngood cat\t1\n");
    const char *shared = support_scratch_path("a.h5");
    export_file(ctx, run, input, shared,
                (const char *const[]){"budget-samples", "2", "samples", "2", NULL});
    struct nvdp_gate_result result = gated(ctx, policy, shared);
    const double least = result.check[0].found, bound = result.check[1].found;
    nvdp_result_free(&result);
    run = support_path("%s", task_run(ctx, "large", &large, NULL));
    result = gated(ctx, policy, run);
    const double most = result.check[0].found;
    is(&result, 1, true, NAN, "");
    cr_expect_lt(least, most);
    cr_expect_float_eq(bound, nvdp_guess_bound(.5, .5, 2, 0), 1e-9);
    nvdp_result_free(&result);
    result = gated_with(ctx, policy, run, shared);
    is(&result, 0, true, NAN, "");
    cr_expect_gt(result.check[0].found, most); /* two samples count */
    is(&result, 1, true, nvdp_guess_bound(.5, .9, 2, 0), "");
    nvdp_result_free(&result);
}

/* A number that is not finite fails, and so does everything of a run without noise. */
Test(gate, what_is_not_proven_fails) {
    static const struct run_choice choice = {.method = NVDP_METHOD_VTDP, .kappa = 1, .epochs = 1};
    struct nvdp_context *ctx = support_context();
    nvdp__autoresult struct nvdp_gate_result result =
        gated(ctx,
              "{\"checks\": [{\"measure\": \"certified_epsilon\", \"at_most\": 1e300},\n"
              "{\"measure\": \"certified_epsilon\", \"at_most\": 1e300, \"at_least\": 1},\n"
              "{\"measure\": \"guess_bound\", \"texts\": 100, \"at_most\": 0.999}]}",
              task_run(ctx, "run", &choice, NULL));
    is(&result, 0, false, NAN, "expected a finite number, found inf");
    is(&result, 1, false, NAN, "expected a finite number, found inf");
    is(&result, 2, false, NAN, "");
    cr_expect_neq(result.check[2].reason[0], '\0');
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
static void make_prior(struct nvdp_context *ctx) {
    const char *const texts[] = {write_different("plain.txt", 3000, 100, false)};
    struct nvdp__pretrain_options config = toy_config(texts, support_scratch_path("prior"));
    FREED(nvdp_result_free)
    struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);
    char *pieces = support_read(support_scratch_path("data/vocab.txt"));
    FILE *file = fopen(support_scratch_path("vocabulary.txt"), "w");
    fputs(pieces, file);
    for (int i = 0; i < 32; i++)
        fprintf(file, "unseen%d\n", i);
    fclose(file);
    config.vocab = support_scratch_path("vocabulary.txt");
    config.steps = 20;
    config.hidden = 32;
    config.length = 8;
    config.max_positions = 40;
    ok(nvdp__pretrain(ctx, &config, &result));
}

/* Gates a run's `texts` different dev texts, with 200 public ones. */
static struct nvdp_gate_result attacked(struct nvdp_context *ctx, const char *policy,
                                        const char *run, size_t texts) {
    struct nvdp_gate_result result = NVDP_RESULT(struct nvdp_gate_result);
    struct nvdp_config *config = NULL;
    mkdir(support_scratch_path("many"), 0777);
    write_different("many/dev.tsv", 0, texts, true);
    const char *const option[][2] = {{"policy", policy},
                                     {"target", run},
                                     {"data", support_scratch_path("many")},
                                     {"public", write_different("public.tsv", 2000, 200, true)},
                                     {"prior", support_scratch_path("prior")}};
    ok(nvdp_config_create(ctx, "gate", &config));
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        support_set(ctx, config, option[i][0], option[i][1]);
    ok(nvdp_gate(ctx, config, &result));
    nvdp_config_free(config);
    return result;
}

/* Writes the policy `attacks` with a shorter training of invert; returns the path. */
static const char *short_policy(void) {
    const struct nvdp__preset *of = nvdp__policies;
    while (strcmp(of->name, "attacks") != 0)
        of++;
    json_t *check;
    nvdp__autoptr(json_decref) json_t *policy = json_loads(of->text, 0, NULL);
    size_t i;
    json_array_foreach(json_object_get(policy, "checks"), i, check) {
        json_t *options = json_object_get(check, "options");
        if (options == NULL) continue;
        cr_expect_str_eq(text_at(check, "attack"), "invert");
        json_object_update_new(options,
                               json_pack("{s:i, s:i, s:i}", "limit", 60, "steps", 20, "search", 0));
    }
    nvdp__autofree char *text = json_dumps(policy, 0);
    const char *path = support_scratch_path("short.json");
    support_write_text(path, text);
    return path;
}

/* The policy `attacks` passes a run that reveals almost nothing.  A run whose noise has the deviation .001, of which
 * nothing is proven, fails every check. */
Test(gate, attacks_pass_a_harmless_run_alone) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .epochs = 1, .clip_sequence = .05};
    struct nvdp_context *ctx = support_context();
    for (int open = 0; open < 2; open++) {
        const char *run = task_run(ctx, "run", &choice, NULL);
        if (open) {
            struct task task = task_make(ctx);
            struct nvdp__train_options config = task_config(&task, choice.method, run);
            config.epochs = 1;
            config.overwrite = true;
            config.nvib.vib.sigma = 1e-3;
            (void)task_train(ctx, &config);
        } else {
            make_prior(ctx);
        }
        struct nvdp_gate_result result = attacked(ctx, short_policy(), run, 400);
        cr_assert_eq(result.checks, 7);
        for (size_t i = 0; i < result.checks; i++)
            is(&result, i, !open, NAN, open ? "expected at most" : "");
        nvdp_result_free(&result);
        if (!open) continue;
        /* an attack that shows more than is promised fails, whatever its number is */
        result = gated(
            ctx,
            "{\"checks\": [{\"attack\": \"pair\", \"number\": \"pairs.right\", \"at_most\": 1,"
            " \"options\": {\"claimed\": 0.001, \"pairs\": 2, \"samples\": 1000}}]}",
            run);
        is(&result, 0, false, NAN, "VIOLATION");
        nvdp_result_free(&result);
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
    nvdp__autoptr(json_decref) json_t *all = json_loads(header, 0, NULL);
    json_t *at = json_object_get(json_object_get(all, name), "data_offsets");
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
        "{\"checks\": [{\"attack\": \"membership\", \"number\": \"AUC\", \"at_most\": 0.999},\n"
        "{\"attack\": \"membership\", \"number\": \"members\", \"at_least\": 0}]}";
    struct nvdp_context *ctx = support_context();
    const char *path = support_scratch_path("policy.json");
    const char *run = task_run(ctx, "run", &choice, NULL);
    support_write_text(path, policy);
    struct nvdp_gate_result result = attacked(ctx, path, run, 80);
    is(&result, 0, true, NAN, "");
    is(&result, 1, true, NAN, "");
    nvdp_result_free(&result);
    const char *weights = support_path("%s/model/model.safetensors", run);
    clear_tensor(weights, "vib.mu.weight");
    result = attacked(ctx, path, run, 80);
    is(&result, 0, false, NAN, "the attacker is too weak for a conclusion");
    is(&result, 1, true, NAN, "");
    nvdp_result_free(&result);
}

/* Writes n texts as the dev split of a new folder; returns the folder. */
static const char *make_split(const char *name, size_t n) {
    const char *folder = support_scratch_path(name);
    mkdir(folder, 0777);
    const char *path = support_path("%s/dev.tsv", name);
    write_different(path, 0, n, true);
    return folder;
}

/* An attack that reads fewer samples of a text than count is no measurement of them. With a file, attacks read all of
 * its samples. */
Test(gate, attacks_read_all_samples_that_count) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
    static const char policy[] =
        "{\"releases\": %d, \"checks\": [{\"attack\": \"token\", \"number\": \"first\", "
        "\"at_most\": 0.999, \"options\": {\"seeds\": 1, \"limit\": 20}},\n"
        "{\"attack\": \"reidentify\", \"number\": \"releases\", \"at_most\": 1e6},\n"
        "{\"attack\": \"bag\", \"number\": \"releases\", \"at_most\": 1e6},\n"
        "{\"attack\": \"reidentify\", \"number\": \"first\", \"at_most\": 0.9999,"
        " \"options\": {\"releases\": 1}}]}";
    struct nvdp_context *ctx = support_context();
    const char *run = task_run(ctx, "run", &choice, NULL), *data = make_split("few", 60),
               *known = write_different("public.tsv", 2000, 30, true),
               *shared = support_scratch_path("three.h5");
    export_file(ctx, run, support_scratch_path("few/dev.tsv"), shared,
                (const char *const[]){"samples", "3", "no-ledger", "true", NULL});
    static const int count[] = {2, 2, 4};
    for (size_t i = 0; i < 3; i++) {
        const char *const more[] = {"data", data, "public", known, "shared", i == 0 ? NULL : shared,
                                    NULL};
        char text[1024], few[2][80];
        snprintf(text, sizeof text, policy, count[i]);
        nvdp__autoresult struct nvdp_gate_result result = gated_more(ctx, text, run, more);
        const int counted = i == 1 ? 3 : count[i], read = i == 0 ? 2 : 3;
        snprintf(few[0], sizeof few[0], "not measured: the attack reads 1 of the %d samples",
                 counted);
        snprintf(few[1], sizeof few[1], "not measured: the attack reads 3 of the %d samples",
                 counted);
        cr_expect_eq(result.releases, (size_t)counted);
        for (size_t k = 0; k < 4; k++) {
            const int reads = k == 0 || k == 3 ? 1 : read;
            const bool all = reads == counted;
            is(&result, k, all, all && (k == 1 || k == 2) ? reads : NAN, all ? "" : few[reads > 1]);
        }
    }
}

/* --- what a pass is about --- */

/* Measures a run's texts as nvdp privacy --exact, and keeps the record with an epsilon of 0.25, which no text has. */
static void keep_record(struct nvdp_context *ctx, const char *run, const char *data) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    nvdp__autoresult struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    nvdp__autofree char *text = NULL, *name = NULL;
    ok(nvdp_config_create(ctx, "run,privacy", &config));
    support_set(ctx, config, "run", run);
    support_set(ctx, config, "data", data);
    support_set(ctx, config, "exact", "true");
    ok(nvdp_run_posteriors(ctx, config, &posteriors));
    ok(nvdp_privacy_measure(ctx, posteriors, config, NULL, &report));
    report.exact->worst.epsilon = .25;
    ok(nvdp_result_json(ctx, &report, NULL, &text));
    ok(nvdp_measured_name(ctx, config, "privacy", &name));
    const char *path = support_path("%s/%s", run, name);
    support_write_text(path, text);
}

/* A record counts only for the texts and the model that it is of: not for another folder, nor for other texts in the same
 * folder. */
Test(gate, uses_records_of_the_same_texts_alone) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
    static const char policy[] =
        "{\"checks\": [{\"measure\": \"exact_epsilon\", \"at_most\": 100}]}";
    struct nvdp_context *ctx = support_context();
    const char *run = task_run(ctx, "run", &choice, NULL);
    const char *data = make_split("few", 12);
    struct {
        const char *data;
        bool record;
    } cases[] = {{data, true}, {NULL, false}, {data, false}};
    keep_record(ctx, run, data);
    for (size_t i = 0; i < 3; i++) {
        const char *const more[] = {"data", cases[i].data, NULL};
        if (i == 2) make_split("few", 14); /* other texts under the same path */
        nvdp__autoresult struct nvdp_gate_result result = gated_more(ctx, policy, run, more);
        is(&result, 0, true, NAN, "");
        cr_expect_eq(result.check[0].found == .25, cases[i].record, "case %zu: %g", i,
                     result.check[0].found);
    }
}

/* All samples of a text that the ledger counts are proven together, whatever mechanisms they are of. */
Test(gate, counts_the_samples_that_are_released) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
    static const struct run_choice noisy = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.25, .epochs = 1};
    static const char one[] =
        "{\"checks\": [{\"measure\": \"certified_epsilon\", \"at_most\": 100},\n"
        "{\"measure\": \"guess_bound\", \"baseline\": 0.5, \"at_most\": 0.999}]}";
    static const char four[] =
        "{\"releases\": 4, \"checks\": [{\"measure\": \"certified_epsilon\", \"at_most\": 100},\n"
        "{\"measure\": \"guess_bound\", \"baseline\": 0.5, \"at_most\": 0.999}]}";
    struct nvdp_context *ctx = support_context();
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    char ledger[600];
    const char *run = task_run(ctx, "run", &choice, NULL),
               *other = task_run(ctx, "other", &noisy, NULL),
               *shared = support_scratch_path("a.h5"), *input = support_scratch_path("texts.tsv");
    support_write_text(input, "sentence\tlabel\ngood cat\t1\nbad cat\t0\n");
    snprintf(ledger, sizeof ledger, "%s/ledger", run);
    ok(nvdp_config_create(ctx, "export", &config));
    support_set(ctx, config, "run", run);
    support_set(ctx, config, "input", input);
    support_set(ctx, config, "budget-samples", "2");
    support_set(ctx, config, "overwrite", "true");
    support_set(ctx, config, "out", shared);
    const char *const targets[] = {run, shared};
    for (size_t times = 1; times <= 2; times++) {
        ok(nvdp_export(ctx, config, NULL));
        struct nvdp_gate_result result = gated(ctx, one, run);
        is(&result, 0, true, nvdp_gdp_epsilon(sqrt((double)times), 1e-5), "");
        is(&result, 1, true, nvdp_guess_bound(.5, sqrt((double)times) / 2, 1, 0), "");
        cr_expect_eq(result.releases, times);
        nvdp_result_free(&result);
        /* the policy may want more samples than there are, of a run and of a file */
        for (size_t i = 0; i < 2; i++) {
            result = gated(ctx, four, targets[i]);
            is(&result, 0, true, nvdp_gdp_epsilon(2, 1e-5), "");
            is(&result, 1, true, nvdp_guess_bound(.5, 1, 1, 0), "");
            cr_expect_eq(result.releases, 4);
            nvdp_result_free(&result);
        }
    }
    /* The ledger of both runs: a text has 2 samples of one and 1 of the other, more than 3 of the other. */
    struct nvdp_config *second =
        support_config(ctx, "export", "run", other, "input", input, "budget-samples", "3", "ledger",
                       ledger, "out", support_scratch_path("b.h5"), NULL);
    ok(nvdp_export(ctx, second, NULL));
    const char *const more[] = {"ledger", ledger, NULL};
    struct nvdp_gate_result result = gated_more(ctx, one, other, more);
    const double epsilon = nvdp_gdp_epsilon(1.5, 1e-5), delta = 1e-5;
    is(&result, 0, true, epsilon, "");
    is(&result, 1, false, nvdp__guess_from_curve(.5, 1, &epsilon, &delta), "expected at most");
    nvdp_result_free(&result);
    /* the other run remembers that a ledger elsewhere counts */
    result = gated(ctx, one, other);
    is(&result, 0, false, NAN, "ledgers outside of the run count its releases");
    nvdp_result_free(&result);
    /* a ledger that is gone, or was cut, while its key is there hides samples */
    for (int empty = 0; empty < 2; empty++) {
        const char *aside = support_path("%s.aside", ledger);
        cr_assert_eq(rename(ledger, aside), 0);
        if (empty) support_write(ledger, "", 0);
        result = gated(ctx, one, run);
        is(&result, 0, false, NAN, "expected the ledger of the key");
        nvdp_result_free(&result);
        cr_assert_eq(rename(aside, ledger), 0);
    }
    /* a ledger that cannot be read hides samples */
    snprintf(ledger, sizeof ledger, "%s/ledger.key", run);
    cr_assert_eq(remove(ledger), 0);
    result = gated(ctx,
                   "{\"checks\": [{\"measure\": \"certified_epsilon\", \"at_most\": 100},\n"
                   "{\"measure\": \"exact_epsilon\", \"at_most\": 100},\n"
                   "{\"attack\": \"reidentify\", \"number\": \"releases\", \"at_most\": 9}]}",
                   run);
    for (size_t i = 0; i < 3; i++)
        is(&result, i, false, NAN, "not measured: ");
    nvdp_result_free(&result);
}

/* The number of texts is the policy's to choose, and shown with split, delta and samples. */
Test(gate, shows_and_limits_the_number_of_texts) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};
    static const struct {
        const char *policy, *limit, *error, *reason;
    } cases[] = {
        {"", "10", "limit: expected 0, all texts, as the policy has no key min_texts; found 10",
         NULL},
        {"\"min_texts\": 11, ", "10",
         "limit: expected 0, all texts, or at least 11, min_texts of the policy; found 10", NULL},
        {"\"min_texts\": 10, ", "10", NULL, ""},
        {"\"min_texts\": 13, ", NULL, NULL,
         "expected at least 13 texts, as min_texts of the policy, found 12"},
        {"\"min_texts\": 12, \"delta\": 0.001, ", NULL, NULL, ""}};
    struct nvdp_context *ctx = support_context();
    const char *run = task_run(ctx, "run", &choice, NULL);
    const char *data = make_split("few", 12);
    char policy[256], *text = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const more[] = {"data", data, "limit", cases[i].limit, NULL};
        snprintf(policy, sizeof policy,
                 "{%s\"checks\": [{\"measure\": \"exact_epsilon\", \"at_most\": 100}]}",
                 cases[i].policy);
        if (cases[i].error != NULL) {
            refused(ctx, policy, run, more, cases[i].error);
            continue;
        }
        nvdp__autoresult struct nvdp_gate_result result = gated_more(ctx, policy, run, more);
        is(&result, 0, *cases[i].reason == '\0', NAN, cases[i].reason);
        cr_expect_eq(result.check[0].texts, cases[i].limit != NULL ? 10 : 12);
        if (i == 4) {
            ok(nvdp_result_text(ctx, &result, NULL, &text));
            support_contains(text, " texts  pass\n");
            support_contains(text, "     12  yes\n");
            support_contains(
                text, "For one sample of a text, at delta 0.001; measured on the split dev.");
            free(text);
            ok(nvdp_result_json(ctx, &result, NULL, &text));
            nvdp__autoptr(json_decref) json_t *made = json_loads(text, 0, NULL);
            json_t *check = support_at(made, "checks/0");
            cr_expect_eq(number_at(made, "delta"), .001);
            cr_expect_eq(integer_at(made, "releases"), 1);
            cr_expect_str_eq(text_at(made, "split"), "dev");
            cr_expect_eq(integer_at(check, "texts"), 12);
            free(text);
            ok(nvdp_gate_junit(ctx, &result, "run", &text));
            support_contains(text, "<property name=\"delta\" value=\"0.001\"/>");
            support_contains(text, "<property name=\"releases\" value=\"1\"/>");
            support_contains(text, "<property name=\"split\" value=\"dev\"/>");
            support_contains(text, "<system-out>limit: at most 100; found: ");
            support_contains(text, "; texts: 12</system-out>");
            free(text);
        }
    }
}
