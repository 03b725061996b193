/* The policy of a gate: named numbers, each with a limit. */
#ifndef NVDP_SRC_GATE_GATE_H
#define NVDP_SRC_GATE_GATE_H

#include "base/base.h"
#include <jansson.h>
#include <nvdp/attack.h>
#include <nvdp/gate.h>
#include <nvdp/guess.h>

/* One check of a policy.  Texts belong to the policy. */
struct nvdp__gate_check {
    char name
        /* As in the policy: "certified_epsilon", "attack attribute: accuracy". */
        [NVDP_GATE_NAME_SIZE];
    const char *source;             /* certificate, privacy, ledger, verification, attack */
    char path[NVDP_GATE_NAME_SIZE]; /* of the number in the source's JSON */
    bool one_sample;                /* the number is of one sample; samples add up */
    const char *number;             /* of an attack, as in the policy; NULL for other sources */
    double at_most, at_least;       /* NaN: no limit */
    struct nvdp_attack_info attack;
    const json_t *options; /* of the attack; NULL if there is none */
};

struct nvdp__policy {
    json_t *object; /* the file */
    double delta;
    int releases;
    size_t min_texts;               /* that a measurement needs; 0: all texts of the split */
    struct nvdp__gate_check *check; /* [checks] */
    size_t checks;
    double baseline[NVDP_GUESSES]; /* of all checks together */
    size_t baselines;
};

/* Reads a policy.  NVDP_ERR_INPUT, naming file, line and key, for anything that is not a policy. */
nvdp_status nvdp__policy_read(struct nvdp_context *ctx, const char *path,
                              struct nvdp__policy *policy);
void nvdp__policy_release(struct nvdp__policy *policy);
/* Writes the value of an option as text.  Returns false for a value of another type, or a text that is too long. */
bool nvdp__gate_option(const json_t *value, size_t size, char *text);

/* A number of a result, and its interval: that of the key NAME_interval, or of `interval` right after the number.  NaN:
 * none. */
struct nvdp__gate_found {
    double value;
    struct nvdp_interval interval;
};
/* Returns what is compared with a limit: the interval's upper end, or its lower end if `least`; without an interval
 * the value. */
double nvdp__gate_end(const struct nvdp__gate_found *found, bool least);

/* Finds a number in a result.  A path names keys, separated by dots.  [K=V,...] chooses the items of a list whose
 * member K is V, [I] the item of that index.  Of several numbers the one with the largest end counts, or with the
 * smallest if `least`.  The value is NaN, with a reason, if there is none. */
enum { NVDP__REASON = 512 };
struct nvdp__gate_found nvdp__gate_number(const json_t *result, const char *path, bool least,
                                          char reason[NVDP__REASON]);
/* The same for the number of an attack.  A name that is no key is a metric of the list "scores": of samples, or with
 * _above_prior what it exceeds that of no samples by.  The interval of a difference is from the ends of both. */
struct nvdp__gate_found nvdp__gate_score(const json_t *result, const char *number, bool least,
                                         char reason[NVDP__REASON]);
/* Returns true for the name of a metric, with or without _above_prior. */
bool nvdp__gate_is_score(const char *number);

extern const struct nvdp_result_kind nvdp__gate_kind;

#endif
