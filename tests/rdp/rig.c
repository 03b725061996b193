#include "rig.h"

double rig_uniform(unsigned *seed) {
    *seed = *seed * 1664525U + 1013904223U;
    return ((*seed >> 8) + 0.5) / 16777216.0;
}

double rig_normal(unsigned *seed) {
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += rig_uniform(seed);
    }
    return sum;
}

struct nvdp_posteriors *rig_posteriors(struct nvdp_context *ctx, const struct rig *rig) {
    unsigned seed = rig->seed + 1;
    enum { MOST = 1024 };
    size_t offset[MOST + 1];
    cr_assert_leq(rig->texts, MOST);
    offset[0] = 0;
    for (size_t i = 0; i < rig->texts; i++) {
        size_t rows = 1 + (size_t)(rig_uniform(&seed) * (double)rig->longest);
        offset[i + 1] = offset[i] + (rig->equal ? rig->longest : rows);
    }
    struct nvdp_posteriors *set = NULL;
    cr_assert_eq(nvdp_posteriors_create(ctx, rig->texts, offset[rig->texts], rig->dim,
                                        rig->with_alpha, &set),
                 NVDP_OK);
    memcpy(set->offset, offset, (rig->texts + 1) * sizeof *offset);
    for (size_t k = 0; k < offset[rig->texts] * rig->dim; k++) {
        set->mu[k] = rig->spread * rig_normal(&seed);
        set->logvar[k] = rig->spread * rig_normal(&seed);
    }
    for (size_t r = 0; rig->with_alpha && r < offset[rig->texts]; r++) {
        set->alpha[r] = exp(rig->spread * rig_normal(&seed));
    }
    set->policy = rig->policy;
    set->length = rig->policy == NVDP_LENGTH_HIDDEN ? rig->longest + 2 : 0;
    set->pad_alpha = 1;
    set->kappa = rig->kappa > 0 ? rig->kappa : 1;
    snprintf(set->method, sizeof set->method, "%s", rig->with_alpha ? "nvdp" : "vtdp");
    return set;
}

json_t *rig_golden(const char *file) {
    json_error_t error;
    json_t *root = json_load_file(support_golden(file), 0, &error);
    cr_assert_not_null(root, "%s: %s", file, error.text);
    return root;
}

double rig_number(const json_t *value) {
    if (json_is_string(value)) {
        cr_assert_str_eq(json_string_value(value), "inf");
        return INFINITY;
    }
    cr_assert(json_is_number(value));
    return json_number_value(value);
}

double *rig_numbers(const json_t *array, size_t *count) {
    *count = json_array_size(array);
    double *values = calloc(*count + 1, sizeof *values);
    cr_assert_not_null(values);
    for (size_t i = 0; i < *count; i++) {
        values[i] = rig_number(json_array_get(array, i));
    }
    return values;
}
