/* Tokenizes texts into a corpus file for pretraining and evaluation, and maps such files (corpus.h). The file has,
 * in this order, the table of pieces, building, opening with all checks, and the cache. */
#include "pretrain/corpus.h"

#include "base/array.h"
#include "base/file.h"
#include "base/ranks.h"
#include "text/plain_text.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 22, NARROW_PIECES = 1 << 16, ALIGNMENT = 8 };
static const char cache_kind[] = "corpus";

/* ---- pieces ---- */

nvdp_status nvdp__wordpiece_only(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer) {
    if (tokenizer->row == &nvdp__wordpiece_row) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                      "masked language model: expected a WordPiece vocabulary, found %s; use a "
                      "model of type bert",
                      tokenizer->row->name);
}

nvdp_status nvdp__pieces_create(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                struct nvdp__piece_table *pieces) {
    NVDP_TRY(nvdp__wordpiece_only(ctx, tokenizer));
    size_t count = nvdp_tokenizer_size(tokenizer);
    nvdp__auto(nvdp__pieces_release) struct nvdp__piece_table made = {
        .count = count,
        .cls = tokenizer->special[NVDP_TOKEN_CLS],
        .sep = tokenizer->special[NVDP_TOKEN_SEP],
        .mask = tokenizer->special[NVDP_TOKEN_MASK],
        .continues = nvdp__calloc(ctx, count, sizeof *made.continues),
        .special = nvdp__calloc(ctx, count, sizeof *made.special),
        .ordinary = nvdp__calloc(ctx, count, sizeof *made.ordinary),
    };
    NVDP_TRY(NVDP__MADE(made.continues, made.special, made.ordinary));
    for (int i = 0; i < NVDP__SPECIALS; i++) {
        made.special[tokenizer->special[i]] = 1;
    }
    for (size_t id = 0; id < count; id++) {
        const char *text = nvdp_tokenizer_piece(tokenizer, (int32_t)id);
        made.continues[id] = strncmp(text, "##", 2) == 0 && text[2] != '\0';
        if (!made.special[id] && *text != '\0') made.ordinary[made.ordinary_count++] = (int32_t)id;
    }
    if (made.ordinary_count == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "vocab.txt: expected word pieces besides the special tokens, found none");
    return NVDP__HAND_OVER(pieces, made);
}

void nvdp__pieces_release(struct nvdp__piece_table *pieces) {
    free(pieces->continues);
    free(pieces->special);
    free(pieces->ordinary);
    *pieces = (struct nvdp__piece_table){0};
}

/* ---- building: read a chunk of lines, tokenize it on all threads, write the results in the
 * order of the lines ---- */

struct line {
    size_t start, size;
    bool begins;
};
struct sentence {
    size_t tokens;
    bool begins; /* true if the line begins a document */
};
/* One thread's part of a chunk. */
struct worker {
    struct nvdp__encoder encoder;
    int32_t *id;
    size_t ids, id_capacity;
    struct sentence *sentence;
    size_t sentences, sentence_capacity;
    nvdp_status status;
};
struct builder {
    struct nvdp_context *ctx;
    struct nvdp__plain_text *plain;
    char *text; /* a chunk of lines */
    size_t text_size, text_capacity;
    struct line *line;
    size_t lines, line_capacity;
    struct worker *worker;
    size_t workers;
    struct nvdp__output output;
    crypto_generichash_state hash;
    struct nvdp__corpus_header header;
    uint64_t *sentence, *document;
    size_t sentence_capacity, document_capacity;
    bool begins; /* true if the next sentence begins a document */
    void *packed;
    size_t packed_capacity;
};

static nvdp_status read_chunk(struct builder *b) {
    b->text_size = 0;
    b->lines = 0;
    while (b->text_size < CHUNK_BYTES) {
        struct nvdp__plain_line line;
        bool found;
        NVDP_TRY(nvdp__plain_text_next(b->plain, &line, &found));
        if (!found) break;
        NVDP_TRY(NVDP__PUSH(b->ctx, b->line, b->lines, b->line_capacity,
                            (struct line){b->text_size, line.size, line.begins}));
        NVDP_TRY(
            NVDP__PUSH_ALL(b->ctx, b->text, b->text_size, b->text_capacity, line.size, line.text));
    }
    return NVDP_OK;
}

