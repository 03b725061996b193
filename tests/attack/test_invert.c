/* Tests the attacker that writes texts: its scores against values by hand, then vectors that tell the words, vectors
 * of noise alone, a run and its shared samples, and refusals.  Seeds are fixed. */
#include "attack/invert.h"
#include "attack_test.h"

#include "test_context.h"

/* --- scores --- */

static struct nvdp__text_counts compared(const char *text, const char *guess) {
    uint64_t word[2][NVDP__TEXT_WORDS];
    size_t n[2] = {strlen(text), strlen(guess)};
    for (size_t i = 0; i < n[0]; i++)
        word[0][i] = (uint64_t)text[i];
    for (size_t i = 0; i < n[1]; i++)
        word[1][i] = (uint64_t)guess[i];
    return nvdp__text_compare(n[0], word[0], n[1], word[1]);
}

/* A letter is a word.  BLEU-4 of abcdef and abcxe: precisions 4/5, (2+1)/(4+1), (1+1)/(3+1), (0+1)/(2+1), brevity
 * penalty exp(1 - 6/5). */
Test(text_scores, by_hand) {
    struct nvdp__text_counts found = compared("abcdef", "abcxe");
    near(nvdp__bleu(&found), pow(.8 * .6 * .5 / 3, .25) * exp(-.2), 1e-12);
    near(nvdp__bleu(&found), .43542524, 1e-8);
    near(found.rouge, 8. / 11, 1e-12); /* abce */
    near(found.f1, 8. / 11, 1e-12);
    cr_expect_eq(found.exact, 0);
    found = compared("abcd", "abcd");
    near(nvdp__bleu(&found), 1, 1e-12);
    cr_expect(found.rouge == 1 && found.f1 == 1 && found.exact == 1);
    found = compared("abcd", "dcba"); /* the longest common subsequence is one word */
    cr_expect(found.f1 == 1 && found.rouge == .25 && found.exact == 0);
    found = compared("ab", "aaa"); /* the text has one a; no penalty for a longer guess */
    near(found.f1, .4, 1e-12);
    near(nvdp__bleu(&found), pow(1. / 3 * (1. / 3) * .5 * 1, .25), 1e-12);
    found = compared("ab", "xy");
    cr_expect(nvdp__bleu(&found) == 0 && found.f1 == 0 && found.rouge == 0);
    found = compared("", "");
    cr_expect(found.f1 == 1 && found.exact == 1);
    found = compared("ab", "");
    cr_expect(nvdp__bleu(&found) == 0 && found.f1 == 0);
}

/* The mean of 400 texts that are right with probability .3 has the standard error .023; the interval has about twice
 * that on either side, and the same for two equal seeds.  No right text: Clopper & Pearson. */
Test(text_scores, intervals) {
    enum { TEXTS = 400 };
    struct nvdp__text_attack_options options = {.seed = 1};
    struct nvdp__text_attack a = {.ctx = support_context(), .options = &options};
    struct nvdp__text_counts count[2 * TEXTS];
    size_t right = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        const bool one = i * 7919 % TEXTS < .3 * TEXTS;
        right += one;
        count[i] = count[TEXTS + i] = compared("a", one ? "a" : "b");
    }
    for (size_t seeds = 1; seeds <= 2; seeds++) {
        a.scores = 0;
        ok(nvdp__add_text_scores(&a, NVDP__OBSERVED_RELEASE, seeds, TEXTS, count));
        cr_assert_eq(a.scores, 4); /* no entities, no encoder */
        const struct nvdp__text_score *f1 = &a.score[2];
        cr_expect_str_eq(nvdp__text_metric_name(f1->metric), "words, F1");
        near(f1->value, (double)right / TEXTS, 1e-12);
        near(f1->interval.high - f1->interval.low, 2 * 1.96 * sqrt(.3 * .7 / TEXTS), .012);
    }
    for (size_t i = 0; i < TEXTS; i++)
        count[i] = compared("a", "b");
    a.scores = 0;
    ok(nvdp__add_text_scores(&a, NVDP__OBSERVED_STATES, 1, TEXTS, count));
    for (size_t k = 0; k < a.scores; k++)
        near(a.score[k].interval.high, 1 - pow(.025, 1. / TEXTS), 1e-9);
    free(a.score);
}

/* --- the search --- */

