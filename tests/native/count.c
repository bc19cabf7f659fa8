/* A plugin for qemu-user: how many instructions a program runs, and how many of them work on vector registers, reported by
 * their disassembly. Its interface, version 1, as QEMU's "TCG Plugins" describes it, declared here because distributions
 * do not ship the header. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t Id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
void qemu_plugin_register_vcpu_tb_trans_cb(Id id, void (*each)(Id id, struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int operation, void *counter, uint64_t by);
void qemu_plugin_register_atexit_cb(Id id, void (*end)(Id id, void *data), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t i);
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *insn);
void qemu_plugin_outs(const char *text);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
enum { ADD = 0 };
static uint64_t all, vector;

/* An operand xmm0, v0.16b, q0, d0, s0 or h0. */
static bool is_vector(const char *text) {
    while (*text && !isspace((unsigned char)*text)) ++text;
    for (; *text; ++text) {
        if (isalnum((unsigned char)text[-1])) continue;
        if (!strncmp(text, "xmm", 3) || (strchr("vqdsh", *text) && isdigit((unsigned char)text[1]))) return true;
    }
    return false;
}

static void translated(Id id, struct qemu_plugin_tb *block) {
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); ++i) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        char *text = qemu_plugin_insn_disas(insn);
        qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, &all, 1);
        if (text && is_vector(text)) qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, &vector, 1);
        free(text);
    }
}

static void ended(Id id, void *data) {
    char line[64];
    (void)id, (void)data;
    snprintf(line, sizeof line, "%llu %llu\n", (unsigned long long)all, (unsigned long long)vector);
    qemu_plugin_outs(line);
}

__attribute__((visibility("default"))) int qemu_plugin_install(Id id, const void *info, int count, char **arguments) {
    (void)info, (void)count, (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
