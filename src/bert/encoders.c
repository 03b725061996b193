/* The table of encoders, built from encoders.inc. A test that adds rows compiles this file with
 * its own list. */
#include "bert/row.h"

#ifndef ENCODERS
#define ENCODERS "bert/encoders.inc"
#endif

#define ENCODER(name) extern const struct nvdp__encoder_row nvdp__encoder_##name;
#define ENCODER_OVER_WORDS(name) ENCODER(name)
#include ENCODERS
#undef ENCODER

#define ENCODER(name) &nvdp__encoder_##name,
const struct nvdp__encoder_row *const nvdp__encoders[] = {
#include ENCODERS
    NULL};
#undef ENCODER
#undef ENCODER_OVER_WORDS

#define ENCODER(name)
#define ENCODER_OVER_WORDS(name) #name,
const char *const nvdp__encoder_choices[] = {"bert",
#include ENCODERS
                                             NULL};
