/* Computes the certificate and the guarantee of a release, and writes its statement in plain English, for nvdp
 * export and nvdp verify.  The order: published numbers, guarantee, sentences, certificate. */
#include "share/statement.h"
#include "mechanism/method.h"

#include "base/sentence.h"
#include "mechanism/options.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "rdp/options.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/guarantee.h>
#include <nvdp/rdp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- published numbers and words --- */

double nvdp__public_number(double value) {
    if (!isfinite(value) || value == 0) return value;
    char text[32];
    nvdp__snprintf(text, sizeof text, "%.2e", value);
    double rounded = nvdp__strtod(text, NULL);
    if (rounded >= value) return rounded;
    double step = pow(10, floor(log10(fabs(value))) - 2);
    nvdp__snprintf(text, sizeof text, "%.2e", rounded + step);
    return nvdp__strtod(text, NULL);
}

double nvdp__public_bound(double value) {
    char text[NVDP__BOUND_TEXT];
    return nvdp__strtod(nvdp__bound(text, value, NVDP__UP), NULL);
}

/* --- the guarantee --- */

const char *const nvdp__training_names[] = {[NVDP__TRAINING_MAYBE] = "maybe",
                                            [NVDP__TRAINING_SOME] = "some",
                                            [NVDP__TRAINING_ALL] = "all",
                                            NULL};

bool nvdp__names_most(const struct nvdp_linkage *linkage) {
    enum { FEWEST = 100 };
    return linkage->texts >= FEWEST && linkage->first > 0.5;
}

/* Writes the guarantee of a file whose guarantee is useful, in the words used for runs. */
static nvdp_status write_proven(struct nvdp_context *ctx, double epsilon, uint64_t samples,
                                struct nvdp__release_facts *facts) {
    struct nvdp_guarantee of = NVDP_RESULT(struct nvdp_guarantee);
    char *line = NULL;
    of.noise = true;
    of.epsilon = epsilon;
    of.delta = facts->certificate.delta;
    of.releases = (size_t)samples;
    of.training_epsilon = facts->private_training ? INFINITY : NAN;
    NVDP_RETURN_IF_FAILED(nvdp_guarantee_line(ctx, &of, &line));
    nvdp__snprintf(facts->guarantee, sizeof facts->guarantee, "%s", line);
    free(line);
    return NVDP_OK;
}

nvdp_status nvdp__release_guarantee(struct nvdp_context *ctx, struct nvdp__release_facts *facts) {
    const bool more = facts->counted && facts->spent.again > 0;
    const uint64_t samples = more ? facts->spent.samples : facts->samples;
    const double epsilon = !facts->certified ? INFINITY
                           : more            ? facts->spent.epsilon
                                             : facts->certificate.epsilon;
    const char *named = facts->named
                            ? "; someone who has the model and these texts names the right "
                              "one for more than half of the samples"
                            : "";
    char bound[NVDP__BOUND_TEXT], of[NVDP__SAMPLES_TEXT];
    facts->useful = epsilon <= NVDP_USEFUL_EPSILON && !facts->named;
    if (facts->useful) return write_proven(ctx, epsilon, samples, facts);
    char *line = facts->guarantee;
    if (facts->insecure_seed)
        nvdp__snprintf(
            line, NVDP_GUARANTEE_SIZE,
            "No guarantee: the noise comes from a seed, and whoever knows the seed can remove "
            "the noise%s.",
            named);
    else if (isinf(epsilon))
        nvdp__snprintf(
            line, NVDP_GUARANTEE_SIZE, "No guarantee over all texts: nothing is proven of %s%s.",
            facts->certified ? "other samples of these texts that the sender's ledger counts"
                             : "these samples",
            named);
    else
        nvdp__snprintf(
            line, NVDP_GUARANTEE_SIZE,
            "No useful guarantee: epsilon %s at delta %g, %s, is proven for any two texts%s.",
            nvdp__bound(bound, epsilon, NVDP__UP), facts->certificate.delta,
            nvdp__samples_text((size_t)samples, of), named);
    return NVDP_OK;
}

/* --- the sentences of the statement --- */

static const char *number(double value, char text[32]) {
    if (isinf(value)) {
        nvdp__snprintf(text, 32, "infinite");
    } else {
        nvdp__snprintf(text, 32, "%.3g", nvdp__public_number(value));
    }
    return text;
}

static void append_contents(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    const struct nvdp__nvib_config *nvib = &facts->info->nvib;
    nvdp__append(writer, "%zu random sample%s of each of %zu texts, drawn by mechanism %s. ",
                 facts->samples, facts->samples == 1 ? "" : "s", facts->texts,
                 nvdp_method_name(facts->info->method));
    if (facts->form.single) {
        nvdp__append(writer,
                     "A sample is one vector of the whole text, whose length does not show. ");
    } else if (nvib->length_policy == NVDP_LENGTH_HIDDEN) {
        nvdp__append(
            writer,
            "Lengths are hidden up to %zu tokens, special tokens included; longer texts are cut. ",
            nvib->length);
    } else {
        nvdp__append(writer, "Lengths are public. ");
    }
    nvdp__append(
        writer,
        "The number and order of the texts, their row numbers and splits%s are public, and no part "
        "of the numbers below. ",
        facts->labels ? ", and their exact labels" : "");
}

