/* Counts entities among tagged words and computes their precision, recall and F1 (entities.h).
 * `step` moves both tag sequences by one word; nvdp__entities_count applies it to a data set. */
#include "train/entities.h"

#include "text/dataset.h"
#include <string.h>

/* A class split into its kind, 'O', 'B' or 'I', and its type. */
struct tag {
    char kind;
    const char *type;
};

static const struct tag outside = {'O', ""};

static struct tag tag_of(const struct nvdp_task *task, int32_t class) {
    const char *name = class >= 0 ? task->labels[class] : "O";
    return name[0] == 'O' ? outside : (struct tag){name[0], name + 2};
}

static bool ends(struct tag before, struct tag now) {
    return before.kind != 'O' && (now.kind != 'I' || strcmp(before.type, now.type) != 0);
}

static bool begins(struct tag before, struct tag now) {
    return now.kind == 'B' ||
           (now.kind == 'I' && (before.kind == 'O' || strcmp(before.type, now.type) != 0));
}

struct count {
    struct tag gold, found; /* tags of the previous word */
    bool right;             /* inside an entity that matches so far */
    const char *type;
    struct nvdp__entities *out;
};

static bool counts(const struct count *c, struct tag tag) {
    return c->type == NULL || strcmp(c->type, tag.type) == 0;
}

static void step(struct count *c, struct tag gold, struct tag found) {
    bool gold_ends = ends(c->gold, gold), found_ends = ends(c->found, found);
    if (c->right && gold_ends && found_ends) c->out->right += counts(c, c->gold);
    if (gold_ends || found_ends) c->right = false;
    bool gold_begins = begins(c->gold, gold), found_begins = begins(c->found, found);
    if (gold_begins) c->out->gold += counts(c, gold);
    if (found_begins) c->out->found += counts(c, found);
    if (gold_begins && found_begins) c->right = strcmp(gold.type, found.type) == 0;
    c->gold = gold;
    c->found = found;
}

void nvdp__entities_count(const struct nvdp_dataset *dataset, const int32_t *predicted,
                          const char *type, struct nvdp__entities *out) {
    const bool *continues = nvdp__dataset_storage(dataset)->continues;
    struct count c = {outside, outside, false, type, out};
    size_t word = 0;
    *out = (struct nvdp__entities){0};
    for (size_t i = 0; i < dataset->count; i++) {
        if (!continues[i]) step(&c, outside, outside);
        for (size_t k = dataset->offset[i]; k < dataset->offset[i + 1]; k++) {
            if (dataset->tag[k] == NVDP_TAG_NONE) continue;
            step(&c, tag_of(&dataset->task, dataset->tag[k]),
                 tag_of(&dataset->task, predicted[word++]));
        }
    }
    step(&c, outside, outside);
}

static double ratio(size_t part, size_t all) {
    return all > 0 ? (double)part / (double)all : 0;
}

double nvdp__entities_metric(const struct nvdp__entities *e, enum nvdp_metric metric) {
    if (metric == NVDP_METRIC_PRECISION) return ratio(e->right, e->found);
    if (metric == NVDP_METRIC_RECALL) return ratio(e->right, e->gold);
    return ratio(2 * e->right, e->gold + e->found);
}
