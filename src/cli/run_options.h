/* Options that several subcommands have. */
#ifndef NVDP_CLI_RUN_OPTIONS_H
#define NVDP_CLI_RUN_OPTIONS_H

/* Where runs keep what others can use; `type` has the members config.cache and no_cache. */
#define CLI_CACHE_OPTIONS(type)                                                                    \
    {"cache",                                                                                      \
     NVDP_OPTION_TEXT,                                                                             \
     "DIR",                                                                                        \
     "folder that keeps tokens and frozen layers' states between runs (default "                   \
     "$XDG_CACHE_HOME/nvdp or ~/.cache/nvdp); the texts can be read off it",                       \
     NVDP_OPTION_AT(type, config.cache),                                                           \
     .traits = NVDP_TRAIT_NO_DEFAULT},                                                             \
    {                                                                                              \
        "no-cache", NVDP_OPTION_FLAG, NULL, "keep nothing between runs",                           \
            NVDP_OPTION_AT(type, no_cache)                                                         \
    }

#define CLI_RUN_SPLITS "train, validation, dev, test, dev-mismatched or test-mismatched"

/* Rows of a table; `type` is the subcommand's struct, whose member `run` is a struct
 * nvdp_run_config. */
#define CLI_RUN_OPTIONS(type)                                                                      \
    {"split", NVDP_OPTION_TEXT, "NAME", CLI_RUN_SPLITS, NVDP_OPTION_AT(type, run.split)},          \
        {"data", NVDP_OPTION_TEXT, "DIR", "the task's folder, where it has moved since training",  \
         NVDP_OPTION_AT(type, run.data)},                                                          \
        {"limit", NVDP_OPTION_INTEGER, "N", "only a seeded sample of N texts; 0: all",             \
         NVDP_OPTION_AT(type, run.limit)},                                                         \
        {"batch", NVDP_OPTION_INTEGER, "N", "texts a batch", NVDP_OPTION_AT(type, run.batch)}, {   \
        "seed", NVDP_OPTION_SEED, "N", "of noise and samples", NVDP_OPTION_AT(type, run.seed)      \
    }

#endif
