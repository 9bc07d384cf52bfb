#include "inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// gone notes that ZeroMQ is done with a message and returns how many are left.
static int gone(gx_box *b) {
	return atomic_fetch_sub(&b->unsent, 1) - 1;
}

static void going(gx_box *b) {
	atomic_fetch_add(&b->refs, 1);
	if (atomic_fetch_add(&b->unsent, 1) == 0)
		atomic_store(&b->hurry, 0);
}

// A thread of ZeroMQ calls loan_back when it is done with a payload. The receiver is woken for the
// last of several only: while some are on their way out there is nothing to hurry for, unless a
// socket was closed to have them back.
static void loan_back(void *data, void *hint) {
	(void)data;
	gx_loan *l = hint;
	gx_box *b = l->box;
	gx_loan *top = atomic_load(&b->freed);
	do
		l->next = top;
	while (!atomic_compare_exchange_weak(&b->freed, &top, l));
	if (gone(b) == 0 || atomic_load(&b->hurry))
		gx_wake(b);
	gx_drop(b);
	gx_calm();
}

static void copy_back(void *data, void *hint) {
	gx_box *b = hint;
	free(data);
	if (gone(b) == 0 && atomic_load(&b->freed))
		gx_wake(b);
	gx_drop(b);
	gx_calm();
}

// gx_unsent counts the messages that ZeroMQ has not passed on yet.
int gx_unsent(gx_box *b) { return atomic_load(&b->unsent); }

// gx_collect writes the numbers of loans that were given back to the receipt. They are at most
// GX_LOANS.
int gx_collect(gx_box *b) {
	int n = 0;
	for (gx_loan *l = atomic_exchange(&b->freed, NULL); l; l = l->next)
		b->last.loan[n++] = l->number;
	return b->last.freed = n;
}

static int send_frame(void *socket, zmq_msg_t *m, int flags) {
	int rc;
	do
		rc = zmq_msg_send(m, socket, flags | ZMQ_DONTWAIT);
	while (rc < 0 && errno == EINTR);
	if (rc < 0) {
		int saved = errno;
		zmq_msg_close(m);
		errno = saved;
	}
	return rc;
}

static int send_id(void *socket, uint32_t conn) {
	zmq_msg_t m;
	uint8_t id[5] = {0, conn >> 24, conn >> 16, conn >> 8, conn};
	zmq_msg_init_size(&m, sizeof id); // small enough to lie in m
	memcpy(zmq_msg_data(&m), id, sizeof id);
	return send_frame(socket, &m, ZMQ_SNDMORE);
}

// send_copy sends header and payload in one frame of our own memory, so that its release tells when
// it has left.
static int send_copy(gx_box *b, void *socket, const void *head, const void *body, size_t n) {
	zmq_msg_t m;
	char *p = malloc(GX_HEADER + n);
	if (!p)
		return -1;
	memcpy(p, head, GX_HEADER);
	if (n)
		memcpy(p + GX_HEADER, body, n);
	going(b);
	if (zmq_msg_init_data(&m, p, GX_HEADER + n, copy_back, b) < 0) {
		copy_back(p, b);
		return -1;
	}
	return send_frame(socket, &m, 0);
}

// send_loan sends the header and then the payload where it lies. Only the first frame can be
// refused; when the connection breaks after it the message is lost like any other on that
// connection, and the payload comes back.
static int send_loan(gx_box *b, const gx_out *o, void *socket, const void *head, const void *body) {
	zmq_msg_t m;
	if (zmq_msg_init_size(&m, GX_HEADER) < 0)
		return -1;
	memcpy(zmq_msg_data(&m), head, GX_HEADER);
	if (send_frame(socket, &m, ZMQ_SNDMORE) < 0 && !o->router)
		return -1;
	going(b);
	if (zmq_msg_init_data(&m, (void *)body, o->size, loan_back, &b->loan[o->loan]) < 0)
		loan_back(NULL, &b->loan[o->loan]);
	else
		send_frame(socket, &m, 0);
	return 0;
}

static int send_locked(gx_box *b, const gx_out *o, void *socket, const void *head,
	const void *body) {
	if (!socket)
		return ENOTSOCK;
	if (o->router && send_id(socket, o->conn) < 0)
		return errno;
	if (o->loan >= 0)
		return send_loan(b, o, socket, head, body) < 0 ? errno : 0;
	return send_copy(b, socket, head, body, o->size) < 0 && !o->router ? errno : 0;
}

// announce sees to it that the receiver hears of messages whose edge a send has swallowed. Unless
// it waits it looks at the sockets that are ready before it does; asking this one takes two system
// calls.
static void announce(gx_box *b, gx_slot *s) {
	int events;
	size_t size = sizeof events;
	if (!atomic_load(&b->waiting))
		s->ready = 1;
	else if (zmq_getsockopt(s->socket, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLIN)) {
		s->ready = 1;
		gx_wake(b);
	}
}

// gx_send sends and returns 0 or an errno.
int gx_send(gx_box *b, const gx_out *o, const void *head, const void *body) {
	pthread_mutex_lock(&b->mu);
	gx_slot *s = &b->slot[o->slot];
	int err = send_locked(b, o, s->socket, head, body);
	if (s->socket && !s->ready)
		announce(b, s);
	pthread_mutex_unlock(&b->mu);
	return err;
}
