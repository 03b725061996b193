/* Compares nvdp tokenize with golden lines. The other tests are in tokenize.txt. */
#include "program.h"

/* Compares with an independent implementation (Hugging Face). */
Test(tokenize, golden_lines) {
    const char *golden = support_shared("golden/tokenizer.jsonl");
    const char *model = support_shared("data/bert/bert-base-uncased");
    struct outcome outcome = program_expect(0, "tokenize --model %s --jsonl <%s", model, golden);
    FILE *expected = fopen(golden, "rb");
    cr_assert_not_null(expected);
    nvdp__autofree char *line = NULL;
    size_t room = 0;
    char *at = outcome.out;
    for (int number = 1; getline(&line, &room, expected) > 0; number++) {
        nvdp__autoptr(json_decref) json_t *want = json_loads(line, JSON_ALLOW_NUL, NULL);
        json_t *got = json_loadb(at, strcspn(at, "\n"), 0, NULL);
        cr_assert_not_null(got, "line %d is missing", number);
        cr_expect(json_equal(json_object_get(want, "input_ids"), json_object_get(got, "input_ids")),
                  "line %d: %s", number, line);
        cr_expect(json_equal(json_object_get(want, "token_type_ids"),
                             json_object_get(got, "token_type_ids")),
                  "line %d", number);
        json_decref(got);
        at += strcspn(at, "\n") + 1;
    }
    cr_assert_str_empty(at);
    (void)fclose(expected);
}
