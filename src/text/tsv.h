/* Lines and fields of tab-separated values: no quoting, no escapes. */
#ifndef NVDP_SRC_TEXT_TSV_H
#define NVDP_SRC_TEXT_TSV_H

#include "base/base.h"
#include "text/quote.h"

enum { NVDP__LINE_LIMIT = 16 << 20 }; /* bytes */

/* A cursor over a file in memory, which must outlive it.  Zero it, open it, release it. */
struct nvdp__tsv {
    struct nvdp_context *ctx;
    const char *path; /* for messages */
    const char *at, *end;
    size_t line;               /* the present line, from 1; 0 before the first */
    struct nvdp__field *field; /* [fields] of the present line */
    size_t fields, capacity;
};

/* Steps over a leading byte-order mark. */
void nvdp__tsv_open(struct nvdp_context *ctx, const char *path, const char *bytes, size_t count,
                    struct nvdp__tsv *tsv);
/* Whether another line is there. */
bool nvdp__tsv_more(const struct nvdp__tsv *tsv);
/* Splits the next line, without its LF or CRLF.  A line over the limit is passed over and is
 * NVDP_ERR_INPUT. */
nvdp_status nvdp__tsv_next(struct nvdp__tsv *tsv);
void nvdp__tsv_release(struct nvdp__tsv *tsv);

/* Finds a header's column by its exact name; *column is `fields` where it is missing.  A name that
 * is there twice: NVDP_ERR_INPUT. */
nvdp_status nvdp__tsv_column(const struct nvdp__tsv *tsv, const char *name, size_t *column);
/* NVDP_ERR_INPUT: "PATH:LINE: missing column 'NAME': found columns 'a', 'b'". */
nvdp_status nvdp__tsv_missing(const struct nvdp__tsv *tsv, const char *name);

bool nvdp__field_is(struct nvdp__field field, const char *text);
/* The whole field as a finite decimal number, whatever the locale. */
bool nvdp__field_number(struct nvdp__field field, double *number);

#endif
