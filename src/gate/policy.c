/* Reads a policy and checks the whole policy before anything is measured. */
#include "gate/gate.h"

#include "attack/attack.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "options/schema.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- lines of the file, for messages --- */

/* Finds the line of a key in item `item` of the list "checks", or of the item if `key` is NULL.  If `item` is -1, the
 * key is in the outermost object.  The text is valid JSON.  Returns 1 if there is no such key. */
static int find_line(const char *text, long item, const char *key) {
    int line = 1, depth = 0;
    long at = -1;
    for (const char *c = text; *c != '\0'; c++) {
        line += *c == '\n';
        if (*c == '{' || *c == '[') depth++;
        if (*c == '}' || *c == ']') depth--;
        if (*c == '{' && depth == 3) at++;
        if (*c == '{' && depth == 3 && key == NULL && at == item) return line;
        if (*c != '"') continue;
        const char *begin = ++c;
        while (*c != '"' && *c != '\0')
            c += 1 + (*c == '\\' && c[1] != '\0');
        const size_t size = (size_t)(c - begin);
        if (key != NULL && (item < 0 ? depth == 1 : depth == 3 && at == item) &&
            strlen(key) == size && strncmp(key, begin, size) == 0)
            return line;
        if (*c == '\0') break;
    }
    return 1;
}

/* --- the reader --- */

struct reader {
    struct nvdp_context *ctx;
    const char *path, *text;
    long item; /* index in the list; -1 for the outermost object */
    struct nvdp__policy *policy;
};

static __attribute__((format(printf, 3, 4))) nvdp_status
bad(const struct reader *reader, const char *key, const char *format, ...) {
    char why[NVDP__REASON];
    va_list args;
    va_start(args, format);
    nvdp__vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s:%d: %s", reader->path,
                      find_line(reader->text, reader->item, key), why);
}

static nvdp_status check_keys(const struct reader *reader, const json_t *object,
                              const char *const *known) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        struct nvdp__guess guess = {.word = key};
        size_t i = 0;
        for (; known[i] != NULL && strcmp(known[i], key) != 0; i++)
            nvdp__guess(&guess, known[i]);
        if (known[i] == NULL) return bad(reader, key, "unknown key '%.64s'%s", key, guess.text);
    }
    return NVDP_OK;
}

/* Reads a finite number in [min, max].  Sets *out to `fallback` if the key is missing. */
static nvdp_status read_number(const struct reader *reader, const json_t *object, const char *key,
                               double fallback, double min, double max, double *out) {
    const json_t *value = json_object_get(object, key);
    *out = fallback;
    if (value == NULL) return NVDP_OK;
    if (!json_is_number(value))
        return bad(reader, key, "%s: expected a number, found another type", key);
    *out = json_number_value(value);
    if (!(*out >= min && *out <= max))
        return bad(reader, key, "%s: expected a number from %g to %g, found %g", key, min, max,
                   *out);
    return NVDP_OK;
}

static nvdp_status read_text(const struct reader *reader, const json_t *object, const char *key,
                             const char **out) {
    const json_t *value = json_object_get(object, key);
    *out = json_string_value(value);
    if (value == NULL || (*out != NULL && **out != '\0')) return NVDP_OK;
    return bad(reader, key, "%s: expected a text that is not empty", key);
}

/* --- measures --- */

static const char *const sources[] = {"certificate", "privacy", "ledger", "verification", NULL};

/* Short names.  BASELINE stands for the baseline of the check. */
#define BASELINE "[baseline=%.17g]"
static const struct {
    const char *name, *path;
    bool share;      /* a probability or a share */
    bool one_sample; /* as in struct nvdp__gate_check */
} measures[] = {{"certified_epsilon", "certificate.epsilon", false, false},
                {"guess_bound", "certificate.guess" BASELINE ".bound", true, false},
                {"word_epsilon", "certificate.word.epsilon", false, false},
                {"exact_epsilon", "privacy.exact.worst", false, false},
                {"renyi_divergence", "privacy.rd.sum.max", false, true},
                {"named_share", "privacy.linkage.named", true, false},
                {"text_epsilon", "ledger.epsilon", false, false},
                {"person_epsilon", "ledger.person.epsilon", false, false},
                {"person_guess", "ledger.person.guesses" BASELINE ".bound", true, false}};
enum { MEASURES = sizeof measures / sizeof *measures };

