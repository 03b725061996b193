/* Tests readers of summaries: their weights, their scores on plain embeddings, predictions, and files that are refused. */
#include "attack_test.h"
#include "changed_file.h"
#include "share/summarize.h"
#include "train/linear.h"

enum { DIM = 16, WIDE = DIM + 3, ROUNDS = 30 };

struct place {
    struct nvdp_context *ctx;
    struct task task;
    char center[512], input[512], dev[512], run[512];
};

/* Writes a table with the sentence, the label, a third class and a score between 0 and 5 of each line of a task's file. */
static void write_table(const char *from, const char *path) {
    nvdp__autoptr(fclose) FILE *to = fopen(path, "w");
    char *rest = NULL, *line = strtok_r(support_read(from), "\n", &rest);
    fputs("text\tlabel\tkind\tscore\n", to);
    for (size_t i = 0; (line = strtok_r(NULL, "\n", &rest)) != NULL; i++) {
        const char label = line[strcspn(line, "\t") + 1];
        line[strcspn(line, "\t")] = '\0';
        fprintf(to, "%s\t%c\t%s\t%g\n", line, label,
                i % 3 == 2     ? "odd"
                : label == '1' ? "yes"
                               : "no",
                label == '1' ? 4.5 : .5);
    }
}

static struct place place(void) {
    struct place p = {.ctx = support_context()};
    p.task = task_make(p.ctx);
    snprintf(p.center, sizeof p.center, "%s", support_scratch_path("public.txt"));
    snprintf(p.input, sizeof p.input, "%s", support_scratch_path("rows.tsv"));
    snprintf(p.dev, sizeof p.dev, "%s", support_scratch_path("dev.tsv"));
    snprintf(p.run, sizeof p.run, "%s", support_scratch_path("summary-run"));
    write_table(support_path("%s/train.tsv", p.task.data), p.input);
    write_table(support_path("%s/dev.tsv", p.task.data), p.dev);
    nvdp__autoptr(fclose) FILE *to = fopen(p.center, "w");
    char *rest = NULL, *line = strtok_r(support_read(p.dev), "\n", &rest);
    while ((line = strtok_r(NULL, "\n", &rest)) != NULL) {
        line[strcspn(line, "\t")] = '\0';
        fprintf(to, "%s %s\n", line, line);
    }
    return p;
}

/* Writes a summary and returns its path. Options are names and values, then NULL. */
static const char *summarized(const struct place *p, const char *name, const char *const *options) {
    const char *out = support_scratch_path(name);
    struct nvdp_config *config =
        support_config(p->ctx, "summarize", "model", p->task.model, "center", p->center, "input",
                       p->input, "run", p->run, "out", out, "no-ledger", "true", NULL);
    for (size_t i = 0; options[i] != NULL; i += 2)
        support_set(p->ctx, config, options[i], options[i + 1]);
    ok(nvdp_summarize(p->ctx, config, NULL));
    return out;
}
#define SUMMARIZED(p, name, ...) summarized(p, name, (const char *const[]){__VA_ARGS__, NULL})

static nvdp_status reuse(const struct place *p, const char *file, const char *const *options,
                         struct nvdp_reuse_result *result) {
    struct nvdp_config *config = support_config(p->ctx, "reuse", "file", file, NULL);
    nvdp__autoresult struct nvdp_reuse_result own = NVDP_RESULT(struct nvdp_reuse_result);
    for (size_t i = 0; options[i] != NULL; i += 2)
        support_set(p->ctx, config, options[i], options[i + 1]);
    return nvdp_reuse(p->ctx, config, result != NULL ? result : &own);
}
#define REUSE(p, file, result, ...) reuse(p, file, (const char *const[]){__VA_ARGS__, NULL}, result)

/* --- weights by another formula --- */

/* Turns a symmetric matrix into its eigenvalues, on the diagonal, and its eigenvectors, the columns of v, by rotations
 * (Jacobi 1846). */
