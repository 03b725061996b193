/* Who holds a run: this process, or another one of this machine or elsewhere. */
#ifndef NVDP_EXPERIMENTS_SWEEP_HOLDER_H
#define NVDP_EXPERIMENTS_SWEEP_HOLDER_H

#include "base/base.h"
#include <jansson.h>

enum { NVDP__HOST_ROOM = 256, NVDP__BOOT_ROOM = 64 };

struct nvdp__holder {
    char host[NVDP__HOST_ROOM];
    char boot[NVDP__BOOT_ROOM]; /* the kernel's boot id and the pid namespace; "" where unknown */
    int64_t pid;
    int64_t started; /* clock ticks after boot: tells a process from a later one of its number */
};

struct nvdp__holder nvdp__holder_self(void);
json_t *nvdp__holder_json(const struct nvdp__holder *holder);
/* What is missing is left empty, so that a damaged record is somebody of another machine. */
struct nvdp__holder nvdp__holder_from_json(const json_t *object);
/* Whether its process would be found here: same boot, same numbers of processes. */
bool nvdp__holder_is_local(const struct nvdp__holder *self, const struct nvdp__holder *holder);
/* For a local one: whether its process still runs. */
bool nvdp__holder_is_alive(const struct nvdp__holder *holder);

#endif
