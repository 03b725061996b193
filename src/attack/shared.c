/* Attacks the samples in a shared file: finds the texts of the file, checks that the samples belong to these texts, and
 * re-identifies the texts. */
#include "attack/attack.h"
#include "attack/texts.h"
#include "base/own.h"
#include "rdp/pairs.h"
#include "rdp/report.h"
#include "text/task.h"
#include <math.h>
#include <nvdp/attack.h>
#include <stdlib.h>

enum { BLOCK = 16, MAX_SAMPLES = 8 };
/* Number of standard deviations by which a file's samples may match fewer texts than drawn samples: one false alarm in
 * 10^5. */
static const double APART = 4.4;

void nvdp__shared_release(struct nvdp__shared_texts *shared) {
    nvdp_shared_free(shared->file);
    free(shared->text);
    *shared = (struct nvdp__shared_texts){0};
}

/* --- the texts of the file --- */

struct entry {
    int64_t id; /* the first member, so that bsearch finds it as a number */
    size_t number;
};

static nvdp_status find_ids(struct nvdp_context *ctx, size_t texts, const int64_t *id, int split,
                            struct nvdp__shared_texts *s) {
    const struct nvdp_shared *file = s->file;
    nvdp__autofree struct entry *entry = NULL;
    size_t n = 0;
    NVDP_TRY(NVDP__NEW(ctx, entry, file->shape.texts));
    for (size_t k = 0; k < file->shape.texts; k++)
        if (split < 0 || file->split == NULL || file->split[k] == split)
            entry[n++] = (struct entry){file->id[k], k};
    NVDP__SORT(entry, n, NVDP__UP(struct entry, id), NVDP__UP(struct entry, number));
    for (size_t k = 1; k < n; k++)
        if (entry[k].id == entry[k - 1].id)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: expected a different id for every text, but texts %zu and %zu "
                              "both have id %lld",
                              s->path, entry[k - 1].number, entry[k].number,
                              (long long)entry[k].id);
    for (size_t i = 0; i < texts; i++) {
        const struct entry *found = bsearch(&id[i], entry, n, sizeof *entry, nvdp__by_int64);
        s->text[i] = found != NULL ? found->number : SIZE_MAX;
    }
    return NVDP_OK;
}

/* Returns the end of a message, which recommends {split} if the file's samples are from one split; "" if they are from
 * several splits. */
static struct nvdp__naming split_to_give(struct nvdp_context *ctx, const struct nvdp_shared *file) {
    char text[96] = "";
    size_t same = 0;
    while (file->split != NULL && same < file->shape.texts && file->split[same] == file->split[0])
        same++;
    if (same > 0 && same == file->shape.texts)
        nvdp__snprintf(text, sizeof text,
                       "; all samples of the file are of split %s: add {split} %s",
                       nvdp__split_names[file->split[0]], nvdp__split_names[file->split[0]]);
    return nvdp__with_options(ctx, text);
}

nvdp_status nvdp__shared_open(struct nvdp_context *ctx, const char *path, size_t n,
                              const int64_t *id, int split, struct nvdp__shared_texts *s) {
    NVDP_TRY(nvdp_shared_read(ctx, path, &s->file));
    NVDP_TRY(NVDP__NEW(ctx, s->text, n));
    s->path = path;
    if (id != NULL && s->file->id != NULL) return find_ids(ctx, n, id, split, s);
    if (s->file->shape.texts != n)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected samples of exactly these %zu texts, found samples of %zu texts%s", path,
            n, s->file->shape.texts, split_to_give(ctx, s->file).text);
    for (size_t i = 0; i < n; i++)
        s->text[i] =
            split < 0 || s->file->split == NULL || s->file->split[i] == split ? i : SIZE_MAX;
    return NVDP_OK;
}

