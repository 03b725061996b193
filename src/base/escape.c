/* Shows untrusted text, and writes text with the special characters of a format escaped: one list of replacements per
 * format. */
#include "base/escape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- untrusted text ---- */

/* Decodes a character of UTF-8 and returns its bytes, 0 if the bytes end within it, or -1 if they are not UTF-8. */
static int decode(const unsigned char *at, size_t count, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const int length = at[0] < 0x80                    ? 1
                       : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                       : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                       : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                       : -1;
    if (length < 0) return -1;
    *code = length == 1 ? at[0] : at[0] & (0x7fU >> length);
    for (int i = 1; i < length; i++) {
        if ((size_t)i == count) return 0;
        if ((at[i] & 0xc0) != 0x80) return -1;
        *code = *code << 6 | (at[i] & 0x3f);
    }
    const bool surrogate = *code >= 0xd800 && *code < 0xe000;
    return surrogate || *code < least[length] || *code > 0x10ffff ? -1 : length;
}

static bool is_plain(uint32_t code) {
    static const uint32_t others[][2] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200b}, {0x200e, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i][0] <= code && code <= others[i][1]) return false;
    return true;
}

size_t nvdp__show_character(const char *text, size_t count, char out[NVDP__SHOWN]) {
    uint32_t code = 0;
    const int length = decode((const unsigned char *)text, count, &code);
    if (length < 0) {
        nvdp__snprintf(out, NVDP__SHOWN, "\\x%02x", (unsigned)(unsigned char)text[0]);
    } else if (is_plain(code)) {
        memcpy(out, text, (size_t)length);
        out[length] = '\0';
    } else if (code < 0x10000) {
        nvdp__snprintf(out, NVDP__SHOWN, "\\u%04x", (unsigned)code);
    } else {
        nvdp__snprintf(out, NVDP__SHOWN, "\\u%04x\\u%04x", 0xd7c0 + (unsigned)(code >> 10),
                       0xdc00 + (unsigned)(code & 0x3ff));
    }
    return (size_t)abs(length);
}

/* Shows the first character of a text that ends with NUL, and returns the rest: an incomplete character is no UTF-8. */
static const char *show_next(const char *text, char out[NVDP__SHOWN]) {
    const size_t length = nvdp__show_character(text, SIZE_MAX, out);
    return text + length;
}

size_t nvdp__show_into(char *out, size_t size, const char *text) {
    char shown[NVDP__SHOWN];
    size_t used = 0;
    while (*text != '\0') {
        text = show_next(text, shown);
        const size_t length = strlen(shown);
        if (used + length >= size) break;
        memcpy(out + used, shown, length);
        used += length;
    }
    out[used] = '\0';
    return used;
}

void nvdp__put_shown(FILE *to, const char *text) {
    char shown[NVDP__SHOWN];
    while (*text != '\0') {
        text = show_next(text, shown);
        fputs(shown, to);
    }
}

void nvdp__put_tsv(FILE *to, const char *text) {
    char shown[NVDP__SHOWN];
    while (*text != '\0') {
        const bool escape = text[0] == '\\' && text[1] == 'u';
        text = show_next(text, shown);
        fputs(escape ? "\\u005c" : shown, to);
    }
}

/* ---- formats ---- */

struct replacement {
    const char *from, *to;
};

static void put(FILE *to, const char *text, const struct replacement *list) {
    while (*text != '\0') {
        const struct replacement *found = list;
        while (found->from != NULL && strncmp(text, found->from, strlen(found->from)) != 0)
            found++;
        if (found->from != NULL) {
            fputs(found->to, to);
            text += strlen(found->from);
        } else {
            fputc(*text++, to);
        }
    }
}

void nvdp__put_html(FILE *to, const char *text) {
    static const struct replacement list[] = {{"&", "&amp;"},   {"<", "&lt;"},  {">", "&gt;"},
                                              {"\"", "&quot;"}, {"'", "&#39;"}, {"+-", "±"},
                                              {NULL, NULL}};
    put(to, text, list);
}

void nvdp__put_latex(FILE *to, const char *text) {
    static const struct replacement list[] = {{"\\", "\\textbackslash{}"},
                                              {"{", "\\{"},
                                              {"}", "\\}"},
                                              {"$", "\\$"},
                                              {"&", "\\&"},
                                              {"#", "\\#"},
                                              {"%", "\\%"},
                                              {"_", "\\_"},
                                              {"^", "\\textasciicircum{}"},
                                              {"~", "\\textasciitilde{}"},
                                              {"<", "$<$"},
                                              {">", "$>$"},
                                              {"|", "$|$"},
                                              {"\"", "''"},
                                              {"+-", "$\\pm$"},
                                              {NULL, NULL}};
    put(to, text, list);
}

