/* Implements nvdp verify for one file (verify.h): checks and attributes, the mechanism and its certificate, the statement,
 * the signature. */
#include "share/verify.h"

#include "mechanism/method.h"
#include "rdp/options.h"
#include "share/sign.h"

#include "base/escape.h"
#include "base/sentence.h"
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <nvdp/linkage.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- checks --- */

void nvdp__verify_check(struct nvdp__verify *v, enum nvdp_verdict verdict, const char *what,
                        const char *found, ...) {
    struct nvdp_check *made = &v->found.check[v->found.checks];
    char text[2 * sizeof made->found];
    va_list args;
    if (verdict == NVDP_VERDICT_NO) v->found.holds = false;
    if (v->found.checks == NVDP_CHECKS) return;
    v->found.checks++;
    made->verdict = verdict;
    nvdp__snprintf(made->what, sizeof made->what, "%s", what);
    va_start(args, found);
    nvdp__vsnprintf(text, sizeof text, found, args);
    va_end(args);
    nvdp__show_into(made->found, sizeof made->found, text);
}

void nvdp__verify_weigh(struct nvdp__verify *v, double number) {
    v->number[v->found.checks - 1] = number;
}

struct nvdp_verification nvdp__nothing_found(void) {
    return (struct nvdp_verification){.struct_size = sizeof(struct nvdp_verification),
                                      .holds = true,
                                      .epsilon = INFINITY,
                                      .delta = NAN,
                                      .mu = NAN,
                                      .word_epsilon = INFINITY,
                                      .word_mu = INFINITY,
                                      .spent_epsilon = NAN};
}

enum nvdp_verdict nvdp__verdict(bool holds) {
    return holds ? NVDP_VERDICT_YES : NVDP_VERDICT_NO;
}

/* --- attributes: `fallback` if missing or of another type --- */

bool nvdp__verify_read(struct nvdp__verify *v, nvdp_status status) {
    if (status == NVDP_ERR_MEMORY) v->status = status;
    return status == NVDP_OK;
}

bool nvdp__verify_has(const struct nvdp__verify *v, const char *name) {
    return nvdp__attributes_get(&v->release.attributes, name) != NULL;
}

double nvdp__verify_real(struct nvdp__verify *v, const char *name, double fallback) {
    double value = fallback;
    return nvdp__verify_has(v, name) &&
                   nvdp__verify_read(v, nvdp__release_real(&v->release, name, &value))
               ? value
               : fallback;
}

int64_t nvdp__verify_whole(struct nvdp__verify *v, const char *name, int64_t fallback) {
    int64_t value = fallback;
    return nvdp__verify_has(v, name) &&
                   nvdp__verify_read(v, nvdp__release_whole(&v->release, name, &value))
               ? value
               : fallback;
}

bool nvdp__verify_text(struct nvdp__verify *v, const char *name, size_t size, char *out) {
    const char *text = NULL;
    out[0] = '\0';
    if (!nvdp__verify_has(v, name) ||
        !nvdp__verify_read(v, nvdp__release_text(&v->release, name, &text)))
        return false;
    nvdp__snprintf(out, size, "%s", text);
    return true;
}

bool nvdp__verify_text_is(struct nvdp__verify *v, const char *name, const char *word) {
    char text[NVDP__VERIFY_NAME];
    return nvdp__verify_text(v, name, sizeof text, text) && strcmp(text, word) == 0;
}