/* Tokenizes the sentences of a worker's lines. */
static nvdp_status take_lines(const struct builder *b, size_t index) {
    struct worker *w = &b->worker[index];
    size_t end = b->lines * (index + 1) / b->workers;
    w->ids = 0;
    w->sentences = 0;
    for (size_t i = b->lines * index / b->workers; i < end; i++) {
        const struct line *line = &b->line[i];
        for (size_t at = 0; at < line->size;) {
            const char *text = b->text + line->start + at;
            size_t size = nvdp__sentence_end(text, line->size - at);
            NVDP_TRY(nvdp__encode(&w->encoder, text, size, NULL, 0, size + 2));
            const size_t tokens = w->encoder.count - 2; /* tokens between [CLS] and [SEP] */
            NVDP_TRY(
                NVDP__PUSH_ALL(NULL, w->id, w->ids, w->id_capacity, tokens, w->encoder.ids + 1));
            NVDP_TRY(NVDP__PUSH(NULL, w->sentence, w->sentences, w->sentence_capacity,
                                (struct sentence){tokens, line->begins && at == 0}));
            at += size;
        }
    }
    return NVDP_OK;
}

static nvdp_status tokenise_chunk(struct builder *b) {
    int team = (int)b->workers;
#pragma omp parallel for num_threads(team) schedule(static, 1)
    for (size_t i = 0; i < b->workers; i++)
        b->worker[i].status = take_lines(b, i);
    for (size_t i = 0; i < b->workers; i++) {
        if (b->worker[i].status != NVDP_OK)
            return nvdp__fail(b->ctx, b->worker[i].status, "out of memory while tokenizing");
    }
    return NVDP_OK;
}

static nvdp_status write_bytes(struct builder *b, const void *bytes, size_t size) {
    if (size == 0) return NVDP_OK;
    crypto_generichash_update(&b->hash, bytes, size);
    return nvdp__output_write(&b->output, bytes, size);
}

static nvdp_status add_sentence(struct builder *b, const struct sentence *sentence) {
    struct nvdp__corpus_header *h = &b->header;
    b->begins |= sentence->begins;
    if (sentence->tokens == 0) return NVDP_OK;
    NVDP_TRY(nvdp__reserve(b->ctx, &b->sentence, &b->sentence_capacity, h->sentences + 2,
                           sizeof *b->sentence));
    NVDP_TRY(nvdp__reserve(b->ctx, &b->document, &b->document_capacity, h->documents + 2,
                           sizeof *b->document));
    if (b->begins) b->document[h->documents++] = h->sentences;
    b->begins = false;
    b->sentence[h->sentences++] = h->tokens;
    h->tokens += sentence->tokens;
    return NVDP_OK;
}

static nvdp_status write_chunk(struct builder *b) {
    const size_t size = b->header.id_size;
    for (size_t i = 0; i < b->workers; i++) {
        const struct worker *w = &b->worker[i];
        NVDP_TRY(nvdp__reserve(b->ctx, &b->packed, &b->packed_capacity, w->ids * size, 1));
        uint16_t *narrow = b->packed;
        for (size_t k = 0; size == sizeof *narrow && k < w->ids; k++)
            narrow[k] = (uint16_t)w->id[k];
        NVDP_TRY(write_bytes(b, size == sizeof *narrow ? b->packed : (void *)w->id, w->ids * size));
        for (size_t s = 0; s < w->sentences; s++)
            NVDP_TRY(add_sentence(b, &w->sentence[s]));
    }
    return NVDP_OK;
}

