/* Matrix products through oneDNN 2 (oneAPI Deep Neural Network Library), which generates code
 * for the processor at run time. No other file calls oneDNN.
 *
 * In float32, oneDNN is faster than OpenBLAS 0.3.21 on every shape of an encoder (experiments/results/performance.md).
 *
 * In bfloat16, a primitive is a product compiled for its shape. The creation of a primitive takes about half a
 * millisecond, so primitives are cached by kind and shape. Weights are reordered from float32 [out, in] into the
 * blocked bfloat16 layout that a primitive asks for. Primitives with the same layout share the copy, which is made
 * again after nvdp__bf16_weights_changed. Integer products (int8.c) are primitives of the same kind with int8 weights.
 *
 * A lane is an engine for one of several concurrent threads: it has separate primitives and a separate workspace,
 * and shares the copies of weights with the parent engine. oneDNN would keep one workspace per primitive or,
 * depending on the build, one workspace per thread that no other thread may use. Therefore each engine has its own
 * workspace. */
#include "tensor/bf16.h"
#include "tensor/int8.h"
#include "tensor/ops.h"

#include <dnnl.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

/* Min number of multiplications from which float32 products through oneDNN are faster. */
enum { LARGE = 1 << 18 };

bool nvdp__onednn_gemm(float alpha, unsigned flags, struct nvdp__tensor a, struct nvdp__tensor b,
                       float beta, struct nvdp__tensor c) {
    size_t k = flags & NVDP__TRANSPOSE_A ? a.rows : a.cols;
    if ((double)c.rows * (double)c.cols * (double)k < LARGE) return false;
    return dnnl_sgemm(flags & NVDP__TRANSPOSE_A ? 'T' : 'N', flags & NVDP__TRANSPOSE_B ? 'T' : 'N',
                      (dnnl_dim_t)c.rows, (dnnl_dim_t)c.cols, (dnnl_dim_t)k, alpha, a.data,
                      (dnnl_dim_t)a.stride, b.data, (dnnl_dim_t)b.stride, beta, c.data,
                      (dnnl_dim_t)c.stride) == dnnl_success;
}

/* Batches of many text lengths have many shapes: beyond MAX_PRODUCTS, all primitives are freed. */
enum { BUCKETS = 256, MAX_PRODUCTS = 1024, AMX = dnnl_cpu_isa_avx512_core_amx };

enum kind { FORWARD, BACKWARD_INPUT, BACKWARD_WEIGHT };

struct key {
    enum kind kind;
    size_t rows, in, out;
    bool single, add, bias, int8; /* int8 is true for products of uint8 and int8 to int32 */
    /* number of threads, because oneDNN divides the work when the primitive is created */
    int threads;
};

struct product {
    struct product *next;
    struct key key;
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t weight_layout;
    /* the storage is set at each call; the primitive does not own `weight` */
    dnnl_memory_t from, weight, bias, to;
    dnnl_memory_t workspace;
};

/* One weight in one layout. */
struct packed {
    struct packed *next;
    const void *weight; /* float32, or int8 in an integer product */
    bool transposed;    /* true for [in, out] as in the forward product, false for [out, in] */
    uint64_t version;
    dnnl_memory_desc_t layout;
    void *memory; /* memory of `blocked` */
    dnnl_memory_t plain, blocked;
    dnnl_primitive_t reorder;
    dnnl_memory_t workspace;
};

/* The state that an engine and its lanes share. */
struct shared {
    pthread_mutex_t lock;
    nvdp_status status;
    uint64_t version;
    struct packed *packed[BUCKETS];
};

struct nvdp__bf16_engine {
    struct nvdp_context *ctx;
    nvdp_status status; /* status of this engine; the shared status covers all lanes */
    struct shared *shared;
    bool lane;
    dnnl_engine_t engine; /* a lane uses its parent's engine */
    dnnl_stream_t stream;
    nvdp__bf16 *scratch[2]; /* inputs and gradients, `capacity` elements each; not owned */
    size_t capacity[2];
    bool tiles; /* true if the processor has AMX */
    void *workspace;
    size_t workspace_size;
    size_t products;
    struct product *product[BUCKETS];
};

