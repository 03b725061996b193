/* The options of attacks, one row per option (options/schema.h): on models, on shared data, of learning attackers. 
 * Then runs any attack by its row in the table of attacks, for nvdp attack: the run, the result as JSON, text and
 * verdict. Read attack.h first. */
#include "attack/attack.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "mechanism/mechanism.h"
#include "options/rows.h"
#include "train/run.h"
#include <math.h>
#include <nvdp/evaluate.h>
#include <stdlib.h>
#include <string.h>

/* Rows that several attacks share. Each attack has a struct with these members. */
#define RELEASES_ROW(group_)                                                                       \
    {                                                                                              \
        "releases", NVDP_OPTION_INTEGER, "N",                                                      \
            "samples of each text that the attacker has and knows to come from the same text",     \
            "1", AT(releases), .unit = "samples", .min = 1, .max = 1 << 20, .group = (group_)      \
    }
#define BOUND_ROWS                                                                                 \
    {"delta",                                                                                      \
     NVDP_OPTION_REAL,                                                                             \
     "D",                                                                                          \
     "delta at which the lower bound on epsilon holds; 0: 0.01 for kind pair, otherwise the "      \
     "delta "                                                                                      \
     "of the model's training, or 1e-5 without private training",                                  \
     "0",                                                                                          \
     AT(delta),                                                                                    \
     .max = 0.999,                                                                                 \
     .group = "Kinds exposure, pair, membership:"},                                                \
    {                                                                                              \
        "confidence", NVDP_OPTION_REAL, "X", "confidence at which all lower bounds hold together", \
            "0.95", AT(confidence), .min = 0.5, .max = 0.999999, .group = "Kinds exposure, pair:"  \
    }

#define AT(member) NVDP_OPTION_AT(struct nvdp__exposure_options, member)

static const struct nvdp_option exposure_options[] = {
    {"model", NVDP_OPTION_TEXT, "DIR", "model to attack", NULL, AT(model),
     .traits = NVDP_TRAIT_POSITIONAL},
    NVDP__SEED_ROW(AT(seed)),
    {"secrets", NVDP_OPTION_TEXT, "FILE",
     "list of what was planted: planted.json of nvdp pretrain --plant; default: the file beside "
     "the model",
     NULL, AT(secrets), .group = "Kind exposure:"},
    {"candidates", NVDP_OPTION_INTEGER, "N",
     "rank each secret among itself and N - 1 randomly drawn words; 0: among all whole words", "0",
     AT(candidates), .unit = "pieces", .max = 1 << 24},
    {"reference", NVDP_OPTION_TEXT, "DIR",
     "for canaries: the score is how much likelier they are under the attacked model than under "
     "the model in DIR, such as the model from which training began",
     NULL, AT(reference)},
    {"guess-in", NVDP_OPTION_INTEGER, "N",
     "number of canaries with the largest scores that are guessed to have been planted; if "
     "guess-out is 0 too, six numbers are tried, and the bound holds for all of them",
     "0", AT(guess_in), .unit = "canaries", .max = 1 << 24},
    {"guess-out", NVDP_OPTION_INTEGER, "N",
     "number of canaries with the smallest scores that are guessed not to have been planted", "0",
     AT(guess_out), .unit = "canaries", .max = 1 << 24},
    BOUND_ROWS,
    {0},
};

