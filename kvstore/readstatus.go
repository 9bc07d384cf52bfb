package kvstore

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// ReadStatus reads the page /status of a process at an address such as 127.0.0.1:8080, for at most two seconds. The address may have
// the form of a URL.
func ReadStatus(ctx context.Context, addr string) (st Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	addr = strings.TrimSuffix(strings.TrimPrefix(addr, "http://"), "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/status", nil)
	if err != nil {
		return st, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return st, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return st, fmt.Errorf("%s answers %s", addr, resp.Status)
	}
	return st, json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(&st)
}
