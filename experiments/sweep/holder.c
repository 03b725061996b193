#include "holder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_ROOM = 4096, STATE_FIELD = 3, START_FIELD = 22 };

static void read_line(const char *path, size_t room, char *line) {
    FILE *file = fopen(path, "re");
    line[0] = '\0';
    if (file == NULL) return;
    if (fgets(line, (int)room, file) == NULL) line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    (void)fclose(file);
}

/* The process's state ('R', 'Z', ...) and its start in clock ticks after boot, from /proc/PID/stat.
 * The second field, a name in parentheses, may hold anything. */
static bool read_stat(int64_t pid, char *state, int64_t *started) {
    char path[64], line[LINE_ROOM];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    read_line(path, sizeof line, line);
    const char *at = strrchr(line, ')');
    if (at == NULL || sscanf(at + 1, " %c", state) != 1) return false;
    for (int field = STATE_FIELD; at != NULL && field <= START_FIELD; field++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL && sscanf(at, "%" SCNd64, started) == 1;
}

struct nvdp__holder nvdp__holder_self(void) {
    struct nvdp__holder self = {.pid = getpid()};
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

json_t *nvdp__holder_json(const struct nvdp__holder *holder) {
    return json_pack("{s:s,s:s,s:I,s:I}", "host", holder->host, "boot", holder->boot, "pid",
                     (json_int_t)holder->pid, "started", (json_int_t)holder->started);
}

static void take_text(const json_t *object, const char *key, size_t room, char *text) {
    const char *value = json_string_value(json_object_get(object, key));
    snprintf(text, room, "%s", value != NULL ? value : "");
}

struct nvdp__holder nvdp__holder_from_json(const json_t *object) {
    struct nvdp__holder holder = {.pid = json_integer_value(json_object_get(object, "pid")),
                                  .started =
                                      json_integer_value(json_object_get(object, "started"))};
    take_text(object, "host", sizeof holder.host, holder.host);
    take_text(object, "boot", sizeof holder.boot, holder.boot);
    return holder;
}

bool nvdp__holder_is_local(const struct nvdp__holder *self, const struct nvdp__holder *holder) {
    return self->boot[0] != '\0' && strcmp(self->boot, holder->boot) == 0;
}

bool nvdp__holder_is_alive(const struct nvdp__holder *holder) {
    char state = '\0';
    int64_t started = 0;
    if (!read_stat(holder->pid, &state, &started)) return false;
    return started == holder->started && state != 'Z' && state != 'X';
}