static nvdp_status check_exposure(struct nvdp_context *ctx, const void *values) {
    const struct nvdp__exposure_options *o = values;
    if (o->model == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{model}: expected the directory of a model, found none");
    if (o->candidates != 1) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{candidates}: expected 0 or at least 2, found 1");
}

static const struct nvdp__section exposure_section = {.row = exposure_options};
const struct nvdp__schema nvdp__exposure_schema = {.kind = "exposure",
                                                   .size = sizeof(struct nvdp__exposure_options),
                                                   .section = &exposure_section,
                                                   .sections = 1,
                                                   .check = check_exposure};

/* ---- attacks on shared data of a run ---- */

#undef AT
#define AT(member) NVDP_OPTION_AT(struct nvdp__attack_options, member)

static const struct nvdp_option shared_options[] = {
    RELEASES_ROW("Kinds pair, reidentify:"),
    NVDP__SEED_ROW(AT(seed)),
    {"pair", NVDP_OPTION_TEXT, "I,J",
     "two texts, given by their numbers from 0; default: draw pairs", NULL, AT(pair),
     .group = "Kind pair:"},
    {"pairs", NVDP_OPTION_INTEGER, "N", "number of pairs to draw", "10", AT(pairs), .unit = "pairs",
     .min = 1, .max = 1 << 20},
    {"samples", NVDP_OPTION_INTEGER, "N",
     "samples of each of the two texts; half of them choose the test, the other half measure it; "
     "kind summary: draws of the noise",
     "10000", AT(samples), .unit = "samples", .min = 100, .max = 1e9,
     .group = "Kinds pair, summary:"},
    BOUND_ROWS,
    {"texts", NVDP_OPTION_INTEGER, "N",
     "number of texts, drawn at random, among which the attacker guesses; 0: all texts", "1000",
     AT(texts), .unit = "texts", .max = 1e9, .group = "Kinds reidentify, summary:"},
    {"label-column", NVDP_OPTION_TEXT, "NAME",
     "header of the column with the label of a text; default: label", NULL, AT(label),
     .group = "Kind summary:"},
    {"text-pair-column", NVDP_OPTION_TEXT, "NAME",
     "header of the column with the second text of a pair", NULL, AT(second)},
    {"person", NVDP_OPTION_TEXT, "COLUMN", "column of the persons, if they are the units", NULL,
     AT(person)},
    {0},
};
static const struct nvdp__section shared_section = {.row = shared_options};
const struct nvdp__schema nvdp__attack_schema = {.kind = "attack",
                                                 .size = sizeof(struct nvdp__attack_options),
                                                 .section = &shared_section,
                                                 .sections = 1};

/* ---- attackers that learn from public texts ---- */

#undef AT
#define AT(member) NVDP_OPTION_AT(struct nvdp__text_attack_options, member)

const char *const nvdp__member_source_names[] = {
    [NVDP__MEMBERS_SHARED] = "shared", [NVDP__MEMBERS_TRAINING] = "training", NULL};

static const struct nvdp_option text_options[] = {
    NVDP__SEED_ROW(AT(seed)),
    {"public", NVDP_OPTION_TEXT, "FILE",
     "texts that the attacker has, one per line or a table with the task's columns (.tsv, .csv, "
     ".json); -: standard input; they must not be the attacked texts; --input is the same",
     NULL, AT(known),
     .group = "Kinds nearest, token, language, informed, bag, attribute, invert, membership:",
     .traits = NVDP_TRAIT_BASIC},
    {"input", NVDP_OPTION_TEXT, "FILE", "another name of --public",
     .sets = (const char *const[]){"public", NULL}, .traits = NVDP_TRAIT_HIDDEN},
    {"public-limit", NVDP_OPTION_INTEGER, "N",
     "maximum number of these texts, drawn at random; 0: all", "5000", AT(known_limit),
     .unit = "texts", .max = 1e9},
    {"seeds", NVDP_OPTION_INTEGER, "N",
     "how often noise is drawn again for the attacker to learn from", "3", AT(seeds), .min = 1,
     .max = 1000, .group = "Kinds nearest, token, language, informed, bag, attribute, invert:"},
    {"prior", NVDP_OPTION_TEXT, "DIR",
     "masked language model that knows which texts are likely, such as models/compact or one of "
     "nvdp pretrain; default: only the word frequencies of the public texts",
     NULL, AT(prior), .group = "Kinds language, informed, invert:", .traits = NVDP_TRAIT_BASIC},
    {"beam", NVDP_OPTION_INTEGER, "N", "candidate texts that the search keeps", "4", AT(beam),
     .unit = "texts", .min = 1, .max = 64, .group = "Kinds language, invert:"},
    RELEASES_ROW("All kinds except exposure, token, invert, summary:"),
    {"shared", NVDP_OPTION_TEXT, "FILE.h5",
     "attack the samples in this shared file, of any format, instead of newly drawn ones", NULL,
     AT(shared),
     .group = "Kinds reidentify, nearest, token, language, informed, bag, attribute, invert, "
              "membership, summary:",
     .traits = NVDP_TRAIT_BASIC},
    {"tokens", NVDP_OPTION_INTEGER, "N", "tokens of a text that are guessed; the rest is cut off",
     "32", AT(tokens), .unit = "tokens", .min = 2, .max = 510, .group = "Kind invert:"},
    {"search", NVDP_OPTION_INTEGER, "N",
     "rounds in which candidates are changed, if the encoder is known", "24", AT(search),
     .unit = "rounds", .max = 1e6},
    {"steps", NVDP_OPTION_INTEGER, "N",
     "training steps of 32 public texts, for each of the models that are compared; 0: three "
     "epochs, at least 1,000",
     "0", AT(steps), .unit = "steps", .max = 1e9},
    {"attacked", NVDP_OPTION_TEXT, "FILE",
     "the texts of --posteriors, as --public: one per line, a table with the column text, or words "
     "with tags, a word and O, B-TYPE or I-TYPE per line",
     NULL, AT(attacked)},
    {"public-posteriors", NVDP_OPTION_TEXT, "FILE",
     "vectors of the public texts, in the form of --posteriors (.npy: one vector per row and text)",
     NULL, AT(public_posteriors)},
    {"encoder", NVDP_OPTION_TEXT, "DIR",
     "encoder that made the vectors of --posteriors, which ranks the guesses by their own vectors",
     NULL, AT(encoder)},
    {"surrogate", NVDP_OPTION_TEXT, "DIR",
     "the attacker lacks the encoder: it learns a linear map from samples to this one's vectors",
     NULL, AT(surrogate)},
    {"aligned", NVDP_OPTION_INTEGER, "N",
     "public texts whose samples the attacker without the encoder has", "1000", AT(aligned),
     .unit = "texts", .min = 20, .max = 1e6},
    {"members", NVDP_OPTION_CHOICE, "OF",
     "texts that the attacker looks for: shared (their samples are in a file) or training (the run "
     "was trained on them)",
     "shared", AT(members), .choices = nvdp__member_source_names, .group = "Kind membership:"},
    {"shadows", NVDP_OPTION_INTEGER, "K",
     "for training: train K runs like this one on random halves of its train file, and compare the "
     "loss of a text in runs with and without it; 0: none",
     "0", AT(shadows), .unit = "runs", .max = 256},
    {"shadow-runs", NVDP_OPTION_TEXT, "DIR",
     "folder of these runs, which are continued or used again; default: RUN.shadows", NULL,
     AT(shadow_runs)},
    {0},
};
static const struct nvdp__section text_section = {.row = text_options};
const struct nvdp__schema nvdp__text_attack_schema = {.kind = "attack by a learner",
                                                      .size =
                                                          sizeof(struct nvdp__text_attack_options),
                                                      .section = &text_section,
                                                      .sections = 1};

/* ---- an attack by its row ---- */

enum { VERDICT_ROOM = 8192 }; /* space for a path and two lines */

#undef AT
#define AT(member) NVDP_OPTION_AT(struct options, member)

struct options {
    int kind;
    const char *posteriors;
    double claimed;
};
static const struct nvdp_option options[] = {
    {"kind", NVDP_OPTION_CHOICE, "K", nvdp__attack_kind_help, "exposure", AT(kind),
     .choices = nvdp__attack_names, .group = "Attack:", .after = "model",
     .traits = NVDP_TRAIT_BASIC},
    {"posteriors", NVDP_OPTION_TEXT, "FILE",
     "kinds pair, reidentify, invert: file of posteriors (.h5, .npz) to attack in place of a run; "
     "kind invert: also vectors in FILE.npy, or an encoder's directory, whose vectors have no "
     "noise",
     NULL, AT(posteriors),
     .group = "All kinds except exposure, summary (which has --data and --batch):", .after = "run",
     .traits = NVDP_TRAIT_BASIC},
    {"claimed", NVDP_OPTION_REAL, "E",
     "epsilon claimed at --delta; default: the epsilon of the run's certificate", NULL, AT(claimed),
     .group = "Kind pair:", .after = "samples", .max = 1e9, .unit = "nats",
     .traits = NVDP_TRAIT_NO_DEFAULT},
    {0},
};
static const struct nvdp__section section = {.row = options};
static const struct nvdp__schema schema = {.kind = "the attack to run",
                                           .size = sizeof(struct options),
                                           .section = &section,
                                           .sections = 1};

const struct nvdp__kind nvdp__kind_attack = {"attack",
                                             {&nvdp__exposure_schema, &nvdp__run_schema,
                                              &nvdp__text_attack_schema, &nvdp__attack_schema,
                                              &schema}};

nvdp_status nvdp__attacked_certificate(const struct nvdp__attacked *attacked,
                                       const struct nvdp_model *model, double delta,
                                       const char *epsilons, struct nvdp_certificate *out) {
    struct nvdp_context *ctx = attacked->ctx;
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    NVDP_TRY(nvdp_config_create(ctx, "privacy", &config));
    NVDP_TRY(nvdp_config_set(config, "delta", nvdp__short_text("%.17g", delta).text));
    NVDP_TRY(nvdp_config_set(config, "releases", nvdp_config_get(attacked->config, "releases")));
    if (epsilons != NULL) NVDP_TRY(nvdp_config_set(config, "at-epsilon", epsilons));
    return nvdp_model_certificate(ctx, model, config, out);
}

bool nvdp__add_source(const struct nvdp__attacked *attacked, const void *found, json_t *object) {
    const struct nvdp_config *config = attacked->config;
    (void)found;
    json_t *source = json_pack("{s:s?, s:I, s:I}", "shared", nvdp_config_get(config, "shared"),
                               "releases", (json_int_t)atoll(nvdp_config_get(config, "releases")),
                               "seed", (json_int_t)atoll(nvdp_config_get(config, "seed")));
    return json_object_update_new(object, source) == 0;
}

bool nvdp__attack_takes(const char *const *names, const char *option) {
    for (; *names != NULL; names++)
        if (strcmp(*names, option) == 0) return true;
    return false;
}

nvdp_status nvdp_attack_describe(struct nvdp_context *ctx, size_t attack,
                                 struct nvdp_attack_info *out) {
    size_t count = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    while (nvdp__attacks[count] != NULL)
        count++;
    if (attack >= count)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "attack: expected 0 to %zu, found %zu", count - 1,
                          attack);
    const struct nvdp__attack *row = nvdp__attacks[attack];
    const struct nvdp_attack_info made = {.struct_size = sizeof made,
                                          .name = nvdp__attack_names[attack],
                                          .help = nvdp__attack_helps[attack],
                                          .target = row->target,
                                          .options = row->options,
                                          .exclusive = {row->exclusive[0], row->exclusive[1]},
                                          .attacks = count,
                                          .right = row->right};
    return NVDP__GIVE(out, &made);
}

