/* Pretraining: from plain text to a compact BERT in Hugging Face's layout (docs/pretraining.md). */
#ifndef NVDP_PRETRAIN_H
#define NVDP_PRETRAIN_H

#include <nvdp/bert.h>
#include <nvdp/export.h>
#include <nvdp/precision.h>
#include <nvdp/safetensors.h>

NVDP_BEGIN_DECLS

enum nvdp_objective {
    NVDP_OBJECTIVE_MLM,    /* masked tokens of single windows */
    NVDP_OBJECTIVE_MLM_NSP /* and whether a second segment follows the first */
};
const char *nvdp_objective_name(enum nvdp_objective objective); /* "mlm", "mlm+nsp" */

enum nvdp_optimizer {
    NVDP_OPTIMIZER_ADAMW,
    NVDP_OPTIMIZER_MUON /* for the matrices of linear maps; AdamW for everything else */
};
const char *nvdp_optimizer_name(enum nvdp_optimizer optimizer); /* "adamw", "muon" */

enum nvdp_start {
    NVDP_START_NORMAL,    /* as BERT: everything normal, initializer_range wide */
    NVDP_START_NEIGHBOURS /* heads of the first two layers attend to neighbouring tokens */
};
const char *nvdp_start_name(enum nvdp_start start); /* "normal", "neighbours" */

/* Texts: UTF-8, plain or xz; documents between blank lines, or between lines <doc ...> and </doc>.
 */
struct nvdp_pretrain_config {
    const char *const *text; /* [texts] files to train on */
    size_t texts;
    const char *const *eval_text; /* [eval_texts] held-out files, none: no evaluation */
    size_t eval_texts;
    const char *out;   /* output directory */
    const char *init;  /* directory to start from: its vocabulary, sizes, weights; NULL: none */
    const char *vocab; /* vocab.txt to use; NULL: one is trained */
    const char *cache; /* folder for tokenised texts; NULL: they are not kept */
    size_t vocab_size; /* pieces of a vocabulary that is trained */
    size_t alphabet;   /* its most characters; 0: a 64th of vocab_size, at least 100 */
    bool cased;        /* keep capitals and accents */
    /* sizes, where there is no `init`; heads 0: hidden / 64; intermediate 0: 4 hidden */
    size_t hidden, layers, heads, intermediate;
    size_t max_positions;  /* 0: `length`, at least 128 */
    enum nvdp_start start; /* initial weights, where there is no `init` */
    enum nvdp_objective objective;
    double mask_prob; /* share of the tokens to predict */
    bool whole_word;
    uint64_t steps; /* 0: a vocabulary and random (or the initial) weights */
    /* The run ends after so many, with the learning rate that the schedule over all steps has
     * there; 0: after the last. */
    uint64_t stop_after;
    size_t batch;  /* windows or pairs a step */
    size_t length; /* tokens of a window or pair, special ones included */
    enum nvdp_optimizer optimizer;
    double lr; /* 0: 3e-3 for muon, 5e-4 for adamw */
    double warmup, weight_decay, clip_norm, beta1, beta2, adam_eps;
    double momentum;               /* Muon's */
    double dropout;                /* hidden and attention dropout */
    enum nvdp_precision precision; /* where bf16 is not to be had: f32, with a notice */
    enum nvdp_dtype dtype;         /* of the weights that are written: F32, F16 or BF16 */
    uint64_t seed;
    size_t log_every;          /* steps between lines in metrics.jsonl */
    size_t save_every;         /* steps between models written on the way; 0: only at the end */
    size_t eval_every;         /* steps between evaluations; 0: only at the end */
    size_t eval_limit;         /* windows of an evaluation; 0: all */
    double checkpoint_seconds; /* between saved states */
    bool resume;               /* continue `out` with its own configuration */
    bool overwrite;            /* replace what an earlier run wrote to `out` */
};
struct nvdp_pretrain_config nvdp_pretrain_config_default(void);
/* Names the field, the value, the allowed range. */
nvdp_status nvdp_pretrain_config_check(struct nvdp_context *ctx,
                                       const struct nvdp_pretrain_config *config);
/* hidden, layers, heads, intermediate by name: tiny, mini, small, base (Turc et al. 2019). */
nvdp_status nvdp_pretrain_arch(struct nvdp_context *ctx, const char *name,
                               struct nvdp_pretrain_config *config);

/* How a vocabulary covers a text. */
struct nvdp_coverage {
    uint64_t words;         /* running words and punctuation marks; 0: not measured */
    double unknown;         /* share of them that is [UNK] */
    double pieces_per_word; /* tokens a word */
};

/* Masked-LM scores on held-out text. */
struct nvdp_mlm_scores {
    uint64_t windows, tokens; /* special ones included */
    uint64_t masked;          /* positions predicted */
    double accuracy;          /* share whose most likely piece is the right one */
    double nll;               /* mean -log p(right piece), nats */
    double perplexity;        /* exp(nll) */
};

struct nvdp_pretrain_result {
    uint64_t steps, tokens, masked; /* of this run; special tokens included */
    size_t vocab_size, parameters;
    double loss, accuracy; /* masked LM, means over the last logged steps */
    struct nvdp_coverage coverage, eval_coverage;
    struct nvdp_mlm_scores eval; /* windows 0: none */
    double seconds, tokens_per_second;
};

/* What --dry-run prints. */
struct nvdp_pretrain_plan {
    struct nvdp_bert_config bert;
    size_t parameters;
    uint64_t tokens; /* at most: steps * batch * length */
    size_t memory_bytes;
};
nvdp_status nvdp_pretrain_plan(struct nvdp_context *ctx, const struct nvdp_pretrain_config *config,
                               struct nvdp_pretrain_plan *out);
/* The resolved configuration as a JSON object; free(). */
nvdp_status nvdp_pretrain_config_json(struct nvdp_context *ctx,
                                      const struct nvdp_pretrain_config *config, char **out);

/* Trains and writes a BertForPreTraining directory.  Stops on NaN with NVDP_ERR_NUMERIC; on cancel
 * saves the state and returns NVDP_ERR_CANCELLED; a killed run continues with resume to the same
 * result bit for bit (same thread count). */
nvdp_status nvdp_pretrain(struct nvdp_context *ctx, const struct nvdp_pretrain_config *config,
                          struct nvdp_pretrain_result *out);

struct nvdp_mlm_config {
    const char *model; /* directory with the masked-LM head */
    const char *const *text;
    size_t texts;
    size_t length, batch;
    double mask_prob;
    bool whole_word;
    uint64_t seed;         /* of the masks */
    size_t limit;          /* windows; 0: all */
    const char *cache;     /* folder for tokenised texts; NULL: they are not kept */
    const char *positions; /* safetensors file of what was predicted; NULL: none */
};
struct nvdp_mlm_config nvdp_mlm_config_default(void);
/* Scores a model on windows of the text, cut and masked as a function of text, length, share and
 * seed alone, in the context's precision. */
nvdp_status nvdp_mlm_evaluate(struct nvdp_context *ctx, const struct nvdp_mlm_config *config,
                              struct nvdp_mlm_scores *out);

NVDP_END_DECLS
#endif
