/** @file share.h
 * Sharing: files of noisy embeddings, and readers that are trained on such files alone. docs/formats.md describes
 * the formats.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_SHARE_H
#define NVDP_SHARE_H

#include <nvdp/evaluate.h>
#include <nvdp/guess.h>
#include <nvdp/privacy.h>

NVDP_BEGIN_DECLS

/** Size in bytes of a release's statement, including its NUL. */
#define NVDP_STATEMENT_SIZE 6144
/** Size in bytes of a guarantee's line, including its NUL. */
#define NVDP_GUARANTEE_SIZE 1024

/** All texts of a person together, by a ledger. The unit of privacy is the set of texts that the files of the ledger
 * assign to one person: each of these texts may be replaced by any other. Texts that no file assigns to the person are
 * missing. The number of texts of a person, and the person's rows in a file, are not hidden. A text without a person
 * counts as a separate person. Members are maxima, which may belong to different persons. */
struct nvdp_persons {
    size_t persons;   /**< number of persons; 0 if no person is named, and all else is 0 or NaN */
    uint64_t texts;   /**< largest number of different texts of a person */
    uint64_t samples; /**< largest number of samples of all texts of a person */
    /** Largest epsilon of all samples of a person; +inf if a sample has no proof. */
    double epsilon;
    double delta; /**< delta of epsilon, 1e-5 */
    double mu;    /**< largest mu of a person; +inf if a release is not Gaussian */
    /** C of the guess bound Phi(Phi^-1(b) + C) of a person; +inf if a release is not Gaussian. */
    double radius;
    size_t guesses; /**< number of entries of `guess`; 0 if mu is not finite */
    struct nvdp_bounded_guess guess[NVDP_GUESSES]; /**< upper bounds for any guess about a person */
};

/** Result of nvdp_export(), freed with nvdp_result_free(). */
struct nvdp_export_result {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    size_t texts;                        /**< N */
    size_t samples;                      /**< S, samples per text, or per person */
    size_t components; /**< number of components of the longest sample, including the prior's */
    size_t dim;        /**< p, the width of a vector */
    uint64_t bytes;    /**< size of the file */
    char statement[NVDP_STATEMENT_SIZE]; /**< the file's statement, in plain English */
    /** Measures for the owner: divergences of one sample per text, in nats, over pairs of the texts, and Bayesian DP of
     * all samples. NULL with fewer than 2 texts. */
    struct nvdp_privacy_report *privacy;
    /** Largest total number of samples of any text of this export, by the ledger; 0 if there is no ledger. */
    uint64_t spent_samples;
    /** Largest epsilon, at `spent_delta`, of all samples of one text together. This text may differ from the text of
     * spent_samples. +inf if nothing is proven for one of the samples; NaN if there is no ledger. */
    double spent_epsilon;
    double spent_delta; /**< delta of the ledger, 1e-5; NaN if there is no ledger */
    /** Number of texts for which the model gave numbers that are not finite; these numbers were replaced by 0. The
     * count is for the owner only, because it has no noise. */
    size_t replaced;
    /** The file has a useful guarantee: the certificate of the samples of one row has an epsilon of at most
     * NVDP_USEFUL_EPSILON and a `named_bound` of at most NVDP_USEFUL_NAMED. No measurement counts. The samples of a
     * text that the ledger counts in other rows and files add up: see spent_epsilon. */
    bool useful;
    /** First line of the statement: the guarantee, or why there is no useful one. */
    char guarantee[NVDP_GUARANTEE_SIZE];
    /** Exported texts that the encoder was trained on: "all", "some", or "maybe" (unknown). */
    char training_texts[8];
    struct nvdp_persons person; /**< sums of the ledger with this file, for the option "person" */
    size_t receivers;           /**< receivers that the ledger names; 0 if there is none */
    /** Largest epsilon of a text for a single receiver, who does not see the files of other receivers; NaN if no
     * receiver is named. */
    double receiver_epsilon;
    /** Largest epsilon of a person for a single receiver; NaN if no receiver or no person is named. */
    double receiver_person_epsilon;
    char run[1024]; /**< folder of the run, which this export may have made (option "model") */
    /** As spent_epsilon, if one word is replaced by another; at most spent_epsilon. NaN if there is no ledger. */
    double spent_word_epsilon;
    /** Budget of a text that was set with the first export and never raised: it is proven at spent_delta even if
     * exports depend on earlier samples. 0 if there is no such budget. Then spent_epsilon is proven only if number and
     * noise of the exports do not depend on earlier samples. */
    double spent_proven_epsilon;
    char unit[8]; /**< unit that has a sample: "text", or "person" for option "unit" */
    size_t units; /**< persons in the file; 0 if the file has samples of texts */
};

