/* Tests the descriptions of everything that the program reads and writes. */
#include "encoder/checkpoint.h"
#include "fixture.h"

#include "test_context.h"

static char *describe(const char *path, enum nvdp_description how) {
    char *text = NULL;
    ok(nvdp_describe(ctx, path, how, &text));
    return support_keep(text);
}

static json_t *object_of(const char *path) {
    return support_parsed(describe(path, NVDP_DESCRIPTION_JSON));
}

static const char *kind_of(const json_t *object) {
    return text_at(object, "kind");
}

static void contains(const char *path, const char *part) {
    support_contains(describe(path, NVDP_DESCRIPTION_ALL), part);
}

Test(describe, embeddings) {
    struct made_embeddings file = made_embeddings_default();
    const char *path = made_embeddings(ctx, "shared.h5", &file);
    json_t *object = object_of(path);
    cr_assert_str_eq(kind_of(object), "embeddings/1");
    const json_t *z = support_at(object, "datasets/2");
    cr_assert_str_eq(text_at(z, "name"), "z");
    cr_assert_str_eq(text_at(z, "type"), "f16");
    cr_assert_eq(integer_at(z, "shape/0"), 300);
    cr_assert_str_eq(text_at(object, "attributes/grid"), "float16");
    cr_expect(json_is_integer(support_at(object, "attributes/kappa"))); /* numbers stay numbers */
    contains(path, "[300, 1, 4, 4]");
    contains(path, "length_policy");
}

Test(describe, in_few_lines) {
    const char *path = support_scratch_path("run");
    const char *options = "\"method\": \"nvdp\"", *file = support_path("%s/run.json", path);
    for (int k = 0; k < 40; k++)
        options = support_path("%s, \"option_%d\": %d", options, k, k);
    mkdir(path, 0777);
    support_write_text(file, support_path("{\"config\": {%s}}", options));
    const char *text = describe(path, NVDP_DESCRIPTION_BRIEF);
    support_contains(text, "config.method              nvdp\n");
    support_lacks(text, "option_0");
    support_contains(text, "(45 lines with --all)\n");
    contains(path, "option_39");
    support_write_text(file, "{\"config\": {\"option_0\": 7}}");
    support_contains(describe(path, NVDP_DESCRIPTION_BRIEF),
                     "option_0"); /* little is told as a whole */
}

/* Describes a run with every fact there can be: private training, a bound, all measurements. */
Test(describe, all_first_facts_are_few) {
    static const char *const files[][2] = {
        {"run.json", "{'created': 'now', 'config': {'task': 'sst2', 'model': 'm', 'preset': 'p', "
                     "'method': 'nvdp', 'lambda_g': 1, 'seed': 1, 'nvib': {'clip_sequence': 1}}}"},
        {"result.json", "{'test': {'n': 9, 'draws': 5, 'metrics': {'accuracy': {'mean': 0.5}}, "
                        "'majority': 0.5}, 'dp': {'delta': 0.00268812, 'pld': {'epsilon': 8.5}, "
                        "'insecure_seed': false}, 'certified': {'epsilon': 2, 'delta': 1e-5}}"},
        {"privacy.json", "{'linkage': {'sentence': 'Someone'}, 'scope': 'these', 'n': 9, 'order': "
                         "1.5, 'infinite_share': 0.25, 'exact': {'worst': 3, 'delta': 1e-5, "
                         "'releases': 2, 'mean': 1}, 'rd': {'sum': {'max': 'inf', 'mean': 4}}, "
                         "'bdp': {'best': {'epsilon': 7}, 'delta': 1e-5}}"}};
    static const char *const lines[] = {
        "  result.dp                  pld.epsilon 8.5, delta 0.002689, insecure_seed no\n",
        "  privacy.exact              worst 3, delta 1e-05, releases 2\n",
        "  privacy.rd.sum             max inf, mean 4\n",
        "  privacy.bdp                best.epsilon 7, delta 1e-05\n"};
    const char *run = support_scratch_path("run");
    size_t count = 0;
    mkdir(run, 0777);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        support_write_text(support_path("%s/%s", run, files[i][0]), support_quoted(files[i][1]));
    char *text = describe(run, NVDP_DESCRIPTION_BRIEF);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        support_contains(text, lines[i]);
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        count++;
    cr_expect_leq(count, 25, "%s", text);
}

