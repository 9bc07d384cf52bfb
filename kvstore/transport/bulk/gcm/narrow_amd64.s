#include "go_asm.h"
#include "textflag.h"

// The form for registers of 256 bits, whose lanes are 2 blocks. The processor has the instructions
// for wide registers without AVX-512.

DATA pair<>+0x00(SB)/8, $0
DATA pair<>+0x08(SB)/8, $0
DATA pair<>+0x10(SB)/8, $0
DATA pair<>+0x18(SB)/8, $0x0000000100000000
GLOBL pair<>(SB), RODATA|NOPTR, $32

DATA two<>+0x00(SB)/8, $0
DATA two<>+0x08(SB)/8, $0x0000000200000000
DATA two<>+0x10(SB)/8, $0
DATA two<>+0x18(SB)/8, $0x0000000200000000
GLOBL two<>(SB), RODATA|NOPTR, $32

DATA swapLastPair<>+0x00(SB)/8, $0x0706050403020100
DATA swapLastPair<>+0x08(SB)/8, $0x0c0d0e0f0b0a0908
DATA swapLastPair<>+0x10(SB)/8, $0x0706050403020100
DATA swapLastPair<>+0x18(SB)/8, $0x0c0d0e0f0b0a0908
GLOBL swapLastPair<>(SB), RODATA|NOPTR, $32

DATA swapAllPair<>+0x00(SB)/8, $0x08090a0b0c0d0e0f
DATA swapAllPair<>+0x08(SB)/8, $0x0001020304050607
DATA swapAllPair<>+0x10(SB)/8, $0x08090a0b0c0d0e0f
DATA swapAllPair<>+0x18(SB)/8, $0x0001020304050607
GLOBL swapAllPair<>(SB), RODATA|NOPTR, $32

DATA polyPair<>+0x00(SB)/8, $0x0000000000000001
DATA polyPair<>+0x08(SB)/8, $0xc200000000000000
DATA polyPair<>+0x10(SB)/8, $0x0000000000000001
DATA polyPair<>+0x18(SB)/8, $0xc200000000000000
GLOBL polyPair<>(SB), RODATA|NOPTR, $32

// func features() (ecx uint32)
TEXT ·features(SB), NOSPLIT, $0-4
	MOVL $7, AX
	XORL CX, CX
	CPUID
	MOVL CX, ecx+0(FP)
	RET

// KEY loads a round key from AX into Y15.
#define KEY(i) \
	VBROADCASTI128 (16*i)(AX), Y15

// ROUND is a round of AES of 16 blocks in Y0 to Y7.
#define ROUND(i) \
	KEY(i) \
	VAESENC Y15, Y0, Y0 \
	VAESENC Y15, Y1, Y1 \
	VAESENC Y15, Y2, Y2 \
	VAESENC Y15, Y3, Y3 \
	VAESENC Y15, Y4, Y4 \
	VAESENC Y15, Y5, Y5 \
	VAESENC Y15, Y6, Y6 \
	VAESENC Y15, Y7, Y7

#define LAST \
	KEY(14) \
	VAESENCLAST Y15, Y0, Y0 \
	VAESENCLAST Y15, Y1, Y1 \
	VAESENCLAST Y15, Y2, Y2 \
	VAESENCLAST Y15, Y3, Y3 \
	VAESENCLAST Y15, Y4, Y4 \
	VAESENCLAST Y15, Y5, Y5 \
	VAESENCLAST Y15, Y6, Y6 \
	VAESENCLAST Y15, Y7, Y7

// COUNT makes the next 16 counters from Y14 and adds the first round key.
#define COUNT \
	KEY(0) \
	VPSHUFB swapLastPair<>(SB), Y14, Y0 \
	VPADDD two<>(SB), Y14, Y14 \
	VPSHUFB swapLastPair<>(SB), Y14, Y1 \
	VPADDD two<>(SB), Y14, Y14 \
	VPSHUFB swapLastPair<>(SB), Y14, Y2 \
	VPADDD two<>(SB), Y14, Y14 \
	VPSHUFB swapLastPair<>(SB), Y14, Y3 \
	VPADDD two<>(SB), Y14, Y14 \
	VPSHUFB swapLastPair<>(SB), Y14, Y4 \
	VPADDD two<>(SB), Y14, Y14 \
	VPSHUFB swapLastPair<>(SB), Y14, Y5 \
	VPADDD two<>(SB), Y14, Y14 \
	VPSHUFB swapLastPair<>(SB), Y14, Y6 \
	VPADDD two<>(SB), Y14, Y14 \
	VPSHUFB swapLastPair<>(SB), Y14, Y7 \
	VPADDD two<>(SB), Y14, Y14 \
	VPXOR Y15, Y0, Y0 \
	VPXOR Y15, Y1, Y1 \
	VPXOR Y15, Y2, Y2 \
	VPXOR Y15, Y3, Y3 \
	VPXOR Y15, Y4, Y4 \
	VPXOR Y15, Y5, Y5 \
	VPXOR Y15, Y6, Y6 \
	VPXOR Y15, Y7, Y7

