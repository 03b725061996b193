/* Loops compiled once more for wider vectors, chosen when the program starts. */
#ifndef NVDP_RDP_CLONES_H
#define NVDP_RDP_CLONES_H

#if defined(__x86_64__) && !defined(NVDP_SANITIZED) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define NVDP_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#endif
#ifndef NVDP_CLONES
#define NVDP_CLONES
#endif

#endif