/** Draws the samples of every text and writes them to a file of kind embeddings/2 (embeddings/1 for grid float16).
 * Without publish-measured, nothing else in the file is derived from the content of the texts. Number, order, row
 * numbers, splits, lengths (if public) and labels (on request) are public. If the file's name ends with .safetensors or
 * .parquet, the file has that format.
 *
 * For each text, the model computes the posterior. Each sample is drawn from the posterior with randomness of the
 * operating system: pi from a Dirichlet distribution, and z = mu + sigma eps (Henderson & Fehr 2023). Normal
 * deviates are exact (Karney 2016). The sample is rounded once, onto a grid that is the same for every text
 * (Mironov, CCS 2012, explains why). Noise and unrounded samples are not kept.
 *
 * With the option "model", first makes the run "run" of method sentence, without training, unless that run exists:
 * see nvdp/search.h. The file then also states the mean and the principal directions of the texts of "center",
 * without noise. Returns NVDP_ERR_ARGUMENT if one of the texts to export is among these public texts, as normalized
 * words or as tokens of the model. The same applies to the public texts of a run with the objective distill. This
 * refusal depends on the texts, so only the owner may see it. With public-independent, the owner declares that the
 * public texts were chosen independently of the private texts. Then the texts are not compared, and the file always
 * states the declaration.
 *
 * Divergences over all ordered pairs of at most measure-texts texts are measured for the result. The file contains
 * these divergences only with publish-measured, because they can help somebody who knows the encoder and some of the
 * texts to identify other texts.
 *
 * If the export has no useful guarantee, logs a warning before anything is written, and the statement begins with this
 * warning. The file appears under its name when it is complete.
 *
 * The run's ledger, RUN/ledger unless the options name another, counts the samples of every text. Its record is
 * written to disk before the first value is drawn. An export that is cancelled before its file has a name is returned
 * and does not count. A killed export counts, and so does a failure that may depend on the samples; the message says
 * which case applies. A keyed hash of the tokens identifies a text.
 *
 * The samples of a text accumulate: Gaussian mechanisms compose to mu = sqrt(sum mu_i^2), other mechanisms by adding
 * Renyi divergences. This sum is proven if number and noise of the exports do not depend on earlier samples. The option
 * "budget-epsilon" of the first export, if it is never raised, is proven even if number and noise depend on earlier
 * samples. A text that was shared before is refused, unless the run was certified for that many samples or a budget
 * allows it. Each export from a seed counts, although the same seed gives the same samples. Each row is drawn, and the
 * samples of all rows of a text accumulate, too.
 *
 * Before anything is drawn, equal texts are counted, with or without a ledger, and a notice states the epsilon of their
 * samples together. A run with certified-epsilon, certified-guess or word-epsilon is certified for a number of samples
 * per text. Equal texts that have more samples together are refused, unless "duplicates" is "each" or a budget is
 * given. The proof does not cover this refusal, which shows that texts repeat. With the column "person", the samples of
 * all texts of a person accumulate in the same way. All releases of the ledger count together, because receivers may
 * collude. With "receiver", the result also has the largest sum of a single receiver.
 *
 * One pass of the encoder over the texts, and one over the measured texts; O(n^2 k p) for the pairs of n measured
 * texts with k components.
 *
 * Options (kind "export"): run, or model (a public encoder without training, by the method sentence) with
 * center, public-independent, clip-sequence or certified-epsilon, reduce, text-column; input or split; data, limit,
 * out, model-out, samples, grid, card, model-id, with-labels, sign, ledger, ledger-key, no-ledger, budget-samples,
 * budget-epsilon, person, person-epsilon, receiver, overwrite, batch, insecure-seed, order, delta, measure-texts,
 * publish-measured.
 * @param ctx      reports progress, records messages, can cancel
 * @param config   of kind "export". With "insecure-seed", the noise comes from this seed, for tests, and the file says
 *                 so
 * @param[out] out the result; untouched on error; may be NULL
 * @return NVDP_ERR_ARGUMENT for options out of range; an existing file without "overwrite"; a run with token-noise;
 *         a method without noise; a model with query clean; grid float16 for a model with a sequence clip;
 *         deviations or pseudo-counts outside the range of exact sampling; a ledger of another tokenizer or length;
 *         a ledger key that others may read; "model-out" for a method without a sealed block. NVDP_ERR_STATE for a
 *         text or a person beyond the budget, for equal texts that exceed the run's budget together, and for a ledger
 *         that is missing although its key or state exists, that was cut, or that is an older copy;
 *         NVDP_ERR_INPUT for texts that cannot be read, or without labels if "with-labels" is set; NVDP_ERR_NUMERIC for
 *         values of 2^24 steps or more in a signed Parquet file, which float32 cannot represent; NVDP_ERR_IO;
 *         NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_export(struct nvdp_context *ctx, const struct nvdp_config *config,
                        struct nvdp_export_result *out);

/** Result of a check. */
enum nvdp_verdict {
    NVDP_VERDICT_NO,  /**< the check fails */
    NVDP_VERDICT_YES, /**< the check holds */
    NVDP_VERDICT_OPEN /**< undecided: the file lacks the data, or is not signed */
};

