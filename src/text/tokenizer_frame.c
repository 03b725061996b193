/* The special tokens around a text (tokenizer_maker.h): 'post_processor' of tokenizer.json. */
#include "text/tokenizer_maker.h"

#include <string.h>

/* The single id of a special token of a template; -1: there is none. */
static int64_t id_of_template(const json_t *processor, const char *name) {
    const json_t *ids =
        json_object_get(json_object_get(json_object_get(processor, "special_tokens"), name), "ids");
    return json_array_size(ids) == 1 ? json_integer_value(json_array_get(ids, 0)) : -1;
}

/* One part of a template: the id of a special token, or -2 for text A and -3 for text B. */
static int64_t part_of_template(const json_t *processor, const json_t *template, size_t i,
                                int64_t *type) {
    const json_t *entry = json_array_get(template, i);
    const json_t *special = json_object_get(entry, "SpecialToken");
    const json_t *one = special != NULL ? special : json_object_get(entry, "Sequence");
    const char *name = json_string_value(json_object_get(one, "id"));
    *type = json_integer_value(json_object_get(one, "type_id"));
    if (name == NULL) return -1;
    if (special != NULL) return id_of_template(processor, name);
    return strcmp(name, "A") == 0 ? -2 : strcmp(name, "B") == 0 ? -3 : -1;
}

/* Reads [CLS] A [SEP] and [CLS] A [SEP] (once or twice) B [SEP]. Returns false for other ones. */
static bool read_template(const json_t *processor, struct nvdp_tokenizer *made) {
    const json_t *single = json_object_get(processor, "single");
    const json_t *pair = json_object_get(processor, "pair");
    const size_t parts = json_array_size(pair);
    int64_t type, second_type = 0, id[6];
    const int64_t cls = part_of_template(processor, single, 0, &type);
    const int64_t sep = part_of_template(processor, single, 2, &type);
    if (json_array_size(single) != 3 || cls < 0 || sep < 0 || (parts != 5 && parts != 6) ||
        part_of_template(processor, single, 1, &type) != -2)
        return false;
    for (size_t i = 0; i < 3; i++) {
        part_of_template(processor, single, i, &type);
        if (type != 0) return false;
    }
    for (size_t i = 0; i < parts; i++) {
        id[i] = part_of_template(processor, pair, i, &type);
        const bool second = i + 2 >= parts;
        if (second && i + 2 == parts) second_type = type;
        if (type != (second ? second_type : 0)) return false;
    }
    if (id[0] != cls || id[1] != -2 || id[2] != sep || (parts == 6 && id[3] != sep) ||
        id[parts - 2] != -3 || id[parts - 1] != sep || second_type > 1)
        return false;
    made->special[NVDP_TOKEN_CLS] = (int32_t)cls;
    made->special[NVDP_TOKEN_SEP] = (int32_t)sep;
    made->separators = parts - 4;
    made->types = second_type == 1;
    return true;
}

nvdp_status nvdp__read_frame(struct nvdp__maker *m) {
    const json_t *whole = json_object_get(nvdp__root_of(m, NVDP__FILE_TOKENIZER), "post_processor");
    const json_t *processor = whole, *list = json_object_get(whole, "processors"), *one;
    struct nvdp_tokenizer *made = m->made;
    bool read = false;
    size_t i, used = 0;
    json_array_foreach(list, i, one) { /* ByteLevel has no effect on ids */
        const char *type = json_string_value(json_object_get(one, "type"));
        if (type == NULL || strcmp(type, "ByteLevel") == 0) continue;
        processor = one;
        used++;
    }
    const char *type = json_string_value(json_object_get(processor, "type"));
    if (type != NULL && used <= 1 && strcmp(type, "TemplateProcessing") == 0) {
        read = read_template(processor, made);
    } else if (type != NULL && used <= 1 &&
               (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0)) {
        const json_t *cls = json_array_get(json_object_get(processor, "cls"), 1);
        const json_t *sep = json_array_get(json_object_get(processor, "sep"), 1);
        read = json_is_integer(cls) && json_is_integer(sep);
        made->special[NVDP_TOKEN_CLS] = (int32_t)json_integer_value(cls);
        made->special[NVDP_TOKEN_SEP] = (int32_t)json_integer_value(sep);
        made->types = type[0] == 'B';
        made->separators = made->types ? 1 : 2;
    }
    for (int s = NVDP_TOKEN_CLS; read && s <= NVDP_TOKEN_SEP; s++)
        read = nvdp_tokenizer_piece(made, made->special[s]) != NULL;
    if (read) return NVDP_OK;
    return nvdp__refuse(
        m, NVDP__FILE_TOKENIZER, "post_processor",
        "BertProcessing, RobertaProcessing, or TemplateProcessing with [CLS] A [SEP] and "
        "[CLS] A [SEP] B [SEP], where [SEP] may be twice after A",
        whole);
}
