/* Tests of nvdp sanitize: a task's files and lines of text, randomness and warnings, vectors as output, privacy of the
 * texts, and --analyse. */
#include "base/file.h"
#include "program.h"
#include "text/representations.h"

#include <nvdp.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes word vectors, $VECTORS in commands. $FAITHFUL has options with which no token changes, so the output is the
 * tokenized text. */
static void setup(void) {
    static const char vectors[] = "the 0 0\nfilm 10 0\nplot 0 10\ngood 10 10\nbad 30 0\n. 0 30\n";
    setenv("VECTORS", support_file("vectors.txt", vectors), 1);
    setenv("FAITHFUL", "--mechanism santext --epsilon 1e4", 1);
}

TestSuite(sanitize, .init = setup);

/* Returns a file of the scratch directory. */
static char *contents(const char *name) {
    return support_read(support_scratch_path(name));
}

static json_t *json_of(const char *name) {
    return support_json(support_scratch_path(name));
}

static bool exists(const char *name) {
    return nvdp__exists(support_scratch_path(name));
}

static void file_is(const char *name, const char *want) {
    const char *got = contents(name);
    cr_expect_str_eq(got, want, "%s: %s", name, got);
}

/* WordPieces: tokens change; labels and index stay; training reads the result. */
Test(sanitize, task_is_written_again) {
    const char *out = support_scratch_path("same");
    struct outcome outcome =
        program_expect(0, "sanitize --task sst2 --data $TASK --model $MODEL $FAITHFUL --out "
                          "$DIR/same --measure-tokens 3 --draws 10");
    support_contains(outcome.out, "212, ", "changed           0.00% of the tokens",
                     "  - the film was very bad .\n  + the film was very bad .\n");
    cr_expect(support_same_file(out, program_task(), "train.tsv"));
    cr_expect(support_same_file(out, program_task(), "dev.tsv"));
    cr_expect(support_same_file(out, program_task(), "test.tsv"));
    json_t *object = program_json("sanitize --json --task sst2 --data $TASK --model $MODEL "
                                  "--mechanism random --out $DIR/random");
    /* with 35 pieces, one token in 35 stays the same */
    cr_expect_float_eq(number_at(object, "changed"), 34. / 35, 0.03);
    support_has(object, "{'ldp_epsilon': 0}");
    cr_expect_eq(json_array_size(json_object_get(object, "examples")), 5);
    program_expect(0, "train $TINY --data $DIR/random --method base --out $DIR/run --epochs 1");
    json_t *privacy = json_of("random/privacy.json");
    support_has(privacy, "{'nvdp_format': 'sanitized/1', 'mechanism': 'random'}");
    char *said = contents("random/statement.txt");
    said[strlen(said) - 1] = '\0';
    cr_expect_str_eq(text_at(privacy, "statement"), said);
    support_lacks(said, "film"); /* nothing to give away contains a text */
}

/* Covers text pairs, a column named after a text's, further columns, rows without a label, and both dev files. */
Test(sanitize, pairs_and_columns_that_repeat_a_text) {
    support_folder("mnli", "train.tsv",
                   "index\tsentence1_parse\tsentence1\tsentence2\tgold_label\n"
                   "7\t(the (film))\tThe  FILM.\tBad plot\tneutral\n8\t(x)\tgood\t\t-\n",
                   "dev_matched.tsv", "sentence1\tsentence2\tgold_label\nfilm\tplot\tneutral\n",
                   "dev_mismatched.tsv",
                   "sentence1\tsentence2\tgold_label\ngood\tbad\tneutral\r\n");
    program_expect(
        0,
        "sanitize --task mnli --data $DIR/mnli --vectors $VECTORS $FAITHFUL --out $DIR/mnli-out");
    file_is("mnli-out/train.tsv", "index\tsentence1_parse\tsentence1\tsentence2\tgold_label\n"
                                  "7\t\tthe film .\tbad plot\tneutral\n8\t\tgood\t\t-\n");
    file_is("mnli-out/dev_matched.tsv", "sentence1\tsentence2\tgold_label\nfilm\tplot\tneutral\n");
    file_is("mnli-out/dev_mismatched.tsv",
            "sentence1\tsentence2\tgold_label\ngood\tbad\tneutral\n");
}

Test(sanitize, cola_without_a_header_and_files_of_ones_own) {
    support_folder("cola", "train.tsv", "gj04\t1\t\tThe film\nx\t0\t*\tbad plot\n", "test.tsv",
                   "index\tsentence\n0\tgood.\n");
    program_expect(
        0,
        "sanitize --task cola --data $DIR/cola --vectors $VECTORS $FAITHFUL --out $DIR/cola-out");
    file_is("cola-out/train.tsv", "gj04\t1\t\tthe film\nx\t0\t*\tbad plot\n");
    file_is("cola-out/test.tsv", "index\tsentence\n0\tgood .\n");
    support_folder("own", "train.tsv", "t\tt_label\tt_tree\ngood\tyes\t(good)\n");
    program_expect(0, "sanitize --task tsv --text-column t --label-column t_label --data $DIR/own "
                      "--vectors $VECTORS $FAITHFUL --out $DIR/own-out");
    file_is("own-out/train.tsv", "t\tt_label\tt_tree\ngood\tyes\t\n");
}

/* Every layout that training reads is kept. Columns without texts keep their values, with any quotes, commas and
 * newlines. Cells that repeat the text become empty. Training reads the result. */
