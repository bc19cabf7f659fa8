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
