/* Writes the texts of samples (invert.h) and compares them with the true texts.  The samples come from a run, a file of
 * a run's samples, or a file of vectors.  With the victim's encoder, the attacker chooses the candidate whose words and
 * vectors (computed without noise) fit the sample best (invert_search.c).  Without the encoder, the attacker chooses
 * the likeliest candidate.  An attacker with a surrogate encoder reads and compares mapped samples instead. */
#include "attack/invert.h"
#include "attack/attack.h"

#include "attack/audit.h"
#include "attack/texts.h"
#include "base/file.h"
#include "base/own.h"
#include "encoder/checkpoint.h"
#include "encoder/encode.h"
#include "rdp/divergence.h"
#include "rdp/likelihood.h"
#include "rdp/pairs.h"
#include "text/dataset.h"

#include <math.h>
#include <stdlib.h>

enum { GROUP = 8, MIN_PUBLIC = 20, SPECIALS = 2, MAX_LENGTH = 512 };

struct attack {
    struct nvdp__inverter inverter;
    const struct nvdp_tokenizer *tokenizer; /* tokenizer of the attack's data sets */
    struct nvdp__judge judge;
    int32_t *ids;                    /* [GROUP * beam, length] */
    struct nvdp__written *written;   /* [GROUP * beam] */
    struct nvdp__text_counts *count; /* [seeds, texts] */
    size_t draws[NVDP__OBSERVEDS];
    bool aligned; /* the attack's texts have mapped samples; these have the original samples: */
    struct nvdp__texts known, attacked;
    struct nvdp__alignment alignment;
};

/* Restores the original samples of the texts. */
static void close_surrogate(struct attack *t) {
    struct nvdp__text_attack *a = t->inverter.attack;
    if (!t->aligned) return;
    nvdp_posteriors_free(a->known.set);
    nvdp_posteriors_free(a->attacked.set);
    a->known = t->known;
    a->attacked = t->attacked;
    t->aligned = false;
}

static void release(struct attack *t) {
    close_surrogate(t);
    nvdp__inverter_release(&t->inverter);
    nvdp__judge_release(&t->judge);
}

/* --- words --- */

/* Computes a key for each word of a text: the hash of its pieces' letters.  Returns the number of words. */
static size_t hash_words(const struct nvdp_tokenizer *tokenizer, size_t n, const int32_t *id,
                         uint64_t key[NVDP__TEXT_WORDS]) {
    size_t words = 0;
    for (size_t k = 0; k < n; k++) {
        bool continues = words > 0;
        const char *piece = nvdp__letters(tokenizer, id[k], &continues);
        if (piece == NULL) continue;
        continues = continues && words > 0;
        if (!continues && words == NVDP__TEXT_WORDS) break;
        uint64_t hash = continues ? key[--words] : NVDP__FNV1A;
        for (; *piece != '\0'; piece++)
            hash = nvdp__fnv1a(hash, (unsigned char)*piece);
        key[words++] = hash;
    }
    return words;
}

/* --- the victim's vectors of guesses --- */

/* Opens the encoder of a directory with its pooling. */
static nvdp_status load_encoder(struct nvdp_context *ctx, const char *directory,
                                struct nvdp_encoder_info *info, struct nvdp_encoder **out) {
    NVDP_TRY(nvdp__encoder_open(ctx, (const char *const[]){"model", directory, NULL}, out, info));
    if (info->vector_size == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected an encoder of sentences, with a pooling in modules.json, "
                          "found one of tokens alone",
                          directory);
    return NVDP_OK;
}

/* --- the guesses of a group --- */

/* Counts the words of entities in a text with tags that the guess has. */
static void count_entities(const struct attack *t, size_t text, size_t m, const uint64_t *guess,
                           struct nvdp__text_counts *count) {
    const struct nvdp__text_attack *a = t->inverter.attack;
    const struct nvdp_dataset *data = a->attacked.data;
    uint64_t entity[2 * NVDP__TEXT_WORDS]; /* a word of the file may have several parts */
    size_t n = 0;
    if (data == NULL || data->tag == NULL) return;
    const size_t start = data->offset[text] + 1;
    const size_t end = nvdp__min(data->offset[text + 1], start + a->options->tokens);
    for (size_t r = start; r < end && n < NVDP__TEXT_WORDS; r++) {
        const int32_t tag = data->tag[r];
        if (tag < 0 || (tag < data->task->classes && strcmp(data->task->labels[tag], "O") == 0))
            continue;
        size_t next = r + 1;
        while (next < end && data->tag[next] == NVDP_TAG_NONE)
            next++;
        n += hash_words(t->tokenizer, next - r, data->ids + r, entity + n);
    }
    n = nvdp__min(n, NVDP__TEXT_WORDS);
    count->names = (double)n;
    count->named = (double)nvdp__common_grams(1, n, entity, m, guess);
}

