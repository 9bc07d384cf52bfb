// inside.h declares the contents of a box, and the functions that its parts use of each other. The
// parts are layers: calm.c, box.c, out.c and in.c, each of which uses those before it alone.
#ifndef GOMX_ZMQ_INSIDE_H
#define GOMX_ZMQ_INSIDE_H

#include "box.h"

#include <pthread.h>
#include <stdatomic.h>

// gx_loan is a payload that ZeroMQ reads until it says that it is done.
typedef struct gx_loan {
	struct gx_box *box;
	struct gx_loan *next; // in the list of those given back
	uint32_t number;
} gx_loan;

typedef struct {
	void *socket; // null: a free slot
	int fd;
	int router;
	int authenticated;
	int ready; // may have messages although its descriptor is quiet
} gx_slot;

struct gx_box {
	pthread_mutex_t mu; // guards the sockets and their slots
	int epoll, wake;
	// Readable when epoll has become so since gx_arm: for pollers that do not always listen
	int bell;
	int slots; // in use, holes included
	gx_slot slot[GX_SOCKETS];

	atomic_int waiting;      // the receiver sleeps, or is about to
	atomic_int stop;
	atomic_int refs;         // the owner and every unsent message: the last one frees the box
	atomic_int unsent;       // messages that ZeroMQ has not passed on yet
	atomic_int hurry;        // a socket was closed: its loans may be waited for
	_Atomic(gx_loan *) freed; // given back, not yet collected
	gx_loan loan[GX_LOANS];

	gx_receipt last;
};

enum { WAKE = -1 };

void gx_calm(void);        // calm.c
void gx_drop(gx_box *b);   // box.c
void gx_wake(gx_box *b);   // box.c

#endif
