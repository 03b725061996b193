/* clang-tidy includes this header before every file (scripts/check.sh). It analyzes one file at a time, and would
 * otherwise follow paths on which recording a failure returns success. */
#if __has_include("base/base.h")
#include "base/base.h"
#define nvdp__fail(ctx, status, ...) ((void)(nvdp__fail)((ctx), (status), __VA_ARGS__), (status))
#define nvdp__fail_errno(ctx, err, ...)                                                            \
    ((void)(nvdp__fail_errno)((ctx), (err), __VA_ARGS__), NVDP_ERR_IO)
#endif
