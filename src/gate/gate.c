/* Measures the numbers that a policy limits, and compares them: the sources of numbers, one check, the result as JSON,
 * text and JUnit XML.  The entry is nvdp_gate(). */
#include "gate/gate.h"
#include "model/model.h"

#include "attack/attack.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "dchi/dchi.h"
#include "options/result.h"
#include "options/rows.h"
#include "options/schema.h"
#include "rdp/options.h"
#include "rdp/report.h"
#include "sanitize/sanitize.h"
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
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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
     "drawn ones, and check the file's own statements",
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

const struct nvdp__kind nvdp__kind_gate = {"gate", {&schema}};

/* --- the sources of numbers --- */

/* A measured result, or the reason why there is no result. */
struct measured {
    const char *source;
    const struct nvdp__gate_check *attack; /* NULL if the source is no attack */
    json_t *result;                        /* NULL if not measured */
    char fault[NVDP__REASON];              /* why the result must not pass; "" if it may */
    bool weak;
};

struct gate {
    struct nvdp_context *ctx;
    struct options options;
    struct nvdp__policy policy;
    bool is_run;
    /* Number of samples of a text: the number of the policy, or of the ledger or file if that is larger. */
    size_t releases;
    /* The sums of the run's ledger, or why it could not be read; 0 releases for a file, and for a run without a
     * ledger. */
    struct nvdp_ledger_summary ledger;
    char uncounted[NVDP__REASON]; /* "": none */
    struct measured *measured;
    size_t count, capacity;
    /* The checks of the shared file, or why it could not be read; empty for a run without {shared}. */
    struct nvdp_verification file;
    char unread[NVDP__REASON], fault[NVDP__REASON]; /* "": none */
};

static void release_gate(struct gate *gate) {
    for (size_t i = 0; i < gate->count; i++)
        json_decref(gate->measured[i].result);
    free(gate->measured);
    nvdp__policy_release(&gate->policy);
}

static nvdp_status set_number(struct nvdp_config *config, const char *name, double value) {
    return nvdp_config_set(config, name, nvdp__short_text("%.17g", value).text);
}

static nvdp_status set_seed(struct nvdp_config *config, uint64_t seed) {
    return nvdp_config_set(config, "seed", nvdp__short_text("%" PRIu64, seed).text);
}

/* Sets the options of privacy measurements for gate->releases samples. */
static nvdp_status privacy_config(const struct gate *gate, const char *kinds,
                                  struct nvdp_config **out) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    const double releases = (double)gate->releases, delta = gate->policy.delta;
    NVDP_TRY(nvdp_config_create(gate->ctx, kinds, &config));
    NVDP_TRY(set_number(config, "delta", delta));
    NVDP_TRY(set_number(config, "releases", releases));
    /* Bayesian DP needs a delta above releases times gamma */
    if (nvdp__privacy_defaults().bdp.gamma * releases > delta / 2)
        NVDP_TRY(set_number(config, "gamma", delta / 10 / releases));
    return NVDP__HAND_OVER(out, config);
}

static nvdp_status made(const struct gate *gate, json_t *object, json_t **out) {
    *out = object;
    return object != NULL ? NVDP_OK : nvdp__fail(gate->ctx, NVDP_ERR_MEMORY, "out of memory");
}

/* Checks the deltas: epsilons of a ledger hold at a fixed delta, and at any larger delta. */
static nvdp_status check_delta(const struct gate *gate, double delta) {
    if (gate->policy.delta >= delta) return NVDP_OK;
    return nvdp__fail(
        gate->ctx, NVDP_ERR_ARGUMENT,
        "this epsilon is at delta %g, and the policy's delta is %g: expected a delta of "
        "at least %g",
        delta, gate->policy.delta, delta);
}

/* Makes a certificate from stated numbers: epsilon at the delta `at`, and epsilon per word at the policy's delta. The
 * radius bounds the guesses, or the epsilon if the radius is NaN. */
