/* Tests of nvdp verify: keys, a signed export, its printed properties and exit codes. */
#include "program.h"

#include <nvdp/certificate.h>
#include <sys/stat.h>

static void has(json_t *object, const char *key, bool expected) {
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_boolean(value), "key '%s' is not a boolean", key);
    cr_assert_eq(json_is_true(value), expected, "key '%s'", key);
}

Test(verify, signs_and_verifies) {
    struct stat info;
    program_expect(0, "train $TINY --method vib-fixed --clip-sequence 1 --out $DIR/run");
    program_prints(0, "sender.key.pub", "verify --make-key $DIR/sender.key");
    cr_assert_eq(stat(support_scratch_path("sender.key"), &info), 0);
    cr_assert_eq(info.st_mode & 07777, 0600);
    program_says(1, "cannot create the key file: File exists", "verify --make-key $DIR/sender.key");
    struct outcome o = program_expect(0, "verify --make-key $DIR/other.key --json");
    json_decref(program_object(&o));

    program_prints(0,
                   "run/ledger\nshared so far     in total at most 2 samples of a text, "
                   "epsilon 15.46 at delta 1e-05\n",
                   "export $DIR/run --split dev --samples 2 --out $DIR/shared.h5 --sign "
                   "$DIR/sender.key --ledger-key $DIR/sender.key.ledger --budget-samples 100");
    o = program_expect(
        0, "verify $DIR/shared.h5 --ledger $DIR/run/ledger --ledger-key $DIR/sender.key.ledger");
    support_contains(o.out, "\nyes  the ledger lists the file's release: ",
                     "\nyes  no text of the file has exceeded the budget",
                     ": at most 2 samples (budget: 100), epsilon ",
                     " (budget: none) at delta 1e-05: proven if number and "
                     "noise of the exports do not depend on earlier samples\n");
    json_t *object = program_json(
               "export $DIR/run --split dev --out $DIR/third.h5 --ledger $DIR/run/ledger "
               "--ledger-key $DIR/sender.key.ledger --budget-samples 3 --json"),
           *spent = json_object_get(object, "spent");
    support_has(spent, "{'samples': 3, 'delta': 1e-5}");
    cr_expect_float_eq(support_number(json_object_get(spent, "epsilon")),
                       nvdp_gdp_epsilon(2 * sqrt(3), 1e-5), 1e-12);
    o = program_expect(0, "info $DIR/shared.h5");
    support_contains(o.out, "  attributes.certificate_delta 1e-05\n");
    support_lacks(o.out, "ledger_"); /* counts are in the ledger alone */
    program_says(
        1,
        "/run/ledger: expected in total at most 1 sample of a text, which the "
        "run guarantees, found 4 including this export: ",
        "export $DIR/run --split dev --out $DIR/other.h5 --ledger-key $DIR/sender.key.ledger");
    o = program_expect(0, "verify $DIR/shared.h5 --public-key $DIR/sender.key.pub");
    support_contains(
        o.out, "\nyes  the same noise for every text: standard deviation 1 ",
        "\nyes  the stated mu follows from the certificate: stated 2.829, "
        "computed 2.829, for all 2 samples of a text together\n",
        "\nyes  the file is signed and unchanged since: by key ", "> Proven: epsilon ",
        "signed by the given key.\nProven: epsilon 15.46 at delta 1e-05, 2 samples, any two "
        "texts. Not covered:\nthe texts that the encoder was trained on.\n");
    support_lacks(o.out, "\nNO ");
    program_prints(0, "\n-    the signature is the expected sender's: ", "verify $DIR/shared.h5");

    object = program_json("verify $DIR/shared.h5 --public-key $DIR/sender.key.pub --json");
    has(object, "holds", true);
    has(object, "signed", true);
    has(object, "signed_by_given_key", true);
    has(object, "certified", true);
    cr_assert_float_eq(support_number(json_object_get(object, "mu")), 2.8284271247461903, 1e-12);
    cr_assert_gt(json_array_size(json_object_get(object, "checks")), 12);
    cr_assert_eq(strlen(text_at(object, "public_key")), 64);

    o = program_expect(1, "verify $DIR/shared.h5 --public-key $DIR/other.key.pub --json");
    object = program_object(&o);
    has(object, "holds", false);
    has(object, "signed", true);
    has(object, "signed_by_given_key", false);
    o = program_expect(1, "verify $DIR/shared.h5 --public-key $DIR/other.key.pub");
    support_contains(o.out,
                     "\nNO   the signature is the expected sender's: not signed by the given key",
                     "Do not trust this file");
}

