/* Reading and writing config.json. */
#include "encoder.h"

#include "test_context.h"

static const char minimal[] =
    "\"hidden_size\": 8, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
    "\"intermediate_size\": 16, \"vocab_size\": 10";

static const char *write_config(const char *members) {
    support_file("config.json", support_path("{%s}", members));
    return support_scratch();
}

/* Writes a configuration of the minimal members and these. */
static const char *write_with(const char *members) {
    return write_config(support_path("%s, %s", minimal, members));
}

Test(config, missing_members_take_defaults_and_unknown_ones_are_passed_over) {
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    const char *folder = write_with("\"use_cache\": [1, {}], \"layer_norm_eps\": null");
    ok(nvdp_bert_config_read(ctx, folder, &config));
    cr_expect_eq(config.hidden_size, 8);
    cr_expect_eq(config.vocab_size, 10);
    cr_expect_eq(config.max_position_embeddings, 512);
    cr_expect_eq(config.type_vocab_size, 2);
    cr_expect_eq(config.hidden_act, NVDP_ACTIVATION_GELU);
    cr_expect_eq(config.layer_norm_eps, 1e-12);
    cr_expect_eq(config.hidden_dropout_prob, 0.1);
}

#define MODERN "\"model_type\": \"modernbert\", \"pad_token_id\": 0, "

/* Both forms of transformers' members are read; what is written is read again. */
Test(config, modernbert) {
    static const char *const forms[] = {
        MODERN "\"global_rope_theta\": 1000.0, \"local_rope_theta\": 20, "
               "\"global_attn_every_n_layers\": 2, \"local_attention\": 6, \"mlp_bias\": true",
        MODERN "\"layer_types\": [\"full_attention\", \"sliding_attention\"], "
               "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 1000.0, \"rope_type\": "
               "\"default\"}, \"sliding_attention\": {\"rope_theta\": 20.0}}, \"local_attention\": "
               "6, \"mlp_bias\": true"};
    for (size_t i = 0; i < 2; i++) {
        struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
        ok(nvdp_bert_config_read(ctx, write_with(forms[i]), &config));
        for (int again = 0; again < 2; again++) {
            cr_expect_eq(config.model_type, NVDP_MODEL_MODERNBERT);
            cr_expect_eq(config.global_rope_theta, 1000);
            cr_expect_eq(config.local_rope_theta, 20);
            cr_expect_eq(config.global_attn_every_n_layers, 2);
            cr_expect_eq(config.local_attention, 6);
            cr_expect(config.mlp_bias && !config.norm_bias && !config.attention_bias);
            cr_expect_eq(config.hidden_dropout_prob, 0);
            cr_expect_eq(config.layer_norm_eps, 1e-5);
            cr_expect_eq(config.max_position_embeddings, 8192);
            ok(nvdp__bert_config_write(ctx, support_scratch(), &config, NULL, NULL));
            ok(nvdp_bert_config_read(ctx, support_scratch(), &config));
        }
    }
}

