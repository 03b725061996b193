/** @file
 * Declaration macros: C linkage, and visibility outside of the shared library.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_EXPORT_H
#define NVDP_EXPORT_H

/** @cond internal: the library is compiled with hidden visibility; declarations between these two macros are
 * visible. */
#if defined __GNUC__
#define NVDP_VISIBLE_ _Pragma("GCC visibility push(default)")
#define NVDP_HIDDEN_ _Pragma("GCC visibility pop")
#else
#define NVDP_VISIBLE_
#define NVDP_HIDDEN_
#endif
/** @endcond */

/** @def NVDP_BEGIN_DECLS
 * Goes before the declarations of a header of the library. */
/** @def NVDP_END_DECLS
 * Goes after the declarations. */
#ifdef __cplusplus
#define NVDP_BEGIN_DECLS                                                                           \
    extern "C" {                                                                                   \
    NVDP_VISIBLE_
#define NVDP_END_DECLS                                                                             \
    NVDP_HIDDEN_                                                                                   \
    }
#else
#define NVDP_BEGIN_DECLS NVDP_VISIBLE_
#define NVDP_END_DECLS NVDP_HIDDEN_
#endif

#endif
