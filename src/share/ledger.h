/* The ledger counts every release of a text before anybody can have the release (docs/formats.md, "ledger/3").
 *
 * The file grows by one record per export.  The record holds a keyed hash of each text's tokens.  Without the key,
 * guesses of texts cannot be tested against the ledger, and no record can be changed unnoticed.  A record is on disk
 * before the first value of its release is drawn, and stays in the file.  An export that fails afterwards is counted, unless a
 * further record returns the export.  An export may be returned only if nothing that was computed from its samples was
 * shown. */
#ifndef NVDP_SRC_SHARE_LEDGER_H
#define NVDP_SRC_SHARE_LEDGER_H

#include "base/array.h"
#include "base/base.h"
#include "text/dataset.h"
#include <nvdp/certificate.h>

enum {
    NVDP__LEDGER_ID = 32,
    NVDP__LEDGER_HASH = NVDP__TEXT_DIGEST,
    NVDP__LEDGER_ORDERS = 16,
    NVDP__LEDGER_FILE = 128,
    NVDP__LEDGER_FILES = 320
};
extern const double nvdp__ledger_orders[NVDP__LEDGER_ORDERS];
/* The delta of all epsilons in the ledger. */
#define NVDP__LEDGER_DELTA 1e-5

struct nvdp__ledger;
typedef unsigned char nvdp__text_hash[NVDP__LEDGER_HASH];
/* The MAC of a record, by which a later record refers to it. */
typedef unsigned char nvdp__ledger_code[32];

/* The limit for all releases of a text together.  0 means no limit. */
struct nvdp__budget {
    uint64_t samples;
    double epsilon; /* epsilon at NVDP__LEDGER_DELTA */
};

/* The types of the frames of a file, in order: a release; the names of a release; the folded names, which show names
 * that look alike; the end of a release (it was returned, or its file was published); a release of a file of kind
 * ledger/1 or ledger/2; a release whose rows share their noise (a summary); a summary of persons, in which all rows
 * of a person count as one row; a release with samples of persons, in which all rows of a person together have one
 * sample, with independent noise. */
enum nvdp__ledger_type {
    NVDP__LEDGER_RELEASE,
    NVDP__LEDGER_NAMES,
    NVDP__LEDGER_LOOKS,
    NVDP__LEDGER_RETURNED,
    NVDP__LEDGER_PUBLISHED,
    NVDP__LEDGER_OLD,
    NVDP__LEDGER_SHARED,
    NVDP__LEDGER_PERSONS,
    NVDP__LEDGER_PERSON_SAMPLES
};

/* Returns whether the rows of a record of this type share their noise, and whether all rows of a person count as
 * one. */
static inline bool nvdp__ledger_shares(uint64_t type) {
    return type == NVDP__LEDGER_SHARED || type == NVDP__LEDGER_PERSONS;
}
static inline bool nvdp__ledger_by_person(uint64_t type) {
    return type == NVDP__LEDGER_PERSONS || type == NVDP__LEDGER_PERSON_SAMPLES;
}

/* A record without its texts, in the layout of the file.  Files of kind ledger/1 lack `file`; older files lack
 * `type`. */
struct nvdp__ledger_release {
    char id[NVDP__LEDGER_ID]; /* model_id of the file, without a NUL */
    uint64_t texts, samples;
    int64_t seconds;            /* seconds since 1970 */
    struct nvdp__budget budget; /* the budget in force */
    /* The guarantee of one sample; infinite if nothing is proven.  mu is infinite unless the mechanism is Gaussian. */
    double mu, divergence[NVDP__LEDGER_ORDERS];
    char file[NVDP__LEDGER_FILE]; /* the path, or its end if it is longer; ends with a NUL */
    uint64_t type;                /* enum nvdp__ledger_type */
};

/* The sum of a text's releases: samples, mu^2 and the divergences of each order add up.  For several texts each
 * member is the maximum, and the maxima may belong to different texts. */
