/* Opens any bytes as a ledger under a given key, for reading and for continuing. */
#include "share/ledger.h"
#include "fuzz.h"

nvdp_status fuzz_use(struct fuzz_input in) {
    static const char key[] = "nvdp-ledger-key/1 "
                              "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
    static const char *const tokens[] = {NULL, "words"};
    struct nvdp__ledger *ledger = NULL;
    char path[] = "/tmp/nvdp-fuzz-XXXXXX"; /* of mode 0600 */
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, key, sizeof key - 1) != (ssize_t)(sizeof key - 1)) abort();
    for (size_t i = 0; i < 2; i++) {
        nvdp_status status = nvdp__ledger_open(in.ctx, in.path, path, tokens[i], &ledger);
        if (status != NVDP_OK && status != NVDP_ERR_ARGUMENT && status != NVDP_ERR_STATE)
            fuzz_refused(in.ctx, status);
        if (status == NVDP_OK) nvdp__ledger_close(ledger);
    }
    (void)unlink(path);
    close(fd);
    return NVDP_OK;
}
