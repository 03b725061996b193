/* A release: how its samples are drawn, and what its file says about itself.
 *
 * The tensor operations that training uses compute a sample in float32.  A release is drawn here
 * instead, in double, and rounded once: the values that can come out, and how dense they lie, must
 * not depend on the text (Mironov 2012, "On significance of the least significant bits for
 * differential privacy").  Rows, their order and the random streams are those of the mechanism, so
 * that with the same streams both give the same sample up to rounding. */
#ifndef NVDP_SRC_SHARE_RELEASE_H
#define NVDP_SRC_SHARE_RELEASE_H

#include "base/exact_normal.h"
#include "hdf5/hdf5.h"
#include "mechanism/mechanism.h"
#include "share/ledger.h"
#include <nvdp/certificate.h>
#include <nvdp/model.h>
#include <nvdp/share.h>

/* --- samples --- */

struct nvdp__release {
    const struct nvdp_posteriors *posteriors;
    struct nvdp__noise noise;
    uint32_t sample; /* number of the sample among those of one text: the streams' epoch */
};

/* Rows of text i's sample: (1 + L) kappa or (1 + tokens) kappa with weights; without weights L, or
 * the tokens. */
size_t nvdp__release_rows(const struct nvdp_posteriors *posteriors, size_t i);
/* Draws text i's sample under stream number `key`: z [rows, p], log_pi [rows] (NULL without
 * weights).  Nothing is rounded yet. */
void nvdp__release_draw(const struct nvdp__release *release, size_t i, uint64_t key, double *z,
                        double *log_pi);
/* The same of the first `vectors` rows of z, and all of log_pi. */
void nvdp__release_draw_first(const struct nvdp__release *release, size_t i, uint64_t key,
                              size_t vectors, double *z, double *log_pi);
/* Onto the grid: to the nearest f16, vectors kept within +-65504, log weights within [-65504, 0].
 * What comes out is exact in float. */
void nvdp__grid_vectors(size_t n, const double *z, float *out);
void nvdp__grid_log_weights(size_t n, const double *log_pi, float *out);

/* The fixed grids of a release, the same for every text: of a model with a sequence clip int16 of 2^-10,
 * the noise's standard deviation being 1; else, where deviations may be small and means large, int32 of 2^-12.
 * Log weights: int16 of 2^-8. */
struct nvdp__release_grids {
    enum nvdp__h5_type type;
    struct nvdp__rounding_grid z, log_pi;
};
struct nvdp__release_grids nvdp__release_grids(double clip_sequence);
/* NVDP_ERR_ARGUMENT where a deviation or the pseudo-counts of one of the texts are beyond what can be drawn
 * exactly on them. */
nvdp_status nvdp__release_fits(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               const struct nvdp__release_grids *grids);
/* The same for every text at once, before one is read: a refusal that no text changes. */
nvdp_status nvdp__release_fits_limits(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                                      const struct nvdp__release_grids *grids);
/* What the means of text i are multiplied with before they are cut off towards zero: 1, or a little less
 * where a sequence clip's norm would be exceeded by rounding. */
double nvdp__release_factor(const struct nvdp_posteriors *posteriors, size_t i);
/* Draws text i's sample under stream number `key` with exact normals, rounded once, onto the grids: z
 * [rows, p], log_pi [rows] (NULL without weights).  Under a sequence clip C the means that are released
 * have norm C at most, in exact arithmetic.  `scratch` has nvdp__release_bytes bytes, aligned for any type. */
size_t nvdp__release_bytes(size_t rows, size_t dim);
void nvdp__release_draw_fixed(const struct nvdp__release *release,
                              const struct nvdp__release_grids *grids, size_t i, uint64_t key,
                              void *scratch, int32_t *z, int32_t *log_pi);

/* --- what is said --- */

/* Plain English that grows in a buffer; what does not fit is cut. */
struct nvdp__writer {
    char *out;
    size_t size, used;
};
__attribute__((format(printf, 2, 3))) void nvdp__say(struct nvdp__writer *writer,
                                                     const char *format, ...);

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

/* Now, or $SOURCE_DATE_EPOCH. */
void nvdp__creation_date(char out[32]);
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
/* Sets every attribute but nvdp_format and the grid's. */
nvdp_status nvdp__release_attributes(struct nvdp__h5 *file,
                                     const struct nvdp__release_facts *facts);
/* What an attribute of a file of embeddings is, by its name. */
enum nvdp__attribute {
    NVDP__ATTRIBUTE_NONE,    /* there is no such */
    NVDP__ATTRIBUTE_CREATED, /* set by nvdp__embeddings_create */
    NVDP__ATTRIBUTE_TEXT,
    NVDP__ATTRIBUTE_WHOLE,
    NVDP__ATTRIBUTE_REAL
};
enum nvdp__attribute nvdp__attribute_find(const char *name);

#endif
