/* Describes privatized texts for nvdp sanitize: counts, measurements, privacy.json, and the statement in plain
 * English. */
#include "dchi/dchi.h"
#include "sanitize/sanitize.h"

#include "base/array.h"
#include "base/json.h"
#include "base/random.h"
#include "base/sentence.h"

#include <math.h>
#include <nvdp/guarantee.h>
#include <stdlib.h>
#include <string.h>

uint64_t nvdp__sanitized_words(const struct nvdp__sanitized *done) {
    return done->tokens + (done->info.drops ? done->unknown : 0);
}

/* ---- counts ---- */

size_t nvdp__sanitized_count(struct nvdp__sanitized *done, const struct nvdp__text_batch *batch,
                             size_t columns) {
    size_t empty = 0;
    for (size_t i = 0, tokens = 0, unknown = 0; i < batch->texts; i++) {
        const size_t of = i % columns; /* index of the text in its row */
        const struct nvdp_token_list *list = &batch->item[i].list;
        tokens = (of > 0 ? tokens : 0) + list->count;
        unknown = (of > 0 ? unknown : 0) + list->unknown;
        empty += of + 1 == columns && tokens + unknown == 0;
        done->longest = nvdp__max(done->longest, tokens);
        done->unknown += list->unknown;
    }
    for (size_t i = 0; i < batch->offset[batch->texts]; i++)
        if (batch->token[i] >= 0) done->seen[batch->token[i]]++;
    done->texts += batch->texts;
    done->tokens += batch->offset[batch->texts];
    return empty;
}

/* ---- measurements ---- */

enum { GEOMETRY_TOKENS = 1000 };

/* Draws tokens of the corpus in proportion to their frequency. */
static nvdp_status draw_tokens(struct nvdp_context *ctx, const struct nvdp__sanitized *done,
                               uint64_t known, int32_t *token) {
    const struct nvdp__noise noise = {.seed = done->seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 1, 0);
    nvdp__autofree uint64_t *sum = NULL;
    NVDP_TRY(NVDP__NEW(ctx, sum, done->info.tokens));
    for (size_t x = 0; x < done->info.tokens; x++)
        sum[x] = done->seen[x] + (x > 0 ? sum[x - 1] : 0);
    for (size_t i = 0; i < done->sampled; i++) {
        const uint64_t at = nvdp__stream_below(&stream, known);
        size_t low = 0, high = done->info.tokens - 1;
        while (low < high) { /* finds the first sum above `at` */
            const size_t middle = (low + high) / 2;
            if (sum[middle] > at)
                high = middle;
            else
                low = middle + 1;
        }
        token[i] = (int32_t)low;
    }
    return NVDP_OK;
}

nvdp_status nvdp__sanitized_measure(struct nvdp_context *ctx, struct nvdp__sanitized *done) {
    const uint64_t known = nvdp__sanitized_words(done) - done->unknown;
    nvdp__autofree int32_t *token = NULL;
    nvdp__autofree double *same = NULL, *distinct = NULL;
    done->geometry = (struct nvdp_geometry)NVDP_RESULT(struct nvdp_geometry);
    done->sampled = known > 0 ? done->measured : 0;
    NVDP_TRY(nvdp__vectors_geometry(ctx, nvdp_sanitizer_vectors(done->sanitizer), GEOMETRY_TOKENS,
                                    done->seed, &done->geometry));
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(token, done->sampled),
                          NVDP__ITEMS(same, done->sampled), NVDP__ITEMS(distinct, done->sampled)));
    if (done->sampled > 0) NVDP_TRY(draw_tokens(ctx, done, known, token));
    NVDP_TRY(nvdp__dchi_deniability(ctx, nvdp_sanitizer_dchi(done->sanitizer), done->sampled, token,
                                    done->draws, done->seed, same, distinct));
    for (size_t i = 0; i < done->sampled; i++) {
        done->same += same[i] / (double)done->sampled;
        done->distinct += distinct[i] / (double)done->sampled;
    }
    return NVDP_OK;
}

static const struct nvdp__token_row *mechanism_row(const struct nvdp__sanitized *done) {
    return nvdp__dchi_row(done->info.mechanism);
}

static bool partial(const struct nvdp__sanitized *done) {
    return done->info.sensitive < done->info.tokens;
}

double nvdp__sanitized_epsilon(const struct nvdp__sanitized *done) {
    if (!mechanism_row(done)->uses_eta) return 0;
    return partial(done) ? INFINITY : done->info.eta * done->geometry.diameter_bound;
}

