/* A file driver whose writes never fail in the eyes of HDF5.
 *
 * HDF5 cannot close a file whose last writes fail: its caches stay dirty, it tries again when
 * the process ends, and crashes. With this driver every write succeeds. The first error is kept
 * in `error`, later writes are dropped, and the caller must remove the file. */
#ifndef NVDP_SRC_HDF5_DISK_H
#define NVDP_SRC_HDF5_DISK_H

#include <hdf5.h>

struct nvdp__disk {
    hid_t driver;
    int error; /* errno of the first failure; 0 if there was none */
};

/* H5Fcreate through the driver; negative on failure. disk must stay in place until
 * nvdp__disk_close, which is called after H5Fclose. */
hid_t nvdp__disk_create(const char *path, struct nvdp__disk *disk);
void nvdp__disk_close(struct nvdp__disk *disk);

#endif
