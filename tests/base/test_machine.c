/* The process's age and memory, and the processor's name. */

#include "support.h"

Test(machine, age_grows_with_the_clock) {
    double before = nvdp__process_age();
    cr_assert(before >= 0 && before < 3600, "%g", before);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    /* both times count from the same start, so the difference is the clock's own */
    cr_assert_geq(nvdp__process_age() - before, 0.05);
}

Test(machine, peak_memory_covers_what_was_touched) {
    enum { BYTES = 32 << 20 };
    nvdp__autofree char *memory = malloc(BYTES);
    memset(memory, 1, BYTES);
    cr_assert_geq(nvdp__peak_rss(), BYTES + (size_t)memory[BYTES - 1] - 1);
}

Test(machine, a_name_that_fits) {
    char name[96], little[4];
    nvdp__processor_name(sizeof name, name);
    cr_assert_gt(strlen(name), 0);
    cr_assert_null(strchr(name, '\n'));
    nvdp__processor_name(sizeof little, little);
    cr_assert_eq(strlen(little), 3);
    cr_assert_eq(strncmp(name, little, 3), 0);
}
