/* The context of a test, for files whose tests need one each. This header is included last, because functions of other
 * headers have parameters with the name of the context. */
#ifndef NVDP_TESTS_SUPPORT_TEST_CONTEXT_H
#define NVDP_TESTS_SUPPORT_TEST_CONTEXT_H

/* Made as support_context() does. Each test has its own process, and so its own context. */
extern struct nvdp_context *ctx;

#endif
