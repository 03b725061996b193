/* Tests the patterns of text. */
#include "base/sentence.h"
#include <criterion/criterion.h>
#include <stddef.h>

Test(pattern, matches_whole_texts_only) {
    static const struct {
        const char *pattern, *yes[3], *no[4];
    } all[] = {
        {"hidden|public", {"hidden", "public"}, {"hidde", "hiddenx", "", "hidden|public"}},
        {"[0-9a-f]{4}", {"09af", "0000"}, {"09aF", "09a", "09af0", "09 f"}},
        {"[0-9]{1,3}.[0-9]{1}", {"1.2", "123.4"}, {"1234.5", ".5", "1x2", "1.23"}},
        {"[A-Za-z_-]{1,5}", {"a-b", "_", "-----"}, {"a1", "", "abcdef", "\xc3\xa9"}},
        {"f16:[0-9a-f]{0,8}", {"f16:", "f16:0"}, {"f16", "f16:g", "F16:0", "f16:012345678"}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (size_t k = 0; k < 3 && all[i].yes[k] != NULL; k++)
            cr_expect(nvdp__matches(all[i].pattern, all[i].yes[k]), "%s", all[i].yes[k]);
        for (size_t k = 0; k < 4; k++)
            cr_expect_not(nvdp__matches(all[i].pattern, all[i].no[k]), "%s", all[i].no[k]);
    }
}
