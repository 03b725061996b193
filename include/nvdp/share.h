/** @file share.h
 * Sharing: files of noisy embeddings to give away, and readers that see nothing else.
 *
 * The formats are described in docs/formats.md.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_SHARE_H
#define NVDP_SHARE_H

#include <nvdp/evaluate.h>
#include <nvdp/privacy.h>

NVDP_BEGIN_DECLS

/** Bytes of a release's statement, its NUL included. */
#define NVDP_STATEMENT_SIZE 6144
/** Bytes of a guarantee's line, its NUL included. */
#define NVDP_GUARANTEE_SIZE 384

/** What was exported. */
struct nvdp_export_result {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t texts;       /**< N */
    size_t samples;     /**< S per text */
    size_t components;  /**< of the longest sample, the prior's included */
    size_t dim;         /**< p, the width of a vector */
    uint64_t bytes;     /**< of the file */
    bool measured;      /**< `privacy` is there; false where there are fewer than 2 texts */
    char statement[NVDP_STATEMENT_SIZE]; /**< what the file says about itself, in plain English */
    struct nvdp_privacy_report
        privacy; /**< for the owner: divergences in nats of one sample per text, over pairs
                                              of the texts; its Bayesian DP is of all samples */
    /** The largest number of samples that a text of this export has in all, by the ledger; 0: no ledger. */
    uint64_t spent_samples;
    /** The largest epsilon, at `spent_delta`, of all samples of one of its texts together; the text may be another than that of
     * spent_samples.  +inf: nothing is proven of one of the samples. */
    double spent_epsilon;
    double spent_delta; /**< of the ledger, 1e-5; NaN: no ledger */
    /** Texts for which the model gave numbers that are not finite, replaced by 0.  For the owner: it is computed
     * without noise. */
    size_t replaced;
    /** The file has a useful guarantee: a certificate with an epsilon of at most NVDP_USEFUL_EPSILON for all samples of a
     * text, and at most half of the samples of 100 texts or more are named by an attacker who has the model and the texts. */
    bool useful;
    char guarantee
        [NVDP_GUARANTEE_SIZE]; /**< first line of the statement: the guarantee, or why there is no useful one */
    char training_texts
        [8]; /**< texts that the encoder was trained on: "all", "some", "maybe" (not known per text) */
};

/** The options of nvdp_export(): run; input or split; data, limit, out, model-out, samples, grid, card,
 * with-labels, sign, ledger, ledger-key, no-ledger, budget-samples, budget-epsilon, overwrite, batch, insecure-seed, order, delta,
 * measure-texts, publish-measured.
 * @param ctx outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_export_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Draws the samples of every text and writes them, and nothing else derived from the texts, to a
 * file of kind embeddings/2 (of grid float16: embeddings/1); under a name that ends with .safetensors or .parquet the
 * same in that format.
 *
 * Per text the model's posterior is inferred; from it each sample is drawn with randomness of the
 * operating system (pi of a Dirichlet distribution, z = mu + sigma eps; Henderson & Fehr 2023), with
 * exact normal deviates (Karney 2016), rounded once, onto a grid that is the same for every text (Mironov,
 * CCS 2012, tells why), and forgotten with its noise.
 * What its samples reveal is measured: divergences over all ordered pairs of at most measure-texts texts.
 * They go into the result; into the file only with publish-measured, since who knows the encoder and some of
 * the texts can tell others by them.
 * An export without a useful guarantee is warned of before anything is written, and its file says so first.
 * It appears under its name when it is complete.
 * The run's ledger, RUN/ledger unless another is named, counts the samples of every text.  The record is on the disk before the
 * first value is drawn: an export that is stopped or killed then has been counted.  Texts are recognised by a keyed hash of their
 * tokens.  Samples of a text add up, Gaussian mechanisms compose to mu = sqrt(sum mu_i^2), others by Renyi divergences, which
 * add up.  A text that was shared before is refused unless the run was certified for as many samples, or a budget allows it.
 * An export from a seed counts like any other, each time, though the same seed gives the same samples.
 * @param ctx    progress and the wish to stop pass through its callbacks
 * @param config of nvdp_export_config_create().  "insecure-seed", where it is set, takes the noise
 *               from that seed: for tests, and the file says so
 * @param[out] out what was written; untouched on error; NULL: not wanted
 * @return NVDP_ERR_ARGUMENT for options out of range, an existing file without "overwrite", a
 *         run with token-noise, a method without noise or a model with query clean, grid float16 of a model with a sequence
 *         clip, deviations or pseudo-counts beyond what is drawn exactly, a ledger of
 *         another tokenizer or length, a ledger's key that others may read, "model-out" of
 *         a method without a sealed block; NVDP_ERR_STATE for a text that has no sample left in its budget; NVDP_ERR_INPUT for texts that cannot be read, or have no
 *         labels where "with-labels" asks for them; NVDP_ERR_NUMERIC for values that cannot be signed in Parquet, whose float32
 *         does not hold them (2^24 steps and more); NVDP_ERR_IO; NVDP_ERR_CANCELLED;
 *         NVDP_ERR_MEMORY
 *
 * One pass of the encoder over the texts, and one over those that are measured; O(n^2 k p) for the
 * pairs of n measured texts with k components. */
