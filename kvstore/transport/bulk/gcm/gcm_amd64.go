package gcm

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/cpu"
)

// lanes512 reports whether the processor and the system have the instructions for registers of 512
// bits, wide whether for those of 256.
var (
	lanes512 = wide && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL
	wide     = cpu.X86.HasAVX2 && cpu.X86.HasAES && features()&(vaes|vpclmulqdq) == vaes|vpclmulqdq
)

// Bits of features.
const (
	vaes       = 1 << 9
	vpclmulqdq = 1 << 10
)

// block is 16 bytes.
type block [16]byte

// schedule are the 15 round keys of AES-256.
type schedule [15 * 16]byte

// step is the number of bytes that ctr and ghash take at a time: 16 blocks.
const step = 256

// aead is AES-256-GCM. It implements cipher.AEAD.
//
// Elements of the field of GHASH are numbers of 128 bits, little-endian in memory, whose highest bit
// is the coefficient of x^0. With bits in this order the product of two elements without carries is
// the product times x; therefore powers are kept divided by x.
type aead struct {
	keys schedule
	// powers of the hash key, from the 16th to the first, and zeros behind: the last n blocks of a
	// text are multiplied by the powers from the nth on, and zeros follow them
	powers [31]block
	// of each power the sum of its halves, twice; only registers of 256 bits use it
	mixed [31]block
}

func newWide(key []byte) cipher.AEAD {
	a := &aead{}
	a.expand(key)
	var zeros [step]byte
	var counter block
	ctr(&a.keys, &counter, &zeros[0], &zeros[0], step)
	high, low := binary.BigEndian.Uint64(zeros[:]), binary.BigEndian.Uint64(zeros[8:])
	carry := -(high >> 63) // divides by x, which is x^127 + x^6 + x + 1 if a bit falls out
	high, low = high<<1|low>>63, low<<1
	first := &a.powers[15]
	binary.LittleEndian.PutUint64(first[:], low^carry&1)
	binary.LittleEndian.PutUint64(first[8:], high^carry&0xc200000000000000)
	clear(zeros[:])
	a.mix(15)
	for i := 14; i >= 0; i-- {
		a.powers[i] = a.powers[i+1]
		ghash(first, &a.powers[i], (*block)(zeros[:]))
		a.mix(i)
	}
	return a
}

// mix computes the sum of the halves of a power.
func (a *aead) mix(i int) {
	p, m := &a.powers[i], &a.mixed[i]
	subtle.XORBytes(m[:8], p[:8], p[8:])
	copy(m[8:], m[:8])
}

// expand computes the round keys (FIPS 197, section 5.2).
func (a *aead) expand(key []byte) {
	le := binary.LittleEndian
	copy(a.keys[:], key)
	rcon := uint32(1)
	for i := 8; i < 60; i++ {
		w := le.Uint32(a.keys[4*i-4:])
		switch i % 8 {
		case 0:
			w = subWord(w)
			w = (w>>8 | w<<24) ^ rcon
			rcon <<= 1
		case 4:
			w = subWord(w)
		}
		le.PutUint32(a.keys[4*i:], w^le.Uint32(a.keys[4*i-32:]))
	}
}

// NonceSize implements cipher.AEAD.
func (*aead) NonceSize() int { return nonceSize }

// Overhead implements cipher.AEAD.
func (*aead) Overhead() int { return sealSize }

// Seal implements cipher.AEAD.
func (a *aead) Seal(dst, nonce, plain, data []byte) []byte {
	check(nonce)
	at := len(dst)
	dst = room(dst, len(plain)+sealSize)
	out := dst[at:]
	var sum block
	a.hash(&sum, data)
	n := len(plain) &^ (step - 1)
	c := counterOf(nonce, 2)
	if n > 0 {
		ctr(&a.keys, &c, &out[0], &plain[0], step)
	}
	if n > step {
		c = counterOf(nonce, 2+step/16)
		both(a, &c, &sum, &out[step], &plain[step], &out[0], n-step)
	} else {
		a.hash(&sum, out[:n])
	}
	a.tail(out[n:len(plain)], plain[n:], nonce, n)
	a.hash(&sum, out[n:len(plain)])
	s := a.seal(&sum, nonce, len(plain), len(data))
	copy(out[len(plain):], s[:])
	return dst
}

var errOpen = errors.New("gcm: message authentication failed")

