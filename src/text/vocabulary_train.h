/* A WordPiece vocabulary from the words of a text.
 *
 * Pieces are found by byte-pair encoding's merges (Sennrich, Haddow & Birch 2016): words are
 * sequences of characters, all but the first marked by "##"; the most frequent pair of neighbours
 * becomes a piece of its own, again and again.  (Schuster & Nakajima 2012, whose WordPiece BERT's
 * vocabulary comes from, choose by likelihood instead; the tools in use choose by frequency.)  The
 * pieces are then used as WordPiece's: longest match first (wordpiece.h).
 *
 * The outcome is a function of the counted words alone.  Of pairs seen equally often, the one whose
 * left piece stands first in the vocabulary is merged, then the one whose right piece does. */
#ifndef NVDP_SRC_TEXT_VOCABULARY_TRAIN_H
#define NVDP_SRC_TEXT_VOCABULARY_TRAIN_H

#include "text/tokenizer.h"
#include "text/word_counts.h"

struct nvdp__vocabulary_options {
    size_t size;     /* pieces, special ones included */
    size_t alphabet; /* most characters; words with a rarer one are unknown, and not learned from */
    uint64_t min_count; /* a pair seen less often is not merged */
};

/* vocab.txt as text, free(): the special tokens in the order of enum nvdp_special; the characters,
 * most frequent first, those that begin words before those that go on; the merges in their order.
 * *pieces is below options->size where no pair is frequent enough.  O(characters of the distinct
 * words + pieces x words they are in), a priority queue over pairs. */
nvdp_status nvdp__vocabulary_train(struct nvdp_context *ctx, const struct nvdp__word_counts *counts,
                                   const struct nvdp__vocabulary_options *options, char **text,
                                   size_t *pieces);

#endif
