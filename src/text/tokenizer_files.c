/* Tokenizer classes, and the folder with the files (tokenizer_maker.h). The class decides which file is used:
 *
 *     PreTrainedTokenizerFast        tokenizer.json alone
 *     BertTokenizer, MPNetTokenizer  the vocabulary and the added tokens of tokenizer.json, else vocab.txt;
 *                                    the other rules are those of the class and tokenizer_config.json
 *     RobertaTokenizer               the same with merges, else vocab.json and merges.txt
 *     XLMRobertaTokenizer            the same with scores and SentencePiece's table, else
 *                                    tokenizer.model, else sentencepiece.bpe.model
 *
 * Everything else is refused, with a message that has file, key and value. Start with nvdp_tokenizer_load() at the
 * end. */
#include "text/tokenizer_maker.h"

#include "base/file.h"
#include "base/own.h"
#include "base/sentence.h"
#include "text/sentence_folder.h"
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 30 /* in bytes */ };

const char *const nvdp__tokenizer_file_names[NVDP__TOKENIZER_FILES] = {
    [NVDP__FILE_TOKENIZER] = "tokenizer.json",
    [NVDP__FILE_VOCAB_TXT] = "vocab.txt",
    [NVDP__FILE_VOCAB_JSON] = "vocab.json",
    [NVDP__FILE_MERGES] = "merges.txt",
    [NVDP__FILE_SENTENCEPIECE] = "sentencepiece.bpe.model",
    [NVDP__FILE_TOKENIZER_MODEL] = "tokenizer.model",
    [NVDP__FILE_CONFIG] = "tokenizer_config.json",
    [NVDP__FILE_SPECIALS] = "special_tokens_map.json",
    [NVDP__FILE_ADDED] = "added_tokens.json",
    [NVDP__FILE_SENTENCE] = "sentence_bert_config.json",
    [NVDP__FILE_MODEL] = "config.json"};

/* ---- classes ---- */

const struct nvdp__class nvdp__classes[] = {
    [NVDP__CLASS_BERT] =
        {.name = "BertTokenizer",
         .names = " BertTokenizer DistilBertTokenizer ElectraTokenizer MobileBertTokenizer "
                  "SqueezeBertTokenizer LayoutLMTokenizer LxmertTokenizer ",
         .types = " bert distilbert electra nomic_bert mobilebert squeezebert megatron-bert ernie ",
         .usual = {NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
         .separators = 1,
         .types_of_pair = true,
         .wanted = "vocab.txt or tokenizer.json",
         .vocabulary = NVDP__FILE_VOCAB_TXT,
         .make = nvdp__make_wordpiece},
    {.name = "MPNetTokenizer",
     .names = " MPNetTokenizer ",
     .types = " mpnet ",
     .usual = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"},
     .spaces_before_mask = true,
     .separators = 2,
     .wanted = "vocab.txt or tokenizer.json",
     .vocabulary = NVDP__FILE_VOCAB_TXT,
     .make = nvdp__make_wordpiece},
    {.name = "RobertaTokenizer",
     .names = " RobertaTokenizer LongformerTokenizer BartTokenizer ",
     .types = " roberta roberta-prelayernorm longformer data2vec-text ",
     .usual = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
     .separators = 2,
     .wanted = "vocab.json and merges.txt, or tokenizer.json",
     .vocabulary = NVDP__FILE_VOCAB_JSON,
     .make = nvdp__make_bpe},
    {.name = "XLMRobertaTokenizer",
     .names = " XLMRobertaTokenizer ",
     .types = " xlm-roberta ",
     .usual = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
     .separators = 2,
     .wanted = "sentencepiece.bpe.model, tokenizer.model or tokenizer.json",
     .vocabulary = NVDP__FILE_SENTENCEPIECE,
     .stated = true,
     .make = nvdp__make_unigram},
    {.name = "PreTrainedTokenizerFast",
     .names = " PreTrainedTokenizer TokenizersBackend PythonBackend ",
     .types = " modernbert ",
     .backend = true,
     .separators = 1,
     .wanted = "tokenizer.json"},
    {.name = "PreTrainedTokenizerFast",
     .names = " ",
     .types = " static-embedding ",
     .backend = true,
     .bare = true,
     .wanted = "tokenizer.json"},
    {.name = "PreTrainedTokenizerFast",
     .names = " ",
     .types = " model2vec ",
     .backend = true,
     .bare = true,
     .model2vec = true,
     .wanted = "tokenizer.json"},
    {.name = NULL}};

/* Finds the class with this name or, if `types`, with this model_type. Returns NULL if there is no such class. */
static const struct nvdp__class *find(bool types, const char *name, size_t size) {
    for (const struct nvdp__class *c = nvdp__classes; size > 0 && c->name != NULL; c++) {
        for (const char *at = types ? c->types : c->names; (at = strchr(at, ' ')) != NULL; at++) {
            if (strncmp(at + 1, name, size) == 0 && at[1 + size] == ' ') return c;
        }
    }
    return NULL;
}

nvdp_status nvdp__refuse(const struct nvdp__maker *m, enum nvdp__tokenizer_file file,
                         const char *key, const char *expected, const json_t *found) {
    nvdp__autofree char *text =
        found != NULL ? json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED, "%s: '%s': expected %s, found %.100s",
                      nvdp__file_path(m, file), key, expected, text != NULL ? text : "none");
}

