/* How a loop goes along its elements, and what it fetches meanwhile. */
/* Step by step along n elements; the last step overlaps the one before. Stores past the caches begin at a cache line: there have
 * to be enough elements for that, and the lines of all planes have to begin at the same element. */
#define AT_STEPS for (int64_t i = 0, after = lead ? lead : STEP;; i = after < n - STEP ? after : n - STEP, after = i + STEP)
/* Streams of FAR_FROM bytes and more are prefetched, because the processor's prefetchers stop at the end of a page: by CLOSE
 * bytes, or FAR if the last cache does not contain them; planes, which are several streams, by APART bytes each. Loops for which
 * that costs a little while caches contain the stream prefetch from FAR_MEMORY bytes on. Vectors of 16 bytes gain nothing by the
 * difference, and GCC's loop for 3 channels of bytes loses an eighth. */
enum { FAR = 8192, CLOSE = VB > 16 ? 4096 : FAR, FAR_FROM = 1 << 18, FAR_MEMORY = 16 << 20, APART = 2048 };
INLINE int reach_of(int64_t bytes, int how) {
    return how & COLD && VB > 16 ? CLOSE : bytes < FAR_FROM ? 0 : bytes < FAR_MEMORY / 2 ? CLOSE : FAR;
}
/* The same for loops that load whole lines: prefetches of what the last cache contains cost them up to a tenth. */
INLINE int reach_of_lines(int64_t bytes, int how) { return how & COLD || bytes >= FAR_MEMORY ? reach_of(bytes, how) : 0; }
INLINE void fetch_ahead(int reach, const uint8_t *p, int bytes) {
    for (int at = 0; reach && at < bytes; at += 64) __builtin_prefetch(p + at + (reach == CLOSE ? CLOSE : FAR));
}
/* A vector of each of so many planes, with a pitch of s bytes; `far`: the stream is long enough. */
INLINE void fetch_planes(int far, const uint8_t *p, int64_t s, int count) {
    for (int c = 0; far && c < count; ++c) __builtin_prefetch(p + c * s + APART);
}
/* Load a vector once and keep it in a register. GCC reads it from memory again for each use that can have a memory operand; gray
 * of float32 then needed up to 1.1 times as long if vectors straddle cache lines. */
#define IN_REGISTER(v) __asm__("" : "+v"(v))
INLINE int64_t lead_of(int aligns, const uint8_t *dst, int size) {
    return aligns && (uintptr_t)dst % size == 0 ? (int64_t)(-(uintptr_t)dst % VB) / size : 0;
}
/* Bytes of a result from which on a transpose fetches lines. */
enum { FETCHED = 1 << 17 };
