/* Summaries under attack: the file and the audit of its mechanism (summary_audit.c), and a test of one row
 * (summary.c). */
#ifndef NVDP_SRC_ATTACK_SUMMARY_H
#define NVDP_SRC_ATTACK_SUMMARY_H

#include "share/verify.h"

#include <nvdp/audit.h>

/* Reads and checks a file of kind summary/1.  Free `v` with nvdp__verify_release(), even after a failure.  Returns
 * NVDP_ERR_INPUT for a file of another kind, or an inconsistent file. */
nvdp_status nvdp__attacked_summary(struct nvdp_context *ctx, const char *path,
                                   struct nvdp__verify *v);
/* Audits the mechanism of a plan, with the arguments and errors of nvdp_audit_summary(). */
nvdp_status nvdp__audit_plan(struct nvdp_context *ctx, const struct nvdp__summary *of, size_t rows,
                             size_t releases, double confidence, uint64_t seed,
                             struct nvdp_summary_audit *out);

/* A question about one unit of a summary, a row or a person, asked by somebody who knows all other units. */
struct nvdp__summary_question {
    const char *name;              /* static */
    size_t answers;                /* m, number of equally likely answers */
    double baseline;               /* 1/m */
    double share;                  /* share of right answers over draws of the noise */
    struct nvdp_interval interval; /* 95 %, Clopper & Pearson */
    double bound;                  /* upper bound of `share` by theorem 2 */
    /* Share of the tested units for which the noise in the file gives the right answer. */
    double file;
};

/* Result of the attack summary. */
struct nvdp__summary_attack {
    size_t struct_size;
    size_t rows, tested; /* units of the collection; tested units */
    size_t releases;     /* number of draws of the noise */
    double mu;
    double noise;        /* root mean square of the file's noise, in stated deviations */
    double noise_chance; /* probability that the stated noise is so small */
    size_t questions;
    struct nvdp__summary_question question[3];
};

#endif
