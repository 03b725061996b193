/* The products through oneDNN 2 (oneAPI Deep Neural Network Library).
 *
 * A primitive is a product compiled for its shape; creating one takes about half a millisecond, so
 * they are kept, keyed by kind and shape.  Weights are reordered from float32 [out, in] into the
 * blocked bfloat16 layout that a primitive asks for, once for all primitives that ask for the same,
 * and again after nvdp__half_weights_changed. */
#include "tensor/half.h"

#include <dnnl.h>
#include <omp.h>
#include <stdlib.h>

/* Batches of texts of many lengths come in many shapes: past MOST_PRODUCTS all are made anew. */
enum { BUCKETS = 256, MOST_PRODUCTS = 1024 };

enum kind { FORWARD, BACKWARD_INPUT, BACKWARD_WEIGHT };

struct key {
    enum kind kind;
    struct nvdp__half_shape shape;
    bool single, add, bias;
    int threads; /* oneDNN shares out the work when the primitive is made */
};

struct product {
    struct product *next;
    struct key key;
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t weight_layout;
    dnnl_memory_t from, weight, bias, to; /* handles are set at each call; weight is not owned */
};

/* One weight in one layout. */
struct packed {
    struct packed *next;
    const float *weight;
    bool transposed; /* [in, out] as the forward product reads it, else [out, in] */
    uint64_t version;
    dnnl_memory_desc_t layout;
    void *memory; /* of blocked */
    dnnl_memory_t plain, blocked;
    dnnl_primitive_t reorder;
};

struct nvdp__half {
    struct nvdp_context *ctx;
    nvdp_status status;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    uint64_t version;
    size_t products;
    struct product *product[BUCKETS];
    struct packed *packed[BUCKETS];
};

const char *nvdp_bf16_missing(void) {
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    if ((isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16) return NULL;
    return "this processor has no bfloat16 instructions (AVX512_BF16)";
}

static void fail(struct nvdp__half *half, dnnl_status_t code, const char *what) {
    if (half->status != NVDP_OK) return;
    if (code == dnnl_out_of_memory) {
        half->status =
            nvdp__fail(half->ctx, NVDP_ERR_MEMORY, "out of memory: bfloat16 products, at %s", what);
        return;
    }
    half->status = nvdp__fail(half->ctx, NVDP_ERR_UNSUPPORTED,
                              "bfloat16 products: oneDNN status %d at %s", (int)code, what);
}

nvdp_status nvdp__half_status(const struct nvdp__half *half) {
    return half->status;
}

/* Runs a call of oneDNN unless something failed before. */
#define TRY(half, call)                                                                            \
    do {                                                                                           \
        if ((half)->status == NVDP_OK) {                                                           \
            dnnl_status_t code_ = (call);                                                          \
            if (code_ != dnnl_success) fail(half, code_, #call);                                   \
        }                                                                                          \
    } while (0)

nvdp_status nvdp__half_create(struct nvdp_context *ctx, struct nvdp__half **out) {
    const char *missing = nvdp_bf16_missing();
    if (missing != NULL) return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "bf16: %s", missing);
    struct nvdp__half *half = nvdp__calloc(ctx, 1, sizeof *half);
    if (half == NULL) return NVDP_ERR_MEMORY;
    half->ctx = ctx;
    half->version = 1;
    TRY(half, dnnl_engine_create(&half->engine, dnnl_cpu, 0));
    TRY(half, dnnl_stream_create(&half->stream, half->engine, dnnl_stream_default_flags));
    if (half->status == NVDP_OK) {
        *out = half;
        return NVDP_OK;
    }
    nvdp_status status = half->status;
    nvdp__half_free(half);
    return status;
}

static void free_product(struct product *product) {
    dnnl_primitive_destroy(product->primitive);
    dnnl_memory_destroy(product->from);
    dnnl_memory_destroy(product->weight);
    dnnl_memory_destroy(product->bias);
    dnnl_memory_destroy(product->to);
    free(product);
}

static void free_packed(struct packed *packed) {
    dnnl_primitive_destroy(packed->reorder);
    dnnl_memory_destroy(packed->plain);
    dnnl_memory_destroy(packed->blocked);
    free(packed->memory);
    free(packed);
}

static void free_products(struct nvdp__half *half) {
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct product *p = half->product[i], *next; p != NULL; p = next) {
            next = p->next;
            free_product(p);
        }
        half->product[i] = NULL;
    }
    half->products = 0;
}

void nvdp__half_free(struct nvdp__half *half) {
    if (half == NULL) return;
    free_products(half);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct packed *p = half->packed[i], *next; p != NULL; p = next) {
            next = p->next;
            free_packed(p);
        }
    }
    dnnl_stream_destroy(half->stream);
    dnnl_engine_destroy(half->engine);
    free(half);
}