struct nvdp__spent {
    uint64_t samples;
    /* The smallest proven epsilon at NVDP__LEDGER_DELTA; infinite if one release has no guarantee. */
    double epsilon;
    double mu; /* infinite if one release is not Gaussian */
    /* C of the guess bound Phi(Phi^-1(b) + C), and C per word; infinite if mu or word_mu is infinite. */
    double radius, word_radius;
    /* Mu if one word is replaced; infinite if one release proves nothing per word. */
    double word_mu;
    uint64_t seen_before;           /* number of texts that earlier records have */
    char files[NVDP__LEDGER_FILES]; /* files of these records, the latest first */
    bool shared_before;             /* one of these files was published, as far as is known */
    /* The epsilons that are compared with the budgets.  They equal `epsilon`, but at the order of the budget's filter
     * if the budget has a filter. */
    double filtered, person_filtered;
    /* The budget of a text, and of a person, that was set with the first release and never raised.  This budget is
     * proven even if releases depend on earlier samples.  0 if there is none: then `epsilon` is proven only if number
     * and noise of the releases do not depend on earlier samples. */
    double proven, person_proven;
    /* Number of texts without a person in any record.  nvdp__ledger_check() sets it to 0, unless only earlier records
     * name persons. */
    uint64_t unnamed;
    /* All texts of a person together.  A text without a person counts as a separate person. */
    uint64_t persons; /* persons of the release; 0 if it names none: then the next members are 0 */
    size_t persons_compared, persons_over; /* persons compared with the budget, and above it */
    uint64_t renamed; /* texts that an earlier record gives to another person */
    uint64_t person_texts,
        person_samples; /* largest numbers of one person, all releases together */
    double person_epsilon, person_mu, person_radius; /* infinite as `mu` and `radius` are */
    double person_budget; /* only nvdp__ledger_worst() sets it; 0 if there is none */
    /* The largest sums that a single receiver has. */
    uint64_t receivers; /* named receivers; if 0, the next members are 0 */
    uint64_t receiver_samples;
    double receiver_epsilon, receiver_person_epsilon;
};

/* The names of a release. */
struct nvdp__ledger_names {
    /* [texts]; zeros for a text without a person; NULL without names. */
    const nvdp__text_hash *person;
    const nvdp__text_hash *look;   /* [texts] hashes of folded names; NULL if `person` is NULL */
    const unsigned char *receiver; /* a nvdp__text_hash; NULL if not named */
    double person_epsilon;         /* budget of a person; 0 for the budget of earlier releases */
    double word_mu;  /* mu of one sample if one word is replaced; 0 for mu of the release */
    double distance; /* total variation distance of one sample's weights from the Dirichlet */
    /* The run's promise is for each row of a text, not for all rows of a text together. */
    bool each;
};

/* Opens and authenticates the ledger, for every reader and writer.  To add a record, give `tokens`, which states the
 * tokenizer and the maximum length of texts, because tokens identify a text.  NVDP_ERR_ARGUMENT if the ledger has
 * other `tokens`.  With `tokens`, creates a missing file, key and state, and locks the file until it is closed: a
 * second writer waits.  If `tokens` is NULL, opens the file for reading.
 *
 * NVDP_ERR_STATE if records are missing: the file is missing although its key or state exists; the file is shorter than
 * its head states; the file is an older copy than the state records (NAME.state beside the key NAME.key); or the state
 * of a file of kind ledger/3 is missing.  Accepts one record more than the head counts, and a state that is behind the
 * file, because a writer may have died.  Ignores an incomplete last record, which the next writer removes: nothing of
 * its release was drawn.  NVDP_ERR_INPUT if the file is not a ledger, the key is wrong or a record is damaged. */
nvdp_status nvdp__ledger_open(struct nvdp_context *ctx, const char *path, const char *key,
                              const char *tokens, struct nvdp__ledger **out);
/* Returns true if the ledger, the key or the state exists.  Then readers must open the ledger, which fails if records
 * are missing. */
