/** @file
 * NVDP: nonparametric variational differential privacy for text embeddings. Includes all headers.
 *
 * @mainpage nvdp
 *
 * A text becomes a posterior over a few weighted vectors, and one random sample of the posterior is shared: weights
 * pi, vectors z. Classifiers, readers and third parties see only the sample. Its privacy is a number: the Renyi
 * divergence between the samples of two texts, summed over everything that is shared, in nats.
 *
 * @section first A first example
 *
 * How far apart are two Gaussians, and what does that guarantee?
 *
 * @code{.c}
 * #include <nvdp.h>
 * #include <stdio.h>
 *
 * int main(void) {
 *     const double mu_p[] = {0, 0}, mu_q[] = {1, 0}, variance[] = {1, 1};
 *     printf("%.3f nats\n", nvdp_renyi_gaussian(2, 2, mu_p, variance, mu_q, variance));
 *     printf("epsilon %.2f at delta 1e-5\n", nvdp_gdp_epsilon(1, 1e-5));
 *     printf("a guess that is right half of the time: %.1f %%\n", 100 * nvdp_guess_bound(0.5, 0.5, 1, 0));
 * }
 * @endcode
 *
 * @verbatim
 *     cc first.c $(pkg-config --cflags --libs nvdp) && ./a.out
 *     1.000 nats
 *     epsilon 4.38 at delta 1e-5
 *     a guess that is right half of the time: 69.1 %
 * @endverbatim
 *
 * @section concepts Index by concept
 *
 * - <b>Errors, messages, options:</b> nvdp/status.h, nvdp/context.h (log, progress, cancel), nvdp/config.h (options
 *   by name), nvdp/version.h.
 * - <b>Texts:</b> nvdp/dataset.h (nvdp_dataset_load_file()), nvdp/tokenizer.h.
 * - <b>Encoders:</b> nvdp/encoder.h (hidden states and sentence vectors), nvdp/bert.h (configurations),
 *   nvdp/precision.h, nvdp/pretrain.h (nvdp_pretrain(): encoders from plain text).
 * - <b>Training:</b> nvdp/method.h (the mechanisms), nvdp/train.h (nvdp_train(): from options to a run directory),
 *   nvdp/trainer.h (one step at a time), nvdp/ranks.h (several processes), nvdp/model.h, nvdp/bottleneck.h (for other
 *   frameworks).
 * - <b>Using a run:</b> nvdp/evaluate.h (nvdp_evaluate(), nvdp_predict_texts(), nvdp_run_posteriors()),
 *   nvdp/guarantee.h (its privacy in one line).
 * - <b>Privacy of given texts:</b> nvdp/posteriors.h, nvdp/rdp.h (Renyi divergences, the exact loss), nvdp/privacy.h
 *   (over a data set, Bayesian DP), nvdp/linkage.h (re-identification), nvdp/measured.h (the files of measurements).
 * - <b>Proofs over all texts:</b> nvdp/certificate.h (nvdp_certify()), nvdp/guess.h (nvdp_guess_bound()).
 * - <b>Private training:</b> nvdp/account.h (nvdp_account()).
 * - <b>Sharing:</b> nvdp/share.h (nvdp_export(), nvdp_verify(), nvdp_reuse()), nvdp/summary.h
 *   (nvdp_summarize()).
 * - <b>Attacks:</b> nvdp/attack.h (nvdp_attack()), nvdp/audit.h (lower bounds on epsilon).
 * - <b>Text privatization:</b> nvdp/dchi.h (mechanisms on word vectors), nvdp/sanitize.h (texts and files),
 *   nvdp/text_privacy.h, nvdp/analysis.h.
 *
 * @section way From text to sample
 *
 * @verbatim
 *     TSV row     nvdp_train(), nvdp_export()   token ids: nvdp/dataset.h, nvdp/tokenizer.h
 *     hidden      nvdp_encode()              states of the encoder: nvdp/bert.h, nvdp/evaluate.h
 *     posterior   nvdp_run_posteriors()      alpha, mu, log variance: nvdp/posteriors.h
 *     sample      nvdp_export()              the shared file: nvdp/share.h
 *     score       nvdp_evaluate()            accuracy of the model: nvdp/evaluate.h
 *     reader      nvdp_reuse()               trained on the shared file only: nvdp/share.h
 *     privacy     nvdp_renyi_pairs()         between all pairs of posteriors: nvdp/rdp.h
 *     proof       nvdp_certify()             over all texts, seen or not: nvdp/certificate.h
 * @endverbatim
 *
 * @section example Training a run
 *
 * The program `nvdp` consists of such calls.
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
 *     status = nvdp_config_create(ctx, "train", &config);
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "task", "mrpc");
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "data", "glue/MRPC");
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "model", "models/compact");
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "method", "nvdp");
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "lambda", "1e-2");
 *     if (status == NVDP_OK) status = nvdp_config_set(config, "out", "run");
 *     if (status == NVDP_OK) status = nvdp_train(ctx, config, &result);
 *     if (status == NVDP_OK) printf("accuracy %.3f\n", result.test->mean[0]);
 *     if (status != NVDP_OK) fprintf(stderr, "%s\n", nvdp_context_error(ctx));
 *     nvdp_result_free(&result);
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
 * experiments/examples has four longer examples, which the tests compile and run.
 *
 * @section conventions Conventions
 *
 * - Fallible functions return an nvdp_status and results through trailing pointers, which are untouched on error.
 *   nvdp_context_error() then returns one line with the file, line, tensor or field at fault, what was expected and
 *   what was found.
 * - `_create`, `_load` and `_open` make objects; `_free` frees them and accepts NULL.
 * - Options are set by name (nvdp/config.h), and result structs have their size as a member. So a new option or result
 *   breaks no program.
 * - Divergences and other privacy measures are double, in nats; +infinity is a valid value.
 * - The library prints nothing, and does not exit or fork. Messages, progress and cancel requests pass through the
 *   context's callbacks (nvdp/context.h).
 * - One thread at a time uses a context.
 * - While the version is 0.x, a new minor version may change the interface: the minor version is part of the name of
 *   the shared library (libnvdp.so.0.1).
 *
 * Stable: later versions add to it. */
#ifndef NVDP_H
#define NVDP_H

#include <nvdp/account.h>
#include <nvdp/analysis.h>
#include <nvdp/attack.h>
#include <nvdp/audit.h>
#include <nvdp/bert.h>
#include <nvdp/bottleneck.h>
#include <nvdp/certificate.h>
#include <nvdp/config.h>
#include <nvdp/context.h>
#include <nvdp/dataset.h>
#include <nvdp/dchi.h>
#include <nvdp/encoder.h>
#include <nvdp/evaluate.h>
#include <nvdp/gate.h>
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
#include <nvdp/result.h>
#include <nvdp/sanitize.h>
#include <nvdp/search.h>
#include <nvdp/share.h>
#include <nvdp/status.h>
#include <nvdp/summary.h>
#include <nvdp/text_privacy.h>
#include <nvdp/tokenizer.h>
#include <nvdp/train.h>
#include <nvdp/trainer.h>
#include <nvdp/version.h>

#endif