Test(sanitize, layouts_of_ones_own) {
    support_folder(
        "odd", "train.csv",
        "\xEF\xBB\xBFt,y,\"n\"\"o,te\",t_tree,empty\r\n"
        "\"Good film, good\nplot.\",\"yes,\",\"two\r\nlines \"\"q\"\"\",(S \"x\"),\r\n\r\n"
        "bad plot,no,,,\"\"\nthe film,\"yes,\",5\" disk,\"\"\"\",\n",
        "dev.tsv", "t\ty\tnote\nGood\tyes,\t\"a\tb\"\nbad\tno\t\"c \"\"d\"\"\"\n", "test.jsonl",
        "{\"id\" : 12345678901234567890.10, \"t\": \"Good \\\"film\\\"\\n.\", \"x\": {\"t\": [1, "
        "\"}\"]}}\n"
        "\n{\"\\u0074\":2.50 ,\"t_new\": [\"secret\", {\"a\": 1}], \"id\":null, \"x\": 1e3}\r\n");
    program_says(0, "dev.tsv: fields are quoted as in CSV: quotes are taken off",
                 "sanitize --task tsv --text-column t --label-column y --data $DIR/odd --vectors "
                 "$VECTORS $FAITHFUL --oov drop --out $DIR/odd-out");
    file_is("odd-out/train.csv",
            "t,y,\"n\"\"o,te\",t_tree,empty\ngood film good plot .,\"yes,\",\"two\r\nlines "
            "\"\"q\"\"\",,\n"
            "bad plot,no,,,\nthe film,\"yes,\",\"5\"\" disk\",,\n");
    file_is("odd-out/dev.tsv",
            "\"t\"\t\"y\"\t\"note\"\ngood\tyes,\t\"a\tb\"\nbad\tno\t\"c \"\"d\"\"\"\n");
    file_is(
        "odd-out/test.jsonl",
        "{\"id\" : 12345678901234567890.10, \"t\": \"good film .\", \"x\": {\"t\": [1, \"}\"]}}\n"
        "{\"\\u0074\":\".\",\"t_new\": \"\", \"id\":null, \"x\": 1e3}\n");
    const json_t *files = json_object_get(json_of("odd-out/privacy.json"), "files");
    cr_expect_str_eq(text_at(files, "test.jsonl/emptied/0"), "t_new");
    /* once more, overwriting, with another layout of the training texts */
    remove(support_scratch_path("odd/train.csv"));
    support_folder("odd", "train.jsonl",
                   "{\"t\": \"good\", \"y\": \"yes,\"}\n{\"y\": \"no\", \"t\": \"bad\"}\n");
    program_expect(0, "sanitize --task tsv --text-column t --data $DIR/odd --vectors $VECTORS "
                      "$FAITHFUL --overwrite --out $DIR/odd-out");
    cr_expect_not(exists("odd-out/train.csv"));
    remove(support_scratch_path("odd-out/test.jsonl"));
    program_expect(0, "train $TINY --method base --task tsv --text-column t --label-column y "
                      "--data $DIR/odd-out --out $DIR/odd-run --epochs 1");
}

/* Measurements and statement of a folder belong to its texts. If two processes write, one is refused. */
Test(sanitize, what_was_measured_goes_with_its_texts) {
    static const char command[] =
        "sanitize --quiet --task sst2 --data $TASK --model $MODEL --mechanism santext --eta %d "
        "--overwrite --out $DIR/measured --measure-tokens 0";
    static const char measure[] =
        "privacy --quiet --task sst2 --data $TASK --model $MODEL --sanitized $DIR/measured %s";
    DIR *lock = NULL;
    program_expect(0, command, 1);
    program_expect(0, measure, "");
    char *first = contents("measured/measured.json");
    program_expect(0, measure, "--limit 5");
    file_is("measured/measured.json", first);
    cr_assert(exists("measured/measured-limit-5.json"));
    ok(nvdp__outdir_lock(support_context(), support_scratch_path("measured"), &lock));
    program_says(1, "measured: another process is writing to this folder", command, 50);
    nvdp__outdir_unlock(lock);
    cr_expect(exists("measured/measured.json"));
    program_expect(0, command, 50);
    cr_expect_not(exists("measured/measured.json"));
    cr_expect_not(exists("measured/measured-limit-5.json"));
}

/* Each line gives one line, also empty lines and lines whose words are removed. */
Test(sanitize, lines) {
    support_file("lines.txt", "Good film, good plot.\n\nugly\nthe film");
    struct outcome outcome =
        program_expect(0, "sanitize --vectors $VECTORS $FAITHFUL --oov drop <$DIR/lines.txt");
    cr_expect_str_eq(outcome.out, "good film good plot .\n\n\nthe film\n");
    support_contains(outcome.err, "no vector         22.22% of the words");
    program_expect(0, "sanitize --text $DIR/lines.txt --vectors $VECTORS $FAITHFUL --oov drop "
                      "--out $DIR/lines-out.txt");
    file_is("lines-out.txt", "good film good plot .\n\n\nthe film\n");
    cr_expect(exists("lines-out.txt.statement.txt"));
    cr_expect(exists("lines-out.txt.privacy.json"));
    program_says(
        2, "the file exists; use --overwrite",
        "sanitize --text $DIR/lines.txt --vectors $VECTORS $FAITHFUL --out $DIR/lines-out.txt");
    program_says(2, "the output directory is not empty; use --overwrite\n",
                 "sanitize --task sst2 --data $TASK --vectors $VECTORS $FAITHFUL --out $DIR");
}

/* Files of killed processes, which hold another draw of the texts, are removed so that they are not given away. */
Test(sanitize, leftovers_go) {
    support_file("text", "good film\n");
    support_folder("again", "train.tsv.partial-1-0", "sentence\tlabel\n");
    support_file("again.txt.partial-1-0", "bad\n");
    program_expect(0, "sanitize --quiet --task sst2 --data $TASK --vectors $VECTORS $FAITHFUL "
                      "--overwrite --out $DIR/again");
    program_expect(
        0, "sanitize --quiet --text $DIR/text --vectors $VECTORS $FAITHFUL --out $DIR/again.txt");
    cr_expect_not(exists("again/train.tsv.partial-1-0"));
    cr_expect_not(exists("again.txt.partial-1-0"));
}

static char *drawn(const char *options) {
    program_expect(0,
                   "sanitize --quiet --task sst2 --data $TASK --model $MODEL --mechanism santext "
                   "--eta 2 --overwrite --out $DIR/drawn --measure-tokens 0 %s",
                   options);
    return contents("drawn/dev.tsv");
}

/* Two calls never draw the same unless the seed option is given; then the result does not depend on the threads, and
 * the output mentions it. */