/* Writes the tables after the ids, then the header before the ids. */
static nvdp_status write_rest(struct builder *b) {
    struct nvdp__corpus_header *h = &b->header;
    static const char zeros[ALIGNMENT];
    size_t past = h->tokens * h->id_size % ALIGNMENT;
    if (h->tokens == 0)
        return nvdp__fail(b->ctx, NVDP_ERR_INPUT, "%s: expected texts with words, found none",
                          b->output.path);
    b->sentence[h->sentences] = h->tokens;
    b->document[h->documents] = h->sentences;
    if (past > 0) NVDP_TRY(write_bytes(b, zeros, ALIGNMENT - past));
    NVDP_TRY(write_bytes(b, b->sentence, (h->sentences + 1) * sizeof *b->sentence));
    NVDP_TRY(write_bytes(b, b->document, (h->documents + 1) * sizeof *b->document));
    crypto_generichash_final(&b->hash, h->body, sizeof h->body);
    nvdp__checksum(h, offsetof(struct nvdp__corpus_header, header), h->header);
    if (fseek(b->output.file, 0, SEEK_SET) != 0)
        return nvdp__fail_errno(b->ctx, errno, "%s: cannot write", b->output.path);
    return nvdp__output_write(&b->output, h, sizeof *h);
}

static nvdp_status begin(struct builder *b, const struct nvdp_tokenizer *tokenizer, const char *key,
                         const char *out) {
    b->workers = (size_t)nvdp_context_threads(b->ctx);
    NVDP_TRY(NVDP__NEW(b->ctx, b->worker, b->workers));
    for (size_t i = 0; i < b->workers; i++) {
        b->worker[i].encoder =
            (struct nvdp__encoder){.tokenizer = tokenizer, .names_are_text = true};
    }
    size_t pieces = nvdp_tokenizer_size(tokenizer);
    b->header = (struct nvdp__corpus_header){.magic = "NVDPTOK",
                                             .version = NVDP__CORPUS_VERSION,
                                             .id_size = pieces <= NARROW_PIECES ? 2 : 4,
                                             .pieces = pieces};
    b->header.magic[sizeof b->header.magic - 1] = 'S';
    memcpy(b->header.key, key, strnlen(key, sizeof b->header.key - 1));
    crypto_generichash_init(&b->hash, NULL, 0, NVDP__DIGEST_BYTES);
    NVDP_TRY(nvdp__output_open(b->ctx, out, &b->output));
    return nvdp__output_write(&b->output, &b->header, sizeof b->header);
}

static void release(struct builder *b) {
    for (size_t i = 0; b->worker != NULL && i < b->workers; i++) {
        nvdp__encoder_release(&b->worker[i].encoder);
        free(b->worker[i].id);
        free(b->worker[i].sentence);
    }
    free(b->worker);
    free(b->text);
    free(b->line);
    free(b->sentence);
    free(b->document);
    free(b->packed);
    nvdp__output_abort(&b->output);
    nvdp__plain_text_close(b->plain);
}

nvdp_status nvdp__corpus_build(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               const char *const *path, size_t files, const char *key,
                               const char *out) {
    nvdp__auto(release) struct builder b = {.ctx = ctx};
    struct nvdp__meter meter;
    NVDP_TRY(nvdp__plain_text_open(ctx, path, files, &b.plain));
    NVDP_TRY(begin(&b, tokenizer, key, out));
    nvdp__meter_begin(&meter, ctx, "tokenise", "token", 0, 0);
    for (;;) {
        NVDP_TRY(read_chunk(&b));
        if (b.lines == 0) break;
        NVDP_TRY(tokenise_chunk(&b));
        NVDP_TRY(write_chunk(&b));
        nvdp__meter_update(&meter, b.header.tokens, (double)b.header.tokens, "tok", NAN);
        NVDP_TRY(nvdp__check_cancelled(ctx, "interrupted while tokenizing"));
    }
    nvdp__meter_end(&meter);
    NVDP_TRY(write_rest(&b));
    return nvdp__output_commit(&b.output, true);
}

/* ---- opening ---- */

void nvdp__corpus_close(struct nvdp__corpus *corpus) {
    if (corpus->map != NULL) munmap(corpus->map, corpus->map_size);
    *corpus = (struct nvdp__corpus){0};
}

#define REFUSE(ctx, ...) nvdp__fail(ctx, NVDP_ERR_INPUT, __VA_ARGS__)

