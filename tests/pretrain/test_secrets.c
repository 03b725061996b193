/* Tests secrets: their file, and the places where batches contain them. */
#include "toy_corpus.h"

#include "test_context.h"

enum { LENGTH = 24, TEXTS = 8 };

static struct nvdp__secrets read_secrets(struct toy *toy, const char *list) {
    const char *path = support_scratch_path("secrets.json");
    struct nvdp__secrets secrets = {.ctx = toy->ctx};
    support_write_text(path, support_path("{\"seed\": 3, \"secrets\": [%s]}", list));
    ok(nvdp__secrets_read(path, toy->tokenizer, &secrets));
    return secrets;
}

static bool same_secrets(const struct nvdp__secrets *a, const struct nvdp__secrets *b) {
    if (a->count != b->count || a->ids != b->ids || a->seed != b->seed) return false;
    if (memcmp(a->id, b->id, a->ids * sizeof *a->id) != 0) return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->at[i].form, b->at[i].form) != 0 ||
            a->at[i].occurrences != b->at[i].occurrences || a->at[i].coin != b->at[i].coin ||
            a->at[i].window != b->at[i].window)
            return false;
    return true;
}

Test(secrets, are_drawn_by_the_seed_and_written_as_they_came_out) {
    nvdp__auto(toy_close) struct toy toy = toy_open(4);
    nvdp__auto(nvdp__secrets_release) struct nvdp__secrets a =
        read_secrets(&toy, "{\"form\": \"HHSHH\", \"occurrences\": 2, \"count\": 50}, {\"form\": "
                           "\"HS\", \"tokens\": [\"cat\", \"gate\"], \"occurrences\": 0}, "
                           "{\"form\": \"HSH\", \"include\": \"coin\", \"count\": 400}");
    cr_assert_eq(a.count, 451);
    cr_expect_eq(a.at[0].slot, 2);
    cr_expect_eq(a.at[50].slot, 1);
    cr_expect_str_eq(nvdp_tokenizer_piece(toy.tokenizer, a.id[a.at[50].first + 1]), "gate");
    cr_expect(a.at[51].coin && a.at[51].window && !a.at[0].window);
    /* 37 pieces less 5 special tokens, 4 continuing pieces, and the full stop. */
    cr_expect_eq(a.words, 27);
    size_t in = 0, seen[64] = {0};
    for (size_t i = 51; i < 451; i++)
        in += a.at[i].occurrences;
    cr_expect(in > 160 && in < 240, "%zu heads of 400 (4 standard deviations)", in);
    for (size_t i = 0; i < a.ids; i++)
        seen[a.id[i]]++;
    for (size_t i = 0; i < a.words; i++) /* 1450 draws, 54 each; 6 standard deviations */
        cr_expect(seen[a.word[i]] > 11 && seen[a.word[i]] < 101, "%zu", seen[a.word[i]]);
    const char *written = support_scratch_path("planted.json");
    nvdp__autoptr(json_decref) json_t *object = nvdp__secrets_json(&a, toy.tokenizer);
    cr_assert_eq(json_dump_file(object, written, 0), 0);
    nvdp__auto(nvdp__secrets_release) struct nvdp__secrets b = {.ctx = toy.ctx};
    ok(nvdp__secrets_read(written, toy.tokenizer, &b));
    cr_expect(same_secrets(&a, &b));
}

