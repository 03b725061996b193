/* Files of kind embeddings/1 and /2, which store the samples of a release (docs/formats.md).
 *
 * Sample s of text i has number i * samples + s.  Its rows are in the mechanism's order: the prior, the tokens and,
 * under the hidden length policy, the padding, each kappa times. */
#ifndef NVDP_SRC_SHARE_EMBEDDINGS_FILE_H
#define NVDP_SRC_SHARE_EMBEDDINGS_FILE_H

#include "hdf5/hdf5.h"
#include <nvdp/method.h>
#include <nvdp/posteriors.h>
#include <nvdp/share.h>

struct nvdp__embeddings_shape {
    size_t texts;   /* N */
    size_t samples; /* S per text */
    size_t dim;     /* p */
    int kappa;
    enum nvdp_length_policy policy;
    size_t length;      /* L, under the hidden policy */
    size_t sample_rows; /* M: rows per sample under the hidden policy, else 0 */
    size_t rows;        /* rows of all samples */
    bool weights;       /* the file has log_pi */
    /* NVDP__H5_F16: values are stored in float16 (embeddings/1).  NVDP__H5_I16, NVDP__H5_I32: z is stored as integer
     * multiples of 2^z_exponent, log_pi as int16 multiples of 2^log_pi_exponent (embeddings/2). */
    enum nvdp__h5_type grid;
    int z_exponent, log_pi_exponent;
};

/* Grid names, indexed by the type: float16, int16, int32. */
extern const char *const nvdp__grid_names[];
bool nvdp__grid_find(const char *name, enum nvdp__h5_type *grid);
/* Returns the stored type of dataset log_pi. */
enum nvdp__h5_type nvdp__weight_type(const struct nvdp__embeddings_shape *shape);
/* Returns the number of vectors per row of the HDF5 datasets: all vectors of a text under the hidden policy, else 1. */
size_t nvdp__row_vectors(const struct nvdp__embeddings_shape *shape);
/* Finds the exponent of a step.  Returns false unless the step is a power of two from 2^-30 to 2^30. */
bool nvdp__step_exponent(double step, int *exponent);

/* --- writing HDF5 --- */

/* Creates the file with empty datasets z and log_pi, the attributes of the grid and, under the public policy,
 * `offset` [N*S+1].  The caller sets the other attributes and commits the file. */
nvdp_status nvdp__embeddings_create(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__embeddings_shape *shape,
                                    const int64_t *offset, struct nvdp__h5 **out);
/* Writes the samples of texts [first, first + texts), which occupy `rows` rows from first_row on: z [rows, p],
 * log_pi [rows] (ignored without weights).  The values are on the grid of the file: float for float16, else steps in
 * int32_t. */
nvdp_status nvdp__embeddings_write(struct nvdp__h5 *file,
                                   const struct nvdp__embeddings_shape *shape, size_t first,
                                   size_t texts, size_t first_row, size_t rows, const void *z,
                                   const void *log_pi);

/* --- reading --- */

struct nvdp__query_map;
struct nvdp__embeddings {
    struct nvdp__embeddings_shape shape;
    char method[32];
    char task[16];       /* "" if the file does not state it */
    char *label_names;   /* JSON array of the classes' names; NULL: none */
    size_t heads;        /* of the sender's block; 0 if not stated */
    enum nvdp_pool pool; /* the sender's; NVDP_POOL_AUTO if not stated */
    bool row_index;      /* the sender's rows depend on their index, which a reader should use */
    int64_t *offset;     /* [N*S+1] first row of every sample */
    void *z;             /* [rows, p] as stored: decode it with nvdp__embeddings_values */
    double z_step;       /* step of an integer grid */
    float *log_pi;       /* [rows]; NULL without weights */
    float *label;        /* [N], NaN for texts without a label; or NULL */
    int32_t *split;      /* [N] 0 train, 1 dev, 2 test; or NULL */
    int64_t *id;         /* [N] or NULL */
    struct nvdp__query_map *query; /* for searchers; NULL: the file has none */
    double clip_sequence;          /* INFINITY: none, or not stated */
};

/* Returns the size of a stored value of z in bytes. */
size_t nvdp__embeddings_item(const struct nvdp__embeddings_shape *shape);
/* Reads a whole file, or all files of a release in a folder (shards.c), and keeps z as stored.  Checks the attributes, shapes and ranges.  All values must be finite
 * and log weights at most 0, and the file must be large enough for the sizes that it declares. */
nvdp_status nvdp__embeddings_read(struct nvdp_context *ctx, const char *path,
                                  struct nvdp__embeddings **out);
/* Receives the next `count` values of z, in order. */
typedef void nvdp__embeddings_visit(size_t count, const float *values, void *user);
struct nvdp__release;
/* Reads and checks the rest of a release that nvdp__release_read has opened.  With `visit`, passes z to it slice by
 * slice and does not keep it: out->z is NULL. */
nvdp_status nvdp__embeddings_take(struct nvdp__release *release, nvdp__embeddings_visit *visit,
                                  void *user, struct nvdp__embeddings **out);
void nvdp__embeddings_free(struct nvdp__embeddings *embeddings);
/* Converts values [first, first + count) of z to float, in row order. */
void nvdp__embeddings_values(const struct nvdp__embeddings *embeddings, size_t first, size_t count,
                             float *out);

struct nvdp_shared {
    struct nvdp__embeddings *of;
};

/* Finds the pool named "first", "mean" or "weighted".  Returns NVDP_POOL_AUTO for another name. */
enum nvdp_pool nvdp__pool_find(const char *name);

#endif
