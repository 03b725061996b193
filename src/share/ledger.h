/* The ledger counts every release of a text before anyone can have it (docs/formats.md, "ledger/3").
 *
 * The file grows by one record per export.  It holds a keyed hash of each text's tokens: testing guesses of
 * texts against the ledger, or changing a record unnoticed, needs the key.  A record is on disk before the first
 * value of its release is drawn, and stays in the file.  An export that fails afterwards is counted, unless a further
 * record returns it: nothing that was computed from its samples was shown. */
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
    double epsilon; /* at NVDP__LEDGER_DELTA */
};

/* The types of the frames of a file: a release, its names, how they look, its end (it was returned, or its file was
 * published), a release of a file of kind ledger/1 or ledger/2, a release whose rows share their noise (a summary),
 * one in which all rows of a person together count as one row (a summary of persons), and one with the samples of
 * persons: all rows of a person together have one sample, with noise of its own. */
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

/* A record without its texts, in the layout of the file.  Files of kind ledger/1 have no `file`, older files no
 * `type`. */
struct nvdp__ledger_release {
    char id[NVDP__LEDGER_ID]; /* model_id of the file, without a NUL */
    uint64_t texts, samples;
    int64_t seconds;            /* since 1970 */
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
    /* At NVDP__LEDGER_DELTA, the smallest that is proven; infinite if one release has no guarantee. */
    double epsilon;
    double mu; /* infinite if one release is not Gaussian */
    /* C of the guess bound Phi(Phi^-1(b) + C), and the same per word; infinite as mu and word_mu */
    double radius, word_radius;
    double word_mu; /* for one word in place of another; infinite if one release proves nothing */
    uint64_t seen_before;           /* texts that occur in earlier records */
    char files[NVDP__LEDGER_FILES]; /* files of these records, the last first */
    bool shared_before;             /* one of these files was published, as far as is known */
    /* Compared with the budgets: as `epsilon`, but at the order of the budget's filter, if it has one. */
    double filtered, person_filtered;
    /* The budget of a text, and of a person, that was set with the first release and never raised: it is proven
     * whatever the releases depend on.  0: none, and `epsilon` is proven if number and noise do not depend on earlier
     * samples. */
    double proven, person_proven;
    /* Texts without a person in any record; nvdp__ledger_check(): 0 unless only earlier records name persons. */
    uint64_t unnamed;
    /* All texts of a person together.  A text without a person is a person of its own. */
    uint64_t persons; /* persons of the release; 0: it names none, and the next members are 0 */
    size_t persons_compared, persons_over; /* with a budget: the second ones exceed it */
    uint64_t renamed; /* texts that an earlier record gives to another person */
    uint64_t person_texts,
        person_samples; /* largest numbers of one person, all releases together */
    double person_epsilon, person_mu, person_radius; /* infinite: as `mu` and `radius` */
    double person_budget; /* only nvdp__ledger_worst() sets it; 0 if there is none */
    /* The largest sums that a single receiver has. */
    uint64_t receivers; /* named receivers; 0: the next members are 0 */
    uint64_t receiver_samples;
    double receiver_epsilon, receiver_person_epsilon;
};

/* The names of a release. */
struct nvdp__ledger_names {
    const nvdp__text_hash *person; /* [texts] zeros: a text without a person; NULL: no names */
    const nvdp__text_hash *look;   /* [texts] of folded names; NULL if `person` is NULL */
    const unsigned char *receiver; /* a nvdp__text_hash; NULL if not named */
    double person_epsilon;         /* budget of a person; 0: that of earlier releases */
    double word_mu;  /* of one sample, for one word in place of another; 0: mu of the release */
    double distance; /* of the weights of one sample from a Dirichlet's, in total variation */
    bool each; /* the run's promise is for each row of a text, not for all of its rows together */
};

