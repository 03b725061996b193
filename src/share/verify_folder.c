/* Verifies the files of a folder together (verify.h). */
#include "share/verify.h"

#include "base/escape.h"
#include "base/sentence.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 61 }; /* size of a shown file name */

void nvdp__verify_merge(struct nvdp__verify *all, const char *name, const struct nvdp__verify *of) {
    struct nvdp_verification *to = &all->found;
    to->holds = to->holds && of->found.holds;
    for (size_t i = 0; i < of->found.checks; i++) {
        static const int rank[] = {
            [NVDP_VERDICT_NO] = 0, [NVDP_VERDICT_OPEN] = 1, [NVDP_VERDICT_YES] = 2};
        const struct nvdp_check *from = &of->found.check[i];
        size_t k = 0;
        while (k < to->checks && strcmp(to->check[k].what, from->what) != 0)
            k++;
        if (k == NVDP_CHECKS) continue;
        const int worse =
            k < to->checks ? rank[to->check[k].verdict] - rank[from->verdict] : 1; /* than before */
        if (worse < 0 || (worse == 0 && !(of->number[i] > all->number[k]))) continue;
        if (k == to->checks) to->checks++;
        to->check[k] = *from;
        all->number[k] = of->number[i];
        char shown[NAME], found[2 * sizeof to->check[k].found];
        nvdp__show_into(shown, sizeof shown, name);
        nvdp__snprintf(found, sizeof found, "%s: %s", shown, from->found);
        nvdp__show_into(to->check[k].found, sizeof to->check[k].found, found);
    }
}

/* Returns whether every file has a statement that follows from its attributes. */
static bool statements_agree(const struct nvdp_verification *all) {
    size_t k = 0;
    while (k < all->checks && strcmp(all->check[k].what, nvdp__statement_agrees) != 0)
        k++;
    return k < all->checks && all->check[k].verdict == NVDP_VERDICT_YES;
}

/* Takes the statement and the guarantee of the file with the weakest guarantee.  The files agree in their mechanism, so only
 * wrong files differ.  A text with samples in several files is mentioned first, because its number of samples is not
 * stated. */
static void take_weakest(struct nvdp__verify *all, const char *name, size_t files,
                         const struct nvdp__verify *weakest) {
    struct nvdp_verification *to = &all->found;
    const struct nvdp_verification *of = &weakest->found;
    char name_of[NAME];
    const char *first =
        files > 1 ? "The samples of a text that is in several of these files add up. " : "";
    nvdp__show_into(name_of, sizeof name_of, name);
    nvdp__snprintf(to->guarantee, sizeof to->guarantee, "%s%s", first, of->guarantee);
    if (statements_agree(to))
        nvdp__snprintf(to->statement, sizeof to->statement,
                       "%zu files of one release hold %zu texts. %sThe file with the weakest "
                       "guarantee, %s, says:\n%.*s",
                       files, all->texts, first, name_of, (int)(sizeof to->statement - 320),
                       of->statement);
    to->useful = of->useful;
    to->certified = of->certified;
    to->epsilon = of->epsilon;
    to->delta = of->delta;
    to->mu = of->mu;
    to->samples = of->samples;
}

/* Takes the larger mu per word, and whether a ledger counts all files. */
static void take_sums(struct nvdp_verification *to, const struct nvdp_verification *of,
                      bool first) {
    to->counted = of->counted && (first || to->counted);
    if (first || of->word_mu > to->word_mu) {
        to->word_mu = of->word_mu;
        to->word_epsilon = of->word_epsilon;
    }
}

/* Leaves the check of rows open if a row of a split is in several files: its samples add up, unless the files are of
 * different data. */
static void check_rows(struct nvdp__verify *all, size_t places, struct nvdp__verify_place *place) {
    size_t same = 0, most = 0, at = 0;
    if (places > 1) qsort(place, places, sizeof *place, nvdp__by_place);
    for (size_t i = 0; i < places; i++) {
        same = i > 0 && nvdp__by_place(&place[i - 1], &place[i]) == 0 ? same + 1 : 1;
        if (same > most) at = i;
        most = nvdp__max(most, same);
    }
    for (size_t k = 0; k < all->found.checks && most > 1; k++)
        if (strcmp(all->found.check[k].what, nvdp__no_row_twice) == 0 &&
            all->found.check[k].verdict == NVDP_VERDICT_YES) {
            all->found.check[k].verdict = NVDP_VERDICT_OPEN;
            nvdp__snprintf(all->found.check[k].found, sizeof all->found.check[k].found,
                           "row %" PRId64 " of split %d is in %zu files: its samples add up, "
                           "unless the files are of different data",
                           place[at].id, (int)place[at].split, most);
        }
}

nvdp_status nvdp__verify_folder(struct nvdp__verify *all, const struct nvdp__shards *shards,
                                const unsigned char *wanted) {
    static const char *const training[] = {"all", "some", "maybe", ""}; /* the most first */
    nvdp_status status = NVDP_OK;
    struct nvdp__verify one = {0}, weakest = {0};
    struct nvdp__verify_place *place = NULL;
    size_t places = 0, room = 0;
    size_t at = 0, most = sizeof training / sizeof *training - 1;
    nvdp__verify_check(all, NVDP_VERDICT_YES, "all files are of one run and one mechanism",
                       "%zu files, which agree in every attribute of the mechanism", shards->count);
    all->found.is_signed = all->found.is_known = true;
    for (size_t i = 0; i < shards->count; i++) {
        NVDP_TRY_OR_CLEAN(nvdp__verify_file(all->ctx, shards->path[i], wanted, &one));
        NVDP_TRY_OR_CLEAN(
            nvdp__reserve(all->ctx, &place, &room, places + one.places, sizeof *place));
        if (one.places > 0) memcpy(place + places, one.place, one.places * sizeof *place);
        places += one.places;
        free(one.place);
        one.place = NULL;
        const struct nvdp_verification *found = &one.found;
        nvdp__verify_merge(all, nvdp__shard_name(shards->path[i]), &one);
        all->found.is_signed = all->found.is_signed && found->is_signed;
        all->found.is_known = all->found.is_known && found->is_known;
        all->texts += one.texts;
        take_sums(&all->found, found, i == 0);
        for (size_t k = 0; k < most; k++)
            if (strcmp(found->training_texts, training[k]) == 0) most = k;
        if (i > 0 &&
            (found->useful > weakest.found.useful ||
             (found->useful == weakest.found.useful && found->epsilon <= weakest.found.epsilon)))
            continue;
        weakest = one;
        at = i;
    }
    memcpy(all->found.public_key, one.found.public_key, sizeof one.found.public_key);
    nvdp__snprintf(all->found.training_texts, sizeof all->found.training_texts, "%s",
                   training[most]);
    check_rows(all, places, place);
    take_weakest(all, nvdp__shard_name(shards->path[at]), shards->count, &weakest);
cleanup:
    free(one.place);
    free(place);
    return status;
}
