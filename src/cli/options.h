/* Options of a subcommand: the library's for its kind of work and its own, as one configuration
 * (nvdp/config.h), filled from the command line by argp and from --config FILE.json.
 *
 * To port a subcommand to a kind of work of the library: name the constructor in its struct
 * cli_command (`.create = nvdp_train_config_create`), move the library's rows from its table to the
 * library's, and pass cli->config to the function that does the work.  Rows that stay name with
 * `.after` the option that they stand behind in --help. */
#ifndef NVDP_CLI_OPTIONS_H
#define NVDP_CLI_OPTIONS_H

#include <nvdp/config.h>

struct cli;

/* Makes cli->config: the command's options with `values` behind its own rows; reads cli->argv and
 * the files it names.  The files' values come first, so that flags win. */
int cli_parse(struct cli *cli, void *values);
/* Whether the option was given, on the command line or in a file. */
bool cli_given(const struct cli *cli, const char *name);
/* The first option that was given and is in `names` (`among`) or is not (else); NULL: none.  Common
 * options do not count. */
const char *cli_given_one(const struct cli *cli, const char *const *names, bool among);
/* Refuses where an option that is needed is missing. */
int cli_need(struct cli *cli);

#endif
