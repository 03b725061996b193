/* Transcripts: tests of the program as text files. A file has tests, and a test has commands and their expected results:
 *
 *     # Comment.
 *     test name_of_the_test
 *     file NAME CONTENT         writes a file and makes its folder
 *     $ COMMAND                 runs one line of the shell in the scratch directory ($DIR), where nvdp is the program
 *     exit CODE                 the exit code, if it is not 0
 *     refused CODE              the exit code of a command that prints nothing to standard output
 *     out WORDS                 standard output contains WORDS; no-out: lacks them; out-is: is WORDS;
 *                               out-begins: begins with WORDS
 *     err WORDS                 the same for standard error, with no-err, err-is and err-begins
 *     json {'path': value}      standard output is one JSON object with these values (support_has)
 *     text PATH WORDS           the text at a path of the object contains WORDS; no-text: lacks them
 *     near PATH VALUE DISTANCE  the number at a path differs from VALUE by at most DISTANCE
 *     above PATH VALUE          the number is larger; from: at least; below: smaller; to: at most
 *     size PATH COUNT           the array at a path has COUNT items
 *     set NAME VALUE            sets a variable of the shell
 *
 * A line that ends in a backslash continues in the next line, without its indentation. Contents, values and expected
 * texts may contain the escapes \n, \t, \r, \\ and \xHH, and $DIR, $MODEL, $TASK and $TINY, the variables of
 * program_run(). Lines before the first test run before every test. */
#ifndef NVDP_TESTS_SUPPORT_TRANSCRIPT_H
#define NVDP_TESTS_SUPPORT_TRANSCRIPT_H

#include <stddef.h>

/* Returns the number of tests in a file. */
size_t transcript_count(const char *path);
/* Runs test `index` of the file. Fails the test with the file's line and the name of the transcript's test. */
void transcript_run(const char *path, size_t index);

#endif
