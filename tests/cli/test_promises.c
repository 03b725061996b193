/* Tests that no text promises more than is proven. Bounds are averages over texts and noise: single guesses can be
 * nearly certain, and attackers better than those tried may exist. */
#include "program.h"

#include <ctype.h>
#include <regex.h>

static const char *const promises[] = {
    "(nobody|no one|no-one|no attacker|no adversary|no reader) "
    "(tells|can|could|knows which|learns|names|finds|recovers|guesses|does better)",
    "[0-9a-z] ?%+ (of )?certain",
    "(fifths|quarters|thirds|half) of certainty",
    "(safe|harmless) to (hand out|give|share|publish|release)",
    "(cannot|can not|can never|can't) be "
    "(identified|re-?identified|recovered|reconstructed|inferred|guessed|traced|linked)",
    "impossible to (identify|recover|reconstruct|infer|guess|tell)",
    "never (reveals?|leaks?|shows? (the|which|whose))",
    "(fully|completely|perfectly|absolutely) (anonymous|private|safe|secure)",
    "(full|complete|perfect|absolute) (anonymity|privacy)",
};
enum { PROMISES = sizeof promises / sizeof *promises };

/* Allowed phrases: file, part of the phrase, reason. */
static const struct {
    const char *path, *part, *why;
} allowed[] = {
    {"src/share/ledger.h", "without the key nobody can try out texts",
     "a keyed hash: cryptography"},
};

/* Joins the text into one line: replaces line ends, comment and literal marks, and runs of spaces by one space. */
static void flatten(char *text) {
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        const bool starts = at == text || at[-1] == '\n' || (to > text && to[-1] == ' ');
        const bool mark = *at == '"' || *at == '\\' || (starts && (*at == '*' || *at == '#'));
        const bool escaped = *at == '\\' && at[1] == 'n';
        if (escaped) at++;
        const char c = (char)(mark || isspace((unsigned char)*at) ? ' ' : *at);
        if (c != ' ' || (to > text && to[-1] != ' ')) *to++ = c;
    }
    *to = '\0';
}

static bool is_allowed(const char *path, const char *text, const char *hit) {
    for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++) {
        if (strcmp(allowed[k].path, path) != 0) continue;
        for (const char *at = text; (at = strstr(at, allowed[k].part)) != NULL; at++)
            if (hit >= at && hit < at + strlen(allowed[k].part)) return true;
    }
    return false;
}

/* Counts the promises in `text`, and prints them unless path is "". */
static size_t count(const regex_t *patterns, const char *path, const char *text) {
    size_t found = 0;
    for (size_t p = 0; p < PROMISES; p++) {
        regmatch_t match;
        for (const char *at = text; regexec(&patterns[p], at, 1, &match, 0) == 0;
             at += match.rm_eo) {
            const char *hit = at + match.rm_so;
            if (is_allowed(path, text, hit)) continue;
            const char *first = hit - text > 60 ? hit - 60 : text;
            if (path[0] != '\0') fprintf(stderr, "%s: \"... %.160s ...\"\n", path, first);
            found++;
        }
    }
    return found;
}

Test(promises, no_statement_promises_more_than_is_proven) {
    regex_t patterns[PROMISES];
    for (size_t p = 0; p < PROMISES; p++)
        cr_assert_eq(regcomp(&patterns[p], promises[p], REG_EXTENDED | REG_ICASE), 0, "%zu", p);
    char wrong[] =
        "From one sample of a text nobody\n * tells which of \"\n    \"any two texts it is with "
        "more than 92.7 %% certainty.";
    flatten(wrong);
    cr_expect_eq(count(patterns, "", wrong), 2);
    struct outcome found = program_shell(
        "cd " NVDP_SOURCE_DIR " && find *.md src rdp nvib vib dchi include experiments python docs "
        "presets notebooks scripts -type f -name '*.[ch]' -o -name '*.inc' -o -name '*.py' -o "
        "-name "
        "'*.md' -o -name '*.json' -o -name '*.ipynb' -o -name '*.sh' -o -name '*.toml'");
    size_t files = 0, promised = 0;
    char *rest = NULL;
    for (char *path = strtok_r(found.out, "\n", &rest); path != NULL;
         path = strtok_r(NULL, "\n", &rest)) {
        if (strcmp(path, "CHANGELOG.md") == 0) continue; /* quotes earlier statements */
        const char *full = support_path(NVDP_SOURCE_DIR "/%s", path);
        char *text = support_read(full);
        flatten(text);
        promised += count(patterns, path, text);
        files++;
    }
    cr_expect_eq(promised, 0,
                 "say what is proven: on average over texts and noise, at most so many "
                 "guesses are right");
    cr_assert_gt(files, 300);
    for (size_t p = 0; p < PROMISES; p++)
        regfree(&patterns[p]);
}

/* Folds of different sizes have different guarantees: the weakest one is printed. */
Test(promises, folds_show_the_weakest_guarantee) {
    const char *run = support_scratch_path("folds");
    double largest = 0, first = 0, shown = 0;
    struct outcome outcome = program_expect(
        0, "train --task sst2 --data $TASK --model $MODEL --method base --epochs 1 --max-length 12 "
           "--threads 1 --dp-batch 30 --dp-noise 1 --target-delta 1e-3 --folds 7 --out $DIR/folds");
    for (int f = 1; f <= 7; f++) {
        json_t *result = support_json(support_path("%s/fold-%d/result.json", run, f));
        const double epsilon = number_at(result, "dp/pld/epsilon");
        if (epsilon > largest) largest = epsilon;
        if (f == 1) first = epsilon;
    }
    cr_expect_gt(largest, 1.002 * first, "the first fold is the weakest");
    const char *line = strstr(outcome.out, "private training  epsilon ");
    cr_assert_not_null(line, "%s", outcome.out);
    cr_assert_eq(sscanf(line, "private training  epsilon %lf", &shown), 1);
    cr_expect(largest > 0 && shown >= largest && shown < 1.002 * largest, "%g, %g", shown, largest);
    support_contains(outcome.out, "\nNo guarantee: method base adds no noise");
}
