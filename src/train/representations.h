/* Trains from token representations: a file of kind representations/1 replaces the texts. */
#ifndef NVDP_SRC_TRAIN_REPRESENTATIONS_H
#define NVDP_SRC_TRAIN_REPRESENTATIONS_H

#include "model/noise.h"
#include "train/options.h"

struct nvdp__token_file; /* an open file, and the place of each text's vectors */

/* Opens options->representations. The file must be of options->task, with vectors as wide as the
 * word embeddings of options->model. *noise passes the vectors to a model. */
nvdp_status nvdp__token_file_open(struct nvdp_context *ctx,
                                  const struct nvdp__train_options *options,
                                  const struct nvdp_tokenizer *tokenizer,
                                  struct nvdp__token_file **out, struct nvdp__token_noise **noise);
void nvdp__token_file_close(struct nvdp__token_file *given); /* NULL allowed */
/* Builds a data set from the texts of a split. [CLS], [SEP] and the cut to max_length are as the
 * tokenizer would set them. All other tokens are [UNK] because the file does not name them. With
 * `limit`, takes a random sample of the texts (0: all). */
nvdp_status nvdp__token_file_texts(struct nvdp_context *ctx, const struct nvdp__token_file *given,
                                   const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                   enum nvdp_split split, size_t limit, uint64_t seed,
                                   struct nvdp_dataset **out);

#endif
