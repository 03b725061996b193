/**
 * @file
 * Pretraining: from plain text to a compact BERT in Hugging Face's layout (docs/pretraining.md).
 *
 * Texts are UTF-8, plain or compressed by xz; their documents stand between blank lines, or between
 * lines "<doc ...>" and "</doc>".
 *
 * Experimental: may change in any version. */
#ifndef NVDP_PRETRAIN_H
#define NVDP_PRETRAIN_H

#include <nvdp/sanitize.h>

NVDP_BEGIN_DECLS

/**
 * The options of pretraining with their defaults; nvdp_config_option() tells each.  "arch" (tiny,
 * mini, small, base: Turc et al. 2019) implies "layers" and "hidden"; "lr" 0 stands for 3e-3 with
 * optimizer muon and 5e-4 with adamw.
 *
 * @param ctx outlives the configuration.
 * @param out the configuration, for nvdp_config_free(); untouched on error.
 * @return NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_pretrain_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/**
 * The configuration as a JSON object, with what zeros stand for: what pretrain.json tells.
 *
 * @param ctx where errors are recorded; NULL allowed.
 * @param config of nvdp_pretrain_config_create().
 * @param out the text, for free(); untouched on error.
 * @return NVDP_ERR_ARGUMENT for a configuration of another kind; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_pretrain_config_json(struct nvdp_context *ctx, const struct nvdp_config *config,
                                      char **out);

/** How a vocabulary covers a text.  Stands inside other structs and keeps its size. */
struct nvdp_coverage {
    uint64_t words;         /**< Running words and punctuation marks; 0: not measured. */
    double unknown;         /**< Share of them that is [UNK]. */
    double pieces_per_word; /**< Tokens per word. */
};

/** Masked-LM scores on held-out text. */
struct nvdp_mlm_scores {
    size_t struct_size; /**< NVDP_RESULT() sets it. */
    uint64_t windows;   /**< Windows that were scored; 0: none. */
    uint64_t tokens;    /**< Their tokens, special ones included. */
    uint64_t masked;    /**< Positions predicted. */
    double accuracy;    /**< Share whose most likely piece is the right one. */
    double nll;         /**< Mean -log p(right piece), nats. */
    double perplexity;  /**< exp(nll). */
    double reserved[2]; /**< 0: the struct stands inside others and keeps its size. */
};

/** What nvdp_pretrain() tells of a finished run; result.json has the same. */
struct nvdp_pretrain_result {
    size_t struct_size;                 /**< NVDP_RESULT() sets it. */
    uint64_t steps;                     /**< Of the optimiser. */
    uint64_t tokens;                    /**< Trained on, special ones included. */
    uint64_t masked;                    /**< Positions predicted. */
    size_t vocab_size;                  /**< Pieces. */
    size_t parameters;                  /**< Trained ones. */
    double loss;                        /**< Masked LM, nats: mean over the last logged steps. */
    double accuracy;                    /**< Share predicted right, over the same steps. */
    struct nvdp_coverage coverage;      /**< Of the text; not told with a private vocabulary. */
    struct nvdp_coverage eval_coverage; /**< Of the held-out text. */
    struct nvdp_mlm_scores eval;        /**< On the held-out text; windows 0: none. */
    double seconds;                     /**< In training steps. */
    double tokens_per_second;           /**< In training steps. */
    double drawing_seconds;             /**< Of those, in drawing what "privatize" asks for. */
};

/** What a run would take. */
struct nvdp_pretrain_plan {
    size_t struct_size;  /**< NVDP_RESULT() sets it. */
    size_t vocab_size;   /**< Pieces; at most, where a vocabulary is to be trained. */
    size_t parameters;   /**< Trained ones. */
    uint64_t tokens;     /**< At most: steps x batch x length. */
    size_t memory_bytes; /**< Of parameters, optimiser and activations. */
};

/**
 * Plans a run without writing anything.
 *
 * @param ctx messages pass through its callbacks; NULL is not allowed.
 * @param config of nvdp_pretrain_config_create().
 * @param out the plan; untouched on error.
 * @return as nvdp_pretrain() for what can be told beforehand.
 */
nvdp_status nvdp_pretrain_plan(struct nvdp_context *ctx, const struct nvdp_config *config,
                               struct nvdp_pretrain_plan *out);

