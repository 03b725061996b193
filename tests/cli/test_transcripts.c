/* Runs the transcripts of this folder (transcript.h); each test of a transcript is a test here. */
#include "program.h"
#include "transcript.h"
#include <criterion/parameterized.h>
#include <glob.h>

/* Sets the files, in the order of their names. $NVDP_TRANSCRIPT names one of them, such as "usage". */
static void list(glob_t *files) {
    const char *name = getenv("NVDP_TRANSCRIPT");
    char pattern[4096];
    snprintf(pattern, sizeof pattern, "%s/tests/cli/%s.txt", NVDP_SOURCE_DIR,
             name != NULL ? name : "*");
    if (glob(pattern, 0, NULL, files) != 0) abort();
}

struct place {
    size_t file, index;
};

ParameterizedTestParameters(transcripts, of_this_folder) {
    static struct place places[512];
    size_t count = 0;
    glob_t files;
    list(&files);
    for (size_t i = 0; i < files.gl_pathc; i++)
        for (size_t k = 0, tests = transcript_count(files.gl_pathv[i]); k < tests; k++)
            places[count++] = (struct place){i, k};
    globfree(&files);
    return cr_make_param_array(struct place, places, count);
}

/* The list is made again because each test has its own process. */
ParameterizedTest(struct place *place, transcripts, of_this_folder) {
    glob_t files;
    list(&files);
    cr_assert_lt(place->file, files.gl_pathc);
    transcript_run(files.gl_pathv[place->file], place->index);
    globfree(&files);
}
