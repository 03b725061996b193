/** @file account.h
 * Accounting of differentially private training (DP-SGD, docs/dp-bert.md).
 *
 * A step draws every example independently with probability q (Poisson sampling). The step clips the gradients of
 * these examples to norm C, sums them, and adds N(0, sigma^2 C^2) to every coordinate (Abadi et al. 2016). This
 * protects the texts that a model was trained on. nvdp/privacy.h is about the texts that a model encodes.
 *
 * Adjacency is zero-out (Kairouz et al. 2021): an example is present, or a null example takes its place. The
 * gradient of the null example is 0; q, sigma, C, the divisor and the number of steps are the same. Adding or
 * removing an example is the same relation only if none of these depends on the number of examples N. If q = B/N or
 * the divisor is q N, then N is public, and adding or removing an example is not covered. Replacing an example costs
 * more: nvdp_example_risk.
 *
 * Two accountants give upper bounds of the same epsilon. The Renyi accountant adds the divergences of the steps at
 * each order and converts the best order. The accountant of the privacy loss distribution (PLD) evaluates a Fourier
 * integral, for any number of steps at once. Report the PLD epsilon. It was typically .02 % and at most 1 % above
 * the true value, for noise .03 to 1000, rate 1e-7 to 1, 1 to 10^9 steps and epsilon 1e-3 to 10^6 (docs/dp-bert.md).
 * +inf is a valid value.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_ACCOUNT_H
#define NVDP_ACCOUNT_H

#include <nvdp/config.h>
#include <nvdp/export.h>
#include <nvdp/guess.h>

NVDP_BEGIN_DECLS

/** Steps of DP-SGD with the same setting. */
struct nvdp_dp_steps {
    double noise;   /**< sigma, noise multiplier: standard deviation / C; >= 1e-3 */
    double rate;    /**< q, sampling probability of an example per step; (0, 1] */
    uint64_t steps; /**< T, number of steps */
};

/** The guarantee (epsilon, delta) of another computation on the same examples, under the same adjacency. */
struct nvdp_dp_guarantee {
    double epsilon; /**< >= 0 */
    double delta;   /**< [0, 1) */
};

/** All computations that read the training examples. */
struct nvdp_dp_run {
    /** [phases] phases, such as pretraining and fine-tuning. */
    const struct nvdp_dp_steps *phase;
    size_t phases;                          /**< number of phases; 0 without training */
    const struct nvdp_dp_guarantee *beside; /**< [besides] others, such as a private vocabulary */
    size_t besides;                         /**< number of entries of `beside` */
};

/** Accountants. */
enum nvdp_accountant {
    NVDP_ACCOUNTANT_PLD, /**< by the privacy loss distribution: the tighter one */
    NVDP_ACCOUNTANT_RDP  /**< by Renyi divergences */
};

/** Epsilon of a run at one delta. */
struct nvdp_account {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double delta;       /**< the given delta */
    double rdp_epsilon; /**< by Renyi divergences, plus the epsilons of `beside` */
    /** Order that gave rdp_epsilon; NaN if there is none. */
    double rdp_order;
    double pld_epsilon; /**< by the privacy loss distribution */
};

/** Computes D_l(P || Q) of one step, where P = (1-q) N(0, sigma^2) + q N(1, sigma^2) and Q = N(0, sigma^2):
 *
 *     1/(l-1) log E_{z ~ Q} [ 1 - q + q e^((2z-1)/(2 sigma^2)) ]^l.
 *
 * D_l(Q || P) is not larger (Mironov, Talwar & Zhang 2019). Works for any l > 1, by the trapezoidal rule; the step
 * is halved until two results agree to a relative 1e-12. O(1), or O(1/sigma) for sigma below 1.
 * @param order l > 1
 * @param noise sigma >= 1e-3
 * @param rate  q in [0, 1]
 * @return nats; NaN for anything else */
double nvdp_renyi_subsampled(double order, double noise, double rate);

/** Computes epsilon by both accountants. Takes about ten milliseconds for any number of steps; up to a second for
 * little noise, or for few steps with a low sampling probability.
 * @param ctx   records messages
 * @param run   computations that read the examples
 * @param delta (0, 1)
 * @param out   the account; untouched on error
 * @return NVDP_ERR_ARGUMENT, whose message names value and range; NVDP_ERR_MEMORY */
nvdp_status nvdp_account(struct nvdp_context *ctx, const struct nvdp_dp_run *run, double delta,
                         struct nvdp_account *out);

/** Computes epsilon by one accountant. The Renyi accountant is fast enough for every line of a log.
 * @param ctx        records messages
 * @param run        computations that read the examples
 * @param delta      (0, 1)
 * @param accountant the accountant
 * @param epsilon    as in nvdp_account(); untouched on error
 * @return as nvdp_account() */
nvdp_status nvdp_account_epsilon(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                                 double delta, enum nvdp_accountant accountant, double *epsilon);

