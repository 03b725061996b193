/* The certificate, the guarantee and the statement of a summary (summarize.h), for nvdp summarize and nvdp verify. */
#include "base/sentence.h"
#include "rdp/options.h"
#include "share/release.h"
#include "share/summarize.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/account.h>
#include <nvdp/rdp.h>

/* Synthetic rows lie on a grid of 2^-20, which float represents exactly up to 16. */
enum { ROW_BITS = 20 };

const char *nvdp__unit_name(const struct nvdp__summary_facts *of) {
    return of->persons ? "person" : "row";
}

const char *nvdp__answer_name(const struct nvdp__summary_facts *of) {
    return of->scores ? "score" : of->plan.answers > 0 ? "class" : "none";
}

double nvdp__synthetic_scale(const struct nvdp__summary_facts *of) {
    return ldexp(1, of->plan.grid.exponent + ROW_BITS);
}

/* Returns epsilon of `units` units that change together. */
static double group_epsilon(const struct nvdp__summary_facts *of, size_t units) {
    return nvdp_gdp_epsilon((double)units * of->plan.mu, of->delta);
}

/* Returns epsilon at of->delta, for one row that is also one example of the encoder's private training. Both count as
 * none in their place: the row's P has a norm of at most 1, so for this relation the file is a Gaussian mechanism of
 * mu / sqrt(2), one more step that always draws the row. Distributions of losses compose adaptively. */
static double epsilon_together(const struct nvdp__release_facts *facts) {
    const struct nvdp__summary_facts *of = facts->summary;
    const bool known = of->trained.steps > 0;
    const struct nvdp_dp_steps phase[] = {{M_SQRT2 / of->plan.mu * (1 - 0x1p-50), 1, 1},
                                          {of->trained.noise, of->trained.rate, of->trained.steps}};
    const struct nvdp_dp_guarantee whole = {facts->training_epsilon, facts->training_delta};
    const struct nvdp_dp_run run = {phase, known ? 2 : 1, &whole, known ? 0 : 1};
    double epsilon = INFINITY;
    if (of->persons || !(facts->training_epsilon >= 0 && facts->training_delta < 1))
        return INFINITY;
    return nvdp_account_epsilon(NULL, &run, of->delta, NVDP_ACCOUNTANT_PLD, &epsilon) == NVDP_OK
               ? epsilon
               : INFINITY;
}

/* Fills the certificate. A Gaussian mechanism of this mu has the privacy curve of a sequence clip C = mu / 2
 * (proofs.md, 1 and 11), so the ledger and the gate treat it as a clip. The guess bounds differ from the bounds of a
 * clip: nvdp__summary_guess() computes them. */
void nvdp__summary_certify(struct nvdp__release_facts *facts) {
    static const size_t rows[NVDP__REPEATS] = {2, 10};
    struct nvdp__summary_facts *of = facts->summary;
    facts->certified =
        facts->grids != NULL && !facts->insecure_seed && facts->training == NVDP__TRAINING_MAYBE;
    facts->guesses[0] = '\0';
    if (!facts->certified) return;
    facts->limits = (struct nvdp_limits){.struct_size = sizeof facts->limits,
                                         .method = "summary",
                                         .noise = true,
                                         .sealed = true,
                                         .same_noise = true,
                                         .rows = 1,
                                         .dim = of->plan.width,
                                         .kappa = 1,
                                         .clip_sequence = of->plan.mu / 2,
                                         .clip_mu = INFINITY};
    facts->certificate = (struct nvdp_certificate){
        .theorem = NVDP_THEOREM_SEQUENCE,
        .mu = of->plan.mu,
        .epsilon = group_epsilon(of, 1),
        .delta = of->delta,
        .radius = of->plan.mu / 2,
        .named_bound = nvdp__named_bound(nvdp__summary_guess(&of->plan, 0), 1, 0)};
    for (size_t i = 0; i < NVDP__REPEATS; i++)
        facts->repeat[i] = (struct nvdp__repeat){rows[i], group_epsilon(of, rows[i]), INFINITY};
    of->together = isnan(facts->training_epsilon) ? NAN : epsilon_together(facts);
}

