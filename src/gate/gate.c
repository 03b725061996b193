/* Measures what a policy limits, and compares: the sources of numbers, one check, the result as JSON, text and JUnit
 * XML.  nvdp_gate is the entry. */
#include "gate/gate.h"

#include "base/escape.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "dchi/mechanism.h"
#include "options/result.h"
#include "options/rows.h"
#include "options/schema.h"
#include "rdp/options.h"
#include "share/ledger.h"
#include "text/normalize.h"
#include "train/run.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/certificate.h>
#include <nvdp/evaluate.h>
#include <nvdp/linkage.h>
#include <nvdp/measured.h>
#include <nvdp/rdp.h>
#include <nvdp/share.h>
#include <nvdp/text_privacy.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- options --- */

struct options {
    const char *policy, *target, *split, *data, *known, *prior, *shared, *ledger, *ledger_key;
    size_t limit;
    uint64_t seed;
};

#define AT(member) NVDP_OPTION_AT(struct options, member)

static const struct nvdp_option rows[] = {
    {"policy", NVDP_OPTION_TEXT, "POLICY.json",
     "file with the limits, or certified or attacks, which the library has", NULL, AT(policy),
     .traits = NVDP_TRAIT_REQUIRED | NVDP_TRAIT_POSITIONAL},
    {"target", NVDP_OPTION_TEXT, "RUN|FILE", "directory of a run, or shared file", NULL, AT(target),
     .traits = NVDP_TRAIT_REQUIRED | NVDP_TRAIT_POSITIONAL},
    {"split", NVDP_OPTION_TEXT, "NAME", "texts of the run's task to measure and attack", "dev",
     AT(split)},
    NVDP__MEASURED_DATA_ROW(AT(data)),
    {"limit", NVDP_OPTION_INTEGER, "N", "use a random sample of at most N texts; 0: all", "0",
     AT(limit), .unit = "texts"},
    {"public", NVDP_OPTION_TEXT, "FILE", "texts that attackers have, as of nvdp attack", NULL,
     AT(known)},
    {"prior", NVDP_OPTION_TEXT, "DIR",
     "masked language model of attackers that use one, as of nvdp attack; invert needs it", NULL,
     AT(prior)},
    {"shared", NVDP_OPTION_TEXT, "FILE",
     "with RUN: attack the samples in this shared file, where an attack can, instead of newly "
     "drawn "
     "ones, and check the file's own statements",
     NULL, AT(shared)},
    {"ledger", NVDP_OPTION_TEXT, "FILE", "with RUN: ledger of the releases; default RUN/ledger",
     NULL, AT(ledger)},
    {"ledger-key", NVDP_OPTION_TEXT, "KEYFILE",
     "secret key of the ledger; default: the ledger's name and .key", NULL, AT(ledger_key)},
    {"seed", NVDP_OPTION_SEED, "N", "seed of all random draws", "1", AT(seed)},
    {0},
};
static const struct nvdp__section section = {.row = rows};
static const struct nvdp__schema schema = {
    .kind = "gate", .size = sizeof(struct options), .section = &section, .sections = 1};

nvdp_status nvdp_gate_config_create(struct nvdp_context *ctx, struct nvdp_config **out) {
    return nvdp__config_create(ctx, &schema, out);
}

/* --- the sources of numbers --- */

/* A result that was measured, or the reason why there is none. */
struct measured {
    const char *source;
    const struct nvdp__gate_check *attack; /* NULL: not an attack */
    json_t *result;                        /* NULL: not measured */
    char fault[NVDP__REASON];              /* why the result must not pass; "": nothing */
    bool weak;
};

struct gate {
    struct nvdp_context *ctx;
    struct options options;
    struct nvdp__policy policy;
    bool is_run;
    /* samples of a text: those of the policy, or more if a ledger counts or the file has more of one */
    size_t releases;
    /* the run's ledger: its sums, or why it could not be read; 0 releases for a file, and for a run without one */
    struct nvdp_ledger_summary ledger;
    char uncounted[NVDP__REASON]; /* "": none */
    struct measured *measured;
    size_t count, capacity;
    /* the shared file: its checks, or why it could not be read; neither for a run without {shared} */
    struct nvdp_verification file;
    char unread[NVDP__REASON], fault[NVDP__REASON]; /* "": none */
};

static nvdp_status parse(const struct gate *gate, char *text, json_t **out) {
    *out = json_loads(text, 0, NULL);
    free(text);
    return *out != NULL ? NVDP_OK : nvdp__fail(gate->ctx, NVDP_ERR_MEMORY, "out of memory");
}

static nvdp_status set(struct nvdp_config *config, const char *name, const char *value) {
    return value != NULL ? nvdp_config_set(config, name, value) : NVDP_OK;
}

static nvdp_status set_number(struct nvdp_config *config, const char *name, double value) {
    char text[32];
    nvdp__snprintf(text, sizeof text, "%.17g", value);
    return nvdp_config_set(config, name, text);
}

static nvdp_status set_seed(struct nvdp_config *config, uint64_t seed) {
    char text[32];
    nvdp__snprintf(text, sizeof text, "%" PRIu64, seed);
    return nvdp_config_set(config, "seed", text);
}

static nvdp_status set_baselines(const struct gate *gate, struct nvdp_config *config) {
    char text[NVDP_GUESSES * 32] = "";
    struct nvdp__writer list = {text, sizeof text, 0};
    for (size_t i = 0; i < gate->policy.baselines; i++)
        nvdp__append(&list, "%s%.17g", i > 0 ? "," : "", gate->policy.baseline[i]);
    return gate->policy.baselines > 0 ? nvdp_config_set(config, "baseline", text) : NVDP_OK;
}