static nvdp_status guess_group(struct attack *t, const struct nvdp__sight *sight, size_t first,
                               size_t n, struct nvdp__text_counts *count) {
    struct nvdp__inverter *v = &t->inverter;
    const bool known = nvdp__judge_embeds(&t->judge);
    NVDP_TRY(nvdp__inverter_write(v, sight, first, n, t->ids, t->written));
    if (known) NVDP_TRY(nvdp__judge_search(&t->judge, sight, first, n, t->written));
    for (size_t i = 0; i < n; i++) { /* the first of equal scores wins */
        struct nvdp__written *own = t->written + i * v->attack->options->beam;
        for (size_t b = 1; b < v->attack->options->beam; b++)
            if (own[b].score > own[0].score) own[0] = own[b];
        t->written[i] = own[0];
    }
    if (known && !t->aligned) /* a mapped sample is not the text's vector */
        NVDP_TRY(nvdp__judge_compare(&t->judge, sight->corpus, first, n, t->written));
    for (size_t i = 0; i < n; i++) {
        uint64_t text[NVDP__TEXT_WORDS], guess[NVDP__TEXT_WORDS];
        const struct nvdp__written *best = &t->written[i];
        const size_t at = v->attacked->offset[first + i];
        const size_t words = hash_words(v->tokenizer, v->attacked->offset[first + i + 1] - at,
                                        v->attacked->ids + at, text);
        const size_t guessed = hash_words(v->tokenizer, best->n, best->id, guess);
        count[i] = nvdp__text_compare(words, text, guessed, guess);
        count_entities(t, first + i, guessed, guess, &count[i]);
        if (!known || t->aligned) continue;
        count[i].cosine = best->score;
        count[i].cosines = 1;
    }
    return NVDP_OK;
}

/* --- scores --- */

/* Computes the success of the best guess without samples: the most frequent text among the texts with the same label
 * [texts] (NULL if unknown), cut like the guesses. */
static nvdp_status most_frequent(const struct nvdp__inverter *v, const float *label,
                                 double *share) {
    const struct nvdp_dataset *data = v->attacked;
    nvdp__autofree struct nvdp__spot *spot = NULL;
    nvdp__autofree size_t *group = NULL;
    nvdp__autofree double *times = NULL;
    size_t groups;
    NVDP_TRY(NVDP__ARRAYS(v->attack->ctx, NULL, NVDP__ITEMS(spot, data->count),
                          NVDP__ITEMS(group, data->count), NVDP__ITEMS(times, data->count)));
    if (label != NULL)
        NVDP_TRY(nvdp__label_groups(v->attack->ctx, data->count, label, group, &groups));
    for (size_t i = 0; i < data->count; i++) {
        uint64_t words[NVDP__TEXT_WORDS], hash = NVDP__FNV1A;
        const size_t n = hash_words(v->tokenizer, data->offset[i + 1] - data->offset[i],
                                    data->ids + data->offset[i], words);
        for (size_t k = 0; k < n; k++)
            hash = nvdp__fnv1a(hash, words[k]);
        spot[i] = (struct nvdp__spot){.label = group[i], .key = (int64_t)hash};
    }
    *share = nvdp__most_frequent(data->count, spot, false, 1, times) / (double)data->count;
    return NVDP_OK;
}

/* --- without the victim's encoder --- */

/* Computes the mean vector of a sample of text i. */
static void pool(const struct nvdp__texts *corpus, enum nvdp__observed observed, uint64_t seed,
                 size_t i, double *z, double *out) {
    const struct nvdp_posteriors *set = corpus->set;
    const size_t rows = nvdp__release_rows(set, i), p = set->dim;
    const size_t prior = set->alpha != NULL ? (size_t)set->kappa : 0;
    nvdp__observe(corpus, observed, seed, 0, i, rows, z, z + rows * p);
    memset(out, 0, p * sizeof *out);
    for (size_t r = prior; r < rows; r++)
        for (size_t d = 0; d < p; d++)
            out[d] += z[r * p + d] / (double)(rows - prior);
}

