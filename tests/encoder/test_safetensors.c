/* Reading safetensors: golden files, every check of the header, conversions. */
#include "encoder.h"
#include "tensor/bf16.h"

#include "test_context.h"

static const char *write_file(const char *name, const char *header, size_t data_size) {
    const char *path = support_scratch_path(name);
    size_t length = strlen(header);
    uint64_t prefix = length;
    unsigned char *bytes = calloc(1, 8 + length + data_size);
    memcpy(bytes, &prefix, 8);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < data_size; i++)
        bytes[8 + length + i] = (unsigned char)i;
    support_write(path, bytes, 8 + length + data_size);
    free(bytes);
    return path;
}

/* Expects that the file is refused as malformed with a message that names it and contains
 * `part`. */
static void expect_refused(const char *path, const char *part) {
    struct nvdp__safetensors *file = (struct nvdp__safetensors *)ctx;
    nvdp_status status = nvdp__safetensors_open(ctx, path, &file);
    const char *message = nvdp_context_error(ctx);
    cr_expect_eq(status, NVDP_ERR_INPUT, "%s gave %s", part, nvdp_status_name(status));
    cr_expect_eq((void *)file, (void *)ctx, "the result was touched on failure");
    cr_expect_not_null(strstr(message, path), "no file name in: %s", message);
    cr_expect_not_null(strstr(message, part), "no '%s' in: %s", part, message);
}

Test(safetensors, golden_metadata_and_tensors) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    ok(nvdp__safetensors_open(ctx, support_golden("bert/expected.safetensors"), &file));
    cr_expect_str_eq(nvdp__safetensors_metadata(file, "lengths"), "[13, 7, 2, 9, 1]");
    cr_expect_null(nvdp__safetensors_metadata(file, "no such key"));
    cr_expect_null(nvdp__safetensors_find(file, "no such tensor"));
    cr_expect_null(nvdp__safetensors_find(file, "__metadata__"));
    const struct nvdp__tensor_info *ids = nvdp__safetensors_find(file, "input_ids");
    cr_assert_not_null(ids);
    cr_expect_eq(ids->dtype, NVDP__DTYPE_I64);
    cr_expect_eq(ids->rank, 2);
    cr_expect_eq(ids->shape[0], 5);
    cr_expect_eq(ids->shape[1], 13);
    int64_t values[65];
    float as_f32[65];
    double as_f64[65];
    support_read_i64(ids, values);
    nvdp__safetensors_read_f32(ids, as_f32);
    support_read_f64(ids, as_f64);
    for (size_t i = 0; i < 65; i++) {
        cr_expect(values[i] >= 0 && values[i] < 97);
        cr_expect_eq(as_f32[i], (float)values[i]);
        cr_expect_eq(as_f64[i], (double)values[i]);
    }
    for (size_t i = 0; i < nvdp__safetensors_count(file); i++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_at(file, i);
        cr_expect_eq(nvdp__safetensors_find(file, info->name), info);
    }
    cr_expect_null(nvdp__safetensors_at(file, nvdp__safetensors_count(file)));
}

