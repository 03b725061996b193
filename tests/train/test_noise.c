/* Tests runs on privatized input: the representations that replace a text, that each text is
 * drawn once, and the parts of the model that stay the user's. */
#include "sanitize/sanitize.h"
#include "text/representations.h"
#include "train_test.h"

enum { BILSTM = 1 }; /* index in nvdp__encoder_choices */

enum { DIM = 16, SEED = 7, PIECES = 15 };

/* ---- representations ---- */

struct fixture {
    struct nvdp_context *ctx;
    struct task task;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp_dataset *data;
    struct nvdp__token_noise *noise;
};

static struct nvdp__token_noise_options options_of(int mechanism, double eta) {
    return (struct nvdp__token_noise_options){.mechanism = mechanism, .sanitizer = {.eta = eta}};
}

static struct nvdp_dataset *load(const struct fixture *f, enum nvdp_split split, size_t limit) {
    struct nvdp_dataset *texts = NULL;
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    config.task = NVDP_TASK_SST2;
    config.directory = f->task.data;
    config.max_length = TASK_LENGTH;
    config.limit = limit;
    config.limit_seed = 3;
    ok(nvdp__dataset_load(f->ctx, f->tokenizer, &config, split, NULL, &texts));
    return support_keep(texts);
}

static struct fixture setup(const struct nvdp__token_noise_options *options) {
    struct fixture f = {.ctx = support_context()};
    f.task = task_make(f.ctx);
    /* vocab.txt alone is read as published with BERT, names as text */
    support_write_text(support_path("%s/tokenizer_config.json", f.task.model), "{}");
    ok(nvdp_tokenizer_load(f.ctx, f.task.model, &f.tokenizer));
    support_keep(f.tokenizer);
    cr_assert_eq(
        nvdp__token_noise_create(f.ctx, options, SEED, f.task.model, f.tokenizer, &f.noise),
        NVDP_ERR_STATE, "names of special tokens must be text");
    nvdp__tokenizer_read_names_as_text(f.tokenizer);
    f.data = load(&f, NVDP_SPLIT_TRAIN, 0);
    ok(nvdp__token_noise_create(f.ctx, options, SEED, f.task.model, f.tokenizer, &f.noise));
    support_keep(f.noise);
    return f;
}

static bool is_marker(const struct fixture *f, int32_t id) {
    return id == nvdp_tokenizer_special(f->tokenizer, NVDP_TOKEN_CLS) ||
           id == nvdp_tokenizer_special(f->tokenizer, NVDP_TOKEN_SEP);
}

/* Counts differing ids of the same text, number i in `a` and number j in `b`. */
static size_t differences(const struct nvdp_dataset *a, size_t i, const struct nvdp_dataset *b,
                          size_t j) {
    size_t n = a->offset[i + 1] - a->offset[i], different = 0;
    cr_assert_eq(n, b->offset[j + 1] - b->offset[j]);
    for (size_t k = 0; k < n; k++)
        different += a->ids[a->offset[i] + k] != b->ids[b->offset[j] + k];
    return different;
}

/* The draws are the mechanism's for the seed, the split and the row of the file. Markers stay; a
 * sample of the file gets the same draws, another split different ones. */