/* Counts new lengths over many changes of a candidate of n tokens; returns how many only add masks at the end. */
static size_t changed(struct nvdp_tokenizer *tokenizer, bool guess_length, size_t n,
                      size_t lengths[9]) {
    const struct nvdp__inverter v = {
        .tokenizer = tokenizer, .length = 8 + 2, .guess_length = guess_length};
    const int32_t mask = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_MASK);
    struct nvdp__stream stream = support_stream(2, 0);
    nvdp__autofree float *read = calloc((size_t)mask + 20, sizeof *read);
    int32_t of_from[8], of_to[8];
    size_t appended = 0;
    for (size_t k = 0; k < n; k++)
        of_from[k] = mask + 1 + (int32_t)k;
    for (size_t i = 0; i < 2000; i++) {
        const struct nvdp__written from = {.n = n, .id = of_from};
        struct nvdp__written to = {.id = of_to};
        nvdp__judge_change(&v, &from, read, &stream, &to);
        cr_assert_leq(to.n, 8);
        lengths[to.n]++;
        appended += to.n > n && memcmp(of_to, of_from, n * sizeof *of_to) == 0;
    }
    return appended;
}

/* Without a public length, tokens appear at the end too and no candidate becomes empty; with one, all lengths stay, of
 * an empty text too. */
Test(search, changes_candidates) {
    nvdp__auto(toy_close) struct toy toy = toy_open(3);
    for (size_t n = 0; n <= 8; n++) {
        size_t open[9] = {0}, fixed[9] = {0};
        const size_t appended = changed(toy.tokenizer, true, n, open);
        cr_expect(n == 8 ? appended == 0 : appended > 20, "%zu: %zu", n, appended);
        cr_expect_eq(open[0], 0, "%zu", n);
        cr_expect_eq(changed(toy.tokenizer, false, n, fixed), 0);
        cr_expect_eq(fixed[n], 2000, "%zu", n);
    }
}

/* Two pieces of three are asked for once, one of them is there; a second copy of it is not asked for. */
Test(search, agreement_by_hand) {
    int32_t id[] = {1, 1, 2};
    const float told[] = {0, 1, .25F, .75F};
    const struct nvdp__written guess = {.n = 3, .id = id};
    near(nvdp__judge_agreement(&guess, 4, told, 2), 2 * 1.25 / 5, 1e-12);
    const struct nvdp__written none = {.n = 0};
    cr_expect_eq(nvdp__judge_agreement(&none, 4, told, 2), 0);
}

/* --- words that are read off --- */

/* Texts at 0, 1 and 3 on a line have pieces 5, 5 6 and 7.  The map says that piece 6 becomes more frequent by .5 per
 * unit.  At 1/2 with a narrow kernel the first two have half the weight each, and with an infinite one the rates of
 * all texts count. */
Test(reader, near_texts) {
    enum { PIECES = 8 };
    size_t offset[] = {0, 3, 7, 10};
    int32_t id[] = {2, 5, 3, 2, 5, 6, 3, 2, 7, 3};
    const struct nvdp_dataset known = {.count = 3, .offset = offset, .ids = id};
    struct nvdp__piece_reader r;
    float read[PIECES];
    const float x = .5F - 4.F / 3;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    ok(nvdp__piece_reader_create(ctx, &memory, 1, PIECES, &known, &r));
    for (size_t i = 0; i < 3; i++)
        r.vector[i] = (float)(i == 2 ? 3 : i) - 4.F / 3;
    r.map[6] = .5F;
    r.rate[5] = 2. / 3;
    r.rate[6] = r.rate[7] = 1. / 3;
    nvdp__piece_reader_compare(&r, &x);
    cr_expect_eq(r.near[0].text + r.near[1].text, 1);
    cr_expect_eq(r.near[2].text, 2);
    near(r.near[2].distance, 6.25, 1e-5);
    r.width = .1;
    nvdp__piece_reader_expect(&r, &x, read);
    near((double)read[5], 1, 1e-6);
    near((double)read[6], .5, 1e-6); /* half a piece, and .5 (1/2 - 1/2) */
    near((double)read[7], 0, 1e-6);
    r.width = INFINITY;
    nvdp__piece_reader_expect(&r, &x, read);
    near((double)read[5], 2. / 3, 1e-6);
    near((double)read[6], 1. / 3 + .5 * (.5 - 4. / 3), 1e-6);
    near((double)read[7], 1. / 3, 1e-6);
}

/* --- the map of an attacker without the encoder --- */

