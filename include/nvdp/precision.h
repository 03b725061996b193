/**
 * @file
 * In what arithmetic matrix products run.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_PRECISION_H
#define NVDP_PRECISION_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** Arithmetic of models and encoders. */
enum nvdp_precision {
    NVDP_PRECISION_F32, /**< float32 throughout. */
    /**
     * The encoder's products, attention's among them, and the mechanisms' dense layers take bfloat16
     * operands and sum in float32; what in the encoder only products and activations read again is
     * kept as bfloat16.  Parameters, their gradients, optimiser, residual stream, LayerNorm,
     * softmax, the sealed block's attention, heads, losses and noise stay float32.
     */
    NVDP_PRECISION_BF16,
    /**
     * For encoding and scoring, not for training: the dense layers of the encoder multiply 8-bit
     * integers.  Weights are symmetric with a scale for every output; activations have a least value
     * and a step for every token, found as it passes.  Sums are exact, so that a token's result does
     * not depend on its batch.  All else is as in bf16 where the processor has that, else as in f32.
     */
    NVDP_PRECISION_INT8
};

/**
 * A precision's name.
 *
 * @param precision the precision.
 * @return "f32", "bf16" or "int8".
 */
const char *nvdp_precision_name(enum nvdp_precision precision);

/**
 * Whether bfloat16 products are to be had here.
 *
 * @return why not (the build lacks oneDNN, the processor lacks the instructions); NULL where they are.
 */
const char *nvdp_bf16_missing(void);

/**
 * Whether int8 products are to be had here.
 *
 * @return why not (the build lacks oneDNN, the processor lacks 8-bit dot products); NULL where they
 * are.
 */
const char *nvdp_int8_missing(void);

/**
 * Chooses the precision of the models and encoders made from now on; before: f32.  Where bf16 is not
 * to be had they compute in f32, and a notice says why; where int8 is not, making them fails.
 *
 * @param ctx the context.
 * @param precision the precision.
 */
void nvdp_context_set_precision(struct nvdp_context *ctx, enum nvdp_precision precision);

/**
 * The precision that was chosen.
 *
 * @param ctx the context.
 * @return the precision, whether or not it is to be had.
 */
enum nvdp_precision nvdp_context_precision(const struct nvdp_context *ctx);

NVDP_END_DECLS

#endif
