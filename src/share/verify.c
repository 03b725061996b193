/* Implements nvdp verify for one file (verify.h): checks and attributes, the mechanism and its certificate, the
 * statement, the signature. nvdp__signature_check() is in sign.c. */
#include "share/verify.h"
#include "rdp/report.h"

#include "mechanism/mechanism.h"
#include "rdp/options.h"
#include "share/release.h"

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

nvdp_status nvdp__verify_check(struct nvdp__verify *v, enum nvdp_verdict verdict, const char *what,
                               const char *found, ...) {
    struct nvdp_check *made = &v->found.check[v->found.checks];
    char text[2 * sizeof made->found];
    va_list args;
    if (verdict == NVDP_VERDICT_NO) v->found.holds = false;
    if (v->found.checks == NVDP_CHECKS) return NVDP_OK;
    v->found.checks++;
    made->verdict = verdict;
    nvdp__snprintf(made->what, sizeof made->what, "%s", what);
    va_start(args, found);
    nvdp__vsnprintf(text, sizeof text, found, args);
    va_end(args);
    nvdp__show_into(made->found, sizeof made->found, text);
    return NVDP_OK;
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
                                      .radius = NAN,
                                      .word_epsilon = INFINITY,
                                      .word_mu = INFINITY,
                                      .spent_epsilon = NAN};
}

enum nvdp_verdict nvdp__verdict(bool holds) {
    return holds ? NVDP_VERDICT_YES : NVDP_VERDICT_NO;
}

/* --- attributes: `fallback` if an attribute is missing or has another type --- */

bool nvdp__verify_has(const struct nvdp__verify *v, const char *name) {
    return nvdp__attributes_get(&v->release.attributes, name) != NULL;
}

double nvdp__verify_real(const struct nvdp__verify *v, const char *name, double fallback) {
    const struct nvdp__attribute *found = nvdp__attributes_get(&v->release.attributes, name);
    return found != NULL &&
                   (found->type == NVDP__ATTRIBUTE_REAL || found->type == NVDP__ATTRIBUTE_WHOLE)
               ? found->real
               : fallback;
}

int64_t nvdp__verify_whole(const struct nvdp__verify *v, const char *name, int64_t fallback) {
    const struct nvdp__attribute *found = nvdp__attributes_get(&v->release.attributes, name);
    return found != NULL && found->type == NVDP__ATTRIBUTE_WHOLE ? found->whole : fallback;
}

bool nvdp__verify_text(const struct nvdp__verify *v, const char *name, size_t size, char *out) {
    const struct nvdp__attribute *found = nvdp__attributes_get(&v->release.attributes, name);
    const bool there = found != NULL && found->type == NVDP__ATTRIBUTE_TEXT;
    nvdp__snprintf(out, size, "%s", there ? found->text : "");
    return there;
}

bool nvdp__verify_text_is(const struct nvdp__verify *v, const char *name, const char *word) {
    return strcmp(nvdp__attributes_text(&v->release.attributes, name), word) == 0;
}

