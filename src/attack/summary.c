/* The attack summary: a likelihood-ratio test of one unit of a summary, a row or a person, by somebody who knows all
 * other units.  The order: options, the rows, the file's noise, questions, the attack, the result table.
 *
 * The attacker subtracts the other units from the released matrix, and has P_u + E. Each candidate c has the score
 *
 *     s_c  =  <P_u + E, P_c> - |P_c|^2 / 2,       P_c = sum_i z_i z_i^T over its rows i, each scaled by 1/sqrt(m),
 *     <P_a, P_b>  =  sum_ij (z_i . z_j)^2 = G_ab       over the rows i of a and j of b,
 *
 * which is the log likelihood times sigma^2, up to a constant: E is N(0, sigma^2 I) in the coordinates of theorem 1.
 * The candidate with the largest score is the best guess among equally likely ones. The scores of all candidates have
 * the mean G_uc - G_cc / 2 and the covariance sigma^2 G, so they are drawn from this law, which is exact before the
 * release is rounded; rounding cannot help. With the file's matrix, the scores have the noise of the file, which is the
 * same for all rows, so the shares have no interval. */
#include "attack/summary.h"
#include "attack/attack.h"
#include "base/json.h"
#include "rdp/pairs.h"
#include "share/export.h"
#include "tensor/symmetric.h"
#include "text/dataset.h"
#include "train/run.h"

#include <cblas.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <nvdp/rdp.h>
#include <string.h>

enum { READ = 4096, BLOCK = 256, QUESTIONS = 3, MOST_TESTED = 20000 };
enum question { REPLACED, LABEL, WHICH };
static const double CONFIDENCE = .95,
                    ALARM = 1e-6 /* false alarm rate of a test of the file's noise */,
                    JITTER = 1e-9;

struct attack {
    struct nvdp_context *ctx;
    struct nvdp__attack_options options;
    struct nvdp__verify v; /* the file */
    struct nvdp__run run;
    struct nvdp_dataset *data, *second; /* the second texts of pairs; NULL for single texts */
    struct nvdp__class_names classes; /* no class or at least two, because the file is consistent */
    /* The persons of the rows, and the owner of these arrays; from.unit_of is NULL if a unit is a row. */
    struct nvdp__export_source from;
    struct nvdp__memory persons;
    size_t tested, kept; /* units; rows of these units */
    bool *chosen;        /* [n] units that are tested */
    size_t *unit,
        *size; /* [kept] number of a row's unit among the tested ones, and the unit's number of rows */
    float *x, *y;  /* [kept, d], [kept, K] */
    double *z;     /* [kept, D] */
    int64_t *sum;  /* 4^bits M */
    double *noise; /* [D, D] E of the file, symmetric */
    double *gram;  /* [tested, tested] G */
    struct nvdp__memory memory;
};

static void attack_close(struct attack *a) {
    nvdp__verify_release(&a->v);
    nvdp__run_close(&a->run);
    nvdp_dataset_free(a->data);
    nvdp_dataset_free(a->second);
    nvdp__class_names_release(&a->classes);
    nvdp__memory_release(&a->persons);
    nvdp__memory_release(&a->memory);
}

static const struct nvdp__summary *attacked_plan(const struct attack *a) {
    return &a->v.summary.plan;
}

/* Returns whether a unit has one label: the rows of a person may have several. */
static bool has_label(const struct attack *a) {
    return a->classes.count > 0 && !a->v.summary.persons;
}

/* --- the rows --- */

