/* The headers that most tests of divergences and certificates need. */
#ifndef NVDP_TESTS_RDP_RDP_TEST_H
#define NVDP_TESTS_RDP_RDP_TEST_H

#include "hdf5/hdf5.h"
#include "made_posteriors.h"
#include "rdp/pairs.h"
#include "rdp/report.h"
#include "sampled_loss.h"
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_integration.h>
#include <nvdp/certificate.h>
#include <nvdp/rdp.h>

#endif
