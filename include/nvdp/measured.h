/** @file measured.h
 * The files of a run's measurements. RUN/privacy.json has every option at its default. Other options are in the
 * file's name, such as RUN/privacy-limit-20.json, so no measurement overwrites another one.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_MEASURED_H
#define NVDP_MEASURED_H

#include <nvdp/certificate.h>
#include <nvdp/config.h>
#include <nvdp/context.h>
#include <nvdp/privacy.h>
#include <nvdp/text_privacy.h>
#include <nvdp/train.h>

NVDP_BEGIN_DECLS

/** The measures that nvdp_measure() made, freed with nvdp_result_free(). The struct owns everything that it points
 * to. */
struct nvdp_measured {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    /** Privacy of the training texts; NULL without a run, or if the run's training was not private. */
    struct nvdp_training_privacy *training;
    /** Measures of posteriors, or of states with noise. NULL if no vectors were measured. */
    struct nvdp_privacy_report *vectors;
    /** Measures of texts under a mechanism on tokens; NULL if there is none. */
    struct nvdp_dchi_report *tokens;
    struct nvdp_certificate *certificate; /**< NULL unless the option certify is set */
    /** First lines about a run (nvdp_guarantee_line() and nvdp_guarantee_guesses()), each with its line end; NULL if
     * the run's noise is on tokens, if the run is not finished, or without a run. */
    char *guarantee;
    /** The report with the training's guarantee, or the certificate, as one JSON object; NULL if there is neither. */
    char *json;
    char *unsaved; /**< why the report could not be saved; NULL if saving did not fail */
};

/** Measures the privacy of the samples of a run, of a file of posteriors (option posteriors), or of the texts of a task
 * under a mechanism that privatizes them token by token. For a run or a folder of privatized texts, writes the report
 * to the file nvdp_measured_name() in its directory. For a run whose method has no samples to measure, reports only the
 * guarantee of its training. With the option certify, certifies the run and measures nothing.
 * @param ctx    reports progress, records messages, can cancel
 * @param run    directory of a run; NULL if there is none
 * @param config options of the kinds "run,text-privacy". Options posteriors,
 *               posteriors-out, pairs, out and certify are read if the configuration has them (nvdp_config_add())
 * @param out    the result; untouched on error
 * @return NVDP_ERR_ARGUMENT for options that do not fit the measurement; otherwise as nvdp_run_posteriors(),
 *         nvdp_privacy_measure(), nvdp_text_privacy() and nvdp_model_certificate() */
nvdp_status nvdp_measure(struct nvdp_context *ctx, const char *run,
                         const struct nvdp_config *config, struct nvdp_measured *out);

/** Returns the file name of a measurement with a configuration: "privacy.json", "privacy-limit-20.json".
 * @param ctx    records messages
 * @param config of kinds "run,privacy"; other options are ignored
 * @param stem   "privacy"; "certificate" for certificates; "measured" in a directory of privatized texts
 * @param out    the name; the caller frees it with free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_measured_name(struct nvdp_context *ctx, const struct nvdp_config *config,
                               const char *stem, char **out);

/** Lists the measurements of a run as a JSON array with an object per file privacy*.json: `file`, `complete`,
 * `texts`, `of_texts` (texts of the split; null if unknown), `releases` and `settings` (null for older versions). The
 * first object is the main measurement of the run: complete before partial, one sample per text before several,
 * defaults before other options.
 * @param ctx records messages
 * @param run directory of the run
 * @param out the array; the caller frees it with free()
 * @return NVDP_ERR_IO, NVDP_ERR_INPUT for an invalid file, which the message names; NVDP_ERR_MEMORY */
nvdp_status nvdp_measured_list(struct nvdp_context *ctx, const char *run, char **out);

NVDP_END_DECLS
#endif