Test(sanitize, draws) {
    const char *seeded = drawn("--insecure-seed 3 --threads 1");
    cr_expect_str_neq(drawn(""), drawn(""));
    cr_expect_str_eq(seeded, drawn("--insecure-seed 3 --threads 2"));
    cr_expect_str_neq(seeded, drawn("--insecure-seed 4"));
    struct outcome outcome =
        program_expect(2, "sanitize --vectors $VECTORS $FAITHFUL --seed 3 </dev/null");
    support_contains(outcome.err, "option --seed needs --analyse",
                     "with --insecure-seed N for tests and experiments\n");
}

/* Terminal, JSON, statement and privacy.json name the source of randomness. A seed causes a warning even with
 * --quiet. */
Test(sanitize, a_seed_is_said) {
    static const char command[] = "sanitize %s --task sst2 --data $TASK --model $MODEL $FAITHFUL "
                                  "--overwrite --out $DIR/said --measure-tokens 0 %s";
    static const struct {
        const char *option, *generator, *row;
    } of[] = {
        {"", "os", "\ndraws             from the operating system's generator"},
        {"--insecure-seed 3", "insecure-seed", "\ndraws             INSECURE, from a seed: "}};
    for (size_t seeded = 0; seeded < 2; seeded++) {
        program_prints(0, of[seeded].row, command, "", of[seeded].option);
        struct outcome outcome = program_expect(0, command, "--json --quiet", of[seeded].option);
        json_t *object = program_object(&outcome);
        const char *said = text_at(object, "statement");
        cr_expect_eq(json_is_true(json_object_get(object, "insecure_seed")), seeded == 1);
        cr_expect_eq(strncmp(said, "INSECURE", 8) == 0, seeded == 1, "%s", said);
        cr_expect_eq(strstr(outcome.err, "warning: --insecure-seed: ") != NULL, seeded == 1);
        cr_expect_str_eq(text_at(json_of("said/privacy.json"), "generator"), of[seeded].generator);
    }
}

/* The output names what santext-plus gives up, and the cost of choosing by the private texts. */
Test(sanitize, plus_says_what_it_gives_up) {
    json_t *object =
        program_json("sanitize --json --task sst2 --data $TASK --model $MODEL --mechanism "
                     "santext-plus --eta 5 --p 0.2 --sensitive 0.5 --sensitive-from-data "
                     "--out $DIR/plus --measure-tokens 2 --draws 9");
    support_has(object, "{'ldp_epsilon': 'inf', 'vocabulary': 35, 'sensitive': 17}");
    support_contains(
        text_at(object, "statement"),
        "No guarantee for the 18 of 35 tokens that are not sensitive: ",
        "stay as they are with probability 0.8",
        "was counted on the private texts: that choice is not private.",
        "for one sensitive token with a vector in place of another",
        "For n such tokens of one row it is n times that: at most ",
        "Proven for exact arithmetic, which this output's noise lacks, for two sensitive "
        "tokens: ",
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
    support_file("plus.txt", "the film\nthe plot\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_file("public.txt", cases[i].public);
        struct outcome outcome =
            program_expect(cases[i].code,
                           "sanitize --text $DIR/plus.txt --vectors $VECTORS --mechanism "
                           "santext-plus --eta 1.2345612 --sensitive 0.5 --sensitive-from "
                           "$DIR/public.txt %s --overwrite --out $DIR/plus.out",
                           cases[i].option);
        support_contains(cases[i].code == 0 ? outcome.out : outcome.err, cases[i].said);
        support_lacks(outcome.out, "counted on the private texts");
        if (cases[i].code == 0) /* 1.235 is rounded up */
            support_contains(outcome.out, "Which tokens are sensitive was counted in public.txt.",
                             "1.235 |x - x'|");
    }
    /* nothing is given up if all tokens are sensitive */
    struct outcome outcome = program_expect(
        0, "sanitize --text $DIR/plus.txt --vectors $VECTORS --mechanism santext-plus --eta 1 "
           "--sensitive 1 --sensitive-from $VECTORS --overwrite --out $DIR/plus.out");
    support_lacks(outcome.out, "No guarantee");
    support_contains(outcome.out, "for one token with a vector in place of");
}

/* The epsilon that counts is that of a whole row: here of 4 tokens, up to 42.43 each. Columns that stay are named. */
Test(sanitize, rows_and_their_columns_are_said) {
    support_file("rows.csv", "text,\"a\nb\",T\xFCx,Text\nthe film .,1,2,The film.\n"
                             "bad bad film unseen,2,3,x\n");
    program_prints(0, "at most 42.43 per token, 169.8 for the longest row",
                   "sanitize --quiet --text $DIR/rows.csv --vectors $VECTORS --mechanism "
                   "santext --eta 1 --out $DIR/rows.out");
    json_t *privacy = json_of("rows.out.privacy.json");
    support_contains(
        text_at(privacy, "statement"),
        "No useful guarantee over all texts: epsilon is at most 42.43 for one token",
        "at most 169.8 for 4, the length of the longest row.",
        "the words and vectors of vectors.txt, even if they were made from these texts",
        "all columns that were not privatized ('a?b', 'T?x', 'Text'). ");
    cr_expect_float_eq(number_at(privacy, "row_epsilon"), 4 * 42.4264069, 1e-6);
    support_file("none.txt", "\n");
    struct outcome outcome =
        program_expect(0, "sanitize --json --text $DIR/none.txt --vectors $VECTORS "
                          "--mechanism santext --eta 1e308 --overwrite --out $DIR/rows.out");
    support_contains(outcome.out, "at most inf for one token",
                     "at most 0 for 0, the length of the longest row.");
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
    support_file("unknown.txt", "the ugly film\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *object = program_json("sanitize --json --overwrite --text $DIR/unknown.txt "
                                      "--vectors $VECTORS %s --out $DIR/unknown.out",
                                      cases[i].options);
        support_contains(text_at(object, "statement"), "A word without a vector ", cases[i].said);
        const char *number =
            support_path("%.17g", support_number(json_object_get(object, "oov_epsilon")));
        cr_expect_eq(strncmp(number, cases[i].epsilon, strlen(cases[i].epsilon)), 0, "%s: %s",
                     cases[i].options, number);
    }
}

