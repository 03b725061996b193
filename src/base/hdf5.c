#include "base/hdf5.h"

#include "base/f16.h"
#include "base/file.h"
#include "base/hdf5_disk.h"
#include <errno.h>
#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_RANK = 4,
    CHUNK_BYTES = 1 << 18,
    DEFLATE_LEVEL = 4,
    OPEN_DATASETS = 32, /* kept open, so that slices meet in the chunk cache */
    STRING_LIMIT = 1 << 24
};

struct dataset {
    char *name;
    hid_t id;
};

struct nvdp__h5 {
    struct nvdp_context *ctx;
    char *path;
    char *beside; /* where a file being created lies; NULL in one opened for reading */
    int lock;     /* on it, or -1 */
    hid_t id;
    bool writable;
    struct nvdp__disk disk; /* under a file being created */
    struct dataset datasets[OPEN_DATASETS];
    size_t opened; /* datasets opened so far; the next takes the place of the oldest */
};

/* A handle that is given back at the end of its scope; for all but files and datasets, whose
 * closing may write. */
#define SCOPED __attribute__((cleanup(drop))) hid_t

static void drop(hid_t *id) {
    if (*id > 0) H5Idec_ref(*id);
}

/* --- HDF5's own error stack: silent during a call, and restored for the program around us --- */

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

/* Keeps the innermost description, which is the one that says why. */
static herr_t innermost(unsigned n, const H5E_error2_t *error, void *user) {
    const char **reason = user;
    if (n == 0 && error->desc != NULL && error->desc[0] != '\0') *reason = error->desc;
    return 0;
}

static const char *h5_reason(void) {
    const char *reason = "HDF5 gives no reason";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &reason);
    return reason;
}

static nvdp_status write_error(const struct nvdp__h5 *file) {
    if (file->disk.error != 0)
        return nvdp__fail_errno(file->ctx, file->disk.error, "%s: cannot write", file->path);
    return nvdp__fail(file->ctx, NVDP_ERR_IO, "%s: cannot write: %s", file->path, h5_reason());
}

#define INPUT_ERROR(file, kind, name, format, ...)                                                 \
    nvdp__fail((file)->ctx, NVDP_ERR_INPUT, "%s: " kind " '%s'" format, (file)->path, name,        \
               __VA_ARGS__)

static nvdp_status read_error(const struct nvdp__h5 *file, const char *kind, const char *name) {
    return nvdp__fail(file->ctx, NVDP_ERR_INPUT, "%s: %s '%s': cannot read: %s", file->path, kind,
                      name, h5_reason());
}

static nvdp_status check_open(const struct nvdp__h5 *file) {
    if (file->id >= 0) return NVDP_OK;
    return nvdp__fail(file->ctx, NVDP_ERR_STATE, "%s: already closed", file->path);
}

static nvdp_status check_writable(const struct nvdp__h5 *file) {
    if (file->id >= 0 && file->writable) return NVDP_OK;
    return nvdp__fail(file->ctx, NVDP_ERR_STATE, "%s: not open for writing", file->path);
}

/* HDF5 prints and aborts where it meets headers of another version: it must not get to see them. */
static nvdp_status check_library(struct nvdp_context *ctx) {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    bool same = major == H5_VERS_MAJOR && minor == H5_VERS_MINOR;
#if !H5_VERSION_GE(1, 14, 0)
    same = same && release == H5_VERS_RELEASE;
#endif
    if (same) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "HDF5: expected version %d.%d.%d, found %u.%u.%u",
                      H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE, major, minor, release);
}

/* --- types --- */

