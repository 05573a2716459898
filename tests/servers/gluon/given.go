package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/ProtonMail/gluon/rfc822"
)

// What comes over the control port: accounts, labels, messages, faults.

type userGiven struct {
	Name      string         `json:"name"`
	Addresses []string       `json:"addresses"`
	Labels    []labelGiven   `json:"labels"`
	Messages  []messageGiven `json:"messages"`
	SignedOut bool           `json:"signed_out"`
}

// labelGiven: `path` is the IMAP path of a label that exists.
type labelGiven struct {
	Path   string  `json:"path"`
	Name   string  `json:"name"`
	Folder bool    `json:"folder"`
	Parent *string `json:"parent"`
}

type messageGiven struct {
	Raw     []byte   `json:"raw"` // base64
	In      []string `json:"in"`
	Flags   []string `json:"flags"`
	Unread  bool     `json:"unread"`
	Key     string   `json:"key"`
	Time    float64  `json:"time"`
	Address string   `json:"address"`
	Origin  string   `json:"origin"`
}

type faultGiven struct {
	Path    string  `json:"path"`
	Method  string  `json:"method"`
	Count   int     `json:"count"`
	Status  int     `json:"status"`
	Code    int     `json:"code"`
	Message string  `json:"message"`
	Mode    string  `json:"mode"`
	Delay   float64 `json:"delay"`
}

func (given userGiven) addTo(b *bridge, real bool) (*bridgeUser, error) {
	if given.Name == "" || len(given.Addresses) == 0 {
		return nil, fmt.Errorf("a user needs a name and an address")
	}
	made := newAccount(given.Name, given.Addresses, real)
	for _, one := range given.Labels {
		if _, err := one.addTo(made); err != nil {
			return nil, err
		}
	}
	for _, one := range given.Messages {
		if _, err := one.addTo(made); err != nil {
			return nil, err
		}
	}
	u := newBridgeUser(b, made)
	u.learnAddresses()
	b.users = append(b.users, u)
	return u, nil
}

func (given messageGiven) addTo(a *account) (*message, error) {
	raw := crlf(given.Raw)
	at := time.Unix(0, int64(given.Time*float64(time.Second)))
	if given.Time == 0 {
		at = dateOf(rfc822.Parse(raw))
	}
	return a.add(&message{
		raw: raw, key: given.Key, flags: setOf(given.Flags...), unread: given.Unread, time: at,
		address: given.Address, origin: given.Origin,
	}, given.In)
}

func (given labelGiven) addTo(a *account) (*label, error) {
	parent := ""
	if given.Parent != nil {
		parent = *given.Parent
	}
	return a.addLabel(given.Name, parent, given.Folder)
}

func (given labelGiven) changeIn(a *account) error {
	id, err := a.parentID(given.Path)
	if err != nil {
		return err
	}
	name, parent := a.nameAndParent(id)
	if given.Name != "" {
		name = given.Name
	}
	if given.Parent != nil {
		if parent, err = a.parentID(*given.Parent); err != nil {
			return err
		}
	}
	return a.changeLabel(id, name, parent)
}

func (a *account) nameAndParent(id string) (name, parent string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if own, known := a.labels[id]; known {
		return own.name, own.parent
	}
	return "", ""
}

func (a *account) named(label string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.labelID(label)
}

// ask is what the server demands of Bridge: a refresh of all mail, or a new login.
func (a *account) ask(what string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if what == "revoke" {
		a.revoked = true
	} else {
		a.note(what, "", "updated")
	}
	return nil
}

func (a *api) fail(given faultGiven) error {
	path, err := regexp.Compile(given.Path)
	if err != nil {
		return err
	}
	method, err := regexp.Compile(given.Method)
	if err != nil {
		return err
	}
	switch given.Mode {
	case "", "after", "drop", "after-drop", "delay":
	default:
		return errors.New("no such mode: " + given.Mode)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append(a.faults, &fault{
		path: path, method: method, count: given.Count, mode: given.Mode,
		answer: refused{given.Status, given.Message, given.Code},
		delay:  time.Duration(given.Delay * float64(time.Second)),
	})
	return nil
}

func (a *api) mend() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults, a.down = nil, false
}

func (a *api) takeDown(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// made is every call since the last time this was asked.
func (a *api) made() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := append([]string{}, a.calls...)
	a.calls = nil
	return calls
}

func crlf(raw []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}
