/* Reads words with tags in CoNLL format (task.h): columns, files, classes, then texts and the data set of the texts. */
#include "text/task.h"

#include "base/file.h"
#include "base/own.h"
#include "base/sentence.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOOK_WORDS = 8 }; /* number of words by which a file is recognized */

/* ---- columns ---- */

struct columns {
    struct nvdp__field first, last;
    size_t count;
};

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t';
}

/* Splits a line at tabs; a line without tabs is split at runs of spaces. A line without text has no columns. */
static struct columns split_columns(const struct nvdp__tsv *tsv) {
    struct nvdp__field first = tsv->field[0], last = tsv->field[tsv->fields - 1];
    struct columns columns = {0};
    for (const char *at = first.text, *end = last.text + last.size;;) {
        while (at < end && is_blank(*at))
            at++;
        if (at == end) return columns;
        if (tsv->fields > 1) return (struct columns){first, last, tsv->fields};
        const char *start = at;
        while (at < end && !is_blank(*at))
            at++;
        columns.last = (struct nvdp__field){start, (size_t)(at - start)};
        if (columns.count++ == 0) columns.first = columns.last;
    }
}

/* ---- tags ---- */

static const char letters[] = "BIESLUM"; /* the letters of tags other than O */

/* Splits a tag into the letter and the type, which may be missing. */
static bool split_tag(struct nvdp__conll_word *word) {
    const struct nvdp__field tag = word->tag;
    if (tag.size == 0) return false;
    word->kind = tag.text[0];
    if (nvdp__field_is(tag, "O")) return true;
    if (memchr(letters, word->kind, sizeof letters - 1) == NULL) return false;
    if (tag.size == 1) return true;
    if (tag.size < 3 || tag.text[1] != '-' || !nvdp__is_utf8(tag.text, tag.size) ||
        memchr(tag.text, '\0', tag.size) != NULL)
        return false;
    word->type = (struct nvdp__field){tag.text + 2, tag.size - 2};
    return true;
}

/* Returns the line of the first tag with one of these letters; 0 if there is none. */
static size_t first_line(const struct nvdp__tag_scheme *scheme, const char *of) {
    size_t line = 0;
    for (; *of != '\0'; of++) {
        const size_t at = scheme->first[(unsigned char)*of];
        if (at > 0 && (line == 0 || at < line)) line = at;
    }
    return line;
}

/* Converts the tags of a sentence to BIO. */
static void convert(struct nvdp__tag_scheme *scheme, size_t words, struct nvdp__conll_word *word) {
    static const struct nvdp__field untyped = {"ENTITY", 6};
    /* the type of the entity that may continue; size is 0 if there is none */
    struct nvdp__field open = {0};
    for (size_t i = 0; i < words; i++) {
        const char letter = word[i].kind;
        if (letter == 'O') {
            open.size = 0;
            continue;
        }
        if (word[i].type.size == 0) word[i].type = untyped;
        const bool goes_on = open.size > 0 && nvdp__by_field(&open, &word[i].type) == 0;
        const bool begins = letter == 'B' || letter == 'S' || letter == 'U';
        const bool last = letter == 'E' || letter == 'S' || letter == 'L' || letter == 'U';
        scheme->entities += begins || !goes_on;
        scheme->inner_starts += !begins && !goes_on;
        scheme->odd_starts += begins && !goes_on;
        word[i].kind = begins || !goes_on ? 'B' : 'I';
        open = word[i].type;
        if (last) open.size = 0;
    }
}

/* Logs in one line how the tags are read, unless they are BIO. */
static void log_scheme(struct nvdp_context *ctx, const char *path,
                       const struct nvdp__tag_scheme *scheme) {
    char text[512] = "";
    struct nvdp__writer say = {text, sizeof text, 0};
    const char *name = first_line(scheme, "ESM") > 0  ? "IOBES"
                       : first_line(scheme, "LU") > 0 ? "BILOU"
                                                      : NULL;
    if (name != NULL) {
        nvdp__append(&say, "; the tags are %s, and are read as BIO", name);
        if (scheme->inner_starts > 0)
            nvdp__append(&say, "; %zu of %zu entities have no tag that begins an entity",
                         scheme->inner_starts, scheme->entities);
    } else if (scheme->inner_starts > 0 && scheme->odd_starts == 0) {
        nvdp__append(&say, "; the tags are IOB1, and are read as BIO");
    } else if (scheme->inner_starts > 0) {
        nvdp__append(&say,
                     "; %zu of %zu entities begin with I and the others with B, as neither BIO nor "
                     "IOB1 has it: all are read as BIO",
                     scheme->inner_starts, scheme->entities);
    }
    if (scheme->bare > 0)
        nvdp__append(&say, "; the tags have no type: all entities are of type ENTITY");
    if (text[0] != '\0') nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: %s", path, text + 2);
}

