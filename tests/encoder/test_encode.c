/* Plain encoding: the reference checkpoint's hidden states, and all kinds of invalid inputs. */
#include "encoder.h"
#include "encoder/arrays_file.h"
#include "hdf5/hdf5.h"
#include <zlib.h>

#include "test_context.h"

enum { TEXTS = 5, PADDED = 13, WIDTH = 24, CLASSES = 3, LAYERS = 3 };
static const size_t golden_length[TEXTS] = {13, 7, 2, 9, 1};

/* float32 against float64 references: four layers of sums over 24 to 60 products. */
static const double TOLERANCE = 1e-4;

static double *golden(struct nvdp__safetensors *file, const char *name) {
    const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, name);
    cr_assert_not_null(info, "%s is not in the reference file", name);
    double *values = calloc(info->count, sizeof *values);
    support_read_f64(info, values);
    return support_keep(values);
}

/* Writes the golden batch as JSON lines. */
static const char *golden_input(struct nvdp__safetensors *file) {
    const char *path = support_scratch_path("golden.jsonl");
    const double *ids = golden(file, "input_ids"), *types = golden(file, "token_type_ids");
    nvdp__autoptr(fclose) FILE *out = fopen(path, "w");
    for (size_t i = 0; i < TEXTS; i++) {
        fprintf(out, "{\"input_ids\": [");
        for (size_t j = 0; j < golden_length[i]; j++)
            fprintf(out, "%s%d", j > 0 ? ", " : "", (int)ids[i * PADDED + j]);
        fprintf(out, "], \"token_type_ids\": [");
        for (size_t j = 0; j < golden_length[i]; j++)
            fprintf(out, "%s%d", j > 0 ? ", " : "", (int)types[i * PADDED + j]);
        fprintf(out, "]}\n");
    }
    return path;
}

/* Compares dataset `name` of an encoding with the padded reference `want` [texts, 13, width]. */
static void check_hidden(struct nvdp__h5 *file, const char *name, const double *want) {
    size_t shape[2];
    ok(nvdp__h5_shape(file, name, NVDP__H5_F32, 2, shape));
    cr_assert_eq(shape[0], 32);
    cr_assert_eq(shape[1], WIDTH);
    float got[32 * WIDTH];
    ok(nvdp__h5_read_rows(file, name, NVDP__H5_F32, 0, 32, got));
    size_t row = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t j = 0; j < golden_length[i]; j++, row++) {
            double error =
                support_norm_error(WIDTH, got + row * WIDTH, want + (i * PADDED + j) * WIDTH);
            cr_assert_lt(error, TOLERANCE, "%s, text %zu, token %zu: %g", name, i, j, error);
        }
    }
}

static void check_rows(struct nvdp__h5 *file, const char *name, size_t width, const double *want) {
    float got[TEXTS * WIDTH];
    size_t shape[2];
    ok(nvdp__h5_shape(file, name, NVDP__H5_F32, 2, shape));
    cr_assert_eq(shape[0], TEXTS);
    cr_assert_eq(shape[1], width);
    ok(nvdp__h5_read_rows(file, name, NVDP__H5_F32, 0, TEXTS, got));
    double error = support_norm_error(TEXTS * width, got, want);
    cr_assert_lt(error, TOLERANCE, "%s: %g", name, error);
}

static void encode_golden(bool all_layers, const char *batch) {
    const char *model = support_golden("bert");
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *want = NULL;
    ok(nvdp__safetensors_open(ctx, support_golden("bert/expected.safetensors"), &want));
    struct nvdp_config *config =
        support_config(ctx, "encode", "model", model, "jsonl", golden_input(want), "out",
                       support_scratch_path("golden.h5"), "all-layers",
                       all_layers ? "true" : "false", "batch", batch, NULL);
    struct nvdp_encoding done = NVDP_RESULT(struct nvdp_encoding);
    ok(nvdp_encode(ctx, config, &done));
    cr_assert_eq(done.texts, TEXTS);
    cr_assert_str_eq(done.pooling, "none");

    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    ok(nvdp__h5_open(ctx, nvdp_config_get(config, "out"), "encoding", 1, &file));
    int64_t offset[TEXTS + 1];
    ok(nvdp__h5_read_rows(file, "offset", NVDP__H5_I64, 0, TEXTS + 1, offset));
    for (size_t i = 0; i < TEXTS; i++)
        cr_assert_eq((size_t)(offset[i + 1] - offset[i]), golden_length[i]);
    for (int layer = 0; layer <= LAYERS; layer++) {
        const char *name = all_layers ? support_path("hidden_%d", layer) : "hidden";
        double *states = golden(want, support_path("hidden.%d", layer));
        cr_assert_eq(nvdp__h5_has(file, name), all_layers || strcmp(name, "hidden") == 0);
        if (all_layers || layer == LAYERS) check_hidden(file, name, states);
    }
    cr_assert_eq(nvdp__h5_has(file, "hidden"), !all_layers);
    check_rows(file, "pooler_output", WIDTH, golden(want, "pooled"));
    check_rows(file, "logits", CLASSES, golden(want, "logits"));
}

Test(encode, equals_the_reference) {
    encode_golden(false, "32");
}

Test(encode, gives_every_layer) {
    encode_golden(true, "32");
}

/* The encoder's tensors do not include RoBERTa's pooler: no pooled states are written for it. */
Test(encode, gives_no_pooled_states_that_it_does_not_compute) {
    enum { MAX_COUNT = 80 };
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *weights = NULL;
    struct nvdp__tensor_source tensors[MAX_COUNT];
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    const char *folder = support_scratch_path("roberta"), *out = support_scratch_path("out.h5");
    const char *texts = support_scratch_path("texts.jsonl");
    const char *settings = support_read(support_golden("roberta/config.json"));
    ok(nvdp__safetensors_open(ctx, support_golden("roberta/model.safetensors"), &weights));
    const size_t count = nvdp__safetensors_count(weights);
    cr_assert_leq(count, MAX_COUNT);
    for (size_t i = 0; i < count; i++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_at(weights, i);
        tensors[i] = (struct nvdp__tensor_source){
            .name = info->name, .rank = info->rank, .data = info->data};
        tensors[i].dtype = info->dtype;
        memcpy(tensors[i].shape, info->shape, sizeof info->shape);
        if (strcmp(info->name, "classifier.dense.weight") == 0)
            tensors[i].name = "pooler.dense.weight";
        if (strcmp(info->name, "classifier.dense.bias") == 0) tensors[i].name = "pooler.dense.bias";
    }
    mkdir(folder, 0700);
    support_write_text(support_path("%s/config.json", folder), settings);
    ok(nvdp__safetensors_write(ctx, support_path("%s/model.safetensors", folder), count, tensors,
                               NULL));
    support_write_text(texts, "{\"input_ids\": [5, 6, 7]}\n");
    const struct nvdp_config *config =
        support_config(ctx, "encode", "model", folder, "jsonl", texts, "out", out, NULL);
    ok(nvdp_encode(ctx, config, NULL));
    ok(nvdp__h5_open(ctx, out, "encoding", 1, &file));
    cr_expect(nvdp__h5_has(file, "hidden"));
    cr_expect_not(nvdp__h5_has(file, "pooler_output"));
}