/* Refuses columns that the file's units do not have, and missing ones. */
static nvdp_status check_columns(const struct attack *a, const char *shared) {
    const struct {
        const char *name, *given;
        bool needed;
    } columns[] = {{"text-pair-column", a->options.second, a->v.summary.pairs},
                   {"person", a->options.person, a->v.summary.persons}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if ((columns[i].given != NULL) != columns[i].needed)
            return nvdp__fail_option(a->ctx, NVDP_ERR_ARGUMENT, columns[i].name,
                                     ": %s: expected %s, as the file states, found %s", shared,
                                     columns[i].needed ? "the name of this column" : "no column",
                                     columns[i].needed ? "none" : columns[i].given);
    return NVDP_OK;
}

/* Finds the units of the rows. */
static nvdp_status find_units(struct attack *a) {
    struct nvdp__export probe = {.ctx = a->ctx,
                                 .from.part[0] = {.data = a->data, .count = a->data->count}};
    a->from.units = a->data->count;
    if (!a->v.summary.persons) return NVDP_OK;
    const nvdp_status status = nvdp__export_find_persons(&probe);
    a->from = probe.from;
    a->persons = probe.memory;
    return status;
}

/* Returns the unit of a row, and the unit's number of rows. */
static size_t row_unit(const struct attack *a, size_t row, size_t *rows) {
    *rows = a->from.unit_of != NULL ? a->from.rows_of[a->from.unit_of[row]] : 1;
    return a->from.unit_of != NULL ? a->from.unit_of[row] : row;
}

/* Reads the texts as nvdp summarize reads them. */
static nvdp_status read_rows(struct attack *a, const struct nvdp__run_options *of,
                             const char *shared) {
    const struct nvdp__summary *plan = attacked_plan(a);
    struct nvdp__run_options bare = *of;
    bare.split = NULL;
    if (of->data == NULL)
        return nvdp__fail(
            a->ctx, NVDP_ERR_ARGUMENT,
            "{data}: expected the file of the texts that were summarized, found none");
    NVDP_TRY(nvdp__run_open_bottleneck(a->ctx, &bare, &a->run));
    struct nvdp_dataset_config config = nvdp__run_dataset_config(&a->run, of->data);
    NVDP_TRY(check_columns(a, shared));
    if (a->v.summary.joint) config.text_pair_column = a->options.second;
    config.id_column = a->options.person;
    if (plan->answers > 0)
        config.label_column = a->options.label != NULL ? a->options.label : "label";
    NVDP_TRY(nvdp__dataset_load_rows(a->ctx, nvdp_model_tokenizer(a->run.model), &config,
                                     plan->answers > 0 ? NVDP__LABELS_AS_TEXT : NVDP__LABELS_FOUND,
                                     of->data, NULL, &a->data));
    config.text_column = a->options.second;
    const bool joined = a->v.summary.pairs && !a->v.summary.joint;
    if (joined)
        NVDP_TRY(nvdp__dataset_load_rows(a->ctx, nvdp_model_tokenizer(a->run.model), &config,
                                         NVDP__LABELS_IGNORED, of->data, NULL, &a->second));
    NVDP_TRY(find_units(a));
    const size_t dim = (size_t)a->run.model->info.nvib.latent_dim * (joined ? 2 : 1);
    if (a->from.units == plan->units && dim == plan->dim) return NVDP_OK;
    return nvdp__fail(
        a->ctx, NVDP_ERR_INPUT,
        "%s: expected the %zu %ss that %s summarizes, by a run of %zu dimensions, found "
        "%zu %ss and %zu dimensions",
        of->data, plan->units, nvdp__unit_name(&a->v.summary), shared, plan->dim, a->from.units,
        nvdp__unit_name(&a->v.summary), dim);
}

/* Computes the vectors x [n, p] of texts [first, first + n). */
static nvdp_status infer(const struct attack *a, const struct nvdp_dataset *data, size_t first,
                         size_t n, size_t batch, float *x) {
    const double radius = a->run.model->info.nvib.clip.sequence;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *part = NULL;
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    size_t row[READ];
    for (size_t i = 0; i < n; i++)
        row[i] = first + i;
    NVDP_TRY(nvdp__dataset_select(a->ctx, data, n, row, &part));
    NVDP_TRY(nvdp_model_posteriors(a->ctx, a->run.model, part, batch, &set));
    for (size_t k = 0; k < n * set->dim; k++)
        x[k] = (float)(set->mu[k] / radius);
    return NVDP_OK;
}

/* Adds rows [first, first + n) to M, and stores the rows of tested units from a->kept on. */
static nvdp_status add_rows(struct attack *a, size_t first, size_t n, size_t batch, float *line,
                            int32_t *z) {
    const struct nvdp__summary *plan = attacked_plan(a);
    const size_t p = (size_t)a->run.model->info.nvib.latent_dim;
    const char *const *answer = nvdp__dataset_storage(a->data)->answer;
    nvdp__autofree float *one = NULL, *other = NULL;
    NVDP_TRY(NVDP__ARRAYS(a->ctx, NULL, NVDP__ITEMS(one, n * p), NVDP__ITEMS(other, n * p)));
    NVDP_TRY(infer(a, a->data, first, n, batch, one));
    if (a->second != NULL) NVDP_TRY(infer(a, a->second, first, n, batch, other));
    for (size_t i = 0; i < n; i++) {
        size_t rows;
        const size_t unit = row_unit(a, first + i, &rows);
        const bool keep = a->chosen[unit];
        float *x = keep ? a->x + a->kept * plan->dim : line,
              *y = keep ? a->y + a->kept * plan->answers : line + plan->dim;
        memcpy(x, one + i * p, p * sizeof *x);
        if (a->second != NULL) nvdp__join_pair(p, other + i * p, x);
        nvdp__summary_answer(&a->v.summary, a->classes.count, a->classes.name,
                             answer != NULL ? answer[first + i] : NULL, y);
        nvdp__summary_row(plan, rows, x, y, z + i * plan->width);
        a->unit[a->kept] = unit;
        a->size[a->kept] = rows;
        a->kept += keep;
    }
    nvdp__summary_add(plan, nvdp_context_threads(a->ctx), n, z, a->sum);
    return NVDP_OK;
}

static nvdp_status add_all(struct attack *a, const struct nvdp__run_options *of) {
    const struct nvdp__summary *plan = attacked_plan(a);
    const size_t n = a->data->count, units = plan->units,
                 most = a->options.texts > 0 ? a->options.texts : units;
    nvdp__autofree bool *chosen = NULL;
    nvdp__autofree size_t *number = NULL; /* of the units among the tested ones */
    size_t rows = 0, size;
    float *line;
    int32_t *z;
    a->tested = nvdp__min(units, nvdp__min(most, MOST_TESTED));
    NVDP_TRY(nvdp__choose_rows(a->ctx, a->options.seed, units, a->tested < units ? a->tested : 0,
                               &chosen));
    NVDP_TRY(NVDP__NEW(a->ctx, number, units));
    for (size_t i = 0; i < n; i++)
        rows += chosen[row_unit(a, i, &size)];
    for (size_t u = 0, k = 0; u < units; u++)
        number[u] = chosen[u] ? k++ : 0;
    if (a->tested < 2 || rows > MOST_TESTED)
        return nvdp__fail(a->ctx, NVDP_ERR_INPUT,
                          "%s: expected at least 2 %ss to test, with at most %d rows, found %zu "
                          "with %zu ({texts} N tests fewer)",
                          of->data, nvdp__unit_name(&a->v.summary), MOST_TESTED, a->tested, rows);
    NVDP_TRY(NVDP__ARRAYS(
        a->ctx, &a->memory, NVDP__ITEMS(a->x, rows * plan->dim),
        NVDP__ITEMS(a->y, rows * plan->answers + 1), NVDP__ITEMS(a->z, rows * plan->width),
        NVDP__ITEMS(a->unit, rows + 1), NVDP__ITEMS(a->size, rows + 1),
        NVDP__ITEMS(a->sum, nvdp__summary_entries(plan)),
        NVDP__ITEMS(a->noise, plan->width * plan->width),
        NVDP__ITEMS(a->gram, a->tested * a->tested), NVDP__ITEMS(line, plan->width + 1),
        NVDP__ITEMS(z, nvdp__min(READ, n) * plan->width)));
    a->chosen = chosen;
    for (size_t first = 0; first < n; first += READ) {
        NVDP_TRY(nvdp__check_cancelled(a->ctx, "attack: cancelled"));
        NVDP_TRY(add_rows(a, first, nvdp__min(READ, n - first), of->batch, line, z));
    }
    for (size_t r = 0; r < a->kept; r++)
        a->unit[r] = number[a->unit[r]];
    return NVDP_OK;
}

/* --- the file's noise --- */

/* Sets E = (M + E) - M.  Returns the root mean square of E in stated deviations, and the probabilities that the stated
 * noise is so small, and so large. */
static double take_noise(struct attack *a, double *small, double *large) {
    const struct nvdp__summary *plan = attacked_plan(a);
    const size_t width = plan->width;
    double square = 0;
    for (size_t i = 0, at = 0; i < width; i++)
        for (size_t j = i; j < width; j++, at++) {
            float value;
            nvdp__embeddings_values(a->v.held, i * width + j, 1, &value);
            const double off = (double)value - ldexp((double)a->sum[at], -2 * plan->bits);
            a->noise[i * width + j] = a->noise[j * width + i] = off;
            square += pow(off / (j > i ? plan->sigma_off : plan->sigma), 2);
        }
    const double entries = (double)nvdp__summary_entries(plan);
    *small = gsl_cdf_chisq_P(square, entries);
    *large = gsl_cdf_chisq_Q(square, entries);
    return sqrt(square / entries);
}

/* --- questions --- */

/* Sets z [D] of one of `rows` rows of a unit, in units of 1. */
static void set_z(const struct nvdp__summary *plan, size_t rows, const float *x, const float *y,
                  int32_t *whole, double *z) {
    nvdp__summary_row(plan, rows, x, y, whole);
    for (size_t k = 0; k < plan->width; k++)
        z[k] = ldexp(whole[k], -plan->bits);
}

/* Returns z^T E z. */
static double noise_along(const struct attack *a, const double *z, double *line) {
    const int width = (int)attacked_plan(a)->width;
    cblas_dsymv(CblasRowMajor, CblasUpper, width, 1, a->noise, width, z, 1, 0, line, 1);
    return cblas_ddot(width, z, 1, line, 1);
}

static size_t best_index(size_t n, const double *score) {
    size_t best = 0;
    for (size_t c = 1; c < n; c++)
        if (score[c] > score[best]) best = c;
    return best;
}

/* Adds the means of the scores of all candidates if row u is in the collection.  `score` has the noise already. */
static void add_means(const struct attack *a, size_t u, double *score) {
    for (size_t c = 0; c < a->tested; c++)
        score[c] += a->gram[u * a->tested + c] - a->gram[c * a->tested + c] / 2;
}

static size_t replacement(const struct attack *a, size_t u) {
    return u + 1 < a->tested ? u + 1 : 0;
}

/* Answers the two questions about the identity of a row, for every tested row, with the file's noise. */
static void ask_file(const struct attack *a, double *score, double *along,
                     struct nvdp__summary_attack *out) {
    size_t right[QUESTIONS] = {0};
    memset(along, 0, a->tested * sizeof *along);
    for (size_t r = 0; r < a->kept; r++)
        along[a->unit[r]] += noise_along(a, a->z + r * attacked_plan(a)->width, score);
    for (size_t u = 0; u < a->tested; u++) {
        memcpy(score, along, a->tested * sizeof *score);
        add_means(a, u, score);
        right[REPLACED] += score[u] > score[replacement(a, u)];
        right[WHICH] += best_index(a->tested, score) == u;
    }
    out->question[REPLACED].file = (double)right[REPLACED] / (double)a->tested;
    out->question[WHICH].file = (double)right[WHICH] / (double)a->tested;
}

/* Sets y to the answer of a label. */
static void set_label(const struct attack *a, size_t label, float *y) {
    nvdp__summary_answer(&a->v.summary, a->classes.count, a->classes.name, a->classes.name[label],
                         y);
}

/* Sets G [tested, tested]. The rows of a unit are together in a sum of columns, row by row. */
static void set_gram(struct attack *a, double *line) {
    const int width = (int)attacked_plan(a)->width;
    for (size_t i = 0; i < a->kept; i++) {
        double *to = a->gram + a->unit[i] * a->tested;
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)a->kept, width, 1, a->z, width,
                    a->z + i * attacked_plan(a)->width, 1, 0, line, 1);
        for (size_t j = 0; j < a->kept; j++)
            to[a->unit[j]] += line[j] * line[j];
    }
}

