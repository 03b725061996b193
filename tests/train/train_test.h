/* The headers that most tests of training need. */
#ifndef NVDP_TESTS_TRAIN_TRAIN_TEST_H
#define NVDP_TESTS_TRAIN_TRAIN_TEST_H

#include "base/file.h"
#include "encoder/safetensors.h"
#include "tensor_values.h"
#include "text/dataset.h"
#include "tiny_task.h"
#include "train/run.h"
#include "train/trainer.h"

#endif
