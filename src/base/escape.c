/* Writes text with the special characters of a format escaped: one list of replacements per
 * format. */
#include "base/escape.h"

#include <stdlib.h>
#include <string.h>

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
    char *copy = nvdp__strdup(ctx, text);
    for (char *c = copy; c != NULL && *c != '\0'; c++) {
        if (is_control(*c)) *c = ' ';
    }
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
