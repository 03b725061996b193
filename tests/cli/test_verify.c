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
    const char *run = support_scratch_path("run");
    const char *key = support_scratch_path("sender.key");
    const char *other = support_scratch_path("other.key");
    const char *shared = support_scratch_path("shared.h5");
    struct outcome o = program_expect(0, "train %s --method vib-fixed --clip-sequence 1 --out %s",
                                      program_train_options(), run);
    program_prints(0, "sender.key.pub", "verify --make-key %s", key);
    cr_assert_eq(stat(key, &info), 0);
    cr_assert_eq(info.st_mode & 07777, 0600);
    program_says(1, "cannot create the key file: File exists", "verify --make-key %s", key);
    o = program_expect(0, "verify --make-key %s --json", other);
    json_decref(program_object(&o));

    program_prints(0,
                   "run/ledger\nshared so far     in total at most 2 samples of a text, "
                   "epsilon 15.46 at delta 1e-05\n",
                   "export %s --split dev --samples 2 --out %s --sign %s --ledger-key %s.ledger "
                   "--budget-samples 100",
                   run, shared, key, key);
    o = program_expect(0, "verify %s --ledger %s/ledger --ledger-key %s.ledger", shared, run, key);
    support_contains(o.out, "\nyes  the ledger lists the file's release: ");
    support_contains(o.out, "\nyes  no text of the file has exceeded the budget");
    support_contains(o.out, ": at most 2 samples (budget: 100), epsilon ");
    support_contains(o.out, " (budget: none) at delta 1e-05: proven if number and "
                            "noise of the exports do not depend on earlier samples\n");
    o = program_expect(
        0,
        "export %s --split dev --out %s --ledger %s/ledger --ledger-key %s.ledger --budget-samples "
        "3 --json",
        run, support_scratch_path("third.h5"), run, key);
    json_t *object = program_object(&o), *spent = json_object_get(object, "spent");
    cr_expect_eq(integer_at(spent, "samples"), 3);
    cr_expect_eq(support_number(json_object_get(spent, "delta")), 1e-5);
    cr_expect_float_eq(support_number(json_object_get(spent, "epsilon")),
                       nvdp_gdp_epsilon(2 * sqrt(3), 1e-5), 1e-12);
    o = program_expect(0, "info %s", shared);
    support_contains(o.out, "  attributes.certificate_delta 1e-05\n");
    support_lacks(o.out, "ledger_"); /* counts are in the ledger alone */
    program_says(1,
                 "/run/ledger: expected in total at most 1 sample of a text, which the "
                 "run guarantees, found 4 including this export: ",
                 "export %s --split dev --out %s --ledger-key %s.ledger", run,
                 support_scratch_path("other.h5"), key);
    o = program_expect(0, "verify %s --public-key %s.pub", shared, key);
    support_contains(o.out, "\nyes  the same noise for every text: standard deviation 1 ");
    support_contains(o.out, "\nyes  the stated mu follows from the certificate: stated 2.829, "
                            "computed 2.829, for all 2 samples of a text together\n");
    support_contains(o.out, "\nyes  the file is signed and unchanged since: by key ");
    support_contains(o.out, "> Proven: epsilon ");
    support_contains(
        o.out, "signed by the given key.\nProven: epsilon 15.46 at delta 1e-05, 2 samples, any two "
               "texts. Not covered:\nthe texts that the encoder was trained on.\n");
    support_lacks(o.out, "\nNO ");
    program_prints(0, "\n-    the signature is the expected sender's: ", "verify %s", shared);

    o = program_expect(0, "verify %s --public-key %s.pub --json", shared, key);
    object = program_object(&o);
    has(object, "holds", true);
    has(object, "signed", true);
    has(object, "signed_by_given_key", true);
    has(object, "certified", true);
    cr_assert_float_eq(support_number(json_object_get(object, "mu")), 2.8284271247461903, 1e-12);
    cr_assert_gt(json_array_size(json_object_get(object, "checks")), 12);
    cr_assert_eq(strlen(text_at(object, "public_key")), 64);

    o = program_expect(1, "verify %s --public-key %s.pub --json", shared, other);
    object = program_object(&o);
    has(object, "holds", false);
    has(object, "signed", true);
    has(object, "signed_by_given_key", false);
    o = program_expect(1, "verify %s --public-key %s.pub", shared, other);
    support_contains(o.out,
                     "\nNO   the signature is the expected sender's: not signed by the given key");
    support_contains(o.out, "Do not trust this file");
}

