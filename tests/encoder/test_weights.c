/* Weights in the files that people have: torch.save, shards, other formats; damaged and hostile
 * files. */
#include "encoder.h"

#include "test_context.h"

#define CORPUS NVDP_SOURCE_DIR "/tests/fuzz/corpus/torch_file/"

/* ---- torch.save; make_torch_files.py wrote the files with PyTorch ---- */

Test(torch_file, the_values_of_pytorch) {
    static const struct {
        const char *name;
        enum nvdp__dtype dtype;
        int rank;
        size_t shape[2];
        bool dense;
        float value[12];
    } expected[] = {
#define COUNT {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
        {"bfloat", NVDP__DTYPE_BF16, 2, {3, 4}, true, COUNT},
        {"dense", NVDP__DTYPE_F32, 2, {3, 4}, true, COUNT},
        {"double", NVDP__DTYPE_F64, 2, {3, 4}, true, COUNT},
        {"empty", NVDP__DTYPE_F32, 2, {0, 4}, true, {0}},
        {"half", NVDP__DTYPE_F16, 2, {3, 4}, true, COUNT},
        {"parameter", NVDP__DTYPE_F32, 1, {4}, true, {0, .5F, 1, 1.5F}},
        {"part", NVDP__DTYPE_F32, 1, {2}, false, {6, 10}},
        {"positions", NVDP__DTYPE_I64, 2, {1, 5}, true, {0, 1, 2, 3, 4}},
        {"repeated", NVDP__DTYPE_F32, 2, {2, 3}, false, {1, 1, 1, 1, 1, 1}},
        {"scalar", NVDP__DTYPE_F32, 0, {0}, true, {11}},
        {"turned", NVDP__DTYPE_F32, 2, {4, 3}, false, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
#undef COUNT
    };
    nvdp__autoptr(nvdp__torch_close) struct nvdp__torch_file *file = NULL;
    size_t count = 0;
    ok(nvdp__torch_open(ctx, CORPUS "values", &file));
    const struct nvdp__weight *tensor = nvdp__torch_tensors(file, &count);
    cr_assert_eq(count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < count; i++) {
        const struct nvdp__tensor_info *info = &tensor[i].info;
        float value[12] = {0};
        cr_expect_str_eq(info->name, expected[i].name);
        cr_expect_eq(info->dtype, expected[i].dtype, "%s", info->name);
        cr_expect_eq(tensor[i].dense, expected[i].dense, "%s", info->name);
        cr_assert_eq(info->rank, expected[i].rank, "%s", info->name);
        cr_expect_arr_eq(info->shape, expected[i].shape, (size_t)info->rank * sizeof(size_t));
        for (size_t k = 0; k < info->count; k += 2) /* in parts */
            nvdp__weight_read_f32(&tensor[i], k, nvdp__min(2, info->count - k), value + k);
        cr_expect_arr_eq(value, expected[i].value, info->count * sizeof *value, "%s", info->name);
    }
}

Test(torch_file, other_files_are_refused_and_nothing_is_executed) {
    static const struct {
        const char *file, *part;
    } cases[] = {
        {"module", NULL},
        {"made", NULL},
        {"zip64", NULL},
        {"legacy", "expected a zip archive of torch.save, found another format, such as that of "
                   "PyTorch before 1.6"},
        {"whole_module", "name 'torch.nn.modules.linear.Linear': expected only"},
        {"training", "key 'model': expected a tensor, found a dictionary; if it is the checkpoint "
                     "of a training"},
        {"compressed", "zip entry 'archive/data.pkl': expected a stored one"},
        {"big_endian", "byteorder: expected little, found 'big   '"},
        {"system", "name 'os.system': expected only those of a dictionary of tensors"},
        {"eval", "name 'builtins.eval': expected only"},
        {"stack_global", "expected a pickle of protocol 2, as torch.save writes, found 4"},
        {"inside_state", "name 'posix.system': expected only"},
        {"instance", "expected an opcode of a dictionary of tensors, found 0x69"},
        {"build_setstate", "expected a dictionary, found a tensor"},
        {"huge_storage",
         "storage '0': expected 9223372036854775807 elements of F32, found 16 bytes"},
        {"huge_shape", "tensor: expected elements within its storage"},
        {"wrapping_stride", "tensor: expected elements within its storage"},
        {"negative_shape", "tensor: dimension 0: expected a size and a stride"},
        {"negative_start", "tensor: expected an offset from 0 to "},
        {"beyond_storage", "tensor: expected elements within its storage, found one at 3 of 3"},
        {"no_storage", "storage '../../etc/passwd': expected an entry of the archive, found none"},
        {"wrong_size", "storage '0': expected 4 elements of F64, found 16 bytes"},
        {"other_storage", "name 'torch.ComplexFloatStorage': expected only"},
        {"loop", "key 'w': expected a tensor, found a dictionary"},
        {"memo_ahead", "memo 2147483647: expected a value and a number of at most 0"},
        {"memo_unknown", "memo 7: expected a number below 0"},
        {"long_text", "expected 4294967295 more bytes, found the end"},
        {"twice", "tensor 'w': expected unique names, found this name twice"},
        {"nul_in_name", "expected the names of tensors as keys"},
        {"number_as_key", "expected the names of tensors as keys, found a number"},
        {"empty_stack", "expected one value at the end, found 0"},
        {"two_values", "expected one value at the end, found 2"},
        {"no_stop", "expected 1 more bytes, found the end"},
        {"underflow", "expected a mark, found an empty stack"},
        {"two_pickles", "expected one FOLDER/data.pkl, found several"},
        {"no_pickle", "expected an entry data.pkl of torch.save, found none"},
        {"cut", "expected a complete zip archive, found no directory at its end"},
        {"entry_beyond", "zip entry 'archive/data/0': expected 1073741824 bytes within the file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        nvdp__autoptr(nvdp__torch_close) struct nvdp__torch_file *file = NULL;
        const char *path = support_path(CORPUS "%s", cases[i].file);
        nvdp_status status = nvdp__torch_open(ctx, path, &file);
        cr_expect_eq(status, cases[i].part == NULL ? NVDP_OK : NVDP_ERR_INPUT, "%s: %s", path,
                     nvdp_context_error(ctx));
        if (cases[i].part != NULL)
            support_contains(nvdp_context_error(ctx), cases[i].part, path, "weights_only=True");
    }
    cr_expect_not(nvdp__exists("/tmp/nvdp-was-here"));
}

/* Opens a file and, if it is accepted, reads every element. */
static nvdp_status open_bytes(const char *bytes, size_t size) {
    nvdp__autoptr(nvdp__torch_close) struct nvdp__torch_file *file = NULL;
    const char *path = support_scratch_path("damaged.bin");
    size_t count = 0;
    support_write(path, bytes, size); /* nvdp__write_file() would wait for the disk each time */
    NVDP_TRY(nvdp__torch_open(ctx, path, &file));
    const struct nvdp__weight *tensor = nvdp__torch_tensors(file, &count);
    for (size_t i = 0; i < count; i++) {
        nvdp__autofree float *value = malloc((tensor[i].info.count + 1) * sizeof *value);
        nvdp__weight_read_f32(&tensor[i], 0, tensor[i].info.count, value);
    }
    return NVDP_OK;
}

Test(torch_file, truncated_and_changed_bytes) {
    nvdp__autofree char *bytes = NULL;
    size_t size = 0;
    ok(nvdp__read_file(ctx, CORPUS "made", 1 << 16, &bytes, &size));
    for (size_t n = 0; n < size; n++)
        cr_expect_eq(open_bytes(bytes, n), NVDP_ERR_INPUT, "%zu bytes", n);
    for (size_t i = 0; i < size; i++) {
        const char kept = bytes[i];
        for (int bit = 0; bit < 8; bit += 3) {
            bytes[i] = (char)(kept ^ (1 << bit));
            nvdp_status status = open_bytes(bytes, size);
            cr_expect(status == NVDP_OK || status == NVDP_ERR_INPUT, "byte %zu", i);
        }
        bytes[i] = kept;
    }
}

Test(torch_file, out_of_memory) {
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *weights = NULL;
    nvdp__autofree char *bytes = NULL;
    size_t size = 0;
    support_file("pytorch_model.bin.index.json",
                 "{\"weight_map\": {\"weight\": \"a.bin\", \"bias\": \"a.bin\"}}");
    ok(nvdp__read_file(ctx, CORPUS "module", 1 << 16, &bytes, &size));
    ok(nvdp__write_file(ctx, support_scratch_path("a.bin"), bytes, size));
    uint64_t k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp__weights_open(ctx, support_scratch(), &weights)))
        cr_assert_lt(k, 200);
    cr_expect_eq(weights->count, 2);
}