/* Each broken header, with the part of the message that names its fault. */
static const struct {
    const char *header;
    size_t data;
    const char *part;
} broken[] = {
    {"", 0, "empty header"},
    {" {}", 0, "expected '{'"},
    {"[]", 0, "expected '{'"},
    {"{\"a\": ", 0, "valid JSON"},
    {"{} trailing", 0, "valid JSON"},
    {"{\"a\\u0000b\": {\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "valid JSON"},
    {"{\"a\": {\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
     "\"a\": {\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
     2, "duplicate"},
    {"{\"a\": 3}", 0, "tensor 'a': expected an object"},
    {"{\"a\": {\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "tensor 'a': expected a dtype"},
    {"{\"a\": {\"dtype\":\"F99\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "found 'F99'"},
    {"{\"a\": {\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "expected a dtype"},
    {"{\"a\": {\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "expected a shape"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":4,\"data_offsets\":[0,4]}}", 4, "expected a shape"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "dimension 0"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4, "dimension 0"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
     "at most 8 dimensions, found 9"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
     "fewer than 2^64 elements"},
    {"{\"a\": {\"dtype\":\"F64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,0]}}", 0,
     "elements of 8 bytes"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "found 4 bytes"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "two integers"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 8, "two integers"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4, "two integers"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "4 to 0"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, "within 0 to 4"},
    {"{\"a\": {\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,99999999999999999999]}}", 4,
     "valid JSON"},
    {"{\"a\": {\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
     "\"b\": {\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]}}",
     5, "tensor 'b': data_offsets: expected to begin at 3, found 2 (an overlap)"},
    {"{\"a\": {\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
     "\"b\": {\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[4,5]}}",
     5, "found 4 (a hole)"},
    {"{\"a\": {\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}", 5,
     "expected 3 bytes of data for its tensors, found 5"},
    {"{}", 1, "expected 0 bytes"},
    {"{\"__metadata__\": 4}", 0, "__metadata__: expected an object"},
    {"{\"__metadata__\": {\"k\": 4}}", 0, "'k': expected a string"},
};

Test(safetensors, broken_headers_are_refused) {
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        const char *path = write_file("broken.safetensors", broken[i].header, broken[i].data);
        expect_refused(path, broken[i].part);
    }
}

Test(safetensors, broken_lengths_are_refused) {
    const char *path = support_scratch_path("short.safetensors");
    support_write(path, "", 0);
    expect_refused(path, "found a file of 0");
    support_write(path, "\1\0\0", 3);
    expect_refused(path, "found a file of 3");
    support_write(path, "\3\0\0\0\0\0\0\0{}", 10);
    expect_refused(path, "at most 2, found 3");
    support_write(path, "\377\377\377\377\377\377\377\377{}", 10);
    expect_refused(path, "header length");
    expect_refused(support_scratch(), "regular file");
    struct nvdp__safetensors *file = NULL;
    cr_expect_eq(nvdp__safetensors_open(ctx, support_scratch_path("none"), &file), NVDP_ERR_IO);
}

Test(safetensors, header_limit) {
    /* A sparse file with room for a header of more than 100 MB. */
    const char *path = support_scratch_path("huge.safetensors");
    FILE *stream = fopen(path, "wb");
    uint64_t length = 100 * 1000 * 1000 + 1;
    cr_assert_eq(fwrite(&length, 8, 1, stream), 1);
    cr_assert_eq(fseek(stream, (long)length + 100, SEEK_SET), 0);
    fputc(0, stream);
    fclose(stream);
    expect_refused(path, "at most 100000000, found 100000001");
}

Test(safetensors, scalars_empty_tensors_and_alignment) {
    const char *header = "{\"byte\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
                         "\"none\":{\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[1,1]},"
                         "\"odd\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[1,9],"
                         "\"comment\":\"unknown members are passed over\"}}   ";
    const char *path = write_file("odd.safetensors", header, 9);
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    ok(nvdp__safetensors_open(ctx, path, &file));
    cr_expect_eq(nvdp__safetensors_count(file), 3);
    cr_expect_eq(nvdp__safetensors_find(file, "byte")->count, 1);
    cr_expect_eq(nvdp__safetensors_find(file, "none")->count, 0);
    int64_t values[2];
    support_read_i64(nvdp__safetensors_find(file, "odd"), values);
    cr_expect_eq(values[0], 0x04030201);
    cr_expect_eq(values[1], 0x08070605);
    support_read_i64(nvdp__safetensors_find(file, "none"), NULL);
    nvdp__safetensors_close(NULL);
}

Test(bfloat16, every_value_survives_and_ties_go_to_even) {
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        float value = nvdp__bfloat16_to_float((uint16_t)bits);
        if (isnan(value))
            cr_assert(isnan(nvdp__bfloat16_to_float(nvdp__bfloat16_from_float(value))));
        else
            cr_assert_eq(nvdp__bfloat16_from_float(value), bits);
    }
    cr_expect_eq(nvdp__bfloat16_from_float(1.00390625F), 0x3f80); /* 1 + 2^-8: a tie, to even */
    cr_expect_eq(nvdp__bfloat16_from_float(1.01171875F), 0x3f82); /* 1 + 3 * 2^-8: a tie, to even */
}
