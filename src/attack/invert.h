/* The attacker that writes texts: a masked language model that reads a sample beside the text.
 *
 * The vectors of the sample, or projections of the only one, become rows after the text's tokens: [CLS] text [SEP] z_1
 * z_2 ...  A row takes the place of a word embedding, the position of its token, and token type 1.  The model starts
 * as a pretrained one and learns public texts with their samples: a random share of the tokens, up to all of them, is
 * masked and predicted.  At [CLS] before no text at all it predicts the number of tokens, as the piece of that number
 * (Ghazvininejad et al. 2019 have a token for it). */
#ifndef NVDP_SRC_ATTACK_INVERT_H
#define NVDP_SRC_ATTACK_INVERT_H

#include "attack/texts.h"
#include "encoder/encode.h"
#include "job/optimizer.h"
#include "pretrain/evaluate.h"

/* The samples that the model reads beside texts.  "prior": the sample of another text, in training and in the attack.
 * So scores without information differ from those of samples by chance alone, whatever a varied guess is worth. */
struct nvdp__sight {
    const struct nvdp__texts *corpus;
    enum nvdp__observed observed;
    uint64_t seed;
    uint32_t draw;
};

/* Reads the numbers of pieces off mean vectors, with the help of public texts that have similar ones. */
struct nvdp__piece_reader {
    size_t inputs, pieces;
    float *map;             /* [pieces, inputs] */
    double *rate, *mean;    /* [pieces] mean numbers in public texts; [inputs] */
    double least;           /* rate of pieces that these do not have */
    double *gram, *product; /* two of [inputs, inputs], [pieces, inputs] */
    const struct nvdp_dataset *known;
    size_t texts;            /* first ones of `known`, which are compared with a sample */
    float *vector, *between; /* [texts, inputs] their centered mean vectors; [inputs] */
    double width;            /* squared, of the kernel; INFINITY: all texts have the same weight */
    struct nvdp__near {
        double distance, weight; /* squared distance by dimension; share, of a sum of 1 */
        size_t text;
    } * near; /* [texts] */
};

/* Names the tokens of samples that have a vector for each. */
struct nvdp__row_reader {
    bool opened;  /* the samples have */
    double share; /* of the named tokens in the numbers of pieces; 0: they are not used */
    struct nvdp__centroids centroids;
    double *score; /* [NVDP__ROWS, tokens] */
};

/* Set to zero before use, then `attack`. */
struct nvdp__inverter {
    struct nvdp__text_attack *attack;
    struct nvdp_bert_config bert;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__pretrain_model model;
    struct nvdp_dataset *known, *attacked; /* the texts, in the model's tokens */
    size_t held;                           /* the last known texts choose the weights */
    size_t length;                         /* max. tokens of a text, with [CLS] and [SEP] */
    bool guess_length;                     /* the number of tokens is not public */
    size_t rows, spread;        /* max. vectors that are read of a sample; rows that each becomes */
    size_t inputs;              /* dim, plus 1 if there are weights */
    struct nvdp__scale scale;   /* of the vectors */
    struct nvdp__params params; /* of `in`: inputs -> spread * hidden */
    struct nvdp__dense in;
    struct nvdp__optimizer optimizer[2]; /* of the model; of `in` */
    float *start, *best[2];              /* weights of the model as read; the best ones of both */
    struct nvdp__arena arena;
    float *x, *out, *words; /* [vectors, inputs], [vectors * spread, D], [tokens, D] */
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
    size_t vectors;      /* in the batch */
    float *host;         /* [vectors, inputs] */
    int32_t *place, *at; /* [tokens] row of `out`, -1 if there is none; [vectors * spread] token */
    double *z, *log_pi;  /* of one sample */
    int64_t *order;
    unsigned char *ordinary; /* [vocabulary] pieces that a text may have */
    struct nvdp__piece_reader reader;
    struct nvdp__row_reader row_reader;
};

/* ---- invert_model.c ---- */

/* Opens the model `prior`.  NVDP_ERR_ARGUMENT if the option is missing, NVDP_ERR_INPUT if it has no masked-LM head. */
nvdp_status nvdp__inverter_open(struct nvdp__inverter *inverter);
/* After inverter->known and ->attacked are set: plans and allocates. */
nvdp_status nvdp__inverter_reserve(struct nvdp__inverter *inverter);
void nvdp__inverter_release(struct nvdp__inverter *inverter);
/* Texts, one after the other. */
struct nvdp__guess_strings {
    char *text;
    size_t used, capacity;
    size_t *start; /* [n] */
};
/* Returns the letters of a piece, NULL for [CLS] and [SEP].  *continues is false at a text's beginning; it becomes true
 * if the piece continues a word. */
