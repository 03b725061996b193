/** @file attack.h
 * Attacks: experiments that measure what an attacker can learn from shared samples or from a model (docs/attacks.md;
 * docs/dp-bert.md).
 *
 * Experimental: may change in any version. */
#ifndef NVDP_ATTACK_H
#define NVDP_ATTACK_H

#include <nvdp/audit.h>
#include <nvdp/linkage.h>
#include <nvdp/rdp.h>

NVDP_BEGIN_DECLS

/** One secret that was planted, or not, and the model's prediction of it. */
struct nvdp_secret_exposure {
    char form[20];        /**< format of the secret: "HSH" has one S */
    bool window;          /**< a training example of its own; false: within the text */
    bool coin;            /**< a canary: a fair coin decided whether to plant it */
    uint64_t occurrences; /**< number of times it was planted */
    double loss;          /**< -log p(S | the other words), nats */
    double rank;          /**< rank of S among the candidates, 1 is most likely; a tie counts 1/2 */
    double exposure;      /**< log2 candidates - log2 rank, bits */
    /** Sum of log p of the words given the others: all words of a canary, S of another secret. For a canary with a
     * reference, minus the sum under the reference. */
    double score;
};

/** Secrets with the same form, place and number of occurrences. */
struct nvdp_exposure_group {
    char form[20];        /**< nvdp_secret_exposure.form */
    bool window;          /**< nvdp_secret_exposure.window */
    bool coin;            /**< nvdp_secret_exposure.coin */
    uint64_t occurrences; /**< nvdp_secret_exposure.occurrences */
    size_t secrets;       /**< number of secrets */
    double loss;          /**< mean, nats */
    double exposure;      /**< mean, bits */
    /** 95 % interval of `exposure`: Student's t, or the limit of Clopper & Pearson if all ranks are 1; NaN for one
     * secret. */
    struct nvdp_interval interval;
    double first; /**< share of secrets with rank 1 */
};

/** Result of nvdp_exposure(). */
struct nvdp_exposures {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t candidates;  /**< number of candidates per ranking, including the secret */
    /** Number of whole words in the vocabulary: all candidates, or the words from which candidates are drawn. */
    size_t whole_words;
    size_t secrets;                      /**< number of secrets */
    struct nvdp_secret_exposure *secret; /**< [secrets] in the file's order */
    size_t groups;                       /**< number of groups */
    struct nvdp_exposure_group *group;   /**< [groups] by form, place and number of occurrences */
    /** Audit of the canaries; its `canaries` is 0 without canaries. */
    struct nvdp_canary_audit audit;
    bool dp;     /**< config.json of the model records private pretraining */
    bool seeded; /**< its noise came from a seed */
    /** Epsilon of the model's accountant at audit.delta; +inf if nothing is guaranteed. */
    double upper;
};

/** Creates the options of nvdp_exposure(): model, secrets, reference, candidates, seed, guess-in, guess-out, delta,
 * confidence.
 * @param ctx outlives the configuration
 * @param out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_exposure_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Measures how well a model predicts secrets that were planted into its training text (nvdp_pretrain(), option
 * plant) (Carlini et al. 2019; Hoory et al. 2021, section 5.2).
 *
 * Each secret is a text of its own, in which [MASK] replaces S. The model's probability ranks S among all whole
 * words of the vocabulary, or among randomly drawn ones. The exposure of a secret that was not planted is log2
 * e = 1.44 bits on average, because S is drawn uniformly. Canaries in the file are audited in one run
 * (nvdp_audit_canaries()) by their `score`. A typical reference is the model that training began from.
 *
 * Takes one pass of the model per word of each canary and one per other secret, 64 per batch, in the context's
 * precision.
 * @param ctx    reports progress, records messages, can cancel
 * @param config from nvdp_exposure_config_create()
 * @param out    the result; nvdp_exposures_free(); untouched on error
 * @return NVDP_ERR_ARGUMENT for options out of range; NVDP_ERR_INPUT for an invalid file of secrets (the message
 *         names the field), a model without a masked-LM head, or a reference with another vocabulary;
 *         NVDP_ERR_UNSUPPORTED for a model that is not BERT with WordPieces; NVDP_ERR_IO; NVDP_ERR_CANCELLED;
 *         NVDP_ERR_MEMORY */
nvdp_status nvdp_exposure(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_exposures *out);

/** Frees the arrays and zeroes the struct.
 * @param exposures filled by nvdp_exposure(), or zeros */
void nvdp_exposures_free(struct nvdp_exposures *exposures);

/** Default delta of the epsilons of two texts: n samples show nothing about events rarer than one in n. */
#define NVDP_PAIR_DELTA 0.01

