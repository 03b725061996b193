/* Reads any bytes as a grid.json: a grid that is read names separate runs, all with options in
 * range. */
#include "fuzz.h"
#include "sweep/sweep.h"

static void check(const struct sweep_grid *grid) {
    if (grid->count == 0) abort();
    for (size_t i = 0; i < grid->count; i++) {
        struct nvdp_config *config = NULL;
        if (nvdp_config_copy(grid->run[i].config, &config) != NVDP_OK ||
            nvdp_config_set(config, "out", "runs") != NVDP_OK ||
            nvdp_config_check(config) != NVDP_OK)
            abort();
        nvdp_config_free(config);
        if (i > 0 && grid->run[i].round < grid->run[i - 1].round) abort();
        if (strchr(grid->run[i].name, '/') != NULL) abort();
        for (size_t k = 0; k < i && i < 50; k++) {
            if (strcmp(grid->run[k].name, grid->run[i].name) == 0) abort();
        }
    }
}

nvdp_status fuzz_use(struct fuzz_input in) {
    struct sweep_grid grid;
    NVDP_TRY(sweep_grid_read(in.ctx, in.path, &grid));
    check(&grid);
    sweep_grid_release(&grid);
    return NVDP_OK;
}
