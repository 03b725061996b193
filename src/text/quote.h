/* Pieces of untrusted text inside messages. */
#ifndef NVDP_SRC_TEXT_QUOTE_H
#define NVDP_SRC_TEXT_QUOTE_H

#include <stddef.h>

/* Bytes somewhere in a text that another owns; not NUL-terminated. */
struct nvdp__field {
    const char *text;
    size_t size;
};

struct nvdp__quote {
    char text[64];
};
/* The field between single quotes, on one line: cut where it is long, '?' for bytes that are not
 * printable ASCII or well-formed UTF-8. */
struct nvdp__quote nvdp__quote_field(struct nvdp__field field);

#endif