/* ---- sentences ---- */

struct reading {
    struct nvdp_context *ctx;
    const struct nvdp__tsv *tsv;
    size_t columns, document;
    struct nvdp__conll *conll;
};

static nvdp_status end_sentence(struct reading *reading) {
    struct nvdp__conll *conll = reading->conll;
    if (conll->words == (conll->sentences > 0 ? conll->start[conll->sentences] : 0))
        return NVDP_OK; /* there were no words since the last sentence */
    NVDP_TRY(nvdp__reserve(reading->ctx, &conll->start, &conll->start_capacity,
                           conll->sentences + 2, sizeof *conll->start));
    NVDP_TRY(NVDP__PUSH(reading->ctx, conll->document, conll->sentences, conll->document_capacity,
                        reading->document));
    conll->start[conll->sentences] = conll->words;
    return NVDP_OK;
}

static nvdp_status take_word(struct reading *reading, struct columns columns) {
    struct nvdp__conll *conll = reading->conll;
    const struct nvdp__tsv *tsv = reading->tsv;
    if (reading->columns == 0) reading->columns = columns.count;
    if (columns.count != reading->columns)
        return nvdp__fail(reading->ctx, NVDP_ERR_INPUT, "%s:%zu: expected %zu columns, found %zu",
                          tsv->path, tsv->line, reading->columns, columns.count);
    struct nvdp__conll_word word = {.text = columns.first, .line = tsv->line};
    if (columns.count > 1) {
        word.tag = columns.last;
        if (!split_tag(&word))
            return nvdp__fail(reading->ctx, NVDP_ERR_INPUT,
                              "%s:%zu: tag %s: expected O, B-TYPE or I-TYPE, or E-, S-, L- or "
                              "U-TYPE (IOBES, BILOU)",
                              tsv->path, tsv->line, nvdp__quote_field(word.tag).text);
        size_t *const first = &conll->scheme.first[(unsigned char)word.kind];
        size_t *const kind = word.type.size > 0 ? &conll->scheme.typed : &conll->scheme.bare;
        if (*first == 0) *first = word.line;
        if (word.kind != 'O' && *kind == 0) *kind = word.line;
    }
    return NVDP__PUSH(reading->ctx, conll->word, conll->words, conll->word_capacity, word);
}