/* HDF5 1.10 has no type for f16; this one is what h5py writes for float16. */
static hid_t f16_type(void) {
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    if (type >= 0 && (H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 || H5Tset_size(type, 2) < 0 ||
                      H5Tset_ebias(type, 15) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

static bool is_f16(hid_t type) {
    size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
    return H5Tget_class(type) == H5T_FLOAT && H5Tget_size(type) == 2 &&
           H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
           exponent_bits == 5 && mantissa_bits == 10 && H5Tget_ebias(type) == 15;
}

static hid_t file_type(enum nvdp__h5_type type) {
    return type == NVDP__H5_F16   ? f16_type()
           : type == NVDP__H5_F32 ? H5Tcopy(H5T_IEEE_F32LE)
           : type == NVDP__H5_F64 ? H5Tcopy(H5T_IEEE_F64LE)
           : type == NVDP__H5_I64 ? H5Tcopy(H5T_STD_I64LE)
           : type == NVDP__H5_I32 ? H5Tcopy(H5T_STD_I32LE)
                                  : H5Tcopy(H5T_STD_I16LE);
}

static bool is_integer(enum nvdp__h5_type type) {
    return type == NVDP__H5_I64 || type == NVDP__H5_I32 || type == NVDP__H5_I16;
}

static hid_t memory_type(enum nvdp__h5_type type) {
    return type == NVDP__H5_F64   ? H5T_NATIVE_DOUBLE
           : type == NVDP__H5_I64 ? H5T_NATIVE_INT64
           : is_integer(type)     ? H5T_NATIVE_INT32
                                  : H5T_NATIVE_FLOAT;
}

static size_t file_size(enum nvdp__h5_type type) {
    static const size_t sizes[] = {2, 4, 8, 8, 4, 2};
    return sizes[type];
}

static void type_text(hid_t type, char text[16]) {
    H5T_class_t class = H5Tget_class(type);
    int bits = (int)H5Tget_size(type) * 8;
    if (class == H5T_FLOAT) {
        snprintf(text, 16, bits == 16 && !is_f16(type) ? "bf%d" : "f%d", bits);
    } else if (class == H5T_INTEGER) {
        snprintf(text, 16, "%c%d", H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', bits);
    } else {
        snprintf(text, 16, "%s", class == H5T_STRING ? "string" : "other");
    }
}

/* HDF5 clips an integer that does not fit; we refuse it.  Floats may round, even to infinity. */
static H5T_conv_ret_t refuse_clipping(H5T_conv_except_t what, hid_t from, hid_t to, void *source,
                                      void *target, void *user) {
    (void)from;
    (void)source;
    (void)target;
    (void)user;
    bool clips = what == H5T_CONV_EXCEPT_RANGE_HI || what == H5T_CONV_EXCEPT_RANGE_LOW;
    return clips && H5Tget_class(to) == H5T_INTEGER ? H5T_CONV_ABORT : H5T_CONV_UNHANDLED;
}

static hid_t transfer(void) {
    hid_t plist = H5Pcreate(H5P_DATASET_XFER);
    if (plist >= 0) H5Pset_type_conv_cb(plist, refuse_clipping, NULL);
    return plist;
}

/* --- files --- */

static nvdp_status make(struct nvdp_context *ctx, const char *path, struct nvdp__h5 **out) {
    struct nvdp__h5 *file = nvdp__calloc(ctx, 1, sizeof *file);
    if (file == NULL) return NVDP_ERR_MEMORY;
    file->ctx = ctx;
    file->id = -1;
    file->lock = -1;
    file->path = nvdp__strdup(ctx, path);
    if (file->path == NULL) {
        free(file);
        return NVDP_ERR_MEMORY;
    }
    *out = file;
    return NVDP_OK;
}

nvdp_status nvdp__h5_create(struct nvdp_context *ctx, const char *path, const char *format,
                            struct nvdp__h5 **out) {
    NVDP_RETURN_IF_FAILED(check_library(ctx));
    HUSH;
    nvdp_status status = NVDP_OK;
    struct nvdp__h5 *file = NULL;
    NVDP_TRY(make(ctx, path, &file));
    NVDP_TRY(nvdp__beside(ctx, path, &file->beside, &file->lock));
    file->writable = true;
    file->id = nvdp__disk_create(file->beside, &file->disk);
    if (file->id < 0) NVDP_TRY(write_error(file));
    NVDP_TRY(nvdp__h5_set_string(file, "nvdp_format", format));
    NVDP__HAND_OVER(out, file);
cleanup:
    nvdp__h5_free(file);
    return status;
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
    nvdp__disk_close(&file->disk);
    return file->disk.error != 0 ? -1 : worst;
}

static nvdp_status commit(struct nvdp__h5 *file, bool replace) {
    HUSH;
    NVDP_RETURN_IF_FAILED(check_writable(file));
    if (close_all(file) < 0) return write_error(file);
    nvdp_status status = nvdp__publish(file->ctx, file->beside, file->path, replace);
    free(file->beside);
    file->beside = NULL;
    return status;
}

nvdp_status nvdp__h5_commit(struct nvdp__h5 *file) {
    return commit(file, true);
}

nvdp_status nvdp__h5_commit_new(struct nvdp__h5 *file) {
    return commit(file, false);
}

void nvdp__h5_free(struct nvdp__h5 *file) {
    if (file == NULL) return;
    HUSH;
    close_all(file);
    if (file->beside != NULL) unlink(file->beside);
    if (file->lock >= 0) close(file->lock);
    free(file->beside);
    free(file->path);
    free(file);
}

/* Refuses a file of another kind, or of a version that this build does not know. */
static nvdp_status check_format(struct nvdp__h5 *file, const char *kind, int version) {
    if (!nvdp__h5_has_attribute(file, "nvdp_format"))
        return nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                          "%s: expected a file of kind '%s', found no attribute 'nvdp_format'",
                          file->path, kind);
    char *found = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__h5_get_string(file, "nvdp_format", &found));
    nvdp_status status = NVDP_OK;
    size_t length = strlen(kind);
    if (strncmp(found, kind, length) != 0 || found[length] != '/')
        NVDP_TRY(nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                            "%s: expected a file of kind '%s', found '%s'", file->path, kind,
                            found));
    char *end;
    errno = 0;
    long number = strtol(found + length + 1, &end, 10);
    if (errno != 0 || end == found + length + 1 || *end != '\0' || number < 1 || number > version)
        NVDP_TRY(nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                            "%s: expected '%s/1' to '%s/%d', found '%s', which this version cannot "
                            "read",
                            file->path, kind, kind, version, found));
cleanup:
    free(found);
    return status;
}

nvdp_status nvdp__h5_open(struct nvdp_context *ctx, const char *path, const char *kind, int version,
                          struct nvdp__h5 **out) {
    NVDP_RETURN_IF_FAILED(check_library(ctx));
    HUSH;
    nvdp_status status = NVDP_OK;
    struct nvdp__h5 *file = NULL;
    int probe = -1;
    if (nvdp__is_directory(path)) return nvdp__fail_errno(ctx, EISDIR, "%s: cannot read", path);
    NVDP_RETURN_IF_FAILED(nvdp__open_to_read(ctx, path, true, &probe));
    close(probe);
    if (H5Fis_hdf5(path) <= 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected an HDF5 file, found another kind",
                          path);
    NVDP_TRY(make(ctx, path, &file));
    file->id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file->id < 0)
        NVDP_TRY(
            nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: not a whole HDF5 file: %s", path, h5_reason()));
    if (kind != NULL) NVDP_TRY(check_format(file, kind, version));
    NVDP__HAND_OVER(out, file);
cleanup:
    nvdp__h5_free(file);
    return status;
}

