#include "inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void discard(gx_in *in) {
	zmq_msg_close(&in->first);
	zmq_msg_close(&in->second);
}

// discard_last gives the messages of the last receipt back to ZeroMQ.
static void discard_last(gx_box *b) {
	for (int i = 0; i < b->last.n; i++)
		discard(&b->last.in[i]);
	b->last.n = 0;
}

static int receive_frame(void *socket, zmq_msg_t *m) {
	int rc;
	zmq_msg_init(m);
	do
		rc = zmq_msg_recv(m, socket, ZMQ_DONTWAIT);
	while (rc < 0 && errno == EINTR);
	return rc;
}

// connection reads the name a router gave to a connection: a zero and four bytes. Peers that choose
// a name are refused.
static int connection(zmq_msg_t *id, uint32_t *conn) {
	const uint8_t *p = zmq_msg_data(id);
	if (zmq_msg_size(id) != 5 || p[0])
		return 0;
	*conn = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
	return 1;
}

// align moves a payload to an address that every element type can be read from, at most 7 bytes
// back into the header's bytes, which have been copied, or to a message of its own.
static int align(gx_in *in) {
	size_t off = (uintptr_t)in->payload & 7;
	if (!off || !in->size)
		return 1;
	uint8_t *to = in->payload - off;
	if (in->split) {
		zmq_msg_t m;
		if (zmq_msg_init_size(&m, in->size + 8) < 0)
			return 0;
		uint8_t *p = zmq_msg_data(&m);
		to = p + (-(uintptr_t)p & 7);
		memcpy(to, in->payload, in->size);
		zmq_msg_close(&in->second);
		in->second = m;
	} else
		memmove(to, in->payload, in->size);
	in->payload = to;
	return 1;
}

// sort_out finds header and payload in the frames of a message.
static int sort_out(gx_in *in) {
	size_t n = zmq_msg_size(&in->first);
	if (n < GX_HEADER || (in->split && n != GX_HEADER))
		return 0;
	uint8_t *p = zmq_msg_data(&in->first);
	memcpy(in->header, p, GX_HEADER);
	in->payload = in->split ? zmq_msg_data(&in->second) : p + GX_HEADER;
	in->size = in->split ? zmq_msg_size(&in->second) : n - GX_HEADER;
	return align(in);
}

// take receives one message: 1 if there was one. Messages arrive whole, so that later frames need
// not be waited for.
static int take(gx_slot *s, gx_in *in) {
	int good = 1, more = 1;
	zmq_msg_t extra;
	in->conn = 0;
	in->split = 0;
	in->user = NULL;
	zmq_msg_init(&in->first);
	zmq_msg_init(&in->second);
	if (s->router) {
		if (receive_frame(s->socket, &extra) < 0) {
			zmq_msg_close(&extra);
			return 0;
		}
		good = connection(&extra, &in->conn);
		more = zmq_msg_more(&extra);
		zmq_msg_close(&extra);
	}
	if (more) {
		if (receive_frame(s->socket, &in->first) < 0)
			return 0;
		more = zmq_msg_more(&in->first);
	}
	if (more) {
		in->split = 1;
		more = receive_frame(s->socket, &in->second) >= 0 && zmq_msg_more(&in->second);
	}
	while (more) {
		good = 0;
		more = receive_frame(s->socket, &extra) >= 0 && zmq_msg_more(&extra);
		zmq_msg_close(&extra);
	}
	in->garbage = !good || !sort_out(in);
	if (!in->garbage && s->authenticated)
		in->user = zmq_msg_gets(&in->first, "User-Id");
	return 1;
}

// take_burst receives one message from each ready socket, lower slots first. A socket stays ready
// until it has none: to find that out takes two system calls, which can wait until the messages
// have been handled and their answers sent.
static void take_burst(gx_box *b) {
	gx_receipt *r = &b->last;
	for (int i = 0; i < b->slots && r->n < GX_BURST; i++) {
		gx_slot *s = &b->slot[i];
		if (!s->socket || !s->ready)
			continue;
		gx_in *in = &r->in[r->n];
		in->slot = i;
		if (take(s, in))
			r->n++;
		else {
			discard(in);
			s->ready = 0;
		}
	}
}

// wait_for waits for at most so many nanoseconds, without end if they are below 0.
static int wait_for(gx_box *b, struct epoll_event *e, int n, int64_t ns) {
#ifdef SYS_epoll_pwait2
	if (ns > 0) {
		struct timespec t = {ns / 1000000000, ns % 1000000000};
		int rc = (int)syscall(SYS_epoll_pwait2, b->epoll, e, n, &t, NULL, 0);
		if (rc >= 0 || errno != ENOSYS)
			return rc;
	}
#endif
	return epoll_wait(b->epoll, e, n, ns < 0 ? -1 : (int)((ns + 999999) / 1000000));
}

// look marks the sockets whose descriptors are readable and reports whether anything was.
static int look(gx_box *b, int64_t ns) {
	struct epoll_event e[32];
	int n = wait_for(b, e, 32, ns);
	if (n <= 0)
		return n < 0 && errno == EINTR;
	pthread_mutex_lock(&b->mu);
	for (int i = 0; i < n; i++) {
		int32_t what = (int32_t)e[i].data.u64;
		uint64_t count;
		if (what != WAKE)
			b->slot[what].ready = 1;
		else if (read(b->wake, &count, sizeof count) < 0)
			continue; // someone else took it
	}
	pthread_mutex_unlock(&b->mu);
	return 1;
}

// gx_receive gives the messages of the last receipt back to ZeroMQ and makes a new one. It returns
// 1 once there are messages or loans, or the box is stopped, and 0 when there was nothing for so
// many nanoseconds; below 0 it waits without end.
int gx_receive(gx_box *b, int64_t wait) {
	discard_last(b);
	b->last.freed = 0;
	for (;;) {
		atomic_store(&b->waiting, 0);
		pthread_mutex_lock(&b->mu);
		take_burst(b);
		atomic_store(&b->waiting, 1);
		pthread_mutex_unlock(&b->mu);
		if (b->last.n || atomic_load(&b->freed) || atomic_load(&b->stop)) {
			atomic_store(&b->waiting, 0);
			gx_collect(b);
			return 1;
		}
		if (!look(b, wait) && wait >= 0)
			return 0;
	}
}

// gx_box_free gives up the owner's reference, after all sockets were removed. It is part of the
// highest layer because the messages of the last receipt go back to ZeroMQ first.
void gx_box_free(gx_box *b) {
	discard_last(b);
	gx_drop(b);
}

gx_receipt *gx_last(gx_box *b) { return &b->last; }

// gx_keep moves the frame with the payload out of the receipt. A payload that was not lent to a
// frame of at least the size of a header would move with it: such are copied instead, see sort_out
// and Owner.
zmq_msg_t *gx_keep(gx_in *in) {
	zmq_msg_t *m = malloc(sizeof *m);
	if (!m)
		return NULL;
	zmq_msg_init(m);
	zmq_msg_move(m, in->split ? &in->second : &in->first);
	return m;
}

void gx_release(zmq_msg_t *m) {
	zmq_msg_close(m);
	free(m);
}
