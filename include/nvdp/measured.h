/** @file measured.h
 * The files in which a run keeps its measurements.  RUN/privacy.json has every option at its default; other options
 * stand in the file's name, as in RUN/privacy-limit-20.json.  So no measurement replaces another one.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_MEASURED_H
#define NVDP_MEASURED_H

#include <nvdp/config.h>
#include <nvdp/context.h>

NVDP_BEGIN_DECLS

/** The name of the file for what is measured with a configuration: "privacy.json", "privacy-limit-20.json".
 * @param ctx    records messages
 * @param config options of nvdp_run_config_create() and nvdp_privacy_config_create(), joined; others do not count
 * @param stem   "privacy"; "certificate" of what is proven; "measured" in a folder of privatized texts
 * @param out    the name; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_measured_name(struct nvdp_context *ctx, const struct nvdp_config *config,
                               const char *stem, char **out);

/** Adds to a report the options that differ from their defaults (`settings`) and, where it counts texts, whether these
 * are all texts of the split (`complete`).
 * @param ctx    records messages
 * @param config the options that it was measured with
 * @param text   a report as one JSON object, from malloc(); the object with both in its place
 * @return NVDP_ERR_ARGUMENT: not one JSON object; NVDP_ERR_MEMORY; *text is kept */
nvdp_status nvdp_measured_label(struct nvdp_context *ctx, const struct nvdp_config *config,
                                char **text);

/** Lists the measurements of a run: a JSON array with an object for each file privacy*.json: `file`, `complete`, `texts`,
 * `of_texts` (texts of the split; null: unknown), `releases` and `settings` (null of earlier versions).  The first one
 * speaks for the run: a complete measurement comes before a partial one, one sample of a text before several, the
 * defaults before other options.
 * @param ctx records messages
 * @param run directory of the run
 * @param out the array; free()
 * @return NVDP_ERR_IO, NVDP_ERR_INPUT: a broken file, named; NVDP_ERR_MEMORY */
nvdp_status nvdp_measured_list(struct nvdp_context *ctx, const char *run, char **out);

NVDP_END_DECLS
#endif