static nvdp_status check_header(struct nvdp_context *ctx, const char *path,
                                const struct nvdp__corpus_header *h, const char *key,
                                size_t pieces) {
    unsigned char digest[NVDP__DIGEST_BYTES];
    if (memcmp(h->magic, "NVDPTOKS", sizeof h->magic) != 0)
        return REFUSE(ctx, "%s: expected a corpus file, found other data", path);
    if (h->version != NVDP__CORPUS_VERSION)
        return REFUSE(ctx, "%s: expected version %d of corpus files, found %u", path,
                      NVDP__CORPUS_VERSION, h->version);
    nvdp__checksum(h, offsetof(struct nvdp__corpus_header, header), digest);
    if (memcmp(digest, h->header, sizeof digest) != 0)
        return REFUSE(ctx, "%s: header: the checksum does not match", path);
    if (key != NULL && strncmp(h->key, key, sizeof h->key) != 0)
        return REFUSE(
            ctx, "%s: expected the tokens of these texts, found the tokens of other texts", path);
    if (h->pieces != pieces)
        return REFUSE(ctx, "%s: expected a vocabulary of %zu pieces, found %llu", path, pieces,
                      (unsigned long long)h->pieces);
    if (h->id_size != 2 && h->id_size != 4)
        return REFUSE(ctx, "%s: expected token ids of 2 or 4 bytes, found %u", path, h->id_size);
    return NVDP_OK;
}

