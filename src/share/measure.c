/* Measures the privacy of a run, of a file of posteriors, or of privatized texts, for nvdp privacy.
 * nvdp_measure() at the end selects the kind of work. run.json is read once. */
#include "base/array.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "job/dp.h"
#include "options/result.h"
#include "options/schema.h"
#include "rdp/options.h"
#include "rdp/pairs.h"
#include "rdp/report.h"
#include "sanitize/sanitize.h"
#include "train/run.h"

#include <nvdp/linkage.h>
#include <nvdp/measured.h>
#include <nvdp/method.h>
#include <nvdp/share.h>
#include <stdlib.h>
#include <string.h>

/* Noise that users of a run add to texts or to tokens. */
enum noise { NO_NOISE, OF_TOKENS, OF_SEQUENCES };

struct measuring {
    struct nvdp_context *ctx;
    const struct nvdp_config *config;
    const char *run, *posteriors; /* NULL if not given */
    const char *pairs;            /* file for the divergences of all pairs; NULL if there is none */
    json_t *record;               /* run.json; NULL if the folder is no run */
    json_t *report;               /* the measures; NULL without measures, or for a certificate */
    enum noise noise;
    double *matrix; /* divergences of all pairs; NULL without `pairs` */
    struct nvdp_measured made;
};

#define AT(member) offsetof(struct nvdp_measured, member)
static const struct nvdp_result_kind measured_kind = {
    .name = "measured",
    .results = NVDP__OFFSETS(AT(training), AT(vectors), AT(tokens)),
    .memory = NVDP__OFFSETS(AT(certificate), AT(guarantee), AT(json), AT(unsaved))};
#undef AT

static void close_measuring(struct measuring *m) {
    nvdp_result_free(&m->made);
    json_decref(m->record);
    json_decref(m->report);
    free(m->matrix);
}

static const char *get(const struct measuring *m, const char *name) {
    return nvdp_config_get(m->config, name);
}

/* --- the options --- */

/* Reports a wrong use of options. */
static nvdp_status misuse(const struct measuring *m, nvdp_status status) {
    nvdp__set_blame(m->ctx, (struct nvdp__blame){.option = "run", .of_call = true});
    return status;
}

/* Returns true if options name a mechanism that privatizes texts. */
static bool has_mechanism(const struct measuring *m) {
    static const char *const names[] = {"sanitizer", "mechanism", "sanitized", NULL};
    return nvdp__config_given(m->config, names) != NULL;
}

/* Refuses an output that would overwrite an input or another output. */
static nvdp_status check_outputs(const struct measuring *m) {
    static const char *const names[] = {"posteriors",     "text",  "vectors",
                                        "posteriors-out", "pairs", "out"};
    enum { INPUTS = 3, FILES = sizeof names / sizeof *names };
    for (size_t made = INPUTS; made < FILES; made++) {
        NVDP_TRY(nvdp__check_parent_folder(m->ctx, get(m, names[made])));
        for (size_t kept = 0; kept < made; kept++)
            NVDP_TRY(
                nvdp__refuse_same(m->ctx, names[made], get(m, names[made]), get(m, names[kept])));
    }
    return NVDP_OK;
}

/* Refuses options of token mechanisms: they would have no effect on a run with a bottleneck or on posteriors. */
static nvdp_status check_given(const struct measuring *m) {
    static const char *const of_mechanisms[] = {"p",
                                                "oov",
                                                "sensitive",
                                                "sensitive-from",
                                                "sensitive-list",
                                                "sensitive-from-data",
                                                "vocabulary-from",
                                                "vectors",
                                                "model",
                                                "task",
                                                "text",
                                                "text-column",
                                                "text-pair-column",
                                                NULL};
    const char *name = nvdp__config_given(m->config, of_mechanisms);
    if (nvdp_config_is_set(m->config, "eta")) /* {epsilon} sets eta too */
        return misuse(
            m,
            nvdp__fail(
                m->ctx, NVDP_ERR_ARGUMENT,
                "options {eta} and {epsilon} set a mechanism that privatizes texts and need "
                "{sanitizer} or {sanitized}; for the curves of the exact loss use {at-epsilon}"));
    if (name != NULL)
        return nvdp__fail_option(m->ctx, NVDP_ERR_ARGUMENT, name,
                                 " sets a mechanism that privatizes texts and needs {sanitizer} or "
                                 "{sanitized}");
    if (nvdp_config_is_set(m->config, "at-epsilon") && !nvdp_config_is_set(m->config, "exact"))
        return nvdp__fail(m->ctx, NVDP_ERR_ARGUMENT,
                          "option {at-epsilon} needs {exact} or {certify}");
    return NVDP_OK;
}

