/* A model: encoder, bottleneck, head; loaded from a model directory in Hugging Face layout. */
#ifndef NVDP_MODEL_H
#define NVDP_MODEL_H

#include <nvdp/bert.h>
#include <nvdp/dataset.h>
#include <nvdp/export.h>
#include <nvdp/method.h>

NVDP_BEGIN_DECLS

struct nvdp_model;

/* What config.json says beyond BERT, under the key "nvdp". */
struct nvdp_model_info {
    struct nvdp_bert_config bert;
    enum nvdp_method method;
    struct nvdp_nvib_config nvib;     /* resolved; meaningful for private methods */
    struct nvdp_task task;            /* labels owned by the model */
    struct nvdp_task_options columns; /* of a "tsv" task; owned by the model */
    size_t max_length;
    size_t outputs;
    size_t parameters;    /* elements */
    char fingerprint[65]; /* SHA-256 of model.safetensors */
};

/* Loads a directory that nvdp_train wrote (RUN/model): tokenizer, configuration, weights. */
nvdp_status nvdp_model_load(struct nvdp_context *ctx, const char *directory,
                            struct nvdp_model **out);
void nvdp_model_free(struct nvdp_model *model);
const struct nvdp_model_info *nvdp_model_info(const struct nvdp_model *model);
const struct nvdp_tokenizer *nvdp_model_tokenizer(const struct nvdp_model *model);

/* Outputs [count, outputs] with fresh noise; `draw` numbers the noise, results depend on (seed,
 * draw, each text's index) and not on batches or threads.  Base methods ignore both. */
nvdp_status nvdp_model_predict(struct nvdp_context *ctx, struct nvdp_model *model,
                               const struct nvdp_dataset *dataset, size_t batch, uint64_t seed,
                               uint32_t draw, float *outputs);
/* The posterior of every text.  NVDP_ERR_ARGUMENT for methods without a bottleneck. */
nvdp_status nvdp_model_posteriors(struct nvdp_context *ctx, struct nvdp_model *model,
                                  const struct nvdp_dataset *dataset, size_t batch,
                                  struct nvdp_posteriors **out);

NVDP_END_DECLS
#endif
