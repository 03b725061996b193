/* Signatures: Ed25519 over the digest of a file (docs/formats.md, "Keys and signatures").
 *
 * Only the owner may read the secret key.  It must not be inside a run's folder, where it could be given away with the
 * run. */
#ifndef NVDP_SRC_SHARE_SIGN_H
#define NVDP_SRC_SHARE_SIGN_H

#include "hdf5/hdf5.h"

enum { NVDP__PUBLIC_KEY = 32, NVDP__KEY = 32 };

/* Read and write a secret in a file of one line: `words`, then hexadecimal digits.  NVDP_ERR_ARGUMENT if others may
 * read the file, NVDP_ERR_INPUT if it is not a secret.  A new file gets mode 0600. */
nvdp_status nvdp__secret_read(struct nvdp_context *ctx, const char *path, const char *words,
                              unsigned char bytes[NVDP__KEY]);
nvdp_status nvdp__secret_write(struct nvdp_context *ctx, const char *path, const char *words,
                               const unsigned char bytes[NVDP__KEY]);

/* Initialize it to zero, then read and finally wipe it. */
struct nvdp__sign_key {
    unsigned char *secret; /* in protected memory */
    unsigned char open[NVDP__PUBLIC_KEY];
};
/* NVDP_ERR_ARGUMENT if others may read the key or it is in a run's folder; NVDP_ERR_INPUT if the file is not a key. */
nvdp_status nvdp__sign_key_read(struct nvdp_context *ctx, const char *path,
                                struct nvdp__sign_key *key);
void nvdp__sign_key_wipe(struct nvdp__sign_key *key);
nvdp_status nvdp__public_key_read(struct nvdp_context *ctx, const char *path,
                                  unsigned char key[NVDP__PUBLIC_KEY]);

/* The parts of a file that a signature covers.  Values: names, types, shapes and values of datasets and attributes,
 * in any layout.  It is used for safetensors and Parquet, whose bytes follow from these, and was used for HDF5 by
 * older versions.  Bytes: every byte of an HDF5 file except the signature itself. */
enum nvdp__signed { NVDP__SIGNED_NOTHING, NVDP__SIGNED_VALUES, NVDP__SIGNED_BYTES };
struct nvdp__attributes;
struct nvdp__release;
/* Sets the attribute `public_key`, and `signature` to zeros, before the release is created. */
nvdp_status nvdp__sign_prepare(const struct nvdp__sign_key *key, struct nvdp__attributes *list);
/* Signs a finished release, as the last step before the commit.  NVDP_ERR_NUMERIC if its values cannot be read back
 * exactly. */
nvdp_status nvdp__sign(const struct nvdp__sign_key *key, struct nvdp__release *release);
/* Checks the signature of a release opened for reading against its public key, and reports the parts that it covers:
 * nothing if it is invalid or missing.  `key` is the key in the attribute, all zero if there is none.
 * NVDP_ERR_INPUT, with the reason, if the file has anything that cannot be signed. */
nvdp_status nvdp__signature_check(struct nvdp__release *release,
                                  unsigned char key[NVDP__PUBLIC_KEY], enum nvdp__signed *covers);

#endif