Test(describe, hdf5_of_no_known_kind) {
    struct nvdp__h5 *file = NULL;
    const char *path = support_scratch_path("other.h5");
    ok(nvdp__h5_create(ctx, path, "ours/7", &file));
    ok(nvdp__h5_set_string(file, "note", "up\x1b[31m\tred \xc2\x9b \xff \xc3\xa9"));
    ok(nvdp__h5_set_string(file, "digits", "12"));
    ok(nvdp__h5_set_real(file, "mu", .1));
    ok(nvdp__h5_set_real(file, "far", INFINITY));
    ok(nvdp__h5_set_real(file, "replaced_epsilon", 27.0811));
    ok(nvdp__h5_set_real(file, "first_bound", .123411));
    ok(nvdp__h5_set_int(file, "count", -3));
    ok(nvdp__h5_commit(file, true));
    nvdp__h5_free(file);
    json_t *object = object_of(path);
    cr_assert_str_eq(kind_of(object), "ours/7");
    const json_t *attributes = json_object_get(object, "attributes");
    cr_expect_str_eq(text_at(attributes, "digits"), "12");
    cr_expect(json_is_real(json_object_get(attributes, "mu")) && number_at(attributes, "mu") == .1);
    cr_expect_str_eq(text_at(attributes, "far"), "inf");
    cr_expect(json_is_integer(json_object_get(attributes, "count")) &&
              integer_at(attributes, "count") == -3);
    /* nothing that controls a terminal */
    contains(path, "up\\u001b[31m\\u0009red \\u009b \\xff \xc3\xa9");
    contains(path, "replaced_epsilon         27.09\n"); /* bounds are rounded up */
    contains(path, "first_bound              0.1235\n");
}

Test(describe, safetensors) {
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    const struct nvdp__tensor_source tensors[] = {
        {.name = "a.weight", .dtype = NVDP__DTYPE_BF16, .rank = 2, .shape = {2, 3}, .data = data},
        {.name = "b", .dtype = NVDP__DTYPE_F32, .rank = 0, .data = data}};
    const char *path = support_scratch_path("weights.bin"); /* the bytes decide, not the name */
    ok(nvdp__safetensors_write(ctx, path, 2, tensors, NULL));
    json_t *object = object_of(path);
    cr_assert_str_eq(kind_of(object), "safetensors");
    cr_assert_eq(integer_at(object, "elements"), 7);
    contains(path, "[2, 3]");
}

Test(describe, vocabulary) {
    const char *path = support_scratch_path("vocab.txt");
    support_write_text(path, "[PAD]\r\n[UNK]\r\nword\r\n##s\r\n");
    json_t *object = object_of(path);
    cr_assert_str_eq(kind_of(object), "vocabulary");
    cr_assert_eq(integer_at(object, "pieces"), 4);
    cr_assert_eq(integer_at(object, "continuations"), 1);
    contains(path, "pieces");
}

Test(describe, runs_models_and_readers) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_NVDP, .policy = NVDP_LENGTH_HIDDEN, .kappa = 1, .epochs = 1};
    const char *run = task_run(ctx, "run", &choice, NULL);
    json_t *object = object_of(run);
    cr_assert_str_eq(kind_of(object), "run directory");
    cr_assert(json_is_true(json_object_get(object, "finished")));
    cr_assert_eq(integer_at(object, "epochs_done"), 1);
    cr_assert(json_is_object(json_object_get(object, "config")));
    contains(run, "sst2");
    const char *path = support_path("%s/model", run);
    object = object_of(path);
    cr_assert_str_eq(kind_of(object), "model directory");
    cr_assert_eq(integer_at(object, "vocabulary"), 15);
    cr_assert_eq(strlen(text_at(object, "fingerprint")), 64);
    contains(path, "nvib");

    path = support_scratch_path("public");
    share_exported(ctx, "run", run, "out", support_scratch_path("shared.h5"), "split", "test",
                   "measure-texts", "0", "model-out", path, NULL);
    object = object_of(path);
    cr_assert_str_eq(kind_of(object), "reader/1");
}

