/* nvdp explain: translates a guarantee (nats, epsilon, a clip, a run) into upper bounds of an attacker's success.
 * Sections: needs of a receiver, guess bounds, a Gaussian example for comparison, bounds from a divergence. */
#include "base/array.h"
#include "base/own.h"
#include "base/sentence.h"
#include "common.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct values {
    double order, delta, clip, attribute;
    size_t texts, releases, dim;
    const char *baseline;
    int need;
    bool assessment;
};

static const char *const needs[] = {"all", "collection", "text", "word", "model", NULL};

static const struct nvdp_option options[] = {
    {"need", NVDP_OPTION_CHOICE, "N",
     "print what to give away if the receiver needs this, what it protects and what it costs; "
     "replaces NATS",
     .default_value = "all", NVDP_OPTION_AT(struct values, need), .choices = needs,
     .group = "The decision:", .traits = NVDP_TRAIT_NO_DEFAULT},
    {"baseline", NVDP_OPTION_LIST, "B",
     "probability that a guess about a text is right without its samples, each in (0, 1); the "
     "answer is the upper bound with the samples",
     .default_value = "0.5,0.001,1e-06", NVDP_OPTION_AT(struct values, baseline),
     .group = "The question:"},
    {"texts", NVDP_OPTION_INTEGER, "N",
     "number of equally likely texts among which a sample's text is guessed; baseline 1/N",
     .default_value = "872", NVDP_OPTION_AT(struct values, texts), .min = 2, .max = 1e15,
     .unit = "texts"},
    {"attribute", NVDP_OPTION_REAL, "P", "a yes/no attribute that a share P of the texts has",
     .default_value = "0", NVDP_OPTION_AT(struct values, attribute), .min = 0, .max = 1,
     .traits = NVDP_TRAIT_NO_DEFAULT},
    {"assessment", NVDP_OPTION_FLAG, NULL,
     "print the bounds of a RUN as text for a data-protection impact assessment", NULL,
     NVDP_OPTION_AT(struct values, assessment)},
    {"clip-sequence", NVDP_OPTION_REAL, "C",
     "norm of a sequence clip, in standard deviations of the noise; replaces NATS",
     .default_value = "0", NVDP_OPTION_AT(struct values, clip), .min = 0, .max = 1e9,
     .group = "The guarantee:", .traits = NVDP_TRAIT_NO_DEFAULT},
    {"dim", NVDP_OPTION_INTEGER, "D",
     "with clip-sequence: dimension of a sample; a small dimension sharpens the bound; 0: "
     "unknown",
     .default_value = "0", NVDP_OPTION_AT(struct values, dim), .min = 0, .max = 1e9},
    {"order", NVDP_OPTION_REAL, "X",
     "order of the Renyi divergence NATS; 1: Kullback-Leibler divergence", .default_value = "1.1",
     NVDP_OPTION_AT(struct values, order), .min = 1, .max = 1e6},
    {"delta", NVDP_OPTION_REAL, "D", "delta of the guarantee EPSILON", .default_value = "1e-05",
     NVDP_OPTION_AT(struct values, delta), .min = 1e-300, .max = 0.999},
    {"releases", NVDP_OPTION_INTEGER, "S", "samples per text that the attacker has",
     .default_value = "1", NVDP_OPTION_AT(struct values, releases), .min = 1, .max = 1e9,
     .unit = "samples"},
    {0},
};

/* --- what does the receiver need? --- */

/* The form of data to share for each need of a receiver, in the order of `needs` from 1. Scores are accuracies on
 * SST-2's dev file; docs/budget.md has the same table. */
static const struct need {
    const char *gives, *protects, *costs, *command, *page;
} need_rows[] = {
    {"the collection: to train a reader, to compare groups, to look at a distribution",
     "each text with its label, against somebody who knows all other texts; k texts that change "
     "together have k times the mu",
     "79.2 % at epsilon 1 from 67,349 texts (79.7 % without noise), 77.3 % from 10,000 (80.2 %); "
     "all-MiniLM-L6-v2, not fine-tuned",
     "nvdp summarize", "docs/summary.md"},
    {"one noisy sample of each text: to classify, to compare or to search single texts",
     "each text as a whole; epsilon grows with each sample of the same text or person",
     "71.7 % at epsilon 8, 81.5 % at 16, 86.4 % at 32, 87.0 % without noise; all-MiniLM-L6-v2",
     "nvdp train --preset certified, then nvdp export", "docs/certified.md"},
    {"one noisy sample of each text, or privatized words, where a text may be recognized but no "
     "single word",
     "each word, against somebody who knows the other words",
     "a sample (nvdp train --method word): 63.8 % at epsilon 1, 74.1 % at 4, 76.9 % at 8; "
     "privatized words: 49.1 % at epsilon 8; all-MiniLM-L6-v2",
     "nvdp train --preset word, or nvdp sanitize", "docs/certified.md, docs/text-privatization.md"},
    {"the trained model: to encode or to classify other texts",
     "each training text; texts that are encoded later are not protected",
     "79.5 % at epsilon 3, 81.1 % at 8, 87.3 % without privacy; all-MiniLM-L6-v2, two layers "
     "trained, one seed",
     "nvdp train --dp-batch B --target-epsilon E", "docs/dp-bert.md"},
};

