/* The facts of a release, and its statement in plain English. */
#ifndef NVDP_SRC_SHARE_STATEMENT_H
#define NVDP_SRC_SHARE_STATEMENT_H

#include "base/sentence.h"
#include "share/ledger.h"
#include "share/sampler.h"
#include <nvdp/share.h>

/* Which of the texts the encoder was trained on. */
enum nvdp__training {
    NVDP__TRAINING_MAYBE, /* a file of the user's, or other splits: not known per text */
    NVDP__TRAINING_SOME,  /* those of split train */
    NVDP__TRAINING_ALL    /* all are of split train */
};
extern const char *const nvdp__training_names[]; /* "maybe", "some", "all" */

/* Everything that is said.  All of it is public. */
struct nvdp__release_facts {
    const struct nvdp__model_info *info;
    struct nvdp__form form;    /* of the samples */
    double lambda_g, lambda_d; /* NaN: unknown */
    size_t texts, samples;
    bool labels;
    bool insecure_seed;
    const struct nvdp__release_grids *grids; /* NULL: float16 */
    size_t rows;                             /* of the longest sample */
    enum nvdp__training training;
    bool private_training;    /* the run's own was differentially private, by nobody's seed */
    char model_id[33];        /* random: nothing of the model */
    bool counted;             /* by a ledger */
    struct nvdp__spent spent; /* its count of these texts, with this file; 0: no ledger */
    bool measured, publish;   /* what was measured goes into the file */
    bool
        named; /* somebody with the model and the texts names more than half of the samples' texts (nvdp__names_most) */
    struct nvdp_privacy_report privacy;  /* of one release but for `bdp`, which is of all of them */
    double delta;                        /* of the Bayesian accounting */
    double bound_order;                  /* at which a sequence clip's bound is told */
    char created[32];                    /* ISO 8601, UTC */
    struct nvdp_limits limits;           /* of the mechanism */
    bool certified;                      /* `certificate` proves something of the file's noise */
    struct nvdp_certificate certificate; /* at delta 1e-5, of all samples of a text */
    char proof[2048];                    /* it, in plain English */
    bool useful;                         /* of nvdp__release_guarantee(), as the line */
    char guarantee[NVDP_GUARANTEE_SIZE];
};

/* Rounded up to three digits.  A summary of texts is published without noise: its last digits would
 * say more about single texts than anybody needs. */
double nvdp__public_number(double value);
/* An upper bound as statements print it. */
double nvdp__public_bound(double value);
/* Fills the certificate from `limits`; there is none of inexact noise, of noise from a seed, and where the weights'
 * sampler adds more than a thousandth of delta. */
nvdp_status nvdp__release_certify(struct nvdp_context *ctx, struct nvdp__release_facts *facts);
/* True where more than half of the samples are named.  Fewer than 100 texts do not count: among few, chance names many. */
bool nvdp__names_most(const struct nvdp_linkage *linkage);
/* Decides whether the file has a useful guarantee: a certificate whose epsilon, for all samples of a text that the ledger counts,
 * is at most NVDP_USEFUL_EPSILON, and no more than half of the samples named.  Fills `useful` and `guarantee`, the first line of
 * the statement: what is proven, or why there is no useful guarantee. */
nvdp_status nvdp__release_guarantee(struct nvdp_context *ctx, struct nvdp__release_facts *facts);
/* Of the weights of all samples of a text: total variation from a Dirichlet's, at most; rounded up. */
double nvdp__release_weights_distance(const struct nvdp__release_facts *facts);
/* What no two texts exceed in one sample, and at which order, with a sequence clip. */
double nvdp__release_bound(const struct nvdp__release_facts *facts);
/* Which words a statement has: one more with every change of them.  nvdp verify compares no others. */
enum { NVDP__STATEMENT_WORDS = 4 };
/* What the statement begins with, says of what was measured, and ends with. */
void nvdp__statement_opening(const struct nvdp__release_facts *facts, size_t size, char *out);
void nvdp__statement_middle(const struct nvdp__release_facts *facts, size_t size, char *out);
void nvdp__statement_closing(const struct nvdp__release_facts *facts, size_t size, char *out);
/* In plain English, cut to `size` bytes. */
void nvdp__statement(const struct nvdp__release_facts *facts, size_t size, char *out);

#endif
