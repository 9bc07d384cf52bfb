package profile_test

import (
	"strings"
	"testing"

	"gomx/internal/hostile"
	"gomx/launch/profile"
)

const file = `{"version":1,"pid":7,"start":5,"workers":2,"program":["x"]}
{"n":"conv..pool","k":0,"t":10,"d":5,"w":0,"l":"cpu(0)"}
{"n":"conv","k":3,"t":11,"d":3,"w":0,"l":"cpu(0)","o":"Convolution","b":64,"f":128}
{"n":"torn","k":0,"t`

func TestRead(t *testing.T) {
	var list []profile.Event
	head, err := profile.Read(strings.NewReader(file), func(e *profile.Event) {
		list = append(list, *e)
	})
	if err != nil || head.PID != 7 || len(list) != 2 || list[1].Op != "Convolution" ||
		list[1].FLOPs != 128 {
		t.Errorf("head %+v, events %+v, %v", head, list, err)
	}
	for _, bad := range []string{"", "{}\n", `{"version":2}` + "\n", `{"version":1}` + "\nx\n",
		`{"version":1}` + "\n" + `{"k":9}` + "\n"} {
		if _, err := profile.Read(strings.NewReader(bad), func(*profile.Event) {}); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func TestHostile(t *testing.T) {
	hostile.Kind{Name: "profile", Seeds: [][]byte{[]byte(file)}, Text: true,
		Decode: func(b []byte) error {
			_, err := profile.Read(strings.NewReader(string(b)), func(*profile.Event) {})
			return err
		}}.Run(t)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(file))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = profile.Read(strings.NewReader(string(b)), func(*profile.Event) {})
	})
}

// Events that are written are read again.
func TestAppend(t *testing.T) {
	want := []profile.Event{{Name: "a \"b\" ü", Kind: profile.Kernel, At: 7, Dur: 3, Worker: -1,
		Lane: "cpu(0)", Op: "dot", Bytes: 5, FLOPs: 6}, {Name: "m", Kind: profile.Counter,
		Value: 2.5}, {Kind: profile.Operation}}
	text := []byte(`{"version":1}` + "\n")
	for i := range want {
		text = want[i].Append(text)
	}
	n := 0
	if _, err := profile.Read(strings.NewReader(string(text)), func(e *profile.Event) {
		if *e != want[n] {
			t.Errorf("event %d: %+v, want %+v", n, *e, want[n])
		}
		n++
	}); err != nil || n != len(want) {
		t.Errorf("%d events, %v in %s", n, err, text)
	}
}
