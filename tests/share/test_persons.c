/* Tests the ledger by person and by receiver, against the closed forms of Gaussian composition. */
#include "fixture.h"

struct book {
    struct nvdp_context *ctx;
    const char *path, *key;
    struct nvdp__spent spent; /* after the last release */
};

static struct book book_open(void) {
    return (struct book){.ctx = support_context(),
                         .path = support_scratch_path("ledger"),
                         .key = support_scratch_path("ledger.key")};
}

enum { MAX_TEXTS = 16 };

/* One release: a word per text, and a letter per person; '.': no person.  persons NULL: no names. */
struct release {
    const char *words, *persons;
    const char *receiver;
    double mu, budget;
    uint64_t samples;
    bool shared;    /* the rows share their noise, as in a summary */
    bool by_person; /* all rows of a person are one unit of a summary */
};

static nvdp_status add(struct book *book, struct release release) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    nvdp__text_hash hash[MAX_TEXTS], person[MAX_TEXTS], receiver;
    const size_t texts = strlen(release.words);
    struct nvdp__ledger_release record = {.texts = texts,
                                          .samples = release.samples > 0 ? release.samples : 1,
                                          .mu = release.mu,
                                          .type = release.by_person ? NVDP__LEDGER_PERSONS
                                                  : release.shared  ? NVDP__LEDGER_SHARED
                                                                    : NVDP__LEDGER_RELEASE};
    NVDP_TRY(nvdp__ledger_open(book->ctx, book->path, book->key, "words", &ledger));
    for (size_t i = 0; i < texts; i++) {
        const int32_t word = release.words[i], type = 0;
        const char name[2] = {release.persons != NULL ? release.persons[i] : '.', '\0'};
        nvdp__ledger_text(ledger, 1, &word, &type, hash[i]);
        NVDP_TRY(
            nvdp__ledger_name(ledger, NVDP__LEDGER_PERSON, *name == '.' ? "" : name, person[i]));
    }
    NVDP_TRY(nvdp__ledger_name(ledger, NVDP__LEDGER_RECEIVER, release.receiver, receiver));
    const struct nvdp__ledger_names names = {
        .person = release.persons != NULL ? (const nvdp__text_hash *)person : NULL,
        .receiver = release.receiver != NULL ? receiver : NULL,
        .person_epsilon = release.budget};
    nvdp__ledger_set_names(ledger, &names);
    for (size_t k = 0; k < NVDP__LEDGER_ORDERS; k++)
        record.divergence[k] = nvdp__ledger_orders[k] * release.mu * release.mu / 2;
    memset(record.id, (char)('a' + nvdp__ledger_count(ledger)), sizeof record.id);
    return nvdp__ledger_add(ledger, &record, (const nvdp__text_hash *)hash, 1000, &book->spent);
}

static struct nvdp__spent added(struct book *book, struct release release) {
    ok(add(book, release));
    return book->spent;
}

static struct nvdp_ledger_summary summary(const struct book *book) {
    struct nvdp_ledger_summary found = NVDP_RESULT(struct nvdp_ledger_summary);
    ok(nvdp_ledger_summarize(book->ctx, book->path, NULL, &found));
    return found;
}

static void is_person(struct nvdp__spent spent, uint64_t persons, uint64_t texts, uint64_t samples,
                      double square) {
    cr_expect_eq(spent.persons, persons, "%d persons", (int)spent.persons);
    cr_expect_eq(spent.person_texts, texts, "%d texts", (int)spent.person_texts);
    cr_expect_eq(spent.person_samples, samples, "%d samples", (int)spent.person_samples);
    near(spent.person_mu, sqrt(square), 1e-12);
    near(spent.person_epsilon, nvdp_gdp_epsilon(sqrt(square), 1e-5), 1e-9);
}

/* Rows that share the noise of a release: k rows of a text, or of a person, have k mu and count as one sample. Other releases
 * have noise of their own: mu^2 adds. A guess has the radius k mu / sqrt(2), an export mu / 2. */
