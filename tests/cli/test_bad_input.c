/* Tests of invalid input and output places: the message names file, line or tensor, the expected and the found value;
 * the exit code is right; no file is left behind. Sections: one per file format, then output, FIFOs and limits. */
#include "hdf5/hdf5.h"
#include "program.h"

#include <dirent.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- places --- */

/* Makes a new folder for all output of a test, $OUT in commands. */
static void setup(void) {
    setenv("OUT", support_folder("out", NULL), 1);
}

TestSuite(bad_input, .init = setup);

/* Trains into the folder. */
static const char train[] = "train $TINY --quiet --out $OUT/run";

static const char *out_folder(void) {
    return support_scratch_path("out");
}

static void nothing_left(void) {
    DIR *folder = opendir(out_folder());
    cr_assert_not_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        cr_assert_eq(entry->d_name[0], '.', "'%s' was left", entry->d_name);
    closedir(folder);
}

static const char *inside(const char *folder, const char *name) {
    return support_path("%s/%s", folder, name);
}

/* --- refusals --- */

/* Expects the exit code `code`, all parts (ended by NULL) in the message, and no output files. */
static void refused(int code, const char *const *parts, const char *args) {
    struct outcome outcome = program_run("%s", args);
    cr_assert_eq(outcome.code, code, "nvdp %s: expected exit code %d, found %d: %s", args, code,
                 outcome.code, outcome.err);
    for (; *parts != NULL; parts++)
        support_contains(outcome.err, *parts);
    cr_assert_str_empty(outcome.out);
    nothing_left();
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char encode[] =
    "encode --quiet --model $MODEL --jsonl $DIR/texts.jsonl --out $OUT/hidden.h5";

/* Expects that training and encoding refuse the model, and info its weights. */
static void model_refused(const char *const *parts) {
    refused(3, parts, train);
    support_file("texts.jsonl", "{\"text\": \"good\"}\n");
    refused(3, parts, encode);
}

/* --- model.safetensors --- */

static const char *weights(void) {
    return inside(program_model(), "model.safetensors");
}

static size_t read_bytes(const char *path, unsigned char **bytes) {
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    *bytes = (unsigned char *)support_read(path);
    return (size_t)info.st_size;
}

static void weights_refused(const void *bytes, size_t count, const char *const *parts) {
    support_write(weights(), bytes, count);
    model_refused(parts);
    refused(3, parts, "info $MODEL/model.safetensors");
}

/* Expects a refusal of a file with this header and `data` bytes of data. */
static void header_refused(const char *header, size_t data, const char *const *parts) {
    unsigned char bytes[1024] = {0};
    size_t length = strlen(header);
    bytes[0] = (unsigned char)length;
    bytes[1] = (unsigned char)(length >> 8);
    memcpy(bytes + 8, header, length);
    weights_refused(bytes, 8 + length + data, parts);
}

Test(bad_input, truncated_weights) {
    unsigned char *bytes = NULL;
    size_t count = read_bytes(weights(), &bytes);
    weights_refused(bytes, 0, PARTS("model.safetensors", "expected a header length of 8", "found"));
    weights_refused(bytes, 5, PARTS("model.safetensors", "expected a header length of 8", "of 5"));
    weights_refused(bytes, 40, PARTS("model.safetensors: header length: expected at most 32"));
    weights_refused(bytes, count - 1, PARTS("model.safetensors: ", "expected", "found"));
}

Test(bad_input, lying_header) {
    unsigned char *bytes = NULL;
    size_t count = read_bytes(weights(), &bytes);
    bytes[6] = 1; /* a length of 2^48 bytes */
    weights_refused(bytes, count, PARTS("header length: expected at most", "found 281474976"));
    header_refused("not JSON", 0, PARTS("model.safetensors: header: expected '{'", "found"));
    header_refused("{\"a\": }", 0, PARTS("header: expected valid JSON, found an error at byte"));
    header_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8,
                   PARTS("model.safetensors: tensor 'a': ", "expected", "found"));
    header_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                   "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
                   12, PARTS("model.safetensors: tensor 'b': ", "expected", "found"));
    header_refused("{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
                   PARTS("model.safetensors: tensor 'a': ", "F33"));
    header_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],"
                   "\"data_offsets\":[0,8]}}",
                   8, PARTS("model.safetensors: tensor 'a': ", "expected", "found"));
}

