/* Reads any bytes as a config.json: a configuration that is read passes its checks. */
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct nvdp_bert_config config;
    struct fuzz_file file = fuzz_open(data, size);
    nvdp_status status = nvdp__bert_config_read_file(file.ctx, file.path, &config);
    if (status == NVDP_OK) {
        if (nvdp__bert_config_check(file.ctx, &config) != NVDP_OK) abort();
    } else {
        fuzz_refused(file.ctx, status);
    }
    fuzz_close(&file);
    return 0;
}
