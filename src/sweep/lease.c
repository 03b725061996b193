/* Leases decide which process may work on a run. They are safe between processes, and between machines on a shared file
 * system that creates links exclusively (NFS does).
 *
 * A run's leases are DIR/claims/NAME.1, NAME.2, ...; the last one counts. link() creates a lease, and only one of
 * several callers succeeds. No lease is ever removed. A process that takes over lease n of a dead process creates n+1,
 * so only one succeeds, and a late one finds the number taken.
 *
 * A process on the same machine is dead if its process id is gone, and so is the lock that it and its workers hold on
 * the lease. This shows at once. A process on another machine is dead if its lease's modification time, which it
 * renews, has not changed for the lease's timeout. The observer measures that time on its own clock, so clocks are
 * never compared. */
#include "internal.h"

#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- processes --- */

enum { LINE_SIZE = 4096, STATE_FIELD = 3, START_FIELD = 22 };

static void read_line(const char *path, size_t size, char *line) {
    FILE *file = fopen(path, "re");
    line[0] = '\0';
    if (file == NULL) return;
    if (fgets(line, (int)size, file) == NULL) line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    (void)fclose(file);
}

/* Reads a process's state ('R', 'Z', ...) and its start in clock ticks after boot from /proc/PID/stat. The second
 * field, a name in parentheses, may contain anything. */
static bool read_stat(int64_t pid, char *state, int64_t *started) {
    char path[64], line[LINE_SIZE];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    read_line(path, sizeof line, line);
    const char *at = strrchr(line, ')');
    if (at == NULL || sscanf(at + 1, " %c", state) != 1) return false;
    for (int field = STATE_FIELD; at != NULL && field <= START_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at != NULL && sscanf(at, "%" SCNd64, started) == 1;
}

struct sweep_process sweep_process_self(void) {
    struct sweep_process self = {.pid = getpid()};
    char boot[40], space[24] = "", state;
    if (gethostname(self.host, sizeof self.host - 1) != 0) self.host[0] = '\0';
    read_line("/proc/sys/kernel/random/boot_id", sizeof boot, boot);
    ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    if (length > 0) space[length] = '\0';
    bool known = read_stat(self.pid, &state, &self.started);
    if (known && boot[0] != '\0' && length > 0)
        snprintf(self.boot, sizeof self.boot, "%s %s", boot, space);
    return self;
}

/* Returns true if the process of a record still runs. The process id must be valid here: same boot, same namespace. */
static bool is_alive(const json_t *record) {
    char state = '\0';
    int64_t started = 0;
    if (!read_stat(json_integer_value(json_object_get(record, "pid")), &state, &started))
        return false;
    return started == json_integer_value(json_object_get(record, "started")) && state != 'Z' &&
           state != 'X';
}

static char *path_of(struct nvdp_context *ctx, const char *directory, const char *name,
                     uint64_t number) {
    return nvdp__format(ctx, "%s/claims/%s.%" PRIu64, directory, name, number);
}

/* --- checking --- */

/* Returns true if the lease is locked. A process's workers inherit the lock, and it ends with the last of them, so a
 * worker that outlives its parent briefly keeps its run. Without file locks only the process id counts. */
static bool is_locked(const char *path) {
    int fd = -1;
    if (nvdp__open_regular(NULL, path, &fd) != NVDP_OK) return false;
    bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return locked;
}

/* Judges a process on another machine: renewed since first seen, not yet renewed, or past its own timeout. */
static enum sweep_lease_state remote_state(const char *path, double timeout,
                                           struct sweep_lease *lease) {
    struct stat info;
    if (stat(path, &info) != 0) return SWEEP_LEASE_SILENT; /* missing while it is replaced */
    bool first = lease->watched == 0;
    bool renewed = info.st_mtim.tv_sec != lease->renewed.tv_sec ||
                   info.st_mtim.tv_nsec != lease->renewed.tv_nsec;
    if (first || renewed) {
        lease->heard = !first;
        lease->renewed = info.st_mtim;
        lease->watched = nvdp__now();
    }
    if (nvdp__now() - lease->watched > timeout) return SWEEP_LEASE_FREE;
    return lease->heard ? SWEEP_LEASE_HELD : SWEEP_LEASE_SILENT;
}

/* Judges a lease. A record with missing members counts as from another machine. */
static enum sweep_lease_state claim_state(const char *path, const json_t *record,
                                          const struct sweep_process *self,
                                          struct sweep_lease *lease) {
    const char *boot = json_string_value(json_object_get(record, "boot"));
    double timeout = json_number_value(json_object_get(record, "timeout"));
    if (json_object_get(record, "outcome") != NULL) return SWEEP_LEASE_FREE;
    if (self->boot[0] == '\0' || boot == NULL || strcmp(self->boot, boot) != 0)
        return remote_state(path, timeout > 0 ? timeout : SWEEP_LEASE_TIMEOUT, lease);
    return is_alive(record) || is_locked(path) ? SWEEP_LEASE_HELD : SWEEP_LEASE_FREE;
}

nvdp_status sweep_lease_look(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct sweep_process *self, struct sweep_lease *lease,
                             enum sweep_lease_state *state) {
    /* Numbers have no gaps, so the last lease is the one without a successor. */
    for (bool exists = true; exists;) {
        char *next = path_of(ctx, directory, name, lease->number + 1);
        if (next == NULL) return NVDP_ERR_MEMORY;
        exists = nvdp__exists(next);
        free(next);
        if (!exists) break;
        lease->number++;
        lease->watched = 0;
    }
    *state = SWEEP_LEASE_FREE;
    if (lease->number == 0) return NVDP_OK;
    char *path = path_of(ctx, directory, name, lease->number);
    if (path == NULL) return NVDP_ERR_MEMORY;
    json_t *record = NULL;
    /* An unreadable record has no process, so its age decides. */
    nvdp_status status = nvdp__json_read(ctx, path, &record);
    if (status != NVDP_ERR_MEMORY) {
        *state = claim_state(path, record, self, lease);
        status = NVDP_OK;
    }
    json_decref(record);
    free(path);
    return status;
}

/* --- taking --- */

static json_t *record_json(const struct sweep_process *self, double timeout) {
    return json_pack("{s:s,s:s,s:I,s:I,s:s,s:f,s:o}", "host", self->host, "boot", self->boot, "pid",
                     (json_int_t)self->pid, "started", (json_int_t)self->started, "nvdp_format",
                     "claim/1", "timeout", timeout, "time", nvdp__now_json());
}

/* Writes the record to a temporary name and locks it. *fd stays open. */
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
    (void)flock(opened, LOCK_EX | LOCK_NB); /* without locks the process id decides */
    *fd = opened;
    return NVDP_OK;
}

