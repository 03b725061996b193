/* The table of attacks: one row per value of the option `kind`.
 *
 * The file of an attack defines the attack's row; attacks.inc lists the rows.  The program and all other files read
 * rows, and contain no name of an attack. */
#ifndef NVDP_SRC_ATTACK_ATTACK_H
#define NVDP_SRC_ATTACK_ATTACK_H

#include "attack/audit.h"
#include "base/sentence.h"
#include "options/result.h"
#include "options/schema.h"
#include <jansson.h>
#include <nvdp/attack.h>
#include <nvdp/certificate.h>
#include <nvdp/linkage.h>
#include <nvdp/rdp.h>
#include <stdio.h>

struct nvdp__text_attack; /* texts.h */

/* The input of an attack, and the data that the results need. */
struct nvdp__attacked {
    struct nvdp_context *ctx;
    const struct nvdp__attack *attack;
    const char *kind; /* name of the attack */
    const char *name; /* the model or run, or "posteriors"; for messages */
    const struct nvdp_config *config;
    /* The attacked posteriors; NULL for other targets, and after `run`. */
    const struct nvdp_posteriors *posteriors;
    double claimed; /* option `claimed`; NaN if not given */
    bool words;     /* the run or file has a certificate per word; known after `run` */
};

struct nvdp__attack {
    enum nvdp_attack_target target;
    const char *right;          /* what its guesses identify; NULL if the attack does not guess */
    const char *const *options; /* applicable options, NULL-terminated */
    const char *exclusive[2];   /* two options that exclude each other; NULL if there is none */
    bool opens;                 /* `run` opens the posteriors itself */
    bool per_word;              /* its bounds are from the certificate per word, if there is one */
    size_t size; /* size of the struct that `run` fills; its first member is its size */
    nvdp_status (*run)(const struct nvdp__attacked *attacked, void *found);
    const struct nvdp_result_table *table; /* table of that struct, whose view for JSON is "json" */
    /* Add data that the struct lacks, such as options: `add` adds keys of JSON, the other function writes the first
     * lines of the text.  NULL if nothing is added.  `add` returns false if memory is short. */
    bool (*add)(const struct nvdp__attacked *attacked, const void *found, json_t *object);
    void (*head)(const struct nvdp__attacked *attacked, const void *found, FILE *to);
    /* Returns true if the control without noise found nothing either: then finding nothing in samples shows nothing.
     * NULL if there is no control. */
    bool (*weak)(const void *found);
    /* Reports a result that exceeds a proven bound; otherwise writes nothing. */
    void (*verdict)(const struct nvdp__attacked *attacked, const void *found,
                    struct nvdp__writer *say);
    void (*release)(void *found); /* NULL if the struct owns no memory */
    /* The attack itself, for a row that ends in NVDP__LEARNER (texts.h). */
    nvdp_status (*learn)(struct nvdp__text_attack *attack);
};

/* Names and rows in the table's order, NULL-terminated, and the help of `kind`. */
extern const char *const nvdp__attack_names[];
extern const char *const nvdp__attack_helps[];
extern const struct nvdp__attack *const nvdp__attacks[];
extern const char nvdp__attack_kind_help[];

/* Options of every attack, and of attacks on texts of a run.  `kind` and `model`, the program's argument, are always
 * accepted. */
#define NVDP__ATTACK_OPTIONS "kind", "model", "seed"
#define NVDP__ATTACK_RUN_OPTIONS NVDP__ATTACK_OPTIONS, "run", "split", "data", "limit", "batch"
#define NVDP__ATTACK_POSTERIORS_OPTIONS NVDP__ATTACK_RUN_OPTIONS, "posteriors", "releases"

/* Computes the certificate of a run's mechanism for the attack's releases, at delta and at a list of epsilons, which
 * may be NULL. */
nvdp_status nvdp__attacked_certificate(const struct nvdp__attacked *attacked,
                                       const struct nvdp_model *model, double delta,
                                       const char *epsilons, struct nvdp_certificate *out);