/* Sets m->class, and *class to the name of the class for messages. */
static nvdp_status find_class(struct nvdp__maker *m, const char **class) {
    static const char *const key = "tokenizer_class";
    enum nvdp__tokenizer_file file = NVDP__FILE_CONFIG;
    const char *type = NULL;
    NVDP_TRY(nvdp__json_string(m->ctx, nvdp__file_path(m, NVDP__FILE_MODEL),
                               nvdp__file_root(m, NVDP__FILE_MODEL), "model_type", NULL, &type));
    NVDP_TRY(nvdp__json_string(m->ctx, nvdp__file_path(m, file), nvdp__file_root(m, file), key,
                               NULL, class));
    if (*class == NULL) {
        file = NVDP__FILE_MODEL;
        NVDP_TRY(nvdp__json_string(m->ctx, nvdp__file_path(m, file), nvdp__file_root(m, file), key,
                                   NULL, class));
    }
    if (type != NULL) m->class = find(true, type, strlen(type));
    if (*class == NULL || (m->class != NULL && m->class->backend)) return NVDP_OK;
    size_t size = strlen(*class);
    if (size > 4 && strcmp(*class + size - 4, "Fast") == 0) size -= 4;
    m->class = find(false, *class, size);
    if (m->class != NULL) return NVDP_OK;
    return nvdp__refuse(m, file, key,
                        "BertTokenizer, DistilBertTokenizer, ElectraTokenizer, MPNetTokenizer, "
                        "RobertaTokenizer, XLMRobertaTokenizer or PreTrainedTokenizerFast",
                        json_object_get(nvdp__file_root(m, file), key));
}

/* ---- the special tokens around a text ---- */

/* A part of a template: the id of a special token, or one of the values below, and the token type. */
enum { OTHER_PART = -1, TEXT_A = -2, TEXT_B = -3, MAX_PARTS = 6 };
struct part {
    int64_t id, type;
};

/* Reads the parts of a template. Returns the number of parts, of which at most MAX_PARTS are read. */
static size_t read_parts(const json_t *processor, const char *key, struct part part[MAX_PARTS]) {
    const json_t *specials = json_object_get(processor, "special_tokens"), *entry;
    const json_t *template = json_object_get(processor, key);
    size_t i;
    json_array_foreach(template, i, entry) {
        const json_t *special = json_object_get(entry, "SpecialToken");
        const json_t *one = special != NULL ? special : json_object_get(entry, "Sequence");
        const char *name = json_string_value(json_object_get(one, "id"));
        if (i == MAX_PARTS) break;
        part[i] = (struct part){OTHER_PART, json_integer_value(json_object_get(one, "type_id"))};
        if (name == NULL) continue;
        const json_t *ids = json_object_get(json_object_get(specials, name), "ids");
        if (special != NULL && json_array_size(ids) == 1)
            part[i].id = json_integer_value(json_array_get(ids, 0));
        if (special == NULL && strcmp(name, "A") == 0) part[i].id = TEXT_A;
        if (special == NULL && strcmp(name, "B") == 0) part[i].id = TEXT_B;
    }
    return json_array_size(template);
}

