/* Text: sentences appended to a buffer, aligned rows and wrapped lines; text with the special characters of a format
 * escaped; patterns. */
#ifndef NVDP_SRC_BASE_SENTENCE_H
#define NVDP_SRC_BASE_SENTENCE_H

#include "base/base.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Text that grows in a buffer of `size` bytes. nvdp__append() cuts the text at the end of the buffer. */
struct nvdp__writer {
    char *out;
    size_t size, used;
};
__attribute__((format(printf, 2, 3))) void nvdp__append(struct nvdp__writer *writer,
                                                        const char *format, ...);

/* Appends item `i` of a list "a, b or c". */
void nvdp__append_item(struct nvdp__writer *writer, size_t i, bool last, const char *item);

/* Sets the result to the text that `print` writes about `of`; the caller frees it with free(). Fails with
 * NVDP_ERR_MEMORY. */
nvdp_status nvdp__printed(struct nvdp_context *ctx, void (*print)(const void *of, FILE *to),
                          const void *of, char **out);

/* Writes a line with a name, padded to the common column of values, and a value. Control characters in the value are
 * shown as escapes, so that a name in the value cannot begin a line. */
__attribute__((format(printf, 3, 4))) void nvdp__print_row(FILE *to, const char *name,
                                                           const char *format, ...);
__attribute__((format(printf, 3, 0))) void nvdp__print_row_args(FILE *to, const char *name,
                                                                const char *format, va_list args);
/* Writes a text, broken at spaces into lines of at most 78 characters. In a text of several lines, such as a statement,
 * continuation lines are indented. */
void nvdp__print_wrapped(FILE *to, const char *text);
/* Writes a text from an untrusted file as a quotation: every line begins with "> ", so that no line looks like the
 * program's. */
void nvdp__print_quoted(FILE *to, const char *text);

/* A short string by value. `function().text` is valid until the end of the full expression. */
struct nvdp__short_text {
    char text[32];
};
/* Returns a formatted string, cut at 31 bytes. Numbers have a decimal point. */
__attribute__((format(printf, 1, 2))) struct nvdp__short_text nvdp__short_text(const char *format,
                                                                               ...);
/* Formats a whole number of samples: "one sample", "3 samples". */
struct nvdp__short_text nvdp__samples_text(double samples);

/* Limits a guarantee if the noise was drawn or added in floating point: the proofs assume exact arithmetic. */
#define NVDP__EXACT_ARITHMETIC(whose) "for exact arithmetic, which " whose " noise lacks"
#define NVDP__PROVEN_INEXACT(whose) "Proven " NVDP__EXACT_ARITHMETIC(whose)

/* ---- bounds as text: an upper bound is never below the value, a lower bound never above it ---- */

/* Returns an upper bound with at most 4 significant digits: "24.4" for 24.3951, "4.643" for 4.64297. A value within
 * 1e-9 (relative) of such a number is printed as that number, which undoes rounding errors of the computation.
 * Infinities and NaN are printed as "inf" and "nan". */
struct nvdp__short_text nvdp__bound(double value);

/* Returns a lower bound in the same form, rounded down: "24.39" for 24.3951. */
struct nvdp__short_text nvdp__bound_below(double value);

/* Returns an upper bound of a probability as a percentage with one decimal, or with two significant digits below
 * 1 %: "13.8 %" for .13786, "0.29 %" for .00289, "100 %" for 1. */
struct nvdp__short_text nvdp__share_bound(double probability);

/* Returns a lower bound, rounded down to this number of decimals. */
double nvdp__lower_bound(double value, int decimals);

/* ---- suggestions: the name that a misspelled word, or an old name, probably means ---- */

enum { NVDP__GUESS_SIZE = 64 };

/* The search for a suggestion; starts with the word alone: {.word = word}. */
struct nvdp__guess {
    const char *word;
    size_t distance;             /* distance of the nearest name so far */
    char text[NVDP__GUESS_SIZE]; /* "; did you mean 'name'?" if some name is near, else "" */
};

/* Compares the word with one more name; ignores NULL. */
void nvdp__guess(struct nvdp__guess *guess, const char *name);

/* Returns the current name of a preset; `name` may be an old name. */
const char *nvdp__preset_name(const char *name);

/* ---- untrusted text: names, labels, texts and attributes of files, shown on terminals and in tables ---- */

/* Control characters (C0, DEL, C1), ends of lines and paragraphs, marks that reorder text or are invisible
 * (Unicode's Bidi_Control, tags, zero-width spaces; not the joiners that scripts and emoji need) and bytes that are
 * not UTF-8 could move the cursor, hide words or imitate another line. Characters are shown as \u001b, as JSON
 * writes them, also in pairs of surrogates; single bytes that are not UTF-8 are shown as \x9b. */

enum { NVDP__SHOWN = 13 }; /* max size of a shown character, with NUL */
/* Shows the first character of `count` bytes. Returns its number of bytes, or 0 if the bytes end within a character. */
size_t nvdp__show_character(const char *text, size_t count, char out[NVDP__SHOWN]);
/* Shows a string on one line, cut to `size` bytes at the end of a character. Returns the length. */
size_t nvdp__show_into(char *out, size_t size, const char *text);
/* Writes a string on one line, with such characters shown as escapes. */
void nvdp__put_shown(FILE *to, const char *text);
/* Writes a field of a table whose fields are separated by tabs, as nvdp__put_shown() does. A backslash before u
 * becomes \u005c, so a reader that replaces every \uXXXX gets the original string. */
void nvdp__put_tsv(FILE *to, const char *text);

/* ---- formats ---- */

/* In formats that have the plus-minus sign, "+-" becomes this sign. */
void nvdp__put_html(FILE *to, const char *text);
void nvdp__put_latex(FILE *to, const char *text);
void nvdp__put_markdown(FILE *to, const char *text);
void nvdp__put_csv(FILE *to, const char *text);
/* Writes a gnuplot string in double quotes. */
void nvdp__put_gnuplot(FILE *to, const char *text);
/* Writes a word for the command line of a shell. A word with control characters works only in bash and zsh. */
void nvdp__put_shell(FILE *to, const char *text);
/* Writes a string in double quotes, for YAML and Python. */
void nvdp__put_quoted(FILE *to, const char *text);
/* Writes code within a line of Markdown; control characters stay. */
void nvdp__put_code(FILE *to, const char *text);

/* Returns the text that one of these functions writes, which the caller frees with free(); NULL if memory is
 * exhausted. */
char *nvdp__escaped(struct nvdp_context *ctx, void (*writer)(FILE *to, const char *text),
                    const char *text);
/* Copies a string, with a space in place of each character that nvdp__put_shown() would change, because no format
 * accepts control characters. Returns NULL if memory is exhausted. */
char *nvdp__plain_copy(struct nvdp_context *ctx, const char *text);

/* ---- patterns: a small, locale-independent part of regular expressions ---- */

/* Returns true if the whole string matches one of the alternatives of the pattern, which are separated by `|`. An
 * alternative is a sequence of characters and of classes such as [0-9a-f], each with an optional count {n} or
 * {min,max}. A class lists bytes and ranges. A character with a count takes as many bytes as possible, without
 * trying fewer. */
bool nvdp__matches(const char *pattern, const char *text);

#endif