/* The message uses the name that was given, or both names. */
Test(sanitize, no_noise_is_refused_by_name) {
    static const char command[] = "sanitize --vectors $VECTORS --mechanism santext %s </dev/null";
    static const char message[] =
        "--eta or --epsilon: mechanism santext needs a finite number above 0, found 0";
    program_says(2, message, command, "--epsilon 0");
    program_says(2, message, command, "--eta 0");
    program_says(2, message, command, "");
}

/* Warns of vectors whose words no input contains but which appear in the output. */
Test(sanitize, words_of_no_text_are_warned_of) {
    support_file("cased.txt", "Paris in caf\xC3\xA9 don't\n");
    support_file("cased.vectors",
                 "in 0 0\nParis 1 0\nparis 2 0\ncaf\xC3\xA9 0 1\ndon't 0 2\n' 0 3\n");
    struct outcome outcome = program_expect(0, "sanitize --quiet --text $DIR/cased.txt --vectors "
                                               "$DIR/cased.vectors $FAITHFUL --out $DIR/cased.out");
    support_contains(outcome.err, "warning: word vectors: 3 of 6 words, such as 'Paris', match no "
                                  "text but can still be drawn as output");
    support_contains(outcome.out, "in no text        3 of these words");
    json_t *privacy = json_of("cased.out.privacy.json");
    cr_expect_eq(integer_at(privacy, "vocabulary/unmatched"), 3);
    support_contains(text_at(privacy, "statement"), "3 of the words come out but never go in");
    outcome =
        program_expect(0, "sanitize --quiet --text $DIR/cased.txt --vectors $VECTORS $FAITHFUL");
    support_lacks(outcome.err, "match no text");
}

/* Output words come only from the words of a task or file. The statement names the consequence; nvdp privacy and
 * analyses use the same words. */
Test(sanitize, vocabulary_from) {
    static const char command[] =
        "sanitize --json --task sst2 --data $DIR/few --vectors $VECTORS --mechanism random "
        "--overwrite --out $DIR/few-out --vocabulary-from %s";
    support_folder("few", "train.tsv", "sentence\tlabel\nthe film\t1\nugly film .\t0\n", "dev.tsv",
                   "sentence\tlabel\nGood film\t1\nthe film .\t0\n");
    support_file("public.txt", "The plot.\nbad\n");
    support_contains(text_at(program_json(command, "sst2"), "statement"),
                     "NOT PRIVATE, the choice of words: of the table's 6 words only the 4 that "
                     "occur in these texts come out",
                     "its length, and of all texts together which words they have.");
    support_lacks(contents("few-out/dev.tsv"), "plot", "bad");
    support_has(json_object_get(json_of("few-out/privacy.json"), "vocabulary"),
                "{'from': 'sst2', 'own_words': true, 'table': 6, 'tokens': 4}");
    static const char measure[] = "privacy --quiet --task sst2 --data $DIR/few --vectors $VECTORS "
                                  "--sanitized $DIR/few-out %s";
    struct outcome outcome = program_expect(0, measure, "");
    support_contains(outcome.out, "The vocabulary has 4 tokens",
                     "The vocabulary comes from these texts, which is not private");
    json_t *object = program_json("sanitize --analyse geometry --json --task sst2 --data $DIR/few "
                                  "--vectors $VECTORS --vocabulary-from sst2");
    cr_expect_eq(integer_at(object, "vocabulary"), 4);
    cr_expect_eq(json_array_size(json_object_get(object, "neighbours")), 3); /* 1, 2, all: of 4 */

    const char *said = text_at(program_json(command, "$DIR/public.txt"), "statement");
    support_contains(said,
                     "Of the table's 6 words only those that occur in public.txt come out. That "
                     "file is taken to be public: the output shows which words it has. None of its "
                     "texts is among the texts that were privatized.\n");
    support_lacks(said, "NOT PRIVATE");
    program_says(2, "the folder was made with --vocabulary-from FILE", measure, "");
    program_says(3, "expected the tokens and vectors of ", measure, "--vocabulary-from sst2");
    outcome = program_expect(0, measure, "--vocabulary-from $DIR/public.txt");
    support_contains(outcome.out, "The vocabulary has 4 tokens"); /* the plot . bad */
    support_lacks(outcome.out, "which is not private");

    /* a private text in its own vocabulary is refused, unless its owner declares the file, which the statement says */
    static const char of_text[] = "sanitize --text $DIR/%s --vectors $VECTORS $FAITHFUL "
                                  "--vocabulary-from $DIR/%s --out $DIR/own.out";
    support_file("both.txt", "the film plot good\tBAD .\n");
    support_file("bad.txt", "more\nbad .\n");
    outcome = program_expect(2, of_text, "public.txt", "public.txt");
    support_contains(outcome.err, "--vocabulary-from: ",
                     "found 2 of the 2 private texts among them, the first in row 1");
    cr_expect_not(exists("own.out"));
    program_says(2, "found 1 of the 2 private texts among them, the first in row 2", of_text,
                 "bad.txt", "both.txt");
    program_says(
        2, "expected a file that can be read twice",
        "sanitize --vectors $VECTORS $FAITHFUL --vocabulary-from $DIR/both.txt </dev/null");
    for (int overlap = 0; overlap < 2; overlap++) {
        program_prints(0,
                       overlap == 1 ? "4 of the 6 words with vectors, 2 dimensions\n"
                                    : "vocabulary        6 words, 2 dimensions\n",
                       of_text, "public.txt",
                       overlap == 1 ? "public.txt --public-independent --overwrite"
                                    : "both.txt --public-independent --overwrite");
        json_t *privacy = json_of("own.out.privacy.json");
        support_contains(text_at(privacy, "statement"),
                         "which words it has. The owner declares that its texts were chosen "
                         "independently of the private texts; they were not compared.\n");
        cr_expect_str_eq(text_at(privacy, "public_texts"), "declared");
    }
    program_says(
        2, "--public-independent: expected public texts that it declares",
        "sanitize --text $DIR/public.txt --vectors $VECTORS $FAITHFUL --public-independent");
    outcome =
        program_expect(0, "privacy --quiet --text $DIR/public.txt --vectors $VECTORS --sanitizer "
                          "santext --eta .12345612 --vocabulary-from $DIR/public.txt");
    support_contains(outcome.out, "The vocabulary comes from these texts, which is not private",
                     "the log ratio is at most 5.238 nats"); /* 42.4264 eta */
    program_prints(0, "NOT PRIVATE, the choice of words",
                   "sanitize --json --task sst2 --data $DIR/few --vectors $VECTORS --mechanism "
                   "laplace --eta 1 --vocabulary-from sst2 --out $DIR/few.h5");
    program_prints(0, "No guarantee for the 2 of 4 tokens that are not sensitive",
                   "sanitize --json --task sst2 --data $DIR/few --vectors $VECTORS --mechanism "
                   "santext-plus --eta 1 --sensitive 0.5 --sensitive-from-data "
                   "--vocabulary-from sst2 --overwrite --out $DIR/few-out");
    program_says(2, "--vocabulary-from: expected the task of the texts, sst2, or a file", command,
                 "mrpc");
    program_says(
        2, "--vocabulary-from: expected word vectors",
        "sanitize --model $MODEL --mechanism random --vocabulary-from $DIR/public.txt </dev/null");
}

