/* The table of encoders of this test program, linked in place of the library's. */
#define ENCODERS "tests/toy/encoders.inc"
#include "encoder/encoders.c"
