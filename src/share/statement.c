/* Computes the certificate and the guarantee of a release, and writes its statement in plain English, for nvdp
 * export and nvdp verify.  The order: published numbers, guarantee, sentences, certificate. */
#include "share/statement.h"
#include "mechanism/mechanism.h"
#include "rdp/report.h"
#include "share/release.h"
#include "share/summarize.h"

#include "base/sentence.h"
#include "mechanism/bottleneck_options.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "rdp/options.h"
#include <inttypes.h>
#include <limits.h>
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
    return nvdp__strtod(nvdp__bound(value).text, NULL);
}

/* --- the guarantee --- */

const char *const nvdp__training_names[] = {[NVDP__TRAINING_MAYBE] = "maybe",
                                            [NVDP__TRAINING_SOME] = "some",
                                            [NVDP__TRAINING_ALL] = "all",
                                            NULL};

enum nvdp__training nvdp__determine_training(size_t train, size_t texts) {
    return train == 0       ? NVDP__TRAINING_MAYBE
           : train == texts ? NVDP__TRAINING_ALL
                            : NVDP__TRAINING_SOME;
}

const char *nvdp__release_unit(const struct nvdp__release_facts *facts) {
    return facts->summary != NULL ? nvdp__unit_name(facts->summary)
           : facts->persons       ? "person"
                                  : "text";
}

double nvdp__word_sample_mu(const struct nvdp__release_facts *facts) {
    const struct nvdp_word_claim *word = &facts->certificate.word;
    return facts->certified && word->holds ? word->mu / sqrt((double)facts->samples) * (1 + 0x1p-50)
                                           : 0;
}

static void write_word_guesses(const void *facts, FILE *to) {
    const struct nvdp__release_facts *of = facts;
    if (of->word_useful) nvdp__write_word(&of->certificate.word, of->samples, !of->useful, to);
}

/* Writes the guarantee of a certificate whose samples are of persons. */
static void write_person_guarantee(struct nvdp__release_facts *facts) {
    const struct nvdp_certificate *made = &facts->certificate;
    struct nvdp__writer to = {.out = facts->guarantee, .size = sizeof facts->guarantee};
    nvdp__append(&to,
                 "%s: epsilon %s at delta %s%s, %s, for the replacement of any one person of %zu, "
                 "all rows included",
                 facts->useful ? "Proven" : "No useful guarantee", nvdp__bound(made->epsilon).text,
                 nvdp__bound(made->delta).text, facts->useful ? "" : " is proven",
                 nvdp__samples_text(facts->samples).text, facts->texts);
    if (!facts->useful && made->named_bound > NVDP_USEFUL_NAMED)
        nvdp__append(&to,
                     "; somebody who has the encoder and %d equally likely collections of rows for "
                     "a person may name the right one more than half of the time (at most %s)",
                     NVDP_USEFUL_CANDIDATES, nvdp__share_bound(made->named_bound).text);
    nvdp__append(&to, ".");
}

nvdp_status nvdp__release_guarantee(struct nvdp_context *ctx, struct nvdp__release_facts *facts) {
    const struct nvdp_certificate *made = &facts->certificate;
    nvdp__autofree char *text = NULL, *useful = NULL;
    char *line = facts->guarantee;
    if (facts->summary != NULL) {
        nvdp__summary_guarantee(facts);
        return NVDP_OK;
    }
    facts->useful = facts->certified && nvdp__is_useful(made->epsilon, made->named_bound);
    facts->word_useful = facts->certified && nvdp__word_is_useful(&made->word);
    NVDP_TRY(nvdp__printed(ctx, write_word_guesses, facts, &text));
    nvdp__snprintf(facts->word_guesses, sizeof facts->word_guesses, "%s", text);
    if (facts->persons && facts->certified)
        write_person_guarantee(facts);
    else if (facts->useful) { /* in the words used for runs */
        const struct nvdp_guarantee of = {
            .struct_size = sizeof of,
            .noise = true,
            .epsilon = made->epsilon,
            .delta = made->delta,
            .named_bound = made->named_bound,
            .releases = facts->samples,
            .word = facts->word_useful ? made->word : (struct nvdp_word_claim){0},
            .training_epsilon = isnan(facts->training_epsilon) ? NAN : INFINITY};
        NVDP_TRY(nvdp_guarantee_line(ctx, &of, &useful));
        nvdp__snprintf(line, NVDP_GUARANTEE_SIZE, "%s", useful);
    } else if (facts->word_useful)
        nvdp__snprintf(line, NVDP_GUARANTEE_SIZE,
                       "%s No useful guarantee for a text as a whole, which may be recognized.",
                       nvdp__word_text(&made->word, facts->samples).text);
    else if (facts->insecure_seed)
        nvdp__snprintf(
            line, NVDP_GUARANTEE_SIZE,
            "No guarantee: the noise comes from a seed, and whoever knows the seed can remove "
            "the noise.");
    else if (!facts->certified || isinf(made->epsilon))
        nvdp__snprintf(line, NVDP_GUARANTEE_SIZE,
                       "No guarantee over all texts: nothing is proven of these samples.");
    else
        nvdp__snprintf(line, NVDP_GUARANTEE_SIZE, "%s",
                       nvdp__proven_text(made->epsilon, made->delta, made->named_bound,
                                         nvdp__samples_text(facts->samples).text)
                           .text);
    return NVDP_OK;
}

