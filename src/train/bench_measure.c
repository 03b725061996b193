/* Times, operation counts, and the batches themselves for other programs to be measured on. */
#include "train/bench.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

struct nvdp_bench_times nvdp__bench_times(size_t count, double *seconds) {
    double sum = 0;
    qsort(seconds, count, sizeof *seconds, compare);
    for (size_t i = 0; i < count; i++) {
        sum += seconds[i];
    }
    return (struct nvdp_bench_times){
        .count = count,
        .min = seconds[0],
        .median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2,
        .mean = sum / (double)count,
    };
}

double nvdp__bench_flops(const struct nvdp_bert_config *bert, const struct nvdp__batch *batch) {
    double d = (double)bert->hidden_size;
    double dense = 4 * d * d + 2 * d * (double)bert->intermediate_size; /* a token */
    double squares = 0;
    for (size_t i = 0; i < batch->texts; i++) {
        double n = (double)(batch->offset[i + 1] - batch->offset[i]);
        squares += n * n;
    }
    double layer = (double)batch->tokens * dense + 2 * squares * d;
    return 2 * (double)bert->num_hidden_layers * layer;
}

static nvdp_status write_ids(struct nvdp__output *file, const char *key,
                             const struct nvdp__batch *batch, const int32_t *ids) {
    NVDP_RETURN_IF_FAILED(nvdp__output_printf(file, "\"%s\": [", key));
    for (size_t i = 0; i < batch->texts; i++) {
        int32_t first = batch->offset[i];
        for (int32_t t = first; t < batch->offset[i + 1]; t++) {
            const char *before = t > first ? ", " : i > 0 ? "], [" : "[";
            NVDP_RETURN_IF_FAILED(nvdp__output_printf(file, "%s%d", before, ids[t]));
        }
    }
    return nvdp__output_printf(file, "]], ");
}

nvdp_status nvdp__bench_write_batch(struct nvdp__output *file, const struct nvdp__batch *batch) {
    NVDP_RETURN_IF_FAILED(nvdp__output_printf(file, "{"));
    NVDP_RETURN_IF_FAILED(write_ids(file, "input_ids", batch, batch->ids));
    NVDP_RETURN_IF_FAILED(write_ids(file, "token_type_ids", batch, batch->types));
    NVDP_RETURN_IF_FAILED(nvdp__output_printf(file, "\"labels\": ["));
    for (size_t i = 0; i < batch->texts; i++) {
        NVDP_RETURN_IF_FAILED(
            nvdp__output_printf(file, "%s%.9g", i > 0 ? ", " : "", (double)batch->label[i]));
    }
    return nvdp__output_printf(file, "]}\n");
}
