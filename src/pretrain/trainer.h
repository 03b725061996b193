/* The options of a pretraining run, and the run. */
#ifndef NVDP_SRC_PRETRAIN_TRAINER_H
#define NVDP_SRC_PRETRAIN_TRAINER_H

#include "dchi/options.h"
#include "job/dp.h"
#include "job/optimizer.h"
#include "pretrain/evaluate.h"
#include "text/private_words.h"
#include <jansson.h>
#include <nvdp/safetensors.h>

enum nvdp__start {
    NVDP__START_NORMAL,    /* as BERT: normal weights with standard deviation initializer_range */
    NVDP__START_NEIGHBOURS /* heads of the first two layers attend to neighboring tokens */
};
/* Format of the written weights. */
enum nvdp__weight_format { NVDP__WEIGHTS_F32, NVDP__WEIGHTS_F16, NVDP__WEIGHTS_BF16 };
extern const char *const nvdp__objective_names[], *const nvdp__start_names[],
                                                      *const nvdp__optimizer_names[];

/* The plain struct that the table of options.c fills and describes. */
struct nvdp__pretrain_options {
    const char *text_list, *eval_text_list;     /* as given; split into the lists below */
    const char *const *text, *const *eval_text; /* [texts], [eval_texts] */
    size_t texts, eval_texts;
    const char *out, *init, *vocab, *cache, *arch;
    const char *plant; /* file of secrets; NULL: none */
    size_t vocab_size, alphabet;
    struct nvdp__private_words words; /* epsilon 0: the vocabulary is not private */
    bool cased;
    size_t hidden, layers, heads, intermediate, max_positions; /* without `init` */
    enum nvdp__start start;                                    /* without `init` */
    size_t freeze_layers;
    enum nvdp__objective objective;
    size_t length;
    double mask_prob;
    bool whole_word;
    struct nvdp__sanitizer_options sanitizer; /* for an adaptive objective */
    uint64_t steps, stop_after;
    size_t batch;
    struct nvdp__dp_options dp;
    enum nvdp_precision precision; /* f32, with a notice, if bf16 is not available */
    enum nvdp__optimizer_kind optimizer;
    struct nvdp__adamw_options adamw;
    double momentum, dropout;
    uint64_t seed;
    enum nvdp__weight_format dtype;
    size_t log_every, save_every, eval_every, eval_limit;
    double checkpoint_seconds;
    const char *resume; /* directory of the run to continue */
    bool overwrite;
};
extern const struct nvdp__schema nvdp__pretrain_schema;

/* ---- options.c ---- */

/* Returns the options as in pretrain.json, with the lists of files. */
json_t *nvdp__pretrain_options_json(const struct nvdp__pretrain_options *options);
/* Reads such options from `object` of the file `path`. The object keeps ownership of strings;
 * *lists owns the lists of files (free()). */
nvdp_status nvdp__pretrain_options_read(struct nvdp_context *ctx, const char *path,
                                        const json_t *object,
                                        struct nvdp__pretrain_options *options,
                                        const char ***lists);
/* Replaces zeros that stand for a rule by the value of the rule. */
void nvdp__pretrain_resolve(struct nvdp__pretrain_options *options);
enum nvdp_dtype nvdp__pretrain_dtype(const struct nvdp__pretrain_options *options);
/* Returns BERT's configuration for a vocabulary of `pieces` pieces; the options must be
 * resolved. */
struct nvdp_bert_config nvdp__pretrain_bert(const struct nvdp__pretrain_options *options,
                                            size_t pieces);

/* ---- trainer.c: nvdp_pretrain() for a plain struct ---- */

nvdp_status nvdp__pretrain(struct nvdp_context *ctx, const struct nvdp__pretrain_options *options,
                           struct nvdp_pretrain_result *out);

#endif