void nvdp__summary_guarantee(struct nvdp__release_facts *facts) {
    const struct nvdp_certificate *made = &facts->certificate;
    const struct nvdp__summary_facts *of = facts->summary;
    struct nvdp__writer to = {.out = facts->guarantee, .size = sizeof facts->guarantee};
    facts->word_useful = false;
    const bool trained = facts->certified && !isnan(facts->training_epsilon);
    facts->useful = facts->certified &&
                    nvdp__is_useful(trained ? fmax(made->epsilon, of->together) : made->epsilon,
                                    made->named_bound);
    if (!facts->certified) {
        nvdp__append(&to, "%s",
                     facts->insecure_seed
                         ? "No guarantee: the noise comes from a seed, and whoever knows the seed "
                           "can remove the noise."
                         : "No guarantee: the encoder was trained on some of these texts without "
                           "privacy, and whoever has it has what it learned of them.");
        return;
    }
    nvdp__append(
        &to,
        "%s: epsilon %s at delta %s%s for the replacement of any one %s of %zu%s, the others "
        "staying the same.",
        facts->useful ? "Proven" : "No useful guarantee", nvdp__bound(made->epsilon).text,
        nvdp__bound(made->delta).text, facts->useful ? "" : " is proven", nvdp__unit_name(of),
        of->plan.units,
        of->persons            ? ", all rows included"
        : of->plan.answers > 0 ? ", its label included"
                               : "");
    for (size_t i = 0; i < NVDP__REPEATS; i++)
        nvdp__append(&to, "%s%zu %s: epsilon %s",
                     i > 0         ? "; with "
                     : of->persons ? " A group with "
                                   : " Somebody with ",
                     facts->repeat[i].rows, of->persons ? "persons" : "rows",
                     nvdp__bound(facts->repeat[i].epsilon).text);
    nvdp__append(&to, ". The file contains no sample of a text.");
    if (trained && isfinite(of->together))
        nvdp__append(
            &to,
            " A row that the encoder's private training read, too, has epsilon %s at delta %s "
            "by both together (zero-out).",
            nvdp__bound(of->together).text, nvdp__bound(of->delta).text);
    else if (trained)
        nvdp__append(&to, " Nothing is proven by both together of a row that the encoder's private "
                          "training read, too.");
}

static void append_guesses(struct nvdp__writer *writer, const struct nvdp__summary_facts *of) {
    const struct nvdp__summary *plan = &of->plan;
    const char *unit = nvdp__unit_name(of);
    const double yes = nvdp_guess_bound(.5, nvdp__summary_guess(plan, 2), 1, 0),
                 any = nvdp_guess_bound(.001, nvdp__summary_guess(plan, 0), 1, 0);
    nvdp__append(
        writer,
        "Guesses: somebody knows all other %ss and answers a question about one %s. A yes "
        "or no that is right 50 %% of the time without the file is right at most %s of the "
        "time with it, and any answer that is right 0.1 %% of the time without it, at most "
        "%s.\n",
        unit, unit, nvdp__share_bound(yes).text, nvdp__share_bound(any).text);
}

