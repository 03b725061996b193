/* Private training (Abadi et al. 2016; Hoory et al. 2021, section 3.3; docs/dp-bert.md): a step draws
 * every example with probability q, clips each one's gradient to norm C, adds them up, adds
 * N(0, sigma^2 C^2) and divides by B = q N, which does not depend on who was drawn. */
#ifndef NVDP_SRC_JOB_DP_H
#define NVDP_SRC_JOB_DP_H

#include "base/ranks.h"
#include "options/schema.h"
#include "tensor/per_example.h"
#include <jansson.h>
#include <math.h>
#include <nvdp/account.h>

/* Of processes that train together: one adds the noise to the sum of all, or each its own to its part. */
enum nvdp__shards_noise { NVDP__NOISE_ONCE, NVDP__NOISE_EACH };

struct nvdp__dp_options {
    double noise, clip;    /* sigma (of each shard), 0: of target_epsilon; C */
    double sample_rate;    /* q; 0: from batch */
    size_t batch;          /* B, expected; 0: from sample_rate; both 0: not private */
    double target_epsilon; /* 0: none */
    double target_delta;   /* 0: half of 1/N */
    bool allow_weak_delta;
    uint64_t insecure_seed; /* 0: the operating system's randomness */
    enum nvdp__shards_noise shards_noise;
};
extern const struct nvdp_option nvdp__dp_rows[];
static inline bool nvdp__dp_wanted(const struct nvdp__dp_options *options) {
    return options->sample_rate > 0 || options->batch > 0;
}
/* What no range can say. */
nvdp_status nvdp__dp_check(struct nvdp_context *ctx, const struct nvdp__dp_options *options);

/* What saw the examples before: a private vocabulary, the private training of the model that this begins from. */
enum { NVDP__DP_VOCABULARY, NVDP__DP_START, NVDP__DP_BEFORE };

/* A run's. */
struct nvdp__dp {
    struct nvdp_context *ctx;
    double noise, clip, rate; /* noise: of all shards together */
    size_t shards;            /* processes that each add noise */
    size_t examples;          /* N */
    double divisor;           /* B = q N */
    double delta;
    bool delta_default; /* half of 1/N */
    bool rate_given;    /* q, and not B: the divisor shows N */
    /* Of one of the same examples; 0, 0: nothing.  beside [besides]: those that are not. */
    struct nvdp_dp_guarantee before[NVDP__DP_BEFORE], beside[NVDP__DP_BEFORE];
    size_t besides;
    uint64_t steps; /* of the whole run, at most */
    bool seeded;
    struct nvdp__release_key draw_key, noise_key; /* the same in all processes; this one's own */
    struct nvdp__noise draws, source;
    uint64_t secret;                 /* of masks, dropout and samples; the same in all processes */
    struct nvdp__per_example *grads; /* taken */
    double *norm;                    /* [texts at a time] */
    float *weight;
    /* Counts of a step's examples in this process: processed, clipped, left out because not finite. */
    size_t seen, clipped, left_out;
};

/* For `examples` that are seen `epochs` times on average, or, epochs 0, for `steps`; `texts` are worked on
 * at a time.  What `before` [NVDP__DP_BEFORE] (NULL: nothing) has of an example's privacy is in the budget and in all
 * that is stated.  Where noise is to be found for a budget it is, and options->noise set to it; where it
 * is given, the budget may leave fewer steps.  NVDP_ERR_ARGUMENT for a batch of more than the N examples,
 * a delta that is not below 1/N, a budget that cannot be met. */
nvdp_status nvdp__dp_create(struct nvdp_context *ctx, struct nvdp__dp_options *options,
                            size_t examples, size_t epochs, uint64_t steps, size_t texts,
                            const struct nvdp_dp_guarantee *before, struct nvdp__dp **out);
/* What a training promised, from its object `dp` (nvdp__dp_statement); false where that is NULL, promises nothing, or had its
 * noise from a seed, unless `seeded`: this one says so as well. */