/* Compares two numbers that different builds may have computed: this build, and the build of the writer. */
static bool agree(double a, double b) {
    return a == b || fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

/* --- the mechanism --- */

/* Takes the attributes of the mechanism.  Returns false if they are missing. */
static bool take_mechanism(struct nvdp__verify *v) {
    static const char *const needed[] = {"clip_mu_radius", "clip_logvar_min", "clip_logvar_max",
                                         "clip_sequence", "texts"};
    const struct nvdp_shared *held = v->held;
    const struct nvdp__embeddings_shape *shape = &held->shape;
    struct nvdp__nvib_config *nvib = &v->info.nvib;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!nvdp__verify_has(v, needed[i])) return false;
    if (nvdp_method_find(NULL, held->method, &v->info.method) != NVDP_OK) return false;
    const struct nvdp__method *method = nvdp__method_row(v->info.method);
    const bool single = method->single != NULL && !nvdp__verify_has(v, "pool");
    *nvib = nvdp__nvib_config_default();
    nvib->latent_dim = shape->dim;
    nvib->kappa = shape->kappa;
    nvib->length_policy = shape->policy;
    nvib->length = shape->length;
    nvib->query = NVDP__QUERY_SAMPLED; /* nvdp export refuses other models */
    nvib->weights = nvdp__verify_text_is(v, "weights", "constant") ? NVDP__WEIGHTS_CONSTANT
                                                                   : NVDP__WEIGHTS_LEARNED;
    nvib->vib.vtdp_pool = single ? NVDP__VTDP_POOL_FIRST : NVDP__VTDP_POOL_LAST;
    nvib->clip = (struct nvdp__clip_config){.mu_radius = INFINITY,
                                            .logvar_min = -INFINITY,
                                            .logvar_max = INFINITY,
                                            .sequence = INFINITY,
                                            .word = INFINITY,
                                            .alpha_max = INFINITY,
                                            .gradient = nvib->clip.gradient};
    v->facts.bound_order = 1.1;
    v->facts.training_epsilon = v->facts.training_delta = NAN;
    v->facts.limits = (struct nvdp_limits){.logvar_min = -INFINITY, .logvar_max = INFINITY};
    nvdp__release_stated(&v->release.attributes, &v->info, &v->facts);
    const struct nvdp_limits noise = v->facts.limits;
    nvdp__snprintf(v->task, sizeof v->task, "%s", held->task);
    v->info.task.name = v->task;
    v->info.task.pair = nvdp__verify_text_is(v, "text_unit", "pair");
    size_t train = 0, longest = 0;
    for (size_t i = 0; held->split != NULL && i < shape->texts; i++)
        train += held->split[i] == NVDP_SPLIT_TRAIN;
    for (size_t k = 0; k < shape->texts * shape->samples; k++)
        longest = nvdp__max(longest, (size_t)(held->offset[k + 1] - held->offset[k]));
    v->facts = (struct nvdp__release_facts){
        .info = &v->info,
        .form =
            nvdp__make_form(nvib, (struct nvdp__form){.weights = shape->weights, .single = single}),
        .limits = nvdp__method_limits(v->info.method, nvib),
        .texts = shape->texts,
        .persons = nvdp__verify_text_is(v, "unit", "person"),
        .samples = shape->samples,
        .labels = held->label != NULL,
        .query = held->query,
        .insecure_seed = v->facts.insecure_seed, /* nvdp__verify_generator() */
        .grids = nvdp__is_whole(&v->held->shape) ? &v->grids : NULL,
        .rows = longest,
        .bound_order = v->facts.bound_order,
        .training = nvdp__determine_training(train, shape->texts),
        .training_epsilon = v->facts.training_epsilon,
        .training_delta = v->facts.training_delta,
        .counted = nvdp__verify_has(v, "ledger") && !nvdp__verify_text_is(v, "ledger", "none"),
    };
    if (method->own_noise) { /* the scale is trained, or an option: no other attribute implies it */
        v->facts.limits.logvar_min = noise.logvar_min;
        v->facts.limits.logvar_max = noise.logvar_max;
    }
    v->found.counted = v->facts.counted;
    v->found.samples = shape->samples;
    v->found.persons = v->facts.persons;
    return true;
}

void nvdp__verify_training(struct nvdp__verify *v) {
    static const char what[] = "the stated training texts agree with the splits";
    const char *expected = nvdp__training_names[v->facts.training];
    char *found = v->found.training_texts;
    const bool stated =
        nvdp__verify_text(v, "training_texts", sizeof v->found.training_texts, found);
    nvdp__verify_check(
        v, stated ? nvdp__verdict(strcmp(found, expected) == 0) : NVDP_VERDICT_OPEN, what,
        stated ? "stated: %s; by the splits: %s" : "the file does not state the training texts",
        found, expected);
    const struct nvdp__attribute *given =
        nvdp__attributes_get(&v->release.attributes, "training_texts");
    if (given != NULL && !nvdp__attribute_fits(given)) found[0] = '\0';
    if (!isnan(v->facts.training_epsilon))
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, "the encoder was trained privately",
                           "its owner states epsilon %s at delta %s for one training example "
                           "(zero-out, " NVDP__EXACT_ARITHMETIC("the training's") ")",
                           nvdp__bound(v->facts.training_epsilon).text,
                           nvdp__bound(v->facts.training_delta).text);
}

