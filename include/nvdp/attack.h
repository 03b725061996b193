/** @file attack.h
 * What can be found out from what is given away, by trying: attackers (docs/attacks.md; docs/dp-bert.md, Memorisation).
 *
 * Experimental: may change in any version. */
#ifndef NVDP_ATTACK_H
#define NVDP_ATTACK_H

#include <nvdp/audit.h>
#include <nvdp/linkage.h>
#include <nvdp/rdp.h>

NVDP_BEGIN_DECLS

/** One secret that was planted, or not, and what the model makes of it. */
struct nvdp_secret_exposure {
    char form[20];        /**< "HSH": one S */
    bool window;          /**< a training example of its own; else within the text */
    bool coin;            /**< a canary: whether it was planted was decided by a fair coin */
    uint64_t occurrences; /**< times it was planted */
    double loss;          /**< -log p(S | the words beside it), nats */
    double rank;     /**< of S among the candidates, 1 the most likely; equal ones count half */
    double exposure; /**< log2 candidates - log2 rank, bits */
    double score; /**< log p of each of its words given the others, summed; with a reference, more
                               than there */
};

/** Secrets of one form, place and number of occurrences. */
struct nvdp_exposure_group {
    char form[20];                 /**< as theirs */
    bool window;                   /**< as theirs */
    bool coin;                     /**< as theirs */
    uint64_t occurrences;          /**< as theirs */
    size_t secrets;                /**< how many */
    double loss;                   /**< mean, nats */
    double exposure;               /**< mean, bits */
    struct nvdp_interval interval; /**< of it, 95 % (Student; Clopper & Pearson's limit where
                                        all are first); NaN for one secret */
    double first;                  /**< share of rank 1 */
};

/** What nvdp_exposure() found. */
struct nvdp_exposures {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t candidates;  /**< pieces that a secret is ranked among, itself included */
    size_t whole_words; /**< of the vocabulary: the candidates, or what they are drawn from */
    size_t secrets;     /**< how many */
    struct nvdp_secret_exposure *secret; /**< [secrets] in the file's order */
    size_t groups;                       /**< how many */
    struct nvdp_exposure_group *group;   /**< [groups] by form, place and occurrences */
    struct nvdp_canary_audit audit;      /**< of the canaries; canaries 0: there are none */
    bool dp;      /**< the model's config.json tells of differentially private pretraining */
    bool seeded;  /**< with noise from a seed */
    double upper; /**< epsilon by its accountant at audit.delta; +inf where nothing is promised */
};

/** The options of nvdp_exposure(): model, secrets, reference, candidates, seed, guess-in, guess-out,
 * delta, confidence.
 * @param ctx outlives the configuration
 * @param out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_exposure_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** How far secrets that were planted into a training text (nvdp_pretrain(), option plant) can be read off
 * the model (Carlini et al. 2019; Hoory et al. 2021, section 5.2).
 *
 * S of a secret becomes [MASK] between the words beside it, alone in a text, and is ranked by the model's
 * probability among all whole words of the vocabulary, or some that are drawn.  A secret that was not planted
 * has an exposure of log2 e = 1.44 bits on average, as S is drawn uniformly.  Where the file has canaries,
 * they are audited in one run (nvdp_audit_canaries()): by the sum of log p of every word of theirs, given the
 * others; with a reference, the model that training began from, say, by how much more that is than there.
 *
 * A pass of the model a word of each secret, 64 together, in the context's precision.
 * @param ctx    progress, messages and the wish to stop pass through its callbacks
 * @param config of nvdp_exposure_config_create()
 * @param out    what was found; nvdp_exposures_free(); untouched on error
 * @return NVDP_ERR_ARGUMENT for options out of range; NVDP_ERR_INPUT for a file of secrets that is none, naming
 * the field, a model without a masked-LM head, a reference with another vocabulary; NVDP_ERR_UNSUPPORTED for a
 * model that is no BERT with WordPieces; NVDP_ERR_IO; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_exposure(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_exposures *out);

/** Frees the arrays and zeroes the struct.
 * @param exposures what nvdp_exposure() filled, or zeros */
void nvdp_exposures_free(struct nvdp_exposures *exposures);

/** At which epsilon is told of two texts unless another delta is asked for: n samples show nothing about events rarer
 * than one in n. */
#define NVDP_PAIR_DELTA 0.01

