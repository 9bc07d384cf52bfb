#include "textflag.h"

// The lanes of a register of 512 bits are 4 blocks. Z16 to Z30 hold the 15 round keys in ctr.

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
GLOBL four<>(SB), RODATA|NOPTR, $16

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

// func ctr(keys *schedule, counter *block, dst, src *byte, n int)
TEXT ·ctr(SB), NOSPLIT, $0-40
	MOVQ keys+0(FP), AX
	MOVQ counter+8(FP), BX
	MOVQ dst+16(FP), DI
	MOVQ src+24(FP), SI
	MOVQ n+32(FP), CX
	VBROADCASTI32X4 0(AX), Z16
	VBROADCASTI32X4 16(AX), Z17
	VBROADCASTI32X4 32(AX), Z18
	VBROADCASTI32X4 48(AX), Z19
	VBROADCASTI32X4 64(AX), Z20
	VBROADCASTI32X4 80(AX), Z21
	VBROADCASTI32X4 96(AX), Z22
	VBROADCASTI32X4 112(AX), Z23
	VBROADCASTI32X4 128(AX), Z24
	VBROADCASTI32X4 144(AX), Z25
	VBROADCASTI32X4 160(AX), Z26
	VBROADCASTI32X4 176(AX), Z27
	VBROADCASTI32X4 192(AX), Z28
	VBROADCASTI32X4 208(AX), Z29
	VBROADCASTI32X4 224(AX), Z30
	VBROADCASTI32X4 swapLast<>(SB), Z5
	VBROADCASTI32X4 four<>(SB), Z6
	VBROADCASTI32X4 (BX), Z0
	VPADDD lanes<>(SB), Z0, Z0

blocks:
	VPSHUFB Z5, Z0, Z1
	VPADDD Z6, Z0, Z0
	VPSHUFB Z5, Z0, Z2
	VPADDD Z6, Z0, Z0
	VPSHUFB Z5, Z0, Z3
	VPADDD Z6, Z0, Z0
	VPSHUFB Z5, Z0, Z4
	VPADDD Z6, Z0, Z0
	VPXORQ Z16, Z1, Z1
	VPXORQ Z16, Z2, Z2
	VPXORQ Z16, Z3, Z3
	VPXORQ Z16, Z4, Z4
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
	VPXORQ 0(SI), Z1, Z1
	VPXORQ 64(SI), Z2, Z2
	VPXORQ 128(SI), Z3, Z3
	VPXORQ 192(SI), Z4, Z4
	VMOVDQU64 Z1, 0(DI)
	VMOVDQU64 Z2, 64(DI)
	VMOVDQU64 Z3, 128(DI)
	VMOVDQU64 Z4, 192(DI)
	ADDQ $256, SI
	ADDQ $256, DI
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