/* Returns the epsilon of the longest row from the epsilon of one token, which may be infinite. */
static double of_row(const struct nvdp__sanitized *done, double epsilon) {
    return done->longest > 0 ? (double)done->longest * epsilon : 0;
}

double nvdp__sanitized_row_epsilon(const struct nvdp__sanitized *done) {
    return of_row(done, nvdp__sanitized_epsilon(done));
}

/* A word without a vector is drawn uniformly: P(y) = 1/V. For santext, P(y|x) = C_x e^(-eta/2 d_y) with 0 <= d_y <=
 * D, and so 1/V <= C_x <= e^(eta/2 D)/V: no log ratio of the two exceeds eta/2 D. laplace perturbs the vector of a
 * uniform draw: no log ratio exceeds eta D. The probability that laplace-nearest outputs y has no lower bound.
 * santext-plus outputs some words only for themselves. An omitted word is visible in the length of the output. */
double nvdp__sanitized_oov_epsilon(const struct nvdp__sanitized *done) {
    const double share = mechanism_row(done)->unknown;
    return done->info.drops || isinf(share) ? INFINITY : share * nvdp__sanitized_epsilon(done);
}

/* ---- privacy.json ---- */

json_t *nvdp__sanitized_json(const struct nvdp__sanitized *done, const char *statement) {
    const struct nvdp_sanitizer_info *info = &done->info;
    const struct nvdp_geometry *geometry = &done->geometry;
    const struct nvdp__token_row *row = mechanism_row(done);
    const bool plus = row->uses_p, vectors = row->gives_vectors;
    /* Identifies V_S without revealing its words, so that a reader of the folder can measure under the same V_S. */
    json_t *sensitive =
        plus ? json_pack("{s:I, s:s, s:b, s:o, s:s}", "tokens", (json_int_t)info->sensitive, "from",
                         done->chosen, "own_choice", done->own_choice, "share",
                         isnan(done->rare) ? json_null() : nvdp__json_number(done->rare), "digest",
                         done->sensitive)
             : NULL;
    char created[32];
    /* the status is ignored, because the program refuses a wrong variable */
    (void)nvdp__creation_date(NULL, created);
    return json_pack(
        "{s:s, s:s, s:s?, s:o, s:o, s:o?, s:{s:s, s:s, s:s?, s:b, s:I, s:I, s:I, s:I, s:I, s:s}, "
        "s:s, s:{s:I, s:f, s:f, s:f, s:f}, s:o, s:o, s:o, s:{s:I, s:I, s:f, s:f}, s:{s:I, s:I, "
        "s:I, s:o, s:I, s:o, s:f, s:f}, s:O?, s:s, s:s, s:s}",
        "nvdp_format", "sanitized/1", "mechanism", nvdp__dchi_name(info->mechanism), "public_texts",
        done->public, "eta", row->uses_eta ? nvdp__json_number(info->eta) : json_real(0), "p",
        plus ? nvdp__json_number(info->p) : json_null(), "sensitive", sensitive, "vocabulary",
        "source", done->source, "of", info->pieces ? "pieces" : "words", "from", done->from,
        "own_words", info->own_words, "table", (json_int_t)info->table, "tokens",
        (json_int_t)info->tokens, "dim", (json_int_t)info->dim, "equal", (json_int_t)info->equal,
        "unmatched", (json_int_t)info->unmatched, "digest", done->table, "oov",
        info->drops ? "drop" : "uniform", "distances", "tokens", (json_int_t)geometry->tokens,
        "nearest_median", geometry->nearest_median, "pair_median", geometry->pair_median,
        "pair_max", geometry->pair_max, "bound", geometry->diameter_bound, "ldp_epsilon",
        nvdp__json_number(nvdp__sanitized_epsilon(done)), "row_epsilon",
        nvdp__json_number(nvdp__sanitized_row_epsilon(done)), "oov_epsilon",
        nvdp__json_number(nvdp__sanitized_oov_epsilon(done)), "deniability", "tokens",
        (json_int_t)done->sampled, "draws", (json_int_t)done->draws, "n_w", done->same, "s_w",
        done->distinct, "corpus", "texts", (json_int_t)done->texts, "tokens",
        (json_int_t)done->tokens, "longest", (json_int_t)done->longest, "changed",
        vectors ? json_null() : json_integer((json_int_t)done->changed), "oov",
        (json_int_t)done->unknown, "changed_share",
        vectors ? json_null() : json_real(nvdp__share(done->changed, done->tokens)), "oov_share",
        nvdp__share(done->unknown, nvdp__sanitized_words(done)), "not_sensitive_share",
        nvdp__share(done->kept, done->tokens), "files", done->files, "generator", done->generator,
        "created", created, "statement", statement);
}