/* Sets the options of privacy measurements for all samples that count. */
static nvdp_status privacy_config(const struct gate *gate, double delta, struct nvdp_config **out) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    const double releases = (double)gate->releases;
    NVDP_TRY(nvdp_privacy_config_create(gate->ctx, &config));
    NVDP_TRY(set_number(config, "delta", delta));
    NVDP_TRY(set_number(config, "releases", releases));
    /* Bayesian DP needs a delta above releases times gamma */
    if (nvdp__privacy_defaults().bdp.gamma * releases > delta / 2)
        NVDP_TRY(set_number(config, "gamma", delta / 10 / releases));
    NVDP__HAND_OVER(out, config);
    return NVDP_OK;
}

static nvdp_status certify(const struct gate *gate, const struct nvdp_model *model, double delta,
                           struct nvdp_certificate *out) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    NVDP_TRY(privacy_config(gate, delta, &config));
    NVDP_TRY(set_baselines(gate, config));
    return nvdp_model_certificate(gate->ctx, model, config, out);
}

static nvdp_status made(const struct gate *gate, json_t *object, json_t **out) {
    *out = object;
    return object != NULL ? NVDP_OK : nvdp__fail(gate->ctx, NVDP_ERR_MEMORY, "out of memory");
}

/* Checks the deltas: epsilons of a ledger hold at a fixed one, and at any larger delta. */
static nvdp_status check_delta(const struct gate *gate, double delta) {
    if (gate->policy.delta >= delta) return NVDP_OK;
    return nvdp__fail(
        gate->ctx, NVDP_ERR_ARGUMENT,
        "this epsilon is at delta %g, and the policy's delta is %g: expected a delta of "
        "at least %g",
        delta, gate->policy.delta, delta);
}

/* Makes a certificate of what is stated: epsilon at `at`, and per word at the policy's delta. The guesses are bounded by mu, or
 * by the epsilon if mu is NaN. */
static nvdp_status make_stated(const struct gate *gate, double epsilon, double at, double mu,
                               double word, json_t **out) {
    json_t *guesses = json_array();
    for (size_t i = 0; i < gate->policy.baselines && isfinite(epsilon); i++) {
        const double b = gate->policy.baseline[i];
        json_array_append_new(guesses,
                              json_pack("{s:f, s:f}", "baseline", b, "bound",
                                        isnan(mu) ? nvdp_guess_from_curve(b, 1, &epsilon, &at)
                                                  : nvdp_guess_bound(b, mu / 2, 1, 0)));
    }
    return made(gate,
                json_pack("{s:o, s:f, s:o, s:{s:o}}", "epsilon", nvdp__json_number(epsilon),
                          "delta", gate->policy.delta, "guess", guesses, "word", "epsilon",
                          nvdp__json_number(word)),
                out);
}

/* Returns the epsilon that a ledger computes for the samples of the certificate: its orders are fewer. */
static nvdp_status counted_epsilon(const struct gate *gate, const struct nvdp_model *model,
                                   const struct nvdp_certificate *of, double *epsilon) {
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    NVDP_TRY(nvdp_model_limits(gate->ctx, model, &limits));
    *epsilon = of->theorem == NVDP_THEOREM_SEQUENCE ? of->epsilon : INFINITY;
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS && of->theorem != NVDP_THEOREM_SEQUENCE; k++) {
        const double order = nvdp__ledger_orders[k],
                     divergence = (double)gate->releases *
                                  nvdp__certified_divergence(&limits, of->theorem, order);
        if (isfinite(divergence))
            *epsilon = fmin(*epsilon, nvdp_renyi_epsilon(order, divergence, of->delta));
    }
    return NVDP_OK;
}

/* Returns true if the number of `other` is larger than that of `mine`, or if one of them is missing. */
static bool proves_less(const json_t *other, const json_t *mine, const char *path) {
    char reason[NVDP__REASON];
    return !(nvdp__gate_number(other, path, false, reason).value <=
             nvdp__gate_number(mine, path, false, reason).value);
}

/* Takes the larger bound of each guess: a smaller epsilon does not bound all guesses better. */
static void take_guesses(const json_t *other, json_t *mine) {
    size_t i;
    json_t *guess;
    json_array_foreach(json_object_get(mine, "guess"), i, guess) {
        json_t *bound =
            json_object_get(json_array_get(json_object_get(other, "guess"), i), "bound");
        if (json_number_value(bound) > json_number_value(json_object_get(guess, "bound")))
            json_object_set(guess, "bound", bound);
    }
}

/* Takes the larger epsilon of two certificates, the larger one per word and the larger bounds of guesses: they can be of
 * different certificates. */
static nvdp_status take_larger(const struct gate *gate, const json_t *other, json_t **mine) {
    const bool less = proves_less(other, *mine, "epsilon");
    const bool word =
        json_is_object(json_object_get(*mine, "word")) && proves_less(other, *mine, "word.epsilon");
    json_t *per_word = json_object_get(word ? other : *mine, "word"),
           *made = json_deep_copy(less ? other : *mine);
    const int failed = made == NULL       ? -1
                       : per_word != NULL ? json_object_set(made, "word", per_word)
                                          : (json_object_del(made, "word"), 0);
    if (failed != 0) {
        json_decref(made);
        return nvdp__fail(gate->ctx, NVDP_ERR_MEMORY, "gate: out of memory");
    }
    take_guesses(less ? *mine : other, made);
    json_decref(*mine);
    *mine = made;
    return NVDP_OK;
}

