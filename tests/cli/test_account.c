/* Tests of nvdp account for a run. The others are in account.txt. */
#include "program.h"

static double number(const json_t *object, const char *part, const char *key) {
    return json_number_value(json_object_get(json_object_get(object, part), key));
}

static double part(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

/* Private training ends with its account, and `account` and `privacy` of the run print it too, as text and as JSON. A
 * default delta is explained. */
Test(account, of_a_run) {
    static const char *const said[] = {"private training  epsilon 3 at delta ",
                                       ", adjacency zero-out, mu ",
                                       "delta is half of 1/N for ",
                                       "because --target-delta was not given",
                                       "the number N of examples is public",
                                       ("membership        a guess whether an example was trained "
                                        "on that is right 50 % of the time")};
    struct outcome outcome = program_expect(
        0,
        "train $TINY --method base --epochs 1 --dp-batch 20 --target-epsilon 3 --out $DIR/private");
    const char *line = strstr(outcome.out, said[0]);
    cr_assert_not_null(line, "%s", outcome.out);
    nvdp__autofree char *lines = strdup(line);
    static const char *const commands[] = {"account", "privacy"};
    json_t *made[2];
    for (int k = 0; k < 2; k++) {
        outcome = program_expect(0, "%s $DIR/private", commands[k]);
        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
            support_contains(outcome.out, said[i]);
        support_contains(outcome.out, lines);
        json_t *object = program_json("%s $DIR/private --json", commands[k]);
        made[k] = json_incref(k == 0 ? object : json_object_get(object, "training"));
        cr_expect_str_eq(text_at(made[k], "adjacency"), "zero-out");
        cr_expect(part(made[k], "epsilon") > 2.99 && part(made[k], "epsilon") <= 3);
        cr_expect_gt(part(made[k], "mu"), 0);
        cr_expect_gt(part(made[k], "replaced_epsilon"), 3);
        cr_expect_float_eq(2 * part(made[k], "delta") * part(made[k], "examples"), 1, 1e-9);
        const double bound = number(made[k], "membership", "bound");
        cr_expect(bound > 0.5 && bound < 1, "%g", bound);
    }
    support_contains(text_at(made[0], "statement"),
                     "An example is one text or pair of texts of the train file. ",
                     "the probability is B/N");
    json_decref(made[0]);
    json_decref(made[1]);
    program_says(2, "option --noise does not apply to a run", "account $DIR/private --noise 1");

    /* With a bottleneck the account is next to the measurement. A delta that was given is not explained. */
    outcome = program_expect(0, "train $TINY --method vib-learned --epochs 1 --dp-sample-rate 0.2 "
                                "--dp-noise 1 --target-delta 1e-3 --out $DIR/noisy");
    support_contains(outcome.out, "at delta 0.001, adjacency zero-out, mu ");
    support_lacks(outcome.out, "half of 1/N");
    program_prints(0, "at delta 0.001, adjacency zero-out, mu ", "privacy $DIR/noisy");
    program_prints(0, "divided by Q N", "account $DIR/noisy");

    outcome = program_expect(0, "train $TINY --method base --epochs 1 --out $DIR/bare --quiet");
    support_lacks(outcome.out, "private training");
    outcome = program_expect(1, "account $DIR/bare");
    support_contains(outcome.err, "the training texts have no guarantee",
                     "How much a sample reveals about a text: nvdp privacy ");
    program_says(1, "no such directory", "account $DIR/nowhere");
    program_says(3, "expected the folder of a run or of a model", "account $DIR");
}