/* Replaces the samples of the public texts by vectors of the surrogate encoder, and allocates mapped samples of the
 * attacked texts. */
static nvdp_status open_surrogate(struct attack *t) {
    struct nvdp__text_attack *a = t->inverter.attack;
    const size_t p = a->known.set->dim, pairs = a->options->aligned;
    struct nvdp_encoder_info info = NVDP_RESULT(struct nvdp_encoder_info);
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *known = NULL, *attacked = NULL;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *data = NULL;
    nvdp_encoder_free(t->judge.encoder);
    t->judge.encoder = NULL;
    NVDP_TRY(load_encoder(a->ctx, a->options->surrogate, &info, &t->judge.encoder));
    NVDP_TRY(nvdp__reread(a->ctx, t->tokenizer, a->known.data, info.prompt,
                          nvdp_encoder_tokenizer(t->judge.encoder),
                          nvdp__min(info.max_length, MAX_LENGTH), &data));
    NVDP_TRY(nvdp__vectors_encode(a->ctx, t->judge.encoder, data, &known));
    NVDP_TRY(nvdp__vectors_create(a->ctx, a->attacked.set->texts, info.vector_size, &attacked));
    NVDP_TRY(nvdp__alignment_create(a->ctx, &a->memory, nvdp__min(pairs, a->known.set->texts), p,
                                    info.vector_size, &t->alignment));
    t->known = a->known;
    t->attacked = a->attacked;
    NVDP__HAND_OVER(&a->known.set, known);
    NVDP__HAND_OVER(&a->attacked.set, attacked);
    a->attacked.shared = NULL;
    t->aligned = true;
    return NVDP_OK;
}

/* Learns the map from the first public texts' samples, or with `apply` maps the attacked texts' samples. */
static nvdp_status align(struct attack *t, enum nvdp__observed observed, uint64_t seed,
                         bool apply) {
    struct nvdp__text_attack *a = t->inverter.attack;
    struct nvdp__alignment *map = &t->alignment;
    const struct nvdp__texts *corpus = apply ? &t->attacked : &t->known;
    const size_t p = map->from, q = map->to, n = apply ? corpus->set->texts : map->pairs;
    nvdp__autofree double *z = NULL, *row = NULL;
    size_t most = 1;
    for (size_t i = 0; i < n; i++)
        most = nvdp__max(most, nvdp__release_rows(corpus->set, i));
    NVDP_TRY(NVDP__ARRAYS(a->ctx, NULL, NVDP__ITEMS(z, most * (p + 1)), NVDP__ITEMS(row, p)));
    if (observed == NVDP__OBSERVED_PRIOR) observed = NVDP__OBSERVED_RELEASE;
    for (size_t i = 0; i < n; i++) {
        pool(corpus, observed, seed, i, z, apply ? row : map->x + i * p);
        if (apply) nvdp__alignment_apply(map, row, a->attacked.set->mu + i * q);
    }
    if (!apply) {
        memcpy(map->y, a->known.set->mu, n * q * sizeof *map->y);
        NVDP_TRY(nvdp__alignment_fit(a->ctx, map));
        for (size_t k = 0; k < a->known.set->texts * q; k++)
            a->known.set->logvar[k] = fmax(log(map->error[k % q]), -300);
    }
    return NVDP_OK;
}

/* --- an observation --- */

/* Trains on the observation, guesses all texts, and adds the scores. */
static nvdp_status score(struct attack *t, enum nvdp__observed observed) {
    struct nvdp__inverter *v = &t->inverter;
    struct nvdp__text_attack *a = v->attack;
    const size_t n = a->attacked.set->texts, draws = t->draws[observed];
    /* The error of the map is the noise of the vectors from which the model learns. */
    const enum nvdp__observed reads =
        t->aligned && observed == NVDP__OBSERVED_STATES ? NVDP__OBSERVED_RELEASE : observed;
    const struct nvdp__sight known = {&a->known, reads, a->options->seed, 0};
    double share;
    if (t->aligned) NVDP_TRY(align(t, observed, a->options->seed, false));
    NVDP_TRY(nvdp__inverter_begin(v, &known));
    NVDP_TRY(nvdp__piece_reader_fit(v, &known));
    NVDP_TRY(nvdp__row_reader_fit(v, &known));
    NVDP_TRY(nvdp__inverter_train(v, &known));
    for (size_t s = 0; s < draws; s++) {
        const struct nvdp__sight sight = {&a->attacked, reads, a->options->seed + s, 0};
        if (t->aligned) NVDP_TRY(align(t, observed, a->options->seed + s, true));
        for (size_t i = 0; i < n; i += GROUP) {
            const size_t group = nvdp__min(n - i, GROUP);
            NVDP_TRY(guess_group(t, &sight, i, group, t->count + s * n + i));
            NVDP_TRY(nvdp__attack_advance(a, group, NAN));
        }
    }
    NVDP_TRY(nvdp__add_text_scores(a, observed, draws, n, t->count));
    if (observed != NVDP__OBSERVED_RELEASE) return NVDP_OK;
    const struct nvdp_posteriors *set = t->aligned ? t->attacked.set : a->attacked.set;
    NVDP_TRY(most_frequent(v, set->label, &share));
    nvdp__bound_score(a, share, nvdp__guess_limit(set, share, 1));
    return NVDP_OK;
}

