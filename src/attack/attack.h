/* The table of attacks: one row per value of the option `kind`.
 *
 * A row is in the file of its attack; attacks.inc lists the rows.  The program and all other files ask a row, and
 * name no attack themselves. */
#ifndef NVDP_SRC_ATTACK_ATTACK_H
#define NVDP_SRC_ATTACK_ATTACK_H

#include "attack/options.h"
#include "base/sentence.h"
#include "options/result.h"
#include <jansson.h>
#include <stdio.h>

struct nvdp__text_attack; /* texts.h */

/* The input of an attack, and the data that its results need. */
struct nvdp__attacked {
    struct nvdp_context *ctx;
    const struct nvdp__attack *attack;
    const char *kind; /* name of the attack */
    const char *name; /* the model or run, or "posteriors"; for messages */
    const struct nvdp_config *config;
    const struct nvdp_posteriors
        *posteriors; /* NULL unless they are the target; NULL again after `run` */
    double claimed;  /* option `claimed`; NaN: not given */
    bool words;      /* the run or file has a certificate per word; known after `run` */
};

struct nvdp__attack {
    enum nvdp_attack_target target;
    const char *right;          /* the thing that its guesses name; NULL: it does not guess */
    const char *const *options; /* applicable options, NULL-terminated */
    const char *exclusive[2];   /* two options that exclude each other; NULL: none */
    bool opens;                 /* `run` opens the posteriors itself */
    bool per_word; /* its bounds are those of a certificate per word, if there is one */
    size_t size;   /* size of the struct that `run` fills; its first member is its size */
    nvdp_status (*run)(const struct nvdp__attacked *attacked, void *found);
    const struct nvdp_result_table *table; /* of that struct; its view of JSON is "json" */
    /* Add what is not in the struct, such as options: keys, and the first lines of the text.  NULL: nothing.  `add`
     * returns false if memory is short. */
    bool (*add)(const struct nvdp__attacked *attacked, const void *found, json_t *object);
    void (*head)(const struct nvdp__attacked *attacked, const void *found, FILE *to);
    /* Returns true if the control without noise found nothing either, so finding nothing in samples proves nothing;
     * NULL: no control. */
    bool (*weak)(const void *found);
    /* Reports a result that exceeds a proven bound; otherwise writes nothing. */
    void (*verdict)(const struct nvdp__attacked *attacked, const void *found,
                    struct nvdp__writer *say);
    void (*release)(void *found); /* NULL: the struct owns no memory */
    /* The rest of a row that ends in NVDP__LEARNER (texts.h). */
    nvdp_status (*learn)(struct nvdp__text_attack *attack);
    enum nvdp_text_attacker attacker; /* for nvdp_attack_texts() */
};

/* Names and rows in the table's order, NULL-terminated; the help of `kind`. */
extern const char *const nvdp__attack_names[];
extern const char *const nvdp__attack_helps[];
extern const struct nvdp__attack *const nvdp__attacks[];
extern const char nvdp__attack_kind_help[];

/* Options of every attack, and of attacks on texts of a run.  `kind` and `model`, the program's argument, are always
 * accepted. */
#define NVDP__ATTACK_OPTIONS "kind", "model", "seed"
#define NVDP__ATTACK_RUN_OPTIONS NVDP__ATTACK_OPTIONS, "run", "split", "data", "limit", "batch"
#define NVDP__ATTACK_POSTERIORS_OPTIONS NVDP__ATTACK_RUN_OPTIONS, "posteriors", "releases"

/* The table of struct nvdp_canary_audit (exposure_row.c). */
extern const struct nvdp_result_table nvdp__result_canary_audit;

bool nvdp__attack_takes(const struct nvdp__attack *attack, const char *option);

/* Reports a share of right guesses above its proven bound.  Writes nothing if it is not above, or nothing is proven. */
void nvdp__share_verdict(const struct nvdp__attacked *attacked, const char *what,
                         const struct nvdp_interval *interval, double baseline, double bound,
                         struct nvdp__writer *say);

#endif