/* The limitation appears on standard error before writing, in the first line of output, in statement and card, and last
 * in verify. */
Test(verify, says_where_there_is_no_useful_guarantee) {
    static const char line[] = "No guarantee over all texts: nothing is proven of these samples.";
    program_expect(0, "train $TINY --method vib-fixed --epochs 1 --out $DIR/run");
    struct outcome o = program_expect(
        0, "export $DIR/run --split dev --quiet --out $DIR/shared.h5 --card $DIR/README.md");
    support_contains(o.err,
                     "warning: No guarantee over all texts: nothing is proven of these samples.\n");
    cr_assert_eq(strncmp(o.out, line, strlen(line)), 0, "%s", o.out);
    char *text = support_read(support_scratch_path("README.md"));
    support_contains(text,
                     "# Noisy embeddings of 40 texts\n\n**No guarantee over all texts: nothing is "
                     "proven of these samples.**\n\n",
                     "## What it reveals\n\n- No guarantee over all texts: nothing is ");
    support_lacks(text, "differential-privacy");
    o = program_expect(0, "verify $DIR/shared.h5");
    const size_t size = strlen(o.out);
    cr_assert_gt(size, strlen(line) + 1);
    cr_assert_eq(strncmp(o.out + size - strlen(line) - 1, line, strlen(line)), 0, "%s", o.out);
    json_t *object = program_json("verify $DIR/shared.h5 --json");
    has(object, "useful", false);
    cr_assert_str_eq(text_at(object, "guarantee"), line);
    cr_assert_str_eq(text_at(object, "training_texts"), "maybe");
    object = program_json(
        "export $DIR/run --split train,dev --out $DIR/shared.h5.2.h5 --budget-samples 9 --json");
    has(object, "useful", false);
    cr_assert_str_eq(text_at(object, "training_texts"), "some");
}

/* Float32 cannot store values above 10000 in steps of 2^-12. This is detected before an older file is replaced. */
Test(verify, what_cannot_be_signed_replaces_nothing) {
    program_expect(0, "train $TINY --method vib-fixed --vib-sigma 20000 --out $DIR/run");
    program_expect(0, "verify --make-key $DIR/sender.key");
    const char *shared = support_file("shared.parquet", "precious");
    program_says(
        1, "shared.parquet: cannot sign this file",
        "export $DIR/run --split dev --out $DIR/shared.parquet --sign $DIR/sender.key --overwrite");
    cr_assert_str_eq(support_read(shared), "precious");
    struct outcome o = program_shell("ls $DIR/shared.parquet*");
    cr_assert_eq(strlen(o.out), strlen(shared) + 1, "%s", o.out);
    program_expect(
        0, "export $DIR/run --split dev --out $DIR/shared.parquet --overwrite --budget-samples 2");
    program_expect(0, "verify $DIR/shared.parquet");
}

Test(verify, wrong_usage_and_input) {
    support_file("text", "no HDF5");
    program_says(2, "expected FILE or --make-key", "verify");
    program_says(2, "--make-key takes no FILE", "verify $DIR/text --make-key k");
    program_says(2, "option --ledger-key needs --ledger", "verify $DIR/text --ledger-key l");
    program_expect(3, "verify $DIR/text");
    program_says(3, "expected a public key", "verify $DIR/text --public-key $DIR/text");
}
