/* A release: the samples of texts that are shared, with all metadata of the file.
 *
 * Attributes, offsets and per-text columns are in memory.  Rows are read or written in batches.  A format is one row of
 * the table of formats, whose functions write a release and read it back.  To add a format, write its row in a new
 * file, and list the row in release.c. */
#ifndef NVDP_SRC_SHARE_RELEASE_H
#define NVDP_SRC_SHARE_RELEASE_H

#include "base/base.h"
#include "base/file.h"
#include "base/own.h"
#include "hdf5/hdf5.h"
#include "share/statement.h"
#include "train/sentence_run.h"
#include <jansson.h>
#include <nvdp/method.h>
#include <nvdp/posteriors.h>
#include <nvdp/share.h>
#include <sys/types.h>

/* ---- embeddings_file.c: one file ---- */

/* Files of kind embeddings/1 and /2, which store the samples of a release (docs/formats.md).
 *
 * Sample s of text i has number i * samples + s.  Its rows are in the mechanism's order: the prior, the tokens and,
 * under the hidden length policy, the padding, each kappa times. */
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
    /* With NVDP__H5_F16, values are stored in float16 (embeddings/1).  With NVDP__H5_I16 or NVDP__H5_I32, z is stored
     * as integer multiples of 2^z_exponent, log_pi as int16 multiples of 2^log_pi_exponent (embeddings/2). */
    enum nvdp__h5_type grid;
    int z_exponent, log_pi_exponent;
    /* The file is a summary (share/summarize.h): text 0 is the matrix, and each other "text" is a synthetic row. */
    bool summary;
};

/* Returns whether the values are whole numbers of steps of a grid. */
static inline bool nvdp__is_whole(const struct nvdp__embeddings_shape *shape) {
    return shape->grid != NVDP__H5_F16;
}
/* Grid names, indexed by the type: float16, int16, int32. */
extern const char *const nvdp__grid_names[];
bool nvdp__grid_find(const char *name, enum nvdp__h5_type *grid);
/* Returns the kind of the file: "embeddings/2". */
const char *nvdp__file_kind(const struct nvdp__embeddings_shape *shape);
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
/* A file, or all files of a release in a folder (release.h), whose attributes, shapes and ranges were checked.  All
 * values are finite, and log weights at most 0. */
struct nvdp_shared {
    struct nvdp__embeddings_shape shape;
    char method[32];
    char task[16];       /* "" if the file does not state it */
    char *label_names;   /* JSON array of the classes' names; NULL if there is none */
    size_t heads;        /* attention heads of the sender's block; 0 if not stated */
    enum nvdp_pool pool; /* pooling of the sender's block; NVDP_POOL_AUTO if not stated */
    /* The meaning of a row depends on its index, so a reader should use the index. */
    bool row_index;
    int64_t *offset;               /* [N*S+1] first row of every sample */
    void *z;                       /* [rows, p] as stored: decode it with nvdp__embeddings_values */
    double z_step;                 /* step of an integer grid */
    float *log_pi;                 /* [rows]; NULL without weights */
    float *label;                  /* [N], NaN for texts without a label; or NULL */
    int32_t *split;                /* [N] 0 train, 1 dev, 2 test; or NULL */
    int64_t *id;                   /* [N] or NULL */
    struct nvdp__query_map *query; /* map of queries; NULL if there is none */
    double clip_sequence;          /* INFINITY if there is none, or none is stated */
};

/* Returns the size of a stored value of z in bytes. */
size_t nvdp__embeddings_item(const struct nvdp__embeddings_shape *shape);
/* Receives the next `count` values of z, in order. */
typedef void nvdp__embeddings_visit(size_t count, const float *values, void *user);
struct nvdp__release;
/* Reads and checks the rest of a release that nvdp__release_read has opened.  If `visit` is not NULL, passes z to it
 * slice by slice; out->z is then NULL. */
nvdp_status nvdp__embeddings_take(struct nvdp__release *release, nvdp__embeddings_visit *visit,
                                  void *user, struct nvdp_shared **out);
