/** @file bottleneck.h
 * Bottlenecks in other frameworks: the options, limits and gradients that an implementation outside this library needs
 * in order to train the same mechanism (docs/nvib.md, docs/vib.md). nvdp.torch is such an implementation.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_BOTTLENECK_H
#define NVDP_BOTTLENECK_H

#include <nvdp/certificate.h>
#include <nvdp/config.h>
#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** Checks the options of a bottleneck on an encoder. Replaces options that are "auto" or 0, or that follow from other
 * options, by the values that training would use. Length 0 becomes max-length.
 * @param ctx    records messages; may be NULL
 * @param config of kind "train"; needs neither task nor data nor model
 * @param width  length of the encoder's hidden states
 * @param heads  attention heads of the encoder: the maximum of the sealed block
 * @param limits receives the limits of the posteriors over all texts, for nvdp_certify(), except limits that trained
 *               parameters set; may be NULL
 * @param out    a JSON object, which the caller frees with free(). "nvib" has the form of "nvib" in config.json of a
 *               model (docs/formats.md). "lambda_g", "lambda_d", "kl_schedule", "kl_delay" and "kl_ramp" weigh the
 *               losses. "method" has these properties: "block" (a sealed block reads the sample), "weights" (samples
 *               have weights), "single" (one vector per text), "own_noise" (the deviations do not depend on the text),
 *               "trained_noise" (these deviations are trained)
 * @return NVDP_ERR_ARGUMENT, whose message names the option, also for a method without a bottleneck; NVDP_ERR_MEMORY */
nvdp_status nvdp_bottleneck_resolve(struct nvdp_context *ctx, const struct nvdp_config *config,
                                    size_t width, size_t heads, struct nvdp_limits *limits,
                                    char **out);

/** Computes d log g / d log alpha of draws g ~ Gamma(alpha, 1) at fixed randomness: the implicit gradient (Figurnov,
 * Mohamed & Mnih 2018, Eq. 7). Takes log g, so that a draw below the smallest double has a gradient, too. The relative
 * error is below 2e-13 for alpha in [1e-5, 1e5]. The gradient is finite outside of this range. O(n).
 * @param n     number of draws
 * @param alpha [n] pseudo-counts, above 0
 * @param log_g [n] logarithms of the draws
 * @param out   [n] receives the gradients; NaN for alpha or log_g out of range */
void nvdp_gamma_gradient(size_t n, const double *alpha, const double *log_g, double *out);

NVDP_END_DECLS
#endif