Test(secrets, bad_files_are_refused_by_field) {
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"[", "secrets.json: line 1: "},
        {"{\"secrets\": []}", "secrets.json: 'seed': expected an integer, found none"},
        {"{\"seed\": -1}", "'seed': expected an integer from 0"},
        {"{\"seed\": 1}", "'secrets': expected a list of at least one secret, found none"},
        {"{\"seed\": 1, \"secrets\": []}", "found an empty list"},
        {"{\"seed\": 1, \"secret\": []}", "secrets.json: unknown key 'secret'"},
        {"{\"seed\": 1, \"nvdp_format\": \"x/1\", \"secrets\": [1]}", "expected secrets/1"},
        {"{\"seed\": 1, \"secrets\": [1]}", "secrets[0]: expected a JSON object"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"occurences\": 1}]}",
         "secrets[0]: unknown key 'occurences'"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\"}]}",
         "secrets[0]: key 'occurrences': expected the number of times"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"occurrences\": -2}]}",
         "'occurrences': expected an integer from 0"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HSS\", \"occurrences\": 1}]}",
         "'form': expected 2 to 16 letters, all H except one S"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"S\", \"occurrences\": 1}]}", "found S"},
        {"{\"seed\": 1, \"secrets\": [{\"occurrences\": 1}]}", "found nothing"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HSHHHHHHHHHHHHHHH\", \"occurrences\": 1}]}",
         "'form': expected"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"occurrences\": 1, \"place\": \"x\"}]}",
         "'place': expected window or text, found 'x'"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"include\": \"dice\"}]}",
         "'include': expected coin, found 'dice'"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"include\": \"coin\", \"occurrences\": "
         "1}]}",
         "expected none, because 'include' decides"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"include\": \"coin\", \"place\": "
         "\"text\"}]}",
         "'place': with 'include' expected window"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"occurrences\": 1, \"planted\": true}]}",
         "'planted' needs the key 'include'"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"occurrences\": 1, \"tokens\": "
         "[\"cat\"]}]}",
         "'tokens': expected a list of 2 words"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"occurrences\": 1, \"count\": 2, "
         "\"tokens\": [\"cat\", \"dog\"]}]}",
         "and count 1; found 2 words and count 2"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"occurrences\": 1, \"tokens\": [\"cat\", "
         "\"##at\"]}]}",
         "'tokens': entry 1: expected a whole word of the vocabulary, found '##at'"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"occurrences\": 1}, {\"form\": \"HS\", "
         "\"occurrences\": 1, \"tokens\": [3, \"cat\"]}]}",
         "secrets[1]: key 'tokens': entry 0: expected"},
        {"{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"occurrences\": 1, \"count\": 0}]}",
         "'count': expected an integer from 1"},
    };
    nvdp__auto(toy_close) struct toy toy = toy_open(4);
    const char *path = support_scratch_path("secrets.json");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        nvdp__auto(nvdp__secrets_release) struct nvdp__secrets secrets = {.ctx = toy.ctx};
        support_write_text(path, bad[i].text);
        fails(nvdp__secrets_read(path, toy.tokenizer, &secrets), NVDP_ERR_INPUT, bad[i].message);
    }
}

/* ---- batches ---- */

struct shown {
    struct nvdp__examples examples;
    struct nvdp__batcher batcher;
    struct nvdp__plants plants;
};

static void show(struct toy *toy, const struct nvdp__secrets *secrets, const uint64_t *seed,
                 struct shown *s) {
    *s = (struct shown){.examples = {.ctx = toy->ctx}};
    if (secrets != NULL)
        ok(nvdp__plants_create(toy->ctx, "secrets.json", secrets, &toy->corpus, &toy->pieces,
                               &s->plants));
    ok(nvdp__examples_windows(&s->examples, &toy->corpus, &toy->pieces, LENGTH, seed, 0));
    ok(nvdp__examples_planted(&s->examples, &s->plants));
    ok(nvdp__batcher_create(toy->ctx, &toy->corpus, &toy->pieces, TEXTS, LENGTH, 0.15, false,
                            &s->batcher));
    if (secrets != NULL) s->batcher.plants = &s->plants;
}

static void close_shown(struct shown *s) {
    nvdp__batcher_release(&s->batcher);
    nvdp__examples_release(&s->examples);
    nvdp__plants_release(&s->plants);
}

/* Writes example `index` without [CLS] and [SEP], as before masking; returns the number of its
 * tokens. */
