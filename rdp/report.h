/* Reports and certificates, and what their readers can do to improve the guarantee. */
#ifndef NVDP_RDP_REPORT_H
#define NVDP_RDP_REPORT_H

#include <jansson.h>
#include <nvdp/privacy.h>
#include <stddef.h>

/* The property that a mechanism lacks when a condition of a theorem does not hold. */
enum nvdp__need {
    NVDP__NEED_NOISE,  /* a method that adds noise */
    NVDP__NEED_SEALED, /* nothing but the sample is read */
    NVDP__NEED_HIDDEN_LENGTH,
    NVDP__NEED_SAME_NOISE, /* for every text */
    NVDP__NEED_RADIUS,     /* one norm for all means of a text */
    NVDP__NEED_NO_WEIGHTS, /* that depend on the text */
    NVDP__NEED_WEIGHT_BOUNDS,
    NVDP__NEED_ROW_RADIUS, /* one norm for the mean of each vector */
    NVDP__NEED_VARIANCE_BOUNDS
};

/* Remedies come from the caller, who knows the options of training and the commands.  Measurements know neither. */
struct nvdp__remedies {
    /* Writes the options that would meet the need. */
    void (*need)(enum nvdp__need need, char *out, size_t size);
    /* Prints what removes infinite divergences; exact: the report has the exact loss too. */
    void (*infinite)(const struct nvdp_infinite_summary *from, bool exact, FILE *to);
};

/* The object of nvdp_privacy_report_json(); NULL: out of memory, or a method name that is not
 * UTF-8. */
json_t *nvdp__privacy_report_pack(const struct nvdp_privacy_report *report);
/* The tables of nvdp_privacy_report_text(), without its first and last lines.  remedies NULL: none are named. */
void nvdp__privacy_report_tables(const struct nvdp_privacy_report *report,
                                 const struct nvdp__remedies *remedies, FILE *to);
/* nvdp_privacy_report_text() with these remedies. */
nvdp_status nvdp__privacy_report_text(struct nvdp_context *ctx,
                                      const struct nvdp_privacy_report *report,
                                      const struct nvdp__remedies *remedies, char **out);

#endif
