/* Random texts in memory. */
#include "base/random.h"
#include "text/dataset.h"
#include "text/task.h"
#include "train/bench.h"

/* In BERT's uncased vocabulary [CLS] is 101, [SEP] is 102, and whole words start near 1000. */
enum { CLS = 101, SEP = 102, FIRST_WORD = 1000, CLASSES = 2 };

static void fill_text(struct nvdp__stream *stream, size_t vocabulary, size_t length, int32_t *ids) {
    size_t first = vocabulary > FIRST_WORD ? FIRST_WORD : 0;
    for (size_t i = 0; i < length; i++) {
        ids[i] = (int32_t)(first + nvdp__stream_below(stream, vocabulary - first));
    }
    if (vocabulary <= SEP) return;
    ids[0] = CLS;
    ids[length - 1] = SEP;
}

nvdp_status nvdp__bench_texts(struct nvdp_context *ctx, size_t count, size_t length,
                              size_t vocabulary, uint64_t seed, struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_dataset *dataset = NULL;
    struct nvdp__noise noise = {.seed = seed};
    NVDP_TRY(nvdp__dataset_create(ctx, count, true, &dataset));
    dataset->ids = nvdp__calloc(ctx, count * length, sizeof *dataset->ids);
    dataset->types = nvdp__calloc(ctx, count * length, sizeof *dataset->types);
    if (dataset->ids == NULL || dataset->types == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    for (size_t i = 0; i < count; i++) {
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, i);
        dataset->index[i] = (int64_t)i;
        dataset->offset[i + 1] = (i + 1) * length;
        dataset->label[i] = (float)nvdp__stream_below(&stream, CLASSES);
        fill_text(&stream, vocabulary, length, dataset->ids + i * length);
    }
    dataset->longest = length;
    dataset->task = nvdp__task_layout(NVDP_TASK_SST2)->task; /* single texts of two classes */
    *out = dataset;
    dataset = NULL;
cleanup:
    nvdp_dataset_free(dataset);
    return status;
}
