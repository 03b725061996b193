/* A release: the samples of texts that are shared, with all metadata of their file.
 *
 * Attributes, offsets and per-text columns are in memory.  Rows are read or written in batches.  A format is one row of
 * the table of formats: it writes a release and reads it back.  To add a format, write its row in a file of its own and
 * name it in formats.c. */
#ifndef NVDP_SRC_SHARE_RELEASE_H
#define NVDP_SRC_SHARE_RELEASE_H

#include "base/base.h"
#include "base/file.h"
#include "share/embeddings_file.h"
#include "share/sign.h"
#include "share/statement.h"
#include <jansson.h>

/* The attributes of a release: the metadata that its file stores beside the values. */

enum nvdp__attribute_type {
    NVDP__ATTRIBUTE_NONE,    /* no such name; no text or number */
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
    char *name, *text; /* text: the value as text, for every type */
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

/* Returns whether the attribute is of the format, and has one of the values that its row in attributes.inc allows. */
bool nvdp__attribute_fits(const struct nvdp__attribute *attribute);

/* Replace an attribute of the same name, or append a new one.  NVDP_ERR_INPUT if the list is full. */
nvdp_status nvdp__attributes_set_text(struct nvdp__attributes *list, const char *name,
                                      const char *value);
nvdp_status nvdp__attributes_set_whole(struct nvdp__attributes *list, const char *name,
                                       int64_t value);
nvdp_status nvdp__attributes_set_real(struct nvdp__attributes *list, const char *name,
                                      double value);
/* Sets an attribute from its text, converted to the attribute's type.  Text that is not a real number stays text. */
nvdp_status nvdp__attributes_parse(struct nvdp__attributes *list, const char *name,
                                   const char *text);
/* Returns NULL if no attribute has this name. */
const struct nvdp__attribute *nvdp__attributes_get(const struct nvdp__attributes *list,
                                                   const char *name);
/* Returns the value as text, or "" if no attribute has this name. */
const char *nvdp__attributes_text(const struct nvdp__attributes *list, const char *name);
void nvdp__attributes_sort(struct nvdp__attributes *list); /* sorts by name */
void nvdp__attributes_release(struct nvdp__attributes *list);

/* Adds every attribute that the facts determine. */
nvdp_status nvdp__release_attributes(struct nvdp__attributes *list,
                                     const struct nvdp__release_facts *facts);

/* ---- releases ---- */

/* The target of written bytes: a new file, or a comparison with an existing file. */
struct nvdp__sink {
    struct nvdp__output output; /* without a file for a comparison */
    FILE *same;                 /* the file to compare with */
    uint64_t at, end;           /* at: position of the next byte; end: after the last byte put */
};

struct nvdp__release {
    struct nvdp_context *ctx;
    const char *path; /* of the file; owned by the caller */
    struct nvdp__embeddings_shape shape;
    struct nvdp__attributes attributes;
    int64_t *offset; /* [N S + 1] first row of every sample, under both length policies */
    int64_t *id;     /* [N] row numbers; NULL: not in the file */
    int32_t *split;  /* [N] or NULL */
    float *label;    /* [N] or NULL */
    bool lossy;      /* a written value reads back as another step */
    const struct nvdp__format *format;
    void *of;             /* the open reader or writer of the format */
    struct nvdp__sink to; /* of a writer */
};

/* Visits a dataset: its name, its shape, and its type as text, such as "f16". */
typedef void nvdp__dataset_visit(const char *name, int rank, const size_t *shape, const char *type,
                                 void *user);

struct nvdp__format {
    const char *name, *extension;
    bool (*detect)(const char *path, const unsigned char *first, size_t count);
    enum nvdp__signed covers; /* what new signatures cover */
    bool canonical; /* the values and attributes determine every byte; checked on reading */
    bool table;     /* dataset viewers can show it */

    /* Writing.  `open` writes everything but the rows to release->to.  If there is a `commit`, it creates the file
     * by its path instead. */
    nvdp_status (*open)(struct nvdp__release *release);
    /* Appends rows [first, first + rows), in order and in multiples of nvdp__row_vectors: z [rows, p], log_pi [rows]
     * (ignored without weights).  Values are on the grid: float for float16, else steps in int32_t. */
    nvdp_status (*append)(struct nvdp__release *release, size_t first, size_t rows, const void *z,
                          const void *log_pi);
    /* Ends the file.  A second call replaces the text of the attribute `signature` with text of the same length. */
    nvdp_status (*finish)(struct nvdp__release *release);
    nvdp_status (*commit)(struct nvdp__release *release,
                          bool replace); /* NULL: release->to is committed */
    /* With `commit`: true if the file has no name and never had one. */
    bool (*is_unnamed)(const struct nvdp__release *release);
    bool compressed; /* the size of the file depends on the values */

    /* Reading.  `read` opens the file and fills at least the attributes. */
    nvdp_status (*read)(struct nvdp__release *release);
    /* Fills the rest, after the shape was set from the attributes.  NULL: nothing is left. */
    nvdp_status (*load)(struct nvdp__release *release);
    /* Reads rows in the layout of `append`.  z or log_pi may be NULL. */
    nvdp_status (*rows)(struct nvdp__release *release, size_t first, size_t rows, void *z,
                        void *log_pi);
    void (*close)(
        struct nvdp__release *release); /* also called after a failure, and with `of` NULL */