/* The limitation appears on standard error before writing, in the first line of output, in statement and card, and last
 * in verify. */
Test(verify, says_where_there_is_no_useful_guarantee) {
    static const char line[] = "No guarantee over all texts: nothing is proven of these samples.";
    const char *run = support_scratch_path("run");
    const char *shared = support_scratch_path("shared.h5");
    const char *card = support_scratch_path("README.md");
    struct outcome o = program_expect(0, "train %s --method vib-fixed --epochs 1 --out %s",
                                      program_train_options(), run);
    o = program_expect(0, "export %s --split dev --quiet --out %s --card %s", run, shared, card);
    support_contains(o.err,
                     "warning: No guarantee over all texts: nothing is proven of these samples.\n");
    cr_assert_eq(strncmp(o.out, line, strlen(line)), 0, "%s", o.out);
    char *text = support_read(card);
    support_contains(text,
                     "# Noisy embeddings of 40 texts\n\n**No guarantee over all texts: nothing is "
                     "proven of these samples.**\n\n");
    support_contains(text, "## What it reveals\n\n- No guarantee over all texts: nothing is ");
    support_lacks(text, "differential-privacy");
    o = program_expect(0, "verify %s", shared);
    const size_t size = strlen(o.out);
    cr_assert_gt(size, strlen(line) + 1);
    cr_assert_eq(strncmp(o.out + size - strlen(line) - 1, line, strlen(line)), 0, "%s", o.out);
    o = program_expect(0, "verify %s --json", shared);
    json_t *object = program_object(&o);
    has(object, "useful", false);
    cr_assert_str_eq(text_at(object, "guarantee"), line);
    cr_assert_str_eq(text_at(object, "training_texts"), "maybe");
    o = program_expect(0, "export %s --split train,dev --out %s.2.h5 --budget-samples 9 --json",
                       run, shared);
    object = program_object(&o);
    has(object, "useful", false);
    cr_assert_str_eq(text_at(object, "training_texts"), "some");
}

/* Float32 cannot store values above 10000 in steps of 2^-12. This is detected before an older file is replaced. */
Test(verify, what_cannot_be_signed_replaces_nothing) {
    const char *run = support_scratch_path("run");
    const char *key = support_scratch_path("sender.key");
    const char *shared = support_scratch_path("shared.parquet");
    struct outcome o = program_expect(0, "train %s --method vib-fixed --vib-sigma 20000 --out %s",
                                      program_train_options(), run);
    o = program_expect(0, "verify --make-key %s", key);
    support_write_text(shared, "precious");
    program_says(1, "shared.parquet: cannot sign this file",
                 "export %s --split dev --out %s --sign %s --overwrite", run, shared, key);
    char *kept = support_read(shared);
    cr_assert_str_eq(kept, "precious");
    o = program_shell("ls %s*", shared);
    cr_assert_eq(strlen(o.out), strlen(shared) + 1, "%s", o.out);
    o = program_expect(0, "export %s --split dev --out %s --overwrite --budget-samples 2", run,
                       shared);
    o = program_expect(0, "verify %s", shared);
}

Test(verify, wrong_usage_and_input) {
    const char *text = support_scratch_path("text");
    support_write_text(text, "no HDF5");
    program_says(2, "expected FILE or --make-key", "verify");
    program_says(2, "--make-key takes no FILE", "verify %s --make-key k", text);
    program_says(2, "option --ledger-key needs --ledger", "verify %s --ledger-key l", text);
    program_expect(3, "verify %s", text);
    program_says(3, "expected a public key", "verify %s --public-key %s", text, text);
}
