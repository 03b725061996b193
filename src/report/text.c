/* Formats numbers and names for a report, and builds texts in memory (sheets). */
#include "report/parts.h"

#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers --- */

const char *report_say_number(char text[NVDP__NUMBER_SIZE], double value) {
    double size = fabs(value);
    if (isnan(value)) {
        snprintf(text, NVDP__NUMBER_SIZE, "-");
    } else if (isinf(value)) {
        snprintf(text, NVDP__NUMBER_SIZE, value > 0 ? "inf" : "-inf");
    } else if (size != 0 && (size < 9.995e-5 || size >= 1e7)) {
        snprintf(text, NVDP__NUMBER_SIZE, "%.2e", value);
    } else {
        int decimals = 0; /* for three digits in all */
        for (double limit = 99.95; size != 0 && size < limit; limit /= 10) {
            decimals++;
        }
        snprintf(text, NVDP__NUMBER_SIZE, "%.*f", decimals, value);
    }
    return text;
}

const char *report_say_score(char text[NVDP__NUMBER_SIZE], double value) {
    if (isnan(value)) return report_say_number(text, value);
    snprintf(text, NVDP__NUMBER_SIZE, "%.1f", 100 * value);
    return text;
}

const char *report_say_score_stat(char text[NVDP__NUMBER_SIZE], const struct report_stat *stat) {
    if (stat->n < 2 || isnan(stat->sd)) return report_say_score(text, stat->mean);
    snprintf(text, NVDP__NUMBER_SIZE, "%.1f +- %.1f", 100 * stat->mean, 100 * stat->sd);
    return text;
}

const char *report_say_share(char text[NVDP__NUMBER_SIZE], double share) {
    if (share > 0 && share < .001) {
        snprintf(text, NVDP__NUMBER_SIZE, "<0.1 %%");
    } else if (share < 1 && share > .999) {
        snprintf(text, NVDP__NUMBER_SIZE, ">99.9 %%");
    } else if (share == 0 || share == 1) {
        snprintf(text, NVDP__NUMBER_SIZE, "%.0f %%", 100 * share);
    } else {
        snprintf(text, NVDP__NUMBER_SIZE, "%.1f %%", 100 * share);
    }
    return text;
}

/* Formats 0.001 as 1e-3 and 0.0025 as 2.5e-3. */
const char *report_say_lambda(char text[NVDP__NUMBER_SIZE], double lambda) {
    if (!isfinite(lambda)) return report_say_number(text, lambda);
    if (lambda == 0 || (fabs(lambda) >= .1 && fabs(lambda) < 1e5)) {
        snprintf(text, NVDP__NUMBER_SIZE, "%g", lambda);
        return text;
    }
    char parts[NVDP__NUMBER_SIZE];
    snprintf(parts, sizeof parts, "%.5e", lambda);
    char *power = strchr(parts, 'e');
    *power = '\0';
    snprintf(text, NVDP__NUMBER_SIZE, "%ge%d", strtod(parts, NULL), atoi(power + 1));
    return text;
}

static const char lambda_word[] = "lambda ";

/* A clip without a regularizer is named by C only. */
const char *report_say_setting(char text[NVDP__NUMBER_SIZE], const struct report_group *group) {
    if (!isnan(group->eta)) { /* training on privatized texts has no other setting */
        char eta[NVDP__NUMBER_SIZE];
        snprintf(text, NVDP__NUMBER_SIZE, "eta %.24s", report_say_lambda(eta, group->eta));
        return text;
    }
    char c[NVDP__NUMBER_SIZE], g[NVDP__NUMBER_SIZE], d[NVDP__NUMBER_SIZE], lambda[48] = "";
    double lambda_g = group->lambda_g, lambda_d = group->lambda_d;
    bool clipped = !isnan(group->clip_sequence), two = lambda_g != lambda_d && !isnan(lambda_d);
    bool weighted = !isnan(lambda_g) && (!clipped || lambda_g != 0 || (two && lambda_d != 0));
    report_say_lambda(c, group->clip_sequence);
    report_say_lambda(g, lambda_g);
    report_say_lambda(d, lambda_d);
    if (weighted)
        snprintf(lambda, sizeof lambda, "%s%s%.14s%s%.14s", lambda_word, two ? "G " : "", g,
                 two ? ", D " : "", two ? d : "");
    if (clipped)
        snprintf(text, NVDP__NUMBER_SIZE, "C %.14s%s%.44s", c, weighted ? ", " : "", lambda);
    else
        snprintf(text, NVDP__NUMBER_SIZE, "%s", weighted ? lambda : "-");
    return text;
}

const char *report_say_point(char text[NVDP__NUMBER_SIZE], const struct report_group *group) {
    const char *whole = report_say_setting(text, group);
    size_t word = sizeof lambda_word - 1;
    return strncmp(whole, lambda_word, word) == 0 ? whole + word : whole;
}

const char *report_say_p(char text[NVDP__NUMBER_SIZE], double p) {
    if (isnan(p)) return report_say_number(text, p);
    if (p < .001) {
        snprintf(text, NVDP__NUMBER_SIZE, "<0.001");
    } else {
        snprintf(text, NVDP__NUMBER_SIZE, "%.3f", p);
    }
    return text;
}

void report_put_real(FILE *to, double value) {
    char number[NVDP__NUMBER_SIZE] = "nan";
    for (int digits = 6; digits <= 17 && !isnan(value); digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value) break;
    }
    fputs(number, to);
}

size_t report_text_width(const char *text) {
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

/* --- sheets: texts under construction --- */

FILE *report_sheet_open(struct report_sheet *sheet) {
    *sheet = (struct report_sheet){0};
    return sheet->to = open_memstream(&sheet->text, &sheet->size);
}

char *report_sheet_text(struct nvdp_context *ctx, struct report_sheet *sheet) {
    bool good = sheet->to != NULL && ferror(sheet->to) == 0;
    if (sheet->to != NULL) good = fclose(sheet->to) == 0 && good;
    char *text = sheet->text;
    *sheet = (struct report_sheet){.size = sheet->size};
    if (good) return text;
    free(text);
    nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    return NULL;
}

nvdp_status report_sheet_write(struct nvdp_context *ctx, struct report_sheet *sheet,
                               const char *directory, const char *name) {
    nvdp_status status = NVDP_ERR_MEMORY;
    char *path = nvdp__join(ctx, directory, name);
    char *text = report_sheet_text(ctx, sheet);
    if (path != NULL && text != NULL) status = nvdp__write_file(ctx, path, text, sheet->size);
    free(text);
    free(path);
    return status;
}

double report_real_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *report_text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

int report_stem(const char *name) {
    return (int)(strlen(name) - (nvdp__ends_with(name, ".json") ? strlen(".json") : 0));
}
