/* Texts named under a language model of them: what it answers, and the search. */
#ifndef NVDP_SRC_ATTACK_LANGUAGE_H
#define NVDP_SRC_ATTACK_LANGUAGE_H

#include "attack/texts.h"

/* What stands at place `which` of a text, given its other tokens? */
struct nvdp__question {
    const int32_t *id; /* [n] of the run's vocabulary; that at `which` is not looked at */
    size_t n, which;
};
struct nvdp__language {
    size_t together; /* most questions at once */
    size_t count;    /* tokens that may be the answer */
    /* log p of each [n, count]. */
    nvdp_status (*ask)(void *of, size_t n, const struct nvdp__question *question, double *log_p);
    void *of;
};

/* --- search.c --- */

/* A text that is searched for. */
struct nvdp__found_text {
    size_t n;
    const unsigned char *open; /* [n] to be named; what stands elsewhere is known */
    /* [n, count] of a token, but for the language model. */
    const double *score;
    /* [n, count] becomes what that says of each place, given the text that was found; 0 where `score` decides alone.  NULL:
     * not wanted. */
    double *log_p;
    int32_t *id; /* [n] the known ones; afterwards all */
};
/* Finds texts, at most `together` / `beam` at once, that score high: the sum of `score`, and `weight` of what the language
 * model makes of each.  `token` [count] are what is named; weight 0 searches for nothing. */
nvdp_status nvdp__find_texts(struct nvdp_context *ctx, const struct nvdp__language *language,
                             const int32_t *token, double weight, size_t beam, size_t texts,
                             const struct nvdp__found_text *text);

/* --- prior.c: a masked language model --- */

struct nvdp__masked_lm;
/* Of a directory; it answers by the tokens of `known`, which outlives it.  NVDP_ERR_INPUT for a directory without a masked-LM
 * head, NVDP_ERR_UNSUPPORTED where the run has no WordPieces. */
nvdp_status nvdp__masked_lm_open(struct nvdp__text_attack *attack, const char *directory,
                                 const struct nvdp__tokens *known, struct nvdp__masked_lm **out,
                                 struct nvdp__language *language);
void nvdp__masked_lm_free(struct nvdp__masked_lm *model);

#endif