static nvdp_status make_stated(const struct gate *gate, double epsilon, double at, double radius,
                               double word, json_t **out) {
    json_t *guesses = json_array();
    for (size_t i = 0; i < gate->policy.baselines && isfinite(epsilon); i++) {
        const double b = gate->policy.baseline[i];
        json_array_append_new(guesses,
                              json_pack("{s:f, s:f}", "baseline", b, "bound",
                                        isnan(radius) ? nvdp__guess_from_curve(b, 1, &epsilon, &at)
                                                      : nvdp_guess_bound(b, radius, 1, 0)));
    }
    return made(gate,
                json_pack("{s:o, s:f, s:o, s:{s:o}}", "epsilon", nvdp__json_number(epsilon),
                          "delta", gate->policy.delta, "guess", guesses, "word", "epsilon",
                          nvdp__json_number(word)),
                out);
}

/* Computes the epsilon that a ledger would compute for the samples of the certificate, with the ledger's fewer
 * orders. */
static nvdp_status counted_epsilon(const struct gate *gate, const struct nvdp_model *model,
                                   const struct nvdp_certificate *of, double *epsilon) {
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    NVDP_TRY(nvdp__model_limits(gate->ctx, model, &limits));
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

/* Returns true if the number in `other` is larger than the number in `mine`, or if a number is missing. */
static bool proves_less(const json_t *other, const json_t *mine, const char *path) {
    char reason[NVDP__REASON];
    return !(nvdp__gate_number(other, path, false, reason).value <=
             nvdp__gate_number(mine, path, false, reason).value);
}

/* Takes the larger epsilon of two certificates, the larger epsilon per word and the larger bounds of guesses. These may
 * come from different certificates, because a smaller epsilon does not bound all guesses better. */
static nvdp_status take_larger(const struct gate *gate, const json_t *other, json_t **mine) {
    const bool less = proves_less(other, *mine, "epsilon");
    const bool word =
        json_is_object(json_object_get(*mine, "word")) && proves_less(other, *mine, "word.epsilon");
    json_t *per_word = json_object_get(word ? other : *mine, "word"),
           *made = json_deep_copy(less ? other : *mine), *guess;
    size_t i;
    if (made == NULL || (per_word != NULL && json_object_set(made, "word", per_word) != 0)) {
        json_decref(made);
        return nvdp__fail(gate->ctx, NVDP_ERR_MEMORY, "gate: out of memory");
    }
    if (per_word == NULL) json_object_del(made, "word");
    const json_t *guesses = json_object_get(less ? *mine : other, "guess");
    json_array_foreach(json_object_get(made, "guess"), i, guess) {
        json_t *bound = json_object_get(json_array_get(guesses, i), "bound");
        if (json_number_value(bound) > json_number_value(json_object_get(guess, "bound")))
            json_object_set(guess, "bound", bound);
    }
    json_decref(*mine);
    *mine = made;
    return NVDP_OK;
}

/* Returns the path of the run's ledger. */
static struct nvdp__path ledger_path(const struct gate *gate) {
    return gate->options.ledger != NULL ? nvdp__path_format("%s", gate->options.ledger)
                                        : nvdp__path(gate->options.target, "ledger");
}

/* Takes the ledger's sums if they exceed the numbers of the certificate, because the ledger counts samples of other
 * mechanisms, too.  Compares at the policy's delta, on which it depends which mechanism proves less. */
static nvdp_status take_ledger(const struct gate *gate, const struct nvdp_model *model,
                               const struct nvdp_certificate *own, json_t **mine) {
    const double room = 1 + 1e-9;
    struct nvdp_ledger_summary sums = NVDP_RESULT(struct nvdp_ledger_summary);
    double epsilon;
    nvdp__autoptr(json_decref) json_t *stated = NULL;
    NVDP_TRY(nvdp__ledger_summarize(gate->ctx, ledger_path(gate).text, gate->options.ledger_key,
                                    gate->options.target, gate->policy.delta, &sums));
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
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    nvdp__autoptr(json_decref) json_t *found = NULL;
    const struct nvdp__path folder = nvdp__path(gate->options.target, "model");
    char baselines[NVDP_GUESSES * 32] = "";
    struct nvdp__writer list = {baselines, sizeof baselines, 0};
    NVDP_TRY(nvdp_model_load(gate->ctx, folder.text, &model));
    NVDP_TRY(privacy_config(gate, "privacy", &config));
    for (size_t i = 0; i < gate->policy.baselines; i++)
        nvdp__append(&list, "%s%.17g", i > 0 ? "," : "", gate->policy.baseline[i]);
    if (list.used > 0) NVDP_TRY(nvdp_config_set(config, "baseline", baselines));
    NVDP_TRY(nvdp_model_certificate(gate->ctx, model, config, &certificate));
    NVDP_TRY(made(gate, nvdp__certificate_pack(&certificate), &found));
    if (gate->ledger.releases > 0) NVDP_TRY(take_ledger(gate, model, &certificate, &found));
    return NVDP__HAND_OVER(out, found);
}

/* Uses the run's record if it has the digest of the same posteriors, of the same texts under the same model.  Otherwise
 * measures. */
static nvdp_status measure_texts(const struct gate *gate, const struct nvdp_config *both,
                                 json_t **out) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    nvdp__autoresult struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    nvdp__autoptr(json_decref) json_t *record = NULL;
    nvdp__autofree char *name = NULL;
    char digest[65];
    NVDP_TRY(nvdp_run_posteriors(gate->ctx, both, &posteriors));
    NVDP_TRY(nvdp_measured_name(gate->ctx, both, "privacy", &name));
    NVDP_TRY(nvdp__json_read_optional(gate->ctx, gate->options.target, name, &record));
    nvdp__posteriors_digest(posteriors, digest);
    const char *of = json_string_value(json_object_get(record, "digest"));
    if (of != NULL && strcmp(of, digest) == 0) {
        return NVDP__HAND_OVER(out, record);
    }
    NVDP_TRY(nvdp_privacy_measure(gate->ctx, posteriors, both, NULL, &report));
    NVDP_TRY(nvdp_linkage_measure(gate->ctx, posteriors, report.bdp.releases, NVDP_LINKAGE_TEXTS,
                                  gate->options.seed, report.linkage));
    return made(gate, nvdp__privacy_report_pack(&report), out);
}

