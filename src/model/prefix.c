/* Runs the frozen part of an encoder, whose states for a text never change, and caches these states
 * for training.
 *
 * The frozen layers run without dropout. In float32, the products compute each row independently of
 * the other rows. The hidden states of a text therefore have the same bits in every batch, computed
 * or read from the cache. In bf16, the states may round differently in another batch.
 *
 * The states may be kept in a file (docs/formats.md, Cache). The file has the header of all
 * cached files, whose checksum covers the table; the table, with a 64-bit checksum per text;
 * padding to 64 bytes; and the rows of all texts in float32, in the order of the data set. The
 * code has, in this order, the layout, writing the file, reading the file, and the name of the
 * file. */
#include "model/model.h"

#include "base/base.h"
#include "tensor/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char kind[] = "prefix";
enum { VERSION = 1, LINE = 64, WAIT_NANOSECONDS = 100000000, CHUNK = 1 << 16 };

struct nvdp__prefix_store {
    struct nvdp_context *ctx;
    char *path;
    int fd;
    const struct nvdp_dataset *dataset; /* `index` ascends; the data set outlives the store */
    size_t width;                       /* floats per token */
    uint64_t *sum;                      /* [texts] checksum of each text */
    bool damaged;
};

/* --- layout of the file --- */

static size_t row_bytes(const struct nvdp_dataset *dataset, size_t width, size_t first,
                        size_t texts) {
    return (dataset->offset[first + texts] - dataset->offset[first]) * width * sizeof(float);
}

static size_t text_position(const struct nvdp_dataset *dataset, size_t width, size_t text) {
    const size_t table = sizeof(struct nvdp__cache_header) + dataset->count * sizeof(uint64_t);
    return (table + LINE - 1) / LINE * LINE + dataset->offset[text] * width * sizeof(float);
}

static size_t store_bytes(const struct nvdp_dataset *dataset, size_t width) {
    return text_position(dataset, width, dataset->count);
}

static struct nvdp__cache_header store_header(const struct nvdp_dataset *dataset, size_t width,
                                              const uint64_t *sum) {
    size_t bytes = store_bytes(dataset, width);
    struct nvdp__cache_header header =
        nvdp__cache_header(kind, VERSION, bytes - sizeof(struct nvdp__cache_header));
    nvdp__checksum(sum, dataset->count * sizeof *sum, header.checksum);
    return header;
}

static uint64_t row_sum(const float *rows, size_t bytes) {
    static const unsigned char key[crypto_shorthash_KEYBYTES] = {0};
    unsigned char hash[crypto_shorthash_BYTES];
    uint64_t sum;
    crypto_shorthash(hash, (const unsigned char *)rows, bytes, key);
    memcpy(&sum, hash, sizeof sum);
    return sum;
}

/* --- transfers --- */

static bool read_at(int fd, void *to, size_t count, size_t at) {
    return nvdp__read_at(fd, to, count, at) == (ssize_t)count;
}

/* Returns true if `path` is still the path of the open file; another process may have renamed or
 * replaced the file. */