/* --- the attack --- */

/* Attacks with an open model.  If `exact` is set, the samples have no noise, so they are the states, too. */
static nvdp_status attack_texts(struct attack *t, bool exact) {
    struct nvdp__inverter *v = &t->inverter;
    struct nvdp__text_attack *a = v->attack;
    const size_t candidates = GROUP * a->options->beam;
    size_t steps = 0;
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++)
        t->draws[observed] = nvdp__draw_count(a, observed);
    if (a->options->surrogate != NULL) NVDP_TRY(open_surrogate(t));
    NVDP_TRY(nvdp__reread(a->ctx, t->tokenizer, a->known.data, NULL, v->tokenizer, v->length,
                          &v->known));
    NVDP_TRY(nvdp__reread(a->ctx, t->tokenizer, a->attacked.data, NULL, v->tokenizer, v->length,
                          &v->attacked));
    NVDP_TRY(nvdp__inverter_reserve(v));
    NVDP_TRY(nvdp__piece_reader_create(a->ctx, &a->memory, v->inputs, v->bert.vocab_size, v->known,
                                       &v->reader));
    NVDP_TRY(nvdp__row_reader_create(v));
    NVDP_TRY(nvdp__judge_create(&t->judge, GROUP));
    NVDP_TRY(NVDP__ATTACK_ARRAYS(
        a, NVDP__ITEMS(t->ids, candidates * v->length), NVDP__ITEMS(t->written, candidates),
        NVDP__ITEMS(t->count, a->options->seeds * a->attacked.set->texts)));
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++)
        if (!exact || observed != NVDP__OBSERVED_STATES)
            steps += nvdp__inverter_steps(v) + t->draws[observed] * a->attacked.set->texts;
    nvdp__attack_begin(a, "invert", "step", steps);
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++)
        if (!exact || observed != NVDP__OBSERVED_STATES)
            NVDP_TRY(score(t, (enum nvdp__observed)observed));
    nvdp__meter_end(&a->meter);
    return NVDP_OK;
}

static nvdp_status attack_run(struct nvdp__text_attack *a) {
    nvdp__auto(release) struct attack t = {.inverter.attack = a,
                                           .tokenizer = nvdp_model_tokenizer(a->run.model),
                                           .judge.inverter = &t.inverter};
    NVDP_TRY(nvdp__wordpiece_only(a->ctx, t.tokenizer));
    NVDP_TRY(nvdp__inverter_open(&t.inverter));
    return attack_texts(&t, false);
}

/* --- vectors without a run --- */

/* Reads texts with the tokenizer of a directory. With `limit`, draws that many of *all. */
static nvdp_status read_texts(const struct nvdp__text_attack *a, const char *path,
                              const char *directory, size_t length, const char *prompt,
                              size_t limit, size_t *all, struct nvdp_dataset **out) {
    struct nvdp_bert_config bert;
    NVDP_TRY(nvdp__bert_config_read(a->ctx, directory, &bert));
    const struct nvdp__encode_limits limits = {
        .config = &bert, .max_length = length, .directory = directory, .prompt = prompt};
    return nvdp__texts_read(a->ctx, path, &limits, limit, a->options->seed, all, out);
}