/* Compares two numbers that different builds computed: this one, and the writer's. */
static bool agree(double a, double b) {
    return a == b || fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

/* --- the mechanism --- */

/* Determines from the splits whether all, some or possibly none of the texts were training texts. */
static enum nvdp__training training_of(const struct nvdp__embeddings *held) {
    size_t train = 0;
    for (size_t i = 0; held->split != NULL && i < held->shape.texts; i++) {
        train += held->split[i] == NVDP_SPLIT_TRAIN;
    }
    return train == 0                   ? NVDP__TRAINING_MAYBE
           : train == held->shape.texts ? NVDP__TRAINING_ALL
                                        : NVDP__TRAINING_SOME;
}

/* Takes the mechanism's parameters. */
static void take_parameters(struct nvdp__verify *v, bool single) {
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    struct nvdp__nvib_config *nvib = &v->info.nvib;
    *nvib = nvdp__nvib_config_default();
    nvib->latent_dim = shape->dim;
    nvib->kappa = shape->kappa;
    nvib->length_policy = shape->policy;
    nvib->length = shape->length;
    nvib->query = NVDP__QUERY_SAMPLED; /* nvdp export refuses other models */
    nvib->weights = nvdp__verify_text_is(v, "weights", "constant") ? NVDP__WEIGHTS_CONSTANT
                                                                   : NVDP__WEIGHTS_LEARNED;
    nvib->prior_alpha = nvdp__verify_real(v, "prior_alpha", nvib->prior_alpha);
    nvib->delta = nvdp__verify_real(v, "nvib_delta", nvib->delta);
    nvib->vib.vtdp_pool = single ? NVDP__VTDP_POOL_FIRST : NVDP__VTDP_POOL_LAST;
    nvib->clip.mu_radius = nvdp__verify_real(v, "clip_mu_radius", INFINITY);
    nvib->clip.logvar_min = nvdp__verify_real(v, "clip_logvar_min", -INFINITY);
    nvib->clip.logvar_max = nvdp__verify_real(v, "clip_logvar_max", INFINITY);
    nvib->clip.sequence = nvdp__verify_real(v, "clip_sequence", INFINITY);
    nvib->clip.word = nvdp__verify_real(v, "clip_word", INFINITY);
    nvib->clip.window = (size_t)fmax((double)nvdp__verify_whole(v, "word_window", 0), 0);
    nvib->clip.alpha_min = nvdp__verify_real(v, "clip_alpha_min", 0);
    nvib->clip.alpha_max = nvdp__verify_real(v, "clip_alpha_max", INFINITY);
}

/* Takes the attributes of the mechanism.  Returns false if they are missing. */
static bool take_mechanism(struct nvdp__verify *v) {
    static const char *const needed[] = {"clip_mu_radius", "clip_logvar_min", "clip_logvar_max",
                                         "clip_sequence", "texts"};
    const struct nvdp__embeddings *held = v->held;
    const struct nvdp__embeddings_shape *shape = &held->shape;
    struct nvdp__nvib_config *nvib = &v->info.nvib;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!nvdp__verify_has(v, needed[i])) return false;
    }
    if (nvdp_method_find(NULL, held->method, &v->info.method) != NVDP_OK) return false;
    const struct nvdp__method *method = nvdp__method_row(v->info.method);
    const bool single = method->single != NULL && !nvdp__verify_has(v, "pool");
    take_parameters(v, single);
    nvdp__snprintf(v->task, sizeof v->task, "%s", held->task);
    v->info.task.name = v->task;
    v->info.task.pair = nvdp__verify_text_is(v, "text_unit", "pair");
    v->facts.info = &v->info;
    v->facts.form = nvdp__form_of(nvib, shape->weights, single);
    v->facts.limits = nvdp__method_limits(v->info.method, nvib);
    if (method->own_noise) { /* trained, or an option: no other attribute implies it */
        v->facts.limits.logvar_min = nvdp__verify_real(v, "noise_logvar_min", -INFINITY);
        v->facts.limits.logvar_max = nvdp__verify_real(v, "noise_logvar_max", INFINITY);
    }
    v->facts.texts = shape->texts;
    v->facts.samples = shape->samples;
    v->facts.labels = held->label != NULL;
    v->facts.query = held->query;
    v->facts.grids = nvdp__verify_is_whole(v) ? &v->grids : NULL;
    for (size_t k = 0; k < shape->texts * shape->samples; k++) {
        const size_t rows = (size_t)(held->offset[k + 1] - held->offset[k]);
        if (rows > v->facts.rows) v->facts.rows = rows;
    }
    v->facts.bound_order = nvdp__verify_real(v, "divergence_bound_order", 1.1);
    v->facts.training = training_of(held);
    v->facts.training_epsilon = nvdp__verify_real(v, "training_epsilon", NAN);
    v->facts.training_delta = nvdp__verify_real(v, "training_delta", NAN);
    v->facts.counted = nvdp__verify_has(v, "ledger") && !nvdp__verify_text_is(v, "ledger", "none");
    v->found.counted = v->facts.counted;
    v->found.samples = shape->samples;
    return true;
}