/* y = B x + 3 plus noise of variance .01, or none: the map finds B and 3, and its error is the noise's variance.
 * Equal samples give the mean. */
Test(alignment, finds_a_linear_map) {
    enum { PAIRS = 2000, FROM = 6, TO = 4 };
    for (int noisy = 0; noisy < 2; noisy++) {
        const struct nvdp__noise noise = {.seed = 3};
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
        struct nvdp__alignment map;
        double b[FROM * TO], e[TO], x[FROM], want[TO], found[TO];
        nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
        ok(nvdp__alignment_create(ctx, &memory, PAIRS, FROM, TO, &map));
        nvdp__stream_normals_f64(&stream, FROM * TO, b);
        nvdp__stream_normals_f64(&stream, PAIRS * FROM, map.x);
        for (size_t i = 0; i < PAIRS; i++) {
            nvdp__stream_normals_f64(&stream, TO, e);
            for (size_t k = 0; k < TO; k++) {
                map.y[i * TO + k] = 3 + noisy * .1 * e[k];
                for (size_t d = 0; d < FROM; d++)
                    map.y[i * TO + k] += b[d * TO + k] * map.x[i * FROM + d];
            }
        }
        ok(nvdp__alignment_fit(ctx, &map));
        nvdp__stream_normals_f64(&stream, FROM, x);
        for (size_t k = 0; k < TO; k++) {
            want[k] = 3;
            for (size_t d = 0; d < FROM; d++)
                want[k] += b[d * TO + k] * x[d];
            near(map.error[k], noisy ? .01 : 0, .002);
        }
        nvdp__alignment_apply(&map, x, found);
        for (size_t k = 0; k < TO; k++)
            near(found[k], want[k], .03);
        if (noisy) {
            memset(map.x, 0, PAIRS * FROM * sizeof *map.x);
            ok(nvdp__alignment_fit(ctx, &map));
            nvdp__alignment_apply(&map, x, found);
            for (size_t k = 0; k < TO; k++)
                near(found[k], map.mean[FROM + k], 1e-12);
        }
    }
}

/* --- vectors of known texts --- */

enum { WORDS = 10, LONGEST = 5, KNOWN = 400, SECRET = 60, DIM = WORDS * LONGEST };

static const char *const words[WORDS] = {"good", "bad", "cat",  "dog", "sun",
                                         "sea",  "red", "blue", "one", "two"};

/* Writes random texts of two to five words, and a vector for each: an indicator of the word at each place, plus noise,
 * or noise alone without `tells`.  In the file with tags the first word of a text is an entity. */
static void write_texts(const char *name, size_t texts, uint64_t seed, bool tells, double noise) {
    const struct nvdp__noise key = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&key, NVDP__PURPOSE_DEMO, 0, 0);
    char path[64], header[129];
    snprintf(path, sizeof path, "%s.txt", name);
    nvdp__autoptr(fclose) FILE *text = fopen(support_scratch_path(path), "w");
    snprintf(path, sizeof path, "%s.conll", name);
    nvdp__autoptr(fclose) FILE *tagged = fopen(support_scratch_path(path), "w");
    snprintf(path, sizeof path, "%s.npy", name);
    nvdp__autoptr(fclose) FILE *array = fopen(support_scratch_path(path), "w");
    cr_assert(text != NULL && tagged != NULL && array != NULL);
    snprintf(header, sizeof header,
             "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, %d), }%*s", texts, DIM, 60,
             "");
    header[117] = '\n';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, array);
    fwrite(header, 1, 118, array);
    for (size_t i = 0; i < texts; i++) {
        double vector[DIM];
        nvdp__stream_normals_f64(&stream, DIM, vector);
        for (size_t d = 0; d < DIM; d++)
            vector[d] *= noise;
        const size_t n = 2 + nvdp__stream_below(&stream, LONGEST - 1);
        for (size_t k = 0; k < n; k++) {
            const size_t word = nvdp__stream_below(&stream, WORDS);
            if (tells) vector[k * WORDS + word] += 1;
            fprintf(text, "%s%s", words[word], k < n - 1 ? " " : "\n");
            fprintf(tagged, "%s\t%s\n%s", words[word], k == 0 ? "B-THING" : "O",
                    k < n - 1 ? "" : "\n");
        }
        fwrite(vector, sizeof *vector, DIM, array);
    }
}