/* --- datasets --- */

/* Every part of a path such as "group/name" is there, as a link inside this very file. */
static bool link_exists(struct nvdp__h5 *file, const char *name) {
    char part[1024];
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof part) return false;
    for (size_t i = 1; i <= length; i++) {
        if (name[i] != '/' && name[i] != '\0') continue;
        memcpy(part, name, i);
        part[i] = '\0';
        H5L_info_t info;
        if (H5Lexists(file->id, part, H5P_DEFAULT) <= 0 ||
            H5Lget_info(file->id, part, &info, H5P_DEFAULT) < 0 || info.type == H5L_TYPE_EXTERNAL)
            return false;
    }
    return true;
}

bool nvdp__h5_has(struct nvdp__h5 *file, const char *name) {
    HUSH;
    if (file->id < 0 || !link_exists(file, name)) return false;
    SCOPED dataset = H5Dopen2(file->id, name, H5P_DEFAULT);
    return dataset >= 0;
}

static nvdp_status remember_dataset(struct nvdp__h5 *file, const char *name, hid_t id) {
    struct dataset *slot = &file->datasets[file->opened % OPEN_DATASETS];
    char *copy = nvdp__strdup(file->ctx, name);
    if (copy == NULL) {
        H5Dclose(id);
        return NVDP_ERR_MEMORY;
    }
    herr_t closed = forget_dataset(slot); /* may write what the chunk cache held */
    *slot = (struct dataset){copy, id};
    file->opened++;
    return closed < 0 && file->writable ? write_error(file) : NVDP_OK;
}

static nvdp_status open_dataset(struct nvdp__h5 *file, const char *name, hid_t *out) {
    for (const struct dataset *held = file->datasets; held < file->datasets + OPEN_DATASETS;
         held++) {
        if (held->name == NULL || strcmp(held->name, name) != 0) continue;
        *out = held->id;
        return NVDP_OK;
    }
    if (!link_exists(file, name)) return INPUT_ERROR(file, "dataset", name, " is %s", "missing");
    hid_t id = H5Dopen2(file->id, name, H5P_DEFAULT);
    if (id < 0) return read_error(file, "dataset", name);
    /* a file may tell HDF5 to take a dataset's bytes from any other file: not from ours */
    SCOPED plist = H5Dget_create_plist(id);
    if (plist < 0 || H5Pget_layout(plist) == H5D_VIRTUAL || H5Pget_external_count(plist) != 0) {
        H5Dclose(id);
        return INPUT_ERROR(file, "dataset", name,
                           ": expected data inside the file, found a reference to %s", "another");
    }
    NVDP_RETURN_IF_FAILED(remember_dataset(file, name, id));
    *out = id;
    return NVDP_OK;
}

static nvdp_status get_shape(struct nvdp__h5 *file, const char *name, hid_t dataset, int *rank,
                             hsize_t shape[MAX_RANK]) {
    SCOPED space = H5Dget_space(dataset);
    if (space < 0) return read_error(file, "dataset", name);
    *rank = H5Sget_simple_extent_ndims(space);
    if (H5Sget_simple_extent_type(space) != H5S_SIMPLE || *rank < 1 || *rank > MAX_RANK)
        return INPUT_ERROR(file, "dataset", name, ": expected 1 to %d dimensions, found %d",
                           MAX_RANK, *rank > 0 ? *rank : 0);
    H5Sget_simple_extent_dims(space, shape, NULL);
    return NVDP_OK;
}

static nvdp_status check_class(struct nvdp__h5 *file, const char *name, hid_t found,
                               enum nvdp__h5_type type) {
    H5T_class_t want = is_integer(type) ? H5T_INTEGER : H5T_FLOAT;
    size_t size = H5Tget_size(found);
    bool usual = size == 1 || size == 2 || size == 4 || size == 8; /* a damaged file may say 5442 */
    if (H5Tget_class(found) == want && usual) return NVDP_OK;
    char text[16];
    type_text(found, text);
    return INPUT_ERROR(file, "dataset", name, ": expected %s, found %s",
                       is_integer(type) ? "integers" : "floats", text);
}

/* Chunks of about CHUNK_BYTES, of whole rows where a row is no larger.  Empty datasets stay
 * contiguous: HDF5 has no chunk of zero rows. */
