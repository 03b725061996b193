/* Reads and writes numbers as text with a decimal point, whatever LC_NUMERIC the caller's process or thread has.
 *
 * The library calls these functions in place of the standard ones; the test `modules` checks its sources.
 * jansson does the same for JSON. */
#include "base/base.h"

#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

static locale_t made;

static void make(void) {
    made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Returns the C locale, made once per process. The C libraries that we know have this locale as a constant. */
static locale_t c_locale(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return made;
}

double nvdp__strtod(const char *text, char **end) {
    const locale_t before = uselocale(c_locale());
    const double value = strtod(text, end);
    uselocale(before);
    return value;
}

int nvdp__vsnprintf(char *text, size_t size, const char *format, va_list args) {
    const locale_t before = uselocale(c_locale());
    const int length = vsnprintf(text, size, format, args);
    uselocale(before);
    return length;
}

int nvdp__snprintf(char *text, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = nvdp__vsnprintf(text, size, format, args);
    va_end(args);
    return length;
}

const char *nvdp__real_text(double value, char text[NVDP__NUMBER_TEXT]) {
    for (int digits = NVDP__REAL_DIGITS - 2; digits <= NVDP__REAL_DIGITS; digits++) {
        nvdp__snprintf(text, NVDP__NUMBER_TEXT, "%.*g", digits, value);
        if (nvdp__strtod(text, NULL) == value) break;
    }
    return text;
}

int nvdp__vfprintf(FILE *to, const char *format, va_list args) {
    const locale_t before = uselocale(c_locale());
    const int length = vfprintf(to, format, args);
    uselocale(before);
    return length;
}

int nvdp__fprintf(FILE *to, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = nvdp__vfprintf(to, format, args);
    va_end(args);
    return length;
}
