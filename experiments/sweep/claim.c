#include "claim.h"

#include "base/file.h"
#include "base/json.h"
#include "train/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char *path_of(struct nvdp_context *ctx, const char *directory, const char *name,
                     uint64_t number) {
    return nvdp__format(ctx, "%s/claims/%s.%" PRIu64, directory, name, number);
}

/* --- looking --- */

/* Numbers have no gaps, so the last is the one whose successor is missing. */
static nvdp_status find_last(struct nvdp_context *ctx, const char *directory, const char *name,
                             struct nvdp__claim *claim) {
    for (;;) {
        char *next = path_of(ctx, directory, name, claim->number + 1);
        if (next == NULL) return NVDP_ERR_MEMORY;
        bool exists = nvdp__exists(next);
        free(next);
        if (!exists) return NVDP_OK;
        claim->number++;
        claim->watched = 0;
    }
}

/* The lock passes to a holder's workers and ends with the last of them: a worker that outlives its
 * holder for a moment keeps its run.  Where the file system has no locks the process alone tells.
 */
static bool is_locked(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return locked;
}

/* A holder elsewhere: heard of, not heard of, or silent for as long as it says it never would be.
 */
static enum nvdp__claim_state judge_remote(const char *path, double timeout,
                                           struct nvdp__claim *claim) {
    struct stat info;
    if (stat(path, &info) != 0) return NVDP__CLAIM_SILENT; /* between two versions of it */
    bool first = claim->watched == 0;
    bool renewed = info.st_mtim.tv_sec != claim->renewed.tv_sec ||
                   info.st_mtim.tv_nsec != claim->renewed.tv_nsec;
    if (first || renewed) {
        claim->heard = !first;
        claim->renewed = info.st_mtim;
        claim->watched = nvdp__now();
    }
    if (nvdp__now() - claim->watched > timeout) return NVDP__CLAIM_FREE;
    return claim->heard ? NVDP__CLAIM_HELD : NVDP__CLAIM_SILENT;
}

static enum nvdp__claim_state judge(const char *path, const json_t *record,
                                    const struct nvdp__holder *self, struct nvdp__claim *claim) {
    struct nvdp__holder holder = nvdp__holder_from_json(record);
    double timeout = json_number_value(json_object_get(record, "timeout"));
    if (json_object_get(record, "outcome") != NULL) return NVDP__CLAIM_FREE;
    if (!nvdp__holder_is_local(self, &holder))
        return judge_remote(path, timeout > 0 ? timeout : NVDP__CLAIM_TIMEOUT, claim);
    return nvdp__holder_is_alive(&holder) || is_locked(path) ? NVDP__CLAIM_HELD : NVDP__CLAIM_FREE;
}

nvdp_status nvdp__claim_look(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct nvdp__holder *self, struct nvdp__claim *claim,
                             enum nvdp__claim_state *state) {
    NVDP_RETURN_IF_FAILED(find_last(ctx, directory, name, claim));
    *state = NVDP__CLAIM_FREE;
    if (claim->number == 0) return NVDP_OK;
    char *path = path_of(ctx, directory, name, claim->number);
    if (path == NULL) return NVDP_ERR_MEMORY;
    json_t *record = NULL;
    /* a record that cannot be read has a holder that cannot be found: its age decides */
    nvdp_status status = nvdp__json_read(ctx, path, &record);
    if (status != NVDP_ERR_MEMORY) {
        *state = judge(path, record, self, claim);
        status = NVDP_OK;
    }
    json_decref(record);
    free(path);
    return status;
}

/* --- taking --- */

static json_t *record_json(const struct nvdp__holder *self, double timeout) {
    json_t *record = nvdp__holder_json(self);
    json_object_set_new(record, "nvdp_format", json_string("claim/1"));
    json_object_set_new(record, "timeout", json_real(timeout));
    json_object_set_new(record, "time", nvdp__now_json());
    return record;
}

/* The record beside its name, locked: *fd stays open. */
static nvdp_status write_beside(struct nvdp_context *ctx, const char *beside, const json_t *record,
                                int *fd) {
    char *text = json_dumps(record, JSON_INDENT(2));
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    size_t length = strlen(text);
    int opened = open(beside, O_RDWR | O_CLOEXEC);
    bool written = opened >= 0 && write(opened, text, length) == (ssize_t)length &&
                   write(opened, "\n", 1) == 1 && fsync(opened) == 0;
    int err = errno;
    free(text);
    if (!written) {
        if (opened >= 0) close(opened);
        return nvdp__fail_errno(ctx, err, "%s: cannot write", beside);
    }
    (void)flock(opened, LOCK_EX | LOCK_NB); /* without locks the process's number tells */
    *fd = opened;
    return NVDP_OK;
}

/* Gives the record its name; *won false where the name is taken.  A link that a server made and
 * whose answer was lost shows in the number of links. */
static nvdp_status publish(struct nvdp_context *ctx, const char *beside, const char *path, int fd,
                           bool *won) {
    struct stat info;
    *won = link(beside, path) == 0;
    int err = errno;
    if (!*won && fstat(fd, &info) == 0 && info.st_nlink == 2) *won = true;
    if (*won || err == EEXIST) return NVDP_OK;
    return nvdp__fail_errno(ctx, err, "%s: cannot make a claim (the file system needs hard links)",
                            path);
}

nvdp_status nvdp__claim_take(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct nvdp__holder *self, double timeout,
                             struct nvdp__claim *claim, bool *won) {
    nvdp_status status = NVDP_OK;
    char *beside = NULL;
    int fd = -1;
    json_t *record = record_json(self, timeout);
    char *path = path_of(ctx, directory, name, claim->number + 1);
    *won = false;
    if (path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__beside(ctx, path, &beside));
    NVDP_TRY(write_beside(ctx, beside, record, &fd));
    NVDP_TRY(publish(ctx, beside, path, fd, won));
    if (*won) {
        *claim = (struct nvdp__claim){.number = claim->number + 1, .fd = fd, .mine = true};
        fd = -1;
    }
cleanup:
    if (fd >= 0) close(fd);
    if (beside != NULL) (void)unlink(beside);
    free(beside);
    free(path);
    json_decref(record);
    return status;
}

/* --- holding --- */

nvdp_status nvdp__claim_renew(struct nvdp_context *ctx, const char *directory, const char *name,
                              struct nvdp__claim *claim, bool *lost) {
    char *next = path_of(ctx, directory, name, claim->number + 1);
    if (next == NULL) return NVDP_ERR_MEMORY;
    *lost = nvdp__exists(next);
    free(next);
    (void)futimens(claim->fd, NULL); /* one that fails is followed by another */
    return NVDP_OK;
}

nvdp_status nvdp__claim_release(struct nvdp_context *ctx, const char *directory, const char *name,
                                const struct nvdp__holder *self, const char *outcome,
                                struct nvdp__claim *claim) {
    json_t *record = record_json(self, NVDP__CLAIM_TIMEOUT);
    char *path = path_of(ctx, directory, name, claim->number);
    nvdp_status status = NVDP_ERR_MEMORY;
    json_object_set_new(record, "outcome", json_string(outcome));
    if (path != NULL) status = nvdp__json_write(ctx, path, record);
    json_decref(record);
    free(path);
    nvdp__claim_forget(claim);
    return status;
}

void nvdp__claim_forget(struct nvdp__claim *claim) {
    if (claim->mine) close(claim->fd);
    claim->mine = false;
}