/* Each of these files, or of these options on good files, is refused, and no incomplete file is left. */
Test(sanitize, bad_input) {
    static const struct {
        const char *name, *text, *options, *message;
    } files[] = {
        {"train.tsv", "sentence\tlabel\ngood\t1\n\"bad\tfilm\"\t0\n", "--task sst2",
         "train.tsv:3: expected 2 columns, found 3 (tabs also separate columns inside quotes)"},
        {"train.tsv", "text\tlabel\ngood\t1\n", "--task sst2",
         "train.tsv:1: missing column 'sentence': found columns 'text', 'label'"},
        {"train.tsv", "", "--task sst2",
         "train.tsv:1: expected a header line, found an empty file"},
        {"train.tsv", "sentence\tlabel\n", "--task sst2", "train.tsv: expected rows, found none"},
        {"train.csv", "t,y\n\"a\nb\",1\ngood,\"1\"x\n", "--task tsv --text-column t",
         "train.csv:4: column 2: expected the end of the field after its closing quote"},
        {"train.csv", "t,y\ngood,1\nbad\n", "--task tsv --text-column t",
         "train.csv:3: expected 2 columns, found 1"},
        {"train.jsonl", "{\"t\": \"good\"}\n{\"t\": null}\n", "--task tsv --text-column t",
         "train.jsonl:2: 't': expected text or a number, found none"},
        {"train.tsv", "t,y\ngood,1\n", "--task tsv --text-column t", "CSV files are named .csv"},
    };
    static const char *const options[][2] = {
        {"--mechanism santext",
         "--eta or --epsilon: mechanism santext needs a finite number above 0"},
        {"--mechanism santext --epsilon -1", "epsilon"},
        {"--mechanism santext --eta inf", "eta"},
        {"--mechanism santext --epsilon 2 --eta 2",
         "options --epsilon and --eta set the same option; keep one of them"},
        {"--model x $FAITHFUL",
         "--model or --vectors: expected exactly one of these options, found both"},
    };
    const char *out = support_scratch_path("refused");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *name = support_path("bad%zu", i);
        support_folder(name, files[i].name, files[i].text);
        program_says(3, files[i].message,
                     "sanitize %s --data $DIR/%s --vectors $VECTORS $FAITHFUL --out $DIR/refused",
                     files[i].options, name);
        cr_expect(nvdp__directory_empty(out), "%s", files[i].message);
    }
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        program_says(2, options[i][1],
                     "sanitize --task sst2 --data $TASK --vectors $VECTORS %s --out $DIR/refused",
                     options[i][0]);
        cr_expect(nvdp__directory_empty(out), "%s", options[i][1]);
    }
    mkdir(support_scratch_path("nothing"), 0777);
    program_says(1, "expected one of the files train.tsv, dev.tsv and test.tsv, found none",
                 "sanitize --task sst2 --data $DIR/nothing --vectors $VECTORS $FAITHFUL --out "
                 "$DIR/refused");
    cr_expect(nvdp__directory_empty(out));
    program_says(
        2, "out: expected a file or folder other than the input",
        "sanitize --task sst2 --data $TASK --vectors $VECTORS $FAITHFUL --overwrite --out $TASK/.");
    /* Most words are unknown: continues with a warning. */
    support_folder("foreign", "train.tsv", "sentence\tlabel\nder gute film\t1\n");
    program_says(0,
                 "66.7% of the words have no vector and are drawn uniformly, so "
                 "the output says little about the texts",
                 "sanitize --task sst2 --data $DIR/foreign --vectors $VECTORS $FAITHFUL "
                 "--out $DIR/foreign-out");
}

/* Vectors of a file of text pairs: reads them back, on the grid, and near the table's rows as far as the noise
 * allows. */
Test(sanitize, representations) {
    support_folder("rte", "train.tsv",
                   "index\tsentence1\tsentence2\tlabel\n0\tthe film\tGood plot.\tentailment\n"
                   "1\tbad\t\tnot_entailment\n",
                   "dev.tsv", "index\tsentence1\tsentence2\tlabel\n0\tugly\tfilm\tentailment\n",
                   "test.tsv", "index\tsentence1\tsentence2\n0\tplot\tbad\n");
    struct outcome outcome = program_expect(
        0,
        "sanitize --task rte --data $DIR/rte --vectors $VECTORS --mechanism laplace --eta 50 --out "
        "$DIR/r.h5");
    support_contains(outcome.out, "laplace (a noisy\n  vector in place of the token");
    support_lacks(outcome.out, "changed ");
    struct nvdp_context *ctx = support_context();
    nvdp__autoptr(nvdp__representations_close) struct nvdp__representations *file = NULL,
                                                                            *no = NULL;
    struct nvdp__representations_info info;
    ok(nvdp__representations_open(ctx, support_scratch_path("r.h5"), &file, &info));
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
    fails(nvdp__representations_open(ctx, support_file("no.h5", "no"), &no, &info), NVDP_ERR_INPUT,
          "");
    program_says(2, "laplace outputs vectors, not words; give a file for them (--out)",
                 "sanitize --text $VECTORS --vectors $VECTORS --mechanism laplace --eta 3");
    program_prints(0, "representations/1", "info $DIR/r.h5");
}

