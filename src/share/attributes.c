#include "share/attributes.h"

#include "mechanism/options.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "rdp/options.h"
#include <math.h>
#include <nvdp/version.h>
#include <string.h>

enum nvdp__attribute nvdp__attribute_find(const char *name) {
    static const struct {
        const char *name;
        enum nvdp__attribute type;
    } all[] = {
#define TEXT(name, there, value) {name, NVDP__ATTRIBUTE_TEXT}
#define WHOLE(name, there, value)                                                                  \
    { name, NVDP__ATTRIBUTE_WHOLE }
#define REAL(name, there, value)                                                                   \
    { name, NVDP__ATTRIBUTE_REAL }
#include "share/attributes.inc"
#undef TEXT
#undef WHOLE
#undef REAL
        {"nvdp_format", NVDP__ATTRIBUTE_CREATED},
        {"grid", NVDP__ATTRIBUTE_CREATED},
        {"z_step", NVDP__ATTRIBUTE_CREATED},
        {"log_pi_step", NVDP__ATTRIBUTE_CREATED},
        {"public_key", NVDP__ATTRIBUTE_TEXT}, /* sign.c */
        {"signature", NVDP__ATTRIBUTE_TEXT},
        {"model_fingerprint", NVDP__ATTRIBUTE_TEXT}, /* model_id of older files */
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (strcmp(all[k].name, name) == 0) return all[k].type;
    return NVDP__ATTRIBUTE_NONE;
}

struct attribute {
    const char *name;
    bool there;
    enum nvdp__attribute type;
    union {
        const char *text;
        int64_t whole;
        double real;
    };
};

nvdp_status nvdp__release_attributes(struct nvdp__h5 *file,
                                     const struct nvdp__release_facts *facts) {
    const struct nvdp__model_info *info = facts->info;
    const struct nvdp__nvib_config *nvib = &info->nvib;
    const struct nvdp__clip_config *clip = &nvib->clip;
    const struct nvdp_privacy_report *report = &facts->privacy;
    const struct nvdp_pairs_summary *pairs = &report->pairs;
    bool weights = facts->form.weights;
    bool single = facts->form.single;
    bool block = info->method == NVDP_METHOD_NVDP;
    bool hidden = single || nvib->length_policy == NVDP_LENGTH_HIDDEN;
    bool padded = weights && nvib->length_policy != NVDP_LENGTH_PUBLIC;
    bool measured = facts->measured && facts->publish;
    bool own_noise = /* of the model alone: no other attribute tells it */
        info->method == NVDP_METHOD_VIB_FIXED || info->method == NVDP_METHOD_VIB_LEARNED;
    double distance = weights && facts->grids != NULL ? nvdp__release_weights_distance(facts) : 0;
    double infinite = pairs->pairs > 0 ? (double)pairs->infinite / (double)pairs->pairs : 0;
    char statement[NVDP_STATEMENT_SIZE];
    nvdp__statement(facts, sizeof statement, statement);
    const struct attribute all[] = {
#define TEXT(name, there, value)                                                                   \
    {                                                                                              \
        name, there, NVDP__ATTRIBUTE_TEXT, {                                                       \
            .text = (value)                                                                        \
        }                                                                                          \
    }
#define WHOLE(name, there, value)                                                                  \
    {                                                                                              \
        name, there, NVDP__ATTRIBUTE_WHOLE, {                                                      \
            .whole = (int64_t)(value)                                                              \
        }                                                                                          \
    }
#define REAL(name, there, value)                                                                   \
    {                                                                                              \
        name, there, NVDP__ATTRIBUTE_REAL, {                                                       \
            .real = (value)                                                                        \
        }                                                                                          \
    }
#include "share/attributes.inc"
#undef TEXT
#undef WHOLE
#undef REAL
    };
    for (const struct attribute *a = all; a < all + sizeof all / sizeof all[0]; a++) {
        if (!a->there) continue;
        NVDP_RETURN_IF_FAILED(
            a->type == NVDP__ATTRIBUTE_TEXT    ? nvdp__h5_set_string(file, a->name, a->text)
            : a->type == NVDP__ATTRIBUTE_WHOLE ? nvdp__h5_set_int(file, a->name, a->whole)
                                               : nvdp__h5_set_real(file, a->name, a->real));
    }
    return NVDP_OK;
}
