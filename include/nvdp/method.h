/** @file method.h
 * Methods: encoder, bottleneck and noise of a model.
 *
 * Every method has an encoder such as BERT and a classifier (Devlin et al. 2019). Methods differ in the part between
 * encoder and classifier (NVDP paper, sections 3 and 4.1). nvdp/config.h sets the options of a method.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_METHOD_H
#define NVDP_METHOD_H

#include <nvdp/config.h>
#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** Methods. */
enum nvdp_method {
    NVDP_METHOD_BASE,        /**< BERT and a classifier, not private */
    NVDP_METHOD_REG,         /**< base with dropout and decay towards the pretrained weights */
    NVDP_METHOD_VIB_FIXED,   /**< one pooled vector per text, fixed Gaussian noise (Eq. 9) */
    NVDP_METHOD_VIB_LEARNED, /**< as vib-fixed, with a trained scale per dimension (Eq. 10) */
    NVDP_METHOD_VTDP,        /**< one Gaussian per token, no weights (Eq. 8) */
    NVDP_METHOD_NVDP,        /**< NVIB: Gaussians with Dirichlet weights (Henderson & Fehr 2023) */
    /** a sum of clipped word vectors with noise: private per word (docs/certified.md). */
    NVDP_METHOD_WORD,
    /** The sentence embedding of an encoder, mapped, with noise. The encoder is not trained; the map is trained only
     * with the objective distill (docs/vib.md). */
    NVDP_METHOD_SENTENCE
};

/** Pooling of the vectors of a text before the classifier. */
enum nvdp_pool {
    NVDP_POOL_AUTO,    /**< the method's default: docs/nvib.md, docs/vib.md */
    NVDP_POOL_FIRST,   /**< the first token's vector */
    NVDP_POOL_MEAN,    /**< mean of the vectors */
    NVDP_POOL_WEIGHTED /**< mean by the sample's weights, if there are weights */
};

/** Returns a method's name in options and files.
 * @param method a method
 * @return "base", "reg", "vib-fixed", "vib-learned", "vtdp", "nvdp", "word" or "sentence"; "unknown" for any other
 *         value. Static text */
const char *nvdp_method_name(enum nvdp_method method);

/** Finds a method by name.
 * @param ctx  records an error; may be NULL
 * @param name "base", "reg", "vib-fixed", "vib-learned", "vtdp", "nvdp", "word" or "sentence"
 * @param out  set on success, else untouched
 * @return NVDP_OK, or NVDP_ERR_ARGUMENT for any other name; the message lists the methods */
nvdp_status nvdp_method_find(struct nvdp_context *ctx, const char *name, enum nvdp_method *out);
/** Returns true if the method has a bottleneck: then a text has a posterior, whose samples can be measured and shared.
 * @param method any
 * @return false for base and reg */
bool nvdp_method_is_private(enum nvdp_method method);

/** Properties of a method. */
struct nvdp_method_info {
    size_t struct_size;      /**< NVDP_RESULT() sets it */
    const char *name;        /**< name in options and files; static */
    const char *description; /**< one line; static */
    bool is_private;         /**< as nvdp_method_is_private() */
    /** Samples have Dirichlet weights, unless the option weights is constant. */
    bool has_weights;
    size_t methods; /**< number of methods; their values are 0 to methods - 1 */
};
/** Describes a method.
 * @param ctx    records an error; may be NULL
 * @param method 0 to nvdp_method_info.methods - 1
 * @param out    the properties
 * @return NVDP_ERR_ARGUMENT if there is no such method or *out has no struct_size */
nvdp_status nvdp_method_describe(struct nvdp_context *ctx, enum nvdp_method method,
                                 struct nvdp_method_info *out);

NVDP_END_DECLS
#endif
