/** @file account.h
 * How private training with differential privacy was: the accountant of DP-SGD (docs/dp-bert.md).
 *
 * A step draws every example with probability q, independently (Poisson sampling), adds up their
 * gradients, each clipped to norm C, and adds N(0, sigma^2 C^2) to every coordinate (Abadi et al.
 * 2016).  This protects the texts that a model was trained on; the texts that a model encodes are
 * nvdp/privacy.h's.
 *
 * Adjacency is zero-out (Kairouz et al. 2021): one example is there, or counts as none in its place.
 * Its gradient is then 0, and q, sigma, C, the divisor and the number of steps are the same.  Adding
 * or removing an example is the same relation only if none of these follows from the number of
 * examples N.  With q = B/N, or a divisor q N, it is not covered, and N is public.  Replacing an example costs
 * more: nvdp_account_risk.
 *
 * Two accountants bound the same epsilon from above.  By Renyi divergences: those of the steps add up
 * at each order, and the best order is converted.  By the privacy loss distribution: its Fourier
 * integral, for any number of steps at once.  The second is the one to quote: from noise .03 to 1000,
 * rate 1e-7 to 1, 1 to 10^9 steps and epsilon 1e-3 to 10^6 it was .02 % above the truth, at most 1 %
 * (docs/dp-bert.md).  +inf is a value.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_ACCOUNT_H
#define NVDP_ACCOUNT_H

#include <nvdp/config.h>
#include <nvdp/export.h>
#include <nvdp/guess.h>

NVDP_BEGIN_DECLS

/** Steps of DP-SGD with one setting. */
struct nvdp_dp_steps {
    double noise;   /**< sigma, the noise multiplier: standard deviation / clipping norm; >= 1e-3 */
    double rate;    /**< q, the probability with which a step draws an example; (0, 1] */
    uint64_t steps; /**< T */
};

/** (epsilon, delta) of something else that saw the same examples, under the same adjacency. */
struct nvdp_dp_guarantee {
    double epsilon; /**< >= 0 */
    double delta;   /**< [0, 1) */
};

/** All that saw the training examples. */
struct nvdp_dp_run {
    const struct nvdp_dp_steps *phase;      /**< [phases] pretraining and fine-tuning, say */
    size_t phases;                          /**< 0: no training */
    const struct nvdp_dp_guarantee *beside; /**< [besides] a private vocabulary, say */
    size_t besides;                         /**< 0: nothing else */
};

/** Which accountant. */
enum nvdp_accountant {
    NVDP_ACCOUNTANT_PLD, /**< by the privacy loss distribution: the tight one */
    NVDP_ACCOUNTANT_RDP  /**< by Renyi divergences */
};

/** Epsilon of a run at one delta. */
struct nvdp_account {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double delta;       /**< as asked */
    double rdp_epsilon; /**< by Renyi divergences, with `beside` added up */
    double rdp_order; /**< the order that it is from, of nvdp_account_order(); NaN where none is */
    double pld_epsilon; /**< by the privacy loss distribution */
};

/** D_l(P || Q) of one step, P = (1-q) N(0, sigma^2) + q N(1, sigma^2), Q = N(0, sigma^2): Mironov,
 * Talwar & Zhang 2019, who prove that the reverse is not larger:
 *
 *     1/(l-1) log E_{z ~ Q} [ 1 - q + q e^((2z-1)/(2 sigma^2)) ]^l.
 *
 * For any l > 1, by the trapezoidal rule, halved until two agree to 1e-12 relatively.  O(1) for one.
 * @param order l > 1
 * @param noise sigma >= 1e-3: O(1/sigma) below 1
 * @param rate  q in [0, 1]
 * @return nats; NaN for anything else */
double nvdp_renyi_subsampled(double order, double noise, double rate);

/** The i-th order that nvdp_account() tries: from 1.0001 to 1.1 eight per decade of order - 1, then 1.1,
 * 1.2 ... 10.9, 11, 12 ... 63, 128, 256 ... 2^24.  From 1.1 to 1024 they are TF-Privacy's.
 * @param i from 0
 * @return NaN beyond the last */
double nvdp_account_order(size_t i);

/** Epsilon by both accountants.  Some ten milliseconds, whatever the number of steps; up to a second
 * with little noise or for a few steps that rarely draw anybody.
 * @param ctx   records messages
 * @param run   what saw the examples
 * @param delta (0, 1)
 * @param out   the account; untouched on error
 * @return NVDP_ERR_ARGUMENT, naming value and range; NVDP_ERR_MEMORY */
nvdp_status nvdp_account(struct nvdp_context *ctx, const struct nvdp_dp_run *run, double delta,
                         struct nvdp_account *out);

/** One of the two alone: the Renyi accountant's is quick enough for a line of a log.
 * @param ctx        records messages
 * @param run        what saw the examples
 * @param delta      (0, 1)
 * @param accountant which
 * @param epsilon    as in nvdp_account(); untouched on error
 * @return as nvdp_account() */
nvdp_status nvdp_account_epsilon(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                                 double delta, enum nvdp_accountant accountant, double *epsilon);

/** The delta of a run at an epsilon, by the privacy loss distribution.
 * @param ctx     records messages
 * @param run     what saw the examples
 * @param epsilon >= 0
 * @param delta   [0, 1], not below the truth; untouched on error
 * @return as nvdp_account() */
nvdp_status nvdp_account_delta(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double epsilon, double *delta);