const char *nvdp__letters(const struct nvdp_tokenizer *tokenizer, int32_t id, bool *continues);
/* Appends a text: its words, separated by blanks. */
nvdp_status nvdp__spell(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer, size_t n,
                        const int32_t *id, const char *prompt, struct nvdp__guess_strings *to);
/* Reads the texts of a data set again, with another tokenizer, cut to `length` tokens. */
nvdp_status nvdp__reread(struct nvdp_context *ctx, const struct nvdp_tokenizer *from,
                         const struct nvdp_dataset *data, const char *prompt,
                         const struct nvdp_tokenizer *to, size_t length, struct nvdp_dataset **out);

/* Returns the number of vectors that are read beside text i. */
size_t nvdp__inverter_rows(const struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                           size_t i);
/* Computes these vectors [rows, inputs], not standardized. */
void nvdp__inverter_observe(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                            size_t i, float *x);
/* Computes the mean of these vectors, standardized. */
void nvdp__inverter_mean(struct nvdp__inverter *inverter, const struct nvdp__sight *sight, size_t i,
                         float *mean);
/* Returns the number of steps of one training. */
size_t nvdp__inverter_steps(const struct nvdp__inverter *inverter);
/* Learns `known`, the public texts with their samples as observed: takes the pretrained weights and standardizes the
 * vectors; trains.  In between, the readers below learn from the standardized vectors. */
nvdp_status nvdp__inverter_begin(struct nvdp__inverter *inverter, const struct nvdp__sight *known);
nvdp_status nvdp__inverter_train(struct nvdp__inverter *inverter, const struct nvdp__sight *known);

/* Build a batch: remove all texts; add [CLS], n pieces (NULL: no text, for the length), [SEP] and the vectors of text
 * i, and return the row of [CLS]; run the model without training.  Answers are in model.nll, model.best and, for at
 * most model.heads.block rows, model.heads.logits. */
void nvdp__inverter_clear(struct nvdp__inverter *inverter);
size_t nvdp__inverter_put(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                          size_t i, size_t n, const int32_t *piece);
void nvdp__inverter_ask(struct nvdp__inverter *inverter, size_t row, int32_t label);
nvdp_status nvdp__inverter_run(struct nvdp__inverter *inverter, const struct nvdp__pass *pass,
                               struct nvdp__pretrain_losses *losses);

/* ---- invert_reader.c: words that are read off a sample without the model ---- */

/* `memory` owns the arrays. */
nvdp_status nvdp__piece_reader_create(struct nvdp_context *ctx, struct nvdp__memory *memory,
                                      size_t inputs, size_t pieces,
                                      const struct nvdp_dataset *known,
                                      struct nvdp__piece_reader *out);
/* Learns inverter->reader from the public texts. */
nvdp_status nvdp__piece_reader_fit(struct nvdp__inverter *inverter,
                                   const struct nvdp__sight *sight);
/* Sorts reader->near by the distance to a mean vector that is centered by reader->mean. */
void nvdp__piece_reader_compare(struct nvdp__piece_reader *reader, const float *x);
/* Computes the expected numbers of pieces for the vector that was compared last. */
void nvdp__piece_reader_expect(struct nvdp__piece_reader *reader, const float *x, float *read);
/* Centers and compares a mean vector, and computes the expected numbers. */
void nvdp__piece_reader_tell(struct nvdp__piece_reader *reader, float *x, float *read);
/* Computes numbers of pieces [n, pieces] for differences of mean vectors [n, inputs]. */
void nvdp__piece_reader_read(const struct nvdp__piece_reader *reader, size_t n, const float *x,
                             float *out);

/* ---- invert_reader.c: words that are read off the vectors of tokens ---- */

/* Opens inverter->row_reader if the samples of a run have a vector per token. */
nvdp_status nvdp__row_reader_create(struct nvdp__inverter *inverter);
/* Chooses its share, after the piece reader has learned. */
nvdp_status nvdp__row_reader_fit(struct nvdp__inverter *inverter, const struct nvdp__sight *sight);
/* Writes the named texts of n samples, in the model's tokens. */
nvdp_status nvdp__row_reader_name(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                                  size_t first, size_t n, struct nvdp_dataset **out);
/* Counts the pieces of named text i. */
void nvdp__row_reader_count(const struct nvdp_dataset *named, size_t i, size_t pieces,
                            float *count);
/* Returns the expected number of a piece by the mean vector and the named text. */
double nvdp__row_reader_mix(double share, float mean, float named);

/* ---- invert_decode.c ---- */

/* A candidate text and its mean log likelihood per token. */
struct nvdp__written {
    size_t n;
    int32_t *id; /* [n] */
    double score;
};
/* Writes `beam` candidates for each of n texts from `first` on, [n, beam], by iterative unmasking; the memory of ids
 * is the caller's: [n * beam, length].  Fewer than `beam` lengths, or a public length: further candidates begin from
 * sampled tokens. */
