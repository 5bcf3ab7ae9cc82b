// Preloaded (LD_PRELOAD) by a process whose machine's clock shall be wrong: the time of day is ahead by the milliseconds (a 64-bit integer) in the file
// CLOCK_AHEAD_FILE, also when they change. OpenSSL sees it too. The monotonic clock and the timers are not touched, as when a person sets the clock of a machine.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t none = 0;
static const volatile int64_t *aheadMs = &none;
static int (*machineTime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
  machineTime = dlsym(RTLD_NEXT, "clock_gettime");
  const char *file = getenv("CLOCK_AHEAD_FILE");
  int opened = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
  if (opened < 0) return;
  void *mapped = mmap(0, sizeof none, PROT_READ, MAP_SHARED, opened, 0);
  if (mapped != MAP_FAILED) aheadMs = mapped;
  close(opened);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!machineTime) machineTime = dlsym(RTLD_NEXT, "clock_gettime");
  int failed = machineTime(clock, time);
  if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
  int64_t ms = *aheadMs, ns = time->tv_nsec + ms % 1000 * 1000000;
  int64_t carry = ns < 0 ? -1 : ns / 1000000000;
  time->tv_sec += ms / 1000 + carry;
  time->tv_nsec = ns - carry * 1000000000;
  return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
  (void)zone;
  struct timespec now;
  int failed = clock_gettime(CLOCK_REALTIME, &now);
  if (!failed) *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return failed;
}

time_t time(time_t *seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds) *seconds = now.tv_sec;
  return now.tv_sec;
}
