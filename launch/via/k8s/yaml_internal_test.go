package k8s

import "testing"

func TestYAML(t *testing.T) {
	got := yaml(object{{"kind", "Job"}, {"words", list([]string{"yes", "No", "1e3", "a: b", "#x",
		"", "/bin/sh", "line\nline \"x\"", "0x1f", "-", "null", "~"})},
		{"spec", object{{"count", 3}, {"on", true}, {"list", []any{object{{"a", "b"},
			{"c", object{{"d", 1}}}}, object{{"e", []any{1, 2}}}}}}}})
	want := `kind: Job
words:
- "yes"
- "No"
- "1e3"
- "a: b"
- "#x"
- ""
- /bin/sh
- "line\nline \"x\""
- "0x1f"
- "-"
- "null"
- "~"
spec:
  count: 3
  "on": true
  list:
  - a: b
    c:
      d: 1
  - e:
    - 1
    - 2
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
