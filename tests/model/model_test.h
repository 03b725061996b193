/* The headers that most tests of models need. */
#ifndef NVDP_TESTS_MODEL_MODEL_TEST_H
#define NVDP_TESTS_MODEL_MODEL_TEST_H

#include "bert_sizes.h"
#include "encoder.h"
#include "encoder/checkpoint.h"
#include "encoder/row.h"
#include "mechanism/mechanism.h"
#include "model/model.h"
#include <nvdp.h>

#endif
