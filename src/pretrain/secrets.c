/* Plants secrets into a training text (corpus.h), for pretraining and for the exposure attack.
 * The file has, in this order, the words that may form secrets, the file of secrets, and the
 * places of secrets in the text. */
#include "pretrain/corpus.h"

#include "base/array.h"
#include "base/json.h"
#include "base/own.h"
#include "base/random.h"
#include "text/normalize.h"
#include <stdlib.h>
#include <string.h>

static const char kind[] = "secrets/1";
enum { MAX_SECRETS = 1 << 20, MAX_PLANTS = 1 << 28, TENTH = 10 };
static const double COIN = 0.5;

/* The random quantities of a secret; the value is the number of the stream. */
enum draw { DRAW_WORDS, DRAW_COIN, DRAW_PLACES };

static struct nvdp__stream secret_stream(const struct nvdp__secrets *secrets, enum draw what,
                                         size_t secret) {
    const struct nvdp__noise noise = {.seed = secrets->seed};
    return nvdp__stream_open(&noise, NVDP__PURPOSE_PLANT, what, secret);
}

/* ---- words ---- */

static bool is_whole_word(const struct nvdp_tokenizer *tokenizer, int32_t id) {
    const char *piece = nvdp_tokenizer_piece(tokenizer, id);
    for (int i = 0; i < NVDP__SPECIALS; i++)
        if (id == tokenizer->special[i]) return false;
    size_t left = strlen(piece), bytes = 0;
    for (; left > 0; left -= bytes, piece += bytes) {
        int32_t rune = nvdp__decode(piece, left, &bytes);
        if (nvdp__is_dropped(rune) || nvdp__is_punctuation(rune)) return false;
    }
    return true;
}

/* Lists the pieces that begin a word and consist of letters and digits: no special pieces,
 * punctuation marks, or [unused1]. */
static nvdp_status whole_words(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               int32_t **words, size_t *count) {
    const size_t pieces = nvdp_tokenizer_size(tokenizer);
    nvdp__autofree int32_t *made = NULL;
    size_t n = 0;
    NVDP_TRY(nvdp__wordpiece_only(ctx, tokenizer));
    NVDP_TRY(NVDP__NEW(ctx, made, pieces));
    for (size_t id = 0; id < pieces; id++)
        if (is_whole_word(tokenizer, (int32_t)id)) made[n++] = (int32_t)id;
    if (n < 2)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "vocabulary: expected at least 2 whole words among its %zu pieces, found %zu", pieces,
            n);
    NVDP__HAND_OVER(words, made);
    *count = n;
    return NVDP_OK;
}

/* ---- the file ---- */

/* One entry of the list "secrets"; it stands for `count` similar secrets. */
struct entry {
    const char *where; /* such as "FILE: secrets[3]", for messages */
    const char *form, *place, *include;
    const json_t *tokens, *planted;
    int64_t count, occurrences;
};

static nvdp_status check_keys(struct nvdp_context *ctx, const char *where, const json_t *object,
                              const char *const *known) {
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected a JSON object, found another value",
                          where);
    json_object_foreach((json_t *)object, key, value) {
        const char *const *name = known;
        while (*name != NULL && strcmp(*name, key) != 0)
            name++;
        if (*name == NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%.64s'", where, key);
    }
    return NVDP_OK;
}

static nvdp_status choose(struct nvdp_context *ctx, const char *where, const char *key,
                          const char *value, const char *one, const char *other, bool *is_one) {
    *is_one = strcmp(value, one) == 0;
    if (*is_one || (other != NULL && strcmp(value, other) == 0)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected %s%s%s, found '%.40s'", where,
                      key, one, other != NULL ? " or " : "", other != NULL ? other : "", value);
}

/* Checks the form, and combinations of keys. */
static nvdp_status check_entry(struct nvdp_context *ctx, const struct entry *e) {
    const size_t named = json_array_size(e->tokens);
    const size_t length = e->form == NULL ? 0 : strlen(e->form);
    size_t slots = 0;
    for (size_t i = 0; i < length; i++)
        slots += e->form[i] == 'S';
    if (length < 2 || length >= NVDP__FORM_SIZE || slots != 1 || strspn(e->form, "HS") != length)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'form': expected 2 to %d letters, all H except one S, such "
                          "as HS, HSH or HHSHH, found %.40s",
                          e->where, NVDP__FORM_SIZE - 1, e->form != NULL ? e->form : "nothing");
    if (e->include == NULL && e->occurrences < 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'occurrences': expected the number of times that the secret is "
                          "planted, found nothing",
                          e->where);
    if (e->include != NULL && e->occurrences >= 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'occurrences': expected none, because 'include' decides whether "
                          "the secret is planted once, found %lld",
                          e->where, (long long)e->occurrences);
    if (e->include != NULL && strcmp(e->place, "window") != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'place': with 'include' expected window, because the accountant "
                          "counts a canary as an added example, found '%.40s'",
                          e->where, e->place);
    if (e->planted != NULL && e->include == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key 'planted' needs the key 'include'",
                          e->where);
    if (e->tokens != NULL && (named != length || e->count != 1))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'tokens': expected a list of %zu words, one per letter of the "
                          "form, and count 1; found %zu words and count %lld",
                          e->where, length, named, (long long)e->count);
    return NVDP_OK;
}