static json_t *need_json(size_t i) {
    const struct need *of = &need_rows[i];
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "need", needs[i + 1], "gives", of->gives,
                     "protects", of->protects, "score", of->costs, "command", of->command, "page",
                     of->page);
}

static int explain_need(struct cli *cli, int need) {
    enum { NEEDS = sizeof need_rows / sizeof *need_rows };
    const size_t first = need == 0 ? 0 : (size_t)need - 1, end = need == 0 ? NEEDS : first + 1;
    json_t *list = json_array();
    for (size_t i = first; i < end; i++)
        json_array_append_new(list, need_json(i));
    if (cli->json) return cli_print_json(cli, json_pack("{s:o}", "needs", list));
    for (size_t i = 0; i < end - first; i++) {
        const char *key;
        json_t *value;
        if (i > 0) putchar('\n');
        json_object_foreach(json_array_get(list, i), key, value) {
            char line[512];
            nvdp__snprintf(line, sizeof line, "%s: %s", key, json_string_value(value));
            nvdp__print_wrapped(stdout, line);
        }
    }
    json_decref(list);
    return CLI_SUCCESS;
}

/* --- guess bounds from a clip, an epsilon or a run --- */

/* A guarantee that bounds guesses: a sequence clip if clip > 0, else epsilon at delta. */
struct guarantee {
    double clip, epsilon, delta;
    int releases;
    size_t dim;
    const struct nvdp_word_claim *word; /* NULL without a claim per word */
};

/* Bounds the success of a guess with baseline b. (epsilon, delta)-indistinguishability bounds the success in two ways
 * (Kairouz, Oh & Viswanath 2015): min(e^eps b + delta, 1 - e^-eps (1 - b - delta)). */
static double bound(const struct guarantee *of, double b) {
    if (of->clip > 0) return nvdp_guess_bound(b, of->clip, of->releases, of->dim);
    const double up = exp(of->epsilon) * b + of->delta,
                 down = 1 - exp(-of->epsilon) * (1 - b - of->delta);
    return fmax(b, fmin(fmin(up, down), 1));
}

static double attribute(const struct guarantee *of, double p) {
    return of->clip > 0 ? nvdp_guess_attribute(p, of->clip, of->releases)
                        : bound(of, fmax(p, 1 - p));
}

static int read_baselines(struct cli *cli, const struct values *v, double out[NVDP_GUESSES],
                          size_t *count) {
    const char *at = v->baseline;
    *count = 0;
    while (at != NULL && *at != '\0') {
        char *end = NULL;
        const double value = strtod(at, &end);
        if (end == at || !(value > 0 && value < 1) || (*end != ',' && *end != '\0') ||
            *count == NVDP_GUESSES)
            return cli_usage(cli,
                             "option --baseline: expected at most %d numbers in (0, 1), found '%s'",
                             NVDP_GUESSES, v->baseline);
        out[(*count)++] = value;
        at = *end == ',' ? end + 1 : end;
    }
    return CLI_SUCCESS;
}

static void guess_row(const char *what, double without, double with) {
    char percent[32];
    snprintf(percent, sizeof percent, "%.4g %%", 100 * without);
    printf("  %-46s %12s %12s\n", what, percent, nvdp__share_bound(with).text);
}

static json_t *guesses_json(size_t guesses, const struct nvdp_bounded_guess *guess) {
    json_t *array = json_array();
    for (size_t i = 0; i < guesses; i++)
        json_array_append_new(
            array, json_pack("{s:f, s:f}", "baseline", guess[i].baseline, "bound", guess[i].bound));
    return array;
}

/* Returns an upper bound on the information of the samples about their text, in nats; NaN without a sequence clip. */
static double information_bound(const struct guarantee *of) {
    return of->clip > 0 ? nvdp_guess_information(of->clip, of->releases, of->dim) : NAN;
}

static json_t *answer_json(const struct values *v, const struct guarantee *of, const char *scope,
                           size_t count, const double *baseline) {
    const double p = v->attribute;
    const struct nvdp_word_claim *word = of->word;
    struct nvdp_bounded_guess guess[NVDP_GUESSES];
    for (size_t i = 0; i < count; i++)
        guess[i] = (struct nvdp_bounded_guess){baseline[i], bound(of, baseline[i])};
    json_t *made = json_pack("{s:s, s:o, s:{s:I, s:f}, s:i, s:o}", "scope", scope, "guess",
                             guesses_json(count, guess), "named", "texts", (json_int_t)v->texts,
                             "bound", bound(of, 1 / (double)v->texts), "releases", of->releases,
                             "information_bits", cli_number(information_bound(of) / M_LN2));
    if (of->clip > 0) json_object_set_new(made, "clip_sequence", json_real(of->clip));
    if (word != NULL)
        json_object_set_new(
            made, "word",
            json_pack("{s:f, s:f, s:o, s:{s:i, s:o, s:o}}", "epsilon", word->epsilon, "delta",
                      word->delta, "guess", guesses_json(word->guesses, word->guess), "phrase",
                      "words", NVDP_PHRASE_WORDS, "epsilon", cli_number(word->phrase_epsilon),
                      "guess", guesses_json(word->guesses, word->phrase_guess)));
    if (p > 0)
        json_object_set_new(made, "attribute",
                            json_pack("{s:f, s:f, s:f}", "prior", p, "baseline", fmax(p, 1 - p),
                                      "bound", attribute(of, p)));
    return made;
}