nvdp_status sweep_lease_take(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct sweep_process *self, double timeout,
                             struct sweep_lease *lease, bool *won) {
    nvdp_status status = NVDP_OK;
    char *beside = NULL;
    int fd = -1;
    struct stat info;
    json_t *record = record_json(self, timeout);
    char *path = path_of(ctx, directory, name, lease->number + 1);
    *won = false;
    if (path == NULL) NVDP_TRY_OR_CLEAN(NVDP_ERR_MEMORY);
    NVDP_TRY_OR_CLEAN(nvdp__create_temporary(ctx, path, &beside, NULL));
    NVDP_TRY_OR_CLEAN(write_beside(ctx, beside, record, &fd));
    *won = link(beside, path) == 0;
    int err = errno;
    /* If the server's reply to link() was lost, the number of links shows success. */
    if (!*won && fstat(fd, &info) == 0 && info.st_nlink == 2) *won = true;
    if (!*won && err != EEXIST)
        NVDP_TRY_OR_CLEAN(nvdp__fail_errno(
            ctx, err, "%s: cannot create a lock; the file system must support hard links", path));
    if (*won) {
        *lease = (struct sweep_lease){.number = lease->number + 1, .fd = fd, .mine = true};
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

nvdp_status sweep_lease_renew(struct nvdp_context *ctx, const char *directory, const char *name,
                              struct sweep_lease *lease, bool *lost) {
    char *next = path_of(ctx, directory, name, lease->number + 1);
    if (next == NULL) return NVDP_ERR_MEMORY;
    *lost = nvdp__exists(next);
    free(next);
    (void)futimens(lease->fd, NULL); /* a failed renewal is repeated later */
    return NVDP_OK;
}

nvdp_status sweep_lease_release(struct nvdp_context *ctx, const char *directory, const char *name,
                                const struct sweep_process *self, const char *outcome,
                                struct sweep_lease *lease) {
    json_t *record = record_json(self, SWEEP_LEASE_TIMEOUT);
    char *path = path_of(ctx, directory, name, lease->number);
    nvdp_status status = NVDP_ERR_MEMORY;
    json_object_set_new(record, "outcome", json_string(outcome));
    if (path != NULL) status = nvdp__json_write(ctx, path, record);
    json_decref(record);
    free(path);
    sweep_lease_forget(lease);
    return status;
}

void sweep_lease_forget(struct sweep_lease *lease) {
    if (lease->mine) close(lease->fd);
    lease->mine = false;
}