/* Classes of the user's task are numbered by the train file in every layout. A pipe, which cannot be read twice, is
 * refused without leaving a file. */
Test(sanitize, representations_of_ones_own) {
    support_folder("classes", "train.csv", "t,y\n\"the\nfilm\",b\ngood,\"a,\"\n,c\nbad,b\n",
                   "dev.jsonl", "{\"y\": \"c\", \"t\": \"plot plot\", \"z\": 0}\n");
    const char *out = support_scratch_path("own.h5");
    program_says(0, "train.csv: 1 of 4 texts are empty",
                 "sanitize --task tsv --text-column t --label-column y --data $DIR/classes "
                 "--vectors $VECTORS --mechanism laplace --eta 50 --out $DIR/own.h5");
    nvdp__autoptr(nvdp__representations_close) struct nvdp__representations *file = NULL;
    struct nvdp__representations_info info;
    ok(nvdp__representations_open(support_context(), out, &file, &info));
    static const int64_t offset[] = {0, 2, 3, 3, 4, 6}, id[] = {0, 1, 2, 3, 0};
    static const float label[] = {1, 0, 2, 1, 2};
    cr_assert_eq(info.rows, 5);
    cr_expect_arr_eq(info.offset, offset, sizeof offset);
    cr_expect_arr_eq(info.id, id, sizeof id);
    cr_expect_arr_eq(info.label, label, sizeof label);
    remove(out);
    struct outcome outcome =
        program_shell("echo good | %s/nvdp sanitize --vectors $VECTORS --mechanism laplace "
                      "--eta 3 --out $DIR/own.h5",
                      NVDP_BINARY_DIR);
    cr_expect_eq(outcome.code, 3);
    support_contains(outcome.err, "expected a regular file, found a FIFO");
    cr_expect_not(nvdp__exists(out));
}

/* Privacy of the texts, in the same report as for NVDP: for a mechanism, and for a sanitized folder. */
Test(sanitize, privacy_of_the_texts) {
    support_folder("short", "train.tsv", "sentence\tlabel\nthe film\t1\ngood\t0\n", "dev.tsv",
                   "sentence\tlabel\nthe film\t1\ngood plot\t0\nbad\t1\nplot\t0\n");
    json_t *first = program_json("privacy --sanitizer santext --epsilon .1 --vectors $VECTORS "
                                 "--task sst2 --data $DIR/short --json");
    support_has(first, "{'method': 'santext', 'pairs_of_other_length': 8, 'equal_length/pairs': 4, "
                       "'rd/sum/max': 'inf', 'vocabulary_worst/tokens': 6}");
    const double high = number_at(first, "equal_length/largest_epsilon/high");
    const double converted = number_at(first, "equal_length/epsilon/max");
    cr_expect(high > 0 && high <= converted && converted < 4);
    cr_expect_float_eq(number_at(first, "vocabulary_worst/bound"), .1 * sqrt(1800), 1e-9);

    /* The folder gives the same result as explicit options. */
    program_expect(0,
                   "sanitize --task sst2 --data $DIR/short --vectors $VECTORS --mechanism santext "
                   "--epsilon .1 --out $DIR/noised --measure-tokens 0 --quiet");
    struct outcome outcome =
        program_expect(0, "privacy --sanitized $DIR/noised --vectors $VECTORS --task sst2 --data "
                          "$DIR/short --pairs $DIR/pairs.h5");
    cr_expect(exists("pairs.h5"));
    support_contains(
        outcome.out, "under santext, eta 0.1", "they alone distinguish 66.7 % of the pairs",
        "For pairs of equal length:", "of the largest pair of equal length, one sample: ");
    cr_expect(json_equal(json_of("noised/measured.json"), first));

    program_says(2, "options --eta and --epsilon set the same option",
                 "privacy --sanitizer santext --eta 1 --epsilon 2");
    program_says(2, "leave out RUN", "privacy run --sanitizer santext --epsilon 1");
    program_says(3, "privacy.json: expected a file that nvdp sanitize wrote",
                 "privacy --sanitized $DIR/short --vectors $VECTORS --task sst2 --data $DIR/short");
    program_says(2, "--model or --vectors: expected exactly one of these options, found neither",
                 "privacy --sanitizer santext --epsilon 1 --task sst2 --data $DIR/short");
}

/* Writes texts whose frequent words differ from those of the dev split: film, plot and good, of 6 words. */
static void uneven(void) {
    support_folder("uneven", "train.tsv",
                   "sentence\tlabel\nfilm plot good film plot good\t1\nfilm plot good\t0\n",
                   "dev.tsv",
                   "sentence\tlabel\nthe film\t1\nthe plot\t0\nbad good\t1\nbad the\t0\n. bad\t1\n"
                   ". .\t0\n");
}

/* A report about another mechanism than the folder's would mislead. Sensitive tokens are counted as by nvdp sanitize,
 * and other vectors, shares and texts are refused. */
