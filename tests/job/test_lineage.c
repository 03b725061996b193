/* Tests the list of texts that a model was trained on, read from the records of the runs that
 * made it. */
#include "base/file.h"
#include "job/lineage.h"
#include "tests/support/support.h"

#include "test_context.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define OF(digest) "\"sha256\": [\"" digest "\"]"
#define DP(epsilon) "{\"pld\": {\"epsilon\": " epsilon "}, \"delta\": 1e-5}"
#define LIST(...) "\"learned_from\": [" __VA_ARGS__ "]"

static void write_file(const char *name, const char *text) {
    const char *path = support_scratch_path(name);
    char *end = strrchr(path, '/');
    *end = '\0';
    ok(nvdp__make_directory(ctx, path));
    *end = '/';
    support_write_text(path, text);
}

/* Returns the guarantee of the model in a folder for the texts of a digest. */
static nvdp_status promise(const char *model, const char *digest, bool seeded, double *epsilon) {
    char sha256[1][NVDP__DIGEST_HEX];
    nvdp__auto(nvdp__lineage_release) struct nvdp__lineage lineage = {0};
    struct nvdp_dp_guarantee of = {0};
    snprintf(sha256[0], sizeof sha256[0], "%s", digest);
    ok(nvdp__lineage_read(ctx, support_scratch_path(model), &lineage));
    const struct nvdp__seen seen = {1, (const char(*)[NVDP__DIGEST_HEX])sha256, NULL, NULL, 0};
    nvdp_status status = nvdp__lineage_promise(ctx, &lineage, seen, seeded, &of);
    *epsilon = of.epsilon;
    return status;
}

static void promises(const char *model, const char *digest, double expected) {
    double epsilon;
    ok(promise(model, digest, false, &epsilon));
    cr_expect_eq(epsilon, expected, "%s: %g", model, epsilon);
}

static void refuses(const char *model, const char *digest, const char *what) {
    double epsilon;
    fails(promise(model, digest, false, &epsilon), NVDP_ERR_ARGUMENT, what);
}

Test(lineage, of_a_training_is_in_the_folder_around_its_model) {
    static const char run[] = "{\"nvdp_format\": \"run/1\", " LIST(
        "{\"run\": \"first\", " OF(A) "}, {\"run\": \"next\", " OF(B) "}") "}";
    write_file("r/model/config.json", "{}");
    write_file("r/run.json", run);
    refuses("r/model", A, "found that of first, which was trained on them without privacy");
    refuses("r/model", B, "found that of next");
    promises("r/model", C, 0);
    /* the guarantee covers only the last training, which wrote these records */
    write_file("r/result.json", "{\"dp\": " DP("2.5") "}");
    promises("r/model", B, 2.5);
    refuses("r/model", A, "found that of first");
    write_file("r/result.json",
               "{\"dp\": {\"pld\": {\"epsilon\": 2.5}, \"delta\": 1e-5, \"insecure_seed\": true}}");
    double epsilon;
    refuses("r/model", B, "noise from a seed");
    ok(promise("r/model", B, true, &epsilon));
    cr_expect_eq(epsilon, 2.5);
    write_file("r/result.json", "{\"dp\": " DP("null") "}"); /* no noise */
    refuses("r/model", B, "found that of next");
}

/* Models of an unfinished run have had some of the planned steps. */
Test(lineage, of_a_run_that_goes_on_is_what_it_plans) {
    write_file("p/model/config.json", "{}");
    write_file("p/run.json",
               "{\"nvdp_format\": \"run/1\", \"dp\": " DP("4") ", " LIST("{" OF(A) "}") "}");
    promises("p/model", A, 4);
    /* results of earlier versions counted the steps that were done when training stopped early */
    write_file("p/run.json", "{\"nvdp_format\": \"run/1\", \"dp\": {\"steps\": 9, \"pld\": "
                             "{\"epsilon\": 4}, \"delta\": 1e-5}, " LIST("{" OF(A) "}") "}");
    write_file("p/result.json", "{\"dp\": {\"steps\": 3, \"pld\": {\"epsilon\": 2}, "
                                "\"delta\": 1e-5}}");
    promises("p/model", A, 4);
}

/* Guarantees of earlier trainings are in the list. The part that a training counted of them is not
 * added again; records of earlier versions do not have that part, so all of them are added. */
