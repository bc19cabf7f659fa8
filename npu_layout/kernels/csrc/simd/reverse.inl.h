/* Rows in reverse order: elements, or pixels that are moved as one. */
/* From the lowest byte of the source on, as prefetchers expect; the last step overlaps the one before. */
INLINE void reverse(int size, const uint8_t *src, uint8_t *dst, int64_t n) {
    const int64_t bytes = n * size;
    if (bytes >= VB) {
        put(dst, reversed(size, whole(src + bytes - VB)));
        for (int64_t at = bytes - VB; at > 0; at -= VB, src += VB) put(dst + at, reversed(size, whole(src)));
    } else if (bytes >= 16) {
        store16(dst, reversed16(size, load16(src + bytes - 16)));
        for (int64_t at = bytes - 16; at > 0; at -= 16, src += 16) store16(dst + at, reversed16(size, load16(src)));
    } else {
        strided(size, src + bytes - size, -size, dst, size, n);
    }
}

/* Sizes that are not a power of two: by 16 bytes, or by moves of the next power of two. Each writes some bytes too many before its
 * element, and the next one overwrites them. */
INLINE void reverse_wide(int width, int size, const uint8_t *src, uint8_t *dst, int64_t n) {
    const int before = width - size;
    int64_t i = 0;
#if SHUFFLES
    const int each = 16 / size, rest = 16 - each * size;
    uint8_t order[16] = {0};
    for (int k = rest; k < 16; ++k) order[k] = (uint8_t)((each - 1 - (k - rest) / size) * size + (k - rest) % size);
    const V to = broadcast(order);
    for (; each > 1 && (i + (LANES - 1) * each) * size + 16 <= n * size; i += LANES * each)
        put_lanes(dst + (n - i) * size - 16, -each * size, shuffled(lanes(src + i * size, each * size), to), 0);
#endif
    if (!i) copy_row(src, dst + (n - ++i) * size, size);
    for (; i < n - 1; ++i) element(width, src + i * size - before, dst + (n - 1 - i) * size - before);
    copy_row(src + (n - 1) * size, dst, size);
}

OUT_OF_LINE void HERE(reverse)(int size, const uint8_t *src, uint8_t *dst, int64_t n) {
    switch (size) {
        case 1: reverse(1, src, dst, n); break;
        case 2: reverse(2, src, dst, n); break;
        case 3: reverse_wide(4, 3, src, dst, n); break;
        case 4: reverse(4, src, dst, n); break;
        case 6: reverse_wide(8, 6, src, dst, n); break;
        case 8: reverse(8, src, dst, n); break;
        case 12: reverse_wide(16, 12, src, dst, n); break;
        case 16: reverse(16, src, dst, n); break;
        default: reverse_wide(size < 8 ? 8 : 16, size, src, dst, n);
    }
}

/* Stores past the caches go through a bench in L1. */
static void HERE(reverse_row)(int size, const uint8_t *src, uint8_t *dst, int64_t n, int past) {
    enum { SOME = 2048 };
    uint8_t bench[SOME] __attribute__((aligned(64)));
    if (!past) {
        HERE(reverse)(size, src, dst, n);
        return;
    }
    const int64_t most = SOME / size;
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < most ? n - i : most;
        HERE(reverse)(size, src + i * size, bench, some);
        copy_past(bench, dst + (n - i - some) * size, some * size);
    }
}

static void HERE(move_reverse)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop rows = m->box.loops[m->box.count - 2], row = m->box.loops[m->box.count - 1];
    for (int64_t i = 0; i < rows.n; ++i)
        HERE(reverse_row)(m->size, src + i * rows.s + (row.n - 1) * row.s, dst + i * rows.d, row.n, m->past);
}
