//go:build cuda

// Functions of the imitated driver for tests. Only gx_present may be called without it.

#ifndef GX_IMITATION_H
#define GX_IMITATION_H

#include <stddef.h>

int gx_present(void);
int gx_strict(void); // the process was started with a seed
void gx_seed(unsigned long long seed);
void gx_collect(int on);
size_t gx_reports(char *to, size_t n);
void gx_fail(const char *call, long nth, int code);
void gx_break(int code);
long gx_calls(const char *call);

int gx_decode(const char *text); // PTX that the interpreter knows

// gx_bare_wait waits for an event on a thread without a context and returns the driver's code.
int gx_bare_wait(void *event);

#endif
