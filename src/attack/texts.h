/* Shared parts of the attackers that learn from public texts.
 *
 * These attackers have the run's model and public texts, of which they draw as many samples as they like.  An attacker
 * observes a sample of an unseen text, either drawn or from a shared file (release), the vectors without noise
 * (states), or nothing (prior). */
#ifndef NVDP_SRC_ATTACK_TEXTS_H
#define NVDP_SRC_ATTACK_TEXTS_H

#include "attack/attack.h"
#include "base/array.h"
#include "job/optimizer.h"
#include "rdp/likelihood.h"
#include "share/release.h"
#include "share/sampler.h"
#include "train/run.h"

/* ---- shared.c: texts that are attacked by their samples in a shared file ---- */

/* Texts and their samples in a file.  Set the struct to zero before use, and release it even if opening it fails. */
struct nvdp__shared_texts {
    const char *path;
    struct nvdp_shared *file;
    size_t *text;    /* [texts] numbers of the texts in the file; SIZE_MAX if not in the file */
    size_t releases; /* samples that are known to belong to one text */
    /* This seed selects the first `releases` samples of a text, the next seed the following ones. */
    uint64_t first_seed;
};
/* Reads the file and finds n texts by their `id`, within a split (-1 for any split).  If `id` is NULL or the file has
 * no ids, the n texts must be in the order of the file.  NVDP_ERR_INPUT if the file is not a release, or an id occurs
 * for two texts. */
nvdp_status nvdp__shared_open(struct nvdp_context *ctx, const char *path, size_t n,
                              const int64_t *id, int split, struct nvdp__shared_texts *out);
/* Sets the labels of the set's texts to the labels that the file states, which an attacker knows.  Sets them to NULL if
 * the file states no labels or `shared` is NULL.  All texts must be in the file. */
nvdp_status nvdp__shared_labels(struct nvdp_context *ctx, const struct nvdp__shared_texts *shared,
                                struct nvdp_posteriors *set);
/* Finds the texts that the file contains: `there` [n] gets the numbers of the *found texts, whose places in the file
 * `shared` then lists first.  NVDP_ERR_INPUT for fewer than 2 found texts. */
nvdp_status nvdp__shared_present(struct nvdp_context *ctx, size_t n,
                                 struct nvdp__shared_texts *shared, size_t *there, size_t *found);
/* Checks that the file's samples are samples of the set's texts, all of which must be in the file.  NVDP_ERR_INPUT if
 * the shapes of the samples do not match the mechanism, or if the samples distinguish texts less often than drawn
 * samples do;
 * NVDP_ERR_ARGUMENT for more releases than the file has. */
nvdp_status nvdp__shared_check(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                               const struct nvdp__shared_texts *shared);
/* Copies a sample of the file, for struct nvdp__sample_source.  `shared` is a struct nvdp__shared_texts. */
void nvdp__shared_take(const void *shared, size_t i, size_t sample, size_t vectors, double *z,
                       double *log_pi);
struct nvdp__sample_source nvdp__shared_source(const struct nvdp__shared_texts *shared);
void nvdp__shared_release(struct nvdp__shared_texts *shared);

/* ---- the attackers that learn from public texts ---- */

enum nvdp__observed {
    NVDP__OBSERVED_RELEASE,
    NVDP__OBSERVED_STATES,
    NVDP__OBSERVED_PRIOR,
    NVDP__OBSERVEDS,
    NVDP__OBSERVED_REFERENCE = NVDP__OBSERVEDS, /* informed.c: the text without the guessed word */
    NVDP__OBSERVED_REPLACED,                    /* membership.h, like the next two */
    NVDP__OBSERVED_LOSS,
    NVDP__OBSERVED_SHADOWS
};

/* Texts and their posteriors. */
struct nvdp__texts {
    struct nvdp_dataset *data;
    struct nvdp_posteriors *set;
    uint64_t first_key;                      /* first stream number of the texts' noise */
    const struct nvdp__shared_texts *shared; /* contains their samples; NULL if samples are drawn */
};

struct nvdp__text_attack {
    struct nvdp_context *ctx;
    const struct nvdp__text_attack_options *options;
    struct nvdp__text_attack_options given; /* `options` of an opened attack */
    struct nvdp__shared_texts file;         /* `attacked.shared` of an opened attack */
    struct nvdp__run run;
    struct nvdp__texts known, attacked;
    double weight[NVDP__OBSERVEDS]; /* weights of the language model */
    size_t tried;                   /* as in struct nvdp__text_attack_result */
    struct nvdp__text_score *score; /* [room] */
    size_t scores, room;
    struct nvdp__memory memory; /* arrays that are released with the attack */
    struct nvdp__meter meter;
    size_t done; /* finished steps, for reports of progress */
};