/* --- the run --- */

/* Reads run.json, if the folder has it, and finds the noise that the run's users add. */
static nvdp_status read_record(struct measuring *m) {
    struct nvdp_text_mechanism_info info = NVDP_RESULT(struct nvdp_text_mechanism_info);
    if (m->run != NULL)
        (void)nvdp__json_read(NULL, nvdp__path(m->run, "run.json").text, &m->record);
    const json_t *config = json_object_get(m->record, "config");
    const char *name = json_string_value(json_object_get(config, "token_noise"));
    if (name == NULL || strcmp(name, "none") == 0) return NVDP_OK;
    (void)nvdp_text_mechanism_describe(NULL, name, &info);
    m->noise = info.on_sequence ? OF_SEQUENCES : OF_TOKENS;
    return NVDP_OK;
}

/* Reads the guarantee of the run's training texts. Sets *only if the run has no other guarantee, because the method's
 * samples cannot be measured. */
static nvdp_status take_training(struct measuring *m, bool *only) {
    enum nvdp_method method;
    const json_t *config = json_object_get(m->record, "config");
    const char *name = json_string_value(json_object_get(config, "method"));
    if (config == NULL) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(m->ctx, m->made.training, 1));
    m->made.training->struct_size = sizeof *m->made.training;
    NVDP_TRY(nvdp__training_privacy(m->ctx, m->run, m->record, m->made.training, NULL));
    if (!m->made.training->is_private) {
        free(m->made.training);
        m->made.training = NULL;
    }
    *only = m->made.training != NULL && nvdp_method_find(NULL, name, &method) == NVDP_OK &&
            !nvdp_method_is_private(method) && m->noise == NO_NOISE;
    return NVDP_OK;
}

/* Writes the first lines about a run. The lines stay NULL for a folder without the records of a finished run. */
static void write_guarantee(struct measuring *m) {
    struct nvdp_guarantee found = NVDP_RESULT(struct nvdp_guarantee);
    nvdp__autofree char *line = NULL, *guesses = NULL;
    if (nvdp__run_guarantee(m->ctx, m->run, m->record, &found) == NVDP_OK &&
        nvdp_guarantee_line(m->ctx, &found, &line) == NVDP_OK &&
        nvdp_guarantee_guesses(m->ctx, &found, &guesses) == NVDP_OK)
        m->made.guarantee =
            nvdp__format(m->ctx, "%s\n%s%s", line, guesses, guesses[0] != '\0' ? "\n" : "");
}

/* Writes DIRECTORY/privacy.json, certificate.json or measured.json. The name shows options that differ from the
 * defaults. A failure is a part of the result, so that no measurement is lost if the folder cannot be written. */
static nvdp_status save(struct measuring *m, const char *directory, const char *stem) {
    nvdp__autofree char *name = NULL;
    NVDP_TRY(nvdp_measured_name(m->ctx, m->config, stem, &name));
    if (nvdp__write_text(m->ctx, nvdp__path(directory, name).text, m->made.json) == NVDP_OK)
        return NVDP_OK;
    m->made.unsaved = nvdp__strdup(m->ctx, nvdp_context_error(m->ctx));
    return NVDP__MADE(m->made.unsaved);
}

/* Takes a report, which may be NULL, and adds the options of the measurement. */
static nvdp_status take_report(struct measuring *m, json_t *report) {
    m->report = report;
    if (report == NULL)
        return nvdp__fail(
            m->ctx, NVDP_ERR_NUMERIC,
            "privacy report: expected a method name in UTF-8, which JSON needs, found "
            "other bytes, or ran out of memory");
    nvdp__measured_label(m->config, report);
    return nvdp__json_text(m->ctx, json_incref(report), "privacy report", &m->made.json);
}

/* --- vectors: posteriors, or states with noise --- */

static nvdp_status finish_vectors(struct measuring *m, const int64_t *id) {
    const struct nvdp_privacy_report *report = m->made.vectors;
    NVDP_TRY(take_report(m, nvdp__privacy_report_pack(report)));
    if (m->pairs != NULL)
        NVDP_TRY(nvdp__pairs_write(m->ctx, m->pairs, report->pairs->texts, report->pairs->order,
                                   m->matrix, id));
    if (m->posteriors != NULL) return NVDP_OK;
    NVDP_TRY(save(m, m->run, "privacy"));
    write_guarantee(m);
    return NVDP_OK;
}

