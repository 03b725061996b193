/* Creates, writes and opens HDF5 files. libhdf5 writes; read.c and values.c read. The file has,
 * in this order, files, datasets and attributes. */
#include "hdf5/hdf5.h"

#include "base/f16.h"
#include "base/file.h"
#include "hdf5/read.h"
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the disk --- */

/* A file driver that never reports a failed write to HDF5.
 *
 * HDF5 cannot close a file whose last writes fail: the caches stay dirty, and HDF5 tries again
 * when the process ends, and crashes. With this driver every write succeeds. The first error is
 * kept in `error`, later writes are dropped, and the caller must remove the file. */
struct nvdp__disk {
    hid_t driver;
    int error; /* errno of the first failure; 0 if there was none */
};

/* An open file; HDF5's part must be the first member. */
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
    struct nvdp__disk *const *disk = H5Pget_driver_info(plist); /* driver_create() set this */
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

/* Reports the optimizations that HDF5 may use: the same as for HDF5's standard file driver. */
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

/* Reads from the file; bytes past the end of the file are zeros. */
static herr_t disk_read(H5FD_t *head, H5FD_mem_t type, hid_t plist, haddr_t address, size_t size,
                        void *buffer) {
    (void)type;
    (void)plist;
    struct opened *file = (struct opened *)head;
    const ssize_t got = nvdp__read_at(file->fd, buffer, size, address);
    const size_t there = got > 0 ? (size_t)got : 0;
    if (got < 0 && file->disk->error == 0) file->disk->error = errno;
    memset((char *)buffer + there, 0, size - there);
    return 0;
}

static herr_t disk_write(H5FD_t *head, H5FD_mem_t type, hid_t plist, haddr_t address, size_t size,
                         const void *buffer) {
    (void)type;
    (void)plist;
    struct opened *file = (struct opened *)head;
    if (file->disk->error == 0 && !nvdp__write_at(file->fd, buffer, size, address))
        file->disk->error = errno;
    address += size; /* counted also if not everything was written */
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
    .value = (H5FD_class_value_t)510, /* a number in the range reserved for external drivers */
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

static void driver_close(struct nvdp__disk *disk) {
    if (disk->driver > 0) H5FDunregister(disk->driver);
    disk->driver = 0;
}

/* Calls H5Fcreate through the driver; returns a negative number on failure. `disk` must stay in
 * place until driver_close(), which is called after H5Fclose. */
static hid_t driver_create(const char *path, struct nvdp__disk *disk) {
    hid_t file = -1;
    *disk = (struct nvdp__disk){.driver = H5FDregister(&DISK)};
    hid_t plist = H5Pcreate(H5P_FILE_ACCESS);
    if (disk->driver >= 0 && plist >= 0 && H5Pset_driver(plist, disk->driver, &disk) >= 0)
        file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, plist);
    if (plist >= 0) H5Pclose(plist);
    if (file < 0) driver_close(disk);
    return file;
}

/* --- files --- */

enum {
    CHUNK_BYTES = 1 << 18,
    DEFLATE_LEVEL = 4,
    /* max number of datasets that stay open, so that adjacent slices meet in the chunk cache */
    OPEN_DATASETS = 32
};

struct dataset {
    char *name;
    hid_t id;
};

struct nvdp__h5 {
    struct nvdp_context *ctx;
    char *path;
    char *temporary; /* temporary path of a file being created; NULL if opened for reading */
    int lock;        /* lock on the temporary file, or -1 */
    hid_t id;        /* handle of a file being created, else -1 */
    /* parsed contents; for a file being created, the contents at the last request */
    struct nvdp__h5_image *image;
    bool changed;           /* true if the file changed after `image` was parsed */
    struct nvdp__disk disk; /* driver of a file being created */
    struct dataset datasets[OPEN_DATASETS];
    size_t opened; /* number of datasets opened so far; the next one replaces the oldest */
};

