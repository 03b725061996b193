/** @file
 * Pretraining: from plain text to a compact BERT in Hugging Face's layout (docs/pretraining.md).
 *
 * Texts are UTF-8, plain or compressed by xz. Blank lines, or lines "<doc ...>" and "</doc>", separate documents.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_PRETRAIN_H
#define NVDP_PRETRAIN_H

#include <nvdp/sanitize.h>

NVDP_BEGIN_DECLS

/** Writes the configuration as a JSON object, with zeros replaced by the values that they mean, as in pretrain.json.
 * @param ctx    records errors; may be NULL
 * @param config of kind "pretrain"
 * @param out    the text; the caller frees it with free(); untouched on error
 * @return NVDP_ERR_ARGUMENT for a configuration of another kind; NVDP_ERR_MEMORY */
nvdp_status nvdp_pretrain_config_json(struct nvdp_context *ctx, const struct nvdp_config *config,
                                      char **out);

/** Coverage of a text by a vocabulary. */
struct nvdp_coverage {
    uint64_t words;         /**< number of running words and punctuation marks */
    double unknown;         /**< share of words that are [UNK] */
    double pieces_per_word; /**< tokens per word */
};

/** Masked-LM scores on held-out text. */
struct nvdp_mlm_scores {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    uint64_t windows;   /**< number of scored windows */
    uint64_t tokens;    /**< number of tokens in these windows, including special ones */
    uint64_t masked;    /**< number of predicted positions */
    double accuracy;    /**< top-1 accuracy of the predicted pieces */
    double nll;         /**< mean -log p(right piece), nats */
    double perplexity;  /**< exp(nll) */
};

/** Result of nvdp_pretrain(), freed with nvdp_result_free(). The file result.json has the same numbers. */
struct nvdp_pretrain_result {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    uint64_t steps;                      /**< number of optimizer steps */
    uint64_t tokens;                     /**< number of training tokens, including special ones */
    uint64_t masked;                     /**< number of predicted positions */
    size_t vocab_size;                   /**< number of pieces */
    size_t parameters;                   /**< number of trained parameters */
    /** Loss of the masked LM in nats, mean over the last logged steps. */
    double loss;
    double accuracy; /**< top-1 accuracy over the same steps */
    /** Coverage of the text; NULL with a private vocabulary. */
    struct nvdp_coverage *coverage;
    struct nvdp_coverage *eval_coverage; /**< coverage of the held-out text, or NULL */
    struct nvdp_mlm_scores *eval;        /**< scores on the held-out text, or NULL */
    double seconds;                      /**< time of the training steps */
    double tokens_per_second;            /**< speed of the training steps */
    double drawing_seconds; /**< time of the draws for "privatize", included in `seconds` */
};

/** Size of a run. */
struct nvdp_pretrain_plan {
    size_t struct_size;  /**< NVDP_RESULT() sets it */
    size_t vocab_size;   /**< number of pieces; the maximum if a vocabulary will be trained */
    size_t parameters;   /**< number of trained parameters */
    uint64_t tokens;     /**< maximum: steps x batch x length */
    size_t memory_bytes; /**< parameters, optimizer state and activations */
};

/** Plans a run without writing anything.
 * @param ctx    records messages; must not be NULL
 * @param config of kind "pretrain"
 * @param out    the plan; untouched on error
 * @return as nvdp_pretrain() for errors that can be found without training */
nvdp_status nvdp_pretrain_plan(struct nvdp_context *ctx, const struct nvdp_config *config,
                               struct nvdp_pretrain_plan *out);

