/* Tests that entities are counted as conlleval counts them. */
#include "text/task.h"
#include "train_test.h"

static const char *const labels[] = {"O", "B-X", "I-X", "B-Y", "I-Y"};
enum { CLASSES = 5, MAX_WORDS = 16 };

static int32_t class_of(const char *name) {
    for (int32_t c = 0; c < CLASSES; c++)
        if (strcmp(labels[c], name) == 0) return c;
    cr_assert_fail("no class %s", name);
    return -1;
}

/* The words of one text; a sentence ends before every '|'. */
struct made {
    struct nvdp_dataset data;
    struct nvdp__dataset_storage storage;
    size_t offset[MAX_WORDS + 1];
    int32_t tag[MAX_WORDS];
    bool continues[MAX_WORDS];
    int32_t predicted[MAX_WORDS];
};

static void make(const char *gold, const char *found, struct made *m) {
    *m = (struct made){.storage.task = {.classes = CLASSES, .labels = labels, .tags = true}};
    char *keep_a, *keep_b;
    char *a = support_keep(strdup(gold)), *b = support_keep(strdup(found));
    bool continues = false;
    size_t n = 0;
    for (char *x = strtok_r(a, " ", &keep_a), *y = strtok_r(b, " ", &keep_b); x != NULL;
         x = strtok_r(NULL, " ", &keep_a), y = strtok_r(NULL, " ", &keep_b)) {
        if (*x == '|') {
            continues = false;
            continue;
        }
        m->tag[n] = class_of(x);
        m->predicted[n] = class_of(y);
        m->continues[n] = continues;
        continues = true;
        n++;
        m->offset[n] = n;
    }
    m->data.count = n;
    m->data.offset = m->offset;
    m->data.tag = m->tag;
    m->storage.continues = m->continues;
    m->data.storage = &m->storage;
    m->data.task = &m->storage.task;
}

/* conlleval's rules: an I- that continues no entity of its type begins one; an entity is right
 * if both ends and the type are right; the end of a sentence ends it. */
Test(entities, conllevals_cases) {
    static const struct {
        const char *gold, *found;
        size_t in_gold, in_found, right;
    } cases[] = {
        {"B-X I-X O B-Y", "B-X I-X O B-Y", 2, 2, 2},
        {"B-X I-X I-X", "B-X I-X O", 1, 1, 0},       /* too short */
        {"B-X I-X O", "B-X I-X I-X", 1, 1, 0},       /* too long */
        {"B-X I-X", "I-X I-X", 1, 1, 1},             /* an I- after nothing begins one */
        {"O I-X I-X O", "O B-X I-X O", 1, 1, 1},     /* also in the gold tags */
        {"B-X B-X", "B-X I-X", 2, 1, 0},             /* found one entity, there are two */
        {"B-X I-X", "B-X B-X", 1, 2, 0},             /* found two entities, there is one */
        {"B-X I-Y", "B-X I-Y", 2, 2, 2},             /* another type begins another entity */
        {"B-X I-X", "B-X I-Y", 1, 2, 0},             /* the first ends too early */
        {"B-X I-X", "B-Y I-Y", 1, 1, 0},             /* the wrong type */
        {"B-X I-X | I-X", "B-X I-X | I-X", 2, 2, 2}, /* the end of a sentence ends it */
        {"B-X | O", "B-X | I-X", 1, 2, 1},           /* and does not continue in the next */
        {"O O O", "O O O", 0, 0, 0},
        {"B-X O B-Y I-Y", "O O B-Y I-Y", 2, 1, 1},
        {"I-X B-X I-X I-Y O", "I-X I-X I-X I-Y O", 3, 2, 1}, /* only I-Y is right */
        {"B-X B-Y B-X", "B-X B-Y B-X", 3, 3, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct made m;
        struct nvdp__entities e;
        make(cases[i].gold, cases[i].found, &m);
        nvdp__entities_count(&m.data, m.predicted, NULL, &e);
        cr_expect(e.gold == cases[i].in_gold && e.found == cases[i].in_found &&
                      e.right == cases[i].right,
                  "%s, %s: %zu gold, %zu found, %zu right", cases[i].gold, cases[i].found, e.gold,
                  e.found, e.right);
        struct nvdp__entities x, y;
        nvdp__entities_count(&m.data, m.predicted, "X", &x);
        nvdp__entities_count(&m.data, m.predicted, "Y", &y);
        cr_expect(x.gold + y.gold == e.gold && x.found + y.found == e.found &&
                      x.right + y.right == e.right,
                  "%s, %s: by type", cases[i].gold, cases[i].found);
    }
}

Test(entities, ratios) {
    const struct nvdp__entities e = {.gold = 8, .found = 4, .right = 3}, none = {0};
    near(nvdp__entities_metric(&e, NVDP_METRIC_PRECISION), 0.75, 1e-15);
    near(nvdp__entities_metric(&e, NVDP_METRIC_RECALL), 0.375, 1e-15);
    near(nvdp__entities_metric(&e, NVDP_METRIC_ENTITY_F1), 0.5, 1e-15);
    cr_expect_eq(nvdp__entities_metric(&none, NVDP_METRIC_ENTITY_F1), 0);
    cr_expect_eq(nvdp__entities_metric(&none, NVDP_METRIC_PRECISION), 0);
}
