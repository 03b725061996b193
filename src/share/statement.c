/* Computes the certificate and the guarantee of a release, and writes its statement in plain English, for nvdp
 * export and nvdp verify.  The order: published numbers, guarantee, sentences, certificate. */
#include "share/statement.h"
#include "mechanism/method.h"
#include "share/query.h"

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
    return nvdp__strtod(nvdp__bound(text, value), NULL);
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
    if (facts->word_useful) of.word = facts->word;
    of.training_epsilon = isnan(facts->training_epsilon) ? NAN : INFINITY;
    NVDP_RETURN_IF_FAILED(nvdp_guarantee_line(ctx, &of, &line));
    nvdp__snprintf(facts->guarantee, sizeof facts->guarantee, "%s", line);
    free(line);
    return NVDP_OK;
}

bool nvdp__counts_more(const struct nvdp__release_facts *facts) {
    return facts->counted && facts->spent.samples > facts->samples;
}

static uint64_t all_samples(const struct nvdp__release_facts *facts) {
    return nvdp__counts_more(facts) ? facts->spent.samples : facts->samples;
}

double nvdp__word_sample_mu(const struct nvdp__release_facts *facts) {
    const struct nvdp_word_claim *word = &facts->certificate.word;
    return facts->certified && word->holds ? word->mu / sqrt((double)facts->samples) * (1 + 0x1p-50)
                                           : 0;
}

static void write_word_guesses(const void *facts, FILE *to) {
    const struct nvdp__release_facts *of = facts;
    if (of->word.holds) nvdp__write_word(&of->word, (size_t)all_samples(of), !of->useful, to);
}

/* Sets the claim per word for all samples of a text that the ledger counts. Together they are Gaussian with this mu
 * (Dong, Roth & Su 2022). Each release has a reference within half of its mu, which does not depend on the word: M_0, or
 * the center of the ball (rdp/word.h). All references together are within the root of the sum of the squares, mu/2. K
 * adjacent words are K changes of one word, with at most K mu, and min(c(2r + K), C) is at most K min(cR, C). */
static nvdp_status claim_word(struct nvdp_context *ctx, struct nvdp__release_facts *facts) {
    struct nvdp_word_claim *word = &facts->word;
    char *text = NULL;
    *word = facts->certified ? facts->certificate.word : (struct nvdp_word_claim){.holds = false};
    if (word->holds && nvdp__counts_more(facts)) {
        word->mu = facts->spent.word_mu;
        word->holds = isfinite(word->mu);
        word->epsilon = word->holds ? nvdp_gdp_epsilon(word->mu, word->delta) : INFINITY;
        word->phrase_mu = NVDP_PHRASE_WORDS * word->mu;
        word->phrase_epsilon = nvdp_gdp_epsilon(word->phrase_mu, word->delta);
        if (word->delta >= NVDP__LEDGER_DELTA) { /* what holds for any two texts holds for these */
            word->epsilon = fmin(word->epsilon, facts->spent.epsilon);
            word->phrase_epsilon = fmin(word->phrase_epsilon, facts->spent.epsilon);
        }
        for (size_t i = 0; i < word->guesses; i++) {
            const double baseline = word->guess[i].baseline;
            word->guess[i].bound = nvdp_guess_bound(baseline, word->mu / 2, 1, 0);
            word->phrase_guess[i].bound = nvdp_guess_bound(baseline, word->phrase_mu / 2, 1, 0);
        }
    }
    facts->word_useful = nvdp__word_is_useful(word);
    NVDP_RETURN_IF_FAILED(nvdp__printed(ctx, write_word_guesses, facts, &text));
    nvdp__snprintf(facts->word_guesses, sizeof facts->word_guesses, "%s", text);
    free(text);
    return NVDP_OK;
}

