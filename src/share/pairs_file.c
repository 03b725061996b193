/* Files of kind pairs/1: the divergence of every ordered pair of texts, row against column, of one
 * release. */
#include "base/hdf5.h"
#include <nvdp/share.h>

nvdp_status nvdp_pairs_write(struct nvdp_context *ctx, const char *path, size_t n, double order,
                             const double *matrix) {
    if (n == 0 || matrix == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: no pairs to write", path);
    nvdp_status status = NVDP_OK;
    struct nvdp__h5 *file = NULL;
    NVDP_TRY(nvdp__h5_create(ctx, path, "pairs/1", &file));
    NVDP_TRY(nvdp__h5_set_real(file, "order", order));
    NVDP_TRY(nvdp__h5_set_string(file, "unit", "nats"));
    NVDP_TRY(nvdp__h5_set_string(file, "normalisation", "sum"));
    NVDP_TRY(nvdp__h5_set_string(file, "direction", "rd[p, q] = D(P of text p || Q of text q)"));
    NVDP_TRY(nvdp__h5_write(file, "rd", NVDP__H5_F64, 2, (const size_t[]){n, n}, matrix));
    NVDP_TRY(nvdp__h5_commit(file));
cleanup:
    nvdp__h5_free(file);
    return status;
}
