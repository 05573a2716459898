// Command gluonserver serves made-up Proton accounts over IMAP with gluon, the engine of Proton Mail Bridge.
//
// The engine is Proton's own, at the commit Bridge 3.21.1 is built with. What stands behind it, the account and what
// Bridge makes of each change, is written for these tests from facts observed; no code of Bridge is in it.
//
//	gluonserver -control PORT -data FOLDER
//
// Everything else is asked for over the control port, a line of JSON each way; see order in control.go. The program
// ends at SIGTERM and removes its folder.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/sirupsen/logrus"
)

func main() {
	port := flag.Int("control", 0, "loopback port for orders")
	data := flag.String("data", "", "folder for databases and messages; it is removed at the end")
	verbose := flag.Bool("verbose", false, "print what the engine logs")
	flag.Parse()
	if !*verbose {
		logrus.SetOutput(io.Discard)
	}
	if err := run(*port, *data); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(port int, data string) error {
	if data == "" {
		return fmt.Errorf("-data names no folder")
	}
	defer os.RemoveAll(data)
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	defer listener.Close()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	go control{&house{data: data, certificate: certificate, bridges: map[int]*bridge{}}}.serve(listener)
	<-ended
	return nil
}

// house holds the Bridges that are open.
type house struct {
	data        string
	certificate tls.Certificate

	mu      sync.Mutex
	bridges map[int]*bridge
	count   int
}

// open makes a Bridge with its accounts, syncs those that are signed in, and opens its port.
func (h *house) open(ctx context.Context, given order) (any, error) {
	h.mu.Lock()
	h.count++
	number := h.count
	h.mu.Unlock()
	pace := 1.0
	if given.Pace != nil {
		pace = *given.Pace
	}
	made := newBridge(filepath.Join(h.data, strconv.Itoa(number)), h.certificate, given.Mode, pace)
	if err := made.start(); err != nil {
		return nil, err
	}
	logins := []told{}
	for _, one := range given.Users {
		u, err := one.addTo(made, given.Real)
		if err == nil && !one.SignedOut {
			err = made.signIn(ctx, u)
		}
		if err != nil {
			_ = made.close()
			return nil, err
		}
		logins = append(logins, told{"name": one.Name, "addresses": one.Addresses, "password": u.password})
	}
	if err := made.listen(); err != nil {
		_ = made.close()
		return nil, err
	}
	h.mu.Lock()
	h.bridges[number] = made
	h.mu.Unlock()
	fingerprint := fmt.Sprintf("%x", sha256.Sum256(h.certificate.Certificate[0]))
	return told{
		"bridge": number, "port": made.port, "users": logins,
		"certificate": h.certificate.Certificate[0], "certificate_sha256": fingerprint,
	}, nil
}

func (h *house) bridge(number int) (*bridge, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if found, known := h.bridges[number]; known {
		return found, nil
	}
	return nil, fmt.Errorf("no Bridge %d is open", number)
}

func (h *house) shut(number int) error {
	h.mu.Lock()
	found := h.bridges[number]
	delete(h.bridges, number)
	h.mu.Unlock()
	return found.close()
}
