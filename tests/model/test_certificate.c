/* Attacks certificates: searches for two texts that are farther apart than the certificate
 * proves. The attack tries random texts, texts changed token by token, random hidden states, and
 * gradient ascent on hidden states that the encoder could never produce. No try may exceed the
 * bound. If the bound can be attained, gradient ascent must come close, which shows that the
 * search works. $NVDP_TRIES sets the number of tries (make long). Read run() first. */
#include "model_test.h"

enum { WIDTH = 16, LATENT = 6, LENGTH = 8, PIECES = 60, MAX_TOKENS = 2 * LENGTH };

struct attack {
    struct nvdp_context *ctx;
    struct nvdp_model *model;
    struct nvdp_certificate proven;
    struct nvdp__stream stream;
    struct nvdp__batch batch;
    int32_t offset[3], ids[MAX_TOKENS], types[MAX_TOKENS], positions[MAX_TOKENS];
    uint64_t key[2];
    float hidden[MAX_TOKENS * WIDTH];
    struct nvdp_posteriors *set;
    double order, bound, largest; /* nats */
    size_t tries;
};

static struct nvdp__nvib_config defaults(void) {
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    config.length = LENGTH;
    config.latent_dim = LATENT;
    config.latent_heads = 2;
    return config;
}

/* Sets the lengths of the two texts, which the attacker chooses. */
static void set_lengths(struct attack *attack, int32_t first, int32_t second) {
    const bool single = nvdp__model_form(attack->model).single;
    attack->offset[1] = first;
    attack->offset[2] = first + second;
    attack->batch = (struct nvdp__batch){.texts = 2,
                                         .tokens = (size_t)(first + second),
                                         .longest = LENGTH,
                                         .offset = attack->offset,
                                         .ids = attack->ids,
                                         .types = attack->types,
                                         .positions = attack->positions,
                                         .key = attack->key};
    for (int32_t i = 0; i < first + second; i++)
        attack->positions[i] = i < first ? i : i - first;
    attack->set->offset[1] = single ? 1 : (size_t)first;
    attack->set->offset[2] = single ? 2 : (size_t)(first + second);
}

static void opened(struct attack *attack, enum nvdp_method method,
                   const struct nvdp__nvib_config *config) {
    struct nvdp__model_info info = {.method = method, .max_length = LENGTH, .outputs = 2};
    *attack = (struct attack){.ctx = support_context(), .key = {3, 4}};
    struct nvdp_context *ctx = attack->ctx;
    static const char *const labels[] = {"no", "yes"};
    info.bert = bert_of(.hidden = WIDTH, .layers = 1, .heads = 2, .inner = 24, .pieces = PIECES,
                        .longest = LENGTH);
    info.nvib = *config;
    info.task = (struct nvdp_task){
        .id = NVDP_TASK_TSV, .name = "tsv", .classes = 2, .labels = labels, .metrics = 1};
    ok(nvdp__method_resolve(ctx, method, &info.bert, &info.nvib));
    ok(nvdp__model_build(ctx, &info, false, &attack->model));
    struct nvdp_model *model = attack->model;
    nvdp__model_initialise(model, 5);
    ok(nvdp__model_plan(model, 32, LENGTH, false));
    ok(nvdp__model_initialise_bottleneck(model, NULL, 5));
    for (size_t i = 0; i < model->params.count; i++) { /* as if the bottleneck were trained */
        const char *name = model->params.entry[i].name;
        if (strncmp(name, "vib.", 4) == 0 || strncmp(name, "nvib.", 5) == 0)
            nvdp__params_normal(&model->dev, &model->params, i, 0.5, 9);
    }
    attack->proven.struct_size = sizeof attack->proven;
    ok(nvdp_model_certificate(ctx, model, NULL, &attack->proven));
    ok(nvdp_posteriors_create(ctx, 2, MAX_TOKENS, info.nvib.latent_dim,
                              nvdp__model_form(model).weights, &attack->set));
    nvdp__model_describe(model, attack->set);
    attack->set->clip_sequence = 0; /* the search must not be refused */
    const bool exact = attack->proven.theorem == NVDP_THEOREM_SEQUENCE;
    attack->order = exact ? 2 : attack->proven.order;
    attack->bound = exact ? nvdp_renyi_sequence_bound(2, attack->proven.radius)
                          : attack->proven.vectors + attack->proven.weights;
    attack->stream = support_stream(8, 0);
    set_lengths(attack, LENGTH, LENGTH);
    support_keep_parts(*attack);
}