void nvdp__half_weights_changed(struct nvdp__half *half) {
    half->version++;
}

/* ---- primitives ---- */

static dnnl_memory_desc_t matrix(struct nvdp__half *half, size_t rows, size_t cols,
                                 dnnl_data_type_t type, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t layout = {0};
    dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)cols};
    TRY(half, dnnl_memory_desc_init_by_tag(&layout, 2, dims, type, tag));
    return layout;
}

/* The attribute of a product that adds to its result. */
static dnnl_primitive_attr_t adding(struct nvdp__half *half) {
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    TRY(half, dnnl_primitive_attr_create(&attr));
    TRY(half, dnnl_post_ops_create(&ops));
    TRY(half, dnnl_post_ops_append_sum(ops, 1));
    TRY(half, dnnl_primitive_attr_set_post_ops(attr, ops));
    if (ops != NULL) dnnl_post_ops_destroy(ops);
    return attr;
}

/* from [rows, k] x weight [k, n] (in a layout of oneDNN's choice) -> to [rows, n]. */
static dnnl_primitive_desc_t describe_dense(struct nvdp__half *half, const struct key *key,
                                            size_t k, size_t n, dnnl_primitive_attr_t attr) {
    dnnl_memory_desc_t from = matrix(half, key->shape.rows, k, dnnl_bf16, dnnl_ab);
    dnnl_memory_desc_t weight = matrix(half, k, n, dnnl_bf16, dnnl_format_tag_any);
    dnnl_memory_desc_t bias = matrix(half, 1, n, dnnl_f32, dnnl_ab);
    dnnl_memory_desc_t to =
        matrix(half, key->shape.rows, n, key->single ? dnnl_f32 : dnnl_bf16, dnnl_ab);
    dnnl_matmul_desc_t product;
    dnnl_primitive_desc_t made = NULL;
    TRY(half, dnnl_matmul_desc_init(&product, &from, &weight, key->bias ? &bias : NULL, &to));
    TRY(half, dnnl_primitive_desc_create(&made, &product, attr, half->engine, NULL));
    return made;
}

/* dw [out, in] = dy^T x.  As the backward of an inner product oneDNN does it without reordering dy
 * and x; as a matrix product it can add to dw. */
static dnnl_primitive_desc_t describe_weight(struct nvdp__half *half, const struct key *key,
                                             dnnl_primitive_attr_t attr) {
    const struct nvdp__half_shape *s = &key->shape;
    dnnl_memory_desc_t x = matrix(half, s->rows, s->in, dnnl_bf16, dnnl_ab);
    dnnl_memory_desc_t to = matrix(half, s->out, s->in, dnnl_f32, dnnl_ab);
    dnnl_primitive_desc_t made = NULL;
    if (key->add) {
        dnnl_memory_desc_t dy = matrix(half, s->out, s->rows, dnnl_bf16, dnnl_ba);
        dnnl_matmul_desc_t product;
        TRY(half, dnnl_matmul_desc_init(&product, &dy, &x, NULL, &to));
        TRY(half, dnnl_primitive_desc_create(&made, &product, attr, half->engine, NULL));
    } else {
        dnnl_memory_desc_t dy = matrix(half, s->rows, s->out, dnnl_bf16, dnnl_ab);
        dnnl_inner_product_desc_t product;
        TRY(half, dnnl_inner_product_backward_weights_desc_init(&product, &x, &to, NULL, &dy));
        TRY(half, dnnl_primitive_desc_create(&made, &product, attr, half->engine, NULL));
    }
    return made;
}

static dnnl_primitive_desc_t describe(struct nvdp__half *half, const struct key *key) {
    dnnl_primitive_attr_t attr = key->add ? adding(half) : NULL;
    dnnl_primitive_desc_t made = NULL;
    switch (key->kind) {
    case FORWARD:
        made = describe_dense(half, key, key->shape.in, key->shape.out, attr);
        break;
    case BACKWARD_INPUT:
        made = describe_dense(half, key, key->shape.out, key->shape.in, attr);
        break;
    case BACKWARD_WEIGHT:
        made = describe_weight(half, key, attr);
        break;
    }
    if (attr != NULL) dnnl_primitive_attr_destroy(attr);
    return made;
}

/* Memory without storage, for what the primitive calls `query`. */
static dnnl_memory_t handle(struct nvdp__half *half, const_dnnl_primitive_desc_t of,
                            dnnl_query_t query, int index) {
    dnnl_memory_t memory = NULL;
    const dnnl_memory_desc_t *layout = dnnl_primitive_desc_query_md(of, query, index);
    TRY(half, dnnl_memory_create(&memory, layout, half->engine, DNNL_MEMORY_NONE));
    return memory;
}

