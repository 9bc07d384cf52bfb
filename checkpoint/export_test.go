package checkpoint

import "bytes"

// ParseArrays loads arrays from the content of a file.
func ParseArrays(file []byte, opts ...LoadOption) ([]Named, error) {
	size := int64(len(file))
	return readArrays(bytes.NewReader(file), size, newRoom(size, opts))
}