static nvdp_status measure_posteriors(struct measuring *m) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    struct nvdp_privacy_report *report = m->made.vectors;
    static const char *const of_runs[] = {"split", "data", "limit", "batch", NULL};
    const char *max_pairs = get(m, "max-pairs"), *split = get(m, "split"),
               *copy = get(m, "posteriors-out"),
               *one = m->posteriors != NULL ? nvdp__config_given(m->config, of_runs) : NULL;
    size_t cells;
    if (m->pairs != NULL && strcmp(max_pairs, "0") != 0)
        return misuse(m, nvdp__fail(m->ctx, NVDP_ERR_ARGUMENT,
                                    "expected at most one of {pairs} and {max-pairs}"));
    if ((m->run != NULL) == (m->posteriors != NULL))
        return misuse(m, nvdp__fail(m->ctx, NVDP_ERR_ARGUMENT,
                                    "expected exactly one of RUN and {posteriors} FILE"));
    if (one != NULL)
        return nvdp__fail_option(m->ctx, NVDP_ERR_ARGUMENT, one,
                                 " chooses texts of a run and does not apply to {posteriors}");
    NVDP_TRY(m->posteriors != NULL ? nvdp_posteriors_read(m->ctx, m->posteriors, &set)
                                   : nvdp__run_posteriors(m->ctx, m->config, m->record, &set));
    if (m->pairs != NULL &&
        (!nvdp__mul(set->texts, set->texts, &cells) || cells > SIZE_MAX / sizeof *m->matrix))
        return nvdp__fail(m->ctx, NVDP_ERR_MEMORY,
                          "option {pairs}: %zu texts have too many pairs to write", set->texts);
    if (m->pairs != NULL && NVDP__NEW(m->ctx, m->matrix, cells) != NVDP_OK)
        return nvdp__fail(m->ctx, NVDP_ERR_MEMORY, "out of memory for the pairs of %zu texts",
                          set->texts);
    if (copy != NULL) NVDP_TRY(nvdp_posteriors_write(m->ctx, copy, set));
    NVDP_TRY(nvdp_privacy_measure(m->ctx, set, m->config, m->matrix, report));
    NVDP_TRY(nvdp_linkage_measure(m->ctx, set, report->bdp.releases, NVDP_LINKAGE_TEXTS,
                                  strtoull(get(m, "seed"), NULL, 10), report->linkage));
    if (m->posteriors == NULL && split != NULL)
        nvdp__snprintf(report->argmax_rows.split, sizeof report->argmax_rows.split, "%s", split);
    return finish_vectors(m, set->id);
}

static nvdp_status measure_vectors(struct measuring *m) {
    const char *out = get(m, "out");
    NVDP_TRY(check_given(m));
    if (out != NULL) m->pairs = out;
    NVDP_TRY(NVDP__NEW(m->ctx, m->made.vectors, 1));
    m->made.vectors->struct_size = sizeof *m->made.vectors;
    if (m->noise != OF_SEQUENCES) return measure_posteriors(m);
    if (get(m, "posteriors-out") != NULL)
        return nvdp__fail(
            m->ctx, NVDP_ERR_ARGUMENT,
            "option {posteriors-out}: a run with token-noise sequence-laplace has no posteriors");
    NVDP_TRY(nvdp__run_sequence_privacy(m->ctx, m->config, m->record,
                                        m->pairs != NULL ? &m->matrix : NULL, m->made.vectors));
    return finish_vectors(m, NULL);
}

/* --- texts under a mechanism that privatizes token by token --- */

static nvdp_status measure_texts(struct measuring *m) {
    const char *sanitized = get(m, "sanitized"), *out = get(m, "out");
    if ((m->run != NULL && has_mechanism(m)) || m->posteriors != NULL ||
        get(m, "posteriors-out") != NULL)
        return nvdp__fail(m->ctx, NVDP_ERR_ARGUMENT,
                          "option {sanitizer} measures texts; leave out RUN, {posteriors} and "
                          "{posteriors-out}");
    double **wanted = m->pairs != NULL ? &m->matrix : NULL;
    NVDP_TRY(NVDP__NEW(m->ctx, m->made.tokens, 1));
    struct nvdp_dchi_report *report = m->made.tokens;
    report->struct_size = sizeof *report;
    NVDP_TRY(m->run != NULL ? nvdp__run_text_privacy(m->ctx, m->config, m->record, wanted, report)
                            : nvdp_text_privacy(m->ctx, m->config, wanted, report));
    NVDP_TRY(take_report(m, nvdp__dchi_report_pack(report)));
    if (m->pairs != NULL)
        NVDP_TRY(nvdp__pairs_write(m->ctx, m->pairs, report->pairs->pairs->texts,
                                   report->pairs->pairs->order, m->matrix, NULL));
    if (out != NULL) NVDP_TRY(nvdp__write_text(m->ctx, out, m->made.json));
    if (sanitized != NULL) return save(m, sanitized, "measured");
    return m->run != NULL ? save(m, m->run, "privacy") : NVDP_OK;
}