static void fill_product(struct nvdp__half *half, struct product *product) {
    const struct key *key = &product->key;
    dnnl_primitive_desc_t desc = describe(half, key);
    if (half->status != NVDP_OK) return;
    TRY(half, dnnl_primitive_create(&product->primitive, desc));
    if (key->kind != BACKWARD_WEIGHT) {
        product->weight_layout = *dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
        product->from = handle(half, desc, dnnl_query_src_md, 0);
        product->to = handle(half, desc, dnnl_query_dst_md, 0);
        if (key->bias) product->bias = handle(half, desc, dnnl_query_weights_md, 1);
    } else if (key->add) {
        product->from = handle(half, desc, dnnl_query_src_md, 0);
        product->weight = handle(half, desc, dnnl_query_weights_md, 0);
        product->to = handle(half, desc, dnnl_query_dst_md, 0);
    } else {
        product->from = handle(half, desc, dnnl_query_diff_dst_md, 0);
        product->weight = handle(half, desc, dnnl_query_src_md, 0);
        product->to = handle(half, desc, dnnl_query_diff_weights_md, 0);
    }
    dnnl_primitive_desc_destroy(desc);
}

static size_t bucket(uint64_t bits) {
    return (size_t)(bits * 0x9e3779b97f4a7c15u >> 56);
}

static bool same_key(const struct key *a, const struct key *b) {
    return a->kind == b->kind && a->shape.rows == b->shape.rows && a->shape.in == b->shape.in &&
           a->shape.out == b->shape.out && a->single == b->single && a->add == b->add &&
           a->bias == b->bias && a->threads == b->threads;
}

/* NULL after a failure. */
static struct product *find_product(struct nvdp__half *half, const struct key *key) {
    if (half->status != NVDP_OK) return NULL;
    uint64_t mixed = (key->shape.rows * 8191 + key->shape.in) * 8191 + key->shape.out;
    struct product **at = &half->product[bucket(mixed * 4 + (uint64_t)key->kind)];
    for (struct product *p = *at; p != NULL; p = p->next)
        if (same_key(&p->key, key)) return p;
    if (half->products >= MOST_PRODUCTS) free_products(half);
    struct product *made = nvdp__calloc(half->ctx, 1, sizeof *made);
    if (made == NULL) {
        half->status = NVDP_ERR_MEMORY;
        return NULL;
    }
    made->key = *key;
    fill_product(half, made);
    if (half->status != NVDP_OK) {
        free_product(made);
        return NULL;
    }
    made->next = *at;
    *at = made;
    half->products++;
    return made;
}

/* ---- weights ---- */

static void fill_packed(struct nvdp__half *half, const struct key *key, struct packed *packed) {
    size_t k = packed->transposed ? key->shape.in : key->shape.out;
    size_t n = packed->transposed ? key->shape.out : key->shape.in;
    dnnl_memory_desc_t plain = matrix(half, k, n, dnnl_f32, packed->transposed ? dnnl_ba : dnnl_ab);
    dnnl_primitive_desc_t desc = NULL;
    TRY(half, dnnl_memory_create(&packed->plain, &plain, half->engine, DNNL_MEMORY_NONE));
    packed->memory = nvdp__calloc(half->ctx, 1, dnnl_memory_desc_get_size(&packed->layout));
    if (packed->memory == NULL) half->status = NVDP_ERR_MEMORY;
    TRY(half, dnnl_memory_create(&packed->blocked, &packed->layout, half->engine, packed->memory));
    TRY(half, dnnl_reorder_primitive_desc_create(&desc, &plain, half->engine, &packed->layout,
                                                 half->engine, NULL));
    TRY(half, dnnl_primitive_create(&packed->reorder, desc));
    if (desc != NULL) dnnl_primitive_desc_destroy(desc);
}

static struct packed *find_packed(struct nvdp__half *half, const struct product *product,
                                  const float *weight) {
    bool transposed = product->key.kind == FORWARD;
    struct packed **at = &half->packed[bucket((uint64_t)(uintptr_t)weight)];
    for (struct packed *p = *at; p != NULL; p = p->next)
        if (p->weight == weight && p->transposed == transposed &&
            dnnl_memory_desc_equal(&p->layout, &product->weight_layout))
            return p;
    struct packed *made = nvdp__calloc(half->ctx, 1, sizeof *made);
    if (made == NULL) {
        half->status = NVDP_ERR_MEMORY;
        return NULL;
    }
    made->weight = weight;
    made->transposed = transposed;
    made->layout = product->weight_layout;
    fill_packed(half, &product->key, made);
    if (half->status != NVDP_OK) {
        free_packed(made);
        return NULL;
    }
    made->next = *at;
    *at = made;
    return made;
}

