/* The attacker that writes texts: a masked language model that reads a sample beside the text.
 *
 * The vectors of the sample, or projections of its only vector, become rows after the text's tokens: [CLS] text [SEP]
 * z_1 z_2 ...  A row has a vector in place of a word embedding, the position of the vector's token, and token type 1.
 * The model starts from pretrained weights and learns public texts with their samples: a random share of the tokens, up
 * to all tokens, is masked and predicted.  At [CLS] without a text, the model predicts the number of tokens, as the
 * piece with this id (Ghazvininejad et al. 2019 use a separate token). */
#ifndef NVDP_SRC_ATTACK_INVERT_H
#define NVDP_SRC_ATTACK_INVERT_H

#include "attack/texts.h"
#include "encoder/encode.h"
#include "job/optimizer.h"
#include "pretrain/evaluate.h"

/* The samples that the model reads beside texts.  For "prior", the model reads the sample of another text, in training
 * and in the attack.  So scores without information differ from the scores of samples only because of the
 * information. */
struct nvdp__sight {
    const struct nvdp__texts *corpus;
    enum nvdp__observed observed;
    uint64_t seed;
    uint32_t draw;
};

/* Estimates the numbers of pieces from mean vectors, with the help of public texts that have similar mean vectors. */
struct nvdp__piece_reader {
    size_t inputs, pieces;
    float *map;             /* [pieces, inputs] */
    double *rate, *mean;    /* [pieces] mean numbers in public texts; [inputs] */
    double least;           /* rate of pieces that the public texts do not have */
    double *gram, *product; /* two of [inputs, inputs], [pieces, inputs] */
    const struct nvdp_dataset *known;
    size_t texts;            /* the first texts of `known`, which are compared with a sample */
    float *vector, *between; /* [texts, inputs] centered mean vectors of these texts; [inputs] */
    /* Squared width of the kernel; INFINITY gives all texts the same weight. */
    double width;
    struct nvdp__near {
        double distance, weight; /* squared distance per dimension; weights sum to 1 */
        size_t text;
    } * near; /* [texts] */
};

/* Identifies the tokens of samples that have one vector per token. */
struct nvdp__row_reader {
    bool opened;  /* the samples have one vector per token */
    double share; /* weight of the identified tokens in the numbers of pieces; 0 to ignore them */
    struct nvdp__centroids centroids;
    double *score; /* [NVDP__ROWS, tokens] */
};

/* The attacker.  Set the struct to zero before use, then set `attack`. */
struct nvdp__inverter {
    struct nvdp__text_attack *attack;
    struct nvdp_bert_config bert;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__pretrain_model model;
    struct nvdp_dataset *known, *attacked; /* the texts, in the model's tokens */
    size_t held;                           /* the last known texts choose the weights */
    size_t length;                         /* max. tokens of a text, with [CLS] and [SEP] */
    bool guess_length;                     /* the number of tokens is not public */
    size_t rows, spread;        /* max. number of vectors read per sample; rows per vector */
    size_t inputs;              /* dim, plus 1 if there are weights */
    struct nvdp__scale scale;   /* scale of the vectors */
    struct nvdp__params params; /* parameters of `in`: inputs -> spread * hidden */
    struct nvdp__dense in;
    struct nvdp__optimizer optimizer[2]; /* optimizers of the model and of `in` */
    /* Pretrained weights; best weights of the model and of `in`. */
    float *start, *best[2];
    struct nvdp__arena arena;
    float *x, *out, *words; /* [vectors, inputs], [vectors * spread, D], [tokens, D] */
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
    size_t vectors;      /* number of vectors in the batch */
    float *host;         /* [vectors, inputs] */
    int32_t *place, *at; /* [tokens] row of `out`, -1 if there is none; [vectors * spread] token */
    double *z, *log_pi;  /* scratch for one sample */
    int64_t *order;
    unsigned char *ordinary; /* [vocabulary] true for pieces that a text may have */
    struct nvdp__piece_reader reader;
    struct nvdp__row_reader row_reader;
};

/* ---- invert_model.c ---- */

