/* Runs of Philox4x32-10 blocks; for random.c. */
#ifndef NVDP_SRC_PHILOX_H
#define NVDP_SRC_PHILOX_H

#include <stddef.h>
#include <stdint.h>

/* words[4i..4i+3] = Philox(counter with [0] + i, key) for i < count.  counter[0] + count may reach
 * but not pass 2^32. */
void nvdp__philox_run(const uint32_t counter[4], const uint32_t key[2], size_t count,
                      uint32_t *words);

#endif