const char *nvdp__bf16_missing(bool plain) {
    int isa = (int)dnnl_get_effective_cpu_isa();
    int needed = plain ? (int)dnnl_cpu_isa_avx512_core : (int)dnnl_cpu_isa_avx512_core_bf16;
    if ((isa & needed) == needed) return NULL;
    return plain ? "this processor has no AVX-512"
                 : "this processor has no bfloat16 instructions (AVX512_BF16)";
}

void nvdp__bf16_lock(struct nvdp__bf16_engine *bf16) {
    pthread_mutex_lock(&bf16->shared->lock);
}

void nvdp__bf16_unlock(struct nvdp__bf16_engine *bf16) {
    pthread_mutex_unlock(&bf16->shared->lock);
}

/* Records a failure; the shared status keeps the first failure of all lanes. The caller holds the lock. */
static void stop(struct nvdp__bf16_engine *bf16, nvdp_status status) {
    bf16->status = status;
    if (bf16->shared->status == NVDP_OK) bf16->shared->status = status;
}

static void fail(struct nvdp__bf16_engine *bf16, dnnl_status_t code, const char *what) {
    if (bf16->status != NVDP_OK) return;
    nvdp__bf16_lock(bf16);
    if (code == dnnl_out_of_memory)
        stop(bf16, nvdp__fail(bf16->ctx, NVDP_ERR_MEMORY,
                              "out of memory for matrix products, in %s", what));
    else
        stop(bf16,
             nvdp__fail(bf16->ctx, NVDP_ERR_UNSUPPORTED,
                        "matrix products: oneDNN failed with status %d in %s", (int)code, what));
    nvdp__bf16_unlock(bf16);
}

nvdp_status nvdp__bf16_status(const struct nvdp__bf16_engine *bf16) {
    pthread_mutex_lock(&bf16->shared->lock);
    nvdp_status status = bf16->shared->status;
    pthread_mutex_unlock(&bf16->shared->lock);
    return status;
}

/* Calls oneDNN unless an earlier call failed. */
#define TRY(bf16, call)                                                                            \
    do {                                                                                           \
        if ((bf16)->status == NVDP_OK) {                                                           \
            dnnl_status_t code_ = (call);                                                          \
            if (code_ != dnnl_success) fail(bf16, code_, #call);                                   \
        }                                                                                          \
    } while (0)

/* The mutex is recursive, because a failure inside a locked section locks the mutex again to record the error. */
static struct shared *make_shared(struct nvdp_context *ctx) {
    struct shared *shared = nvdp__calloc(ctx, 1, sizeof *shared);
    pthread_mutexattr_t recursive;
    if (shared == NULL) return NULL;
    shared->version = 1;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&shared->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    return shared;
}

/* Creates an engine; if parent is not NULL, creates a lane of `parent`. */
static nvdp_status create(struct nvdp_context *ctx, const struct nvdp__bf16_engine *parent,
                          struct nvdp__bf16_engine **out) {
    struct nvdp__bf16_engine *bf16 = nvdp__calloc(ctx, 1, sizeof *bf16);
    if (bf16 == NULL) return NVDP_ERR_MEMORY;
    bf16->ctx = ctx;
    bf16->lane = parent != NULL;
    bf16->shared = bf16->lane ? parent->shared : make_shared(ctx);
    if (bf16->shared == NULL) {
        free(bf16);
        return NVDP_ERR_MEMORY;
    }
    bf16->tiles = ((int)dnnl_get_effective_cpu_isa() & AMX) == AMX;
    if (bf16->lane)
        bf16->engine = parent->engine;
    else
        TRY(bf16, dnnl_engine_create(&bf16->engine, dnnl_cpu, 0));
    TRY(bf16, dnnl_stream_create(&bf16->stream, bf16->engine, dnnl_stream_default_flags));
    if (bf16->status == NVDP_OK) {
        *out = bf16;
        return NVDP_OK;
    }
    nvdp_status status = bf16->status;
    nvdp__bf16_free(bf16);
    return status;
}

nvdp_status nvdp__bf16_lane(struct nvdp__bf16_engine *bf16, struct nvdp__bf16_engine **out) {
    return create(bf16->ctx, bf16, out);
}

nvdp_status nvdp__bf16_create(struct nvdp_context *ctx, bool plain,
                              struct nvdp__bf16_engine **out) {
    const char *missing = nvdp__bf16_missing(plain);
    if (missing != NULL) return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "bf16: %s", missing);
    return create(ctx, NULL, out);
}