/* Opens the model `prior`.  NVDP_ERR_ARGUMENT if the option is missing, NVDP_ERR_INPUT if it has no masked-LM head. */
nvdp_status nvdp__inverter_open(struct nvdp__inverter *inverter);
/* Plans and allocates.  Call it after inverter->known and inverter->attacked are set. */
nvdp_status nvdp__inverter_reserve(struct nvdp__inverter *inverter);
void nvdp__inverter_release(struct nvdp__inverter *inverter);
/* Strings, stored one after the other. */
struct nvdp__guess_strings {
    char *text;
    size_t used, capacity;
    size_t *start; /* [n] */
};
/* Returns the letters of a piece, NULL for [CLS] and [SEP].  *continues is false at a text's beginning; it becomes true
 * if the piece continues a word. */
const char *nvdp__letters(const struct nvdp_tokenizer *tokenizer, int32_t id, bool *continues);
/* Appends the words of a text, separated by blanks. */
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
/* Learn from `known`, the public texts with their observed samples.  The first function takes the pretrained weights
 * and standardizes the vectors; the second trains.  In between, the readers below learn from the standardized
 * vectors. */
nvdp_status nvdp__inverter_begin(struct nvdp__inverter *inverter, const struct nvdp__sight *known);
nvdp_status nvdp__inverter_train(struct nvdp__inverter *inverter, const struct nvdp__sight *known);

/* Build a batch: remove all texts; add [CLS], n pieces (NULL for no text, to ask for the length), [SEP] and the vectors
 * of text i, and return the row of [CLS]; run the model without training.  Answers are in model.nll, model.best and,
 * for at most model.heads.block rows, model.heads.logits. */
void nvdp__inverter_clear(struct nvdp__inverter *inverter);
size_t nvdp__inverter_put(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                          size_t i, size_t n, const int32_t *piece);
void nvdp__inverter_ask(struct nvdp__inverter *inverter, size_t row, int32_t label);
nvdp_status nvdp__inverter_run(struct nvdp__inverter *inverter, const struct nvdp__pass *pass,
                               struct nvdp__pretrain_losses *losses);

/* ---- invert_reader.c: words estimated from a sample without the model ---- */

/* Creates a reader.  `memory` owns the arrays. */
nvdp_status nvdp__piece_reader_create(struct nvdp_context *ctx, struct nvdp__memory *memory,
                                      size_t inputs, size_t pieces,
                                      const struct nvdp_dataset *known,
                                      struct nvdp__piece_reader *out);
/* Learns inverter->reader from the public texts. */
nvdp_status nvdp__piece_reader_fit(struct nvdp__inverter *inverter,
                                   const struct nvdp__sight *sight);
/* Sorts reader->near by the distance to a mean vector that is centered by reader->mean. */
void nvdp__piece_reader_compare(struct nvdp__piece_reader *reader, const float *x);
/* Computes the expected numbers of pieces for the last compared vector. */
void nvdp__piece_reader_expect(struct nvdp__piece_reader *reader, const float *x, float *read);
/* Centers and compares a mean vector, and computes the expected numbers. */
void nvdp__piece_reader_tell(struct nvdp__piece_reader *reader, float *x, float *read);
/* Computes numbers of pieces [n, pieces] for differences of mean vectors [n, inputs]. */
void nvdp__piece_reader_read(const struct nvdp__piece_reader *reader, size_t n, const float *x,
                             float *out);

/* ---- invert_reader.c: words identified from the vectors of tokens ---- */

/* Opens inverter->row_reader if the samples of a run have a vector per token. */
nvdp_status nvdp__row_reader_create(struct nvdp__inverter *inverter);
/* Chooses inverter->row_reader.share, after the piece reader has learned. */
nvdp_status nvdp__row_reader_fit(struct nvdp__inverter *inverter, const struct nvdp__sight *sight);
/* Writes the texts that are identified from n samples, in the model's tokens. */
nvdp_status nvdp__row_reader_name(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                                  size_t first, size_t n, struct nvdp_dataset **out);
/* Counts the pieces of the identified text i. */
void nvdp__row_reader_count(const struct nvdp_dataset *named, size_t i, size_t pieces,
                            float *count);
/* Returns the expected number of a piece, from the mean vector and the identified text. */
double nvdp__row_reader_mix(double share, float mean, float named);

/* ---- invert_decode.c ---- */

