/* Sharing: files of noisy embeddings to give away, and readers that see nothing else. */
#ifndef NVDP_SHARE_H
#define NVDP_SHARE_H

#include <nvdp/evaluate.h>
#include <nvdp/export.h>
#include <nvdp/privacy.h>

NVDP_BEGIN_DECLS

struct nvdp_export_config {
    const char *run;    /* run directory */
    const char *input;  /* a TSV with the task's text columns; NULL: `splits` of the task's data */
    const char *splits; /* comma-separated: "train,dev" */
    const char *data;   /* NULL: the folder it was trained from */
    const char *out;    /* embeddings/1 file */
    const char *model_out; /* also write the public part of the model (sealed block, head) there;
                              NULL: no */
    size_t samples;        /* S, releases a text, default 1 */
    size_t limit;          /* per split; 0: all */
    size_t batch;
    bool with_labels;
    bool overwrite;
    bool insecure_seed; /* seeded noise, for tests only; the file says so */
    uint64_t seed;
    double order;         /* of the divergence summary, 1.1 */
    double delta;         /* of the BDP summary, 1e-5 */
    size_t measure_texts; /* pairs of at most this many texts enter the summary (seeded sample),
                             default 1000 */
};
struct nvdp_export_config nvdp_export_config_default(void);

enum { NVDP_STATEMENT_SIZE = 2048 };

struct nvdp_export_result {
    size_t texts, samples, components, dim;
    uint64_t bytes;
    bool measured; /* false where fewer than 2 texts */
    struct nvdp_privacy_report privacy;
    char statement[NVDP_STATEMENT_SIZE];
};
/* Draws every text's sample from the operating system's randomness in double, rounds it to the
 * file's grid (float16), writes embeddings/1.  Models with query clean and methods without noise
 * are refused. */
nvdp_status nvdp_export(struct nvdp_context *ctx, const struct nvdp_export_config *config,
                        struct nvdp_export_result *out);

struct nvdp_reuse_config {
    const char *file;      /* embeddings/1 */
    const char *labels;    /* text file, one label a line in the file's order of texts; NULL: the
                              file's `label` */
    const char *eval_file; /* another embeddings/1 to score on; NULL: the file's split `eval_split`,
                              else a tenth held out */
    const char *eval_labels;
    const char *init; /* public model directory of the sender to start from; NULL: random */
    const char *out;  /* directory for the reader; NULL: not kept */
    bool overwrite;
    bool regression; /* labels are scores */
    size_t heads, epochs, batch, patience;
    double lr; /* 0: from the vectors' width */
    double weight_decay, warmup;
    enum nvdp_pool pool;
    uint64_t seed;
};
struct nvdp_reuse_config nvdp_reuse_config_default(void);

struct nvdp_reuse_result {
    struct nvdp_scores scores; /* on texts the reader was not trained on */
    size_t train_texts, classes;
    size_t best_epoch;
    double seconds;
};
/* Trains a reader (denoising attention, feed-forward, head) from the file alone and scores it. */
nvdp_status nvdp_reuse(struct nvdp_context *ctx, const struct nvdp_reuse_config *config,
                       struct nvdp_reuse_result *out);

/* Writes a matrix of divergences [n, n] of order `order` (row P, column Q, diagonal 0; as
 * nvdp_pairs_config.matrix) to a file of kind pairs/1: dataset `rd`, attribute `order`. */
nvdp_status nvdp_pairs_write(struct nvdp_context *ctx, const char *path, size_t n, double order,
                             const double *matrix);

/* What a file or directory is, in a few lines for people, or one JSON object: safetensors, HDF5 of
 * any kind, vocabulary, model directory, run directory. */
nvdp_status nvdp_describe(struct nvdp_context *ctx, const char *path, bool json, FILE *to);

NVDP_END_DECLS
#endif