bool nvdp__ledger_expected(const char *path, const char *key);
/* Compares the ledger with the state in the folder `run`, too, if the key is elsewhere.  The next record updates this
 * state. */
nvdp_status nvdp__ledger_of_run(struct nvdp__ledger *ledger, const char *run);
/* Fails if the state in the folder `run` belongs to a ledger elsewhere that the caller did not name. */
nvdp_status nvdp__ledger_elsewhere(struct nvdp_context *ctx, const char *run);
void nvdp__ledger_close(struct nvdp__ledger *ledger); /* NULL allowed */
NVDP__AUTOPTR(struct nvdp__ledger, nvdp__ledger_close)

/* Computes the keyed hash of a text's tokens. */
void nvdp__ledger_text(const struct nvdp__ledger *ledger, size_t n, const int32_t *ids,
                       const int32_t *types, nvdp__text_hash hash);
/* Computes the keyed hash of a person's or a receiver's name in Unicode's normal form NFC, without white space around
 * the name.  Zeros for an empty name or NULL.  The hash of kind LOOK is the same for persons' names that look alike. */
enum nvdp__ledger_naming { NVDP__LEDGER_PERSON, NVDP__LEDGER_RECEIVER, NVDP__LEDGER_LOOK };
/* Computes the hash of a name under a key of NVDP__LEDGER_SUBKEY bytes, or without a key (NULL).  Two names have equal
 * hashes if the ledger's hashes of these names are equal. */
nvdp_status nvdp__name_hash(struct nvdp_context *ctx, const unsigned char *key,
                            enum nvdp__ledger_naming kind, const char *name, nvdp__text_hash hash);
nvdp_status nvdp__ledger_name(const struct nvdp__ledger *ledger, enum nvdp__ledger_naming kind,
                              const char *name, nvdp__text_hash hash);
/* Returns the number of persons' names of the next release, of `texts` texts, that look like another name of this
 * release or of a record. */
nvdp_status nvdp__ledger_alike_names(const struct nvdp__ledger *ledger, size_t texts,
                                     size_t *alike);
/* Sets the names of the next release.  The arrays of `names` must live until the ledger is closed. */
void nvdp__ledger_set_names(struct nvdp__ledger *ledger, const struct nvdp__ledger_names *names);
/* Adds `release`, the next record, to the earlier releases of each text in `text`, and sets the budget in force.  A
 * samples budget of 0 means `promise` if no budget is given, else no limit.  An epsilon budget of 0 means the budget of
 * the previous record.  nvdp__keeps_promise() decides whether the promise is kept.  A given budget holds for all rows
 * of a text together.  The budget of a person stays in force until another budget is given.  NVDP_ERR_STATE if the
 * release exceeds the budget; the message names the files that have the texts, and the option that allows the
 * release. */
nvdp_status nvdp__ledger_check(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                               const nvdp__text_hash *text, uint64_t promise,
                               struct nvdp__spent *spent);
/* Repeats the check, then writes the record and syncs it to disk.  Call it once per open ledger. */
nvdp_status nvdp__ledger_add(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                             const nvdp__text_hash *text, uint64_t promise,
                             struct nvdp__spent *spent);

/* Returns the code of the record that nvdp__ledger_add() wrote. */
void nvdp__ledger_added(const struct nvdp__ledger *ledger, nvdp__ledger_code code);
/* Opens the ledger and ends a release: the release's file was published, or the release is returned and no longer
 * counts.  A release may be returned only if no value, and nothing computed from a value, was shown. */
nvdp_status nvdp__ledger_settle(struct nvdp_context *ctx, const char *path, const char *key,
                                const char *tokens, const nvdp__ledger_code code, bool published);

size_t nvdp__ledger_count(const struct nvdp__ledger *ledger);
/* Returns the last record with this id, of a summary (if `shared`) or of samples, or NULL.  The shards of a release
 * share an id.  Prefers a record with as many texts and samples, and among these a record whose file has the same
 * name. */