Test(persons, rows_that_share_noise_add_up_before_they_are_squared) {
    struct book book = book_open();
    const double mu = .5;
    struct nvdp__spent spent =
        added(&book, (struct release){"aaab", "PPQ.", .mu = mu, .shared = true});
    cr_expect_eq(spent.samples, 1);
    near(spent.mu, 3 * mu, 1e-12);
    near(spent.radius, 3 * mu / M_SQRT2, 1e-12);
    near(spent.epsilon, nvdp_gdp_epsilon(3 * mu, 1e-5), 1e-9);
    cr_expect_eq(spent.person_samples, 1);
    /* all rows of a text count for each of its persons */
    near(spent.person_mu, 3 * mu, 1e-12);
    spent = added(&book, (struct release){"ac", "PP", .mu = mu, .samples = 2});
    cr_expect_eq(spent.samples, 3);
    near(spent.mu, sqrt(9 + 2) * mu, 1e-12);
    near(spent.radius, sqrt(9 / 2. + 2 / 4.) * mu, 1e-12);
    near(spent.person_mu, sqrt(9 + 4) * mu, 1e-12);
    spent = added(&book, (struct release){"aa", "PP", .mu = 2 * mu, .shared = true});
    near(spent.mu, sqrt(9 + 2 + 16) * mu, 1e-12);
    const struct nvdp_ledger_summary all = summary(&book);
    near(all.person.mu, sqrt(9 + 4 + 16) * mu, 1e-12);
    near(all.person.radius, sqrt(9 / 2. + 4 / 4. + 16 / 2.) * mu, 1e-12);
    near(all.person.guess[0].bound,
         nvdp_guess_bound(all.person.guess[0].baseline, all.person.radius, 1, 0), 1e-12);
    fails(add(&book, (struct release){"b", "R", .mu = mu, .budget = 1, .shared = true}),
          NVDP_ERR_STATE, "person-epsilon");
}

/* In a summary of persons, a person has mu once, whatever the rows are; a text has mu for each person who has it, and for each row
 * without a person. A text that another record gives to a person costs the person the units that hold it, unless the summary
 * itself gives it to this person. */
Test(persons, summaries_of_persons_cost_each_person_once) {
    static const struct {
        const char *words, *persons;
        double text, person; /* mu of the largest, in units of one person's */
        uint64_t units;
    } cases[] = {{"abcdef", "PPPPPP", 1, 1, 1}, /* many texts of one person */
                 {"aaaaab", "PPPPPQ", 1, 1, 2}, /* a text that a person has five times */
                 {"aab", "PQQ", 2, 1, 2},       /* a text of two persons */
                 {"aaaa", "PPQR", 3, 1, 3},     /* and of three */
                 {"aaa", "...", 3, 3, 3},       /* rows without a person */
                 {"aaab", "PP..", 2, 2, 3},     /* which may be P's */
                 {"abcabc", "PPPQQQ", 2, 1, 2}};
    const double mu = .5;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct book book = {.ctx = support_context(),
                            .path = support_scratch_path(support_path("book-%zu", i)),
                            .key = support_scratch_path(support_path("book-%zu.key", i))};
        const struct release release = {cases[i].words, cases[i].persons, .mu = mu,
                                        .by_person = true};
        struct nvdp__spent spent = added(&book, release);
        cr_expect_eq(spent.samples, 1, "case %zu", i);
        cr_expect_eq(spent.person_samples, 1, "case %zu", i);
        near(spent.mu, cases[i].text * mu, 1e-12);
        near(spent.radius, cases[i].text * mu / M_SQRT2, 1e-12);
        near(spent.person_mu, cases[i].person * mu, 1e-12);
        near(spent.person_radius, cases[i].person * mu / M_SQRT2, 1e-12);
        struct nvdp__ledger *ledger = NULL;
        uint64_t units = 0;
        ok(nvdp__ledger_open(book.ctx, book.path, book.key, NULL, &ledger));
        ok(nvdp__ledger_units(ledger, ledger->record[0].release, 1, &units));
        nvdp__ledger_close(ledger);
        cr_expect_eq(units, cases[i].units, "case %zu: %zu", i, (size_t)units);
        near(summary(&book).person.mu, cases[i].person * mu, 1e-12);
        spent = added(&book, release); /* noise of its own: squares add */
        near(spent.person_mu, sqrt(2) * cases[i].person * mu, 1e-12);
        near(spent.mu, sqrt(2) * cases[i].text * mu, 1e-12);
    }
    /* earlier names: P had b, which is now Q's; c is of nobody */
    struct book book = book_open();
    added(&book, (struct release){"abc", "PPP", .mu = mu});
    struct nvdp__spent spent =
        added(&book, (struct release){"aabbc", "PPQQ.", .mu = mu, .by_person = true});
    cr_expect_eq(spent.renamed, 1);
    near(spent.person_mu, sqrt(3 + 9) * mu, 1e-12); /* three samples; the units P, Q and c */
    fails(add(&book, (struct release){"d", "R", .mu = mu, .budget = 1.5, .by_person = true}),
          NVDP_ERR_STATE, "person-epsilon");
    ok(add(&book, (struct release){"dddd", "RRRR", .mu = mu, .budget = 9, .by_person = true}));
}