Test(encode, does_not_depend_on_the_batch) {
    encode_golden(false, "2");
    encode_golden(true, "1");
}

/* Returns options that encode these lines of JSON into "out.h5". */
static struct nvdp_config *encode_config(const char *model, const char *lines) {
    return support_config(ctx, "encode", "model", model, "jsonl", support_file("in.jsonl", lines),
                          "out", support_scratch_path("out.h5"), NULL);
}

/* Positions of RoBERTa do not count the padding tokens of a text, which all have the position of the padding's id, as in
 * transformers' create_position_ids_from_input_ids. So the states of the text 0 10 PAD 11 2 are those of 0 10 Q 11 2 with another
 * table, in which the word Q has the vector of PAD, and the rows of the positions are in the order of the first text. */
Test(encode, positions_skip_the_padding_token_in_a_text) {
    enum { MAX_COUNT = 80, TOKENS = 5, PAD = 1, Q = 12 };
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *weights = NULL;
    struct nvdp__tensor_source tensors[MAX_COUNT];
    ok(nvdp__safetensors_open(ctx, support_golden("roberta/model.safetensors"), &weights));
    const size_t count = nvdp__safetensors_count(weights);
    cr_assert_leq(count, MAX_COUNT);
    for (size_t i = 0; i < count; i++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_at(weights, i);
        const bool words = strstr(info->name, "word_embeddings.weight") != NULL;
        const bool positions = strstr(info->name, "position_embeddings.weight") != NULL;
        tensors[i] = (struct nvdp__tensor_source){
            .name = info->name, .rank = info->rank, .dtype = info->dtype, .data = info->data};
        memcpy(tensors[i].shape, info->shape, sizeof info->shape);
        if (!words && !positions) continue;
        cr_assert_eq(info->dtype, NVDP__DTYPE_F32);
        const float *old = (const float *)info->data;
        float *table = support_keep_copy(old, info->count * sizeof *old);
        const size_t row = WIDTH * sizeof *old;
        if (words) memcpy(table + Q * WIDTH, old + PAD * WIDTH, row);
        for (size_t at = PAD + 3; positions && at <= PAD + TOKENS; at++)
            memcpy(table + at * WIDTH, old + (at == PAD + 3 ? PAD : at - 1) * WIDTH, row);
        tensors[i].data = table;
    }
    const char *folder = support_scratch_path("moved");
    ok(nvdp__make_directory(ctx, folder));
    support_write_text(support_path("%s/config.json", folder),
                       support_read(support_golden("roberta/config.json")));
    ok(nvdp__safetensors_write(ctx, support_path("%s/model.safetensors", folder), count, tensors,
                               NULL));
    static const char lines[] =
        "{\"input_ids\": [0, 10, %d, 11, 2]}\n{\"input_ids\": [0, 10, 2]}\n";
    float states[2][TOKENS * WIDTH];
    for (int moved = 0; moved < 2; moved++) {
        nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
        const struct nvdp_config *config = encode_config(moved ? folder : support_golden("roberta"),
                                                         support_path(lines, moved ? Q : PAD));
        ok(nvdp_encode(ctx, config, NULL));
        ok(nvdp__h5_open(ctx, nvdp_config_get(config, "out"), "encoding", 1, &file));
        ok(nvdp__h5_read_rows(file, "hidden", NVDP__H5_F32, 0, TOKENS, states[moved]));
    }
    for (size_t k = 0; k < TOKENS * WIDTH; k++)
        cr_assert_eq(states[0][k], states[1][k], "%zu", k);
}

/* --- formats of the file --- */

static uint64_t little(const char *at, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

/* Checks an NPY array, and compares its values with those of HDF5. */
static void check_npy(const char *bytes, size_t size, const char *head, struct nvdp__h5 *h5,
                      const char *name) {
    const bool whole = strcmp(name, "offset") == 0;
    const size_t width = whole ? 1 : strcmp(name, "logits") == 0 ? CLASSES : WIDTH;
    size_t shape[2] = {0, 1};
    cr_assert_geq(size, 128);
    cr_assert_eq(memcmp(bytes, "\x93NUMPY\1\0\x76\0", 10), 0);
    cr_assert_eq(bytes[127], '\n');
    cr_assert_eq(memcmp(bytes + 10, head, strlen(head)), 0, "%.100s", bytes + 10);
    ok(nvdp__h5_shape(h5, name, whole ? NVDP__H5_I64 : NVDP__H5_F32, whole ? 1 : 2, shape));
    const size_t count = shape[0] * width, item = whole ? 8 : 4;
    cr_assert_eq(size, 128 + count * item, "%s: %zu bytes", name, size);
    void *want = support_keep(calloc(count, item));
    ok(nvdp__h5_read_rows(h5, name, whole ? NVDP__H5_I64 : NVDP__H5_F32, 0, shape[0], want));
    cr_assert_eq(memcmp(bytes + 128, want, count * item), 0, "%s", name);
}

/* Encodes the golden batch and returns the path of the file. */
static const char *encode_as(const char *name, const char *pool, const char *only) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *want = NULL;
    ok(nvdp__safetensors_open(ctx, support_golden("bert/expected.safetensors"), &want));
    const char *path = support_scratch_path(name);
    ok(nvdp_encode(ctx,
                   support_config(ctx, "encode", "model", support_golden("bert"), "jsonl",
                                  golden_input(want), "out", path, "pool", pool, "batch", "2",
                                  "only-embeddings", only, NULL),
                   NULL));
    return path;
}

static void open_h5(const char *path, struct nvdp__h5 **file) {
    ok(nvdp__h5_open(ctx, path, "encoding", 1, file));
}

/* Encodes as HDF5, which it opens, and as another file. Returns the other file's bytes. */
static char *read_both(const char *name, const char *pool, struct nvdp__h5 **h5, size_t *size) {
    char *bytes = NULL;
    open_h5(encode_as("a.h5", pool, "false"), h5);
    ok(nvdp__read_file(ctx, encode_as(name, pool, "false"), 1 << 20, &bytes, size));
    return bytes;
}