int nvdp__int8_largest(void) {
    int isa = (int)dnnl_get_effective_cpu_isa(), avx2 = (int)dnnl_cpu_isa_avx2;
    int wide = (int)dnnl_cpu_isa_avx512_core_vnni, narrow = (int)dnnl_cpu_isa_avx2_vnni;
    if ((isa & wide) == wide || (isa & narrow) == narrow) return 255;
    return (isa & avx2) == avx2 ? 127 : 0; /* VPMADDUBSW needs 2 * 127 * 127 < 2^15 */
}

const char *nvdp__int8_missing(void) {
    return nvdp__int8_largest() == 255
               ? NULL
               : "this processor has no 8-bit dot products (AVX512_VNNI or AVX_VNNI)";
}

nvdp_status nvdp__int8_products(struct nvdp_context *ctx, struct nvdp__bf16_engine **out) {
    if (nvdp__int8_largest() == 0)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "this processor has no products of 8-bit integers");
    return create(ctx, NULL, out);
}

void nvdp__bf16_scratch(struct nvdp__bf16_engine *bf16, nvdp__bf16 *input, size_t inputs,
                        nvdp__bf16 *gradient, size_t gradients) {
    bf16->scratch[0] = input;
    bf16->capacity[0] = inputs;
    bf16->scratch[1] = gradient;
    bf16->capacity[1] = gradients;
}

struct nvdp__tensor nvdp__bf16_rounded(const struct nvdp__device *dev, bool gradient,
                                       struct nvdp__tensor x) {
    struct nvdp__bf16_engine *bf16 = dev->bf16;
    if (x.type == NVDP__BF16) return x;
    struct nvdp__tensor rounded = {NVDP__BF16, x.rows, x.cols, x.cols, bf16->scratch[gradient]};
    if (nvdp__bf16_rows(x.rows) * x.cols > bf16->capacity[gradient]) {
        nvdp__bf16_lock(bf16);
        if (bf16->status == NVDP_OK)
            stop(bf16,
                 nvdp__fail(bf16->ctx, NVDP_ERR_STATE,
                            "bfloat16 products: a tensor of %zu x %zu exceeds the planned size",
                            x.rows, x.cols));
        nvdp__bf16_unlock(bf16);
        return NVDP__NO_TENSOR;
    }
    nvdp__convert(dev, x, rounded);
    return rounded;
}

static void free_product(struct product *product) {
    dnnl_primitive_destroy(product->primitive);
    dnnl_memory_destroy(product->from);
    dnnl_memory_destroy(product->weight);
    dnnl_memory_destroy(product->bias);
    dnnl_memory_destroy(product->to);
    dnnl_memory_destroy(product->workspace);
    free(product);
}

static void free_packed(struct packed *packed) {
    dnnl_primitive_destroy(packed->reorder);
    dnnl_memory_destroy(packed->plain);
    dnnl_memory_destroy(packed->blocked);
    dnnl_memory_destroy(packed->workspace);
    free(packed->memory);
    free(packed);
}

static void free_products(struct nvdp__bf16_engine *bf16) {
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct product *p = bf16->product[i], *next; p != NULL; p = next) {
            next = p->next;
            free_product(p);
        }
        bf16->product[i] = NULL;
    }
    bf16->products = 0;
}

void nvdp__bf16_free(struct nvdp__bf16_engine *bf16) {
    if (bf16 == NULL) return;
    free_products(bf16);
    dnnl_stream_destroy(bf16->stream);
    if (!bf16->lane) {
        for (size_t i = 0; i < BUCKETS; i++)
            for (struct packed *p = bf16->shared->packed[i], *next; p != NULL; p = next) {
                next = p->next;
                free_packed(p);
            }
        pthread_mutex_destroy(&bf16->shared->lock);
        free(bf16->shared);
        dnnl_engine_destroy(bf16->engine);
    }
    free(bf16->workspace);
    free(bf16);
}

void nvdp__bf16_weights_changed(struct nvdp__bf16_engine *bf16) {
    bf16->shared->version++;
}

/* ---- primitives ---- */

static dnnl_memory_desc_t matrix(struct nvdp__bf16_engine *bf16, size_t rows, size_t cols,
                                 dnnl_data_type_t type, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t layout = {0};
    dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)cols};
    TRY(bf16, dnnl_memory_desc_init_by_tag(&layout, 2, dims, type, tag));
    return layout;
}

