/* Whether methods differ beyond the seeds' chance. */
#include "experiments/report/significance.h"
#include "experiments/report/tables.h"
#include "experiments/report/text.h"

#include <math.h>
#include <stdlib.h>

/* Scores of the seeds that both groups have; runs are in the order of their seeds. */
static size_t common_seeds(const struct nvdp__group *a, const struct nvdp__group *b, double *x,
                           double *y) {
    size_t n = 0, j = 0;
    for (size_t i = 0; i < a->runs; i++) {
        while (j < b->runs && b->run[j]->seed < a->run[i]->seed) {
            j++;
        }
        if (j == b->runs || b->run[j]->seed != a->run[i]->seed) continue;
        x[n] = a->run[i]->score[0];
        y[n++] = b->run[j]->score[0];
    }
    return n;
}

/* Holm's adjustment over the comparisons of one task. */
static nvdp_status adjust(struct nvdp_context *ctx, struct nvdp__comparison *list, size_t count) {
    double *p = nvdp__calloc(ctx, 2 * count + 1, sizeof *p);
    if (p == NULL) return NVDP_ERR_MEMORY;
    for (size_t k = 0; k < count; k++) {
        p[k] = list[k].p;
    }
    nvdp__holm(count, p, p + count);
    for (size_t k = 0; k < count; k++) {
        list[k].holm = p[count + k];
    }
    free(p);
    return NVDP_OK;
}

static size_t compare_task(const struct nvdp_report *report, size_t task, double *room,
                           struct nvdp__comparison *list) {
    size_t count = 0;
    for (size_t a = 0; a < report->families; a++) {
        const struct nvdp__group *first = nvdp__selected(report, task, a);
        for (size_t b = a + 1; first != NULL && b < report->families; b++) {
            const struct nvdp__group *second = nvdp__selected(report, task, b);
            if (second == NULL) continue;
            size_t n = common_seeds(first, second, room, room + report->runs);
            if (n < 2) continue;
            struct nvdp__paired pair = nvdp__paired_t(n, room, room + report->runs);
            list[count++] = (struct nvdp__comparison){.task = task,
                                                      .a = a,
                                                      .b = b,
                                                      .seeds = n,
                                                      .mean = pair.mean,
                                                      .low = pair.low,
                                                      .high = pair.high,
                                                      .t = pair.t,
                                                      .p = pair.p};
        }
    }
    return count;
}

nvdp_status nvdp__compare(struct nvdp_context *ctx, const struct nvdp_report *report,
                          struct nvdp__comparison **out, size_t *count) {
    nvdp_status status = NVDP_OK;
    size_t most = report->tasks * report->families * report->families / 2;
    size_t made = 0;
    double *room = nvdp__calloc(ctx, 2 * report->runs + 1, sizeof *room);
    struct nvdp__comparison *list = nvdp__calloc(ctx, most + 1, sizeof *list);
    if (room == NULL || list == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    for (size_t task = 0; task < report->tasks; task++) {
        size_t more = compare_task(report, task, room, list + made);
        NVDP_TRY(adjust(ctx, list + made, more));
        made += more;
    }
    *out = list;
    *count = made;
    list = NULL;
cleanup:
    free(list);
    free(room);
    return status;
}

static void add_comparison(struct nvdp__table *table, const struct nvdp_report *report,
                           const struct nvdp__comparison *pair) {
    char text[NVDP__NUMBER_ROOM];
    nvdp__table_row(table);
    nvdp__table_cell(table, report->family[pair->a].label);
    nvdp__table_cell(table, report->family[pair->b].label);
    snprintf(text, sizeof text, "%zu", pair->seeds);
    nvdp__table_cell(table, text);
    snprintf(text, sizeof text, "%+.2f", 100 * pair->mean);
    nvdp__table_cell(table, text);
    if (isnan(pair->low)) {
        nvdp__table_cell(table, "-");
    } else {
        snprintf(text, sizeof text, "%+.2f to %+.2f", 100 * pair->low, 100 * pair->high);
        nvdp__table_cell(table, text);
    }
    nvdp__table_cell(table, nvdp__say_number(text, pair->t));
    nvdp__table_cell(table, nvdp__say_p(text, pair->p));
    nvdp__table_cell(table, nvdp__say_p(text, pair->holm));
}

struct nvdp__table nvdp__table_significance(struct nvdp_context *ctx,
                                            const struct nvdp_report *report) {
    static const char *const names[] = {"seeds", "difference", "95 % interval",
                                        "t",     "p",          "p (Holm)"};
    struct nvdp__table table =
        nvdp__table_begin(ctx, "significance", "Differences between methods, paired by seed");
    struct nvdp__comparison *list = NULL;
    size_t count = 0;
    table.status = nvdp__compare(ctx, report, &list, &count);
    nvdp__table_column(&table, false, "method", "");
    nvdp__table_column(&table, false, "against", "");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        nvdp__table_column(&table, true, names[k], "");
    }
    for (size_t k = 0; k < count; k++) {
        if (k == 0 || list[k].task != list[k - 1].task)
            nvdp__table_heading(&table, report->task[list[k].task].label);
        add_comparison(&table, report, &list[k]);
    }
    free(list);
    if (count == 0) {
        nvdp__table_note(&table, "No two methods share two seeds: nothing to test.");
        return table;
    }
    nvdp__table_note(&table,
                     "difference: of the first metric, times 100, method minus against, "
                     "over the seeds that both have, each at its selected lambda. Student's "
                     "paired t-test, two-sided; Holm's adjustment over a task's "
                     "comparisons. With few seeds a rough test; it knows the spread over "
                     "seeds, not that over texts. -: no spread to judge by.");
    return table;
}
