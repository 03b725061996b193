/* Files of kind embeddings/1 and /2: the samples that are given away (docs/formats.md).
 *
 * Sample s of text i is number i * samples + s, and its rows lie in the mechanism's order: the
 * prior, the tokens, under the hidden length policy the padding, each kappa times. */
#ifndef NVDP_SRC_SHARE_EMBEDDINGS_FILE_H
#define NVDP_SRC_SHARE_EMBEDDINGS_FILE_H

#include "hdf5/hdf5.h"
#include <nvdp/method.h>
#include <nvdp/posteriors.h>

struct nvdp__embeddings_shape {
    size_t texts;   /* N */
    size_t samples; /* S per text */
    size_t dim;     /* p */
    int kappa;
    enum nvdp_length_policy policy;
    size_t length;      /* L: hidden policy */
    size_t sample_rows; /* M: rows of every sample under the hidden policy, else 0 */
    size_t rows;        /* of all samples together */
    bool weights;       /* log_pi is there */
    /* NVDP__H5_F16: values as they are (embeddings/1).  NVDP__H5_I16, NVDP__H5_I32: z is stored as whole
     * numbers of steps 2^z_exponent, log_pi as int16 of steps 2^log_pi_exponent (embeddings/2). */
    enum nvdp__h5_type grid;
    int z_exponent, log_pi_exponent;
};

/* Names by the type of the grid: float16, int16, int32. */
extern const char *const nvdp__grid_names[];
bool nvdp__grid_find(const char *name, enum nvdp__h5_type *grid);
/* Returns the type of dataset log_pi. */
enum nvdp__h5_type nvdp__weight_type(const struct nvdp__embeddings_shape *shape);
/* Returns the vectors in a row of the HDF5 datasets: under the hidden policy all of a text. */
size_t nvdp__row_vectors(const struct nvdp__embeddings_shape *shape);
/* Finds the exponent of a step, a power of two from 2^-30 to 2^30; false for another number. */
bool nvdp__step_exponent(double step, int *exponent);

/* --- writing HDF5 --- */

/* Creates the file with empty datasets z and log_pi, and the attributes of the grid; under the public policy
 * also `offset`, [N*S+1].  Other attributes are set, and the file committed, by the caller. */
nvdp_status nvdp__embeddings_create(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__embeddings_shape *shape,
                                    const int64_t *offset, struct nvdp__h5 **out);
/* Writes the samples of texts [first, first + texts), which take `rows` rows from first_row on: z [rows,
 * p], log_pi [rows] (not read without weights), already on the file's grid: float where that is f16, else
 * int32_t, steps. */
nvdp_status nvdp__embeddings_write(struct nvdp__h5 *file,
                                   const struct nvdp__embeddings_shape *shape, size_t first,
                                   size_t texts, size_t first_row, size_t rows, const void *z,
                                   const void *log_pi);

/* --- reading --- */

struct nvdp__embeddings {
    struct nvdp__embeddings_shape shape;
    char method[32];
    char task[16];       /* "" where the file does not say */
    size_t heads;        /* of the sender's block; 0 where the file does not say */
    enum nvdp_pool pool; /* the sender's; NVDP_POOL_AUTO where the file does not say */
    bool row_index;      /* the sender's rows differ by their number: a reader should know it */
    int64_t *offset;     /* [N*S+1] first row of every sample */
    void *z;             /* [rows, p] as it is stored: nvdp__embeddings_values */
    double z_step;       /* of whole numbers */
    float *log_pi;       /* [rows]; NULL without weights */
    float *label;        /* [N], NaN where there is none; or NULL */
    int32_t *split;      /* [N] 0 train, 1 dev, 2 test; or NULL */
    int64_t *id;         /* [N] or NULL */
};

/* Reads a whole file, z as it is stored.  Everything is checked: attributes, shapes, ranges, that
 * all values are finite and log weights at most 0, and that the file is large enough for what it
 * declares. */
nvdp_status nvdp__embeddings_read(struct nvdp_context *ctx, const char *path,
                                  struct nvdp__embeddings **out);
/* Takes `count` values of z, the next ones in their order. */
typedef void nvdp__embeddings_visit(size_t count, const float *values, void *user);
struct nvdp__release;
/* Reads and checks the rest of a release that nvdp__release_read has opened.  With `visit`, z is passed to it slice by slice and
 * not held: out->z is NULL. */
nvdp_status nvdp__embeddings_take(struct nvdp__release *release, nvdp__embeddings_visit *visit,
                                  void *user, struct nvdp__embeddings **out);
void nvdp__embeddings_free(struct nvdp__embeddings *embeddings);
/* Converts values [first, first + count) of z, row by row. */
void nvdp__embeddings_values(const struct nvdp__embeddings *embeddings, size_t first, size_t count,
                             float *out);

/* Finds "first", "mean" or "weighted"; NVDP_POOL_AUTO for another name. */
enum nvdp_pool nvdp__pool_find(const char *name);

#endif