/* ---- the statement in plain English ---- */

/* States why the public texts contain no private text. */
static const char *public_words(const struct nvdp__sanitized *done) {
    return done->public == NULL ? ""
           : strcmp(done->public, "declared") == 0
               ? " The owner declares that its texts were chosen independently of the private "
                 "texts; they were not compared."
               : " None of its texts is among the texts that were privatized.";
}

/* States which words can be output, and what the set of these words reveals. If the mechanism protects only the
 * sensitive tokens, describes the tokens without protection. */
static void append_words(struct nvdp__writer *writer, const struct nvdp__sanitized *done) {
    const struct nvdp_sanitizer_info *info = &done->info;
    if (info->own_words)
        nvdp__append(
            writer,
            "NOT PRIVATE, the choice of words: of the table's %zu words only the %zu that occur in "
            "these texts come out, as in Yue et al. (2021). Every word that comes out shows that "
            "some of these texts has it, which no number here includes.\n",
            info->table, info->tokens);
    else if (done->from != NULL)
        nvdp__append(writer,
                     "Of the table's %zu words only those that occur in %s come out. That file is "
                     "taken to be public: the output shows which words it has.%s\n",
                     info->table, done->from, public_words(done));
    if (partial(done))
        nvdp__append(
            writer,
            "No guarantee for the %zu of %zu tokens that are not sensitive: %.3g%% of these "
            "texts' tokens stay as they are with probability %g. Two texts that differ in one "
            "of them have an infinite divergence.%s\n",
            info->tokens - info->sensitive, info->tokens,
            100 * nvdp__share(done->kept, done->tokens), 1 - info->p,
            done->own_choice
                ? " Which tokens are sensitive was counted on the private texts: that choice "
                  "is not private."
                : "");
    if (done->sensitive_from != NULL)
        nvdp__append(writer,
                     "Which tokens are sensitive was counted in %s. That file is taken to be "
                     "public.%s\n",
                     done->sensitive_from, public_words(done));
}

static void append_proof(struct nvdp__writer *writer, const struct nvdp__sanitized *done) {
    const struct nvdp_sanitizer_info *info = &done->info;
    const struct nvdp__token_row *row = mechanism_row(done);
    const double worst = info->eta * done->geometry.diameter_bound, longest = of_row(done, worst);
    const char *which = partial(done) ? "sensitive " : "";
    if (!row->uses_eta) {
        nvdp__append(writer, "Proven: the output says nothing about a text but its length%s.\n",
                     info->own_words ? ", and of all texts together which words they have" : "");
        return;
    }
    nvdp__append(
        writer,
        "%s: epsilon is at most %s for one %stoken with a vector in place of another "
        "(local differential privacy). For n such tokens of one row it is n times that: at "
        "most %s for %llu, the length of the longest row. A text in several rows costs their "
        "sum.\n",
        fmax(worst, longest) > NVDP_USEFUL_EPSILON ? "No useful guarantee over all texts"
                                                   : NVDP__PROVEN_INEXACT("this output's"),
        nvdp__bound(worst).text, which, nvdp__bound(longest).text,
        (unsigned long long)done->longest);
    nvdp__append(
        writer,
        NVDP__PROVEN_INEXACT("this output's") ", for two %stokens: no output distinguishes "
                                              "token x from x' by a log ratio above %s |x - x'|. "
                                              "Near tokens are hard to tell "
                                              "apart, far ones are not.\n",
        which, nvdp__bound(info->eta).text);
}

static void append_contents(struct nvdp__writer *writer, const struct nvdp__sanitized *done) {
    const struct nvdp_sanitizer_info *info = &done->info;
    const struct nvdp__token_row *row = mechanism_row(done);
    nvdp__append(writer,
                 "Contents: %llu text%s, privatized token by token by mechanism %s over the %zu %s "
                 "of %s, whose vectors have %zu dimensions.",
                 (unsigned long long)done->texts, done->texts == 1 ? "" : "s", row->citation,
                 info->tokens, info->pieces ? "WordPieces" : "words", done->source, info->dim);
    if (row->uses_eta)
        nvdp__append(writer, " Noise: %s %g nats per unit of distance.", row->scale, info->eta);
    if (info->unmatched > 0)
        nvdp__append(writer,
                     " %zu of the words come out but never go in, as texts are read in lower case, "
                     "without accents and with punctuation apart.",
                     info->unmatched);
    nvdp__append(writer, "\n");
}

