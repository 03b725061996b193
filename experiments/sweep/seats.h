/* The state of one call of nvdp_sweep. */
#ifndef NVDP_EXPERIMENTS_SWEEP_SEATS_H
#define NVDP_EXPERIMENTS_SWEEP_SEATS_H

#include "ledger.h"
#include "worker.h"

/* A worker and what it works on. */
struct nvdp__seat {
    struct nvdp__worker worker;
    bool taken;
    size_t run;   /* its index */
    double begun; /* on the monotonic clock */
};

struct nvdp__sweep {
    struct nvdp_context *ctx;
    const struct nvdp_sweep_config *config;
    struct nvdp__grid grid;
    struct nvdp__ledger ledger;
    struct nvdp__workplace place;
    struct nvdp__seat *seat;    /* [config->jobs] */
    struct nvdp_sweep_job *job; /* the same number, for reports */
    size_t made;
    double started, looked, renewed, reported;
    bool stopping;
};

/* How many seats there are. */
size_t nvdp__seats(const struct nvdp__sweep *sweep);
/* Settles the runs whose workers have ended. */
nvdp_status nvdp__seats_reap(struct nvdp__sweep *sweep);
/* Renews the claims, when it is time. */
nvdp_status nvdp__seats_renew(struct nvdp__sweep *sweep);
/* Looks at what is not settled, when it is time, and begins what is free while a seat is. */
nvdp_status nvdp__seats_fill(struct nvdp__sweep *sweep);

#endif
