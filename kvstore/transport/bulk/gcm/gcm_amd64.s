#include "go_asm.h"
#include "textflag.h"

// The lanes of a register of 512 bits are 4 blocks. Z16 to Z30 hold the 15 round keys in ctr and
// both.

DATA lanes<>+0x00(SB)/8, $0
DATA lanes<>+0x08(SB)/8, $0
DATA lanes<>+0x10(SB)/8, $0
DATA lanes<>+0x18(SB)/8, $0x0000000100000000
DATA lanes<>+0x20(SB)/8, $0
DATA lanes<>+0x28(SB)/8, $0x0000000200000000
DATA lanes<>+0x30(SB)/8, $0
DATA lanes<>+0x38(SB)/8, $0x0000000300000000
GLOBL lanes<>(SB), RODATA|NOPTR, $64

DATA four<>+0x00(SB)/8, $0
DATA four<>+0x08(SB)/8, $0x0000000400000000
DATA four<>+0x10(SB)/8, $0
DATA four<>+0x18(SB)/8, $0x0000000400000000
DATA four<>+0x20(SB)/8, $0
DATA four<>+0x28(SB)/8, $0x0000000400000000
DATA four<>+0x30(SB)/8, $0
DATA four<>+0x38(SB)/8, $0x0000000400000000
GLOBL four<>(SB), RODATA|NOPTR, $64

// swapLast reverses the last 4 bytes of a block, swapAll all 16.
DATA swapLast<>+0x00(SB)/8, $0x0706050403020100
DATA swapLast<>+0x08(SB)/8, $0x0c0d0e0f0b0a0908
GLOBL swapLast<>(SB), RODATA|NOPTR, $16

DATA swapAll<>+0x00(SB)/8, $0x08090a0b0c0d0e0f
DATA swapAll<>+0x08(SB)/8, $0x0001020304050607
GLOBL swapAll<>(SB), RODATA|NOPTR, $16

// The polynomial of GHASH with its bits reflected, without x^128.
DATA poly<>+0x00(SB)/8, $0x0000000000000001
DATA poly<>+0x08(SB)/8, $0xc200000000000000
GLOBL poly<>(SB), RODATA|NOPTR, $16

// func subWord(w uint32) uint32
TEXT ·subWord(SB), NOSPLIT, $0-12
	MOVL w+0(FP), AX
	SHLQ $32, AX
	MOVQ AX, X0
	AESKEYGENASSIST $0, X0, X1
	MOVQ X1, AX
	MOVL AX, ret+8(FP)
	RET

#define ROUND(key) \
	VAESENC key, Z1, Z1 \
	VAESENC key, Z2, Z2 \
	VAESENC key, Z3, Z3 \
	VAESENC key, Z4, Z4

#define LAST(key) \
	VAESENCLAST key, Z1, Z1 \
	VAESENCLAST key, Z2, Z2 \
	VAESENCLAST key, Z3, Z3 \
	VAESENCLAST key, Z4, Z4

#define KEYS \
	VBROADCASTI32X4 0(AX), Z16 \
	VBROADCASTI32X4 16(AX), Z17 \
	VBROADCASTI32X4 32(AX), Z18 \
	VBROADCASTI32X4 48(AX), Z19 \
	VBROADCASTI32X4 64(AX), Z20 \
	VBROADCASTI32X4 80(AX), Z21 \
	VBROADCASTI32X4 96(AX), Z22 \
	VBROADCASTI32X4 112(AX), Z23 \
	VBROADCASTI32X4 128(AX), Z24 \
	VBROADCASTI32X4 144(AX), Z25 \
	VBROADCASTI32X4 160(AX), Z26 \
	VBROADCASTI32X4 176(AX), Z27 \
	VBROADCASTI32X4 192(AX), Z28 \
	VBROADCASTI32X4 208(AX), Z29 \
	VBROADCASTI32X4 224(AX), Z30

// COUNT makes the next 16 counters from Z0, with Z5 = swapLast, and adds the first round key.
#define COUNT \
	VPSHUFB Z5, Z0, Z1 \
	VPADDD four<>(SB), Z0, Z0 \
	VPSHUFB Z5, Z0, Z2 \
	VPADDD four<>(SB), Z0, Z0 \
	VPSHUFB Z5, Z0, Z3 \
	VPADDD four<>(SB), Z0, Z0 \
	VPSHUFB Z5, Z0, Z4 \
	VPADDD four<>(SB), Z0, Z0 \
	VPXORQ Z16, Z1, Z1 \
	VPXORQ Z16, Z2, Z2 \
	VPXORQ Z16, Z3, Z3 \
	VPXORQ Z16, Z4, Z4

