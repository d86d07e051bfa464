/* joint.h - the half-spaces of a case together, over one box.
 *
 * Going back gives every half-space a linear function of the inputs that lies below it. A point
 * that breaks the case has none of them above 0. So the case has no point if some sum of them, with
 * weights of at least 0, stays above 0 over the box; by duality such weights exist if no point has
 * all of them at most 0. And where one of them is above 0, the box can be cut. */
#ifndef TAKT_VERIFY_JOINT_H
#define TAKT_VERIFY_JOINT_H

#include "verify/property.h"
#include "verify/region.h"

enum { TAKT_JOINT_INPUTS = 20, TAKT_JOINT_ROWS = 16 };

typedef struct takt_joint {
    /* The remaining part of the box: the hull over the cases since takt_joint_clear. */
    double lo[TAKT_JOINT_INPUTS], hi[TAKT_JOINT_INPUTS];
    double x[TAKT_JOINT_INPUTS]; /* of the first case that is not proved: its lowest point */
    bool has_point;
    bool is_whole; /* some case has more rows than fit: nothing is cut */
} takt_joint;

void takt_joint_clear(takt_joint *j);
/* Whether the case has no point in the region's box, by the rows from `at` on that went back; if it
 * may have one, the hull grows by where. */
bool takt_joint_proves(takt_joint *j, const takt_region *r, const takt_case *c, size_t at);

#endif
