/* Finds a number in the JSON of a result by its path, for any result table. */
#include "attack/attack.h"
#include "gate/gate.h"

#include "base/sentence.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct walk {
    bool least;
    size_t found, absent;
    struct nvdp__gate_found number; /* NaN after a NaN was found */
    const json_t *interval;         /* interval of the visited leaf; NULL if there is none */
    char *reason;                   /* reason of the first failure */
};

double nvdp__gate_end(const struct nvdp__gate_found *found, bool least) {
    if (isnan(found->value)) return NAN;
    return least ? fmin(found->value, found->interval.low)
                 : fmax(found->value, found->interval.high); /* the value if NaN */
}

static double interval_end(const json_t *interval, size_t k) {
    const json_t *end = json_array_get(interval, k);
    return json_is_number(end) ? json_number_value(end) : NAN;
}

static void take(struct walk *walk, double value) {
    const struct nvdp__gate_found number = {
        value, {interval_end(walk->interval, 0), interval_end(walk->interval, 1)}};
    const double end = nvdp__gate_end(&number, walk->least),
                 other = nvdp__gate_end(&walk->number, walk->least);
    const bool first = walk->found++ == 0;
    if (first || isnan(end) || (walk->least ? end < other : end > other)) walk->number = number;
}

/* Takes a number, a flag, or a text that stands for an infinity or NaN. */
static void take_leaf(const json_t *value, struct walk *walk) {
    const char *text = json_string_value(value);
    if (json_is_number(value)) {
        take(walk, json_number_value(value));
    } else if (json_is_boolean(value)) {
        take(walk, json_is_true(value));
    } else if (text != NULL && (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0)) {
        take(walk, *text == '-' ? -INFINITY : INFINITY);
    } else if (text != NULL && strcmp(text, "nan") == 0) {
        take(walk, NAN);
    } else if (json_is_null(value)) {
        walk->absent++;
    } else if (walk->reason[0] == '\0') {
        nvdp__snprintf(walk->reason, NVDP__REASON,
                       "expected a number, found %s; name one of its parts",
                       text != NULL           ? "a text"
                       : json_is_array(value) ? "a list"
                                              : "an object");
    }
}

/* Returns true if the member has the value between `value` and `end`. */
static bool is_value(const json_t *member, const char *value, const char *end) {
    const char *text = json_string_value(member);
    const size_t size = (size_t)(end - value);
    if (text != NULL) return strlen(text) == size && strncmp(text, value, size) == 0;
    if (!json_is_number(member)) return false;
    char *stop = NULL;
    const double wanted = nvdp__strtod(value, &stop), found = json_number_value(member);
    return stop == end && fabs(found - wanted) <= 1e-9 * fabs(wanted);
}

/* Returns true if the item has every K=V of the selector, which ends before `end`. */
static bool is_selected(const json_t *item, const char *selector, const char *end) {
    while (selector < end) {
        char key[NVDP_GATE_NAME_SIZE];
        const char *equal = memchr(selector, '=', (size_t)(end - selector));
        const char *comma = memchr(selector, ',', (size_t)(end - selector));
        if (comma == NULL) comma = end;
        if (equal == NULL || equal > comma) return false;
        nvdp__snprintf(key, sizeof key, "%.*s", (int)(equal - selector), selector);
        if (!is_value(json_object_get(item, key), equal + 1, comma)) return false;
        selector = comma + 1;
    }
    return true;
}

/* Returns the longest key of the object with which the path begins.  Keys may have dots, such as 0.99. */
static const char *first_key(const json_t *object, const char *path) {
    const char *key, *longest = NULL;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        const size_t size = strlen(key);
        if (strncmp(path, key, size) != 0 || strchr(".[", path[size]) == NULL) continue;
        if (longest == NULL || size > strlen(longest)) longest = key;
    }
    return longest;
}

static const char *after(const char *path) {
    return *path == '.' ? path + 1 : path;
}

/* Returns the interval of a number of the object: NAME_interval, or `interval` directly after the number; or NULL. */
static const json_t *find_interval(const json_t *object, const char *key) {
    char name[NVDP_GATE_NAME_SIZE];
    const char *at, *before = "";
    json_t *value;
    nvdp__snprintf(name, sizeof name, "%s_interval", key);
    json_object_foreach((json_t *)object, at, value) {
        if (strcmp(at, name) == 0 || (strcmp(at, "interval") == 0 && strcmp(before, key) == 0))
            return value;
        before = at;
    }
    return NULL;
}

static void refuse_key(const json_t *object, const char *path, struct walk *walk) {
    char word[NVDP__GUESS_SIZE];
    const char *key;
    json_t *value;
    struct nvdp__guess guess = {.word = word};
    nvdp__snprintf(word, sizeof word, "%.*s", (int)strcspn(path, ".["), path);
    json_object_foreach((json_t *)object, key, value) {
        nvdp__guess(&guess, key);
    }
    if (walk->reason[0] == '\0')
        nvdp__snprintf(walk->reason, NVDP__REASON, "the result has no number '%s'%s", word,
                       guess.text);
}

