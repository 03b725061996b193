/* Membership: were samples of a text shared, or was a model trained on the text?
 *
 * membership_file.c and membership_training.c compute scores of texts; membership.c compares the scores with proven
 * bounds, and has the row in the table of attacks. */
#ifndef NVDP_SRC_ATTACK_MEMBERSHIP_H
#define NVDP_SRC_ATTACK_MEMBERSHIP_H

#include "attack/attack.h"
#include "attack/audit.h"
#include "attack/texts.h"
#include <nvdp/certificate.h>

/* ---- membership.c: the ROC curve ---- */

/* An upper bound of the true positive rate (TPR) of every test as a function of the false positive rate (FPR): the
 * minimum of
 *
 *     Phi(Phi^-1(FPR) + mu),        e^epsilon FPR + delta    for each point. */
struct nvdp__tradeoff {
    double mu; /* INFINITY if mu proves nothing */
    size_t points;
    double epsilon[2 * NVDP_EXACT_POINTS], delta[2 * NVDP_EXACT_POINTS];
};
/* Adds the point (epsilon, delta) of a mechanism that is private in both directions, so that TPR <= 1 - e^-epsilon (1 -
 * delta - FPR), too.  Ignores epsilons that are not finite, and points that exceed the capacity. */
void nvdp__tradeoff_add(struct nvdp__tradeoff *proven, double epsilon, double delta);
bool nvdp__tradeoff_proves(const struct nvdp__tradeoff *proven);
double nvdp__tradeoff_tpr(const struct nvdp__tradeoff *proven, double fpr);
/* Bounds the area under the ROC curve, and (TPR + 1 - FPR)/2 of the best test. */
double nvdp__tradeoff_auc(const struct nvdp__tradeoff *proven);
double nvdp__tradeoff_accuracy(const struct nvdp__tradeoff *proven);

/* The false positive rates at which true positive rates are measured. */
enum { NVDP__MEMBERSHIP_RATES = 2 };
extern const double nvdp__membership_rates[NVDP__MEMBERSHIP_RATES];

/* Adds AUC, balanced accuracy and the TPR at each rate, for tests that call texts with large scores members.  The order
 * of both arrays must be independent of the scores.  `proven` is NULL if no bound applies. */
nvdp_status nvdp__add_roc(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                          size_t members, const double *in, size_t others, const double *out,
                          const struct nvdp__tradeoff *proven);

/* ---- the result ---- */

struct nvdp__membership {
    struct nvdp__text_attack_result scores; /* its first member is the size of the whole struct */
    int of;                                 /* option members */
    size_t members, others;                 /* number of scored texts */
    size_t repeated;           /* texts that were left out because they occur more than once */
    size_t shadows;            /* shadow runs; 0 if there is none */
    double epsilon, delta, mu; /* proven guarantee; +inf if nothing is proven */
    double tpr[NVDP__MEMBERSHIP_RATES]; /* proven upper bounds; NaN if there is none */
    struct nvdp__canary_audit audit;    /* its `canaries` is 0 without an audit */
};
/* Sets the members epsilon to tpr. */
void nvdp__membership_proven(const struct nvdp__tradeoff *proven, double epsilon, double delta,
                             struct nvdp__membership *out);

/* ---- membership_file.c, membership_training.c ---- */

/* Texts of one set of posteriors, and their scores. */
struct nvdp__candidates {
    const struct nvdp_posteriors *set;
    size_t n;
    size_t *text;  /* [n] */
    double *score; /* [n] */
};
/* The samples of a file: `releases` of each of n texts. */
struct nvdp__sampled_file {
    const struct nvdp_posteriors *set;
    const struct nvdp__sample_source *source;
    int releases;
    size_t n;
    const size_t *text; /* [n] */
    uint64_t seed;      /* seed of the samples that replace other samples */
};
/* Scores candidates by the samples of a file (membership_file.c).  `replaced` [in->n] may be NULL.  It gets the score
 * of each text of `in` if a public text takes its place in the file; all texts of `in` must be in the file. */
nvdp_status nvdp__membership_scores(struct nvdp_context *ctx, const struct nvdp__sampled_file *file,
                                    const struct nvdp__candidates *in,
                                    const struct nvdp__candidates *out,
                                    const struct nvdp__candidates *background, double *replaced);
/* Lists the texts of `data` that occur once in `data` and not in `besides` (which may be NULL), in a random order. 
 * With `first`, lists the first of several equal texts, too.  The caller frees *out with free(). */
nvdp_status nvdp__membership_list(struct nvdp_context *ctx, uint64_t seed,
                                  const struct nvdp_dataset *data,
                                  const struct nvdp_dataset *besides, bool first, size_t **out,
                                  size_t *count);
/* Sums of a text's logits over the shadow runs that did not see the text (0), and over the runs that saw it (1). */
struct nvdp__shadow_sums {
    double n[2], sum[2], square[2]; /* runs, logits, their squares */
};
/* Computes the scores of n texts by shadow runs (membership_training.c), given the texts' logits phi in the attacked
 * run.  NVDP_ERR_NUMERIC if every text was seen by all runs or by none, or if no logits vary. */
nvdp_status nvdp__shadow_scores(struct nvdp_context *ctx, size_t n,
                                const struct nvdp__shadow_sums *sums, const double *phi,
                                double *score);
nvdp_status nvdp__membership_file(const struct nvdp__attacked *attacked,
                                  struct nvdp__membership *out);
nvdp_status nvdp__membership_training(const struct nvdp__attacked *attacked,
                                      struct nvdp__membership *out);

#endif
