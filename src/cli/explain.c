/* nvdp explain: what so many nats let a reader do. */
#include "common.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct values {
    double order;
    size_t texts, releases;
};

static const struct nvdp_option options[] = {
    {"order", NVDP_OPTION_REAL, "X", "of the Renyi divergence, at least 1; 1: Kullback-Leibler",
     .default_value = "1.1", NVDP_OPTION_AT(struct values, order), .min = 1, .max = 1e6},
    {"texts", NVDP_OPTION_INTEGER, "N", "name a sample's text among so many",
     .default_value = "872", NVDP_OPTION_AT(struct values, texts), .min = 2, .max = 1e15,
     .unit = "texts"},
    {"releases", NVDP_OPTION_INTEGER, "N", "samples of a text; each adds the same nats",
     .default_value = "1", NVDP_OPTION_AT(struct values, releases), .min = 1, .max = 1e9,
     .unit = "samples"},
    {0},
};

/* --- the example that the bounds stand beside: Gaussians of equal variance, mu apart, D_l = l mu^2 / 2 --- */

/* N texts, each mu from each other: int phi(x - mu/sqrt 2) Phi(x)^(N-1) dx, by the trapezoidal rule. */
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

/* Of two equally likely texts, (1 + TV)/2:  TV^2 <= 1 - e^-KL, and KL is at most the divergence of an order above 1. */
static double right(double nats) {
    return (1 + sqrt(-expm1(-nats))) / 2;
}

static const double fprs[] = {0.001, 0.01, 0.1};
enum { FPRS = sizeof fprs / sizeof *fprs };

/* "%.4g", and never rounded to all. */
static const char *share(double value, char text[24]) {
    if (value < 1 && value > 0.9999)
        snprintf(text, 24, "> 99.99 %%");
    else
        snprintf(text, 24, "%.4g %%", 100 * value);
    return text;
}

static void row(const char *what, double chance, double most, double gaussian) {
    char a[24], b[24], c[24];
    printf("  %-46s %12s %12s %12s\n", what, share(chance, a), share(most, b), share(gaussian, c));
}

static void print(const struct values *v, double nats) {
    const double mu = sqrt(2 * nats / v->order), texts = (double)v->texts;
    const double some = v->texts < 20 ? (1 + 1 / texts) / 2 : .1; /* more than chance */
    const double log_some[] = {log(some), log1p(-some)},
                 log_one[] = {-log(texts), log1p(-1 / texts)};
    char text[96], a[24];
    printf(
        "%g nats between the samples of any two texts, either way: a Renyi divergence of order %g "
        "of all that\nis shared, as in the row \"sum\" of nvdp privacy. A reader who has the "
        "model does at most what the bound\nsays, and for example what is behind it, where the "
        "noise is Gaussian, %.3g standard deviations between\nany two texts:\n\n",
        nats, v->order, mu);
    printf("  %-46s %12s %12s %12s\n", "", "chance", "bound", "for example");
    row("of two texts, names the right one", .5, right(nats), gsl_cdf_ugaussian_P(mu / 2));
    for (size_t i = 0; i < FPRS; i++) {
        snprintf(text, sizeof text, "recognises a text, false alarms %g %%", 100 * fprs[i]);
        row(text, fprs[i], nvdp_renyi_most(v->order, nats, fprs[i]), true_positives(fprs[i], mu));
    }
    snprintf(text, sizeof text, "of %zu texts, names the right one", v->texts);
    row(text, 1 / texts, nvdp_renyi_most(v->order, nats, 1 / texts), named(texts, mu));
    printf(
        "\nOn average (geometric) samples favour the right text over another by a factor of e^%g = "
        "%.3g at most. Of\n%zu texts %s may be named from %.3g nats on, all from log %zu = %.3g. "
        "Nats that are a mean or a maximum\nover pairs say less: texts that are nearer than that "
        "are taken for one another.\n\n",
        nats, exp(nats), v->texts, share(some, a),
        nvdp_renyi_discrete(v->order, 2, log_some, log_one), v->texts, log(texts));
    puts(
        "Bounds: right of two (1 + TV)/2, TV <= sqrt(1 - e^-KL) (Bretagnolle & Huber 1979), KL no "
        "larger than a\ndivergence of an order above 1; the others: no processing raises a "
        "divergence (van Erven & Harremoes 2014),\nof two outcomes; at order 1 that is Fano's "
        "inequality (Polyanskiy & Verdu 2010). A bound of 100 % says\nnothing: what is possible is "
        "told by nvdp privacy --exact, what is done by nvdp attack --kind reidentify.");
}

static json_t *to_json(const struct values *v, double nats) {
    const double mu = sqrt(2 * nats / v->order), texts = (double)v->texts;
    json_t *alarms = json_array();
    for (size_t i = 0; i < FPRS; i++)
        json_array_append_new(alarms,
                              json_pack("{s:f, s:o, s:o}", "fpr", fprs[i], "bound",
                                        cli_number(nvdp_renyi_most(v->order, nats, fprs[i])),
                                        "gaussian", cli_number(true_positives(fprs[i], mu))));
    return json_pack("{s:o, s:f, s:I, s:f, s:{s:f, s:o, s:o}, s:o, s:{s:I, s:f, s:o, s:o}}", "nats",
                     cli_number(nats), "order", v->order, "releases", (json_int_t)v->releases,
                     "gaussian_mu", mu, "right_of_two", "chance", .5, "bound",
                     cli_number(right(nats)), "gaussian", cli_number(gsl_cdf_ugaussian_P(mu / 2)),
                     "true_positives", alarms, "named", "texts", (json_int_t)v->texts, "chance",
                     1 / texts, "bound", cli_number(nvdp_renyi_most(v->order, nats, 1 / texts)),
                     "gaussian", cli_number(named(texts, mu)));
}

static int run(struct cli *cli) {
    struct values values = {.order = 1.1, .texts = 872, .releases = 1};
    char *end = NULL;
    CLI_TRY(cli_begin(cli, &values));
    double nats = strtod(cli->arg[0], &end);
    while (*end == ' ')
        end++;
    if (end == cli->arg[0] || (*end != '\0' && strcmp(end, "nats") != 0) ||
        !(nats >= 0 && nats <= 1e9) || cli->args > 2 ||
        (cli->args == 2 && strcmp(cli->arg[1], "nats") != 0))
        return cli_usage(cli, "expected a number of nats, 0 to 1e9, found '%s%s%s'", cli->arg[0],
                         cli->args > 1 ? " " : "", cli->args > 1 ? cli->arg[1] : "");
    nats *= (double)values.releases;
    if (cli->json) return cli_print_json(cli, to_json(&values, nats));
    print(&values, nats);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_explain = {
    .name = "explain",
    .summary = "what so many nats let a reader do",
    .args = "NATS [nats]...",
    .description =
        "Says what a Renyi divergence of so many nats between any two texts lets somebody do who "
        "has the model and a sample: tell two texts apart, recognise one with few false alarms, "
        "name the text among N; each as a bound that holds whatever the noise is, and for Gaussian "
        "noise: docs/privacy.md, What nats let a reader do.",
    .examples = "Examples:\n"
                "  nvdp explain 23 nats\n"
                "  nvdp explain 0.5 --texts 10000 --releases 4\n",
    .heading = "Options:",
    .options = options,
    .run = run,
};