/** Two texts, told apart by the likelihood ratio of their samples. */
struct nvdp_pair_attack {
    size_t p; /**< the text of P, from 0 */
    size_t q; /**< the text of Q */
    double
        shown; /**< epsilon at the delta is at least this: one test's error rates on held-out samples; 0: nothing */
    double ceiling; /**< what a perfect test would have shown with so many samples */
    double
        exact; /**< epsilon, exact (nvdp_exact_epsilon()), or an upper bound where double precision does not hold its
                         integral: the larger of both directions */
    size_t held[2]; /**< samples of P and of Q that the test was measured on */
    size_t hits[2]; /**< of them, those that it says to be of P (of Q, where it looks for Q) */
    bool favours_q; /**< it looks for Q */
    double
        right; /**< share of all samples whose own text is the likelier of the two; ties count half */
    double most; /**< what no test exceeds on average: (1 + delta(0))/2, as exact as epsilon */
    bool
        holds; /**< shown <= exact <= certified, and right_interval.low <= most <= guess; where `bounded`, what the
                      attack found is compared, not `exact` and `most` */
    /** Interval of `right` (Clopper & Pearson 1934).  It holds together with `shown`, of all pairs. */
    struct nvdp_interval right_interval;
    /** Share right without noise, from the posteriors themselves: 1, or 1/2 where both texts have the same posterior. */
    double states;
    bool
        bounded; /**< `exact`, `most` or both are upper bounds: double precision does not hold the pair's integral */
};

/** What nvdp_attack_pairs() found. */
struct nvdp_pair_attacks {
    size_t struct_size;            /**< NVDP_RESULT() sets it */
    double delta;                  /**< at which epsilons are */
    double confidence;             /**< of all `shown` together */
    int releases;                  /**< K */
    size_t samples;                /**< of K releases, of each text */
    double certified;              /**< epsilon that is proven over all texts; +inf: none */
    bool holds;                    /**< of all pairs */
    size_t pairs;                  /**< how many */
    struct nvdp_pair_attack *pair; /**< [pairs] */
    /** Largest share right of any two texts that is proven (nvdp_guess_bound() of 1/2); NaN: none is. */
    double guess;
    bool weak; /**< no pair differs without noise: the attack can conclude nothing */
};

/** The options of nvdp_attack_pairs(): releases, seed, pair, pairs, samples, delta, confidence; and `texts`, for
 * nvdp_linkage_measure().
 * @param ctx outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Tells two texts apart by their samples, pair by pair: samples of both are drawn as nvdp_export() draws them (from the
 * seed, without the grid), the log ratio of their densities is the score of which no test is better (Neyman & Pearson
 * 1933), half of them choose a threshold and a direction, the others measure its error rates, and
 *
 *     epsilon  >=  log((TPR - delta) / FPR)                         (Kairouz, Oh & Viswanath 2015)
 *
 * by Clopper & Pearson's limits.  That must not be above the exact epsilon of the pair, nor that above what is proven
 * over all texts; nor may the share of samples whose own text is the likelier be above what the best test has, beyond its
 * interval.  Where it is, sampler, densities, integral or proof are wrong, but for a chance of 1 - confidence.
 *
 * O(pairs x samples x tokens x p), a second for 10,000 samples of 30 tokens in 384 dimensions.
 * @param ctx        records messages, is asked to cancel
 * @param posteriors 2 or more texts; checked
 * @param certified  epsilon >= 0 that is proven at the delta, of `releases` samples; INFINITY: none
 * @param config     of nvdp_attack_config_create(); NULL: the defaults
 * @param out        what was found, also where it does not hold; nvdp_pair_attacks_free(); untouched on error
 * @return NVDP_ERR_ARGUMENT for options or `certified` out of range, two texts of different public lengths; NVDP_ERR_INPUT for posteriors that do
 *         not pass nvdp_posteriors_check(), or have no two texts of one length; NVDP_ERR_NUMERIC;
 *         NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                              double certified, const struct nvdp_config *config,
                              struct nvdp_pair_attacks *out);

/** nvdp_linkage_measure() of the samples in a shared file, in place of drawn ones: texts are guessed by what was
 * really given away, rounding included.
 * @param ctx        as there
 * @param posteriors those of its texts that are in the file are attacked, found by `id` and `split` (not known: any); `id` NULL,
 *                   or a file that has none: all of them, in the file's order
 * @param path       a file of kind embeddings/1 or /2 (nvdp_export()): HDF5, .safetensors or .parquet
 * @param releases   K, at most as many as the file has of each text; of S there are S/K trials a text
 * @param[out] out   what was found; untouched on error
 * @return NVDP_ERR_INPUT for a file that is none, has fewer than 2 of the texts, or is not of this model: method, shapes, grid, and whether its
 *         samples are likelier under their own text than under another one's about as often as drawn ones (4.4 standard
 *         deviations); else as nvdp_linkage_measure() */