/* Reads [CLS] A [SEP] and [CLS] A [SEP] (once or twice) B [SEP]. Returns false for any other template. */
static bool read_template(const json_t *processor, struct nvdp_tokenizer *made) {
    struct part one[MAX_PARTS] = {0}, two[MAX_PARTS] = {0};
    const size_t parts = read_parts(processor, "pair", two);
    if (read_parts(processor, "single", one) != 3 || (parts != 5 && parts != 6)) return false;
    const int64_t cls = one[0].id, sep = one[2].id, second_type = two[parts - 2].type;
    bool read = cls >= 0 && sep >= 0 && one[1].id == TEXT_A && second_type <= 1;
    for (size_t i = 0; i < 3; i++)
        read = read && one[i].type == 0;
    for (size_t i = 0; i < parts; i++) {
        const int64_t id = i == 0 ? cls : i == 1 ? TEXT_A : i + 2 == parts ? TEXT_B : sep;
        read = read && two[i].id == id && two[i].type == (i + 2 >= parts ? second_type : 0);
    }
    if (!read) return false;
    made->special[NVDP_TOKEN_CLS] = (int32_t)cls;
    made->special[NVDP_TOKEN_SEP] = (int32_t)sep;
    made->separators = parts - 4;
    made->types = second_type == 1;
    return true;
}

/* Reads the special tokens around a text from 'post_processor' of tokenizer.json. */
static nvdp_status read_frame(struct nvdp__maker *m) {
    const json_t *whole =
        json_object_get(nvdp__file_root(m, NVDP__FILE_TOKENIZER), "post_processor");
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
        /* without these values, the `tokenizers` library reads another type */
        if (type[0] == 'R')
            read = read && json_is_boolean(json_object_get(processor, "trim_offsets")) &&
                   json_is_boolean(json_object_get(processor, "add_prefix_space"));
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
        "BertProcessing, RobertaProcessing with trim_offsets and add_prefix_space, or "
        "TemplateProcessing with [CLS] A [SEP] and "
        "[CLS] A [SEP] B [SEP], where [SEP] may be twice after A",
        whole);
}

/* ---- the whole tokenizer ---- */

/* Returns the class whose rules apply if the files state none: PreTrainedTokenizerFast for tokenizer.json, else the
 * first class that reads an existing file; NULL if there is none. */
static const struct nvdp__class *class_of_files(const bool files[NVDP__TOKENIZER_FILES]) {
    for (const struct nvdp__class *c = nvdp__classes; c->name != NULL; c++) {
        if (c->backend ? files[NVDP__FILE_TOKENIZER]
                       : !files[NVDP__FILE_TOKENIZER] && !c->stated && files[c->vocabulary])
            return c;
    }
    return NULL;
}

/* The keys of tokenizer.json that are read, or that change no ids, by part. The values of a key with a full stop
 * belong to the same part. */
static const struct {
    const char *part, *known;
} parts[] = {
    {NULL, " version truncation padding added_tokens normalizer pre_tokenizer post_processor "
           "decoder model "},
    {"model", " type vocab merges unk_token unk_id byte_fallback continuing_subword_prefix "
              "end_of_word_suffix fuse_unk dropout ignore_merges max_input_chars_per_word "},
    {"added_tokens", " id content single_word lstrip rstrip normalized special "},
    {"normalizer",
     " type normalizers. pattern. String Regex content strip_left strip_right prepend "
     "precompiled_charsmap clean_text handle_chinese_chars strip_accents lowercase "},
    {"pre_tokenizer",
     " type pretokenizers. replacement str_rep split add_prefix_space prepend_scheme trim_offsets "
     "use_regex "},
    {"post_processor",
     " type processors. single. pair. SpecialToken. Sequence. id type_id special_tokens cls sep "
     "trim_offsets add_prefix_space use_regex "}};

/* Returns true if a list of words, separated by spaces, has the key followed by this mark. */
static bool lists(const char *known, const char *key, const char *mark) {
    return strpbrk(key, " .") == NULL &&
           strstr(known, nvdp__short_text(" %s%s", key, mark).text) != NULL;
}

/* Refuses a key that this part does not know, unless its value is null. */
static nvdp_status check_known(const struct nvdp__maker *m, size_t part, const json_t *json) {
    const char *key, *name = parts[part].part, *known = parts[part].known;
    const json_t *value;
    size_t i;
    json_array_foreach(json, i, value) NVDP_TRY(check_known(m, part, value));
    json_object_foreach((json_t *)(uintptr_t)json, key, value) {
        if (json_is_null(value) || lists(known, key, " ")) continue;
        nvdp__autofree char *place =
            nvdp__format(m->ctx, name != NULL ? "%s.%s" : "%s%s", name != NULL ? name : "", key);
        NVDP_TRY(NVDP__MADE(place));
        if (!lists(known, key, ". "))
            return nvdp__refuse(m, NVDP__FILE_TOKENIZER, place,
                                "null, because the key is not known and could change ids", value);
        NVDP_TRY(check_known(m, part, value));
    }
    return NVDP_OK;
}