/* States the log ratios between a word without a vector and another word. */
static void append_unknown(struct nvdp__writer *writer, const struct nvdp__sanitized *done) {
    const struct nvdp__token_row *row = mechanism_row(done);
    const double bound = nvdp__sanitized_oov_epsilon(done);
    if (!row->uses_eta && !done->info.drops) return;
    nvdp__append(writer, "A word without %s ", done->info.pieces ? "WordPieces" : "a vector");
    if (done->info.drops)
        nvdp__append(writer, "is left out: the length shows with certainty that no word with a "
                             "vector stood there.");
    else
        nvdp__append(writer, "%s a uniform draw. Two such words cannot be told apart; %s%s.",
                     row->gives_vectors ? "gets the noised vector of" : "becomes",
                     isfinite(bound) ? "such a word and another one can, by a log ratio of up to "
                     : row->uses_p ? "an output can show with certainty whether it was such a word"
                                   : "for such a word and another one no bound is proven",
                     isfinite(bound) ? nvdp__bound(bound).text : "");
    if (done->unknown > 0)
        nvdp__append(writer, " %.3g%% of the words were such.",
                     100 * nvdp__share(done->unknown, nvdp__sanitized_words(done)));
    nvdp__append(writer, "\n");
}

static void append_measured(struct nvdp__writer *writer, const struct nvdp__sanitized *done) {
    const struct nvdp_geometry *geometry = &done->geometry;
    if (!mechanism_row(done)->uses_eta) return;
    nvdp__append(writer,
                 "Distances: a token's nearest neighbour is %.3g away, two tokens are %.3g apart "
                 "(medians of %zu tokens), at most %s.",
                 geometry->nearest_median, geometry->pair_median, geometry->tokens,
                 nvdp__bound(geometry->diameter_bound).text);
    if (done->info.equal > 0)
        nvdp__append(writer, " %zu tokens have the vector of another one.", done->info.equal);
    nvdp__append(writer, "\n");
    if (done->sampled > 0)
        nvdp__append(writer,
                     "Measured on %zu tokens of these texts: a draw gives the token itself%s with "
                     "probability N_w = %.3g, and %zu draws give S_w = %.3g different tokens.\n",
                     done->sampled,
                     mechanism_row(done)->gives_vectors ? ", by its nearest neighbour," : "",
                     done->same, done->draws, done->distinct);
}

/* Lists the columns of all files that are unchanged in the output. */
static void append_kept(struct nvdp__writer *writer, const struct nvdp__sanitized *done) {
    enum { MAX_NAMES = 8 };
    json_t *names = json_object();
    const char *key;
    json_t *file, *name;
    size_t i, listed = 0;
    json_object_foreach(done->files, key, file)
        json_array_foreach(json_object_get(file, "kept"), i, name)
            json_object_set_new(names, json_string_value(name), json_null());
    const size_t count = json_object_size(names);
    json_object_foreach(names, key, name) {
        if (listed == MAX_NAMES) break;
        nvdp__append(writer, "%s%s", listed++ == 0 ? " (" : ", ",
                     nvdp__quote_field((struct nvdp__field){key, strlen(key)}).text);
    }
    if (count > listed) nvdp__append(writer, " and %zu others", count - listed);
    if (listed > 0) nvdp__append(writer, ")");
    json_decref(names);
}

void nvdp__sanitized_statement(const struct nvdp__sanitized *done, size_t size, char *out) {
    struct nvdp__writer made = {out, size, 0}, *writer = &made;
    const bool seeded = strcmp(done->generator, "os") != 0;
    out[0] = '\0';
    if (seeded)
        nvdp__append(writer,
                     "INSECURE, for tests and experiments alone: the draws come from a seed. "
                     "Whoever knows the seed can undo the draws, and two outputs with one "
                     "seed reveal differences to anyone.\n");
    append_words(writer, done);
    append_proof(writer, done);
    append_contents(writer, done);
    append_unknown(writer, done);
    append_measured(writer, done);
    nvdp__append(writer,
                 "Public, and covered by no number here: the %s and vectors of %s%s, even if they "
                 "were made from these texts, the number and order of the texts, how many tokens "
                 "each has, labels, ids and all columns that were not privatized",
                 done->info.pieces ? "WordPieces" : "words", done->source,
                 partial(done) ? " and which of them are sensitive" : "");
    append_kept(writer, done);
    nvdp__append(writer, ". The counts above were computed from the texts without noise.");
    if (!seeded)
        nvdp__append(writer, "\nEvery draw came from the operating system's generator and is not "
                             "repeated. A second privatization of the same texts would reveal "
                             "more, and a text in several rows reveals more than one row.");
}