/* A candidate text and its mean log likelihood per token. */
struct nvdp__written {
    size_t n;
    int32_t *id; /* [n] */
    double score;
};
/* Writes `beam` candidates for each of n texts from `first` on, [n, beam], by iterative unmasking.  The caller owns the
 * ids [n * beam, length].  If fewer than `beam` lengths are likely, or the length is public, further candidates begin
 * from sampled tokens. */
nvdp_status nvdp__inverter_write(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                                 size_t first, size_t n, int32_t *ids,
                                 struct nvdp__written *written);

enum { NVDP__TRIES = 6 }; /* ways in which the masks of a changed candidate are filled */
/* Fills the masks of `beam` candidates for each of n texts with drawn tokens, in several ways.  Every NVDP__TRIES-th
 * item of `written` is a candidate; the items after it become copies with other tokens.  The ids of the items are
 * `length` apart.  `read` [n * beam, pieces] are the expected numbers of pieces.  Every round draws other tokens. */
nvdp_status nvdp__inverter_fill(struct nvdp__inverter *inverter, const struct nvdp__sight *sight,
                                size_t first, size_t n, size_t round, float *read,
                                struct nvdp__written *written);

/* ---- invert_search.c ---- */

/* Makes a set of posteriors with one vector per text and almost no noise. */
nvdp_status nvdp__vectors_create(struct nvdp_context *ctx, size_t n, size_t dim,
                                 struct nvdp_posteriors **out);
/* Computes the vectors of texts in the encoder's tokens. */
nvdp_status nvdp__vectors_encode(struct nvdp_context *ctx, struct nvdp_encoder *encoder,
                                 const struct nvdp_dataset *data, struct nvdp_posteriors **out);

/* Compares guesses with samples by the vectors of the victim's encoder.  Set the struct to zero before use, then set
 * `inverter` and `encoder`. */
struct nvdp__judge {
    struct nvdp__inverter *inverter;
    struct nvdp_encoder *encoder;       /* NULL for the run's model, or for no encoder */
    struct nvdp__guess_strings strings; /* the guesses */
    const char **text;
    size_t *of; /* [trials] number of a candidate's text in `guesses` */
    struct nvdp__texts guesses;
    float *seen, *mean; /* all vectors of texts; mean vectors of texts, candidates, trials */
    /* [candidates, pieces]; [texts, pieces] numbers expected from the samples. */
    float *read, *told;
    double *tokens; /* [texts] expected number of all tokens */
    int32_t *ids;   /* [candidates, tries, length] ids of trials */
    struct nvdp__written *trial;
};
/* Returns the agreement of the numbers of a guess's pieces with the expected numbers: 2 sum min / (sum of both), like
 * F1. */
double nvdp__judge_agreement(const struct nvdp__written *guess, size_t pieces, const float *told,
                             double tokens);
/* Allocates for groups of this many texts, after nvdp__inverter_reserve(). */
nvdp_status nvdp__judge_create(struct nvdp__judge *judge, size_t group);
void nvdp__judge_release(struct nvdp__judge *judge);
bool nvdp__judge_embeds(const struct nvdp__judge *judge); /* true if there is an encoder */
/* Improves `beam` candidates for each of n texts.  The scores of the candidates become ranks by cosine and agreement.
 * */
nvdp_status nvdp__judge_search(struct nvdp__judge *judge, const struct nvdp__sight *sight,
                               size_t first, size_t n, struct nvdp__written *written);
/* Copies a candidate for the search, with masks in place of some tokens.  `read` has the expected numbers of pieces. 
 * If the length is not public, tokens are added and left out, too. */
void nvdp__judge_change(const struct nvdp__inverter *inverter, const struct nvdp__written *from,
                        const float *read, struct nvdp__stream *stream, struct nvdp__written *to);
/* Sets the score of one guess per text, for n texts, to the cosine between the guess's vector and the text's vector. */
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
/* Creates an alignment.  `memory` owns the arrays.  The caller fills x and y before the fit. */
nvdp_status nvdp__alignment_create(struct nvdp_context *ctx, struct nvdp__memory *memory,
                                   size_t pairs, size_t from, size_t to,
                                   struct nvdp__alignment *out);
nvdp_status nvdp__alignment_fit(struct nvdp_context *ctx, struct nvdp__alignment *alignment);
/* Maps a sample; overwrites x. */
void nvdp__alignment_apply(const struct nvdp__alignment *alignment, double *x, double *out);

#endif
