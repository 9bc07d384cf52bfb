//go:build !cgo || nojpeg

package image

import "errors"

// decodeJPEG returns an error, so that the standard library decodes JPEGs.
func decodeJPEG(*Image, []byte) error { return errors.ErrUnsupported }