/* Allocates arrays that live as long as the attack: a list of NVDP__ITEMS (base/array.h). */
#define NVDP__ATTACK_ARRAYS(attack, ...) NVDP__ARRAYS((attack)->ctx, &(attack)->memory, __VA_ARGS__)
/* Reports progress: begins with `total` steps of a unit; counts n of them. NVDP_ERR_CANCELLED if the context is
 * cancelled. */
void nvdp__attack_begin(struct nvdp__text_attack *attack, const char *name, const char *unit,
                        size_t total);
nvdp_status nvdp__attack_advance(struct nvdp__text_attack *attack, size_t n, double loss);

/* Returns the observed sample of text i: the first `vectors` rows of z and, if there are weights, at least as many of
 * log_pi.  `draw` is the number of the sample; in a file, it counts from the first sample that the seed selects. */
void nvdp__observe(const struct nvdp__texts *corpus, enum nvdp__observed observed, uint64_t seed,
                   uint32_t draw, size_t i, size_t vectors, double *z, double *log_pi);
/* Computes the vectors of the first `rows` tokens of an observed sample, to [rows, dim, plus 1 if there are weights]:
 * the mean over kappa, and the logarithm of the weights' sum.  z and log_pi are scratch buffers for one sample. */
void nvdp__observe_tokens(const struct nvdp__texts *corpus, enum nvdp__observed observed,
                          uint64_t seed, uint32_t draw, size_t i, size_t rows, double *z,
                          double *log_pi, float *to);
/* The means of vectors, and the factors that give each dimension a standard deviation of 1.  The factor of a constant
 * dimension is 0. */
struct nvdp__scale {
    size_t inputs;
    double count, *shift, *by; /* number of added vectors; [inputs] */
};
/* Begins, adds vectors [rows, inputs], ends, then standardizes vectors in place. */
void nvdp__scale_begin(struct nvdp__scale *scale);
void nvdp__scale_add(struct nvdp__scale *scale, size_t rows, const float *x);
void nvdp__scale_end(struct nvdp__scale *scale);
void nvdp__scale_apply(const struct nvdp__scale *scale, size_t rows, float *x);

/* Decay of the weights of networks that attackers train. */
#define NVDP__ATTACK_DECAY .01
/* Returns the number of times that the attacked texts are observed, each time with other noise: the option `seeds`, or
 * at most the number that the file allows. */
size_t nvdp__draw_count(const struct nvdp__text_attack *attack, enum nvdp__observed observed);
/* Return the rows of the largest sample of any text, and the tokens of the longest text. */
size_t nvdp__max_rows(const struct nvdp__text_attack *attack);
size_t nvdp__max_token_count(const struct nvdp__text_attack *attack);
/* Adds the score sum of `hits` / sum of `of` [seeds, n texts] with its 95 % interval over texts and seeds.  Texts
 * and seeds are random, tokens are not (linearized ratio).  NaN if the sum of `of` is 0.  `min` is the minimum: 0
 * for a share, -1 for a difference. */
nvdp_status nvdp__add_score(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                            enum nvdp__text_metric metric, size_t seeds, size_t n,
                            const double *hits, const double *of, double min);
/* Adds a score with the interval value +- off, limited to [min, 1]. */
nvdp_status nvdp__add_value(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                            enum nvdp__text_metric metric, double value, double off, double min);
/* Sets the baseline of the last score, which is the success of the best guess without samples, and the guess bound. */
void nvdp__bound_score(struct nvdp__text_attack *attack, double baseline, double bound);
/* Returns true if a score from states is above the same score without an observation, with disjoint intervals. */
bool nvdp__reads_states(const struct nvdp__text_attack *attack);
/* Returns true if no score's interval is above its bound. */
bool nvdp__scores_hold(const struct nvdp__text_attack *attack);
/* Returns half the width of a 95 % interval around an estimate with two independent errors of these variances: over
 * n texts, and over seeds (if there are at least two). */
double nvdp__half_width(double of_texts, size_t n, double of_seeds, size_t seeds);
/* Returns the upper 97.5 % limit of a probability after no success in `trials` independent trials (Clopper & Pearson
 * 1934). */
double nvdp__unseen(size_t trials);

/* --- text_scores.c: parts that the rows of these attackers share --- */

