/** @file
 * How public functions are declared: with C linkage, and visible outside of the shared library.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_EXPORT_H
#define NVDP_EXPORT_H

/** @cond internal: everything of the library is compiled with hidden visibility; between these two
 * it is not. */
#if defined __GNUC__
#define NVDP_VISIBLE_ _Pragma("GCC visibility push(default)")
#define NVDP_HIDDEN_ _Pragma("GCC visibility pop")
#else
#define NVDP_VISIBLE_
#define NVDP_HIDDEN_
#endif
/** @endcond */

/** @def NVDP_BEGIN_DECLS
 * Stands before the declarations of a header of the library. */
/** @def NVDP_END_DECLS
 * Stands behind them. */
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
