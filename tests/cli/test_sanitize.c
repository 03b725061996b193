/* Tests of nvdp sanitize: a task's files and lines of text, randomness and warnings, vectors as output, privacy of the
 * texts, and --analyse. */
#include "base/file.h"
#include "program.h"
#include "text/representations.h"

#include <nvdp.h>
#include <sys/stat.h>
#include <unistd.h>

static const char vectors[] = "the 0 0\nfilm 10 0\nplot 0 10\ngood 10 10\nbad 30 0\n. 0 30\n";

/* Writes a folder with these files: name, text, name, text ..., ended by NULL. */
static const char *folder(const char *name, const char *const *files) {
    const char *path = support_scratch_path(name);
    mkdir(path, 0777);
    for (; files[0] != NULL; files += 2) {
        const char *file = support_path("%s/%s", path, files[0]);
        support_write_text(file, files[1]);
    }
    return path;
}
#define FOLDER(name, ...) folder(name, (const char *const[]){__VA_ARGS__, NULL})

static const char *table(void) {
    const char *path = support_scratch_path("vectors.txt");
    support_write_text(path, vectors);
    return path;
}

static void file_is(const char *directory, const char *name, const char *want) {
    const char *path = support_path("%s/%s", directory, name);
    char *got = support_read(path);
    cr_expect_str_eq(got, want, "%s: %s", path, got);
}

/* This eta changes no token, so the output is the tokenized text. */
#define FAITHFUL "--mechanism santext --epsilon 1e4"

/* WordPieces: tokens change; labels and index stay; training reads the result. */
Test(sanitize, task_is_written_again) {
    const char *out = support_scratch_path("same");
    struct outcome outcome = program_expect(
        0, "sanitize --task sst2 --data %s --model %s %s --out %s --measure-tokens 3 --draws 10",
        program_task(), program_model(), FAITHFUL, out);
    support_contains(outcome.out, "212, ");
    support_contains(outcome.out, "changed           0.00% of the tokens");
    support_contains(outcome.out, "  - the film was very bad .\n  + the film was very bad .\n");
    cr_expect(support_same_file(out, program_task(), "train.tsv"));
    cr_expect(support_same_file(out, program_task(), "dev.tsv"));
    cr_expect(support_same_file(out, program_task(), "test.tsv"));
    out = support_scratch_path("random");
    outcome = program_expect(
        0, "sanitize --json --task sst2 --data %s --model %s --mechanism random --out %s",
        program_task(), program_model(), out);
    json_t *object = program_object(&outcome);
    /* with 35 pieces, one token in 35 stays the same */
    cr_expect_float_eq(support_number(json_object_get(object, "changed")), 34. / 35, 0.03);
    cr_expect_eq(support_number(json_object_get(object, "ldp_epsilon")), 0);
    cr_expect_eq(json_array_size(json_object_get(object, "examples")), 5);
    outcome = program_expect(0, "train %s --data %s --method base --out %s --epochs 1",
                             program_train_options(), out, support_scratch_path("run"));
    char path[4200];
    snprintf(path, sizeof path, "%s/privacy.json", out);
    nvdp__autoptr(json_decref) json_t *privacy = json_load_file(path, 0, NULL);
    cr_expect_str_eq(text_at(privacy, "nvdp_format"), "sanitized/1");
    cr_expect_str_eq(text_at(privacy, "mechanism"), "random");
    char *said = support_read((snprintf(path, sizeof path, "%s/statement.txt", out), path));
    said[strlen(said) - 1] = '\0';
    cr_expect_str_eq(text_at(privacy, "statement"), said);
    support_lacks(said, "film"); /* nothing to give away contains a text */
}

/* Covers text pairs, a column named after a text's, further columns, rows without a label, and both dev files. */
Test(sanitize, pairs_and_columns_that_repeat_a_text) {
    const char *data =
        FOLDER("mnli", "train.tsv",
               "index\tsentence1_parse\tsentence1\tsentence2\tgold_label\n"
               "7\t(the (film))\tThe  FILM.\tBad plot\tneutral\n8\t(x)\tgood\t\t-\n",
               "dev_matched.tsv", "sentence1\tsentence2\tgold_label\nfilm\tplot\tneutral\n",
               "dev_mismatched.tsv", "sentence1\tsentence2\tgold_label\ngood\tbad\tneutral\r\n");
    const char *out = support_scratch_path("mnli-out");
    program_expect(0, "sanitize --task mnli --data %s --vectors %s %s --out %s", data, table(),
                   FAITHFUL, out);
    file_is(out, "train.tsv",
            "index\tsentence1_parse\tsentence1\tsentence2\tgold_label\n"
            "7\t\tthe film .\tbad plot\tneutral\n8\t\tgood\t\t-\n");
    file_is(out, "dev_matched.tsv", "sentence1\tsentence2\tgold_label\nfilm\tplot\tneutral\n");
    file_is(out, "dev_mismatched.tsv", "sentence1\tsentence2\tgold_label\ngood\tbad\tneutral\n");
}

Test(sanitize, cola_without_a_header_and_files_of_ones_own) {
    const char *data = FOLDER("cola", "train.tsv", "gj04\t1\t\tThe film\nx\t0\t*\tbad plot\n",
                              "test.tsv", "index\tsentence\n0\tgood.\n");
    const char *out = support_scratch_path("cola-out");
    program_expect(0, "sanitize --task cola --data %s --vectors %s %s --out %s", data, table(),
                   FAITHFUL, out);
    file_is(out, "train.tsv", "gj04\t1\t\tthe film\nx\t0\t*\tbad plot\n");
    file_is(out, "test.tsv", "index\tsentence\n0\tgood .\n");
    data = FOLDER("own", "train.tsv", "t\tt_label\tt_tree\ngood\tyes\t(good)\n");
    out = support_scratch_path("own-out");
    program_expect(0,
                   "sanitize --task tsv --text-column t --label-column t_label --data %s "
                   "--vectors %s %s --out %s",
                   data, table(), FAITHFUL, out);
    file_is(out, "train.tsv", "t\tt_label\tt_tree\ngood\tyes\t\n");
}

/* Every layout that training reads is kept. Columns without texts keep their values, with any quotes, commas and
 * newlines. Cells that repeat the text become empty. Training reads the result. */
Test(sanitize, layouts_of_ones_own) {
    const char *data = FOLDER(
        "odd", "train.csv",
        "\xEF\xBB\xBFt,y,\"n\"\"o,te\",t_tree,empty\r\n"
        "\"Good film, good\nplot.\",\"yes,\",\"two\r\nlines \"\"q\"\"\",(S \"x\"),\r\n\r\n"
        "bad plot,no,,,\"\"\nthe film,\"yes,\",5\" disk,\"\"\"\",\n",
        "dev.tsv", "t\ty\tnote\nGood\tyes,\t\"a\tb\"\nbad\tno\t\"c \"\"d\"\"\"\n", "test.jsonl",
        "{\"id\" : 12345678901234567890.10, \"t\": \"Good \\\"film\\\"\\n.\", \"x\": {\"t\": [1, "
        "\"}\"]}}\n"
        "\n{\"\\u0074\":2.50 ,\"t_new\": [\"secret\", {\"a\": 1}], \"id\":null, \"x\": 1e3}\r\n");
    const char *out = support_scratch_path("odd-out");
    program_says(
        0, "dev.tsv: fields are quoted as in CSV: quotes are taken off",
        "sanitize --task tsv --text-column t --label-column y --data %s --vectors %s %s --oov drop "
        "--out %s",
        data, table(), FAITHFUL, out);
    file_is(out, "train.csv",
            "t,y,\"n\"\"o,te\",t_tree,empty\ngood film good plot .,\"yes,\",\"two\r\nlines "
            "\"\"q\"\"\",,\n"
            "bad plot,no,,,\nthe film,\"yes,\",\"5\"\" disk\",,\n");
    file_is(out, "dev.tsv",
            "\"t\"\t\"y\"\t\"note\"\ngood\tyes,\t\"a\tb\"\nbad\tno\t\"c \"\"d\"\"\"\n");
    file_is(
        out, "test.jsonl",
        "{\"id\" : 12345678901234567890.10, \"t\": \"good film .\", \"x\": {\"t\": [1, \"}\"]}}\n"
        "{\"\\u0074\":\".\",\"t_new\": \"\", \"id\":null, \"x\": 1e3}\n");
    const char *path = support_path("%s/privacy.json", out);
    nvdp__autoptr(json_decref) json_t *privacy = json_load_file(path, 0, NULL);
    const json_t *test = support_at(privacy, "files/test.jsonl");
    cr_expect_str_eq(text_at(test, "emptied/0"), "t_new");
    /* once more, overwriting, with another layout of the training texts */
    path = support_path("%s/train.csv", data);
    remove(path);
    FOLDER("odd", "train.jsonl",
           "{\"t\": \"good\", \"y\": \"yes,\"}\n{\"y\": \"no\", \"t\": \"bad\"}\n");
    program_expect(0,
                   "sanitize --task tsv --text-column t --data %s --vectors %s %s "
                   "--overwrite --out %s",
                   data, table(), FAITHFUL, out);
    path = support_path("%s/train.csv", out);
    cr_expect_not(nvdp__exists(path));
    path = support_path("%s/test.jsonl", out);
    remove(path);
    program_expect(0,
                   "train %s --method base --task tsv --text-column t --label-column y "
                   "--data %s --out %s --epochs 1",
                   program_train_options(), out, support_scratch_path("odd-run"));
}

