/** @file method.h
 * Methods: which encoder, bottleneck and noise a model has.
 *
 * All of them are BERT and a classifier (Devlin et al. 2019); what stands between the two tells them
 * apart (NVDP paper, sections 3 and 4.1).  Their options are set by name (nvdp/config.h).
 *
 * Stable: later versions add to it. */
#ifndef NVDP_METHOD_H
#define NVDP_METHOD_H

#include <nvdp/config.h>
#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** What a model is made of. */
enum nvdp_method {
    NVDP_METHOD_BASE,      /**< BERT and a classifier, nothing private */
    NVDP_METHOD_REG,       /**< base with dropout and decay towards the pretrained weights */
    NVDP_METHOD_VIB_FIXED, /**< one pooled vector per text, Gaussian noise of fixed scale (Eq. 9) */
    NVDP_METHOD_VIB_LEARNED, /**< the same, the scale of each dimension is trained (Eq. 10) */
    NVDP_METHOD_VTDP,        /**< one Gaussian per token, no weights (Eq. 8) */
    NVDP_METHOD_NVDP         /**< NVIB: Gaussians with Dirichlet weights (Henderson & Fehr 2023) */
};

/** What is read of the vectors of a text. */
enum nvdp_pool {
    NVDP_POOL_AUTO,    /**< the method's own: see docs/nvib.md and docs/vib.md */
    NVDP_POOL_FIRST,   /**< the first token's */
    NVDP_POOL_MEAN,    /**< their mean */
    NVDP_POOL_WEIGHTED /**< their mean by the sample's weights; where there are weights */
};

/** The name that options and files use.
 * @param method a method
 * @return "base", "reg", "vib-fixed", "vib-learned", "vtdp" or "nvdp"; "unknown" for any other
 *     value.  Static text. */
const char *nvdp_method_name(enum nvdp_method method);

/** The method of a name.
 * @param ctx where an error is recorded; NULL: nowhere
 * @param name "base", "reg", "vib-fixed", "vib-learned", "vtdp" or "nvdp"
 * @param out set on success, else untouched
 * @return NVDP_OK, or NVDP_ERR_ARGUMENT for any other name, which the message tells with those that
 *     there are */
nvdp_status nvdp_method_find(struct nvdp_context *ctx, const char *name, enum nvdp_method *out);
/** Whether the method has a bottleneck, and with it a posterior to measure and to share.
 * @param method any
 * @return false for base and reg */
bool nvdp_method_is_private(enum nvdp_method method);

/** Properties of a method. */
struct nvdp_method_info {
    size_t struct_size;      /**< NVDP_RESULT() sets it */
    const char *name;        /**< as options and files have it; static */
    const char *description; /**< one line; static */
    bool is_private;         /**< as nvdp_method_is_private() */
    bool has_weights; /**< samples have Dirichlet weights, unless the option weights is constant */
    size_t methods;   /**< number of methods; their values are 0 to methods - 1 */
};
/** Describes a method.
 * @param ctx    where an error is recorded; NULL: nowhere
 * @param method 0 to nvdp_method_info.methods - 1
 * @param out    the properties
 * @return NVDP_ERR_ARGUMENT: no such method, or *out does not tell its size */
nvdp_status nvdp_method_describe(struct nvdp_context *ctx, enum nvdp_method method,
                                 struct nvdp_method_info *out);

NVDP_END_DECLS
#endif