/* ---- shards ---- */

/* Writes tensors of one number each: their names' letters. */
static void write_shard(const char *file, const char *letters) {
    struct nvdp__tensor_source source[8] = {0};
    char name[8][2];
    float value[8];
    size_t count = 0;
    for (; letters[count] != '\0'; count++) {
        name[count][0] = letters[count];
        name[count][1] = '\0';
        value[count] = (float)letters[count];
        source[count] =
            (struct nvdp__tensor_source){name[count], NVDP__DTYPE_F32, 1, {1}, &value[count]};
    }
    ok(nvdp__safetensors_write(ctx, support_scratch_path(file), count, source, NULL));
}

Test(shards, all_tensors_are_found_and_errors_name_the_shard) {
    static const struct {
        const char *index, *part;
    } cases[] = {
        {"{\"metadata\": {}, \"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"1.safetensors\", "
         "\"c\": \"2.safetensors\"}}",
         NULL},
        {"{\"weight_map\": {\"a\": \"1.safetensors\", \"c\": \"2.safetensors\", \"d\": "
         "\"3.safetensors\"}}",
         "shard '3.safetensors': expected it in the same folder, found no such file"},
        {"{\"weight_map\": {\"a\": \"1.safetensors\", \"d\": \"2.safetensors\"}}",
         "tensor 'd': expected it in '2.safetensors', found it nowhere"},
        {"{\"weight_map\": {\"a\": \"2.safetensors\", \"b\": \"1.safetensors\"}}",
         "tensor 'a': expected it in '2.safetensors', found it in "},
        {"{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"4.safetensors\"}}",
         "tensor 'b': expected it in one shard, found it in "},
        {"{\"weight_map\": {\"a\": \"../1.safetensors\"}}",
         "'a': expected the name of a file in the same folder, found ../1.safetensors"},
        {"{\"weight_map\": {\"a\": 1}}", "'a': expected the name of a file"},
        {"{\"weight_map\": []}", "'weight_map': expected an object"},
        {"{}", "'weight_map': expected an object with the shard of each tensor, found none"},
        {"{\"weight_map\": {\"a\": \"1.safetensors\", \"a\": \"2.safetensors\"}}", "duplicate"},
    };
    const char *path = support_scratch_path("model.safetensors.index.json");
    write_shard("1.safetensors", "ab");
    write_shard("2.safetensors", "c");
    write_shard("4.safetensors", "b");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *weights = NULL;
        support_write_text(path, cases[i].index);
        nvdp_status status = nvdp__weights_open(ctx, support_scratch(), &weights);
        cr_assert_eq(status, cases[i].part == NULL ? NVDP_OK : NVDP_ERR_INPUT, "%s: %s",
                     cases[i].index, nvdp_context_error(ctx));
        if (cases[i].part == NULL) {
            char hash[65], one[65];
            float value = 0;
            cr_expect_eq(weights->count, 3);
            nvdp__weight_read_f32(nvdp__weights_find_tensor(weights, "c"), 0, 1, &value);
            cr_expect_eq(value, 'c');
            cr_expect_null(nvdp__weights_find_tensor(weights, "d"));
            ok(nvdp__weights_sha256(weights, hash));
            write_shard("2.safetensors", "cx");
            ok(nvdp__weights_sha256(weights, one));
            cr_expect_str_neq(hash, one);
        } else {
            support_contains(nvdp_context_error(ctx), cases[i].part,
                             "model.safetensors.index.json");
        }
    }
}

