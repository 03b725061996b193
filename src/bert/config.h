/* The numbers of BERT's configuration: their names in config.json and their ranges. */
#ifndef NVDP_SRC_BERT_CONFIG_H
#define NVDP_SRC_BERT_CONFIG_H

#include "base/base.h"
#include <nvdp/bert.h>

struct nvdp__bert_size {
    const char *name;
    size_t at; /* offset of the size_t in struct nvdp_bert_config */
    bool required;
    int64_t max; /* at least 1; small enough that no product of sizes overflows */
};
struct nvdp__bert_real {
    const char *name;
    size_t at; /* offset of the double */
    double min, max;
};

enum { NVDP__BERT_SIZES = 7, NVDP__BERT_REALS = 4 };
extern const struct nvdp__bert_size nvdp__bert_size[NVDP__BERT_SIZES];
extern const struct nvdp__bert_real nvdp__bert_real[NVDP__BERT_REALS];

static inline size_t nvdp__bert_size_of(const struct nvdp_bert_config *config, int field) {
    return *(const size_t *)(const void *)((const char *)config + nvdp__bert_size[field].at);
}
static inline double nvdp__bert_real_of(const struct nvdp_bert_config *config, int field) {
    return *(const double *)(const void *)((const char *)config + nvdp__bert_real[field].at);
}

/* nvdp_bert_config_read of one named file. */
nvdp_status nvdp__bert_config_read_file(struct nvdp_context *ctx, const char *path,
                                        struct nvdp_bert_config *out);

#endif
