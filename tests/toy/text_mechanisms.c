/* The table of text privatization mechanisms of this test program, linked in place of the
 * library's. */
#define MEMBERS "tests/toy/text_mechanisms.inc"
#include "dchi/mechanisms.c"
