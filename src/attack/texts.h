/* Attackers that learn from public texts: what they share.
 *
 * They have the run's model, and texts of their own, of which they draw as many samples as they like.  Each looks at a
 * sample of a text that it has not seen, drawn or of a shared file (release), at the same without noise (states), or at
 * nothing (prior). */
#ifndef NVDP_SRC_ATTACK_TEXTS_H
#define NVDP_SRC_ATTACK_TEXTS_H

#include "attack/attack.h"
#include "rdp/likelihood.h"
#include "share/embeddings_file.h"
#include "share/sampler.h"
#include "train/run.h"

/* ---- shared.c: texts that are attacked by their samples in a shared file ---- */

/* Zeroed before; released also where it could not be opened. */
struct nvdp__shared_texts {
    const char *path;
    struct nvdp__embeddings *file;
    size_t *text;    /* [texts] their numbers in the file; SIZE_MAX: not there */
    size_t releases; /* samples that are known to be of one text */
    /* Stands for the first `releases` samples of a text, the next one for those behind. */
    uint64_t first_seed;
};
/* Reads the file; n texts are found by their `id` (NULL, or a file that has none: both are in one order), within a split (-1:
 * whichever).  NVDP_ERR_INPUT for a file that is none, or in which an id stands for two texts. */
nvdp_status nvdp__shared_open(struct nvdp_context *ctx, const char *path, size_t n,
                              const int64_t *id, int split, struct nvdp__shared_texts *out);
/* Of the n texts those that are in the file: there [n] has the numbers of the `found` ones, whose places in the file come first in
 * `shared` now.  NVDP_ERR_INPUT for fewer than 2. */
nvdp_status nvdp__shared_present(struct nvdp_context *ctx, size_t n,
                                 struct nvdp__shared_texts *shared, size_t *there, size_t *found);
/* NVDP_ERR_INPUT where the file's samples are not what the set's mechanism draws of these texts, all of which are there: by their
 * shapes, and by telling texts apart less often than drawn ones do; NVDP_ERR_ARGUMENT for more releases than it has. */
nvdp_status nvdp__shared_check(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                               const struct nvdp__shared_texts *shared);
/* Of struct nvdp__shared_texts, as struct nvdp__sample_source wants it. */
void nvdp__shared_take(const void *shared, size_t i, size_t sample, size_t vectors, double *z,
                       double *log_pi);
void nvdp__shared_release(struct nvdp__shared_texts *shared);

/* ---- the attackers that learn from public texts ---- */

enum nvdp__observed {
    NVDP__OBSERVED_RELEASE,
    NVDP__OBSERVED_STATES,
    NVDP__OBSERVED_PRIOR,
    NVDP__OBSERVEDS
};

/* Texts and their posteriors. */
struct nvdp__texts {
    struct nvdp_dataset *data;
    struct nvdp_posteriors *set;
    uint64_t first_key;                      /* of its texts' noise */
    const struct nvdp__shared_texts *shared; /* whose samples are theirs; NULL: they are drawn */
};

struct nvdp__text_attack {
    struct nvdp_context *ctx;
    const struct nvdp__text_attack_options *options;
    struct nvdp__run run;
    struct nvdp__texts known, attacked;
    double weight[NVDP__OBSERVEDS]; /* of a language model */
    struct nvdp_text_score *score;  /* [room] */
    size_t scores, room;
};

/* Text i's sample as it is observed: the first `vectors` rows of z, as many of log_pi or more (not without weights); draw
 * number `draw`, of a file that of those that the seed stands for. */
void nvdp__observe(const struct nvdp__texts *corpus, enum nvdp__observed observed, uint64_t seed,
                   uint32_t draw, size_t i, size_t vectors, double *z, double *log_pi);
/* As often the attacked texts are looked at, with other noise each time: the options' seeds, or as many as a file has. */
size_t nvdp__draws(const struct nvdp__text_attack *attack, enum nvdp__observed observed);
/* Rows of the largest sample of any text; tokens of the longest text. */
size_t nvdp__most_rows(const struct nvdp__text_attack *attack);
size_t nvdp__longest(const struct nvdp__text_attack *attack);
/* Adds the score sum of `hits` / sum of `of` [seeds, n texts], with its 95 % interval over texts and seeds: both are drawn,
 * tokens are not (a ratio's, linearised); NaN where there is nothing.  `least`: 0 of a share, -1 of a difference. */
