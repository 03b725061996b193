/* Writes text with the special characters of a format escaped. */
#ifndef NVDP_SRC_BASE_ESCAPE_H
#define NVDP_SRC_BASE_ESCAPE_H

#include "base/base.h"
#include <stdio.h>

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

#endif