/* Opens and authenticates the ledger, for every reader and writer.  To add a record, give `tokens`: it names the
 * tokenizer and the max. length of texts, which are recognized by their tokens.  NVDP_ERR_ARGUMENT if the ledger has
 * other `tokens`. With `tokens`, creates a missing file, its key and its state, and locks the file until it is
 * closed: a second writer waits.  Without (NULL), opens the file for reading.
 *
 * NVDP_ERR_STATE if records are missing: the file is gone while its key or its state is there; it is shorter than its
 * head says; it is an older copy than the one that the state remembers (NAME.state beside the key NAME.key); the state
 * of a file of kind ledger/3 is gone.  One record behind those that the head counts is right, and so is a state that
 * lags: a writer died.  Ignores an incomplete last record, which the next writer removes: nothing of its release was
 * drawn. NVDP_ERR_INPUT if the file is not a ledger, the key is wrong or a record is damaged. */
nvdp_status nvdp__ledger_open(struct nvdp_context *ctx, const char *path, const char *key,
                              const char *tokens, struct nvdp__ledger **out);
/* True if the ledger, its key or its state exists: then readers must open the ledger, which fails if records are
 * missing. */
bool nvdp__ledger_expected(const char *path, const char *key);
/* Also compares with the state in the folder `run`, if the key is elsewhere, and lets the next record update it. */
nvdp_status nvdp__ledger_of_run(struct nvdp__ledger *ledger, const char *run);
/* Fails if the folder `run` remembers records of a ledger elsewhere, which the caller did not name. */
nvdp_status nvdp__ledger_elsewhere(struct nvdp_context *ctx, const char *run);
void nvdp__ledger_close(struct nvdp__ledger *ledger); /* NULL allowed */
NVDP__AUTOPTR(struct nvdp__ledger, nvdp__ledger_close)

/* Computes the keyed hash of a text's tokens. */
void nvdp__ledger_text(const struct nvdp__ledger *ledger, size_t n, const int32_t *ids,
                       const int32_t *types, nvdp__text_hash hash);
/* Computes the keyed hash of a person's or a receiver's name in Unicode's normal form NFC, without white space around
 * it. Zeros for an empty name or NULL.  LOOK: the same for persons' names that look alike. */
enum nvdp__ledger_naming { NVDP__LEDGER_PERSON, NVDP__LEDGER_RECEIVER, NVDP__LEDGER_LOOK };
/* The same under a key of NVDP__LEDGER_SUBKEY bytes, or without one (NULL): names are equal if the ledger's are. */
nvdp_status nvdp__name_hash(struct nvdp_context *ctx, const unsigned char *key,
                            enum nvdp__ledger_naming kind, const char *name, nvdp__text_hash hash);
nvdp_status nvdp__ledger_name(const struct nvdp__ledger *ledger, enum nvdp__ledger_naming kind,
                              const char *name, nvdp__text_hash hash);
/* Returns how many persons' names of the next release, of so many texts, look like another one of this release or of a
 * record. */
nvdp_status nvdp__ledger_alike_names(const struct nvdp__ledger *ledger, size_t texts,
                                     size_t *alike);
/* Sets the names of the next release.  Its arrays must live until the ledger is closed. */
void nvdp__ledger_set_names(struct nvdp__ledger *ledger, const struct nvdp__ledger_names *names);
/* Adds up each text's releases and the next record, `release` of the texts `text`, and sets the budget in force.  A
 * samples budget of 0 means `promise` if no budget is given, else no limit.  An epsilon budget of 0 means that of
 * the previous record.  The promise is kept as nvdp__keeps_promise() says.  A given budget holds for all rows of a text
 * together.  The budget of a person stays in force until another one is given.  NVDP_ERR_STATE if the release exceeds
 * the budget; the message names the files that have the texts, and the option that allows the release. */
nvdp_status nvdp__ledger_check(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                               const nvdp__text_hash *text, uint64_t promise,
                               struct nvdp__spent *spent);
/* Repeats the check, then writes the record and syncs it to disk.  Once per open ledger. */
nvdp_status nvdp__ledger_add(struct nvdp__ledger *ledger, struct nvdp__ledger_release *release,
                             const nvdp__text_hash *text, uint64_t promise,
                             struct nvdp__spent *spent);

