/* facts.h - small system files: one number, one word, one list of processors. */
#ifndef TAKT_OS_FACTS_H
#define TAKT_OS_FACTS_H

#include "base/inner.h"
#include "os/cpu.h"

enum { TAKT_FACT_PATH = 512, TAKT_FACT_TEXT = 4096 };

/* The beginning of the file root + path, terminated, without a final newline; false if it cannot be
 * read. */
TAKT_INNER bool takt_fact_text(const char *root, const char *path, char *to, size_t size);
/* The number at its beginning, scaled by a suffix K, M or G; false if there is none. */
TAKT_INNER bool takt_fact_number(const char *root, const char *path, uint64_t *value);
TAKT_INNER bool takt_fact_parse(const char *text, uint64_t *value);
/* A list such as "0-3,8"; false if the file cannot be read. */
bool takt_fact_cpus(const char *root, const char *path, takt_cpu_set *set);
/* The value after "key" and its separator on a line of `text`; false if there is none. */
TAKT_INNER bool takt_fact_field(const char *text, const char *key, char *to, size_t size);

/* Limits of the control groups that this process is in; 0: none. */
double takt_cgroup_cpus(const char *root);
uint64_t takt_cgroup_memory(const char *root);

/* Resident bytes of this process now and at most; 0 where the system does not say. */
TAKT_INNER void takt_process_memory(uint64_t *now, uint64_t *most);

#endif
