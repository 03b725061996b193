/* The attributes of a release: the metadata that its file stores beside the values. */
#ifndef NVDP_SRC_SHARE_ATTRIBUTES_H
#define NVDP_SRC_SHARE_ATTRIBUTES_H

#include "share/statement.h"

enum nvdp__attribute_type {
    NVDP__ATTRIBUTE_NONE,    /* unknown name, or a value that is neither text nor a number */
    NVDP__ATTRIBUTE_CREATED, /* derived from the shape: nvdp__release_shape_attributes */
    NVDP__ATTRIBUTE_TEXT,
    NVDP__ATTRIBUTE_WHOLE,
    NVDP__ATTRIBUTE_REAL
};
/* Returns the type that the attribute of this name has in files of embeddings. */
enum nvdp__attribute_type nvdp__attribute_find(const char *name);

struct nvdp__attribute {
    char *name, *text; /* text: the value as text, for every type */
    enum nvdp__attribute_type type;
    int64_t whole;
    double real;
};
struct nvdp__attributes {
    struct nvdp_context *ctx;
    const char *path; /* path of the file, for messages */
    struct nvdp__attribute *item;
    size_t count, capacity;
};

/* Replace an attribute of the same name, or append a new one.  NVDP_ERR_INPUT if the list is full. */
nvdp_status nvdp__attributes_set_text(struct nvdp__attributes *list, const char *name,
                                      const char *value);
nvdp_status nvdp__attributes_set_whole(struct nvdp__attributes *list, const char *name,
                                       int64_t value);
nvdp_status nvdp__attributes_set_real(struct nvdp__attributes *list, const char *name,
                                      double value);
/* Sets an attribute from its text, converted to the attribute's type.  Text that is not a real number stays text. */
nvdp_status nvdp__attributes_parse(struct nvdp__attributes *list, const char *name,
                                   const char *text);
/* Returns NULL if no attribute has this name. */
const struct nvdp__attribute *nvdp__attributes_get(const struct nvdp__attributes *list,
                                                   const char *name);
/* Returns the value as text, or "" if no attribute has this name. */
const char *nvdp__attributes_text(const struct nvdp__attributes *list, const char *name);
void nvdp__attributes_sort(struct nvdp__attributes *list); /* sorts by name */
void nvdp__attributes_release(struct nvdp__attributes *list);

/* Adds every attribute that the facts determine. */
nvdp_status nvdp__release_attributes(struct nvdp__attributes *list,
                                     const struct nvdp__release_facts *facts);

#endif
