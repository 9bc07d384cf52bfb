#include "go_asm.h"
#include "textflag.h"

// The lanes of a register of 512 bits are 4 blocks. Z16 to Z30 hold the 15 round keys in
// ctr512 and both512.

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

// KEYS loads the round keys from AX.
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

// func ctr512(keys *schedule, counter *block, dst, src *byte, n int)
TEXT ·ctr512(SB), NOSPLIT, $0-40
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
#define POWER(i) VBROADCASTI32X4 (64*i)(R9), Z14

// LOW and HIGH add multiples of the polynomial that make the lower two of the four quarters of each
// product zero, and leave the upper two in Z6.
#define LOW \
	VPCLMULQDQ $0x01, Z8, Z31, Z11 \
	VPSHUFD $0x4e, Z8, Z8 \
	VPTERNLOGQ $0x96, Z11, Z8, Z9

#define HIGH \
	VPCLMULQDQ $0x01, Z9, Z31, Z11 \
	VPSHUFD $0x4e, Z9, Z9 \
	VPXORQ Z11, Z10, Z6 \
	VPXORQ Z9, Z6, Z6

// SUM takes 16 blocks at R8 into the sum in X6: the lanes multiply by 16 powers at R9, one for each
// block, and are added.
#define SUM \
	BITS(192) \
	VMOVDQU64 192(R9), Z14 \
	FIRST \
	BITS(128) \
	VMOVDQU64 128(R9), Z14 \
	MORE \
	BITS(64) \
	VMOVDQU64 64(R9), Z14 \
	MORE \
	BITS(0) \
	VMOVDQU64 0(R9), Z14 \
	VPXORQ Z6, Z7, Z7 \
	MORE \
	LOW \
	HIGH \
	VEXTRACTI64X4 $1, Z6, Y9 \
	VPXOR Y9, Y6, Y6 \
	VEXTRACTI128 $1, Y6, X9 \
	VPXOR X9, X6, X6

// func ghash512(powers, sum, data *block)
TEXT ·ghash512(SB), NOSPLIT, $0-24
	MOVQ powers+0(FP), R9
	MOVQ sum+8(FP), DX
	MOVQ data+16(FP), R8
	VBROADCASTI32X4 swapAll<>(SB), Z15
	VBROADCASTI32X4 poly<>(SB), Z31
	VMOVDQU (DX), X6
	SUM
	VMOVDQU X6, (DX)
	VZEROUPPER
	RET

// func both512(a *aead, counter, sum *block, dst, src, hashed *byte, n int)
//
// Each lane sums every fourth block. Before the last 16 blocks all lanes multiply by the powers 16,
// 12, 8 and 4; then lane l multiplies by the powers 16-l, 12-l, 8-l and 4-l.
//
// The rounds of AES and the products take turns: alone each of them leaves units of the processor
// without work. The hashed text is read before the same place of dst is written.
TEXT ·both512(SB), NOSPLIT, $0-56
	MOVQ a+0(FP), AX
	LEAQ aead_powers(AX), R9
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

	SUM
	VMOVDQU X6, (DX)
	VZEROUPPER
	RET
