/* The attributes of a release: what its file states beside its values. */
#ifndef NVDP_SRC_SHARE_ATTRIBUTES_H
#define NVDP_SRC_SHARE_ATTRIBUTES_H

#include "share/statement.h"

enum nvdp__attribute_type {
    NVDP__ATTRIBUTE_NONE,    /* no such name; no text or number */
    NVDP__ATTRIBUTE_CREATED, /* follows from the shape: nvdp__attributes_set_shape */
    NVDP__ATTRIBUTE_TEXT,
    NVDP__ATTRIBUTE_WHOLE,
    NVDP__ATTRIBUTE_REAL
};
/* Returns the type of the attribute of that name in files of embeddings. */
enum nvdp__attribute_type nvdp__attribute_find(const char *name);

struct nvdp__attribute {
    char *name, *text; /* the value as text, whatever its type */
    enum nvdp__attribute_type type;
    int64_t whole;
    double real;
};
struct nvdp__attributes {
    struct nvdp_context *ctx;
    const char *path; /* of their file, for messages */
    struct nvdp__attribute *item;
    size_t count, capacity;
};

/* Each replaces an attribute of the same name, or adds one at the end.  NVDP_ERR_INPUT if there are too many. */
nvdp_status nvdp__attributes_set_text(struct nvdp__attributes *list, const char *name,
                                      const char *value);
nvdp_status nvdp__attributes_set_whole(struct nvdp__attributes *list, const char *name,
                                       int64_t value);
nvdp_status nvdp__attributes_set_real(struct nvdp__attributes *list, const char *name,
                                      double value);
/* Parses the text of a number if the name's attribute is one, else takes the text. */
nvdp_status nvdp__attributes_parse(struct nvdp__attributes *list, const char *name,
                                   const char *text);
/* Returns NULL if there is none. */
const struct nvdp__attribute *nvdp__attributes_get(const struct nvdp__attributes *list,
                                                   const char *name);
/* Returns the value as text, "" if there is none. */
const char *nvdp__attributes_text(const struct nvdp__attributes *list, const char *name);
void nvdp__attributes_sort(struct nvdp__attributes *list); /* by name */
void nvdp__attributes_release(struct nvdp__attributes *list);

/* Adds every attribute that the facts decide. */
nvdp_status nvdp__release_attributes(struct nvdp__attributes *list,
                                     const struct nvdp__release_facts *facts);

#endif