/* --- a run --- */

struct nvdp_attack_result {
    struct nvdp__result head; /* for nvdp_result_json() and nvdp_result_text() */
    struct nvdp__attacked attacked;
    struct nvdp_config *config;
    void *found; /* zero, or filled by `run` */
};

void nvdp_attack_free(struct nvdp_attack_result *result) {
    if (result == NULL) return;
    if (result->found != NULL && result->attacked.attack->release != NULL)
        result->attacked.attack->release(result->found);
    free(result->found);
    nvdp_config_free(result->config);
    free(result);
}

/* Finds out whether the method of a run, or of a file of posteriors, has a certificate per word. */
static nvdp_status find_words(struct nvdp__attacked *attacked) {
    const char *run = nvdp_config_get(attacked->config, "run");
    struct nvdp__train_options training;
    nvdp__autoptr(json_decref) json_t *owner = NULL;
    const struct nvdp__method *method =
        attacked->posteriors != NULL ? nvdp__method_named(attacked->posteriors->method) : NULL;
    if (method == NULL && run != NULL) {
        NVDP_TRY(nvdp__run_read_config(attacked->ctx, run, &training, &owner));
        method = nvdp__method_row(training.method);
    }
    attacked->words = method != NULL && method->words;
    return NVDP_OK;
}

