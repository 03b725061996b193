/* The facts of a release, and its statement in plain English. */
#ifndef NVDP_SRC_SHARE_STATEMENT_H
#define NVDP_SRC_SHARE_STATEMENT_H

#include "base/sentence.h"
#include "share/ledger.h"
#include "share/sampler.h"
#include <nvdp/share.h>

/* The share of the file's texts that the encoder was trained on. */
enum nvdp__training {
    NVDP__TRAINING_MAYBE, /* the user's own file, or other splits: unknown per text */
    NVDP__TRAINING_SOME,  /* some are of split train */
    NVDP__TRAINING_ALL    /* all are of split train */
};
extern const char *const nvdp__training_names[]; /* "maybe", "some", "all" */
/* Determines from the number of texts of split train whether all, some or possibly none of the texts were training
 * texts. */
enum nvdp__training nvdp__training_of(size_t train, size_t texts);

/* The epsilon that is proven of several rows of a file together, which have one text, or texts of one person. */
struct nvdp__repeat {
    size_t rows;
    double epsilon, word_epsilon; /* at NVDP__LEDGER_DELTA; infinite: nothing is proven */
};
enum { NVDP__REPEATS = 2 };

struct nvdp__query_map;     /* train/sentence_run.h */
struct nvdp__summary_facts; /* share/summarize.h */
/* Everything that a statement may say.  All of it is public: it follows from the model, the options, and the number,
 * order, lengths, splits and labels of the texts.  Only `privacy` is measured on the texts; a file has it on
 * request. */
struct nvdp__release_facts {
    const struct nvdp__model_info *info;
    struct nvdp__form form;    /* the form of the samples */
    double lambda_g, lambda_d; /* NaN: unknown */
    size_t texts, samples;     /* texts, or persons */
    bool persons;              /* a sample is of a person: the mean of the embeddings of all rows */
    bool labels;
    char *label_names; /* JSON array, owned by the export; NULL: not stated */
    bool insecure_seed;
    const struct nvdp__release_grids *grids; /* NULL: float16 */
    size_t rows;                             /* rows of the longest sample */
    enum nvdp__training training;
    /* The private training of the run, as its owner states it: one training example zeroed out; NaN: not private, or
     * with noise from a seed. */
    double training_epsilon, training_delta;
    char model_id[33];      /* random: independent of the model */
    bool counted;           /* a ledger counts these texts; its counts are no facts of a file */
    bool measured, publish; /* measurements exist; they go into the file */
    struct nvdp_privacy_report privacy; /* of one release, except `bdp`, which is of all releases */
    double delta;                       /* for the Bayesian accounting */
    double bound_order;                 /* order of the bound that a sequence clip gives */
    char created[32];                   /* ISO 8601, UTC */
    struct nvdp__summary_facts *summary; /* of a summary; NULL if the file has samples of texts */
    const struct nvdp__query_map *query; /* for searchers; NULL: the method has none */
    struct nvdp_limits limits;           /* of the mechanism */
    bool certified; /* `certificate` proves something about the noise of the file */
    struct nvdp_certificate certificate;       /* at delta 1e-5, for all samples of a text */
    struct nvdp__repeat repeat[NVDP__REPEATS]; /* set with the certificate */
    char guesses[640];       /* the certificate's guess bound in plain English; "" if it has none */
    bool useful;             /* set by nvdp__release_guarantee(), like the next members */
    bool word_useful;        /* a useful guarantee per word */
    char word_guesses[1280]; /* the guess bound per word in plain English; "" if it has none */
    char guarantee[NVDP_GUARANTEE_SIZE];
};

/* Returns what the file has samples of, or sums up: "text", "person" or "row". */
const char *nvdp__release_unit(const struct nvdp__release_facts *facts);

/* Rounds up to three digits.  A summary of texts is published without noise, and more digits would reveal more about
 * single texts than anyone needs. */
double nvdp__public_number(double value);
/* Rounds an upper bound as statements print it. */
double nvdp__public_bound(double value);
/* Fills the certificate from `limits`.  There is none if the noise is inexact or from a seed.  There is none either
 * if the sampler of the weights adds more than a thousandth of delta. */
nvdp_status nvdp__release_certify(struct nvdp_context *ctx, struct nvdp__release_facts *facts);
/* Decides whether the file has a useful guarantee, by its certificate alone (nvdp__is_useful).  Fills `useful` and
 * `guarantee`, the first line of the statement: the proven guarantee, or the reason why there is no useful one. */
nvdp_status nvdp__release_guarantee(struct nvdp_context *ctx, struct nvdp__release_facts *facts);
/* Returns the number of the file's texts that a mechanism of the certificate's delta could expose on
 * average; 0: less than one text, or no certificate. */
double nvdp__release_exposed(const struct nvdp__release_facts *facts);
/* Decides by the same rule about all samples of a text that a ledger counts: for any two texts, or for one word. */
bool nvdp__spent_is_useful(const struct nvdp__spent *spent, bool per_word);
/* Returns mu of one sample for one word in place of another; 0 if nothing is proven per word. */
double nvdp__word_sample_mu(const struct nvdp__release_facts *facts);
/* Returns an upper bound, rounded up, on the total variation between the weights of all samples of a text and a
 * Dirichlet distribution. */
double nvdp__release_weights_distance(const struct nvdp__release_facts *facts);
/* Returns the divergence of order `bound_order` that no two texts exceed in one sample, under a sequence clip. */
double nvdp__release_bound(const struct nvdp__release_facts *facts);
/* Version of the statement's wording, which rises with every change.  nvdp verify compares only its own version. */
enum { NVDP__STATEMENT_WORDS = 13 };
/* Write the two parts of a statement: the lines that nvdp verify computes again, and the line of what was measured. */
void nvdp__statement_computed(const struct nvdp__release_facts *facts, size_t size, char *out);
void nvdp__statement_measured(const struct nvdp__release_facts *facts, size_t size, char *out);
/* Writes the line of what is public: `what`, and the numbers that were computed from public texts. */
void nvdp__append_public(struct nvdp__writer *writer, const struct nvdp__release_facts *facts,
                         const char *what);
/* The line of published measurements begins with these words.  A sentence about linkage follows, then the divergences,
 * which follow from the numbers of facts->privacy that the file has as attributes. */
extern const char nvdp__measured_words[];
void nvdp__statement_divergences(const struct nvdp__release_facts *facts, double infinite_share,
                                 size_t size, char *out);
/* Returns the share of infinite pairs, rounded up. */
double nvdp__public_infinite_share(const struct nvdp_pairs_summary *pairs);
/* Writes the statement in plain English, cut to `size` bytes: at most ten lines, of which the first one is the
 * guarantee.  The file's attributes hold the numbers behind it. */
void nvdp__statement(const struct nvdp__release_facts *facts, size_t size, char *out);

#endif
