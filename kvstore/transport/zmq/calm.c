#define _GNU_SOURCE // SCHED_BATCH
#include "inside.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

// A thread of ZeroMQ that is woken interrupts the running thread. Where several processes of a job
// share few processors that is most often another such thread, in the middle of sending to several
// peers, and the two keep interrupting each other. A calm thread, under SCHED_BATCH, waits for its
// turn instead: they finish in microseconds. But a thread that computes does not, and then waiting
// is too long: a thread that has waited becomes an ordinary one for some time, longer whenever it
// has soon been so again. Nobody's share of the processors changes.
enum {
	LOOK = 32,            // messages between two looks at the clock
	// Nanoseconds that a calm thread may wait for its turn, on average between two looks,
	PATIENCE = 200000,
	// And between so many in a row: one may be due to a short task of another process
	OFTEN = 2,
	SHORT = 2, LONG = 64, // seconds until it is calm again
};

static __thread struct {
	int known, io; // whether it is a thread of ZeroMQ that sends and receives
	int calm;
	int late; // how many looks in a row have found that it waits too long
	int left; // messages until the next look
	uint64_t waited, turns;
	time_t since, pause; // when calm or not began, and how long not lasts
} self;

// is_io recognizes threads of ZeroMQ by their names. Others also free messages.
static int is_io(void) {
	char name[16] = "";
	return prctl(PR_GET_NAME, name) == 0 && strstr(name, "/IO/") &&
		sched_getscheduler(0) == SCHED_OTHER;
}

// turns reads how long the thread has waited for a processor so far, and how often it got one.
static int turns(uint64_t *waited, uint64_t *n) {
	char text[96];
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t size = read(fd, text, sizeof text - 1);
	close(fd);
	if (size <= 0)
		return 0;
	text[size] = 0;
	return sscanf(text, "%*u %" SCNu64 " %" SCNu64, waited, n) == 2 && *n > 0; // all zero where nobody counts
}

static void become(int calm, time_t now) {
	struct sched_param p = {0};
	if (sched_setscheduler(0, calm ? SCHED_BATCH : SCHED_OTHER, &p) < 0)
		return;
	if (!calm)
		self.pause = now - self.since >= SHORT ? SHORT : self.pause < LONG ? 2 * self.pause : LONG;
	self.calm = calm;
	self.since = now;
}

// Every thread calls gx_calm after it has passed on a message.
void gx_calm(void) {
	if (!self.known) {
		self.known = 1;
		self.io = is_io();
		self.pause = SHORT / 2;
	}
	if (!self.io || self.left-- > 0)
		return;
	self.left = LOOK;
	uint64_t waited = 0, n = 0;
	struct timespec now;
	if (!turns(&waited, &n) || clock_gettime(CLOCK_MONOTONIC_COARSE, &now) < 0) {
		if (self.calm)
			become(0, self.since);
		return;
	}
	if (!self.calm) {
		if (!self.since || now.tv_sec - self.since >= self.pause)
			become(1, now.tv_sec);
	} else if (n == self.turns || (waited - self.waited) / (n - self.turns) <= PATIENCE)
		self.late = 0;
	else if (++self.late >= OFTEN) {
		self.late = 0;
		become(0, now.tv_sec);
	}
	self.waited = waited;
	self.turns = n;
}
