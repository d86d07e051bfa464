/* dim_like.h - names whose size defaults to that of another name. */
#ifndef TAKT_IR_DIM_LIKE_H
#define TAKT_IR_DIM_LIKE_H

#include "ir/dim.h"

/* From now on `d`, a name, defaults to the size of the name `like`. */
void takt_dim_set_like(takt_dims *dims, takt_dim d, takt_dim like);
/* Which name that is; SIZE_MAX: none. */
size_t takt_dims_like(takt_dims *dims, size_t index);

#endif