/* Converts values [first, first + count) of z to float, in row order. */
void nvdp__embeddings_values(const struct nvdp_shared *embeddings, size_t first, size_t count,
                             float *out);

/* Finds the pool named "first", "mean" or "weighted".  Returns NVDP_POOL_AUTO for another name. */
enum nvdp_pool nvdp__pool_find(const char *name);

/* ---- attributes ---- */

/* The attributes of a release: the metadata that the file stores beside the values. */

enum nvdp__attribute_type {
    NVDP__ATTRIBUTE_NONE,    /* unknown name, or neither text nor number */
    NVDP__ATTRIBUTE_CREATED, /* follows from the shape (release.c) */
    NVDP__ATTRIBUTE_TEXT,
    NVDP__ATTRIBUTE_WHOLE,
    NVDP__ATTRIBUTE_REAL
};
/* Returns the type that the attribute of this name has in files of embeddings. */
enum nvdp__attribute_type nvdp__attribute_find(const char *name);
/* The flags of json_dumps() for the attribute label_names. */
enum { NVDP__LABEL_NAMES_FORM = JSON_COMPACT | JSON_ENSURE_ASCII };
/* Returns whether older versions wrote the attribute, which was computed from the texts without noise. */
bool nvdp__attribute_is_old(const char *name);

struct nvdp__attribute {
    char *name, *text; /* `text` is the value as text, for every type */
    enum nvdp__attribute_type type;
    int64_t whole;
    double real;
};
struct nvdp__attributes {
    struct nvdp_context *ctx;
    const char *path; /* path of the file, for messages */
    struct nvdp__attribute *item;
    size_t count, capacity;
};

/* Returns whether the format has the attribute, and whether attributes.inc allows its value. */
bool nvdp__attribute_fits(const struct nvdp__attribute *attribute);

/* Replaces the attribute of the same name, or appends a new attribute.  NVDP_ERR_INPUT if the list is full.  `value`
 * has the type and the number; name and text are copied. */
nvdp_status nvdp__attributes_set(struct nvdp__attributes *list, const char *name, const char *text,
                                 struct nvdp__attribute value);
nvdp_status nvdp__attributes_set_text(struct nvdp__attributes *list, const char *name,
                                      const char *value);
nvdp_status nvdp__attributes_set_whole(struct nvdp__attributes *list, const char *name,
                                       int64_t value);
nvdp_status nvdp__attributes_set_real(struct nvdp__attributes *list, const char *name,
                                      double value);
/* Sets an attribute from its text, converted to the attribute's type.  Text that is not a real number stays text. */
nvdp_status nvdp__attributes_parse(struct nvdp__attributes *list, const char *name,
                                   const char *text);
/* Returns the attribute of this name, or NULL. */
const struct nvdp__attribute *nvdp__attributes_get(const struct nvdp__attributes *list,
                                                   const char *name);
/* Returns the value as text, or "" if no attribute has this name. */
const char *nvdp__attributes_text(const struct nvdp__attributes *list, const char *name);
void nvdp__attributes_sort(struct nvdp__attributes *list); /* sorts by name */
/* Sorts the list, and lists name, value, name, value, ..., NULL. The caller frees *words. Its strings are those of the
 * list. */
nvdp_status nvdp__attributes_words(struct nvdp__attributes *list, const char ***words);
void nvdp__attributes_release(struct nvdp__attributes *list);

/* Adds every attribute that the facts determine. */
nvdp_status nvdp__release_attributes(struct nvdp__attributes *list,
                                     const struct nvdp__release_facts *facts);

/* Returns whether attributes.inc has an attribute of this name, but no release with these facts has the attribute, or
 * only older versions wrote it. */
bool nvdp__release_lacks(const struct nvdp__release_facts *facts, const char *name);

/* Reads the numbers that a file states about mechanism and training.  If a number is missing, or has another type, the
 * member keeps its value. */