static void check_training(struct nvdp__verify *v) {
    static const char what[] = "the stated training texts agree with the splits";
    const char *expected = nvdp__training_names[v->facts.training];
    char *found = v->found.training_texts;
    if (!nvdp__verify_text(v, "training_texts", sizeof v->found.training_texts, found))
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, what,
                           "the file does not state the training texts");
    else
        nvdp__verify_check(v, nvdp__verdict(strcmp(found, expected) == 0), what,
                           "stated: %s; by the splits: %s", found, expected);
    const struct nvdp__attribute *stated =
        nvdp__attributes_get(&v->release.attributes, "training_texts");
    if (stated != NULL && !nvdp__attribute_fits(stated)) found[0] = '\0';
    char epsilon[NVDP__BOUND_TEXT], delta[NVDP__BOUND_TEXT];
    if (!isnan(v->facts.training_epsilon))
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, "the encoder was trained privately",
                           "its owner states epsilon %s at delta %s for one training example "
                           "(zero-out, " NVDP__EXACT_ARITHMETIC("the training's") ")",
                           nvdp__bound(epsilon, v->facts.training_epsilon),
                           nvdp__bound(delta, v->facts.training_delta));
}

/* Finds whether the file states that a ledger counts it.  The counts stay with the ledger's owner. */
static void check_count(struct nvdp__verify *v) {
    const bool there = nvdp__verify_has(v, "ledger");
    nvdp__verify_check(v, NVDP_VERDICT_OPEN, "the sender's ledger counts the file's samples",
                       v->facts.counted ? "stated; only the owner of the ledger can check it (%s)"
                       : there          ? "the file states that no ledger counts them"
                                        : "the file does not state whether a ledger counts them",
                       nvdp__as_option(v->ctx, "ledger").text);
}

/* Names the first attribute of an older version that was computed from the texts without noise. */
static void check_old(struct nvdp__verify *v) {
    for (size_t i = 0; i < v->release.attributes.count; i++) {
        const char *name = v->release.attributes.item[i].name;
        if (!nvdp__attribute_is_old(name)) continue;
        nvdp__verify_check(v, NVDP_VERDICT_OPEN,
                           "the file states nothing that was computed from its texts without noise",
                           "it states '%s', as older versions did; it is not read", name);
        return;
    }
}

static void check_pseudo_counts(struct nvdp__verify *v) {
    if (!v->facts.form.weights) return;
    if (nvdp__verify_has(v, "pad_alpha")) {
        const double stated = nvdp__verify_real(v, "pad_alpha", NAN);
        nvdp__verify_check(v, nvdp__verdict(agree(stated, v->facts.form.pad_alpha)),
                           "the padding's pseudo-count is the mechanism's",
                           "stated %.6g, computed %.6g", stated, v->facts.form.pad_alpha);
    }
    if (!nvdp__verify_is_whole(v)) return;
    const double stated = nvdp__verify_real(v, "weights_distance", NAN);
    const double made = nvdp__release_weights_distance(&v->facts);
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    nvdp__verify_check(v, nvdp__verdict(agree(stated, made)),
                       "the sampler of the weights is as close to a Dirichlet as stated",
                       "stated %s, computed %s", nvdp__bound(a, stated), nvdp__bound(b, made));
}

static void check_bound(struct nvdp__verify *v) {
    const bool clipped = nvdp__clips_sequence(&v->info.nvib.clip);
    const bool stated = nvdp__verify_has(v, "divergence_bound");
    if (!clipped && !stated) return;
    const double is = nvdp__verify_real(v, "divergence_bound", NAN);
    const double made = nvdp__public_bound(nvdp__release_bound(&v->facts));
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    const bool applies = clipped && v->facts.limits.rows > 0 && v->facts.limits.kappa == 1;
    nvdp__verify_check(v, nvdp__verdict(applies && agree(is, made)),
                       "the divergence bound follows from the clip",
                       "stated %s nats at order %g for one sample, computed %s", nvdp__bound(a, is),
                       v->facts.bound_order, nvdp__bound(b, made));
}