/* Answers the question about the label, for every tested row with a label, with the file's noise.  z has the same norm
 * for all labels, so the scores of two labels differ only by the noise along z, and by the mean of the true label. */
static void ask_labels(const struct attack *a, double *line, double *z, int32_t *whole,
                       double *score, float *y, struct nvdp__summary_attack *out) {
    const struct nvdp__summary *plan = attacked_plan(a);
    size_t right = 0, known = 0;
    for (size_t u = 0; u < a->tested; u++) {
        const double *own = a->z + u * plan->width;
        size_t label = SIZE_MAX;
        for (size_t k = 0; k < a->classes.count; k++) {
            set_label(a, k, y);
            if (memcmp(y, a->y + u * plan->answers, plan->answers * sizeof *y) == 0) label = k;
            set_z(plan, 1, a->x + u * plan->dim, y, whole, z);
            const double inner = cblas_ddot((int)plan->width, own, 1, z, 1),
                         norm = cblas_ddot((int)plan->width, z, 1, z, 1);
            score[k] = noise_along(a, z, line) + inner * inner - norm * norm / 2;
        }
        if (label == SIZE_MAX) continue;
        known++;
        right += best_index(a->classes.count, score) == label;
    }
    out->question[LABEL].file = known > 0 ? (double)right / (double)known : NAN;
}