static void write_in(const char *folder, const char *name, const char *text) {
    const char *path = support_path("%s/%s", folder, name);
    for (char *at = strchr(path + strlen(folder) + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
    support_write_text(path, text);
}

Test(describe, sweeps_folds_and_sanitized_texts) {
    const char *path = support_scratch_path("several");
    mkdir(path, 0777);
    write_in(path, "privacy.json", "{\"order\": 1.1}");
    char *nowhere = NULL;
    fails(nvdp_describe(ctx, path, NVDP_DESCRIPTION_BRIEF, &nowhere), NVDP_ERR_INPUT,
          "or sanitized texts (privacy.json), found none");
    cr_expect_null(nowhere);
    write_in(path, "privacy.json",
             "{\"nvdp_format\": \"sanitized/1\", \"mechanism\": \"santext\", \"eta\": 3}");
    json_t *object = object_of(path);
    cr_expect_str_eq(kind_of(object), "sanitized/1");
    cr_expect_str_eq(text_at(object, "mechanism"), "santext");
    write_in(path, "fold-1/run.json", "{}");
    write_in(path, "fold-1/result.json", "{}");
    write_in(path, "fold-2/run.json", "{}");
    object = object_of(path);
    cr_expect_str_eq(kind_of(object), "cross validation");
    cr_expect_eq(integer_at(object, "folds"), 2);
    cr_expect_eq(integer_at(object, "folds_finished"), 1);
    write_in(path, "grid.json", "{\"tasks\": [\"sst2\"]}");
    write_in(path, "runs/a/done.json", "{}");
    write_in(path, "runs/b/run.json", "{}");
    write_in(path, "failed/c.json", "{}");
    object = object_of(path);
    cr_expect_str_eq(kind_of(object), "sweep directory");
    cr_expect_eq(integer_at(object, "runs"), 2);
    cr_expect_eq(integer_at(object, "runs_done"), 1);
    cr_expect_eq(integer_at(object, "runs_failed"), 1);
    contains(path, "[sst2]");
}

/* A run without result.json, as left by a kill: no measurement of its model is shown. */
Test(describe, an_unfinished_run) {
    const char *path = support_scratch_path("killed");
    mkdir(path, 0777);
    write_in(path, "run.json", "{\"nvdp_format\": \"run/1\", \"config\": {\"method\": \"nvdp\"}}");
    write_in(path, "privacy.json", "{\"order\": 1.5}");
    json_t *object = object_of(path);
    support_contains(text_at(object, "unfinished"),
                     "no result.json; finish it with: nvdp train --resume ");
    cr_expect_null(json_object_get(object, "privacy"));
    write_in(path, "result.json", "{}");
    object = object_of(path);
    cr_expect_null(json_object_get(object, "unfinished"));
    cr_expect_not_null(json_object_get(object, "privacy"));
}

/* Describes keys without their digits. */
Test(describe, keys) {
    static const char *const keys[][2] = {{"nvdp-key/1 ed25519 secret ", "nvdp-key/1"},
                                          {"nvdp-key/1 ed25519 public ", "nvdp-key/1"},
                                          {"nvdp-ledger-key/1 ", "nvdp-ledger-key/1"}};
    for (size_t i = 0; i < 3; i++) {
        const char *path = support_scratch_path("key");
        support_write_text(path,
                           support_path("%s%s\n", keys[i][0], "0123456789abcdef0123456789abcdef"));
        char *described = describe(path, NVDP_DESCRIPTION_ALL);
        support_contains(described, keys[i][1], i == 1 ? "public" : "secret");
        support_lacks(described, "0123");
    }
}

/* The bound of a sequence clip is shown for the run and for its model. */
Test(describe, bound_of_a_sequence_clip) {
    static const struct run_choice choice = {
        .method = NVDP_METHOD_NVDP, .clip_sequence = 1.45, .epochs = 1};
    const char *run = task_run(ctx, "run", &choice, NULL);
    const char *path[2] = {run, support_path("%s/model", run)};
    for (int i = 0; i < 2; i++) {
        const json_t *object = object_of(path[i]);
        cr_expect_eq(number_at(object, "bound/nats"), nvdp_renyi_sequence_bound(1.1, 1.45));
        cr_expect_str_eq(text_at(object, "bound/of"), "one sample of any two texts, seen or not");
    }
}

/* A foreign configuration may contain lists of anything. */
Test(describe, lists_of_objects_in_a_configuration) {
    struct nvdp_bert_config config = nvdp__bert_config_default();
    config.hidden_size = config.intermediate_size = 8;
    config.num_hidden_layers = config.num_attention_heads = 1;
    config.vocab_size = 8;
    const char *directory = support_scratch_path("foreign");
    ok(nvdp_bert_create_random(ctx, &config, 1, NULL, directory));
    support_write_text(
        support_scratch_path("foreign/config.json"),
        support_quoted("{'model_type': 'bert', 'hidden_size': 8, 'num_hidden_layers': 1, "
                       "'num_attention_heads': 1, 'intermediate_size': 8, 'vocab_size': 8, "
                       "'max_position_embeddings': 512, 'list': [{'a': 1, 'b': [2]}, {}]}"));
    contains(directory, "[{a: 1, b: [2]}, {}]");
}

Test(describe, refuses_the_rest) {
    static const char *const texts[] = {"", "no vocabulary at all\n", "{\"a\": 1}\n", "[PAD]\n"};
    char *to = NULL;
    const char *path = support_scratch_path("what");
    cr_assert_eq(nvdp_describe(ctx, path, NVDP_DESCRIPTION_ALL, &to), NVDP_ERR_IO);
    cr_assert_eq(nvdp_describe(ctx, NULL, NVDP_DESCRIPTION_ALL, &to), NVDP_ERR_ARGUMENT);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        support_write_text(path, texts[i]);
        cr_assert_eq(nvdp_describe(ctx, path, NVDP_DESCRIPTION_JSON, &to), NVDP_ERR_INPUT, "%s",
                     texts[i]);
    }
    support_write(path, "\x89HDF\r\n\x1a\nbroken", 14);
    cr_assert_eq(nvdp_describe(ctx, path, NVDP_DESCRIPTION_JSON, &to), NVDP_ERR_INPUT);
    support_write(path, "\x05\0\0\0\0\0\0\0{\"a\":", 13);
    cr_assert_eq(nvdp_describe(ctx, path, NVDP_DESCRIPTION_JSON, &to), NVDP_ERR_INPUT);
    const char *directory = support_scratch_path("empty");
    mkdir(directory, 0777);
    fails(nvdp_describe(ctx, directory, NVDP_DESCRIPTION_JSON, &to), NVDP_ERR_INPUT, "run.json");
    cr_expect_null(to);
}