static void rotate(double s[DIM][DIM], double v[DIM][DIM]) {
    for (size_t i = 0; i < DIM; i++)
        for (size_t j = 0; j < DIM; j++)
            v[i][j] = i == j;
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < DIM; i++)
            for (size_t j = i + 1; j < DIM; j++) {
                const double angle = .5 * atan2(2 * s[i][j], s[i][i] - s[j][j]);
                const double c = cos(angle), t = sin(angle);
                for (size_t k = 0; k < DIM; k++) {
                    const double a = s[k][i], b = s[k][j], x = v[k][i], y = v[k][j];
                    s[k][i] = c * a + t * b;
                    s[k][j] = c * b - t * a;
                    v[k][i] = c * x + t * y;
                    v[k][j] = c * y - t * x;
                }
                for (size_t k = 0; k < DIM; k++) {
                    const double a = s[i][k], b = s[j][k];
                    s[i][k] = c * a + t * b;
                    s[j][k] = c * b - t * a;
                }
            }
}

/* Sets value to the eigenvalues of S, without their noise, as docs/summary.md does: one beyond r = 2 sqrt(d) noise becomes
 * sqrt(l^2 - r^2), and the others share the rest of the trace, which is at most 1 - |x|^2. */
static void shrink(double s[DIM][DIM], double noise, double square, double *value) {
    const double r = 2 * sqrt(DIM) * noise;
    double trace = 0, above = 0;
    size_t beyond = 0;
    for (size_t e = 0; e < DIM; e++) {
        trace += s[e][e];
        value[e] = s[e][e] > r ? sqrt(s[e][e] * s[e][e] - r * r) : 0;
        above += value[e];
        beyond += s[e][e] > r;
    }
    trace = fmax(0, fmin(1 - square, trace));
    for (size_t e = 0; e < DIM; e++)
        value[e] = s[e][e] > r ? value[e] * fmin(1, trace / above)
                               : fmax(0, trace - above) / (double)(DIM - beyond);
}

/* Computes weight and bias from the matrix of a file. */
static void expect_weights(const struct place *p, const char *file, const char *folder) {
    nvdp__autoptr(nvdp_collection_free) struct nvdp_collection *of = NULL;
    nvdp__auto(nvdp__linear_release) struct nvdp__linear_reader reader = {0};
    struct nvdp_collection_info info = NVDP_RESULT(struct nvdp_collection_info);
    double matrix[WIDE * WIDE], s[DIM][DIM], v[DIM][DIM], x[DIM], value[DIM], share = 0, square = 0;
    ok(nvdp_collection_read(p->ctx, file, &of));
    ok(nvdp_collection_describe(p->ctx, of, &info));
    ok(nvdp_collection_matrix(p->ctx, of, matrix));
    ok(nvdp__linear_load(p->ctx, folder, &reader));
    cr_assert(info.dim == DIM && info.width <= WIDE && reader.answers == info.answers);
    const double n = (double)info.units, beta = info.weight_vector, tau = info.weight_answer;
    const size_t constant = info.weight_constant > 0, y = constant + DIM, width = info.width;
    for (size_t k = 0; k < info.answers; k++)
        share += matrix[(y + k) * width + y + k] / (n * tau * tau);
    const double known = info.scores ? 1 : fmin(1, share);
    for (size_t i = 0; i < DIM; i++) {
        x[i] = constant ? matrix[1 + i] / (n * info.weight_constant * beta) : 0;
        for (size_t k = 0; k < info.answers && !constant; k++)
            x[i] += matrix[i * width + y + k] / (n * beta * tau * known);
        square += x[i] * x[i];
    }
    cr_assert_lt(square, 1);
    for (size_t i = 0; i < DIM; i++)
        for (size_t j = 0; j < DIM; j++)
            s[i][j] =
                matrix[(constant + i) * width + constant + j] / (n * beta * beta) - x[i] * x[j];
    const double noise = info.noise_off_diagonal / (n * beta * beta);
    rotate(s, v);
    shrink(s, noise, square, value);
    for (size_t k = 0; k < info.answers; k++) {
        const double mean = constant ? matrix[y] / (n * info.weight_constant * tau * known)
                                     : matrix[(y + k) * width + y + k] / (n * tau * tau * share);
        double w[DIM] = {0}, bias = mean, length = 0;
        for (size_t e = 0; e < DIM; e++) {
            double along = 0;
            for (size_t i = 0; i < DIM; i++)
                along +=
                    v[i][e] * (matrix[(constant + i) * width + y + k] / (n * beta * tau * known) -
                               mean * x[i]);
            for (size_t i = 0; i < DIM; i++)
                w[i] += v[i][e] * along / (value[e] + sqrt(DIM) * noise);
        }
        for (size_t i = 0; i < DIM; i++) {
            bias -= w[i] * x[i];
            length += w[i] * w[i];
        }
        for (size_t i = 0; i < DIM; i++)
            cr_expect_float_eq((double)reader.weight[k * DIM + i], w[i], 1e-5 * sqrt(length),
                               "%s: %zu %zu: %g, not %g", file, k, i,
                               (double)reader.weight[k * DIM + i], w[i]);
        cr_expect_float_eq((double)reader.bias[k], bias, 1e-5 * sqrt(length));
    }
}