/* Returns the code of the record that nvdp__ledger_add() wrote. */
void nvdp__ledger_added(const struct nvdp__ledger *ledger, nvdp__ledger_code code);
/* Opens the ledger and ends a release: its file was published, or the release is returned and no longer counts.  It
 * may be returned only if no value, and nothing computed from one, was shown. */
nvdp_status nvdp__ledger_settle(struct nvdp_context *ctx, const char *path, const char *key,
                                const char *tokens, const nvdp__ledger_code code, bool published);

size_t nvdp__ledger_count(const struct nvdp__ledger *ledger);
/* Returns the last record with this id, or NULL: of a summary (`shared`), or of samples.  The shards of a release
 * share an id: a record with as many texts and samples comes first, above all one whose file has the same name. */
const struct nvdp__ledger_release *nvdp__ledger_find(const struct nvdp__ledger *ledger, bool shared,
                                                     const char *id, const char *file,
                                                     uint64_t texts, uint64_t samples);
/* Returns the number of records with the id of `of` and as many texts and samples. */
size_t nvdp__ledger_alike(const struct nvdp__ledger *ledger, const struct nvdp__ledger_release *of);
/* Returns the last such record before `of`, or NULL. */
const struct nvdp__ledger_release *nvdp__ledger_like(const struct nvdp__ledger *ledger,
                                                     const struct nvdp__ledger_release *of);
/* True if the distance from exact weights adds at most a thousandth of delta to it. */
bool nvdp__distance_negligible(double epsilon, double distance, double delta);
bool nvdp__within_budget(const struct nvdp__budget *budget, const struct nvdp__spent *spent);
/* Sets *units to the number of units of a release whose rows have so many texts: its rows, or its persons and its
 * rows without a person if all rows of a person count as one. */
nvdp_status nvdp__ledger_units(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release, uint64_t texts,
                               uint64_t *units);
/* Adds up the releases so far of the texts in `release`.  Sets *budget to the budget of the last record that has one
 * of the texts, and worst->person_budget to the budget of a person in force. */
nvdp_status nvdp__ledger_worst(const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release,
                               struct nvdp__spent *worst, struct nvdp__budget *budget);
/* Does nvdp_ledger_summarize() at another delta of all epsilons.  run: as in nvdp__ledger_of_run(), or NULL. */
struct nvdp_ledger_summary;
nvdp_status nvdp__ledger_summarize(struct nvdp_context *ctx, const char *path, const char *key,
                                   const char *run, double delta, struct nvdp_ledger_summary *out);
/* Returns epsilon for one word in place of another. It is never above the epsilon of any two texts. */
double nvdp__spent_word_epsilon(const struct nvdp__spent *spent);
/* Returns "were shared before, in", or what holds if none of the files was published. */
const char *nvdp__spent_before(const struct nvdp__spent *spent);
/* Writes "epsilon 12.3 at delta 1e-05", with " (per word 2)" if less is proven per word, and returns the text. */
enum { NVDP__SPENT_TEXT = 96 };
const char *nvdp__spent_text(double epsilon, double word, char text[NVDP__SPENT_TEXT]);
/* Writes which claim holds for the sums, as a clause, and returns the text.  `proven` is a member of struct
 * nvdp__spent. */
enum { NVDP__CLAIM_TEXT = 128 };
const char *nvdp__spent_claim(double proven, char text[NVDP__CLAIM_TEXT]);
/* Converts the members that concern persons. */
struct nvdp_persons;
void nvdp__spent_persons(const struct nvdp__spent *spent, struct nvdp_persons *out);

/* ---- spending.c: sums over the records ---- */