/* Members that replace or join the minimal ones, and the expected part of the message. */
static const struct {
    const char *member, *part;
} broken[] = {
    {"\"model_type\": \"luke\"",
     "'model_type': expected bert, distilbert, roberta, bilstm, mpnet, "
     "electra, xlm-roberta, modernbert, words, word-windows, static-embedding "
     "or model2vec, found 'luke'"},
    {"\"model_type\": \"roberta\", \"max_position_embeddings\": 2",
     "'max_position_embeddings': expected more than 2"},
    {"\"model_type\": 3", "'model_type'"},
    {"\"hidden_act\": \"mish\"", "quick_gelu, found 'mish'"},
    {"\"hidden_act\": \"gelu_10\"",
     "'hidden_act': expected gelu, gelu_new (also as gelu_pytorch_tanh, gelu_fast, gelu_accurate), "
     "relu, silu (swish) or quick_gelu, found 'gelu_10'"},
    {"\"position_embedding_type\": \"relative_key\"", "found 'relative_key'"},
    {"\"is_decoder\": true", "'is_decoder'"},
    {"\"add_cross_attention\": true", "'add_cross_attention'"},
    {"\"position_embedding_type\": \"alibi\"",
     "'position_embedding_type': expected absolute, found 'alibi' (positions that attention adds"},
    {"\"position_embedding_type\": 3", "'position_embedding_type'"},
    {"\"feed_forward_type\": \"geglu\"", "'feed_forward_type': expected original, found 'geglu'"},
    {"\"is_encoder_decoder\": true", "'is_encoder_decoder'"},
    {"\"is_decoder\": \"yes\"", "'is_decoder': expected false or nothing, found 'yes'"},
    {"\"pruned_heads\": {\"0\": [1]}", "'pruned_heads': expected false or nothing, found another"},
    {"\"quantization_config\": {\"load_in_8bit\": true}",
     "'quantization_config': expected false or nothing, found another value (save the model in"},
    {"\"auto_map\": {\"AutoConfig\": \"c.C\", \"AutoModelForMaskedLM\": \"m.M\"}",
     "'auto_map': expected no model of its own, found AutoModelForMaskedLM m.M"},
    {"\"max_position_embeddings\": 0", "'max_position_embeddings'"},
    {"\"max_position_embeddings\": 1.5", "'max_position_embeddings'"},
    {"\"type_vocab_size\": -2", "'type_vocab_size'"},
    {"\"layer_norm_eps\": 0", "'layer_norm_eps'"},
    {"\"layer_norm_eps\": \"small\"", "'layer_norm_eps'"},
    {"\"hidden_dropout_prob\": 1", "'hidden_dropout_prob'"},
    {"\"attention_probs_dropout_prob\": -0.1", "'attention_probs_dropout_prob'"},
    {"\"initializer_range\": \"nan\"", "'initializer_range'"},
    {"\"pad_token_id\": 10", "'pad_token_id'"},
    {"\"model_type\": \"mpnet\", \"pad_token_id\": 1, \"relative_attention_num_buckets\": 64",
     "'relative_attention_num_buckets': expected 32 with an MPNet, found 64"},
    {"\"model_type\": \"mpnet\", \"pad_token_id\": 0",
     "'pad_token_id': expected 1 with an MPNet, found 0"},
    {"\"model_type\": \"electra\", \"embedding_size\": 9",
     "'embedding_size': expected at most 'hidden_size' 8, found 9"},
    {"\"model_type\": \"electra\"", "'embedding_size'"},
    {MODERN "\"rope_scaling\": {\"factor\": 2}",
     "'rope_scaling': expected null with a ModernBERT, found {\"factor\":2}"},
    {MODERN "\"embedding_dropout\": 0.1", "'embedding_dropout': expected 0"},
    {MODERN "\"classifier_pooling\": \"max\"",
     "'classifier_pooling': expected cls or mean, found 'max'"},
    {MODERN "\"classifier_activation\": \"silu\"",
     "'classifier_activation': expected \"gelu\" with a ModernBERT, found \"silu\""},
    {MODERN "\"hidden_activation\": \"quick\"", "'hidden_activation'"},
    {MODERN "\"layer_types\": [\"full_attention\", \"mamba\"]",
     "'layer_types': expected full_attention in layers 0, n, 2n, ... and sliding_attention in the "
     "others, found mamba in layer 1"},
    {MODERN "\"layer_types\": [3]", "found no text in layer 0"},
    {MODERN "\"rope_parameters\": {\"sliding_attention\": {\"rope_type\": \"yarn\"}}",
     "'rope_parameters.sliding_attention.rope_type': expected default, found 'yarn'"},
    {MODERN "\"local_attention\": 0", "'local_attention'"},
    {MODERN "\"norm_bias\": 1", "'norm_bias'"},
    {MODERN "\"global_rope_theta\": 0.5", "'global_rope_theta'"},
    {"\"hidden_size\": 8", "duplicate"},
};

Test(config, broken_members_are_refused) {
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        fails(nvdp_bert_config_read(ctx, write_with(broken[i].member), &config), NVDP_ERR_INPUT,
              broken[i].part);
        support_contains(nvdp_context_error(ctx), "config.json");
    }
    cr_expect_eq(config.hidden_size, 0, "the result was touched on failure");
}

Test(config, layer_types_name_every_layer) {
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    const char *folder = write_config(
        MODERN "\"hidden_size\": 8, \"num_hidden_layers\": 3, \"num_attention_heads\": 2, "
               "\"intermediate_size\": 16, \"vocab_size\": 10, \"layer_types\": "
               "[\"full_attention\", \"sliding_attention\"]");
    fails(nvdp_bert_config_read(ctx, folder, &config), NVDP_ERR_INPUT,
          "config.json: 'layer_types': expected one for each of 3 layers, found 2");
}