/* A handle that is released at the end of its scope. Not used for files and datasets, because
 * closing them may write. */
#define SCOPED __attribute__((cleanup(drop))) hid_t

static void drop(hid_t *id) {
    if (*id > 0) H5Idec_ref(*id);
}

/* --- HDF5's error stack: silent during a call, then restored for the program --- */

struct hush {
    H5E_auto2_t print;
    void *user;
};

static struct hush hush_begin(void) {
    struct hush saved = {0};
    H5Eget_auto2(H5E_DEFAULT, &saved.print, &saved.user);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return saved;
}

static void hush_end(struct hush *saved) {
    H5Eset_auto2(H5E_DEFAULT, saved->print, saved->user);
}

#define HUSH __attribute__((cleanup(hush_end), unused)) struct hush hushed = hush_begin()

/* Copies the innermost description, which states the reason. */
static herr_t innermost(unsigned n, const H5E_error2_t *error, void *user) {
    const char **reason = user;
    if (n == 0 && error->desc != NULL && error->desc[0] != '\0') *reason = error->desc;
    return 0;
}

static const char *h5_reason(void) {
    const char *reason = "HDF5 reports no reason";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &reason);
    return reason;
}

static nvdp_status write_error(const struct nvdp__h5 *file) {
    if (file->disk.error != 0)
        return nvdp__fail_errno(file->ctx, file->disk.error, "%s: cannot write", file->path);
    return nvdp__fail(file->ctx, NVDP_ERR_IO, "%s: cannot write: %s", file->path, h5_reason());
}

static nvdp_status check_writable(const struct nvdp__h5 *file) {
    if (file->id >= 0) return NVDP_OK;
    return nvdp__fail(file->ctx, NVDP_ERR_STATE, "%s: the file is not open for writing",
                      file->path);
}

/* Checks the version of the library. HDF5 prints and aborts if headers and library have
 * different versions, so this comes before any call of HDF5. */
static nvdp_status check_library(struct nvdp_context *ctx) {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    bool same = major == H5_VERS_MAJOR && minor == H5_VERS_MINOR;
#if !H5_VERSION_GE(1, 14, 0)
    same = same && release == H5_VERS_RELEASE;
#endif
    if (same) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                      "HDF5: expected the library version %d.%d.%d, found %u.%u.%u", H5_VERS_MAJOR,
                      H5_VERS_MINOR, H5_VERS_RELEASE, major, minor, release);
}

/* --- types --- */

/* Returns the type in the file. HDF5 1.10 has no type for f16; the type here is the one that
 * h5py writes for float16. */
static hid_t file_type(enum nvdp__h5_type type) {
    const hid_t made = H5Tcopy(type == NVDP__H5_F64   ? H5T_IEEE_F64LE
                               : type == NVDP__H5_I64 ? H5T_STD_I64LE
                               : type == NVDP__H5_I32 ? H5T_STD_I32LE
                               : type == NVDP__H5_I16 ? H5T_STD_I16LE
                                                      : H5T_IEEE_F32LE);
    if (type == NVDP__H5_F16 && made >= 0 &&
        (H5Tset_fields(made, 15, 10, 5, 0, 10) < 0 || H5Tset_size(made, 2) < 0 ||
         H5Tset_ebias(made, 15) < 0)) {
        H5Tclose(made);
        return -1;
    }
    return made;
}

/* Fails for integers that do not fit, which HDF5 would clip. Floats may round, even to infinity. */
static H5T_conv_ret_t refuse_clipping(H5T_conv_except_t what, hid_t from, hid_t to, void *source,
                                      void *target, void *user) {
    (void)from;
    (void)source;
    (void)target;
    (void)user;
    bool clips = what == H5T_CONV_EXCEPT_RANGE_HI || what == H5T_CONV_EXCEPT_RANGE_LOW;
    return clips && H5Tget_class(to) == H5T_INTEGER ? H5T_CONV_ABORT : H5T_CONV_UNHANDLED;
}