/* Sets pointers to the tables after checking that the sizes of the tables add up to the size of the file. */
static nvdp_status lay_out(struct nvdp_context *ctx, const char *path, struct nvdp__corpus *c) {
    const struct nvdp__corpus_header *h = c->map;
    size_t limit = c->map_size; /* an upper bound on all counts, so that products cannot overflow */
    if (h->tokens == 0 || h->sentences == 0 || h->documents == 0 || h->tokens > limit ||
        h->sentences > limit || h->documents > limit)
        return REFUSE(ctx,
                      "%s: expected 1 to %zu tokens, sentences and documents, found other numbers",
                      path, limit);
    size_t ids = (h->tokens * h->id_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t expected = sizeof *h + ids + (h->sentences + h->documents + 2) * sizeof *c->sentence;
    if (expected != c->map_size)
        return REFUSE(ctx, "%s: expected %zu bytes, found %zu", path, expected, c->map_size);
    const unsigned char *body = (const unsigned char *)c->map + sizeof *h;
    c->tokens = h->tokens;
    c->sentences = h->sentences;
    c->documents = h->documents;
    if (h->id_size == 2) c->narrow = (const uint16_t *)(const void *)body;
    if (h->id_size == 4) c->wide = (const uint32_t *)(const void *)body;
    c->sentence = (const uint64_t *)(const void *)(body + ids);
    c->document = c->sentence + c->sentences + 1;
    return NVDP_OK;
}

/* Returns true if the table rises strictly from 0 to `end`. */
static bool is_table(size_t count, const uint64_t *start, size_t end) {
    for (size_t i = 0; i < count; i++) {
        if (start[i + 1] <= start[i]) return false;
    }
    return start[0] == 0 && start[count] == end;
}

static nvdp_status check_body(struct nvdp_context *ctx, const char *path,
                              const struct nvdp__corpus *c) {
    const struct nvdp__corpus_header *h = c->map;
    unsigned char digest[NVDP__DIGEST_BYTES];
    nvdp__checksum((const unsigned char *)c->map + sizeof *h, c->map_size - sizeof *h, digest);
    if (memcmp(digest, h->body, sizeof digest) != 0)
        return REFUSE(ctx, "%s: the data do not match the checksum in the header", path);
    if (!is_table(c->sentences, c->sentence, c->tokens) ||
        !is_table(c->documents, c->document, c->sentences))
        return REFUSE(
            ctx, "%s: expected increasing offsets of sentences and documents, found others", path);
    int32_t largest = 0;
    int32_t smallest = 0;
    for (size_t i = 0; i < c->tokens; i++) {
        int32_t id = nvdp__corpus_id(c, i);
        largest = id > largest ? id : largest;
        smallest = id < smallest ? id : smallest;
    }
    if (smallest < 0 || (uint64_t)largest >= h->pieces)
        return REFUSE(ctx, "%s: expected token ids below %llu, found %d", path,
                      (unsigned long long)h->pieces, smallest < 0 ? smallest : largest);
    return NVDP_OK;
}

nvdp_status nvdp__corpus_open(struct nvdp_context *ctx, const char *path, const char *key,
                              size_t pieces, struct nvdp__corpus *corpus) {
    nvdp__auto(nvdp__corpus_close) struct nvdp__corpus made = {0};
    struct stat info;
    nvdp__auto(nvdp__close_owned) int fd = -1;
    NVDP_TRY(nvdp__open_regular(ctx, path, &fd));
    if (fstat(fd, &info) != 0 || (uintmax_t)info.st_size < sizeof(struct nvdp__corpus_header))
        return REFUSE(ctx, "%s: expected a corpus file, found fewer than its minimum of %zu bytes",
                      path, sizeof(struct nvdp__corpus_header));
    void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return nvdp__fail_errno(ctx, errno, "%s: cannot map the file into memory", path);
    made.map = map;
    made.map_size = (size_t)info.st_size;
    NVDP_TRY(check_header(ctx, path, map, key, pieces));
    NVDP_TRY(lay_out(ctx, path, &made));
    NVDP_TRY(check_body(ctx, path, &made));
    return NVDP__HAND_OVER(corpus, made);
}

/* ---- the cache ---- */

void nvdp__corpus_key(const struct nvdp_tokenizer *tokenizer,
                      const char (*file_digest)[NVDP__DIGEST_HEX], size_t files,
                      char key[NVDP__DIGEST_HEX]) {
    struct nvdp__digest digest = nvdp__digest_begin();
    nvdp__digest_number(&digest, NVDP__CORPUS_VERSION);
    nvdp__digest_text(&digest, tokenizer->digest);
    for (size_t i = 0; i < files; i++)
        nvdp__digest_text(&digest, file_digest[i]);
    nvdp__digest_end(&digest, key);
}

/* Opens a corpus file of the texts. Builds the file first: if there is a cache `directory`, only when the file in it
 * is missing or damaged; else always. */
static nvdp_status find_or_build(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                 const char *const *path, size_t files, const char *key,
                                 const char *directory, const char *file,
                                 struct nvdp__corpus *corpus) {
    const size_t pieces = nvdp_tokenizer_size(tokenizer);
    if (directory != NULL && nvdp__exists(file)) {
        const nvdp_status status = nvdp__corpus_open(ctx, file, key, pieces, corpus);
        if (status != NVDP_ERR_INPUT) return status;
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s; nvdp makes this cache file again",
                  nvdp_context_error(ctx));
    }
    if (directory != NULL) NVDP_TRY(nvdp__cache_make(ctx, directory));
    NVDP_TRY(nvdp__corpus_build(ctx, tokenizer, path, files, key, file));
    return nvdp__corpus_open(ctx, file, key, pieces, corpus);
}

nvdp_status nvdp__corpus_cached(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const char *const *path,
                                const char (*file_digest)[NVDP__DIGEST_HEX], size_t files,
                                const char *directory, struct nvdp__corpus *corpus) {
    char key[NVDP__DIGEST_HEX];
    nvdp__corpus_key(tokenizer, file_digest, files, key);
    if (directory != NULL) {
        nvdp__autofree char *kept = nvdp__cache_path(ctx, directory, cache_kind, key);
        NVDP_TRY(NVDP__MADE(kept));
        const nvdp_status status =
            find_or_build(ctx, tokenizer, path, files, key, directory, kept, corpus);
        if (status != NVDP_ERR_IO) return status;
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s; the tokens are not cached", nvdp_context_error(ctx));
    }
    /* a temporary file, which is unlinked as soon as it is open */
    const char *folder = getenv("TMPDIR");
    const struct nvdp__path file =
        nvdp__path_format("%s/nvdp-%s-%.16s-%ld-%zu", folder != NULL ? folder : "/tmp", cache_kind,
                          key, (long)getpid(), nvdp__rank(ctx));
    const nvdp_status status =
        find_or_build(ctx, tokenizer, path, files, key, NULL, file.text, corpus);
    unlink(file.text);
    return status;
}