Test(summary_reader, weights_follow_from_the_matrix) {
    static const struct {
        const char *name, *option, *value, *label;
        size_t classes;
        double least;
    } cases[] = {{"two.h5", "classes", "0,1", "label", 2, .6},
                 {"three.parquet", "classes", "yes,no,odd", "kind", 3, .45},
                 {"score.safetensors", "range", "0,5", "score", 1, .6}};
    const struct place p = place();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nvdp__autoresult struct nvdp_reuse_result result = NVDP_RESULT(struct nvdp_reuse_result);
        const char *folder = support_path("%s/reader-%zu", p.task.data, i);
        const char *file = SUMMARIZED(&p, cases[i].name, cases[i].option, cases[i].value,
                                      "label-column", cases[i].label, "summary-epsilon", "1000");
        ok(REUSE(&p, file, &result, "out", folder, "score", p.dev, "model", p.task.model,
                 "label-column", cases[i].label));
        expect_weights(&p, file, folder);
        cr_expect_eq(result.train_texts, TASK_TRAIN);
        cr_expect_eq(result.classes, cases[i].classes);
        cr_assert_not_null(result.scores);
        cr_expect(result.scores->n == TASK_DEV && result.best_epoch == 0 && result.seeds == 1);
        cr_expect_gt(result.scores->mean[0], cases[i].least, "%s: %g", cases[i].name,
                     result.scores->mean[0]);
        cr_expect_eq(result.seed_mean, result.scores->mean[0]);
    }
}

/* Without a place to score, a reader is computed and saved alone. */
Test(summary_reader, needs_no_texts) {
    const struct place p = place();
    const char *file = SUMMARIZED(&p, "alone.h5", "classes", "0,1"),
               *folder = support_scratch_path("r");
    nvdp__autoresult struct nvdp_reuse_result result = NVDP_RESULT(struct nvdp_reuse_result);
    ok(REUSE(&p, file, &result, "out", folder));
    cr_expect_null(result.scores);
    cr_expect(nvdp__linear_is(folder) && !nvdp__linear_is(p.task.model));
    fails(REUSE(&p, file, &result, "out", folder), NVDP_ERR_ARGUMENT, "overwrite");
    nvdp__autofree char *text = NULL;
    ok(nvdp_describe(p.ctx, folder, NVDP_DESCRIPTION_ALL, &text));
    support_contains(text, "linear-reader/1");
    support_contains(text, "Proven: epsilon 1");
}

