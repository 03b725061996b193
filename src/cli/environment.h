/* What the libraries below read from the environment before main, and only then. */
#ifndef NVDP_CLI_ENVIRONMENT_H
#define NVDP_CLI_ENVIRONMENT_H

/* Sets what is better than the libraries' defaults and the user has not set, and starts the program
 * again so that they see it.  Returns where there is nothing to set or it cannot be done. */
void cli_environment(char **argv);

#endif