/* Reports the first attribute of an older version that was computed from the texts without noise. */
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

/* Checks that the mechanism of a file with samples of persons supports persons, and that the file has no columns that
 * belong to single texts. */
static void check_persons(struct nvdp__verify *v) {
    const struct nvdp_shared *held = v->held;
    if (!nvdp__verify_has(v, "unit")) return;
    const bool mean = v->facts.persons && nvdp__method_row(v->info.method)->untrained &&
                      v->facts.form.single,
               plain = held->id == NULL && held->label == NULL && held->split == NULL;
    nvdp__verify_check(v, nvdp__verdict(mean && plain),
                       "a sample of a person is the mean of embeddings, without columns of texts",
                       "method '%.31s'%s%s", held->method,
                       mean ? "" : ", whose samples are of texts",
                       plain ? "" : ", with row numbers, labels or splits of texts");
}

static void check_pseudo_counts(struct nvdp__verify *v) {
    if (!v->facts.form.weights) return;
    if (nvdp__verify_has(v, "pad_alpha")) {
        const double stated = nvdp__verify_real(v, "pad_alpha", NAN);
        nvdp__verify_check(v, nvdp__verdict(agree(stated, v->facts.form.pad_alpha)),
                           "the padding's pseudo-count is the mechanism's",
                           "stated %.6g, computed %.6g", stated, v->facts.form.pad_alpha);
    }
    if (!nvdp__is_whole(&v->held->shape)) return;
    const double stated = nvdp__verify_real(v, "weights_distance", NAN);
    const double made = nvdp__release_weights_distance(&v->facts);
    nvdp__verify_check(v, nvdp__verdict(agree(stated, made)),
                       "the sampler of the weights is as close to a Dirichlet as stated",
                       "stated %s, computed %s", nvdp__bound(stated).text, nvdp__bound(made).text);
}

static void check_bound(struct nvdp__verify *v) {
    const bool clipped = nvdp__clips_sequence(&v->info.nvib.clip);
    const bool stated = nvdp__verify_has(v, "divergence_bound");
    if (!clipped && !stated) return;
    const double is = nvdp__verify_real(v, "divergence_bound", NAN);
    const double made = nvdp__public_bound(nvdp__release_bound(&v->facts));
    const bool applies = clipped && v->facts.limits.rows > 0 && v->facts.limits.kappa == 1;
    nvdp__verify_check(v, nvdp__verdict(applies && agree(is, made)),
                       "the divergence bound follows from the clip",
                       "stated %s nats at order %g for one sample, computed %s",
                       nvdp__bound(is).text, v->facts.bound_order, nvdp__bound(made).text);
}

/* Checks what the file claims per word. */
static void check_word(struct nvdp__verify *v, const char *samples) {
    const struct nvdp_word_claim *made = &v->facts.certificate.word;
    const bool stated = nvdp__verify_has(v, "certificate_word_epsilon") ||
                        nvdp__verify_has(v, "certificate_word_mu") ||
                        nvdp__verify_has(v, "clip_word");
    if (!stated && !made->holds) return;
    const double epsilon = nvdp__verify_real(v, "certificate_word_epsilon", NAN),
                 mu = nvdp__verify_real(v, "certificate_word_mu", NAN);
    nvdp__verify_check(
        v, nvdp__verdict(made->holds && agree(epsilon, made->epsilon) && agree(mu, made->mu)),
        "the stated epsilon per word follows from the certificate",
        "stated %s, mu %.6g; computed %s, mu %.6g, at delta %g, for %s", nvdp__bound(epsilon).text,
        mu, nvdp__bound(made->epsilon).text, made->mu, made->delta, samples);
}