/** Maximum number of checks of nvdp_verify(). */
#define NVDP_CHECKS 32

/** One check of a shared file. */
struct nvdp_check {
    enum nvdp_verdict verdict; /**< result of the check */
    char what[96];             /**< required property: "weights of a sample sum to 1" */
    char found[224]; /**< property of this file, on one line; control characters are escaped */
};

/** Result of nvdp_verify(). */
struct nvdp_verification {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    bool holds;         /**< no check failed */
    /** The signature is valid for `public_key` and for the content that the check of the signature states. */
    bool is_signed;
    bool is_known;       /**< is_signed, and `public_key` is the given key */
    char public_key[65]; /**< key of the file, hexadecimal; "" if there is none */
    bool certified;      /**< the file states a certificate, which was recomputed */
    /** Recomputed epsilon at `delta` for all samples of one row of the file together, in nats; +inf if there is none. A
     * text may have more samples, in other rows and files: spent_epsilon. */
    double epsilon;
    double delta; /**< delta of the certificate; NaN if there is none */
    /** mu of all samples of one row of the file; NaN if the mechanism is not Gaussian. */
    double mu;
    /** Epsilon at 1e-5 for all samples of one row of the file, in nats, if any word is replaced by any other; +inf if
     * nothing is proven per word. */
    double word_epsilon;
    /** Mu for that replacement; +inf if nothing is proven per word. */
    double word_mu;
    size_t checks;                        /**< number of checks made */
    struct nvdp_check check[NVDP_CHECKS]; /**< the checks, in the order in which they were made */
    /** The file's statement: printable ASCII, at most ten lines. "" unless the statement has the wording of this
     * version and every byte of it follows from the attributes. For a folder, this must hold for each file. */
    char statement[NVDP_STATEMENT_SIZE];
    bool useful; /**< as in nvdp_export_result */
    /** The recomputed guarantee, or why there is no useful one. */
    char guarantee[NVDP_GUARANTEE_SIZE];
    /** Texts on which the encoder was trained: "all", "some" or "maybe"; "" if the file does not state it. */
    char training_texts[8];
    /** Sums of the owner's ledger; only nvdp_verify_ledger() sets them. */
    struct nvdp_persons person;
    /** As in nvdp_export_result; 0 unless nvdp_verify_ledger() sets it. */
    uint64_t spent_samples;
    /** As in nvdp_export_result; NaN unless nvdp_verify_ledger() sets it. */
    double spent_epsilon;
    size_t samples; /**< samples per text in the file */
    bool counted;   /**< the file states that the sender's ledger counts it */
    /** The file is a summary (nvdp/summary.h). The rows of a summary share noise, so k rows have k mu, not sqrt(k)
     * mu. */
    bool summary;
    /** C of the guess bound Phi(Phi^-1(b) + C) of one row: mu / 2 for samples; NaN if the mechanism is not Gaussian. */
    double radius;
    /** Every sample is of a person, whose rows are replaced together: "row" in this struct means person. */
    bool persons;
};

