/* Reads any bytes as a config.json: a configuration that is read passes its checks. */
#include "fuzz.h"

nvdp_status fuzz_use(struct fuzz_input in) {
    struct nvdp_bert_config config;
    NVDP_TRY(nvdp__bert_config_read_file(in.ctx, in.path, &config));
    if (nvdp__bert_config_check(in.ctx, &config) != NVDP_OK) abort();
    return NVDP_OK;
}
