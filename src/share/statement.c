#include "share/statement.h"

#include "share/pool.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/version.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void nvdp__creation_date(char out[32]) {
    time_t now = time(NULL);
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    char *end = NULL;
    if (epoch != NULL && *epoch != '\0') {
        long long seconds = strtoll(epoch, &end, 10);
        if (*end == '\0' && seconds >= 0) now = (time_t)seconds;
    }
    struct tm utc = {0};
    gmtime_r(&now, &utc);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

double nvdp__public_number(double value) {
    if (!isfinite(value) || value == 0) return value;
    char text[32];
    snprintf(text, sizeof text, "%.2e", value);
    double rounded = strtod(text, NULL);
    if (rounded >= value) return rounded;
    double step = pow(10, floor(log10(fabs(value))) - 2);
    snprintf(text, sizeof text, "%.2e", rounded + step);
    return strtod(text, NULL);
}

/* --- in plain English --- */

struct writer {
    char *out;
    size_t room, used;
};

__attribute__((format(printf, 2, 3))) static void say(struct writer *writer, const char *format,
                                                      ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(writer->out + writer->used, writer->room - writer->used, format, args);
    va_end(args);
    if (length < 0) return;
    size_t left = writer->room - writer->used - 1;
    writer->used += (size_t)length < left ? (size_t)length : left;
}

static const char *number(double value, char text[32]) {
    if (isinf(value)) {
        snprintf(text, 32, "infinite");
    } else {
        snprintf(text, 32, "%.3g", nvdp__public_number(value));
    }
    return text;
}

static void say_what(struct writer *writer, const struct nvdp__release_facts *facts) {
    const struct nvdp_nvib_config *nvib = &facts->info->nvib;
    say(writer, "%zu random sample%s of each of %zu texts, drawn by mechanism %s. ", facts->samples,
        facts->samples == 1 ? "" : "s", facts->texts, nvdp_method_name(facts->info->method));
    if (facts->form.single) {
        say(writer, "A sample is one vector of the whole text, whose length does not show. ");
    } else if (nvib->length_policy == NVDP_LENGTH_HIDDEN) {
        say(writer,
            "Lengths are hidden up to %zu tokens, special tokens included; longer texts are cut. ",
            nvib->length);
    } else {
        say(writer, "Lengths are public. ");
    }
    say(writer,
        "The number and order of the texts, their row numbers and splits%s are public, and no part "
        "of the numbers below. ",
        facts->labels ? ", and their exact labels" : "");
}

static const char *shared_parts(const struct nvdp__form *form) {
    if (form->weights) return "weights and vectors together";
    return form->single ? "its vector" : "all vectors together";
}

static void say_measured(struct writer *writer, const struct nvdp__release_facts *facts) {
    const struct nvdp_privacy_report *report = &facts->privacy;
    const struct nvdp_pairs_summary *pairs = &report->pairs;
    char a[32], b[32];
    if (!facts->measured) {
        say(writer, "No divergence was measured. ");
        return;
    }
    say(writer,
        "Measured, not proven: over all ordered pairs of %zu of the texts, the Renyi divergence of "
        "order %g of one sample of a text, %s, is at most %s and on average %s nats",
        pairs->texts, pairs->order, shared_parts(&facts->form), number(pairs->sum.max, a),
        number(pairs->sum.mean, b));
    if (pairs->infinite > 0)
        say(writer, " (%s%% of the pairs infinite)",
            number(100 * (double)pairs->infinite / (double)pairs->pairs, a));
    if (facts->samples > 1)
        say(writer, "; %zu releases of a text together: %zu times that, at most %s", facts->samples,
            facts->samples, number((double)facts->samples * pairs->sum.max, a));
    say(writer,
        ". Bayesian DP of all samples of a text, best moment, worst of the measured texts: epsilon "
        "%s at delta %g%s. ",
        number(report->best.worst.epsilon, a), facts->delta,
        report->small_population ? " (too few texts to trust)" : "");
    say(writer, "These numbers hold for these texts, are no bound for others, and are published "
                "without noise, rounded up. Another file of the same texts, or a text that occurs "
                "twice, adds to them. ");
}

static void say_noise(struct writer *writer, const struct nvdp__release_facts *facts) {
    if (facts->insecure_seed) {
        say(writer,
            "INSECURE: the noise comes from a seed. Who knows it can remove the noise; two files "
            "with one seed reveal differences to anyone. ");
    } else {
        say(writer, "The noise comes from the operating system's generator and was not kept. ");
    }
    say(writer, "Noise was added in double, values then rounded to float16.");
}

void nvdp__statement(const struct nvdp__release_facts *facts, size_t room, char *out) {
    struct writer writer = {.out = out, .room = room};
    out[0] = '\0';
    say_what(&writer, facts);
    say_measured(&writer, facts);
    say(&writer, "No worst-case bound is claimed. ");
    say_noise(&writer, facts);
}

/* --- attributes --- */