void nvdp__release_stated(const struct nvdp__attributes *list, struct nvdp__model_info *info,
                          struct nvdp__release_facts *facts);

/* ---- releases ---- */

/* The parts of a file that a signature covers.  VALUES: names, types, shapes and values of datasets and attributes, in
 * any layout.  Covers safetensors and Parquet files, whose bytes follow from these; older versions used it for HDF5,
 * too.  BYTES: every byte of an HDF5 file except the signature. */
enum nvdp__signed { NVDP__SIGNED_NOTHING, NVDP__SIGNED_VALUES, NVDP__SIGNED_BYTES };

/* The target of written bytes: a new file, or a comparison with an existing file. */
struct nvdp__sink {
    struct nvdp__output output; /* has no file in a comparison */
    FILE *same;                 /* the file to compare with */
    uint64_t at, end;           /* position of the next byte, and of the end of the bytes put */
};

/* The per-text columns. */
enum { NVDP__TEXT_COLUMNS = 3 };
struct nvdp__text_column {
    const char *name;
    enum nvdp__h5_type type;
};
extern const struct nvdp__text_column nvdp__text_columns[NVDP__TEXT_COLUMNS];

struct nvdp__release {
    struct nvdp_context *ctx;
    const char *path; /* path of the file; owned by the caller */
    struct nvdp__embeddings_shape shape;
    struct nvdp__attributes attributes;
    int64_t *offset; /* [N S + 1] first row of every sample, under both length policies */
    union {          /* the per-text columns [N]; NULL if the file lacks the column */
        struct {
            int64_t *id; /* row numbers */
            int32_t *split;
            float *label;
        };
        void *column[NVDP__TEXT_COLUMNS]; /* the same pointers */
    };
    bool lossy; /* a written value is read back as another step */
    const struct nvdp__format *format;
    void *of;             /* [format->state bytes] the open reader or writer of the format */
    struct nvdp__sink to; /* target of a writer */
    struct nvdp__h5 *h5;  /* the open file of an HDF5 format; NULL for other formats */
};

/* Visits a dataset: its name, its shape, and its type as text, such as "f16". */
typedef void nvdp__dataset_visit(const char *name, int rank, const size_t *shape, const char *type,
                                 void *user);

struct nvdp__format {
    const char *name, *extension;
    size_t state; /* size of the struct release->of, which is zero before `open` and `read` */
    bool (*detect)(const char *path, const unsigned char *first, size_t count);
    enum nvdp__signed covers; /* the part that new signatures cover */
    bool canonical; /* the values and attributes determine every byte; checked on reading */
    bool table;     /* dataset viewers can show it */
    /* The file is release->h5, whose contents list the datasets and determine digests. */
    bool hdf5;

    /* Writing.  `open` writes everything but the rows to release->to, or creates release->h5 by its path. */
    nvdp_status (*open)(struct nvdp__release *release);
    /* Appends rows [first, first + rows), in order and in multiples of nvdp__row_vectors: z [rows, p], log_pi [rows]
     * (ignored without weights).  Values are on the grid: float for float16, else steps in int32_t. */
    nvdp_status (*append)(struct nvdp__release *release, size_t first, size_t rows, const void *z,
                          const void *log_pi);
    /* Ends the file.  A second call replaces the text of the attribute `signature` with text of the same length. */
    nvdp_status (*finish)(struct nvdp__release *release);
    bool compressed; /* the size of the file depends on the values */

    /* Reading.  `read` opens the file and fills at least the attributes. */
    nvdp_status (*read)(struct nvdp__release *release);
    /* Fills the rest, after the shape was set from the attributes.  NULL if nothing is left to fill. */
    nvdp_status (*load)(struct nvdp__release *release);
    /* Reads rows in the layout of `append`.  z or log_pi may be NULL. */
    nvdp_status (*rows)(struct nvdp__release *release, size_t first, size_t rows, void *z,
                        void *log_pi);
    /* Frees the members of release->of, even after a failure.  NULL if there are no members to free. */
    void (*close)(struct nvdp__release *release);

