/* Reads files of kind representations/1 (docs/formats.md): the vectors, with noise, of the
 * tokens of privatized texts. */
#include "text/representations.h"
#include "base/own.h"
#include "hdf5/hdf5.h"

#include <inttypes.h>
#include <math.h>
#include <nvdp/dataset.h>
#include <nvdp/sanitize.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VERSION = 1, SPLITS = NVDP_SPLIT_TEST_MISMATCHED + 1 };

struct nvdp__representations {
    struct nvdp_context *ctx;
    struct nvdp__h5 *file;
    char *path, *task;
    struct nvdp__representations_info info;
};

void nvdp__representations_close(struct nvdp__representations *of) {
    if (of == NULL) return;
    nvdp__h5_free(of->file);
    free(of->path);
    free(of->task);
    free(of->info.offset);
    free(of->info.id);
    free(of->info.split);
    free(of->info.label);
    free(of);
}

static nvdp_status read_shape(struct nvdp__representations *of) {
    struct nvdp__representations_info *info = &of->info;
    int64_t columns;
    size_t z[2], offsets;
    nvdp__autofree char *tokens = NULL;
    NVDP_TRY(nvdp__h5_get_int(of->file, "columns", &columns));
    NVDP_TRY(nvdp__h5_get_real(of->file, "eta", &info->eta));
    NVDP_TRY(nvdp__h5_get_real(of->file, "grid_step", &info->step));
    NVDP_TRY(nvdp__h5_get_string(of->file, "task", &of->task));
    NVDP_TRY(nvdp__h5_get_string(of->file, "tokens", &tokens));
    info->task = of->task;
    info->pieces = strcmp(tokens, "pieces") == 0;
    if (columns != 1 && columns != 2)
        return NVDP__BAD_FILE(of, "attribute 'columns': expected 1 or 2, found %" PRId64, columns);
    if (!(info->eta > 0 && isfinite(info->eta)) || !(info->step > 0 && isfinite(info->step)))
        return NVDP__BAD_FILE(
            of, "attributes 'eta' and 'grid_step': expected numbers above 0, found %g and %g",
            info->eta, info->step);
    NVDP_TRY(nvdp__h5_shape(of->file, "z", NVDP__H5_F16, 2, z));
    NVDP_TRY(nvdp__h5_shape(of->file, "offset", NVDP__H5_I64, 1, &offsets));
    if (z[0] < 1 || z[1] < 1 || z[1] > INT32_MAX)
        return NVDP__BAD_FILE(of, "dataset 'z': expected vectors, found %zu of %zu values", z[0],
                              z[1]);
    if (offsets < 2 || (offsets - 1) % (size_t)columns != 0)
        return NVDP__BAD_FILE(
            of, "dataset 'offset': expected rows x %" PRId64 " + 1 numbers, found %zu", columns,
            offsets);
    /* a small file may declare enormous datasets that it does not hold; deflate compresses by at
     * most 1032 to 1 */
    struct stat file;
    const double max = (1 << 20) + (stat(of->path, &file) == 0 ? 1100. * (double)file.st_size : 0);
    if (8. * (double)offsets > max || 2. * (double)z[0] * (double)z[1] > max)
        return NVDP__BAD_FILE(
            of,
            "datasets of %zu vectors of %zu values and %zu offsets are declared, more than the "
            "file can hold",
            z[0], z[1], offsets);
    info->columns = (size_t)columns;
    info->rows = (offsets - 1) / info->columns;
    info->tokens = z[0];
    info->dim = z[1];
    NVDP_TRY(NVDP__NEW(of->ctx, of->info.offset, offsets));
    NVDP_TRY(nvdp__h5_read_rows(of->file, "offset", NVDP__H5_I64, 0, offsets, of->info.offset));
    if (of->info.offset[0] != 0 || of->info.offset[offsets - 1] != (int64_t)z[0])
        return NVDP__BAD_FILE(of,
                              "dataset 'offset': expected 0 to %zu, found %" PRId64 " to %" PRId64,
                              z[0], of->info.offset[0], of->info.offset[offsets - 1]);
    for (size_t i = 0; i + 1 < offsets; i++)
        if (of->info.offset[i + 1] < of->info.offset[i])
            return NVDP__BAD_FILE(
                of,
                "dataset 'offset': expected no number below the one before, found %" PRId64
                " after %" PRId64 " at row %zu",
                of->info.offset[i + 1], of->info.offset[i], i + 1);
    return NVDP_OK;
}

nvdp_status nvdp__representations_open(struct nvdp_context *ctx, const char *path,
                                       struct nvdp__representations **out,
                                       struct nvdp__representations_info *info) {
    nvdp__autoptr(nvdp__representations_close) struct nvdp__representations *made = NULL;
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    made->ctx = ctx;
    NVDP_TRY(NVDP__MADE(made->path = nvdp__strdup(ctx, path)));
    NVDP_TRY(nvdp__h5_open(ctx, path, "representations", VERSION, &made->file));
    NVDP_TRY(read_shape(made));
    const size_t rows = made->info.rows;
    NVDP_TRY(nvdp__h5_read_column(made->file, "id", NVDP__H5_I64, rows, &made->info.id));
    if (nvdp__h5_has(made->file, "split"))
        NVDP_TRY(nvdp__h5_read_column(made->file, "split", NVDP__H5_I32, rows, &made->info.split));
    if (nvdp__h5_has(made->file, "label"))
        NVDP_TRY(nvdp__h5_read_column(made->file, "label", NVDP__H5_F32, rows, &made->info.label));
    for (size_t i = 0; i < rows && made->info.split != NULL; i++)
        if (made->info.split[i] < 0 || made->info.split[i] >= SPLITS)
            return NVDP__BAD_FILE(made, "dataset 'split': row %zu: expected 0 to %d, found %d", i,
                                  SPLITS - 1, made->info.split[i]);
    for (size_t i = 0; i < rows && made->info.label != NULL; i++)
        if (isinf(made->info.label[i]))
            return NVDP__BAD_FILE(made,
                                  "dataset 'label': row %zu: expected a number or NaN, found %g", i,
                                  (double)made->info.label[i]);
    *info = made->info;
    return NVDP__HAND_OVER(out, made);
}

nvdp_status nvdp__representations_read(struct nvdp__representations *of, size_t first,
                                       size_t tokens, float *z) {
    if (first > of->info.tokens || tokens > of->info.tokens - first)
        return nvdp__fail(of->ctx, NVDP_ERR_ARGUMENT, "%s: tokens %zu to %zu, expected at most %zu",
                          of->path, first, first + tokens, of->info.tokens);
    if (tokens == 0) return NVDP_OK;
    NVDP_TRY(nvdp__h5_read_rows(of->file, "z", NVDP__H5_F16, first, tokens, z));
    for (size_t i = 0; i < tokens * of->info.dim; i++)
        if (!isfinite(z[i]))
            return NVDP__BAD_FILE(of, "dataset 'z': token %zu: expected finite numbers, found %g",
                                  first + i / of->info.dim, (double)z[i]);
    return NVDP_OK;
}