static nvdp_status measure_privacy(const struct gate *gate, json_t **out) {
    nvdp__autoresult struct nvdp_privacy_report vectors = NVDP_RESULT(struct nvdp_privacy_report);
    nvdp__autoresult struct nvdp_dchi_report words = NVDP_RESULT(struct nvdp_dchi_report);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *both = NULL;
    nvdp__autoptr(json_decref) json_t *owner = NULL;
    struct nvdp__train_options trained;
    const struct options *options = &gate->options;
    NVDP_TRY(nvdp__run_read_config(gate->ctx, options->target, &trained, &owner));
    NVDP_TRY(privacy_config(gate, "run,privacy", &both));
    /* If a check needs the exact loss, it is measured together with the other numbers. */
    for (size_t i = 0; i < gate->policy.checks; i++)
        if (strcmp(gate->policy.check[i].source, "privacy") == 0 &&
            strncmp(gate->policy.check[i].path, "exact", 5) == 0)
            NVDP_TRY(nvdp_config_set(both, "exact", "true"));
    NVDP_TRY(nvdp_config_set(both, "run", options->target));
    NVDP_TRY(nvdp_config_set(both, "split", options->split));
    NVDP_TRY(nvdp_config_set(both, "data", options->data));
    NVDP_TRY(set_number(both, "limit", (double)options->limit));
    NVDP_TRY(set_seed(both, options->seed));
    const int noise = trained.noise.mechanism;
    if (noise == NVDP__NOISE_NONE) return measure_texts(gate, both, out);
    /* The users add noise to their texts. The records of such a run do not identify the texts, so no record is used. */
    if (nvdp__token_row(noise)->on_sequence) {
        NVDP_TRY(nvdp_run_sequence_privacy(gate->ctx, both, NULL, &vectors));
        return made(gate, nvdp__privacy_report_pack(&vectors), out);
    }
    NVDP_TRY(nvdp_run_text_privacy(gate->ctx, both, NULL, &words));
    return made(gate, nvdp__dchi_report_pack(&words), out);
}

