/* Measures re-identification on a posterior set, for exports and privacy reports.  It draws samples as a release
 * does. */
#include "rdp/linkage.h"
#include "rdp/pairs.h"
#include "share/sampler.h"

#include <stdlib.h>

enum { TRIALS = 1000 };

void nvdp__linkage_draw(const void *release, size_t i, size_t sample, size_t vectors, double *z,
                        double *log_pi) {
    struct nvdp__sampler one = *(const struct nvdp__sampler *)release;
    one.sample = (uint32_t)sample;
    nvdp__sampler_draw_first(&one, i, i, vectors, z, log_pi);
}

nvdp_status nvdp_linkage_measure(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                 int releases, size_t texts, uint64_t seed,
                                 struct nvdp_linkage *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_posteriors *part = NULL;
    struct nvdp_linkage made;
    size_t *index = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp_posteriors_check(ctx, posteriors, ""));
    if (posteriors->texts < 2 || texts == 1 || releases < 1)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                            "linkage: expected 2 texts and 1 sample of a text, or more, found %zu "
                            "of %zu texts and %d samples",
                            texts, posteriors->texts, releases));
    if (texts > 0 && texts < posteriors->texts) {
        NVDP_TRY(NVDP__NEW(ctx, index, texts));
        NVDP_TRY(nvdp__posteriors_draw(ctx, posteriors, texts, seed, index, &part));
    }
    const struct nvdp_posteriors *set = part != NULL ? part : posteriors;
    const struct nvdp__sampler release = {.posteriors = set, .noise = {.seed = seed}};
    const struct nvdp__sample_source source = {nvdp__linkage_draw, &release, -INFINITY};
    NVDP_TRY(
        nvdp__linkage(ctx, set, &source, releases, (TRIALS + set->texts - 1) / set->texts, &made));
    made.of_texts = posteriors->texts;
    NVDP__GIVE(out, &made);
cleanup:
    nvdp_posteriors_free(part);
    free(index);
    return status;
}