/* Returns the distance in nats between the two texts of the batch. The posterior holds doubles
 * of the shared floats. */
static double distance(struct attack *attack) {
    ok(nvdp__model_posterior(attack->model, 0, attack->set));
    double here = 0;
    for (size_t p = 0; p < 2; p++)
        here = fmax(here, nvdp_renyi_texts(attack->order, attack->set, p, 1 - p));
    attack->tries++;
    attack->largest = fmax(attack->largest, here);
    cr_assert_leq(here, attack->bound * (1 + 1e-12), "try %zu: %.17g nats, proven %.17g",
                  attack->tries, here, attack->bound);
    return here;
}

static double of_texts(struct attack *attack) {
    ok(nvdp__model_infer(attack->model, &attack->batch));
    return distance(attack);
}

static double of_states(struct attack *attack) {
    struct nvdp_model *model = attack->model;
    const struct nvdp__encoded in = {&model->dev, &model->params, &attack->batch, attack->hidden};
    ok(model->bottleneck.mechanism->infer(model->bottleneck.self, &in));
    return distance(attack);
}

static int32_t below(struct attack *attack, size_t n) {
    return (int32_t)nvdp__stream_below(&attack->stream, n);
}

/* Tries random texts of 1 to 8 tokens, then changes tokens of the farthest pair and keeps
 * changes that increase the distance. */
static void search_texts(struct attack *attack, size_t count) {
    int32_t best[MAX_TOKENS] = {0}, lengths[2] = {LENGTH, LENGTH};
    double farthest = -1;
    for (size_t i = 0; i < count; i++) {
        const int32_t first = 1 + below(attack, LENGTH), second = 1 + below(attack, LENGTH);
        set_lengths(attack, first, second);
        for (int32_t t = 0; t < first + second; t++)
            attack->ids[t] = below(attack, PIECES);
        const double here = of_texts(attack);
        if (!(here > farthest)) continue;
        farthest = here;
        memcpy(best, attack->ids, sizeof best);
        lengths[0] = first;
        lengths[1] = second;
    }
    set_lengths(attack, lengths[0], lengths[1]);
    memcpy(attack->ids, best, sizeof best);
    for (size_t i = 0; i < count; i++) {
        const size_t t = (size_t)below(attack, attack->batch.tokens);
        const int32_t before = attack->ids[t];
        attack->ids[t] = below(attack, PIECES);
        const double here = of_texts(attack);
        if (here < farthest) attack->ids[t] = before;
        farthest = fmax(here, farthest);
    }
}

static void random_states(struct attack *attack, double scale) {
    nvdp__stream_normals(&attack->stream, MAX_TOKENS * WIDTH, attack->hidden);
    for (size_t i = 0; i < MAX_TOKENS * WIDTH; i++)
        attack->hidden[i] *= (float)scale;
}

/* Ascends along a finite-difference gradient; each evaluated point counts as a try. */
static void climb(struct attack *attack, size_t steps) {
    static float before[MAX_TOKENS * WIDTH], gradient[MAX_TOKENS * WIDTH];
    const size_t numbers = attack->batch.tokens * WIDTH;
    const float off = 0.05F;
    double here = of_states(attack), rate = 1;
    for (size_t step = 0; step < steps && rate > 1e-3; step++) {
        double square = 1e-30;
        for (size_t i = 0; i < numbers; i++) {
            const float kept = attack->hidden[i];
            attack->hidden[i] = kept + off;
            gradient[i] = (float)(of_states(attack) - here);
            attack->hidden[i] = kept;
            square += (double)gradient[i] * gradient[i];
        }
        memcpy(before, attack->hidden, sizeof before);
        for (size_t i = 0; i < numbers; i++)
            attack->hidden[i] += (float)(4 * rate / sqrt(square)) * gradient[i];
        const double next = of_states(attack);
        if (next <= here) memcpy(attack->hidden, before, sizeof before);
        rate *= next > here ? 1.3 : 0.5;
        here = fmax(here, next);
    }
}