    /* Describes any file of this kind, not only a release.  If it is NULL, only releases are described; of other files,
     * only the format's name is shown. */
    nvdp_status (*describe)(struct nvdp_context *ctx, const char *path, json_t *object);
    /* Prints Python code that reads the values of the file `name`, a quoted string. */
    nvdp_status (*example)(struct nvdp__output *to, const struct nvdp__embeddings_shape *shape,
                           const char *name);
};

/* --- the table of formats --- */

/* All formats, NULL-terminated.  The first is the default. */
extern const struct nvdp__format *const nvdp__formats[];
enum { NVDP__ENDINGS = 128 };
/* Writes the endings of all formats' files to `text`, for messages: ".h5, .safetensors or .parquet".  Returns `text`.
 * */
const char *nvdp__format_endings(char text[NVDP__ENDINGS]);
/* Returns the format by the ending of the path, or the default. */
const struct nvdp__format *nvdp__format_by_ending(const struct nvdp__format *const *formats,
                                                  const char *path);
/* Returns the format that recognizes the first bytes of the file, or NULL. */
const struct nvdp__format *nvdp__format_detect(const struct nvdp__format *const *formats,
                                               const char *path, const unsigned char *first,
                                               size_t count);
enum { NVDP__FORMAT_HEAD = 9 }; /* bytes that nvdp__format_detect needs */

/* --- writing --- */

/* Creates the file and writes everything but the rows and the end.  The file gets the name `path` at the commit. */
nvdp_status nvdp__release_create(struct nvdp__release *release, const struct nvdp__format *format,
                                 const char *path);
nvdp_status nvdp__release_finish(struct nvdp__release *release);
/* Gives the file its name.  Without `replace`, returns NVDP_ERR_ARGUMENT if a non-empty file of that name exists. */
nvdp_status nvdp__release_commit(struct nvdp__release *release, bool replace);
/* Returns true if the new file has no name and never had a name, so no path ever led to it. */
bool nvdp__release_is_unnamed(const struct nvdp__release *release);
/* Returns an upper bound of the file's size, before compression. */
uint64_t nvdp__release_bytes(const struct nvdp__release *release);
/* Writes all rows of `from`, which is open for reading, and ends the file. */
nvdp_status nvdp__release_copy(struct nvdp__release *from, struct nvdp__release *to);

/* For formats: puts bytes at a position of release->to. */
nvdp_status nvdp__release_put(struct nvdp__release *release, uint64_t at, size_t count,
                              const void *bytes);

/* --- reading --- */

/* Opens a file by its first bytes and fills the attributes.  Reads a file of a canonical format completely and
 * checks its bytes: NVDP_ERR_INPUT unless every byte is as nvdp export writes it. */
nvdp_status nvdp__release_read(struct nvdp_context *ctx, const struct nvdp__format *const *formats,
                               const char *path, struct nvdp__release *out);
/* Closes the file, removes it if it was not committed, and frees the memory. */
void nvdp__release_close(struct nvdp__release *release);

/* Returns the text of an attribute.  Fails if the attribute is missing or is no text. */
nvdp_status nvdp__release_text(const struct nvdp__release *release, const char *name,
                               const char **value);
/* An attribute to read, and the place for its value: char[max] for a text, which is cut; size_t for a whole number
 * from min to max; double for a real number. */
struct nvdp__place_of {
    const char *name; /* NULL if there is nothing to read */
    enum nvdp__attribute_type type;
    void *to;
    int64_t min, max;
    bool optional; /* the attribute may be missing; then the place keeps its value */
};
#define NVDP__TO_TEXT(name, array, optional)                                                       \
    { name, NVDP__ATTRIBUTE_TEXT, array, 0, sizeof(array), optional }
#define NVDP__TO_SIZE(name, size, min, max, optional)                                              \
    { name, NVDP__ATTRIBUTE_WHOLE, &(size), min, max, optional }