Test(noise, tokens_are_one_draw_a_text) {
    struct nvdp__token_noise_options options = options_of(NVDP__TOKENS_SANTEXT, 10);
    struct fixture f = setup(&options);
    struct nvdp_dataset *before = load(&f, NVDP_SPLIT_TRAIN, 0),
                        *few = load(&f, NVDP_SPLIT_TRAIN, 31), *dev = load(&f, NVDP_SPLIT_DEV, 0);
    cr_assert_eq(dev->split, NVDP_SPLIT_DEV);
    ok(nvdp__token_noise_texts(f.noise, f.data, NULL));
    struct nvdp_dchi *dchi = nvdp_sanitizer_dchi(f.noise->sanitizer);
    size_t changed = 0;
    for (size_t i = 0; i < f.data->count; i++) {
        const int32_t *was = before->ids + before->offset[i], *is = f.data->ids + f.data->offset[i];
        size_t n = before->offset[i + 1] - before->offset[i], offset[] = {0, n - 2};
        uint64_t seed = SEED;
        int32_t token[TASK_LENGTH];
        cr_assert(is_marker(&f, is[0]) && is[0] == was[0] && is[n - 1] == was[n - 1]);
        for (size_t k = 1; k + 1 < n; k++)
            token[k - 1] = nvdp__sanitizer_token(f.noise->sanitizer, was[k]);
        ok(nvdp_dchi_sample(f.ctx, dchi, 1, offset, token, &seed, (uint64_t)f.data->index[i],
                            token));
        for (size_t k = 1; k + 1 < n; k++) {
            cr_assert_eq(is[k], nvdp__sanitizer_piece(f.noise->sanitizer, token[k - 1]));
            changed += is[k] != was[k];
        }
    }
    cr_expect_gt(changed, f.data->count);
    ok(nvdp__token_noise_texts(f.noise, few, NULL));
    for (size_t i = 0; i < few->count; i++)
        cr_assert_eq(differences(few, i, f.data, (size_t)few->index[i]), 0, "text %zu", i);
    /* as if it were the train file's: other draws */
    struct nvdp_dataset *as_train = load(&f, NVDP_SPLIT_DEV, 0);
    as_train->split = NVDP_SPLIT_TRAIN;
    ok(nvdp__token_noise_texts(f.noise, dev, NULL));
    ok(nvdp__token_noise_texts(f.noise, as_train, NULL));
    size_t different = 0;
    for (size_t i = 0; i < dev->count; i++)
        different += differences(dev, i, as_train, i);
    cr_expect_gt(different, dev->count);
}

/* Returns the path of the only file in the folder. */
static char *only_file(const char *directory) {
    char *found = NULL;
    nvdp__autoptr(closedir) DIR *open = opendir(directory);
    cr_assert_not_null(open);
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        cr_assert_null(found, "%s beside another", entry->d_name);
        cr_assert_gt(asprintf(&found, "%s/%s", directory, entry->d_name), 0);
    }
    cr_assert_not_null(found);
    return support_keep(found);
}

/* Draws are read from the cache regardless of the file's content; a damaged file is rewritten;
 * other draws have another file. */
Test(noise, draws_are_kept) {
    struct nvdp__token_noise_options options = options_of(NVDP__TOKENS_LAPLACE_NEAREST, 30);
    struct fixture f = setup(&options);
    const char *cache = support_scratch_path("drawn");
    struct nvdp_dataset *drawn = load(&f, NVDP_SPLIT_TRAIN, 0),
                        *repeated = load(&f, NVDP_SPLIT_TRAIN, 0),
                        *other = load(&f, NVDP_SPLIT_DEV, 0);
    ok(nvdp__token_noise_texts(f.noise, f.data, NULL));
    ok(nvdp__token_noise_texts(f.noise, drawn, cache));
    const size_t bytes = drawn->offset[drawn->count] * sizeof *drawn->ids;
    cr_expect_eq(memcmp(f.data->ids, drawn->ids, bytes), 0);
    char *file = only_file(cache);
    nvdp__autofree int32_t *fives = calloc(1, bytes);
    for (size_t i = 0; i < bytes / sizeof *fives; i++)
        fives[i] = 5;
    ok(nvdp__cache_write(f.ctx, file, "drawn", 1, (const char *)fives, bytes));
    ok(nvdp__token_noise_texts(f.noise, repeated, cache));
    cr_expect_eq(memcmp(repeated->ids, fives, bytes), 0);
    repeated = load(&f, NVDP_SPLIT_TRAIN, 0);
    support_write_text(file, "not it");
    ok(nvdp__token_noise_texts(f.noise, repeated, cache));
    cr_expect_eq(memcmp(repeated->ids, drawn->ids, bytes), 0);
    cr_assert_eq(remove(file), 0);
    ok(nvdp__token_noise_texts(f.noise, other, cache));
    only_file(cache);
}

/* Returns the vectors of rows [0, n) of `order` in one batch. */
static float *words_of(struct fixture *f, const int64_t *order, size_t n, const float *table,
                       struct nvdp__batch **batch) {
    struct nvdp__device dev = nvdp__device_cpu(f->ctx);
    ok(nvdp__batch_create(f->ctx, n, TASK_LENGTH, batch));
    ok(nvdp__token_noise_plan(f->noise, &dev, n * TASK_LENGTH, n, DIM));
    nvdp__batch_fill(*batch, f->data, order, 0, n);
    const float *words = NULL;
    ok(nvdp__token_noise_words(f->noise, &dev, table, *batch, &words));
    cr_assert_not_null(words);
    float *copy = malloc((*batch)->tokens * DIM * sizeof *copy);
    memcpy(copy, words, (*batch)->tokens * DIM * sizeof *copy);
    return support_keep(copy);
}

