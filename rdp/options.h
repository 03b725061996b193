/* The options of the privacy measures as plain structs; options.c has their table. */
#ifndef NVDP_RDP_OPTIONS_H
#define NVDP_RDP_OPTIONS_H

#include "options/rows.h"
#include <jansson.h>
#include <nvdp/certificate.h>
#include <nvdp/linkage.h>

/* Options of the divergences. */
struct nvdp__pairs_options {
    double order; /* order l */
    enum nvdp_adjacency adjacency;
    enum nvdp_pairs_arithmetic arithmetic;
    size_t max_pairs; /* 0: all pairs */
    uint64_t seed;    /* seed for drawn pairs */
};

/* Options of Bayesian DP. */
struct nvdp__bdp_options {
    double delta; /* delta_mu, the delta of Bayesian DP */
    double gamma;
    int releases;            /* T, the number of samples */
    double published_moment; /* k, the moment of the published column */
};

/* Options of the exact loss. */
struct nvdp__exact_options {
    bool wanted;
    size_t mean_pairs;    /* number of pairs drawn for the mean */
    const char *epsilons; /* epsilons of the curves; numbers joined by commas */
    const char *deltas;   /* deltas of the same curves; numbers joined by commas */
    const char *pair;     /* "I,J", or NULL */
};

struct nvdp__privacy_options {
    struct nvdp__pairs_options pairs;
    struct nvdp__bdp_options bdp;
    struct nvdp__exact_options exact;
    const char *moments;   /* numbers joined by commas */
    const char *baselines; /* baselines of guesses; numbers joined by commas */
};

/* Rows of the option table (options/rows.h). */
/* clang-format off */
#define NVDP__ORDER_ROW(...)                                                                       \
    {"order", NVDP_OPTION_REAL, "X",                                                               \
     "order of the Renyi divergence; 1: Kullback-Leibler divergence; inf: largest privacy loss", "1.1", .traits = NVDP_TRAIT_BASIC, __VA_ARGS__}
#define NVDP__BDP_DELTA_ROW(...)                                                                   \
    {"delta", NVDP_OPTION_REAL, "X", "failure probability of the Bayesian DP bound", "1e-05", .traits = NVDP_TRAIT_BASIC, __VA_ARGS__}
/* clang-format on */
extern const struct nvdp__schema nvdp__privacy_schema;
struct nvdp__privacy_options nvdp__privacy_defaults(void);
/* Fails early with NVDP_ERR_ARGUMENT if the exact loss is requested, which only posteriors have. */
nvdp_status nvdp__privacy_check_source(struct nvdp_context *ctx,
                                       const struct nvdp__privacy_options *options);
/* 1 - (1-gamma)^calls: the probability that one of the Student bounds fails. */
double nvdp__bdp_spent(double gamma, int calls);
/* Checks relations between the options of Bayesian DP. */
nvdp_status nvdp__bdp_check(struct nvdp_context *ctx, const struct nvdp__bdp_options *options);

/* The public functions, with these options, which the functions check. */
nvdp_status nvdp__renyi_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                              const struct nvdp__privacy_options *options, double *matrix,
                              struct nvdp_pairs_summary *out);
nvdp_status nvdp__privacy_measure(struct nvdp_context *ctx,
                                  const struct nvdp_posteriors *posteriors,
                                  const struct nvdp__privacy_options *options, double *matrix,
                                  struct nvdp_privacy_report *out);

/* Writes the digest of a set and of the library's version. Reports with the same digest and options are the same. */
void nvdp__posteriors_digest(const struct nvdp_posteriors *set, char hex[65]);

/* Reads the baselines of the options; each guess gets the bound 1. */
nvdp_status nvdp__guess_baselines(struct nvdp_context *ctx,
                                  const struct nvdp__privacy_options *options, size_t *guesses,
                                  struct nvdp_bounded_guess guess[NVDP_GUESSES]);
/* Lowers the bounds of the baselines and sets the information of a measured set (guess.c). O(N rows dim) per order. */
nvdp_status nvdp__measure_guesses(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  int releases, struct nvdp_guess_summary *to);