static nvdp_status read_entry(struct nvdp_context *ctx, const char *where, const json_t *object,
                              struct entry *e) {
    static const char *const keys[] = {"form",  "occurrences", "count",   "tokens",
                                       "place", "include",     "planted", NULL};
    bool planted;
    *e = (struct entry){.where = where, .tokens = json_object_get(object, "tokens")};
    NVDP_TRY(check_keys(ctx, where, object, keys));
    NVDP_TRY(nvdp__json_string(ctx, where, object, "form", NULL, &e->form));
    NVDP_TRY(nvdp__json_string(ctx, where, object, "include", NULL, &e->include));
    NVDP_TRY(nvdp__json_string(ctx, where, object, "place", e->include != NULL ? "window" : "text",
                               &e->place));
    NVDP_TRY(nvdp__json_int(ctx, where, object, "count", 1, 1, MAX_SECRETS, &e->count));
    NVDP_TRY(nvdp__json_int(ctx, where, object, "occurrences", -1, 0, MAX_PLANTS, &e->occurrences));
    NVDP_TRY(nvdp__json_bool(ctx, where, object, "planted", false, &planted));
    e->planted = json_object_get(object, "planted");
    return check_entry(ctx, e);
}

static nvdp_status find_word(struct nvdp__secrets *secrets, const struct entry *e,
                             const struct nvdp_tokenizer *tokenizer, size_t i, int32_t *id) {
    const char *word = json_string_value(json_array_get(e->tokens, i));
    *id = word != NULL ? nvdp_tokenizer_find(tokenizer, word) : -1;
    if (*id >= 0 && bsearch(id, secrets->word, secrets->words, sizeof *id, nvdp__by_int32) != NULL)
        return NVDP_OK;
    return nvdp__fail(
        secrets->ctx, NVDP_ERR_INPUT,
        "%s: key 'tokens': entry %zu: expected a whole word of the vocabulary, found '%.40s'",
        e->where, i, word != NULL ? word : "no string");
}

static nvdp_status add_secret(struct nvdp__secrets *secrets, const struct entry *e,
                              const struct nvdp_tokenizer *tokenizer) {
    struct nvdp_context *ctx = secrets->ctx;
    struct nvdp__secret made = {.first = secrets->ids, .length = strlen(e->form)};
    struct nvdp__stream words = secret_stream(secrets, DRAW_WORDS, secrets->count);
    struct nvdp__stream coin = secret_stream(secrets, DRAW_COIN, secrets->count);
    memcpy(made.form, e->form, made.length);
    made.slot = strcspn(e->form, "S");
    NVDP_TRY(choose(ctx, e->where, "place", e->place, "window", "text", &made.window));
    if (e->include != NULL)
        NVDP_TRY(choose(ctx, e->where, "include", e->include, "coin", NULL, &made.coin));
    made.occurrences = !made.coin           ? (size_t)e->occurrences
                       : e->planted != NULL ? json_is_true(e->planted)
                                            : nvdp__stream_uniform(&coin) < COIN;
    if (secrets->count == MAX_SECRETS)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected at most %d secrets, found more",
                          e->where, MAX_SECRETS);
    NVDP_TRY(nvdp__reserve(ctx, &secrets->id, &secrets->id_capacity, secrets->ids + made.length,
                           sizeof *secrets->id));
    for (size_t i = 0; i < made.length; i++) {
        int32_t *id = &secrets->id[secrets->ids + i];
        if (e->tokens != NULL)
            NVDP_TRY(find_word(secrets, e, tokenizer, i, id));
        else
            *id = secrets->word[nvdp__stream_below(&words, secrets->words)];
    }
    secrets->ids += made.length;
    return NVDP__PUSH(ctx, secrets->at, secrets->count, secrets->capacity, made);
}

nvdp_status nvdp__secrets_read(const char *path, const struct nvdp_tokenizer *tokenizer,
                               struct nvdp__secrets *secrets) {
    static const char *const keys[] = {"nvdp_format", "seed", "secrets", NULL};
    struct nvdp_context *ctx = secrets->ctx;
    nvdp__autoptr(json_decref) json_t *root = NULL;
    const json_t *list, *object;
    const char *format = NULL;
    int64_t seed;
    size_t i;
    NVDP_TRY(nvdp__json_read(ctx, path, &root));
    NVDP_TRY(check_keys(ctx, path, root, keys));
    NVDP_TRY(nvdp__json_string(ctx, path, root, "nvdp_format", kind, &format));
    if (strcmp(format, kind) != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key 'nvdp_format': expected %s, found '%.40s'",
                          path, kind, format);
    NVDP_TRY(nvdp__json_int_required(ctx, path, root, "seed", 0, INT64_MAX, &seed));
    list = json_object_get(root, "secrets");
    if (json_array_size(list) == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'secrets': expected a list of at least one secret, found %s",
                          path, json_is_array(list) ? "an empty list" : "none");
    secrets->seed = (uint64_t)seed;
    NVDP_TRY(whole_words(ctx, tokenizer, &secrets->word, &secrets->words));
    json_array_foreach(list, i, object) {
        nvdp__autofree char *where = nvdp__format(ctx, "%s: secrets[%zu]", path, i);
        struct entry e;
        NVDP_TRY(NVDP__MADE(where));
        NVDP_TRY(read_entry(ctx, where, object, &e));
        for (int64_t k = 0; k < e.count; k++)
            NVDP_TRY(add_secret(secrets, &e, tokenizer));
    }
    return NVDP_OK;
}

