/* The table of methods of this test program, linked in place of the library's. */
#define METHODS "tests/toy/methods.inc"
#include "mechanism/methods.c"
#include "mechanism/bottleneck_options.c"