nvdp_status nvdp__inverter_write(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                                 size_t first, size_t n, int32_t *ids,
                                 struct nvdp__written *written);

enum { NVDP__TRIES = 6 }; /* ways in which the masks of a changed candidate are filled */
/* Fills the masks of `beam` candidates for each of n texts with drawn tokens, in several ways.  The candidates are
 * every NVDP__TRIES-th of `written`, whose ids follow each other, `length` apart; the others become their copies. 
 * `read` [n * beam, pieces]: the expected numbers of pieces.  Other rounds draw other tokens. */
nvdp_status nvdp__inverter_fill(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                                size_t first, size_t n, size_t round, float *read,
                                struct nvdp__written *written);

/* ---- invert_search.c ---- */

/* Makes a set with one vector per text and almost no noise. */
nvdp_status nvdp__vectors_create(struct nvdp_context *ctx, size_t n, size_t dim,
                                 struct nvdp_posteriors **out);
/* Computes the vectors of texts in the encoder's tokens. */
nvdp_status nvdp__vectors_encode(struct nvdp_context *ctx, struct nvdp_encoder *encoder,
                                 const struct nvdp_dataset *data, struct nvdp_posteriors **out);

/* Compares guesses with samples by the vectors of the victim's encoder.  Set to zero before use, then `inverter` and
 * `encoder`. */
struct nvdp__judge {
    struct nvdp__inverter *inverter;
    struct nvdp_encoder *encoder;       /* NULL: the run's model, or none */
    struct nvdp__guess_strings strings; /* the guesses */
    const char **text;
    size_t *of; /* [trials] number of a candidate's text in `guesses` */
    struct nvdp__texts guesses;
    float *seen, *mean; /* of texts: all vectors; mean vectors of texts, candidates, trials */
    float *read, *told; /* [candidates, pieces]; [texts, pieces] numbers by the samples */
    double *tokens;     /* [texts] in all */
    int32_t *ids;       /* [candidates, tries, length] of trials */
    struct nvdp__written *trial;
};
/* Returns how well the numbers of a guess's pieces agree with expected ones: 2 sum min / (both sums), as F1. */
double nvdp__judge_agreement(const struct nvdp__written *guess, size_t pieces, const float *told,
                             double tokens);
/* Allocates for groups of this many texts, after nvdp__inverter_reserve(). */
nvdp_status nvdp__judge_create(struct nvdp__judge *judge, size_t group);
void nvdp__judge_release(struct nvdp__judge *judge);
bool nvdp__judge_embeds(const struct nvdp__judge *judge); /* there is an encoder */
/* Improves `beam` candidates for each of n texts; their scores become ranks by cosine and agreement. */
nvdp_status nvdp__judge_search(struct nvdp__judge *judge, const struct nvdp__sight *sight,
                               size_t first, size_t n, struct nvdp__written *written);
/* Copies a candidate, with masks instead of some tokens, for the search; `read` has the expected numbers of pieces.  If
 * the length is not public, tokens are added and left out too. */
void nvdp__judge_change(const struct nvdp__inverter *inverter, const struct nvdp__written *from,
                        const float *read, struct nvdp__stream *stream, struct nvdp__written *to);
/* Sets the scores of one guess for each of n texts to the cosines to the texts' own vectors. */
nvdp_status nvdp__judge_compare(struct nvdp__judge *judge, const struct nvdp__texts *corpus,
                                size_t first, size_t n, struct nvdp__written *written);

/* ---- linear.c: without the victim's encoder ---- */

/* Sets map to R^-1 product [n, others], or unless `left` to product R^-1 [others, n], with R = gram + penalty
 * tr(gram)/n I (lower triangles [n, n]); `factor` [n, n]: scratch.  Returns false if R is not positive definite. */
bool nvdp__ridge(size_t n, const double *gram, double penalty, bool left, size_t others,
                 const double *product, double *factor, double *map);

struct nvdp__alignment {
    size_t pairs, from, to; /* dimensions of samples and of the attacker's encoder */
    double *x, *y;          /* [pairs, from], [pairs, to], centered by the fit */
    double *mean;           /* [from + to] */
    double *gram, *product; /* two of [from, from], [from, to] */
    double *map;            /* [from, to] */
    double *error;          /* [to] variance of the map's error on held-out pairs */
    double *row;            /* [to] */
};
/* `memory` owns the arrays.  The caller fills x and y before the fit. */
nvdp_status nvdp__alignment_create(struct nvdp_context *ctx, struct nvdp__memory *memory,
                                   size_t pairs, size_t from, size_t to,
                                   struct nvdp__alignment *out);
nvdp_status nvdp__alignment_fit(struct nvdp_context *ctx, struct nvdp__alignment *alignment);
/* Maps a sample; overwrites x. */
void nvdp__alignment_apply(const struct nvdp__alignment *alignment, double *x, double *out);

#endif