double nvdp__release_exposed(const struct nvdp__release_facts *facts) {
    const double texts = facts->certified ? facts->certificate.delta * (double)facts->texts : 0;
    return texts >= 1 ? texts : 0;
}

bool nvdp__spent_is_useful(const struct nvdp__spent *spent, bool per_word) {
    const bool gaussian = isfinite(spent->mu);
    if (per_word)
        return nvdp__is_useful(nvdp__spent_word_epsilon(spent),
                               nvdp__named_bound(spent->word_radius, 1, 0));
    return nvdp__is_useful(spent->epsilon, nvdp__older_named_bound(
                                               gaussian ? NVDP_THEOREM_SEQUENCE : NVDP_THEOREM_NONE,
                                               gaussian ? spent->radius : NAN, 1, 0, spent->epsilon,
                                               NVDP__LEDGER_DELTA));
}

/* --- sums of a ledger in words --- */

bool nvdp__distance_negligible(double epsilon, double distance, double delta) {
    return distance == 0 || (1 + exp(epsilon)) * distance <= delta / 1000;
}

double nvdp__spent_word_epsilon(const struct nvdp__spent *spent) {
    return isfinite(spent->word_mu)
               ? fmin(nvdp_gdp_epsilon(spent->word_mu, NVDP__LEDGER_DELTA), spent->epsilon)
               : spent->epsilon;
}

const char *nvdp__spent_text(double epsilon, double word, char text[NVDP__SPENT_TEXT]) {
    const bool less = word < epsilon * (1 - 1e-9);
    nvdp__snprintf(text, NVDP__SPENT_TEXT, "epsilon %s at delta %g%s%s%s",
                   nvdp__bound(epsilon).text, NVDP__LEDGER_DELTA, less ? " (per word " : "",
                   less ? nvdp__bound(word).text : "", less ? ")" : "");
    return text;
}

/* --- the lines of the statement --- */

static const char *number(double value, char text[32]) {
    nvdp__snprintf(text, 32, isinf(value) ? "infinite" : "%.3g", nvdp__public_number(value));
    return text;
}

double nvdp__release_bound(const struct nvdp__release_facts *facts) {
    return nvdp__method_bound(facts->info->method, &facts->info->nvib, facts->bound_order);
}

/* Adds the guarantees that the first line lacks: the guess bound, or, without a certificate, the bound of the clip. */
static void append_proof(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    const struct nvdp__clip_config *clip = &facts->info->nvib.clip;
    if (facts->certified && facts->certificate.word.holds && !facts->word_useful)
        nvdp__append(writer, "%s\n",
                     nvdp__word_text(&facts->certificate.word, facts->samples).text);
    if (facts->word_useful && facts->word_guesses[0] != '\0')
        nvdp__append(writer, "%s\n", facts->word_guesses);
    const bool guesses = facts->useful && facts->guesses[0] != '\0';
    if (guesses) nvdp__append(writer, "%s%s", facts->guesses, facts->labels ? " " : "\n");
    if (facts->labels && facts->certified) /* the first line has this number without labels */
        nvdp__append(writer, "A reader of this file has the labels without the samples: one of N "
                             "texts with two labels is named 2/N of the time without its sample, "
                             "not 1/N.\n");
    if (facts->certified)
        nvdp__append(writer, "The proof assumes exact arithmetic, which our noise sampler "
                             "provides. The attacker may know the model.");
    if (nvdp__release_exposed(facts) > 0)
        nvdp__append(writer,
                     " Delta is for each %s: for %zu %ss, delta %g alone would allow %.3g of "
                     "them to be exposed on average. This mechanism publishes no text: a smaller "
                     "delta has a gradually larger epsilon.",
                     nvdp__release_unit(facts), facts->texts, nvdp__release_unit(facts),
                     facts->certificate.delta, nvdp__release_exposed(facts));
    if (facts->certified) nvdp__append(writer, "\n");
    if (facts->certified || !nvdp__clips_sequence(clip)) return;
    nvdp__append(
        writer,
        "%s no two texts are more than %s nats apart in one sample, at order %g%s: all means of a "
        "text together have norm %s at most, and every variance is 1.\n",
        facts->insecure_seed   ? "With noise from the operating system's generator,"
        : facts->grids != NULL ? "Proven:"
                               : "Proven for exact arithmetic, which this file's noise lacks:",
        nvdp__bound(nvdp_renyi_sequence_bound(facts->bound_order, clip->sequence)).text,
        facts->bound_order,
        isinf(nvdp__release_bound(facts)) ? ", by its vectors (its weights are not covered)" : "",
        nvdp__bound(clip->sequence).text);
}

