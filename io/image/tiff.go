package image

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// tiffSizes are the sizes in bytes of one value of each field type in TIFF.
var tiffSizes = [...]int{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}

// checkTIFF returns an error for a TIFF whose first directory has a field with more values than the
// file can hold, because the TIFF library allocates memory for them. Files of other formats pass.
func checkTIFF(data []byte) error {
	var order binary.ByteOrder
	switch {
	case len(data) < 8:
		return nil
	case strings.HasPrefix(string(data[:4]), "II*\x00"):
		order = binary.LittleEndian
	case strings.HasPrefix(string(data[:4]), "MM\x00*"):
		order = binary.BigEndian
	default:
		return nil
	}
	at := uint64(order.Uint32(data[4:]))
	if at+2 > uint64(len(data)) {
		return nil // the TIFF library reports that the file is too short
	}
	fields := data[at+2:]
	for i := range order.Uint16(data[at:]) {
		if len(fields) < 12 {
			return nil
		}
		tag, kind, count := order.Uint16(fields), int(order.Uint16(fields[2:])),
			uint64(order.Uint32(fields[4:]))
		size := uint64(1)
		if kind < len(tiffSizes) {
			size = uint64(tiffSizes[kind])
		}
		if count*size > uint64(len(data)) {
			return fmt.Errorf("image: tiff of %d bytes: field %d, tag %d, claims %d values of "+
				"%d bytes", len(data), i, tag, count, size)
		}
		fields = fields[12:]
	}
	return nil
}