/* --- files --- */

static nvdp_status make(struct nvdp_context *ctx, const char *path, struct nvdp__h5 **out) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    NVDP_TRY(NVDP__NEW(ctx, file, 1));
    *file = (struct nvdp__h5){.ctx = ctx, .id = -1, .lock = -1, .path = nvdp__strdup(ctx, path)};
    NVDP_TRY(NVDP__MADE(file->path));
    NVDP__HAND_OVER(out, file);
    return NVDP_OK;
}

nvdp_status nvdp__h5_create(struct nvdp_context *ctx, const char *path, const char *format,
                            struct nvdp__h5 **out) {
    NVDP_TRY(check_library(ctx));
    HUSH;
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    NVDP_TRY(make(ctx, path, &file));
    NVDP_TRY(nvdp__create_temporary(ctx, path, &file->temporary, &file->lock));
    file->id = driver_create(file->temporary, &file->disk);
    if (file->id < 0) return write_error(file);
    NVDP_TRY(nvdp__h5_set_string(file, "nvdp_format", format));
    NVDP__HAND_OVER(out, file);
    return NVDP_OK;
}

static herr_t forget_dataset(struct dataset *dataset) {
    herr_t closed = dataset->name != NULL ? H5Dclose(dataset->id) : 0;
    free(dataset->name);
    *dataset = (struct dataset){0};
    return closed;
}

static herr_t close_all(struct nvdp__h5 *file) {
    herr_t worst = 0;
    for (int i = 0; i < OPEN_DATASETS; i++) {
        if (forget_dataset(&file->datasets[i]) < 0) worst = -1;
    }
    if (file->id >= 0 && H5Fclose(file->id) < 0) worst = -1;
    file->id = -1;
    driver_close(&file->disk);
    return file->disk.error != 0 ? -1 : worst;
}

/* Parses the file in its current state on disk. */
static nvdp_status parse_again(struct nvdp__h5 *file) {
    nvdp__h5_image_free(file->image);
    file->image = NULL;
    NVDP_TRY(nvdp__h5_image_open(file->ctx, file->temporary, file->path, &file->image));
    file->changed = false;
    return NVDP_OK;
}

nvdp_status nvdp__h5_finish(struct nvdp__h5 *file) {
    HUSH;
    NVDP_TRY(check_writable(file));
    return close_all(file) < 0 ? write_error(file) : parse_again(file);
}

nvdp_status nvdp__h5_replace_text(struct nvdp__h5 *file, const char *name, const char *value) {
    const size_t size = strlen(value);
    const struct nvdp__h5_attribute *attribute =
        file->image != NULL ? nvdp__h5_image_attribute(file->image, name) : NULL;
    if (file->id >= 0 || file->temporary == NULL || attribute == NULL ||
        attribute->stored.kind != NVDP__H5_TEXT || attribute->stored.size != size + 1)
        return nvdp__fail(file->ctx, NVDP_ERR_STATE, "%s: cannot replace attribute '%s'",
                          file->path, name);
    const off_t place = attribute->bytes - file->image->at;
    const int fd = open(file->temporary, O_WRONLY | O_CLOEXEC);
    errno = 0;
    bool written = fd >= 0 && pwrite(fd, value, size, place) == (ssize_t)size;
    const int err = errno != 0 ? errno : EIO;
    if (fd >= 0 && close(fd) != 0) written = false;
    if (!written) return nvdp__fail_errno(file->ctx, err, "%s: cannot write", file->path);
    return parse_again(file);
}

bool nvdp__h5_is_unnamed(const struct nvdp__h5 *file) {
    return file->temporary != NULL && nvdp__is_unnamed(file->temporary);
}

nvdp_status nvdp__h5_commit(struct nvdp__h5 *file, bool replace) {
    HUSH;
    if (file->temporary == NULL) return check_writable(file);
    if (close_all(file) < 0) return write_error(file);
    NVDP_TRY(nvdp__publish(file->ctx, file->temporary, file->path, replace));
    free(file->temporary);
    file->temporary = NULL;
    return NVDP_OK;
}