/* Reads one vector per text from a file, for the texts of `data`, by the numbers of the texts in their file. */
static nvdp_status read_vectors(struct nvdp_context *ctx, const char *path, size_t texts,
                                const struct nvdp_dataset *data, struct nvdp_posteriors **out) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *all = NULL;
    nvdp__autofree double *value = NULL;
    size_t shape[2];
    nvdp__autofree size_t *row = NULL;
    if (nvdp__ends_with(path, ".npy")) {
        NVDP_TRY(nvdp__npy_read(ctx, path, shape, &value));
        NVDP_TRY(nvdp__vectors_create(ctx, shape[0], shape[1], &all));
        memcpy(all->mu, value, shape[0] * shape[1] * sizeof *value);
    } else
        NVDP_TRY(nvdp_posteriors_read(ctx, path, &all));
    if (all->texts != texts)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected the vectors of %zu texts, in the order of their file, "
                          "found those of %zu",
                          path, texts, all->texts);
    NVDP_TRY(NVDP__NEW(ctx, row, data->count));
    for (size_t i = 0; i < data->count; i++)
        row[i] = (size_t)data->index[i];
    return nvdp__posteriors_select(ctx, all, data->count, row, out);
}

/* Reads a file of texts, and their vectors from `vectors` or, if that is the encoder's directory, from the encoder. */
static nvdp_status open_given(struct attack *t, const char *path, const char *vectors,
                              const char *directory, size_t limit, struct nvdp__texts *out) {
    const struct nvdp__text_attack *a = t->inverter.attack;
    const struct nvdp__text_attack_options *o = a->options;
    struct nvdp_encoder_info info = NVDP_RESULT(struct nvdp_encoder_info);
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *encoded = NULL;
    size_t all = 0;
    NVDP_TRY(read_texts(a, path, o->prior, t->inverter.length, NULL, limit, &all, &out->data));
    if (directory == NULL || strcmp(vectors, directory) != 0)
        return read_vectors(a->ctx, vectors, all, out->data, &out->set);
    NVDP_TRY(nvdp_encoder_describe(t->judge.encoder, &info));
    /* Sentences with tags are encoded as the prior's tokenizer splits them. */
    if (out->data->tag != NULL)
        NVDP_TRY(nvdp__reread(a->ctx, t->tokenizer, out->data, info.prompt,
                              nvdp_encoder_tokenizer(t->judge.encoder),
                              nvdp__min(info.max_length, MAX_LENGTH), &encoded));
    else
        NVDP_TRY(
            read_texts(a, path, directory, info.max_length, info.prompt, limit, &all, &encoded));
    return nvdp__vectors_encode(a->ctx, t->judge.encoder, encoded, &out->set);
}

static nvdp_status check_given(const struct nvdp__text_attack *a, const char *vectors,
                               const char *directory) {
    const struct nvdp__text_attack_options *o = a->options;
    const bool encodes = directory != NULL && strcmp(vectors, directory) == 0;
    if (o->known == NULL || o->attacked == NULL)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected the texts of these vectors in {attacked} and public texts "
                          "in {public}, found none of the %s",
                          vectors, o->known == NULL ? "public texts" : "attacked texts");
    if (o->shared != NULL)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "{shared}: expected a run, whose texts have samples in %s, found "
                          "{posteriors}",
                          o->shared);
    if (encodes && o->public_posteriors != NULL)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected no {public-posteriors}, which this encoder makes, found %s",
                          vectors, o->public_posteriors);
    if (!encodes && o->public_posteriors == NULL)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected the vectors of the public texts in {public-posteriors}, "
                          "found none",
                          vectors);
    return NVDP_OK;
}

/* Checks that the vectors of public and attacked texts have the same mechanism. vector_size is the width of the
 * encoder's vectors, or 0 without an encoder. */
static nvdp_status check_vectors(const struct nvdp__text_attack *a, const char *vectors,
                                 size_t vector_size) {
    if (a->known.data->count < MIN_PUBLIC || a->attacked.data->count < 2)
        return nvdp__fail(a->ctx, NVDP_ERR_INPUT,
                          "%s: expected at least %d public texts, and at least 2 texts to "
                          "attack, found %zu and %zu",
                          a->options->known, MIN_PUBLIC, a->known.data->count,
                          a->attacked.data->count);
    if (a->known.set->kappa != a->attacked.set->kappa ||
        a->known.set->policy != a->attacked.set->policy ||
        (a->known.set->alpha == NULL) != (a->attacked.set->alpha == NULL))
        return nvdp__fail(a->ctx, NVDP_ERR_INPUT,
                          "%s: expected the mechanism of %s, found another: kappa, lengths or "
                          "weights differ",
                          vectors, a->options->public_posteriors);
    if (a->known.set->dim != a->attacked.set->dim ||
        (vector_size != 0 && a->known.set->dim != vector_size))
        return nvdp__fail(a->ctx, NVDP_ERR_INPUT,
                          "%s: expected as many dimensions as the vectors of the public texts "
                          "and of the encoder have, found %zu, %zu and %zu",
                          vectors, a->attacked.set->dim, a->known.set->dim,
                          vector_size != 0 ? vector_size : a->known.set->dim);
    return NVDP_OK;
}

