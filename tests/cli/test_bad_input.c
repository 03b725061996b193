/* Tests of invalid input and output places that need made files: headers, posteriors, FIFOs and limits. Each checks
 * the message, the exit code, and that no file is left behind. The others are in bad_input.txt. */
#include "hdf5/hdf5.h"
#include "program.h"

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

Test(bad_input, weights_that_are_no_numbers) {
    unsigned char *bytes = NULL;
    size_t count = read_bytes(weights(), &bytes);
    size_t first = 8 + bytes[0] + ((size_t)bytes[1] << 8);
    memset(bytes + first, 0xff, 4);
    support_write(weights(), bytes, count);
    model_refused(PARTS("model.safetensors: tensor '", "expected finite numbers, found"));
}

/* --- vocab.txt --- */

/* --- TSV --- */

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

/* Runs the program with a limit on file sizes, which simulates a full disk; expects a refusal. */
static void run_limited(int blocks, const char *args, const char *const *parts) {
    struct outcome outcome =
        program_shell("(ulimit -f %d; %s/nvdp %s >/dev/null)", blocks, NVDP_BINARY_DIR, args);
    cr_assert_eq(outcome.code, 1, "nvdp %s: expected exit code 1, found %d: %s", args, outcome.code,
                 outcome.err);
    support_contains_all(outcome.err, parts);
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
