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

/* Takes the statement and the guarantee of the file with the weakest guarantee over all texts. If another file proves
 * less per word, or has a larger epsilon but its texts are not named, both say so first: they must hold for every file.
 * So does a text with samples in several files, which only a ledger knows of. The statement also begins with a larger
 * epsilon per person of another file. */
static void take_weakest(struct nvdp__verify *all, const char *name, size_t files, bool counted,
                         const struct nvdp__verify *weakest) {
    struct nvdp_verification *to = &all->found;
    const struct nvdp_verification *of = &weakest->found;
    char name_of[NAME], first[448] = "", bound[NVDP__BOUND_TEXT];
    struct nvdp__writer writer = {first, sizeof first, 0};
    const bool words = to->word_mu > of->word_mu, larger = all->epsilon > weakest->epsilon,
               persons = of->person.persons > 0 &&
                         (to->person.persons == 0 || to->person.epsilon > of->person.epsilon);
    nvdp__show_into(name_of, sizeof name_of, name);
    if (files > 1 && !counted)
        nvdp__append(&writer,
                     "No ledger counts all of these files%s: the samples of a text that is in "
                     "several of them add up. ",
                     isnan(to->spent_epsilon) ? "" : ", unless they are of different data");
    if (words && isinf(to->word_mu))
        nvdp__append(&writer, "Per word nothing is proven of some of the files. ");
    else if (words)
        nvdp__append(&writer, "Per word only epsilon %s at delta %g is proven of all files. ",
                     nvdp__bound(bound, to->word_epsilon), NVDP__LEDGER_DELTA);
    if (larger)
        nvdp__append(&writer, "Over all texts only epsilon %s at delta %g is proven of all files. ",
                     nvdp__bound(bound, all->epsilon), NVDP__LEDGER_DELTA);
    nvdp__snprintf(to->guarantee, sizeof to->guarantee, "%s%s%s", first,
                   larger  ? "The file with the weakest guarantee: "
                   : words ? "The file that proves least over all texts: "
                           : "",
                   of->guarantee);
    if (persons && (to->person.persons == 0 || isinf(to->person.epsilon)))
        nvdp__append(&writer, "Per person nothing is proven of some of the files. ");
    else if (persons)
        nvdp__append(&writer, "Per person only epsilon %s at delta %g is proven of all files. ",
                     nvdp__bound(bound, to->person.epsilon), NVDP__LEDGER_DELTA);
    if (statements_agree(to))
        nvdp__snprintf(
            to->statement, sizeof to->statement,
            "%zu files of one release hold %zu texts. %sThe file with the weakest guarantee%s, "
            "%s, says:\n%.*s",
            files, all->texts, first, words && !larger ? " over all texts" : "", name_of,
            (int)(sizeof to->statement - 640), of->statement);
    to->useful = of->useful;
    to->certified = of->certified;
    to->epsilon = of->epsilon;
    to->delta = of->delta;
    to->mu = of->mu;
    to->samples = of->samples;
}

/* Takes the largest sums that a file states.  One that states none leaves them unknown. */
static void take_sums(struct nvdp_verification *to, const struct nvdp_verification *of,
                      bool first) {
    if (first || isnan(of->spent_epsilon) || of->spent_epsilon > to->spent_epsilon)
        to->spent_epsilon = !first && isnan(to->spent_epsilon) ? NAN : of->spent_epsilon;
    to->spent_samples =
        isnan(to->spent_epsilon) ? 0 : nvdp__max(to->spent_samples, of->spent_samples);
    if (first || of->person.persons == 0 ||
        (to->person.persons > 0 && of->person.epsilon > to->person.epsilon))
        to->person = of->person;
    if (first || of->word_mu > to->word_mu) {
        to->word_mu = of->word_mu;
        to->word_epsilon = of->word_epsilon;
    }
}

/* Checks the rows of splits of all files.  Returns false if a row has more samples than the ledger counts of a text: then
 * the files are of different data, or more than one ledger counts them. */
static bool check_rows(struct nvdp__verify *all, size_t samples, size_t places,
                       struct nvdp__verify_place *place) {
    size_t same = 0, most = 0, at = 0;
    if (places > 1) qsort(place, places, sizeof *place, nvdp__by_place);
    for (size_t i = 0; i < places; i++) {
        same = i > 0 && nvdp__by_place(&place[i - 1], &place[i]) == 0 ? same + 1 : 1;
        if (same > most) at = i;
        most = nvdp__max(most, same);
    }
    if (isnan(all->found.spent_epsilon)) return false;
    if (most * samples <= all->found.spent_samples) return true;
    for (size_t k = 0; k < all->found.checks; k++)
        if (strcmp(all->found.check[k].what, nvdp__no_row_twice) == 0 &&
            all->found.check[k].verdict == NVDP_VERDICT_YES) {
            all->found.check[k].verdict = NVDP_VERDICT_OPEN;
            nvdp__snprintf(all->found.check[k].found, sizeof all->found.check[k].found,
                           "row %" PRId64
                           " of split %d is in %zu files, and the ledger counts %" PRIu64
                           " samples of a text at most: the files are of different data, or "
                           "of several ledgers",
                           place[at].id, (int)place[at].split, most, all->found.spent_samples);
        }
    return false;
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
        NVDP_TRY(nvdp__verify_file(all->ctx, shards->path[i], wanted, &one));
        NVDP_TRY(nvdp__reserve(all->ctx, &place, &room, places + one.places, sizeof *place));
        if (one.places > 0) memcpy(place + places, one.place, one.places * sizeof *place);
        places += one.places;
        free(one.place);
        one.place = NULL;
        const struct nvdp_verification *found = &one.found;
        nvdp__verify_merge(all, nvdp__shard_name(shards->path[i]), &one);
        all->found.is_signed = all->found.is_signed && found->is_signed;
        all->found.is_known = all->found.is_known && found->is_known;
        all->texts += one.texts;
        all->epsilon = fmax(all->epsilon, one.epsilon);
        take_sums(&all->found, found, i == 0);
        for (size_t k = 0; k < most; k++)
            if (strcmp(found->training_texts, training[k]) == 0) most = k;
        if (i > 0 && (found->useful > weakest.found.useful ||
                      (found->useful == weakest.found.useful && one.epsilon <= weakest.epsilon)))
            continue;
        weakest = one;
        at = i;
    }
    memcpy(all->found.public_key, one.found.public_key, sizeof one.found.public_key);
    nvdp__snprintf(all->found.training_texts, sizeof all->found.training_texts, "%s",
                   training[most]);
    const bool counted = check_rows(all, weakest.found.samples, places, place);
    take_weakest(all, nvdp__shard_name(shards->path[at]), shards->count, counted, &weakest);
cleanup:
    free(one.place);
    free(place);
    return status;
}
