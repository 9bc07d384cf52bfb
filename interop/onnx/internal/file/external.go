package file

import (
	"fmt"
	"os"
	"strconv"

	"gomx/interop/onnx/internal/onnxpb"
)

// external reads the data of a tensor from a file below root. os.Root refuses names and links that
// leave the folder.
func external(t *onnxpb.TensorProto, want int, root *os.Root) ([]byte, error) {
	var location string
	var offset int64
	length := int64(want)
	for _, e := range t.GetExternalData() {
		var err error
		switch e.GetKey() {
		case "location":
			location = e.GetValue()
		case "offset":
			offset, err = strconv.ParseInt(e.GetValue(), 10, 64)
		case "length":
			length, err = strconv.ParseInt(e.GetValue(), 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("external data: %s %q is not a number", e.GetKey(),
				e.GetValue())
		}
	}
	switch {
	case root == nil:
		return nil, fmt.Errorf("external data in %q: a model that is not a file has no folder",
			location)
	case location == "":
		return nil, fmt.Errorf("external data without a location")
	case length != int64(want):
		return nil, fmt.Errorf("external data has the length %d, want %d", length, want)
	}
	f, err := root.Open(location)
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	if !info.Mode().IsRegular() || offset < 0 || offset > info.Size()-length {
		return nil, fmt.Errorf("external data: %s has %d bytes, want a file of at least %d after "+
			"the offset %d", location, info.Size(), length, offset)
	}
	raw := make([]byte, want)
	if _, err := f.ReadAt(raw, offset); err != nil && want > 0 {
		return nil, fmt.Errorf("external data: %w", err)
	}
	return raw, nil
}