nvdp_status nvdp__conll_read(struct nvdp_context *ctx, const char *path, const char *bytes,
                             size_t count, struct nvdp__conll *out) {
    nvdp__auto(nvdp__conll_release) struct nvdp__conll conll = {0};
    nvdp__auto(nvdp__tsv_release) struct nvdp__tsv tsv;
    struct reading reading = {.ctx = ctx, .tsv = &tsv, .conll = &conll};
    size_t documents = 0;
    nvdp__tsv_open(ctx, path, bytes, count, &tsv);
    tsv.blank_rows = true;
    while (nvdp__tsv_more(&tsv)) {
        NVDP_TRY(nvdp__tsv_next(&tsv));
        struct columns columns = split_columns(&tsv);
        bool document = columns.count > 0 && nvdp__field_is(columns.first, "-DOCSTART-");
        if (columns.count == 0 || document) NVDP_TRY(end_sentence(&reading));
        if (document) reading.document = documents++;
        if (columns.count > 0 && !document) NVDP_TRY(take_word(&reading, columns));
    }
    NVDP_TRY(end_sentence(&reading));
    if (conll.sentences == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected words, one a line, found none", path);
    conll.tagged = reading.columns > 1;
    const struct nvdp__tag_scheme *scheme = &conll.scheme;
    const size_t iobes = first_line(scheme, "ESM"), bilou = first_line(scheme, "LU");
    if (iobes > 0 && bilou > 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected tags of one scheme, found IOBES (E-, S- or M-) on line %zu "
                          "and BILOU (L- or U-) on line %zu",
                          path, iobes, bilou);
    if (scheme->typed > 0 && scheme->bare > 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a type in all tags or in none, found one on line %zu and "
                          "none on line %zu",
                          path, scheme->typed, scheme->bare);
    for (size_t i = 0; conll.tagged && i < conll.sentences; i++)
        convert(&conll.scheme, conll.start[i + 1] - conll.start[i], conll.word + conll.start[i]);
    return NVDP__HAND_OVER(out, conll);
}

nvdp_status nvdp__conll_open(struct nvdp_context *ctx, const char *path, struct nvdp__conll *out) {
    nvdp__autofree char *bytes = NULL;
    size_t count = 0;
    NVDP_TRY(nvdp__read_stream(ctx, path, NVDP__DATA_LIMIT, &bytes, &count));
    NVDP_TRY(nvdp__conll_read(ctx, path, bytes, count, out));
    return NVDP__HAND_OVER(&out->bytes, bytes);
}

/* Returns true if a line that is not empty has two columns, a word and a tag. */
static bool is_tagged(struct nvdp_context *ctx, const char *path, struct nvdp__field line,
                      bool *empty) {
    nvdp__auto(nvdp__tsv_release) struct nvdp__tsv tsv;
    struct columns columns = {0};
    nvdp__tsv_open(ctx, path, line.text, line.size, &tsv);
    tsv.blank_rows = true;
    if (nvdp__tsv_next(&tsv) == NVDP_OK) columns = split_columns(&tsv);
    struct nvdp__conll_word word = {.tag = columns.last};
    *empty = columns.count == 0;
    return columns.count == 2 && split_tag(&word) &&
           (word.kind == 'O' || (strchr("BI", word.kind) != NULL && word.type.size > 0));
}

nvdp_status nvdp__conll_sentence(struct nvdp_context *ctx, const struct nvdp__conll *conll,
                                 size_t sentence, char **text, size_t *capacity, size_t *size) {
    size_t used = 0;
    for (size_t w = conll->start[sentence]; w < conll->start[sentence + 1]; w++) {
        const struct nvdp__field *word = &conll->word[w].text;
        NVDP_TRY(nvdp__reserve(ctx, text, capacity, used + word->size + 1, 1));
        memcpy(*text + used, word->text, word->size);
        used += word->size;
        (*text)[used++] = ' ';
    }
    *size = used;
    return NVDP_OK;
}

bool nvdp__conll_recognize(struct nvdp_context *ctx, const char *path) {
    nvdp__auto(nvdp__lines_close) struct nvdp__lines lines = {0};
    struct nvdp__field line;
    struct stat info;
    bool more = true, empty = true;
    size_t words = 0;
    if (nvdp__ends_with(path, ".conll")) return true;
    /* a pipe can be read only once */
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
    if (nvdp__lines_open(ctx, path, &lines) != NVDP_OK) return false;
    while (words < LOOK_WORDS && nvdp__lines_next(&lines, &line, &more) == NVDP_OK && more) {
        if (line.size == 0) continue;
        if (is_tagged(ctx, path, line, &empty))
            words++;
        else if (!empty)
            return false;
    }
    return words > 0;
}

void nvdp__conll_release(struct nvdp__conll *conll) {
    free(conll->bytes);
    free(conll->word);
    free(conll->start);
    free(conll->document);
    *conll = (struct nvdp__conll){0};
}

/* ---- files ---- */

nvdp_status nvdp__conll_file(struct nvdp_context *ctx, const char *directory, enum nvdp_split split,
                             char **path) {
    static const char *const names[][4] = {[NVDP_SPLIT_TRAIN] = {"train"},
                                           [NVDP_SPLIT_DEV] = {"dev", "devel", "valid"},
                                           [NVDP_SPLIT_TEST] = {"test"}};
    static const char *const ends[] = {"tsv",    "tsv.gz", "tsv.xz",   "txt",     "txt.gz",
                                       "txt.xz", "conll",  "conll.gz", "conll.xz"};
    if ((unsigned)split >= sizeof names / sizeof names[0]) return nvdp__no_split(ctx, "ner", split);
    for (const char *const *name = names[split]; *name != NULL; name++) {
        for (size_t e = 0; e < sizeof ends / sizeof ends[0]; e++) {
            const struct nvdp__path found =
                nvdp__path_format("%s/%s.%s", directory, *name, ends[e]);
            if (!nvdp__exists(found.text)) continue;
            NVDP_TRY(nvdp__check_regular(ctx, found.text));
            return NVDP__MADE(*path = nvdp__strdup(ctx, found.text));
        }
    }
    char file[32], expected[128];
    nvdp__snprintf(file, sizeof file, "%s.tsv", names[split][0]);
    nvdp__snprintf(expected, sizeof expected,
                   "%s.tsv, .txt or .conll%s, also with .gz or .xz behind it", names[split][0],
                   split == NVDP_SPLIT_DEV ? " (or devel, valid)" : "");
    return nvdp__missing_file(ctx, directory, file, expected);
}

/* ---- the classes ---- */

static bool is_label(const char *label, char kind, struct nvdp__field type) {
    return label[0] == kind &&
           (kind == 'O' ? label[1] == '\0' : label[1] == '-' && nvdp__field_is(type, label + 2));
}

/* Collects, in byte order, the types of the file that the task lacks; if task is NULL, all types. */
static nvdp_status collect_types(struct nvdp_context *ctx, const struct nvdp__conll *conll,
                                 const struct nvdp_task *task, struct nvdp__field **type,
                                 size_t *types) {
    size_t capacity = 0;
    for (size_t i = 0; i < conll->words; i++) {
        const struct nvdp__field *name = &conll->word[i].type;
        bool known = name->size == 0;
        for (size_t k = 0; k < *types && !known; k++)
            known = nvdp__by_field(*type + k, name) == 0;
        for (int c = 0; task != NULL && c < task->classes && !known; c++)
            known = is_label(task->labels[c], 'B', *name);
        if (known) continue;
        NVDP_TRY(NVDP__PUSH(ctx, *type, *types, capacity, *name));
    }
    if (*types > 0) qsort(*type, *types, sizeof **type, nvdp__by_field);
    return NVDP_OK;
}

/* Sets the classes: the classes of `task`; if task is NULL, B-X, ..., I-X, ..., O for all types of the file. With a
 * task, the labels of types that the task lacks follow, beyond task.classes. */
static nvdp_status set_classes(struct nvdp_context *ctx, const char *path,
                               const struct nvdp__conll *conll, const struct nvdp_task *task,
                               struct nvdp_dataset *dataset) {
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    nvdp__autofree struct nvdp__field *type = NULL, *tag = NULL;
    size_t types = 0, bytes = 1, n = 0;
    nvdp__autofree char *text = NULL;
    char *at;
    NVDP_TRY(collect_types(ctx, conll, task, &type, &types));
    if (task == NULL && types == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected tags B-TYPE or I-TYPE in the last column, found none",
                          path);
    for (size_t k = 0; k < types; k++)
        bytes += 2 * (type[k].size + 2);
    NVDP_TRY(
        NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(text, bytes),
                     NVDP__ITEMS(tag, 2 * types + 1 + (task != NULL ? (size_t)task->classes : 0))));
    for (int c = 0; task != NULL && c < task->classes; c++)
        tag[n++] = (struct nvdp__field){task->labels[c], strlen(task->labels[c])};
    at = text;
    for (size_t k = 0; k < 2 * types; k++) {
        const struct nvdp__field name = type[k % types];
        tag[n++] = (struct nvdp__field){at, name.size + 2};
        at[0] = k < types ? 'B' : 'I';
        at[1] = '-';
        memcpy(at + 2, name.text, name.size);
        at += name.size + 2;
    }
    if (task == NULL) tag[n++] = (struct nvdp__field){"O", 1};
    NVDP_TRY(nvdp__names_copy(ctx, n, tag, sizeof *tag, &storage->labels));
    storage->task.labels = storage->labels;
    storage->task.classes = task != NULL ? task->classes : (int)n;
    storage->more_labels = n - (size_t)storage->task.classes;
    return NVDP_OK;
}