nvdp_status nvdp__shared_labels(struct nvdp_context *ctx, const struct nvdp__shared_texts *s,
                                struct nvdp_posteriors *set) {
    free(set->label);
    set->label = NULL;
    if (s == NULL || s->file->label == NULL) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(ctx, set->label, set->texts));
    for (size_t i = 0; i < set->texts; i++)
        set->label[i] = s->file->label[s->text[i]];
    return NVDP_OK;
}

nvdp_status nvdp__shared_present(struct nvdp_context *ctx, size_t n, struct nvdp__shared_texts *s,
                                 size_t *there, size_t *found) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (s->text[i] == SIZE_MAX) continue;
        s->text[count] = s->text[i];
        there[count++] = i;
    }
    *found = count;
    if (count >= 2) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: expected samples of at least 2 of these %zu texts (matched by split and "
                      "row), found %zu%s",
                      s->path, n, count, split_to_give(ctx, s->file).text);
}

/* --- their samples --- */

void nvdp__shared_take(const void *of, size_t i, size_t sample, size_t vectors, double *z,
                       double *log_pi) {
    const struct nvdp__shared_texts *s = of;
    const struct nvdp_shared *file = s->file;
    const size_t p = file->shape.dim, at = s->text[i] * file->shape.samples + sample;
    const size_t first = (size_t)file->offset[at];
    float *narrow = (float *)(void *)z; /* narrow values are widened in place, from the last on */
    nvdp__embeddings_values(file, first * p, vectors * p, narrow);
    for (size_t k = vectors * p; k-- > 0;) {
        float value;
        memcpy(&value, narrow + k, sizeof value);
        z[k] = (double)value;
    }
    for (size_t r = 0; r < vectors && file->log_pi != NULL; r++)
        log_pi[r] = (double)file->log_pi[first + r];
}

struct nvdp__sample_source nvdp__shared_source(const struct nvdp__shared_texts *s) {
    const struct nvdp__embeddings_shape *shape = &s->file->shape;
    /* The lower end of the grid of log weights is -INT16_MAX, to which a release rounds (share/release.c). */
    const double end =
        shape->grid == NVDP__H5_F16 ? -65504 : -ldexp(INT16_MAX, shape->log_pi_exponent);
    return (struct nvdp__sample_source){nvdp__shared_take, s, end};
}

/* --- checks --- */

/* Returns the next text with the same number of rows, or i if there is none. */
static size_t other_text(const struct nvdp_posteriors *set, size_t i) {
    size_t k = (i + 1) % set->texts;
    while (k != i && nvdp__release_rows(set, k) != nvdp__release_rows(set, i))
        k = (k + 1) % set->texts;
    return k;
}

/* Counts the samples that are likelier under the posterior of their text than under the posterior of another text of
 * equal length: *own of *all samples.  Takes `samples` samples per text. */
static nvdp_status count_own(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                             const struct nvdp__likelihood *likelihood,
                             const struct nvdp__sample_source *source, size_t samples,
                             struct nvdp__evidence *evidence, double *own, double *all) {
    struct nvdp__trial trial[BLOCK];
    double density[2];
    *own = *all = 0;
    for (size_t first = 0; first < samples * set->texts; first += BLOCK) {
        const size_t n = nvdp__min(BLOCK, samples * set->texts - first);
        for (size_t i = 0; i < n; i++)
            trial[i] = (struct nvdp__trial){(first + i) / samples, (first + i) % samples};
        NVDP_TRY(nvdp__linkage_collect(ctx, set, source, n, trial, 1, evidence));
        for (size_t i = 0; i < n; i++) {
            const size_t pair[] = {trial[i].text, other_text(set, trial[i].text)};
            if (pair[1] == pair[0]) continue;
            nvdp__likelihoods(likelihood, nvdp_context_threads(ctx), 1, &evidence[i], 2, pair,
                              density);
            *own += (density[0] > density[1]) + (density[0] == density[1]) / 2.;
            ++*all;
        }
    }
    return NVDP_OK;
}

/* Fails if the file's samples match their texts less often than drawn samples do: then they belong to other texts or
 * another model. */
