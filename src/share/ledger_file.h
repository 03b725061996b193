/* The file of a ledger: frames behind a head (docs/formats.md, "ledger/3").  ledger_file.c reads and writes them,
 * ledger_state.c keeps their number elsewhere, ledger.c gives them their meaning. */
#ifndef NVDP_SRC_SHARE_LEDGER_FILE_H
#define NVDP_SRC_SHARE_LEDGER_FILE_H

#include "share/spending.h"

enum { NVDP__LEDGER_MAC = 32, NVDP__LEDGER_SUBKEY = 32 };

/* The head.  Files of kind ledger/1 and ledger/2 have `kind`, `tokens` and a MAC alone. */
struct nvdp__ledger_head {
    char kind[16];
    unsigned char tokens[NVDP__LEDGER_MAC]; /* keyed hash of the tokenizer and the max. length */
    uint64_t frames;                        /* in the file */
    unsigned char last[NVDP__LEDGER_MAC];   /* MAC of the last frame */
    unsigned char mac[NVDP__LEDGER_MAC];
};

/* A frame of the file:  release, MAC, texts [release.texts], MAC.  A MAC covers the previous MAC and the bytes between
 * them. */
struct nvdp__ledger_frame {
    const struct nvdp__ledger_release *release;
    const nvdp__text_hash *text;
};

/* The number of frames and the last MAC of a ledger, kept in another file. */
struct nvdp__ledger_mark {
    char kind[24];
    unsigned char ledger[NVDP__LEDGER_MAC]; /* id of the ledger */
    uint64_t frames;
    unsigned char last[NVDP__LEDGER_MAC];
    unsigned char mac[NVDP__LEDGER_MAC];
};
struct nvdp__ledger_state {
    char *path;
    bool there;
    struct nvdp__ledger_mark *mark; /* one per ledger */
    size_t marks;
};

struct nvdp__ledger {
    struct nvdp_context *ctx;
    char *path;
    int fd;
    unsigned char *key;   /* [2 NVDP__LEDGER_SUBKEY] protected: one for texts, one for MACs */
    unsigned char *bytes; /* contents of the file when it was opened */
    size_t size, whole;   /* bytes in the file, and in its whole frames */
    int kind;
    struct nvdp__ledger_head head;
    struct place {
        size_t at; /* first byte of the frame */
        uint64_t type;
    } * frame;
    size_t frames, frame_capacity;
    struct nvdp__ledger_record *record; /* that count: without those that were returned */
    size_t count, capacity, returned;
    const struct nvdp__ledger_release *first; /* the release that set the budget; NULL: none yet */
    double first_person;                      /* budget of a person that this release set */
    bool first_old;                           /* it is from an older ledger */
    unsigned char id[NVDP__LEDGER_MAC];       /* MAC before the first frame */
    unsigned char mac[NVDP__LEDGER_MAC];      /* of the last frame */
    unsigned char added[NVDP__LEDGER_MAC];    /* MAC of the release that was added last */
    struct nvdp__ledger_state state, copy;    /* beside the key; in a run that uses the ledger */
    struct nvdp__ledger_names names;          /* of the next record */
};

#define NVDP__LEDGER_FAIL(ledger, status, format, ...)                                             \
    nvdp__fail((ledger)->ctx, NVDP_ERR_##status, "%s: " format, (ledger)->path, __VA_ARGS__)

/* True for frames that belong to the record before them. */
static inline bool nvdp__ledger_is_part(uint64_t type) {
    return type == NVDP__LEDGER_NAMES || type == NVDP__LEDGER_LOOKS;
}

/* Does nvdp__ledger_open(), and waits for the lock even if the context is cancelled. */
nvdp_status nvdp__ledger_open_patient(struct nvdp_context *ctx, const char *path, const char *key,
                                      const char *tokens, bool patient, struct nvdp__ledger **out);
/* Takes a frame whose MACs are right.  `code` is its last MAC.  In ledger.c. */
nvdp_status nvdp__ledger_take(struct nvdp__ledger *ledger, const struct nvdp__ledger_record *record,
                              uint64_t *type, const unsigned char *code);
/* Writes frames behind the whole ones, then the head, then the copies of the state, each synced to disk.  Turns an older
 * file into the present kind first.  Leaves the file as it was on failure. */
nvdp_status nvdp__ledger_append(struct nvdp__ledger *ledger, size_t count,
                                const struct nvdp__ledger_frame *frame);
void nvdp__ledger_mac(const struct nvdp__ledger *ledger, const unsigned char *before, size_t size,
                      const void *bytes, unsigned char mac[NVDP__LEDGER_MAC]);

/* --- ledger_state.c --- */

/* Returns the path of the state beside the key: NAME.state for NAME.key.  NULL: out of memory. */
char *nvdp__ledger_state_path(struct nvdp_context *ctx, const char *key);
/* Reads the file state->path, which may be missing. */
nvdp_status nvdp__ledger_state_read(struct nvdp_context *ctx, struct nvdp__ledger_state *state);
void nvdp__ledger_state_release(struct nvdp__ledger_state *state);
/* True if the state remembers frames of any ledger. */
bool nvdp__ledger_state_counts(const struct nvdp__ledger_state *state);
/* Fails if the open ledger lacks frames that the state remembers.  `needed`: also if it remembers none of this ledger.
 * An empty file accepts the ledger as it is. */
nvdp_status nvdp__ledger_state_check(const struct nvdp__ledger *ledger,
                                     const struct nvdp__ledger_state *state, bool needed);
/* Writes the present number of frames and the last MAC.  state->path NULL: does nothing. */
nvdp_status nvdp__ledger_state_write(const struct nvdp__ledger *ledger,
                                     struct nvdp__ledger_state *state);
/* Returns the last MAC of the first n frames. */
const unsigned char *nvdp__ledger_code_at(const struct nvdp__ledger *ledger, size_t frames);

#endif
