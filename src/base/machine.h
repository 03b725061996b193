/* Facts about this process and its machine from the operating system. */
#ifndef NVDP_SRC_BASE_MACHINE_H
#define NVDP_SRC_BASE_MACHINE_H

#include <stddef.h>

/* Seconds since the process started, in clock ticks (10 ms); NaN without /proc. */
double nvdp__process_age(void);
/* Peak resident memory in bytes; 0 if unknown. */
size_t nvdp__peak_rss(void);
/* The processor's model name, truncated to fit; "unknown" if /proc does not state it. */
void nvdp__processor_name(size_t size, char *name);

#endif
