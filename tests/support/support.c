/* Helpers for all tests (support.h): contexts, paths, scratch directories, files, comparison of
 * numbers. */
#include "support.h"

#include "options/schema.h"
#include "tensor/bf16.h"

#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { PATH_SIZE = 4096 };

void support_bf16(struct nvdp_context *ctx) {
    if (nvdp__bf16_missing(true) != NULL) cr_skip_test("bf16: %s", nvdp__bf16_missing(true));
    if (ctx != NULL && nvdp__bf16_missing(false) != NULL) nvdp__allow_plain_bf16(ctx);
}

/* Contexts of this thread. */
static _Thread_local struct nvdp_context *contexts[1024];
static _Thread_local size_t context_count;

/* Returns the message of the newest context that has one. */
static const char *newest_message(void) {
    for (size_t i = context_count; i > 0; i--)
        if (*nvdp_context_error(contexts[i - 1]) != '\0')
            return nvdp_context_error(contexts[i - 1]);
    return "";
}

/* Returns a context, or NULL. No assertion: tests have not begun when it makes `ctx`. */
static struct nvdp_context *try_context(void) {
    struct nvdp_context *ctx = NULL;
    if (nvdp_context_create(&ctx) != NVDP_OK || nvdp_context_set_threads(ctx, 2) != NVDP_OK)
        return NULL;
    nvdp_context_set_option_style(ctx, NVDP_OPTION_STYLE_DASHES);
    if (context_count < sizeof contexts / sizeof *contexts) contexts[context_count++] = ctx;
    return ctx;
}

struct nvdp_context *support_context(void) {
    struct nvdp_context *ctx = try_context();
    cr_assert_not_null(ctx);
    return support_keep(ctx);
}

void support_ok(nvdp_status status, const char *call, const char *file, int line) {
    cr_assert_eq(status, NVDP_OK, "%s:%d: %s: %s: %s", file, line, call, nvdp_status_name(status),
                 newest_message());
}

void support_fails(nvdp_status found, nvdp_status expected, const char *words, const char *call,
                   const char *file, int line) {
    const char *message = newest_message();
    cr_assert_eq(found, expected, "%s:%d: %s: expected %s, found %s: %s", file, line, call,
                 nvdp_status_name(expected), nvdp_status_name(found), message);
    cr_assert_not_null(strstr(message, words), "%s:%d: %s: '%s' is not in: %s", file, line, call,
                       words, message);
}

static char *formatted(const char *format, va_list args) {
    char *text = NULL;
    cr_assert_gt(vasprintf(&text, format, args), -1);
    return support_keep(text);
}

const char *support_path(const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *path = formatted(format, args);
    va_end(args);
    return path;
}