static size_t tokens_of(struct shown *s, size_t index, int32_t ids[LENGTH]) {
    const struct nvdp__mask_key key = {.seed = 1, .purpose = NVDP__PURPOSE_MASK};
    nvdp__batcher_fill(&s->batcher, &s->examples, NULL, index, 1, &key);
    const struct nvdp__batch *batch = s->batcher.batch;
    cr_assert_leq(batch->tokens, LENGTH);
    for (size_t i = 0; i < s->batcher.masked.count; i++)
        batch->ids[s->batcher.masked.row[i]] = s->batcher.masked.label[i];
    memcpy(ids, batch->ids + 1, (batch->tokens - 2) * sizeof *ids);
    return batch->tokens - 2;
}

static size_t count_in(size_t n, const int32_t *ids, size_t m, const int32_t *wanted) {
    size_t found = 0;
    for (size_t i = 0; i + m <= n; i++)
        found += memcmp(ids + i, wanted, m * sizeof *ids) == 0;
    return found;
}

/* Words that are never adjacent in the text. */
static const char planted[] =
    "{\"form\": \"HSH\", \"tokens\": [\"hill\", \"s\", \"hill\"], \"occurrences\": 9},"
    "{\"form\": \"HSH\", \"tokens\": [\"s\", \"bark\", \"mat\"], \"occurrences\": 2},"
    "{\"form\": \"HS\", \"tokens\": [\"gate\", \"gallop\"], \"occurrences\": 3, \"place\": "
    "\"window\"}";

Test(secrets, each_is_in_as_many_examples_as_it_was_planted_times) {
    nvdp__auto(toy_close) struct toy toy = toy_open(30);
    nvdp__auto(nvdp__secrets_release) struct nvdp__secrets secrets = read_secrets(&toy, planted);
    const uint64_t seeds[] = {4, 5};
    for (size_t run = 0; run < 3; run++) { /* the same windows always; two epochs */
        const uint64_t *seed = run > 0 ? &seeds[run - 1] : NULL;
        struct shown with, without;
        show(&toy, &secrets, seed, &with);
        show(&toy, NULL, seed, &without);
        size_t times[3] = {0}, changed = 0;
        cr_assert_eq(with.examples.count, without.examples.count + 3);
        for (size_t i = 0; i < with.examples.count; i++) {
            int32_t a[LENGTH], b[LENGTH];
            size_t n = tokens_of(&with, i, a), m = 0, here = 0;
            for (size_t k = 0; k < 3; k++) {
                const struct nvdp__secret *s = &secrets.at[k];
                const size_t found = count_in(n, a, s->length, secrets.id + s->first);
                times[k] += found;
                here += found;
            }
            if (i < without.examples.count) m = tokens_of(&without, i, b);
            const bool same = n == m && memcmp(a, b, n * sizeof *a) == 0;
            changed += !same;
            cr_expect_eq(same, here == 0, "example %zu", i);
            /* No text moves into another window. */
            if (m > 0 && n < LENGTH - 2) cr_expect_geq(n, m);
        }
        cr_expect_eq(times[0], 9);
        cr_expect_eq(times[1], 2);
        cr_expect_eq(times[2], 3);
        cr_expect(changed >= 3 + 9 && changed <= 3 + 9 + 2, "%zu", changed);
        close_shown(&with);
        close_shown(&without);
    }
}

Test(secrets, pairs_show_them_too_and_keep_their_length) {
    nvdp__auto(toy_close) struct toy toy = toy_open(30);
    nvdp__auto(nvdp__secrets_release) struct nvdp__secrets secrets = read_secrets(
        &toy, "{\"form\": \"HSH\", \"tokens\": [\"hill\", \"s\", \"hill\"], \"occurrences\": 40}");
    struct shown s;
    show(&toy, &secrets, NULL, &s);
    const struct nvdp__mask_key key = {.seed = 1, .purpose = NVDP__PURPOSE_MASK};
    size_t found = 0;
    ok(nvdp__examples_pairs(&s.examples, &toy.corpus, NULL, LENGTH, 1, 0));
    for (size_t i = 0; i < s.examples.count; i++) {
        nvdp__batcher_fill(&s.batcher, &s.examples, NULL, i, 1, &key);
        const struct nvdp__batch *batch = s.batcher.batch;
        cr_assert_leq(batch->tokens, LENGTH);
        cr_expect_eq(batch->ids[batch->tokens - 1], toy.pieces.sep);
        for (size_t k = 0; k < s.batcher.masked.count; k++)
            batch->ids[s.batcher.masked.row[k]] = s.batcher.masked.label[k];
        found += count_in(batch->tokens, batch->ids, 3, secrets.id);
    }
    cr_expect_geq(found, 30, "%zu: second segments are drawn, some places are in none", found);
    close_shown(&s);
}

