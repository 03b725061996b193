/* Writes run directories with made-up numbers for tests of reports (made_runs.h): the files of a
 * run, in the order run.json, result.json, privacy.json, then reports over them. */
#include "made_runs.h"

const char *made_folder(const char *folder) {
    const char *path = support_scratch_path(folder);
    mkdir(path, 0777);
    return path;
}

void made_run_file(const char *folder, const char *run, const char *file, const char *text) {
    const char *path = support_path("%s/%s", made_folder(folder), run);
    mkdir(path, 0777);
    path = support_path("%s/%s/%s", made_folder(folder), run, file);
    support_write_text(path, support_quoted(text));
}

/* Writes JSON's number, or the string "inf". */
static const char *number(char text[32], double value) {
    snprintf(text, 32, isinf(value) ? "\"inf\"" : "%.17g", value);
    return text;
}

static void write_run(const char *folder, const struct made_run *run) {
    char text[4096];
    double lambda_d = run->lambda_d > 0 ? run->lambda_d : run->lambda;
    bool based = run->options != NULL && strstr(run->options, "from_base") != NULL;
    snprintf(text, sizeof text,
             "{\"nvdp_format\": \"run/1\", \"config\": {\"task\": \"%s\", \"data\": \"%s\", "
             "\"model\": \"%s\", \"out\": \"runs/%s\", \"method\": \"%s\", \"lambda_g\": %.17g, "
             "\"lambda_d\": %.17g, \"seed\": %u, \"nvib\": {%s}%s%s}, \"software\": {\"nvdp\": "
             "\"0.1.0\"}, \"hardware\": {\"processor\": \"Abacus <1>\"}, \"data\": "
             "{\"train_texts\": 90, \"validation_texts\": 10, \"test_texts\": 40}}",
             run->task != NULL ? run->task : "sst2", run->data != NULL ? run->data : "glue",
             run->model != NULL ? run->model
             : based            ? run->name
                                : "bert",
             run->name, run->method != NULL ? run->method : "nvdp", run->lambda, lambda_d,
             run->seed, run->nvib != NULL ? support_quoted(run->nvib) : "",
             run->options != NULL ? ", " : "",
             run->options != NULL ? support_quoted(run->options) : "");
    made_run_file(folder, run->name, "run.json", text);
}

static void write_result(const char *folder, const struct made_run *run) {
    char text[1024], second[128] = "";
    if (run->f1 > 0)
        snprintf(second, sizeof second, ", \"f1\": {\"mean\": %.17g, \"sd\": 0.0}", run->f1);
    snprintf(text, sizeof text,
             "{\"task\": \"x\", \"validation\": %.17g, \"seconds\": 36.0, \"test\": {\"n\": 40, "
             "\"draws\": 5, \"metrics\": {\"%s\": {\"mean\": %.17g, \"sd\": 0.001}%s}, "
             "\"majority\": %.17g}%s%s}",
             run->validation, run->metric != NULL ? run->metric : "accuracy", run->score, second,
             run->majority > 0 ? run->majority : .5, run->result != NULL ? ", " : "",
             run->result != NULL ? support_quoted(run->result) : "");
    made_run_file(folder, run->name, "result.json", text);
    snprintf(text, sizeof text,
             "{\"event\":\"step\",\"step\":50}\n{\"event\":\"epoch\",\"epoch\":1,\"task_loss\":0.5,"
             "\"validation\":{\"metrics\":{\"accuracy\":{\"mean\":%.17g}}}}\n{\"event\":\"ep",
             run->validation);
    made_run_file(folder, run->name, "metrics.jsonl", text);
}

/* Puts all tokens in two bins of log10 alpha, [-1, -.75) and [0, .25): a quarter, three
 * quarters. */
static void append_posterior(char *text, size_t size, const struct made_run *run) {
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, size - used,
                             ", \"posterior\": {\"effective_vectors\": {\"mean\": %.17g, "
                             "\"quantiles\": {\"0.05\": %.17g, \"0.95\": %.17g}}, "
                             "\"token_share\": {\"mean\": 0.5}, \"mean_abs_mu\": 0.25, "
                             "\"mean_sigma\": \"nan\", \"log10_alpha\": {\"first\": -8, "
                             "\"width\": 0.25, \"counts\": [",
                             run->vectors, run->vectors / 2, run->vectors * 2);
    for (int bin = 0; bin < NVDP_ALPHA_BINS; bin++) {
        int count = bin == 28 ? 10 : bin == 32 ? 30 : 0;
        used += (size_t)snprintf(text + used, size - used, "%s%d", bin > 0 ? "," : "", count);
    }
    snprintf(text + used, size - used, "]}}");
}

/* Writes both pairs of --exact: tpr = 1 - (1 - fpr) e^-epsilon, larger for the worst pair, which
 * is not a real pair's. */
