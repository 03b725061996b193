/* Runs ranks as threads (threads.h), for tests of training with several processes: first the
 * operations of nvdp/ranks.h, then the comparison of two runs. */
#include "threads.h"
#include "encoder/safetensors.h"

#include <pthread.h>

enum { MAX_RANKS = 8, QUEUE = 4096 };

struct sum {
    float *values;
    size_t count;
};

struct team {
    int size;
    pthread_barrier_t all;
    nvdp_status (*work)(struct nvdp_context *ctx, int rank, void *user);
    void *user;
    void *shown[MAX_RANKS]; /* pointer that each rank shows to the others */
};

struct member {
    struct team *team;
    int rank;
    struct sum queue[QUEUE];
    size_t queued;
    nvdp_status status;
    char message[NVDP__MESSAGE_SIZE];
};

/* Adds in the order of the ranks, so that each rank gets the same bits. */
static void add_floats(struct member *m, float *values, size_t count) {
    nvdp__autofree float *sum = calloc(count, sizeof *sum);
    m->team->shown[m->rank] = values;
    pthread_barrier_wait(&m->team->all);
    for (int r = 0; r < m->team->size; r++)
        for (size_t i = 0; i < count; i++)
            sum[i] += ((const float *)m->team->shown[r])[i];
    pthread_barrier_wait(&m->team->all);
    memcpy(values, sum, count * sizeof *sum);
}

static nvdp_status sum_start(void *user, float *values, size_t count) {
    struct member *m = user;
    if (m->queued == QUEUE) return NVDP_ERR_MEMORY;
    m->queue[m->queued++] = (struct sum){values, count};
    return NVDP_OK;
}

static nvdp_status sum_wait(void *user) {
    struct member *m = user;
    for (size_t i = 0; i < m->queued; i++)
        add_floats(m, m->queue[i].values, m->queue[i].count);
    m->queued = 0;
    return NVDP_OK;
}

static nvdp_status sum(void *user, double *values, size_t count) {
    struct member *m = user;
    nvdp__autofree double *total = calloc(count, sizeof *total);
    m->team->shown[m->rank] = values;
    pthread_barrier_wait(&m->team->all);
    for (int r = 0; r < m->team->size; r++)
        for (size_t i = 0; i < count; i++)
            total[i] += ((const double *)m->team->shown[r])[i];
    pthread_barrier_wait(&m->team->all);
    memcpy(values, total, count * sizeof *total);
    return NVDP_OK;
}

static nvdp_status broadcast(void *user, int root, void *bytes, size_t count) {
    struct member *m = user;
    m->team->shown[m->rank] = bytes;
    pthread_barrier_wait(&m->team->all);
    if (m->rank != root) memcpy(bytes, m->team->shown[root], count);
    pthread_barrier_wait(&m->team->all);
    return NVDP_OK;
}

static void *run(void *user) {
    struct member *m = user;
    struct nvdp_context *ctx = NULL;
    const struct nvdp_ranks ranks = {m->rank,  m->team->size, m,        sum_start,
                                     sum_wait, sum,           broadcast};
    m->status = nvdp_context_create(&ctx);
    if (m->status == NVDP_OK) m->status = nvdp_context_set_threads(ctx, 1);
    if (m->status == NVDP_OK) m->status = nvdp_context_set_ranks(ctx, &ranks);
    if (m->status == NVDP_OK) {
        nvdp__allow_plain_bf16(ctx);
        m->status = m->team->work(ctx, m->rank, m->team->user);
    }
    if (ctx != NULL) snprintf(m->message, sizeof m->message, "%s", nvdp_context_error(ctx));
    nvdp_context_free(ctx);
    return NULL;
}

void support_ranks(int size, nvdp_status (*work)(struct nvdp_context *ctx, int rank, void *user),
                   void *user) {
    struct team team = {.size = size, .work = work, .user = user};
    struct member *member = calloc((size_t)size, sizeof *member);
    pthread_t thread[MAX_RANKS];
    cr_assert(size <= MAX_RANKS && member != NULL);
    pthread_barrier_init(&team.all, NULL, (unsigned)size);
    for (int r = 0; r < size; r++) {
        member[r].team = &team;
        member[r].rank = r;
        cr_assert_eq(pthread_create(&thread[r], NULL, run, &member[r]), 0);
    }
    for (int r = 0; r < size; r++)
        pthread_join(thread[r], NULL);
    pthread_barrier_destroy(&team.all);
    for (int r = 0; r < size; r++)
        cr_expect_eq(member[r].status, NVDP_OK, "rank %d: %s", r, member[r].message);
    free(member);
}

/* ---- runs ---- */

static double apart(const char *a, const char *b) {
    struct nvdp_context *ctx = support_context();
    const char *const path[] = {a, b};
    struct nvdp__safetensors *file[2];
    double square = 0, all = 0;
    for (int i = 0; i < 2; i++)
        ok(nvdp__safetensors_open(ctx, path[i], &file[i]));
    for (size_t k = 0; k < nvdp__safetensors_count(file[0]); k++) {
        const struct nvdp__tensor_info *x = nvdp__safetensors_at(file[0], k);
        const struct nvdp__tensor_info *y = nvdp__safetensors_find(file[1], x->name);
        cr_assert(y != NULL && y->count == x->count, "%s", x->name);
        float *value[2] = {malloc(x->count * sizeof(float)), malloc(x->count * sizeof(float))};
        nvdp__safetensors_read_f32(x, value[0]);
        nvdp__safetensors_read_f32(y, value[1]);
        for (size_t i = 0; i < x->count; i++) {
            square += pow((double)value[0][i] - (double)value[1][i], 2);
            all += pow((double)value[0][i], 2);
        }
        free(value[0]);
        free(value[1]);
    }
    nvdp__safetensors_close(file[0]);
    nvdp__safetensors_close(file[1]);
    return sqrt(square / all);
}

/* Returns the first line of *text; NULL at its end. */
static json_t *next_line(char **text) {
    char *line = strsep(text, "\n");
    return line == NULL || *line == '\0' ? NULL : json_loads(line, 0, NULL);
}

void support_same_runs(const char *a, const char *b, const char *model, double tolerance) {
    static const char *const keys[] = {"loss",   "task_loss", "loss_g",        "loss_d",
                                       "nll",    "grad_norm", "next_loss",     "lr",
                                       "tokens", "step",      "next_accuracy", "epsilon_rdp"};
    char path[2][1024], *text[2], *at[2];
    json_t *line[2];
    size_t lines = 0;
    const char *const run[] = {a, b};
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/metrics.jsonl", run[i]);
        at[i] = text[i] = support_read(path[i]);
        snprintf(path[i], sizeof path[i], "%s/%s", run[i], model);
    }
    while ((line[0] = next_line(&at[0])) != NULL) {
        line[1] = next_line(&at[1]);
        cr_assert_not_null(line[1], "%s: fewer lines than %s", b, a);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            double x = json_number_value(json_object_get(line[0], keys[k]));
            double y = json_number_value(json_object_get(line[1], keys[k]));
            cr_expect_leq(fabs(x - y), tolerance * (fabs(x) + 0.01), "line %zu: %s: %.9g, %.9g",
                          lines + 1, keys[k], x, y);
        }
        json_decref(line[0]);
        json_decref(line[1]);
        lines++;
    }
    cr_expect_null(next_line(&at[1]));
    cr_expect_gt(lines, 3);
    cr_expect_leq(apart(path[0], path[1]), tolerance, "%g", apart(path[0], path[1]));
    free(text[0]);
    free(text[1]);
}