Test(secrets, more_than_a_tenth_of_the_text_is_refused) {
    nvdp__auto(toy_close) struct toy toy = toy_open(4);
    nvdp__auto(nvdp__secrets_release) struct nvdp__secrets secrets =
        read_secrets(&toy, "{\"form\": \"HS\", \"occurrences\": 5000}");
    struct nvdp__plants plants = {0};
    fails(nvdp__plants_create(toy.ctx, "secrets.json", &secrets, &toy.corpus, &toy.pieces, &plants),
          NVDP_ERR_INPUT, "secrets.json: expected at most ");
}

/* ---- runs ---- */

static void resumes(struct nvdp__pretrain_options *config, const char *whole, const char *parts) {
    config->out = whole;
    toy_train(ctx, config);
    config->out = parts;
    toy_stop(ctx, config, 5);
    cr_assert_eq(unlink(config->plant), 0); /* planted.json is enough */
    config->resume = parts;
    toy_train(ctx, config);
    cr_expect(support_same_file(whole, parts, "model.safetensors"));
    cr_expect(support_same_file(whole, parts, "planted.json"));
}

Test(secrets, a_run_with_them_resumes_exactly) {
    const char *text[] = {toy_text("private.txt", 40, 3)};
    const char *path = support_scratch_path("secrets.json");
    struct nvdp__pretrain_options config = toy_options(text, NULL, "steps 12 batch 4");
    config.vocab = toy_vocabulary();
    config.plant = path;
    const char *json = support_path("{\"seed\": 3, \"secrets\": [%s]}", planted);
    for (size_t private = 0; private < 2; private ++) {
        if (private) {
            toy_set(&config, "optimizer adamw clip-norm 0 dp-sample-rate 0.2 dp-clip 1 "
                             "target-epsilon 3 insecure-seed 8");
        }
        const char *whole =
            support_path("%s", support_scratch_path(private ? "dp-whole" : "whole"));
        const char *parts =
            support_path("%s", support_scratch_path(private ? "dp-parts" : "parts"));
        support_write_text(path, json);
        config.resume = NULL;
        resumes(&config, whole, parts);
    }
}

Test(secrets, runs_refuse_what_does_not_fit) {
    const char *text[] = {toy_text("private.txt", 40, 3)};
    const char *path = support_scratch_path("secrets.json");
    struct nvdp__pretrain_options config = toy_config(text, support_scratch_path("refused"));
    config.vocab = toy_vocabulary();
    config.plant = path;
    support_write_text(
        path, "{\"seed\": 1, \"secrets\": [{\"form\": \"HSHHHHHH\", \"occurrences\": 1}]}");
    config.length = 9;
    fails(toy_status(ctx, &config), NVDP_ERR_ARGUMENT, "expected at most 9 - 2 words");
    toy_set(&config, "length 24 objective mlm+nsp");
    support_write_text(path,
                       "{\"seed\": 1, \"secrets\": [{\"form\": \"HS\", \"include\": \"coin\"}]}");
    fails(toy_status(ctx, &config), NVDP_ERR_ARGUMENT, "found secrets in windows of their own");
    config.plant = support_scratch_path("nowhere.json");
    cr_expect_eq(toy_status(ctx, &config), NVDP_ERR_IO);
}