const char *support_quoted(const char *text) {
    if (strchr(text, '"') != NULL) return text;
    char *quoted = strdup(text);
    for (char *at = quoted; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    return support_keep(quoted);
}

static const char *shared_path(const char *relative) {
    const char *root = getenv("NVDP_SHARED");
    return root != NULL ? support_path("%s/%s", root, relative)
                        : support_path("%s/../shared/%s", NVDP_SOURCE_DIR, relative);
}

bool support_has_shared(const char *relative) {
    return access(shared_path(relative), R_OK) == 0;
}

const char *support_shared(const char *relative) {
    const char *path = shared_path(relative);
    if (access(path, R_OK) != 0) cr_skip_test("reference data %s is not here", relative);
    return path;
}

const char *support_golden(const char *name) {
    const char *path = support_path("%s/tests/golden/%s", NVDP_SOURCE_DIR, name);
    cr_assert_eq(access(path, R_OK), 0, "cannot read %s", path);
    return path;
}

static char scratch[PATH_SIZE / 2];

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk) {
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void remove_scratch(void) {
    nftw(scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *support_scratch(void) {
    if (scratch[0] == '\0') {
        const char *base = getenv("TMPDIR");
        snprintf(scratch, sizeof scratch, "%s/nvdp-test-XXXXXX", base != NULL ? base : "/tmp");
        cr_assert_not_null(mkdtemp(scratch));
        atexit(remove_scratch);
    }
    return scratch;
}

const char *support_scratch_path(const char *name) {
    return support_path("%s/%s", support_scratch(), name);
}

void support_write(const char *path, const void *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "cannot write %s", path);
    cr_assert_eq(fwrite(bytes, 1, count, file), count);
    cr_assert_eq(fclose(file), 0);
}

void support_write_text(const char *path, const char *text) {
    support_write(path, text, strlen(text));
}

const char *support_file(const char *name, const char *text) {
    const char *path = support_scratch_path(name);
    support_write_text(path, text);
    return path;
}

const char *support_folder_of(const char *name, const char *const *files) {
    const char *path = support_scratch_path(name);
    mkdir(path, 0777);
    for (; files[0] != NULL; files += 2)
        support_write_text(support_path("%s/%s", path, files[0]), files[1]);
    return path;
}

char *support_read(const char *path) {
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "cannot read %s", path);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    rewind(file);
    char *text = calloc(1, (size_t)size + 1);
    cr_assert_eq(fread(text, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    return support_keep(text);
}

size_t support_size(const char *path) {
    struct stat info;
    cr_assert_eq(stat(path, &info), 0, "%s", path);
    return (size_t)info.st_size;
}

void support_decimal_comma(void) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    char command[PATH_SIZE];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (setlocale(LC_ALL, names[i]) != NULL) return;
    }
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/%s' 2>/dev/null",
             support_scratch(), names[0]);
    if (system(command) != 0 || setenv("LOCPATH", support_scratch(), 1) != 0 ||
        setlocale(LC_ALL, names[0]) == NULL)
        cr_skip_test("no locale with a decimal comma, and none can be made");
}

bool support_same_file(const char *directory_a, const char *directory_b, const char *name) {
    const char *path = support_path("%s/%s", directory_a, name);
    FILE *a = fopen(path, "rb");
    cr_assert_not_null(a, "cannot read %s", path);
    path = support_path("%s/%s", directory_b, name);
    FILE *b = fopen(path, "rb");
    cr_assert_not_null(b, "cannot read %s", path);
    int x, y;
    do {
        x = getc(a);
        y = getc(b);
    } while (x == y && x != EOF);
    fclose(a);
    fclose(b);
    return x == y;
}

void support_contains_all(const char *text, const char *const *parts) {
    for (; *parts != NULL; parts++)
        cr_assert_not_null(strstr(text, *parts), "'%s' is not in: %s", *parts, text);
}

void support_lacks_all(const char *text, const char *const *parts) {
    for (; *parts != NULL; parts++)
        cr_assert_null(strstr(text, *parts), "'%s' is in: %s", *parts, text);
}

json_t *support_json(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    cr_assert_not_null(root, "%s: %s", path, error.text);
    return support_keep(root);
}

json_t *support_parsed(const char *text) {
    json_error_t error;
    json_t *root = json_loads(support_quoted(text), 0, &error);
    cr_assert_not_null(root, "%s: %s", error.text, text);
    return support_keep(root);
}

json_t *support_golden_json(const char *name) {
    return support_json(support_golden(name));
}

double support_number(const json_t *value) {
    if (!json_is_string(value)) {
        cr_assert(json_is_number(value));
        return json_number_value(value);
    }
    char *end;
    double number = strtod(json_string_value(value), &end);
    cr_assert(*json_string_value(value) != 0 && *end == 0, "not a number: %s",
              json_string_value(value));
    return number;
}

double *support_numbers(const json_t *array, size_t *count) {
    *count = json_array_size(array);
    double *values = calloc(*count + 1, sizeof *values);
    cr_assert_not_null(values);
    for (size_t i = 0; i < *count; i++) {
        values[i] = support_number(json_array_get(array, i));
    }
    return support_keep(values);
}