/* Returns the path of the run's ledger; free() it.  NULL: out of memory. */
static char *ledger_of(const struct gate *gate) {
    return gate->options.ledger != NULL ? nvdp__strdup(gate->ctx, gate->options.ledger)
                                        : nvdp__join(gate->ctx, gate->options.target, "ledger");
}

/* Takes the ledger's sums if they exceed the certificate's, because it counts samples of other mechanisms, too.  Both are
 * of the policy's delta: which mechanism proves less depends on it. */
static nvdp_status take_ledger(const struct gate *gate, const struct nvdp_model *model,
                               const struct nvdp_certificate *own, json_t **mine) {
    const double room = 1 + 1e-9;
    struct nvdp_ledger_summary sums = NVDP_RESULT(struct nvdp_ledger_summary);
    double epsilon;
    nvdp__autoptr(json_decref) json_t *stated = NULL;
    nvdp__autofree char *path = ledger_of(gate);
    NVDP_TRY(NVDP__MADE(path));
    NVDP_TRY(nvdp__ledger_summarize(gate->ctx, path, gate->options.ledger_key, gate->options.target,
                                    gate->policy.delta, &sums));
    NVDP_TRY(counted_epsilon(gate, model, own, &epsilon));
    const bool more = !(sums.epsilon <= epsilon * room);
    const bool more_words = json_is_object(json_object_get(*mine, "word")) &&
                            !(sums.word_epsilon <= own->word.epsilon * room);
    if (!more && !more_words) return NVDP_OK;
    NVDP_TRY(make_stated(gate, more ? sums.epsilon : 0, gate->policy.delta, NAN, sums.word_epsilon,
                         &stated));
    return take_larger(gate, stated, mine);
}

static nvdp_status measure_certificate(const struct gate *gate, json_t **out) {
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    nvdp__autoptr(nvdp_model_free) struct nvdp_model *model = NULL;
    nvdp__autoptr(json_decref) json_t *found = NULL;
    nvdp__autofree char *folder = nvdp__join(gate->ctx, gate->options.target, "model");
    char *text = NULL;
    NVDP_TRY(NVDP__MADE(folder));
    NVDP_TRY(nvdp_model_load(gate->ctx, folder, &model));
    NVDP_TRY(certify(gate, model, gate->policy.delta, &certificate));
    NVDP_TRY(nvdp_certificate_json(gate->ctx, &certificate, &text));
    NVDP_TRY(parse(gate, text, &found));
    if (gate->ledger.releases > 0) NVDP_TRY(take_ledger(gate, model, &certificate, &found));
    *out = json_incref(found);
    return NVDP_OK;
}

/* Reads the run's record of these options.  *out stays NULL if there is none. */
static nvdp_status read_record(const struct gate *gate, const struct nvdp_config *both,
                               json_t **out) {
    nvdp__autofree char *name = NULL;
    NVDP_TRY(nvdp_measured_name(gate->ctx, both, "privacy", &name));
    return nvdp__json_read_optional(gate->ctx, gate->options.target, name, out);
}

static nvdp_status measure_vectors(const struct gate *gate, const struct nvdp_config *both,
                                   const struct nvdp_posteriors *posteriors, char **text) {
    nvdp__auto(nvdp_privacy_report_free) struct nvdp_privacy_report report =
        NVDP_RESULT(struct nvdp_privacy_report);
    NVDP_TRY(nvdp_privacy_measure(gate->ctx, posteriors, both, NULL, &report));
    NVDP_TRY(nvdp_linkage_measure(gate->ctx, posteriors, report.bdp_releases, NVDP_LINKAGE_TEXTS,
                                  gate->options.seed, report.linkage));
    return nvdp_privacy_report_json(gate->ctx, &report, text);
}

/* Uses the run's record if it is of the same posteriors: the same texts under the same model.  Measures otherwise. */
static nvdp_status measure_texts(const struct gate *gate, const struct nvdp_config *both,
                                 json_t **out) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    nvdp__autoptr(json_decref) json_t *record = NULL;
    char *text = NULL, digest[65];
    NVDP_TRY(nvdp_run_posteriors(gate->ctx, both, &posteriors));
    NVDP_TRY(read_record(gate, both, &record));
    nvdp__posteriors_digest(posteriors, digest);
    const char *of = json_string_value(json_object_get(record, "digest"));
    if (of != NULL && strcmp(of, digest) == 0) {
        *out = json_incref(record);
    } else {
        NVDP_TRY(measure_vectors(gate, both, posteriors, &text));
        NVDP_TRY(parse(gate, text, out));
    }
    return NVDP_OK;
}

/* Measures a run whose users add noise to their own texts.  Its records do not name the texts, so none is used. */
static nvdp_status measure_tokens(const struct gate *gate, const struct nvdp_config *both,
                                  bool sequence, json_t **out) {
    nvdp__auto(nvdp_privacy_report_free) struct nvdp_privacy_report vectors =
        NVDP_RESULT(struct nvdp_privacy_report);
    nvdp__auto(nvdp_dchi_report_free) struct nvdp_dchi_report report =
        NVDP_RESULT(struct nvdp_dchi_report);
    char *text = NULL;
    if (sequence) {
        NVDP_TRY(nvdp_run_sequence_privacy(gate->ctx, both, NULL, &vectors));
        NVDP_TRY(nvdp_privacy_report_json(gate->ctx, &vectors, &text));
    } else {
        NVDP_TRY(nvdp_run_text_privacy(gate->ctx, both, NULL, &report));
        NVDP_TRY(nvdp_dchi_report_json(gate->ctx, &report, &text));
    }
    return parse(gate, text, out);
}