nvdp_status nvdp__release_guarantee(struct nvdp_context *ctx, struct nvdp__release_facts *facts) {
    const bool more = nvdp__counts_more(facts);
    const uint64_t samples = all_samples(facts);
    const double epsilon = !facts->certified ? INFINITY
                           : more            ? facts->spent.epsilon
                                             : facts->certificate.epsilon;
    const char *named = facts->named
                            ? "; someone who has the model and these texts names the right "
                              "one for more than half of the samples"
                            : "";
    char bound[NVDP__BOUND_TEXT], of[NVDP__SAMPLES_TEXT], word[NVDP__WORD_TEXT];
    facts->useful = epsilon <= NVDP_USEFUL_EPSILON && !facts->named;
    NVDP_RETURN_IF_FAILED(claim_word(ctx, facts));
    if (facts->useful) return write_proven(ctx, epsilon, samples, facts);
    char *line = facts->guarantee;
    if (facts->word_useful)
        nvdp__snprintf(line, NVDP_GUARANTEE_SIZE,
                       "%s No guarantee for a text as a whole, which may be recognized%s.",
                       nvdp__word_text(&facts->word, (size_t)samples, word), named);
    else if (facts->insecure_seed)
        nvdp__snprintf(
            line, NVDP_GUARANTEE_SIZE,
            "No guarantee: the noise comes from a seed, and whoever knows the seed can remove "
            "the noise%s.",
            named);
    else if (isinf(epsilon))
        nvdp__snprintf(
            line, NVDP_GUARANTEE_SIZE, "No guarantee over all texts: nothing is proven of %s%s.",
            facts->certified ? "the samples of a text together that the sender's ledger counts"
                             : "these samples",
            named);
    else
        nvdp__snprintf(
            line, NVDP_GUARANTEE_SIZE,
            "No useful guarantee: epsilon %s at delta %g, %s, is proven for any two texts%s.",
            nvdp__bound(bound, epsilon), facts->certificate.delta, nvdp__samples_text(samples, of),
            named);
    return NVDP_OK;
}

double nvdp__release_exposed(const struct nvdp__release_facts *facts) {
    const double texts = facts->certified ? facts->certificate.delta * (double)facts->texts : 0;
    return texts >= 1 ? texts : 0;
}

/* --- the lines of the statement --- */

static const char *number(double value, char text[32]) {
    if (isinf(value)) {
        nvdp__snprintf(text, 32, "infinite");
    } else {
        nvdp__snprintf(text, 32, "%.3g", nvdp__public_number(value));
    }
    return text;
}

double nvdp__release_bound(const struct nvdp__release_facts *facts) {
    return nvdp__method_bound(facts->info->method, &facts->info->nvib, facts->bound_order);
}

/* Adds what is proven beyond the first line: the guess bound, or, without a certificate, the bound of the clip. */
static void append_proof(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    const struct nvdp__clip_config *clip = &facts->info->nvib.clip;
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT], samples[NVDP__SAMPLES_TEXT],
        alone[NVDP__SAMPLES_TEXT + 24], proven[NVDP__PROVEN_TEXT];
    nvdp__snprintf(alone, sizeof alone, "%s, of one row of this file",
                   nvdp__samples_text(facts->samples, samples));
    if (facts->certified && nvdp__counts_more(facts))
        nvdp__append(
            writer, "%s\n",
            nvdp__proven_text(facts->certificate.epsilon, facts->certificate.delta, alone, proven));
    if (facts->certified && facts->certificate.word.holds &&
        (nvdp__counts_more(facts) || !facts->word_useful))
        nvdp__append(writer, "%s, of one row of this file: epsilon %s at delta %g, %s.\n",
                     nvdp__word_is_useful(&facts->certificate.word)
                         ? "Proven per word"
                         : "No useful guarantee per word; proven",
                     nvdp__bound(a, facts->certificate.word.epsilon), facts->certificate.word.delta,
                     nvdp__samples_text(facts->samples, samples));
    if (facts->word_useful && facts->word_guesses[0] != '\0')
        nvdp__append(writer, "%s\n", facts->word_guesses);
    if (facts->certified && facts->useful && facts->guesses[0] != '\0') {
        nvdp__append(writer, "%s", facts->guesses);
        if (facts->labels)
            nvdp__append(writer,
                         " A reader of this file has the labels without the samples: one of "
                         "N texts with two labels is named 2/N of the time without its "
                         "sample, not 1/N.");
        if (nvdp__counts_more(facts))
            nvdp__append(writer,
                         " These bounds are for one row of this file, not for all %" PRIu64
                         " samples of a text.",
                         facts->spent.samples);
        nvdp__append(writer, "\n");
    }
    if (facts->certified)
        nvdp__append(writer, "The proof assumes exact arithmetic, which our noise sampler "
                             "provides. The attacker may know the model.");
    if (nvdp__release_exposed(facts) > 0)
        nvdp__append(writer,
                     " Delta is for each text: for %zu texts, delta %g alone would allow %.3g of "
                     "them to be exposed on average. This mechanism publishes no text: a smaller "
                     "delta has a gradually larger epsilon.",
                     facts->texts, facts->certificate.delta, nvdp__release_exposed(facts));
    if (facts->certified) nvdp__append(writer, "\n");
    if (facts->certified || !nvdp__clips_sequence(clip)) return;
    nvdp__append(
        writer,
        "%s no two texts are more than %s nats apart in one sample, at order %g%s: all means of a "
        "text together have norm %s at most, and every variance is 1.\n",
        facts->insecure_seed   ? "With noise from the operating system's generator,"
        : facts->grids != NULL ? "Proven:"
                               : "Proven for exact arithmetic, which this file's noise lacks:",
        nvdp__bound(a, nvdp_renyi_sequence_bound(facts->bound_order, clip->sequence)),
        facts->bound_order,
        isinf(nvdp__release_bound(facts)) ? ", by its vectors (its weights are not covered)" : "",
        nvdp__bound(b, clip->sequence));
}