/* Returns the class of a word. set_classes() made a label for each tag of the file; O is missing if the model has no
 * O. */
static int32_t word_class(const struct nvdp_dataset *tags, const struct nvdp__conll_word *word) {
    const int32_t labels =
        (int32_t)tags->task->classes + (int32_t)nvdp__dataset_storage(tags)->more_labels;
    for (int32_t c = 0; c < labels; c++)
        if (is_label(tags->task->labels[c], word->kind, word->type)) return c;
    return NVDP_TAG_UNKNOWN;
}

/* Logs how many entities have a type that the training file lacks, so that no model can find them. */
static void log_missed(struct nvdp_context *ctx, const char *path, const struct nvdp__conll *conll,
                       const struct nvdp_dataset *tags) {
    struct nvdp__name_list list = {0};
    const size_t more = nvdp__dataset_storage(tags)->more_labels;
    size_t entities = 0;
    if (more == 0) return;
    for (size_t i = 0; i < conll->words; i++)
        entities +=
            conll->word[i].kind == 'B' && word_class(tags, &conll->word[i]) >= tags->task->classes;
    for (size_t k = 0; k < more / 2; k++)
        nvdp__name_list_add(&list, sizeof list.text,
                            tags->task->labels[tags->task->classes + (int)k] + 2);
    nvdp__log(ctx, NVDP_LOG_NOTICE,
              "%s: %zu of %zu entities are of types that the training file lacks (%s): they count "
              "as missed",
              path, entities, conll->scheme.entities, list.text);
}