Test(sanitize, measured_is_the_folders_mechanism) {
    uneven();
    program_expect(0, "sanitize --task sst2 --data $DIR/uneven --vectors $VECTORS --mechanism "
                      "santext-plus --eta .1 --p .2 --sensitive .5 --sensitive-from-data "
                      "--out $DIR/plus --measure-tokens 0 --quiet");
    struct outcome outcome =
        program_expect(0, "privacy --sanitized $DIR/plus --vectors $VECTORS --task sst2 --data "
                          "$DIR/uneven --quiet");
    support_lacks(outcome.err, "nvdp cannot check that these are the same vectors",
                  "drawn from a seed");
    support_contains(outcome.out, "Which tokens are sensitive was counted on these texts: ",
                     "For 50 % of all pairs of words with vectors, those whose first "
                     "word is not sensitive, the log ratio\nis inf. For all others");
    /* the dev texts alone would select these 3 as not sensitive, and 9 others */
    support_has(json_of("plus/measured.json"),
                "{'sanitizer/own_choice': true, 'tokens/all': 12, 'tokens/not_sensitive': 3}");

    /* without a folder the same words are counted */
    json_t *tokens = json_object_get(
        program_json("privacy --sanitizer santext-plus --eta .1 --p .2 --sensitive .5 "
                     "--sensitive-from-data --vectors $VECTORS --task sst2 --data $DIR/uneven "
                     "--limit 5 --json"),
        "tokens");
    cr_expect_eq(integer_at(tokens, "all"), 10);
    cr_expect_leq(integer_at(tokens, "not_sensitive"), 3);

    remove(support_scratch_path("plus/measured.json"));
    support_file("small.txt", "the 0 0\nfilm 1 0\nplot 0 1\ngood 1 1\nbad 3 0\n. 0 3\n");
    support_folder("other", "dev.tsv", "sentence\tlabel\nthe film\t1\nthe bad\t0\n");
    program_says(3, "expected the tokens and vectors of vectors.txt (digest ",
                 "privacy --task sst2 --sanitized $DIR/plus --vectors $DIR/small.txt --data "
                 "$DIR/uneven");
    program_says(
        3,
        "expected the same sensitive tokens as the folder's, from --sensitive-from-data (digest ",
        "privacy --task sst2 --sanitized $DIR/plus --vectors $VECTORS --data $DIR/other");
    static const char command[] =
        "privacy --task sst2 %s --sanitized $DIR/plus --vectors $VECTORS --data $DIR/uneven";
    program_says(3,
                 "privacy.json: expected the recorded value, sensitive 0.5, found --sensitive 0.9",
                 command, "--sensitive .9");
    program_says(3, "expected the recorded value, eta 0.1", command, "--epsilon 3");
    program_says(2, "leave out RUN", command, "run");
    cr_expect_not(exists("plus/measured.json"));
}

/* The report repeats what the folder's statement admits: draws from a seed, a vocabulary of the texts' own words,
 * although its list is now read from a copy, and divergences that are only bounds. */
Test(sanitize, measured_repeats_what_the_folder_admits) {
    static const char *const said[][3] = {
        {"santext", "The divergences are exact.\n", "\nExact epsilon at delta"},
        {"laplace", "The divergences are exact, but upper bounds for words without a vector.\n",
         "\nExact epsilon at delta"},
        {"laplace-nearest", "those of laplace, which bound the exact ones.\n", "at most inf.\n"}};
    uneven();
    support_file("copy.tsv", contents("uneven/train.tsv"));
    program_expect(0,
                   "sanitize --task sst2 --data $DIR/uneven --vectors $VECTORS --vocabulary-from "
                   "sst2 --insecure-seed 3 --mechanism santext --eta .1 --out $DIR/seeded "
                   "--measure-tokens 0 --quiet");
    struct outcome outcome = program_expect(
        0, "privacy --sanitized $DIR/seeded --vectors $VECTORS --task sst2 --data $DIR/uneven");
    support_contains(outcome.err, "the noise was drawn from a seed");
    support_has(json_object_get(json_of("seeded/measured.json"), "sanitizer"),
                "{'insecure_seed': true, 'own_words': true}");
    support_contains(outcome.out, "The vocabulary comes from these texts, which is not private");
    for (size_t i = 0; i < 3; i++) {
        outcome =
            program_expect(0,
                           "privacy --sanitizer %s --eta .1 --vectors $VECTORS --vocabulary-from "
                           "$DIR/copy.tsv --task sst2 --data $DIR/uneven",
                           said[i][0]);
        support_contains(outcome.out, said[i][1], said[i][2]);
    }
}

/* A list must be given again. A folder without digests is measured with a warning. */
Test(sanitize, sensitive_lists_and_older_folders) {
    static const char command[] =
        "privacy --task sst2 --sanitized $DIR/listed --vectors $VECTORS --data $DIR/uneven %s";
    static const char listed[] = "--sensitive-list $DIR/list.txt";
    uneven();
    support_file("list.txt", "film\nbad\n");
    program_expect(0, "sanitize --task sst2 --data $DIR/uneven --vectors $VECTORS --mechanism "
                      "santext-plus --eta .1 --sensitive-list $DIR/list.txt --out $DIR/listed "
                      "--measure-tokens 0 --quiet");
    program_says(2, "privacy.json: the folder was made with --sensitive-list FILE", command, "");
    program_expect(0, command, listed);
    support_file("list.txt", "film\n");
    program_says(3, "expected the same sensitive tokens as the folder's, from --sensitive-list",
                 command, listed);

    json_t *older = json_of("listed/privacy.json");
    cr_assert_eq(json_object_del(json_object_get(older, "vocabulary"), "digest"), 0);
    cr_assert_eq(json_object_del(json_object_get(older, "sensitive"), "digest"), 0);
    cr_assert_eq(json_object_del(json_object_get(older, "sensitive"), "share"), 0);
    cr_assert_eq(json_dump_file(older, support_scratch_path("listed/privacy.json"), 0), 0);
    program_says(0, "nvdp cannot check that these are the same vectors", command, listed);
}

/* ---- --analyse ---- */

/* Covers distances that can be verified by hand, a mechanism that changes nothing, and one that reveals nothing. */
Test(sanitize, analyses) {
    support_file("t.txt", "the film . the plot . the unheard\ngood the\n");
    json_t *object = program_json("sanitize --analyse geometry --vectors $VECTORS --json");
    const json_t *rows = json_object_get(object, "neighbours");
    cr_expect_eq(json_array_size(rows), 5);
    cr_expect_float_eq(number_at(rows, "0/mean"), (4 * 10 + 2 * 20) / 6., 1e-12);
    cr_expect_eq(number_at(rows, "4/k"), 5);
    cr_expect_float_eq(number_at(rows, "4/mean"),
                       (30 + hypot(10, 30) * 2 + hypot(10, 20) + hypot(30, 30) * 2) / 6., 1e-12);
    object = program_json("sanitize --analyse deniability --vectors $VECTORS $FAITHFUL "
                          "--measure-tokens 50 --draws 20 --text $DIR/t.txt --json");
    support_has(object,
                "{'n_w/mean': 1, 's_w/q95': 1, 's_star/mean': 1, 'inputs': 5, 'h_0/mean': 0}");
    /* the 4, film 1, . 2, plot 1, good 1; "unheard" has no vector */
    object = program_json("sanitize --analyse inversion --vectors $VECTORS --mechanism "
                          "random --text $DIR/t.txt --json");
    cr_expect_float_eq(number_at(object, "prior"), 4. / 9, 1e-12);
    cr_expect_float_eq(number_at(object, "bayes"), 4. / 9, 1e-12);
    cr_expect_float_eq(number_at(object, "nearest"), 1. / 6, 1e-12);
    cr_expect_eq(number_at(object, "text_unknown"), 1);
    program_prints(0, "Bayes-optimal",
                   "sanitize --analyse inversion --vectors $VECTORS --mechanism "
                   "laplace-nearest --eta 30 --draws 200 --text $DIR/t.txt");
    program_says(2, "option --text or --task is needed",
                 "sanitize --analyse inversion --vectors $VECTORS --mechanism random");
    program_says(2, "option --out does not apply to --analyse",
                 "sanitize --analyse geometry --vectors $VECTORS --out x");
}