/* An older ledger has no types: the bytes behind its records are not one. Two equal rows of an old record have sqrt(2) mu, although
 * the record behind it begins with the number of a type. */
Test(persons, records_of_older_ledgers_share_no_noise) {
    struct nvdp_context *ctx = support_context();
    const char *path = support_scratch_path("old"), *key = support_scratch_path("old.key");
    unsigned char bytes[4096] = {0}, owner[32], keys[2][32], mac[32] = {0}, *to = bytes;
    const size_t head = offsetof(struct nvdp__ledger_release, file);
    const uint64_t texts[] = {2, NVDP__LEDGER_SHARED};
    char secret[128] = "nvdp-ledger-key/1 ";
    for (size_t i = 0; i < 32; i++)
        owner[i] = (unsigned char)i;
    sodium_bin2hex(secret + strlen(secret), 65, owner, 32);
    support_write_text(key, support_path("%s\n", secret));
    cr_assert_eq(chmod(key, 0600), 0);
    for (unsigned i = 0; i < 2; i++)
        crypto_kdf_derive_from_key(keys[i], 32, i + 1, "nvdpledg", owner);
    memcpy(to, "nvdp ledger/1\n", 14);
    crypto_generichash(to + 16, 32, (const unsigned char *)"words", 5, keys[0], 32);
    size_t size = 48;
    for (size_t r = 0; r < 3; r++) { /* the head, then records: bytes, MAC, texts, MAC */
        for (size_t part = 0; part < (r == 0 ? 1 : 2); part++) {
            struct nvdp__ledger_release release = {.samples = 1, .mu = .5};
            if (r > 0) {
                release.texts = texts[r - 1];
                memset(release.id, (char)('a' + r), sizeof release.id);
                size = part == 0 ? head : release.texts * NVDP__LEDGER_HASH;
                if (part == 0) memcpy(to, &release, head);
                for (size_t i = 0; part == 1 && i < release.texts; i++)
                    to[i * NVDP__LEDGER_HASH] = (unsigned char)(r == 1 ? 1 : 2 + i);
            }
            crypto_generichash_state state;
            crypto_generichash_init(&state, keys[1], 32, 32);
            crypto_generichash_update(&state, mac, 32);
            crypto_generichash_update(&state, to, size);
            crypto_generichash_final(&state, mac, 32);
            memcpy(to + size, mac, 32);
            to += size + 32;
        }
    }
    support_write(path, bytes, (size_t)(to - bytes));
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__spent worst;
    struct nvdp__budget budget;
    ok(nvdp__ledger_open(ctx, path, key, NULL, &ledger));
    ok(nvdp__ledger_worst(ledger, ledger->record[0].release, &worst, &budget));
    cr_expect_eq(worst.samples, 2);
    near(worst.mu, .5 * M_SQRT2, 1e-12);
    near(worst.radius, .25 * M_SQRT2, 1e-12);
    nvdp__ledger_close(ledger);
    struct nvdp_ledger_summary all = NVDP_RESULT(struct nvdp_ledger_summary);
    ok(nvdp_ledger_summarize(ctx, path, key,
                             &all)); /* reads the last record, behind which the file ends */
}

