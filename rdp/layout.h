/* How the dimensions of a text are cut into blocks: whole rows where several fit into
 * NVDP__CHUNK, else parts of a row. */
#ifndef NVDP_RDP_LAYOUT_H
#define NVDP_RDP_LAYOUT_H

#include "rdp/fast.h"

struct nvdp__layout {
    size_t rows;   /* of a block; 1 where a row is cut */
    size_t pieces; /* of a row; 1 where rows are whole */
    size_t width;  /* of a piece; the last one of a row may be narrower */
};

static inline struct nvdp__layout nvdp__layout(size_t dim) {
    size_t pieces = (dim + NVDP__CHUNK - 1) / NVDP__CHUNK;
    size_t rows = pieces > 1 ? 1 : NVDP__CHUNK / dim;
    return (struct nvdp__layout){
        .rows = rows, .pieces = pieces, .width = (dim + pieces - 1) / pieces};
}

#endif
