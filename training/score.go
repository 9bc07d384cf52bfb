package training

import (
	"encoding/json"
	"fmt"
	"strings"

	"gomx/trainer"
)

// Score is one measurement.
type Score struct {
	Name  string
	Value float64
}

// scoreRecord is a Score in a file.
type scoreRecord struct {
	Name  string
	Value trainer.Exact
}

// MarshalJSON writes the score so that UnmarshalJSON reads the same number.
func (s Score) MarshalJSON() ([]byte, error) {
	return json.Marshal(scoreRecord{s.Name, trainer.Exact(s.Value)})
}

// UnmarshalJSON reads a score that MarshalJSON has written.
func (s *Score) UnmarshalJSON(text []byte) error {
	var r scoreRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	*s = Score{r.Name, float64(r.Value)}
	return nil
}

// Scores are the measurements of a metric.
type Scores []Score

// ScoresOf returns the results of a metric's Value or Window as scores.
func ScoresOf(names []string, values []float64) Scores {
	s := make(Scores, len(names))
	for i := range names {
		s[i] = Score{names[i], values[i]}
	}
	return s
}

// Get returns the measurement with a name.
func (s Scores) Get(name string) (float64, bool) {
	for _, v := range s {
		if v.Name == name {
			return v.Value, true
		}
	}
	return 0, false
}

// String formats s as "accuracy=0.912300 cross-entropy=0.251000".
func (s Scores) String() string {
	parts := make([]string, len(s))
	for i, v := range s {
		parts[i] = fmt.Sprintf("%s=%f", v.Name, v.Value)
	}
	return strings.Join(parts, " ")
}