/* Returns true if the label is guessed right with the noise of one draw.  The vectors z of two labels of a row have the
 * same norm r and the inner product b, so the scores have independent parts of variance sigma^2 (r^4 - b^2) and a
 * common part. */
static bool guess_label(const struct attack *a, size_t u, struct nvdp__stream *stream,
                        double *score, float *y, double *z, int32_t *whole) {
    const struct nvdp__summary *plan = attacked_plan(a);
    for (size_t k = 0; k < 2; k++) { /* z of two labels are in z [2, D] */
        set_label(a, k, y);
        set_z(plan, 1, a->x + u * plan->dim, y, whole, z + k * plan->width);
    }
    const double norm = cblas_ddot((int)plan->width, z, 1, z, 1),
                 inner = cblas_ddot((int)plan->width, z, 1, z + plan->width, 1);
    const double square = fmax(0, norm * norm - inner * inner);
    for (size_t k = 0; k < a->classes.count; k++)
        score[k] = plan->sigma * sqrt(square) * nvdp__stream_normal(stream);
    score[0] += square; /* the true label */
    return best_index(a->classes.count, score) == 0;
}

/* Draws, for each release, one row and the noise, and counts right answers: right [QUESTIONS]. */
static nvdp_status simulate(struct attack *a, size_t releases, double *score, double *scratch,
                            float *y, int32_t *whole, size_t *right) {
    const struct nvdp__summary *plan = attacked_plan(a);
    const struct nvdp__noise seeded = {.seed = a->options.seed};
    struct nvdp__stream stream = nvdp__stream_open(&seeded, NVDP__PURPOSE_MEASURE, 2, 0);
    const int n = (int)a->tested;
    nvdp__autofree double *factor = NULL, *drawn = NULL;
    size_t failed;
    NVDP_TRY(NVDP__NEW(a->ctx, factor, a->tested * a->tested));
    NVDP_TRY(NVDP__NEW(a->ctx, drawn, BLOCK * a->tested));
    memcpy(factor, a->gram, a->tested * a->tested * sizeof *factor);
    for (size_t c = 0; c < a->tested; c++)
        factor[c * a->tested + c] += JITTER; /* equal rows make G singular */
    if (!nvdp__cholesky(a->tested, factor, &failed))
        return nvdp__fail(a->ctx, NVDP_ERR_NUMERIC,
                          "summary: the products of the rows have no Cholesky factor (row %zu)",
                          failed);
    for (size_t s = 0; s < releases; s++) {
        if (s % BLOCK == 0) {
            NVDP_TRY(nvdp__check_cancelled(a->ctx, "attack: cancelled"));
            nvdp__stream_normals_f64(&stream, BLOCK * a->tested, drawn);
            cblas_dtrmm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, BLOCK, n,
                        plan->sigma, factor, n, drawn, n);
        }
        const size_t u = nvdp__stream_below(&stream, a->tested);
        double *own = drawn + s % BLOCK * a->tested;
        add_means(a, u, own);
        right[REPLACED] += own[u] > own[replacement(a, u)];
        right[WHICH] += best_index(a->tested, own) == u;
        if (has_label(a)) right[LABEL] += guess_label(a, u, &stream, score, y, scratch, whole);
    }
    return NVDP_OK;
}

