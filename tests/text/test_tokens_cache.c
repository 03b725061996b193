/* The cache of tokenized files never changes a result and never causes a failure. */
#include "text_support.h"

static const char sst2[] = "sentence\tlabel\nthe cat sat\t1\nunwanted mat ,\t0\nthe the .\t1\n";

struct notices {
    int count;
    char last[512];
};

static void take(enum nvdp_log_level level, const char *message, void *user) {
    struct notices *notices = user;
    if (level != NVDP_LOG_NOTICE) return;
    notices->count++;
    snprintf(notices->last, sizeof notices->last, "%s", message);
}

struct fixture {
    struct nvdp_context *ctx;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp_dataset_config config;
    struct notices notices;
    char cache[512];
};

static void open_fixture(struct fixture *fixture) {
    *fixture = (struct fixture){.ctx = support_context()};
    nvdp_context_set_log(fixture->ctx, take, &fixture->notices);
    fixture->tokenizer = text_tiny(fixture->ctx);
    support_file("train.tsv", sst2);
    fixture->config = text_config(NVDP_TASK_SST2);
    snprintf(fixture->cache, sizeof fixture->cache, "%s", support_scratch_path("deep/cache"));
    fixture->config.cache = fixture->cache;
}

static void close_fixture(struct fixture *fixture) {
    nvdp_tokenizer_free(fixture->tokenizer);
}

static struct nvdp_dataset *load(struct fixture *fixture) {
    struct nvdp_dataset *dataset = NULL;
    ok(nvdp__dataset_load(fixture->ctx, fixture->tokenizer, &fixture->config, NVDP_SPLIT_TRAIN,
                          NULL, &dataset));
    return support_keep(dataset);
}

/* Counts the files in the cache; writes the last one's path to `path` unless it is NULL. */
static int files(const struct fixture *fixture, char path[1024]) {
    DIR *directory = opendir(fixture->cache);
    if (directory == NULL) return 0;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        count++;
        if (path != NULL) snprintf(path, 1024, "%s/%s", fixture->cache, entry->d_name);
    }
    closedir(directory);
    return count;
}

static void same_with_and_without(struct fixture *fixture) {
    const char *cache = fixture->config.cache;
    fixture->config.cache = NULL;
    struct nvdp_dataset *plain = load(fixture);
    fixture->config.cache = cache;
    for (int i = 0; i < 2; i++) { /* the first time written, the second read */
        struct nvdp_dataset *cached = load(fixture);
        text_same(plain, cached);
        cr_assert_str_eq(plain->task->name, cached->task->name);
        cr_assert_eq(plain->task->classes, cached->task->classes);
        for (int k = 0; k < plain->task->classes && plain->task->labels != NULL; k++)
            cr_assert_str_eq(plain->task->labels[k], cached->task->labels[k]);
        cr_assert_eq(plain->id == NULL, cached->id == NULL);
        for (size_t k = 0; plain->id != NULL && k < plain->count; k++)
            cr_assert_str_eq(plain->id[k], cached->id[k]);
    }
}

Test(tokens_cache, found_is_what_was_made) {
    struct fixture fixture;
    open_fixture(&fixture);
    same_with_and_without(&fixture);
    cr_assert_eq(files(&fixture, NULL), 1);
    struct stat info;
    cr_assert_eq(stat(fixture.cache, &info), 0);
    cr_assert_eq(info.st_mode & 0777, 0700); /* texts can be recovered from tokens */
    cr_assert_eq(fixture.notices.count, 0);
    close_fixture(&fixture);
}

Test(tokens_cache, names_ids_pairs_and_samples) {
    struct fixture fixture;
    open_fixture(&fixture);
    fixture.config.task = NVDP_TASK_TSV;
    nvdp__set_columns(&fixture.config, &(struct nvdp__columns){"t", "u", "y", false});
    support_file("train.tsv", "index\tt\tu\ty\n7\tthe\tcat\tno\n8\tmat\tsat .\tyes\n9\ta\tb\tno\n");
    same_with_and_without(&fixture);
    fixture.config.limit = 2;
    fixture.config.limit_seed = 3;
    same_with_and_without(&fixture);
    fixture.config.max_length = 5;
    same_with_and_without(&fixture);
    fixture.config.text_pair_column = NULL;
    same_with_and_without(&fixture);
    nvdp__set_columns(&fixture.config, &(struct nvdp__columns){"t", NULL, "index", true});
    same_with_and_without(&fixture);
    cr_assert_eq(files(&fixture, NULL), 5);
    close_fixture(&fixture);
}

Test(tokens_cache, another_file_or_vocabulary_is_another_entry) {
    struct fixture fixture;
    open_fixture(&fixture);
    same_with_and_without(&fixture);
    /* the same size and, on most clocks, the same second */
    support_file("train.tsv", "sentence\tlabel\nthe cat sat\t0\nunwanted mat ,\t0\nthe the .\t1\n");
    same_with_and_without(&fixture);
    cr_assert_eq(files(&fixture, NULL), 2);
    nvdp_tokenizer_free(fixture.tokenizer);
    ok(nvdp_tokenizer_load(fixture.ctx,
                           text_model("cased", tiny_vocabulary, "{\"do_lower_case\": false}"),
                           &fixture.tokenizer));
    same_with_and_without(&fixture);
    cr_assert_eq(files(&fixture, NULL), 3);
    close_fixture(&fixture);
}

