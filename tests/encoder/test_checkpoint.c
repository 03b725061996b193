/* Reading and writing weights; randomly damaged directories. */
#include "encoder.h"

#include "test_context.h"

/* Keeps a context's notices, one per line. */
static void keep_notice(enum nvdp_log_level level, const char *message, void *user) {
    char *notices = user;
    if (level != NVDP_LOG_NOTICE && level != NVDP_LOG_WARNING) return;
    strcat(notices, message);
    strcat(notices, "\n");
}

enum { NOTICES = 8192 };

static struct encoder *small_rig(size_t outputs) {
    struct nvdp_bert_config config = encoder_config();
    struct encoder *encoder = encoder_create(&config, outputs, false, false);
    encoder_randomize(encoder, 0.3, 8);
    return encoder;
}

/* Writes the encoder's parameters as `dtype`, with names changed by `rename`, without one
 * tensor. */
static void write_as(struct encoder *encoder, const char *path, enum nvdp__dtype dtype,
                     const char *(*rename_tensor)(const char *, char *), const char *left_out) {
    struct nvdp__tensor_source source[64] = {0};
    char names[64][160];
    size_t count = 0;
    for (size_t i = 0; i < encoder->params.count; i++) {
        const struct nvdp__param *param = &encoder->params.entry[i];
        if (left_out != NULL && strcmp(param->name, left_out) == 0) continue;
        const char *name = rename_tensor(param->name, names[count]);
        float *values = encoder_download(encoder, param->count, nvdp__value(&encoder->params, i));
        source[count] = (struct nvdp__tensor_source){name, dtype, param->rank, {0}, values};
        memcpy(source[count].shape, param->shape, sizeof param->shape);
        if (dtype == NVDP__DTYPE_F64) {
            double *wide = support_keep(malloc(param->count * sizeof *wide));
            for (size_t k = 0; k < param->count; k++)
                wide[k] = values[k];
            source[count].data = wide;
        }
        count++;
    }
    ok(nvdp__safetensors_write(encoder->ctx, path, count, source, NULL));
}

static const char *same_name(const char *name, char *room) {
    (void)room;
    return name;
}

/* As torch.nn.DataParallel wraps a model. */
static const char *wrapped_name(const char *name, char *room) {
    snprintf(room, 160, "module.%s", name);
    return room;
}

/* Returns the name in older files of an encoder without heads. */
static const char *older_bare_name(const char *name, char *room) {
    strcpy(room, strncmp(name, "bert.", 5) == 0 ? name + 5 : name);
    char *at = strstr(room, "LayerNorm.weight");
    if (at != NULL) strcpy(at, "LayerNorm.gamma");
    at = strstr(room, "LayerNorm.bias");
    if (at != NULL) strcpy(at, "LayerNorm.beta");
    return room;
}

/* Returns the largest difference between the values of two encoders of one configuration. */
static double distance(struct encoder *a, struct encoder *b) {
    return encoder_difference(a->params.total,
                              encoder_download(a, a->params.total, a->params.value),
                              encoder_download(b, b->params.total, b->params.value));
}

static struct encoder *blank_rig(size_t outputs) {
    struct nvdp_bert_config config = encoder_config();
    return encoder_create(&config, outputs, false, false);
}

Test(checkpoint, save_and_load_bitwise) {
    struct encoder *encoder = small_rig(3), *back = blank_rig(3);
    char notices[NOTICES] = "";
    nvdp_context_set_log(back->ctx, keep_notice, notices);
    ok(nvdp__checkpoint_save(&encoder->dev, support_scratch(), &encoder->params));
    ok(nvdp__checkpoint_load(&back->dev, support_scratch(), &back->params));
    float *a = encoder_download(encoder, encoder->params.total, encoder->params.value);
    float *b = encoder_download(back, back->params.total, back->params.value);
    cr_expect_arr_eq(a, b, encoder->params.total * sizeof *a);
    cr_expect_str_empty(notices);
}