static nvdp_status measure_privacy(const struct gate *gate, bool exact, json_t **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_config *both = NULL, *privacy = NULL;
    struct nvdp__train_options trained;
    json_t *owner = NULL;
    const struct options *options = &gate->options;
    NVDP_TRY_OR_CLEAN(nvdp__run_read_config(gate->ctx, options->target, &trained, &owner));
    NVDP_TRY_OR_CLEAN(nvdp_run_config_create(gate->ctx, &both));
    NVDP_TRY_OR_CLEAN(privacy_config(gate, gate->policy.delta, &privacy));
    if (exact) NVDP_TRY_OR_CLEAN(nvdp_config_set(privacy, "exact", "true"));
    status = nvdp_config_join(both, privacy); /* takes it */
    privacy = NULL;
    NVDP_TRY_OR_CLEAN(status);
    NVDP_TRY_OR_CLEAN(set(both, "run", options->target));
    NVDP_TRY_OR_CLEAN(set(both, "split", options->split));
    NVDP_TRY_OR_CLEAN(set(both, "data", options->data));
    NVDP_TRY_OR_CLEAN(set_number(both, "limit", (double)options->limit));
    NVDP_TRY_OR_CLEAN(set_seed(both, options->seed));
    const int noise = trained.noise.mechanism;
    NVDP_TRY_OR_CLEAN(noise == NVDP__NOISE_NONE
                          ? measure_texts(gate, both, out)
                          : measure_tokens(gate, both, nvdp__token_row(noise)->on_sequence, out));
cleanup:
    nvdp_config_free(both);
    nvdp_config_free(privacy);
    json_decref(owner);
    return status;
}

/* Replaces the guesses about a person by those of the policy's baselines. */
static void guess_persons(const struct gate *gate, struct nvdp_persons *person) {
    if (person->persons == 0 || !isfinite(person->mu) || gate->policy.baselines == 0) return;
    person->guesses = gate->policy.baselines;
    for (size_t i = 0; i < person->guesses; i++)
        person->guess[i] =
            (struct nvdp_guess){gate->policy.baseline[i],
                                nvdp_guess_bound(gate->policy.baseline[i], person->mu / 2, 1, 0)};
}

/* Returns the path of the shared file; NULL: there is none. */
static const char *file_of(const struct gate *gate) {
    return gate->is_run ? gate->options.shared : gate->options.target;
}

static nvdp_status uncounted(const struct gate *gate) {
    return nvdp__fail(gate->ctx, NVDP_ERR_INPUT, "the file states that no ledger counts it");
}

/* Reads the run's ledger, once for all checks.  A run without one has shared nothing. */
static nvdp_status read_ledger(struct gate *gate) {
    char *path = gate->is_run ? ledger_of(gate) : NULL;
    gate->ledger.struct_size = sizeof gate->ledger;
    if (path == NULL) return gate->is_run ? NVDP_ERR_MEMORY : NVDP_OK;
    char *key = gate->options.ledger_key != NULL ? nvdp__strdup(gate->ctx, gate->options.ledger_key)
                                                 : nvdp__format(gate->ctx, "%s.key", path);
    nvdp_status status = NVDP__MADE(key);
    if (status == NVDP_OK && gate->options.ledger == NULL)
        status = nvdp__ledger_elsewhere(gate->ctx, gate->options.target);
    if (status == NVDP_OK && nvdp__ledger_expected(gate->ctx, path, key))
        status = nvdp__ledger_summarize(gate->ctx, path, key, gate->options.target,
                                        NVDP__LEDGER_DELTA, &gate->ledger);
    else if (status == NVDP_OK && gate->options.ledger != NULL)
        status = nvdp__fail(gate->ctx, NVDP_ERR_IO,
                            "%s: expected the ledger of the releases, found none", path);
    free(path);
    free(key);
    if (status == NVDP_ERR_MEMORY || status == NVDP_ERR_CANCELLED) return status;
    if (status != NVDP_OK)
        nvdp__snprintf(gate->uncounted, sizeof gate->uncounted, "%s",
                       nvdp_context_error(gate->ctx));
    return NVDP_OK;
}

/* Names the first check that fails. */
static void find_fault(const struct nvdp_verification *found, char fault[NVDP__REASON]) {
    for (size_t i = 0; i < found->checks && !found->holds && fault[0] == '\0'; i++)
        if (found->check[i].verdict == NVDP_VERDICT_NO)
            nvdp__snprintf(fault, NVDP__REASON, "nvdp verify fails: %s: %s", found->check[i].what,
                           found->check[i].found);
    if (!found->holds && fault[0] == '\0') nvdp__snprintf(fault, NVDP__REASON, "nvdp verify fails");
}

/* Fails if the ledger does not count the file beside the run: another one does, or none. */
static nvdp_status check_counted(const struct gate *gate, const char *path) {
    struct nvdp_verification found = {.struct_size = sizeof found, .holds = true};
    char fault[NVDP__REASON] = "";
    if (file_of(gate) == NULL || gate->unread[0] != '\0') return NVDP_OK;
    if (!gate->file.counted) return uncounted(gate);
    NVDP_TRY(nvdp_verify_ledger(gate->ctx, file_of(gate), path, gate->options.ledger_key, &found));
    find_fault(&found, fault);
    if (fault[0] == '\0') return NVDP_OK;
    return nvdp__fail(gate->ctx, NVDP_ERR_INPUT,
                      "%s: %s; name the ledger that counts the file with {ledger}", path, fault);
}

