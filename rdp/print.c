/* The report for people. */
#include <math.h>
#include <nvdp/privacy.h>

enum { ROOM = 24 };

/* "inf" is said as such; finite numbers in four digits. */
static const char *number(char text[ROOM], double value) {
    if (isnan(value)) {
        snprintf(text, ROOM, "-");
    } else if (isinf(value)) {
        snprintf(text, ROOM, "%s", value > 0 ? "inf" : "-inf");
    } else if (value != 0 && (fabs(value) < 1e-3 || fabs(value) >= 1e7)) {
        snprintf(text, ROOM, "%.3e", value);
    } else {
        snprintf(text, ROOM, "%.4f", value);
    }
    return text;
}

static void cell(FILE *to, double value) {
    char text[ROOM];
    fprintf(to, " %12s", number(text, value));
}

static void print_head(const struct nvdp_privacy_report *report, FILE *to) {
    const struct nvdp_pairs_summary *pairs = &report->pairs;
    fprintf(to, "Privacy of %zu texts", pairs->texts);
    if (report->method[0] != '\0') fprintf(to, ", method %s", report->method);
    fprintf(to, "\nA sample has %s%zu components of %zu dimensions",
            report->policy == NVDP_LENGTH_HIDDEN ? "" : "up to ", report->components, report->dim);
    if (report->kappa > 1) fprintf(to, ", %d vectors a component", report->kappa);
    fprintf(to, "; length %s.\n",
            report->policy == NVDP_LENGTH_HIDDEN ? "hidden" : "public (different lengths: inf)");
    fputs("Measured on the given texts; not a bound over all texts.\n\n", to);
}

static void print_row(FILE *to, const char *name, const struct nvdp_divergence_summary *from,
                      const char *note) {
    fprintf(to, "  %-20s", name);
    cell(to, from->max);
    cell(to, from->mean);
    for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
        cell(to, from->quantile[level]);
    }
    fprintf(to, "%s%s\n", *note != '\0' ? "  " : "", note);
}

static void print_infinite(const struct nvdp_pairs_summary *pairs, FILE *to) {
    if (pairs->infinite == 0) {
        fputs("  No pair is infinite.\n", to);
        return;
    }
    char max[ROOM], mean[ROOM];
    double share = 100.0 * (double)pairs->infinite / (double)pairs->pairs;
    /* A share is never rounded to none or to all. */
    if (share < 0.1) {
        fprintf(to, "  less than 0.1 %% of pairs infinite (%zu): max and mean are inf; ",
                pairs->infinite);
    } else if (pairs->infinite < pairs->pairs && share > 99.9) {
        fprintf(to, "  more than 99.9 %% of pairs infinite (%zu): max and mean are inf; ",
                pairs->infinite);
    } else {
        fprintf(to, "  %.1f %% of pairs infinite (%zu): max and mean are inf; ", share,
                pairs->infinite);
    }
    if (pairs->infinite == pairs->pairs) {
        fputs("no pair is finite.\n", to);
        return;
    }
    fprintf(to,
            "over the finite pairs only, the sum's max %s, mean %s (not a privacy statement).\n",
            number(max, pairs->sum.max_finite), number(mean, pairs->sum.mean_finite));
}

/* "a to b" */
static void print_interval(FILE *to, const char *name, const struct nvdp_interval *from) {
    char low[ROOM], high[ROOM];
    fprintf(to, "%s %s to %s", name, number(low, from->low), number(high, from->high));
}

/* What the drawn pairs say of all, and what does not rest on them. */
static void print_sample(const struct nvdp_pairs_summary *pairs, FILE *to) {
    const struct nvdp_pairs_sample *sample = &pairs->sample;
    char mean[ROOM];
    fprintf(
        to,
        "  max is over all pairs, by bounds: the full sums of %zu of them were computed. All "
        "else is estimated from\n  %zu pairs, drawn uniformly. Intervals at %g %% of the sum:\n   ",
        sample->summed, sample->drawn, 100 * sample->confidence);
    if (isfinite(pairs->sum.max)) {
        print_interval(to, " mean", &sample->mean);
        print_interval(to, " (whatever the distribution:", &sample->mean_bound);
        fputs(");\n   ", to);
    }
    for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
        char name[ROOM];
        snprintf(name, sizeof name, " %g %%:", 100 * nvdp_pair_quantile_level[level]);
        print_interval(to, name, &sample->quantile[level]);
        fputs(level + 1 < NVDP_PAIR_QUANTILES ? ";" : ".\n", to);
    }
    if (isfinite(pairs->sum.max)) {
        fputs("  No pair is infinite, of all.\n", to);
        return;
    }
    fprintf(
        to,
        "  Some pair is infinite: max and mean are inf. Of the drawn ones %zu are; of all, %.3g "
        "to %.3g %%. Over the finite\n  drawn ones only, the sum's mean is %s",
        pairs->infinite, 100 * sample->infinite_share.low, 100 * sample->infinite_share.high,
        number(mean, pairs->sum.mean_finite));
    print_interval(to, ",", &sample->mean);
    fputs(" (not a privacy statement).\n", to);
}

