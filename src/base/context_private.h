/* What a context holds; for the base room alone. */
#ifndef NVDP_SRC_CONTEXT_PRIVATE_H
#define NVDP_SRC_CONTEXT_PRIVATE_H

#include <nvdp/precision.h>

enum { NVDP__MESSAGE_ROOM = 2048 };

struct nvdp_context {
    nvdp_log_fn log;
    void *log_user;
    nvdp_progress_fn progress;
    void *progress_user;
    nvdp_cancel_fn cancel;
    void *cancel_user;
    int threads;
    enum nvdp_precision precision;
    uint64_t fail_allocation; /* allocations until the one that fails; 0: none does */
    char error[NVDP__MESSAGE_ROOM];
};

#endif