/* The members of a ZIP file without compression, in front of its list. Each has 64-bit sizes, and its CRC-32. */
Test(encode, npz_has_the_arrays_of_hdf5) {
    static const struct {
        const char *name, *head;
    } members[] = {
        {"offset", "{'descr': '<i8', 'fortran_order': False, 'shape': (6,), }"},
        {"hidden", "{'descr': '<f4', 'fortran_order': False, 'shape': (32, 24), }"},
        {"pooler_output", "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 24), }"},
        {"logits", "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }"},
        {"sentence_embedding", "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 24), }"}};
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *h5 = NULL;
    size_t size = 0, at = 0, k = 0;
    nvdp__autofree char *bytes = read_both("a.npz", "mean", &h5, &size);
    for (; memcmp(bytes + at, "PK\3\4", 4) == 0; k++) {
        cr_assert_lt(k, sizeof members / sizeof *members);
        const size_t name = little(bytes + at + 26, 2), extra = little(bytes + at + 28, 2);
        cr_assert_eq(name, strlen(members[k].name) + 4);
        cr_assert_eq(memcmp(bytes + at + 30, members[k].name, name - 4), 0);
        cr_assert_eq(extra, 20);
        const char *data = bytes + at + 30 + name + extra;
        const size_t whole = little(data - 16, 8);
        cr_assert_eq(little(data - 8, 8), whole, "not compressed");
        check_npy(data, whole, members[k].head, h5, members[k].name);
        cr_assert_eq(crc32_z(0, (const unsigned char *)data, whole), little(bytes + at + 14, 4));
        at = (size_t)(data - bytes) + whole;
    }
    cr_assert_eq(k, sizeof members / sizeof *members);
    cr_assert_eq(memcmp(bytes + size - 22, "PK\5\6", 4), 0);
    cr_assert_eq(little(bytes + size - 42 + 8, 8), size - 98, "where the end with 64 bits is");
    cr_assert_eq(little(bytes + size - 98 + 32, 8), k);
    cr_assert_eq(little(bytes + size - 98 + 48, 8), at, "where the list is");
}

Test(encode, npy_has_the_sentence_embeddings) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *h5 = NULL;
    size_t size = 0;
    nvdp__autofree char *bytes = read_both("a.npy", "cls", &h5, &size);
    check_npy(bytes, size, "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 24), }", h5,
              "sentence_embedding");
}

Test(encode, safetensors_has_the_arrays_and_attributes_of_hdf5) {
    static const char *const names[] = {"hidden", "logits", "pooler_output", "sentence_embedding"};
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *h5 = NULL;
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    open_h5(encode_as("a.hdf5", "max", "false"), &h5);
    ok(nvdp__safetensors_open(ctx, encode_as("a.safetensors", "max", "false"), &file));
    cr_assert_eq(nvdp__safetensors_count(file), 5);
    cr_assert_eq(nvdp__safetensors_find(file, "offset")->dtype, NVDP__DTYPE_I64);
    cr_assert_str_eq(nvdp__safetensors_metadata(file, "pooling"), "max");
    cr_assert_str_eq(nvdp__safetensors_metadata(file, "nvdp_format"), "encoding/1");
    for (size_t i = 0; i < 4; i++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, names[i]);
        float *want = support_keep(calloc(info->count, sizeof *want));
        ok(nvdp__h5_read_rows(h5, names[i], NVDP__H5_F32, 0, info->shape[0], want));
        cr_assert_eq(memcmp(info->data, want, info->count * sizeof *want), 0, "%s", names[i]);
    }
}

/* True if the file has these rows of the HDF5 file end to end. */
static bool has_rows(const char *bytes, size_t size, struct nvdp__h5 *h5, const char *name) {
    float want[TEXTS * WIDTH];
    size_t shape[2];
    ok(nvdp__h5_shape(h5, name, NVDP__H5_F32, 2, shape));
    ok(nvdp__h5_read_rows(h5, name, NVDP__H5_F32, 0, TEXTS, want));
    return memmem(bytes, size, want, TEXTS * shape[1] * sizeof *want) != NULL;
}

Test(encode, parquet_has_the_rows_of_texts) {
    static const char *const names[] = {"pooler_output", "logits", "sentence_embedding"};
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *h5 = NULL;
    size_t size = 0;
    nvdp__autofree char *bytes = read_both("a.parquet", "mean", &h5, &size);
    cr_assert_eq(memcmp(bytes, "PAR1", 4), 0);
    cr_assert_eq(memcmp(bytes + size - 4, "PAR1", 4), 0);
    const char *end = bytes + size - 8 - little(bytes + size - 8, 4);
    for (size_t i = 0; i < 3; i++) {
        cr_assert(has_rows(bytes, size, h5, names[i]), "%s", names[i]);
        cr_assert_not_null(memmem(end, (size_t)(bytes + size - end), names[i], strlen(names[i])));
    }
    cr_assert_null(memmem(bytes, size, "\6hidden", 7));
}

/* A group has 2 of 5 rows. They come 3 and 2 at a time. */
Test(encode, parquet_has_groups_of_rows) {
    enum { WIDE = 1 << 20, ROWS = 5 };
    nvdp__autoptr(nvdp__arrays_free) struct nvdp__arrays *file = NULL;
    nvdp__autofree char *bytes = NULL;
    const char *path = support_scratch_path("wide.parquet");
    const size_t row = WIDE * sizeof(float);
    float *rows = support_keep(calloc(ROWS, row));
    size_t size = 0;
    for (size_t k = 0; k < (size_t)ROWS * WIDE; k++)
        rows[k] = (float)(k % 16777213);
    ok(nvdp__arrays_open(ctx, path, "encoding/1", NULL, &file));
    ok(nvdp__arrays_add(file, "z", NVDP__H5_F32, ROWS, WIDE, true));
    ok(nvdp__arrays_begin(file));
    ok(nvdp__arrays_write(file, "z", 0, 3, rows));
    ok(nvdp__arrays_write(file, "z", 3, 2, rows + 3 * WIDE));
    cr_assert_not(nvdp__exists(path), "half a file");
    ok(nvdp__arrays_commit(file));
    ok(nvdp__read_file(ctx, path, 1 << 26, &bytes, &size));
    for (size_t first = 0; first < ROWS; first += 2) {
        const size_t count = first + 2 <= ROWS ? 2 * row : row;
        const char *found = memmem(bytes, size, rows + first * WIDE, count);
        cr_assert_not_null(found, "rows from %zu", first);
    }
}

Test(encode, only_embeddings_leaves_out_the_states) {
    static const char *const others[] = {"offset", "hidden", "logits", "pooler_output"};
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *h5 = NULL;
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    open_h5(encode_as("a.h5", "mean", "true"), &h5);
    cr_assert(nvdp__h5_has(h5, "sentence_embedding"));
    for (size_t i = 0; i < 4; i++)
        cr_assert_not(nvdp__h5_has(h5, others[i]), "%s", others[i]);
    ok(nvdp__safetensors_open(ctx, encode_as("a.safetensors", "mean", "true"), &file));
    cr_assert_eq(nvdp__safetensors_count(file), 1);
}

