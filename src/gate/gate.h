/* The policy of a gate: measures with limits. */
#ifndef NVDP_SRC_GATE_GATE_H
#define NVDP_SRC_GATE_GATE_H

#include "base/base.h"
#include <jansson.h>
#include <nvdp/attack.h>
#include <nvdp/gate.h>
#include <nvdp/guess.h>

/* One check of a policy.  The policy owns the strings. */
struct nvdp__gate_check {
    char name
        /* Name in the policy: "certified_epsilon", "attack attribute: accuracy". */
        [NVDP_GATE_NAME_SIZE];
    const char *source;             /* certificate, privacy, ledger, verification, attack */
    char path[NVDP_GATE_NAME_SIZE]; /* path of the number in the source's JSON */
    bool one_sample;                /* the number is for one sample, and several samples add up */
    /* Number of an attack, as in the policy; NULL for other sources. */
    const char *number;
    double at_most, at_least; /* NaN without a limit */
    struct nvdp_attack_info attack;
    const json_t *options; /* options of the attack, or NULL */
};

struct nvdp__policy {
    json_t *object; /* the file */
    double delta;
    int releases;
    /* Minimum number of texts of a measurement; 0 for all texts of the split. */
    size_t min_texts;
    struct nvdp__gate_check *check; /* [checks] */
    size_t checks;
    double baseline[NVDP_GUESSES]; /* baselines of all checks */
    size_t baselines;
};

/* Reads a policy.  NVDP_ERR_INPUT, whose message has file, line and key, for a file that is no policy. */
nvdp_status nvdp__policy_read(struct nvdp_context *ctx, const char *path,
                              struct nvdp__policy *policy);
void nvdp__policy_release(struct nvdp__policy *policy);
/* Writes the value of an option as text.  Returns false for a value of another type, or a text that is too long. */
bool nvdp__gate_option(const json_t *value, size_t size, char *text);

/* A number of a result, and the interval of the key NAME_interval, or of the key `interval` directly after the number.
 * NaN if there is none. */
struct nvdp__gate_found {
    double value;
    struct nvdp_interval interval;
};
/* Returns the number that is compared with a limit: the interval's upper end, or the lower end if `least` is set. 
 * Without an interval, returns the value. */
double nvdp__gate_end(const struct nvdp__gate_found *found, bool least);

/* Finds a number in a result.  A path consists of keys, separated by dots.  [K=V,...] selects the items of a list whose
 * member K is V, and [I] the item with index I.  If there are several numbers, the number with the largest end counts,
 * or with the smallest end if `least` is set.  The value is NaN, with a reason, if there is no number. */
enum { NVDP__REASON = 512 };
struct nvdp__gate_found nvdp__gate_number(const json_t *result, const char *path, bool least,
                                          char reason[NVDP__REASON]);
/* Finds the number of an attack.  A name that is no key is a metric in the list "scores": the score from samples, or
 * with _above_prior the difference between this score and the score without samples.  The interval of the difference is
 * computed from the ends of both intervals. */
struct nvdp__gate_found nvdp__gate_score(const json_t *result, const char *number, bool least,
                                         char reason[NVDP__REASON]);
/* Returns true for the name of a metric, with or without _above_prior. */
bool nvdp__gate_is_score(const char *number);

extern const struct nvdp_result_kind nvdp__gate_kind;

#endif
