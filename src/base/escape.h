/* Writes text with the special characters of a format escaped. */
#ifndef NVDP_SRC_BASE_ESCAPE_H
#define NVDP_SRC_BASE_ESCAPE_H

#include "base/base.h"
#include <stdio.h>

/* "+-" becomes the plus-minus sign in formats that have it. */
void nvdp__put_html(FILE *to, const char *text);
void nvdp__put_latex(FILE *to, const char *text);
void nvdp__put_markdown(FILE *to, const char *text);
void nvdp__put_csv(FILE *to, const char *text);
/* A gnuplot string in double quotes. */
void nvdp__put_gnuplot(FILE *to, const char *text);
/* Writes a word for a shell's command line; with control characters only bash and zsh understand
 * it. */
void nvdp__put_shell(FILE *to, const char *text);
/* Writes a string in double quotes, for YAML and Python. */
void nvdp__put_quoted(FILE *to, const char *text);
/* Writes code within a line of Markdown; control characters stay. */
void nvdp__put_code(FILE *to, const char *text);

/* Returns the text that one of these functions writes; free() it. NULL: out of memory. */
char *nvdp__escaped(struct nvdp_context *ctx, void (*writer)(FILE *to, const char *text),
                    const char *text);
/* Copies UTF-8 text without control characters, which no format accepts; NULL: out of memory. */
char *nvdp__plain_copy(struct nvdp_context *ctx, const char *text);

#endif
