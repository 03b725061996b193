/* The table of attacks of this test program, linked in place of the library's. */
#define ATTACKS "tests/toy/attacks.inc"
#include "attack/attacks.c"