/* --- a certificate --- */

/* Certifies a run with a bottleneck, without measuring, and adds the sums of its ledger if the ledger names persons.
 * Refuses runs with token noise, whose proof does not concern a bottleneck. */
static nvdp_status certify(struct measuring *m) {
    nvdp__autoptr(nvdp_model_free) struct nvdp_model *model = NULL;
    struct nvdp_ledger_summary ledger = NVDP_RESULT(struct nvdp_ledger_summary);
    const struct nvdp__path path = nvdp__path(m->run, "ledger"),
                            key = nvdp__path(m->run, "ledger.key");
    if (m->noise != NO_NOISE)
        return nvdp__fail(m->ctx, NVDP_ERR_ARGUMENT,
                          "option {certify}: expected a run with a bottleneck, found one with "
                          "token-noise, whose users add noise to their own texts; nvdp privacy %s "
                          "shows what is proven and measured for it",
                          m->run);
    NVDP_TRY(NVDP__NEW(m->ctx, m->made.certificate, 1));
    m->made.certificate->struct_size = sizeof *m->made.certificate;
    NVDP_TRY(nvdp_model_load(m->ctx, nvdp__path(m->run, "model").text, &model));
    NVDP_TRY(nvdp_model_certificate(m->ctx, model, m->config, m->made.certificate));
    nvdp__autoptr(json_decref) json_t *object = nvdp__certificate_pack(m->made.certificate);
    NVDP_TRY(NVDP__MADE(object));
    nvdp__measured_label(m->config, object);
    if (nvdp__exists(key.text)) /* a missing ledger fails if its key exists */
        NVDP_TRY(nvdp_ledger_summarize(m->ctx, path.text, key.text, &ledger));
    const bool persons = ledger.person.persons > 0;
    if (persons)
        json_object_set_new(object, "ledger",
                            nvdp__result_json(&nvdp__result_ledger, NULL, &ledger));
    /* With persons, the certificate is one line. */
    m->made.json = json_dumps(object, JSON_REAL_PRECISION(17) | (persons ? 0 : JSON_INDENT(2)));
    NVDP_TRY(NVDP__MADE(m->made.json));
    return save(m, m->run, "certificate");
}

/* --- the kind of work --- */

static nvdp_status measure(struct measuring *m) {
    const char *certified = get(m, "certify");
    bool only = false;
    NVDP_TRY(read_record(m));
    if (m->run != NULL && certified != NULL && strcmp(certified, "true") == 0) return certify(m);
    NVDP_TRY(check_outputs(m));
    NVDP_TRY(take_training(m, &only));
    if (only) {
        write_guarantee(m);
        return NVDP_OK;
    }
    const bool texts = has_mechanism(m) || (m->noise == OF_TOKENS && m->posteriors == NULL);
    if (m->posteriors != NULL) m->noise = NO_NOISE;
    return texts ? measure_texts(m) : measure_vectors(m);
}

/* Adds the training's guarantee to the report that the caller gets, which then has 15 digits. The file of a report does
 * not have this guarantee. */
static nvdp_status add_training(struct measuring *m) {
    if (m->made.training == NULL) return NVDP_OK;
    if (m->report == NULL) m->report = json_object();
    json_object_set_new(m->report, "training", nvdp__training_pack(m->made.training));
    free(m->made.json);
    m->made.json = json_dumps(m->report, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    return NVDP__MADE(m->made.json);
}

nvdp_status nvdp_measure(struct nvdp_context *ctx, const char *run,
                         const struct nvdp_config *config, struct nvdp_measured *out) {
    nvdp__auto(close_measuring) struct measuring m = {
        .ctx = ctx,
        .config = config,
        .run = run,
        .posteriors = nvdp_config_get(config, "posteriors"),
        .pairs = nvdp_config_get(config, "pairs"),
        .made = NVDP__RESULT(struct nvdp_measured, measured_kind)};
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(measure(&m));
    NVDP_TRY(add_training(&m));
    nvdp_result_free(out);
    NVDP__GIVE(out, &m.made);
    m.made = (struct nvdp_measured)NVDP_RESULT(struct nvdp_measured);
    return NVDP_OK;
}