/**
 * Trains and writes a directory in Hugging Face's layout (BertForPreTraining).  A run that was
 * cancelled or killed continues with the option "resume" to the same result bit for bit (with the
 * same number of threads).  Time and memory are those of nvdp_pretrain_plan(); nothing is allocated
 * within a step, but for scratch memory of the draws with "privatize".
 *
 * @param ctx progress, messages and the wish to stop pass through its callbacks.
 * @param config of nvdp_pretrain_config_create().  With "resume" only "cache" and "overwrite" are
 * read of it: a resumed run keeps its own.
 * @param out the result; untouched on error.
 * @return NVDP_ERR_ARGUMENT, naming field, range and value, and for a directory that is not empty;
 * NVDP_ERR_INPUT and NVDP_ERR_IO for texts, vocabulary and model; NVDP_ERR_NUMERIC where the loss
 * diverges; NVDP_ERR_CANCELLED after the state was saved; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_pretrain(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_pretrain_result *out);

/**
 * The options of scoring a masked language model, with their defaults: model, text, length, batch,
 * mask-prob, whole-word, seed, limit, cache, positions.
 *
 * @param ctx outlives the configuration.
 * @param out the configuration, for nvdp_config_free(); untouched on error.
 * @return NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_mlm_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/**
 * Scores a model on windows of the text, in the context's precision.  Windows and masks are
 * functions of text, length, share and seed alone: every model is asked the same.
 *
 * @param ctx progress, messages and the wish to stop pass through its callbacks.
 * @param config of nvdp_mlm_config_create().
 * @param out the scores; untouched on error.
 * @return NVDP_ERR_ARGUMENT for options out of range; NVDP_ERR_INPUT and NVDP_ERR_IO for texts and
 * model; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_mlm_evaluate(struct nvdp_context *ctx, const struct nvdp_config *config,
                              struct nvdp_mlm_scores *out);

/** What a masked language model guesses of sanitized texts. */
struct nvdp_mask_inference {
    size_t struct_size;    /**< NVDP_RESULT() sets it. */
    double original;       /**< Share of guesses that are the token the user wrote; 1 less it is the
                                 defence rate.  NaN without guesses. */
    double sanitized;      /**< Share that are the token in the text, which was covered. */
    double original_error; /**< Standard error of original, as if guesses were independent. */
    double sanitized_error; /**< Of sanitized. */
    size_t guesses;         /**< Tokens that were asked for. */
    size_t left_out; /**< Tokens that are no piece of the model's vocabulary: no guess could be
                                 right. */
};

/**
 * Mask token inference (Yue et al. 2021, section 5.3): every position of a sanitized text in turn becomes
 * [MASK], and what the model finds most likely there is compared with the token that the user wrote.
 *
 * A token is the model's piece of its name, or the pieces that the model's tokenizer makes of it, covered by
 * one [MASK].  Longer texts are asked in stretches.  In the context's precision; O(length) passes of the
 * model a text, 64 together.
 *
 * @param ctx progress, messages and the wish to stop pass through its callbacks.
 * @param model directory of a checkpoint with a masked-LM head.
 * @param sanitizer whose tokens the texts have.
 * @param texts how many.
 * @param offset [texts + 1] where each text's tokens begin, from 0.
 * @param original [offset[texts]] tokens as they were, or NVDP_DCHI_UNKNOWN.
 * @param sanitized [offset[texts]] tokens as they came out; the same array: texts as they are.
 * @param length most pieces at once, special ones included; 0: 128, or as many as the model takes.
 * @param out the shares; untouched on error.
 * @return NVDP_ERR_ARGUMENT for a token that is none, a length out of range, a struct without its size;
 * NVDP_ERR_INPUT for a model without a masked-LM head; NVDP_ERR_UNSUPPORTED for one that is no BERT with
 * WordPieces; NVDP_ERR_IO; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_mask_inference(struct nvdp_context *ctx, const char *model,
                                const struct nvdp_sanitizer *sanitizer, size_t texts,
                                const size_t *offset, const int32_t *original,
                                const int32_t *sanitized, size_t length,
                                struct nvdp_mask_inference *out);

NVDP_END_DECLS
#endif