/* ---- other formats ---- */

Test(weights, a_folder_without_weights_says_what_is_there_and_the_next_step) {
    static const struct {
        const char *file, *next;
    } cases[] = {
        {"model.gguf", "download model.safetensors or pytorch_model.bin of the same model"},
        {"onnx", "download model.safetensors or pytorch_model.bin of the same model"},
        {"weights.pt", "rename it to pytorch_model.bin"},
        {"bert_model.ckpt.index", "from_tf=True, config=CONFIG"},
        {"flax_model.msgpack", "from_flax=True"},
        {"tf_model.h5", "from_tf=True"},
        {"adapter_model.safetensors", "merge_and_unload"}};
    char *path = NULL;
    fails(nvdp__weights_find(ctx, support_scratch(), &path), NVDP_ERR_INPUT,
          "expected model.safetensors or pytorch_model.bin, or an index of their shards, "
          "found none; download the model's model.safetensors");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        support_write_text(support_scratch_path(cases[i].file), "x");
        cr_expect_eq(nvdp__weights_find(ctx, support_scratch(), &path), NVDP_ERR_INPUT);
        for (size_t k = 0; k <= i; k++) /* all are named */
            support_contains(nvdp_context_error(ctx), cases[k].file);
        support_contains(nvdp_context_error(ctx), cases[i].next);
    }
}

Test(weights, a_git_lfs_pointer_is_named) {
    static const char *const names[] = {"pytorch_model.bin", "model.safetensors"};
    for (size_t i = 0; i < 2; i++) {
        struct nvdp__weight_files *weights = NULL;
        support_write_text(support_scratch_path(names[i]),
                           "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
        fails(nvdp__weights_open(ctx, support_scratch(), &weights), NVDP_ERR_INPUT, names[i]);
        support_contains(nvdp_context_error(ctx),
                         "found a Git LFS pointer to the file; run git lfs pull");
    }
}

Test(weights, safetensors_come_first_as_in_transformers) {
    static const char *const names[] = {"pytorch_model.bin.index.json", "pytorch_model.bin",
                                        "model.safetensors.index.json", "model.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        nvdp__autofree char *path = NULL;
        support_write_text(support_scratch_path(names[i]), "x");
        ok(nvdp__weights_find(ctx, support_scratch(), &path));
        cr_expect_str_eq(path, support_scratch_path(names[i]));
    }
}