/* Checks that the limits in the file prove the certificate that it claims. */
static nvdp_status check_certificate(struct nvdp__verify *v) {
    char letter[NVDP__VERIFY_NAME];
    if (!nvdp__verify_text(v, "certificate", sizeof letter, letter))
        return nvdp__verify_check(v, NVDP_VERDICT_OPEN, "a certificate",
                                  "the file states no certificate");
    nvdp_status status = nvdp__release_certify(v->ctx, &v->facts);
    if (status == NVDP_ERR_MEMORY) return status;
    if (status != NVDP_OK)
        return nvdp__verify_check(v, NVDP_VERDICT_NO,
                                  "the stated properties of the mechanism are possible", "%s",
                                  v->ctx != NULL ? nvdp_context_error(v->ctx) : "they are not");
    const struct nvdp_certificate *made = &v->facts.certificate;
    if (strcmp(letter, "none") == 0)
        return nvdp__verify_check(v, nvdp__verdict(!v->facts.certified),
                                  "the stated guarantee over all texts is the provable one",
                                  v->facts.certified
                                      ? "theorem (%s) holds, but the file states none"
                                      : "nothing is provable, and nothing is stated",
                                  nvdp__theorem_letter(made->theorem));
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
    char samples[64];
    nvdp__snprintf(samples, sizeof samples, "one sample of a %s", nvdp__release_unit(&v->facts));
    if (v->facts.samples > 1)
        nvdp__snprintf(samples, sizeof samples, "all %zu samples of a %s together",
                       v->facts.samples, nvdp__release_unit(&v->facts));
    const double epsilon = nvdp__verify_real(v, "certificate_epsilon", NAN),
                 delta = nvdp__verify_real(v, "certificate_delta", NAN),
                 mu = nvdp__verify_real(v, "certificate_mu", NAN);
    nvdp__verify_check(v, nvdp__verdict(agree(epsilon, made->epsilon) && agree(delta, made->delta)),
                       "the stated epsilon follows from the certificate",
                       "stated %s at delta %g, computed %s at delta %g, for %s",
                       nvdp__bound(epsilon).text, delta, nvdp__bound(made->epsilon).text,
                       made->delta, samples);
    if (!isnan(made->mu) || !isnan(mu))
        nvdp__verify_check(v, nvdp__verdict(agree(mu, made->mu)),
                           "the stated mu follows from the certificate",
                           "stated %s, computed %s, for %s", nvdp__bound(mu).text,
                           nvdp__bound(made->mu).text, samples);
    check_word(v, samples);
    v->found.certified = true;
    v->found.epsilon = made->epsilon;
    v->found.delta = made->delta;
    v->found.mu = made->mu;
    v->found.radius = made->mu / 2;
    return NVDP_OK;
}

/* --- the statement --- */

/* Returns whether the text is a sentence of nvdp__linkage_sentence(): the numbers in the text must give the same
 * sentence. */
static bool is_linkage_sentence(const char *text) {
    enum { NUMBERS = 8 }; /* texts, [of texts,] share, [samples,] confidence, low, high, chance */
    static const char digits[] = "0123456789", above[] = "more than ";
    const bool drawn = strstr(text, ", drawn from ") != NULL,
               given = strstr(text, ", given ") != NULL;
    double number[NUMBERS] = {0};
    char *end;
    size_t count = 0;
    for (const char *at = text + strcspn(text, digits); *at != '\0' && count < NUMBERS;
         at = end + strcspn(end, digits)) {
        const size_t before = nvdp__min((size_t)(at - text), sizeof above - 1);
        number[count] = nvdp__strtod(at, &end);
        if (strncmp(at - before, above, sizeof above - 1) == 0) number[count] = 99.99;
        if (!(number[count++] < 0x1p53)) return false;
    }
    const double *share = number + 1 + drawn, *interval = share + 1 + given;
    const struct nvdp_linkage read = {
        .texts = (size_t)number[0],
        .of_texts = drawn ? (size_t)number[1] : 0,
        .releases = given ? (int)fmin(share[1], INT_MAX) : 1,
        .first = share[0] / 100,
        .confidence = interval[0] / 100,
        .first_interval = {.low = interval[1] / 100, .high = interval[2] / 100},
        .first_chance = interval[3] / 100};
    return strcmp(nvdp__linkage_sentence(&read).text, text) == 0;
}

/* Checks the line of published measurements.  The numbers of the sentence about linkage are nowhere else in the file.
 * */
