// Fixed loops that tell how fast a processor's units run at the moment.
#ifndef GX_RATE_H
#define GX_RATE_H

// gx_rate_fma computes fixed numbers of fused multiply-adds of float32 in registers, and returns
// the operations of all threads.
double gx_rate_fma(int threads);

// gx_rate_amx does the same with products of tiles of bfloat16. It returns 0 where the processor
// has no such unit or the system does not allow its use.
double gx_rate_amx(int threads);

#endif
