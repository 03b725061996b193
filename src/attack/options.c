/* The options of attacks, one row per option (options/schema.h): on models, on shared data, of learning attackers. */
#include "attack/options.h"

#include "options/rows.h"

/* Rows of several attacks, each of which has a struct with these members. */
#define RELEASES_ROW(group_)                                                                       \
    {                                                                                              \
        "releases", NVDP_OPTION_INTEGER, "N", "samples that are known to be of the same text",     \
            "1", AT(releases), .unit = "samples", .min = 1, .max = 1 << 20, .group = (group_)      \
    }
#define BOUND_ROWS                                                                                 \
    {"delta",                                                                                      \
     NVDP_OPTION_REAL,                                                                             \
     "D",                                                                                          \
     "delta at which epsilon is bounded from below; 0: 0.01 for kind pair, otherwise the delta "   \
     "of "                                                                                         \
     "the model's own account, or 1e-5 without one",                                               \
     "0",                                                                                          \
     AT(delta),                                                                                    \
     .max = 0.999},                                                                                \
    {                                                                                              \
        "confidence", NVDP_OPTION_REAL, "X", "confidence of all lower bounds together", "0.95",    \
            AT(confidence), .min = 0.5, .max = 0.999999                                            \
    }

#define AT(member) NVDP_OPTION_AT(struct nvdp__exposure_options, member)

static const struct nvdp_option options[] = {
    {"model", NVDP_OPTION_TEXT, "DIR", "the model that is attacked", NULL, AT(model),
     .traits = NVDP_TRAIT_POSITIONAL},
    {"secrets", NVDP_OPTION_TEXT, "FILE",
     "what was planted: planted.json of nvdp pretrain --plant; none: the one beside the model",
     NULL, AT(secrets), .group = "Kind exposure:"},
    {"candidates", NVDP_OPTION_INTEGER, "N",
     "rank a secret among itself and N - 1 pieces that are drawn; 0: among all whole words", "0",
     AT(candidates), .unit = "pieces", .max = 1 << 24},
    NVDP__SEED_ROW(AT(seed)),
    {"reference", NVDP_OPTION_TEXT, "DIR",
     "of canaries: judge by how much likelier they became than under this model, the one that "
     "training began from, say",
     NULL, AT(reference)},
    {"guess-in", NVDP_OPTION_INTEGER, "N",
     "canaries of the largest scores that are said to have been planted; with guess-out 0 too: "
     "six numbers, with a bound that holds for all of them",
     "0", AT(guess_in), .unit = "canaries", .max = 1 << 24},
    {"guess-out", NVDP_OPTION_INTEGER, "N",
     "canaries of the smallest scores that are said not to have been planted", "0", AT(guess_out),
     .unit = "canaries", .max = 1 << 24},
    BOUND_ROWS,
    {0},
};

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct nvdp__exposure_options *o = values;
    if (o->model == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "model: expected a directory, found none");
    if (o->candidates != 1) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "candidates: expected 2 or more, or 0, found 1");
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
    {"pair", NVDP_OPTION_TEXT, "I,J", "two texts, by their numbers from 0; none: some are drawn",
     NULL, AT(pair), .group = "Kind pair:"},
    {"pairs", NVDP_OPTION_INTEGER, "N", "how many", "10", AT(pairs), .unit = "pairs", .min = 1,
     .max = 1 << 20},
    {"samples", NVDP_OPTION_INTEGER, "N",
     "of each of the two texts; half of them choose the test, half measure it", "10000",
     AT(samples), .unit = "samples", .min = 100, .max = 1e9},
    BOUND_ROWS,
    {"texts", NVDP_OPTION_INTEGER, "N", "guess among at most so many texts, drawn; 0: all", "1000",
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

static const struct nvdp_option text_options[] = {
    NVDP__SEED_ROW(AT(seed)),
    {"public", NVDP_OPTION_TEXT, "FILE",
     "texts that the attacker has, with the task's columns (.tsv, .csv, .json; -: standard input, "
     "as TSV): not those that are attacked; --input is the same",
     NULL, AT(known), .group = "Kinds nearest, token, language, bag, attribute:"},
    {"input", NVDP_OPTION_TEXT, "FILE", "the same as --public",
     .sets = (const char *const[]){"public", NULL}, .traits = NVDP_TRAIT_HIDDEN},
    {"public-limit", NVDP_OPTION_INTEGER, "N", "at most so many of them, drawn; 0: all", "5000",
     AT(known_limit), .unit = "texts", .max = 1e9},
    {"seeds", NVDP_OPTION_INTEGER, "N", "times that the noise is drawn anew, and learned from", "3",
     AT(seeds), .min = 1, .max = 1000},
    {"prior", NVDP_OPTION_TEXT, "DIR",
     "masked language model of what texts are likely, as of nvdp pretrain, or models/compact; "
     "none: the public texts' frequencies alone",
     NULL, AT(prior), .group = "Kind language:"},
    {"beam", NVDP_OPTION_INTEGER, "N", "texts that are followed up", "4", AT(beam), .unit = "texts",
     .min = 1, .max = 64},
    RELEASES_ROW("Kinds pair, reidentify, nearest, language:"),
    {"shared", NVDP_OPTION_TEXT, "FILE.h5",
     "attack the samples in a shared file (also FILE.safetensors, FILE.parquet) in place of drawn "
     "ones: whose they are, or what they say",
     NULL, AT(shared), .group = "Kinds reidentify, nearest, token, language, bag, attribute:"},
    {0},
};
static const struct nvdp__section text_section = {.row = text_options};
const struct nvdp__schema nvdp__text_attack_schema = {.kind = "attack by a learner",
                                                      .size =
                                                          sizeof(struct nvdp__text_attack_options),
                                                      .section = &text_section,
                                                      .sections = 1};