/* Trains a masked language model of such texts. */
static void make_prior(const char *out) {
    const char *vocabulary = support_scratch_path("vocabulary.txt");
    const char *const texts[] = {support_scratch_path("known.txt")};
    support_write_text(vocabulary, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\ncat\ndog\nsun\n"
                                   "sea\nred\nblue\none\ntwo\n");
    struct nvdp__pretrain_options config = toy_config(texts, out);
    config.vocab = vocabulary;
    config.steps = 20;
    config.hidden = 32;
    config.length = 8;
    config.max_positions = 16;
    nvdp__autoresult struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);
    ok(nvdp__pretrain(ctx, &config, &result));
}

/* Replaces each '@' by the scratch directory. */
static const char *in_scratch(const char *text) {
    const char *made = "";
    for (const char *at; (at = strchr(text, '@')) != NULL; text = at + 1)
        made = support_path("%s%.*s%s/", made, (int)(at - text), text, support_scratch());
    return support_path("%s%s", made, text);
}

/* Runs the attack with options: names and values with spaces between them. '@' is the scratch directory. */
static nvdp_status attack(const char *options, const json_t **out) {
    struct nvdp_config *config =
        support_config(ctx, "attack", "kind", "invert", "seeds", "1", NULL);
    struct nvdp_attack_result *result = NULL;
    support_options(ctx, config, "%s", in_scratch(options));
    NVDP_TRY(nvdp_attack(ctx, config, &result));
    support_keep(result);
    *out = support_result_json(ctx, result, NULL);
    return NVDP_OK;
}

static const json_t *attacked(const char *options) {
    const json_t *found = NULL;
    ok(attack(options, &found));
    return found;
}

/* Returns a score, or an end of its interval. */
static double score(const json_t *found, const char *observed, const char *metric, int end) {
    size_t i;
    json_t *of;
    json_array_foreach(json_object_get(found, "scores"), i, of) {
        if (strcmp(text_at(of, "observed"), observed) == 0 &&
            strcmp(text_at(of, "metric"), metric) == 0)
            return end < 0 ? number_at(of, "value")
                           : json_number_value(
                                 json_array_get(json_object_get(of, "interval"), (size_t)end));
    }
    cr_assert_fail("no %s of %s", metric, observed);
    return NAN;
}

static bool weak(const json_t *found) {
    return json_is_true(json_object_get(found, "weak"));
}

static const char given[] = "public-posteriors @known.npy public @known.txt prior @prior tokens 6 "
                            "beam 3 posteriors @secret.npy";

/* The texts are written where vectors tell them, lengths included; otherwise the score is the prior's.  The numbers
 * depend on the seed alone. */
Test(invert, vectors_of_known_texts) {
    const char *hidden = support_path("%s attacked @secret.txt steps 150", given);
    write_texts("known", KNOWN, 1, true, .02);
    write_texts("secret", SECRET, 2, true, .02);
    make_prior(support_scratch_path("prior"));
    ok(nvdp_context_set_threads(ctx, 1));
    const json_t *found = attacked(support_path("%s attacked @secret.conll steps 500", given));
    const double f1 = score(found, "release", "words, F1", -1),
                 exact = score(found, "release", "exact match", -1);
    cr_expect_geq(f1, .9, "%g", f1);
    cr_expect_gt(exact, .6, "%g", exact);
    cr_expect_gt(score(found, "release", "BLEU-4", -1), score(found, "prior", "BLEU-4", 1));
    cr_expect_geq(score(found, "release", "entities, recall", -1), .8);
    cr_expect_lt(score(found, "prior", "entities, recall", -1), .8);
    cr_expect(!weak(found));
    /* tags are found by content: under another name, with spaces; the limit counts sentences */
    for (int spaces = 0; spaces < 2; spaces++) {
        char *tags = support_read(support_scratch_path("secret.conll"));
        for (char *at = tags; spaces && *at != '\0'; at++)
            if (*at == '\t') *at = ' ';
        support_file("secret.tsv", support_path("\n%s", tags));
        found = attacked(support_path("%s attacked @secret.tsv public @known.conll "
                                      "public-limit 100 steps 1 search 0",
                                      given));
        (void)score(found, "release", "entities, recall", -1);
        cr_expect_eq(integer_at(found, "public_texts"), 100);
    }

    write_texts("known", KNOWN, 1, false, 1);
    write_texts("secret", SECRET, 2, false, 1);
    found = attacked(hidden);
    cr_expect_leq(score(found, "release", "words, F1", 0), score(found, "prior", "words, F1", 1));
    cr_expect_geq(score(found, "release", "words, F1", 1), score(found, "prior", "words, F1", 0));
    cr_expect(weak(found));
    ok(nvdp_context_set_threads(ctx, 2));
    cr_expect(json_equal(found, attacked(hidden)));
}

