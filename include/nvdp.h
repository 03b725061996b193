/** @file
 * NVDP: nonparametric variational differential privacy for text embeddings.  Takes all headers.
 *
 * @mainpage nvdp
 *
 * A text becomes a *posterior* over a few weighted vectors, and what is handed out is one random
 * sample of it: weights pi, vectors z.  Everything behind the sample (classifiers, readers, third
 * parties) sees the sample alone.  How private that is, is a number: the Renyi divergence between
 * two texts' samples, summed over everything that is shared, in nats.
 *
 * @section way A text's way through the library
 *
 * @verbatim
 *     TSV row     nvdp_dataset_load()        token ids: nvdp/dataset.h, nvdp/tokenizer.h
 *     hidden      nvdp_encode()              states of the encoder: nvdp/bert.h, nvdp/evaluate.h
 *     posterior   nvdp_run_posteriors()      alpha, mu, log variance: nvdp/posteriors.h
 *     sample      nvdp_export()              what is shared: nvdp/share.h
 *     score       nvdp_evaluate()            of the model's own head: nvdp/evaluate.h
 *     reader      nvdp_reuse()               trained from the shared file alone: nvdp/share.h
 *     privacy     nvdp_renyi_pairs()         between all pairs of posteriors: nvdp/rdp.h
 *     proof       nvdp_certify()             over all texts, seen or not: nvdp/certificate.h
 * @endverbatim
 *
 * Training makes the encoder and the mechanism (nvdp/train.h, nvdp/method.h), one call from a
 * configuration to a directory; nvdp/pretrain.h makes encoders from plain text; nvdp/trainer.h goes
 * step by step.  The program `nvdp` is a thin layer on these calls.
 *
 * @section example An example
 *
 * @code{.c}
 * #include <nvdp.h>
 * #include <stdio.h>
 *
 * int main(void) {
 *     struct nvdp_context *ctx = NULL;
 *     struct nvdp_config *config = NULL;
 *     struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
 *     nvdp_status status = nvdp_context_create(&ctx);
 *     if (status != NVDP_OK) return 1;
 *     status = nvdp_train_config_create(ctx, &config);
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "task", "mrpc");
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "data", "glue/MRPC");
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "model", "models/compact");
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "method", "nvdp");
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "lambda", "1e-2");
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "out", "run");
 *     if (status == NVDP_OK) status = nvdp_train(ctx, config, &result);
 *     if (status == NVDP_OK) printf("accuracy %.3f\n", result.test.mean[0]);
 *     if (status != NVDP_OK) fprintf(stderr, "%s\n", nvdp_context_error(ctx));
 *     nvdp_config_free(config);
 *     nvdp_context_free(ctx);
 *     return status != NVDP_OK;
 * }
 * @endcode
 *
 * @verbatim
 *     cc example.c $(pkg-config --cflags --libs nvdp)
 * @endverbatim
 *
 * Four longer ones, compiled and run by the tests, are in experiments/examples.
 *
 * @section conventions Conventions
 *
 * - Fallible functions return an nvdp_status and give results through trailing pointers, which are
 *   untouched on error; nvdp_context_error() then holds one line that names the file, line, tensor
 *   or field at fault, what was expected and what was found.
 * - Handles are made by `_create`, `_load` or `_open` and released by `_free`, which takes NULL.
 * - Options are set by name (nvdp/config.h); results are structs that carry their size, so that a
 *   new option or result breaks no program.
 * - Divergences and other privacy figures are double, in nats; +infinity is a value and is kept.
 * - Nothing is printed, and the process is neither ended nor forked: messages, progress and the wish
 *   to stop pass through the context's callbacks (nvdp/context.h).
 * - A context is used by one thread at a time.
 * - While the version is 0.x, a new minor version may change the interface: it is part of the
 *   shared library's name (libnvdp.so.0.1).
 *
 * Stable: later versions add to it. */
#ifndef NVDP_H
#define NVDP_H

#include <nvdp/account.h>
#include <nvdp/attack.h>
#include <nvdp/audit.h>
#include <nvdp/bert.h>
#include <nvdp/certificate.h>
#include <nvdp/config.h>
#include <nvdp/context.h>
#include <nvdp/dataset.h>
#include <nvdp/dchi.h>
#include <nvdp/encoder.h>
#include <nvdp/evaluate.h>
#include <nvdp/guarantee.h>
#include <nvdp/guess.h>
#include <nvdp/linkage.h>
#include <nvdp/measured.h>
#include <nvdp/method.h>
#include <nvdp/model.h>
#include <nvdp/posteriors.h>
#include <nvdp/precision.h>
#include <nvdp/pretrain.h>
#include <nvdp/privacy.h>
#include <nvdp/ranks.h>
#include <nvdp/rdp.h>
#include <nvdp/safetensors.h>
#include <nvdp/sanitize.h>
#include <nvdp/share.h>
#include <nvdp/status.h>
#include <nvdp/text_privacy.h>
#include <nvdp/tokenizer.h>
#include <nvdp/train.h>
#include <nvdp/trainer.h>
#include <nvdp/version.h>

#endif