Test(lineage, of_a_chain_is_kept_from_run_to_run) {
    write_file("c/pretrain.json",
               "{" LIST("{" OF(A) ", \"dp\": [2, 1e-6]}, {" OF(
                   C) "}, {\"windows\": 1, \"sha256\": [\"" A "\", \"" B "\"]}") "}");
    write_file("c/config.json", "{\"nvdp_pretraining\": {\"dp\": " DP("5") "}}");
    promises("c", A, 7);
    promises("c", B, 7); /* texts that cannot be compared may be the same */
    refuses("c", C, "without privacy");
    write_file("c/config.json", "{\"nvdp_pretraining\": {\"dp\": {\"pld\": {\"epsilon\": 5}, "
                                "\"delta\": 1e-5, \"own\": [3, 9e-6]}}}");
    promises("c", A, 5);
    /* a record without the number of windows proves nothing for a text of several */
    write_file("o/pretrain.json", "{" LIST("{" OF(A) "}") "}");
    write_file("o/config.json", "{\"nvdp_pretraining\": {\"dp\": " DP("5") "}}");
    promises("o", A, INFINITY);
    write_file("d/pretrain.json",
               "{" LIST("{" OF(A) ", \"dp\": [2, 1e-6]}, {\"windows\": 1, " OF(B) "}") "}");
    write_file("d/config.json", "{\"nvdp_pretraining\": {\"dp\": " DP("5") "}}");
    promises("d", A, 7);
    /* the list passes through a run's own records unchanged */
    nvdp__auto(nvdp__lineage_release) struct nvdp__lineage lineage = {0};
    const char own[1][NVDP__DIGEST_HEX] = {C};
    ok(nvdp__lineage_read(ctx, support_scratch_path("d"), &lineage));
    ok(nvdp__lineage_add(ctx, &lineage, "next", (struct nvdp__seen){1, own, NULL, NULL, 0}, false));
    nvdp__autofree char *text = json_dumps(lineage.list, 0);
    const char *record = support_path("{\"nvdp_format\": \"run/1\", \"learned_from\": %s}", text);
    write_file("e/model/config.json", "{}");
    write_file("e/run.json", record);
    promises("e/model", A, 7);
    promises("e/model", B, 7);
    refuses("e/model", C, "found that of next");
}

/* Guarantees for several texts add up, as an example may contain some of each; one text without a
 * guarantee is enough to refuse. */
Test(lineage, of_several_texts_is_the_sum) {
    const char seen[3][NVDP__DIGEST_HEX] = {A, B, C};
    struct nvdp_dp_guarantee of;
    nvdp__auto(nvdp__lineage_release) struct nvdp__lineage lineage = {
        json_pack("[{s:[s],s:[f,f]},{s:[s],s:[f,f]}]", "sha256", A, "dp", 3.0, 1e-7, "sha256", B,
                  "dp", 1.0, 1e-6),
        NULL, 0, false};
    const struct nvdp__seen all = {3, seen, NULL, NULL, 0}, last = {1, &seen[2], NULL, NULL, 0};
    ok(nvdp__lineage_promise(ctx, &lineage, all, false, &of));
    cr_expect_eq(of.epsilon, 4);
    near(of.delta, 1.1e-6, 1e-18);
    ok(nvdp__lineage_add(ctx, &lineage, "last", last, false));
    cr_expect_eq(nvdp__lineage_promise(ctx, &lineage, all, false, &of), NVDP_ERR_ARGUMENT);
}

Test(lineage, where_little_is_known) {
    /* a model from elsewhere */
    write_file("x/config.json", "{}");
    promises("x", A, 0);
    promises("nowhere", A, 0);
    /* pretrained here; the weights were published with config.json */
    write_file("y/config.json", "{\"nvdp_pretraining\": {\"text\": [{"
                                "\"sha256\": \"" A "\"}], \"init\": "
                                "{\"pretraining\": {\"text\": [{\"sha256\": \"" B "\"}]}}}}");
    refuses("y", A, "that its config.json names");
    refuses("y", B, "that its config.json names");
    promises("y", C, 0);
    /* runs without a list */
    write_file("z/model/config.json", "{}");
    write_file("z/run.json", "{\"nvdp_format\": \"run/1\"}");
    refuses("z/model", C, "found one of an earlier version");
}

