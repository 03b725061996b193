/* Text output: sentences appended to a buffer, aligned rows, wrapped lines. */
#ifndef NVDP_SRC_BASE_SENTENCE_H
#define NVDP_SRC_BASE_SENTENCE_H

#include "base/base.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Text that grows in a buffer of `size` bytes. nvdp__append() truncates what does not fit. */
struct nvdp__writer {
    char *out;
    size_t size, used;
};
__attribute__((format(printf, 2, 3))) void nvdp__append(struct nvdp__writer *writer,
                                                        const char *format, ...);

/* Returns the text that `print` writes about `of`; free() it. Fails with NVDP_ERR_MEMORY. */
nvdp_status nvdp__printed(struct nvdp_context *ctx, void (*print)(const void *of, FILE *to),
                          const void *of, char **out);

/* Writes a line with a name, padded to the common column of values, and its value, whose control characters are shown as
 * escapes, so a name in it cannot begin a line. */
__attribute__((format(printf, 3, 4))) void nvdp__print_row(FILE *to, const char *name,
                                                           const char *format, ...);
__attribute__((format(printf, 3, 0))) void nvdp__print_row_args(FILE *to, const char *name,
                                                                const char *format, va_list args);
/* Writes a text, broken at spaces into lines of at most 78 characters. In a text of several lines, such as a statement,
 * continuation lines are indented. */
void nvdp__print_wrapped(FILE *to, const char *text);
/* Writes a text from a stranger's file so: every line begins with "> ", so that no line looks like the program's. */
void nvdp__print_quoted(FILE *to, const char *text);

enum { NVDP__SAMPLES_TEXT = 32 };
/* Writes a whole number of samples, and returns the text: "one sample", "3 samples". */
const char *nvdp__samples_text(double samples, char text[NVDP__SAMPLES_TEXT]);

/* Limits a guarantee whose noise was drawn or added in floating point: the proofs assume exact arithmetic. */
#define NVDP__EXACT_ARITHMETIC(whose) "for exact arithmetic, which " whose " noise lacks"
#define NVDP__PROVEN_INEXACT(whose) "Proven " NVDP__EXACT_ARITHMETIC(whose)

/* ---- bounds as text: an upper bound is never below the value, a lower bound never above it ---- */

enum { NVDP__BOUND_TEXT = 32 };

/* Writes an upper bound with at most 4 significant digits and returns the text: "24.4" for 24.3951, "4.643" for
 * 4.64297. A value within 1e-9 (relative) of such a number is printed as that number, which undoes rounding errors
 * of the computation. Infinities and NaN are printed as "inf" and "nan". */
const char *nvdp__bound(char text[NVDP__BOUND_TEXT], double value);

/* Writes a lower bound in the same form, rounded down: "24.39" for 24.3951. */
const char *nvdp__bound_below(char text[NVDP__BOUND_TEXT], double value);

/* Writes an upper bound of a probability as a percentage with one decimal, or with two significant digits below
 * 1 %, and returns the text: "13.8 %" for .13786, "0.29 %" for .00289, "100 %" for 1. */
const char *nvdp__share_bound(char text[NVDP__BOUND_TEXT], double probability);

/* Returns a lower bound, rounded down to so many decimals. */
double nvdp__lower_bound(double value, int decimals);

/* ---- the name that a misspelled word, or an old name, was meant to be ---- */

enum { NVDP__GUESS_SIZE = 64 };

/* Start with the word alone: {.word = word}. */
struct nvdp__guess {
    const char *word;
    size_t distance;             /* of the nearest name so far */
    char text[NVDP__GUESS_SIZE]; /* "; did you mean 'name'?" if a name is near, else "" */
};

/* Compares the word with one more name; NULL is ignored. */
void nvdp__guess(struct nvdp__guess *guess, const char *name);

/* Returns the current name of a preset that may be given by an old name. */
const char *nvdp__preset_name(const char *name);

#endif
