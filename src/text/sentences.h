/* Where a line of prose may be cut into sentences.
 *
 * A sentence ends behind '.', '!' or '?' and any closing quotes or brackets that follow, where then
 * come a space and a character that may begin a sentence: a capital, a digit, an opening quote or
 * bracket, or anything that is not ASCII.  A '.' behind a single letter ("J. Smith") or one of a
 * few titles and abbreviations ("Dr.", "vs.") ends none.  The rule is for English and its like;
 * what it misses makes sentences longer or shorter, and no token different: cuts fall on spaces. */
#ifndef NVDP_SRC_TEXT_SENTENCES_H
#define NVDP_SRC_TEXT_SENTENCES_H

#include <stddef.h>

/* Bytes of the first sentence of text[0..size), `size` where there is no cut. */
size_t nvdp__sentence_end(const char *text, size_t size);

#endif