/* Replaces a text in a small file. */
static void replace(const char *path, const char *old, const char *new) {
    char *whole = support_read(path);
    const char *at = strstr(whole, old);
    cr_assert_not_null(at, "'%s' is not in %s", old, whole);
    support_write_text(path,
                       support_path("%.*s%s%s", (int)(at - whole), whole, new, at + strlen(old)));
}

Test(bad_input, tensor_of_another_shape) {
    const char *config = inside(program_model(), "config.json");
    replace(config, "\"intermediate_size\": 32", "\"intermediate_size\": 48");
    model_refused(PARTS("model.safetensors: tensor 'bert.encoder.layer.0.intermediate.dense",
                        "expected shape [48, 16], found [32, 16]"));
    replace(config, "\"intermediate_size\": 48", "\"intermediate_size\": 32");
    replace(config, "\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2");
    model_refused(PARTS("model.safetensors: tensor 'bert.encoder.layer.1.", "found none"));
}

Test(bad_input, weights_that_are_no_numbers) {
    unsigned char *bytes = NULL;
    size_t count = read_bytes(weights(), &bytes);
    size_t first = 8 + bytes[0] + ((size_t)bytes[1] << 8);
    memset(bytes + first, 0xff, 4);
    support_write(weights(), bytes, count);
    model_refused(PARTS("model.safetensors: tensor '", "expected finite numbers, found"));
}

Test(bad_input, model_config) {
    const char *config = inside(program_model(), "config.json");
    support_write_text(config, "{\"vocab_size\": ");
    model_refused(PARTS("config.json"));
    support_write_text(config, "");
    model_refused(PARTS("config.json"));
    support_write_text(config, "{\"hidden_size\": \"forty\"}");
    model_refused(
        PARTS("config.json: 'hidden_size': expected an integer from 1", "found \"forty\""));
}

/* --- vocab.txt --- */

static void append(const char *path, const void *bytes, size_t count) {
    FILE *file = fopen(path, "ab");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, count, file), count);
    cr_assert_eq(fclose(file), 0);
}

Test(bad_input, vocabulary_of_another_size) {
    append(inside(program_model(), "vocab.txt"), "extra\n", 6);
    model_refused(PARTS("vocab", "expected", "40 pieces", "vocab_size", "found 41"));
}

Test(bad_input, vocabulary) {
    const char *path = inside(program_model(), "vocab.txt");
    append(path, "\xff\xfe\n", 3);
    model_refused(PARTS("vocab.txt:41: expected UTF-8, found piece"));
    support_write_text(path, "");
    model_refused(PARTS("vocab.txt: expected one piece per line, found no piece"));
    support_write_text(path, "[PAD]\nword\n");
    model_refused(PARTS("vocab.txt: ", "expected", "[UNK]", "found none"));
}

/* --- TSV --- */

/* Expects a refusal of training on this train.tsv. */
static void rows_refused(const char *rows, const char *const *parts) {
    support_write_text(inside(program_task(), "train.tsv"), rows);
    refused(3, parts, train);
}

Test(bad_input, rows_of_a_task) {
    rows_refused("", PARTS("train.tsv:1: empty file: expected a header line"));
    rows_refused("sentence\tlabel\n", PARTS("train.tsv: expected rows, found none"));
    rows_refused("sentence\tlabel\ngood\t1\nbad\n",
                 PARTS("train.tsv:3: expected 2 columns, found 1; training with --skip-bad-rows "
                       "skips such rows"));
    rows_refused("sentence\tlabel\ngood\t1\textra\n",
                 PARTS("train.tsv:2: expected 2 columns, found 3"));
    rows_refused("sentence\tscore\ngood\t1\n",
                 PARTS("train.tsv:1: missing column 'label': found columns 'sentence', 'score'"));
    rows_refused("sentence\tlabel\ngood\t1\nbad\t2\n",
                 PARTS("train.tsv:3: label '2': expected one of 0, 1"));
    rows_refused("sentence\tlabel\ngood\t1\nbad\t-1\n", PARTS("train.tsv:3: label '-1': expected"));
    rows_refused("sentence\tlabel\ngood\t1\nbad\t\n", PARTS("train.tsv:3: label '': expected"));
}

