/* The certificate per word: how far one word moves the sum of a text's word vectors, and what follows.
 *
 * A text is a sequence of words. The window of a word is the word with its r neighbors on either side, fewer at the
 * ends. Each window w has a vector f(w) with |f(w)| <= c that depends on w alone; R = 2r + 1. S is the sum of the
 * vectors over all words of the text, and M = P(S) with P the projection onto the ball of radius C. A sample is z = M +
 * N(0, I).
 *
 * Theorem. Replace k adjacent words of a text by k' words, k + k' >= 1. Then |M - M'| <= min(c (4r + k + k'), 2C).
 * For one word and any other this is min(2cR, 2C); for an inserted or deleted word min(c (2R - 1), 2C).
 *
 * Proof. A window that holds no changed word, and does not reach over the place of the change, is a window of both
 * texts, and cancels in S - S'. The other windows are centered on the k words or on one of the r words on either side:
 * at most 2r + k in the text and, in the same way, 2r + k' in the other text. Each window adds at most c. P does not
 * increase distances, and two points of the ball are at most 2C apart.
 *
 * For unknown f, no smaller bound exists: the largest |S - S'| over all f is c times the L1 distance of the two
 * multisets of windows. It is attained by f = c u on the windows of one text and f = -c u on the windows of the other
 * text.
 *
 * Arithmetic. The sum is exact (vib/word.c). M is computed in float: |fl(M) - M| <= C (3 2^-24 + 2^-30), from the
 * rounding of S, of the factor and of the products. A release rounds each mean to a multiple of 2^-42 or less, which
 * moves a vector of at most 2^20 numbers by 2^-32. For two texts, twice the sum of both errors is below SLACK C + STEP.
 *
 * S samples count as one sample with the mean sqrt(S) M, so the mechanism is mu-GDP in the word with mu = sqrt(S) |M -
 * M'|.
 *
 * A guess identifies the words at one place, or decides if there are any words, when all other words are known. The
 * text has k <= K words at the place. The reference is Q = N(M_0, I), M_0 = P(S_0), S_0 the sum of the windows that
 * neither hold a word of the place nor reach over it. S_0 is a sum over words of the text that the attacker knows,
 * and the same for all k. The other windows are centered on the k words or on one of the r words on either side: |M
 * - M_0| <= c (2r + K). The center of the ball is at most C away. So every bound on guesses for a text within radius
 * C holds with min(c(2r + K), C) in place of C, given all other words (rdp/guess.c). The text without the words
 * cannot be the reference: for r > 0 that text has other windows at the place. */
#ifndef NVDP_RDP_WORD_H
#define NVDP_RDP_WORD_H

#include <stddef.h>

/* The numbers of the certificate: c and C in standard deviations of the noise. */
struct nvdp__word_clip {
    double word;   /* c: the clip of a window's vector */
    double text;   /* C: the radius of the ball */
    double window; /* r: the neighbors on either side */
};
/* Returns c (4r + k + k'), the bound on |S - S'| without the slack of arithmetic. */
double nvdp__word_shift(const struct nvdp__word_clip *clip, size_t before, size_t after);
/* Returns an upper bound of mu for all samples together if k' = `after` words replace k = `before` adjacent words. */
double nvdp__word_mu(const struct nvdp__word_clip *clip, size_t before, size_t after, int releases);
/* Returns an upper bound of |M - M_0| for one sample: the radius for guesses of up to `words` adjacent words and of
 * their presence. */
double nvdp__word_radius(const struct nvdp__word_clip *clip, size_t words);
/* Returns the largest c, rounded down, whose mu is at most `mu` for one sample. C is clip->text, or SPARE c if
 * clip->text is infinite. Returns NAN if the slack of arithmetic alone exceeds mu. */
double nvdp__word_clip_for(const struct nvdp__word_clip *clip, double mu);
/* Returns the C that is used if the caller sets no C: a multiple of the word clip, so that only a sum of that many
 * equal vectors reaches the ball. */
double nvdp__word_spare(double word);

#endif
