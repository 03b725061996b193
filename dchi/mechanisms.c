/* The table of mechanisms of text privatization, and the functions that read it. */
#include "dchi/dchi.h"
#include "options/schema.h"

#include <stdio.h>
#include <string.h>

#ifndef MEMBERS /* a test adds a mechanism */
#define MEMBERS "dchi/members.inc"
#endif

#define NVDP__MEMBER(id, name) extern const struct nvdp__token_row nvdp__token_row_##id;
#define NVDP__MEMBER_ON_SEQUENCE NVDP__MEMBER
#include MEMBERS
#undef NVDP__MEMBER_ON_SEQUENCE
#undef NVDP__MEMBER

/* The mechanisms of one vector per text are last, regardless of the order of the list. */
static const struct nvdp__token_row none;
static const struct nvdp__token_row *const table[] = {
    &none,
#define NVDP__MEMBER(id, name) &nvdp__token_row_##id,
#define NVDP__MEMBER_ON_SEQUENCE(id, name)
#include MEMBERS
#undef NVDP__MEMBER_ON_SEQUENCE
#undef NVDP__MEMBER
#define NVDP__MEMBER(id, name)
#define NVDP__MEMBER_ON_SEQUENCE(id, name) &nvdp__token_row_##id,
#include MEMBERS
#undef NVDP__MEMBER_ON_SEQUENCE
#undef NVDP__MEMBER
};
enum { COUNT = sizeof table / sizeof *table };

const char *const nvdp__token_mechanism_names[] = {
    "none",
#define NVDP__MEMBER(id, name) name,
#define NVDP__MEMBER_ON_SEQUENCE(id, name)
#include MEMBERS
    NULL,
};
const char *const nvdp__text_noise_names[] = {
    "none",
#include MEMBERS
#undef NVDP__MEMBER_ON_SEQUENCE
#undef NVDP__MEMBER
#define NVDP__MEMBER(id, name)
#define NVDP__MEMBER_ON_SEQUENCE(id, name) name,
#include MEMBERS
    NULL,
};

const struct nvdp__token_row *nvdp__token_row(int choice) {
    return choice >= 0 && choice < COUNT ? table[choice] : NULL;
}

const struct nvdp__token_row *nvdp__dchi_row(enum nvdp_dchi_mechanism mechanism) {
    if ((unsigned)mechanism >= COUNT - 1) return NULL;
    const struct nvdp__token_row *row = table[(int)mechanism + 1];
    return row->on_sequence ? NULL : row;
}

const char *nvdp__dchi_name(enum nvdp_dchi_mechanism mechanism) {
    return nvdp__text_noise_names[(int)mechanism + 1];
}

nvdp_status nvdp_text_mechanism_describe(struct nvdp_context *ctx, const char *name,
                                         struct nvdp_text_mechanism_info *out) {
    char all[256] = "";
    int choice = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    for (size_t used = 0; choice < COUNT; choice++) {
        if (strcmp(name, nvdp__text_noise_names[choice]) == 0) break;
        const char *before = choice == 0 ? "" : choice + 1 < COUNT ? ", " : " or ";
        if (used < sizeof all)
            used += (size_t)nvdp__snprintf(all + used, sizeof all - used, "%s%s", before,
                                           nvdp__text_noise_names[choice]);
    }
    if (choice == COUNT)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "mechanism '%s' is unknown: expected %s", name,
                          all);
    const struct nvdp__token_row *row = table[choice];
    const struct nvdp_text_mechanism_info made = {
        .struct_size = sizeof made,
        .name = nvdp__text_noise_names[choice],
        .citation = row->citation,
        .mechanism = choice == 0 || row->on_sequence ? -1 : choice - 1,
        .exact = row->exact,
        .uses_eta = row->uses_eta,
        .uses_p = row->uses_p,
        .gives_vectors = row->gives_vectors,
        .on_sequence = row->on_sequence,
        .place = row->place};
    return NVDP__GIVE(out, &made);
}
