// An engine that costs next to nothing, or exactly what it is told to: it answers
// every line with its id and the same text.
//
//   engine [-core N] [-sleep US | -busy US | -work US] REPLY
//
// REPLY is a file with what comes after {"id":17, in a reply. Times are microseconds.
// Busy ends by the clock on the wall, so that who takes the processor away does not
// make the engine slower; work ends when so much processor time is used, as real work
// does.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { most = 1 << 20 };
static char in[2 * most], reply[most], out[most + 64];

static void die(const char *what) {
	perror(what);
	exit(1);
}

static long long now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pin(int core) {
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		die("sched_setaffinity");
}

static void spin(clockid_t clock, long us) {
	for (long long end = now(clock) + us * 1000LL; us > 0 && now(clock) < end;)
		;
}

static void think(long sleep_us, long busy_us, long work_us) {
	if (sleep_us > 0) {
		struct timespec t = {sleep_us / 1000000, sleep_us % 1000000 * 1000};
		nanosleep(&t, NULL);
	}
	spin(CLOCK_MONOTONIC, busy_us);
	spin(CLOCK_PROCESS_CPUTIME_ID, work_us);
}

static void put(const char *bytes, size_t n) {
	while (n > 0) {
		ssize_t wrote = write(1, bytes, n);
		if (wrote <= 0)
			exit(1);
		bytes += wrote;
		n -= wrote;
	}
}

int main(int argc, char **argv) {
	long sleep_us = 0, busy_us = 0, work_us = 0;
	int at = 1;
	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		if (strcmp(argv[at], "-core") == 0)
			pin(atoi(argv[at + 1]));
		else if (strcmp(argv[at], "-sleep") == 0)
			sleep_us = atol(argv[at + 1]);
		else if (strcmp(argv[at], "-busy") == 0)
			busy_us = atol(argv[at + 1]);
		else if (strcmp(argv[at], "-work") == 0)
			work_us = atol(argv[at + 1]);
	}
	FILE *f = at < argc ? fopen(argv[at], "r") : NULL;
	if (f == NULL)
		die("the reply's file");
	size_t length = fread(reply, 1, sizeof reply, f);
	fclose(f);
	prctl(PR_SET_TIMERSLACK, 1); // nanoseconds; otherwise sleeps are 50 µs too long

	size_t have = 0;
	for (;;) {
		ssize_t got = read(0, in + have, sizeof in - have);
		if (got <= 0)
			return 0;
		have += got;
		char *line = in, *end;
		while ((end = memchr(line, '\n', in + have - line)) != NULL) {
			unsigned long long id = strtoull(line + strlen("{\"id\":"), NULL, 10);
			think(sleep_us, busy_us, work_us);
			int head = sprintf(out, "{\"id\":%llu,", id);
			memcpy(out + head, reply, length);
			put(out, head + length);
			line = end + 1;
		}
		have -= line - in;
		memmove(in, line, have);
	}
}