/* Measurements and statement of a folder belong to its texts. If two processes write, one is refused. */
Test(sanitize, what_was_measured_goes_with_its_texts) {
    static const char command[] =
        "sanitize --quiet --task sst2 --data %s --model %s --mechanism santext --eta %d "
        "--overwrite --out %s --measure-tokens 0";
    const char *out = support_scratch_path("measured");
    const char *measured = support_scratch_path("measured/measured.json");
    struct nvdp_context *ctx = support_context();
    DIR *lock = NULL;
    program_expect(0, command, program_task(), program_model(), 1, out);
    program_expect(0, "privacy --quiet --task sst2 --data %s --model %s --sanitized %s",
                   program_task(), program_model(), out);
    cr_assert(nvdp__exists(measured));
    char *first = support_read(measured);
    program_expect(0,
                   "privacy --quiet --task sst2 --data %s --model %s --sanitized %s "
                   "--limit 5",
                   program_task(), program_model(), out);
    char *kept = support_read(measured);
    cr_expect_str_eq(kept, first);
    cr_assert(nvdp__exists(support_scratch_path("measured/measured-limit-5.json")));
    ok(nvdp__outdir_lock(ctx, out, &lock));
    program_says(1, "measured: another process is writing to this folder", command, program_task(),
                 program_model(), 50, out);
    nvdp__outdir_unlock(lock);
    cr_expect(nvdp__exists(measured));
    program_expect(0, command, program_task(), program_model(), 50, out);
    cr_expect_not(nvdp__exists(measured));
    cr_expect_not(nvdp__exists(support_scratch_path("measured/measured-limit-5.json")));
}

/* Each line gives one line, also empty lines and lines whose words are removed. */
Test(sanitize, lines) {
    const char *text = support_scratch_path("lines.txt");
    support_write_text(text, "Good film, good plot.\n\nugly\nthe film");
    struct outcome outcome =
        program_expect(0, "sanitize --vectors %s %s --oov drop <%s", table(), FAITHFUL, text);
    cr_expect_str_eq(outcome.out, "good film good plot .\n\n\nthe film\n");
    support_contains(outcome.err, "no vector         22.22% of the words");
    const char *out = support_scratch_path("lines-out.txt");
    outcome = program_expect(0, "sanitize --text %s --vectors %s %s --oov drop --out %s", text,
                             table(), FAITHFUL, out);
    file_is(support_scratch(), "lines-out.txt", "good film good plot .\n\n\nthe film\n");
    cr_expect_eq(access(support_scratch_path("lines-out.txt.statement.txt"), R_OK), 0);
    cr_expect_eq(access(support_scratch_path("lines-out.txt.privacy.json"), R_OK), 0);
    program_says(2, "the file exists; use --overwrite",
                 "sanitize --text %s --vectors %s %s --out %s", text, table(), FAITHFUL, out);
    program_says(2, "the output directory is not empty; use --overwrite\n",
                 "sanitize --task sst2 --data %s --vectors %s %s --out %s", program_task(), table(),
                 FAITHFUL, support_scratch());
}

/* Files of killed processes, which hold another draw of the texts, are removed so that they are not given away. */
Test(sanitize, leftovers_go) {
    const char *text = support_scratch_path("text");
    const char *in_folder = support_scratch_path("again/train.tsv.partial-1-0");
    const char *of_file = support_scratch_path("again.txt.partial-1-0");
    cr_assert_eq(mkdir(support_scratch_path("again"), 0777), 0);
    support_write_text(text, "good film\n");
    support_write_text(in_folder, "sentence\tlabel\n");
    support_write_text(of_file, "bad\n");
    program_expect(0, "sanitize --quiet --task sst2 --data %s --vectors %s %s --overwrite --out %s",
                   program_task(), table(), FAITHFUL, support_scratch_path("again"));
    program_expect(0, "sanitize --quiet --text %s --vectors %s %s --out %s", text, table(),
                   FAITHFUL, support_scratch_path("again.txt"));
    cr_expect_not(nvdp__exists(in_folder));
    cr_expect_not(nvdp__exists(of_file));
}

static char *drawn(const char *options) {
    program_expect(0,
                   "sanitize --quiet --task sst2 --data %s --model %s --mechanism santext "
                   "--eta 2 --overwrite --out %s --measure-tokens 0 %s",
                   program_task(), program_model(), support_scratch_path("drawn"), options);
    const char *path = support_path("%s/dev.tsv", support_scratch_path("drawn"));
    return support_read(path);
}

/* Two calls never draw the same unless the seed option is given; then the result does not depend on the threads, and
 * the output mentions it. */
Test(sanitize, draws) {
    char *release = drawn(""), *repeated = drawn("");
    char *one = drawn("--insecure-seed 3 --threads 1"),
         *same = drawn("--insecure-seed 3 --threads 2");
    char *other = drawn("--insecure-seed 4");
    cr_expect_str_neq(release, repeated);
    cr_expect_str_eq(one, same);
    cr_expect_str_neq(one, other);
    free(release), free(repeated), free(one), free(same), free(other);
    struct outcome outcome =
        program_expect(2, "sanitize --vectors %s %s --seed 3 </dev/null", table(), FAITHFUL);
    support_contains(outcome.err, "option --seed needs --analyse");
    support_contains(outcome.err, "with --insecure-seed N for tests and experiments\n");
}

/* Terminal, JSON, statement and privacy.json name the source of randomness. A seed causes a warning even with
 * --quiet. */
Test(sanitize, a_seed_is_said) {
    static const char *const option[] = {"", "--insecure-seed 3"};
    static const char *const generator[] = {"os", "insecure-seed"};
    static const char *const row[] = {"\ndraws             from the operating system's generator",
                                      "\ndraws             INSECURE, from a seed: "};
    const char *out = support_scratch_path("said");
    char path[4200];
    for (size_t seeded = 0; seeded < 2; seeded++) {
        static const char command[] = "sanitize %s --task sst2 --data %s --model %s " FAITHFUL
                                      " --overwrite --out %s --measure-tokens 0 %s";
        program_prints(0, row[seeded], command, "", program_task(), program_model(), out,
                       option[seeded]);
        struct outcome outcome = program_expect(0, command, "--json --quiet", program_task(),
                                                program_model(), out, option[seeded]);
        json_t *object = program_object(&outcome);
        const char *said = text_at(object, "statement");
        cr_expect_eq(json_is_true(json_object_get(object, "insecure_seed")), seeded == 1);
        cr_expect_eq(strncmp(said, "INSECURE", 8) == 0, seeded == 1, "%s", said);
        cr_expect_eq(strstr(outcome.err, "warning: --insecure-seed: ") != NULL, seeded == 1);
        snprintf(path, sizeof path, "%s/privacy.json", out);
        nvdp__autoptr(json_decref) json_t *privacy = json_load_file(path, 0, NULL);
        cr_expect_str_eq(text_at(privacy, "generator"), generator[seeded]);
    }
}

