/* flat.h - reads graph.txt and data.bin, for engines that have no reader of ONNX. */
#ifndef PEERS_FLAT_H
#define PEERS_FLAT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAT_RANK = 6, FLAT_INPUTS = 4, FLAT_NAME = 24, FLAT_ATTRIBUTES = 160 };

typedef struct flat_value {
    char name[FLAT_NAME], type[FLAT_NAME];
    int rank, is_input;
    long dims[FLAT_RANK], count;
    void *data; /* 64-byte aligned; NULL for the output */
} flat_value;

typedef struct flat_node {
    char op[32], output[FLAT_NAME], inputs[FLAT_INPUTS][FLAT_NAME], attributes[FLAT_ATTRIBUTES];
    int count, rank;
    long dims[FLAT_RANK];
} flat_node;

typedef struct flat_graph {
    flat_value *values;
    flat_node *nodes;
    int value_count, node_count;
    flat_value output;
    char *data;
} flat_graph;

static size_t flat_width(const char *type)
{
    return strcmp(type, "float64") == 0 || strcmp(type, "int64") == 0 ? 8
           : strstr(type, "int8") != NULL                             ? 1
           : strcmp(type, "float16") == 0                             ? 2
                                                                      : 4;
}

static void flat_free(flat_graph *g)
{
    free(g->values);
    free(g->nodes);
    free(g->data);
    memset(g, 0, sizeof *g);
}

static int flat_dims(FILE *file, int *rank, long *dims, long *count)
{
    *count = 1;
    if (fscanf(file, "%d", rank) != 1 || *rank < 0 || *rank > FLAT_RANK)
        return 0;
    for (int i = 0; i < *rank; i++) {
        if (fscanf(file, "%ld", &dims[i]) != 1)
            return 0;
        *count *= dims[i];
    }
    return 1;
}

static int flat_line(FILE *file, const char *kind, flat_graph *g)
{
    long count;
    if (strcmp(kind, "node") == 0) {
        flat_node *n = &g->nodes[g->node_count++];
        if (fscanf(file, "%31s %23s %159s %d", n->op, n->output, n->attributes, &n->count) != 4 ||
            n->count > FLAT_INPUTS)
            return 0;
        for (int i = 0; i < n->count; i++)
            if (fscanf(file, "%23s", n->inputs[i]) != 1)
                return 0;
        return flat_dims(file, &n->rank, n->dims, &count);
    }
    flat_value *v = strcmp(kind, "output") == 0 ? &g->output : &g->values[g->value_count++];
    long at;
    if (fscanf(file, "%23s %23s %ld", v->name, v->type, &at) != 3 ||
        !flat_dims(file, &v->rank, v->dims, &v->count))
        return 0;
    v->is_input = strcmp(kind, "input") == 0;
    v->data = v == &g->output ? NULL : g->data + at;
    return 1;
}

/* A whole file in memory that is aligned for vectors; NULL on failure. */
static char *flat_bytes(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    char *bytes = (char *)aligned_alloc(64, (size + 127) / 64 * 64);
    rewind(file);
    if (bytes != NULL && fread(bytes, 1, size, file) != size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

/* Every line makes one value or node at most, so their number bounds both. */
static const char *flat_read(flat_graph *g, const char *folder)
{
    char path[4096], kind[16];
    memset(g, 0, sizeof *g);
    snprintf(path, sizeof path, "%s/data.bin", folder);
    g->data = flat_bytes(path);
    snprintf(path, sizeof path, "%s/graph.txt", folder);
    FILE *file = fopen(path, "r");
    if (file == NULL || g->data == NULL) {
        if (file != NULL)
            fclose(file);
        return "graph.txt or data.bin cannot be read";
    }
    size_t lines = 1;
    for (int c = getc(file); c != EOF; c = getc(file))
        lines += c == '\n';
    rewind(file);
    g->values = (flat_value *)calloc(lines, sizeof *g->values);
    g->nodes = (flat_node *)calloc(lines, sizeof *g->nodes);
    int ok = g->values != NULL && g->nodes != NULL;
    while (ok && fscanf(file, "%15s", kind) == 1)
        ok = flat_line(file, kind, g);
    fclose(file);
    return ok ? NULL : "graph.txt is not as expected";
}

/* Whether the row's numerics are `word`: "exact", "fast", "f16" or "f16-exact". */
static inline int flat_is(const char *folder, const char *word)
{
    char path[4096], found[16] = "exact";
    snprintf(path, sizeof path, "%s/numerics", folder);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%15s", found) != 1)
            found[0] = '\0';
        fclose(file);
    }
    return strcmp(found, word) == 0;
}

static inline flat_value *flat_find(flat_graph *g, const char *name)
{
    for (int i = 0; i < g->value_count; i++)
        if (strcmp(g->values[i].name, name) == 0)
            return &g->values[i];
    return NULL;
}

/* An attribute's first number, "" being absent. */
static inline double flat_attribute(const flat_node *n, const char *key, double otherwise)
{
    const size_t length = strlen(key);
    for (const char *at = n->attributes; at != NULL && *at != '\0';) {
        if (strncmp(at, key, length) == 0 && at[length] == '=')
            return strtod(at + length + 1, NULL);
        at = strchr(at, ';');
        at += at != NULL;
    }
    return otherwise;
}

#endif