json_t *support_at(const json_t *root, const char *path) {
    while (root != NULL && *path != '\0') {
        const size_t length = strcspn(path, "/");
        char key[64];
        cr_assert_lt(length, sizeof key, "%s", path);
        memcpy(key, path, length);
        key[length] = '\0';
        root = json_is_array(root) ? json_array_get(root, strtoul(key, NULL, 10))
                                   : json_object_get(root, key);
        path += length + (path[length] == '/');
    }
    return (json_t *)root;
}

double number_at(const json_t *root, const char *path) {
    return json_number_value(support_at(root, path));
}

json_int_t integer_at(const json_t *root, const char *path) {
    return json_integer_value(support_at(root, path));
}

const char *text_at(const json_t *root, const char *path) {
    return json_string_value(support_at(root, path));
}

void support_has(const json_t *root, const char *members) {
    const char *key;
    json_t *value;
    json_t *wanted = support_parsed(members);
    json_object_foreach(wanted, key, value) {
        const json_t *found = support_at(root, key);
        const bool same =
            json_is_number(value)
                ? json_is_number(found) && json_number_value(found) == json_number_value(value)
                : json_equal(found, value);
        cr_expect(same, "%s: expected %s, found %s", key,
                  (char *)support_keep(json_dumps(value, JSON_ENCODE_ANY)),
                  (char *)support_keep(json_dumps(found, JSON_ENCODE_ANY)));
    }
}

size_t support_repeats(const char *variable, size_t usual) {
    const char *wanted = getenv(variable);
    return wanted != NULL ? strtoul(wanted, NULL, 10) : usual;
}

size_t support_fewer(size_t usual) {
#ifdef NVDP_SANITIZED
    return usual / 4;
#else
    return usual;
#endif
}

struct nvdp__stream support_stream(uint64_t seed, uint64_t text) {
    const struct nvdp__noise noise = {.seed = seed};
    return nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, text);
}

unsigned support_seed(const char *variable) {
    return getenv(variable) != NULL ? (unsigned)time(NULL) : 1;
}

double support_relative(double got, double want, double floor) {
    if (got == want) return 0; /* covers equal infinities */
    return fabs(got - want) / fmax(fabs(want), floor);
}

/* Expects that the difference of two numbers is at most `largest`, unless they are equal. */
static void within(double got, double want, double largest, const char *what, const char *file,
                   int line, const char *format, va_list args) {
    char message[1024];
    vsnprintf(message, sizeof message, format, args);
    cr_expect(got == want || fabs(got - want) <= largest,
              "%s:%d: %s: expected %.17g within %.3g, found %.17g:%s", file, line, what, want,
              largest, got, message);
}

void support_agrees(double got, double want, double tolerance, const char *what, const char *file,
                    int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    within(got, want, tolerance * fabs(want), what, file, line, format, args);
    va_end(args);
}

void support_near(double got, double want, double tolerance, const char *what, const char *file,
                  int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    within(got, want, tolerance, what, file, line, format, args);
    va_end(args);
}

