package wire_test

import (
	"errors"
	"testing"

	"gomx/kvstore/wire"
)

// TestRanges writes and reads the body of a Missing, and refuses bodies that make no sense.
func TestRanges(t *testing.T) {
	b := wire.AppendRange(wire.AppendRange(nil, 0, 0), 3, 7)
	r, err := wire.DecodeRanges(b, 8)
	if err != nil || r.Len() != 2 {
		t.Fatalf("%d ranges: %v", r.Len(), err)
	}
	if first, last := r.At(1); first != 3 || last != 7 {
		t.Errorf("second range %d to %d, want 3 to 7", first, last)
	}
	for name, bad := range map[string][]byte{
		"a byte short":    b[:7],
		"behind the last": wire.AppendRange(nil, 3, 8),
		"backward":        wire.AppendRange(nil, 4, 3),
		"out of order":    wire.AppendRange(wire.AppendRange(nil, 3, 4), 4, 5),
	} {
		if _, err := wire.DecodeRanges(bad, 8); !errors.Is(err, wire.ErrBody) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestCollectiveFields reads the fields that were set.
func TestCollectiveFields(t *testing.T) {
	var m wire.Message
	p := wire.CollectivePlace{Round: 1, Sent: 2, Received: 3}
	if p.Put(&m); wire.CollectivePlaceOf(&m) != p {
		t.Errorf("place %+v, want %+v", wire.CollectivePlaceOf(&m), p)
	}
	s := wire.CollectiveStart{Live: true, Round: 9}
	if s.Put(&m); wire.CollectiveStartOf(&m) != s {
		t.Errorf("start %+v, want %+v", wire.CollectiveStartOf(&m), s)
	}
}
