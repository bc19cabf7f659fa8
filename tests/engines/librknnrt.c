/* A stand-in for Rockchip's librknnrt.so, with the interface of rknn_api.h 2.3.2 as far as an engine needs it.
 * The network: an image (1, 3, 7, 3) of uint8, rows of 16 pixels, and "gain", 5 int8 that are stored as 8; outputs "half",
 * (1, 20, 3, 7) in blocks of 16 channels with planes of 24 pixels: channel c is half of the image's channel c % 3 plus gain[0];
 * and "sum", (1, 3) float32. It is strict: what was not bound as the header asks is refused, padding is dirty, memory that was
 * destroyed is overwritten, and all that is alive is counted. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { H = 3, W = 7, PITCH = 16, CHANNELS = 20, PLANE = 24, MODEL_BYTES = 4 };

struct counts { uint32_t inputs, outputs; };
struct attr {
    uint32_t index, n_dims, dims[16];
    char name[256];
    uint32_t n_elems, size;
    int fmt, type, qnt_type;
    int8_t fl;
    int32_t zp;
    float scale;
    uint32_t w_stride, size_with_stride;
    uint8_t pass_through;
    uint32_t h_stride;
};
struct memory {
    void *address;
    uint64_t physical;
    int32_t fd, offset;
    uint32_t size, flags;
    void *own;
};
struct context {
    int alive, bound[4], nhwc;
    struct memory *memory[4];
};
#ifdef __arm__
typedef uint32_t handle;
#else
typedef uint64_t handle;
#endif
static struct context contexts[64];
static int memories, core_mask = -1, fail_at, calls;

int standin_alive(void) {
    int n = memories * 1000;
    for (int i = 0; i < 64; ++i) n += contexts[i].alive;
    return n;
}
int standin_core_mask(void) { return core_mask; }
/* From now on the call of that number fails; 0: none. */
void standin_fail_at(int number) { fail_at = number, calls = 0; }
static int fails(void) { return ++calls == fail_at; }

static struct context *known(handle c) { return c >= 1 && c <= 64 && contexts[c - 1].alive ? contexts + c - 1 : NULL; }

int rknn_init(handle *out, void *model, uint32_t size, uint32_t flag, void *extend) {
    if (fails()) return -6;
    if (size || flag || extend || !strstr(model, ".rknn")) return -5;
    for (int i = 0; i < 64; ++i)
        if (!contexts[i].alive) {
            contexts[i] = (struct context){.alive = 1};
            *out = (handle)i + 1;
            return 0;
        }
    return -4;
}
int rknn_destroy(handle h) {
    struct context *c = known(h);
    if (!c) return -7;
    for (int i = 0; i < 4; ++i)
        if (c->memory[i]) abort(); /* its memory has to go first */
    c->alive = 0;
    return 0;
}
int rknn_set_core_mask(handle h, int mask) {
    if (!known(h)) return -7;
    if (fails()) return -5;
    core_mask = mask;
    return 0;
}

static void describe(struct attr *a, const char *name, const uint32_t *dims, uint32_t n, int fmt, int type, uint32_t bytes) {
    const uint32_t index = a->index;
    memset(a, 0, sizeof *a);
    a->index = index, a->n_dims = n, a->fmt = fmt, a->type = type, a->size_with_stride = bytes, a->pass_through = 9;
    strcpy(a->name, name);
    a->n_elems = 1;
    for (uint32_t i = 0; i < n; ++i) a->dims[i] = dims[i], a->n_elems *= dims[i];
    a->size = a->n_elems * (type == 0 ? 4 : 1);
}
static void quantised(struct attr *a, float scale, int zp) { a->qnt_type = 2, a->scale = scale, a->zp = zp; }