double support_norm_error(size_t n, const float *got, const double *want) {
    double difference = 0;
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += (got[i] - want[i]) * (got[i] - want[i]);
        norm += want[i] * want[i];
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

void support_set(struct nvdp_context *ctx, struct nvdp_config *config, const char *name,
                 const char *value) {
    cr_assert_eq(nvdp_config_set(config, name, value), NVDP_OK, "%s: %s", name,
                 nvdp_context_error(ctx));
}

void support_set_list(struct nvdp_context *ctx, struct nvdp_config *config, va_list options) {
    for (const char *name; (name = va_arg(options, const char *)) != NULL;)
        support_set(ctx, config, name, va_arg(options, const char *));
}

void support_set_all(struct nvdp_context *ctx, struct nvdp_config *config, ...) {
    va_list options;
    va_start(options, config);
    support_set_list(ctx, config, options);
    va_end(options);
}

struct nvdp_config *support_config(struct nvdp_context *ctx, const char *kind, ...) {
    struct nvdp_config *config = NULL;
    va_list options;
    ok(nvdp_config_create(ctx, kind, &config));
    va_start(options, kind);
    support_set_list(ctx, config, options);
    va_end(options);
    return support_keep(config);
}

void support_options(struct nvdp_context *ctx, struct nvdp_config *config, const char *format,
                     ...) {
    char *rest = NULL;
    va_list args;
    va_start(args, format);
    char *name = strtok_r(formatted(format, args), " ", &rest);
    va_end(args);
    for (; name != NULL; name = strtok_r(NULL, " ", &rest))
        support_set(ctx, config, name, strtok_r(NULL, " ", &rest));
}

const char *support_result_text(struct nvdp_context *ctx, const void *result, const char *view) {
    char *text = NULL;
    ok(nvdp_result_text(ctx, result, view, &text));
    return support_keep(text);
}

json_t *support_result_json(struct nvdp_context *ctx, const void *result, const char *view) {
    nvdp__autofree char *text = NULL;
    ok(nvdp_result_json(ctx, result, view, &text));
    json_t *root = json_loads(text, 0, NULL);
    cr_assert_not_null(root, "no JSON: %s", text);
    return support_keep(root);
}

void support_values(const struct nvdp__schema *schema, void *values, const char *options) {
    char *rest = NULL;
    for (char *name = strtok_r(support_keep(strdup(options)), " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        const char *text = strtok_r(NULL, " ", &rest);
        struct nvdp__place place;
        union nvdp__value value;
        bool found = false;
        for (size_t i = 0; !found && nvdp__schema_row(schema, i, &place); i++)
            found = strcmp(place.row->name, name) == 0;
        cr_assert(found, "unknown option '%s'", name);
        cr_assert(text != NULL && nvdp__option_parse(place.row, text, &value), "option %s", name);
        memcpy((char *)values + place.offset, &value, place.row->width);
    }
}

void support_refused(struct nvdp_context *ctx, struct nvdp_config *config, const char *name,
                     const char *value, const char *part) {
    cr_assert_eq(nvdp_config_set(config, name, value), NVDP_ERR_ARGUMENT, "%s", name);
    cr_assert_not_null(strstr(nvdp_context_error(ctx), part), "%s", nvdp_context_error(ctx));
}

void *support_keep(void *memory) {
    static void *kept[1 << 18]; /* reachable, so no leak */
    static size_t count;
    const size_t at = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    cr_assert_lt(at, sizeof kept / sizeof *kept);
    return kept[at] = memory;
}

void *support_keep_copy(const void *memory, size_t size) {
    void *copy = malloc(size);
    cr_assert_not_null(copy);
    return support_keep(memcpy(copy, memory, size));
}

void support_keep_parts_of(const void *object, size_t size) {
    support_keep_copy(object, size);
}

void support_lose(int call, int argument, unsigned bits, int error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 (unsigned)offsetof(struct seccomp_data, args) + 8 * (unsigned)argument),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        cr_skip_test("no filters of system calls here");
}

uint64_t support_fail_first(struct nvdp_context *ctx) {
    nvdp__fail_allocation(ctx, 1);
    return 1;
}

bool support_failed(struct nvdp_context *ctx, uint64_t *k, nvdp_status status) {
    if (status == NVDP_OK) {
        nvdp__fail_allocation(ctx, 0);
        return false;
    }
    cr_assert_eq(status, NVDP_ERR_MEMORY, "allocation %d: %s", (int)*k, nvdp_context_error(ctx));
    cr_assert_lt(*k, 10000);
    nvdp__fail_allocation(ctx, ++*k);
    return true;
}

void support_lose_unnamed(void) {
    support_lose(SYS_openat, 2, O_TMPFILE, EOPNOTSUPP);
}

/* --- the context of a test (test_context.h) --- */

struct nvdp_context *ctx;

__attribute__((constructor)) static void make_context(void) {
    ctx = try_context();
    if (ctx == NULL) abort();
}