static bool published_fits(struct nvdp__verify *v, const char *line) {
    struct nvdp_pairs_summary pairs = {.order = NAN, .sum = {.max = NAN, .mean = NAN}};
    struct nvdp_bdp_column best = {.worst.epsilon = NAN};
    struct nvdp__model_info info = v->info;
    struct nvdp__release_facts facts = v->facts;
    facts.privacy = (struct nvdp_privacy_report){.pairs = &pairs, .bdp.best = &best};
    facts.delta = NAN;
    nvdp__release_stated(&v->release.attributes, &info, &facts);
    const size_t before = strlen(nvdp__measured_words);
    if (strncmp(line, nvdp__measured_words, before) != 0) return false;
    for (int few = 0; few < 2; few++) {
        char end[NVDP_STATEMENT_SIZE], sentence[NVDP_LINKAGE_SENTENCE];
        facts.privacy.bdp.small_population = few == 1;
        nvdp__statement_divergences(&facts, nvdp__verify_real(v, "divergence_infinite_share", NAN),
                                    sizeof end, end);
        if (!nvdp__ends_with(line + before, end)) continue;
        nvdp__snprintf(sentence, sizeof sentence, "S%.*s",
                       (int)(strlen(line + before) - strlen(end)), line + before);
        if (is_linkage_sentence(sentence)) return true;
    }
    return false;
}

/* Checks the line of measurements. */
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

const char nvdp__statement_agrees[] = "the statement agrees with the attributes";

/* Returns the statement to the caller only if every byte of it follows from the attributes. */
static void check_statement(struct nvdp__verify *v, bool known) {
    const char *what = nvdp__statement_agrees;
    char text[NVDP_STATEMENT_SIZE], computed[NVDP_STATEMENT_SIZE] = "";
    const double words = nvdp__verify_real(v, "statement_words", 1);
    if (!nvdp__verify_text(v, "statement", sizeof text, text)) {
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, what, "the file has no statement");
        return;
    }
    if (words !=
        /* Discards the computed results, because attributes may have another meaning. */
        NVDP__STATEMENT_WORDS) {
        v->found.certified = v->found.useful = v->found.counted = v->facts.certified = false;
        v->found.epsilon = INFINITY;
        v->found.delta = v->found.mu = v->found.radius = NAN;
        nvdp__snprintf(v->found.guarantee, sizeof v->found.guarantee,
                       "No guarantee: this version of the program does not know the wording of the "
                       "file's statement.");
        nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                           "wording %.17g is unknown: this version knows wording %d only; verify "
                           "with %s, or ask the sender for a new file",
                           words, NVDP__STATEMENT_WORDS,
                           words > NVDP__STATEMENT_WORDS ? "a newer version"
                                                         : "the older version that wrote the file");
        return;
    }
    if (known) nvdp__statement_computed(&v->facts, sizeof computed, computed);
    const size_t size = strlen(computed);
    const bool fits = known && strncmp(text, computed, size) == 0 && measured_fits(v, text + size);
    nvdp__verify_check(v, nvdp__verdict(fits), what,
                       known ? "compared word for word"
                             : "not compared, because the file does not describe the mechanism");
    if (fits) nvdp__snprintf(v->found.statement, sizeof v->found.statement, "%s", text);
}

void nvdp__verify_statement(struct nvdp__verify *v) {
    check_statement(v, true);
}

/* --- the signature --- */

static nvdp_status check_signature(struct nvdp__verify *v, const unsigned char *wanted) {
    static const char what[] = "the file is signed and unchanged since";
    unsigned char key[NVDP__PUBLIC_KEY];
    const bool there = nvdp__verify_has(v, "signature") || nvdp__verify_has(v, "public_key");
    enum nvdp__signed covers = NVDP__SIGNED_NOTHING;
    if (!there)
        return nvdp__verify_check(v, wanted != NULL ? NVDP_VERDICT_NO : NVDP_VERDICT_OPEN, what,
                                  "the file is not signed");
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
        return nvdp__verify_check(
            v, NVDP_VERDICT_OPEN, "the signature is the expected sender's",
            "anyone can sign with a key of their own; give the sender's public key (%s)",
            nvdp__as_option(v->ctx, "public-key").text);
    return nvdp__verify_check(v, nvdp__verdict(known), "the signature is the expected sender's",
                              known ? "signed by the given key" : "not signed by the given key");
}

