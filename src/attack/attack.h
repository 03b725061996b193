/* The table of attacks: one row for each value of the option `kind`.
 *
 * A row lies in the file of its attack; attacks.inc lists the rows.  The program, and all other files, ask a row and name no
 * attack. */
#ifndef NVDP_SRC_ATTACK_ATTACK_H
#define NVDP_SRC_ATTACK_ATTACK_H

#include "attack/options.h"
#include "base/sentence.h"
#include <jansson.h>
#include <stdio.h>

struct nvdp__text_attack; /* texts.h */

/* What an attack reads, and what its results are about. */
struct nvdp__attacked {
    struct nvdp_context *ctx;
    const struct nvdp__attack *attack;
    const char *kind; /* its name */
    const char *name; /* the model or run, or "posteriors"; for messages */
    const struct nvdp_config *config;
    const struct nvdp_posteriors *posteriors; /* NULL unless they are the target, and after `run` */
    double claimed;                           /* option `claimed`; NaN: not given */
};

struct nvdp__attack {
    enum nvdp_attack_target target;
    const char *right;          /* what its guesses name; NULL: it does not guess */
    const char *const *options; /* those that apply, ended by NULL */
    const char *exclusive[2];   /* two of them of which only one may be given; NULL: none */
    size_t size;                /* bytes of the struct that `run` fills; it begins with its size */
    nvdp_status (*run)(const struct nvdp__attacked *attacked, void *found);
    /* NULL: out of memory, or a number that JSON does not have. */
    json_t *(*json)(const struct nvdp__attacked *attacked, const void *found);
    void (*print)(const struct nvdp__attacked *attacked, const void *found, FILE *to);
    /* Says what exceeds a proven bound; says nothing where nothing does. */
    void (*verdict)(const struct nvdp__attacked *attacked, const void *found,
                    struct nvdp__writer *say);
    void (*release)(void *found);
    /* The rest of a row that ends in NVDP__LEARNER (texts.h). */
    nvdp_status (*learn)(struct nvdp__text_attack *attack);
    enum nvdp_text_attacker attacker; /* for nvdp_attack_texts() */
};

/* Names and rows, both in the table's order and ended by NULL; what --help says of `kind`. */
extern const char *const nvdp__attack_names[];
extern const char *const nvdp__attack_helps[];
extern const struct nvdp__attack *const nvdp__attacks[];
extern const char nvdp__attack_kind_help[];

/* Options of every attack, and of those that attack texts of a run.  `kind` and `model`, the program's argument, are never
 * refused. */
#define NVDP__ATTACK_OPTIONS "kind", "model", "seed"
#define NVDP__ATTACK_RUN_OPTIONS NVDP__ATTACK_OPTIONS, "run", "split", "data", "limit", "batch"
#define NVDP__ATTACK_POSTERIORS_OPTIONS NVDP__ATTACK_RUN_OPTIONS, "posteriors", "releases"

bool nvdp__attack_takes(const struct nvdp__attack *attack, const char *option);

/* --- parts of the texts that several attacks print --- */

/* Warns that finding nothing in samples shows nothing, as the control without noise found nothing either. */
void nvdp__print_weak(FILE *to, bool weak);
/* Says that a share of right guesses is above what is proven; says nothing where it is not, or nothing is proven. */
void nvdp__share_verdict(const struct nvdp__attacked *attacked, const char *what,
                         const struct nvdp_interval *interval, double baseline, double bound,
                         struct nvdp__writer *say);

#endif
