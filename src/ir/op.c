/* op.c - attributes by name, as an op's record defines them. */
#include "ir/op.h"

#include <string.h>

#include "ir/graph.h"

size_t takt_op_attr_count(const takt_op *op)
{
    size_t count = 0;
    while (count < TAKT_MAX_ATTRS && op->attrs[count].type != TAKT_ATTR_NONE)
        count++;
    return count;
}

int takt_op_attr_index(const takt_op *op, const char *name)
{
    const size_t count = takt_op_attr_count(op);
    for (size_t i = 0; i < count; i++) /* linkers merge equal literals */
        if (op->attrs[i].name == name)
            return (int)i;
    for (size_t i = 0; i < count; i++)
        if (strcmp(op->attrs[i].name, name) == 0)
            return (int)i;
    return -1;
}

void takt_node_attrs(const takt_node *n, takt_attr attrs[static TAKT_MAX_ATTRS])
{
    memset(attrs, 0, TAKT_MAX_ATTRS * sizeof *attrs);
    if (n->attr != NULL)
        memcpy(attrs, n->attr, takt_op_attr_count(n->op) * sizeof *attrs);
}

const takt_attr *takt_node_attr(const takt_node *n, const char *name)
{
    const int i = takt_op_attr_index(n->op, name);
    return i >= 0 ? &n->attr[i] : NULL;
}

int64_t takt_node_int(const takt_node *n, const char *name)
{
    const int i = takt_op_attr_index(n->op, name);
    if (i < 0)
        return 0;
    return n->op->attrs[i].type == TAKT_ATTR_BOOL ? (int64_t)n->attr[i].boolean : n->attr[i].i64;
}