static void print_guesses(const struct values *v, const struct guarantee *of, size_t count,
                          const double *baseline) {
    const double one = 1 / (double)v->texts, p = v->attribute;
    char what[64];
    printf("  %-46s %12s %12s\n", "a guess about a text is right", "without", "with at most");
    for (size_t i = 0; i < count; i++)
        guess_row(baseline[i] == .5 ? "which of two equally likely texts was sampled"
                                    : "any guess with this baseline",
                  baseline[i], bound(of, baseline[i]));
    snprintf(what, sizeof what, "which of %zu equally likely texts was sampled", v->texts);
    guess_row(what, one, bound(of, one));
    for (size_t i = 0; of->word != NULL && i < of->word->guesses; i++)
        guess_row("one word, all other words known", of->word->guess[i].baseline,
                  of->word->guess[i].bound);
    if (p > 0) {
        snprintf(what, sizeof what, "an attribute that %.3g %% of the texts have", 100 * p);
        guess_row(what, fmax(p, 1 - p), attribute(of, p));
    }
    snprintf(what, sizeof what, "up to %d adjacent words, all others known", NVDP_PHRASE_WORDS);
    for (size_t i = 0; of->word != NULL && i < of->word->guesses; i++)
        guess_row(what, of->word->phrase_guess[i].baseline, of->word->phrase_guess[i].bound);
}

static int answer(struct cli *cli, const struct values *v, const struct guarantee *of,
                  const char *scope) {
    double baseline[NVDP_GUESSES];
    size_t count = 0;
    const double information = information_bound(of);
    CLI_TRY(read_baselines(cli, v, baseline, &count));
    if (cli->json) return cli_print_json(cli, answer_json(v, of, scope, count, baseline));
    print_guesses(v, of, count, baseline);
    if (isfinite(information))
        printf("\nOn average, %s at most %s bits about the text; to name one of %zu texts takes "
               "%.3g bits.\n",
               of->releases == 1 ? "a sample carries" : "the samples together carry",
               nvdp__bound(information / M_LN2).text, v->texts, log2((double)v->texts));
    puts("The attacker may know the model and anything else.  The bounds are averages over texts "
         "and noise: single\nguesses can be nearly certain.  Further samples of the text, or of "
         "related texts, add up.");
    if (of->word != NULL)
        printf("For %d adjacent words in place of others, epsilon is %s at delta %g. The size of a "
               "sample depends on the length\nof its text.\n",
               NVDP_PHRASE_WORDS, nvdp__bound(of->word->phrase_epsilon).text, of->word->delta);
    if (v->attribute > 0 && of->clip > 0)
        puts("The bound of the attribute holds for an attacker who knows nothing else about the "
             "text; with other\nknowledge, use the bound for the attacker's own baseline.");
    return CLI_SUCCESS;
}

static int explain_clip(struct cli *cli, const struct values *v) {
    const struct guarantee of = {.clip = v->clip, .releases = (int)v->releases, .dim = v->dim};
    if (!cli->json)
        printf(
            "Proven by a sequence clip C = %s, for %zu sample%s of a text (epsilon %s at delta "
            "%g):\n\n",
            nvdp__bound(v->clip).text, v->releases, v->releases == 1 ? "" : "s",
            nvdp__bound(nvdp_gdp_epsilon(2 * v->clip * sqrt((double)v->releases), v->delta)).text,
            v->delta);
    return answer(cli, v, &of, "proven");
}

static int explain_epsilon(struct cli *cli, const struct values *v, double epsilon) {
    const struct guarantee any = {.epsilon = epsilon, .delta = v->delta, .releases = 1};
    const struct guarantee clip = {.clip = nvdp_gdp_mu(epsilon, v->delta) / 2, .releases = 1};
    if (v->releases != 1 || v->dim != 0)
        return cli_usage(
            cli, "EPSILON already covers all samples together; leave out --releases and --dim");
    if (cli->json) return answer(cli, v, &any, "proven");
    if (epsilon > 0) { /* the largest clip that proves this epsilon */
        printf("Epsilon %g at delta %g for all shared data of a text, for any two texts, proven by "
               "a sequence clip\n(C = %s, as nvdp train --certified-epsilon and nvdp export "
               "--certified-epsilon do):\n\n",
               epsilon, v->delta, nvdp__bound_below(clip.clip).text);
        CLI_TRY(answer(cli, v, &clip, "proven"));
        putchar('\n');
    }
    printf("The same epsilon of any other mechanism bounds less:\n\n");
    return answer(cli, v, &any, "proven");
}