static nvdp_status read_baseline(const struct reader *reader, const json_t *object,
                                 double *baseline) {
    struct nvdp__policy *policy = reader->policy;
    double texts;
    NVDP_TRY(read_number(reader, object, "baseline", NAN, 1e-300, 1 - 1e-16, baseline));
    NVDP_TRY(read_number(reader, object, "texts", NAN, 2, 1e300, &texts));
    if (!isnan(*baseline) && !isnan(texts))
        return bad(reader, "texts", "expected either baseline or texts, found both");
    if (!isnan(texts)) *baseline = 1 / texts;
    if (isnan(*baseline)) return NVDP_OK;
    for (size_t i = 0; i < policy->baselines; i++)
        if (policy->baseline[i] == *baseline) return NVDP_OK;
    if (policy->baselines == NVDP_GUESSES)
        return bad(reader, NULL, "expected at most %d different baselines in a policy, found more",
                   NVDP_GUESSES);
    policy->baseline[policy->baselines++] = *baseline;
    return NVDP_OK;
}

/* Returns true if two paths have the same keys, whatever items they select with [...]. */
static bool is_path(const char *one, const char *two) {
    while (true) {
        if (*one == '[') one += strcspn(one, "]") + 1;
        if (*two == '[' && strchr(two, ']') != NULL) two = strchr(two, ']') + 1;
        if (*one != *two || *one == '\0') return *one == *two;
        one++;
        two++;
    }
}

/* Refuses limits under which a check cannot fail, for numbers that are worse the larger they are. */
static nvdp_status check_limits(const struct reader *reader, bool share,
                                const struct nvdp__gate_check *check) {
    if (isnan(check->at_most))
        return bad(reader, "at_least",
                   "%s: expected at_most, as larger numbers are worse, found at_least %g alone",
                   check->name, check->at_least);
    if (share && check->at_most >= 1)
        return bad(reader, "at_most",
                   "at_most: expected a number below 1, as %s is a share from 0 to 1, found %g",
                   check->name, check->at_most);
    return NVDP_OK;
}

/* Finds the source and the path of a measure. */
static nvdp_status read_measure(const struct reader *reader, const json_t *object,
                                const char *measure, struct nvdp__gate_check *check) {
    struct nvdp__guess guess = {.word = measure};
    const char *path = measure;
    char made[NVDP_GATE_NAME_SIZE];
    double baseline;
    NVDP_TRY(read_baseline(reader, object, &baseline));
    nvdp__snprintf(check->name, sizeof check->name, "%s", measure);
    for (size_t i = 0; i < MEASURES; i++) {
        nvdp__guess(&guess, measures[i].name);
        const bool named = strcmp(measures[i].name, measure) == 0;
        if (named) path = measures[i].path;
        check->one_sample |= named && measures[i].one_sample;
        if (is_path(measures[i].path, path))
            NVDP_TRY(check_limits(reader, measures[i].share, check));
    }
    const char *hole = strstr(path, BASELINE);
    if ((hole != NULL) != !isnan(baseline))
        return bad(reader,
                   hole != NULL                       ? "measure"
                   : json_object_get(object, "texts") ? "texts"
                                                      : "baseline",
                   hole != NULL ? "%s: expected baseline, the probability of a right guess without "
                                  "samples, or texts, the number of texts to guess among"
                                : "%s: has no baseline",
                   measure);
    if (hole != NULL) {
        nvdp__snprintf(made, sizeof made, "%.*s[baseline=%.17g]%s", (int)(hole - path), path,
                       baseline, hole + strlen(BASELINE));
        nvdp__snprintf(check->name, sizeof check->name, "%s at %.6g", measure, baseline);
        path = made;
    }
    const size_t length = strcspn(path, ".");
    for (size_t i = 0; sources[i] != NULL; i++) {
        if (strlen(sources[i]) == length && strncmp(sources[i], path, length) == 0 &&
            path[length] == '.' && path[length + 1] != '\0')
            check->source = sources[i];
        if (path[length] == '.') nvdp__guess(&guess, sources[i]);
    }
    if (strlen(path) >= sizeof check->path || check->source == NULL)
        return bad(reader, "measure",
                   "unknown measure '%.64s'%s: expected a name such as certified_epsilon, or a "
                   "number of certificate, privacy, ledger or verification, such as "
                   "privacy.exact.worst",
                   measure, guess.text);
    nvdp__snprintf(check->path, sizeof check->path, "%s", path + length + 1);
    return NVDP_OK;
}

/* --- attacks --- */