/* Refuses keys whose values would change ids, except keys that this library implements. */
static nvdp_status check_keys(const struct nvdp__maker *m) {
    static const char *const right = "right, since texts lose tokens at their end";
    const json_t *config = nvdp__file_root(m, NVDP__FILE_CONFIG), *entry;
    const json_t *side = json_object_get(config, "truncation_side");
    const json_t *truncation =
        json_object_get(nvdp__file_root(m, NVDP__FILE_TOKENIZER), "truncation");
    const json_t *direction = json_object_get(truncation, "direction");
    size_t i;
    if (json_is_string(side) && strcmp(json_string_value(side), "right") != 0)
        return nvdp__refuse(m, NVDP__FILE_CONFIG, "truncation_side", right, side);
    if (side == NULL && json_is_string(direction) &&
        strcmp(json_string_value(direction), "Right") != 0)
        return nvdp__refuse(m, NVDP__FILE_TOKENIZER, "truncation.direction", right, direction);
    json_array_foreach(json_object_get(config, "fast_tokenizer_files"), i, entry) {
        if (json_is_string(entry) && strcmp(json_string_value(entry), "tokenizer.json") != 0)
            return nvdp__refuse(m, NVDP__FILE_CONFIG, "fast_tokenizer_files",
                                "tokenizer.json alone", entry);
    }
    const json_t *whole = nvdp__file_root(m, NVDP__FILE_TOKENIZER);
    const json_t *version = json_object_get(whole, "version");
    if (json_is_string(version) && strcmp(json_string_value(version), "1.0") != 0)
        return nvdp__refuse(m, NVDP__FILE_TOKENIZER, "version", "1.0", version);
    const size_t all = sizeof parts / sizeof *parts; /* the last part is about special tokens */
    /* the other parts are rules of the class */
    const size_t read = m->class->backend ? all - m->class->bare : 3;
    for (i = 0; i < read; i++)
        NVDP_TRY(check_known(
            m, i, parts[i].part != NULL ? json_object_get(whole, parts[i].part) : whole));
    return NVDP_OK;
}

/* Returns the token that the model of tokenizer.json gives for text that its pieces do not cover; -1 if there is
 * none. */
static int32_t unknown_token(const struct nvdp__maker *m) {
    const json_t *model = json_object_get(nvdp__file_root(m, NVDP__FILE_TOKENIZER), "model");
    const json_t *id = json_object_get(model, "unk_id");
    const char *name = json_string_value(json_object_get(model, "unk_token"));
    if (json_is_integer(id)) return (int32_t)json_integer_value(id);
    return name != NULL ? nvdp_tokenizer_find(m->made, name) : -1;
}

/* Returns the median number of characters of the pieces, rounded down. Ids without a piece do not count. */
static size_t median_characters(const struct nvdp__strings *pieces) {
    enum { LONGEST = 256 };
    size_t with[LONGEST] = {0}, count = 0, below = 0, lower = 0, upper = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct nvdp__field piece = nvdp__string(pieces, i);
        size_t length = 0;
        for (size_t k = 0; k < piece.size; k++)
            length += nvdp__begins_character(piece.text[k]);
        with[nvdp__min(length, LONGEST - 1)] += piece.size > 0;
        count += piece.size > 0;
    }
    for (size_t length = 0; count > 0 && length < LONGEST; length++) {
        if (below <= (count - 1) / 2) lower = length;
        if (below <= count / 2) upper = length;
        below += with[length];
    }
    return (lower + upper) / 2;
}