Test(checkpoint, types_and_older_names) {
    static const struct {
        enum nvdp__dtype dtype;
        double tolerance; /* values reach 2.2; half a unit in the last place */
    } cases[] = {{NVDP__DTYPE_F64, 0},
                 {NVDP__DTYPE_F32, 0},
                 {NVDP__DTYPE_F16, 0x1p-10},
                 {NVDP__DTYPE_BF16, 0x1p-7}};
    struct encoder *encoder = small_rig(3);
    const char *path = support_scratch_path("model.safetensors");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct encoder *back = blank_rig(3);
        write_as(encoder, path, cases[i].dtype, older_bare_name, NULL);
        ok(nvdp__checkpoint_load_file(&back->dev, path, &back->params));
        cr_expect_leq(distance(encoder, back), cases[i].tolerance);
    }
}

Test(checkpoint, missing_heads_are_noticed_and_unknown_tensors_listed) {
    struct encoder *encoder = small_rig(0);
    const char *path = support_scratch_path("model.safetensors");
    write_as(encoder, path, NVDP__DTYPE_F32, same_name, "bert.pooler.dense.bias");
    struct encoder *with_head = blank_rig(3);
    char notices[NOTICES] = "";
    nvdp_context_set_log(with_head->ctx, keep_notice, notices);
    nvdp__params_fill(&with_head->dev, &with_head->params, with_head->classifier.bias, 4);
    ok(nvdp__checkpoint_load_file(&with_head->dev, path, &with_head->params));
    support_contains(notices, "3 tensors missing, initialized: bert.pooler.dense.bias, "
                              "classifier.weight, classifier.bias\n");
    float *bias =
        encoder_download(with_head, 3, nvdp__value(&with_head->params, with_head->classifier.bias));
    cr_expect_eq(bias[0], 4, "the initial value was lost");

    struct encoder *larger = small_rig(3);
    write_as(larger, path, NVDP__DTYPE_F32, same_name, NULL);
    struct encoder *plain = blank_rig(0);
    notices[0] = '\0';
    nvdp_context_set_log(plain->ctx, keep_notice, notices);
    ok(nvdp__checkpoint_load_file(&plain->dev, path, &plain->params));
    support_contains(notices, "2 tensors not used: classifier.");
    support_lacks(notices, "more layers");
    struct nvdp_bert_config shallow = encoder_config();
    shallow.num_hidden_layers = 1;
    plain = encoder_create(&shallow, 3, false, false);
    notices[0] = '\0';
    nvdp_context_set_log(plain->ctx, keep_notice, notices);
    ok(nvdp__checkpoint_load_file(&plain->dev, path, &plain->params));
    support_contains(notices, "'bert.encoder.layer.1.attention.self.query.weight': the file has "
                              "more layers than config.json states");
}

static const char *positions_name(const char *name, char *room) {
    (void)room;
    if (strcmp(name, "classifier.weight") == 0) return "embeddings.position_ids";
    return strcmp(name, "classifier.bias") == 0 ? "bert.embeddings.position_ids" : name;
}

/* Older files have this buffer, which is not a parameter: no notice. */
Test(checkpoint, position_ids_are_passed_over_in_silence) {
    struct encoder *larger = small_rig(3), *plain = blank_rig(0);
    const char *path = support_scratch_path("model.safetensors");
    char notices[NOTICES] = "";
    write_as(larger, path, NVDP__DTYPE_F32, positions_name, NULL);
    nvdp_context_set_log(plain->ctx, keep_notice, notices);
    ok(nvdp__checkpoint_load_file(&plain->dev, path, &plain->params));
    cr_expect_str_eq(notices, "");
}

Test(checkpoint, a_long_list_is_counted_by_part) {
    struct encoder *encoder = small_rig(0);
    const char *path = support_scratch_path("model.safetensors");
    nvdp__auto(nvdp__params_release) struct nvdp__params none;
    nvdp__params_init(&none, encoder->ctx);
    ok(nvdp__params_allocate(&none, false));
    write_as(encoder, path, NVDP__DTYPE_F32, same_name, NULL);
    char notices[NOTICES] = "";
    nvdp_context_set_log(encoder->ctx, keep_notice, notices);
    ok(nvdp__checkpoint_load_file(&encoder->dev, path, &none));
    support_contains(notices, "39 tensors not used: bert.embeddings.* (5), "
                              "bert.encoder.* (32), bert.pooler.* (2)\n");
}