static hid_t creation(enum nvdp__h5_type type, int rank, const size_t *shape) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    if (plist < 0) return -1;
    hsize_t chunk[MAX_RANK];
    size_t left = CHUNK_BYTES / file_size(type);
    bool empty = false;
    for (int d = rank - 1; d >= 0; d--) {
        empty = empty || shape[d] == 0;
        chunk[d] = shape[d] < left ? shape[d] : left;
        left = chunk[d] > 0 && chunk[d] < left ? left / chunk[d] : 1;
    }
    herr_t worst = H5Pset_obj_track_times(plist, false); /* equal data, equal bytes */
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
    NVDP_RETURN_IF_FAILED(check_writable(file));
    if (rank < 1 || rank > MAX_RANK)
        return nvdp__fail(file->ctx, NVDP_ERR_ARGUMENT,
                          "%s: dataset '%s': expected 1 to %d dimensions, found %d", file->path,
                          name, MAX_RANK, rank);
    hsize_t extent[MAX_RANK] = {0};
    for (int d = 0; d < rank; d++) {
        extent[d] = shape[d];
    }
    SCOPED stored = file_type(type);
    SCOPED space = H5Screate_simple(rank, extent, NULL);
    SCOPED plist = creation(type, rank, shape);
    SCOPED links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t id = H5Dcreate2(file->id, name, stored, space, links, plist, H5P_DEFAULT);
    if (id < 0)
        return nvdp__fail(file->ctx, NVDP_ERR_IO, "%s: dataset '%s': cannot create: %s", file->path,
                          name, h5_reason());
    return remember_dataset(file, name, id);
}

nvdp_status nvdp__h5_shape(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, size_t *shape) {
    HUSH;
    hid_t dataset;
    hsize_t extent[MAX_RANK];
    int found;
    NVDP_RETURN_IF_FAILED(check_open(file));
    NVDP_RETURN_IF_FAILED(open_dataset(file, name, &dataset));
    SCOPED stored = H5Dget_type(dataset);
    NVDP_RETURN_IF_FAILED(check_class(file, name, stored, type));
    NVDP_RETURN_IF_FAILED(get_shape(file, name, dataset, &found, extent));
    if (found != rank)
        return INPUT_ERROR(file, "dataset", name, ": expected %d dimension%s, found %d", rank,
                           rank == 1 ? "" : "s", found);
    for (int d = 0; d < rank; d++) {
        shape[d] = (size_t)extent[d];
    }
    return NVDP_OK;
}

/* --- rows of one dataset, between file and memory --- */

struct slice {
    hid_t dataset;
    hid_t type;   /* in the file */
    hid_t space;  /* in the file, the rows selected */
    hid_t memory; /* as many rows in memory */
    size_t items;
};

static void close_slice(struct slice *slice) {
    drop(&slice->type);
    drop(&slice->space);
    drop(&slice->memory);
}

#define SCOPED_SLICE __attribute__((cleanup(close_slice))) struct slice

/* The caller closes the slice, after a failure too. */
static nvdp_status open_slice(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                              size_t first, size_t rows, struct slice *slice) {
    hsize_t start[MAX_RANK] = {first};
    hsize_t shape[MAX_RANK] = {0};
    int rank;
    NVDP_RETURN_IF_FAILED(open_dataset(file, name, &slice->dataset));
    NVDP_RETURN_IF_FAILED(get_shape(file, name, slice->dataset, &rank, shape));
    slice->type = H5Dget_type(slice->dataset);
    NVDP_RETURN_IF_FAILED(check_class(file, name, slice->type, type));
    if (first > shape[0] || rows > shape[0] - first)
        return nvdp__fail(file->ctx, NVDP_ERR_ARGUMENT,
                          "%s: dataset '%s': expected rows within %" PRIuHSIZE
                          ", found %zu from row %zu",
                          file->path, name, shape[0], rows, first);
    shape[0] = rows;
    slice->items = rows;
    for (int d = 1; d < rank; d++) {
        if (!nvdp__mul(slice->items, shape[d], &slice->items))
            return INPUT_ERROR(file, "dataset", name, ": its size %s", "overflows");
    }
    slice->space = H5Dget_space(slice->dataset);
    slice->memory = H5Screate_simple(rank, shape, NULL);
    if (slice->space < 0 || slice->memory < 0 ||
        (slice->items > 0 &&
         H5Sselect_hyperslab(slice->space, H5S_SELECT_SET, start, NULL, shape, NULL) < 0))
        return read_error(file, "dataset", name);
    return NVDP_OK;
}

/* We round to f16 ourselves, to nearest even; HDF5's own conversion is not relied upon. */
static nvdp_status round_to_f16(struct nvdp__h5 *file, const char *name, size_t items,
                                const float *data, uint16_t *rounded) {
    for (size_t i = 0; i < items; i++) {
        rounded[i] = nvdp__f16_from_float(data[i]);
        if ((rounded[i] & 0x7FFF) == 0x7C00 && isfinite(data[i]))
            return nvdp__fail(file->ctx, NVDP_ERR_NUMERIC,
                              "%s: dataset '%s': expected values within the range of f16, found "
                              "%.9g",
                              file->path, name, (double)data[i]);
    }
    return NVDP_OK;
}

