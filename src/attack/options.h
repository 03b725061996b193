/* The options of attacks: one struct per kind of target. */
#ifndef NVDP_SRC_ATTACK_OPTIONS_H
#define NVDP_SRC_ATTACK_OPTIONS_H

#include "options/schema.h"
#include <nvdp/attack.h>

struct nvdp__exposure_options {
    const char *model, *secrets,
        *reference;    /* secrets NULL: planted.json in the model's directory */
    size_t candidates; /* 0: all */
    uint64_t seed;
    size_t guess_in, guess_out; /* both 0: several numbers are tried */
    double delta, confidence;   /* delta 0: the delta of the model's account, or 1e-5 */
};
extern const struct nvdp__schema nvdp__exposure_schema;

/* Options of attacks on the data that a run shares. */
struct nvdp__attack_options {
    int releases;
    uint64_t seed;
    const char *pair; /* "I,J"; NULL: drawn */
    size_t pairs, samples;
    double delta, confidence; /* delta 0: .01 */
    size_t texts;             /* 0: all */
};
extern const struct nvdp__schema nvdp__attack_schema;

/* Options of attackers that learn from public texts. */
struct nvdp__text_attack_options {
    uint64_t seed;
    const char *known; /* a file of public texts */
    size_t known_limit, seeds;
    const char *prior; /* directory of a masked language model; NULL: none */
    size_t beam;
    int releases;
    const char *shared; /* a file with the samples; NULL: samples are drawn */
    /* of invert */
    size_t tokens, steps;          /* steps 0: by the number of public texts */
    const char *attacked;          /* file of the texts of `posteriors` */
    const char *public_posteriors; /* those of the public texts */
    const char *encoder;           /* directory of the encoder that made them; NULL: not known */
    const char *surrogate; /* encoder of an attacker without the victim's; NULL: it has that */
    size_t aligned;        /* its pairs of texts and samples */
    size_t search;         /* rounds */
    /* of membership */
    int members; /* enum nvdp__members */
    size_t shadows;
    const char *shadow_runs; /* NULL: RUN.shadows */
};
enum nvdp__members { NVDP__MEMBERS_SHARED, NVDP__MEMBERS_TRAINING };
extern const char *const nvdp__members_of[];
extern const struct nvdp__schema nvdp__text_attack_schema;

#endif
