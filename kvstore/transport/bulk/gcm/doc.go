// Package gcm is AES-256-GCM at the rate of processors that encrypt four blocks with one
// instruction (AVX-512 with VAES and VPCLMULQDQ). It is the algorithm of crypto/cipher, several
// times as fast; on other processors it is crypto/cipher itself:
//
//	a, err := gcm.New(key)
//	sealed := a.Seal(nil, nonce, text, head)
//
// # Time
//
// No branch and no address depends on keys or texts. The instructions take the same time for all
// values. Open verifies the seal before it decrypts.
//
// # Correctness
//
// The tests compare every length and alignment with crypto/cipher, and read the vectors of the
// specification of GCM.
package gcm
