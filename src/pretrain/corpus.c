#include "pretrain/corpus.h"

#include "base/cache.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIGNMENT = 8 };
static const char cache_kind[] = "corpus";

void nvdp__corpus_key(const struct nvdp_tokenizer *tokenizer,
                      const char (*file_digest)[NVDP__DIGEST_HEX], size_t files,
                      char key[NVDP__DIGEST_HEX]) {
    struct nvdp__digest digest;
    nvdp__digest_begin(&digest);
    nvdp__digest_number(&digest, NVDP__CORPUS_VERSION);
    nvdp__digest_text(&digest, tokenizer->digest);
    for (size_t i = 0; i < files; i++) {
        nvdp__digest_text(&digest, file_digest[i]);
    }
    nvdp__digest_end(&digest, key);
}

void nvdp__corpus_close(struct nvdp__corpus *corpus) {
    if (corpus->map != NULL) munmap(corpus->map, corpus->map_size);
    *corpus = (struct nvdp__corpus){0};
}

struct opening {
    struct nvdp_context *ctx;
    const char *path;
    const struct nvdp__corpus_header *header;
    struct nvdp__corpus corpus;
};

#define REFUSE(o, ...) nvdp__fail((o)->ctx, NVDP_ERR_INPUT, __VA_ARGS__)

static nvdp_status map_file(struct opening *o) {
    struct stat info;
    int fd = open(o->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return nvdp__fail_errno(o->ctx, errno, "%s: cannot read", o->path);
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        (uintmax_t)info.st_size < sizeof *o->header) {
        close(fd);
        return REFUSE(o, "%s: expected a corpus file, found fewer than %zu bytes", o->path,
                      sizeof *o->header);
    }
    o->corpus.map_size = (size_t)info.st_size;
    void *map = mmap(NULL, o->corpus.map_size, PROT_READ, MAP_PRIVATE, fd, 0);
    int err = errno;
    close(fd);
    if (map == MAP_FAILED) return nvdp__fail_errno(o->ctx, err, "%s: cannot map", o->path);
    o->corpus.map = map;
    o->header = map;
    return NVDP_OK;
}

static nvdp_status check_header(const struct opening *o, const char *key, size_t pieces) {
    const struct nvdp__corpus_header *h = o->header;
    unsigned char digest[NVDP__DIGEST_BYTES];
    if (memcmp(h->magic, "NVDPTOKS", sizeof h->magic) != 0)
        return REFUSE(o, "%s: expected a corpus file, found other data", o->path);
    if (h->version != NVDP__CORPUS_VERSION)
        return REFUSE(o, "%s: expected version %d of corpus files, found %u", o->path,
                      NVDP__CORPUS_VERSION, h->version);
    nvdp__checksum(h, offsetof(struct nvdp__corpus_header, header), digest);
    if (memcmp(digest, h->header, sizeof digest) != 0)
        return REFUSE(o, "%s: header: expected the checksum that it states, found another",
                      o->path);
    if (key != NULL && strncmp(h->key, key, sizeof h->key) != 0)
        return REFUSE(o, "%s: expected the tokens of these texts, found those of others", o->path);
    if (h->pieces != pieces)
        return REFUSE(o, "%s: expected a vocabulary of %zu pieces, found %llu", o->path, pieces,
                      (unsigned long long)h->pieces);
    if (h->id_size != 2 && h->id_size != 4)
        return REFUSE(o, "%s: expected ids of 2 or 4 bytes, found %u", o->path, h->id_size);
    return NVDP_OK;
}