static void expect_refused(struct encoder *encoder, const char *path, const char *part) {
    cr_expect_eq(nvdp__checkpoint_load_file(&encoder->dev, path, &encoder->params), NVDP_ERR_INPUT);
    support_contains(nvdp_context_error(encoder->ctx), part, path);
}

Test(checkpoint, missing_misshapen_and_infinite_tensors_are_refused) {
    struct encoder *encoder = small_rig(3), *back = blank_rig(3);
    const char *path = support_scratch_path("model.safetensors");
    write_as(encoder, path, NVDP__DTYPE_F32, same_name, "bert.encoder.layer.1.output.dense.weight");
    expect_refused(back, path,
                   "tensor 'bert.encoder.layer.1.output.dense.weight': expected shape [12, 20], "
                   "found none");
    write_as(encoder, path, NVDP__DTYPE_F32, wrapped_name, NULL);
    expect_refused(back, path,
                   "found none of this name, but 'module.bert.embeddings.word_embeddings.weight'; "
                   "rename the tensors");
    struct encoder *four = blank_rig(4); /* other heads are replaced, unless nothing is optional */
    char notices[NOTICES] = "";
    write_as(encoder, path, NVDP__DTYPE_F32, same_name, NULL);
    nvdp_context_set_log(four->ctx, keep_notice, notices);
    ok(nvdp__checkpoint_load_file(&four->dev, path, &four->params));
    support_contains(notices, "tensor 'classifier.weight': expected shape [4, 12], found [3, 12]; "
                              "initialized\n");
    four->params.entry[four->classifier.weight].flags &= ~(unsigned)NVDP__PARAM_OPTIONAL;
    expect_refused(four, path, "tensor 'classifier.weight': expected shape [4, 12], found [3, 12]");
    four->params.entry[four->bert.pooler.weight].shape[0] = 13;
    expect_refused(four, path, "tensor 'bert.pooler.dense.weight': expected shape [13, 12], found");
    float bad[3] = {1, NAN, 2};
    nvdp__upload(&encoder->dev, 3, bad, nvdp__value(&encoder->params, encoder->classifier.bias));
    write_as(encoder, path, NVDP__DTYPE_BF16, same_name, NULL);
    expect_refused(back, path,
                   "tensor 'classifier.bias': expected finite numbers, found nan at "
                   "element 1");
    bad[1] = -INFINITY;
    nvdp__upload(&encoder->dev, 3, bad, nvdp__value(&encoder->params, encoder->classifier.bias));
    write_as(encoder, path, NVDP__DTYPE_F32, same_name, NULL);
    expect_refused(back, path, "found -inf");
}

Test(checkpoint, integer_weights_are_refused) {
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    size_t index;
    nvdp__params_init(&params, ctx);
    ok(nvdp__params_add(&params, "w", 1, 2, 1, 0, &index));
    ok(nvdp__params_allocate(&params, false));
    const char *path = support_scratch_path("integers.safetensors");
    int64_t data[2] = {1, 2};
    struct nvdp__tensor_source source = {"w", NVDP__DTYPE_I64, 1, {2}, data};
    ok(nvdp__safetensors_write(ctx, path, 1, &source, NULL));
    fails(nvdp__checkpoint_load_file(&dev, path, &params), NVDP_ERR_INPUT, "found I64");
}

Test(checkpoint, other_forms_of_weights_are_named) {
    struct encoder *encoder = blank_rig(0);
    fails(nvdp__checkpoint_load(&encoder->dev, support_scratch(), &encoder->params), NVDP_ERR_INPUT,
          "expected model.safetensors");
    support_file("pytorch_model.bin", "x");
    fails(nvdp__checkpoint_load(&encoder->dev, support_scratch(), &encoder->params), NVDP_ERR_INPUT,
          "pytorch_model.bin: expected a zip archive");
    support_contains(nvdp_context_error(encoder->ctx), "found a file of 1");
}

