package bench

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"time"

	"gomx/kvstore/transport/bulk/gcm"
)

// cipherRates are the lines of the rate at which this processor seals and opens records of 32 KiB on
// one core: by the standard library, and as encrypted connections do it. The encrypted lines of the
// suite kv can be no faster.
func cipherRates() (list []Workload) {
	for _, c := range []struct {
		name string
		key  int
		make func(key []byte) (cipher.AEAD, error)
	}{{"kv.cipher.aes128gcm", 16, standardGCM}, {"kv.cipher.aes256gcm", 32, standardGCM},
		{"kv.cipher.aes256gcm.line", 32, gcm.New}} {
		list = append(list, Workload{Name: c.name, Unit: "GB/s", own: true,
			Run: func(ctx context.Context) (float64, error) {
				aead, err := c.make(make([]byte, c.key))
				if err != nil {
					return 0, err
				}
				return gcmRate(ctx, aead, 32<<10)
			}})
	}
	return list
}

// standardGCM is AES-GCM of the standard library.
func standardGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// gcmRate is the rate in GB/s at which records are sealed and opened again, each byte counted once:
// a byte that travels encrypted is sealed once and opened once.
func gcmRate(ctx context.Context, aead cipher.AEAD, record int) (best float64, err error) {
	nonce := make([]byte, aead.NonceSize())
	plain := make([]byte, record)
	sealed := make([]byte, 0, record+aead.Overhead())
	for range 5 {
		start, n := time.Now(), 0
		for time.Since(start) < 100*time.Millisecond && ctx.Err() == nil {
			for range 32 {
				sealed = aead.Seal(sealed[:0], nonce, plain, nil)
				if plain, err = aead.Open(plain[:0], nonce, sealed, nil); err != nil {
					return 0, err
				}
				n += record
			}
		}
		best = max(best, float64(n)/time.Since(start).Seconds()/1e9)
	}
	return best, ctx.Err()
}
