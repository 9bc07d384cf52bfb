package checkpoint_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/dtype"
)

func someStates() []checkpoint.IndexedState {
	half := &checkpoint.Record{Version: checkpoint.V2, DType: dtype.Float16, Shape: dtype.Shape{2},
		Data: []byte("abcd")}
	wide := &checkpoint.Record{Version: checkpoint.V2, DType: dtype.Float32,
		Shape: dtype.Shape{1, 2}, Data: []byte("12345678")}
	return []checkpoint.IndexedState{
		{Index: 0, State: checkpoint.State{Array: wide}},
		{Index: 1, State: checkpoint.State{}},
		{Index: 7, State: checkpoint.State{Parts: []checkpoint.State{{Array: wide},
			{Parts: []checkpoint.State{{Array: half}, {}}}}}},
		{Name: "fc1_weight", State: checkpoint.State{Parts: []checkpoint.State{}}},
	}
}

func TestStatesRoundTrip(t *testing.T) {
	var b bytes.Buffer
	if err := checkpoint.WriteStates(&b, someStates()); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.ReadStates(&b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, someStates()) {
		t.Errorf("got %+v, want %+v", got, someStates())
	}
}

func TestReadStatesErrors(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"empty", "", "does not stop"},
		{"list", "\x80\x03].", "holds a list, want a dictionary"},
		{"code", "\x80\x03}K\x00cos\nsystem\nX\x02\x00\x00\x00ls\x85Rs.",
			"class os.system, want an NDArray"},
		{"long", "\x80\x03B\xff\xff\xff\xff", "wants 4294967295 bytes, 0 left"},
		{"stack", "\x80\x030", "the stack is empty"},
		{"opcode", "\x80\x03\xff", `pickle opcode 'ÿ': the opcode is not supported`},
		{"memo", "h\x07", "memo entry 7 is missing"},
		{"protocol", "\x80\x09", "protocol 9, want at most 5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := checkpoint.ReadStates(strings.NewReader(tt.data))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzReadStates(f *testing.F) {
	var b bytes.Buffer
	if err := checkpoint.WriteStates(&b, someStates()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("\x80\x04\x95\x08\x00\x00\x00\x00\x00\x00\x00}\x94(K\x00NK\x01N\x86u."))
	f.Fuzz(func(t *testing.T, data []byte) {
		states, err := checkpoint.ReadStates(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := checkpoint.WriteStates(&b, states); err != nil {
			return
		}
		if _, err := checkpoint.ReadStates(&b); err != nil {
			t.Errorf("what was written cannot be read: %v", err)
		}
	})
}
