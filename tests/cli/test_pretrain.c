/* Tests of nvdp pretrain: from text to a model that nvdp train accepts, and resuming after a kill. The others are in
 * pretrain.txt. */
#include "program.h"

/* Writes the task's sentences as plain text, in documents of eight. */
static const char *text_file(void) {
    const char *path = support_scratch_path("text.txt");
    program_task();
    char *tsv = support_read(support_scratch_path("task/train.tsv"));
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    int row = 0;
    char *line = strchr(tsv, '\n') + 1;
    for (char *end; (end = strchr(line, '\t')) != NULL; line = strchr(end, '\n') + 1, row++)
        fprintf(file, "%.*s\n%s", (int)(end - line), line, row % 8 == 7 ? "\n" : "");
    cr_assert_eq(fclose(file), 0);
    return path;
}

static const char *options(void) {
    static char text[4096];
    snprintf(text, sizeof text,
             "--text %s --vocab-size 90 --hidden 16 --layers 1 --heads 2 --intermediate 32 "
             "--length 16 --batch 8 --lr 3e-3 --threads 1",
             text_file());
    return text;
}

Test(pretrain, from_text_to_a_model_that_can_be_trained) {
    struct outcome o = program_expect(
        0, "pretrain %s --steps 30 --eval-text %s --eval-every 10 --out $DIR/lm --dtype f16 --json",
        options(), text_file());
    json_t *result = program_object(&o);
    cr_assert_eq(integer_at(result, "steps"), 30);
    cr_assert_leq(integer_at(result, "vocab_size"), 90);
    cr_assert_gt(integer_at(json_object_get(result, "evaluation"), "masked"), 100);
    cr_assert_eq(number_at(result, "coverage/unknown"), 0);
    support_contains(o.err, "held-out text: masked accuracy");
    o = program_expect(0, "pretrain --eval --model $DIR/lm --text %s --length 16 --threads 1",
                       text_file());
    support_contains(o.out, "masked accuracy", "perplexity");
    program_says(0, "7 tensors not used: ",
                 "train --task sst2 --data $TASK --model $DIR/lm --method base --epochs 1 "
                 "--max-length 12 --threads 1 --out $DIR/run"); /* the pretraining heads */
    program_prints(
        0, "longer",
        "pretrain --init $DIR/lm --text %s --length 24 --steps 2 --threads 1 --out $DIR/longer",
        text_file());
    program_prints(0, "BertForPreTraining", "info $DIR/longer");
}

/* Kills a run, resumes it from its last saved state, and expects the same bytes as undisturbed. */
static void kill_and_resume(const char *options, unsigned steps) {
    program_expect(0, "pretrain %s --steps %u --out $DIR/whole", options, steps);
    nvdp__autofree char *line = NULL;
    cr_assert_gt(asprintf(&line,
                          "exec %s/nvdp pretrain %s --steps %u --checkpoint-seconds 0 "
                          "--quiet --out %s",
                          NVDP_BINARY_DIR, options, steps, support_scratch_path("parts")),
                 0);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    struct stat info;
    while (stat(support_scratch_path("parts/pretrain.json"), &info) != 0)
        usleep(1000);
    usleep(100000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    program_prints(0, " steps", "pretrain --resume $DIR/parts --threads 1");
    cr_assert(support_same_file(support_scratch_path("whole"), support_scratch_path("parts"),
                                "model.safetensors"));
}

Test(pretrain, killed_and_resumed) {
    kill_and_resume(options(), 300);
}

Test(pretrain, killed_and_resumed_on_privatized_text) {
    program_expect(0, "pretrain %s --steps 5 --out $DIR/init", options());
    char more[4096];
    snprintf(more, sizeof more,
             "--text %s --init %s --length 16 --batch 8 --lr 3e-3 --threads 1 --privatize laplace "
             "--eta 300 --objective prob-mlm+nsp",
             text_file(), support_scratch_path("init"));
    kill_and_resume(more, 60);
}
