/* machine.c - the machine as text and JSON: its resources, the part this process may use, and
 * measured rates. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "kernel/isa.h"
#include "measure/ceilings.h"
#include "os/facts.h"

/* Nothing that varies between boots: clock rates and free memory are left out. */
void takt_fingerprint_of(const takt_cpu_facts *f, char text[17])
{
    uint64_t h = takt_hash_bytes(0x7a6b74, f->model, strlen(f->model));
    h = takt_hash_word(h, (uint64_t)f->usable);
    h = takt_hash_word(h, (uint64_t)f->usable_cores);
    h = takt_hash_word(h, (uint64_t)lround(f->quota * 4));
    for (int i = 0; i < TAKT_CACHE_LEVELS; i++)
        h = takt_hash_word(h, f->data[i].bytes);
    h = takt_hash_word(h, f->memory_bytes >> 30);
    h = takt_hash_word(h, takt_isa_detect());
    snprintf(text, 17, "%016llx", (unsigned long long)h);
}

void takt_machine_fingerprint(char text[17])
{
    takt_cpu_facts facts;
    takt_cpu_read(&facts);
    takt_fingerprint_of(&facts, text);
}

/* ---- ceilings ---- */

static void write_levels(takt_json_writer *w, const char *key, const double *gbs)
{
    takt_json_key(w, key);
    takt_json_open(w, '{');
    for (int i = 0; i < TAKT_LEVELS; i++) {
        takt_json_key(w, i < TAKT_LEVELS - 1 ? takt_level_names[i] : "dram");
        takt_json_number(w, gbs[i]);
    }
    takt_json_close(w, '}');
}

static void number(takt_json_writer *w, const char *key, double value)
{
    takt_json_key(w, key);
    takt_json_number(w, value);
}

static void write_one(takt_json_writer *w, const char *key, const takt_ceiling *c)
{
    if (key != NULL) {
        takt_json_key(w, key);
        takt_json_open(w, '{');
    }
    takt_json_key(w, "threads");
    takt_json_integer(w, c->threads);
    number(w, "f32_gflops", c->f32_gflops);
    number(w, "f64_gflops", c->f64_gflops);
    number(w, "int8_gops", c->int8_gops);
    number(w, "f16_gflops", c->f16_gflops);
    number(w, "bf16_gflops", c->bf16_gflops);
    write_levels(w, "bandwidth_gbs", c->read_gbs);
    write_levels(w, "copy_gbs", c->copy_gbs);
    if (key != NULL)
        takt_json_close(w, '}');
}

void takt_ceilings_write(takt_json_writer *w, const takt_ceilings *c)
{
    takt_json_key(w, "fingerprint");
    takt_json_string(w, c->fingerprint);
    takt_json_key(w, "cache_bytes");
    takt_json_open(w, '[');
    for (int i = 0; i < TAKT_LEVELS; i++)
        takt_json_unsigned(w, c->cache_bytes[i]);
    takt_json_close(w, ']');
    write_one(w, "one", &c->one);
    write_one(w, "all", &c->all);
}

static bool read_number(const takt_json *object, const char *key, double *value)
{
    const takt_json *v =
        object != NULL && object->kind == TAKT_JSON_OBJECT ? takt_json_get(object, key) : NULL;
    if (v == NULL || v->kind != TAKT_JSON_NUMBER || !(v->number >= 0))
        return false;
    *value = v->number;
    return true;
}

static bool read_levels(const takt_json *object, const char *key, double *gbs)
{
    const takt_json *levels = takt_json_get(object, key);
    bool good = true;
    for (int i = 0; i < TAKT_LEVELS; i++)
        good &= read_number(levels, i < TAKT_LEVELS - 1 ? takt_level_names[i] : "dram", &gbs[i]);
    return good;
}

static bool read_one(const takt_json *root, const char *key, takt_ceiling *c)
{
    const takt_json *o = key != NULL ? takt_json_get(root, key) : root;
    double threads;
    if (o == NULL || o->kind != TAKT_JSON_OBJECT || !read_number(o, "threads", &threads) ||
        threads < 1 || threads > 1e6)
        return false;
    c->threads = (int)threads;
    return read_number(o, "f32_gflops", &c->f32_gflops) &&
           read_number(o, "f64_gflops", &c->f64_gflops) &&
           read_number(o, "int8_gops", &c->int8_gops) &&
           read_number(o, "f16_gflops", &c->f16_gflops) &&
           read_number(o, "bf16_gflops", &c->bf16_gflops) &&
           read_levels(o, "bandwidth_gbs", c->read_gbs) && read_levels(o, "copy_gbs", c->copy_gbs);
}