Test(encode, refuses_other_suffixes_and_files_without_content) {
    static const struct {
        const char *out, *only, *message;
    } cases[] = {{"out", "false",
                  "out: expected a name that ends in .h5, .hdf5, .npz, .npy, .parquet or "
                  ".safetensors, found 'out'"},
                 {"a.pt", "false", "found 'a.pt'"},
                 {"a.npy", "false", "a.npy: expected sentence embeddings, found no pooling"},
                 {"a.parquet", "true", "a.parquet: expected sentence embeddings, found no pooling"},
                 {"a.npz", "true", "a.npz: expected sentence embeddings, found no pooling"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *out = support_scratch_path(cases[i].out);
        const struct nvdp_config *config =
            support_config(ctx, "encode", "model", support_golden("bert"), "jsonl",
                           support_file("in.jsonl", "{\"input_ids\": [5, 6]}\n"), "out", out,
                           "only-embeddings", cases[i].only, NULL);
        fails(nvdp_encode(ctx, config, NULL), NVDP_ERR_ARGUMENT, cases[i].message);
        cr_assert_not(nvdp__exists(out));
    }
}

/* --- sentence vectors --- */

/* Makes a folder of sentence-transformers with the golden model: modules.json,
 * 1_Pooling/config.json. */
static const char *sentence_folder(const char *modules, const char *pooling) {
    static int count;
    const char *folder = support_scratch_path(support_path("sentence-%d", count++));
    const char *command = support_path("mkdir -p %s/1_Pooling && cp -rL %s %s/0_Transformer",
                                       folder, support_golden("bert"), folder);
    cr_assert_eq(system(command), 0);
    support_write_text(support_path("%s/modules.json", folder), modules);
    support_write_text(support_path("%s/1_Pooling/config.json", folder), pooling);
    return folder;
}

#define MODULE(kind, path)                                                                         \
    "{\"type\": \"sentence_transformers.models." kind "\", \"path\": \"" path "\"}"
#define BOTH MODULE("Transformer", "0_Transformer") ", " MODULE("Pooling", "1_Pooling")

/* Compares sentence_embedding with the vectors made from the golden states. */
static void check_sentences(const char *model, const char *pool, const char *normalize,
                            const char *want_pool, bool normalized) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *want = NULL;
    ok(nvdp__safetensors_open(ctx, support_golden("bert/expected.safetensors"), &want));
    const struct nvdp_config *config =
        support_config(ctx, "encode", "model", model, "jsonl", golden_input(want), "out",
                       support_scratch_path("sentences.h5"), "batch", "2", "pool", pool,
                       "normalize", normalize, NULL);
    struct nvdp_encoding done = NVDP_RESULT(struct nvdp_encoding);
    ok(nvdp_encode(ctx, config, &done));
    cr_assert_str_eq(done.pooling, want_pool);
    cr_assert_eq(done.normalized, normalized);
    double *states = golden(want, support_path("hidden.%d", LAYERS));
    double vector[TEXTS * WIDTH];
    for (size_t i = 0; i < TEXTS; i++) {
        double squares = 0;
        for (size_t k = 0; k < WIDTH; k++) {
            double sum = 0, largest = -INFINITY;
            for (size_t j = 0; j < golden_length[i]; j++) {
                double value = states[(i * PADDED + j) * WIDTH + k];
                sum += value;
                largest = fmax(largest, value);
            }
            vector[i * WIDTH + k] = strcmp(want_pool, "mean") == 0 ? sum / (double)golden_length[i]
                                    : strcmp(want_pool, "max") == 0
                                        ? largest
                                        : states[i * PADDED * WIDTH + k];
            squares += vector[i * WIDTH + k] * vector[i * WIDTH + k];
        }
        for (size_t k = 0; normalized && k < WIDTH; k++)
            vector[i * WIDTH + k] /= sqrt(squares);
    }
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    ok(nvdp__h5_open(ctx, nvdp_config_get(config, "out"), "encoding", 1, &file));
    check_rows(file, "sentence_embedding", WIDTH, vector);
}

Test(encode, sentence_vectors_are_what_the_options_say) {
    const char *model = support_golden("bert");
    check_sentences(model, "mean", "auto", "mean", false);
    check_sentences(model, "mean", "yes", "mean", true);
    check_sentences(model, "cls", "no", "cls", false);
    check_sentences(model, "max", "yes", "max", true);
}

Test(encode, sentence_vectors_are_what_the_folder_says) {
    static const char mean[] = "{\"pooling_mode_cls_token\": false, \"pooling_mode_mean_tokens\": "
                               "true, \"word_embedding_dimension\": 24}";
    check_sentences(sentence_folder("[" BOTH "]", mean), "auto", "auto", "mean", false);
    check_sentences(sentence_folder("[" BOTH ", " MODULE("Normalize", "2_Normalize") "]", mean),
                    "auto", "auto", "mean", true);
    const char *max = sentence_folder("[" BOTH ", " MODULE("Normalize", "2_Normalize") "]",
                                      "{\"pooling_mode\": \"max\", \"embedding_dimension\": 24}");
    check_sentences(max, "auto", "auto", "max", true);
    check_sentences(max, "cls", "auto", "cls", true);
    check_sentences(max, "auto", "no", "max", false);
}