/* ---- texts ---- */

/* Texts that are being built: pieces of words between [CLS] and [SEP]. */
struct texts {
    struct nvdp_context *ctx;
    const struct nvdp_tokenizer *tokenizer;
    struct nvdp__encoder encoder;
    size_t max_pieces; /* max pieces per text, including special pieces */
    int32_t *ids, *tag;
    size_t tokens, ids_capacity, tag_capacity;
    struct nvdp__conll_text {
        size_t start, word; /* the first token of the text, and its first word in the file */
        size_t group;       /* the text's document, or its sentence if there is only one document */
        bool continues;     /* true if the text continues the sentence of the previous text */
    } * text;
    size_t count, text_capacity;
    char *word;
    size_t word_capacity;
};

static nvdp_status add(struct texts *t, int32_t id, int32_t tag) {
    NVDP_TRY(nvdp__reserve(t->ctx, &t->ids, &t->ids_capacity, t->tokens + 1, sizeof *t->ids));
    t->ids[t->tokens] = id;
    return NVDP__PUSH(t->ctx, t->tag, t->tokens, t->tag_capacity, tag);
}

static nvdp_status begin_text(struct texts *t, size_t word, size_t group, bool continues) {
    const struct nvdp__conll_text text = {t->tokens, word, group, continues};
    NVDP_TRY(NVDP__PUSH(t->ctx, t->text, t->count, t->text_capacity, text));
    return add(t, t->tokenizer->special[NVDP_TOKEN_CLS], NVDP_TAG_NONE);
}

/* Splits a word into pieces encoder.ids[1 ... count - 1): at least one, and at most as many as a text holds.
 * Byte-level BPE recognizes words by the space before the word. */
static nvdp_status split_word(struct texts *t, struct nvdp__field word) {
    if (t->tokenizer->row->spaced_words) {
        NVDP_TRY(nvdp__reserve(t->ctx, &t->word, &t->word_capacity, word.size + 1, 1));
        t->word[0] = ' ';
        memcpy(t->word + 1, word.text, word.size);
        word = (struct nvdp__field){t->word, word.size + 1};
    }
    NVDP_TRY(nvdp__encode(&t->encoder, word.text, word.size, NULL, 0, t->max_pieces));
    if (t->encoder.count > 2) return NVDP_OK;
    /* room for [SEP] remains after [UNK] */
    t->encoder.ids[1] = t->tokenizer->special[NVDP_TOKEN_UNK];
    t->encoder.count = 3;
    return NVDP_OK;
}