/* [CLS] and [SEP] are the table's rows. A text's vectors are those of nvdp_dchi_perturb,
 * independent of the other texts in the batch. */
Test(noise, vectors_are_one_draw_a_text) {
    struct nvdp__token_noise_options options = options_of(NVDP__NOISE_LAPLACE, 50);
    struct fixture f = setup(&options);
    size_t pieces = nvdp_tokenizer_size(f.tokenizer);
    nvdp__autofree float *table = malloc(pieces * DIM * sizeof *table);
    for (size_t id = 0; id < pieces; id++) {
        int32_t row = nvdp__sanitizer_token(f.noise->sanitizer, (int32_t)id);
        double vector[DIM];
        if (row >= 0)
            nvdp__vectors_row(nvdp_sanitizer_vectors(f.noise->sanitizer), (size_t)row, vector);
        for (size_t k = 0; k < DIM; k++)
            table[id * DIM + k] = row < 0 ? (float)(id + k) : (float)vector[k];
    }
    const int64_t many[] = {5, 90, 3, 17, 44}, one[] = {17};
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL, *alone = NULL;
    float *words = words_of(&f, many, 5, table, &batch);
    float *own = words_of(&f, one, 1, table, &alone);
    size_t at = (size_t)batch->offset[3], n = alone->tokens;
    cr_expect_arr_eq(words + at * DIM, own, n * DIM * sizeof *own);
    double drawn[TASK_LENGTH * DIM];
    int32_t token[TASK_LENGTH];
    size_t offset[] = {0, n - 2};
    uint64_t seed = SEED;
    for (size_t k = 1; k + 1 < n; k++)
        token[k - 1] = nvdp__sanitizer_token(f.noise->sanitizer, alone->ids[k]);
    ok(nvdp_dchi_perturb(f.ctx, nvdp_sanitizer_dchi(f.noise->sanitizer), 1, offset, token, &seed,
                         17, drawn));
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < DIM; i++) {
            bool marker = k == 0 || k + 1 == n;
            float want =
                marker ? table[(size_t)alone->ids[k] * DIM + i] : (float)drawn[(k - 1) * DIM + i];
            cr_assert_eq(own[k * DIM + i], want);
        }
    /* a step allocates no memory */
    struct nvdp__device dev = nvdp__device_cpu(f.ctx);
    nvdp__fail_allocation(f.ctx, 1);
    const float *repeated = NULL;
    ok(nvdp__token_noise_words(f.noise, &dev, table, alone, &repeated));
    cr_expect_null(nvdp__calloc(f.ctx, 1, 1));
}

/* Only the first token's state is noised, as nvdp__sequence_perturb() draws it. */
Test(noise, a_sequence_is_its_first_state) {
    struct nvdp__token_noise_options options = options_of(NVDP__NOISE_SEQUENCE, 5);
    options.clip = 0.5;
    struct fixture f = setup(&options);
    struct nvdp__device dev = nvdp__device_cpu(f.ctx);
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    const int64_t order[] = {9, 100};
    float hidden[2 * TASK_LENGTH * DIM], before[2 * TASK_LENGTH * DIM];
    ok(nvdp__batch_create(f.ctx, 2, TASK_LENGTH, &batch));
    ok(nvdp__token_noise_plan(f.noise, &dev, 2 * TASK_LENGTH, 2, DIM));
    nvdp__batch_fill(batch, f.data, order, 0, 2);
    for (size_t i = 0; i < batch->tokens * DIM; i++)
        before[i] = hidden[i] = sinf((float)i);
    nvdp__token_noise_states(f.noise, &dev, batch, hidden);
    for (size_t b = 0; b < 2; b++) {
        double state[DIM], scratch[DIM];
        const struct nvdp__noise noise = {.seed = SEED};
        const struct nvdp__token_place place = {.text = batch->key[b]};
        size_t at = (size_t)batch->offset[b] * DIM, end = (size_t)batch->offset[b + 1] * DIM;
        for (size_t k = 0; k < DIM; k++)
            state[k] = (double)before[at + k];
        nvdp__sequence_perturb(&noise, 1, 5, 0.5, 1, DIM, &place, state, scratch, state);
        for (size_t i = at; i < end; i++)
            cr_assert_eq(hidden[i], i < at + DIM ? (float)state[i - at] : before[i]);
    }
}

/* ---- runs ---- */

