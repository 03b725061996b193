#include "experiments/report/numbers.h"
#include "experiments/report/text.h"

#include <math.h>

static const char *const names[NVDP__QUANTITIES] = {
    [NVDP__SUM_MAX] = "rd_sum_max",
    [NVDP__SUM_MEAN] = "rd_sum_mean",
    [NVDP__UNIT_MAX] = "rd_per_component_dim_max",
    [NVDP__UNIT_MEAN] = "rd_per_component_dim_mean",
    [NVDP__INFINITE] = "infinite_share",
    [NVDP__BDP_BEST] = "bdp_best",
    [NVDP__BDP_PUBLISHED] = "bdp_published",
    [NVDP__VECTORS] = "effective_vectors",
    [NVDP__VECTORS_LOW] = "effective_vectors_q05",
    [NVDP__VECTORS_HIGH] = "effective_vectors_q95",
    [NVDP__TOKEN_SHARE] = "token_share",
    [NVDP__ABS_MU] = "mean_abs_mu",
    [NVDP__SIGMA] = "mean_sigma",
    [NVDP__REUSE] = "reader",
    [NVDP__ATTACK] = "attack",
};

const char *nvdp__quantity_name(enum nvdp__quantity quantity) {
    return names[quantity];
}

/* Nothing where there is no number; "inf" as in all files of the library. */
static void put_number(FILE *to, double value) {
    fputc(',', to);
    if (!isnan(value)) nvdp__put_real(to, value);
}

static void put_text(FILE *to, const char *text) {
    fputc(',', to);
    nvdp__put_csv(to, text);
}

static void put_stat(FILE *to, const struct nvdp__stat *stat) {
    put_number(to, stat->mean);
    put_number(to, stat->sd);
}

void nvdp__groups_csv(const struct nvdp_report *report, FILE *to) {
    fputs("task,data,method,label,lambda_g,lambda_d,seeds,selected,metric,validation,validation_sd,"
          "score,score_sd,score_best_seed,second_metric,second_score,second_score_sd,"
          "second_score_best_seed",
          to);
    for (int k = 0; k < NVDP__QUANTITIES; k++) {
        fprintf(to, ",%s,%s_sd", names[k], names[k]);
    }
    fputs("\r\n", to);
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        const struct nvdp__report_run *best = group->best;
        nvdp__put_csv(to, report->task[group->task].task);
        put_text(to, report->task[group->task].data);
        put_text(to, report->family[group->family].method);
        put_text(to, report->family[group->family].label);
        put_number(to, group->lambda_g);
        put_number(to, group->lambda_d);
        fprintf(to, ",%zu,%d", group->runs, group->selected);
        put_text(to, best->metric[0]);
        put_stat(to, &group->validation);
        put_stat(to, &group->score[0]);
        put_number(to, best->score[0]);
        put_text(to, best->metrics > 1 ? best->metric[1] : "");
        put_stat(to, &group->score[1]);
        put_number(to, best->metrics > 1 ? best->score[1] : NAN);
        for (int k = 0; k < NVDP__QUANTITIES; k++) {
            put_stat(to, &group->quantity[k]);
        }
        fputs("\r\n", to);
    }
}

static void put_run(const struct nvdp_report *report, const struct nvdp__group *group,
                    const struct nvdp__report_run *run, FILE *to) {
    nvdp__put_csv(to, run->name);
    put_text(to, run->task);
    put_text(to, run->method);
    put_text(to, report->family[group->family].label);
    put_number(to, run->lambda_g);
    put_number(to, run->lambda_d);
    fprintf(to, ",%llu", (unsigned long long)run->seed);
    put_number(to, run->validation);
    put_text(to, run->metric[0]);
    put_number(to, run->score[0]);
    put_text(to, run->metrics > 1 ? run->metric[1] : "");
    put_number(to, run->metrics > 1 ? run->score[1] : NAN);
    for (int k = 0; k < NVDP__QUANTITIES; k++) {
        put_number(to, run->quantity[k]);
    }
    put_number(to, run->seconds);
    put_text(to, run->command);
    fputs("\r\n", to);
}

void nvdp__runs_csv(const struct nvdp_report *report, FILE *to) {
    fputs("run,task,method,label,lambda_g,lambda_d,seed,validation,metric,score,second_metric,"
          "second_score",
          to);
    for (int k = 0; k < NVDP__QUANTITIES; k++) {
        fprintf(to, ",%s", names[k]);
    }
    fputs(",seconds,command\r\n", to);
    for (size_t i = 0; i < report->groups; i++) {
        for (size_t k = 0; k < report->group[i].runs; k++) {
            put_run(report, &report->group[i], report->group[i].run[k], to);
        }
    }
}
