/* Dataset cards: they describe a release to people who see it in a collection. */
#ifndef NVDP_SRC_SHARE_CARD_H
#define NVDP_SRC_SHARE_CARD_H

#include "share/release.h"

/* Writes the card of the file `name`.  Its first paragraph is the guarantee (nvdp__release_guarantee).  Commit the
 * card after the file. */
nvdp_status nvdp__card_write(const struct nvdp__release *release, const char *name,
                             const char *path, const struct nvdp__release_facts *facts,
                             struct nvdp__output *output);

#endif