nvdp_status nvdp__h5_write_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                                size_t first, size_t rows, const void *data) {
    HUSH;
    NVDP_RETURN_IF_FAILED(check_writable(file));
    SCOPED_SLICE slice = {0};
    NVDP_RETURN_IF_FAILED(open_slice(file, name, type, first, rows, &slice));
    if (slice.items == 0) return NVDP_OK;
    nvdp_status status = NVDP_OK;
    uint16_t *rounded = NULL;
    hid_t memory = memory_type(type);
    hid_t plist = transfer();
    if (type != NVDP__H5_F64 && is_f16(slice.type)) {
        rounded = nvdp__calloc(file->ctx, slice.items, sizeof *rounded);
        if (rounded == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
        NVDP_TRY(round_to_f16(file, name, slice.items, data, rounded));
        data = rounded;
        memory = slice.type;
    }
    if (H5Dwrite(slice.dataset, memory, slice.memory, slice.space, plist, data) < 0 ||
        file->disk.error != 0)
        NVDP_TRY(write_error(file));
cleanup:
    drop(&plist);
    free(rounded);
    return status;
}

nvdp_status nvdp__h5_write(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, const size_t *shape, const void *data) {
    NVDP_RETURN_IF_FAILED(nvdp__h5_dataset(file, name, type, rank, shape));
    return nvdp__h5_write_rows(file, name, type, 0, shape[0], data);
}

nvdp_status nvdp__h5_write_sizes(struct nvdp__h5 *file, const char *name, size_t count,
                                 const size_t *sizes) {
    int64_t *wide = nvdp__calloc(file->ctx, count, sizeof *wide);
    if (wide == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        wide[i] = (int64_t)sizes[i];
    }
    nvdp_status status = nvdp__h5_write(file, name, NVDP__H5_I64, 1, &count, wide);
    free(wide);
    return status;
}

static nvdp_status read_f16(struct nvdp__h5 *file, const char *name, const struct slice *slice,
                            enum nvdp__h5_type type, void *data) {
    SCOPED memory = f16_type();
    uint16_t *stored = nvdp__calloc(file->ctx, slice->items, sizeof *stored);
    if (stored == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = NVDP_OK;
    if (memory < 0 ||
        H5Dread(slice->dataset, memory, slice->memory, slice->space, H5P_DEFAULT, stored) < 0)
        NVDP_TRY(read_error(file, "dataset", name));
    for (size_t i = 0; i < slice->items; i++) {
        float value = nvdp__f16_to_float(stored[i]);
        if (type == NVDP__H5_F64) {
            ((double *)data)[i] = value;
        } else {
            ((float *)data)[i] = value;
        }
    }
cleanup:
    free(stored);
    return status;
}

/* Unsigned integers as wide as the signed ones asked for: HDF5 may pass them on without a look at
 * the sign, so we read them as what they are. */
static nvdp_status read_unsigned(struct nvdp__h5 *file, const char *name, const struct slice *slice,
                                 enum nvdp__h5_type type, void *data) {
    bool wide = type == NVDP__H5_I64;
    if (H5Dread(slice->dataset, wide ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32, slice->memory,
                slice->space, H5P_DEFAULT, data) < 0)
        return read_error(file, "dataset", name);
    for (size_t i = 0; i < slice->items; i++) {
        if ((wide ? ((const int64_t *)data)[i] : ((const int32_t *)data)[i]) < 0)
            return INPUT_ERROR(file, "dataset", name,
                               ": expected signed integers of %zu bits, found a larger one",
                               8 * file_size(type));
    }
    return NVDP_OK;
}

nvdp_status nvdp__h5_read_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                               size_t first, size_t rows, void *data) {
    HUSH;
    NVDP_RETURN_IF_FAILED(check_open(file));
    SCOPED_SLICE slice = {0};
    NVDP_RETURN_IF_FAILED(open_slice(file, name, type, first, rows, &slice));
    if (slice.items == 0) return NVDP_OK;
    if (is_f16(slice.type)) return read_f16(file, name, &slice, type, data);
    if (is_integer(type) && H5Tget_sign(slice.type) == H5T_SGN_NONE &&
        H5Tget_size(slice.type) == file_size(type))
        return read_unsigned(file, name, &slice, type, data);
    SCOPED plist = transfer();
    if (H5Dread(slice.dataset, memory_type(type), slice.memory, slice.space, plist, data) < 0)
        return read_error(file, "dataset", name);
    return NVDP_OK;
}

/* --- what is inside --- */

struct dataset_visit {
    void (*visit)(const char *name, int rank, const size_t *shape, const char *type, void *user);
    void *user;
};

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *user) {
    const struct dataset_visit *visit = user;
    if (info->type != H5L_TYPE_HARD) return 0;
    SCOPED id = H5Oopen(group, name, H5P_DEFAULT);
    if (id < 0) return -1;
    if (H5Iget_type(id) != H5I_DATASET) return 0;
    hsize_t extent[H5S_MAX_RANK] = {0};
    size_t shape[H5S_MAX_RANK] = {0};
    char text[16] = "other";
    SCOPED space = H5Dget_space(id);
    SCOPED type = H5Dget_type(id);
    int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    for (int d = 0; d < rank; d++) {
        shape[d] = (size_t)extent[d];
    }
    type_text(type, text);
    visit->visit(name, rank, shape, text, visit->user);
    return 0;
}

nvdp_status nvdp__h5_list(struct nvdp__h5 *file,
                          void (*visit)(const char *name, int rank, const size_t *shape,
                                        const char *type, void *user),
                          void *user) {
    HUSH;
    NVDP_RETURN_IF_FAILED(check_open(file));
    struct dataset_visit all = {visit, user};
    if (H5Lvisit(file->id, H5_INDEX_NAME, H5_ITER_INC, visit_link, &all) < 0)
        return read_error(file, "group", "/");
    return NVDP_OK;
}

/* --- attributes of the root group --- */

static nvdp_status set_attribute(struct nvdp__h5 *file, const char *name, hid_t stored,
                                 hid_t memory, const void *value) {
    NVDP_RETURN_IF_FAILED(check_writable(file));
    SCOPED space = H5Screate(H5S_SCALAR);
    if (H5Aexists(file->id, name) > 0) H5Adelete(file->id, name);
    SCOPED attribute = H5Acreate2(file->id, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, memory, value) < 0) return write_error(file);
    return NVDP_OK;
}

