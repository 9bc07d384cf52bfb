//go:build cuda

package imitation_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/device/cuda/imitation"

	_ "gomx/device/cuda" // opens the driver
)

// sample uses each part of PTX that the decoder knows.
const sample = `.version 8.4
.target sm_80
.address_size 64
.global .align 8 .b8 table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
.shared .align 4 .b8 buf[64];
.func (.param .b32 result) half(.param .b32 half_0)
{
	.reg .f32 %f<3>;
	ld.param.f32 %f1, [half_0];
	mul.rn.f32 %f2, %f1, 0f3F000000;
	st.param.f32 [result+0], %f2;
	ret;
}
.visible .entry k(.param .align 8 .b8 k_0[16])
{
	.local .align 8 .b8 depot[8];
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .f32 %f<9>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [k_0];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd2, %rd3;
	setp.gt.s32 %p1, %r1, -3;
	@!%p1 bra $L_end;
	{
	.reg .b32 temp;
	.param .b32 param0;
	st.param.f32 [param0+0], %f1;
	.param .b32 retval0;
	call.uni (retval0), half, (param0);
	ld.param.f32 %f2, [retval0+0];
	}
	mov.b64 {%r2, %r3}, %rd4;
	ld.global.v2.f32 {%f3, %f4}, [%rd4+-8];
	bar.sync 0;
	st.global.f32 [%rd4], %f2;
$L_end:
	ret;
}
`

// TestDamagedPTX decodes damaged texts: the decoder must refuse them or accept them, and not crash.
func TestDamagedPTX(t *testing.T) {
	if !imitation.Present() {
		t.Skip("the driver is not the imitation")
	}
	if !imitation.DecodesPTX(sample) {
		t.Fatal("the sample is not decoded")
	}
	const seed = 23
	rng := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields(sample)
	accepted := 0
	for range 30_000 {
		text := []byte(sample)
		for range 1 + rng.IntN(4) {
			at := rng.IntN(len(text))
			switch rng.IntN(5) {
			case 0:
				text[at] = byte(rng.IntN(128))
			case 1:
				text = text[:at+1]
			case 2:
				text = append(text[:at], text[min(at+1+rng.IntN(20), len(text)):]...)
			case 3:
				word := " " + words[rng.IntN(len(words))] + " "
				text = append(text[:at], append([]byte(word), text[at:]...)...)
			case 4:
				text = append(text[:at], append([]byte("999999999999"), text[at:]...)...)
			}
			if len(text) == 0 {
				text = []byte{' '}
			}
		}
		if imitation.DecodesPTX(strings.ReplaceAll(string(text), "\x00", " ")) {
			accepted++
		}
	}
	if accepted == 0 || accepted > 20_000 {
		t.Errorf("seed %d: %d of 30000 damaged texts are decoded", seed, accepted)
	}
}