/** Checks a file of kind embeddings/2 (or embeddings/1, which states less) for consistency, without the model and
 * the texts. In a folder, all files are checked, and must be of one run and mechanism, with one model-id
 * (kind "export"). Statement and guarantee are taken from the file with the weakest guarantee. They begin with the
 * fact that the samples of a text in several files add up. The checks:
 *
 * - it has the datasets, attributes and shapes of its format, and no other bytes;
 * - values lie on its grid and, under a sequence clip, have the spread of the noise;
 * - weights sum to 1 within the rounding of the grid;
 * - the numbers of texts and samples are as stated, and no input row occurs twice;
 * - it states that the noise came from the operating system;
 * - every attribute has a value from the vocabulary, pattern or range of this attribute;
 * - bound, certificate and statement follow from the stated mechanism; the statement has the wording of this version;
 * - the signature is valid.
 *
 * safetensors and Parquet files are checked byte by byte: they must be as nvdp_export() writes them.
 *
 * The checks cannot show that the values were drawn by the stated mechanism from the stated model: the reader must
 * trust the signer.
 *
 * A signature covers every byte of an HDF5 file. For safetensors and Parquet files it covers values and attributes,
 * which determine every byte. Older versions signed only values and attributes of HDF5 files; the check says so.
 *
 * Opens the file once, so all checks are about the same bytes. Reads the file twice, or three times if it is signed.
 * Memory: a slice of the vectors and a few numbers per text and vector.
 * @param ctx        context
 * @param path       the file, or a folder with the files of one release
 * @param public_key a file with the public key that must have signed; NULL if any key, or no signature, is accepted
 * @param out        made with NVDP_RESULT(); the checks, also if some fail; untouched on error
 * @return NVDP_OK whatever the checks found; NVDP_ERR_INPUT for a file of another kind, a file of a folder that is of
 *         another release, or an invalid key; NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp_verify(struct nvdp_context *ctx, const char *path, const char *public_key,
                        struct nvdp_verification *out);

/** Adds the owner's checks of a file. The ledger must have the release of the file, with the same numbers of texts and
 * samples. No text may have exceeded the budget over all releases so far. Sets the sums of the ledger, which no file
 * states. If a text has more samples than a row of the file, the guarantee begins with the epsilon of all samples of
 * the text. O(records of the ledger), because the ledger is read completely.
 * @param ctx    context
 * @param path   the file, or a folder as in nvdp_verify()
 * @param ledger the option "ledger" of nvdp_export(): RUN/ledger by default
 * @param key    the option "ledger-key"; NULL for the ledger's name with .key appended
 * @param out    filled by nvdp_verify(); untouched on error
 * @return NVDP_OK whatever the checks found; NVDP_ERR_INPUT for a file of another kind, or a ledger of another key
 *         or with a changed record; NVDP_ERR_ARGUMENT for a key that others may read; NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp_verify_ledger(struct nvdp_context *ctx, const char *path, const char *ledger,
                               const char *key, struct nvdp_verification *out);

/** The sums of a ledger over all of its texts, persons and receivers. Members are maxima, which may belong to different
 * texts. */
struct nvdp_ledger_summary {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t releases;    /**< number of releases */
    size_t texts;       /**< number of different texts */
    uint64_t samples;   /**< largest number of samples of a text */
    /** Largest epsilon of all samples of a text; +inf if a sample has no proof. */
    double epsilon;
    double delta;               /**< delta of all epsilons, 1e-5 */
    double budget_epsilon;      /**< budget per text that is in force; 0 if no budget is set */
    double person_budget;       /**< budget per person that is in force; 0 if no budget is set */
    struct nvdp_persons person; /**< all texts of a person together */
    size_t receivers;           /**< number of named receivers */
    uint64_t receiver_samples;  /**< largest number of samples of a text that one receiver has */
    double receiver_epsilon;    /**< as in nvdp_export_result */
    double receiver_person_epsilon; /**< as in nvdp_export_result */
    /** As epsilon, if one word is replaced by another; at most epsilon. */
    double word_epsilon;
    /** Number of different texts without a person in any release. The samples of such a text are missing in the sum of
     * the person who wrote it. 0 if no release names persons. */
    size_t unnamed_texts;
    /** Releases that were returned, because nobody saw a sample; they do not count. */
    size_t returned;
    /** Budget of a text that was set with the first release and never raised: it is proven at delta 1e-5 even if
     * releases depend on earlier samples. 0 if there is no such budget. Then epsilon is proven only if number and noise
     * of the releases do not depend on earlier samples. */
    double proven_epsilon;
    double proven_person_epsilon; /**< as proven_epsilon, for a person */
};

