/* A disk that HDF5 never sees failing.
 *
 * HDF5 cannot close a file whose last writes fail: its caches stay dirty, it tries again when the
 * process ends, and crashes there.  Through this driver every write succeeds; the first error is
 * kept in `error`, what comes after it is dropped, and the file is to be removed. */
#ifndef NVDP_SRC_HDF5_DISK_H
#define NVDP_SRC_HDF5_DISK_H

#include <hdf5.h>

struct nvdp__disk {
    hid_t driver;
    int error; /* errno of the first failure, 0 while all went well */
};

/* H5Fcreate through the driver; negative on failure.  disk stays in place until
 * nvdp__disk_close, which comes after H5Fclose. */
hid_t nvdp__disk_create(const char *path, struct nvdp__disk *disk);
void nvdp__disk_close(struct nvdp__disk *disk);

#endif