/* The output names what santext-plus gives up, and the cost of choosing by the private texts. */
Test(sanitize, plus_says_what_it_gives_up) {
    const char *out = support_scratch_path("plus");
    struct outcome outcome = program_expect(
        0,
        "sanitize --json --task sst2 --data %s --model %s --mechanism santext-plus --eta 5 --p 0.2 "
        "--sensitive 0.5 --sensitive-from-data --out %s --measure-tokens 2 --draws 9",
        program_task(), program_model(), out);
    json_t *object = program_object(&outcome);
    cr_expect(isinf(support_number(json_object_get(object, "ldp_epsilon"))));
    const char *said = text_at(object, "statement");
    support_contains(said, "No guarantee for the 18 of 35 tokens that are not sensitive: ");
    cr_expect_eq(support_number(json_object_get(object, "vocabulary")), 35);
    cr_expect_eq(support_number(json_object_get(object, "sensitive")), 17);
    support_contains(said, "stay as they are with probability 0.8");
    support_contains(said, "was counted on the private texts: that choice is not private.");
    support_contains(said, "for one sensitive token with a vector in place of another");
    support_contains(said, "For n such tokens of one row it is n times that: at most ");
    support_contains(
        said, "Proven for exact arithmetic, which this output's noise lacks, for two sensitive "
              "tokens: ");
    support_contains(said,
                     " and which of them are sensitive, even if they were made from these texts");
    /* a private text in the public file is refused; else the statement says what was done */
    static const struct {
        const char *public, *option, *said;
        int code;
    } cases[] = {{"the film\nthe plot\n", "", "--sensitive-from: ", 2},
                 {"good\nThe  PLOT\n", "", "found 1 of the 2 private texts among them", 2},
                 {"1\tthe film\n", "", "found 1 of the 2 private texts among them", 2},
                 {"the plot and the film\n", "",
                  "public. None of its texts is among the texts that were privatized.\n", 0},
                 {"the film\nthe plot\n", "--public-independent",
                  "public. The owner declares that its texts were chosen independently", 0}};
    const char *text = support_scratch_path("plus.txt"), *from = support_scratch_path("public.txt");
    support_write_text(text, "the film\nthe plot\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_write_text(from, cases[i].public);
        outcome =
            program_expect(cases[i].code,
                           "sanitize --text %s --vectors %s --mechanism santext-plus --eta "
                           "1.2345612 --sensitive 0.5 --sensitive-from %s %s --overwrite --out %s",
                           text, table(), from, cases[i].option, support_scratch_path("plus.out"));
        support_contains(cases[i].code == 0 ? outcome.out : outcome.err, cases[i].said);
        support_lacks(outcome.out, "counted on the private texts");
        if (cases[i].code == 0)
            support_contains(outcome.out, "Which tokens are sensitive was counted in public.txt.");
        if (cases[i].code == 0) support_contains(outcome.out, "1.235 |x - x'|"); /* rounded up */
    }
    /* nothing is given up if all tokens are sensitive */
    outcome = program_expect(0,
                             "sanitize --text %s --vectors %s --mechanism santext-plus --eta 1 "
                             "--sensitive 1 --sensitive-from %s --overwrite --out %s",
                             text, table(), table(), support_scratch_path("plus.out"));
    support_lacks(outcome.out, "No guarantee");
    support_contains(outcome.out, "for one token with a vector in place of");
}

/* The epsilon that counts is that of a whole row: here of 4 tokens, up to 42.43 each. Columns that stay are named. */
Test(sanitize, rows_and_their_columns_are_said) {
    const char *text = support_scratch_path("rows.csv"), *out = support_scratch_path("rows.out");
    support_write_text(text, "text,\"a\nb\",T\xFCx,Text\nthe film .,1,2,The film.\n"
                             "bad bad film unseen,2,3,x\n");
    program_prints(0, "at most 42.43 per token, 169.8 for the longest row",
                   "sanitize --quiet --text %s --vectors %s --mechanism santext --eta 1 --out %s",
                   text, table(), out);
    nvdp__autoptr(json_decref) json_t *privacy =
        json_load_file(support_scratch_path("rows.out.privacy.json"), 0, NULL);
    const char *said = text_at(privacy, "statement");
    support_contains(said,
                     "No useful guarantee over all texts: epsilon is at most 42.43 for one token");
    support_contains(said, "at most 169.8 for 4, the length of the longest row.");
    support_contains(
        said, "the words and vectors of vectors.txt, even if they were made from these texts");
    support_contains(said, "all columns that were not privatized ('a?b', 'T?x', 'Text'). ");
    cr_expect_float_eq(support_number(json_object_get(privacy, "row_epsilon")), 4 * 42.4264069,
                       1e-6);
    text = support_scratch_path("none.txt");
    support_write_text(text, "\n");
    struct outcome outcome =
        program_expect(0,
                       "sanitize --json --text %s --vectors %s --mechanism santext --eta "
                       "1e308 --overwrite --out %s",
                       text, table(), out);
    support_contains(outcome.out, "at most inf for one token");
    support_contains(outcome.out, "at most 0 for 0, the length of the longest row.");
}

/* Checks the pairs of words that the epsilon covers, per mechanism and --oov. In this table words are at most 42.43
 * apart, which is 84.85 at epsilon 2. */
Test(sanitize, words_without_a_vector_are_said) {
    static const struct {
        const char *options, *said, *epsilon;
    } cases[] = {
        {"--mechanism santext --epsilon 2",
         "A word without a vector becomes a uniform draw. Two such words cannot be told apart; "
         "such a word and another one can, by a log ratio of up to 42.43.",
         "42.4"},
        {"--mechanism laplace --eta 2",
         "gets the noised vector of a uniform draw. Two such words cannot be told apart; such a "
         "word and another one can, by a log ratio of up to 84.86.",
         "84.8"},
        {"--mechanism laplace-nearest --eta 2",
         "; for such a word and another one no bound is proven.", "inf"},
        {"--mechanism santext-plus --epsilon 2 --sensitive 0.5 --sensitive-from-data",
         "; an output can show with certainty whether it was such a word.", "inf"},
        {"--mechanism santext --epsilon 2 --oov drop",
         "is left out: the length shows with certainty that no word with a vector stood there.",
         "inf"},
    };
    const char *text = support_scratch_path("unknown.txt");
    support_write_text(text, "the ugly film\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char number[32];
        struct outcome outcome =
            program_expect(0, "sanitize --json --overwrite --text %s --vectors %s %s --out %s",
                           text, table(), cases[i].options, support_scratch_path("unknown.out"));
        json_t *object = program_object(&outcome);
        const char *said = text_at(object, "statement");
        support_contains(said, "A word without a vector ");
        support_contains(said, cases[i].said);
        snprintf(number, sizeof number, "%.17g",
                 support_number(json_object_get(object, "oov_epsilon")));
        cr_expect_eq(strncmp(number, cases[i].epsilon, strlen(cases[i].epsilon)), 0, "%s: %s",
                     cases[i].options, number);
    }
}

/* The message uses the name that was given, or both names. */
Test(sanitize, no_noise_is_refused_by_name) {
    static const char *const option[] = {"--epsilon 0", "--eta 0", ""};
    for (size_t i = 0; i < 3; i++) {
        struct outcome outcome = program_expect(
            2, "sanitize --vectors %s --mechanism santext %s </dev/null", table(), option[i]);
        support_contains(
            outcome.err,
            "--eta or --epsilon: mechanism santext needs a finite number above 0, found 0");
    }
}