/* Returns the attributes of every primitive: the primitive works in memory that the engine supplies. */
static dnnl_primitive_attr_t attributes(struct nvdp__bf16_engine *bf16) {
    dnnl_primitive_attr_t attr = NULL;
    TRY(bf16, dnnl_primitive_attr_create(&attr));
    TRY(bf16, dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    return attr;
}

/* Describes the product of from [rows, k] and weight [k, n] (in a layout that oneDNN chooses) to `to` [rows, n]. */
static dnnl_primitive_desc_t describe_dense(struct nvdp__bf16_engine *bf16, const struct key *key,
                                            size_t k, size_t n, dnnl_primitive_attr_t attr) {
    dnnl_data_type_t to_type = key->int8 ? dnnl_s32 : key->single ? dnnl_f32 : dnnl_bf16;
    dnnl_memory_desc_t from = matrix(bf16, key->rows, k, key->int8 ? dnnl_u8 : dnnl_bf16, dnnl_ab);
    dnnl_memory_desc_t weight =
        matrix(bf16, k, n, key->int8 ? dnnl_s8 : dnnl_bf16, dnnl_format_tag_any);
    dnnl_memory_desc_t bias = matrix(bf16, 1, n, dnnl_f32, dnnl_ab);
    dnnl_memory_desc_t to = matrix(bf16, key->rows, n, to_type, dnnl_ab);
    dnnl_matmul_desc_t product;
    dnnl_primitive_desc_t made = NULL;
    TRY(bf16, dnnl_matmul_desc_init(&product, &from, &weight, key->bias ? &bias : NULL, &to));
    TRY(bf16, dnnl_primitive_desc_create(&made, &product, attr, bf16->engine, NULL));
    return made;
}

/* Returns true if dw [out, in] = dy^T x is computed as a matrix product. As the backward pass of an inner product,
 * oneDNN computes dw without reordering dy and x, but also without AMX. Only a matrix product can add to dw. */
static bool is_matrix_product(const struct nvdp__bf16_engine *bf16, const struct key *key) {
    return key->add || bf16->tiles;
}

static dnnl_primitive_desc_t describe_weight(struct nvdp__bf16_engine *bf16, const struct key *key,
                                             dnnl_primitive_attr_t attr) {
    dnnl_memory_desc_t x = matrix(bf16, key->rows, key->in, dnnl_bf16, dnnl_ab);
    dnnl_memory_desc_t to = matrix(bf16, key->out, key->in, dnnl_f32, dnnl_ab);
    dnnl_primitive_desc_t made = NULL;
    if (is_matrix_product(bf16, key)) {
        dnnl_memory_desc_t dy = matrix(bf16, key->out, key->rows, dnnl_bf16, dnnl_ba);
        dnnl_matmul_desc_t product;
        TRY(bf16, dnnl_matmul_desc_init(&product, &dy, &x, NULL, &to));
        TRY(bf16, dnnl_primitive_desc_create(&made, &product, attr, bf16->engine, NULL));
    } else {
        dnnl_memory_desc_t dy = matrix(bf16, key->rows, key->out, dnnl_bf16, dnnl_ab);
        dnnl_inner_product_desc_t product;
        TRY(bf16, dnnl_inner_product_backward_weights_desc_init(&product, &x, &to, NULL, &dy));
        TRY(bf16, dnnl_primitive_desc_create(&made, &product, attr, bf16->engine, NULL));
    }
    return made;
}

static dnnl_primitive_desc_t describe(struct nvdp__bf16_engine *bf16, const struct key *key) {
    dnnl_primitive_attr_t attr = attributes(bf16);
    dnnl_primitive_desc_t made = NULL;
    if (key->add) { /* the product adds to its result */
        dnnl_post_ops_t ops = NULL;
        TRY(bf16, dnnl_post_ops_create(&ops));
        TRY(bf16, dnnl_post_ops_append_sum(ops, 1));
        TRY(bf16, dnnl_primitive_attr_set_post_ops(attr, ops));
        if (ops != NULL) dnnl_post_ops_destroy(ops);
    }
    switch (key->kind) {
    case FORWARD:
        made = describe_dense(bf16, key, key->in, key->out, attr);
        break;
    case BACKWARD_INPUT:
        made = describe_dense(bf16, key, key->out, key->in, attr);
        break;
    case BACKWARD_WEIGHT:
        made = describe_weight(bf16, key, attr);
        break;
    }
    if (attr != NULL) dnnl_primitive_attr_destroy(attr);
    return made;
}

/* Returns a memory object for the argument `query` of a primitive; the caller sets its storage in each call. */
static dnnl_memory_t handle(struct nvdp__bf16_engine *bf16, const_dnnl_primitive_desc_t of,
                            dnnl_query_t query, int index) {
    dnnl_memory_t memory = NULL;
    const dnnl_memory_desc_t *layout = dnnl_primitive_desc_query_md(of, query, index);
    TRY(bf16, dnnl_memory_create(&memory, layout, bf16->engine, DNNL_MEMORY_NONE));
    return memory;
}

/* Returns a memory object for the scratch buffer of a primitive, whose storage the engine owns; NULL if the
 * primitive needs no scratch buffer. */
static dnnl_memory_t workspace(struct nvdp__bf16_engine *bf16, const_dnnl_primitive_desc_t of) {
    const dnnl_memory_desc_t *layout =
        dnnl_primitive_desc_query_md(of, dnnl_query_scratchpad_md, 0);
    size_t size = layout != NULL ? dnnl_memory_desc_get_size(layout) : 0;
    return size > 0 ? handle(bf16, of, dnnl_query_scratchpad_md, 0) : NULL;
}

static void fill_product(struct nvdp__bf16_engine *bf16, struct product *product) {
    const struct key *key = &product->key;
    dnnl_primitive_desc_t desc = describe(bf16, key);
    if (bf16->status != NVDP_OK) return;
    TRY(bf16, dnnl_primitive_create(&product->primitive, desc));
    if (key->kind != BACKWARD_WEIGHT) {
        product->weight_layout = *dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
        product->from = handle(bf16, desc, dnnl_query_src_md, 0);
        product->to = handle(bf16, desc, dnnl_query_dst_md, 0);
        if (key->bias) product->bias = handle(bf16, desc, dnnl_query_weights_md, 1);
    } else if (is_matrix_product(bf16, key)) {
        product->from = handle(bf16, desc, dnnl_query_src_md, 0);
        product->weight = handle(bf16, desc, dnnl_query_weights_md, 0);
        product->to = handle(bf16, desc, dnnl_query_dst_md, 0);
    } else {
        product->from = handle(bf16, desc, dnnl_query_diff_dst_md, 0);
        product->weight = handle(bf16, desc, dnnl_query_src_md, 0);
        product->to = handle(bf16, desc, dnnl_query_diff_weights_md, 0);
    }
    product->workspace = workspace(bf16, desc);
    dnnl_primitive_desc_destroy(desc);
}

static size_t bucket(uint64_t bits) {
    return (size_t)(bits * 0x9e3779b97f4a7c15u >> 56);
}

static bool same_key(const struct key *a, const struct key *b) {
    return a->kind == b->kind && a->rows == b->rows && a->in == b->in && a->out == b->out &&
           a->single == b->single && a->add == b->add && a->bias == b->bias && a->int8 == b->int8 &&
           a->threads == b->threads;
}

/* Returns the product for a key; NULL after a failure. The caller holds the lock. */
static struct product *find_product(struct nvdp__bf16_engine *bf16, const struct key *key) {
    if (bf16->status != NVDP_OK) return NULL;
    uint64_t mixed = (key->rows * 8191 + key->in) * 8191 + key->out;
    struct product **at = &bf16->product[bucket(mixed * 4 + (uint64_t)key->kind)];
    for (struct product *p = *at; p != NULL; p = p->next)
        if (same_key(&p->key, key)) return p;
    if (bf16->products >= MAX_PRODUCTS) free_products(bf16);
    struct product *made = nvdp__calloc(bf16->ctx, 1, sizeof *made);
    if (made == NULL) {
        stop(bf16, NVDP_ERR_MEMORY);
        return NULL;
    }
    made->key = *key;
    fill_product(bf16, made);
    if (bf16->status != NVDP_OK) {
        free_product(made);
        return NULL;
    }
    made->next = *at;
    *at = made;
    bf16->products++;
    return made;
}

/* ---- weights ---- */

static void fill_packed(struct nvdp__bf16_engine *bf16, const struct key *key,
                        struct packed *packed) {
    size_t k = packed->transposed ? key->in : key->out;
    size_t n = packed->transposed ? key->out : key->in;
    dnnl_memory_desc_t plain =
        matrix(bf16, k, n, key->int8 ? dnnl_s8 : dnnl_f32, packed->transposed ? dnnl_ba : dnnl_ab);
    dnnl_primitive_attr_t attr = attributes(bf16);
    dnnl_primitive_desc_t desc = NULL;
    TRY(bf16, dnnl_memory_create(&packed->plain, &plain, bf16->engine, DNNL_MEMORY_NONE));
    packed->memory = nvdp__calloc(bf16->ctx, 1, dnnl_memory_desc_get_size(&packed->layout));
    if (packed->memory == NULL) stop(bf16, NVDP_ERR_MEMORY);
    TRY(bf16, dnnl_memory_create(&packed->blocked, &packed->layout, bf16->engine, packed->memory));
    TRY(bf16, dnnl_reorder_primitive_desc_create(&desc, &plain, bf16->engine, &packed->layout,
                                                 bf16->engine, attr));
    TRY(bf16, dnnl_primitive_create(&packed->reorder, desc));
    if (bf16->status == NVDP_OK) packed->workspace = workspace(bf16, desc);
    if (desc != NULL) dnnl_primitive_desc_destroy(desc);
    if (attr != NULL) dnnl_primitive_attr_destroy(attr);
}

static struct packed *find_packed(struct nvdp__bf16_engine *bf16, const struct product *product,
                                  const void *weight) {
    bool transposed = product->key.kind == FORWARD;
    struct packed **at = &bf16->shared->packed[bucket((uint64_t)(uintptr_t)weight)];
    for (struct packed *p = *at; p != NULL; p = p->next)
        if (p->weight == weight && p->transposed == transposed &&
            dnnl_memory_desc_equal(&p->layout, &product->weight_layout))
            return p;
    struct packed *made = nvdp__calloc(bf16->ctx, 1, sizeof *made);
    if (made == NULL) {
        stop(bf16, NVDP_ERR_MEMORY);
        return NULL;
    }
    made->weight = weight;
    made->transposed = transposed;
    made->layout = product->weight_layout;
    fill_packed(bf16, &product->key, made);
    if (bf16->status != NVDP_OK) {
        free_packed(made);
        return NULL;
    }
    made->next = *at;
    *at = made;
    return made;
}

/* Casts a source: oneDNN takes sources as void * but does not write to them. */
static void *source(const void *data) {
    union {
        const void *read;
        void *given;
    } pointer = {.read = data};
    return pointer.given;
}

/* Lends the engine's workspace, enlarged if necessary, to a primitive. */
static void set_workspace(struct nvdp__bf16_engine *bf16, dnnl_memory_t memory) {
    const dnnl_memory_desc_t *layout = NULL;
    TRY(bf16, dnnl_memory_get_memory_desc(memory, &layout));
    if (bf16->status != NVDP_OK) return;
    size_t size = dnnl_memory_desc_get_size(layout);
    if (size > bf16->workspace_size) {
        free(bf16->workspace);
        nvdp__bf16_lock(bf16);
        bf16->workspace = nvdp__calloc(bf16->ctx, 1, size);
        if (bf16->workspace == NULL) stop(bf16, NVDP_ERR_MEMORY);
        nvdp__bf16_unlock(bf16);
        bf16->workspace_size = bf16->workspace != NULL ? size : 0;
    }
    TRY(bf16, dnnl_memory_set_data_handle(memory, bf16->workspace));
}

/* Runs a primitive; args must have room for one more argument. */
static void run(struct nvdp__bf16_engine *bf16, dnnl_primitive_t primitive, dnnl_memory_t memory,
                int count, dnnl_exec_arg_t *args) {
    if (memory != NULL) {
        set_workspace(bf16, memory);
        args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, memory};
    }
    TRY(bf16, dnnl_primitive_execute(primitive, bf16->stream, count, args));
    TRY(bf16, dnnl_stream_wait(bf16->stream));
}