static nvdp_status check_samples(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                 const struct nvdp__shared_texts *s) {
    nvdp__auto(nvdp__likelihood_release) struct nvdp__likelihood likelihood = {0};
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct nvdp__evidence evidence[BLOCK];
    const struct nvdp__sampler release = {.posteriors = set, .noise.seed = 1};
    const struct nvdp__sample_source drawn = {nvdp__linkage_draw, &release, -INFINITY},
                                     shared = nvdp__shared_source(s);
    const size_t rows = nvdp__linkage_rows(set, 0, NULL);
    const size_t samples = nvdp__min(s->file->shape.samples, MAX_SAMPLES);
    double want, found, n;
    NVDP_TRY(nvdp__likelihood_create(ctx, set, &likelihood));
    NVDP_TRY(nvdp__evidence_create(ctx, &memory, set, rows, BLOCK, evidence));
    NVDP_TRY(count_own(ctx, set, &likelihood, &drawn, samples, evidence, &want, &n));
    NVDP_TRY(count_own(ctx, set, &likelihood, &shared, samples, evidence, &found, &n));
    const double share = (want + found) / (2 * n);
    if (!(n > 0 && want - found > APART * sqrt(2 * n * share * (1 - share)))) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: expected samples of these texts drawn by this model: %.1f %% of such "
                      "samples fit their own text better than another one, found only %.1f %%",
                      s->path, 100 * want / n, 100 * found / n);
}

nvdp_status nvdp__shared_check(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                               const struct nvdp__shared_texts *s) {
    const struct nvdp_shared *file = s->file;
    const struct nvdp__embeddings_shape *shape = &file->shape;
    if (shape->dim != set->dim || shape->kappa != set->kappa ||
        shape->weights != (set->alpha != NULL) || shape->policy != set->policy ||
        (file->method[0] != '\0' && set->method[0] != '\0' &&
         strcmp(file->method, set->method) != 0))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected samples of method %s with %zu dimensions and kappa %d, "
                          "found %s with %zu dimensions and kappa %d",
                          s->path, set->method, set->dim, set->kappa, file->method, shape->dim,
                          shape->kappa);
    if (shape->grid != NVDP__H5_F16 && shape->grid != nvdp__release_grids(set->clip_sequence).type)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected samples of a model %s clip_sequence, but their grid is "
                          "that of a model %s it",
                          s->path, set->clip_sequence > 0 ? "with" : "without",
                          set->clip_sequence > 0 ? "without" : "with");
    for (size_t i = 0; i < set->texts; i++) {
        if (s->text[i] == SIZE_MAX)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: text %lld: expected samples of this text, found none", s->path,
                              (long long)(set->id != NULL ? set->id[i] : (int64_t)i));
        const size_t at = s->text[i] * shape->samples;
        const size_t rows = (size_t)(file->offset[at + 1] - file->offset[at]);
        if (rows != nvdp__release_rows(set, i))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: text %zu: expected samples of %zu rows, found %zu", s->path,
                              s->text[i], nvdp__release_rows(set, i), rows);
    }
    if (s->releases < 1 || s->releases > shape->samples || set->texts < 2)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "%s: expected at least 2 texts and 1 to %zu releases, found %zu texts and %zu releases",
            s->path, shape->samples, set->texts, s->releases);
    if (s->releases < shape->samples)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "%s: each guess reads %zu of the file's %zu samples of a text; an attacker who "
                  "reads all of them can find more (%s)",
                  s->path, s->releases, shape->samples, nvdp__as_option(ctx, "releases").text);
    return check_samples(ctx, set, s);
}

/* --- the attack --- */