Test(bad_input, rows_of_the_dev_file) {
    support_write_text(inside(program_task(), "dev.tsv"), "sentence\tlabel\ngood\t1\nbad\n");
    refused(3, PARTS("dev.tsv:3: expected 2 columns, found 1"), train);
    support_write_text(inside(program_task(), "dev.tsv"), "");
    refused(3, PARTS("dev.tsv:1: empty file"), train);
    cr_assert_eq(remove(inside(program_task(), "dev.tsv")), 0);
    refused(1, PARTS("dev.tsv: cannot read: No such file"), train);
}

/* A dangling link (to moved data, for example) is an unreadable split, not a missing one. */
Test(bad_input, links_to_nothing) {
    const char *dev = inside(program_task(), "dev.tsv");
    cr_assert_eq(remove(dev), 0);
    cr_assert_eq(symlink("nowhere.tsv", dev), 0);
    refused(1, PARTS("dev.tsv: cannot read: No such file or directory"),
            "sanitize --quiet --task sst2 --data $TASK --mechanism santext --eta 2 --model $MODEL "
            "--out $DIR/sanitized");
}

Test(bad_input, bad_rows_can_be_skipped) {
    append(inside(program_task(), "train.tsv"), "half\n", 5);
    struct outcome outcome =
        program_expect(0, "train $TINY --skip-bad-rows --epochs 1 --out $OUT/run");
    support_contains(outcome.err, "train.tsv: skipped 1 bad rows; the first: ",
                     "train.tsv:162: expected 2 columns, found 1");
}

Test(bad_input, rows_of_a_user_s_own) {
    static const char own[] =
        "train $TINY --quiet --out $OUT/run --task tsv --text-column sentence "
        "--label-column label";
    static const struct {
        const char *rows, *options, *parts[4];
    } cases[] = {
        {"good\t\xff\xfe\nbad\tno\n", "", {"train.tsv:2: label ", "expected a name in UTF-8"}},
        {"good\tyes\nbad\tyes\n",
         "",
         {"train.tsv", "'label'", "expected at least 2 different", "'yes'"}},
        {"good\tyes\nbad\tno\n", "", {"dev.tsv:2: label '0': expected one of "}},
        {"good\t0.5\nbad\t1\n",
         "",
         {"train.tsv: column 'label'", "such as '0.5'; --regression takes"}},
        {"good\tyes\nbad\tno\n",
         "--regression",
         {"train.tsv:2: score 'yes': expected a finite number"}},
        {"good\tnan\nbad\t1\n",
         "--regression",
         {"train.tsv:2: score 'nan': expected a finite number"}},
    };
    const char *path = inside(program_task(), "train.tsv");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *parts[5] = {NULL};
        memcpy(parts, cases[i].parts, sizeof cases[i].parts);
        support_write_text(path, support_path("sentence\tlabel\n%s", cases[i].rows));
        refused(3, parts, support_path("%s %s", own, cases[i].options));
    }
    support_write_text(path, "sentence\tlabel\ngood\tyes\nbad\tno\n");
    refused(3, PARTS("train.tsv: expected a folder with the task's files, found a file"),
            support_path("%s --data %s", own, path));
    cr_assert_eq(remove(inside(program_task(), "dev.tsv")), 0);
    refused(1,
            PARTS("dev.tsv: cannot read: No such file", "training with --folds needs no dev file"),
            own);
}

/* Invalid UTF-8 is removed, as in the published tokenizer, and the row counts. */
Test(bad_input, text_that_is_no_utf8_is_cleaned) {
    const char *path = support_file("texts.txt", "good\xff film\n");
    struct outcome outcome = program_expect(0, "tokenize --model $MODEL <$DIR/texts.txt");
    struct outcome clean = {0};
    support_write_text(path, "good film\n");
    clean = program_expect(0, "tokenize --model $MODEL <$DIR/texts.txt");
    cr_assert_str_eq(outcome.out, clean.out);
}