/* Warns of vectors whose words no input contains but which appear in the output. */
Test(sanitize, words_of_no_text_are_warned_of) {
    const char *text = support_scratch_path("cased.txt"), *out = support_scratch_path("cased.out");
    const char *cased = support_scratch_path("cased.vectors");
    support_write_text(text, "Paris in caf\xC3\xA9 don't\n");
    support_write_text(cased, "in 0 0\nParis 1 0\nparis 2 0\ncaf\xC3\xA9 0 1\ndon't 0 2\n' 0 3\n");
    struct outcome outcome = program_expect(
        0, "sanitize --quiet --text %s --vectors %s %s --out %s", text, cased, FAITHFUL, out);
    support_contains(outcome.err, "warning: word vectors: 3 of 6 words, such as 'Paris', match no "
                                  "text but can still be drawn as output");
    support_contains(outcome.out, "in no text        3 of these words");
    nvdp__autoptr(json_decref) json_t *privacy =
        json_load_file(support_scratch_path("cased.out.privacy.json"), 0, NULL);
    cr_expect_eq(integer_at(privacy, "vocabulary/unmatched"), 3);
    support_contains(text_at(privacy, "statement"), "3 of the words come out but never go in");
    outcome =
        program_expect(0, "sanitize --quiet --text %s --vectors %s %s", text, table(), FAITHFUL);
    support_lacks(outcome.err, "match no text");
}

/* Output words come only from the words of a task or file. The statement names the consequence; nvdp privacy and
 * analyses use the same words. */
Test(sanitize, vocabulary_from) {
    char out[4200], file[4200];
    const char *data = support_path(
        "%s", FOLDER("few", "train.tsv", "sentence\tlabel\nthe film\t1\nugly film .\t0\n",
                     "dev.tsv", "sentence\tlabel\nGood film\t1\nthe film .\t0\n"));
    const char *words = support_path("%s", table());
    snprintf(out, sizeof out, "%s", support_scratch_path("few-out"));
    snprintf(file, sizeof file, "%s", support_scratch_path("public.txt"));
    support_write_text(file, "The plot.\nbad\n");
    static const char command[] = "sanitize --json --task sst2 --data %s --vectors %s --mechanism "
                                  "random --overwrite --out %s --vocabulary-from %s";
    struct outcome outcome = program_expect(0, command, data, words, out, "sst2");
    json_t *object = program_object(&outcome);
    const char *said = text_at(object, "statement");
    support_contains(said,
                     "NOT PRIVATE, the choice of words: of the table's 6 words only the 4 that "
                     "occur in these texts come out");
    support_contains(said, "its length, and of all texts together which words they have.");
    const char *path = support_path("%s/dev.tsv", out);
    char *drawn = support_read(path);
    cr_expect_null(strstr(drawn, "plot"));
    cr_expect_null(strstr(drawn, "bad"));
    path = support_path("%s/privacy.json", out);
    json_t *privacy = json_load_file(path, 0, NULL);
    const json_t *vocabulary = json_object_get(privacy, "vocabulary");
    cr_expect_str_eq(text_at(vocabulary, "from"), "sst2");
    cr_expect(json_is_true(json_object_get(vocabulary, "own_words")));
    cr_expect_eq(integer_at(vocabulary, "table"), 6);
    cr_expect_eq(integer_at(vocabulary, "tokens"), 4);
    json_decref(privacy);
    outcome = program_expect(0, "privacy --quiet --task sst2 --data %s --vectors %s --sanitized %s",
                             data, words, out);
    support_contains(outcome.out, "The vocabulary has 4 tokens");
    support_contains(outcome.out, "The vocabulary comes from these texts, which is not private");
    outcome = program_expect(0,
                             "sanitize --analyse geometry --json --task sst2 --data %s --vectors "
                             "%s --vocabulary-from sst2",
                             data, words);
    object = program_object(&outcome);
    cr_expect_eq(integer_at(object, "vocabulary"), 4);
    cr_expect_eq(json_array_size(json_object_get(object, "neighbours")), 3); /* 1, 2, all: of 4 */

    outcome = program_expect(0, command, data, words, out, file);
    object = program_object(&outcome);
    said = text_at(object, "statement");
    support_contains(said,
                     "Of the table's 6 words only those that occur in public.txt come out. That "
                     "file is taken to be public: the output shows which words it has. None of its "
                     "texts is among the texts that were privatized.\n");
    support_lacks(said, "NOT PRIVATE");
    static const char measure[] =
        "privacy --quiet --task sst2 --data %s --vectors %s --sanitized %s %s%s";
    program_says(2, "the folder was made with --vocabulary-from FILE", measure, data, words, out,
                 "", "");
    program_says(3, "expected the tokens and vectors of ", measure, data, words, out,
                 "--vocabulary-from ", "sst2");
    outcome = program_expect(0, measure, data, words, out, "--vocabulary-from ", file);
    support_contains(outcome.out, "The vocabulary has 4 tokens"); /* the plot . bad */
    support_lacks(outcome.out, "which is not private");

    /* a private text in its own vocabulary is refused, unless its owner declares the file, which the statement says */
    static const char of_text[] =
        "sanitize --text %s --vectors %s %s --vocabulary-from %s --out %s";
    const char *both = support_scratch_path("both.txt"), *own = support_scratch_path("own.out");
    support_write_text(both, "the film plot good\tBAD .\n");
    outcome = program_expect(2, of_text, file, words, FAITHFUL, file, own);
    support_contains(outcome.err, "--vocabulary-from: ");
    support_contains(outcome.err, "found 2 of the 2 private texts among them, the first in row 1");
    cr_expect_not(nvdp__exists(own));
    support_write_text(support_scratch_path("bad.txt"), "more\nbad .\n");
    program_says(2, "found 1 of the 2 private texts among them, the first in row 2", of_text,
                 support_scratch_path("bad.txt"), words, FAITHFUL, both, own);
    program_says(2, "expected a file that can be read twice",
                 "sanitize --vectors %s %s --vocabulary-from %s </dev/null", words, FAITHFUL, both);
    for (int overlap = 0; overlap < 2; overlap++) {
        const char *declared =
            support_path("%s --public-independent --overwrite", overlap == 1 ? file : both);
        outcome = program_expect(0, of_text, file, words, FAITHFUL, declared, own);
        support_contains(outcome.out, overlap == 1 ? "4 of the 6 words with vectors, 2 dimensions\n"
                                                   : "vocabulary        6 words, 2 dimensions\n");
        path = support_path("%s.privacy.json", own);
        privacy = json_load_file(path, 0, NULL);
        support_contains(text_at(privacy, "statement"),
                         "which words it has. The owner declares that its texts were chosen "
                         "independently of the private texts; they were not compared.\n");
        cr_expect_str_eq(text_at(privacy, "public_texts"), "declared");
        json_decref(privacy);
    }
    program_says(2, "--public-independent: expected public texts that it declares",
                 "sanitize --text %s --vectors %s %s --public-independent", file, words, FAITHFUL);
    support_write_text(file, "The plot.\nbad\n");
    outcome = program_expect(0,
                             "privacy --quiet --text %s --vectors %s --sanitizer santext --eta "
                             ".12345612 --vocabulary-from %s",
                             file, words, file);
    support_contains(outcome.out, "The vocabulary comes from these texts, which is not private");
    support_contains(outcome.out, "the log ratio is at most 5.238 nats"); /* 42.4264 eta */
    program_prints(0, "NOT PRIVATE, the choice of words",
                   "sanitize --json --task sst2 --data %s --vectors %s --mechanism laplace "
                   "--eta 1 --vocabulary-from sst2 --out %s",
                   data, words, support_scratch_path("few.h5"));
    program_prints(0, "No guarantee for the 2 of 4 tokens that are not sensitive",
                   "sanitize --json --task sst2 --data %s --vectors %s --mechanism "
                   "santext-plus --eta 1 --sensitive 0.5 --sensitive-from-data "
                   "--vocabulary-from sst2 --overwrite --out %s",
                   data, words, out);
    program_says(2, "--vocabulary-from: expected the task of the texts, sst2, or a file", command,
                 data, words, out, "mrpc");
    program_says(2, "--vocabulary-from: expected word vectors",
                 "sanitize --model %s --mechanism random --vocabulary-from %s </dev/null",
                 program_model(), file);
}

