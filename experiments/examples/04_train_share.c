/* All steps in one program: write a task, train NVDP, measure, export, reuse.
 *
 * The task is small and artificial; a real task differs only in paths and sizes. */
#include <nvdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *const words[] = {"splendid", "dreadful", "film", "novel", "meal",
                                    "the",      "was",      "and",  "long",  "short"};
enum { WORDS = sizeof words / sizeof words[0], SPECIAL = 5 };

struct paths {
    char root[64], data[96], vocabulary[96], bert[96], run[96], shared[96];
};

static int write_split(const struct paths *p, const char *name, int count, int start) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", p->data, name);
    FILE *file = fopen(path, "w");
    if (file == NULL) return -1;
    fputs("sentence\tlabel\n", file);
    for (int i = start; i < start + count; i++) {
        int label = i % 2, pair = i / 2;
        fprintf(file, "the %s was %s and %s\t%d\n", words[2 + pair % 3], words[1 - label],
                words[8 + pair % 2], label);
    }
    return fclose(file);
}

static int prepare(struct paths *p) {
    snprintf(p->root, sizeof p->root, "/tmp/nvdp-example-XXXXXX");
    if (mkdtemp(p->root) == NULL) return -1;
    snprintf(p->data, sizeof p->data, "%s/data", p->root);
    snprintf(p->vocabulary, sizeof p->vocabulary, "%s/vocab.txt", p->root);
    snprintf(p->bert, sizeof p->bert, "%s/bert", p->root);
    snprintf(p->run, sizeof p->run, "%s/run", p->root);
    snprintf(p->shared, sizeof p->shared, "%s/shared.h5", p->root);
    if (mkdir(p->data, 0777) != 0 || write_split(p, "train.tsv", 240, 0) != 0) return -1;
    if (write_split(p, "dev.tsv", 80, 1000) != 0) return -1;
    FILE *file = fopen(p->vocabulary, "w");
    if (file == NULL) return -1;
    fputs("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", file);
    for (int i = 0; i < WORDS; i++)
        fprintf(file, "%s\n", words[i]);
    return fclose(file);
}

static nvdp_status random_bert(struct nvdp_context *ctx, const struct paths *p) {
    struct nvdp_bert_config bert = NVDP_RESULT(struct nvdp_bert_config);
    nvdp_status status = nvdp_bert_config_default(ctx, &bert);
    if (status != NVDP_OK) return status;
    bert.hidden_size = 32;
    bert.num_hidden_layers = 1;
    bert.num_attention_heads = 2;
    bert.intermediate_size = 64;
    bert.vocab_size = SPECIAL + WORDS;
    bert.max_position_embeddings = 16;
    return nvdp_bert_create_random(ctx, &bert, 1, p->vocabulary, p->bert);
}

/* Sets the options. A narrow, clipped latent vector and a weight per nat give small, finite divergences. */
static nvdp_status configure(struct nvdp_config *config, const struct paths *p) {
    const char *const options[][2] = {
        {"task", "sst2"},         {"data", p->data},
        {"model", p->bert},       {"out", p->run},
        {"method", "nvdp"},       {"lambda", "3e-3"},
        {"regularizer", "kl"},    {"latent-dim", "8"},
        {"mu-tau", "0.5"},        {"stdev-tau", "0.7"},
        {"alpha-tau", "-2"},      {"delta", "1"},
        {"clip-mu", "4"},         {"clip-logvar-min", "-1.5"},
        {"clip-logvar-max", "0"}, {"clip-alpha-min", "0.6"},
        {"clip-alpha-max", "6"},  {"clip-gradient", "inward"},
        {"max-length", "12"},     {"epochs", "10"},
        {"patience", "0"},        {"lr", "5e-3"},
    };
    nvdp_status status = NVDP_OK;
    for (size_t i = 0; i < sizeof options / sizeof *options && status == NVDP_OK; i++)
        status = nvdp_config_set(config, options[i][0], options[i][1]);
    return status;
}