/* --- the result --- */

json_t *nvdp__attack_pack(const void *of) {
    const struct nvdp_attack_result *result = of;
    const struct nvdp__attack *row = result->attacked.attack;
    json_t *object = json_pack("{s:s}", "attack", result->attacked.kind);
    if (object != NULL && (row->add == NULL || row->add(&result->attacked, result->found, object)))
        return nvdp__result_put(object, row->table, "json", result->found);
    json_decref(object);
    return NULL;
}

static void print(const void *of, FILE *to) {
    const struct nvdp_attack_result *result = of;
    const struct nvdp__attack *row = result->attacked.attack;
    if (row->head != NULL) row->head(&result->attacked, result->found, to);
    nvdp__result_print(row->table, result->found, to);
    if (result->attacked.words && !row->per_word) {
        putc('\n', to);
        nvdp__print_wrapped(to, "The certificate per word says nothing about these guesses: it "
                                "bounds what is learned of one word, not of a whole text.");
    }
    if (row->weak == NULL || !row->weak(result->found)) return;
    putc('\n', to);
    nvdp__print_wrapped(
        to, "The attacker is too weak for a conclusion: even without noise, from the posteriors "
            "themselves, it is right hardly more often than without any sample.");
}

static const struct nvdp_result_kind attack_kind = {
    .name = "attack", .pack = nvdp__attack_pack, .print = print};

