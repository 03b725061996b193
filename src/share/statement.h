/* The facts of a release, and its statement in plain English. */
#ifndef NVDP_SRC_SHARE_STATEMENT_H
#define NVDP_SRC_SHARE_STATEMENT_H

#include "base/sentence.h"
#include "share/ledger.h"
#include "share/sampler.h"
#include <nvdp/share.h>

/* The texts of the file that the encoder was trained on. */
enum nvdp__training {
    NVDP__TRAINING_MAYBE, /* the user's own file, or other splits: not known per text */
    NVDP__TRAINING_SOME,  /* those of split train */
    NVDP__TRAINING_ALL    /* all are of split train */
};
extern const char *const nvdp__training_names[]; /* "maybe", "some", "all" */

/* Everything that a statement may state.  All of it is public. */
struct nvdp__release_facts {
    const struct nvdp__model_info *info;
    struct nvdp__form form;    /* the form of the samples */
    double lambda_g, lambda_d; /* NaN: unknown */
    size_t texts, samples;
    bool labels;
    bool insecure_seed;
    const struct nvdp__release_grids *grids; /* NULL: float16 */
    size_t rows;                             /* rows of the longest sample */
    enum nvdp__training training;
    bool
        private_training; /* the run's own training was differentially private, with noise from no seed */
    char model_id[33];        /* random: it does not depend on the model */
    bool counted;             /* a ledger counts these texts */
    struct nvdp__spent spent; /* the ledger's count of these texts, with this file; 0: no ledger */
    bool measured, publish;   /* there are measurements; they go into the file */
    bool
        named; /* with the model and the texts, an attacker names the text of more than half of the samples (nvdp__names_most) */
    struct nvdp_privacy_report
        privacy;               /* about one release, except `bdp`, which is about all of them */
    double delta;              /* for the Bayesian accounting */
    double bound_order;        /* order of the bound of a sequence clip */
    char created[32];          /* ISO 8601, UTC */
    struct nvdp_limits limits; /* the mechanism's */
    bool certified;            /* `certificate` proves something about the noise of the file */
    struct nvdp_certificate certificate; /* at delta 1e-5, for all samples of a text */
    char proof[2048];                    /* the certificate in plain English */
    bool useful;                         /* this and the next by nvdp__release_guarantee() */
    char guarantee[NVDP_GUARANTEE_SIZE];
};

/* Rounds up to three digits.  A summary of texts is published without noise, and its last digits would reveal more about single
 * texts than anybody needs. */
double nvdp__public_number(double value);
/* Rounds an upper bound as statements print it. */
double nvdp__public_bound(double value);
/* Fills the certificate from `limits`.  There is none for inexact noise, for noise from a seed, and if the sampler of the weights
 * adds more than a thousandth of delta. */
nvdp_status nvdp__release_certify(struct nvdp_context *ctx, struct nvdp__release_facts *facts);
/* True if more than half of the samples are named.  Fewer than 100 texts do not count: among few texts, chance names many. */
bool nvdp__names_most(const struct nvdp_linkage *linkage);
/* Decides whether the file has a useful guarantee: a certificate whose epsilon, for all samples of a text that the ledger counts,
 * is at most NVDP_USEFUL_EPSILON, and no more than half of the samples named.  Fills `useful` and `guarantee`, the first line of
 * the statement: what is proven, or why there is no useful guarantee. */
nvdp_status nvdp__release_guarantee(struct nvdp_context *ctx, struct nvdp__release_facts *facts);
/* Returns an upper bound on the total variation between the weights of all samples of a text and those of a Dirichlet
 * distribution, rounded up. */
double nvdp__release_weights_distance(const struct nvdp__release_facts *facts);
/* Returns the divergence of order `bound_order` that no two texts exceed in one sample, with a sequence clip. */
double nvdp__release_bound(const struct nvdp__release_facts *facts);
/* Version of the words of a statement, one more with every change.  nvdp verify compares no others. */
enum { NVDP__STATEMENT_WORDS = 4 };
/* The three parts of a statement: the first, the measurements, the last. */
void nvdp__statement_opening(const struct nvdp__release_facts *facts, size_t size, char *out);
void nvdp__statement_middle(const struct nvdp__release_facts *facts, size_t size, char *out);
void nvdp__statement_closing(const struct nvdp__release_facts *facts, size_t size, char *out);
/* Writes the statement in plain English, cut to `size` bytes. */
void nvdp__statement(const struct nvdp__release_facts *facts, size_t size, char *out);

#endif