static bool of_vectors(const struct nvdp__release_facts *facts) {
    return facts->query != NULL && facts->query->vectors;
}

void nvdp__append_public(struct nvdp__writer *writer, const struct nvdp__release_facts *facts,
                         const char *what) {
    const struct nvdp__query_map *query = facts->query;
    const char *texts = of_vectors(facts) ? "vectors" : "texts";
    nvdp__append(writer, "Public, and covered by no number here: %s", what);
    if (query == NULL) {
        nvdp__append(writer, ".\n");
        return;
    }
    nvdp__append(writer,
                 "; also numbers computed from %s that the sender named as public (%s), which no "
                 "noise protects. ",
                 texts,
                 query->decoder != NULL ? "mean, map and decoder"
                 : query->map != NULL   ? "mean and map"
                                        : "mean");
    if (query->independent)
        nvdp__append(writer,
                     "The owner declares that the public %s were chosen independently of the "
                     "private %s; they were not compared.\n",
                     texts, texts);
    else
        nvdp__append(writer, "None of the public %s is among the %s of this file.\n", texts, texts);
}

/* Describes the samples of persons. */
static void append_persons(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    nvdp__append(
        writer,
        "Contents: %zu random sample%s of each of %zu persons, drawn by mechanism %s. A sample is "
        "one vector: the mean of the embeddings of the person's rows, each of norm %s at most, "
        "with noise. Whoever guesses all rows of a person can compute this mean without noise, "
        "compare, and so check the guess, as far as the noise allows.\n",
        facts->samples, facts->samples == 1 ? "" : "s", facts->texts,
        nvdp_method_name(facts->info->method), nvdp__bound(facts->info->nvib.clip.sequence).text);
    nvdp__append_public(writer, facts, "the number and order of the persons");
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
            : of_vectors(facts)
                ? ". Whoever guesses a text and has its encoder can compute its vector without "
                  "noise, compare, and so check the guess, as far as the noise allows"
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
    nvdp__append_public(
        writer, facts,
        facts->labels ? "the number and order of the texts, their row numbers and splits, and "
                        "their exact labels"
                      : "the number and order of the texts, their row numbers and splits");
}

/* Defines a person, and states what is proven for several persons together. */
static void append_together(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    nvdp__append(writer,
                 "%s The rows of a person are those with one name, and a row without a name is a "
                 "person of its own. All samples of a person add up, over files. So do those of "
                 "persons who have a text in common",
                 facts->counted ? "The sender's ledger counts this file."
                                : "No ledger counts this file.");
    for (size_t i = 0; i < NVDP__REPEATS && facts->certified; i++)
        nvdp__append(writer, "%s%zu persons together: epsilon %s",
                     i == 0 ? ": k of them have sqrt(k) times the mu of one. " : "; ",
                     facts->repeat[i].rows, nvdp__bound(facts->repeat[i].epsilon).text);
    nvdp__append(writer, ". How many rows a person has is not stated, because it is computed from "
                         "the texts without noise. Not covered: a person under several names.\n");
}

/* States what is proven for several rows together, as a function of the number of rows.  No file states the number of
 * rows with the same text or person, because this number is computed from the texts without noise. */
static void append_repeats(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    const bool gaussian = facts->certificate.theorem == NVDP_THEOREM_SEQUENCE;
    char text[NVDP__SPENT_TEXT];
    nvdp__append(writer, "%s All samples of a text, or of one person, add up, over rows and files",
                 facts->counted ? "The sender's ledger counts this file."
                                : "No ledger counts this file.");
    if (!facts->certified) {
        nvdp__append(writer, ".\n");
        return;
    }
    nvdp__append(writer, ". The guarantee above is about one row of this file; k rows have %s",
                 gaussian ? "sqrt(k) times its mu" : "k times its divergences");
    for (size_t i = 0; i < NVDP__REPEATS; i++) {
        const struct nvdp__repeat *of = &facts->repeat[i];
        nvdp__append(writer, "%s%zu rows together: %s", i == 0 ? ". " : "; ", of->rows,
                     isfinite(of->epsilon) ? nvdp__spent_text(of->epsilon, of->word_epsilon, text)
                                           : "nothing is proven");
    }
    nvdp__append(writer, ". The number of rows with one text or of one person is not stated, "
                         "because it is computed from the texts without noise.\n");
}

