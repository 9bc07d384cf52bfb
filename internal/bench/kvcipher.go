package bench

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"time"
)

// cipherRates are the lines of the rate at which this processor seals and opens records of TLS,
// 16 KiB each, on one core. The encrypted lines of the suite kv can be no faster.
func cipherRates() (list []Workload) {
	for _, c := range []struct {
		name string
		key  int
	}{{"kv.cipher.aes128gcm", 16}, {"kv.cipher.aes256gcm", 32}} {
		list = append(list, Workload{Name: c.name, Unit: "GB/s", own: true,
			Run: func(ctx context.Context) (float64, error) {
				return gcmRate(ctx, c.key, 16<<10)
			}})
	}
	return list
}

// gcmRate is the rate in GB/s at which records are sealed and opened again, each byte counted once:
// a byte that travels encrypted is sealed once and opened once.
func gcmRate(ctx context.Context, key, record int) (float64, error) {
	block, err := aes.NewCipher(make([]byte, key))
	if err != nil {
		return 0, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return 0, err
	}
	nonce := make([]byte, aead.NonceSize())
	plain := make([]byte, record)
	sealed := make([]byte, 0, record+aead.Overhead())
	best := 0.0
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