static nvdp_status measure_ledger(const struct gate *gate, json_t **out) {
    struct nvdp_ledger_summary found = gate->ledger;
    nvdp__autofree char *path = ledger_of(gate);
    NVDP_TRY(NVDP__MADE(path));
    if (found.releases == 0)
        return nvdp__fail(gate->ctx, NVDP_ERR_INPUT,
                          "%s: expected the ledger of the releases, found none; export first, or "
                          "name the ledger with {ledger}",
                          path);
    NVDP_TRY(check_counted(gate, path));
    NVDP_TRY(check_delta(gate, found.delta));
    guess_persons(gate, &found.person);
    NVDP_TRY(made(gate, nvdp__result_json(&nvdp__result_ledger, NULL, &found), out));
    if (found.budget_epsilon == 0) json_object_del(*out, "budget_epsilon"); /* 0: none */
    if (found.person_budget == 0) json_object_del(*out, "person_budget");
    if (found.proven_epsilon == 0) json_object_del(*out, "proven_epsilon");
    if (found.proven_person_epsilon == 0) json_object_del(*out, "proven_person_epsilon");
    return NVDP_OK;
}

/* --- a shared file --- */

/* Returns what the file states of one row: of its samples, or of more if the policy wants more.  A text can have samples in
 * other rows and files, which only the ledger of the sender counts. */
static nvdp_status file_certificate(const struct gate *gate, const struct nvdp_verification *found,
                                    json_t **out) {
    const double delta = gate->policy.delta,
                 times = fmax(1, (double)gate->policy.releases /
                                     (double)nvdp__max(found->samples, (size_t)1));
    const double mu = found->mu * sqrt(times), word = found->word_mu * sqrt(times);
    double epsilon = found->epsilon;
    if (!found->counted) return uncounted(gate);
    if (found->certified && isnan(mu)) NVDP_TRY(check_delta(gate, found->delta));
    if (found->certified && isnan(mu) && times > 1)
        return nvdp__fail(gate->ctx, NVDP_ERR_INPUT,
                          "the policy expects %d samples of a text, and the file states what is "
                          "proven for %zu: name the run, and the file with {shared}",
                          gate->policy.releases, found->samples);
    if (found->certified && !isnan(mu) && (delta != found->delta || times > 1))
        epsilon = nvdp_gdp_epsilon(mu, delta);
    return make_stated(gate, epsilon, found->delta, mu,
                       isfinite(word) ? nvdp_gdp_epsilon(word, delta) : INFINITY, out);
}

static nvdp_status measure_file(const struct gate *gate, const char *source, char *fault,
                                json_t **out) {
    const struct nvdp_verification *file = &gate->file;
    if (file_of(gate) == NULL)
        return nvdp__fail(gate->ctx, NVDP_ERR_ARGUMENT,
                          "expected a shared file: name it in place of the run, or with {shared}");
    if (gate->unread[0] != '\0') return nvdp__fail(gate->ctx, NVDP_ERR_INPUT, "%s", gate->unread);
    nvdp__snprintf(fault, NVDP__REASON, "%s", gate->fault);
    if (strcmp(source, "certificate") == 0) return file_certificate(gate, file, out);
    if (strcmp(source, "ledger") == 0)
        return nvdp__fail(gate->ctx, NVDP_ERR_ARGUMENT,
                          "a shared file states no counts of its texts: name the run, whose "
                          "ledger has them, and the file with {shared}");
    NVDP_TRY(check_delta(gate, NVDP__LEDGER_DELTA));
    return made(gate, nvdp__result_json(&nvdp__result_verification, NULL, file), out);
}

/* --- an attack --- */

static nvdp_status set_taken(struct nvdp_config *config, const struct nvdp_attack_info *attack,
                             const char *name, const char *value) {
    return nvdp__gate_takes(attack, name) ? set(config, name, value) : NVDP_OK;
}

/* Returns the number of samples of a text that an attack reads together: those that its own options set, those of
 * the file or of the gate, or one if it cannot read more. SIZE_MAX: it attacks training, not samples. */
static size_t samples_read(const struct gate *gate, const struct nvdp__gate_check *check) {
    const struct nvdp_attack_info *attack = &check->attack;
    const json_t *own = json_object_get(check->options, "releases");
    const char *members = json_string_value(json_object_get(check->options, "members"));
    char text[NVDP__REASON];
    if (attack->target == NVDP_ATTACK_MODEL ||
        (members != NULL && strcmp(members, "training") == 0))
        return SIZE_MAX;
    if (own != NULL && nvdp__gate_option(own, sizeof text, text)) return strtoul(text, NULL, 10);
    if (!nvdp__gate_takes(attack, "releases")) return 1;
    return gate->options.shared != NULL && nvdp__gate_takes(attack, "shared")
               ? nvdp__max(gate->file.samples, (size_t)1)
               : gate->releases;
}