nvdp_status nvdp__h5_set_string(struct nvdp__h5 *file, const char *name, const char *value) {
    HUSH;
    SCOPED type = H5Tcopy(H5T_C_S1);
    /* of fixed length: those of variable length lie in a heap, which many readers trust blindly */
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

bool nvdp__h5_has_attribute(struct nvdp__h5 *file, const char *name) {
    HUSH;
    return file->id >= 0 && H5Aexists(file->id, name) > 0;
}

/* One attribute of a single value, opened. */
struct attribute {
    hid_t id;
    hid_t type;
    H5T_class_t class;
};

static void close_attribute(struct attribute *attribute) {
    drop(&attribute->type);
    drop(&attribute->id);
}

#define SCOPED_ATTRIBUTE __attribute__((cleanup(close_attribute))) struct attribute

/* The caller closes it, after a failure too. */
static nvdp_status open_attribute(struct nvdp__h5 *file, const char *name,
                                  struct attribute *attribute) {
    NVDP_RETURN_IF_FAILED(check_open(file));
    if (H5Aexists(file->id, name) <= 0)
        return INPUT_ERROR(file, "attribute", name, " is %s", "missing");
    attribute->id = H5Aopen(file->id, name, H5P_DEFAULT);
    if (attribute->id < 0) return read_error(file, "attribute", name);
    attribute->type = H5Aget_type(attribute->id);
    SCOPED space = H5Aget_space(attribute->id);
    if (attribute->type < 0 || space < 0) return read_error(file, "attribute", name);
    hssize_t values = H5Sget_simple_extent_npoints(space);
    if (values != 1)
        return INPUT_ERROR(file, "attribute", name, ": expected one value, found %lld",
                           (long long)values);
    attribute->class = H5Tget_class(attribute->type);
    return NVDP_OK;
}

static nvdp_status wrong_class(struct nvdp__h5 *file, const char *name, const char *expected,
                               hid_t found) {
    char text[16];
    type_text(found, text);
    return INPUT_ERROR(file, "attribute", name, ": expected %s, found %s", expected, text);
}

/* A string of variable length belongs to HDF5; one of fixed length may have no NUL. */
static nvdp_status read_string(struct nvdp__h5 *file, const char *name,
                               const struct attribute *attribute, char **out) {
    if (H5Tis_variable_str(attribute->type) > 0) {
        char *text = NULL;
        if (H5Aread(attribute->id, attribute->type, &text) < 0)
            return read_error(file, "attribute", name);
        char *copy = nvdp__strdup(file->ctx, text != NULL ? text : "");
        if (text != NULL) H5free_memory(text);
        if (copy == NULL) return NVDP_ERR_MEMORY;
        *out = copy;
        return NVDP_OK;
    }
    size_t size = H5Tget_size(attribute->type);
    if (size > STRING_LIMIT) return read_error(file, "attribute", name);
    char *text = nvdp__calloc(file->ctx, size + 1, 1);
    if (text == NULL) return NVDP_ERR_MEMORY;
    if (H5Aread(attribute->id, attribute->type, text) < 0) {
        free(text);
        return read_error(file, "attribute", name);
    }
    *out = text;
    return NVDP_OK;
}

static nvdp_status read_real(struct nvdp__h5 *file, const char *name,
                             const struct attribute *attribute, double *value) {
    double read = 0;
    if (H5Aread(attribute->id, H5T_NATIVE_DOUBLE, &read) < 0)
        return read_error(file, "attribute", name);
    *value = read;
    return NVDP_OK;
}

/* One wider than int64_t, or as wide and unsigned, is read so that nothing is clipped. */
static nvdp_status read_int(struct nvdp__h5 *file, const char *name,
                            const struct attribute *attribute, int64_t *value) {
    size_t size = H5Tget_size(attribute->type);
    bool fits = size < 8 || (size == 8 && H5Tget_sign(attribute->type) == H5T_SGN_2);
    int64_t narrow = 0;
    uint64_t wide = 0;
    if ((fits ? H5Aread(attribute->id, H5T_NATIVE_INT64, &narrow)
              : H5Aread(attribute->id, H5T_NATIVE_UINT64, &wide)) < 0)
        return read_error(file, "attribute", name);
    if (!fits && (size > 8 || wide > INT64_MAX))
        return INPUT_ERROR(file, "attribute", name,
                           ": expected an integer of %d bits, found a larger one", 64);
    *value = fits ? narrow : (int64_t)wide;
    return NVDP_OK;
}

nvdp_status nvdp__h5_get_string(struct nvdp__h5 *file, const char *name, char **value) {
    HUSH;
    SCOPED_ATTRIBUTE attribute = {0};
    NVDP_RETURN_IF_FAILED(open_attribute(file, name, &attribute));
    return attribute.class == H5T_STRING ? read_string(file, name, &attribute, value)
                                         : wrong_class(file, name, "a string", attribute.type);
}

nvdp_status nvdp__h5_get_real(struct nvdp__h5 *file, const char *name, double *value) {
    HUSH;
    SCOPED_ATTRIBUTE attribute = {0};
    NVDP_RETURN_IF_FAILED(open_attribute(file, name, &attribute));
    return attribute.class == H5T_FLOAT || attribute.class == H5T_INTEGER
               ? read_real(file, name, &attribute, value)
               : wrong_class(file, name, "a number", attribute.type);
}

nvdp_status nvdp__h5_get_int(struct nvdp__h5 *file, const char *name, int64_t *value) {
    HUSH;
    SCOPED_ATTRIBUTE attribute = {0};
    NVDP_RETURN_IF_FAILED(open_attribute(file, name, &attribute));
    return attribute.class == H5T_INTEGER ? read_int(file, name, &attribute, value)
                                          : wrong_class(file, name, "an integer", attribute.type);
}

/* The value of attribute `name` as text; free(). */
static nvdp_status print_attribute(struct nvdp__h5 *file, const char *name, char **text) {
    SCOPED_ATTRIBUTE attribute = {0};
    int64_t whole = 0;
    double real = 0;
    char *printed;
    NVDP_RETURN_IF_FAILED(open_attribute(file, name, &attribute));
    switch (attribute.class) {
    case H5T_STRING:
        return read_string(file, name, &attribute, text);
    case H5T_INTEGER:
        NVDP_RETURN_IF_FAILED(read_int(file, name, &attribute, &whole));
        printed = nvdp__format(file->ctx, "%lld", (long long)whole);
        break;
    case H5T_FLOAT:
        NVDP_RETURN_IF_FAILED(read_real(file, name, &attribute, &real));
        printed = nvdp__format(file->ctx, "%.15g", real);
        if (printed != NULL && strtod(printed, NULL) != real && !isnan(real)) {
            free(printed); /* digits enough to read the same number back */
            printed = nvdp__format(file->ctx, "%.17g", real);
        }
        break;
    default:
        printed = nvdp__strdup(file->ctx, "(of another type)");
    }
    if (printed == NULL) return NVDP_ERR_MEMORY;
    *text = printed;
    return NVDP_OK;
}

struct attribute_visit {
    struct nvdp__h5 *file;
    void (*visit)(const char *name, const char *value, void *user);
    void *user;
    nvdp_status status;
};

static herr_t visit_attribute(hid_t root, const char *name, const H5A_info_t *info, void *user) {
    (void)root;
    (void)info;
    struct attribute_visit *visit = user;
    char *text = NULL;
    visit->status = print_attribute(visit->file, name, &text);
    if (visit->status == NVDP_ERR_INPUT) { /* an array, a damaged value: the others still show */
        visit->status = NVDP_OK;
        visit->visit(name, "(not a single value)", visit->user);
        return 0;
    }
    if (visit->status != NVDP_OK) return -1;
    visit->visit(name, text, visit->user);
    free(text);
    return 0;
}

nvdp_status nvdp__h5_list_attributes(struct nvdp__h5 *file,
                                     void (*visit)(const char *name, const char *value, void *user),
                                     void *user) {
    HUSH;
    NVDP_RETURN_IF_FAILED(check_open(file));
    struct attribute_visit all = {file, visit, user, NVDP_OK};
    herr_t done = H5Aiterate2(file->id, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_attribute, &all);
    if (all.status != NVDP_OK) return all.status;
    return done < 0 ? read_error(file, "group", "/") : NVDP_OK;
}

/* --- a digest of what is said, however it is laid out --- */

struct digest {
    struct nvdp__h5 *file;
    const char *except; /* an attribute */
    crypto_hash_sha256_state sha;
    nvdp_status status;
};

static void feed(struct digest *to, size_t count, const void *bytes) {
    crypto_hash_sha256_update(&to->sha, bytes, count);
}

/* Eight bytes, the least significant first. */
static void feed_number(struct digest *to, uint64_t number) {
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(number >> 8 * i);
    }
    feed(to, sizeof bytes, bytes);
}