const struct nvdp__ledger_release *nvdp__ledger_find(const struct nvdp__ledger *ledger, bool shared,
                                                     const char *id, const char *file,
                                                     uint64_t texts, uint64_t samples);
/* Returns the number of records with the id of `of` and as many texts and samples. */
size_t nvdp__ledger_alike(const struct nvdp__ledger *ledger, const struct nvdp__ledger_release *of);
/* Returns the last record before `of` with the same id and as many texts and samples, or NULL. */
const struct nvdp__ledger_release *nvdp__ledger_like(const struct nvdp__ledger *ledger,
                                                     const struct nvdp__ledger_release *of);
/* Returns true if the distance from exact weights adds at most a thousandth of delta to delta. */
bool nvdp__distance_negligible(double epsilon, double distance, double delta);
bool nvdp__within_budget(const struct nvdp__budget *budget, const struct nvdp__spent *spent);
/* Sets *units to the number of units of a release whose rows have so many texts.  The units are the rows, or, if all
 * rows of a person count as one row, the persons and the rows without a person. */
nvdp_status nvdp__ledger_units(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release, uint64_t texts,
                               uint64_t *units);
/* Adds up the releases so far of the texts in `release`.  Sets *budget to the budget of the last record that has one
 * of the texts, and worst->person_budget to the budget of a person in force. */
nvdp_status nvdp__ledger_worst(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release,
                               struct nvdp__spent *worst, struct nvdp__budget *budget);
/* Does nvdp_ledger_summarize() with all epsilons at another delta.  run: as in nvdp__ledger_of_run(), or NULL. */
struct nvdp_ledger_summary;
nvdp_status nvdp__ledger_summarize(struct nvdp_context *ctx, const char *path, const char *key,
                                   const char *run, double delta, struct nvdp_ledger_summary *out);
/* Returns epsilon if one word is replaced by another.  It is never above the epsilon of any two texts. */
double nvdp__spent_word_epsilon(const struct nvdp__spent *spent);
/* Returns "were shared before, in", or another clause if none of the files was published. */
const char *nvdp__spent_before(const struct nvdp__spent *spent);
/* Writes "epsilon 12.3 at delta 1e-05", with " (per word 2)" if less is proven per word, and returns the text. */
enum { NVDP__SPENT_TEXT = 96 };
const char *nvdp__spent_text(double epsilon, double word, char text[NVDP__SPENT_TEXT]);
/* Writes the claim that holds for the sums, as a clause, and returns the text.  `proven` is a member of struct
 * nvdp__spent. */
enum { NVDP__CLAIM_TEXT = 128 };
const char *nvdp__spent_claim(double proven, char text[NVDP__CLAIM_TEXT]);
/* Converts the members that concern persons. */
struct nvdp_persons;
void nvdp__spent_persons(const struct nvdp__spent *spent, struct nvdp_persons *out);

/* ---- spending.c: sums over the records ---- */

/* Adds up the records of a ledger: by text, by person and by receiver.
 *
 * All samples of a text count for every person to whom any record assigns the text.  So the epsilon of a person is
 * never below the epsilon of one of the person's texts.  In a record, a text without a name counts as a separate
 * person.  A text without a name in all records counts for itself alone: its samples are missing in the sum of the
 * person who wrote it.  A record without a receiver counts for every receiver.
 *
 * In a summary of persons, all rows of a person are one unit, and a row without a person is one unit.  A text costs as
 * many units as contain it.  A person costs one unit, plus one for each further unit with a text that another record
 * assigns to the person, or that the summary assigns to nobody. */