// STORE adds the text to 16 encrypted counters.
#define STORE \
	VPXORQ 0(SI), Z1, Z1 \
	VPXORQ 64(SI), Z2, Z2 \
	VPXORQ 128(SI), Z3, Z3 \
	VPXORQ 192(SI), Z4, Z4 \
	VMOVDQU64 Z1, 0(DI) \
	VMOVDQU64 Z2, 64(DI) \
	VMOVDQU64 Z3, 128(DI) \
	VMOVDQU64 Z4, 192(DI) \
	ADDQ $256, SI \
	ADDQ $256, DI

// func ctr(keys *schedule, counter *block, dst, src *byte, n int)
TEXT ·ctr(SB), NOSPLIT, $0-40
	MOVQ keys+0(FP), AX
	MOVQ counter+8(FP), BX
	MOVQ dst+16(FP), DI
	MOVQ src+24(FP), SI
	MOVQ n+32(FP), CX
	KEYS
	VBROADCASTI32X4 swapLast<>(SB), Z5
	VBROADCASTI32X4 (BX), Z0
	VPADDD lanes<>(SB), Z0, Z0

blocks:
	COUNT
	ROUND(Z17)
	ROUND(Z18)
	ROUND(Z19)
	ROUND(Z20)
	ROUND(Z21)
	ROUND(Z22)
	ROUND(Z23)
	ROUND(Z24)
	ROUND(Z25)
	ROUND(Z26)
	ROUND(Z27)
	ROUND(Z28)
	ROUND(Z29)
	LAST(Z30)
	STORE
	SUBQ $256, CX
	JNZ  blocks
	VZEROUPPER
	RET

// LOAD loads 16 blocks in the order of bits of GHASH, adds the sum to the first 4, and clears the
// products.
#define LOAD \
	VMOVDQU64 0(SI), Z1 \
	VMOVDQU64 64(SI), Z2 \
	VMOVDQU64 128(SI), Z3 \
	VMOVDQU64 192(SI), Z4 \
	VPSHUFB Z20, Z1, Z1 \
	VPSHUFB Z20, Z2, Z2 \
	VPSHUFB Z20, Z3, Z3 \
	VPSHUFB Z20, Z4, Z4 \
	VPXORQ Z0, Z1, Z1 \
	VPXORQ Z5, Z5, Z5 \
	VPXORQ Z6, Z6, Z6 \
	VPXORQ Z8, Z8, Z8

// MULTIPLY adds the products of 4 blocks with 4 powers: low halves to Z5, the two mixed products to
// Z6, high halves to Z8.
#define MULTIPLY(power, data) \
	VPCLMULQDQ $0x00, power, data, Z9 \
	VPCLMULQDQ $0x01, power, data, Z10 \
	VPCLMULQDQ $0x10, power, data, Z11 \
	VPCLMULQDQ $0x11, power, data, Z12 \
	VPXORQ Z9, Z5, Z5 \
	VPTERNLOGQ $0x96, Z10, Z11, Z6 \
	VPXORQ Z12, Z8, Z8

// REDUCE adds multiples of the polynomial that make the lower two of the four quarters of each
// product zero, and leaves the upper two in Z8.
#define REDUCE \
	VPCLMULQDQ $0x01, Z5, Z21, Z9 \
	VPSHUFD $0x4e, Z5, Z5 \
	VPTERNLOGQ $0x96, Z9, Z5, Z6 \
	VPCLMULQDQ $0x01, Z6, Z21, Z9 \
	VPSHUFD $0x4e, Z6, Z6 \
	VPTERNLOGQ $0x96, Z9, Z6, Z8

// func ghash(powers, sum *block, data *byte, n int)
//
// Each lane sums every fourth block. Before the last 16 blocks all lanes multiply by the powers 16,
// 12, 8 and 4; then lane l multiplies by the powers 16-l, 12-l, 8-l and 4-l, and the lanes are added.
TEXT ·ghash(SB), NOSPLIT, $0-32
	MOVQ powers+0(FP), AX
	MOVQ sum+8(FP), BX
	MOVQ data+16(FP), SI
	MOVQ n+24(FP), CX
	VBROADCASTI32X4 swapAll<>(SB), Z20
	VBROADCASTI32X4 poly<>(SB), Z21
	VMOVDQU (BX), X0
	CMPQ CX, $256
	JEQ  last
	VBROADCASTI32X4 0(AX), Z22
	VBROADCASTI32X4 64(AX), Z23
	VBROADCASTI32X4 128(AX), Z24
	VBROADCASTI32X4 192(AX), Z25

blocks:
	LOAD
	MULTIPLY(Z25, Z4)
	MULTIPLY(Z24, Z3)
	MULTIPLY(Z23, Z2)
	MULTIPLY(Z22, Z1)
	REDUCE
	VMOVDQA64 Z8, Z0
	ADDQ $256, SI
	SUBQ $256, CX
	CMPQ CX, $256
	JNE  blocks

