/* The measurements of a run (include/nvdp/measured.h), read from its files. */
#ifndef NVDP_SRC_TRAIN_MEASURED_H
#define NVDP_SRC_TRAIN_MEASURED_H

#include "base/base.h"
#include <jansson.h>

struct nvdp__measurement {
    char *name;      /* file name, such as "privacy-limit-20.json" */
    json_t *report;  /* the file's object */
    bool complete;   /* all texts of the split were measured */
    double releases; /* samples of a text that are released together */
    size_t texts, of_texts;
};

struct nvdp__measurements {
    struct nvdp__measurement *list; /* the first is the run's main report: nvdp_measured_list() */
    size_t count, capacity;
};

/* Reads all measurements. `run` is run.json; it supplies the number of texts for reports of
 * earlier versions (NULL: unknown). Returns NVDP_ERR_IO or NVDP_ERR_INPUT for a broken file. */
nvdp_status nvdp__measurements_read(struct nvdp_context *ctx, const char *directory,
                                    const json_t *run, struct nvdp__measurements *out);
void nvdp__measurements_release(struct nvdp__measurements *all);

#endif
