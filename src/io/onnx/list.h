/* list.h - ONNX operators that need an adapter, and those that are not supported. */
#ifndef TAKT_IO_ONNX_LIST_H
#define TAKT_IO_ONNX_LIST_H

#include "base/inner.h"

/* `domain`: NULL for ONNX's own; `missing`: why it is not imported, or NULL. */
typedef void takt_onnx_each_fn(void *user, const char *name, const char *domain,
                               const char *missing);
TAKT_INNER void takt_onnx_each(takt_onnx_each_fn *visit, void *user);

#endif
