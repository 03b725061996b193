/* What was measured of a finished run: privacy.json, reuse.json, attack.json. */
#include "base/file.h"
#include "experiments/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a number lies: up to three keys. */
struct place {
    enum nvdp__quantity quantity;
    const char *key[3];
};

static const struct place needed[] = {
    {NVDP__SUM_MAX, {"rd", "sum", "max"}},
    {NVDP__SUM_MEAN, {"rd", "sum", "mean"}},
    {NVDP__UNIT_MAX, {"rd", "per_component_dim", "max"}},
    {NVDP__UNIT_MEAN, {"rd", "per_component_dim", "mean"}},
    {NVDP__INFINITE, {"infinite_share"}},
    {NVDP__BDP_BEST, {"bdp", "best", "epsilon"}},
    {NVDP__BDP_PUBLISHED, {"bdp", "published", "epsilon"}},
};
static const struct place optional[] = {
    {NVDP__VECTORS, {"posterior", "effective_vectors", "mean"}},
    {NVDP__TOKEN_SHARE, {"posterior", "token_share", "mean"}},
    {NVDP__ABS_MU, {"posterior", "mean_abs_mu"}},
    {NVDP__SIGMA, {"posterior", "mean_sigma"}},
};

static nvdp_status take(struct nvdp_context *ctx, const char *path, const json_t *from,
                        const struct place *place, bool must, struct nvdp__report_run *run) {
    int last = 0;
    while (last < 2 && place->key[last + 1] != NULL) {
        from = json_object_get(from, place->key[last++]);
    }
    double *out = &run->quantity[place->quantity];
    /* Written as "nan" where there were no tokens. */
    const char *text = json_string_value(json_object_get(from, place->key[last]));
    if (!must && text != NULL && strcmp(text, "nan") == 0) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(
        nvdp__json_real(ctx, path, from, place->key[last], NAN, -INFINITY, INFINITY, out));
    if (must && isnan(*out))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a number at '%s%s%s%s%s', found none: not of nvdp privacy",
                          path, place->key[0], place->key[1] != NULL ? "." : "",
                          place->key[1] != NULL ? place->key[1] : "",
                          place->key[2] != NULL ? "." : "",
                          place->key[2] != NULL ? place->key[2] : "");
    return NVDP_OK;
}

static nvdp_status read_how(struct nvdp_context *ctx, const char *path, const json_t *root,
                            struct nvdp__measured *how) {
    const json_t *bdp = json_object_get(root, "bdp");
    const char *adjacency = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_real(ctx, path, root, "order", NAN, 0, INFINITY, &how->order));
    NVDP_RETURN_IF_FAILED(nvdp__json_real(ctx, path, root, "n", NAN, 0, INFINITY, &how->texts));
    NVDP_RETURN_IF_FAILED(nvdp__json_real(ctx, path, bdp, "delta", NAN, 0, 1, &how->delta));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_real(ctx, path, bdp, "releases", 1, 0, INFINITY, &how->releases));
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, root, "adjacency", "all", &adjacency));
    how->same_length = strcmp(adjacency, "same-length") == 0;
    how->drawn = json_is_object(json_object_get(root, "sample"));
    return NVDP_OK;
}

static nvdp_status read_histogram(struct nvdp_context *ctx, const char *path, const json_t *from,
                                  struct nvdp__report_run *run) {
    const json_t *histogram = json_object_get(from, "log10_alpha");
    const json_t *counts = json_object_get(histogram, "counts");
    size_t bins = json_array_size(counts);
    if (bins == 0) return NVDP_OK; /* a Gaussian mechanism */
    if (bins != NVDP_ALPHA_BINS)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: 'log10_alpha': expected %d counts, found %zu",
                          path, NVDP_ALPHA_BINS, bins);
    NVDP_RETURN_IF_FAILED(nvdp__json_real(ctx, path, histogram, "first", nvdp_alpha_first, -100,
                                          100, &run->alpha_first));
    NVDP_RETURN_IF_FAILED(nvdp__json_real(ctx, path, histogram, "width", nvdp_alpha_width, 1e-6,
                                          100, &run->alpha_width));
    for (size_t bin = 0; bin < bins; bin++) {
        run->alpha_count[bin] = json_number_value(json_array_get(counts, bin));
    }
    return NVDP_OK;
}

static nvdp_status read_posterior(struct nvdp_context *ctx, const char *path, const json_t *root,
                                  struct nvdp__report_run *run) {
    const json_t *posterior = json_object_get(root, "posterior");
    if (posterior == NULL) return NVDP_OK; /* measured by an older version */
    for (size_t k = 0; k < sizeof optional / sizeof *optional; k++) {
        NVDP_RETURN_IF_FAILED(take(ctx, path, root, &optional[k], false, run));
    }
    const json_t *vectors = json_object_get(posterior, "effective_vectors");
    const json_t *quantile = json_object_get(vectors, "quantiles");
    NVDP_RETURN_IF_FAILED(nvdp__json_real(ctx, path, quantile, "0.05", NAN, 0, INFINITY,
                                          &run->quantity[NVDP__VECTORS_LOW]));
    NVDP_RETURN_IF_FAILED(nvdp__json_real(ctx, path, quantile, "0.95", NAN, 0, INFINITY,
                                          &run->quantity[NVDP__VECTORS_HIGH]));
    return read_histogram(ctx, path, posterior, run);
}

static nvdp_status read_measures(struct nvdp_context *ctx, const char *path, const json_t *root,
                                 struct nvdp__report_run *run) {
    for (size_t k = 0; k < sizeof needed / sizeof *needed; k++) {
        NVDP_RETURN_IF_FAILED(take(ctx, path, root, &needed[k], true, run));
    }
    NVDP_RETURN_IF_FAILED(read_how(ctx, path, root, &run->how));
    return read_posterior(ctx, path, root, run);
}

/* The first metric's mean in a result of nvdp reuse --json. */
static nvdp_status read_reader(struct nvdp_context *ctx, const char *name,
                               enum nvdp__quantity quantity, struct nvdp__report_run *run) {
    json_t *root = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_read_optional(ctx, run->path, name, &root));
    json_t *metrics = json_object_get(root, "metrics");
    const json_t *first = json_object_iter_value(json_object_iter(metrics));
    nvdp_status status = nvdp__json_real(ctx, run->path, first, "mean", NAN, -INFINITY, INFINITY,
                                         &run->quantity[quantity]);
    json_decref(root);
    return status;
}

nvdp_status nvdp__report_read_privacy(struct nvdp_context *ctx, struct nvdp__report_run *run) {
    nvdp_status status = NVDP_OK;
    json_t *root = NULL;
    char *path = nvdp__join(ctx, run->path, "privacy.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__json_read_optional(ctx, run->path, "privacy.json", &root));
    if (root != NULL) {
        NVDP_TRY(read_measures(ctx, path, root, run));
        run->measured = true;
    }
    NVDP_TRY(read_reader(ctx, "reuse.json", NVDP__REUSE, run));
    NVDP_TRY(read_reader(ctx, "attack.json", NVDP__ATTACK, run));
cleanup:
    json_decref(root);
    free(path);
    return status;
}
