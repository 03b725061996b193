/* Verification of shared files, and changes of the JSON of runs (fixture.h). */
#include "fixture.h"

struct nvdp_verification share_verified(struct nvdp_context *ctx, const char *path,
                                        const char *key) {
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    ok(nvdp_verify(ctx, path, key, &found));
    cr_assert_lt(found.checks, NVDP_CHECKS);
    return found;
}

struct nvdp_verification share_counted(struct nvdp_context *ctx, const char *path,
                                       const char *ledger, const char *key) {
    struct nvdp_verification found = share_verified(ctx, path, NULL);
    ok(nvdp_verify_ledger(ctx, path, ledger, key, &found));
    return found;
}

const struct nvdp_check *check_of(const struct nvdp_verification *found, const char *what) {
    for (size_t i = 0; i < found->checks; i++)
        if (strncmp(found->check[i].what, what, strlen(what)) == 0) return &found->check[i];
    cr_assert_fail("no check '%s'", what);
    return NULL;
}

void check_is(const struct nvdp_verification *found, const char *what, enum nvdp_verdict verdict) {
    const struct nvdp_check *check = check_of(found, what);
    cr_expect_eq(check->verdict, verdict, "%s: %s", what, check->found);
}

size_t checks_that_found(const struct nvdp_verification *found, enum nvdp_verdict verdict,
                         const char *words) {
    size_t count = 0;
    for (size_t i = 0; i < found->checks; i++)
        count += found->check[i].verdict == verdict && strstr(found->check[i].found, words) != NULL;
    return count;
}

void all_hold(const struct nvdp_verification *found) {
    for (size_t i = 0; i < found->checks; i++)
        cr_expect_neq(found->check[i].verdict, NVDP_VERDICT_NO, "%s: %s", found->check[i].what,
                      found->check[i].found);
    cr_assert(found->holds);
}

struct nvdp_export_result share_exported(struct nvdp_context *ctx, ...) {
    struct nvdp_export_result *result = support_keep(malloc(sizeof *result));
    struct nvdp_config *config = support_config(ctx, "export", NULL);
    va_list options;
    *result = (struct nvdp_export_result)NVDP_RESULT(struct nvdp_export_result);
    va_start(options, ctx);
    support_set_list(ctx, config, options);
    va_end(options);
    ok(nvdp_export(ctx, config, result));
    return *result;
}

void edit_json(const char *file, const char *path, const char *key, json_t *value) {
    json_t *root = support_json(file);
    cr_assert_eq(json_object_set_new(support_at(root, path), key, value), 0, "%s: %s/%s", file,
                 path, key);
    cr_assert_eq(json_dump_file(root, file, 0), 0);
}
