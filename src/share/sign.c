/* Reads and writes keys, and signs and checks releases with Ed25519, for nvdp export and nvdp verify.  The order:
 * keys, then signatures. */
#include "share/release.h"

#include "base/array.h"
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <nvdp/share.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SEED = crypto_sign_SEEDBYTES,
    SIGNATURE = crypto_sign_BYTES,
    MESSAGE = 64, /* the signed message: domain separation string, then the digest */
    KEY_FILE = 4096
};
static const char secret_words[] = "nvdp-key/1 ed25519 secret ";
static const char public_words[] = "nvdp-key/1 ed25519 public ";

/* --- keys in files --- */

/* Parses exactly `size` bytes of hexadecimal digits. */
static bool from_hex(const char *text, size_t size, unsigned char *bytes) {
    size_t got = 0;
    return strlen(text) == 2 * size &&
           sodium_hex2bin(bytes, size, text, 2 * size, NULL, &got, NULL) == 0 && got == size;
}

/* Reads the 32 bytes that follow `words` in a file of one line. */
static nvdp_status read_key(struct nvdp_context *ctx, const char *path, const char *words,
                            const char *kind, unsigned char bytes[SEED]) {
    nvdp__autofree char *text = NULL;
    size_t count = 0;
    NVDP_TRY(nvdp__read_file(ctx, path, KEY_FILE, &text, &count));
    if (count > 0 && text[count - 1] == '\n') text[count - 1] = '\0';
    const size_t length = strlen(words);
    const bool right = strncmp(text, words, length) == 0 && from_hex(text + length, SEED, bytes);
    sodium_memzero(text, count);
    return right ? NVDP_OK
                 : nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: expected a %s key file, '%s' followed by %d hexadecimal digits, "
                              "found other contents",
                              path, kind, words, 2 * SEED);
}

/* Refuses a signing key in the folder of a run, or below it. */
static nvdp_status check_place(struct nvdp_context *ctx, const char *path) {
    nvdp__autofree char *folder = nvdp__strdup(ctx, path);
    NVDP_TRY(NVDP__MADE(folder));
    char *last = strrchr(folder, '/');
    if (last != NULL) last[1] = '\0';
    nvdp__autofree char *real = realpath(path, NULL); /* an existing key: resolves links */
    if (real == NULL) real = realpath(last != NULL ? folder : ".", NULL);
    if (real == NULL)
        return nvdp__fail_errno(ctx, errno, "%s: cannot open the folder of this file", path);
    for (char *end = real + strlen(real); end != NULL && end > real; end = strrchr(real, '/')) {
        *end = '\0';
        if (nvdp__has(real, "run.json"))
            return nvdp__fail(
                ctx, NVDP_ERR_ARGUMENT,
                "%s: expected a secret key outside of run folders, found it in the run %s; move it",
                path, real);
    }
    return NVDP_OK;
}

nvdp_status nvdp__secret_read(struct nvdp_context *ctx, const char *path, const char *words,
                              unsigned char bytes[NVDP__KEY]) {
    struct stat info;
    if (stat(path, &info) != 0) return nvdp__fail_errno(ctx, errno, "%s: cannot read", path);
    if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected a secret key that only its owner can read, found mode "
                          "%04o; run chmod 600 on it",
                          path, (unsigned)info.st_mode & 07777);
    return read_key(ctx, path, words, "secret", bytes);
}

nvdp_status nvdp__sign_key_read(struct nvdp_context *ctx, const char *path,
                                struct nvdp__sign_key *key) {
    nvdp__auto(nvdp__key_wipe) unsigned char seed[NVDP__KEY] = {0};
    NVDP_TRY(check_place(ctx, path));
    NVDP_TRY(nvdp__secret_read(ctx, path, secret_words, seed));
    key->secret = sodium_malloc(crypto_sign_SECRETKEYBYTES);
    if (key->secret == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
    crypto_sign_seed_keypair(key->open, key->secret, seed);
    return NVDP_OK;
}

void nvdp__key_wipe(unsigned char (*key)[NVDP__KEY]) {
    sodium_memzero(*key, sizeof *key);
}

void nvdp__sign_key_wipe(struct nvdp__sign_key *key) {
    sodium_free(key->secret); /* also wipes it */
    key->secret = NULL;
}

nvdp_status nvdp__public_key_read(struct nvdp_context *ctx, const char *path,
                                  unsigned char key[NVDP__PUBLIC_KEY]) {
    return read_key(ctx, path, public_words, "public", key);
}

nvdp_status nvdp__key_write(struct nvdp_context *ctx, const char *path, mode_t mode,
                            const char *words, const unsigned char bytes[NVDP__KEY]) {
    char line[128], hex[2 * SEED + 1];
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file < 0) return nvdp__fail_errno(ctx, errno, "%s: cannot create the key file", path);
    sodium_bin2hex(hex, sizeof hex, bytes, SEED);
    const int size = nvdp__snprintf(line, sizeof line, "%s%s\n", words, hex);
    bool done = write(file, line, (size_t)size) == size && fsync(file) == 0;
    done = close(file) == 0 && done;
    sodium_memzero(line, sizeof line);
    sodium_memzero(hex, sizeof hex);
    if (done) nvdp__sync_directory(path);
    if (done) return NVDP_OK;
    nvdp_status status = nvdp__fail_errno(ctx, errno, "%s: cannot write", path);
    unlink(path);
    return status;
}

