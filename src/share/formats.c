/* The table of formats, for everything that writes or reads releases.  The row of a format is in the format's own
 * file. */
#include "share/release.h"

extern const struct nvdp__format nvdp__format_hdf5, nvdp__format_safetensors, nvdp__format_parquet;

const struct nvdp__format *const nvdp__formats[] = {&nvdp__format_hdf5, &nvdp__format_safetensors,
                                                    &nvdp__format_parquet, NULL};

const struct nvdp__format *nvdp__format_of(const struct nvdp__format *const *formats,
                                           const char *path) {
    for (size_t i = 0; formats[i] != NULL; i++)
        if (nvdp__ends_with(path, formats[i]->extension)) return formats[i];
    return formats[0];
}

const struct nvdp__format *nvdp__format_detect(const struct nvdp__format *const *formats,
                                               const char *path, const unsigned char *first,
                                               size_t count) {
    for (size_t i = 0; formats[i] != NULL; i++)
        if (formats[i]->detect(path, first, count)) return formats[i];
    return NULL;
}
