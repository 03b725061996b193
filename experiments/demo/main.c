/* nvdp-demo data DIR [SEED [TEXTS]]: writes the demo's data sets, with TEXTS training texts.
 *
 *   DIR/sentiment/{train,dev,test}.tsv    SST-2's columns
 *   DIR/sentiment/{train,dev}_names.txt   the private attribute, one name per row of the TSV
 *   DIR/names/{train,dev}.tsv             the same texts, labeled with the name
 *
 * nvdp-demo learned RUN: fails if RUN's validation score is too low for a bottleneck over its encoder.
 *
 * nvdp-demo attack RESULT.json ATTACK.json: writes the test scores of a probe in the format that nvdp report reads.
 *
 * nvdp-demo story RUNS SUMMARY: prints one row per run in RUNS: what is proven, and what readers find out, and a row of the
 * summary of all texts, whose result and score are SUMMARY.json and SUMMARY-reuse.json. Fails if a run learned nothing, or if
 * a score contradicts what is proven.
 */
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- the texts, generated from templates, each with a label and a private attribute --- */

enum { TEXT_SIZE = 256 };

struct random_state {
    unsigned short state[3];
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *const names[] = {"anna",  "boris", "chloe", "david",
                                    "elena", "farid", "greta", "hugo"};
static const char *const places[] = {"zurich", "lagos",  "lima",   "oslo",
                                     "delhi",  "quebec", "athens", "kyoto"};
static const char *const things[] = {"film",  "novel", "concert", "meal",    "hotel", "play",
                                     "album", "tour",  "museum",  "lecture", "game",  "series"};
static const char *const parts[] = {"the opening",    "the ending",   "the service", "the music",
                                    "the staff",      "the pace",     "the story",   "the price",
                                    "the first half", "the last hour"};
static const char *const good[] = {"wonderful", "superb",     "charming",  "moving",
                                   "brilliant", "delightful", "excellent", "splendid",
                                   "touching",  "clever",     "gorgeous",  "flawless"};
static const char *const bad[] = {"dreadful", "boring", "clumsy",   "tedious",
                                  "awful",    "dull",   "terrible", "shallow",
                                  "lifeless", "messy",  "annoying", "hollow"};
static const char *const degrees[] = {"truly", "quite", "rather", "really", "simply", "deeply"};
static const char *const verbs[] = {"thought",    "said", "found that",
                                    "wrote that", "felt", "insisted that"};

static void start_random(struct random_state *random, long seed) {
    random->state[0] = 0x330e; /* as srand48 */
    random->state[1] = (unsigned short)(seed & 0xffff);
    random->state[2] = (unsigned short)((seed >> 16) & 0xffff);
}

static size_t below(struct random_state *random, size_t n) {
    return (size_t)(erand48(random->state) * (double)n);
}

static const char *pick(struct random_state *random, const char *const *list, size_t n) {
    return list[below(random, n)];
}
#define PICK(random, list) pick(random, list, COUNT(list))

/* Writes "the ending was quite moving". */
static void clause(struct random_state *random, const char *subject, bool positive, char *out,
                   size_t size) {
    snprintf(out, size, "%s was %s %s", subject, PICK(random, degrees),
             positive ? PICK(random, good) : PICK(random, bad));
}

/* Makes a text with a given opinion by a given person. Both clauses have the opinion: an encoder learns it within one
 * epoch, on every processor. */
static void make_text(struct random_state *random, bool positive, const char *name,
                      char out[TEXT_SIZE]) {
    char subject[48], first[96], second[96];
    snprintf(subject, sizeof subject, "the %s", PICK(random, things));
    clause(random, subject, positive, first, sizeof first);
    clause(random, PICK(random, parts), positive, second, sizeof second);
    snprintf(out, TEXT_SIZE, "%s from %s , %zu , %s %s and %s .", name, PICK(random, places),
             20 + below(random, 50), PICK(random, verbs), first, second);
}

/* --- the files --- */

enum { TRAIN_TEXTS = 3000, DEV_TEXTS = 400, TEST_TEXTS = 200, PATH_SIZE = 4096 };

__attribute__((format(printf, 1, 2))) static FILE *open_file(const char *format, ...) {
    char path[PATH_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    FILE *file = fopen(path, "w");
    if (file == NULL) perror(path);
    return file;
}

/* Closes a file; returns -1 also after an earlier write error. */
static int close_file(FILE *file) {
    bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed ? 0 : -1;
}

/* Opinion and speaker are independent, and every combination is as frequent as any other. */
enum { KINDS = 2 * COUNT(names) };

/* Draws the kind of the next of `remaining` texts, of which left[k] have kind k. */
static size_t draw_kind(struct random_state *random, size_t left[KINDS], size_t remaining) {
    size_t rank = below(random, remaining), kind = 0;
    while (rank >= left[kind])
        rank -= left[kind++];
    left[kind]--;
    return kind;
}

static int write_split(const char *directory, const char *split, size_t texts,
                       struct random_state *random) {
    bool hidden = strcmp(split, "test") == 0; /* as in GLUE: no labels in test */
    FILE *data = open_file("%s/sentiment/%s.tsv", directory, split);
    FILE *speakers = open_file("%s/sentiment/%s_names.txt", directory, split);
    FILE *attack = open_file("%s/names/%s.tsv", directory, split);
    if (data == NULL || speakers == NULL || attack == NULL) return -1;
    fprintf(data, hidden ? "index\tsentence\n" : "sentence\tlabel\n");
    fprintf(attack, "text\tname\n");
    size_t left[KINDS];
    for (size_t k = 0; k < KINDS; k++)
        left[k] = texts / KINDS + (k < texts % KINDS);
    for (size_t i = 0; i < texts; i++) {
        const size_t kind = draw_kind(random, left, texts - i);
        const bool positive = kind >= COUNT(names);
        const char *name = names[kind % COUNT(names)];
        char text[TEXT_SIZE];
        make_text(random, positive, name, text);
        if (hidden)
            fprintf(data, "%zu\t%s\n", i, text);
        else
            fprintf(data, "%s\t%d\n", text, positive);
        fprintf(speakers, "%s\n", name);
        fprintf(attack, "%s\t%s\n", text, name);
    }
    int failed = close_file(data) | close_file(speakers) | close_file(attack);
    return failed ? -1 : 0;
}

static int make_directory(const char *directory, const char *name) {
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s%s%s", directory, name[0] == '\0' ? "" : "/", name);
    if (mkdir(path, 0777) == 0) return 0;
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return 0;
    perror(path);
    return -1;
}

static int write_all(const char *directory, long seed, size_t train_texts) {
    struct random_state random;
    start_random(&random, seed);
    bool failed = make_directory(directory, "") || make_directory(directory, "sentiment") ||
                  make_directory(directory, "names") ||
                  write_split(directory, "train", train_texts, &random) ||
                  write_split(directory, "dev", DEV_TEXTS, &random) ||
                  write_split(directory, "test", TEST_TEXTS, &random);
    return failed ? -1 : 0;
}

/* --- scores of runs --- */

/* Smallest validation accuracy of an encoder (measured: 0.98 or more); accuracy above the majority class of every run (a run
 * that learned nothing stays below 4 standard errors, 0.1; epsilon 8 allows 0.298); smallest accuracy of the reader of names
 * from plain embeddings (measured: 0.99 or more). */
static const double learned = 0.9, margin = 0.1, exposed = 0.8;

/* Loads DIRECTORY/NAME; returns NULL if it is missing and prints why if it is `needed`. */
static json_t *load(const char *directory, const char *name, bool needed) {
    char path[PATH_SIZE];
    json_error_t error;
    snprintf(path, sizeof path, "%s%s%s", directory, directory[0] == '\0' ? "" : "/", name);
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL && needed) fprintf(stderr, "nvdp-demo: %s: %s\n", path, error.text);
    return root;
}

static int check_learned(const char *directory) {
    double validation;
    json_t *result = load(directory, "result.json", true);
    if (result == NULL) return -1;
    int failed = json_unpack(result, "{s:F}", "validation", &validation);
    json_decref(result);
    if (!failed && validation >= learned) return 0;
    fprintf(stderr, "nvdp-demo: %s: validation accuracy: expected at least %.2f, found %.3f\n",
            directory, learned, failed ? 0 : validation);
    return -1;
}

/* Writes the test scores of a probe on a run's embeddings without noise. */
static int write_attack(const char *result, const char *attack) {
    json_t *root = load("", result, true), *test = json_object_get(root, "test");
    int failed = test == NULL || json_dump_file(test, attack, JSON_INDENT(2)) != 0;
    if (failed)
        fprintf(stderr, "nvdp-demo: %s, %s: expected scores and a file to write\n", result, attack);
    json_decref(root);
    return failed ? -1 : 0;
}

/* A run and what readers find out. `epsilon` is 0 if nothing is proven. */
struct row {
    char label[32];
    bool plain;            /* no noise */
    double epsilon, bound; /* proven; bound of the names that are found */
    int texts;
    double opinion, majority, name, most_frequent; /* accuracies; those without a sample */
};

static int read_accuracy(const json_t *scores, int *texts, double *accuracy, double *majority) {
    return json_unpack((json_t *)scores, "{s:i, s:{s:{s:F}}, s:F}", "n", texts, "metrics",
                       "accuracy", "mean", accuracy, "majority", majority);
}

/* Reads the results of a run of the sweep, or of the run of base. The classifier of base predicts the opinion. */
static int read_row(const char *directory, struct row *row) {
    json_t *result = load(directory, "result.json", true);
    json_t *sweep = load(directory, "sweep.json", false);
    json_t *guess = load(directory, "guess.json", false);
    json_t *reuse = load(directory, "reuse.json", sweep != NULL);
    json_t *attack = load(directory, "attack.json", true);
    const char *label = "plain embeddings";
    *row = (struct row){.plain = sweep == NULL};
    if (sweep != NULL) json_unpack(sweep, "{s:s}", "label", &label);
    snprintf(row->label, sizeof row->label, "%s", label);
    if (json_unpack(result, "{s:{s:F}}", "certified", "epsilon", &row->epsilon) == 0)
        json_unpack(guess, "{s:[{s:F}]}", "guess", "bound", &row->bound);
    const json_t *opinion = row->plain ? json_object_get(result, "test") : reuse;
    int failed = read_accuracy(opinion, &row->texts, &row->opinion, &row->majority) |
                 read_accuracy(attack, &row->texts, &row->name, &row->most_frequent);
    if (failed) fprintf(stderr, "nvdp-demo: %s: expected scores of two readers\n", directory);
    json_decref(result), json_decref(sweep), json_decref(guess);
    json_decref(reuse), json_decref(attack);
    return failed ? -1 : 0;
}

/* Orders rows: plain embeddings, nothing proven, large epsilon, small epsilon. */
static int compare_rows(const void *a, const void *b) {
    const struct row *p = a, *q = b;
    if (p->plain != q->plain) return p->plain ? -1 : 1;
    if ((p->epsilon == 0) != (q->epsilon == 0)) return p->epsilon == 0 ? -1 : 1;
    return (p->epsilon < q->epsilon) - (p->epsilon > q->epsilon);
}

/* Rounds a bound up to a tenth of a percent. */
static double round_up(double bound) {
    return ceil(1000 * bound) / 10;
}

static void print_row(const struct row *row) {
    char epsilon[16] = "none", bound[16] = "-";
    if (row->epsilon > 0) {
        snprintf(epsilon, sizeof epsilon, "%.3g", row->epsilon);
        snprintf(bound, sizeof bound, "%.1f %%", round_up(row->bound));
    }
    printf("  %-22s %8s %7.1f %% %9.1f %% %16s\n", row->label, epsilon, 100 * row->opinion,
           100 * row->name, bound);
}

/* Prints what is wrong with a row; returns the number of errors. */
static int check_row(const struct row *row) {
    int errors = 0;
    if (row->opinion < row->majority + margin && ++errors)
        fprintf(
            stderr,
            "FAILED: %s: the opinion is read in %.1f %% of the texts; expected at least %.1f %% "
            "(majority class %.1f %%): the run learned nothing\n",
            row->label, 100 * row->opinion, 100 * (row->majority + margin), 100 * row->majority);
    if (row->plain && row->name < exposed && ++errors)
        fprintf(stderr,
                "FAILED: %s: the name is found in %.1f %% of the texts; expected at least %.1f %%: "
                "the attacker is too weak to show anything\n",
                row->label, 100 * row->name, 100 * exposed);
    if (row->epsilon > 0 && !(row->name <= row->bound) && ++errors)
        fprintf(
            stderr,
            "FAILED: %s: the name is found in %.1f %% of the texts; proven are at most %.1f %%\n",
            row->label, 100 * row->name, 100 * row->bound);
    return errors;
}

/* Prints the row of the summary, which has no sample of a text from which a name could be read. */
static int print_summary(const char *summary) {
    struct row row = {.epsilon = 0};
    char made[PATH_SIZE], read[PATH_SIZE];
    snprintf(made, sizeof made, "%s.json", summary);
    snprintf(read, sizeof read, "%s-reuse.json", summary);
    json_t *result = load("", made, true), *reuse = load("", read, true);
    const int failed = json_unpack(result, "{s:F}", "epsilon", &row.epsilon) |
                       read_accuracy(reuse, &row.texts, &row.opinion, &row.majority);
    if (failed)
        fprintf(stderr, "nvdp-demo: %s: expected an epsilon and the scores of a reader\n", summary);
    else
        printf("  %-22s %8.3g %7.1f %% %11s\n", "summary of all texts", row.epsilon,
               100 * row.opinion, "no sample");
    json_decref(result), json_decref(reuse);
    return failed ? -1 : 0;
}

static int tell_story(const char *runs, const char *summary) {
    enum { ROWS = 5 };
    struct row row[ROWS];
    char pattern[PATH_SIZE];
    glob_t found = {0};
    size_t count = 0;
    snprintf(pattern, sizeof pattern, "%s/*", runs);
    int failed = glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && count < ROWS && !failed; i++) {
        failed = read_row(found.gl_pathv[i], &row[count++]);
    }
    globfree(&found);
    if (!failed) qsort(row, count, sizeof row[0], compare_rows);
    size_t best = 0; /* the certified release of the largest epsilon */
    while (!failed && best < count && row[best].epsilon == 0)
        best++;
    if (failed || best == count || !row[0].plain) {
        fprintf(stderr, "nvdp-demo: %s: expected a base run and a certified run\n", runs);
        return -1;
    }
    printf("%zu people give opinions. A recipient may read the opinion, but not find the name.\n"
           "Accuracy of readers on %d texts that they were not trained on:\n\n"
           "  %-22s %8s %9s %11s %16s\n",
           COUNT(names), row[0].texts, "what is shared", "epsilon", "opinion", "name found",
           "proven at most");
    for (size_t i = 0; i < count; i++)
        print_row(&row[i]);
    if (print_summary(summary) != 0) return -1;
    printf("  %-22s %8s %7.1f %% %9.1f %%\n\n", "nothing", "", 100 * row[0].majority,
           100 * row[0].most_frequent);
    printf("Plain embeddings give the name away in %.1f %% of the texts.\n"
           "The certified release of epsilon %.3g keeps the opinion in %.1f %%,\n"
           "and the attacker finds the name in %.1f %% (%.1f %% by guessing).\n"
           "Proven: any attacker finds it in at most %.1f %%, averaged over texts and noise.\n",
           100 * row[0].name, row[best].epsilon, 100 * row[best].opinion, 100 * row[best].name,
           100 * row[best].most_frequent, round_up(row[best].bound));
    fflush(stdout);
    int errors = 0;
    for (size_t i = 0; i < count; i++)
        errors += check_row(&row[i]);
    return errors == 0 ? 0 : -1;
}

int main(int argc, char **argv) {
    const char *command = argc > 2 && argv[2][0] != '-' ? argv[1] : "";
    if (argc <= 5 && strcmp(command, "data") == 0) {
        long seed = argc > 3 ? atol(argv[3]) : 1;
        size_t texts = argc > 4 ? (size_t)atol(argv[4]) : TRAIN_TEXTS;
        return write_all(argv[2], seed, texts) == 0 ? 0 : 1;
    }
    if (argc == 3 && strcmp(command, "learned") == 0) return check_learned(argv[2]) == 0 ? 0 : 1;
    if (argc == 4 && strcmp(command, "attack") == 0)
        return write_attack(argv[2], argv[3]) == 0 ? 0 : 1;
    if (argc == 4 && strcmp(command, "story") == 0)
        return tell_story(argv[2], argv[3]) == 0 ? 0 : 1;
    fprintf(
        stderr,
        "usage: nvdp-demo data DIR [SEED [TEXTS]]\n       nvdp-demo learned RUN\n"
        "       nvdp-demo attack RESULT.json ATTACK.json\n       nvdp-demo story RUNS SUMMARY\n");
    return 2;
}