Test(bad_input, json_lines) {
    static const char *const lines[] = {"{\"text\": \"a\xff\"}", "[]", "{", "{\"pair\": \"a\"}"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        support_file("texts.jsonl", support_path("{\"text\": \"good\"}\n%s\n", lines[i]));
        refused(3, PARTS("texts.jsonl:2: ", "expected"), encode);
    }
    support_file("texts.jsonl", "");
    refused(3, PARTS("texts.jsonl: ", "expected", "found none"), encode);
}

/* --- posteriors --- */

struct fixture {
    double mu, logvar, alpha;
    const char *policy;
};

static void write_posteriors(const char *path, const struct fixture *with) {
    static const int64_t offset[] = {0, 1, 2};
    static const size_t texts[] = {3}, rows[] = {2}, vectors[] = {2, 2};
    const double mu[] = {0, 0.5, with->mu, 1};
    const double logvar[] = {0, with->logvar, 0, 0};
    const double alpha[] = {1, with->alpha};
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    ok(nvdp__h5_create(support_context(), path, "posteriors/1", &file));
    ok(nvdp__h5_write(file, "offset", NVDP__H5_I64, 1, texts, offset));
    ok(nvdp__h5_write(file, "mu", NVDP__H5_F64, 2, vectors, mu));
    ok(nvdp__h5_write(file, "logvar", NVDP__H5_F64, 2, vectors, logvar));
    ok(nvdp__h5_write(file, "alpha", NVDP__H5_F64, 1, rows, alpha));
    ok(nvdp__h5_set_real(file, "prior_alpha", 1));
    ok(nvdp__h5_set_int(file, "kappa", 1));
    ok(nvdp__h5_set_string(file, "length_policy", with->policy));
    ok(nvdp__h5_set_int(file, "length", 2));
    ok(nvdp__h5_set_real(file, "pad_alpha", 0.25));
    ok(nvdp__h5_commit(file, true));
}

Test(bad_input, posteriors) {
    static const struct {
        struct fixture with;
        const char *parts[4];
    } cases[] = {
        {{NAN, 0, 1, "hidden"}, {"posteriors.h5: dataset mu", "row 1", "expected", "found nan"}},
        {{INFINITY, 0, 1, "hidden"}, {"posteriors.h5: dataset mu", "row 1", "found inf"}},
        {{0, NAN, 1, "hidden"}, {"posteriors.h5: dataset logvar", "row 0", "found nan"}},
        {{0, 0, 0, "hidden"}, {"posteriors.h5: dataset alpha", "row 1", "expected", "found 0"}},
        {{0, 0, -1, "hidden"}, {"posteriors.h5: dataset alpha", "row 1", "expected", "found -1"}},
        {{0, 0, NAN, "hidden"}, {"posteriors.h5: dataset alpha", "row 1", "found nan"}},
        {{0, 0, 1, "secret"}, {"posteriors.h5: attribute length_policy", "found 'secret'"}},
    };
    const struct fixture good = {0, 0, 1, "hidden"};
    const char *path = support_scratch_path("posteriors.h5");
    write_posteriors(path, &good);
    program_expect(0, "privacy --posteriors $DIR/posteriors.h5");
    program_says(2, "--limit chooses texts of a run", /* no effect */
                 "privacy --posteriors $DIR/posteriors.h5 --limit 1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *parts[5] = {NULL};
        memcpy(parts, cases[i].parts, sizeof cases[i].parts);
        write_posteriors(path, &cases[i].with);
        refused(3, parts, "privacy --posteriors $DIR/posteriors.h5 --pairs $OUT/pairs.h5");
    }
    support_write_text(path, "");
    refused(3, PARTS("posteriors.h5", "HDF5"), "privacy --posteriors $DIR/posteriors.h5");
}

/* --- other files --- */

Test(bad_input, options_file) {
    static const char args[] = "train $TINY --quiet --out $OUT/run --config $DIR/options.json";
    support_file("options.json", "{\"task\": \"sst2");
    refused(3, PARTS("options.json"), args);
    support_file("options.json", "");
    refused(3, PARTS("options.json"), args);
    support_file("options.json", "{\"task\": \"\xff\"}");
    refused(3, PARTS("options.json"), args);
    support_file("options.json", "{\"lamda\": 1}");
    refused(2, PARTS("options.json: unknown key 'lamda'", "nvdp train --help"), args);
}