/* Prints the guess bounds that nvdp privacy measured, at its baselines. */
static int explain_measured(struct cli *cli, const struct values *v) {
    size_t i;
    char *text = NULL;
    nvdp__autoptr(json_decref) json_t *privacy = NULL;
    const json_t *guess;
    if (v->releases != 1 || cli_given(cli, "attribute") || cli_given(cli, "texts"))
        return cli_usage(cli,
                         "%s: this run has no proven bound, so only measured bounds can be shown; "
                         "leave out all options but --baseline",
                         cli->arg[0]);
    CLI_DO(cli, nvdp_measured_list(cli->ctx, cli->arg[0], &text));
    nvdp__autoptr(json_decref) json_t *all = nvdp__json_taken(text);
    const json_t *best = json_array_get(all, 0);
    const char *file = json_string_value(json_object_get(best, "file"));
    const bool complete = json_is_true(json_object_get(best, "complete"));
    const size_t texts = (size_t)json_integer_value(json_object_get(best, "texts"));
    if (file != NULL) privacy = json_load_file(nvdp__path(cli->arg[0], file).text, 0, NULL);
    json_t *guesses = json_object_get(privacy, "guess");
    if (!json_is_array(guesses))
        return cli_error(cli, CLI_FAILURE,
                         "%s: this run has no proven bound and no measurement; measure it first: "
                         "nvdp privacy %s --baseline %s",
                         cli->arg[0], cli->arg[0], v->baseline);
    if (cli->json)
        return cli_print_json(cli,
                              json_pack("{s:s, s:I, s:b, s:O}", "scope", "measured", "texts",
                                        (json_int_t)texts, "complete", complete, "guess", guesses));
    printf("Measured on %s%zu texts, all equally likely; these are no bounds for other texts:\n\n",
           complete ? "" : "a sample of ", texts);
    printf("  %-46s %12s %12s\n", "a guess about one of these texts is right", "without",
           "with at most");
    json_array_foreach(guesses, i, guess) guess_row(
        "any guess with this baseline", json_number_value(json_object_get(guess, "baseline")),
        json_number_value(json_object_get(guess, "bound")));
    return CLI_SUCCESS;
}

static int print_line(struct cli *cli, const struct nvdp_guarantee *of) {
    nvdp__autofree char *line = NULL;
    CLI_DO(cli, nvdp_guarantee_line(cli->ctx, of, &line));
    if (!cli->json) printf("%s\n\n", line);
    return CLI_SUCCESS;
}

/* Prints the proven guarantee of a run in the terms of a data-protection impact assessment. */
static int assess(struct cli *cli, const struct values *v, const struct guarantee *of,
                  const struct nvdp_guarantee *found) {
    enum { RELATED = 10 };
    double baseline[NVDP_GUESSES];
    size_t count = 0;
    char text[2048];
    struct nvdp__writer say = {text, sizeof text, 0};
    nvdp__autofree char *line = NULL;
    CLI_TRY(read_baselines(cli, v, baseline, &count));
    CLI_DO(cli, nvdp_guarantee_line(cli->ctx, found, &line));
    nvdp__append(&say,
                 "Random noise is added to the embedding of each text, and only the noisy result, "
                 "a sample, is released. %s Whoever has the samples may also have the model, and "
                 "may know all other texts and any other fact.",
                 line);
    for (size_t i = 0; i < count; i++)
        nvdp__append(&say,
                     " A guess about a text that is right with probability %.4g %% without its "
                     "samples is right with probability %s at most with them.",
                     100 * baseline[i], nvdp__share_bound(bound(of, baseline[i])).text);
    nvdp__append(
        &say,
        " These bounds are averages over texts and noise: a single guess can be nearly certain. "
        "Related texts add up: %d texts of one person have epsilon %s together. nvdp export counts "
        "every sample in a ledger and refuses further samples unless its owner allows them. Not "
        "covered: labels that are released with the samples, and the number and order of the "
        "texts. The owner adds: purpose, legal basis, receivers, time of storage, and the number "
        "of texts per person.",
        RELATED,
        nvdp__bound(
            nvdp_gdp_epsilon(2 * of->clip * sqrt(RELATED * (double)of->releases), found->delta))
            .text);
    if (cli->json) return cli_print_json(cli, json_pack("{s:s}", "assessment", text));
    nvdp__print_wrapped(stdout, text);
    return CLI_SUCCESS;
}