// STORE adds the text to 16 encrypted counters.
#define STORE \
	VPXOR 0(SI), Y0, Y0 \
	VPXOR 32(SI), Y1, Y1 \
	VPXOR 64(SI), Y2, Y2 \
	VPXOR 96(SI), Y3, Y3 \
	VPXOR 128(SI), Y4, Y4 \
	VPXOR 160(SI), Y5, Y5 \
	VPXOR 192(SI), Y6, Y6 \
	VPXOR 224(SI), Y7, Y7 \
	VMOVDQU Y0, 0(DI) \
	VMOVDQU Y1, 32(DI) \
	VMOVDQU Y2, 64(DI) \
	VMOVDQU Y3, 96(DI) \
	VMOVDQU Y4, 128(DI) \
	VMOVDQU Y5, 160(DI) \
	VMOVDQU Y6, 192(DI) \
	VMOVDQU Y7, 224(DI) \
	ADDQ $256, SI \
	ADDQ $256, DI

// func ctr256(keys *schedule, counter *block, dst, src *byte, n int)
TEXT ·ctr256(SB), NOSPLIT, $0-40
	MOVQ keys+0(FP), AX
	MOVQ counter+8(FP), BX
	MOVQ dst+16(FP), DI
	MOVQ src+24(FP), SI
	MOVQ n+32(FP), CX
	VBROADCASTI128 (BX), Y14
	VPADDD pair<>(SB), Y14, Y14

blocks:
	COUNT
	ROUND(1)
	ROUND(2)
	ROUND(3)
	ROUND(4)
	ROUND(5)
	ROUND(6)
	ROUND(7)
	ROUND(8)
	ROUND(9)
	ROUND(10)
	ROUND(11)
	ROUND(12)
	ROUND(13)
	LAST
	STORE
	SUBQ $256, CX
	JNZ  blocks
	VZEROUPPER
	RET

// BITS loads 2 blocks of the text to be hashed into Y11, in the order of bits of GHASH.
#define BITS(i) \
	VMOVDQU (32*i)(R8), Y11 \
	VPSHUFB swapAllPair<>(SB), Y11, Y11

// FIRST adds the sum in Y8 to Y11 and begins the products of Y11 and the powers in Y13: low halves
// in Y8, high halves in Y10, and in Y9 the products of the added halves, which mixed loads into Y13
// for the powers (Karatsuba's method: three products take less time than four).
#define FIRST(mixed) \
	VPXOR Y8, Y11, Y11 \
	VPSHUFD $0x4e, Y11, Y12 \
	VPXOR Y11, Y12, Y12 \
	VPCLMULQDQ $0x00, Y13, Y11, Y8 \
	VPCLMULQDQ $0x11, Y13, Y11, Y10 \
	mixed \
	VPCLMULQDQ $0x00, Y13, Y12, Y9

// MORE adds the products of Y11 and the powers in Y13.
#define MORE(mixed) \
	VPSHUFD $0x4e, Y11, Y12 \
	VPXOR Y11, Y12, Y12 \
	VPCLMULQDQ $0x00, Y13, Y11, Y15 \
	VPXOR Y15, Y8, Y8 \
	VPCLMULQDQ $0x11, Y13, Y11, Y11 \
	VPXOR Y11, Y10, Y10 \
	mixed \
	VPCLMULQDQ $0x00, Y13, Y12, Y12 \
	VPXOR Y12, Y9, Y9

// POWER loads a power for both lanes, POWERS one for each. MIXED and MIXEDS load their added
// halves, which lie 31 blocks behind the powers.
#define POWER(i) \
	VBROADCASTI128 (32*i)(R9), Y13
