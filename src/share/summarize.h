/* Summaries: files of kind summary/1, which hold one noisy matrix of a collection (summary/summary.h) and synthetic
 * rows that are computed from the matrix, in place of samples of texts.
 *
 * The file is a release of 1 + N items (share/release.h): item 0 has D vectors of D numbers, the rows of the matrix.
 * Each other item has one vector, a synthetic row z = (alpha, beta x, tau y) times `synthetic_scale`, which adapts the
 * row to the grid. */
#ifndef NVDP_SRC_SHARE_SUMMARIZE_H
#define NVDP_SRC_SHARE_SUMMARIZE_H

#include "share/release.h"
#include "share/statement.h"
#include "summary/summary.h"
#include "train/linear.h"
#include <nvdp/summary.h>

/* The facts of a summary, which are public like the facts of every release. */
struct nvdp__summary_facts {
    struct nvdp__summary plan;
    double epsilon, delta; /* the requested guarantee */
    bool persons;          /* a unit is all rows of a person; if false, one row */
    bool pairs;            /* a row is a pair of texts */
    bool joint; /* x is the embedding of both texts together; else products and differences */
    /* y is a score between low and high; if false, y is a class, or there is no y. */
    bool scores;
    double low, high;
    size_t rows; /* number of synthetic rows */
    /* The steps of the encoder's private training, if it consists of these alone: noise multiplier, rate, number. The
     * number is 0 if they are not known. The training's own guarantee is in the facts of the release. */
    struct {
        double noise, rate;
        size_t steps;
    } trained;
    /* Epsilon at `delta` of the file and that training, for one row that is one example of it; zero-out. */
    double together;
};

/* Returns "row" or "person". */
const char *nvdp__unit_name(const struct nvdp__summary_facts *of);
/* Returns "class", "score" or "none". */
const char *nvdp__answer_name(const struct nvdp__summary_facts *of);
/* Returns the factor of the synthetic rows: a power of two. */
double nvdp__synthetic_scale(const struct nvdp__summary_facts *of);

/* Sets y [K] of a text with this answer: the sign or the indicator of a class in the list, or a score on the public
 * range. For any other answer, and without an answer, y is 0: no list of answers is made from the rows, and no answer
 * is refused. Returns whether the answer is known. */
bool nvdp__summary_answer(const struct nvdp__summary_facts *of, size_t classes,
                          const char *const *class_name, const char *answer, float *y);

/* The names of the classes that a file states. */
struct nvdp__class_names {
    json_t *json;
    const char **name; /* [count]; NULL for an item that is no string */
    size_t count;
};
/* Reads a JSON array of names. If `text` is NULL, there are no names. */
nvdp_status nvdp__class_names_read(struct nvdp_context *ctx, const char *text,
                                   struct nvdp__class_names *out);
void nvdp__class_names_release(struct nvdp__class_names *of);

struct nvdp__export;
/* Makes the embedding of a text independent of the other texts of the batch, as theorem 1 requires. (The order in which
 * BLAS sums a row can depend on the other rows.) The export owns the products. NVDP_ERR_ARGUMENT unless the precision
 * is float32. */
nvdp_status nvdp__summary_rowwise(struct nvdp__export *export);

/* Sets the facts about the training of the encoder, as the records of its run state it: private trainings count for
 * every row, whatever their texts were. If another training read texts of the input, the file has no guarantee. */
nvdp_status nvdp__summary_training(struct nvdp__export *export);

/* Reads the facts that a file states into facts->summary, and recomputes the plan from them. Returns false if the facts
 * describe no summary. */
bool nvdp__summary_stated(const struct nvdp__attributes *list, struct nvdp__model_info *info,
                          struct nvdp__release_facts *facts);
/* Returns the name of an attribute of noise or weights that is missing, or does not follow from the plan; NULL if
 * there is none. */
const char *nvdp__summary_differs(const struct nvdp__attributes *list,
                                  const struct nvdp__summary_facts *facts);
/* Returns whether the file has the matrix and the synthetic rows of its facts. */
bool nvdp__summary_is_shaped(const struct nvdp_shared *held,
                             const struct nvdp__summary_facts *facts);

/* Reads the rest of an open file, which must be a consistent summary. NVDP_ERR_INPUT names the inconsistent
 * attribute. */
nvdp_status nvdp__summary_take(struct nvdp__release *release, struct nvdp_collection **out);
/* Reads samples or a summary: sets one of *shared and *summary. */
nvdp_status nvdp__shared_or_summary(struct nvdp_context *ctx, const char *path,
                                    struct nvdp_shared **shared, struct nvdp_collection **summary);
size_t nvdp__summary_units(const struct nvdp_collection *of);
const char *nvdp__summary_says(const struct nvdp_collection *of); /* the statement of its file */
/* Computes the ridge regression of the answers on the vectors, with the penalty of nvdp__summary_ridge(), as a
 * reader. The reader takes the ownership of the encoder's map from the summary. NVDP_ERR_INPUT for a summary without
 * answers. */
nvdp_status nvdp__summary_fit(struct nvdp_collection *of, const char *path,
                              struct nvdp__linear_reader *out);

/* Fill the certificate, the guarantee and the statement of a release whose facts have a summary
 * (share/statement.h). */
void nvdp__summary_certify(struct nvdp__release_facts *facts);
void nvdp__summary_guarantee(struct nvdp__release_facts *facts);
struct nvdp__writer;
void nvdp__summary_sentences(struct nvdp__writer *writer, const struct nvdp__release_facts *facts);
/* States what is known of the training of the encoder: it was private, or read some of the texts. */
void nvdp__summary_training_sentences(struct nvdp__writer *writer,
                                      const struct nvdp__release_facts *facts);

#endif