#define NVDP__LEARNER_OPTIONS NVDP__ATTACK_RUN_OPTIONS, "shared", "public", "public-limit", "seeds"
extern const char *const nvdp__learner_options[]; /* NVDP__LEARNER_OPTIONS as a list */
bool nvdp__learner_add(const struct nvdp__attacked *attacked, const void *found, json_t *object);
bool nvdp__learner_weak(const void *found);
void nvdp__learner_head(const struct nvdp__attacked *attacked, const void *found, FILE *to);
void nvdp__learner_verdict(const struct nvdp__attacked *attacked, const void *found,
                           struct nvdp__writer *say);
extern const struct nvdp_result_table nvdp__result_text_score;
/* Ends the row of a learning attacker, after .learn and .options.  An attacker whose options include `releases` reads
 * several samples of a text.  An attacker whose options include `prior` uses a language model, too. */
#define NVDP__LEARNER .target = NVDP_ATTACK_RUN, .run = nvdp__learn, NVDP__LEARNER_RESULT
#define NVDP__LEARNER_RESULT                                                                       \
    .right = "learned from public texts", .size = sizeof(struct nvdp__text_attack_result),         \
    .table = &nvdp__result_text_attack, .add = nvdp__learner_add, .head = nvdp__learner_head,      \
    .weak = nvdp__learner_weak, .verdict = nvdp__learner_verdict,                                  \
    .release = nvdp__text_attack_free

/* Attacks the samples that a run shares of a split's texts. The attacker learns from public texts and from any
 * number of their samples. Two controls are measured, too: the same attacker on states without noise, and guesses from
 * frequencies alone. The result is not a bound: other attackers may find more.
 *
 * With the option shared, the samples come from a file of nvdp_export(), for the texts of the split that are in the
 * file, found by split and id. The first `releases` samples of a text are used for the first of `seeds`, the next
 * samples for the next seed, until no samples are left.
 *
 * Takes a pass of the encoder over attacked and public texts. Then nearest: O(tokens x distinct tokens x p). bag:
 * O(public texts x 300 p) per step of descent. token: ten epochs of O(public tokens x distinct tokens x min(p, 128))
 * per seed. language: up to four times `beam` passes of the masked language model per token, 64 per batch.
 * informed: O(words of the texts x distinct public words x p), and a pass of such a model per word. invert: trains
 * such a model three times, and 8 `beam` passes of it per text and seed.
 *
 * Options (kind "attack"): those of nvdp_run_posteriors(), and seed, public, public-limit,
 * seeds, prior, beam, releases (not for token and invert), shared; tokens, steps, attacked,
 * public-posteriors, encoder, surrogate, aligned (for invert); members, shadows, shadow-runs (for membership).
 * attacked: context, row, kind and config of the attack
 * found: a struct nvdp__text_attack_result, freed with nvdp__text_attack_free(); untouched on error
 * Returns as nvdp_run_posteriors(); NVDP_ERR_ARGUMENT without public texts, for options of another attacker, or for
 *         nearest, token and language on methods with one vector per text; NVDP_ERR_UNSUPPORTED for a prior of a run
 *         without WordPieces; NVDP_ERR_INPUT for texts without labels, fewer than 20 public texts, a prior without a
 *         masked-LM head, or a shared file that nvdp__attack_shared() would reject or that has fewer than 2 of the
 *         split's texts */
nvdp_status nvdp__learn(const struct nvdp__attacked *attacked, void *found);
/* The parts of nvdp__learn before and after the row's `learn`: opens run, texts, posteriors and shared file.  `a` is
 * zero before; close it even after a failure. */
nvdp_status nvdp__text_attack_open(const struct nvdp__attacked *attacked,
                                   struct nvdp__text_attack *a);
void nvdp__text_attack_close(struct nvdp__text_attack *a);
/* Fills the result from the scores, whose ownership it takes, and the texts. */
nvdp_status nvdp__learned(struct nvdp__text_attack *attack, const char *name,
                          struct nvdp__text_attack_result *out);

/* --- named.c: identification of tokens --- */

/* The tokens of the public texts from which the attacker learns: all texts except the last texts, which are held out.
 * Set the struct to zero before use.  The attack owns the arrays. */