nvdp_status nvdp__add_score(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                            enum nvdp_text_metric metric, size_t seeds, size_t n,
                            const double *hits, const double *of, double least);
/* Adds value +- off, which ends at `least` and 1. */
nvdp_status nvdp__add_value(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                            enum nvdp_text_metric metric, double value, double off, double least);
/* Sets the last score's baseline, the success of the best guess without samples, and its guess bound. */
void nvdp__bound_score(struct nvdp__text_attack *attack, double baseline, double bound);
/* Returns whether a score of the states lies above the same score from nothing, their intervals disjoint. */
bool nvdp__reads_states(const struct nvdp__text_attack *attack);
/* Returns whether no score's interval lies above its bound. */
bool nvdp__scores_hold(const struct nvdp__text_attack *attack);
/* Half the width of a 95 % interval about an estimate with two independent errors, of these variances: of n texts, and of
 * seeds (where there are two). */
double nvdp__half_width(double of_texts, size_t n, double of_seeds, size_t seeds);
/* A share that may be, with 97.5 % confidence, of what none of so many independent trials has shown: Clopper & Pearson 1934. */
double nvdp__unseen(size_t trials);

/* --- learned.c: what the rows of these attackers share --- */

#define NVDP__LEARNER_OPTIONS NVDP__ATTACK_RUN_OPTIONS, "shared", "public", "public-limit", "seeds"
extern const char *const nvdp__learner_options[]; /* those alone */
nvdp_status nvdp__learner_run(const struct nvdp__attacked *attacked, void *found);
json_t *nvdp__learner_json(const struct nvdp__attacked *attacked, const void *found);
void nvdp__learner_print(const struct nvdp__attacked *attacked, const void *found, FILE *to);
void nvdp__learner_verdict(const struct nvdp__attacked *attacked, const void *found,
                           struct nvdp__writer *say);
void nvdp__learner_release(void *found);
/* Ends the row of an attacker that learns; before it stand .learn, .attacker and .options.  Where the options have `releases`, the
 * attacker reads several samples of a text; where they have `prior`, it goes by a language model too. */
#define NVDP__LEARNER                                                                              \
    .target = NVDP_ATTACK_RUN, .right = "learned from public texts",                               \
    .size = sizeof(struct nvdp_text_attack), .run = nvdp__learner_run, .json = nvdp__learner_json, \
    .print = nvdp__learner_print, .verdict = nvdp__learner_verdict,                                \
    .release = nvdp__learner_release

/* Attacks a run's texts with one of them: nvdp_attack_texts() by the row. */
nvdp_status nvdp__learn(struct nvdp_context *ctx, const struct nvdp__attack *attack,
                        const char *name, const struct nvdp_config *config,
                        struct nvdp_text_attack *out);

/* --- named.c: tokens that are named --- */

/* Those of the public texts that are learned from: all but some that are held out, the last.  Zeroed before. */
struct nvdp__tokens {
    size_t count, texts; /* tokens; texts that are learned from */
    size_t *place;       /* [vocabulary] + 1 among `count`; 0: not seen */
    int32_t *id;         /* [count] */
    double *times;       /* [count] */
    size_t *named,
        *there; /* [vocabulary] the last text, counted up from 1, for which it was named; that has it */
    size_t stamp;
};
/* NVDP_ERR_ARGUMENT, with the attacker's name, for one vector a text. */
nvdp_status nvdp__tokens_count(struct nvdp__text_attack *attack, const char *attacker,
                               struct nvdp__tokens *tokens);
void nvdp__tokens_release(struct nvdp__tokens *tokens);
/* log_f [count]: how frequent each is; the occurrences of all of them. */
double nvdp__tokens_frequency(const struct nvdp__tokens *tokens, double *log_f);
/* Not [CLS] and [SEP], which are everybody's. */
bool nvdp__token_counts(const struct nvdp__text_attack *attack, int32_t id);