/* Returns the path of the shared file; NULL if there is none. */
static const char *shared_path(const struct gate *gate) {
    return gate->is_run ? gate->options.shared : gate->options.target;
}

static nvdp_status uncounted(const struct gate *gate) {
    return nvdp__fail(gate->ctx, NVDP_ERR_INPUT, "the file states that no ledger counts it");
}

/* Stores the message of a failure that makes checks fail.  Returns failures of the gate itself. */
static nvdp_status keep_fault(const struct gate *gate, nvdp_status status, const char *before,
                              char fault[NVDP__REASON]) {
    if (status == NVDP_ERR_MEMORY || status == NVDP_ERR_CANCELLED) return status;
    if (status != NVDP_OK)
        nvdp__snprintf(fault, NVDP__REASON, "%s%s", before, nvdp_context_error(gate->ctx));
    return NVDP_OK;
}

/* Reads the run's ledger, once for all checks.  A run without a ledger has shared nothing. */
static nvdp_status read_ledger(struct gate *gate) {
    const struct nvdp__path path = ledger_path(gate),
                            key = gate->options.ledger_key != NULL
                                      ? nvdp__path_format("%s", gate->options.ledger_key)
                                      : nvdp__path_format("%s.key", path.text);
    gate->ledger.struct_size = sizeof gate->ledger;
    if (!gate->is_run) return NVDP_OK;
    if (gate->options.ledger == NULL)
        NVDP_TRY(nvdp__ledger_elsewhere(gate->ctx, gate->options.target));
    if (nvdp__ledger_expected(path.text, key.text))
        return nvdp__ledger_summarize(gate->ctx, path.text, key.text, gate->options.target,
                                      NVDP__LEDGER_DELTA, &gate->ledger);
    if (gate->options.ledger == NULL) return NVDP_OK;
    return nvdp__fail(gate->ctx, NVDP_ERR_IO, "%s: expected the ledger of the releases, found none",
                      path.text);
}

/* Writes the first failed check of a file. */
static void find_fault(const struct nvdp_verification *found, char fault[NVDP__REASON]) {
    for (size_t i = 0; i < found->checks && !found->holds && fault[0] == '\0'; i++)
        if (found->check[i].verdict == NVDP_VERDICT_NO)
            nvdp__snprintf(fault, NVDP__REASON, "nvdp verify fails: %s: %s", found->check[i].what,
                           found->check[i].found);
    if (!found->holds && fault[0] == '\0') nvdp__snprintf(fault, NVDP__REASON, "nvdp verify fails");
}

/* Fails if the run's ledger does not count the file: then another ledger counts it, or no ledger does. */
static nvdp_status check_counted(const struct gate *gate, const char *path) {
    struct nvdp_verification found = {.struct_size = sizeof found, .holds = true};
    char fault[NVDP__REASON] = "";
    if (shared_path(gate) == NULL || gate->unread[0] != '\0') return NVDP_OK;
    if (!gate->file.counted) return uncounted(gate);
    NVDP_TRY(
        nvdp_verify_ledger(gate->ctx, shared_path(gate), path, gate->options.ledger_key, &found));
    find_fault(&found, fault);
    if (fault[0] == '\0') return NVDP_OK;
    return nvdp__fail(gate->ctx, NVDP_ERR_INPUT,
                      "%s: %s; name the ledger that counts the file with {ledger}", path, fault);
}

