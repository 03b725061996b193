/* Tokenising texts into a corpus file: lines are read a chunk at a time, a chunk's lines are shared
 * out to threads in order, and what they made is written in that order. */
#include "pretrain/corpus.h"

#include "base/base.h"
#include "base/file.h"
#include "text/plain_text.h"
#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 22, NARROW_PIECES = 1 << 16, ALIGNMENT = 8 };

struct line {
    size_t start, size;
    bool begins;
};
struct sentence {
    size_t tokens;
    bool begins; /* a document */
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
    bool begins; /* the next sentence begins a document */
    void *packed;
    size_t packed_capacity;
};

/* ---- reading ---- */

static nvdp_status add_line(struct builder *b, const struct nvdp__plain_line *line) {
    NVDP_RETURN_IF_FAILED(nvdp__reserve(b->ctx, &b->text, &b->text_capacity,
                                        b->text_size + line->size, sizeof *b->text));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(b->ctx, &b->line, &b->line_capacity, b->lines + 1, sizeof *b->line));
    memcpy(b->text + b->text_size, line->text, line->size);
    b->line[b->lines++] = (struct line){b->text_size, line->size, line->begins};
    b->text_size += line->size;
    return NVDP_OK;
}

static nvdp_status read_chunk(struct builder *b) {
    b->text_size = 0;
    b->lines = 0;
    while (b->text_size < CHUNK_BYTES) {
        struct nvdp__plain_line line;
        bool found;
        NVDP_RETURN_IF_FAILED(nvdp__plain_text_next(b->plain, &line, &found));
        if (!found) break;
        NVDP_RETURN_IF_FAILED(add_line(b, &line));
    }
    return NVDP_OK;
}

/* ---- tokenising ---- */

/* Between [CLS] and [SEP] lie the sentence's own tokens. */
static nvdp_status take_sentence(struct worker *w, const char *text, size_t size, bool begins) {
    NVDP_RETURN_IF_FAILED(nvdp__encode(&w->encoder, text, size, NULL, 0, size + 2));
    size_t tokens = w->encoder.count - 2;
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(NULL, &w->id, &w->id_capacity, w->ids + tokens, sizeof *w->id));
    NVDP_RETURN_IF_FAILED(nvdp__reserve(NULL, &w->sentence, &w->sentence_capacity, w->sentences + 1,
                                        sizeof *w->sentence));
    if (tokens > 0) memcpy(w->id + w->ids, w->encoder.ids + 1, tokens * sizeof *w->id);
    w->ids += tokens;
    w->sentence[w->sentences++] = (struct sentence){tokens, begins};
    return NVDP_OK;
}

static nvdp_status take_line(struct worker *w, const char *text, const struct line *line) {
    bool begins = line->begins;
    for (size_t at = 0; at < line->size;) {
        size_t size = nvdp__sentence_end(text + line->start + at, line->size - at);
        NVDP_RETURN_IF_FAILED(take_sentence(w, text + line->start + at, size, begins));
        begins = false;
        at += size;
    }
    return NVDP_OK;
}

static void take_lines(const struct builder *b, size_t index) {
    struct worker *w = &b->worker[index];
    w->ids = 0;
    w->sentences = 0;
    w->status = NVDP_OK;
    size_t end = b->lines * (index + 1) / b->workers;
    for (size_t i = b->lines * index / b->workers; i < end && w->status == NVDP_OK; i++) {
        w->status = take_line(w, b->text, &b->line[i]);
    }
}

static nvdp_status tokenise_chunk(struct builder *b) {
    int team = (int)b->workers;
#pragma omp parallel for num_threads(team) schedule(static, 1)
    for (size_t i = 0; i < b->workers; i++)
        take_lines(b, i);
    for (size_t i = 0; i < b->workers; i++) {
        if (b->worker[i].status != NVDP_OK)
            return nvdp__fail(b->ctx, b->worker[i].status, "out of memory while tokenising");
    }
    return NVDP_OK;
}

/* ---- writing ---- */

static nvdp_status write_bytes(struct builder *b, const void *bytes, size_t size) {
    if (size == 0) return NVDP_OK;
    crypto_generichash_update(&b->hash, bytes, size);
    return nvdp__output_write(&b->output, bytes, size);
}

static nvdp_status write_ids(struct builder *b, const struct worker *w) {
    size_t size = b->header.id_size;
    NVDP_RETURN_IF_FAILED(nvdp__reserve(b->ctx, &b->packed, &b->packed_capacity, w->ids * size, 1));
    uint16_t *narrow = b->packed;
    for (size_t i = 0; size == sizeof *narrow && i < w->ids; i++) {
        narrow[i] = (uint16_t)w->id[i];
    }
    return write_bytes(b, size == sizeof *narrow ? b->packed : (void *)w->id, w->ids * size);
}

