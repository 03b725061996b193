/* Reading and writing JSON: errors, numbers, memory. */
#include "base/json.h"
#include "support.h"

#include <float.h>

#include "test_context.h"

static json_t *read_text(const char *text) {
    json_t *value = NULL;
    ok(nvdp__json_read(ctx, support_file("c.json", text), &value));
    return support_keep(value);
}

static void expect_refused(const char *text, const char *message) {
    json_t *value = NULL;
    const char *path = support_file("c.json", text);
    cr_assert_eq(nvdp__json_read(ctx, path, &value), NVDP_ERR_INPUT, "%s", text);
    cr_assert_null(value);
    const char *error = nvdp_context_error(ctx);
    cr_assert(strstr(error, path) == error && strstr(error, message) != NULL, "%s: %s", text,
              error);
}

Test(json, syntax_errors_name_file_and_line) {
    expect_refused("{\n\"a\": 1,\n}", "line 3");
    expect_refused("", "line");
    expect_refused("{\"a\": 1, \"a\": 2}", "duplicate");
    expect_refused("{} {}", "line 1");
    expect_refused("{\"a\": 1e999}", "line 1");
    expect_refused("{\"a\": NaN}", "line 1");
    expect_refused("{\"a\": \"\xff\"}", "line 1");
    expect_refused("[1]", "expected a JSON object");
    json_t *value = NULL;
    cr_assert_eq(nvdp__json_read(ctx, support_scratch_path("none.json"), &value), NVDP_ERR_IO);
}

Test(json, deep_nesting_is_refused) {
    nvdp__autofree char *text = calloc(1, 200001);
    memset(text, '[', 200000);
    expect_refused(text, "line 1");
}

Test(json, integers) {
    json_t *object = read_text("{\"a\": 12, \"b\": 1.5, \"c\": null, \"d\": \"12\"}");
    int64_t value = -1;
    ok(nvdp__json_int(ctx, "f", object, "a", 3, 1, 12, &value));
    cr_assert_eq(value, 12);
    ok(nvdp__json_int(ctx, "f", object, "z", 3, 1, 12, &value));
    cr_assert_eq(value, 3);
    ok(nvdp__json_int(ctx, "f", object, "c", 4, 1, 12, &value));
    cr_assert_eq(value, 4);
    cr_assert_eq(nvdp__json_int(ctx, "f", object, "a", 3, 13, 14, &value), NVDP_ERR_INPUT);
    cr_assert_str_eq(nvdp_context_error(ctx),
                     "f: 'a': expected an integer from 13 to 14, found 12");
    cr_assert_eq(nvdp__json_int(ctx, "f", object, "b", 3, 1, 9, &value), NVDP_ERR_INPUT);
    cr_assert_str_eq(nvdp_context_error(ctx), "f: 'b': expected an integer from 1 to 9, found 1.5");
    cr_assert_eq(nvdp__json_int_required(ctx, "f", object, "d", 1, 12, &value), NVDP_ERR_INPUT);
    cr_assert_eq(nvdp__json_int_required(ctx, "f", object, "c", 1, 12, &value), NVDP_ERR_INPUT);
    cr_assert_eq(nvdp__json_int_required(ctx, "f", object, "z", 1, 12, &value), NVDP_ERR_INPUT);
    cr_assert_str_eq(nvdp_context_error(ctx), "f: 'z': expected an integer, found none");
    cr_assert_eq(value, 4, "untouched on error");
    ok(nvdp__json_int_required(ctx, "f", object, "a", 1, 12, &value));
    cr_assert_eq(value, 12);
}

/* Tokenizers without a limit write model_max_length 10^30: it becomes a real, and the other
 * integers stay integers. */
Test(json, integers_beyond_64_bits) {
    json_t *object = read_text("{\"most\": 1000000000000000019884624838656, \"a\": 12,"
                               " \"b\": {\"c\": [-7, 1.5, 9007199254740993]}}");
    int64_t value = -1;
    double real = 0;
    ok(nvdp__json_int(ctx, "f", object, "a", 3, 1, 12, &value));
    cr_assert_eq(value, 12);
    ok(nvdp__json_real(ctx, "f", object, "most", 0, 0, 1e31, &real));
    cr_assert_eq(real, 1e30);
    cr_assert_eq(nvdp__json_int(ctx, "f", object, "most", 3, 1, INT64_MAX, &value), NVDP_ERR_INPUT);
    const json_t *list = support_at(object, "b/c");
    cr_assert(json_is_integer(json_array_get(list, 0)));
    cr_assert_eq(integer_at(list, "0"), -7);
    cr_assert(json_is_real(json_array_get(list, 1)));
    cr_assert(json_is_real(json_array_get(list, 2))); /* not exact as a double, so not an integer */
}

