/* The headers that most tests of attacks need. */
#ifndef NVDP_TESTS_ATTACK_ATTACK_TEST_H
#define NVDP_TESTS_ATTACK_ATTACK_TEST_H

#include "attack/attack.h"
#include "attack/audit.h"
#include "attack/pair.h"
#include "attack/texts.h"
#include "base/file.h"
#include "made_posteriors.h"
#include "tiny_task.h"
#include "toy_corpus.h"
#include <nvdp.h>

#endif