/* Adds the options of the shared file, the releases and the seed; used as `add`. */
bool nvdp__add_source(const struct nvdp__attacked *attacked, const void *found, json_t *object);

/* The table of struct nvdp__canary_audit (exposure.c). */
extern const struct nvdp_result_table nvdp__result_canary_audit;

/* Returns the JSON object of a struct nvdp_attack_result; NULL if memory is short. */
json_t *nvdp__attack_pack(const void *result);

/* Returns true if an option is in the NULL-terminated list `names` of options that apply to an attack. */
bool nvdp__attack_takes(const char *const *names, const char *option);

/* Reports a share of right guesses that is above its proven bound.  Otherwise writes nothing. */
void nvdp__share_verdict(const struct nvdp__attacked *attacked, const char *what,
                         const struct nvdp_interval *interval, double baseline, double bound,
                         struct nvdp__writer *say);

/* ---- the options: one struct per kind of target ---- */

struct nvdp__exposure_options {
    const char *model, *secrets,
        *reference;    /* `secrets` is NULL for planted.json in the model's directory */
    size_t candidates; /* 0 for all */
    uint64_t seed;
    size_t guess_in, guess_out; /* if both are 0, several numbers are tried */
    double delta, confidence;   /* delta 0 for the delta of the model's account, or 1e-5 */
};
extern const struct nvdp__schema nvdp__exposure_schema;

/* Options of attacks on the data that a run shares. */
struct nvdp__attack_options {
    int releases;
    uint64_t seed;
    const char *pair; /* "I,J"; NULL to draw pairs */
    size_t pairs, samples;
    double delta, confidence;    /* delta 0 for .01 */
    size_t texts;                /* 0 for all */
    const char *label;           /* column; NULL for "label" */
    const char *second, *person; /* columns; NULL if there is none */
};
extern const struct nvdp__schema nvdp__attack_schema;

/* Options of attackers that learn from public texts. */
struct nvdp__text_attack_options {
    uint64_t seed;
    const char *known; /* a file of public texts */
    size_t known_limit, seeds;
    const char *prior; /* directory of a masked language model; NULL if there is none */
    size_t beam;
    int releases;
    const char *shared; /* a file with the samples; NULL if samples are drawn */
    /* Options of invert. */
    size_t tokens, steps;          /* steps 0 to follow from the number of public texts */
    const char *attacked;          /* file of the texts of `posteriors` */
    const char *public_posteriors; /* posteriors of the public texts */
    const char *encoder;           /* directory of the victim's encoder; NULL if not known */
    const char *surrogate; /* encoder of an attacker without the victim's encoder, or NULL */
    size_t aligned;        /* pairs of texts and samples of that attacker */
    size_t search;         /* rounds of the search */
    /* Options of membership. */
    int members; /* enum nvdp__members */
    size_t shadows;
    const char *shadow_runs; /* NULL for RUN.shadows */
};
enum nvdp__members { NVDP__MEMBERS_SHARED, NVDP__MEMBERS_TRAINING };
extern const char *const nvdp__member_source_names[];
extern const struct nvdp__schema nvdp__text_attack_schema;

/* ---- results, and the functions that fill and release them ---- */

/* One secret that was planted, or not, and the model's prediction of it. */
struct nvdp__secret_exposure {
    char form[20];        /* format of the secret: "HSH" has one S */
    bool window;          /* planted as a separate training example; if false, within the text */
    bool coin;            /* a canary: a fair coin decided whether the secret was planted */
    uint64_t occurrences; /* number of times that the secret was planted */
    double loss;          /* -log p(S | the other words), nats */
    double rank;          /* rank of S among the candidates, 1 is most likely; a tie counts 1/2 */
    double exposure;      /* log2 candidates - log2 rank, bits */
    /* Sum of log p(word | all other words), over all words of a canary; for another secret, log p of S alone. For a
     * canary with a reference model, minus the sum under the reference model. */
    double score;
};