/* Makes the model whose type tokenizer.json states; Unigram need not be stated. */
static nvdp_status make_by_type(struct nvdp__maker *m) {
    static const struct {
        const char *type;
        nvdp_status (*make)(struct nvdp__maker *m);
    } rows[] = {{"WordPiece", nvdp__make_wordpiece},
                {"BPE", nvdp__make_bpe},
                {"Unigram", nvdp__make_unigram}};
    const json_t *model = json_object_get(nvdp__file_root(m, NVDP__FILE_TOKENIZER), "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    if (type == NULL && json_is_array(json_object_get(model, "vocab"))) type = "Unigram";
    char all[256] = "";
    struct nvdp__writer to = {all, sizeof all, 0};
    const size_t count = sizeof rows / sizeof rows[0];
    for (size_t i = 0; i < count; i++) {
        if (type != NULL && strcmp(type, rows[i].type) == 0) return rows[i].make(m);
        nvdp__append_item(&to, i, i + 1 == count, rows[i].type);
    }
    return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED, "%s: 'model.type': expected %s, found %.100s",
                      nvdp__file_path(m, NVDP__FILE_TOKENIZER), all, type != NULL ? type : "none");
}

nvdp_status nvdp__tokenizer_of_source(struct nvdp_context *ctx,
                                      const struct nvdp__tokenizer_source *source,
                                      struct nvdp_tokenizer **out) {
    struct nvdp__maker m = {.ctx = ctx, .source = source};
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *made = NULL;
    const char *class;
    bool files[NVDP__TOKENIZER_FILES] = {0};
    for (int i = 0; i < NVDP__TOKENIZER_FILES; i++)
        files[i] = source->json[i] != NULL || source->text[i] != NULL;
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    *made = (struct nvdp_tokenizer){.row = &nvdp__wordpiece_row, .normalizer = {.ctx = ctx}};
    m.made = made;
    NVDP_TRY(find_class(&m, &class));
    if (m.class == NULL) m.class = class_of_files(files);
    if (m.class == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected a vocabulary, found none",
                          source->path[NVDP__FILE_TOKENIZER]);
    NVDP_TRY(check_keys(&m));
    made->separators = m.class->separators;
    made->types = m.class->types_of_pair;
    made->bare = m.class->bare;
    NVDP_TRY(m.class->backend ? make_by_type(&m) : m.class->make(&m));
    if (m.class->backend && !made->bare) NVDP_TRY(read_frame(&m));
    made->dropped = m.class->model2vec ? unknown_token(&m) : -1;
    made->characters = m.class->model2vec ? median_characters(&made->pieces) : 0;
    NVDP_TRY(nvdp__json_bool(ctx, source->path[NVDP__FILE_CONFIG], source->json[NVDP__FILE_CONFIG],
                             "split_special_tokens", false, &made->names_are_text));
    made->plain =
        made->plain && m.class == &nvdp__classes[NVDP__CLASS_BERT] && !made->names_are_text;
    made->names_are_text = made->names_are_text || nvdp__as_published(&m);
    nvdp__tokenizer_finish(made);
    return NVDP__HAND_OVER(out, made);
}

/* ---- a folder ---- */

static void close_source(struct nvdp__tokenizer_source *source) {
    for (int i = 0; i < NVDP__TOKENIZER_FILES; i++) {
        free(source->path[i]);
        free(source->text[i]);
        json_decref(source->json[i]);
    }
}

/* Fails because a folder has no vocabulary of the class; the message has the files that exist. */
static nvdp_status fail_missing(struct nvdp_context *ctx, const char *directory,
                                const struct nvdp__class *class, const char *name) {
    static const char *const others[] = {"tokenizer.json",  "vocab.txt",
                                         "vocab.json",      "merges.txt",
                                         "tokenizer.model", "sentencepiece.bpe.model",
                                         "spiece.model",    "spm.model",
                                         "tiktoken.model",  "vocab.bpe"};
    char found[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct nvdp__path path;
        NVDP_TRY(nvdp__model_path(ctx, directory, others[i], &path));
        if (nvdp__exists(path.text))
            used += (size_t)nvdp__snprintf(found + used, sizeof found - used, "%s%s",
                                           used > 0 ? ", " : "", others[i]);
    }
    const char *next =
        used == 0
            ? ""
            : ": AutoTokenizer.from_pretrained(folder).save_pretrained(folder) of transformers "
              "writes tokenizer.json";
    return nvdp__fail(ctx, NVDP_ERR_IO, "%s: expected %s%s%s, found %s%s", directory,
                      class != NULL ? class->wanted
                                    : "vocab.txt, or vocab.json and merges.txt, or tokenizer.json "
                                      "(beside config.json and model.safetensors)",
                      name != NULL ? " for the tokenizer class " : "", name != NULL ? name : "",
                      used > 0 ? found : "none", next);
}