static nvdp_status add_sentence(struct builder *b, const struct sentence *sentence) {
    struct nvdp__corpus_header *h = &b->header;
    b->begins |= sentence->begins;
    if (sentence->tokens == 0) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__reserve(b->ctx, &b->sentence, &b->sentence_capacity,
                                        h->sentences + 2, sizeof *b->sentence));
    NVDP_RETURN_IF_FAILED(nvdp__reserve(b->ctx, &b->document, &b->document_capacity,
                                        h->documents + 2, sizeof *b->document));
    if (b->begins) b->document[h->documents++] = h->sentences;
    b->begins = false;
    b->sentence[h->sentences++] = h->tokens;
    h->tokens += sentence->tokens;
    return NVDP_OK;
}

static nvdp_status write_chunk(struct builder *b) {
    for (size_t i = 0; i < b->workers; i++) {
        const struct worker *w = &b->worker[i];
        NVDP_RETURN_IF_FAILED(write_ids(b, w));
        for (size_t s = 0; s < w->sentences; s++) {
            NVDP_RETURN_IF_FAILED(add_sentence(b, &w->sentence[s]));
        }
    }
    return NVDP_OK;
}

/* The tables behind the ids, then the header before them. */
static nvdp_status write_rest(struct builder *b) {
    struct nvdp__corpus_header *h = &b->header;
    static const char zeros[ALIGNMENT];
    size_t past = h->tokens * h->id_size % ALIGNMENT;
    if (h->tokens == 0)
        return nvdp__fail(b->ctx, NVDP_ERR_INPUT, "%s: expected texts with words, found no token",
                          b->output.path);
    b->sentence[h->sentences] = h->tokens;
    b->document[h->documents] = h->sentences;
    if (past > 0) NVDP_RETURN_IF_FAILED(write_bytes(b, zeros, ALIGNMENT - past));
    NVDP_RETURN_IF_FAILED(write_bytes(b, b->sentence, (h->sentences + 1) * sizeof *b->sentence));
    NVDP_RETURN_IF_FAILED(write_bytes(b, b->document, (h->documents + 1) * sizeof *b->document));
    crypto_generichash_final(&b->hash, h->body, sizeof h->body);
    nvdp__checksum(h, offsetof(struct nvdp__corpus_header, header), h->header);
    if (fseek(b->output.file, 0, SEEK_SET) != 0)
        return nvdp__fail_errno(b->ctx, errno, "%s: cannot write", b->output.path);
    return nvdp__output_write(&b->output, h, sizeof *h);
}

/* ---- all of it ---- */

static nvdp_status begin(struct builder *b, const struct nvdp_tokenizer *tokenizer, const char *key,
                         const char *out) {
    b->workers = (size_t)nvdp_context_threads(b->ctx);
    b->worker = nvdp__calloc(b->ctx, b->workers, sizeof *b->worker);
    if (b->worker == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < b->workers; i++) {
        b->worker[i].encoder = (struct nvdp__encoder){.tokenizer = tokenizer};
    }
    size_t pieces = nvdp_tokenizer_size(tokenizer);
    b->header = (struct nvdp__corpus_header){.magic = "NVDPTOK",
                                             .version = NVDP__CORPUS_VERSION,
                                             .id_size = pieces <= NARROW_PIECES ? 2 : 4,
                                             .pieces = pieces};
    b->header.magic[sizeof b->header.magic - 1] = 'S';
    memcpy(b->header.key, key, strnlen(key, sizeof b->header.key - 1));
    crypto_generichash_init(&b->hash, NULL, 0, NVDP__DIGEST_BYTES);
    NVDP_RETURN_IF_FAILED(nvdp__output_open(b->ctx, out, &b->output));
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

static nvdp_status take_all(struct builder *b) {
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, b->ctx, "tokenise", "token", 0, 0);
    for (;;) {
        NVDP_RETURN_IF_FAILED(read_chunk(b));
        if (b->lines == 0) break;
        NVDP_RETURN_IF_FAILED(tokenise_chunk(b));
        NVDP_RETURN_IF_FAILED(write_chunk(b));
        nvdp__meter_update(&meter, b->header.tokens, (double)b->header.tokens, "tok", NAN);
        if (nvdp__cancelled(b->ctx))
            return nvdp__fail(b->ctx, NVDP_ERR_CANCELLED, "interrupted while tokenising");
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

nvdp_status nvdp__corpus_build(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               const char *const *path, size_t files, const char *key,
                               const char *out) {
    nvdp_status status = NVDP_OK;
    struct builder b = {.ctx = ctx};
    NVDP_TRY(nvdp__plain_text_open(ctx, path, files, &b.plain));
    NVDP_TRY(begin(&b, tokenizer, key, out));
    NVDP_TRY(take_all(&b));
    NVDP_TRY(write_rest(&b));
    NVDP_TRY(nvdp__output_commit(&b.output));
cleanup:
    release(&b);
    return status;
}