struct nvdp__tokens {
    size_t count, texts; /* number of tokens; number of texts to learn from */
    size_t *place;       /* [vocabulary] 1 + index below `count`; 0 if not seen */
    int32_t *id;         /* [count] */
    double *times;       /* [count] */
    size_t labels;       /* number of labels that the attacked file states; 0 if it states none */
    double *lift;        /* [labels, count] log P(token | label)/P(token) in the public texts */
    size_t *named,
        /* [vocabulary] the last text, counted from 1, for which the token was guessed; the last text with the token. */
        *there;
    size_t stamp;
};
/* Counts the tokens.  NVDP_ERR_ARGUMENT, whose message has the attacker's name, if a text has only one vector. */
nvdp_status nvdp__tokens_count(struct nvdp__text_attack *attack, const char *attacker,
                               struct nvdp__tokens *tokens);
/* Returns the lift [count] of the label of text i, or NULL if the attacker knows no labels. */
const double *nvdp__tokens_lift(const struct nvdp__tokens *tokens, const struct nvdp__texts *corpus,
                                size_t i);
/* Turns counts of tokens per label, lift [labels, count], into log P(label | token)/P(label).  `times` [count] are the
 * counts without labels.  P(label | token) is shrunk to P(label), as if the token had occurred ten more times. */
void nvdp__label_lift(size_t labels, size_t count, const double *times, double *lift);
/* Returns the number of classes if the attacked file and the public texts have labels, else 0. */
size_t nvdp__known_labels(const struct nvdp__text_attack *attack);
/* Returns the label of text i, below `labels`; SIZE_MAX if the text has no label or `labels` is 0. */
size_t nvdp__known_label(const struct nvdp__texts *corpus, size_t i, size_t labels);
/* Computes the log frequencies of n tokens or words from the numbers of occurrences.  Returns the sum of these
 * numbers. */
double nvdp__log_frequency(size_t n, const double *times, double *log_f);
/* Returns false for [CLS] and [SEP], which every text has. */
bool nvdp__token_counts(const struct nvdp__text_attack *attack, int32_t id);

/* Returns the index of the largest score, the first one on ties. */
size_t nvdp__top(size_t count, const double *score);

/* A key, and what an attacker knows about it.  The key is a token, with the length and label of its text and the
 * token's place in the text; or a whole text, with place 0. */
struct nvdp__spot {
    size_t length, label, place;
    int64_t key;
    bool rare;
};
/* Sorts n spots.  Sums the counts of the `top` most frequent keys over all lengths, labels and places; with `rare`,
 * only rare tokens count.  Scratch: times [n]. */
double nvdp__most_frequent(size_t n, struct nvdp__spot *spot, bool rare, size_t top, double *times);

/* Counts of right guesses per text, seed after seed. */
enum { NVDP__NAMED_FIRST = 0, NVDP__GUESS_COUNTS = 13 };
struct nvdp__correct {
    double *of[NVDP__GUESS_COUNTS]; /* [texts] counts of tokens, then of the set of first guesses */
};
/* Creates counts for `texts` texts.  `memory` owns the counts. */
nvdp_status nvdp__correct_create(struct nvdp_context *ctx, struct nvdp__memory *memory,
                                 size_t texts, struct nvdp__correct *hits);
void nvdp__correct_clear(size_t texts, const struct nvdp__correct *hits);
/* Returns true if a token is guessed before another token.  On ties, the smaller place comes first. */
static inline bool nvdp__goes_before(double score, size_t place, double other, size_t other_place) {
    return score > other || (score == other && place < other_place);
}
/* Counts a vector of token `id` for `text`, given a score per token [count].  If tokens have equal scores, the attacker
 * guesses one of these tokens. */
void nvdp__count_guess(struct nvdp__tokens *tokens, size_t text, int32_t id, const double *score,
                       const struct nvdp__correct *hits);
/* Counts for `text` which tokens of text i of `data` were guessed, and starts the next text.  Call it after all vectors
 * of text i. */
void nvdp__count_guessed_set(struct nvdp__tokens *tokens, const struct nvdp__text_attack *attack,
                             const struct nvdp_dataset *data, size_t i, size_t text,
                             const struct nvdp__correct *hits);
/* Adds all scores over the attacked texts and seeds. */
nvdp_status nvdp__add_hits(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                           size_t seeds, const struct nvdp__tokens *tokens,
                           const struct nvdp__correct *hits);
/* Adds the score of the attacker nearest on the same samples, and the gain in accuracy over nearest.  Overwrites
 * `hits`. */
nvdp_status nvdp__add_gain(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                           size_t seeds, const struct nvdp__correct *hits,
                           const struct nvdp__correct *nearest);

/* --- named.c: a Gaussian for each token --- */