/* Checks names and values of the options of an attack. */
static nvdp_status read_options(const struct reader *reader, const json_t *options,
                                const struct nvdp_attack_info *attack) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    const char *key;
    json_t *value;
    if (!json_is_object(options))
        return bad(reader, "options", "options: expected an object, found another type");
    NVDP_TRY(nvdp_config_create(reader->ctx, "attack", &config));
    json_object_foreach((json_t *)options, key, value) {
        struct nvdp__guess guess = {.word = key};
        char text[NVDP__REASON];
        for (const char *const *name = attack->options; *name != NULL; name++)
            nvdp__guess(&guess, *name);
        if (!nvdp__attack_takes(attack->options, key) || strcmp(key, "kind") == 0 ||
            strcmp(key, "run") == 0 || strcmp(key, "model") == 0)
            return bad(reader, "options", "options: attack %s has no option '%.64s'%s",
                       attack->name, key, guess.text);
        if (!nvdp__gate_option(value, sizeof text, text))
            return bad(reader, "options",
                       "options: %.64s: expected a text, a number or true, found another type",
                       key);
        const nvdp_status status = nvdp_config_set(config, key, text);
        if (status == NVDP_ERR_ARGUMENT)
            return bad(reader, "options", "options: %s", nvdp_context_error(reader->ctx));
        NVDP_TRY(status);
    }
    return NVDP_OK;
}

