/** takt.h - all of Takt. */
#ifndef TAKT_TAKT_H
#define TAKT_TAKT_H

#include <takt/array.h>
#include <takt/counters.h>
#include <takt/cpu.h>
#include <takt/ctx.h>
#include <takt/deviation.h>
#include <takt/eager.h>
#include <takt/load.h>
#include <takt/measure.h>
#include <takt/model.h>
#include <takt/monitor.h>
#include <takt/op.h>
#include <takt/plan.h>
#include <takt/results.h>
#include <takt/session.h>
#include <takt/settings.h>
#include <takt/status.h>
#include <takt/system.h>
#include <takt/tensor.h>
#include <takt/tensor_pool.h>
#include <takt/version.h>
#include <takt/weights.h>

#endif
