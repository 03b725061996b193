/** @file
 * Precision: the arithmetic of matrix products.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_PRECISION_H
#define NVDP_PRECISION_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** Arithmetic of models and encoders. */
enum nvdp_precision {
    NVDP_PRECISION_F32, /**< float32 everywhere */
    /** The products of the encoder, including attention, and the dense layers of the mechanisms take bfloat16
     * operands and sum in float32. Encoder activations that only products and activation functions read are stored
     * as bfloat16. Parameters, their gradients, optimizer state, residual stream, LayerNorm, softmax, the sealed
     * block's attention, heads, losses and noise are float32. */
    NVDP_PRECISION_BF16,
    /** For encoding and scoring, not for training: the dense layers of the encoder multiply 8-bit integers. Weights
     * are symmetric with a scale per output. Activations have a minimum and a step per token, computed dynamically.
     * Sums are exact, so a token's result does not depend on its batch. Everything else is as in bf16 if the
     * processor supports bf16, else as in f32. */
    NVDP_PRECISION_INT8
};

/** Returns the name of a precision.
 * @param precision the precision
 * @return "f32", "bf16" or "int8" */
const char *nvdp_precision_name(enum nvdp_precision precision);

/** Sets the precision of models and encoders that are created from now on; the initial precision is f32. If bf16 is
 * unavailable, models and encoders use f32, and a notice states the reason. If int8 is unavailable, creating a model or
 * encoder fails.
 * @param ctx       the context
 * @param precision the precision */
void nvdp_context_set_precision(struct nvdp_context *ctx, enum nvdp_precision precision);

NVDP_END_DECLS

#endif
