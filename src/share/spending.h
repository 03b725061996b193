/* Adds up the records of a ledger: by text, by person and by receiver.
 *
 * All samples of a text count for every person to whom any record gives the text, so that the epsilon of a person is
 * never below that of one of their texts.  A text without a name in a record is a person of its own there.  A text
 * without a name in any record counts for itself alone: the sum of the person who wrote it lacks its samples.  A record
 * without a receiver counts for every receiver. */
#ifndef NVDP_SRC_SHARE_SPENDING_H
#define NVDP_SRC_SHARE_SPENDING_H

#include "share/ledger.h"

/* A record with its texts and names. */
struct nvdp__ledger_record {
    const struct nvdp__ledger_release *release;
    const nvdp__text_hash *text; /* [release->texts] */
    const nvdp__text_hash
        *person; /* the same number; zeros: no person.  NULL: the record names none */
    const nvdp__text_hash *look;   /* the same number; NULL: unknown */
    const unsigned char *receiver; /* a nvdp__text_hash; NULL: not named */
    const char *file;
    const unsigned char *code; /* a nvdp__ledger_code; NULL: not in the file yet */
    bool finished;             /* its file was published, as far as is known */
    bool named;                /* a record with names belongs to it */
    double person_epsilon;     /* budget of a person from this record on; 0: as before */
    double word_mu;            /* of one sample, per word; 0: that of the release */
    double distance;           /* of one sample's weights, as in struct nvdp__ledger_names */
};

/* A budget that was set with the first release and never raised.  Releases may depend on earlier samples if the sum at
 * one order, which was fixed with the budget, never exceeds it (docs/proofs.md, section 9). */
struct nvdp__filter {
    double budget; /* epsilon at NVDP__LEDGER_DELTA; 0: none */
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

/* Returns the records of a ledger. */
struct nvdp__records nvdp__ledger_records(const struct nvdp__ledger *ledger);
/* Returns the budget of a person in force after these records; 0: none. */
double nvdp__person_budget(const struct nvdp__ledger_record *record, size_t count);

/* Returns the filter of a budget that is set with this release.  Of the orders, it has the one at which most releases like
 * this one fit. */
struct nvdp__filter nvdp__filter_with(const struct nvdp__ledger_release *first, double budget);

/* True if a record names persons. */
bool nvdp__name_persons(const struct nvdp__records *records);

/* A sum of releases: samples, mu^2, the divergences of each order and the distances of the weights add up. */
struct nvdp__spending {
    uint64_t samples;
    double mu_square, word_square, divergence[NVDP__LEDGER_ORDERS], distance;
};

/* A text of the release, or a person, and the sum of its releases. */
struct nvdp__sum {
    nvdp__text_hash of;
    uint64_t texts;  /* of a person */
    uint64_t before; /* samples of a text that earlier releases drew */
    bool named;      /* a record gives the text to a person */
    struct nvdp__spending spending;
};

/* The distinct texts of a release, and the records that share a text with it. */
struct nvdp__account {
    struct nvdp__sum *sum; /* [count] sorted by text */
    size_t count;
    struct nvdp__spent spent;
    double delta;                            /* of the epsilons */
    struct nvdp__filter filter;              /* of a text */
    const struct nvdp__ledger_release *last; /* the last of the records; NULL: none */
};

/* Adds up the records over the texts of the record `of`, without the next one.  free() account->sum. */
nvdp_status nvdp__account_open(const struct nvdp__records *records,
                               const struct nvdp__ledger_record *of, struct nvdp__account *account);
/* Adds a record.  Returns false if it has none of the texts.  A text that occurs twice in the record counts twice. */
bool nvdp__account_add(struct nvdp__account *account, const struct nvdp__ledger_record *record);
/* Returns the samples, epsilon and mu per word of a text that stands in `rows` rows of the record. */
struct nvdp__spent nvdp__spent_of_rows(const struct nvdp__ledger_record *record, size_t rows,
                                       double delta);
/* Finds the largest samples and epsilon. */
void nvdp__account_close(struct nvdp__account *account);

/* Adds up all records, with the next one, over the persons of the record `of`: those that it names, its texts without a
 * person, and the persons to whom other records give its texts.  Fills the members of *spent that concern persons.
 * *over: how many of the *persons have an epsilon above `budget` (0: none). */
nvdp_status nvdp__spent_of_persons(const struct nvdp__records *records,
                                   const struct nvdp__ledger_record *of, double budget,
                                   struct nvdp__spent *spent, size_t *over, size_t *persons);
/* Fills the members of *spent that concern receivers: for the texts and persons of the record `of`, the largest sums of
 * what a single receiver has. */
nvdp_status nvdp__spent_of_receivers(const struct nvdp__records *records,
                                     const struct nvdp__ledger_record *of,
                                     struct nvdp__spent *spent);

#endif