/* Secrets with the same form, place and number of occurrences. */
struct nvdp__exposure_group {
    char form[20];        /* nvdp__secret_exposure.form */
    bool window;          /* nvdp__secret_exposure.window */
    bool coin;            /* nvdp__secret_exposure.coin */
    uint64_t occurrences; /* nvdp__secret_exposure.occurrences */
    size_t secrets;       /* number of secrets */
    double loss;          /* mean, nats */
    double exposure;      /* mean, bits */
    /* 95 % interval of `exposure`: Student's t, or the limit of Clopper & Pearson if all ranks are 1; NaN for one
     * secret. */
    struct nvdp_interval interval;
    double first; /* share of secrets with rank 1 */
};

/* Result of nvdp__exposure(). */
struct nvdp__exposures {
    size_t struct_size; /* NVDP_RESULT() sets it */
    size_t candidates;  /* number of candidates per ranking, including the secret */
    /* Number of whole words in the vocabulary, from which candidates are drawn if not all are candidates. */
    size_t whole_words;
    size_t secrets;                       /* number of secrets */
    struct nvdp__secret_exposure *secret; /* [secrets] in the file's order */
    size_t groups;                        /* number of groups */
    struct nvdp__exposure_group *group;   /* [groups] by form, place and number of occurrences */
    /* Audit of the canaries; its `canaries` is 0 without canaries. */
    struct nvdp__canary_audit audit;
    bool dp;     /* config.json of the model records private pretraining */
    bool seeded; /* the noise of the private pretraining came from a seed */
    /* Epsilon of the model's accountant at audit.delta; +inf if nothing is guaranteed. */
    double upper;
};

/* Measures how well a model predicts secrets that were planted into its training text (nvdp_pretrain(), option
 * plant) (Carlini et al. 2019; Hoory et al. 2021, section 5.2).
 *
 * Each secret is a separate text, in which [MASK] replaces S. The model's probability ranks S among all whole words of
 * the vocabulary, or among randomly drawn words. The exposure of a secret that was not planted is log2 e = 1.44 bits on
 * average, because S is drawn uniformly. Canaries in the file are audited in one run (nvdp__audit_canaries()) by their
 * `score`. A typical reference is the initial model of the training.
 *
 * Takes one pass of the model per word of a canary and one per other secret, 64 per batch, in the context's precision.
 *
 * Options (kind "attack"): model, secrets, reference, candidates, seed, guess-in, guess-out, delta,
 * confidence.
 * ctx: reports progress, records messages, can cancel
 * config: of kind "attack"
 * out: the result, freed with nvdp__exposures_free(); untouched on error
 * Returns NVDP_ERR_ARGUMENT for options out of range; NVDP_ERR_INPUT for an invalid file of secrets (the message
 *         names the field), a model without a masked-LM head, or a reference with another vocabulary;
 *         NVDP_ERR_UNSUPPORTED for a model that is not BERT with WordPieces; NVDP_ERR_IO; NVDP_ERR_CANCELLED;
 *         NVDP_ERR_MEMORY */
nvdp_status nvdp__exposure(struct nvdp_context *ctx, const struct nvdp_config *config,
                           struct nvdp__exposures *out);

/* Default delta of the epsilons of two texts: n samples show nothing about events rarer than one in n. */
#define NVDP__PAIR_DELTA 0.01

