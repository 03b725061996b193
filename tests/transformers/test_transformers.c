/* Compares the program with `transformers`, `tokenizers` and `sentence-transformers` if $NVDP_PYTHON
 * (default /usr/bin/python3) has them. check_folders.py needs no more: it writes its own model
 * folders. check_transformers.py, which states its tolerances, also needs torch, numpy and h5py, and
 * the folder that `make encoder` writes. */
#include "base/file.h"
#include "support.h"

/* Texts a file whose tokens are compared; 0 in $NVDP_ROWS: all (150,000, minutes). */
#define ROWS "1000"

/* Folders and texts per folder whose tokens are compared: "50 2000" in `make long`. */
#define FOLDERS "10 300"

/* Runs a script of this folder and skips the test if the script lacks packages. */
static void run_script(const char *arguments) {
    const char *python = getenv("NVDP_PYTHON");
    const char *command = support_path("'%s' " NVDP_SOURCE_DIR "/tests/transformers/%s >&2",
                                       python != NULL ? python : "/usr/bin/python3", arguments);
    int status = system(command); /* NOLINT(cert-env33-c): a test's own command */
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
        cr_skip_test("needs NVDP_PYTHON=, a Python with torch, transformers, sentence-transformers "
                     "and h5py");
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %d", command, status);
}

static void check(const char *what, const char *rows) {
    static const char model[] = NVDP_SOURCE_DIR "/models/minilm";
    char arguments[16384];
    if (!nvdp__exists(model)) cr_skip_test("needs models/minilm: make encoder");
    snprintf(arguments, sizeof arguments,
             "check_transformers.py %s " NVDP_BINARY_DIR "/nvdp %s '%s' '%s' %s", what, model,
             support_shared("data/glue"), support_scratch(), rows);
    run_script(arguments);
}

/* Small random models in the forms that people have; needs no model. */
static void check_made(const char *what) {
    const char *arguments = support_path("check_checkpoints.py %s " NVDP_BINARY_DIR "/nvdp '%s'",
                                         what, support_scratch());
    run_script(arguments);
}

Test(transformers, weights_in_all_forms_give_their_states) {
    check_made("weights");
}

Test(transformers, activations_by_all_their_names) {
    check_made("activations");
}

Test(transformers, poolings_and_dense_modules) {
    check_made("poolings");
}

Test(transformers, hidden_states_are_theirs) {
    check("hidden", "");
}

Test(transformers, sentence_embeddings_are_theirs) {
    check("sentences", "");
}

Test(transformers, token_ids_are_theirs) {
    const char *rows = getenv("NVDP_ROWS");
    check("tokens", rows != NULL ? rows : ROWS);
}

Test(transformers, other_encoders_are_theirs) {
    check("encoders", "");
}

Test(transformers, our_models_are_read_and_score_the_same) {
    check("saved", "");
}

/* Folders whose tokenizer files are permuted: equal ids, or refused by name. */
Test(transformers, folders_are_read_as_theirs) {
    const char *folders = getenv("NVDP_FOLDERS");
    const char *arguments = support_path("check_folders.py " NVDP_BINARY_DIR "/nvdp '%s' %s",
                                         support_scratch(), folders != NULL ? folders : FOLDERS);
    run_script(arguments);
}
