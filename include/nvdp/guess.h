/** @file guess.h
 * Guess bounds: upper bounds of the success of any guess about a text from its samples.
 *
 * A secret text x has any prior; its sample is N(M(x), I) with |M(x)| <= C, as a sequence clip guarantees. An
 * attacker knows the model and anything else, guesses something about x (the text itself, a property, an author) and
 * always answers. Without the sample, the best guess is right with probability b, the baseline. With the sample, any
 * guess is right with probability at most nvdp_guess_bound(b, C, ...). This is an average over texts and noise; a
 * single guess can be nearly certain.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_GUESS_H
#define NVDP_GUESS_H

#include <nvdp/status.h>
#include <stddef.h>

NVDP_BEGIN_DECLS

/** Maximum number of baselines of one report. */
#define NVDP_GUESSES 8

/** A baseline and the upper bound for it. */
struct nvdp_bounded_guess {
    double baseline; /**< b: success probability of the best guess without a sample */
    double bound;    /**< upper bound of the success probability with the samples */
};

/** Bounds the success of every guess from samples N(M, I), |M| <= C. With R = C sqrt(releases), returns the minimum
 * of
 *
 *     Phi(Phi^-1(b) + R)                                                       reference N(0, I)
 *     ncx2cdf(r; d, (R/k)^2),  k = s^2 - 1,                                    reference N(0, s^2 I), minimized over s,
 *         r = s^2 ncx2inv(b; d, (R s/k)^2)                                     needs dim
 *     b W,  W = sum_j binom(d, j) kappa_d / kappa_(d-j) (R / sqrt(2 pi))^j     maximal leakage, needs dim
 *     the largest p with KL(p || b) <= (d/2) log(1 + R^2/d)                    Fano, needs dim
 *
 * where kappa_n is the volume of the unit ball in n dimensions. Sources: Polyanskiy, Poor & Verdu 2010
 * (meta-converse); Hayes, Mahloujifar & Balle 2023; Issa, Wagner & Kamath 2020. rdp/guess.c has the proof. Takes
 * microseconds without dim, about ten milliseconds with dim.
 * @param baseline b in [0, 1]
 * @param clip     C >= 0, in standard deviations of the noise; may be infinite
 * @param releases number of samples of the text, >= 1
 * @param dim      d, numbers per sample; 0 if unknown: then only the first form is used
 * @return probability in [b, 1]; NaN for an argument out of its range */
double nvdp_guess_bound(double baseline, double clip, int releases, size_t dim);

/** Bounds the success of guesses of a binary attribute that a share p of the texts has. The baseline is max(p, 1-p).
 * With R = C sqrt(releases) and h = log(p/(1-p)) / (2R), the bound is p Phi(R + h) + (1-p) Phi(R - h). Two means at
 * distance 2R attain it.
 *
 * The attacker knows the model and p but nothing else about x. Other knowledge would change p from text to text, and
 * the bound is convex in p, so this bound does not cover such knowledge. nvdp_guess_bound() of the baseline does.
 * @param prior    p in [0, 1]
 * @param clip     C >= 0, in standard deviations of the noise
 * @param releases number of samples of the text, >= 1
 * @return probability; NaN for an argument out of its range */
double nvdp_guess_attribute(double prior, double clip, int releases);

/** Returns the largest C with nvdp_guess_bound(baseline, C, releases, dim) <= target.
 * @param baseline b in (0, 1)
 * @param target   in [b, 1)
 * @param releases number of samples of the text, >= 1
 * @param dim      as in nvdp_guess_bound(); the computation takes about a second if dim is not 0
 * @return C, in standard deviations of the noise, not above the exact value; NaN for an argument out of its range */
double nvdp_guess_clip(double baseline, double target, int releases, size_t dim);

/** Bounds the mutual information between a text and its samples N(M, I), |M| <= C, for every prior: (d/2) log(1 +
 * releases C^2 / d), the capacity under an average power constraint. For unknown d, the bound is R^2 / 2 with R = C
 * sqrt(releases).
 * @param clip     C >= 0, in standard deviations of the noise
 * @param releases number of samples of the text, >= 1
 * @param dim      d, numbers per sample; 0 if unknown
 * @return nats (divide by log 2 for bits); NaN for an argument out of its range */
double nvdp_guess_information(double clip, int releases, size_t dim);

NVDP_END_DECLS
#endif