/* Reads the files of a folder except the vocabulary, and sets `files` to true for the files of the tokenizer. */
static nvdp_status open_folder(struct nvdp_context *ctx, const char *directory,
                               struct nvdp__tokenizer_source *source,
                               bool files[NVDP__TOKENIZER_FILES],
                               const struct nvdp__class **class) {
    struct nvdp__maker m = {.ctx = ctx, .source = source};
    const char *name;
    NVDP_TRY(nvdp__model_folder(ctx, directory));
    for (int i = 0; i < NVDP__TOKENIZER_FILES; i++) {
        struct nvdp__path path;
        NVDP_TRY(nvdp__model_path(ctx, directory, nvdp__tokenizer_file_names[i], &path));
        NVDP_TRY(NVDP__MADE(source->path[i] = nvdp__strdup(ctx, path.text)));
        files[i] = nvdp__exists(source->path[i]);
        if (i >= NVDP__FILE_CONFIG && i != NVDP__FILE_MODEL && files[i])
            NVDP_TRY(nvdp__json_read(ctx, source->path[i], &source->json[i]));
    }
    struct nvdp__path config;
    NVDP_TRY(nvdp__model_config(ctx, directory, &config, &source->json[NVDP__FILE_MODEL]));
    NVDP_TRY(find_class(&m, &name));
    const struct nvdp__class *c = m.class != NULL ? m.class : class_of_files(files);
    bool there = files[NVDP__FILE_TOKENIZER];
    enum nvdp__tokenizer_file vocabulary =
        c != NULL && !c->backend ? c->vocabulary : NVDP__FILE_TOKENIZER;
    if (vocabulary == NVDP__FILE_SENTENCEPIECE && files[NVDP__FILE_TOKENIZER_MODEL])
        vocabulary = NVDP__FILE_TOKENIZER_MODEL;
    for (int i = NVDP__FILE_TOKENIZER + 1; i < NVDP__FILE_CONFIG; i++) {
        files[i] = files[i] && !files[NVDP__FILE_TOKENIZER] && (int)vocabulary == i;
        there = there || files[i];
    }
    /* if the file is missing, reading it reports this */
    files[NVDP__FILE_MERGES] = files[NVDP__FILE_VOCAB_JSON];
    *class = c;
    return there ? NVDP_OK : fail_missing(ctx, directory, m.class, name);
}

nvdp_status nvdp__tokenizer_files(struct nvdp_context *ctx, const char *directory,
                                  const char *files[NVDP__TOKENIZER_FILES + 1],
                                  const char **class) {
    nvdp__auto(close_source) struct nvdp__tokenizer_source source = {0};
    const struct nvdp__class *found = NULL;
    bool there[NVDP__TOKENIZER_FILES] = {0};
    size_t count = 0;
    *class = NULL;
    files[0] = NULL;
    NVDP_TRY(open_folder(ctx, directory, &source, there, &found));
    const bool lower =
        json_is_true(json_object_get(source.json[NVDP__FILE_SENTENCE], "do_lower_case"));
    for (int i = 0; i < NVDP__FILE_MODEL; i++) {
        const bool exists = there[i] || nvdp__exists(source.path[i]);
        if (exists && (i != NVDP__FILE_SENTENCE || lower))
            files[count++] = nvdp__tokenizer_file_names[i];
    }
    files[count] = NULL;
    if (!json_is_string(json_object_get(source.json[NVDP__FILE_CONFIG], "tokenizer_class")))
        *class = found->name;
    return NVDP_OK;
}

nvdp_status nvdp_tokenizer_load(struct nvdp_context *ctx, const char *directory,
                                struct nvdp_tokenizer **out) {
    nvdp__auto(close_source) struct nvdp__tokenizer_source source = {0};
    const struct nvdp__class *class;
    bool files[NVDP__TOKENIZER_FILES] = {0};
    NVDP_TRY(open_folder(ctx, directory, &source, files, &class));
    for (int i = 0; i < NVDP__FILE_CONFIG; i++) {
        if (!files[i]) continue;
        const bool json = i == NVDP__FILE_TOKENIZER || i == NVDP__FILE_VOCAB_JSON;
        NVDP_TRY(json ? nvdp__json_read(ctx, source.path[i], &source.json[i])
                      : nvdp__read_file(ctx, source.path[i], FILE_LIMIT, &source.text[i],
                                        &source.size[i]));
    }
    return nvdp__tokenizer_of_source(ctx, &source, out);
}
