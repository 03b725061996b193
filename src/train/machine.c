#include "train/machine.h"

#include <cblas.h>
#include <gsl/gsl_version.h>
#include <nvdp/version.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* "model name" of the first processor, or the machine's architecture. */
static json_t *processor_name(void) {
    char line[512];
    json_t *name = NULL;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && name == NULL && fgets(line, sizeof line, file) != NULL) {
        char *value = strchr(line, ':');
        if (value == NULL || strncmp(line, "model name", 10) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        name = json_string(value + 2);
    }
    if (file != NULL) fclose(file);
    struct utsname system;
    if (name == NULL && uname(&system) == 0) name = json_string(system.machine);
    return name == NULL ? json_string("unknown") : name;
}

json_t *nvdp__now_json(void) {
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

json_t *nvdp__software_json(void) {
    return json_pack("{s:s,s:s,s:s}", "nvdp", nvdp_version(), "openblas", openblas_get_config(),
                     "gsl", GSL_VERSION);
}

json_t *nvdp__hardware_json(const struct nvdp_context *ctx) {
    return json_pack("{s:o,s:i}", "processor", processor_name(), "threads",
                     nvdp_context_threads(ctx));
}
