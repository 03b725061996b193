/* The table of mechanisms of text privatization of this test's program, linked in place of the library's. */
#define MEMBERS "tests/toy/text_mechanisms.inc"
#include "dchi/mechanisms.c"
