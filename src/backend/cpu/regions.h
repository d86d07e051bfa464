/* regions.h - what all steps over regions of interest begin with. */
#ifndef TAKT_BACKEND_CPU_REGIONS_H
#define TAKT_BACKEND_CPU_REGIONS_H

#include "backend/cpu/cpu.h"
#include "op/util/roi.h"

typedef struct takt_regions {
    takt_roi roi;
    size_t bins, plane; /* elements of a region's channel, of a plane of x */
} takt_regions;

/* Inputs and output of the step, which may find a bad number of an image. */
TAKT_MUST_USE takt_status takt_regions_plan(takt_planner *p, takt_regions *r);

#endif