static struct nvdp__train_options config_of(const struct task *task, const char *out, int mechanism,
                                            double eta) {
    struct nvdp__train_options config =
        task_config(task, NVDP_METHOD_BASE, support_scratch_path(out));
    config.noise.mechanism = mechanism;
    config.noise.sanitizer.eta = eta;
    return config;
}

/* Counts the elements of a tensor that a run changed. */
static size_t changed(struct nvdp_context *ctx, const char *model, const char *run,
                      const char *name) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *a = NULL, *b = NULL;
    ok(nvdp__safetensors_open(ctx, support_path("%s/model.safetensors", model), &a));
    ok(nvdp__safetensors_open(ctx, support_path("%s/model/model.safetensors", run), &b));
    const struct nvdp__tensor_info *from = nvdp__safetensors_find(a, name);
    const struct nvdp__tensor_info *to = nvdp__safetensors_find(b, name);
    cr_assert(from != NULL && to != NULL && from->count == to->count, "%s", name);
    nvdp__autofree double *x = malloc(from->count * sizeof *x),
                          *y = malloc(from->count * sizeof *y);
    support_read_f64(from, x);
    support_read_f64(to, y);
    size_t different = 0;
    for (size_t i = 0; i < from->count; i++)
        different += x[i] != y[i];
    return different;
}

#define WORDS "bert.embeddings.word_embeddings.weight"
#define POSITIONS "bert.embeddings.position_embeddings.weight"
#define QUERY "bert.encoder.layer.0.attention.self.query.weight"
#define POOLER "bert.pooler.dense.weight"

/* With token representations the table stays the user's, with sequences the encoder does, with
 * texts nothing. Scores are reproducible. */
Test(noise, what_is_the_users_stays) {
    static const struct {
        int mechanism;
        double eta;
        bool words, layers;
    } runs[] = {{NVDP__NOISE_LAPLACE, 100, true, false},
                {NVDP__TOKENS_LAPLACE_NEAREST, 100, false, false},
                {NVDP__TOKENS_RANDOM, 0, false, false},
                {NVDP__NOISE_SEQUENCE, 100, true, true}};
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct nvdp__train_options config = config_of(&task, "run", runs[i].mechanism, runs[i].eta);
        task_set(&config, "epochs 2 overwrite true");
        struct nvdp_train_result result = task_train(ctx, &config);
        struct nvdp_evaluation repeated = task_evaluate(ctx, config.out, 1);
        cr_expect_eq(repeated.scores->mean[0], result.test->mean[0]);
        cr_expect_eq(changed(ctx, task.model, config.out, WORDS) == 0, runs[i].words, "%zu", i);
        cr_expect_eq(changed(ctx, task.model, config.out, POSITIONS) == 0, runs[i].layers, "%zu",
                     i);
        cr_expect_eq(changed(ctx, task.model, config.out, QUERY) == 0, runs[i].layers, "%zu", i);
        cr_expect_gt(changed(ctx, task.model, config.out, POOLER), 0, "%zu", i);
    }
}

/* Zero noise is no noise: text-to-text equals the plain run, token representations the run with
 * frozen word embeddings, for both encoders. */
Test(noise, none_is_null_privacy) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    for (int lstm = 0; lstm < 2; lstm++) {
        for (int frozen = 0; frozen < 2; frozen++) {
            struct nvdp__train_options config = config_of(&task, "plain", NVDP__NOISE_NONE, 0);
            config.encoder = lstm ? BILSTM : 0;
            config.freeze_words = frozen == 1;
            task_set(&config, "lstm-hidden 8 epochs 2 overwrite true");
            const char *plain = config.out;
            task_train(ctx, &config);
            config.out = support_scratch_path("noised");
            config.freeze_words = false;
            config.noise.mechanism =
                frozen ? NVDP__NOISE_LAPLACE : (int)NVDP__TOKENS_LAPLACE_NEAREST;
            config.noise.sanitizer.eta = 1e30;
            task_train(ctx, &config);
            cr_expect(support_same_file(plain, config.out, "model/model.safetensors"),
                      "encoder %d, frozen %d", lstm, frozen);
        }
    }
}

/* The label depends on one word: it is learned with little noise, but not from uniform tokens. */
Test(noise, is_what_is_learned_from) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    struct nvdp__train_options config =
        config_of(&task, "near", NVDP__TOKENS_LAPLACE_NEAREST, 2000);
    cr_expect_gt(task_train(ctx, &config).test->mean[0], 0.9);
    config = config_of(&task, "any", NVDP__TOKENS_RANDOM, 0);
    cr_expect_lt(task_train(ctx, &config).test->mean[0], 0.8);
}

