//go:build nodnn

#include "int8.h"

#include "plainprog.h"

int gx_int8_program(gx_prog **p, const gx_int8 *c, int threads) {
	*p = 0;
	return GX_NOT_IMPLEMENTED;
}

int gx_int8_pack(gx_prog **p, const gx_int8 *c, const gx_prog *layer, int threads) {
	*p = 0;
	return GX_NOT_IMPLEMENTED;
}