static void search_states(struct attack *attack, size_t count) {
    static const double scales[] = {0.01, 1, 30, 1e4};
    for (size_t i = 0; i < count; i++) {
        set_lengths(attack, 1 + below(attack, LENGTH), 1 + below(attack, LENGTH));
        random_states(attack, scales[i % 4]);
        of_states(attack);
    }
    for (size_t from = attack->tries; attack->tries < from + count;) {
        set_lengths(attack, 2, 2);
        random_states(attack, 1);
        climb(attack, 60);
    }
}

/* `min_share` is the share of the bound, as a distance, that the search must reach. */
static void run(enum nvdp_method method, const struct nvdp__nvib_config *config,
                enum nvdp_theorem theorem, double min_share) {
    struct attack attack;
    opened(&attack, method, config);
    cr_assert_eq(attack.proven.theorem, theorem, "%s", nvdp_method_name(method));
    search_texts(&attack, support_repeats("NVDP_TRIES", 200));
    search_states(&attack, support_repeats("NVDP_TRIES", 1200));
    const double reached = sqrt(attack.largest / attack.bound);
    cr_expect_geq(reached, min_share, "%s: %g of the bound's distance", nvdp_method_name(method),
                  reached);
}

Test(certificate, sequence_clip) {
    static const enum nvdp_method methods[] = {NVDP_METHOD_VIB_FIXED, NVDP_METHOD_VIB_LEARNED,
                                               NVDP_METHOD_VTDP, NVDP_METHOD_NVDP};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct nvdp__nvib_config config = defaults();
        config.clip.sequence = 0.8;
        config.vib.sigma = config.stdev_tau = 1;
        config.weights = NVDP__WEIGHTS_CONSTANT;
        config.row_index = i == 2 ? NVDP__ROW_INDEX_NONE : NVDP__ROW_INDEX_TRAINED;
        run(methods[i], &config, NVDP_THEOREM_SEQUENCE, 0.9);
    }
}

/* Clips the mean of one vector per text in units of the trained standard deviations. */
Test(certificate, means_clipped_in_units_of_trained_noise) {
    struct nvdp__nvib_config config = defaults();
    config.clip.mu_radius = 1.5;
    run(NVDP_METHOD_VIB_FIXED, &config, NVDP_THEOREM_SEQUENCE, 0.9);
    run(NVDP_METHOD_VIB_LEARNED, &config, NVDP_THEOREM_SEQUENCE, 0.9);
}

Test(certificate, weights_within_bounds) {
    struct nvdp__nvib_config config = defaults();
    config.clip.sequence = 0.8;
    config.stdev_tau = 1;
    config.delta = 1;
    config.clip.alpha_min = 0.9;
    config.clip.alpha_max = 1.2;
    run(NVDP_METHOD_NVDP, &config, NVDP_THEOREM_SEQUENCE_WEIGHTS, 0.8);
}

Test(certificate, clip_set) {
    struct nvdp__nvib_config config = defaults();
    config.delta = 1;
    config.clip.mu_radius = 0.5;
    config.clip.logvar_min = -0.2;
    config.clip.logvar_max = 0.1;
    config.clip.alpha_min = 0.9;
    config.clip.alpha_max = 1.2;
    run(NVDP_METHOD_NVDP, &config, NVDP_THEOREM_CLIP_SET, 0.5);
    config.kappa = 2;
    run(NVDP_METHOD_NVDP, &config, NVDP_THEOREM_CLIP_SET, 0.5);
}

/* Expects no certificate if the encoder reads more than the sample, lengths are public, or
 * nothing is clipped. */
Test(certificate, none) {
    for (int broken = 0; broken < 4; broken++) {
        struct nvdp__nvib_config config = defaults();
        struct attack attack;
        config.clip.mu_radius = 0.5;
        config.clip.logvar_min = -0.2;
        config.clip.logvar_max = 0.1;
        config.weights = broken == 3 ? NVDP__WEIGHTS_LEARNED : NVDP__WEIGHTS_CONSTANT;
        if (broken == 0) config.query = NVDP__QUERY_CLEAN;
        if (broken == 1) config.length_policy = NVDP_LENGTH_PUBLIC;
        if (broken == 2) config.clip.logvar_max = INFINITY;
        opened(&attack, NVDP_METHOD_NVDP, &config);
        cr_expect_eq(attack.proven.theorem, NVDP_THEOREM_NONE, "%d", broken);
    }
}
