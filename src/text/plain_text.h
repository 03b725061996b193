/* Plain text: lines with their documents' borders, and where a line is cut into sentences.
 *
 * A document is what stands between blank lines, or between a line that begins with `<doc ` and a
 * line `</doc>` (as WikiExtractor writes), within which blank lines separate nothing.  Lines are in
 * UTF-8; a leading byte-order mark, CRLF and a missing last newline are normal.  Bytes that are not
 * UTF-8 are passed on for the tokenizer to drop, with one notice a file that names the first line.
 */
#ifndef NVDP_SRC_TEXT_PLAIN_TEXT_H
#define NVDP_SRC_TEXT_PLAIN_TEXT_H

#include "base/base.h"

struct nvdp__plain_text;

struct nvdp__plain_line {
    const char *text; /* valid until the next call; never blank */
    size_t size;
    bool begins; /* the first line of a document */
};

/* Reads the files one after another; a file's end ends a document. */
nvdp_status nvdp__plain_text_open(struct nvdp_context *ctx, const char *const *path, size_t files,
                                  struct nvdp__plain_text **out);
void nvdp__plain_text_close(struct nvdp__plain_text *plain);
/* *found false at the end of the last file.  A file without text, and a line over 64 MiB, is
 * NVDP_ERR_INPUT. */
nvdp_status nvdp__plain_text_next(struct nvdp__plain_text *plain, struct nvdp__plain_line *line,
                                  bool *found);
/* Bytes of text read so far, for progress. */
uint64_t nvdp__plain_text_bytes(const struct nvdp__plain_text *plain);

/* Bytes of the first sentence of text[0..size), `size` where there is no cut. */
size_t nvdp__sentence_end(const char *text, size_t size);

#endif