/** Result of distinguishing two texts by the likelihood ratio of their samples. */
struct nvdp_pair_attack {
    size_t p; /**< index of the text of P, from 0 */
    /** Index of the text of Q. If `word` is not 0: of the text whose word stands in Q in place of P's. */
    size_t q;
    /** Lower bound of epsilon at the delta, from the error rates of one test on held-out samples; 0: nothing is
     * shown. */
    double shown;
    double ceiling; /**< lower bound that a perfect test would have shown */
    /** Exact epsilon, the maximum of both directions (nvdp_exact_epsilon()), or an upper bound if double precision
     * cannot represent its integral. */
    double exact;
    size_t held[2]; /**< number of held-out samples of P and of Q */
    /** Number of held-out samples of each that the test assigns to P (to Q if favors_q). */
    size_t hits[2];
    bool favors_q; /**< the test detects Q */
    /** Share of all samples whose own text is the more likely of the two; ties count half. */
    double right;
    /** Expected `right` of the best test, (1 + delta(0))/2; as exact as `exact`. */
    double right_max;
    /** shown <= exact <= min(proven, certified) and right_interval.low <= most <= proven_right. If `bounded`, only
     * `shown` and `right_interval` are compared with the bounds, not `exact` and `most` with proven ones. */
    bool holds;
    /** Interval of `right` (Clopper & Pearson 1934). It holds simultaneously with `shown`, for all pairs. */
    struct nvdp_interval right_interval;
    /** `right` without noise, from the posteriors themselves: 1, or 1/2 if both texts have the same posterior. */
    double states;
    /** `exact`, `most` or both are upper bounds, because double precision cannot represent the integral. */
    bool bounded;
    /** Q is the text of P with another word in this place, from 1; 0: both are texts of the set. */
    size_t word;
    /** Adjacent words of P that differ from those of Q, and of Q; 0 without a certificate per word. */
    size_t changed[2];
    double proven; /**< proven epsilon for texts that differ in so many words, else `certified` */
    /** Proven upper bound of `right` for such a pair; NaN: nothing is proven. */
    double proven_right;
};

/** Result of nvdp_attack_pairs(). */
struct nvdp_pair_attacks {
    size_t struct_size;            /**< NVDP_RESULT() sets it */
    double delta;                  /**< delta of all epsilons */
    double confidence;             /**< simultaneous confidence of all `shown` */
    int releases;                  /**< K */
    size_t samples;                /**< number of trials per text, of K samples each */
    double certified;              /**< proven epsilon over all texts; +inf: nothing is proven */
    bool holds;                    /**< true if it holds for all pairs */
    size_t pairs;                  /**< number of pairs */
    struct nvdp_pair_attack *pair; /**< [pairs] */
    /** Proven upper bound of the share right for any two texts (nvdp_guess_bound() of 1/2); NaN: nothing is proven. */
    double guess;
    /** All pairs have equal posteriors even without noise: the attack shows nothing. */
    bool weak;
    /** Proven epsilon for texts that differ in one word; NaN: nothing is proven per word. */
    double word_epsilon;
    double word_guess; /**< proven upper bound of the share right for such texts; NaN as above */
};

/** Creates the options of nvdp_attack_pairs(): releases, seed, pair, pairs, samples, delta, confidence; and `texts`,
 * for nvdp_linkage_measure().
 * @param ctx      outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Distinguishes two texts by their samples, for several pairs. Samples of both texts are drawn as in nvdp_export(),
 * but from the seed and without the grid. The score is the log ratio of their densities; no test is better (Neyman
 * & Pearson 1933). Half of the samples choose a threshold and a direction; the other half measure the error rates.
 * They give
 *
 *     epsilon  >=  log((TPR - delta) / FPR)                         (Kairouz, Oh & Viswanath 2015)
 *
 * with the limits of Clopper & Pearson. This lower bound must not exceed the exact epsilon of the pair, which must
 * not exceed the epsilon that is proven over all texts. The share of samples whose own text is the more likely must
 * not exceed, beyond its interval, the share of the best test. Otherwise the sampler, the densities, the integral or
 * the proof is wrong, except with probability 1 - confidence.
 *
 * O(pairs x samples x tokens x p); one second for 10,000 samples of 30 tokens in 384 dimensions.
 * @param ctx        records messages, can cancel
 * @param posteriors 2 or more texts; checked
 * @param certified  proven epsilon >= 0 at the delta, for `releases` samples; INFINITY: nothing is proven
 * @param config     from nvdp_attack_config_create(); NULL: the defaults
 * @param out        the result, also if a comparison fails; nvdp_pair_attacks_free(); untouched on error
 * @return NVDP_ERR_ARGUMENT for options or `certified` out of range, or two texts with different public lengths;
 *         NVDP_ERR_INPUT for posteriors that fail nvdp_posteriors_check(), or without two texts of the same length;
 *         NVDP_ERR_NUMERIC; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                              double certified, const struct nvdp_config *config,
                              struct nvdp_pair_attacks *out);

/** Measures re-identification as nvdp_linkage_measure() does, but with the samples of a shared file. This includes
 * the rounding of the shared values.
 * @param ctx        as in nvdp_linkage_measure()
 * @param posteriors the texts; only those in the file are attacked, found by `id` and `split` (unknown: any split).
 *                   Without `id` here or in the file: all texts, in the file's order
 * @param path       a file of kind embeddings/1 or /2 (nvdp_export()): HDF5, .safetensors or .parquet
 * @param releases   K, at most the file's number of samples S per text; each text has S/K trials
 * @param[out] out   the result; untouched on error
 * @return NVDP_ERR_INPUT for an invalid file, fewer than 2 of the texts in it, or a file of another model; else as
 *         nvdp_linkage_measure(). The check of the model compares method, shapes and grid. It also counts how often
 *         a sample is more likely under its own text than under another one; the number must be within 4.4 standard
 *         deviations of that for drawn samples */