/* A record with its texts and names. */
struct nvdp__ledger_record {
    const struct nvdp__ledger_release *release;
    const nvdp__text_hash *text; /* [release->texts] */
    /* [release->texts]; zeros for a text without a person; NULL if the record names no persons. */
    const nvdp__text_hash *person;
    const nvdp__text_hash *look;   /* [release->texts]; NULL if unknown */
    const unsigned char *receiver; /* a nvdp__text_hash; NULL if not named */
    const char *file;
    const unsigned char *code; /* a nvdp__ledger_code; NULL if the record is not in the file yet */
    bool finished;             /* its file was published, as far as is known */
    bool named;                /* a record with names belongs to it */
    /* a summary, whose rows share their noise; never set in older kinds. */
    bool shared;
    bool by_person;        /* a summary in which all rows of a person together count as one */
    double person_epsilon; /* budget of a person from this record on; 0 if unchanged */
    double word_mu;        /* mu of one sample per word; 0 for mu of the release */
    /* Distance of one sample's weights, as in struct nvdp__ledger_names. */
    double distance;
};

/* A budget that was set with the first release and never raised.  Releases may depend on earlier samples if the sum at
 * one order, which was fixed with the budget, never exceeds it (docs/proofs.md, section 9). */
struct nvdp__filter {
    double budget; /* epsilon at NVDP__LEDGER_DELTA; 0 if there is none */
    int order;     /* index of the order of the Renyi divergence; -1 if all releases are Gaussian */
};

/* The records so far, and the next one or NULL. */
struct nvdp__records {
    struct nvdp_context *ctx;
    const struct nvdp__ledger_record *record;
    size_t count;
    const struct nvdp__ledger_record *next;
    const unsigned char *receiver; /* only records for this receiver count; NULL for all records */
    double delta;                  /* delta of the epsilons */
    struct nvdp__filter filter, person_filter;
};

/* Returns the records of a ledger, and the next one or NULL. */
struct nvdp__records nvdp__ledger_records(const struct nvdp__ledger *ledger,
                                          const struct nvdp__ledger_record *next);
/* Returns the budget of a person in force after these records; 0 if there is none. */
double nvdp__person_budget(const struct nvdp__ledger_record *record, size_t count);

/* Returns the filter of a budget that is set with this release.  Its order is the order at which the budget allows the
 * most releases like this one. */
struct nvdp__filter nvdp__filter_with(const struct nvdp__ledger_release *first, double budget);

/* Returns true if a record names persons. */
bool nvdp__name_persons(const struct nvdp__records *records);

/* A sum of releases: samples, mu^2, the squared radius of the guess bound, the divergences of each order and the
 * distances of the weights add up.  Within a release whose rows share the noise, k rows have k mu, not sqrt(k) mu,
 * and count as one sample. */
struct nvdp__spending {
    uint64_t samples;
    double mu_square, radius_square, word_square, word_radius_square,
        divergence[NVDP__LEDGER_ORDERS], distance;
};

/* A text of the release, or a person, and the sum of its releases. */
struct nvdp__sum {
    nvdp__text_hash of;
    uint64_t texts;  /* number of texts of a person */
    uint64_t before; /* samples of a text that earlier releases drew */
    bool named;      /* a record gives the text to a person */
    uint64_t rows;   /* number of rows in the record that is being added */
    struct nvdp__spending spending;
};

/* The sums of the distinct texts of a release, and the records that share a text with the release. */
struct nvdp__account {
    size_t count; /* number of distinct texts */
    /* Largest number of samples that earlier releases drew of a text.  Largest numbers of samples with this release: of
     * the texts that earlier releases have, and of the other texts.  0 if there is no such text. */
    uint64_t most_before, most_again, most_new;
    struct nvdp__spent spent;
    const struct nvdp__ledger_release *last; /* the last record; NULL if there is none */
};

/* Sets *units as nvdp__ledger_units() does. */
nvdp_status nvdp__units_of_record(struct nvdp_context *ctx,
                                  const struct nvdp__ledger_record *record, uint64_t texts,
                                  uint64_t *units);
/* Adds up the records, with the next record, over the texts of the record `of`, and finds the largest sums.  Members
 * about earlier records, such as spent.seen_before, exclude the next record. */
