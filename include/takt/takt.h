/** takt.h - all of Takt. Where to begin:
 *
 *  ctx.h          a context: memory, limits, and the last error
 *  model.h        a model in it: from a text, an .onnx or a .taktp file; graph.h: from a program
 *  plan.h         a plan of the model for given sizes: steps and memory, to the byte
 *  session.h      a session of the plan: inputs in, run, outputs out
 *
 *  and they are destroyed in the opposite order. Functions that can fail return a takt_status
 *  (status.h); the message is in takt_last_error(ctx), for sessions takt_session_error(session). If
 *  you ignore a failure the object is NULL, and later calls on it fail as well. Further headers:
 *  array.h (arrays in files), dlpack.h (arrays of other libraries), weights.h (parameters), eager.h
 *  (single operations), timing.h (times of runs), train.h, data.h and eval.h (training), logic.h
 *  (relations of models with rules).
 *
 *  Threads: different objects may be used by different threads at once, also objects of one context
 *  and sessions of one plan. One object is used by one thread at a time, but functions that take a
 *  const model or plan may be called by several. Calls that any thread may make while the object is
 *  in use, such as cancels, say so. takt_last_error has the last failure of all threads of a
 *  context; a session keeps its own.
 *
 *  Failures: comments name those of a function. In addition, functions return TAKT_ERR_ARGUMENT for
 *  a NULL that they do not accept, TAKT_ERR_MEMORY if memory runs out, and TAKT_ERR_IO if a sink
 *  refuses what is written. Objects that a failed call would have created are NULL; its arguments
 *  can still be used and destroyed. A session's state is as before the run, unless a device lost it
 *  (TAKT_E_STATE_LOST); its outputs are undefined.
 *
 *  The functions of these headers are in a library of their own, libtakt-measure, which a program
 *  that only runs models does not need: report.h, measure.h, results.h, load.h, counters.h,
 *  deviation.h, system.h and monitor.h.
 */
#ifndef TAKT_TAKT_H
#define TAKT_TAKT_H

#include <takt/array.h>
#include <takt/chat.h>
#include <takt/counters.h>
#include <takt/cpu.h>
#include <takt/ctx.h>
#include <takt/data.h>
#include <takt/deviation.h>
#include <takt/dlpack.h>
#include <takt/eager.h>
#include <takt/eval.h>
#include <takt/grammar.h>
#include <takt/graph.h>
#include <takt/load.h>
#include <takt/logic.h>
#include <takt/measure.h>
#include <takt/model.h>
#include <takt/monitor.h>
#include <takt/op.h>
#include <takt/plan.h>
#include <takt/report.h>
#include <takt/results.h>
#include <takt/serve.h>
#include <takt/session.h>
#include <takt/settings.h>
#include <takt/shrink.h>
#include <takt/status.h>
#include <takt/system.h>
#include <takt/tensor.h>
#include <takt/tensor_pool.h>
#include <takt/text.h>
#include <takt/timing.h>
#include <takt/tokenizer.h>
#include <takt/train.h>
#include <takt/usage.h>
#include <takt/verify.h>
#include <takt/version.h>
#include <takt/weights.h>

#endif
