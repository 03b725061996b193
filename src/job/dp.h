/* Private training (Abadi et al. 2016; Hoory et al. 2021, section 3.3; docs/dp-bert.md). A step
 * draws each example with probability q and clips its gradient to norm C. It adds N(0, sigma^2
 * C^2) to the sum of the gradients and divides by B = q N, which does not depend on the drawn
 * examples. */
#ifndef NVDP_SRC_JOB_DP_H
#define NVDP_SRC_JOB_DP_H

#include "base/base.h"
#include "base/ranks.h"
#include "options/schema.h"
#include "tensor/per_example.h"
#include <jansson.h>
#include <math.h>
#include <nvdp/account.h>
#include <nvdp/train.h>

/* Selects the processes that add noise: rank 0 adds noise to the sum, or each process adds separate noise to its
 * part. */
enum nvdp__shards_noise { NVDP__NOISE_ONCE, NVDP__NOISE_EACH };

struct nvdp__dp_options {
    double noise, clip; /* sigma (of each shard; 0: derived from target_epsilon); C */
    double sample_rate; /* q; 0: computed from batch */
    /* expected B; 0: computed from sample_rate; if both are 0, training is not private */
    size_t batch;
    double target_epsilon; /* 0: no target */
    double target_delta;   /* 0: half of 1/N */
    bool allow_weak_delta;
    uint64_t insecure_seed; /* 0: the randomness of the operating system */
    enum nvdp__shards_noise shards_noise;
};
extern const struct nvdp_option nvdp__dp_rows[];
static inline bool nvdp__dp_wanted(const struct nvdp__dp_options *options) {
    return options->sample_rate > 0 || options->batch > 0;
}
/* Checks the conditions between options. */
nvdp_status nvdp__dp_check(struct nvdp_context *ctx, const struct nvdp__dp_options *options);

/* Earlier uses of the examples: a private vocabulary, and the private training of the start model. */
enum { NVDP__DP_VOCABULARY, NVDP__DP_START, NVDP__DP_BEFORE };

/* The private training of one run. */
struct nvdp__dp {
    struct nvdp_context *ctx;
    double noise, clip, rate; /* `noise` is the multiplier sigma of the sum over shards */
    size_t shards;            /* number of processes that each add noise */
    size_t examples;          /* N, the number of examples */
    double divisor;           /* B = q N */
    double delta;
    bool delta_default; /* true if delta is half of 1/N */
    bool rate_given;    /* true if q was given instead of B, so that the divisor reveals N */
    /* Guarantees of earlier uses for one example; 0, 0 if there is no earlier use. beside [besides] holds the
     * nonzero guarantees. */
    struct nvdp_dp_guarantee before[NVDP__DP_BEFORE], beside[NVDP__DP_BEFORE];
    size_t besides;
    /* Number of planned steps, which epsilon counts: the end of the run may depend on the examples. */
    uint64_t steps;
    bool seeded;
    /* draw_key is shared by all processes; each process has a separate noise_key */
    struct nvdp__release_key draw_key, noise_key;
    struct nvdp__noise draws, source;
    /* seed of masks, dropout and samples; shared by all processes */
    uint64_t secret;
    struct nvdp__per_example *grads; /* owned; may be NULL */
    double *norm;                    /* [texts at a time] norms of the gradients */
    float *weight;
    /* Numbers of the step's examples in this process: processed, clipped, and left out because the gradient is not
     * finite. */
    size_t seen, clipped, left_out;
};

/* Plans training on `examples` examples, each seen `epochs` times on average (epochs 0: for `steps`), `texts` at a
 * time. The guarantees `before` [NVDP__DP_BEFORE] are part of the budget and of every statement; NULL if there are
 * none. If options->noise is 0, finds and sets the noise for the budget; else the budget may allow fewer steps.
 * Returns NVDP_ERR_ARGUMENT for a batch larger than N, a delta that is not below 1/N, or a budget that cannot be
 * met. */
nvdp_status nvdp__dp_create(struct nvdp_context *ctx, struct nvdp__dp_options *options,
                            size_t examples, size_t epochs, uint64_t steps, size_t texts,
                            const struct nvdp_dp_guarantee *before, struct nvdp__dp **out);
/* Reads the guarantee of a training from the object `dp` of the training (nvdp__dp_statement()). Returns false if
 * `dp` is NULL or guarantees nothing. Also returns false if the noise came from a seed, unless `seeded` is true
 * because this training's noise comes from a seed, too. */
bool nvdp__dp_promise(const json_t *dp, bool seeded, struct nvdp_dp_guarantee *out);
/* Returns the object `dp` that counts all planned steps: the one of result.json, or the one of run.json if an
 * earlier version counted only the finished steps in result.json. Returns NULL if neither file has one. */