static void close_given(struct nvdp__text_attack *a) {
    nvdp_dataset_free(a->attacked.data); /* the run owns other data sets */
    nvdp__text_attack_close(a);
}

static nvdp_status attack_given(const struct nvdp__attacked *attacked, const char *vectors,
                                struct nvdp__text_attack_result *out) {
    struct nvdp_context *ctx = attacked->ctx;
    struct nvdp__text_attack_options options;
    nvdp__auto(close_given) struct nvdp__text_attack a = {
        .ctx = ctx, .options = &options, .known.first_key = UINT64_C(1) << 40};
    nvdp__auto(release) struct attack t = {.inverter.attack = &a, .judge.inverter = &t.inverter};
    struct nvdp_encoder_info info = NVDP_RESULT(struct nvdp_encoder_info);
    NVDP_TRY(nvdp__config_open(ctx, attacked->config, &nvdp__text_attack_schema, &options));
    const char *directory = nvdp__is_directory(vectors) ? vectors : options.encoder;
    const bool exact = nvdp__is_directory(vectors) || nvdp__ends_with(vectors, ".npy");
    if (exact) options.seeds = 1; /* there is no noise to draw */
    NVDP_TRY(check_given(&a, vectors, directory));
    NVDP_TRY(nvdp__inverter_open(&t.inverter));
    t.tokenizer = t.inverter.tokenizer;
    if (directory != NULL) NVDP_TRY(load_encoder(ctx, directory, &info, &t.judge.encoder));
    NVDP_TRY(open_given(&t, options.attacked, vectors, directory, 0, &a.attacked));
    NVDP_TRY(open_given(&t, options.known,
                        options.public_posteriors != NULL ? options.public_posteriors : vectors,
                        directory, options.known_limit, &a.known));
    NVDP_TRY(check_vectors(&a, vectors, info.vector_size));
    NVDP_TRY(attack_texts(&t, exact));
    close_surrogate(&t);
    return nvdp__learned(&a, attacked->kind, out);
}

static nvdp_status run(const struct nvdp__attacked *attacked, void *found) {
    static const char *const of_vectors[] = {"attacked", "public-posteriors", "encoder"};
    const struct nvdp_config *config = attacked->config;
    const char *vectors = nvdp_config_get(config, "posteriors");
    /* refuses options that would have no effect */
    for (size_t k = 0; vectors == NULL && k < sizeof of_vectors / sizeof *of_vectors; k++)
        if (nvdp_config_get(config, of_vectors[k]) != NULL)
            return nvdp__fail(attacked->ctx, NVDP_ERR_ARGUMENT,
                              "%s: expected it with {posteriors} alone, found a run",
                              of_vectors[k]);
    const char *encoder = nvdp_config_get(config, "encoder");
    const char *surrogate = nvdp_config_get(config, "surrogate");
    if (encoder != NULL && (surrogate != NULL || nvdp__is_directory(vectors)))
        return nvdp__fail(attacked->ctx, NVDP_ERR_ARGUMENT,
                          "{encoder}: expected it without %s, found both",
                          surrogate != NULL ? "surrogate" : "an encoder in posteriors");
    if (surrogate == NULL && nvdp_config_is_set(config, "aligned"))
        return nvdp__fail(attacked->ctx, NVDP_ERR_ARGUMENT,
                          "{aligned}: needs {surrogate}, found none");
    return vectors != NULL ? attack_given(attacked, vectors, found) : nvdp__learn(attacked, found);
}

static const char *const options[] = {NVDP__LEARNER_OPTIONS,
                                      "prior",
                                      "beam",
                                      "tokens",
                                      "search",
                                      "steps",
                                      "posteriors",
                                      "attacked",
                                      "public-posteriors",
                                      "encoder",
                                      "surrogate",
                                      "aligned",
                                      NULL};

const struct nvdp__attack nvdp__attack_row_invert = {.target = NVDP_ATTACK_POSTERIORS,
                                                     .opens = true,
                                                     .learn = attack_run,
                                                     .options = options,
                                                     NVDP__LEARNER_RESULT,
                                                     .run = run};