/* --- nvdp_verify --- */

/* Runs the checks that need whole datasets, and the checks of numbers that follow from the mechanism. */
static nvdp_status check_all(struct nvdp__verify *v) {
    NVDP_TRY(nvdp__verify_content(v));
    const bool known = take_mechanism(v);
    if (known) {
        NVDP_TRY(nvdp__verify_rows(v));
        check_persons(v);
        check_pseudo_counts(v);
        check_bound(v);
        NVDP_TRY(check_certificate(v));
        /* The file states only whether a ledger counts it; the counts stay with the ledger's owner. */
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, "the sender's ledger counts the file's samples",
                           v->facts.counted
                               ? "stated; only the owner of the ledger can check it (%s)"
                           : nvdp__verify_has(v, "ledger")
                               ? "the file states that no ledger counts them"
                               : "the file does not state whether a ledger counts them",
                           nvdp__as_option(v->ctx, "ledger").text);
        check_old(v);
        nvdp__verify_training(v);
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

void nvdp__verify_release(struct nvdp__verify *v) {
    free(v->rows.key);
    free(v->place);
    nvdp_shared_free(v->held);
    nvdp__release_close(&v->release);
}

nvdp_status nvdp__verify_file(struct nvdp_context *ctx, const char *path,
                              const unsigned char *wanted, struct nvdp__verify *v) {
    *v = (struct nvdp__verify){.ctx = ctx, .found = nvdp__nothing_found()};
    NVDP_TRY(nvdp__release_read(ctx, nvdp__formats, path, &v->release));
    NVDP_TRY(nvdp__verify_names(v));
    const bool summary = v->release.shape.summary;
    const nvdp_status status =
        nvdp__embeddings_take(&v->release, summary ? NULL : nvdp__verify_sum, v, &v->held);
    if (status == NVDP_ERR_INPUT)
        nvdp__verify_check(v, NVDP_VERDICT_NO,
                           "the datasets have the shapes, types and ranges of the format", "%s",
                           ctx != NULL ? nvdp_context_error(ctx) : "they do not");
    else
        NVDP_TRY(status);
    if (v->held != NULL) NVDP_TRY(summary ? nvdp__verify_summary(v) : check_all(v));
    NVDP_TRY(check_signature(v, wanted));
    NVDP_TRY(v->status);
    if (v->facts.certified && v->facts.certificate.word.holds) {
        v->found.word_mu = v->facts.certificate.word.mu;
        v->found.word_epsilon = nvdp_gdp_epsilon(v->found.word_mu, NVDP__LEDGER_DELTA);
    }
    v->texts = v->held != NULL ? v->held->shape.texts : 0;
    return NVDP_OK;
}

nvdp_status nvdp_verify(struct nvdp_context *ctx, const char *path, const char *public_key,
                        struct nvdp_verification *out) {
    unsigned char key[NVDP__PUBLIC_KEY];
    const unsigned char *wanted = public_key != NULL ? key : NULL;
    nvdp__auto(nvdp__shards_close) struct nvdp__shards shards = {0};
    nvdp__auto(nvdp__verify_release) struct nvdp__verify v = {.ctx = ctx,
                                                              .found = nvdp__nothing_found()};
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (path == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "path: expected a file, found none");
    if (public_key != NULL) NVDP_TRY(nvdp__public_key_read(ctx, public_key, key));
    if (nvdp__is_directory(path)) {
        NVDP_TRY(nvdp__shards_open(ctx, path, &shards));
        NVDP_TRY(nvdp__verify_folder(&v, &shards, wanted));
    } else {
        NVDP_TRY(nvdp__verify_file(ctx, path, wanted, &v));
    }
    if (!v.found.holds && v.found.certified) {
        v.found.useful = false;
        nvdp__snprintf(v.found.guarantee, sizeof v.found.guarantee,
                       "No guarantee: a check of the file failed.");
    }
    return NVDP__GIVE(out, &v.found);
}