/** Computes the sums of a ledger. O(records of the ledger), because the ledger is read completely.
 * @param ctx    context
 * @param ledger the option "ledger" of nvdp_export(): RUN/ledger by default
 * @param key    the option "ledger-key"; NULL for the ledger's name with .key appended
 * @param out    made with NVDP_RESULT(); untouched on error
 * @return NVDP_ERR_INPUT for another kind of file, another key or a changed record; NVDP_ERR_ARGUMENT for a key that
 *         others may read; NVDP_ERR_STATE for a ledger that was moved, is missing, was cut, or is an older copy;
 *         NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp_ledger_summarize(struct nvdp_context *ctx, const char *ledger, const char *key,
                                  struct nvdp_ledger_summary *out);

/** Creates a pair of Ed25519 keys. The secret key, for the option "sign" of nvdp_export(), is a new file of mode
 * 0600. The public key, for nvdp_verify(), is PATH.pub.
 * @param ctx  context
 * @param path the secret key; neither file may exist, and the path must not lie in the directory of a run
 * @return NVDP_ERR_ARGUMENT for a path in the directory of a run; NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp_key_create(struct nvdp_context *ctx, const char *path);

/** A file of kind embeddings/2 or /1, in memory; opaque. */
struct nvdp_shared;

/** Content of a shared file. The file owns the arrays until it is freed. Sample s of text i has number
 * k = i samples + s and the rows offset[k] to offset[k+1]. */
struct nvdp_shared_info {
    size_t struct_size;             /**< NVDP_RESULT() sets it */
    size_t texts;                   /**< N */
    size_t samples;                 /**< S, samples per text */
    size_t dim;                     /**< p, length of a vector */
    size_t rows;                    /**< R, number of rows of all samples */
    size_t sample_rows;             /**< M, rows per sample; 0 if lengths are public and differ */
    int kappa;                      /**< number of adjacent rows per component */
    enum nvdp_length_policy policy; /**< hidden or public lengths */
    double z_step;                  /**< step of the grid of all values; 0 for embeddings/1 */
    char method[32];                /**< "nvdp", "vtdp", ... */
    char task[16];                  /**< "" if the file does not state it */
    const int64_t *offset;          /**< [N S + 1] */
    const float *log_pi;            /**< [R] log weights; NULL for a method without weights */
    /** [N] class index or score, NaN for a text without a label; NULL if the file has no labels. */
    const float *label;
    const int32_t *split; /**< [N] enum nvdp_split; NULL if the file has no splits */
    const int64_t *id;    /**< [N] row number in the input file; NULL if there is none */
    /** Names of the classes in the order of their indices, a JSON array that is empty for scores; NULL if not stated.
     * */
    const char *label_names;
};

/** Reads a shared file, HDF5, safetensors or Parquet, and checks all of it. O(R p).
 * @param ctx      records messages
 * @param path     a file from nvdp_export(), or a folder with the files of one release, whose texts are in the order of
 *                 the files' names
 * @param[out] out the file, freed with nvdp_shared_free(); untouched on error
 * @return NVDP_ERR_IO; NVDP_ERR_INPUT for another kind, a missing part, inconsistent shapes, or a value out of its
 *         range; NVDP_ERR_MEMORY */
nvdp_status nvdp_shared_read(struct nvdp_context *ctx, const char *path, struct nvdp_shared **out);
/** Frees a shared file.
 * @param shared may be NULL */
void nvdp_shared_free(struct nvdp_shared *shared);
/** Returns the content of a shared file.
 * @param ctx    records messages
 * @param shared file
 * @param[in,out] out filled up to its struct_size
 * @return NVDP_ERR_ARGUMENT for a struct without struct_size */
nvdp_status nvdp_shared_describe(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                                 struct nvdp_shared_info *out);
/** Copies vectors as floats.
 * @param ctx    records messages
 * @param shared file
 * @param first  first row
 * @param rows   number of rows
 * @param z      [rows, p]
 * @return NVDP_ERR_ARGUMENT for rows that the file does not have */