const json_t *nvdp__dp_planned(const json_t *result, const json_t *run);
/* Returns the JSON object of a struct nvdp_training_privacy of private training; NULL if memory is exhausted. */
json_t *nvdp__training_pack(const void *training);
/* Does what nvdp_training_privacy() does. `run` is the directory's run.json if it was read before, else NULL. */
nvdp_status nvdp__training_privacy(struct nvdp_context *ctx, const char *directory, json_t *run,
                                   struct nvdp_training_privacy *out, char **statement);
void nvdp__dp_free(struct nvdp__dp *dp); /* NULL is allowed */
NVDP__AUTOPTR(struct nvdp__dp, nvdp__dp_free)
/* Makes all processes draw the examples, masks, dropout and samples that rank 0 draws.  dp may be NULL. */
nvdp_status nvdp__dp_share(struct nvdp__dp *dp);
/* Returns the number of steps that draw N examples on average. */
uint64_t nvdp__dp_epoch_steps(const struct nvdp__dp *dp);

/* Returns the seed of masks, dropout and samples: `seed` if dp is NULL or seeded, else a secret seed. The position
 * of an example among the drawn examples selects its random numbers. If the seed were known, one more example would
 * change the gradients of the other examples. */
uint64_t nvdp__dp_seed(const struct nvdp__dp *dp, uint64_t seed);

/* Writes the indices of the step's examples to rows [N], in ascending order, and returns the number of examples. */
size_t nvdp__dp_draw(const struct nvdp__dp *dp, uint64_t step, int64_t *rows);
/* Draws the step's examples and prepares the gradient, which is dense because every row gets noise. Sets the
 * gradient to 0 if this process has no example, and before the first examples of the run. Returns the range of this
 * process among the `drawn` examples. */
struct nvdp__range nvdp__dp_start(struct nvdp__dp *dp, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t step, int64_t *rows,
                                  size_t *drawn);
/* Prepares the backward pass of `texts` examples, whose loss is divided by dp->divisor. */
void nvdp__dp_begin(const struct nvdp__dp *dp, struct nvdp__device *dev, size_t texts);
/* Clips the gradients after the backward pass, multiplies each by weight[label] <= 1 (1 if weight is NULL), and adds
 * them to the parameters' gradient; if `first`, sets this gradient. A gradient that is not finite counts as 0,
 * because an error would reveal the example. */
nvdp_status nvdp__dp_clip(struct nvdp__dp *dp, struct nvdp__device *dev, const float *label,
                          const double *weight, bool first);
/* Returns a loss for the log: 0 if the loss is not finite, because its example has no part in the step. */
static inline double nvdp__dp_loss(double loss) {
    return isfinite(loss) ? loss : 0;
}
/* Adds the step's noise to this process's gradient, before the sum over processes. Either only rank 0 adds noise, or
 * each process adds a share. */
void nvdp__dp_noise(const struct nvdp__dp *dp, const struct nvdp__device *dev,
                    const struct nvdp__params *params, uint64_t step);

/* Write or check the object of a saved state. The check returns NVDP_ERR_ARGUMENT if the number of shards changed or
 * more steps are planned than before, and NVDP_ERR_INPUT if the guarantee of the start model changed. dp may be
 * NULL. */
void nvdp__dp_state(const struct nvdp__dp *dp, json_t *object);
nvdp_status nvdp__dp_continue(const struct nvdp__dp *dp, const char *path, const json_t *object);

/* Adds to a line of metrics.jsonl: "epsilon_rdp", the cost of `steps` by the faster accountant; "clipped", the share
 * of the last step's examples whose gradient was longer than C; and "left_out", if this number is above 0. Adds
 * nothing if dp is NULL or adds no noise. */
nvdp_status nvdp__dp_spent(const struct nvdp__dp *dp, uint64_t steps, double left_out,
                           json_t *line);
/* Warns after training if gradients were left out. */
void nvdp__dp_warn_left_out(const struct nvdp__dp *dp, double left_out);
/* Baselines of the guess bounds in statements: guesses that are right half of the time without the model, and rare
 * guesses. */
enum { NVDP__DP_BASELINES = 2 };
extern const double nvdp__dp_baselines[NVDP__DP_BASELINES];
/* The parts of a statement that are not numbers. */
struct nvdp__dp_scope {
    const char *example, *covers; /* the definition of an example; the files of the model */
    const char *began;            /* the start model and the data on which it was trained */
    bool chosen;                  /* true if validation texts selected the epoch */
    bool sampled;                 /* true if the examples were sampled from a larger file */
};
/* Writes the statement: the object `dp` to root, and DIRECTORY/dp-statement.txt. Epsilon counts all planned steps,
 * of which `done` were done (0: the run begins). If directory is NULL, writes no file, and leaves out mu and the
 * guess bounds, which take a moment to compute. */
nvdp_status nvdp__dp_statement(const struct nvdp__dp *dp, uint64_t done,
                               const struct nvdp__dp_scope *scope, const char *directory,
                               json_t *root);

#endif