nvdp_status nvdp_export(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_export_result *out);

/** What came of a check. */
enum nvdp_verdict {
    NVDP_VERDICT_NO,  /**< it fails */
    NVDP_VERDICT_YES, /**< it holds */
    NVDP_VERDICT_OPEN /**< it could not be made: the file does not say enough, or is not signed */
};

/** How many checks nvdp_verify() makes at most. */
#define NVDP_CHECKS 32

/** One check of a shared file. */
struct nvdp_check {
    enum nvdp_verdict verdict; /**< what came of it */
    char what[96];             /**< that must hold: "weights of a sample sum to 1" */
    char found[224];           /**< what does; printable ASCII */
};

/** What nvdp_verify() found. */
struct nvdp_verification {
    size_t struct_size;  /**< NVDP_RESULT() sets it */
    bool holds;          /**< no check failed */
    bool is_signed;      /**< the signature is that of `public_key`, over what its check says */
    bool is_known;       /**< and that is the key that was given */
    char public_key[65]; /**< of the file, hexadecimal; "": none */
    bool certified;      /**< the file states a certificate, and it was computed again */
    double
        epsilon;  /**< of it, in nats, at `delta`, of all samples of a text together; +inf: none */
    double delta; /**< of it; NaN: none */
    double mu;    /**< of it, of all samples of a text together; NaN: not of a Gaussian mechanism */
    size_t checks;                        /**< that were made */
    struct nvdp_check check[NVDP_CHECKS]; /**< they, in the order in which they were made */
    char statement[NVDP_STATEMENT_SIZE];  /**< the file's own words; printable ASCII */
    bool useful; /**< the file has a useful guarantee, as in nvdp_export_result */
    char guarantee
        [NVDP_GUARANTEE_SIZE]; /**< the guarantee, computed again, or why there is no useful one */
    char training_texts
        [8]; /**< texts that the encoder was trained on: "all", "some", "maybe"; "": it does not say */
};

/** Checks a file of kind embeddings/2 (or /1, which says less) against itself, without the model and the texts:
 * that it has the datasets, attributes and shapes that its format has, and no byte beside them; that values lie on its grid, and
 * under a sequence clip have the spread that the noise gives them; that weights sum to 1 within the grid's rounding;
 * that texts and samples are as many as it says, and no row of their file is there twice; that it says of the noise that it was the operating system's;
 * that bound, certificate and statement are those that follow from what it says of the mechanism; and its signature.
 *
 * safetensors and Parquet files are checked byte by byte: they must be as nvdp_export() writes them.
 *
 * What it cannot tell: whether the values were drawn by that mechanism, from that model.  For that one
 * trusts who signed.
 * @param ctx        context
 * @param path       the file
 * @param public_key a file with the public key that must have signed; NULL: any, or none
 * @param out        made with NVDP_RESULT(); the checks, also where some fail; untouched on error
 * @return NVDP_OK whatever the checks found; NVDP_ERR_INPUT for a file of another kind, or a key that is none;
 *         NVDP_ERR_IO; NVDP_ERR_MEMORY
 *
 * A signature covers every byte of an HDF5 file.  Of safetensors and Parquet it covers values and attributes, which decide
 * every byte.  Older versions signed the values and attributes of HDF5 files, which is said.
 *
 * Opens the file once, so that all checks are of the same bytes.  Reads it twice, a third time where it is signed, in memory
 * for a slice of its vectors and a few numbers per text and vector. */