nvdp_status nvdp_attack_shared(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               const char *path, int releases, struct nvdp_linkage *out);

/** Attackers that learn from public texts. */
enum nvdp_text_attacker {
    /** Names the token of each vector by its likelihood under a Gaussian per token. */
    NVDP_ATTACKER_NEAREST,
    /** Names the word pieces of a text from the mean of its vectors. */
    NVDP_ATTACKER_BAG,
    NVDP_ATTACKER_ATTRIBUTE, /**< guesses a text's label from the mean of its vectors */
    /** Names the token of each vector with a transformer layer over all vectors of the sample. */
    NVDP_ATTACKER_TOKEN,
    /** Names all tokens jointly, by the likelihoods of "nearest" and a masked language model. */
    NVDP_ATTACKER_LANGUAGE,
    /** Names one word of a text by its likelihood, all other words known; for a guarantee per word. */
    NVDP_ATTACKER_INFORMED,
    /** Writes the text: a masked language model that reads the sample beside the text. */
    NVDP_ATTACKER_INVERT
};

/** Metrics of attackers that learn from public texts, with their names: X(name, text) is expanded once per metric. "first" and
 * "among ten" are the shares of tokens named first or among the first ten, "rare" those of rare tokens, "set" the set of a text's
 * tokens. "nearest" is NVDP_ATTACKER_NEAREST on the same samples, "over nearest" the difference to it. From BLEU-4 on a
 * guessed text is compared with the true one; "cosine" is that of their vectors without noise. "TPR" and "FPR" are the
 * rates of texts that are called members, of members and of others. */
#define NVDP_TEXT_METRIC_MAP(X)                                                                    \
    X(FIRST, "first")                                                                              \
    X(AMONG_TEN, "among ten")                                                                      \
    X(RARE_FIRST, "rare, first")                                                                   \
    X(RARE_AMONG_TEN, "rare, among ten")                                                           \
    X(WHOLE_TEXT, "whole text")                                                                    \
    X(SET_PRECISION, "set, precision")                                                             \
    X(SET_RECALL, "set, recall")                                                                   \
    X(SET_F1, "set, F1")                                                                           \
    X(NEAREST_FIRST, "nearest, first")                                                             \
    X(FIRST_OVER_NEAREST, "first, over nearest")                                                   \
    X(NEAREST_RARE_FIRST, "nearest, rare, first")                                                  \
    X(RARE_OVER_NEAREST, "rare, over nearest")                                                     \
    X(NEAREST_WHOLE_TEXT, "nearest, whole text")                                                   \
    X(WHOLE_OVER_NEAREST, "whole, over nearest")                                                   \
    X(PRECISION, "precision")                                                                      \
    X(RECALL, "recall")                                                                            \
    X(F1, "F1")                                                                                    \
    X(ACCURACY, "accuracy")                                                                        \
    X(AUC, "AUC")                                                                                  \
    X(BLEU, "BLEU-4")                                                                              \
    X(ROUGE, "ROUGE-L")                                                                            \
    X(WORDS_F1, "words, F1")                                                                       \
    X(EXACT, "exact match")                                                                        \
    X(ENTITY_RECALL, "entities, recall")                                                           \
    X(COSINE, "cosine")                                                                            \
    X(TPR_PERCENT, "TPR at FPR 1 %")                                                               \
    X(TPR_PERMILLE, "TPR at FPR 0.1 %")

