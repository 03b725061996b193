/* Patterns of text: a small, locale-independent part of regular expressions. */
#ifndef NVDP_SRC_BASE_PATTERN_H
#define NVDP_SRC_BASE_PATTERN_H

#include <stdbool.h>

/* Returns true if the whole text matches one of the alternatives of the pattern, which `|` separates.  An alternative
 * is a sequence of characters and of classes such as [0-9a-f], each optionally with a count {n} or {min,max}.  A class
 * lists bytes and ranges.  A character with a count takes as many bytes as it can, without trying fewer. */
bool nvdp__matches(const char *pattern, const char *text);

#endif
