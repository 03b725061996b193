#include "text/quote.h"

#include <string.h>
#include <utf8proc.h>

struct nvdp__quote nvdp__quote_field(struct nvdp__field field) {
    struct nvdp__quote quote = {"'"};
    const size_t room = sizeof quote.text - sizeof "...'";
    size_t used = 1;
    size_t at = 0;
    while (at < field.size) {
        utf8proc_int32_t rune;
        utf8proc_ssize_t step = utf8proc_iterate((const utf8proc_uint8_t *)field.text + at,
                                                 (utf8proc_ssize_t)(field.size - at), &rune);
        const char *shown = field.text + at;
        if (step <= 0 || rune < 0x20 || (rune >= 0x7F && rune < 0xA0)) {
            step = 1;
            shown = "?";
        }
        if (used + (size_t)step > room) break;
        memcpy(quote.text + used, shown, (size_t)step);
        used += (size_t)step;
        at += (size_t)step;
    }
    strcpy(quote.text + used, at < field.size ? "...'" : "'");
    return quote;
}