last:
	VMOVDQU64 0(AX), Z16
	VMOVDQU64 64(AX), Z17
	VMOVDQU64 128(AX), Z18
	VMOVDQU64 192(AX), Z19
	LOAD
	MULTIPLY(Z19, Z4)
	MULTIPLY(Z18, Z3)
	MULTIPLY(Z17, Z2)
	MULTIPLY(Z16, Z1)
	REDUCE
	VEXTRACTI64X4 $1, Z8, Y9
	VPXOR Y9, Y8, Y8
	VEXTRACTI128 $1, Y8, X9
	VPXOR X9, X8, X0
	VMOVDQU X0, (BX)
	VZEROUPPER
	RET

// BITS loads 4 blocks of the text to be hashed in the order of bits of GHASH.
#define BITS(at) \
	VMOVDQU64 at(R8), Z7 \
	VPSHUFB Z15, Z7, Z7

// FIRST begins the products of Z7 and the powers in Z14: low halves in Z8, mixed products in Z9,
// high halves in Z10.
#define FIRST \
	VPCLMULQDQ $0x00, Z14, Z7, Z8 \
	VPCLMULQDQ $0x01, Z14, Z7, Z9 \
	VPCLMULQDQ $0x10, Z14, Z7, Z11 \
	VPCLMULQDQ $0x11, Z14, Z7, Z10 \
	VPXORQ Z11, Z9, Z9

// MORE adds the products of Z7 and the powers in Z14.
#define MORE \
	VPCLMULQDQ $0x00, Z14, Z7, Z11 \
	VPCLMULQDQ $0x01, Z14, Z7, Z12 \
	VPCLMULQDQ $0x10, Z14, Z7, Z13 \
	VPCLMULQDQ $0x11, Z14, Z7, Z14 \
	VPXORQ Z11, Z8, Z8 \
	VPTERNLOGQ $0x96, Z12, Z13, Z9 \
	VPXORQ Z14, Z10, Z10

// POWER loads a power into Z14.
#define POWER(i) VBROADCASTI32X4 (aead_powers+64*i)(AX), Z14

// LOW and HIGH reduce as REDUCE does, and leave the sum in Z6.
#define LOW \
	VPCLMULQDQ $0x01, Z8, Z31, Z11 \
	VPSHUFD $0x4e, Z8, Z8 \
	VPTERNLOGQ $0x96, Z11, Z8, Z9

#define HIGH \
	VPCLMULQDQ $0x01, Z9, Z31, Z11 \
	VPSHUFD $0x4e, Z9, Z9 \
	VPXORQ Z11, Z10, Z6 \
	VPXORQ Z9, Z6, Z6

// func both(a *aead, counter, sum *block, dst, src, hashed *byte, n int)
//
// The rounds of AES and the products take turns: alone each of them leaves units of the processor
// without work. The hashed text is read before the same place of dst is written.
TEXT ·both(SB), NOSPLIT, $0-56
	MOVQ a+0(FP), AX
	MOVQ counter+8(FP), BX
	MOVQ sum+16(FP), DX
	MOVQ dst+24(FP), DI
	MOVQ src+32(FP), SI
	MOVQ hashed+40(FP), R8
	MOVQ n+48(FP), CX
	KEYS
	VBROADCASTI32X4 swapLast<>(SB), Z5
	VBROADCASTI32X4 swapAll<>(SB), Z15
	VBROADCASTI32X4 poly<>(SB), Z31
	VBROADCASTI32X4 (BX), Z0
	VPADDD lanes<>(SB), Z0, Z0
	VMOVDQU (DX), X6

blocks:
	COUNT
	BITS(192)
	POWER(3)
	ROUND(Z17)
	FIRST
	ROUND(Z18)
	BITS(128)
	POWER(2)
	ROUND(Z19)
	MORE
	ROUND(Z20)
	ROUND(Z21)
	BITS(64)
	POWER(1)
	ROUND(Z22)
	MORE
	ROUND(Z23)
	ROUND(Z24)
	BITS(0)
	POWER(0)
	VPXORQ Z6, Z7, Z7
	ROUND(Z25)
	MORE
	ROUND(Z26)
	LOW
	ROUND(Z27)
	ROUND(Z28)
	HIGH
	ROUND(Z29)
	LAST(Z30)
	STORE
	ADDQ $256, R8
	SUBQ $256, CX
	JNZ  blocks

	BITS(192)
	VMOVDQU64 (aead_powers+192)(AX), Z14
	FIRST
	BITS(128)
	VMOVDQU64 (aead_powers+128)(AX), Z14
	MORE
	BITS(64)
	VMOVDQU64 (aead_powers+64)(AX), Z14
	MORE
	BITS(0)
	VMOVDQU64 aead_powers(AX), Z14
	VPXORQ Z6, Z7, Z7
	MORE
	LOW
	HIGH
	VEXTRACTI64X4 $1, Z6, Y9
	VPXOR Y9, Y6, Y6
	VEXTRACTI128 $1, Y6, X9
	VPXOR X9, X6, X6
	VMOVDQU X6, (DX)
	VZEROUPPER
	RET