/* Checks what the file claims per word. */
static void check_word(struct nvdp__verify *v, const char *samples) {
    const struct nvdp_word_claim *made = &v->facts.certificate.word;
    const bool stated = nvdp__verify_has(v, "certificate_word_epsilon") ||
                        nvdp__verify_has(v, "certificate_word_mu") ||
                        nvdp__verify_has(v, "clip_word");
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    if (!stated && !made->holds) return;
    const double epsilon = nvdp__verify_real(v, "certificate_word_epsilon", NAN),
                 mu = nvdp__verify_real(v, "certificate_word_mu", NAN);
    nvdp__verify_check(
        v, nvdp__verdict(made->holds && agree(epsilon, made->epsilon) && agree(mu, made->mu)),
        "the stated epsilon per word follows from the certificate",
        "stated %s, mu %.6g; computed %s, mu %.6g, at delta %g, for %s", nvdp__bound(a, epsilon),
        mu, nvdp__bound(b, made->epsilon), made->mu, made->delta, samples);
}

/* Checks that the limits in the file prove the certificate that it claims. */
static nvdp_status check_certificate(struct nvdp__verify *v) {
    char letter[NVDP__VERIFY_NAME];
    if (!nvdp__verify_text(v, "certificate", sizeof letter, letter)) {
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, "a certificate", "the file states no certificate");
        return NVDP_OK;
    }
    nvdp_status status = nvdp__release_certify(v->ctx, &v->facts);
    if (status == NVDP_ERR_MEMORY) return status;
    if (status != NVDP_OK) {
        nvdp__verify_check(v, NVDP_VERDICT_NO,
                           "the stated properties of the mechanism are possible", "%s",
                           v->ctx != NULL ? nvdp_context_error(v->ctx) : "they are not");
        return NVDP_OK;
    }
    const struct nvdp_certificate *made = &v->facts.certificate;
    if (strcmp(letter, "none") == 0) {
        nvdp__verify_check(v, nvdp__verdict(!v->facts.certified),
                           "the stated guarantee over all texts is the provable one",
                           v->facts.certified ? "theorem (%s) holds, but the file states none"
                                              : "nothing is provable, and nothing is stated",
                           nvdp__theorem_letter(made->theorem));
        return NVDP_OK;
    }
    int theorem = 0;
    while (theorem < NVDP_THEOREMS &&
           strcmp(letter, nvdp__theorem_letter((enum nvdp_theorem)theorem)) != 0) {
        theorem++;
    }
    const struct nvdp_claim *claim = theorem < NVDP_THEOREMS ? &made->claim[theorem] : NULL;
    for (size_t i = 0; claim != NULL && i < claim->conditions; i++) {
        const struct nvdp_condition *condition = &claim->condition[i];
        nvdp__verify_check(v, nvdp__verdict(condition->holds), condition->what, "%s",
                           condition->found);
    }
    const bool right = v->facts.certified && (int)made->theorem == theorem;
    nvdp__verify_check(v, nvdp__verdict(right),
                       "the certificate names the theorem with the strongest bound",
                       "stated (%.40s), found (%s)", letter,
                       v->facts.certified ? nvdp__theorem_letter(made->theorem) : "none");
    if (!right) return NVDP_OK;
    char samples[64] = "one sample of a text", a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    if (v->facts.samples > 1)
        nvdp__snprintf(samples, sizeof samples, "all %zu samples of a text together",
                       v->facts.samples);
    const double epsilon = nvdp__verify_real(v, "certificate_epsilon", NAN),
                 delta = nvdp__verify_real(v, "certificate_delta", NAN),
                 mu = nvdp__verify_real(v, "certificate_mu", NAN);
    nvdp__verify_check(v, nvdp__verdict(agree(epsilon, made->epsilon) && agree(delta, made->delta)),
                       "the stated epsilon follows from the certificate",
                       "stated %s at delta %g, computed %s at delta %g, for %s",
                       nvdp__bound(a, epsilon), delta, nvdp__bound(b, made->epsilon), made->delta,
                       samples);
    if (!isnan(made->mu) || !isnan(mu))
        nvdp__verify_check(v, nvdp__verdict(agree(mu, made->mu)),
                           "the stated mu follows from the certificate",
                           "stated %s, computed %s, for %s", nvdp__bound(a, mu),
                           nvdp__bound(b, made->mu), samples);
    check_word(v, samples);
    v->found.certified = true;
    v->found.epsilon = made->epsilon;
    v->found.delta = made->delta;
    v->found.mu = made->mu;
    return NVDP_OK;
}

/* --- the statement --- */

static bool take(const char **at, const char *words) {
    const size_t length = strlen(words);
    if (strncmp(*at, words, length) != 0) return false;
    *at += length;
    return true;
}