static nvdp_status measure_ledger(const struct gate *gate, json_t **out) {
    struct nvdp_ledger_summary found = gate->ledger;
    const struct nvdp__path path = ledger_path(gate);
    if (found.releases == 0)
        return nvdp__fail(gate->ctx, NVDP_ERR_INPUT,
                          "%s: expected the ledger of the releases, found none; export first, or "
                          "name the ledger with {ledger}",
                          path.text);
    NVDP_TRY(check_counted(gate, path.text));
    NVDP_TRY(check_delta(gate, found.delta));
    /* The guesses about a person have the policy's baselines. */
    struct nvdp_persons *person = &found.person;
    if (person->persons > 0 && isfinite(person->mu) && gate->policy.baselines > 0) {
        person->guesses = gate->policy.baselines;
        for (size_t i = 0; i < person->guesses; i++)
            person->guess[i] = (struct nvdp_bounded_guess){
                gate->policy.baseline[i],
                nvdp_guess_bound(gate->policy.baseline[i], person->radius, 1, 0)};
    }
    NVDP_TRY(made(gate, nvdp__result_json(&nvdp__result_ledger, NULL, &found), out));
    if (found.budget_epsilon == 0) json_object_del(*out, "budget_epsilon"); /* 0 means no budget */
    if (found.person_budget == 0) json_object_del(*out, "person_budget");
    if (found.proven_epsilon == 0) json_object_del(*out, "proven_epsilon");
    if (found.proven_person_epsilon == 0) json_object_del(*out, "proven_person_epsilon");
    return NVDP_OK;
}

/* --- a shared file --- */

/* Makes the certificate of one row of the file, for the samples in the file, or for more samples if the policy requires
 * more.  A text can have samples in other rows and files, which only the ledger of the sender counts. */
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
    return make_stated(gate, epsilon, found->delta, found->radius * sqrt(times),
                       isfinite(word) ? nvdp_gdp_epsilon(word, delta) : INFINITY, out);
}

static nvdp_status measure_file(const struct gate *gate, const char *source, char *fault,
                                json_t **out) {
    const struct nvdp_verification *file = &gate->file;
    if (shared_path(gate) == NULL)
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

/* Returns the number of samples of a text that an attack reads together: the number in the attack's options, of the
 * file or of the gate, or one if the attack cannot read more. Returns SIZE_MAX if it attacks training, not samples. */
static size_t read_sample_count(const struct gate *gate, const struct nvdp__gate_check *check) {
    const struct nvdp_attack_info *attack = &check->attack;
    const json_t *own = json_object_get(check->options, "releases");
    const char *members = json_string_value(json_object_get(check->options, "members"));
    char text[NVDP__REASON];
    if (attack->target == NVDP_ATTACK_MODEL ||
        (members != NULL && strcmp(members, "training") == 0))
        return SIZE_MAX;
    if (own != NULL && nvdp__gate_option(own, sizeof text, text)) return strtoul(text, NULL, 10);
    if (!nvdp__attack_takes(attack->options, "releases")) return 1;
    return gate->options.shared != NULL && nvdp__attack_takes(attack->options, "shared")
               ? nvdp__max(gate->file.samples, (size_t)1)
               : gate->releases;
}

/* Makes the configuration of an attack. `samples` is from read_sample_count(). */
static nvdp_status attack_config(const struct gate *gate, const struct nvdp__gate_check *check,
                                 size_t samples, struct nvdp_config **out) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    const struct options *options = &gate->options;
    const struct nvdp_attack_info *attack = &check->attack;
    const struct {
        const char *name, *value;
    } texts[] = {{"split", options->split},
                 {"data", options->data},
                 {"public", options->known},
                 {"prior", options->prior},
                 {"shared", options->shared}};
    const char *key;
    json_t *value;
    NVDP_TRY(nvdp_config_create(gate->ctx, "attack", &config));
    NVDP_TRY(nvdp_config_set(config, "kind", attack->name));
    NVDP_TRY(nvdp_config_set(config, attack->target == NVDP_ATTACK_MODEL ? "model" : "run",
                             options->target));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (nvdp__attack_takes(attack->options, texts[i].name))
            NVDP_TRY(nvdp_config_set(config, texts[i].name, texts[i].value));
    if (nvdp__attack_takes(attack->options, "limit"))
        NVDP_TRY(set_number(config, "limit", (double)options->limit));
    if (nvdp__attack_takes(attack->options, "seed")) NVDP_TRY(set_seed(config, options->seed));
    if (nvdp__attack_takes(attack->options, "releases") && samples != SIZE_MAX)
        NVDP_TRY(set_number(config, "releases", (double)samples));
    json_object_foreach((json_t *)check->options, key, value) {
        char text[NVDP__REASON];
        nvdp__gate_option(value, sizeof text, text);
        NVDP_TRY(nvdp_config_set(config, key, text));
    }
    return NVDP__HAND_OVER(out, config);
}