nvdp_status nvdp_key_create(struct nvdp_context *ctx, const char *path) {
    nvdp__auto(nvdp__key_wipe) unsigned char seed[NVDP__KEY] = {0};
    nvdp__auto(nvdp__sign_key_wipe) struct nvdp__sign_key key = {0};
    const struct nvdp__path public_path = nvdp__path_format("%s.pub", path);
    if (sodium_init() < 0)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "libsodium failed to initialize");
    key.secret = sodium_malloc(crypto_sign_SECRETKEYBYTES);
    if (key.secret == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
    randombytes_buf(seed, sizeof seed);
    crypto_sign_seed_keypair(key.open, key.secret, seed);
    NVDP_TRY(check_place(ctx, path));
    NVDP_TRY(nvdp__key_write(ctx, path, S_IRUSR | S_IWUSR, secret_words, seed));
    const nvdp_status status = nvdp__key_write(
        ctx, public_path.text, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH, public_words, key.open);
    if (status != NVDP_OK) unlink(path);
    return status;
}

/* --- signatures --- */

/* Builds the message: a domain separation string, then the digest of the covered parts. */
static nvdp_status message(struct nvdp__release *release, enum nvdp__signed covers,
                           unsigned char out[MESSAGE]) {
    static const char words[][MESSAGE - NVDP__H5_DIGEST] = {
        [NVDP__SIGNED_VALUES] = "nvdp embeddings, signed/1",
        [NVDP__SIGNED_BYTES] = "nvdp embeddings, signed/2"};
    memcpy(out, words[covers], sizeof words[covers]);
    return nvdp__release_digest(release, covers, "signature", out + sizeof words[covers]);
}

nvdp_status nvdp__sign_prepare(const struct nvdp__sign_key *key, struct nvdp__attributes *list) {
    char hex[2 * SIGNATURE + 1];
    sodium_bin2hex(hex, sizeof hex, key->open, sizeof key->open);
    NVDP_TRY(nvdp__attributes_set_text(list, "public_key", hex));
    memset(hex, '0', sizeof hex - 1); /* reserves space for the signature */
    hex[sizeof hex - 1] = '\0';
    return nvdp__attributes_set_text(list, "signature", hex);
}

nvdp_status nvdp__sign(const struct nvdp__sign_key *key, struct nvdp__release *release) {
    const struct nvdp__format *const formats[] = {release->format, NULL};
    nvdp__auto(nvdp__release_close) struct nvdp__release written = {0};
    unsigned char said[MESSAGE], signature[SIGNATURE];
    char hex[2 * SIGNATURE + 1];
    if (release->lossy)
        return nvdp__fail(release->ctx, NVDP_ERR_NUMERIC,
                          "%s: cannot sign this file, because its format does not keep the exact "
                          "values; export to .safetensors or .h5, or do not sign",
                          release->path);
    const bool bytes = release->format->covers == NVDP__SIGNED_BYTES;
    if (!bytes) /* sign the values as a reader will read them */
        NVDP_TRY(nvdp__release_read(release->ctx, formats, release->to.output.temporary, &written));
    NVDP_TRY(message(bytes ? release : &written, bytes ? NVDP__SIGNED_BYTES : NVDP__SIGNED_VALUES,
                     said));
    if (crypto_sign_detached(signature, NULL, said, sizeof said, key->secret) != 0)
        return nvdp__fail(release->ctx, NVDP_ERR_UNSUPPORTED, "libsodium failed to sign");
    sodium_bin2hex(hex, sizeof hex, signature, sizeof signature);
    NVDP_TRY(nvdp__attributes_set_text(&release->attributes, "signature", hex));
    return nvdp__release_finish(release);
}

/* Parses the hexadecimal digits of an attribute.  Returns false if the attribute is missing or has other characters.
 * Refuses capitals, so that a signature has only one spelling. */
static bool take_hex(const struct nvdp__release *release, const char *name, size_t size,
                     unsigned char *bytes) {
    const struct nvdp__attribute *found = nvdp__attributes_get(&release->attributes, name);
    return found != NULL && found->type == NVDP__ATTRIBUTE_TEXT &&
           found->text[strcspn(found->text, "ABCDEF")] == '\0' &&
           from_hex(found->text, size, bytes);
}

nvdp_status nvdp__signature_check(struct nvdp__release *release,
                                  unsigned char key[NVDP__PUBLIC_KEY], enum nvdp__signed *covers) {
    unsigned char said[MESSAGE], signature[SIGNATURE];
    *covers = NVDP__SIGNED_NOTHING;
    if (sodium_init() < 0)
        return nvdp__fail(release->ctx, NVDP_ERR_UNSUPPORTED, "libsodium failed to initialize");
    if (!take_hex(release, "public_key", NVDP__PUBLIC_KEY, key)) memset(key, 0, NVDP__PUBLIC_KEY);
    if (!take_hex(release, "signature", SIGNATURE, signature)) return NVDP_OK;
    for (int try = release->format->covers;
         try != NVDP__SIGNED_NOTHING && *covers == NVDP__SIGNED_NOTHING; try--) {
        NVDP_TRY(message(release, (enum nvdp__signed)try, said));
        if (crypto_sign_verify_detached(signature, said, sizeof said, key) == 0)
            *covers = (enum nvdp__signed)try;
    }
    return NVDP_OK;
}
