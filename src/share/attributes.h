/* The attributes of a release: what its file states beside its values. */
#ifndef NVDP_SRC_SHARE_ATTRIBUTES_H
#define NVDP_SRC_SHARE_ATTRIBUTES_H

#include "share/statement.h"

/* Sets every attribute but nvdp_format and the grid's. */
nvdp_status nvdp__release_attributes(struct nvdp__h5 *file,
                                     const struct nvdp__release_facts *facts);
/* What an attribute of a file of embeddings is, by its name. */
enum nvdp__attribute {
    NVDP__ATTRIBUTE_NONE,    /* there is no such */
    NVDP__ATTRIBUTE_CREATED, /* set by nvdp__embeddings_create */
    NVDP__ATTRIBUTE_TEXT,
    NVDP__ATTRIBUTE_WHOLE,
    NVDP__ATTRIBUTE_REAL
};
enum nvdp__attribute nvdp__attribute_find(const char *name);

#endif