static void feed_text(struct digest *to, const char *text) {
    feed_number(to, strlen(text));
    feed(to, strlen(text), text);
}

static nvdp_status feed_values(struct digest *to, const char *name, enum nvdp__h5_type type,
                               size_t rows, size_t row_bytes) {
    nvdp_status status = NVDP_OK;
    struct nvdp__h5 *file = to->file;
    size_t step = row_bytes > 0 && row_bytes < CHUNK_BYTES ? CHUNK_BYTES / row_bytes : 1;
    SCOPED little = file_type(type); /* little-endian in memory too */
    unsigned char *bytes = nvdp__calloc(file->ctx, step, row_bytes);
    if (bytes == NULL) return NVDP_ERR_MEMORY;
    for (size_t first = 0; first < rows && row_bytes > 0; first += step) {
        size_t n = rows - first < step ? rows - first : step;
        SCOPED_SLICE slice = {0};
        NVDP_TRY(open_slice(file, name, type, first, n, &slice));
        if (H5Dread(slice.dataset, little, slice.memory, slice.space, H5P_DEFAULT, bytes) < 0)
            NVDP_TRY(read_error(file, "dataset", name));
        feed(to, n * row_bytes, bytes);
    }
cleanup:
    free(bytes);
    return status;
}

static herr_t any_attribute(hid_t id, const char *name, const H5A_info_t *info, void *user) {
    (void)id;
    (void)name;
    (void)info;
    (void)user;
    return 1;
}