nvdp_status nvdp_verify(struct nvdp_context *ctx, const char *path, const char *public_key,
                        struct nvdp_verification *out);

/** Adds to the checks of a file those of its owner: that its release is in the ledger, with as many texts and samples, and
 * that none of its texts has spent more than the budget, all releases up to now together.
 * @param ctx    context
 * @param path   the file
 * @param ledger of the option "ledger" of nvdp_export(): RUN/ledger by default
 * @param key    of the option "ledger-key"; NULL: the ledger's name and .key
 * @param out    what nvdp_verify() found; untouched on error
 * @return NVDP_OK whatever the checks found; NVDP_ERR_INPUT for a file of another kind, a ledger of another key or with a
 *         changed record; NVDP_ERR_ARGUMENT for a key that others may read; NVDP_ERR_IO; NVDP_ERR_MEMORY
 *
 * O(records of the ledger), which is read as a whole. */
nvdp_status nvdp_verify_ledger(struct nvdp_context *ctx, const char *path, const char *ledger,
                               const char *key, struct nvdp_verification *out);

/** Makes a pair of Ed25519 keys: the secret one, for the option "sign" of nvdp_export(), in a new file of
 * mode 0600, the public one, for nvdp_verify(), beside it in PATH.pub.
 * @param ctx  context
 * @param path of the secret key; neither file may exist, and it must not lie in the folder of a run
 * @return NVDP_ERR_ARGUMENT for a place in the folder of a run; NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp_key_create(struct nvdp_context *ctx, const char *path);

/** A file of kind embeddings/2 or /1, read whole; opaque. */
struct nvdp_shared;

/** What such a file holds.  Arrays are the file's own, until it is released; sample s of text i is number
 * k = i samples + s, and has the rows offset[k] to offset[k+1]. */
struct nvdp_shared_info {
    size_t struct_size;             /**< NVDP_RESULT() sets it */
    size_t texts;                   /**< N */
    size_t samples;                 /**< S of each text */
    size_t dim;                     /**< p, the width of a vector */
    size_t rows;                    /**< R, of all samples */
    size_t sample_rows;             /**< M, of every sample; 0: lengths are public, and differ */
    int kappa;                      /**< neighbouring rows of a component */
    enum nvdp_length_policy policy; /**< whether lengths are hidden */
    double z_step;                  /**< every value is a multiple of it; 0 of embeddings/1 */
    char method[32];                /**< "nvdp", "vtdp", ... */
    char task[16];                  /**< "" where the file does not say */
    const int64_t *offset;          /**< [N S + 1] */
    const float *log_pi;            /**< [R] log weights; NULL: a method without */
    const float
        *label; /**< [N] class number or score, NaN where there is none; NULL: none at all */
    const int32_t *split; /**< [N] enum nvdp_split; NULL: none */
    const int64_t *id;    /**< [N] the row's number in its file; NULL: none */
};

/** Reads a file, HDF5, safetensors or Parquet, everything checked.
 * @param ctx  records messages
 * @param path the file, as nvdp_export() wrote it
 * @param[out] out the file; nvdp_shared_free(); untouched on error
 * @return NVDP_ERR_IO; NVDP_ERR_INPUT for another kind, a missing part, shapes that do not agree, a value out
 *         of its range; NVDP_ERR_MEMORY.  O(R p) */
nvdp_status nvdp_shared_read(struct nvdp_context *ctx, const char *path, struct nvdp_shared **out);
/** Releases it.
 * @param shared NULL is allowed */