static nvdp_status add_sentence(struct texts *t, const struct nvdp__conll *conll,
                                const struct nvdp_dataset *tags, size_t sentence) {
    const int32_t end = t->tokenizer->special[NVDP_TOKEN_SEP];
    size_t group = conll->document[conll->sentences - 1] > 0 ? conll->document[sentence] : sentence;
    NVDP_TRY(begin_text(t, conll->start[sentence], group, false));
    for (size_t w = conll->start[sentence]; w < conll->start[sentence + 1]; w++) {
        const struct nvdp__conll_word *word = &conll->word[w];
        const int32_t class = conll->tagged ? word_class(tags, word) : NVDP_TAG_UNKNOWN;
        NVDP_TRY(split_word(t, word->text));
        const size_t pieces = t->encoder.count - 2;
        if (t->tokens - t->text[t->count - 1].start + pieces + 1 > t->max_pieces) {
            NVDP_TRY(add(t, end, NVDP_TAG_NONE));
            NVDP_TRY(begin_text(t, w, group, true));
        }
        for (size_t k = 0; k < pieces; k++)
            NVDP_TRY(add(t, t->encoder.ids[1 + k], k == 0 ? class : NVDP_TAG_NONE));
    }
    return add(t, end, NVDP_TAG_NONE);
}

static void release_texts(struct texts *t) {
    nvdp__encoder_release(&t->encoder);
    free(t->ids);
    free(t->tag);
    free(t->text);
    free(t->word);
}

nvdp_status nvdp__conll_dataset(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const struct nvdp_dataset_config *config, const char *path,
                                struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *tags = NULL, *dataset = NULL;
    nvdp__auto(nvdp__conll_release) struct nvdp__conll conll = {0};
    nvdp__auto(release_texts) struct texts t = {.ctx = ctx,
                                                .tokenizer = tokenizer,
                                                .encoder = {.tokenizer = tokenizer, .ctx = ctx},
                                                .max_pieces = config->max_length};
    const struct nvdp_task *task = config->labels_from;
    nvdp__autofree bool *chosen = NULL;
    NVDP_TRY(nvdp__check_length(ctx, tokenizer, config->max_length));
    NVDP_TRY(nvdp__conll_open(ctx, path, &conll));
    NVDP_TRY(nvdp__dataset_create(ctx, 0, false, &tags)); /* owner of the labels until the end */
    nvdp__dataset_storage(tags)->task = nvdp__task_layout(NVDP_TASK_NER)->task;
    NVDP_TRY(
        set_classes(ctx, path, &conll, task != NULL && task->labels != NULL ? task : NULL, tags));
    log_scheme(ctx, path, &conll.scheme);
    log_missed(ctx, path, &conll, tags);
    NVDP_TRY(nvdp__choose_rows(ctx, config->limit_seed, conll.sentences, config->limit, &chosen));
    for (size_t i = 0; i < conll.sentences; i++)
        if (chosen[i]) NVDP_TRY(add_sentence(&t, &conll, tags, i));
    NVDP_TRY(nvdp__dataset_create(ctx, t.count, false, &dataset));
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    NVDP_TRY(NVDP__ARRAYS(ctx, &storage->memory, NVDP__ITEMS(storage->continues, t.count),
                          NVDP__ITEMS(storage->group, t.count)));
    for (size_t i = 0; i < t.count; i++) {
        size_t end = i + 1 < t.count ? t.text[i + 1].start : t.tokens;
        dataset->offset[i + 1] = end - t.text[i].start;
        dataset->index[i] = (int64_t)t.text[i].word;
        storage->continues[i] = t.text[i].continues;
        storage->group[i] = t.text[i].group;
    }
    NVDP_TRY(nvdp__dataset_lay_out(ctx, dataset));
    NVDP_TRY(NVDP__ARRAYS(ctx, &storage->memory, NVDP__ITEMS(dataset->tag, t.tokens)));
    if (t.tokens > 0) {
        memcpy(dataset->ids, t.ids, t.tokens * sizeof *t.ids);
        memcpy(dataset->tag, t.tag, t.tokens * sizeof *t.tag);
    }
    storage->task = *tags->task;
    storage->more_labels = nvdp__dataset_storage(tags)->more_labels;
    NVDP__HAND_OVER(&storage->labels, nvdp__dataset_storage(tags)->labels);
    return NVDP__HAND_OVER(out, dataset);
}