static bool take_number(const char **at, double *value) {
    char *end = NULL;
    *value = nvdp__strtod(*at, &end);
    const bool taken = end > *at && isfinite(*value);
    *at = end;
    return taken && *value >= 0 && *value < 0x1p53;
}

static bool take_percent(const char **at, double *share) {
    if (take(at, "more than 99.9")) {
        *share = 0.9999;
        return true;
    }
    if (!take_number(at, share)) return false;
    *share /= 100;
    return true;
}

/* Returns whether the text is a sentence of nvdp_linkage_sentence(): its numbers give the same sentence again. */
static bool is_linkage_sentence(const char *text) {
    struct nvdp_linkage read = {.releases = 1};
    char again[NVDP_LINKAGE_SENTENCE];
    double texts = 0, of_texts = 0, releases = 1;
    const char *at = text;
    bool fits = take(&at, "Someone who has the model and these ") && take_number(&at, &texts) &&
                take(&at, " texts");
    if (fits && take(&at, ", drawn from ")) fits = take_number(&at, &of_texts) && take(&at, ",");
    fits = fits && take(&at, " names the right text for ") && take_percent(&at, &read.first) &&
           take(&at, " % of ");
    if (fits && take(&at, "the texts, given "))
        fits = take_number(&at, &releases) && releases <= INT_MAX && take(&at, " samples each");
    else
        fits = fits && take(&at, "the samples");
    fits = fits && take(&at, " (") && take_percent(&at, &read.confidence) &&
           take(&at, " % interval: ") && take_percent(&at, &read.first_interval.low) &&
           take(&at, " to ") && take_percent(&at, &read.first_interval.high) &&
           take(&at, " %; chance: ") && take_percent(&at, &read.first_chance);
    if (!fits) return false;
    read.texts = (size_t)texts;
    read.of_texts = (size_t)of_texts;
    read.releases = (int)releases;
    nvdp_linkage_sentence(&read, again);
    return strcmp(again, text) == 0;
}

/* Checks the line of published measurements.  The file has the numbers of its sentence about linkage nowhere else. */
static bool published_fits(struct nvdp__verify *v, const char *line) {
    struct nvdp_pairs_summary pairs = {
        .order = nvdp__verify_real(v, "divergence_order", NAN),
        .texts = (size_t)nvdp__verify_whole(v, "divergence_texts", 0),
        .sum = {.max = nvdp__verify_real(v, "divergence_sum_max", NAN),
                .mean = nvdp__verify_real(v, "divergence_sum_mean", NAN)}};
    struct nvdp_bdp_column best = {.worst.epsilon = nvdp__verify_real(v, "bdp_epsilon", NAN)};
    struct nvdp__release_facts facts = v->facts;
    facts.privacy = (struct nvdp_privacy_report){.pairs = &pairs, .best = &best};
    facts.delta = nvdp__verify_real(v, "bdp_delta", NAN);
    const size_t before = strlen(nvdp__measured_words);
    if (strncmp(line, nvdp__measured_words, before) != 0) return false;
    for (int few = 0; few < 2; few++) {
        char end[NVDP_STATEMENT_SIZE], sentence[NVDP_LINKAGE_SENTENCE];
        facts.privacy.small_population = few == 1;
        nvdp__statement_divergences(&facts, nvdp__verify_real(v, "divergence_infinite_share", NAN),
                                    sizeof end, end);
        if (!nvdp__ends_with(line + before, end)) continue;
        nvdp__snprintf(sentence, sizeof sentence, "S%.*s",
                       (int)(strlen(line + before) - strlen(end)), line + before);
        if (is_linkage_sentence(sentence)) return true;
    }
    return false;
}

/* Checks the line of what was measured. */
static bool measured_fits(struct nvdp__verify *v, const char *line) {
    if (nvdp__verify_has(v, "divergence_texts")) return published_fits(v, line);
    for (int i = 0; i < 2; i++) {
        char whole[NVDP_STATEMENT_SIZE];
        struct nvdp__release_facts facts = v->facts;
        facts.measured = i == 1;
        facts.publish = false;
        nvdp__statement_measured(&facts, sizeof whole, whole);
        if (strcmp(line, whole) == 0) return true;
    }
    return false;
}

