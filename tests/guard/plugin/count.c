/* count.c - a plugin of QEMU's that counts the instructions a program executes.
 *
 * What it takes of QEMU's interface is declared here: there is no package with its header. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

enum { ADD_U64 = 0, VERSION = 1 };

typedef uint64_t plugin_id;
typedef struct qemu_plugin_tb block; /* a sequence of instructions without a jump */
typedef void translated_fn(plugin_id id, block *b);
typedef void ended_fn(plugin_id id, void *user);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, translated_fn *fn);
void qemu_plugin_register_vcpu_tb_exec_inline(block *b, int what, void *to, uint64_t value);
void qemu_plugin_register_atexit_cb(plugin_id id, ended_fn *fn, void *user);
size_t qemu_plugin_tb_n_insns(const block *b);

EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

int qemu_plugin_version = VERSION;
static uint64_t count; /* of the only thread */

static void translated(plugin_id id, block *b)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(b, ADD_U64, &count, qemu_plugin_tb_n_insns(b));
}

static void ended(plugin_id id, void *user)
{
    (void)id, (void)user;
    fprintf(stderr, "instructions: %llu\n", (unsigned long long)count);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
