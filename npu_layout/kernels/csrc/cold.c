/* The time that a load takes shows whether its line is in a cache. */
#include "cold.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/prctl.h>
#endif

static int64_t last_cache = 32 << 20;
void set_last_cache(int64_t bytes) { last_cache = bytes; }

static atomic_int whole_lines;
static _Atomic int64_t early;
void set_stores(int whole, int64_t bytes) {
    atomic_store_explicit(&whole_lines, whole, memory_order_relaxed);
    atomic_store_explicit(&early, bytes, memory_order_relaxed);
}
int stores_whole_lines(void) { return atomic_load_explicit(&whole_lines, memory_order_relaxed); }
int past_early(int64_t touched, int threads) {
    const int64_t least = atomic_load_explicit(&early, memory_order_relaxed);
    return least && touched / (threads > 1 ? threads : 1) >= least;
}

static atomic_int cached = -1, looks;
int set_cached(int answer) {
    atomic_store_explicit(&cached, answer, memory_order_relaxed);
    return atomic_exchange_explicit(&looks, 0, memory_order_relaxed);
}

#if defined(__x86_64__) /* elsewhere there are no stores past the caches, and preparing for them would be useless */

/* Measured with 32 MB: half of the last cache for one thread, which stores as fast past it as to it; three quarters for
 * threads that share it, because memory is no faster for four threads than for one, but the cache is. */
int past_caches(int64_t touched, int shared) { return touched >= last_cache / 4 * (shared ? 3 : 2); }

static int64_t now(void) {
    __builtin_ia32_lfence();
    const int64_t ticks = (int64_t)__builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return ticks;
}

static int64_t load_time(const uint8_t *p) {
    const int64_t start = now();
    (void)*(const volatile uint8_t *)p;
    return now() - start;
}

/* Whether this process may read the clock: a sandbox can have it killed for that. */
static int may_read_clock(void) {
#if defined(__linux__)
    int mode = 0;
    return !prctl(PR_GET_TSC, &mode, 0, 0, 0) && mode == PR_TSC_ENABLE;
#else
    return 1;
#endif
}

/* The times of a load from L1, the shortest of some, and of one from memory, their lower quartile; far is 0 if this clock does not
 * distinguish them, or is forbidden. On several pages: one of 50 lies in memory that takes twice as long, of another processor
 * of the machine, say. */
typedef struct {
    uint32_t near, far;
} Times;
static Times measured(void) {
    enum { TRIALS = 16, PAGES = 4, PAGE = 4096, APART = 256 };
    uint8_t pages[PAGES * PAGE] = {0}; /* of this thread: another one may measure at the same time */
    int64_t near = UINT32_MAX, misses[TRIALS];
    if (!may_read_clock()) return (Times){1, 0};
    for (int i = 0; i < TRIALS; ++i) {
        uint8_t *line = pages + i % PAGES * PAGE + i / PAGES * APART;
        load_time(line);
        const int64_t hit = load_time(line);
        __builtin_ia32_clflush(line);
        __builtin_ia32_mfence();
        const int64_t miss = load_time(line);
        near = hit < near ? hit : near;
        int at = i;
        for (; at && misses[at - 1] > miss; --at) misses[at] = misses[at - 1];
        misses[at] = miss;
    }
    const int64_t far = misses[TRIALS / 4];
    if (near < 1 || far < 2 * near || far > UINT32_MAX) return (Times){1, 0};
    return (Times){(uint32_t)near, (uint32_t)far};
}

/* What was measured first, by whichever thread: both times in one atomic, so that they belong together. */
static Times times(void) {
    static _Atomic uint64_t known;
    uint64_t both = atomic_load_explicit(&known, memory_order_relaxed);
    if (!both) {
        const Times t = measured();
        const uint64_t mine = (uint64_t)t.near << 32 | t.far;
        if (atomic_compare_exchange_strong_explicit(&known, &both, mine, memory_order_relaxed, memory_order_relaxed)) both = mine;
    }
    return (Times){(uint32_t)(both >> 32), (uint32_t)both};
}

/* The time of a load of `p` while its page is in the TLB: a walk of page tables takes longer than the load, in a virtual machine
 * four times as long as one from memory. A line of the same page is loaded first, so far away that it fetches no other. */
