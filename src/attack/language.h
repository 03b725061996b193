/* Identifies texts with a language model: the answers of the model, the search, and questions to a masked language
 * model. */
#ifndef NVDP_SRC_ATTACK_LANGUAGE_H
#define NVDP_SRC_ATTACK_LANGUAGE_H

#include "attack/texts.h"
#include "base/base.h"
#include "pretrain/evaluate.h"

/* A question: which token is at place `which` of a text, given the other tokens of the text? */
struct nvdp__question {
    const int32_t *id; /* [n] in the run's vocabulary; the token at `which` is ignored */
    size_t n, which;
};
struct nvdp__language {
    size_t together; /* max. number of questions per call */
    size_t count;    /* number of possible answers */
    /* Computes log p of each answer, [n, count]. */
    nvdp_status (*ask)(void *of, size_t n, const struct nvdp__question *question, double *log_p);
    void *of;
};

/* --- language.c: the search --- */

/* A text to search for. */
struct nvdp__found_text {
    size_t n;
    const unsigned char *open; /* [n] places to guess; the tokens of other places are known */
    /* [n, count] score of each token without the language model. */
    const double *score;
    /* [n, count] output: log p by the language model at each place, given the found text; 0 if `score` alone
     * decides.  May be NULL. */
    double *log_p;
    int32_t *id; /* [n] in: the known tokens; out: all tokens */
};
/* Finds texts with a high sum of `score` and `weight` times the language model's log p, at most `together` / `beam`
 * texts at once.  `token` [count] lists the answers.  With weight 0 there is no search. */
nvdp_status nvdp__find_texts(struct nvdp_context *ctx, const struct nvdp__language *language,
                             const int32_t *token, double weight, size_t beam, size_t texts,
                             const struct nvdp__found_text *text);

/* --- questions.c: a masked language model --- */

struct nvdp__masked_lm;
/* Opens the model in a directory, which answers with the tokens of `known`.  `known` must outlive it.  NVDP_ERR_INPUT
 * if the directory has no masked-LM head, NVDP_ERR_UNSUPPORTED if the run has no WordPieces. */
nvdp_status nvdp__masked_lm_open(struct nvdp__text_attack *attack, const char *directory,
                                 const struct nvdp__tokens *known, struct nvdp__masked_lm **out,
                                 struct nvdp__language *language);
void nvdp__masked_lm_free(struct nvdp__masked_lm *model);
NVDP__AUTOPTR(struct nvdp__masked_lm, nvdp__masked_lm_free)

/* ---- questions: which word is masked in this text? ---- */

enum { NVDP__QUESTIONS = 64, NVDP__QUESTION_ENDS = 2 }; /* questions at once; [CLS] and [SEP] */

/* A model, and the questions of one call. Zero the struct before use, and release it, even after an error. */
struct nvdp__questions {
    struct nvdp_context *ctx;
    struct nvdp_bert_config bert;
    struct nvdp_tokenizer *tokenizer;
    /* The answers to question i: model.nll[i], the likeliest piece model.best[i] and, for at most `together` questions,
     * weights of all pieces, exp(logit - max), in row i of model.heads.logits. */
    struct nvdp__pretrain_model model;
    size_t length, together; /* max. pieces of a text, with [CLS] and [SEP] */
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
    struct nvdp_tokens pieces; /* pieces of the last word */
    int32_t unknown;           /* [UNK] */
};

/* Opens the model of a directory (nvdp__mlm_open()). */
nvdp_status nvdp__questions_open(struct nvdp_context *ctx, const char *directory,
                                 struct nvdp__questions *q);
/* Allocates memory for texts of `length` pieces. NVDP_ERR_ARGUMENT if the model does not accept them. */
nvdp_status nvdp__questions_plan(struct nvdp__questions *q, size_t length);
void nvdp__questions_release(struct nvdp__questions *q);

/* Sets *whole to the piece that equals the word, or to -1 if there is none. The *n pieces *id stand for the word: this
 * piece, or the pieces that the tokenizer makes of the word (without a leading "##" if the word continues another
 * word), or [UNK]. The pieces are valid until the next call. */
nvdp_status nvdp__questions_read(struct nvdp__questions *q, const char *word, bool continues,
                                 int32_t *whole, size_t *n, const int32_t **id);

/* Add a question: begin with [CLS], put pieces, mask one place, whose piece is `label`, put pieces, end with [SEP]. */
void nvdp__question_begin(struct nvdp__questions *q);
void nvdp__question_put(struct nvdp__questions *q, size_t n, const int32_t *piece);
void nvdp__question_mask(struct nvdp__questions *q, int32_t label);
void nvdp__question_end(struct nvdp__questions *q);
/* Asks all questions, if there are any. Remove them after the answers were read. */
nvdp_status nvdp__questions_ask(struct nvdp__questions *q);
void nvdp__questions_clear(struct nvdp__questions *q);

#endif