#define NVDP__TO_REAL(name, real, optional)                                                        \
    { name, NVDP__ATTRIBUTE_REAL, &(real), 0, 0, optional }
/* Reads attributes.  Fails at the first attribute that is missing, or has another type or a number out of range. */
nvdp_status nvdp__release_take(const struct nvdp__release *release, size_t count,
                               const struct nvdp__place_of *place);

/* For formats: fills the shape from the attributes and the size of z. */
nvdp_status nvdp__release_shape(struct nvdp__release *release, size_t rows, size_t dim,
                                bool weights);

/* Fails if the shape [texts, samples, rows, p] of z contradicts the attributes, or if required weights are missing. */
nvdp_status nvdp__release_check_hidden(const struct nvdp__release *release, const size_t z[4]);
nvdp_status nvdp__release_check_weights(const struct nvdp__release *release);

/* Allocates column c. */
nvdp_status nvdp__release_make_column(struct nvdp__release *release, size_t c);

/* Converts n values from the memory type to the stored type. */
void nvdp__store(enum nvdp__h5_type type, size_t n, const void *values, void *stored);

nvdp_status nvdp__release_datasets(struct nvdp__release *release, nvdp__dataset_visit *visit,
                                   void *user);
/* Computes SHA-256 over all datasets and attributes except the attribute `except`, as nvdp__h5_digest does, or over
 * the parts that `covers` selects in this format. */
nvdp_status nvdp__release_digest(struct nvdp__release *release, enum nvdp__signed covers,
                                 const char *except, unsigned char digest[NVDP__H5_DIGEST]);

/* Dataset cards: they describe a release to people who see it in a collection. */

/* Opens the output, the file `path`, and writes the card of the file `of`.  The first paragraph of the card is the
 * guarantee (nvdp__release_guarantee).  Commit the card after the file. */
nvdp_status nvdp__card_write(const struct nvdp__release *release, const char *of, const char *path,
                             const struct nvdp__release_facts *facts, struct nvdp__output *to);

/* Builds the parts of the description of a file, as JSON. */

/* Returns text from a file as a JSON string on one line: ends of lines become spaces, and other control characters
 * become escapes (base/sentence.h). */
json_t *nvdp__shown(const char *text);
/* Sets the kind and the size of the file. */
void nvdp__describe_start(json_t *object, const char *path, const char *kind);
/* Sets kind and size, and adds an empty list of datasets and an empty object of attributes, which `object` owns. */
nvdp_status nvdp__describe_begin(struct nvdp_context *ctx, const char *path, const char *kind,
                                 json_t *object, json_t **datasets, json_t **attributes);
/* Adds a dataset to the list `array`. */
void nvdp__describe_dataset(const char *name, int rank, const size_t *shape, const char *type,
                            void *array);
/* Sets an attribute from its printed value. */
void nvdp__describe_attribute(json_t *object, const char *name, const char *value, bool number);

/* ---- embeddings_file.c: a release in shards ---- */

/* A release in shards is all files of embeddings in a folder, which several exports of one run wrote. */

struct nvdp__shards {
    char **path; /* [count] in the order of their names */
    size_t count;
};

/* Lists the files.  If the path is no folder, it is the only file.  The files of a folder must have the same
 * attributes, except attributes that describe one file (texts, date, measurements).  NVDP_ERR_INPUT names the first
 * file that differs, and the attribute. */
nvdp_status nvdp__shards_open(struct nvdp_context *ctx, const char *path, struct nvdp__shards *out);
void nvdp__shards_close(struct nvdp__shards *shards);
/* Returns true if the folder has a file with the extension of a release. */
bool nvdp__shards_in(const char *folder);
/* Returns true if the attribute describes a single file, so that shards may differ in it. */
bool nvdp__shard_attribute(const char *name);

/* ---- attributes.c: the public map from a query to its mean, and the decoder of samples ---- */

/* The public map from a query to its mean, as attributes of a file: the center and the principal or trained
 * directions in float16. A search needs these attributes beside the encoder (search.c). A trained map has a decoder of
 * samples, too. */

