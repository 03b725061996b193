#include "experiments/report/report.h"
#include "experiments/report/tables.h"

#include <stdlib.h>
#include <string.h>

struct nvdp_report_config nvdp_report_config_default(void) {
    return (struct nvdp_report_config){.figures = true, .gnuplot = "gnuplot"};
}

/* Without slashes at its end, so that messages and names read well. */
static char *trimmed(struct nvdp_context *ctx, const char *path) {
    char *copy = nvdp__strdup(ctx, path);
    for (size_t n = copy != NULL ? strlen(copy) : 0; n > 1 && copy[n - 1] == '/'; n--) {
        copy[n - 1] = '\0';
    }
    return copy;
}

/* gnuplot runs in another folder: a relative path would be one there.  A name alone is looked up in
 * PATH. */
static char *program_path(struct nvdp_context *ctx, const char *program) {
    char *path = strchr(program, '/') != NULL ? realpath(program, NULL) : NULL;
    return path != NULL ? path : nvdp__strdup(ctx, program);
}

nvdp_status nvdp_report_create(struct nvdp_context *ctx, const struct nvdp_report_config *config,
                               struct nvdp_report **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_report *report = nvdp__calloc(ctx, 1, sizeof *report);
    if (report == NULL) return NVDP_ERR_MEMORY;
    if (config->directory == NULL || config->directory[0] == '\0')
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "directory: expected one, found none"));
    report->figures = config->figures;
    report->directory = trimmed(ctx, config->directory);
    report->gnuplot = program_path(ctx, config->gnuplot != NULL ? config->gnuplot : "gnuplot");
    if (report->directory == NULL || report->gnuplot == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    report->out = config->out != NULL ? trimmed(ctx, config->out)
                                      : nvdp__format(ctx, "%s/report", report->directory);
    if (report->out == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__report_read(ctx, report));
    NVDP_TRY(nvdp__report_group(ctx, report));
    *out = report;
    report = NULL;
cleanup:
    nvdp_report_free(report);
    return status;
}

void nvdp_report_free(struct nvdp_report *report) {
    if (report == NULL) return;
    for (size_t i = 0; i < report->groups; i++) {
        free(report->group[i].run);
    }
    for (size_t i = 0; i < report->families; i++) {
        free(report->family[i].label);
    }
    for (size_t i = 0; i < report->tasks; i++) {
        free(report->task[i].label);
    }
    for (size_t i = 0; i < report->runs; i++) {
        nvdp__report_run_release(&report->run[i]);
    }
    for (size_t i = 0; i < report->notes; i++) {
        free(report->note[i].name);
        free(report->note[i].text);
    }
    free(report->group);
    free(report->family);
    free(report->task);
    free(report->run);
    free(report->note);
    free(report->figure_notice);
    free(report->directory);
    free(report->out);
    free(report->gnuplot);
    free(report);
}

const char *nvdp_report_directory(const struct nvdp_report *report) {
    return report->out;
}

/* Whether an earlier table says the same. */
static bool said_before(const struct nvdp__table *table, int tables, const char *note) {
    for (int k = 0; k < tables; k++) {
        for (size_t i = 0; i < table[k].notes; i++) {
            if (strcmp(table[k].note[i], note) == 0) return true;
        }
    }
    return false;
}

/* The tables, then what they mean, each thing once. */
static void print_tables(const struct nvdp__table *table, FILE *to) {
    for (int k = 0; k < NVDP__TABLES; k++) {
        if (table[k].rows == 0) continue;
        nvdp__table_body(&table[k], to);
        fputc('\n', to);
    }
    for (int k = 0; k < NVDP__TABLES; k++) {
        for (size_t i = 0; i < table[k].notes; i++) {
            if (!said_before(table, k, table[k].note[i]))
                nvdp__table_put_note(table[k].note[i], to);
        }
    }
}

nvdp_status nvdp_report_print(struct nvdp_context *ctx, const struct nvdp_report *report,
                              FILE *to) {
    nvdp_status status = NVDP_OK;
    struct nvdp__table table[NVDP__TABLES] = {0};
    for (int k = 0; k < NVDP__TABLES; k++) {
        table[k] = nvdp__table_maker_of[k](ctx, report);
        NVDP_TRY(table[k].status);
    }
    print_tables(table, to);
    if (report->notes > 0) fputs("\nRuns with a remark\n\n", to);
    for (size_t i = 0; i < report->notes; i++) {
        fprintf(to, "%s: %s\n", report->note[i].name, report->note[i].text);
    }
cleanup:
    for (int k = 0; k < NVDP__TABLES; k++) {
        nvdp__table_release(&table[k]);
    }
    return status;
}
