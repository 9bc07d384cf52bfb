// A box is the part of an endpoint that is in C: its sockets behind one lock, one descriptor to
// wait on, and the messages of the last receipt. A message on its way in or out costs one call.
#ifndef GOMX_ZMQ_BOX_H
#define GOMX_ZMQ_BOX_H

#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

enum {
	GX_SOCKETS = 1024, // per box
	GX_BURST = 64,     // messages per receipt
	GX_LOANS = 1024,   // payloads lent to ZeroMQ at once
	GX_HEADER = 96,    // bytes of a header
};

// gx_in is a received message. The frames belong to the box until the next receipt.
typedef struct {
	int32_t slot;    // of the socket
	int32_t garbage; // it has not the parts of a message
	uint32_t conn;   // at a router, the number of the connection
	int32_t split;   // the payload has a frame of its own, instead of following the header
	uint64_t size;   // of the payload
	uint8_t *payload; // divisible by 8
	const char *user; // the authenticated name at a router with keys, else null
	uint8_t header[GX_HEADER];
	zmq_msg_t first, second;
} gx_in;

// gx_receipt holds the messages and loans that one call received.
typedef struct {
	int32_t n;               // messages
	int32_t freed;           // loans given back
	gx_in in[GX_BURST];
	uint32_t loan[GX_LOANS]; // their numbers
} gx_receipt;

typedef struct gx_box gx_box;

// gx_out is a message to send.
typedef struct {
	int32_t slot;
	int32_t router;   // whether conn names the receiver
	uint32_t conn;
	int32_t loan;     // number of the loan that lends the payload, below 0 for a copy
	uint64_t size;    // of the payload; the header has GX_HEADER bytes
} gx_out;

// box.c
void gx_keep_pages(void);
gx_box *gx_box_new(void);
int gx_box_fd(gx_box *b);
void gx_arm(gx_box *b);
void gx_stop(gx_box *b);
int gx_add(gx_box *b, void *socket, int router, int authenticated);
void gx_remove(gx_box *b, int slot);

// out.c
int gx_send(gx_box *b, const gx_out *o, const void *head, const void *body);
int gx_unsent(gx_box *b);
int gx_collect(gx_box *b);

// in.c
int gx_receive(gx_box *b, int64_t wait);
gx_receipt *gx_last(gx_box *b);
zmq_msg_t *gx_keep(gx_in *in);
void gx_release(zmq_msg_t *m);
void gx_box_free(gx_box *b);

#endif