nvdp_status nvdp_attack_shared(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               const char *path, int releases, struct nvdp_linkage *out);

/** Who learns from public texts. */
enum nvdp_text_attacker {
    NVDP_ATTACKER_NEAREST, /**< names the token of each vector by its likelihood under a Gaussian for each token */
    NVDP_ATTACKER_BAG,       /**< names a text's word pieces from the mean of its vectors */
    NVDP_ATTACKER_ATTRIBUTE, /**< guesses a text's label from that mean */
    NVDP_ATTACKER_TOKEN, /**< names the token of each vector by a transformer layer over all vectors of the sample */
    NVDP_ATTACKER_LANGUAGE /**< names all tokens together, by nearest's likelihoods and a masked language model */
};

/** How often one was right. */
struct nvdp_text_score {
    /** "release": samples, drawn or of a file; "states": the same without noise; "prior": nothing */
    char observed[16];
    /** "first", "among ten", "rare, first", "rare, among ten", "whole text", "set, F1", of language also "nearest, first"
     * and "first, over nearest", the difference; "precision", "recall", "F1"; "accuracy", "AUC" */
    char metric[24];
    double value; /**< over all texts and seeds; NaN: there was nothing to guess */
    /** 95 %, over texts and seeds; where there is one seed, over texts alone */
    struct nvdp_interval interval;
    /** Success of the best guess without samples.  Set for "release" where the score is the success of a guess and the run has a
     * sequence clip without shared weights; else NaN.  Tokens are guessed by somebody who knows each text's length and each
     * token's place. */
    double baseline;
    double
        bound; /**< nvdp_guess_bound() of the baseline, which no attacker exceeds; NaN likewise */
};

/** What nvdp_attack_texts() found. */
struct nvdp_text_attack {
    size_t struct_size;  /**< NVDP_RESULT() sets it */
    char attacker[16];   /**< "nearest", "token", "language", "bag", "attribute" */
    size_t texts;        /**< that were attacked */
    size_t public_texts; /**< that it learned from */
    /** times that noise was drawn anew, and learned from; of a file, draws of it that were looked at */
    size_t seeds;
    /** Of the masked language model in what texts are likely, 0 to 1, as public texts chose it: of samples, of states, of
     * nothing; 0 of others than language. */
    double weight[3];
    size_t scores;                 /**< how many */
    struct nvdp_text_score *score; /**< [scores] */
    size_t
        both; /**< attacked texts that are public ones, too, and were learned from: scores flatter the attacker */
    /** No score of the states, the attacker's control without noise, is above the same of nothing (their intervals are
     * disjoint): what such an attacker does not find in samples shows nothing. */
    bool weak;
    bool holds; /**< no score's interval lies above its bound */
};

/** The options of nvdp_attack_texts(): those of nvdp_run_posteriors(), and seed, public, public-limit, seeds, prior, beam,
 * releases (of nearest and language), shared.
 * @param ctx outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_text_attack_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Attacks what a run shares of a split's texts with what an attacker learns from public texts and as many samples of
 * these as he likes; beside it the same attacker on states without noise, and one who guesses from frequencies alone.
 * What these do not find others may: no bound.
 *
 * With option shared the samples are those of a file of nvdp_export(): of the split's texts that are in it, found by split and
 * id.  The first `releases` samples of a text stand for the first of `seeds`, those behind them for the next one, as far as
 * they go.
 *
 * A pass of the encoder over both; O(tokens x distinct tokens x p) for nearest, O(public texts x 300 p) a step of descent
 * for bag; for token ten epochs of O(public tokens x distinct tokens x min(p, 128)) a seed; for language up to four times
 * `beam` passes of the masked language model a token, 64 together.
 * @param ctx      progress and the wish to stop pass through its callbacks
 * @param attacker which
 * @param config   of nvdp_text_attack_config_create()
 * @param out      what was found; nvdp_text_attack_free(); untouched on error
 * @return as nvdp_run_posteriors(); NVDP_ERR_ARGUMENT without public texts, for options of another attacker, for
 *         nearest, token and language of one vector a text; NVDP_ERR_UNSUPPORTED for a prior of a run without
 *         WordPieces; NVDP_ERR_INPUT for texts without labels, fewer than 20 public ones, a prior without masked-LM head, a
 *         shared file that nvdp_attack_shared() would refuse, or has fewer than 2 of the split's texts */
