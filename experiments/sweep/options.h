/* Training options of a grid: named as on the command line, with '-' or '_', and kept as in
 * run.json.  Which there are, and where they stand, is the training schema's to say. */
#ifndef NVDP_EXPERIMENTS_SWEEP_OPTIONS_H
#define NVDP_EXPERIMENTS_SWEEP_OPTIONS_H

#include "base/base.h"
#include <jansson.h>

/* "max-length" as "max_length", "lambdas" as "lambda"; false where the name is too long for any. */
enum { NVDP__OPTION_ROOM = 64 };
bool nvdp__option_name(const char *given, char name[NVDP__OPTION_ROOM]);

/* Whether it is a training option that a grid may set. */
bool nvdp__option_exists(const char *name);
/* Whether it tells the bottleneck or its weight in the loss, which models without one have not. */
bool nvdp__option_is_private(const char *name);
/* Whether `value` has the option's type; `where` and the name are for the message. */
nvdp_status nvdp__option_check(struct nvdp_context *ctx, const char *where, const char *name,
                               const json_t *value);
/* Sets it in a configuration of run.json's form. */
void nvdp__option_set(json_t *config, const char *name, json_t *value);

#endif
