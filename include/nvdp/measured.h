/** @file measured.h
 * The files of a run's measurements. RUN/privacy.json has every option at its default. Other options are in the
 * file's name, such as RUN/privacy-limit-20.json, so no measurement overwrites another one.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_MEASURED_H
#define NVDP_MEASURED_H

#include <nvdp/config.h>
#include <nvdp/context.h>

NVDP_BEGIN_DECLS

/** Returns the file name of a measurement with a configuration: "privacy.json", "privacy-limit-20.json".
 * @param ctx    records messages
 * @param config options of nvdp_run_config_create() and nvdp_privacy_config_create(), joined; others are ignored
 * @param stem   "privacy"; "certificate" for certificates; "measured" in a directory of privatized texts
 * @param out    the name; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_measured_name(struct nvdp_context *ctx, const struct nvdp_config *config,
                               const char *stem, char **out);

/** Adds to a report the options that differ from their defaults (`settings`). If the report has a number of texts,
 * also adds whether these are all texts of the split (`complete`).
 * @param ctx    records messages
 * @param config the options of the measurement
 * @param text   a report as one JSON object, from malloc(); replaced by the object with both keys
 * @return NVDP_ERR_ARGUMENT: not one JSON object; NVDP_ERR_MEMORY; *text is kept */
nvdp_status nvdp_measured_label(struct nvdp_context *ctx, const struct nvdp_config *config,
                                char **text);

/** Lists the measurements of a run as a JSON array with an object per file privacy*.json: `file`, `complete`,
 * `texts`, `of_texts` (texts of the split; null: unknown), `releases` and `settings` (null for older versions). The
 * first object is the main measurement of the run: complete before partial, one sample per text before several,
 * defaults before other options.
 * @param ctx records messages
 * @param run directory of the run
 * @param out the array; free()
 * @return NVDP_ERR_IO, NVDP_ERR_INPUT for an invalid file, which the message names; NVDP_ERR_MEMORY */
nvdp_status nvdp_measured_list(struct nvdp_context *ctx, const char *run, char **out);

NVDP_END_DECLS
#endif