/* A ledger tells a summary from samples of the same id, and a Renyi filter counts a summary by its mu. */
Test(persons, a_summary_is_no_export) {
    struct book book = book_open();
    struct nvdp__spent spent =
        added(&book, (struct release){"abc", NULL, .mu = .5, .shared = true});
    struct nvdp__ledger *ledger = NULL;
    const char *id = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    ok(nvdp__ledger_open(book.ctx, book.path, book.key, NULL, &ledger));
    cr_expect_null(nvdp__ledger_find(ledger, false, id, "a.h5", 3, 1));
    cr_expect_not_null(nvdp__ledger_find(ledger, true, id, "a.h5", 3, 1));
    nvdp__ledger_close(ledger);
    /* a guess of one of 1000 words: C = mu / sqrt(2), not mu / 2 */
    near(spent.word_radius, .5 / M_SQRT2, 1e-12);
    spent = added(&book, (struct release){"d", NULL, .mu = INFINITY});
    spent = added(&book, (struct release){"dd", NULL, .mu = .5, .shared = true});
    cr_expect_eq(spent.epsilon, INFINITY);
}

/* n texts of a person with S samples each at mu: mu sqrt(n S). */
Test(persons, compose_over_texts_and_releases) {
    const double mu = .5;
    for (size_t n = 1; n <= 8; n++) {
        struct book book = book_open();
        char words[MAX_TEXTS] = "", persons[MAX_TEXTS] = "";
        unlink(book.path);
        unlink(book.key);
        unlink(support_scratch_path("ledger.state"));
        for (size_t i = 0; i < n; i++) {
            words[i] = (char)('a' + i);
            persons[i] = 'P';
        }
        for (uint64_t release = 1; release <= 3; release++)
            is_person(added(&book, (struct release){words, persons, .mu = mu, .samples = 2}), 1, n,
                      2 * n * release, (double)(2 * n * release) * mu * mu);
    }
}

/* Persons that occur in two releases with other texts, mechanisms and neighbors. */
Test(persons, overlap_between_releases) {
    struct book book = book_open();
    is_person(added(&book, (struct release){"abcd", "PPQR", .mu = .5}), 3, 2, 2, 2 * .25);
    is_person(added(&book, (struct release){"efg", "PQQ", .mu = 1}), 2, 3, 3, .25 + 2);
    /* of R alone: its sums do not include P and Q */
    is_person(added(&book, (struct release){"h", "R", .mu = 2}), 1, 2, 2, .25 + 4);
    /* a text of two persons: all of its samples are samples of both */
    is_person(added(&book, (struct release){"zz", "ST", .mu = 1}), 2, 1, 2, 2);
    const struct nvdp__spent spent = added(&book, (struct release){"z", "S", .mu = 1});
    is_person(spent, 1, 1, 3, 3);
    cr_expect_eq(spent.samples, 3); /* of the text */
    cr_expect_eq(spent.renamed, 1);
    /* no name is in the file */
    added(&book, (struct release){"y", "S", "Mallory and partners", .mu = 1});
    cr_expect_null(memmem(support_read(book.path), support_size(book.path), "Mallory", 7));
}

/* A text without a person is one of its own, and no order of named and unnamed releases hides a sample. */
Test(persons, unnamed_samples_count_for_everybody_they_may_belong_to) {
    struct book book = book_open();
    struct nvdp__spent spent = added(&book, (struct release){"ab", NULL, .mu = 1});
    cr_expect_eq(spent.persons, 0);
    is_person(added(&book, (struct release){"ac", "PP", .mu = 1}), 1, 2, 3, 3);
    is_person(added(&book, (struct release){"ad", "..", .mu = 1}), 2, 2, 4,
              4); /* P: a 3 times, c */
    is_person(added(&book, (struct release){"d", ".", .mu = 1}), 1, 1, 2, 2);
    is_person(added(&book, (struct release){"d", "Q", .mu = 1}), 1, 1, 3, 3);
    /* `b` has no person in any release */
    cr_expect_eq(summary(&book).unnamed_texts, 1);
    cr_expect_eq(added(&book, (struct release){"abex", NULL, .mu = 1}).unnamed, 3);
    cr_expect_eq(added(&book, (struct release){"ad", NULL, .mu = 1}).unnamed, 0);
}