/* Result of distinguishing two texts by the likelihood ratio of their samples. */
struct nvdp__pair_attack {
    size_t p; /* index of the text of P, from 0 */
    /* Index of the text of Q. If `word` is not 0, index of the text from which the replaced word of Q is taken. */
    size_t q;
    /* Lower bound of epsilon at the delta, from the error rates of one test on held-out samples; 0 if nothing is
     * shown. */
    double shown;
    double ceiling; /* lower bound that a perfect test would have shown */
    /* Exact epsilon, the maximum of both directions (nvdp_exact_epsilon()), or an upper bound if double precision
     * cannot represent its integral. */
    double exact;
    size_t held[2]; /* number of held-out samples of P and of Q */
    /* Number of held-out samples of P and of Q that the test assigns to P (to Q if favors_q). */
    size_t hits[2];
    bool favors_q; /* the test detects Q */
    /* Share of all samples that are more likely under the right text than under the other text; ties count half. */
    double right;
    /* Expected `right` of the best test, (1 + delta(0))/2; an upper bound if `exact` is an upper bound. */
    double right_max;
    /* shown <= exact <= min(proven, certified) and right_interval.low <= right_max <= proven_right. If `bounded` is
     * set, `exact` and `right_max` are not compared with proven bounds. */
    bool holds;
    /* Interval of `right` (Clopper & Pearson 1934). It holds simultaneously with `shown`, for all pairs. */
    struct nvdp_interval right_interval;
    /* `right` without noise, from the posteriors: 1, or 1/2 if the two texts have the same posterior. */
    double states;
    /* `exact` or `right_max` is an upper bound, because double precision cannot represent the integral. */
    bool bounded;
    /* Q is the text of P with another word in this place, counted from 1. 0 if P and Q are texts of the set. */
    size_t word;
    /* Numbers of adjacent words of P, and of Q, in which the texts differ; 0 without a certificate per word. */
    size_t changed[2];
    double proven; /* proven epsilon for texts that differ in that many words, else `certified` */
    /* Proven upper bound of `right` for such a pair; NaN if nothing is proven. */
    double proven_right;
};

/* Result of nvdp__attack_pairs(). */
struct nvdp__pair_attacks {
    size_t struct_size;             /* NVDP_RESULT() sets it */
    double delta;                   /* delta of all epsilons */
    double confidence;              /* simultaneous confidence of all `shown` */
    int releases;                   /* K */
    size_t samples;                 /* number of trials per text, of K samples each */
    double certified;               /* proven epsilon over all texts; +inf if nothing is proven */
    bool holds;                     /* `holds` is true for all pairs */
    size_t pairs;                   /* number of pairs */
    struct nvdp__pair_attack *pair; /* [pairs] */
    /* Proven upper bound of the share right for any two texts (nvdp_guess_bound() of 1/2); NaN if nothing is proven. */
    double guess;
    /* All pairs have equal posteriors even without noise: the attack shows nothing. */
    bool weak;
    /* Proven epsilon for texts that differ in one word; NaN if nothing is proven per word. */
    double word_epsilon;
    /* Proven upper bound of the share right for such texts; NaN if there is none. */
    double word_guess;
};

/* Measures re-identification as nvdp_linkage_measure() does, but with the samples of a shared file. This includes
 * the rounding of the shared values.
 * ctx: as in nvdp_linkage_measure()
 * posteriors: the texts; only texts in the file are attacked, found by `id` and `split` (in any split if unknown).
 *                   Without `id` here or in the file, all texts, in the file's order
 * path: a file of kind embeddings/1 or /2 (nvdp_export()): HDF5, .safetensors or .parquet
 * releases: K, at most the file's number of samples S per text; each text has S/K trials
 * out: the result; untouched on error
 * Returns NVDP_ERR_INPUT for an invalid file, fewer than 2 of the texts in it, or a file of another model; else as
 *         nvdp_linkage_measure(). The check of the model compares method, shapes and grid. It also counts how often
 *         a sample is more likely under its text than under another text. This number must be within 4.4 standard
 *         deviations of the number for drawn samples */
nvdp_status nvdp__attack_shared(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                const char *path, int releases, struct nvdp_linkage *out);

/* Metrics of attackers that learn from public texts, with their names: X(name, text) is expanded once per metric.
 * "first" and "among ten" are the shares of tokens that are the first guess, or among the first ten guesses; "rare" is
 * for rare tokens, "set" for the set of a text's tokens. "nearest" is the score of the attacker nearest on the same
 * samples, "over nearest" the difference to that score. The metrics from BLEU-4 on compare a guessed text with the true
 * text; "cosine" compares the vectors of the two texts without noise. "TPR" and "FPR" are the shares of members, and of
 * other texts, that the attacker calls members. */