static nvdp_status measure_attack(const struct gate *gate, const struct nvdp__gate_check *check,
                                  struct measured *to) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    nvdp__autoptr(nvdp_attack_free) struct nvdp_attack_result *result = NULL;
    nvdp__autofree char *verdict = NULL;
    const size_t samples = read_sample_count(gate, check);
    if (samples < gate->releases)
        return nvdp__fail(gate->ctx, NVDP_ERR_ARGUMENT,
                          "the attack reads %zu of the %zu samples of a text that count", samples,
                          gate->releases);
    NVDP_TRY(attack_config(gate, check, samples, &config));
    NVDP_TRY(nvdp_attack(gate->ctx, config, &result));
    NVDP_TRY(made(gate, nvdp__attack_pack(result), &to->result));
    NVDP_TRY(nvdp_attack_verdict(gate->ctx, result, &verdict));
    nvdp__snprintf(to->fault, sizeof to->fault, "%s", verdict);
    to->weak = json_is_true(json_object_get(to->result, "weak"));
    return NVDP_OK;
}

/* --- one check --- */

static nvdp_status measure_source(const struct gate *gate, const struct nvdp__gate_check *check,
                                  struct measured *to) {
    nvdp__autoptr(json_decref) json_t *file = NULL;
    const char *source = check->source;
    if (strcmp(source, "verification") == 0)
        return measure_file(gate, source, to->fault, &to->result);
    if (!gate->is_run && (strcmp(source, "attack") == 0 || strcmp(source, "privacy") == 0))
        return nvdp__fail(gate->ctx, NVDP_ERR_ARGUMENT,
                          "a shared file alone cannot show it: name the run, and the file with "
                          "{shared}");
    if (gate->uncounted[0] != '\0') /* the number of samples is unknown */
        return nvdp__fail(gate->ctx, NVDP_ERR_INPUT, "%s", gate->uncounted);
    if (strcmp(source, "attack") == 0) return measure_attack(gate, check, to);
    if (strcmp(source, "privacy") == 0) return measure_privacy(gate, &to->result);
    if (!gate->is_run) return measure_file(gate, source, to->fault, &to->result);
    if (strcmp(source, "ledger") == 0) return measure_ledger(gate, &to->result);
    /* The certificate of the run, or of the file given with {shared} if the file's certificate proves less. */
    NVDP_TRY(measure_certificate(gate, &to->result));
    if (gate->options.shared == NULL) return NVDP_OK;
    NVDP_TRY(measure_file(gate, "certificate", to->fault, &file));
    return take_larger(gate, file, &to->result);
}

/* Finds the result that a check needs, and measures it the first time.  A failure becomes the result's fault. */
static nvdp_status find_measured(struct gate *gate, const struct nvdp__gate_check *check,
                                 const struct measured **out) {
    const bool is_attack = strcmp(check->source, "attack") == 0;
    for (size_t i = 0; i < gate->count; i++) {
        const struct nvdp__gate_check *other = gate->measured[i].attack;
        *out = &gate->measured[i];
        if (strcmp(gate->measured[i].source, check->source) == 0 &&
            (!is_attack ||
             (strcmp(other->attack.name, check->attack.name) == 0 &&
              (other->options == check->options || json_equal(other->options, check->options)))))
            return NVDP_OK;
    }
    NVDP_TRY(
        NVDP__PUSH(gate->ctx, gate->measured, gate->count, gate->capacity,
                   (struct measured){.source = check->source, .attack = is_attack ? check : NULL}));
    struct measured *to = &gate->measured[gate->count - 1];
    *out = to;
    return keep_fault(gate, measure_source(gate, check, to), "not measured: ", to->fault);
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

/* Returns the number of texts that were measured or attacked; 0 for a proof, or an attack on something else. */
static size_t text_count(const struct measured *measured) {
    static const char *const keys[] = {"n", "texts", "members", "others"};
    const bool proof = strcmp(measured->source, "privacy") != 0 && measured->attack == NULL;
    size_t texts = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !proof; i++)
        texts += (size_t)json_integer_value(json_object_get(measured->result, keys[i]));
    return texts;
}