struct nvdp__remedies; /* report.h */
/* Certifies as nvdp_certify() does, from a plain struct, of which delta, releases and the curve's epsilons are read.
 * A condition that does not hold says which option of `remedies` helps; remedies may be NULL. */
nvdp_status nvdp__certify(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                          const struct nvdp__privacy_options *options,
                          const struct nvdp__remedies *remedies, struct nvdp_certificate *out);
/* Certifies for several numbers of samples in place of the option's number: out [count]. The divergences of one
 * sample are computed once. Only the first certificate has guess bounds. */
nvdp_status nvdp__certify_each(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                               const struct nvdp__privacy_options *options,
                               const struct nvdp__remedies *remedies, size_t count,
                               const int *releases, struct nvdp_certificate *out);
/* Returns the Renyi divergence of this order that a valid theorem proves for one sample; may be infinite. */
double nvdp__certified_divergence(const struct nvdp_limits *limits, enum nvdp_theorem theorem,
                                  double order);
/* The numbers of the certificate that result.json stores, without theorems and statement; null
 * if nothing is proven. */
json_t *nvdp__certificate_summary(const struct nvdp_certificate *certificate);
/* Returns the JSON object of a struct nvdp_certificate; NULL if memory is exhausted. */
json_t *nvdp__certificate_pack(const void *certificate);
extern const struct nvdp_result_kind nvdp__certificate_kind;
/* Returns [{"baseline": B, "bound": P}, ...]; the caller releases the array with json_decref(). */
json_t *nvdp__guesses_json(size_t guesses, const struct nvdp_bounded_guess *guess);
/* A sentence, or a list of guesses, by value, as in struct nvdp__short_text. */
struct nvdp__claim_text {
    char text[NVDP_LINKAGE_SENTENCE];
};
/* Returns the baselines, "50 % / 0.1 %", and their bounds in the same form. */
struct nvdp__claim_text nvdp__baselines_text(size_t guesses,
                                             const struct nvdp_bounded_guess *guess);
struct nvdp__claim_text nvdp__bounds_text(size_t guesses, const struct nvdp_bounded_guess *guess);
/* Sentences on the limits of every guess bound. */
extern const char nvdp__guess_limits[];
/* Writes the guess bounds as sentences; `clip` is NaN if there is no clip. */
void nvdp__write_guesses(size_t releases, double clip, size_t guesses,
                         const struct nvdp_bounded_guess *guess, FILE *to);
/* Returns the bound on the probability of identifying one of NVDP_USEFUL_CANDIDATES equally likely texts from
 * Gaussian samples. The arguments are those of nvdp_guess_bound(). */
double nvdp__named_bound(double clip, int releases, size_t dim);
/* Returns the same bound for a certificate of an older version, which has no `named_bound`: from C for a Gaussian
 * mechanism, else from epsilon. */
double nvdp__older_named_bound(enum nvdp_theorem theorem, double clip, int releases, size_t dim,
                               double epsilon, double delta);
/* Decides if a guarantee is useful. Runs, files, ledgers and words all use this rule. */
bool nvdp__is_useful(double epsilon, double named_bound);
/* Returns what an epsilon proves for any two texts, useful or not. `samples` is a phrase such as "one sample". */
struct nvdp__claim_text nvdp__proven_text(double epsilon, double delta, double named_bound,
                                          const char *samples);
/* Returns true if the proven claim per word is useful: the candidates are words at one place, and all other words
 * are known. */
bool nvdp__word_is_useful(const struct nvdp_word_claim *word);
/* Returns the claim per word, useful or not, as one sentence without the guess bounds. */
struct nvdp__claim_text nvdp__word_text(const struct nvdp_word_claim *word, size_t releases);
/* Writes the claim per word as sentences. `recognized` is true if nothing useful is proven for the text as a whole. */
void nvdp__write_word(const struct nvdp_word_claim *word, size_t releases, bool recognized,
                      FILE *to);
/* Returns "a", "b", "c", or "none". */
const char *nvdp__theorem_letter(enum nvdp_theorem theorem);

#endif