/* Compares every byte with the statement that follows from the attributes. */
static bool statement_fits(struct nvdp__verify *v, const char *text) {
    char computed[NVDP_STATEMENT_SIZE];
    nvdp__statement_computed(&v->facts, sizeof computed, computed);
    const size_t size = strlen(computed);
    return strncmp(text, computed, size) == 0 && measured_fits(v, text + size);
}

/* Withdraws what was computed from a file whose statement is in unknown words: its attributes may mean something else. */
static void refuse_words(struct nvdp__verify *v, const char *what, double words) {
    const bool newer = words > NVDP__STATEMENT_WORDS;
    v->found.certified = v->found.useful = v->found.counted = v->facts.certified = false;
    v->found.epsilon = INFINITY;
    v->found.delta = v->found.mu = NAN;
    nvdp__snprintf(v->found.guarantee, sizeof v->found.guarantee,
                   "No guarantee: this version of the program does not know the wording of the "
                   "file's statement.");
    nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                       "wording %.17g is unknown: this version knows wording %d only; verify with "
                       "%s, or ask the sender for a new file",
                       words, NVDP__STATEMENT_WORDS,
                       newer ? "a newer version" : "the older version that wrote the file");
}

const char nvdp__statement_agrees[] = "the statement agrees with the attributes";

/* Gives out the statement only if every byte of it follows from the attributes. */
static void check_statement(struct nvdp__verify *v, bool known) {
    const char *what = nvdp__statement_agrees;
    char text[NVDP_STATEMENT_SIZE];
    const double words = nvdp__verify_real(v, "statement_words", 1);
    if (!nvdp__verify_text(v, "statement", sizeof text, text)) {
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, what, "the file has no statement");
        return;
    }
    if (words != NVDP__STATEMENT_WORDS) {
        refuse_words(v, what, words);
        return;
    }
    const bool fits = known && statement_fits(v, text);
    nvdp__verify_check(v, nvdp__verdict(fits), what,
                       known ? "compared word for word"
                             : "not compared, because the file does not describe the mechanism");
    if (fits) nvdp__snprintf(v->found.statement, sizeof v->found.statement, "%s", text);
}

/* --- the signature --- */

static nvdp_status check_signature(struct nvdp__verify *v, const unsigned char *wanted) {
    static const char what[] = "the file is signed and unchanged since";
    unsigned char key[NVDP__PUBLIC_KEY];
    const bool there = nvdp__verify_has(v, "signature") || nvdp__verify_has(v, "public_key");
    enum nvdp__signed covers = NVDP__SIGNED_NOTHING;
    if (!there) {
        nvdp__verify_check(v, wanted != NULL ? NVDP_VERDICT_NO : NVDP_VERDICT_OPEN, what,
                           "the file is not signed");
        return NVDP_OK;
    }
    nvdp_status status = nvdp__signature_check(&v->release, key, &covers);
    if (status != NVDP_OK && status != NVDP_ERR_INPUT) return status;
    const bool valid = covers != NVDP__SIGNED_NOTHING;
    const bool old = covers != v->release.format->covers && valid;
    const bool known = valid && wanted != NULL && sodium_memcmp(key, wanted, sizeof key) == 0;
    sodium_bin2hex(v->found.public_key, sizeof v->found.public_key, key, sizeof key);
    v->found.is_signed = valid;
    v->found.is_known = known;
    nvdp__verify_check(
        v, nvdp__verdict(valid),
        old ? "the file is signed, and its values and attributes are unchanged since" : what,
        "%s key %s%s", valid ? "by" : "not by", v->found.public_key,
        covers == NVDP__SIGNED_BYTES ? ", which covers every byte of the file"
        : valid && !old
            ? ", which covers every value and attribute, and these determine every byte of the file"
            : "");
    if (old)
        nvdp__verify_check(
            v, NVDP_VERDICT_OPEN, what,
            "the signature covers only values and attributes, as in older versions; the way they "
            "are stored may have changed");
    if (wanted == NULL)
        nvdp__verify_check(
            v, NVDP_VERDICT_OPEN, "the signature is the expected sender's",
            "anyone can sign with a key of their own; give the sender's public key (%s)",
            nvdp__as_option(v->ctx, "public-key").text);
    else
        nvdp__verify_check(v, nvdp__verdict(known), "the signature is the expected sender's",
                           known ? "signed by the given key" : "not signed by the given key");
    return NVDP_OK;
}

/* --- nvdp_verify --- */