/* Sets the share of right answers of the draws, and the bound of theorem 2. */
static void bound_question(const struct nvdp__summary *plan, size_t answers, size_t releases,
                           size_t right, struct nvdp__summary_question *question) {
    question->answers = answers;
    question->baseline = 1 / (double)answers;
    question->share = (double)right / (double)releases;
    question->interval = nvdp__interval_share(CONFIDENCE, releases, right);
    question->bound =
        nvdp_guess_bound(question->baseline, nvdp__summary_guess(plan, answers), 1, 0);
}

static nvdp_status ask(struct attack *a, struct nvdp__summary_attack *out) {
    const bool persons = a->v.summary.persons;
    const char *const names[] = {
        [REPLACED] = persons ? "the person, or another" : "the row, or another",
        [LABEL] = "its label",
        [WHICH] = persons ? "which of all tested persons" : "which of all tested rows"};
    const struct nvdp__summary *plan = attacked_plan(a);
    const size_t answers[QUESTIONS] = {2, has_label(a) ? a->classes.count : 0, a->tested};
    size_t right[QUESTIONS] = {0};
    double *line, *along, *scratch;
    float *y;
    int32_t *whole;
    NVDP_TRY(NVDP__ARRAYS(a->ctx, &a->memory, NVDP__ITEMS(line, nvdp__max(a->kept, plan->width)),
                          NVDP__ITEMS(along, nvdp__max(a->tested, plan->width)),
                          NVDP__ITEMS(scratch, 2 * plan->width), NVDP__ITEMS(y, plan->width),
                          NVDP__ITEMS(whole, plan->width)));
    for (size_t r = 0; r < a->kept; r++)
        set_z(plan, a->size[r], a->x + r * plan->dim, a->y + r * plan->answers, whole,
              a->z + r * plan->width);
    set_gram(a, line);
    ask_file(a, line, along, out);
    if (has_label(a)) ask_labels(a, along, scratch, whole, line, y, out);
    NVDP_TRY(simulate(a, out->releases, line, scratch, y, whole, right));
    for (size_t q = 0; q < QUESTIONS; q++) {
        if (answers[q] == 0) continue;
        struct nvdp__summary_question *to = &out->question[out->questions++];
        *to = out->question[q];
        to->name = names[q];
        bound_question(plan, answers[q], out->releases, right[q], to);
    }
    return NVDP_OK;
}