bool nvdp__gate_option(const json_t *value, size_t size, char *text) {
    if (json_is_string(value))
        nvdp__snprintf(text, size, "%s", json_string_value(value));
    else if (json_is_integer(value))
        nvdp__snprintf(text, size, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        nvdp__snprintf(text, size, "%.17g", json_real_value(value));
    else if (json_is_boolean(value))
        nvdp__snprintf(text, size, "%s", json_is_true(value) ? "true" : "false");
    else
        return false;
    return !json_is_string(value) || strlen(json_string_value(value)) < size;
}

static nvdp_status read_attack(const struct reader *reader, const json_t *object,
                               const char *attack, struct nvdp__gate_check *check) {
    struct nvdp__guess guess = {.word = attack};
    const char *number = NULL;
    bool found = false;
    check->attack.struct_size = sizeof check->attack;
    for (size_t i = 0; !found && (i == 0 || i < check->attack.attacks); i++) {
        NVDP_TRY(nvdp_attack_describe(reader->ctx, i, &check->attack));
        nvdp__guess(&guess, check->attack.name);
        found = strcmp(check->attack.name, attack) == 0;
    }
    if (!found) return bad(reader, "attack", "unknown attack '%.64s'%s", attack, guess.text);
    NVDP_TRY(read_text(reader, object, "number", &number));
    if (number == NULL || strlen(number) >= sizeof check->path)
        return bad(reader, number != NULL ? "number" : "attack",
                   "attack %s: expected number, the name of a number of its result, such as "
                   "scores[observed=release,metric=accuracy].value",
                   attack);
    check->source = "attack";
    check->number = number;
    nvdp__snprintf(check->name, sizeof check->name, "attack %s: %s", attack, number);
    check->options = json_object_get(object, "options");
    nvdp__snprintf(check->path, sizeof check->path, "%s", number);
    if (nvdp__gate_is_score(number)) NVDP_TRY(check_limits(reader, true, check));
    return check->options != NULL ? read_options(reader, check->options, &check->attack) : NVDP_OK;
}

/* --- a policy --- */

static nvdp_status read_check(const struct reader *reader, const json_t *object,
                              struct nvdp__gate_check *check) {
    static const char *const of_measure[] = {"measure",  "at_most", "at_least",
                                             "baseline", "texts",   NULL};
    static const char *const of_attack[] = {"attack",   "number",  "at_most",
                                            "at_least", "options", NULL};
    static const char *const of_either[] = {"measure", "at_most", "at_least", "baseline", "texts",
                                            "attack",  "number",  "options",  NULL};
    const char *measure = NULL, *attack = NULL;
    if (!json_is_object(object))
        return bad(reader, NULL, "checks: expected an object per check, found another type");
    const bool some = json_object_get(object, "measure") != NULL,
               other = json_object_get(object, "attack") != NULL;
    NVDP_TRY(check_keys(reader, object, some == other ? of_either : some ? of_measure : of_attack));
    NVDP_TRY(read_text(reader, object, "measure", &measure));
    NVDP_TRY(read_text(reader, object, "attack", &attack));
    if ((measure != NULL) == (attack != NULL))
        return bad(reader, NULL, "expected either measure or attack, found %s",
                   measure != NULL ? "both" : "neither");
    NVDP_TRY(read_number(reader, object, "at_most", NAN, -1e300, 1e300, &check->at_most));
    NVDP_TRY(read_number(reader, object, "at_least", NAN, -1e300, 1e300, &check->at_least));
    if (isnan(check->at_most) && isnan(check->at_least))
        return bad(reader, NULL, "%s: expected a limit, at_most or at_least, found neither",
                   measure != NULL ? measure : attack);
    if (check->at_least > check->at_most)
        return bad(reader, "at_least", "at_least: expected at most at_most, %g, found %g",
                   check->at_most, check->at_least);
    return measure != NULL ? read_measure(reader, object, measure, check)
                           : read_attack(reader, object, attack, check);
}

static nvdp_status read_policy(struct reader *reader) {
    static const char *const known[] = {"description", "delta",  "releases",
                                        "min_texts",   "checks", NULL};
    struct nvdp__policy *policy = reader->policy;
    const char *description;
    double releases, texts;
    NVDP_TRY(check_keys(reader, policy->object, known));
    NVDP_TRY(read_text(reader, policy->object, "description", &description));
    NVDP_TRY(read_number(reader, policy->object, "delta", 1e-5, 1e-300, 1e-2, &policy->delta));
    NVDP_TRY(read_number(reader, policy->object, "releases", 1, 1, 65536, &releases));
    if (releases != floor(releases))
        return bad(reader, "releases", "releases: expected a whole number, found %g", releases);
    policy->releases = (int)releases;
    NVDP_TRY(read_number(reader, policy->object, "min_texts", 0, 1, 1e9, &texts));
    if (texts != floor(texts))
        return bad(reader, "min_texts", "min_texts: expected a whole number, found %g", texts);
    policy->min_texts = (size_t)texts;
    const json_t *checks = json_object_get(policy->object, "checks");
    if (!json_is_array(checks) || json_array_size(checks) == 0)
        return bad(reader, checks != NULL ? "checks" : NULL,
                   "checks: expected a list of at least one check, found %s",
                   checks == NULL          ? "no such key"
                   : json_is_array(checks) ? "an empty list"
                                           : "another type");
    NVDP_TRY(NVDP__NEW(reader->ctx, policy->check, json_array_size(checks)));
    for (; policy->checks < json_array_size(checks); policy->checks++) {
        reader->item = (long)policy->checks;
        NVDP_TRY(read_check(reader, json_array_get(checks, policy->checks),
                            &policy->check[policy->checks]));
    }
    return NVDP_OK;
}

void nvdp__policy_release(struct nvdp__policy *policy) {
    json_decref(policy->object);
    free(policy->check);
    *policy = (struct nvdp__policy){0};
}

/* Reads a file, or, if there is no such file, a policy of the library. */
static nvdp_status read_bytes(struct nvdp_context *ctx, const char *path, char **text,
                              size_t *size) {
    enum { LIMIT = 1 << 20 };
    char names[128] = "";
    struct nvdp__writer list = {names, sizeof names, 0};
    for (const struct nvdp__preset *of = nvdp__policies; of->name != NULL; of++) {
        nvdp__append(&list, " %s", of->name);
        if (strcmp(of->name, path) != 0 || nvdp__exists(path)) continue;
        *text = nvdp__strdup(ctx, of->text);
        *size = strlen(of->text);
        return NVDP__MADE(*text);
    }
    if (strchr(path, '/') == NULL && strchr(path, '.') == NULL && !nvdp__exists(path))
        return nvdp__fail(ctx, NVDP_ERR_IO, "%s: expected a file, or a policy of the library:%s",
                          path, names);
    return nvdp__read_file(ctx, path, LIMIT, text, size);
}

nvdp_status nvdp__policy_read(struct nvdp_context *ctx, const char *path,
                              struct nvdp__policy *policy) {
    nvdp__autofree char *text = NULL;
    nvdp__auto(nvdp__policy_release) struct nvdp__policy made = {0};
    struct reader reader = {.ctx = ctx, .path = path, .item = -1, .policy = &made};
    json_error_t error;
    size_t size = 0;
    NVDP_TRY(read_bytes(ctx, path, &text, &size));
    const size_t mark = nvdp__byte_order_mark(text, size);
    reader.text = text + mark;
    made.object = json_loadb(reader.text, size - mark, JSON_REJECT_DUPLICATES, &error);
    if (made.object == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%d: expected a policy in JSON: %s", path,
                          error.line > 0 ? error.line : 1, error.text);
    if (!json_is_object(made.object))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s:1: expected an object with the key checks, found another type", path);
    NVDP_TRY(read_policy(&reader));
    return NVDP__HAND_OVER(policy, made);
}