nvdp_status nvdp__attack_shared(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                const char *path, int releases, struct nvdp_linkage *out) {
    nvdp__auto(nvdp__shared_release) struct nvdp__shared_texts shared = {
        .releases = releases > 0 ? (size_t)releases : 0};
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set =
        NULL; /* the texts that are in the file */
    struct nvdp_linkage made;
    nvdp__autofree size_t *there = NULL;
    size_t texts;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp_posteriors_check(ctx, posteriors, ""));
    NVDP_TRY(nvdp__shared_open(ctx, path, posteriors->texts, posteriors->id, posteriors->split - 1,
                               &shared));
    NVDP_TRY(NVDP__NEW(ctx, there, posteriors->texts));
    NVDP_TRY(nvdp__shared_present(ctx, posteriors->texts, &shared, there, &texts));
    NVDP_TRY(nvdp__posteriors_select(ctx, posteriors, texts, there, &set));
    NVDP_TRY(nvdp__shared_labels(ctx, &shared, set));
    NVDP_TRY(nvdp__shared_check(ctx, set, &shared));
    const struct nvdp__sample_source source = nvdp__shared_source(&shared);
    NVDP_TRY(nvdp__linkage(ctx, set, &source, releases,
                           shared.file->shape.samples / (size_t)releases, &made));
    return NVDP__GIVE(out, &made);
}

/* ---- the attack reidentify: the text of a sample ---- */

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    struct nvdp_context *ctx = attacked->ctx;
    struct nvdp__attack_options options;
    const char *shared = nvdp_config_get(attacked->config, "shared");
    NVDP_TRY(nvdp__config_open(ctx, attacked->config, &nvdp__attack_schema, &options));
    return shared != NULL
               ? nvdp__attack_shared(ctx, attacked->posteriors, shared, options.releases, found)
               : nvdp_linkage_measure(ctx, attacked->posteriors, options.releases, options.texts,
                                      options.seed, found);
}

/* Returns true if the attacker is too weak for any conclusion: even without noise, it is right no more often than by
 * chance. */
static bool is_weak(const void *of) {
    const struct nvdp_linkage *found = of;
    return found->states <= found->first_chance * (1 + 1e-9);
}

static bool add_sentence(const struct nvdp__attacked *attacked, const void *of, json_t *object) {
    (void)attacked;
    return json_object_set_new(object, "sentence", json_string(nvdp__linkage_sentence(of).text)) ==
               0 &&
           json_object_set_new(object, "weak", json_boolean(is_weak(of))) == 0;
}

static void print_sentence(const struct nvdp__attacked *attacked, const void *of, FILE *to) {
    const struct nvdp_linkage *found = of;
    nvdp__print_wrapped(to, nvdp__linkage_sentence(found).text);
    if (nvdp_config_get(attacked->config, "shared") != NULL && found->labeled.labels > 0)
        nvdp__print_wrapped(to, "The file states the labels, so every reader has them.");
    putc('\n', to);
}

static void write_verdict(const struct nvdp__attacked *attacked, const void *of,
                          struct nvdp__writer *say) {
    const struct nvdp_linkage *found = of;
    nvdp__share_verdict(attacked, "the right text", &found->first_interval, found->first_chance,
                        found->first_bound, say);
    nvdp__share_verdict(attacked, "among the top ten", &found->ten_interval, found->ten_chance,
                        found->ten_bound, say);
    nvdp__share_verdict(attacked, "the right text, label known", &found->labeled.first_interval,
                        found->labeled.first_chance, found->labeled.first_bound, say);
    nvdp__share_verdict(attacked, "among the top ten, label known", &found->labeled.ten_interval,
                        found->labeled.ten_chance, found->labeled.ten_bound, say);
}

static const char *const reidentify_options[] = {NVDP__ATTACK_POSTERIORS_OPTIONS, "texts", "shared",
                                                 NULL};

const struct nvdp__attack nvdp__attack_row_reidentify = {
    .target = NVDP_ATTACK_POSTERIORS,
    .right = "the most likely of the measured texts",
    .options = reidentify_options,
    .exclusive = {"texts", "shared"},
    .size = sizeof(struct nvdp_linkage),
    .run = run,
    .table = &nvdp__result_linkage,
    .add = add_sentence,
    .head = print_sentence,
    .weak = is_weak,
    .verdict = write_verdict};
