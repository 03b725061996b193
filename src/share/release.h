/* A release: the samples of texts that are given away, with everything that their file states.
 *
 * Attributes, offsets and the columns of the texts lie in memory; rows pass in batches, from a file that is read or to one
 * that is written.  A format is one row: it writes a release and reads it back.  To add a format, write its row in a file of
 * its own and name it in formats.c. */
#ifndef NVDP_SRC_SHARE_RELEASE_H
#define NVDP_SRC_SHARE_RELEASE_H

#include "base/base.h"
#include "base/file.h"
#include "share/embeddings_file.h"
#include "share/sign.h"
#include "share/statement.h"
#include <jansson.h>

/* The attributes of a release: what its file states beside its values. */

enum nvdp__attribute_type {
    NVDP__ATTRIBUTE_NONE,    /* no such name; no text or number */
    NVDP__ATTRIBUTE_CREATED, /* follows from the shape (release.c) */
    NVDP__ATTRIBUTE_TEXT,
    NVDP__ATTRIBUTE_WHOLE,
    NVDP__ATTRIBUTE_REAL
};
/* Returns the type of the attribute of that name in files of embeddings. */
enum nvdp__attribute_type nvdp__attribute_find(const char *name);

struct nvdp__attribute {
    char *name, *text; /* the value as text, whatever its type */
    enum nvdp__attribute_type type;
    int64_t whole;
    double real;
};
struct nvdp__attributes {
    struct nvdp_context *ctx;
    const char *path; /* of their file, for messages */
    struct nvdp__attribute *item;
    size_t count, capacity;
};

/* Each replaces an attribute of the same name, or adds one at the end.  NVDP_ERR_INPUT if there are too many. */
nvdp_status nvdp__attributes_set_text(struct nvdp__attributes *list, const char *name,
                                      const char *value);
nvdp_status nvdp__attributes_set_whole(struct nvdp__attributes *list, const char *name,
                                       int64_t value);
nvdp_status nvdp__attributes_set_real(struct nvdp__attributes *list, const char *name,
                                      double value);
/* Parses the text of a number if the name's attribute is one, else takes the text. */
nvdp_status nvdp__attributes_parse(struct nvdp__attributes *list, const char *name,
                                   const char *text);
/* Returns NULL if there is none. */
const struct nvdp__attribute *nvdp__attributes_get(const struct nvdp__attributes *list,
                                                   const char *name);
/* Returns the value as text, "" if there is none. */
const char *nvdp__attributes_text(const struct nvdp__attributes *list, const char *name);
void nvdp__attributes_sort(struct nvdp__attributes *list); /* by name */
void nvdp__attributes_release(struct nvdp__attributes *list);

/* Adds every attribute that the facts decide. */
nvdp_status nvdp__release_attributes(struct nvdp__attributes *list,
                                     const struct nvdp__release_facts *facts);

/* ---- releases ---- */

/* The place of written bytes: a new file, or a comparison with an existing one. */
struct nvdp__sink {
    struct nvdp__output output; /* without a file: a comparison */
    FILE *same;                 /* compared with */
    uint64_t at, end; /* of the file: where the next byte goes; after the last that was put */
};

struct nvdp__release {
    struct nvdp_context *ctx;
    const char *path; /* of its file; the caller's */
    struct nvdp__embeddings_shape shape;
    struct nvdp__attributes attributes;
    int64_t *offset; /* [N S + 1] first row of every sample, also where lengths are hidden */
    int64_t *id;     /* [N] row numbers; NULL: not in the file */
    int32_t *split;  /* [N] or NULL */
    float *label;    /* [N] or NULL */
    bool lossy;      /* a written value cannot be read back to the step */
    const struct nvdp__format *format;
    void *of;             /* the format's open reader or writer */
    struct nvdp__sink to; /* of a writer */
};

/* Visits a dataset: its name, its shape, and its type as text, such as "f16". */
typedef void nvdp__dataset_visit(const char *name, int rank, const size_t *shape, const char *type,
                                 void *user);

