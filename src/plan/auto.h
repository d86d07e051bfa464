/* auto.h - the word for a backend that the plan is to choose. */
#ifndef TAKT_PLAN_AUTO_H
#define TAKT_PLAN_AUTO_H

/* The name of a backend, and takt_plan_settings.library: the device runs what it is faster at. */
#define TAKT_DEVICE_AUTO "auto"

#endif