json_t *nvdp__secrets_json(const struct nvdp__secrets *secrets,
                           const struct nvdp_tokenizer *tokenizer) {
    json_t *list = json_array();
    for (size_t i = 0; i < secrets->count; i++) {
        const struct nvdp__secret *secret = &secrets->at[i];
        json_t *tokens = json_array();
        for (size_t k = 0; k < secret->length; k++)
            json_array_append_new(tokens, json_string(nvdp_tokenizer_piece(
                                              tokenizer, secrets->id[secret->first + k])));
        const json_int_t occurrences = (json_int_t)secret->occurrences;
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:s, s:s*, s:o*, s:o*}", "form", secret->form, "tokens",
                            tokens, "place", secret->window ? "window" : "text", "include",
                            secret->coin ? "coin" : NULL, "planted",
                            secret->coin ? json_boolean(occurrences > 0) : NULL, "occurrences",
                            secret->coin ? NULL : json_integer(occurrences)));
    }
    return json_pack("{s:s, s:I, s:o}", "nvdp_format", kind, "seed", (json_int_t)secrets->seed,
                     "secrets", list);
}

void nvdp__secrets_release(struct nvdp__secrets *secrets) {
    free(secrets->at);
    free(secrets->id);
    free(secrets->word);
    *secrets = (struct nvdp__secrets){.ctx = secrets->ctx};
}

/* ---- places ---- */

/* Chooses a token of the text uniformly, and moves back to the beginning of the token's word. */
static uint64_t draw_place(struct nvdp__stream *stream, const struct nvdp__corpus *corpus,
                           const struct nvdp__piece_table *pieces) {
    uint64_t at = nvdp__stream_below(stream, corpus->tokens);
    while (at > 0 && pieces->continues[nvdp__corpus_id(corpus, at)])
        at--;
    return at;
}

nvdp_status nvdp__plants_create(struct nvdp_context *ctx, const char *path,
                                const struct nvdp__secrets *secrets,
                                const struct nvdp__corpus *corpus,
                                const struct nvdp__piece_table *pieces,
                                struct nvdp__plants *plants) {
    nvdp__auto(nvdp__plants_release) struct nvdp__plants made = {.secrets = secrets,
                                                                 .text = corpus->tokens};
    /* `tokens` is the number of tokens of the secrets in the text */
    size_t places = 0, windows = 0, tokens = 0;
    for (size_t i = 0; i < secrets->count; i++) {
        const struct nvdp__secret *secret = &secrets->at[i];
        *(secret->window ? &windows : &places) += secret->occurrences;
        tokens += secret->window ? 0 : secret->occurrences * secret->length;
    }
    if (tokens > corpus->tokens / TENTH || windows > MAX_PLANTS)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected at most %zu tokens to plant in a text of %zu tokens, and "
                          "at most %d separate windows, found %zu and %zu",
                          path, corpus->tokens / TENTH, corpus->tokens, MAX_PLANTS, tokens,
                          windows);
    NVDP_TRY(
        NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(made.at, places), NVDP__ITEMS(made.window, windows)));
    for (size_t i = 0; i < secrets->count; i++) {
        const struct nvdp__secret *secret = &secrets->at[i];
        struct nvdp__stream stream = secret_stream(secrets, DRAW_PLACES, i);
        for (size_t k = 0; k < secret->occurrences; k++) {
            if (secret->window)
                made.window[made.windows++] = (uint32_t)i;
            else
                made.at[made.count++] = (struct nvdp__plant){draw_place(&stream, corpus, pieces),
                                                             (uint32_t)i, (uint32_t)k};
        }
    }
    NVDP__SORT(made.at, made.count, NVDP__UP(struct nvdp__plant, at),
               NVDP__UP(struct nvdp__plant, secret), NVDP__UP(struct nvdp__plant, number));
    return NVDP__HAND_OVER(plants, made);
}

void nvdp__plants_release(struct nvdp__plants *plants) {
    free(plants->at);
    free(plants->window);
    *plants = (struct nvdp__plants){0};
}

size_t nvdp__plants_from(const struct nvdp__plants *plants, uint64_t token) {
    size_t low = 0, high = plants->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (plants->at[middle].at < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