/* Predictions are those of weight and bias on the embedding that the file describes. */
Test(summary_reader, predicts_new_texts) {
    const struct place p = place();
    const char *folder = support_scratch_path("r"), *lines = support_scratch_path("lines.txt"),
               *out = support_scratch_path("predictions");
    nvdp__auto(nvdp__linear_release) struct nvdp__linear_reader reader = {0};
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *encoder = NULL;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *texts = NULL;
    const char *text[] = {"good film", "bad film"};
    float outputs[4];
    size_t count = 0;
    ok(REUSE(&p,
             SUMMARIZED(&p, "two.h5", "classes", "0,1", "reduce", "5", "summary-epsilon", "100"),
             NULL, "out", folder));
    support_write_text(lines, "good film\nbad film\n");
    struct nvdp_config *config = support_config(p.ctx, "predict", "run", folder, "input", lines,
                                                "out", out, "model", p.task.model, NULL);
    ok(nvdp_predict_texts(p.ctx, config, NULL, NULL, &count));
    cr_assert_eq(count, 2);
    ok(nvdp__linear_load(p.ctx, folder, &reader));
    cr_assert(reader.query.dim == 5 && reader.query.width == DIM);
    ok(nvdp__query_encoder(p.ctx, &reader.query, p.task.model, &encoder));
    ok(nvdp_dataset_from_texts(p.ctx, nvdp_encoder_tokenizer(encoder), reader.query.max_length, 2,
                               text, NULL, &texts));
    ok(nvdp__linear_outputs(&reader, encoder, &(struct nvdp__linear_input){.first = texts},
                            outputs));
    char *rest = NULL, *line = strtok_r(support_read(out), "\n", &rest);
    for (size_t i = 0; i < 2; i++, line = strtok_r(NULL, "\n", &rest)) {
        const bool second = outputs[2 * i + 1] > outputs[2 * i];
        support_contains(line, support_path("\"index\": %zu, \"label\": \"%d\"", i, second));
        const double stated = atof(strstr(line, "\"probability\": ") + 15);
        const double a = exp((double)outputs[2 * i]), b = exp((double)outputs[2 * i + 1]);
        cr_expect_float_eq(stated, (second ? b : a) / (a + b), 1e-6);
    }
    config = support_config(p.ctx, "predict", "run", folder, NULL);
    fails(nvdp_predict(p.ctx, config, NULL), NVDP_ERR_ARGUMENT, "a reader of a summary");
}

/* A reader of pairs reads (sqrt(p) u v, |u - v|), scaled to length 1, of the vectors u and v of both texts. */
Test(summary_reader, joins_the_texts_of_a_pair) {
    enum { P = 5 };
    const struct place p = place();
    const char *folder = support_scratch_path("r");
    const char *pairs = SUMMARIZED(&p, "pairs.h5", "classes", "0,1", "text-pair-column", "kind",
                                   "reduce", "5", "summary-epsilon", "100");
    nvdp__auto(nvdp__linear_release) struct nvdp__linear_reader reader = {0};
    nvdp__auto(nvdp__linear_input_release) struct nvdp__linear_input input = {0};
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *encoder = NULL;
    fails(REUSE(&p, pairs, NULL, "score", p.dev, "model", p.task.model), NVDP_ERR_ARGUMENT,
          "text-pair-column is needed: the reader is of pairs");
    ok(REUSE(&p, pairs, NULL, "score", p.dev, "model", p.task.model, "text-pair-column", "kind",
             "out", folder));
    ok(nvdp__linear_load(p.ctx, folder, &reader));
    cr_assert(reader.pairs && reader.query.dim == P && reader.answers == 1);
    ok(nvdp__query_encoder(p.ctx, &reader.query, p.task.model, &encoder));
    ok(nvdp__linear_texts(&reader, encoder, p.dev, "text", "kind", NULL, &input));
    const size_t n = input.first->count;
    float *u = support_keep(calloc(n * P, sizeof *u)), *v = support_keep(calloc(n * P, sizeof *v)),
          *outputs = support_keep(calloc(2 * n, sizeof *outputs));
    bool *there = support_keep(calloc(n, sizeof *there));
    ok(nvdp__query_embed(p.ctx, &reader.query, encoder, input.first, u, there));
    ok(nvdp__query_embed(p.ctx, &reader.query, encoder, input.second, v, there));
    ok(nvdp__linear_outputs(&reader, encoder, &input, outputs));
    for (size_t i = 0; i < n; i++) {
        double sum = 0, square = 0;
        for (size_t k = 0; k < P; k++) {
            const double a = (double)u[i * P + k], b = (double)v[i * P + k];
            const double both = sqrt(P) * a * b, apart = fabs(a - b);
            square += both * both + apart * apart;
            sum += (double)reader.weight[k] * both + (double)reader.weight[P + k] * apart;
        }
        const double y = (double)reader.bias[0] + (square > 0 ? sum / sqrt(square) : 0);
        const double second = fmin(1, fmax(0, (1 + y) / 2)), first = fmin(1, fmax(0, (1 - y) / 2));
        const double c = exp((double)outputs[2 * i]), d = exp((double)outputs[2 * i + 1]);
        cr_expect_float_eq(d / (c + d), second / (first + second), 1e-5, "%zu", i);
    }
    fails(nvdp__linear_texts(&reader, encoder, p.dev, "text", NULL, NULL, &input),
          NVDP_ERR_ARGUMENT, "is needed: the reader is of pairs");
}