Test(encode, names_what_a_folder_asks_for_in_vain) {
    static const struct {
        const char *modules, *pooling, *message;
    } cases[] = {
        {"[" BOTH "]", "{\"pooling_mode\": \"attention\"}",
         "1_Pooling/config.json: 'pooling_mode': expected mean, cls, max, mean_sqrt_len_tokens, "
         "weightedmean or lasttoken, or several of these, found attention (--pool chooses "
         "another)"},
        {"[" BOTH "]", "{\"pooling_mode\": [\"cls\", \"max\", \"cls\"]}", "found cls twice"},
        {"[" BOTH "]", "{\"pooling_mode\": [\"cls\", 3]}", "found another type"},
        {"[" BOTH "]", "{\"pooling_mode_attention\": true}",
         "'pooling_mode_attention': expected no other pooling than pooling_mode_cls_token"},
        {"[" BOTH "]", "{\"word_embedding_dimension\": 25}", "expected an integer from 24 to 24"},
        {"[" BOTH "]", "[]", "1_Pooling/config.json: expected a JSON object"},
        {"[" BOTH ", " MODULE("LSTM", "2_LSTM") "]", "{}",
         "modules.json: module 2: expected up to 7 of sentence_transformers' Dense, Normalize, "
         "Dropout, found 'sentence_transformers.models.LSTM'"},
        {"[" MODULE("Transformer", "0_Transformer") ", " MODULE("Dense", "") "]", "{}",
         "module 1: expected sentence_transformers' Pooling"},
        {"[" MODULE("Transformer", "0_Transformer") ", {\"type\": \"custom_st.Pooling\", \"path\": "
                                                    "\"1_Pooling\"}]",
         "{}", "found 'custom_st.Pooling'"},
        {"[{\"type\": \"custom_st.Transformer\", \"path\": \"0_Transformer\"}]", "{}",
         "module 0: expected sentence_transformers' Transformer or StaticEmbedding, found "
         "'custom_st.Transformer'"},
        {"[" BOTH ", " MODULE("Dense", "1_Pooling") "]",
         "{\"in_features\": 25, \"out_features\": 2}",
         "'in_features': expected an integer from 24 to 24"},
        {"[" BOTH ", " MODULE("Dense", "1_Pooling") "]",
         "{\"in_features\": 24, \"out_features\": 2, \"activation_function\": "
         "\"torch.nn.modules.activation.Mish\"}",
         "'activation_function': expected torch.nn's Identity, Tanh, ReLU, GELU or SiLU, found "
         "'torch.nn.modules.activation.Mish'"},
        {"[" BOTH ", " MODULE("Dense", "1_Pooling") "]",
         "{\"in_features\": 24, \"out_features\": 2, \"activation_function\": \"os.system\"}",
         "'activation_function': expected torch.nn's"},
        {"[" BOTH ", " MODULE("Dense", "1_Pooling") "]",
         "{\"in_features\": 24, \"out_features\": 2, \"module_input_name\": \"token_embeddings\"}",
         "'module_input_name': expected sentence_embedding, found 'token_embeddings'"},
        {"[" BOTH ", " MODULE("Dense", "1_Pooling") "]",
         "{\"in_features\": 24, \"out_features\": 2}",
         "1_Pooling: expected model.safetensors or pytorch_model.bin"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvdp_config *config = encode_config(
            sentence_folder(cases[i].modules, cases[i].pooling), "{\"input_ids\": [1, 2, 3]}\n");
        fails(nvdp_encode(ctx, config, NULL), NVDP_ERR_INPUT, cases[i].message);
        /* states without a pool need none of these files */
        support_set(ctx, config, "pool", "none");
        ok(nvdp_encode(ctx, config, NULL));
        support_set(ctx, config, "normalize", "yes");
        cr_assert_eq(nvdp_encode(ctx, config, NULL), NVDP_ERR_ARGUMENT);
    }
}

/* truncate_dim keeps the first numbers, after all modules: those of the whole vector. */
Test(encode, truncate_dim_cuts_the_vectors) {
    static const char lines[] =
        "{\"input_ids\": [1, 2, 3]}\n{\"input_ids\": [4, 5]}\n{\"input_ids\": [6]}\n";
    enum { CUT = 7, MADE = 3 };
    static const struct {
        const char *dim, *normalize;
        size_t width;
    } cases[] = {
        {"null", "auto", WIDTH}, {"7", "auto", CUT}, {"7", "yes", CUT}, {"400", "auto", WIDTH}};
    const char *folder =
        sentence_folder("[" BOTH ", " MODULE("Normalize", "2_Normalize") "]", "{}");
    float whole[MADE * WIDTH], cut[MADE * WIDTH];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
        support_write_text(support_path("%s/config_sentence_transformers.json", folder),
                           support_path("{\"truncate_dim\": %s}", cases[c].dim));
        struct nvdp_config *config = encode_config(folder, lines);
        support_set(ctx, config, "normalize", cases[c].normalize);
        ok(nvdp_encode(ctx, config, NULL));
        size_t shape[2];
        ok(nvdp__h5_open(ctx, nvdp_config_get(config, "out"), "encoding", 1, &file));
        ok(nvdp__h5_shape(file, "sentence_embedding", NVDP__H5_F32, 2, shape));
        cr_assert_eq(shape[1], cases[c].width);
        ok(nvdp__h5_read_rows(file, "sentence_embedding", NVDP__H5_F32, 0, MADE,
                              c == 0 ? whole : cut));
        for (size_t i = 0; c > 0 && i < MADE; i++) {
            double squares = 0;
            for (size_t k = 0; k < shape[1]; k++)
                squares += (double)whole[i * WIDTH + k] * (double)whole[i * WIDTH + k];
            const double scale = strcmp(cases[c].normalize, "yes") == 0 ? sqrt(squares) : 1;
            for (size_t k = 0; k < shape[1]; k++)
                near((double)cut[i * shape[1] + k], (double)whole[i * WIDTH + k] / scale, 1e-6);
        }
    }
    support_write_text(support_path("%s/config_sentence_transformers.json", folder),
                       "{\"truncate_dim\": 0}");
    fails(nvdp_encode(ctx, encode_config(folder, lines), NULL), NVDP_ERR_INPUT,
          "config_sentence_transformers.json: 'truncate_dim': expected an integer from 1");
}

/* Two poolings, whose vectors follow each other, and a dense layer without activation that adds
 * the halves: W = [I I], b = 1. */
Test(encode, a_dense_layer_over_several_poolings) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    const char *folder = sentence_folder(
        "[" BOTH ", " MODULE("Dense", "2_Dense") ", " MODULE("Dropout", "3_Dropout") "]",
        "{\"pooling_mode\": [\"lasttoken\", \"mean_sqrt_len_tokens\"]}");
    float w[WIDTH * 2 * WIDTH] = {0}, b[WIDTH];
    for (size_t i = 0; i < WIDTH; i++) {
        w[i * 2 * WIDTH + i] = w[i * 2 * WIDTH + WIDTH + i] = 1;
        b[i] = 1;
    }
    const struct nvdp__tensor_source source[] = {
        {"linear.weight", NVDP__DTYPE_F32, 2, {WIDTH, 2 * WIDTH}, w},
        {"linear.bias", NVDP__DTYPE_F32, 1, {WIDTH}, b}};
    const char *dense = support_path("%s/2_Dense", folder);
    ok(nvdp__make_directory(ctx, dense));
    ok(nvdp__safetensors_write(ctx, support_path("%s/model.safetensors", dense), 2, source, NULL));
    support_write_text(support_path("%s/config.json", dense),
                       "{\"in_features\": 48, \"out_features\": 24, \"bias\": true, "
                       "\"activation_function\": \"torch.nn.modules.linear.Identity\"}");
    const struct nvdp_config *config =
        encode_config(folder, "{\"input_ids\": [1, 2, 3]}\n{\"input_ids\": [4, 5]}\n");
    struct nvdp_encoding done = NVDP_RESULT(struct nvdp_encoding);
    ok(nvdp_encode(ctx, config, &done));
    cr_expect_str_eq(done.pooling, "lasttoken+mean_sqrt_len_tokens");
    cr_expect_not(done.normalized);
    float states[5 * WIDTH], vector[2 * WIDTH];
    ok(nvdp__h5_open(ctx, nvdp_config_get(config, "out"), "encoding", 1, &file));
    ok(nvdp__h5_read_rows(file, "hidden", NVDP__H5_F32, 0, 5, states));
    ok(nvdp__h5_read_rows(file, "sentence_embedding", NVDP__H5_F32, 0, 2, vector));
    static const size_t first[] = {0, 3, 5};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < WIDTH; k++) {
            double sum = 0;
            for (size_t j = first[i]; j < first[i + 1]; j++)
                sum += (double)states[j * WIDTH + k];
            double want = 1 + (double)states[(first[i + 1] - 1) * WIDTH + k] +
                          sum / sqrt((double)(first[i + 1] - first[i]));
            cr_expect_leq(fabs((double)vector[i * WIDTH + k] - want), 1e-5);
        }
}

