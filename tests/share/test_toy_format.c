/* Tests that a format is one row: a toy format, known to no other file, writes releases and reads them back. */
#include "made_embeddings.h"

#include "test_context.h"

/* --- the toy: a first line, numbers, attributes, offsets, z, log_pi, all in memory layout --- */

static const char first_line[] = "toy release\n";

struct toy {
    char *bytes; /* of a reader: the file */
    uint64_t z, log_pi;
};

static bool is_toy(const char *path, const unsigned char *first, size_t count) {
    (void)path;
    return count >= NVDP__FORMAT_HEAD && memcmp(first, first_line, NVDP__FORMAT_HEAD) == 0;
}

static void set_places(const struct nvdp__embeddings_shape *shape, uint64_t at, struct toy *toy) {
    toy->z = at;
    toy->log_pi = at + shape->rows * shape->dim * sizeof(float);
}

static nvdp_status toy_open(struct nvdp__release *release) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const uint64_t head[] = {shape->rows, shape->dim, release->attributes.count};
    const size_t offsets = (shape->texts * shape->samples + 1) * sizeof(int64_t);
    uint64_t at = sizeof first_line;
    struct toy *toy = release->of;
    nvdp__attributes_sort(&release->attributes);
    NVDP_TRY(nvdp__release_put(release, 0, at, first_line));
    NVDP_TRY(nvdp__release_put(release, at, sizeof head, head));
    at += sizeof head;
    for (size_t i = 0; i < release->attributes.count; i++) {
        const char *word[] = {release->attributes.item[i].name, release->attributes.item[i].text};
        for (size_t k = 0; k < 2; at += strlen(word[k++]) + 1)
            NVDP_TRY(nvdp__release_put(release, at, strlen(word[k]) + 1, word[k]));
    }
    NVDP_TRY(nvdp__release_put(release, at, offsets, release->offset));
    set_places(shape, at + offsets, toy);
    return NVDP_OK;
}

static nvdp_status toy_append(struct nvdp__release *release, size_t first, size_t rows,
                              const void *z, const void *log_pi) {
    const struct toy *toy = release->of;
    const size_t vector = release->shape.dim * sizeof(float);
    NVDP_TRY(nvdp__release_put(release, toy->z + first * vector, rows * vector, z));
    return nvdp__release_put(release, toy->log_pi + first * sizeof(float), rows * sizeof(float),
                             log_pi);
}

static nvdp_status toy_finish(struct nvdp__release *release) {
    (void)release;
    return NVDP_OK;
}

static nvdp_status toy_read(struct nvdp__release *release) {
    struct toy *toy = release->of;
    uint64_t head[3];
    size_t count = 0;
    NVDP_TRY(nvdp__read_file(release->ctx, release->path, 1 << 24, &toy->bytes, &count));
    const char *at = toy->bytes + sizeof first_line;
    memcpy(head, at, sizeof head);
    at += sizeof head;
    for (uint64_t i = 0; i < head[2]; i++) {
        const char *name = at, *text = name + strlen(name) + 1;
        NVDP_TRY(nvdp__attributes_parse(&release->attributes, name, text));
        at = text + strlen(text) + 1;
    }
    NVDP_TRY(nvdp__release_shape(release, head[0], head[1], true));
    const size_t offsets = release->shape.texts * release->shape.samples + 1;
    NVDP_TRY(NVDP__NEW(release->ctx, release->offset, offsets));
    memcpy(release->offset, at, offsets * sizeof(int64_t));
    set_places(&release->shape, (uint64_t)(at - toy->bytes) + offsets * sizeof(int64_t), toy);
    return NVDP_OK;
}

static nvdp_status toy_rows(struct nvdp__release *release, size_t first, size_t rows, void *z,
                            void *log_pi) {
    const struct toy *toy = release->of;
    const size_t vector = release->shape.dim * sizeof(float);
    if (z != NULL) memcpy(z, toy->bytes + toy->z + first * vector, rows * vector);
    if (log_pi != NULL)
        memcpy(log_pi, toy->bytes + toy->log_pi + first * sizeof(float), rows * sizeof(float));
    return NVDP_OK;
}

static void toy_close(struct nvdp__release *release) {
    free(((struct toy *)release->of)->bytes);
}

static const struct nvdp__format toy = {.name = "toy",
                                        .extension = ".toy",
                                        .state = sizeof(struct toy),
                                        .detect = is_toy,
                                        .covers = NVDP__SIGNED_VALUES,
                                        .canonical = true,
                                        .open = toy_open,
                                        .append = toy_append,
                                        .finish = toy_finish,
                                        .read = toy_read,
                                        .rows = toy_rows,
                                        .close = toy_close};

/* --- the test --- */

static void digest_of(const struct nvdp__format *const *formats, const char *path,
                      unsigned char out[NVDP__H5_DIGEST]) {
    struct nvdp__release release = {0};
    struct nvdp_shared *held = NULL;
    ok(nvdp__release_read(ctx, formats, path, &release));
    ok(nvdp__embeddings_take(&release, NULL, NULL, &held));
    ok(nvdp__release_digest(&release, NVDP__SIGNED_VALUES, "signature", out));
    nvdp_shared_free(held);
    nvdp__release_close(&release);
}

/* HDF5 -> toy -> HDF5: the digest shows equal values and attributes; a changed byte is detected. */
Test(toy_format, is_one_row) {
    const struct nvdp__format *const formats[] = {nvdp__formats[0], &toy, NULL};
    struct made_embeddings made = made_embeddings_default();
    struct nvdp__release refused = {0};
    unsigned char digest[3][NVDP__H5_DIGEST];
    made.labels = made.splits = false;
    const char *first = support_scratch_path("first.h5");
    const char *middle = support_scratch_path("middle.toy");
    const char *last = support_scratch_path("last.h5");
    cr_assert_eq(nvdp__format_by_ending(formats, middle), &toy);
    cr_assert_eq(nvdp__format_by_ending(formats, "any"), formats[0]);
    converted_embeddings(ctx, formats, made_embeddings(ctx, "made.h5", &made), first);
    converted_embeddings(ctx, formats, first, middle);
    converted_embeddings(ctx, formats, middle, last);
    digest_of(formats, first, digest[0]);
    digest_of(formats, middle, digest[1]);
    digest_of(formats, last, digest[2]);
    cr_assert_arr_eq(digest[0], digest[1], sizeof digest[0]);
    cr_assert_arr_eq(digest[0], digest[2], sizeof digest[0]);
    char *bytes = support_read(middle);
    const size_t count = support_size(middle);
    support_write(middle, bytes, count + 1); /* with the NUL behind the bytes */
    fails(nvdp__release_read(ctx, formats, middle, &refused), NVDP_ERR_INPUT,
          "for these values and texts, found a difference at byte");
    bytes[sizeof first_line - 1] = 1; /* a byte that nothing determines */
    support_write(middle, bytes, count);
    cr_assert_eq(nvdp__release_read(ctx, formats, middle, &refused), NVDP_ERR_INPUT);
}