static void write_exact(char *text, size_t size, const struct made_run *run) {
    size_t used = (size_t)snprintf(text, size, "{\"worst\": %g, \"mean\": %g, \"pairs\": [",
                                   run->exact, run->exact / 2);
    for (int k = 0; k < 2; k++) {
        used += (size_t)snprintf(text + used, size - used, "%s{\"which\": \"%s\", \"trade_off\": [",
                                 k > 0 ? ", " : "", k > 0 ? "typical" : "worst");
        for (size_t i = 0; i < NVDP_EXACT_FPRS; i++)
            used += (size_t)snprintf(text + used, size - used, "%s{\"fpr\": %g, \"tpr\": %.6f}",
                                     i > 0 ? ", " : "", nvdp_exact_fpr(i),
                                     1 - (1 - nvdp_exact_fpr(i)) *
                                             exp(k > 0 ? -run->exact / 2 : -run->exact));
        used += (size_t)snprintf(text + used, size - used, "]}");
    }
    snprintf(text + used, size - used, "]}");
}

/* Per component and dimension a value is a hundredth of the sum. */
static void write_privacy(const char *folder, const struct made_run *run) {
    char text[4096], bound[64] = "null", exact[1024] = "null", finite[2][64] = {"", ""};
    char a[32], b[32], c[32], d[32], e[32], f[32];
    for (int k = 0; k < 2 && run->rd_max_finite > 0; k++)
        snprintf(finite[k], sizeof finite[k], ", \"max_finite\": %.17g",
                 run->rd_max_finite / (k == 0 ? 1 : 100));
    if (run->exact > 0) write_exact(exact, sizeof exact, run);
    if (run->bound > 0) snprintf(bound, sizeof bound, "{\"sum\": %s}", number(a, run->bound));
    snprintf(text, sizeof text,
             "{\"order\": 1.1, \"n\": 40, \"adjacency\": \"all\", \"infinite_share\": %.17g, "
             "\"sample\": null, \"exact\": %s, \"bound\": %s, \"rd\": {\"sum\": {\"max\": %s, "
             "\"mean\": %s%s}, "
             "\"per_component_dim\": {\"max\": %s, \"mean\": %s%s}}, \"bdp\": {\"delta\": 1e-5, "
             "\"releases\": 1, \"best\": {\"epsilon\": %s}, \"published\": {\"epsilon\": %s}}",
             run->share, exact, bound, number(a, run->rd_max), number(b, run->rd_mean), finite[0],
             number(c, run->rd_max / 100), number(d, run->rd_mean / 100), finite[1],
             number(e, run->bdp_best), number(f, run->bdp_published));
    if (run->vectors > 0) append_posterior(text, sizeof text - 2, run);
    if (run->linked > 0)
        snprintf(text + strlen(text), sizeof text - strlen(text) - 2,
                 ", \"linkage\": {\"first\": %.17g}", run->linked);
    strcat(text, "}");
    made_run_file(folder, run->name, "privacy.json", text);
}

void made_run(const char *folder, const struct made_run *run) {
    write_run(folder, run);
    write_result(folder, run);
    if (run->rd_max > 0) write_privacy(folder, run);
    if (run->label == NULL) return;
    made_run_file(folder, run->name, "sweep.json", support_path("{\"label\": \"%s\"}", run->label));
}

struct report *made_report(struct nvdp_context *ctx, const char *folder) {
    struct report_config config = report_config_default();
    struct report *report = NULL;
    config.directory = made_folder(folder);
    ok(report_create(ctx, &config, &report));
    return support_keep(report);
}

void made_runs(const char *folder, size_t count, const struct made_run *runs) {
    for (size_t i = 0; i < count; i++)
        made_run(folder, &runs[i]);
}

struct report *made_report_of(const char *folder, size_t count, const struct made_run *runs) {
    made_runs(folder, count, runs);
    return made_report(support_context(), folder);
}

char *report_written(const char *folder, const char *file) {
    struct nvdp_context *ctx = support_context();
    nvdp__autoptr(report_free) struct report *report = made_report(ctx, folder);
    report->figures = false;
    ok(report_write(ctx, report));
    return support_read(support_path("%s/%s", report_directory(report), file));
}

const struct report_group *made_selected(const struct report *report, const char *label) {
    for (size_t f = 0; f < report->families; f++) {
        if (strcmp(report->family[f].label, label) == 0) return report_selected(report, 0, f);
    }
    cr_assert(false, "no method is called '%s'", label);
    return NULL;
}

const char *made_note(const struct report *report, const char *run) {
    for (size_t i = 0; i < report->notes; i++) {
        if (strcmp(report->note[i].name, run) == 0) return report->note[i].text;
    }
    return "";
}
