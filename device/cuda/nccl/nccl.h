//go:build cuda

// NCCL, opened at run time. The prototypes are our own and hold for all versions 2.

#ifndef GX_NCCL_H
#define GX_NCCL_H

#include <stddef.h>

typedef struct {
	int (*GetVersion)(int *);
	const char *(*GetErrorString)(int);
	int (*CommInitAll)(void **, int, const int *);
	int (*GroupStart)(void);
	int (*GroupEnd)(void);
	int (*AllReduce)(const void *, void *, size_t, int, int, void *, void *);
	int (*Reduce)(const void *, void *, size_t, int, int, int, void *, void *);
	int (*Broadcast)(const void *, void *, size_t, int, int, void *, void *);
	const char *(*GetLastError)(void *); // from 2.13 on, else zero
} gcu_nccl;

// The part of one device in an operation.
typedef struct {
	const void *from;
	void *to, *comm, *stream;
} gcu_nccl_part;

// An operation of several devices. kind is a device.JointKind.
typedef struct {
	int kind, type, root, devices;
	size_t elements;
} gcu_nccl_joint;

int gcu_nccl_load(void *lib, gcu_nccl *f, const char **missing);
int gcu_nccl_version(gcu_nccl *f, int *version);
int gcu_nccl_open(gcu_nccl *f, int devices, const int *ids, void **comms);
// gcu_nccl_join puts the parts of all devices on their streams. If it returns an error, call is the
// name of the function that failed.
int gcu_nccl_join(gcu_nccl *f, const gcu_nccl_joint *j, const gcu_nccl_part *parts,
	const char **call);
const char *gcu_nccl_text(gcu_nccl *f, int code);
// gcu_nccl_last returns the library's message about the last error of this thread, "" if none.
const char *gcu_nccl_last(gcu_nccl *f);

#endif
