#include "table.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { PATH_ROOM = 4096, CELL_ROOM = 32 };

static json_t *load(const char *out, const char *run, const char *file) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/runs/%s/%s.json", out, run, file);
    return json_load_file(path, 0, NULL);
}

/* The value under a path of keys such as "rd.sum.max", printed; "-" where there is none. */
static void cell(const json_t *object, const char *keys, const char *format, char out[CELL_ROOM]) {
    char key[64];
    while (object != NULL && *keys != '\0') {
        size_t size = strcspn(keys, ".");
        snprintf(key, sizeof key, "%.*s", (int)size, keys);
        object = json_object_get(object, key);
        keys += size + (keys[size] == '.');
    }
    if (json_is_string(object)) {
        snprintf(out, CELL_ROOM, "%s", json_string_value(object)); /* "inf" */
    } else if (json_is_number(object)) {
        snprintf(out, CELL_ROOM, format, json_number_value(object));
    } else {
        snprintf(out, CELL_ROOM, "-");
    }
}

static void row(FILE *file, const char *out, const char *run) {
    char utility[CELL_ROOM], max[CELL_ROOM], mean[CELL_ROOM], infinite[CELL_ROOM], bdp[CELL_ROOM];
    char reader[CELL_ROOM], attack[CELL_ROOM];
    json_t *result = load(out, run, "result"), *privacy = load(out, run, "privacy");
    json_t *reuse = load(out, run, "reuse"), *probe = load(out, run, "attack");
    cell(result, "test.metrics.accuracy.mean", "%.3f", utility);
    cell(privacy, "rd.sum.max", "%.1f", max);
    cell(privacy, "rd.sum.mean", "%.1f", mean);
    cell(privacy, "infinite_share", "%.3f", infinite);
    cell(privacy, "bdp.best.epsilon", "%.1f", bdp);
    cell(reuse, "metrics.accuracy.mean", "%.3f", reader);
    cell(probe, "metrics.accuracy.mean", "%.3f", attack);
    fprintf(file, "%-20s %8s %9s %9s %10s %9s %8s %7s\n", run, utility, max, mean, infinite, bdp,
            reader, attack);
    json_decref(result);
    json_decref(privacy);
    json_decref(reuse);
    json_decref(probe);
}

int demo_table(const char *out, int names, char **name) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/table.txt", out);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    fprintf(file, "%-20s %8s %9s %9s %10s %9s %8s %7s\n", "run", "accuracy", "RD max", "RD mean",
            "inf share", "BDP eps", "reader", "name");
    for (int i = 0; i < names; i++)
        row(file, out, name[i]);
    fprintf(
        file,
        "\naccuracy   of the run on the dev texts, with fresh noise\n"
        "RD         Renyi divergence of order 1.1, nats, summed over all that is shared of a text, "
        "over all\n"
        "           ordered pairs of dev texts; measured on these texts, not a bound over all "
        "texts\n"
        "inf share  share of the pairs whose divergence is infinite\n"
        "BDP eps    Bayesian DP at delta 1e-5, worst text, best moment\n"
        "reader     accuracy of a reader trained from the shared file alone\n"
        "name       accuracy of a reader that tries to recover the speaker's name (chance 0.125)\n"
        "base shares its embeddings without noise: it has no privacy to report\n");
    int failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed ? 0 : -1;
}
