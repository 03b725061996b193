/* The report as one JSON object. */
#include "base/json.h"
#include <math.h>
#include <nvdp/privacy.h>
#include <stdlib.h>

static const char *adjacency_name(enum nvdp_adjacency adjacency) {
    return adjacency == NVDP_ADJACENT_SAME_LENGTH ? "same-length" : "all";
}

static const char *arithmetic_name(enum nvdp_pairs_arithmetic arithmetic) {
    return arithmetic == NVDP_PAIRS_EXACT ? "exact" : "fast";
}

/* Steals `value`; false where there was no memory for it. */
static bool set(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) == 0;
}

static bool set_number(json_t *object, const char *key, double value) {
    return set(object, key, nvdp__json_number(value));
}

static bool set_count(json_t *object, const char *key, size_t value) {
    return set(object, key, json_integer((json_int_t)value));
}

static json_t *quantiles(const struct nvdp_divergence_summary *from) {
    json_t *object = json_object();
    for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
        char key[16];
        snprintf(key, sizeof key, "%g", nvdp_pair_quantile_level[level]);
        if (!set_number(object, key, from->quantile[level])) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *summary(const struct nvdp_divergence_summary *from, const char *note) {
    json_t *object = json_object();
    json_t *pair = json_pack("[I,I]", (json_int_t)from->max_p, (json_int_t)from->max_q);
    bool good = set(object, "argmax", pair);
    good = good && set_number(object, "max", from->max);
    good = good && set_number(object, "mean", from->mean);
    good = good && set_number(object, "max_finite", from->max_finite);
    good = good && set_number(object, "mean_finite", from->mean_finite);
    good = good && set(object, "quantiles", quantiles(from));
    if (note != NULL) good = good && set(object, "note", json_string(note));
    if (good) return object;
    json_decref(object);
    return NULL;
}

static json_t *column(const struct nvdp_bdp_column *from) {
    const struct nvdp_bdp_cost *worst = &from->worst;
    json_t *object = json_object();
    bool good = set_number(object, "epsilon", worst->epsilon);
    good = good && set_number(object, "mean_epsilon", from->mean_epsilon);
    good = good && set_number(object, "moment", worst->moment);
    good = good && set_number(object, "cost", worst->cost);
    good = good && set_count(object, "m", worst->m);
    good = good && set_number(object, "t", worst->t);
    good = good && set_number(object, "log_M", worst->log_mean);
    good = good && set_number(object, "log_S", worst->log_sd);
    good = good && set_number(object, "max_X", worst->max);
    good = good && set_number(object, "floor", from->floor);
    good = good && set_count(object, "worst_text", from->worst_text);
    good = good && set_count(object, "infinite_texts", from->infinite_texts);
    if (good) return object;
    json_decref(object);
    return NULL;
}

static json_t *divergences(const struct nvdp_pairs_summary *from) {
    json_t *object = json_object();
    bool good = set(object, "sum",
                    summary(&from->sum, "of one release of a text; S releases cost S times this"));
    good = good && set(object, "per_component", summary(&from->per_component, NULL));
    good = good && set(object, "per_component_dim",
                       summary(&from->per_component_dim,
                               "as in the published tables; not a privacy guarantee"));
    if (good) return object;
    json_decref(object);
    return NULL;
}

static json_t *bayesian(const struct nvdp_privacy_report *report) {
    json_t *object = json_object();
    bool good = set_number(object, "delta", report->bdp.delta);
    good = good && set_number(object, "gamma", report->bdp.gamma);
    good = good && set(object, "releases", json_integer(report->bdp.releases));
    good = good && set_count(object, "texts", report->bdp_texts);
    good = good && set(object, "small_population", json_boolean(report->small_population));
    good = good && set(object, "published", column(&report->published));
    good = good && set(object, "best", column(&report->best));
    if (good) return object;
    json_decref(object);
    return NULL;
}

static json_t *interval(const struct nvdp_interval *from) {
    json_t *low = nvdp__json_number(from->low);
    json_t *high = nvdp__json_number(from->high);
    return json_pack("[o,o]", low, high);
}

static json_t *quantile_intervals(const struct nvdp_pairs_sample *from) {
    json_t *object = json_object();
    bool good = object != NULL;
    for (int level = 0; good && level < NVDP_PAIR_QUANTILES; level++) {
        char key[16];
        snprintf(key, sizeof key, "%g", nvdp_pair_quantile_level[level]);
        good = set(object, key, interval(&from->quantile[level]));
    }
    if (good) return object;
    json_decref(object);
    return NULL;
}

/* What stands on drawn pairs; null where every pair was computed. */
static json_t *sample(const struct nvdp_pairs_sample *from) {
    if (from->drawn == 0) return json_null();
    json_t *object = json_object();
    bool good = set_count(object, "drawn", from->drawn);
    good = good && set_count(object, "summed_for_max", from->summed);
    good = good && set_number(object, "confidence", from->confidence);
    good = good && set(object, "mean", interval(&from->mean));
    good = good && set(object, "mean_bound", interval(&from->mean_bound));
    good = good && set(object, "quantiles", quantile_intervals(from));
    good = good && set(object, "infinite_share", interval(&from->infinite_share));
    good = good && set(object, "note",
                       json_string("max is over all pairs, exact; mean, quantiles and infinite are "
                                   "of the drawn pairs; intervals are of rd.sum"));
    if (good) return object;
    json_decref(object);
    return NULL;
}

static json_t *spread(const struct nvdp_spread *from, bool there) {
    if (!there) return json_null();
    json_t *quantile = json_object(), *object = json_object();
    bool good = set_number(object, "mean", from->mean);
    for (int level = 0; level < NVDP_SPREAD_QUANTILES; level++) {
        char key[16];
        snprintf(key, sizeof key, "%g", nvdp_spread_level[level]);
        good = good && set_number(quantile, key, from->quantile[level]);
    }
    good = set(object, "quantiles", quantile) && good;
    if (good) return object;
    json_decref(object);
    return NULL;
}

static json_t *alpha_histogram(const struct nvdp_posterior_summary *from) {
    if (!from->weighted) return json_null();
    json_t *object = json_object(), *counts = json_array();
    bool good = true;
    for (int bin = 0; bin < NVDP_ALPHA_BINS; bin++) {
        good = json_array_append_new(counts, json_integer((json_int_t)from->alpha_bin[bin])) == 0 &&
               good;
    }
    good = set(object, "counts", counts) && good;
    good = good && set_number(object, "first", nvdp_alpha_first);
    good = good && set_number(object, "width", nvdp_alpha_width);
    good = good && set_count(object, "below", from->alpha_below);
    good = good && set_count(object, "above", from->alpha_above);
    if (good) return object;
    json_decref(object);
    return NULL;
}

static json_t *posterior(const struct nvdp_posterior_summary *from) {
    json_t *object = json_object();
    bool good = set_count(object, "texts", from->texts);
    good = good && set_count(object, "tokens", from->tokens);
    good = good && set(object, "effective_vectors", spread(&from->vectors, from->weighted));
    good = good && set(object, "effective_vectors_l2", spread(&from->vectors_l2, from->weighted));
    good = good && set(object, "token_share", spread(&from->token_share, from->weighted));
    good = good && set_number(object, "mean_abs_mu", from->mean_abs_mu);
    good = good && set_number(object, "mean_sigma", from->mean_sigma);
    good = good && set(object, "log10_alpha", alpha_histogram(from));
    if (good) return object;
    json_decref(object);
    return NULL;
}

static json_t *whole(const struct nvdp_privacy_report *report) {
    const struct nvdp_pairs_summary *pairs = &report->pairs;
    bool hidden = report->policy == NVDP_LENGTH_HIDDEN;
    json_t *object = json_object();
    bool good = set(object, "method", json_string(report->method));
    good = good && set(object, "units", json_string("nats"));
    good = good && set(object, "scope",
                       json_string("measured on the given texts; not a bound over all texts"));
    good = good && set(object, "adjacency", json_string(adjacency_name(pairs->adjacency)));
    good = good && set(object, "length_policy", json_string(hidden ? "hidden" : "public"));
    good = good && set_count(object, "components", report->components);
    good = good && set_count(object, "dim", report->dim);
    good = good && set(object, "kappa", json_integer(report->kappa));
    good = good && set_number(object, "order", pairs->order);
    good = good && set(object, "arithmetic", json_string(arithmetic_name(pairs->arithmetic)));
    good = good && set_count(object, "n", pairs->texts);
    good = good && set_count(object, "pairs", pairs->pairs);
    good = good && set_count(object, "infinite", pairs->infinite);
    size_t counted = pairs->sample.drawn > 0 ? pairs->sample.drawn : pairs->pairs;
    double share = counted > 0 ? (double)pairs->infinite / (double)counted : 0;
    good = good && set_number(object, "infinite_share", share);
    good = good && set(object, "sample", sample(&pairs->sample));
    good = good && set(object, "rd", divergences(pairs));
    good = good && set(object, "bdp", bayesian(report));
    good = good && set(object, "posterior", posterior(&report->posterior));
    if (good) return object;
    json_decref(object);
    return NULL;
}

nvdp_status nvdp_privacy_report_json(struct nvdp_context *ctx,
                                     const struct nvdp_privacy_report *report, char **out) {
    json_t *object = whole(report);
    if (object == NULL) {
        return nvdp__fail(
            ctx, NVDP_ERR_NUMERIC,
            "privacy report: expected fields that JSON can hold (the method's name in "
            "UTF-8), found others, or no memory");
    }
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "privacy report: out of memory");
    *out = text;
    return NVDP_OK;
}