static void resumes(int mechanism) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    task_resumes_exactly(ctx, config_of(&task, "unused", mechanism, 100));
}

Test(noise, vectors_resume_exactly) {
    resumes(NVDP__NOISE_LAPLACE);
}

Test(noise, tokens_resume_exactly) {
    resumes(NVDP__TOKENS_SANTEXT);
}

Test(noise, sequences_resume_exactly) {
    resumes(NVDP__NOISE_SEQUENCE);
}

/* ---- token representations from a file ---- */

/* Writes the task's representations, drawn over its model. */
static const char *represent(struct nvdp_context *ctx, const struct task *task, const char *eta) {
    const char *path = support_scratch_path("representations.h5");
    const struct nvdp_config *config = support_config(
        ctx, "sanitize", "task", "sst2", "data", task->data, "model", task->model, "mechanism",
        "laplace", "eta", eta, "out", path, "measure-tokens", "3", "draws", "5", NULL);
    ok(nvdp_sanitize(ctx, config, NULL, NULL, NULL));
    return path;
}

static struct nvdp__train_options config_from(const struct task *task, const char *path,
                                              const char *out) {
    struct nvdp__train_options config =
        task_config(task, NVDP_METHOD_BASE, support_scratch_path(out));
    config.data = NULL;
    config.representations = path;
    return config;
}

/* The texts have the lengths, numbers and labels of their originals. Their vectors lie between
 * the table's rows of [CLS] and [SEP]. A sample is a part of the texts. */
Test(noise, representations_are_texts_without_words) {
    struct nvdp__token_noise_options none = options_of(NVDP__TOKENS_RANDOM, 0);
    struct fixture f = setup(&none);
    const char *path = represent(f.ctx, &f.task, "50");
    struct nvdp__train_options config = config_from(&f.task, path, "run");
    nvdp__autoptr(nvdp__token_file_close) struct nvdp__token_file *given = NULL;
    nvdp__autoptr(nvdp__token_noise_free) struct nvdp__token_noise *noise = NULL;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *texts = NULL, *few = NULL;
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    struct nvdp__device dev = nvdp__device_cpu(f.ctx);
    ok(nvdp__token_file_open(f.ctx, &config, f.tokenizer, &given, &noise));
    ok(nvdp__token_file_texts(f.ctx, given, f.tokenizer, TASK_LENGTH, NVDP_SPLIT_TRAIN, 0, 1,
                              &texts));
    cr_assert_eq(texts->count, f.data->count);
    cr_expect_arr_eq(texts->offset, f.data->offset, (texts->count + 1) * sizeof *texts->offset);
    cr_expect_arr_eq(texts->index, f.data->index, texts->count * sizeof *texts->index);
    cr_expect_arr_eq(texts->label, f.data->label, texts->count * sizeof *texts->label);
    cr_expect_arr_eq(texts->types, f.data->types, texts->offset[texts->count] * sizeof(int32_t));
    for (size_t i = 0; i < texts->offset[texts->count]; i++) {
        bool marker = is_marker(&f, f.data->ids[i]);
        cr_assert_eq(texts->ids[i],
                     marker ? f.data->ids[i] : nvdp_tokenizer_special(f.tokenizer, NVDP_TOKEN_UNK));
    }
    nvdp__autoptr(nvdp__representations_close) struct nvdp__representations *file = NULL;
    struct nvdp__representations_info info;
    ok(nvdp__representations_open(f.ctx, path, &file, &info));
    nvdp__autofree float *z = malloc(info.tokens * DIM * sizeof *z),
                         *table = calloc(PIECES * DIM, sizeof *table);
    ok(nvdp__representations_read(file, 0, info.tokens, z));
    const int64_t order[] = {77, 4, 50};
    const float *words = NULL;
    ok(nvdp__batch_create(f.ctx, 3, TASK_LENGTH, &batch));
    ok(nvdp__token_noise_plan(noise, &dev, 3 * TASK_LENGTH, 3, DIM));
    nvdp__batch_fill(batch, texts, order, 0, 3);
    ok(nvdp__token_noise_words(noise, &dev, table, batch, &words));
    for (size_t t = 0; t < 3; t++) {
        size_t row = 0; /* row of the file */
        while (info.split[row] != NVDP_SPLIT_TRAIN || info.id[row] != order[t])
            row++;
        size_t first = (size_t)info.offset[row], n = (size_t)info.offset[row + 1] - first;
        const float *of_text = words + (size_t)batch->offset[t] * DIM;
        for (size_t i = 0; i < DIM; i++)
            cr_assert(of_text[i] == 0 && of_text[(n + 1) * DIM + i] == 0);
        cr_expect_arr_eq(of_text + DIM, z + first * DIM, n * DIM * sizeof *z);
    }
    ok(nvdp__token_file_texts(f.ctx, given, f.tokenizer, 5, NVDP_SPLIT_TRAIN, 20, 1, &few));
    cr_expect_eq(few->count, 20);
    cr_expect_eq(few->longest, 5);
    cr_expect_gt(few->truncated, 0);
}