/* Explains a finished run: the proven bounds, or, without them, the bounds that nvdp privacy measured on dev texts. */
static int explain_run(struct cli *cli, const struct values *v) {
    struct nvdp_guarantee found = NVDP_RESULT(struct nvdp_guarantee);
    struct nvdp_certificate proven = NVDP_RESULT(struct nvdp_certificate);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    nvdp__autoptr(nvdp_model_free) struct nvdp_model *model = NULL;
    CLI_DO(cli, nvdp_run_guarantee(cli->ctx, cli->arg[0], &found));
    if (!found.noise || found.token_noise) {
        CLI_TRY(print_line(cli, &found));
        return cli_error(
            cli, CLI_FAILURE,
            "%s: this run shares no random samples of its texts, so no guess can be bounded",
            cli->arg[0]);
    }
    const double delta = found.delta > 0 && !cli_given(cli, "delta") ? found.delta : v->delta;
    CLI_DO(cli, nvdp_config_create(cli->ctx, "privacy", &config));
    CLI_DO(cli, nvdp_config_set(config, "releases", nvdp__short_text("%zu", v->releases).text));
    CLI_DO(cli, nvdp_config_set(config, "delta", nvdp__short_text("%.17g", delta).text));
    CLI_DO(cli, nvdp_config_set(config, "baseline", v->baseline));
    CLI_DO(cli, nvdp_model_load(cli->ctx, nvdp__path(cli->arg[0], "model").text, &model));
    CLI_DO(cli, nvdp_model_certificate(cli->ctx, model, config, &proven));
    if (isfinite(found.epsilon) && proven.theorem != NVDP_THEOREM_NONE) {
        found.epsilon = proven.epsilon; /* for as many samples as the rows below */
        found.delta = proven.delta;
        found.releases = v->releases;
        found.word = proven.word;
    }
    const struct guarantee of = {.clip = proven.radius,
                                 .releases = (int)v->releases,
                                 .dim = proven.numbers,
                                 .word = proven.word.holds ? &proven.word : NULL};
    if (v->assessment) {
        if (proven.theorem == NVDP_THEOREM_SEQUENCE && of.word == NULL)
            return assess(cli, v, &of, &found);
        return cli_error(cli, CLI_FAILURE,
                         "%s: an assessment needs a proof for any two texts: nvdp train --preset "
                         "certified",
                         cli->arg[0]);
    }
    CLI_TRY(print_line(cli, &found));
    if (proven.theorem == NVDP_THEOREM_SEQUENCE) return answer(cli, v, &of, "proven");
    if (proven.theorem != NVDP_THEOREM_NONE) {
        const struct guarantee other = {
            .epsilon = proven.epsilon, .delta = proven.delta, .releases = (int)v->releases};
        return answer(cli, v, &other, "proven");
    }
    return explain_measured(cli, v);
}

/* --- a shared file --- */

static const size_t numbers_of_rows[] = {1, 2, 10};
enum { ROW_COUNTS = sizeof numbers_of_rows / sizeof *numbers_of_rows };

/* Returns the guarantee that the file proves for k rows of one text. mu grows with the square root of k; without mu,
 * epsilon and delta grow with k (basic composition). */
static struct guarantee of_rows(const struct nvdp_verification *found, size_t k) {
    const double rows = (double)k, mu = found->mu * sqrt(rows);
    struct guarantee of = {
        .epsilon = rows * found->epsilon, .delta = rows * found->delta, .releases = 1};
    if (isfinite(mu)) { /* false for NaN */
        of.clip = found->radius * sqrt(rows);
        of.delta = found->delta;
        of.epsilon = nvdp_gdp_epsilon(mu, found->delta);
    }
    return of;
}

static json_t *rows_json(const struct nvdp_verification *found) {
    json_t *list = json_array();
    for (size_t i = 0; i < ROW_COUNTS; i++) {
        const struct guarantee of = of_rows(found, numbers_of_rows[i]);
        json_array_append_new(
            list, json_pack("{s:I, s:o, s:f, s:f, s:f}", "rows", (json_int_t)numbers_of_rows[i],
                            "epsilon", cli_number(of.epsilon), "delta", of.delta, "which_of_two",
                            bound(&of, .5), "which_of_100", bound(&of, .01)));
    }
    return list;
}

static void print_rows(const struct nvdp_verification *found) {
    puts("\nIf several rows of the file are of one text, or of one person, the rows add up. An "
         "attacker then picks the right\none of 2 or 100 equally likely texts or persons with at "
         "most this probability:\n");
    printf("  %-28s %12s %22s %22s\n", "rows of one text or person", "epsilon", "one of 2, at most",
           "one of 100, at most");
    for (size_t i = 0; i < ROW_COUNTS; i++) {
        const struct guarantee of = of_rows(found, numbers_of_rows[i]);
        printf("  %-28zu %12s %22s %22s\n", numbers_of_rows[i], nvdp__bound(of.epsilon).text,
               nvdp__share_bound(bound(&of, .5)).text, nvdp__share_bound(bound(&of, .01)).text);
    }
}

/* Explains a summary. The rows of a summary share the same noise, so k rows that change together have k times the mu of
 * one row. The statement of the summary has the bounds on guesses. */
