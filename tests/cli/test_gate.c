/* Tests of nvdp gate: exit codes, the table, JSON and JUnit XML, and exports by person. */
#include "program.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(gate, passes_and_fails_a_release) {
    char run[512], shared[512], xml[512], policy[512], texts[512];
    snprintf(run, sizeof run, "%s", support_scratch_path("run"));
    snprintf(shared, sizeof shared, "%s", support_scratch_path("shared.h5"));
    snprintf(xml, sizeof xml, "%s", support_scratch_path("gate.xml"));
    snprintf(policy, sizeof policy, "%s", support_scratch_path("policy.json"));
    snprintf(texts, sizeof texts, "%s", support_scratch_path("texts.tsv"));
    support_write_text(texts, "sentence\tlabel\tpatient\ngood cat\t1\t7\nbad cat\t0\t7\n");
    struct outcome o = program_expect(0, "train %s --method vib-fixed --clip-sequence 0.5 --out %s",
                                      program_train_options(), run);
    program_release(&o);
    o = program_expect(2, "export %s --input %s --out %s --person-epsilon 9", run, texts, shared);
    support_contains(o.err, "option --person-epsilon needs --person");
    program_release(&o);
    o = program_expect(2, "export %s --input %s --out %s --person patient --no-ledger", run, texts,
                       shared);
    support_contains(o.err, "option --no-ledger excludes --person and --receiver");
    program_release(&o);
    o = program_expect(1, "export %s --input %s --out %s --person patient --person-epsilon 6", run,
                       texts, shared);
    support_contains(o.err, "1 of 1 persons exceed the budget. Nothing was drawn; --person-epsilon "
                            "6.573 allows the export");
    cr_assert_neq(access(shared, F_OK), 0);
    program_release(&o);
    o = program_expect(0, "export %s --input %s --out %s --person patient --receiver clinic", run,
                       texts, shared);
    support_contains(o.out, "persons           1; up to 2 texts and 2 samples of one\n");
    support_contains(o.out, "person's epsilon  6.573 at delta 1e-05");
    support_contains(o.out, "a single receiver epsilon up to 4.378 for a text, up to 6.573 for a "
                            "person (of 1 receiver)");
    program_release(&o);
    o = program_expect(0, "info %s/ledger", run);
    support_contains(o.out, "texts                    2\n");
    program_release(&o);
    o = program_expect(0, "privacy %s --certify --json", run);
    json_t *object = program_object(&o);
    cr_expect_float_eq(
        support_number(json_object_get(json_object_get(json_object_get(object, "ledger"), "person"),
                                       "epsilon")),
        6.573, 1e-3);
    json_decref(object);
    program_release(&o);

    o = program_expect(0, "gate certified %s --junit %s", run, xml);
    support_contains(o.out, "measure               limit            found   texts  pass\n"
                            "certified_epsilon     at most 8        4.378       -  yes\n");
    support_contains(o.out, "For one sample of a text, at delta 1e-05; measured on the split dev.\n"
                            "All 4 checks pass.\n");
    program_release(&o);
    char *text = support_read(xml);
    support_contains(text, "tests=\"4\" failures=\"0\"");
    support_contains(text, "<system-out>limit: at most 8; found: 4.378; texts: -</system-out>");
    free(text);
    o = program_expect(1, "gate attacks %s --json", shared);
    object = program_object(&o);
    cr_expect(json_is_false(json_object_get(object, "passed")));
    cr_expect_eq(json_integer_value(json_object_get(object, "failed")), 7);
    json_decref(object);
    program_release(&o);
    support_write_text(policy,
                       "{\"checks\": [\n {\"measure\": \"certified_epsilon\", \"atmost\": 1}]}");
    o = program_expect(3, "gate %s %s", policy, run);
    support_contains(o.err, "policy.json:2: unknown key 'atmost'; did you mean 'at_most'?");
    program_release(&o);
    o = program_expect(2, "gate %s", policy);
    support_contains(o.err, "expected POLICY.json, and RUN or FILE");
    program_release(&o);
    o = program_expect(2, "gate %s %s %s", policy, run, run);
    support_contains(o.err, "unexpected argument");
    program_release(&o);
    o = program_expect(2, "gate %s %s --junit %s", policy, run, policy);
    program_release(&o);
}
