package gcm

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
)

// Sizes in bytes.
const (
	keySize   = 32
	nonceSize = 12
	sealSize  = 16
)

// New returns AES-256-GCM with nonces of 12 bytes and seals of 16 bytes. A text and its sealed form
// may be in the same memory; they may not overlap in part.
func New(key []byte) (cipher.AEAD, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("gcm: key of %d bytes, want %d", len(key), keySize)
	}
	if wide {
		return newWide(key), nil
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Wide reports whether this processor has the instructions.
func Wide() bool { return wide }
