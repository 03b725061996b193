/* Records the calls inside one function (ROOT) of a program that is compiled with -finstrument-functions. At exit, writes
 * "caller callee count first" (addresses in the object file) to $NVDP_TRACE. Records only the first thread that enters ROOT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define QUIET __attribute__((no_instrument_function))
enum { DEPTH = 1024, EDGES = 1 << 14 };

extern void ROOT(void) __attribute__((weak));

static _Thread_local struct {
    void *at[DEPTH];
    int depth, inside;
} stack;
static struct {
    uintptr_t from, to;
    unsigned long count, first;
} edge[EDGES];
static unsigned long edges;

void __cyg_profile_func_enter(void *function, void *site) QUIET;
void __cyg_profile_func_exit(void *function, void *site) QUIET;
static void record(uintptr_t from, uintptr_t to) QUIET;
static void write_out(void) QUIET;

static void record(uintptr_t from, uintptr_t to) {
    size_t at = (from * 31 + to) / 8 % EDGES;
    while (edge[at].count > 0 && (edge[at].from != from || edge[at].to != to))
        at = (at + 1) % EDGES;
    if (edge[at].count++ == 0) {
        edge[at].from = from;
        edge[at].to = to;
        edge[at].first = ++edges;
        if (edges == 1) atexit(write_out);
    }
}

static void write_out(void) {
    const char *path = getenv("NVDP_TRACE");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    Dl_info info;
    if (file == NULL || dladdr((void *)(uintptr_t)ROOT, &info) == 0) return;
    uintptr_t base = (uintptr_t)info.dli_fbase;
    fprintf(file, "# %s\n", info.dli_fname);
    for (size_t i = 0; i < EDGES; i++)
        if (edge[i].count > 0)
            fprintf(file, "%#lx %#lx %lu %lu\n", (unsigned long)(edge[i].from - base),
                    (unsigned long)(edge[i].to - base), edge[i].count, edge[i].first);
    fclose(file);
}

void __cyg_profile_func_enter(void *function, void *site) {
    (void)site;
    if (ROOT != NULL && function == (void *)(uintptr_t)ROOT) stack.inside++;
    if (stack.inside > 0 && stack.depth > 0)
        record((uintptr_t)stack.at[stack.depth - 1], (uintptr_t)function);
    if (stack.depth < DEPTH) stack.at[stack.depth] = function;
    stack.depth++;
}

void __cyg_profile_func_exit(void *function, void *site) {
    (void)site;
    if (ROOT != NULL && function == (void *)(uintptr_t)ROOT) stack.inside--;
    if (stack.depth > 0) stack.depth--;
}