/** Kind of a score. Metrics keep their numbers; new ones are added at the end. */
enum nvdp_text_metric {
#define NVDP_TEXT_METRIC_ENUM(name, text) NVDP_TEXT_METRIC_##name, /**< text */
    NVDP_TEXT_METRIC_MAP(NVDP_TEXT_METRIC_ENUM)
#undef NVDP_TEXT_METRIC_ENUM
        NVDP_TEXT_METRIC_COUNT /**< how many metrics there are; none itself */
};

/** Returns a metric's name, such as "among ten".
 * @param metric any value
 * @return static text; "unknown" for other values */
const char *nvdp_text_metric_name(enum nvdp_text_metric metric);

/** One score of an attacker. */
struct nvdp_text_score {
    /** "release": samples, drawn or from a file; "states": the same without noise; "prior": no observation, or
     * for invert, samples of other texts; "reference", for informed: a sample of the text without the word; for
     * membership "replaced": a file with a public text in the text's place, "loss" and "shadows": of training. */
    char observed[16];
    enum nvdp_text_metric metric; /**< kind of score */
    double value;                 /**< over all texts and seeds; NaN: there was nothing to guess */
    /** 95 % interval over texts and seeds; with one seed, over texts only. For rates of membership it covers the choice
     * of the threshold, so its ends can be 0 and 1. */
    struct nvdp_interval interval;
    /** Success of the best guess without samples. NaN unless the score is the success of a guess from "release" and
     * the run has a sequence clip without shared weights. For tokens, the guesser knows each text's length, each
     * token's position and the label that a shared file states. For informed: the larger of "prior" and the upper end
     * of "reference". */
    double baseline;
    /** nvdp_guess_bound() of the baseline, which no attacker exceeds; NaN like the baseline. */
    double bound;
};

/** Result of nvdp_attack_texts(). */
struct nvdp_text_attack {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    char attacker
        [16];     /**< "nearest", "token", "language", "informed", "bag", "attribute", "invert" */
    size_t texts; /**< number of attacked texts */
    size_t public_texts; /**< number of public texts that the attacker learned from */
    /** Number of times that noise was drawn and learned from; for a file, number of its draws that were used. */
    size_t seeds;
    /** Weight of the masked language model in the prior, 0 to 1, chosen on public texts: for samples, for states,
     * for no observation. 0 for attackers other than language and informed. */
    double weight[3];
    size_t scores;                 /**< number of scores */
    struct nvdp_text_score *score; /**< [scores] */
    /** Number of attacked texts that are also public texts: the attacker learned from them, so scores are too high. */
    size_t both;
    /** The attacker finds nothing even without noise: no score of "states" is above that of "prior" with disjoint
     * intervals; for invert, "words, F1" by at least .1. Then low scores show nothing. Membership of training has no control: false. */
    bool weak;
    bool holds; /**< no score's interval lies above its bound */
    /** Words that informed tries in each place, the most probable ones without the sample, if it does not try all public
     * words; else 0. */
    size_t tried;
    /** Number of different labels that the shared file states for its texts, which baselines and bounds count as known;
     * 0: none, or no file. */
    size_t labels;
    /** The public texts have labels too, so the attacker (except invert) learned what a label says about a text. */
    bool labels_learned;
};

/** Creates the options of nvdp_attack_texts(): those of nvdp_run_posteriors(), and seed, public, public-limit,
 * seeds, prior, beam, releases (not for token and invert), shared; tokens, steps, attacked,
 * public-posteriors, encoder, surrogate, aligned (for invert); members, shadows, shadow-runs (for membership).
 * @param ctx      outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_text_attack_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Attacks the samples that a run shares of a split's texts. The attacker learns from public texts and from any
 * number of samples of them. Two controls are measured too: the same attacker on states without noise, and guesses
 * from frequencies alone. The result is not a bound: other attackers may find more.
 *
 * With the option shared, the samples are those of a file of nvdp_export(), for the split's texts in it, found by
 * split and id. The first `releases` samples of a text serve the first of `seeds`, the next ones the next seed, as
 * far as they go.
 *
 * Takes a pass of the encoder over attacked and public texts. Then nearest: O(tokens x distinct tokens x p). bag:
 * O(public texts x 300 p) per step of descent. token: ten epochs of O(public tokens x distinct tokens x min(p, 128))
 * per seed. language: up to four times `beam` passes of the masked language model per token, 64 per batch.
 * informed: O(words of the texts x distinct public words x p), and a pass of such a model per word. invert: trains
 * such a model three times, and 8 `beam` passes of it per text and seed.
 * @param ctx      reports progress, can cancel
 * @param attacker the attacker
 * @param config   from nvdp_text_attack_config_create()
 * @param out      the result; nvdp_text_attack_free(); untouched on error
 * @return as nvdp_run_posteriors(); NVDP_ERR_ARGUMENT without public texts, for options of another attacker, or for
 *         nearest, token and language on methods with one vector per text; NVDP_ERR_UNSUPPORTED for a prior of a run
 *         without WordPieces; NVDP_ERR_INPUT for texts without labels, fewer than 20 public texts, a prior without a
 *         masked-LM head, or a shared file that nvdp_attack_shared() would reject or that has fewer than 2 of the
 *         split's texts */
