/* The measurements of a run (include/nvdp/measured.h), read from its files. */
#ifndef NVDP_SRC_TRAIN_MEASURED_H
#define NVDP_SRC_TRAIN_MEASURED_H

#include "base/base.h"
#include <jansson.h>

struct nvdp__measurement {
    char *name;      /* of its file: "privacy-limit-20.json" */
    json_t *report;  /* the file's object */
    bool complete;   /* every text of the split was measured */
    double releases; /* samples of a text together */
    size_t texts, of_texts;
};

struct nvdp__measurements {
    struct nvdp__measurement *list; /* the first one speaks for the run: nvdp_measured_list() */
    size_t count, capacity;
};

/* `run` is run.json, which tells how many texts there are where an earlier version measured; NULL: unknown.
 * NVDP_ERR_IO, NVDP_ERR_INPUT: a broken file. */
nvdp_status nvdp__measurements_read(struct nvdp_context *ctx, const char *directory,
                                    const json_t *run, struct nvdp__measurements *out);
void nvdp__measurements_release(struct nvdp__measurements *all);

#endif