static int64_t line_time(const uint8_t *buffer, int64_t bytes, const uint8_t *p) {
    enum { AWAY = 2048 };
    const int64_t other = (int64_t)((uintptr_t)p ^ AWAY) - (int64_t)(uintptr_t)buffer;
    if (other >= 0 && other < bytes) load_time(buffer + other);
    return load_time(p);
}

/* A load from the last cache takes half of the time of one from memory, or less. One line that is in a cache is enough, so that
 * a buffer that is in one costs one load, and one that is in none `lines` of them. */
static int in_no_cache(const uint8_t *buffer, int64_t bytes, int lines) {
    const int answer = atomic_load_explicit(&cached, memory_order_relaxed);
    atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
    if (answer >= 0) return !answer;
    const Times t = times();
    const int64_t least = ((int64_t)t.near + 2 * (int64_t)t.far) / 3;
    int away = t.far != 0;
    for (int i = 1; away && i <= lines; ++i) away = line_time(buffer, bytes, buffer + bytes / (lines + 1) * i) >= least;
    return away;
}

/* Whether the last cache may have been filled since: with MOVED bytes during a load from memory, which is what one thread does. */
static int long_since(int64_t ticks) {
    enum { MOVED = 4096 };
    if (atomic_load_explicit(&cached, memory_order_relaxed) >= 0) return 1;
    const Times t = times();
    return (uint64_t)ticks >= (uint64_t)(last_cache / MOVED * ((int64_t)t.far - t.near));
}

/* Results are stored through the caches first. After MANY + 1 times past them, one is stored through them again, to see whether it
 * stays there: what is stored past them is in none when the same memory comes again. */
static int next_past(int *left, int recent, const uint8_t *result, int64_t bytes) {
    enum { MANY = 32 };
    if (recent || *left == LOOPED || !*left) {
        *left = recent ? LOOPED : TRIED;
        return 0;
    }
    const int past = in_no_cache(result, bytes, 2);
    *left = !past ? TRIED : *left == TRIED ? MANY : *left - 1;
    return past;
}

int read_cold(const uint8_t *source, int64_t bytes) {
    enum { LEAST = 1 << 16 };
    return bytes >= LEAST && in_no_cache(source, bytes, 2);
}

int write_cold(const uint8_t *result, int64_t bytes) { return in_no_cache(result, bytes, 1); }

int past_cold(Results *results, const uint8_t *result, int64_t bytes, int early) {
    enum { LEAST = 1 << 18 };
    const int asks = atomic_load_explicit(&cached, memory_order_relaxed) < 0;
    if (bytes < LEAST || (asks && !times().far)) return 0;
    const uintptr_t at = (uintptr_t)result;
    const int64_t when = asks ? now() : 0;
    int i = 0, left = TRIED, past = 0;
    while (i < KNOWN_RESULTS && atomic_load_explicit(&results->known[i].at, memory_order_relaxed) != at) ++i;
    if (i < KNOWN_RESULTS) {
        const int recent = !long_since(when - atomic_load_explicit(&results->known[i].when, memory_order_relaxed));
        left = atomic_load_explicit(&results->known[i].left, memory_order_relaxed);
        past = next_past(&left, recent, result, bytes);
    } else {
        past = early && in_no_cache(result, bytes, 2);
        i = (int)(atomic_fetch_add_explicit(&results->next, 1, memory_order_relaxed) % KNOWN_RESULTS);
        atomic_store_explicit(&results->known[i].at, at, memory_order_relaxed);
    }
    atomic_store_explicit(&results->known[i].when, when, memory_order_relaxed);
    atomic_store_explicit(&results->known[i].left, left, memory_order_relaxed);
    return past;
}

#else

int past_caches(int64_t touched, int shared) {
    (void)touched, (void)shared, (void)last_cache;
    return 0;
}
int read_cold(const uint8_t *source, int64_t bytes) {
    (void)source, (void)bytes, (void)cached;
    return 0;
}
int write_cold(const uint8_t *result, int64_t bytes) {
    (void)result, (void)bytes;
    return 0;
}
int past_cold(Results *results, const uint8_t *result, int64_t bytes, int early) {
    (void)results, (void)result, (void)bytes, (void)early;
    return 0;
}

#endif
