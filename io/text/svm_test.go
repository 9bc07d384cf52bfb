package text_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gomx/io/text"
)

// TestFloat compares random numbers in random notations with strconv.
func TestFloat(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	check := func(s string) {
		t.Helper()
		want, err := strconv.ParseFloat(s, 32)
		got, n := text.Float([]byte(s + " 7"))
		if err == nil && n != len(s) || err != nil && n != 0 {
			t.Fatalf("%q: %d bytes, want error %v", s, n, err)
		}
		if err == nil && math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Fatalf("%q is %v, want %v", s, got, float32(want))
		}
	}
	for _, s := range []string{"0", "-0", "+1", "1.", ".5", "1e5", "1E-5", "16777217", "1e22",
		"9007199254740993", "1.00000005960464477539", "1.000000059604644775390625", "3.5e38",
		"1e-46", "inf", "-Inf", "nan", "1e", "e1", ".", "-", "", "1e+", "0x1p-2", "1_0", "--1",
		"18446744073709551617", "0.0000000000000000000001", "1e99999", "0e99999", "1e-99999"} {
		if s == "nan" {
			if v, n := text.Float([]byte(s)); n != 3 || v == v {
				t.Errorf("nan is %v", v)
			}
			continue
		}
		check(s)
	}
	for range 100_000 {
		f := math.Float32frombits(r.Uint32())
		if f != f {
			continue
		}
		switch r.IntN(6) {
		case 0:
			check(strconv.FormatFloat(float64(f), 'g', -1, 32))
		case 1:
			check(strconv.FormatFloat(float64(f), 'g', -1, 64))
		case 2: // the middle of two numbers, or close to it
			mid := float64(f) + (float64(math.Nextafter32(f, 2*f))-float64(f))/2
			check(strconv.FormatFloat(mid, 'g', 15+r.IntN(5), 64))
		case 3:
			check(strconv.FormatFloat(r.NormFloat64(), 'f', r.IntN(20), 64))
		case 4:
			check(strconv.Itoa(r.IntN(1 << (1 + r.IntN(60)))))
		case 5:
			check(fmt.Sprintf("%d.%0*d", r.IntN(100), 1+r.IntN(6), r.IntN(1000)))
		}
	}
}