Test(lineage, of_a_vocabulary_is_what_it_was_trained_on) {
    nvdp__auto(nvdp__lineage_release) struct nvdp__lineage lineage = {0};
    write_file("v/pretrain.json", "{" LIST("{" OF(A) ", \"vocabulary\": true}, {" OF(B) "}") "}");
    write_file("v/config.json", "{}");
    ok(nvdp__lineage_read(ctx, support_scratch_path("v"), &lineage));
    nvdp__lineage_vocabularies(&lineage);
    cr_assert_eq(json_array_size(lineage.list), 1);
    const char *left = text_at(lineage.list, "0/sha256/0");
    cr_expect_str_eq(left, A);
}

static struct nvdp__seen_texts texts_of(const char *const *text, const size_t *row, size_t count) {
    struct nvdp__seen_texts made = {0};
    for (size_t i = 0; i < count; i++)
        ok(nvdp__seen_texts_add(ctx, &made, row != NULL ? row[i] : i, text[i], strlen(text[i])));
    return made;
}

static struct nvdp__overlap overlap_of(const struct nvdp__seen_digests *seen,
                                       const char *const *text, const size_t *row, size_t count,
                                       bool refuses) {
    nvdp__auto(nvdp__seen_texts_release) struct nvdp__seen_texts made = texts_of(text, row, count);
    const struct nvdp__overlap overlap = nvdp__seen_digests_compare(seen, &made);
    cr_expect_eq(nvdp__overlap_refuses(&overlap, &made), refuses);
    return overlap;
}

/* Texts are compared by their words. A row is seen if one of its texts is; of a training without
 * privacy, short texts are a reason to refuse only if there are many. */
Test(lineage, texts_are_compared_by_their_words) {
    static const char *const saw[] = {"The cat sat on the mat, again.", "Yes.", "  ",
                                      "caf\xC3\xA9 au lait for two people please"};
    nvdp__auto(nvdp__seen_texts_release) struct nvdp__seen_texts texts = texts_of(saw, NULL, 4);
    nvdp__auto(nvdp__seen_digests_release) struct nvdp__seen_digests seen;
    cr_expect_eq(texts.rows, 3);
    ok(nvdp__seen_digests_make(ctx, &texts, &seen));
    cr_expect_eq(seen.count, 3);
    struct nvdp__overlap overlap =
        overlap_of(&seen, (const char *const[]){"another", "the CAT sat on the mat , again .\r"},
                   NULL, 2, true);
    cr_expect(overlap.rows == 1 && overlap.longer == 1 && overlap.first == 1);
    overlap = overlap_of(&seen, (const char *const[]){"CAFE au lait for two people please"}, NULL,
                         1, true);
    cr_expect_eq(overlap.longer, 1);
    overlap =
        overlap_of(&seen, (const char *const[]){"the cat sat on the mat", "on the mat, again."},
                   NULL, 2, false);
    cr_expect_eq(overlap.rows, 0);
    /* a short text among two texts, and among twenty */
    const char *many[20] = {"yes .", "no ."};
    overlap = overlap_of(&seen, many, NULL, 2, true);
    cr_expect(overlap.rows == 1 && overlap.longer == 0);
    for (size_t i = 2; i < 20; i++)
        many[i] = support_path("text %zu", i);
    overlap_of(&seen, many, NULL, 20, false);
    /* pairs */
    overlap = overlap_of(&seen,
                         (const char *const[]){saw[0], "A new question?", saw[3], "yes .", "", "x"},
                         (const size_t[]){0, 0, 1, 1, 2, 2}, 6, true);
    cr_expect(overlap.rows == 2 && overlap.longer == 2 && overlap.first == 0);
    overlap = overlap_of(&seen, (const char *const[]){"yes .", "a new and much longer text"},
                         (const size_t[]){0, 0}, 2, true);
    cr_expect(overlap.rows == 1 && overlap.longer == 0, "a tenth of all");
}

/* Two trainings' digests of the same texts have nothing in common. A file is read back
 * unchanged, a damaged one not at all. */