/* transformers writes these, and they do not change the states of an encoder. */
Test(config, members_without_effect_are_accepted) {
    static const char *const members[] = {
        "\"chunk_size_feed_forward\": 2, \"use_cache\": true, \"tie_word_embeddings\": false",
        "\"pruned_heads\": {}, \"is_decoder\": false, \"add_cross_attention\": null",
        "\"classifier_dropout\": 0.3, \"problem_type\": \"multi_label_classification\"",
        "\"dtype\": \"float16\", \"torch_dtype\": \"bfloat16\", \"gradient_checkpointing\": true",
        "\"output_hidden_states\": true, \"return_dict\": false, \"_name_or_path\": \"x\"",
        "\"position_embedding_type\": \"absolute\", \"quantization_config\": null",
        "\"auto_map\": {\"AutoTokenizer\": [null, \"t.T\"]}, \"sinusoidal_pos_embds\": true"};
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        ok(nvdp_bert_config_read(ctx, write_with(members[i]), &config));
}

Test(config, activations_have_the_names_of_transformers) {
    static const struct {
        const char *name;
        enum nvdp_activation act;
    } cases[] = {{"gelu", NVDP_ACTIVATION_GELU},
                 {"gelu_python", NVDP_ACTIVATION_GELU},
                 {"gelu_new", NVDP_ACTIVATION_GELU_NEW},
                 {"gelu_pytorch_tanh", NVDP_ACTIVATION_GELU_NEW},
                 {"gelu_python_tanh", NVDP_ACTIVATION_GELU_NEW},
                 {"gelu_fast", NVDP_ACTIVATION_GELU_NEW},
                 {"gelu_accurate", NVDP_ACTIVATION_GELU_NEW},
                 {"relu", NVDP_ACTIVATION_RELU},
                 {"silu", NVDP_ACTIVATION_SILU},
                 {"swish", NVDP_ACTIVATION_SILU},
                 {"quick_gelu", NVDP_ACTIVATION_QUICK_GELU}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
        const char *act = support_path("\"hidden_act\": \"%s\"", cases[i].name);
        ok(nvdp_bert_config_read(ctx, write_with(act), &config));
        cr_expect_eq(config.hidden_act, cases[i].act, "%s", cases[i].name);
    }
}

Test(config, required_members) {
    static const char *const names[] = {"hidden_size", "num_hidden_layers", "num_attention_heads",
                                        "intermediate_size", "vocab_size"};
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char members[sizeof minimal];
        memcpy(members, minimal, sizeof minimal);
        *strstr(members, names[i]) = 'X';
        fails(nvdp_bert_config_read(ctx, write_config(members), &config), NVDP_ERR_INPUT, names[i]);
    }
    cr_expect_eq(nvdp_bert_config_read(ctx, support_scratch_path("nowhere"), &config), NVDP_ERR_IO);
}

Test(config, heads_divide_the_hidden_size) {
    struct nvdp_bert_config config = nvdp__bert_config_default();
    ok(nvdp__bert_config_check(ctx, &config));
    config.num_attention_heads = 7;
    fails(nvdp__bert_config_check(ctx, &config), NVDP_ERR_ARGUMENT, "768");
    support_contains(nvdp_context_error(ctx), "7");
    config = nvdp__bert_config_default();
    config.hidden_act = (enum nvdp_activation)7;
    cr_expect_eq(nvdp__bert_config_check(ctx, &config), NVDP_ERR_ARGUMENT);
    config = nvdp__bert_config_default();
    config.vocab_size = SIZE_MAX;
    cr_expect_eq(nvdp__bert_config_check(ctx, &config), NVDP_ERR_ARGUMENT);
}

/* The struct of a program of an older header ends before global_rope_theta. The library does not touch the memory
 * behind it and takes the defaults of the missing members. */