nvdp_status nvdp_attack_texts(struct nvdp_context *ctx, enum nvdp_text_attacker attacker,
                              const struct nvdp_config *config, struct nvdp_text_attack *out);

/** Frees the array and zeroes the struct.
 * @param attack what nvdp_attack_texts() filled, or zeros */
void nvdp_text_attack_free(struct nvdp_text_attack *attack);

/** Frees the array and zeroes the struct.
 * @param attacks what nvdp_attack_pairs() filled, or zeros */
void nvdp_pair_attacks_free(struct nvdp_pair_attacks *attacks);

/** The input of an attack. */
enum nvdp_attack_target {
    NVDP_ATTACK_MODEL,     /**< a model of nvdp pretrain: option model */
    NVDP_ATTACK_RUN,       /**< a run of nvdp train: option run */
    NVDP_ATTACK_POSTERIORS /**< a run, or a file of posteriors: option run or posteriors */
};

/** An attack of the table, which nvdp_attack() runs by its name. */
struct nvdp_attack_info {
    size_t struct_size;             /**< NVDP_RESULT() sets it */
    const char *name;               /**< value of the option kind; static */
    const char *help;               /**< what it finds out, in a few words; static */
    enum nvdp_attack_target target; /**< its input */
    const char *const *options;     /**< options that apply, ended by NULL; static */
    const char *exclusive[2];       /**< two options of which only one may be given; NULL: none */
    size_t attacks;                 /**< number of attacks */
};
/** Describes an attack.
 * @param ctx    where an error is recorded; NULL: nowhere
 * @param attack 0 to nvdp_attack_info.attacks - 1
 * @param out    the description
 * @return NVDP_ERR_ARGUMENT: no such attack, or *out does not tell its size */
nvdp_status nvdp_attack_describe(struct nvdp_context *ctx, size_t attack,
                                 struct nvdp_attack_info *out);

/** The options of all attacks: those of nvdp_exposure(), nvdp_attack_pairs() and nvdp_attack_texts(); and kind, the
 * attack's name; posteriors, a file in place of a run; claimed, the epsilon that pairs are compared with.
 * @param ctx      outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attacks_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** The result of an attack; opaque. */
struct nvdp_attack_result;
/** Runs the attack that the option kind names.  Options that do not apply to it are not read.
 * @param ctx      progress and the wish to stop pass through its callbacks; outlives the result
 * @param config   of nvdp_attacks_config_create(); copied
 * @param[out] out the result, also if it exceeds a bound; nvdp_attack_free(); untouched on error
 * @return as the attack's own function: nvdp_exposure(), nvdp_attack_pairs(), nvdp_linkage_measure(), nvdp_attack_shared(),
 *         nvdp_attack_texts(); NVDP_ERR_ARGUMENT where the target is missing or given twice */
nvdp_status nvdp_attack(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_attack_result **out);
/** Gives the result as a JSON object, as nvdp attack --json prints it.
 * @param ctx      records messages
 * @param result   of nvdp_attack()
 * @param[out] out the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_json(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                             char **out);
/** Gives the result as a text for people, as nvdp attack prints it.
 * @param ctx      records messages
 * @param result   of nvdp_attack()
 * @param[out] out the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_text(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                             char **out);
/** Says which result exceeds a bound that is proven or promised.  Then the sampler, the densities, the training or the
 * proof is wrong, or the excess is chance.
 * @param ctx      records messages
 * @param result   of nvdp_attack()
 * @param[out] out one sentence, "" where nothing exceeds a bound; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_attack_verdict(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                                char **out);
/** Frees what nvdp_attack() gave.
 * @param result NULL is allowed */
void nvdp_attack_free(struct nvdp_attack_result *result);

NVDP_END_DECLS
#endif
