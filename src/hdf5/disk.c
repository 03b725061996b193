/* The HDF5 file driver of disk.h: every write succeeds, and the first error is kept for the
 * caller. */
#include "hdf5/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An open file; HDF5 requires its own part first. */
struct opened {
    H5FD_t head;
    int fd;
    haddr_t end_allocated; /* end of the space that HDF5 has allocated */
    haddr_t end_of_file;   /* end of the written bytes */
    struct nvdp__disk *disk;
};

static H5FD_t *disk_open(const char *name, unsigned flags, hid_t plist, haddr_t limit) {
    (void)flags;
    (void)limit;
    struct nvdp__disk *const *disk = H5Pget_driver_info(plist); /* set by nvdp__disk_create */
    struct opened *file = calloc(1, sizeof *file);
    if (disk == NULL || file == NULL) {
        free(file);
        return NULL;
    }
    file->disk = *disk;
    file->fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->fd >= 0) return &file->head;
    file->disk->error = errno;
    free(file);
    return NULL;
}

static herr_t disk_close(H5FD_t *head) {
    struct opened *file = (struct opened *)head;
    if (close(file->fd) != 0 && file->disk->error == 0) file->disk->error = errno;
    free(file);
    return 0;
}

/* Optimizations that HDF5 may use: the same as for its own file driver. */
static herr_t disk_query(const H5FD_t *head, unsigned long *flags) {
    (void)head;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t disk_get_eoa(const H5FD_t *head, H5FD_mem_t type) {
    (void)type;
    return ((const struct opened *)head)->end_allocated;
}

static herr_t disk_set_eoa(H5FD_t *head, H5FD_mem_t type, haddr_t address) {
    (void)type;
    ((struct opened *)head)->end_allocated = address;
    return 0;
}

static haddr_t disk_get_eof(const H5FD_t *head, H5FD_mem_t type) {
    (void)type;
    return ((const struct opened *)head)->end_of_file;
}

/* Reads zeros past the end of the file. */
static herr_t disk_read(H5FD_t *head, H5FD_mem_t type, hid_t plist, haddr_t address, size_t size,
                        void *buffer) {
    (void)type;
    (void)plist;
    struct opened *file = (struct opened *)head;
    char *bytes = buffer;
    while (size > 0) {
        ssize_t got = pread(file->fd, bytes, size, (off_t)address);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            if (got < 0 && file->disk->error == 0) file->disk->error = errno;
            memset(bytes, 0, size);
            break;
        }
        bytes += got;
        address += (haddr_t)got;
        size -= (size_t)got;
    }
    return 0;
}

static herr_t disk_write(H5FD_t *head, H5FD_mem_t type, hid_t plist, haddr_t address, size_t size,
                         const void *buffer) {
    (void)type;
    (void)plist;
    struct opened *file = (struct opened *)head;
    const char *bytes = buffer;
    while (size > 0 && file->disk->error == 0) {
        ssize_t put = pwrite(file->fd, bytes, size, (off_t)address);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            file->disk->error = errno;
            break;
        }
        bytes += put;
        address += (haddr_t)put;
        size -= (size_t)put;
    }
    address += size; /* as if everything had been written */
    if (address > file->end_of_file) file->end_of_file = address;
    return 0;
}

static herr_t disk_truncate(H5FD_t *head, hid_t plist, bool closing) {
    (void)plist;
    (void)closing;
    struct opened *file = (struct opened *)head;
    if (file->end_of_file == file->end_allocated) return 0;
    if (file->disk->error == 0 && ftruncate(file->fd, (off_t)file->end_allocated) != 0)
        file->disk->error = errno;
    file->end_of_file = file->end_allocated;
    return 0;
}

static const H5FD_class_t DISK = {
#if H5_VERSION_GE(1, 14, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)510, /* in the range reserved for external drivers */
#endif
    .name = "nvdp_disk",
    .maxaddr = (haddr_t)LLONG_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(struct nvdp__disk *),
    .open = disk_open,
    .close = disk_close,
    .query = disk_query,
    .get_eoa = disk_get_eoa,
    .set_eoa = disk_set_eoa,
    .get_eof = disk_get_eof,
    .read = disk_read,
    .write = disk_write,
    .truncate = disk_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t nvdp__disk_create(const char *path, struct nvdp__disk *disk) {
    hid_t file = -1;
    *disk = (struct nvdp__disk){.driver = H5FDregister(&DISK)};
    hid_t plist = H5Pcreate(H5P_FILE_ACCESS);
    if (disk->driver >= 0 && plist >= 0 && H5Pset_driver(plist, disk->driver, &disk) >= 0)
        file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, plist);
    if (plist >= 0) H5Pclose(plist);
    if (file < 0) nvdp__disk_close(disk);
    return file;
}

void nvdp__disk_close(struct nvdp__disk *disk) {
    if (disk->driver > 0) H5FDunregister(disk->driver);
    disk->driver = 0;
}
