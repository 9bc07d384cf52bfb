//go:build !unix

package safetensors

import "os"

// mapFile reads the file at path: this platform has no mapping that we use.
func mapFile(path string) (file []byte, unmap func(), err error) {
	file, err = os.ReadFile(path)
	return file, func() {}, err
}