void nvdp__h5_free(struct nvdp__h5 *file) {
    if (file == NULL) return;
    HUSH;
    close_all(file);
    nvdp__h5_image_free(file->image);
    if (file->temporary != NULL) unlink(file->temporary);
    if (file->lock >= 0) close(file->lock);
    free(file->temporary);
    free(file->path);
    free(file);
}

/* Fails for a file of another kind, or of a version that this build does not know. */
nvdp_status nvdp__h5_check(struct nvdp__h5 *file, const char *kind, int version) {
    if (!nvdp__h5_has_attribute(file, "nvdp_format"))
        return nvdp__fail(
            file->ctx, NVDP_ERR_INPUT,
            "%s: expected a file of kind '%s', but the attribute 'nvdp_format' is missing",
            file->path, kind);
    nvdp__autofree char *found = NULL;
    NVDP_TRY(nvdp__h5_get_string(file, "nvdp_format", &found));
    size_t length = strlen(kind);
    if (strncmp(found, kind, length) != 0 || found[length] != '/')
        return nvdp__fail(file->ctx, NVDP_ERR_INPUT, "%s: expected a file of kind '%s', found '%s'",
                          file->path, kind, found);
    char *end;
    errno = 0;
    long number = strtol(found + length + 1, &end, 10);
    if (errno != 0 || end == found + length + 1 || *end != '\0' || number < 1 || number > version)
        return nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                          "%s: expected a version from '%s/1' to '%s/%d', found '%s', which this "
                          "version of nvdp cannot read; use a newer one",
                          file->path, kind, kind, version, found);
    return NVDP_OK;
}

nvdp_status nvdp__h5_open(struct nvdp_context *ctx, const char *path, const char *kind, int version,
                          struct nvdp__h5 **out) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    NVDP_TRY(make(ctx, path, &file));
    NVDP_TRY(nvdp__h5_image_open(ctx, path, file->path, &file->image));
    if (kind != NULL) NVDP_TRY(nvdp__h5_check(file, kind, version));
    NVDP__HAND_OVER(out, file);
    return NVDP_OK;
}

/* --- datasets --- */

static nvdp_status remember_dataset(struct nvdp__h5 *file, const char *name, hid_t id) {
    struct dataset *slot = &file->datasets[file->opened % OPEN_DATASETS];
    char *copy = nvdp__strdup(file->ctx, name);
    if (copy == NULL) {
        H5Dclose(id);
        return NVDP_ERR_MEMORY;
    }
    herr_t closed = forget_dataset(slot); /* may write data from the chunk cache */
    *slot = (struct dataset){copy, id};
    file->opened++;
    return closed < 0 ? write_error(file) : NVDP_OK;
}

/* Opens an existing dataset, or returns a dataset that is still open. */
static nvdp_status open_dataset(struct nvdp__h5 *file, const char *name, hid_t *out) {
    for (const struct dataset *held = file->datasets; held < file->datasets + OPEN_DATASETS;
         held++) {
        if (held->name == NULL || strcmp(held->name, name) != 0) continue;
        *out = held->id;
        return NVDP_OK;
    }
    hid_t id =
        H5Lexists(file->id, name, H5P_DEFAULT) > 0 ? H5Dopen2(file->id, name, H5P_DEFAULT) : -1;
    if (id < 0) return NVDP__H5_INPUT_ERROR(file, "dataset", name, " is %s", "missing");
    NVDP_TRY(remember_dataset(file, name, id));
    *out = id;
    return NVDP_OK;
}

/* Sets chunks of about CHUNK_BYTES, consisting of whole rows if a row is no larger. Empty
 * datasets stay contiguous, because HDF5 has no chunk of zero rows. */
