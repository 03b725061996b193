/* Certificates of models, for training, sharing and reports. The file has, in this order, the
 * limits that a model's mechanism guarantees for every text, the training options that remedy
 * findings of certificates and reports, and the certificates. */
#include "base/sentence.h"
#include "mechanism/mechanism.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "rdp/options.h"
#include "rdp/report.h"

#include <math.h>
#include <nvdp/certificate.h>
#include <stdlib.h>
#include <string.h>

struct nvdp_limits nvdp__method_limits(enum nvdp_method method,
                                       const struct nvdp__nvib_config *config) {
    const struct nvdp__method *row = nvdp__method_row(method);
    const struct nvdp__clip clip = nvdp__clip_set(&config->clip);
    const bool weights = nvdp__method_weighted(row, config),
               sequence = nvdp__clips_sequence(&config->clip);
    const bool single = nvdp__method_single(row, config);
    const struct nvdp__form form =
        nvdp__make_form(config, (struct nvdp__form){.weights = weights, .single = single});
    struct nvdp_limits made = {.struct_size = sizeof made,
                               .noise = row->mechanism->private_,
                               .sealed = config->query == NVDP__QUERY_SAMPLED,
                               .rows = form.length,
                               .dim = config->latent_dim,
                               .kappa = form.kappa,
                               .same_noise = sequence,
                               .clip_sequence = config->clip.sequence,
                               .clip_mu = clip.radius,
                               .logvar_min = sequence ? 0 : clip.logvar_min,
                               .logvar_max = sequence ? 0 : clip.logvar_max,
                               .weights = weights,
                               .alpha_min = config->clip.alpha_min,
                               .alpha_max = config->clip.alpha_max,
                               .prior_alpha = form.prior_alpha,
                               .pad_alpha = form.pad_alpha};
    nvdp__snprintf(made.method, sizeof made.method, "%s", nvdp_method_name(method));
    if (row->limits != NULL) row->limits(config, &made);
    if ((single && made.logvar_min == made.logvar_max) ||
        (made.logvar_min == 0 && made.logvar_max == 0))
        made.same_noise = true;
    return made;
}

nvdp_status nvdp__model_limits(struct nvdp_context *ctx, const struct nvdp_model *model,
                               struct nvdp_limits *out) {
    struct nvdp_limits made = nvdp__method_limits(model->info.method, &model->info.nvib);
    NVDP_TRY(nvdp__can_give(ctx, out));
    const struct nvdp__method *row = nvdp__method_row(model->info.method);
    if (row->trained_limits != NULL)
        NVDP_TRY(row->trained_limits(ctx, &model->dev, &model->params, &made));
    return NVDP__GIVE(out, &made);
}

/* ---- remedies ---- */

/* Returns true for methods that add noise and can be trained. */
static bool is_remedy(size_t method) {
    return nvdp_method_is_private((enum nvdp_method)method) &&
           !nvdp__method_row((enum nvdp_method)method)->untrained;
}

static void write_need(enum nvdp__need need, char *out, size_t size) {
    static const char *const options[] = {
        [NVDP__NEED_SEALED] = "--query sampled",
        [NVDP__NEED_HIDDEN_LENGTH] = "--length-policy hidden",
        [NVDP__NEED_SAME_NOISE] = "--clip-sequence C",
        [NVDP__NEED_RADIUS] = "--clip-sequence C",
        [NVDP__NEED_NO_WEIGHTS] = "--weights constant",
        [NVDP__NEED_WEIGHT_BOUNDS] = "--clip-alpha-min A --clip-alpha-max B, or --weights constant",
        [NVDP__NEED_ROW_RADIUS] = "--clip-mu R",
        [NVDP__NEED_VARIANCE_BOUNDS] = "--clip-logvar-min X --clip-logvar-max Y",
    };
    struct nvdp__writer to = {.out = out, .size = size};
    size_t count = 0, k = 0;
    nvdp__append(&to, "%s", need == NVDP__NEED_NOISE ? "--method " : options[need]);
    if (need != NVDP__NEED_NOISE) return;
    for (size_t i = 0; i < nvdp__method_count(); i++)
        count += is_remedy(i);
    for (size_t i = 0; i < nvdp__method_count(); i++)
        if (is_remedy(i)) {
            nvdp__append_item(&to, k, k + 1 == count, nvdp_method_name((enum nvdp_method)i));
            k++;
        }
}

/* Prints whole commands, because several commands print this text. */
static void print_remedies(const struct nvdp_infinite_summary *from, bool exact, FILE *to) {
    const struct nvdp_infinite_part *cause = from->cause;
    const bool logvar =
        cause[NVDP_INFINITE_TOKEN_LOGVAR].pairs + cause[NVDP_INFINITE_PADDING_LOGVAR].pairs > 0;
    const bool alpha =
        cause[NVDP_INFINITE_TOKEN_ALPHA].pairs + cause[NVDP_INFINITE_PADDING_ALPHA].pairs > 0;
    const bool lengths = cause[NVDP_INFINITE_LENGTHS].pairs > 0;
    fputs("  How to remove the cause by training again (a lower order would only hide it):\n", to);
    if (lengths) fputs("    nvdp train --length-policy hidden\n", to);
    if (logvar && from->limit > 1)
        nvdp__fprintf(to,
                      "    nvdp train --clip-logvar-min A --clip-logvar-max B, with A <= 0 <= B "
                      "(padding has 0) and B - A < %.3f\n",
                      log(from->limit));
    if (alpha && from->limit > 1)
        nvdp__fprintf(to,
                      "    nvdp train --clip-alpha-min A --clip-alpha-max B, with the padding's "
                      "pseudo-count from A to B, and B < %.4g A; or --weights constant\n",
                      from->limit);
    fputs("    nvdp train --clip-sequence C, or --preset certified: then no two texts are "
          "infinitely far apart, at any order\n",
          to);
    if (!exact && cause[NVDP_INFINITE_LENGTHS].pairs < from->infinite)
        nvdp__fprintf(to,
                      "  Without training again: nvdp privacy --exact computes an epsilon at "
                      "delta, which is finite for these pairs%s\n",
                      lengths ? " if their lengths are equal" : "");
}

const struct nvdp__remedies nvdp__remedies = {write_need, print_remedies};

static void print_report(const void *report, FILE *to) {
    nvdp__privacy_report_print(report, &nvdp__remedies, to);
}

const struct nvdp_result_kind nvdp__privacy_kind = {
    .name = "privacy report",
    .pack = nvdp__privacy_report_pack,
    .print = print_report,
    .summary = nvdp__privacy_report_summary,
    .memory = NVDP__OFFSETS(offsetof(struct nvdp_privacy_report, pairs))};

/* ---- certificates ---- */

nvdp_status nvdp_certify(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                         const struct nvdp_config *config, struct nvdp_certificate *out) {
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    if (config != NULL) NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__privacy_schema, &options));
    return nvdp__certify(ctx, limits, &options, &nvdp__remedies, out);
}

nvdp_status nvdp_model_certificate(struct nvdp_context *ctx, const struct nvdp_model *model,
                                   const struct nvdp_config *config, struct nvdp_certificate *out) {
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    NVDP_TRY(nvdp__model_limits(ctx, model, &limits));
    return nvdp_certify(ctx, &limits, config, out);
}
