/* Training curves of the selected lambdas: a line a run. */
#include "experiments/report/figure.h"
#include "experiments/report/text.h"

#include <math.h>
#include <stdlib.h>

static bool task_shown(const struct nvdp_report *report, size_t task) {
    bool found = false;
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        for (size_t k = 0; k < group->runs; k++) {
            found |= group->task == task && group->selected && group->run[k]->epochs > 0;
        }
    }
    return found;
}

static void write_run(struct nvdp__drawing *drawing, const struct nvdp__report_run *run) {
    nvdp__drawing_block(drawing, "index %zu: %s\n# epoch\tvalidation x 100\ttask loss, mean",
                        drawing->next, run->name);
    for (size_t e = 0; e < run->epochs; e++) {
        nvdp__drawing_number(drawing, run->epoch[e].epoch);
        nvdp__drawing_number(drawing, 100 * run->epoch[e].validation);
        nvdp__put_real(drawing->data, run->epoch[e].task_loss);
        fputc('\n', drawing->data);
    }
}

/* Blocks `first` and on are the task's runs, in the order of the groups. */
static void draw_curves(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                        size_t task, size_t first, int column) {
    bool begun = false;
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        struct nvdp__look look = nvdp__look_of(&report->family[group->family]);
        for (size_t k = 0; group->task == task && group->selected && k < group->runs; k++) {
            if (group->run[k]->epochs == 0) continue;
            fprintf(drawing->script,
                    "%s'%s.dat' index %zu using 1:%d with linespoints lw 1.3 dt %d pt %d ps 0.4 lc "
                    "rgb '%s'",
                    begun ? ", \\\n     " : "plot ", drawing->figure.name, first++, column,
                    look.dash, look.filled, look.colour);
            begun = true;
        }
    }
    fputc('\n', drawing->script);
}

/* Whole epochs, unless there are many. */
static void put_epoch_axis(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                           size_t task) {
    enum { FEW = 12 };
    size_t most = 0;
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        for (size_t k = 0; group->task == task && group->selected && k < group->runs; k++) {
            if (group->run[k]->epochs > most) most = group->run[k]->epochs;
        }
    }
    fprintf(drawing->script, "set xrange [0.8:%zu.2]\n", most);
    if (most <= FEW) fputs("set xtics 1\n", drawing->script);
    fputs("set offsets 0, 0, graph 0.05, graph 0.05\n", drawing->script);
}

static void draw_task(struct nvdp__drawing *drawing, const struct nvdp_report *report, size_t task,
                      size_t panel) {
    char label[NVDP__NUMBER_ROOM];
    size_t first = drawing->next;
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        for (size_t k = 0; group->task == task && group->selected && k < group->runs; k++) {
            if (group->run[k]->epochs > 0) write_run(drawing, group->run[k]);
        }
    }
    snprintf(label, sizeof label, "validation %.30s x 100", report->task[task].first->metric[0]);
    nvdp__drawing_panel(drawing, panel, report->task[task].label, "epoch", label);
    put_epoch_axis(drawing, report, task);
    draw_curves(drawing, report, task, first, 2);
    nvdp__drawing_panel(drawing, panel + 1, report->task[task].label, "epoch", "task loss");
    put_epoch_axis(drawing, report, task);
    draw_curves(drawing, report, task, first, 3);
}

nvdp_status nvdp__figures_training(struct nvdp_context *ctx, const struct nvdp_report *report,
                                   struct nvdp__figures *figures) {
    size_t tasks = 0, panel = 0;
    for (size_t task = 0; task < report->tasks; task++) {
        tasks += task_shown(report, task);
    }
    if (tasks == 0) return NVDP_OK;
    struct nvdp__drawing drawing;
    nvdp_status status = nvdp__drawing_begin(
        ctx, report, "training", "Training curves",
        "Validation score and mean training loss of the task by epoch, a line a seed, each method "
        "at its selected lambda.",
        2 * tasks, tasks > 2 ? 4 : 2, NVDP__LEGEND_ALL, &drawing);
    for (size_t task = 0; status == NVDP_OK && task < report->tasks; task++) {
        if (!task_shown(report, task)) continue;
        draw_task(&drawing, report, task, panel);
        panel += 2;
    }
    nvdp_status ended = nvdp__drawing_end(&drawing, figures);
    return status != NVDP_OK ? status : ended;
}