nvdp_status nvdp__account_sum(const struct nvdp__records *records,
                              const struct nvdp__ledger_record *of, struct nvdp__account *account);
/* Returns the samples, epsilon and mu per word of a text that stands in `rows` rows of the record. */
struct nvdp__spent nvdp__spent_of_rows(const struct nvdp__ledger_record *record, size_t rows,
                                       double delta);

/* Adds up all records, with the next record, over the persons and the receivers of the record `of`.  The persons are
 * the persons that `of` names, the texts of `of` without a person, and the persons to whom other records assign the
 * texts of `of`.  Fills the members of *spent about receivers with the largest sums of a single receiver.  Fills the
 * members about persons unless the record names no persons.  spent->persons_over counts the persons whose epsilon is
 * above `budget` (0 if there is none). */
nvdp_status nvdp__spent_of_names(const struct nvdp__records *records,
                                 const struct nvdp__ledger_record *of, double budget,
                                 struct nvdp__spent *spent);

/* ---- the file of a ledger ---- */

/* The file of a ledger, ledger/3: a head, then frames.  ledger_file.c reads and writes frames, and stores the number of
 * frames in another file; ledger.c interprets the frames.  Numbers are little-endian.
 *
 * H(k, x) is BLAKE2b with key k (crypto_generichash).  The key file has "nvdp-ledger-key/1 " and 64 hexadecimal digits,
 * K.  The keys k1, k2 = crypto_kdf_derive_from_key(K, 1 and 2, "nvdpledg") have 32 bytes each.
 *
 *     head      "nvdp ledger/3\n", zero-padded to 16 bytes
 *               32 bytes   H(k1, "D L"): D digest of the tokenizer, L the largest length; H(k1, "ids of the caller") or
 *                          H(k1, "bytes of vectors"): tokens are the SHA-256 of an id, or of a float32 vector
 *               u64        number of frames; not in older kinds
 *               32 bytes   H of the last frame; not in older kinds
 *               32 bytes   H(k2, A, the two before); A = H(k2, 32 zeros, the first two) is also the H before the first
 *                          frame.  Older kinds have the A of their own name.
 *     frame     32 bytes   model_id of the file
 *               u64 N, u64 S, i64 seconds since 1970
 *               u64, f64   budget in force: samples, epsilon; 0 if there is none
 *               f64        mu of one sample under certificate (a), else inf
 *               16 f64     proven Renyi divergence of one sample at the orders 1.05 1.1 1.25 1.5 1.75 2 2.5 3 4 6 8 12
 *                          16 32 64 256, or inf
 *               128 bytes  path of the file (its end, zero-padded); not in ledger/1
 *               u64        enum nvdp__ledger_type; not in older kinds
 *               32 bytes   H(k2, last H, frame so far)
 *               N x 16 bytes   H(k1, u64 n, n token ids i32, n token types i32) of each text
 *               32 bytes   H(k2, last H, texts)
 *
 * NVDP__LEDGER_NAMES has the persons and the receiver of the release before it, with S = 0, and N = 0 or as before.  In
 * place of mu it has the budget of a person; in place of the divergences H(k1, u64 2^64 - 2, name) of the receiver, mu
 * per word and the weights' distance of one sample; in place of the texts H(k1, u64 2^64 - 1, name) of each person, 16
 * zero bytes for a text without a name.  Older kinds recognize this frame by S = 0 and the id of the frame before it.
 * NVDP__LEDGER_LOOKS has H(k1, u64 2^64 - 3, name in lower case and NFKC without blanks) in place of the texts.  The
 * first four divergences of an end (NVDP__LEDGER_RETURNED, NVDP__LEDGER_PUBLISHED) are the last H of the release.
 *
 * NAME.state beside the key NAME.key has 128 bytes: "nvdp ledger-state/1\n" zero-padded to 24, A, u64 number of frames,
 * H of the last frame, H(k2, A, so far).  Writers write the frame, then the head, then the state, and sync each. */

