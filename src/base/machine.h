/* What the operating system knows of this process and its machine. */
#ifndef NVDP_SRC_BASE_MACHINE_H
#define NVDP_SRC_BASE_MACHINE_H

#include <stddef.h>

/* Seconds since the process started, in steps of a clock tick (10 ms); NaN where /proc is missing.
 */
double nvdp__process_age(void);
/* Bytes of memory that were resident at most; 0 where unknown. */
size_t nvdp__peak_rss(void);
/* The processor's model name, as much as fits; "unknown" where /proc does not tell. */
void nvdp__processor_name(size_t size, char *name);

#endif
