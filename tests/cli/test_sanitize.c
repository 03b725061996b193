/* Tests of nvdp sanitize that read its files with the library, or hold its locks. The others are in sanitize.txt. */
#include "program.h"
#include "text/representations.h"

#include "test_context.h"

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

static bool exists(const char *name) {
    return nvdp__exists(support_scratch_path(name));
}

static void file_is(const char *name, const char *want) {
    const char *got = contents(name);
    cr_expect_str_eq(got, want, "%s: %s", name, got);
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

/* ---- --analyse ---- */