static hid_t creation(enum nvdp__h5_type type, int rank, const size_t *shape) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    if (plist < 0) return -1;
    hsize_t chunk[NVDP__H5_RANK];
    size_t left = CHUNK_BYTES / nvdp__h5_stored_size(type);
    bool empty = false;
    for (int d = rank - 1; d >= 0; d--) {
        empty = empty || shape[d] == 0;
        chunk[d] = shape[d] < left ? shape[d] : left;
        left = chunk[d] > 0 && chunk[d] < left ? left / chunk[d] : 1;
    }
    /* stores no times, so that equal data gives equal bytes */
    herr_t worst = H5Pset_obj_track_times(plist, false);
    if (!empty && (H5Pset_chunk(plist, rank, chunk) < 0 || H5Pset_shuffle(plist) < 0 ||
                   H5Pset_deflate(plist, DEFLATE_LEVEL) < 0))
        worst = -1;
    if (worst >= 0) return plist;
    H5Pclose(plist);
    return -1;
}

nvdp_status nvdp__h5_dataset(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                             int rank, const size_t *shape) {
    HUSH;
    NVDP_TRY(check_writable(file));
    if (rank < 1 || rank > NVDP__H5_RANK)
        return nvdp__fail(file->ctx, NVDP_ERR_ARGUMENT,
                          "%s: dataset '%s': expected 1 to %d dimensions, found %d", file->path,
                          name, NVDP__H5_RANK, rank);
    hsize_t extent[NVDP__H5_RANK] = {0};
    for (int d = 0; d < rank; d++) {
        extent[d] = shape[d];
    }
    SCOPED stored = file_type(type);
    SCOPED space = H5Screate_simple(rank, extent, NULL);
    SCOPED plist = creation(type, rank, shape);
    SCOPED links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    file->changed = true;
    hid_t id = H5Dcreate2(file->id, name, stored, space, links, plist, H5P_DEFAULT);
    if (id < 0)
        return nvdp__fail(file->ctx, NVDP_ERR_IO, "%s: dataset '%s': cannot create: %s", file->path,
                          name, h5_reason());
    return remember_dataset(file, name, id);
}

/* --- writing rows of one dataset --- */

nvdp_status nvdp__h5_write_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                                size_t first, size_t rows, const void *data) {
    HUSH;
    const bool integer = nvdp__h5_is_integer(type);
    hsize_t start[NVDP__H5_RANK] = {first}, shape[NVDP__H5_RANK] = {0};
    hid_t dataset = -1, memory = type == NVDP__H5_F64   ? H5T_NATIVE_DOUBLE
                                 : type == NVDP__H5_I64 ? H5T_NATIVE_INT64
                                 : integer              ? H5T_NATIVE_INT32
                                                        : H5T_NATIVE_FLOAT;
    size_t items = rows;
    nvdp__autofree uint16_t *rounded = NULL;
    NVDP_TRY(check_writable(file));
    NVDP_TRY(open_dataset(file, name, &dataset));
    SCOPED selected = H5Dget_space(dataset);
    SCOPED stored = H5Dget_type(dataset);
    const int rank = selected >= 0 ? H5Sget_simple_extent_dims(selected, shape, NULL) : 0;
    if (rank < 1 || H5Tget_class(stored) != (integer ? H5T_INTEGER : H5T_FLOAT))
        return NVDP__H5_INPUT_ERROR(file, "dataset", name,
                                    ": expected %s, found values of another type",
                                    integer ? "integers" : "floats");
    if (first > shape[0] || rows > shape[0] - first)
        return nvdp__h5_outside(file->ctx, file->path, name, shape[0], first, rows);
    shape[0] = rows;
    for (int d = 1; d < rank; d++)
        if (!nvdp__mul(items, shape[d], &items))
            return NVDP__H5_INPUT_ERROR(file, "dataset", name, ": its size %s", "overflows");
    SCOPED space = H5Screate_simple(rank, shape, NULL); /* shape of the data in memory */
    if (space < 0 ||
        (items > 0 && H5Sselect_hyperslab(selected, H5S_SELECT_SET, start, NULL, shape, NULL) < 0))
        return write_error(file);
    if (items == 0) return NVDP_OK;
    file->changed = true;
    SCOPED plist = H5Pcreate(H5P_DATASET_XFER);
    if (plist >= 0) H5Pset_type_conv_cb(plist, refuse_clipping, NULL);
    /* f16 in the file */
    if (!integer && type != NVDP__H5_F64 && H5Tget_size(stored) == sizeof *rounded) {
        NVDP_TRY(NVDP__NEW(file->ctx, rounded, items));
        for (size_t i = 0; i < items; i++) { /* the conversion of HDF5 might round differently */
            const float value = ((const float *)data)[i];
            rounded[i] = nvdp__f16_from_float(value);
            if ((rounded[i] & 0x7FFF) == 0x7C00 && isfinite(value))
                return nvdp__fail(
                    file->ctx, NVDP_ERR_NUMERIC,
                    "%s: dataset '%s': expected values within the range of f16, found %.9g",
                    file->path, name, (double)value);
        }
        data = rounded;
        memory = stored;
    }
    if (H5Dwrite(dataset, memory, space, selected, plist, data) < 0 || file->disk.error != 0)
        return write_error(file);
    return NVDP_OK;
}

