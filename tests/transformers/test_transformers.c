/* The program beside `transformers`, `tokenizers` and `sentence-transformers` themselves, where
 * $NVDP_PYTHON (else /usr/bin/python3) has them, torch, numpy and h5py, and `make encoder` was called.
 * check_transformers.py compares, and tells the tolerances. */
#include "base/file.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Texts a file whose tokens are compared; 0 in $NVDP_ROWS: all (150,000, minutes). */
#define ROWS "1000"

static void run(const char *command) {
    int status = system(command); /* NOLINT(cert-env33-c): a test's own command */
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
        cr_skip_test("needs NVDP_PYTHON=, a Python with torch, transformers, sentence-transformers "
                     "and h5py");
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %d", command, status);
}

static void check(const char *what, const char *rows) {
    static const char model[] = NVDP_SOURCE_DIR "/models/minilm";
    const char *python = getenv("NVDP_PYTHON");
    char command[16384];
    if (python == NULL) python = "/usr/bin/python3";
    if (!nvdp__exists(model)) cr_skip_test("needs models/minilm: make encoder");
    snprintf(command, sizeof command,
             "'%s' " NVDP_SOURCE_DIR "/tests/transformers/check_transformers.py %s " NVDP_BINARY_DIR
             "/nvdp %s '%s' '%s' %s >&2",
             python, what, model, support_shared("data/glue"), support_scratch(), rows);
    run(command);
}

/* Small random models in the forms that people have; needs no model. */
static void check_made(const char *what) {
    const char *python = getenv("NVDP_PYTHON");
    char command[16384];
    snprintf(command, sizeof command,
             "'%s' " NVDP_SOURCE_DIR "/tests/transformers/check_checkpoints.py %s " NVDP_BINARY_DIR
             "/nvdp '%s' >&2",
             python != NULL ? python : "/usr/bin/python3", what, support_scratch());
    run(command);
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