/* Another name for a person of earlier records starts no sum from nothing: a person never has less than one of their
 * texts.  The former names have the new samples, too, and their budget refuses them. */
Test(persons, other_names_split_no_text) {
    struct book book = book_open();
    struct nvdp__spent spent = added(&book, (struct release){"ab", "BB", .mu = 1});
    cr_expect_eq(spent.renamed, 0);
    for (uint64_t n = 1; n <= 3; n++) {
        const char persons[] = {(char)('0' + n), (char)('0' + n), '\0'};
        spent = added(&book, (struct release){"ab", persons, .mu = 1});
        is_person(spent, 1, 2, 2 * (n + 1), (double)(2 * (n + 1)));
        cr_expect_eq(spent.renamed, 2);
        cr_expect_geq(spent.person_epsilon, spent.epsilon);
    }
    /* B, who has two texts, counts for a file that names only the person 4 */
    is_person(added(&book, (struct release){"a", "4", .mu = 1}), 1, 2, 9, 9);
    is_person(added(&book, (struct release){"cb", "1.", .mu = 1}), 2, 3, 11, 11);
    fails(add(&book, (struct release){"a", "5", .mu = 1,
                                      .budget = nvdp_gdp_epsilon(sqrt(11), 1e-5) * (1 + 1e-9)}),
          NVDP_ERR_STATE, "1 of 6 persons exceed the budget");
}

Test(persons, a_budget_refuses_before_anything_is_written) {
    struct book book = book_open();
    const double two = nvdp_gdp_epsilon(sqrt(2), 1e-5);
    added(&book, (struct release){"abc", "PPQ", .mu = 1, .budget = two * (1 + 1e-9)});
    const size_t before = support_size(book.path);
    fails(add(&book, (struct release){"dem", "PQR", .mu = 1}), NVDP_ERR_STATE,
          "for all texts of a person together, found up to 8.386 ");
    support_contains(
        nvdp_context_error(book.ctx),
        "1 of 3 persons exceed the budget. Nothing was drawn; --person-epsilon 8.386 ");
    /* not without names, which would hide samples from a person's sum */
    fails(add(&book, (struct release){"a", NULL, .mu = 1}), NVDP_ERR_STATE,
          "expected --person, the column");
    cr_expect_eq(support_size(book.path), before);
    fails(add(&book, (struct release){"x", "Q", .mu = INFINITY}), NVDP_ERR_STATE,
          "found up to inf including this export");
    added(&book, (struct release){"em", "QR", .mu = 1});
    added(&book, (struct release){"d", "P", .mu = 1, .budget = 9}); /* stays in force */
    cr_expect_eq(add(&book, (struct release){"w", "P", .mu = 1}), NVDP_ERR_STATE);
}

/* All receivers together, and the worst one.  A release without a receiver may have gone to any of them. */
Test(persons, receivers_count_alone_and_together) {
    struct book book = book_open();
    struct nvdp__spent spent = added(&book, (struct release){"ab", "PP", "one", .mu = 1});
    cr_expect_eq(spent.receivers, 1);
    spent = added(&book, (struct release){"ac", "PP", "two", .mu = 2});
    is_person(spent, 1, 3, 4, 10);
    cr_expect_eq(spent.receivers, 2);
    cr_expect_eq(spent.samples, 2);
    cr_expect_eq(spent.receiver_samples, 1);
    near(spent.receiver_epsilon, nvdp_gdp_epsilon(2, 1e-5), 1e-9);
    near(spent.receiver_person_epsilon, nvdp_gdp_epsilon(sqrt(8), 1e-5), 1e-9);
    spent = added(&book, (struct release){"a", "P", .mu = 1});
    is_person(spent, 1, 3, 5, 11);
    near(spent.receiver_person_epsilon, nvdp_gdp_epsilon(3, 1e-5), 1e-9);
    const struct nvdp_ledger_summary found = summary(&book);
    cr_expect_eq(found.releases, 3);
    cr_expect_eq(found.texts, 3);
    cr_expect_eq(found.samples, 3);
    cr_expect_eq(found.receivers, 2);
    cr_expect_eq(found.person.persons, 1);
    near(found.person.mu, sqrt(11), 1e-12);
    cr_expect_eq(found.person.guesses, 3);
    cr_expect_eq(found.unnamed_texts, 0);
    near(found.person.guess[0].bound, nvdp_guess_bound(.5, sqrt(11) / 2, 1, 0), 1e-12);
    near(found.receiver_person_epsilon, spent.receiver_person_epsilon, 1e-12);
}