/* How often one was right, text by text, a seed's behind another's; of[0] is to be freed. */
enum { NVDP__HITS = 13 };
struct nvdp__correct {
    double *of[NVDP__HITS]; /* [texts]: of tokens; of the set of all that were named first */
};
nvdp_status nvdp__correct_create(struct nvdp_context *ctx, size_t texts,
                                 struct nvdp__correct *hits);
void nvdp__correct_clear(size_t texts, const struct nvdp__correct *hits);
double nvdp__correct_first(const struct nvdp__correct *hits, size_t text); /* tokens named first */
/* Of two tokens, by place, which is named before the other: of equals the first. */
static inline bool nvdp__goes_before(double score, size_t place, double other, size_t its) {
    return score > other || (score == other && place < its);
}
/* Counts for `text` a vector of token `id`, which was given a score for each token [count]: who cannot tell tokens apart
 * names one of them. */
void nvdp__judge(struct nvdp__tokens *tokens, size_t text, int32_t id, const double *score,
                 const struct nvdp__correct *hits);
/* After all vectors of text i of `data`: counts for `text` which of its tokens were named, and begins the next one. */
void nvdp__judge_set(struct nvdp__tokens *tokens, const struct nvdp__text_attack *attack,
                     const struct nvdp_dataset *data, size_t i, size_t text,
                     const struct nvdp__correct *hits);
/* Adds all scores over the attacked texts, of each of the seeds. */
nvdp_status nvdp__add_hits(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                           size_t seeds, const struct nvdp__tokens *tokens,
                           const struct nvdp__correct *hits);
/* Adds what nearest names of the same samples, and how much oftener than that one is right; `hits` are spent. */
nvdp_status nvdp__add_gain(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                           size_t seeds, const struct nvdp__correct *hits,
                           const struct nvdp__correct *nearest);

/* --- nearest.c: a Gaussian for each token --- */

enum { NVDP__EXPONENTS = 5, NVDP__ROWS = 128 };
extern const double nvdp__exponents[NVDP__EXPONENTS];
/* Zeroed before; released also where it could not be made. */
struct nvdp__centroids {
    struct nvdp__tokens known; /* `count` of them */
    size_t dim;
    double *seen;                  /* [count] */
    double *mean, *spread, *noise; /* [count, p] */
    double *pooled;                /* [p] variance of means within tokens */
    double *factor;                /* [count, 2 p] of z^2 and z in the log density */
    double *constant;              /* [count] */
    double *z, *log_pi;            /* of one sample */
    double *vectors, *x;           /* [tokens of a text, p] what is scored, [NVDP__ROWS, 2 p] */
};
nvdp_status nvdp__centroids_create(struct nvdp__text_attack *attack, const char *attacker,
                                   struct nvdp__centroids *centroids);
void nvdp__centroids_release(struct nvdp__centroids *centroids);
/* For what is observed, the densities' exponent. */
void nvdp__centroids_prepare(const struct nvdp__text_attack *attack, enum nvdp__observed observed,
                             double exponent, struct nvdp__centroids *centroids);
/* Log of density and frequency [rows, count] of `rows` vectors of text i, at most NVDP__ROWS, from `first` on; where that is
 * 0 its samples are drawn. */
void nvdp__centroids_score(const struct nvdp__text_attack *attack, const struct nvdp__texts *corpus,
                           enum nvdp__observed observed, uint64_t seed, size_t i, size_t first,
                           size_t rows, const struct nvdp__centroids *centroids, double *score);

/* --- linear.c: logistic regression --- */

/* Minimises the mean over n rows of the cross entropy of y [n, outputs] (shares: one distribution a row where `softmax`,
 * else as many yes or no) given x [n, width], plus l2/2 of the weights' squares but for the last column's, whose x is 1:
 * Nesterov's accelerated descent at the step that the largest curvature allows. */
nvdp_status nvdp__logistic_fit(struct nvdp_context *ctx, size_t n, size_t width, const double *x,
                               size_t outputs, const double *y, bool softmax, double l2,
                               double *weight);
/* Probabilities [n, outputs]. */
void nvdp__logistic_apply(size_t n, size_t width, const double *x, size_t outputs,
                          const double *weight, bool softmax, double *out);
/* Mean cross entropy of a row. */
double nvdp__logistic_loss(size_t n, size_t outputs, const double *p, const double *y,
                           bool softmax);

#endif