/* Applies a rule: writes the reason why a check fails, unless an earlier rule has written a reason. */
static __attribute__((format(printf, 3, 4))) void fail_if(struct nvdp_gate_check *out, bool fails,
                                                          const char *format, ...) {
    va_list args;
    if (!fails || out->reason[0] != '\0') return;
    va_start(args, format);
    nvdp__vsnprintf(out->reason, sizeof out->reason, format, args);
    va_end(args);
}

/* Applies the rules in their order.  `why` is the reason why there is no number, or "".  `largest` and `smallest` are
 * compared with the limits. */
static void apply_rules(const struct gate *gate, const struct nvdp__gate_check *check,
                        const struct measured *measured, const char *why, double largest,
                        double smallest, struct nvdp_gate_check *out) {
    /* The number of texts of the policy, or fewer if the check sets a limit. */
    const json_int_t own = json_integer_value(json_object_get(check->options, "limit"));
    const size_t needed =
        own > 0 ? nvdp__min((size_t)own, gate->policy.min_texts) : gate->policy.min_texts;
    const bool person = strcmp(check->source, "ledger") == 0 &&
                        (strncmp(check->path, "person.", 7) == 0 ||
                         strcmp(check->path, "receiver_person_epsilon") == 0);
    const bool beside = gate->is_run; /* the file is beside a run */
    fail_if(out, beside && gate->unread[0] != '\0', "not measured: %s", gate->unread);
    fail_if(out, beside && gate->fault[0] != '\0', "%s", gate->fault);
    fail_if(out, measured->fault[0] != '\0', "%s", measured->fault);
    /* Texts that no release assigns to a person. */
    fail_if(out, person && gate->ledger.unnamed_texts > 0,
            "%zu of the ledger's texts have no person: the sum of the person who wrote one lacks "
            "its samples",
            gate->ledger.unnamed_texts);
    fail_if(out, person && gate->is_run && gate->ledger.person.persons == 0, "%s",
            nvdp__with_options(gate->ctx,
                               "the ledger counts no persons, so the samples of one person are not "
                               "added up: export with {person} COLUMN, the column with the author "
                               "of each text, or use a policy without this check")
                .text);
    fail_if(out, out->texts > 0 && out->texts < needed,
            "expected at least %zu texts, as min_texts of the policy, found %zu", needed,
            out->texts);
    fail_if(out, why[0] != '\0', "%s", why);
    fail_if(out, !isfinite(out->found), "expected a finite number, found %g", out->found);
    fail_if(out, largest > check->at_most, "expected at most %.9g, found %.9g%s", check->at_most,
            largest, largest > out->found ? ", the upper end of the interval" : "");
    fail_if(out, smallest < check->at_least, "expected at least %.9g, found %.9g%s",
            check->at_least, smallest,
            smallest < out->found && !isnan(out->interval.low) ? ", the lower end of the interval"
                                                               : "");
    fail_if(out, measured->weak && !isnan(check->at_most),
            "the attacker is too weak for a conclusion: it finds nothing even without noise");
}