/* `samples`: from samples_read(). */
static nvdp_status attack_config(const struct gate *gate, const struct nvdp__gate_check *check,
                                 size_t samples, struct nvdp_config **out) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    const struct options *options = &gate->options;
    const struct nvdp_attack_info *attack = &check->attack;
    const char *key;
    json_t *value;
    NVDP_TRY(nvdp_attacks_config_create(gate->ctx, &config));
    NVDP_TRY(set(config, "kind", attack->name));
    NVDP_TRY(set(config, attack->target == NVDP_ATTACK_MODEL ? "model" : "run", options->target));
    NVDP_TRY(set_taken(config, attack, "split", options->split));
    NVDP_TRY(set_taken(config, attack, "data", options->data));
    NVDP_TRY(set_taken(config, attack, "public", options->known));
    NVDP_TRY(set_taken(config, attack, "prior", options->prior));
    NVDP_TRY(set_taken(config, attack, "shared", options->shared));
    if (nvdp__gate_takes(attack, "limit"))
        NVDP_TRY(set_number(config, "limit", (double)options->limit));
    if (nvdp__gate_takes(attack, "seed")) NVDP_TRY(set_seed(config, options->seed));
    if (nvdp__gate_takes(attack, "releases") && samples != SIZE_MAX)
        NVDP_TRY(set_number(config, "releases", (double)samples));
    json_object_foreach((json_t *)check->options, key, value) {
        char text[NVDP__REASON];
        nvdp__gate_option(value, sizeof text, text);
        NVDP_TRY(nvdp_config_set(config, key, text));
    }
    NVDP__HAND_OVER(out, config);
    return NVDP_OK;
}

static nvdp_status measure_attack(const struct gate *gate, const struct nvdp__gate_check *check,
                                  struct measured *to) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    nvdp__autoptr(nvdp_attack_free) struct nvdp_attack_result *result = NULL;
    char *text = NULL;
    nvdp__autofree char *verdict = NULL;
    const size_t samples = samples_read(gate, check);
    if (samples < gate->releases)
        return nvdp__fail(gate->ctx, NVDP_ERR_ARGUMENT,
                          "the attack reads %zu of the %zu samples of a text that count", samples,
                          gate->releases);
    NVDP_TRY(attack_config(gate, check, samples, &config));
    NVDP_TRY(nvdp_attack(gate->ctx, config, &result));
    NVDP_TRY(nvdp_attack_json(gate->ctx, result, &text));
    NVDP_TRY(parse(gate, text, &to->result));
    NVDP_TRY(nvdp_attack_verdict(gate->ctx, result, &verdict));
    nvdp__snprintf(to->fault, sizeof to->fault, "%s", verdict);
    to->weak = json_is_true(json_object_get(to->result, "weak"));
    return NVDP_OK;
}

/* --- one check --- */

static bool is_exact(const struct nvdp__gate_check *check) {
    return strcmp(check->source, "privacy") == 0 && strncmp(check->path, "exact", 5) == 0;
}

/* Returns true if any check of the policy needs the exact loss, which is measured together with the rest. */
static bool needs_exact(const struct gate *gate) {
    for (size_t i = 0; i < gate->policy.checks; i++)
        if (is_exact(&gate->policy.check[i])) return true;
    return false;
}

static bool same_attack(const struct nvdp__gate_check *a, const struct nvdp__gate_check *b) {
    if (a == NULL || strcmp(b->source, "attack") != 0)
        return a == NULL && strcmp(b->source, "attack") != 0;
    return strcmp(a->attack.name, b->attack.name) == 0 &&
           (a->options == b->options || json_equal(a->options, b->options));
}

/* Takes the certificate of the run, or of the file given with {shared} if it proves less, and the same per word. */
static nvdp_status measure_larger(const struct gate *gate, struct measured *to) {
    json_t *file = NULL;
    NVDP_TRY(measure_certificate(gate, &to->result));
    if (gate->options.shared == NULL) return NVDP_OK;
    NVDP_TRY(measure_file(gate, "certificate", to->fault, &file));
    const nvdp_status status = take_larger(gate, file, &to->result);
    json_decref(file);
    return status;
}

static nvdp_status measure_source(const struct gate *gate, const struct nvdp__gate_check *check,
                                  struct measured *to) {
    const char *source = check->source;
    if (strcmp(source, "verification") == 0)
        return measure_file(gate, source, to->fault, &to->result);
    if (!gate->is_run && (strcmp(source, "attack") == 0 || strcmp(source, "privacy") == 0))
        return nvdp__fail(gate->ctx, NVDP_ERR_ARGUMENT,
                          "a shared file alone cannot show it: name the run, and the file with "
                          "{shared}");
    if (gate->uncounted[0] != '\0') /* an unknown number of samples */
        return nvdp__fail(gate->ctx, NVDP_ERR_INPUT, "%s", gate->uncounted);
    if (strcmp(source, "attack") == 0) return measure_attack(gate, check, to);
    if (strcmp(source, "privacy") == 0)
        return measure_privacy(gate, needs_exact(gate), &to->result);
    if (!gate->is_run) return measure_file(gate, source, to->fault, &to->result);
    if (strcmp(source, "ledger") == 0) return measure_ledger(gate, &to->result);
    return measure_larger(gate, to);
}