Test(lineage, digests_are_kept_under_a_key_each) {
    static const char *const saw[] = {"one text of some words", "another text of some words"};
    nvdp__auto(nvdp__seen_texts_release) struct nvdp__seen_texts texts = texts_of(saw, NULL, 2);
    struct nvdp__seen_digests made[3] = {0}, *read = NULL;
    size_t count = 0;
    const char *directory = support_scratch_path("kept");
    ok(nvdp__make_directory(ctx, directory));
    ok(nvdp__seen_digests_read(ctx, directory, &read, &count));
    cr_assert_eq(count, 0);
    for (size_t i = 0; i < 2; i++)
        ok(nvdp__seen_digests_make(ctx, &texts, &made[i]));
    cr_expect_str_neq(made[0].name, made[1].name);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++)
            cr_expect_neq(made[0].digest[i], made[1].digest[k]);
    ok(nvdp__seen_digests_write(ctx, directory, made, 3));
    ok(nvdp__seen_digests_read(ctx, directory, &read, &count));
    cr_assert_eq(count, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_expect_str_eq(read[i].name, made[i].name);
        cr_assert_eq(read[i].count, made[i].count);
        for (size_t k = 0; k < made[i].count; k++)
            cr_expect_eq(read[i].digest[k], made[i].digest[k]);
        cr_expect_eq(nvdp__seen_digests_compare(&read[i], &texts).rows, i < 2 ? 2 : 0);
    }
    support_keep_parts(made);
    support_keep(read);
    const char *path = support_path("%s/seen_texts.bin", directory);
    struct stat info;
    char *bytes = support_read(path);
    cr_assert_eq(stat(path, &info), 0);
    bytes[100] ^= 1;
    support_write(path, bytes, (size_t)info.st_size);
    fails(nvdp__seen_digests_read(ctx, directory, &read, &count), NVDP_ERR_INPUT,
          "seen_texts.bin: expected the digests");
}

/* A window of 4 tokens holds less than a text: the guarantee of the start is that of a group. */
Test(lineage, of_smaller_examples_is_that_of_a_group) {
    const char a[1][NVDP__DIGEST_HEX] = {A};
    struct nvdp__seen_text text[] = {{.words = 3}, {.words = 1, .row = 1}, {.words = 5, .row = 1}};
    struct nvdp__seen_texts texts = {text, 3, 3, 2};
    struct nvdp_dp_guarantee of;
    struct nvdp__lineage lineage = {json_pack("[{s:[s,s],s:[f,f],s:i,s:i}]", "sha256", A, B, "dp",
                                              .5, 1e-7, "windows", 3, "length", 4),
                                    NULL, 0, false};
    struct nvdp__seen seen = {1, a, NULL, &texts, 0};
    static const struct {
        size_t length;
        const char *file;
        double epsilon;
    } row[] = {
        {0, A, 1.5},            /* a row is within a document */
        {4, A, .5},             /* the same windows */
        {9, A, 1.5}, {0, C, 3}, /* a row has two texts, which may come from two documents */
        {4, C, 3},              /* a window can have an end of each of two texts */
        {5, C, 4.5},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        /* in another file, texts are recognized one by one */
        nvdp__auto(nvdp__seen_digests_release) struct nvdp__seen_digests digests = {0};
        char sha256[1][NVDP__DIGEST_HEX];
        snprintf(sha256[0], sizeof sha256[0], "%s", row[i].file);
        seen.sha256 = (const char(*)[NVDP__DIGEST_HEX])sha256;
        seen.length = row[i].length;
        ok(nvdp__seen_digests_make(ctx, &texts, &digests));
        json_object_set_new(json_array_get(lineage.list, 0), "digests", json_string(digests.name));
        lineage.digests = &digests;
        lineage.digest_lists = 1;
        ok(nvdp__lineage_promise(ctx, &lineage, seen, false, &of));
        near(of.epsilon, row[i].epsilon, 1e-12, "%zu", i);
        const double k = row[i].epsilon / .5;
        double delta = 0;
        for (double j = 0; j < k; j++)
            delta += 1e-7 * exp(.5 * j);
        near(of.delta, delta, 1e-12, "%zu", i);
    }
    support_keep(lineage.list);
}

/* A pair whose texts two trainings saw, one each, has the guarantee of both, and so has that of a
 * later training: all of it, or the part that it did not count of the others. */