Test(noise, representations_are_learned_from) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    struct nvdp__train_options config = config_from(&task, represent(ctx, &task, "5000"), "run");
    task_set(&config, "lr 3e-3 epochs 20");
    struct nvdp_train_result result = task_train(ctx, &config);
    cr_expect_gt(result.test->mean[0], 0.9, "%g", result.test->mean[0]);
    cr_expect_eq(task_evaluate(ctx, config.out, 1).scores->mean[0], result.test->mean[0]);
    cr_expect_eq(changed(ctx, task.model, config.out, WORDS), 0);
    cr_expect_gt(changed(ctx, task.model, config.out, POSITIONS), 0);
    config.out = support_scratch_path("lstm");
    config.encoder = BILSTM;
    config.epochs = 1;
    task_train(ctx, &config);
}

Test(noise, representations_resume_exactly) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    task_resumes_exactly(ctx, config_from(&task, represent(ctx, &task, "100"), "unused"));
}

static void refused(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                    const char *part) {
    task_fails(ctx, config, NVDP_ERR_ARGUMENT, part);
}

Test(noise, what_does_not_go_with_it_is_refused) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    struct nvdp__train_options config = config_of(&task, "run", NVDP__NOISE_LAPLACE, 0);
    refused(ctx, &config,
            "--eta or --epsilon: mechanism laplace needs a finite number above 0, found 0");
    config.noise.sanitizer.eta = 5;
    config.method = NVDP_METHOD_NVDP;
    refused(ctx, &config, "token-noise laplace: expected method base or reg, found nvdp");
    config.method = NVDP_METHOD_BASE;
    config.freeze_layers = 1;
    refused(ctx, &config, "expected freeze-layers 0");
    task_set(&config, "freeze-layers 0 noise-clip 1");
    refused(
        ctx, &config,
        "--noise-clip: expected --token-noise sequence-laplace, the only one that clips states, "
        "found laplace");
    config.noise.mechanism = NVDP__NOISE_SEQUENCE;
    config.encoder = BILSTM;
    refused(ctx, &config, "expected encoder bert");
    config.encoder = 0;
    config.noise.clip = 0;
    config.noise.mechanism = NVDP__NOISE_NONE;
    refused(
        ctx, &config,
        "option --eta or --epsilon sets the noise of text privatization and needs --token-noise");
    config.noise.mechanism = NVDP__TOKENS_SANTEXT_PLUS;
    refused(ctx, &config, "santext-plus needs exactly one source");
    config.noise.mechanism = NVDP__TOKENS_RANDOM;
    refused(ctx, &config,
            "--eta or --epsilon: mechanism random draws uniformly and takes no eta, found 5");
    config = config_from(&task, represent(ctx, &task, "100"), "run");
    config.task = "cola";
    task_fails(ctx, &config, NVDP_ERR_INPUT, "token representations of task cola, found sst2");
    config.task = "sst2";
    config.method = NVDP_METHOD_NVDP;
    refused(ctx, &config, "option --representations: expected method base or reg");
    config.method = NVDP_METHOD_BASE;
    config.data = task.data;
    refused(ctx, &config, "option --data and --representations exclude each other");
    config.data = NULL;
    config.model = support_golden("distilbert");
    task_fails(ctx, &config, NVDP_ERR_INPUT, ": expected vectors of ");
    config = config_of(&task, "run", NVDP__NOISE_LAPLACE, 5);
    config.model = support_golden("roberta");
    config.max_length = 24;
    task_fails(ctx, &config, NVDP_ERR_UNSUPPORTED, "expected an encoder with WordPieces");
}
