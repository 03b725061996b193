/* Tests of nvdp tokenize: pieces of plain lines, ids of JSON lines. */
#include "program.h"

static struct outcome tokenize(int code, const char *args, const char *input, size_t size) {
    support_write(support_scratch_path("input.txt"), input, size);
    return program_expect(code, "tokenize --model $MODEL %s <$DIR/input.txt", args);
}

static void gives(const char *args, const char *input, const char *expected) {
    struct outcome outcome = tokenize(0, args, input, strlen(input));
    cr_assert_str_eq(outcome.out, expected);
    cr_assert_str_empty(outcome.err);
}

static void refused(const char *input, const char *message) {
    struct outcome outcome = tokenize(3, "--jsonl", input, strlen(input));
    support_contains(outcome.err, message);
}

Test(tokenize, pieces_of_plain_lines) {
    gives("", "The film was unlikely good.\n", "the film was un ##like ##ly good .\n");
    gives("", "Films, WE\n\nit", "film ##s , we\n\nit\n");
    gives("", "", "");
    gives("--special", "\n", "[CLS] [SEP]\n");
    gives("", "zzz film\r\n", "[UNK] film\n");
    gives("--max-length 4", "the film was good\n", "the film\n");
}

/* encode and sanitize take the same files. */
Test(tokenize, tables) {
    static const char *const files[][3] = {
        {"t.tsv", "x\treview\n1\tthe film\n\n2\tgood\n", "--text-column review"},
        {"t.csv", "text,x\n\"the film\",1\ngood,2\n", ""},
        {"t.json", "[{\"text\": \"the film\"},\n {\"text\": \"good\"}]\n", ""},
        {"t.jsonl", "{\"text\": \"the film\"}\n{\"text\": \"good\"}\n", ""},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = support_file(files[i][0], files[i][1]);
        struct outcome o =
            program_expect(0, "tokenize --model $MODEL --input %s %s", path, files[i][2]);
        cr_expect_str_eq(o.out, "the film\ngood\n", "%s: %s", files[i][0], o.out);
        program_prints(0, "texts             2\n",
                       "encode --quiet --model $MODEL --input %s %s --out $DIR/t.h5", path,
                       files[i][2]);
        o = program_expect(
            0,
            "sanitize --quiet --input %s %s --mechanism laplace-nearest --eta 1e6 --model $MODEL",
            path, files[i][2]);
        support_contains(o.out, "the film",
                         i == 0   ? "x\treview\n"
                         : i == 1 ? "text,x\n"
                                  : "{\"text\":");
    }
    program_says(3, "t.tsv:1: missing column 'text': found columns 'x', 'review'",
                 "tokenize --model $MODEL --input $DIR/t.tsv");
    support_file("lines", "the film\ngood\n");
    program_prints(0, "texts             2\n",
                   "encode --quiet --model $MODEL --input - --out $DIR/t.h5 <$DIR/lines");
    program_says(3, "expected a JSON object",
                 "encode --quiet --model $MODEL --jsonl - --out $DIR/t.h5 <$DIR/lines");
}

Test(tokenize, a_file) {
    const char *path = support_file("lines.txt", "the film\n");
    struct outcome o = program_expect(0, "tokenize --model $MODEL --input $DIR/lines.txt");
    cr_assert_str_eq(o.out, "the film\n");
    program_says(1, ".none: cannot read: No such file or directory",
                 "tokenize --model $MODEL --input $DIR/lines.txt.none");
    support_write_text(path, "{\"text\": \"the film\"}\n");
    program_expect(0, "encode --quiet --model $MODEL --jsonl - --out $DIR/a.h5 <$DIR/lines.txt");
    program_expect(0, "encode --quiet --model $MODEL --input - --out $DIR/b.h5 <$DIR/lines.txt");
    program_prints(0, "film",
                   "sanitize --quiet --input - --mechanism laplace-nearest --eta 1e6 --model "
                   "$MODEL <$DIR/lines.txt");
}

Test(tokenize, ids_and_types_of_json_lines) {
    gives("--jsonl", "{\"text\": \"the film\", \"pair\": null, \"max_length\": 8}\n",
          "{\"input_ids\": [2, 6, 7, 3], \"token_type_ids\": [0, 0, 0, 0]}\n");
    gives("--jsonl", "{\"text\": \"the film\", \"pair\": \"is good\"}\n",
          "{\"input_ids\": [2, 6, 7, 3, 11, 15, 3], \"token_type_ids\": [0, 0, 0, 0, 1, 1, 1]}\n");
    gives("--jsonl", "{\"text\": \"the film was good\", \"max_length\": 4}",
          "{\"input_ids\": [2, 6, 7, 3], \"token_type_ids\": [0, 0, 0, 0]}\n");
    gives("--jsonl --max-length 3", "{\"text\": \"the film was good\"}\n",
          "{\"input_ids\": [2, 6, 3], \"token_type_ids\": [0, 0, 0]}\n");
}

Test(tokenize, nul_in_a_json_text_does_not_end_it) {
    gives("--jsonl", "{\"text\": \"the\\u0000 film\"}\n",
          "{\"input_ids\": [2, 6, 7, 3], \"token_type_ids\": [0, 0, 0, 0]}\n");
}

Test(tokenize, nul_in_a_plain_line_does_not_end_it) {
    struct outcome outcome = tokenize(0, "", "the\0 film\n", 10);
    cr_assert_str_eq(outcome.out, "the film\n");
}

Test(tokenize, bad_json_lines_are_named) {
    refused("{\"text\": \"a\"}\n{\"text\": \"a\"\n", "nvdp tokenize: stdin:2: ");
    refused("{\"text\": \"a\"}\n\n[1]\n", "stdin:3: expected an object");
    refused("{\"txt\": \"a\"}\n", "stdin:1: key 'text' is missing");
    refused("{\"text\": 1}\n", "stdin:1: key 'text': expected a string");
    refused("{\"text\": \"a\", \"pair\": []}\n", "stdin:1: key 'pair': expected a string");
    refused("{\"text\": \"a\", \"max_length\": 1}\n", "stdin:1: key 'max_length': expected");
    refused("{\"text\": \"a\", \"pair\": \"b\", \"max_length\": 2}\n", "whole number from 3");
    refused("{\"text\": \"a\", \"max_length\": 7.5}\n", "stdin:1: key 'max_length': expected");
    refused("{\"text\": \"\xff\"}\n", "stdin:1: ");
}

Test(tokenize, a_model_that_is_not_there) {
    program_says(1, "nowhere", "tokenize --model nowhere </dev/null");
}

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