Test(bad_input, empty_files_are_no_kind) {
    support_file("empty", "");
    refused(3, PARTS("empty: expected"), "info $DIR/empty");
    refused(3, PARTS("empty", "HDF5"), "reuse $DIR/empty");
}

Test(bad_input, a_folder_is_no_run) {
    static const char *const commands[] = {"eval", "predict", "privacy",
                                           "export --split dev --out nowhere"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *args = support_path("%s %s", commands[i], out_folder());
        struct outcome outcome = program_run("%s", args);
        cr_assert(outcome.code == 1 || outcome.code == 3, "%s: %d", args, outcome.code);
        support_contains(outcome.err, out_folder());
        cr_assert_str_empty(outcome.out);
    }
    nothing_left();
}

Test(bad_input, unknown_options) {
    static const char *const commands[] = {"train", "eval",   "predict",  "privacy", "export",
                                           "reuse", "encode", "tokenize", "info"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        refused(2,
                PARTS(support_path("nvdp %s: unrecognized option '--no-such-thing'", commands[i]),
                      support_path("nvdp %s --help", commands[i])),
                support_path("%s --no-such-thing", commands[i]));
    }
}

/* --- output --- */

/* Trains a run, $RUN in commands. */
static const char *make_run(void) {
    const char *run = support_scratch_path("trained");
    setenv("RUN", run, 1);
    program_expect(0, "train $TINY --epochs 1 --quiet --method nvdp --out $RUN");
    return run;
}

/* Commands that write files into the folder $TO. */
static const char *const writers[] = {
    "predict $RUN --quiet --split train --out $TO/p.tsv",
    "privacy $RUN --quiet --limit 10 --pairs $TO/pairs.h5",
    "privacy $RUN --quiet --limit 10 --posteriors-out $TO/posteriors.h5",
    "export $RUN --quiet --no-ledger --split dev --limit 10 --out $TO/shared.h5",
    "encode --quiet --model $MODEL --jsonl $DIR/texts.lines --out $TO/hidden.h5",
    ("sanitize --quiet --text $DIR/texts.lines --mechanism laplace --eta 1 --model $MODEL "
     "--out $TO/v.h5"),
};
enum { WRITERS = sizeof writers / sizeof *writers };

/* Returns a command that writes into this folder. */
static const char *writer(size_t index, const char *folder) {
    setenv("TO", folder, 1);
    support_file("texts.lines", "{\"text\": \"good\"}\n");
    return writers[index];
}

Test(bad_input, a_folder_that_cannot_be) {
    const char *folder = support_file("a_file", "not a folder");
    make_run();
    for (size_t i = 0; i < WRITERS; i++) {
        refused(1, PARTS(folder, "Not a directory"), writer(i, folder));
        refused(1,
                PARTS("/no/such/folder",
                      "No such file or directory; make the folder first: mkdir -p /no/such/folder"),
                writer(i, "/no/such/folder"));
    }
    refused(1, PARTS(folder, "Not a directory"), "train $TINY --quiet --out $DIR/a_file/run");
    refused(1, PARTS(folder, "cannot write the run to this folder: Not a directory"),
            "train $TINY --overwrite --out $DIR/a_file");
}

Test(bad_input, a_shared_file_of_no_format) {
    make_run();
    refused(2,
            PARTS("--out", inside(out_folder(), "shared.npz"),
                  "expected the ending .h5, .safetensors or .parquet", "found .npz"),
            "export $RUN --quiet --no-ledger --split dev --limit 10 --out $OUT/shared.npz");
}