/* Names the numbers that the file has for searchers and receivers. */
static const char *public_numbers(const struct nvdp__query_map *query) {
#define FROM_PUBLIC(parts)                                                                         \
    "; also numbers computed from texts that the sender named as public (" parts                   \
    "), which no noise protects"
    return query->decoder != NULL ? FROM_PUBLIC("mean, map and decoder")
           : query->map != NULL   ? FROM_PUBLIC("mean and map")
                                  : FROM_PUBLIC("mean");
#undef FROM_PUBLIC
}

static void append_contents(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    const struct nvdp__nvib_config *nvib = &facts->info->nvib;
    const struct nvdp__method *method = nvdp__method_row(facts->info->method);
    nvdp__append(writer, "Contents: %zu random sample%s of each of %zu %s, drawn by mechanism %s. ",
                 facts->samples, facts->samples == 1 ? "" : "s", facts->texts,
                 facts->info->task.pair ? "pairs of texts" : "texts",
                 nvdp_method_name(facts->info->method));
    if (facts->info->task.pair)
        nvdp__append(writer, "All numbers here are about a pair as one text: the samples of all "
                             "pairs in which a text occurs add up. ");
    if (facts->form.single)
        nvdp__append(
            writer, "A sample is one vector, whatever the length of the text%s.\n",
            method->words ? "; its size may tell the length"
            : method->untrained
                ? ". Whoever guesses a text can compute its vector without noise, compare, "
                  "and so check the guess, as far as the noise allows"
                : "");
    else if (nvib->length_policy == NVDP_LENGTH_HIDDEN)
        nvdp__append(writer,
                     "Lengths are hidden up to %zu tokens, special tokens included; longer texts "
                     "are cut.\n",
                     nvib->length);
    else
        nvdp__append(writer, "Lengths are public.\n");
    nvdp__append(writer,
                 "Public, and covered by no number here: the number and order of the texts, their "
                 "row numbers and splits%s%s%s%s.%s\n",
                 facts->labels ? ", and their exact labels" : "",
                 facts->counted ? "; also whether some are equal or were shared before" : "",
                 facts->spent.persons > 0
                     ? "; also the number of persons, and how many texts and samples one has"
                     : "",
                 facts->query != NULL ? public_numbers(facts->query) : "",
                 facts->query == NULL ? ""
                 : facts->query->independent
                     ? " The owner declares that the public texts were chosen independently of the "
                       "private texts; they were not compared."
                     : " None of the public texts is among the texts of this file.");
}

/* States what is proven of all texts of a person. */
static void append_persons(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    char bound[NVDP__BOUND_TEXT];
    struct nvdp_persons person;
    nvdp__spent_persons(&facts->spent, &person);
    nvdp__append(writer,
                 " The guarantee above is about %s. In all files that this ledger counts so far, "
                 "each of the %zu persons of this file has at most %" PRIu64 " text%s with %" PRIu64
                 " sample%s together. ",
                 !facts->word_useful ? "one text"
                 : facts->useful     ? "one word of a text, and about one text"
                                     : "one word of a text",
                 person.persons, person.texts, person.texts == 1 ? "" : "s", person.samples,
                 person.samples == 1 ? "" : "s");
    if (isfinite(person.epsilon))
        nvdp__append(writer,
                     "Proven for one person, all their texts together, each in place of any other "
                     "text: epsilon %s at delta %g",
                     nvdp__bound(bound, person.epsilon), person.delta);
    else
        nvdp__append(writer, "Nothing is proven of all texts of a person together");
    for (size_t i = 0; i < person.guesses && isfinite(person.epsilon); i++)
        nvdp__append(writer, "%s%.4g %% of the time without them is right at most %s with them%s",
                     i == 0 ? ". A guess about a person that is right " : "; ",
                     100 * person.guess[i].baseline,
                     nvdp__share_bound(bound, person.guess[i].bound),
                     i + 1 < person.guesses ? "" : ", on average over persons and noise");
    nvdp__append(writer,
                 ". The sender named the persons. A text without a name counts as a person of "
                 "its own: it is missing above if another person wrote it, unless a file "
                 "of the ledger says so.");
}

