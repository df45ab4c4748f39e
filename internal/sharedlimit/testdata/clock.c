// Loaded into a program, this sets its wall clock off by the seconds that the file
// CLOCK_FILE holds as a binary int64, at any time.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static volatile const int64_t *offset;

__attribute__((constructor)) static void begin(void) {
	const char *name = getenv("CLOCK_FILE");
	int file = name ? open(name, O_RDONLY) : -1;
	if (file < 0)
		abort();
	offset = mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
	if (offset == MAP_FAILED)
		abort();
	close(file);
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
	int failed = syscall(SYS_gettimeofday, tv, tz);
	if (!failed && offset)
		tv->tv_sec += *offset;
	return failed;
}
