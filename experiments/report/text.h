/* Numbers and names as a report prints them, and what each format needs escaped. */
#ifndef NVDP_EXPERIMENTS_REPORT_TEXT_H
#define NVDP_EXPERIMENTS_REPORT_TEXT_H

#include "experiments/report/report.h"

enum { NVDP__NUMBER_ROOM = 64 };

/* Three digits or more: "0.0123", "66.1", "392488", "1.25e-06"; "inf", "-inf"; "-" for NaN. */
const char *nvdp__say_number(char text[NVDP__NUMBER_ROOM], double value);
/* A score between -1 and 1 as 100 times it, with one decimal. */
const char *nvdp__say_score(char text[NVDP__NUMBER_ROOM], double value);
/* "83.0 +- 0.4", or "83.0" where there is no spread. */
const char *nvdp__say_score_stat(char text[NVDP__NUMBER_ROOM], const struct nvdp__stat *stat);
/* "44.3 %"; a share is never rounded to none or to all. */
const char *nvdp__say_share(char text[NVDP__NUMBER_ROOM], double share);
/* A number, and where it is infinite the share of pairs that are: "inf (44.3 %)". */
const char *nvdp__say_divergence(char text[NVDP__NUMBER_ROOM], double value, double share);
/* "1e-3"; "-" for NaN. */
const char *nvdp__say_lambda(char text[NVDP__NUMBER_ROOM], double lambda);
/* Of a group: one number, or "G 1e-3, D 1e-2". */
const char *nvdp__say_lambdas(char text[NVDP__NUMBER_ROOM], double lambda_g, double lambda_d);
/* A probability: "0.032", "<0.001". */
const char *nvdp__say_p(char text[NVDP__NUMBER_ROOM], double p);

/* The shortest form that reads back as the same number. */
void nvdp__put_real(FILE *to, double value);

/* Text with what has a meaning in the format escaped.  "+-" becomes the sign where there is one. */
void nvdp__put_html(FILE *to, const char *text);
void nvdp__put_latex(FILE *to, const char *text);
void nvdp__put_markdown(FILE *to, const char *text);
void nvdp__put_csv(FILE *to, const char *text);
/* A gnuplot string in double quotes. */
void nvdp__put_gnuplot(FILE *to, const char *text);
/* A word of a shell's command line. */
void nvdp__put_shell(FILE *to, const char *text);

/* A copy of UTF-8 text without control characters, which no format takes; NULL: out of memory. */
char *nvdp__plain_copy(struct nvdp_context *ctx, const char *text);
/* Code points. */
size_t nvdp__text_width(const char *text);

#endif
