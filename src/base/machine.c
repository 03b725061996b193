/* Facts about this process and its machine, read from /proc (machine.h). */
#include "base/machine.h"

#include "base/base.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LINE_SIZE = 4096, START_FIELD = 22, AFTER_NAME = 3 };

/* Field 22 of /proc/self/stat: clock ticks after boot. Field 2, the name in parentheses, may
 * contain anything, so parsing starts after the last ')'. */
static double start_ticks(const char *stat) {
    const char *at = strrchr(stat, ')');
    for (int field = AFTER_NAME; at != NULL && field <= START_FIELD; field++) {
        at = strchr(at + 1, ' ');
    }
    unsigned long long ticks;
    return at != NULL && sscanf(at, "%llu", &ticks) == 1 ? (double)ticks : NAN;
}

double nvdp__process_age(void) {
    char line[LINE_SIZE] = "";
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL) return NAN;
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    struct timespec now;
    long ticks = sysconf(_SC_CLK_TCK);
    if (!read || ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return NAN;
    double age =
        (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - start_ticks(line) / (double)ticks;
    return age < 0 ? 0 : age; /* rounding of a tick may give a negative age; NaN stays */
}

size_t nvdp__peak_rss(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
    return (size_t)usage.ru_maxrss * 1024; /* kibibytes on Linux */
}

void nvdp__processor_name(size_t size, char *name) {
    char line[LINE_SIZE];
    nvdp__snprintf(name, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) != 0 || colon == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        nvdp__snprintf(name, size, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
        break;
    }
    fclose(file);
}