/* With a default prompt a text is the prompt and the text. */
Test(encode, the_default_prompt_is_put_before_each_text) {
    static const struct {
        const char *pooling, *config, *pool, *message;
        int tokens; /* of both texts */
    } cases[] = {
        {"{}", "{\"default_prompt_name\": null, \"prompts\": {\"q\": \"of the \"}}", "auto", NULL,
         8},
        {"{}", "{\"default_prompt_name\": \"q\", \"prompts\": {\"q\": \"of the \"}}", "auto", NULL,
         12},
        {"{}", "{\"default_prompt_name\": \"q\", \"prompts\": {\"q\": \"\"}}", "auto", NULL, 8},
        {"{}", "{\"default_prompt_name\": \"q\", \"prompts\": {\"q\": \"of the \"}}", "cls", NULL,
         8},
        {"{}", "{\"default_prompt_name\": \"q\", \"prompts\": {}}", "auto",
         "config_sentence_transformers.json: 'default_prompt_name': expected a name with a text in "
         "'prompts', found 'q'",
         0},
        {"{\"include_prompt\": false}",
         "{\"default_prompt_name\": \"q\", \"prompts\": {\"q\": \"of the \"}}", "auto",
         "'include_prompt' of the Pooling module: expected true", 0},
        {"{\"include_prompt\": false}", "{\"default_prompt_name\": null}", "auto", NULL, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *folder = sentence_folder("[" BOTH "]", cases[i].pooling);
        support_write_text(support_path("%s/config_sentence_transformers.json", folder),
                           cases[i].config);
        support_write_text(support_path("%s/0_Transformer/vocab.txt", folder),
                           "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nof\n");
        struct nvdp_config *config =
            encode_config(folder, "{\"text\": \"the of\"}\n{\"text\": \"of of\"}\n");
        support_set(ctx, config, "pool", cases[i].pool);
        if (cases[i].message != NULL) {
            fails(nvdp_encode(ctx, config, NULL), NVDP_ERR_INPUT, cases[i].message);
            continue;
        }
        nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
        size_t shape[2];
        ok(nvdp_encode(ctx, config, NULL));
        ok(nvdp__h5_open(ctx, nvdp_config_get(config, "out"), "encoding", 1, &file));
        ok(nvdp__h5_shape(file, "hidden", NVDP__H5_F32, 2, shape));
        cr_expect_eq((int)shape[0], cases[i].tokens, "%zu: %zu", i, shape[0]);
    }
}

/* The folder's files limit the length of texts; an option has priority. */
Test(encode, length_is_what_the_folder_says) {
    struct nvdp_encoding done = NVDP_RESULT(struct nvdp_encoding);
    const char *folder = sentence_folder("[" BOTH "]", "{}");
    struct nvdp_config *config = encode_config(folder, "{\"input_ids\": [1, 2, 3]}\n");
    static const struct {
        const char *file, *content;
        size_t length;
    } cases[] = {
        {NULL, NULL, 40}, /* max_position_embeddings */
        {"tokenizer_config.json", "{\"model_max_length\": 1000000000000000019884624838656}", 40},
        {"tokenizer_config.json", "{\"model_max_length\": 17}", 17},
        {"sentence_bert_config.json", "{\"max_seq_length\": null}", 17},
        {"sentence_bert_config.json", "{\"max_seq_length\": 512}", 40},
        {"sentence_bert_config.json", "{\"max_seq_length\": 11}", 11},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].file != NULL)
            support_write_text(support_path("%s/0_Transformer/%s", folder, cases[i].file),
                               cases[i].content);
        ok(nvdp_encode(ctx, config, &done));
        cr_assert_eq(done.max_length, cases[i].length, "case %zu: %zu", i, done.max_length);
    }
    support_set(ctx, config, "max-length", "30");
    ok(nvdp_encode(ctx, config, &done));
    cr_assert_eq(done.max_length, 30);
}

/* --- inputs --- */

static const struct nvdp_bert_config small_config = {
    .hidden_size = 24, .vocab_size = 97, .max_position_embeddings = 8, .type_vocab_size = 2};

static nvdp_status read_input(const char *text, const char *directory,
                              struct nvdp__encode_input *input) {
    const char *path = support_scratch_path("input.jsonl");
    struct nvdp__encode_limits limits = {
        .config = &small_config, .max_length = 8, .directory = directory};
    support_write_text(path, text);
    return nvdp__encode_input_read(ctx, path, &limits, input);
}

Test(encode_input, reads_token_ids) {
    nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input input = {0};
    ok(read_input("{\"input_ids\": [2, 96, 3], \"token_type_ids\": [0, 1, 1]}\r\n\n"
                  "  {\"input_ids\": [0], \"token_type_ids\": null, \"more\": 1}",
                  "/nowhere", &input));
    cr_assert_eq(input.data.count, 2);
    cr_assert_eq(input.data.offset[1], 3);
    cr_assert_eq(input.data.offset[2], 4);
    cr_assert_eq(input.data.longest, 3);
    cr_assert_eq(input.data.ids[1], 96);
    cr_assert_eq(input.data.types[2], 1);
    cr_assert_eq(input.data.types[3], 0);
    cr_assert_eq(input.data.index[1], 1);
}

/* Makes a tokenizer of a few words in its own directory. */
static const char *tiny_tokenizer(void) {
    const char *directory = support_scratch_path("tokenizer");
    mkdir(directory, 0777);
    support_write_text(support_path("%s/vocab.txt", directory),
                       "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\nblue\nsky\n##s\n");
    return directory;
}

Test(encode_input, tokenizes_texts_and_pairs) {
    nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input input = {0};
    const char *lines =
        "{\"text\": \"Red sky\"}\n"
        "{\"text\": \"reds\", \"pair\": \"blue\\u0000 sky\", \"max_length\": null}\n"
        "{\"text\": \"red red red\", \"pair\": null, \"max_length\": 4}\n"
        "{\"text\": \"sky\", \"input_ids\": [9]}\n";
    static const int32_t want[] = {2, 5, 7, 3, 2, 5, 8, 3, 6, 7, 3, 2, 5, 5, 3, 9};
    ok(read_input(lines, tiny_tokenizer(), &input));
    cr_assert_eq(input.data.count, 4);
    cr_assert_eq(input.data.offset[4], 16);
    cr_assert_arr_eq(input.data.ids, want, sizeof want);
    cr_assert_eq(input.data.types[7], 0);
    cr_assert_eq(input.data.types[8], 1);
}