/* A writer dies anywhere before it wrote the head: whole records count, and a record whose names are cut off counts
 * without them. */
Test(persons, every_death_keeps_the_samples) {
    enum { HEAD = 120 };
    struct book book = book_open();
    const char *place = support_scratch_path("ledger.state");
    added(&book, (struct release){"ab", "PP", .mu = 1});
    const size_t one = support_size(book.path), mark = support_size(place);
    char *head = support_read(book.path), *state = support_read(place);
    added(&book, (struct release){"ac", "PP", .mu = 1});
    const size_t two = support_size(book.path);
    char *bytes = support_read(book.path);
    for (size_t cut = one; cut < two; cut += 7) {
        char written[1 << 13];
        cr_assert_lt(two, sizeof written);
        memcpy(written, bytes, cut);
        memcpy(written, head, HEAD);
        support_write(book.path, written, cut);
        support_write(place, state, mark);
        const struct nvdp__spent spent = added(&book, (struct release){"a", "P", .mu = 1});
        cr_expect(spent.person_samples == 3 || spent.person_samples == 4, "%d", (int)cut);
        cr_expect_eq(spent.person_texts, 2);
    }
    for (size_t i = 0; i < two; i += 5) {
        struct nvdp__ledger *ledger = NULL;
        bytes[i] ^= 1;
        support_write(book.path, bytes, two);
        cr_expect_neq(nvdp__ledger_open(book.ctx, book.path, book.key, "words", &ledger), NVDP_OK,
                      "byte %d", (int)i);
        bytes[i] ^= 1;
    }
}

/* Concurrent writers of one person: together they have exactly what the budget allows. */
Test(persons, writers_share_a_budget) {
    enum { WRITERS = 4, EACH = 3 };
    struct book book = book_open();
    const double six = nvdp_gdp_epsilon(sqrt(6), 1e-5) * (1 + 1e-9);
    int raw = 0, done = 0;
    added(&book, (struct release){"z", "P", .mu = 1, .budget = six});
    for (int w = 0; w < WRITERS; w++) {
        const pid_t pid = fork();
        cr_assert_geq(pid, 0);
        if (pid > 0) continue;
        int good = 0;
        for (int i = 0; i < EACH; i++) {
            const char word[2] = {(char)('a' + EACH * w + i), '\0'};
            good += add(&book, (struct release){word, "P", .mu = 1}) == NVDP_OK;
        }
        _exit(good);
    }
    for (int w = 0; w < WRITERS; w++) {
        cr_assert_gt(wait(&raw), 0);
        cr_assert(WIFEXITED(raw));
        done += WEXITSTATUS(raw);
    }
    cr_expect_eq(done, 5);
}