/* Every changed byte and every truncated length is detected, reported and repaired. */
Test(tokens_cache, damage_is_noticed_and_repaired) {
    struct fixture fixture;
    open_fixture(&fixture);
    char path[1024];
    struct nvdp_dataset *good = load(&fixture);
    cr_assert_eq(files(&fixture, path), 1);
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    for (off_t at = 0; at < info.st_size; at += 5) {
        fixture.notices.count = 0;
        int fd = open(path, O_RDWR);
        unsigned char byte = 0;
        cr_assert_eq(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
        if (at % 2 == 1) cr_assert_eq(ftruncate(fd, at), 0);
        close(fd);
        struct nvdp_dataset *again = load(&fixture);
        text_same(good, again);
        cr_assert_eq(fixture.notices.count, 1, "byte %ld: %d notices", (long)at,
                     fixture.notices.count);
        cr_assert_not_null(strstr(fixture.notices.last, "contents again"), "%s",
                           fixture.notices.last);
        fixture.notices.count = 0;
        nvdp_dataset_free(load(&fixture));
        cr_assert_eq(fixture.notices.count, 0);
    }
    close_fixture(&fixture);
}

Test(tokens_cache, errors_and_notices_come_every_time) {
    struct fixture fixture;
    open_fixture(&fixture);
    support_file("train.tsv", "sentence\tlabel\nthe cat\t1\nmat\t7\n");
    for (int i = 0; i < 2; i++) {
        struct nvdp_dataset *none = NULL;
        cr_assert_eq(nvdp__dataset_load(fixture.ctx, fixture.tokenizer, &fixture.config,
                                        NVDP_SPLIT_TRAIN, NULL, &none),
                     NVDP_ERR_INPUT);
    }
    fixture.config.skip_bad_rows = true;
    for (int i = 0; i < 2; i++) {
        fixture.notices.count = 0;
        struct nvdp_dataset *dataset = load(&fixture);
        cr_assert_eq(dataset->bad_rows, 1);
        cr_assert_eq(fixture.notices.count, 1);
    }
    cr_assert_eq(files(&fixture, NULL), 0);
    close_fixture(&fixture);
}

Test(tokens_cache, a_folder_that_cannot_be_made_is_a_notice) {
    struct fixture fixture;
    open_fixture(&fixture);
    fixture.config.cache = support_file("file", "in the way");
    struct nvdp_dataset *dataset = load(&fixture);
    cr_assert_eq(dataset->count, 3);
    cr_assert_eq(fixture.notices.count, 1);
    cr_assert_not_null(strstr(fixture.notices.last, "tokens are not kept"));
    close_fixture(&fixture);
}

Test(tokens_cache, several_processes_share_it) {
    enum { PROCESSES = 6 };
    struct fixture fixture;
    open_fixture(&fixture);
    pid_t child[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i] > 0) continue;
        struct nvdp_dataset *dataset = NULL;
        nvdp_context_set_threads(fixture.ctx, 1);
        nvdp_status status = nvdp__dataset_load(fixture.ctx, fixture.tokenizer, &fixture.config,
                                                NVDP_SPLIT_TRAIN, NULL, &dataset);
        _exit(status == NVDP_OK && dataset->count == 3 ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int code = -1;
        cr_assert_eq(waitpid(child[i], &code, 0), child[i]);
        cr_assert_eq(code, 0);
    }
    cr_assert_eq(files(&fixture, NULL), 1); /* no partial file stays */
    close_fixture(&fixture);
}

/* A failed allocation gives an error or a data set that is not cached, never half of one. */
Test(tokens_cache, every_allocation_may_fail) {
    enum { MAX_ALLOCATIONS = 200 };
    struct fixture fixture;
    open_fixture(&fixture);
    nvdp_context_set_threads(fixture.ctx, 1);
    for (int found = 0; found < 2; found++) {
        int failed = 0;
        for (uint64_t k = 1; k < MAX_ALLOCATIONS; k++) {
            char path[1024];
            nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
            if (found == 0 && files(&fixture, path) == 1) unlink(path);
            nvdp__fail_allocation(fixture.ctx, k);
            nvdp_status status = nvdp__dataset_load(fixture.ctx, fixture.tokenizer, &fixture.config,
                                                    NVDP_SPLIT_TRAIN, NULL, &dataset);
            nvdp__fail_allocation(fixture.ctx, 0);
            cr_assert(status == NVDP_OK || status == NVDP_ERR_MEMORY);
            cr_assert_eq(dataset != NULL, status == NVDP_OK);
            if (dataset != NULL) cr_assert_eq(dataset->count, 3);
            failed += dataset == NULL;
        }
        cr_assert_gt(failed, 5);
        cr_assert_eq(files(&fixture, NULL), 1); /* the last attempts had enough memory */
    }
    close_fixture(&fixture);
}