void nvdp__summary_sentences(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    const struct nvdp__summary_facts *of = facts->summary;
    const struct nvdp__summary *plan = &of->plan;
    const char *unit = nvdp__unit_name(of);
    char public[96];
    if (facts->certified) append_guesses(writer, of);
    nvdp__append(
        writer,
        "Contents: one matrix of %zu x %zu numbers, the sums over all %s the products of "
        "a row's numbers, with noise of standard deviation %.6g on the diagonal and %.6g off "
        "it; a row is %s%zu numbers of %s%s, and has a norm of at most 1. ",
        plan->width, plan->width,
        of->persons ? "persons of the averages over the person's rows of" : "rows of", plan->sigma,
        plan->sigma_off, plan->alpha > 0 ? "a constant, " : "", plan->dim,
        of->joint   ? "a pair of texts, the embedding of both together"
        : of->pairs ? "a pair of texts, the products and absolute differences of their embeddings"
                    : "the text's embedding",
        of->scores          ? " and its score"
        : plan->answers > 1 ? " and the indicators of its class"
        : plan->answers > 0 ? " and the sign of its class"
                            : "");
    nvdp__append(
        writer,
        "%zu synthetic rows are computed from this matrix alone: none is the embedding of a "
        "text.\n",
        of->rows);
    nvdp__append(
        writer,
        "The file shows what the collection shows as a whole: means and covariances of its "
        "embeddings%s.%s\n",
        plan->answers > 0 && !of->scores ? ", of each class, and the share of each class"
        : of->scores                     ? " and scores"
                                         : "",
        of->scores ? " Scores beyond the stated range count as its ends." : "");
    nvdp__snprintf(public, sizeof public, "the number of %ss%s", unit,
                   of->scores          ? " and the range of scores"
                   : plan->answers > 0 ? " and the list of classes"
                                       : "");
    nvdp__append_public(writer, facts, public);
    nvdp__append(
        writer,
        "%s %s change together: k of them have k times the mu of one%s%s. Other releases of the "
        "same %ss add up: mu^2 adds. How many %s is not stated, because it is computed from the "
        "texts without noise. Not covered: %schoices that the owner made after looking at scores "
        "of these texts%s%s.\n",
        facts->counted ? "The sender's ledger counts this file." : "No ledger counts this file.",
        of->persons
            ? "The rows of a person are those with one name, and a row without a name is a person "
              "of its own. Persons who have a text in common"
        : of->pairs ? "Pairs that have a text in common, and rows of one person,"
                    : "Copies of a text, and rows of one person,",
        facts->certified ? ", which is " : "", facts->certified ? nvdp__bound(plan->mu).text : "",
        unit,
        of->persons ? "rows a person has"
        : of->pairs ? "pairs have a text"
                    : "copies there are",
        of->persons ? "a person under several names; " : "",
        facts->query != NULL && !facts->query->independent
            ? facts->query->vectors
                  ? "; a row that equals a public vector, which the program refuses"
                  : "; a row that equals a public text, which the program refuses"
            : "",
        facts->query != NULL && !facts->query->vectors
            ? "; a row that equals a text of a training that the encoder's folder records, of "
              "which the first line then warns"
            : "");
}

void nvdp__summary_training_sentences(struct nvdp__writer *writer,
                                      const struct nvdp__release_facts *facts) {
    const struct nvdp__summary_facts *of = facts->summary;
    if (isnan(facts->training_epsilon)) {
        nvdp__append(writer,
                     "An earlier training read some of these texts without privacy, or with "
                     "noise from a seed, and no number here limits what it learned.\n");
        return;
    }
    nvdp__append(writer,
                 "Its owner states that it was trained privately: epsilon %s at delta %s for one "
                 "training example (zero-out, " NVDP__EXACT_ARITHMETIC(
                     "the training's") "); what it knew before is not part of that. ",
                 nvdp__bound(facts->training_epsilon).text,
                 nvdp__bound(facts->training_delta).text);
    if (of->persons)
        nvdp__append(writer, "A person may have had several examples, so no number covers both.\n");
    else
        nvdp__append(writer,
                     "Zero-out: a row that was one example counts as none in both places; both "
                     "losses are composed%s. It is no bound for a row in place of another, nor "
                     "for a row that was several examples, nor for other files.\n",
                     of->trained.steps > 0 ? " as distributions"
                                           : ", the training's as (epsilon, delta)");
}