/* Names that differ only by blanks around them or by Unicode's normal form are equal; case counts. */
Test(persons, names_are_compared_in_nfc) {
    static const struct {
        enum nvdp__ledger_naming kind[2];
        const char *name[2];
        bool same;
    } pair[] = {
        {{NVDP__LEDGER_PERSON, NVDP__LEDGER_PERSON}, {" S\r\n", "S"}, true},
        {{NVDP__LEDGER_PERSON, NVDP__LEDGER_RECEIVER}, {"S", "S"}, false},
        {{NVDP__LEDGER_PERSON, NVDP__LEDGER_PERSON}, {"Ann", "ann"}, false},
        {{NVDP__LEDGER_LOOK, NVDP__LEDGER_LOOK}, {"ANN", " ann"}, true},
        {{NVDP__LEDGER_PERSON, NVDP__LEDGER_PERSON}, {"Jos\u00e9", "Jose\u0301"}, true},
        {{NVDP__LEDGER_RECEIVER, NVDP__LEDGER_RECEIVER}, {"\u00c5", "\u212b"}, true},
        {{NVDP__LEDGER_LOOK, NVDP__LEDGER_LOOK}, {"JOS\u00c9", "Jose\u0301"}, true},
        {{NVDP__LEDGER_PERSON, NVDP__LEDGER_PERSON}, {"Jos\u00e9", "Jose"}, false},
        {{NVDP__LEDGER_PERSON, NVDP__LEDGER_PERSON}, {"J\xe9", "J\xe8"}, false},
        {{NVDP__LEDGER_PERSON, NVDP__LEDGER_PERSON}, {"\u00a0\u200bAnn\v\u3000", "Ann"}, true},
        {{NVDP__LEDGER_PERSON, NVDP__LEDGER_PERSON}, {"\u00a0\u200b", ""}, true},
        {{NVDP__LEDGER_PERSON, NVDP__LEDGER_PERSON}, {"Ann Lee", "Ann  Lee"}, false},
        {{NVDP__LEDGER_LOOK, NVDP__LEDGER_LOOK}, {"Ann\u00a0Lee", "\uff21nn\u200b  lee"}, true},
        {{NVDP__LEDGER_LOOK, NVDP__LEDGER_LOOK}, {"Jos\u00e9", "Jose"}, false}};
    struct book book = book_open();
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    added(&book, (struct release){"a", "A", .mu = 1});
    ok(nvdp__ledger_open(book.ctx, book.path, book.key, NULL, &ledger));
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        nvdp__text_hash hash[2];
        for (size_t k = 0; k < 2; k++)
            ok(nvdp__ledger_name(ledger, pair[i].kind[k], pair[i].name[k], hash[k]));
        cr_expect_eq(memcmp(hash[0], hash[1], sizeof *hash) == 0, pair[i].same, "%zu", i);
    }
}

Test(persons, survive_failing_allocations) {
    struct book book = book_open();
    added(&book, (struct release){"ab", "P.", "one", .mu = 1});
    for (uint64_t k = 1;; k++) {
        nvdp__fail_allocation(book.ctx, k);
        const nvdp_status status = add(&book, (struct release){"ac", "P.", "two", .mu = 1});
        nvdp__fail_allocation(book.ctx, 0);
        if (status == NVDP_OK) break;
        cr_assert_eq(status, NVDP_ERR_MEMORY);
        cr_assert_lt(k, 200);
    }
    is_person(book.spent, 2, 1, 2, 2);
}

/* --- exports --- */

static const struct run_choice choice = {
    .method = NVDP_METHOD_VTDP, .kappa = 1, .clip_sequence = 0.5, .epochs = 1};

static void take_notices(enum nvdp_log_level level, const char *message, void *user) {
    const size_t used = strlen(user);
    if (level != NVDP_LOG_INFO) snprintf((char *)user + used, 4096 - used, "%s\n", message);
}

/* Exports once more with other names, if any, and returns the messages. */
static const char *heard_of(struct nvdp_context *ctx, struct nvdp_config *config, const char *rows,
                            const char *person) {
    static char heard[4096];
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    heard[0] = '\0';
    support_write_text(nvdp_config_get(config, "input"),
                       support_path("sentence\tlabel\tauthor\n%s", rows));
    support_set(ctx, config, "person", person);
    nvdp_context_set_log(ctx, take_notices, heard);
    ok(nvdp_export(ctx, config, &result));
    nvdp_context_set_log(ctx, NULL, NULL);
    nvdp_result_free(&result);
    return heard;
}