static const char *shared_parts(const struct nvdp__form *form) {
    if (form->weights) return "weights and vectors together";
    return form->single ? "its vector" : "all vectors together";
}

static void append_measured(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    const struct nvdp_privacy_report *report = &facts->privacy;
    const struct nvdp_pairs_summary *pairs = &report->pairs;
    char a[32], b[32];
    if (!facts->measured) {
        nvdp__append(writer, "No divergence was measured. ");
        return;
    }
    if (!facts->publish) {
        nvdp__append(writer,
                     "What was measured of these texts is told to their owner alone: numbers that "
                     "are computed from texts without noise help to tell which texts they are. ");
        return;
    }
    char sentence[NVDP_LINKAGE_SENTENCE];
    nvdp_linkage_sentence(&report->linkage, sentence);
    nvdp__append(
        writer,
        "Measured, not proven: s%s Over all ordered pairs of %zu of the texts, the Renyi "
        "divergence of order %g of one sample of a text, %s, is at most %s and on average %s nats",
        sentence + 1, pairs->texts, pairs->order, shared_parts(&facts->form),
        number(pairs->sum.max, a), number(pairs->sum.mean, b));
    if (pairs->infinite > 0)
        nvdp__append(writer, " (%s%% of the pairs infinite)",
                     number(100 * (double)pairs->infinite / (double)pairs->pairs, a));
    if (facts->samples > 1)
        nvdp__append(writer, "; %zu releases of a text together: %zu times that, at most %s",
                     facts->samples, facts->samples,
                     number((double)facts->samples * pairs->sum.max, a));
    nvdp__append(
        writer,
        ". Bayesian DP of all samples of a text, best moment, worst of the measured texts: epsilon "
        "%s at delta %g%s. ",
        number(report->best.worst.epsilon, a), facts->delta,
        report->small_population ? " (too few texts to trust)" : "");
    nvdp__append(
        writer,
        "These numbers hold for these texts, are no bound for others, and are published "
        "without noise, rounded up: to who knows the encoder and some of the texts they help to "
        "tell the others. Another file of the same texts, or a text that occurs "
        "twice, adds to them. ");
}

double nvdp__release_bound(const struct nvdp__release_facts *facts) {
    return nvdp__method_bound(facts->info->method, &facts->info->nvib, facts->bound_order);
}

static void append_bound(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    const struct nvdp__clip_config *clip = &facts->info->nvib.clip;
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    if (!nvdp__clips_sequence(clip)) {
        if (!facts->certified) nvdp__append(writer, "No worst-case bound is claimed. ");
        return;
    }
    double bound = nvdp__release_bound(facts);
    double vectors = nvdp_renyi_sequence_bound(facts->bound_order, clip->sequence);
    nvdp__append(
        writer,
        "%s in one sample no two texts, measured or not, are "
        "more than %s nats apart at order %g%s, since all means of a text together have norm %s at "
        "most and every variance is 1. ",
        facts->insecure_seed   ? "Would hold with noise from the operating system's generator:"
        : facts->grids != NULL ? "Proven:"
                               : "Proven, but for the rounding of numbers:",
        nvdp__bound(a, vectors, NVDP__UP), facts->bound_order,
        isinf(bound) ? " by the vectors; what the weights tell, within the bounds on "
                       "pseudo-counts, comes on top and is not in this bound"
                     : "",
        nvdp__bound(b, clip->sequence, NVDP__UP));
}

/* Counts samples in other files, and in other rows of this file. */
static void append_count(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    char bound[NVDP__BOUND_TEXT];
    const struct nvdp__spent *spent = &facts->spent;
    if (!facts->counted) {
        nvdp__append(writer,
                     "No ledger counts this file: other files of these texts may exist, and "
                     "all samples of a text add up. ");
        return;
    }
    nvdp__append(writer, "By its sender's ledger %s of these texts %s shared before",
                 spent->again > 0 ? "some" : "none", spent->again > 0 ? "were" : "was");
    if (spent->samples > facts->samples)
        nvdp__append(writer, "; %s has up to %" PRIu64 " samples",
                     spent->again > 0 ? "with this file a text" : "a text that is in several rows",
                     spent->samples);
    if (spent->samples > facts->samples && isfinite(spent->epsilon))
        nvdp__append(writer, ", which together have epsilon %s at delta %g",
                     nvdp__bound(bound, spent->epsilon, NVDP__UP), NVDP__LEDGER_DELTA);
    else if (spent->samples > facts->samples)
        nvdp__append(writer, ", and nothing is proven of them together");
    nvdp__append(writer, ". ");
}