static bool is_at(int fd, const char *path) {
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

/* --- opening an existing file --- */

static bool is_whole(const struct nvdp__prefix_store *store) {
    struct nvdp__cache_header header;
    struct stat info;
    const struct nvdp_dataset *dataset = store->dataset;
    size_t bytes = store_bytes(dataset, store->width);
    if (fstat(store->fd, &info) != 0 || (size_t)info.st_size != bytes) return false;
    if (!read_at(store->fd, &header, sizeof header, 0) ||
        !read_at(store->fd, store->sum, dataset->count * sizeof *store->sum, sizeof header))
        return false;
    struct nvdp__cache_header wanted = store_header(dataset, store->width, store->sum);
    return memcmp(&header, &wanted, sizeof header) == 0;
}

/* Opens the file if it exists. Leaves store->fd at -1 if there is no file or the file is
 * damaged. */
static void open_present(struct nvdp__prefix_store *store) {
    if (nvdp__open_regular(NULL, store->path, &store->fd) != NVDP_OK) return;
    if (is_whole(store)) {
        nvdp__cache_use(store->path);
        return;
    }
    nvdp__log(store->ctx, NVDP_LOG_NOTICE,
              "%s: the cache file is damaged or unreadable; nvdp computes its contents again",
              store->path);
    close(store->fd);
    store->fd = -1;
}

/* --- writing the file --- */

/* Runs the frozen layers on the batch's texts and writes the states into the model's cache. */
static nvdp_status compute(struct nvdp__prefix *prefix, const struct nvdp__batch *batch) {
    struct nvdp_model *model = prefix->model;
    nvdp__bert_prefix(&model->bert, &prefix->dev, &model->params, batch, prefix->layers,
                      &model->cache);
    return nvdp__device_status(&model->dev);
}

/* Writes the states of all texts, batch by batch. Sets *written to false if the file system
 * fails; errno has the reason. */
static nvdp_status write_rows(struct nvdp__prefix *prefix, struct nvdp__batch *batch, float *rows,
                              int fd, bool *written) {
    struct nvdp__prefix_store *store = prefix->store;
    const struct nvdp_dataset *dataset = store->dataset;
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, store->ctx, "prefix", "text", 0, dataset->count);
    for (size_t first = 0; first < dataset->count; first += batch->texts) {
        size_t left = dataset->count - first;
        NVDP_TRY(nvdp__check_cancelled(
            store->ctx, "interrupted while the states of the frozen layers were computed"));
        nvdp__batch_fill(batch, dataset, NULL, first,
                         left < batch->text_capacity ? left : batch->text_capacity);
        NVDP_TRY(compute(prefix, batch));
        nvdp__download(&prefix->dev, batch->tokens * store->width,
                       prefix->model->cache.hidden[prefix->layers], rows);
        *written = nvdp__write_at(fd, rows, row_bytes(dataset, store->width, first, batch->texts),
                                  text_position(dataset, store->width, first));
        if (!*written) return NVDP_OK;
        for (size_t i = first; i < first + batch->texts; i++) {
            size_t at = (dataset->offset[i] - dataset->offset[first]) * store->width;
            store->sum[i] = row_sum(rows + at, row_bytes(dataset, store->width, i, 1));
        }
        nvdp__meter_update(&meter, first + batch->texts,
                           (double)dataset->offset[first + batch->texts], "tok", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

static bool write_table(const struct nvdp__prefix_store *store, int fd) {
    struct nvdp__cache_header header = store_header(store->dataset, store->width, store->sum);
    return nvdp__write_at(fd, store->sum, store->dataset->count * sizeof *store->sum,
                          sizeof header) &&
           nvdp__write_at(fd, &header, sizeof header, 0) && fsync(fd) == 0;
}

/* Reserves the space of the whole file at the start, so that a full disk is detected before
 * hours of computing. On file systems without fallocate, assumes that there is space. */
static bool reserve(const struct nvdp__prefix_store *store, int fd) {
    if (ftruncate(fd, 0) != 0) return false;
    off_t bytes = (off_t)store_bytes(store->dataset, store->width);
    int err = fallocate(fd, 0, 0, bytes) == 0 ? 0 : errno;
    errno = err;
    return err == 0 || err == EOPNOTSUPP || err == ENOSYS;
}

static void cannot_keep(const struct nvdp__prefix_store *store, int err) {
    char reason[256];
    nvdp__log(store->ctx, NVDP_LOG_NOTICE,
              "%s: cannot cache the states of the frozen layers (%.2f GiB), so they are computed "
              "in each step: %s",
              store->path, (double)store_bytes(store->dataset, store->width) / (1 << 30),
              strerror_r(err, reason, sizeof reason));
}

/* Writes the file, `texts` texts at a time; the caller holds the lock of `partial`, which is
 * open as fd. */
static nvdp_status make(struct nvdp__prefix *prefix, size_t texts, const char *partial, int fd) {
    nvdp_status status = NVDP_OK;
    struct nvdp__prefix_store *store = prefix->store;
    size_t longest = store->dataset->longest;
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    nvdp__autofree float *rows = NULL;
    bool written = false;
    NVDP_TRY_OR_CLEAN(NVDP__NEW(store->ctx, rows, texts * longest * store->width));
    NVDP_TRY_OR_CLEAN(nvdp__batch_create(store->ctx, texts, longest, &batch));
    written = reserve(store, fd);
    if (written) NVDP_TRY_OR_CLEAN(write_rows(prefix, batch, rows, fd, &written));
    written = written && write_table(store, fd) && rename(partial, store->path) == 0;
    if (written) store->fd = fd;
cleanup:
    if (status != NVDP_OK || !written) {
        int err = errno;
        unlink(partial);
        close(fd);
        if (status == NVDP_OK) cannot_keep(store, err);
    }
    return status;
}

/* Tries once to write the file. Sets *retry if another process is writing it or has just written
 * it. */
static nvdp_status try_to_make(struct nvdp__prefix *prefix, size_t texts, const char *partial,
                               bool *retry) {
    struct nvdp__prefix_store *store = prefix->store;
    *retry = false;
    int fd = open(partial, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        cannot_keep(store, errno);
        return NVDP_OK;
    }
    bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    *retry = locked ? !is_at(fd, partial) : errno == EWOULDBLOCK;
    if (locked && !*retry) return make(prefix, texts, partial, fd);
    if (!*retry) cannot_keep(store, errno);
    close(fd);
    return NVDP_OK;
}

/* Opens the file or writes it. If the file cannot be written, logs a notice and leaves store->fd
 * at -1. Fails only if the computation of the states fails or is cancelled. */
static nvdp_status open_or_make(struct nvdp__prefix *prefix, size_t texts) {
    struct nvdp__prefix_store *store = prefix->store;
    bool retry = true;
    const struct nvdp__path partial = nvdp__path_format("%s.partial", store->path);
    for (int waits = 0; retry; waits++) {
        open_present(store);
        if (store->fd >= 0) break;
        NVDP_TRY(try_to_make(prefix, texts, partial.text, &retry));
        if (!retry) break;
        if (waits == 0)
            nvdp__log(store->ctx, NVDP_LOG_INFO, "waiting for another process that writes %s",
                      store->path);
        if (nvdp_context_cancelled(store->ctx))
            return nvdp__fail(store->ctx, NVDP_ERR_CANCELLED, "interrupted while waiting for %s",
                              store->path);
        nanosleep(&(struct timespec){.tv_nsec = WAIT_NANOSECONDS}, NULL);
    }
    return NVDP_OK;
}

static void store_close(struct nvdp__prefix_store *store) {
    if (store == NULL) return;
    if (store->fd >= 0) close(store->fd);
    free(store->path);
    free(store->sum);
    free(store);
}

/* --- reading the file --- */

/* Reads the states of the text with this index, `tokens` rows, into `to`. Returns false if the
 * file lacks the states or they are damaged. At the first damage, logs a notice and removes the
 * file, so that the next run writes a new file. */
static bool store_read(struct nvdp__prefix_store *store, int64_t index, size_t tokens, float *to) {
    const struct nvdp_dataset *dataset = store->dataset;
    const int64_t *found =
        bsearch(&index, dataset->index, dataset->count, sizeof index, nvdp__by_int64);
    if (found == NULL) return false;
    size_t text = (size_t)(found - dataset->index);
    if (dataset->offset[text + 1] - dataset->offset[text] != tokens) return false;
    size_t bytes = row_bytes(dataset, store->width, text, 1);
    if (read_at(store->fd, to, bytes, text_position(dataset, store->width, text)) &&
        row_sum(to, bytes) == store->sum[text])
        return true;
    if (!store->damaged) {
        nvdp__log(store->ctx, NVDP_LOG_NOTICE,
                  "%s: the cache file is damaged; missing states are computed now, and the next "
                  "run writes the file again",
                  store->path);
        if (is_at(store->fd, store->path)) unlink(store->path);
    }
    store->damaged = true;
    return false;
}

/* Reads the states of all texts of the batch from the file; returns false if any state is
 * missing or damaged. */
static bool recall(struct nvdp__prefix *prefix, const struct nvdp__batch *batch) {
    size_t width = prefix->model->info.bert.hidden_size;
    float *hidden = prefix->model->cache.hidden[prefix->layers];
    for (size_t i = 0; i < batch->texts; i++) {
        size_t first = (size_t)batch->offset[i];
        size_t tokens = (size_t)batch->offset[i + 1] - first;
        if (!store_read(prefix->store, (int64_t)batch->key[i], tokens, prefix->row)) return false;
        nvdp__upload(&prefix->dev, tokens * width, prefix->row, hidden + first * width);
    }
    return true;
}

nvdp_status nvdp__prefix_fill(struct nvdp__prefix *prefix, const struct nvdp__batch *batch) {
    if (prefix->store != NULL && recall(prefix, batch)) return NVDP_OK;
    return compute(prefix, batch);
}

/* --- the name of a file, which consists of digests of the file's inputs --- */

size_t nvdp__prefix_bytes(const struct nvdp_bert_config *bert, const struct nvdp_dataset *dataset) {
    return store_bytes(dataset, bert->hidden_size);
}

/* Computes the digest; downloads the weights through the device in chunks. */
nvdp_status nvdp__prefix_digest(struct nvdp_model *model, const char **hex) {
    const struct nvdp__params *params = &model->params;
    *hex = model->frozen;
    if (model->frozen[0] != '\0') return NVDP_OK;
    nvdp__autofree float *chunk = NULL;
    NVDP_TRY(NVDP__NEW(model->ctx, chunk, CHUNK));
    struct nvdp__digest digest = nvdp__digest_begin();
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *entry = &params->entry[i];
        if ((entry->flags & NVDP__PARAM_FROZEN) == 0) continue;
        nvdp__digest_text(&digest, entry->name);
        NVDP__DIGEST_NUMBERS(&digest, entry->shape[0], entry->shape[1]);
        for (size_t at = 0; at < entry->count; at += CHUNK) {
            size_t n = nvdp__min(entry->count - at, CHUNK);
            nvdp__download(&model->dev, n, nvdp__value(params, i) + at, chunk);
            nvdp__digest_bytes(&digest, chunk, n * sizeof *chunk);
        }
    }
    nvdp__digest_end(&digest, model->frozen);
    return NVDP_OK;
}

static nvdp_status store_path(const struct nvdp__prefix *prefix, const char *directory,
                              const struct nvdp_dataset *dataset, char **path) {
    struct nvdp_model *model = prefix->model;
    const struct nvdp_bert_config *bert = &model->info.bert;
    const char *weights = NULL;
    NVDP_TRY(nvdp__prefix_digest(model, &weights));
    struct nvdp__digest digest = nvdp__digest_begin();
    nvdp__digest_text(&digest, NVDP_VERSION);
    NVDP__DIGEST_NUMBERS(&digest, prefix->layers, model->dev.bf16 != NULL,
                         bert->num_attention_heads, (uint64_t)bert->hidden_act,
                         nvdp__first_position(bert));
    nvdp__digest_bytes(&digest, &bert->layer_norm_eps, sizeof bert->layer_norm_eps);
    nvdp__digest_bytes(&digest, &bert->global_rope_theta, sizeof bert->global_rope_theta);
    nvdp__digest_bytes(&digest, &bert->local_rope_theta, sizeof bert->local_rope_theta);
    NVDP__DIGEST_NUMBERS(&digest, bert->local_attention, bert->global_attn_every_n_layers);
    nvdp__digest_text(&digest, weights);
    const size_t n = dataset->count, tokens = dataset->offset[n];
    nvdp__digest_bytes(&digest, dataset->offset, (n + 1) * sizeof *dataset->offset);
    nvdp__digest_bytes(&digest, dataset->index, n * sizeof *dataset->index);
    nvdp__digest_bytes(&digest, dataset->ids, tokens * sizeof *dataset->ids);
    nvdp__digest_bytes(&digest, dataset->types, tokens * sizeof *dataset->types);
    *path = nvdp__cache_digest_path(model->ctx, directory, "prefix", &digest);
    return *path == NULL ? NVDP_ERR_MEMORY : NVDP_OK;
}

/* --- public part of prefix.c --- */

nvdp_status nvdp__prefix_create(struct nvdp_model *model, struct nvdp__prefix **out) {
    const struct nvdp_bert_config *bert = &model->info.bert;
    nvdp__autoptr(nvdp__prefix_free) struct nvdp__prefix *made = NULL;
    NVDP_TRY(NVDP__NEW(model->ctx, made, 1));
    *made =
        (struct nvdp__prefix){.model = model, .layers = model->frozen_layers, .dev = model->dev};
    if (model->dev.bf16 == NULL)
        NVDP_TRY(nvdp__rowwise_create(&model->dev,
                                      nvdp__max(bert->intermediate_size, bert->hidden_size),
                                      &made->dev.rowwise));
    return NVDP__HAND_OVER(out, made);
}

void nvdp__prefix_free(struct nvdp__prefix *prefix) {
    if (prefix == NULL) return;
    store_close(prefix->store);
    free(prefix->dev.rowwise);
    free(prefix->row);
    free(prefix);
}

nvdp_status nvdp__prefix_keep(struct nvdp__prefix *prefix, const char *directory,
                              const struct nvdp_dataset *dataset, size_t batch) {
    struct nvdp_context *ctx = prefix->model->ctx;
    const size_t width = prefix->model->info.bert.hidden_size;
    nvdp__autofree char *path = NULL;
    NVDP_TRY(store_path(prefix, directory, dataset, &path));
    if (nvdp__cache_make(ctx, directory) != NVDP_OK) {
        nvdp__log(
            ctx, NVDP_LOG_NOTICE,
            "cannot cache the states of the frozen layers, so they are computed in each step: %s",
            nvdp_context_error(ctx));
        return NVDP_OK;
    }
    if (!nvdp__exists(path))
        nvdp__cache_trim(ctx, directory,
                         NVDP__CACHE_LIMIT -
                             nvdp__min(NVDP__CACHE_LIMIT,
                                       nvdp__prefix_bytes(&prefix->model->info.bert, dataset)));
    NVDP_TRY(NVDP__NEW(ctx, prefix->store, 1));
    *prefix->store =
        (struct nvdp__prefix_store){.ctx = ctx, .fd = -1, .dataset = dataset, .width = width};
    NVDP__HAND_OVER(&prefix->store->path, path);
    nvdp_status status = NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(prefix->store->sum, dataset->count),
                                      NVDP__ITEMS(prefix->row, dataset->longest * width));
    if (status == NVDP_OK) status = open_or_make(prefix, batch);
    if (prefix->store->fd >= 0)
        nvdp__log(ctx, NVDP_LOG_INFO, "states of %zu texts after %zu frozen layers: %s, %.2f GiB",
                  dataset->count, prefix->layers, prefix->store->path,
                  (double)store_bytes(dataset, prefix->store->width) / (1 << 30));
    if (prefix->store->fd >= 0) return status;
    store_close(prefix->store); /* from now on, states are computed in each step */
    prefix->store = NULL;
    return status;
}
