/* Tests a method that is added only by its row: it is trained, measured, certified, exported,
 * verified and reported under its own name. The test program is linked with a table of methods
 * that has one more row (methods.inc); nothing else of the library changes. */
#include "mechanism/mechanism.h"
#include "report/parts.h"
#include "tiny_task.h"
#include "vib/vib.h"

#include "test_context.h"

enum { TOY = NVDP_METHOD_SENTENCE + 1 };

static bool always(const struct nvdp__nvib_config *config) {
    (void)config;
    return true;
}

static void limits(const struct nvdp__nvib_config *config, struct nvdp_limits *out) {
    (void)config;
    out->same_noise = true;
}

const struct nvdp__method nvdp__method_row_toy = {.mechanism =
                                                      &nvdp__mechanisms_vib[NVDP__VIB_LEARNED],
                                                  .description = "a toy",
                                                  .own_noise = true,
                                                  .single = always,
                                                  .limits = limits};

Test(toy_method, is_found_and_described) {
    struct nvdp_method_info info = NVDP_RESULT(struct nvdp_method_info);
    enum nvdp_method method;
    ok(nvdp_method_find(ctx, "toy", &method));
    cr_expect_eq(method, TOY);
    ok(nvdp_method_describe(ctx, method, &info));
    cr_expect_str_eq(info.name, "toy");
    cr_expect_str_eq(info.description, "a toy");
    cr_expect_eq(info.methods, TOY + 1);
    cr_expect(info.is_private && !info.has_weights);
    fails(nvdp_method_find(ctx, "tory", &method), NVDP_ERR_ARGUMENT, "word, sentence or toy");
    cr_expect_eq(nvdp_method_describe(ctx, TOY + 1, &info), NVDP_ERR_ARGUMENT);
    cr_expect(report_is_gaussian("toy") && !report_is_reference("toy"));
}

Test(toy_method, goes_all_the_way) {
    const struct run_choice choice = {
        .method = (enum nvdp_method)TOY, .epochs = 1, .clip_sequence = 1};
    const char *run = task_run(ctx, "run", &choice, NULL), *file = support_scratch_path("toy.h5");
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    struct nvdp_guarantee guarantee = NVDP_RESULT(struct nvdp_guarantee);
    nvdp__autoresult struct nvdp_export_result exported = NVDP_RESULT(struct nvdp_export_result);
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    ok(nvdp_run_posteriors(ctx, support_config(ctx, "run", "run", run, NULL), &posteriors));
    cr_expect_str_eq(posteriors->method, "toy");

    ok(nvdp_run_guarantee(ctx, run, &guarantee));
    cr_expect_str_eq(guarantee.method, "toy");
    cr_expect(guarantee.noise && isfinite(guarantee.epsilon)); /* because of its clip */

    struct nvdp_config *options =
        support_config(ctx, "export", "run", run, "split", "dev", "out", file, NULL);
    ok(nvdp_export(ctx, options, &exported));
    support_contains(exported.statement, "drawn by mechanism toy");

    ok(nvdp_verify(ctx, file, NULL, &found));
    cr_expect(found.holds && found.certified, "%s", found.statement);
}
