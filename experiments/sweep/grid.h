/* grid.json, read and expanded: every run of a sweep with its resolved configuration
 * (docs/sweep.md).
 */
#ifndef NVDP_EXPERIMENTS_SWEEP_GRID_H
#define NVDP_EXPERIMENTS_SWEEP_GRID_H

#include "base/base.h"
#include <jansson.h>
#include <nvdp/share.h>

/* What stays of a finished run beside its results. */
enum nvdp__keep {
    NVDP__KEEP_ALL,
    NVDP__KEEP_MODEL,  /* neither the state to resume from nor the shared file */
    NVDP__KEEP_RESULTS /* no model either */
};

struct nvdp__sweep_run {
    char *name;                      /* of its directory: says the main options, ends in a digest */
    char *label;                     /* the method's, or the name of the variant */
    const char *attack;              /* file of private labels; NULL: none */
    json_t *object;                  /* config as JSON; owns its texts */
    json_t *varied;                  /* options beyond lambda and seed that the grid lists */
    struct nvdp_train_config config; /* out and cache NULL */
    bool private_;                   /* has a posterior to measure and to share */
    size_t round, position;          /* place of its seed in the list of seeds; in the grid */
};
void nvdp__sweep_run_release(struct nvdp__sweep_run *run);

struct nvdp__grid {
    json_t *root; /* the file; owns texts */
    struct nvdp__sweep_run *run;
    size_t count, capacity;
    enum nvdp__keep keep;
    struct nvdp_run_config measured; /* texts whose posteriors are measured */
    struct nvdp_privacy_config privacy;
    bool share;
    struct nvdp_export_config exported;
    struct nvdp_reuse_config reuse;
};

/* Reads, checks and expands `path`; what it says wrong is named, with what was expected.  No other
 * file is looked at.  Runs stand in the order in which they are to be made: all of the first seed,
 * then of the next; equal ones once. */
nvdp_status nvdp__grid_read(struct nvdp_context *ctx, const char *path, struct nvdp__grid *out);
void nvdp__grid_release(struct nvdp__grid *grid);
/* Whether the models and data sets that the runs name are there and fit the options. */
nvdp_status nvdp__grid_check_files(struct nvdp_context *ctx, const char *path,
                                   const struct nvdp__grid *grid);

/* expand.c: appends the runs of `task` with `method`, an entry of the file's "methods"; path is for
 * messages. */
nvdp_status nvdp__grid_expand(struct nvdp_context *ctx, const char *path, const char *task,
                              const json_t *method, struct nvdp__grid *grid);
/* The entry's label and method. */
const char *nvdp__grid_label(const json_t *method);
const char *nvdp__grid_method(const json_t *method);
/* layers.c: the options of `task` with `method`, each with the list of its values: those of the
 * file, of per_task, per_method (method, then label) and of the method's entry, the later ones
 * first in rank.  Names and kinds are checked against `defaults`; json_decref(). */
nvdp_status nvdp__grid_options(struct nvdp_context *ctx, const char *path, const json_t *root,
                               const char *task, const json_t *method, const json_t *defaults,
                               json_t **out);

/* measures.c: the objects "privacy" and "share". */
nvdp_status nvdp__grid_measures(struct nvdp_context *ctx, const char *path,
                                struct nvdp__grid *grid);

/* run_name.c: fills run->name from run->object and run->config. */
nvdp_status nvdp__sweep_name(struct nvdp_context *ctx, struct nvdp__sweep_run *run);
/* What differs between `object` and `defaults`, objects member by member; NULL: out of memory. */
json_t *nvdp__json_difference(const json_t *defaults, const json_t *object);

#endif
