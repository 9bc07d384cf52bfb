package op

import (
	"fmt"
	"os"
	"sync"
)

// notices holds the notices given so far, and their sink.
var notices = struct {
	mu   sync.Mutex
	said map[string]bool
	sink func(text string)
}{said: map[string]bool{}, sink: func(text string) { fmt.Fprintln(os.Stderr, "gomx: "+text) }}

// Notice tells the user of the program about something that is accepted but has no effect, once for
// each text in the life of the process. It goes to standard error unless NoticesTo says otherwise.
func Notice(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	notices.mu.Lock()
	sink := notices.sink
	if notices.said[text] {
		sink = nil
	}
	notices.said[text] = true
	notices.mu.Unlock()
	if sink != nil {
		sink(text)
	}
}

// NoticesTo sends notices to sink from now on, nil for nowhere, and returns the sink before.
// Earlier notices are forgotten: each is given again. Several goroutines may call the sink at once.
func NoticesTo(sink func(text string)) (old func(text string)) {
	notices.mu.Lock()
	defer notices.mu.Unlock()
	old, notices.sink = notices.sink, sink
	clear(notices.said)
	return old
}
