package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gomx/device"
)

// TestDevices: text and JSON name the processor and its cores.
func TestDevices(t *testing.T) {
	out, err := gomx(t, "devices")
	if want := fmt.Sprintf("cpu(0): %d cores, ", device.Cores()); err != nil ||
		!strings.HasPrefix(out, want) {
		t.Errorf("got %v and %q, want %q first", err, out, want)
	}
	lines := strings.Count(out, "\n")
	var list deviceList
	if out, err = gomx(t, "devices", "--json"); err == nil {
		err = json.Unmarshal([]byte(out), &list)
	}
	if err != nil || len(list.Devices) == 0 || list.Devices[0].Device != "cpu(0)" ||
		list.Devices[0].Cores != device.Cores() ||
		list.Devices[0].Tier != device.MaxTier().String() {
		t.Errorf("--json: %v\n%s", err, out)
	}
	if n := len(list.Devices) + len(list.Libraries) + len(list.Notes); n != lines {
		t.Errorf("the JSON has %d entries, the text %d lines", n, lines)
	}
}