nvdp_status nvdp_attack_texts(struct nvdp_context *ctx, enum nvdp_text_attacker attacker,
                              const struct nvdp_config *config, struct nvdp_text_attack *out);

/** Frees the array and zeroes the struct.
 * @param attack filled by nvdp_attack_texts(), or zeros */
void nvdp_text_attack_free(struct nvdp_text_attack *attack);

/** Frees the array and zeroes the struct.
 * @param attacks filled by nvdp_attack_pairs(), or zeros */
void nvdp_pair_attacks_free(struct nvdp_pair_attacks *attacks);

/** Input of an attack. */
enum nvdp_attack_target {
    NVDP_ATTACK_MODEL,     /**< a model of nvdp pretrain: option model */
    NVDP_ATTACK_RUN,       /**< a run of nvdp train: option run */
    NVDP_ATTACK_POSTERIORS /**< a run or a file of posteriors: option run or posteriors */
};

/** An entry of the table of attacks, which nvdp_attack() runs by name. */
struct nvdp_attack_info {
    size_t struct_size;             /**< NVDP_RESULT() sets it */
    const char *name;               /**< value of the option kind; static */
    const char *help;               /**< short description; static */
    enum nvdp_attack_target target; /**< input of the attack */
    const char *const *options;     /**< options that apply, terminated by NULL; static */
    const char *exclusive[2];       /**< two mutually exclusive options; NULL: none */
    size_t attacks;                 /**< number of attacks */
    const char
        *right; /**< what its guesses name, for notes of reports; NULL: it does not guess; static */
};
/** Describes an attack.
 * @param ctx    records an error; may be NULL
 * @param attack index, 0 to nvdp_attack_info.attacks - 1
 * @param out    the description
 * @return NVDP_ERR_ARGUMENT if there is no such attack or *out has no struct_size */
nvdp_status nvdp_attack_describe(struct nvdp_context *ctx, size_t attack,
                                 struct nvdp_attack_info *out);

/** Creates the options of all attacks: those of nvdp_exposure(), nvdp_attack_pairs() and nvdp_attack_texts(). Adds
 * kind (the attack's name), posteriors (a file in place of a run) and claimed (an epsilon to compare pairs with).
 * @param ctx      outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attacks_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** The result of an attack; opaque. */
struct nvdp_attack_result;
/** Runs the attack named by the option kind. Ignores options that do not apply to it.
 * @param ctx      reports progress, can cancel; outlives the result
 * @param config   from nvdp_attacks_config_create(); copied
 * @param[out] out the result, also if it exceeds a bound; nvdp_attack_free(); untouched on error
 * @return as the attack's own function: nvdp_exposure(), nvdp_attack_pairs(), nvdp_linkage_measure(),
 *         nvdp_attack_shared(), nvdp_attack_texts(); NVDP_ERR_ARGUMENT if the input is missing or given twice */
nvdp_status nvdp_attack(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_attack_result **out);
/** Writes the result as a JSON object, as nvdp attack --json prints it.
 * @param ctx      records messages
 * @param result   from nvdp_attack()
 * @param[out] out the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_json(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                             char **out);
/** Writes the result as text, as nvdp attack prints it.
 * @param ctx      records messages
 * @param result   from nvdp_attack()
 * @param[out] out the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_text(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                             char **out);
/** Writes a sentence about a result that exceeds a proven or claimed bound. Then the sampler, the densities, the
 * training or the proof is wrong, or the excess is chance.
 * @param ctx      records messages
 * @param result   from nvdp_attack()
 * @param[out] out one sentence, "" if nothing exceeds a bound; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_verdict(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                                char **out);
/** Frees a result.
 * @param result from nvdp_attack(); may be NULL */
void nvdp_attack_free(struct nvdp_attack_result *result);

NVDP_END_DECLS
#endif