/* Returns the weight in the product's layout; NULL after a failure. The caller holds the lock. */
static dnnl_memory_t pack(struct nvdp__bf16_engine *bf16, const struct product *product,
                          const void *weight) {
    struct packed *packed = find_packed(bf16, product, weight);
    if (packed == NULL) return NULL;
    if (packed->version != bf16->shared->version) {
        TRY(bf16, dnnl_memory_set_data_handle(packed->plain, source(weight)));
        dnnl_exec_arg_t args[3] = {{DNNL_ARG_FROM, packed->plain}, {DNNL_ARG_TO, packed->blocked}};
        run(bf16, packed->reorder, packed->workspace, 2, args);
        packed->version = bf16->shared->version;
    }
    return packed->blocked;
}

/* ---- products ---- */

static void dense(struct nvdp__bf16_engine *bf16, const struct key *key, const void *weight,
                  const float *bias, void *from, void *to) {
    nvdp__bf16_lock(bf16);
    struct product *product = find_product(bf16, key);
    dnnl_memory_t packed = product != NULL ? pack(bf16, product, weight) : NULL;
    nvdp__bf16_unlock(bf16);
    if (packed == NULL) return;
    TRY(bf16, dnnl_memory_set_data_handle(product->from, from));
    TRY(bf16, dnnl_memory_set_data_handle(product->to, to));
    if (bias != NULL) TRY(bf16, dnnl_memory_set_data_handle(product->bias, source(bias)));
    dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, product->from},
                               {DNNL_ARG_WEIGHTS, packed},
                               {DNNL_ARG_DST, product->to},
                               {DNNL_ARG_BIAS, product->bias}};
    run(bf16, product->primitive, product->workspace, bias != NULL ? 4 : 3, args);
}