/* Counts samples in other files, in other rows of this file, and by person. */
static void append_count(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    char text[NVDP__SPENT_TEXT];
    const struct nvdp__spent *spent = &facts->spent;
    if (!facts->counted) {
        nvdp__append(writer,
                     "No ledger counts this file: a text may be in several of its rows, and "
                     "in other files. All samples of a text add up.\n");
        return;
    }
    nvdp__append(writer, "By its sender's ledger %s of these texts %s shared before",
                 spent->seen_before > 0 ? "some" : "none", spent->seen_before > 0 ? "were" : "was");
    if (nvdp__counts_more(facts))
        nvdp__append(writer, "; %s has up to %" PRIu64 " samples",
                     spent->seen_before > 0 ? "with this file a text"
                                            : "a text that is in several rows",
                     spent->samples);
    if (nvdp__counts_more(facts) && isfinite(spent->epsilon))
        nvdp__append(writer, ", which together have %s",
                     nvdp__spent_text(spent->epsilon,
                                      nvdp__word_sample_mu(facts) > 0
                                          ? nvdp__spent_word_epsilon(spent)
                                          : spent->epsilon,
                                      text));
    else if (nvdp__counts_more(facts))
        nvdp__append(writer, ", and nothing is proven of them together");
    nvdp__append(writer, ".");
    if (spent->persons > 0) append_persons(writer, facts);
    nvdp__append(writer, "\n");
}

double nvdp__release_weights_distance(const struct nvdp__release_facts *facts) {
    double prior = facts->form.prior_alpha / facts->form.kappa;
    return nvdp__public_number((double)facts->samples *
                               nvdp__release_distance(&facts->grids->log_pi, facts->rows, prior));
}

/* States that no number covers the training texts. */
static void append_training(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    char epsilon[NVDP__BOUND_TEXT], delta[NVDP__BOUND_TEXT];
    nvdp__append(writer, "Not covered: what the encoder reveals about its training texts. ");
    if (nvdp__method_row(facts->info->method)->untrained) {
        nvdp__append(writer, "It was not trained for this file; what it was trained on before, and "
                             "how privately, is not known here, and some of these texts may be "
                             "among it.\n");
        return;
    }
    if (facts->training == NVDP__TRAINING_MAYBE)
        nvdp__append(writer, "It was trained on task %s, maybe on some of these texts. ",
                     facts->info->task.name);
    else
        nvdp__append(writer, "%s. ",
                     facts->training == NVDP__TRAINING_ALL
                         ? "It was trained on these texts, which are of split train"
                         : "It was trained on some of these texts, which are of split train");
    if (isnan(facts->training_epsilon))
        nvdp__append(writer, "Only training with differential privacy limits that, and this "
                             "encoder was not trained so.\n");
    else
        nvdp__append(writer,
                     "Only training with differential privacy limits that. Its owner states that "
                     "this encoder was trained so, with epsilon %s at delta %s for one training "
                     "example (zero-out, " NVDP__EXACT_ARITHMETIC(
                         "the training's") "); what it knew "
                                           "before is not part of that.\n",
                     nvdp__bound(epsilon, facts->training_epsilon),
                     nvdp__bound(delta, facts->training_delta));
}

static void append_noise(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    char text[NVDP__BOUND_TEXT];
    const struct nvdp__release_grids *grids = facts->grids;
    if (facts->insecure_seed)
        nvdp__append(writer, "INSECURE: the noise comes from a seed. Who knows it can remove the "
                             "noise; two files with one seed reveal differences to anyone.");
    else
        nvdp__append(writer, "The noise comes from the operating system's generator and was not "
                             "kept.");
    if (grids == NULL) {
        nvdp__append(writer,
                     " It was added in floating point and ends at 8.57 standard deviations: "
                     "beyond them, some values are possible for one text and not for "
                     "another, which no number here includes.");
    } else if (!facts->insecure_seed) {
        nvdp__append(
            writer,
            " Released values are exact Gaussian draws rounded to a grid of %.3g; rounding "
            "reveals nothing.",
            ldexp(1, grids->z.exponent));
        if (facts->form.weights)
            nvdp__append(writer,
                         " The error of the weight sampler is at most %s in total variation.",
                         nvdp__bound(text, nvdp__release_weights_distance(facts)));
    }
    nvdp__append(writer, "\n");
}

