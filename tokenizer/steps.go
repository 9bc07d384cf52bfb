package tokenizer

import (
	"encoding/json"
	"fmt"
)

// steps reads a list of functions that are applied in turn, and leaves out entries that do nothing.
// name is the list's name in errors.
func steps[A, B any, F ~func(A) B](name string, raws []json.RawMessage,
	read func(json.RawMessage) (F, error)) (list []F, err error) {
	for i, raw := range raws {
		f, err := read(raw)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", name, i, err)
		}
		if f != nil {
			list = append(list, f)
		}
	}
	return list, nil
}