/* Adds up the records of a ledger: by text, by person and by receiver.
 *
 * All samples of a text count for every person to whom any record gives the text, so that the epsilon of a person is
 * never below that of one of their texts.  A text without a name in a record is a person of its own there.  A text
 * without a name in any record counts for itself alone: the sum of the person who wrote it lacks its samples.  A record
 * without a receiver counts for every receiver.
 *
 * In a summary of persons, all rows of a person are one unit, and so is a row without a person.  There a text costs
 * as many units as have it, and a person costs one unit.  The person costs more only through texts that the summary
 * does not give to the person: each further unit that has a text which another record gives to the person, or which
 * it gives to nobody. */

/* A record with its texts and names. */
struct nvdp__ledger_record {
    const struct nvdp__ledger_release *release;
    const nvdp__text_hash *text; /* [release->texts] */
    /* The same number; zeros: no person.  NULL: the record names none. */
    const nvdp__text_hash *person;
    const nvdp__text_hash *look;   /* the same number; NULL if unknown */
    const unsigned char *receiver; /* a nvdp__text_hash; NULL if not named */
    const char *file;
    const unsigned char *code; /* a nvdp__ledger_code; NULL: not in the file yet */
    bool finished;             /* its file was published, as far as is known */
    bool named;                /* a record with names belongs to it */
    bool shared;               /* its rows share their noise: a summary. Older kinds have none */
    bool by_person;            /* a summary in which all rows of a person together count as one */
    double person_epsilon;     /* budget of a person from this record on; 0: as before */
    double word_mu;            /* of one sample, per word; 0: that of the release */
    double distance;           /* of one sample's weights, as in struct nvdp__ledger_names */
};

/* A budget that was set with the first release and never raised.  Releases may depend on earlier samples if the sum at
 * one order, which was fixed with the budget, never exceeds it (docs/proofs.md, section 9). */
struct nvdp__filter {
    double budget; /* epsilon at NVDP__LEDGER_DELTA; 0 if there is none */
    int order;     /* index of the order of the Renyi divergence; -1: all releases are Gaussian */
};

/* The records so far, and the next one or NULL. */
struct nvdp__records {
    struct nvdp_context *ctx;
    const struct nvdp__ledger_record *record;
    size_t count;
    const struct nvdp__ledger_record *next;
    const unsigned char *receiver; /* only records for this receiver count; NULL: all */
    double delta;                  /* of the epsilons */
    struct nvdp__filter filter, person_filter;
};

/* Returns the records of a ledger, and the next one or NULL. */
struct nvdp__records nvdp__ledger_records(const struct nvdp__ledger *ledger,
                                          const struct nvdp__ledger_record *next);
/* Returns the budget of a person in force after these records; 0 if there is none. */
double nvdp__person_budget(const struct nvdp__ledger_record *record, size_t count);

/* Returns the filter of a budget that is set with this release.  Of the orders, it has the one at which most releases
 * like this one fit. */
struct nvdp__filter nvdp__filter_with(const struct nvdp__ledger_release *first, double budget);

/* True if a record names persons. */
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
    uint64_t texts;  /* of a person */
    uint64_t before; /* samples of a text that earlier releases drew */
    bool named;      /* a record gives the text to a person */
    uint64_t rows;   /* in the record that is being added */
    struct nvdp__spending spending;
};

/* The distinct texts of a release, and the records that share a text with it. */
struct nvdp__account {
    struct nvdp__sum *sum; /* [count] sorted by text */
    size_t count;
    struct nvdp__spent spent;
    const struct nvdp__ledger_release *last; /* the last of the records; NULL if there is none */
};

/* Sets *units as nvdp__ledger_units() does. */
nvdp_status nvdp__units_of_record(struct nvdp_context *ctx,
                                  const struct nvdp__ledger_record *record, uint64_t texts,
                                  uint64_t *units);
/* Adds up the records, with the next one, over the texts of the record `of`, and finds the largest sums.  What concerns
 * earlier records, such as spent.seen_before, is without the next one. */
nvdp_status nvdp__account_sum(const struct nvdp__records *records,
                              const struct nvdp__ledger_record *of, struct nvdp__account *account);