nvdp_status nvdp_shared_vectors(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                                size_t first, size_t rows, float *z);
/** Decodes the samples of a file whose run was trained with the objective distill. The decoded vector of a text is G z,
 * where z is the mean of the text's samples. It estimates s/|s| - m, where s is the encoder's sentence embedding and m
 * is the file's center. Cosines of decoded vectors estimate the cosines of the texts' embeddings. O(texts D p).
 * @param ctx    records messages
 * @param shared file
 * @param first  first text
 * @param texts  number of texts
 * @param out    [texts, D]; if it is NULL, only *width is set
 * @param width  D, the width of the encoder; may be NULL
 * @return NVDP_ERR_UNSUPPORTED for a file without a decoder; NVDP_ERR_ARGUMENT for texts that the file does not have;
 *         NVDP_ERR_MEMORY */
nvdp_status nvdp_shared_decode(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                               size_t first, size_t texts, float *out, size_t *width);

/** Result of nvdp_reuse(), freed with nvdp_result_free(). */
struct nvdp_reuse_result {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    size_t train_texts;                  /**< number of training texts, or units of a summary */
    size_t classes; /**< number of classes of the labels; it is 1 if the labels are scores */
    /** Epoch whose averaged weights were kept, from 1, for the first seed; 0 for a summary, which has no epochs. */
    size_t best_epoch;
    double seconds; /**< duration of the whole call */
    /** Scores on texts on which the reader was not trained, over all samples of a text and all seeds. NULL for a
     * summary without "score". */
    struct nvdp_scores *scores;
    size_t seeds;     /**< number of readers; every reader has another seed */
    double seed_mean; /**< mean over seeds of the first metric */
    /** Standard deviation of the first metric over seeds; NaN if there is one seed. */
    double seed_sd;
};

/** Trains a reader (denoising attention of Henderson & Fehr 2023, feed-forward layer, classifier) from a file of
 * embeddings alone. Scores the reader on other texts: the texts of another file, the file's dev split, or a held-out
 * tenth of the file. The weights are averages over epochs; the smallest loss on a tenth of the training texts selects
 * the epoch.
 *
 * From a summary of a collection (nvdp/summary.h), computes a ridge regression of the answers on the vectors. The
 * penalty of the regression follows from the known noise. Scores the regression on the plain embeddings of labeled
 * texts (option "score"). nvdp_predict_texts() applies the reader in "out".
 *
 * Options (kind "reuse"): file, out, overwrite; for samples labels, eval-file, eval-labels, regression, init, heads,
 * pool, epochs, batch, patience, lr, weight-decay, warmup, seed, seeds; for a summary score, model, text-column,
 * label-column.
 * @param ctx      reports progress, records messages, can cancel
 * @param config   of kind "reuse"
 * @param[out] out the scores; the result of an earlier call is freed; untouched on error
 * @return NVDP_ERR_ARGUMENT for options out of range, or a directory that is not empty without "overwrite";
 *         NVDP_ERR_INPUT for a damaged file, labels that do not fit it, or too few labeled texts; NVDP_ERR_NUMERIC
 *         if the loss is not a number; NVDP_ERR_IO; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_reuse(struct nvdp_context *ctx, const struct nvdp_config *config,
                       struct nvdp_reuse_result *out);

/** Format and length of a description. */
enum nvdp_description {
    NVDP_DESCRIPTION_BRIEF, /**< text, about 25 lines */
    NVDP_DESCRIPTION_ALL,   /**< text, everything */
    NVDP_DESCRIPTION_JSON   /**< everything, as one JSON object */
};

/** Describes a file or directory. Files: safetensors, HDF5 of any kind, Parquet of nvdp_export(), vocabulary,
 * ledger, key. Directories: model, reader, run, folds, sweep, sanitized texts.
 * @param ctx  context
 * @param path the file or directory
 * @param how  format and length
 * @param out  the text; the caller frees it with free()
 * @return NVDP_ERR_IO if the path cannot be read; NVDP_ERR_INPUT for another kind of file; NVDP_ERR_MEMORY */
nvdp_status nvdp_describe(struct nvdp_context *ctx, const char *path, enum nvdp_description how,
                          char **out);

NVDP_END_DECLS
#endif
