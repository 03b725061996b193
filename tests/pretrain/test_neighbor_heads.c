/* Tests the initial weights of pretrain/model.c: heads attend to the intended relative positions,
 * computed here in double. */
#include "bert_sizes.h"
#include "encoder/row.h"
#include "toy_corpus.h"

enum { D = 64, HEADS = 4, HEAD = D / HEADS, PIECES = 50, LONGEST = 40 };

static const float *value(const struct nvdp__params *params, size_t index) {
    return nvdp__value(params, index);
}

/* Computes the normalized embeddings of a piece at a position. */
static void embed(const struct nvdp__bert *bert, const struct nvdp__params *params, size_t piece,
                  size_t t, double out[D]) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < D; i++) {
        out[i] = (double)value(params, bert->word)[piece * D + i] +
                 (double)value(params, bert->position)[t * D + i] +
                 (double)value(params, bert->type)[i];
        mean += out[i] / D;
    }
    for (size_t i = 0; i < D; i++)
        square += (out[i] - mean) * (out[i] - mean) / D;
    for (size_t i = 0; i < D; i++)
        out[i] = (out[i] - mean) / sqrt(square + 1e-12);
}

static void project(const struct nvdp__params *params, const struct nvdp__dense *dense, size_t head,
                    const double in[D], double out[HEAD]) {
    const float *weight = value(params, dense->weight) + head * HEAD * D;
    for (size_t j = 0; j < HEAD; j++) {
        out[j] = 0;
        for (size_t i = 0; i < D; i++)
            out[j] += (double)weight[j * D + i] * in[i];
    }
}

/* Returns the mean attention probability of tokens for the token `offset` positions ahead. */
static double attention_at(const struct nvdp__bert *bert, const struct nvdp__params *params,
                           size_t layer, size_t head, int offset) {
    static double x[LONGEST][D], k[LONGEST][HEAD];
    double q[HEAD], sum = 0;
    size_t counted = 0;
    for (size_t t = 0; t < LONGEST; t++) {
        embed(bert, params, (t * 17 + 3) % PIECES, t, x[t]);
        project(params, &bert->layer[layer].key, head, x[t], k[t]);
    }
    for (int t = 0; t < LONGEST; t++) {
        if (t + offset < 0 || t + offset >= LONGEST) continue;
        double all = 0, there = 0;
        project(params, &bert->layer[layer].query, head, x[t], q);
        for (int s = 0; s < LONGEST; s++) {
            double score = 0;
            for (size_t j = 0; j < HEAD; j++)
                score += q[j] * k[s][j] / sqrt(HEAD);
            all += exp(score);
            if (s == t + offset) there = exp(score);
        }
        sum += there / all;
        counted++;
    }
    return sum / (double)counted;
}

struct made {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__params params;
    struct nvdp__bert bert;
};

static struct made make(size_t layers, size_t heads) {
    struct made made = {.ctx = support_context()};
    struct nvdp_bert_config config = bert_of(.hidden = D, .layers = layers, .heads = heads,
                                             .inner = D, .pieces = PIECES, .longest = LONGEST);
    made.dev = nvdp__device_cpu(made.ctx);
    nvdp__params_init(&made.params, made.ctx);
    ok(nvdp__bert_declare(&made.bert, &config, true, &made.params));
    ok(nvdp__params_allocate(&made.params, false));
    made.bert.row->initialize(&made.bert, &made.dev, &made.params, 1);
    return made;
}

static void discard(struct made *made) {
    nvdp__bert_release(&made->bert);
    nvdp__params_release(&made->params);
}

/* With random weights each token gets 1/40 = .025. */
Test(neighbor_heads, heads_attend_to_them) {
    static const int offset[2][HEADS] = {{-1, 1, -2, 2}, {-1, 1, -3, 3}};
    struct made made = make(3, HEADS);
    cr_assert_lt(attention_at(&made.bert, &made.params, 0, 0, -1), 0.05);
    ok(nvdp__initialize_neighbor_heads(&made.bert, &made.dev, &made.params, 1));
    for (size_t layer = 0; layer < 2; layer++)
        for (size_t head = 0; head < HEADS; head++) {
            double share = attention_at(&made.bert, &made.params, layer, head, offset[layer][head]);
            cr_assert_gt(share, 0.4, "layer %zu, head %zu: %g", layer, head, share);
        }
    cr_assert_lt(attention_at(&made.bert, &made.params, 2, 0, -1), 0.05,
                 "others stay as they were");
    discard(&made);
}

/* With one layer, one head, or more heads than offsets, all that fits is set and all values stay
 * finite. */
Test(neighbor_heads, fits_any_shape) {
    static const struct { size_t layers, heads; } shape[] = {{1, 1}, {1, 2}, {2, 16}};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        struct made made = make(shape[i].layers, shape[i].heads);
        ok(nvdp__initialize_neighbor_heads(&made.bert, &made.dev, &made.params, 1));
        for (size_t k = 0; k < made.params.total; k++)
            cr_assert(isfinite(made.params.value[k]));
        discard(&made);
    }
}