double nvdp__release_weights_distance(const struct nvdp__release_facts *facts) {
    double prior = facts->form.prior_alpha / facts->form.kappa;
    return nvdp__public_number((double)facts->samples *
                               nvdp__release_distance(&facts->grids->log_pi, facts->rows, prior));
}

/* States the properties of vectors for which the caller is responsible. */
static void append_vouched(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    nvdp__append(
        writer,
        "The sender computed the vectors with another program%s%s, and the encoder is not known "
        "here, nor what it was trained on. The bounds hold for one vector in place of another. "
        "They hold "
        "for a text only if its vector alone depends on the text: vectors of an encoder that looks "
        "at other texts of the batch are not covered. %s\n",
        facts->query->source[0] != '\0' ? ", which the sender calls " : "", facts->query->source,
        facts->query->given_ids
            ? "The sender vouches that a text, and nothing else, has its id in every file that the "
              "ledger counts."
            : "The sender gave no ids: equal vectors count as one text, and a text with another "
              "vector counts as another one.");
}

/* States that no number covers the training texts. */
static void append_training(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    nvdp__append(writer, "Not covered: what the encoder reveals about its training texts. ");
    if (of_vectors(facts)) {
        append_vouched(writer, facts);
        return;
    }
    if (nvdp__method_row(facts->info->method)->untrained) {
        if (isnan(facts->training_epsilon) && facts->training == NVDP__TRAINING_MAYBE)
            nvdp__append(writer,
                         "It was not trained for this file; what it was trained on before, and "
                         "how privately, is not known here, and some of these texts may be "
                         "among it.\n");
        else
            nvdp__summary_training_sentences(writer, facts);
        return;
    }
    if (facts->training == NVDP__TRAINING_MAYBE)
        nvdp__append(writer, "It was trained on task %s, maybe on some of these texts. ",
                     facts->info->task.name);
    else
        nvdp__append(writer, "By their splits, which are public, it was trained on %sthese texts. ",
                     facts->training == NVDP__TRAINING_ALL ? "" : "some of ");
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
                     nvdp__bound(facts->training_epsilon).text,
                     nvdp__bound(facts->training_delta).text);
}

static void append_noise(struct nvdp__writer *writer, const struct nvdp__release_facts *facts) {
    const struct nvdp__release_grids *grids = facts->grids;
    nvdp__append(writer, "%s",
                 facts->insecure_seed
                     ? "INSECURE: the noise comes from a seed. Who knows it can remove the "
                       "noise; two files with one seed reveal differences to anyone."
                     : "The noise comes from the operating system's generator and was not kept.");
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
                         nvdp__bound(nvdp__release_weights_distance(facts)).text);
    }
    nvdp__append(writer, "\n");
}

void nvdp__statement_computed(const struct nvdp__release_facts *facts, size_t size, char *out) {
    struct nvdp__writer writer = {.out = out, .size = size};
    out[0] = '\0';
    nvdp__append(&writer, "%s\n", facts->guarantee);
    if (facts->summary != NULL) {
        nvdp__summary_sentences(&writer, facts);
    } else {
        append_proof(&writer, facts);
        (facts->persons ? append_persons : append_contents)(&writer, facts);
        (facts->persons ? append_together : append_repeats)(&writer, facts);
    }
    append_training(&writer, facts);
    append_noise(&writer, facts);
}

const char nvdp__measured_words[] = "Measured on these texts, not proven for others: s";

double nvdp__public_infinite_share(const struct nvdp_pairs_summary *pairs) {
    return pairs->pairs > 0 ? nvdp__public_number((double)pairs->infinite / (double)pairs->pairs)
                            : 0;
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
        pairs->order, pairs->texts,
        facts->form.weights  ? "weights and vectors together"
        : facts->form.single ? "its vector"
                             : "all vectors together",
        number(max, a), number(pairs->sum.mean, b));
    if (infinite_share > 0)
        nvdp__append(writer, " (%.3g%% of the pairs infinite)", 100 * infinite_share);
    if (facts->samples > 1)
        nvdp__append(writer, "; of %zu samples at most %s", facts->samples,
                     number((double)facts->samples * max, a));
    nvdp__append(writer,
                 ". Bayesian DP of the worst text: epsilon %s at delta %g%s. These numbers are "
                 "rounded up and have no noise: to a reader who knows some of the texts they help "
                 "to identify the others.",
                 number(report->bdp.best->worst.epsilon, a), facts->delta,
                 report->bdp.small_population ? " (too few texts to trust)" : "");
}