/* A task's texts give the same result as the same lines; also pairs, a split, and a sample. */
Test(sanitize, analyses_of_a_task) {
    static const char format[] = "sanitize --analyse inversion --vectors $VECTORS --mechanism "
                                 "santext --epsilon .1 %s --json";
    support_folder("rte", "dev.tsv",
                   "index\tsentence1\tsentence2\tlabel\n0\tthe film .\tgood the\tentailment\n"
                   "1\tthe plot .\tthe unheard\tnot_entailment\n",
                   "train.tsv",
                   "index\tsentence1\tsentence2\tlabel\n0\tbad\tbad bad\tentailment\n");
    support_file("lines.txt", "the film . good the\nthe plot . the unheard\n");
    json_t *of_lines = program_json(format, "--text $DIR/lines.txt");
    json_t *of_task = program_json(format, "--task rte --data $DIR/rte");
    support_has(of_task, "{'text_tokens': 10, 'text_unknown': 1, 'of/task': 'rte', 'of/texts': 2}");
    json_object_del(of_lines, "of");
    json_object_del(of_task, "of");
    cr_expect(json_equal(of_lines, of_task));
    json_t *object =
        program_json("sanitize --analyse inversion --vectors $VECTORS --mechanism random "
                     "--task rte --data $DIR/rte --split train --json");
    support_has(object, "{'prior': 1, 'text_tokens': 3}");
    object =
        program_json("sanitize --analyse geometry --vectors $VECTORS --task rte --data $DIR/rte "
                     "--limit 1 --json");
    support_has(object, "{'of/texts': 1, 'text_tokens': 5}");
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
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        program_says(2, bad[i].says, "sanitize --vectors $VECTORS %s", bad[i].options);
}

/* Lists each token once, in the order of the texts: film is drawn uniformly, or stays, or a word without a vector. */
Test(sanitize, replacements) {
    support_file("r.txt", "unheard film . film\nthe film\n");
    json_t *object = program_json("sanitize --analyse replacements --vectors $VECTORS --mechanism "
                                  "random --text $DIR/r.txt --draws 6000 --top 3 --json");
    const json_t *rows = json_object_get(object, "replacements");
    const json_t *film = json_array_get(rows, 0), *list = json_object_get(film, "most_frequent");
    cr_expect_eq(json_array_size(rows), 3); /* film . the */
    support_has(object, "{'tokens': 3, 'draws': 6000, 'replacements/2/token': 'the'}");
    support_has(film, "{'token': 'film', 'count': 3, 'outputs': 6}");
    cr_expect_eq(json_array_size(list), 3);
    for (size_t j = 0; j < 3; j++) { /* standard deviation .005, fixed seed */
        const double share = number_at(json_array_get(list, j), "share");
        cr_expect_float_eq(share, 1. / 6, .02);
        cr_expect(j == 0 || share <= number_at(json_array_get(list, j - 1), "share"));
    }
    struct outcome o = program_expect(0, "sanitize --analyse replacements --vectors $VECTORS "
                                         "$FAITHFUL --text $DIR/r.txt --measure-tokens 2");
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
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        program_says(2, bad[i].says, "sanitize --vectors $VECTORS %s", bad[i].options);
}

/* A mechanism that changes nothing gives the same guesses as the texts themselves. */
Test(sanitize, mask_inference) {
    static const char command[] = "sanitize --analyse mask-inference --task sst2 --data $TASK "
                                  "--split test --model $DIR/mlm --mask-model $DIR/mlm --json %s";
    support_file("mlm.txt", "the film was good .\nthe plot was bad .\n\nthe film was bad .\n");
    program_expect(0,
                   "pretrain --text $DIR/mlm.txt --vocab-size 90 --hidden 16 --layers 1 --heads 2 "
                   "--intermediate 32 --length 16 --batch 4 --steps 40 --lr 1e-2 --out $DIR/mlm");
    json_t *none = program_json(command, ""), *faithful = program_json(command, "$FAITHFUL");
    const double original = number_at(none, "original");
    cr_expect_str_eq(text_at(none, "mechanism"), "none");
    cr_expect_gt(original, 0); /* at least "was" and "." */
    cr_expect_float_eq(number_at(none, "defense_rate"), 1 - original, 1e-12);
    cr_expect_eq(original, number_at(faithful, "original"));
    cr_expect_eq(number_at(none, "guesses") + number_at(none, "left_out"),
                 number_at(none, "text_tokens"));
    static const struct {
        const char *options, *says;
    } bad[] = {
        {"--text x", "option --mask-model is needed"},
        {"--mask-model x", "option --text or --task is needed"},
        {"--text x --mask-model x --mechanism laplace --eta 1",
         "found laplace, which outputs vectors"},
        {"--text x --mask-model x --precision int8", "expected f32 or bf16, found int8"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        program_says(2, bad[i].says, "sanitize --analyse mask-inference --model $DIR/mlm %s",
                     bad[i].options);
    program_says(2, "option --max-length needs --analyse mask-inference",
                 "sanitize --analyse geometry --model $DIR/mlm --max-length 5");
    program_says(2, "option --precision needs --analyse",
                 "sanitize --mechanism random --model $DIR/mlm --precision bf16");
    program_says(3, "expected a model with a masked-LM head",
                 "sanitize --analyse mask-inference --text $DIR/mlm.txt --model $DIR/mlm "
                 "--mask-model $MODEL");
}