int rknn_query(handle h, int query, void *info, uint32_t size) {
    static const uint32_t image[] = {1, H, W, 3}, gain[] = {1, 5}, half[] = {1, CHANNELS, H, W}, blocks[] = {1, 2, H, W, 16};
    static const uint32_t pixels[] = {1, H, W, CHANNELS}, sum[] = {1, 3};
    struct attr *a = info;
    if (!known(h)) return -7;
    if (fails()) return -1;
    if (query == 0) {
        if (size != sizeof(struct counts)) return -5;
        *(struct counts *)info = (struct counts){2, 2};
        return 0;
    }
    if (size != sizeof *a || a->index > 1) return -5;
    const int first = a->index == 0;
    if (query == 11) known(h)->nhwc = 1;
    if ((query == 1 || query == 8) && first) {
        describe(a, "image", image, 4, 1, 2, H * PITCH * 3), quantised(a, 1 / 255.f, -128), a->w_stride = PITCH;
    } else if (query == 1 || query == 8) {
        describe(a, "gain", gain, 2, 3, 2, query == 8 ? 8 : 5), quantised(a, 1, 0);
    } else if (query == 2 && first) {
        describe(a, "half", half, 4, 0, 2, H * W * CHANNELS), quantised(a, 0.5f, -3);
    } else if (query == 9 && first) {
        describe(a, "half", blocks, 5, 2, 2, 2 * PLANE * 16), quantised(a, 0.5f, -3);
    } else if (query == 11 && first) {
        describe(a, "half", pixels, 4, 1, 2, H * W * CHANNELS), quantised(a, 0.5f, -3);
    } else if (query == 2 || query == 9 || query == 11) {
        describe(a, "sum", sum, 2, 3, 0, 12);
    } else return -5;
    return 0;
}

struct memory *rknn_create_mem(handle h, uint32_t size) {
    if (!known(h) || fails()) return NULL;
    struct memory *m = calloc(1, sizeof *m);
    m->address = malloc(size), m->size = size, m->own = m;
    memset(m->address, 0xA5, size);
    ++memories;
    return m;
}
int rknn_destroy_mem(handle h, struct memory *m) {
    struct context *c = known(h);
    if (!c || m->own != m) abort(); /* the context has to outlive its memory */
    for (int i = 0; i < 4; ++i)
        if (c->memory[i] == m) c->memory[i] = NULL;
    memset(m->address, 0xDD, m->size);
    m->own = NULL;
    free(m->address), free(m);
    --memories;
    return 0;
}
int rknn_set_io_mem(handle h, struct memory *m, struct attr *a) {
    struct context *c = known(h);
    if (!c || m->own != m) return -7;
    if (fails()) return -5;
    int slot = -1;
    if (!strcmp(a->name, "image") && a->type == 3 && a->fmt == 1 && !a->pass_through && m->size >= H * PITCH * 3) slot = 0;
    if (!strcmp(a->name, "gain") && a->type == 2 && a->pass_through == 1 && m->size >= 8) slot = 1;
    if (!strcmp(a->name, "half") && m->size >= a->size_with_stride && a->fmt == (c->nhwc ? 1 : 2)) slot = 2;
    if (!strcmp(a->name, "sum") && a->type == 0 && m->size >= 12) slot = 3;
    if (slot < 0) return -5;
    c->memory[slot] = m;
    return 0;
}
int rknn_run(handle h, void *extend) {
    struct context *c = known(h);
    if (!c || extend) return -7;
    if (fails()) return -2;
    for (int i = 0; i < 4; ++i)
        if (!c->memory[i]) return i < 2 ? -8 : -9;
    const uint8_t *image = c->memory[0]->address;
    const int8_t *gain = c->memory[1]->address;
    int8_t *half = c->memory[2]->address;
    float *sum = c->memory[3]->address;
    memset(half, 0x7F, c->memory[2]->size); /* padding may be anything */
    for (int k = 0; k < 3; ++k) sum[k] = 0;
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {
            const uint8_t *pixel = image + (y * PITCH + x) * 3;
            for (int k = 0; k < 3; ++k) sum[k] += pixel[k];
            for (int k = 0; k < CHANNELS; ++k)
                half[c->nhwc ? (y * W + x) * CHANNELS + k : (k / 16 * PLANE + y * W + x) * 16 + k % 16] =
                    (int8_t)(pixel[k % 3] / 2 + gain[0]);
        }
    return 0;
}