Test(encode_input, names_file_and_line_of_every_fault) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "expected at least one JSON line"},
        {"\n \n", "expected at least one JSON line"},
        {"{\"input_ids\": [1]}\n{\"input_ids\": [97]}",
         "input.jsonl:2: 'input_ids'[0]: expected 0 to 96, found 97"},
        {"{\"input_ids\": [-1]}", "input.jsonl:1: 'input_ids'[0]: expected 0 to 96, found -1"},
        {"{\"input_ids\": [1.5]}", "input.jsonl:1: 'input_ids'[0]: expected an integer"},
        {"{\"input_ids\": []}", "input.jsonl:1: 'input_ids': expected 1 to 8 tokens, found 0"},
        {"{\"input_ids\": [1,1,1,1,1,1,1,1,1]}", "'input_ids': expected 1 to 8 tokens, found 9"},
        {"{\"input_ids\": 1}", "input.jsonl:1: 'input_ids': expected an array"},
        {"{\"input_ids\": [1], \"token_type_ids\": [2]}", "'token_type_ids'[0]: expected 0 to 1"},
        {"{\"input_ids\": [1], \"token_type_ids\": []}", "'token_type_ids': expected 1 as"},
        {"{\"input_ids\": [1], \"token_type_ids\": 0}", "'token_type_ids': expected an array"},
        {"[1]", "input.jsonl:1: expected a JSON object"},
        {"{\"texts\": 1}", "input.jsonl:1: expected 'text' or 'input_ids'"},
        {"\n\n{\"text\": ", "input.jsonl:3: expected a JSON object"},
        {"{\"text\": 1}", "'text': expected a string"},
        {"{\"text\": \"a\", \"pair\": 1}", "'pair': expected a string or null"},
        {"{\"text\": \"a\", \"max_length\": 9}", "'max_length': expected 2 to 8, found 9"},
        {"{\"text\": \"a\", \"pair\": \"b\", \"max_length\": 2}", "'max_length': expected 3 to 8"},
        {"{\"text\": \"a\", \"max_length\": \"9\"}", "'max_length': expected an integer"},
        {"{\"text\": \"a\\ud800\"}", "input.jsonl:1: expected a JSON object"},
        {"{\"text\": \"\xff\"}", "input.jsonl:1: expected a JSON object"},
    };
    const char *directory = tiny_tokenizer();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nvdp__encode_input input = {0};
        fails(read_input(cases[i].text, directory, &input), NVDP_ERR_INPUT, cases[i].message);
        cr_assert_null(input.data.ids);
    }
}

static void keep_notice(enum nvdp_log_level level, const char *message, void *user) {
    if (level == NVDP_LOG_NOTICE) snprintf(user, 256, "%s", message);
}

static void keep_warning(enum nvdp_log_level level, const char *message, void *user) {
    if (level == NVDP_LOG_WARNING) snprintf(user, 256, "%s", message);
}

/* Writes a text to a new FIFO in another process, or to a file. */
static void offer(const char *path, const char *text, bool piped) {
    remove(path);
    if (!piped) {
        support_write_text(path, text);
        return;
    }
    cr_assert_eq(mkfifo(path, 0600), 0);
    if (fork() != 0) return;
    FILE *to = fopen(path, "w");
    if (to != NULL) fputs(text, to);
    if (to != NULL) fclose(to);
    _exit(0);
}

/* Files whose name is not that of a table, and pipes, are read by the rules of nvdp_dataset_load_file(). */
Test(encode_input, lines_and_tables_by_their_first_line, .timeout = 60) {
    static const struct {
        const char *name, *column, *text, *error;
        size_t count;
        bool lines;
    } cases[] = {{"x.txt", NULL, "red\nblue\n", NULL, 2, true},
                 {"x.txt", NULL, "text\nred\nblue\n", NULL, 2, false},
                 {"x.txt", "of", "of\r\nred\r\n\r\nblue\r\n", NULL, 3, false},
                 {"x.txt", "of", "text\nred\n", NULL, 2, true},
                 {"x", "of", "no\tof\n1\tred\n", NULL, 1, false},
                 {"x", "of", "\"no\"\t\"of\"\n1\t\"red\nsky\"\n", NULL, 1, false},
                 {"x", "of", "{\"of\": \"red\", \"text\": 1}\n{\"of\": \"sky\"}\n", NULL, 2, false},
                 {"x.jsonl", "of", "{\"of\": \"red\", \"text\": 1}\n", NULL, 1, false},
                 {"x.txt", NULL, "{\"text\": \"red\"}\n{\"input_ids\": [9]}\n", NULL, 2, false},
                 {"x.txt", NULL, "red\tsky\n", "x.txt:1: missing column 'text'", 0, false},
                 {"x.txt", NULL, "id,text\n1,red\n", "looks like the header of a table", 0, false},
                 {"x.txt", "of", "OF\nred\n", "looks like the header of a table", 0, false},
                 {"x.txt", NULL, "[{\"text\": \"red\"}]", "looks like an array in JSON", 0, false},
                 {"x.txt", NULL, "red\rsky\r", "found CR alone", 0, false},
                 {"x.txt", NULL, "",
                  "x.txt:1: empty file: expected texts, one per line, or a table", 0, false}};
    char notice[256];
    struct nvdp__encode_limits limits = {
        .config = &small_config, .max_length = 8, .directory = tiny_tokenizer()};
    nvdp_context_set_log(ctx, keep_notice, notice);
    for (size_t n = 0; n < 2 * (sizeof cases / sizeof *cases); n++) {
        const size_t i = n / 2;
        nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input input = {0};
        const char *path = support_scratch_path(cases[i].name);
        limits.text_column = cases[i].column;
        offer(path, cases[i].text, n % 2 == 1);
        notice[0] = '\0';
        const nvdp_status status = nvdp__encode_input_read(ctx, path, &limits, &input);
        cr_expect_eq(status, cases[i].error != NULL ? NVDP_ERR_INPUT : NVDP_OK, "%zu: %s", n,
                     nvdp_context_error(ctx));
        if (cases[i].error != NULL) support_contains(nvdp_context_error(ctx), cases[i].error);
        if (status != NVDP_OK) continue;
        cr_expect_eq(input.data.count, cases[i].count, "%zu: %zu", n, input.data.count);
        const char *want = support_path("%s: %zu texts, one per line", path, cases[i].count);
        cr_expect_eq(strcmp(notice, want) == 0, cases[i].lines, "%zu: %s", n, notice);
    }
    nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input odd = {0};
    const char *latin = support_file("latin.txt", "red\nsk\xFF\n");
    notice[0] = '\0';
    nvdp_context_set_log(ctx, keep_warning, notice);
    limits.text_column = NULL;
    ok(nvdp__encode_input_read(ctx, latin, &limits, &odd));
    support_contains(notice, "latin.txt: 1 of its rows are not UTF-8");
    /* objects with other keys, by name and by their first byte */
    const char *const named[] = {"x.jsonl", "x.txt"};
    limits.text_pair_column = "of";
    for (size_t i = 0; i < 2; i++) {
        struct nvdp__encode_input alone = {0};
        nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input input = {0};
        const char *path = support_scratch_path(named[i]);
        offer(path, "{\"text\": \"red\", \"of\": \"sky\"}\n", false);
        ok(nvdp__encode_input_read(ctx, path, &limits, &input));
        offer(path, "{\"text\": \"red\"}\n", false);
        fails(nvdp__encode_input_read(ctx, path, &limits, &alone), NVDP_ERR_INPUT,
              "missing column 'of'");
        cr_expect_eq(input.data.offset[1], 5); /* [CLS] red [SEP] sky [SEP] */
    }
}

