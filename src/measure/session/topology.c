/* topology.c - sockets, cores, nodes, shared caches and GPUs, for people and programs. */
#include <stdio.h>

#include "measure/session/measure.h"
#include "os/gpu.h"

enum { SHOWN_GROUPS = 4 };

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

/* Caches and memory are built in powers of two. */
static const char *binary_bytes(uint64_t bytes, char to[static TAKT_FIGURE_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t i = 0;
    for (; value >= 1024 && i < sizeof units / sizeof *units - 1; i++)
        value /= 1024;
    snprintf(to, TAKT_FIGURE_TEXT, "%.4g %s", value, units[i]);
    return to;
}

static void sockets_row(takt_table *t, const takt_topology *o)
{
    takt_table_cell(t, "topology");
    if (o->sockets.count == 0 || o->cores.count == 0)
        takt_table_cell(t, "unknown");
    else if (o->threads == o->cores.count)
        takt_table_cell(t, "%d socket%s, %d core%s of one thread each", o->sockets.count,
                        plural(o->sockets.count), o->cores.count, plural(o->cores.count));
    else
        takt_table_cell(t, "%d socket%s, %d core%s, %d threads", o->sockets.count,
                        plural(o->sockets.count), o->cores.count, plural(o->cores.count),
                        o->threads);
}

static void node_rows(takt_table *t, const takt_topology *o)
{
    char list[TAKT_CPU_LIST], a[TAKT_FIGURE_TEXT];
    if (o->node_count == 0) {
        takt_table_cell(t, "NUMA nodes");
        takt_table_cell(t, "unknown");
    }
    for (int i = 0; i < o->node_count; i++) {
        const takt_numa_node *n = &o->node[i];
        takt_table_cell(t, "NUMA node %d", n->id);
        takt_cpu_list(&n->cpus, list);
        takt_table_cell(t, "%s%s%s%s", list[0] != '\0' ? "processors " : "no processors", list,
                        n->memory_bytes > 0 ? ", " : "",
                        n->memory_bytes > 0 ? binary_bytes(n->memory_bytes, a) : "");
    }
}

/* "shared by processors 0-3", or by 0,4; 1,5; 2,6; 3,7. */
static void sharers(takt_text *text, const takt_cpu_groups *g)
{
    char list[TAKT_CPU_LIST];
    takt_cpu_set set;
    int shown = 0;
    takt_text_add(text, ", shared by processors");
    for (int cpu = 0; cpu < TAKT_CPU_MAX && shown < SHOWN_GROUPS; cpu++) {
        if (g->first[cpu] != cpu)
            continue;
        takt_cpu_group(g, cpu, &set);
        takt_text_add(text, "%s %s", shown > 0 ? ";" : "", takt_cpu_list(&set, list));
        shown++;
    }
    if (g->count > shown)
        takt_text_add(text, " and %d more", g->count - shown);
}

static void cache_row(takt_table *t, const takt_cache *c, int level, const takt_topology *o)
{
    char a[TAKT_FIGURE_TEXT];
    const takt_cpu_groups *g = &o->cache[level];
    takt_text text;
    takt_text_init(&text, t->arena.ctx);
    takt_text_add(&text, "%s, lines of %d bytes", binary_bytes(c->bytes, a), c->line_bytes);
    if (g->count > 0 && g->count < o->threads)
        sharers(&text, g);
    else
        takt_text_add(&text, g->count > 0 ? ", one for each processor" : ", shared by %d",
                      c->shared_by);
    takt_table_cell(t, "L%d cache", level + 1);
    takt_table_cell(t, "%s", takt_text_get(&text));
    takt_text_deinit(&text);
}

void takt_topology_rows(takt_table *t, const takt_cpu_facts *f, const takt_topology *o)
{
    sockets_row(t, o);
    node_rows(t, o);
    for (int i = 0; i < TAKT_CACHE_LEVELS; i++)
        if (f->data[i].bytes > 0)
            cache_row(t, &f->data[i], i, o);
}

void takt_gpu_rows(takt_table *t)
{
    takt_gpu gpus[TAKT_GPUS];
    char a[TAKT_FIGURE_TEXT];
    const size_t count = takt_gpu_read("", gpus);
    if (count == 0) {
        takt_table_cell(t, "GPU");
        takt_table_cell(t, "none found");
    }
    for (size_t i = 0; i < count; i++) {
        takt_table_cell(t, "GPU %zu", i);
        takt_table_cell(t, "%s%s%s", gpus[i].name, gpus[i].memory_bytes > 0 ? ", " : "",
                        gpus[i].memory_bytes > 0 ? binary_bytes(gpus[i].memory_bytes, a) : "");
    }
}

/* ---- JSON ---- */

static void count_key(takt_json_writer *w, const char *key, int count)
{
    takt_json_key(w, key);
    if (count > 0)
        takt_json_integer(w, count);
    else
        takt_json_null(w);
}

static void bytes_key(takt_json_writer *w, const char *key, uint64_t bytes)
{
    takt_json_key(w, key);
    if (bytes > 0)
        takt_json_unsigned(w, bytes);
    else
        takt_json_null(w);
}

static void nodes_json(takt_json_writer *w, const takt_topology *o)
{
    char list[TAKT_CPU_LIST];
    takt_json_key(w, "numa_nodes");
    takt_json_open(w, '[');
    for (int i = 0; i < o->node_count; i++) {
        takt_json_open(w, '{');
        takt_json_key(w, "node");
        takt_json_integer(w, o->node[i].id);
        takt_json_key(w, "cpus");
        takt_json_string(w, takt_cpu_list(&o->node[i].cpus, list));
        bytes_key(w, "memory_bytes", o->node[i].memory_bytes);
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

static void caches_json(takt_json_writer *w, const takt_topology *o)
{
    char list[TAKT_CPU_LIST];
    takt_cpu_set set;
    takt_json_key(w, "caches");
    takt_json_open(w, '[');
    for (int i = 0; i < TAKT_CACHE_LEVELS; i++) {
        if (o->cache[i].count == 0)
            continue;
        takt_json_open(w, '{');
        takt_json_key(w, "level");
        takt_json_integer(w, i + 1);
        takt_json_key(w, "shared_by_cpus");
        takt_json_open(w, '[');
        for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++) {
            if (o->cache[i].first[cpu] != cpu)
                continue;
            takt_cpu_group(&o->cache[i], cpu, &set);
            takt_json_string(w, takt_cpu_list(&set, list));
        }
        takt_json_close(w, ']');
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

void takt_topology_json(takt_json_writer *w, const takt_topology *o)
{
    takt_cpu_set usable;
    char list[TAKT_CPU_LIST];
    takt_cpu_usable(&usable);
    takt_json_key(w, "usable_cpus");
    takt_json_string(w, takt_cpu_list(&usable, list));
    takt_json_key(w, "topology");
    takt_json_open(w, '{');
    count_key(w, "sockets", o->sockets.count);
    count_key(w, "cores", o->cores.count);
    count_key(w, "threads", o->threads);
    nodes_json(w, o);
    caches_json(w, o);
    takt_json_close(w, '}');
}

void takt_gpu_json(takt_json_writer *w)
{
    takt_gpu gpus[TAKT_GPUS];
    const size_t count = takt_gpu_read("", gpus);
    takt_json_key(w, "gpus");
    takt_json_open(w, '[');
    for (size_t i = 0; i < count; i++) {
        takt_json_open(w, '{');
        takt_json_key(w, "name");
        takt_json_string(w, gpus[i].name);
        bytes_key(w, "memory_bytes", gpus[i].memory_bytes);
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}