static void print_divergences(const struct nvdp_privacy_report *report, FILE *to) {
    const struct nvdp_pairs_summary *pairs = &report->pairs;
    int releases = report->bdp.releases;
    char note[96] = "what is shared";
    if (releases > 1)
        snprintf(note, sizeof note, "what one release shares; the %d releases: %d times that",
                 releases, releases);
    bool same = pairs->adjacency == NVDP_ADJACENT_SAME_LENGTH;
    bool exact = pairs->arithmetic == NVDP_PAIRS_EXACT;
    fprintf(to, "Renyi divergence of order %g in nats, over %zu ordered pairs%s\n", pairs->order,
            pairs->pairs, same ? " of the same length" : "");
    fprintf(to, "  Arithmetic %s.\n",
            exact ? "exact: within 1e-12" : "fast: within 1e-6, max within 1e-12");
    fprintf(to, "  %-20s %12s %12s", "", "max", "mean");
    for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
        char name[ROOM];
        snprintf(name, sizeof name, "%g %%", 100 * nvdp_pair_quantile_level[level]);
        fprintf(to, " %12s", name);
    }
    fputc('\n', to);
    print_row(to, "sum", &pairs->sum, note);
    print_row(to, "per component", &pairs->per_component, "");
    print_row(to, "per component, dim", &pairs->per_component_dim,
              "as in the published tables; not a privacy guarantee");
    if (pairs->sample.drawn > 0) {
        print_sample(pairs, to);
    } else {
        print_infinite(pairs, to);
    }
    fprintf(to,
            "  The largest sum is that of text %zu against text %zu, numbered from 0 among the "
            "measured.\n\n",
            pairs->sum.max_p, pairs->sum.max_q);
}

static void print_column(FILE *to, const char *name, const struct nvdp_bdp_column *from) {
    const struct nvdp_bdp_cost *worst = &from->worst;
    /* Where epsilon is infinite every moment gives it: none was found, and no floor is met. */
    bool found = isfinite(worst->epsilon);
    char moment[ROOM] = "-";
    if (found) snprintf(moment, sizeof moment, "%g", worst->moment);
    fprintf(to, "  %-20s", name);
    cell(to, worst->epsilon);
    cell(to, from->mean_epsilon);
    cell(to, found ? from->floor : NAN);
    fprintf(to, " %12s", moment);
    cell(to, worst->max);
    cell(to, worst->log_mean);
    cell(to, worst->log_sd);
    fprintf(to, " %12zu", from->infinite_texts);
    fputc('\n', to);
}

static void print_bayesian(const struct nvdp_privacy_report *report, FILE *to) {
    char t[ROOM];
    fprintf(to, "Bayesian DP: epsilon at delta %g, gamma %g, %d release%s of a text\n",
            report->bdp.delta, report->bdp.gamma, report->bdp.releases,
            report->bdp.releases == 1 ? "" : "s");
    if (report->bdp_texts < report->pairs.texts) {
        fprintf(to, "  among %zu of the texts, drawn uniformly\n", report->bdp_texts);
    }
    fprintf(to, "  %-20s %12s %12s %12s %12s %12s %12s %12s %12s\n", "", "worst text", "mean",
            "floor", "moment k", "max X", "log M", "log S", "inf texts");
    print_column(to, "published k", &report->published);
    print_column(to, "best k", &report->best);
    fprintf(to,
            "  floor: log(1/delta)/k, the least that this k gives, to equal texts.  Population m = "
            "%zu, Student t = %s.\n",
            report->published.worst.m, number(t, report->published.worst.t));
    if (report->small_population) {
        fputs(
            "  warning: fewer than 64 other texts for some text: the bound is not to be trusted.\n",
            to);
    }
}

/* One line about what stands behind the divergences. */
static void print_posterior(const struct nvdp_posterior_summary *from, FILE *to) {
    char a[ROOM], b[ROOM], c[ROOM];
    fprintf(to, "Posteriors of %zu tokens: mean |mu| %s, mean sigma %s", from->tokens,
            number(a, from->mean_abs_mu), number(b, from->mean_sigma));
    if (from->weighted) {
        fprintf(to,
                ";\n  effective number of vectors of a text (exp of the weights' entropy) %s on "
                "average,\n  from %s (5 %%)",
                number(a, from->vectors.mean), number(b, from->vectors.quantile[0]));
        fprintf(to, " to %s (95 %%); tokens hold %s of the pseudo-counts",
                number(b, from->vectors.quantile[NVDP_SPREAD_QUANTILES - 1]),
                number(c, from->token_share.mean));
    }
    fputs(".\n", to);
}

void nvdp_privacy_report_print(const struct nvdp_privacy_report *report, FILE *to) {
    print_head(report, to);
    print_divergences(report, to);
    print_bayesian(report, to);
    print_posterior(&report->posterior, to);
}