static nvdp_status feed_dataset(struct digest *to, const char *name) {
    static const char *const types[] = {"f16", "f32", "f64", "i64", "i32", "i16"};
    enum { TYPES = sizeof types / sizeof *types };
    hid_t dataset;
    int rank, type = 0;
    hsize_t shape[MAX_RANK];
    char text[16];
    NVDP_RETURN_IF_FAILED(open_dataset(to->file, name, &dataset));
    SCOPED stored = H5Dget_type(dataset);
    type_text(stored, text);
    while (type < TYPES && strcmp(text, types[type]) != 0) {
        type++;
    }
    if (type == TYPES)
        return INPUT_ERROR(to->file, "dataset", name,
                           ": expected f16 to f64 or i16 to i64, found %s", text);
    SCOPED plain = file_type((enum nvdp__h5_type)type);
    if (H5Tequal(stored, plain) <= 0)
        return INPUT_ERROR(to->file, "dataset", name, ": expected the usual %s, found another",
                           text);
    if (H5Aiterate2(dataset, H5_INDEX_NAME, H5_ITER_INC, NULL, any_attribute, NULL) != 0)
        return INPUT_ERROR(to->file, "dataset", name, ": expected no attributes, found %s", "some");
    NVDP_RETURN_IF_FAILED(get_shape(to->file, name, dataset, &rank, shape));
    feed(to, 1, "D");
    feed_text(to, name);
    feed_text(to, text);
    feed_number(to, (uint64_t)rank);
    size_t row_bytes = file_size((enum nvdp__h5_type)type);
    for (int d = 0; d < rank; d++) {
        feed_number(to, shape[d]);
        if (d > 0 && !nvdp__mul(row_bytes, shape[d], &row_bytes))
            return INPUT_ERROR(to->file, "dataset", name, ": its size %s", "overflows");
    }
    return feed_values(to, name, (enum nvdp__h5_type)type, shape[0], row_bytes);
}

static herr_t digest_link(hid_t group, const char *name, const H5L_info_t *info, void *user) {
    struct digest *to = user;
    SCOPED id = info->type == H5L_TYPE_HARD ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    to->status = id >= 0 && H5Iget_type(id) == H5I_DATASET
                     ? feed_dataset(to, name)
                     : INPUT_ERROR(to->file, "member", name, ": expected datasets alone, found %s",
                                   "another thing");
    return to->status == NVDP_OK ? 0 : -1;
}

/* As we write it, so that every reader takes its bytes for the same value. */
static bool is_plain(const struct attribute *attribute) {
    SCOPED text = H5Tcopy(H5T_C_S1);
    if (attribute->class == H5T_FLOAT) return H5Tequal(attribute->type, H5T_IEEE_F64LE) > 0;
    if (attribute->class == H5T_INTEGER) return H5Tequal(attribute->type, H5T_STD_I64LE) > 0;
    return attribute->class == H5T_STRING && H5Tis_variable_str(attribute->type) <= 0 &&
           H5Tset_size(text, H5Tget_size(attribute->type)) >= 0 &&
           H5Tset_cset(text, H5T_CSET_UTF8) >= 0 && H5Tequal(attribute->type, text) > 0;
}

static nvdp_status feed_attribute(struct digest *to, const char *name) {
    SCOPED_ATTRIBUTE attribute = {0};
    char *text = NULL;
    int64_t whole = 0;
    double real = 0;
    uint64_t bits = 0;
    NVDP_RETURN_IF_FAILED(open_attribute(to->file, name, &attribute));
    if (!is_plain(&attribute))
        return wrong_class(to->file, name, "a type as nvdp writes it", attribute.type);
    feed(to, 1, "A");
    feed_text(to, name);
    switch (attribute.class) {
    case H5T_STRING:
        NVDP_RETURN_IF_FAILED(read_string(to->file, name, &attribute, &text));
        feed_text(to, "text");
        feed_text(to, text);
        free(text);
        return NVDP_OK;
    case H5T_INTEGER:
        NVDP_RETURN_IF_FAILED(read_int(to->file, name, &attribute, &whole));
        feed_text(to, "whole");
        feed_number(to, (uint64_t)whole);
        return NVDP_OK;
    case H5T_FLOAT:
        NVDP_RETURN_IF_FAILED(read_real(to->file, name, &attribute, &real));
        memcpy(&bits, &real, sizeof bits);
        feed_text(to, "real");
        feed_number(to, bits);
        return NVDP_OK;
    default:
        return wrong_class(to->file, name, "a text or a number", attribute.type);
    }
}

static herr_t digest_attribute(hid_t root, const char *name, const H5A_info_t *info, void *user) {
    (void)root;
    (void)info;
    struct digest *to = user;
    if (to->except != NULL && strcmp(name, to->except) == 0) return 0;
    to->status = feed_attribute(to, name);
    return to->status == NVDP_OK ? 0 : -1;
}

nvdp_status nvdp__h5_digest(struct nvdp__h5 *file, const char *except,
                            unsigned char digest[NVDP__H5_DIGEST]) {
    HUSH;
    NVDP_RETURN_IF_FAILED(check_open(file));
    struct digest to = {.file = file, .except = except};
    crypto_hash_sha256_init(&to.sha);
    feed_text(&to, "nvdp digest/1");
    herr_t done = H5Literate(file->id, H5_INDEX_NAME, H5_ITER_INC, NULL, digest_link, &to);
    if (done >= 0)
        done = H5Aiterate2(file->id, H5_INDEX_NAME, H5_ITER_INC, NULL, digest_attribute, &to);
    if (to.status != NVDP_OK) return to.status;
    if (done < 0) return read_error(file, "group", "/");
    crypto_hash_sha256_final(&to.sha, digest);
    return NVDP_OK;
}