/* --- the attack --- */

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    struct nvdp_context *ctx = attacked->ctx;
    struct nvdp__summary_attack *out = found;
    nvdp__auto(attack_close) struct attack a = {.ctx = ctx, .v = {.ctx = ctx}};
    struct nvdp__run_options of;
    double large;
    const char *shared = nvdp_config_get(attacked->config, "shared");
    NVDP_TRY(nvdp__config_open(ctx, attacked->config, &nvdp__run_schema, &of));
    NVDP_TRY(nvdp__config_open(ctx, attacked->config, &nvdp__attack_schema, &a.options));
    if (shared == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{shared}: expected a file of nvdp summarize, found none");
    NVDP_TRY(nvdp__attacked_summary(ctx, shared, &a.v));
    NVDP_TRY(nvdp__class_names_read(ctx, a.v.held->label_names, &a.classes));
    NVDP_TRY(read_rows(&a, &of, shared));
    NVDP_TRY(add_all(&a, &of));
    out->rows = attacked_plan(&a)->units;
    out->tested = a.tested;
    out->releases = a.options.samples;
    out->mu = attacked_plan(&a)->mu;
    out->noise = take_noise(&a, &out->noise_chance, &large);
    if (large < ALARM)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected the texts and labels that %s summarizes: the matrix differs "
            "from theirs by %.3g times the stated noise",
            of.data, shared, out->noise);
    return ask(&a, out);
}

static bool add_file(const struct nvdp__attacked *attacked, const void *found, json_t *object) {
    (void)found;
    return json_object_set_new(object, "shared",
                               json_string(nvdp_config_get(attacked->config, "shared"))) == 0;
}

static void print_head(const struct nvdp__attacked *attacked, const void *found, FILE *to) {
    (void)attacked;
    (void)found;
    nvdp__print_wrapped(
        to, "The attacker knows all rows or persons but one, and which answers are possible, "
            "equally likely. "
            "Right are so many guesses over draws of the noise. In this file, all guesses have one "
            "noise, so that share has no interval, and may be above the bound.");
    putc('\n', to);
}