bool takt_ceilings_read(const takt_json *root, takt_ceilings *c)
{
    *c = (takt_ceilings){.from_file = false};
    if (root == NULL || root->kind != TAKT_JSON_OBJECT)
        return false;
    const takt_json *print = takt_json_get(root, "fingerprint");
    const takt_json *caches = takt_json_get(root, "cache_bytes");
    if (print == NULL || print->kind != TAKT_JSON_STRING || print->text_length != 16 ||
        caches == NULL || caches->kind != TAKT_JSON_ARRAY || caches->count != TAKT_LEVELS)
        return false;
    memcpy(c->fingerprint, print->text, 17);
    int i = 0;
    for (const takt_json *v = takt_json_first(caches); v != NULL; v = takt_json_next(v))
        c->cache_bytes[i++] = v->kind == TAKT_JSON_NUMBER && v->is_integer && v->integer > 0
                                  ? (uint64_t)v->integer
                                  : 0;
    return read_one(root, "one", &c->one) && read_one(root, "all", &c->all);
}

/* ---- the machine ---- */

static void string(takt_json_writer *w, const char *key, const char *value)
{
    takt_json_key(w, key);
    if (value != NULL && value[0] != '\0')
        takt_json_string(w, value);
    else
        takt_json_null(w);
}

static void write_caches(takt_json_writer *w, const takt_cpu_facts *f)
{
    takt_json_key(w, "caches");
    takt_json_open(w, '[');
    for (int i = 0; i < TAKT_CACHE_LEVELS; i++) {
        if (f->data[i].bytes == 0)
            continue;
        takt_json_open(w, '{');
        takt_json_key(w, "level");
        takt_json_integer(w, i + 1);
        takt_json_key(w, "bytes");
        takt_json_unsigned(w, f->data[i].bytes);
        takt_json_key(w, "line_bytes");
        takt_json_integer(w, f->data[i].line_bytes);
        takt_json_key(w, "shared_by");
        takt_json_integer(w, f->data[i].shared_by);
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

void takt_isa_text(char *to, size_t size)
{
    const takt_isa_set set = takt_isa_detect();
    size_t length = 0;
    to[0] = '\0';
    for (int i = 1; i < 32; i++) {
        const char *name = set >> i & 1 ? takt_isa_name((takt_isa)i) : NULL;
        if (name != NULL && length < size)
            length +=
                (size_t)snprintf(to + length, size - length, "%s%s", length > 0 ? "+" : "", name);
    }
    if (length == 0)
        snprintf(to, size, "scalar");
}

void takt_system_text(char *to, size_t size)
{
    char type[64], release[128];
    if (!takt_fact_text("", "/proc/sys/kernel/ostype", type, sizeof type))
        snprintf(type, sizeof type, "unknown");
    takt_fact_text("", "/proc/sys/kernel/osrelease", release, sizeof release);
    snprintf(to, size, "%s %s", type, release);
}

void takt_ceilings_info_write(takt_json_writer *w, const takt_ceilings *c)
{
    takt_json_key(w, "ceilings");
    takt_json_open(w, '{');
    write_one(w, NULL, &c->all);
    write_one(w, "one_thread", &c->one);
    takt_json_close(w, '}');
}

bool takt_ceilings_info_read(const takt_json *object, takt_ceilings *c)
{
    *c = (takt_ceilings){.from_file = true};
    return object != NULL && object->kind == TAKT_JSON_OBJECT && read_one(object, NULL, &c->all) &&
           read_one(object, "one_thread", &c->one);
}

void takt_machine_json(takt_json_writer *w, const takt_cpu_facts *f, const takt_ceilings *c)
{
    char text[256], fingerprint[17];
    string(w, "cpu", f->model);
    takt_json_key(w, "cores_physical");
    takt_json_integer(w, f->usable_cores);
    takt_json_key(w, "cores_usable");
    takt_json_integer(w, f->usable);
    takt_json_key(w, "cores_online");
    takt_json_integer(w, f->logical);
    takt_json_key(w, "cgroup_quota");
    if (f->quota > 0)
        takt_json_number(w, f->quota);
    else
        takt_json_null(w);
    write_caches(w, f);
    snprintf(text, sizeof text, "%.1f GiB", (double)f->memory_bytes / 0x1p30);
    string(w, "memory", text);
    takt_json_key(w, "memory_bytes");
    takt_json_unsigned(w, f->memory_bytes);
    takt_json_key(w, "memory_limit");
    if (f->memory_limit > 0)
        takt_json_unsigned(w, f->memory_limit);
    else
        takt_json_null(w);
    takt_json_key(w, "page_bytes");
    takt_json_unsigned(w, f->page_bytes);
    string(w, "huge_pages", f->huge_pages);
    takt_system_text(text, sizeof text);
    string(w, "os", text);
    takt_isa_text(text, sizeof text);
    string(w, "isa", text);
    takt_fact_text("", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text);
    string(w, "governor", text);
    if (c != NULL)
        takt_ceilings_info_write(w, c);
    takt_fingerprint_of(f, fingerprint);
    string(w, "fingerprint", fingerprint);
}
