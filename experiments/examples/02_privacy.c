/* Privacy of a set of texts from their posteriors: fill the arrays, save, read, measure, print.
 *
 * Posteriors of any model can be measured in this way. The posteriors of this example are artificial. */
#include <math.h>
#include <nvdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEXTS = 80, TOKENS = 5, DIM = 8 };

static nvdp_status make(struct nvdp_context *ctx, struct nvdp_posteriors **out) {
    struct nvdp_posteriors *p = NULL;
    nvdp_status status = nvdp_posteriors_create(ctx, TEXTS, TEXTS * TOKENS, DIM, true, &p);
    if (status != NVDP_OK) return status;
    p->policy = NVDP_LENGTH_HIDDEN; /* texts are padded to 8 tokens, which hides n */
    p->length = 8;
    p->prior_alpha = 1;
    p->pad_alpha = 1.0 / 9;
    p->kappa = 1;
    for (size_t i = 0; i <= TEXTS; i++)
        p->offset[i] = i * TOKENS;
    for (size_t r = 0; r < TEXTS * TOKENS; r++) {
        p->alpha[r] = 0.2 + 0.1 * sin((double)r);
        for (size_t d = 0; d < DIM; d++) {
            p->mu[r * DIM + d] = 0.3 * cos((double)(r * DIM + d));
            p->logvar[r * DIM + d] = -0.1;
        }
    }
    *out = p;
    return nvdp_posteriors_check(ctx, p, "example");
}

int main(void) {
    struct nvdp_context *ctx = NULL;
    struct nvdp_posteriors *posteriors = NULL, *again = NULL;
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    char path[64], *text = NULL;
    int failed = 1;
    struct nvdp_config *config = NULL;

    if (nvdp_context_create(&ctx) != NVDP_OK) return 1;
    snprintf(path, sizeof path, "/tmp/nvdp-example-%d.h5", (int)getpid());
    if (make(ctx, &posteriors) != NVDP_OK) goto cleanup;
    if (nvdp_posteriors_write(ctx, path, posteriors) != NVDP_OK) goto cleanup;
    if (nvdp_posteriors_read(ctx, path, &again) != NVDP_OK) goto cleanup;
    if (nvdp_config_create(ctx, "privacy", &config) != NVDP_OK) goto cleanup;
    if (nvdp_config_set(config, "order", "2") != NVDP_OK) goto cleanup;
    if (nvdp_privacy_measure(ctx, again, config, NULL, &report) != NVDP_OK) goto cleanup;
    if (nvdp_result_text(ctx, &report, NULL, &text) != NVDP_OK) goto cleanup;
    fputs(text, stdout);
    failed = report.pairs->pairs != (size_t)TEXTS * (TEXTS - 1);
cleanup:
    nvdp_result_free(&report);
    free(text);
    if (failed) fprintf(stderr, "02_privacy: %s\n", nvdp_context_error(ctx));
    unlink(path);
    nvdp_posteriors_free(posteriors);
    nvdp_posteriors_free(again);
    nvdp_config_free(config);
    nvdp_context_free(ctx);
    return failed;
}