struct nvdp__format {
    const char *name, *extension;
    bool (*detect)(const char *path, const unsigned char *first, size_t count);
    enum nvdp__signed covers; /* by new signatures */
    bool canonical; /* the values and attributes decide every byte; checked when a file is read */
    bool table;     /* dataset viewers can show it */

    /* Writing.  `open` writes everything but the rows to release->to, or creates the file by its path if there is a `commit`. */
    nvdp_status (*open)(struct nvdp__release *release);
    /* Rows [first, first + rows), in their order, multiples of nvdp__row_vectors: z [rows, p], log_pi [rows] (not read without
     * weights), on the grid: float if that is float16, else int32_t, steps. */
    nvdp_status (*append)(struct nvdp__release *release, size_t first, size_t rows, const void *z,
                          const void *log_pi);
    /* Ends the file.  Called again, it replaces the text of the attribute `signature` by another of the same length. */
    nvdp_status (*finish)(struct nvdp__release *release);
    nvdp_status (*commit)(struct nvdp__release *release, bool replace); /* NULL: of release->to */

    /* Reading.  `read` opens the file, and fills at least the attributes. */
    nvdp_status (*read)(struct nvdp__release *release);
    /* Fills the rest; NULL: nothing is left.  By then shape has what the attributes say. */
    nvdp_status (*load)(struct nvdp__release *release);
    /* As in `append`; z or log_pi may be NULL. */
    nvdp_status (*rows)(struct nvdp__release *release, size_t first, size_t rows, void *z,
                        void *log_pi);
    void (*close)(struct nvdp__release *release); /* also after a failure, and with `of` NULL */

    /* NULL for the next three: from the release.  Lists datasets; computes a digest; counts the bytes of an open file. */
    nvdp_status (*datasets)(struct nvdp__release *release, nvdp__dataset_visit *visit, void *user);
    nvdp_status (*digest)(struct nvdp__release *release, enum nvdp__signed covers,
                          const char *except, unsigned char digest[NVDP__H5_DIGEST]);
    nvdp_status (*audit)(struct nvdp__release *release, struct nvdp__h5_audit *out);
    /* Describes any file of this kind, not only a release; NULL: a release, or the format's name alone. */
    nvdp_status (*describe)(struct nvdp_context *ctx, const char *path, json_t *object);
    /* Prints how Python reads the values of the file `name`, a quoted string. */
    nvdp_status (*example)(struct nvdp__output *to, const struct nvdp__embeddings_shape *shape,
                           const char *name);
};

/* --- the table: formats.c --- */

/* All formats, the first the default; NULL at the end. */
extern const struct nvdp__format *const nvdp__formats[];
/* Returns the format by the ending of the path, else the first of the table. */
const struct nvdp__format *nvdp__format_of(const struct nvdp__format *const *formats,
                                           const char *path);
/* Returns the format by the first bytes of the file; NULL: none of the table. */
const struct nvdp__format *nvdp__format_detect(const struct nvdp__format *const *formats,
                                               const char *path, const unsigned char *first,
                                               size_t count);
enum { NVDP__FORMAT_HEAD = 9 }; /* bytes that nvdp__format_detect needs */

/* --- writing --- */

/* Creates the file `path`, which has no name before the commit, and writes everything but rows and the end. */
nvdp_status nvdp__release_create(struct nvdp__release *release, const struct nvdp__format *format,
                                 const char *path);
nvdp_status nvdp__release_finish(struct nvdp__release *release);
/* Not `replace`: NVDP_ERR_ARGUMENT if a file of that name, not empty, is there meanwhile. */
nvdp_status nvdp__release_commit(struct nvdp__release *release, bool replace);
/* Writes all rows of `from`, which is read, and ends the file. */
nvdp_status nvdp__release_copy(struct nvdp__release *from, struct nvdp__release *to);