static struct key product_key(enum kind kind, const struct nvdp__linear *layer, size_t rows) {
    return (struct key){.kind = kind,
                        .rows = nvdp__bf16_rows(rows),
                        .in = layer->in,
                        .out = layer->out,
                        .threads = omp_get_max_threads()};
}

void nvdp__bf16_forward(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                        struct nvdp__tensor x, struct nvdp__tensor y) {
    if (x.rows == 0) return;
    struct key key = product_key(FORWARD, layer, x.rows);
    key.single = y.type == NVDP__F32;
    key.bias = layer->b != NULL;
    dense(bf16, &key, layer->w, layer->b, x.data, y.data);
}

void nvdp__int8_product(struct nvdp__bf16_engine *products, size_t rows, size_t in, size_t out,
                        uint8_t *x, const int8_t *w, int32_t *y) {
    const struct nvdp__linear layer = {.in = in, .out = out};
    struct key key = product_key(FORWARD, &layer, rows);
    key.int8 = true;
    dense(products, &key, w, NULL, x, y);
}

void nvdp__bf16_backward_input(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                               struct nvdp__tensor dy, struct nvdp__tensor dx, bool add) {
    if (dy.rows == 0) return;
    struct key key = product_key(BACKWARD_INPUT, layer, dy.rows);
    key.single = dx.type == NVDP__F32;
    key.add = add;
    dense(bf16, &key, layer->w, NULL, dy.data, dx.data);
}

