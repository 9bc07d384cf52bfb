//go:build !cgo || nojpeg

package image

import "errors"

// decodeJPEG leaves JPEGs to the standard library.
func decodeJPEG(*Image, []byte) error { return errors.ErrUnsupported }