/* Finds the result that a check needs, and measures it the first time.  A failure becomes the result's fault. */
static nvdp_status find_measured(struct gate *gate, const struct nvdp__gate_check *check,
                                 const struct measured **out) {
    for (size_t i = 0; i < gate->count; i++)
        if (strcmp(gate->measured[i].source, check->source) == 0 &&
            same_attack(gate->measured[i].attack, check)) {
            *out = &gate->measured[i];
            return NVDP_OK;
        }
    NVDP_TRY(nvdp__reserve(gate->ctx, &gate->measured, &gate->capacity, gate->count + 1,
                           sizeof *gate->measured));
    struct measured *to = &gate->measured[gate->count++];
    to->source = check->source;
    to->attack = strcmp(check->source, "attack") == 0 ? check : NULL;
    const nvdp_status status = measure_source(gate, check, to);
    if (status == NVDP_ERR_MEMORY || status == NVDP_ERR_CANCELLED) return status;
    if (status != NVDP_OK)
        nvdp__snprintf(to->fault, sizeof to->fault, "not measured: %s",
                       nvdp_context_error(gate->ctx));
    *out = to;
    return NVDP_OK;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Replaces what is not UTF-8, such as a cut character or a file's name, because JSON and XML cannot hold it. */
static void make_text(char *text) {
    if (nvdp__is_utf8(text, strlen(text))) return;
    for (; *text != '\0'; text++)
        if ((unsigned char)*text >= 0x80) *text = '?';
}

static struct nvdp__gate_found find_number(const struct gate *gate, const struct measured *measured,
                                           const struct nvdp__gate_check *check, bool least,
                                           char reason[NVDP__REASON]) {
    if (measured->result == NULL) return (struct nvdp__gate_found){NAN, {NAN, NAN}};
    struct nvdp__gate_found found =
        check->number != NULL ? nvdp__gate_score(measured->result, check->path, least, reason)
                              : nvdp__gate_number(measured->result, check->path, least, reason);
    if (check->one_sample) found.value *= (double)gate->releases;
    return found;
}

/* Returns the number of texts that were measured or attacked; 0: a proof, or an attack on something else. */
static size_t texts_of(const struct measured *measured) {
    static const char *const keys[] = {"n", "texts", "members", "others"};
    const bool proof = strcmp(measured->source, "privacy") != 0 && measured->attack == NULL;
    size_t texts = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !proof; i++)
        texts += (size_t)json_integer_value(json_object_get(measured->result, keys[i]));
    return texts;
}

/* Returns the number of texts that a check needs: that of the policy, or fewer if the check itself sets a limit. */
static size_t texts_needed(const struct gate *gate, const struct nvdp__gate_check *check) {
    const json_t *limit = json_object_get(check->options, "limit");
    const size_t own = (size_t)json_integer_value(limit);
    return own > 0 ? nvdp__min(own, gate->policy.min_texts) : gate->policy.min_texts;
}

static bool is_of_person(const struct nvdp__gate_check *check) {
    return strcmp(check->source, "ledger") == 0 &&
           (strncmp(check->path, "person.", 7) == 0 ||
            strcmp(check->path, "receiver_person_epsilon") == 0);
}

/* Returns the number of texts that a person's number may lack: those that no release gives to a person. */
static size_t lacking(const struct gate *gate, const struct nvdp__gate_check *check) {
    return is_of_person(check) ? gate->ledger.unnamed_texts : 0;
}

static nvdp_status run_check(struct gate *gate, const struct nvdp__gate_check *check,
                             struct nvdp_gate_check *out) {
    const struct measured *measured = NULL;
    const size_t before = gate->count;
    const double begun = seconds_now();
    NVDP_TRY(find_measured(gate, check, &measured));
    nvdp__snprintf(out->name, sizeof out->name, "%s", check->name);
    out->at_most = check->at_most;
    out->at_least = check->at_least;
    out->seconds = gate->count > before ? seconds_now() - begun : 0;
    out->texts = texts_of(measured);
    const size_t needed = texts_needed(gate, check);
    const bool least = isnan(check->at_most);
    const struct nvdp__gate_found found = find_number(gate, measured, check, least, out->reason);
    out->found = found.value;
    out->interval = found.interval;
    const double largest = nvdp__gate_end(&found, false);
    double smallest = nvdp__gate_end(&found, true);
    /* of several numbers, the smallest is compared with at_least */
    if (!least && !isnan(check->at_least) && out->reason[0] == '\0') {
        char unused[NVDP__REASON];
        const struct nvdp__gate_found other = find_number(gate, measured, check, true, unused);
        smallest = nvdp__gate_end(&other, true);
    }
    /* a file beside a run fails every check if it cannot be read or is wrong */
    if (gate->is_run && gate->unread[0] != '\0')
        nvdp__snprintf(out->reason, sizeof out->reason, "not measured: %s", gate->unread);
    else if (gate->is_run && gate->fault[0] != '\0')
        nvdp__snprintf(out->reason, sizeof out->reason, "%s", gate->fault);
    else if (measured->fault[0] != '\0')
        nvdp__snprintf(out->reason, sizeof out->reason, "%s", measured->fault);
    else if (lacking(gate, check) > 0)
        nvdp__snprintf(out->reason, sizeof out->reason,
                       "%zu of the ledger's texts have no person: the sum of the person who wrote "
                       "one lacks its samples",
                       lacking(gate, check));
    else if (is_of_person(check) && gate->is_run && gate->ledger.person.persons == 0)
        nvdp__snprintf(out->reason, sizeof out->reason,
                       "the ledger counts no persons: export with the option person, or leave this "
                       "check out of the policy");
    else if (out->texts > 0 && out->texts < needed)
        nvdp__snprintf(out->reason, sizeof out->reason,
                       "expected at least %zu texts, as min_texts of the policy, found %zu", needed,
                       out->texts);
    else if (out->reason[0] == '\0' && !isfinite(out->found))
        nvdp__snprintf(out->reason, sizeof out->reason, "expected a finite number, found %g",
                       out->found);
    else if (out->reason[0] == '\0' && largest > check->at_most)
        nvdp__snprintf(out->reason, sizeof out->reason, "expected at most %.9g, found %.9g%s",
                       check->at_most, largest,
                       largest > out->found ? ", the upper end of the interval" : "");
    else if (out->reason[0] == '\0' && smallest < check->at_least)
        nvdp__snprintf(out->reason, sizeof out->reason, "expected at least %.9g, found %.9g%s",
                       check->at_least, smallest,
                       smallest < out->found && !isnan(out->interval.low)
                           ? ", the lower end of the interval"
                           : "");
    else if (out->reason[0] == '\0' && measured->weak && !isnan(check->at_most))
        nvdp__snprintf(out->reason, sizeof out->reason,
                       "the attacker is too weak for a conclusion: it finds nothing even without "
                       "noise");
    make_text(out->reason);
    out->passed = out->reason[0] == '\0';
    return NVDP_OK;
}