static void refused(int code, const char *message, const char *format, const char *a,
                    const char *b) {
    const char *out = support_scratch_path("refused");
    const char *options = support_path(format, a, b);
    program_says(code, message, "sanitize %s --out %s", options, out);
    cr_expect(nvdp__directory_empty(out), "%s", message); /* no incomplete file */
}

Test(sanitize, bad_input) {
    char words[4200]; /* scratch paths are reused */
    snprintf(words, sizeof words, "%s", table());
    const char *quoted =
        FOLDER("quoted", "train.tsv", "sentence\tlabel\ngood\t1\n\"bad\tfilm\"\t0\n");
    refused(3,
            "train.tsv:3: expected 2 columns, found 3 (tabs also separate columns inside quotes)",
            "--task sst2 --data %s --vectors %s " FAITHFUL, quoted, words);
    const char *bare = FOLDER("bare", "train.tsv", "text\tlabel\ngood\t1\n");
    refused(3, "train.tsv:1: missing column 'sentence': found columns 'text', 'label'",
            "--task sst2 --data %s --vectors %s " FAITHFUL, bare, words);
    refused(3, "train.tsv:1: expected a header line, found an empty file",
            "--task sst2 --data %s --vectors %s " FAITHFUL, FOLDER("empty", "train.tsv", ""),
            words);
    refused(3, "train.tsv: expected rows, found none",
            "--task sst2 --data %s --vectors %s " FAITHFUL,
            FOLDER("head", "train.tsv", "sentence\tlabel\n"), words);
    const char *nothing = support_scratch_path("nothing");
    mkdir(nothing, 0777);
    refused(1, "expected one of the files train.tsv, dev.tsv and test.tsv, found none",
            "--task sst2 --data %s --vectors %s " FAITHFUL, nothing, words);
    refused(3, "train.csv:4: column 2: expected the end of the field after its closing quote",
            "--task tsv --text-column t --data %s --vectors %s " FAITHFUL,
            FOLDER("torn", "train.csv", "t,y\n\"a\nb\",1\ngood,\"1\"x\n"), words);
    refused(3, "train.csv:3: expected 2 columns, found 1",
            "--task tsv --text-column t --data %s --vectors %s " FAITHFUL,
            FOLDER("few", "train.csv", "t,y\ngood,1\nbad\n"), words);
    refused(3, "train.jsonl:2: 't': expected text or a number, found none",
            "--task tsv --text-column t --data %s --vectors %s " FAITHFUL,
            FOLDER("null", "train.jsonl", "{\"t\": \"good\"}\n{\"t\": null}\n"), words);
    refused(3, "CSV files are named .csv",
            "--task tsv --text-column t --data %s --vectors %s " FAITHFUL,
            FOLDER("commas", "train.tsv", "t,y\ngood,1\n"), words);
    const char *task = program_task();
    refused(2, "--eta or --epsilon: mechanism santext needs a finite number above 0",
            "--task sst2 --data %s --vectors %s --mechanism santext", task, words);
    refused(2, "epsilon", "--task sst2 --data %s --vectors %s --mechanism santext --epsilon -1",
            task, words);
    refused(2, "eta", "--task sst2 --data %s --vectors %s --mechanism santext --eta inf", task,
            words);
    refused(2, "options --epsilon and --eta set the same option; keep one of them",
            "--task sst2 --data %s --vectors %s --mechanism santext --epsilon 2 --eta 2", task,
            words);
    refused(2, "--model or --vectors: expected exactly one of these options, found both",
            "--task sst2 --data %s --vectors %s --model x " FAITHFUL, task, words);
    program_says(2, "out: expected a file or folder other than the input",
                 "sanitize --task sst2 --data %s --vectors %s %s --overwrite --out %s/.", task,
                 words, FAITHFUL, task);
    /* Most words are unknown: continues with a warning. */
    program_says(0,
                 "66.7% of the words have no vector and are drawn uniformly, so "
                 "the output says little about the texts",
                 "sanitize --task sst2 --data %s --vectors %s %s --out %s",
                 FOLDER("foreign", "train.tsv", "sentence\tlabel\nder gute film\t1\n"), words,
                 FAITHFUL, support_scratch_path("foreign-out"));
}

/* Vectors of a file of text pairs: reads them back, on the grid, and near the table's rows as far as the noise
 * allows. */
Test(sanitize, representations) {
    const char *data =
        FOLDER("rte", "train.tsv",
               "index\tsentence1\tsentence2\tlabel\n0\tthe film\tGood plot.\tentailment\n"
               "1\tbad\t\tnot_entailment\n",
               "dev.tsv", "index\tsentence1\tsentence2\tlabel\n0\tugly\tfilm\tentailment\n",
               "test.tsv", "index\tsentence1\tsentence2\n0\tplot\tbad\n");
    const char *out = support_scratch_path("r.h5");
    struct outcome outcome = program_expect(
        0, "sanitize --task rte --data %s --vectors %s --mechanism laplace --eta 50 --out %s", data,
        table(), out);
    support_contains(outcome.out, "laplace (a noisy\n  vector in place of the token");
    support_lacks(outcome.out, "changed ");
    struct nvdp_context *ctx = support_context();
    struct nvdp__representations *file = NULL;
    struct nvdp__representations_info info;
    ok(nvdp__representations_open(ctx, out, &file, &info));
    cr_expect_eq(info.rows, 4);
    cr_expect_eq(info.columns, 2);
    cr_expect_eq(info.tokens, 10);
    cr_expect_eq(info.dim, 2);
    cr_expect_eq(info.eta, 50);
    cr_expect(!info.pieces);
    cr_expect_str_eq(info.task, "rte");
    static const int64_t offset[] = {0, 2, 5, 6, 6, 7, 8, 9, 10}, id[] = {0, 1, 0, 0};
    static const int32_t split[] = {0, 0, 1, 2};
    cr_expect_arr_eq(info.offset, offset, sizeof offset);
    cr_expect_arr_eq(info.id, id, sizeof id);
    cr_expect_arr_eq(info.split, split, sizeof split);
    cr_expect(info.label[0] == 0 && info.label[1] == 1 && info.label[2] == 0 &&
              isnan(info.label[3]));
    /* the, film, good, plot, ".", bad, an unknown word, film, plot, bad */
    static const double want[10][2] = {{0, 0},  {10, 0}, {10, 10}, {0, 10}, {0, 30},
                                       {30, 0}, {0, 0},  {10, 0},  {0, 10}, {30, 0}};
    float z[20];
    ok(nvdp__representations_read(file, 0, 10, z));
    cr_expect_eq(info.step, 0x1p-6); /* 2048 steps cover 30 + 8 sqrt(3)/50 */
    double away = 0;
    for (size_t i = 0; i < 20; i++) {
        cr_expect_eq(z[i] / info.step, rint(z[i] / info.step));
        if (i / 2 == 6) continue;                        /* drawn uniformly */
        cr_expect_float_eq(z[i], want[i / 2][i % 2], 1); /* |N| exceeds 1 with probability 1e-20 */
        away += fabs(z[i] - want[i / 2][i % 2]);
    }
    cr_expect_gt(away, 0.05);
    cr_expect_eq(nvdp__representations_read(file, 5, 6, z), NVDP_ERR_ARGUMENT);
    nvdp__representations_close(file);
    support_write_text(support_scratch_path("no.h5"), "no");
    cr_expect_eq(nvdp__representations_open(ctx, support_scratch_path("no.h5"), &file, &info),
                 NVDP_ERR_INPUT);
    program_says(2, "laplace outputs vectors, not words; give a file for them (--out)",
                 "sanitize --text %s --vectors %s --mechanism laplace --eta 3",
                 support_scratch_path("vectors.txt"), table());
    program_prints(0, "representations/1", "info %s", out);
}

