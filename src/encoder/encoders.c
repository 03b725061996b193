/* The table of encoders, built from encoders.inc, and look-ups in this table. A test that adds rows compiles this
 * file with another list. */
#include "base/sentence.h"
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "encoder/row.h"

#include <string.h>

#ifndef ENCODERS
#define ENCODERS "encoder/encoders.inc"
#endif

#define ENCODER(name) extern const struct nvdp__encoder_row nvdp__encoder_##name;
#define ENCODER_OVER_WORDS(name, help, units) ENCODER(name)
#include ENCODERS
#undef ENCODER

#define ENCODER(name) &nvdp__encoder_##name,
const struct nvdp__encoder_row *const nvdp__encoders[] = {
#include ENCODERS
    NULL};
#undef ENCODER
#undef ENCODER_OVER_WORDS

#define ENCODER(name)
#define ENCODER_OVER_WORDS(name, help, units) #name,
const char *const nvdp__encoder_choices[] = {"bert",
#include ENCODERS
                                             NULL};

const struct nvdp__encoder_row *nvdp__encoder_row(enum nvdp_model_type type) {
    size_t rows = 0;
    while (nvdp__encoders[rows] != NULL)
        rows++;
    return (size_t)type < rows ? nvdp__encoders[type] : NULL;
}

const struct nvdp__encoder_row *nvdp__encoder_find(const char *model_type) {
    enum nvdp_model_type type;
    return nvdp__encoder_type(model_type, &type) ? nvdp__encoders[type] : NULL;
}

bool nvdp__encoder_type(const char *model_type, enum nvdp_model_type *out) {
    for (int i = 0; nvdp__encoders[i] != NULL; i++) {
        if (strcmp(nvdp__encoders[i]->names.type, model_type) != 0) continue;
        *out = (enum nvdp_model_type)i;
        return true;
    }
    return false;
}

const struct nvdp__encoder_row *nvdp__encoder_choice(int choice) {
    return choice == 0 ? NULL : nvdp__encoder_find(nvdp__encoder_choices[choice]);
}

const char *nvdp__encoder_list(char text[NVDP__ENCODER_LIST]) {
    struct nvdp__writer to = {text, NVDP__ENCODER_LIST, 0};
    for (size_t i = 0; nvdp__encoders[i] != NULL; i++)
        nvdp__append_item(&to, i, nvdp__encoders[i + 1] == NULL, nvdp__encoders[i]->names.type);
    return text;
}

const struct nvdp__names *nvdp__names(enum nvdp_model_type type) {
    return &nvdp__encoder_row(type)->names;
}

const char *nvdp__model_type_name(enum nvdp_model_type type) {
    return nvdp__names(type)->type;
}

const char *nvdp__words_name(const struct nvdp__names *names) {
    return names->words != NULL ? names->words : "embeddings.word_embeddings";
}

size_t nvdp__first_position(const struct nvdp_bert_config *config) {
    const bool after = nvdp__encoder_row(config->model_type)->position_after_pad;
    return after ? (size_t)config->pad_token_id + 1 : 0;
}

size_t nvdp__word_width(const struct nvdp_bert_config *config) {
    const struct nvdp__encoder_row *row = nvdp__encoder_row(config->model_type);
    return row->key[NVDP__KEY_EMBEDDING_SIZE] != NULL ? config->embedding_size
                                                      : config->hidden_size;
}

size_t nvdp__bert_parameter_count(const struct nvdp_bert_config *given) {
    struct nvdp_bert_config config;
    if (nvdp__bert_config_take(NULL, given, &config) != NVDP_OK) return 0;
    return nvdp__encoder_row(config.model_type)->parameter_count(&config);
}
