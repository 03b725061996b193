/* Tests of frozen layers and the cache: where files are written, and that later commands work unchanged. */
#include "program.h"

#include <dirent.h>

/* Counts the files of a folder whose names begin with `kind`. */
static int files(const char *folder, const char *kind) {
    DIR *directory = opendir(folder);
    int count = 0;
    if (directory == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.' && strncmp(entry->d_name, kind, strlen(kind)) == 0;
    closedir(directory);
    return count;
}

static void must(int code, const char *format, const char *a, const char *b) {
    program_expect(code, format, a, b);
}

Test(frozen, a_run_is_scored_measured_and_exported_as_any) {
    const char *run = support_scratch_path("run");
    must(0, "train %s --freeze-layers 1 --out %s", program_train_options(), run);
    const char *usual = support_scratch_path("cache/nvdp"); /* $XDG_CACHE_HOME/nvdp */
    cr_assert_eq(files(usual, "prefix-"), 2);               /* train and dev */
    cr_assert_eq(files(usual, "tokens-"), 2);               /* train and dev */
    must(0, "eval %s --draws 2%s", run, "");
    must(0, "privacy %s --limit 8%s", run, "");
    must(0, "predict %s --split test%s", run, "");
    must(0, "export %s --split dev --limit 4 --out %s", run, support_scratch_path("shared.h5"));
    must(0, "train --resume %s --no-prefix-cache%s", run, "");
    char *text = support_read(support_scratch_path("run/run.json"));
    support_contains(text, "\"freeze_layers\": 1");
    support_lacks(text, "cache");
}

Test(frozen, the_cache_is_where_it_is_told) {
    const char *cache = support_scratch_path("mine/here");
    program_expect(
        0, "train $TINY --freeze-layers 1 --no-prefix-cache --cache $DIR/mine/here --out $DIR/a");
    cr_assert_eq(files(cache, "tokens-"), 2);
    cr_assert_eq(files(cache, "prefix-"), 0);
    program_expect(0, "train $TINY --no-cache --out $DIR/b");
    cr_assert_eq(files(support_scratch_path("cache/nvdp"), ""), 0);
}

Test(frozen, a_dry_run_says_what_is_fixed_and_what_it_takes) {
    json_t *object = program_json("train $TINY --freeze-layers 1 --dry-run --json");
    const json_t *plan = json_object_get(object, "plan");
    json_int_t frozen = integer_at(plan, "frozen_parameters");
    /* tables, LayerNorm, and one layer of width 16 with inner width 32 */
    cr_assert_eq(frozen, (40 + 32 + 2) * 16 + 32 + 4 * 272 + 544 + 528 + 64);
    cr_assert_gt(integer_at(plan, "prefix_cache_bytes"), 160 * 5 * 64);
    struct outcome outcome = program_expect(0, "train $TINY --freeze-layers 1 --dry-run");
    support_contains(outcome.out, "\nfrozen parameters ", " MiB in the cache\n");
    cr_assert_eq(files(support_scratch_path("cache/nvdp"), ""), 0);
}

Test(frozen, wrong_usage_is_named) {
    program_says(2, "--freeze-layers: expected 1 to 1, the number of layers of the model, found 2",
                 "train $TINY --freeze-layers 2 --out $DIR/run");
    program_says(2, "--cache and --no-cache exclude each other",
                 "train --cache d --no-cache --resume run");
}
