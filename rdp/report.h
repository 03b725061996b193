/* Parts of the report of a set, for reports that contain it. */
#ifndef NVDP_RDP_REPORT_H
#define NVDP_RDP_REPORT_H

#include <jansson.h>
#include <nvdp/privacy.h>

/* The object of nvdp_privacy_report_json(); NULL: out of memory, or a method name that is not
 * UTF-8. */
json_t *nvdp__privacy_report_pack(const struct nvdp_privacy_report *report);
/* The tables of nvdp_privacy_report_text(), without its first and last lines. */
void nvdp__privacy_report_tables(const struct nvdp_privacy_report *report, FILE *to);

#endif
