/* One step of DP-SGD with finitely many losses: cells, their masses, complex log moments, and
 * refined cells. */
#include "account/account.h"

#include "rdp/divergence.h"
#include "tensor/vector.h"

#include <float.h>
#include <gsl/gsl_sf_erf.h>
#include <stdlib.h>

/* ---- cells ---- */

static const double COARSE = 0.15; /* width of a cell, in standard deviations */

/* Returns the end of the cell that begins at t. Densities vary over a standard deviation, and
 * far out over 1/|t|. L bends over a range of sigma at `bend`, where both terms of the mixture
 * are equal. Far between the two means, neither density matters. */
static double next_end(const struct nvdp__step *step, double t, double bend) {
    const double mean = 1 / step->noise, between = fmin(fmin(t, mean - t), 5);
    const double far = fmax(fmax(-t, t - mean), between);
    const double distance = t < bend ? 0.7 * (bend - t) : t - bend;
    const double scale = fmin(1, fmax(step->noise, 0.3 * distance));
    return t + fmin(COARSE * scale, 1 / (1 + far));
}

nvdp_status nvdp__step_cells(struct nvdp_context *ctx, const struct nvdp_dp_steps *of,
                             double log_infinite, struct nvdp__step *out) {
    struct nvdp__step made = {of->noise, of->rate, (double)of->steps, exp(log_infinite), 0, NULL};
    /* uses P(|t| > reach) <= e^(-reach^2/2) on either side */
    const double reach = sqrt(2 * fmax(log(made.times) - log_infinite, 0.5));
    const double low = -reach, high = 1 / of->noise + reach;
    const double bend = 1 / (2 * of->noise) + of->noise * (log1p(-of->rate) - log(of->rate));
    for (double t = low; t < high; t = next_end(&made, t, bend))
        made.n++;
    NVDP_TRY(NVDP__NEW(ctx, made.end, made.n + 1));
    made.end[0] = low;
    for (size_t i = 1; i < made.n; i++)
        made.end[i] = next_end(&made, made.end[i - 1], bend);
    made.end[made.n] = high;
    *out = made;
    return NVDP_OK;
}

void nvdp__step_free(struct nvdp__step *step) {
    free(step->end);
}

/* ---- masses ---- */

/* Nodes of Gauss-Legendre quadrature with seven points. */
static const double node[7] = {-0.94910791234275852, -0.74153118559939444, -0.40584515137739717, 0,
                               0.40584515137739717,  0.74153118559939444,  0.94910791234275852};
static const double node_weight[7] = {0.12948496616886969, 0.27970539148927667, 0.38183005050511894,
                                      0.41795918367346939, 0.38183005050511894, 0.27970539148927667,
                                      0.12948496616886969};

/* Returns log (Phi(b) - Phi(a)): by quadrature if the density changes by at most a factor of
 * about e, else by the hazard phi/(1 - Phi) at the two ends. */
static double log_normal(double a, double b) {
    if (b <= 0) return log_normal(-b, -a);
    const double from = fmax(a, 0), base = -from * from / 2 - NVDP__HALF_LOG_2PI;
    if (a >= 0 && (b - a) * b > 1)
        return base + log(1 / gsl_sf_hazard(a) - exp(-(b - a) * (b + a) / 2) / gsl_sf_hazard(b));
    double sum = 0;
    for (int g = 0; g < 7; g++) {
        const double t = (a + b) / 2 + node[g] * (b - a) / 2;
        sum += node_weight[g] * exp((from - t) * (from + t) / 2);
    }
    return base + log(sum * (b - a) / 2);
}

/* Computes the log of the base's mass of the cell [a, b], divided between the ends of the cell.
 * With d = (b - a)/sigma, the share of b at t is (e^(c(t) - c(a)) - 1) / (e^d - 1). */
static void divide(const struct nvdp__step *step, double a, double b, double ends[2]) {
    const double d = (b - a) / step->noise;
    if (d <= 0.5) {
        double down = 0, up = 0;
        for (int g = 0; g < 7; g++) {
            const double t = (a + b) / 2 + node[g] * (b - a) / 2;
            const double mass = node_weight[g] * exp((a - t) * (a + t) / 2);
            const double share = expm1((t - a) / step->noise) / expm1(d);
            down += mass * (1 - share);
            up += mass * share;
        }
        const double scale = log((b - a) / 2) - a * a / 2 - NVDP__HALF_LOG_2PI;
        ends[0] = scale + log(down);
        ends[1] = scale + log(up);
        return;
    }
    const double mean = 1 / step->noise, to = (b - mean / 2) / step->noise;
    const double base = log_normal(a, b), moved = log_normal(a - mean, b - mean);
    /* log of the mean of e^(c(t) - c(b)) in the cell */
    const double ratio = fmin(moved - to - base, 0);
    ends[0] = base + log1p(-exp(ratio)) - log1p(-exp(-d));
    ends[1] = base + ratio + log1p(-fmin(exp(-d - ratio), 1)) - log1p(-exp(-d));
}

