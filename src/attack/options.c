/* The options of attacks, one row per option (options/schema.h): on models, on shared data, of learning attackers. */
#include "attack/options.h"

#include "options/rows.h"

/* Rows of several attacks, each of which has a struct with these members. */
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

static const struct nvdp_option options[] = {
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
     "for canaries: score by how much more likely they are under the attacked model than under "
     "this one, such as the model that training started from",
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

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct nvdp__exposure_options *o = values;
    if (o->model == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{model}: expected the directory of a model, found none");
    if (o->candidates != 1) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{candidates}: expected 0 or at least 2, found 1");
}

static const struct nvdp__section section = {.row = options};
const struct nvdp__schema nvdp__exposure_schema = {.kind = "exposure",
                                                   .size = sizeof(struct nvdp__exposure_options),
                                                   .section = &section,
                                                   .sections = 1,
                                                   .check = check};

nvdp_status nvdp_exposure_config_create(struct nvdp_context *ctx, struct nvdp_config **out) {
    return nvdp__config_create(ctx, &nvdp__exposure_schema, out);
}

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
     "samples of each of the two texts; half of them choose the test, the other half measure it",
     "10000", AT(samples), .unit = "samples", .min = 100, .max = 1e9},
    BOUND_ROWS,
    {"texts", NVDP_OPTION_INTEGER, "N",
     "number of texts, drawn at random, among which the attacker guesses; 0: all texts", "1000",
     AT(texts), .unit = "texts", .max = 1e9, .group = "Kind reidentify:"},
    {0},
};
static const struct nvdp__section shared_section = {.row = shared_options};
const struct nvdp__schema nvdp__attack_schema = {.kind = "attack",
                                                 .size = sizeof(struct nvdp__attack_options),
                                                 .section = &shared_section,
                                                 .sections = 1};

nvdp_status nvdp_attack_config_create(struct nvdp_context *ctx, struct nvdp_config **out) {
    return nvdp__config_create(ctx, &nvdp__attack_schema, out);
}

/* ---- attackers that learn from public texts ---- */

#undef AT
#define AT(member) NVDP_OPTION_AT(struct nvdp__text_attack_options, member)

const char *const nvdp__members_of[] = {
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
    RELEASES_ROW("All kinds except exposure, token, invert:"),
    {"shared", NVDP_OPTION_TEXT, "FILE.h5",
     "attack the samples in this shared file (also FILE.safetensors, FILE.parquet) instead of "
     "newly drawn ones",
     NULL, AT(shared),
     .group = "Kinds reidentify, nearest, token, language, informed, bag, attribute, invert, "
              "membership:",
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
     "shared", AT(members), .choices = nvdp__members_of, .group = "Kind membership:"},
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