/** delta(epsilon) of a run at many epsilons of either sign, in both directions, by the privacy loss
 * distribution: everything that the run's outputs can tell about one example.
 *
 *     present(e)  =  sup_S  P(S) - e^e Q(S),        absent(e)  =  sup_S  Q(S) - e^e P(S),
 *
 * P: the example is in the training set; Q: it is not.  Below 0 a value comes from the other direction:
 * present(-e) = 1 - e^-e + e^-e absent(e).  Every value is an upper bound.  For a guess whose success
 * probability is b without the run, success <= min over l > 0 of l b + present(log l).
 * @param ctx     records messages
 * @param run     what saw the examples
 * @param n       number of epsilons; some five milliseconds each, up to half a second as above
 * @param epsilon [n] nats, any number but NaN
 * @param present [n] [0, 1]; NULL: not wanted; untouched on error
 * @param absent  [n] [0, 1]; NULL: not wanted; untouched on error
 * @return NVDP_ERR_ARGUMENT, naming value and range; NVDP_ERR_MEMORY */
nvdp_status nvdp_account_deltas(struct nvdp_context *ctx, const struct nvdp_dp_run *run, size_t n,
                                const double *epsilon, double *present, double *absent);

/** Bounds how often a guess is right whether an example was in the training set, made by an attacker who has the model and
 * knows everything else.
 * @param ctx   records messages
 * @param run   what saw the examples
 * @param prior probability of the example being in it, without the model; [0, 1]
 * @param bound 1 - p + p present(log((1-p)/p)), at least max(p, 1-p); untouched on error
 * @return as nvdp_account() */
nvdp_status nvdp_account_membership(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                                    double prior, double *bound);

/** The bounds on what an attacker learns from a model about one of its examples, from the trade-off curve of its
 * training.  All are upper bounds. */
struct nvdp_account_risk {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double delta;       /**< of the account */
    /** The smallest mu of a Gaussian mechanism (Dong, Roth & Su 2022) whose delta(epsilon) is nowhere below the run's where
     * that is at least `delta`.  Then Phi(Phi^-1(b) + mu) + delta bounds the true positive rate of every test with false
     * positive rate b.  For all deltas there is no useful one.  +inf where the run has none. */
    double mu;
    /** Epsilon at `delta` for replacing an example by another, by group privacy from the whole curve; may be +inf. */
    double replaced_epsilon;
    double membership; /**< nvdp_account_membership() at prior 1/2 */
    size_t guesses;    /**< entries of guess */
    /** For any guess about one example that is right with probability `baseline` without it, given everything else. */
    struct nvdp_guess guess[NVDP_GUESSES];
};

/** The risk of one example.  Some 50 points of the curve: half a second; more with sqrt(steps).
 * @param ctx      records messages
 * @param run      what saw the examples
 * @param account  its account, of nvdp_account()
 * @param n        number of baselines, at most NVDP_GUESSES
 * @param baseline [n] in [0, 1]
 * @param out      the risk; untouched on error
 * @return as nvdp_account() */
nvdp_status nvdp_account_risk(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                              const struct nvdp_account *account, size_t n, const double *baseline,
                              struct nvdp_account_risk *out);

/** The noise that keeps a run within a budget: `noise` of the last phase, up to 1e-4 of itself above
 * the least, never below.
 * @param ctx        records messages
 * @param run        of which the last phase's `noise` is not read; it needs one phase or more
 * @param epsilon    the budget, > 0
 * @param delta      (0, 1)
 * @param accountant by which
 * @param noise      sigma; untouched on error
 * @return NVDP_ERR_ARGUMENT also where no noise up to 1e6 is enough */
nvdp_status nvdp_account_noise(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double epsilon, double delta, enum nvdp_accountant accountant,
                               double *noise);

/** How many steps a budget allows: the largest `steps` of the last phase whose epsilon is not above
 * the budget.
 * @param ctx        records messages
 * @param run        of which the last phase's `steps` are the most that are wanted
 * @param epsilon    the budget, > 0
 * @param delta      (0, 1)
 * @param accountant by which
 * @param steps      0 where not even one fits; untouched on error
 * @return as nvdp_account() */
nvdp_status nvdp_account_steps(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                               double epsilon, double delta, enum nvdp_accountant accountant,
                               uint64_t *steps);

/** The published quantity that reveals the number of examples N. */
enum nvdp_dp_public {
    NVDP_DP_PUBLIC_NOT_TOLD, /**< not known to the statement */
    NVDP_DP_PUBLIC_RATE,     /**< the probability q = B/N; the divisor is B */
    NVDP_DP_PUBLIC_DIVISOR   /**< the divisor q N, by which sums and their noise are divided */
};

/** What a statement tells beside the run and its account. */
struct nvdp_dp_facts {
    const char *example;       /**< what an example is: "one row of the training file" */
    double clip;               /**< C; 0: not told */
    uint64_t examples;         /**< N; 0: not told */
    uint64_t shards;           /**< workers that each added noise, which `noise` has; 0 or 1: one */
    bool seeded;               /**< noise from a seed: for experiments, not private */
    enum nvdp_dp_public shows; /**< how the run shows N */
    const struct nvdp_account_risk *risk; /**< NULL: not told */
};

/** The statement, in plain English: adjacency, sampling, sigma, C, q, steps, delta, epsilon by both
 * accountants, and what is outside of it.
 * @param ctx     records messages
 * @param run     what saw the examples
 * @param facts   the rest
 * @param account of nvdp_account()
 * @param text    for free(); untouched on error
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_account_statement(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                                   const struct nvdp_dp_facts *facts,
                                   const struct nvdp_account *account, char **text);

NVDP_END_DECLS
#endif
