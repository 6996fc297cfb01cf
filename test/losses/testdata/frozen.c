/* Preloaded into a process, this lets its monotonic clock stand still while it is stopped, as the clock of a machine does that is suspended or migrated. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define SECOND 1000000000LL

static _Atomic long long last, offset; /* the clock when it was last read, and by how much it is slow */

typedef int (*reader)(clockid_t, struct timespec *);
typedef int (*waiter)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static reader read_clock;
static waiter wait_until;

__attribute__((constructor)) static void find(void) {
	read_clock = (reader)dlsym(RTLD_NEXT, "clock_gettime");
	wait_until = (waiter)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
}

/* A virtual machine reads the clock many times a second, on a busy machine at least every few: it did not for five, so it was stopped. */
static long long slow(long long now) {
	long long before = atomic_exchange(&last, now);
	if (before != 0 && now - before > 5 * SECOND)
		atomic_fetch_add(&offset, now - before);
	return atomic_load(&offset);
}

int clock_gettime(clockid_t id, struct timespec *t) {
	if (!read_clock)
		find();
	int failed = read_clock(id, t);
	if (failed || id != CLOCK_MONOTONIC)
		return failed;
	long long now = t->tv_sec * SECOND + t->tv_nsec;
	now -= slow(now);
	t->tv_sec = now / SECOND;
	t->tv_nsec = now % SECOND;
	return 0;
}

/* Who waits by the monotonic clock has read it here. Moments of the other clock are far larger. */
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t) {
	struct timespec until = *t;
	if (!wait_until)
		find();
	if (t->tv_sec < 1000000000) {
		long long at = t->tv_sec * SECOND + t->tv_nsec + atomic_load(&offset);
		until.tv_sec = at / SECOND;
		until.tv_nsec = at % SECOND;
	}
	return wait_until(c, m, &until);
}