/* What a mechanism with weights has. */
static nvdp_status weights_attributes(struct nvdp__h5 *file, const struct nvdp_nvib_config *nvib) {
    const struct nvdp_clip_config *clip = &nvib->clip;
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "latent_heads", (int64_t)nvib->latent_heads));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, "prior_alpha", nvib->prior_alpha));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, "nvib_delta", nvib->delta));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, "clip_alpha_min", clip->alpha_min));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, "clip_alpha_max", clip->alpha_max));
    if (nvib->length_policy == NVDP_LENGTH_PUBLIC) return NVDP_OK;
    return nvdp__h5_set_real(file, "pad_alpha", nvdp_nvib_pad_alpha(nvib));
}

static nvdp_status mechanism_attributes(struct nvdp__h5 *file,
                                        const struct nvdp__release_facts *facts) {
    const struct nvdp_model_info *info = facts->info;
    const struct nvdp_nvib_config *nvib = &info->nvib;
    const struct nvdp_clip_config *clip = &nvib->clip;
    bool single = facts->form.single;
    bool hidden = single || nvib->length_policy == NVDP_LENGTH_HIDDEN;
    int64_t length = single ? 1 : (int64_t)nvib->length;
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "method", nvdp_method_name(info->method)));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "task", info->task.name));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "length_policy", hidden ? "hidden" : "public"));
    if (hidden) NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "length", length));
    if (!single)
        NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "pool", nvdp__pool_name(nvib->pool)));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "kappa", nvib->kappa));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, "clip_mu_radius", clip->mu_radius));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, "clip_logvar_min", clip->logvar_min));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, "clip_logvar_max", clip->logvar_max));
    return facts->form.weights ? weights_attributes(file, nvib) : NVDP_OK;
}

static nvdp_status training_attributes(struct nvdp__h5 *file,
                                       const struct nvdp__release_facts *facts) {
    bool exact = facts->info->nvib.regularizer == NVDP_REGULARIZER_KL;
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "regularizer", exact ? "kl" : "published"));
    if (!isnan(facts->lambda_g))
        NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, "lambda_g", facts->lambda_g));
    if (!isnan(facts->lambda_d))
        NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, "lambda_d", facts->lambda_d));
    return nvdp__h5_set_string(file, "model_fingerprint", facts->info->fingerprint);
}

static nvdp_status divergence_attributes(struct nvdp__h5 *file,
                                         const struct nvdp__release_facts *facts) {
    const struct nvdp_privacy_report *report = &facts->privacy;
    const struct nvdp_pairs_summary *pairs = &report->pairs;
    const struct {
        const char *name;
        double value;
    } reals[] = {
        {"divergence_order", pairs->order},
        {"divergence_sum_max", nvdp__public_number(pairs->sum.max)},
        {"divergence_sum_mean", nvdp__public_number(pairs->sum.mean)},
        {"divergence_per_component_dim_max", nvdp__public_number(pairs->per_component_dim.max)},
        {"divergence_per_component_dim_mean", nvdp__public_number(pairs->per_component_dim.mean)},
        {"divergence_infinite_share",
         nvdp__public_number((double)pairs->infinite / (double)pairs->pairs)},
        {"bdp_delta", facts->delta},
        {"bdp_gamma", report->bdp.gamma},
        {"bdp_epsilon", nvdp__public_number(report->best.worst.epsilon)},
        {"bdp_moment", report->best.worst.moment},
        {"bdp_published_epsilon", nvdp__public_number(report->published.worst.epsilon)},
        {"bdp_published_moment", report->bdp.published_moment},
        {"bdp_published_floor", report->published.floor},
    };
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "divergence_adjacency", "all"));
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_set_string(file, "divergence_normalisations",
                            "sum: one sample of a text, all that is shared of it, in nats; "
                            "per_component_dim: sum / (components x "
                            "dim), as in the published tables, not a privacy guarantee"));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "divergence_texts", (int64_t)pairs->texts));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "divergence_pairs", (int64_t)pairs->pairs));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "bdp_releases", report->bdp.releases));
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, reals[i].name, reals[i].value));
    }
    return NVDP_OK;
}

nvdp_status nvdp__release_attributes(struct nvdp__h5 *file,
                                     const struct nvdp__release_facts *facts) {
    char statement[NVDP_STATEMENT_ROOM];
    nvdp__statement(facts, sizeof statement, statement);
    NVDP_RETURN_IF_FAILED(mechanism_attributes(file, facts));
    NVDP_RETURN_IF_FAILED(training_attributes(file, facts));
    if (facts->measured) NVDP_RETURN_IF_FAILED(divergence_attributes(file, facts));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "texts", (int64_t)facts->texts));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "releases", (int64_t)facts->samples));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "grid", "float16"));
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_set_string(file, "generator", facts->insecure_seed ? "insecure-seed" : "os"));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "nvdp_version", nvdp_version()));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "created", facts->created));
    return nvdp__h5_set_string(file, "statement", statement);
}