    /* Lists datasets; computes a digest; counts the bytes of an open file.  NULL: release.c computes them from the
     * release. */
    nvdp_status (*datasets)(struct nvdp__release *release, nvdp__dataset_visit *visit, void *user);
    nvdp_status (*digest)(struct nvdp__release *release, enum nvdp__signed covers,
                          const char *except, unsigned char digest[NVDP__H5_DIGEST]);
    nvdp_status (*audit)(struct nvdp__release *release, struct nvdp__h5_audit *out);
    /* Describes any file of this kind, not only a release.  NULL: only releases; other files by the format's name. */
    nvdp_status (*describe)(struct nvdp_context *ctx, const char *path, json_t *object);
    /* Prints Python code that reads the values of the file `name`, a quoted string. */
    nvdp_status (*example)(struct nvdp__output *to, const struct nvdp__embeddings_shape *shape,
                           const char *name);
};

/* --- the table: formats.c --- */

/* All formats, NULL-terminated.  The first is the default. */
extern const struct nvdp__format *const nvdp__formats[];
/* Returns the format by the ending of the path, or the default. */
const struct nvdp__format *nvdp__format_of(const struct nvdp__format *const *formats,
                                           const char *path);
/* Returns the format that recognizes the first bytes of the file, or NULL. */
const struct nvdp__format *nvdp__format_detect(const struct nvdp__format *const *formats,
                                               const char *path, const unsigned char *first,
                                               size_t count);
enum { NVDP__FORMAT_HEAD = 9 }; /* bytes that nvdp__format_detect needs */

/* --- writing --- */

/* Creates the file, which gets the name `path` at the commit, and writes everything but the rows and the end. */
nvdp_status nvdp__release_create(struct nvdp__release *release, const struct nvdp__format *format,
                                 const char *path);
nvdp_status nvdp__release_finish(struct nvdp__release *release);
/* Gives the file its name.  Without `replace`, NVDP_ERR_ARGUMENT if a non-empty file of that name exists by then. */
nvdp_status nvdp__release_commit(struct nvdp__release *release, bool replace);
/* True if the new file has no name and never had one: it could not be read by its path. */
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

/* Fail if the shape [texts, samples, rows, p] of z contradicts the attributes, or if required weights are missing. */
nvdp_status nvdp__release_check_hidden(const struct nvdp__release *release, const size_t z[4]);
nvdp_status nvdp__release_check_weights(const struct nvdp__release *release);

/* The per-text columns. */
enum { NVDP__TEXT_COLUMNS = 3 };
struct nvdp__text_column {
    const char *name;
    enum nvdp__h5_type type;
};
extern const struct nvdp__text_column nvdp__text_columns[NVDP__TEXT_COLUMNS];
/* Returns column c of the release, or NULL. */
void *nvdp__release_column(const struct nvdp__release *release, size_t c);
/* Allocates column c. */
nvdp_status nvdp__release_make_column(struct nvdp__release *release, size_t c, void **values);

/* Return the size of a stored value; convert n values from the memory type to the stored type. */
size_t nvdp__stored_size(enum nvdp__h5_type type);
void nvdp__store(enum nvdp__h5_type type, size_t n, const void *values, void *stored);

nvdp_status nvdp__release_datasets(struct nvdp__release *release, nvdp__dataset_visit *visit,
                                   void *user);
/* Computes SHA-256 over all datasets and attributes except the attribute `except`, as nvdp__h5_digest does, or over
 * the parts that `covers` selects in this format. */
nvdp_status nvdp__release_digest(struct nvdp__release *release, enum nvdp__signed covers,
                                 const char *except, unsigned char digest[NVDP__H5_DIGEST]);

/* Dataset cards: they describe a release to people who see it in a collection. */

/* Writes the card of the file `name`.  Its first paragraph is the guarantee (nvdp__release_guarantee).  Commit the
 * card after the file. */
nvdp_status nvdp__card_write(const struct nvdp__release *release, const char *name,
                             const char *path, const struct nvdp__release_facts *facts,
                             struct nvdp__output *output);

/* Builds the parts of the description of a file, as JSON. */

/* Returns text from a file as a JSON string on one line: ends of lines become spaces, other controls escapes (base/escape.h). */
json_t *nvdp__shown(const char *text);
/* Sets the kind and the size of the file. */
void nvdp__describe_start(json_t *object, const char *path, const char *kind);
/* Does the same, and adds an empty list of datasets and an empty object of attributes, both owned by `object`. */
nvdp_status nvdp__describe_begin(struct nvdp_context *ctx, const char *path, const char *kind,
                                 json_t *object, json_t **datasets, json_t **attributes);
/* Adds a dataset to the list `array`. */
void nvdp__describe_dataset(const char *name, int rank, const size_t *shape, const char *type,
                            void *array);
/* Sets an attribute from its printed value. */
void nvdp__describe_attribute(json_t *object, const char *name, const char *value, bool number);

#endif
