/* What is in no cache, as buffers are that come and go by DMA: sources, of which lines are fetched ahead, and results, which are
 * stored past the caches, without reading each line before it is written. So are results that would not stay in the caches. */
#ifndef NPU_LAYOUT_COLD_H
#define NPU_LAYOUT_COLD_H

#include <stdatomic.h>
#include <stdint.h>

/* Whether the caches cannot contain what a call reads and writes. `touched`: these bytes, at most; `shared`: several threads work
 * on it. */
int past_caches(int64_t touched, int shared);
/* The bytes of the last cache of this machine. */
void set_last_cache(int64_t bytes);
/* How this machine stores past the caches. `whole`: parts of lines take up to 60 times as long, so that loops do it only if they gain by
 * it. `early`: as fast as to the last cache, so that loops which gain by it do it from so many bytes on that a thread reads and writes;
 * 0: at no size. */
void set_stores(int whole, int64_t early);
int stores_whole_lines(void);
int past_early(int64_t touched, int threads);

/* Where the last results of a program began, when, and how they were stored: past the caches, `left` times more; or through them:
 * TRIED, or LOOPED if the one before was so recent that it was in a cache in any case. */
enum { KNOWN_RESULTS = 32, TRIED = -1, LOOPED = -2 };
typedef struct {
    struct {
        _Atomic uintptr_t at;
        _Atomic int64_t when;
        _Atomic int left;
    } known[KNOWN_RESULTS];
    atomic_uint next;
} Results;

/* Whether to store a result past the caches because it is in none; it is called once for each result. Several threads may call it
 * at once. `early`: whether a result that was not seen before may be stored so, too. */
int past_cold(Results *results, const uint8_t *result, int64_t bytes, int early);
/* Whether a source is in no cache. */
int read_cold(const uint8_t *source, int64_t bytes);
/* Whether a result that is stored through the caches is in none, by one load. */
int write_cold(const uint8_t *result, int64_t bytes);
/* What a look into the caches finds: 1: the buffer is in one, 0: it is in none, -1: what this machine says. Return how many looks
 * there were since the last call. */
int set_cached(int answer);

#endif
