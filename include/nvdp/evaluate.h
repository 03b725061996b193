/* What is done with a finished run: scores, predictions, posteriors, plain encoding. */
#ifndef NVDP_EVALUATE_H
#define NVDP_EVALUATE_H

#include <nvdp/export.h>
#include <nvdp/train.h>

NVDP_BEGIN_DECLS

struct nvdp_run_config {
    const char *run;   /* run directory */
    const char *data;  /* NULL: the folder it was trained from */
    const char *split; /* "dev" (default), "validation", "test", "train", "dev-mismatched",
                          "test-mismatched" */
    size_t limit;      /* 0: all texts; else the first texts of a seeded sample */
    size_t draws;      /* noise draws, default 5 */
    size_t batch;
    uint64_t seed;
};
struct nvdp_run_config nvdp_run_config_default(void);

struct nvdp_evaluation {
    char task[16];
    char method[16];
    char split[24];
    char protocol[16];
    struct nvdp_scores scores;
};
/* Scores with fresh noise: mean and standard deviation over draws. */
nvdp_status nvdp_evaluate(struct nvdp_context *ctx, const struct nvdp_run_config *config,
                          struct nvdp_evaluation *out);
/* Writes the leaderboard's "index<TAB>prediction" file of a split; out NULL:
 * RUN/predictions_<split>.tsv. *written (may be NULL) is the path, free(). */
nvdp_status nvdp_predict(struct nvdp_context *ctx, const struct nvdp_run_config *config,
                         const char *out, char **written);
/* Posteriors of a split's texts. */
nvdp_status nvdp_run_posteriors(struct nvdp_context *ctx, const struct nvdp_run_config *config,
                                struct nvdp_posteriors **out);

struct nvdp_encode_config {
    const char *model; /* Hugging Face directory, or RUN/model of a base run */
    const char
        *input; /* JSON lines {"text", "pair", "max_length"} or {"input_ids", "token_type_ids"} */
    const char
        *out; /* HDF5: offset, hidden | hidden_0..L, pooled, logits where there is a classifier */
    bool all_layers;
    size_t max_length, batch;
};
struct nvdp_encode_config nvdp_encode_config_default(void);
/* Plain hidden states: not private, for analysis.  *texts (may be NULL) counts what was written. */
nvdp_status nvdp_encode(struct nvdp_context *ctx, const struct nvdp_encode_config *config,
                        size_t *texts);

NVDP_END_DECLS
#endif
