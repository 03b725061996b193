/* Options that several subcommands have. */
#ifndef NVDP_CLI_RUN_OPTIONS_H
#define NVDP_CLI_RUN_OPTIONS_H

/* The optimiser's rows of a table; `type` is the subcommand's struct, whose member `config` has the
 * values. */
#define CLI_ADAMW_OPTIONS(type)                                                                    \
    CLI_OPTION("lr", "X", "largest learning rate", CLI_REAL, offsetof(type, config.lr)),           \
        CLI_OPTION("warmup", "X", "share of the steps over which the learning rate rises",         \
                   CLI_REAL, offsetof(type, config.warmup)),                                       \
        CLI_OPTION("weight-decay", "X", "decoupled weight decay", CLI_REAL,                        \
                   offsetof(type, config.weight_decay)),                                           \
        CLI_OPTION("clip-norm", "X", "largest norm of the gradient; 0: no clipping", CLI_REAL,     \
                   offsetof(type, config.clip_norm)),                                              \
        CLI_OPTION("beta1", "X", "Adam's first-moment decay", CLI_REAL,                            \
                   offsetof(type, config.beta1)),                                                  \
        CLI_OPTION("beta2", "X", "Adam's second-moment decay", CLI_REAL,                           \
                   offsetof(type, config.beta2)),                                                  \
        CLI_OPTION("adam-eps", "X", "Adam's epsilon", CLI_REAL, offsetof(type, config.adam_eps))

/* Where runs keep what others can use; `type` has the members config.cache and no_cache. */
#define CLI_CACHE_OPTIONS(type)                                                                    \
    CLI_OPTION("cache", "DIR",                                                                     \
               "folder that keeps tokens and frozen layers' states between runs (default "         \
               "$XDG_CACHE_HOME/nvdp or ~/.cache/nvdp); the texts can be read off it",             \
               CLI_TEXT, offsetof(type, config.cache), .no_default = true),                        \
        CLI_OPTION("no-cache", NULL, "keep nothing between runs", CLI_FLAG,                        \
                   offsetof(type, no_cache))

#define CLI_RUN_SPLITS "train, validation, dev, test, dev-mismatched or test-mismatched"

/* Rows of a table; `type` is the subcommand's struct, whose member `run` is a struct
 * nvdp_run_config. */
#define CLI_RUN_OPTIONS(type)                                                                      \
    CLI_OPTION("split", "NAME", CLI_RUN_SPLITS, CLI_TEXT, offsetof(type, run.split)),              \
        CLI_OPTION("data", "DIR", "the task's folder, where it has moved since training",          \
                   CLI_TEXT, offsetof(type, run.data)),                                            \
        CLI_OPTION("limit", "N", "only a seeded sample of N texts; 0: all", CLI_SIZE,              \
                   offsetof(type, run.limit)),                                                     \
        CLI_OPTION("batch", "N", "texts a batch", CLI_SIZE, offsetof(type, run.batch)),            \
        CLI_OPTION("seed", "N", "of noise and samples", CLI_SEED, offsetof(type, run.seed))

#endif