static int explain_summary(struct cli *cli, const struct nvdp_verification *found) {
    double epsilon[ROW_COUNTS];
    if (cli_given(cli, "baseline") || cli_given(cli, "texts") || cli_given(cli, "attribute"))
        return cli_usage(cli,
                         "%s: the statement of a summary has its bounds on guesses; leave out "
                         "--baseline, --texts and --attribute",
                         cli->arg[0]);
    for (size_t i = 0; i < ROW_COUNTS; i++)
        epsilon[i] = nvdp_gdp_epsilon((double)numbers_of_rows[i] * found->mu, found->delta);
    if (cli->json) {
        json_t *rows = json_array();
        for (size_t i = 0; i < ROW_COUNTS; i++)
            json_array_append_new(rows,
                                  json_pack("{s:I, s:o}", "rows", (json_int_t)numbers_of_rows[i],
                                            "epsilon", cli_number(epsilon[i])));
        return cli_print_json(cli,
                              json_pack("{s:o, s:f, s:f, s:o, s:s}", "epsilon",
                                        cli_number(found->epsilon), "delta", found->delta, "mu",
                                        found->mu, "rows", rows, "statement", found->statement));
    }
    nvdp__print_wrapped(stdout, found->statement);
    printf("\n  %-28s %12s\n", "rows that change together", "epsilon");
    for (size_t i = 0; i < ROW_COUNTS; i++)
        printf("  %-28zu %12s\n", numbers_of_rows[i], nvdp__bound(epsilon[i]).text);
    putchar('\n');
    nvdp__print_wrapped(stdout,
                        "Not covered: what the file says without noise (the number of rows, the "
                        "classes or the range of scores, and the encoder), other files of the same "
                        "rows, what the encoder reveals about its training texts, and whether the "
                        "noise was drawn as stated, which only the sender knows.");
    return CLI_SUCCESS;
}

/* Explains a shared file to the recipient, with the numbers that nvdp verify recomputes from the file's content. 
 * Refuses a file whose statement does not follow from the content. */
static int explain_file(struct cli *cli, const struct values *v) {
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    if (v->releases != 1 || v->dim != 0 || cli_given(cli, "delta"))
        return cli_usage(cli,
                         "%s: the file states its delta and its samples; leave out --delta, "
                         "--releases and --dim",
                         cli->arg[0]);
    CLI_DO(cli, nvdp_verify(cli->ctx, cli->arg[0], NULL, &found));
    for (size_t i = 0; i < found.checks && !found.holds; i++)
        if (found.check[i].verdict == NVDP_VERDICT_NO)
            return cli_error(cli, CLI_FAILURE,
                             "%s: its statement does not follow from its content (%s: %s); nvdp "
                             "verify shows all checks",
                             cli->arg[0], found.check[i].what, found.check[i].found);
    const bool proven = found.certified && isfinite(found.epsilon);
    if (!cli->json) {
        nvdp__print_wrapped(stdout, found.guarantee);
        putchar('\n');
    }
    if (!proven)
        return cli_error(
            cli, CLI_FAILURE,
            "%s: nothing is proven of this file for any two texts, so no guess about a "
            "whole text is bounded",
            cli->arg[0]);
    if (found.summary) return explain_summary(cli, &found);
    const struct guarantee of = of_rows(&found, 1);
    if (cli->json) {
        double baseline[NVDP_GUESSES];
        size_t count = 0;
        CLI_TRY(read_baselines(cli, v, baseline, &count));
        json_t *made = answer_json(v, &of, "proven", count, baseline);
        json_object_set_new(made, "rows", rows_json(&found));
        json_object_set_new(made, "samples", json_integer((json_int_t)found.samples));
        json_object_set_new(made, "epsilon", cli_number(of.epsilon));
        json_object_set_new(made, "delta", json_real(of.delta));
        return cli_print_json(cli, made);
    }
    if (found.persons)
        puts("A row is of one person. Below, read all rows of a person in the sender's table for "
             "text.");
    printf("Epsilon %s at delta %g is about one row (%s). For any two texts, it is hard to tell "
           "from which of the two\nthe row was drawn. In terms of guesses:\n\n",
           nvdp__bound(of.epsilon).text, of.delta, nvdp__samples_text((double)found.samples).text);
    CLI_TRY(answer(cli, v, &of, "proven"));
    print_rows(&found);
    puts("\nNot covered: what the file says without noise (number and order of rows, labels if it "
         "has them: who knows a\nlabel starts from a better guess, so choose --baseline or --texts "
         "accordingly), other files of the same texts,\nand what the encoder reveals about its "
         "training texts. Whether the values were drawn as stated, only the sender\nknows: nvdp "
         "verify.");
    return CLI_SUCCESS;
}

/* --- a Gaussian example for comparison with the bounds: equal variances, distance mu, D_l = l mu^2 / 2 --- */
/* Returns the probability of identifying one of N texts at mutual distance mu: int phi(x - mu/sqrt 2) Phi(x)^(N-1) dx,
 * by the trapezoidal rule. */
