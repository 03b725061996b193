/* Training from token representations: a file of kind representations/1 in the place of texts. */
#ifndef NVDP_SRC_TRAIN_REPRESENTATIONS_H
#define NVDP_SRC_TRAIN_REPRESENTATIONS_H

#include "model/noise.h"
#include "train/options.h"

struct nvdp__token_file; /* an open file, and where each text's vectors are */

/* Opens options->representations, which must be of options->task and of vectors as wide as the word
 * embeddings of options->model; *noise gives its vectors to a model. */
nvdp_status nvdp__token_file_open(struct nvdp_context *ctx,
                                  const struct nvdp__train_options *options,
                                  const struct nvdp_tokenizer *tokenizer,
                                  struct nvdp__token_file **out, struct nvdp__token_noise **noise);
void nvdp__token_file_close(struct nvdp__token_file *given); /* NULL allowed */
/* A split's texts as a data set: [CLS] and [SEP] as the tokenizer sets them, cut to max_length as it cuts,
 * [UNK] in the place of tokens, which nobody knows.  limit 0: all, else a sample. */
nvdp_status nvdp__token_file_texts(struct nvdp_context *ctx, const struct nvdp__token_file *given,
                                   const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                   enum nvdp_split split, size_t limit, uint64_t seed,
                                   struct nvdp_dataset **out);

#endif
