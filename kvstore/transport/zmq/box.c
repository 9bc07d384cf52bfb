#include "inside.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

// gx_keep_pages keeps buffers of messages from being unmapped and faulted in again, which costs
// more than copying them. Messages of usual slices, up to 1 MiB, come from the heaps of threads.
// Larger blocks are mapped: in the heaps, aligned buffers of matrix products would leave gaps that
// add up to half of the memory of a worker. All threads share two heaps: in a heap of its own, each
// thread keeps the buffers and compiled kernels that it once had, some MB a thread.
void gx_keep_pages(void) {
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 5 << 18);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

static void close_all(gx_box *b) {
	int fds[] = {b->bell, b->epoll, b->wake};
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

// gx_drop gives up one reference to the box. The last one frees it.
void gx_drop(gx_box *b) {
	if (atomic_fetch_sub(&b->refs, 1) != 1)
		return;
	close_all(b);
	pthread_mutex_destroy(&b->mu);
	free(b);
}

static int watch(gx_box *b, int fd, int32_t what) {
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint32_t)what};
	return epoll_ctl(b->epoll, EPOLL_CTL_ADD, fd, &e);
}

// hang puts up the bell, silent.
static int hang(gx_box *b) {
	struct epoll_event e = {.events = EPOLLONESHOT};
	b->bell = epoll_create1(EPOLL_CLOEXEC);
	return b->bell < 0 ? -1 : epoll_ctl(b->bell, EPOLL_CTL_ADD, b->epoll, &e);
}

// gx_arm lets the bell ring once, at once if there is something already.
void gx_arm(gx_box *b) {
	struct epoll_event e;
	epoll_wait(b->bell, &e, 1, 0); // takes the last event
	e.events = EPOLLIN | EPOLLONESHOT;
	epoll_ctl(b->bell, EPOLL_CTL_MOD, b->epoll, &e);
}

gx_box *gx_box_new(void) {
	gx_box *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->epoll = epoll_create1(EPOLL_CLOEXEC);
	b->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&b->mu, NULL);
	atomic_store(&b->refs, 1);
	for (uint32_t i = 0; i < GX_LOANS; i++)
		b->loan[i] = (gx_loan){.box = b, .number = i};
	b->bell = -1;
	if (b->epoll < 0 || b->wake < 0 || watch(b, b->wake, WAKE) < 0 || hang(b) < 0) {
		int saved = errno;
		close_all(b);
		free(b);
		errno = saved;
		return NULL;
	}
	return b;
}

int gx_box_fd(gx_box *b) { return b->bell; }

static void wake(gx_box *b) {
	uint64_t one = 1;
	if (write(b->wake, &one, sizeof one) < 0)
		return; // the counter is full: it has been woken
}

// gx_wake wakes the receiver if it sleeps.
void gx_wake(gx_box *b) {
	if (atomic_load(&b->waiting))
		wake(b);
}

void gx_stop(gx_box *b) {
	atomic_store(&b->stop, 1);
	wake(b);
}

// gx_add takes a socket in and returns its slot, -1 with errno if it cannot.
int gx_add(gx_box *b, void *socket, int router, int authenticated) {
	int fd;
	size_t size = sizeof fd;
	if (zmq_getsockopt(socket, ZMQ_FD, &fd, &size) < 0)
		return -1;
	pthread_mutex_lock(&b->mu);
	int i = 0;
	while (i < b->slots && b->slot[i].socket)
		i++;
	if (i == GX_SOCKETS || watch(b, fd, i) < 0) {
		if (i == GX_SOCKETS)
			errno = EMFILE;
		pthread_mutex_unlock(&b->mu);
		return -1;
	}
	if (i == b->slots)
		b->slots++;
	b->slot[i] = (gx_slot){socket, fd, router, authenticated, 1};
	gx_wake(b);
	pthread_mutex_unlock(&b->mu);
	return i;
}

// gx_remove takes a socket out; afterwards the caller may destroy it.
void gx_remove(gx_box *b, int slot) {
	pthread_mutex_lock(&b->mu);
	epoll_ctl(b->epoll, EPOLL_CTL_DEL, b->slot[slot].fd, NULL);
	b->slot[slot] = (gx_slot){0};
	atomic_store(&b->hurry, 1);
	pthread_mutex_unlock(&b->mu);
}