static double named(double texts, double mu) {
    const double a = mu / M_SQRT2, step = 1. / 64;
    double sum = 0;
    for (double u = -9; u <= 9; u += step)
        sum += exp(-u * u / 2 + (texts - 1) * log(gsl_cdf_ugaussian_P(u + a)));
    return fmin(1, sum * step / sqrt(2 * M_PI));
}

static double true_positives(double fpr, double mu) {
    return gsl_cdf_ugaussian_P(mu + gsl_cdf_ugaussian_Pinv(fpr));
}

/* --- the bounds --- */

/* Bounds the accuracy between two equally likely texts by (1 + TV)/2. TV^2 <= 1 - e^-KL, and KL is at most the
 * divergence of any order above 1. */
static double right(double nats) {
    return (1 + sqrt(-expm1(-nats))) / 2;
}

static const double fprs[] = {0.001, 0.01, 0.1};
enum { FPRS = sizeof fprs / sizeof *fprs };

/* Formats a percentage as "%.4g" without rounding it up to 100 %. */
static const char *share(double value, char text[24]) {
    if (value < 1 && value > 0.9999)
        snprintf(text, 24, "> 99.99 %%");
    else
        snprintf(text, 24, "%.4g %%", 100 * value);
    return text;
}

static void row(const char *what, double chance, double bound, double gaussian) {
    char a[24], c[24];
    printf("  %-46s %12s %12s %12s\n", what, share(chance, a), nvdp__share_bound(bound).text,
           share(gaussian, c));
}

static void print(const struct values *v, double nats) {
    const double mu = sqrt(2 * nats / v->order), texts = (double)v->texts;
    const double some = v->texts < 20 ? (1 + 1 / texts) / 2 : .1; /* above chance */
    const double log_some[] = {log(some), log1p(-some)},
                 log_one[] = {-log(texts), log1p(-1 / texts)};
    char text[96], a[24];
    printf("Samples of any two texts have a Renyi divergence of at most %g nats, order %g, in both "
           "directions, over all\nshared data (the row \"sum\" of nvdp privacy). No reader who has "
           "the model exceeds the column \"bound\".\nThe column \"Gaussian\" is an example: "
           "Gaussian noise with %.3g standard deviations between any two texts.\n\n",
           nats, v->order, mu);
    printf("  %-46s %12s %12s %12s\n", "", "chance", "bound", "Gaussian");
    row("name the right one of two texts", .5, right(nats), gsl_cdf_ugaussian_P(mu / 2));
    for (size_t i = 0; i < FPRS; i++) {
        snprintf(text, sizeof text, "recognize a text with %g %% false alarms", 100 * fprs[i]);
        row(text, fprs[i], nvdp_renyi_probability_bound(v->order, nats, fprs[i]),
            true_positives(fprs[i], mu));
    }
    snprintf(text, sizeof text, "name the right one of %zu texts", v->texts);
    row(text, 1 / texts, nvdp_renyi_probability_bound(v->order, nats, 1 / texts), named(texts, mu));
    printf("\nOn average (geometric mean), samples favor the right text over another by a factor "
           "of at most e^%g = %s. Naming\n%s of %zu texts needs at least %s nats, naming all "
           "of them log %zu = %.3g. If NATS is a mean over pairs,\nsome pairs are farther apart; a "
           "maximum over measured pairs is no bound for other texts.\n\n",
           nats, nvdp__bound(exp(nats)).text, share(some, a), v->texts,
           nvdp__bound_below(nvdp_renyi_discrete(v->order, 2, log_some, log_one)).text, v->texts,
           log(texts));
    const double radius = sqrt(nats / (2 * v->order));
    const struct nvdp__short_text clip = nvdp__bound_below(radius);
    printf("If a sequence clip proves these nats (C = %s), at most %s name the right one of %zu "
           "texts: nvdp explain\n--clip-sequence %s\n\n",
           clip.text, nvdp__share_bound(nvdp_guess_bound(1 / texts, radius, 1, 0)).text, v->texts,
           clip.text);
    puts(
        "Sources: for two texts (1 + TV)/2 with TV <= sqrt(1 - e^-KL) (Bretagnolle & Huber 1979), "
        "where KL is at most\na divergence of an order above 1; otherwise the data processing "
        "inequality (van Erven & Harremoes 2014) for\ntwo outcomes, which is Fano's inequality at "
        "order 1 (Polyanskiy & Verdu 2010). A bound of 100 % excludes\nnothing. nvdp privacy "
        "--exact shows what is possible, and nvdp attack --kind reidentify what an attacker does.");
}

