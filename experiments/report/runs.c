/* Finding runs: DIR itself, DIR/runs/NAME, DIR/NAME; failures of a sweep in DIR/failed. */
#include "base/file.h"
#include "experiments/report/report.h"
#include "experiments/report/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

nvdp_status nvdp__report_note(struct nvdp_context *ctx, struct nvdp_report *report,
                              const char *name, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    struct nvdp__report_note note = {.name = nvdp__plain_copy(ctx, name),
                                     .text = nvdp__plain_copy(ctx, text)};
    free(text);
    nvdp_status status =
        nvdp__reserve(ctx, &report->note, &report->note_room, report->notes + 1, sizeof note);
    if (status == NVDP_OK && (note.name == NULL || note.text == NULL)) status = NVDP_ERR_MEMORY;
    if (status == NVDP_OK) {
        report->note[report->notes++] = note;
    } else {
        free(note.name);
        free(note.text);
    }
    return status;
}

static nvdp_status has(struct nvdp_context *ctx, const char *directory, const char *name,
                       bool *found) {
    char *path = nvdp__join(ctx, directory, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    *found = nvdp__exists(path);
    free(path);
    return NVDP_OK;
}

/* A broken file is a note; what is not the input's fault is passed on. */
static nvdp_status forgive(struct nvdp_context *ctx, struct nvdp_report *report, const char *name,
                           nvdp_status status) {
    if (status != NVDP_ERR_INPUT && status != NVDP_ERR_IO) return status;
    char *message = nvdp__strdup(ctx, nvdp_context_error(ctx));
    if (message == NULL) return NVDP_ERR_MEMORY;
    status = nvdp__report_note(ctx, report, name, "%s", message);
    free(message);
    return status;
}

static nvdp_status add_run(struct nvdp_context *ctx, struct nvdp_report *report, const char *path,
                           const char *name) {
    struct nvdp__report_run run = {0};
    bool finished = false;
    NVDP_RETURN_IF_FAILED(has(ctx, path, "result.json", &finished));
    if (!finished) return nvdp__report_note(ctx, report, name, "unfinished: no result.json");
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &report->run, &report->run_room, report->runs + 1, sizeof *report->run));
    nvdp_status status = nvdp__report_read_run(ctx, path, name, &run);
    if (status != NVDP_OK) {
        nvdp__report_run_release(&run);
        return forgive(ctx, report, name, status);
    }
    status = forgive(ctx, report, name, nvdp__report_read_privacy(ctx, &run));
    if (status == NVDP_OK && !run.measured && !nvdp__is_reference(run.method))
        status = nvdp__report_note(
            ctx, report, name, "scored, but its privacy is not measured: nvdp privacy %s", path);
    report->run[report->runs++] = run; /* released with the others */
    return status;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* One entry of a folder; `strict`: everything in it should be a run. */
static nvdp_status visit(struct nvdp_context *ctx, struct nvdp_report *report,
                         const char *directory, const char *name, bool strict) {
    nvdp_status status = NVDP_OK;
    bool run = false;
    char *path = nvdp__join(ctx, directory, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    bool folder = nvdp__is_directory(path); /* a file among the runs is none of ours */
    if (folder) NVDP_TRY(has(ctx, path, "run.json", &run));
    if (run) NVDP_TRY(add_run(ctx, report, path, name));
    if (folder && !run && strict)
        NVDP_TRY(nvdp__report_note(ctx, report, name, "no run.json: not a run, or not yet begun"));
cleanup:
    free(path);
    return status;
}

static nvdp_status visit_all(struct nvdp_context *ctx, struct nvdp_report *report,
                             const char *directory, bool strict) {
    struct dirent **entry = NULL;
    int count = scandir(directory, &entry, visible, by_name);
    if (count < 0) return nvdp__fail_errno(ctx, errno, "%s: cannot list the directory", directory);
    nvdp_status status = NVDP_OK;
    for (int i = 0; i < count; i++) {
        if (status == NVDP_OK) status = visit(ctx, report, directory, entry[i]->d_name, strict);
        free(entry[i]);
    }
    free(entry);
    return status;
}

/* failed/NAME.json of nvdp sweep: its error becomes a note. */
static nvdp_status read_failure(struct nvdp_context *ctx, struct nvdp_report *report,
                                const char *directory, const char *name) {
    json_t *root = NULL;
    char *path = nvdp__join(ctx, directory, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = forgive(ctx, report, name, nvdp__json_read(ctx, path, &root));
    free(path);
    if (root == NULL) return status;
    const char *message = json_string_value(json_object_get(root, "message"));
    if (status == NVDP_OK)
        status = nvdp__report_note(ctx, report, name, "failed: %s",
                                   message != NULL ? message : "the sweep does not say why");
    json_decref(root);
    return status;
}

static nvdp_status read_failures(struct nvdp_context *ctx, struct nvdp_report *report,
                                 const char *directory) {
    struct dirent **entry = NULL;
    int count = scandir(directory, &entry, visible, by_name);
    nvdp_status status = NVDP_OK;
    for (int i = 0; i < count; i++) {
        size_t length = strlen(entry[i]->d_name);
        bool json = length > 5 && strcmp(entry[i]->d_name + length - 5, ".json") == 0;
        if (json && status == NVDP_OK)
            status = read_failure(ctx, report, directory, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    return status;
}

static nvdp_status read_folders(struct nvdp_context *ctx, struct nvdp_report *report) {
    nvdp_status status = NVDP_OK;
    char *runs = nvdp__join(ctx, report->directory, "runs");
    char *failed = nvdp__join(ctx, report->directory, "failed");
    if (runs == NULL || failed == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    if (nvdp__is_directory(runs)) NVDP_TRY(visit_all(ctx, report, runs, true));
    NVDP_TRY(visit_all(ctx, report, report->directory, false));
    NVDP_TRY(read_failures(ctx, report, failed));
cleanup:
    free(runs);
    free(failed);
    return status;
}

nvdp_status nvdp__report_read(struct nvdp_context *ctx, struct nvdp_report *report) {
    const char *directory = report->directory;
    if (!nvdp__is_directory(directory))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected a directory of runs, found none",
                          directory);
    bool run = false;
    NVDP_RETURN_IF_FAILED(has(ctx, directory, "run.json", &run));
    if (run) {
        const char *slash = strrchr(directory, '/');
        const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : directory;
        NVDP_RETURN_IF_FAILED(add_run(ctx, report, directory, name));
    } else {
        NVDP_RETURN_IF_FAILED(read_folders(ctx, report));
    }
    if (report->runs > 0) return NVDP_OK;
    if (report->notes > 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected finished runs, found %zu that are not; the first, %s: %s",
                          directory, report->notes, report->note[0].name, report->note[0].text);
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: expected run directories (with run.json) in it or in its runs/, found "
                      "none",
                      directory);
}
