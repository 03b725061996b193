/* Verification of shared files, and changes of the JSON of runs. */
#ifndef NVDP_TESTS_SHARE_FIXTURE_H
#define NVDP_TESTS_SHARE_FIXTURE_H

#include "base/f16.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sentence.h"
#include "encoder/safetensors.h"
#include "made_embeddings.h"
#include "model/model.h"
#include "rdp/pairs.h"
#include "share/export.h"
#include "share/ledger.h"
#include "share/statement.h"
#include "support.h"
#include "tiny_task.h"
#include <nvdp.h>

/* Verifies a file or folder, with the expected sender's key unless it is NULL. */
struct nvdp_verification share_verified(struct nvdp_context *ctx, const char *path,
                                        const char *key);
/* The same with what the ledger says of it. */
struct nvdp_verification share_counted(struct nvdp_context *ctx, const char *path,
                                       const char *ledger, const char *key);
/* Returns the check whose words begin with `what`. Fails the test if there is none. */
const struct nvdp_check *check_of(const struct nvdp_verification *found, const char *what);
/* Compares the verdict of this check. */
void check_is(const struct nvdp_verification *found, const char *what, enum nvdp_verdict verdict);
/* Returns the number of checks with this verdict that found `words`. */
size_t checks_that_found(const struct nvdp_verification *found, enum nvdp_verdict verdict,
                         const char *words);
/* Fails the test if a check fails. */
void all_hold(const struct nvdp_verification *found);

/* Exports with options, names and values, then NULL. The result lives until the test's process ends. */
struct nvdp_export_result share_exported(struct nvdp_context *ctx, ...) __attribute__((sentinel));

/* Sets a member of the object at a path of keys ("": the whole) in a file. */
void edit_json(const char *file, const char *path, const char *key, json_t *value);

#endif
