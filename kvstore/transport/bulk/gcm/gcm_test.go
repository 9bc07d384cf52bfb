package gcm_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gomx/kvstore/transport/bulk/gcm"
)

// both returns the package's and the standard library's AES-256-GCM.
func both(t testing.TB, key []byte) (ours, theirs cipher.AEAD) {
	t.Helper()
	ours, err := gcm.New(key)
	if err != nil {
		t.Fatal(err)
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err = cipher.NewGCM(b); err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// random draws texts and lengths.
type random struct{ *rand.Rand }

func newRandom(t testing.TB) random {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, wide %t", seed, gcm.Wide())
	return random{rand.New(rand.NewPCG(seed, 1))}
}

func (r random) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// eachForm runs a test with each form of the arithmetic, and leaves the best one in use.
func eachForm(t *testing.T, test func(t *testing.T)) {
	forms := gcm.Forms()
	if len(forms) == 0 {
		test(t)
	}
	for _, f := range forms {
		f.Use()
		t.Run(f.Name, test)
	}
}

// TestVectors are test cases 13, 14 and 16 of the specification of GCM.
func TestVectors(t *testing.T) { eachForm(t, vectors) }

func vectors(t *testing.T) {
	decode := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct{ key, nonce, plain, data, sealed string }{
		{fmt.Sprintf("%064d", 0), fmt.Sprintf("%024d", 0), "", "",
			"530f8afbc74536b9a963b4f1c4cb738b"},
		{fmt.Sprintf("%064d", 0), fmt.Sprintf("%024d", 0), fmt.Sprintf("%032d", 0), "",
			"cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
		{"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
			"cafebabefacedbaddecaf888",
			"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72" +
				"1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
			"feedfacedeadbeeffeedfacedeadbeefabaddad2",
			"522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa" +
				"8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662" +
				"76fc6ece0f4e1768cddf8853bb2d551b"},
	} {
		a, _ := both(t, decode(c.key))
		got := a.Seal(nil, decode(c.nonce), decode(c.plain), decode(c.data))
		if hex.EncodeToString(got) != c.sealed {
			t.Errorf("sealed %x, want %s", got, c.sealed)
		}
	}
}

// TestEveryLength compares texts of all lengths, and many of additional data, with the standard
// library, in new memory and in place, at different alignments.
func TestEveryLength(t *testing.T) { eachForm(t, everyLength) }

func everyLength(t *testing.T) {
	r := newRandom(t)
	for n := range 1300 {
		if n > 1100 {
			n = r.IntN(200_000)
		}
		ours, theirs := both(t, r.bytes(32))
		nonce, data := r.bytes(12), r.bytes(r.IntN([]int{1, 6, 600}[r.IntN(3)]))
		plain := r.bytes(n)
		want := theirs.Seal(nil, nonce, plain, data)
		if got := ours.Seal(nil, nonce, plain, data); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes with %d: sealed otherwise than by the standard library", n, len(data))
		}
		at := r.IntN(64)
		place := append(r.bytes(at), plain...)
		sealed := ours.Seal(place[:at], nonce, place[at:], data)
		if !bytes.Equal(sealed[at:], want) {
			t.Fatalf("%d bytes with %d: sealed otherwise in place", n, len(data))
		}
		got, err := ours.Open(sealed[at:at], nonce, sealed[at:], data)
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("%d bytes with %d: opened with the error %v", n, len(data), err)
		}
		room := append(make([]byte, 0, at+n), r.bytes(at)...)
		if got, err = ours.Open(room, nonce, want, data); err != nil ||
			!bytes.Equal(got[at:], plain) {
			t.Fatalf("%d bytes with %d: opened elsewhere with the error %v", n, len(data), err)
		}
	}
}

// TestForgeries changes one bit of a sealed text, of the additional data or of the nonce. Nothing
// is opened, and no plain text is written.
func TestForgeries(t *testing.T) { eachForm(t, forgeries) }

func forgeries(t *testing.T) {
	r := newRandom(t)
	ours, _ := both(t, r.bytes(32))
	nonce, data, plain := r.bytes(12), r.bytes(5), r.bytes(700)
	sealed := ours.Seal(nil, nonce, plain, data)
	for what, b := range map[string][]byte{"sealed text": sealed, "additional data": data,
		"nonce": nonce} {
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			out := make([]byte, len(plain))
			if _, err := ours.Open(out[:0], nonce, sealed, data); err == nil {
				t.Fatalf("bit %d of the %s may be anything", bit, what)
			}
			if gcm.Wide() && !bytes.Equal(out, make([]byte, len(plain))) {
				t.Fatalf("bit %d of the %s: something was opened", bit, what)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
	for n := range sealed {
		if _, err := ours.Open(nil, nonce, sealed[:n], data); err == nil {
			t.Fatalf("%d of %d bytes are enough", n, len(sealed))
		}
	}
	if _, err := ours.Open(nil, nonce, sealed, data); err != nil {
		t.Error(err)
	}
}

// TestNothingIsAllocated seals and opens in memory that is there.
func TestNothingIsAllocated(t *testing.T) { eachForm(t, nothingIsAllocated) }

func nothingIsAllocated(t *testing.T) {
	ours, _ := both(t, make([]byte, 32))
	nonce, plain, sealed := make([]byte, 12), make([]byte, 1000), make([]byte, 0, 1016)
	if n := testing.AllocsPerRun(100, func() {
		sealed = ours.Seal(sealed[:0], nonce, plain, nonce[:5])
		if _, err := ours.Open(plain[:0], nonce, sealed, nonce[:5]); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWrongKey(t *testing.T) {
	if _, err := gcm.New(make([]byte, 16)); err == nil {
		t.Error("a key of 16 bytes is accepted, want 32")
	}
}

// FuzzSeal compares any texts with the standard library.
func FuzzSeal(f *testing.F) {
	f.Add([]byte("key"), []byte("text"), []byte("data"))
	f.Fuzz(func(t *testing.T, seed, plain, data []byte) {
		key := make([]byte, 44)
		copy(key, seed)
		ours, theirs := both(t, key[:32])
		got := ours.Seal(nil, key[32:], plain, data)
		if want := theirs.Seal(nil, key[32:], plain, data); !bytes.Equal(got, want) {
			t.Fatalf("sealed %x, want %x", got, want)
		}
	})
}

// BenchmarkSeal seals and opens 1 MiB.
func BenchmarkSeal(b *testing.B) {
	ours, theirs := both(b, make([]byte, 32))
	for _, c := range []struct {
		name string
		a    cipher.AEAD
	}{{"wide", ours}, {"standard", theirs}} {
		for _, record := range []int{16 << 10, 32 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("%s/%dKiB", c.name, record>>10), func(b *testing.B) {
				plain, nonce, head := make([]byte, 1<<20), make([]byte, 12), make([]byte, 5)
				sealed := make([]byte, 0, record+16)
				b.SetBytes(int64(len(plain)))
				for b.Loop() {
					for at := 0; at < len(plain); at += record {
						part := plain[at : at+record]
						sealed = c.a.Seal(sealed[:0], nonce, part, head)
						if _, err := c.a.Open(part[:0], nonce, sealed, head); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