/* --- refusals --- */

Test(summary_reader, refuses) {
    const struct place p = place();
    const char *two = SUMMARIZED(&p, "two.h5", "classes", "0,1"),
               *folder = support_scratch_path("r");
    fails(REUSE(&p, SUMMARIZED(&p, "none.h5", "rows", "1"), NULL, "seed", "1"), NVDP_ERR_ARGUMENT,
          "seed");
    fails(REUSE(&p, support_scratch_path("none.h5"), NULL, "out", folder), NVDP_ERR_INPUT,
          "expected a summary with answers");
    fails(REUSE(&p, two, NULL, "epochs", "3"), NVDP_ERR_ARGUMENT, "epochs: ");
    fails(REUSE(&p, two, NULL, "score", p.dev, "model", p.task.model, "label-column", "kind"),
          NVDP_ERR_INPUT, "dev.tsv");
    fails(REUSE(&p, two, NULL, "score", p.dev, "model", p.task.model, "text-column", "sentence"),
          NVDP_ERR_INPUT, "missing column 'sentence'");
    ok(REUSE(&p, two, NULL, "out", folder));
    struct nvdp_config *config =
        support_config(p.ctx, "predict", "run", folder, "input", p.dev, "out",
                       support_scratch_path("never"), "model", p.task.model, NULL);
    struct nvdp_bert_config wide = nvdp__bert_config_default();
    const char *other = support_scratch_path("wide");
    wide.hidden_size = 64;
    wide.vocab_size = 15;
    wide.num_hidden_layers = wide.num_attention_heads = 1;
    ok(nvdp_bert_create_random(p.ctx, &wide, 3, support_path("%s/vocab.txt", p.task.data), other));
    support_set(p.ctx, config, "model", other);
    fails(REUSE(&p, two, NULL, "score", p.dev, "model", other), NVDP_ERR_INPUT,
          "expected the encoder of the file");
    fails(nvdp_predict_texts(p.ctx, config, NULL, NULL, NULL), NVDP_ERR_INPUT,
          "expected the encoder of the file");
    cr_expect_not(nvdp__exists(support_scratch_path("never")));
}

Test(summary_reader, refuses_files_that_contradict_themselves) {
    static const struct {
        const char *name, *value, *words;
    } cases[] = {{"vector_width", "15", "'map_0'"},
                 {"answers", "2", "'weight_constant'"},
                 {"units", "0", "rows, widths, epsilon and delta"},
                 {"noise_off_diagonal", "9", "'noise_off_diagonal'"},
                 {"synthetic_rows", "9", "'vector_width'"},
                 {"label_names", "[\"a\",\"b\",\"c\"]", "'answers'"},
                 {"answer_kind", "score", "'answers'"},
                 {"encoder_width", "15", "'encoder_width'"}};
    const struct place p = place();
    const char *two = SUMMARIZED(&p, "two.safetensors", "classes", "0,1", "rows", "5");
    nvdp__autoptr(nvdp_collection_free) struct nvdp_collection *of = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *file = changed_file(p.ctx, two, cases[i].name, cases[i].value, 0, NULL);
        fails(REUSE(&p, file, NULL, "out", support_scratch_path("r")), NVDP_ERR_INPUT,
              cases[i].words);
        fails(nvdp_collection_read(p.ctx, file, &of), NVDP_ERR_INPUT, cases[i].words);
    }
    cr_expect_not(nvdp__exists(support_scratch_path("r")));
}

