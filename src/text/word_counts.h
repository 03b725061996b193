/* Distinct words and how often each was seen. */
#ifndef NVDP_SRC_TEXT_WORD_COUNTS_H
#define NVDP_SRC_TEXT_WORD_COUNTS_H

#include "text/words.h"

/* Distinct strings, numbered from 0 in the order of their arrival.  Zero it, set ctx. */
struct nvdp__strings {
    struct nvdp_context *ctx;
    size_t count;
    char *text;    /* end to end */
    size_t *start; /* [count+1] */
    size_t text_capacity, start_capacity;
    uint32_t *slot; /* index + 1; 0: free */
    size_t slots;
};
/* The number of bytes[0..size), which is added where it is new. */
nvdp_status nvdp__strings_add(struct nvdp__strings *strings, const char *bytes, size_t size,
                              size_t *index);
/* SIZE_MAX where it is not there. */
size_t nvdp__strings_find(const struct nvdp__strings *strings, const char *bytes, size_t size);
void nvdp__strings_release(struct nvdp__strings *strings);
static inline const char *nvdp__string(const struct nvdp__strings *strings, size_t index,
                                       size_t *size) {
    *size = strings->start[index + 1] - strings->start[index];
    return strings->text + strings->start[index];
}

/* Zero it, set ctx. */
struct nvdp__word_counts {
    struct nvdp_context *ctx;
    struct nvdp__strings words;
    uint64_t *times; /* [words.count] */
    size_t capacity;
};
nvdp_status nvdp__word_counts_add(struct nvdp__word_counts *counts, const char *word, size_t size,
                                  uint64_t times);
void nvdp__word_counts_release(struct nvdp__word_counts *counts);
/* Adds the words of all files (plain_text.h) but those too long for the tokenizer.  One thread;
 * memory for the distinct words. */
nvdp_status nvdp__word_counts_read(struct nvdp__word_counts *counts,
                                   const struct nvdp__word_rules *rules, const char *const *path,
                                   size_t files);

#endif