/* oneDNN takes sources as void *, and does not write to them. */
static void *source(const void *data) {
    union {
        const void *read;
        void *given;
    } pointer = {.read = data};
    return pointer.given;
}

static void run(struct nvdp__half *half, dnnl_primitive_t primitive, int count,
                const dnnl_exec_arg_t *args) {
    TRY(half, dnnl_primitive_execute(primitive, half->stream, count, args));
    TRY(half, dnnl_stream_wait(half->stream));
}

/* The weight in the product's layout; NULL after a failure. */
static dnnl_memory_t pack(struct nvdp__half *half, const struct product *product,
                          const float *weight) {
    struct packed *packed = find_packed(half, product, weight);
    if (packed == NULL) return NULL;
    if (packed->version != half->version) {
        TRY(half, dnnl_memory_set_data_handle(packed->plain, source(weight)));
        dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, packed->plain}, {DNNL_ARG_TO, packed->blocked}};
        run(half, packed->reorder, 2, args);
        packed->version = half->version;
    }
    return packed->blocked;
}

/* ---- products ---- */

static void dense(struct nvdp__half *half, const struct key *key, const nvdp__bf16 *from,
                  const float *weight, const float *bias, const struct nvdp__half_result *to) {
    struct product *product = find_product(half, key);
    if (product == NULL) return;
    dnnl_memory_t packed = pack(half, product, weight);
    void *result = to->half != NULL ? (void *)to->half : (void *)to->single;
    TRY(half, dnnl_memory_set_data_handle(product->from, source(from)));
    TRY(half, dnnl_memory_set_data_handle(product->to, result));
    if (bias != NULL) TRY(half, dnnl_memory_set_data_handle(product->bias, source(bias)));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, product->from},
                              {DNNL_ARG_WEIGHTS, packed},
                              {DNNL_ARG_DST, product->to},
                              {DNNL_ARG_BIAS, product->bias}};
    run(half, product->primitive, bias != NULL ? 4 : 3, args);
}

static struct key key_of(enum kind kind, const struct nvdp__half_shape *shape) {
    struct key key = {.kind = kind, .shape = *shape, .threads = omp_get_max_threads()};
    key.shape.rows = nvdp__half_rows(shape->rows);
    return key;
}

void nvdp__half_forward(struct nvdp__half *half, const struct nvdp__half_shape *shape,
                        const nvdp__bf16 *x, const float *w, const float *b,
                        const struct nvdp__half_result *y) {
    if (shape->rows == 0) return;
    struct key key = key_of(FORWARD, shape);
    key.single = y->half == NULL;
    key.add = y->add;
    key.bias = b != NULL;
    dense(half, &key, x, w, b, y);
}

void nvdp__half_backward_input(struct nvdp__half *half, const struct nvdp__half_shape *shape,
                               const nvdp__bf16 *dy, const float *w,
                               const struct nvdp__half_result *dx) {
    if (shape->rows == 0) return;
    struct key key = key_of(BACKWARD_INPUT, shape);
    key.single = dx->half == NULL;
    key.add = dx->add;
    dense(half, &key, dy, w, NULL, dx);
}

static void zero_past(nvdp__bf16 *x, size_t rows, size_t cols) {
    memset(x + rows * cols, 0, (nvdp__half_rows(rows) - rows) * cols * sizeof *x);
}

void nvdp__half_backward_weight(struct nvdp__half *half, const struct nvdp__half_shape *shape,
                                nvdp__bf16 *x, nvdp__bf16 *dy, bool add, float *dw) {
    if (shape->rows == 0) { /* an empty sum */
        if (!add) memset(dw, 0, shape->out * shape->in * sizeof *dw);
        return;
    }
    struct key key = key_of(BACKWARD_WEIGHT, shape);
    key.add = add;
    struct product *product = find_product(half, &key);
    if (product == NULL) return;
    zero_past(x, shape->rows, shape->in);
    zero_past(dy, shape->rows, shape->out);
    TRY(half, dnnl_memory_set_data_handle(product->from, dy));
    TRY(half, dnnl_memory_set_data_handle(product->weight, x));
    TRY(half, dnnl_memory_set_data_handle(product->to, dw));
    dnnl_exec_arg_t args[] = {{add ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST, product->from},
                              {add ? DNNL_ARG_WEIGHTS : DNNL_ARG_SRC, product->weight},
                              {add ? DNNL_ARG_DST : DNNL_ARG_DIFF_WEIGHTS, product->to}};
    run(half, product->primitive, 3, args);
}