#define POWERS(i) \
	VMOVDQU (32*i)(R9), Y13
#define MIXED(i) \
	VBROADCASTI128 (31*16+32*i)(R9), Y13
#define MIXEDS(i) \
	VMOVDQU (31*16+32*i)(R9), Y13

// REDUCE makes the mixed products in Y9 from those of the added halves, adds multiples of the
// polynomial that make the lower two of the four quarters of each product zero, and leaves the upper
// two in Y8.
#define REDUCE \
	VPXOR Y8, Y9, Y9 \
	VPXOR Y10, Y9, Y9 \
	VMOVDQU polyPair<>(SB), Y12 \
	VPCLMULQDQ $0x01, Y8, Y12, Y11 \
	VPSHUFD $0x4e, Y8, Y8 \
	VPXOR Y11, Y9, Y9 \
	VPXOR Y8, Y9, Y9 \
	VPCLMULQDQ $0x01, Y9, Y12, Y11 \
	VPSHUFD $0x4e, Y9, Y9 \
	VPXOR Y11, Y10, Y8 \
	VPXOR Y9, Y8, Y8

// SUM takes 16 blocks at R8 into the sum in Y8, whose lanes it adds: the lanes multiply by 16
// powers at R9, one for each block.
#define SUM \
	BITS(0) \
	POWERS(0) \
	FIRST(MIXEDS(0)) \
	BITS(1) \
	POWERS(1) \
	MORE(MIXEDS(1)) \
	BITS(2) \
	POWERS(2) \
	MORE(MIXEDS(2)) \
	BITS(3) \
	POWERS(3) \
	MORE(MIXEDS(3)) \
	BITS(4) \
	POWERS(4) \
	MORE(MIXEDS(4)) \
	BITS(5) \
	POWERS(5) \
	MORE(MIXEDS(5)) \
	BITS(6) \
	POWERS(6) \
	MORE(MIXEDS(6)) \
	BITS(7) \
	POWERS(7) \
	MORE(MIXEDS(7)) \
	REDUCE \
	VEXTRACTI128 $1, Y8, X9 \
	VPXOR X9, X8, X8

// func ghash256(powers, sum, data *block)
TEXT ·ghash256(SB), NOSPLIT, $0-24
	MOVQ powers+0(FP), R9
	MOVQ sum+8(FP), DX
	MOVQ data+16(FP), R8
	VMOVDQU (DX), X8
	SUM
	VMOVDQU X8, (DX)
	VZEROUPPER
	RET

// func both256(a *aead, counter, sum *block, dst, src, hashed *byte, n int)
//
// Each lane sums every second block. Before the last 16 blocks both lanes multiply by the powers
// 16, 14 and so on down to 2; see both512.
TEXT ·both256(SB), NOSPLIT, $0-56
	MOVQ a+0(FP), AX
	LEAQ aead_powers(AX), R9
	MOVQ counter+8(FP), BX
	MOVQ sum+16(FP), DX
	MOVQ dst+24(FP), DI
	MOVQ src+32(FP), SI
	MOVQ hashed+40(FP), R8
	MOVQ n+48(FP), CX
	VBROADCASTI128 (BX), Y14
	VPADDD pair<>(SB), Y14, Y14
	VMOVDQU (DX), X8

blocks:
	COUNT
	ROUND(1)
	BITS(0)
	POWER(0)
	FIRST(MIXED(0))
	ROUND(2)
	BITS(1)
	POWER(1)
	MORE(MIXED(1))
	ROUND(3)
	BITS(2)
	POWER(2)
	MORE(MIXED(2))
	ROUND(4)
	BITS(3)
	POWER(3)
	MORE(MIXED(3))
	ROUND(5)
	BITS(4)
	POWER(4)
	MORE(MIXED(4))
	ROUND(6)
	BITS(5)
	POWER(5)
	MORE(MIXED(5))
	ROUND(7)
	BITS(6)
	POWER(6)
	MORE(MIXED(6))
	ROUND(8)
	BITS(7)
	POWER(7)
	MORE(MIXED(7))
	ROUND(9)
	ROUND(10)
	REDUCE
	ROUND(11)
	ROUND(12)
	ROUND(13)
	LAST
	STORE
	ADDQ $256, R8
	SUBQ $256, CX
	JNZ  blocks

	SUM
	VMOVDQU X8, (DX)
	VZEROUPPER
	RET
