/* The options of the privacy measures as plain structs; options.c has their table. */
#ifndef NVDP_RDP_OPTIONS_H
#define NVDP_RDP_OPTIONS_H

#include "options/rows.h"
#include <jansson.h>
#include <nvdp/certificate.h>
#include <nvdp/linkage.h>

/* The divergences. */
struct nvdp__pairs_options {
    double order; /* l */
    enum nvdp_adjacency adjacency;
    enum nvdp_pairs_arithmetic arithmetic;
    size_t max_pairs; /* 0: all pairs */
    uint64_t seed;    /* for drawn pairs */
};

/* Bayesian DP. */
struct nvdp__bdp_options {
    double delta; /* delta_mu */
    double gamma;
    int releases;            /* T */
    double published_moment; /* k */
};

/* The exact loss. */
struct nvdp__exact_options {
    bool wanted;
    size_t mean_pairs;    /* pairs drawn for the mean */
    const char *epsilons; /* of the curves; numbers joined by commas */
    const char *deltas;   /* of the same curves */
    const char *pair;     /* "I,J" or NULL */
};

struct nvdp__privacy_options {
    struct nvdp__pairs_options pairs;
    struct nvdp__bdp_options bdp;
    struct nvdp__exact_options exact;
    const char *moments;   /* numbers joined by commas */
    const char *baselines; /* of guesses; numbers joined by commas */
};

/* Rows as in options/rows.h. */
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

/* The public functions, with these options; they check them. */
nvdp_status nvdp__renyi_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                              const struct nvdp__privacy_options *options, double *matrix,
                              struct nvdp_pairs_summary *out);
nvdp_status nvdp__privacy_measure(struct nvdp_context *ctx,
                                  const struct nvdp_posteriors *posteriors,
                                  const struct nvdp__privacy_options *options, double *matrix,
                                  struct nvdp_privacy_report *out);

/* Writes the digest of a set and of the library's version: reports with the same digest and options are the same. */
void nvdp__posteriors_digest(const struct nvdp_posteriors *set, char hex[65]);

/* Reads the baselines of the options, each with the bound 1. */
nvdp_status nvdp__guess_baselines(struct nvdp_context *ctx,
                                  const struct nvdp__privacy_options *options, size_t *guesses,
                                  struct nvdp_bounded_guess guess[NVDP_GUESSES]);
/* Lowers the bounds of the baselines and sets the information for a measured set (guess.c).
 * O(N rows dim) per order. */
nvdp_status nvdp__measure_guesses(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  int releases, struct nvdp_guess_summary *to);

struct nvdp__remedies; /* report.h */
/* nvdp_certify() from a plain struct, of which it reads delta, releases and the curve's
 * epsilons.  Conditions that do not hold name the remedies' options; remedies NULL: none. */
nvdp_status nvdp__certify(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                          const struct nvdp__privacy_options *options,
                          const struct nvdp__remedies *remedies, struct nvdp_certificate *out);
/* The same for several numbers of samples, in place of that of the options: out [count].  The divergences of one sample
 * are computed once.  Only the first certificate has bounds of guesses. */
nvdp_status nvdp__certify_each(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                               const struct nvdp__privacy_options *options,
                               const struct nvdp__remedies *remedies, size_t count,
                               const int *releases, struct nvdp_certificate *out);
/* The Renyi divergence of that order that a valid theorem proves for one sample; may be
 * infinite. */
double nvdp__certified_divergence(const struct nvdp_limits *limits, enum nvdp_theorem theorem,
                                  double order);
/* The numbers of the certificate that result.json stores, without theorems and statement; null
 * if nothing is proven. */
json_t *nvdp__certificate_summary(const struct nvdp_certificate *certificate);
/* The JSON object of a struct nvdp_certificate; NULL: out of memory. */
json_t *nvdp__certificate_pack(const void *certificate);
extern const struct nvdp_result_kind nvdp__certificate_kind;
/* [{"baseline": B, "bound": P}, ...]; json_decref(). */
json_t *nvdp__guesses_json(size_t guesses, const struct nvdp_bounded_guess *guess);
/* A sentence, or a list of guesses, by value: as struct nvdp__short_text. */
struct nvdp__claim_text {
    char text[NVDP_LINKAGE_SENTENCE];
};
/* Returns the baselines, "50 % / 0.1 %", and their bounds in the same form. */
struct nvdp__claim_text nvdp__baselines_text(size_t guesses,
                                             const struct nvdp_bounded_guess *guess);
struct nvdp__claim_text nvdp__bounds_text(size_t guesses, const struct nvdp_bounded_guess *guess);
/* Sentences on the limits of every guess bound. */
extern const char nvdp__guess_limits[];
/* Writes the guess bounds as sentences; clip NaN: without the clip. */
void nvdp__write_guesses(size_t releases, double clip, size_t guesses,
                         const struct nvdp_bounded_guess *guess, FILE *to);
/* Returns the bound of naming one of NVDP_USEFUL_CANDIDATES equally likely texts from Gaussian samples; the arguments are
 * those of nvdp_guess_bound(). */
double nvdp__named_bound(double clip, int releases, size_t dim);
/* Returns the same bound for a certificate without `named_bound`, as older versions recorded: by C for a Gaussian
 * mechanism, else by its epsilon. */
double nvdp__named_bound_of(enum nvdp_theorem theorem, double clip, int releases, size_t dim,
                            double epsilon, double delta);
/* Decides whether a guarantee is useful: the one rule for runs, files, ledgers and words. */
bool nvdp__is_useful(double epsilon, double named_bound);
/* Returns what an epsilon proves of any two texts, useful or not. `samples`: "one sample". */
struct nvdp__claim_text nvdp__proven_text(double epsilon, double delta, double named_bound,
                                          const char *samples);
/* Returns true if something is proven per word, and useful: the candidates are words at one place, all other words
 * known. */
bool nvdp__word_is_useful(const struct nvdp_word_claim *word);
/* Returns the claim per word, useful or not, as one sentence without numbers of guesses. */
struct nvdp__claim_text nvdp__word_text(const struct nvdp_word_claim *word, size_t releases);
/* Writes the claim per word as sentences. recognized: nothing useful is proven of the text as a whole. */
void nvdp__write_word(const struct nvdp_word_claim *word, size_t releases, bool recognized,
                      FILE *to);
/* "a", "b", "c"; "none". */
const char *nvdp__theorem_letter(enum nvdp_theorem theorem);

#endif
