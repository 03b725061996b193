/* nvdp account: TF-Privacy's figures, budgets, the statement, refusals. */
#include "program.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static double number(const json_t *object, const char *part, const char *key) {
    return json_number_value(json_object_get(json_object_get(object, part), key));
}

/* Prints what the object says, and the settings again. */
Test(account, json) {
    struct outcome outcome = program_expect(
        0, "account --noise 1.3 --sample-rate 0.0025 --steps 6000 --delta 1e-5 --json");
    json_t *made = program_object(&outcome);
    cr_expect_float_eq(number(made, "rdp", "epsilon"), 0.7242234026, 1e-9);
    cr_expect_eq(number(made, "rdp", "order"), 19);
    cr_expect(number(made, "pld", "epsilon") > .639 && number(made, "pld", "epsilon") < .6405);
    cr_expect_eq(number(made, "settings", "noise"), 1.3);
    cr_expect_eq(number(made, "settings", "steps"), 6000);
    support_contains(json_string_value(json_object_get(made, "statement")), "epsilon 0.640");
    json_decref(made);
    program_release(&outcome);
}

Test(account, table_and_statement) {
    struct outcome outcome =
        program_expect(0, "account --noise 0.65 --sample-rate 0.0025 --steps 6000 "
                          "--shards 4 --clip 0.1 --examples 60000");
    static const char *const said[] = {"of all shards     1.3\n",
                                       "0.724223, optimal order 19",
                                       "15 epochs",
                                       "norm 0.1",
                                       "60000 examples",
                                       "4 workers"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        support_contains(outcome.out, said[i]);
    cr_assert_str_empty(outcome.err);
    program_release(&outcome);
}

/* The noise that is told for a budget keeps it, as printed. */
Test(account, budget) {
    struct outcome outcome =
        program_expect(0, "account --epsilon 3 --sample-rate 0.01 --steps 500 --delta 1e-6 --json");
    json_t *made = program_object(&outcome);
    const double noise = number(made, "settings", "noise");
    cr_expect(number(made, "pld", "epsilon") <= 3 && number(made, "pld", "epsilon") > 2.99);
    json_decref(made);
    program_release(&outcome);
    outcome = program_expect(
        0, "account --noise %g --sample-rate 0.01 --steps 500 --delta 1e-6 --json", noise);
    made = program_object(&outcome);
    cr_expect(number(made, "pld", "epsilon") <= 3);
    json_decref(made);
    program_release(&outcome);
}

Test(account, refusals) {
    static const struct {
        const char *args, *message;
    } wrong[] = {
        {"--noise 1 --steps 5", "option --sample-rate is needed"},
        {"--noise 1 --sample-rate .1", "option --steps is needed"},
        {"--sample-rate .1 --steps 5", "expected --noise or --epsilon"},
        {"--noise 1 --epsilon 1 --sample-rate .1 --steps 5", "and not both"},
        {"--noise 0 --sample-rate .1 --steps 5", "--noise: expected a number above 0, found 0"},
        {"--noise=-1 --sample-rate .1 --steps 5", "--noise: expected a number above 0, found -1"},
        {"--noise 1 --sample-rate 1.5 --steps 5", "--sample-rate: expected a number in (0, 1]"},
        {"--noise 1 --sample-rate .1 --steps 5 --delta 0", "--delta: expected a number in (0, 1)"},
        {"--noise 1 --sample-rate .1 --steps 5 --examples 200000", "less than 1/N = 5e-06"},
        {"--noise 1 --vocab-epsilon=-2 --sample-rate .1 --steps 5", "epsilon beside: expected"},
        {"--epsilon inf --sample-rate .1 --steps 5", "--epsilon: expected a number above 0"},
        {"--epsilon 1 --vocab-epsilon 2 --sample-rate .1 --steps 5", "some noise up to 1e6"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct outcome outcome = program_expect(2, "account %s", wrong[i].args);
        support_contains(outcome.err, wrong[i].message);
        program_release(&outcome);
    }
    struct outcome outcome = program_expect(0, "account --noise 1 --sample-rate .1 --steps 5 "
                                               "--examples 200000 --allow-weak-delta");
    support_contains(outcome.out, "delta is not");
    program_release(&outcome);
}