double nvdp__release_weights_distance(const struct nvdp__release_facts *facts) {
    double prior = facts->form.prior_alpha / facts->form.kappa;
    return nvdp__public_number((double)facts->samples *
                               nvdp__release_distance(&facts->grids->log_pi, facts->rows, prior));
}

/* States that no number covers the training texts. */
static void append_training(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    nvdp__append(writer, "All of this is about what a sample tells of its own text. ");
    if (facts->training == NVDP__TRAINING_ALL)
        nvdp__append(writer, "These texts are of split train, on which the encoder was trained. ");
    else if (facts->training == NVDP__TRAINING_SOME)
        nvdp__append(writer, "Some of these texts are of split train, on which the encoder was "
                             "trained. ");
    else
        nvdp__append(writer,
                     "The encoder was trained on texts of task %s, and some of these may be among "
                     "them. ",
                     facts->info->task.name);
    nvdp__append(
        writer,
        "No number here, and no certificate, covers what the encoder learned from a text that it "
        "was trained on: the model, if it is given away or attacked, may reveal such texts, and so "
        "may samples of other texts. Only training with differential privacy limits that, and %s. ",
        facts->private_training
            ? "this training was differentially private with respect to its train texts, as a "
              "statement of its owner says; what the model knew before it began is not part of it"
            : "this encoder was not trained with differential privacy");
}

static void append_noise(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    if (facts->insecure_seed) {
        nvdp__append(
            writer,
            "INSECURE: the noise comes from a seed. Who knows it can remove the noise; two files "
            "with one seed reveal differences to anyone.");
    } else {
        nvdp__append(writer,
                     "The noise comes from the operating system's generator and was not kept.");
    }
    char text[NVDP__BOUND_TEXT];
    const struct nvdp__release_grids *grids = facts->grids;
    if (grids == NULL) {
        nvdp__append(writer,
                     " Noise was added in double, values then rounded to float16. Normals of a "
                     "floating-point generator end, here at 8.57 standard deviations: far out "
                     "there are values that one text can have and another cannot, which the "
                     "numbers above leave out.");
        return;
    }
    if (facts->insecure_seed) return;
    nvdp__append(
        writer,
        " Noise is exact: what a value is rounded to, a multiple of %.12g for every text, has "
        "the probability that the Gaussian gives it, however far out.",
        ldexp(1, grids->z.exponent));
    if (facts->form.weights)
        nvdp__append(writer,
                     " The weights' draws are within %s of a Dirichlet's in total variation, which "
                     "adds (1 + e^epsilon) times that to a delta.",
                     nvdp__bound(text, nvdp__release_weights_distance(facts), NVDP__UP));
}

void nvdp__statement_opening(const struct nvdp__release_facts *facts, size_t size, char *out) {
    struct nvdp__writer writer = {.out = out, .size = size};
    out[0] = '\0';
    nvdp__append(&writer, "%s ", facts->guarantee);
    append_contents(&writer, facts);
}

void nvdp__statement_middle(const struct nvdp__release_facts *facts, size_t size, char *out) {
    struct nvdp__writer writer = {.out = out, .size = size};
    out[0] = '\0';
    append_measured(&writer, facts);
}

void nvdp__statement_closing(const struct nvdp__release_facts *facts, size_t size, char *out) {
    struct nvdp__writer writer = {.out = out, .size = size};
    out[0] = '\0';
    append_bound(&writer, facts);
    if (facts->certified) nvdp__append(&writer, "%s ", facts->proof);
    append_count(&writer, facts);
    append_training(&writer, facts);
    append_noise(&writer, facts);
}

void nvdp__statement(const struct nvdp__release_facts *facts, size_t size, char *out) {
    nvdp__statement_opening(facts, size, out);
    size_t used = strlen(out);
    nvdp__statement_middle(facts, size - used, out + used);
    used += strlen(out + used);
    nvdp__statement_closing(facts, size - used, out + used);
}

nvdp_status nvdp__release_certify(struct nvdp_context *ctx, struct nvdp__release_facts *facts) {
    static const double delta = 1e-5;
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    struct nvdp_certificate made = NVDP_RESULT(struct nvdp_certificate);
    char *proof = NULL;
    options.bdp.delta = delta;
    options.bdp.releases = (int)facts->samples;
    facts->certified = false;
    if (facts->grids == NULL || facts->insecure_seed) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__certify(ctx, &facts->limits, &options, &nvdp__remedies, &made));
    facts->certificate = made;
    if (made.theorem == NVDP_THEOREM_NONE) return NVDP_OK;
    if (facts->form.weights && /* the addition of their sampler to delta must be negligible */
        !((1 + exp(made.epsilon)) * nvdp__release_weights_distance(facts) <= delta / 1000))
        return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp_certificate_statement(ctx, &made, &proof));
    nvdp__snprintf(facts->proof, sizeof facts->proof, "%s", proof);
    free(proof);
    facts->certified = true;
    return NVDP_OK;
}