static double upper_tail(double t) {
    return erfc(t * M_SQRT1_2) / 2;
}

/* Adds the mass beyond the ends. P's mass at losses above all cells becomes an infinite loss;
 * P's mass at losses below all cells joins the lowest loss. */
static void add_tails(const struct nvdp__step *step, struct nvdp__atoms *to) {
    const double mean = 1 / step->noise, q = step->rate;
    const double low = step->end[0], high = step->end[step->n];
    const double base_low = upper_tail(-low), base_high = upper_tail(high);
    const double mixed_low = (1 - q) * base_low + q * upper_tail(mean - low);
    const double mixed_high = (1 - q) * base_high + q * upper_tail(high - mean);
    if (to->direction == NVDP__PRESENT) {
        const double kept = mixed_low * exp(-to->loss[0]);
        to->log_mass[0] = nvdp__log_add(to->log_mass[0], log(kept));
        to->base_less = -base_high - (base_low - kept);
        to->mixture_less = -mixed_high - to->base_less;
    } else {
        const size_t last = to->n - 1;
        to->log_mass[last] = nvdp__log_add(to->log_mass[last], log(base_high));
        to->base_less = -base_low;
        to->mixture_less =
            -mixed_low - fmax(mixed_high - exp(to->loss[last] + log(base_high)), 0) - to->base_less;
    }
}