bool nvdp__dp_promise(const json_t *dp, bool seeded, struct nvdp_dp_guarantee *out);
void nvdp__dp_free(struct nvdp__dp *dp); /* NULL allowed */
/* All processes draw the examples, masks, dropout and samples that rank 0 draws.  dp may be NULL. */
nvdp_status nvdp__dp_share(struct nvdp__dp *dp);
/* Steps that draw as many examples as there are, on average. */
uint64_t nvdp__dp_epoch_steps(const struct nvdp__dp *dp);

/* From what masks, dropout and a bottleneck's samples are drawn: `seed` where dp is NULL or seeded, else nobody's.
 * Where an example lies among the others decides which draws are whose: were they known, one example more
 * would change the others' gradients. */
uint64_t nvdp__dp_seed(const struct nvdp__dp *dp, uint64_t seed);

/* Numbers of the step's examples in rising order into rows [N]; returns how many. */
size_t nvdp__dp_draw(const struct nvdp__dp *dp, uint64_t step, int64_t *rows);
/* The same, before a step's gradient, which becomes dense, as every row has noise; it becomes 0 where this
 * process has nobody, or nobody was drawn yet: which of the `drawn` are its own. */
struct nvdp__stretch nvdp__dp_start(struct nvdp__dp *dp, const struct nvdp__device *dev,
                                    struct nvdp__params *params, uint64_t step, int64_t *rows,
                                    size_t *drawn);
/* Before the backward pass of some of them, which divides by dp->divisor. */
void nvdp__dp_begin(const struct nvdp__dp *dp, struct nvdp__device *dev, size_t texts);
/* After it: their gradients, clipped, each times weight[label], at most 1 (weight NULL: 1), are added to the
 * parameters' (set where `first`).  A gradient that is no finite number counts as 0: training that stopped there would tell
 * that such a text is among the examples. */
nvdp_status nvdp__dp_clip(struct nvdp__dp *dp, struct nvdp__device *dev, const float *label,
                          const double *weight, bool first);
/* A loss as it is logged: 0 where it is no finite number, whose text has no part in the step. */
static inline double nvdp__dp_loss(double loss) {
    return isfinite(loss) ? loss : 0;
}
/* The step's noise onto the sum, before that of all processes: by the first of them, or by each. */
void nvdp__dp_noise(const struct nvdp__dp *dp, const struct nvdp__device *dev,
                    const struct nvdp__params *params, uint64_t step);

/* What a state has to tell, into its object; NVDP_ERR_ARGUMENT where a run that was begun by so many
 * shards goes on with another number.  dp may be NULL. */
void nvdp__dp_state(const struct nvdp__dp *dp, json_t *object);
nvdp_status nvdp__dp_continue(const struct nvdp__dp *dp, const char *path, const json_t *object);

/* Adds to a line of metrics.jsonl: "epsilon_rdp", what so many steps cost by the quicker accountant; "clipped", the share of the
 * last step's examples whose gradient was longer than C; "left_out", where it is above 0.  Nothing where dp is NULL or adds
 * no noise. */
nvdp_status nvdp__dp_spent(const struct nvdp__dp *dp, uint64_t steps, double left_out,
                           json_t *line);
/* Warns, once training is done, that so many gradients were left out; nothing where none was. */
void nvdp__dp_tell_left_out(const struct nvdp__dp *dp, double left_out);
/* The guesses that training is bounded for: right half of the time without the model, and rarely. */
enum { NVDP__DP_BASELINES = 2 };
extern const double nvdp__dp_baselines[NVDP__DP_BASELINES];
/* What a statement tells of a run beside its numbers. */
struct nvdp__dp_story {
    const char *example, *covers; /* what an example is; which files hold the model */
    const char *began;            /* what training began from, and what that had learned from */
    bool chosen;                  /* an epoch was, by validation texts */
    bool sampled;                 /* the examples were, with an eye on all that there are */
};
/* The statement of so many steps: the object `dp` into root, and DIRECTORY/dp-statement.txt (NULL: none; then mu and the guess
 * bounds, which take a moment, are left out). */
nvdp_status nvdp__dp_statement(const struct nvdp__dp *dp, uint64_t steps,
                               const struct nvdp__dp_story *story, const char *directory,
                               json_t *root);

#endif
