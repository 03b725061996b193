/* Method word: a text's sum of clipped word vectors, with Gaussian noise (rdp/word.h has the
 * certificate per word).
 *
 *     x_w = sum of the states of the word's pieces    from bert/words.c or, with layers, word_windows.c
 *     t_w = softplus(g . x_w + g_0) (A x_w + a)                       weight and vector
 *     v_w = c t_w min(1, 1/|t_w|)                                     the clip comes last: |v_w| <= c
 *     S   = sum of v_w over the words,   M = S min(1, C/|S|),   z = M + N(0, I)
 *
 * With C the sequence clip. A text without words has M = 0. The border word of a pair has no
 * vector. v_w depends on the word and r words on either side, and on nothing else. */
#ifndef NVDP_VIB_WORD_H
#define NVDP_VIB_WORD_H

#include "bert/encoder.h"
#include "nvib/nvib.h"

extern const struct nvdp__mechanism nvdp__mechanism_word;

/* Units of c in a coordinate of a word's vector: 2^31. Sums of up to 2^31 words fit int64. */
enum { NVDP__WORD_BITS = 31 };

/* Clips t [n] to norm 1 and rounds each coordinate towards zero to a multiple of 2^-31:
 * |grid| 2^-31 <= 1 exactly. Returns the factor of the clip; NaN, and zeros, if t is not finite. */
double nvdp__word_round(size_t n, const double *t, int64_t *grid);
/* Turns dt, the gradient with respect to the clipped vector, into that of t: the full derivative of
 * the clip. `factor` is what nvdp__word_round returned. */
void nvdp__word_clip_backward(size_t n, const double *t, double factor, double *dt);

/* Later passes also write v_w [words, p] of the batch's words, in their order, to `vectors`; NULL: no longer. `self` is a
 * bottleneck of method word. */
void nvdp__word_keep(void *self, double *vectors);

#endif
