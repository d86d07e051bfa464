/* auto.h - the name for a backend that the plan chooses. */
#ifndef TAKT_PLAN_AUTO_H
#define TAKT_PLAN_AUTO_H

/* The name of a backend, and takt_plan_settings.library: the device runs the nodes that it is
 * faster at. */
#define TAKT_DEVICE_AUTO "auto"

#endif
