/* `nvdp account` beside dp-accounting, where $NVDP_PYTHON (else /usr/bin/python3) has it; check_accounting.py compares,
 * and tells the tolerances. */
#include "support.h"

/* Random settings, some seconds each; $NVDP_SETTINGS: others. */
#define SETTINGS "8"

Test(accounting, epsilon_is_between_theirs) {
    const char *python = getenv("NVDP_PYTHON"), *settings = getenv("NVDP_SETTINGS");
    char command[4096];
    snprintf(command, sizeof command,
             "'%s' " NVDP_SOURCE_DIR "/tests/accounting/check_accounting.py " NVDP_BINARY_DIR
             "/nvdp %s >&2",
             python != NULL ? python : "/usr/bin/python3", settings != NULL ? settings : SETTINGS);
    int status = system(command); /* NOLINT(cert-env33-c): a test's own command */
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
        cr_skip_test("needs NVDP_PYTHON=, a Python with dp-accounting");
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %d", command, status);
}