/* Classes of the user's task are numbered by the train file in every layout. A pipe, which cannot be read twice, is
 * refused without leaving a file. */
Test(sanitize, representations_of_ones_own) {
    const char *data =
        FOLDER("classes", "train.csv", "t,y\n\"the\nfilm\",b\ngood,\"a,\"\n,c\nbad,b\n",
               "dev.jsonl", "{\"y\": \"c\", \"t\": \"plot plot\", \"z\": 0}\n");
    const char *out = support_scratch_path("own.h5");
    program_says(
        0, "train.csv: 1 of 4 texts are empty",
        "sanitize --task tsv --text-column t --label-column y --data %s --vectors %s --mechanism "
        "laplace --eta 50 --out %s",
        data, table(), out);
    struct nvdp_context *ctx = support_context();
    struct nvdp__representations *file = NULL;
    struct nvdp__representations_info info;
    ok(nvdp__representations_open(ctx, out, &file, &info));
    static const int64_t offset[] = {0, 2, 3, 3, 4, 6}, id[] = {0, 1, 2, 3, 0};
    static const float label[] = {1, 0, 2, 1, 2};
    cr_assert_eq(info.rows, 5);
    cr_expect_arr_eq(info.offset, offset, sizeof offset);
    cr_expect_arr_eq(info.id, id, sizeof id);
    cr_expect_arr_eq(info.label, label, sizeof label);
    nvdp__representations_close(file);
    remove(out);
    struct outcome outcome = program_shell(
        "echo good | %s/nvdp sanitize --vectors %s --mechanism laplace --eta 3 --out %s",
        NVDP_BINARY_DIR, table(), out);
    cr_expect_eq(outcome.code, 3);
    support_contains(outcome.err, "expected a regular file, found a FIFO");
    cr_expect_not(nvdp__exists(out));
}

/* Privacy of the texts, in the same report as for NVDP: for a mechanism, and for a sanitized folder. */
Test(sanitize, privacy_of_the_texts) {
    const char *data =
        FOLDER("short", "train.tsv", "sentence\tlabel\nthe film\t1\ngood\t0\n", "dev.tsv",
               "sentence\tlabel\nthe film\t1\ngood plot\t0\nbad\t1\nplot\t0\n");
    const char *out = support_scratch_path("noised");
    struct outcome outcome = program_expect(
        0, "privacy --sanitizer santext --epsilon .1 --vectors %s --task sst2 --data %s --json",
        table(), data);
    json_t *first = program_object(&outcome), *equal = json_object_get(first, "equal_length");
    cr_expect_str_eq(text_at(first, "method"), "santext");
    cr_expect_eq(integer_at(first, "pairs_of_other_length"), 8);
    cr_expect_eq(integer_at(equal, "pairs"), 4);
    const json_t *sum = support_at(first, "rd/sum");
    cr_expect_str_eq(text_at(sum, "max"), "inf");
    const json_t *largest = json_object_get(equal, "largest_epsilon");
    double high = number_at(largest, "high");
    double converted = number_at(equal, "epsilon/max");
    cr_expect(high > 0 && high <= converted && converted < 4);
    const json_t *worst = json_object_get(first, "vocabulary_worst");
    cr_expect_eq(integer_at(worst, "tokens"), 6);
    cr_expect_float_eq(number_at(worst, "bound"), .1 * sqrt(1800), 1e-9);

    /* The folder gives the same result as explicit options. */
    outcome = program_expect(0,
                             "sanitize --task sst2 --data %s --vectors %s --mechanism santext "
                             "--epsilon .1 --out %s --measure-tokens 0 --quiet",
                             data, table(), out);
    const char *pairs = support_scratch_path("pairs.h5");
    outcome =
        program_expect(0, "privacy --sanitized %s --vectors %s --task sst2 --data %s --pairs %s",
                       out, table(), data, pairs);
    cr_expect(nvdp__exists(pairs));
    support_contains(outcome.out, "under santext, eta 0.1");
    support_contains(outcome.out, "they alone distinguish 66.7 % of the pairs");
    support_contains(outcome.out, "For pairs of equal length:");
    support_contains(outcome.out, "of the largest pair of equal length, one sample: ");
    const char *path = support_path("%s/measured.json", out);
    nvdp__autoptr(json_decref) json_t *measured = json_load_file(path, 0, NULL);
    cr_expect(json_equal(measured, first));

    program_says(2, "options --eta and --epsilon set the same option",
                 "privacy --sanitizer santext --eta 1 --epsilon 2");
    program_says(2, "leave out RUN", "privacy run --sanitizer santext --epsilon 1");
    program_says(3, "privacy.json: expected a file that nvdp sanitize wrote",
                 "privacy --sanitized %s --vectors %s --task sst2 --data %s", data, table(), data);
    program_says(2, "--model or --vectors: expected exactly one of these options, found neither",
                 "privacy --sanitizer santext --epsilon 1 --task sst2 --data %s", data);
}

/* Writes texts whose frequent words differ from those of the dev split: film, plot and good, of 6 words. */
static const char *uneven(void) {
    return FOLDER("uneven", "train.tsv",
                  "sentence\tlabel\nfilm plot good film plot good\t1\nfilm plot good\t0\n",
                  "dev.tsv",
                  "sentence\tlabel\nthe film\t1\nthe plot\t0\nbad good\t1\nbad the\t0\n. bad\t1\n"
                  ". .\t0\n");
}

static json_t *measured(const char *sanitized) {
    const char *path = support_path("%s/measured.json", sanitized);
    return support_keep(json_load_file(path, 0, NULL));
}

static void not_the_folders(int code, const char *message, const char *options) {
    program_says(code, message, "privacy --task sst2 %s", options);
}

/* A report about another mechanism than the folder's would mislead. Sensitive tokens are counted as by nvdp sanitize,
 * and other vectors, shares and texts are refused. */
Test(sanitize, measured_is_the_folders_mechanism) {
    const char *data = uneven(), *out = support_scratch_path("plus");
    struct outcome outcome =
        program_expect(0,
                       "sanitize --task sst2 --data %s --vectors %s --mechanism santext-plus "
                       "--eta .1 --p .2 --sensitive .5 --sensitive-from-data --out %s "
                       "--measure-tokens 0 --quiet",
                       data, table(), out);
    outcome = program_expect(0, "privacy --sanitized %s --vectors %s --task sst2 --data %s --quiet",
                             out, table(), data);
    support_lacks(outcome.err, "nvdp cannot check that these are the same vectors");
    support_lacks(outcome.err, "drawn from a seed");
    support_contains(outcome.out, "Which tokens are sensitive was counted on these texts: ");
    support_contains(outcome.out, "For 50 % of all pairs of words with vectors, those whose first "
                                  "word is not sensitive, the log ratio\nis inf. For all others");
    json_t *report = measured(out), *tokens = json_object_get(report, "tokens");
    cr_expect(json_is_true(support_at(report, "sanitizer/own_choice")));
    cr_expect_eq(integer_at(tokens, "all"), 12);
    /* the dev texts alone would select these, and 9 others */
    cr_expect_eq(integer_at(tokens, "not_sensitive"), 3);

    /* without a folder the same words are counted */
    outcome =
        program_expect(0,
                       "privacy --sanitizer santext-plus --eta .1 --p .2 --sensitive .5 "
                       "--sensitive-from-data --vectors %s --task sst2 --data %s --limit 5 --json",
                       table(), data);
    report = program_object(&outcome);
    tokens = json_object_get(report, "tokens");
    cr_expect_eq(integer_at(tokens, "all"), 10);
    cr_expect_leq(integer_at(tokens, "not_sensitive"), 3);

    const char *path = support_path("%s/measured.json", out);
    remove(path);
    const char *small = support_scratch_path("small.txt");
    support_write_text(small, "the 0 0\nfilm 1 0\nplot 0 1\ngood 1 1\nbad 3 0\n. 0 3\n");
    const char *options = support_path("--sanitized %s --vectors %s --data %s", out, small, data);
    not_the_folders(3, "expected the tokens and vectors of vectors.txt (digest ", options);
    const char *other = FOLDER("other", "dev.tsv", "sentence\tlabel\nthe film\t1\nthe bad\t0\n");
    options = support_path("--sanitized %s --vectors %s --data %s", out, table(), other);
    not_the_folders(
        3,
        "expected the same sensitive tokens as the folder's, from --sensitive-from-data (digest ",
        options);
    options =
        support_path("--sanitized %s --vectors %s --data %s --sensitive .9", out, table(), data);
    not_the_folders(
        3, "privacy.json: expected the recorded value, sensitive 0.5, found --sensitive 0.9",
        options);
    options = support_path("--sanitized %s --vectors %s --data %s --epsilon 3", out, table(), data);
    not_the_folders(3, "expected the recorded value, eta 0.1", options);
    options = support_path("run --sanitized %s --vectors %s --data %s", out, table(), data);
    not_the_folders(2, "leave out RUN", options);
    cr_expect_not(nvdp__exists(path));
}

