/* Plain text: lines with the borders of documents, and the splitting of lines into sentences. JSON is recognized by its
 * beginning. Each object (one per line, or in an array) is a document; its lines are the lines of the string under the
 * key `text`. Other keys are ignored.
 *
 * Documents are separated by blank lines. A document may also stand between a line that begins with `<doc ` and a
 * line `</doc>` (as WikiExtractor writes), where blank lines have no meaning. Lines are UTF-8; a byte-order mark,
 * CRLF and a missing last newline are accepted. Invalid bytes are passed on for the tokenizer to drop, with one
 * notice per file, which has the number of the first such line. */
#ifndef NVDP_SRC_TEXT_PLAIN_TEXT_H
#define NVDP_SRC_TEXT_PLAIN_TEXT_H

#include "base/base.h"

struct nvdp__plain_text;

struct nvdp__plain_line {
    const char *text; /* valid until the next call; never blank */
    size_t size;
    bool begins; /* true for the first line of a document */
};

/* Reads the files one after another; the end of a file ends a document. */
nvdp_status nvdp__plain_text_open(struct nvdp_context *ctx, const char *const *path, size_t files,
                                  struct nvdp__plain_text **out);
void nvdp__plain_text_close(struct nvdp__plain_text *plain);
NVDP__AUTOPTR(struct nvdp__plain_text, nvdp__plain_text_close)
/* Reads the next line; *found is false at the end of the last file. Fails with NVDP_ERR_INPUT for a file without
 * text, for a line over 64 MiB, and for a JSON object without a text. */
nvdp_status nvdp__plain_text_next(struct nvdp__plain_text *plain, struct nvdp__plain_line *line,
                                  bool *found);
/* Returns the bytes of text read so far, for progress. */
uint64_t nvdp__plain_text_bytes(const struct nvdp__plain_text *plain);

/* Returns the bytes of the first sentence of text[0..size); `size` if there is only one sentence. */
size_t nvdp__sentence_end(const char *text, size_t size);

#endif
