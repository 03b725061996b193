/* Rows that several kinds of work share. An option with one meaning has one row, here or in the header of the lowest
 * module that knows the subject (job/options.h, mechanism/bottleneck_options.h, rdp/options.h,
 * dchi/token_options.h). The arguments of a row are the parts that may differ, the place of the value,
 * NVDP_OPTION_AT(...), and other members, such as `.group`. */
#ifndef NVDP_SRC_OPTIONS_ROWS_H
#define NVDP_SRC_OPTIONS_ROWS_H

#include "options/schema.h"

/* Traits of options that concern a single call. */
#define NVDP__OF_THE_CALL (NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_UNSAVED)

/* clang-format off */
#define NVDP__SEED_ROW(...)                                                                        \
    {"seed", NVDP_OPTION_SEED, "N", "seed of all random draws", "1", .traits = NVDP_TRAIT_BASIC, __VA_ARGS__}
#define NVDP__INSECURE_SEED_ROW(...)                                                               \
    {"insecure-seed", NVDP_OPTION_SEED, "N",                                                       \
     "draw from this seed instead of the operating system's generator, for tests and experiments; everyone who knows " \
     "the seed can remove the noise, and the output warns of that",                                        \
     "1", .traits = NVDP_TRAIT_NO_DEFAULT, __VA_ARGS__}

#define NVDP__BATCH_ROW(help, default_, ...)                                                       \
    {"batch", NVDP_OPTION_INTEGER, "N", help, default_, .min = 1, .max = 65536, __VA_ARGS__}
/* Texts per batch: for batches that influence no result, and for batches of training. */
#define NVDP__TEXTS_PER_BATCH_ROW(...)                                                             \
    NVDP__BATCH_ROW("texts per batch", "32", .unit = "texts", .traits = NVDP_TRAIT_NO_EFFECT, __VA_ARGS__)
#define NVDP__TEXTS_PER_STEP_ROW(...)                                                              \
    NVDP__BATCH_ROW("texts per step", "32", .unit = "texts", __VA_ARGS__)

#define NVDP__LIMIT_ROW(...)                                                                       \
    {"limit", NVDP_OPTION_INTEGER, "N", "use a random sample of at most N texts per split; 0: all", "0", \
     .unit = "texts", __VA_ARGS__}
#define NVDP__TEXT_COLUMN_ROW(...)                                                                 \
    {"text-column", NVDP_OPTION_TEXT, "NAME", "tsv: header of the column with the text", NULL, __VA_ARGS__}
#define NVDP__TEXT_PAIR_COLUMN_ROW(...)                                                            \
    {"text-pair-column", NVDP_OPTION_TEXT, "NAME", "tsv: header of the column with the second text", NULL, __VA_ARGS__}
#define NVDP__LABEL_COLUMN_ROW(...)                                                                \
    {"label-column", NVDP_OPTION_TEXT, "NAME", "tsv: header of the column with the label", NULL, __VA_ARGS__}

/* A run to read, and the data of the run's task. */
#define NVDP__RUN_ROW(...)                                                                         \
    {"run", NVDP_OPTION_TEXT, "RUN", "run directory", NULL,                                        \
     .traits = NVDP_TRAIT_REQUIRED | NVDP_TRAIT_POSITIONAL, __VA_ARGS__}
#define NVDP__MOVED_DATA_ROW(...)                                                                  \
    {"data", NVDP_OPTION_TEXT, "DIR", "folder of the task's data, if it has moved since training", NULL, __VA_ARGS__}
/* The data for commands that measure, which also read files of texts. */
#define NVDP__MEASURED_DATA_ROW(...)                                                               \
    {"data", NVDP_OPTION_TEXT, "PATH", "folder of the task's data, if it has moved, or texts for a run without a task", NULL, __VA_ARGS__}

#define NVDP__PUBLIC_INDEPENDENT_ROW(...)                                                          \
    {"public-independent", NVDP_OPTION_FLAG, NULL,                                                 \
     "declare that the public texts were chosen independently of the private ones: they are used " \
     "as they are and not compared, and the statement says so; decide before you try: after a "    \
     "refusal the declaration is false",                                                           \
     NULL, __VA_ARGS__}
#define NVDP__CENTER_ROW(...)                                                                      \
    {"center", NVDP_OPTION_TEXT, "FILE",                                                           \
     "public texts, one per line or a table; the mean of their embeddings is subtracted, and the " \
     "file states it: never give private texts; refused if one is among the texts to export; "     \
     "with vectors: public vectors",                                                               \
     NULL, __VA_ARGS__}
#define NVDP__REDUCE_ROW(...)                                                                      \
    {"reduce", NVDP_OPTION_INTEGER, "K",                                                           \
     "keep K principal directions of the public texts; the file states them; 0: all", "0", \
     .max = 65536, .traits = NVDP_TRAIT_BASIC, __VA_ARGS__}
/* The encoder of the embeddings that the map of a file takes. */
#define NVDP__MAPPED_ENCODER_ROW(...)                                                              \
    {"model", NVDP_OPTION_TEXT, "DIR",                                                             \
     "folder of the encoder of a summary; its weights must be those that the file names; default: " \
     "models/NAME, NAME as in the file",                                                           \
     NULL, __VA_ARGS__}
/* The column of the texts that are released, and the file of a release. */
#define NVDP__RELEASED_COLUMN_ROW(...)                                                             \
    {"text-column", NVDP_OPTION_TEXT, "NAME", "header of the column with the text", "text",        \
     .traits = NVDP_TRAIT_BASIC, __VA_ARGS__}
#define NVDP__RELEASED_FILE_ROW(...)                                                               \
    {"out", NVDP_OPTION_TEXT, "FILE.h5",                                                           \
     "file to write; its ending chooses the format (docs/formats.md), HDF5 without one",           \
     NULL, .group = "Release:",                                                                    \
     .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_REQUIRED | NVDP_TRAIT_NO_EFFECT, __VA_ARGS__}
#define NVDP__MODEL_ID_ROW(...)                                                                    \
    {"model-id", NVDP_OPTION_TEXT, "HEX",                                                          \
     "model_id of the file, 32 hexadecimal digits: give all files of a release the same one, and " \
     "verify and reuse read their folder as one file; default: random",                            \
     NULL, .traits = NVDP_TRAIT_NO_EFFECT, __VA_ARGS__}
#define NVDP__OVERWRITE_ROW(...)                                                                   \
    {"overwrite", NVDP_OPTION_FLAG, NULL, "replace existing output", NULL,                         \
     .traits = NVDP_TRAIT_BASIC | NVDP__OF_THE_CALL, __VA_ARGS__}
/* clang-format on */

#endif
