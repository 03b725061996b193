/* Groups of adjacent texts. */
#include "rdp/groups.h"
#include <stdlib.h>

struct place {
    size_t rows, text;
};

static int by_rows(const void *a, const void *b) {
    const struct place *x = a;
    const struct place *y = b;
    if (x->rows != y->rows) return x->rows < y->rows ? -1 : 1;
    return (x->text > y->text) - (x->text < y->text);
}

/* Texts by their length where it decides, else all of one. */
static nvdp_status sort(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                        enum nvdp_adjacency adjacency, struct place **out) {
    struct place *places = nvdp__calloc(ctx, set->texts, sizeof *places);
    if (places == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < set->texts; i++) {
        size_t rows = adjacency == NVDP_ADJACENT_SAME_LENGTH ? nvdp__rows(set, i) : 0;
        places[i] = (struct place){.rows = rows, .text = i};
    }
    qsort(places, set->texts, sizeof *places, by_rows);
    *out = places;
    return NVDP_OK;
}

nvdp_status nvdp__groups_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                enum nvdp_adjacency adjacency, struct nvdp__groups *out) {
    struct nvdp__groups made = {0};
    struct place *places = NULL;
    NVDP_RETURN_IF_FAILED(sort(ctx, set, adjacency, &places));
    made.text = nvdp__calloc(ctx, set->texts, sizeof *made.text);
    if (made.text != NULL) made.group = nvdp__calloc(ctx, set->texts, sizeof *made.group);
    if (made.group == NULL) {
        free(places);
        nvdp__groups_free(&made);
        return NVDP_ERR_MEMORY;
    }
    for (size_t first = 0, end = 0; first < set->texts; first = end) {
        while (end < set->texts && places[end].rows == places[first].rows) {
            made.text[end] = places[end].text;
            end++;
        }
        size_t n = end - first;
        if (n < 2) continue;
        made.group[made.count++] = (struct nvdp__group){.text = made.text + first, .n = n};
        made.pairs += (uint64_t)n * (n - 1);
    }
    free(places);
    *out = made;
    return NVDP_OK;
}

void nvdp__groups_free(struct nvdp__groups *groups) {
    free(groups->text);
    free(groups->group);
}

void nvdp__groups_pair(const struct nvdp__groups *groups, uint64_t at, size_t *i, size_t *j) {
    const struct nvdp__group *group = groups->group;
    for (; at >= (uint64_t)group->n * (group->n - 1); group++) {
        at -= (uint64_t)group->n * (group->n - 1);
    }
    size_t a = (size_t)(at / (group->n - 1));
    size_t b = (size_t)(at % (group->n - 1));
    *i = group->text[a];
    *j = group->text[b < a ? b : b + 1];
}