Test(bad_input, a_folder_that_is_no_run) {
    static const char *const cases[][2] = {
        {NULL, "expected the folder of a run of nvdp train, found no run.json\n"},
        {"state.ckpt", "a training began in this folder but cannot be resumed without run.json"},
        {"pretrain.json", "the folder has a pretraining that was stopped"},
        {"result.json", "the folder has a pretrained model"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_folder("no_run", cases[i][0], i > 1 ? "{}" : "");
        refused(3, PARTS(cases[i][1]), "privacy $DIR/no_run");
    }
}

/* Output must not overwrite its own input; --overwrite does not ask for that. */
static void spared(const char *name, const char *option, const char *args) {
    const char *path = support_scratch_path(name), *before = support_read(path);
    const char *message =
        support_path("%s: expected a file or folder other than the input ", option);
    refused(2, PARTS(message, path), args);
    cr_expect_str_eq(before, support_read(path));
}

Test(bad_input, output_in_the_place_of_input) {
    const struct fixture good = {0, 0, 1, "hidden"};
    make_run();
    support_file("lines.jsonl", "{\"text\": \"good\"}\n");
    write_posteriors(support_scratch_path("posteriors.h5"), &good);
    spared("lines.jsonl", "out",
           "encode --model $MODEL --jsonl $DIR/lines.jsonl --out $DIR/lines.jsonl");
    spared("lines.jsonl", "out", "predict $RUN --input $DIR/lines.jsonl --out $DIR/lines.jsonl");
    spared("posteriors.h5", "pairs",
           "privacy --posteriors $DIR/posteriors.h5 --pairs $DIR/posteriors.h5");
    spared("posteriors.h5", "posteriors-out",
           "privacy --posteriors $DIR/posteriors.h5 --posteriors-out $DIR/posteriors.h5");
    refused(2, PARTS("pairs: expected a file or folder other than the input"),
            "privacy $RUN --posteriors-out $OUT/both.h5 --pairs $OUT/both.h5");
    refused(3, PARTS("/dev/null: expected one text per line, found none"), /* also as output */
            "predict $RUN --input /dev/null --out /dev/null");
}

/* The measurement of a run is printed even if the run's folder is not writable. */
Test(bad_input, a_run_that_keeps_no_report) {
    const char *run = make_run();
    cr_assert_eq(mkdir(inside(run, "privacy-limit-10.json"), 0777), 0);
    cr_assert_eq(mkdir(inside(run, "certificate.json"), 0777), 0);
    struct outcome outcome = program_expect(1, "privacy $RUN --limit 10");
    support_contains(outcome.err, "privacy-limit-10.json: cannot write: Is a directory");
    support_contains(outcome.out, "Renyi divergence of order 1.1");
    outcome = program_expect(1, "privacy $RUN --certify --json");
    support_contains(outcome.err, "certificate.json: cannot write: Is a directory");
    program_object(&outcome);
}

/* --- FIFOs without a writer: the program does not wait --- */

/* Replaces the file by a FIFO while the program runs. */
static void fifo_refused(const char *path, const char *args) {
    const char *kept = support_path("%s.kept", path);
    const bool there = rename(path, kept) == 0;
    cr_assert_eq(mkfifo(path, 0600), 0);
    struct outcome outcome = program_run("%s", args);
    cr_expect_eq(outcome.code, 3, "nvdp %s: %d: %s", args, outcome.code, outcome.err);
    support_contains(outcome.err, support_path("%s: expected a regular file, found a FIFO", path));
    cr_assert_eq(unlink(path), 0);
    if (there) cr_assert_eq(rename(kept, path), 0);
}

Test(bad_input, fifos, .timeout = 50) {
    static const char *const of_model[] = {"config.json", "vocab.txt", "model.safetensors",
                                           "tokenizer_config.json"};
    static const char *const of_run[] = {"run.json", "result.json", "privacy.json",
                                         "metrics.jsonl"};
    static const char *const of_its_model[] = {"config.json", "vocab.txt", "model.safetensors"};
    for (size_t i = 0; i < sizeof of_model / sizeof *of_model; i++)
        fifo_refused(inside(program_model(), of_model[i]), train);
    fifo_refused(inside(program_task(), "train.tsv"), train);
    const char *run = make_run();
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++)
        fifo_refused(inside(run, of_run[i]), "info $RUN");
    for (size_t i = 0; i < sizeof of_its_model / sizeof *of_its_model; i++)
        fifo_refused(inside(inside(run, "model"), of_its_model[i]), "eval $RUN");
    static const char *const named_by_options[] = {
        "audit --samples-p $DIR/fifo --samples-q $DIR/fifo --delta 1e-5",
        "sweep $DIR/fifo --out $OUT/sweep",
        "verify $DIR/fifo",
        "verify $RUN --public-key $DIR/fifo",
        "info $DIR/fifo",
        "export $RUN --split dev --sign $DIR/fifo --out $OUT/shared.h5"};
    for (size_t i = 0; i < sizeof named_by_options / sizeof *named_by_options; i++)
        fifo_refused(support_scratch_path("fifo"), named_by_options[i]);
    /* The folder of a sweep. */
    cr_assert_eq(mkdir(support_scratch_path("swept"), 0777), 0);
    fifo_refused(support_scratch_path("swept/grid.json"), "info $DIR/swept");
    fifo_refused(support_scratch_path("swept/grid.json"), "sweep --out $DIR/swept");
    nothing_left();
}