static nvdp_status run_check(struct gate *gate, const struct nvdp__gate_check *check,
                             struct nvdp_gate_check *out) {
    const struct measured *measured = NULL;
    const size_t before = gate->count;
    const double begun = nvdp__now();
    NVDP_TRY(find_measured(gate, check, &measured));
    nvdp__snprintf(out->name, sizeof out->name, "%s", check->name);
    out->at_most = check->at_most;
    out->at_least = check->at_least;
    out->seconds = gate->count > before ? nvdp__now() - begun : 0;
    out->texts = text_count(measured);
    const bool least = isnan(check->at_most);
    char why[NVDP__REASON] = "";
    const struct nvdp__gate_found found = find_number(gate, measured, check, least, why);
    out->found = found.value;
    out->interval = found.interval;
    const double largest = nvdp__gate_end(&found, false);
    double smallest = nvdp__gate_end(&found, true);
    /* If there are several numbers, the smallest is compared with at_least. */
    if (!least && !isnan(check->at_least) && why[0] == '\0') {
        char unused[NVDP__REASON];
        const struct nvdp__gate_found other = find_number(gate, measured, check, true, unused);
        smallest = nvdp__gate_end(&other, true);
    }
    apply_rules(gate, check, measured, why, largest, smallest, out);
    /* JSON and XML require UTF-8; a cut character or a file's name may violate this. */
    const bool is_text = nvdp__is_utf8(out->reason, strlen(out->reason));
    for (char *c = out->reason; *c != '\0' && !is_text; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    out->passed = out->reason[0] == '\0';
    return NVDP_OK;
}

/* --- nvdp_gate --- */

/* Finds the kind of the target, reads the policy, and refuses a limit below the policy's number of texts. */
static nvdp_status open_target(struct gate *gate) {
    const struct options *options = &gate->options;
    if (options->policy == NULL || options->target == NULL)
        return nvdp__fail(
            gate->ctx, NVDP_ERR_ARGUMENT,
            "expected a policy and a run or a shared file, found only one or neither");
    if (!nvdp__exists(options->target))
        return nvdp__fail(gate->ctx, NVDP_ERR_IO, "%s: expected a run or a shared file, found none",
                          options->target);
    gate->is_run = nvdp__is_directory(options->target) && nvdp__has(options->target, "run.json");
    if (!gate->is_run && (options->shared != NULL || options->ledger != NULL))
        return nvdp__fail(gate->ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected a run with {shared} or {ledger}, found a file",
                          options->target);
    NVDP_TRY(nvdp__policy_read(gate->ctx, options->policy, &gate->policy));
    const size_t limit = options->limit, min = gate->policy.min_texts;
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
    if (shared_path(gate) == NULL) return NVDP_OK;
    gate->file.struct_size = sizeof gate->file;
    NVDP_TRY(nvdp_verify(gate->ctx, shared_path(gate), NULL, &gate->file));
    find_fault(&gate->file, gate->fault);
    return NVDP_OK;
}

nvdp_status nvdp_gate(struct nvdp_context *ctx, const struct nvdp_config *config,
                      struct nvdp_gate_result *out) {
    nvdp__auto(release_gate) struct gate gate = {.ctx = ctx};
    nvdp__autoresult struct nvdp_gate_result result =
        NVDP__RESULT(struct nvdp_gate_result, nvdp__gate_kind);
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__config_open(ctx, config, &schema, &gate.options));
    NVDP_TRY(open_target(&gate));
    NVDP_TRY(keep_fault(&gate, verify_file(&gate), "", gate.unread));
    NVDP_TRY(keep_fault(&gate, read_ledger(&gate), "", gate.uncounted));
    gate.releases = nvdp__max((size_t)gate.policy.releases, (size_t)gate.ledger.samples);
    /* The ledger may not count the samples of the file. */
    gate.releases = nvdp__max(gate.releases, gate.file.samples);
    result.delta = gate.policy.delta;
    result.releases = gate.releases;
    result.summary = !gate.is_run && gate.file.summary;
    result.persons = !gate.is_run && gate.file.persons;
    if (gate.is_run) nvdp__snprintf(result.split, sizeof result.split, "%s", gate.options.split);
    NVDP_TRY(NVDP__NEW(ctx, result.check, gate.policy.checks));
    for (; result.checks < gate.policy.checks; result.checks++) {
        struct nvdp_gate_check *check = &result.check[result.checks];
        NVDP_TRY(nvdp__check_cancelled(ctx, "gate: cancelled"));
        NVDP_TRY(run_check(&gate, &gate.policy.check[result.checks], check));
        result.failed += !check->passed;
    }
    result.passed = result.failed == 0;
    NVDP__GIVE(out, &result);
    result.check = NULL; /* the caller owns it now */
    return NVDP_OK;
}
