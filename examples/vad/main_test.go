package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math"
	"reflect"
	"strings"
	"testing"
)

var (
	model  = flag.String("silero", "", "file of silero-vad's model")
	sounds = flag.String("sounds", "", "folder of spoken sounds, and of others that begin with Noise")
)

// TestSpeech finds the words in recordings; make onnx-examples runs it.
func TestSpeech(t *testing.T) {
	if *model == "" {
		t.Skip("wants silero-vad's model: make onnx-examples")
	}
	if err := run(t.Context(), *model, *sounds, nil); err != nil {
		t.Fatal(err)
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		name  string
		probs []float32
		want  []span
	}{
		{"silence", []float32{0.1, 0.4, 0.1}, nil},
		{"short", []float32{0, 0.9, 0.9, 0, 0, 0, 0, 0}, nil},
		{"one", []float32{0, 0.5, 0.4, 0.9, 0.4, 0.6, 0.36, 0, 0, 0, 0, 0}, []span{{1, 7}}},
		{"bridged", []float32{0.9, 0.9, 0.9, 0, 0, 0, 0.4, 0.9}, []span{{0, 8}}},
		{"two", []float32{1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, []span{{0, 6}, {11, 17}}},
	} {
		if got := spans(c.probs); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// encodeWAV writes one channel with integers of 16 bits.
func encodeWAV(s *sound) []byte {
	var b bytes.Buffer
	n := 2 * len(s.samples)
	put := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	put([]byte("RIFF"))
	put(uint32(36 + n))
	put([]byte("WAVEfmt "))
	put(uint32(16))
	put([2]uint16{1, 1})
	put([2]uint32{uint32(s.rate), uint32(2 * s.rate)})
	put([2]uint16{2, 16})
	put([]byte("data"))
	put(uint32(n))
	for _, v := range s.samples {
		put(int16(math.Round(32767 * float64(min(max(v, -1), 1)))))
	}
	return b.Bytes()
}

// TestWAV writes and reads a tone and resamples it: the tone stays, one above the new limit goes.
func TestWAV(t *testing.T) {
	s := &sound{rate: 48000, samples: make([]float32, 4800)}
	tone := func(i, rate int, hertz float64) float64 {
		return 0.5 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate))
	}
	for i := range s.samples {
		s.samples[i] = float32(tone(i, s.rate, 1000) + tone(i, s.rate, 15000))
	}
	data := encodeWAV(s)
	back, err := decodeWAV(data)
	if err != nil || back.rate != s.rate || len(back.samples) != len(s.samples) {
		t.Fatalf("%v, %v", back, err)
	}
	for i, v := range back.samples {
		if math.Abs(float64(v-s.samples[i])) > 1.0/16384 {
			t.Fatalf("sample %d is %v, want %v", i, v, s.samples[i])
		}
	}
	low := back.resample(rate).samples
	for i := 50; i < len(low)-50; i++ {
		if want := tone(i, rate, 1000); math.Abs(float64(low[i])-want) > 0.01 {
			t.Fatalf("sample %d at 16 kHz is %v, want %v", i, low[i], want)
		}
	}
	for n := range 60 {
		if _, err := decodeWAV(data[:n]); err == nil {
			t.Errorf("%d bytes of the file were decoded", n)
		}
	}
	data[22] = 0
	if _, err := decodeWAV(data); err == nil || !strings.Contains(err.Error(), "0 channels") {
		t.Errorf("no channels: got %v", err)
	}
}