/* Synthetic rows and moments are those of the file. */
Test(summary_reader, a_collection_in_memory) {
    const struct place p = place();
    const char *three = SUMMARIZED(&p, "three.h5", "classes", "no,yes,odd", "label-column", "kind",
                                   "rows", "400", "summary-epsilon", "100");
    nvdp__autoptr(nvdp_collection_free) struct nvdp_collection *of = NULL;
    struct nvdp_collection_info info = NVDP_RESULT(struct nvdp_collection_info);
    struct nvdp_collection_moments moments = NVDP_RESULT(struct nvdp_collection_moments);
    static float x[400 * DIM], y[400];
    double share[3] = {0}, mean[3][DIM] = {{0}};
    ok(nvdp_collection_read(p.ctx, three, &of));
    ok(nvdp_collection_describe(p.ctx, of, &info));
    ok(nvdp_collection_rows(p.ctx, of, 0, 400, x, y));
    ok(nvdp_collection_moments(p.ctx, of, &moments));
    fails(nvdp_collection_rows(p.ctx, of, 1, 400, x, y), NVDP_ERR_ARGUMENT, "rows below 400");
    cr_assert(info.units == TASK_TRAIN && info.rows == 400 && info.answers == 3 &&
              moments.classes == 3);
    cr_expect_str_eq(info.label_names, "[\"no\",\"yes\",\"odd\"]");
    support_contains(info.statement, "epsilon 100 at delta 1e-05 is proven");
    for (size_t r = 0; r < 400; r++)
        share[(size_t)y[r]] += 1. / 400;
    for (size_t r = 0; r < 400; r++)
        for (size_t i = 0; i < DIM; i++)
            mean[(size_t)y[r]][i] += (double)x[r * DIM + i] / (400 * share[(size_t)y[r]]);
    for (size_t c = 0; c < 3; c++) {
        cr_expect_float_eq(share[c], moments.share[c], .1); /* 4 standard deviations of 400 rows */
        for (size_t i = 0; i < DIM; i++)
            cr_expect_float_eq(mean[c][i], moments.class_mean[c * DIM + i], .15);
    }
}

/* A reader's folder whose parts contradict each other is refused by the name of the part. */
Test(summary_reader, refuses_folders_that_do_not_fit) {
    static const struct {
        const char *from, *to, *words;
    } cases[] = {{"\"vector_width\": 16", "\"vector_width\": 15", "weight"},
                 {"\"encoder_width\": 16", "\"encoder_width\": 17", "center"},
                 {"\"encoder_width\": 16", "\"encoder_width\": 15", "vector_width"},
                 {"\"labels\"", "\"names\"", "'labels'"}};
    const struct place p = place();
    const char *folder = support_scratch_path("r");
    ok(REUSE(&p, SUMMARIZED(&p, "two.h5", "classes", "0,1"), NULL, "out", folder));
    const char *path = support_path("%s/config.json", folder), *config = support_read(path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nvdp__auto(nvdp__linear_release) struct nvdp__linear_reader reader = {0};
        const char *at = strstr(config, cases[i].from);
        cr_assert_not_null(at, "%s", cases[i].from);
        support_write_text(path, support_path("%.*s%s%s", (int)(at - config), config, cases[i].to,
                                              at + strlen(cases[i].from)));
        fails(nvdp__linear_load(p.ctx, folder, &reader), NVDP_ERR_INPUT, cases[i].words);
    }
}