Test(lineage, of_parts_of_an_example_is_the_sum) {
    struct nvdp__seen_texts part[3] = {0};
    nvdp__auto(nvdp__seen_texts_release) struct nvdp__seen_texts pair = {0};
    static const char *const text[] = {"one two three four five six seven",
                                       "eight nine ten eleven twelve thirteen fourteen"};
    struct nvdp__seen_digests digests[3] = {0};
    struct nvdp__lineage lineage = {json_array(), digests, 3, false};
    struct nvdp_dp_guarantee of;
    for (size_t i = 0; i < 2; i++) {
        ok(nvdp__seen_texts_add(ctx, &part[i], 0, text[i], strlen(text[i])));
        ok(nvdp__seen_texts_add(ctx, &pair, i, text[i], strlen(text[i])));
        ok(nvdp__seen_texts_add(ctx, &part[2], i, text[i], strlen(text[i])));
    }
    for (size_t i = 0; i < 3; i++) {
        ok(nvdp__seen_digests_make(ctx, &part[i], &digests[i]));
        json_array_append_new(lineage.list,
                              json_pack("{s:[s],s:s,s:[f,f]}", "sha256", i == 0 ? A : B, "digests",
                                        digests[i].name, "dp", i < 2 ? 1. : 2.5, 1e-6));
    }
    const char own[1][NVDP__DIGEST_HEX] = {C};
    const struct nvdp__seen seen = {1, own, NULL, &pair, 9}; /* a window has parts of both */
    /* without the last training, which saw both texts */
    json_t *last = json_incref(json_array_get(lineage.list, 2));
    json_array_remove(lineage.list, 2);
    ok(nvdp__lineage_promise(ctx, &lineage, seen, false, &of));
    near(of.epsilon, 4, 1e-12); /* two groups of two */
    json_array_append_new(lineage.list, last);
    ok(nvdp__lineage_promise(ctx, &lineage, seen, false, &of));
    near(of.epsilon, 9, 1e-12); /* three groups of two */
    json_object_set_new(last, "own", json_pack("[f,f]", .5, 1e-6));
    ok(nvdp__lineage_promise(ctx, &lineage, seen, false, &of));
    near(of.epsilon, 5, 1e-12);
    support_keep_parts(part);
    support_keep_parts(digests);
    support_keep_parts(lineage);
}

/* A private training is counted for any text that it saw: a short one of many, one text of a pair. A
 * training without privacy is refused for a longer text, also of a pair. */
Test(lineage, of_any_common_text_is_counted) {
    static const char long_text[] = "a text that has more than six words";
    static const char *const saw[] = {"Yes.", long_text};
    static const struct {
        const char *text[2]; /* of the last row */
        double epsilon;
        nvdp_status open; /* if the earlier training was not private */
    } cases[] = {{{"no", "a new text"}, 0, NVDP_OK},
                 {{"yes .", "a new text"}, 6, NVDP_OK}, /* two texts may be in two examples */
                 {{"yes .", NULL}, 3, NVDP_OK},
                 {{long_text, "a new text"}, 6, NVDP_ERR_ARGUMENT}};
    const char own[1][NVDP__DIGEST_HEX] = {C};
    nvdp__auto(nvdp__seen_texts_release) struct nvdp__seen_texts texts = texts_of(saw, NULL, 2);
    nvdp__auto(nvdp__seen_digests_release) struct nvdp__seen_digests digests;
    struct nvdp_dp_guarantee of;
    ok(nvdp__seen_digests_make(ctx, &texts, &digests));
    struct nvdp__lineage lineage = {
        json_pack("[{s:[s],s:s}]", "sha256", A, "digests", digests.name), &digests, 1, false};
    json_t *entry = json_array_get(lineage.list, 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        nvdp__auto(nvdp__seen_texts_release) struct nvdp__seen_texts rows = {0};
        const struct nvdp__seen seen = {1, own, NULL, &rows, 0};
        for (size_t i = 0; i < 100; i++) {
            const char *other = support_path("row %zu", i);
            ok(nvdp__seen_texts_add(ctx, &rows, i, other, strlen(other)));
        }
        for (size_t i = 0; i < 2 && cases[k].text[i] != NULL; i++)
            ok(nvdp__seen_texts_add(ctx, &rows, 100, cases[k].text[i], strlen(cases[k].text[i])));
        cr_expect_eq(nvdp__lineage_promise(ctx, &lineage, seen, false, &of), cases[k].open, "%zu",
                     k);
        json_object_set_new(entry, "dp", json_pack("[f,f]", 3., 1e-6));
        ok(nvdp__lineage_promise(ctx, &lineage, seen, false, &of));
        near(of.epsilon, cases[k].epsilon, 1e-12, "%zu", k);
        json_object_del(entry, "dp");
    }
    support_keep(lineage.list);
}

