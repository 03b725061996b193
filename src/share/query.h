/* The public map from a query to its mean, as attributes of a file: the center and the principal or trained directions in
 * float16. A searcher needs them beside the encoder (search.c). A trained map has a decoder of samples. */
#ifndef NVDP_SRC_SHARE_QUERY_H
#define NVDP_SRC_SHARE_QUERY_H

#include "share/release.h"
#include "train/sentence.h"

/* Adds center_0, map_0, map_1, ..., decoder_0, ...: hexadecimal digits, at most 32 KiB each, because HDF5 limits an attribute to 64. */
nvdp_status nvdp__query_attributes(struct nvdp__attributes *list,
                                   const struct nvdp__query_map *query);
/* Returns true for the names of these attributes. */
bool nvdp__query_attribute(const char *name);
/* Returns the number of these attributes, or 0 if `query` is NULL. */
size_t nvdp__query_attribute_count(const struct nvdp__query_map *query);
/* Reads the map of an open file for vectors of width `dim`. *out is NULL if the file has none. */
nvdp_status nvdp__query_read(const struct nvdp__release *release, size_t dim,
                             struct nvdp__query_map **out);

/* Names a query in "%s%c%zu": its line in the file of queries, or its number, both from 1. */
#define NVDP__QUERY(file, q) (file) != NULL ? (file) : "query", (file) != NULL ? ':' : ' ', (q) + 1

#endif