nvdp_status nvdp_attack(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_attack_result **out) {
    nvdp__autoptr(nvdp_attack_free) struct nvdp_attack_result *made = NULL;
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    struct options values;
    NVDP_TRY(nvdp__config_open(ctx, config, &schema, &values));
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    const struct nvdp__attack *row = nvdp__attacks[values.kind];
    made->head = (struct nvdp__result)NVDP__RESULT(struct nvdp__result, attack_kind);
    made->attacked = (struct nvdp__attacked){
        .ctx = ctx,
        .attack = row,
        .kind = nvdp__attack_names[values.kind],
        .claimed = nvdp_config_is_set(config, "claimed") ? values.claimed : NAN};
    NVDP_TRY(nvdp_config_copy(config, &made->config));
    made->attacked.config = made->config;
    const char *name =
        nvdp_config_get(made->config, row->target == NVDP_ATTACK_MODEL ? "model" : "run");
    made->attacked.name = name != NULL ? name : "posteriors";
    if (row->target == NVDP_ATTACK_POSTERIORS &&
        (values.posteriors != NULL) == (nvdp_config_get(config, "run") != NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "expected exactly one of the options run and posteriors");
    if (row->target == NVDP_ATTACK_POSTERIORS && !row->opens)
        NVDP_TRY(values.posteriors != NULL
                     ? nvdp_posteriors_read(ctx, values.posteriors, &posteriors)
                     : nvdp_run_posteriors(ctx, config, &posteriors));
    made->found = nvdp__calloc(ctx, 1, row->size);
    NVDP_TRY(NVDP__MADE(made->found));
    memcpy(made->found, &row->size,
           sizeof row->size); /* the struct size, as NVDP_RESULT() sets it */
    made->attacked.posteriors = posteriors;
    NVDP_TRY(row->run(&made->attacked, made->found));
    NVDP_TRY(find_words(&made->attacked));
    made->attacked.posteriors = NULL;
    return NVDP__HAND_OVER(out, made);
}

nvdp_status nvdp_attack_verdict(struct nvdp_context *ctx, const struct nvdp_attack_result *result,
                                char **out) {
    char text[VERDICT_ROOM] = "";
    struct nvdp__writer say = {text, sizeof text, 0};
    result->attacked.attack->verdict(&result->attacked, result->found, &say);
    *out = nvdp__strdup(ctx, text);
    return NVDP__MADE(*out);
}

/* Reports a share that exceeds its proven bound: the sampler, densities, clip or proof is wrong, or the excess is
 * chance. */
void nvdp__share_verdict(const struct nvdp__attacked *attacked, const char *what,
                         const struct nvdp_interval *interval, double baseline, double bound,
                         struct nvdp__writer *say) {
    if (say->used > 0 || !(interval->low > bound)) return;
    nvdp__append(say,
                 "%s: VIOLATION: %s: expected a share of at most %s, the bound that is proven "
                 "for guesses that are right with probability %.6g without samples; found at least "
                 "%s with confidence 95 %%",
                 attacked->name, what, nvdp__bound(bound).text, baseline,
                 nvdp__bound_below(interval->low).text);
}