// parse parses lines, each with its own fault.
func parse(s *text.SVM, lines ...string) (r text.Rows, err error) {
	for _, line := range lines {
		if err := s.Parse([]byte(line), &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

func TestSVM(t *testing.T) {
	r, err := parse(&text.SVM{Width: 10}, "1 0:2 3:0.5", "-1.5", "2:0.25 qid:7 9 4:1e1 # 5:6",
		"\t0  3:1 1:2 3:4 1:-2 \r", "0#x")
	if err != nil {
		t.Fatal(err)
	}
	if want := []float32{1, -1.5, 2, 0, 0}; !slices.Equal(r.Labels, want) {
		t.Errorf("labels %v, want %v", r.Labels, want)
	}
	if want := []int64{2, 2, 4, 6, 6}; !slices.Equal(r.Ends, want) {
		t.Errorf("ends %v, want %v", r.Ends, want)
	}
	if want := []int64{0, 3, 4, 9, 1, 3}; !slices.Equal(r.Columns, want) {
		t.Errorf("columns %v, want %v", r.Columns, want)
	}
	if want := []float32{2, 0.5, 10, 1, 0, 5}; !slices.Equal(r.Values, want) {
		t.Errorf("values %v, want %v", r.Values, want)
	}
}

func TestSVMFaults(t *testing.T) {
	plain, hashed := &text.SVM{Width: 3}, &text.SVM{Width: 3, Hash: &text.Hashing{}}
	for _, c := range []struct {
		s      *text.SVM
		line   string
		column int
		want   string
	}{
		{plain, "x 0:1", 1, `found "x", want a label, which is a number`},
		{plain, " 1:y 0:1", 4, `found "y", want a weight`},
		{plain, "1,0:1", 2, `found ",0:1", want a space behind the label`},
		{plain, "1 0:1 nonsense", 7, `found "nonsense", want an index:value pair`},
		{plain, "1 0:", 3, `found "0:", want an index:value pair`},
		{plain, "1 0:1:2", 3, `found "0:1:2"`},
		{plain, "1 :1", 3, `found ":1"`},
		{plain, "1 -1:1", 3, `found "-1:1"`},
		{plain, "1 0:1 3:1", 7, "index 3, want 0 to 2"},
		{plain, "1 99999999999999999999999:1", 3, "index 99999999999999999999999, want 0 to 2"},
		{plain, "1 " + strings.Repeat("x", 100), 3, strings.Repeat("x", 40) + "…"},
		{hashed, "1 a:b:c", 3, `found "a:b:c", want a name:value pair`},
		{hashed, "1 a:", 3, `found "a:"`},
	} {
		_, err := parse(c.s, c.line)
		var fault *text.Fault
		if !errors.As(err, &fault) || fault.Column != c.column ||
			!strings.Contains(fault.Text, c.want) {
			t.Errorf("%q: %v, want column %d: %s", c.line, err, c.column, c.want)
		}
	}
}

// TestHashing compares columns with FeatureHasher of scikit-learn 1.x, whose hash has the published
// values of MurmurHash3.
func TestHashing(t *testing.T) {
	for _, c := range []struct {
		name string
		seed uint32
		hash uint32
	}{
		{"", 1, 0x514e28b7}, {"test", 0, 0xba6bd213}, {"test", 0x9747b28c, 0x704b81dc},
		{"Hello, world!", 0, 0xc0363e43}, {"Hello, world!", 0x9747b28c, 0x24884cba},
		{"The quick brown fox jumps over the lazy dog", 0, 0x2e4ff723},
		{"The quick brown fox jumps over the lazy dog", 0x9747b28c, 0x2fa826cd},
	} {
		h := int64(int32(c.hash))
		want, sign := max(h, -h)%1000, float32(1)
		if h < 0 {
			sign = -1
		}
		for _, signed := range []bool{false, true} {
			k := text.Hashing{Seed: c.seed, Signed: signed}
			if !signed {
				sign = max(sign, -sign)
			} else if h < 0 {
				sign = -1
			}
			if got, s := k.Column([]byte(c.name), 1000); got != want || s != sign {
				t.Errorf("%q with seed %d: column %d, sign %v, want %d, %v", c.name, c.seed, got, s,
					want, sign)
			}
		}
	}
	s := &text.SVM{Width: 1 << 20, Hash: &text.Hashing{Signed: true}}
	r, err := parse(s, "1 test:2 Hello,:0.5 user:37:3 99999999999999999999999 test")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Columns) != 4 || !slices.IsSorted(r.Columns) {
		t.Errorf("columns %v, want four that ascend", r.Columns)
	}
	column, _ := s.Hash.Column([]byte("test"), s.Width)
	if i := slices.Index(r.Columns, column); i < 0 || r.Values[i] != -3 {
		t.Errorf("the values of test are not added up: %v in the columns %v", r.Values, r.Columns)
	}
}

// plainSVM parses a line by the definition.
func plainSVM(line string, width int) (row map[int]float32, label float32, ok bool) {
	number := func(s string) (float32, bool) {
		v, err := strconv.ParseFloat(s, 32)
		return float32(v), err == nil && !strings.ContainsAny(s, ",:#")
	}
	line, _, _ = strings.Cut(line, "#")
	fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r", r) })
	if len(fields) == 0 {
		return nil, 0, false
	}
	first, weight, weighted := strings.Cut(fields[0], ":")
	if label, ok = number(first); !ok {
		return nil, 0, false
	}
	if _, ok = number(weight); weighted && !ok {
		return nil, 0, false
	}
	row = map[int]float32{}
	for i, f := range fields[1:] {
		if i == 0 && strings.HasPrefix(f, "qid:") {
			continue
		}
		index, value, valued := strings.Cut(f, ":")
		v := float32(1)
		if valued {
			if v, ok = number(value); !ok {
				return nil, 0, false
			}
		}
		k, err := strconv.ParseUint(index, 10, 63)
		if err != nil || k >= uint64(width) || len(index) > 18 {
			return nil, 0, false
		}
		row[int(k)] += v
	}
	return row, label, true
}

// FuzzSVM compares the parser with a plain one.
func FuzzSVM(f *testing.F) {
	for _, s := range []string{"1 0:2 1:3", "-0.5:2 qid:3 1 0:1e-3 # x", "1 2:1 2:1", "1 3", "x",
		"1 0:1\r", "0 1:nan", "1 0:0x1p4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			return
		}
		const width = 4
		want, label, ok := plainSVM(line, width)
		r, err := parse(&text.SVM{Width: width}, line)
		if (err == nil) != ok {
			t.Fatalf("%q: %v, want an error: %v", line, err, !ok)
		}
		if !ok {
			return
		}
		same := func(a, b float32) bool { return a == b || a != a && b != b }
		if !same(r.Labels[0], label) || len(r.Columns) != len(want) {
			t.Fatalf("%q: label %v, columns %v, want %v, %v", line, r.Labels, r.Columns, label,
				want)
		}
		for i, c := range r.Columns {
			if !same(r.Values[i], want[int(c)]) {
				t.Fatalf("%q: %v in column %d, want %v", line, r.Values[i], c, want[int(c)])
			}
		}
		hashed := text.SVM{Width: width, Hash: &text.Hashing{Seed: 5, Signed: true}}
		var rows text.Rows
		if err := hashed.Parse([]byte(line), &rows); err != nil {
			t.Fatalf("%q: hashed: %v", line, err)
		}
	})
}

