/* Bounds as text: rounded in the safe direction, always with the same number of digits. */
#ifndef NVDP_SRC_BASE_BOUND_H
#define NVDP_SRC_BASE_BOUND_H

enum { NVDP__BOUND_TEXT = 32 };

/* The side of the value on which the printed number may lie. */
enum nvdp__side {
    NVDP__DOWN, /* lower bounds: the text is never above the value */
    NVDP__UP    /* upper bounds: the text is never below the value */
};

/* Writes a bound with at most 4 significant digits and returns the text: 24.3951 rounded up is
 * "24.4", 4.64297 is "4.643". A value within 1e-9 (relative) of such a number is printed as that
 * number, which undoes rounding errors of the computation. Infinities and NaN are printed as
 * "inf" and "nan". */
const char *nvdp__bound(char text[NVDP__BOUND_TEXT], double value, enum nvdp__side side);

/* Writes a probability as a percentage with one decimal, or with two significant digits below
 * 0.1 %, and returns the text: .13786 rounded up is "13.8 %", .0029 "0.3 %", 1 "100 %". */
const char *nvdp__share_bound(char text[NVDP__BOUND_TEXT], double probability,
                              enum nvdp__side side);

#endif