/** Computes the delta of a run at an epsilon, by the privacy loss distribution.
 * @param ctx     records messages
 * @param run     computations that read the examples
 * @param epsilon >= 0
 * @param delta   [0, 1], not below the true value; untouched on error
 * @return as nvdp_account() */
nvdp_status nvdp_account_delta(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double epsilon, double *delta);

/** Upper bounds of what an attacker learns from a model about one of its examples, from the trade-off curve of its
 * training. */
struct nvdp_example_risk {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double delta;       /**< delta of the account */
    /** Smallest mu of a Gaussian mechanism (Dong, Roth & Su 2022) whose delta(epsilon) is nowhere below the run's
     * delta(epsilon), for deltas of at least `delta`. Phi(Phi^-1(b) + mu) + delta bounds the true positive rate of
     * every test with false positive rate b. No useful mu covers all deltas. +inf if the run has no such mu. */
    double mu;
    /** Epsilon at `delta` for replacing an example, by group privacy from the whole curve; may be +inf. */
    double replaced_epsilon;
    /** Upper bound of the success of guessing whether an example was in the training set. It is 1/2 without the
     * model. */
    double membership;
    size_t guesses; /**< number of entries of `guess` */
    /** Upper bounds of the success of any guess about one example, given everything else. Without the model, the
     * guess is right with probability `baseline`. */
    struct nvdp_bounded_guess guess[NVDP_GUESSES];
};

/** Computes the risk of one example. Evaluates about 50 points of the curve: half a second; the time grows with
 * sqrt(steps).
 * @param ctx      records messages
 * @param run      computations that read the examples
 * @param account  account of the run, from nvdp_account()
 * @param n        number of baselines, at most NVDP_GUESSES
 * @param baseline [n] in [0, 1]
 * @param out      the risk; untouched on error
 * @return as nvdp_account() */
nvdp_status nvdp_example_risk(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                              const struct nvdp_account *account, size_t n, const double *baseline,
                              struct nvdp_example_risk *out);

/** Finds the smallest noise of the last phase that keeps a run within a budget. The result is up to a relative 1e-4
 * above the minimum, and never below.
 * @param ctx        records messages
 * @param run        one phase or more; the last phase's `noise` is not read
 * @param epsilon    the budget, > 0
 * @param delta      (0, 1)
 * @param accountant the accountant
 * @param noise      sigma; untouched on error
 * @return as nvdp_account(); NVDP_ERR_ARGUMENT also if no noise up to 1e6 is enough */
nvdp_status nvdp_account_noise(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double epsilon, double delta, enum nvdp_accountant accountant,
                               double *noise);

/** Finds the largest number of steps of the last phase that keeps a run within a budget.
 * @param ctx        records messages
 * @param run        the last phase's `steps` is the maximum to consider
 * @param epsilon    the budget, > 0
 * @param delta      (0, 1)
 * @param accountant the accountant
 * @param steps      0 if one step exceeds the budget; untouched on error
 * @return as nvdp_account() */
nvdp_status nvdp_account_steps(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double epsilon, double delta, enum nvdp_accountant accountant,
                               uint64_t *steps);

/** The published quantity that reveals the number of examples N. */
enum nvdp_dp_public {
    NVDP_DP_PUBLIC_NOT_TOLD, /**< unknown */
    NVDP_DP_PUBLIC_RATE,     /**< the probability q = B/N; the divisor is B */
    NVDP_DP_PUBLIC_DIVISOR   /**< the divisor q N of the noised sums */
};

/** Facts of a statement that are neither in the run nor in the account. */
struct nvdp_dp_facts {
    const char *example; /**< definition of an example: "one row of the training file" */
    double clip;         /**< C, or 0 if unknown */
    uint64_t examples;   /**< N, or 0 if unknown */
    /** Number of workers that each added a part of the noise. `noise` is the total. 0 means one worker. */
    uint64_t shards;
    bool seeded;               /**< the noise came from a seed: not private, for experiments */
    enum nvdp_dp_public shows; /**< published quantity that reveals N */
    const struct nvdp_example_risk *risk; /**< NULL to leave the risk out */
    /** Number of steps that were done, if training ended before the planned steps. 0 means all steps, or unknown. */
    uint64_t steps_done;
};

/** Writes the statement in plain English: adjacency, sampling, sigma, C, q, steps, delta, epsilon by both
 * accountants, and what the guarantee does not cover.
 * @param ctx     records messages
 * @param run     computations that read the examples, with the planned number of steps. If the model decides when
 *                training stops or which state is used, only the planned number was fixed before the first step
 * @param facts   the remaining facts
 * @param account from nvdp_account()
 * @param text    the statement, which the caller frees with free(); untouched on error
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_account_statement(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                                   const struct nvdp_dp_facts *facts,
                                   const struct nvdp_account *account, char **text);

NVDP_END_DECLS
#endif
