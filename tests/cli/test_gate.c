/* Tests of nvdp gate: exit codes, the table, JSON and JUnit XML, and exports by person. */
#include "program.h"

#include <unistd.h>

Test(gate, passes_and_fails_a_release) {
    support_file("texts.tsv", "sentence\tlabel\tpatient\ngood cat\t1\t7\nbad cat\t0\t7\n");
    program_expect(0, "train $TINY --method vib-fixed --clip-sequence 0.5 --out $DIR/run");
    program_says(2, "option --person-epsilon needs --person",
                 "export $DIR/run --input $DIR/texts.tsv --out $DIR/shared.h5 --person-epsilon 9");
    program_says(
        2, "option --no-ledger excludes --person and --receiver",
        "export $DIR/run --input $DIR/texts.tsv --out $DIR/shared.h5 --person patient --no-ledger");
    program_says(1,
                 "1 of 1 persons exceed the budget. Nothing was drawn; --person-epsilon "
                 "6.573 allows the export",
                 "export $DIR/run --input $DIR/texts.tsv --out $DIR/shared.h5 --person patient "
                 "--person-epsilon 6");
    cr_assert_neq(access(support_scratch_path("shared.h5"), F_OK), 0);
    struct outcome o = program_expect(0, "export $DIR/run --input $DIR/texts.tsv --out "
                                         "$DIR/shared.h5 --person patient --receiver clinic");
    support_contains(o.out, "persons           1; up to 2 texts and 2 samples of one\n",
                     "person's epsilon  6.573 at delta 1e-05",
                     "a single receiver epsilon up to 4.378 for a text, up to 6.573 for a "
                     "person (of 1 receiver)");
    program_prints(0, "texts                    2\n", "info $DIR/run/ledger");
    json_t *object = program_json("privacy $DIR/run --certify --json");
    cr_expect_float_eq(support_number(support_at(object, "ledger/person/epsilon")), 6.573, 1e-3);

    o = program_expect(0, "gate certified $DIR/run --junit $DIR/gate.xml");
    support_contains(o.out,
                     "measure               limit            found   texts  pass\n"
                     "certified_epsilon     at most 8        4.378       -  yes\n",
                     "For one sample of a text, at delta 1e-05; measured on the split dev.\n"
                     "All 4 checks pass.\n");
    support_contains(support_read(support_scratch_path("gate.xml")), "tests=\"4\" failures=\"0\"",
                     "<system-out>limit: at most 8; found: 4.378; texts: -</system-out>");
    o = program_expect(1, "gate attacks $DIR/shared.h5 --json");
    object = program_object(&o);
    support_has(object, "{'passed': false, 'failed': 7}");
    support_write_text(support_scratch_path("policy.json"),
                       "{\"checks\": [\n {\"measure\": \"certified_epsilon\", \"atmost\": 1}]}");
    program_says(3, "policy.json:2: unknown key 'atmost'; did you mean 'at_most'?",
                 "gate $DIR/policy.json $DIR/run");
    program_says(2, "expected POLICY.json, and RUN or FILE", "gate $DIR/policy.json");
    program_says(2, "unexpected argument", "gate $DIR/policy.json $DIR/run $DIR/run");
    program_expect(2, "gate $DIR/policy.json $DIR/run --junit $DIR/policy.json");
}