/* --- a run --- */

/* Shares two samples of each dev text. */
static void share(const char *run) {
    const struct nvdp_config *config =
        support_config(ctx, "export", "run", run, "out", support_scratch_path("shared.h5"), "split",
                       "dev", "samples", "2", "measure-texts", "2", "limit", "12", "insecure-seed",
                       "7", "no-ledger", "true", NULL);
    ok(nvdp_export(ctx, config, NULL));
}

/* Samples are drawn or from a file.  Under a sequence clip the exact match alone has a bound: that of naming the most
 * frequent text. */
Test(invert, a_run) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_NVDP, .policy = NVDP_LENGTH_HIDDEN, .epochs = 1, .clip_sequence = 2};
    const char *run = task_run(ctx, "run", &choice, NULL);
    static const char usual[] = "run @run public @data/train.tsv prior @prior tokens 8 steps 20";
    ok(nvdp_context_set_threads(ctx, 1));
    write_texts("known", KNOWN, 1, true, 0);
    make_prior(support_scratch_path("prior"));
    const json_t *found = attacked(support_path("%s limit 10", usual));
    cr_expect_eq(integer_at(found, "texts"), 10);
    for (int o = 0; o < 3; o++) {
        static const char *const observed[] = {"release", "states", "prior"};
        const double cosine = score(found, observed[o], "cosine", -1);
        cr_expect(cosine >= -1 && cosine <= 1 + 1e-6, "%g", cosine);
        (void)score(found, observed[o], "ROUGE-L", -1);
    }
    const double searched = score(found, "states", "cosine", -1);
    /* the vectors of tokens name most texts */
    cr_expect_gt(score(found, "states", "exact match", -1), .4);
    size_t bounded = 0, i;
    json_t *of;
    json_array_foreach(json_object_get(found, "scores"), i, of) {
        if (json_is_null(json_object_get(of, "bound"))) continue;
        bounded++;
        support_has(of, "{'metric': 'exact match', 'observed': 'release'}");
        const double baseline = number_at(of, "baseline");
        near(baseline * 10, round(baseline * 10), 1e-9);
        cr_expect_gt(number_at(of, "bound"), baseline);
    }
    cr_expect_eq(bounded, 1);
    found = attacked(support_path("%s limit 10 search 0", usual));
    cr_expect_lt(score(found, "states", "cosine", -1), searched);
    share(run);
    found = attacked(support_path("%s shared @shared.h5 seeds 2", usual));
    support_has(found, "{'texts': 12, 'seeds': 2}");

    static const char *const refused[][2] = {
        {"prior @run/model", "masked-LM head"},
        {"tokens 500", "max_position_embeddings"},
        {"aligned 50", "aligned: needs --surrogate"},
        {"attacked @known.txt", "attacked: expected it with --posteriors alone"},
        {"public @nowhere.tsv", "nowhere.tsv"}};
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        cr_expect_neq(attack(support_path("%s %s", usual, refused[k][0]), &found), NVDP_OK);
        support_contains(nvdp_context_error(ctx), refused[k][1]);
    }
    fails(attack("run @run public @data/train.tsv", &found), NVDP_ERR_ARGUMENT,
          "prior: expected the directory of a masked");
}

Test(invert, refuses_vectors_without_texts) {
    static const char *const bad[][2] = {
        {"posteriors @secret.npy prior @prior", "expected the texts"},
        {"posteriors @secret.npy prior @prior public @known.txt attacked @secret.txt",
         "expected the vectors of the public texts in --public-posteriors"},
        {"posteriors @known.npy prior @prior public @known.txt attacked @secret.txt "
         "public-posteriors @known.npy tokens 6",
         "expected the vectors of 60 texts, in the order of their file, found those of 400"},
        {"prior @prior", "exactly one of the options run and posteriors"}};
    const json_t *found = NULL;
    write_texts("known", KNOWN, 1, true, 0);
    write_texts("secret", SECRET, 2, true, 0);
    make_prior(support_scratch_path("prior"));
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        cr_expect_neq(attack(bad[k][0], &found), NVDP_OK);
        support_contains(nvdp_context_error(ctx), bad[k][1]);
    }
}