/** Trains a model and writes it as a directory in Hugging Face's layout (BertForPreTraining). The option "resume"
 * continues a run that was cancelled or killed. The result of a resumed run has the same bits, for the same number of
 * threads. nvdp_pretrain_plan() estimates memory. A step allocates no memory except scratch memory for the draws of
 * "privatize".
 *
 * Options (kind "pretrain"); nvdp_config_option() describes each. "arch" (tiny, mini,
 * small, base: Turc et al. 2019) implies "layers" and "hidden"; "lr" 0 means 3e-3 with optimizer muon and 5e-4 with
 * adamw.
 * @param ctx    reports progress, records messages, can cancel
 * @param config of kind "pretrain". With "resume", only "cache" and "overwrite" are read: a resumed run
 *               keeps the options with which it was started
 * @param out    the result; the result of an earlier call is freed; untouched on error
 * @return NVDP_ERR_ARGUMENT for options out of range (the message names field, range and value) and a directory that
 *         is not empty; NVDP_ERR_INPUT and NVDP_ERR_IO for texts, vocabulary and model; NVDP_ERR_NUMERIC if the loss
 *         diverges; NVDP_ERR_CANCELLED after saving the state; NVDP_ERR_MEMORY */
nvdp_status nvdp_pretrain(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_pretrain_result *out);

/** Scores a masked language model on windows of a text, in the context's precision. Windows and masks depend only on
 * text, length, share and seed, so every model has the same task.
 *
 * Options (kind "mlm"): model, text, length, batch, mask-prob,
 * whole-word, seed, limit, cache, positions.
 * @param ctx    reports progress, records messages, can cancel
 * @param config of kind "mlm"
 * @param out    the scores; untouched on error
 * @return NVDP_ERR_ARGUMENT for options out of range; NVDP_ERR_INPUT and NVDP_ERR_IO for texts and model;
 *         NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_mlm_evaluate(struct nvdp_context *ctx, const struct nvdp_config *config,
                              struct nvdp_mlm_scores *out);

/** Accuracy of a masked language model on sanitized texts. */
struct nvdp_mask_inference {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    /** Share of guesses equal to the original token; the defense rate is 1 - original. NaN without guesses. */
    double original;
    double sanitized; /**< share of guesses equal to the masked token of the sanitized text */
    /** Standard error of `original`, for independent guesses. */
    double original_error;
    double sanitized_error; /**< standard error of `sanitized` */
    size_t guesses;         /**< number of masked tokens */
    /** Number of tokens that are not pieces of the vocabulary, so that the model has no guess. */
    size_t left_out;
};

/** Runs mask token inference (Yue et al. 2021, section 5.3). Each position of a sanitized text in turn becomes
 * [MASK], and the most likely token of the model is compared with the original token.
 *
 * A token is the piece with the same name, or the pieces that the model's tokenizer makes of the token. One [MASK]
 * replaces all these pieces. Longer texts are split into ranges. Uses the context's precision. O(length) passes of the
 * model per text, 64 per batch.
 * @param ctx       reports progress, records messages, can cancel
 * @param model     directory of a checkpoint with a masked-LM head
 * @param sanitizer the sanitizer of the tokens
 * @param texts     number of texts
 * @param offset    [texts + 1] first token of each text, from 0
 * @param original  [offset[texts]] original tokens, or NVDP_DCHI_UNKNOWN
 * @param sanitized [offset[texts]] sanitized tokens; the array @p original measures the original texts
 * @param length    maximum number of pieces per pass, including special ones; 0 for 128, or for the maximum of the
 *                  model if it is smaller
 * @param out       the shares; untouched on error
 * @return NVDP_ERR_ARGUMENT for an invalid token, a length out of range, a struct without struct_size; NVDP_ERR_INPUT
 *         for a model without a masked-LM head; NVDP_ERR_UNSUPPORTED for a model that is not BERT with WordPieces;
 *         NVDP_ERR_IO; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_mask_inference(struct nvdp_context *ctx, const char *model,
                                const struct nvdp_sanitizer *sanitizer, size_t texts,
                                const size_t *offset, const int32_t *original,
                                const int32_t *sanitized, size_t length,
                                struct nvdp_mask_inference *out);

NVDP_END_DECLS
#endif