void nvdp__put_markdown(FILE *to, const char *text) {
    static const struct replacement list[] = {
        {"\\", "\\\\"}, {"|", "\\|"}, {"*", "\\*"},  {"_", "\\_"},  {"`", "\\`"},
        {"[", "\\["},   {"]", "\\]"}, {"<", "&lt;"}, {">", "&gt;"}, {"&", "&amp;"},
        {"#", "\\#"},   {"~", "\\~"}, {"+-", "±"},   {NULL, NULL}};
    put(to, text, list);
}

/* True if a spreadsheet would evaluate the cell. Numbers, and texts of numbers such as
 * "-0.5 to +1", are harmless. A quote before the cell makes it text. */
static bool is_formula(const char *text) {
    return *text != '\0' && strchr("=+-@\t\r", *text) != NULL &&
           text[strspn(text, "0123456789.+-e% ()\302\261tofina")] != '\0';
}

void nvdp__put_csv(FILE *to, const char *text) {
    static const struct replacement list[] = {{"\"", "\"\""}, {NULL, NULL}};
    const char *quote = strpbrk(text, ",\"\r\n") != NULL ? "\"" : "";
    fputs(quote, to);
    if (is_formula(text)) fputc('\'', to);
    put(to, text, list);
    fputs(quote, to);
}

void nvdp__put_gnuplot(FILE *to, const char *text) {
    /* Backquotes would run a command. */
    static const struct replacement list[] = {
        {"\\", "\\\\"}, {"\"", "\\\""}, {"`", "'"}, {"\n", " "}, {NULL, NULL}};
    fputc('"', to);
    put(to, text, list);
    fputc('"', to);
}

static bool is_control(char c) {
    return (unsigned char)c < ' ' || c == 0x7f;
}

static bool has_control(const char *text) {
    while (*text != '\0' && !is_control(*text))
        text++;
    return *text != '\0';
}

static void put_quoted(FILE *to, const char *text, char quote) {
    fputc(quote, to);
    for (; *text != '\0'; text++) {
        if (is_control(*text))
            nvdp__fprintf(to, "\\x%02x", (unsigned)*text);
        else
            nvdp__fprintf(to, *text == quote || *text == '\\' ? "\\%c" : "%c", *text);
    }
    fputc(quote, to);
}

void nvdp__put_shell(FILE *to, const char *text) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (*text != '\0' && text[strspn(text, plain)] == '\0') {
        fputs(text, to);
        return;
    }
    static const struct replacement list[] = {{"'", "'\\''"}, {NULL, NULL}};
    if (has_control(text)) {
        fputc('$', to);
        put_quoted(to, text, '\'');
        return;
    }
    fputc('\'', to);
    put(to, text, list);
    fputc('\'', to);
}

void nvdp__put_quoted(FILE *to, const char *text) {
    put_quoted(to, text, '"');
}

void nvdp__put_code(FILE *to, const char *text) {
    int longest = 0, run = 0;
    for (const char *c = text; *c != '\0'; c++) {
        run = *c == '`' ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    const size_t length = strlen(text);
    const bool padded = length > 0 && (text[0] == '`' || text[length - 1] == '`');
    for (int i = 0; i <= longest; i++)
        fputc('`', to);
    nvdp__fprintf(to, padded ? " %s " : "%s", text);
    for (int i = 0; i <= longest; i++)
        fputc('`', to);
}

char *nvdp__plain_copy(struct nvdp_context *ctx, const char *text) {
    char *copy = nvdp__strdup(ctx, text), *to = copy, shown[NVDP__SHOWN];
    while (copy != NULL && *text != '\0') {
        const char *next = show_next(text, shown);
        const size_t length = (size_t)(next - text);
        const bool plain = strncmp(shown, text, length) == 0 && shown[length] == '\0';
        if (plain) memcpy(to, text, length);
        if (!plain) *to = ' ';
        to += plain ? length : 1;
        text = next;
    }
    if (copy != NULL) *to = '\0';
    return copy;
}

char *nvdp__escaped(struct nvdp_context *ctx, void (*writer)(FILE *to, const char *text),
                    const char *text) {
    char *made = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&made, &size);
    if (to != NULL) writer(to, text);
    if (to != NULL && fclose(to) == 0) return made;
    free(made);
    nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    return NULL;
}