/* For formats: puts bytes at a place of release->to. */
nvdp_status nvdp__release_put(struct nvdp__release *release, uint64_t at, size_t count,
                              const void *bytes);

/* --- reading --- */

/* Opens a file by its first bytes and fills the attributes.  A canonical format is complete then, and its bytes are checked:
 * NVDP_ERR_INPUT unless every byte is as nvdp export writes it. */
nvdp_status nvdp__release_read(struct nvdp_context *ctx, const struct nvdp__format *const *formats,
                               const char *path, struct nvdp__release *out);
/* Closes the file, removes one without a commit, and frees the memory. */
void nvdp__release_close(struct nvdp__release *release);

/* Fail if the attribute is missing or has another type. */
nvdp_status nvdp__release_text(const struct nvdp__release *release, const char *name,
                               const char **value);
nvdp_status nvdp__release_whole(const struct nvdp__release *release, const char *name,
                                int64_t *value);
nvdp_status nvdp__release_real(const struct nvdp__release *release, const char *name,
                               double *value);

/* For formats: fills the shape from the attributes and the size of z. */
nvdp_status nvdp__release_shape(struct nvdp__release *release, size_t rows, size_t dim,
                                bool weights);

/* Fail if the shape [texts, samples, rows, p] of z is not what the attributes say; if weights should be there. */
nvdp_status nvdp__release_check_hidden(const struct nvdp__release *release, const size_t z[4]);
nvdp_status nvdp__release_check_weights(const struct nvdp__release *release);

/* The columns of the texts, one value per text. */
enum { NVDP__TEXT_COLUMNS = 3 };
struct nvdp__text_column {
    const char *name;
    enum nvdp__h5_type type;
};
extern const struct nvdp__text_column nvdp__text_columns[NVDP__TEXT_COLUMNS];
/* Returns the address of column c's pointer in the release. */
void *nvdp__release_column(const struct nvdp__release *release, size_t c);
/* Allocates column c. */
nvdp_status nvdp__release_make_column(struct nvdp__release *release, size_t c, void **values);

/* Bytes of a stored value; stores n values of the memory type in them. */
size_t nvdp__stored_size(enum nvdp__h5_type type);
void nvdp__store(enum nvdp__h5_type type, size_t n, const void *values, void *stored);

nvdp_status nvdp__release_datasets(struct nvdp__release *release, nvdp__dataset_visit *visit,
                                   void *user);
/* Computes SHA-256 over all datasets and attributes but `except`, as nvdp__h5_digest, or whatever `covers` of the format. */
nvdp_status nvdp__release_digest(struct nvdp__release *release, enum nvdp__signed covers,
                                 const char *except, unsigned char digest[NVDP__H5_DIGEST]);

/* Dataset cards: a release described to people who see it in a collection. */

/* Writes a card of the file `name`.  Its first line is the guarantee (nvdp__release_guarantee).  Commit it when the file is
 * there. */
nvdp_status nvdp__card_write(const struct nvdp__release *release, const char *name,
                             const char *path, const struct nvdp__release_facts *facts,
                             struct nvdp__output *output);

/* Parts of the description of a file, as JSON. */

/* Text from a file, fit to be shown: control characters and broken UTF-8 become '?'. */
json_t *nvdp__shown(const char *text);
/* Sets the kind and the size of the file. */
void nvdp__describe_start(json_t *object, const char *path, const char *kind);
/* The same with an empty list of datasets and an object of attributes, which belong to `object`. */
nvdp_status nvdp__describe_begin(struct nvdp_context *ctx, const char *path, const char *kind,
                                 json_t *object, json_t **datasets, json_t **attributes);
/* Adds a dataset to the list `array`. */
void nvdp__describe_dataset(const char *name, int rank, const size_t *shape, const char *type,
                            void *array);
/* Sets an attribute, whose value is printed. */
void nvdp__describe_attribute(json_t *object, const char *name, const char *value, bool number);

#endif
