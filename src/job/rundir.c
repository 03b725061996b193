/* Writes the JSON records of a run (docs/formats.md) for train/ and pretrain/: software and
 * hardware, then the files. */
#include "job/rundir.h"

#include "base/file.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/ranks.h"

#include <cblas.h>
#include <gsl/gsl_version.h>
#include <nvdp/version.h>
#include <stdlib.h>

/* --- software and hardware --- */

json_t *nvdp__software_json(void) {
    return json_pack("{s:s,s:s,s:s}", "nvdp", nvdp_version(), "openblas", openblas_get_config(),
                     "gsl", GSL_VERSION);
}

json_t *nvdp__hardware_json(const struct nvdp_context *ctx) {
    char name[512];
    nvdp__processor_name(sizeof name, name);
    json_t *object =
        json_pack("{s:s,s:i}", "processor", name, "threads", nvdp_context_threads(ctx));
    if (nvdp__ranks(ctx) != NULL)
        json_object_set_new(object, "processes", json_integer(nvdp__ranks(ctx)->size));
    return object;
}

/* --- JSON files --- */

nvdp_status nvdp__run_json_write(struct nvdp_context *ctx, const char *directory, const char *name,
                                 json_t *root) {
    nvdp_status status = NVDP_OK;
    char *path = nvdp__join(ctx, directory, name);
    NVDP_TRY(NVDP__MADE(path));
    if (root == NULL) NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path));
    NVDP_TRY(nvdp__json_write(ctx, path, root));
cleanup:
    json_decref(root);
    free(path);
    return status;
}