void nvdp_shared_free(struct nvdp_shared *shared);
/** What it holds.
 * @param ctx    records messages
 * @param shared file
 * @param[in,out] out filled as far as its struct_size reaches
 * @return NVDP_ERR_ARGUMENT for a struct without its size */
nvdp_status nvdp_shared_describe(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                                 struct nvdp_shared_info *out);
/** The vectors of rows, as numbers.
 * @param ctx    records messages
 * @param shared file
 * @param first  row from which on
 * @param rows   how many
 * @param z      [rows, p]
 * @return NVDP_ERR_ARGUMENT for rows that the file does not have */
nvdp_status nvdp_shared_vectors(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                                size_t first, size_t rows, float *z);

/** What a reader learned. */
struct nvdp_reuse_result {
    size_t struct_size;        /**< NVDP_RESULT() sets it */
    size_t train_texts;        /**< texts it was trained on */
    size_t classes;            /**< of the labels; 1 for scores */
    size_t best_epoch;         /**< the one that is kept, from 1 */
    double seconds;            /**< of the whole call */
    struct nvdp_scores scores; /**< on texts it was not trained on, over all samples of a text */
};

/** The options of nvdp_reuse(): file, labels, eval-file, eval-labels, regression, init, heads,
 * pool, epochs, batch, patience, lr, weight-decay, warmup, seed, out, overwrite.
 * @param ctx outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_reuse_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Trains a reader (denoising attention of Henderson & Fehr 2023, feed-forward layer, classifier)
 * from a file of embeddings alone, and scores it on texts it was not trained on: those of another file,
 * those of the file's dev split, or a tenth that is held out.  A tenth of the training texts
 * chooses the epoch.
 * @param ctx    progress and the wish to stop pass through its callbacks
 * @param config of nvdp_reuse_config_create()
 * @param[out] out scores; untouched on error
 * @return NVDP_ERR_ARGUMENT for options out of range, or a directory that is not empty without
 *         "overwrite"; NVDP_ERR_INPUT for a damaged file, labels that do not fit it, or too few
 *         labelled texts; NVDP_ERR_NUMERIC where the loss is no number; NVDP_ERR_IO;
 *         NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_reuse(struct nvdp_context *ctx, const struct nvdp_config *config,
                       struct nvdp_reuse_result *out);

/** Writes divergences of all ordered pairs of texts to a file of kind pairs/1: dataset `rd`,
 * attribute `order`.
 * @param ctx    context
 * @param path   the file; it appears when it is complete
 * @param n      number of texts, at least 1
 * @param order  of the Renyi divergence
 * @param matrix [n, n] in nats: row P, column Q, as the matrix of nvdp_renyi_pairs(); infinities are kept
 * @param id     [n] the texts' own numbers (nvdp_posteriors.id), which become dataset `id`; NULL: none
 * @return NVDP_ERR_ARGUMENT without texts or matrix; NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp_pairs_write(struct nvdp_context *ctx, const char *path, size_t n, double order,
                             const double *matrix, const int64_t *id);

/** How much nvdp_describe() tells. */
enum nvdp_description {
    NVDP_DESCRIPTION_BRIEF, /**< lines for people, some 25 */
    NVDP_DESCRIPTION_ALL,   /**< lines for people, whatever there is */
    NVDP_DESCRIPTION_JSON   /**< one JSON object of all of it */
};

/** Says what a file or directory is: safetensors, HDF5 of any kind, Parquet of ours, vocabulary, ledger, key;
 * directory of a model, a reader, a run, folds, a sweep, sanitized texts.
 * @param ctx  context
 * @param path the file or directory
 * @param how  how much of it, and for whom
 * @param out  the text; free()
 * @return NVDP_ERR_IO where it cannot be read or written; NVDP_ERR_INPUT for what is none of
 *         these; NVDP_ERR_MEMORY */
nvdp_status nvdp_describe(struct nvdp_context *ctx, const char *path, enum nvdp_description how,
                          char **out);

NVDP_END_DECLS
#endif
