// Package gcm is AES-256-GCM at the rate of processors that encrypt two or four blocks with one
// instruction (VAES and VPCLMULQDQ with AVX2 or AVX-512). It is the algorithm of crypto/cipher, 1.8
// or several times as fast; on other processors it is crypto/cipher itself:
//
//	a, err := gcm.New(key)
//	sealed := a.Seal(nil, nonce, text, head)
//
// # Time
//
// No branch and no address depends on keys or texts. The instructions take the same time for all
// values. Texts are encrypted and hashed in one pass; Open clears the text if the seal is wrong.
//
// # Correctness
//
// The tests of each form compare every length and alignment with crypto/cipher, and read the
// vectors of the specification of GCM.
package gcm