/* Lays the tables out; the sizes must add up to the file's. */
static nvdp_status lay_out(struct opening *o) {
    const struct nvdp__corpus_header *h = o->header;
    struct nvdp__corpus *c = &o->corpus;
    size_t limit = c->map_size; /* no count can be larger: keeps products from overflowing */
    if (h->tokens == 0 || h->sentences == 0 || h->documents == 0 || h->tokens > limit ||
        h->sentences > limit || h->documents > limit)
        return REFUSE(o, "%s: expected 1 to %zu tokens, sentences and documents", o->path, limit);
    size_t ids = (h->tokens * h->id_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t expected = sizeof *h + ids + (h->sentences + h->documents + 2) * sizeof *c->sentence;
    if (expected != c->map_size)
        return REFUSE(o, "%s: expected %zu bytes, found %zu", o->path, expected, c->map_size);
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

/* From 0 to `end`, each larger than the one before. */
static bool is_table(size_t count, const uint64_t *start, size_t end) {
    for (size_t i = 0; i < count; i++) {
        if (start[i + 1] <= start[i]) return false;
    }
    return start[0] == 0 && start[count] == end;
}

static nvdp_status check_body(const struct opening *o) {
    const struct nvdp__corpus_header *h = o->header;
    const struct nvdp__corpus *c = &o->corpus;
    unsigned char digest[NVDP__DIGEST_BYTES];
    nvdp__checksum((const unsigned char *)c->map + sizeof *h, c->map_size - sizeof *h, digest);
    if (memcmp(digest, h->body, sizeof digest) != 0)
        return REFUSE(o, "%s: expected the checksum that its header states, found another",
                      o->path);
    if (!is_table(c->sentences, c->sentence, c->tokens) ||
        !is_table(c->documents, c->document, c->sentences))
        return REFUSE(o, "%s: expected rising tables of sentences and documents", o->path);
    int32_t largest = 0;
    int32_t least = 0;
    for (size_t i = 0; i < c->tokens; i++) {
        int32_t id = nvdp__corpus_id(c, i);
        largest = id > largest ? id : largest;
        least = id < least ? id : least;
    }
    if (least < 0 || (uint64_t)largest >= h->pieces)
        return REFUSE(o, "%s: expected ids below %llu, found %d", o->path,
                      (unsigned long long)h->pieces, least < 0 ? least : largest);
    return NVDP_OK;
}

nvdp_status nvdp__corpus_open(struct nvdp_context *ctx, const char *path, const char *key,
                              size_t pieces, struct nvdp__corpus *corpus) {
    nvdp_status status = NVDP_OK;
    struct opening o = {.ctx = ctx, .path = path};
    NVDP_TRY(map_file(&o));
    NVDP_TRY(check_header(&o, key, pieces));
    NVDP_TRY(lay_out(&o));
    NVDP_TRY(check_body(&o));
    *corpus = o.corpus;
    o.corpus = (struct nvdp__corpus){0};
cleanup:
    nvdp__corpus_close(&o.corpus);
    return status;
}

/* ---- the cache ---- */

/* A name for a file that is unlinked as soon as it is open. */
static char *temporary_path(struct nvdp_context *ctx, const char *key) {
    const char *folder = getenv("TMPDIR");
    return nvdp__format(ctx, "%s/nvdp-%s-%.16s-%ld", folder != NULL ? folder : "/tmp", cache_kind,
                        key, (long)getpid());
}

struct texts {
    const char *const *path;
    size_t files;
    char key[NVDP__DIGEST_HEX];
};

static nvdp_status build_temporary(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                   const struct texts *texts, struct nvdp__corpus *corpus) {
    char *file = temporary_path(ctx, texts->key);
    if (file == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status =
        nvdp__corpus_build(ctx, tokenizer, texts->path, texts->files, texts->key, file);
    if (status == NVDP_OK)
        status = nvdp__corpus_open(ctx, file, texts->key, nvdp_tokenizer_size(tokenizer), corpus);
    unlink(file);
    free(file);
    return status;
}

static nvdp_status find_or_build(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                 const struct texts *texts, const char *directory,
                                 struct nvdp__corpus *corpus) {
    nvdp_status status = NVDP_OK;
    size_t pieces = nvdp_tokenizer_size(tokenizer);
    char *file = nvdp__cache_path(ctx, directory, cache_kind, texts->key);
    if (file == NULL) return NVDP_ERR_MEMORY;
    if (nvdp__exists(file)) {
        status = nvdp__corpus_open(ctx, file, texts->key, pieces, corpus);
        if (status != NVDP_ERR_INPUT) goto cleanup;
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s; it is made again", nvdp_context_error(ctx));
    }
    NVDP_TRY(nvdp__cache_make(ctx, directory));
    NVDP_TRY(nvdp__corpus_build(ctx, tokenizer, texts->path, texts->files, texts->key, file));
    NVDP_TRY(nvdp__corpus_open(ctx, file, texts->key, pieces, corpus));
cleanup:
    free(file);
    return status;
}

nvdp_status nvdp__corpus_cached(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const char *const *path,
                                const char (*file_digest)[NVDP__DIGEST_HEX], size_t files,
                                const char *directory, struct nvdp__corpus *corpus) {
    struct texts texts = {.path = path, .files = files};
    nvdp__corpus_key(tokenizer, file_digest, files, texts.key);
    if (directory != NULL) {
        nvdp_status status = find_or_build(ctx, tokenizer, &texts, directory, corpus);
        if (status != NVDP_ERR_IO) return status;
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s; tokens are not kept", nvdp_context_error(ctx));
    }
    return build_temporary(ctx, tokenizer, &texts, corpus);
}