void nvdp__statement_computed(const struct nvdp__release_facts *facts, size_t size, char *out) {
    struct nvdp__writer writer = {.out = out, .size = size};
    out[0] = '\0';
    nvdp__append(&writer, "%s\n", facts->guarantee);
    append_proof(&writer, facts);
    append_contents(&writer, facts);
    append_count(&writer, facts);
    append_training(&writer, facts);
    append_noise(&writer, facts);
}

const char nvdp__measured_words[] = "Measured on these texts, not proven for others: s";

double nvdp__public_infinite_share(const struct nvdp_pairs_summary *pairs) {
    return pairs->pairs > 0 ? nvdp__public_number((double)pairs->infinite / (double)pairs->pairs)
                            : 0;
}

static const char *shared_parts(const struct nvdp__form *form) {
    if (form->weights) return "weights and vectors together";
    return form->single ? "its vector" : "all vectors together";
}

void nvdp__statement_divergences(const struct nvdp__release_facts *facts, double infinite_share,
                                 size_t size, char *out) {
    struct nvdp__writer made = {.out = out, .size = size}, *writer = &made;
    const struct nvdp_privacy_report *report = &facts->privacy;
    const struct nvdp_pairs_summary *pairs = report->pairs;
    const double max = nvdp__public_number(pairs->sum.max);
    char a[32], b[32];
    out[0] = '\0';
    nvdp__append(
        writer,
        " The Renyi divergence of order %g between two of %zu texts (one sample, %s) is at "
        "most %s and on average %s nats",
        pairs->order, pairs->texts, shared_parts(&facts->form), number(max, a),
        number(pairs->sum.mean, b));
    if (infinite_share > 0)
        nvdp__append(writer, " (%.3g%% of the pairs infinite)", 100 * infinite_share);
    if (facts->samples > 1)
        nvdp__append(writer, "; of %zu samples at most %s", facts->samples,
                     number((double)facts->samples * max, a));
    nvdp__append(writer,
                 ". Bayesian DP of the worst text: epsilon %s at delta %g%s. These numbers are "
                 "rounded up and have no noise: to a reader who knows some of the texts they help "
                 "to identify the others.",
                 number(report->best->worst.epsilon, a), facts->delta,
                 report->small_population ? " (too few texts to trust)" : "");
}

void nvdp__statement_measured(const struct nvdp__release_facts *facts, size_t size, char *out) {
    struct nvdp__writer writer = {.out = out, .size = size};
    char sentence[NVDP_LINKAGE_SENTENCE];
    out[0] = '\0';
    if (!facts->measured || !facts->publish) {
        nvdp__append(&writer, facts->measured
                                  ? "What was measured on these texts is not published: numbers "
                                    "that are computed without noise help to identify the texts."
                                  : "Nothing was measured on these texts.");
        return;
    }
    nvdp_linkage_sentence(facts->privacy.linkage, sentence);
    nvdp__append(&writer, "%s%s", nvdp__measured_words, sentence + 1);
    nvdp__statement_divergences(facts, nvdp__public_infinite_share(facts->privacy.pairs),
                                size - writer.used, out + writer.used);
}

void nvdp__statement(const struct nvdp__release_facts *facts, size_t size, char *out) {
    nvdp__statement_computed(facts, size, out);
    const size_t used = strlen(out);
    nvdp__statement_measured(facts, size - used, out + used);
}

/* --- the certificate --- */

static void write_guesses(const void *certificate, FILE *to) {
    const struct nvdp_certificate *of = certificate;
    if (of->guesses > 0)
        nvdp__write_guesses((size_t)of->releases, of->radius, of->guesses, of->guess, to);
}

nvdp_status nvdp__release_certify(struct nvdp_context *ctx, struct nvdp__release_facts *facts) {
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    struct nvdp_certificate made = NVDP_RESULT(struct nvdp_certificate);
    char *text = NULL;
    options.bdp.delta = NVDP__LEDGER_DELTA;
    options.bdp.releases = (int)facts->samples;
    facts->certified = false;
    if (facts->grids == NULL || facts->insecure_seed) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__certify(ctx, &facts->limits, &options, &nvdp__remedies, &made));
    facts->certificate = made;
    if (made.theorem == NVDP_THEOREM_NONE) return NVDP_OK;
    if (facts->form.weights &&
        !nvdp__distance_negligible(made.epsilon, nvdp__release_weights_distance(facts),
                                   NVDP__LEDGER_DELTA))
        return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__printed(ctx, write_guesses, &made, &text));
    nvdp__snprintf(facts->guesses, sizeof facts->guesses, "%s", text);
    free(text);
    facts->certified = true;
    return NVDP_OK;
}