static void visit(const json_t *value, const char *path, struct walk *walk) {
    size_t i;
    const json_t *item;
    if (*path == '\0' && !json_is_array(value)) {
        take_leaf(value, walk);
    } else if (json_is_array(value) && *path == '[') {
        const char *end = strchr(path, ']');
        char *stop = NULL;
        if (end == NULL) {
            refuse_key(NULL, path, walk);
            return;
        }
        const unsigned long index = strtoul(path + 1, &stop, 10);
        const bool whole = isdigit((unsigned char)path[1]) && stop == end;
        json_array_foreach(value, i, item) {
            if (whole ? i == index : is_selected(item, path + 1, end))
                visit(item, after(end + 1), walk);
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, item) {
            visit(item, path, walk);
        }
    } else if (json_is_null(value)) {
        walk->absent++;
    } else {
        const char *key = json_is_object(value) ? first_key(value, path) : NULL;
        if (key == NULL) {
            refuse_key(value, path, walk);
            return;
        }
        walk->interval = find_interval(value, key);
        visit(json_object_get(value, key), after(path + strlen(key)), walk);
    }
}

static const struct nvdp__gate_found none = {NAN, {NAN, NAN}};

struct nvdp__gate_found nvdp__gate_number(const json_t *result, const char *path, bool least,
                                          char reason[NVDP__REASON]) {
    struct walk walk = {.least = least, .number = none, .reason = reason};
    reason[0] = '\0';
    visit(result, path, &walk);
    if (reason[0] != '\0') return none;
    if (walk.absent > 0 || walk.found == 0) {
        nvdp__snprintf(reason, NVDP__REASON, "%s",
                       walk.absent > 0 ? "the number does not exist for this target"
                                       : "the target shows no such number");
        return none;
    }
    if (isnan(walk.number.value)) nvdp__snprintf(reason, NVDP__REASON, "the number is NaN");
    return walk.number;
}

/* --- scores --- */

/* Returns true if a metric's name equals the word, ignoring case and characters that are neither letters nor digits:
 * "rare, first" equals rare_first. */
static bool is_metric(const char *name, const char *word, size_t size) {
    const char *end = word + size;
    while (true) {
        while (*name != '\0' && !isalnum((unsigned char)*name))
            name++;
        while (word < end && !isalnum((unsigned char)*word))
            word++;
        if (*name == '\0' || word == end) return *name == '\0' && word == end;
        if (tolower((unsigned char)*name++) != tolower((unsigned char)*word++)) return false;
    }
}

/* Finds a metric of the scores with this observation.  NaN if there is none. */
static struct nvdp__gate_found score(const json_t *scores, const char *observed, const char *word,
                                     size_t size) {
    size_t i;
    const json_t *item;
    json_array_foreach(scores, i, item) {
        const char *from = json_string_value(json_object_get(item, "observed")),
                   *metric = json_string_value(json_object_get(item, "metric"));
        char unused[NVDP__REASON];
        if (from != NULL && metric != NULL && strcmp(from, observed) == 0 &&
            is_metric(metric, word, size))
            return nvdp__gate_number(item, "value", false, unused);
    }
    return none;
}

/* Returns the length of a number's name without _above_prior. */
static size_t metric_length(const char *number) {
    static const char gain[] = "_above_prior";
    const size_t size = strlen(number), tail = sizeof gain - 1;
    return size > tail && strcmp(number + size - tail, gain) == 0 ? size - tail : size;
}

bool nvdp__gate_is_score(const char *number) {
    const size_t size = metric_length(number);
    for (int i = 0; i < NVDP__TEXT_METRIC_COUNT; i++)
        if (is_metric(nvdp__text_metric_name((enum nvdp__text_metric)i), number, size)) return true;
    return false;
}

struct nvdp__gate_found nvdp__gate_score(const json_t *result, const char *number, bool least,
                                         char reason[NVDP__REASON]) {
    const json_t *scores = json_object_get(result, "scores");
    const size_t word = metric_length(number);
    const bool above = number[word] != '\0';
    if (!json_is_array(scores) || first_key(result, number) != NULL)
        return nvdp__gate_number(result, number, least, reason);
    struct nvdp__gate_found found = score(scores, "release", number, word);
    const bool missing = isnan(found.value);
    if (above) {
        const struct nvdp__gate_found prior = score(scores, "prior", number, word);
        found.interval =
            (struct nvdp_interval){nvdp__gate_end(&found, true) - nvdp__gate_end(&prior, false),
                                   nvdp__gate_end(&found, false) - nvdp__gate_end(&prior, true)};
        found.value -= prior.value;
    }
    reason[0] = '\0';
    if (isnan(found.value))
        nvdp__snprintf(reason, NVDP__REASON, "the attack has no score '%.*s' of %s", (int)word,
                       number, missing ? "samples" : "the prior");
    return found;
}
