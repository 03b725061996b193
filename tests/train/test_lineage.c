/* What a model has learned from, read from the records of the runs that made it. */
#include "base/file.h"
#include "support.h"
#include "train/lineage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define OF(digest) "\"sha256\": [\"" digest "\"]"
#define DP(epsilon) "{\"pld\": {\"epsilon\": " epsilon "}, \"delta\": 1e-5}"
#define LIST(...) "\"learned_from\": [" __VA_ARGS__ "]"

static void write_file(const char *name, const char *text) {
    struct nvdp_context *ctx = support_context();
    char path[600];
    snprintf(path, sizeof path, "%s", support_scratch_path(name));
    char *end = strrchr(path, '/');
    *end = '\0';
    cr_assert_eq(nvdp__make_directory(ctx, path), NVDP_OK);
    *end = '/';
    support_write_text(path, text);
    nvdp_context_free(ctx);
}

/* The promise of the model in a folder to the texts of a digest. */
static nvdp_status promise(struct nvdp_context *ctx, const char *model, const char *digest,
                           bool seeded, double *epsilon) {
    char sha256[1][NVDP__DIGEST_HEX];
    json_t *list = NULL;
    struct nvdp_dp_guarantee of;
    snprintf(sha256[0], sizeof sha256[0], "%s", digest);
    cr_assert_eq(nvdp__lineage_read(ctx, support_scratch_path(model), &list), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    nvdp_status status = nvdp__lineage_promise(
        ctx, list, (struct nvdp__seen){1, (const char(*)[NVDP__DIGEST_HEX])sha256}, seeded, &of);
    json_decref(list);
    *epsilon = of.epsilon;
    return status;
}

static void promises(struct nvdp_context *ctx, const char *model, const char *digest,
                     double expected) {
    double epsilon;
    cr_assert_eq(promise(ctx, model, digest, false, &epsilon), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    cr_expect_eq(epsilon, expected, "%s: %g", model, epsilon);
}

static void refuses(struct nvdp_context *ctx, const char *model, const char *digest,
                    const char *what) {
    double epsilon;
    cr_assert_eq(promise(ctx, model, digest, false, &epsilon), NVDP_ERR_ARGUMENT, "%s", model);
    support_contains(nvdp_context_error(ctx), what);
}

Test(lineage, of_a_training_is_in_the_folder_around_its_model) {
    struct nvdp_context *ctx = support_context();
    static const char run[] = "{\"nvdp_format\": \"run/1\", " LIST(
        "{\"run\": \"first\", " OF(A) "}, {\"run\": \"next\", " OF(B) "}") "}";
    write_file("r/model/config.json", "{}");
    write_file("r/run.json", run);
    refuses(ctx, "r/model", A, "found that of first, which was trained on them without privacy");
    refuses(ctx, "r/model", B, "found that of next");
    promises(ctx, "r/model", C, 0);
    /* a promise is of the last one alone, which made these records */
    write_file("r/result.json", "{\"dp\": " DP("2.5") "}");
    promises(ctx, "r/model", B, 2.5);
    refuses(ctx, "r/model", A, "found that of first");
    write_file("r/result.json",
               "{\"dp\": {\"pld\": {\"epsilon\": 2.5}, \"delta\": 1e-5, \"insecure_seed\": true}}");
    double epsilon;
    refuses(ctx, "r/model", B, "noise from a seed");
    cr_expect_eq(promise(ctx, "r/model", B, true, &epsilon), NVDP_OK);
    cr_expect_eq(epsilon, 2.5);
    write_file("r/result.json", "{\"dp\": " DP("null") "}"); /* no noise */
    refuses(ctx, "r/model", B, "found that of next");
    nvdp_context_free(ctx);
}

/* An unfinished run's models have had some of the steps that are planned. */
Test(lineage, of_a_run_that_goes_on_is_what_it_plans) {
    struct nvdp_context *ctx = support_context();
    write_file("p/model/config.json", "{}");
    write_file("p/run.json",
               "{\"nvdp_format\": \"run/1\", \"dp\": " DP("4") ", " LIST("{" OF(A) "}") "}");
    promises(ctx, "p/model", A, 4);
    nvdp_context_free(ctx);
}

/* What was private before stands in the list itself; the last promise has the earlier ones in it. */
Test(lineage, of_a_chain_is_kept_from_run_to_run) {
    struct nvdp_context *ctx = support_context();
    write_file("c/pretrain.json", "{" LIST("{" OF(A) ", \"dp\": [2, 1e-6]}, {" OF(
                                      C) "}, {\"sha256\": [\"" A "\", \"" B "\"]}") "}");
    write_file("c/config.json", "{\"nvdp_pretraining\": {\"dp\": " DP("5") "}}");
    promises(ctx, "c", A, 5);
    promises(ctx, "c", B, 5);
    refuses(ctx, "c", C, "without privacy");
    write_file("d/pretrain.json", "{" LIST("{" OF(A) ", \"dp\": [2, 1e-6]}, {" OF(B) "}") "}");
    write_file("d/config.json", "{\"nvdp_pretraining\": {\"dp\": " DP("5") "}}");
    promises(ctx, "d", A, 2);
    /* of a run's own records, and back: the list goes through both */
    json_t *list = NULL;
    const char own[1][NVDP__DIGEST_HEX] = {C};
    cr_assert_eq(nvdp__lineage_read(ctx, support_scratch_path("d"), &list), NVDP_OK);
    cr_assert_eq(nvdp__lineage_add(ctx, list, "next", (struct nvdp__seen){1, own}, false), NVDP_OK);
    char *text = json_dumps(list, 0), record[2000];
    snprintf(record, sizeof record, "{\"nvdp_format\": \"run/1\", \"learned_from\": %s}", text);
    write_file("e/model/config.json", "{}");
    write_file("e/run.json", record);
    promises(ctx, "e/model", A, 2);
    promises(ctx, "e/model", B, 5);
    refuses(ctx, "e/model", C, "found that of next");
    free(text);
    json_decref(list);
    nvdp_context_free(ctx);
}

/* Of several texts the larger of their promises; one without is enough to refuse. */
Test(lineage, of_several_texts_is_the_largest) {
    struct nvdp_context *ctx = support_context();
    const char seen[3][NVDP__DIGEST_HEX] = {A, B, C};
    struct nvdp_dp_guarantee of;
    json_t *list = json_pack("[{s:[s],s:[f,f]},{s:[s],s:[f,f]}]", "sha256", A, "dp", 3.0, 1e-7,
                             "sha256", B, "dp", 1.0, 1e-6);
    cr_assert_eq(nvdp__lineage_promise(ctx, list, (struct nvdp__seen){3, seen}, false, &of),
                 NVDP_OK);
    cr_expect_eq(of.epsilon, 3);
    cr_expect_eq(of.delta, 1e-6);
    cr_assert_eq(nvdp__lineage_add(ctx, list, "last", (struct nvdp__seen){1, &seen[2]}, false),
                 NVDP_OK);
    cr_expect_eq(nvdp__lineage_promise(ctx, list, (struct nvdp__seen){3, seen}, false, &of),
                 NVDP_ERR_ARGUMENT);
    json_decref(list);
    nvdp_context_free(ctx);
}

Test(lineage, where_little_is_known) {
    struct nvdp_context *ctx = support_context();
    /* a model from elsewhere */
    write_file("x/config.json", "{}");
    promises(ctx, "x", A, 0);
    promises(ctx, "nowhere", A, 0);
    /* pretrained here, the weights given away with what config.json tells */
    write_file("y/config.json", "{\"nvdp_pretraining\": {\"text\": [{"
                                "\"sha256\": \"" A "\"}], \"init\": "
                                "{\"pretraining\": {\"text\": [{\"sha256\": \"" B "\"}]}}}}");
    refuses(ctx, "y", A, "that its config.json tells of");
    refuses(ctx, "y", B, "that its config.json tells of");
    promises(ctx, "y", C, 0);
    /* runs that have no list */
    write_file("z/model/config.json", "{}");
    write_file("z/run.json", "{\"nvdp_format\": \"run/1\"}");
    refuses(ctx, "z/model", C, "found one of an earlier version");
    nvdp_context_free(ctx);
}

Test(lineage, of_a_vocabulary_is_what_it_was_trained_on) {
    struct nvdp_context *ctx = support_context();
    json_t *list = NULL;
    write_file("v/pretrain.json", "{" LIST("{" OF(A) ", \"vocabulary\": true}, {" OF(B) "}") "}");
    write_file("v/config.json", "{}");
    cr_assert_eq(nvdp__lineage_read(ctx, support_scratch_path("v"), &list), NVDP_OK);
    nvdp__lineage_vocabularies(list);
    cr_assert_eq(json_array_size(list), 1);
    const char *left =
        json_string_value(json_array_get(json_object_get(json_array_get(list, 0), "sha256"), 0));
    cr_expect_str_eq(left, A);
    json_decref(list);
    nvdp_context_free(ctx);
}