static nvdp_status train(struct nvdp_context *ctx, const struct paths *p,
                         struct nvdp_train_result *result) {
    struct nvdp_config *config = NULL;
    nvdp_status status = nvdp_config_create(ctx, "train", &config);
    if (status == NVDP_OK) status = configure(config, p);
    if (status == NVDP_OK) status = nvdp_train(ctx, config, result);
    nvdp_config_free(config);
    return status;
}

static nvdp_status give_away(struct nvdp_context *ctx, const struct paths *p,
                             struct nvdp_export_result *result) {
    struct nvdp_config *config = NULL;
    nvdp_status status = nvdp_config_create(ctx, "export", &config);
    if (status == NVDP_OK) status = nvdp_config_set(config, "run", p->run);
    if (status == NVDP_OK) status = nvdp_config_set(config, "split", "train,dev");
    if (status == NVDP_OK) status = nvdp_config_set(config, "with-labels", "true");
    if (status == NVDP_OK) status = nvdp_config_set(config, "out", p->shared);
    if (status == NVDP_OK) status = nvdp_export(ctx, config, result);
    nvdp_config_free(config);
    return status;
}

static nvdp_status read_it(struct nvdp_context *ctx, const struct paths *p,
                           struct nvdp_reuse_result *result) {
    struct nvdp_config *config = NULL;
    nvdp_status status = nvdp_config_create(ctx, "reuse", &config);
    if (status == NVDP_OK) status = nvdp_config_set(config, "file", p->shared);
    if (status == NVDP_OK) status = nvdp_reuse(ctx, config, result);
    nvdp_config_free(config);
    return status;
}

static nvdp_status go(struct nvdp_context *ctx, const struct paths *p, double *accuracy) {
    struct nvdp_train_result trained = NVDP_RESULT(struct nvdp_train_result);
    struct nvdp_export_result exported = NVDP_RESULT(struct nvdp_export_result);
    struct nvdp_reuse_result reused = NVDP_RESULT(struct nvdp_reuse_result);
    nvdp_status status = random_bert(ctx, p);
    if (status == NVDP_OK) status = train(ctx, p, &trained);
    if (status == NVDP_OK) status = give_away(ctx, p, &exported);
    if (status == NVDP_OK) status = read_it(ctx, p, &reused);
    if (status != NVDP_OK) goto cleanup;
    printf("sender   accuracy %.3f +- %.3f over noise draws\n", trained.test->mean[0],
           trained.test->sd[0]);
    printf("shared   %zu texts, %zu components of width %zu each\n", exported.texts,
           exported.components, exported.dim);
    printf("         summed divergence of order 1.1: max %.2f, mean %.2f nats; %zu of %zu pairs "
           "infinite\n",
           exported.privacy->pairs->sum.max, exported.privacy->pairs->sum.mean,
           exported.privacy->pairs->infinite, exported.privacy->pairs->pairs);
    printf("reader   accuracy %.3f from the file alone\n", reused.scores->mean[0]);
    *accuracy = reused.scores->mean[0];
cleanup:
    nvdp_result_free(&trained);
    nvdp_result_free(&exported);
    nvdp_result_free(&reused);
    return status;
}

int main(void) {
    struct nvdp_context *ctx = NULL;
    struct paths paths;
    double accuracy = 0;
    char command[128];
    if (prepare(&paths) != 0 || nvdp_context_create(&ctx) != NVDP_OK) return 1;
    nvdp_status status = go(ctx, &paths, &accuracy);
    if (status != NVDP_OK) fprintf(stderr, "04_train_share: %s\n", nvdp_context_error(ctx));
    nvdp_context_free(ctx);
    snprintf(command, sizeof command, "rm -rf %s", paths.root);
    int removed = system(command);
    return status == NVDP_OK && accuracy > 0.6 && WIFEXITED(removed) ? 0 : 1;
}