void nvdp__account_release(struct nvdp__account *account);
/* Returns the samples, epsilon and mu per word of a text that stands in `rows` rows of the record. */
struct nvdp__spent nvdp__spent_of_rows(const struct nvdp__ledger_record *record, size_t rows,
                                       double delta);

/* Adds up all records, with the next one, over the persons and the receivers of the record `of`.  The persons are those
 * that it names, its texts without a person, and the persons to whom other records give its texts.  Fills the members
 * of *spent that concern persons, unless the record names none, and receivers: the largest sums of what a single
 * receiver has.  spent->persons_over counts the persons whose epsilon is above `budget` (0 if there is none). */
nvdp_status nvdp__spent_of_names(const struct nvdp__records *records,
                                 const struct nvdp__ledger_record *of, double budget,
                                 struct nvdp__spent *spent);

/* ---- the file of a ledger ---- */

/* The file of a ledger: frames behind a head (docs/formats.md, "ledger/3").  ledger_file.c reads and writes them,
 * and keeps their number elsewhere; ledger.c gives them their meaning. */

enum { NVDP__LEDGER_MAC = 32, NVDP__LEDGER_SUBKEY = 32 };

/* The head.  Files of kind ledger/1 and ledger/2 have `kind`, `tokens` and a MAC alone. */
struct nvdp__ledger_head {
    char kind[16];
    unsigned char tokens[NVDP__LEDGER_MAC]; /* keyed hash of the tokenizer and the max. length */
    uint64_t frames;                        /* in the file */
    unsigned char last[NVDP__LEDGER_MAC];   /* MAC of the last frame */
    unsigned char mac[NVDP__LEDGER_MAC];
};

/* A frame of the file:  release, MAC, texts [release.texts], MAC.  A MAC covers the previous MAC and the bytes between
 * them. */
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
    struct nvdp__path path; /* "": no such file */
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
    size_t size, whole;   /* bytes in the file, and in its whole frames */
    int kind;
    struct nvdp__ledger_head head;
    struct nvdp__ledger_place {
        size_t at; /* first byte of the frame */
        uint64_t type;
    } * frame;
    size_t frames, frame_capacity;
    struct nvdp__ledger_record *record; /* that count: without those that were returned */
    size_t count, capacity, returned;
    /* The release that set the budget; NULL if no release has set one. */
    const struct nvdp__ledger_release *first;
    double first_person;                   /* budget of a person that this release set */
    bool first_old;                        /* it is from an older ledger */
    unsigned char id[NVDP__LEDGER_MAC];    /* MAC before the first frame */
    unsigned char mac[NVDP__LEDGER_MAC];   /* of the last frame */
    unsigned char added[NVDP__LEDGER_MAC]; /* MAC of the release that was added last */
    struct nvdp__ledger_state state, copy; /* beside the key; in a run that uses the ledger */
    struct nvdp__ledger_names names;       /* of the next record */
};

#define NVDP__LEDGER_FAIL(ledger, status, format, ...)                                             \
    nvdp__fail((ledger)->ctx, NVDP_ERR_##status, "%s: " format, (ledger)->path.text, __VA_ARGS__)

/* Does nvdp__ledger_open(), and waits for the lock even if the context is cancelled. */
nvdp_status nvdp__ledger_open_patient(struct nvdp_context *ctx, const char *path, const char *key,
                                      const char *tokens, bool patient, struct nvdp__ledger **out);
/* Takes a frame whose MACs are right.  `code` is its last MAC.  In ledger.c. */
nvdp_status nvdp__ledger_take(struct nvdp__ledger *ledger, const struct nvdp__ledger_record *record,
                              uint64_t *type, const unsigned char *code);
/* Writes frames behind the whole ones, then the head, then the copies of the state, each synced to disk.  Turns an
 * older file into the present kind first.  Leaves the file as it was on failure. */
nvdp_status nvdp__ledger_append(struct nvdp__ledger *ledger, size_t count,
                                const struct nvdp__ledger_frame *frame);

#endif