static json_t *to_json(const struct values *v, double nats) {
    const double mu = sqrt(2 * nats / v->order), texts = (double)v->texts;
    json_t *alarms = json_array();
    for (size_t i = 0; i < FPRS; i++)
        json_array_append_new(
            alarms, json_pack("{s:f, s:o, s:o}", "fpr", fprs[i], "bound",
                              cli_number(nvdp_renyi_probability_bound(v->order, nats, fprs[i])),
                              "gaussian", cli_number(true_positives(fprs[i], mu))));
    return json_pack("{s:o, s:f, s:I, s:f, s:{s:f, s:o, s:o}, s:o, s:{s:I, s:f, s:o, s:o}}", "nats",
                     cli_number(nats), "order", v->order, "releases", (json_int_t)v->releases,
                     "gaussian_mu", mu, "right_of_two", "chance", .5, "bound",
                     cli_number(right(nats)), "gaussian", cli_number(gsl_cdf_ugaussian_P(mu / 2)),
                     "true_positives", alarms, "named", "texts", (json_int_t)v->texts, "chance",
                     1 / texts, "bound",
                     cli_number(nvdp_renyi_probability_bound(v->order, nats, 1 / texts)),
                     "gaussian", cli_number(named(texts, mu)));
}

/* Reads a number with an optional unit in the same or the next argument. *unit is "nats", "epsilon" or "". */
static bool read_number(const struct cli *cli, double *value, const char **unit) {
    char *end = NULL;
    *value = strtod(cli->arg[0], &end);
    if (end == cli->arg[0]) return false;
    while (*end == ' ')
        end++;
    *unit = *end != '\0' ? end : cli->args > 1 ? cli->arg[1] : "";
    return (*end == '\0' || cli->args == 1) && cli->args <= 2 &&
           (**unit == '\0' || strcmp(*unit, "nats") == 0 || strcmp(*unit, "epsilon") == 0) &&
           *value >= 0 && *value <= 1e9;
}

static int run(struct cli *cli) {
    struct values values = {.order = 1.1, .texts = 872, .releases = 1};
    struct stat info;
    double number = 0;
    const char *unit = "";
    CLI_TRY(cli_begin(cli, &values));
    if (cli_given(cli, "need")) {
        static const char *const alone[] = {"need", NULL};
        const char *other = cli_given_one(cli, alone, false);
        if (cli->args > 0 || other != NULL)
            return cli_usage(cli, "option --need explains no guarantee: leave out %s%s",
                             cli->args > 0 ? "" : "--", cli->args > 0 ? cli->arg[0] : other);
        return explain_need(cli, values.need);
    }
    const bool there = cli->args > 0 && stat(cli->arg[0], &info) == 0;
    /* NULL for a file of a release, or for a folder of such files. */
    nvdp__autoptr(json_decref) json_t *config =
        there && S_ISDIR(info.st_mode) ? cli_run_config(cli->arg[0]) : NULL;
    if (values.assessment && (config == NULL || cli_given(cli, "clip-sequence") ||
                              cli_given(cli, "texts") || cli_given(cli, "attribute")))
        return cli_usage(cli, "option --assessment: expected a RUN, and besides at most "
                              "--baseline, --delta and --releases");
    if (cli_given(cli, "clip-sequence")) {
        if (cli->args > 0)
            return cli_usage(cli, "expected exactly one of --clip-sequence and '%s'", cli->arg[0]);
        return explain_clip(cli, &values);
    }
    if (cli->args == 0)
        return cli_usage(cli, "expected a number of nats, an epsilon, a RUN, a shared FILE, or "
                              "--clip-sequence; found none");
    if (config != NULL) return explain_run(cli, &values);
    if (there) return explain_file(cli, &values);
    if (!read_number(cli, &number, &unit))
        return cli_usage(cli,
                         "expected a number of nats or an epsilon from 0 to 1e9, the folder of a "
                         "run, or a shared file, found '%s%s%s'",
                         cli->arg[0], cli->args > 1 ? " " : "", cli->args > 1 ? cli->arg[1] : "");
    if (strcmp(unit, "epsilon") == 0) return explain_epsilon(cli, &values, number);
    number *= (double)values.releases;
    if (cli->json) return cli_print_json(cli, to_json(&values, number));
    print(&values, number);
    if (*unit == '\0')
        printf("\n%s was read as nats. For an epsilon: nvdp explain '%s epsilon'\n", cli->arg[0],
               cli->arg[0]);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_explain = {
    .name = "explain",
    .summary = "translate a guarantee into how often guesses about a text are right",
    .args = "[NATS [nats] | EPSILON epsilon | RUN | FILE]...",
    .description =
        "Prints upper bounds on how often a guess about a text is right. The attacker has a "
        "sample, the model and any other knowledge; the bound depends on how often the guess is "
        "right without the sample. Bounds exist for a run, a shared file, an epsilon, a sequence "
        "clip, or a Renyi divergence in nats (docs/certified.md, docs/privacy.md). With --need, "
        "prints what to give away for a need (docs/budget.md).",
    .examples = "Examples:\n"
                "  nvdp explain --need all\n"
                "  nvdp explain runs/mine --baseline 0.001\n"
                "  nvdp explain runs/mine --assessment\n"
                "  nvdp explain shared.h5\n"
                "  nvdp explain 16 epsilon\n"
                "  nvdp explain --clip-sequence 2 --texts 872 --attribute 0.12\n"
                "  nvdp explain 23 nats\n"
                "  nvdp explain 0.5 --texts 10000 --releases 4\n",
    .heading = "Options:",
    .options = options,
    .run = run,
};
