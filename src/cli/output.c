/* Results on stdout: tables for people, one object for programs. */
#include "common.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMN = 18 };

int cli_print_json(struct cli *cli, json_t *object) {
    if (object == NULL) return cli_error(cli, CLI_FAILURE, "out of memory");
    int failed = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(object);
    if (failed != 0 || putchar('\n') == EOF)
        return cli_error(cli, CLI_FAILURE, "cannot write to stdout");
    return CLI_SUCCESS;
}

json_t *cli_number(double value) {
    if (isnan(value)) return json_null();
    if (isinf(value)) return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

json_t *cli_scores_json(const struct nvdp_scores *scores) {
    json_t *metrics = json_object();
    for (int i = 0; i < scores->metrics; i++) {
        json_object_set_new(metrics, nvdp_metric_name(scores->metric[i]),
                            json_pack("{s:o, s:o}", "mean", cli_number(scores->mean[i]), "sd",
                                      cli_number(scores->sd[i])));
    }
    return metrics;
}

void cli_row(FILE *to, const char *name, const char *format, ...) {
    fprintf(to, "%-*s", COLUMN, name);
    va_list args;
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    fputc('\n', to);
}

void cli_scores_print(const struct nvdp_scores *scores, FILE *to) {
    for (int i = 0; i < scores->metrics; i++) {
        const char *name = nvdp_metric_name(scores->metric[i]);
        if (scores->draws > 1) {
            cli_row(to, name, "%.4f +- %.4f  (%zu texts, %zu draws)", scores->mean[i],
                    scores->sd[i], scores->n, scores->draws);
        } else {
            cli_row(to, name, "%.4f  (%zu texts)", scores->mean[i], scores->n);
        }
    }
    if (!isnan(scores->majority)) cli_row(to, "majority class", "%.4f", scores->majority);
}

int cli_write_text(struct cli *cli, const char *path, const char *text) {
    char *beside = NULL;
    if (asprintf(&beside, "%s.partial-%ld", path, (long)getpid()) < 0)
        return cli_error(cli, CLI_FAILURE, "out of memory");
    int code = CLI_SUCCESS;
    FILE *file = fopen(beside, "wb");
    bool written = file != NULL && fprintf(file, "%s\n", text) >= 0 && fflush(file) == 0 &&
                   fsync(fileno(file)) == 0;
    int err = errno;
    if (file != NULL && fclose(file) != 0 && written) {
        written = false;
        err = errno;
    }
    if (written && rename(beside, path) != 0) {
        written = false;
        err = errno;
    }
    if (!written) {
        code = cli_error(cli, CLI_FAILURE, "%s: cannot write: %s", path, strerror(err));
        if (file != NULL) (void)unlink(beside);
    }
    free(beside);
    return code;
}
