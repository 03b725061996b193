/* Audits an HDF5 file byte by byte: finds contents other than root attributes, datasets and HDF5's
 * own structures.
 *
 * The reader (read.c) parses the file a second time and records every byte that it understands.
 * All other bytes must be zero: a payload could hide in freed space, behind the NUL of a text,
 * in a comment, in the parameters of a filter, in chunks outside a dataset's shape, or behind
 * the end of the file. Start with nvdp__h5_audit() at the end. */
#include "hdf5/read.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int by_first(const void *a, const void *b) {
    const struct nvdp__h5_range *p = a, *q = b;
    return p->first < q->first ? -1 : p->first > q->first;
}

static __attribute__((format(printf, 2, 3))) void note(struct nvdp__h5_audit *to,
                                                       const char *format, ...) {
    va_list args;
    if (to->fault[0] != '\0') return; /* only the first fault is kept */
    va_start(args, format);
    nvdp__vsnprintf(to->fault, sizeof to->fault, format, args);
    va_end(args);
}

/* --- chunks that reach beyond the shape of a dataset --- */

static bool is_fill(const struct nvdp__h5_object *object, uint64_t first, uint64_t count) {
    const size_t size = object->stored.size;
    for (uint64_t k = first; k < first + count; k++) {
        if (memcmp(object->held + k * size, object->fill, size) != 0) return false;
    }
    return true;
}

/* Checks, line by line, that all values of the chunk in object->held that lie outside the shape
 * are fill values. */
static bool outside_is_fill(const struct nvdp__h5_object *object, const uint64_t *at) {
    const int last = object->space.rank - 1;
    uint64_t inside[NVDP__H5_MAX_RANK], i[NVDP__H5_MAX_RANK] = {0}, line = 0;
    for (int d = 0; d <= last; d++) {
        const uint64_t left = object->space.shape[d] - at[d];
        inside[d] = left < object->chunk[d] ? left : object->chunk[d];
    }
    for (;;) {
        uint64_t kept = inside[last];
        for (int d = 0; d < last; d++) {
            if (i[d] >= inside[d]) kept = 0;
        }
        if (!is_fill(object, line + kept, object->chunk[last] - kept)) return false;
        line += object->chunk[last];
        int d = last - 1;
        while (d >= 0 && ++i[d] == object->chunk[d])
            i[d--] = 0;
        if (d < 0) return true;
    }
}

static nvdp_status audit_chunks(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                                struct nvdp__h5_audit *out) {
    const int rank = object->space.rank;
    if (nvdp__h5_image_readable(image, object) != NVDP_OK) {
        note(out, "the dataset '%.40s', which cannot be read", object->name);
        return NVDP_OK;
    }
    NVDP_TRY(nvdp__h5_image_index(image, object));
    for (size_t c = 0; c < object->chunks; c++) {
        uint64_t at[NVDP__H5_MAX_RANK], place = object->index[c].place;
        bool reaches_out = false;
        for (int d = rank - 1; d >= 0; d--) {
            const uint64_t side = object->chunk[d], length = object->space.shape[d];
            const uint64_t along = length / side + (length % side != 0);
            at[d] = place % along * side;
            place /= along;
            reaches_out = reaches_out || length - at[d] < side;
        }
        if (!reaches_out) continue;
        NVDP_TRY(nvdp__h5_image_chunk(image, object, c));
        if (!outside_is_fill(object, at))
            note(out, "values outside the shape of dataset '%.40s'", object->name);
    }
    return NVDP_OK;
}

/* --- bytes --- */

static void audit_gap(const struct nvdp__h5_image *image, uint64_t first, uint64_t end,
                      struct nvdp__h5_audit *out) {
    for (uint64_t k = first; k < end; k++) {
        if (image->at[k] == 0) continue;
        note(out, "a nonzero byte at %" PRIu64 ", which no object uses (h5repack removes it)", k);
        return;
    }
    out->unused += end - first;
}

static void audit_bytes(struct nvdp__h5_image *image, struct nvdp__h5_audit *out) {
    uint64_t at = 0;
    out->size = image->size;
    if (image->end < image->size)
        note(out, "%" PRIu64 " bytes after the end of the HDF5 data", image->size - image->end);
    if (image->ranges > 1) qsort(image->range, image->ranges, sizeof *image->range, by_first);
    for (size_t i = 0; i < image->ranges; i++) {
        const struct nvdp__h5_range range = image->range[i];
        if (range.first > at) audit_gap(image, at, range.first, out);
        if (range.end > at) at = range.end;
    }
    audit_gap(image, at, image->size, out);
}

nvdp_status nvdp__h5_audit(struct nvdp__h5 *file, struct nvdp__h5_audit *out) {
    struct nvdp__h5_image *read = NULL;
    nvdp__auto(nvdp__h5_image_forget) struct nvdp__h5_image image = {0};
    *out = (struct nvdp__h5_audit){0};
    NVDP_TRY(nvdp__h5_contents(file, &read));
    image = (struct nvdp__h5_image){
        .ctx = read->ctx, .path = read->path, .at = read->at, .size = read->size, .records = true};
    NVDP_TRY(nvdp__h5_image_parse(&image));
    if (image.other != NULL) note(out, "'%.40s', which is not a dataset", image.other);
    for (size_t i = 0; i < image.objects; i++) {
        struct nvdp__h5_object *object = &image.object[i];
        if (object->attributes > 0) note(out, "attributes of dataset '%.40s'", object->name);
        if (object->layout == NVDP__H5_CHUNKED) NVDP_TRY(audit_chunks(&image, object, out));
    }
    for (size_t i = 0; i < image.attributes; i++) {
        char *text = NULL;
        if (image.attribute[i].stored.kind != NVDP__H5_HEAPTEXT) continue;
        /* records the bytes of the string */
        NVDP_TRY(nvdp__h5_image_text(&image, &image.attribute[i], &text));
        free(text);
    }
    audit_bytes(&image, out);
    return image.record_status;
}
