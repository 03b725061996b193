/* Text: sentences appended to a buffer, aligned rows, wrapped lines; text with the special characters of a format escaped; patterns. */
#ifndef NVDP_SRC_BASE_SENTENCE_H
#define NVDP_SRC_BASE_SENTENCE_H

#include "base/base.h"
#include <stdarg.h>
#include <stdbool.h>
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

/* A short text by value. `function().text` is valid until the end of the full expression. */
struct nvdp__short_text {
    char text[32];
};
/* Returns a formatted text, cut at 31 bytes. Numbers have a decimal point. */
__attribute__((format(printf, 1, 2))) struct nvdp__short_text nvdp__short_text(const char *format,
                                                                               ...);
/* Returns a whole number of samples as text: "one sample", "3 samples". */
struct nvdp__short_text nvdp__samples_text(double samples);

/* Limits a guarantee whose noise was drawn or added in floating point: the proofs assume exact arithmetic. */
#define NVDP__EXACT_ARITHMETIC(whose) "for exact arithmetic, which " whose " noise lacks"
#define NVDP__PROVEN_INEXACT(whose) "Proven " NVDP__EXACT_ARITHMETIC(whose)

/* ---- bounds as text: an upper bound is never below the value, a lower bound never above it ---- */

/* Returns an upper bound with at most 4 significant digits: "24.4" for 24.3951, "4.643" for 4.64297. A value within 1e-9 (relative) of such a number is printed as that number, which undoes rounding errors
 * of the computation. Infinities and NaN are printed as "inf" and "nan". */
struct nvdp__short_text nvdp__bound(double value);

/* Returns a lower bound in the same form, rounded down: "24.39" for 24.3951. */
struct nvdp__short_text nvdp__bound_below(double value);

/* Returns an upper bound of a probability as a percentage with one decimal, or with two significant digits below
 * 1 %: "13.8 %" for .13786, "0.29 %" for .00289, "100 %" for 1. */
struct nvdp__short_text nvdp__share_bound(double probability);

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

/* ---- untrusted text: names, labels, texts and attributes of files, shown on terminals and in tables ---- */

/* Control characters (C0, DEL, C1), ends of lines and paragraphs, marks that reorder text or are invisible (Unicode's
 * Bidi_Control, tags, zero-width spaces; not the joiners that scripts and emoji need) and bytes that are not UTF-8 could
 * move the cursor, hide words or imitate another line.  The first kinds are shown as \u001b, as JSON writes them, also in
 * pairs of surrogates; single bytes as \x9b. */

enum { NVDP__SHOWN = 13 }; /* size of a shown character, with NUL */
/* Shows the first character of `count` bytes and returns its number of bytes, or 0 if they end within a character. */
size_t nvdp__show_character(const char *text, size_t count, char out[NVDP__SHOWN]);
/* Shows a text on one line, cut to `size` bytes at the end of a character, and returns its length. */
size_t nvdp__show_into(char *out, size_t size, const char *text);
/* Writes a text so, on one line. */
void nvdp__put_shown(FILE *to, const char *text);
/* Writes a field of a table whose fields are separated by tabs, as nvdp__put_shown() does.  A backslash before u is
 * \u005c, so a reader that replaces every \uXXXX has the text again. */
void nvdp__put_tsv(FILE *to, const char *text);

/* ---- formats ---- */

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
/* Copies a text with a space in place of each character that nvdp__put_shown() would not write as it is: no format accepts
 * control characters.  NULL: out of memory. */
char *nvdp__plain_copy(struct nvdp_context *ctx, const char *text);

/* ---- patterns: a small, locale-independent part of regular expressions ---- */

/* Returns true if the whole text matches one of the alternatives of the pattern, which `|` separates.  An alternative
 * is a sequence of characters and of classes such as [0-9a-f], each optionally with a count {n} or {min,max}.  A class
 * lists bytes and ranges.  A character with a count takes as many bytes as it can, without trying fewer. */
bool nvdp__matches(const char *pattern, const char *text);

#endif