/* Inputs that the documentation describes as streams accept pipes. */
Test(bad_input, pipes_as_input) {
    make_run();
    struct outcome outcome = program_shell(
        "sh -c \"echo good | %s/nvdp predict $RUN --input - --quiet\"", NVDP_BINARY_DIR);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    support_contains(outcome.out, "\"label\"");
    outcome = program_shell("sh -c \"true | %s/nvdp predict $RUN --input -\"", NVDP_BINARY_DIR);
    cr_assert_eq(outcome.code, 3, "%s", outcome.err);
    support_contains(outcome.err, "/dev/stdin: expected one text per line, found none");
}

/* Runs the program with a limit on file sizes, which simulates a full disk; expects a refusal. */
static void run_limited(int blocks, const char *args, const char *const *parts) {
    struct outcome outcome =
        program_shell("(ulimit -f %d; %s/nvdp %s >/dev/null)", blocks, NVDP_BINARY_DIR, args);
    cr_assert_eq(outcome.code, 1, "nvdp %s: expected exit code 1, found %d: %s", args, outcome.code,
                 outcome.err);
    support_contains_all(outcome.err, parts);
}

/* If the second file does not fit, the first is not written either. */
Test(bad_input, sanitized_files_come_together) {
    char rows[2048] = "sentence\tlabel\n";
    for (int i = 0; i < 90; i++)
        strcat(rows, "good film\t1\n");
    support_write_text(inside(program_task(), "train.tsv"), "sentence\tlabel\ngood\t1\n");
    support_write_text(inside(program_task(), "dev.tsv"), rows);
    run_limited(1,
                "sanitize --quiet --task sst2 --data $TASK --mechanism santext --eta 50 "
                "--model $MODEL --out $OUT/sanitized",
                PARTS("dev.tsv: cannot write: File too large"));
    cr_assert_eq(remove(inside(out_folder(), "sanitized")), 0, "it is not empty");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* A memory limit is reported before libraries load that would wait for memory forever. */
Test(bad_input, a_limit_on_memory, .timeout = 60) {
    for (int kilobytes = 200000; kilobytes <= 360000; kilobytes += 80000) {
        struct outcome outcome = program_shell("(ulimit -v %d; %s/nvdp --version >/dev/null)",
                                               kilobytes, NVDP_BINARY_DIR);
        cr_assert_eq(outcome.code, 1, "%d: %s", kilobytes, outcome.err);
        support_contains(outcome.err,
                         "nvdp: out of memory: loading the libraries needs about 500 MB");
    }
}
#endif

Test(bad_input, a_disk_that_is_full) {
    make_run();
    for (size_t i = 0; i < WRITERS; i++) {
        run_limited(1, writer(i, out_folder()), PARTS(out_folder(), "cannot write"));
        nothing_left();
    }
}

Test(bad_input, a_disk_that_is_full_in_training) {
    run_limited(8, train, PARTS(inside(out_folder(), "run"), "cannot write"));
    struct stat info;
    cr_assert_neq(stat(inside(out_folder(), "run/result.json"), &info), 0);
    cr_assert_neq(stat(inside(out_folder(), "run/model/model.safetensors"), &info), 0);
    cr_assert_neq(stat(inside(out_folder(), "run/state.ckpt"), &info), 0);
}

Test(bad_input, a_broken_model_spares_the_run_it_would_replace) {
    struct stat info;
    const char *run = make_run();
    support_write_text(weights(), "short");
    refused(3, PARTS("model.safetensors"), "train $TINY --quiet --overwrite --out $RUN");
    cr_assert_eq(stat(inside(run, "result.json"), &info), 0, "the earlier run is gone");
}