Test(checkpoint, out_of_memory) {
    struct encoder *encoder = small_rig(3);
    uint64_t k = support_fail_first(encoder->ctx);
    while (
        support_failed(encoder->ctx, &k,
                       nvdp__checkpoint_save(&encoder->dev, support_scratch(), &encoder->params)))
        cr_assert_lt(k, 100);
    k = support_fail_first(encoder->ctx);
    while (
        support_failed(encoder->ctx, &k,
                       nvdp__checkpoint_load(&encoder->dev, support_scratch(), &encoder->params)))
        cr_assert_lt(k, 100);
}

/* A published model in F16 lacks a classifier and has the pre-training heads. */
Test(checkpoint, mini) {
    const char *directory = support_shared("data/bert/mini");
    support_shared("data/bert/mini/model.safetensors");
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_read(ctx, directory, &config));
    struct encoder *encoder = encoder_create(&config, 2, false, false);
    char notices[NOTICES] = "";
    nvdp_context_set_log(encoder->ctx, keep_notice, notices);
    encoder->bert.row->initialize(&encoder->bert, &encoder->dev, &encoder->params, 1);
    ok(nvdp__checkpoint_load(&encoder->dev, directory, &encoder->params));
    support_contains(notices,
                     "2 tensors missing, initialized: classifier.weight, "
                     "classifier.bias",
                     "7 tensors not used: cls.* (7)\n");
    size_t lengths[] = {128, 3, 40};
    struct nvdp__batch *batch = encoder_batch(encoder, 3, lengths, 4);
    encoder_plan(encoder, 3, 128);
    cr_expect(isfinite(encoder_forward(encoder, batch)));
    float *last = encoder_last(encoder, batch);
    for (size_t i = 0; i < batch->tokens * config.hidden_size; i++)
        cr_assert(isfinite(last[i]), "element %zu", i);
}

static nvdp_status create(const char *vocabulary, const char *directory, uint64_t seed) {
    struct nvdp_bert_config config = encoder_config();
    config.vocab_size = 6;
    return nvdp_bert_create_random(ctx, &config, seed, vocabulary, directory);
}

Test(create, a_random_directory_is_complete_and_repeatable) {
    const char *vocabulary = support_file("words", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword");
    const char *one = support_scratch_path("a/new/place");
    ok(create(vocabulary, one, 1));
    ok(create(NULL, support_scratch_path("two"), 1));
    ok(create(NULL, support_scratch_path("three"), 2));
    char hash[3][65];
    const char *const place[] = {"a/new/place/model.safetensors", "two/model.safetensors",
                                 "three/model.safetensors"};
    for (int i = 0; i < 3; i++)
        ok(nvdp__file_sha256(ctx, support_scratch_path(place[i]), hash[i]));
    cr_expect_str_eq(hash[0], hash[1]);
    cr_expect_str_neq(hash[0], hash[2]);
    cr_expect_str_eq(support_read(support_scratch_path("a/new/place/vocab.txt")),
                     "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword");
    cr_expect_not(nvdp__exists(support_scratch_path("two/vocab.txt")));
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_read(ctx, one, &config));
    struct encoder *encoder = encoder_create(&config, 0, false, false);
    ok(nvdp__checkpoint_load(&encoder->dev, one, &encoder->params));
}

Test(create, refusals) {
    const char *words = support_file("words", "one\ntwo\n");
    fails(create(NULL, support_scratch(), 1), NVDP_ERR_ARGUMENT, "empty directory");
    cr_expect_eq(create(NULL, words, 1), NVDP_ERR_ARGUMENT, "a file in the way");
    fails(create(words, support_scratch_path("new"), 1), NVDP_ERR_INPUT,
          "expected 6 lines, found 2");
    cr_expect_eq(create(support_scratch_path("none"), support_scratch_path("new"), 1), NVDP_ERR_IO);
    cr_expect_not(nvdp__exists(support_scratch_path("new")));
}

Test(create, out_of_memory) {
    uint64_t k = support_fail_first(ctx);
    while (support_failed(ctx, &k,
                          create(NULL, support_scratch_path(support_path("try%d", (int)k)), 1)))
        cr_assert_lt(k, 1000);
}