/* Messages name what the ledger cannot know. */
Test(persons, exports_say_what_the_ledger_lacks) {
    struct book book = book_open();
    struct nvdp_context *ctx = book.ctx;
    struct nvdp_config *config =
        support_config(ctx, "export", "run", task_run(ctx, "run", &choice, NULL), "input",
                       support_scratch_path("texts.tsv"), "out", support_scratch_path("a.h5"),
                       "overwrite", "true", "budget-samples", "9", NULL);
    const char *heard = heard_of(ctx, config, "good cat\t1\tann\nbad cat\t0\tann\n", "author");
    support_contains(heard, "new ledger ",
                     "run/ledger: samples that other ledgers count are not included; if one counts "
                     "these texts, name it with --ledger\n",
                     "one person has up to 2 samples of 2 texts; all of them together have epsilon "
                     "6.573 at delta 1e-05\n");
    support_lacks(heard, "another person", "name persons");
    heard = heard_of(ctx, config, "good cat\t1\tBob\nbad cat\t0\tann\nred sea\t0\tbob\n", "author");
    support_contains(
        heard,
        "1 text was shared before under another person's name; all samples of a text count for "
        "both persons\n",
        "1 of the names in column 'author' differ only by case, spaces or width from another one, "
        "of these texts or of an earlier export; they count as other persons\n");
    support_lacks(heard, "new ledger");
    heard =
        heard_of(ctx, config, "sea one\t1\tANN\nsea red\t1\tSue\n", "author"); /* ann is earlier */
    support_contains(heard, "1 of the names in column 'author' differ only by case");
    heard = heard_of(ctx, config, "good cat\t1\tann\nred cat\t1\tann\n", NULL);
    support_contains(heard,
                     "earlier exports name persons, but 1 of these texts has none: the sum of the "
                     "person who wrote it lacks these samples; name the column with --person\n");
    support_lacks(heard, "another person");
    for (int blank = 0; blank < 3; blank++) {
        support_set(ctx, config, "receiver",
                    ((const char *const[]){"", " \t", "\u00a0\u200b"})[blank]);
        fails(nvdp_export(ctx, config, NULL), NVDP_ERR_ARGUMENT,
              "--receiver: expected a name, found an empty one");
    }
}

/* An export names persons by a column: result, attributes, statement, verify, and the ledger's check agree. */
Test(persons, exports_state_what_a_person_has) {
    struct book book = book_open();
    struct nvdp_context *ctx = book.ctx;
    nvdp__autoresult struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    const char *input = support_scratch_path("texts.tsv");
    const char *shared = support_scratch_path("a.h5");
    support_write_text(input, "sentence\tlabel\tauthor\ngood cat\t1\tann\nbad cat\t0\t ann\n"
                              "red sea\t1\tbob\nred cat\t1\t\n");
    struct nvdp_config *config = support_config(
        ctx, "export", "run", task_run(ctx, "run", &choice, NULL), "input", input, "out", shared,
        "ledger", book.path, "ledger-key", book.key, "person", "writer", NULL);
    fails(nvdp_export(ctx, config, &result), NVDP_ERR_INPUT, "missing column 'writer'");
    support_set_all(ctx, config, "person", "author", "person-epsilon", "5", NULL);
    fails(nvdp_export(ctx, config, &result), NVDP_ERR_STATE, "1 of 3 persons exceed the budget");
    cr_assert_not(nvdp__exists(shared));
    support_set(ctx, config, "person-epsilon", "7");
    ok(nvdp_export(ctx, config, &result));
    const double epsilon = nvdp_gdp_epsilon(sqrt(2), 1e-5); /* mu = 2 C = 1 */
    cr_expect_eq(result.person.persons, 3);
    cr_expect_eq(result.person.texts, 2);
    near(result.person.epsilon, epsilon, 1e-9);
    support_contains(result.statement, "All samples of a text, or of one person, add up",
                     "2 rows together: epsilon 6.573 at delta 1e-05; ");
    support_lacks(result.statement, "3 persons");
    cr_expect_null(strstr(result.statement, "ann"));
    struct nvdp_verification found = share_verified(ctx, shared, NULL);
    all_hold(&found);
    cr_expect_eq(found.person.persons, 0); /* the file does not state them */
    found = share_counted(ctx, shared, book.path, book.key);
    cr_expect_eq(found.person.persons, 3);
    cr_expect_eq(found.person.texts, 2);
    near(found.person.epsilon, epsilon, 1e-9);
    near(found.person.guess[0].bound, nvdp_guess_bound(.5, sqrt(.5), 1, 0), 1e-9);
    cr_expect(found.holds);
    support_contains(found.check[found.checks - 1].what, "no person of the file has exceeded");
    nvdp__autofree char *text = NULL;
    ok(nvdp_describe(ctx, book.path, NVDP_DESCRIPTION_ALL, &text));
    support_contains(text, "persons                  3", "unnamed_texts              1\n");
}
