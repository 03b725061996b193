/* Persons as units: the rows of each person, and one sample per person (nvdp export --unit person). */
#include "base/own.h"
#include "share/export.h"
#include "share/summarize.h"
#include "text/dataset.h"
#include <sodium.h>
#include <string.h>

/* A row of the input and the hash of the person's name, which is 0 without a person. */
struct named_row {
    nvdp__text_hash name;
    size_t row;
};

nvdp_status nvdp__export_find_persons(struct nvdp__export *export) {
    struct nvdp__export_source *from = &export->from;
    struct nvdp__export_part *part = &from->part[0];
    const size_t n = part->count;
    nvdp__autofree struct named_row *row = NULL;
    NVDP_TRY(NVDP__NEW(export->ctx, row, n));
    NVDP_TRY(NVDP__ARRAYS(export->ctx, &export->memory, NVDP__ITEMS(from->unit_of, n),
                          NVDP__ITEMS(from->rows_of, n)));
    nvdp__export_rewind(export);
    for (bool more;;) {
        NVDP_TRY(nvdp__export_next(part, &more));
        if (!more) break;
        for (size_t i = 0; i < part->data->count; i++) {
            struct named_row *to = &row[part->first + i];
            to->row = part->first + i;
            NVDP_TRY(nvdp__name_hash(export->ctx, NULL, NVDP__LEDGER_PERSON, part->data->id[i],
                                     to->name));
        }
    }
    NVDP__SORT(row, n, NVDP__UP_MEMORY(struct named_row, name), NVDP__UP(struct named_row, row));
    for (size_t k = 0; k < n; k++) { /* the first row of the same person, in place of the person */
        const bool same = k > 0 && !sodium_is_zero(row[k].name, sizeof row->name) &&
                          memcmp(row[k].name, row[k - 1].name, sizeof row->name) == 0;
        from->unit_of[row[k].row] = same ? from->unit_of[row[k - 1].row] : row[k].row;
    }
    from->units = 0;
    for (size_t i = 0; i < n; i++) {
        from->unit_of[i] = from->unit_of[i] == i ? from->units++ : from->unit_of[from->unit_of[i]];
        from->rows_of[from->unit_of[i]]++;
    }
    return NVDP_OK;
}

/* The means of all persons. No noise protects them, so they are overwritten at the end. */
struct means {
    double *mean; /* [count] */
    size_t count;
};

static void wipe(struct means *means) {
    if (means->mean != NULL) sodium_memzero(means->mean, means->count * sizeof *means->mean);
    free(means->mean);
}

/* Adds up the embeddings of each person's rows, divided by the person's number of rows, batch by batch. */
static nvdp_status add_rows(struct nvdp__export *export, double *mean) {
    const struct nvdp__export_source *from = &export->from;
    const size_t p = export->like.dim;
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, export->ctx, "export", "text", 0, from->texts);
    for (size_t first = 0, n; first < from->texts; first += n) {
        n = nvdp__min(from->texts - first, export->draw.texts);
        NVDP_TRY(nvdp__check_cancelled(export->ctx, "export: cancelled"));
        NVDP_TRY(nvdp__export_infer(export, &from->part[0], first, n));
        for (size_t i = 0; i < n; i++) {
            const size_t unit = from->unit_of[first + i];
            for (size_t k = 0; k < p; k++)
                mean[unit * p + k] +=
                    export->draw.posteriors->mu[i * p + k] / (double)from->rows_of[unit];
        }
        nvdp__meter_update(&meter, first + n, (double)(first + n), "text", NAN);
    }
    nvdp__meter_end(&meter);
    nvdp__model_warn_replaced(from->run.model, export->draw.replaced, from->texts);
    return NVDP_OK;
}

nvdp_status nvdp__export_draw_persons(struct nvdp__export *export) {
    const size_t p = export->like.dim, units = export->from.units;
    struct nvdp_posteriors *posteriors = export->draw.posteriors;
    nvdp__auto(wipe) struct means means = {.count = units * p};
    NVDP_TRY(NVDP__NEW(export->ctx, means.mean, means.count));
    NVDP_TRY(nvdp__export_open_noise(export));
    NVDP_TRY(nvdp__summary_rowwise(export));
    NVDP_TRY(add_rows(export, means.mean));
    for (size_t first = 0, n; first < units; first += n) {
        n = nvdp__min(units - first, export->draw.texts);
        posteriors->texts = n;
        for (size_t i = 0; i <= n; i++)
            posteriors->offset[i] = i;
        memcpy(posteriors->mu, means.mean + first * p, n * p * sizeof *posteriors->mu);
        NVDP_TRY(nvdp__export_draw_batch(export, first, n));
    }
    return NVDP_OK;
}
