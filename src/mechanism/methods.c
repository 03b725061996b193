/* The table of methods, and the functions that read it. */
#include "base/own.h"
#include "base/sentence.h"
#include "mechanism/bottleneck_options.h"
#include "mechanism/mechanism.h"
#include "options/schema.h"

#include <math.h>
#include <nvdp/rdp.h>
#include <string.h>

#ifndef METHODS /* a test adds a method */
#define METHODS "mechanism/members.inc"
#endif

#define NVDP__MEMBER(id, name) extern const struct nvdp__method nvdp__method_row_##id;
#include METHODS
#undef NVDP__MEMBER

static const struct nvdp__method *const table[] = {
#define NVDP__MEMBER(id, name) &nvdp__method_row_##id,
#include METHODS
#undef NVDP__MEMBER
};
enum { COUNT = sizeof table / sizeof *table };

size_t nvdp__method_count(void) {
    return COUNT;
}

const struct nvdp__method *nvdp__method_row(enum nvdp_method method) {
    return (size_t)method < COUNT ? table[method] : NULL;
}

const struct nvdp__method *nvdp__method_named(const char *name) {
    enum nvdp_method method;
    return nvdp_method_find(NULL, name, &method) == NVDP_OK ? table[method] : NULL;
}

const char *nvdp_method_name(enum nvdp_method method) {
    return (size_t)method < COUNT ? nvdp__method_names[method] : "unknown";
}

nvdp_status nvdp_method_find(struct nvdp_context *ctx, const char *name, enum nvdp_method *out) {
    char all[256] = "";
    struct nvdp__writer to = {all, sizeof all, 0};
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(name, nvdp__method_names[i]) == 0) {
            *out = (enum nvdp_method)i;
            return NVDP_OK;
        }
        nvdp__append_item(&to, i, i + 1 == COUNT, nvdp__method_names[i]);
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "method '%s' is unknown: expected %s", name, all);
}

bool nvdp_method_is_private(enum nvdp_method method) {
    const struct nvdp__method *row = nvdp__method_row(method);
    return row != NULL && row->mechanism->private_;
}

nvdp_status nvdp_method_describe(struct nvdp_context *ctx, enum nvdp_method method,
                                 struct nvdp_method_info *out) {
    const struct nvdp__method *row = nvdp__method_row(method);
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (row == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "method: expected a number from 0 to %d, found %d", COUNT - 1,
                          (int)method);
    const struct nvdp_method_info made = {.struct_size = sizeof made,
                                          .name = nvdp__method_names[method],
                                          .description = row->description,
                                          .is_private = row->mechanism->private_,
                                          .has_weights = row->weights,
                                          .methods = COUNT};
    return NVDP__GIVE(out, &made);
}

bool nvdp__method_weighted(const struct nvdp__method *method,
                           const struct nvdp__nvib_config *config) {
    return method->weights && config->weights != NVDP__WEIGHTS_CONSTANT;
}

bool nvdp__method_single(const struct nvdp__method *method,
                         const struct nvdp__nvib_config *config) {
    return method->single != NULL && method->single(config);
}

double nvdp__method_bound(enum nvdp_method method, const struct nvdp__nvib_config *config,
                          double order) {
    const struct nvdp__method *row = nvdp__method_row(method);
    const bool all = nvdp_method_is_private(method) && nvdp__clips_sequence(&config->clip) &&
                     !nvdp__method_weighted(row, config);
    return all ? nvdp_renyi_sequence_bound(order, config->clip.sequence) : INFINITY;
}

nvdp_status nvdp__method_tokenizer_load(struct nvdp_context *ctx, enum nvdp_method method,
                                        const char *directory, struct nvdp_tokenizer **out) {
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    NVDP_TRY(nvdp_tokenizer_load(ctx, directory, &tokenizer));
    if (nvdp__method_row(method)->words)
        NVDP_TRY(nvdp__tokenizer_read_words(ctx, directory, tokenizer));
    return NVDP__HAND_OVER(out, tokenizer);
}

nvdp_status nvdp__method_resolve(struct nvdp_context *ctx, enum nvdp_method method,
                                 const struct nvdp_bert_config *bert,
                                 struct nvdp__nvib_config *config) {
    const struct nvdp__method *row = nvdp__method_row(method);
    if (row == NULL || row->mechanism->resolve == NULL) return NVDP_OK;
    return row->mechanism->resolve(row->mechanism, ctx, bert, config);
}