#define NVDP__TEXT_METRIC_MAP(X)                                                                   \
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

/* Kind of a score. Metrics keep their numbers; new metrics are added at the end. */
enum nvdp__text_metric {
#define NVDP__TEXT_METRIC_ENUM(name, text) NVDP__TEXT_METRIC_##name, /* text */
    NVDP__TEXT_METRIC_MAP(NVDP__TEXT_METRIC_ENUM)
#undef NVDP__TEXT_METRIC_ENUM
        NVDP__TEXT_METRIC_COUNT /* number of metrics */
};

/* Returns a metric's name, such as "among ten".
 * metric: any value
 * Returns static text; "unknown" for other values */
const char *nvdp__text_metric_name(enum nvdp__text_metric metric);

/* One score of an attacker. */
struct nvdp__text_score {
    /* The attacker's observation. "release": samples, drawn or from a file; "states": the vectors without noise;
     * "prior": nothing, or for invert, samples of other texts; "reference", for informed: a sample of the text without
     * the word. For membership "replaced": a file with a public text in the text's place; "loss" and "shadows": a
     * trained model. */
    char observed[16];
    enum nvdp__text_metric metric; /* kind of score */
    double value; /* score over all texts and seeds; NaN if there was nothing to guess */
    /* 95 % interval over texts and seeds; with one seed, over texts only. For rates of membership, the interval
     * includes the choice of the threshold, so its ends can be 0 and 1. */
    struct nvdp_interval interval;
    /* Success of the best guess without samples. NaN unless the score is the success of a guess from "release" and
     * the run has a sequence clip without shared weights. For tokens, the guess uses each text's length, each token's
     * position and the label that a shared file states. For informed, the larger of "prior" and the upper end of
     * "reference". */
    double baseline;
    /* nvdp_guess_bound() of the baseline, which no attacker exceeds; NaN like the baseline. */
    double bound;
};

/* Result of nvdp__learn() (texts.h). */
struct nvdp__text_attack_result {
    size_t struct_size; /* NVDP_RESULT() sets it */
    /* "nearest", "token", "language", "informed", "bag", "attribute", "invert". */
    char attacker[16];
    size_t texts;        /* number of attacked texts */
    size_t public_texts; /* number of public texts from which the attacker learned */
    /* Number of times that noise was drawn and learned; for a file, number of the file's draws that were used. */
    size_t seeds;
    /* Weights of the masked language model in the prior, 0 to 1, chosen on public texts: for samples, for states, and
     * without an observation. 0 for attackers other than language and informed. */
    double weight[3];
    size_t scores;                  /* number of scores */
    struct nvdp__text_score *score; /* [scores] */
    /* Number of attacked texts that are also public texts: the attacker learned from them, so scores are too high. */
    size_t both;
    /* The attacker finds nothing even without noise: no score of "states" is above that of "prior" with disjoint
     * intervals; for invert, "words, F1" by at least .1. Then low scores show nothing. Membership of training has no
     * control: false. */
    bool weak;
    bool holds; /* no score's interval lies above its bound */
    /* Number of words that informed tries in each place: the most probable words without the sample. 0 if it tries all
     * public words. */
    size_t tried;
    /* Number of different labels that the shared file states for its texts, which baselines and bounds treat as known;
     * 0 without labels or without a file. */
    size_t labels;
    /* The public texts have labels, too, so the attacker (except invert) learned the relation of labels and texts. */
    bool labels_learned;
};

/* Free the arrays of a result, and zero the struct. The rows of the table of attacks point to these functions, so the
 * type is void.
 * exposures: a struct nvdp__exposures
 * scores: a struct nvdp__text_attack_result
 * attacks: a struct nvdp__pair_attacks */
void nvdp__exposures_free(void *exposures);
void nvdp__text_attack_free(void *scores);
void nvdp__pair_attacks_free(void *attacks);

#endif
