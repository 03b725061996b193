/* Options of the subcommands that work on a finished run. */
#ifndef NVDP_CLI_RUN_OPTIONS_H
#define NVDP_CLI_RUN_OPTIONS_H

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
