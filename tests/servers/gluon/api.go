package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"
)

const (
	apiHost = "mail-api.proton.me"
	// pageSize is how many ids Bridge puts into one call.
	pageSize = 150
	tries    = 4
)

// refused is an answer of the API other than success.
type refused struct {
	status  int
	message string
	code    int
}

func (r refused) Error() string { return r.message }

var (
	errTaken = refused{409, "409 Conflict", 0}
	// errBroken is a connection that ended before the answer came.
	errBroken = errors.New("connection closed")
)

// fault is a failure of the API on purpose: the next `count` calls (-1: all) whose path and method match.
//
// Modes: "" refused; "after" done, then this answer; "drop" the connection breaks, not done; "after-drop" done, answer
// lost; "delay" done late.
type fault struct {
	path, method *regexp.Regexp
	count        int
	answer       refused
	mode         string
	delay        time.Duration
}

func (f *fault) takes(method, path string) bool {
	if f.count == 0 || !f.path.MatchString(path) || !f.method.MatchString(method) {
		return false
	}
	if f.count > 0 {
		f.count--
	}
	return true
}

// api is what Bridge's client for the API does about answers: it repeats what broke, waits and repeats when told to
// (429, 503), renews its token once (401), and gives everything else back as an error.
type api struct {
	mu     sync.Mutex
	faults []*fault
	down   bool
	calls  []string
	// stopped is closed when nobody waits for an answer any more.
	stopped chan struct{}
	// pace shortens the waits between tries; 1 is Bridge's own, 47 s until it gives up.
	pace float64
}

var waits = [tries - 1]time.Duration{13 * time.Second, 15 * time.Second, 17 * time.Second}

// call makes one call as often as it takes.
func (a *api) call(ctx context.Context, method, path string, do func() error) error {
	renewed := false
	for try := 0; ; try++ {
		err := a.once(ctx, method, path, do)
		var answer refused
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errBroken):
			if try == tries-1 {
				return fmt.Errorf("%s https://%s%s: %w", method, apiHost, path, err)
			}
		case !errors.As(err, &answer):
			return err
		case answer.status == 401 && !renewed:
			renewed = true
		case (answer.status == 429 || answer.status == 503) && try < tries-1:
			if err := a.pause(ctx, time.Duration(float64(waits[try])*a.pace)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%d %s https://%s%s: %s (Code=%d, Status=%d)",
				answer.status, method, apiHost, path, answer.message, answer.code, answer.status)
		}
	}
}

func (a *api) once(ctx context.Context, method, path string, do func() error) error {
	fault := a.meet(method, path)
	switch {
	case fault == nil:
		return do()
	case fault.mode == "delay":
		if err := a.pause(ctx, fault.delay); err != nil {
			return err
		}
		return do()
	case fault.mode == "drop":
		return errBroken
	case fault.mode == "after-drop":
		_ = do()
		return errBroken
	case fault.mode == "after":
		_ = do()
	}
	return fault.answer
}

// meet logs a call and finds the fault it runs into.
func (a *api) meet(method, path string) *fault {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, method+" "+path)
	if a.down {
		return &fault{answer: refused{503, "503 Service Unavailable", 0}}
	}
	for _, fault := range a.faults {
		if fault.takes(method, path) {
			return fault
		}
	}
	return nil
}

// refuses says how the event loop's own request would be answered now; zero is fine.
func (a *api) refuses(method, path string) int {
	if fault := a.meet(method, path); fault != nil && fault.mode != "delay" {
		return fault.answer.status
	}
	return 0
}

// paged makes one call a page of ids, one after the other; a failure leaves the pages before it done.
func (a *api) paged(ctx context.Context, method, path string, ids []string, do func([]string) error) error {
	for start := 0; start < len(ids); start += pageSize {
		page := ids[start:min(start+pageSize, len(ids))]
		if err := a.call(ctx, method, path, func() error { return do(page) }); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, unless the port is closed meanwhile.
func (a *api) pause(ctx context.Context, length time.Duration) error {
	a.mu.Lock()
	stopped := a.stopped
	a.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-stopped:
		return errBroken
	case <-time.After(length):
		return nil
	}
}

func (a *api) interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.stopped)
}

func (a *api) resume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = make(chan struct{})
}