/* The report repeats what the folder's statement admits: draws from a seed, a vocabulary of the texts' own words,
 * although its list is now read from a copy, and divergences that are only bounds. */
Test(sanitize, measured_repeats_what_the_folder_admits) {
    const char *data = uneven(), *out = support_scratch_path("seeded");
    const char *copy = support_scratch_path("copy.tsv");
    const char *words = support_path("%s", table());
    const char *own = support_path("%s/train.tsv", data);
    char *text = support_read(own);
    support_write_text(copy, text);
    struct outcome outcome = program_expect(
        0,
        "sanitize --task sst2 --data %s --vectors %s --vocabulary-from sst2 --insecure-seed 3 "
        "--mechanism santext --eta .1 --out %s --measure-tokens 0 --quiet",
        data, words, out);
    outcome = program_expect(0, "privacy --sanitized %s --vectors %s --task sst2 --data %s", out,
                             words, data);
    support_contains(outcome.err, "the noise was drawn from a seed");
    json_t *report = measured(out), *sanitizer = json_object_get(report, "sanitizer");
    cr_expect(json_is_true(json_object_get(sanitizer, "insecure_seed")));
    cr_expect(json_is_true(json_object_get(sanitizer, "own_words")));
    support_contains(outcome.out, "The vocabulary comes from these texts, which is not private");
    static const char *const said[][3] = {
        {"santext", "The divergences are exact.\n", "\nExact epsilon at delta"},
        {"laplace", "The divergences are exact, but upper bounds for words without a vector.\n",
         "\nExact epsilon at delta"},
        {"laplace-nearest", "those of laplace, which bound the exact ones.\n", "at most inf.\n"}};
    for (size_t i = 0; i < 3; i++) {
        outcome =
            program_expect(0,
                           "privacy --sanitizer %s --eta .1 --vectors %s --vocabulary-from %s "
                           "--task sst2 --data %s",
                           said[i][0], words, copy, data);
        support_contains(outcome.out, said[i][1]);
        support_contains(outcome.out, said[i][2]);
    }
}

/* A list must be given again. A folder without digests is measured with a warning. */
Test(sanitize, sensitive_lists_and_older_folders) {
    const char *data = uneven(), *out = support_scratch_path("listed");
    const char *list = support_scratch_path("list.txt");
    support_write_text(list, "film\nbad\n");
    program_expect(0,
                   "sanitize --task sst2 --data %s --vectors %s --mechanism santext-plus "
                   "--eta .1 --sensitive-list %s --out %s --measure-tokens 0 --quiet",
                   data, table(), list, out);
    const char *options = support_path("--sanitized %s --vectors %s --data %s", out, table(), data);
    not_the_folders(2, "privacy.json: the folder was made with --sensitive-list FILE", options);
    options = support_path("--sanitized %s --vectors %s --data %s --sensitive-list %s", out,
                           table(), data, list);
    not_the_folders(0, "", options);
    support_write_text(list, "film\n");
    not_the_folders(3, "expected the same sensitive tokens as the folder's, from --sensitive-list",
                    options);

    const char *path = support_path("%s/privacy.json", out);
    nvdp__autoptr(json_decref) json_t *older = json_load_file(path, 0, NULL);
    cr_assert_eq(json_object_del(json_object_get(older, "vocabulary"), "digest"), 0);
    cr_assert_eq(json_object_del(json_object_get(older, "sensitive"), "digest"), 0);
    cr_assert_eq(json_object_del(json_object_get(older, "sensitive"), "share"), 0);
    cr_assert_eq(json_dump_file(older, path, 0), 0);
    not_the_folders(0, "nvdp cannot check that these are the same vectors", options);
}

/* ---- --analyse ---- */

static double number(const json_t *object, const char *key, const char *inner) {
    const json_t *value = json_object_get(object, key);
    if (inner != NULL) value = json_object_get(value, inner);
    cr_assert(json_is_number(value), "%s %s", key, inner != NULL ? inner : "");
    return json_number_value(value);
}

/* Covers distances that can be verified by hand, a mechanism that changes nothing, and one that reveals nothing. */
Test(sanitize, analyses) {
    const char *text = support_scratch_path("t.txt");
    support_write_text(text, "the film . the plot . the unheard\ngood the\n");
    const char *vectors_path = support_path("%s", table());
    struct outcome o =
        program_expect(0, "sanitize --analyse geometry --vectors %s --json", vectors_path);
    json_t *object = program_object(&o);
    const json_t *rows = json_object_get(object, "neighbours");
    cr_expect_eq(json_array_size(rows), 5);
    cr_expect_float_eq(number(json_array_get(rows, 0), "mean", NULL), (4 * 10 + 2 * 20) / 6.,
                       1e-12);
    cr_expect_eq(number(json_array_get(rows, 4), "k", NULL), 5);
    cr_expect_float_eq(number(json_array_get(rows, 4), "mean", NULL),
                       (30 + hypot(10, 30) * 2 + hypot(10, 20) + hypot(30, 30) * 2) / 6., 1e-12);
    o = program_expect(0,
                       "sanitize --analyse deniability --vectors %s " FAITHFUL
                       " --measure-tokens 50 --draws 20 --text %s --json",
                       vectors_path, text);
    object = program_object(&o);
    cr_expect_eq(number(object, "n_w", "mean"), 1);
    cr_expect_eq(number(object, "s_w", "q95"), 1);
    cr_expect_eq(number(object, "s_star", "mean"), 1);
    cr_expect_eq(number(object, "inputs", NULL), 5);
    cr_expect_eq(number(object, "h_0", "mean"), 0);
    /* the 4, film 1, . 2, plot 1, good 1; "unheard" has no vector */
    o = program_expect(
        0, "sanitize --analyse inversion --vectors %s --mechanism random --text %s --json",
        vectors_path, text);
    object = program_object(&o);
    cr_expect_float_eq(number(object, "prior", NULL), 4. / 9, 1e-12);
    cr_expect_float_eq(number(object, "bayes", NULL), 4. / 9, 1e-12);
    cr_expect_float_eq(number(object, "nearest", NULL), 1. / 6, 1e-12);
    cr_expect_eq(number(object, "text_unknown", NULL), 1);
    program_prints(0, "Bayes-optimal",
                   "sanitize --analyse inversion --vectors %s --mechanism laplace-nearest "
                   "--eta 30 --draws 200 --text %s",
                   vectors_path, text);
    program_says(2, "option --text or --task is needed",
                 "sanitize --analyse inversion --vectors %s --mechanism random", vectors_path);
    program_says(2, "option --out does not apply to --analyse",
                 "sanitize --analyse geometry --vectors %s --out x", vectors_path);
}