nvdp_status nvdp__h5_write(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, const size_t *shape, const void *data) {
    NVDP_TRY(nvdp__h5_dataset(file, name, type, rank, shape));
    return nvdp__h5_write_rows(file, name, type, 0, shape[0], data);
}

nvdp_status nvdp__h5_write_sizes(struct nvdp__h5 *file, const char *name, size_t count,
                                 const size_t *sizes) {
    nvdp__autofree int64_t *wide = NULL;
    NVDP_TRY(NVDP__NEW(file->ctx, wide, count));
    for (size_t i = 0; i < count; i++)
        wide[i] = (int64_t)sizes[i];
    return nvdp__h5_write(file, name, NVDP__H5_I64, 1, &count, wide);
}

/* --- attributes of the root group --- */

static nvdp_status set_attribute(struct nvdp__h5 *file, const char *name, hid_t stored,
                                 hid_t memory, const void *value) {
    NVDP_TRY(check_writable(file));
    file->changed = true;
    SCOPED space = H5Screate(H5S_SCALAR);
    if (H5Aexists(file->id, name) > 0) H5Adelete(file->id, name);
    SCOPED attribute = H5Acreate2(file->id, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, memory, value) < 0) return write_error(file);
    return NVDP_OK;
}

nvdp_status nvdp__h5_set_string(struct nvdp__h5 *file, const char *name, const char *value) {
    HUSH;
    SCOPED type = H5Tcopy(H5T_C_S1);
    /* fixed length: strings of variable length lie in a heap, and many readers do not check the
     * references to the heap */
    if (H5Tset_size(type, strlen(value) + 1) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)
        return write_error(file);
    return set_attribute(file, name, type, type, value);
}

nvdp_status nvdp__h5_set_real(struct nvdp__h5 *file, const char *name, double value) {
    HUSH;
    return set_attribute(file, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

nvdp_status nvdp__h5_set_int(struct nvdp__h5 *file, const char *name, int64_t value) {
    HUSH;
    return set_attribute(file, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

/* --- the current contents --- */

nvdp_status nvdp__h5_contents(struct nvdp__h5 *file, struct nvdp__h5_image **image) {
    if (file->image == NULL || file->changed) {
        if (file->id < 0)
            return nvdp__fail(file->ctx, NVDP_ERR_STATE, "%s: the file is already closed",
                              file->path);
        HUSH;
        if (H5Fflush(file->id, H5F_SCOPE_LOCAL) < 0 || file->disk.error != 0)
            return write_error(file);
        NVDP_TRY(parse_again(file));
    }
    *image = file->image;
    return NVDP_OK;
}