// FuzzCSV looks for rows that are accepted with another number of values.
func FuzzCSV(f *testing.F) {
	f.Add("1,2")
	f.Add(" 3 , x")
	f.Add("1,2,3")
	f.Fuzz(func(t *testing.T, line string) {
		row := make([]float32, 2)
		ok := text.CSV([]byte(line), row) == nil
		if n := strings.Count(line, ","); ok && n != 1 {
			t.Errorf("%q has %d values, want 2", line, n+1)
		}
		var r text.Rows
		if err := text.SparseCSV([]byte(line), 2, &r); (err == nil) != ok {
			t.Errorf("%q: sparse: %v", line, err)
		}
		for i, c := range r.Columns {
			if r.Values[i] != row[c] && row[c] == row[c] {
				t.Errorf("%q: %v in column %d, want %v", line, r.Values[i], c, row[c])
			}
		}
	})
}

func TestCSVFaults(t *testing.T) {
	for _, c := range []struct {
		line   string
		column int
		want   string
	}{
		{"1,2,3", 4, "3 values, want 2"},
		{"1", 2, "1 values, want 2"},
		{"1,x", 3, `found "x", want a number`},
		{"1 2,3", 1, `found "1 2", want a number`},
		{"1,", 3, `found "", want a number`},
	} {
		var fault *text.Fault
		err := text.CSV([]byte(c.line), make([]float32, 2))
		if !errors.As(err, &fault) || fault.Column != c.column || fault.Text != c.want {
			t.Errorf("%q: %v, want column %d: %s", c.line, err, c.column, c.want)
		}
	}
}

// BenchmarkSVM parses clicks: 40 features, most with the value 1.
func BenchmarkSVM(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	line := []byte("1")
	for i := range 40 {
		line = fmt.Appendf(line, " %d:", i*25_000+r.IntN(25_000))
		if i%4 == 0 {
			line = fmt.Appendf(line, "%.4g", r.Float64())
		} else {
			line = append(line, '1')
		}
	}
	s, rows := &text.SVM{Width: 1_000_000}, text.Rows{}
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		rows.Reset()
		if err := s.Parse(line, &rows); err != nil {
			b.Fatal(err)
		}
	}
}