enum { NVDP__EXPONENTS = 5, NVDP__ROWS = 128 };
extern const double nvdp__exponents[NVDP__EXPONENTS];
/* A Gaussian per token.  Set the struct to zero before use.  The attack owns the arrays. */
struct nvdp__centroids {
    struct nvdp__tokens known; /* `count` tokens */
    size_t dim;
    double *seen;                  /* [count] */
    double *mean, *spread, *noise; /* [count, p] */
    double *pooled;                /* [p] variance of means within tokens */
    double *factor;                /* [count, 2 p] factors of z^2 and z in the log density */
    double *constant;              /* [count] */
    double *z, *log_pi;            /* scratch for one sample */
    double *vectors, *x;           /* [tokens of a text, p] vectors to score; [NVDP__ROWS, 2 p] */
};
nvdp_status nvdp__centroids_create(struct nvdp__text_attack *attack, const char *attacker,
                                   struct nvdp__centroids *centroids);
/* Prepares the densities for `observed`, with an exponent. */
void nvdp__centroids_prepare(const struct nvdp__text_attack *attack, enum nvdp__observed observed,
                             double exponent, struct nvdp__centroids *centroids);
/* Computes log density plus log frequency [rows, count] for `rows` vectors of text i, at most NVDP__ROWS, from
 * `first` on.  With `first` 0 it also draws the samples of the text. */
void nvdp__centroids_score(const struct nvdp__text_attack *attack, const struct nvdp__texts *corpus,
                           enum nvdp__observed observed, uint64_t seed, size_t i, size_t first,
                           size_t rows, const struct nvdp__centroids *centroids, double *score);

/* --- linear.c: logistic regression --- */

/* Minimizes the mean over n rows of the cross entropy of y [n, outputs] given x [n, width], plus an l2 penalty.  The
 * penalty is l2/2 times the squares of the weights without the last column, where x is 1.  y has one distribution
 * per row with `softmax`, else `outputs` independent shares.  Uses Nesterov's accelerated descent with the step that
 * the largest curvature allows. */
nvdp_status nvdp__logistic_fit(struct nvdp_context *ctx, size_t n, size_t width, const double *x,
                               size_t outputs, const double *y, bool softmax, double l2,
                               double *weight);
/* Computes probabilities [n, outputs]. */
void nvdp__logistic_apply(size_t n, size_t width, const double *x, size_t outputs,
                          const double *weight, bool softmax, double *out);
/* Returns the mean cross entropy per row. */
double nvdp__logistic_loss(size_t n, size_t outputs, const double *p, const double *y,
                           bool softmax);

/* ---- text_scores.c: guessed texts ---- */

/* Scores of guessed texts against the true ones: BLEU-4, ROUGE-L, F1 of words, with bootstrap intervals.
 *
 * A text is a sequence of words, each given by a key.  Sums over texts determine all scores, so a bootstrap resamples
 * texts and adds their counts. */

enum { NVDP__BLEU_ORDERS = 4, NVDP__TEXT_WORDS = 512 };

/* Counts of one text, or sums of these counts. */
struct nvdp__text_counts {
    double texts;
    double grams[NVDP__BLEU_ORDERS],
        right[NVDP__BLEU_ORDERS]; /* n-grams of the guess; clipped matches */
    double words, guessed;        /* number of words in the true text, and in the guess */
    double rouge, f1;             /* scores of the text, or sums of scores */
    double exact;
    double named, names;    /* entity words of the true text: in the guess, and all */
    double cosine, cosines; /* cosine of the re-embedded guess; number of computed cosines */
};

/* Compares a guess of m words with a text of n words, both at most NVDP__TEXT_WORDS. */
struct nvdp__text_counts nvdp__text_compare(size_t n, const uint64_t *text, size_t m,
                                            const uint64_t *guess);
/* Counts the n-grams of `order` words of a guess that the text has; each of the text's n-grams matches once. */
size_t nvdp__common_grams(size_t order, size_t n, const uint64_t *text, size_t m,
                          const uint64_t *guess);
/* Returns the BLEU-4 of a corpus (Papineni et al. 2002): the brevity penalty times the geometric mean of the precisions
 * of n-grams, where 1 is added to the matches and n-grams of n > 1 (Lin & Och 2004). */
double nvdp__bleu(const struct nvdp__text_counts *sum);

/* Adds all scores of [seeds, n] guesses, with 95 % intervals by the percentiles of a bootstrap over texts, drawn with
 * the attack's seed.  A score of no or all texts has the limit of Clopper & Pearson. */
nvdp_status nvdp__add_text_scores(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                                  size_t seeds, size_t n, const struct nvdp__text_counts *count);

#endif