/* Runs the checks that need whole datasets, and those of what follows from the mechanism. */
static nvdp_status check_all(struct nvdp__verify *v) {
    NVDP_TRY(nvdp__verify_content(v));
    const bool known = take_mechanism(v);
    if (known) {
        NVDP_TRY(nvdp__verify_rows(v));
        check_pseudo_counts(v);
        check_bound(v);
        NVDP_TRY(check_certificate(v));
        check_count(v);
        check_old(v);
        check_training(v);
        NVDP_TRY(nvdp__release_guarantee(v->ctx, &v->facts));
        v->found.useful = v->facts.useful;
        nvdp__snprintf(v->found.guarantee, sizeof v->found.guarantee, "%s", v->facts.guarantee);
    } else {
        nvdp__snprintf(v->found.guarantee, sizeof v->found.guarantee,
                       "No guarantee: the file does not state how its samples were drawn.");
        nvdp__verify_check(v,
                           nvdp__verify_has(v, "certificate") ? NVDP_VERDICT_NO : NVDP_VERDICT_OPEN,
                           "the mechanism is described",
                           "method '%.31s' is unknown, or its clips are missing", v->held->method);
    }
    check_statement(v, known);
    return NVDP_OK;
}

nvdp_status nvdp__verify_file(struct nvdp_context *ctx, const char *path,
                              const unsigned char *wanted, struct nvdp__verify *v) {
    nvdp_status status = NVDP_OK;
    *v = (struct nvdp__verify){.ctx = ctx, .found = nvdp__nothing_found()};
    NVDP_TRY_OR_CLEAN(nvdp__release_read(ctx, nvdp__formats, path, &v->release));
    NVDP_TRY_OR_CLEAN(nvdp__verify_names(v));
    status = nvdp__embeddings_take(&v->release, nvdp__verify_sum, v, &v->held);
    if (status == NVDP_ERR_INPUT)
        nvdp__verify_check(v, NVDP_VERDICT_NO,
                           "the datasets have the shapes, types and ranges of the format", "%s",
                           ctx != NULL ? nvdp_context_error(ctx) : "they do not");
    else
        NVDP_TRY_OR_CLEAN(status);
    if (v->held != NULL) NVDP_TRY_OR_CLEAN(check_all(v));
    NVDP_TRY_OR_CLEAN(check_signature(v, wanted));
    NVDP_TRY_OR_CLEAN(v->status);
    if (v->facts.certified && v->facts.certificate.word.holds) {
        v->found.word_mu = v->facts.certificate.word.mu;
        v->found.word_epsilon = nvdp_gdp_epsilon(v->found.word_mu, NVDP__LEDGER_DELTA);
    }
    v->texts = v->held != NULL ? v->held->shape.texts : 0;
cleanup:
    free(v->rows.key);
    v->rows.key = NULL;
    nvdp__embeddings_free(v->held);
    nvdp__release_close(&v->release);
    return status;
}

nvdp_status nvdp_verify(struct nvdp_context *ctx, const char *path, const char *public_key,
                        struct nvdp_verification *out) {
    nvdp_status status = NVDP_OK;
    unsigned char key[NVDP__PUBLIC_KEY];
    const unsigned char *wanted = public_key != NULL ? key : NULL;
    struct nvdp__shards shards = {0};
    struct nvdp__verify v = {.ctx = ctx, .found = nvdp__nothing_found()};
    NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    if (path == NULL)
        NVDP_TRY_OR_CLEAN(nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "path: expected a file, found none"));
    if (public_key != NULL) NVDP_TRY_OR_CLEAN(nvdp__public_key_read(ctx, public_key, key));
    if (nvdp__is_directory(path)) {
        NVDP_TRY_OR_CLEAN(nvdp__shards_open(ctx, path, &shards));
        NVDP_TRY_OR_CLEAN(nvdp__verify_folder(&v, &shards, wanted));
    } else {
        NVDP_TRY_OR_CLEAN(nvdp__verify_file(ctx, path, wanted, &v));
    }
    if (!v.found.holds && v.found.certified) {
        v.found.useful = false;
        nvdp__snprintf(v.found.guarantee, sizeof v.found.guarantee,
                       "No guarantee: a check of the file failed.");
    }
    NVDP__GIVE(out, &v.found);
cleanup:
    free(v.place);
    nvdp__shards_close(&shards);
    return status;
}