/* A task's texts give the same result as the same lines; also pairs, a split, and a sample. */
Test(sanitize, analyses_of_a_task) {
    static const char format[] =
        "sanitize --analyse inversion --vectors %s --mechanism santext --epsilon .1 %s --json";
    const char *lines = support_scratch_path("lines.txt");
    const char *data =
        FOLDER("rte", "dev.tsv",
               "index\tsentence1\tsentence2\tlabel\n0\tthe film .\tgood the\tentailment\n"
               "1\tthe plot .\tthe unheard\tnot_entailment\n",
               "train.tsv", "index\tsentence1\tsentence2\tlabel\n0\tbad\tbad bad\tentailment\n");
    char vectors_path[4200], of[2][8600];
    json_t *found[2];
    support_write_text(lines, "the film . good the\nthe plot . the unheard\n");
    snprintf(vectors_path, sizeof vectors_path, "%s", table());
    snprintf(of[0], sizeof of[0], "--text %s", lines);
    snprintf(of[1], sizeof of[1], "--task rte --data %s", data);
    for (int i = 0; i < 2; i++) {
        struct outcome o = program_expect(0, format, vectors_path, of[i]);
        found[i] = program_object(&o);
    }
    cr_expect_eq(number(found[1], "text_tokens", NULL), 10);
    cr_expect_eq(number(found[1], "text_unknown", NULL), 1);
    cr_expect_str_eq(text_at(found[1], "of/task"), "rte");
    cr_expect_eq(number(found[1], "of", "texts"), 2);
    json_object_del(found[0], "of");
    json_object_del(found[1], "of");
    cr_expect(json_equal(found[0], found[1]));
    json_decref(found[0]);
    json_decref(found[1]);
    struct outcome o = program_expect(
        0, "sanitize --analyse inversion --vectors %s --mechanism random %s --split train --json",
        vectors_path, of[1]);
    json_t *object = program_object(&o);
    cr_expect_eq(number(object, "prior", NULL), 1);
    cr_expect_eq(number(object, "text_tokens", NULL), 3);
    o = program_expect(0, "sanitize --analyse geometry --vectors %s %s --limit 1 --json",
                       vectors_path, of[1]);
    object = program_object(&o);
    cr_expect_eq(number(object, "of", "texts"), 1);
    cr_expect_eq(number(object, "text_tokens", NULL), 5);
    static const struct {
        const char *options, *says;
    } bad[] = {
        {"--analyse geometry --data x", "option --task is needed with --data"},
        {"--analyse geometry --task rte", "data: expected the folder"},
        {"--analyse geometry --task rte --data x --text y",
         "expected exactly one of these options, found both"},
        {"--analyse geometry --limit 3", "option --task is needed with --limit"},
        {"--mechanism random --split dev", "option --split needs --analyse"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o = program_expect(2, "sanitize --vectors %s %s", vectors_path, bad[i].options);
        support_contains(o.err, bad[i].says);
    }
}

/* Lists each token once, in the order of the texts: film is drawn uniformly, or stays, or a word without a vector. */
Test(sanitize, replacements) {
    const char *text = support_scratch_path("r.txt");
    support_write_text(text, "unheard film . film\nthe film\n");
    const char *vectors_path = support_path("%s", table());
    struct outcome o =
        program_expect(0,
                       "sanitize --analyse replacements --vectors %s --mechanism random --text %s "
                       "--draws 6000 --top 3 --json",
                       vectors_path, text);
    json_t *object = program_object(&o);
    const json_t *rows = json_object_get(object, "replacements");
    const json_t *film = json_array_get(rows, 0), *list = json_object_get(film, "most_frequent");
    cr_expect_eq(json_array_size(rows), 3); /* film . the */
    cr_expect_eq(number(object, "tokens", NULL), 3);
    cr_expect_eq(number(object, "draws", NULL), 6000);
    cr_expect_str_eq(text_at(film, "token"), "film");
    cr_expect_str_eq(text_at(rows, "2/token"), "the");
    cr_expect_eq(number(film, "count", NULL), 3);
    cr_expect_eq(number(film, "outputs", NULL), 6);
    cr_expect_eq(json_array_size(list), 3);
    for (size_t j = 0; j < 3; j++) { /* standard deviation .005, fixed seed */
        const double share = number(json_array_get(list, j), "share", NULL);
        cr_expect_float_eq(share, 1. / 6, .02);
        cr_expect(j == 0 || share <= number(json_array_get(list, j - 1), "share", NULL));
    }
    o = program_expect(
        0, "sanitize --analyse replacements --vectors %s " FAITHFUL " --text %s --measure-tokens 2",
        vectors_path, text);
    support_contains(o.out, "film                    1  film 100.0 %\n");
    support_lacks(o.out, "the  ");
    static const struct {
        const char *options, *says;
    } bad[] = {
        {"--analyse replacements --mechanism random",
         "option --text or --task is needed with replacements"},
        {"--analyse replacements --mechanism laplace --eta 1 --text x",
         "replacements needs a mechanism that outputs texts, such as laplace-nearest"},
        {"--analyse deniability --mechanism random --top 3",
         "option --top needs --analyse replacements"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o = program_expect(2, "sanitize --vectors %s %s", vectors_path, bad[i].options);
        support_contains(o.err, bad[i].says);
    }
}

/* A mechanism that changes nothing gives the same guesses as the texts themselves. */
Test(sanitize, mask_inference) {
    const char *lines = support_scratch_path("mlm.txt"), *model = support_scratch_path("mlm");
    char of[8600];
    json_t *found[2];
    support_write_text(lines, "the film was good .\nthe plot was bad .\n\nthe film was bad .\n");
    struct outcome o =
        program_expect(0,
                       "pretrain --text %s --vocab-size 90 --hidden 16 --layers 1 --heads 2 "
                       "--intermediate 32 --length 16 --batch 4 --steps 40 --lr 1e-2 --out %s",
                       lines, model);
    snprintf(of, sizeof of,
             "--analyse mask-inference --task sst2 --data %s --split test --model %s "
             "--mask-model %s --json",
             program_task(), model, model);
    for (int i = 0; i < 2; i++) {
        o = program_expect(0, "sanitize %s %s", of, i == 0 ? "" : FAITHFUL);
        found[i] = program_object(&o);
    }
    cr_expect_str_eq(text_at(found[0], "mechanism"), "none");
    cr_expect_gt(number(found[0], "original", NULL), 0); /* at least "was" and "." */
    cr_expect_float_eq(number(found[0], "defense_rate", NULL),
                       1 - number(found[0], "original", NULL), 1e-12);
    cr_expect_eq(number(found[0], "original", NULL), number(found[1], "original", NULL));
    cr_expect_eq(number(found[0], "guesses", NULL) + number(found[0], "left_out", NULL),
                 number(found[0], "text_tokens", NULL));
    json_decref(found[0]);
    json_decref(found[1]);
    static const struct {
        int code;
        const char *options, *says;
    } bad[] = {
        {2, "--text x", "option --mask-model is needed"},
        {2, "--mask-model x", "option --text or --task is needed"},
        {2, "--text x --mask-model x --mechanism laplace --eta 1",
         "found laplace, which outputs vectors"},
        {2, "--text x --mask-model x --precision int8", "expected f32 or bf16, found int8"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o = program_expect(bad[i].code, "sanitize --analyse mask-inference --model %s %s", model,
                           bad[i].options);
        support_contains(o.err, bad[i].says);
    }
    program_says(2, "option --max-length needs --analyse mask-inference",
                 "sanitize --analyse geometry --model %s --max-length 5", model);
    program_says(2, "option --precision needs --analyse",
                 "sanitize --mechanism random --model %s --precision bf16", model);
    program_says(3, "expected a model with a masked-LM head",
                 "sanitize --analyse mask-inference --text %s --model %s --mask-model %s", lines,
                 model, program_model());
}
