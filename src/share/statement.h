/* The facts of a release, and its statement in plain English. */
#ifndef NVDP_SRC_SHARE_STATEMENT_H
#define NVDP_SRC_SHARE_STATEMENT_H

#include "base/sentence.h"
#include "share/ledger.h"
#include "share/sampler.h"
#include <nvdp/share.h>

/* The share of the file's texts on which the encoder was trained. */
enum nvdp__training {
    NVDP__TRAINING_MAYBE, /* a file of the user, or other splits: unknown per text */
    NVDP__TRAINING_SOME,  /* some texts are of split train */
    NVDP__TRAINING_ALL    /* all texts are of split train */
};
extern const char *const nvdp__training_names[]; /* "maybe", "some", "all" */
/* Determines from the number of texts of split train whether all, some or possibly none of the texts were training
 * texts. */
enum nvdp__training nvdp__determine_training(size_t train, size_t texts);

/* The proven epsilon of several rows of a file together.  The rows have the same text, or texts of one person. */
struct nvdp__repeat {
    size_t rows;
    double epsilon, word_epsilon; /* at NVDP__LEDGER_DELTA; infinite if nothing is proven */
};
enum { NVDP__REPEATS = 2 };

struct nvdp__query_map;     /* train/sentence_run.h */
struct nvdp__summary_facts; /* share/summarize.h */
/* All facts that a statement may contain.  The facts are public: they follow from the model, the options, and the
 * number, order, lengths, splits and labels of the texts.  Only `privacy` is measured on the texts; a file has these
 * measurements on request. */
struct nvdp__release_facts {
    const struct nvdp__model_info *info;
    struct nvdp__form form;    /* the form of the samples */
    double lambda_g, lambda_d; /* NaN if unknown */
    size_t texts, samples;     /* texts, or persons */
    /* a sample is of a person, with the mean of the embeddings of all rows. */
    bool persons;
    bool labels;
    char *label_names; /* JSON array, owned by the export; NULL if not stated */
    bool insecure_seed;
    const struct nvdp__release_grids *grids; /* NULL for float16 */
    size_t rows;                             /* rows of the longest sample */
    enum nvdp__training training;
    /* Guarantee of the private training of the run for one training example that is zeroed out, as the owner states it.
     * NaN if the training was not private, or had noise from a seed. */
    double training_epsilon, training_delta;
    char model_id[33];                  /* random: independent of the model */
    bool counted;                       /* a ledger counts these texts; no file states the counts */
    bool measured, publish;             /* measurements exist; they go into the file */
    struct nvdp_privacy_report privacy; /* one release, except `bdp`, which is of all releases */
    double delta;                       /* delta of Bayesian differential privacy */
    double bound_order;                 /* order of the bound that a sequence clip proves */
    char created[32];                   /* ISO 8601, UTC */
    struct nvdp__summary_facts *summary; /* NULL if the file has samples of texts */
    const struct nvdp__query_map *query; /* map for searches; NULL if the method has none */
    struct nvdp_limits limits;           /* limits of the mechanism */
    bool certified; /* `certificate` proves something about the noise of the file */
    struct nvdp_certificate certificate;       /* at delta 1e-5, for all samples of a text */
    struct nvdp__repeat repeat[NVDP__REPEATS]; /* set with the certificate */
    /* Guess bound of the certificate in plain English; "" if there is none. */
    char guesses[640];
    bool useful;             /* set by nvdp__release_guarantee(), like the next members */
    bool word_useful;        /* a useful guarantee per word */
    char word_guesses[1280]; /* guess bound per word in plain English; "" if there is none */
    char guarantee[NVDP_GUARANTEE_SIZE];
};

/* Returns the unit of the file's samples or summary: "text", "person" or "row". */
const char *nvdp__release_unit(const struct nvdp__release_facts *facts);

/* Rounds up to three digits.  The numbers are published without noise, and more digits would reveal more about single
 * texts than anybody needs. */
double nvdp__public_number(double value);
/* Rounds an upper bound as statements print it. */
double nvdp__public_bound(double value);
/* Fills the certificate from `limits`.  There is no certificate if the noise is inexact or from a seed, or if the
 * sampler of the weights adds more than a thousandth of delta. */
nvdp_status nvdp__release_certify(struct nvdp_context *ctx, struct nvdp__release_facts *facts);
/* Decides by the certificate alone whether the file has a useful guarantee (nvdp__is_useful).  Fills `useful` and
 * `guarantee`, the first line of the statement: the proven guarantee, or the reason why there is no useful one. */
nvdp_status nvdp__release_guarantee(struct nvdp_context *ctx, struct nvdp__release_facts *facts);
/* Returns the number of the file's texts that a mechanism of the certificate's delta could expose on
 * average.  Returns 0 if that is less than one text, or if there is no certificate. */
double nvdp__release_exposed(const struct nvdp__release_facts *facts);
/* Decides whether the guarantee for all samples of a text that a ledger counts is useful, by the rule of
 * nvdp__release_guarantee(): for any two texts, or for one word. */
bool nvdp__spent_is_useful(const struct nvdp__spent *spent, bool per_word);
/* Returns mu of one sample if one word is replaced by another; 0 if nothing is proven per word. */
double nvdp__word_sample_mu(const struct nvdp__release_facts *facts);
/* Returns an upper bound, rounded up, on the total variation between the weights of all samples of a text and a
 * Dirichlet distribution. */
double nvdp__release_weights_distance(const struct nvdp__release_facts *facts);
/* Returns the divergence of order `bound_order` that no two texts exceed in one sample, under a sequence clip. */
double nvdp__release_bound(const struct nvdp__release_facts *facts);
/* Version of the statement's wording, which rises with every change.  nvdp verify compares only statements of this
 * version. */
enum { NVDP__STATEMENT_WORDS = 14 };
/* Write the two parts of a statement: the lines that nvdp verify recomputes, and the line of measurements. */
void nvdp__statement_computed(const struct nvdp__release_facts *facts, size_t size, char *out);
void nvdp__statement_measured(const struct nvdp__release_facts *facts, size_t size, char *out);
/* Writes the line of public facts: `what`, and the numbers that were computed from public texts. */
void nvdp__append_public(struct nvdp__writer *writer, const struct nvdp__release_facts *facts,
                         const char *what);
/* The line of published measurements begins with these words.  A sentence about linkage comes next, then the
 * divergences, which follow from numbers of facts->privacy that the file has as attributes. */
extern const char nvdp__measured_words[];
void nvdp__statement_divergences(const struct nvdp__release_facts *facts, double infinite_share,
                                 size_t size, char *out);
/* Returns the share of infinite pairs, rounded up. */
double nvdp__public_infinite_share(const struct nvdp_pairs_summary *pairs);
/* Writes the statement in plain English, cut to `size` bytes: at most ten lines, of which the first one is the
 * guarantee.  The file's attributes have the numbers from which the statement follows. */
void nvdp__statement(const struct nvdp__release_facts *facts, size_t size, char *out);

#endif
