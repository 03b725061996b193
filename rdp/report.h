/* Reports and certificates, and what their readers can do to improve the guarantee. */
#ifndef NVDP_RDP_REPORT_H
#define NVDP_RDP_REPORT_H

#include "base/result.h"

#include "rdp/options.h"
#include <jansson.h>
#include <nvdp/certificate.h>
#include <nvdp/privacy.h>
#include <stddef.h>

/* The property that a mechanism lacks when a condition of a theorem does not hold. */
enum nvdp__need {
    NVDP__NEED_NOISE,  /* the method adds noise */
    NVDP__NEED_SEALED, /* readers see nothing but the sample */
    NVDP__NEED_HIDDEN_LENGTH,
    NVDP__NEED_SAME_NOISE, /* the noise is the same for every text */
    NVDP__NEED_RADIUS,     /* one upper bound of the norm for all means of a text */
    NVDP__NEED_NO_WEIGHTS, /* no weights depend on the text */
    NVDP__NEED_WEIGHT_BOUNDS,
    NVDP__NEED_ROW_RADIUS, /* one upper bound of the norm for the mean of each vector */
    NVDP__NEED_VARIANCE_BOUNDS
};

/* The remedies come from the caller, who knows the options of training and the commands. The measurements know
 * neither. */
struct nvdp__remedies {
    /* Writes the options of training with which a certificate gets what it needs. */
    void (*need)(enum nvdp__need need, char *out, size_t size);
    /* Prints what removes infinite divergences; `exact` is true if the report also has the exact loss. */
    void (*infinite)(const struct nvdp_infinite_summary *from, bool exact, FILE *to);
};

/* Returns the JSON object of a struct nvdp_privacy_report; NULL if memory is exhausted or a method name is not
 * UTF-8. */
json_t *nvdp__privacy_report_pack(const void *report);
/* Prints the tables of a report, without the first and the last lines. `remedies` is NULL if the text shall name no
 * options. */
void nvdp__privacy_report_tables(const struct nvdp_privacy_report *report,
                                 const struct nvdp__remedies *remedies, FILE *to);
/* Prints the text of a report; `remedies` are the options that the text names. */
void nvdp__privacy_report_print(const struct nvdp_privacy_report *report,
                                const struct nvdp__remedies *remedies, FILE *to);
/* Prints the few lines of a report that matter most. */
void nvdp__privacy_report_summary(const void *report, FILE *to);
/* The kinds of these results. src/model defines the kind of the report, because the report's text names remedies. */
extern const struct nvdp_result_kind nvdp__privacy_kind, nvdp__linkage_kind;

/* Writes a certificate in plain English, one paragraph without line ends: the guarantee, what it rests on, and what
 * it does not cover. Without a guarantee: the condition that fails, and the option that would meet it.
 * ctx: records messages; may be NULL
 * certificate: from nvdp_certify()
 * out: the text; free()
 * Returns NVDP_ERR_MEMORY */
nvdp_status nvdp__certificate_statement(struct nvdp_context *ctx,
                                        const struct nvdp_certificate *certificate, char **out);

/* Bounds the success of a guess from an exact privacy loss curve delta(epsilon) = sup_S P_x(S) - e^epsilon Q(S).
 * The reference Q does not depend on the text. The curve may be the supremum or the mean over x. Returns the
 * minimum of e^epsilon b + delta(epsilon) over the given points; every point gives a bound. O(n).
 * baseline: b in [0, 1]
 * n: number of points
 * epsilon: [n] nats; may be negative
 * delta: [n] in [0, 1]
 * Returns probability in [b, 1]; NaN for another baseline */
double nvdp__guess_from_curve(double baseline, size_t n, const double *epsilon,
                              const double *delta);

/* Returns the result as a sentence: "Someone who has the model and these 872 texts names the right text for 21 % of
 * the samples (95 % interval: 18 to 24 %; chance: 0.11 %)." If the texts have labels, the sentence also says how often
 * a reader who knows them names the text.
 * linkage: from nvdp_linkage_measure()
 * Returns printable ASCII */
struct nvdp__claim_text nvdp__linkage_sentence(const struct nvdp_linkage *linkage);
/* Returns true if there is a linkage and it was measured. */
bool nvdp__linkage_measured(const struct nvdp_linkage *linkage);
/* Returns the JSON object of a linkage, with the sentence; null if the linkage was not measured. */
json_t *nvdp__linkage_pack(const void *linkage);

#endif