Test(encode, refuses_wrong_options) {
    const char *model = support_golden("bert");
    struct nvdp_config *config = support_config(ctx, "encode", NULL);
    cr_assert_eq(nvdp_encode(ctx, config, NULL), NVDP_ERR_ARGUMENT);
    support_set(ctx, config, "model", model);
    support_set(ctx, config, "jsonl", support_scratch_path("in.jsonl"));
    support_set(ctx, config, "out", support_scratch_path("none.h5"));
    support_refused(ctx, config, "batch", "0", "batch");
    support_set(ctx, config, "max-length", "41");
    fails(nvdp_encode(ctx, config, NULL), NVDP_ERR_ARGUMENT, "3 to 40");
    support_set(ctx, config, "max-length", "0");
    cr_assert_eq(nvdp_encode(ctx, config, NULL), NVDP_ERR_IO);
    support_write_text(nvdp_config_get(config, "jsonl"), "{\"text\": \"no vocabulary here\"}");
    cr_assert_eq(nvdp_encode(ctx, config, NULL), NVDP_ERR_IO);
    cr_assert_not(nvdp__exists(nvdp_config_get(config, "out")));
}

/* Each of the first allocations fails, in many steps: nothing is left behind. */
Test(encode, survives_failing_allocations) {
    struct nvdp_config *config = support_config(ctx, "encode", "model", support_golden("bert"),
                                                "jsonl", support_scratch_path("in.jsonl"), "out",
                                                support_scratch_path("failed.h5"), NULL);
    support_write_text(nvdp_config_get(config, "jsonl"),
                       "{\"input_ids\": [1, 2, 3]}\n{\"input_ids\": [4]}\n");
    uint64_t k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp_encode(ctx, config, NULL)))
        cr_assert_not(nvdp__exists(nvdp_config_get(config, "out")));
}

static struct nvdp_encoder *load_encoder(const char *pool) {
    struct nvdp_encoder *encoder = NULL;
    struct nvdp_config *config =
        support_config(ctx, "encoder", "model", NVDP_SOURCE_DIR "/models/compact", "pool", pool,
                       "batch", "2", NULL);
    ok(nvdp_encoder_load(ctx, config, &encoder));
    return support_keep(encoder);
}

/* Results in memory equal the file's, also in a second call with longer texts. */
Test(encoder, gives_what_the_file_has) {
    static const char *const text[] = {"a film", "the end of it all", "no"};
    enum { COUNT = 3, LENGTH = 40 };
    struct nvdp_encoder *encoder = load_encoder("mean");
    struct nvdp_encoder_info info = NVDP_RESULT(struct nvdp_encoder_info);
    ok(nvdp_encoder_describe(encoder, &info));
    cr_assert_str_eq(info.pooling, "mean");
    const char *input = support_scratch_path("memory.jsonl"), *out = support_scratch_path("m.h5");
    support_write_text(input, "{\"text\": \"a film\"}\n{\"text\": \"the end of it all\"}\n"
                              "{\"text\": \"no\"}\n");
    struct nvdp_config *config =
        support_config(ctx, "encode", "model", NVDP_SOURCE_DIR "/models/compact", "jsonl", input,
                       "out", out, "pool", "mean", "batch", "2", NULL);
    ok(nvdp_encode(ctx, config, NULL));
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    ok(nvdp__h5_open(ctx, out, "encoding", 1, &file));
    for (size_t n = 1; n <= COUNT; n += COUNT - 1) {
        nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *data = NULL;
        ok(nvdp_dataset_from_texts(ctx, nvdp_encoder_tokenizer(encoder), LENGTH, n, text, NULL,
                                   &data));
        const size_t rows = data->offset[n], wide = info.hidden_size;
        nvdp__autofree float *states = calloc(2 * (rows + n) * wide, sizeof *states);
        float *vectors = states + rows * wide, *want = vectors + n * wide;
        ok(nvdp_encoder_run(ctx, encoder, data, states, vectors));
        ok(nvdp__h5_read_rows(file, "hidden", NVDP__H5_F32, 0, rows, want));
        ok(nvdp__h5_read_rows(file, "sentence_embedding", NVDP__H5_F32, 0, n, want + rows * wide));
        /* a text alone is another batch: sums in another order */
        for (size_t k = 0; k < (rows + n) * wide; k++)
            near(states[k], want[k], 1e-5);
        ok(nvdp_encoder_run(ctx, encoder, data, NULL, NULL));
    }
}

Test(encoder, refuses_what_it_cannot_read) {
    struct nvdp_encoder *encoder = load_encoder("none");
    struct nvdp_encoder_info info = NVDP_RESULT(struct nvdp_encoder_info);
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *data = NULL;
    float vector[1] = {0};
    const char *const text[] = {"a film"};
    ok(nvdp_encoder_describe(encoder, &info));
    ok(nvdp_dataset_from_texts(ctx, nvdp_encoder_tokenizer(encoder), 8, 1, text, NULL, &data));
    fails(nvdp_encoder_run(ctx, encoder, data, NULL, vector), NVDP_ERR_ARGUMENT, "pooling");
    data->ids[1] = 1 << 30;
    fails(nvdp_encoder_run(ctx, encoder, data, NULL, NULL), NVDP_ERR_ARGUMENT, "1073741824");
    data->longest = 1 << 20;
    cr_assert_eq(nvdp_encoder_run(ctx, encoder, data, NULL, NULL), NVDP_ERR_ARGUMENT);
    nvdp_encoder_free(NULL);
}

static bool stop(void *user) {
    (void)user;
    return true;
}

Test(encode, stops_on_request) {
    struct nvdp_config *config = support_config(ctx, "encode", "model", support_golden("bert"),
                                                "jsonl", support_scratch_path("in.jsonl"), "out",
                                                support_scratch_path("stopped.h5"), NULL);
    support_write_text(nvdp_config_get(config, "jsonl"), "{\"input_ids\": [1, 2, 3]}\n");
    nvdp_context_set_cancel(ctx, stop, NULL);
    cr_assert_eq(nvdp_encode(ctx, config, NULL), NVDP_ERR_CANCELLED);
    cr_assert_not(nvdp__exists(nvdp_config_get(config, "out")));
}

/* The table may have extra rows, up to a round number; a table with too few rows is refused. */
Test(encoder, vocabulary_may_be_smaller_than_the_table) {
    const char *directory = support_scratch_path("model");
    struct nvdp_bert_config bert = nvdp__bert_config_default();
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *encoder = NULL;
    bert.vocab_size = bert.hidden_size = bert.intermediate_size = 8;
    bert.num_hidden_layers = bert.num_attention_heads = 1;
    ok(nvdp_bert_create_random(ctx, &bert, 1, NULL, directory));
    const char *vocabulary = support_path("%s/vocab.txt", directory);
    struct nvdp_config *config = support_config(ctx, "encoder", "model", directory, NULL);
    support_write_text(vocabulary, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\n");
    fails(nvdp_encoder_load(ctx, config, &encoder), NVDP_ERR_INPUT, "expected at most 8 pieces");
    support_write_text(vocabulary, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n");
    ok(nvdp_encoder_load(ctx, config, &encoder));
}