enum { NVDP__LEDGER_MAC = 32, NVDP__LEDGER_SUBKEY = 32 };

/* The head.  Files of kind ledger/1 and ledger/2 have `kind`, `tokens` and a MAC alone. */
struct nvdp__ledger_head {
    char kind[16];
    unsigned char tokens[NVDP__LEDGER_MAC]; /* keyed hash of the tokenizer and the max. length */
    uint64_t frames;                        /* number of frames in the file */
    unsigned char last[NVDP__LEDGER_MAC];   /* MAC of the last frame */
    unsigned char mac[NVDP__LEDGER_MAC];
};

/* A frame of the file:  release, MAC, texts [release.texts], MAC.  A MAC covers the previous MAC and the bytes between
 * the two MACs. */
struct nvdp__ledger_frame {
    const struct nvdp__ledger_release *release;
    const nvdp__text_hash *text;
};

/* The number of frames and the last MAC of a ledger, kept in another file. */
struct nvdp__ledger_mark {
    char kind[24];
    unsigned char ledger[NVDP__LEDGER_MAC]; /* id of the ledger */
    uint64_t frames;
    unsigned char last[NVDP__LEDGER_MAC];
    unsigned char mac[NVDP__LEDGER_MAC];
};
struct nvdp__ledger_state {
    struct nvdp__path path; /* "" if there is no such file */
    bool there;
    struct nvdp__ledger_mark *mark; /* one per ledger */
    size_t marks;
};

struct nvdp__ledger {
    struct nvdp_context *ctx;
    struct nvdp__path path;
    int fd;
    unsigned char *key;   /* [2 NVDP__LEDGER_SUBKEY] protected: one for texts, one for MACs */
    unsigned char *bytes; /* contents of the file when it was opened */
    size_t size, whole;   /* bytes of the file, and of the complete frames */
    int kind;
    struct nvdp__ledger_head head;
    struct nvdp__ledger_place {
        size_t at; /* first byte of the frame */
        uint64_t type;
    } * frame;
    size_t frames, frame_capacity;
    struct nvdp__ledger_record *record; /* the records that count: returned releases are left out */
    size_t count, capacity, returned;
    /* The release that set the budget; NULL if no release has set one. */
    const struct nvdp__ledger_release *first;
    double first_person;                   /* budget of a person that this release set */
    bool first_old;                        /* `first` is from an older ledger */
    unsigned char id[NVDP__LEDGER_MAC];    /* MAC before the first frame */
    unsigned char mac[NVDP__LEDGER_MAC];   /* MAC of the last frame */
    unsigned char added[NVDP__LEDGER_MAC]; /* MAC of the release that was added last */
    /* States beside the key, and in a run that uses the ledger. */
    struct nvdp__ledger_state state, copy;
    struct nvdp__ledger_names names; /* names of the next record */
};

#define NVDP__LEDGER_FAIL(ledger, status, format, ...)                                             \
    nvdp__fail((ledger)->ctx, NVDP_ERR_##status, "%s: " format, (ledger)->path.text, __VA_ARGS__)

/* Does nvdp__ledger_open(), and waits for the lock even if the context is cancelled. */
nvdp_status nvdp__ledger_open_patient(struct nvdp_context *ctx, const char *path, const char *key,
                                      const char *tokens, bool patient, struct nvdp__ledger **out);
/* Adds a frame whose MACs are right to the records.  `code` is the frame's last MAC.  Defined in ledger.c. */
nvdp_status nvdp__ledger_take(struct nvdp__ledger *ledger, const struct nvdp__ledger_record *record,
                              uint64_t *type, const unsigned char *code);
/* Writes frames after the complete frames, then the head, then the copies of the state, and syncs each to disk.
 * Converts an older file to the current kind first.  Leaves the file unchanged on failure. */
nvdp_status nvdp__ledger_append(struct nvdp__ledger *ledger, size_t count,
                                const struct nvdp__ledger_frame *frame);

#endif
