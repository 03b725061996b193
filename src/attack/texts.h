/* Attackers that learn from public texts: what they share.
 *
 * They have the run's model, and texts of their own, of which they draw as many samples as they like.  Each looks at a
 * sample of a text that it has not seen (release), at the same without noise (states), or at nothing (prior). */
#ifndef NVDP_SRC_ATTACK_TEXTS_H
#define NVDP_SRC_ATTACK_TEXTS_H

#include "attack/options.h"
#include "share/release.h"
#include "train/run.h"

enum nvdp__observed {
    NVDP__OBSERVED_RELEASE,
    NVDP__OBSERVED_STATES,
    NVDP__OBSERVED_PRIOR,
    NVDP__OBSERVEDS
};

/* Texts and their posteriors. */
struct nvdp__corpus {
    struct nvdp_dataset *data;
    struct nvdp_posteriors *set;
    uint64_t first_key; /* of its texts' noise */
};

struct nvdp__text_attack {
    struct nvdp_context *ctx;
    const struct nvdp__text_attack_options *options;
    struct nvdp__run run;
    struct nvdp__corpus known, attacked;
    struct nvdp_text_score *score; /* [room] */
    size_t scores, room;
};

/* Text i's sample as it is observed: the first `vectors` rows of z, all of log_pi (NULL: without weights); draw number
 * `draw`. */
void nvdp__observe(const struct nvdp__corpus *corpus, enum nvdp__observed observed, uint64_t seed,
                   uint32_t draw, size_t i, size_t vectors, double *z, double *log_pi);
/* Rows of the largest sample of any text. */
size_t nvdp__most_rows(const struct nvdp__text_attack *attack);
/* Adds the score sum of `hits` / sum of `of` [n texts], with its 95 % interval over texts (a ratio's, linearised: texts are
 * drawn, not tokens); NaN where there is nothing. */
nvdp_status nvdp__add_score(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                            const char *metric, size_t n, const double *hits, const double *of);

nvdp_status nvdp__add_value(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                            const char *metric, double value, double low, double high);

/* nearest.c, token.c, pooled.c */
nvdp_status nvdp__attack_nearest(struct nvdp__text_attack *attack);
nvdp_status nvdp__attack_token(struct nvdp__text_attack *attack);
nvdp_status nvdp__attack_bag(struct nvdp__text_attack *attack);
nvdp_status nvdp__attack_attribute(struct nvdp__text_attack *attack);

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
/* NVDP_ERR_UNSUPPORTED, with the attacker's name, for one vector a text. */
nvdp_status nvdp__tokens_count(struct nvdp__text_attack *attack, const char *attacker,
                               struct nvdp__tokens *tokens);
void nvdp__tokens_release(struct nvdp__tokens *tokens);
/* Not [CLS] and [SEP], which are everybody's. */
bool nvdp__token_counts(const struct nvdp__text_attack *attack, int32_t id);

/* How often one was right, text by text; of[0] is to be freed. */
enum { NVDP__HITS = 10 };
struct nvdp__hits {
    double *of[NVDP__HITS]; /* [texts]: of tokens; of the set of all that were named first */
};
nvdp_status nvdp__hits_create(struct nvdp_context *ctx, size_t texts, struct nvdp__hits *hits);
void nvdp__hits_clear(size_t texts, const struct nvdp__hits *hits);
double nvdp__hits_first(const struct nvdp__hits *hits, size_t text); /* tokens named first */
/* Counts for `text` a vector of token `id`, which was given a score for each token [count]. */
void nvdp__judge(struct nvdp__tokens *tokens, size_t text, int32_t id, const double *score,
                 const struct nvdp__hits *hits);
/* After all vectors of text i of `data`: counts for `text` which of its tokens were named, and begins the next one. */
void nvdp__judge_set(struct nvdp__tokens *tokens, const struct nvdp__text_attack *attack,
                     const struct nvdp_dataset *data, size_t i, size_t text,
                     const struct nvdp__hits *hits);
/* Adds all scores over the attacked texts. */
nvdp_status nvdp__add_hits(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                           const struct nvdp__hits *hits);

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