void nvdp__statement_measured(const struct nvdp__release_facts *facts, size_t size, char *out) {
    struct nvdp__writer writer = {.out = out, .size = size};
    out[0] = '\0';
    if (!facts->measured || !facts->publish) {
        nvdp__append(&writer, facts->measured
                                  ? "What was measured on these texts is not published: numbers "
                                    "that are computed without noise help to identify the texts."
                                  : "Nothing was measured on these texts.");
        return;
    }
    nvdp__append(&writer, "%s%s", nvdp__measured_words,
                 nvdp__linkage_sentence(facts->privacy.linkage).text + 1);
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

/* Writes the guess bounds for persons.  The reference of the bound is noise around 0, so the bound is the same if C
 * limits an embedding or the mean of a person's embeddings. */
static void write_person_guesses(const void *certificate, FILE *to) {
    const struct nvdp_certificate *of = certificate;
    if (of->guesses > 0)
        nvdp__fprintf(to,
                      "Proven for any attacker, with any other knowledge: a guess about all rows "
                      "of a person that is right %s of the time without the file is right at most "
                      "%s of the time with it, on average over persons and noise (C = %s). Single "
                      "guesses can be nearly certain.",
                      nvdp__baselines_text(of->guesses, of->guess).text,
                      nvdp__bounds_text(of->guesses, of->guess).text, nvdp__bound(of->radius).text);
}

/* Sets facts->repeat, too, the epsilon of several rows together.  Samples of different rows are independent, so k rows
 * are like one row with k times as many samples.  This holds for texts of one person, too, each of which may be
 * replaced. */
nvdp_status nvdp__release_certify(struct nvdp_context *ctx, struct nvdp__release_facts *facts) {
    static const int rows[] = {1, 2, 10};
    enum { COUNT = sizeof rows / sizeof *rows };
    _Static_assert(COUNT == 1 + NVDP__REPEATS, "one row, and the repeats");
    if (facts->summary != NULL) {
        nvdp__summary_certify(facts);
        return NVDP_OK;
    }
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    struct nvdp_certificate made[COUNT];
    int releases[COUNT];
    size_t count = 0;
    nvdp__autofree char *text = NULL;
    options.bdp.delta = NVDP__LEDGER_DELTA;
    options.bdp.releases = (int)facts->samples;
    facts->certified = false;
    if (facts->grids == NULL || facts->insecure_seed) return NVDP_OK;
    for (; count < COUNT && options.bdp.releases <= INT_MAX / rows[count]; count++)
        releases[count] = options.bdp.releases * rows[count];
    for (size_t i = count; i < COUNT; i++)
        made[i].theorem = NVDP_THEOREM_NONE;
    NVDP_TRY(
        nvdp__certify_each(ctx, &facts->limits, &options, &nvdp__remedies, count, releases, made));
    facts->certificate = made[0];
    if (made[0].theorem == NVDP_THEOREM_NONE) return NVDP_OK;
    if (facts->form.weights &&
        !nvdp__distance_negligible(made[0].epsilon, nvdp__release_weights_distance(facts),
                                   NVDP__LEDGER_DELTA))
        return NVDP_OK;
    NVDP_TRY(
        nvdp__printed(ctx, facts->persons ? write_person_guesses : write_guesses, &made[0], &text));
    nvdp__snprintf(facts->guesses, sizeof facts->guesses, "%s", text);
    facts->certified = true;
    for (size_t i = 1; i < COUNT; i++) {
        const struct nvdp_certificate *of = &made[i];
        const bool proven =
            of->theorem != NVDP_THEOREM_NONE &&
            (!facts->form.weights ||
             nvdp__distance_negligible(of->epsilon,
                                       (double)rows[i] * nvdp__release_weights_distance(facts),
                                       NVDP__LEDGER_DELTA));
        facts->repeat[i - 1] =
            (struct nvdp__repeat){(size_t)rows[i], proven ? of->epsilon : INFINITY,
                                  !proven          ? INFINITY
                                  : of->word.holds ? fmin(of->word.epsilon, of->epsilon)
                                                   : of->epsilon};
    }
    return NVDP_OK;
}