/* Returns true for the names of these attributes. */
bool nvdp__query_attribute(const char *name);
/* Returns the number of these attributes, or 0 if `query` is NULL. */
size_t nvdp__query_attribute_count(const struct nvdp__query_map *query);
void nvdp__query_map_free(struct nvdp__query_map *map); /* NULL allowed */
NVDP__AUTOPTR(struct nvdp__query_map, nvdp__query_map_free)
/* Sets map->source to a caller's name of an encoder. NVDP_ERR_ARGUMENT if the name is empty, not UTF-8 or too long. */
nvdp_status nvdp__source_text(struct nvdp_context *ctx, const char *name,
                              struct nvdp__query_map *map);
/* Reads the map of an open file for vectors of width `dim`. *out is NULL if the file has no map. */
nvdp_status nvdp__query_read(const struct nvdp__release *release, size_t dim,
                             struct nvdp__query_map **out);

/* Identifies a query in "%s%c%zu": by the line in the file of queries, or by the number of the query, from 1. */
#define NVDP__QUERY(file, q) (file) != NULL ? (file) : "query", (file) != NULL ? ':' : ' ', (q) + 1

/* ---- sign.c: keys and signatures ---- */

/* Signatures: Ed25519 over the digest of a file (docs/formats.md, "Keys and signatures").
 *
 * Only the owner may read the secret key.  The key must not be inside a run's folder, because it could be given away
 * with the run. */

enum { NVDP__PUBLIC_KEY = 32, NVDP__KEY = 32 };

/* Overwrites a secret, such as at the end of a scope. */
void nvdp__key_wipe(unsigned char (*key)[NVDP__KEY]);

/* Reads a secret from a file of one line: `words`, then hexadecimal digits.  NVDP_ERR_ARGUMENT if other users may
 * read the file, NVDP_ERR_INPUT if the file is not a secret. */
nvdp_status nvdp__secret_read(struct nvdp_context *ctx, const char *path, const char *words,
                              unsigned char bytes[NVDP__KEY]);
/* Creates a file of a secret with these permissions. */
nvdp_status nvdp__key_write(struct nvdp_context *ctx, const char *path, mode_t mode,
                            const char *words, const unsigned char bytes[NVDP__KEY]);

/* The secret key that signs.  Initialize the struct to zero, then read the key and finally wipe it. */
struct nvdp__sign_key {
    unsigned char *secret; /* the secret key, in protected memory */
    unsigned char open[NVDP__PUBLIC_KEY];
};
/* Reads a secret key.  NVDP_ERR_ARGUMENT if other users may read the file, or if it is in a run's folder;
 * NVDP_ERR_INPUT if the file is not a key. */
nvdp_status nvdp__sign_key_read(struct nvdp_context *ctx, const char *path,
                                struct nvdp__sign_key *key);
void nvdp__sign_key_wipe(struct nvdp__sign_key *key);
nvdp_status nvdp__public_key_read(struct nvdp_context *ctx, const char *path,
                                  unsigned char key[NVDP__PUBLIC_KEY]);

/* Sets the attribute `public_key`, and `signature` to zeros, before the release is created. */
nvdp_status nvdp__sign_prepare(const struct nvdp__sign_key *key, struct nvdp__attributes *list);
/* Signs a finished release, as the last step before the commit.  NVDP_ERR_NUMERIC if the values of the release cannot
 * be read back exactly. */
nvdp_status nvdp__sign(const struct nvdp__sign_key *key, struct nvdp__release *release);
/* Checks the signature of a release opened for reading against the release's public key.  *covers is the part that the
 * signature covers, or nothing if the signature is invalid or missing.  `key` is the key in the attribute, or all zero.
 * NVDP_ERR_INPUT, with the reason, if the file has anything that cannot be signed. */
nvdp_status nvdp__signature_check(struct nvdp__release *release,
                                  unsigned char key[NVDP__PUBLIC_KEY], enum nvdp__signed *covers);

#endif