Test(json, reals_booleans_strings) {
    json_t *object =
        read_text("{\"i\": 2, \"r\": 1e-12, \"inf\": \"inf\", \"nan\": \"nan\", \"t\": true,"
                  "\"s\": \"gelu\", \"o\": {\"k\": \"0123456789012345678901234567890123456789"
                  "012345678901234567890123456789\"}}");
    double real = -1;
    bool flag = false;
    const char *text = NULL;
    ok(nvdp__json_real(ctx, "f", object, "i", 0, 0, 2, &real));
    cr_assert_eq(real, 2);
    ok(nvdp__json_real(ctx, "f", object, "r", 0, 0, 2, &real));
    cr_assert_eq(real, 1e-12);
    ok(nvdp__json_real(ctx, "f", object, "z", 0.25, 0, 2, &real));
    cr_assert_eq(real, 0.25);
    ok(nvdp__json_real(ctx, "f", object, "inf", 0, 0, INFINITY, &real));
    cr_assert_eq(real, INFINITY);
    cr_assert_eq(nvdp__json_real(ctx, "f", object, "inf", 0, 0, DBL_MAX, &real), NVDP_ERR_INPUT);
    cr_assert_eq(nvdp__json_real(ctx, "f", object, "nan", 0, 0, 1, &real), NVDP_ERR_INPUT);
    cr_assert_str_eq(nvdp_context_error(ctx),
                     "f: 'nan': expected a number from 0 to 1, found \"nan\"");
    cr_assert_eq(nvdp__json_real(ctx, "f", object, "s", 0, 0, 1, &real), NVDP_ERR_INPUT);
    ok(nvdp__json_bool(ctx, "f", object, "t", false, &flag));
    cr_assert(flag);
    ok(nvdp__json_bool(ctx, "f", object, "z", true, &flag));
    cr_assert(flag);
    cr_assert_eq(nvdp__json_bool(ctx, "f", object, "i", true, &flag), NVDP_ERR_INPUT);
    cr_assert_str_eq(nvdp_context_error(ctx), "f: 'i': expected true or false, found 2");
    ok(nvdp__json_string(ctx, "f", object, "s", "relu", &text));
    cr_assert_str_eq(text, "gelu");
    ok(nvdp__json_string(ctx, "f", object, "z", "relu", &text));
    cr_assert_str_eq(text, "relu");
    fails(nvdp__json_string(ctx, "f", object, "o", "relu", &text), NVDP_ERR_INPUT, "...");
}

Test(json, numbers_survive_a_round_trip) {
    const double values[] = {0.1, 1.0 / 3, DBL_MIN, DBL_MAX, -0.0, 5e-324, INFINITY, -INFINITY, 7};
    const char *path = support_scratch_path("r.json");
    nvdp__autoptr(json_decref) json_t *object = json_object();
    char key[16];
    for (int i = 0; i < 9; i++) {
        snprintf(key, sizeof key, "%d", i);
        json_object_set_new(object, key, nvdp__json_number(values[i]));
    }
    json_object_set_new(object, "nan", nvdp__json_number(NAN));
    ok(nvdp__json_write(ctx, path, object));
    json_decref(object);
    ok(nvdp__json_read(ctx, path, &object));
    for (int i = 0; i < 9; i++) {
        double back = 1;
        snprintf(key, sizeof key, "%d", i);
        ok(nvdp__json_real(ctx, path, object, key, 1, -INFINITY, INFINITY, &back));
        cr_assert_eq(back, values[i]);
        cr_assert_eq(signbit(back), signbit(values[i]));
    }
    cr_assert_str_eq(text_at(object, "nan"), "nan");
}

Test(json, out_of_memory) {
    const char *path = support_scratch_path("m.json");
    nvdp__autoptr(json_decref) json_t *object = json_pack("{s:i}", "a", 1);
    uint64_t k = 1;
    for (;; k++) {
        json_t *back = NULL;
        nvdp__fail_allocation(ctx, k);
        nvdp_status status = nvdp__json_write(ctx, path, object);
        if (status == NVDP_OK) status = nvdp__json_read(ctx, path, &back);
        if (status == NVDP_OK) {
            json_decref(back);
            break;
        }
        cr_assert_eq(status, NVDP_ERR_MEMORY, "%s", nvdp_context_error(ctx));
    }
    cr_assert_geq(k, 4);
}

Test(json, text_of_a_value_and_of_none) {
    nvdp__autofree char *text = NULL;
    cr_expect_eq(nvdp__json_text(ctx, NULL, "report", &text), NVDP_ERR_MEMORY);
    cr_expect_null(text);
    cr_expect_str_eq(nvdp_context_error(ctx), "report: out of memory");
    ok(nvdp__json_text(ctx, json_pack("{s:f}", "a", 0.5), "report", &text));
    cr_expect_str_eq(text, "{\n  \"a\": 0.5\n}");
}