/* --- nvdp_gate --- */

void nvdp_gate_result_free(struct nvdp_gate_result *result) {
    if (result == NULL) return;
    free(result->check);
    *result = (struct nvdp_gate_result){0};
}

/* Finds out what the target is. */
static nvdp_status open_target(struct gate *gate) {
    const struct options *options = &gate->options;
    char *record = NULL;
    if (options->policy == NULL || options->target == NULL)
        return nvdp__fail(
            gate->ctx, NVDP_ERR_ARGUMENT,
            "expected a policy and a run or a shared file, found only one or neither");
    if (!nvdp__exists(options->target))
        return nvdp__fail(gate->ctx, NVDP_ERR_IO, "%s: expected a run or a shared file, found none",
                          options->target);
    record = nvdp__join(gate->ctx, options->target, "run.json");
    if (record == NULL) return NVDP_ERR_MEMORY;
    gate->is_run = nvdp__is_directory(options->target) && nvdp__exists(record);
    free(record);
    if (!gate->is_run && (options->shared != NULL || options->ledger != NULL))
        return nvdp__fail(gate->ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected a run with {shared} or {ledger}, found a file",
                          options->target);
    return NVDP_OK;
}

/* Refuses a measurement of fewer texts than the policy accepts. */
static nvdp_status check_limit(const struct gate *gate) {
    const size_t limit = gate->options.limit, min = gate->policy.min_texts;
    if (limit == 0 || (min > 0 && limit >= min)) return NVDP_OK;
    if (min == 0)
        return nvdp__fail(gate->ctx, NVDP_ERR_ARGUMENT,
                          "{limit}: expected 0, all texts, as the policy has no key min_texts; "
                          "found %zu",
                          limit);
    return nvdp__fail(gate->ctx, NVDP_ERR_ARGUMENT,
                      "{limit}: expected 0, all texts, or at least %zu, min_texts of the policy; "
                      "found %zu",
                      min, limit);
}

/* Verifies the shared file, once for all checks. */
static nvdp_status verify_file(struct gate *gate) {
    const char *path = file_of(gate);
    if (path == NULL) return NVDP_OK;
    gate->file.struct_size = sizeof gate->file;
    const nvdp_status status = nvdp_verify(gate->ctx, path, NULL, &gate->file);
    if (status == NVDP_ERR_MEMORY || status == NVDP_ERR_CANCELLED) return status;
    if (status != NVDP_OK)
        nvdp__snprintf(gate->unread, sizeof gate->unread, "%s", nvdp_context_error(gate->ctx));
    else
        find_fault(&gate->file, gate->fault);
    return NVDP_OK;
}

nvdp_status nvdp_gate(struct nvdp_context *ctx, const struct nvdp_config *config,
                      struct nvdp_gate_result *out) {
    nvdp_status status = NVDP_OK;
    struct gate gate = {.ctx = ctx};
    struct nvdp_gate_result result = {.struct_size = sizeof result};
    NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    NVDP_TRY_OR_CLEAN(nvdp__config_open(ctx, config, &schema, &gate.options));
    NVDP_TRY_OR_CLEAN(open_target(&gate));
    NVDP_TRY_OR_CLEAN(nvdp__policy_read(ctx, gate.options.policy, &gate.policy));
    NVDP_TRY_OR_CLEAN(check_limit(&gate));
    NVDP_TRY_OR_CLEAN(verify_file(&gate));
    NVDP_TRY_OR_CLEAN(read_ledger(&gate));
    gate.releases = nvdp__max((size_t)gate.policy.releases, (size_t)gate.ledger.samples);
    gate.releases = nvdp__max(gate.releases, gate.file.samples); /* no ledger may count these */
    result.delta = gate.policy.delta;
    result.releases = gate.releases;
    if (gate.is_run) nvdp__snprintf(result.split, sizeof result.split, "%s", gate.options.split);
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, result.check, gate.policy.checks));
    for (; result.checks < gate.policy.checks; result.checks++) {
        struct nvdp_gate_check *check = &result.check[result.checks];
        NVDP_TRY_OR_CLEAN(nvdp__check_cancelled(ctx, "gate: cancelled"));
        NVDP_TRY_OR_CLEAN(run_check(&gate, &gate.policy.check[result.checks], check));
        result.failed += !check->passed;
    }
    result.passed = result.failed == 0;
    NVDP__GIVE(out, &result);
    result.check = NULL;
cleanup:
    for (size_t i = 0; i < gate.count; i++)
        json_decref(gate.measured[i].result);
    free(gate.measured);
    free(result.check);
    nvdp__policy_release(&gate.policy);
    return status;
}
