/* Names texts under a language model: the answers of the model, and the search. */
#ifndef NVDP_SRC_ATTACK_LANGUAGE_H
#define NVDP_SRC_ATTACK_LANGUAGE_H

#include "attack/texts.h"
#include "base/base.h"

/* A question: which token is at place `which` of a text, given its other tokens? */
struct nvdp__question {
    const int32_t *id; /* [n] in the run's vocabulary; the token at `which` is ignored */
    size_t n, which;
};
struct nvdp__language {
    size_t together; /* max. questions at once */
    size_t count;    /* tokens that may be the answer */
    /* Computes log p of each answer, [n, count]. */
    nvdp_status (*ask)(void *of, size_t n, const struct nvdp__question *question, double *log_p);
    void *of;
};

/* --- search.c --- */

/* A text to search for. */
struct nvdp__found_text {
    size_t n;
    const unsigned char *open; /* [n] places to name; the tokens of other places are known */
    /* [n, count] score of each token without the language model. */
    const double *score;
    /* [n, count] output: log p by the language model at each place, given the found text; 0 if `score` alone
     * decides.  NULL: not wanted. */
    double *log_p;
    int32_t *id; /* [n] in: the known tokens; out: all tokens */
};
/* Finds texts with a high sum of `score` and `weight` times the language model's log p, at most `together` / `beam`
 * texts at once.  `token` [count] lists the answers.  With weight 0 there is no search. */
nvdp_status nvdp__find_texts(struct nvdp_context *ctx, const struct nvdp__language *language,
                             const int32_t *token, double weight, size_t beam, size_t texts,
                             const struct nvdp__found_text *text);

/* --- prior.c: a masked language model --- */

struct nvdp__masked_lm;
/* Opens the model in a directory, which answers with the tokens of `known`; `known` must outlive it.  NVDP_ERR_INPUT
 * if the directory has no masked-LM head, NVDP_ERR_UNSUPPORTED if the run has no WordPieces. */
nvdp_status nvdp__masked_lm_open(struct nvdp__text_attack *attack, const char *directory,
                                 const struct nvdp__tokens *known, struct nvdp__masked_lm **out,
                                 struct nvdp__language *language);
void nvdp__masked_lm_free(struct nvdp__masked_lm *model);
NVDP__AUTOPTR(struct nvdp__masked_lm, nvdp__masked_lm_free)

#endif