static void zero_past(struct nvdp__tensor x) {
    nvdp__bf16 *data = x.data;
    memset(data + x.rows * x.cols, 0, (nvdp__bf16_rows(x.rows) - x.rows) * x.cols * sizeof *data);
}

void nvdp__bf16_backward_weight(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                                struct nvdp__tensor x, struct nvdp__tensor dy) {
    if (x.rows == 0) { /* the sum is empty */
        if (layer->set) memset(layer->dw, 0, layer->out * layer->in * sizeof *layer->dw);
        return;
    }
    struct key key = product_key(BACKWARD_WEIGHT, layer, x.rows);
    key.add = !layer->set;
    nvdp__bf16_lock(bf16);
    struct product *product = find_product(bf16, &key);
    nvdp__bf16_unlock(bf16);
    if (product == NULL) return;
    zero_past(x);
    zero_past(dy);
    TRY(bf16, dnnl_memory_set_data_handle(product->from, dy.data));
    TRY(bf16, dnnl_memory_set_data_handle(product->weight, x.data));
    TRY(bf16, dnnl_memory_set_data_handle(product->to, layer->dw));
    bool matmul = is_matrix_product(bf16, &key);
    dnnl_exec_arg_t args[4] = {{matmul ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST, product->from},
                               {matmul ? DNNL_ARG_WEIGHTS : DNNL_ARG_SRC, product->weight},
                               {matmul ? DNNL_ARG_DST : DNNL_ARG_DIFF_WEIGHTS, product->to}};
    run(bf16, product->primitive, product->workspace, 3, args);
}