/* A private vocabulary keeps its own guarantee where a run takes only the vocabulary. The run's
 * statement counts it for the run's texts, and that of a later run for all others that it saw. */
Test(lineage, of_a_private_vocabulary_is_kept) {
    const char a[1][NVDP__DIGEST_HEX] = {A}, b[1][NVDP__DIGEST_HEX] = {B};
    const struct nvdp__seen of_a = {1, a, NULL, NULL, 0}, of_b = {1, b, NULL, NULL, 0};
    for (int same = 0; same < 2; same++) {
        nvdp__auto(nvdp__lineage_release) struct nvdp__lineage lineage = {json_array(), NULL, 0,
                                                                          false};
        struct nvdp_dp_guarantee of;
        ok(nvdp__lineage_add(ctx, &lineage, "words", of_a, false));
        nvdp__lineage_words(&lineage, (struct nvdp_dp_guarantee){6, 1e-7});
        nvdp__lineage_vocabularies(&lineage);
        cr_assert_eq(json_array_size(lineage.list), 1);
        lineage.counts_words = true;
        ok(nvdp__lineage_promise(ctx, &lineage, of_a, false, &of));
        cr_expect_eq(of.epsilon, 0, "its statement counts the vocabulary");
        ok(nvdp__lineage_add(ctx, &lineage, "model", same ? of_a : of_b, false));
        json_object_set_new(json_array_get(lineage.list, 1), "dp", json_pack("[f,f]", 8., 1e-6));
        lineage.counts_words = false; /* of the next run */
        ok(nvdp__lineage_promise(ctx, &lineage, of_a, false, &of));
        cr_expect_eq(of.epsilon, same ? 8 : 14, "%g", of.epsilon);
        /* without max-words nothing is proven for a document */
        json_object_set_new(json_array_get(lineage.list, 0), "windows", json_integer(0));
        ok(nvdp__lineage_promise(ctx, &lineage, of_a, false, &of));
        cr_expect_eq(of.epsilon, same ? 8 : INFINITY, "%g", of.epsilon);
    }
}

/* A private vocabulary without max-words proves nothing for a text. A later training on the texts counts that, and its
 * statement says so. */
Test(lineage, of_a_private_vocabulary_that_proves_nothing_for_a_text) {
    const char a[1][NVDP__DIGEST_HEX] = {A};
    const struct nvdp__seen of_a = {1, a, NULL, NULL, 0};
    nvdp__auto(nvdp__lineage_release) struct nvdp__lineage lineage = {json_array(), NULL, 0, false};
    struct nvdp_dp_guarantee of;
    nvdp__autofree char *text = NULL;
    ok(nvdp__lineage_add(ctx, &lineage, "words", of_a, false));
    nvdp__lineage_words(&lineage, (struct nvdp_dp_guarantee){INFINITY, 1});
    nvdp__lineage_vocabularies(&lineage);
    ok(nvdp__lineage_promise(ctx, &lineage, of_a, false, &of));
    cr_expect(of.epsilon == INFINITY && of.delta == 1, "%g, %g", of.epsilon, of.delta);
    ok(nvdp__lineage_sentences(ctx, &lineage, 1, "model", true, &text));
    support_contains(text,
                     "words (a private vocabulary, of which nothing is proven for a whole text)");
}

/* Three trainings on the same texts, the second of which did not count the first: the third costs
 * what the accountant says of all of them. */
Test(lineage, of_a_training_that_did_not_count_an_earlier_one) {
    const char a[1][NVDP__DIGEST_HEX] = {A};
    const struct nvdp__seen seen = {1, a, NULL, NULL, 0};
    nvdp__auto(nvdp__lineage_release) struct nvdp__lineage lineage = {
        json_pack("[{s:[s],s:[f,f]},{s:[s],s:[f,f]}]", "sha256", A, "dp", 3., 2.25e-4, "sha256", A,
                  "dp", 3., 2.25e-4),
        NULL, 0, false};
    struct nvdp_dp_guarantee before;
    double epsilon;
    ok(nvdp__lineage_promise(ctx, &lineage, seen, false, &before));
    const struct nvdp_dp_steps third = {.61507, .27174, 4};
    ok(nvdp_account_epsilon(ctx, &(struct nvdp_dp_run){&third, 1, &before, 1}, 2e-3,
                            NVDP_ACCOUNTANT_PLD, &epsilon));
    near(epsilon, 12.155, .005); /* nvdp account rounds up to 12.16 */
}
