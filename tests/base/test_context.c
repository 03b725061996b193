/* Contexts: errors, threads, log, cancellation, clock. */
#include "support.h"

#include <omp.h>
#include <sched.h>

Test(status, names_and_texts) {
    cr_assert_str_eq(nvdp_status_name(NVDP_OK), "OK");
    cr_assert_str_eq(nvdp_status_name(NVDP_ERR_INPUT), "ERR_INPUT");
    for (int s = 0; s < NVDP_STATUS_COUNT; s++)
        cr_assert_gt(strlen(nvdp_status_text((nvdp_status)s)), 0);
    cr_assert_str_eq(nvdp_status_name(NVDP_STATUS_COUNT), "UNKNOWN");
    cr_assert_str_eq(nvdp_status_text((nvdp_status)-1), "unknown status");
}

Test(context, default_threads_are_the_available_processors) {
    struct nvdp_context *ctx = NULL;
    cpu_set_t set;
    cr_assert_eq(nvdp_context_create(&ctx), NVDP_OK);
    cr_assert_eq(sched_getaffinity(0, sizeof set, &set), 0);
    cr_assert_eq(nvdp_context_threads(ctx), CPU_COUNT(&set));
    cr_assert_str_eq(nvdp_context_error(ctx), "");
    nvdp_context_free(ctx);
    nvdp_context_free(NULL);
    cr_assert_eq(nvdp_context_create(NULL), NVDP_ERR_ARGUMENT);
}

static void last(enum nvdp_log_level level, const char *message, void *user) {
    (void)level;
    snprintf(user, 256, "%s", message);
}

/* Options are named as the caller names them; a user's text with braces stays as it is. */
Test(context, messages_name_options_in_the_callers_way) {
    struct nvdp_context *ctx = NULL;
    char logged[256];
    cr_assert_eq(nvdp_context_create(&ctx), NVDP_OK);
    nvdp_context_set_log(ctx, last, logged);
    for (int dashes = 0; dashes < 2; dashes++) {
        if (dashes) nvdp_context_set_option_style(ctx, NVDP_OPTION_STYLE_DASHES);
        cr_assert_eq((int)nvdp_context_option_style(ctx), dashes);
        nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "option {max-pairs}: found %s {} {A} {x", "{max-pairs}");
        cr_expect_str_eq(nvdp_context_error(ctx),
                         dashes ? "option --max-pairs: found {max-pairs} {} {A} {x"
                                : "option max_pairs: found {max-pairs} {} {A} {x");
        nvdp__fail_prefix(ctx, NVDP_ERR_ARGUMENT, "{max-pairs}");
        cr_expect_str_eq(nvdp_context_error(ctx),
                         dashes ? "{max-pairs}: option --max-pairs: found {max-pairs} {} {A} {x"
                                : "{max-pairs}: option max_pairs: found {max-pairs} {} {A} {x");
        nvdp__fail_errno(ctx, ENOENT, "%s: {lr}", "{lr}");
        cr_expect_str_eq(nvdp_context_error(ctx), dashes ? "{lr}: --lr: No such file or directory"
                                                         : "{lr}: lr: No such file or directory");
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: try {lr-head}", nvdp__as_option(ctx, "k-l").text);
        cr_expect_str_eq(logged, dashes ? "--k-l: try --lr-head" : "k_l: try lr_head");
    }
    char format[2 * NVDP__MESSAGE_SIZE];
    memset(format, 'x', sizeof format);
    memcpy(format + NVDP__MESSAGE_SIZE - 3, "{lr}", 5);
    nvdp__fail(ctx, NVDP_ERR_INPUT, format, 0);
    cr_expect_eq(strlen(nvdp_context_error(ctx)), NVDP__MESSAGE_SIZE - 1);
    nvdp_context_free(ctx);
}

/* The caller's own OpenMP loops keep their number of threads. */
Test(context, threads_have_a_range_and_leave_openmp_alone) {
    struct nvdp_context *ctx = support_context();
    cr_assert_eq(nvdp_context_set_threads(ctx, 0), NVDP_ERR_ARGUMENT);
    cr_assert_eq(nvdp_context_set_threads(ctx, 1025), NVDP_ERR_ARGUMENT);
    cr_assert_str_eq(nvdp_context_error(ctx), "threads: expected 1 to 1024, found 1025");
    cr_assert_eq(nvdp_context_threads(ctx), 2);
    int before = omp_get_max_threads();
    cr_assert_eq(nvdp_context_set_threads(ctx, 3), NVDP_OK);
    cr_assert_eq(nvdp_context_threads(ctx), 3);
    cr_assert_eq(omp_get_max_threads(), before);
}

Test(context, errors_nest) {
    struct nvdp_context *ctx = support_context();
    cr_assert_eq(nvdp__fail(ctx, NVDP_ERR_INPUT, "line %d", 3), NVDP_ERR_INPUT);
    cr_assert_eq(nvdp__fail_prefix(ctx, NVDP_ERR_INPUT, "a.tsv"), NVDP_ERR_INPUT);
    cr_assert_str_eq(nvdp_context_error(ctx), "a.tsv: line 3");
    nvdp__fail(ctx, NVDP_ERR_INPUT, "in all: %s", nvdp_context_error(ctx));
    cr_assert_str_eq(nvdp_context_error(ctx), "in all: a.tsv: line 3");
    cr_assert_eq(nvdp__fail_errno(ctx, 2, "b.tsv"), NVDP_ERR_IO);
    cr_assert_str_eq(nvdp_context_error(ctx), "b.tsv: No such file or directory");
    cr_assert_eq(nvdp__fail(NULL, NVDP_ERR_STATE, "no context"), NVDP_ERR_STATE);
}

Test(context, prefix_without_a_message_tells_the_status) {
    struct nvdp_context *ctx = support_context();
    nvdp__fail_prefix(ctx, NVDP_ERR_MEMORY, "x");
    cr_assert_str_eq(nvdp_context_error(ctx), "x: out of memory");
}

Test(context, messages_are_one_bounded_line) {
    struct nvdp_context *ctx = support_context();
    nvdp__fail(ctx, NVDP_ERR_INPUT, "a\nb\x1b[31mc\x7f");
    cr_assert_str_eq(nvdp_context_error(ctx), "a b\\u001b[31mc\\u007f");
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    nvdp__fail(ctx, NVDP_ERR_INPUT, "%s", text);
    nvdp__fail_prefix(ctx, NVDP_ERR_INPUT, text);
    cr_assert_eq(strlen(nvdp_context_error(ctx)), 2047);
}

static void keep_log(enum nvdp_log_level level, const char *message, void *user) {
    snprintf(user, 64, "%d %s", (int)level, message);
}

static bool say_yes(void *user) {
    (void)user;
    return true;
}

Test(context, log_and_cancel_pass_through_callbacks) {
    struct nvdp_context *ctx = support_context();
    char seen[64] = "";
    nvdp__log(ctx, NVDP_LOG_INFO, "to nobody");
    nvdp_context_set_log(ctx, keep_log, seen);
    nvdp__log(ctx, NVDP_LOG_WARNING, "tensor %s", "w");
    cr_assert_str_eq(seen, "3 tensor w");
    nvdp__log(NULL, NVDP_LOG_WARNING, "to nobody");
    cr_assert(!nvdp_context_cancelled(ctx));
    cr_assert(!nvdp_context_cancelled(NULL));
    nvdp_context_set_cancel(ctx, say_yes, NULL);
    cr_assert(nvdp_context_cancelled(ctx));
}

Test(context, clock_does_not_go_back) {
    double before = nvdp__now();
    cr_assert_geq(nvdp__now(), before);
}