nvdp_status nvdp__step_atoms(struct nvdp_context *ctx, const struct nvdp__step *step,
                             enum nvdp__direction direction, struct nvdp__atoms *out) {
    nvdp__auto(nvdp__atoms_free) struct nvdp__atoms made = {.n = step->n + 1,
                                                            .direction = direction};
    NVDP_TRY(NVDP__ARRAYS(ctx, &made.memory, NVDP__ITEMS(made.loss, made.n),
                          NVDP__ITEMS(made.log_mass, made.n)));
    for (size_t i = 0; i < made.n; i++) {
        made.loss[i] = nvdp__step_loss(step->end[i], step->noise, step->rate);
        made.log_mass[i] = -INFINITY;
    }
    for (size_t i = 0; i < step->n; i++) {
        double ends[2];
        divide(step, step->end[i], step->end[i + 1], ends);
        for (int e = 0; e < 2; e++)
            made.log_mass[i + e] = nvdp__log_add(made.log_mass[i + e], ends[e]);
    }
    add_tails(step, &made);
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

void nvdp__atoms_free(struct nvdp__atoms *atoms) {
    nvdp__memory_release(&atoms->memory);
}

/* ---- moments ---- */

/* e^x - 1 - x */
static double exp_rest(double x) {
    if (fabs(x) > 0.5) return expm1(x) - x;
    double term = x * x / 2, sum = term;
    for (int j = 3; fabs(term) > 1e-18 * fabs(sum); j++) {
        term *= x / j;
        sum += term;
    }
    return sum;
}

/* Returns the exponent of w whose mean under the base is E_P e^(kL); if P is the base, E_P
 * e^(-kL). */
static double exponent(const struct nvdp__atoms *atoms, double k) {
    return atoms->direction == NVDP__PRESENT ? k + 1 : -k;
}

/* With b the base's masses and y = x L, a moment is
 *
 *     sum b e^y  =  1 + sum b (e^y - 1 - y) - x sum b (w - 1 - L) + base_less + x mixture_less,
 *
 * using sum b (w - 1) = mixture_less. The sums on the right are of second order in the losses,
 * so small losses keep their digits. */
static double largest_log_term(const struct nvdp__atoms *atoms, double x) {
    double top = 0;
    for (size_t i = 0; i < atoms->n; i++)
        top = fmax(top, atoms->log_mass[i] + x * atoms->loss[i]);
    return top;
}

/* Returns b (e^y - 1 - y), times e^-top. */
static double scaled_rest(double log_mass, double y, double top) {
    return fabs(y) < 1 ? exp(log_mass - top) * exp_rest(y)
                       : exp(log_mass + y - top) - exp(log_mass - top) * (1 + y);
}

static double lacking(const struct nvdp__atoms *atoms, double x, double top) {
    return exp(-top) * (atoms->base_less + x * atoms->mixture_less);
}

double nvdp__atoms_log_moment(const struct nvdp__atoms *atoms, double k) {
    const double x = exponent(atoms, k), top = largest_log_term(atoms, x);
    double sum = lacking(atoms, x, top);
    for (size_t i = 0; i < atoms->n; i++)
        sum += scaled_rest(atoms->log_mass[i], x * atoms->loss[i], top) -
               x * scaled_rest(atoms->log_mass[i], atoms->loss[i], top);
    return top > 0 ? top + log(exp(-top) + sum) : log1p(fmax(sum, -1));
}

/* At a complex exponent x + iv, h = v L,
 *
 *     sum b w^(x + iv)  =  sum b w^x  -  2 sum b w^x sin^2(h/2)  +  i sum b w^x sin h.
 *
 * A weight has an error of `units` in the last place, and an angle has an error of one unit.
 * Rotating an angle TURNS times adds TURNS units. */
enum { TURNS = 32 };

nvdp_status nvdp__tilt(struct nvdp_context *ctx, const struct nvdp__atoms *atoms, double k,
                       double lost, struct nvdp__tilted *out) {
    *out = (struct nvdp__tilted){.atoms = atoms, .x = exponent(atoms, k)};
    NVDP_TRY(NVDP__ARRAYS(ctx, &out->memory, NVDP__ITEMS(out->loss, atoms->n),
                          NVDP__ITEMS(out->weight, atoms->n),
                          NVDP__ITEMS(out->rotation, 4 * atoms->n)));
    out->top = largest_log_term(atoms, out->x);
    out->sum = lacking(atoms, out->x, out->top);
    for (size_t i = 0; i < atoms->n; i++) {
        const double log_mass = atoms->log_mass[i], loss = fabs(atoms->loss[i]);
        const double y = out->x * atoms->loss[i], plain = exp(log_mass - out->top);
        const double drift = out->x * scaled_rest(log_mass, atoms->loss[i], out->top);
        const double weight = exp(log_mass + y - out->top);
        out->sum += scaled_rest(log_mass, y, out->top) - drift;
        if (plain == 0 && weight == 0) continue;
        const double units = 8 + fabs(log_mass) + fabs(y);
        const double size = fabs(y) < 1 ? (weight + plain) * y * y : weight + plain * (1 + fabs(y));
        out->error_parts[0] += units * (size + fabs(drift));
        if (weight < lost / (double)atoms->n) {
            out->error_parts[0] += weight / DBL_EPSILON;
            continue;
        }
        out->loss[out->n] = atoms->loss[i];
        out->weight[out->n++] = weight;
        out->error_parts[1] += (units + TURNS) * weight * loss;
        out->error_parts[2] += (units + TURNS) * weight * loss * loss;
        out->error_parts[3] += (units + TURNS) * weight;
    }
    return NVDP_OK;
}

/* Sums the weights times sin^2 and sin cos of the half angles, and rotates the angles to the
 * next node. */
NVDP__CLONES static void rotate_all(size_t n, const double *weight, const double *rotation,
                                    double *angle, double sums[2]) {
    double square = 0, product = 0;
#pragma omp simd reduction(+ : square, product)
    for (size_t i = 0; i < n; i++) {
        const double sine = angle[i], cosine = angle[n + i];
        square += weight[i] * sine * sine;
        product += weight[i] * sine * cosine;
        angle[i] = sine * rotation[n + i] + cosine * rotation[i];
        angle[n + i] = cosine * rotation[n + i] - sine * rotation[i];
    }
    sums[0] = square;
    sums[1] = product;
}

static struct nvdp__log_moment at_node(const struct nvdp__tilted *tilted, double u,
                                       const double sums[2]) {
    const double *error_parts = tilted->error_parts, unit = exp(-tilted->top);
    const double real = tilted->sum - 2 * sums[0];
    const double imaginary = tilted->atoms->direction == NVDP__PRESENT ? 2 * sums[1] : -2 * sums[1];
    const double error =
        4 * DBL_EPSILON *
        (error_parts[0] + fmin(u * u * error_parts[2], 2 * error_parts[3]) + u * error_parts[1]);
    const double moment = fmax(hypot(unit + real, imaginary), error);
    return (struct nvdp__log_moment){tilted->top > 0 || moment < 0.5
                                         ? tilted->top + log(moment)
                                         : log1p(real * (2 + real) + imaginary * imaginary) / 2,
                                     atan2(imaginary, unit + real), error > 0 ? error / moment : 0};
}

void nvdp__tilted_moments(struct nvdp__tilted *tilted, double spacing, size_t n,
                          struct nvdp__log_moment *out) {
    const size_t atoms = tilted->n;
    double *rotation = tilted->rotation, *angle = rotation + 2 * atoms;
    for (size_t i = 0; i < atoms; i++) {
        rotation[i] = sin(spacing * tilted->loss[i] / 2);
        rotation[atoms + i] = cos(spacing * tilted->loss[i] / 2);
    }
    for (size_t j = 0; j < n; j++) {
        double sums[2];
        const double u = (double)j * spacing;
        for (size_t i = 0; i < atoms && j % TURNS == 0; i++) {
            angle[i] = sin(u * tilted->loss[i] / 2);
            angle[atoms + i] = cos(u * tilted->loss[i] / 2);
        }
        rotate_all(atoms, tilted->weight, rotation, angle, sums);
        out[j] = at_node(tilted, u, sums);
    }
}

/* ---- finer cells ---- */

enum { MAX_CELLS = 30000 };

/* The contribution of a cell to delta. For a difference d of losses, "connecting the dots" adds
 * a variance of d^2/6, and a variance v adds v/2 times the density of the loss. */
struct excess {
    double tilted; /* log of the cell's share of delta */
    double single; /* number of parts into which a single step would divide the cell */
};

/* Computes the excess of a cell. For all steps together: a step has a loss in the cell with P's
 * probability, tilted by e^(kL) and divided by the step's moment. For a single step with a loss
 * near epsilon: the cell adds at most P d/8 to delta and, for a curve that decreases like
 * e^(-slope x), the share (slope d)^2/8. */
static struct excess cell_excess(const struct nvdp__step *step, enum nvdp__direction direction,
                                 size_t i, const struct nvdp__local *local, double log_moment,
                                 double error) {
    const double k = local->k;
    double ends[2], loss[2];
    divide(step, step->end[i], step->end[i + 1], ends);
    for (int e = 0; e < 2; e++) {
        const double log_ratio = nvdp__step_loss(step->end[i + e], step->noise, step->rate);
        loss[e] = direction == NVDP__PRESENT ? log_ratio : -log_ratio;
        if (direction == NVDP__PRESENT) ends[e] += log_ratio;
    }
    const double d = fabs(loss[1] - loss[0]), larger = fmax(loss[0], loss[1]);
    struct excess made = {log(step->times * k * (k + 1) * d * d / 12) - log_moment +
                              nvdp__log_add(ends[0] + k * loss[0], ends[1] + k * loss[1]),
                          1};
    if (larger > local->epsilon / 4 && larger - d < 2 * local->epsilon) {
        const double share =
            step->times * d / 8 * exp(nvdp__log_add(ends[0], ends[1]) - local->log_delta);
        made.single = sqrt(fmin(share, pow(local->slope * d, 2) / 8) / error);
    }
    return made;
}

/* m parts leave 1/m^2 of a cell's excess e; with m proportional to e^(1/3), a small number of
 * cells leaves a small excess. */
nvdp_status nvdp__step_refine(struct nvdp_context *ctx, const struct nvdp__step *coarse,
                              enum nvdp__direction direction, const struct nvdp__local *local,
                              double error, struct nvdp__step *out) {
    nvdp__auto(nvdp__step_free) struct nvdp__step made = *coarse;
    nvdp__auto(nvdp__atoms_free) struct nvdp__atoms atoms = {0};
    nvdp__autofree struct excess *excess = NULL;
    double sum = 0;
    made.end = NULL;
    made.n = 0;
    NVDP_TRY(NVDP__NEW(ctx, excess, coarse->n));
    NVDP_TRY(nvdp__step_atoms(ctx, coarse, direction, &atoms));
    const double moment = nvdp__atoms_log_moment(&atoms, local->k);
    for (size_t i = 0; i < coarse->n; i++) {
        excess[i] = cell_excess(coarse, direction, i, local, moment, error);
        sum += exp(fmin(excess[i].tilted / 3, 200));
    }
    const double factor = fmin(sqrt(sum / error), MAX_CELLS / sum);
    for (size_t i = 0; i < coarse->n; i++) {
        const double parts = fmax(factor * exp(fmin(excess[i].tilted / 3, 200)), excess[i].single);
        excess[i].single = fmin(fmax(ceil(parts), 1), MAX_CELLS);
        made.n += (size_t)excess[i].single;
    }
    NVDP_TRY(NVDP__NEW(ctx, made.end, made.n + 1));
    for (size_t i = 0, to = 0; i < coarse->n; i++) {
        const double from = coarse->end[i], width = coarse->end[i + 1] - from;
        for (double j = 0; j < excess[i].single; j++)
            made.end[to++] = from + j / excess[i].single * width;
    }
    made.end[made.n] = coarse->end[coarse->n];
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}