// Open implements cipher.AEAD. When it returns an error the place of the text holds zeros.
func (a *aead) Open(dst, nonce, sealed, data []byte) ([]byte, error) {
	check(nonce)
	size := len(sealed) - sealSize
	if size < 0 {
		return nil, errOpen
	}
	text := sealed[:size]
	at := len(dst)
	dst = room(dst, size)
	out := dst[at:]
	var sum block
	a.hash(&sum, data)
	n, done := size&^(step-1), 0
	if n > step {
		done = n - step
		c := counterOf(nonce, 2)
		both(a, &c, &sum, &out[0], &text[0], &text[0], done)
	} else {
		a.hash(&sum, text[:n])
	}
	a.hash(&sum, text[n:])
	s := a.seal(&sum, nonce, size, len(data))
	if subtle.ConstantTimeCompare(s[:], sealed[size:]) != 1 {
		clear(out)
		return nil, errOpen
	}
	if n > 0 {
		c := counterOf(nonce, uint32(2+done/16))
		ctr(&a.keys, &c, &out[done], &text[done], step)
	}
	a.tail(out[n:], text[n:], nonce, n)
	return dst, nil
}

func check(nonce []byte) {
	if len(nonce) != nonceSize {
		panic(fmt.Sprintf("gcm: nonce of %d bytes, want %d", len(nonce), nonceSize))
	}
}

// room makes a slice longer by n bytes.
func room(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b[:len(b)+n]
	}
	return append(b, make([]byte, n)...)
}

// counterOf returns the block of a nonce and a number, with the number as ctr wants it.
func counterOf(nonce []byte, n uint32) (b block) {
	copy(b[:], nonce)
	binary.LittleEndian.PutUint32(b[nonceSize:], n)
	return b
}

// tail encrypts or decrypts the bytes behind the first n, fewer than step. dst and src may be the
// same memory.
func (a *aead) tail(dst, src, nonce []byte, n int) {
	if len(src) == 0 {
		return
	}
	c := counterOf(nonce, uint32(2+n/16))
	var b [step]byte
	copy(b[:], src)
	ctr(&a.keys, &c, &b[0], &b[0], step)
	copy(dst, b[:])
}

// seal computes the seal of texts that have been hashed, of these lengths in bytes.
func (a *aead) seal(sum *block, nonce []byte, text, data int) (s block) {
	var lengths block
	binary.BigEndian.PutUint64(lengths[:], uint64(data)*8)
	binary.BigEndian.PutUint64(lengths[8:], uint64(text)*8)
	a.hash(sum, lengths[:])
	var mask [step]byte
	c := counterOf(nonce, 1)
	ctr(&a.keys, &c, &mask[0], &mask[0], step)
	for i := range s {
		s[i] = sum[15-i] ^ mask[i]
	}
	return s
}

// hash takes bytes, with zeros behind them up to a whole block, into a sum.
func (a *aead) hash(sum *block, b []byte) {
	for ; len(b) >= step; b = b[step:] {
		ghash(&a.powers[0], sum, (*block)(b))
	}
	if len(b) > 0 {
		var last [step]byte
		copy(last[:], b)
		ghash(&a.powers[16-(len(b)+15)/16], sum, (*block)(last[:]))
	}
}

// subWord applies the S-box of AES to each byte, in time that does not depend on them.
//
//go:noescape
func subWord(w uint32) uint32

// ctr encrypts n bytes, a multiple of step and more than 0, by counter mode. The last 4 bytes of
// counter are a little-endian number, which is big-endian in the encrypted blocks.
func ctr(keys *schedule, counter *block, dst, src *byte, n int) {
	if lanes512 {
		ctr512(keys, counter, dst, src, n)
	} else {
		ctr256(keys, counter, dst, src, n)
	}
}

// ghash takes 16 blocks into a sum. The first one is multiplied by the first of 16 powers, and so
// on.
func ghash(powers, sum, data *block) {
	if lanes512 {
		ghash512(powers, sum, data)
	} else {
		ghash256(powers, sum, data)
	}
}

// both does as ctr with n bytes, and as hash with n+step bytes.
func both(a *aead, counter, sum *block, dst, src, hashed *byte, n int) {
	if lanes512 {
		both512(a, counter, sum, dst, src, hashed, n)
	} else {
		both256(a, counter, sum, dst, src, hashed, n)
	}
}

// features returns the bits of CPUID's leaf 7 in ECX.
func features() (ecx uint32)

//go:noescape
func ctr512(keys *schedule, counter *block, dst, src *byte, n int)

//go:noescape
func ctr256(keys *schedule, counter *block, dst, src *byte, n int)

//go:noescape
func ghash512(powers, sum, data *block)

//go:noescape
func ghash256(powers, sum, data *block)

//go:noescape
func both512(a *aead, counter, sum *block, dst, src, hashed *byte, n int)

//go:noescape
func both256(a *aead, counter, sum *block, dst, src, hashed *byte, n int)
