/* What the tables call each run's method: the method's name (or the sweep's label), followed by the
 * options that tell it from others of that name.  Options are taken one after the other until,
 * within each task, runs of one label have the same options. */
#include "experiments/report/report.h"
#include "experiments/report/text.h"

#include <stdlib.h>
#include <string.h>

/* The first to be tried: these say most. */
static const char *const telling[] = {"regularizer", "latent_dim",  "length_policy",
                                      "kappa",       "limit_train", "freeze_layers"};
enum { TELLING = sizeof telling / sizeof *telling };

struct labels {
    struct nvdp_context *ctx;
    const struct nvdp_report *report;
    char **label;
};

static const char *base_name(const struct nvdp__report_run *run) {
    return run->label != NULL ? run->label : run->method;
}

static bool same_task(const struct nvdp__report_run *a, const struct nvdp__report_run *b) {
    return strcmp(a->task, b->task) == 0 && strcmp(a->data, b->data) == 0;
}

/* Whether two runs must get different labels and have not. */
static bool collide(const struct labels *all, size_t i, size_t j) {
    const struct nvdp__report_run *a = &all->report->run[i], *b = &all->report->run[j];
    return strcmp(a->method, b->method) == 0 && strcmp(all->label[i], all->label[j]) == 0 &&
           same_task(a, b) && !json_equal(a->variant, b->variant);
}

static bool differ_in(const struct nvdp__report_run *a, const struct nvdp__report_run *b,
                      const char *key) {
    const json_t *x = json_object_get(a->variant, key), *y = json_object_get(b->variant, key);
    return !(x == y || (x != NULL && y != NULL && json_equal(x, y)));
}

/* The option that tells run i from run j: a telling one, else the first in alphabetical order. */
static const char *choose(const struct nvdp__report_run *a, const struct nvdp__report_run *b) {
    for (size_t k = 0; k < TELLING; k++) {
        if (differ_in(a, b, telling[k])) return telling[k];
    }
    const char *first = NULL;
    for (int side = 0; side < 2; side++) {
        const char *key;
        json_t *value;
        json_object_foreach(side == 0 ? a->variant : b->variant, key, value) {
            (void)value;
            if ((first == NULL || strcmp(key, first) < 0) && differ_in(a, b, key)) first = key;
        }
    }
    return first;
}

/* "latent-dim 16"; the regularizer's value says enough by itself. */
static void put_option(FILE *to, const char *key, const json_t *value) {
    if (strcmp(key, "regularizer") != 0) {
        for (const char *c = key; *c != '\0'; c++) {
            fputc(*c == '_' ? '-' : *c, to);
        }
        fputc(' ', to);
    }
    if (json_is_number(value)) {
        nvdp__put_real(to, json_number_value(value));
    } else if (json_is_boolean(value)) {
        fputs(json_is_true(value) ? "yes" : "no", to);
    } else {
        fputs(json_is_string(value) ? json_string_value(value) : "none", to);
    }
}

/* "nvdp" and "kl, latent-dim 16" make "nvdp (kl, latent-dim 16)". */
static char *extended(struct nvdp_context *ctx, const char *label, const char *key,
                      const json_t *value) {
    char *text = NULL, *plain = NULL;
    size_t size = 0;
    size_t length = strlen(label);
    bool open = length > 0 && label[length - 1] == ')';
    FILE *to = open_memstream(&text, &size);
    if (to != NULL) {
        fprintf(to, "%.*s%s", (int)(open ? length - 1 : length), label, open ? ", " : " (");
        put_option(to, key, value);
        fputc(')', to);
    }
    if (to != NULL && fclose(to) == 0) plain = nvdp__plain_copy(ctx, text);
    if (plain == NULL) nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    free(text);
    return plain;
}

/* Adds the option to the label of every run of the same method and name, in all tasks, so that
 * their labels agree between tasks. */
static nvdp_status extend(struct labels *all, const struct nvdp__report_run *of, const char *key) {
    for (size_t i = 0; i < all->report->runs; i++) {
        const struct nvdp__report_run *run = &all->report->run[i];
        if (strcmp(run->method, of->method) != 0 || strcmp(base_name(run), base_name(of)) != 0)
            continue;
        char *longer = extended(all->ctx, all->label[i], key, json_object_get(run->variant, key));
        if (longer == NULL) return NVDP_ERR_MEMORY;
        free(all->label[i]);
        all->label[i] = longer;
    }
    return NVDP_OK;
}

/* Every round tells at least one pair apart. */
static nvdp_status tell_apart(struct labels *all) {
    size_t runs = all->report->runs;
    for (size_t i = 0; i < runs; i++) {
        for (size_t j = i + 1; j < runs; j++) {
            if (!collide(all, i, j)) continue;
            const char *key = choose(&all->report->run[i], &all->report->run[j]);
            NVDP_RETURN_IF_FAILED(extend(all, &all->report->run[i], key));
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp__report_labels(struct nvdp_context *ctx, const struct nvdp_report *report,
                                char **label) {
    struct labels all = {.ctx = ctx, .report = report, .label = label};
    for (size_t i = 0; i < report->runs; i++) {
        label[i] = nvdp__strdup(ctx, base_name(&report->run[i]));
        if (label[i] == NULL) return NVDP_ERR_MEMORY;
    }
    return tell_apart(&all);
}