Test(config, a_shorter_struct_keeps_its_size) {
    struct nvdp_bert_config config, before;
    memset(&config, 0x77, sizeof config);
    config.struct_size = offsetof(struct nvdp_bert_config, global_rope_theta);
    before = config;
    const size_t size = config.struct_size;
    ok(nvdp_bert_config_default(ctx, &config));
    cr_expect_eq(config.struct_size, size);
    cr_expect_eq(config.num_hidden_layers, 12);
    cr_expect_arr_eq((char *)&config + size, (char *)&before + size, sizeof config - size);
    ok(nvdp_bert_config_find(ctx, "tiny", &config));
    ok(nvdp_bert_config_read(ctx, write_config(minimal), &config));
    cr_expect_eq(config.hidden_size, 8);
    cr_expect_arr_eq((char *)&config + size, (char *)&before + size, sizeof config - size);
    ok(nvdp__bert_check_vocabulary(ctx, "DIR", &config, 10));
    config.model_type = NVDP_MODEL_MODERNBERT;
    ok(nvdp__bert_config_check(ctx, &config));
    cr_expect_gt(nvdp__bert_parameter_count(&config), 0);
    config.struct_size = 0;
    fails(nvdp_bert_config_default(ctx, &config), NVDP_ERR_ARGUMENT,
          "struct_size: expected the size of a struct, as set by NVDP_RESULT, found 0");
    cr_expect_eq(nvdp_bert_config_find(ctx, "tiny", &config), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_bert_config_read(ctx, support_scratch(), &config), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp__bert_config_check(ctx, &config), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp__bert_check_vocabulary(ctx, "DIR", &config, 10), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_bert_create_random(ctx, &config, 1, NULL, support_scratch_path("new")),
                 NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp__bert_parameter_count(&config), 0);
}

Test(config, roundtrip) {
    struct nvdp_bert_config config = {.struct_size = sizeof config,
                                      .hidden_size = 12,
                                      .num_hidden_layers = 3,
                                      .num_attention_heads = 4,
                                      .intermediate_size = 5,
                                      .vocab_size = 6,
                                      .max_position_embeddings = 7,
                                      .type_vocab_size = 8,
                                      .layer_norm_eps = 1e-5,
                                      .hidden_act = NVDP_ACTIVATION_GELU_NEW,
                                      .hidden_dropout_prob = 0.1 + 1e-17,
                                      .attention_probs_dropout_prob = 1.0 / 3,
                                      .initializer_range = 0.07,
                                      .pad_token_id = 5};
    nvdp__autoptr(json_decref) json_t *extra = json_pack("{s:{s:i}}", "nvdp", "format", 1);
    ok(nvdp__bert_config_write(ctx, support_scratch(), &config, "BertModel", extra));
    struct nvdp_bert_config back = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_read(ctx, support_scratch(), &back));
    cr_expect_eq(back.hidden_size, config.hidden_size);
    cr_expect_eq(back.num_hidden_layers, config.num_hidden_layers);
    cr_expect_eq(back.num_attention_heads, config.num_attention_heads);
    cr_expect_eq(back.intermediate_size, config.intermediate_size);
    cr_expect_eq(back.vocab_size, config.vocab_size);
    cr_expect_eq(back.max_position_embeddings, config.max_position_embeddings);
    cr_expect_eq(back.type_vocab_size, config.type_vocab_size);
    cr_expect_eq(back.layer_norm_eps, config.layer_norm_eps);
    cr_expect_eq(back.hidden_dropout_prob, config.hidden_dropout_prob);
    cr_expect_eq(back.attention_probs_dropout_prob, config.attention_probs_dropout_prob);
    cr_expect_eq(back.initializer_range, config.initializer_range);
    cr_expect_eq(back.hidden_act, NVDP_ACTIVATION_GELU_NEW);
    cr_expect_eq(back.pad_token_id, 5);
    support_contains(support_read(support_scratch_path("config.json")), "\"nvdp\"",
                     "\"BertModel\"");
}

Test(config, published_ones_are_read) {
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_read(ctx, support_shared("data/bert/bert-base-uncased"), &config));
    cr_expect_eq(config.hidden_size, 768);
    cr_expect_eq(config.num_hidden_layers, 12);
    ok(nvdp_bert_config_read(ctx, support_shared("data/bert/bert-tiny"), &config));
    cr_expect_eq(config.hidden_size, 128);
}

Test(config, vocabulary_of_another_size) {
    struct nvdp_bert_config config = nvdp__bert_config_default();
    ok(nvdp__bert_check_vocabulary(ctx, "DIR", &config, 30522));
    for (size_t size = 30521; size <= 30523; size += 2) {
        fails(nvdp__bert_check_vocabulary(ctx, "DIR", &config, size), NVDP_ERR_INPUT,
              support_path("%zu", size));
        support_contains(nvdp_context_error(ctx), "30522", "DIR");
    }
}