static void write_verdict(const struct nvdp__attacked *attacked, const void *of,
                          struct nvdp__writer *say) {
    const struct nvdp__summary_attack *found = of;
    if (found->noise_chance < ALARM)
        nvdp__append(
            say,
            "%s: VIOLATION: the noise of the file is %.6g of what the file states; noise as "
            "stated is so small with probability %.2g",
            attacked->name, found->noise, found->noise_chance);
    for (size_t q = 0; q < found->questions; q++)
        nvdp__share_verdict(attacked, found->question[q].name, &found->question[q].interval,
                            found->question[q].baseline, found->question[q].bound, say);
}

static void print_noise(const void *of, struct nvdp_result_lines *to) {
    const struct nvdp__summary_attack *found = of;
    nvdp_result_line(to, "noise of the file", "%.5f of the stated deviation", found->noise);
}

/* clang-format off */
#define ROW(member, unit, better, ...) \
    NVDP_RESULT_ROW(struct nvdp__summary_attack, member, unit, NVDP_SCOPE_FILE, better, __VA_ARGS__)
#define QUESTION(member, ...) \
    NVDP_RESULT_ROW(struct nvdp__summary_question, member, NULL, NVDP_SCOPE_FILE, -1, __VA_ARGS__)

static const struct nvdp_result_table question_table = {
    .name = "question", .help = "a question about one row", .size = sizeof(struct nvdp__summary_question),
    .rows = (const struct nvdp_result_row[]){
        QUESTION(name, "question", .label = "question"),
        QUESTION(answers, "possible answers", .label = "answers"),
        QUESTION(baseline, "success without the file", .label = "without the file", .scale = 100, .after = " %"),
        QUESTION(share, "success with the file, over draws of its noise", .label = "right", .scale = 100, .decimals = 2, .after = " %"),
        {"interval", NVDP_RESULT_INTERVAL, .help = "95 % interval (Clopper & Pearson)", .label = "95 %", .scale = 100, .decimals = 2,
         NVDP_RESULT_AT(struct nvdp__summary_question, interval.low), .high = offsetof(struct nvdp__summary_question, interval.high)},
        QUESTION(bound, "proven upper bound", .label = "proven at most", .scale = 100, .bound = 1),
        QUESTION(file, "share of the tested units for which the file's own noise gives the right answer", .label = "in this file",
                 .scale = 100, .decimals = 1, .after = " %"),
        {0}}};

const struct nvdp_result_table nvdp__result_summary_attack = {
    .name = "summary_attack", .help = "what is guessed about one row or person of a summary", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        {"questions", NVDP_RESULT_LIST, .help = "the questions", .label = "", .of = &question_table,
         NVDP_RESULT_AT(struct nvdp__summary_attack, question), NVDP_RESULT_LENGTH(struct nvdp__summary_attack, questions)},
        ROW(rows, "rows", 0, "rows or persons of the collection", .label = "units"),
        ROW(tested, "rows", 0, "rows or persons that were tested", .label = "tested"),
        ROW(releases, "releases", 0, "draws of the noise", .label = "draws"),
        ROW(mu, NULL, -1, "mu that is proven for one row", .label = "proven mu", .bound = 1),
        ROW(noise, NULL, 0, "root mean square of the file's noise, in stated deviations", .print = print_noise),
        ROW(noise_chance, NULL, 0, "probability that noise as stated is so small"),
        {0}}};
/* clang-format on */

static const char *const options[] = {
    NVDP__ATTACK_OPTIONS, "run",    "data", "batch", "shared", "texts", "samples", "label-column",
    "text-pair-column",   "person", NULL};

const struct nvdp__attack nvdp__attack_row_summary = {.target = NVDP_ATTACK_RUN,
                                                      .right = "the right answer about one unit",
                                                      .options = options,
                                                      .opens = true,
                                                      .size = sizeof(struct nvdp__summary_attack),
                                                      .run = run,
                                                      .table = &nvdp__result_summary_attack,
                                                      .add = add_file,
                                                      .head = print_head,
                                                      .verdict = write_verdict};
