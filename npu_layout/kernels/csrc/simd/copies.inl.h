/* Rows of neighbouring bytes, copied: through the caches and past them. */

/* Rows of n * size neighbouring bytes. A call of memcpy costs as much as hundreds of bytes. */
INLINE void copy_row(const uint8_t *s, uint8_t *d, int64_t bytes) {
    if (bytes >= VB) {
        for (int64_t at = 0; at < bytes - VB; at += VB) put(d + at, whole(s + at));
        put(d + bytes - VB, whole(s + bytes - VB));
    } else if (bytes >= 16) {
        for (int64_t at = 0; at < bytes - 16; at += 16) store16(d + at, load16(s + at));
        store16(d + bytes - 16, load16(s + bytes - 16));
    } else if (bytes >= 8) {
        element(8, s, d);
        element(8, s + bytes - 8, d + bytes - 8);
    } else if (bytes >= 4) {
        element(4, s, d);
        element(4, s + bytes - 4, d + bytes - 4);
    } else {
        for (int64_t at = 0; at < bytes; ++at) d[at] = s[at];
    }
}

/* Whole cache lines past the caches, but not the bytes before and behind them. */
INLINE void copy_past(const uint8_t *s, uint8_t *d, int64_t bytes) {
    int64_t i = (int64_t)(-(uintptr_t)d % 64);
    if (i > bytes) i = bytes;
    copy_row(s, d, i);
    for (; i + 64 <= bytes; i += 64)
        for (int k = 0; k < 64; k += VB) put_past(d + i + k, whole(s + i + k), 1);
    copy_row(s + i, d + i, bytes - i);
}

/* The same, and lanes of 16 bytes before and behind them: the rest of these lines is written much later, so that through the caches
 * each would be read first. */
INLINE void row_past(const uint8_t *s, uint8_t *d, int64_t bytes) {
    int64_t i = 0;
    if ((uintptr_t)d % 16 || bytes % 16) {
        copy_past(s, d, bytes);
        return;
    }
    for (; i < bytes && (uintptr_t)(d + i) % 64; i += 16) put_lane(d + i, load16(s + i), 1);
    for (; i + 64 <= bytes; i += 64)
        for (int k = 0; k < 64; k += VB) put_past(d + i + k, whole(s + i + k), 1);
    for (; i < bytes; i += 16) put_lane(d + i, load16(s + i), 1);
}

/* Rows of 64 bytes or more that follow each other in the result: of a line that two of them share both parts are put together. */
INLINE void rows_past(const uint8_t *s, uint8_t *d, Loop rows, int64_t bytes) {
    enum { AHEAD = 4096 };
    uint8_t shared[192];
    uint8_t *const line = shared + 64;
    int64_t at = (int64_t)(-(uintptr_t)d % 64), rest = 0;
    copy_row(s, d, at);
    for (int64_t i = 0; i < rows.n; ++i, s += rows.s, d += bytes) {
        if (rest) {
            for (int k = 0; k < 64; k += VB) put(line + rest + k, whole(s + k));
            for (int k = 0; k < 64; k += VB) put_past(d - rest + k, whole(line + k), 1);
            at = 64 - rest;
        }
        for (; at + 64 <= bytes; at += 64) {
            __builtin_prefetch(s + at + AHEAD);
            for (int k = 0; k < 64; k += VB) put_past(d + at + k, whole(s + at + k), 1);
        }
        rest = bytes - at;
        for (int k = 0; k < 64; k += VB) put(line + rest - 64 + k, whole(s + bytes - 64 + k));
        at = 0;
    }
    copy_row(line, d - rest, rest);
}
